"""Signatures that stay in the caller's array: which of them do, for how long, and that nothing is written there."""

import gc
import weakref

import numpy as np
import pytest

from lshfast import LSHIndex
from lshfast.kernels import tables
from lshfast.kernels.tables import BandTables
from tests.index.index_files import content, shared, small
from tests.index.index_machine import SMALL
from tests.kernels.tables_kit import (
    KINDS,
    answers,
    brute_force,
    filled,
    int64,
    numbered,
    packed,
)

BLOCK = 64  # rows of a block of signatures where `small_blocks` are asked for

# Rows that lie where they are


@pytest.fixture
def small_blocks(monkeypatch):
    """Let tables of two slots and more have blocks of 64 rows and fewer."""
    monkeypatch.setattr(tables, "BLOCK_BYTES", 2 * 8 * BLOCK)


def two_slots(n, seed=0):
    return (
        np.random.default_rng(seed)
        .integers(0, max(2, n // 3), (n, 2))
        .astype(np.uint64)
    )


def shared_blocks(held, array):
    """Tell for each block of signatures whether it lies in the array, as a whole."""
    rows = np.concatenate([np.repeat(np.shares_memory(piece, array), len(piece))
                           for piece in held.sections()["signatures"]])  # fmt: skip
    blocks = [rows[low : low + BLOCK] for low in range(0, len(rows), BLOCK)]
    assert all(block.all() == block.any() for block in blocks)
    return [bool(block.all()) for block in blocks]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1])
@pytest.mark.parametrize(
    "n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK - 1]
)
def test_blocks_are_not_copied(kind, start, n, small_blocks):
    """From the first one that begins in the array to the last row; all else is as if all were copied."""
    array, names = two_slots(start + n), numbered(kind, range(start + n))
    before = array.copy()
    held, plain = (filled(kind, array[:start], 2, 1, names[:start]) for _ in range(2))
    for each, copy in ((held, False), (plain, True)):
        rows = each.allot(n) if kind is None else each.admit(names[start:])[0]
        each.write(rows, array[start:], copy)
    blocks = range(0, start + n, BLOCK)
    assert shared_blocks(held, array) == [start <= low for low in blocks]
    assert not any(shared_blocks(plain, array))
    sections, expected = packed(held), packed(plain)
    assert {name: whole.tolist() for name, whole in sections.items()} == {
        name: whole.tolist() for name, whole in expected.items()
    }
    assert (held.signatures_of(np.arange(start + n)) == array).all()
    assert answers(held, array, 1) == answers(plain, array, 1)
    assert held.nbytes()[1:] == plain.nbytes()[1:]
    assert held.nbytes()[0] <= plain.nbytes()[0]
    assert (array == before).all()


def test_blocks_of_their_usual_size():
    array = two_slots(3 * 4096 + 100)
    held = filled("int", array[:100], 2, 1)
    held.write(held.admit(np.arange(100, len(array)))[0], array[100:], copy=False)
    pieces = held.sections()["signatures"]
    assert [
        np.shares_memory(piece, array)
        for piece in pieces
        for _ in range(0, len(piece), 4096)
    ][1:3] == [True] * 2
    assert not np.shares_memory(pieces[0], array)
    assert answers(held, array[::500]) == brute_force(array, array[::500], 2, 1)


@pytest.mark.parametrize(
    "sizes", [[1] * 150, [7] * 30, [40, 24, 64, 65, 1, 63], [200, 3, 100]]
)
def test_batches_of_one_array(sizes, small_blocks):
    """They lie there as if they had come as one, and a file is written from it in one piece."""
    array, held = two_slots(sum(sizes)), BandTables(2, 2, 1)
    before = array.copy()
    for low, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        held.write(held.allot(size), array[low : low + size], copy=False)
        assert (held.signatures_of(np.arange(low + size)) == before[: low + size]).all()
    assert all(shared_blocks(held, array))
    assert len(held.sections()["signatures"]) == 1
    assert held.nbytes()[0] == array.nbytes
    assert answers(held, array) == brute_force(before, before, 2, 1)
    assert (array == before).all()


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("n", [1, 40, BLOCK - 1, BLOCK, BLOCK + 40])
def test_rows_behind_those_of_an_array(n, copy, small_blocks):
    """Nothing is read or written behind its end; rows from elsewhere have the block copied first."""
    whole = two_slots(n + 3 * BLOCK)
    before, other = whole.copy(), two_slots(2 * BLOCK, seed=1)
    held = BandTables(2, 2, 1)
    held.write(held.allot(n), whole[:n], copy=False)
    more = held.allot(2 * BLOCK)
    for row in more.tolist():
        with pytest.raises(ValueError, match=f"row {row} has no signature"):
            held.signatures_of(int64(0, row))
    assert (
        np.concatenate(held.sections()["signatures"])
        == np.pad(before[:n], ((0, 2 * BLOCK), (0, 0)))
    ).all()
    held.write(more[::-1].copy(), other, copy)
    placed = np.concatenate([before[:n], other[::-1]])
    assert (held.signatures_of(np.arange(len(placed))) == placed).all()
    assert (np.concatenate(held.sections()["signatures"]) == placed).all()
    assert answers(held, placed) == brute_force(placed, placed, 2, 1)
    assert (whole == before).all()


def test_blocks_out_of_their_order(small_blocks):
    """A block lies where its rows are in the array, wherever that is; rows out of order are copied."""
    array = two_slots(5 * BLOCK)
    rows = np.r_[64:128, 0:64, 319:255:-1, 128:160, 161:192, 160, 192:256]
    held = BandTables(2, 2, 1)
    held.allot(5 * BLOCK)
    held.write(rows, array, copy=False)
    assert shared_blocks(held, array) == [True, True, False, True, False]
    placed = np.empty_like(array)
    placed[rows] = array
    assert (held.signatures_of(np.arange(5 * BLOCK)) == placed).all()
    assert answers(held, array) == brute_force(placed, array, 2, 1)


@pytest.mark.slow
def test_the_array_stays(small_blocks, only_new_garbage):
    """As long as the tables have need of it, though nobody else does."""
    array = two_slots(3 * BLOCK)
    before, there = array.copy(), weakref.ref(array)
    held = BandTables(2, 2, 1)
    held.write(held.allot(3 * BLOCK), array, copy=False)
    del array
    gc.collect()
    assert (there() == before).all()
    assert (held.signatures_of(np.arange(3 * BLOCK)) == before).all()
    assert answers(held, before) == brute_force(before, before, 2, 1)
    for low in range(0, 3 * BLOCK, BLOCK):
        assert there() is not None
        held.erase(int64(low))
        held.write(int64(low), before[low : low + 1])
        gc.collect()
    assert there() is None
    assert (held.signatures_of(np.arange(3 * BLOCK)) == before).all()
    array = two_slots(BLOCK)
    there = weakref.ref(array)
    held.write(held.allot(BLOCK), array, copy=False)
    del held, array
    gc.collect()
    assert there() is None


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("batch", [1, 7, BLOCK, BLOCK + 3])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_written_again(kind, copy, batch, small_blocks):
    """The blocks that they are in are copied; the array stays as it is."""
    n = 6 * BLOCK
    array = two_slots(n)
    other = two_slots(n, seed=1)
    names = numbered(kind, range(2 * n))
    before, other_before, placed = array.copy(), other.copy(), array.copy()
    held = BandTables(2, 2, 1, kind)
    rows = held.allot(n) if kind is None else held.admit(names[:n])[0]
    held.write(rows, array, copy=False)
    assert shared_blocks(held, array) == [True] * 6
    for low in (0, 2 * BLOCK, 4 * BLOCK - 3):
        again = np.arange(low, low + batch)
        held.erase(again)
        held.write(again, other[low : low + batch], copy)
        placed[again] = other[low : low + batch]
        assert held.unsound() is None
        assert (held.signatures_of(np.arange(n)) == placed).all()
        touched = {row // BLOCK for row in again.tolist()}
        assert not any(
            shared
            for at, shared in enumerate(shared_blocks(held, array))
            if at in touched
        )
    assert shared_blocks(held, array)[1] is (batch <= BLOCK)
    assert shared_blocks(held, array)[5] is True
    assert any(shared_blocks(held, other)) is (not copy and batch >= BLOCK)
    assert (array == before).all()
    assert (other == other_before).all()
    assert answers(held, placed) == brute_force(placed, placed, 2, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_an_array_are_used_again_when_their_block_is_free(kind, small_blocks):
    """So that one row that goes and another that comes do not copy a block."""
    n = 3 * BLOCK
    array, names = two_slots(n), numbered(kind or "int", range(4 * n))
    held = BandTables(2, 2, 1, kind)

    def add(first, count):
        rows = (
            held.allot(count)
            if kind is None
            else held.admit(names[first : first + count])[0]
        )
        held.write(rows, two_slots(count, seed=first), copy=True)
        return rows.tolist()

    rows = held.allot(n) if kind is None else held.admit(names[:n])[0]
    held.write(rows, array, copy=False)
    held.discard(np.array([*range(1, BLOCK), 2 * BLOCK]))
    assert len(held) == n - BLOCK == len(held.rows_in_use())
    assert add(n, 2) == [n, n + 1]
    with pytest.raises(ValueError, match=f"{BLOCK} rows are free"):
        held.sections()
    held.discard(np.array([0]))
    assert sorted(add(2 * n, BLOCK)) == list(range(BLOCK))
    assert len(held) == n + 1
    assert add(3 * n, 1) == [n + 2]
    assert held.unsound() is None
    assert (
        held.signatures_of(np.arange(BLOCK, 2 * BLOCK)) == array[BLOCK : 2 * BLOCK]
    ).all()
    held.discard(held.rows_in_use())
    assert len(held) == 0
    assert add(0, 3) == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_whose_names_go_to_rows_that_lie_elsewhere(kind, small_blocks):
    array = two_slots(2 * BLOCK)
    before, names = array.copy(), numbered(kind or "int", range(BLOCK))
    held = filled(kind, array[:BLOCK], 2, 1)
    new = held.allot(BLOCK)
    held.write(new, array[BLOCK:], copy=False)
    held.hand_over(np.arange(BLOCK), new)
    if kind is not None:
        assert held.find(names).tolist() == new.tolist()
    again = held.allot(BLOCK)
    held.write(again, array[:BLOCK], copy=False)
    held.hand_over(new, again)
    assert held.rows_in_use().tolist() == sorted(again.tolist())
    held.write(held.allot(BLOCK), np.zeros((BLOCK, 2), np.uint64))
    assert (array == before).all()
    assert (held.signatures_of(again) == array[:BLOCK]).all()


def test_blocks_that_were_never_written(small_blocks):
    """They take no memory, are zeros in a file, and have no signatures to give."""
    array = two_slots(BLOCK)
    held = BandTables(2, 2, 1)
    rows = held.allot(4 * BLOCK)
    assert held.nbytes()[0] == 0
    held.write(rows[BLOCK : 2 * BLOCK], array)
    assert held.nbytes()[0] == array.nbytes
    assert (held.signatures_of(rows[BLOCK : 2 * BLOCK]) == array).all()
    for row in (0, BLOCK - 1, 2 * BLOCK, 4 * BLOCK - 1):
        with pytest.raises(ValueError, match=f"row {row} has no signature"):
            held.signatures_of(int64(BLOCK, row))
        for call in (
            held.erase,
            held.discard,
            lambda rows: held.hand_over(rows, int64(BLOCK)),
        ):
            with pytest.raises(ValueError, match=f"row {row} has no signature"):
                call(int64(row))
    zeros = np.zeros_like(array)
    assert (
        np.concatenate(held.sections()["signatures"])
        == np.concatenate([zeros, array, zeros, zeros])
    ).all()
    assert answers(held, array) == [
        [row + BLOCK for row in found] for found in brute_force(array, array, 2, 1)
    ]


def across(rows):
    """Return rows that lie across those of another array of the same width."""
    whole = np.zeros((len(rows) + 1, rows.shape[1]), np.uint64)
    array = whole.reshape(-1)[1 : 1 + rows.size].reshape(rows.shape)
    array[:] = rows
    return array


ARRAYS = {
    "a view": lambda a: np.pad(a, ((3, 5), (0, 0)))[3:-5],
    "behind an odd slot": lambda a: np.pad(a.reshape(-1), (1, 0))[1:].reshape(a.shape),
    "across other rows": across,
    "read only": lambda a: np.frombuffer(a.tobytes(), np.uint64).reshape(a.shape),
}
ARRAYS_TO_COPY = {
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "columns of more": lambda a: np.pad(a, ((0, 0), (2, 1)))[:, 2:-1],
    "backwards": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "by columns": np.asfortranarray,
}


@pytest.mark.parametrize("layout", ARRAYS)
def test_arrays_that_may_be_kept(layout, small_blocks):
    array = ARRAYS[layout](two_slots(3 * BLOCK))
    held = BandTables(2, 2, 1)
    for low, high in ((0, 30), (30, 100), (100, 3 * BLOCK)):
        held.write(held.allot(high - low), array[low:high], copy=False)
    assert shared_blocks(held, array)[2]
    assert (held.signatures_of(np.arange(3 * BLOCK)) == array).all()
    assert (np.concatenate(held.sections()["signatures"]) == array).all()
    assert answers(held, array) == brute_force(array, array, 2, 1)
    held.erase(int64(70))
    held.write(int64(70), np.ones((1, 2), np.uint64))
    assert shared_blocks(held, array)[1:] == [False, True]
    assert (array == two_slots(3 * BLOCK)).all()


@pytest.mark.parametrize("layout", ARRAYS_TO_COPY)
def test_arrays_that_are_not_in_one_piece(layout, small_blocks):
    array, held = ARRAYS_TO_COPY[layout](two_slots(3 * BLOCK)), BandTables(2, 2, 1)
    rows = held.allot(3 * BLOCK)
    for copy in (True, False):
        with pytest.raises(ValueError, match="contig"):
            held.write(rows, array, copy)
    assert answers(held, np.ascontiguousarray(array)) == [[]] * len(array)


# Indexes of arrays that are kept


@pytest.fixture(params=["memory", "file", "lmdb"])
def index_on(request, tmp_path, monkeypatch):
    """Return what makes an index over a store, opened anew as often as wanted; blocks are of 64 rows."""
    monkeypatch.setattr(tables, "BLOCK_BYTES", 8 * 8 * BLOCK)
    made, path = [], tmp_path / "index"

    def make(**options):
        if made and request.param != "memory":
            made[-1].close()
        if request.param == "file":
            if not made:
                small().save(path)
            made.append(LSHIndex.open(path, "r+", **options))
        elif request.param == "lmdb":
            pytest.importorskip(
                "lmdb", reason="lmdb cannot be imported: install lshfast[lmdb]"
            )
            lmdb_store = pytest.importorskip("lshfast.index.stores.lmdb")
            store = lmdb_store.LmdbStore(path, map_size=1 << 30, sync=False)
            made.append(LSHIndex(**SMALL, **options, store=store))
        elif not made:
            made.append(small(**options))
        made[-1].on_duplicate = options.get("on_duplicate", "error")
        return made[-1]

    make.name = request.param
    yield make
    if made:
        made[-1].close()


@pytest.mark.parametrize(
    "keys", [range(300), [f"key {i}" for i in range(300)]], ids=["int", "str"]
)
def test_an_index_keeps_the_array(index_on, keys):
    """It is read-only from then on, and the index is the same as one of a copy, also when its entries come and go."""
    array = shared(300, 5)
    before, plain, index = array.copy(), small(), index_on()
    plain.insert(keys, array)
    assert array.flags.writeable
    assert index.insert(keys, array, copy=False) == 300
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1
    if index_on.name != "lmdb":
        assert shared_blocks(index.store.segments.growing.tables, array) == [True] * 5
    for each in (index, plain):
        assert list(each.query(array)) == list(plain.query(before))
        each.remove(keys[10:200:7])
        each.insert(keys[10:40:7], array[100:105].copy(), copy=False)
    assert content(index) == content(plain)
    index = index_on(on_duplicate="replace")
    plain.on_duplicate = "replace"
    new = shared(200, 5, seed=1)
    for each in (index, plain):
        assert each.insert(keys[:200], new, copy=False) == 200
    assert content(index) == content(plain)
    assert list(index_on().query(before, k=5)) == list(plain.query(before, k=5))
    assert (array == before).all()
    assert (new == shared(200, 5, seed=1)).all()


def test_an_index_skips_in_an_array_that_it_keeps(index_on):
    array, before = shared(400, 5), shared(400, 5)
    index = index_on(on_duplicate="skip")
    index.insert(range(100, 110), array[:10])
    assert index.insert(range(300), array[:300], copy=False) == 290
    assert index.insert(range(300), array[100:], copy=False) == 0
    expected = {i: tuple(row) for i, row in enumerate(before[:300].tolist())}
    expected.update({100 + i: tuple(row) for i, row in enumerate(before[:10].tolist())})
    assert content(index) == content(index_on()) == expected
    assert (array == before).all()


def test_an_index_refuses_a_batch_of_an_array_that_it_would_keep(index_on):
    """Duplicates: nothing of the batch is there, and the rows of those that come later are their own."""
    array, before, index = shared(300, 5), shared(300, 5), index_on()
    index.insert([7], array[:1])
    with pytest.raises(ValueError, match="in the index already"):
        index.insert(range(300), array, copy=False)
    assert content(index) == {7: tuple(before[0].tolist())}
    other = shared(300, 5, seed=1)
    index.insert(range(100, 400), other)
    expected = {100 + i: tuple(row) for i, row in enumerate(other.tolist())}
    assert content(index_on()) == {7: tuple(before[0].tolist()), **expected}
    assert (array == before).all()


@pytest.mark.parametrize("layout", [*ARRAYS, *ARRAYS_TO_COPY, "behind an odd byte"])
def test_an_index_of_any_array(layout, index_on):
    """What cannot be kept is copied."""
    before = shared(200, 5)
    if layout == "behind an odd byte":
        array = np.frombuffer(
            bytearray(1) + before.tobytes(), np.uint64, offset=1
        ).reshape(before.shape)
        assert not array.flags.aligned
    else:
        array = (ARRAYS | ARRAYS_TO_COPY)[layout](before)
    index, plain = index_on(), small()
    plain.insert(range(200), before)
    index.insert(range(200), array, copy=False)
    assert not array.flags.writeable
    if index_on.name != "lmdb" and layout in ARRAYS:
        assert shared_blocks(index.store.segments.growing.tables, array) == [True] * 4
    assert list(index.query(array, k=3)) == list(plain.query(before, k=3))
    assert content(index) == content(plain)
    assert content(index_on()) == content(plain)


def test_one_entry_is_always_copied():
    array, index = shared(1, 5), small()
    index.insert("a", array[0], copy=False)
    assert array.flags.writeable
    array[:] = 9
    assert content(index) == {"a": tuple(shared(1, 5)[0].tolist())}


@pytest.mark.parametrize("kind", KINDS)
def test_sections_stay_while_the_tables_grow(kind):
    """An array over memory that the tables have left stays as it was, and none of them can be written to."""
    n = 40
    held = filled(kind, two_slots(n), 2, 1)
    sections = held.sections()
    before = [array.tobytes() for array in sections["tables"]]
    rows = (
        held.allot(20 * n)
        if kind is None
        else held.admit(numbered(kind, range(n, 21 * n)))[0]
    )
    held.write(rows, two_slots(20 * n, seed=1))
    # the tables of bands grow before they take the batch; that of the names takes some names first
    assert [array.tobytes() for array in sections["tables"]][:2] == before[:2]
    assert not any(
        array.flags.writeable for name in ("tables", "pool") for array in sections[name]
    )
    del sections
    held.erase(rows)
    held.release(rows)
    assert held.unsound() is None
    assert answers(held, two_slots(n)) == brute_force(two_slots(n), two_slots(n), 2, 1)

"""Memory that runs out, under tables and under an index: a step is done, or all is as before."""

import sys
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest

from lshfast import LSHIndex
from lshfast.index.stores import file_format, segment
from lshfast.kernels import tables
from lshfast.kernels.tables import BandTables
from tests.build_kit import needs_a_compiler, needs_the_tree
from tests.index.failing_tables import build_failing_tables, import_failing_tables
from tests.index.index_files import content, python, shared, small
from tests.kernels import tables_kit
from tests.kernels.tables_kit import (
    BATCH,
    KINDS,
    answers,
    brute_force,
    column,
    filled,
    listed,
    numbered,
    state,
)
from tests.kernels.test_tables_crowds import NAMES as NAMES_OF_A_TAG
from tests.made_once import made_once
from tests.reference.hashing import EMPTY

pytestmark = [
    pytest.mark.slow,
    needs_the_tree,
    needs_a_compiler,
    pytest.mark.usefixtures("failing_tables"),
]

BLOCK = 64  # rows of a block of signatures where it is made small


@pytest.fixture(scope="module")
def failing_tables(tmp_path_factory):
    """Let this file, and the index, use tables whose memory runs out when they are told so."""
    failing = import_failing_tables(
        made_once(tmp_path_factory, "tables", build_failing_tables)
    )
    this = sys.modules[__name__]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(this, "tables", failing)
        for module in (this, tables_kit, segment, file_format):
            patch.setattr(module, "BandTables", failing.BandTables)
        yield


@contextmanager
def failing(n, onwards=False):
    """Let the n-th request for memory, by numpy.empty or by tables, fail; all later ones too if so told."""
    real = np.empty

    def empty(*arguments, **options):
        tables.request_memory()
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", empty)
        tables.fail_memory(n, onwards)
        try:
            yield
        finally:
            tables.fail_memory(0, False)


def until_it_succeeds(step, look):
    """Let memory run out at each request of a step in turn; return how often it did, and the step's result.

    Each time all that `look` returns must be as before.
    """
    before = look()
    for n in range(1, 1000):
        for onwards in (True, False):
            try:
                with failing(n, onwards):
                    return n - 1, step()
            except MemoryError:
                assert look() == before
    raise AssertionError("the step never succeeds")


# Memory that runs out under tables


@pytest.mark.weekly
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [0, 25, 4090])
def test_memory_runs_out_in_a_batch(kind, base):
    n, k = 4200, 4
    generator = np.random.default_rng(base)
    # a band of few values, whose buckets are large, and one of many
    signatures = np.ascontiguousarray(
        generator.integers(0, [9, 1, 5000, 1], (base + n, k)), np.uint64
    )
    names = numbered(kind, range(base + n))
    held = filled(kind, signatures[:base], 2, 2)
    some = None if kind is None else column(kind, names[::50])

    def look():
        return state(held, signatures[::97], some)

    fails, admitted = until_it_succeeds(
        lambda: held.allot(n) if kind is None else held.admit(names[base:]), look
    )
    rows = admitted if kind is None else admitted[0]
    assert fails >= (2 if kind is None else 3)
    assert rows.tolist() == list(range(base, base + n)) or base
    fails, _ = until_it_succeeds(lambda: held.write(rows, signatures[base:]), look)
    assert fails >= 2
    placed = np.empty_like(signatures)
    placed[:base], placed[rows] = signatures[:base], signatures[base:]
    assert answers(held, signatures[::97]) == brute_force(
        placed, signatures[::97], 2, 2
    )
    if kind is not None:
        assert held.find(names).tolist() == [*range(base), *rows.tolist()]
    # Giving back asks for no memory that it cannot do without.
    with failing(1, onwards=True):
        held.erase(rows)
        held.release(rows)
    assert (len(held), held.unsound()) == (base, None)
    assert answers(held, signatures[:base:7]) == brute_force(
        signatures[:base], signatures[:base:7], 2, 2
    )


@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("base", [pytest.param(0, marks=pytest.mark.weekly), 4090])
def test_memory_runs_out_in_a_batch_of_one(kind, base):
    n = 300 if base == 0 else 12
    generator = np.random.default_rng(base)
    signatures = np.ascontiguousarray(
        generator.integers(0, [3, 100_000], (base + n, 2)), np.uint64
    )
    names = numbered(kind, range(base + n))
    held, singles = filled(kind, signatures[:base], 2, 1), listed(names)
    fails = 0
    for i in range(base, base + n):
        fail, done = until_it_succeeds(
            lambda i=i: held.insert_one(singles[i], signatures[i]),
            lambda i=i: state(held, signatures[i : i + 1], names[i : i + 1]),
        )
        assert done is True
        fails += fail
    assert fails >= 2
    assert held.unsound() is None
    rows = held.find(names)
    placed = np.empty_like(signatures)
    placed[rows] = signatures
    assert answers(held, signatures[:20]) == brute_force(placed, signatures[:20], 2, 1)


def test_memory_runs_out_in_the_second_part_of_a_batch():
    """The parts that are written already are taken out again."""
    n = BATCH + 3000
    signatures = np.arange(n, dtype=np.uint64)[:, None]
    signatures[BATCH:] //= np.uint64(10)  # buckets of several rows
    held = BandTables(1, 1, 1)
    rows, probe = held.allot(n), signatures[::1000]
    fails, _ = until_it_succeeds(
        lambda: held.write(rows, signatures), lambda: state(held, probe)
    )
    assert fails >= 2
    assert held.unsound() is None
    assert answers(held, probe) == brute_force(signatures, probe, 1, 1)


def test_memory_runs_out_while_names_are_brought_together():
    """The bytes of removed names stay where they are, until another release finds memory."""
    held = BandTables(1, 1, 1, "str")
    rows, _ = held.admit([f"{i}" * 400_000 for i in range(8)] + ["short"])
    with failing(1, onwards=True):
        held.release(rows[:8])
    assert held.names_of(rows[8:]) == ["short"]
    memory = held.nbytes()[2]
    held.release(held.admit(["another"])[0])
    assert held.nbytes()[2] < memory
    assert held.names_of(held.find(["short"])) == ["short"]


@pytest.mark.parametrize("kind", ["int", "str"])
def test_memory_runs_out_while_many_names_share_a_tag(kind):
    """They are in two tables then; both are as before, wherever memory runs out."""
    names = NAMES_OF_A_TAG[kind](400)
    held = filled(kind, np.arange(10, dtype=np.uint64)[:, None], 1, 1, names[:10])
    singles, fails, probe = listed(names), 0, np.zeros((1, 1), np.uint64)
    for i in range(10, 20):
        fail, _ = until_it_succeeds(
            lambda i=i: held.insert_one(singles[i], np.array([i], np.uint64)),
            lambda: state(held, probe, names),
        )
        fails += fail
    fail, _ = until_it_succeeds(
        lambda: held.admit(names), lambda: state(held, probe, names)
    )
    assert fails >= 2
    assert fail >= 2
    assert sorted(held.find(names).tolist()) == list(range(400))
    rows = held.find(names[20:])
    with failing(1, onwards=True):
        held.release(rows)
    assert sorted(held.find(names).tolist()) == [-1] * 380 + list(range(20))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 40, 5000])
def test_names_are_handed_over_without_memory(kind, n):
    generator = np.random.default_rng(n)
    signatures = generator.integers(0, max(2, n // 3), (2 * n, 2)).astype(np.uint64)
    names = numbered(kind or "int", range(n))
    held = filled(kind, signatures[:n], 2, 1)
    new = held.allot(n)
    held.write(new, signatures[n:])
    with failing(1, onwards=True):
        held.hand_over(np.arange(n), new)
    assert (held.unsound(), held.rows_in_use().tolist()) == (None, new.tolist())
    if kind is not None:
        assert held.find(names).tolist() == new.tolist()
    placed = signatures.copy()
    placed[:n] = EMPTY
    assert answers(held, signatures[::31]) == brute_force(
        placed, signatures[::31], 2, 1
    )


@pytest.mark.parametrize("then", [True, False])
def test_memory_runs_out_while_rows_stay_where_they_are(then, monkeypatch):
    """The tables are as before, and the rows may be written once more, copied or not."""
    monkeypatch.setattr(tables, "BLOCK_BYTES", 2 * 8 * BLOCK)
    array, other = (
        np.random.default_rng(0).integers(0, 200, (2, 8 * BLOCK, 2)).astype(np.uint64)
    )
    before = array.copy()
    held = filled(None, array[: BLOCK // 2], 2, 1)
    probe = array[::9]
    rows = held.allot(7 * BLOCK)
    # the first two blocks are kept for rows that are then taken out again, so that blocks must be
    # copied
    held.write(rows[:200], array[BLOCK // 2 : BLOCK // 2 + 200], copy=False)
    held.erase(rows[:200])
    new = array[BLOCK // 2 : -(BLOCK // 2)]
    with pytest.raises(MemoryError), failing(1, onwards=True):
        held.write(rows, new, copy=False)
    fails, _ = until_it_succeeds(
        lambda: held.write(rows, other[: len(rows)], then), lambda: state(held, probe)
    )
    assert fails >= 1
    placed = np.concatenate([array[: BLOCK // 2], other[: len(rows)]])
    assert (held.signatures_of(np.arange(len(placed))) == placed).all()
    assert answers(held, probe) == brute_force(placed, probe, 2, 1)
    assert (array == before).all()


WITHOUT_MEMORY = """
import resource, sys
import numpy as np
from lshfast.kernels.tables import BandTables
n, bands = 256, 4096
signatures = np.full((2 * n, bands), 2**64 - 1, np.uint64)
signatures[::100] = np.arange(0, 2 * n, 100, dtype=np.uint64)[:, None] % 3
held = BandTables(bands, bands, 1, "int")
rows, _ = held.admit(np.arange(n))
held.write(rows, signatures[:n])
new = held.allot(n)
held.write(new, signatures[n:])
erased = rows[200:]
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (2 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    bytearray(4 * n * bands)
except MemoryError:
    held.hand_over(rows[:200], new[:200])
    held.erase(new[:100])
    held.erase(erased)
    print(held.unsound(), held.query_one(signatures[0])[0], held.query_one(signatures[100])[0],
          held.query_one(signatures[200])[0], held.find(np.arange(0, n, 50)).tolist())
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="memory is limited and looked at as Linux does it"
)
def test_rows_are_taken_out_without_memory():
    """Where there is none to work on all rows of a batch, they are worked on one by one."""
    done = python(WITHOUT_MEMORY, command=("env", "MALLOC_MMAP_THRESHOLD_=65536"))
    # Of the rows with signatures of 0, 1, 2, 0, 1, 2 those of the names 0, 100 and 200 are gone,
    # 300 is erased, 400 has the name 144 now, and 500 none.
    assert (done.stdout, done.stderr) == (
        "None [] [144] [0] [256, 306, 356, 406, 200, 250]\n",
        "",
    )


FOR_AN_ANSWER = """
import resource
import numpy as np
from lshfast.kernels.tables import BandTables
n, bands = 100_000, 8
signatures = np.ones((n, bands), np.uint64)
held = BandTables(bands, bands, 1)
held.write(held.allot(n), signatures)
pages = int(open("/proc/self/statm").read().split()[0])
some, limits = pages * resource.getpagesize() + (4 << 20), resource.getrlimit(resource.RLIMIT_AS)
for most in (some, some, limits[0]):
    resource.setrlimit(resource.RLIMIT_AS, (most, limits[1]))
    try:
        print(held.query_one(signatures[0])[0] == list(range(n)))
    except MemoryError:
        print("no memory")
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="memory is limited and looked at as Linux does it"
)
def test_memory_runs_out_for_an_answer():
    """The next single query, which is worked on in the same memory, asks for it again."""
    done = python(FOR_AN_ANSWER, command=("env", "MALLOC_MMAP_THRESHOLD_=65536"))
    assert (done.stdout, done.stderr) == ("no memory\nno memory\nTrue\n", "")


# Memory that runs out under an index

KEYS = {
    "int": lambda i: i,
    "str": lambda i: f"key {i}",
    "object": lambda i: (i, f"key {i}", (i,))[i % 3],
}


PLACES = [*product(["memory"], KEYS), ("file", "int"), ("file", "str")]


@pytest.fixture(params=PLACES, ids="-".join)
def stored(request, tmp_path):
    """Return what makes an index of entries under keys of one kind, in memory or half of them in a file."""
    place, kind = request.param
    made = []

    def make(signatures, on_duplicate):
        index, keys = small(), [KEYS[kind](i) for i in range(len(signatures))]
        half = len(keys) // 2 if place == "file" else 0
        index.insert(keys[:half], signatures[:half])
        if place == "file":
            index.save(tmp_path / "index")
            index = LSHIndex.open(tmp_path / "index", "r+")
            made.append(index)
        index.insert(keys[half:], signatures[half:])
        index.on_duplicate = on_duplicate
        return index

    make.key = KEYS[kind]
    yield make
    for index in made:
        index.store.abandon()


def test_memory_runs_out_in_an_index():
    """Names and signatures come and go together."""
    index = LSHIndex(num_perm=1, bands=1, rows_per_band=1)
    index.insert(["seed"], np.zeros((1, 1), np.uint64))
    index.remove(["seed"])
    keys = [str(i) for i in range(200)]
    signatures = np.arange(1, 201, dtype=np.uint64)[:, None]
    fails = 0
    for n in range(1, 100):
        try:
            with failing(n, onwards=True):
                index.insert(keys, signatures)
        except MemoryError:
            fails += 1
            assert (len(index), index.stats().bucket_sizes, list(index)) == (0, {}, [])
            assert not any(index.query(signatures))
        else:
            break
    assert fails >= 3
    assert [index.query(signature) for signature in signatures] == [
        [key] for key in keys
    ]
    index.remove(keys)
    index.insert(["x"], np.array([[999]], np.uint64))
    assert not any(index.query(signatures))


def all_of(index, probe):
    """Return what can be seen of an index: its entries, answers and figures."""
    stats = index.stats()
    found = [set(keys) for keys in index.query(probe)]
    assert [part.tables.unsound() for part in index.store.segments.all] == [None] * len(
        index.store.segments.all
    )
    return (
        content(index),
        found,
        stats.entries,
        stats.bucket_sizes,
        stats.largest_bucket,
    )


@pytest.mark.parametrize("n", [1, 2, 300, 5000])
@pytest.mark.parametrize("on_duplicate", ["replace", "skip"])
def test_memory_runs_out_while_some_keys_are_there(n, on_duplicate, stored):
    """All are inserted or none: of the keys some are there, some are new, and some come twice."""
    held = shared(n, 5)
    index = stored(held, on_duplicate)
    numbers = [*range(n // 3, n + n // 2 + 1), *range(0, n + n // 2, 7)]
    new = shared(len(numbers), 5, seed=1)
    probe = np.concatenate([held[:20], new[:20], new[-20:]])
    keys = [stored.key(i) for i in numbers]
    fails, count = until_it_succeeds(
        lambda: index.insert(keys, new), lambda: all_of(index, probe)
    )
    expected = {stored.key(i): tuple(row) for i, row in enumerate(held.tolist())}
    before = set(expected)
    for key, row in zip(keys, map(tuple, new.tolist()), strict=True):
        expected[key] = row if on_duplicate == "replace" else expected.get(key, row)
    assert content(index) == expected
    assert count == len(set(keys) if on_duplicate == "replace" else set(keys) - before)
    assert fails >= 3 or on_duplicate == "skip"


def test_memory_runs_out_while_one_entry_is_replaced(stored):
    """One after the other, many times over: rows are used again, and there is no more of anything in the end."""
    held, sizes = shared(24, 5), []
    index = stored(held, "replace")
    expected = content(index)
    for turn in range(3):
        for i, row in enumerate(shared(24, 5, seed=turn + 1)):
            key = stored.key(i)
            fails, count = until_it_succeeds(
                lambda key=key, row=row: index.insert(key, row),
                lambda row=row: all_of(index, row[None]),
            )
            expected[key] = tuple(row.tolist())
            assert content(index) == expected
            assert (count, fails >= 2) == (1, True)
        sizes.append(index.store.segments.growing.tables.limit)
    assert sizes[0] == sizes[2] <= 25


@pytest.mark.parametrize("on_duplicate", ["error", "skip", "replace"])
def test_memory_runs_out_while_keys_change_their_kind(on_duplicate):
    """An index of ints is written anew when a str comes, or stays as it is."""
    held, new = shared(300, 5), shared(200, 5, seed=1)
    index = small(on_duplicate=on_duplicate)
    index.insert(range(300), held)
    keys = [f"key {i}" if i % 2 or on_duplicate == "error" else i for i in range(200)]
    fails, count = until_it_succeeds(
        lambda: index.insert(keys, new), lambda: all_of(index, held[:30])
    )
    expected = dict(zip(range(300), map(tuple, held.tolist()), strict=True))
    for key, row in zip(keys, new.tolist(), strict=True):
        if on_duplicate != "skip" or key not in expected:
            expected[key] = tuple(row)
    assert content(index) == expected
    assert count == {"error": 200, "skip": 100, "replace": 200}[on_duplicate]
    assert fails >= 3

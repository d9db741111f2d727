"""The rows of an index's tables, and their names: given, found, taken back and used again; what is refused."""

import copy
import pickle
import sysconfig
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels import gate
from lshfast.kernels.keys import KeyTable
from lshfast.kernels.tables import BandTables
from tests.kernels.tables_kit import (
    EXTREMES,
    KINDS,
    NO_ENTRY,
    ODD_STRINGS,
    answers,
    array_of,
    brute_force,
    column,
    filled,
    int64,
    listed,
    numbered,
    packed,
    state,
    tables_over,
)
from tests.reference import tables as reference
from tests.reference.hashing import EMPTY

# Rows


def test_rows_are_used_again():
    held = BandTables(1, 1, 1)
    assert held.allot(5).tolist() == [0, 1, 2, 3, 4]
    held.release(int64(1, 3))
    assert sorted(held.allot(3).tolist()) == [1, 3, 5]
    held.release(int64(0, 5))
    assert sorted(held.allot(3).tolist()) == [0, 5, 6]
    held.release(int64(6))
    held.release(int64(5, 0, 1, 2, 3))
    assert (len(held), held.limit, held.rows_in_use().tolist()) == (1, 7, [4])
    held.release(int64(4))
    assert (len(held), held.limit) == (0, 0)
    assert held.allot(7).tolist() == list(range(7))
    assert held.allot(0).tolist() == []


def test_rows_are_used_again_where_there_are_many():
    """Free rows are handed out before new ones, over more than one block of signatures."""
    k = 16
    signatures = np.random.default_rng(5).integers(0, 50, (10_000, k)).astype(np.uint64)
    held = filled("int", signatures, 4, 4)
    gone = np.arange(0, 10_000, 3)
    held.erase(gone)
    held.release(gone)
    memory = held.nbytes()
    rows, fresh = held.admit(np.arange(-1, -1 - len(gone), -1))
    assert fresh.all()
    assert sorted(rows.tolist()) == gone.tolist()
    held.write(rows, signatures[rows])
    assert held.nbytes() == memory
    assert held.limit == 10_000
    assert (held.signatures_of(np.arange(10_000)) == signatures).all()
    assert held.find(int64(3, 4, -1)).tolist() == [-1, 4, rows[0]]
    assert answers(held, signatures[:50]) == brute_force(
        signatures, signatures[:50], 4, 4
    )


BAD_ROWS = {
    "behind the end": (int64(0, 3), "rows must be below 3"),
    "negative": (int64(-1), "rows must be below 3"),
    "least": (int64(-(2**63)), "rows must be below 3"),
    "greatest": (int64(2**63 - 1), "rows must be below 3"),
    "beyond 32 bits": (int64(2**32), "rows must be below 3"),
    "free": (int64(0, 1), "row 1 is not in use"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused(kind, case):
    held = filled(kind, np.array([[1], [2], [1]], np.uint64), 1, 1)
    held.erase(int64(1))
    held.release(int64(1))
    rows, message = BAD_ROWS[case]
    probe = np.array([[1], [2]], np.uint64)
    before = state(held, probe)
    for call in (
        lambda: held.write(rows, np.ones((len(rows), 1), np.uint64)),
        lambda: held.erase(rows),
        lambda: held.release(rows),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert state(held, probe) == before
    if case != "free":
        for call in (lambda: held.signatures_of(rows), lambda: held.names_of(rows)):
            with pytest.raises(ValueError, match=message):
                call()


def test_rows_that_come_twice_are_not_released():
    held = BandTables(1, 1, 1, "str")
    held.admit(["a" * 3000, "b" * 5000, "c"])
    for rows in (int64(0, 0), int64(1, 2, 1), int64(2, 0, 1, 2)):
        with pytest.raises(ValueError, match=f"row {rows[-1]} comes twice"):
            held.release(rows)
        assert held.rows_in_use().tolist() == [0, 1, 2]
        assert held.find(["c", "b" * 5000]).tolist() == [2, 1]


def test_wrong_shapes_are_refused():
    held = filled("int", np.ones((3, 4), np.uint64), 2, 2)
    for signatures in (
        np.ones((1, 4)),
        np.ones((3, 3)),
        np.ones((3, 5)),
        np.ones((0, 4)),
    ):
        with pytest.raises(ValueError, match=r"signatures must be \(3, 4\), not"):
            held.write(int64(0, 1, 2), signatures.astype(np.uint64))
    for signatures in (np.ones((1, 3)), np.ones((0, 5)), np.ones((2, 8))):
        with pytest.raises(ValueError, match="signatures must be"):
            held.query(signatures.astype(np.uint64))
    for slots in (0, 3, 5):
        for call in (held.query_one, lambda signature: held.insert_one(9, signature)):
            with pytest.raises(
                ValueError, match=f"signature must be of 4 slots, not {slots}"
            ):
                call(np.ones(slots, np.uint64))
    with pytest.raises(ValueError, match=r"C-contiguous|strided|contig"):
        held.query(np.ones((4, 8), np.uint64)[:, ::2])
    with pytest.raises(ValueError, match="dtype mismatch"):
        held.query(np.ones((1, 4), np.int64))
    for call in (
        held.write,
        held.query,
        held.query_one,
        held.erase,
        held.release,
        held.signatures_of,
        held.names_of,
    ):
        with pytest.raises(TypeError):
            call(None, None) if call == held.write else call(None)
    assert (len(held), held.unsound()) == (3, None)


def test_no_rows_at_all():
    for kind in KINDS:
        held = BandTables(3, 1, 2, kind)
        for _ in range(2):
            none = np.empty((0, 3), np.uint64)
            held.write(int64(), none)
            held.erase(int64())
            held.release(int64())
            assert answers(held, none) == answers(held, none, 2) == []
            assert answers(held, np.ones((2, 3), np.uint64)) == [[], []]
            assert held.query_one(np.ones(3, np.uint64)) == ([], None)
            assert held.signatures_of(int64()).shape == (0, 3)
            assert (
                len(held),
                held.limit,
                held.unsound(),
                held.rows_in_use().tolist(),
            ) == (0, 0, None, [])
            if kind:
                assert held.find(column(kind, [])).tolist() == []
                assert listed(held.names_of(int64())) == []
                assert [array.tolist() for array in held.admit(column(kind, []))] == [
                    [],
                    [],
                ]
            held = tables_over(BandTables(3, 1, 2, kind), 3, 1, 2, kind) if _ else held


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 0, 2), r"1\.\.8, the length of the signatures, not 0 x 2"),
        ((8, 2, 0), r"1\.\.8, the length of the signatures, not 2 x 0"),
        ((8, 3, 3), "not 3 x 3"),
        ((8, 2**32, 2**32), "not 4294967296 x 4294967296"),
        ((0, 1, 1), "not 1 x 1"),
        ((2**16 + 1, 1, 1), "at most 65536 slots, not 65537"),
        ((2**64 - 1, 2**64 - 1, 1), "at most 65536 slots"),
        ((8, 2, 2, "bytes"), "kind must be 'int', 'uint', 'str' or None, not 'bytes'"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BandTables(*arguments)


def test_signatures_of_the_most_slots():
    signatures = np.arange(2**16 * 3, dtype=np.uint64).reshape(3, 2**16)
    held = filled("str", signatures, 2**16, 1)
    assert answers(held, signatures, 2**16) == [[(row, 2**16)] for row in range(3)]
    held.erase(int64(1))
    assert answers(held, signatures) == [[0], [], [2]]
    assert held.unsound() is None


def test_a_table_is_made_once():
    """Making it again changes nothing; it is neither copied nor pickled, as it points into memory."""
    held = filled("int", np.ones((3, 4), np.uint64), 2, 2)
    BandTables.__init__(held)
    assert held.query_one(np.ones(4, np.uint64)) == ([0, 1, 2], None)
    assert BandTables.__new__(BandTables, 4, 2, 2).query_one(np.ones(4, np.uint64)) == (
        [],
        None,
    )
    for each, way in product(
        (held, gate.Gate(), gate.Gate().reading()), (copy.copy, pickle.dumps)
    ):
        with pytest.raises(TypeError):
            way(each)


def test_read_only_buffers():
    arrays = [np.array([[1, 2], [1, 3]], np.uint64), int64(0, 1), int64(7, 8)]
    for array in arrays:
        array.flags.writeable = False
    signatures, rows, names = arrays
    held = BandTables(2, 2, 1, "int")
    assert held.admit(names)[0].tolist() == [0, 1]
    held.write(rows, signatures)
    assert answers(held, signatures) == [[0, 1], [0, 1]]
    assert held.query_one(signatures[1], 2) == ([8], [2])
    assert held.find(names).tolist() == held.rows_in_use().tolist()
    assert held.names_of(rows).tolist() == names.tolist()
    assert (held.signatures_of(rows) == signatures).all()
    held.erase(rows)
    held.release(rows)
    assert len(held) == 0


# Names


@pytest.mark.parametrize("batch", [True, False])
def test_odd_names(batch):
    for kind, names in (("int", EXTREMES), ("str", ODD_STRINGS)):
        held, one = BandTables(1, 1, 1, kind), np.ones(1, np.uint64)
        if batch:
            rows, fresh = held.admit(column(kind, names))
            assert fresh.all()
            held.write(rows, np.ones((len(names), 1), np.uint64))
            assert not held.admit(column(kind, names))[1].any()
        else:
            assert all(held.insert_one(name, one) for name in names)
            assert not any(held.insert_one(name, one) for name in names)
        assert held.find(column(kind, names)).tolist() == list(range(len(names)))
        assert listed(held.names_of(np.arange(len(names)))) == names
        assert held.query_one(one)[0] == names
        for row, name in enumerate(names):
            held.erase(int64(row))
            held.release(int64(row))
            assert held.find(column(kind, [name])).tolist() == [-1]
            assert held.query_one(one)[0] == names[row + 1 :]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        unique=True,
        max_size=40,
    )
)
@example([""])
def test_any_strings(names):
    held = BandTables(1, 1, 1, "str")
    rows, fresh = held.admit([*names, *names[::-1]])
    assert rows.tolist() == [*range(len(names)), *reversed(range(len(names)))]
    assert fresh.tolist() == [True] * len(names) + [False] * len(names)
    assert held.names_of(rows[: len(names)]) == names
    assert held.unsound() is None


def tags_in(held, table):
    """Return the tags of a table, ascending."""
    sections = packed(held)
    lengths = sections["shape"][:, 1].astype(int) + 1
    start = int(lengths[:table].sum())
    entries = sections["tables"][start : start + int(lengths[table])].tolist()
    return [entry >> 32 for entry in entries if entry != NO_ENTRY]


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=20),
    st.lists(st.text("abä\0", max_size=40)),
)
@example(EXTREMES, ["", "a", "a" * 7, "a" * 8, "a" * 9, "a" * 16, "a" * 17])
def test_tags_of_names(integers, strings):
    held = filled(
        "int",
        np.full((len(integers), 1), 5, np.uint64),
        1,
        1,
        np.array(integers, np.int64),
    )
    assert tags_in(held, 1) == sorted(map(reference.tag_of_integer, integers))
    strings = list(dict.fromkeys(strings))
    held = filled("str", np.full((len(strings), 1), 5, np.uint64), 1, 1, strings)
    assert tags_in(held, 1) == sorted(
        {reference.tag_of_bytes(name.encode()) for name in strings}
    )


@given(
    st.lists(
        st.lists(st.sampled_from([0, 1, 2**63, EMPTY - 1]), min_size=6, max_size=6),
        max_size=10,
    )
)
def test_tags_of_bands(rows):
    held = filled(None, array_of(rows, 6), 3, 2)
    expected = [reference.band_tags(row, 3, 2) for row in rows]
    assert [tags_in(held, band) for band in range(3)] == [
        sorted({row[band] for row in expected}) for band in range(3)
    ]


def test_names_that_share_a_tag():
    """Integers and strings are compared, not their hashes."""
    names = np.array(
        [reference.unmix64(77 << 32 | i) for i in range(40)], np.uint64
    ).view(np.int64)
    held = BandTables(1, 1, 1, "int")
    held.admit(names[:20])
    assert held.find(names).tolist() == [*range(20), *[-1] * 20]
    assert len(tags_in(held, 1)) == 1


def test_names_of_the_wrong_kind_are_refused():
    one = np.ones(1, np.uint64)
    strings = BandTables(1, 1, 1, "str")
    integers = BandTables(1, 1, 1, "int")
    nameless = BandTables(1, 1, 1)
    for names in (["a", "\ud800"], ["b", "x\udfffy"]):
        for call in (strings.admit, strings.find):
            with pytest.raises(ValueError, match="lone surrogate"):
                call(names)
        with pytest.raises(ValueError, match="lone surrogate"):
            strings.insert_one(names[1], one)
    for name in (1, b"a", None, 2.5):
        for call in (strings.admit, strings.find):
            with pytest.raises(TypeError, match="names must be str, not"):
                call(["c", name])
    for names in (np.array(["a", "b"]), np.arange(3), ("a",), None, "ab"):
        for call in (strings.admit, strings.find):
            with pytest.raises(TypeError):
                call(names)
    for names in ([1, 2], None, "ab", ["a"]):
        for call in (integers.admit, integers.find):
            with pytest.raises(TypeError):
                call(names)
    for names in (
        np.arange(3.0),
        np.arange(3, dtype=np.int32),
        np.arange(3, dtype=np.uint64),
        np.arange(6)[::2],
    ):
        for call in (integers.admit, integers.find):
            with pytest.raises(ValueError, match=r"dtype mismatch|contig"):
                call(names)
    for call in (
        lambda: nameless.admit(int64(1)),
        lambda: nameless.find(int64(1)),
        lambda: nameless.names_of(int64()),
    ):
        with pytest.raises(ValueError, match="rows of this index have no names"):
            call()
    refused = {
        strings: (1, b"a", None),
        integers: ("a", None, True, 1.0, 2**63, -(2**63) - 1),
        nameless: (1, "a"),
    }
    for held, names in refused.items():
        assert not any(held.insert_one(name, one) for name in names)
    for held in refused:
        assert (len(held), held.unsound(), held.rows_in_use().tolist()) == (0, None, [])


# Rows without names, and names that go from row to row


@pytest.mark.parametrize("kind", ["int", "str"])
def test_rows_without_names(kind):
    """They are found by their signatures, not by the name that is made up for them, which another row may have."""
    blank, one = {"int": 0, "str": ""}[kind], np.ones((2, 1), np.uint64)
    held = BandTables(1, 1, 1, kind)
    rows = held.allot(2)
    held.write(rows, one)
    assert (rows.tolist(), held.find(column(kind, [blank])).tolist()) == ([0, 1], [-1])
    assert listed(held.names_of(rows)) == [blank, blank]
    assert held.admit(column(kind, [blank]))[0].tolist() == [2]
    assert answers(held, one[:1]) == [[0, 1]]
    held.erase(rows)
    held.release(rows)
    assert held.find(column(kind, [blank])).tolist() == [2]
    assert (held.unsound(), held.rows_in_use().tolist()) == (None, [2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3, 5000])
def test_names_are_handed_over(kind, n, level):
    """The old rows are free, and in no bucket; the new ones have their names and their own signatures."""
    generator = np.random.default_rng(n)
    signatures = generator.integers(0, max(2, n // 4), (2 * n, 2)).astype(np.uint64)
    names = numbered(kind or "int", range(n))
    held = filled(kind, signatures[:n], 2, 1)
    new = held.allot(n)
    held.write(new, signatures[n:])
    old = generator.permutation(n)[: n // 2 + 1]
    new, gone = new[: len(old)], new[len(old) :]
    held.hand_over(old, new)
    held.erase(gone)
    held.release(gone)
    expected = np.arange(n)
    expected[old] = new
    assert (held.unsound(), held.rows_in_use().tolist()) == (
        None,
        sorted(expected.tolist()),
    )
    if kind is not None:
        assert held.find(names).tolist() == expected.tolist()
        assert listed(held.names_of(expected)) == listed(names)
    placed = signatures.copy()
    placed[[*old, *gone]] = EMPTY
    assert answers(held, signatures[::29]) == brute_force(
        placed, signatures[::29], 2, 1
    )
    again = held.allot(len(old) + len(gone))
    assert sorted(again.tolist()) == sorted([*old.tolist(), *gone.tolist()])


def test_a_name_that_goes_to_and_fro():
    """Its bytes, and those of names that are the same but for a hash, stay where they are."""
    names = np.array(
        [reference.unmix64(77 << 32 | i) for i in range(40)], np.uint64
    ).view(np.int64)
    for kind, all_names in (("int", names), ("str", ["", "a", "b" * 100])):
        held = filled(kind, np.ones((len(all_names), 1), np.uint64), 1, 1, all_names)
        row, memory = 1, held.nbytes()
        for _ in range(3 * len(all_names)):
            new = held.allot(1)
            held.write(new, np.ones((1, 1), np.uint64))
            held.hand_over(int64(row), new)
            row = int(new[0])
            assert held.unsound() is None
            assert held.find(all_names).tolist() == [0, row, *range(2, len(all_names))]
            assert (
                held.query_one(np.ones(1, np.uint64), 0)[0].count(listed(all_names)[1])
                == 1
            )
        assert held.nbytes() == memory


HANDED_BADLY = {
    "too few": (int64(0, 1), int64(3), "as many new rows as old ones, not 1 for 2"),
    "too many": (int64(0), int64(3, 4), "as many new rows as old ones, not 2 for 1"),
    "a row twice": (int64(0, 1, 0), int64(3, 4, 5), "row 0 comes twice"),
    "from behind the end": (int64(0, 7), int64(3, 4), "rows must be below 7"),
    "to behind the end": (int64(0, 1), int64(3, 7), "rows must be below 7"),
    "from a negative row": (int64(-1), int64(3), "rows must be below 7"),
    "to a negative row": (int64(0), int64(-(2**63)), "rows must be below 7"),
    "from a free row": (int64(0, 6), int64(3, 4), "row 6 is not in use"),
    "to a free row": (int64(0, 1), int64(3, 6), "row 6 is not in use"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", HANDED_BADLY)
def test_names_are_not_handed_over(kind, case):
    old, new, message = HANDED_BADLY[case]
    held = filled(kind, np.array([[1], [2], [1]], np.uint64), 1, 1)
    held.write(held.allot(4), np.array([[5], [5], [6], [7]], np.uint64))
    held.erase(int64(6))
    held.release(int64(6))
    probe = np.array([[1], [2], [5], [6]], np.uint64)
    before = state(held, probe, None if kind is None else numbered(kind, range(4)))
    with pytest.raises(ValueError, match=message):
        held.hand_over(old, new)
    held.hand_over(int64(), int64())
    assert (
        state(held, probe, None if kind is None else numbered(kind, range(4))) == before
    )
    for arguments in ((None, int64()), (int64(), None)):
        with pytest.raises(TypeError):
            held.hand_over(*arguments)


def test_the_bytes_of_removed_names_are_given_back():
    """Long names come and go: memory stays within a few times what is held, and the others keep their names."""
    held = BandTables(1, 1, 1, "str")
    stay = ["", "stays", "ä" * 1000]
    held.admit(stay)
    for turn in range(12):
        names = [f"{turn} {i} " + "x" * (100_000 + i) for i in range(8)]
        rows, fresh = held.admit([*names, f"kept {turn}"])
        assert fresh.all()
        stay.append(f"kept {turn}")
        assert held.names_of(rows[:-1]) == names
        held.release(rows[:-1])
        assert held.find(names).tolist() == [-1] * 8
        assert held.names_of(held.find(stay)) == stay
        assert held.unsound() is None
    assert held.nbytes()[2] < 6_000_000
    assert len(held) == len(stay)
    held.release(held.rows_in_use())
    assert held.admit(stay)[0].tolist() == list(range(len(stay)))


def test_discard_one_takes_only_what_has_a_name_and_a_signature():
    one = np.arange(4, dtype=np.uint64)
    for kind, name, others in (
        ("int", 7, [8, True, "7", None, 2**63, -(2**63) - 1, 7.0, np.int64(7)]),
        ("str", "seven", ["", "eight", 7, None, b"seven", np.str_("seven")]),
    ):
        held = BandTables(4, 2, 2, kind)
        assert held.insert_one(name, one)
        assert not any(held.discard_one(other) for other in others)
        assert {held.find_one(other) for other in others} == {-1, None}
        assert held.query_one(one)[0] == [name]
        assert held.discard_one(name)
        assert not held.discard_one(name)
        assert (len(held), held.query_one(one)[0]) == (0, [])
        unwritten = BandTables(4, 2, 2, kind)
        unwritten.admit(np.array([name]) if kind == "int" else [name])
        with pytest.raises(ValueError, match="row 0 has no signature"):
            unwritten.discard_one(name)
    assert not BandTables(4, 2, 2).discard_one(0)


@pytest.mark.parametrize("kind", KINDS)
def test_tidying_leaves_no_free_memory_between_buckets(kind):
    """Whatever came and went before: the same rows answer, and what comes later finds its place."""
    generator = np.random.default_rng(11)
    signatures = generator.integers(0, 3, (400, 4)).astype(np.uint64)
    held = filled(kind, signatures, 2, 2)
    held.erase(np.arange(0, 400, 3))
    signatures[::3] = EMPTY
    before = answers(held, signatures)
    held.tidy()
    assert held.unsound() is None
    assert (
        answers(held, signatures) == before == brute_force(signatures, signatures, 2, 2)
    )
    words = np.concatenate(held.sections()["pool"]).tolist()
    blocks = 0
    while words:
        assert (
            words[0] > 1
        )  # its rows; a free block has none, and a row alone needs none
        blocks, words = blocks + 1, words[words[1] + 2 :]
    assert blocks == 18
    signatures[::3] = 1
    held.write(np.arange(0, 400, 3), signatures[::3].copy())
    assert held.unsound() is None
    assert answers(held, signatures) == brute_force(signatures, signatures, 2, 2)


def test_room_is_that_of_the_fullest_band():
    """So many rows go in, whatever they are, and no table becomes longer."""
    signatures = np.arange(2 * 500, dtype=np.uint64).reshape(500, 2)
    held, done = BandTables(2, 2, 1), 0
    while done < 400:
        room, before = held.room(), held.nbytes()[1]
        rows = held.allot(room)
        lengths = (
            np.concatenate(held.sections()["shape"])[:, 1].tolist() if done else None
        )
        held.write(rows, signatures[done : done + room])
        done += room
        if lengths is not None:
            assert np.concatenate(held.sections()["shape"])[:, 1].tolist() == lengths
        assert held.room() == 0
        held.write(held.allot(1), signatures[done : done + 1])
        done += 1
        assert held.room() > 0
        assert held.nbytes()[1] > before


def astray(signature):
    """Return a copy of an array that is not aligned."""
    raw = np.zeros(signature.nbytes + 1, np.uint8)[1:]
    raw[:] = signature.view(np.uint8)
    return raw.view(np.uint64)


# What is answered at once only where the interpreter lock keeps other threads from changing an
# array that is read.
with_gil = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="no array is read without the buffer protocol",
)


@with_gil
@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("k", [1, 4])
def test_plain_signatures_are_taken_at_once(kind, k):
    held = BandTables(k, 1, 1, kind)
    names = {"int": [9, 7, 8], "str": ["9", "7", "8"]}[kind]
    lock = gate.Gate()
    matrix = np.arange(3 * k, dtype=np.uint64).reshape(3, k)
    matrix[:, 0] = 5
    assert [
        held.insert_plain(name, row) for name, row in zip(names, matrix, strict=True)
    ] == [True] * 3
    matrix[:, 0] = 6  # they were copied
    assert not held.insert_plain(names[0], matrix[0])
    assert held.signatures_of(int64(held.find_one(names[2])))[0].tolist() == [
        5,
        *range(2 * k + 1, 3 * k),
    ]
    fives = np.full(k, 5, np.uint64)
    assert (
        held.query_plain(fives, lock)
        == sorted(held.query_one(fives)[0])
        == sorted(names)
    )
    assert held.query_plain(matrix[0], lock) == []
    assert (len(held), held.unsound()) == (3, None)


def test_other_signatures_are_not_taken_at_once():
    class Marked(np.ndarray):
        pass

    held, lock = BandTables(4, 2, 2, "int"), gate.Gate()
    held.insert_one(1, np.ones(4, np.uint64))
    ones = np.ones(8, np.uint64)
    others = [
        ones, ones[:3], ones[:0], ones[::2], ones[:4].astype(np.int64), ones[:4].astype(float), ones[:4].astype(">u8"),
        ones.reshape(2, 4), np.uint64(1) + np.zeros((), np.uint64), astray(ones[:4]), ones[:4].view(Marked), [1] * 4,
        None, "text", memoryview(ones[:4]), np.uint64(4), np.broadcast_to(ones[:1], 4), ones[3::-1][:4],
    ]  # fmt: skip
    for other in others:
        assert held.query_plain(other, lock) is None
        assert not held.insert_plain(2, other)
    for name in ("2", True, 2.0, None, 2**63, -(2**63) - 1, [2]):
        assert not held.insert_plain(name, ones[:4])
    assert BandTables(4, 2, 2).query_plain(ones[:4], lock) is None
    with lock.writing():
        assert held.query_plain(ones[:4], lock) is None
    with pytest.raises(TypeError):
        held.query_plain(ones[:4], None)
    assert (len(held), held.query_one(ones[:4])) == (1, ([1], None))
    strings = BandTables(4, 2, 2, "str")
    for take in (strings.insert_one, strings.insert_plain)[
        : 2 - bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    ]:
        with pytest.raises(ValueError, match="lone surrogate"):
            take("\ud800", ones[:4])


# Unsigned names


def test_unsigned_names():
    tables = BandTables(8, 2, 2, "uint")
    names = np.array([2**64 - 1, 5, 2**63], np.uint64)
    rows, fresh = tables.admit(names)
    assert fresh.all()
    assert tables.names_of(rows).dtype == np.uint64
    assert tables.names_of(rows).tolist() == names.tolist()
    assert tables.find(names[::-1].copy()).tolist() == rows[::-1].tolist()
    for name, row in zip(names.tolist(), rows.tolist(), strict=True):
        assert tables.find_one(name) == row
    assert [tables.find_one(name) for name in (-1, 2**64, -(2**63), 2**70)] == [
        None
    ] * 4
    assert [tables.find_one(name) for name in (6, 2**63 - 1, 2**64 - 2)] == [-1] * 3
    signed = BandTables(8, 2, 2, "int")
    signed_rows, _ = signed.admit(names.view(np.int64))
    assert signed.tags_of(signed_rows).tolist() == tables.tags_of(rows).tolist()
    with pytest.raises(ValueError, match="mismatch"):
        tables.find(np.array([5]))


def test_names_that_are_read_as_another_kind():
    tables = BandTables(8, 2, 2, "int")
    assert tables.is_either()
    rows, _ = tables.admit(np.array([7, -1, 2**63 - 1]))
    assert not tables.is_either()
    with pytest.raises(ValueError, match="names of rows must be integers"):
        tables.read_as("uint")
    tables.release(rows[1:2])
    assert tables.is_either()
    tables.read_as("uint")
    assert tables.names_of(rows[[0, 2]]).tolist() == [7, 2**63 - 1]
    assert tables.find(np.array([7, 2**64 - 1], np.uint64)).tolist() == [rows[0], -1]
    tables.admit(np.array([2**63], np.uint64))
    assert not tables.is_either()
    with pytest.raises(ValueError, match="names of rows must be integers"):
        tables.read_as("int")
    with pytest.raises(ValueError, match="to be read as 'str'"):
        BandTables(8, 2, 2, "int").read_as("str")
    assert not BandTables(8, 2, 2, "str").is_either()


@pytest.mark.parametrize(
    ("keys", "dtype"),
    [
        ([5, 2**63], np.uint64),
        ([2**64 - 1], np.uint64),
        ([-1, 2**63 - 1], np.int64),
        ([-1, 2**63], None),
        ([2**63, -(2**63)], None),
        ([2**64], None),
        ([2**63, -(2**63) - 1], None),
        (["a", 2**63], None),
    ],
)
def test_keys_of_a_table_of_any_keys(keys, dtype):
    table = KeyTable()
    rows = np.arange(len(keys))
    table.add(keys, rows)
    taken = table.take(rows)
    assert list(taken) == keys
    assert getattr(taken, "dtype", None) == dtype

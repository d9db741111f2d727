"""Tables over the memory of others, which may be damaged in any way."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import LSHIndex
from lshfast.kernels.tables import BandTables
from tests.kernels.tables_kit import (
    KINDS,
    NO_ENTRY,
    SHARED,
    answers,
    filled,
    int64,
    numbered,
    packed,
    tables_over,
)
from tests.reference.hashing import EMPTY

# Over the memory of others


def test_fixed_tables_are_not_written():
    held = filled("int", np.ones((3, 2), np.uint64), 1, 2)
    fixed = tables_over(held, 2, 1, 2, "int")
    before = {name: arrays[0].tobytes() for name, arrays in fixed.sections().items()}
    for call in (
        lambda: fixed.admit(int64(1, 9)),
        lambda: fixed.allot(1),
        lambda: fixed.release(int64(0)),
        lambda: fixed.write(int64(0), np.ones((1, 2), np.uint64)),
        lambda: fixed.erase(int64(0)),
        lambda: fixed.hand_over(int64(0), int64(1)),
        lambda: fixed.insert_one(9, np.ones(2, np.uint64)),
        lambda: fixed.insert_one(1, np.ones(2, np.uint64)),
        lambda: fixed.discard(int64(0)),
        lambda: fixed.discard_one(1),
    ):
        with pytest.raises(ValueError, match="these tables are fixed"):
            call()
    assert {
        name: arrays[0].tobytes() for name, arrays in fixed.sections().items()
    } == before
    assert len(fixed) == 3


def test_the_same_array_may_be_given_again():
    held = filled("str", np.arange(12, dtype=np.uint64).reshape(6, 2), 2, 1)
    sections = packed(held)
    fixed = BandTables.over(2, 2, 1, "str", sections)
    assert {
        name: arrays[0] is sections[name] for name, arrays in fixed.sections().items()
    } == dict.fromkeys(sections, True)
    again = BandTables.over(
        2, 2, 1, "str", {name: arrays[0] for name, arrays in fixed.sections().items()}
    )
    assert again.names_of(again.rows_in_use()) == [f"name {i}" for i in range(6)]
    assert again.nbytes()[0] == 6 * 2 * 8


def test_rows_that_are_gone():
    """They are in no answer, from the moment that they are marked."""
    signatures = np.ones((5, 2), np.uint64)
    gone = np.zeros(5, np.uint8)
    fixed = tables_over(filled("int", signatures, 2, 1), 2, 2, 1, "int", gone)
    assert fixed.query_one(signatures[0]) == ([0, 1, 2, 3, 4], None)
    gone[[1, 4]] = 1
    assert fixed.query_one(signatures[0], 1) == ([0, 2, 3], [2, 2, 2])
    assert answers(fixed, signatures[:1]) == [[0, 2, 3]]
    assert fixed.find(np.arange(6)).tolist() == [0, -1, 2, 3, -1, -1]
    assert (len(fixed), fixed.rows_in_use().tolist(), fixed.limit) == (3, [0, 2, 3], 5)
    gone[:] = 1
    assert (len(fixed), fixed.query_one(signatures[0])) == (0, ([], None))
    gone[:] = 0
    gone[0] = 2  # anything but 0
    assert len(fixed) == 4
    with pytest.raises(ValueError, match="gone must have 5 marks, not 4"):
        tables_over(
            filled("int", signatures, 2, 1), 2, 2, 1, "int", np.zeros(4, np.uint8)
        )


def test_sections_over_several_blocks_of_signatures():
    signatures = np.random.default_rng(6).integers(0, 400, (9000, 4)).astype(np.uint64)
    held = filled("int", signatures[:4000], 2, 2)
    for low, high in ((4000, 4097), (4097, 9000)):
        held.write(held.admit(np.arange(low, high))[0], signatures[low:high])
    fixed = tables_over(held, 4, 2, 2, "int")
    assert len(held.sections()["signatures"]) > 1
    assert (fixed.signatures_of(np.arange(9000)) == signatures).all()
    assert answers(fixed, signatures, 3) == answers(held, signatures, 3)
    assert fixed.nbytes()[0] == signatures.nbytes
    assert fixed.bucket_sizes()[1:] == held.bucket_sizes()[1:]


def changed(name, change):
    """Return a function that changes one section."""

    def apply(sections):
        sections[name] = change(sections[name].copy())

    return apply


def at(place, value):
    """Return a function that changes one value of an array."""

    def apply(array):
        array.reshape(-1)[place] = value
        return array

    return apply


BAD_SECTIONS = {
    "signatures too narrow": (changed("signatures", lambda a: a[:, :1].copy()), "must have 2 slots, not 1"),
    "no table of names": (changed("shape", lambda a: a[:2]), r"shape must be \(3, 3\), not \(2, 3\)"),
    "a shape of two": (changed("shape", lambda a: a[:, :2].copy()), r"shape must be \(3, 3\), not \(3, 2\)"),
    "no capacity": (changed("shape", at(0, 0)), "table 0 has capacity 0"),
    "too large a capacity": (changed("shape", at(3, 2**32 + 1)), "table 1 has capacity 4294967297"),
    "a capacity beyond the length": (changed("shape", at(4, 1)), "table 1 has capacity .* and length 1,"),
    "a length beyond the end": (changed("shape", at(1, 2**40)), "table 0 has"),
    "the greatest length": (changed("shape", at(7, 2**64 - 1)), "table 2 has"),
    "another length": (changed("shape", at(1, 80)), r"tables must have \d+ entries, not \d+"),
    "no end": (changed("tables", at(-1, 5)), "table 2 has no end"),
    "an entry too few": (changed("tables", lambda a: a[:-1]), "table 2 has"),
    "an entry too many": (changed("tables", lambda a: np.append(a, a[-1:])), "tables must have"),
    "no entries": (changed("tables", lambda a: a[:0]), "table 0 has"),
    "half a unit": (changed("pool", lambda a: a[:-2]), "the pool must have whole blocks, not"),
    "an integer too few": (changed("integers", lambda a: a[:-1]), "there must be 8 integers, not 7"),
    "a row too few": (changed("signatures", lambda a: a[:-1]), "there must be 7 integers, not 8"),
    "a start too few": (changed("starts", lambda a: a[:-1]), "there must be 8 starts and lengths, not 7 and 8"),
    "a length too many": (changed("lengths", lambda a: np.append(a, a)), "starts and lengths, not 8 and 16"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_SECTIONS)
def test_sections_that_do_not_belong_together_are_refused(case):
    change, message = BAD_SECTIONS[case]
    kind = "str" if case in ("a start too few", "a length too many") else "int"
    sections = packed(
        filled(kind, np.arange(16, dtype=np.uint64).reshape(8, 2) % 3, 2, 1)
    )
    change(sections)
    with pytest.raises(ValueError, match=message):
        BandTables.over(2, 2, 1, kind, sections)


def read_all(fixed, queries, kind):
    """Call every reading method: each gives an answer or a ValueError. Return what `unsound` says."""
    rows, n = fixed.rows_in_use(), fixed.limit
    calls = [
        lambda: fixed.query(queries),
        lambda: fixed.query(queries, 1),
        lambda: fixed.query_one(queries[0], 0),
        lambda: fixed.signatures_of(rows),
        fixed.bucket_sizes,
        fixed.nbytes,
        fixed.sections,
    ]
    if kind is not None:
        calls += [
            lambda: fixed.find(numbered(kind, range(-2, n + 5))),
            lambda: fixed.names_of(rows),
        ]
    for call in calls:
        with suppress(ValueError):
            call()
    return fixed.unsound()


def damaged(sections, name, place, flip):
    """Return the sections with one byte changed."""
    data = bytearray(sections[name].tobytes())
    data[place] ^= flip
    array = np.frombuffer(bytes(data), sections[name].dtype).reshape(
        sections[name].shape
    )
    return {**sections, name: array}


@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_may_be_damaged(kind):
    """One byte of the sections is changed: fixed tables refuse it, give an answer or a ValueError, and never crash."""
    signatures = np.array(
        [[0, 1], [0, 1], [0, 2], [1, 2], [1, 1], [EMPTY] * 2, [0, 0], [0, 5]], np.uint64
    )
    sections = packed(filled(kind, signatures, 2, 1))
    counts_of_bands = sections["shape"][:, 2].sum()
    found = 0
    for name, array in sections.items():
        for place in range(array.nbytes):
            for flip in {0xFF, 1 << place % 8}:
                try:
                    fixed = BandTables.over(
                        2, 2, 1, kind, damaged(sections, name, place, flip)
                    )
                except ValueError:
                    continue
                found += read_all(fixed, signatures, kind) is not None
    assert found > counts_of_bands  # damage to the entries, if nothing else


WORDS = st.sampled_from(
    [0, 1, 2, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1]
)


@settings(max_examples=60)
@given(st.data())
def test_sections_may_be_damaged_in_many_places(data):
    kind = data.draw(st.sampled_from(KINDS))
    n = data.draw(st.sampled_from([0, 1, 20, 60]))
    signatures = np.random.default_rng(n).integers(0, 3, (n, 4)).astype(np.uint64)
    sections = {
        name: array.copy()
        for name, array in packed(filled(kind, signatures, 2, 2)).items()
    }
    sections["signatures"] = sections["signatures"].reshape(n, 4)
    for _ in range(data.draw(st.integers(1, 5))):
        name = data.draw(st.sampled_from(sorted(sections)))
        flat = sections[name].reshape(-1)
        if not flat.size:
            continue
        place, value = data.draw(st.integers(0, flat.size - 1)), data.draw(WORDS)
        flat[place] = np.array([value], np.uint64).view(flat.dtype)[0]
    gone = data.draw(st.sampled_from([None, np.arange(n, dtype=np.uint8) % 2]))
    try:
        fixed = BandTables.over(4, 2, 2, kind, sections, gone)
    except ValueError:
        return
    read_all(fixed, np.ones((3, 4), np.uint64), kind)


def rewritten(sections, change):
    """Return the sections with each entry of all tables changed."""
    entries = sections["tables"].copy()
    there = entries != NO_ENTRY
    entries[there] = [change(entry) for entry in entries[there].tolist()]
    return {**sections, "tables": entries}


LEADS = {
    "to the row behind the last": lambda entry, units: entry >> 32 << 32 | 40,
    "one unit behind the pool": lambda entry, units: entry >> 32 << 32 | SHARED + units,
    "far behind the pool": lambda entry, units: entry >> 32 << 32 | 2 * SHARED - 2,
    "to the last number there is": lambda entry, units: (
        entry >> 32 << 32 | 2 * SHARED - 1
    ),
    "into the middle of a block": lambda entry, units: (
        entry + (1 if entry & SHARED else 0)
    ),
    "to no row": lambda entry, units: entry >> 32 << 32 | SHARED - 1,
}


@pytest.mark.parametrize("lead", LEADS)
def test_entries_that_lead_nowhere(lead):
    signatures = np.random.default_rng(1).integers(0, 2, (40, 4)).astype(np.uint64)
    sections = packed(filled("int", signatures, 2, 2))
    units = len(sections["pool"]) // 4
    fixed = BandTables.over(
        4, 2, 2, "int", rewritten(sections, lambda entry: LEADS[lead](entry, units))
    )
    assert fixed.unsound() == 0
    read_all(fixed, signatures, "int")
    if lead != "into the middle of a block":
        with pytest.raises(
            ValueError, match="an entry of the tables leads out of them"
        ):
            fixed.query(signatures)
        with pytest.raises(
            ValueError, match="an entry of the tables leads out of them"
        ):
            fixed.query_one(signatures[0])
        assert (fixed.find(np.arange(40)) < 40).all()


def test_an_entry_that_leads_to_an_empty_signature():
    """It matches nothing, wherever it may be found."""
    sections = packed(filled(None, np.array([[EMPTY], [5]], np.uint64), 1, 1))
    entries = sections["tables"].copy()
    entries[int(sections["shape"][0, 0]) - 1] = 0xFFFFFFFF << 32
    fixed = BandTables.over(1, 1, 1, None, {**sections, "tables": entries})
    assert answers(fixed, np.array([[EMPTY], [5]], np.uint64)) == [[], [1]]
    assert fixed.query_one(np.array([EMPTY], np.uint64), 0) == ([], [])


def test_names_that_lie_outside_of_all_names():
    sections = packed(filled("str", np.ones((4, 1), np.uint64), 1, 1))
    size = len(sections["bytes"])
    for start, length in (
        (-1, 6),
        (size, 1),
        (size + 1, 0),
        (0, size + 1),
        (2**63 - 1, 2**32 - 1),
        (-(2**63), 6),
    ):
        sections["starts"], sections["lengths"] = (
            int64(0, 0, start, 0),
            np.array([6, 6, length, 6], np.uint32),
        )
        fixed = BandTables.over(1, 1, 1, "str", sections)
        with pytest.raises(
            ValueError, match="the name of row 2 lies outside of all names"
        ):
            fixed.names_of(int64(2))
        with pytest.raises(
            ValueError, match="the name of row 2 lies outside of all names"
        ):
            fixed.query_one(np.ones(1, np.uint64))
        assert fixed.find(["name 2"]).tolist() == [-1]
    sections["bytes"] = np.full(size, 0xFF, np.uint8)
    with pytest.raises(UnicodeDecodeError):
        BandTables.over(1, 1, 1, "str", sections).names_of(int64(0))


def test_the_empty_name_over_no_bytes_at_all():
    held = filled("str", np.ones((1, 4), np.uint64), 2, 2, [""])
    assert held.find([""]).tolist() == [0]
    fixed = tables_over(held, 4, 2, 2, "str")
    assert (fixed.find(["", "a"]).tolist(), fixed.names_of(int64(0))) == ([0, -1], [""])
    assert fixed.query_one(np.ones(4, np.uint64)) == ([""], None)


def test_a_damaged_file_is_read_without_a_crash(tmp_path):
    """Entries that lead out of the pool, in a file that is not verified: figures leave them out."""
    index = LSHIndex(num_perm=8, bands=4, rows_per_band=2)
    index.insert(
        range(100), np.random.default_rng(0).integers(0, 5, (100, 8), np.uint64)
    )
    index.save(tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    entries = index.store.segments.growing.tables.sections()["tables"][0].copy()
    start = data.find(entries.tobytes())
    assert start > 0
    entries[entries != NO_ENTRY] |= np.uint64(0xC0000000)
    data[start : start + entries.nbytes] = entries.tobytes()
    (tmp_path / "index").write_bytes(data)
    with LSHIndex.open(tmp_path / "index", verify=False) as damaged_index:
        assert damaged_index.stats().entries == 100
        with pytest.raises(ValueError, match="leads out of"):
            damaged_index.query(
                np.random.default_rng(0).integers(0, 5, (100, 8), np.uint64)
            )

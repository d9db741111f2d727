"""What the tests of an index's tables share: names of all kinds; tables filled, asked, packed and looked at."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from lshfast.kernels.tables import BandTables
from tests.reference import tables as reference
from tests.reference.hashing import EMPTY

KINDS = ["int", "str", None]
NO_ENTRY, SHARED = 2**64 - 1, 2**31
GROUP, NAMES, BATCH = (
    16,
    4096,
    131072,
)  # of the kernel: looked at, admitted, written in one go

EXTREMES = [0, -1, 1, 2**63 - 1, -(2**63), 2**32]
ODD_STRINGS = [
    "",
    "\0",
    "a",
    "a\0",
    "\0a",
    "ä",
    "\U0001f600",
    "eight by",
    "nine byte",
    "x" * 70,
]
NAMES_OF_KIND = {
    "int": st.one_of(st.integers(0, 40), st.sampled_from(EXTREMES)),
    "str": st.one_of(st.integers(0, 40).map(str), st.sampled_from(ODD_STRINGS)),
}


def array_of(signatures, k):
    """Return signatures as an array, which none of them may be missing from."""
    return np.array(signatures, np.uint64).reshape(len(signatures), k)


def column(kind, names):
    """Return names as the tables take them."""
    return np.array(names, np.int64) if kind == "int" else list(names)


def numbered(kind, numbers):
    """Return a name for each number."""
    return column(
        kind, numbers if kind == "int" else [f"name {number}" for number in numbers]
    )


def listed(names):
    return names.tolist() if isinstance(names, np.ndarray) else names


def int64(*rows):
    return np.array(rows, np.int64)


def filled(kind, signatures, bands, rows, names=None):
    """Return tables that hold these signatures in rows 0, 1, 2, ..., by default under names for these numbers."""
    made = BandTables(signatures.shape[1], bands, rows, kind)
    n = len(signatures)
    taken = (
        made.allot(n)
        if kind is None
        else made.admit(numbered(kind, range(n)) if names is None else names)[0]
    )
    assert taken.tolist() == list(range(n))
    made.write(taken, signatures)
    return made


def answers(held, signatures, least=None):
    """Return the candidates of each query, with their equal slots if counted."""
    offsets, rows, agreements = held.query(np.ascontiguousarray(signatures), least)
    assert offsets.dtype == rows.dtype == np.int64
    assert len(offsets) == len(signatures) + 1
    assert (offsets[0], offsets[-1]) == (0, len(rows))
    found = rows.tolist()
    if least is not None:
        found = list(zip(found, agreements.tolist(), strict=True))
    else:
        assert agreements is None
    return [found[low:high] for low, high in pairwise(offsets.tolist())]


def brute_force(held, queries, bands, rows):
    """Return the rows that agree with each query in all slots of some band, none of them being empty."""
    found = []
    for query in queries:
        agree = (
            (held == query)[:, : bands * rows]
            .reshape(len(held), bands, rows)
            .all(axis=2)
            .any(axis=1)
        )
        found.append(
            np.flatnonzero(agree & (held[:, 0] != EMPTY) & (query[0] != EMPTY)).tolist()
        )
    return found


def packed(held):
    """Return the sections as they lie in a file: each in one piece, and read only."""
    sections = {}
    for name, arrays in held.sections().items():
        whole = np.concatenate(arrays) if arrays else np.empty((0, 1), np.uint64)
        sections[name] = np.frombuffer(whole.tobytes(), whole.dtype).reshape(
            whole.shape
        )
    return sections


def tables_over(held, k, bands, rows, kind, gone=None):
    """Return fixed tables over the sections of others."""
    sections = packed(held)
    if not len(held):
        sections["signatures"] = np.empty((0, k), np.uint64)
    return BandTables.over(k, bands, rows, kind, sections, gone)


def state(held, probe, names=None):
    """Return what can be seen of tables by some queries, and by some names."""
    sizes, largest, squares = held.bucket_sizes()
    seen = [
        held.unsound(),
        held.rows_in_use().tolist(),
        answers(held, probe),
        sizes.tolist(),
        largest,
        squares,
    ]
    return [*seen, len(held), None if names is None else held.find(names).tolist()]


def tag_signatures(tags, k=2):
    """Return signatures of which each slot is a band with this tag; no two share a slot, so none are candidates."""
    return np.array(
        [
            [reference.slot_of_key(tag << 32 | i, band) for band in range(k)]
            for i, tag in enumerate(tags)
        ],
        np.uint64,
    )


CROWDED = {
    "at the front": lambda n: range(n),
    "at the end": lambda n: range(2**32 - n, 2**32),
    "in the middle": lambda n: range(2**31 - n // 2, 2**31 - n // 2 + n),
    "one tag": lambda n: [12345] * n,
    "the greatest": lambda n: [2**32 - 1] * n,
    "least and greatest": lambda n: [(2**32 - 1) * (i % 2) for i in range(n)],
    "evenly": lambda n: [i * 2**32 // n for i in range(n)],
    "two crowds": lambda n: [i + (i % 2) * (2**32 - n) for i in range(n)],
}

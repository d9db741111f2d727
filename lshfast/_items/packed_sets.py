"""Sets as bytes, so that they can wait in memory and in files as texts do.

A packed set is 64-bit words, little-endian: the number of elements, the bytes of each element, and
then the elements. For integers it is 2**64 - 1, and then the elements mod 2**64. An empty set has
no bytes.
"""

from __future__ import annotations

import numpy as np

from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.kernels.text import Texts

WORD_BYTES = 8
INTEGERS = 2**64 - 1


def pack(offsets: Int64Array, elements: Texts | UInt64Array) -> Texts:
    """Return sets as packed sets; set i is ``elements[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> import numpy as np
    >>> packed = pack(np.array([0, 2, 2, 3]), Texts(["red", "blue", "red"]))
    >>> packed.lengths.tolist(), unpack(packed)[0].tolist()
    ([31, 0, 19], [0, 2, 2, 3])
    """
    counts = np.diff(offsets)
    full = np.flatnonzero(counts)
    counts = counts[full]
    words = 1 + (counts if isinstance(elements, Texts) else 0 * counts)
    starts = offsets_of(words)
    header = np.empty(starts[-1], "<u8")
    is_count = _marked(starts[:-1], len(header))
    if isinstance(elements, Texts):
        header[is_count] = counts
        header[~is_count] = elements.lengths
        ends = offsets_of(elements.lengths)[offsets]
        data = np.frombuffer(elements.packed(), np.uint8)
    else:
        header[:] = INTEGERS
        data = elements.astype("<u8").view(np.uint8)
        ends = WORD_BYTES * offsets
    headers = Texts.of_buffer(header.view(np.uint8), WORD_BYTES * starts)
    values = Texts.of_buffer(data, np.append(ends[:-1][full], ends[-1]))
    turns = int64_range(2 * len(full)).reshape(2, -1).T.reshape(-1)
    packed = np.frombuffer(
        Texts.concatenate([headers, values]).take(turns).packed(), np.uint8
    )
    lengths = np.zeros(len(offsets), np.int64)
    lengths[1:][full] = WORD_BYTES * words + np.diff(ends)[full]
    return Texts.of_buffer(packed, np.cumsum(lengths, dtype=np.int64))


def unpack(sets: Texts) -> tuple[Int64Array, Texts | UInt64Array]:
    """Return the offsets and the elements of packed sets.

    Raises
    ------
    TypeError
        If some sets are of strings, and others of integers.
    ValueError
        If the bytes are no packed sets.
    """
    full, heads, data, starts = _heads(sets)
    nbytes = sets.lengths[full]
    offsets = np.zeros(len(sets) + 1, np.int64)
    integers = heads == INTEGERS
    if integers.any():
        if not integers.all():
            raise TypeError(
                "elements of sets must be all strings or all integers, and these inputs have both"
            )
        _check(not (nbytes % WORD_BYTES).any())
        words = data.view("<u8")
        offsets[1:][full] = nbytes // WORD_BYTES - 1
        elements = words[~_marked(starts // WORD_BYTES, len(words))].astype(np.uint64)
        return np.cumsum(offsets, dtype=np.int64), elements
    _check(bool((heads <= (nbytes // WORD_BYTES - 1).astype(np.uint64)).all()))
    counts = heads.astype(np.int64)
    ends = starts + WORD_BYTES * (1 + counts)
    parts = Texts.of_buffer(
        data,
        np.append(np.stack([starts + WORD_BYTES, ends], axis=1).reshape(-1), len(data)),
    )
    lengths = np.frombuffer(parts.take(slice(0, None, 2)).packed(), "<u8")
    _check(bool((lengths <= len(data)).all()))
    firsts = np.cumsum(counts + 1, dtype=np.int64) - counts - 1
    sizes = np.empty(len(lengths) + len(full), np.int64)
    is_header = _marked(firsts, len(sizes))
    sizes[is_header] = WORD_BYTES * (1 + counts)
    sizes[~is_header] = lengths
    bounds = offsets_of(sizes)
    _check(bounds[-1] == len(data) and bool((bounds[firsts] == starts).all()))
    offsets[1:][full] = counts
    return np.cumsum(offsets, dtype=np.int64), Texts.of_buffer(data, bounds).take(
        ~is_header
    )


def counts_of(sets: Texts) -> Int64Array:
    """Return the number of elements of packed sets."""
    full, heads, _, _ = _heads(sets)
    counts = np.zeros(len(sets), np.int64)
    words = (sets.lengths[full] // WORD_BYTES - 1).astype(np.uint64)
    counts[full] = np.minimum(heads, words).astype(np.int64)
    return counts


def _heads(sets: Texts) -> tuple[Int64Array, UInt64Array, np.ndarray, Int64Array]:
    """Return the rows of sets with elements, their first words, all bytes, and their starts."""
    lengths = sets.lengths
    full = np.flatnonzero(lengths)
    _check(bool((lengths[full] > WORD_BYTES).all()))
    data = np.frombuffer(sets.packed(), np.uint8)
    starts = np.cumsum(lengths[full], dtype=np.int64) - lengths[full]
    parts = Texts.of_buffer(
        data,
        np.append(
            np.stack([starts, starts + WORD_BYTES], axis=1).reshape(-1), len(data)
        ),
    )
    return (
        full,
        np.frombuffer(parts.take(slice(0, None, 2)).packed(), "<u8"),
        data,
        starts,
    )


def _marked(places: Int64Array, n: int) -> BoolArray:
    marked = np.zeros(n, np.bool_)
    marked[places] = True
    return marked


def _check(right: bool) -> None:
    if not right:
        raise ValueError("a packed set is damaged: its lengths do not fit its bytes")

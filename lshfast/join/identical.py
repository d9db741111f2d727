"""Identical items, byte for byte: found in memory, found in a stream, and counted.

No decision rests on a hash that others can compute. Hashes have secret keys, which are drawn for
each call, so nobody can write different items with equal hashes (docs/understand/security.md).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from lshfast._common.checks import Seed
from lshfast._common.growing import GrowingArray
from lshfast._common.rows import int64_range, parts_of_rows, run_begins
from lshfast._common.run_key import draw_hash_key
from lshfast._common.threads import ordered_map, pieces, thread_count
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.hashing.perfect import PerfectMap
from lshfast.join.copies import confirm_copies, equal_rows
from lshfast.join.item_filter import ItemFilter
from lshfast.kernels import cardinality
from lshfast.kernels.bands import sorted_numbers
from lshfast.kernels.text import (
    HashKey,
    Texts,
    texts_in_parts,
    tokens_of_integers,
    tokens_of_texts,
    words_at,
)
from lshfast.sketch.cardinality import DistinctCounter

Method: TypeAlias = Literal["positions", "hash"]

# Items of at most WHOLE_BYTES are hashed as a whole; of longer items, POINTS words of 8 bytes are.
WHOLE_BYTES = 256
POINTS = 8

# Bytes of items that are hashed at a time, and items whose words are read at a time.
PIECE_BYTES = 1 << 21
PIECE_ITEMS = 1 << 14

# Items that `count_distinct` reads at a time.
COUNTED_ROWS = 1 << 16


def find_identical(
    items: Any, *, method: Method = "positions", threads: int | None = None
) -> Int64Array:
    """Return, for each item, the first item with the same bytes.

    An item without an earlier identical one is its own first item.

    With "positions", items of one length with the same words at 8 random places are compared as a
    whole. All items of one length have the same places. Items of at most 256 bytes are compared by
    a hash of all bytes first. Most longer items are neither read nor hashed completely, and no
    error is possible. Different items may agree at these places, for example pages with a template;
    then hashes of their bytes decide which of them are compared.

    With "hash", items are identical if their lengths and two 61-bit hashes of their bytes are
    equal. Each hash has its own secret key; the second is computed only of items whose first hash
    is not unique. Different items of L bytes have equal hashes with probability at most (ceil(L /
    7) / (2**61 - 2))**2 (identical.md), so any of n items is wrong with probability at most n**2 /
    2 times this.

    Parameters
    ----------
    items : sequence of str or bytes, or Arrow column
        n items, as the texts of `shingle`; a str is compared as UTF-8, and bytes need not be UTF-8.
        A null (None, NaN) is an item of no bytes.
    method : {"positions", "hash"}, default "positions"
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        If an item is neither str nor bytes.
    ValueError
        If `method` or `threads` is out of range, or a str has a lone surrogate.

    See Also
    --------
    lshfast.join.find_identical_in_batches : Find identical items of a stream.
    lshfast.find_copies : Find the rows with the tokens of an earlier one.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.9.1, for
    "positions"; J. L. Carter, M. N. Wegman, "Universal classes of hash functions", 1979.

    Examples
    --------
    >>> from lshfast.join import find_identical
    >>> find_identical(["a rose", "A rose", "a rose", "", "a rose"]).tolist()
    [0, 1, 0, 3, 0]
    """
    if method not in get_args(Method):
        raise ValueError(f"method must be 'positions' or 'hash', not {method!r}")
    texts = Texts(items)
    threads = thread_count(threads)
    return (
        _by_positions(texts, threads)
        if method == "positions"
        else _by_hash(texts, threads)
    )


def _by_hash(texts: Texts, threads: int) -> Int64Array:
    first_key = draw_hash_key()
    second_key = draw_hash_key()
    first = _hashes(texts, first_key, threads)
    copies = equal_rows(_rows_of(texts.lengths, first))

    def fingerprints(rows: Int64Array) -> UInt64Array:
        second = _hashes(texts.take(rows), second_key, threads)
        return _rows_of(texts.lengths[rows], first[rows], second)

    later_copies = np.flatnonzero(copies != int64_range(len(texts)))
    return confirm_copies(copies, later_copies, fingerprints)


def _by_positions(texts: Texts, threads: int) -> Int64Array:
    """Compare items with the first of their bucket, and different ones by full hashes."""
    open_items = int64_range(len(texts))
    first_items = open_items.copy()
    marks = _rows_of(texts.lengths, _samples(texts, threads))
    while len(open_items):
        first = open_items[equal_rows(marks)]
        repeated = np.flatnonzero(first != open_items)
        differ = repeated[~texts.equal(open_items[repeated], first[repeated])]
        first[differ] = open_items[differ]
        first_items[open_items] = first
        open_items = open_items[differ]
        marks = _rows_of(
            texts.lengths[open_items],
            _hashes(texts.take(open_items), draw_hash_key(), threads),
        )
    return first_items


def _rows_of(lengths: Int64Array, *hashes: UInt64Array) -> UInt64Array:
    """Return lengths and hashes as rows for `equal_rows`; no row begins with 0."""
    return np.stack([lengths.astype(np.uint64) + np.uint64(1), *hashes], axis=1)


def _hashes(texts: Texts, key: HashKey, threads: int) -> UInt64Array:
    """Return the 61-bit hash of each text under a key, mixed to 64 bits by a bijection."""
    parts = (texts.take(rows) for rows in pieces(texts.lengths, PIECE_BYTES))
    hashes = ordered_map(lambda part: tokens_of_texts(part, key), parts, threads)
    return np.concatenate([np.empty(0, np.uint64), *hashes])


def _samples(texts: Texts, threads: int) -> UInt64Array:
    """Return a hash of each short text, and of the words at random places of each long one."""
    key = draw_hash_key()
    short = texts.lengths <= WHOLE_BYTES
    samples = np.empty(len(texts), np.uint64)
    for rows, hashes_of in ((short, _hashes), (~short, _hashes_of_places)):
        if rows.all():
            return hashes_of(texts, key, threads)
        samples[rows] = hashes_of(texts.take(np.flatnonzero(rows)), key, threads)
    return samples


def _hashes_of_places(texts: Texts, key: HashKey, threads: int) -> UInt64Array:
    """Return a hash of words at random places of each text.

    It is the sum of the mixed words, each times an odd number.
    """
    drawn = np.frombuffer(secrets.token_bytes(16 * POINTS), np.uint64)
    points = drawn[:POINTS].copy()
    multipliers = drawn[POINTS:] | np.uint64(1)

    def work(rows: slice) -> UInt64Array:
        words = words_at(texts.take(rows), points)
        mixed = tokens_of_integers(words.reshape(-1), key).reshape(words.shape)
        return np.asarray((mixed * multipliers).sum(axis=1))

    hashes = ordered_map(work, parts_of_rows(len(texts), PIECE_ITEMS), threads)
    return np.concatenate([np.empty(0, np.uint64), *hashes])


def find_identical_in_batches(
    read: Callable[[], Iterable[Any]],
    expected: int,
    *,
    error: float = 0.01,
    threads: int | None = None,
) -> Int64Array:
    """Find the items of a stream that are identical to an earlier one, without holding the items.

    The stream is read twice. The first pass puts all items into an `ItemFilter`, which shows the
    items that are certainly new. The second pass holds the hashes of the other items only, and of
    the items that they may be identical to. So the memory is a few bits for each item, and about
    100 bytes for each item that is repeated or that the filter took for a repeated one. A
    `PerfectMap` finds the hashes of the first pass in the second.

    Parameters
    ----------
    read : callable
        Called twice without arguments; returns the batches, each as `items` of `find_identical`.
        Both times it must give the same items.
    expected : int
        The expected number of different items, in 1..2**40. More of them cost memory, and no
        errors.
    error : float, default 0.01
        The share of new items that the filter may take for repeated ones, in [1e-18, 1): a smaller
        one takes more bits.
    threads : int, optional
        As for `find_identical`.

    Returns
    -------
    ndarray of int64, shape (m, 2)
        The number of each item that is identical to an earlier one, and the number of the first
        item that it is identical to, ascending. Items are numbered through all batches. Hashes
        decide as for `find_identical` with method="hash".

    Raises
    ------
    TypeError, ValueError
        As for `find_identical`, or if `expected` or `error` is out of range, or the second pass has
        another number of items than the first.

    See Also
    --------
    lshfast.join.find_identical : Find the first item with the same bytes.

    References
    ----------
    B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970.

    Examples
    --------
    >>> from lshfast.join import find_identical_in_batches
    >>> days = [["rain", "sun"], ["fog", "sun"], ["rain"]]
    >>> find_identical_in_batches(lambda: days, expected=5).tolist()
    [[3, 1], [4, 0]]
    """
    threads = thread_count(threads)
    keys = (draw_hash_key(), draw_hash_key())
    item_filter = ItemFilter(expected, error)
    repeated_hashes = GrowingArray(np.uint64)
    total = 0
    for batch in read():
        hashes = _hashes(Texts(batch), keys[0], threads)
        repeated_hashes.extend(hashes[~item_filter.add_hashes(hashes)])
        total += len(hashes)
    repeated = sorted_numbers(repeated_hashes.finished())
    repeated_map = PerfectMap(repeated[run_begins(repeated)])
    rows = GrowingArray(np.int64)
    marks = GrowingArray(np.uint64, 3)
    items_read = 0
    for batch in read():
        texts = Texts(batch)
        hashes = _hashes(texts, keys[0], threads)
        places = np.flatnonzero(repeated_map.contains(hashes))
        second = _hashes(texts.take(places), keys[1], threads)
        rows.extend(places + items_read)
        marks.extend(_rows_of(texts.lengths[places], hashes[places], second))
        items_read += len(texts)
    if items_read != total:
        raise ValueError(
            f"read must give the same items each time, not {total} items and then {items_read}"
        )
    numbers = rows.finished()
    first = numbers[equal_rows(marks.finished())]
    again = numbers != first
    return np.stack([numbers[again], first[again]], axis=1)


def count_distinct(
    items: Any, *, p: int = 14, seed: Seed = 1, threads: int | None = None
) -> float:
    """Estimate the number of different items by HyperLogLog, in 2**p bytes of memory.

    Parameters
    ----------
    items : as for `find_identical`, or an iterator of such batches
        Batches are read one after the other; only one of them is in memory.
    p : int, default 14
        Binary logarithm of the number of registers, in 4..18. The relative standard error is 1.04 /
        sqrt(2**p), 0.8 % by default (see `DistinctCounter`).
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", nobody can write items that make the estimate wrong.
    threads : int, optional
        As for `find_identical`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        As for `find_identical`, or if `p` or `seed` is out of range.

    See Also
    --------
    lshfast.join.find_identical : Find the first item with the same bytes.
    lshfast.DistinctCounter : Count distinct elements by HyperLogLog.

    Examples
    --------
    >>> from lshfast.join import count_distinct
    >>> round(count_distinct([f"item {number % 5000}" for number in range(20000)]), -3)
    5000.0
    """
    counter = DistinctCounter(p, seed)
    threads = thread_count(threads)
    registers = counter.empty()
    constant = cardinality.constant(counter.seed)
    for batch in items if isinstance(items, Iterator) else [items]:
        parts = texts_in_parts(batch, COUNTED_ROWS)
        for tokens in ordered_map(
            lambda part: tokens_of_texts(part, counter.seed), parts, threads
        ):
            cardinality.update(tokens, constant, registers)
    return float(counter.count(registers))

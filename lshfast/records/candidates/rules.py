"""Blocking: rules that say which pairs of records are compared.

A rule gives each record keys, and compares the records with an equal key; or it sorts the records,
and compares neighbours. Blocks that would bring more pairs than a cap are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.types import UInt64Array
from lshfast.banding import Bands
from lshfast.kernels import bands as kernels
from lshfast.kernels.sets import similarities
from lshfast.records.candidates.blocks import (
    NO_KEY,
    KeyGroups,
    check_total,
    combined_keys,
    distinct_places,
    joined,
    pairs_of_values,
    with_skipped,
)
from lshfast.records.candidates.record_texts import joined_values
from lshfast.records.choices import MAX_BLOCK
from lshfast.records.linkage import Linkage, RulePairs, SkippedBlock
from lshfast.records.tables.distinct_values import MISSING, encoded, is_missing
from lshfast.shingling import shingle
from lshfast.sketch import MinHasher

KeyFunction: TypeAlias = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, init=False)
class KeyBlocks:
    """Compare the records that have equal values in some columns, or equal keys of a function.

    Parameters
    ----------
    *keys : str or callable
        Names of fields, all of which must be equal, or one function that returns the key of a
        record: it is called with a dict of the record's values as they were read, and returns None
        or an empty string for a record without a key.
    max_block : int, default 10,000
        The largest number of pairs of a block; larger blocks are left out and reported. At least 1.
    label : str, optional
        The name of a function in reports.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value.

    See Also
    --------
    lshfast.records.SortBlocks : Compare neighbours in sorted order.
    lshfast.records.LshBlocks : Compare records whose n-grams are similar.
    lshfast.records.parse_rule : Read a rule that is written as text.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.2: records
    with an equal name, address or telephone are compared; sorting brings them together.

    Examples
    --------
    >>> from lshfast.records import KeyBlocks
    >>> KeyBlocks("surname", "postcode").name
    'key:surname+postcode'
    """

    keys: tuple[Any, ...]
    max_block: int
    label: str | None

    def __init__(
        self,
        *keys: str | KeyFunction,
        max_block: int = MAX_BLOCK,
        label: str | None = None,
    ) -> None:
        functions = [key for key in keys if callable(key)]
        if not keys or not all(
            isinstance(key, str) for key in keys if not callable(key)
        ):
            raise TypeError(
                f"keys must be names of fields, or one function, not {keys!r}"
            )
        if functions and len(keys) > 1:
            raise ValueError(
                "a function must be the only key of its rule: it sees the whole record"
            )
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "max_block", check_int("max_block", max_block, 1))
        object.__setattr__(self, "label", label)

    @property
    def name(self) -> str:
        """The rule as the command line writes it."""
        if callable(self.keys[0]):
            return f"key:{self.label or getattr(self.keys[0], '__name__', 'function')}"
        return "key:" + "+".join(self.keys)

    def pairs(self, linkage: Linkage) -> RulePairs:
        """Return the pairs of records with equal keys."""
        if callable(self.keys[0]):
            keys, label = _function_keys(self.keys[0], linkage)
            return joined(linkage, keys, self.max_block, label)
        coded = [linkage.field(name) for name in self.keys]

        def key_of(row: int) -> str:
            return ", ".join(field.values[field.codes[0][row]] for field in coded)

        return joined(linkage, combined_keys(coded), self.max_block, key_of)


@dataclass(frozen=True)
class EveryPair:
    """Compare all pairs of records, which suits small tables.

    See Also
    --------
    lshfast.records.NearestBlocks : Compare each record with the nearest ones.
    lshfast.records.KeyBlocks : Compare records with equal keys.
    lshfast.records.parse_rule : Read a rule that is written as text.

    Examples
    --------
    >>> from lshfast.records import EveryPair
    >>> EveryPair().name
    'all'
    """

    @property
    def name(self) -> str:
        """The rule as the command line writes it."""
        return "all"

    def pairs(self, linkage: Linkage) -> RulePairs:
        """Return all pairs."""
        check_total(linkage.all_pairs)
        first_size, second_size = linkage.sizes
        places = np.arange(first_size * second_size, dtype=np.uint64)
        if linkage.b is not None:
            return RulePairs(places)
        i, j = np.divmod(places, np.uint64(max(1, second_size)))
        return RulePairs(places[i < j])


@dataclass(frozen=True)
class SortBlocks:
    """Sort records by a field and compare neighbours (the sorted-neighbourhood method).

    Parameters
    ----------
    field : str
        Name of a field. Records are sorted by its normal form; records without a value are left
        out.
    window : int, default 5
        A record is compared with the `window` - 1 records before it and after it, at least 2.

    Raises
    ------
    TypeError, ValueError
        If `window` is not an int, or below 2.

    See Also
    --------
    lshfast.records.KeyBlocks : Compare records with equal keys.
    lshfast.records.LshBlocks : Compare records whose n-grams are similar.
    lshfast.records.parse_rule : Read a rule that is written as text.

    References
    ----------
    M. A. Hernández, S. J. Stolfo, "The merge/purge problem for large databases", SIGMOD 1995.

    Examples
    --------
    >>> from lshfast.records import SortBlocks
    >>> SortBlocks("surname").name
    'sort:surname:window=5'
    """

    field: str
    window: int = 5

    def __post_init__(self) -> None:
        check_int("window", self.window, 2)

    @property
    def name(self) -> str:
        """The rule as the command line writes it."""
        return f"sort:{self.field}:window={self.window}"

    def pairs(self, linkage: Linkage) -> RulePairs:
        """Return the pairs of neighbours."""
        coded = linkage.field(self.field)
        first_size, second_size = linkage.sizes
        count = len(coded.values)
        rank = np.empty(count + 1, np.int64)
        rank[sorted(range(count), key=coded.values.__getitem__)] = np.arange(
            count, dtype=np.int64
        )
        tables = (coded.codes[0],) if linkage.b is None else coded.codes
        codes = np.concatenate(tables)
        rows = np.flatnonzero(codes >= 0)
        rows = rows[kernels.order(rank[codes[rows]].astype(np.uint64))]
        window = min(self.window, max(2, len(rows)))
        check_total((window - 1) * len(rows))
        parts = []
        for distance in range(1, window):
            low = np.minimum(rows[:-distance], rows[distance:])
            high = np.maximum(rows[:-distance], rows[distance:])
            if linkage.b is not None:
                across = (low < first_size) & (high >= first_size)
                low = low[across]
                high = high[across] - first_size
            parts.append(low * second_size + high)
        places = np.concatenate(parts).astype(np.uint64)
        return RulePairs(kernels.sorted_numbers(places))


@dataclass(frozen=True, init=False)
class LshBlocks:
    """Compare the records whose character n-grams in some fields are similar, by MinHash and bands.

    Parameters
    ----------
    *fields : str
        Names of fields, whose values are joined.
    threshold : float, default 0.5
        Jaccard similarity of the sets of n-grams, in (0, 1].
    size : int, default 3
        Characters of an n-gram, in 1..256.
    recall : float, default 0.95
        Probability that a pair at the threshold becomes a candidate, in (0, 1).
    num_perm : int, default 64
        Slots of a signature, in 1..65,536.
    max_block : int, default 10,000
        The largest number of pairs of a bucket; larger buckets are left out and reported. At least
        1.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value.

    See Also
    --------
    lshfast.records.NearestBlocks : Compare each record with the nearest ones.
    lshfast.records.KeyBlocks : Compare records with equal keys.
    lshfast.records.parse_rule : Read a rule that is written as text.

    Examples
    --------
    >>> from lshfast.records import LshBlocks
    >>> LshBlocks("title", threshold=0.4).name
    'lsh:title:threshold=0.4'
    """

    fields: tuple[str, ...]
    threshold: float
    size: int
    num_perm: int
    bands: Bands
    max_block: int

    def __init__(
        self,
        *fields: str,
        threshold: float = 0.5,
        size: int = 3,
        recall: float = 0.95,
        num_perm: int = 64,
        max_block: int = MAX_BLOCK,
    ) -> None:
        if not fields or not all(isinstance(field, str) for field in fields):
            raise TypeError(f"fields must be names of fields, not {fields!r}")
        num_perm = MinHasher(num_perm).num_perm
        bands = Bands.choose(threshold, num_perm, recall=recall)
        for name, value in (
            ("fields", fields),
            ("threshold", float(threshold)),
            ("size", check_int("size", size, 1, 256)),
            ("num_perm", num_perm),
            ("bands", bands),
            ("max_block", check_int("max_block", max_block, 1)),
        ):
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """The rule as the command line writes it."""
        return f"lsh:{'+'.join(self.fields)}:threshold={self.threshold:g}"

    def pairs(self, linkage: Linkage) -> RulePairs:
        """Return the pairs of records of a bucket whose values are similar."""
        places, texts = joined_values([linkage.field(name) for name in self.fields])
        tokens = shingle(
            texts, "char", self.size, seed=linkage.seed, threads=linkage.threads
        ).distinct()
        hasher = MinHasher(self.num_perm, seed=linkage.seed)
        keys = self.bands.keys(hasher.sketch(tokens, threads=linkage.threads))
        counts = [
            np.bincount(place[place >= 0], minlength=len(texts)) for place in places
        ]
        sides = [
            np.where(count[:, None], keys, np.uint64(NO_KEY)).T.copy()
            for count in counts
        ]
        parts: list[UInt64Array] = []
        skipped: list[SkippedBlock] = []
        for band in range(self.bands.bands):
            blocks = KeyGroups.of(
                sides[0][band], None if linkage.b is None else sides[1][band]
            )
            fits = blocks.pairs <= self.max_block
            check_total(
                int(blocks.pairs[fits].sum()) + sum(len(part) for part in parts)
            )
            skipped += blocks.skipped(~fits, lambda text: texts[text])
            parts.append(blocks.places(fits, len(texts)))
        pairs = distinct_places(parts)
        left, right = (
            part.astype(np.int64)
            for part in np.divmod(pairs, np.uint64(max(1, len(texts))))
        )
        differ = left != right
        left = left[differ]
        right = right[differ]
        # 0 below the threshold.
        text_similarities = similarities(
            tokens.offsets, tokens.tokens, left, right, self.threshold
        )
        similar = text_similarities > 0
        equal_texts = np.flatnonzero(np.logical_and(*counts))
        left = np.append(left[similar], equal_texts)
        right = np.append(right[similar], equal_texts)
        return with_skipped(
            pairs_of_values(linkage, places, (left, right), self.max_block, texts),
            skipped,
        )


def _function_keys(
    function: KeyFunction, linkage: Linkage
) -> tuple[tuple[UInt64Array, UInt64Array], Callable[[int], str]]:
    """Return the keys of a function as numbers, and what returns the key of a row of table a."""
    tables = [linkage.a] if linkage.b is None else [linkage.a, linkage.b]
    key_values = [
        [function(table.record(row)) for row in range(len(table))] for table in tables
    ]
    try:
        codes, values = encoded(key_values)
    except TypeError as error:
        raise TypeError(f"keys of the function of a rule: {error}") from None
    number = np.arange(len(values) + 1, dtype=np.int64)
    number[[*map(is_missing, values), True]] = MISSING  # the last is for the code -1
    keys = [number[part].astype(np.uint64) for part in codes]  # -1 becomes NO_KEY
    return (keys[0], keys[-1]), lambda row: str(values[codes[0][row]])

"""Weighted sets from outside, checked, as sorted elements of the kernels.

An element is three words: a hash under a public seed, a hash under a secret key, and the bits of
its weight. Rows are sorted by the public hash, so that sums, and with them similarities, do not
depend on the key. Elements are the same if both hashes are, so that nobody can write different
elements that are taken for the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from lshfast._common.arrow_columns import python_values, stored_lists, undecodable_rows
from lshfast._common.checks import MOST_WEIGHT, weight_fault
from lshfast._common.elements import words_of_array, words_of_integers
from lshfast._common.extras import optional
from lshfast._common.rows import concatenated, int64_range, offsets_of, run_begins
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast._common.visible import is_writable, shortened
from lshfast._items.held_points import HeldSets
from lshfast._items.items import PointBatch
from lshfast._items.kind import flat_rows, kind_of_arrow
from lshfast._items.sets import SET_BYTES, named, without_rows
from lshfast.kernels.text import HashKey, Texts, tokens_of_integers, tokens_of_texts
from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets

# The seed of the hashes by which elements are sorted, and from which signatures are made.
ORDER_SEED = 1

ELEMENT_WORDS = 3


class WeightedReader:
    """Converts columns of weighted sets to batches; all elements are strings or all are integers.

    Parameters
    ----------
    seed : int
        The seed of the public hashes. Sets that are compared with the entries of an index, or
        added to it, need the seed of the index.
    """

    format: None = None
    advice: ClassVar[str] = ""
    batch_bytes: ClassVar[int] = SET_BYTES

    def __init__(self, seed: int = ORDER_SEED) -> None:
        self._kind: type | None = None
        self._seed = seed
        self._key = draw_hash_key()

    def read(self, column: Any) -> tuple[PointBatch, dict[int, str]]:
        """Return the sets of a column, and the reasons of its bad rows, which have none.

        A set is a mapping of strings or integers to weights, also as a text of JSON, or in Arrow a
        map, or a list of structs of an element and its weight. None is an empty set.
        """
        if isinstance(column, WeightedSets):
            return self.sets(column.offsets, column.tokens, column.weights), {}
        if hasattr(column, "buffers"):
            column = stored_lists(column)
        if hasattr(column, "buffers") and kind_of_arrow(column.type) == "weighted":
            offsets, elements, weights, bad = _of_arrow(column)
            element_type = str if isinstance(elements, Texts) else int
            if len(elements) and self._kind not in (None, element_type):
                bad |= {
                    int(
                        row
                    ): f"its elements are not {named(self._kind)}, as those before"
                    for row in np.flatnonzero(np.diff(offsets))
                }
            offsets, elements, places = without_rows(offsets, elements, bad)
            weights = weights[places]
        else:
            offsets, elements, weights, bad = _of_values(column, self._kind)
        if len(elements):
            self._kind = str if isinstance(elements, Texts) else int
        return self.sets(offsets, elements, weights), bad

    def sets(
        self, offsets: Int64Array, elements: Texts | UInt64Array, weights: Float64Array
    ) -> PointBatch:
        """Return sets as a batch; set i has elements offsets[i] to offsets[i + 1].

        Weights must be valid. The weights of equal elements are added, the smallest first.
        """
        public = _hashes(elements, self._seed)
        secret = _hashes(elements, self._key)
        rows = np.repeat(int64_range(len(offsets) - 1), np.diff(offsets))
        order = np.lexsort((weights, secret, public, rows))
        rows = rows[order]
        public = public[order]
        secret = secret[order]
        weights = weights[order]
        new = run_begins(rows, public, secret)
        if not new.all():
            sums = np.zeros(int(new.sum()))
            np.add.at(sums, np.cumsum(new, dtype=np.int64) - 1, weights)
            weights = sums
            rows = rows[new]
            public = public[new]
            secret = secret[new]
        counts = np.bincount(rows, minlength=len(offsets) - 1).astype(np.int64)
        words = np.empty((len(rows), ELEMENT_WORDS), np.uint64)
        words[:, 0] = public
        words[:, 1] = secret
        words[:, 2] = weights.view(np.uint64)
        return PointBatch(words, counts == 0, counts[counts > 0])


class SignatureReader:
    """Converts columns of weighted sets to batches of their signatures, whose words are the slots.

    Parameters
    ----------
    format : WeightedMinHasher
        Its seed is also the seed of the hashes of elements.
    threads : int
    """

    advice: ClassVar[str] = ""
    batch_bytes: ClassVar[int] = SET_BYTES

    def __init__(self, format: WeightedMinHasher, threads: int) -> None:
        self.format: Any = format
        self._threads = threads
        self._sets = WeightedReader(int(format.seed))

    def read(self, column: Any) -> tuple[PointBatch, dict[int, str]]:
        """Return the signatures of the sets that have elements, and the reasons of bad rows."""
        batch, bad = self._sets.read(column)
        assert batch.counts is not None
        sets = HeldSets(offsets_of(batch.counts), batch.words)
        signatures = np.empty((len(sets), self.format.num_perm), np.uint64)
        for piece, piece_sets in sets.weighted(8 * self.format.num_perm):
            signatures[piece] = self.format.sketch(piece_sets, threads=self._threads)
        return PointBatch(signatures, batch.missing), bad


def _hashes(elements: Texts | UInt64Array, key: int | HashKey) -> UInt64Array:
    if isinstance(elements, Texts):
        return tokens_of_texts(elements, key)
    return tokens_of_integers(elements, key)


# The offsets, the elements and their weights, and the reasons of bad rows.
Read = tuple[Int64Array, "Texts | UInt64Array", Float64Array, dict[int, str]]


def _of_values(column: Any, kind: type | None) -> Read:
    """Return weighted sets that are Python values or texts of JSON; bad rows are empty."""
    values, undecodable = (
        python_values(column) if hasattr(column, "buffers") else (column, {})
    )
    rows, offsets, elements, kind, bad = flat_rows(values, kind, {}, _fault_of_row)
    bad |= undecodable
    weights = np.fromiter(
        chain.from_iterable(row.values() for row in rows), np.float64, len(elements)
    )
    if kind is int:
        numbers = words_of_integers([int(part) for part in elements])
        return offsets, numbers, weights, bad
    return offsets, Texts(elements), weights, bad


def _fault_of_row(parts: Any, kind: type | None) -> str:
    """Return why a value is no weighted set with elements of a kind, or ""."""
    if not isinstance(parts, Mapping):
        form = "an object of elements and their weights, as weighted sets are"
        return f"not {form}: {shortened(parts)}"
    for element, weight in parts.items():
        element_type: type | None = None
        if isinstance(element, (int, np.integer)) and not isinstance(element, bool):
            element_type = int
        elif isinstance(element, (str, bytes)):
            element_type = str
        if element_type is None or kind not in (None, element_type):
            return f"the element {shortened(element)} is not one of {named(kind)}"
        if isinstance(element, str) and not is_writable(element):
            return f"a string has a lone surrogate: {shortened(element)}"
        if element_type is int and not -(2**63) <= element < 2**64:
            return f"an integer is not in -2**63..2**64 - 1: {shortened(element)}"
        reason = weight_fault(weight)
        if reason:
            return f"the weight of {shortened(element)} {reason}"
        kind = element_type
    return ""


def _of_arrow(column: Any) -> Read:
    """Return the weighted sets of a column of maps or lists of structs; bad rows keep elements."""
    pa = optional("pyarrow")
    entries = column.values  # structs of keys and values, of maps too
    offsets = np.asarray(column.offsets, np.int64)
    has_set = column.is_valid().to_numpy(zero_copy_only=False)
    if has_set.all():
        entries = entries.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        offsets = offsets - offsets[0]
    else:
        starts = offsets[:-1].copy()
        ends = offsets[1:].copy()
        ends[~has_set] = starts[~has_set]
        places = concatenated(map(np.arange, starts, ends))
        offsets = offsets_of(ends - starts)
        entries = entries.take(pa.array(places))
    names, numbers = entries.flatten()
    if pa.types.is_dictionary(names.type):
        names = names.cast(names.type.value_type)
    weights = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    missing = names.is_null().to_numpy(zero_copy_only=False)
    wrong = missing | ~((weights > 0) & (weights <= MOST_WEIGHT))
    bad = dict[int, str]()
    places = np.flatnonzero(wrong)
    rows = np.searchsorted(offsets, places, "right") - 1
    if not pa.types.is_integer(names.type):
        bad |= undecodable_rows(offsets, names)
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        if row in bad:
            continue
        if missing[place]:
            bad[row] = "an element is missing"
        else:
            weight = float(weights[place]) if numbers[place].is_valid else None
            bad[row] = (
                f"the weight of {shortened(names[place].as_py())} {weight_fault(weight)}"
            )
    if pa.types.is_integer(names.type):
        integers = names.fill_null(0).to_numpy(zero_copy_only=False)
        elements: Texts | UInt64Array = words_of_array(integers)
    else:
        large = pa.types.is_large_string(names.type)
        elements = Texts(names if large else names.cast(pa.string()))
    return offsets, elements, weights, bad

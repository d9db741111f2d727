"""`PrefixIndex`: an index that finds all sets whose similarity to a query reaches a threshold."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast._common.checks import Seed, check_int, check_most, check_seed
from lshfast._common.errors import FormatError
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.threads import thread_count
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.exact.prefix_file import Held, SavedSets, read_sets, write_sets
from lshfast.index.apart import (
    IsApart,
    answers_apart,
    pairs_apart,
    similar_at_most,
)
from lshfast.index.index_stats import EntryStats, bytes_of
from lshfast.index.key_pairs import KeyPairs, pairs_once
from lshfast.index.keys import (
    Column,
    KeyedEntries,
    as_column,
    concatenate,
    is_batch,
    listed,
    take,
)
from lshfast.index.matches import Match, Matches, best_first
from lshfast.index.stores.values import (
    OnDuplicate,
    check_on_duplicate,
    places_to_insert,
)
from lshfast.join.exact_join import check_rows, join
from lshfast.join.pair_arrays import PAIR
from lshfast.join.prefix_segment import PrefixSegment
from lshfast.join.set_ranks import Collection
from lshfast.join.thresholds import Measure, Threshold, plain_threshold, rule_of
from lshfast.kernels.gate import Gate
from lshfast.tokens import TokenSets

if TYPE_CHECKING:
    from typing_extensions import Self

# Bytes of the dict of keys for each key, without the key object.
KEY_BYTES = 100

# Sets that `verify` searches at once.
VERIFIED_ROWS = 1 << 13


class _KeyedSets(NamedTuple):
    """Sets, their numbers, ascending, and their keys."""

    numbers: Int64Array
    keys: Column
    sets: TokenSets


@dataclass(frozen=True)
class _Part:
    """A segment, the ascending numbers and the keys of its sets, and a mark of each present set."""

    numbers: Int64Array
    keys: Column
    segment: PrefixSegment
    present: BoolArray

    def without(self, numbers: Int64Array) -> _Part:
        """Return the part without the sets of these numbers."""
        is_removed = np.isin(self.numbers, numbers)
        return (
            replace(self, present=self.present & ~is_removed)
            if is_removed.any()
            else self
        )


@dataclass(frozen=True)
class _State:
    """The index at one moment."""

    parts: tuple[_Part, ...] = ()
    next_number: int = 0
    held: Held = "any"

    def without(self, numbers: Int64Array) -> list[_Part]:
        """Return the parts without the sets of these numbers."""
        return (
            [part.without(numbers) for part in self.parts]
            if len(numbers)
            else [*self.parts]
        )


class _FoundSets(NamedTuple):
    """Matches: queries, the numbers and keys of the sets, and similarities."""

    query: Int64Array
    numbers: Int64Array
    keys: Column
    similarity: Float64Array


class PrefixIndex(KeyedEntries):
    """An index that finds all sets whose exact similarity to a query is at least a threshold.

    Unlike `LSHIndex` it keeps the sets themselves, and finds every match. Several threads may use
    it at once: a query sees the index as it was when the query began.

    Parameters
    ----------
    threshold : float, Fraction or tuple of two ints, default 0.8
        The least similarity, as for `join`.
    measure : {"jaccard", "dice", "cosine", "containment", "overlap"}, default "jaccard"
        As for `join`. Containment is of the query in the sets of the index.
    seed : int or "random", default "random"
        Seed of the hash of elements, in 0..2**64 - 1. It is stored in files. With a random seed,
        nobody can choose elements with equal hashes, and an index takes either TokenSets, whose
        tokens are the elements, or other sets, but not both. With a given seed it takes both.
        TokenSets must then have been hashed with this seed, because sets of another seed match
        nothing.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        The action of `insert` for a key that is in the index, or twice in a batch. "error" raises
        ValueError and inserts nothing of the batch. "replace" stores the last set. "skip" keeps the
        first one.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use.

    Attributes
    ----------
    threshold, measure, seed, on_duplicate

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.exact.join : Find all pairs of two collections exactly.
    lshfast.exact.pairs : Find all similar pairs of one collection exactly.
    lshfast.LSHIndex : An index of signatures that finds similar sets.

    Notes
    -----
    A key is any hashable object except None and NaN. A list, range, array or column is a batch of
    keys; any other object is one key.

    New sets form a segment of their own; segments of about one size are merged, so each set is
    indexed again at most log2(n) times. Memory is about 16 bytes for each token, 40 for each
    different token, and 100 for each set.

    Examples
    --------
    >>> from lshfast.exact import PrefixIndex
    >>> index = PrefixIndex(threshold=0.9, measure="containment")
    >>> index.insert(["letters", "end"], [{"a", "b", "c", "d"}, {"x", "y"}])
    2
    >>> list(index.query([{"b", "c"}, {"y", "z"}]))
    [[Match(key='letters', similarity=1.0)], []]
    >>> index.remove("letters")
    >>> len(index), index.query([{"b", "c"}])[0]
    (1, [])
    """

    threshold: Threshold
    measure: Measure
    seed: int
    on_duplicate: OnDuplicate

    def __init__(
        self,
        *,
        threshold: Threshold = 0.8,
        measure: Measure = "jaccard",
        seed: Seed = "random",
        on_duplicate: OnDuplicate = "error",
        threads: int | None = None,
    ) -> None:
        self._rule = rule_of(measure, threshold, "probing")
        self.threshold = threshold
        self.measure = measure
        self.seed = check_seed(seed)
        self.on_duplicate = check_on_duplicate(on_duplicate)
        self._threads = thread_count(threads)
        self._state = _State(held="nothing" if seed == "random" else "any")
        # Without readers. With a Lock, a forked child would wait for a writer of its parent.
        self._writer = Gate()
        # The number of the set of each key, as in `_state`. A writer sets it to None while it
        # changes both, so that it is built again after an interruption.
        self._numbers: dict[Any, int] | None = {}

    def __len__(self) -> int:
        return _present_count(self._state.parts)

    def __contains__(self, key: Any) -> bool:
        column = as_column([key])
        with self._writer.writing():
            numbers = self._numbers = self._known()
            return listed(column)[0] in numbers

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys that are in the index at the time of the call, the oldest first."""
        return iter(listed(_remaining(self._state.parts).keys))

    def _known(self) -> dict[Any, int]:
        """Return the number of the set of each key; one thread at a time may call it."""
        if self._numbers is not None:
            return self._numbers
        remaining = _remaining(self._state.parts)
        return dict(
            zip(listed(remaining.keys), remaining.numbers.tolist(), strict=True)
        )

    def __repr__(self) -> str:
        settings = f"threshold={self.threshold!r}, measure={self.measure!r}"
        return f"PrefixIndex({len(self)} sets, {settings})"

    def insert(self, keys: Any, sets: Any) -> int:
        """Insert one set, or a batch of sets: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one set; a batch for several.
        sets : iterable, or TokenSets or iterable of n iterables
            As for `join`; see also `seed`.

        Returns
        -------
        int
            Number of sets that are new or replaced.

        Raises
        ------
        TypeError, ValueError
            If a key cannot be stored or is a duplicate and `on_duplicate` is "error", the numbers
            of keys and sets differ, an element has the wrong type, a set has more than 2**29
            elements, or the seed is random and the index holds sets of the other kind.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> index = PrefixIndex(on_duplicate="replace")
        >>> index.insert("a", {1, 2, 3}), index.insert(["a", "b"], [{1, 2}, {7, 8}])
        (1, 2)
        >>> index.query([{2, 1}])[0]
        [Match(key='a', similarity=1.0)]
        """
        is_single = not is_batch(keys)
        column = as_column([keys] if is_single else keys)
        batch = [sets] if is_single and not isinstance(sets, TokenSets) else sets
        rows = self._token_sets(batch).distinct()
        kind = _kind_of(sets)
        if isinstance(column, np.ndarray):
            column = column.copy()  # it may be the caller's
        if len(column) != len(rows):
            raise ValueError(
                f"there must be a key for each set, not {len(column)} for {len(rows)}"
            )
        with self._writer.writing():
            _check_kind(kind, self._state.held)
            return self._insert(column, rows, kind)

    def _insert(self, column: Column, rows: TokenSets, kind: Held) -> int:
        """Insert sets, and return the number of new or replaced ones; the caller is the writer."""
        number_of_key = self._known()
        old_numbers = np.fromiter(
            (number_of_key.get(key, -1) for key in listed(column)),
            np.int64,
            len(column),
        )
        places = places_to_insert(column, old_numbers, self.on_duplicate)
        if not len(places):
            return 0
        if len(places) < len(rows):
            column = take(column, places)
            rows = rows.take(places)
            old_numbers = old_numbers[places]
        state = self._state
        next_number = state.next_number + len(rows)
        numbers = int64_range(state.next_number, next_number)
        is_replaced = old_numbers >= 0
        parts = state.without(old_numbers[is_replaced])
        parts.append(self._indexed(_KeyedSets(numbers, column, rows)))
        while len(parts) > 1:
            before, last = (len(part.numbers) for part in parts[-2:])
            if before >= 2 * last:
                break
            parts[-2:] = [self._merged(parts[-2:])]
        if is_replaced.any():
            parts = self._tidied(parts)
        kind_held = kind if state.held == "nothing" else state.held
        new_numbers = zip(listed(column), numbers.tolist(), strict=True)
        self._numbers = None
        self._state = _State(tuple(parts), next_number, kind_held)
        number_of_key.update(new_numbers)
        self._numbers = number_of_key
        return len(rows)

    def _remove(self, keys: Column) -> None:
        with self._writer.writing():
            number_of_key = self._known()
            numbers = [number_of_key.get(key, -1) for key in listed(keys)]
            if -1 in numbers:
                raise KeyError(listed(keys)[numbers.index(-1)])
            parts = self._tidied(self._state.without(np.array(numbers, np.int64)))
            self._numbers = None
            self._state = replace(self._state, parts=tuple(parts))
            for key in listed(keys):
                number_of_key.pop(key, None)
            self._numbers = number_of_key

    def _tidied(self, parts: list[_Part]) -> list[_Part]:
        """Return the same parts, or one part if more than half of their sets have been removed."""
        present_count = _present_count(parts)
        if 2 * present_count < sum(len(part.numbers) for part in parts):
            return [self._merged(parts)] if present_count else []
        return parts

    def query(
        self, sets: Any, *, k: int | None = None, most: float | None = None
    ) -> Matches[Match]:
        """Return all sets of the index whose similarity to a query is at least the threshold.

        Parameters
        ----------
        sets : TokenSets or iterable of iterables
            The m queries. An empty set matches nothing.
        k : int, optional
            Return only the k most similar sets; at least 1.
        most : float, optional
            Return only sets with at most this similarity, from the threshold to 1; with "overlap",
            any number from the threshold on. `k` counts these only.

        Returns
        -------
        Matches of m lists of Match
            (key, similarity), the most similar first, and equally similar ones in the order of
            their keys.

        Raises
        ------
        TypeError, ValueError
            As for `insert`.
        """
        k = None if k is None else check_int("k", k, 1)
        is_apart = self._apart(most)
        state = self._state
        _check_kind(_kind_of(sets), state.held)
        queries = self._token_sets(sets).distinct()
        matches = self._matches(state, queries)
        counts = np.bincount(matches.query, minlength=len(queries))
        offsets = offsets_of(counts)
        answers = answers_apart(
            Matches[Match](offsets, matches.keys, matches.similarity), is_apart
        )
        offsets, keys, similarity = best_first(
            answers.offsets, answers.keys, answers.similarity, k
        )
        return Matches(offsets, keys, np.asarray(similarity, np.float64))

    def _apart(self, most: float | None) -> IsApart | None:
        """Return which similarities are at most `most`, or raise an error that names its range."""
        least = float(plain_threshold(self.measure, self.threshold))
        greatest = math.inf if self.measure == "overlap" else 1.0
        return similar_at_most(check_most(most, least, greatest))

    def _matches(self, state: _State, sets: TokenSets) -> _FoundSets:
        """Return all matches, sorted by query."""
        queries = Collection.of(sets)
        pairs_of_parts = [np.empty(0, PAIR)]
        numbers = [np.empty(0, np.int64)]
        keys = list[Column]()
        for part in state.parts:
            pairs = part.segment.matches(queries, self._rule, self._threads)
            pairs = pairs[part.present[pairs["i"]]]
            pairs_of_parts.append(pairs)
            numbers.append(part.numbers[pairs["i"]])
            keys.append(take(part.keys, pairs["i"]))
        all_pairs = np.concatenate(pairs_of_parts)
        order = np.argsort(all_pairs["j"], kind="stable")
        column = concatenate(keys or [np.empty(0, np.int64)])
        all_pairs = all_pairs[order]
        return _FoundSets(
            all_pairs["j"],
            np.concatenate(numbers)[order],
            take(column, order),
            all_pairs["similarity"],
        )

    def pairs(self, *, most: float | None = None) -> KeyPairs:
        """Return all pairs of sets of the index whose similarity is at least the threshold.

        Parameters
        ----------
        most : float, optional
            Return only pairs with at most this similarity, as for `query`.

        Returns
        -------
        KeyPairs
            Sorted by (left, right), with left < right. Keys that cannot be compared are in the
            order of iteration. Containment is of the smaller set in the larger one, as in `pairs`.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> index = PrefixIndex(threshold=0.5)
        >>> index.insert(["a", "b", "c"], [{"a", "b", "c"}, {"x", "y"}, {"a", "b"}])
        3
        >>> [
        ...     (left, right, round(similarity, 2))
        ...     for left, right, similarity in index.pairs()
        ... ]
        [('a', 'c', 0.67)]
        """
        is_apart = self._apart(most)
        remaining = _remaining(self._state.parts)
        result = join(
            remaining.sets,
            threshold=self.threshold,
            measure=self.measure,
            threads=self._threads,
        )
        left_keys = take(remaining.keys, result.pairs["i"])
        right_keys = take(remaining.keys, result.pairs["j"])
        pairs = KeyPairs(
            *pairs_once([(left_keys, right_keys, result.pairs["similarity"])])
        )
        return pairs_apart(pairs, is_apart)

    def describe(self) -> str:
        """Return the measure and the threshold of the index as text.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> PrefixIndex(threshold=0.9).describe()
        'all sets whose similarity to a query (jaccard) is at least 0.9'
        """
        return f"all sets whose similarity to a query ({self.measure}) is at least {self.threshold}"

    @property
    def nbytes(self) -> int:
        """Memory of the index, in bytes; the memory of its tables is an estimate."""
        return self.stats().nbytes

    def stats(self) -> EntryStats:
        """Return the figures of the index; the bytes of tables and keys are an estimate.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> index = PrefixIndex()
        >>> index.insert(range(2), [{"a", "b", "c"}, {"x", "y"}])
        2
        >>> index.stats().entries
        2
        """
        parts = self._state.parts
        n = sum(len(part.numbers) for part in parts)
        sets_of_parts = [part.segment.collection.sets for part in parts]
        tokens = sum(len(sets.tokens) for sets in sets_of_parts)
        present = _present_count(parts)
        different_tokens = sum(part.segment.tokens.most for part in parts)
        figures = {
            "segments": len(parts),
            "removed sets": n - present,
            "set bytes": 8 * tokens + 17 * n,
            "key bytes": 8 * n + KEY_BYTES * present,
            "table bytes": 8 * tokens + 40 * different_tokens + 80 * n,
        }
        return EntryStats(present, bytes_of(figures), figures)

    def verify(self) -> None:
        """Check that each set is found by itself. Files are checked when they are opened.

        Raises
        ------
        FormatError
            If a set is not found; the error names it.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> PrefixIndex().verify()
        """
        state = self._state
        remaining = _remaining(state.parts)
        least = self._rule.p if self.measure == "overlap" else 1
        for first in range(0, len(remaining.numbers), VERIFIED_ROWS):
            numbers = remaining.numbers[first : first + VERIFIED_ROWS]
            rows = remaining.sets.take(int64_range(first, first + len(numbers)))
            matches = self._matches(state, rows)
            found_itself = numbers[matches.query] == matches.numbers
            missing = np.setdiff1d(
                numbers[rows.counts >= least], matches.numbers[found_itself]
            )
            if len(missing):
                place = np.flatnonzero(remaining.numbers == missing[0])
                key = listed(take(remaining.keys, place))[0]
                raise FormatError(f"tables: the set of key {key!r} is not found")

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the keys and sets to a file, which appears under its name when it is complete.

        Parameters
        ----------
        path : path
        overwrite : bool, default False
            Replace an existing file.

        Raises
        ------
        TypeError
            If the keys are neither all ints of 64 bits nor all strs.
        FileExistsError
            If the file exists and `overwrite` is false.
        OSError
            If it cannot be written; a file that was there is unchanged then.
        """
        state = self._state
        threshold = plain_threshold(self.measure, self.threshold)
        remaining = _remaining(state.parts)
        saved = SavedSets(
            self.measure,
            threshold,
            state.held,
            self.seed,
            remaining.keys,
            remaining.sets,
        )
        write_sets(path, saved, overwrite)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        on_duplicate: OnDuplicate = "error",
        threads: int | None = None,
    ) -> Self:
        """Read an index from a file, check all of it, and build its tables.

        Parameters
        ----------
        path : path
        on_duplicate, threads
            As for the class.

        Returns
        -------
        PrefixIndex

        Raises
        ------
        FormatError
            If the file is damaged, or `save` did not write it. The error names the file and the
            reason.
        OSError
            If it cannot be read.
        """
        saved = read_sets(path)
        index = cls(
            threshold=saved.threshold,
            measure=saved.measure,
            seed=saved.seed,
            on_duplicate=on_duplicate,
            threads=threads,
        )
        n = len(saved.keys)
        parts = []
        if n:
            numbers = int64_range(n)
            parts.append(index._indexed(_KeyedSets(numbers, saved.keys, saved.sets)))
        index._state = _State(tuple(parts), n, saved.held)
        index._numbers = None
        return index

    def __reduce__(self) -> Any:
        raise TypeError("a PrefixIndex cannot be pickled: save it to a file")

    def _token_sets(self, sets: Any) -> TokenSets:
        if isinstance(sets, TokenSets):
            return sets
        check_rows("sets", sets)
        return TokenSets.from_sets(sets, seed=self.seed)

    def _merged(self, parts: Sequence[_Part]) -> _Part:
        return self._indexed(_remaining(parts))

    def _indexed(self, keyed_sets: _KeyedSets) -> _Part:
        segment = PrefixSegment.of(keyed_sets.sets, self._rule, self._threads)
        return _Part(
            keyed_sets.numbers,
            keyed_sets.keys,
            segment,
            np.ones(len(keyed_sets.numbers), bool),
        )


def _kind_of(sets: Any) -> Held:
    return "TokenSets" if isinstance(sets, TokenSets) else "sets"


def _check_kind(kind: Held, index_kind: Held) -> None:
    """Raise TypeError if sets of a kind cannot match the sets of an index."""
    if index_kind not in ("any", "nothing", kind):
        negation = "" if index_kind == "TokenSets" else "not "
        raise TypeError(
            f"sets must {negation}be TokenSets, like those that this index holds: its seed is "
            "random, and only an index with a seed that is given takes both"
        )


def _present_count(parts: Iterable[_Part]) -> int:
    """Return the number of sets of some parts that have not been removed."""
    return sum(int(np.count_nonzero(part.present)) for part in parts)


def _remaining(parts: Iterable[_Part]) -> _KeyedSets:
    """Return the sets of some parts that have not been removed."""
    numbers = [np.empty(0, np.int64)]
    keys = list[Column]()
    sets = []
    for part in parts:
        part_sets = part.segment.collection.sets
        rows = np.flatnonzero(part.present)
        numbers.append(part.numbers[rows])
        keys.append(take(part.keys, rows))
        sets.append(part_sets if part.present.all() else part_sets.take(rows))
    column = concatenate(keys or [numbers[0]])
    return _KeyedSets(np.concatenate(numbers), column, TokenSets.concatenate(sets))

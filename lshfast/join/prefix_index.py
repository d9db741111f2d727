"""`PrefixIndex`: the sets of an index whose similarity to a query reaches the threshold, all of them, exactly."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import Seed, check_seed
from lshfast.common.threads import ordered_map, thread_count
from lshfast.common.types import BoolArray, Int64Array
from lshfast.join.copies import spread_across
from lshfast.join.exact_join import ROWS, check_rows
from lshfast.join.jaccard import PAIR, as_pairs
from lshfast.join.prefix_file import Held, SavedSets, read_sets, write_sets
from lshfast.join.set_ranks import Collection, RankedSets, RankedTokens
from lshfast.join.thresholds import Measure, Rule, Threshold, plain_threshold, rule_of
from lshfast.kernels import setjoin
from lshfast.tokens import TokenSets

if TYPE_CHECKING:
    from typing_extensions import Self

MATCH = np.dtype([("query", np.int64), ("id", np.int64), ("similarity", np.float64)])


@dataclass(frozen=True)
class PrefixSegment:
    """Sets that were indexed together, and their ids, ascending. It never changes."""

    ids: Int64Array
    collection: Collection
    tokens: RankedTokens
    indexed: RankedSets
    index: setjoin.Prefixes

    @classmethod
    def of(cls, ids: Int64Array, sets: TokenSets, rule: Rule, threads: int) -> PrefixSegment:
        """Index sets."""
        collection = Collection.of(sets)
        tokens = RankedTokens([collection])
        indexed = tokens.ranked(collection, rule, False, threads)
        return cls(ids, collection, tokens, indexed, setjoin.Prefixes(rule.of_kernels, indexed.records, False))

    def __len__(self) -> int:
        return len(self.ids)

    def matches(self, queries: Collection, rule: Rule, threads: int) -> npt.NDArray[np.void]:
        """Return the pairs of a row of the segment and a query, as i, j and similarity."""
        probes = self.tokens.ranked(queries, rule, True, threads)
        n = len(probes.rows)

        def work(first: int) -> npt.NDArray[np.uint32]:
            return setjoin.Search(self.index, probes.records).run(first, min(n, first + ROWS))

        parts = [np.empty((0, 3), np.uint32), *ordered_map(work, range(0, n, ROWS), threads)]
        row, probe, overlap = np.concatenate(parts).T
        similarity = rule.similarity(overlap, self.indexed.records.sizes[row], probes.records.sizes[probe])
        found = as_pairs(self.indexed.rows[row], probes.rows[probe], similarity)
        return spread_across(found, self.collection.copies, queries.copies)


@dataclass(frozen=True)
class _Part:
    """A segment, and which of its sets have not been removed."""

    segment: PrefixSegment
    present: BoolArray

    @classmethod
    def of(cls, segment: PrefixSegment) -> _Part:
        return cls(segment, np.ones(len(segment), bool))

    def rows_of(self, ids: Int64Array) -> Int64Array:
        """Return the row of each id; -1 for those that are not there."""
        if not len(self.segment):
            return np.full(len(ids), -1, np.int64)
        own = self.segment.ids
        rows = np.minimum(np.searchsorted(own, ids), len(own) - 1)
        return np.where((own[rows] == ids) & self.present[rows], rows, -1)


@dataclass(frozen=True)
class _State:
    """The index at one moment."""

    parts: tuple[_Part, ...] = ()
    next_id: int = 0
    held: Held = "any"


class PrefixIndex:
    """An index that finds all sets whose exact similarity to a query is at least a threshold.

    Unlike `LSHIndex` it keeps the sets themselves, and finds every match. Several threads may use it at once: a query
    sees the index as it was when the query began.

    Parameters
    ----------
    threshold : float, Fraction or tuple of two ints, default 0.8
        The least similarity, as for `join`.
    measure : {"jaccard", "dice", "cosine", "containment", "overlap"}, default "jaccard"
        As for `join`. Containment is that of the query in the sets of the index.
    seed : int or "random", default "random"
        Seed of the hash of elements, in 0..2**64 - 1. It is stored in files. With a random seed, nobody can choose
        elements with equal hashes, and an index takes either TokenSets, whose tokens are the elements, or other sets,
        but not both. With a seed that is given it takes both. TokenSets must then have been hashed with this seed,
        because sets of another seed match nothing.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use.

    Attributes
    ----------
    threshold, measure, seed

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Notes
    -----
    New sets form a segment of their own; segments of about one size are merged, so each set is indexed again at most
    log2(n) times. Memory is about 16 bytes for each token, 40 for each different token, and 100 for each set.

    Examples
    --------
    >>> from lshfast.exact import PrefixIndex
    >>> index = PrefixIndex(threshold=0.9, measure="containment")
    >>> index.insert([{"a", "b", "c", "d"}, {"x", "y"}]).tolist()
    [0, 1]
    >>> index.query([{"b", "c"}, {"y", "z"}]).tolist()
    [(0, 0, 1.0)]
    >>> index.remove([0])
    >>> len(index), index.query([{"b", "c"}]).tolist()
    (1, [])
    """

    threshold: Threshold
    measure: Measure
    seed: int

    def __init__(
        self,
        *,
        threshold: Threshold = 0.8,
        measure: Measure = "jaccard",
        seed: Seed = "random",
        threads: int | None = None,
    ) -> None:
        self._rule = rule_of(measure, threshold, "probing")
        self.threshold, self.measure, self.seed = threshold, measure, check_seed(seed)
        self._threads = thread_count(threads)
        self._state = _State(held="nothing" if seed == "random" else "any")
        self._writing = threading.Lock()

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(part.present)) for part in self._state.parts)

    def __contains__(self, number: object) -> bool:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < 2**63:
            return False
        return any(part.rows_of(np.array([number], np.int64))[0] >= 0 for part in self._state.parts)

    def __repr__(self) -> str:
        return f"PrefixIndex({len(self)} sets, threshold={self.threshold!r}, measure={self.measure!r})"

    def insert(self, sets: Any) -> Int64Array:
        """Insert sets.

        Parameters
        ----------
        sets : TokenSets or iterable of iterables
            As for `join`; see also `seed`. All are inserted, or none.

        Returns
        -------
        ndarray of int64, shape (n,)
            Their ids: consecutive numbers that are never used again.

        Raises
        ------
        TypeError, ValueError
            If an element has the wrong type, a set has more than 2**29 elements, or the seed is random and the index
            holds sets of the other kind.
        """
        rows, kind = self._token_sets(sets).distinct(), _kind_of(sets)
        with self._writing:
            state = self._state
            _check_kind(kind, state.held)
            ids = np.arange(len(rows), dtype=np.int64) + state.next_id
            if len(rows):
                parts = [*state.parts, _Part.of(PrefixSegment.of(ids, rows, self._rule, self._threads))]
                while len(parts) > 1 and len(parts[-2].segment) < 2 * len(parts[-1].segment):
                    parts[-2:] = [self._merged(parts[-2:])]
                held = kind if state.held == "nothing" else state.held
                self._state = _State(tuple(parts), state.next_id + len(rows), held)
        return ids

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove sets.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            Ids that `insert` returned. All are removed, or none.

        Raises
        ------
        TypeError
            If an id is not an int.
        KeyError
            If the index does not contain an id, or it is given twice; the error names it.
        """
        numbers = np.asarray(ids)
        if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
            raise TypeError(f"ids must be a sequence of ints, not {ids!r}")
        unique, counts = np.unique(numbers, return_counts=True)
        if (counts > 1).any():
            raise KeyError(f"id {unique[counts > 1][0]} is given twice")
        with self._writing:
            state, missing, parts = self._state, np.ones(len(unique), bool), []
            for part in state.parts:
                rows = part.rows_of(unique.astype(np.int64))
                missing &= rows < 0
                present = part.present.copy()
                present[rows[rows >= 0]] = False
                parts.append(_Part(part.segment, present))
            if missing.any():
                raise KeyError(f"the index does not contain id {unique[missing][0]}")
            left = sum(int(np.count_nonzero(part.present)) for part in parts)
            if 2 * left < sum(len(part.segment) for part in parts):
                parts = [self._merged(parts)] if left else []
            self._state = _State(tuple(parts), state.next_id, state.held)

    def query(self, sets: Any) -> npt.NDArray[np.void]:
        """Return all sets of the index whose similarity to a query is at least the threshold.

        Parameters
        ----------
        sets : TokenSets or iterable of iterables
            The queries. An empty set matches nothing.

        Returns
        -------
        ndarray of shape (m,) with fields query, id (int64) and similarity (float64)
            Sorted by query, then by descending similarity, then by id.

        Raises
        ------
        TypeError, ValueError
            As for `insert`.
        """
        state = self._state
        _check_kind(_kind_of(sets), state.held)
        queries = Collection.of(self._token_sets(sets).distinct())
        found = [np.empty(0, PAIR)]
        for part in state.parts:
            pairs = part.segment.matches(queries, self._rule, self._threads)
            pairs = pairs[part.present[pairs["i"]]]
            pairs["i"] = part.segment.ids[pairs["i"]]
            found.append(pairs)
        every = np.concatenate(found)
        matches = np.empty(len(every), MATCH)
        matches["query"], matches["id"], matches["similarity"] = every["j"], every["i"], every["similarity"]
        return matches[np.lexsort((matches["id"], -matches["similarity"], matches["query"]))]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the sets to a file, which appears under its name when it is complete.

        Parameters
        ----------
        path : path
        overwrite : bool, default False
            Replace an existing file.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is false.
        OSError
            If it cannot be written; a file that was there is unchanged then.
        """
        state = self._state
        threshold = plain_threshold(self.measure, self.threshold)
        saved = SavedSets(self.measure, threshold, state.held, self.seed, state.next_id, *_remaining(state.parts))
        write_sets(path, saved, overwrite)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Self:
        """Read an index from a file, check all of it, and build its tables.

        Parameters
        ----------
        path : path
        threads : int, optional
            As for the class.

        Returns
        -------
        PrefixIndex

        Raises
        ------
        FormatError
            If the file is damaged, or `save` did not write it. The error names the file and the reason.
        OSError
            If it cannot be read.
        """
        saved = read_sets(path)
        index = cls(threshold=saved.threshold, measure=saved.measure, seed=saved.seed, threads=threads)
        segments = [PrefixSegment.of(saved.ids, saved.sets, index._rule, index._threads)] if len(saved.ids) else []
        index._state = _State(tuple(map(_Part.of, segments)), saved.next_id, saved.held)
        return index

    def __reduce__(self) -> Any:
        raise TypeError("a PrefixIndex cannot be pickled: save it to a file")

    def _token_sets(self, sets: Any) -> TokenSets:
        if isinstance(sets, TokenSets):
            return sets
        check_rows("sets", sets)
        return TokenSets.from_sets(sets, seed=self.seed)

    def _merged(self, parts: Sequence[_Part]) -> _Part:
        return _Part.of(PrefixSegment.of(*_remaining(parts), self._rule, self._threads))


def _kind_of(sets: Any) -> Held:
    return "TokenSets" if isinstance(sets, TokenSets) else "sets"


def _check_kind(kind: Held, held: Held) -> None:
    """Raise TypeError if sets of a kind cannot match those that an index holds."""
    if held not in ("any", "nothing", kind):
        raise TypeError(
            f"sets must {'' if held == 'TokenSets' else 'not '}be TokenSets, like those that this index holds: its "
            "seed is random, and only an index with a seed that is given takes both"
        )


def _remaining(parts: Iterable[_Part]) -> tuple[Int64Array, TokenSets]:
    """Return the ids and sets that have not been removed."""
    ids, sets = [np.empty(0, np.int64)], []
    for part in parts:
        ids.append(part.segment.ids[part.present])
        own = part.segment.collection.sets
        sets.append(own if part.present.all() else own.take(part.present))
    return np.concatenate(ids), TokenSets.concatenate(sets)

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
from lshfast.common.errors import FormatError
from lshfast.common.stats import EntryStats, bytes_of
from lshfast.common.threads import ordered_map, thread_count
from lshfast.common.types import BoolArray, Int64Array
from lshfast.join.copies import spread_across
from lshfast.join.exact_join import ROWS, check_rows, join
from lshfast.join.jaccard import PAIR, as_pairs
from lshfast.join.prefix_file import Held, SavedSets, read_sets, write_sets
from lshfast.join.set_ranks import Collection, RankedSets, RankedTokens
from lshfast.join.thresholds import Measure, Rule, Threshold, plain_threshold, rule_of
from lshfast.kernels import setjoin
from lshfast.tokens import TokenSets

if TYPE_CHECKING:
    from typing_extensions import Self

MATCH = np.dtype([("query", np.int64), ("id", np.int64), ("similarity", np.float64)])


# Sets that `verify` searches at once.
VERIFIED_ROWS = 1 << 13


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
        return self._matches(state, self._token_sets(sets).distinct())

    def _matches(self, state: _State, sets: TokenSets) -> npt.NDArray[np.void]:
        queries = Collection.of(sets)
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

    def pairs(self) -> npt.NDArray[np.void]:
        """Return all pairs of sets of the index whose similarity is at least the threshold.

        Returns
        -------
        ndarray of shape (m,) with fields i, j (int64, ids, i < j) and similarity (float64)
            Sorted by (i, j). Containment is that of the smaller set in the larger one, as in `pairs`.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> index = PrefixIndex(threshold=0.5)
        >>> index.insert([{"a", "b", "c"}, {"x", "y"}, {"a", "b"}]).tolist()
        [0, 1, 2]
        >>> [(i, j, round(similarity, 2)) for i, j, similarity in index.pairs().tolist()]
        [(0, 2, 0.67)]
        """
        ids, sets = _remaining(self._state.parts)
        found = join(sets, threshold=self.threshold, measure=self.measure, threads=self._threads).pairs
        return as_pairs(ids[found["i"]], ids[found["j"]], found["similarity"])

    def describe(self) -> str:
        """Return what the index finds as text.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> PrefixIndex(threshold=0.9).describe()
        'all sets whose similarity to a query (jaccard) is at least 0.9'
        """
        return f"all sets whose similarity to a query ({self.measure}) is at least {self.threshold}"

    @property
    def nbytes(self) -> int:
        """Memory of the index, in bytes; that of its tables is an estimate."""
        return self.stats().nbytes

    def stats(self) -> EntryStats:
        """Return the figures of the index, such as its memory; the bytes of its tables are an estimate.

        Examples
        --------
        >>> from lshfast.exact import PrefixIndex
        >>> index = PrefixIndex()
        >>> index.insert([{"a", "b", "c"}, {"x", "y"}]).tolist()
        [0, 1]
        >>> index.stats().entries
        2
        """
        parts = self._state.parts
        n, own = sum(len(part.segment) for part in parts), [part.segment.collection.sets for part in parts]
        tokens, present = sum(len(sets.tokens) for sets in own), sum(int(part.present.sum()) for part in parts)
        figures = {
            "segments": len(parts),
            "removed sets": n - present,
            "set bytes": 8 * tokens + 17 * n,
            "table bytes": 8 * tokens + 40 * sum(part.segment.tokens.most for part in parts) + 80 * n,
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
        ids, sets = _remaining(state.parts)
        least = self._rule.p if self.measure == "overlap" else 1
        for first in range(0, len(ids), VERIFIED_ROWS):
            own = ids[first : first + VERIFIED_ROWS]
            rows = sets.take(np.arange(first, first + len(own), dtype=np.int64))
            found = self._matches(state, rows)
            missing = np.setdiff1d(own[rows.counts >= least], found["id"][own[found["query"]] == found["id"]])
            if len(missing):
                raise FormatError(f"tables: set {missing[0]} is not found")

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

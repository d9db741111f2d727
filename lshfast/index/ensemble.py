"""LSHEnsemble: find the entries that contain a query, among sets of very different sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, array_of, check_int, check_most, check_number
from lshfast._common.display import counted
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import Float64Array, Int64Array, UInt32Array, UInt64Array
from lshfast.banding.bands import check_recall, check_threshold
from lshfast.index.apart import IsApart, answers_apart, similar_at_most
from lshfast.index.entries import (
    TREE_FIELDS,
    SearchView,
    TreeEntries,
    as_batch,
    tree_arguments,
    tree_fields,
    tree_widths,
)
from lshfast.index.entry_file import EntryFile
from lshfast.index.key_pairs import KeyPairs, joined_batches, pairs_with_others
from lshfast.index.keys import Column, listed
from lshfast.index.matches import Match, Matches, best_first, joined_answers
from lshfast.index.memory_index import MemoryIndex
from lshfast.index.search_plan import missed
from lshfast.index.stores.values import OnDuplicate, check_on_duplicate
from lshfast.kernels.trees import MOST_ROWS
from lshfast.sketch.minhash import EMPTY, MinHasher, Scheme, check_signatures

# Queries in one piece of work.
PIECE_QUERIES = 256

# With k, the queries in work at once find at most this many entries.
MOST_MATCHES = 1 << 20

# Doubles represent all integers up to here exactly.
MOST_SIZE = 2**53

# The sizes of several sets.
Sizes: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]


class Part(NamedTuple):
    """The search plan of one partition for a query.

    Attributes
    ----------
    upper : int
        Size of the largest set in the partition. The plan is valid for sets of up to this size.
    similarity : float
        Jaccard similarity, in (0, 1], of the query and a set of this size whose containment equals
        the threshold.
    trees : int
        Number of trees that are searched.
    depth : int
        The trees are searched for rows that share `depth` or `depth` + 1 slots with the query.
    recall : float
        Lower bound of the probability, in [0, 1], that a set of the greatest size whose containment
        equals the threshold is found. Smaller sets, and sets that contain more of the query, are
        found with higher probability.
    """

    upper: int
    similarity: float
    trees: int
    depth: int
    recall: float


class LSHEnsemble(MemoryIndex):
    """Find the entries X that contain a query Q: |Q & X| / |Q| is at least the threshold.

    X may have any size.

    An entry is a key, a MinHash signature and the size of its set. The share J of equal slots of
    two signatures, and both sizes, give the estimate |Q & X| = J (|Q| + |X|) / (1 + J). The
    containment that follows is compared with the threshold, and returned as `similarity`; it is at
    most 1 and at most |X| / |Q|.

    Entries are partitioned by size. If the largest set of a partition has u elements, and the query
    has q elements, a set whose containment is at least the threshold t has a Jaccard similarity of
    at least s = t / (u / q + 1 - t). The sorted trees of the partition are searched so deep that
    such a set is found with probability `recall`; the greater s is, the deeper. If u is much
    greater than q, then s is small and few slots are equal; each slot is then looked up separately.
    So each entry with at least one equal slot, whose estimated containment is at least the
    threshold, is found with probability at least `recall`.

    Parameters
    ----------
    threshold : float, default 0.8
        Containment, in (0, 1], for queries without their own threshold.
    num_perm : int, default 128
        Slots of a signature, in 1..65,536.
    partitions : int, default 16
        The most partitions, at least 1. All have about the same number of entries. There are fewer
        partitions if there are fewer than 256 entries for each, or few different sizes. Entries are
        partitioned again when a partition has twice as many entries as it should have.
    recall : float, default 0.95
        Probability, in (0, 1).
    trees : int, optional
        As for `LSHForest`. In addition, each slot that is not the first of one of these trees has a
        tree of one slot, which also takes about 14 bytes per entry.
    scheme : {"fast", "classic"}, default "fast"
        Scheme of the signatures (see `MinHasher`).
    seed : int or "random", default 1
        Seed of the signatures, in 0..2**64 - 1.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        As for `LSHForest`.
    slack : float, default 0.0
        In standard errors, at least 0. The estimate has an error in both directions, so without
        slack an entry whose containment equals the threshold is missed half of the time. With
        slack, answers include entries whose number of equal slots is at most this many standard
        errors below the number expected at the threshold. A slack of 1 finds 5 of 6 such entries,
        1.65 finds 19 of 20, and both find more entries with less containment. The estimate in the
        answer can then be below the threshold.

    Attributes
    ----------
    hasher : MinHasher
        The sketcher of the signatures; `insert` and `query` refuse signatures of another one.
    threshold, recall, slack : float
    partitions, trees : int

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures, in memory or in a file.
    lshfast.LSHForest : Find the entries that are most similar, without a threshold.

    Notes
    -----
    The standard error of the estimate is at most about sqrt(J (1 - J) / num_perm) (1 + |X| / |Q|) /
    (1 + J)**2. With 128 slots and a query of 100 elements that are all in X, it is 0.06 if X has
    200 elements (J = 1/2), 0.24 for 1,000 elements (J = 1/10), and 0.87 for 10,000 elements (J =
    1/100). In the last case, one equal slot changes the estimate by 0.78, so the estimate is of
    little use. Small queries in large sets need long signatures: the error is proportional to 1 /
    sqrt(num_perm).

    An entry without an equal slot is never found. At Jaccard similarity J, no slot is equal with
    probability (1 - J)**num_perm. With 128 slots this is 0.005 at J = 1/25, and 0.28 at J = 1/100.

    Threads and costs are as for `LSHForest`. Partitioning again takes as long as inserting all
    entries at once.

    References
    ----------
    E. Zhu, F. Nargesian, K. Q. Pu, R. J. Miller, "LSH Ensemble: Internet-Scale Domain Search", VLDB
    2016.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.index.ensemble import LSHEnsemble
    >>> sets = TokenSets.from_sets(
    ...     [range(0, 90), range(0, 150), range(0, 40), range(50, 1000)]
    ... )
    >>> ensemble = LSHEnsemble(threshold=0.7, num_perm=256)
    >>> ensemble.insert(
    ...     ["most", "all", "some", "other"], MinHasher(256).sketch(sets), sets.counts
    ... )
    4
    >>> query = TokenSets.from_sets([range(0, 100)])
    >>> [
    ...     (key, round(part, 1))
    ...     for key, part in ensemble.query(MinHasher(256).sketch(query)[0], 100)
    ... ]
    [('all', 1.0), ('most', 0.9)]
    """

    threshold: float
    hasher: MinHasher
    partitions: int
    recall: float
    trees: int
    slack: float
    _entries: TreeEntries

    def __init__(
        self,
        threshold: float = 0.8,
        num_perm: int = 128,
        *,
        partitions: int = 16,
        recall: float = 0.95,
        trees: int | None = None,
        scheme: Scheme = "fast",
        seed: Seed = 1,
        on_duplicate: OnDuplicate = "error",
        slack: float = 0.0,
    ) -> None:
        self.threshold = check_threshold(threshold)
        self.slack = _check_slack(slack)
        self.hasher = MinHasher(num_perm, scheme, seed)
        self.partitions = check_int("partitions", partitions, 1)
        self.recall = check_recall(recall)
        default_trees = max(num_perm // 4, 1)
        self.trees = (
            default_trees if trees is None else check_int("trees", trees, 1, num_perm)
        )
        self.on_duplicate: OnDuplicate = check_on_duplicate(on_duplicate)
        self._entries = TreeEntries(
            self.hasher, self.trees, self.recall, self.partitions, singles=True
        )

    def insert(
        self, keys: Any, signatures: npt.ArrayLike, sizes: int | np.integer[Any] | Sizes
    ) -> int:
        """Insert one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one signature; a batch for several.
        signatures : ndarray of uint64, shape (num_perm,) or (n, num_perm)
        sizes : int, or array_like of int, shape (n,)
            Number of distinct elements of each set, in 0..2**53. It is 0 exactly if the signature
            is of an empty set.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If a key cannot be stored, the signatures are not uint64, or the sizes are not ints.
        ValueError
            If the numbers of keys, signatures and sizes differ, a size is out of range, a key is a
            duplicate and `on_duplicate` is "error", or a different sketcher made the signatures.

        Examples
        --------
        >>> from lshfast import LSHEnsemble, MinHasher, TokenSets
        >>> sets = TokenSets.from_sets([["red", "green"], ["red", "green", "blue"]])
        >>> LSHEnsemble().insert(["a", "b"], MinHasher().sketch(sets), sets.counts)
        2
        """
        column, array = as_batch(keys, signatures, self.hasher)
        set_sizes = _sizes(sizes, np.ndim(signatures), array)
        return self._entries.insert(column, array, set_sizes, self.on_duplicate)

    @overload
    def query(
        self,
        signatures: npt.ArrayLike,
        sizes: int | np.integer[Any],
        *,
        threshold: float | None = None,
        k: int | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match]: ...
    @overload
    def query(
        self,
        signatures: npt.ArrayLike,
        sizes: Sizes,
        *,
        threshold: float | None = None,
        k: int | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> Matches[Match]: ...
    def query(
        self,
        signatures: npt.ArrayLike,
        sizes: int | np.integer[Any] | Sizes,
        *,
        threshold: float | None = None,
        k: int | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match] | Matches[Match]:
        """Find the entries that contain one query, or each of m queries.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (num_perm,) or (m, num_perm)
        sizes : int, or array_like of int, shape (m,)
            Number of distinct elements of each query, as for `insert`. An empty query finds
            nothing.
        threshold : float, optional
            Least containment, in (0, 1]. The default is the threshold of the ensemble.
        k : int, optional
            Return only the k entries with the highest containment; at least 1.
        most : float, optional
            Return only entries with at most this estimated containment, from the threshold to 1.
            `k` counts these only.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        list of Match, or Matches of m such lists
            (key, similarity), where `similarity` is the estimated containment, in (0, 1]. The
            highest is first; entries with equal containment are in the order of their keys.

        Raises
        ------
        TypeError
            If an argument has the wrong type.
        ValueError
            If an argument is out of range, the numbers of signatures and sizes differ, or a
            different sketcher made the signatures.

        Examples
        --------
        >>> from lshfast import LSHEnsemble, MinHasher, TokenSets
        >>> sets = TokenSets.from_sets([["red", "green"], ["red", "green"]])
        >>> signatures, ensemble = MinHasher().sketch(sets), LSHEnsemble()
        >>> ensemble.insert("a", signatures[0], 2)
        1
        >>> ensemble.query(signatures[1], 2)
        [Match(key='a', similarity=1.0)]
        """
        array = check_signatures(signatures, self.hasher)
        queries = array.reshape(-1, self.hasher.num_perm)
        q = _sizes(sizes, array.ndim, queries)
        threshold = self.threshold if threshold is None else check_threshold(threshold)
        k = None if k is None else check_int("k", k, 1)
        is_apart = similar_at_most(check_most(most, threshold))
        with self._entries.gate.reading():
            threads = thread_count(threads)
            offsets, names, similarity = self._within(
                queries, q, threshold, k, is_apart, threads
            )
        if array.ndim == 1:
            return list(map(Match, listed(names), similarity.tolist()))
        return Matches(offsets, names, similarity)

    def _within(
        self,
        queries: UInt64Array,
        q: Int64Array,
        threshold: float,
        k: int | None,
        is_apart: IsApart | None,
        threads: int,
    ) -> tuple[Int64Array, Column, Float64Array]:
        """Return (offsets, names, containments) of the answers, the highest first."""
        view = self._entries.view()

        def work(start: int) -> tuple[Int64Array, Column, Float64Array]:
            part = slice(start, start + step)
            counts = self._counts(view, q[part], threshold)
            # The size of an empty query must not be 0 here; it finds nothing anyway.
            offsets, rows, scores = view.snapshot.within(
                queries[part], np.maximum(q[part], 1), counts, threshold, self.slack
            )
            answers = Matches[Match](offsets, self._entries.names(rows), scores)
            answers = answers_apart(answers, is_apart)
            offsets, names, containments = best_first(
                answers.offsets, answers.keys, answers.similarity, k
            )
            return offsets, names, np.asarray(containments, np.float64)

        step = PIECE_QUERIES
        if k is not None:
            step = max(1, min(step, MOST_MATCHES // (threads * max(len(self), 1))))
        if len(queries) <= step:
            return work(0)
        answers = list(ordered_map(work, range(0, len(queries), step), threads))
        return joined_answers(answers)

    def _counts(self, view: SearchView, q: Int64Array, threshold: float) -> UInt32Array:
        """Return the number of steps of each query in each partition."""
        least = self._least(view.uppers, q[:, None], threshold)
        counts = np.searchsorted(-view.steps[:, 2].astype(np.int64), -least) + 1
        out_of_reach = least > self.hasher.num_perm
        return np.where(out_of_reach, 0, np.minimum(counts, len(view.steps))).astype(
            np.uint32
        )

    def _least(self, uppers: Int64Array, q: Int64Array, threshold: float) -> Int64Array:
        """Return the least number of equal slots of the largest set that is in the answer.

        If no set of this size can be in the answer, the number is greater than num_perm.
        """
        slots = self.hasher.num_perm
        similarity = np.minimum(
            threshold * q / np.maximum(uppers + q - threshold * q, 1e-9), 1
        )
        equal = similarity * slots - self.slack * np.sqrt(
            similarity * (1 - similarity) * slots
        )
        # Rounding must not lose one.
        least = np.ceil(equal - 1e-12 * slots).astype(np.int64)
        too_small = uppers < threshold * q * (1 - 1e-12)
        return np.where(too_small, slots + 1, np.clip(least, 1, slots))

    def plan(self, size: int, *, threshold: float | None = None) -> list[Part]:
        """Return the search plan for a query of some size, for each partition with answers.

        Parameters
        ----------
        size : int
            Number of distinct elements of the query, in 1..2**53.
        threshold : float, optional
            Least containment, in (0, 1]. The default is the threshold of the ensemble.

        Returns
        -------
        list of Part
            `Part` has the attributes `upper`, `similarity`, `trees`, `depth` and `recall`.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.

        Examples
        --------
        >>> from lshfast import LSHEnsemble, MinHasher, TokenSets
        >>> ensemble, sets = LSHEnsemble(), TokenSets.from_sets([range(100)] * 300)
        >>> ensemble.insert(range(300), MinHasher().sketch(sets), sets.counts)
        300
        >>> [(part.upper, part.similarity) for part in ensemble.plan(100)]
        [(100, 0.6666666666666666)]
        """
        q = np.array([check_int("size", size, 1, MOST_SIZE)], np.int64)
        threshold = self.threshold if threshold is None else check_threshold(threshold)
        with self._entries.gate.reading():
            view = self._entries.view()
        counts = self._counts(view, q, threshold)[0].tolist()
        least = self._least(view.uppers, q, threshold).tolist()
        parts = []
        for upper, equal, count in zip(
            view.uppers.tolist(), least, counts, strict=True
        ):
            if count:
                depths = dict(view.steps[:count, :2].tolist())
                slots = self.hasher.num_perm
                searched = np.bincount([*depths.values()])[1:].tolist()
                # If single slots are searched, all trees are, to depth 1: a tree is a slot.
                trees = self.trees if len(depths) <= self.trees else slots
                recall = 1 - missed(slots, trees, searched)[equal]
                similarity = min(
                    threshold * size / (upper + size - threshold * size), 1.0
                )
                depth = min(depths.values())
                parts.append(Part(upper, similarity, len(depths), depth, float(recall)))
        return parts

    def expected_recall(self, size: int, *, threshold: float | None = None) -> float:
        """Return a lower bound of the probability that an entry that contains a query is found.

        The bound holds for entries with at least one equal slot whose estimated containment is at
        least the threshold. It is at least `recall`. `plan` returns the bound for each partition.

        Parameters
        ----------
        size : int
            Number of distinct elements of the query, in 1..2**53.
        threshold : float, optional
            Least containment, in (0, 1]. The default is the threshold of the ensemble.

        Returns
        -------
        float
            Probability in [0, 1]; 1 if no partition can contain an answer.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.

        Examples
        --------
        >>> from lshfast import LSHEnsemble
        >>> LSHEnsemble().expected_recall(100)
        1.0
        """
        return min(
            (part.recall for part in self.plan(size, threshold=threshold)), default=1.0
        )

    def __repr__(self) -> str:
        hasher = self.hasher
        return (
            f"LSHEnsemble({counted(len(self), 'entry', 'entries')}, threshold={self.threshold}, "
            f"num_perm={hasher.num_perm}, trees={self.trees}, recall={self.recall}, "
            f"scheme={hasher.scheme!r}, seed={hasher.seed})"
        )

    def pairs(
        self,
        threshold: float | None = None,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> KeyPairs:
        """Find the pairs of entries of which the left one is contained in the right one.

        Parameters
        ----------
        threshold, most, threads
            As for `query`.

        Returns
        -------
        KeyPairs
            `similarity` is the containment. The pairs of a left key are together, the highest
            first. A pair occurs in both orders if both sets contain the other one.

        Examples
        --------
        >>> from lshfast import LSHEnsemble, MinHasher, TokenSets
        >>> sets = TokenSets.from_sets(
        ...     [["red", "green"], ["red", "green", "blue", "black", "white"]]
        ... )
        >>> ensemble = LSHEnsemble()
        >>> ensemble.insert(["a", "b"], MinHasher().sketch(sets), sets.counts)
        2
        >>> list(ensemble.pairs())
        [('a', 'b', 1.0)]
        """
        batches = []
        for keys, (signatures, sizes) in self._batches():
            answers = self.query(
                signatures,
                _column(sizes),
                threshold=threshold,
                most=most,
                threads=threads,
            )
            batches.append(pairs_with_others(keys, answers))
        return KeyPairs(*joined_batches(batches))

    def describe(self) -> str:
        """Return the trees, the recall, and the greatest set of each partition as text.

        Examples
        --------
        >>> from lshfast import LSHEnsemble, MinHasher, TokenSets
        >>> ensemble, sets = LSHEnsemble(), TokenSets.from_sets([range(100)] * 300)
        >>> ensemble.insert(range(300), MinHasher().sketch(sets), sets.counts)
        300
        >>> ensemble.describe()
        '32 trees: an entry with containment 0.8 is found with probability 0.95; partitions of sets
        of up to 100'
        """
        with self._entries.gate.reading():
            uppers = self._entries.view().uppers.tolist()
        sizes = ", ".join(f"{upper:,}" for upper in uppers)
        return (
            f"{counted(self.trees, 'tree')}: an entry with containment {self.threshold} is found "
            f"with probability {self.recall}; partitions of sets of up to {sizes}"
        )

    # ---- files ----

    _file = EntryFile(
        b"LSHFENS\0",
        f"{TREE_FIELDS}Qdd",
        "an LSHEnsemble of lshfast",
        ("signatures", "sizes"),
        MOST_ROWS,
    )

    def _fields(self) -> Sequence[Any]:
        partitions = min(self.partitions, 2**64 - 1)
        fields = tree_fields(self.hasher, self.trees, self.recall)
        return *fields, partitions, self.threshold, self.slack

    @staticmethod
    def _widths(*fields: Any) -> list[int]:
        return [*tree_widths(*fields), 1]

    @classmethod
    def _made(
        cls, fields: Sequence[Any], keys: Column, columns: list[UInt64Array]
    ) -> LSHEnsemble:
        partitions, threshold, slack = fields[-3:]
        index = cls(
            threshold, partitions=partitions, slack=slack, **tree_arguments(fields)
        )
        index.insert(keys, columns[0], _column(columns[1]))
        return index


def _column(sizes: UInt64Array) -> Int64Array:
    return sizes.reshape(-1).view(np.int64)


def _check_slack(slack: float) -> float:
    """Return the slack as a float, or raise an error that names the range."""
    slack = check_number("slack", slack)
    if not 0 <= slack < np.inf:
        raise ValueError(f"slack must be at least 0 and finite, not {slack}")
    return slack


def _sizes(sizes: Any, dimensions: int, signatures: UInt64Array) -> Int64Array:
    """Return the sizes of the sets of some signatures, or raise an error if they do not match."""
    array = array_of(sizes, "sizes")
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(
            f"sizes must be ints, not {'None' if sizes is None else array.dtype}"
        )
    if array.ndim != dimensions - 1:
        allowed = "a number for each signature"
        if dimensions == 1:
            allowed = "one number, as there is one signature"
        raise ValueError(f"sizes must be {allowed}, not of shape {array.shape}")
    array = array.reshape(-1)
    if len(array) == 0:
        array = array.astype(np.int64)
    if len(array) != len(signatures):
        raise ValueError(
            f"there must be a size for each signature, not {len(array)} for {len(signatures)}"
        )
    is_empty = signatures[:, 0] == EMPTY
    is_wrong = (array < 0) | (array > MOST_SIZE) | ((array == 0) != is_empty)
    if is_wrong.any():
        place = int(np.argmax(is_wrong))
        size = int(array[place])
        if not 0 <= size <= MOST_SIZE:
            raise ValueError(f"sizes must be in 0..2**53, not sizes[{place}] = {size}")
        negation = "not " if size == 0 else ""
        raise ValueError(
            f"sizes[{place}] is {size}, but its signature is {negation}that of an empty set"
        )
    return np.ascontiguousarray(array, np.int64)

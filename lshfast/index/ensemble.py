"""LSHEnsemble: which entries contain a query, among sets of very different sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from lshfast.banding.bands import check_threshold
from lshfast.common.threads import ordered_map, thread_count
from lshfast.index.entries import SearchView, TreeEntries, as_batch, check_count, check_on_duplicate, check_recall
from lshfast.index.keys import as_column, is_batch, listed
from lshfast.index.matches import Match, Matches, best_first
from lshfast.index.search_plan import missed
from lshfast.index.stores.base import OnDuplicate
from lshfast.sketch.minhash import EMPTY, MinHasher, Scheme, check_signatures
from lshfast.tokens import Float64Array, Int64Array, Seed, UInt64Array, array_of, check_number

# Queries of one piece of work.
PIECE_QUERIES = 256

# Sizes are counted exactly in doubles up to here.
MOST_SIZE = 2**53

# Of several sets.
Sizes: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]


class Part(NamedTuple):
    """How a partition is searched for a query.

    Attributes
    ----------
    upper : int
        The greatest size of its sets, up to which the plan holds.
    similarity : float
        The Jaccard similarity that the threshold comes to for a set of that size; 1 or less.
    trees : int
        How many trees are looked into, to rows that share `depth` slots with the query, or that many and one more.
    depth : int
    recall : float
        The least probability with which a set of the greatest size that just reaches the threshold is found. Smaller
        ones, and those that hold more of the query, are found with higher probability.
    """

    upper: int
    similarity: float
    trees: int
    depth: int
    recall: float


class LSHEnsemble:
    """Find the entries that contain a query: |Q & X| / |Q| at least the threshold, whatever the size of X.

    An entry is a key, a MinHash signature and the size of its set. From the share J of equal slots of the two
    signatures and from both sizes, |Q & X| = J (|Q| + |X|) / (1 + J); the containment estimated from it is what counts
    and what answers give as `similarity`, at most 1 and at most |X| / |Q|.

    Entries are partitioned by size (LSH Ensemble, Zhu, Nargesian, Pu and Miller 2016). In a partition whose largest set
    has u elements, a set that reaches the threshold t for a query of q has a Jaccard similarity of at least
    s = t / (u / q + 1 - t), and the partition's sorted trees are searched as deep as finds such a set with probability
    `recall`: deeper where that is more similar. Where u is far above q, s is so small that few slots are equal; then
    each slot is looked up by itself. So an entry that reaches the threshold by its equal slots, and has at least one,
    is found with that probability.

    Parameters
    ----------
    threshold : float, default 0.8
        In (0, 1]; that of queries which give none.
    num_perm, scheme, seed : int, {"fast", "classic"}, int or "random"
        Of the signatures, as for `MinHasher`; others are refused.
    partitions : int, default 16
        At most so many partitions, of about as many entries each: fewer while there are few entries (256 each, at
        least), or few different sizes. They are made anew when one has got twice as many as it should have.
    recall : float, default 0.95
        In (0, 1).
    trees : int, optional
        As for `LSHForest`. Each other slot has a tree of its own besides, which takes some 14 bytes an entry too.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        As for `LSHForest`.
    slack : float, default 0.0
        At least 0. The estimate errs to either side, so that an entry which just reaches the threshold is left out
        half of the time. With a slack above 0 answers include entries whose number of equal slots is at most so many
        standard errors below the number expected at the threshold: 1 finds 5 in 6 of those, 1.65 finds 19 in 20, and
        more entries that contain less. The estimate in the answer may then be below the threshold.

    Notes
    -----
    The estimate's standard error is at most about sqrt(J (1 - J) / num_perm) (1 + |X| / |Q|) / (1 + J)**2. With 128
    slots and a query of 100 elements, all of them in X: 0.06 where X has 200 elements (J = 1/2), 0.24 where it has
    1,000 (J = 1/10), 0.87 where it has 10,000 (J = 1/100): there one equal slot more or less is 0.78, so that the
    estimate says little. Small queries in large sets need long signatures: the error falls with the root of num_perm.

    An entry without an equal slot is never found. One of Jaccard similarity J has none with probability
    (1 - J)**num_perm: with 128 slots 0.005 at J = 1/25, and 0.28 at J = 1/100.

    Threads and costs are those of `LSHForest`. Making partitions anew takes as long as inserting all entries at once.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.index.ensemble import LSHEnsemble
    >>> sets = TokenSets.from_sets([range(0, 90), range(0, 150), range(0, 40), range(50, 1000)])
    >>> ensemble = LSHEnsemble(threshold=0.7, num_perm=256)
    >>> ensemble.insert(["most", "all", "some", "other"], MinHasher(256).sketch(sets), sets.counts)
    4
    >>> query = TokenSets.from_sets([range(0, 100)])
    >>> [(key, round(part, 1)) for key, part in ensemble.query(MinHasher(256).sketch(query)[0], 100)]
    [('all', 1.0), ('most', 0.9)]
    """

    threshold: float
    hasher: MinHasher
    partitions: int
    recall: float
    trees: int
    slack: float

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
        self.partitions = check_count("partitions", partitions)
        self.recall = check_recall(recall)
        self.trees = max(num_perm // 4, 1) if trees is None else check_count("trees", trees, num_perm)
        self.on_duplicate = check_on_duplicate(on_duplicate)
        self._entries = TreeEntries(self.hasher, self.trees, self.recall, self.partitions, singles=True)

    def insert(self, keys: Any, signatures: npt.ArrayLike, sizes: int | np.integer[Any] | Sizes) -> int:
        """Insert one entry or a batch; all of a batch or, where an error is raised, nothing of it.

        Parameters
        ----------
        keys : hashable, or a batch of them
            A batch goes with signatures of two dimensions.
        signatures : ndarray of uint64, shape (num_perm,) or (n, num_perm)
        sizes : int, or array_like of int, shape (n,)
            How many different elements each set has: 0 to 2**53, and 0 if and only if the signature is an empty set's.

        Returns
        -------
        int
            The number of entries that are new or replaced.

        Raises
        ------
        TypeError, ValueError
            If keys, signatures or sizes cannot be used, are not as many, or a key is a duplicate.
        """
        column, array = as_batch(keys, signatures, self.hasher)
        return self._entries.insert(column, array, _sizes(sizes, np.ndim(signatures), array), self.on_duplicate)

    def remove(self, keys: Any) -> None:
        """Remove one entry or a batch.

        Raises
        ------
        KeyError
            With the first key that is not in the ensemble; then nothing was removed.
        """
        self._entries.remove(as_column(keys if is_batch(keys) else [keys]))

    @overload
    def query(
        self, signatures: npt.ArrayLike, sizes: int | np.integer[Any], *, threshold: float | None = None,
        k: int | None = None, threads: int | None = None,
    ) -> list[Match]: ...  # fmt: skip
    @overload
    def query(
        self, signatures: npt.ArrayLike, sizes: Sizes, *, threshold: float | None = None, k: int | None = None,
        threads: int | None = None,
    ) -> Matches[Match]: ...  # fmt: skip
    def query(
        self,
        signatures: npt.ArrayLike,
        sizes: int | np.integer[Any] | Sizes,
        *,
        threshold: float | None = None,
        k: int | None = None,
        threads: int | None = None,
    ) -> list[Match] | Matches[Match]:
        """Find the entries that contain one query or each of many.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (num_perm,) or (m, num_perm)
        sizes : int, or array_like of int, shape (m,)
            How many different elements each query has, as for `insert`. An empty query finds nothing.
        threshold : float, optional
            In (0, 1]; that of the ensemble by default.
        k : int, optional
            Only the k with the highest containment.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        list of Match, or Matches of m such lists
            (key, similarity), where similarity is the estimated containment, in (0, 1]: the highest first, ties in the
            order of the keys.
        """
        array = check_signatures(signatures, self.hasher)
        queries = array.reshape(-1, self.hasher.num_perm)
        q = _sizes(sizes, array.ndim, queries)
        threshold = self.threshold if threshold is None else check_threshold(threshold)
        k = None if k is None else check_count("k", k)
        with self._entries.gate.reading():
            found = self._within(self._entries.view(), queries, q, threshold, thread_count(threads))
            names = self._entries.names(found[1])
        offsets, names, containments = best_first(found[0], names, found[2], k)
        similarity = np.asarray(containments, np.float64)
        if array.ndim == 1:
            return list(map(Match, listed(names), similarity.tolist()))
        return Matches(offsets, names, similarity)

    def _within(
        self, view: SearchView, queries: UInt64Array, q: Int64Array, threshold: float, threads: int
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return (offsets, rows, containments) of the rows that contain each of many queries."""

        def work(start: int) -> tuple[Int64Array, Int64Array, Float64Array]:
            part = slice(start, start + PIECE_QUERIES)
            counts = self._counts(view, q[part], threshold)
            # An empty query finds nothing, whatever its size.
            return view.snapshot.within(queries[part], np.maximum(q[part], 1), counts, threshold, self.slack)

        if len(queries) <= PIECE_QUERIES:
            return work(0)
        found = list(ordered_map(work, range(0, len(queries), PIECE_QUERIES), threads))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part[0]) for part in found]), dtype=np.int64)])
        return offsets, np.concatenate([part[1] for part in found]), np.concatenate([part[2] for part in found])

    def _counts(self, view: SearchView, q: Int64Array, threshold: float) -> npt.NDArray[np.uint32]:
        """Return how many steps each query takes in each partition."""
        least = self._least(view.uppers, q[:, None], threshold)
        counts = np.searchsorted(-view.steps[:, 2].astype(np.int64), -least) + 1
        out_of_reach = least > self.hasher.num_perm
        return np.where(out_of_reach, 0, np.minimum(counts, len(view.steps))).astype(np.uint32)

    def _least(self, uppers: Int64Array, q: Int64Array, threshold: float) -> Int64Array:
        """Return how many equal slots a set of the greatest size has, at least, that is in the answer.

        More than there are slots where none can.
        """
        slots = self.hasher.num_perm
        similarity = np.minimum(threshold * q / np.maximum(uppers + q - threshold * q, 1e-9), 1)
        equal = similarity * slots - self.slack * np.sqrt(similarity * (1 - similarity) * slots)
        least = np.ceil(equal - 1e-12 * slots).astype(np.int64)  # rounding must not lose one
        return np.where(uppers < threshold * q * (1 - 1e-12), slots + 1, np.clip(least, 1, slots))

    def plan(self, size: int, *, threshold: float | None = None) -> list[Part]:
        """Tell how each partition that can hold an answer is searched for a query of this size.

        Parameters
        ----------
        size : int
            Of the query, 1 to 2**53.
        threshold : float, optional
            In (0, 1]; that of the ensemble by default.
        """
        q = np.array([check_count("size", size, MOST_SIZE)], np.int64)
        threshold = self.threshold if threshold is None else check_threshold(threshold)
        with self._entries.gate.reading():
            view = self._entries.view()
        counts = self._counts(view, q, threshold)[0].tolist()
        least = self._least(view.uppers, q, threshold).tolist()
        parts = []
        for upper, equal, count in zip(view.uppers.tolist(), least, counts, strict=True):
            if count:
                depths, slots = dict(view.steps[:count, :2].tolist()), self.hasher.num_perm
                searched = np.bincount([*depths.values()])[1:].tolist()
                trees = self.trees if len(depths) <= self.trees else slots  # all to depth 1: a tree is a slot
                recall = 1 - missed(slots, trees, searched)[equal]
                similarity = min(threshold * size / (upper + size - threshold * size), 1.0)
                parts.append(Part(upper, similarity, len(depths), min(depths.values()), float(recall)))
        return parts

    def expected_recall(self, size: int, *, threshold: float | None = None) -> float:
        """Return the least probability with which an entry is found that reaches the threshold for such a query.

        It is `recall` or more; `plan` tells of each partition. The entries meant are those that reach the threshold by
        their equal slots, of which they have at least one.

        Parameters
        ----------
        size : int
            Of the query, 1 to 2**53.
        threshold : float, optional
            In (0, 1]; that of the ensemble by default.
        """
        return min((part.recall for part in self.plan(size, threshold=threshold)), default=1.0)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Any) -> bool:
        return self._entries.has(key)

    def __iter__(self) -> Iterator[Any]:
        """Go through the keys that are in the ensemble now."""
        return iter(self._entries.all_names())

    def __repr__(self) -> str:
        h = self.hasher
        return (
            f"LSHEnsemble({len(self)} entries, threshold={self.threshold}, num_perm={h.num_perm}, trees={self.trees}, "
            f"recall={self.recall}, scheme={h.scheme!r}, seed={h.seed})"
        )

    @property
    def nbytes(self) -> int:
        """Bytes of signatures, trees and keys; of keys that are not ints, an estimate without the keys themselves."""
        return self._entries.nbytes


def _check_slack(slack: float) -> float:
    """Return the slack as a float, or raise an error that names the range."""
    slack = check_number("slack", slack)
    if not 0 <= slack < np.inf:
        raise ValueError(f"slack must be at least 0 and finite, not {slack}")
    return slack


def _sizes(sizes: Any, dimensions: int, signatures: UInt64Array) -> Int64Array:
    """Return the sizes of the sets that these signatures are of, or say why they cannot be."""
    array = array_of(sizes, "sizes")
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"sizes must be ints, not {'None' if sizes is None else array.dtype}")
    if array.ndim != dimensions - 1:
        wanted = "one number, as there is one signature" if dimensions == 1 else "a number for each signature"
        raise ValueError(f"sizes must be {wanted}, not of shape {array.shape}")
    array = array.reshape(-1)
    if len(array) == 0:
        array = array.astype(np.int64)
    if len(array) != len(signatures):
        raise ValueError(f"there must be a size for each signature, not {len(array)} for {len(signatures)}")
    wrong = np.flatnonzero((array < 0) | (array > MOST_SIZE) | ((array == 0) != (signatures[:, 0] == EMPTY)))
    if len(wrong):
        at, size = int(wrong[0]), int(array[wrong[0]])
        if not 0 <= size <= MOST_SIZE:
            raise ValueError(f"sizes must be in 0..2**53, not sizes[{at}] = {size}")
        raise ValueError(f"sizes[{at}] is {size}, but its signature is {'not ' * (size == 0)}that of an empty set")
    return np.ascontiguousarray(array, np.int64)

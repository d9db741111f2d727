"""LSHForest: the most similar entries for each query, without a threshold, while entries come and go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map, thread_count
from lshfast.index.entries import SearchView, TreeEntries, as_batch, check_count, check_on_duplicate, check_recall
from lshfast.index.keys import as_column, is_batch, listed
from lshfast.index.matches import Match, Matches, best_first, best_of
from lshfast.index.search_plan import missed
from lshfast.index.stores.base import OnDuplicate
from lshfast.sketch.minhash import MinHasher, Scheme, check_signatures
from lshfast.tokens import AnyShape, Float64Array, Int64Array, Matrix, Seed, UInt64Array, Vector, check_number

# Queries, and matches that there must be room for, of one piece of work.
PIECE_QUERIES = 256
MOST_MATCHES = 1 << 20


class LSHForest:
    """Find the k entries most similar to a query, whatever their similarity, among those inserted and not removed.

    An entry is a key and a MinHash signature; its similarity to a query is the share of equal slots, an estimate of the
    Jaccard similarity whose standard error is at most sqrt(s (1 - s) / num_perm). A search looks into sorted trees over
    the slots (LSH Forest, Bawa, Condie and Ganesan 2005; ended as in PUFFINN, Aumueller, Christiani, Pagh and Vesterli
    2019): first for entries that share many slots in a row, then for those that share fewer, until the k-th best entry
    found so far is such that one more similar would have been found with probability `recall`.

    The promise: each of the k most similar entries is in the answer with probability at least `recall` over the choice
    of the hash functions, if its similarity is at least `reach`; what is less similar is found less often. It holds for
    the share of equal slots: two entries of about the same Jaccard similarity may change places by the error of the
    estimate, which more slots make smaller. Often nearly all are found, since a search that misses one has to go on
    until another entry makes up the k.

    Parameters
    ----------
    num_perm, scheme, seed : int, {"fast", "classic"}, int or "random"
        Of the signatures, as for `MinHasher`; others are refused.
    trees : int, optional
        In 1..num_perm; a quarter of num_perm by default, which gives each tree four slots. More trees reach entries of
        lower similarity and tell fewer of them apart; each takes some 14 bytes an entry.
    recall : float, default 0.9
        In (0, 1).
    on_duplicate : {"error", "replace", "skip"}, default "error"
        What becomes of a key that is in the forest already or comes twice in a batch: ValueError, and nothing of the
        batch is inserted; the last one counts; the first one counts.

    Notes
    -----
    Keys are any hashable objects but None. A list, range, array or column is a batch of keys, anything else is one key.
    An empty set's signature is stored and matches nothing.

    Any number of threads may query while one or several insert and remove, without further locks: queries run beside
    each other and hold no interpreter lock, a writer waits for those under way only to put its work in place, and a
    batch appears at once.

    Single entries wait, compared with every query, until there are 256 of them; then they are sorted, and merged with
    runs of sorted entries that are less than eight times as many. So a query looks into few runs, an insertion costs
    some microseconds in the mean, and now and then one takes as long as merging all entries: about 0.2 s for a million
    with 32 trees, during which queries go on. What removed entries take is given back as soon as they are a fifth.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.index.forest import LSHForest
    >>> sets = TokenSets.from_sets([range(0, 100), range(10, 110), range(50, 150), range(1000, 1100)])
    >>> signatures = MinHasher().sketch(sets)
    >>> forest = LSHForest()
    >>> forest.insert(["a", "b", "c", "d"], signatures)
    4
    >>> [(match.key, round(match.similarity, 1)) for match in forest.query(signatures[0], k=3)]
    [('a', 1.0), ('b', 0.8), ('c', 0.3)]
    >>> forest.remove("b")
    >>> [match.key for match in forest.query(signatures, k=2)[0]]
    ['a', 'c']
    """

    hasher: MinHasher
    trees: int
    recall: float

    def __init__(
        self,
        num_perm: int = 128,
        *,
        trees: int | None = None,
        recall: float = 0.9,
        scheme: Scheme = "fast",
        seed: Seed = 1,
        on_duplicate: OnDuplicate = "error",
    ) -> None:
        self.hasher = MinHasher(num_perm, scheme, seed)
        self.trees = max(num_perm // 4, 1) if trees is None else check_count("trees", trees, num_perm)
        self.recall = check_recall(recall)
        self.on_duplicate = check_on_duplicate(on_duplicate)
        self._entries = TreeEntries(self.hasher, self.trees, self.recall)

    @property
    def reach(self) -> float:
        """The least similarity for which the promise holds, which the last step of a search finds as often."""
        return int(np.count_nonzero(self._found() < self.recall)) / self.hasher.num_perm

    def expected_recall(self, similarity: float) -> float:
        """Return the least probability with which an entry of this similarity, one of the k best, is found.

        It is `recall` where the similarity is at least `reach`, and otherwise about 1 - (1 - s)**trees, that of sharing
        the first slot of some tree.

        Parameters
        ----------
        similarity : float
            In [0, 1].
        """
        similarity = check_number("similarity", similarity)
        if not 0 <= similarity <= 1:
            raise ValueError(f"similarity must be in [0, 1], not {similarity}")
        equal = int(similarity * self.hasher.num_perm + 1e-9)
        return min(float(self._found()[equal]), self.recall)

    def _found(self) -> Float64Array:
        """Return the probability that the last step of a search finds a row of 0, 1, ... equal slots."""
        return 1 - missed(self.hasher.num_perm, self.trees, [self.trees])

    def insert(self, keys: Any, signatures: npt.ArrayLike) -> int:
        """Insert one entry or a batch; all of a batch or, where an error is raised, nothing of it.

        Parameters
        ----------
        keys : hashable, or a batch of them
            A batch goes with signatures of two dimensions.
        signatures : ndarray of uint64, shape (num_perm,) or (n, num_perm)

        Returns
        -------
        int
            The number of entries that are new or replaced.

        Raises
        ------
        TypeError, ValueError
            If keys or signatures cannot be used, are not as many, or a key is a duplicate.
        """
        column, array = as_batch(keys, signatures, self.hasher)
        return self._entries.insert(column, array, np.ones(len(array), np.int64), self.on_duplicate)

    def remove(self, keys: Any) -> None:
        """Remove one entry or a batch.

        Raises
        ------
        KeyError
            With the first key that is not in the forest; then nothing was removed.
        """
        self._entries.remove(as_column(keys if is_batch(keys) else [keys]))

    @overload
    def query(self, signatures: AnyShape[np.uint64], k: int = 10, *, threads: int | None = None) -> Any: ...
    @overload
    def query(self, signatures: Vector[np.uint64], k: int = 10, *, threads: int | None = None) -> list[Match]: ...
    @overload
    def query(self, signatures: Matrix[np.uint64], k: int = 10, *, threads: int | None = None) -> Matches[Match]: ...
    @overload
    def query(self, signatures: npt.ArrayLike, k: int = 10, *, threads: int | None = None) -> Any: ...
    def query(
        self, signatures: npt.ArrayLike, k: int = 10, *, threads: int | None = None
    ) -> list[Match] | Matches[Match]:
        """Find the k most similar entries of one signature or of each of many.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (num_perm,) or (m, num_perm)
        k : int, default 10
            At least 1.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        list of Match, or Matches of m such lists
            (key, similarity), the most similar first, ties in the order of the keys; fewer than k where no more were
            found that share a slot with the query.
        """
        array = check_signatures(signatures, self.hasher)
        k, slots = check_count("k", k), self.hasher.num_perm
        if array.ndim == 1:
            with self._entries.gate.reading():
                view = self._entries.view()
                _, rows, agreements = view.snapshot.top(array.reshape(1, -1), k)
                keys = listed(self._entries.names(rows))
            return best_of(keys, agreements.tolist(), slots, None)
        with self._entries.gate.reading():
            offsets, rows, agreements = self._top(self._entries.view(), array, k, thread_count(threads))
            names = self._entries.names(rows)
        offsets, names, counts = best_first(offsets, names, agreements)
        assert counts is not None
        return Matches(offsets, names, counts / slots)

    def _top(
        self, view: SearchView, queries: UInt64Array, k: int, threads: int
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return (offsets, rows, agreements) of the best rows of many queries, in pieces."""
        piece = min(PIECE_QUERIES, max(MOST_MATCHES // min(k, len(self) + 1), 1))
        starts = range(0, max(len(queries), 1), piece)
        work = ordered_map(lambda at: view.snapshot.top(queries[at : at + piece], k), starts, threads)
        counts, rows, agreements = zip(*((np.diff(part[0]), *part[1:]) for part in work), strict=True)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)])
        return offsets, np.concatenate(rows), np.concatenate(agreements)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Any) -> bool:
        return self._entries.has(key)

    def __iter__(self) -> Iterator[Any]:
        """Go through the keys that are in the forest now."""
        return iter(self._entries.all_names())

    def __repr__(self) -> str:
        h = self.hasher
        return (
            f"LSHForest({len(self)} entries, num_perm={h.num_perm}, trees={self.trees}, recall={self.recall}, "
            f"scheme={h.scheme!r}, seed={h.seed})"
        )

    @property
    def nbytes(self) -> int:
        """Bytes of signatures, trees and keys; of keys that are not ints, an estimate without the keys themselves."""
        return self._entries.nbytes

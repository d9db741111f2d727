"""LSHForest: find the most similar entries for each query, without a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, check_int, check_most, check_number
from lshfast._common.display import counted
from lshfast._common.threads import thread_count
from lshfast._common.types import (
    AnyShape,
    Float64Array,
    Int64Array,
    Matrix,
    UInt64Array,
    Vector,
)
from lshfast.banding.bands import check_recall
from lshfast.index.apart import nearest_apart, similar_at_most
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
from lshfast.index.key_pairs import KeyPairs, pairs_once, pairs_with_others
from lshfast.index.keys import Column, listed
from lshfast.index.matches import (
    Match,
    Matches,
    best_first,
    best_of,
    in_pieces,
    joined_answers,
)
from lshfast.index.memory_index import MemoryIndex
from lshfast.index.search_plan import missed
from lshfast.index.stores.values import OnDuplicate, check_on_duplicate
from lshfast.kernels.trees import MOST_ROWS
from lshfast.sketch.minhash import MinHasher, Scheme, check_signatures

# The most queries in one piece of work, and the most matches that memory is allocated for.
PIECE_QUERIES = 256
MOST_MATCHES = 1 << 20


class LSHForest(MemoryIndex):
    """Find the k entries that are most similar to a query.

    An entry is a key and a MinHash signature. Its similarity to a query is the share of equal
    slots, an estimate of the Jaccard similarity with a standard error of at most sqrt(s (1 - s) /
    num_perm). The slots are divided into trees, which are sorted. A search first finds entries that
    share many consecutive slots with the query, then entries that share fewer. It ends when an
    entry more similar than the k-th best entry found so far would have been found with probability
    `recall`.

    Each of the k most similar entries is in the answer with probability at least `recall`, over the
    choice of the hash functions, if its similarity is at least `reach`. Less similar entries are
    found less often. This holds for the share of equal slots: the estimates of two entries with
    almost equal Jaccard similarities can have the opposite order. More slots make the error of the
    estimate smaller. In practice the recall is usually higher, since a search that misses an entry
    continues until it finds another one for the k-th position.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a signature, in 1..65,536.
    trees : int, optional
        Number of trees, in 1..num_perm. The default is num_perm / 4, rounded down, at least 1, so
        each tree has four slots. With more trees, entries with a lower similarity are found, but
        each tree has fewer slots, so more entries must be compared. A tree takes about 14 bytes per
        entry.
    recall : float, default 0.9
        Probability, in (0, 1).
    scheme : {"fast", "classic"}, default "fast"
        Scheme of the signatures (see `MinHasher`).
    seed : int or "random", default 1
        Seed of the signatures, in 0..2**64 - 1.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        The action of `insert` for a key that is in the forest, or twice in a batch. "error" raises
        ValueError
        and inserts nothing of the batch. "replace" stores the last signature. "skip" keeps the
        first one.

    Attributes
    ----------
    hasher : MinHasher
        The sketcher of the signatures; `insert` and `query` refuse signatures of another one.
    trees : int
    recall : float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures, in memory or in a file.
    lshfast.LSHEnsemble : Search by containment, for sets of different sizes.
    lshfast.NearNeighbors : An index of points.

    Notes
    -----
    A key is any hashable object except None and NaN. A list, range, array or column is a batch of
    keys; any other object is one key. Signatures of empty sets are stored, and match nothing.

    Any number of threads may query, insert and remove at the same time, without other locks.
    Queries run concurrently and release the GIL. A writer sorts and merges while queries run, and
    waits for them only to replace the old trees. Readers see a batch completely or not at all.

    Up to 256 new entries are stored unsorted, and compared with every query. Then they are sorted,
    and merged with runs of sorted entries that are less than eight times as long. So a query
    searches few runs. An insertion takes a few microseconds on average, but some insertions merge
    all entries. This takes about 0.2 s for a million entries with 32 trees; queries continue during
    the merge. The memory of removed entries is released when they are a fifth of all.

    References
    ----------
    M. Bawa, T. Condie, P. Ganesan, "LSH Forest: Self-Tuning Indexes for Similarity Search", WWW
    2005. The end of a search: M. Aumüller, T. Christiani, R. Pagh, M. Vesterli, "PUFFINN:
    Parameterless and Universally Fast Finding of Nearest Neighbors", ESA 2019.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.index.forest import LSHForest
    >>> sets = TokenSets.from_sets(
    ...     [range(0, 100), range(10, 110), range(50, 150), range(1000, 1100)]
    ... )
    >>> signatures = MinHasher().sketch(sets)
    >>> forest = LSHForest()
    >>> forest.insert(["a", "b", "c", "d"], signatures)
    4
    >>> [
    ...     (match.key, round(match.similarity, 1))
    ...     for match in forest.query(signatures[0], k=3)
    ... ]
    [('a', 1.0), ('b', 0.8), ('c', 0.3)]
    >>> forest.remove("b")
    >>> [match.key for match in forest.query(signatures, k=2)[0]]
    ['a', 'c']
    """

    hasher: MinHasher
    trees: int
    recall: float
    _entries: TreeEntries

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
        default_trees = max(num_perm // 4, 1)
        self.trees = (
            default_trees if trees is None else check_int("trees", trees, 1, num_perm)
        )
        self.recall = check_recall(recall)
        self.on_duplicate: OnDuplicate = check_on_duplicate(on_duplicate)
        self._entries = TreeEntries(self.hasher, self.trees, self.recall)

    @property
    def reach(self) -> float:
        """Least similarity, in [0, 1], that the last step of a search finds with `recall`."""
        return int(np.count_nonzero(self._found() < self.recall)) / self.hasher.num_perm

    def expected_recall(self, similarity: float) -> float:
        """Return a lower bound of the probability that one of the k most similar entries is found.

        It is `recall` if the similarity is at least `reach`. Otherwise it is about 1 - (1 -
        s)**trees, the probability that the first slot of at least one tree is equal.

        Parameters
        ----------
        similarity : float
            Similarity s of the entry to the query, in [0, 1].

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            If `similarity` is not a number, or out of range.

        Examples
        --------
        >>> from lshfast import LSHForest
        >>> LSHForest().expected_recall(0.5)
        0.9
        """
        similarity = check_number("similarity", similarity)
        if not 0 <= similarity <= 1:
            raise ValueError(f"similarity must be in [0, 1], not {similarity}")
        equal = int(similarity * self.hasher.num_perm + 1e-9)
        return min(float(self._found()[equal]), self.recall)

    def _found(self) -> Float64Array:
        """Return the probability that the last step finds a row with 0, 1, ... equal slots."""
        return 1 - missed(self.hasher.num_perm, self.trees, [self.trees])

    def insert(self, keys: Any, signatures: npt.ArrayLike) -> int:
        """Insert one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one signature; a batch for several.
        signatures : ndarray of uint64, shape (num_perm,) or (n, num_perm)

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If a key cannot be stored, or the signatures are not uint64.
        ValueError
            If the numbers of keys and signatures differ, a key is a duplicate and `on_duplicate` is
            "error", or a different sketcher made the signatures.

        Examples
        --------
        >>> from lshfast import LSHForest, MinHasher, TokenSets
        >>> LSHForest().insert(
        ...     ["a", "b"], MinHasher().sketch(TokenSets.from_sets([["red"], ["blue"]]))
        ... )
        2
        """
        column, array = as_batch(keys, signatures, self.hasher)
        return self._entries.insert(
            column, array, np.ones(len(array), np.int64), self.on_duplicate
        )

    @overload
    def query(
        self,
        signatures: AnyShape[np.uint64],
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def query(
        self,
        signatures: Vector[np.uint64],
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match]: ...
    @overload
    def query(
        self,
        signatures: Matrix[np.uint64],
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Matches[Match]: ...
    @overload
    def query(
        self,
        signatures: npt.ArrayLike,
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def query(
        self,
        signatures: npt.ArrayLike,
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match] | Matches[Match]:
        """Find the k most similar entries for one query, or for each of m queries.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (num_perm,) or (m, num_perm)
        k : int, default 10
            The most entries to return per query, at least 1.
        most : float, optional
            Return only entries with at most this estimated similarity, in [0, 1]: entries that are
            close, but no copies. `k` counts these only.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        list of Match, or Matches of m such lists
            (key, similarity), the most similar first, and equally similar ones in the order of
            their keys. There are fewer than k if the search finds no more entries with an equal
            slot.

        Raises
        ------
        TypeError
            If an argument has the wrong type.
        ValueError
            If an argument is out of range, or a different sketcher made the signatures.

        Examples
        --------
        >>> from lshfast import LSHForest, MinHasher, TokenSets
        >>> forest, signatures = (
        ...     LSHForest(),
        ...     MinHasher().sketch(TokenSets.from_sets([["red"], ["blue"]])),
        ... )
        >>> forest.insert(["a", "b"], signatures)
        2
        >>> forest.query(signatures[0], k=1)
        [Match(key='a', similarity=1.0)]
        """
        array = check_signatures(signatures, self.hasher)
        k = check_int("k", k, 1)
        slots = self.hasher.num_perm
        if array.ndim == 1 and most is None:
            with self._entries.gate.reading():
                view = self._entries.view()
                _, rows, agreements = view.snapshot.top(array.reshape(1, -1), k)
                keys = listed(self._entries.names(rows))
            return best_of(keys, agreements.tolist(), slots, None)
        is_apart = similar_at_most(check_most(most))
        thread_number = thread_count(threads)
        answers = nearest_apart(
            lambda queries, count: self._best(queries, count, thread_number),
            array.reshape(-1, slots),
            k,
            len(self),
            is_apart,
        )
        return answers[0] if array.ndim == 1 else answers

    def _best(self, signatures: UInt64Array, k: int, threads: int) -> Matches[Match]:
        """Return the k most similar entries of each of m queries."""
        with self._entries.gate.reading():
            view = self._entries.view()
            offsets, names, agreements = self._top(view, signatures, k, threads)
        offsets, names, counts = best_first(offsets, names, agreements)
        assert counts is not None
        return Matches(offsets, names, counts / self.hasher.num_perm)

    def _top(
        self, view: SearchView, queries: UInt64Array, k: int, threads: int
    ) -> tuple[Int64Array, Column, Int64Array]:
        """Return (offsets, keys, agreements) of the best entries of many queries, in pieces."""
        step = min(PIECE_QUERIES, max(MOST_MATCHES // min(k, len(self) + 1), 1))

        def search(part: UInt64Array) -> tuple[Int64Array, Column, Int64Array]:
            offsets, rows, agreements = view.snapshot.top(part, k)
            return offsets, self._entries.names(rows), agreements

        parts = in_pieces(search, queries, step, threads)
        return joined_answers(parts)

    def pairs(
        self, k: int = 10, *, most: float | None = None, threads: int | None = None
    ) -> KeyPairs:
        """Find the pairs of which one entry is among the k entries most similar to the other.

        Parameters
        ----------
        k, most, threads
            As for `query`.

        Returns
        -------
        KeyPairs
            Sorted by (left, right), with left < right. Keys that cannot be compared are in the
            order of iteration.

        Examples
        --------
        >>> from lshfast import LSHForest, MinHasher, TokenSets
        >>> sets = TokenSets.from_sets(
        ...     [range(0, 100), range(10, 110), range(1000, 1100)]
        ... )
        >>> forest = LSHForest()
        >>> forest.insert(["a", "b", "c"], MinHasher().sketch(sets))
        3
        >>> [
        ...     (left, right, round(similarity, 1))
        ...     for left, right, similarity in forest.pairs(k=1)
        ... ]
        [('a', 'b', 0.8)]
        """
        k = check_int("k", k, 1)
        batches = [
            pairs_with_others(
                keys, self.query(signatures, k + 1, most=most, threads=threads), k
            )
            for keys, (signatures,) in self._batches()
        ]
        return KeyPairs(*pairs_once(batches))

    def describe(self) -> str:
        """Return trees and recall as text.

        Examples
        --------
        >>> from lshfast import LSHForest
        >>> LSHForest().describe()
        '32 trees of 4 slots: an entry among the k most similar is found with probability 0.9 from
        similarity 0.062 on'
        """
        slots = counted(self.hasher.num_perm // self.trees, "slot")
        return (
            f"{counted(self.trees, 'tree')} of {slots}: an entry among the k most similar is "
            f"found with probability {self.recall} from similarity {self.reach:.3f} on"
        )

    def __repr__(self) -> str:
        hasher = self.hasher
        return (
            f"LSHForest({counted(len(self), 'entry', 'entries')}, num_perm={hasher.num_perm}, "
            f"trees={self.trees}, "
            f"recall={self.recall}, scheme={hasher.scheme!r}, seed={hasher.seed})"
        )

    # ---- files ----

    _file = EntryFile(
        b"LSHFFOR\0", TREE_FIELDS, "an LSHForest of lshfast", ("signatures",), MOST_ROWS
    )
    _widths = staticmethod(tree_widths)

    def _fields(self) -> Sequence[Any]:
        return tree_fields(self.hasher, self.trees, self.recall)

    @classmethod
    def _made(
        cls, fields: Sequence[Any], keys: Column, columns: list[UInt64Array]
    ) -> LSHForest:
        index = cls(**tree_arguments(fields))
        index.insert(keys, columns[0])
        return index

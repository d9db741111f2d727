"""LSHIndex: add and remove entries, and find those that are similar to a query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, TypeAlias, get_args, overload

import numpy as np
import numpy.typing as npt

from lshfast.banding.bands import Bands, check_threshold
from lshfast.common.checks import Seed, check_int, check_number
from lshfast.common.progress import Progress
from lshfast.common.threads import thread_count
from lshfast.common.types import AnyShape, Float64Array, Matrix, UInt64Array, Vector
from lshfast.index.keys import as_column, check_utf8, is_batch, kind_of, listed, take
from lshfast.index.matches import Match, Matches, best_first, best_of, in_order
from lshfast.index.stores.base import Column, OnDuplicate, Parameters, Store
from lshfast.index.stores.file import FileStore, Mode, save_store
from lshfast.index.stores.memory import MemoryStore
from lshfast.shingling import TextColumn, are_texts, shingle, shingles_of_texts
from lshfast.sketch.minhash import UINT64, MinHasher, Scheme, check_signatures, kind_of_values

# The types of one query, and of several queries.
Query: TypeAlias = str | bytes | Vector[np.uint64]
Queries: TypeAlias = TextColumn | Matrix[np.uint64]


@dataclass(frozen=True)
class IndexStats:
    """The figures of an `LSHIndex`.

    Attributes
    ----------
    entries : int
    bands, rows : int
        b and r of the banding.
    bucket_sizes : dict of int to int
        For each power of two p, the number of buckets, in all bands, with at least p and less than 2 p entries. It is
        empty if the store cannot count them. In a file that was changed since it was saved or compacted, the buckets
        of each segment are counted separately, and include removed and replaced entries; after `compact`, this figure
        and the next two are exact.
    largest_bucket : int
        Entries in the largest bucket.
    expected_candidates : float
        Mean number of other entries in the buckets of an entry; an entry in several of these buckets counts several
        times. It is the sum of the squares of the bucket sizes, divided by `entries`, minus `bands`.
    nbytes : int
        Memory or disk space of the index, in bytes.
    store : dict of str to int
        Figures of the store. Their names say what they are; sizes are in bytes.
    """

    entries: int
    bands: int
    rows: int
    bucket_sizes: dict[int, int]
    largest_bucket: int
    expected_candidates: float
    nbytes: int
    store: dict[str, int]


@dataclass(frozen=True)
class KeyPairs:
    """Pairs of keys and their similarities, as columns; iteration yields tuples (left, right, similarity).

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,), or list
    similarity : ndarray of float64, shape (n,)
        Estimated similarities, in [0, 1].
    """

    left: Column
    right: Column
    similarity: Float64Array

    def __len__(self) -> int:
        return len(self.similarity)

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        return zip(listed(self.left), listed(self.right), self.similarity.tolist(), strict=True)


class LSHIndex:
    """Index signatures, and find the entries that are similar to a query.

    An entry is a key and a MinHash signature. The candidates of a query are the entries whose signatures equal it in
    all slots of at least one band. Their similarity is the share of equal slots, an estimate of the Jaccard similarity
    with a standard error of at most sqrt(s (1 - s) / num_perm). An entry whose similarity equals the threshold becomes
    a candidate with probability at least `recall`. Signatures of empty sets are stored, and match nothing.

    Parameters
    ----------
    threshold : float, default 0.8
        Similarity, in (0, 1], for which bands and rows are chosen.
    num_perm : int, default 128
        Slots of a signature, in 1..65,536.
    recall : float, default 0.95
        Probability, in (0, 1), by which bands and rows are chosen (see `choose_bands`).
    bands, rows : int, optional
        Numbers of bands, and of rows per band, instead of `recall`. bands * rows must be at most `num_perm`.
    scheme : {"fast", "classic"}, default "fast"
        Scheme of the signatures (see `MinHasher`).
    seed : int or "random", default 1
        Seed of the signatures, in 0..2**64 - 1. A random seed is stored with the entries: `open` and `on` read it, and
        ``index.hasher`` makes signatures with it.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        What `insert` does if a key is in the index, or twice in a batch. "error" raises ValueError and inserts nothing
        of the batch. "replace" stores the last signature. "skip" keeps the first one.
    store : Store, optional
        The store of the entries, such as `LmdbStore` or `RedisStore`. The default is memory.
    shingles : str, default ""
        Name of the shingles, at most 16 ASCII characters. "word:5" stands for ``shingle(texts, "word", 5, seed=seed)``,
        "char:9" for 9 characters. The name is stored with the index, and must be equal if two indexes, or an index
        and a run, are used together. If it has this form, `insert` and `query` accept texts, and the command line
        accepts the index.

    Attributes
    ----------
    hasher : MinHasher
        The sketcher of the signatures; `insert` and `query` refuse those of a different sketcher.
    bands : Bands

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `store` contains entries with different parameters.

    Notes
    -----
    A key is any hashable object except None and NaN. Objects that are equal in Python, such as 1, True and 1.0, are the
    same key, as in a dict. Ints of 64 bits and strs are stored without Python objects. An index in a file needs keys
    that are all ints or all strs. A list, range, array or column is a batch of keys; any other object is one key.

    Any number of threads may query, insert and remove at the same time, without other locks. Queries run concurrently
    and release the GIL. A writer waits for running queries. Readers see a batch completely or not at all, and an
    interrupt (Ctrl-C) leaves it complete or undone. When a table grows, the writer pauses for about 5 ns per entry, to
    copy the table of one band. All candidates of a batch of queries are in memory at the same time, so divide millions
    of queries into several batches.

    Iteration, `pairs` and `merge` can run while other threads write. Entries present throughout are reported once;
    concurrent changes may or may not be seen. `save`, `commit` and `compact` write one state, except `save` from a
    Redis server. In memory and in a file, writers, and sometimes queries, wait until they end. During `close`, a query
    either returns its answer or raises ValueError. An insertion or removal that has returned is in the file.

    In memory, an entry needs 8 * num_perm bytes for its signature, about 12 bytes for each band, and about 12 bytes for
    its key.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate nearest neighbors: towards removing the curse of dimensionality", STOC 1998;
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", chapter 3.

    Examples
    --------
    >>> from lshfast import LSHIndex, MinHasher, TokenSets
    >>> sets = TokenSets.from_sets([range(0, 100), range(5, 100), range(1000, 1100)])
    >>> signatures = MinHasher().sketch(sets)
    >>> index = LSHIndex(threshold=0.7)
    >>> index.insert(["a", "b", "c"], signatures)
    3
    >>> index.query(signatures[0])
    ['a', 'b']
    >>> [(match.key, round(match.similarity, 1)) for match in index.query(signatures[0], k=2)]
    [('a', 1.0), ('b', 0.9)]
    >>> index.remove("b")
    >>> index.query(signatures)[1]
    ['a']
    """

    hasher: MinHasher
    bands: Bands

    def __init__(
        self,
        threshold: float = 0.8,
        num_perm: int = 128,
        *,
        recall: float = 0.95,
        bands: int | None = None,
        rows: int | None = None,
        scheme: Scheme = "fast",
        seed: Seed = 1,
        on_duplicate: OnDuplicate = "error",
        store: Store | None = None,
        shingles: str = "",
    ) -> None:
        hasher = MinHasher(num_perm, scheme, seed)
        choice = Bands.choose(threshold, num_perm, recall=recall, bands=bands, rows=rows)
        store = MemoryStore() if store is None else check_store(store)
        threshold = check_threshold(threshold)
        store.bind(Parameters(num_perm, choice.bands, choice.rows, scheme, hasher.seed, threshold, shingles))
        self._use_store(store, on_duplicate)

    def _use_store(self, store: Store, on_duplicate: OnDuplicate) -> None:
        if on_duplicate not in get_args(OnDuplicate):
            raise ValueError(f"on_duplicate must be one of {', '.join(get_args(OnDuplicate))}, not {on_duplicate!r}")
        parameters = check_store(store).parameters
        if parameters is None:
            raise ValueError("the store has no parameters: pass it to LSHIndex(..., store=store) first")
        self.store = store
        self.parameters = parameters
        self.hasher = MinHasher(parameters.num_perm, parameters.scheme, parameters.seed)  # type: ignore[arg-type]
        self.bands = Bands(parameters.bands, parameters.rows)
        self.on_duplicate = on_duplicate

    @classmethod
    def on(cls, store: Store, *, on_duplicate: OnDuplicate = "error") -> LSHIndex:
        """Open an index on the entries and parameters of a store.

        Parameters
        ----------
        store : Store
        on_duplicate : {"error", "replace", "skip"}, default "error"

        Returns
        -------
        LSHIndex

        Raises
        ------
        TypeError
            If `store` is not a Store.
        ValueError
            If `store` has no parameters yet.

        Examples
        --------
        >>> from lshfast import LSHIndex, MinHasher, TokenSets
        >>> index = LSHIndex(0.9)
        >>> index.insert("a", MinHasher().sketch(TokenSets.from_sets([["x"]]))[0])
        1
        >>> list(LSHIndex.on(index.store))
        ['a']
        """
        index = cls.__new__(cls)
        index._use_store(store, on_duplicate)
        return index

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Mode = "r",
        *,
        on_duplicate: OnDuplicate = "error",
        verify: bool | None = None,
    ) -> LSHIndex:
        """Open a saved index; the file is mapped, so the first query takes milliseconds for files of any size.

        Parameters
        ----------
        path : path
        mode : {"r", "r+", "c"}, default "r"
            "r" only reads. "r+" also inserts and removes; `commit` and `close` write the changes to the file. Only one
            process can open a file with "r+" at a time; readers continue to see the state that they opened. "c" inserts
            and removes in memory only; `save` writes the index to another file.
        on_duplicate : {"error", "replace", "skip"}, default "error"
        verify : bool, optional
            True checks everything that the method `verify` checks, except that one of the two headers may be damaged,
            as after a power failure. This reads the whole file and computes the bands of each row again, to compare
            them with the tables. It takes 6 to 10 times as long as checking the checksums, about 3 s for a million
            entries of 128 slots. Use it for files from sources that you do not trust. False checks only the directory,
            and each reference when it is used; the time does not depend on the size of the file. The default also
            checks the checksums of all sections in files of at most 64 MB.

        Returns
        -------
        LSHIndex

        Raises
        ------
        OSError
            If the file cannot be opened, or is open for writing elsewhere.
        FormatError
            If the file is not an index, has another version, or is damaged; the error names the section.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a"], ["the cat sat on the mat"])
        1
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     index.save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh")) as saved:
        ...         saved.query("the cat sat on the mat")
        ['a']
        """
        store = FileStore(path, mode, verify=verify)
        try:
            return cls.on(store, on_duplicate=on_duplicate)
        except BaseException:
            store.abandon()
            raise

    # ---- writing ----

    def insert(self, keys: Any, signatures: npt.ArrayLike | TextColumn, *, copy: bool = True) -> int:
        """Insert one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one signature or text; a batch for several.
        signatures : ndarray of uint64, shape (num_perm,) or (n, num_perm); or str, bytes, or a column of n texts
            Texts need an index that names their shingles, such as ``LSHIndex(shingles="word:5")``.
        copy : bool, default True
            With False, the index may use the memory of the array instead of a copy; the array becomes read-only. While
            the index exists, do not write to arrays that share this memory. Filling an index in memory then needs half
            the time and memory.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If a key cannot be stored, the signatures are not uint64, or texts are given and the index does not name
            its shingles.
        DuplicateKeyError
            If a key is a duplicate and `on_duplicate` is "error"; the error names the first one.
        ValueError
            If the numbers of keys and signatures differ, a different sketcher made the signatures, or a text is not
            valid.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a", "b"], ["the cat sat on the mat", "a dog is not a cat"])
        2
        >>> index.insert("c", "a cat is not a dog")
        1
        """
        array = self._signatures_of(signatures, None)
        if array.ndim == 1:
            return self.store.insert_one(keys, array, self.on_duplicate)
        column = as_column(keys)
        if len(column) != len(array):
            raise ValueError(f"there must be a key for each signature, not {len(column)} for {len(array)}")
        if copy or not isinstance(signatures, np.ndarray) or not signatures.flags.writeable:
            return self.store.insert(column, array, self.on_duplicate, copy=copy)
        signatures.flags.writeable = False
        try:
            return self.store.insert(column, array, self.on_duplicate, copy=False)
        except Exception:  # not KeyboardInterrupt, since the index may use the array when it is raised
            signatures.flags.writeable = True
            raise

    def remove(self, keys: Any) -> None:
        """Remove one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of hashable objects

        Raises
        ------
        KeyError
            With the first key that is not in the index.
        TypeError
            If an object cannot be a key.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a", "b"], ["the cat sat on the mat", "a dog is not a cat"])
        2
        >>> index.remove("a")
        >>> list(index)
        ['b']
        """
        if is_batch(keys):
            self.store.remove(as_column(keys))
        else:
            self.store.remove_one(keys)

    def merge(self, other: LSHIndex) -> int:
        """Insert all entries of another index.

        Merging an index into itself is an error if `on_duplicate` is "error", and otherwise changes nothing.

        Parameters
        ----------
        other : LSHIndex
            An index with the same parameters except the threshold.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If `other` is not an LSHIndex, or this index cannot store its keys.
        ValueError
            If a parameter differs, or both indexes contain the same key and `on_duplicate` is "error". Nothing is
            inserted then, unless another thread or process inserts such a key during the merge.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> monday, tuesday = LSHIndex(shingles="word:2"), LSHIndex(shingles="word:2")
        >>> monday.insert("a", "the cat sat on the mat") + tuesday.insert("b", "a dog is not a cat")
        2
        >>> monday.merge(tuesday)
        1
        """
        if not isinstance(other, LSHIndex):
            raise TypeError(f"other must be an LSHIndex, not {type(other).__name__}")
        self.parameters.check_same(other.parameters)
        kinds, named = set(), self.store.kind in (None, "str")
        for keys in other.store.all_keys():
            known = np.flatnonzero(self.store.contains(keys))  # it raises an error for keys that cannot be stored
            if len(known) and self.on_duplicate == "error":
                raise ValueError(f"{listed(take(keys, known[:1]))[0]!r} is in both indexes")
            kinds.add(kind_of(keys))
            if named:
                check_utf8(keys)
        if kinds:
            self.store.check_kind(kinds.pop() if len(kinds) == 1 else "object")
        if other.store is self.store:
            return len(self) if self.on_duplicate == "replace" else 0
        return sum(self.store.insert(keys, signatures, self.on_duplicate) for keys, signatures in other.store.items())

    def _signatures_of(self, given: Any, threads: int | None) -> UInt64Array:
        """Return signatures as they are, and the signatures of texts."""
        if (type(given) is np.ndarray and given.dtype is UINT64) or not are_texts(given):  # one query takes 1 us
            return check_signatures(given, self.hasher)
        shingles = shingles_of_texts(self.parameters.shingles)
        if shingles is None and kind_of_values(given) != "texts":
            return check_signatures(given, self.hasher)
        if shingles is None:
            named = f"shingles {self.parameters.shingles!r}" if self.parameters.shingles else "unknown shingles"
            raise TypeError(
                f"signatures must be uint64, not texts: this index has {named}; "
                "one created with shingles='word:5' accepts texts"
            )
        one = isinstance(given, (str, bytes))
        sets = shingle([given] if one else given, *shingles, seed=self.hasher.seed, threads=threads)
        signatures = self.hasher.sketch(sets, threads=threads)
        return signatures[0] if one else signatures

    # ---- reading ----

    @overload
    def query(
        self, signatures: AnyShape[np.uint64], *, k: int | None = None, threshold: float | None = None,
        threads: int | None = None,
    ) -> Any: ...  # fmt: skip
    @overload
    def query(  # type: ignore[overload-overlap] # a str is a sequence of str, too
        self, signatures: Query, *, k: None = None, threshold: None = None, threads: int | None = None
    ) -> list[Any]: ...
    @overload
    def query(  # type: ignore[overload-overlap]
        self, signatures: Query, *, k: int, threshold: float | None = None, threads: int | None = None
    ) -> list[Match]: ...
    @overload
    def query(  # type: ignore[overload-overlap]
        self, signatures: Query, *, k: int | None = None, threshold: float, threads: int | None = None
    ) -> list[Match]: ...
    @overload
    def query(
        self, signatures: Queries, *, k: None = None, threshold: None = None, threads: int | None = None
    ) -> Matches[Any]: ...
    @overload
    def query(
        self, signatures: Queries, *, k: int, threshold: float | None = None, threads: int | None = None
    ) -> Matches[Match]: ...
    @overload
    def query(
        self, signatures: Queries, *, k: int | None = None, threshold: float, threads: int | None = None
    ) -> Matches[Match]: ...
    @overload
    def query(
        self, signatures: npt.ArrayLike, *, k: int | None = None, threshold: float | None = None,
        threads: int | None = None,
    ) -> Any: ...  # fmt: skip
    def query(
        self,
        signatures: npt.ArrayLike | TextColumn,
        *,
        k: int | None = None,
        threshold: float | None = None,
        threads: int | None = None,
    ) -> list[Any] | Matches[Any]:
        """Find the candidates of one query, or of each of m queries.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (num_perm,) or (m, num_perm); or str, bytes, or a column of m texts
            The queries. Texts need an index that names their shingles, such as ``LSHIndex(shingles="word:5")``.
        k : int, optional
            Return only the k most similar candidates; at least 1.
        threshold : float, optional
            Return only candidates with at least this estimated similarity, in [0, 1].
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.

        Returns
        -------
        list, or Matches of m such lists
            Without `k` and `threshold`, the keys in ascending order. Otherwise `Match` (key, similarity), the most
            similar first, and equally similar ones in the order of their keys. The order of keys that cannot be
            compared is not specified.

        Raises
        ------
        TypeError
            If an argument has the wrong type, or texts are given and the index does not name its shingles.
        ValueError
            If an argument is out of range, a different sketcher made the signatures, or a text is not valid.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(threshold=0.5, shingles="word:2")
        >>> index.insert(["a", "b"], ["the cat sat on the mat", "a dog is not a cat"])
        2
        >>> index.query("The cat sat on the mat!", k=1)
        [Match(key='a', similarity=1.0)]
        >>> list(index.query(["a dog is not a cat", "something else"], threshold=0.5))
        [[Match(key='b', similarity=1.0)], []]
        """
        array = self._signatures_of(signatures, threads)
        if k is None and threshold is None and threads is None and array.ndim == 1:
            return in_order(self.store.query_one(array, None)[0])
        if k is not None:
            check_int("k", k, 1)
        least = None if k is None else 0
        if threshold is not None:
            least = self._least(threshold)
        threads = thread_count(threads)
        if array.ndim == 1:
            if least is None:
                return in_order(self.store.query_one(array, None)[0])
            names, counts = self.store.query_one(array, least)
            return best_of(names, counts or [], self.parameters.num_perm, k)
        found = self.store.query(array, least=least, threads=threads)
        offsets, keys, agreements = best_first(found.offsets, found.keys, found.agreements, k)
        return Matches(offsets, keys, None if agreements is None else agreements / self.parameters.num_perm)

    def _least(self, threshold: float) -> int:
        """Return the least number of equal slots whose share of all slots is at least the threshold."""
        threshold = check_number("threshold", threshold)
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be in [0, 1], not {threshold}")
        slots = self.parameters.num_perm
        least = ceil(threshold * slots)
        while least and (least - 1) / slots >= threshold:
            least -= 1
        return least + (least / slots < threshold)

    def pairs(self, threshold: float | None = None, *, threads: int | None = None) -> KeyPairs:
        """Find all pairs of entries that are candidates of each other and similar.

        Parameters
        ----------
        threshold : float, optional
            Least estimated similarity, in [0, 1]. The default is the threshold of the index.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.

        Returns
        -------
        KeyPairs
            Sorted by (left, right), with left < right. Keys that cannot be compared are in the order of iteration.

        Raises
        ------
        TypeError
            If an argument has the wrong type.
        ValueError
            If an argument is out of range.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a", "b", "c"], ["one two three", "One, two, three!", "four five six"])
        3
        >>> list(index.pairs())
        [('a', 'b', 1.0)]
        """
        wanted = self.parameters.threshold if threshold is None else threshold
        least, threads = self._least(0.0 if wanted is None else wanted), thread_count(threads)
        held = cache(lambda: _Places(self))
        parts: list[tuple[list[Any], list[Any], list[float]]] = []
        for keys, signatures in self.store.items():
            found = self.store.query(signatures, least=least, threads=threads)
            assert found.agreements is not None
            query = np.repeat(np.arange(len(keys), dtype=np.int64), np.diff(found.offsets))
            if isinstance(keys, np.ndarray) and isinstance(found.keys, np.ndarray):
                stay = np.flatnonzero(keys[query] < found.keys)
            else:
                left, right = listed(take(keys, query)), listed(found.keys)
                stay = np.flatnonzero([_before(a, b, held) for a, b in zip(left, right, strict=True)])
            similarity = (found.agreements[stay] / self.parameters.num_perm).tolist()
            parts.append((listed(take(keys, query[stay])), listed(take(found.keys, stay)), similarity))
        joined = [pair for part in parts for pair in zip(*part, strict=True)]
        try:
            joined.sort(key=lambda pair: pair[:2])
        except TypeError:
            joined.sort(key=lambda pair: (held()[pair[0]], held()[pair[1]]))
        return KeyPairs(
            as_column([pair[0] for pair in joined]),
            as_column([pair[1] for pair in joined]),
            np.array([pair[2] for pair in joined], np.float64),
        )

    def __len__(self) -> int:
        return len(self.store)

    def __contains__(self, key: Any) -> bool:
        return self.store.contains_one(key)

    def __iter__(self) -> Iterator[Any]:
        for keys in self.store.all_keys():
            yield from listed(keys)

    def __repr__(self) -> str:
        p = self.parameters
        try:
            size = f"{len(self)} entries"
        except (OSError, ValueError):
            size = "closed"
        return (
            f"LSHIndex({size}, {p.bands} bands of {p.rows} rows, num_perm={p.num_perm}, "
            f"scheme={p.scheme!r}, seed={p.seed})"
        )

    def stats(self) -> IndexStats:
        """Return the figures of the index, such as bucket sizes, memory and expected candidates.

        Returns
        -------
        IndexStats

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a", "b"], ["one two three", "four five six"])
        2
        >>> index.stats().entries
        2
        """
        figures, entries = self.store.stats(), len(self)
        sizes, largest, squares = self.store.bucket_sizes()
        return IndexStats(
            entries=entries,
            bands=self.bands.bands,
            rows=self.bands.rows,
            bucket_sizes={1 << i: int(count) for i, count in enumerate(sizes) if count},
            largest_bucket=largest,
            expected_candidates=max(0.0, squares / entries - self.bands.bands) if entries else 0.0,
            nbytes=sum(size for name, size in figures.items() if name.endswith("bytes")),
            store=figures,
        )

    # ---- files ----

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: Progress | None = None) -> None:
        """Write the index to a file; the file appears when it is complete.

        If the file exists and is an index, or is empty, it is replaced when the new file is complete. The new file has
        the same permissions. A symbolic link is followed. Processes that have the old file open continue to see the
        old state; on Windows, an open file cannot be replaced.

        Parameters
        ----------
        path : path
        overwrite : bool, default False
            Replace also a file that is not an index.
        progress : callable, optional
            Called from time to time with ("save", bytes done, bytes in total).

        Raises
        ------
        TypeError
            If the keys are neither all ints of 64 bits nor all strs.
        FileExistsError
            If the file exists and is not an index, and `overwrite` is false.
        OSError
            If `path` is a folder, device or pipe, or the file cannot be written or is open for writing elsewhere. The
            old file is unchanged, with one exception: if only the last step fails, which syncs the folder, the new file
            is in place.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex().save(os.path.join(folder, "index.lsh"))
        ...     os.listdir(folder)
        ['index.lsh']
        """
        save_store(path, self.parameters, self.store, overwrite=overwrite, progress=progress)

    def commit(self, *, progress: Progress | None = None) -> None:
        """Write the changes since the last commit to the file of the index; other stores need no commit.

        Parameters
        ----------
        progress : callable, optional
            As for `save`.

        Raises
        ------
        OSError
            If the file cannot be written. The index keeps the changes. The file is in its old state; if only the last
            step fails, which syncs a header, it is in the new state.
        ValueError
            If the index is closed, or its file is not open with mode "r+".

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex(shingles="word:2").save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh"), "r+") as index:
        ...         index.insert("a", "the cat sat on the mat")
        ...         index.commit()
        1
        """
        self.store.commit(progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Rewrite the file of the index, or its LMDB environment, without removed and replaced entries.

        Parameters
        ----------
        progress : callable, optional
            As for `save`.

        Raises
        ------
        OSError
            If the file cannot be written; the index is unchanged. If only the last step fails, which syncs the folder,
            the new file is in place. If the new file cannot be opened, it is in place and complete, and the index is
            closed.
        ValueError
            If the index is closed, or its file is not open with mode "r+".

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex(shingles="word:2").save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh"), "r+") as index:
        ...         index.insert(["a", "b"], ["the cat sat on the mat", "a dog is not a cat"])
        ...         index.remove("a")
        ...         index.compact()
        ...         index.stats().store["segments"]
        2
        1
        """
        self.store.compact(progress)

    def verify(self) -> None:
        """Check the whole file or store: all checksums, and that tables and entries agree.

        Raises
        ------
        FormatError
            If something is damaged; the error names the section.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex().save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh")) as index:
        ...         index.verify()
        """
        self.store.verify()

    def close(self) -> None:
        """Commit, and close files and connections; afterwards, queries and changes raise ValueError.

        Use the index in a with statement to close it at the end of the block. If the block raises an exception, the
        index is closed without a commit.

        Raises
        ------
        OSError
            If the commit fails, as for `commit`. The index stays open and keeps the changes.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex()
        >>> index.close()
        >>> len(index)
        Traceback (most recent call last):
        ...
        ValueError: the index is closed
        """
        self.store.close()

    def __enter__(self) -> LSHIndex:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self.close()
        else:
            self.store.abandon()


def check_store(store: Store) -> Store:
    """Return the store, or raise TypeError if it is not a Store."""
    if not isinstance(store, Store):
        raise TypeError(f"store must be a Store, such as LmdbStore or RedisStore, not {store!r}")
    return store


class _Places(dict[Any, int]):
    """The position of each key in the order of iteration; keys that are not in it are numbered when looked up."""

    def __init__(self, keys: Iterable[Any]) -> None:
        super().__init__((key, place) for place, key in enumerate(keys))

    def __missing__(self, key: Any) -> int:
        return self.setdefault(key, len(self))


def _before(a: Any, b: Any, held: Callable[[], dict[Any, int]]) -> bool:
    """Return whether a comes before b: by comparison, or by position if the keys cannot be compared."""
    with suppress(TypeError):
        if a < b or b < a:
            return bool(a < b)
    return held()[a] < held()[b]

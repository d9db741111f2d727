"""LSHIndex: entries that come and go, and the similar ones among them for each query."""

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
from lshfast.common.progress import Progress
from lshfast.common.threads import thread_count
from lshfast.index.keys import as_column, check_utf8, is_batch, kind_of, listed, take
from lshfast.index.matches import Match, Matches, best_first, best_of, in_order
from lshfast.index.stores.base import Column, OnDuplicate, Parameters, Store
from lshfast.index.stores.file import FileStore, Mode, save_store
from lshfast.index.stores.memory import MemoryStore
from lshfast.shingling import TextColumn, are_texts, shingle, shingles_of_texts
from lshfast.sketch.minhash import UINT64, MinHasher, Scheme, check_signatures, kind_of_values
from lshfast.tokens import AnyShape, Float64Array, Matrix, Seed, UInt64Array, Vector, check_number

# Entries of an index that are looked up in it at once by `pairs`.
BATCH = 1 << 16

# One query, and several.
Query: TypeAlias = str | bytes | Vector[np.uint64]
Queries: TypeAlias = TextColumn | Matrix[np.uint64]


@dataclass(frozen=True)
class IndexStats:
    """The figures of an index.

    Attributes
    ----------
    entries : int
    bands, rows : int
    bucket_sizes : dict of int to int
        How many buckets of all bands hold so many entries or more, but less than twice as many, by powers of two. Empty
        where the store cannot tell. In a file that was changed since it was saved or compacted, the buckets of each of
        its parts by themselves, with what was removed or replaced; `compact` makes this and the next two exact.
    largest_bucket : int
        The entries of the largest of these buckets.
    expected_candidates : float
        Other entries that a query like those held meets, one that it meets in several bands counted in each: the sum of
        the squares of these buckets over `entries`, less `bands`.
    nbytes : int
        Memory or disk space of all.
    store : dict of str to int
        The store's own figures, in bytes or as their names say.
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
    """Pairs of keys and their similarity, as columns; going through it gives (left, right, similarity)."""

    left: Column
    right: Column
    similarity: Float64Array

    def __len__(self) -> int:
        return len(self.similarity)

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        return zip(listed(self.left), listed(self.right), self.similarity.tolist(), strict=True)


class LSHIndex:
    """Find the entries similar to a query among all that were inserted and not removed.

    An entry is a key and a MinHash signature. A query's candidates are the entries that equal it in all slots of some
    band; their similarity is the share of equal slots, an estimate of the Jaccard similarity whose standard error is at
    most sqrt(s (1 - s) / num_perm). The bands are chosen so that an entry exactly at the threshold becomes a candidate
    with probability at least `recall`. An empty set's signature is stored and matches nothing.

    Parameters
    ----------
    threshold : float, default 0.8
        In (0, 1].
    num_perm, scheme, seed : int, {"fast", "classic"}, int or "random"
        Of the signatures, as for `MinHasher`; others are refused. A random seed is kept with the entries: `open` and
        `on` need none, and ``index.hasher`` makes signatures with it.
    recall : float, default 0.95
        In (0, 1), see `choose_bands`.
    bands, rows : int, optional
        Bands and slots a band instead; at most num_perm slots together.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        What becomes of a key that is in the index already or comes twice in a batch: ValueError, and nothing of the
        batch is inserted; the last one counts; the first one counts.
    store : Store, optional
        Where the entries are kept: in memory by default; `LmdbStore`, `RedisStore`.
    shingles : str, default ""
        What the signatures are of: "word:5" for ``shingle(texts, "word", 5, seed=seed)``, "char:9", or another name of
        up to 16 ASCII characters. It is kept with the index, and one of another name is refused where two come
        together. An index that says "word:5" or the like takes texts in `insert` and `query`, and serves the command
        line.

    Notes
    -----
    Keys are any hashable objects but None and NaN; those that are equal in Python (1, True and 1.0, say) are one key,
    as in a dict. Ints of 64 bits and strs are kept without a Python object each; an index of a file takes all ints or
    all strs. A list, range, array or column is a batch of keys, anything else is one key.

    Any number of threads may query while one or several insert and remove, without further locks: queries run beside
    each other and hold no interpreter lock, a writer waits for those under way, and a batch appears at once. If a batch
    is interrupted (Ctrl-C), it is done whole or not at all. Growing pauses a writer for the time of copying one band's
    table, some 5 ns an entry held. One batch of candidates is held in memory as a whole: ask for millions of queries in
    pieces.

    Iteration, `pairs` and `merge` run beside writers: entries present throughout are reported once, and concurrent
    changes may or may not be seen. `save`, `commit` and `compact` write one state, but for `save` from a Redis
    server; in memory and in a file, writers wait for their end, and so may queries. Beside `close`, a query answers as
    before or raises ValueError, and an insertion or removal is in the file if it returned.

    In memory an entry takes 8 x num_perm bytes for its signature and about 12 for each band and for its key.

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
        self._lie_on(store, on_duplicate)

    def _lie_on(self, store: Store, on_duplicate: OnDuplicate) -> None:
        if on_duplicate not in get_args(OnDuplicate):
            raise ValueError(f"on_duplicate must be one of {', '.join(get_args(OnDuplicate))}, not {on_duplicate!r}")
        parameters = check_store(store).parameters
        if parameters is None:
            raise ValueError("the store is empty: give it to LSHIndex(..., store=store) first")
        self.store = store
        self.parameters = parameters
        self.hasher = MinHasher(parameters.num_perm, parameters.scheme, parameters.seed)  # type: ignore[arg-type]
        self.bands = Bands(parameters.bands, parameters.rows)
        self.on_duplicate = on_duplicate

    @classmethod
    def on(cls, store: Store, *, on_duplicate: OnDuplicate = "error") -> LSHIndex:
        """Return an index over what a store holds already, with the parameters that it was made with."""
        index = cls.__new__(cls)
        index._lie_on(store, on_duplicate)
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
        """Open an index that was saved; the file is mapped, so that the first answer takes milliseconds at any size.

        Parameters
        ----------
        path : path
        mode : {"r", "r+", "c"}, default "r"
            "r": read only. "r+": also insert and remove; `commit` and `close` write the changes to the file. A file is
            open with "r+" once at a time; readers go on seeing what they opened. "c": insert and remove in memory only;
            `save` writes the index to another file.
        on_duplicate : {"error", "replace", "skip"}
        verify : bool, optional
            True: check all that `verify` checks first, but accept a file if one of its two headers is damaged, as after
            a power failure. The whole file is read and the bands of each row are computed again, to compare them with
            the tables: this takes 6 to 10 times as long as checking the checksums, about 3 s for a million entries of
            128 slots. Use it for files from others. False: check the directory only, and each reference whenever it is
            followed; the time does not depend on the size of the file. By default the checksums of all sections are
            checked, too, in files of up to 64 MB.

        Raises
        ------
        OSError
            If the file cannot be opened, or is open for writing elsewhere.
        FormatError
            If it is no index, of another version, or damaged; the error names the section.
        """
        store = FileStore(path, mode, verify=verify)
        try:
            return cls.on(store, on_duplicate=on_duplicate)
        except BaseException:
            store.abandon()
            raise

    # ---- writing ----

    def insert(self, keys: Any, signatures: npt.ArrayLike | TextColumn, *, copy: bool = True) -> int:
        """Insert one entry or a batch; all of a batch or, where an error is raised, nothing of it.

        Parameters
        ----------
        keys : hashable, or a batch of them
            A batch goes with signatures of two dimensions, or a column of texts.
        signatures : ndarray of uint64, shape (num_perm,) or (n, num_perm); or str, bytes, or a column of n texts
            Texts are shingled and sketched as the index says (``LSHIndex(shingles="word:5")``).
        copy : bool, default True
            False: keep the array itself where that saves copying it, and make it read-only. Nothing that shares its
            memory may be written to as long as the index lives; an index in memory then takes half the time and memory
            to fill.

        Returns
        -------
        int
            The number of entries that are new or replaced.

        Raises
        ------
        TypeError, ValueError
            If keys or signatures cannot be used, are not as many, or a key is a duplicate; if texts are given, and the
            index does not say of which shingles it is.
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
        except Exception:  # not KeyboardInterrupt, which may come when the array is in the index already
            signatures.flags.writeable = True
            raise

    def remove(self, keys: Any) -> None:
        """Remove one entry or a batch.

        Raises
        ------
        KeyError
            With the first key that is not in the index; then nothing was removed.
        """
        if is_batch(keys):
            self.store.remove(as_column(keys))
        else:
            self.store.remove_one(keys)

    def merge(self, other: LSHIndex) -> int:
        """Insert all entries of another index, and return how many are new or replaced.

        An index that is merged into itself has each key already: that is an error, changes nothing with "skip", and
        with "replace" puts each entry in its own place.

        Raises
        ------
        TypeError, ValueError
            If its parameters differ, if this index cannot take all of its keys, or if they share a key and duplicates
            are errors: then nothing was inserted, unless others insert such keys meanwhile.
        """
        if not isinstance(other, LSHIndex):
            raise TypeError(f"other must be an LSHIndex, not {type(other).__name__}")
        self.parameters.check_same(other.parameters)
        kinds, named = set(), self.store.kind in (None, "str")
        for keys in other.store.all_keys():
            known = np.flatnonzero(self.store.contains(keys))  # which refuses keys that no entry could have
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
        """Return the signatures that are given, or those of the texts that are given."""
        if (type(given) is np.ndarray and given.dtype is UINT64) or not are_texts(given):  # one query takes 1 us
            return check_signatures(given, self.hasher)
        shingles = shingles_of_texts(self.parameters.shingles)
        if shingles is None and kind_of_values(given) != "texts":
            return check_signatures(given, self.hasher)
        if shingles is None:
            said = repr(self.parameters.shingles) if self.parameters.shingles else "unknown shingles"
            raise TypeError(
                f"signatures must be uint64, not texts: this index is of {said}; "
                "one made with shingles='word:5' takes texts"
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
        """Find the entries that are candidates of one signature (text) or of each of many.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (num_perm,) or (m, num_perm); or str, bytes, or a column of m texts
            Texts are shingled and sketched as the index says (``LSHIndex(shingles="word:5")``).
        k : int, optional
            Only the k most similar.
        threshold : float, optional
            Only those of at least this similarity, in [0, 1].
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        list, or Matches of m such lists
            With neither k nor threshold: keys, ascending. Else: `Match` (key, similarity), the most similar first, ties
            in the order of the keys. Keys that do not compare stand in no order.

        Raises
        ------
        TypeError, ValueError
            If an argument cannot be used; if texts are given, and the index does not say of which shingles it is.

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
        if k is not None and (isinstance(k, bool) or not isinstance(k, (int, np.integer))):
            raise TypeError(f"k must be an int, not {k!r}")
        if k is not None and k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
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
        """Return the least number of equal slots whose share of all reaches the threshold."""
        threshold = check_number("threshold", threshold)
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be in [0, 1], not {threshold}")
        slots = self.parameters.num_perm
        least = ceil(threshold * slots)
        while least and (least - 1) / slots >= threshold:
            least -= 1
        return least + (least / slots < threshold)

    def pairs(self, threshold: float | None = None, *, threads: int | None = None) -> KeyPairs:
        """Return all pairs of entries that are candidates of each other and similar.

        Parameters
        ----------
        threshold : float, optional
            In [0, 1]; that of the index by default.
        threads : int, optional

        Returns
        -------
        KeyPairs
            Sorted by (left, right), left before right in the order of the keys; keys that do not compare in the order
            in which they are held.
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
        """Return the figures of the index: bucket sizes, memory, how many candidates a query meets."""
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
        """Write the index to a file, whole or not at all.

        An index (or an empty file) of that name is replaced when the new one is complete, and hands on its permissions.
        A symbolic link is followed. Whoever reads the old one goes on seeing it; on Windows it cannot be replaced then.

        Parameters
        ----------
        path : path
        overwrite : bool, default False
            Whether a file that is no index is replaced too.
        progress : callable, optional
            Called with ("save", bytes done, bytes in all) now and then.

        Raises
        ------
        TypeError
            If the keys are neither all ints of 64 bits nor all strs.
        FileExistsError
            If there is a file that is no index, and `overwrite` is false.
        OSError
            If `path` is a folder, device or pipe; or the file cannot be written, or is open for writing elsewhere. The
            old file is as it was, unless only the last step failed, which is to sync the folder: then the new file is
            there.
        """
        save_store(path, self.parameters, self.store, overwrite=overwrite, progress=progress)

    def commit(self, *, progress: Progress | None = None) -> None:
        """Write what was inserted and removed since the last time to the file or store that the index lies on.

        `progress` is as for `save`.

        Raises
        ------
        OSError
            If it cannot be written. The index still holds what is new. The file is in its old state, or in the new one
            if only the last step failed, which is to sync a header.
        """
        self.store.commit(progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Write the file of the index anew, without what was removed and replaced; `progress` is as for `save`.

        Raises
        ------
        OSError
            If it cannot be written: the index is as it was. If only the last step fails, which is to sync the folder,
            the new file is there. If the new file cannot be opened, it is there, whole, and the index is closed.
        """
        self.store.compact(progress)

    def verify(self) -> None:
        """Check all of the file or store: checksums, and that tables and entries belong together.

        Raises
        ------
        FormatError
            Naming the section that is damaged.
        """
        self.store.verify()

    def close(self) -> None:
        """Commit, and let go of files and connections; queries and changes raise ValueError afterwards.

        Raises
        ------
        OSError
            If the commit fails, as for `commit`: the index is open, and still holds what is new.
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
    """Return the store, or say that it is none."""
    if not isinstance(store, Store):
        raise TypeError(f"store must be a Store, such as LmdbStore or RedisStore, not {store!r}")
    return store


class _Places(dict[Any, int]):
    """The place of each key among those held; keys that come or go meanwhile stand behind, as they are met."""

    def __init__(self, keys: Iterable[Any]) -> None:
        super().__init__((key, place) for place, key in enumerate(keys))

    def __missing__(self, key: Any) -> int:
        return self.setdefault(key, len(self))


def _before(a: Any, b: Any, held: Callable[[], dict[Any, int]]) -> bool:
    """Tell whether a pair of keys is to be given as (a, b), not as (b, a): as they compare, else as they are held."""
    with suppress(TypeError):
        if a < b or b < a:
            return bool(a < b)
    return held()[a] < held()[b]

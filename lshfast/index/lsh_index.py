"""LSHIndex: add and remove entries, and find the entries that are similar to a query."""

from __future__ import annotations

from math import ceil
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, check_int, check_most, check_number
from lshfast._common.choices import Kind
from lshfast._common.display import bands_and_rows, counted
from lshfast._common.threads import thread_count
from lshfast._common.types import AnyShape, Matrix, UInt64Array, Vector
from lshfast.banding.bands import Bands, check_threshold
from lshfast.families.family import Family
from lshfast.families.sets import MinHashFamily, WeightedMinHashFamily
from lshfast.index.apart import (
    IsApart,
    answers_apart,
    nearest_apart,
    pairs_apart,
    similar_at_most,
)
from lshfast.index.family_rows import (
    FamilyRows,
    family_rows,
    parameters_of,
    plain_family,
)
from lshfast.index.index_stats import IndexStats, stats_of
from lshfast.index.key_pairs import KeyPairs, find_pairs
from lshfast.index.keys import (
    Column,
    as_column,
    check_utf8,
    concatenate,
    is_batch,
    listed,
    sample,
    take,
)
from lshfast.index.matches import Match, Matches, best_first, best_of, in_order
from lshfast.index.stored import StoredIndex, check_store
from lshfast.index.stores.base import Store
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.values import OnDuplicate, Parameters, check_on_duplicate
from lshfast.shingling import TextColumn, are_texts, shingle, shingles_of_texts
from lshfast.sketch.minhash import (
    UINT64,
    MinHasher,
    Scheme,
    check_signatures,
    kind_of_values,
)
from lshfast.tokens import TokenSets

# The types of one query, and of several queries.
Query: TypeAlias = str | bytes | Vector[np.uint64]
Queries: TypeAlias = TextColumn | Matrix[np.uint64]


# What an index of weighted sets has in the place of the name of its shingles.
WEIGHTED = "weighted"


class LSHIndex(StoredIndex):
    """Index signatures, and find the entries that are similar to a query.

    An entry is a key and a MinHash signature. The candidates of a query are the entries whose
    signatures equal it in all slots of at least one band. Their similarity is the share of equal
    slots, an estimate of the Jaccard similarity with a standard error of at most sqrt(s (1 - s) /
    num_perm). An entry whose similarity equals the threshold becomes a candidate with probability
    at least `recall`. Signatures of empty sets are stored, and match nothing.

    With `family`, an entry is a key and the hash values of an item of any family of hash functions.
    The candidates of a query are the entries that collide with it under all `rows_per_band`
    functions of at least one of the bands. Their similarity is the share of equal bits for a family
    whose values are bits, the share of equal slots for weighted MinHash, and otherwise the share of
    bands in which they collide.

    Parameters
    ----------
    threshold : float, default 0.8
        Similarity, in (0, 1], for which bands and rows are chosen. For families without signatures
        it is only the default of `pairs`, which is 0 if it is not given.
    num_perm : int, default 128
        Slots of a signature, in 1..65,536. For families without signatures it must not be given.
    recall : float, default 0.95
        Probability, in (0, 1), by which bands and rows are chosen (see `choose_bands`).
    bands, rows_per_band : int, optional
        Numbers of bands, and of rows per band, instead of `recall`. bands * rows_per_band must be
        at most `num_perm`. Families without signatures need `bands`; `rows_per_band` is 1 by
        default.
    scheme : {"fast", "classic"}, default "fast"
        Scheme of the signatures (see `MinHasher`).
    seed : int or "random", default 1
        Seed of the signatures, in 0..2**64 - 1. A random seed is stored with the entries: `open`
        and `on` read it, and ``index.hasher`` makes signatures with it.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        The action of `insert` for a key that is in the index, or twice in a batch. "error" raises
        ValueError and inserts nothing of the batch. "replace" stores the last signature. "skip"
        keeps the first one.
    store : Store, optional
        The store of the entries, such as `LmdbStore` or `RedisStore`. The default is memory.
    shingles : str, default ""
        Name of the shingles, at most 16 ASCII characters. "word:5" stands for ``shingle(texts,
        "word", 5, seed=seed)``, "char:9" for 9 characters, "word:5:nfc" for words in the normal
        form NFC. The name is stored with the index, and
        must be equal if two indexes, or an index and a run, are used together. If it has this form,
        `insert` and `query` accept texts, and the command line accepts the index unless it has a
        family other than MinHash.
    family : Family, optional
        Family of hash functions; the default is MinHash with `scheme` and `seed`. `insert` and
        `query` take its items, or sketches of a sketcher with the same functions, such as the codes
        of a `SimHasher`. An array of one dimension, or a list of numbers, is one item.

    Attributes
    ----------
    family : Family
        `MinHashFamily` unless another one was given.
    bands : Bands

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `store` contains entries with different parameters.

    See Also
    --------
    lshfast.LSHForest : Find the entries that are most similar, without a threshold.
    lshfast.LSHEnsemble : Search by containment, for sets of different sizes.
    lshfast.NearNeighbors : An index of points.
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.LmdbStore : Keep the entries of an index in LMDB.

    Notes
    -----
    A key is any hashable object except None and NaN. Objects that are equal in Python, such as 1,
    True and 1.0, are the same key, as in a dict. Ints of 64 bits and strs are stored without Python
    objects. An index in a file needs keys that are all ints or all strs. A list, range, array or
    column is a batch of keys; any other object is one key.

    Any number of threads may query, insert and remove at the same time, without other locks.
    Queries run concurrently and release the GIL. A writer waits for running queries. Readers see a
    batch completely or not at all, and an interrupt (Ctrl-C) leaves it complete or undone. When a
    table grows, the writer pauses for about 5 ns per entry, to copy the table of one band. All
    candidates of a batch of queries are in memory at the same time, so divide millions of queries
    into several batches.

    Iteration, `pairs` and `merge` can run while other threads write. Entries present throughout are
    reported once; concurrent changes may or may not be seen. `save`, `commit` and `compact` write
    one state, except `save` from a Redis server. In memory and in a file, writers, and sometimes
    queries, wait until they end. During `close`, a query either returns its answer or raises
    ValueError. An insertion or removal that has returned is in the file.

    In memory, an entry needs 8 * num_perm bytes for its signature, about 12 bytes for each band,
    and about 12 bytes for its key.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate nearest neighbors: towards removing the curse of
    dimensionality", STOC 1998; J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive
    Datasets", chapter 3.

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
    >>> [
    ...     (match.key, round(match.similarity, 1))
    ...     for match in index.query(signatures[0], k=2)
    ... ]
    [('a', 1.0), ('b', 0.9)]
    >>> index.remove("b")
    >>> index.query(signatures)[1]
    ['a']

    Codes of sets, whose equal bits estimate the angle between them:

    >>> from lshfast.families import SimHashFamily
    >>> index = LSHIndex(family=SimHashFamily(), bands=8, rows_per_band=16)
    >>> index.insert(["a", "b", "c"], sets)
    3
    >>> index.query(sets)[1]
    ['a', 'b']
    """

    family: Family[Any]
    bands: Bands

    def __init__(
        self,
        threshold: float | None = None,
        num_perm: int | None = None,
        *,
        recall: float = 0.95,
        bands: int | None = None,
        rows_per_band: int | None = None,
        scheme: Scheme = "fast",
        seed: Seed = 1,
        on_duplicate: OnDuplicate = "error",
        store: Store | None = None,
        shingles: str = "",
        family: Family[Any] | None = None,
    ) -> None:
        if family is not None and (scheme != "fast" or seed != 1):
            raise ValueError(
                f"scheme and seed are those of the family: give {family}, or scheme and seed"
            )
        plain_minhash = (
            MinHashFamily(scheme, seed) if family is None else plain_family(family)
        )
        if threshold is not None:
            threshold = check_threshold(threshold)
        if family is not None and plain_minhash is None:
            parameters = parameters_of(
                family, num_perm, bands, rows_per_band, threshold, recall, shingles
            )
        else:
            assert plain_minhash is not None
            threshold = 0.8 if threshold is None else threshold
            hasher = plain_minhash.hasher(128 if num_perm is None else num_perm)
            banding = Bands.choose(
                threshold,
                hasher.num_perm,
                recall=recall,
                bands=bands,
                rows_per_band=rows_per_band,
            )
            parameters = Parameters(
                hasher.num_perm,
                banding.bands,
                banding.rows_per_band,
                hasher.scheme,
                hasher.seed,
                threshold,
                shingles,
            )
        store = MemoryStore() if store is None else check_store(store)
        store.bind(parameters)
        self._use_store(store, on_duplicate)

    def _use_store(self, store: Store, on_duplicate: OnDuplicate) -> None:
        check_on_duplicate(on_duplicate)
        parameters = check_store(store).parameters
        if parameters is None:
            raise ValueError(
                "the store has no parameters: pass it to LSHIndex(..., store=store) first"
            )
        self._hasher: MinHasher | None = None
        self._rows: FamilyRows | None = None
        if parameters.family:
            self._rows = family_rows(parameters)
            self.family = self._rows.family
            self.bands = self._rows.bands
        else:
            self.family = family = MinHashFamily(parameters.scheme, parameters.seed)  # type: ignore[arg-type]
            self._hasher = family.hasher(parameters.num_perm)
            self.bands = Bands(parameters.bands, parameters.rows_per_band)
        self.store = store
        self.parameters = parameters
        self.on_duplicate: OnDuplicate = on_duplicate

    @property
    def hasher(self) -> MinHasher:
        """The sketcher of MinHash signatures; `insert` and `query` refuse other signatures."""
        if self._hasher is None:
            raise AttributeError(
                f"an index of {self.family} has no MinHasher: it takes the items of its family"
            )
        return self._hasher

    # ---- writing ----

    def insert(
        self, keys: Any, signatures: npt.ArrayLike | TextColumn, *, copy: bool = True
    ) -> int:
        """Insert one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one signature or text; a batch for several.
        signatures : array of uint64, (num_perm,) or (n, num_perm); or str, bytes, or n texts
            Or n TokenSets, which are sketched. Texts need an index that names their shingles, such
            as ``LSHIndex(shingles="word:5")``. An index of another family than MinHash takes one
            item or n items of it.
        copy : bool, default True
            With False, the index may use the memory of the array instead of a copy; the array
            becomes read-only. While the index exists, do not write to arrays that share this
            memory. Filling an index in memory then needs half the time and memory.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If a key cannot be stored, the signatures are not uint64, or texts are given and the
            index does not name its shingles.
        DuplicateKeyError
            If a key is a duplicate and `on_duplicate` is "error"; the error names the first one.
        ValueError
            If the numbers of keys and signatures differ, a different sketcher made the signatures,
            or a text is not valid.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a", "b"], ["the cat sat on the mat", "a dog is not a cat"])
        2
        >>> index.insert("c", "a cat is not a dog")
        1
        """
        if self._rows is not None:
            return self._insert_items(self._rows, keys, signatures)
        if (
            type(signatures) is np.ndarray
            and signatures.ndim == 1
            and self.store.insert_plain(keys, signatures)
        ):
            return 1
        array = self._signatures_of(signatures, None)
        if array.ndim == 1:
            return self.store.insert_one(keys, array, self.on_duplicate)
        column = as_column(keys)
        if len(column) != len(array):
            raise ValueError(
                f"there must be a key for each signature, not {len(column)} for {len(array)}"
            )
        if (
            copy
            or not isinstance(signatures, np.ndarray)
            or not signatures.flags.writeable
        ):
            return self.store.insert(column, array, self.on_duplicate, copy=copy)
        signatures.flags.writeable = False
        # Not KeyboardInterrupt, since the index may use the array when it is raised.
        try:
            return self.store.insert(column, array, self.on_duplicate, copy=False)
        except Exception:
            signatures.flags.writeable = True
            raise

    def _insert_items(self, reader: FamilyRows, keys: Any, items: Any) -> int:
        """Insert items of a family without MinHash signatures; see `insert`."""
        rows, _ = reader.rows_of(items, None)
        if len(rows) == 1 and not is_batch(keys):
            return self.store.insert_one(keys, rows[0], self.on_duplicate)
        column = as_column(keys)
        if len(column) != len(rows):
            raise ValueError(
                f"there must be a key for each item, not {len(column)} for {len(rows)}"
            )
        return self.store.insert(column, rows, self.on_duplicate, copy=not reader.fresh)

    def merge(self, other: LSHIndex) -> int:
        """Insert all entries of another index.

        Merging an index into itself is an error if `on_duplicate` is "error", and otherwise changes
        nothing.

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
            If a parameter differs, or both indexes contain the same key and `on_duplicate` is
            "error". Nothing is inserted then, unless another thread or process inserts such a key
            during the merge.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> monday, tuesday = LSHIndex(shingles="word:2"), LSHIndex(shingles="word:2")
        >>> monday.insert("a", "the cat sat on the mat") + tuesday.insert(
        ...     "b", "a dog is not a cat"
        ... )
        2
        >>> monday.merge(tuesday)
        1
        """
        if not isinstance(other, LSHIndex):
            raise TypeError(f"other must be an LSHIndex, not {type(other).__name__}")
        self.parameters.check_same(other.parameters)
        samples: list[Column] = []
        needs_utf8 = self.store.kind in (None, "str")
        for keys in other.store.all_keys():
            # `contains` raises an error for keys that cannot be stored.
            common_places = np.flatnonzero(self.store.contains(keys))
            if len(common_places) and self.on_duplicate == "error":
                raise ValueError(
                    f"{listed(take(keys, common_places[:1]))[0]!r} is in both indexes"
                )
            samples.append(sample(keys))
            if needs_utf8:
                check_utf8(keys)
        if any(map(len, samples)):
            self.store.check_keys(concatenate(samples))
        if other.store is self.store:
            return len(self) if self.on_duplicate == "replace" else 0
        return sum(
            self.store.insert(keys, signatures, self.on_duplicate)
            for keys, signatures in other.store.items()
        )

    def _signatures_of(self, items: Any, threads: int | None) -> UInt64Array:
        """Return signatures as they are, or signatures of texts or items."""
        hasher = self._hasher
        # One query takes 1 us.
        if type(items) is np.ndarray and items.dtype is UINT64 and hasher is not None:
            return check_signatures(items, hasher)
        if self._rows is not None:
            rows, is_single = self._rows.rows_of(items, threads)
            return rows[0] if is_single else rows
        if isinstance(items, TokenSets):
            return np.asarray(self.hasher.sketch(items, threads=threads))
        if not are_texts(items):
            return check_signatures(items, self.hasher)
        shingles = shingles_of_texts(self.parameters.shingles)
        if shingles is None and kind_of_values(items) != "texts":
            return check_signatures(items, self.hasher)
        if shingles is None:
            index_shingles = "unknown shingles"
            if self.parameters.shingles:
                index_shingles = f"shingles {self.parameters.shingles!r}"
            raise TypeError(
                f"signatures must be uint64, not texts: this index has {index_shingles}; "
                "one created with shingles='word:5' accepts texts"
            )
        is_single = isinstance(items, (str, bytes))
        texts = [items] if is_single else items
        sets = shingle(texts, *shingles[:5], seed=self.hasher.seed, threads=threads)
        signatures = self.hasher.sketch(sets, threads=threads)
        return signatures[0] if is_single else signatures

    @property
    def holds(self) -> Kind:
        # One that was made in Python may leave out the name of the shingles.
        is_weighted = isinstance(self.family, WeightedMinHashFamily)
        return (
            "weighted"
            if is_weighted and self.parameters.shingles in (WEIGHTED, "")
            else "set"
        )

    # ---- reading ----

    @overload
    def query(
        self,
        signatures: AnyShape[np.uint64],
        *,
        k: int | None = None,
        threshold: float | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def query(  # type: ignore[overload-overlap] # a str is a sequence of str, too
        self,
        signatures: Query,
        *,
        k: None = None,
        threshold: None = None,
        most: None = None,
        threads: int | None = None,
    ) -> list[Any]: ...
    @overload
    def query(  # type: ignore[overload-overlap]
        self,
        signatures: Query,
        *,
        k: int,
        threshold: float | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match]: ...
    @overload
    def query(  # type: ignore[overload-overlap]
        self,
        signatures: Query,
        *,
        k: int | None = None,
        threshold: float,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match]: ...
    @overload
    def query(  # type: ignore[overload-overlap]
        self,
        signatures: Query,
        *,
        k: int | None = None,
        threshold: float | None = None,
        most: float,
        threads: int | None = None,
    ) -> list[Match]: ...
    @overload
    def query(
        self,
        signatures: Queries,
        *,
        k: None = None,
        threshold: None = None,
        most: None = None,
        threads: int | None = None,
    ) -> Matches[Any]: ...
    @overload
    def query(
        self,
        signatures: Queries,
        *,
        k: int,
        threshold: float | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> Matches[Match]: ...
    @overload
    def query(
        self,
        signatures: Queries,
        *,
        k: int | None = None,
        threshold: float,
        most: float | None = None,
        threads: int | None = None,
    ) -> Matches[Match]: ...
    @overload
    def query(
        self,
        signatures: Queries,
        *,
        k: int | None = None,
        threshold: float | None = None,
        most: float,
        threads: int | None = None,
    ) -> Matches[Match]: ...
    @overload
    def query(
        self,
        signatures: npt.ArrayLike,
        *,
        k: int | None = None,
        threshold: float | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def query(
        self,
        signatures: npt.ArrayLike | TextColumn,
        *,
        k: int | None = None,
        threshold: float | None = None,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Any] | Matches[Any]:
        """Find the candidates of one query, or of each of m queries.

        Parameters
        ----------
        signatures : array of uint64, (num_perm,) or (m, num_perm); or str, bytes, or m texts
            The queries. Or m TokenSets, which are sketched. Texts need an index that names their
            shingles, such as ``LSHIndex(shingles="word:5")``. An index of another family than
            MinHash takes one item or m items of it.
        k : int, optional
            Return only the k most similar candidates; at least 1.
        threshold : float, optional
            Return only candidates with at least this estimated similarity, in [0, 1].
        most : float, optional
            Return only candidates with at most this estimated similarity, from the threshold to 1:
            entries that are close, but no copies. `k` counts these only.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        list, or Matches of m such lists
            Without `k`, `threshold` and `most`, the keys in ascending order. Otherwise `Match`
            (key, similarity), the most similar first, and equally similar ones in the order of
            their keys. The order of keys that cannot be compared is not specified.

        Raises
        ------
        TypeError
            If an argument has the wrong type, or texts are given and the index does not name its
            shingles.
        ValueError
            If an argument is out of range, a different sketcher made the signatures, or a text is
            not valid.

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
        if k is not None or threshold is not None or most is not None:
            array = self._signatures_of(signatures, threads)
            return self._similar(array, k, threshold, most, threads)
        if threads is None and self._hasher is not None:
            keys = self.store.query_plain(signatures)
            if keys is not None:
                return keys
        array = self._signatures_of(signatures, threads)
        if threads is not None:
            thread_count(threads)
        if array.ndim == 1:
            return in_order(self.store.query_one(array, None)[0])
        return self._best(array, None, None, thread_count(threads))

    def _similar(
        self,
        signatures: UInt64Array,
        k: int | None,
        threshold: float | None,
        most: float | None,
        threads: int | None,
    ) -> list[Match] | Matches[Match]:
        """Return the candidates of one signature or several, with their similarities."""
        if k is not None:
            check_int("k", k, 1)
        least = 0 if threshold is None else self._least(threshold)
        if most is not None:
            check_most(most, threshold or 0.0)
        threads = thread_count(threads)
        if signatures.ndim == 2:
            is_apart = similar_at_most(most)
            if k is not None:
                return self._best_apart(signatures, least, k, is_apart, threads)
            return answers_apart(self._best(signatures, least, k, threads), is_apart)
        names, counts = self.store.query_one(signatures, least)
        slots = self.parameters.compared
        if most is None:
            return best_of(names, counts or [], slots, k)
        matches = best_of(names, counts or [], slots, None)
        return [match for match in matches if match.similarity <= most][:k]

    # A function of its own: a closure would make cells of the variables that each query uses.
    def _best_apart(
        self,
        signatures: UInt64Array,
        least: int,
        k: int,
        is_apart: IsApart | None,
        threads: int,
    ) -> Matches[Any]:
        """Return the first k candidates that are apart of m queries, the most similar first."""
        return nearest_apart(
            lambda queries, count: self._best(queries, least, count, threads),
            signatures,
            k,
            len(self),
            is_apart,
        )

    def _best(
        self, signatures: UInt64Array, least: int | None, k: int | None, threads: int
    ) -> Matches[Any]:
        """Return the candidates of m queries, or the first k, the most similar first."""
        matches = self.store.query(signatures, least=least, threads=threads, most=k)
        offsets, keys, agreements = best_first(
            matches.offsets, matches.keys, matches.agreements, k
        )
        similarity = (
            None if agreements is None else agreements / self.parameters.compared
        )
        return Matches(offsets, keys, similarity)

    def _least(self, threshold: float) -> int:
        """Return the least number of equal slots, or bits, whose share reaches the threshold."""
        threshold = check_number("threshold", threshold)
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be in [0, 1], not {threshold}")
        slots = self.parameters.compared
        least = ceil(threshold * slots)
        while least and (least - 1) / slots >= threshold:
            least -= 1
        return least + (least / slots < threshold)

    def pairs(
        self,
        threshold: float | None = None,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> KeyPairs:
        """Find all pairs of entries that are candidates of each other and similar.

        Parameters
        ----------
        threshold : float, optional
            Least estimated similarity, in [0, 1]. The default is the threshold of the index.
        most : float, optional
            Greatest estimated similarity, from the threshold to 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        KeyPairs
            Sorted by (left, right), with left < right. Keys that cannot be compared are in the
            order of iteration.

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
        >>> index.insert(
        ...     ["a", "b", "c"], ["one two three", "One, two, three!", "four five six"]
        ... )
        3
        >>> list(index.pairs())
        [('a', 'b', 1.0)]
        """
        least_similarity = self.parameters.threshold if threshold is None else threshold
        if least_similarity is None:
            least_similarity = 0.0
        least = self._least(least_similarity)
        is_apart = similar_at_most(check_most(most, least_similarity))
        threads = thread_count(threads)
        return pairs_apart(
            find_pairs(self.store, least, self.parameters.compared, threads), is_apart
        )

    def __repr__(self) -> str:
        parameters = self.parameters
        try:
            size = counted(len(self), "entry", "entries")
        except (OSError, ValueError):
            size = "closed"
        head = f"LSHIndex({size}, {bands_and_rows(self.bands.bands, self.bands.rows_per_band)}"
        if parameters.family:
            return f"{head}, family={self.family})"
        return (
            f"{head}, num_perm={parameters.num_perm}, scheme={parameters.scheme!r}, "
            f"seed={parameters.seed})"
        )

    def describe(self) -> str:
        """Return the bands, and their recall at the threshold, as text.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> LSHIndex().describe()
        '18 bands of 7 rows: an entry at similarity 0.8 is found with probability 0.986'
        """
        banding = self.bands
        parameters = self.parameters
        bands = bands_and_rows(banding.bands, banding.rows_per_band)
        if parameters.family:
            return f"{bands}, {self.family}"
        if parameters.threshold is None:
            return bands
        probability = banding.probability(parameters.threshold)
        threshold = parameters.threshold
        return (
            f"{bands}: an entry at similarity {threshold} is found with probability "
            f"{probability:.3f}"
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
        return stats_of(self.store, self.bands.bands, self.bands.rows_per_band)


def as_lsh_index(value: object) -> LSHIndex | None:
    """Return an LSHIndex, and None for other values."""
    return value if isinstance(value, LSHIndex) else None


def check_lsh_index(name: str, index: LSHIndex) -> LSHIndex:
    """Return the index, or raise TypeError that names the argument if it is no LSHIndex."""
    if not isinstance(index, LSHIndex):
        raise TypeError(f"{name} must be an LSHIndex, not {index!r}")
    return index

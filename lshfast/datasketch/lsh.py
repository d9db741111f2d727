"""MinHashLSH: datasketch's index, in the store of LSHIndex or in datasketch's layout on Redis."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from importlib import import_module
from struct import pack
from typing import Any, Literal, overload

import numpy as np

from lshfast._common.display import counted
from lshfast._common.types import UInt64Array
from lshfast.datasketch.entries import LSHEntries
from lshfast.datasketch.key_pickles import (
    dumps,
    given_keys,
    given_scores,
    plain_loads,
    protocol_of,
    spellings_of,
    storable,
)
from lshfast.datasketch.lsh_parameters import bands_and_rows, optimal_param, ranges_of
from lshfast.datasketch.lsh_parameters import check_num_perm as check_num_perm
from lshfast.datasketch.lsh_parameters import check_weights as check_weights
from lshfast.datasketch.memory_entries import MemoryEntries
from lshfast.datasketch.minhash import MinHash, check_least
from lshfast.datasketch.slots import Form, SketchReader, check_version, with_attributes
from lshfast.datasketch.storage import (
    BUFFER_SIZE,
    OrderedStorage,
    UnorderedStorage,
    check_form,
    ordered_storage,
    random_name,
    unordered_storage,
)
from lshfast.datasketch.weighted_minhash import WeightedMinHash

__all__ = [
    "MinHash",
    "MinHashLSH",
    "MinHashLSHDeletionSession",
    "MinHashLSHInsertionSession",
    "OrderedStorage",
    "UnorderedStorage",
    "WeightedMinHash",
    "WeightedMinHashLSH",
    "ordered_storage",
    "unordered_storage",
]

# The configuration of an index with storages of a program, and the attributes that it needs.
OWN = {"type": "own"}
OWN_PARTS = ("h", "b", "r", "keys", "hashtables")


class MinHashLSH:
    """Find keys whose sketches are likely to be similar to a query's.

    Each sketch is divided into b bands of r slots. A query returns the keys whose sketches equal
    its own in all slots of at least one band. b and r are those that datasketch 2.0 chooses, so
    that the index can use entries that datasketch stored: they minimise the weighted sum of the
    areas of false positives and false negatives. These bands find only a third to two thirds of the
    pairs at the threshold. If nothing is stored yet, ``lshfast.LSHIndex(threshold, recall=0.95)``
    is the better choice.

    Parameters
    ----------
    threshold : float, default 0.9
        In [0, 1]. For 1 and values close to it there is one band of all slots.
    num_perm : int, default 128
        Slots of each sketch, at least 2.
    weights : (float, float), default (0.5, 0.5)
        Of false positives and false negatives, each in [0, 1]. Their sum is 1.
    params : (int, int), optional
        b and r, each at least 1. If given, threshold and weights are not used.
    storage_config : dict, optional
        ``{"type": "dict"}``, the default: in memory. ``{"type": "redis", "basename": b"...",
        "redis": {"host": ..., "port": ...}}``: on a Redis server in datasketch's layout, so that
        both libraries find each other's entries. Values may be ``{"env": NAME, "default": ...}``.
        To read keys that are pickled objects of your own classes, set ``"loads": pickle.loads``;
        unpickling runs any code that the bytes on the server name.
    prepickle : bool, optional
        Whether keys are pickled before they are stored. The default is True on Redis and False in
        memory. If False, keys on Redis must be bytes.
    hashfunc : callable, optional
        A function from bytes to bytes that shortens the names of buckets on Redis and in the result
        of `get_counts`. In memory it does not change the results of queries.

    Attributes
    ----------
    h, b, r : int
        num_perm, bands, and slots per band.
    hashranges : list of (int, int)
        The first slot of each band, and the slot after its last.
    keys : OrderedStorage
        The keys as they are stored (pickled if `prepickle` is true), and for each key the names of
        its buckets, band by band.
    hashtables : list of UnorderedStorage
        For each band the names of its buckets, and for each bucket the set of its keys.

    See Also
    --------
    lshfast.datasketch.MinHashLSHForest : Find the k most similar sketches.
    lshfast.datasketch.MinHashLSHEnsemble : Find sets that contain most of a query.
    lshfast.LSHIndex : An index of signatures that finds similar sets.

    Notes
    -----
    Sketches are `MinHash`, `LeanMinHash` or `WeightedMinHash`, also those of an installed
    datasketch, whose values are the same. All sketches must have the scheme, seed and kind of the
    first. Sketches of empty sets find each other. Keys are any hashable objects.

    In memory, any number of threads may call any method. The index stores the slots of a sketch, 8
    bytes each, and not the sketch.

    In memory, `keys` and `hashtables` are created from the entries when they are first read. This
    takes the time and memory that datasketch needs to insert the entries. Later changes update
    them, which takes as long as in datasketch; after many changes without a read they are
    discarded. Do not change the lists and sets that they return. After the first call of one of
    their methods `insert`, `remove` and `remove_val`, the index keeps its entries in `keys` and
    `hashtables`. Its queries then find what these contain, at datasketch's speed.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, MinHashLSH
    >>> sketches = {}
    >>> for key, tokens in {
    ...     "a": range(100),
    ...     "b": range(5, 100),
    ...     "c": range(1000, 1100),
    ... }.items():
    ...     sketches[key] = MinHash(num_perm=128)
    ...     sketches[key].update_batch([str(token).encode() for token in tokens])
    >>> lsh = MinHashLSH(threshold=0.7, num_perm=128)
    >>> for key, sketch in sketches.items():
    ...     lsh.insert(key, sketch)
    >>> lsh.query(sketches["a"])
    ['a', 'b']
    >>> [
    ...     (key, round(similarity, 1))
    ...     for key, similarity in lsh.query(sketches["a"], with_scores=True)
    ... ]
    [('a', 1.0), ('b', 0.9)]
    >>> lsh.remove("b")
    >>> "b" in lsh, lsh.query(sketches["a"])
    (False, ['a'])
    >>> (
    ...     list(lsh.keys),
    ...     [lsh.hashtables[band][name] for band, name in enumerate(lsh.keys["a"])][0],
    ... )
    (['a', 'c'], {'a'})
    """

    keys: Any
    hashtables: list[Any]
    h: int
    b: int
    r: int
    hashfunc: Callable[[bytes], bytes] | None
    prepickle: bool
    hashranges: list[tuple[int, int]]
    _config: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> MinHashLSH:
        # A subclass may have a constructor that does not call this class's constructor, and sets
        # h, b, r, `keys` and `hashtables`. Values of the class would make attributes slower.
        index = super().__new__(cls)
        index._config = OWN
        index._redis = False
        index.prepickle = False
        index.hashfunc = None
        return index

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[bytes], bytes] | None = None,
    ) -> None:
        config = check_form(storage_config)
        self.h = check_num_perm(num_perm)
        self.b, self.r = bands_and_rows(threshold, num_perm, weights, params)
        if hashfunc is not None and not callable(hashfunc):
            raise TypeError(f"hashfunc must be callable, not {hashfunc!r}")
        on_server = config["type"] != "dict"
        self.prepickle = on_server if prepickle is None else bool(prepickle)
        self.hashfunc = hashfunc
        self._config = dict(config)
        if on_server:
            self._config.setdefault("basename", random_name())
        self._make(self._new_entries())

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("keys", "hashtables"):
            self._config = OWN
        if name not in OWN_PARTS or self._config is not OWN:
            return
        # Storages of the program are used once all are set.
        if all(hasattr(self, part) for part in OWN_PARTS):
            entries = LSHEntries(self.keys, self.hashtables, self.r, self.hashfunc)
            self._make(entries)

    def _make(self, entries: LSHEntries) -> None:
        """Set the attributes that follow from the arguments."""
        is_in_memory = self._config["type"] == "dict"
        self._redis = not is_in_memory and "basename" in self._config
        self._loads = pickle.loads
        if self._redis:
            self._loads = self._config.get("loads", plain_loads)
        self._learning = threading.Lock()
        self._queries: list[tuple[UInt64Array, Form]] = []
        self._sketches = SketchReader(self.h)
        self._entries = entries
        self.hashranges = ranges_of(self.b, self.r)
        if self._config is OWN:
            return
        # vars() would make all attributes of the object slower from then on.
        super().__setattr__("keys", entries.keys)
        super().__setattr__("hashtables", list(entries.tables))

    def _new_entries(self) -> LSHEntries:
        if self._config["type"] == "dict":
            return MemoryEntries(self.h, self.b, self.r, self.hashfunc)
        name = self._config["basename"]
        if self._config["type"] == "redis":
            redis_entries = import_module("lshfast.datasketch.redis_entries")
            entries: LSHEntries = redis_entries.RedisEntries(
                self._config, name, self.b, self.r, self.hashfunc
            )
            return entries
        # A program may have added the type to `ordered_storage` and `unordered_storage`.
        tables = [
            unordered_storage(self._config, name + b"_bucket_" + pack(">H", band))
            for band in range(self.b)
        ]
        return LSHEntries(
            ordered_storage(self._config, name + b"_keys"),
            tables,
            self.r,
            self.hashfunc,
        )

    def _byteswap(self, hs: np.ndarray[Any, Any]) -> bytes:
        """Return hash values as big-endian bytes."""
        return hs.astype(hs.dtype.newbyteorder(">")).tobytes()

    def _H(self, hs: np.ndarray[Any, Any]) -> bytes:
        """Return the name of the bucket for a band's hash values, called H in datasketch."""
        name = self._byteswap(hs)
        return name if self.hashfunc is None else self.hashfunc(name)

    @property
    def buffer_size(self) -> int:
        """The number of pending entries at which a session with a Redis server sends them."""
        return self._entries.buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._entries.buffer_size = check_least(value, "buffer_size")

    # ---- writing ----

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Insert a key and the sketch of its set.

        Parameters
        ----------
        key : hashable
        minhash : MinHash, LeanMinHash or WeightedMinHash
        check_duplication : bool, default True
            If False, a key that is in the index already gets this sketch too, and is found by
            either.

        Raises
        ------
        ValueError
            If the key is in the index already, or the sketch cannot be compared with those of the
            index.
        TypeError
            If the key is not hashable, or `minhash` is not a sketch.
        """
        self._insert(key, minhash, check_duplication, False)

    def _insert(self, key: Any, minhash: Any, check: bool, buffer: bool) -> None:
        row, form = self._sketches.read(minhash)
        spellings = (key,)
        if self.prepickle or self._redis:
            spellings = self._storable(key)
        insert = self._entries.insert
        if form is self._sketches.form:
            inserted = insert(spellings, row, form, check=check, buffer=buffer)
        else:
            with self._learning:  # the first sketch, unless another thread was faster
                self._learn(form)
                inserted = insert(spellings, row, form, check=check, buffer=buffer)
                if inserted:
                    self._sketches.form = form
        if not inserted:
            raise ValueError(f"The given key already exists: {key!r}")

    def _learn(self, form: Form) -> None:
        """Check that the first sketch read is compatible with the stored entries."""
        if self._sketches.form is not None:
            self._sketches.form.check_same(form)
        self._check_width(form)

    def _check_width(self, form: Form) -> None:
        if self._redis:
            form.check_width(self._entries.width())

    def _spellings(self, key: Any) -> tuple[Any, ...]:
        """Return the forms in which a key may be stored, the form of new entries first."""
        if self._redis:
            return spellings_of(key, self.prepickle)
        return (dumps(key),) if self.prepickle else (key,)

    def _storable(self, key: Any) -> tuple[Any, ...]:
        """Return `_spellings` of a key, or raise TypeError if there are none."""
        return storable(key, self.prepickle) if self._redis else self._spellings(key)

    def remove(self, key: Any) -> None:
        """Remove a key and all sketches that it was inserted with.

        Parameters
        ----------
        key : hashable
            If keys are pickled, a key whose pickle has the same bytes.

        Raises
        ------
        ValueError
            If there is no such key.

        Examples
        --------
        >>> from lshfast.datasketch import MinHash, MinHashLSH
        >>> lsh = MinHashLSH()
        >>> lsh.insert("a", MinHash())
        >>> lsh.remove("a")
        >>> "a" in lsh
        False
        """
        self._remove(key, False)

    def _remove(self, key: Any, buffer: bool) -> None:
        if not self._entries.remove(self._spellings(key), buffer=buffer):
            raise ValueError(f"The given key does not exist: {key!r}")

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Insert all entries of another index.

        Parameters
        ----------
        other : MinHashLSH
        check_overlap : bool, default False
            Whether a key that is in both indexes is an error. If not, it is found by either sketch.

        Raises
        ------
        ValueError
            If the other is not a MinHashLSH, has another number of slots, bands or rows, or
            sketches that cannot be compared; if `check_overlap` is true and a key is in both; or if
            the other has a hashfunc and is on a server, which then does not store the slots. In
            each case nothing was inserted.
        """
        if type(self) is not type(other):
            raise ValueError(
                f"Cannot merge type {type(self).__name__} and type {type(other).__name__}."
            )
        shape = (self.h, self.b, self.r)
        other_shape = (other.h, other.b, other.r)
        if shape != other_shape:
            raise ValueError(
                f"Cannot merge indexes of other num_perm, b and r: {other_shape} into {shape}"
            )
        if other.hashfunc is not None and not other._entries.has_rows:
            raise ValueError(
                "the other index has a hashfunc and holds no slots: insert its sketches instead"
            )
        form = other._sketches.form or self._sketches.form
        if form is None:
            if other.is_empty():
                return
            raise ValueError(
                "which sketches the server holds is not known: insert one, or find one by a query"
            )
        with self._learning:
            self._learn(form)
            if check_overlap:
                self._check_overlap(other)
            self._sketches.form = form
        if other is not self:
            self._insert_entries_of(other, form)

    def _check_overlap(self, other: MinHashLSH) -> None:
        """Raise ValueError if a key of another index is in this one."""
        for key in other.keys:
            if self._entries.holds((self._transferred(key, other),)):
                raise ValueError(
                    f"The keys are overlapping: {other._given(key)!r} is in both."
                )

    def _insert_entries_of(self, other: MinHashLSH, form: Form) -> None:
        if not other._entries.has_rows:
            self._entries.release()
        for keys, rows in other._entries.rows(form):
            stored_keys = [self._transferred(key, other) for key in keys]
            self._entries.insert_many(stored_keys, rows, form)
        self._entries.flush()

    def _transferred(self, key: Any, other: MinHashLSH) -> Any:
        """Return a key that another index has stored in the form that this index stores."""
        if self.prepickle == other.prepickle:
            return key
        return self._storable(other._given(key))[0]

    def insertion_session(
        self, buffer_size: int = BUFFER_SIZE
    ) -> MinHashLSHInsertionSession:
        """Return a context manager for inserting many entries.

        On Redis, entries are sent when `buffer_size` of them are pending and at the end of the
        context. In memory, each is inserted at once. If an error ends the context, entries that
        were inserted before stay.

        Parameters
        ----------
        buffer_size : int, default 50000
            The number of entries that are sent at once, at least 1. It becomes the `buffer_size` of
            the index.

        Raises
        ------
        TypeError, ValueError
            If `buffer_size` is not an int, or less than 1.

        Examples
        --------
        >>> from lshfast.datasketch import MinHash, MinHashLSH
        >>> lsh = MinHashLSH()
        >>> with lsh.insertion_session() as session:
        ...     session.insert("a", MinHash())
        >>> "a" in lsh
        True
        """
        return MinHashLSHInsertionSession(self, buffer_size=buffer_size)

    def deletion_session(
        self, buffer_size: int = BUFFER_SIZE
    ) -> MinHashLSHDeletionSession:
        """Return a context manager for removing many keys; see `insertion_session`.

        Examples
        --------
        >>> from lshfast.datasketch import MinHash, MinHashLSH
        >>> lsh = MinHashLSH()
        >>> lsh.insert("a", MinHash())
        >>> with lsh.deletion_session() as session:
        ...     session.remove("a")
        >>> lsh.is_empty()
        True
        """
        return MinHashLSHDeletionSession(self, buffer_size=buffer_size)

    # ---- reading ----

    @overload
    def query(self, minhash: Any, with_scores: Literal[False] = False) -> list[Any]: ...
    @overload
    def query(
        self, minhash: Any, with_scores: Literal[True]
    ) -> list[tuple[Any, float]]: ...
    @overload
    def query(self, minhash: Any, with_scores: bool) -> list[Any]: ...
    def query(self, minhash: Any, with_scores: bool = False) -> list[Any]:
        """Return the keys that are likely to be similar.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash
        with_scores : bool, default False
            Return pairs (key, similarity), the most similar first. The similarity is the fraction
            of equal slots, in [0, 1], which estimates the (weighted) Jaccard similarity. On Redis
            only the first b r slots are compared.

        Returns
        -------
        list
            In memory, in the order of insertion.

        Raises
        ------
        ValueError
            If the sketch cannot be compared with the sketches of the index.
        FormatError
            If a key found on Redis is damaged, of a type that is not read, or larger than a key may
            be.
        """
        if not (with_scores or self._redis or self.prepickle):
            row, form = self._sketches.read(minhash)
            return self._entries.find(row, form)
        row, form = self._asking(minhash)
        if with_scores:
            scored = self._entries.scored(row, form)
            if self.prepickle:
                scored = given_scores(scored, self._loads)
            in_order = [scored[place] for place in _places(scored)]
            return sorted(in_order, key=lambda match: -match[1])
        stored_keys = self._entries.find(row, form)
        if self._redis and stored_keys and self._sketches.form is None:
            self._sketches.form = form  # the entries found have this form
        return given_keys(stored_keys, self._loads) if self.prepickle else stored_keys

    def _asking(self, minhash: Any) -> tuple[np.ndarray[Any, Any], Form]:
        row, form = self._sketches.read(minhash)
        if self._redis and self._sketches.form is None:
            self._check_width(form)
        return row, form

    def _query_b(self, minhash: Any, b: int) -> set[Any]:
        """Return the stored keys that share one of the first b bands; the name is datasketch's."""
        if b > self.b:
            raise ValueError(
                f"b must be at most {self.b}, the number of bands, not {b}"
            )
        return set(self._entries.find(*self._asking(minhash), b))

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Add a query to those that `collect_query_buffer` runs."""
        self._queries.append(self._asking(minhash))

    def collect_query_buffer(self) -> list[Any]:
        """Run the queries from `add_to_query_buffer`; return the keys that all of them find."""
        queries = self._queries
        self._queries = []
        if not queries:
            return []
        for _, form in queries:
            if self._sketches.form is not None:
                self._sketches.form.check_same(form)
        common: dict[Any, None] = dict.fromkeys(self._entries.find(*queries[0]))
        for row, form in queries[1:]:
            keys = set(self._entries.find(row, form))
            common = {key: None for key in common if key in keys}
        return given_keys(common, self._loads) if self.prepickle else list(common)

    def __contains__(self, key: Any) -> bool:
        # Most indexes are in memory: a call of `_spellings` would double the time.
        if self.prepickle or self._redis:
            return self._entries.holds(self._spellings(key))
        return self._entries.holds((key,))

    def is_empty(self) -> bool:
        """Return whether the index has no keys."""
        return self._entries.is_empty()

    def __repr__(self) -> str:
        # Of a subclass, whose constructor may not have set all attributes.
        if self._config["type"] == "own":
            return super().__repr__()
        in_memory = self._config["type"] == "dict"
        size = (
            counted(self.keys.size(), "key")
            if in_memory
            else f"storage={self._config['type']!r}"
        )
        return (
            f"{type(self).__name__}({size}, num_perm={self.h}, params={self.b, self.r})"
        )

    def get_counts(self) -> list[dict[bytes, int]]:
        """Return for each band the number of keys in each bucket, by the name of the bucket."""
        return [table.itemcounts() for table in self.hashtables]

    def get_subset_counts(self, *keys: Any) -> list[dict[bytes, int]]:
        """Return the result of `get_counts`, counting only these keys.

        Keys that are not in the index are ignored.
        """
        counts: list[dict[bytes, int]] = [{} for _ in range(self.b)]
        stored_keys = [
            spelling for key in set(keys) for spelling in self._storable(key)
        ]
        for names in self.keys.getmany(*stored_keys):
            # A key that was inserted repeatedly has several names for a band.
            places = enumerate(names)
            for band, name in {(place % self.b, name) for place, name in places}:
                counts[band][name] = counts[band].get(name, 0) + 1
        return counts

    def _given(self, stored: Any) -> Any:
        return self._loads(stored) if self.prepickle else stored

    # ---- copies ----

    def __getstate__(self) -> dict[str, Any]:
        form = self._sketches.form
        state = {
            "version": 1,
            "shape": (self.h, self.b, self.r),
            "config": self._config,
            "prepickle": self.prepickle,
            "hashfunc": self.hashfunc,
            "form": None if form is None else form.state,
            "entries": self._entries.dump()
            if isinstance(self._entries, MemoryEntries)
            else None,
        }
        if self._config["type"] not in ("dict", "redis"):
            state["storages"] = self.keys, self.hashtables
        return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state, "MinHashLSH", 1)
        self._config = state["config"]
        self.h, self.b, self.r = state["shape"]
        self.prepickle = state["prepickle"]
        self.hashfunc = state["hashfunc"]
        if "storages" in state:
            keys, tables = state["storages"]
            self._make(LSHEntries(keys, tables, self.r, self.hashfunc))
        else:
            self._make(self._new_entries())
        if state["form"] is not None:
            self._sketches.form = Form.of_state(state["form"])
        if isinstance(self._entries, MemoryEntries):
            form = self._sketches.form
            key_of = self._spelled_here if self.prepickle else None
            self._entries.load(state["entries"], form, key_of)
        for name, value in state.get("attributes", {}).items():
            super().__setattr__(name, value)

    def _spelled_here(self, stored: bytes) -> bytes:
        """Return a pickled key, pickled again by this interpreter."""
        if protocol_of(stored) == pickle.DEFAULT_PROTOCOL:
            return stored
        return dumps(pickle.loads(stored))


class LSHSession:
    """The common base of both sessions of a MinHashLSH."""

    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()

    def close(self) -> None:
        """Send all pending entries."""
        self.lsh._entries.flush()


class MinHashLSHInsertionSession(LSHSession):
    """The context manager of `MinHashLSH.insertion_session`."""

    def __enter__(self) -> MinHashLSHInsertionSession:
        return self

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Insert a key and the sketch of its set; see ``MinHashLSH.insert`` for errors."""
        self.lsh._insert(key, minhash, check_duplication, True)


class MinHashLSHDeletionSession(LSHSession):
    """The context manager of `MinHashLSH.deletion_session`."""

    def __enter__(self) -> MinHashLSHDeletionSession:
        return self

    def remove(self, key: Any) -> None:
        """Remove a key; see ``MinHashLSH.remove`` for errors."""
        self.lsh._remove(key, True)


# The attributes of an index. All others were set by the user, and are pickled with it.
PARTS = frozenset(vars(MinHashLSH(num_perm=2, params=(1, 1))))

WeightedMinHashLSH = MinHashLSH

_optimal_param = optimal_param  # datasketch's name, which programs import


def _places(scored: list[tuple[Any, float]]) -> list[int]:
    """Return the positions of matches in the order of their keys, if the keys can be compared."""
    if len(scored) < 2:
        return list(range(len(scored)))
    keys = [key for key, _ in scored]
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError:
        return list(range(len(keys)))

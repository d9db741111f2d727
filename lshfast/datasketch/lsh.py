"""MinHashLSH: datasketch's index, over the tables behind LSHIndex or over datasketch's layout on Redis."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from struct import pack
from typing import Any, Literal, cast, overload

import numpy as np

from lshfast.banding.bands import choose_bands
from lshfast.datasketch.entries import Entries, StoredEntries
from lshfast.datasketch.key_pickles import check_bytes, dumps, other_pickles, plain_loads, protocol_of
from lshfast.datasketch.memory_entries import MemoryEntries
from lshfast.datasketch.minhash import MinHash, check_int
from lshfast.datasketch.slots import Form, Sketches, with_attributes
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
from lshfast.tokens import check_number

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


class MinHashLSH:
    """Find the keys whose sketches are likely to be similar to a query's, as ``datasketch.MinHashLSH`` does.

    Sketches are cut into b bands of r slots; keys that agree with the query in all of a band are returned. b and r are
    those that datasketch 2.0 chooses, so that indexes it stored are read: the least weighted sum of the areas of false
    positives and false negatives. That finds but a third to two thirds of the pairs at the threshold;
    ``lshfast.LSHIndex(threshold, recall=0.95)`` is the better choice where nothing is stored yet.

    Parameters
    ----------
    threshold : float, default 0.9
        In [0, 1]. 1 and what comes close to it works too: one band of all slots.
    num_perm : int, default 128
        Slots of each sketch, at least 2.
    weights : (float, float), default (0.5, 0.5)
        Of false positives and false negatives, in [0, 1]; they sum to 1.
    params : (int, int), optional
        b and r themselves, at least 1 each; then threshold and weights do not count.
    storage_config : dict, optional
        ``{"type": "dict"}``, the default: in memory. ``{"type": "redis", "basename": b"...", "redis": {"host": ...,
        "port": ...}}``: on a Redis server in datasketch's own layout, so that what datasketch stored is found, and the
        other way round. Values may be ``{"env": NAME, "default": ...}``. Keys that are pickled objects of unusual
        kinds are read with ``"loads": pickle.loads``, which runs what the server's bytes say.
    prepickle : bool, optional
        Whether keys are pickled before they are stored; by default if the storage is Redis. Without it, keys on Redis
        must be bytes.
    hashfunc : callable, optional
        From bytes to bytes: makes the names of buckets shorter on Redis, and in what `get_counts` returns. In memory
        it changes no answer.

    Attributes
    ----------
    h, b, r : int
        num_perm, bands, and slots a band.
    hashranges : list of (int, int)
        The slots of each band: from, and up to but without.
    keys : OrderedStorage
        The keys as they are stored (pickled where `prepickle` is true), and of each the names of its buckets, band
        after band.
    hashtables : list of UnorderedStorage
        For each band, the names of its buckets, and of each the set of its keys.

    Notes
    -----
    Sketches are `MinHash`, `LeanMinHash` or `WeightedMinHash`, also those of an installed datasketch, whose values are
    the same. Those of a scheme, seed or kind other than the first's are refused. Empty sets' sketches find each other.
    Keys are any hashable objects.

    In memory, any number of threads may call anything. Sketches are not kept but their slots, 8 bytes each.

    In memory, `keys` and `hashtables` are made from the entries when they are first read, which takes as long as the
    entries take datasketch to insert, and as much memory; later changes are added when they are read again. The lists
    and sets that they return are the index's own, and not to be changed. An index whose `keys` or `hashtables` are
    changed by their methods (`insert`, `remove`, `remove_val`) has its entries in them from then on: its queries find
    what they hold, at datasketch's speed.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, MinHashLSH
    >>> sketches = {}
    >>> for key, tokens in {"a": range(100), "b": range(5, 100), "c": range(1000, 1100)}.items():
    ...     sketches[key] = MinHash(num_perm=128)
    ...     sketches[key].update_batch([str(token).encode() for token in tokens])
    >>> lsh = MinHashLSH(threshold=0.7, num_perm=128)
    >>> for key, sketch in sketches.items():
    ...     lsh.insert(key, sketch)
    >>> lsh.query(sketches["a"])
    ['a', 'b']
    >>> [(key, round(similarity, 1)) for key, similarity in lsh.query(sketches["a"], with_scores=True)]
    [('a', 1.0), ('b', 0.9)]
    >>> lsh.remove("b")
    >>> "b" in lsh, lsh.query(sketches["a"])
    (False, ['a'])
    >>> list(lsh.keys), [lsh.hashtables[band][name] for band, name in enumerate(lsh.keys["a"])][0]
    (['a', 'c'], {'a'})
    """

    keys: Any
    hashtables: list[Any]
    _entries: Entries
    h: int
    b: int
    r: int
    hashfunc: Callable[[bytes], bytes] | None
    hashranges: list[tuple[int, int]]

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
        self._make()

    def __new__(cls, *args: Any, **kwargs: Any) -> MinHashLSH:
        made = super().__new__(cls)
        # A subclass with storages of its own may have a constructor that does not call this class's, and sets h, b, r,
        # `keys` and `hashtables`. These are then used from the first call of a method on.
        made._config = {"type": "own"}
        made.prepickle, made.hashfunc = False, None
        made._begin(False)
        made._sketches = cast(Any, _Unmade(made, "_sketches"))
        made._entries = cast(Any, _Unmade(made, "_entries"))
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("keys", "hashtables"):  # storages of the program's own: used from the next call of a method on
            self._config = {"type": "own"}
            self._begin(False)
            self._entries = cast(Any, _Unmade(self, "_entries"))

    def _make(self) -> None:
        self._begin(self._config["type"] != "dict")
        self._sketches = Sketches(self.h)
        self._entries = self._new_entries()
        vars(self).update(keys=self._entries.keys, hashtables=list(self._entries.tables))
        self.hashranges = [(band * self.r, (band + 1) * self.r) for band in range(self.b)]

    def _begin(self, on_server: bool) -> None:
        self._learning = threading.Lock()
        self._asked: list[tuple[np.ndarray[Any, Any], Form]] = []
        self._redis = on_server
        self._loads = self._config.get("loads", plain_loads) if on_server else pickle.loads

    def _new_entries(self) -> Entries:
        if self._config["type"] == "dict":
            return MemoryEntries(self.h, self.b, self.r, self.hashfunc)
        name = self._config["basename"]
        if self._config["type"] == "redis":
            redis_entries = import_module("lshfast.datasketch.redis_entries")
            made: Entries = redis_entries.RedisEntries(self._config, name, self.b, self.r, self.hashfunc)
            return made
        # of a type that a program has added to `ordered_storage` and `unordered_storage`, which refuse all others
        tables = [unordered_storage(self._config, name + b"_bucket_" + pack(">H", band)) for band in range(self.b)]
        return StoredEntries(ordered_storage(self._config, name + b"_keys"), tables, self.r, self.hashfunc)

    def _use_storages(self) -> None:
        """Make `keys` and `hashtables`, which are storages already, the entries."""
        self._sketches = Sketches(self.h)
        self._entries = StoredEntries(self.keys, self.hashtables, self.r, self.hashfunc)
        self.hashranges = [(band * self.r, (band + 1) * self.r) for band in range(self.b)]

    def _byteswap(self, hs: np.ndarray[Any, Any]) -> bytes:
        """Return the bytes of hash values, the high bytes first."""
        return hs.astype(hs.dtype.newbyteorder(">")).tobytes()

    def _hashed_byteswap(self, hs: np.ndarray[Any, Any]) -> bytes:
        assert self.hashfunc is not None
        return self.hashfunc(self._byteswap(hs))

    def _H(self, hs: np.ndarray[Any, Any]) -> bytes:
        """Return the name of the bucket of a band's hash values, which datasketch calls H."""
        return self._byteswap(hs) if self.hashfunc is None else self._hashed_byteswap(hs)

    @property
    def buffer_size(self) -> int:
        """How many entries a session with a Redis server keeps until it sends them."""
        return self._entries.buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        if check_int(value, "buffer_size") < 1:
            raise ValueError(f"buffer_size must be at least 1, not {value}")
        self._entries.buffer_size = int(value)

    # ---- writing ----

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Insert a key and the sketch of its set.

        Parameters
        ----------
        key : hashable
        minhash : MinHash, LeanMinHash or WeightedMinHash
        check_duplication : bool, default True
            False: a key that is there already gets this sketch too, and is found by either.

        Raises
        ------
        ValueError
            If the key is there already, or the sketch cannot be compared with those held.
        TypeError
            If the key cannot be hashed, or this is no sketch.
        """
        self._insert(key, minhash, check_duplication, False)

    def _insert(self, key: Any, minhash: Any, check: bool, buffer: bool) -> None:
        row, form = self._sketches.read(minhash)
        stored, others = (key, ()) if not (self.prepickle or self._redis) else self._stored(key)
        if form is self._sketches.form:
            inserted = self._entries.insert(stored, row, form, check=check, buffer=buffer, others=others)
        else:
            with self._learning:  # the first, unless another thread's was
                self._learn(form)
                inserted = self._entries.insert(stored, row, form, check=check, buffer=buffer, others=others)
                if inserted:
                    self._sketches.form = form
        if not inserted:
            raise ValueError(f"The given key already exists: {key!r}")

    def _learn(self, form: Form) -> None:
        """Check that the first sketch met can be one of those held."""
        if self._sketches.form is not None:
            self._sketches.form.check_same(form)
        self._check_width(form)

    def _check_width(self, form: Form) -> None:
        if self._redis:
            form.check_width(self._entries.width())

    def _stored(self, key: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return a key as it is stored, and its further forms on a server."""
        if self.prepickle:
            return dumps(key), other_pickles(key) if self._redis else ()
        return check_bytes(key) if self._redis else key, ()

    def remove(self, key: Any) -> None:
        """Remove a key, with all sketches that it was inserted with.

        Parameters
        ----------
        key : hashable
            Where keys are pickled, one that pickles to the same bytes.

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
        if not (self.prepickle or self._redis):
            there = self._entries.remove(key, buffer=buffer)
        elif self._is_text_on_redis(key):
            there = False
        else:
            stored, others = self._stored(key)
            there = self._entries.remove(stored, buffer=buffer, others=others)
        if not there:
            raise ValueError(f"The given key does not exist: {key!r}")

    def _is_text_on_redis(self, key: Any) -> bool:
        """Tell whether a key cannot be on the server, as it is neither bytes nor pickled."""
        return self._redis and not self.prepickle and not isinstance(key, bytes)

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Insert all entries of another index.

        Parameters
        ----------
        other : MinHashLSH
        check_overlap : bool, default False
            Whether keys of both are an error. Otherwise they are found by the sketches of either.

        Raises
        ------
        ValueError
            If it is no MinHashLSH, has other numbers of slots, bands or rows, holds sketches that cannot be compared,
            or has a key of this one and `check_overlap` is true; then nothing was inserted. Also if it has a hashfunc
            and is on a server, which then holds no slots.
        """
        if type(self) is not type(other):
            raise ValueError(f"Cannot merge type {type(self).__name__} and type {type(other).__name__}.")
        if (self.h, self.b, self.r) != (other.h, other.b, other.r):
            mine, theirs = (self.h, self.b, self.r), (other.h, other.b, other.r)
            raise ValueError(f"Cannot merge indexes of other num_perm, b and r: {theirs} into {mine}")
        if other.hashfunc is not None and not other._has_all_slots:
            raise ValueError("the other index has a hashfunc and holds no slots: insert its sketches instead")
        own_form, form = self._sketches.form, other._sketches.form
        form = form or own_form
        if form is None:
            if not other.is_empty():
                raise ValueError("which sketches the server holds is not known: insert one, or find one by a query")
            return
        with self._learning:
            self._learn(form)
            if check_overlap:
                for key in other.keys:
                    if self._entries.holds(self._transferred(key, other)):
                        raise ValueError(f"The keys are overlapping: {other._given(key)!r} is in both.")
            self._sketches.form = form
        if other is self:
            return
        if isinstance(self._entries, MemoryEntries) and not other._has_all_slots:
            self._entries.release()
        for keys, rows in other._entries.rows(form):
            stored = keys if self.prepickle == other.prepickle else [self._transferred(key, other) for key in keys]
            if isinstance(self._entries, MemoryEntries):
                self._entries.insert_many(stored, rows, form)
                continue
            for key, row in zip(stored, rows, strict=True):
                self._entries.insert(key, row, form, check=False, buffer=self._entries.sends_batches)
        self._entries.flush()

    @property
    def _has_all_slots(self) -> bool:
        """Whether the entries have all their slots, and not only those that are in bands."""
        return isinstance(self._entries, MemoryEntries) and self._entries.has_rows

    def _transferred(self, key: Any, other: MinHashLSH) -> Any:
        """Return a key stored by another index as this one stores it."""
        return key if self.prepickle == other.prepickle else self._stored(other._given(key))[0]

    def insertion_session(self, buffer_size: int = BUFFER_SIZE) -> MinHashLSHInsertionSession:
        """Return a context that inserts: into Redis in pieces of `buffer_size` entries, which are there at its end.

        In memory each is there at once. What was inserted before an error stays.

        Parameters
        ----------
        buffer_size : int, default 50000
            Entries to keep back until they are sent, at least 1; it becomes the index's `buffer_size`.

        Raises
        ------
        TypeError, ValueError
            If it is no int, or less than 1.

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

    def deletion_session(self, buffer_size: int = BUFFER_SIZE) -> MinHashLSHDeletionSession:
        """Return a context that removes, as `insertion_session` inserts: `buffer_size` and errors are the same.

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
    def query(self, minhash: Any, with_scores: Literal[True]) -> list[tuple[Any, float]]: ...
    @overload
    def query(self, minhash: Any, with_scores: bool) -> list[Any]: ...
    def query(self, minhash: Any, with_scores: bool = False) -> list[Any]:
        """Return the keys that are likely to be similar.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash
        with_scores : bool, default False
            Return (key, similarity) instead, the most similar first: the share of equal slots, which estimates the
            (weighted) Jaccard similarity; of the first b r slots where the entries are on Redis.

        Returns
        -------
        list
            In memory, in the order of insertion.

        Raises
        ------
        ValueError
            If the sketch cannot be compared with those held.
        """
        row, form = self._asking(minhash) if self._redis else self._sketches.read(minhash)
        if with_scores:
            scored = self._each_once(self._entries.scored(row, form))
            return [scored[place] for place in sorted(_places(scored), key=lambda place: -scored[place][1])]
        found = self._entries.find(row, form)
        if not self._redis:
            return [self._loads(key) for key in found] if self.prepickle else found
        if found and self._sketches.form is None:  # what was stored before is of this form
            self._sketches.form = form
        return [key for key, _ in self._each_once([(key, 0.0) for key in found])] if self.prepickle else found

    def _each_once(self, scored: list[tuple[Any, float]]) -> list[tuple[Any, float]]:
        """Return keys as they were given, each once, with the greatest score of its stored forms."""
        if not self.prepickle:
            return scored
        given = [(self._loads(key), score) for key, score in scored]
        if len({protocol_of(key) for key, _ in scored}) < 2:
            return given
        best: dict[bytes, tuple[Any, float]] = {}
        for key, score in given:
            form = dumps(key)
            best[form] = (key, max(score, best.get(form, (key, 0.0))[1]))
        return list(best.values())

    def _asking(self, minhash: Any) -> tuple[np.ndarray[Any, Any], Form]:
        row, form = self._sketches.read(minhash)
        if self._redis and self._sketches.form is None:
            self._check_width(form)
        return row, form

    def _query_b(self, minhash: Any, b: int) -> set[Any]:
        """Return the stored keys that share one of the first b bands, as datasketch's method of this name does."""
        if b > self.b:
            raise ValueError(f"b must be at most {self.b}, the number of bands, not {b}")
        row, form = self._asking(minhash)
        names = map(self._H, np.split(form.values_of(row)[: b * self.r], b))
        return set().union(*(table.get(name) for table, name in zip(self.hashtables, names, strict=False)))

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Keep a query until `collect_query_buffer` is called."""
        self._asked.append(self._asking(minhash))

    def collect_query_buffer(self) -> list[Any]:
        """Return the keys that each of the queries kept finds, and forget these queries."""
        asked, self._asked = self._asked, []
        if not asked:
            return []
        for _, form in asked:
            if self._sketches.form is not None:
                self._sketches.form.check_same(form)
        common: dict[Any, None] = dict.fromkeys(self._entries.find(*asked[0]))
        for row, form in asked[1:]:
            found = set(self._entries.find(row, form))
            common = {key: None for key in common if key in found}
        return [key for key, _ in self._each_once([(key, 0.0) for key in common])]

    def __contains__(self, key: Any) -> bool:
        if not (self.prepickle or self._redis):
            return self._entries.holds(key)
        return not self._is_text_on_redis(key) and self._entries.holds(*self._stored(key))

    def is_empty(self) -> bool:
        """Tell whether there is no key."""
        return self._entries.is_empty()

    def get_counts(self) -> list[dict[bytes, int]]:
        """Return for each band a dict from the names of its buckets to the numbers of keys in them."""
        return [table.itemcounts() for table in self.hashtables]

    def get_subset_counts(self, *keys: Any) -> list[dict[bytes, int]]:
        """Return what `get_counts` does, counting these keys only.

        Keys that are not there are not counted.
        """
        counts: list[dict[bytes, int]] = [{} for _ in range(self.b)]
        stored = [form for key in set(keys) for one in [self._stored(key)] for form in (one[0], *one[1])]
        for names in self.keys.getmany(*stored):
            if len(names) <= self.b:
                for own, name in zip(counts, names, strict=False):
                    own[name] = own.get(name, 0) + 1
                continue
            for at, name in dict.fromkeys((at % self.b, name) for at, name in enumerate(names)):  # inserted repeatedly
                counts[at][name] = counts[at].get(name, 0) + 1
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
            "entries": self._entries.dump() if isinstance(self._entries, MemoryEntries) else None,
        }
        if self._config["type"] not in ("dict", "redis"):
            state["storages"] = self.keys, self.hashtables
        return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("version") != 1:
            raise ValueError("this is no pickle of an lshfast MinHashLSH of format 1")
        self.h, self.b, self.r = state["shape"]
        self._config, self.prepickle, self.hashfunc = state["config"], state["prepickle"], state["hashfunc"]
        if "storages" in state:
            vars(self).update(zip(("keys", "hashtables"), state["storages"], strict=True))
            self._begin(self._config["type"] != "own")
            self._use_storages()
        else:
            self._make()
        if state["form"] is not None:
            self._sketches.form = Form.of_state(state["form"])
        if isinstance(self._entries, MemoryEntries):
            form = self._sketches.form
            key_of = self._spelled_here if self.prepickle else None
            self._entries.load(state["entries"], form, key_of)
        vars(self).update(state.get("attributes", {}))

    def _spelled_here(self, stored: bytes) -> bytes:
        """Return a pickled key as this interpreter pickles it."""
        return stored if protocol_of(stored) == pickle.DEFAULT_PROTOCOL else dumps(pickle.loads(stored))


class _Unmade:
    """Placeholder for a part of an index whose class has a constructor of its own, until the part is first used."""

    __slots__ = ("_lsh", "_part")

    def __init__(self, lsh: MinHashLSH, part: str) -> None:
        object.__setattr__(self, "_lsh", lsh)
        object.__setattr__(self, "_part", part)

    def _made(self) -> Any:
        if not {"h", "b", "r", "keys", "hashtables"} <= vars(self._lsh).keys():
            raise AttributeError(f"the constructor of {type(self._lsh).__name__} was not run, or set no storages")
        self._lsh._use_storages()
        return getattr(self._lsh, self._part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._made(), name, value)


# The attributes of an index. All others were set by its user, and are pickled with it.
PARTS = frozenset(
    [
        "h",
        "b",
        "r",
        "prepickle",
        "hashfunc",
        "_config",
        "_learning",
        "_sketches",
        "_asked",
        "_redis",
        "_loads",
        "_entries",
        "keys",
        "hashtables",
        "hashranges",
    ]
)

WeightedMinHashLSH = MinHashLSH


class _Session:
    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()

    def close(self) -> None:
        """Send what was kept back."""
        self.lsh._entries.flush()


class MinHashLSHInsertionSession(_Session):
    """What `MinHashLSH.insertion_session` returns."""

    def __enter__(self) -> MinHashLSHInsertionSession:
        return self

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Insert a key and the sketch of its set, as ``MinHashLSH.insert`` does, and raise what that raises."""
        self.lsh._insert(key, minhash, check_duplication, True)


class MinHashLSHDeletionSession(_Session):
    """What `MinHashLSH.deletion_session` returns."""

    def __enter__(self) -> MinHashLSHDeletionSession:
        return self

    def remove(self, key: Any) -> None:
        """Remove a key, as ``MinHashLSH.remove`` does, and raise what that raises."""
        self.lsh._remove(key, True)


def check_num_perm(num_perm: int) -> int:
    """Return the number of slots of sketches, or raise an error that names the range."""
    if check_int(num_perm, "num_perm") < 2:
        raise ValueError(f"num_perm must be at least 2, not {num_perm}")
    return int(num_perm)


def bands_and_rows(
    threshold: float, num_perm: int, weights: tuple[float, float], params: tuple[int, int] | None
) -> tuple[int, int]:
    """Return the bands and rows that datasketch chooses, or `params` where they fit.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from lshfast.datasketch.lsh import bands_and_rows
    >>> bands_and_rows(0.9, 128, (0.5, 0.5), None)
    (5, 25)
    """
    check_weights(threshold, weights)
    if params is None:
        return _chosen(float(threshold), int(num_perm), tuple(map(float, weights)))
    b, r = params
    for name, value in (("b", b), ("r", r)):
        if check_int(value, f"{name} of params") < 1:
            raise ValueError(f"{name} of params must be at least 1, not {value}")
    if b * r > num_perm:
        raise ValueError(
            f"params (b, r) = ({b}, {r}) need b x r = {b * r} slots, but num_perm is {num_perm}: "
            f"choose smaller params, or give num_perm={b * r} and sketches of as many slots"
        )
    return int(b), int(r)


def check_weights(threshold: float, weights: Iterable[float]) -> None:
    """Raise ValueError unless the threshold is in [0, 1] and the weights are two, in [0, 1] and with the sum 1."""
    if not 0 <= check_number("threshold", threshold) <= 1:
        raise ValueError(f"threshold must be in [0, 1], not {threshold}")
    positive, negative = (check_number("weights", weight) for weight in weights)
    if not (0 <= positive <= 1 and 0 <= negative <= 1 and abs(positive + negative - 1) < 1e-9):
        raise ValueError(f"weights must be two numbers in [0, 1] whose sum is 1, not {weights}")


@lru_cache(maxsize=256)
def _chosen(threshold: float, num_perm: int, weights: tuple[float, float]) -> tuple[int, int]:
    if threshold == 0:  # everything is to be found
        return num_perm, 1
    choice = choose_bands(threshold, num_perm, weights=weights)
    return choice.bands, choice.rows


def _optimal_param(
    threshold: float, num_perm: int, false_positive_weight: float, false_negative_weight: float
) -> tuple[int, int]:
    """Return the bands and rows for a threshold, as `bands_and_rows` does, under datasketch's name."""
    return bands_and_rows(threshold, num_perm, (false_positive_weight, false_negative_weight), None)


def _places(scored: list[tuple[Any, float]]) -> list[int]:
    """Return the places of matches in the order of their keys, where they compare."""
    if len(scored) < 2:
        return list(range(len(scored)))
    keys = [key for key, _ in scored]
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError:
        return list(range(len(keys)))

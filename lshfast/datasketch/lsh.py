"""MinHashLSH: datasketch's index, as a face of the tables behind LSHIndex or of datasketch's layout on Redis."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from lshfast.datasketch.minhash import check_int
from lshfast.datasketch.slots import Form, Sketches, with_attributes
from lshfast.datasketch.storage import (
    BUFFER_SIZE,
    Entries,
    MemoryEntries,
    RedisEntries,
    check_storage,
    dumps,
    plain_loads,
    random_name,
)
from lshfast.lsh.bands import choose_bands
from lshfast.tokens import check_number


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
    keys : Keys
        What is stored, as a view.
    hashtables : list of Buckets
        The buckets of each band, as views.

    Notes
    -----
    Sketches are `MinHash`, `LeanMinHash` or `WeightedMinHash`, also those of an installed datasketch, whose values are
    the same. Those of a scheme, seed or kind other than the first's are refused. Empty sets' sketches find each other.
    Keys are any hashable objects.

    In memory, any number of threads may call anything. Sketches are not kept but their slots, 8 bytes each.

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
    """

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
        config = check_storage(storage_config)
        self.h = check_num_perm(num_perm)
        self.b, self.r = bands_and_rows(threshold, num_perm, weights, params)
        if hashfunc is not None and not callable(hashfunc):
            raise TypeError(f"hashfunc must be callable, not {hashfunc!r}")
        if not isinstance(config.get("basename", b""), bytes):
            raise TypeError(f"basename must be bytes, not {config['basename']!r}")
        redis = config["type"] == "redis"
        self.prepickle = redis if prepickle is None else bool(prepickle)
        self.hashfunc = hashfunc
        self._config = dict(config)
        if redis:
            self._config.setdefault("basename", random_name())
        self._make()

    def _make(self) -> None:
        self._learning = threading.Lock()
        self._sketches = Sketches(self.h)
        self._asked: list[tuple[np.ndarray[Any, Any], Form]] = []
        self._redis = self._config["type"] == "redis"
        self._loads = self._config.get("loads", plain_loads) if self._redis else pickle.loads
        self._entries: Entries
        if self._redis:
            self._entries = RedisEntries(self._config, self._config["basename"], self.b, self.r, self.hashfunc)
        else:
            self._entries = MemoryEntries(self.h, self.b, self.r, self.hashfunc)

    @property
    def hashranges(self) -> list[tuple[int, int]]:
        """The slots of each band: from, and up to but without."""
        return [(band * self.r, (band + 1) * self.r) for band in range(self.b)]

    @property
    def keys(self) -> Keys:
        """What is stored, as a view: iterates over the keys, and gives the names of the buckets of each.

        Keys are as they are stored: pickled where `prepickle` is true, as it is on Redis by default.

        Examples
        --------
        >>> from lshfast.datasketch import MinHash, MinHashLSH
        >>> lsh = MinHashLSH(num_perm=16, params=(4, 4))
        >>> lsh.insert("a", MinHash(num_perm=16))
        >>> list(lsh.keys), "a" in lsh.keys, len(lsh.keys["a"])
        (['a'], True, 4)
        """
        return Keys(self)

    @property
    def hashtables(self) -> list[Buckets]:
        """The buckets of each of the b bands, as views: each a mapping from the names of buckets to sets of keys.

        In memory they are made from all entries, and again after a change: for looking into, not for queries.

        Examples
        --------
        >>> from lshfast.datasketch import MinHash, MinHashLSH
        >>> lsh = MinHashLSH(num_perm=16, params=(4, 4))
        >>> for key, tokens in {"a": [b"x"], "b": [b"x"], "c": [b"y"]}.items():
        ...     sketch = MinHash(num_perm=16)
        ...     sketch.update_batch(tokens)
        ...     lsh.insert(key, sketch)
        >>> sorted(sorted(lsh.hashtables[0][name]) for name in lsh.hashtables[0])
        [['a', 'b'], ['c']]
        """
        return [Buckets(self, band) for band in range(self.b)]

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
        stored = key if not (self.prepickle or self._redis) else self._stored(key)
        if form is self._sketches.form:
            self._entries.insert(stored, row, form, check=check, buffer=buffer)
            return
        with self._learning:  # the first, unless another thread's was
            self._learn(form)
            self._entries.insert(stored, row, form, check=check, buffer=buffer)
            self._sketches.form = form

    def _learn(self, form: Form) -> None:
        """Check that the first sketch met can be one of those held."""
        if self._sketches.form is not None:
            self._sketches.form.check_same(form)
        self._check_width(form)

    def _check_width(self, form: Form) -> None:
        if isinstance(self._entries, RedisEntries):
            width = self._entries.width()
            if width not in (None, form.width):
                raise ValueError(f"the sketches on the server are of {width} bytes a slot, not {form.width}")

    def _stored(self, key: Any) -> Any:
        if self.prepickle:
            return dumps(key)
        if self._redis and not isinstance(key, bytes):
            raise TypeError(f"without prepickle, keys on Redis must be bytes, not {type(key).__name__}")
        return key

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
        if self._redis and not self.prepickle and not isinstance(key, bytes):
            raise ValueError(f"The given key does not exist: {key!r}")
        self._entries.remove(self._stored(key), buffer=buffer)

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
            or has a key of this one and `check_overlap` is true; then nothing was inserted. Also for a server's entries
            into memory where b r < num_perm or there is a hashfunc: the server does not hold all slots.
        """
        if type(self) is not type(other):
            raise ValueError(f"Cannot merge type {type(self).__name__} and type {type(other).__name__}.")
        if (self.h, self.b, self.r) != (other.h, other.b, other.r):
            mine, theirs = (self.h, self.b, self.r), (other.h, other.b, other.r)
            raise ValueError(f"Cannot merge indexes of other num_perm, b and r: {theirs} into {mine}")
        if other._redis and (other.hashfunc is not None or (not self._redis and self.b * self.r < self.h)):
            raise ValueError("the server holds the slots of b x r only, none with a hashfunc: insert sketches instead")
        form = other._sketches.form or self._sketches.form
        if form is None:
            if not other.is_empty():
                raise ValueError("which sketches the server holds is not known: insert one, or find one by a query")
            return
        with self._learning:
            self._learn(form)
            if check_overlap:
                for key in other.keys:
                    if self._transferred(key, other) in self._entries:
                        raise ValueError(f"The keys are overlapping: {other._given(key)!r} is in both.")
            self._sketches.form = form
        if other is not self:
            for key, row in other._entries.rows(form):
                self._entries.insert(self._transferred(key, other), row, form, check=False, buffer=self._redis)
            self._entries.flush()

    def _transferred(self, key: Any, other: MinHashLSH) -> Any:
        """Return a key stored by another index as this one stores it."""
        return key if self.prepickle == other.prepickle else self._stored(other._given(key))

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
            scored = [(self._given(key), score) for key, score in self._entries.scored(row, form)]
            return [scored[place] for place in sorted(_places(scored), key=lambda place: -scored[place][1])]
        found = self._entries.find(row, form)
        if self._redis and found and self._sketches.form is None:  # what was stored before is of this form
            self._sketches.form = form
        return [self._loads(key) for key in found] if self.prepickle else found

    def _asking(self, minhash: Any) -> tuple[np.ndarray[Any, Any], Form]:
        row, form = self._sketches.read(minhash)
        if self._redis and self._sketches.form is None:
            self._check_width(form)
        return row, form

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
        found = [self._entries.find(row, form) for row, form in asked]
        common = set(found[0]).intersection(*found[1:])
        return [self._given(key) for key in found[0] if key in common]

    def __contains__(self, key: Any) -> bool:
        if self._redis and not self.prepickle and not isinstance(key, bytes):
            return False
        return self._stored(key) in self._entries

    def is_empty(self) -> bool:
        """Tell whether there is no key."""
        return len(self._entries) == 0

    def get_counts(self) -> list[dict[bytes, int]]:
        """Return for each band a dict from the names of its buckets to the numbers of keys in them."""
        return [self._entries.counts(band, self._sketches.form) for band in range(self.b)]

    def get_subset_counts(self, *keys: Any) -> list[dict[bytes, int]]:
        """Return what `get_counts` does, counting these keys only."""
        counts: list[dict[bytes, int]] = [{} for _ in range(self.b)]
        for key in set(keys):
            names = self._entries.buckets_of(self._stored(key), self._sketches.form)
            for place, name in dict.fromkeys((at % self.b, name) for at, name in enumerate(names)):
                counts[place][name] = counts[place].get(name, 0) + 1
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
        return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("version") != 1:
            raise ValueError("this is no pickle of an lshfast MinHashLSH of format 1")
        self.h, self.b, self.r = state["shape"]
        self._config, self.prepickle, self.hashfunc = state["config"], state["prepickle"], state["hashfunc"]
        self._make()
        if state["form"] is not None:
            self._sketches.form = Form.of_state(state["form"])
        if isinstance(self._entries, MemoryEntries):
            self._entries.load(state["entries"])
        vars(self).update(state.get("attributes", {}))


# What an index is made of; what else it has was given to it, and is pickled with it.
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
    ]
)

WeightedMinHashLSH = MinHashLSH


class Keys:
    """The keys of a MinHashLSH as they are stored (pickled, if it pickles them), and the buckets of each."""

    def __init__(self, lsh: MinHashLSH) -> None:
        self._lsh = lsh

    def __len__(self) -> int:
        return len(self._lsh._entries)

    size = __len__

    @property
    def buffer_size(self) -> int:
        return self._lsh.buffer_size

    def __iter__(self) -> Iterator[Any]:
        return iter(self._lsh._entries.keys())

    def __contains__(self, key: Any) -> bool:
        return key in self._lsh._entries

    has_key = __contains__

    def keys(self) -> list[Any]:
        return self._lsh._entries.keys()

    def get(self, key: Any) -> list[bytes]:
        """Return the names of the buckets of a key, band after band; none if there is no such key."""
        return self._lsh._entries.buckets_of(key, self._lsh._sketches.form)

    __getitem__ = get

    def getmany(self, *keys: Any) -> list[list[bytes]]:
        return list(map(self.get, keys))

    def itemcounts(self) -> dict[Any, int]:
        """Return how many buckets each key is in."""
        return {key: len(self.get(key)) for key in self}


class Buckets:
    """The buckets of one band of a MinHashLSH, each a set of keys as they are stored.

    In memory they are made from the entries, and those that were looked into are kept until the next change.
    """

    def __init__(self, lsh: MinHashLSH, band: int) -> None:
        self._lsh, self._band = lsh, band

    def __len__(self) -> int:
        return len(self.itemcounts())

    size = __len__

    @property
    def buffer_size(self) -> int:
        return self._lsh.buffer_size

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.itemcounts())

    def __contains__(self, name: bytes) -> bool:
        return bool(self.get(name))

    has_key = __contains__

    def keys(self) -> list[bytes]:
        return list(self)

    def get(self, name: bytes) -> set[Any]:
        """Return the keys in a bucket; none if there is no such bucket."""
        return self._lsh._entries.bucket(self._band, name, self._lsh._sketches.form)

    __getitem__ = get

    def getmany(self, *names: bytes) -> list[set[Any]]:
        return list(map(self.get, names))

    def itemcounts(self) -> dict[bytes, int]:
        """Return how many keys each bucket holds."""
        return self._lsh._entries.counts(self._band, self._lsh._sketches.form)


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
        raise ValueError(f"b x r of params must be at most num_perm = {num_perm}, not {b} x {r} = {b * r}")
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


def _places(scored: list[tuple[Any, float]]) -> list[int]:
    """Return the places of matches in the order of their keys, where they compare."""
    if len(scored) < 2:
        return list(range(len(scored)))
    keys = [key for key, _ in scored]
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError:
        return list(range(len(keys)))


def missing(name: str) -> ImportError:
    """Return the error for a name of datasketch that this library does not have."""
    advice = {
        "HNSW": "a graph index of vectors is what hnswlib and faiss are for; of MinHash sketches, "
        "MinHashLSHForest returns the most similar",
        "AsyncMinHashLSH": "MinHashLSH with storage_config={'type': 'redis', ...} keeps entries on Redis; call it with "
        "asyncio.to_thread",
    }
    return ImportError(f"lshfast.datasketch has no {name}: {advice[name]}")

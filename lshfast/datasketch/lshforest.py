"""MinHashLSHForest: datasketch's forest, on top of LSHForest."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import cache, cached_property
from struct import Struct
from typing import Any, Literal, overload

import numpy.typing as npt

from lshfast._common.display import counted
from lshfast._common.types import UInt64Array
from lshfast.datasketch.lsh_parameters import ranges_of
from lshfast.datasketch.minhash import check_least
from lshfast.datasketch.slots import (
    Form,
    SketchReader,
    check_version,
    forget,
    rows_of,
    with_attributes,
)
from lshfast.index.forest import LSHForest

# The largest number of slots of a tree. More trees find more entries, but separate fewer.
DEPTH = 4

# The number of added keys that are inserted into the forest at once. Smaller batches cause more
# merges, larger batches leave more work to `index`.
BATCH = 1 << 10


class MinHashLSHForest:
    """Find the k keys whose sketches are most similar to a query.

    Results are better than datasketch's: they are sorted by descending similarity, and each
    of the true k best is found with probability at least 0.9 for any `l` (see
    ``lshfast.LSHForest``, which this class uses).

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a sketch, at least 1. Of longer sketches the first slots are used.
    l : int, default 8
        Trees, in 1..num_perm. ``l * (num_perm // l)`` slots are used. A query searches more than
        `l` trees internally.

    Attributes
    ----------
    l, k : int
        Trees, and slots of each tree.
    hashranges : list of (int, int)
        The first slot of each tree, and the slot after its last.
    keys : dict
        For each key a list of its hash values in each tree, as big-endian bytes.

    See Also
    --------
    lshfast.datasketch.MinHashLSH : Find similar sketches by bands.
    lshfast.LSHForest : An index that finds the k most similar sets.

    Notes
    -----
    Keys can be found after `index` was called once; keys added later can be found immediately. Any
    number of threads may call any method. Sketches of empty sets find each other. All sketches must
    have the same scheme, seed and kind.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, MinHashLSHForest
    >>> forest = MinHashLSHForest(num_perm=128)
    >>> sketches = {}
    >>> for key, tokens in {
    ...     "a": range(100),
    ...     "b": range(10, 110),
    ...     "c": range(50, 150),
    ... }.items():
    ...     sketches[key] = MinHash(num_perm=128)
    ...     sketches[key].update_batch([str(token).encode() for token in tokens])
    ...     forest.add(key, sketches[key])
    >>> forest.index()
    >>> forest.query(sketches["a"], 2)
    ['a', 'b']
    """

    k: int
    l: int  # noqa: E741
    hashranges: list[tuple[int, int]]

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741 (the peer's name)
        slots = check_least(num_perm, "num_perm")
        self.l = check_least(l, "l")
        if l > slots:
            raise ValueError(f"l must be at most num_perm = {num_perm}, not {l}")
        self.k = slots // self.l
        self._make()

    def _make(self) -> None:
        self.hashranges = ranges_of(self.l, self.k)
        self.keys: dict[Any, list[bytes]] = {}
        self._sketches = SketchReader(self.k * self.l, longer=True)
        # The keys, indexed by their numbers in the forest.
        self._numbers: list[Any] = []
        self._forest: LSHForest | None = None
        self._tables: list[defaultdict[bytes, list[Any]]] | None = None
        self._held = 0  # the number of keys in the forest
        self._indexed = 0  # the number of keys at the last index()
        self._lock = threading.RLock()

    # Both are created when they are first read; searches do not use them.

    @cached_property
    def hashtables(self) -> list[defaultdict[bytes, list[Any]]]:
        """For each tree, the keys in each bucket by its name, the bytes of its hash values."""
        with self._lock:
            if self._tables is None:
                self._tables = [defaultdict(list) for _ in range(self.l)]
                for key, names in self.keys.items():
                    self._put(key, names, self._tables)
            return self._tables

    @cached_property
    def sorted_hashtables(self) -> list[list[bytes]]:
        """For each tree, the sorted names of its buckets at the last `index`."""
        with self._lock:
            names = [self.keys[key] for key in self._numbers[: self._indexed]]
        return [
            sorted({key_names[tree] for key_names in names}) for tree in range(self.l)
        ]

    def add(self, key: Any, minhash: Any) -> None:
        """Add a key and the sketch of its set. The key can be found after `index` was called.

        Parameters
        ----------
        key : hashable
        minhash : MinHash, LeanMinHash or WeightedMinHash
            A sketch with at least ``l * k`` slots, of which the first ``l * k`` are copied.

        Raises
        ------
        ValueError
            If the key was added already, or the sketch is too short or cannot be compared with the
            others.
        TypeError
            If the key is not hashable, or `minhash` is not a sketch.

        Examples
        --------
        >>> from lshfast.datasketch import MinHash, MinHashLSHForest
        >>> forest, sketch = MinHashLSHForest(), MinHash()
        >>> sketch.update(b"a")
        >>> forest.add("key", sketch)
        >>> "key" in forest, forest.query(sketch, 1)
        (True, [])
        >>> forest.index()
        >>> forest.query(sketch, 1)
        ['key']
        """
        with self._lock:
            row, form = self._sketches.read(minhash)
            if key in self.keys:
                raise ValueError(f"The given key has already been added: {key!r}")
            names = self._names(minhash.hashvalues, row, form)
            self._numbers.append(key)
            self.keys[key] = names
            self._sketches.form = form
            if self._tables is not None:
                self._put(key, names, self._tables)
            if self._indexed or len(self._numbers) - self._held == BATCH:
                self._fill()

    @staticmethod
    def _put(
        key: Any, names: list[bytes], tables: list[defaultdict[bytes, list[Any]]]
    ) -> None:
        for table, name in zip(tables, names, strict=True):
            table[name].append(key)

    def _fill(self) -> None:
        """Insert the keys that are not in the forest yet; the caller holds the lock."""
        if self._forest is None:
            self._forest = LSHForest(
                self.k * self.l, trees=self.l * -(-self.k // DEPTH)
            )
        new = self._numbers[self._held :]
        if new and self._sketches.form is not None:
            form = self._sketches.form
            slots = self.k * self.l
            values = form.values_in([name for key in new for name in self.keys[key]])
            rows = rows_of(values.reshape(-1, slots, *values.shape[1:]), form)
            self._forest.insert(range(self._held, len(self._numbers)), rows)
            self._held = len(self._numbers)

    def _names(self, values: Any, row: UInt64Array, form: Form) -> list[bytes]:
        """Return the names of the buckets of hash values; `row` is their row."""
        if values.dtype is not form.dtype or sys.byteorder != "little":
            return form.buckets_of(row, self.l, self.k)
        return [
            *_splitter(self.k * form.width, self.l)(
                values[: self.k * self.l].byteswap().tobytes()
            )
        ]

    def index(self) -> None:
        """Make all keys searchable, including keys that are added later."""
        with self._lock:
            self._fill()
            self._indexed = len(self._numbers)
            forget(self, "sorted_hashtables")

    @overload
    def query(
        self, minhash: Any, k: int, with_scores: Literal[False] = False
    ) -> list[Any]: ...
    @overload
    def query(
        self, minhash: Any, k: int, with_scores: Literal[True]
    ) -> list[tuple[Any, float]]: ...
    @overload
    def query(self, minhash: Any, k: int, with_scores: bool) -> list[Any]: ...
    def query(self, minhash: Any, k: int, with_scores: bool = False) -> list[Any]:
        """Return the k most similar keys.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash
        k : int
            At least 1.
        with_scores : bool, default False
            Return pairs (key, similarity). The similarity is the fraction of equal slots.

        Returns
        -------
        list
            At most k keys or pairs, by descending similarity.

        Raises
        ------
        ValueError
            If k is less than 1, or the sketch is too short or cannot be compared with the others.
        """
        k = check_least(k, "k")
        row = self._sketches.row(minhash)
        if not self._indexed:
            return []
        if self._forest is None:  # after it was read from a pickle
            with self._lock:
                self._fill()
        assert self._forest is not None
        matches = self._forest.query(row, k)
        keys = self._numbers
        if with_scores:
            return [(keys[number], similarity) for number, similarity in matches]
        return [keys[match.key] for match in matches]

    def get_minhash_hashvalues(self, key: Any) -> npt.NDArray[Any]:
        """Return the used hash values of a key.

        Their shape is ``(l * k,)``, or ``(l * k, 2)`` for a weighted sketch.

        Raises
        ------
        KeyError
            If there is no such key.
        """
        names = self.keys.get(key)
        form = self._sketches.form
        if names is None or form is None:
            raise KeyError(f"The provided key does not exist in the LSHForest: {key}")
        return form.values_in(names)

    def is_empty(self) -> bool:
        """Return whether there is no key that can be found."""
        return not self._indexed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(len(self.keys), 'key')}, l={self.l}, k={self.k})"

    def __contains__(self, key: Any) -> bool:
        return key in self.keys

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            form = self._sketches.form
            state = {
                "version": 1,
                "shape": (self.k, self.l),
                "keys": list(self.keys),
                "form": None if form is None else form.state,
                "names": b"".join(
                    name for names in self.keys.values() for name in names
                ),
                "indexed": self._indexed,
            }
            return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state, "MinHashLSHForest", 1)
        self.k, self.l = state["shape"]
        self._make()
        vars(self).update(state.get("attributes", {}))
        if state["form"] is None:
            return
        form = self._sketches.form = Form.of_state(state["form"])
        self._numbers = list(state["keys"])
        self._indexed = state["indexed"]
        names = state["names"]
        size = self.k * form.width
        starts = range(0, len(names), size)
        parts = iter([names[start : start + size] for start in starts])
        self.keys = dict(
            zip(
                self._numbers,
                map(list, zip(*[parts] * self.l, strict=True)),
                strict=True,
            )
        )


@cache
def _splitter(size: int, count: int) -> Callable[[bytes], tuple[bytes, ...]]:
    """Return a function that splits bytes into `count` parts of `size`, twice as fast as slices."""
    return Struct(f"{size}s" * count).unpack


# The attributes of a forest. All others were set by the user, and are pickled with it.
PARTS = frozenset(vars(MinHashLSHForest(1, 1))) | {"hashtables", "sorted_hashtables"}

WeightedMinHashLSHForest = MinHashLSHForest

"""MinHashLSHForest: datasketch's forest, as a face of LSHForest."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.datasketch.minhash import check_int
from lshfast.datasketch.slots import Form, Sketches, rows_of, with_attributes
from lshfast.lsh.forest import LSHForest
from lshfast.tokens import UInt64Array

# Slots of a tree at most: more trees find more, and tell fewer entries apart.
DEPTH = 4


class MinHashLSHForest:
    """Find the k keys whose sketches are the most similar to a query's, as ``datasketch.MinHashLSHForest`` does.

    The answer is better than that of datasketch: the most similar of the k come first, and each of the true k best is
    found with probability 0.9 or more (see ``lshfast.LSHForest``, which this is a face of), whatever `l` is.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a sketch, at least 1; longer sketches are cut.
    l : int, default 8
        Trees, in 1..num_perm. ``l * (num_perm // l)`` slots are used. More trees than that are looked into.

    Attributes
    ----------
    l, k : int
        Trees, and slots of each.
    keys : dict
        The hash values of each key.

    Notes
    -----
    Keys cannot be found before `index` was called once; those added later can be found at once. Any number of threads
    may call anything. Empty sets' sketches find each other. Sketches are of one scheme, seed and kind.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, MinHashLSHForest
    >>> forest = MinHashLSHForest(num_perm=128)
    >>> sketches = {}
    >>> for key, tokens in {"a": range(100), "b": range(10, 110), "c": range(50, 150)}.items():
    ...     sketches[key] = MinHash(num_perm=128)
    ...     sketches[key].update_batch([str(token).encode() for token in tokens])
    ...     forest.add(key, sketches[key])
    >>> forest.index()
    >>> forest.query(sketches["a"], 2)
    ['a', 'b']
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741 (the peer's name)
        for name, value in (("num_perm", num_perm), ("l", l)):
            if check_int(value, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if l > num_perm:
            raise ValueError(f"l must be at most num_perm = {num_perm}, not {l}")
        self.l, self.k = int(l), int(num_perm) // int(l)
        self.keys: dict[Any, npt.NDArray[Any]] = {}
        self._make()

    def _make(self) -> None:
        slots = self.k * self.l
        self._sketches = Sketches(slots, longer=True)
        self._forest = LSHForest(slots, trees=self.l * -(-self.k // DEPTH))
        self._numbers: dict[int, Any] = {}  # the keys by their numbers in the forest
        self._waiting: list[tuple[int, UInt64Array]] | None = []  # None after the first index()
        self._lock = threading.RLock()

    @property
    def hashranges(self) -> list[tuple[int, int]]:
        """The slots of each tree: from, and up to but without."""
        return [(tree * self.k, (tree + 1) * self.k) for tree in range(self.l)]

    def add(self, key: Any, minhash: Any) -> None:
        """Add a key and the sketch of its set; it can be found after `index` was called.

        Parameters
        ----------
        key : hashable
        minhash : MinHash, LeanMinHash or WeightedMinHash
            Of ``l * k`` slots or more, of which the first ``l * k`` are copied: it may be updated afterwards.

        Raises
        ------
        ValueError
            If the key was added already, or the sketch is too short or cannot be compared with the others.
        TypeError
            If the key cannot be hashed, or this is no sketch.

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
            number = len(self.keys)
            self._numbers[number] = key
            if self._waiting is None:
                self._forest.insert(number, row)
            else:
                self._waiting.append((number, row))
            self.keys[key] = np.array(minhash.hashvalues[: self.k * self.l])
            self._sketches.form = form

    def index(self) -> None:
        """Make all keys added so far searchable, and those that are added later."""
        with self._lock:
            if self._waiting and self.keys:
                numbers = np.array([number for number, _ in self._waiting])
                self._forest.insert(numbers, np.array([row for _, row in self._waiting]))
            if self.keys:
                self._waiting = None

    def query(self, minhash: Any, k: int, with_scores: bool = False) -> list[Any]:
        """Return the k most similar keys.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash
        k : int
            At least 1.
        with_scores : bool, default False
            Return (key, similarity) instead: the share of equal slots.

        Returns
        -------
        list
            At most k, the most similar first.

        Raises
        ------
        ValueError
            If k is less than 1, or the sketch is too short or cannot be compared with the others.
        """
        if check_int(k, "k") < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        found = self._forest.query(self._sketches.row(minhash), int(k))
        numbers = self._numbers
        if with_scores:
            return [(numbers[number], similarity) for number, similarity in found]
        return [numbers[match.key] for match in found]

    def get_minhash_hashvalues(self, key: Any) -> npt.NDArray[Any]:
        """Return the hash values of a key, as many as are used: ``(l * k,)``, or ``(l * k, 2)`` of a weighted sketch.

        Raises
        ------
        KeyError
            If there is no such key.
        """
        values = self.keys.get(key)
        if values is None:
            raise KeyError(f"The provided key does not exist in the LSHForest: {key}")
        return values.copy()

    def is_empty(self) -> bool:
        """Tell whether there is no key that can be found."""
        return len(self._forest) == 0

    def __contains__(self, key: Any) -> bool:
        return key in self.keys

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            form, values = self._sketches.form, list(self.keys.values())
            state = {
                "version": 1,
                "shape": (self.k, self.l),
                "keys": list(self.keys),
                "form": None if form is None else form.state,
                "values": b"" if form is None else form.to_bytes(np.array(values)),
                "indexed": self._waiting is None,
            }
            return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("version") != 1:
            raise ValueError("this is no pickle of an lshfast MinHashLSHForest of format 1")
        self.k, self.l = state["shape"]
        self.keys = {}
        self._make()
        vars(self).update(state.get("attributes", {}))
        if state["form"] is None:
            return
        form = self._sketches.form = Form.of_state(state["form"])
        values = form.of_bytes(state["values"], self.k * self.l)
        self.keys = dict(zip(state["keys"], values, strict=True))
        self._numbers = dict(enumerate(state["keys"]))
        self._waiting = list(enumerate(rows_of(values, form)))
        if state["indexed"]:
            self.index()


# What a forest is made of; what else it has was given to it, and is pickled with it.
PARTS = frozenset(["l", "k", "keys", "_sketches", "_forest", "_numbers", "_waiting", "_lock"])

WeightedMinHashLSHForest = MinHashLSHForest

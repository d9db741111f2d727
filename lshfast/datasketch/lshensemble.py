"""MinHashLSHEnsemble: datasketch's containment index, as a face of LSHEnsemble."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.datasketch.lsh import check_num_perm, check_weights
from lshfast.datasketch.minhash import check_int
from lshfast.datasketch.slots import Form, Sketches, rows_of, with_attributes
from lshfast.datasketch.storage import check_storage
from lshfast.lsh.ensemble import LSHEnsemble
from lshfast.tokens import Int64Array, UInt64Array

# Standard errors by which the equal slots of an entry may fall short of the number expected at the threshold: 14 in 15
# entries that just reach the threshold are found, and the precision is above that of datasketch.
SLACK = 1.5

# The share of these that searches meet.
RECALL = 0.99


class MinHashLSHEnsemble:
    """Find the keys whose sets contain most of a query, as ``datasketch.MinHashLSHEnsemble`` does.

    It is a face of ``lshfast.LSHEnsemble``, which estimates how much of the query each candidate contains and leaves
    out those that contain too little by far, and it finds more of what it should.

    Parameters
    ----------
    threshold : float, default 0.9
        The least containment |Q & X| / |Q|, in [0, 1].
    num_perm : int, default 128
        Slots of each sketch, at least 2.
    num_part : int, default 16
        Partitions by size, at least 1.
    m : int, default 8
        In 2..num_perm: what datasketch would spend on memory. It changes nothing here.
    weights : (float, float), default (0.5, 0.5)
        As for `MinHashLSH`. They change nothing here: sets that reach the threshold are searched for with a recall of
        0.95, as far as the trees reach.
    storage_config : dict, optional
        ``{"type": "dict"}``: in memory, the only one. (What datasketch leaves of an ensemble on Redis does not say how
        it is partitioned, so that no other process can query it.)
    prepickle : bool, optional
        Taken, and without effect: keys are given back as they were inserted.

    Notes
    -----
    Any number of threads may query. Empty sets' sketches find each other.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, MinHashLSHEnsemble
    >>> entries = []
    >>> for key, tokens in {"most": range(90), "all": range(150), "other": range(500, 900)}.items():
    ...     minhash = MinHash(num_perm=128)
    ...     minhash.update_batch([str(token).encode() for token in tokens])
    ...     entries.append((key, minhash, len(tokens)))
    >>> ensemble = MinHashLSHEnsemble(threshold=0.8, num_perm=128)
    >>> ensemble.index(entries)
    >>> sorted(ensemble.query(entries[0][1], 90))
    ['all', 'most']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        check_weights(threshold, weights)
        self.threshold = float(threshold)
        self.h = check_num_perm(num_perm)
        if check_int(num_part, "num_part") < 1:
            raise ValueError(f"num_part must be at least 1, not {num_part}")
        if not 2 <= check_int(m, "m") <= num_perm:
            raise ValueError(f"m must be in 2..num_perm = {num_perm}, not {m}")
        if check_storage(storage_config)["type"] != "dict":
            raise ValueError("an ensemble is kept in memory (storage_config type 'dict'); pickle it to keep it longer")
        self.m, self.num_part = int(m), int(num_part)
        self._make()

    def _make(self) -> None:
        self._sketches = Sketches(self.h)
        self._ensemble = LSHEnsemble(max(self.threshold, 1e-3), self.h, partitions=self.num_part, recall=RECALL, slack=SLACK)
        self._keys: list[Any] = []
        self._values: npt.NDArray[Any] = np.empty((0, self.h), np.uint32)
        self._sizes = np.empty(0, np.int64)
        self._numbers: dict[Any, int] = {}
        self._lock = threading.Lock()

    def index(self, entries: Iterable[tuple[Any, Any, int]]) -> None:
        """Insert all sets, once.

        Parameters
        ----------
        entries : iterable of (key, sketch, size)
            A hashable key, a MinHash or LeanMinHash of num_perm slots, which is copied, and the number of distinct
            elements of the set, an int of at least 1.

        Raises
        ------
        TypeError
            If a key cannot be hashed, a size is no int, or something is no sketch. Then nothing was inserted.
        ValueError
            If there are entries already, or none are given; if a size is less than 1, a key comes twice, or a sketch
            has another number of slots or cannot be compared with the others. Then nothing was inserted.

        Examples
        --------
        >>> from lshfast.datasketch import MinHash, MinHashLSHEnsemble
        >>> a, b = MinHash.bulk([[b"x", b"y"], [b"z"]])
        >>> ensemble = MinHashLSHEnsemble()
        >>> ensemble.index([("a", a, 2), ("b", b, 1)])
        >>> list(ensemble.query(a, 2)), "b" in ensemble
        (['a'], True)
        """
        with self._lock:
            if self._keys:
                raise ValueError("Cannot call index again on a non-empty index")
            sketches = Sketches(self.h)
            numbers: dict[Any, int] = {}
            rows: list[UInt64Array] = []
            sizes: list[int] = []
            for key, minhash, size in entries:
                sizes.append(_check_size(size))
                row, sketches.form = sketches.read(minhash)
                if numbers.setdefault(key, len(rows)) != len(rows):
                    raise ValueError(f"The given key already exists: {key!r}")
                rows.append(row)
            if not rows:
                raise ValueError("entries is empty")
            assert sketches.form is not None
            joined = np.array(rows)
            self._fill(list(numbers), joined, sketches.form.values_of(joined), np.array(sizes, np.int64), sketches)

    def _fill(
        self, keys: list[Any], rows: UInt64Array, values: npt.NDArray[Any], sizes: Int64Array, sketches: Sketches
    ) -> None:
        self._ensemble.insert(range(len(rows)), rows, sizes)
        self._keys, self._numbers = keys, {key: number for number, key in enumerate(keys)}
        self._values, self._sizes, self._sketches = values, sizes, sketches

    def query(self, minhash: Any, size: int, with_scores: bool = False) -> Iterator[Any]:
        """Give the keys whose sets contain about the threshold of the query or more, each once, the likeliest first.

        Parameters
        ----------
        minhash : MinHash or LeanMinHash
        size : int
            Elements of the query's set, at least 1.
        with_scores : bool, default False
            Give (key, estimated containment) instead.

        Yields
        ------
        key, or (key, float in [0, 1])

        Raises
        ------
        TypeError, ValueError
            If the size is no int of at least 1, or the sketch is none, has another number of slots, or cannot be
            compared with those held; when the first key is asked for.
        """
        size = _check_size(size)
        row = self._sketches.row(minhash)
        if self.is_empty():
            return
        for number, containment in self._ensemble.query(row, size):
            yield (self._keys[number], containment) if with_scores else self._keys[number]

    def __contains__(self, key: Any) -> bool:
        return key in self._numbers

    def is_empty(self) -> bool:
        """Tell whether there are no entries."""
        return not self._keys

    def __getstate__(self) -> dict[str, Any]:
        form = self._sketches.form
        state = {
            "version": 1,
            "threshold": self.threshold,
            "shape": (self.h, self.num_part, self.m),
            "keys": self._keys,
            "form": None if form is None else form.state,
            "values": b"" if form is None else form.to_bytes(self._values),
            "sizes": self._sizes.tolist(),
        }
        return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("version") != 1:
            raise ValueError("this is no pickle of an lshfast MinHashLSHEnsemble of format 1")
        self.threshold = state["threshold"]
        self.h, self.num_part, self.m = state["shape"]
        self._make()
        vars(self).update(state.get("attributes", {}))
        if state["form"] is not None:
            sketches = Sketches(self.h)
            form = sketches.form = Form.of_state(state["form"])
            values = form.of_bytes(state["values"], self.h)
            self._fill(state["keys"], rows_of(values, form), values, np.array(state["sizes"], np.int64), sketches)


# What an ensemble is made of; what else it has was given to it, and is pickled with it.
PARTS = frozenset(
    ["threshold", "h", "m", "num_part", "_sketches", "_ensemble", "_keys", "_values", "_sizes", "_numbers", "_lock"]
)


def _check_size(size: int) -> int:
    if check_int(size, "the size of a set") < 1:
        raise ValueError(f"Set size must be positive, not {size}")
    return int(size)

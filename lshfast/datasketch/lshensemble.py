"""MinHashLSHEnsemble: datasketch's containment index, on top of LSHEnsemble."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.display import counted
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.datasketch.lean_minhash import LeanMinHash
from lshfast.datasketch.lsh import MinHashLSH, check_num_perm, check_weights
from lshfast.datasketch.lshensemble_partition import optimal_partitions
from lshfast.datasketch.lshensemble_search import Search, cutoffs_of
from lshfast.datasketch.lshensemble_stored import Bounds, StoredSets, empty_indexes
from lshfast.datasketch.minhash import check_int, check_least
from lshfast.datasketch.slots import (
    Form,
    SketchReader,
    check_version,
    forget,
    rows_of,
    with_attributes,
)
from lshfast.datasketch.storage import check_storage, random_name
from lshfast.sketch.minhash import EMPTY


class MinHashLSHEnsemble:
    """Find the keys whose sets contain most of a query, like ``datasketch.MinHashLSHEnsemble``.

    A set is returned if enough of its slots equal those of the query. The required number follows
    from `lowers`, `uppers`, `xqs` and `params`, as in datasketch: a set that reaches the threshold
    is found at least as often as in datasketch. The precision is higher, because all equal slots
    are counted; see Notes.

    Parameters
    ----------
    threshold : float, default 0.9
        The minimum containment |Q & X| / |Q|, in [0, 1].
    num_perm : int, default 128
        Slots of each sketch, at least 2.
    num_part : int, default 16
        Partitions by size, at least 1.
    m : int, default 8
        In 2..num_perm: the largest number of rows of a band in `params`. It does not affect the
        memory.
    weights : (float, float), default (0.5, 0.5)
        As for `MinHashLSH`.
    storage_config : dict, optional
        As for `MinHashLSH`. On Redis, the entries have datasketch's layout, and an ensemble with
        the same parameters and basename finds them in any process.
    prepickle : bool, optional
        As for `MinHashLSH` on Redis. No effect in memory.

    Attributes
    ----------
    threshold, h, m : float, int, int
        As given; h is num_perm.
    lowers, uppers : list of int or None, shape (num_part,)
        The smallest and the greatest size of the sets in each of datasketch's partitions; None for
        a missing partition.
    xqs : ndarray of float64, shape (10,)
        Ratios of the size of a set to the size of the query.
    params : ndarray of int64, shape (10, 2)
        The bands and rows (b, r) that datasketch chooses for each ratio.
    indexes : list of dict of MinHashLSH
        For each partition a dict from r to an index of its sets. In memory, they are created when
        they are read.

    See Also
    --------
    lshfast.datasketch.MinHashLSH : Find similar sketches by bands.
    lshfast.LSHEnsemble : An index that finds sets that contain most of a query.

    Notes
    -----
    datasketch finds a set of Jaccard similarity s with probability 1 - (1 - s**r)**b, where (b, r)
    is taken from `params` for the size of the query and the upper size of the set's partition. This
    class counts the equal slots of both sketches. It returns the set if their number is at least
    the greatest number that a set at the threshold reaches with that probability. With this rule a
    set that reaches the threshold is found at least as often as by datasketch, and a set below the
    threshold is returned at most as often. At high thresholds the probability is small. Then a set
    is also returned if the number of its equal slots is at most 0.8 standard errors below the
    number expected at the threshold, and a set that contains half as much would have that many
    equal slots with probability 0.001 or less.

    `index` and the reading of a pickle sort the sketches into trees, so that the first query is as
    fast as the others. Queries do not use `indexes`, which exists for programs that read it. On
    Redis there are no trees: queries use `indexes`, find the sets that datasketch finds, and return
    no scores. Any number of threads may query. Sketches of empty sets find each other.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, MinHashLSHEnsemble
    >>> entries = []
    >>> for key, tokens in {
    ...     "most": range(90),
    ...     "all": range(150),
    ...     "other": range(500, 900),
    ... }.items():
    ...     minhash = MinHash(num_perm=128)
    ...     minhash.update_batch([str(token).encode() for token in tokens])
    ...     entries.append((key, minhash, len(tokens)))
    >>> ensemble = MinHashLSHEnsemble(threshold=0.8, num_perm=128)
    >>> ensemble.index(entries)
    >>> sorted(ensemble.query(entries[0][1], 90))
    ['all', 'most']
    """

    threshold: float
    h: int
    m: int
    num_part: int

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
        self.num_part = check_least(num_part, "num_part")
        if not 2 <= check_int(m, "m") <= num_perm:
            raise ValueError(f"m must be in 2..num_perm = {num_perm}, not {m}")
        self.m = int(m)
        self._weights = weights
        self._config = dict(check_storage(storage_config))
        self._prepickle = prepickle
        if self._config["type"] != "dict":
            self._config.setdefault("basename", random_name())
        self._make()

    def _make(self) -> None:
        self._sketches = SketchReader(self.h)
        self._keys: list[Any] = []
        self._values: npt.NDArray[Any] = np.empty((0, self.h), np.uint32)
        self._sizes = np.empty(0, np.int64)
        self._bounds = bounds_of(self._sizes, self.num_part)
        self._numbers: dict[Any, int] = {}
        self._search: Search | None = None
        self._lock = threading.Lock()
        self._stored: StoredSets | None = None
        if self._config["type"] != "dict":
            self._stored = StoredSets(
                self._config, self.h, self.num_part, self._rows(), self._prepickle
            )
            self.indexes = self._stored.indexes

    def index(self, entries: Iterable[tuple[Any, Any, int]]) -> None:
        """Insert all sets. This method can only be called once.

        Parameters
        ----------
        entries : iterable of (key, sketch, size)
            A hashable key; a MinHash or LeanMinHash with num_perm slots, which is copied; the
            number of distinct elements of the set, an int of at least 1.

        Raises
        ------
        TypeError
            If a key is not hashable, a size is not an int, or a sketch is not a sketch. Then
            nothing is inserted.
        ValueError
            If the ensemble has entries already, or `entries` is empty; if a size is less than 1, a
            key is repeated, or a sketch has another number of slots or cannot be compared with the
            others. Then nothing is inserted.
        redis.RedisError
            If the server cannot be reached. Then it may have some of the entries.

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
            if not self.is_empty():
                raise ValueError("Cannot call index again on a non-empty index")
            sketches = SketchReader(self.h)
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
            values = np.array(rows)
            if (values[:, 0] == EMPTY).any():
                raise ValueError(
                    f"the first hash value of a sketch must be less than {EMPTY}, unless the set "
                    "is empty"
                )
            self._fill(
                list(numbers),
                sketches.form.values_of(values),
                np.array(sizes, np.int64),
                sketches,
            )

    def _fill(
        self,
        keys: list[Any],
        values: npt.NDArray[Any],
        sizes: Int64Array,
        sketches: SketchReader,
    ) -> None:
        assert sketches.form is not None
        bounds = bounds_of(sizes, self.num_part)
        if self._stored is not None:
            self._stored.insert(
                self._indexes(keys, values, sizes, sketches.form, bounds), bounds
            )
            return
        uppers = np.array([upper for _, upper in bounds if upper is not None], np.int64)
        self._cutoffs()  # computed once for these parameters
        self._search = Search(rows_of(values, sketches.form), sizes, uppers)
        forget(self, "lowers", "uppers", "indexes")
        self._numbers = {key: number for number, key in enumerate(keys)}
        self._values = values
        self._sizes = sizes
        self._sketches = sketches
        self._bounds = bounds
        self._keys = keys  # the ensemble has entries from here on

    def _cutoffs(self) -> npt.NDArray[np.int64]:
        return cutoffs_of(tuple(map(tuple, self.params.tolist())), self.h)

    def _rows(self) -> list[int]:
        rows: list[int] = np.unique(self.params[:, 1]).tolist()
        return rows

    def _indexes(
        self,
        keys: list[Any],
        values: npt.NDArray[Any],
        sizes: Int64Array,
        form: Form | None,
        bounds: Bounds,
    ) -> list[dict[int, MinHashLSH]]:
        """Return indexes in memory: for each partition a dict from r to an index of its sets."""
        indexes = empty_indexes(self.h, self.num_part, self._rows())
        if form is not None:
            parts = np.searchsorted(
                [upper for _, upper in bounds if upper is not None], sizes
            ).tolist()
            for key, row, part in zip(keys, values, parts, strict=True):
                sketch = LeanMinHash(seed=form.seed, hashvalues=row, scheme=form.scheme)  # type: ignore[arg-type]
                sketch._given = form.permutations
                for index in indexes[part].values():
                    index.insert(key, sketch, check_duplication=False)
        return indexes

    def _partitions(self) -> Bounds:
        return self._bounds if self._stored is None else self._stored.bounds()

    @cached_property
    def lowers(self) -> list[Any]:
        """The smallest size of the sets in each partition."""
        return [lower for lower, _ in self._partitions()]

    @cached_property
    def uppers(self) -> list[Any]:
        """The greatest size of the sets in each partition."""
        return [upper for _, upper in self._partitions()]

    @cached_property
    def xqs(self) -> npt.NDArray[np.float64]:
        """Ratios of the size of a set to the size of the query."""
        return np.exp(np.linspace(-5, 5, 10))

    @cached_property
    def params(self) -> npt.NDArray[np.int64]:
        """The bands and rows (b, r) for each of `xqs`."""
        return np.array(
            _params(
                self.threshold, self.h, self.m, tuple(self.xqs.tolist()), self._weights
            ),
            np.int64,
        )

    @cached_property
    def indexes(self) -> list[dict[int, MinHashLSH]]:
        """For each partition, a dict from r to an index of its sets."""
        return self._indexes(
            self._keys, self._values, self._sizes, self._sketches.form, self._bounds
        )

    @overload
    def query(
        self, minhash: Any, size: int, with_scores: Literal[False] = False
    ) -> Iterator[Any]: ...
    @overload
    def query(
        self, minhash: Any, size: int, with_scores: Literal[True]
    ) -> Iterator[tuple[Any, float]]: ...
    @overload
    def query(self, minhash: Any, size: int, with_scores: bool) -> Iterator[Any]: ...
    def query(
        self, minhash: Any, size: int, with_scores: bool = False
    ) -> Iterator[Any]:
        """Yield the keys whose sets contain about the threshold of the query or more.

        Each key is yielded once, the most likely first.

        Parameters
        ----------
        minhash : MinHash or LeanMinHash
        size : int
            Elements of the query's set, at least 1.
        with_scores : bool, default False
            Yield pairs (key, estimated containment).

        Yields
        ------
        key, or (key, float in [0, 1])

        Raises
        ------
        TypeError, ValueError
            If the size is not an int of at least 1, or the sketch is not a sketch, has another
            number of slots, or cannot be compared with the stored sketches; if scores are requested
            of an ensemble on Redis, or its entries there are of other parameters. Raised when the
            first key is requested.
        """
        size = _check_size(size)
        if self._stored is not None:
            if with_scores:
                raise ValueError(
                    "with_scores needs the sizes of the sets, which an ensemble on Redis does not "
                    "store"
                )
            yield from self._stored.find(minhash, size, self.xqs, self.params)
            return
        row = self._sketches.row(minhash)
        if self._search is None:
            return
        numbers, containments = self._search.query(
            row, size, self.threshold, self.xqs, self._cutoffs()
        )
        for number, containment in zip(
            numbers.tolist(), containments.tolist(), strict=True
        ):
            yield (
                (self._keys[number], containment) if with_scores else self._keys[number]
            )

    def __contains__(self, key: Any) -> bool:
        return key in self._numbers if self._stored is None else self._stored.holds(key)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({counted(len(self._keys), 'key')}, "
            f"threshold={self.threshold}, num_perm={self.h}, "
            f"num_part={self.num_part}, m={self.m})"
        )

    def is_empty(self) -> bool:
        """Return whether there are no entries."""
        return not self._keys if self._stored is None else self._stored.is_empty()

    def __getstate__(self) -> dict[str, Any]:
        form = self._sketches.form
        state = {
            "version": 1,
            "threshold": self.threshold,
            "shape": (self.h, self.num_part, self.m),
            "weights": self._weights,
            "keys": self._keys,
            "form": None if form is None else form.state,
            "values": b"" if form is None else form.to_bytes(self._values),
            "sizes": self._sizes.tolist(),
        }
        if self._stored is not None:
            state |= {"version": 2, "storage": (self._config, self._prepickle)}
        return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state, "MinHashLSHEnsemble", 1, 2)
        self.threshold = state["threshold"]
        self.h, self.num_part, self.m = state["shape"]
        self._weights = state["weights"]
        self._config, self._prepickle = state.get("storage", ({"type": "dict"}, None))
        self._make()
        vars(self).update(state.get("attributes", {}))
        if state["form"] is not None:
            sketches = SketchReader(self.h)
            form = sketches.form = Form.of_state(state["form"])
            values = form.of_bytes(state["values"], self.h)
            self._fill(
                state["keys"], values, np.array(state["sizes"], np.int64), sketches
            )


def bounds_of(sizes: Int64Array, num_part: int) -> Bounds:
    """Return the smallest and greatest size in each partition; None if it has no sets."""
    bounds = optimal_partitions(*np.unique(sizes, return_counts=True), num_part)
    return [*bounds, *[(None, None)] * (num_part - len(bounds))]


@lru_cache(64)
def _params(
    threshold: float,
    num_perm: int,
    m: int,
    xqs: tuple[float, ...],
    weights: tuple[float, float],
) -> list[tuple[int, int]]:
    return [best_bands(threshold, num_perm, m, xq, weights) for xq in xqs]


def best_bands(
    threshold: float, num_perm: int, m: int, xq: float, weights: tuple[float, float]
) -> tuple[int, int]:
    """Return the best bands and rows (b, r) for sets of xq times the size of the query.

    They have r <= m and b <= num_perm / r.

    A set that contains the share t of the query is found with probability 1 - (1 - s**r)**b, where
    s = t / (1 + xq - t). The best values minimise the weighted sum of two integrals: of this
    probability below the threshold, and of its complement above the threshold.
    """
    false_positive, false_negative = weights
    most = min(1.0, xq)
    below = (0.0, min(threshold, most))
    above = (min(threshold, most), most)
    errors = np.full((num_perm, m), np.inf)
    similarities = [_grid(*span, xq) for span in (below, above)]
    for r in range(1, m + 1):
        b = int64_range(1, num_perm // r + 1)[:, None]
        passed, missed = [(1 - similarity**r) ** b for similarity, _ in similarities]
        positives = (1 - passed) @ similarities[0][1]
        negatives = missed @ similarities[1][1]
        errors[: len(b), r - 1] = (
            positives * false_positive + negatives * false_negative
        )
    # Among equal errors, the fewest bands, then the fewest rows.
    at = int(np.argmin(errors))
    return at // m + 1, at % m + 1


def _grid(
    start: float, stop: float, xq: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return similarities for containments in start..stop, and their weights in an integral."""
    half = (stop - start) / 2
    (points, weights) = _points()
    contained = start + half * (1 + points)
    return contained / (1 + xq - contained), weights * half


@cache
def _points() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the points and weights of Gauss-Legendre quadrature over [-1, 1]."""
    return np.polynomial.legendre.leggauss(200)


def _check_size(size: int) -> int:
    if check_int(size, "the size of a set") < 1:
        raise ValueError(f"Set size must be positive, not {size}")
    return int(size)


# The attributes of an ensemble. All others were set by the user, and are pickled with it.
MADE_WHEN_READ = {"lowers", "uppers", "xqs", "params", "indexes"}
PARTS = frozenset(vars(MinHashLSHEnsemble())) | MADE_WHEN_READ

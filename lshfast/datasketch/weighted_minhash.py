"""datasketch's WeightedMinHash and WeightedMinHashGenerator: its hash values, bit for bit, from batch kernels.

datasketch computes in single precision: its tables are drawn by numpy, its logarithms are numpy's, and everything else
is one correctly rounded operation after the other. The tables and logarithms here come from the same calls of numpy and
the rest from a kernel, so that nothing can round otherwise. (Where numpy's logarithms differ, between versions or
processors, datasketch's values differ from its own.)
"""

from __future__ import annotations

import copy
from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import array_of, check_int
from lshfast.common.threads import for_each_piece
from lshfast.common.types import Float64Array, Int64Array
from lshfast.kernels import weighted as kernels

Float32Array = npt.NDArray[np.float32]

# Elements a piece of work: their logarithms stay in the cache while one block of samples after the other is taken.
PIECE_ELEMENTS = 1 << 15


class WeightedMinHash:
    """The samples of one weighted set.

    Parameters
    ----------
    seed : int
        That of the generator.
    hashvalues : ndarray of int64, shape (k, 2)
        The dimension and the level of each sample. Not copied.

    Examples
    --------
    >>> from lshfast.datasketch.weighted_minhash import WeightedMinHashGenerator
    >>> generator = WeightedMinHashGenerator(3, sample_size=512)
    >>> a, b = generator.minhash([1, 2, 3]), generator.minhash([3, 2, 1])
    >>> bool(abs(a.jaccard(b) - 4 / 8) < 0.1)
    True
    >>> a == a.copy(), a == b, len(a)
    (True, False, 512)
    """

    seed: int
    hashvalues: Int64Array

    def __init__(self, seed: int, hashvalues: Int64Array) -> None:
        self.seed = seed
        self.hashvalues = hashvalues

    def jaccard(self, other: WeightedMinHash) -> float:
        """Return the estimated weighted Jaccard similarity, the sum of the least weights over that of the greatest.

        Raises
        ------
        ValueError
            If the other has another seed, or another number of hash values, or there are none.
        """
        if other.seed != self.seed:
            raise ValueError(f"cannot compare weighted MinHashes of seeds {self.seed} and {other.seed}")
        k = len(self.hashvalues)
        if len(other.hashvalues) != k:
            raise ValueError(f"cannot compare weighted MinHashes of {k} and {len(other.hashvalues)} hash values")
        if k == 0:
            raise ValueError("cannot compare weighted MinHashes without hash values")
        try:
            return kernels.agreement(self.hashvalues, other.hashvalues) / k
        except (TypeError, ValueError):  # hash values of the user's own making
            values, others = np.asarray(self.hashvalues), np.asarray(other.hashvalues)
            if values.shape != others.shape:
                raise ValueError(f"cannot compare hash values of shapes {values.shape} and {others.shape}") from None
            return float((values == others).reshape(k, -1).all(axis=1).mean())

    def digest(self) -> Int64Array:
        """Return a copy of the hash values."""
        return copy.copy(self.hashvalues)

    def copy(self) -> WeightedMinHash:
        """Return a copy that shares nothing with this one."""
        return WeightedMinHash(self.seed, self.digest())

    __copy__ = copy

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, WeightedMinHash)
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )


@dataclass(frozen=True)
class Tables:
    """The random numbers of a generator, which are read-only, and their arrangement for the kernels.

    Attributes
    ----------
    rs, ln_cs, betas : ndarray of float32, shape (sample_size, dim)
    lanes : ndarray of float32, shape (4, blocks, dim, LANES)
        Blocks of samples, and in each block a line a dimension.
    margin : float
        More than rounding can add to the time of a sample.
    """

    rs: Float32Array
    ln_cs: Float32Array
    betas: Float32Array
    lanes: Float32Array
    margin: float

    @classmethod
    def of(cls, generator: WeightedMinHashGenerator) -> Tables:
        """Return the tables of the numbers of a generator, or raise an error if their shapes are wrong."""
        numbers = []
        for name in ("rs", "ln_cs", "betas"):
            given = np.array(getattr(generator, name), np.float32)
            if given.shape != (generator.sample_size, generator.dim):
                raise ValueError(f"{name} must have shape {(generator.sample_size, generator.dim)}, not {given.shape}")
            given.flags.writeable = False
            numbers.append(given)
        rs, ln_cs, betas = numbers
        blocks = -(-generator.sample_size // kernels.LANES)
        tables = np.zeros((4, blocks * kernels.LANES, generator.dim), np.float32)
        tables[0] = 1
        for table, filled in zip(tables, (rs, ln_cs, betas, ln_cs - rs), strict=True):
            table[: generator.sample_size] = filled
        lanes = tables.reshape(4, blocks, kernels.LANES, generator.dim)
        # 2**-24 of what enters a sum is lost in each of its eight roundings; a float's logarithm is within +-104.
        margin = 2.0**-19 * (105 + float(np.max(np.abs(ln_cs) + 2 * rs)))
        return cls(rs, ln_cs, betas, np.ascontiguousarray(lanes.transpose(0, 1, 3, 2)), margin)

    @property
    def shape(self) -> tuple[int, ...]:
        """Samples and dimensions."""
        return self.rs.shape


class WeightedMinHashGenerator:
    """Make WeightedMinHashes of vectors of weights, by improved consistent weighted sampling (Ioffe 2010).

    Parameters
    ----------
    dim : int
        Dimensions of the vectors: 1 to 2**31 - 1. The tables take 28 bytes a dimension and sample.
    sample_size : int, default 128
        Samples of each, k: 1 to 65,536.
    seed : int, default 1
        0 to 2**32 - 1.

    Attributes
    ----------
    rs, ln_cs, betas : ndarray of float32, shape (sample_size, dim)
        What the samples are drawn with. Others may be put in their place; they are copied when they are first used, and
        cannot be written to from then on. So a generator can be made of saved arrays: give an object of `__new__` the
        attributes dim, sample_size, seed, rs, ln_cs and betas.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.datasketch.weighted_minhash import WeightedMinHashGenerator
    >>> generator = WeightedMinHashGenerator(4, sample_size=64)
    >>> made = generator.minhash_many(np.array([[1, 2, 0, 0.5], [0, 0, 0, 0]]))
    >>> len(made[0]), made[1]
    (64, None)
    >>> WeightedMinHashGenerator.similarity(*2 * [generator.sketch(np.eye(4))]).tolist()[0]
    [1.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        check_int("dim", dim, 1, 2**31 - 1)
        check_int("sample_size", sample_size, 1, 65536)
        check_int("seed", seed, 0, 2**32 - 1)
        self.dim = dim
        self.sample_size = sample_size
        self.seed = seed
        # The generator that datasketch draws from, and in its order.
        generator = np.random.RandomState(seed=seed)
        shape = sample_size, dim
        self.rs: Float32Array = generator.gamma(2, 1, shape).astype(np.float32)
        self.ln_cs: Float32Array = np.log(generator.gamma(2, 1, shape)).astype(np.float32)
        self.betas: Float32Array = generator.uniform(0, 1, shape).astype(np.float32)

    def _arranged(self) -> Tables:
        """Return the tables of the kernels, made anew if the numbers were replaced."""
        tables: Tables | None = getattr(self, "_tables", None)
        if (
            tables is None
            or tables.rs is not self.rs
            or tables.ln_cs is not self.ln_cs
            or tables.betas is not self.betas
            or tables.shape != (self.sample_size, self.dim)
        ):
            self._tables = tables = Tables.of(self)
            self.rs, self.ln_cs, self.betas = tables.rs, tables.ln_cs, tables.betas
        return tables

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        state.pop("_tables", None)
        return state

    def minhash(self, v: Any) -> WeightedMinHash:
        """Return the WeightedMinHash of one vector.

        Parameters
        ----------
        v : sequence or ndarray of float, shape (dim,)
            Weights, taken as float32: finite and at least 0, and not all 0.

        Raises
        ------
        TypeError
            If the vector has no length.
        ValueError
            If it has another length, all of it is 0, or a weight is NaN, negative or infinite.
        """
        if not isinstance(v, Sized):
            raise TypeError(f"the vector must be a sequence or an array, not {type(v).__name__}")
        if len(v) != self.dim:
            raise ValueError(f"the vector must have dimension {self.dim}, not {len(v)}")
        weights = _float32(v)
        if weights.ndim != 1:
            raise ValueError(f"the vector must have one dimension, not shape {weights.shape}")
        columns = np.flatnonzero(weights)
        if len(columns) == 0:
            raise ValueError("the vector is all zeros, and has no samples")
        offsets = np.array([0, len(columns)], np.int64)
        logs = _logs(weights[columns], offsets, columns)
        out = np.empty((1, self.sample_size, 2), np.int64)
        tables = self._arranged()
        kernels.samples_of(offsets, columns.astype(np.int32), logs, tables.lanes, tables.margin, False, out)
        return WeightedMinHash(self.seed, out[0])

    def minhash_many(self, X: Any, *, threads: int | None = None) -> list[WeightedMinHash | None]:
        """Return the WeightedMinHashes of the rows of a matrix, and None for rows that are all 0.

        As in datasketch, ln a is rounded in another order than in `minhash`, so that now and then a sample is another:
        compare those made in one way.

        Parameters
        ----------
        X : ndarray, or a sparse matrix or array of scipy, shape (n, dim)
            Weights, taken as float32: finite and at least 0.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Raises
        ------
        TypeError
            If it is no matrix.
        ValueError
            If it has not two dimensions, not `dim` columns, or a weight is NaN, negative or infinite.
        """
        offsets, _, _ = rows = self._rows(X)
        made = self._sketch(*rows, threads)
        present = (np.diff(offsets) > 0).tolist()
        return [
            WeightedMinHash(self.seed, values) if any_weight else None
            for values, any_weight in zip(made, present, strict=True)
        ]

    def sketch(self, X: Any, *, threads: int | None = None) -> Int64Array:
        """Return the hash values of `minhash_many` in one array: int64 (n, sample_size, 2).

        Rows that are all 0 have the samples (-1, 0).
        """
        offsets, _, _ = rows = self._rows(X)
        made = self._sketch(*rows, threads)
        made[np.diff(offsets) == 0] = [-1, 0]
        return made

    @staticmethod
    def similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array:
        """Return the estimated weighted Jaccard similarities of all of a with all of b: float64 (n, m).

        Parameters
        ----------
        a, b : array_like of int64, shapes (n, k, 2) and (m, k, 2)
            As `sketch` returns them. What is all 0 is similar to nothing.

        Raises
        ------
        TypeError
            If they are not integers.
        ValueError
            If they are of other shapes, or k is 0.
        """
        left, right = (np.ascontiguousarray(_samples(*given), np.int64) for given in ((a, "a"), (b, "b")))
        if left.ndim != 3 or right.ndim != 3 or left.shape[1:] != right.shape[1:] or left.shape[2] != 2:
            raise ValueError(f"samples must be of shapes (n, k, 2) and (m, k, 2), not {left.shape} and {right.shape}")
        if left.shape[1] == 0:
            raise ValueError("samples must be at least one a set")
        found: Float64Array = kernels.agreements(left, right) / left.shape[1]
        found[left[:, 0, 0] < 0] = 0
        found[:, right[:, 0, 0] < 0] = 0
        return found

    def _rows(self, matrix: Any) -> tuple[Int64Array, npt.NDArray[np.int32], Float32Array]:
        """Return (offsets, columns, logs) of the weights that are not 0, columns in rising order."""
        sparse = hasattr(matrix, "tocsr")
        if not sparse and not isinstance(matrix, np.ndarray):
            raise TypeError(f"X must be a sparse matrix or an ndarray, not {type(matrix).__name__}")
        if len(matrix.shape) != 2:
            raise ValueError(f"X must have two dimensions, not {len(matrix.shape)}")
        if matrix.shape[1] != self.dim:
            raise ValueError(f"X must have {self.dim} columns, not {matrix.shape[1]}")
        if sparse:
            rows = matrix.tocsr()
            if not rows.has_canonical_format:
                rows = rows.copy()
                rows.sum_duplicates()
            values, indices = _float32(rows.data), np.asarray(rows.indices)
            offsets = np.asarray(rows.indptr, np.int64)
        else:
            values, indices = _float32(np.asarray(matrix)).ravel(), np.empty(0, np.int64)
            offsets = np.arange(len(matrix) + 1, dtype=np.int64) * self.dim
        present = values != 0
        if present.all():
            columns = indices if sparse else np.tile(np.arange(self.dim, dtype=np.int32), len(matrix))
        else:
            columns = indices[present] if sparse else np.flatnonzero(present) % self.dim
            values = values[present]
            offsets = np.concatenate([[0], np.cumsum(present, dtype=np.int64)])[offsets]
        return offsets, columns.astype(np.int32), _logs(values, offsets, columns)

    def _sketch(
        self, offsets: Int64Array, columns: npt.NDArray[np.int32], logs: Float32Array, threads: int | None
    ) -> Int64Array:
        out = np.empty((len(offsets) - 1, self.sample_size, 2), np.int64)
        tables = self._arranged()

        def work(rows: slice) -> None:
            within = offsets[rows.start : rows.stop + 1]
            kernels.samples_of(within, columns, logs, tables.lanes, tables.margin, True, out[rows])

        for_each_piece(work, np.diff(offsets), PIECE_ELEMENTS, threads)
        return out


def _samples(samples: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    array = array_of(samples, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    return array


def _float32(values: Any) -> Float32Array:
    """Return values as float32; what is too large becomes infinite, and is refused with the infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.asarray(values), np.float32)


def _logs(weights: Float32Array, offsets: Int64Array, columns: npt.NDArray[np.integer[Any]]) -> Float32Array:
    """Return the logarithms of weights, or say which is not finite or below 0."""
    if len(weights) and not (weights.min() > 0 and weights.max() < np.inf):
        place = int(np.flatnonzero(~((weights > 0) & (weights < np.inf)))[0])
        row = int(np.searchsorted(offsets, place, side="right")) - 1
        raise ValueError(
            f"weights must be finite and at least 0 as float32, not {weights[place]} in row {row}, "
            f"column {columns[place]}"
        )
    logs: Float32Array = np.log(weights)
    return logs

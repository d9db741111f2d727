"""datasketch's WeightedMinHash and its generator: the same hash values, from batch kernels.

datasketch computes in single precision: numpy draws its tables and computes its logarithms, and all
further operations are correctly rounded. Here the tables and logarithms come from the same numpy
calls, and a kernel performs the same further operations, so that all roundings are equal. (numpy's
logarithms may differ between versions or processors. Then datasketch's values differ between these
too.)
"""

from __future__ import annotations

import copy
from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Float64Array, Int64Array
from lshfast.kernels import weighted as kernels

Float32Array = npt.NDArray[np.float32]

# Elements in a piece of work: their logarithms stay in the cache while the blocks of samples are
# processed.
PIECE_ELEMENTS = 1 << 15


class WeightedMinHash:
    """The samples of one weighted set.

    Parameters
    ----------
    seed : int
        The seed of the generator.
    hashvalues : ndarray of int64, shape (k, 2)
        The dimension and the level of each sample. Not copied.

    See Also
    --------
    lshfast.datasketch.WeightedMinHashGenerator : Draw samples of vectors of weights.
    lshfast.datasketch.WeightedMinHashLSH : Find similar weighted sets by bands.

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
        """Return the estimated weighted Jaccard similarity.

        This is the sum of the minimum weights, divided by the sum of the maximum weights.

        Raises
        ------
        ValueError
            If the other sketch has another seed or number of hash values, or there are no hash
            values.
        """
        if other.seed != self.seed:
            raise ValueError(
                f"cannot compare weighted MinHashes of seeds {self.seed} and {other.seed}"
            )
        k = len(self.hashvalues)
        if len(other.hashvalues) != k:
            raise ValueError(
                f"cannot compare weighted MinHashes of {k} and {len(other.hashvalues)} hash values"
            )
        if k == 0:
            raise ValueError("cannot compare weighted MinHashes without hash values")
        try:
            return kernels.agreement(self.hashvalues, other.hashvalues) / k
        except (TypeError, ValueError):  # hash values created by the user
            values = np.asarray(self.hashvalues)
            other_values = np.asarray(other.hashvalues)
            if values.shape != other_values.shape:
                raise ValueError(
                    f"cannot compare hash values of shapes {values.shape} and {other_values.shape}"
                ) from None
            return float((values == other_values).reshape(k, -1).all(axis=1).mean())

    def digest(self) -> Int64Array:
        """Return a copy of the hash values."""
        return copy.copy(self.hashvalues)

    def copy(self) -> WeightedMinHash:
        """Return an independent copy."""
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
    """The read-only random numbers of a generator, and their arrangement for the kernels.

    Attributes
    ----------
    rs, ln_cs, betas : ndarray of float32, shape (sample_size, dim)
    lanes : ndarray of float32, shape (4, blocks, dim, LANES)
        Blocks of samples; each block has one line per dimension.
    margin : float
        An upper bound of the rounding error of the time of a sample.
    """

    rs: Float32Array
    ln_cs: Float32Array
    betas: Float32Array
    lanes: Float32Array
    margin: float

    @classmethod
    def of(cls, generator: WeightedMinHashGenerator) -> Tables:
        """Return the tables of a generator's numbers; raise an error if their shapes are wrong."""
        numbers = []
        for name in ("rs", "ln_cs", "betas"):
            array = np.array(getattr(generator, name), np.float32)
            if array.shape != (generator.sample_size, generator.dim):
                raise ValueError(
                    f"{name} must have shape {(generator.sample_size, generator.dim)}, not "
                    f"{array.shape}"
                )
            array.flags.writeable = False
            numbers.append(array)
        rs, ln_cs, betas = numbers
        blocks = -(-generator.sample_size // kernels.LANES)
        tables = np.zeros((4, blocks * kernels.LANES, generator.dim), np.float32)
        tables[0] = 1
        for table, filled in zip(tables, (rs, ln_cs, betas, ln_cs - rs), strict=True):
            table[: generator.sample_size] = filled
        lanes = tables.reshape(4, blocks, kernels.LANES, generator.dim)
        # Each of the eight roundings loses at most 2**-24 of the summands; the logarithm of a float
        # is within +-104.
        margin = 2.0**-19 * (105 + float(np.max(np.abs(ln_cs) + 2 * rs)))
        return cls(
            rs, ln_cs, betas, np.ascontiguousarray(lanes.transpose(0, 1, 3, 2)), margin
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of samples and of dimensions."""
        return self.rs.shape


class WeightedMinHashGenerator:
    """Create WeightedMinHashes of vectors by improved consistent weighted sampling.

    The method is Ioffe's (2010).

    Parameters
    ----------
    dim : int
        Dimensions of the vectors: 1 to 2**31 - 1. The tables take 28 bytes per dimension and
        sample.
    sample_size : int, default 128
        The number k of samples of each vector: 1 to 65,536.
    seed : int, default 1
        0 to 2**32 - 1.

    Attributes
    ----------
    rs, ln_cs, betas : ndarray of float32, shape (sample_size, dim)
        The random numbers of the sampling. You may assign other arrays; they are copied at first
        use and are read-only afterwards. To create a generator from saved arrays, set the
        attributes dim, sample_size, seed, rs, ln_cs and betas of an object made with `__new__`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.datasketch.WeightedMinHash : The samples of one weighted set.
    lshfast.WeightedMinHasher : Compute signatures of weighted sets.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.datasketch.weighted_minhash import WeightedMinHashGenerator
    >>> generator = WeightedMinHashGenerator(4, sample_size=64)
    >>> made = generator.minhash_many(np.array([[1, 2, 0, 0.5], [0, 0, 0, 0]]))
    >>> len(made[0]), made[1]
    (64, None)
    >>> WeightedMinHashGenerator.similarity(
    ...     *2 * [generator.sketch(np.eye(4))]
    ... ).tolist()[0]
    [1.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        check_int("dim", dim, 1, 2**31 - 1)
        check_int("sample_size", sample_size, 1, 65536)
        check_int("seed", seed, 0, 2**32 - 1)
        self.dim = dim
        self.sample_size = sample_size
        self.seed = seed
        # datasketch's random generator and order of draws.
        generator = np.random.RandomState(seed=seed)
        shape = sample_size, dim
        self.rs: Float32Array = generator.gamma(2, 1, shape).astype(np.float32)
        self.ln_cs: Float32Array = np.log(generator.gamma(2, 1, shape)).astype(
            np.float32
        )
        self.betas: Float32Array = generator.uniform(0, 1, shape).astype(np.float32)

    def _arranged(self) -> Tables:
        """Return the tables of the kernels, created again if the numbers were replaced."""
        tables: Tables | None = getattr(self, "_tables", None)
        if (
            tables is None
            or tables.rs is not self.rs
            or tables.ln_cs is not self.ln_cs
            or tables.betas is not self.betas
            or tables.shape != (self.sample_size, self.dim)
        ):
            self._tables = tables = Tables.of(self)
            self.rs = tables.rs
            self.ln_cs = tables.ln_cs
            self.betas = tables.betas
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
            Weights, converted to float32: finite and at least 0, and not all 0.

        Raises
        ------
        TypeError
            If the vector has no length.
        ValueError
            If it has another length, all weights are 0, or a weight is NaN, negative or infinite.
        """
        if not isinstance(v, Sized):
            raise TypeError(
                f"the vector must be a sequence or an array, not {type(v).__name__}"
            )
        if len(v) != self.dim:
            raise ValueError(f"the vector must have dimension {self.dim}, not {len(v)}")
        weights = _float32(v)
        if weights.ndim != 1:
            raise ValueError(
                f"the vector must have one dimension, not shape {weights.shape}"
            )
        columns = np.flatnonzero(weights)
        if len(columns) == 0:
            raise ValueError("the vector is all zeros, and has no samples")
        offsets = np.array([0, len(columns)], np.int64)
        logs = _logs(weights[columns], offsets, columns)
        out = np.empty((1, self.sample_size, 2), np.int64)
        tables = self._arranged()
        kernels.samples_of(
            offsets,
            columns.astype(np.int32),
            logs,
            tables.lanes,
            tables.margin,
            False,
            out,
        )
        return WeightedMinHash(self.seed, out[0])

    def minhash_many(
        self, X: Any, *, threads: int | None = None
    ) -> list[WeightedMinHash | None]:
        """Return the WeightedMinHashes of the rows of a matrix, and None for rows that are all 0.

        As in datasketch, ln a is rounded in another order than in `minhash`, so that samples differ
        occasionally. Compare only sketches that were created by the same method.

        Parameters
        ----------
        X : ndarray, or a sparse matrix or array of scipy, shape (n, dim)
            Weights, converted to float32: finite and at least 0.
        threads : int, optional
            At least 1. By default the number of CPUs that this process may use. The result does not
            depend on it.

        Raises
        ------
        TypeError
            If X is not a matrix.
        ValueError
            If X does not have two dimensions or `dim` columns, or a weight is NaN, negative or
            infinite.
        """
        offsets, _, _ = rows = self._rows(X)
        hash_values = self._sketch(*rows, threads)
        present = (np.diff(offsets) > 0).tolist()
        return [
            WeightedMinHash(self.seed, values) if any_weight else None
            for values, any_weight in zip(hash_values, present, strict=True)
        ]

    def sketch(self, X: Any, *, threads: int | None = None) -> Int64Array:
        """Return the hash values of `minhash_many` in one array: int64 (n, sample_size, 2).

        Rows that are all 0 have the samples (-1, 0).
        """
        offsets, _, _ = rows = self._rows(X)
        hash_values = self._sketch(*rows, threads)
        hash_values[np.diff(offsets) == 0] = [-1, 0]
        return hash_values

    @staticmethod
    def similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array:
        """Return the estimated weighted Jaccard similarities of all of a with all of b.

        The result is float64 (n, m).

        Parameters
        ----------
        a, b : array_like of int64, shapes (n, k, 2) and (m, k, 2)
            As returned by `sketch`. The sketch of a row that is all 0 is not similar to any row.

        Raises
        ------
        TypeError
            If they are not integers.
        ValueError
            If they have other shapes, or k is 0.
        """
        a_samples = _samples(a, "a")
        b_samples = _samples(b, "b")
        if (
            a_samples.ndim != 3
            or b_samples.ndim != 3
            or a_samples.shape[1:] != b_samples.shape[1:]
            or a_samples.shape[2] != 2
        ):
            raise ValueError(
                f"samples must be of shapes (n, k, 2) and (m, k, 2), not {a_samples.shape} and "
                f"{b_samples.shape}"
            )
        if a_samples.shape[1] == 0:
            raise ValueError("samples must be at least one a set")
        similarities: Float64Array = (
            kernels.agreements(a_samples, b_samples) / a_samples.shape[1]
        )
        similarities[a_samples[:, 0, 0] < 0] = 0
        similarities[:, b_samples[:, 0, 0] < 0] = 0
        return similarities

    def _rows(
        self, matrix: Any
    ) -> tuple[Int64Array, npt.NDArray[np.int32], Float32Array]:
        """Return (offsets, columns, logs) of the weights that are not 0, with ascending columns."""
        sparse = hasattr(matrix, "tocsr")
        if not sparse and not isinstance(matrix, np.ndarray):
            raise TypeError(
                f"X must be a sparse matrix or an ndarray, not {type(matrix).__name__}"
            )
        if len(matrix.shape) != 2:
            raise ValueError(f"X must have two dimensions, not {len(matrix.shape)}")
        if matrix.shape[1] != self.dim:
            raise ValueError(f"X must have {self.dim} columns, not {matrix.shape[1]}")
        if sparse:
            rows = matrix.tocsr()
            if not rows.has_canonical_format:
                rows = rows.copy()
                rows.sum_duplicates()
            values = _float32(rows.data)
            indices = np.asarray(rows.indices)
            offsets = np.asarray(rows.indptr, np.int64)
        else:
            values = _float32(np.asarray(matrix)).ravel()
            indices = np.empty(0, np.int64)
            offsets = int64_range(len(matrix) + 1) * self.dim
        present = values != 0
        if present.all():
            columns = (
                indices
                if sparse
                else np.tile(np.arange(self.dim, dtype=np.int32), len(matrix))
            )
        else:
            columns = indices[present] if sparse else np.flatnonzero(present) % self.dim
            values = values[present]
            offsets = offsets_of(present)[offsets]
        return offsets, columns.astype(np.int32), _logs(values, offsets, columns)

    def _sketch(
        self,
        offsets: Int64Array,
        columns: npt.NDArray[np.int32],
        logs: Float32Array,
        threads: int | None,
    ) -> Int64Array:
        out = np.empty((len(offsets) - 1, self.sample_size, 2), np.int64)
        tables = self._arranged()

        def work(rows: slice) -> None:
            within = offsets[rows.start : rows.stop + 1]
            kernels.samples_of(
                within, columns, logs, tables.lanes, tables.margin, True, out[rows]
            )

        for_each_piece(work, np.diff(offsets), PIECE_ELEMENTS, threads)
        return out


def _samples(samples: npt.ArrayLike, name: str) -> Int64Array:
    array = array_of(samples, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    return np.ascontiguousarray(array, np.int64)


def _float32(values: Any) -> Float32Array:
    """Return values as float32; values that are too large become infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.asarray(values), np.float32)


def _logs(
    weights: Float32Array, offsets: Int64Array, columns: npt.NDArray[np.integer[Any]]
) -> Float32Array:
    """Return the logarithms of weights; raise an error unless all are finite and at least 0."""
    if len(weights) and not (weights.min() > 0 and weights.max() < np.inf):
        place = int(np.flatnonzero(~((weights > 0) & (weights < np.inf)))[0])
        row = int(np.searchsorted(offsets, place, side="right")) - 1
        raise ValueError(
            f"weights must be finite and at least 0 as float32, not {weights[place]} in row {row}, "
            f"column {columns[place]}"
        )
    logs: Float32Array = np.log(weights)
    return logs

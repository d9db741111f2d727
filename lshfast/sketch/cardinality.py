"""Numbers of distinct tokens, estimated from MinHash signatures or HyperLogLog registers.

A signature of 128 slots has a standard error of 9 %, and also estimates similarities. 16,384
registers of one byte have a standard error of 0.8 %. Both need one pass over the tokens, in any
order, and both can be merged.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int, check_number, numbers_of
from lshfast._common.container import is_sealed, sealed
from lshfast._common.rows import parts_of_rows
from lshfast._common.threads import for_each_piece, ordered_map, thread_count
from lshfast._common.types import (
    AnyShape,
    Float64Array,
    Matrix,
    UInt8Array,
    UInt64Array,
    Vector,
)
from lshfast.kernels import cardinality as kernels
from lshfast.sketch.arrays import SketchArray, checked, made_by
from lshfast.sketch.compare import fitted
from lshfast.sketch.minhash import EMPTY, MinHasher, check_signatures
from lshfast.sketch.sketcher import PIECE_TOKENS, check_token_sets
from lshfast.tokens import TokenSets

# Tokens that a thread hashes into its own registers. With this many, clearing and merging
# registers takes almost no time.
UPDATE_TOKENS = 1 << 20

_MAGIC = b"LSHFHLL\0"
_VERSION = 1
# Magic, version, p, seed, rows; the checksum comes after the registers.
_HEADER = struct.Struct("<8sIIQQ")


class Overlap(NamedTuple):
    """Estimates for two sets a and b, or for pairs of sets.

    Attributes
    ----------
    intersection, union : float64 or ndarray of float64
        Distinct tokens of the intersection and of the union.
    similarity : float64 or ndarray of float64
        intersection / union, in [0, 1]; 0 for 0 / 0.
    containment : float64 or ndarray of float64
        intersection / |a|, in [0, 1]; 0 for 0 / 0.

    See Also
    --------
    lshfast.sketch.estimate_overlap : Estimate sizes of intersection and union.
    lshfast.sketch.estimate_sizes : Estimate the sizes of sets.
    """

    intersection: Float64Array
    union: Float64Array
    similarity: Float64Array
    containment: Float64Array


# ---- signatures ----


@overload
def estimate_sizes(
    signatures: AnyShape[np.uint64], hasher: MinHasher | None = None
) -> Any: ...
@overload
def estimate_sizes(
    signatures: Vector[np.uint64], hasher: MinHasher | None = None
) -> np.float64: ...
@overload
def estimate_sizes(
    signatures: npt.ArrayLike, hasher: MinHasher | None = None
) -> Float64Array: ...
def estimate_sizes(
    signatures: npt.ArrayLike, hasher: MinHasher | None = None
) -> np.float64 | Float64Array:
    """Estimate the number of distinct tokens of each set from its MinHash signature.

    With at least 16 slots, the bias is at most 2 % of the standard error (see `size_error`). With
    `fast` signatures of 3 slots, it is up to 11 % of the standard error.

    Parameters
    ----------
    signatures : array_like of uint64, shape (num_perm,) or (n, num_perm)
        Signatures with at least 3 slots.
    hasher : MinHasher, optional
        The sketcher of the signatures. It is required if they are a plain array.

    Returns
    -------
    float64 or ndarray of float64, shape () or (n,)
        Estimated numbers of tokens, at least 0; 0 for an empty set.

    Raises
    ------
    TypeError
        If the signatures are not uint64, or are a plain array and `hasher` is not given.
    ValueError
        If a different sketcher made them, or they have fewer than 3 slots.

    See Also
    --------
    lshfast.sketch.size_error : The standard error of an estimated size.
    lshfast.sketch.estimate_overlap : Estimate intersection, union and similarity of sets.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.sketch.cardinality import estimate_sizes
    >>> signatures = MinHasher(num_perm=1024).sketch(
    ...     TokenSets.from_sets([range(5000), []])
    ... )
    >>> (
    ...     bool(abs(estimate_sizes(signatures)[0] - 5000) < 500),
    ...     float(estimate_sizes(signatures)[1]),
    ... )
    (True, 0.0)
    """
    hasher = _hasher_of(hasher, signatures)
    array = check_signatures(signatures, hasher)
    rows = np.ascontiguousarray(np.atleast_2d(array))
    out = np.empty(len(rows))
    estimate = (
        kernels.fast_estimates if hasher.scheme == "fast" else kernels.classic_estimates
    )
    estimate(rows, out)
    return out.reshape(array.shape[:-1])[()]


def size_error(n: float, hasher: MinHasher) -> float:
    """Return the standard error of `estimate_sizes` for a set of n distinct tokens, in tokens.

    For `classic` signatures of k slots it is n / sqrt(k - 2). For `fast` signatures it is smaller
    by a factor down to sqrt(1/2) if n is less than about k; with fewer than 16 slots it is only an
    approximation.

    Parameters
    ----------
    n : float
        Distinct tokens, at least 0 and finite.
    hasher : MinHasher
        Sketcher with at least 3 slots.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.sketch.estimate_sizes : Estimate the sizes of sets by their signatures.

    Examples
    --------
    >>> from lshfast import MinHasher
    >>> from lshfast.sketch.cardinality import size_error
    >>> [
    ...     round(size_error(100, MinHasher(scheme=scheme)), 1)
    ...     for scheme in ("classic", "fast")
    ... ]
    [8.9, 6.4]
    """
    if not isinstance(hasher, MinHasher):
        raise TypeError(f"hasher must be a MinHasher, not {hasher!r}")
    n = check_number("n", n)
    if not 0 <= n < math.inf:
        raise ValueError(f"n must be finite and at least 0, not {n}")
    if hasher.num_perm < kernels.MIN_NUM_PERM:
        raise ValueError(
            f"num_perm must be at least {kernels.MIN_NUM_PERM} to count, not {hasher.num_perm}"
        )
    if n == 0:
        return 0.0
    variance = (
        kernels.fast_variance(n, hasher.num_perm) if hasher.scheme == "fast" else 1.0
    )
    return float(n * math.sqrt(variance / (hasher.num_perm - 2 * variance)))


def estimate_overlap(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    hasher: MinHasher | None = None,
    *,
    sizes_a: npt.ArrayLike | None = None,
    sizes_b: npt.ArrayLike | None = None,
) -> Overlap:
    """Estimate intersection, union, similarity and containment of pairs of sets, row by row.

    If m of k slots are equal, the intersection is m (|a| + |b|) / (k + m), and at most the size of
    the smaller set.

    Parameters
    ----------
    a, b : array_like of uint64, shape (num_perm,) or (n, num_perm)
        Signatures. One signature is compared with each row of the other argument.
    hasher : MinHasher, optional
        The sketcher of the signatures. It is required if both are plain arrays.
    sizes_a, sizes_b : array_like of numbers, shape () or (n,), optional
        Known numbers of distinct tokens, in 0..2**64: one for all rows, or one per row. The default
        is the estimate of `estimate_sizes`, which is less accurate.

    Returns
    -------
    Overlap
        With fields of type float64, or arrays of float64 with shape (n,).

    Raises
    ------
    TypeError
        If the signatures are not uint64, the sizes are not numbers, or both signatures are plain
        arrays and `hasher` is not given.
    ValueError
        If a different sketcher made the signatures; they have fewer than 3 slots and sizes must be
        estimated; the numbers of rows or sizes do not match; or a size is out of range.

    See Also
    --------
    lshfast.sketch.estimate_sizes : Estimate the sizes of sets by their signatures.
    lshfast.DistinctCounter : Count distinct elements by HyperLogLog.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.sketch.cardinality import estimate_overlap
    >>> signatures = MinHasher(num_perm=1024).sketch(
    ...     TokenSets.from_sets([range(4000), range(2000, 10000)])
    ... )
    >>> found = estimate_overlap(*signatures, sizes_a=4000, sizes_b=8000)
    >>> [round(float(value), 1) for value in (found.similarity, found.containment)]
    [0.2, 0.5]
    """
    hasher = _hasher_of(hasher, a, b)
    left_signatures = check_signatures(a, hasher, "a")
    right_signatures = check_signatures(b, hasher, "b")
    shape = fitted(left_signatures, right_signatures)
    n = (
        estimate_sizes(left_signatures, hasher)
        if sizes_a is None
        else _sizes(sizes_a, "sizes_a", shape)
    )
    x = (
        estimate_sizes(right_signatures, hasher)
        if sizes_b is None
        else _sizes(sizes_b, "sizes_b", shape)
    )
    agreements = np.count_nonzero(left_signatures == right_signatures, axis=-1) * (
        left_signatures[..., 0] != EMPTY
    )
    common = agreements * (n + x) / (hasher.num_perm + agreements)
    both = np.minimum(common, np.minimum(n, x))
    return _overlap(both, n + x - both, n)


def _hasher_of(hasher: MinHasher | None, *signatures: npt.ArrayLike) -> MinHasher:
    """Return the given hasher, or the hasher of the first signatures that have one."""
    if hasher is None:
        hashers = (getattr(sketches, "hasher", None) for sketches in signatures)
        hasher = next(filter(None, hashers), None)
        if hasher is None:
            raise TypeError(
                "plain arrays of signatures need the MinHasher that made them: hasher=..."
            )
    if not isinstance(hasher, MinHasher):
        raise TypeError(f"hasher must be a MinHasher, not {hasher!r}")
    return hasher


def _sizes(sizes: npt.ArrayLike, name: str, rows: tuple[int, ...]) -> Float64Array:
    array = numbers_of(sizes, name, 0, 2**64)
    if array.shape not in ((), (1,), rows):
        raise ValueError(
            f"{name} must be one number, or one per row, shape {rows}, not shape {array.shape}"
        )
    return array


def _overlap(both: Float64Array, union: Float64Array, a: Float64Array) -> Overlap:
    """Return the estimates of an `Overlap`; with three infinite sizes, the shares are 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        similarity = np.where(both > 0, np.fmin(both / union, 1), 0.0)
        containment = np.where(both > 0, np.fmin(both / a, 1), 0.0)
    return Overlap(
        np.asarray(both)[()], np.asarray(union)[()], similarity[()], containment[()]
    )


# ---- registers ----


class Registers(SketchArray):
    """An array of registers, uint8 (n, 2**p) or (2**p,), and the counter that made it.

    Attributes
    ----------
    counter : DistinctCounter or None
    """

    @property
    def counter(self) -> DistinctCounter | None:
        """The counter that made the registers; None for an array that was not made by one."""
        counter: DistinctCounter | None = self.hasher
        return counter


@dataclass(frozen=True)
class DistinctCounter:
    """Count distinct tokens with HyperLogLog, in 2**p registers of one byte per set.

    Hashes have 64 bits, so sets of any size can be counted. The estimator is Ertl's improved raw
    estimator with an additional correction of its bias, which is of order 1 / 2**p. It is valid for
    all sizes, without tables and without a change of formula. The relative standard error is 1.04 /
    sqrt(2**p), and .71 to .79 / sqrt(2**p) for up to 2**p tokens. Registers with different p or
    seed cannot be compared or merged.

    Parameters
    ----------
    p : int, default 14
        Binary logarithm of the number of registers, in 4..18.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.MinHasher : Compute MinHash signatures of sets.
    lshfast.datasketch.HyperLogLog : Count distinct values as datasketch does.

    References
    ----------
    P. Flajolet, É. Fusy, O. Gandouet, F. Meunier, "HyperLogLog", AofA 2007; O. Ertl, "New
    cardinality estimation algorithms for HyperLogLog sketches", 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import TokenSets
    >>> from lshfast.sketch.cardinality import DistinctCounter
    >>> counter = DistinctCounter()
    >>> registers = counter.sketch(
    ...     TokenSets.from_sets([range(0, 60000), range(40000, 100000), []])
    ... )
    >>> counter.count(registers).round(-4).tolist()
    [60000.0, 60000.0, 0.0]
    >>> total = counter.merge(registers[0], registers[1])
    >>> counter.update(total, np.arange(500000, 600000))
    >>> int(counter.count(total).round(-4))
    200000
    """

    p: int = 14
    seed: SeedField = SEED
    _constant: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "p", check_int("p", self.p, kernels.MIN_P, kernels.MAX_P)
        )
        object.__setattr__(self, "_constant", kernels.constant(self.seed))

    @property
    def error(self) -> float:
        """Relative standard error of the count of a large set: 1.04 / sqrt(2**p)."""
        return math.sqrt((3 * math.log(2) - 1) / 2**self.p)

    def empty(self, n: int | None = None) -> UInt8Array:
        """Return the registers of empty sets, for `update`.

        Parameters
        ----------
        n : int, optional
            Number of sets, in 0..2**32. The default is one set, as an array of one dimension.

        Returns
        -------
        Registers, an ndarray of uint8, shape (2**p,), or (n, 2**p) if n is given
            Zeros.

        Raises
        ------
        TypeError
            If n is not an int.
        ValueError
            If n is out of range.
        MemoryError
            If there is not enough memory.

        Examples
        --------
        >>> from lshfast import DistinctCounter
        >>> DistinctCounter(p=4).empty().shape, DistinctCounter(p=4).empty(2).shape
        ((16,), (2, 16))
        """
        shape = (2**self.p,) if n is None else (check_int("n", n, 0, 2**32), 2**self.p)
        return made_by(self, np.zeros(shape, np.uint8), Registers)

    def sketch(
        self, sets: TokenSets, *, threads: int | None = None
    ) -> Matrix[np.uint8]:
        """Compute the registers of sets.

        Parameters
        ----------
        sets : TokenSets
            n rows. The order of the tokens in a row, and repetitions, do not change the registers.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        Registers, an ndarray of uint8, shape (n, 2**p)

        Raises
        ------
        TypeError
            If `sets` or `threads` has the wrong type.
        ValueError
            If `threads` is less than 1.

        Examples
        --------
        >>> from lshfast import DistinctCounter, TokenSets
        >>> DistinctCounter(p=8).sketch(TokenSets.from_sets([["a", "b"], []])).shape
        (2, 256)
        """
        check_token_sets(sets)
        registers = np.zeros((len(sets), 2**self.p), np.uint8)

        def work(rows: slice) -> None:
            offsets = sets.offsets[rows.start : rows.stop + 1]
            kernels.update_rows(offsets, sets.tokens, self._constant, registers[rows])

        for_each_piece(work, sets.counts, PIECE_TOKENS, threads)
        return made_by(self, registers, Registers)

    def update(
        self,
        registers: UInt8Array,
        tokens: npt.ArrayLike,
        *,
        threads: int | None = None,
    ) -> None:
        """Add tokens to the registers of one set, in place.

        There is no lock. While one thread updates registers, no other thread may update or read
        them. To count in several threads, use separate registers for each thread, and merge them.

        Parameters
        ----------
        registers : ndarray of uint8, shape (2**p,)
            Writable and contiguous, as returned by `empty`. Changed in place.
        tokens : array_like of integers, shape (m,)
            Tokens as in TokenSets, in 0..2**64 - 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Raises
        ------
        TypeError
            If the registers are not uint8, or the tokens are not integers.
        ValueError
            If the registers are not those of one set, are not writable or contiguous, or a
            different counter made them; or if a token is negative. The registers are then
            unchanged.

        Examples
        --------
        >>> from lshfast import DistinctCounter
        >>> counter = DistinctCounter()
        >>> registers = counter.empty()
        >>> for part in (range(0, 600), range(400, 1000)):
        ...     counter.update(registers, part)
        >>> int(counter.count(registers).round(-2))
        1000
        """
        array = self._check(registers, "registers")
        if array.ndim != 1:
            raise ValueError(
                f"registers must be those of one set, ({2**self.p},), not of shape {array.shape}"
            )
        is_usable = array.flags.writeable and array.flags.c_contiguous
        if not (is_usable and isinstance(registers, np.ndarray)):
            raise ValueError(
                "registers must be a writable and contiguous array, to be changed in place"
            )
        token_words = TokenSets(np.zeros(1, np.int64), tokens).tokens
        parts = [
            token_words[part] for part in parts_of_rows(len(token_words), UPDATE_TOKENS)
        ]
        if len(parts) < 2:
            kernels.update(token_words, self._constant, array)
            return

        def work(part: UInt64Array) -> UInt8Array:
            part_registers = np.zeros(2**self.p, np.uint8)
            kernels.update(part, self._constant, part_registers)
            return part_registers

        for part_registers in ordered_map(work, parts, thread_count(threads)):
            np.maximum(array, part_registers, out=array)

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> UInt8Array:
        """Merge registers row by row, by the maximum: the result is the registers of the union.

        Parameters
        ----------
        a, b : array_like of uint8, shape (2**p,) or (n, 2**p)
            Registers. Those of one set are merged with each row of the other argument.

        Returns
        -------
        Registers, an ndarray of uint8, shape (2**p,) or (n, 2**p)
            A new array.

        Raises
        ------
        TypeError
            If the registers are not uint8.
        ValueError
            If there are not 2**p registers per set, a register is greater than 65 - p, the numbers
            of rows do not match, or a different counter made them.

        Examples
        --------
        >>> from lshfast import DistinctCounter, TokenSets
        >>> counter = DistinctCounter()
        >>> a, b, both = counter.sketch(
        ...     TokenSets.from_sets([[1, 2], [2, 3], [1, 2, 3]])
        ... )
        >>> bool((counter.merge(a, b) == both).all())
        True
        """
        left_registers = self._check(a, "a")
        right_registers = self._check(b, "b")
        fitted(left_registers, right_registers, "merged")
        return made_by(self, np.maximum(left_registers, right_registers), Registers)

    @overload
    def count(self, registers: AnyShape[np.uint8]) -> Any: ...
    @overload
    def count(self, registers: Vector[np.uint8]) -> np.float64: ...
    @overload
    def count(self, registers: npt.ArrayLike) -> Float64Array: ...
    def count(self, registers: npt.ArrayLike) -> np.float64 | Float64Array:
        """Estimate the number of distinct tokens of each set.

        Parameters
        ----------
        registers : array_like of uint8, shape (2**p,) or (n, 2**p)

        Returns
        -------
        float64 or ndarray of float64, shape () or (n,)
            At least 0. It is 0 for an empty set, and inf if each register has its greatest value.
            The relative standard error is `error`.

        Raises
        ------
        TypeError, ValueError
            If these are not registers of this counter, as for `merge`.

        Examples
        --------
        >>> from lshfast import DistinctCounter, TokenSets
        >>> counter = DistinctCounter()
        >>> counter.count(counter.sketch(TokenSets.from_sets([range(3000), []]))).round(
        ...     -2
        ... ).tolist()
        [3000.0, 0.0]
        """
        array = self._check(registers, "registers")
        out = np.empty(array.shape[:-1])
        kernels.register_estimates(
            np.ascontiguousarray(np.atleast_2d(array)), 64, out.reshape(-1)
        )
        return out[()]

    def overlap(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Overlap:
        """Estimate intersection, union, similarity and containment of pairs of sets, row by row.

        The estimate of the union has the error of a count. The intersection is |a| + |b| - |a or
        b|, at least 0 and at most the size of the smaller set. Its standard error is proportional
        to the size of the *union*, by a factor of at most about 1.04 / sqrt(2**p). With p = 14, an
        intersection of less than about 3 % of the union cannot be estimated; use MinHash signatures
        instead. If a count is infinite, the intersection is the smaller set.

        Parameters
        ----------
        a, b : array_like of uint8, shape (2**p,) or (n, 2**p)
            Registers. Those of one set are compared with each row of the other argument.

        Returns
        -------
        Overlap
            With fields of type float64, or arrays of float64 with shape (n,).

        Raises
        ------
        TypeError, ValueError
            If these are not registers of this counter, or the numbers of rows do not match, as for
            `merge`.

        Examples
        --------
        >>> from lshfast import DistinctCounter, TokenSets
        >>> counter = DistinctCounter()
        >>> a, b = counter.sketch(
        ...     TokenSets.from_sets([range(0, 6000), range(3000, 9000)])
        ... )
        >>> found = counter.overlap(a, b)
        >>> float(found.union.round(-3)), float(found.containment.round(1))
        (9000.0, 0.5)
        """
        left_registers = self._check(a, "a")
        right_registers = self._check(b, "b")
        fitted(left_registers, right_registers)
        n = self.count(left_registers)
        x = self.count(right_registers)
        union = self.count(np.maximum(left_registers, right_registers))
        with np.errstate(invalid="ignore"):
            both = np.fmin(np.maximum(n + x - union, 0), np.minimum(n, x))
        return _overlap(both, union, n)

    def to_bytes(self, registers: npt.ArrayLike) -> bytes:
        """Serialize registers for `lshfast.sketch.registers_from_bytes`.

        The bytes are a header, the registers, and a checksum.

        Parameters
        ----------
        registers : array_like of uint8, shape (2**p,) or (n, 2**p)

        Returns
        -------
        bytes
            One byte per register, and 40 bytes.

        Raises
        ------
        TypeError, ValueError
            If these are not registers of this counter, as for `merge`.

        Examples
        --------
        >>> from lshfast import DistinctCounter
        >>> len(DistinctCounter(p=4).to_bytes(DistinctCounter(p=4).empty()))
        56
        """
        array = np.ascontiguousarray(np.atleast_2d(self._check(registers, "registers")))
        header = _HEADER.pack(_MAGIC, _VERSION, self.p, self.seed, len(array))
        return sealed(header + array.tobytes())

    def _check(self, registers: npt.ArrayLike, name: str) -> UInt8Array:
        array = checked(
            registers,
            name,
            self,
            np.uint8,
            2**self.p,
            "registers of ",
            f"= 2**{self.p} registers a set",
        )
        if array.ndim > 2:
            raise ValueError(
                f"{name} must have shape ({2**self.p},) or (n, {2**self.p}), not {array.shape}"
            )
        highest = array.max(initial=0)
        if highest > 65 - self.p:
            raise ValueError(
                f"{name} hold {highest}; with p = {self.p} registers are at most {65 - self.p}"
            )
        return array


def registers_from_bytes(data: bytes | bytearray | memoryview) -> UInt8Array:
    """Read registers that `DistinctCounter.to_bytes` wrote.

    Parameters
    ----------
    data : bytes, bytearray or memoryview

    Returns
    -------
    Registers, an ndarray of uint8, shape (n, 2**p)
        The attribute `counter` is the counter that made them.

    Raises
    ------
    TypeError
        If `data` is not a contiguous buffer of bytes.
    ValueError
        If `to_bytes` did not write the data, a later version wrote it, or it is damaged.

    See Also
    --------
    lshfast.DistinctCounter : Count distinct elements by HyperLogLog.

    Examples
    --------
    >>> from lshfast import TokenSets
    >>> from lshfast.sketch.cardinality import DistinctCounter, registers_from_bytes
    >>> counter = DistinctCounter(p=4, seed=7)
    >>> registers = registers_from_bytes(
    ...     counter.to_bytes(counter.sketch(TokenSets.from_sets([["a"], []])))
    ... )
    >>> registers.counter, registers.counter.count(registers).round(2).tolist()
    (DistinctCounter(p=4, seed=7), [1.0, 0.0])
    """
    try:
        view = memoryview(data).cast("B")
    except (TypeError, ValueError):
        raise TypeError(
            f"data must be bytes or a contiguous buffer of them, not {type(data).__name__}"
        ) from None
    if len(view) < _HEADER.size or view[: len(_MAGIC)] != _MAGIC:
        raise ValueError("not registers that lshfast wrote: the first bytes are wrong")
    _, version, p, seed, rows = _HEADER.unpack_from(view)
    if version != _VERSION:
        raise ValueError(
            f"registers of version {version}, where this library reads {_VERSION}"
        )
    if (
        not kernels.MIN_P <= p <= kernels.MAX_P
        or len(view) != _HEADER.size + (rows << p) + 8
    ):
        raise ValueError(
            f"registers are damaged: {len(view)} bytes do not hold {rows} sets with p = {p}"
        )
    if not is_sealed(view):
        raise ValueError("registers are damaged: their checksum is wrong")
    counter = DistinctCounter(p, seed)
    array = (
        np.frombuffer(view, np.uint8, rows << p, _HEADER.size)
        .reshape(rows, 2**p)
        .copy()
    )
    return made_by(counter, counter._check(array, "registers"), Registers)

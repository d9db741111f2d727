"""Numbers of distinct tokens, estimated from HyperLogLog registers.

16,384 registers of one byte have a standard error of 0.8 %. They need one pass over the tokens, in
any order, and can be merged. `sizes` estimates from signatures, whose error is greater.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int
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
from lshfast.sketch.sizes import Overlap, overlap_of
from lshfast.sketch.sketcher import PIECE_TOKENS, check_token_sets
from lshfast.tokens import TokenSets

# Tokens that a thread hashes into its own registers. With this many, clearing and merging
# registers takes almost no time.
UPDATE_TOKENS = 1 << 20

_MAGIC = b"LSHFHLL\0"
_VERSION = 1
# Magic, version, p, seed, rows; the checksum comes after the registers.
_HEADER = struct.Struct("<8sIIQQ")


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
        return overlap_of(both, union, n)

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

"""datasketch's HyperLogLog and HyperLogLogPlusPlus: the same registers and bytes, over the batch kernels.

Where datasketch goes wrong this does not follow: pickles and copies keep their hash function, sketches of different
hash functions or kinds do not merge, damaged registers are refused, and HyperLogLogPlusPlus counts without bias tables.
"""

from __future__ import annotations

import math
import operator
import struct
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from types import FunctionType
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast.datasketch.hashfunc import TOKEN_SEED, Hasher, sha1_hash32, sha1_hash64, token_hashes
from lshfast.datasketch.minhash import check_int
from lshfast.kernels import cardinality as kernels
from lshfast.kernels.affine import native, sha1
from lshfast.tokens import UInt64Array

Int8Array = npt.NDArray[np.int8]
Kind = TypeVar("Kind", bound="HyperLogLog")

LOWEST_P, HIGHEST_P = 4, 16

# Items hashed before their registers are raised: few, so that they are in the cache from the first look to the last.
STRETCH = 1 << 12


def _in_c(hashfunc: Callable[[Any], int]) -> tuple[int, bool]:
    """Return the bits if a function is the SHA1 of many values in C, and whether it is this library's own hash."""
    hasher = Hasher(hashfunc, 64, "")
    return hasher.sha1, hasher.is_native


def _hash_all(hashfunc: Callable[[Any], int], items: tuple[Any, ...]) -> UInt64Array:
    """Return the hash values of items: those of functions that are in C in one call."""
    bits, is_native = _in_c(hashfunc)
    if bits:
        return sha1(items, bits)
    if is_native:
        found = native(items, TOKEN_SEED)
        return token_hashes(items) if found is None else found
    values = [operator.index(hashfunc(item)) for item in items]
    try:
        if values and min(values) < 0:  # which numpy 1 takes
            raise OverflowError
        return np.array(values, np.uint64)
    except OverflowError:
        at = next(i for i, value in enumerate(values) if not 0 <= value < 2**64)
        raise ValueError(f"hash value {values[at]} (item {at}) must be in 0..2**64 - 1") from None


class HyperLogLog:
    """Count distinct values with 2**p registers, by a hash of 32 bits, as datasketch does.

    `lshfast.sketch.cardinality.DistinctCounter` counts tokens of many sets at once, with hashes of 64 bits.

    Parameters
    ----------
    p : int, default 8
        In 4..16. Where `reg` is given, the registers tell it.
    reg : ndarray of integers, shape (2**p,), optional
        Registers of another sketch. Writable int8 are used where they lie, others are copied.
    hashfunc : callable, default sha1_hash32
        What gives a value's hash, an int of 32 bits. Sketches of different functions do not merge.
    hashobj : object, optional
        Ignored, with a DeprecationWarning.

    Raises
    ------
    TypeError, ValueError
        If p is no int or out of range, if registers are no such array or higher than they can be, or if hashfunc cannot
        be called.

    Examples
    --------
    >>> from lshfast.datasketch.hyperloglog import HyperLogLog
    >>> sketch = HyperLogLog(p=12)
    >>> sketch.update(b"one")
    >>> sketch.update_batch(str(i).encode() for i in range(20000))
    >>> bool(abs(sketch.count() - 20001) < 1000)
    True
    """

    __slots__ = ("_held", "_reg", "_stated", "alpha", "hashfunc", "m", "max_rank", "p")
    __hash__ = None  # type: ignore[assignment]  # they change

    _width: ClassVar[int] = 32

    def __init__(
        self,
        p: int = 8,
        reg: npt.NDArray[Any] | None = None,
        hashfunc: Callable[[Any], int] = sha1_hash32,
        hashobj: object | None = None,
    ) -> None:
        if not callable(hashfunc):
            raise ValueError(f"hashfunc must be callable, not {hashfunc!r}")
        if hashobj is not None:
            warnings.warn("hashobj is ignored and deprecated: use hashfunc", DeprecationWarning, stacklevel=2)
        if reg is not None:
            p = _precision_of(reg)
        if not LOWEST_P <= check_int(p, "p") <= HIGHEST_P:
            raise ValueError(f"p must be in {LOWEST_P}..{HIGHEST_P}, not {p}")
        self.p = int(p)
        self.m = 1 << self.p
        self.max_rank = self._width - self.p
        self.alpha = {4: 0.673, 5: 0.697, 6: 0.709}.get(self.p, 0.7213 / (1 + 1.079 / self.m))
        self.hashfunc = hashfunc
        # Registers alone do not say whose they are, so only a function that was given is held against another.
        self._stated = reg is None or hashfunc not in (sha1_hash32, sha1_hash64)
        self.reg = np.zeros(self.m, np.int8) if reg is None else reg

    @property
    def reg(self) -> Int8Array:
        """The registers: int8 (2**p,)."""
        return self._reg

    @reg.setter
    def reg(self, registers: npt.NDArray[Any]) -> None:
        if _precision_of(registers) != self.p:
            raise ValueError(f"there must be {self.m} registers, as p is {self.p}, not {registers.size}")
        self._check_registers(registers)
        if registers.dtype != np.int8 or not (registers.flags.writeable and registers.flags.c_contiguous):
            registers = registers.astype(np.int8, order="C", copy=True)
        self._hold(registers)

    def _check_registers(self, registers: npt.NDArray[Any]) -> None:
        lowest, highest = int(registers.min()), int(registers.max())
        if lowest < 0 or highest > self.max_rank + 1:
            wrong = lowest if lowest < 0 else highest
            raise ValueError(f"registers must be in 0..{self.max_rank + 1}, as p is {self.p}, not {wrong}")

    def _hold(self, registers: Int8Array) -> None:
        self._reg = registers
        self._held = memoryview(registers.data)  # one register is read here in a third of the time

    def update(self, b: Any) -> None:
        """Add a value: bytes, or what else the hash function takes."""
        value = operator.index(self.hashfunc(b))  # numpy 1 does not shift its own integers by an int
        rank = self.max_rank + 1 - (value >> self.p).bit_length()
        if rank <= 0 or value < 0:
            raise ValueError(f"hash value {value} does not fit in {self._width} bits")
        place = value & (self.m - 1)
        if rank > self._held[place]:
            self._held[place] = rank

    def update_batch(self, b: Iterable[Any]) -> None:
        """Add values, which is quicker than one `update` each. Not in datasketch.

        An error in one of the values may leave those before it added.
        """
        values = iter(b)
        registers = self._reg.view(np.uint8)
        while stretch := tuple(islice(values, STRETCH)):
            kernels.update_hashes(_hash_all(self.hashfunc, stretch), self._width, registers)

    def count(self) -> float:
        """Return the estimated number of distinct values, by the formula of Flajolet and others (2007).

        A UserWarning says where the estimate lies near the change of its formula, at 2.5 * 2**p, and may be off by more
        than the standard error of 1.04 / sqrt(2**p). Registers that were written to, and that no hash value gives,
        raise ValueError.
        """
        self._check_registers(self._reg)
        estimate = self.alpha * self.m**2 / float(np.sum(2.0 ** -self._reg.astype(np.float64)))
        seam = 2.5 * self.m
        if abs(estimate - seam) / seam < 0.15:
            warnings.warn(
                f"{estimate:.0f} is near {seam:.0f}, where the formula changes: the error may be larger than usual",
                stacklevel=2,
            )
        zeros = self.m - int(np.count_nonzero(self._reg))
        if estimate <= seam and zeros:
            return float(self.m * np.log(self.m / zeros))
        if estimate <= 2**32 / 30:
            return estimate
        return float(-(2**32) * np.log(1 - estimate / 2**32)) if estimate < 2**32 else math.inf

    def merge(self, other: HyperLogLog) -> None:
        """Add all that another sketch of the same p, kind and hash function counted.

        Raises
        ------
        TypeError, ValueError
            If the other is no HyperLogLog, or of another p, kind or hash function.
        """
        self._check(other)
        self._hold(np.maximum(self._reg, other._reg))

    @classmethod
    def union(cls: type[Kind], *hyperloglogs: HyperLogLog) -> Kind:
        """Return the union of two or more sketches of the same p, kind and hash function."""
        if len(hyperloglogs) < 2:
            raise ValueError(f"a union takes at least 2 sketches, not {len(hyperloglogs)}")
        first = hyperloglogs[0]
        for other in hyperloglogs:
            _check_kind(other, cls._width)
            first._check(other)
        made = cls(first.p, hashfunc=first.hashfunc)
        made._hold(np.maximum.reduce([other._reg for other in hyperloglogs]))
        made._stated = first._stated
        return made

    def _check(self, other: HyperLogLog) -> None:
        _check_kind(other, self._width)
        if self.p != other.p:
            raise ValueError(f"sketches of p = {self.p} and p = {other.p} do not merge")
        if self._stated and other._stated and not _same_function(self.hashfunc, other.hashfunc):
            raise ValueError(f"sketches of hash functions {self.hashfunc!r} and {other.hashfunc!r} do not merge")

    def digest(self) -> Int8Array:
        """Return a copy of the registers: int8 (2**p,)."""
        return self._reg.copy()

    def copy(self: Kind) -> Kind:
        """Return a sketch that holds the same, and changes on its own."""
        made = self.__class__(reg=self.digest(), hashfunc=self.hashfunc)
        made._stated = self._stated
        return made

    def is_empty(self) -> bool:
        """Tell whether nothing was added."""
        return not self._reg.any()

    def clear(self) -> None:
        """Forget all that was added."""
        self._hold(np.zeros(self.m, np.int8))

    def __len__(self) -> int:
        return self.m

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and np.array_equal(self._reg, other._reg)

    def bytesize(self) -> int:
        """Return the bytes that `serialize` writes: one for p, and one a register."""
        return 1 + self.m

    def serialize(self, buf: Any) -> None:
        """Write p and the registers, a byte each, to the beginning of a writable buffer.

        The hash function is not among them: see `deserialize`.

        Raises
        ------
        TypeError, ValueError
            If it cannot be written to, or has fewer bytes than `bytesize` says.
        """
        data = memoryview(buf).cast("B")
        if len(data) < self.bytesize():
            raise ValueError(f"buf must have at least {self.bytesize()} bytes, not {len(data)}")
        data[: self.bytesize()] = bytes([self.p]) + self._reg.tobytes()

    @classmethod
    def deserialize(cls: type[Kind], buf: Any, hashfunc: Callable[[Any], int] | None = None) -> Kind:
        """Return the sketch at the beginning of a buffer that `serialize` wrote, here or in datasketch.

        Parameters
        ----------
        buf : buffer of bytes
        hashfunc : callable, optional
            That of the sketch that was written. Without it the default is taken, and as the bytes do not say their
            own, the sketch merges with those of any hash function. Not in datasketch.

        Raises
        ------
        struct.error
            If the buffer ends too early.
        ValueError
            If its first byte is no p, or a register is higher than it can be.
        """
        data = memoryview(buf).cast("B")
        if not len(data):
            raise struct.error("buf is empty: a sketch has a byte for p, and 2**p for its registers")
        p = data[0]
        if not LOWEST_P <= p <= HIGHEST_P:
            raise ValueError(f"p must be in {LOWEST_P}..{HIGHEST_P}, not {p}, the first byte of buf")
        if len(data) <= 1 << p:
            raise struct.error(f"buf must have at least {1 + (1 << p)} bytes, as p is {p}, not {len(data)}")
        registers = np.frombuffer(data, np.uint8, 1 << p, 1).astype(np.int16)
        return cls(reg=registers) if hashfunc is None else cls(reg=registers, hashfunc=hashfunc)

    def __getstate__(self) -> Any:
        buf = bytearray(self.bytesize())
        self.serialize(buf)
        return bytes(buf), self.hashfunc, self._stated

    def __setstate__(self, state: Any) -> None:
        """Take the state of a pickle: that of one of datasketch is the bytes alone."""
        buf, hashfunc, stated = state if isinstance(state, tuple) else (state, None, False)
        made = self.deserialize(buf, hashfunc)
        self.__init__(reg=made.reg, hashfunc=made.hashfunc)  # type: ignore[misc]
        self._stated = stated

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class HyperLogLogPlusPlus(HyperLogLog):
    """Count distinct values with 2**p registers, by a hash of 64 bits, as datasketch does.

    Registers and bytes are those of datasketch. Counts are made by Ertl's improved raw estimator, as those of
    `DistinctCounter` are, and not from tables of measured bias: they differ by less than the standard error, and have
    no bias on the way from small to large.

    Parameters
    ----------
    p, reg, hashobj
        As for HyperLogLog.
    hashfunc : callable, default sha1_hash64
        What gives a value's hash, an int of 64 bits.

    Examples
    --------
    >>> from lshfast.datasketch.hyperloglog import HyperLogLogPlusPlus
    >>> sketch = HyperLogLogPlusPlus()
    >>> sketch.update(b"one")
    >>> round(sketch.count(), 2)
    1.0
    """

    _width = 64

    def __init__(
        self,
        p: int = 8,
        reg: npt.NDArray[Any] | None = None,
        hashfunc: Callable[[Any], int] = sha1_hash64,
        hashobj: object | None = None,
    ) -> None:
        if hashobj is not None:
            warnings.warn("hashobj is ignored and deprecated: use hashfunc", DeprecationWarning, stacklevel=2)
        super().__init__(p, reg, hashfunc)

    def count(self) -> float:
        """Return the estimated number of distinct values; the standard error is 1.04 / sqrt(2**p) or less."""
        out = np.empty(1)
        kernels.register_estimates(self._reg.view(np.uint8)[None], self._width, out)
        return float(out[0])


def _precision_of(registers: Any) -> int:
    """Return p of 2**p registers, or say why they are none."""
    if not isinstance(registers, np.ndarray):
        raise ValueError(f"reg must be a numpy array, not {type(registers).__name__}")
    if registers.ndim != 1 or registers.dtype.kind not in "iu":
        raise ValueError(f"reg must be integers of one dimension, not {registers.dtype} of shape {registers.shape}")
    p = registers.size.bit_length() - 1
    if registers.size != 1 << max(p, 0):
        raise ValueError(f"reg must have a power of 2 registers, not {registers.size}")
    return p


def _check_kind(other: Any, width: int) -> None:
    if not isinstance(other, HyperLogLog):
        raise TypeError(f"a HyperLogLog is needed, not {type(other).__name__}")
    if other._width != width:
        raise ValueError(f"sketches of hashes of {width} and {other._width} bits do not merge")


def _same_function(a: Any, b: Any) -> bool:
    """Tell whether two functions do the same: one, or made by the same code around the same values."""
    if a is b or a == b or (any(_in_c(a)) and _in_c(a) == _in_c(b)):
        return True
    if isinstance(a, partial) and isinstance(b, partial):
        return _same_function(a.func, b.func) and (a.args, a.keywords) == (b.args, b.keywords)
    if not (isinstance(a, FunctionType) and isinstance(b, FunctionType)):
        return False
    around = [[cell.cell_contents for cell in function.__closure__ or ()] for function in (a, b)]
    return (a.__code__, a.__defaults__, a.__kwdefaults__, a.__module__) == (
        b.__code__,
        b.__defaults__,
        b.__kwdefaults__,
        b.__module__,
    ) and around[0] == around[1]

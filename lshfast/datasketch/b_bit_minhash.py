"""bBitMinHash: the lowest bits of hash values, and their serialization in datasketch's layout."""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range
from lshfast.datasketch.minhash import MinHash
from lshfast.datasketch.schemes import (
    BY_CODE,
    SCHEMES,
    SchemeName,
    agreements,
    permutations_of,
    same_values,
    scheme_of,
)

HEAD = struct.Struct("<qBdi")
BLOCK_BITS = 64

# By b: the mask of the lowest bits.
MASKS = {
    dtype: [dtype.type((1 << b) - 1) for b in range(33)]
    for dtype in (np.dtype(np.uint32), np.dtype(np.uint64))
}


class bBitMinHash:
    """Keep the lowest b bits of each hash value of a MinHash (Li and König 2010).

    Different hash values agree in their lowest bits with probability 2**-b; the estimate corrects
    for this.

    Parameters
    ----------
    minhash : MinHash
        Also a sketch of datasketch.
    b : int, default 1
        Bits, 1 to 32.
    r : float, default 0.0
        The size of the set as a fraction of the universe, in [0, 1]; 0 if it is small or unknown.

    Attributes
    ----------
    hashvalues : ndarray of uint32, shape (num_perm,)
    seed, scheme, b, r

    Raises
    ------
    TypeError, ValueError
        If b or r has the wrong type or is out of range.

    See Also
    --------
    lshfast.datasketch.MinHash : A sketch of one set.
    lshfast.sketch.BBits : Keep the lowest bits of signatures.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, bBitMinHash
    >>> a, b = MinHash.bulk(
    ...     [[b"%d" % i for i in range(100)], [b"%d" % i for i in range(25, 125)]],
    ...     num_perm=512,
    ... )
    >>> abs(bBitMinHash(a, 4).jaccard(bBitMinHash(b, 4)) - 0.6) < 0.1
    True
    """

    __slots__ = ("_given", "b", "hashvalues", "r", "scheme", "seed")

    scheme: SchemeName
    hashvalues: npt.NDArray[np.uint32]
    seed: int
    b: int
    r: float

    def __init__(self, minhash: MinHash, b: int = 1, r: float = 0.0) -> None:
        b = int(b)
        r = float(r)
        if not 1 <= b <= 32:
            raise ValueError(f"b must be in 1..32, not {b}")
        if not 0.0 <= r <= 1.0:
            raise ValueError(f"r must be in [0.0, 1.0], not {r}")
        scheme_of(minhash.scheme)
        values = minhash.hashvalues
        low_bits = values & MASKS[values.dtype][b]
        self.hashvalues = (
            low_bits if low_bits.dtype == np.uint32 else low_bits.astype(np.uint32)
        )
        self.seed = minhash.seed
        self.scheme = minhash.scheme
        self.b = b
        self.r = r
        self._given = permutations_of(minhash)

    def __eq__(self, other: object) -> bool:
        """Return whether all attributes are equal."""
        return (
            type(self) is type(other)
            and isinstance(other, bBitMinHash)
            and self.scheme == other.scheme
            and self.seed == other.seed
            and self.b == other.b
            and self.r == other.r
            and same_values(self.hashvalues, other.hashvalues)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def jaccard(self, other: bBitMinHash) -> float:
        """Estimate the Jaccard similarity of both sets.

        Parameters
        ----------
        other : bBitMinHash
            A sketch with the same scheme, seed, length and b.

        Returns
        -------
        float
            An unbiased estimate, which may be below 0 for sets with few common elements; 1 if both
            sets are empty. If r is 1 for both, no bits agree by chance, and the result is the
            fraction of equal values: 1 for two sets that are both the universe.

        Raises
        ------
        ValueError
            If the other sketch has another scheme, seed, length or b, or other permutations.
        """
        if self.b != other.b or self.scheme != other.scheme or self.seed != other.seed:
            name = next(
                name
                for name in ("b", "scheme", "seed")
                if getattr(self, name) != getattr(other, name)
            )
            mine = getattr(self, name)
            theirs = getattr(other, name)
            raise ValueError(
                f"sketches of {name} {mine!r} and {theirs!r} cannot be compared"
            )
        if len(self.hashvalues) != len(other.hashvalues):
            raise ValueError(
                f"sketches of {len(self.hashvalues)} and {len(other.hashvalues)} hash values "
                "cannot be compared"
            )
        if permutations_of(self) != permutations_of(other):
            raise ValueError("sketches of different permutations cannot be compared")
        agreeing = agreements(self.hashvalues, other.hashvalues) / len(self.hashvalues)
        first = self._chance()
        second = other._chance()
        if self.r == other.r == 0.0:
            c1 = first
            c2 = second
        else:
            share = self.r / (self.r + other.r)
            c1 = first * (1 - share) + second * share
            c2 = first * share + second * (1 - share)
        return (agreeing - c1) / (1 - c2)

    def _chance(self) -> float:
        """Return A(r, b) of the paper, which is 2**-b for r near 0."""
        if self.r == 0.0:
            return 1.0 / (1 << self.b)
        if self.r == 1.0:
            return 0.0
        log_rest = math.log1p(-self.r)
        return (
            self.r
            * math.exp(log_rest * ((1 << self.b) - 1))
            / -math.expm1(log_rest * (1 << self.b))
        )

    def bytesize(self) -> int:
        """Return the number of bytes of `__getstate__`."""
        blocks = -(-len(self.hashvalues) // (BLOCK_BITS // _width(self.b)))
        return HEAD.size + bool(SCHEMES[self.scheme].code) + 8 * blocks

    def __getstate__(self) -> bytearray:
        """Return the state that datasketch pickles. All numbers are little-endian.

        The seed (8 bytes), b (1), r (8) and the number of hash values (4), which is negative if a
        byte with the number of the scheme follows. Then blocks of 8 bytes, each with as many hash
        values of 1, 2, 4, 8, 16 or 32 bits as fit, the first in the highest bits.
        """
        width = _width(self.b)
        k = len(self.hashvalues)
        code = SCHEMES[self.scheme].code
        each = BLOCK_BITS // width
        slots = np.zeros(-(-k // each) * each, np.uint64)
        slots[:k] = self.hashvalues
        blocks = np.bitwise_or.reduce(slots.reshape(-1, each) << _shifts(width), axis=1)
        seed = (
            self.seed - 2**64
            if SCHEMES[self.scheme].is_own and self.seed >= 2**63
            else self.seed
        )
        head = HEAD.pack(seed, self.b, self.r, -k if code else k) + (
            bytes([code]) if code else b""
        )
        return bytearray(head + blocks.astype("<u8").tobytes())

    def __setstate__(self, buf: Any) -> None:
        buf = bytes(buf)
        seed, b, r, k = HEAD.unpack_from(buf, 0)
        scheme = BY_CODE[0]
        start = HEAD.size
        if k < 0:
            k = -k
            code = buf[start] if len(buf) > start else 0
            if code not in BY_CODE or not code:
                raise ValueError(f"bytes name scheme {code}, which is not known")
            scheme = BY_CODE[code]
            start = start + 1
        if not 1 <= b <= 32:
            raise ValueError(f"bytes name b = {b}, which must be in 1..32")
        width = _width(b)
        count = -(-k // (BLOCK_BITS // width))
        if len(buf) < start + 8 * count:
            raise struct.error(
                f"{start + 8 * count} bytes are needed for {k} hash values, not {len(buf)}"
            )
        blocks = np.frombuffer(buf, "<u8", count, start).astype(np.uint64)
        slots = (blocks[:, None] >> _shifts(width)) & np.uint64((1 << width) - 1)
        self.hashvalues = slots.ravel()[:k].astype(np.uint32)
        self.seed = seed % 2**64 if scheme.is_own else seed
        self.b = b
        self.r = r
        self.scheme = scheme.name  # type: ignore[assignment]
        self._given = None

    def __reduce__(self) -> tuple[Any, ...]:
        digests = () if self._given is None else (self._given,)
        return _restored, (type(self), bytes(self.__getstate__()), *digests)


def _restored(
    cls: type[bBitMinHash], data: bytes, permutations: bytes | None = None
) -> bBitMinHash:
    sketch = object.__new__(cls)
    sketch.__setstate__(data)
    sketch._given = permutations
    return sketch


def _width(b: int) -> int:
    """Return the bits that a hash value of b bits takes in a block."""
    return next(width for width in (1, 2, 4, 8, 16, 32) if b <= width)


def _shifts(width: int) -> npt.NDArray[np.uint64]:
    return int64_range(BLOCK_BITS - width, -1, -width).astype(np.uint64)

"""LeanMinHash: hash values only, and their serialization in datasketch's layout."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from lshfast.datasketch.minhash import MinHash, check_int, united, writable
from lshfast.datasketch.schemes import (
    BY_CODE,
    SCHEMES,
    SchemeName,
    Values,
    integers,
    permutations_of,
    scheme_of,
)

ByteOrder: TypeAlias = Literal["@", "=", "<", ">", "!"]

UINT32 = np.dtype(np.uint32)

Lean = TypeVar("Lean", bound="LeanMinHash")


class LeanMinHash(MinHash):
    """Keep the seed, scheme and hash values of a MinHash, without what updates need.

    If the MinHash was given `permutations`, an 8-byte digest of them is kept, so that the sketch
    can only be compared with sketches with the same permutations. The serialized form has no space
    for the digest: a deserialized sketch is treated as one with drawn permutations.

    A LeanMinHash can be compared, merged and counted like a MinHash. It can also be hashed and
    serialized. The layout is datasketch's: the seed (8 bytes); the number of hash values (4 bytes),
    which is negative if a byte with the number of the scheme follows (1 for ``affine32``, 2 for
    ``affine64``; ``legacy`` has no such byte); the hash values, each of 4 bytes, or of 8 bytes for
    ``affine64``. The library's own schemes have the numbers 192 (``fast``) and 193 (``classic``),
    with values of 8 bytes; datasketch refuses these.

    Parameters
    ----------
    minhash : MinHash, optional
        The sketch to keep; also a sketch of datasketch.
    seed : int, optional
    hashvalues : array_like of int, optional
        The parts of a sketch, if no minhash is given.
    scheme : str, optional
        Required with hashvalues. With a minhash it must be the minhash's scheme.

    Raises
    ------
    ValueError
        If neither a minhash nor its parts are given, or the scheme differs from the minhash's.

    See Also
    --------
    lshfast.datasketch.MinHash : A sketch of one set.
    lshfast.datasketch.bBitMinHash : A sketch of the lowest b bits.

    Examples
    --------
    >>> from lshfast.datasketch import LeanMinHash, MinHash
    >>> sketch = MinHash(num_perm=64)
    >>> sketch.update_batch([b"a", b"b"])
    >>> lean = LeanMinHash(sketch)
    >>> buffer = bytearray(lean.bytesize("<"))
    >>> lean.serialize(buffer, "<")
    >>> len(buffer), LeanMinHash.deserialize(buffer, "<") == lean
    (269, True)
    """

    __slots__ = ("_given",)

    seed: int
    hashvalues: Values
    scheme: SchemeName
    _given: bytes | None  # the digest of given permutations

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: npt.ArrayLike | None = None,
        scheme: SchemeName | None = None,
    ) -> None:
        if minhash is not None:
            if scheme is not None and scheme != minhash.scheme:
                raise ValueError(
                    f"scheme {scheme!r} is not that of the MinHash given, {minhash.scheme!r}"
                )
            self._fill(minhash.seed, minhash.hashvalues, minhash.scheme)
            self._given = permutations_of(minhash)
        elif hashvalues is None or seed is None:
            raise ValueError(
                "a LeanMinHash is made of a MinHash, or of seed, hashvalues and scheme"
            )
        elif scheme is None:
            raise ValueError(
                "scheme must be given with hashvalues: that of the MinHash they come from, "
                "'legacy' if datasketch "
                "before 2.0 made them"
            )
        else:
            self._fill(seed, hashvalues, scheme)

    def _fill(self, seed: int, hashvalues: Any, scheme: SchemeName) -> None:
        kind = scheme_of(scheme)
        if (
            type(hashvalues) is np.ndarray
            and hashvalues.dtype is kind.dtype is UINT32
            and hashvalues.ndim == 1
        ):
            values = hashvalues.copy()
        else:
            values = integers(hashvalues, kind.dtype, kind.greatest, "hashvalues")
        if len(values) == 0:
            raise ValueError("hashvalues must not be empty")
        self.seed = check_int(seed, "seed")
        self.hashvalues = values
        self.scheme = scheme
        self._given = None

    @property
    def num_perm(self) -> int:  # type: ignore[override]
        """The number of hash values."""
        return len(self.hashvalues)

    def update(self, b: Any) -> NoReturn:
        """Raise TypeError: a LeanMinHash cannot be updated."""
        raise TypeError("a LeanMinHash cannot be updated")

    def update_batch(self, b: Iterable[Any]) -> NoReturn:
        """Raise TypeError: a LeanMinHash cannot be updated."""
        raise TypeError("a LeanMinHash cannot be updated")

    def __copy__(self: Lean) -> Lean:
        return self._with(self.hashvalues.copy())

    def __deepcopy__(self: Lean, memo: dict[int, Any]) -> Lean:
        return self._with(self.hashvalues.copy())

    def _with(self: Lean, values: Values) -> Lean:
        sketch = object.__new__(type(self))
        sketch.seed = self.seed
        sketch.hashvalues = values
        sketch.scheme = self.scheme
        sketch._given = self._given
        return sketch

    def __hash__(self) -> int:  # type: ignore[override]
        """Return a hash, which is equal for equal sketches. A merge or clear changes it."""
        return hash((self.scheme, self.seed, self.hashvalues.tobytes()))

    @classmethod
    def union(cls: type[Lean], *lmhs: MinHash) -> Lean:
        """Return the sketch of the union of two or more sets.

        Parameters
        ----------
        *lmhs : MinHash
            At least two sketches with the same scheme, seed and length.

        Raises
        ------
        ValueError
            If there are fewer than two, or one of these differs.
        """
        sketch = cls(hashvalues=united(lmhs), seed=lmhs[0].seed, scheme=lmhs[0].scheme)
        sketch._given = permutations_of(lmhs[0])
        return sketch

    def bytesize(self, byteorder: ByteOrder = "@") -> int:
        """Return the number of bytes that `serialize` writes.

        Parameters
        ----------
        byteorder : {"@", "=", "<", ">", "!"}, default "@"
            As in `struct`. "@" means native order, with hash values aligned to their size.
        """
        _, start, values = _layout(self.scheme, byteorder)
        return start + len(self.hashvalues) * values.itemsize

    def serialize(self, buf: Any, byteorder: ByteOrder = "@") -> None:
        """Write the sketch to a buffer.

        Parameters
        ----------
        buf : bytearray or another writable buffer of bytes
            At least `bytesize` bytes long; further bytes are not changed.
        byteorder : {"@", "=", "<", ">", "!"}, default "@"

        Raises
        ------
        ValueError
            If the buffer is too short.
        TypeError
            If the buffer is not writable.
        struct.error
            If the byte order is unknown, or the seed has more than 8 bytes.
        """
        head, start, values = _layout(self.scheme, byteorder)
        k = len(self.hashvalues)
        data = writable(buf, start + k * values.itemsize)
        code = SCHEMES[self.scheme].code
        head.pack_into(data, 0, self.seed, *((-k, code) if code else (k,)))
        np.frombuffer(data, values, k, start)[:] = self.hashvalues

    @classmethod
    def deserialize(cls: type[Lean], buf: Any, byteorder: ByteOrder = "@") -> Lean:
        """Return the sketch that `serialize` wrote, here or in datasketch.

        Parameters
        ----------
        buf : buffer of bytes
        byteorder : {"@", "=", "<", ">", "!"}, default "@"
            The order with which it was written.

        Raises
        ------
        struct.error
            If the buffer is too short.
        ValueError
            If the bytes name an unknown scheme, or no hash values.
        """
        buf = memoryview(buf).cast("B")
        seed, k = _layout("legacy", byteorder)[0].unpack_from(buf, 0)
        scheme = BY_CODE[0]
        if k < 0:
            k = -k
            at = _layout("legacy", byteorder)[0].size
            if len(buf) <= at:
                raise struct.error(
                    f"buf must have more than {at} bytes, not {len(buf)}"
                )
            if buf[at] not in BY_CODE or not buf[at]:
                raise ValueError(
                    f"buf names scheme {buf[at]}, which is none of "
                    f"{', '.join(str(code) for code in BY_CODE if code)}"
                )
            scheme = BY_CODE[buf[at]]
            seed = seed % 2**64 if scheme.is_own else seed
        _, start, values = _layout(scheme.name, byteorder)
        if k == 0:
            raise ValueError("buf holds no hash values")
        if len(buf) < start + k * values.itemsize:
            raise struct.error(
                f"buf must have {start + k * values.itemsize} bytes for {k} values, not {len(buf)}"
            )
        sketch = object.__new__(cls)
        sketch.seed = seed
        sketch.scheme = scheme.name  # type: ignore[assignment]
        sketch._given = None
        sketch.hashvalues = np.frombuffer(buf, values, k, start).astype(scheme.dtype)
        return sketch

    def __getstate__(self) -> bytearray:  # type: ignore[override]
        """Return the state that datasketch pickles: the bytes of `serialize` in native order."""
        buffer = bytearray(self.bytesize())
        self.serialize(buffer)
        return buffer

    def __setstate__(self, buf: Any) -> None:
        other = LeanMinHash.deserialize(buf)
        self.seed = other.seed
        self.hashvalues = other.hashvalues
        self.scheme = other.scheme
        self._given = None

    def __reduce__(self) -> tuple[Any, ...]:
        buffer = bytearray(self.bytesize("<"))
        self.serialize(buffer, "<")
        return _read, (
            type(self),
            bytes(buffer),
            *(() if self._given is None else (self._given,)),
        )


def _read(cls: type[Lean], data: bytes, permutations: bytes | None = None) -> Lean:
    sketch = cls.deserialize(data, "<")
    sketch._given = permutations
    return sketch


@cache
def _layout(scheme: str, byteorder: str) -> tuple[struct.Struct, int, np.dtype[Any]]:
    """Return the header, the offset of the hash values, and their dtype."""
    if byteorder not in get_args(ByteOrder):
        raise struct.error(
            f"byteorder must be one of {', '.join(get_args(ByteOrder))}, not {byteorder!r}"
        )
    kind = SCHEMES[scheme]
    value_code = "I" if kind.greatest == 2**32 - 1 else "Q"
    head = ("Qi" if kind.is_own else "qi") + ("B" if kind.code else "")
    order = {"@": "=", "!": ">"}.get(byteorder, byteorder)
    start = struct.calcsize(f"{byteorder}{head}0{value_code}")
    return (
        struct.Struct(byteorder + head),
        start,
        np.dtype(order + {"I": "u4", "Q": "u8"}[value_code]),
    )

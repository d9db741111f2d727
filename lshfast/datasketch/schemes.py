"""The schemes of hash values: datasketch's three, and this library's two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_seed
from lshfast.datasketch.hashfunc import sha1_hash32, sha1_hash64, token_hash
from lshfast.kernels import sketch
from lshfast.kernels.affine import Functions, equal
from lshfast.sketch.minhash import MinHasher
from lshfast.sketch.sizes import estimate_sizes

SchemeName: TypeAlias = Literal["affine32", "affine64", "legacy", "classic", "fast"]
Values: TypeAlias = npt.NDArray[Any]

P61 = 2**61 - 1


@dataclass(frozen=True)
class Scheme:
    """A method to compute hash values from tokens.

    Attributes
    ----------
    name : str
    bits : int
        The bits of a token's hash, which is below 2**bits.
    dtype : numpy.dtype
        The dtype of hash values.
    greatest : int
        The greatest hash value, which is the value of each slot of an empty sketch.
    code : int
        The number of the scheme in serialized sketches; 0 for the scheme that is older than these
        numbers.
    hashfunc : callable
        The default hash of a token.
    is_own : bool
        Whether it is this library's own scheme, for which no permutations can be given.
    """

    name: str
    bits: int
    dtype: np.dtype[Any]
    greatest: int
    code: int
    hashfunc: Callable[[Any], int]
    is_own: bool = False


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("affine32", 32, np.dtype(np.uint32), 2**32 - 1, 1, sha1_hash32),
        Scheme("affine64", 64, np.dtype(np.uint64), 2**64 - 1, 2, sha1_hash64),
        Scheme("legacy", 64, np.dtype(np.uint64), 2**32 - 1, 0, sha1_hash32),
        Scheme(
            "fast", 64, np.dtype(np.uint64), 2**64 - 1, 192, token_hash, is_own=True
        ),
        Scheme(
            "classic", 64, np.dtype(np.uint64), 2**64 - 1, 193, token_hash, is_own=True
        ),
    )
}
BY_CODE = {scheme.code: scheme for scheme in SCHEMES.values()}


def scheme_of(name: Any) -> Scheme:
    """Return the scheme with this name; raise an error that lists the schemes if there is none."""
    if not isinstance(name, str) or name not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, not {name!r}")
    return SCHEMES[name]


@dataclass(frozen=True, eq=False)
class Permutations:
    """The functions of a scheme, which sketches share.

    Attributes
    ----------
    functions : Functions
    array : ndarray, shape (2, num_perm), or None
        Multipliers and summands, read-only; None for the schemes of this library.
    given : bytes or None
        A digest of given permutations; None for permutations drawn from the seed.
    """

    functions: Functions
    array: Values | None
    given: bytes | None = None

    @classmethod
    def of(cls, name: str, array: Values, digest: bytes | None = None) -> Permutations:
        """Return the permutations of multipliers and summands, an array that becomes read-only."""
        array.flags.writeable = False
        return cls(Functions(name, array.shape[1], array[0], array[1]), array, digest)


@lru_cache(maxsize=64)
def drawn(name: str, seed: int, num_perm: int) -> Permutations:
    """Return the permutations of a seed."""
    if SCHEMES[name].is_own:
        constants = (
            sketch.fast_constants if name == "fast" else sketch.classic_constants
        )
        return Permutations(
            Functions(name, num_perm, *constants(check_seed(seed), num_perm)), None
        )
    rows = (
        _legacy(seed, num_perm)
        if name == "legacy"
        else _affine(SCHEMES[name], seed, num_perm)
    )
    return Permutations.of(name, np.stack(rows))


def _affine(scheme: Scheme, seed: int, num_perm: int) -> tuple[Values, Values]:
    """Draw odd multipliers and arbitrary summands, as datasketch does."""
    generator = np.random.RandomState(seed)  # its stream never changes
    kind = scheme.dtype.type
    a = generator.randint(0, 2 ** (scheme.bits - 1), num_perm, dtype=kind) * kind(
        2
    ) + kind(1)
    return a, generator.randint(0, 2**scheme.bits, num_perm, dtype=kind)


def _legacy(seed: int, num_perm: int) -> tuple[Values, Values]:
    """Draw multipliers in [1, p) and summands in [0, p) alternately, as datasketch does."""
    generator = np.random.RandomState(seed)  # its stream never changes
    pairs = [
        [generator.randint(low, P61, dtype=np.uint64) for low in (1, 0)]
        for _ in range(num_perm)
    ]
    a, b = zip(*pairs, strict=True)
    return np.array(a, np.uint64), np.array(b, np.uint64)


def integers(values: Any, dtype: np.dtype[Any], greatest: int, name: str) -> Values:
    """Return integers in 0..greatest as a new array of one dimension; raise an error otherwise."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        array = values
    else:
        array = _array(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if array.dtype.kind not in "iuO" and len(array):  # each object was checked before
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if len(array):
        least = int(array.min())
        most = int(array.max())
        if least < 0 or most > greatest:
            raise ValueError(
                f"{name} must be in 0..{greatest}, not {least if least < 0 else most}"
            )
    return array.astype(dtype)


def _array(values: Any, name: str) -> Values:
    """Return integers without rounding: numpy converts mixed large and small ones to floats."""
    try:
        numbers = list(values)
    except TypeError:
        raise TypeError(
            f"{name} must be an array of integers, not {type(values).__name__}"
        ) from None
    for at, value in enumerate(numbers):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name}[{at}] must be an integer, not {value!r}")
    return np.array([int(value) for value in numbers], object)


def permutations_for(
    name: str, seed: int, num_perm: int, arrays: Any = None
) -> Permutations:
    """Return the permutations of a sketch: `arrays`, or drawn from its seed if it is None."""
    if arrays is None:
        return drawn(name, seed, num_perm)
    kind = SCHEMES[name]
    if kind.is_own:
        raise ValueError(
            f"permutations cannot be given with scheme {name!r}: they come from the seed"
        )
    if not (
        isinstance(arrays, np.ndarray)
        and arrays.dtype == kind.dtype
        and arrays.shape == (2, num_perm)
    ):
        if len(arrays) != 2:
            raise ValueError(
                f"permutations must be two arrays, multipliers and summands, not {len(arrays)}"
            )
        greatest = 2**64 - 1 if name == "legacy" else kind.greatest
        rows = [
            integers(row, kind.dtype, greatest, f"permutations[{i}]")
            for i, row in enumerate(arrays)
        ]
        if len(rows[0]) != num_perm or len(rows[1]) != num_perm:
            raise ValueError(
                f"permutations must be as many as hash values, {num_perm}, not {len(rows[0])} and "
                f"{len(rows[1])}"
            )
        arrays = np.stack(rows)
    return _known(name, seed, num_perm, arrays.tobytes())


@lru_cache(maxsize=64)
def _known(name: str, seed: int, num_perm: int, data: bytes) -> Permutations:
    """Return the permutations in these bytes, or the object of the seed if it has the same."""
    try:
        of_seed = drawn(name, seed, num_perm)
        if of_seed.array is not None and of_seed.array.tobytes() == data:
            return of_seed
    except ValueError:  # a seed for which none can be drawn
        pass
    array = np.frombuffer(data, SCHEMES[name].dtype).reshape(2, num_perm).copy()
    if name != "legacy" and not np.all(array[0] & array.dtype.type(1)):
        first_even = int(np.flatnonzero(array[0] & array.dtype.type(1) == 0)[0])
        raise ValueError(
            f"multipliers of scheme {name!r} must be odd; permutations[0][{first_even}] is "
            f"{array[0][first_even]}"
        )
    from hashlib import blake2b

    digest = blake2b(little_endian(array), digest_size=8).digest()
    return Permutations.of(name, array, digest)


def little_endian(values: Values) -> bytes:
    """Return hash values as bytes that do not depend on the machine."""
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def permutations_of(sketch: Any) -> bytes | None:
    """Return the digest of the permutations given to a sketch; None if they were drawn.

    Lean sketches have no permutations: those of this library keep the digest, those of datasketch
    do not.
    """
    try:
        digest: bytes | None = sketch._given
    except AttributeError:
        permutations = getattr(sketch, "permutations", None)
        name = getattr(sketch, "scheme", None)
        if permutations is None or name not in SCHEMES or len(permutations) != 2:
            return None
        return permutations_for(
            name, sketch.seed, len(permutations[0]), permutations
        ).given
    return digest


def agreements(a: Any, b: Any) -> int:
    """Return the number of equal hash values of two sketches of the same length."""
    try:
        return equal(a, b)
    except (TypeError, ValueError, BufferError):  # hash values that the user has set
        values = np.asarray(a)
        other_values = np.asarray(b)
        if values.dtype.kind not in "iu" or other_values.dtype.kind not in "iu":
            raise TypeError(
                f"hash values of {values.dtype} and {other_values.dtype} cannot be compared"
            ) from None
        if values.shape != other_values.shape:
            raise ValueError(
                f"hash values of shapes {values.shape} and {other_values.shape} cannot be compared"
            ) from None
        return int(
            np.count_nonzero(values.astype(np.uint64) == other_values.astype(np.uint64))
        )


def same_values(a: Any, b: Any) -> bool:
    """Return whether two sketches have the same hash values."""
    if len(a) != len(b):
        return False
    try:
        return equal(a, b) == len(a)
    except (TypeError, ValueError, BufferError):  # hash values that the user has set
        return np.array_equal(a, b)


def is_empty(scheme: Scheme, values: Values) -> bool:
    """Return whether all hash values are the greatest, as in an empty sketch."""
    return bool(values.item(0) == scheme.greatest) and bool(
        (values == scheme.greatest).all()
    )


def count(scheme: Scheme, values: Values, seed: int) -> np.float64:
    """Estimate the number of distinct tokens from the sum of the hash values."""
    if scheme.is_own:
        if is_empty(scheme, values):
            return np.float64(0.0)
        hasher = MinHasher(len(values), scheme.name, seed)  # type: ignore[arg-type]
        return np.float64(estimate_sizes(values, hasher))
    # 0.0 for an empty sketch; np.sum would take 1 µs more
    sized: np.float64 = (
        len(values) / np.add.reduce(values / float(scheme.greatest)) - 1.0
    )
    return sized

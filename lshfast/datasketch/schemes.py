"""What the schemes of hash values differ in: datasketch's three, and this library's two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.datasketch.hashfunc import sha1_hash32, sha1_hash64, token_hash
from lshfast.kernels import sketch
from lshfast.kernels.affine import Functions, equal
from lshfast.sketch.cardinality import estimate_sizes
from lshfast.sketch.minhash import MinHasher
from lshfast.tokens import check_seed

SchemeName: TypeAlias = Literal["affine32", "affine64", "legacy", "classic", "fast"]
Values: TypeAlias = npt.NDArray[Any]

P61 = 2**61 - 1


@dataclass(frozen=True)
class Scheme:
    """How tokens become hash values.

    Attributes
    ----------
    name : str
    bits : int
        Of a token's hash: it is below 2**bits.
    dtype : numpy.dtype
        Of hash values.
    greatest : int
        The greatest hash value, which stands in each slot of an empty sketch.
    code : int
        What says in bytes which scheme they are of; 0 for the one that was there before there were codes.
    hashfunc : callable
        The hash of a token unless another is given.
    is_own : bool
        Whether it is this library's, whose constants are not permutations that could be given.
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
        Scheme("fast", 64, np.dtype(np.uint64), 2**64 - 1, 192, token_hash, is_own=True),
        Scheme("classic", 64, np.dtype(np.uint64), 2**64 - 1, 193, token_hash, is_own=True),
    )
}
BY_CODE = {scheme.code: scheme for scheme in SCHEMES.values()}


def scheme_of(name: Any) -> Scheme:
    """Return the scheme of a name, or raise an error that says which there are."""
    if not isinstance(name, str) or name not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, not {name!r}")
    return SCHEMES[name]


@lru_cache(maxsize=64)
def drawn(name: str, seed: int, num_perm: int) -> Functions:
    """Return the functions of a seed, which sketches share."""
    if SCHEMES[name].is_own:
        constants = sketch.fast_constants if name == "fast" else sketch.classic_constants
        first, second = constants(check_seed(seed), num_perm)
    elif name == "legacy":
        first, second = _legacy(seed, num_perm)
    else:
        first, second = _affine(SCHEMES[name], seed, num_perm)
    return Functions(name, num_perm, first, second)


def _affine(scheme: Scheme, seed: int, num_perm: int) -> tuple[Values, Values]:
    """Draw odd multipliers and any summands, as datasketch does."""
    generator = np.random.RandomState(seed)  # whose stream is frozen
    kind = scheme.dtype.type
    a = generator.randint(0, 2 ** (scheme.bits - 1), num_perm, dtype=kind) * kind(2) + kind(1)
    return a, generator.randint(0, 2**scheme.bits, num_perm, dtype=kind)


def _legacy(seed: int, num_perm: int) -> tuple[Values, Values]:
    """Draw multipliers in [1, p) and summands in [0, p), one of each at a time, as datasketch does."""
    generator = np.random.RandomState(seed)  # whose stream is frozen
    pairs = [[generator.randint(low, P61, dtype=np.uint64) for low in (1, 0)] for _ in range(num_perm)]
    a, b = zip(*pairs, strict=True)
    return np.array(a, np.uint64), np.array(b, np.uint64)


def integers(values: Any, dtype: np.dtype[Any], greatest: int, name: str) -> Values:
    """Return integers in 0..greatest as a new array of one dimension, or say what is wrong with them."""
    array = values if isinstance(values, np.ndarray) and values.dtype != object else _array(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if array.dtype.kind not in "iuO" and len(array):  # objects have been looked at, each
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if len(array):
        least, most = int(array.min()), int(array.max())
        if least < 0 or most > greatest:
            raise ValueError(f"{name} must be in 0..{greatest}, not {least if least < 0 else most}")
    return array.astype(dtype)


def _array(values: Any, name: str) -> Values:
    """Return a sequence of integers as they are: numpy would make floats of large ones among small ones."""
    try:
        held = list(values)
    except TypeError:
        raise TypeError(f"{name} must be an array of integers, not {type(values).__name__}") from None
    for at, value in enumerate(held):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name}[{at}] must be an integer, not {value!r}")
    return np.array([int(value) for value in held], object)


def given(scheme: Scheme, permutations: Any, num_perm: int) -> Functions:
    """Return the functions of multipliers and summands that somebody gave, or say what is wrong with them."""
    if scheme.is_own:
        raise ValueError(f"permutations cannot be given with scheme {scheme.name!r}: they come from the seed")
    if len(permutations) != 2:
        raise ValueError(f"permutations must be two arrays, multipliers and summands, not {len(permutations)}")
    greatest = 2**64 - 1 if scheme.name == "legacy" else scheme.greatest
    a, b = (integers(row, scheme.dtype, greatest, f"permutations[{i}]") for i, row in enumerate(permutations))
    if len(a) != num_perm or len(b) != num_perm:
        raise ValueError(f"permutations must be as many as hash values, {num_perm}, not {len(a)} and {len(b)}")
    if scheme.name != "legacy" and not np.all(a & a.dtype.type(1)):
        even = int(np.flatnonzero(a & a.dtype.type(1) == 0)[0])
        raise ValueError(f"multipliers of scheme {scheme.name!r} must be odd; permutations[0][{even}] is {a[even]}")
    return Functions(scheme.name, num_perm, a, b)


def constants(functions: Functions) -> tuple[Values, Values]:
    """Return what functions are made of."""
    return np.asarray(functions.first), np.asarray(functions.second)


def are_same(a: Functions, b: Functions) -> bool:
    """Tell whether two sketches' functions are the same."""
    return a is b or all(np.array_equal(x, y) for x, y in zip(constants(a), constants(b), strict=True))


def digest_of(name: str, seed: int, functions: Functions) -> bytes | None:
    """Return 8 bytes that tell functions from others; None for those that the seed gives."""
    try:
        if are_same(functions, drawn(name, seed, len(constants(functions)[0]))):
            return None
    except ValueError:  # a seed from which none are drawn
        pass
    little = (row.astype(row.dtype.newbyteorder("<")) for row in constants(functions))
    return blake2b(b"".join(row.tobytes() for row in little), digest_size=8).digest()


def permutations_of(sketch: Any) -> bytes | None:
    """Return the digest of the permutations that were given to a sketch; None if they are drawn, or it has none.

    Of the sketches that keep none, those of this library keep the digest, and those of datasketch do not.
    """
    try:
        known: bytes | None = sketch._given
    except AttributeError:
        permutations, name = getattr(sketch, "permutations", None), getattr(sketch, "scheme", None)
        if permutations is None or name not in SCHEMES or len(permutations) != 2:
            return None
        return digest_of(name, sketch.seed, given(SCHEMES[name], permutations, len(permutations[0])))
    return known


def agreements(a: Any, b: Any) -> int:
    """Return how many hash values of two sketches of one length are the same."""
    try:
        return equal(a, b)
    except (TypeError, ValueError, BufferError):  # hash values that are not as sketches make them
        values, others = np.asarray(a), np.asarray(b)
        if values.dtype.kind not in "iu" or others.dtype.kind not in "iu":
            raise TypeError(f"hash values of {values.dtype} and {others.dtype} cannot be compared") from None
        if values.shape != others.shape:
            raise ValueError(f"hash values of shapes {values.shape} and {others.shape} cannot be compared") from None
        return int(np.count_nonzero(values.astype(np.uint64) == others.astype(np.uint64)))


def is_empty(scheme: Scheme, values: Values) -> bool:
    """Tell whether hash values are those of a sketch that has seen nothing."""
    return bool(values[0] == scheme.greatest) and bool(np.all(values == scheme.greatest))


def count(scheme: Scheme, values: Values, seed: int) -> float:
    """Estimate the number of distinct tokens from hash values: k over their sum, each as a share of the greatest."""
    if is_empty(scheme, values):
        return 0.0
    if scheme.is_own:
        return float(estimate_sizes(values, MinHasher(len(values), scheme.name, seed)))  # type: ignore[arg-type]
    return float(len(values) / np.sum(values / float(scheme.greatest)) - 1.0)

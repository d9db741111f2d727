"""MinHash: signatures whose share of equal slots estimates the Jaccard similarity of sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, array_of, check_int
from lshfast._common.choices import Scheme as Scheme
from lshfast._common.types import UInt64Array
from lshfast.kernels import sketch as kernels
from lshfast.shingling import are_texts
from lshfast.sketch.sketcher import SlotSketcher
from lshfast.tokens import TokenSets

EMPTY = np.uint64(2**64 - 1)
UINT64 = np.dtype(np.uint64)


def check_for_bands(signatures: npt.ArrayLike, name: str = "signatures") -> None:
    """Raise ValueError if the sketcher of signatures says that they cannot be banded."""
    hasher = getattr(signatures, "hasher", None)
    reason = getattr(hasher, "not_for_bands", None)
    if reason is not None:
        raise ValueError(f"{name} are of {hasher}: {reason}")


def check_signatures(
    signatures: npt.ArrayLike, hasher: MinHasher, name: str = "signatures"
) -> UInt64Array:
    """Return signatures as a plain, contiguous array, or raise an error.

    Their shape is (n, num_perm) or (num_perm,).

    Raises
    ------
    TypeError
        If the signatures are not uint64.
    ValueError
        If they have a different number of slots, or a different sketcher made them.
    """
    if type(signatures) is np.ndarray and kernels.is_signature(
        signatures, hasher.num_perm
    ):
        return signatures
    plain = type(signatures) is np.ndarray
    if not plain:
        check_for_bands(signatures, name)
    # Numpy would convert them to an array if all rows had the same size.
    if isinstance(signatures, TokenSets):
        raise TypeError(
            f"{name} must be uint64, not TokenSets: sketch them first, hasher.sketch(sets)"
        )
    array = array_of(signatures, name)
    if array.dtype is not UINT64 and array.dtype != UINT64:
        kind = kind_of_values(signatures)
        advice = ""
        if kind == "texts":
            advice = ": sketch them first, hasher.sketch(lshfast.shingle(texts))"
        raise TypeError(f"{name} must be uint64, not {kind}{advice}")
    if array.ndim not in (1, 2) or array.shape[-1] != hasher.num_perm:
        raise ValueError(
            f"{name} must have num_perm = {hasher.num_perm} slots each, not shape {array.shape}"
        )
    other = None if plain else getattr(signatures, "hasher", None)
    if other is not None and other != hasher:
        _refuse_hasher(other, hasher, name)
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def _refuse_hasher(other: Any, hasher: MinHasher, name: str) -> None:
    """Raise ValueError for signatures of another sketcher; it names the first difference."""
    for parameter in ("scheme", "seed"):
        needed = getattr(hasher, parameter)
        value = getattr(other, parameter, None)
        if needed != value:
            raise ValueError(
                f"{name} are of {parameter} {value!r}; {needed!r} is needed here"
            )
    raise ValueError(f"{name} are of {other}, not of {hasher}")


def kind_of_values(values: Any) -> str:
    """Describe values that are not signatures: "texts", a dtype, or a type."""
    if values is None:
        return "None"
    array = np.asarray(values)
    are_strings = array.dtype.kind in "OUS" and are_texts(values)
    if are_strings and (isinstance(values, (str, bytes)) or len(array)):
        return "texts"
    if isinstance(values, np.ndarray) or (array.dtype.kind in "biuf" and array.size):
        return str(array.dtype)
    return (
        f"an empty {type(values).__name__}"
        if array.shape[:1] == (0,)
        else type(values).__name__
    )


@dataclass(frozen=True)
class MinHasher(SlotSketcher[TokenSets]):
    """Compute MinHash signatures of token sets.

    Both schemes have 64-bit slots and give an unbiased estimate of the Jaccard similarity.
    Signatures are merged by the slot-wise minimum. ``fast`` takes O(n + k log k) steps for a set of
    n tokens; its variance is half that of ``classic`` for n <= k. ``classic`` uses k independent
    functions a x + b mod 2**61 - 1 and takes n k steps. Signatures with different schemes, lengths
    or seeds cannot be compared.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a signature, k, in 1..65,536. The standard error at similarity s is at most sqrt(s
        (1 - s) / k).
    scheme : {"fast", "classic"}, default "fast"
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.shingle : Convert texts to sets of shingles.
    lshfast.candidates : Find the pairs of rows that share a bucket.
    lshfast.SimHasher : Compute SimHash codes of sets.
    lshfast.WeightedMinHasher : Compute signatures of weighted sets.
    lshfast.datasketch.MinHash : A MinHash that is updated element by element.

    References
    ----------
    ``fast``: S. Dahlgaard, M. B. T. Knudsen, M. Thorup, "Fast Similarity Sketching", FOCS 2017,
    with a bounded number of rounds. ``classic``: A. Z. Broder, "On the resemblance and containment
    of documents", 1997.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> hasher = MinHasher(num_perm=256)
    >>> sets = TokenSets.from_sets([range(0, 80), range(20, 100)])
    >>> signatures = hasher.sketch(sets)
    >>> signatures.shape, signatures.dtype
    ((2, 256), dtype('uint64'))
    >>> bool(abs(hasher.similarity(signatures[0], signatures[1]) - 0.6) < 0.1)
    True
    """

    num_perm: int = 128
    scheme: Scheme = "fast"
    seed: SeedField = SEED
    _constants: tuple[UInt64Array, UInt64Array] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        num_perm = check_int("num_perm", self.num_perm, 1, kernels.MAX_NUM_PERM)
        object.__setattr__(self, "num_perm", num_perm)
        if self.scheme not in ("fast", "classic"):
            raise ValueError(f"scheme must be 'fast' or 'classic', not {self.scheme!r}")
        draw = (
            kernels.fast_constants
            if self.scheme == "fast"
            else kernels.classic_constants
        )
        object.__setattr__(self, "_constants", draw(self.seed, self.num_perm))

    def _fill(self, sets: TokenSets, rows: slice, signatures: UInt64Array) -> None:
        kernel = kernels.fast if self.scheme == "fast" else kernels.classic
        kernel(
            sets.offsets[rows.start : rows.stop + 1],
            sets.tokens,
            *self._constants,
            signatures,
        )

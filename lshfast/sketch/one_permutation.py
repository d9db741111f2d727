"""One-permutation hashing: signatures by hashing each token once, for estimates and not for buckets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lshfast.kernels import bits as kernels
from lshfast.kernels.sketch import MAX_NUM_PERM
from lshfast.sketch.compare import compared
from lshfast.sketch.sketcher import SlotSketcher
from lshfast.tokens import (
    SEED,
    Float64Array,
    Int64Array,
    SeedField,
    TokenSets,
    UInt64Array,
    check_int,
)


@dataclass(frozen=True)
class OnePermutation(SlotSketcher[TokenSets]):
    """Sketch token sets by one hash of each token (Li, Owen and Zhang 2012).

    A token's hash puts it into one of k groups, and a slot is the least value in its group, or has no value: it is
    2**64 - 1, and stays so. Two slots are compared in one of three ways: both have a value, and are equal or not; one
    has, which counts as not equal; neither has, and the slot does not count at all. The share of equal slots among
    those that count is an unbiased estimate of the Jaccard similarity s, with a variance of

        s (1 - s) (E[1 / m] f / (f - 1) - 1 / (f - 1)),

    f being the tokens of both sets together, f > 1, and m the groups that they reach: at most the s (1 - s) / k of k
    independent functions. A set of n tokens takes O(n + k) steps.

    Signatures merge by the slot-wise minimum. They are not for banding: two small sets that share nothing have many
    slots without a value in common, and would meet in a bucket for what they lack. Indexes refuse them;
    ``MinHasher(scheme="fast")`` fills each slot.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a signature, k: 1 to 65,536.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random" the operating system draws the number, which `seed` then holds.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> from lshfast import OnePermutation, TokenSets
    >>> sketcher = OnePermutation(num_perm=256)
    >>> signatures = sketcher.sketch(TokenSets.from_sets([range(0, 80), range(20, 100), []]))
    >>> [bool(0.5 < s < 0.7) for s in sketcher.similarity(signatures[0], signatures)]
    [False, True, False]
    >>> sketcher.similarity(signatures[2], signatures).tolist()
    [0.0, 0.0, 0.0]
    """

    num_perm: int = 128
    seed: SeedField = SEED
    _constant: int = field(init=False, repr=False, compare=False)

    scheme: ClassVar[str] = "one_permutation"
    not_for_bands: ClassVar[str] = (
        "their slots without a value would match in sets that share nothing, so they are for estimates only; "
        "MinHasher makes signatures for buckets"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_perm", check_int("num_perm", self.num_perm, 1, MAX_NUM_PERM))
        object.__setattr__(self, "_constant", kernels.group_constant(self.seed))

    def _shares(self, a: UInt64Array, b: UInt64Array) -> Float64Array:
        equal, skipped = compared(kernels.compare, a, b, 2)
        return equal / np.maximum(self.num_perm - skipped, 1)

    def _costs(self, sets: TokenSets) -> Int64Array:
        return sets.counts + self.num_perm

    def _fill(self, sets: TokenSets, rows: slice, signatures: UInt64Array) -> None:
        kernels.groups(sets.offsets[rows.start : rows.stop + 1], sets.tokens, self._constant, signatures)

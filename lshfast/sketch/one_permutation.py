"""One-permutation hashing: signatures by one hash per token, for estimates only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lshfast._common.checks import SEED, SeedField, check_int
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.kernels import bits as kernels
from lshfast.kernels.sketch import MAX_NUM_PERM
from lshfast.sketch.compare import compared
from lshfast.sketch.sketcher import SlotSketcher
from lshfast.tokens import TokenSets


@dataclass(frozen=True)
class OnePermutation(SlotSketcher[TokenSets]):
    """Compute one-permutation signatures of token sets.

    The hash of a token selects one of k groups, and a value. A slot is the least value in its
    group. If the group has no token, the slot has no value: it is 2**64 - 1. A slot without a value
    in both signatures does not count. A slot with a value in only one signature counts as not
    equal. The share of equal slots among those that count is an unbiased estimate of the Jaccard
    similarity s. Its variance is

        s (1 - s) (E[1 / m] f / (f - 1) - 1 / (f - 1)),

    where f > 1 is the size of the union of both sets, and m is the number of groups that contain a
    token of the union. This is at most s (1 - s) / k, the variance of k independent functions. A
    set of n tokens takes O(n + k) steps.

    Signatures are merged by the slot-wise minimum. They cannot be banded: two small sets without a
    common token have many slots without a value in both, and these slots would put them into the
    same buckets. Indexes refuse such signatures. Use ``MinHasher(scheme="fast")``, in which every
    slot of a non-empty set has a value.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a signature, k, in 1..65,536.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.MinHasher : Compute MinHash signatures of token sets.
    lshfast.textbook.minhash_groups : Signatures from groups of rows.

    References
    ----------
    P. Li, A. Owen, C.-H. Zhang, "One Permutation Hashing", NIPS 2012.

    Examples
    --------
    >>> from lshfast import TokenSets
    >>> from lshfast.sketch import OnePermutation
    >>> sketcher = OnePermutation(num_perm=256)
    >>> signatures = sketcher.sketch(
    ...     TokenSets.from_sets([range(0, 80), range(20, 100), []])
    ... )
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
        "their slots without a value would match in sets that share nothing, so they are for "
        "estimates only; MinHasher makes signatures for buckets"
    )

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "num_perm", check_int("num_perm", self.num_perm, 1, MAX_NUM_PERM)
        )
        object.__setattr__(self, "_constant", kernels.group_constant(self.seed))

    def _shares(self, a: UInt64Array, b: UInt64Array) -> Float64Array:
        equal, skipped = compared(kernels.compare, a, b, 2)
        return equal / np.maximum(self.num_perm - skipped, 1)

    def _costs(self, sets: TokenSets) -> Int64Array:
        return sets.counts + self.num_perm

    def _fill(self, sets: TokenSets, rows: slice, signatures: UInt64Array) -> None:
        offsets = sets.offsets[rows.start : rows.stop + 1]
        kernels.groups(offsets, sets.tokens, self._constant, signatures)

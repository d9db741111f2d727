"""How codes are searched by Hamming distance: a scan, or blocks of bits, by a model of the costs.

The model counts in codes of one word that a scan compares, about 0.1 ns each: finding a bucket
costs as much as LOOKUP_COST of them, and a code in a bucket as much as ENTRY_COST. A code of
several words whose fold is within the radius is read itself, which costs READ_COST more. A scan is
preferred if a search would compare more than one code in LEAST_GAIN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb
from typing import Literal, TypeAlias

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.kernels import hamming as kernels

Method: TypeAlias = Literal["scan", "blocks"]

MAX_BITS = 64 * kernels.MAX_WORDS

LOOKUP_COST = 200
ENTRY_COST = 2
READ_COST = 200
LEAST_GAIN = 4

# Bytes of all blocks for each code, and bytes of a code in one block.
BLOCK_MEMORY = 80
ENTRY_BYTES = 12

# Codes from which the bits of the blocks are chosen, and the codes among them that are compared
# with all.
SAMPLE = 2048
SAMPLE_QUERIES = 256

# Orders of the bits that are tried, besides the given order and the one by balance.
RANDOM_ORDERS = 2

# Blocks whose buckets have CROWDED times as many codes as expected are also made of the balanced
# bits only: those whose rarer value has at least LEAST_BALANCE of the codes.
CROWDED = 4
LEAST_BALANCE = 0.05


@dataclass(frozen=True)
class HammingPlan:
    """Describe how codes are searched.

    Attributes
    ----------
    method : {"scan", "blocks"}
        "scan" compares a query with all codes. "blocks" compares it with the codes that have few
        different bits in some block (multi-index hashing). Both find all codes within the radius.
    n, bits, radius : int
        Number of codes, bits per code, and the radius that the figures hold for.
    block_bits : tuple of int
        Bits of each block; empty for a scan.
    levels : tuple of int
        For each block, 1 more than the most bits in which a code of a searched bucket differs from
        the query; 0 if the block is not searched.
    lookups : int
        Buckets that a query reads.
    candidates : float
        Codes that a query is compared with, on average: if all bits are independent and balanced,
        or, for the codes of an index, estimated from a sample.
    memory : int
        Bytes of the blocks.

    Examples
    --------
    >>> from lshfast.index.hamming.plan import choose_blocks
    >>> print(choose_blocks(10_000_000, 64, radius=3))
    blocks of 16, 16, 16, 16 bits: 4 buckets and about 610 of 10,000,000 codes per query within
    distance 3; 481.0 MB
    """

    method: Method
    n: int
    bits: int
    radius: int
    block_bits: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()
    lookups: int = 0
    candidates: float = 0.0
    memory: int = 0

    def __str__(self) -> str:
        if self.method == "scan":
            return f"scan of {self.n:,} codes of {self.bits} bits"
        widths = ", ".join(map(str, self.block_bits))
        return (
            f"blocks of {widths} bits: {self.lookups:,} buckets and about {self.candidates:,.0f} "
            f"of {self.n:,} codes "
            f"per query within distance {self.radius}; {self.memory / 1e6:,.1f} MB"
        )

    @property
    def cost(self) -> float:
        """Cost of a query, in words that a scan compares."""
        if self.method == "scan":
            return float(self.n * -(-self.bits // 64))
        reads = buckets_within(64, self.radius + 1) / 2**64 if self.bits > 64 else 0.0
        return self.lookups * LOOKUP_COST + self.candidates * (
            ENTRY_COST + reads * READ_COST
        )


def scan_of(n: int, bits: int, radius: int) -> HammingPlan:
    """Return the plan of a scan."""
    return HammingPlan("scan", n, bits, radius, candidates=float(n))


def levels_for(blocks: int, radius: int) -> tuple[int, ...]:
    """Return the number of distances that each block searches, so that no code is missed.

    They add up to radius + 1, since a code that has more different bits in every block is farther
    away.
    """
    least, remainder = divmod(radius + 1, blocks)
    return tuple(least + (i < remainder) for i in range(blocks))


def buckets_within(bits: int, level: int) -> int:
    """Return the number of values that differ from a value in less than `level` of `bits` bits."""
    return sum(comb(bits, flips) for flips in range(min(level, bits + 1)))


def plan_of(n: int, bits: int, radius: int, block_bits: tuple[int, ...]) -> HammingPlan:
    """Return the plan of a search in blocks that are given."""
    levels = levels_for(len(block_bits), radius)
    counts = [
        buckets_within(width, level)
        for width, level in zip(block_bits, levels, strict=True)
    ]
    candidates = sum(
        n * count / 2**width for width, count in zip(block_bits, counts, strict=True)
    )
    memory = sum(ENTRY_BYTES * n + 4 * (2**width + 2) for width in block_bits)
    return HammingPlan(
        "blocks", n, bits, radius, block_bits, levels, sum(counts), candidates, memory
    )


def choose_blocks(
    n: int,
    bits: int,
    radius: int,
    memory: float = BLOCK_MEMORY,
    free: int | None = None,
    lookup_cost: int = LOOKUP_COST,
) -> HammingPlan:
    """Choose between a scan and blocks by the expected cost of a query.

    Parameters
    ----------
    n : int
        Number of codes.
    bits : int
        Bits per code.
    radius : int
    memory : float, default 80
        The most bytes of all blocks for each code.
    free : int, optional
        Bits that blocks may use; all by default.
    lookup_cost : int, optional
        Cost of finding a bucket, in codes that a scan compares.

    Returns
    -------
    HammingPlan
    """
    free = bits if free is None else free
    best = scan_of(n, bits, radius)
    lowest = best.cost
    for blocks in range(1, min(kernels.MAX_BLOCKS, radius + 1, free) + 1):
        most = min(free // blocks, kernels.MAX_BLOCK_BITS, n.bit_length() + 1)
        for width in range(max(most - 6, 1), most + 1):
            block_bits = [width] * blocks
            if width == most == free // blocks:
                for block in range(free - width * blocks):
                    block_bits[block] += 1
            plan = plan_of(n, bits, radius, tuple(block_bits))
            allowed = (
                max(plan.block_bits) <= kernels.MAX_BLOCK_BITS
                and plan.memory <= memory * n
            )
            cost = plan.cost + plan.lookups * (lookup_cost - LOOKUP_COST)
            if allowed and plan.candidates * LEAST_GAIN <= n and cost < lowest:
                best = plan
                lowest = cost
    return best


# ---- the bits of the blocks ----


def fit_blocks(
    codes: UInt64Array,
    bits: int,
    radius: int,
    free: Int64Array | None = None,
    lookup_cost: int = LOOKUP_COST,
) -> tuple[HammingPlan, UInt64Array]:
    """Choose between a scan and blocks for some codes, and the bits of the blocks.

    Parameters
    ----------
    codes : ndarray of uint64, shape (n, words)
    bits, radius : int
    free : ndarray of int64, optional
        Numbers of the bits that blocks may use; all by default.
    lookup_cost : int, optional
        Cost of finding a bucket, in codes that a scan compares.

    Returns
    -------
    plan : HammingPlan
        Its `candidates` are estimated from a sample of the codes.
    masks : ndarray of uint64, shape (blocks, words)
        The bits of each block; none for a scan.
    """
    n, words = codes.shape
    best = scan_of(n, bits, radius)
    masks = np.empty((0, words), np.uint64)
    free = int64_range(bits) if free is None else free
    rng = np.random.default_rng(1)
    sample = (
        codes[rng.permutation(np.unique(rng.integers(0, n, SAMPLE)))]
        if n > SAMPLE
        else codes
    )
    balances = _balances(sample, free)
    for usable in (free, free[balances >= LEAST_BALANCE]):
        plan = choose_blocks(n, bits, radius, free=len(usable), lookup_cost=lookup_cost)
        if plan.method == "scan":
            break
        order = usable[np.argsort(-balances[np.isin(free, usable)], kind="stable")]
        block_masks, candidates = _choose_masks(sample, n, plan, usable, order, rng)
        fitted = replace(plan, candidates=candidates)
        if candidates * LEAST_GAIN <= n and fitted.cost < best.cost:
            best = fitted
            masks = block_masks
        if candidates <= CROWDED * plan.candidates:
            break
    return best, masks


def _balances(sample: UInt64Array, free: Int64Array) -> Float64Array:
    """Return the share of the rarer value of each bit."""
    ones = [
        np.count_nonzero(sample[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1))
        for bit in free.tolist()
    ]
    share = np.array(ones, np.float64) / max(len(sample), 1)
    return np.minimum(share, 1 - share)


def _choose_masks(
    sample: UInt64Array,
    n: int,
    plan: HammingPlan,
    free: Int64Array,
    by_balance: Int64Array,
    rng: np.random.Generator,
) -> tuple[UInt64Array, float]:
    """Return the bits of each block that separate codes best, and the candidates of a query.

    The bits of images and texts are neither balanced nor independent, and neighbours are often
    alike. So the order of the bits, the order by balance, and random orders are compared on a
    sample.
    """
    best = None
    fewest = np.inf
    for blocks in _orders(plan, free, by_balance, rng):
        masks = _masks(blocks, plan.block_bits, sample.shape[1])
        candidates_met = sum(
            share_of(sample, mask, level)
            for mask, level in zip(masks, plan.levels, strict=True)
            if level
        )
        candidates = max(plan.candidates, min(candidates_met, 1.0) * n)
        if candidates <= 2 * plan.candidates:  # a sample cannot tell more
            return masks, plan.candidates
        if candidates < fewest:
            best = masks
            fewest = candidates
    assert best is not None
    return best, fewest


def _orders(
    plan: HammingPlan,
    free: Int64Array,
    by_balance: Int64Array,
    rng: np.random.Generator,
) -> Iterator[list[Int64Array]]:
    """Yield the bits of each block, for one order of the bits after the other."""
    used_bits = sum(plan.block_bits)
    blocks = len(plan.block_bits)
    starts = [len(free) * i // blocks for i in range(blocks)]
    ends = [*starts[1:], len(free)]
    if all(
        start + width <= end
        for start, width, end in zip(starts, plan.block_bits, ends, strict=True)
    ):
        yield [
            free[start : start + width]
            for start, width in zip(starts, plan.block_bits, strict=True)
        ]
    for order in (
        by_balance[:used_bits],
        *(rng.permutation(free)[:used_bits] for _ in range(RANDOM_ORDERS)),
    ):
        remaining_bits = order.tolist()[::-1]
        dealt: list[list[int]] = [[] for _ in plan.block_bits]
        while remaining_bits:
            for block, width in zip(dealt, plan.block_bits, strict=True):
                if len(block) < width:
                    block.append(remaining_bits.pop())
        yield [np.array(block, np.int64) for block in dealt]


def _masks(
    blocks: list[Int64Array], block_bits: tuple[int, ...], words: int
) -> UInt64Array:
    masks = np.zeros((len(block_bits), words), np.uint64)
    for mask, positions in zip(masks, blocks, strict=True):
        np.bitwise_or.at(
            mask, positions // 64, np.uint64(1) << (positions % 64).astype(np.uint64)
        )
    return masks


def share_of(sample: UInt64Array, mask: UInt64Array, level: int) -> float:
    """Return the share of the pairs of a sample with fewer than `level` different bits."""
    values = kernels.select(sample, mask).astype(np.uint64)[:, None]
    queries = values[:SAMPLE_QUERIES]
    close_pairs = len(kernels.scan_within(values, queries, min(level - 1, 64))) - len(
        queries
    )
    return close_pairs / max(len(queries) * (len(values) - 1), 1)

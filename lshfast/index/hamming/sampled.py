"""All pairs of codes within a distance, with a promised probability, by sampled bits.

The codes are sorted by some of their bits, drawn at random, and those that are equal in them are
compared. This is done for many such samples, called tables (P. Indyk, R. Motwani, "Approximate
Nearest Neighbors: Towards Removing the Curse of Dimensionality", STOC 1998). Tables that are made
of one permutation of the bits have no bit in common. So they find a pair more often than
independent ones do, and the probability is computed exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import comb

import numpy as np

from lshfast._common.checks import check_number
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.families.draws import draw, scaled
from lshfast.index.hamming.plan import SAMPLE, choose_blocks, share_of
from lshfast.kernels import hamming as kernels

# Domains of random numbers.
SAMPLED_TABLES = 48
SAMPLED_ROWS = 49

# The most tables.
MOST_TABLES = 4096

# What a code costs in a table, and a comparison with a code of its bucket, in words that a scan
# compares.
BUILD_COST = 300
READ_COST = 200

# Tables whose buckets are estimated from a sample.
TRIED = 4


@dataclass(frozen=True)
class TablePlan:
    """Describe the tables that find pairs of codes.

    Attributes
    ----------
    width : int
        Bits of a table.
    tables : tuple of int
        Tables of each permutation of the bits.
    recall : float
        The probability that a pair at the radius is found; closer pairs are found more often.
    """

    width: int
    tables: tuple[int, ...]
    recall: float


def check_join_recall(recall: float) -> float:
    """Return a recall as a float, or raise an error that names the range."""
    value = check_number("recall", recall)
    if not 0 < value <= 1:
        raise ValueError(f"recall must be above 0 and at most 1, not {recall}")
    return value


def missed(bits: int, radius: int, width: int, tables: int) -> Fraction:
    """Return the probability that a pair is in no bucket of tables of one permutation.

    All sets of `radius` of the bits are equally likely to be those in which the pair differs. By
    inclusion and exclusion, the sum is over sets of tables in which it does not.
    """
    all_sets = comb(bits, radius)
    terms = (
        (-1) ** j * comb(tables, j) * comb(bits - j * width, radius)
        for j in range(tables + 1)
    )
    return Fraction(sum(terms), all_sets)


def plan_tables(n: int, bits: int, radius: int, recall: float) -> TablePlan | None:
    """Return tables for n codes that differ in some of `bits` bits; None if there are too many.

    The width of a table is such that its buckets contain about one of n random codes.
    """
    radius = min(radius, bits)
    width = min(max(n.bit_length() - 1, 1), kernels.MAX_BLOCK_BITS, bits)
    most = min(bits // width, kernels.MAX_BLOCKS)
    remaining_misses = 1 - Fraction(recall)
    each = [
        _rounded_up(missed(bits, radius, width, tables)) for tables in range(most + 1)
    ]
    tables: list[int] = []
    kept_share = Fraction(1)
    while kept_share > remaining_misses:
        enough = next(
            (
                count
                for count in range(1, most)
                if kept_share * each[count] <= remaining_misses
            ),
            most,
        )
        tables.append(enough)
        kept_share = _rounded_up(kept_share * each[enough])
        if sum(tables) > MOST_TABLES or kept_share == 1:
            return None
    return TablePlan(width, tuple(tables), float(1 - kept_share))


def _rounded_up(probability: Fraction) -> Fraction:
    """Return a fraction that is no less, with a small denominator."""
    scale = 2**80
    return Fraction(-(-probability.numerator * scale // probability.denominator), scale)


def masks_of(
    plan: TablePlan, free: Int64Array, words: int, seed: int
) -> Iterator[UInt64Array]:
    """Yield the bits of the tables of one permutation after the other, (tables, words)."""
    for i, tables in enumerate(plan.tables):
        keys = draw(seed, SAMPLED_TABLES, (i + 1) * len(free))[i * len(free) :]
        order = free[np.argsort(keys, kind="stable")]
        masks = np.zeros((tables, words), np.uint64)
        for mask, place in zip(
            masks, range(0, tables * plan.width, plan.width), strict=True
        ):
            bits_of_table = order[place : place + plan.width]
            np.bitwise_or.at(
                mask,
                bits_of_table // 64,
                np.uint64(1) << (bits_of_table % 64).astype(np.uint64),
            )
        yield masks


def varying_bits(codes: UInt64Array) -> Int64Array:
    """Return the numbers of the bits that are not the same in all codes."""
    varying = np.bitwise_or.reduce(codes, axis=0) ^ np.bitwise_and.reduce(codes, axis=0)
    return np.flatnonzero(
        np.unpackbits(varying.astype("<u8").view(np.uint8), bitorder="little")
    ).astype(np.int64)


def choose_tables(
    codes: UInt64Array, radius: int, recall: float, seed: int
) -> tuple[TablePlan, Int64Array] | None:
    """Return the plan of the tables and their bits; None if a complete search is faster."""
    n, words = codes.shape
    if n < 2 or recall == 1:
        return None
    free = varying_bits(codes)
    plan = plan_tables(n, len(free), radius, recall) if len(free) else None
    if plan is None:
        return None
    sample = (
        codes[np.unique(scaled(draw(seed, SAMPLED_ROWS, SAMPLE), n))]
        if n > SAMPLE
        else codes
    )
    masks = np.concatenate([*islice(masks_of(plan, free, words, seed), 1)])[:TRIED]
    share = max(
        2.0**-plan.width, sum(share_of(sample, mask, 1) for mask in masks) / len(masks)
    )
    cost = sum(plan.tables) * (BUILD_COST + READ_COST * share * n / 2)
    return (
        (plan, free)
        if cost < choose_blocks(n, 64 * words, radius, free=len(free)).cost / 2
        else None
    )

"""Sorted trees of definitions.md: codes, marks, what a step meets, and what is missed with which probability.

Trees are never sorted here: what a step meets is found by comparing the codes of all rows.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb, prod

from tests.reference.hashing import mix64
from tests.reference.minhash import is_empty

MOST_LEVELS = 8
Step = tuple[int, int, int]  # tree, depth, enough


def levels_of(k: int, trees: int) -> int:
    """Return how many slots of a signature a tree looks at."""
    return min(k // trees, MOST_LEVELS)


def widths(levels: int) -> list[int]:
    """Return the number of bits of each level of a code."""
    first = max(22, 64 // levels)
    return (
        [first] + [(64 - first) // (levels - 1)] * (levels - 1) if levels > 1 else [64]
    )


def code(signature: Sequence[int], trees: int, tree: int) -> list[int]:
    """Return the bits of each level, the parts of a tree's code."""
    levels = levels_of(len(signature), trees)
    width = len(signature) // trees
    if tree >= trees:  # a single tree
        others = [
            slot for i, slot in enumerate(signature) if i % width or i // width >= trees
        ]
        return [mix64(others[tree - trees]) >> 64 - widths(levels)[0]]
    first = tree * width
    return [
        mix64(slot) >> 64 - width
        for slot, width in zip(signature[first:], widths(levels), strict=False)
    ]


def whole_code(signature: Sequence[int], trees: int, tree: int) -> int:
    """Return a tree's code of 64 bits: the levels' bits from the top, zeros where they end."""
    levels = levels_of(len(signature), trees)
    value, left = 0, 64
    for bits, width in zip(code(signature, trees, tree), widths(levels), strict=True):
        left -= width
        value |= bits << left
    return value


def mark(slot: int) -> int:
    """Return the eight bits by which most unequal slots are told apart."""
    return mix64(slot) & 255


def agreement(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the number of equal slots, 0 where a signature is empty."""
    return (
        0
        if is_empty(a) or is_empty(b)
        else sum(x == y for x, y in zip(a, b, strict=True))
    )


def met(
    query: Sequence[int], rows: Sequence[Sequence[int]], trees: int, step: Step
) -> set[int]:
    """Return the rows that a step meets: those whose code begins as the query's does."""
    if is_empty(query):
        return set()
    tree, depth, _ = step
    wanted = code(query, trees, tree)[:depth]
    return {
        i
        for i, row in enumerate(rows)
        if not is_empty(row) and code(row, trees, tree)[:depth] == wanted
    }


def ranked(
    query: Sequence[int], rows: Sequence[Sequence[int]], chosen: Iterable[int]
) -> list[tuple[int, int]]:
    """Return (row, equal slots) of the chosen rows that share a slot with the query, best first, then by number."""
    found = [(row, agreement(query, rows[row])) for row in chosen]
    return sorted(
        ((row, equal) for row, equal in found if equal),
        key=lambda match: (-match[1], match[0]),
    )


def containment(equal: int, k: int, q: int, x: int) -> Fraction:
    """Return the share of a query of q elements that a set of x holds, estimated from equal slots and both sizes."""
    similarity = Fraction(equal, k)
    common = similarity * (q + x) / (1 + similarity)
    return min(common / q, Fraction(x, q), Fraction(1))


def reaches(equal: int, k: int, q: int, x: int, threshold: float, slack: float) -> bool:
    """Return whether a set of x is in the answer for a query of q."""
    if containment(equal, k, q, x) >= threshold:
        return True
    wanted = Fraction(threshold) * q
    if not slack or x < wanted:
        return False
    expected = k * wanted / (q + x - wanted)
    return (expected - equal) ** 2 <= Fraction(slack) ** 2 * expected * (
        1 - expected / k
    )


def passed(equal: int, k: int, depth: int) -> Fraction:
    """Return the probability that `depth` given slots are among the equal ones, all sets of so many as likely."""
    return Fraction(comb(equal, depth), comb(k, depth))


def miss_bound(equal: int, k: int, depths: Iterable[int]) -> Fraction:
    """Return the bound on the probability that trees searched to these depths all miss a row."""
    return prod((1 - passed(equal, k, depth) for depth in depths), start=Fraction(1))


def miss(equal: int, k: int, trees: int, depths: Sequence[int]) -> Fraction:
    """Return that probability itself, by counting the sets of equal slots that no tree passes.

    A tree of w slots passes if its first d are all equal; of its sets of i equal slots that is all but
    C(w, i) - C(w - d, i - d). The counts of several trees multiply as polynomials do.
    """
    w = k // trees
    ways = [1]

    def times(factor: list[int]) -> list[int]:
        product = [0] * (len(ways) + len(factor) - 1)
        for i, a in enumerate(ways):
            for j, b in enumerate(factor):
                product[i + j] += a * b
        return product

    for depth in depths:
        ways = times(
            [
                comb(w, i) - (comb(w - depth, i - depth) if i >= depth else 0)
                for i in range(w + 1)
            ]
        )
    ways = times([comb(k - w * len(depths), i) for i in range(k - w * len(depths) + 1)])
    return Fraction(ways[equal], comb(k, equal))

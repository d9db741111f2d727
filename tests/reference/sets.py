"""Exact Jaccard similarity and the two groupings of similar rows, by the plainest algorithms."""

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

Pair = tuple[int, int, float]


def jaccard(a: Collection[int], b: Collection[int]) -> Fraction:
    """Return |a & b| / |a | b| exactly; repeats do not count, and an empty set is like nothing."""
    left, right = set(a), set(b)
    if not left or not right:
        return Fraction(0)
    return Fraction(len(left & right), len(left | right))


def neighbours(n: int, pairs: Iterable[Pair]) -> list[set[int]]:
    """Return for each of n rows the rows it is paired with."""
    near: list[set[int]] = [set() for _ in range(n)]
    for i, j, _ in pairs:
        near[i].add(j)
        near[j].add(i)
    return near


def star(n: int, pairs: Iterable[Pair], order: Sequence[int]) -> list[int]:
    """Return the row kept in place of each row, itself where it is kept.

    Rows are visited in `order`, a permutation of 0 .. n - 1. One that has no keeper yet is kept,
    and becomes the keeper of each neighbour that has none.
    """
    if sorted(order) != list(range(n)):
        raise ValueError(f"order is not a permutation of {n} rows")
    near = neighbours(n, pairs)
    keeper: dict[int, int] = {}
    for row in order:
        if row in keeper:
            continue
        keeper[row] = row
        for other in near[row]:
            keeper.setdefault(other, row)
    return [keeper[row] for row in range(n)]


def components(n: int, pairs: Iterable[Pair]) -> list[int]:
    """Return the smallest row of each row's connected component."""
    near = neighbours(n, pairs)
    label = [-1] * n
    for first in range(n):
        if label[first] != -1:
            continue
        label[first] = first
        reached = [first]
        while reached:
            for other in near[reached.pop()]:
                if label[other] == -1:
                    label[other] = first
                    reached.append(other)
    return label

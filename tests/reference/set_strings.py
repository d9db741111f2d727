"""Sets as strings in one order of the universe, and the indexes of their prefixes: Mining of Massive Datasets, 3.9.

J is the least similarity of the pairs to be found, L the length of a string (the size of a set). All in fractions.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction


def string_of(elements: Collection[str], order: Sequence[str]) -> str:
    """Return the elements once each, in the order of the universe."""
    return "".join(sorted(set(elements), key=order.index))


def rarest_first(sets: Iterable[Collection[str]]) -> list[str]:
    """Return the elements of the sets by the number of sets that have them, then by value."""
    counts: dict[str, int] = {}
    for each in sets:
        for element in set(each):
            counts[element] = counts.get(element, 0) + 1
    return sorted(counts, key=lambda element: (counts[element], element))


def lengths(length: int, least: Fraction) -> range:
    """Return the lengths of strings that can be similar to one of this length: J L <= L' <= L / J."""
    return range(math.ceil(least * length), math.floor(length / least) + 1)


def prefix(length: int, least: Fraction) -> int:
    """Return how many symbols of a string are indexed: floor((1 - J) L) + 1."""
    return math.floor((1 - least) * length) + 1


def positions(length: int, i: int, least: Fraction) -> range:
    """Return the positions j at which a string can have the symbol at position i of one of this length."""
    return range(
        1, max(0, math.floor((length * (1 - least) - i + 1 + least) / least)) + 1
    )


def meeting(universe: int, length: int, least: Fraction) -> Fraction:
    """Return the probability that two random sets of one size, of whose strings at most two symbols are indexed, meet.

    The symbol at position i is the k-th of the universe in C(k - 1, i - 1) C(u - k, L - i) of C(u, L) cases. Two
    strings meet if their first symbols are equal, or the first of one is the second of the other, but not both.
    """
    at = [[Fraction(0)] * universe]
    for i in range(1, length + 1):
        ways = [
            math.comb(k, i - 1) * math.comb(universe - 1 - k, length - i)
            for k in range(universe)
        ]
        at.append([Fraction(way, math.comb(universe, length)) for way in ways])
    indexed = range(1, prefix(length, least) + 1)
    met = [(i, j) for i in indexed for j in positions(length, i, least) if j in indexed]
    return sum(
        (
            left * right
            for i, j in met
            for left, right in zip(at[i], at[j], strict=True)
        ),
        Fraction(0),
    )


def triples(length: int, least: Fraction) -> Iterator[tuple[int, int, int]]:
    """Yield (i, j, q): buckets for position j and suffix length q, for the symbol at i with p symbols after it."""
    for i in range(1, prefix(length, least) + 1):
        p = length - i
        for q in range(math.floor(length / least) + 1):
            for j in range(1, math.floor(length / least) + 1):
                shared, union = (
                    (q + 1, length + j - 1) if p >= q else (p + 1, i + j - 1 + q)
                )
                if Fraction(shared, union) >= least:
                    yield i, j, q


def suffix_index_pairs(
    strings: Sequence[str], order: Sequence[str], least: Fraction
) -> set[tuple[int, int]]:
    """Return the pairs that meet in a bucket (symbol, position, length of the suffix)."""
    buckets: dict[tuple[str, int, int], list[int]] = {}
    full = [(number, string) for number, string in enumerate(strings) if string]
    for number, string in full:
        for i in range(1, prefix(len(string), least) + 1):
            buckets.setdefault((string[i - 1], i, len(string) - i), []).append(number)
    found = set()
    for number, string in full:
        for i, j, q in triples(len(string), least):
            for other in buckets.get((string[i - 1], j, q), []):
                if other != number:
                    found.add((min(number, other), max(number, other)))
    return found


def similar_pairs(
    sets: Sequence[Collection[object]], least: Fraction
) -> set[tuple[int, int]]:
    """Return the pairs of sets that are not empty with a Jaccard similarity of at least J, by comparing all."""
    found = set()
    for j, right in enumerate(map(set, sets)):
        for i, left in enumerate(map(set, sets[:j])):
            if (
                left
                and right
                and Fraction(len(left & right), len(left | right)) >= least
            ):
                found.add((i, j))
    return found

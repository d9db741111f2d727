"""Shared passages of docs/how-to/passages.md, by comparing everything with everything."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from tests.reference.text import classify, lower


class Unit(NamedTuple):
    """A word or a character in lower case, and the characters of the text that it takes."""

    value: str
    start: int
    end: int


class Match(NamedTuple):
    """`units` units from unit x_unit of text x on, and from unit y_unit of text y on, which are equal."""

    x: int
    x_unit: int
    y: int
    y_unit: int
    units: int


def units_of(text: str, unit: str) -> list[Unit]:
    """Return the words or characters of a text."""
    if unit == "char":
        return [Unit(chr(lower(ord(c))), i, i + 1) for i, c in enumerate(text)]
    found: list[Unit] = []
    begun_by = ""
    for i, character in enumerate(text):
        kind = classify(ord(character))
        if kind == "separator" or (kind == "mark" and not begun_by):
            begun_by = ""
        elif kind == "mark" or (kind == "letter" and begun_by == "letter"):
            found[-1] = Unit(
                found[-1].value + chr(lower(ord(character))), found[-1].start, i + 1
            )
        else:
            found.append(Unit(chr(lower(ord(character))), i, i + 1))
            begun_by = kind
    return found


Values = Sequence[Sequence[str]]


def maximal_matches(left: Values, right: Values, length: int, same: bool) -> set[Match]:
    """Return all maximal matches of texts with others; where they are the same texts, of places with later places."""
    found = set()
    for x, a in enumerate(left):
        for y, b in enumerate(right):
            for i in range(len(a)):
                for j in range(len(b)):
                    if (same and (x, i) >= (y, j)) or (
                        i and j and a[i - 1] == b[j - 1]
                    ):
                        continue
                    n = equal_units(a, i, b, j)
                    if n >= length:
                        found.add(Match(x, i, y, j, n))
    return found


def equal_units(a: Sequence[str], i: int, b: Sequence[str], j: int) -> int:
    """Return how many units are equal from two places on."""
    n = 0
    while i + n < len(a) and j + n < len(b) and a[i + n] == b[j + n]:
        n += 1
    return n


def occurrences(
    texts: Values, length: int
) -> dict[tuple[str, ...], list[tuple[int, int]]]:
    """Return the places of each run of so many units, in order."""
    found: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for row, text in enumerate(texts):
        for i in range(len(text) - length + 1):
            found.setdefault(tuple(text[i : i + length]), []).append((row, i))
    return found


def listed_matches(
    held: Values, texts: Values, length: int, most_copies: "int | None", same: bool
) -> set[Match]:
    """Return the matches that are listed: x are held texts, y are texts."""
    matches = maximal_matches(held, texts, length, same)
    if most_copies is None:
        return matches
    places = occurrences(held, length)

    def rare(match: Match) -> bool:
        runs = (
            held[match.x][match.x_unit + t :][:length]
            for t in range(match.units - length + 1)
        )
        return any(len(places[tuple(run)]) <= most_copies for run in runs)

    found = {match for match in matches if rare(match)}
    for y, text in enumerate(texts):
        spans = [
            (match.y_unit, match.y_unit + match.units)
            for match in found
            if match.y == y
        ]
        for j in range(len(text) - length + 1):
            before = places.get(tuple(text[j : j + length]), [])
            if len(before) <= most_copies or (same and before[0] == (y, j)):
                continue
            if any(start <= j and j + length <= end for start, end in spans):
                continue
            x, i = before[0]
            n = equal_units(held[x], i, text, j)
            found.add(Match(x, i, y, j, n))
            spans.append((j, j + n))
    return found


def later_copies(texts: Values, length: int) -> list[list[bool]]:
    """Tell for each unit whether it is in a run of so many units that occurs at an earlier place too."""
    found = [[False] * len(text) for text in texts]
    for places in occurrences(texts, length).values():
        for row, i in places[1:]:
            found[row][i : i + length] = [True] * length
    return found


def shared_units(texts: Values, others: Values, length: int) -> list[list[bool]]:
    """Tell for each unit whether it is in a run of so many units that the other texts have."""
    found, runs = [[False] * len(text) for text in texts], occurrences(others, length)
    for run, places in occurrences(texts, length).items():
        for row, i in places if run in runs else ():
            found[row][i : i + length] = [True] * length
    return found


def without(text: str, units: Sequence[Unit], left_out: Sequence[bool]) -> str:
    """Return a text without some of its units: each range ends where the next unit begins, or with the text."""
    made, at, number = "", 0, 0
    for out, group in groupby(left_out):
        count = len(list(group))
        if out:
            made += text[at : units[number].start]
            at = (
                units[number + count].start
                if number + count < len(units)
                else len(text)
            )
        number += count
    return made + text[at:]

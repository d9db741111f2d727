"""Rotations, hyperplanes and cross-polytopes of docs/reference/definitions.md on plain Python numbers."""

import math
import struct
from collections.abc import Sequence
from itertools import islice, product

from tests.reference.hashing import draw

ROTATION = 26  # domain
ROUNDS = 3


def float32(x: float) -> float:
    """Return the nearest float32; sums and products of two float32 may be rounded to a double before."""
    return struct.unpack("f", struct.pack("f", x))[0]


def shape(dim: int) -> tuple[int, int]:
    """Return (parts, block) of the least padded size."""
    found = []
    for parts in (1, 3, 5, 7):
        block = 128
        while parts * block < max(dim, 256):
            block *= 2
        found.append((parts * block, parts, block))
    return min(found)[1:]


def scaled(row: Sequence[float]) -> list[float]:
    """Return a row that is not zero as float32, times a power of two if its greatest number is far from 1."""
    exponent = math.frexp(max(map(abs, row)))[1] - 1
    return [float32(math.ldexp(x, -exponent if abs(exponent) > 40 else 0)) for x in row]


def hadamard(x: list[float]) -> list[float]:
    """Return the Hadamard transform, the greatest stride first, each sum rounded to float32."""
    if len(x) == 1:
        return x
    half = len(x) // 2
    upper, lower = x[:half], x[half:]
    sums = [float32(a + b) for a, b in zip(upper, lower, strict=True)]
    differences = [float32(a - b) for a, b in zip(upper, lower, strict=True)]
    return hadamard(sums) + hadamard(differences)


def reflected(x: list[float], parts: int) -> list[float]:
    """Return x less 2 / parts of the sum of its parts, in each part."""
    block = len(x) // parts
    share, found = float32(2 / parts), list(x)
    for i in range(block):
        total = x[i]
        for part in range(1, parts):
            total = float32(total + x[part * block + i])
        total = float32(total * share)
        for at in range(i, len(x), block):
            found[at] = float32(x[at] - total)
    return found


def dealt(x: list[float], parts: int) -> list[float]:
    """Return x with its groups of 16 numbers dealt to the parts in turn."""
    groups = [x[start : start + 16] for start in range(0, len(x), 16)]
    return [
        value
        for part in range(parts)
        for group in groups[part::parts]
        for value in group
    ]


def factors(size: int, seed: int, rotation: int, turn: int) -> list[float]:
    """Return what the numbers are multiplied by in a round: signs, and in round 1 other numbers near 1."""
    bits = 8 if turn == 1 else 1
    words = [
        draw(seed, ROTATION, (ROUNDS * rotation + turn << 20) + i)
        for i in range(size * bits // 64)
    ]
    drawn = [words[i * bits // 64] >> i * bits % 64 & 2**bits - 1 for i in range(size)]
    sizes = [0.75 + (number >> 1) / 256 if turn == 1 else 1.0 for number in drawn]
    return [
        -size if number & 1 else size for size, number in zip(sizes, drawn, strict=True)
    ]


def rotated(row: Sequence[float], seed: int, rotation: int) -> list[float]:
    """Return the coordinates of a row after one rotation."""
    parts, block = shape(len(row))
    x = scaled(row) + [0.0] * (parts * block - len(row))
    for turn in range(ROUNDS):
        x = [
            float32(value * factor)
            for value, factor in zip(
                x, factors(len(x), seed, rotation, turn), strict=True
            )
        ]
        if parts > 1:
            x = reflected(x, parts)
        x = [
            value
            for start in range(0, len(x), block)
            for value in hadamard(x[start : start + block])
        ]
        if turn + 1 < ROUNDS:
            x = dealt(x, parts)
    return x


def coordinates(row: Sequence[float], seed: int, count: int) -> list[float]:
    """Return the first coordinates of a row after rotations."""
    found: list[float] = []
    for rotation in range(count):
        if len(found) >= count:
            break
        found += rotated(row, seed, rotation)
    return found[:count]


def sides(row: Sequence[float], seed: int, count: int) -> list[int]:
    """Return the sides of hyperplanes."""
    return [int(y > 0) for y in coordinates(row, seed, count)]


def farthest(row: Sequence[float], seed: int, outputs: int, count: int) -> list[int]:
    """Return the corners of cross-polytopes."""
    y = coordinates(row, seed, outputs * count)
    groups = [y[start : start + outputs] for start in range(0, len(y), outputs)]
    places = [
        max(range(outputs), key=lambda i, group=group: abs(group[i]))
        for group in groups
    ]
    return [
        place + outputs * (group[place] < 0)
        for place, group in zip(places, groups, strict=True)
    ]


def probes(
    y: Sequence[float], outputs: int, rows: int, count: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Return (cost, values) of the cheapest buckets of one band, by looking at all; 1 output stands for signs."""
    alternatives = []
    for i in range(rows):
        group = y[outputs * i : outputs * (i + 1)]
        if outputs == 1:
            alternatives.append(
                [(0.0, int(group[0] > 0)), (group[0] ** 2, int(group[0] <= 0))]
            )
        else:
            most = max(map(abs, group))
            corners = [
                (most - value, place)
                for place, value in enumerate([*group, *(-value for value in group)])
            ]
            alternatives.append([(cost**2, place) for cost, place in corners])
    found = (
        (sum(cost for cost, _ in some), tuple(value for _, value in some))
        for some in product(*alternatives)
    )
    return [*islice(sorted(found), count)]


def golden() -> dict[str, object]:
    """Return values to be pinned: doubles and 64-bit numbers in hexadecimal."""
    vectors = {
        "one": [1.0],
        "few": [0.0, 1.0, 0.0, -2.0, 0.5],
        "far": [1e300, -1e280, 3e299, 0.0, 1e-300],
        "tiny": [5e-324, -1e-320, 2e-323],
        "parts": [float32(math.sin(1 + i * i)) for i in range(300)],
    }
    cases = []
    for name, x in vectors.items():
        for seed in (1, 2**64 - 1):
            case = {
                "vector": name,
                "coordinates": [coordinate.hex() for coordinate in x],
                "seed": f"{seed:016x}",
                "hyperplanes": hex(
                    sum(bit << j for j, bit in enumerate(sides(x, seed, 400)))
                ),
                "cross-polytope": farthest(x, seed, 16, 30),
            }
            cases.append(case)
    return {"rotations": cases}

"""Families of lines of definitions.md on Python's own numbers: variates, positions, cells, and those around them.

Python's floats are IEEE doubles, and each operation on them is rounded once: the formulas stand here as they are there.
"""

import math
import struct
from collections.abc import Sequence
from itertools import product

from tests.reference.hashing import EMPTY, MASK64, draw, mix64
from tests.reference.weighted import exact_log

GAUSSIAN, CAUCHY, OFFSET = 30, 31, 32  # domains
BAND = 8
PI = float.fromhex("0x1.921fb54442d18p+1")


def coefficients(above: str, below: str) -> tuple[list[float], list[float]]:
    """Return the coefficients of the numerator and of the denominator, the highest power first."""
    return [float(number) for number in above.split()], [
        float(number) for number in below.split()
    ]


# AS 241.
CENTRE = coefficients(
    """2.5090809287301226727e+3 3.3430575583588128105e+4 6.7265770927008700853e+4 4.5921953931549871457e+4
    1.3731693765509461125e+4 1.9715909503065514427e+3 1.3314166789178437745e+2 3.3871328727963666080e+0""",
    """5.2264952788528545610e+3 2.8729085735721942674e+4 3.9307895800092710610e+4 2.1213794301586595867e+4
    5.3941960214247511077e+3 6.8718700749205790830e+2 4.2313330701600911252e+1 1.0""",
)
MIDDLE = coefficients(
    """7.74545014278341407640e-4 2.27238449892691845833e-2 2.41780725177450611770e-1 1.27045825245236838258e+0
    3.64784832476320460504e+0 5.76949722146069140550e+0 4.63033784615654529590e+0 1.42343711074968357734e+0""",
    """1.05075007164441684324e-9 5.47593808499534494600e-4 1.51986665636164571966e-2 1.48103976427480074590e-1
    6.89767334985100004550e-1 1.67638483018380384940e+0 2.05319162663775882187e+0 1.0""",
)
TAIL = coefficients(
    """2.01033439929228813265e-7 2.71155556874348757815e-5 1.24266094738807843860e-3 2.65321895265761230930e-2
    2.96560571828504891230e-1 1.78482653991729133580e+0 5.46378491116411436990e+0 6.65790464350110377720e+0""",
    """2.04426310338993978564e-15 1.42151175831644588870e-7 1.84631831751005468180e-5 7.86869131145613259100e-4
    1.48753612908506148525e-2 1.36929880922735805310e-1 5.99832206555887937690e-1 1.0""",
)


def quotient(polynomials: tuple[list[float], list[float]], r: float) -> float:
    """Return the quotient of two polynomials, by Horner's rule."""
    above, below = 0.0, 0.0
    for a, b in zip(*polynomials, strict=True):
        above, below = above * r + a, below * r + b
    return above / below


def tail(word: int) -> float:
    """Return the probability of the tail beyond the variate of a word, in (0, 1/2)."""
    return ((word >> 12) + 0.5) / 2.0**53


def gaussian(word: int) -> float:
    """Return the Gaussian variate of a word."""
    p = tail(word)
    q = 0.5 - p
    if q <= 0.425:
        x = q * quotient(CENTRE, 0.180625 - q * q)
    else:
        r = math.sqrt(-exact_log(p))
        x = quotient(MIDDLE, r - 1.6) if r <= 5.0 else quotient(TAIL, r - 5.0)
    return -x if word & 1 else x


def tangent(y: float) -> float:
    """Return tan y for y in [0, pi/4]."""
    x = 17.0
    for odd in (15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        x = odd - y * y / x
    return y / x


def cauchy(word: int) -> float:
    """Return the Cauchy variate of a word."""
    p = tail(word)
    x = 1.0 / tangent(PI * p) if p < 0.25 else tangent(PI * (0.5 - p))
    return -x if word & 1 else x


def line(seed: int, domain: int, function: int, dim: int) -> list[float]:
    """Return the numbers of a line, which are float32."""
    variate = gaussian if domain == GAUSSIAN else cauchy
    drawn = [variate(draw(seed, domain, function * 2**32 + j)) for j in range(dim)]
    return list(struct.unpack(f"{dim}f", struct.pack(f"{dim}f", *drawn)))


def offset(seed: int, function: int) -> float:
    """Return the offset of a line, in cells."""
    return (draw(seed, OFFSET, function) >> 11) / 2.0**53


def position(
    x: Sequence[float], seed: int, domain: int, function: int, width: float
) -> float:
    """Return the position of a point on a line, in cells."""
    total = 0.0
    for coordinate, number in zip(x, line(seed, domain, function, len(x)), strict=True):
        total += coordinate * number
    return total / width + offset(seed, function)


def value(cell: int) -> int:
    """Return the value of a cell: zigzag."""
    return 2 * cell if cell >= 0 else -2 * cell - 1


def values(
    x: Sequence[float], seed: int, domain: int, count: int, width: float
) -> list[int]:
    """Return the values of a point under the first `count` functions."""
    return [
        value(math.floor(position(x, seed, domain, f, width))) for f in range(count)
    ]


def bucket(band: int, slots: Sequence[int]) -> int:
    """Return the value of a band with these slots."""
    if len(slots) == 1:
        return slots[0]
    key = draw(0, BAND, band)
    for slot in slots:
        key = mix64(key ^ slot)
    return min(key, EMPTY - 1)


def scored_buckets(positions: Sequence[float], band: int) -> dict[int, float]:
    """Return the values of all buckets of a band around positions, each with its score."""
    cells = [math.floor(y) for y in positions]
    fractions = [y - float(cell) for y, cell in zip(positions, cells, strict=True)]
    scored = {}
    for steps in product((0, -1, 1), repeat=len(cells)):
        squares = [
            ((0.0, 1.0 - f, f)[step]) ** 2
            for f, step in zip(fractions, steps, strict=True)
        ]
        scored[
            bucket(
                band, [value(c + step) for c, step in zip(cells, steps, strict=True)]
            )
        ] = math.fsum(squares)
    return scored


def golden() -> dict[str, object]:
    """Return values to be pinned: doubles and 64-bit numbers in hexadecimal."""
    points = {
        "zeros": [0.0] * 5,
        "small": [1.0, -0.5, 0.25, 3.0, 0.0],
        "subnormal": [5e-324, -1e-310, 0.0, 1e-308, 2.0],
        "far": [1e15, 1e-3, -7e12, 0.1, 3e14],
    }
    cases = []
    for name, x in points.items():
        for family, domain in (("gaussian-lines", GAUSSIAN), ("cauchy-lines", CAUCHY)):
            for seed, width in ((1, 4.0), (MASK64, 0.3)):
                found = values(x, seed, domain, 6, width)
                case = {
                    "point": name,
                    "coordinates": [coordinate.hex() for coordinate in x],
                    "family": family,
                    "seed": f"{seed:016x}",
                    "width": width.hex(),
                    "values": [f"{v:016x}" for v in found],
                    "buckets": [
                        f"{bucket(band, found[3 * band : 3 * band + 3]):016x}"
                        for band in range(2)
                    ],
                }
                cases.append(case)
    return {"lines": cases}

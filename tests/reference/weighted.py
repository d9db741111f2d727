"""Weighted signatures of definitions.md on Python's own numbers, and the exact weighted Jaccard similarity.

Python's floats are IEEE doubles, and each operation on them is rounded once: the formulas stand here as they are there.
"""

import heapq
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import count

import numpy as np

from tests.reference.hashing import EMPTY, GOLDEN, MASK64, draw, mix64

WEIGHTED = 24  # the domain of the constants

LN2 = float.fromhex("0x1.62e42fefa39efp-1")
ROOT = float.fromhex("0x1.6a09e667f3bcdp+0")
ROOT_HALF = 0x5A827999FCEF3242


def similarity(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    """Return sum min / sum max of the weights, computed exactly."""
    tokens = a.keys() | b.keys()
    pairs = [(Fraction(a.get(x, 0)), Fraction(b.get(x, 0))) for x in tokens]
    most = sum(max(pair) for pair in pairs)
    return float(sum(min(pair) for pair in pairs) / most) if most else 0.0


def log_of(j: int, d: float) -> float:
    """Return j ln 2 + ln(1 + d)."""
    s = d / (2.0 + d)
    z = s * s
    y = z * z
    even, odd = 1.0 / 21, 1.0 / 23
    for n in (17, 13, 9, 5, 1):
        even = 1.0 / n + y * even
        odd = 1.0 / (n + 2) + y * odd
    return float(j) * LN2 + 2.0 * s * (even + z * odd)


def exact_log(x: float) -> float:
    """Return the natural logarithm of x > 0."""
    half, exponent = math.frexp(x)
    m, j = 2.0 * half, exponent - 1
    if m > ROOT:
        m, j = 0.5 * m, j + 1
    return log_of(j, m - 1.0)


def exact_exponential(v: int) -> float:
    """Return -ln(1 - v / 2^63) of an odd v."""
    u = 2**63 - v
    j = 63 - u.bit_length()
    j += u << j < ROOT_HALF
    return -log_of(-j, math.ldexp(float((u << j) - 2**63), -63))


def parts_of(weight: float) -> tuple[int, int]:
    """Return (E, f) with weight = 2^E (1 + f / 2^52)."""
    half, exponent = math.frexp(weight)
    return exponent - 1, int((2.0 * half - 1.0) * 2**52)


def bits_of(x: float) -> int:
    """Return the 64 bits of a double."""
    return int(np.float64(x).view(np.uint64))


def word(state: int, i: int) -> int:
    """Return the i-th word of a stream."""
    return mix64((state + GOLDEN * i) & MASK64)


def shell_points(
    h: int, a: int, exponent: int, fraction: int, k: int
) -> Iterator[tuple[int, int]]:
    """Yield (value, slot) of the points of a shell, in the order of their times; slot k is that of a rejected point."""
    state = word(h, a + 4096)
    time = 0.0
    for i in count():
        v = word(state, 3 * i + 1) >> 1
        if i == 0:
            byte = word(h, a // 8 + 256) >> 8 * (a % 8) & 255
            v = byte << 55 | word(state, 1) >> 9
        time += exact_exponential(v | 1)
        below = a < exponent or word(state, 3 * i + 3) >> 12 < fraction
        yield (
            bits_of(time) + ((1024 - a) << 52),
            (word(state, 3 * i + 2) >> 32) * k >> 32 if below else k,
        )


def shells(row: Mapping[int, float], k: int, seed: int) -> list[int]:
    """Return the signature by the first points of a Poisson process: those of all shells, as their times come."""
    signature = [EMPTY] * k
    constant = draw(seed, WEIGHTED, 0)
    streams = []
    for x, weight in row.items():
        exponent, fraction = parts_of(weight)
        top = exponent if fraction else exponent - 1
        for a in range(8 * (top // 8 - 7), top + 1):
            streams.append(shell_points(mix64(x ^ constant), a, exponent, fraction, k))
    left = k
    for value, slot in heapq.merge(*streams):
        if slot < k and signature[slot] == EMPTY:
            signature[slot] = value
            left -= 1
            if left == 0:
                break
    return signature


def uniform(w: int) -> float:
    """Return a number in (0, 1) of the upper 52 bits of a word."""
    return ((w >> 12) + 0.5) * 2.0**-52


def icws(row: Mapping[int, float], k: int, seed: int) -> list[int]:
    """Return the signature by improved consistent weighted sampling."""
    signature = []
    constant = draw(seed, WEIGHTED, 0)
    for i in range(k):
        samples = [(math.inf, EMPTY)]
        for x, weight in row.items():
            state = mix64(mix64(x ^ constant) ^ draw(seed, WEIGHTED, 1 + i))
            u = [uniform(word(state, j)) for j in range(1, 6)]
            r, c, beta = -exact_log(u[0] * u[1]), -exact_log(u[2] * u[3]), u[4]
            t = math.floor(exact_log(weight) / r + beta)
            ln_a = exact_log(c) - (t - beta) * r - r
            samples.append((ln_a, min(mix64(state ^ mix64(t & MASK64)), EMPTY - 1)))
        signature.append(min(samples)[1])
    return signature


def multiset(row: Mapping[int, int]) -> list[int]:
    """Return the pairs (x, 1) ... (x, count) as tokens."""
    return [
        x if i == 0 else word(mix64(x), i)
        for x, count in row.items()
        for i in range(count)
    ]


def float_samples(
    logs: Mapping[int, np.float32],
    r: np.ndarray,
    ln_c: np.ndarray,
    beta: np.ndarray,
    shifted: bool,
) -> list[list[int]]:
    """Return the column and the t of the least ln a for each sample, in single precision; columns in rising order."""
    signature = []
    for i in range(len(r)):
        best = (np.float32(np.inf), 0, 0)
        for column, log in sorted(logs.items()):
            t = np.floor(log / r[i, column] + beta[i, column])
            above = t - beta[i, column]
            if shifted:
                ln_a = ln_c[i, column] - (above + np.float32(1)) * r[i, column]
            else:
                ln_a = ln_c[i, column] - above * r[i, column] - r[i, column]
            if ln_a < best[0]:
                best = (ln_a, column, int(t))
        signature.append([best[1], best[2]])
    return signature


def golden() -> dict[str, object]:
    """Return values for golden.json; numbers of 64 bits in hexadecimal, weights as Python's float.hex."""
    rows = {
        "of one": {7: 1.0},
        "of edges": {
            0: 5e-324,
            1: 2.0**-1022,
            2: 1.7976931348623157e308,
            2**64 - 1: 1e300,
        },
        "of many": {mix64(i): 1.25**i for i in range(30)},
        "of near zero": {mix64(i): 10.0 ** -(300 + i) for i in range(20)},
    }
    return {
        "weighted": [
            {
                "set": name,
                "tokens": [f"{x:016x}" for x in row],
                "weights": [weight.hex() for weight in row.values()],
                "scheme": scheme,
                "seed": f"{seed:016x}",
                "signature": [f"{slot:016x}" for slot in sketch(row, 16, seed)],
            }
            for name, row in rows.items()
            for scheme, sketch in (("shells", shells), ("icws", icws))
            for seed in (1, 2**64 - 1)
        ],
        "logarithms": [
            {"x": x.hex(), "log": exact_log(x).hex()}
            for x in (
                1.0,
                0.5,
                2.0,
                1.1,
                0.1,
                5e-324,
                1.7976931348623157e308,
                ROOT,
                math.nextafter(ROOT, 2),
            )
        ],
        "exponentials": [
            {"v": f"{v:016x}", "exponential": exact_exponential(v).hex()}
            for v in (
                1,
                3,
                2**62 + 1,
                2**63 - 1,
                2**63 - ROOT_HALF - 1,
                0x123456789ABCDEF,
            )
        ],
        "multisets": [
            {"token": f"{x:016x}", "tokens": [f"{y:016x}" for y in multiset({x: 4})]}
            for x in (0, 7)
        ],
    }

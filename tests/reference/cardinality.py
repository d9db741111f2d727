"""Registers of HyperLogLog and estimates of cardinality of definitions.md, with the logarithms of the library."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tests.reference import minhash
from tests.reference.hashing import EMPTY, P, draw, mix64, token_of_int

REGISTER = 22  # the domain of the constant


def rank(bits: int, width: int) -> int:
    """Return the place of the lowest one among so many bits, from 1 on, and width + 1 where there is none."""
    return next((i + 1 for i in range(width) if bits >> i & 1), width + 1)


def registers(tokens: Iterable[int], p: int, seed: int) -> list[int]:
    """Return the 2^p registers of a set of tokens."""
    c = draw(seed, REGISTER, 0)
    found = [0] * 2**p
    for token in tokens:
        h = mix64(token ^ c)
        found[h >> 64 - p] = max(found[h >> 64 - p], rank(h % 2 ** (64 - p), 64 - p))
    return found


def registers_of_hashes(hashes: Iterable[int], width: int, p: int) -> list[int]:
    """Return datasketch's 2^p registers of hashes of `width` bits: the rank counts from the highest bit."""
    found = [0] * 2**p
    for h in hashes:
        upper = f"{h >> p:0{width - p}b}"
        found[h % 2**p] = max(found[h % 2**p], (upper + "1").index("1") + 1)
    return found


def estimate_of_registers(found: Sequence[int], width: int) -> float:
    """Return the estimated number of distinct hashes of `width` bits."""
    m = len(found)
    top = width - m.bit_length() + 2
    if not any(found):
        return 0.0
    if min(found) == top:
        return math.inf
    total = m * sigma(found.count(0) / m) + m * tau(1 - found.count(top) / m) / 2 ** (
        top - 1
    )
    total += sum(found.count(j) / 2**j for j in range(1, top))
    first = m * m / (2 * math.log(2) * total)
    return first * (1 - variance(first / m) / m)


def sigma(x: float) -> float:
    """Return x + the sum of x^(2^i) 2^(i - 1) for i from 1 on, 0 <= x < 1."""
    return x + math.fsum(x ** (2**i) * 2 ** (i - 1) for i in range(1, 31))


def tau(x: float) -> float:
    """Return a third of 1 - x - the sum of (1 - x^(2^-i))^2 2^-i for i from 1 on, and 0 for x = 0."""
    return (
        0.0
        if x == 0
        else (
            1 - x - math.fsum((1 - x ** (0.5**i)) ** 2 * 0.5**i for i in range(1, 100))
        )
        / 3
    )


def variance(load: float) -> float:
    """Return what the library takes for `exact_variance`."""
    return (0.5 + 0.26 * load + 0.064767 * load**2) / (1 + 0.28 * load + 0.06 * load**2)


def exact_variance(load: float) -> float:
    """Return m times the squared relative standard error of an estimate from many registers, `load` tokens each.

    With tokens in Poisson numbers, registers are independent, a register is at most j with probability
    e^(-load / 2^j), and the estimate is inversely proportional to a sum over them. That the number of tokens is given
    takes 1 / load away.
    """
    value = 1 + math.fsum(
        2 ** (2 * i - 1) * math.exp(-load * (2**i - 1)) for i in range(1, 40)
    )  # of a zero register
    chances = [
        math.exp(-load / 2**j) * -math.expm1(-load / 2**j) for j in range(1, 200)
    ]
    zero = math.exp(-load)
    mean = zero * value + math.fsum(
        chance / 2**j for j, chance in enumerate(chances, 1)
    )
    square = zero * value**2 + math.fsum(
        chance / 4**j for j, chance in enumerate(chances, 1)
    )
    return (square - mean**2) * (2 * math.log(2) * load) ** 2 - 1 / load


def estimate_of_classic(signature: Sequence[int]) -> float:
    """Return the estimated number of tokens of a classic signature."""
    if signature[0] == EMPTY:
        return 0.0
    return (len(signature) - 1) / -math.fsum(
        math.log1p(-(v + 0.5) / P) for v in signature
    )


def estimate_of_fast(signature: Sequence[int]) -> float:
    """Return the estimated number of tokens of a fast signature."""
    k = len(signature)
    if signature[0] == EMPTY:
        return 0.0
    rounds, total = minhash.rounds_of(k), 0.0
    for i, slot in enumerate(signature):
        r, v = slot >> 56, slot % 2**56
        chance = (
            Fraction(2 * hashes_below(v, i, k) + 1, 2**65)
            if r < rounds
            else Fraction(2 * v + 1, 2**57)
        )
        total -= min(r, rounds) * math.log1p(-1 / k) + math.log1p(-float(chance))
    return k / total * (1 - variance_of_fast(k / total, k) / k)


def hashes_below(value: int, i: int, k: int) -> int:
    """Return how many 64-bit hashes fall to slot i of k and have lower 56 bits below value."""
    # The slot's hashes.
    low, high = (-(-i * 2**32 // k) * 2**32, -(-(i + 1) * 2**32 // k) * 2**32)
    found = 0
    for start in range(low >> 56 << 56, high, 2**56):
        found += max(0, min(high, start + value) - max(low, start))
    return found


def variance_of_fast(n: float, k: int) -> float:
    """Return k times the squared relative standard error of estimate_of_fast."""
    return 1 - math.tanh(n / k / 2) / (n / k) * -math.expm1(
        -2 * n / k * minhash.rounds_of(k)
    )


def golden() -> dict[str, list[dict[str, object]]]:
    """Compute the pinned values: registers (and signatures) of tokens, and the estimates they give."""
    sets = {n: [token_of_int(i, 1) for i in range(n)] for n in (0, 1, 10, 200)}
    return {
        "registers": [
            {
                "tokens": n,
                "p": p,
                "seed": f"{seed:016x}",
                "registers": bytes(registers(tokens, p, seed)).hex(),
                "estimate": round(
                    estimate_of_registers(registers(tokens, p, seed), 64), 9
                ),
            }
            for n, tokens in sets.items()
            for p in (4, 6)
            for seed in (1, 2**64 - 1)
        ],
        "sizes": [
            {
                "tokens": n,
                "num_perm": k,
                "scheme": scheme,
                "estimate": round(estimate(sketch(tokens, k, 1)), 9),
            }
            for n, tokens in sets.items()
            for k in (16, 100)
            for scheme, sketch, estimate in (
                ("classic", minhash.classic, estimate_of_classic),
                ("fast", minhash.fast, estimate_of_fast),
            )
        ],
    }

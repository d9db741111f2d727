"""SimHash codes and counters, and signs of dot products, of docs/reference/definitions.md on plain Python numbers."""

import math
from collections.abc import Sequence
from fractions import Fraction

from tests.reference.hashing import MASK64, draw, mix64, token_of_int

SIMHASH, SIMHASH_ZERO = 20, 21  # domains


def vector(token: int, words: int, seed: int) -> list[int]:
    """Return the +1s and -1s of a token, 64 a word."""
    hashes = [mix64(token ^ draw(seed, SIMHASH, w)) for w in range(words)]
    return [1 if hashed >> i & 1 else -1 for hashed in hashes for i in range(64)]


def counters(
    tokens: Sequence[int], words: int, seed: int, weights: Sequence[int] | None = None
) -> list[int]:
    """Return the sum of the tokens' vectors, each times its weight."""
    found = [0] * (64 * words)
    for token, weight in zip(tokens, weights or [1] * len(tokens), strict=True):
        found = [
            c + weight * sign
            for c, sign in zip(found, vector(token, words, seed), strict=True)
        ]
    return found


def dots(x: Sequence[float], vectors: Sequence[Sequence[int]]) -> list[float]:
    """Return the dot products with vectors of +1s and -1s, each from the first coordinate to the last."""
    found = []
    for v in vectors:
        total = type(x[0])(0) if x else 0
        for number, sign in zip(x, v, strict=True):
            total += number if sign > 0 else -number
        found.append(total)
    return found


def words_of(bits: Sequence[bool]) -> list[int]:
    """Return bits as words of 64, the lowest first."""
    return [
        sum(bool(bit) << i for i, bit in enumerate(bits[at : at + 64]))
        for at in range(0, len(bits), 64)
    ]


def code(values: Sequence[float], zero: str = "minus", seed: int = 1) -> list[int]:
    """Return the code of counters or dot products."""
    if not any(values):
        return [MASK64] * -(-len(values) // 64)
    bits = [value > 0 or (value == 0 and zero == "plus") for value in values]
    if zero == "random" and not all(values):
        flip = next(value for value in values if value) < 0
        state = draw(seed, SIMHASH_ZERO, 0)
        positive = words_of([(value < 0) if flip else (value > 0) for value in values])
        zeros = words_of([value == 0 for value in values])
        for above, at in zip(positive, zeros, strict=True):
            state = mix64(mix64(state ^ above) ^ at)
        for i, value in enumerate(values):
            if value == 0:
                drawn = (
                    mix64(state ^ draw(seed, SIMHASH_ZERO, 1 + i // 64)) >> i % 64 & 1
                )
                bits[i] = bool(drawn) != flip
    words = words_of(bits)
    if all(word == MASK64 for word in words):
        words[0] -= 1
    return words


def is_empty(words: Sequence[int]) -> bool:
    """Tell whether a code is that of an empty set."""
    return all(word == MASK64 for word in words)


def distance(a: Sequence[int], b: Sequence[int], bits: int) -> int:
    """Return the bits in which two codes differ, bits + 1 if either is empty."""
    if is_empty(a) or is_empty(b):
        return bits + 1
    return sum((x ^ y).bit_count() for x, y in zip(a, b, strict=True))


def probability_of_difference(common: int, only_a: int, only_b: int) -> Fraction:
    """Return the probability that a bit of two sets differs, zeros being minus, over all vectors of +1s and -1s."""

    def above_zero(n: int, offset: int) -> Fraction:
        """Return the probability that offset and the sum of n signs are above zero together."""
        return Fraction(
            sum(math.comb(n, k) for k in range(n + 1) if offset + 2 * k - n > 0), 2**n
        )

    total = Fraction(0)
    for k in range(common + 1):
        a, b = above_zero(only_a, 2 * k - common), above_zero(only_b, 2 * k - common)
        total += math.comb(common, k) * (a * (1 - b) + b * (1 - a))
    return total / 2**common


def golden() -> dict[str, object]:
    """Return values to be pinned: 64-bit numbers in hexadecimal."""
    sets = {
        "empty": ([], None),
        "one": ([7], None),
        "edges": ([0, 1, 2**61 - 1, MASK64], None),
        "repeated": ([5, 5, 6], None),
        "many": ([token_of_int(i, 1) for i in range(50)], None),
        "weighed": ([token_of_int(i, 1) for i in range(6)], [1, -2, 3, 0, 2**40, -5]),
    }
    codes = [
        {
            "set": name,
            "tokens": [f"{token:016x}" for token in tokens],
            "weights": weights,
            "seed": f"{seed:016x}",
            "counters": counters(tokens, 2, seed, weights),
            "code": [
                f"{word:016x}" for word in code(counters(tokens, 2, seed, weights))
            ],
        }
        for name, (tokens, weights) in sets.items()
        for seed in (1, MASK64)
    ]
    vectors = [[3, 4, 5, 6], [1, -1, 1, -1], [0, 0, 0, 0], [-1, 1, -1, 1]]
    columns = [vector(j, 1, 1) for j in range(4)]
    drawn = [list(row) for row in zip(*columns, strict=True)]
    signs = [
        {
            "vector": x,
            "zero": zero,
            "code": [f"{word:016x}" for word in code(dots(x, drawn), zero, 1)],
        }
        for x in vectors
        for zero in ("minus", "plus", "random")
    ]
    return {"simhash": codes, "signs": signs}

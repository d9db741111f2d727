"""Hash functions with guarantees, on Python's integers: docs/reference/definitions.md."""

from tests.reference.hashing import MASK64, P, draw

WEAK, POLYNOMIAL, SHIFT, ADD_SHIFT, TABULATION = 60, 61, 62, 63, 64  # domains


def polynomial(coefficients: list[int], x: int, prime: int, buckets: int) -> int:
    """Return the bucket of x under a polynomial, the highest power first."""
    value = (
        sum(
            c * pow(x, len(coefficients) - 1 - j, prime)
            for j, c in enumerate(coefficients)
        )
        % prime
    )
    return value % buckets


def weak_coefficients(seed: int, prime: int = P) -> list[int]:
    """Return a in 1..prime - 1 and b in 0..prime - 1."""
    return [1 + draw(seed, WEAK, 0) % (prime - 1), draw(seed, WEAK, 1) % prime]


def coefficients(seed: int, k: int, prime: int = P) -> list[int]:
    """Return k coefficients in 0..prime - 1."""
    return [draw(seed, POLYNOMIAL, j) % prime for j in range(k)]


def multiply_shift(seed: int, bits: int, x: int) -> int:
    """Return the highest bits of a x mod 2**64."""
    return (draw(seed, SHIFT, 0) | 1) * x % 2**64 >> 64 - bits


def multiply_add_shift(seed: int, buckets: int, x: int) -> int:
    """Return the bucket of the upper word of a x + b mod 2**128."""
    a_high, a_low, b_high, b_low = (draw(seed, ADD_SHIFT, j) for j in range(4))
    h = ((a_high << 64 | a_low) * x + (b_high << 64 | b_low)) % 2**128 >> 64
    return h * buckets >> 64


def mixed_tabulation(seed: int, buckets: int, x: int) -> int:
    """Return the bucket of x by tables of 8 characters, and of the 4 that are derived from them."""
    h = derived = 0
    for c in range(8):
        place = 2 * (256 * c + (x >> 8 * c & 255))
        h ^= draw(seed, TABULATION, place)
        derived ^= draw(seed, TABULATION, place + 1)
    for c in range(4):
        h ^= draw(seed, TABULATION, 4096 + 256 * c + (derived >> 8 * c & 255))
    return (h & MASK64) * buckets >> 64

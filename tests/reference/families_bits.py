"""The families of packed codes, of whole numbers and of grid squares, of definitions.md on plain Python numbers.

A code is one Python integer. `None` is the value of an item that has none.
"""

from collections.abc import Collection, Sequence

from tests.reference.hashing import EMPTY, MASK64, draw, mix64

BIT_SAMPLING, COVERING, UNARY_COORDINATE, UNARY_CUT, SQUARES = (
    40,
    41,
    42,
    43,
    45,
)  # domains


def scaled(word: int, limit: int) -> int:
    """Map a word to 0..limit - 1."""
    return word * limit >> 64


def sampled_bit(code: int, bits: int, seed: int, j: int) -> int:
    """Return the bit of a code at the position of function j."""
    return code >> scaled(draw(seed, BIT_SAMPLING, j), bits) & 1


def is_kept(i: int, radius: int, seed: int, j: int) -> bool:
    """Tell whether function j of a covering keeps bit i."""
    vector = draw(seed, COVERING, i) >> (63 - radius)
    return (vector & (j + 1)).bit_count() % 2 == 1


def covered(code: int, bits: int, radius: int, seed: int, j: int) -> int:
    """Return the bits of a code that function j of a covering keeps."""
    return sum(code & 1 << i for i in range(bits) if is_kept(i, radius, seed, j))


def covering(code: int, bits: int, radius: int, seed: int, j: int) -> int:
    """Return the value of a code under function j of a covering."""
    kept, h = covered(code, bits, radius, seed, j), 0
    for word in range(-(-bits // 64)):
        h = mix64(h ^ kept >> 64 * word & MASK64)
    return EMPTY - 1 if h == EMPTY else h


def unary_code(x: Sequence[int], limit: int) -> list[int]:
    """Return the unary codes of numbers, one after the other: `limit` bits each, the first x of them ones."""
    return [int(cut <= number) for number in x for cut in range(1, limit + 1)]


def unary(x: Sequence[int], limit: int, seed: int, j: int) -> int:
    """Return the bit of the unary code of a vector at the place of function j."""
    coordinate = scaled(draw(seed, UNARY_COORDINATE, j), len(x))
    return unary_code(x, limit)[
        limit * coordinate + scaled(draw(seed, UNARY_CUT, j), limit)
    ]


def grid_squares(
    item: Collection[int], grid: int, squares: int, seed: int, j: int
) -> int | None:
    """Return 0 if an item has all squares of function j."""
    wanted = [
        scaled(draw(seed, SQUARES, squares * j + t), grid) for t in range(squares)
    ]
    return 0 if all(square in item for square in wanted) else None


def bucket_of_bits(bits: Sequence[int]) -> int:
    """Return the bucket of the values of less than 64 functions."""
    return sum(bit << i for i, bit in enumerate(bits))

"""Signatures of one permutation and of few bits a slot, of docs/reference/definitions.md, with exact estimates."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tests.reference import minhash
from tests.reference.hashing import EMPTY, Domain, draw, mix64

VALUE_MASK = 2**56 - 1


def one_permutation(tokens: Iterable[int], k: int, seed: int) -> list[int]:
    """Return the signature of one permutation: in each group the least value, or EMPTY."""
    constant = draw(seed, Domain.GROUP, 0)
    signature = [EMPTY] * k
    for x in tokens:
        h = mix64(x ^ constant)
        group = (h >> 32) * k >> 32
        signature[group] = min(signature[group], h & VALUE_MASK)
    return signature


def compare(a: Sequence[int], b: Sequence[int]) -> tuple[int, int]:
    """Return the number of slots with one value in both, and of those without a value in either."""
    pairs = list(zip(a, b, strict=True))
    return sum(x == y != EMPTY for x, y in pairs), sum(
        x == y == EMPTY for x, y in pairs
    )


def one_permutation_similarity(a: Sequence[int], b: Sequence[int]) -> Fraction:
    """Return the share of equal slots among those with a value on either side, 0 if there are none."""
    equal, skipped = compare(a, b)
    return Fraction(equal, len(a) - skipped or 1)


def pack(signature: Sequence[int], bits: int) -> list[int]:
    """Return the words of a packed signature."""
    words = -(-len(signature) * bits // 64)
    if minhash.is_empty(signature):
        return [EMPTY] * words
    whole = sum((mix64(slot) % 2**bits) << bits * i for i, slot in enumerate(signature))
    packed = [whole >> 64 * word & EMPTY for word in range(words)]
    packed[0] -= packed[0] == EMPTY
    return packed


def unpack(packed: Sequence[int], k: int, bits: int) -> list[int]:
    """Return the slots of a packed signature."""
    whole = sum(word << 64 * i for i, word in enumerate(packed))
    return [whole >> bits * i & 2**bits - 1 for i in range(k)]


def equal_slots(a: Sequence[int], b: Sequence[int], k: int, bits: int) -> int:
    """Return the number of equal slots of two packed signatures, -1 if either is of an empty set."""
    if a[0] == EMPTY or b[0] == EMPTY:
        return -1
    return sum(
        x == y for x, y in zip(unpack(a, k, bits), unpack(b, k, bits), strict=True)
    )


def packed_similarity(
    a: Sequence[int], b: Sequence[int], k: int, bits: int
) -> Fraction:
    """Return the estimate without bias, 0 if either set is empty."""
    equal, chance = equal_slots(a, b, k, bits), Fraction(1, 2**bits)
    return Fraction(0) if equal < 0 else (Fraction(equal, k) - chance) / (1 - chance)


def golden() -> dict[str, list[dict[str, object]]]:
    """Compute the pinned cases, 64-bit numbers in hexadecimal."""
    sets = {
        "empty": [],
        "of one": [7],
        "of edges": [0, 1, 2**61 - 1, EMPTY],
        "of many": [mix64(i) for i in range(50)],
    }

    def written(numbers: Iterable[int]) -> list[str]:
        return [f"{number:016x}" for number in numbers]

    return {
        "one_permutation": [
            {
                "set": name,
                "tokens": written(tokens),
                "seed": f"{seed:016x}",
                "signature": written(one_permutation(tokens, 16, seed)),
            }
            for name, tokens in sets.items()
            for seed in (1, EMPTY)
        ],
        "packed": [
            {
                "set": name,
                "tokens": written(tokens),
                "scheme": scheme,
                "slots": 20,
                "bits": bits,
                "words": written(pack(sketch(tokens, 20, 1), bits)),
            }
            for name, tokens in sets.items()
            for scheme, sketch in (("classic", minhash.classic), ("fast", minhash.fast))
            for bits in (1, 2, 4, 8, 16)
        ],
    }

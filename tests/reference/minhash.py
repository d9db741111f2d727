"""MinHash signatures, band keys and fingerprints of docs/reference/definitions.md.

Every slot is computed from the definition: all rounds for all tokens, no early stop.
"""

from collections.abc import Iterable, Sequence

from tests.reference.hashing import EMPTY, Domain, P, draw, mix64, multiplier

VALUE_BITS = 56
VALUE_MASK = 2**VALUE_BITS - 1


def classic(tokens: Iterable[int], k: int, seed: int) -> list[int]:
    """Return the signature by k independent linear functions modulo P."""
    mixed = [mix64(x) % P for x in tokens]
    signature = []
    for i in range(k):
        a = multiplier(draw(seed, Domain.CLASSIC, 2 * i))
        b = draw(seed, Domain.CLASSIC, 2 * i + 1) % P
        signature.append(min(((a * x + b) % P for x in mixed), default=EMPTY))
    return signature


def rounds_of(k: int) -> int:
    """Return the number of rounds of the fast scheme."""
    return max(1, min(254, k // 4))


def fast(tokens: Iterable[int], k: int, seed: int) -> list[int]:
    """Return the signature by bucketed rounds, with direct minima for slots never reached."""
    tokens = list(tokens)
    rounds = rounds_of(k)
    signature = [EMPTY] * k
    for r in range(rounds):
        s = draw(seed, Domain.FAST_ROUND, r)
        for x in tokens:
            h = mix64(x ^ s)
            slot = (h >> 32) * k >> 32
            signature[slot] = min(signature[slot], (r << VALUE_BITS) + (h & VALUE_MASK))
    for i in range(k):
        if tokens and signature[i] == EMPTY:
            f = draw(seed, Domain.FAST_SLOT, i)
            least = min(mix64(x ^ f) & VALUE_MASK for x in tokens)
            signature[i] = (rounds << VALUE_BITS) + least
    return signature


def is_empty(signature: Sequence[int]) -> bool:
    """Tell whether a signature is that of an empty set."""
    return all(slot == EMPTY for slot in signature)


def similarity(a: Sequence[int], b: Sequence[int]) -> float:
    """Return the fraction of equal slots, 0 if either signature is empty."""
    if len(a) != len(b):
        raise ValueError(
            f"signatures of {len(a)} and {len(b)} slots cannot be compared"
        )
    if is_empty(a) or is_empty(b):
        return 0.0
    return sum(x == y for x, y in zip(a, b, strict=False)) / len(a)


def band_keys(signature: Sequence[int], bands: int, rows: int) -> list[int]:
    """Return one bucket key per band; EMPTY in all of them for an empty signature."""
    if bands * rows > len(signature):
        raise ValueError(
            f"{bands} bands of {rows} rows need more than {len(signature)} slots"
        )
    if is_empty(signature):
        return [EMPTY] * bands
    keys = []
    for j in range(bands):
        h = draw(0, Domain.BAND, j)
        for slot in signature[j * rows : (j + 1) * rows]:
            h = mix64(h ^ slot)
        keys.append(EMPTY - 1 if h == EMPTY else h)
    return keys


def is_candidate(a: Sequence[int], b: Sequence[int]) -> bool:
    """Tell whether two rows of keys agree in some band; EMPTY agrees with nothing."""
    return any(x == y != EMPTY for x, y in zip(a, b, strict=False))


def candidate_pairs(keys: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return the pairs i < j of rows that share a key in some band, sorted, each once."""
    n = len(keys)
    return [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if is_candidate(keys[i], keys[j])
    ]


def fingerprint(tokens: Iterable[int], key: tuple[int, int]) -> tuple[int, int, int]:
    """Return the number of tokens, and the product of key - token in the field of P^2 numbers x + y·i, i^2 = -1."""
    n, x, y = 0, 1, 0
    for token in tokens:
        b, c = key[0] - token % 2**32, key[1] - token // 2**32
        n, x, y = n + 1, (x * b - y * c) % P, (x * c + y * b) % P
    return n, x, y

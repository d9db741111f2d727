"""datasketch's hash values as docs/reference/definitions.md gives them, one token and one function at a time."""

import hashlib
import struct
from collections.abc import Iterable, Iterator

MASK32, MASK64, P = 2**32 - 1, 2**64 - 1, 2**61 - 1
GREATEST = {"affine32": MASK32, "affine64": MASK64, "legacy": MASK32}
BITS = {"affine32": 32, "affine64": 64, "legacy": 32}


def mersenne_twister(seed: int) -> Iterator[int]:
    """Yield the 32-bit words of MT19937 (Matsumoto and Nishimura 1998), seeded by one word."""
    state = [seed & MASK32]
    for i in range(1, 624):
        state.append(1812433253 * (state[-1] ^ state[-1] >> 30) + i & MASK32)
    while True:
        for i in range(624):
            word = state[i] & 2**31 | state[(i + 1) % 624] & 2**31 - 1
            state[i] = (
                state[(i + 397) % 624] ^ word >> 1 ^ (0x9908B0DF if word & 1 else 0)
            )
        for word in state:
            word ^= word >> 11
            word ^= word << 7 & 0x9D2C5680
            word ^= word << 15 & 0xEFC60000
            yield word ^ word >> 18


def below(words: Iterator[int], limit: int, bits: int) -> int:
    """Draw a number below limit: as many low bits of a word (of two, the high one first) as it has, until one fits."""
    mask = (1 << (limit - 1).bit_length()) - 1
    while True:
        word = next(words) if bits == 32 else next(words) << 32 | next(words)
        if word & mask < limit:
            return word & mask


def permutations(scheme: str, seed: int, k: int) -> tuple[list[int], list[int]]:
    """Return multipliers and summands."""
    words = mersenne_twister(seed)
    if scheme == "legacy":
        pairs = [(1 + below(words, P - 1, 64), below(words, P, 64)) for _ in range(k)]
        return [a for a, _ in pairs], [b for _, b in pairs]
    bits = BITS[scheme]
    a = [2 * below(words, 2 ** (bits - 1), bits) + 1 for _ in range(k)]
    return a, [below(words, 2**bits, bits) for _ in range(k)]


def mixed32(x: int) -> int:
    x = (x ^ x >> 16) * 0x85EBCA6B & MASK32
    x = (x ^ x >> 13) * 0xC2B2AE35 & MASK32
    return x ^ x >> 16


def mixed64(x: int) -> int:
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
    return x ^ x >> 33


def value(scheme: str, token_hash: int, a: int, b: int) -> int:
    """Return what one function makes of a token's hash."""
    if scheme == "affine32":
        return a * mixed32(token_hash) + b & MASK32
    if scheme == "affine64":
        return a * mixed64(token_hash) + b & MASK64
    return (a * token_hash + b & MASK64) % P & MASK32


def hash_values(
    scheme: str, hashes: Iterable[int], a: list[int], b: list[int]
) -> list[int]:
    """Return the sketch of tokens' hashes."""
    hashes = list(hashes)
    return [
        min(
            (value(scheme, token_hash, x, y) for token_hash in hashes),
            default=GREATEST[scheme],
        )
        for x, y in zip(a, b, strict=True)
    ]


def sha1_head(data: bytes, bits: int) -> int:
    """Return the first bytes of the SHA-1 of a token as a little-endian number."""
    return int.from_bytes(hashlib.sha1(data).digest()[: bits // 8], "little")


def sketch(scheme: str, tokens: Iterable[bytes], k: int, seed: int) -> list[int]:
    """Return the sketch of tokens with the default hash."""
    hashes = [sha1_head(token, BITS[scheme]) for token in tokens]
    return hash_values(scheme, hashes, *permutations(scheme, seed, k))


def lean_bytes(scheme: str, seed: int, values: list[int], byteorder: str) -> bytes:
    """Return the bytes of a LeanMinHash."""
    kept = "Q" if scheme == "affine64" else "I"
    if scheme == "legacy":
        return struct.pack(
            f"{byteorder}qi{len(values)}{kept}", seed, len(values), *values
        )
    code = {"affine32": 1, "affine64": 2}[scheme]
    return struct.pack(
        f"{byteorder}qiB{len(values)}{kept}", seed, -len(values), code, *values
    )


def b_bit_bytes(scheme: str, seed: int, b: int, r: float, values: list[int]) -> bytes:
    """Return the bytes of a bBitMinHash: slots from the high end of blocks of 64 bits."""
    width = min(width for width in (1, 2, 4, 8, 16, 32) if width >= b)
    each = 64 // width
    blocks = []
    for start in range(0, len(values), each):
        block = 0
        for place, whole in enumerate(values[start : start + each]):
            block |= (whole & (1 << b) - 1) << width * (each - 1 - place)
        blocks.append(block)
    if scheme == "legacy":
        return struct.pack(f"<qBdi{len(blocks)}Q", seed, b, r, len(values), *blocks)
    code = {"affine32": 1, "affine64": 2}[scheme]
    return struct.pack(f"<qBdiB{len(blocks)}Q", seed, b, r, -len(values), code, *blocks)


def b_bit_chance(r: float, b: int) -> float:
    """Return A(r, b) of Li and König 2010."""
    return 2.0**-b if r == 0 else r * (1 - r) ** (2**b - 1) / (1 - (1 - r) ** 2**b)


def golden() -> dict[str, object]:
    """Return sketches and bytes that no version may change."""
    tokens = [b"", b"a", b"minhash", bytes(range(100)), "é日本".encode()]
    found: dict[str, object] = {"tokens": [token.hex() for token in tokens]}
    for scheme in GREATEST:
        values = sketch(scheme, tokens, 8, 1)
        found[scheme] = {
            "permutations": [list(part) for part in permutations(scheme, 1, 4)],
            "values": values,
            "seed 2**32 - 1": sketch(scheme, tokens, 4, MASK32),
            "lean": lean_bytes(scheme, 1, values, "<").hex(),
            "3 bits": b_bit_bytes(scheme, 1, 3, 0.25, values).hex(),
        }
    return found

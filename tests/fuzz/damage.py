"""Changes of bytes that readers find hard: bits, numbers at edges, pieces cut out, repeated and exchanged."""

from __future__ import annotations

from random import Random

# Numbers at which sizes, offsets and counts turn over.
EDGES = [
    *(0, 1, 2, 3, 4, 7, 8, 63, 64, 65, 2**7, 2**15, 2**16),
    *(2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1),
    *(2**61, 2**62, 2**63 - 64, 2**63 - 1, 2**63, 2**63 + 1),
    *(2**64 - 64, 2**64 - 8, 2**64 - 2, 2**64 - 1),
]


def damaged(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """Return bytes that were changed in one place or a few."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 3, 5])):
        damage_span(changed, (0, len(changed)), others, chance)
    return bytes(changed)


def damage_span(
    data: bytearray, span: tuple[int, int], others: list[bytes], chance: Random
) -> None:
    """Change one place of a span."""
    low = min(span[0], len(data) - 1)
    high = min(span[1], len(data))
    if not data or high <= low:
        data += chance.randbytes(chance.randrange(1, 9))
        return
    at = chance.randrange(low, high)
    (way,) = chance.choices(WAYS, WEIGHTS)
    way(data, at, (low, high), others, chance)


def _flip(data, at, span, others, chance):
    data[at] ^= 1 << chance.randrange(8)


def _set(data, at, span, others, chance):
    data[at] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])


def _number(data, at, span, others, chance):
    """Write a number at an edge, or close to what is there."""
    size = chance.choice([4, 8])
    at = span[0] + (at - span[0]) // size * size
    if at + size <= len(data):
        now = int.from_bytes(data[at : at + size], "little")
        near = now + chance.choice([-64, -8, -1, 1, 8, 64])
        value = chance.choice([chance.choice(EDGES), near, len(data)])
        data[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")


def _exchange(data, at, span, others, chance):
    """Let two numbers change places."""
    low, high = span
    size = chance.choice([4, 8])
    one = low + chance.randrange(high - low) // size * size
    two = low + chance.randrange(high - low) // size * size
    if max(one, two) + size <= len(data):
        first = bytes(data[one : one + size])
        data[one : one + size] = data[two : two + size]
        data[two : two + size] = first


def _copy(data, at, span, others, chance):
    """Write what stands somewhere else, or in another input."""
    length = min(chance.choice([1, 4, 8, 16, 64, 512]), span[1] - span[0])
    other = chance.choice([data, chance.choice(others or [data])])
    take = chance.randrange(max(1, len(other) - length))
    data[at : at + length] = other[take : take + length]


def _shift(data, at, span, others, chance):
    """Cut bytes out or put some in, so that all behind them moves."""
    length = chance.choice([1, 2, 8, 64, 1024])
    if chance.random() < 0.5:
        del data[at : at + length]
    else:
        data[at:at] = bytes(chance.choice([0, 255]) for _ in range(length))


def _repeat(data, at, span, others, chance):
    length = chance.randrange(1, 9)
    data[at:at] = data[at : at + length] * chance.choice([1, 1, 2, 50])


def _truncate(data, at, span, others, chance):
    del data[at:]


WAYS = [_flip, _set, _number, _exchange, _copy, _repeat, _shift, _truncate]
WEIGHTS = [9, 9, 18, 9, 9, 3, 1, 1]

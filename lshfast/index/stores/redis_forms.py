"""Parameters, keys and batches in the form in which a Redis server stores them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np

from lshfast._common.errors import FormatError
from lshfast._common.types import BoolArray
from lshfast.index.keys import INTEGERS, Column, as_column, listed
from lshfast.index.stores import redis_scripts as scripts
from lshfast.index.stores.values import Parameters
from lshfast.sketch.minhash import Scheme

# The range of integer keys, signed or unsigned.
LEAST_KEY = INTEGERS["int"][0]
GREATEST_KEY = INTEGERS["uint"][1]
# The formats of indexes of MinHash signatures, and of families.
FORMATS = "1", "2"
# The most keys and bytes of one command.
PIECE_KEYS = 1000
PIECE_BYTES = 1 << 20


def fields_of(parameters: Parameters) -> dict[str, str]:
    """Return parameters as they are stored, in the order of FIELDS."""
    threshold = (
        "" if parameters.threshold is None else repr(float(parameters.threshold))
    )
    numbers = (
        int(parameters.num_perm),
        int(parameters.bands),
        int(parameters.rows_per_band),
    )
    form = FORMATS[bool(parameters.family)]
    texts = (
        form,
        *map(str, numbers),
        parameters.scheme,
        str(int(parameters.seed)),
        threshold,
        parameters.shingles,
    )
    fields = dict(zip(scripts.FIELDS, texts, strict=True))
    if parameters.family:
        family = parameters.family, str(int(parameters.payload)), parameters.measure
        fields |= zip(scripts.FAMILY_FIELDS, family, strict=True)
    return fields


def encode_keys(keys: Column) -> list[bytes]:
    return [_encode_key(key) for key in listed(keys)]


def _encode_key(key: Any) -> bytes:
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if (
        isinstance(key, (int, np.integer))
        and not isinstance(key, bool)
        and LEAST_KEY <= key <= GREATEST_KEY
    ):
        return b"%d" % int(key)
    raise TypeError(
        f"a Redis store's keys are ints in -2**63..2**64 - 1 and str, not {key!r}"
    )


def decode_key(member: bytes) -> int | str:
    """Return the key of a member, or raise ValueError if it is not the encoding of a key."""
    if member[:1] == b"s":
        return member[1:].decode("utf-8", "surrogatepass")
    key = int(member)
    if not LEAST_KEY <= key <= GREATEST_KEY or b"%d" % key != member:
        raise ValueError
    return key


def keys_as_column(keys: list[int | str]) -> Column:
    """Return keys as an array if all are ints of one kind, otherwise as a list."""
    return as_column(keys) if keys else np.empty(0, np.int64)


def key_pieces(encoded: list[bytes], width: int) -> Iterator[slice]:
    """Divide a batch by the number of keys and by bytes, `width` more for each key."""
    low = size = 0
    for row, key in enumerate(encoded):
        key_bytes = width + len(key)
        if row - low >= PIECE_KEYS or (row > low and size + key_bytes > PIECE_BYTES):
            yield slice(low, row)
            low = row
            size = 0
        size += key_bytes
    if low < len(encoded):
        yield slice(low, len(encoded))


def present_keys(letters: bytes) -> BoolArray:
    return np.equal(np.frombuffer(letters, np.uint8), ord("1"))


def stored_parameters(answer: list[bytes], place: str) -> Parameters | None:
    """Parse the parameters that a server stores; errors name the place."""
    if not answer:
        return None
    fields = [field.decode("utf-8", "backslashreplace") for field in answer]
    stored = dict(zip(fields[::2], fields[1::2], strict=True))
    if stored.get("format") not in FORMATS:
        known_formats = " and ".join(FORMATS)
        stored_format = stored.get("format")
        raise FormatError(
            f"{place}: format {stored_format!r} is unknown, this version reads {known_formats}"
        )
    try:
        num_perm, bands, rows, seed = (
            int(stored[name]) for name in ("num_perm", "bands", "rows", "seed")
        )
        threshold = float(stored["threshold"]) if stored["threshold"] else None
        payload = int(stored.get("payload", 0))
        measure = stored.get("measure", "")
        parameters = Parameters(
            num_perm,
            bands,
            rows,
            stored["scheme"],
            seed,
            threshold,
            stored["shingles"],
            stored.get("family", ""),
            payload,
            measure,
        )
    except (KeyError, ValueError) as error:
        raise FormatError(
            f"{place}: a field is missing or not a number: {error}"
        ) from None
    in_range = (
        1 <= bands * rows <= num_perm <= 65536 and bands >= 1 and 0 <= seed < 2**64
    )
    in_range &= stored["scheme"] in ([""] if parameters.family else get_args(Scheme))
    in_range &= threshold is None or 0 < threshold <= 1
    if not in_range or fields_of(parameters) != stored:
        raise FormatError(
            f"{place}: out of range, or not as this library writes them: {stored}"
        )
    return parameters

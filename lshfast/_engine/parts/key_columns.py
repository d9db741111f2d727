"""The keys of rows in the files of tasks: their bytes, one after another, and their lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Int64Array, UInt8Array
from lshfast._engine.parts.task_reader import Arrays, TaskFile

# The name of the type of ids of which one is above the greatest signed integer.
UNSIGNED_IDS = "uint"

# Arrow's names for the types of ids that are integers.
KINDS_OF_INTEGERS = {"int": "int64", UNSIGNED_IDS: "uint64"}


def key_columns(keys: Sequence[str | int]) -> dict[str, npt.NDArray[Any]]:
    """Return the columns with some keys, which `keys_of` reads."""
    lengths, data = packed_texts(map(str, keys))
    return {"key_lengths": lengths, "keys": data}


def packed_texts(texts: Iterable[str]) -> tuple[Int64Array, UInt8Array]:
    """Return the lengths of texts in bytes, and these bytes."""
    encoded = [text.encode() for text in texts]
    lengths = np.array(list(map(len, encoded)), np.int64)
    return lengths, np.frombuffer(b"".join(encoded), np.uint8)


def keys_of(
    file: TaskFile, part: Arrays, rows: int, ids: str | None
) -> list[str | int]:
    """Return the keys in a range; `ids` is the name of their type."""
    lengths = part["key_lengths"].tolist()
    data = part["keys"].tobytes()
    if (
        len(lengths) != rows
        or any(length < 0 for length in lengths)
        or sum(lengths) != len(data)
    ):
        raise file.fault("its keys have other lengths")
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    convert: Callable[[bytes], str | int] = (
        int if ids in KINDS_OF_INTEGERS else bytes.decode
    )
    try:
        return [
            convert(data[end - length : end])
            for length, end in zip(lengths, ends, strict=True)
        ]
    except ValueError as error:
        raise file.fault(f"its keys are damaged: {error}") from None


def kind_of_ids(ids: str | None) -> str:
    """Return Arrow's name for the type of the keys, given the name of the type of the ids."""
    return KINDS_OF_INTEGERS.get(ids or "", "string")

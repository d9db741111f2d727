"""The options of a run, stored with its table of removed rows.

Parquet holds them in its metadata. Those of other tables are in a file beside the table, and those
of a folder that Spark writes in a file among its parts.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from lshfast._common.errors import FormatError
from lshfast._common.extras import optional
from lshfast._common.visible import printable
from lshfast._engine.inputs import Inputs
from lshfast._engine.plan import plan_of_options
from lshfast._io.output import open_file, output_format
from lshfast._io.streams import is_stream

# The key of the metadata of Parquet, the end of the name of the file beside others, and the name of
# the file in a folder, which Spark and pyarrow ignore when they read it; the most bytes of a file.
KEY = "lshfast"
BESIDE = ".options.json"
OF_FOLDER = "_options.json"
MOST_BYTES = 1 << 24

# Options of reading that are stored, with the types that they have.
READING: dict[str, tuple[type, ...]] = {
    "column": (str, list),
    "id_column": (str, type(None)),
    "glob": (str, type(None)),
    "encoding": (str,),
    "format": (str, type(None)),
    "delimiter": (str, type(None)),
    "max_row_bytes": (int,),
    "zstd_window": (str, int, type(None)),
}


@dataclass(frozen=True)
class StoredOptions:
    """The options of a run: the arguments of `make_plan`, `keep`, and the options of reading."""

    options: dict[str, Any]
    reading: dict[str, Any]

    @classmethod
    def of(cls, options: dict[str, Any], inputs: Inputs) -> StoredOptions:
        """Return the options of a run over some inputs."""
        return cls(dict(options), {name: getattr(inputs, name) for name in READING})

    def as_json(self) -> str:
        """Return the options as JSON."""
        return json.dumps(
            {"options": self.options, "reading": self.reading}, indent=1, sort_keys=True
        )


def beside(path: str) -> str | None:
    """Return the path of a table's options file; None for Parquet and for streams."""
    return (
        None
        if is_stream(path) or output_format(path)[0] == "parquet"
        else f"{path}{BESIDE}"
    )


def write_beside(path: str, stored: StoredOptions, overwrite: bool) -> None:
    """Write the options of a run next to its table, unless the table holds them."""
    name = beside(path)
    if name is not None:
        with open_file(name, overwrite) as stream:
            stream.write(stored.as_json().encode() + b"\n")


def read_options(path: str) -> StoredOptions | None:
    """Return the options stored with a table or in a folder of tables, or None.

    Raises
    ------
    FormatError
        If they are damaged.
    """
    if os.path.isdir(path):
        options_path = os.path.join(path, OF_FOLDER)
        if os.path.exists(options_path):
            return _parsed(_read(options_path), printable(options_path))
        tables = [
            name.removesuffix(BESIDE)
            for name in sorted(os.listdir(path))
            if name.endswith((".parquet", BESIDE))
        ]
        options_of_tables = (read_options(os.path.join(path, name)) for name in tables)
        return next(
            (stored for stored in options_of_tables if stored is not None), None
        )
    if output_format(path)[0] == "parquet":
        data = _metadata(path).get(KEY.encode())
        return None if data is None else _parsed(data, printable(path))
    name = f"{path}{BESIDE}"
    return _parsed(_read(name), printable(name)) if os.path.exists(name) else None


def _metadata(path: str) -> dict[bytes, bytes]:
    """Return the metadata in the footer of a Parquet file."""
    with open(path, "rb") as stream:
        try:
            return optional("pyarrow.parquet").read_schema(stream).metadata or {}
        except (optional("pyarrow").ArrowException, OSError, ValueError) as error:
            if getattr(error, "errno", None) is not None:  # the disk, not the file
                raise
            raise FormatError(
                f"{printable(path)}: cannot be read as Parquet: {error}"
            ) from None


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(MOST_BYTES + 1)


def _parsed(data: bytes, name: str) -> StoredOptions:
    try:
        if len(data) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        content = json.loads(data)
        options = dict(content["options"])
        reading = dict(content["reading"])
        for key, value in reading.items():
            if (
                key not in READING
                or not isinstance(value, READING[key])
                or isinstance(value, bool)
            ):
                raise ValueError(f"{key} must not be {value!r}")
        stored = StoredOptions(options, reading)
        plan_of_options(options)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(
            f"{name}: the options of a run are damaged: {error}"
        ) from None
    return stored

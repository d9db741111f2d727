"""A folder of shards: its names, its records, and the shard of a key.

    shards.json        the number of shards, and the build whose files they are
    BUILD-00000.lsh    the shards
    undo-NAME.json     the headers of several shards before a commit that has not ended
    .build/            a build that has not ended

A build writes shards under new names and then replaces `shards.json`, so a folder always has one
complete build. docs/reference/file-format.md defines the format.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from lshfast._common.atomic_files import at_once, atomic_file
from lshfast._common.container import Manifest
from lshfast._common.errors import FormatError
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array
from lshfast._common.visible import printable
from lshfast.index.keys import Column, kind_of, listed, refusal, take
from lshfast.index.stores.base import Store
from lshfast.index.stores.file_sections import HEADER
from lshfast.index.stores.segment import Segment
from lshfast.kernels.tables import BandTables

RECORD_NAME = "shards.json"
BUILD_NAME = ".build"

# A process keeps each shard open, before Python 3.13 twice, and may usually have 1,024 open files.
MOST_SHARDS = 512

RECORD = Manifest(1, "folder")
UNDO = Manifest(1, "build undo")

_UNDO_NAME = re.compile("undo-[0-9a-f]{16}[.]json")
_BUILD_ID = re.compile("[0-9a-f]{16}")


class FolderRecord(NamedTuple):
    """What `shards.json` says: the number of shards, and the build whose files they are."""

    shards: int
    build: str

    def names(self) -> list[str]:
        """Return the names of the shards, in their order."""
        return [shard_name(self.build, number) for number in range(self.shards)]

    def pack(self) -> bytes:
        """Return the record as bytes."""
        return RECORD.pack(self._asdict())

    @classmethod
    def unpack(cls, data: bytes, path: str) -> FolderRecord:
        """Read the record from bytes, or raise FormatError, which names the file."""
        (values,) = RECORD.unpack(data, path)
        shards = values.get("shards")
        build = values.get("build")
        if not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
            raise FormatError(
                f"{printable(path)}: shards is {shards!r}, not in 1..{MOST_SHARDS}"
            )
        if not isinstance(build, str) or not _BUILD_ID.fullmatch(build):
            raise FormatError(
                f"{printable(path)}: build is {build!r}, not 16 hexadecimal digits"
            )
        return cls(shards, build)


def shard_name(build: str, number: int) -> str:
    """Return the name of a shard of a build."""
    return f"{build}-{number:05d}.lsh"


def new_build_id() -> str:
    """Return an identifier for a new build."""
    return os.urandom(8).hex()


def is_shard_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder contains a complete index of shards."""
    return os.path.isfile(os.path.join(os.fsdecode(path), RECORD_NAME))


def read_record(path: str | os.PathLike[str]) -> FolderRecord:
    """Return the record of a folder.

    Raises
    ------
    IsADirectoryError
        If the folder has no record.
    FormatError
        If the record is damaged.
    """
    record_path = os.path.join(path, RECORD_NAME)
    try:
        with open(record_path, "rb") as file:
            return FolderRecord.unpack(file.read(), record_path)
    except FileNotFoundError:
        raise IsADirectoryError(
            errno.EISDIR,
            f"no index: this folder has no {RECORD_NAME}, which a build writes at its end",
            os.fspath(path),
        ) from None


def write_record(path: str, record: FolderRecord) -> None:
    """Replace the record of a folder, and remove the files of other builds."""
    record_path = os.path.join(path, RECORD_NAME)
    with at_once(), atomic_file(record_path, overwrite=True) as file:
        file.write(record.pack())
    present_names = set(record.names())
    for name in os.listdir(path):
        is_former = _is_shard_name(name) and name not in present_names
        if is_former or _UNDO_NAME.fullmatch(name):
            # Readers that have it open keep it; Windows does not remove an open file.
            with suppress(OSError):
                os.unlink(os.path.join(path, name))


def _is_shard_name(name: str) -> bool:
    build, _, number = name.removesuffix(".lsh").partition("-")
    is_named = bool(_BUILD_ID.fullmatch(build)) and number.isdecimal()
    return is_named and name.endswith(".lsh")


def is_ours(name: str) -> bool:
    """Return whether a file or folder in a folder of shards belongs to it."""
    return (
        name in (RECORD_NAME, BUILD_NAME, f"{BUILD_NAME}.lock")
        or name.endswith(".part")
        or _is_shard_name(name)
        or bool(_UNDO_NAME.fullmatch(name))
    )


# ---- commits of several shards ----


def undo_records(path: str, record: FolderRecord) -> dict[str, dict[int, bytes]]:
    """Return, by file name, the headers of shards before commits that have not ended."""
    records = {}
    for name in undo_names(os.listdir(path)):
        undo_path = os.path.join(path, name)
        try:
            with open(undo_path, "rb") as file:
                data = file.read()
        except FileNotFoundError:  # the commit has just ended
            continue
        records[name] = unpack_undo(data, undo_path, record)
    return records


def undo_names(names: Iterable[str]) -> list[str]:
    """Return those names in a folder that are of records of commits."""
    return sorted(filter(_UNDO_NAME.fullmatch, names))


def unpack_undo(data: bytes, undo_path: str, record: FolderRecord) -> dict[int, bytes]:
    """Return the headers in the record of a commit; none if it is of another build."""
    build, values = UNDO.unpack(data, undo_path)
    if build.get("id") != record.build:
        return {}
    headers = {}
    for number, digits in values.items():
        try:
            header = bytes.fromhex(digits)
            HEADER.unpack(header)
            headers[range(record.shards)[int(number)]] = header
        except (ValueError, TypeError, IndexError) as error:
            raise FormatError(
                f"{printable(undo_path)}: shard {number}: {error}"
            ) from None
    return headers


def new_undo_name() -> str:
    """Return the name of the record of a new commit."""
    return f"undo-{os.urandom(8).hex()}.json"


def write_undo(path: str, name: str, build: str, headers: Mapping[int, bytes]) -> None:
    """Record the headers of shards before a commit; with no headers, the commit has ended."""
    values = {str(number): header.hex() for number, header in sorted(headers.items())}
    undo_path = os.path.join(path, name)
    with at_once(), atomic_file(undo_path, overwrite=True) as file:
        file.write(UNDO.pack({"id": build}, values))
    if not headers:
        # The record says already that nothing is to be undone.
        with suppress(OSError):
            os.unlink(undo_path)


# ---- keys ----


def check_keys_of(store: Store, name: str, number: int, shards: int) -> None:
    """Raise FormatError if the store of a shard has a key of another shard."""
    for keys in store.all_keys():
        other_places = np.flatnonzero(shards_of(keys, shards) != number)
        if len(other_places):
            key = listed(take(keys, other_places[:1]))[0]
            raise FormatError(
                f"{printable(name)}: key {key!r} belongs to another shard"
            )


def check_kinds(segments: Iterable[Segment], name: str, kinds: set[str]) -> set[str]:
    """Return those of the kinds that the keys of a shard fit too; FormatError if there is none.

    Processes that insert keys in different shards at the same time do not know of each other.
    """
    for segment in segments:
        if len(segment):
            kinds = {kind for kind in kinds if segment.fits(kind)}
    if not kinds:
        raise FormatError(
            f"{printable(name)}: keys of this shard and of those before it cannot be in one "
            f"index: {refusal([], None)}"
        )
    return kinds


def shards_of(keys: Column, shards: int) -> Int64Array:
    """Return the number of the shard of each key: its tag, as in the table of keys, mod `shards`.

    The tables take the upper bits of a tag, so each shard has tags of all sizes.
    """
    if not len(keys):
        return np.empty(0, np.int64)
    tables = BandTables(1, 1, 1, kind_of(keys))
    rows, _ = tables.admit(keys)
    return tables.tags_of(rows).astype(np.int64) % shards


def places_by_shard(
    keys: Column, shards: int, places: Int64Array | None = None
) -> list[tuple[int, Int64Array]]:
    """Return the shards of some keys, ascending, and the places of the keys of each.

    `places` are the places of the given keys in a longer column, if there is one.
    """
    numbers = shards_of(keys, shards)
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], int64_range(shards + 1))
    given_places = order if places is None else places[order]
    return [
        (number, given_places[ends[number] : ends[number + 1]])
        for number in range(shards)
        if ends[number] < ends[number + 1]
    ]

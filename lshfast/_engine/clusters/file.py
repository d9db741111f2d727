"""The Parquet file of groups with lasting ids, which a run reads and at its end replaces.

The columns are key, cluster and first_seen, in the order in which rows were first seen. The
metadata has the version, the number of the last run, the next id, the options of the last run, and
checksums of these and of the columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lshfast._common.container import Manifest
from lshfast._common.errors import DataError, FormatError
from lshfast._common.extras import optional
from lshfast._common.locks import locked
from lshfast._common.types import Int64Array
from lshfast._common.visible import printable
from lshfast._engine.account.report import DedupResult
from lshfast._engine.clusters.lasting import (
    ClusterTable,
    ClusterUpdate,
    update_clusters,
)
from lshfast._io import Output, check_different, check_place, write_tables
from lshfast._io.files import Layout
from lshfast._io.keys import GREATEST_SIGNED
from lshfast._io.listing import list_files
from lshfast._io.output import output_format
from lshfast._io.parquet import schema_of
from lshfast._io.selection import Columns
from lshfast._io.whole_tables import read_whole
from lshfast.kernels.checksum import checksum

VERSION = 1
METADATA = "lshfast.clusters"
_MANIFEST = Manifest(VERSION, "clusters options")

# The greatest number of a run, and the greatest id that is given.
MOST = (1 << 62) - 1

COLUMNS = "key", "cluster", "first_seen"
_NAMES = {int: "integers", str: "strings"}


@dataclass(frozen=True)
class ClusterOutput:
    """The file of groups of a run.

    Attributes
    ----------
    path : str
        The file, named .parquet. If it does not exist, the run is the first one.
    changes : str, optional
        The table of what has changed: id, change, old_id and key.
    dry : bool, default False
        Read the file, and write nothing.
    """

    path: str
    changes: str | None = None
    dry: bool = False

    @property
    def undone(self) -> ClusterOutput:
        """The same file for a run that writes nothing."""
        return replace(self, changes=None, dry=True)

    def check(self, inputs: Sequence[str], other_outputs: Sequence[str | None]) -> None:
        """Check before the work that the file can be replaced and is no input or other output."""
        optional("pyarrow")
        if output_format(self.path)[0] != "parquet":
            raise ValueError(
                f"{printable(self.path)}: clusters must be a file named .parquet"
            )
        check_place(self.path, inputs, overwrite=True)
        check_different(
            [*(path for path in other_outputs if path is not None), self.path]
        )

    def check_changes(self, update: ClusterUpdate) -> None:
        """Raise ValueError if the table of changes cannot have all keys of an update."""
        if self.changes is None or self.dry or not _is_of_no_kind(update.keys):
            return
        if Output.of(self.changes).format_and_codec[0] == "parquet":
            text = (
                "some keys of this run and of the rows that are gone are negative, others above "
                "2**63 - 1, which no column of Parquet can have: name the file .jsonl or .csv"
            )
            raise ValueError(f"{printable(self.changes)}: {text}")

    @contextmanager
    def opened(self) -> Iterator[OpenClusters]:
        """Read the groups of earlier runs, and lock the file until the block ends.

        Raises
        ------
        FormatError
            If the file is damaged, or no file of groups.
        ValueError
            If another run uses the file.
        """
        real = os.path.realpath(self.path)
        name = printable(self.path)
        lock = (
            nullcontext()
            if self.dry
            else locked(
                f"{real}.lock", f"{name}: another run uses this file", remove=True
            )
        )
        with lock:
            earlier = (
                read_clusters(self.path) if os.path.exists(real) else ClusterTable()
            )
            _check_room(name, earlier.runs + 1, earlier.next_id)
            yield OpenClusters(self, earlier)


def cluster_output(
    path: str | os.PathLike[str] | None, changes: str | None
) -> ClusterOutput | None:
    """Return the file of groups of a run from plain arguments, None for none."""
    if path is None:
        if changes is not None:
            raise ValueError(
                "changes (--changes) needs clusters (--clusters), the file whose groups change"
            )
        return None
    return ClusterOutput(os.fspath(path), changes)


@dataclass(frozen=True, eq=False)
class OpenClusters:
    """The groups of earlier runs, and the file for the groups of this run."""

    output: ClusterOutput
    earlier: ClusterTable

    def update(
        self,
        keys: Sequence[Any],
        labels: Int64Array,
        links: tuple[Int64Array, Sequence[Any]] | None = None,
    ) -> ClusterUpdate:
        """Return the groups after this run: see `update_clusters`.

        Raises
        ------
        ValueError
            If the keys have another type than in earlier runs, if they and the keys of rows that
            are gone fit no column of the table of changes, or if there are no further ids.
        """
        key_lists = (self.earlier.keys, () if links is None else links[1], keys)
        kinds = [_NAMES[type(part[0])] for part in key_lists if len(part)]
        if len(set(kinds)) > 1:
            text = f"the keys of earlier rows are {kinds[0]}, those of this run {kinds[-1]}"
            raise ValueError(f"{printable(self.output.path)}: {text}")
        update = update_clusters(self.earlier, keys, labels, links)
        if _is_of_no_kind(update.table.keys):
            text = "keys of integers must be all in -2**63..2**63 - 1 or all in 0..2**64 - 1"
            raise ValueError(f"{printable(self.output.path)}: {text}")
        self.output.check_changes(update)
        _check_room(
            printable(self.output.path), update.table.runs, update.table.next_id
        )
        return update

    def updated_by(self, result: DedupResult) -> tuple[ClusterUpdate, DedupResult]:
        """Return the groups after a run, and its result with their figures in its summary.

        If the run used an index of earlier rows, its rows are new ones, and rows that were removed
        for an entry join the group of this entry.
        """
        keys = (
            range(len(result))
            if result.keys is None
            else [result.keys[row] for row in range(len(result))]
        )
        links = None
        if result.earlier is not None:
            rows = np.flatnonzero(result.keeper < 0)
            links = rows, [result.earlier[row] for row in rows.tolist()]
        update = self.update(keys, result.labels, links)
        return update, replace(
            result, summary=replace(result.summary, clusters=update.figures)
        )

    def write(
        self, update: ClusterUpdate, options: Mapping[str, Any], overwrite: bool
    ) -> None:
        """Write the groups, and the table of changes if there is one, which `overwrite` is for.

        `options` are the options of the run, as values of JSON.
        """
        if self.output.dry:
            return
        kind = _key_kind(update.keys)
        if self.output.changes is not None:
            kinds = {"id": "int64", "change": "string", "old_id": "int64", "key": kind}
            write_tables(self.output.changes, update.changes(), overwrite, kinds)
        write_clusters(self.output.path, update.table, options)


def _key_kind(keys: Sequence[Any]) -> str:
    """Return Arrow's name for the type of some keys, which are strings or integers."""
    if not keys or isinstance(keys[0], str):
        return "string"
    return "uint64" if max(keys) > GREATEST_SIGNED else "int64"


def _is_of_no_kind(keys: Sequence[Any]) -> bool:
    """Return whether some integers are negative and others above 2**63 - 1."""
    return _key_kind(keys) == "uint64" and bool(min(keys) < 0)


def write_clusters(path: str, table: ClusterTable, options: Mapping[str, Any]) -> None:
    """Write groups to a file, which is replaced."""
    kind = _key_kind(table.keys)
    numbers = {
        "runs": table.runs,
        "next_id": table.next_id,
        "rows": len(table.keys),
        "columns": _sum_of(table),
    }
    columns: Columns = dict(
        zip(COLUMNS, (table.keys, table.ids, table.first_seen), strict=True)
    )
    metadata = {METADATA: _MANIFEST.pack(numbers, options, indent=None).decode()}
    write_tables(path, [columns], True, {"key": kind}, metadata)


def read_clusters(path: str) -> ClusterTable:
    """Read the groups in a file.

    Raises
    ------
    FormatError
        If it is damaged, or no file of groups.
    """
    name = printable(path)
    real = os.path.realpath(path)
    try:
        (file,) = list_files([real], Layout(format="parquet"))
        schema = schema_of(file)
    except DataError as error:
        raise FormatError(f"{name}: {error.reason}") from None
    data = (schema.metadata or {}).get(METADATA.encode())
    if data is None:
        raise FormatError(f"{name}: not a file of clusters of lshfast")
    numbers_by_name, _ = _MANIFEST.unpack(data, path)
    kinds = [str(kind) for kind in schema.types]
    if tuple(schema.names) != COLUMNS or kinds not in (
        ["int64"] * 3,
        ["uint64", "int64", "int64"],
        ["string", "int64", "int64"],
    ):
        raise FormatError(f"{name}: damaged: its columns must be {', '.join(COLUMNS)}")
    try:
        rows_of_file = read_whole(real, id_column="key", format="parquet")
    except DataError as error:
        raise FormatError(f"{name}: damaged: {error.reason}") from None
    try:
        arrays = [
            np.array(rows_of_file.columns.get(column, []), np.int64)
            for column in COLUMNS[1:]
        ]
        ids, first_seen = arrays
    except (TypeError, ValueError):
        raise FormatError(f"{name}: damaged: a null is no number") from None
    names = ("runs", "next_id", "rows", "columns")
    runs, next_id, rows, total = (_int_of(numbers_by_name.get(key)) for key in names)
    table = ClusterTable(list(rows_of_file.ids), ids, first_seen, runs, next_id)
    reason = _fault(table, rows)
    if reason or total != _sum_of(table):
        raise FormatError(
            f"{name}: damaged: {reason or 'the checksum of its columns differs'}"
        )
    return table


def _int_of(value: object) -> int:
    """Return an int of a manifest; -1, which no number may be, for other values."""
    return value if type(value) is int else -1


def _check_room(name: str, runs: int, next_id: int) -> None:
    """Raise ValueError if the file of a run with these numbers could not be read again."""
    for what, number in (
        ("number of the run", runs),
        ("next id of a cluster", next_id),
    ):
        if number > MOST:
            reason = f"the {what} would be {number}, and at most {MOST} can be stored"
            raise ValueError(f"{name}: {reason}; begin a new file of clusters")


def _fault(table: ClusterTable, rows: int) -> str:
    """Return the fault of the numbers of a table, or ""."""
    if not (0 <= table.runs <= MOST and 1 <= table.next_id <= MOST):
        return f"runs and ids must be at most {MOST}"
    if len(table.keys) != rows:
        return f"it has {len(table.keys):,} rows, not {rows:,}"
    if rows and not (table.ids.min() >= 1 and table.ids.max() < table.next_id):
        return f"clusters must be in 1..{table.next_id - 1}"
    if rows and not (table.first_seen[0] >= 1 and table.first_seen[-1] <= table.runs):
        return f"first_seen must be in 1..{table.runs}"
    return (
        "first_seen must ascend"
        if (table.first_seen[1:] < table.first_seen[:-1]).any()
        else ""
    )


def _sum_of(table: ClusterTable) -> int:
    """Return the checksum of the columns of a table."""
    key_kind = _key_kind(table.keys)
    if table.keys and key_kind == "string":
        encoded = [key.encode() for key in table.keys]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        keys = [checksum(b"".join(encoded)), checksum(lengths.astype("<i8"))]
    else:
        dtype = "<u8" if key_kind == "uint64" else "<i8"
        keys = [checksum(np.array(table.keys, dtype)), 0]
    sums = [
        *keys,
        checksum(table.ids.astype("<i8")),
        checksum(table.first_seen.astype("<i8")),
    ]
    return checksum(np.array(sums, "<u8"))

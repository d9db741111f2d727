"""Read whole tables: all columns of the rows of some inputs, in memory."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lshfast._common.extras import pa
from lshfast._common.nearest import no_column
from lshfast._common.visible import is_writable, shortened
from lshfast._io import csv_files, jsonl, parquet
from lshfast._io.advice import advising, delimiter_advice
from lshfast._io.files import File, Layout, Paths, Reject, kind_of
from lshfast._io.json_text import dumps
from lshfast._io.keys import RowKeys
from lshfast._io.listing import list_files
from lshfast._io.row_types import too_many

ReadProgress = Callable[[int, int], object]


class WholeTable:
    """The good rows of some inputs, with all their columns.

    Attributes
    ----------
    columns : dict of str to list
        The values of each column, None where a row has none. White space around the names in the
        header of CSV is removed; cells of CSV are strings. Objects and arrays of JSONL and lists of
        Parquet are strings of JSON. Other nested values, dates and times of Parquet are strings.
    files : list of File
        All input files.
    rejected : list of Reject
        Bad rows that were skipped.
    """

    columns: dict[str, list[Any]]
    files: list[File]
    rejected: list[Reject]

    def __init__(self, layout: Layout, files: list[File]) -> None:
        self.columns = {}
        self.files = files
        self.rejected = []
        self._layout = layout
        self._lines = array("q")
        self._first: list[int] = []  # by file: the number of its first row
        self._keys = RowKeys(layout, self._place)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def read(self) -> int:
        """Number of all rows that were read, including rejected rows."""
        return len(self) + len(self.rejected)

    @property
    def advice(self) -> str:
        """The delimiter to try if all rows are in one column named with a delimiter; else ""."""
        if len(self.columns) != 1:
            return ""
        return next(filter(None, map(delimiter_advice, self.files)), "")

    @property
    def ids(self) -> Sequence[Any]:
        """The id of each row, or FILE:LINE without an id column."""
        if self._layout.id_column is not None:
            return self._keys.ids
        return _RowNames(self._place, len(self))

    def _place(self, row: int) -> tuple[str, int | None]:
        return self.files[bisect_right(self._first, row) - 1].name, self._lines[row]

    def read_all(self, progress: ReadProgress | None) -> None:
        """Read all files; see `read_whole`."""
        total = sum(file.size for file in self.files)
        bytes_before = 0
        for file in self.files:
            self._first.append(len(self))
            if file.format in ("text", "lines"):
                raise file.fault(
                    None,
                    "a file of texts has no columns; records are in CSV, JSONL, Parquet or Arrow",
                )

            def tell(position: int, before: int = bytes_before) -> None:
                if progress:
                    progress(before + position, total)

            with advising(file):
                if file.columnar:
                    self._parquet(file, tell)
                elif file.format == "jsonl":
                    self._jsonl(file, tell)
                else:
                    self._csv(file, tell)
            bytes_before += file.size
        for values in self.columns.values():
            values.extend([None] * (len(self) - len(values)))
        self._keys.close()
        id_column = self._layout.id_column
        if id_column is not None and id_column not in self.columns and self.read:
            raise self.files[0].fault(None, no_column(id_column, self.columns))

    def _csv(self, file: File, tell: Callable[[int], None]) -> None:
        records = csv_files.records(file)
        names = [name.strip() for name in next(records, (0, [], None, 0))[1]]
        for name, times in Counter(names).items():
            if times > 1:
                raise file.fault(1, f"the header names a column twice: {name}")
        identity = self._identity(file, names)
        selection: list[list[str]] = []
        for count, (line, fields, reason, position) in enumerate(records):
            if reason is None and identity is not None:
                reason = self._keys.take(fields[identity], None, True)
            if self._admit(file, line, reason):
                selection.append(fields)
            if count % TELL_EVERY == 0:
                tell(position)
        parts = zip(*selection, strict=True) if selection else ([] for _ in names)
        self._append(dict(zip(names, map(list, parts), strict=True)), len(selection))

    def _jsonl(self, file: File, tell: Callable[[int], None]) -> None:
        columns = dict[str, list[Any]]()
        count = 0
        id_column = self._layout.id_column
        for line, record, reason, position in jsonl.records(file):
            identity = None if id_column is None else record.get(id_column)
            new = record.keys() - columns.keys()
            if new and len(columns) + len(new) > self._layout.max_columns:
                reason = reason or too_many(self._layout.max_columns)
            reason = reason or _unwritable(new) or _flatten(record)
            if reason is None and id_column is not None:
                reason = self._keys.take(identity, None, False)
            if not self._admit(file, line, reason):
                continue
            for name, value in record.items():
                if name not in columns:
                    columns[name] = []
                values = columns[name]
                values.extend([None] * (count - len(values)))
                values.append(value)
            count += 1
            if count % TELL_EVERY == 0:
                tell(position)
        for values in columns.values():
            values.extend([None] * (count - len(values)))
        self._append(columns, count)

    def _parquet(self, file: File, tell: Callable[[int], None]) -> None:
        for first, batch, position in parquet.batches(file):
            identity = self._identity(file, batch.schema.names)
            bad: dict[int, str] = {}
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                bad = dict(parquet.undecodable_values(column, name)) | bad
            decoded = [row for row in range(len(batch)) if row not in bad]
            part = batch.take(pa.array(decoded, "int64")) if bad else batch
            values = [_column_values(column) for column in part.columns]
            places = dict(zip(decoded, range(len(decoded)), strict=True))
            good = []
            for row in range(len(batch)):
                reason = bad.get(row)
                if reason is None and identity is not None:
                    reason = self._keys.take(values[identity][places[row]], None, False)
                if self._admit(file, first + row, reason):
                    good.append(places[row])
            if len(good) < len(decoded):
                values = [[column[place] for place in good] for column in values]
            self._append(dict(zip(batch.schema.names, values, strict=True)), len(good))
            tell(position)

    def _identity(self, file: File, names: Sequence[str]) -> int | None:
        id_column = self._layout.id_column
        if id_column is None or not names:
            return None
        if id_column not in names:
            raise file.fault(None, no_column(id_column, names))
        return list(names).index(id_column)

    def _admit(self, file: File, line: int, reason: str | None) -> bool:
        """Number a good row and return True, or record a bad one."""
        if reason is None:
            self._lines.append(line)
            return True
        self.rejected.append(Reject.of(file.fault(line, reason), self._layout.on_error))
        return False

    def _append(self, columns: dict[str, list[Any]], count: int) -> None:
        """Append `count` rows, which are numbered already."""
        before = len(self) - count
        for name, values in columns.items():
            column = self.columns.setdefault(name, [])
            column.extend([None] * (before - len(column)))
            column.extend(values)


TELL_EVERY = 10_000  # rows between calls of `progress`


def _unwritable(names: Iterable[str]) -> str | None:
    """Return the reason if a name cannot be written, as the name of a column of scores."""
    lone = [name for name in names if not is_writable(name)]
    if lone:
        name = shortened(min(lone))
        return f"the column name {name} holds a lone surrogate, which is no character"
    return None


def _flatten(record: dict[str, Any]) -> str | None:
    """Replace objects and arrays by strings of JSON; return the reason if one fails."""
    for name, value in record.items():
        if isinstance(value, (dict, list)):
            try:
                record[name] = dumps(value)
            except TypeError as error:
                return (
                    f"column {shortened(name)} holds {kind_of(value)} that cannot be a string: "
                    f"{error}"
                )
    return None


def _column_values(column: Any) -> list[Any]:
    """Return a column of Parquet as Python values, nested ones as text."""
    plain = parquet.plain_values(column)
    values: list[Any] = plain.to_pylist()
    if pa.types.is_nested(plain.type):
        return list(map(_as_text, values))
    return values


def _as_text(value: Any) -> str | None:
    if isinstance(value, list):  # as those of JSONL
        return json.dumps(value, ensure_ascii=False, default=str)
    return None if value is None else str(value)


class _RowNames(Sequence[str]):
    """FILE:LINE of each row, created on access."""

    def __init__(
        self, place: Callable[[int], tuple[str, int | None]], rows: int
    ) -> None:
        self._place = place
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: Any) -> Any:
        name, line = self._place(int(row))
        return f"{name}:{line}"


def read_whole(
    inputs: Paths, *, progress: ReadProgress | None = None, **layout: Any
) -> WholeTable:
    """Read all columns of the rows of some inputs.

    The parameters are those of `open_corpus`; `progress` is called with the bytes of input read and
    the total bytes. `max_columns` limits the columns of all rows, and a row of JSONL with a further
    name is bad.

    Raises
    ------
    DataError
        At the first bad row if ``on_error="stop"``; a row with an earlier row's id is bad. Always
        if a file cannot be read to its end, lacks the id column, or holds one text.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("id,name\\n7,Ann\\n8,\\n")
    >>> table = read_whole(path, id_column="id")
    >>> table.columns["name"], list(table.ids)
    (['Ann', ''], ['7', '8'])
    """
    common = Layout(**layout)
    table = WholeTable(common, list_files(inputs, common))
    table.read_all(progress)
    return table

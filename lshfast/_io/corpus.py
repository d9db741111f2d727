"""A corpus: the rows of several inputs, read in two passes.

Pass one yields the texts, and stores the line number of each row (8 bytes), where the row is in
JSON Lines if memory is not limited (16 bytes) and, on request, its id and order value. Pass two
reads the inputs again and yields the rows to keep. No other columns are held in memory between the
passes.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lshfast._common.exact_keys import ExactKeys
from lshfast._common.extras import optional
from lshfast._common.lazy import LazyModule
from lshfast._common.nearest import no_column
from lshfast._common.rows import int64_range
from lshfast._common.types import AnyArray, UInt64Array
from lshfast._common.value_codes import ValueCodes
from lshfast._io import jsonl, jsonl_again
from lshfast._io.advice import advising
from lshfast._io.batches import Batch, batch_of, can_join
from lshfast._io.cells import CellType, merged
from lshfast._io.files import (
    COLUMNAR,
    Block,
    DataError,
    File,
    Layout,
    Paths,
    Reject,
    Rows,
    long_row,
)
from lshfast._io.json_records import has_member, parsed_value
from lshfast._io.keys import IDS, ORDERS, UNSIGNED, Ids, RowKeys
from lshfast._io.listing import list_files
from lshfast._io.notes import other_delimiters
from lshfast._io.readers import READERS, check_column, columns_of, values_of
from lshfast._io.row_places import RowPlaces
from lshfast._io.row_types import RowTypes
from lshfast._io.stored_texts import LinesOfFile, StoredTexts
from lshfast._io.string_file import RejectFile, StringFile
from lshfast.kernels.text import Texts

if TYPE_CHECKING:
    from lshfast._io import parquet
else:
    parquet = LazyModule("lshfast._io.parquet")

# The file of rejected rows.
REJECTS = "rejects.jsonl"


Convert: TypeAlias = Callable[[Any], tuple[Any, dict[int, str]]]


# The modules that tell the types of the columns of a file.
_TYPED = {**dict.fromkeys(COLUMNAR, parquet), "jsonl": jsonl}


def open_corpus(
    inputs: Paths,
    *,
    convert: Convert | None = None,
    advice: Callable[[], str] | None = None,
    files: Sequence[File] | None = None,
    **layout: Any,
) -> Corpus:
    """List the inputs without reading them.

    All parameters that are not in the signature are the fields of a `Layout`.

    Parameters
    ----------
    inputs : path or paths
        Files: .jsonl, .ndjson, .json (one object per line), .csv, .tsv, .txt (one text), each also
        with .gz, .zst, .bz2 or .xz, .parquet, .arrow, .feather, .npy and .npz. Folders: their
        .parquet, .arrow, .feather, .jsonl, .ndjson, .csv and .tsv files at any depth, or their .txt
        files if there are no others; hidden files and folders are skipped. Of a dataset that
        `datasets` saved, the data files are read. Glob patterns. URLs of files, folders and
        patterns that fsspec supports (s3://, hf://, ...). ``-`` is standard input, which is first
        copied into a temporary file, and requires `format`. Rows keep the order of the inputs;
        files of a folder or pattern are sorted.
    column : str or tuple of str
        Column of the texts. ``a.b`` is b inside the JSON object or Parquet struct a, and ``a[].b``
        b inside each element of the list a, unless a column has the full name. The texts of several
        columns, and of the elements of lists, are joined with a line end; nulls are left out. In
        Parquet and Arrow a column holds strings, bytes (UTF-8) or a dictionary of them. A null is
        a text without shingles.
    id_column : str, optional
        Column of the ids: all strings or all 64-bit integers, signed or unsigned; a whole double is
        an integer. The id of a file of one text is its
        path.
    order_column : str, optional
        Column of values to rank rows by: all numbers or all strings. In CSV they are numbers if the
        first is a number, or if the column is numeric in other inputs. Strings are compared by
        characters. Dates and times of Parquet are strings like ``2024-05-01 12:00:00.123456``, in
        UTC if they have a time zone. Integers become doubles if there are fractions.
    glob : str, optional
        Pattern of the files of a folder to read, including hidden files, instead of the choice
        above. A file without a known suffix is one text.
    on_error : {"stop", "skip"}
        Whether a bad row raises `DataError` or is appended to `Corpus.rejected`.
    batch_bytes : int
        Approximate bytes of text in a batch.
    unique_ids : bool
        Whether a row with an earlier row's id is bad.
    encoding : str
        The encoding of JSONL, CSV, TSV and texts; any that Python supports. The byte order mark
        of a file, of UTF-8, UTF-16 or UTF-32, overrides it.
    format : {"jsonl", "csv", "tsv", "parquet", "arrow", "npy", "text", "lines"}, optional
        The format of the inputs, regardless of their names; "lines" is one text a line. Without
        `glob`, the files of this format are read from a folder ("lines": its .txt files).
    max_row_bytes : int
        The largest size of a row of JSONL or of a text in bytes of UTF-8; approximate for CSV and
        TSV. A longer row is a bad row.
    output : {"jsonl", "csv", "tsv", "parquet"}, optional
        The format that `write_rows` will write, if it will be called. Rows that this format cannot
        hold are then bad: for JSONL or Parquet, a CSV row with a cell that does not convert to the
        type of its column in other inputs. For CSV, a JSONL row with an array, an object, or a
        number beyond 64 bits; for Parquet, with such a number or with a value whose type is not
        that of its column in the rows before. For ``on_error="skip"`` and JSONL or CSV, also a
        Parquet row with a string or bytes that are not UTF-8.
    delimiter : str, optional
        The character between the cells of CSV and TSV: one ASCII character, or "tab". By default
        that of each file is detected in its first rows (see docs/how-to/inputs.md).
    max_columns : int
        For JSONL inputs and an `output` of CSV, TSV or Parquet, the largest number of columns. A
        row with a name that would be a further column is a bad row. In Parquet, names inside
        objects are columns too.
    added : iterable of str
        The names of the annotations of `write_rows`. A row of JSONL that has such a name is bad.
    by : str, optional
        Column whose values are recorded as `Corpus.by`. No row is bad because of its value; rows
        of JSONL may lack it, unless all do.
    exact_key : str, optional
        Column whose values are recorded as `Corpus.exact_keys`, as hashes; ``url:COLUMN`` for URLs.
        As for `by`, no row is bad because of its value.
    kind : {"text", "set", "weighted", "vector", "code"}
        What the column holds. The values of other kinds than texts are not checked.
    convert : callable, optional
        Converts the values of a block: a column of pyarrow, Texts, or a list of Python values. It
        returns rows with `nbytes` and a method `take`, which are yielded instead of texts, and the
        reasons of bad rows.
    advice : callable, optional
        Returns what may be meant otherwise by the values that were converted, or "".
    files : sequence of File, optional
        The files of these inputs, listed before with the same `glob` and `format`.
    weights : bool
        Whether the order values are weights of elements of sets: others are those of bad rows.

    Returns
    -------
    Corpus

    Raises
    ------
    DataError
        If an input is missing, has an unknown format, is named twice, or is a folder or pattern
        without a file to read.
    ValueError
        If there are no inputs, or an option has an invalid value.
    ImportError
        If an input is a URL, and fsspec or the package it needs for this kind of URL is not
        installed.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.jsonl")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"text": "one"}\\n{"text": null}\\n')
    >>> [list(batch.texts) for batch in open_corpus(path).batches()]
    [[b'one', b'']]
    """
    common = Layout(**layout)
    if files is None:
        files = list_files(inputs, common)
    for file in files:
        if len(common.columns) > 1 and file.format in ("text", "lines"):
            raise file.fault(
                None, f"it is text without columns, so none are {common.column_name}"
            )
    return Corpus(
        common, [replace(file, layout=common) for file in files], convert, advice
    )


class Corpus:
    """The rows of several inputs, numbered from 0 in input order; bad rows have no number.

    `cell_types` are the types of CSV cells in a run of which these are some of the inputs.

    `batches` is pass one. All other members refer to the rows that it has read so far. Not
    thread-safe.

    Attributes
    ----------
    layout : Layout
        The columns and options of reading.
    files : list of File
        All input files, including the files of folders.
    total_bytes : int
        Their size on disk.
    rejected : list of Reject, or RejectFile
        Bad rows that were skipped (``on_error="skip"``).
    complete : bool
        Whether `batches` has reached the end of the inputs.
    lines_of_last_file : int
        The lines of the last file that `batches` has read; 0 for files without lines.
    """

    lines_of_last_file: int
    layout: Layout
    files: list[File]
    total_bytes: int
    rejected: list[Reject] | RejectFile
    complete: bool

    def __init__(
        self,
        layout: Layout,
        files: list[File],
        convert: Convert | None = None,
        advice: Callable[[], str] | None = None,
        cell_types: Mapping[str, CellType] | None = None,
    ) -> None:
        self.layout = layout
        self._cell_types = cell_types
        self.files = files
        self._convert = convert
        self._advice = advice
        self._longest_text: int | None = None
        self._folder: str | None = None
        self._reject_folder: str | None = None
        self._prefix = ""
        self.total_bytes = sum(file.size for file in files)
        self._reset()

    def limit_rows(self, most: int, remedy: str) -> None:
        """Reject rows and texts of more than `most` bytes, if the layout allows longer ones.

        Errors name the remedy. Call it before rows are read.
        """
        if most < self.layout.max_row_bytes:
            self.layout = replace(self.layout, max_row_bytes=most, remedy=remedy)
            self._longest_text = None if self.converts else most
            self.files = [replace(file, layout=self.layout) for file in self.files]

    def hold_in_files(self, folder: str, prefix: str = "") -> None:
        """Keep ids, order values and rejected rows in files of a folder, not in memory.

        Call it before rows are read or restored. The folder may be removed when the outputs have
        been written. The names of the files begin with `prefix`.
        """
        self._folder = folder
        self._prefix = prefix
        self.hold_rejects_in_file(folder)

    def hold_rejects_in_file(self, folder: str) -> None:
        """Keep rejected rows in a file of a folder, not in memory; see `hold_in_files`."""
        self._reject_folder = folder

    def hold_in_memory(self) -> None:
        """Read the ids into memory, and close all files of `hold_in_files`."""
        self._folder = self._reject_folder = None
        self.rejected = []
        self._keys.restore(list(self._keys.ids), array("q"), self._keys.by)

    def _reset(self) -> None:
        self.complete = False
        self.rejected = []
        self.lines_of_last_file = 0
        # Where rows begin and end is not kept if memory is limited.
        self._places = RowPlaces(keeps_spans=not self._folder)
        self._keys = RowKeys(self.layout, self._known_place, self._folder, self._prefix)
        self._row_types: RowTypes | None = None

    @property
    def held(self) -> bool:
        """Return whether the texts of some files cannot be read again at an offset."""
        return not all(
            file.format == "jsonl" and jsonl_again.can_be_read_at(file)
            for file in self.files
        )

    @cached_property
    def types(self) -> Mapping[str, CellType]:
        """Return the types of CSV cells by column, which are those in the other inputs.

        If the output has no types, only ids and order values are converted.
        """
        if not any(file.delimited for file in self.files):
            return {}
        if self._cell_types is not None:
            return self._cell_types
        typed = [
            _TYPED[file.format].column_types(file)
            for file in self.files
            if file.format in _TYPED
        ]
        types = merged(chain.from_iterable(typed))
        columns = types if self.layout.typed else self.layout.keys
        return {
            name: types[name]
            for name in columns
            if name in types and name not in self.layout.columns
        }

    @property
    def converts(self) -> bool:
        """Return whether the values are converted, so that batches have no texts."""
        return self._convert is not None

    @property
    def advice(self) -> str:
        """Return what may be meant otherwise by the values that were read, or ""."""
        return "" if self._advice is None else self._advice()

    @property
    def delimiters(self) -> dict[str, str]:
        """Return the delimiters that are not those of the formats, by the names of the files."""
        return other_delimiters(self.files)

    @property
    def accepted(self) -> int:
        """Return the number of good rows; only these are numbered."""
        return len(self._places)

    @property
    def read(self) -> int:
        """Return the number of all rows that were read, including rejected rows."""
        return self.accepted + len(self.rejected)

    @property
    def ids(self) -> Ids | None:
        """Return the id of each row; None without an id column."""
        return self._keys.ids if self.layout.id_column is not None else None

    @property
    def has_unsigned_ids(self) -> bool:
        """Return whether an id is above the greatest signed integer of 64 bits."""
        return self._keys.has_unsigned_id

    @property
    def order(self) -> AnyArray | list[str] | StringFile | None:
        """Return the order value of each row: int64, float64 or strings; None without a column."""
        if self.layout.order_column is None:
            return None
        orders = self._keys.orders
        return np.array(orders) if isinstance(orders, array) else orders

    @property
    def by(self) -> ValueCodes | None:
        """Return the values of the rows in the column of `by`; None without one."""
        return self._keys.by

    @property
    def exact_keys(self) -> UInt64Array | None:
        """Return the hashes of the exact keys of the rows (see `ExactKeys`); None without any."""
        keys = self._keys.exact_keys
        return None if keys is None else keys.prints

    def place(self, row: int) -> tuple[str, int | None]:
        """Return a row's file and its line or Parquet row, from 1 (None for a file of one text)."""
        file = self._file(row)
        if file.format == "text":
            return file.name, None
        return file.name, file.line_in_file(self._places.line_of(row))

    def _known_place(self, row: int) -> tuple[str, int | None]:
        """Return the place of a row, without its line if those before cannot be read."""
        try:
            return self.place(row)
        except OSError:
            return self._file(row).name, None

    def fault(self, row: int, reason: str) -> DataError:
        """Return an error that names a row."""
        file = self._file(row)
        if file.format == "text":
            return file.fault(None, reason)
        return file.fault_in_file(self._places.line_of(row), reason)

    def key(self, row: int) -> str | int:
        """Return the key of a row: its id, else ``PATH:LINE``, or PATH for a file of one text."""
        if self.layout.id_column is not None:
            return self._keys.ids[row]
        name, line = self.place(row)
        return name if line is None else f"{name}:{line}"

    def has_cell_as_id(self, row: int) -> bool:
        """Return whether the key of a row is a cell of CSV, which is text whatever it means."""
        return self.layout.id_column is not None and self._file(row).delimited

    def keys_of(self, rows: Rows) -> list[str | int]:
        """Return the keys of some rows."""
        ids = self.ids
        if isinstance(ids, StringFile):
            return list(ids.take(rows))
        numbers, places = np.unique(self._places.files_of(rows), return_inverse=True)
        files = [self.files[number] for number in numbers.tolist()]
        if ids is not None or any(file.format == "text" for file in files):
            return [self.key(row) for row in rows.tolist()]
        lines_before = np.array([file.line_in_file(0) for file in files], np.int64)
        lines = lines_before[places] + self._places.lines_of(rows)
        names = [file.name for file in files]
        return [
            f"{names[place]}:{line}"
            for place, line in zip(places.tolist(), lines.tolist(), strict=True)
        ]

    def key_bytes(self, rows: Rows) -> Rows:
        """Return the bytes that are read from a file for the keys of some rows."""
        ids = self.ids
        return (
            ids.lengths(rows)
            if isinstance(ids, StringFile)
            else np.zeros(len(rows), np.int64)
        )

    def span(self, index: int) -> tuple[int, int]:
        """Return the half-open range of the rows of ``files[index]``."""
        return self._places.rows_of_file(index)

    def batches(self) -> Iterator[Batch]:
        """Read all inputs once, and record the position of each row.

        Yields
        ------
        Batch
            About ``batch_bytes`` of text, in input order.

        Raises
        ------
        DataError
            At the first bad row if ``on_error="stop"``. Always if a file cannot be read to its end,
            lacks a column, or has changed since it was listed, or no row has a recorded column.
        ImportError
            If an input needs pyarrow, and it is not installed.
        """
        self._reset()
        if self._reject_folder is not None and self.layout.on_error == "skip":
            name = self._prefix + REJECTS
            self.rejected = RejectFile(os.path.join(self._reject_folder, name))
        other_files = [file for file in self.files if file.format != "jsonl"]
        if len(other_files) < len(self.files) and self.layout.judged:
            self._row_types = RowTypes(self.layout, other_files, self.types)
        pending: list[Any] = []
        stored_texts: list[StoredTexts | None] = []
        size = 0
        source = 0
        for file in self.files:
            self._places.begin_file()
            last_position = 0
            for block, texts, stored in self._admitted_blocks(file):
                if len(texts):
                    fits = size + block.size <= self.layout.batch_bytes
                    if pending and not (fits and can_join(pending[-1], texts)):
                        yield batch_of(pending, source, stored_texts)
                        pending = []
                        stored_texts = []
                        size = 0
                        source = 0
                    pending.append(texts)
                    stored_texts.append(stored)
                    size += block.size
                source += block.position - last_position
                last_position = block.position
            source += file.size - last_position
        self._keys.close()
        if self._cell_types is None:  # the rows of a shard may all lack a column
            for column in self._keys.columns_without_values():
                self.check_in_rows(column)
        self.complete = True
        if pending or source:
            yield batch_of(pending, source, stored_texts)

    def _admitted_blocks(
        self, file: File
    ) -> Iterator[tuple[Block, Any, StoredTexts | None]]:
        """Read a file: yield each block, and what `_admit` returns for it."""
        with advising(file):
            for block in self._blocks(file):
                yield block, *self._admit(file, block)

    def _blocks(self, file: File) -> Iterator[Block]:
        try:
            count = yield from READERS[file.format].blocks(
                replace(file, types=self.types) if file.delimited else file
            )
            self.lines_of_last_file = count or 0
        except MemoryError as error:
            if str(error).startswith(file.name):
                raise
            rows = (
                f"rows of {file.name}; a smaller max_row_bytes (--max-row-bytes) limits what "
                "one row takes"
            )
            raise MemoryError(
                f"{file.name}: {error}" if str(error) else rows
            ) from error

    def again(
        self, index: int, rows: Rows, *, join_lines: bool = False
    ) -> Iterator[tuple[Any, int]]:
        """Read some rows of one file again, without converting them: pass two.

        Parameters
        ----------
        index : int
            Index in `files`.
        rows : int64 array of shape (m,)
            Rows of that file, ascending.
        join_lines : bool
            JSONL only: yield `JoinedLines` instead of lists.

        Yields
        ------
        rows : list or pyarrow.RecordBatch
            JSONL: list of bytes, each a line of UTF-8 without its line end. CSV: list of list of
            str. Parquet and Arrow: a record batch of all columns. Text: a list of one str. Lines: a
            list of str.
        position : int
            Bytes of the file on disk read so far.

        Raises
        ------
        DataError
            If the file has changed since it was listed, or cannot be read.
        """
        if not len(rows):
            return
        file = self.files[index]
        lines = self._places.lines_of(rows)
        if not join_lines:
            yield from READERS[file.format].again(file, lines)
            return
        spans = self._places.spans_of(index, rows)
        if spans is None:
            yield from jsonl_again.joined_again(file, lines)
        else:
            yield from jsonl_again.joined_at(file, *spans)

    def texts_of(self, rows: Rows) -> Iterator[tuple[Rows, Any, int]]:
        """Read the texts of some rows again.

        Parameters
        ----------
        rows : int64 array of shape (m,)
            Ascending.

        Yields
        ------
        rows : int64 array
        texts : Texts, list of str, or pyarrow.Array
            As in `Batch`: the texts of these rows, or what they are converted to.
        source_bytes : int
            Bytes on disk that were read for them; their sum is `total_bytes`.

        Raises
        ------
        DataError
            If a file has changed since it was listed, or cannot be read.
        """
        for file, file_rows, lines in self._by_file(rows):
            at = 0
            last_position = 0
            if len(file_rows):
                for texts, position in READERS[file.format].texts_of(file, lines):
                    if self._convert is not None:
                        texts, bad = self._convert(texts)
                        if bad:
                            raise file.changed()
                    yield (
                        file_rows[at : at + len(texts)],
                        texts,
                        position - last_position,
                    )
                    at = at + len(texts)
                    last_position = position
                if at != len(file_rows):
                    raise file.changed()
            yield file_rows[:0], [], file.size - last_position

    def _by_file(self, rows: Rows) -> Iterator[tuple[File, Rows, Rows]]:
        """Yield each file with those of some rows that are in it, and their lines."""
        for index, file in enumerate(self.files):
            low, high = np.searchsorted(rows, self.span(index))
            file_rows = rows[low:high]
            yield file, file_rows, self._places.lines_of(file_rows)

    def values_of(self, rows: Rows, column: str) -> Iterator[tuple[Rows, list[str]]]:
        """Read a column of some rows again, ascending; yield rows and values as pages show them.

        Raises
        ------
        DataError
            If a file has changed since it was listed, or cannot be read.
        """
        for file, file_rows, lines in self._by_file(rows):
            at = 0
            if len(file_rows):
                for values in values_of(file, lines, column):
                    yield file_rows[at : at + len(values)], values
                    at += len(values)

    def check_column(self, column: str) -> None:
        """Raise DataError if a table, other than of JSONL, does not have a column."""
        for file in self.files:
            check_column(file, column)

    def check_in_rows(self, column: str) -> None:
        """Raise DataError if there are rows, all of JSONL, and none of them has a column."""
        if not self.lacks(column):
            return
        file = self._file(0)
        with advising(file):
            raise file.fault(None, no_column(column, columns_of(file)))

    def lacks(self, column: str) -> bool:
        """Return whether there are rows, all of JSONL, and none of them has a column."""
        rows = int64_range(self.accepted)
        for index, file in enumerate(self.files):
            low, high = self.span(index)
            if low == high:
                continue
            if file.format != "jsonl":  # its tables have the column
                return False
            for lines, _ in self.again(index, rows[low:high]):
                if any(has_member(parsed_value(line), column) for line in lines):
                    return False
        return len(rows) > 0

    def state(self) -> tuple[dict[str, Rows], dict[str, Any]]:
        """Return what pass one has recorded, as arrays and as values of JSON, for `restore`.

        What `hold_in_files` has put into files is not part of it; `files_of_state` names these
        files.
        """
        arrays: dict[str, Any] = dict(self._places.state())
        values: dict[str, Any] = {}
        for name, column in (("ids", self._keys.ids), ("orders", self._keys.orders)):
            if isinstance(column, list):
                values[name] = column
            else:
                arrays[name] = (
                    column.ends()
                    if isinstance(column, StringFile)
                    else np.array(column)
                )
        if isinstance(self._keys.ids, array) and self.has_unsigned_ids:
            arrays["ids"] = arrays["ids"].view(np.int64)
            values["unsigned_ids"] = True
        if self.by is not None:
            arrays["by"] = self.by.codes.astype(np.int64)
            values["by"] = self.by.names
        if self._keys.exact_keys is not None:
            arrays["exact_keys"] = self._keys.exact_keys.prints.reshape(-1)
        if isinstance(self.rejected, RejectFile):
            self.rejected.flush()
            values["rejected"] = len(self.rejected)
        else:
            values["rejected"] = [tuple(reject) for reject in self.rejected]
        return arrays, values

    @property
    def files_of_state(self) -> list[str]:
        """Return the names of the files of `hold_in_files`, which are complete after `state`."""
        string_files = {
            IDS: self._keys.ids,
            ORDERS: self._keys.orders,
            REJECTS: self.rejected,
        }
        return [
            self._prefix + name
            for name, column in string_files.items()
            if isinstance(column, (StringFile, RejectFile))
        ]

    def restore(
        self,
        arrays: Mapping[str, AnyArray],
        values: Mapping[str, Any],
        files: Iterable[str] = (),
    ) -> None:
        """Take over what another corpus with the same files and layout has recorded in pass one.

        The values of `by` may be left out. `files` are its `files_of_state`, in the folder of
        `hold_in_files`.
        """
        self._reset()
        paths = {
            name.removeprefix(self._prefix): os.path.join(self._folder or "", name)
            for name in files
        }
        self._places = RowPlaces.restored(arrays)
        if REJECTS in paths:
            self.rejected = RejectFile(paths[REJECTS], values["rejected"])
        else:
            before = {file.name: file.lines_before or 0 for file in self.files}
            self.rejected = [
                Reject(*reject).moved(before) for reject in values["rejected"] or ()
            ]

        def column(name: str, file: str) -> Any:
            if name in values:
                return values[name]
            if file in paths:
                return StringFile(paths[file], arrays[name])
            if name == "ids" and values.get("unsigned_ids"):
                return array(UNSIGNED, arrays[name].tobytes())
            return array(
                "d" if arrays[name].dtype.kind == "f" else "q", arrays[name].tobytes()
            )

        name = self.layout.by
        if name is None or "by" not in values:
            by = None
        else:
            by = ValueCodes.restored(name, values["by"], arrays["by"])
        exact_keys = None
        if self.layout.exact_key is not None:
            exact_keys = ExactKeys.restored(arrays["exact_keys"])
        self._keys.restore(column("ids", IDS), column("orders", ORDERS), by, exact_keys)
        self.complete = True

    def _file(self, row: int) -> File:
        return self.files[self._places.file_of(row)]

    def _admit(self, file: File, block: Block) -> tuple[Any, StoredTexts | None]:
        """Number the good rows of a block and return their texts and places; reject the others."""
        if self._convert is not None:
            block.texts, bad = self._convert(block.texts)
            block.bad = bad | block.bad
        if self._longest_text is not None:
            for row in np.flatnonzero(
                _lengths(block.texts) > self._longest_text
            ).tolist():
                block.bad.setdefault(row, long_row(file))
        row_types = self._row_types if file.format == "jsonl" else None
        if not block.bad and not self.layout.recorded and row_types is None:
            self._places.add_lines(block.lines)
            self._places.add_spans(block.spans)
            if self._convert is not None:
                return block.texts, None
            return block.texts, _stored(file, block.texts, block.spans)
        good = self._number_rows(file, block, row_types)
        return self._texts_of_rows(file, block, good)

    def _number_rows(
        self, file: File, block: Block, row_types: RowTypes | None
    ) -> list[int]:
        """Number the good rows of a block and return their places; reject the others."""
        good = []
        keyed = bool(self.layout.recorded)
        untyped = file.delimited
        if keyed:
            self._keys.begin_block(block.ids)
        raw = iter(block.raw if row_types else ())
        for i, line in enumerate(np.asarray(block.lines, np.int64).tolist()):
            reason = block.bad.get(i)
            if row_types is not None:
                data = bytes(next(raw))
                reason = row_types.take(data) if reason is None else reason
            if reason is None and keyed:
                reason = self._keys.take(
                    block.ids[i],
                    block.orders[i],
                    untyped,
                    block.values[i],
                    block.exact_keys[i],
                )
                if reason is not None and row_types is not None:
                    row_types.undo()
            if reason is None:
                self._places.add_line(line)
                good.append(i)
                continue
            fault = file.fault(None if file.format == "text" else line, reason)
            self.rejected.append(Reject.of(fault, self.layout.on_error))
        return good

    def _texts_of_rows(
        self, file: File, block: Block, good: list[int]
    ) -> tuple[Any, StoredTexts | None]:
        """Return the texts of some rows of a block, and where these can be read again."""
        if isinstance(block.texts, list):
            self._places.add_spans(None)
            return [block.texts[i] for i in good], None
        rows = np.array(good, np.int64)
        spans = block.spans and (block.spans[0][rows], block.spans[1][rows])
        self._places.add_spans(spans)
        if self._convert is not None:
            return block.texts.take(rows), None
        if not isinstance(block.texts, Texts):
            return block.texts.take(optional("pyarrow").array(rows)), None
        texts = block.texts.take(rows)
        return texts, _stored(file, texts, spans)


def _lengths(texts: Any) -> Rows:
    """Return the bytes of texts in UTF-8; a null has none."""
    if isinstance(texts, list):
        return np.fromiter(
            (len(text.encode(errors="surrogatepass")) for text in texts),
            np.int64,
            len(texts),
        )
    return np.asarray((texts if isinstance(texts, Texts) else Texts(texts)).lengths)


def _stored(
    file: File, texts: Any, spans: tuple[Rows, Rows] | None
) -> StoredTexts | None:
    return (
        None
        if spans is None
        else StoredTexts([LinesOfFile(file, *spans)], texts.lengths)
    )

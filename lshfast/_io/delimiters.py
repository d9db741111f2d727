"""How a CSV or TSV file is divided: its delimiter, as given or as its first rows agree on, and the
ends of its records.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from typing import Literal, TypeAlias

from lshfast._io.files import File
from lshfast._io.lines import beginning

# The first line of a file of Excel may state the delimiter.
_STATED = re.compile(r"\ufeff?\"?sep=([^\r\n\"])\"?(?:[\r\n]|$)", re.IGNORECASE)

DELIMITERS = ";", "\t", "|", "#", ","  # of equally good ones, the first is taken

_State: TypeAlias = Literal["start of a field", "unquoted", "quoted", "after a quote"]
_QUOTE = 34
_LF = 10

# What is read of a file to detect its delimiter.
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 100


def delimiter_of(file: File) -> str:
    """Return the delimiter of a file, which is detected at the first call unless given.

    A first line such as ``sep=;``, which Excel writes, states it. Otherwise, the delimiter of the
    format is taken if it divides the header and all sampled rows into the same number of cells, two
    or more. Otherwise it is the one that does so with the most cells, if the header has two names
    or more then. If there is none, it is the delimiter of the format: a single column of text is
    not divided.
    """
    if "delimiter" not in file.detected:
        file.detected["delimiter"] = file.layout.delimiter or _detected(file)
    return file.detected["delimiter"]


def states_delimiter(fields: Sequence[str], delimiter: str) -> bool:
    """Return whether the first record is a line of Excel that states the delimiter."""
    return _STATED.fullmatch(delimiter.join(fields)) is not None


def delimiter_to_try(file: File) -> str | None:
    """Return the most frequent known delimiter in a header; None if the header is divided."""
    rows = csv.reader(
        io.StringIO(_sample(file), newline=""), delimiter=delimiter_of(file)
    )
    header = next(
        (row for row in rows if not states_delimiter(row, delimiter_of(file))), []
    )
    if len(header) != 1:
        return None
    best = max(DELIMITERS, key=header[0].count)
    return best if best in header[0] else None


def usual_delimiter(file: File) -> str:
    """Return the delimiter of a file's format."""
    return "\t" if file.format == "tsv" else ","


def _sample(file: File) -> str:
    """Return the first lines of a file."""
    data, is_complete = beginning(file, SAMPLE_BYTES)
    if not is_complete:
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]
    return data.decode("utf-8", "replace").replace(
        "\0", " "
    )  # Python 3.10's csv refuses NUL


def _detected(file: File) -> str:
    sample = _sample(file)
    usual = usual_delimiter(file)
    stated = _STATED.match(sample)
    if stated is not None:
        return stated[1]
    if _cells(sample, usual):
        return usual
    cells = {delimiter: _cells(sample, delimiter, 2) for delimiter in DELIMITERS}
    best = max(cells, key=cells.__getitem__)
    return best if cells[best] else usual


def _cells(sample: str, delimiter: str, names: int = 0) -> int:
    """Return the number of cells of all rows; 0 if it differs or the header has fewer."""
    lines = io.StringIO(sample, newline="")
    width = 0
    rows = (row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row)
    try:
        for row in islice(rows, SAMPLE_ROWS):
            if not width and sum(bool(name.strip()) for name in row) < names:
                return 0
            if width not in (0, len(row)):
                return 0
            width = len(row)
    except csv.Error:
        if lines.read(
            1
        ):  # an error in the last record may be due to the end of the sample
            return 0
    return width if width > 1 else 0


class RecordEnd:
    """Search for the end of one record in pieces of bytes, by the csv module's lenient rules.

    The record is not kept in memory.
    """

    def __init__(self, delimiter: bytes) -> None:
        self.state: _State = "start of a field"
        self._delimiter = delimiter[0]
        self._leave_unquoted = re.compile(b"\n|" + re.escape(delimiter) + rb'(?:"|\Z)')

    def search(self, data: bytes | bytearray, at: int, end: int) -> int:
        """Return the end of the record in ``data[at:end]``, after its LF; -1 if it continues."""
        while at < end:
            if self.state == "quoted":
                at = data.find(b'"', at, end) + 1
                if not at:
                    return -1
                self.state = "after a quote"
            elif self.state == "unquoted" or (
                self.state == "start of a field" and data[at] != _QUOTE
            ):
                match = self._leave_unquoted.search(data, at, end)
                if match is None:
                    self.state = "unquoted"
                    return -1
                at = match.end()
                if data[at - 1] == _LF:
                    return at
                self.state = "quoted" if data[at - 1] == _QUOTE else "start of a field"
            elif data[at] == _LF:
                return at + 1
            else:
                quotes = data[at] == _QUOTE
                if quotes:
                    self.state = "quoted"
                elif data[at] == self._delimiter:
                    self.state = "start of a field"
                else:
                    self.state = "unquoted"
                at += 1
        return -1

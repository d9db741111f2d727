"""Where the rows of several files are: in which file, at which line, and between which bytes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from lshfast._common.types import AnyArray
from lshfast._io.files import Rows


class RowPlaces:
    """The places of the rows read so far, which are numbered from 0 through all files.

    A row takes 8 bytes for its line, and 16 for where it begins and ends if spans are kept.

    Attributes
    ----------
    first_rows : list of int
        For each file, the number of its first row.
    """

    first_rows: list[int]

    def __init__(self, keeps_spans: bool) -> None:
        self.first_rows = []
        self._keeps_spans = keeps_spans
        self._lines = array("q")
        # By file: where its rows begin and end; None if this is not known of all of them.
        self._spans: list[tuple[array[int], array[int]] | None] = []

    @classmethod
    def restored(cls, arrays: Mapping[str, AnyArray]) -> RowPlaces:
        """Return the places of a `state`, without spans."""
        places = cls(False)
        places._lines.frombytes(arrays["lines"].tobytes())
        places.first_rows = arrays["starts"].tolist()
        return places

    def state(self) -> dict[str, Rows]:
        """Return the lines and the first rows, for `restored`."""
        return {
            "lines": np.array(self._lines, np.int64),
            "starts": np.array(self.first_rows, np.int64),
        }

    def __len__(self) -> int:
        return len(self._lines)

    def begin_file(self) -> None:
        """Add a file; the next rows are in it."""
        self.first_rows.append(len(self))
        self._spans.append((array("q"), array("q")) if self._keeps_spans else None)

    def add_line(self, line: int) -> None:
        """Add a row by its line."""
        self._lines.append(line)

    def add_lines(self, lines: npt.ArrayLike) -> None:
        """Add rows by their lines."""
        self._lines.frombytes(np.asarray(lines, np.int64).tobytes())

    def add_spans(self, spans: tuple[Rows, Rows] | None) -> None:
        """Record where the next rows of the last file begin and end; None if it is not known."""
        spans_of_file = self._spans[-1]
        if spans is None or spans_of_file is None:
            self._spans[-1] = None
            return
        for known_ends, ends in zip(spans_of_file, spans, strict=True):
            known_ends.frombytes(np.asarray(ends, np.int64).tobytes())

    def rows_of_file(self, file: int) -> tuple[int, int]:
        """Return the half-open range of the rows of a file."""
        is_last = file + 1 == len(self.first_rows)
        end = len(self) if is_last else self.first_rows[file + 1]
        return self.first_rows[file], end

    def file_of(self, row: int) -> int:
        """Return the number of the file of a row; IndexError if there is no such row."""
        if not 0 <= row < len(self):
            raise IndexError(f"row must be in [0, {len(self)}), not {row}")
        return bisect_right(self.first_rows, row) - 1

    def files_of(self, rows: Rows) -> Rows:
        """Return the number of the file of each row."""
        numbers: Rows = np.searchsorted(self.first_rows, rows, side="right") - 1
        return numbers

    def line_of(self, row: int) -> int:
        """Return the line of a row in its file."""
        return self._lines[row]

    def lines_of(self, rows: Rows) -> Rows:
        """Return the lines of rows in their files."""
        return np.frombuffer(self._lines, np.int64)[rows]

    def spans_of(self, file: int, rows: Rows) -> tuple[Rows, Rows] | None:
        """Return where rows of a file begin and end, or None if it is not known."""
        spans = self._spans[file] if self._spans else None
        if spans is None:
            return None
        places = rows - self.first_rows[file]
        starts, stops = (np.frombuffer(ends, np.int64)[places] for ends in spans)
        return starts, stops

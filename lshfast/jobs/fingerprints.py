"""Matching of fingerprints in files of minutiae."""

from __future__ import annotations

import os
import time
from array import array
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lshfast.common.atomic_files import all_or_none
from lshfast.common.checks import check_account
from lshfast.common.progress import Progress
from lshfast.drivers.inputs import Inputs
from lshfast.fingerprints import FingerprintGrid, FingerprintMatcher
from lshfast.readers import DataError, check_outputs, rejects_beside, write_rejects, write_table
from lshfast.readers.advice import advising
from lshfast.readers.csv_files import records
from lshfast.readers.delimiters import other_delimiters
from lshfast.readers.files import File, Reject, column_index
from lshfast.tokens import TokenSets


@dataclass(frozen=True)
class FingerprintSummary:
    """The figures of a run: read = minutiae + rejected; RuntimeError if rows were lost.

    Attributes
    ----------
    read, minutiae, rejected : int
        Rows that were read, those that are minutiae, and bad rows.
    prints, database : int
        Prints, and prints that they were compared with.
    matched, matches : int
        Prints with a match, and pairs of prints that match.
    found, false : float
        The expected rates of the matcher; see `lshfast.fingerprints.Rates`.
    seconds : float
    delimiters : dict of str to str
        As for `lshfast.engine.report.Summary`.
    """

    read: int
    minutiae: int
    rejected: int
    prints: int
    database: int
    matched: int
    matches: int
    found: float
    false: float
    seconds: float
    delimiters: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_account(self.read, minutiae=self.minutiae, rejected=self.rejected)


@dataclass
class _Minutiae:
    """The prints of some files: their names in the order of their first minutiae, and the minutiae."""

    grid: FingerprintGrid
    files: list[File]
    names: dict[str, int] = field(default_factory=dict)
    owners: array[int] = field(default_factory=lambda: array("q"))
    x: array[float] = field(default_factory=lambda: array("d"))
    y: array[float] = field(default_factory=lambda: array("d"))
    rejected: list[Reject] = field(default_factory=list)
    rows: int = 0

    def read(self, progress: Progress | None) -> TokenSets:
        """Read all files, and return the prints."""
        done, total = 0, sum(file.size for file in self.files)
        for file in self.files:
            with advising(file):
                self._read_file(file)
            done += file.size
            if progress:
                progress("input", done, total)
        owners, x, y = (np.array(column) for column in (self.owners, self.x, self.y))
        return self.grid.prints(owners, x, y, len(self.names))

    def _read_file(self, file: File) -> None:
        rows = records(file)
        _, header, _, _ = next(rows, (0, list[str](), None, 0))
        names = [name.strip() for name in header]
        places = [column_index(file, names, name) for name in ("id", "x", "y")]
        for line, row, fault, _ in rows:
            self.rows += 1
            reason = fault or self._take(row, places)
            if reason:
                self._refuse(file, line, reason)

    def _take(self, row: list[str], places: list[int]) -> str:
        """Add the minutia of a row, or return why it is bad."""
        name, *numbers = (row[place].strip() for place in places)
        if not name:
            return "the id is empty"
        try:
            x, y = map(float, numbers)
            if "_" in "".join(numbers):  # a digit separator of Python
                raise ValueError
        except ValueError:
            return f"x and y must be numbers, not {' and '.join(map(_shortened, numbers))}"
        width, height = self.grid.square * self.grid.columns, self.grid.square * self.grid.rows
        if not (0 <= x < width and 0 <= y < height):
            return f"not on the grid, 0 <= x < {width:g} and 0 <= y < {height:g}: ({x:g}, {y:g})"
        self.owners.append(self.names.setdefault(name, len(self.names)))
        self.x.append(x)
        self.y.append(y)
        return ""

    def _refuse(self, file: File, line: int, reason: str) -> None:
        fault = file.fault(line, reason)
        if file.layout.on_error == "stop":
            raise fault
        self.rejected.append(Reject(fault.path, fault.line, fault.reason))


def match_fingerprints(
    inputs: Inputs,
    output: str,
    grid: FingerprintGrid,
    matcher: FingerprintMatcher,
    *,
    against: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FingerprintSummary:
    """Match the fingerprints of files of minutiae, and write the matches to a table.

    Parameters
    ----------
    inputs : Inputs
        CSV or TSV files with the columns id, x and y: a minutia in each row, with the print that has it. The minutiae
        of a print may be anywhere.
    output : path
        The table: id, match, common, similarity (see `FingerprintMatcher.match`).
    grid : FingerprintGrid
    matcher : FingerprintMatcher
        For a grid of as many squares.
    against : path, optional
        A file of the minutiae of a database, with which the prints are matched. By default, with each other.
    overwrite : bool
        Whether existing files are replaced.
    progress : callable, optional
        Called with ("input", bytes read, total) and ("verify", prints done, total).

    Returns
    -------
    FingerprintSummary

    Raises
    ------
    DataError
        If a row is not a minutia on the grid and bad rows stop the run, or a file is neither CSV nor TSV, or damaged.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is created.
    """
    start = time.perf_counter()
    if matcher.family.grid != grid.size:
        raise ValueError(f"the matcher is for a grid of {matcher.family.grid} squares, not of {grid.size}")
    own = _Minutiae(grid, _tables(inputs))
    database = None
    if against is not None:
        database = _Minutiae(grid, _tables(replace(inputs, paths=[against])))
    files = [file for part in (own, database) if part is not None for file in part.files]
    rejects = rejects_beside(output) if inputs.on_error == "skip" else None
    check_outputs([output, rejects], [file.path for file in files], overwrite)
    prints = own.read(progress)
    others = None if database is None else database.read(progress)
    found = matcher.match(prints, others, progress=progress)
    names = list(own.names)
    matches = names if database is None else list(database.names)
    table: dict[str, Any] = {
        "id": [names[row] for row in found["i"].tolist()],
        "match": [matches[row] for row in found["j"].tolist()],
        "common": found["common"],
        "similarity": found["similarity"],
    }
    rejected = own.rejected + (database.rejected if database else [])
    with all_or_none():
        write_table(output, table, overwrite, {"id": "string", "match": "string"})
        if rejects:
            write_rejects(rejects, rejected, overwrite)
    rates = matcher.rates()
    minutiae = len(own.owners) + (len(database.owners) if database else 0)
    matched = np.unique(found["i"] if database else np.concatenate([found["i"], found["j"]]))
    return FingerprintSummary(
        read=own.rows + (database.rows if database else 0),
        minutiae=minutiae,
        rejected=len(rejected),
        prints=len(names),
        database=len(matches),
        matched=len(matched),
        matches=len(found),
        found=rates.found,
        false=rates.false,
        seconds=time.perf_counter() - start,
        delimiters=other_delimiters(files),
    )


def _shortened(cell: str) -> str:
    return repr(cell if len(cell) <= 60 else f"{cell[:57]}...")


def _tables(inputs: Inputs) -> list[File]:
    """List the files of inputs, which must be CSV or TSV."""
    files = inputs.open().files
    for file in files:
        if not file.delimited:
            raise DataError(os.fspath(file.name), None, "minutiae must be CSV or TSV, with the columns id, x and y")
    return files

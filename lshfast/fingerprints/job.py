"""Matching of fingerprints in files of minutiae."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from lshfast._common.display import Figure, counted, figure
from lshfast._common.progress import Progress
from lshfast._common.rows import names_of
from lshfast._common.visible import cut_off
from lshfast._engine.account.display import Account
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs
from lshfast._io import DataError
from lshfast._io.advice import advising
from lshfast._io.csv_files import records
from lshfast._io.files import File, Reject, column_index
from lshfast.fingerprints import (
    FingerprintGrid,
    FingerprintMatcher,
    normalize_prints,
)
from lshfast.fingerprints.normalization import MOST
from lshfast.tokens import TokenSets

# The scale of normalised prints, as a share of the shorter side of the grid: nearly all minutiae
# are within two of these of the core.
SIZE_OF_PRINT = 0.25


@dataclass(frozen=True, kw_only=True)
class FingerprintSummary(Account):
    """The figures of a run.

    Attributes
    ----------
    minutiae : int
        Rows that are minutiae: read = minutiae + rejected.
    outside : int
        Minutiae that are not on the grid after their prints were normalised.
    prints, database : int
        Prints, and prints that they were compared with.
    matched, matches : int
        Prints with a match, and pairs of prints that match.
    found, false : float
        The expected rates of the matcher; see `lshfast.fingerprints.Rates`.
    """

    PARTS: ClassVar[tuple[str, ...]] = "minutiae", "rejected"

    minutiae: int
    outside: int
    prints: int
    database: int
    matched: int
    matches: int
    found: float
    false: float

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        rates = f"expected: {self.found:.2%} of prints of one finger, {self.false:.2%} of others"
        outside = ""
        if self.outside:
            outside = f"not on the grid after normalisation: {self.outside:,}"
        yield figure("read", self.read, self.parts, outside)
        yield figure(
            "prints", self.prints, f"compared with {counted(self.database, 'print')}"
        )
        yield figure("matched", self.matched, f"prints with a match; {rates}")
        yield figure("matches", self.matches, "pairs of prints")


@dataclass
class _Minutiae:
    """The prints of some files: names in the order of the first minutiae, and all minutiae."""

    grid: FingerprintGrid
    files: list[File]
    normalize: bool
    names: dict[str, int] = field(default_factory=dict)
    owners: array[int] = field(default_factory=lambda: array("q"))
    x: array[float] = field(default_factory=lambda: array("d"))
    y: array[float] = field(default_factory=lambda: array("d"))
    rejected: list[Reject] = field(default_factory=list)
    read: int = 0
    outside: int = 0

    def prints(self, progress: Progress | None) -> TokenSets:
        """Read all files, and return the prints."""
        bytes_read = 0
        total = sum(file.size for file in self.files)
        for file in self.files:
            with advising(file):
                self._read_file(file)
            bytes_read += file.size
            if progress:
                progress("input", bytes_read, total)
        owners, x, y = (np.array(column) for column in (self.owners, self.x, self.y))
        if self.normalize:
            width = self.grid.square * self.grid.columns
            height = self.grid.square * self.grid.rows
            x, y = normalize_prints(
                owners,
                x,
                y,
                len(self.names),
                center=(width / 2, height / 2),
                size=min(width, height) * SIZE_OF_PRINT,
            )
            is_inside = self.grid.contains(x, y)
            self.outside = int((~is_inside).sum())
            owners, x, y = owners[is_inside], x[is_inside], y[is_inside]
        return self.grid.prints(owners, x, y, len(self.names))

    def _read_file(self, file: File) -> None:
        rows = records(file)
        _, header, _, _ = next(rows, (0, list[str](), None, 0))
        names = [name.strip() for name in header]
        places = [column_index(file, names, name) for name in ("id", "x", "y")]
        for line, row, fault, _ in rows:
            self.read += 1
            reason = fault or self._take(row, places)
            if reason:
                bad_row = file.fault(line, reason)
                self.rejected.append(Reject.of(bad_row, file.layout.on_error))

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
            return (
                f"x and y must be numbers, not "
                f"{' and '.join(repr(cut_off(cell)) for cell in numbers)}"
            )
        width = self.grid.square * self.grid.columns
        height = self.grid.square * self.grid.rows
        if self.normalize:
            if not max(abs(x), abs(y)) <= MOST:
                return f"x and y must be in -{MOST}..{MOST}, not {x:g} and {y:g}"
        elif not (0 <= x < width and 0 <= y < height):
            return f"not on the grid, 0 <= x < {width:g} and 0 <= y < {height:g}: ({x:g}, {y:g})"
        self.owners.append(self.names.setdefault(name, len(self.names)))
        self.x.append(x)
        self.y.append(y)
        return ""


def match_fingerprints(
    inputs: Inputs,
    output: str,
    grid: FingerprintGrid,
    matcher: FingerprintMatcher,
    *,
    against: str | None = None,
    normalize: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FingerprintSummary:
    """Match the fingerprints of files of minutiae, and write the matches to a table.

    Parameters
    ----------
    inputs : Inputs
        CSV or TSV files with the columns id, x and y: a minutia in each row, with the print that
        has it. The minutiae of a print may be anywhere.
    output : path
        The table: id, match, common, similarity (see `FingerprintMatcher.match`).
    grid : FingerprintGrid
    matcher : FingerprintMatcher
        For a grid of as many squares.
    against : path, optional
        A file of the minutiae of a database, with which the prints are matched. By default, with
        each other.
    normalize : bool
        Whether prints are normalised by their minutiae, with the core in the middle of the grid
        (see `normalize_prints`). Minutiae that are not on the grid afterwards do not count.
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
        If a row is not a minutia on the grid and bad rows stop the run, or a file is neither CSV
        nor TSV, or damaged.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    """
    job = Job([output], inputs.on_error, overwrite)
    if matcher.family.grid != grid.size:
        raise ValueError(
            f"the matcher is for a grid of {matcher.family.grid} squares, not of {grid.size}"
        )
    reader = database = job.add(_Minutiae(grid, _tables(inputs), normalize))
    if against is not None:
        files = _tables(replace(inputs, paths=[against]))
        database = job.add(_Minutiae(grid, files, normalize))
    job.check()
    prints = reader.prints(progress)
    database_prints = None if against is None else database.prints(progress)
    matching = matcher.match(prints, database_prints, progress=progress)
    names = list(reader.names)
    matches = list(database.names)
    table: dict[str, Any] = {
        "id": names_of(names, matching["i"]),
        "match": names_of(matches, matching["j"]),
        "common": matching["common"],
        "similarity": matching["similarity"],
    }
    with job.writing():
        job.write(output, table, {"id": "string", "match": "string"})
    rates = matcher.rates()
    matched = np.unique(
        np.concatenate([matching["i"], matching["j"]])
        if against is None
        else matching["i"]
    )
    return job.account(
        FingerprintSummary,
        minutiae=len(reader.owners) + (0 if against is None else len(database.owners)),
        outside=reader.outside + (0 if against is None else database.outside),
        prints=len(names),
        database=len(matches),
        matched=len(matched),
        matches=len(matching),
        found=rates.found,
        false=rates.false,
    )


def _tables(inputs: Inputs) -> list[File]:
    """List the files of inputs, which must be CSV or TSV."""
    files = inputs.open().files
    for file in files:
        if not file.delimited:
            raise DataError(
                os.fspath(file.name),
                None,
                "minutiae must be CSV or TSV, with the columns id, x and y",
            )
    return files

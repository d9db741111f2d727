"""Errors that several packages raise."""

from __future__ import annotations

from typing import Any, NamedTuple

from lshfast._common.visible import name_of, visible

# Excesses that the message of `TooManyRemovedError` names, and the most characters of a name in it.
MOST_NAMED = 3
MOST_CHARACTERS = 80


class FormatError(ValueError):
    """A file or store is damaged, or lshfast did not write it.

    See Also
    --------
    lshfast.DataError : An error in the data, with file and line.
    lshfast.LSHIndex : An index of signatures, in memory or in a file.

    Examples
    --------
    >>> import os, tempfile
    >>> import lshfast
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "index.lsh")
    ...     with open(path, "w") as file:
    ...         _ = file.write("this is not an index")
    ...     try:
    ...         lshfast.LSHIndex.open(path)
    ...     except lshfast.FormatError as error:
    ...         print(str(error).removeprefix(path))
    : header: not an index of lshfast
    """


class DataError(ValueError):
    """An error in the data, reported in one line: ``FILE:LINE: reason``.

    Rows without lines have ``FILE: row N:``, and whole files ``FILE:``.

    `path` is the name of the file as given, `line` the line or Parquet row from 1 (None: the whole
    file).

    See Also
    --------
    lshfast.dedup_files : Remove near-duplicate rows of files.
    lshfast.FormatError : A damaged file or store.
    """

    path: str
    line: int | None
    reason: str

    def __init__(
        self, path: str, line: int | None, reason: str, rows: bool = False
    ) -> None:
        super().__init__(path, line, reason, rows)
        # The reason may quote a lone surrogate.
        readable = reason.encode("utf-8", "backslashreplace").decode()
        self.path = path
        self.line = line
        self.reason = " ".join(readable.split())
        self._rows = rows

    def with_reason(self, reason: str) -> DataError:
        """Return an error at the same place with another reason."""
        return DataError(self.path, self.line, reason, self._rows)

    def __str__(self) -> str:
        place = ""
        if self.line is not None:
            place = f" row {self.line}:" if self._rows else f"{self.line}:"
        return visible(f"{self.path}:{place} {self.reason}")


class Excess(NamedTuple):
    """Rows of which more were removed than a run allows.

    Attributes
    ----------
    column : str or None
        None for all rows of the run.
    value : str or None
        The value that the rows have in the column; None if it is missing, and for all rows.
    read, removed : int
        Numbers of good rows, and of removed rows.
    groups : tuple of (object, int)
        The largest groups among the removed rows: the key of the row that is kept, and how many
        were removed for it.
    """

    column: str | None
    value: str | None
    read: int
    removed: int
    groups: tuple[tuple[Any, int], ...] = ()

    @property
    def share(self) -> float:
        """The share that was removed, in [0, 1]."""
        return self.removed / self.read


class TooManyRemovedError(RuntimeError):
    """A run would have removed more than the share `max_removed`; it has written nothing.

    Attributes
    ----------
    limit : float
        The value of `max_removed`.
    excesses : tuple of Excess
        All rows, if too many of them would have been removed, then the values of `by`, those with
        most removed rows first, at most 1,000.

    Examples
    --------
    >>> import lshfast
    >>> try:
    ...     lshfast.dedup(["one two three"] * 3 + ["four"], max_removed=0.4)
    ... except lshfast.TooManyRemovedError as error:
    ...     print(error)
    ...     print(error.excesses[0].share)
    50.0% of all rows are removed (2 of 4), and max_removed is 0.4; largest groups: 2 for 0
    0.5
    """

    limit: float
    excesses: tuple[Excess, ...]

    def __init__(self, limit: float, excesses: tuple[Excess, ...]) -> None:
        super().__init__(limit, excesses)
        self.limit = limit
        self.excesses = excesses

    def __str__(self) -> str:
        parts = []
        for number, excess in enumerate(self.excesses[:MOST_NAMED]):
            rows = "all rows"
            if excess.column is not None:
                rows = (
                    f"the rows with {_cut(excess.column)} {_cut(name_of(excess.value))}"
                )
            limit = f", and max_removed is {self.limit:g}" if number == 0 else ""
            counts = f"{excess.removed:,} of {excess.read:,}"
            parts.append(f"{excess.share:.1%} of {rows} are removed ({counts}){limit}")
            if excess.groups:
                groups = ", ".join(
                    f"{size:,} for {_cut(key)}" for key, size in excess.groups
                )
                parts.append(f"largest groups: {groups}")
        unnamed_count = len(self.excesses) - MOST_NAMED
        if unnamed_count > 0:
            noun = "values" if unnamed_count > 1 else "value"
            column = _cut(self.excesses[-1].column)
            parts.append(f"too many rows of {unnamed_count:,} more {noun} of {column}")
        return " ".join("; ".join(parts).split())


def _cut(name: object) -> str:
    """Return a name for a message, cut in the middle: the end of a path distinguishes rows."""
    text = visible(str(name))
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[: half - 1]}…{text[-half:]}"

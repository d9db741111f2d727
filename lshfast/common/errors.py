"""Errors that several packages raise."""

from __future__ import annotations

from lshfast.common.visible import visible


class FormatError(ValueError):
    """A file or store is damaged, or lshfast did not write it.

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
    """An error in the data, reported in one line: ``FILE:LINE: reason`` (or ``FILE: row N:``, or ``FILE:``).

    `path` is the name of the file as given, `line` the line or Parquet row from 1 (None: the whole file).
    """

    path: str
    line: int | None
    reason: str

    def __init__(self, path: str, line: int | None, reason: str, rows: bool = False) -> None:
        super().__init__(path, line, reason, rows)
        readable = reason.encode("utf-8", "backslashreplace").decode()  # it may quote a lone surrogate
        self.path, self.line, self.reason, self._rows = path, line, " ".join(readable.split()), rows

    def __str__(self) -> str:
        where = "" if self.line is None else f" row {self.line}:" if self._rows else f"{self.line}:"
        return visible(f"{self.path}:{where} {self.reason}")

"""Errors that several packages raise."""

from __future__ import annotations


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

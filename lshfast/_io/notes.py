"""What a user should know of how files were read: their delimiters, the files that were left out of
folders, and files of one text that may have one text a line.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from lshfast._io.files import CODECS, LINES, File

# What other programs write beside the data: marks of Hive and Spark, and the state of a saved
# dataset.
_DESCRIPTION = re.compile(r"_.*|state\.json|dataset_info\.json")

# The lines of a text that may be a list of texts.
MANY_LINES = 1_000


def notes_of_files(files: Sequence[File]) -> dict[str, Any]:
    """Return the attributes `delimiters`, `unread` and `lines` of an account of these files."""
    return {
        "delimiters": other_delimiters(files),
        "unread": left_out_of(files),
        "lines": files_of_lines(files),
    }


def other_delimiters(files: Iterable[File]) -> dict[str, str]:
    """Return the delimiters that are not those of the formats, by the names of the files."""
    delimiters: dict[str, str] = {}
    delimited = [file for file in files if file.delimited]
    if not delimited:
        return delimiters
    from lshfast._io.delimiters import delimiter_of, usual_delimiter

    for file in delimited:
        if delimiter_of(file) != usual_delimiter(file):
            delimiters[file.name] = delimiter_of(file)
    return delimiters


def left_out_of(files: Iterable[File]) -> dict[str, int]:
    """Return how many files of the listed folders are not read, by the end of their names.

    Each folder's counts are with the first of its files. With `Layout.glob`, nothing is left out:
    it says what is read.
    """
    counts: Counter[str] = Counter()
    for file in files:
        counts.update(file.beside)
    return most_frequent(counts)


def files_of_lines(files: Sequence[File]) -> dict[str, int]:
    """Return the files of one text that may have one text a line, and their numbers of lines.

    That is a file that is the only input and has several lines, or one that has very many.
    """
    least = 2 if len(files) == 1 else MANY_LINES
    lines = {}
    for file in files:
        count = int(file.detected.get(LINES, 0))
        if file.format == "text" and count >= least:
            lines[file.name] = count
    return lines


def suffixes_of(paths: Iterable[str]) -> dict[str, int]:
    """Count files by their suffixes, the most frequent first; "" stands for none.

    Files that describe a data set are left out.

    Examples
    --------
    >>> suffixes_of(["a.docx", "b.DOCX", "c.txt.gz", "README", "_SUCCESS"])
    {'.docx': 2, '': 1, '.txt.gz': 1}
    """
    counts: Counter[str] = Counter()
    for path in paths:
        name = os.path.basename(path).lower()
        if _DESCRIPTION.fullmatch(name):
            continue
        stem, suffix = os.path.splitext(name)
        counts[
            f"{os.path.splitext(stem)[1]}{suffix}" if suffix in CODECS else suffix
        ] += 1
    return most_frequent(counts)


def most_frequent(counts: Counter[str]) -> dict[str, int]:
    """Return counts in falling order, equal ones by their names."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

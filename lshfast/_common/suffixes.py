"""The ends of the names of files, such as .docx or .txt.gz, and how many files have each."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable

# Suffixes of compressed files, by their codecs.
CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}

# What other programs write beside the data: marks of Hive and Spark, and the state of a saved
# dataset.
_DESCRIPTION = re.compile(r"_.*|state\.json|dataset_info\.json")


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

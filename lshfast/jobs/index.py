"""Indexes of the texts in files: create, add, remove, and compare rows with the entries.

Rows are processed in batches, so that memory holds only the new entries and the current batches, not all texts. The
file of an index keeps its old state until the end: a run that ends early changes nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lshfast.common.atomic_files import all_or_none
from lshfast.common.progress import Progress
from lshfast.common.threads import quick_switches
from lshfast.drivers.indexes import add_rows, key_kind, naming, new_index, opened_index
from lshfast.drivers.inputs import Inputs, faults_of, text_batches
from lshfast.engine.plan import Plan, plan_of_index
from lshfast.engine.report import IndexSummary
from lshfast.engine.sketching import Clock, sketched
from lshfast.index.keys import Column, as_column, take
from lshfast.index.stores.values import OnDuplicate
from lshfast.readers import Corpus, DataError, check_output, check_place, write_rejects
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex

# ---- adding ----


def build_index(
    inputs: Inputs,
    path: str,
    plan: Plan,
    *,
    on_duplicate: OnDuplicate = "error",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> IndexSummary:
    """Write a new index of all rows of the inputs.

    Parameters
    ----------
    inputs : Inputs
    path : path
        The file. It gets its name when it is complete.
    plan : Plan
        Its settings for verification and groups are not used.
    on_duplicate : {"error", "skip", "replace"}
        How to treat a row with an earlier row's id: it is a bad row, it is ignored, or it replaces the earlier row.
    overwrite : bool
        Whether an existing file is replaced.
    progress : callable, optional
        Called with ("read", bytes of input read, total bytes), ("sketch", bytes of text, None), and ("save", bytes of
        the index written, total bytes).

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    OSError
        If the file cannot be written; an existing file is unchanged.
    """
    from lshfast.index.stores.file import check_target

    clock = Clock()
    corpus = inputs.open(unique_ids=on_duplicate == "error")
    check_place(path, (file.path for file in corpus.files), overwrite)
    check_target(path, overwrite)
    rejects = _rejects(path, corpus, overwrite)
    index = new_index(plan, on_duplicate)
    empty = _fill(index, path, corpus, plan, clock, progress)
    with clock.stage("save"), all_or_none():
        if rejects:
            write_rejects(rejects, corpus.rejected, overwrite)
        index.save(path, overwrite=overwrite, progress=progress)
    return _summary(index, path, corpus, empty, 0, clock)


def add_to_index(
    path: str,
    inputs: Inputs,
    *,
    on_duplicate: OnDuplicate = "error",
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> IndexSummary:
    """Add all rows of the inputs to the index in a file.

    Parameters and errors are those of `build_index`; `overwrite` refers to the file of rejected rows. The file of the
    index keeps its old state until all rows are added.
    """
    clock = Clock()
    with opened_index(path, "r+", on_duplicate) as index:
        with naming(path):
            plan = plan_of_index(index.parameters, threads=threads)
        corpus = inputs.open(unique_ids=on_duplicate == "error")
        rejects = _rejects(path, corpus, overwrite)
        before = len(index)
        empty = _fill(index, path, corpus, plan, clock, progress)
        with clock.stage("save"):
            if rejects:
                write_rejects(rejects, corpus.rejected, overwrite)
            index.commit(progress=progress)
        return _summary(index, path, corpus, empty, before, clock)


def _rejects(path: str, corpus: Corpus, overwrite: bool) -> str | None:
    """Return the path for rejected rows if bad rows are skipped, after checking that it can be written; else None."""
    if corpus.layout.on_error != "skip":
        return None
    rejects = f"{path}.rejects.jsonl"
    check_output(rejects, (file.path for file in corpus.files), overwrite)
    return rejects


def _fill(index: LSHIndex, name: str, corpus: Corpus, plan: Plan, clock: Clock, progress: Progress | None) -> int:
    """Insert all rows of a corpus, and return the number of rows without shingles."""
    row = empty = 0
    batches = text_batches(corpus, progress)
    with (
        faults_of(corpus),
        quick_switches(),
        closing(sketched(batches, plan, clock, lambda piece: piece.signatures, progress)) as found,
    ):
        for signatures in found:
            with clock.stage("insert"):
                add_rows(index, name, corpus, np.arange(row, row + len(signatures), dtype=np.int64), signatures)
            row += len(signatures)
            empty += int((signatures[:, 0] == EMPTY).sum())
    return empty


def _summary(index: LSHIndex, path: str, corpus: Corpus, empty: int, before: int, clock: Clock) -> IndexSummary:
    added = len(index) - before
    again = corpus.accepted - added
    return IndexSummary(
        read=corpus.read,
        added=added,
        replaced=again if index.on_duplicate == "replace" else 0,
        skipped=again if index.on_duplicate == "skip" else 0,
        rejected=len(corpus.rejected),
        empty=empty,
        entries=len(index),
        kind=key_kind(index),
        file_bytes=os.path.getsize(path),
        expected_candidates=index.stats().expected_candidates,
        stages=clock.stages,
        seconds=clock.seconds,
        delimiters=corpus.delimiters,
    )


# ---- removing and checking ----


def remove_keys(path: str, keys: Iterable[str], missing: Literal["error", "skip"] = "error") -> tuple[int, int]:
    """Remove entries from the index in a file, and return the number of removed and of remaining entries.

    Parameters
    ----------
    path : path
    keys : iterable of str
        If the keys of the index are integers, their decimal digits.
    missing : {"error", "skip"}
        How to treat a key that is not in the index.

    Raises
    ------
    DataError
        If a key is not in the index, or has the wrong type; nothing is removed.
    """
    with opened_index(path, "r+") as index:
        wanted = _own_keys(path, index, keys)
        known = index.store.contains(wanted)
        if missing == "error" and not known.all():
            key = _listed(take(wanted, np.flatnonzero(~known)[:1]))[0]
            raise DataError(path, None, f"there is no key {key!r}; nothing was removed")
        before = len(index)
        index.remove(take(wanted, np.flatnonzero(known)))
        index.commit()
        return before - len(index), len(index)


def _own_keys(path: str, index: LSHIndex, keys: Iterable[str]) -> Column:
    """Convert keys given as text to the type of the index's keys."""
    if key_kind(index) != "int":
        return as_column(keys)
    listed = list(keys)
    for key in listed:
        if not re.fullmatch("[+-]?[0-9]+", key):
            raise DataError(path, None, f"key {key!r}: the keys of this index are integers; nothing was removed")
    return as_column(map(int, listed))


def _listed(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column


def key_lines(path: str) -> Iterator[str]:
    """Read keys from a file, one per line; "-" is standard input. Empty lines are skipped."""
    with open(path, "rb") if path != "-" else sys.stdin.buffer as file:
        for number, line in enumerate(file, 1):
            try:
                key = line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise DataError(path, number, "not UTF-8") from None
            if key:
                yield key


def verify_index(path: str) -> tuple[int, int]:
    """Check the complete index in a file, and return its entries and bytes.

    Raises
    ------
    FormatError
        If the file is damaged. The error names the damaged section.
    """
    with opened_index(path, verify=False) as index:
        index.verify()
        return len(index), os.path.getsize(path)


def compact_index(path: str, progress: Progress | None = None) -> tuple[int, int]:
    """Rewrite the file of an index without deleted entries and unused space; return its bytes before and after."""
    before = os.path.getsize(path)
    with opened_index(path, "r+") as index:
        index.compact(progress=progress)
    return before, os.path.getsize(path)

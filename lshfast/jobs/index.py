"""Indexes of the texts in files: create, add, remove, and compare rows with the entries.

Rows are processed in batches, so that memory holds only the new entries and the current batches, not all texts. The
file of an index keeps its old state until the end: a run that ends early changes nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lshfast.common.display import Figure, figure
from lshfast.common.progress import Progress
from lshfast.drivers.indexes import add_rows, key_kind, naming, new_index, opened_index
from lshfast.drivers.inputs import Inputs, text_batches
from lshfast.engine.display import Account, empty_note
from lshfast.engine.plan import Plan, plan_of_index
from lshfast.engine.sketching import sketched
from lshfast.index.keys import Column, as_column, take
from lshfast.index.stores.values import OnDuplicate
from lshfast.jobs.frame import Job
from lshfast.readers import Corpus, DataError, check_place
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex

# What is said of the keys of an index, and of the candidates of a query.
KEYS = {"int": "integers", "str": "strings", None: "none yet"}
EXPECTED = "mean number of entries in the buckets of a query, counted in each band"

# ---- adding ----


@dataclass(frozen=True, kw_only=True)
class IndexSummary(Account):
    """The figures of a run that inserted rows into an index.

    Attributes
    ----------
    path : path
        The file of the index.
    added : int
        Rows with new keys: read = added + replaced + skipped + rejected.
    replaced : int
        Rows that replaced an entry, or an earlier row, with the same key.
    skipped : int
        Rows that were not inserted because the index contained their key.
    empty : int
        Rows without shingles, which match nothing. They are also counted as added, replaced or skipped.
    entries : int
        Entries of the index after the run.
    kind : str or None
        Type of the keys: "int" or "str"; None if there are no keys.
    file_bytes : int
        See `IndexStats`.
    expected_candidates : float
        See `IndexStats`.
    """

    PARTS: ClassVar[tuple[str, ...]] = "added", "replaced", "skipped", "rejected"

    path: str
    added: int
    replaced: int
    skipped: int
    empty: int
    entries: int
    kind: str | None
    file_bytes: int
    expected_candidates: float

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        counts = {name: getattr(self, name) for name in self.PARTS}
        parts = [f"{count:,} {name}" for name, count in counts.items() if count or name in ("added", "rejected")]
        yield figure("read", self.read, " + ".join(parts), empty_note(self.empty))
        yield figure("entries", self.entries, f"keys: {KEYS[self.kind]}")
        yield figure("file", f"{self.file_bytes / 1e6:,.1f} MB", self.path)
        yield figure("candidates", f"{self.expected_candidates:,.2f}", EXPECTED)


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

    job = _job(path, inputs, overwrite)
    corpus = job.open(inputs, unique_ids=on_duplicate == "error")
    check_place(path, (file.location for file in corpus.files), overwrite)
    check_target(path, overwrite)
    job.check()
    index = new_index(plan, on_duplicate)
    empty = _fill(index, path, corpus, plan, job, progress)
    with job.writing("save"):
        job.write_rejects()
        index.save(path, overwrite=overwrite, progress=progress)
    return _summary(index, path, corpus, empty, 0, job)


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
    job = _job(path, inputs, overwrite)
    with opened_index(path, "r+", on_duplicate) as index:
        with naming(path):
            plan = plan_of_index(index.parameters, threads=threads)
        corpus = job.open(inputs, unique_ids=on_duplicate == "error")
        job.check()
        before = len(index)
        empty = _fill(index, path, corpus, plan, job, progress)
        with job.clock.stage("save"):
            job.write_rejects()
            index.commit(progress=progress)
        return _summary(index, path, corpus, empty, before, job)


def _job(path: str, inputs: Inputs, overwrite: bool) -> Job:
    return Job([], inputs.on_error, overwrite, rejects=f"{path}.rejects.jsonl")


def _fill(index: LSHIndex, name: str, corpus: Corpus, plan: Plan, job: Job, progress: Progress | None) -> int:
    """Insert all rows of a corpus, and return the number of rows without shingles."""
    row = empty = 0
    batches = text_batches(corpus, progress)
    with (
        job.reading(corpus),
        closing(sketched(batches, plan, job.clock, lambda piece: piece.signatures, progress)) as found,
    ):
        for signatures in found:
            with job.clock.stage("insert"):
                add_rows(index, name, corpus, np.arange(row, row + len(signatures), dtype=np.int64), signatures)
            row += len(signatures)
            empty += int((signatures[:, 0] == EMPTY).sum())
    return empty


def _summary(index: LSHIndex, path: str, corpus: Corpus, empty: int, before: int, job: Job) -> IndexSummary:
    added = len(index) - before
    again = corpus.accepted - added
    return job.account(
        IndexSummary,
        path=path,
        added=added,
        replaced=again if index.on_duplicate == "replace" else 0,
        skipped=again if index.on_duplicate == "skip" else 0,
        empty=empty,
        entries=len(index),
        kind=key_kind(index),
        file_bytes=os.path.getsize(path),
        expected_candidates=index.stats().expected_candidates,
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


def describe_points(path: str) -> str | None:
    """Return the plan and the figures of an index of vectors or codes as text; None for an index of texts or sets."""
    from lshfast.index.hamming import HammingIndex
    from lshfast.index.neighbors import NearNeighbors

    for kind in (NearNeighbors, HammingIndex):
        try:
            index = kind.open(path)
        except ValueError:  # it is of another class, or damaged: then the other classes say so
            continue
        with index if isinstance(index, NearNeighbors) else nullcontext():
            return f"{index.describe()}\n{index.stats()}"
    return None


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

"""Deduplication of paragraphs, lines or sentences: similar ones are removed from the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Any, get_args

import numpy as np

from lshfast._common.choices import Split
from lshfast._common.column_paths import check_written_back
from lshfast._common.display import Figure, figure
from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.threads import quick_switches
from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES, empty_note, groups_figure
from lshfast._engine.account.findings import ReadRows
from lshfast._engine.account.report import DedupResult, Summary
from lshfast._engine.executors.local.cap import Cap
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.frame import Job, ShortenedRows
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.inputs import Inputs
from lshfast._engine.kinds.kind import Request
from lshfast._engine.options.rules import refuse
from lshfast._engine.plan import Plan
from lshfast._engine.run import run_part
from lshfast._io import Corpus, id_kind
from lshfast.kernels.text import TextError, Texts
from lshfast.kernels.unicode import sentences

# A line break, and one or more blank lines: lines of nothing but white space.
_BORDER = re.compile(r"\n(?:[ \t\r\f\v]*\n)+")
_SPACE = " \t\r\n\f\v"


def split_paragraphs(text: str) -> list[str]:
    r"""Split a text behind its blank lines; the paragraphs, joined, are the text.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        At least one. Each but the last ends with a line break and one or more blank lines: lines of
        spaces, tabs, carriage returns, form feeds and vertical tabs only.

    Examples
    --------
    >>> split_paragraphs("One.\nStill one.\n\n \nTwo.")
    ['One.\nStill one.\n\n \n', 'Two.']
    """
    borders = [0, *(border.end() for border in _BORDER.finditer(text)), len(text)]
    if borders[-2] == len(text) > 0:
        borders.pop()
    return [text[start:end] for start, end in pairwise(borders)]


def split_lines(text: str) -> list[str]:
    r"""Split a text behind its line feeds; the lines, joined, are the text.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        At least one. Each but the last ends with a line feed.

    Examples
    --------
    >>> split_lines("One.\nTwo.\r\n\nThree")
    ['One.\n', 'Two.\r\n', '\n', 'Three']
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] or len(lines) == 1 else lines[:-1]


def split_sentences(text: str) -> list[str]:
    r"""Split a text at the sentence boundaries of Unicode; the sentences, joined, are the text.

    The boundaries are those of UAX #29 with the data of Unicode 15.1.0, in every interpreter. A
    line break ends a sentence, and white space behind a sentence belongs to it. A full stop does
    not end a sentence if the next letter is lower case; the full stop of an abbreviation before a
    capital letter does.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        At least one.

    Raises
    ------
    UnicodeEncodeError
        If the text has a lone surrogate.

    Examples
    --------
    >>> split_sentences('He said "No." Then he left at 3.30 p.m. or so.\nWhy? (Ask.)')
    ['He said "No." ', 'Then he left at 3.30 p.m. or so.\n', 'Why? ', '(Ask.)']
    """
    return sentences(text)


# How a text is split, by the option `split`.
SPLITTERS: dict[Split, Callable[[str], list[str]]] = {
    "paragraph": split_paragraphs,
    "line": split_lines,
    "sentence": split_sentences,
}


def join_paragraphs(paragraphs: list[str], keep: list[bool]) -> str:
    """Join the kept paragraphs; strip white space at the end if the last one is removed."""
    text = "".join(compress(paragraphs, keep))
    return text if keep[-1] else text.rstrip(_SPACE)


@dataclass(frozen=True, kw_only=True)
class ParagraphsSummary(ShortenedRows):
    """Hold the figures of a deduplication of paragraphs.

    A row is removed if some of its paragraphs are, and those that stay have no words.

    Attributes
    ----------
    paragraphs : Summary
        The figures of the paragraphs, lines or sentences, as of rows.
    unit : {"paragraph", "line", "sentence"}
        What the rows were split into.
    """

    paragraphs: Summary
    unit: Split = "paragraph"

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        p = self.paragraphs
        yield figure("read", self.read)
        yield from self.removal()
        yield figure(f"{self.unit}s", p.read, empty_note(p.empty))
        yield figure("", "", f"{p.kept:,} kept, {p.removed:,} removed")
        yield groups_figure(p.groups, p.largest_group, self.unit)


class _Split:
    """The paragraphs of a corpus; row i has paragraphs first[i] to first[i + 1]."""

    def __init__(self, corpus: Corpus, unit: Split, progress: Progress | None) -> None:
        self._corpus = corpus
        self._divided = SPLITTERS[unit]
        self._progress = progress
        self._counts = GrowingArray(np.int64)
        self.first: Int64Array = np.zeros(1, np.int64)

    def batches(self) -> Iterator[Texts]:
        """Read the corpus, and yield its paragraphs without white space at their ends."""
        bytes_read = 0
        for batch in self._corpus.batches():
            parts = list(map(self._divided, batch.strings()))
            self._counts.extend(np.array([len(part) for part in parts], np.int64))
            yield Texts(
                [paragraph.rstrip(_SPACE) for part in parts for paragraph in part]
            )
            bytes_read += batch.source_bytes
            if self._progress:
                self._progress("read", bytes_read, self._corpus.total_bytes)
        self.first = np.append(
            np.int64(0), np.cumsum(self._counts.finished(), dtype=np.int64)
        )

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn the error of a bad paragraph into an error with the file and line of its row."""
        try:
            yield
        except TextError as error:
            ends = np.cumsum(self._counts.finished(), dtype=np.int64)
            raise self._corpus.fault(
                int(np.searchsorted(ends, error.row, side="right")), error.reason
            ) from None


def run_paragraphs(
    inputs: Inputs,
    outputs: Outputs,
    plan: Plan,
    *,
    unit: Split = "paragraph",
    keep: str = "first",
    indexes: Indexes | None = None,
    cap: Cap | None = None,
    progress: Progress | None = None,
) -> ParagraphsSummary:
    """Remove near-duplicate paragraphs, lines or sentences of the rows of files.

    Parameters
    ----------
    inputs : Inputs
    outputs : Outputs
        ``rows`` gets the rows without what is removed, ``removed`` a table: the key and the number
        (from 0) of each removed paragraph, both of the paragraph that is kept in its place, and
        their similarity (or containment). The others must not be given.
    plan : Plan
    unit : {"paragraph", "line", "sentence"}, default "paragraph"
        What the rows are split into.
    keep : {"first", "last", "longest", "shortest"}, default "first"
        Which paragraph of a group is kept.
    indexes, cap : Indexes and Cap, optional
        Must be without an index, and None.
    progress : callable, optional
        As for `run_files`; the rows of "verify" are paragraphs.

    Raises
    ------
    DataError
        If the data are invalid.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    """
    if unit not in get_args(Split):
        raise ValueError(
            f"split must be one of {', '.join(get_args(Split))}, not {unit!r}"
        )
    if keep not in ("first", "last", "longest", "shortest"):
        raise ValueError(
            f"keep must be first, last, longest or shortest for {unit}s, not {keep!r}"
        )
    check_written_back("split", inputs.column)
    if (inputs.by, inputs.exact_key, outputs.max_removed) != (None, None, None):
        raise ValueError(f"by, exact_key and max_removed are for rows, not {unit}s")
    has_index = indexes is not None and (indexes.compares or bool(indexes.save))
    if outputs.pairs or outputs.annotate or outputs.page or has_index:
        raise ValueError(
            f"{unit}s are deduplicated without pairs, html, annotate and indexes"
        )
    if outputs.clusters is not None:
        raise ValueError(f"clusters are groups of rows, not of {unit}s")
    if cap is not None:
        refuse("cap", ["split"])
    job = Job([outputs.rows, outputs.removed], inputs.on_error, outputs.overwrite)
    corpus = job.open(inputs, outputs.rows)
    job.check()
    split = _Split(corpus, unit, progress)
    with split.faults(), quick_switches():
        request = Request(keep=keep, progress=progress)
        part = run_part(split.batches(), plan, job.clock, request)
        result = part.result(job.clock, ReadRows(None, len(part.sketches)))
    with job.writing():
        rows, shortened = _rows_to_keep(result.keep, part.sketches.empty, split.first)
        if outputs.removed:
            similarity = SIMILARITY_NAMES[plan.measure]
            kinds = {
                "key": id_kind(corpus),
                "kept_key": id_kind(corpus),
                similarity: "double",
            }
            job.write(
                outputs.removed,
                _removed(corpus, result, split.first, unit, similarity),
                kinds,
            )

        def new_text(row: int, text: str) -> str:
            keep_of_row = result.keep[split.first[row] : split.first[row + 1]]
            return join_paragraphs(SPLITTERS[unit](text), keep_of_row.tolist())

        job.write_rows(rows, shortened, new_text, plan.threads, progress)
    kept_rows = int(rows.sum())
    return job.account(
        ParagraphsSummary,
        kept=kept_rows,
        removed=corpus.accepted - kept_rows,
        shortened=int(shortened.sum()),
        seconds=result.summary.seconds,
        paragraphs=result.summary,
        unit=unit,
        advice=result.summary.advice,
    )


def _rows_to_keep(
    keep: BoolArray, empty: BoolArray, first: Int64Array
) -> tuple[BoolArray, BoolArray]:
    """Return which rows are kept, and which of these have lost paragraphs."""
    removed_counts = np.append(np.int64(0), np.cumsum(~keep, dtype=np.int64))
    content_counts = np.append(np.int64(0), np.cumsum(keep & ~empty, dtype=np.int64))
    is_changed = removed_counts[first[1:]] > removed_counts[first[:-1]]
    is_kept = ~is_changed | (content_counts[first[1:]] > content_counts[first[:-1]])
    return is_kept, is_changed & is_kept


def _removed(
    corpus: Corpus,
    result: DedupResult,
    first: Int64Array,
    unit: Split,
    similarity: str,
) -> dict[str, Any]:
    """Return the table of the removed paragraphs, and of those that are kept in their places."""
    removed = np.flatnonzero(~result.keep)
    table: dict[str, Any] = {}
    for prefix, paragraphs in (("", removed), ("kept_", result.keeper[removed])):
        rows = np.searchsorted(first, paragraphs, side="right") - 1
        table[f"{prefix}key"] = [corpus.key(row) for row in rows.tolist()]
        table[f"{prefix}{unit}"] = paragraphs - first[rows]
    return table | {similarity: result.similarity[removed]}

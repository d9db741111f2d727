"""The passages that the rows of files share: a table of them, counts by file, and the rows without later copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.common.atomic_files import all_or_none
from lshfast.common.checks import check_account
from lshfast.common.progress import Progress
from lshfast.common.threads import quick_switches
from lshfast.common.types import BoolArray
from lshfast.drivers.inputs import Inputs, faults_of, text_batches
from lshfast.engine.report import Stage
from lshfast.engine.sketching import Clock
from lshfast.passages.plan import PassagePlan
from lshfast.passages.result import SharedPassages
from lshfast.passages.run import find_against, find_within, hold_texts
from lshfast.readers import (
    Corpus,
    Edits,
    check_outputs,
    check_rows,
    id_kind,
    rejects_beside,
    write_rejects,
    write_rows,
    write_table,
    write_tables,
)
from lshfast.readers.output import output_format

Table: TypeAlias = dict[str, "list[Any] | npt.NDArray[Any]"]

# Rows of the table of passages that are in memory at a time.
SPANS_AT_ONCE = 1 << 14

# Contaminated rows that a summary names: those with the greatest shares in passages.
MOST_NAMED = 20


@dataclass(frozen=True)
class PassageOutputs:
    """The outputs: the table of passages, the counts by file, and the rows without later copies; None for none."""

    spans: str | None = None
    report: str | None = None
    rows: str | None = None
    overwrite: bool = False

    @property
    def rejects(self) -> str | None:
        """The path for the skipped rows, beside the first output; None without outputs."""
        return rejects_beside(self.rows or self.spans or self.report)


def outputs_of(
    output: str | None, passages: str | None, report: str | None, remove: str | None, overwrite: bool = False
) -> PassageOutputs:
    """Return the outputs that the options of the command mean: `output` is for the rows if copies are removed."""
    if remove:
        if output is None:
            raise ValueError("--remove needs an output for the rows: -o FILE")
        return PassageOutputs(passages, report, output, overwrite)
    if passages is not None:
        raise ValueError("--passages needs --remove; without it, -o FILE is for the passages")
    return PassageOutputs(output, report, None, overwrite)


@dataclass(frozen=True)
class FileCounts:
    """The rows of one file: all; those that are too short for a passage; those with a passage; and their passages."""

    file: str
    documents: int
    short: int
    shared: int
    passages: int


class Contaminated(NamedTuple):
    """A row of the other texts that shares a passage: its key, all its words or characters, and those in passages."""

    key: Any
    units: int
    covered: int


@dataclass(frozen=True)
class PassagesSummary:
    """Hold the figures of a search for shared passages in files.

    Attributes
    ----------
    read, kept, removed, rejected : int
        Rows of the inputs. read = kept + removed + rejected. A row is removed if no word of it remains without its
        later copies, and only if the rows are written.
    shortened : int
        Kept rows from which later copies were removed.
    short : int
        Rows with fewer words or characters than a shortest passage.
    shared : int
        Rows with a later copy of a passage; in a search against other files, with a passage.
    passages : int
        Passages in the table.
    units, covered : int
        Words or characters of all rows that are not short, and how many of them are in those passages.
    files : list of FileCounts
        Counts for each file of the other texts; within a corpus, of the inputs.
    against_read, against_rejected : int
        Rows of the other texts.
    contaminated : list of Contaminated
        The rows of the other texts with the greatest shares in passages, at most 20, the greatest share first.
    stages : dict of str to Stage
    seconds : float
    delimiters : dict of str to str
        As for `lshfast.engine.report.Summary`.

    Raises
    ------
    RuntimeError
        If `read` is not kept + removed + rejected.
    """

    read: int
    kept: int
    removed: int
    rejected: int
    shortened: int
    short: int
    shared: int
    passages: int
    units: int
    covered: int
    files: list[FileCounts]
    against_read: int
    against_rejected: int
    contaminated: list[Contaminated]
    stages: dict[str, Stage]
    seconds: float
    delimiters: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_account(self.read, kept=self.kept, removed=self.removed, rejected=self.rejected)


def find_in_files(
    inputs: Inputs,
    against: Inputs | None,
    outputs: PassageOutputs,
    plan: PassagePlan,
    *,
    stream_against: bool = False,
    progress: Progress | None = None,
) -> PassagesSummary:
    """Search the rows of files for shared passages.

    Parameters
    ----------
    inputs : Inputs
        Held in memory, unless there is `against`.
    against : Inputs, optional
        Other texts: passages that a row shares with one of these are found, and no others. They are held in memory, and
        the inputs read in batches.
    stream_against : bool, default False
        Hold the inputs instead, and read the other texts in batches. Then the numbers of copies that `most_copies`
        limits are those in the inputs, and the table has the texts as they stand in the inputs.
    outputs : PassageOutputs
        ``rows`` is written without later copies, or without the passages of the other texts. A row is left out if no
        word of it remains.
    plan : PassagePlan
    progress : callable, optional
        Called with (stage, done, total): bytes of input in "hold", "sample" and "write", pairs of places in "compare".

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is created.
    """
    if stream_against and against is None:
        raise ValueError("--stream-against needs --against")
    clock = Clock()
    corpus = inputs.open(output=None if outputs.rows is None else output_format(outputs.rows)[0])
    other = None if against is None else against.open()
    _check_outputs(corpus, other, inputs, outputs)
    with quick_switches():
        if other is None:
            with faults_of(corpus):
                found = find_within(text_batches(corpus, _as_stage(progress, "sample")), plan, clock, progress)
        else:
            kept, read = (corpus, other) if stream_against else (other, corpus)
            with faults_of(kept):
                held = hold_texts(text_batches(kept, _as_stage(progress, "hold")), plan, clock)
            with faults_of(read):
                batches = text_batches(read, _as_stage(progress, "sample"))
                found = find_against(batches, held, plan, clock, held_side="i" if stream_against else "j")
    result = SharedPassages(found, plan)
    with all_or_none(), clock.stage("write"):
        _write(corpus, other or corpus, result, outputs, plan, progress)
    return _summary(corpus, other, result, outputs, clock)


def _as_stage(progress: Progress | None, stage: str) -> Progress | None:
    """Return a callback that reports another stage."""
    return None if progress is None else lambda _, done, total: progress(stage, done, total)


def _check_outputs(corpus: Corpus, other: Corpus | None, inputs: Inputs, outputs: PassageOutputs) -> None:
    files = [file.path for file in (*corpus.files, *(other.files if other else ()))]
    named = [outputs.rows, outputs.spans, outputs.report]
    if inputs.on_error == "skip":
        named.append(outputs.rejects)
    if not check_outputs(named, files, outputs.overwrite):
        raise ValueError("an output is needed: -o FILE or --report FILE")
    if outputs.rows is not None:
        check_rows(corpus, outputs.rows)


def _write(
    corpus: Corpus, other: Corpus, result: SharedPassages, outputs: PassageOutputs, plan: PassagePlan,
    progress: Progress | None,
) -> None:  # fmt: skip
    if outputs.spans is not None:
        kinds = {"key_i": id_kind(corpus), "key_j": id_kind(other), "text": "string"}
        write_tables(outputs.spans, _tables(corpus, other, result), outputs.overwrite, kinds)
    if outputs.report is not None:
        counts = _counts(corpus, other, result)
        columns = ("file", "documents", "short", "shared", "passages")
        table: Table = {name: [getattr(row, name) for row in counts] for name in columns}
        write_table(outputs.report, table, outputs.overwrite, dict.fromkeys(columns, "int64") | {"file": "string"})
    if outputs.rejects and corpus.layout.on_error == "skip":
        rejected = [*corpus.rejected, *(other.rejected if other is not corpus else ())]
        write_rejects(outputs.rejects, rejected, outputs.overwrite)
    if outputs.rows is not None:
        _write_rows(corpus, result, outputs.rows, outputs.overwrite, plan.threads, progress)


def _tables(corpus: Corpus, other: Corpus, result: SharedPassages) -> Iterator[Table]:
    """Return the table of passages in parts, the first of which may be empty."""
    for at in range(0, max(1, len(result)), SPANS_AT_ONCE):
        which = slice(at, at + SPANS_AT_ONCE)
        part = result.spans[which]
        table: Table = {"key_i": [corpus.key(row) for row in part["i"].tolist()]}
        places = ("start", "end", "start_byte", "end_byte")
        table |= {f"{place}_i": part[f"i_{place}"] for place in places}
        table["key_j"] = [other.key(row) for row in part["j"].tolist()]
        table |= {f"{place}_j": part[f"j_{place}"] for place in places}
        yield table | {f"{result.plan.unit}s": part["units"], "text": result.texts(which)}


def _write_rows(
    corpus: Corpus, result: SharedPassages, path: str, overwrite: bool, threads: int, progress: Progress | None
) -> None:
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress:
            progress("write", done, corpus.total_bytes)

    def new_text(row: int, text: str) -> str:
        return result.without_cuts(row, text.encode()).decode()

    keep = ~result.emptied
    edits = Edits(result.shortened & keep, new_text)
    write_rows(corpus, path, keep=keep, overwrite=overwrite, progress=tell, threads=threads, edits=edits)


def _counts(corpus: Corpus, other: Corpus, result: SharedPassages) -> list[FileCounts]:
    """Count the rows of each file: of the other texts, or, within a corpus, of the inputs."""
    shared, units = result.covered > 0, result.units
    if result.against_covered is not None and result.against_units is not None:
        shared, units = result.against_covered > 0, result.against_units
    passages = np.bincount(result.spans["j"], minlength=len(units))

    def count(index: int, name: str) -> FileCounts:
        rows = slice(*other.span(index))
        sums: Sequence[Any] = [int(column[rows].sum()) for column in (units == 0, shared, passages)]
        return FileCounts(name, rows.stop - rows.start, *sums)

    return [count(index, file.name) for index, file in enumerate(other.files)]


def _contaminated(other: Corpus, result: SharedPassages) -> list[Contaminated]:
    units, covered = result.against_units, result.against_covered
    assert units is not None
    assert covered is not None
    rows = np.flatnonzero(covered)
    rows = rows[np.argsort(-covered[rows] / units[rows], kind="stable")][:MOST_NAMED]
    return [Contaminated(other.key(row), int(units[row]), int(covered[row])) for row in rows.tolist()]


def _summary(
    corpus: Corpus, other: Corpus | None, result: SharedPassages, outputs: PassageOutputs, clock: Clock
) -> PassagesSummary:
    emptied: BoolArray = result.emptied if outputs.rows is not None else np.zeros(corpus.accepted, np.bool_)
    removed = int(emptied.sum())
    return PassagesSummary(
        read=corpus.read,
        kept=corpus.accepted - removed,
        removed=removed,
        rejected=len(corpus.rejected),
        shortened=int((result.shortened & ~emptied).sum()) if outputs.rows is not None else 0,
        short=int((result.units == 0).sum()),
        shared=int((result.covered > 0).sum()),
        passages=len(result),
        units=int(result.units.sum()),
        covered=int(result.covered.sum()),
        files=_counts(corpus, other or corpus, result),
        against_read=0 if other is None else other.read,
        against_rejected=0 if other is None else len(other.rejected),
        contaminated=[] if other is None else _contaminated(other, result),
        stages=clock.stages,
        seconds=clock.seconds,
        delimiters=corpus.delimiters | (other.delimiters if other else {}),
    )

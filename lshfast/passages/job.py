"""The passages that the rows of files share: a table, counts by file, rows without copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lshfast._common.choices import NormalForm
from lshfast._common.column_paths import check_written_back
from lshfast._common.display import Figure, counted, figure
from lshfast._common.progress import Progress
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import AnyArray
from lshfast._common.visible import one_line
from lshfast._engine.account.display import normal_form_figures
from lshfast._engine.account.normal_forms import FormSample
from lshfast._engine.frame import Job, ShortenedRows
from lshfast._engine.inputs import Inputs, text_batches
from lshfast._engine.pages.rows import texts_by_row
from lshfast._engine.pages.run_pages import PageOutput, named
from lshfast._io import Corpus, id_kind
from lshfast.passages.page import PageSide, counts_of_side, left_out, rows_with_unlisted
from lshfast.passages.pairs import one_of_each_crowd
from lshfast.passages.plan import PassagePlan
from lshfast.passages.result import SharedPassages
from lshfast.passages.run import FoundPassages, find_against, find_within, hold_texts

Table: TypeAlias = dict[str, "list[Any] | AnyArray"]

# Rows of the table of passages that are in memory at a time.
SPANS_AT_ONCE = 1 << 14

# Contaminated rows that a summary names: those with the greatest shares in passages.
MOST_NAMED = 20

# Pairs of texts that a summary names.
MOST_PAIRS_NAMED = 10


@dataclass(frozen=True)
class PassageOutputs:
    """The outputs, or None: passages, counts by file, rows without copies, a page, pairs, places.

    With `whole_rows`, rows that would be shortened are left out.
    """

    spans: str | None = None
    report: str | None = None
    rows: str | None = None
    overwrite: bool = False
    page: PageOutput | None = None
    pairs: str | None = None
    places: str | None = None
    whole_rows: bool = False


def outputs_of(
    output: str | None,
    passages: str | None,
    report: str | None,
    remove: str | None,
    overwrite: bool = False,
    page: PageOutput | None = None,
    pairs: str | None = None,
    places: str | None = None,
) -> PassageOutputs:
    """Return the outputs of the command's options; `output` has rows if copies are removed."""
    if remove:
        if output is None:
            raise ValueError("--remove needs an output for the rows: -o FILE")
        return PassageOutputs(
            passages, report, output, overwrite, page, pairs, places, remove == "rows"
        )
    if passages is not None:
        raise ValueError(
            "--passages needs --remove; without it, -o FILE is for the passages"
        )
    return PassageOutputs(output, report, None, overwrite, page, pairs, places)


class FileCounts(NamedTuple):
    """The rows of one file.

    All; those that are too short for a passage; those with a passage; their passages; and those
    with passages that are not listed.
    """

    file: str
    documents: int
    short: int
    shared: int
    passages: int
    unlisted: int = 0


class Contaminated(NamedTuple):
    """A row of the other texts that shares a passage.

    Its key, all its words or characters, those in passages, and those in passages that are not
    listed alone.
    """

    key: Any
    units: int
    covered: int
    unlisted: int = 0


class NamedPair(NamedTuple):
    """Two texts that share passages.

    Their keys, the share of each in these, the units of the longest one, the number of texts that
    share it, and the key of the first of these.
    """

    i: Any
    j: Any
    i_share: float
    j_share: float
    longest: int
    texts: int
    first: Any


@dataclass(frozen=True, kw_only=True)
class PassagesSummary(ShortenedRows):
    """Hold the figures of a search for shared passages in files.

    Attributes
    ----------
    removed, shortened : int
        A row is removed if no word of it remains without what is cut, or with `whole_rows` if
        something would be cut, and only if the rows are written.
    short : int
        Rows with fewer words or characters than a shortest passage.
    shared : int
        Rows with a later copy of a passage; in a search against other files, with a passage.
    passages : int
        Passages in the table.
    unit : {"word", "char"}
    normalize : {"none", "NFC", "NFKC"}
        The normal form of Unicode in which texts were compared.
    units, covered : int
        Words or characters of all rows that are not short, and how many of them are in those
        passages.
    files : list of FileCounts
        Counts for each file of the other texts; within a corpus, of the inputs.
    against_read, against_rejected : int
        Rows of the other texts.
    contaminated : list of Contaminated
        The rows of the other texts with the greatest shares in passages, at most 20, the greatest
        share first.
    removing : bool
        Whether the rows are written.
    whole_rows : bool
        Whether rows that would be shortened were left out instead.
    pairs : list of NamedPair or None
        The pairs of texts with the greatest shares in passages of each other, at most 10; None if
        their table was not written.
    pair_count : int
        Pairs in that table.
    unlisted : int
        Rows, of the inputs or of the other texts, with passages that are not in the table, since
        the runs that cover them occur at more than `most_copies` places, of which the first is in
        the table.
    left_out : str
        Why passages are not in the table, or "".
    """

    short: int
    shared: int
    passages: int
    unit: str
    normalize: NormalForm = "none"
    units: int
    covered: int
    files: list[FileCounts]
    against_read: int
    against_rejected: int
    contaminated: list[Contaminated]
    removing: bool
    whole_rows: bool = False
    pairs: list[NamedPair] | None = None
    pair_count: int = 0
    unlisted: int = 0
    left_out: str = ""

    @property
    def refused(self) -> int:
        """Bad rows of all inputs."""
        return self.rejected + self.against_rejected

    def _pair_figures(self) -> Iterator[Figure]:
        """Yield the lines of the pairs of texts, if their table was written."""
        if self.pairs is None:
            return
        yield figure("pairs", self.pair_count, "of texts that share passages")
        for pair in self.pairs:
            yield figure("", f"{pair.i_share:.0%}", _pair_note(pair, self.unit))

    def removal(self) -> Iterator[Figure]:
        """Yield the lines of what became of the rows."""
        for line in super().removal():
            if line.name == "removed" and self.whole_rows and self.removed:
                line = figure("removed", self.removed, "with passages")
            yield line

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table; those of removal only if the rows are written."""
        yield figure("read", self.read, _short(self.short, " for a passage"))
        yield from (
            self.removal() if self.removing else [figure("rejected", self.rejected)]
        )
        if self.against_read:
            rejected = (
                f"{self.against_rejected:,} rejected" if self.against_rejected else ""
            )
            yield figure("against", self.against_read, rejected)
        if self.covered:
            percent = f"{100 * self.covered / self.units:.2f} %"
            covered = f"{self.covered:,} in passages, {percent} of them"
        else:
            covered = ""
        yield from normal_form_figures(self.normalize)
        yield figure("passages", self.passages, f"in {counted(self.shared, 'row')}")
        yield figure(f"{self.unit}s", self.units, covered)
        yield from self._pair_figures()
        if self.unlisted:
            rows = "row" if self.unlisted == 1 else "rows"
            yield figure(
                "not listed",
                self.unlisted,
                f"{rows} with passages that are not in the table",
            )
            yield figure("", "", self.left_out)
        if not self.against_read:
            return
        for row in self.files:
            note = f"of {counted(row.documents, 'row')} of {row.file}"
            unlisted = (
                f"{row.unlisted:,} with passages that are not listed"
                if row.unlisted
                else ""
            )
            yield figure("contaminated", row.shared, note, _short(row.short), unlisted)
        for other_row in self.contaminated:
            covered = (
                f"{other_row.covered:,} of {counted(other_row.units, self.unit)} in "
                f"passages{_unlisted(other_row)}"
            )
            yield figure(
                "",
                f"{other_row.covered / other_row.units:.0%}",
                f"{one_line(other_row.key)}: {covered}",
            )
        further_rows = sum(row.shared for row in self.files) - len(self.contaminated)
        if further_rows:
            yield figure(
                "", "", f"and {counted(further_rows, 'row')} with smaller shares"
            )


def _pair_note(pair: NamedPair, unit: str) -> str:
    """Return what a line says of two texts."""
    crowd = ""
    if pair.texts > 2:
        crowd = f", in {pair.texts:,} texts as {one_line(pair.first)}"
    return (
        f"of {one_line(pair.i)}, {pair.j_share:.0%} of {one_line(pair.j)}; longest "
        f"{counted(pair.longest, unit)}{crowd}"
    )


def _unlisted(row: Contaminated) -> str:
    """Return the units of a row that are in no listed passage, as the end of a line."""
    if not row.unlisted:
        return ""
    if row.unlisted == row.covered:
        return ", none of them listed"
    return f", {row.unlisted:,} of them not listed"


def _short(rows: int, purpose: str = "") -> str:
    return f"{rows:,} too short{purpose}" if rows else ""


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
        Other texts: passages that a row shares with one of these are found, and no others. They are
        held in memory, and the inputs read in batches.
    stream_against : bool, default False
        Hold the inputs instead, and read the other texts in batches. Then the numbers of copies
        that `most_copies` limits are those in the inputs, and the table has the texts as they stand
        in the inputs.
    outputs : PassageOutputs
        ``rows`` is written without later copies, or without the passages of the other texts. A row
        is left out if no word of it remains.
    plan : PassagePlan
    progress : callable, optional
        Called with (stage, done, total): bytes of input in "hold", "sample" and "write", pairs of
        places in "compare".

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    """
    removing = outputs.rows is not None
    if stream_against and against is None:
        raise ValueError("--stream-against needs --against")
    job, corpus, other = _opened(inputs, against, outputs)
    forms = FormSample(plan.normalize)
    if other is None:
        with job.reading(corpus):
            batches = text_batches(corpus, _as_stage(progress, "sample"))
            found_passages = find_within(forms.of(batches), plan, job.clock, progress)
    elif stream_against:
        found_passages = _find_against(job, corpus, other, "i", plan, forms, progress)
    else:
        found_passages = _find_against(job, other, corpus, "j", plan, forms, progress)
    result = SharedPassages(found_passages, plan)
    counts = _counts(corpus, other or corpus, result)
    with job.writing("write"):
        _write_tables(job, outputs, corpus, other or corpus, result, counts)
        job.write_page(lambda page: _page(corpus, other, result, counts, page))

        def new_text(row: int, text: str) -> str:
            return result.without_cuts(row, text.encode()).decode()

        left_out_rows = result.shortened if outputs.whole_rows else result.emptied
        keep = ~left_out_rows
        shortened = result.shortened & keep
        job.write_rows(keep, shortened, new_text, plan.threads, progress)
    removed = int(left_out_rows.sum()) if removing else 0
    unlisted = rows_with_unlisted(result)
    return job.account(
        PassagesSummary,
        read=corpus.read,
        kept=corpus.accepted - removed,
        removed=removed,
        rejected=len(corpus.rejected),
        shortened=int(shortened.sum()) if removing else 0,
        short=int((result.units == 0).sum()),
        shared=int((result.covered > 0).sum()),
        passages=len(result),
        unit=plan.unit,
        normalize=plan.normalize,
        units=int(result.units.sum()),
        covered=int(result.covered.sum()),
        files=counts,
        removing=removing,
        whole_rows=outputs.whole_rows,
        pairs=None if outputs.pairs is None else _named_pairs(corpus, other, result),
        pair_count=len(result.pairs) if outputs.pairs is not None else 0,
        unlisted=unlisted,
        left_out=left_out(plan) if unlisted else "",
        **({"advice": forms.advice} if forms.advice else {}),
        **_figures_against(other, result),
    )


def _opened(
    inputs: Inputs, against: Inputs | None, outputs: PassageOutputs
) -> tuple[Job, Corpus, Corpus | None]:
    """Return the job, and the corpora of the rows and of the other texts; check the outputs."""
    if outputs.rows is not None and not outputs.whole_rows:
        check_written_back("--remove first or all", inputs.column)
    tables = [
        outputs.rows,
        outputs.spans,
        outputs.report,
        outputs.pairs,
        outputs.places,
    ]
    job = Job(tables, inputs.on_error, outputs.overwrite, page=outputs.page)
    corpus = job.open(inputs, outputs.rows)
    other = None if against is None else job.open(against)
    job.check()
    if not (any(tables) or outputs.page):
        raise ValueError(
            "an output is needed: -o FILE, --pairs FILE, --places FILE, --report FILE or --html "
            "FILE"
        )
    return job, corpus, other


def _figures_against(other: Corpus | None, result: SharedPassages) -> dict[str, Any]:
    """Return the figures of the other texts."""
    if other is None:
        return {"against_read": 0, "against_rejected": 0, "contaminated": []}
    return {
        "against_read": other.read,
        "against_rejected": len(other.rejected),
        "contaminated": _contaminated(other, result),
    }


def _write_tables(
    job: Job,
    outputs: PassageOutputs,
    corpus: Corpus,
    other: Corpus,
    result: SharedPassages,
    counts: list[FileCounts],
) -> None:
    """Write the tables of passages and of counts that are wanted."""
    if outputs.spans is not None:
        kinds = {"key_i": id_kind(corpus), "key_j": id_kind(other), "text": "string"}
        job.write(outputs.spans, _tables(corpus, other, result), kinds)
    if outputs.pairs is not None:
        kinds = {"key_i": id_kind(corpus), "text": "string"}
        kinds |= dict.fromkeys(("key_j", "as"), id_kind(other))
        job.write(outputs.pairs, _tables_of_pairs(corpus, other, result), kinds)
    if outputs.places is not None:
        kinds = {"key": id_kind(corpus), "text": "string"}
        job.write(outputs.places, _tables_of_places(corpus, result), kinds)
    if outputs.report is not None:
        table = _table_of_counts(counts)
        kinds = dict.fromkeys(table, "int64") | {"file": "string"}
        job.write(outputs.report, table, kinds)


def _find_against(
    job: Job,
    held_corpus: Corpus,
    streamed_corpus: Corpus,
    held_side: Literal["i", "j"],
    plan: PassagePlan,
    forms: FormSample,
    progress: Progress | None,
) -> FoundPassages:
    """Hold the texts of one corpus, and search the texts of another for their passages."""
    with job.reading(held_corpus):
        batches = text_batches(held_corpus, _as_stage(progress, "hold"))
        held_texts = hold_texts(forms.of(batches), plan, job.clock)
    with job.reading(streamed_corpus):
        batches = text_batches(streamed_corpus, _as_stage(progress, "sample"))
        return find_against(
            forms.of(batches), held_texts, plan, job.clock, held_side=held_side
        )


def _table_of_counts(counts: list[FileCounts]) -> Table:
    """Return the counts by file as a table, with unlisted passages only if there are any."""
    columns: tuple[str, ...] = FileCounts._fields
    if not any(row.unlisted for row in counts):
        columns = columns[:-1]
    return {name: [getattr(row, name) for row in counts] for name in columns}


def _page(
    corpus: Corpus,
    other: Corpus | None,
    result: SharedPassages,
    counts: list[FileCounts],
    page: PageOutput,
) -> str:
    """Return the page of a search in files."""
    sides = [
        PageSide(side.key, partial(texts_by_row, side))
        for side in (corpus, other or corpus)
    ]
    first, second = (
        named([file.name for file in side.files]) for side in (corpus, other or corpus)
    )
    title = (
        f"Shared passages in {first}"
        if other is None
        else f"Passages of {second} in {first}"
    )
    return result.page(
        (sides[0], sides[1]),
        texts=page.texts,
        title=title,
        command=page.command,
        files=counts,
    )


def _as_stage(progress: Progress | None, stage: str) -> Progress | None:
    """Return a callback that reports another stage."""
    return (
        None
        if progress is None
        else lambda _, done, total: progress(stage, done, total)
    )


def _tables(corpus: Corpus, other: Corpus, result: SharedPassages) -> Iterator[Table]:
    """Return the table of passages in parts, the first of which may be empty."""
    for which in parts_of_rows(max(1, len(result)), SPANS_AT_ONCE):
        part = result.spans[which]
        table: Table = {"key_i": [corpus.key(row) for row in part["i"].tolist()]}
        places = ("start", "end", "start_byte", "end_byte")
        table |= {f"{place}_i": part[f"i_{place}"] for place in places}
        table["key_j"] = [other.key(row) for row in part["j"].tolist()]
        table |= {f"{place}_j": part[f"j_{place}"] for place in places}
        yield table | {
            f"{result.plan.unit}s": part["units"],
            "text": result.texts(which),
        }


def _tables_of_pairs(
    corpus: Corpus, other: Corpus, result: SharedPassages
) -> Iterator[Table]:
    """Return the table of pairs of texts in parts, the first of which may be empty."""
    unit = result.plan.unit
    for which in parts_of_rows(max(1, len(result.pairs)), SPANS_AT_ONCE):
        part = result.pairs[which]
        texts = result.texts(np.ascontiguousarray(part["span"]))
        yield {
            "key_i": [corpus.key(row) for row in part["i"].tolist()],
            "key_j": [other.key(row) for row in part["j"].tolist()],
            "passages": part["passages"],
            f"{unit}s_i": part["i_units"],
            f"{unit}s_j": part["j_units"],
            "share_i": part["i_share"],
            "share_j": part["j_share"],
            "longest": part["longest"],
            "texts": part["texts"],
            "as": [
                other.key(row) if size > 2 else None
                for row, size in zip(
                    part["first"].tolist(), part["texts"].tolist(), strict=True
                )
            ],
            "text": texts,
        }


def _tables_of_places(corpus: Corpus, result: SharedPassages) -> Iterator[Table]:
    """Return the table of all places of passages in parts, the first of which may be empty."""
    all_places = result.all_places()
    counts = np.bincount(all_places["passage"])
    for which in parts_of_rows(max(1, len(all_places)), SPANS_AT_ONCE):
        part = all_places[which]
        yield {
            "passage": part["passage"],
            "places": counts[part["passage"]],
            "key": [corpus.key(row) for row in part["row"].tolist()],
            "start": part["start"],
            "end": part["end"],
            "start_byte": part["start_byte"],
            "end_byte": part["end_byte"],
            f"{result.plan.unit}s": part["units"],
            "text": result.texts(np.ascontiguousarray(part["span"])),
        }


def _named_pairs(
    corpus: Corpus, other: Corpus | None, result: SharedPassages
) -> list[NamedPair]:
    """Return the pairs with the greatest shares, which a summary names; of a crowd, one."""
    key_of_other = (other or corpus).key
    return [
        NamedPair(
            corpus.key(int(pair["i"])),
            key_of_other(int(pair["j"])),
            float(pair["i_share"]),
            float(pair["j_share"]),
            int(pair["longest"]),
            int(pair["texts"]),
            key_of_other(int(pair["first"])),
        )
        for pair in one_of_each_crowd(result.pairs)[:MOST_PAIRS_NAMED]
    ]


def _counts(corpus: Corpus, other: Corpus, result: SharedPassages) -> list[FileCounts]:
    """Count the rows of each file: of the other texts, or, within a corpus, of the inputs."""
    units_of_texts = counts_of_side(result, "j")
    shared = units_of_texts.covered > 0
    units = units_of_texts.units
    passages = np.bincount(result.spans["j"], minlength=len(units))

    def count(index: int, name: str) -> FileCounts:
        rows = slice(*other.span(index))
        columns = units == 0, shared, passages, units_of_texts.unlisted > 0
        sums: Sequence[Any] = [int(column[rows].sum()) for column in columns]
        return FileCounts(name, rows.stop - rows.start, *sums)

    return [count(index, file.name) for index, file in enumerate(other.files)]


def _contaminated(other: Corpus, result: SharedPassages) -> list[Contaminated]:
    units, covered, unlisted = counts_of_side(result, "j")
    rows = np.flatnonzero(covered)
    rows = rows[np.argsort(-covered[rows] / units[rows], kind="stable")][:MOST_NAMED]
    return [
        Contaminated(
            other.key(row), int(units[row]), int(covered[row]), int(unlisted[row])
        )
        for row in rows.tolist()
    ]

"""The page of a run in stages: what its verify tasks have noted, and the texts of some rows."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.errors import TooManyRemovedError
from lshfast._common.visible import without_secrets
from lshfast._engine.pages.dedup import page_of
from lshfast._engine.pages.evidence import (
    LARGE_GROUPS,
    LEAST,
    LEAST_SIMILAR,
    WHOLE_RANGE,
    Compared,
    ComparedForm,
    Evidence,
    ExamplePair,
    InputRows,
    columns_of,
    compared_form,
    compared_spans,
    of_large_group,
)
from lshfast._engine.pages.rows import texts_by_row, values_by_row
from lshfast._engine.pages.run_pages import (
    PageOutput,
    check_page_output,
    named,
    refusal_of,
)
from lshfast._engine.parts.task_files import figures_of
from lshfast._io import Corpus
from lshfast._io.pages.page import over_range, write_page
from lshfast.stages.earlier import number_of_earlier
from lshfast.stages.page_notes import removed_of_files
from lshfast.stages.sketching import restored_corpus
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.stages_status import status_of
from lshfast.stages.value_counts import check_plan


def write_page_of_run(plan: StagePlan, output: PageOutput, overwrite: bool) -> None:
    """Write the page of a run whose verify tasks are done.

    Raises
    ------
    ValueError
        If they are not all done, or the file has another suffix.
    FileExistsError
        If the file exists and `overwrite` is false.
    """
    files_by_name = {
        file.name: file
        for shard in range(plan.new_shards)
        for file in plan.corpus(shard, checked=False).files
    }
    files = list(files_by_name.values())
    check_page_output(output, [file.location for file in files], overwrite)
    summary = status_of(plan).summary
    if summary is None:
        raise ValueError(
            "the page of a run needs all tasks of verify, and some are not done"
        )
    names = [file.name for file in files]
    notes = [figures_of(plan, "verify", task)["page"] for task in range(plan.tasks)]
    page = page_of(
        summary,
        plan.engine.arguments | {"keep": plan.content["keep"]},
        _evidence(plan, notes, _inputs(plan, names), output.texts),
        output,
        title=f"Near-duplicates in {named(names)}",
        refusal=_refusal(plan),
    )
    write_page(output.path, page, overwrite)


def _refusal(plan: StagePlan) -> str:
    """Return why the tasks of apply write nothing, if so."""
    try:
        check_plan(plan)
    except TooManyRemovedError as error:
        return refusal_of(error)
    return ""


def _inputs(plan: StagePlan, names: list[str]) -> list[InputRows]:
    """Return the good rows of each input, and how many of them were removed."""
    rows_read = np.diff(figures_of(plan, "group", 0)["first_of_files"]).tolist()
    return list(
        map(
            InputRows,
            map(without_secrets, names),
            rows_read,
            removed_of_files(plan, len(names)).tolist(),
        )
    )


class _LargeGroup(NamedTuple):
    """A large group: its rows, the first of them, and pairs that are shown as examples."""

    size: int
    first_row: int
    pairs: list[Compared]


class _ShownRows(NamedTuple):
    """The keys of rows, the texts of those that are shown, and keys of entries that are kept.

    The texts are None if no text is shown; those of a pair are shown in the form that is compared.
    The key of an entry is that of the row removed for it.
    """

    keys: dict[int, str]
    texts: dict[int, str] | None
    entries: dict[int, str]
    form: ComparedForm

    def example(self, pair: Compared) -> ExamplePair:
        """Return a pair as the page shows it."""
        spans: tuple[Any, Any] = ([], [])
        if self.texts is not None:
            earlier_text = self.texts.get(_row_shown(pair.other))
            spans = compared_spans(pair, self.texts, earlier_text, self.form)
        is_entry = pair.other < 0
        kept_key = self.entries[pair.row] if is_entry else self.keys[pair.other]
        return ExamplePair(self.keys[pair.row], kept_key, pair.similarity, *spans)


def _evidence(
    plan: StagePlan, notes: list[dict[str, Any]], inputs: list[InputRows], shown: bool
) -> Evidence:
    """Return what the page shows; texts only if they are shown."""
    least_similar = _least_similar(notes)
    pairs_of_columns = _pairs_of_columns(notes)
    groups = _largest_groups(notes)
    pairs = [*least_similar, *pairs_of_columns]
    for group in groups:
        pairs += group.pairs
    rows = _rows(plan, notes, pairs, {group.first_row for group in groups}, shown)
    pairs_by_reason = {
        LEAST_SIMILAR[True]: least_similar,
        WHOLE_RANGE[True]: [
            pair for pair in pairs_of_columns if pair not in least_similar
        ],
    }
    for group in groups:
        reason = of_large_group(group.size, rows.keys[group.first_row])
        pairs_by_reason[reason] = group.pairs
    examples = {
        reason: list(map(rows.example, shown_pairs))
        for reason, shown_pairs in pairs_by_reason.items()
        if shown_pairs
    }
    sizes: Counter[int] = Counter()
    for note in notes:
        sizes.update(dict(note["group_sizes"]))
    similarities = np.array([note["similarities"] for note in notes], np.int64)
    return Evidence(
        np.asarray(similarities.sum(axis=0)), sizes, examples, inputs, rows.form
    )


def _least_similar(notes: list[dict[str, Any]]) -> list[Compared]:
    """Return the least similar pairs of all tasks."""
    pairs = [Compared(*pair) for note in notes for pair in note["least"]]
    return sorted(pairs, key=lambda pair: pair[::-1])[:LEAST]


def _pairs_of_columns(notes: list[dict[str, Any]]) -> list[Compared]:
    """Return pairs of the whole range of similarities, each of another column of the chart."""
    of_column: dict[int, Compared] = {}
    for pair in sorted(
        Compared(*pair) for note in notes for pair in note["whole_range"]
    ):
        column = columns_of(np.array([pair.similarity], np.float64))[0]
        of_column.setdefault(int(column), pair)
    columns = sorted(of_column)
    return [of_column[columns[place]] for place in over_range(len(columns)).tolist()]


def _largest_groups(notes: list[dict[str, Any]]) -> list[_LargeGroup]:
    """Return the largest groups of all tasks."""
    largest = sorted(
        (group for note in notes for group in note["largest"]),
        key=lambda group: (-group[0], group[1]),
    )
    return [
        _LargeGroup(size, first_row, [Compared(*pair) for pair in pairs])
        for size, first_row, pairs in largest[:LARGE_GROUPS]
    ]


def _rows(
    plan: StagePlan,
    notes: list[dict[str, Any]],
    pairs: list[Compared],
    named_rows: set[int],
    shown: bool,
) -> _ShownRows:
    """Return the rows of pairs and those that are only named; texts only if they are shown."""
    shown_rows = {_row_shown(row) for pair in pairs for row in pair[:2]} - {-1}
    keys: dict[int, str] = {}
    texts: dict[int, str] = {}
    overall = figures_of(plan, "group", 0)
    bounds = overall["first_row"]
    for shard in range(plan.shards):
        first, end = bounds[shard : shard + 2]
        rows_of_shard = [row for row in shown_rows | named_rows if first <= row < end]
        if rows_of_shard:
            corpus = restored_corpus(
                plan, shard, lines_before=overall["lines_before"][shard]
            )
            keys |= {row: str(corpus.key(row - first)) for row in rows_of_shard}
            if shown:
                texts |= _texts(corpus, first, shown_rows.intersection(rows_of_shard))
    entries = {row: key for note in notes for row, key in note["entries"]}
    form = compared_form(plan.engine)
    return _ShownRows(keys, texts if shown else None, entries, form)


def _row_shown(number: int) -> int:
    """Return a row, given its number or that of an earlier one; -1 for an entry of an index."""
    return int(number_of_earlier(np.array(number))) if number < -1 else number


def _texts(corpus: Corpus, first_row: int, rows: set[int]) -> dict[int, str]:
    """Return the texts of some rows of a shard, or other values as texts."""
    rows_of_corpus = np.array(sorted(rows), np.int64) - first_row
    if corpus.layout.kind == "text":
        texts = texts_by_row(corpus, rows_of_corpus)
    else:
        texts = values_by_row(corpus, corpus.layout.column_name, rows_of_corpus)
    return {row + first_row: text for row, text in texts.items()}

"""The page of a run in stages: what its verify tasks have noted, and the texts of some rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

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
    Evidence,
    ExamplePair,
    InputRows,
    columns_of,
    compared_spans,
    of_large_group,
    spread,
)
from lshfast._engine.pages.rows import texts_by_row, values_by_row
from lshfast._engine.pages.run_pages import (
    PageOutput,
    check_page_output,
    named,
    refusal_of,
)
from lshfast._engine.parts.task_files import figures_of
from lshfast._io.pages.page import write_page
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
        for shard in range(plan.shards)
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


def _evidence(
    plan: StagePlan, notes: list[dict[str, Any]], inputs: list[InputRows], shown: bool
) -> Evidence:
    """Return what the page shows; texts only if they are shown."""
    least = sorted(
        (Compared(*pair) for note in notes for pair in note["least"]),
        key=lambda pair: pair[::-1],
    )[:LEAST]
    of_column: dict[int, Compared] = {}
    for pair in sorted(
        Compared(*pair) for note in notes for pair in note["whole_range"]
    ):
        of_column.setdefault(
            int(columns_of(np.array([pair.similarity], np.float64))[0]), pair
        )
    columns = sorted(of_column)
    pairs_of_columns = [
        of_column[columns[place]] for place in spread(len(columns)).tolist()
    ]
    largest = sorted(
        (group for note in notes for group in note["largest"]),
        key=lambda group: (-group[0], group[1]),
    )
    groups = [
        (size, first, [Compared(*pair) for pair in shown_pairs])
        for size, first, shown_pairs in largest[:LARGE_GROUPS]
    ]
    shown_rows = {
        row
        for pairs in (
            least,
            pairs_of_columns,
            *(shown_pairs for *_, shown_pairs in groups),
        )
        for pair in pairs
        for row in pair[:2]
        if row >= 0
    }
    entries = {row: key for note in notes for row, key in note["entries"]}
    keys, texts = _rows(plan, shown_rows, {first for _, first, _ in groups}, shown)
    pairs_by_reason = {
        LEAST_SIMILAR[True]: least,
        WHOLE_RANGE[True]: [pair for pair in pairs_of_columns if pair not in least],
    }
    pairs_by_reason |= {
        of_large_group(size, keys[first]): shown_pairs
        for size, first, shown_pairs in groups
    }

    def example(pair: Compared) -> ExamplePair:
        spans = compared_spans(pair, texts) if shown else ([], [])
        is_entry = pair.other < 0
        kept_key = entries[pair.row] if is_entry else keys[pair.other]
        return ExamplePair(keys[pair.row], kept_key, pair.similarity, *spans)

    sizes: Counter[int] = Counter()
    for note in notes:
        sizes.update(dict(note["group_sizes"]))
    similarities = np.asarray(
        np.array([note["similarities"] for note in notes], np.int64).sum(axis=0)
    )
    examples = {
        reason: list(map(example, shown_pairs))
        for reason, shown_pairs in pairs_by_reason.items()
        if shown_pairs
    }
    return Evidence(similarities, sizes, examples, inputs)


def _rows(
    plan: StagePlan, shown_rows: set[int], named_rows: set[int], shown: bool
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the keys of all rows to show or to name, and if `shown` the texts to show."""
    keys: dict[int, str] = {}
    texts: dict[int, str] = {}
    bounds = figures_of(plan, "group", 0)["first_row"]
    for shard in range(plan.shards):
        first, end = bounds[shard : shard + 2]
        rows_of_shard = [row for row in shown_rows | named_rows if first <= row < end]
        if rows_of_shard:
            corpus = restored_corpus(plan, shard)
            keys |= {row: str(corpus.key(row - first)) for row in rows_of_shard}
            if shown:
                rows = np.array(
                    sorted(
                        row - first for row in shown_rows.intersection(rows_of_shard)
                    ),
                    np.int64,
                )
                if plan.engine.kind == "text":
                    texts_of_rows = texts_by_row(corpus, rows)
                else:
                    texts_of_rows = values_by_row(corpus, corpus.layout.column, rows)
                texts |= {row + first: text for row, text in texts_of_rows.items()}
    return keys, texts

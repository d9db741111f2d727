"""The page of a run in stages: what its verify tasks have noted, and the texts of some rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from lshfast.drivers.pages import PageOutput, check_page_output, named, texts_by_row
from lshfast.drivers.tasks.sketching import restored_corpus
from lshfast.drivers.tasks.stage_plan import StagePlan
from lshfast.drivers.tasks.stages_status import status_of
from lshfast.drivers.tasks.task_files import figures_of
from lshfast.engine.dedup_page import (
    LEAST,
    LEAST_SIMILAR,
    WHOLE_RANGE,
    Compared,
    Evidence,
    ExamplePair,
    columns_of,
    page_of,
    spread,
)
from lshfast.reports.differences import compare
from lshfast.reports.page import write_page


def write_page_of_run(plan: StagePlan, output: PageOutput, overwrite: bool) -> None:
    """Write the page of a run whose verify tasks are done.

    Raises
    ------
    ValueError
        If they are not all done, or the file has another suffix.
    FileExistsError
        If the file exists and `overwrite` is false.
    """
    files = [file for shard in range(plan.shards) for file in plan.corpus(shard, checked=False).files]
    check_page_output(output, [file.path for file in files], overwrite)
    summary = status_of(plan).summary
    if summary is None:
        raise ValueError("the page of a run needs all tasks of verify, and some are not done")
    notes = [figures_of(plan, "verify", task)["page"] for task in range(plan.tasks)]
    page = page_of(
        summary,
        plan.engine.arguments | {"keep": plan.content["keep"]},
        _evidence(plan, notes, output.texts),
        title=f"Near-duplicates in {named([file.name for file in files])}",
        command=output.command,
        texts=output.texts,
    )
    write_page(output.path, page, overwrite)


def _evidence(plan: StagePlan, notes: list[dict[str, Any]], shown: bool) -> Evidence:
    """Return what the page shows; texts only if they are shown."""
    least = sorted((Compared(*pair) for note in notes for pair in note["least"]), key=lambda pair: pair[::-1])[:LEAST]
    of_column: dict[int, Compared] = {}
    for pair in sorted(Compared(*pair) for note in notes for pair in note["whole_range"]):
        of_column.setdefault(int(columns_of(np.array([pair.similarity], np.float64))[0]), pair)
    columns = sorted(of_column)
    others = [of_column[columns[place]] for place in spread(len(columns)).tolist()]
    chosen = {LEAST_SIMILAR[True]: least, WHOLE_RANGE[True]: [pair for pair in others if pair not in least]}
    keys, texts = _rows(plan, {row for pair in [*least, *others] for row in pair[:2]}, shown)

    def example(pair: Compared) -> ExamplePair:
        spans = compare(texts[pair.row], texts[pair.other]) if shown else ([], [])
        return ExamplePair(keys[pair.row], keys[pair.other], pair.similarity, *spans)

    sizes: Counter[int] = Counter()
    for note in notes:
        sizes.update(dict(note["group_sizes"]))
    similarities = np.array([note["similarities"] for note in notes], np.int64).sum(axis=0)
    return Evidence(
        np.asarray(similarities), sizes, {reason: list(map(example, some)) for reason, some in chosen.items() if some}
    )


def _rows(plan: StagePlan, wanted: set[int], shown: bool) -> tuple[dict[int, str], dict[int, str]]:
    """Return the keys of some rows, and their texts if they are shown."""
    keys: dict[int, str] = {}
    texts: dict[int, str] = {}
    bounds = figures_of(plan, "group", 0)["first_row"]
    for shard in range(plan.shards):
        own = np.array(sorted(row for row in wanted if bounds[shard] <= row < bounds[shard + 1]), np.int64)
        if len(own):
            corpus = restored_corpus(plan, shard)
            keys |= {row: str(corpus.key(row - bounds[shard])) for row in own.tolist()}
            if shown:
                texts |= {row + bounds[shard]: text for row, text in texts_by_row(corpus, own - bounds[shard]).items()}
    return keys, texts

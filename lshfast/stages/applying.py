"""The stage apply: the rows of a shard that are kept, and the tables of those that are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lshfast._common.atomic_files import all_or_none
from lshfast._common.errors import FormatError
from lshfast._common.visible import printable
from lshfast._engine.indexes.run_indexes import ARROW_KINDS
from lshfast._engine.options.stored import READING, StoredOptions
from lshfast._engine.parts.key_columns import keys_of, kind_of_ids
from lshfast._engine.parts.removals import Removals, kinds_of
from lshfast._engine.parts.task_files import figures_of, writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._io import write_rejects, write_rows
from lshfast.stages.sketching import restored_corpus
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.value_counts import check_plan


def apply(plan: StagePlan, shard: int) -> None:
    """Write all or none of the outputs of a shard; none if the run removes too many rows."""
    check_plan(plan)
    output, removed, rejected = (
        plan.output(name, shard) for name in ("output", "removed", "rejected")
    )
    assert output is not None
    with all_or_none(), writing(plan, "apply", shard) as writer:
        overall = figures_of(plan, "group", 0)
        corpus = restored_corpus(
            plan, shard, lines_before=overall["lines_before"][shard]
        )
        removals = _removals(plan, shard, overall, corpus.accepted)
        keep = np.ones(corpus.accepted, np.bool_)
        keep[removals.rows] = False
        engine = plan.engine
        if removed is not None:
            reading = {name: plan.content.get(name) for name in READING}
            options = engine.arguments | {"keep": plan.content["keep"]}
            stored = StoredOptions(options, reading)
            removals.write(removed, corpus, engine, stored, True)
        if rejected is not None:
            write_rejects(rejected, corpus.rejected, True)
        is_annotated = bool(plan.content["added"])
        write_rows(
            corpus,
            output,
            keep=np.ones_like(keep) if is_annotated else keep,
            annotations=removals.annotations(len(keep), engine) if is_annotated else {},
            kinds=removals.kinds,
            overwrite=True,
            threads=engine.threads,
        )
        writer.figures = {"kept": int(keep.sum()), "removed": len(removals.rows)}


def _removals(
    plan: StagePlan, shard: int, overall: Mapping[str, Any], rows: int
) -> Removals:
    """Return the removed rows of a shard of `rows` rows; `overall` has the figures of `group`."""
    entries = plan.content.get("index_keys")
    # The type of the keys of what is kept; see `kinds_of`.
    kept_type = overall["ids"] if entries in (None, overall["ids"]) else "str"
    first_row = overall["first_row"][shard]
    names = ["rows", "similarity", *([] if plan.against is None else ["earlier"])]
    columns: dict[str, list[Any]] = {"rows": [], "similarity": [], "earlier": []}
    kept_keys: list[str | int] = []
    for task in range(plan.tasks):
        with TaskFile(plan, "verify", task) as file:
            for part in file.ranges(shard):
                file.check_lengths(part, *names)
                file.check_rows(part["rows"], first_row, first_row + rows)
                for name in names:
                    columns[name].append(part[name])
                kept_keys += keys_of(file, part, len(part["rows"]), kept_type)
    removed_rows = np.concatenate([np.empty(0, np.int64), *columns["rows"]]) - first_row
    order = np.argsort(removed_rows)
    if (np.diff(removed_rows[order]) == 0).any():
        raise FormatError(
            f"{printable(plan.work)}: tasks of verify remove a row of shard {shard} twice"
        )
    similarity = np.concatenate([np.empty(0), *columns["similarity"]])
    earlier = None
    if plan.against is not None:
        none = np.empty(0, np.uint8)
        earlier = np.concatenate([none, *columns["earlier"]])[order] != 0
    return Removals(
        removed_rows[order],
        lambda places: [kept_keys[place] for place in order[places].tolist()],
        similarity[order],
        earlier,
        kinds_of(kind_of_ids(overall["ids"]), entries and ARROW_KINDS[entries]),
    )

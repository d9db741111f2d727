"""The stage apply: the rows of a shard that are kept, and the tables of those that are not."""

from __future__ import annotations

import numpy as np

from lshfast._common.atomic_files import all_or_none
from lshfast._common.types import BoolArray, Float64Array
from lshfast._engine.indexes.run_indexes import ARROW_KINDS
from lshfast._engine.options.stored import READING, StoredOptions
from lshfast._engine.parts.key_columns import keys_of, kind_of_ids
from lshfast._engine.parts.removals import Removals, kinds_of
from lshfast._engine.parts.task_files import figures_of, writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._io import Corpus, write_rejects, write_rows
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
        first_row = overall["first_row"][shard]
        entries = plan.content.get("index_keys")
        # The type of the keys of what is kept; see `kinds_of`.
        kept_type = overall["ids"] if entries in (None, overall["ids"]) else "str"
        kept_keys, similarity, earlier = _removed(
            plan, shard, corpus, first_row, kept_type
        )
        keep = np.ones(corpus.accepted, bool)
        keep[list(kept_keys)] = False
        rows = np.flatnonzero(~keep)
        removals = Removals(
            rows,
            lambda places: [kept_keys[row] for row in rows[places].tolist()],
            similarity[rows],
            None if plan.against is None else earlier[rows],
            kinds_of(kind_of_ids(overall["ids"]), entries and ARROW_KINDS[entries]),
        )
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
        writer.figures = {"kept": int(keep.sum()), "removed": len(rows)}


def _removed(
    plan: StagePlan, shard: int, corpus: Corpus, first_row: int, kept_type: str | None
) -> tuple[dict[int, str | int], Float64Array, BoolArray]:
    """Return the kept keys of the removed rows of a shard; of all rows the similarities, and
    whether an entry of an index is kept instead.
    """
    kept_keys: dict[int, str | int] = {}
    similarity = np.ones(corpus.accepted)
    earlier = np.zeros(corpus.accepted, np.bool_)
    for task in range(plan.tasks):
        with TaskFile(plan, "verify", task) as file:
            for part in file.ranges(shard):
                of_entries = [] if plan.against is None else ["earlier"]
                file.check_lengths(part, "rows", "similarity", *of_entries)
                file.check_rows(part["rows"], first_row, first_row + corpus.accepted)
                rows = part["rows"] - first_row
                keys = keys_of(file, part, len(rows), kept_type)
                kept_keys |= dict(zip(rows.tolist(), keys, strict=True))
                similarity[rows] = part["similarity"]
                if plan.against is not None:
                    earlier[rows] = part["earlier"]
    return kept_keys, similarity, earlier

"""The stage apply: the rows of a shard that are kept, and the tables of those that are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lshfast._common.atomic_files import all_or_none
from lshfast._common.types import Float64Array, Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.options.stored import KEY, READING, StoredOptions, write_beside
from lshfast._io import Corpus, write_rejects, write_rows, write_tables
from lshfast._io.selection import Columns, SparseColumn
from lshfast.stages.sketching import restored_corpus
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.task_files import figures_of, writing
from lshfast.stages.task_reader import TaskFile
from lshfast.stages.value_counts import check_plan
from lshfast.stages.verifying import keys_of, kind_of_ids


def apply(plan: StagePlan, shard: int) -> None:
    """Write all or none of the outputs of a shard; none if the run removes too many rows."""
    check_plan(plan)
    output, removed, rejected = (
        plan.output(name, shard) for name in ("output", "removed", "rejected")
    )
    assert output is not None
    with all_or_none(), writing(plan, "apply", shard) as writer:
        corpus = restored_corpus(plan, shard)
        overall = figures_of(plan, "group", 0)
        first_row = overall["first_row"][shard]
        kind = kind_of_ids(overall["ids"])
        kept_keys, similarity = _removed(plan, shard, corpus, first_row, overall["ids"])
        keep = np.ones(corpus.accepted, bool)
        keep[list(kept_keys)] = False
        removed_rows = np.flatnonzero(~keep)
        name = SIMILARITY_NAMES[plan.engine.measure]
        kinds = dict.fromkeys(("key", "kept_key", "duplicate_of"), kind) | {
            name: "double"
        }
        if removed is not None:
            table: Columns = {
                "key": [corpus.key(row) for row in removed_rows.tolist()],
                "kept_key": [kept_keys[row] for row in removed_rows.tolist()],
                name: similarity[removed_rows],
            }
            _write_removed(plan, removed, table, kinds)
        if rejected is not None:
            write_rejects(rejected, corpus.rejected, True)
        annotations = _annotations(plan, removed_rows, kept_keys, similarity)
        write_rows(
            corpus,
            output,
            keep=np.ones_like(keep) if annotations else keep,
            annotations=annotations,
            kinds=kinds,
            overwrite=True,
            threads=plan.engine.threads,
        )
        writer.figures = {"kept": int(keep.sum()), "removed": len(removed_rows)}


def _write_removed(
    plan: StagePlan, path: str, table: Columns, kinds: Mapping[str, str]
) -> None:
    """Write the table of the removed rows of a shard, and with it the options of the run."""
    reading = {name: plan.content.get(name) for name in READING}
    stored = StoredOptions(
        plan.engine.arguments | {"keep": plan.content["keep"]}, reading
    )
    write_tables(path, [table], True, kinds, {KEY: stored.as_json()})
    write_beside(path, stored, True)


def _annotations(
    plan: StagePlan,
    removed: Int64Array,
    kept_keys: Mapping[int, str | int],
    similarity: Float64Array,
) -> dict[str, SparseColumn]:
    """Return the columns that are added to the rows of a shard, of which `removed` are removed."""

    def keys(places: Int64Array) -> list[str | int]:
        return [kept_keys[row] for row in removed[places].tolist()]

    columns: list[Callable[[Int64Array], Any]] = [
        keys,
        lambda places: similarity[removed[places]],
    ]
    columns = columns if plan.content["added"] else []
    named_columns = zip(plan.content["added"], columns, strict=True)
    return {
        name: SparseColumn(removed, column, len(similarity))
        for name, column in named_columns
    }


def _removed(
    plan: StagePlan, shard: int, corpus: Corpus, first_row: int, ids: str | None
) -> tuple[dict[int, str | int], Float64Array]:
    """Return the kept keys of the removed rows of a shard, and the similarities of all rows."""
    kept_keys: dict[int, str | int] = {}
    similarity = np.ones(corpus.accepted)
    for task in range(plan.tasks):
        with TaskFile(plan, "verify", task) as file:
            for part in file.ranges(shard):
                rows = part["rows"] - first_row
                if (
                    len(part["similarity"]) != len(rows)
                    or (rows < 0).any()
                    or (rows >= len(similarity)).any()
                ):
                    raise file.fault("it has rows of another shard")
                keys = keys_of(file, part, len(rows), ids)
                kept_keys |= dict(zip(rows.tolist(), keys, strict=True))
                similarity[rows] = part["similarity"]
    return kept_keys, similarity

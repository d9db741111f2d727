"""The stage apply: the rows of a shard that are kept, and the tables of those that are not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from lshfast._common.atomic_files import all_or_none
from lshfast._common.errors import FormatError
from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import concatenated
from lshfast._common.visible import printable
from lshfast._engine.indexes.run_indexes import ARROW_KINDS
from lshfast._engine.options.stored import READING, StoredOptions
from lshfast._engine.parts.key_columns import keys_of, kind_of_ids
from lshfast._engine.parts.removals import Removals, kinds_of
from lshfast._engine.parts.task_files import figures_of, writing
from lshfast._engine.parts.task_reader import Arrays, TaskFile
from lshfast._io import write_rejects, write_rows
from lshfast._io.string_file import StringFile
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
    with (
        all_or_none(),
        TemporaryFolder() as folder,
        writing(plan, "apply", shard) as writer,
    ):
        overall = figures_of(plan, "group", 0)
        corpus = restored_corpus(
            plan, shard, lines_before=overall["lines_before"][shard]
        )
        removals = _removals(plan, shard, overall, corpus.accepted, folder)
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
    plan: StagePlan, shard: int, overall: Mapping[str, Any], rows: int, folder: str
) -> Removals:
    """Return the removed rows of a shard of `rows` rows.

    `overall` has the figures of `group`, and a folder gets the texts of earlier rows.
    """
    entries = _kind_of_entries(plan, overall)
    kind = kind_of_ids(overall["ids"])
    # The type of the keys of what is kept; see `kinds_of`.
    kept_type = overall["ids"] if entries in (None, kind) else "str"
    first_row = overall["first_row"][shard]
    names = ["rows", "similarity", *(["earlier"] if plan.compares else [])]
    texts = None
    if plan.earlier_shards and plan.content["removed"] is not None:
        texts = _EarlierTexts(os.path.join(folder, "earlier.strings"))
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
                if texts is not None:
                    texts.add(file, part)
    removed_rows = concatenated(columns["rows"]) - first_row
    order = np.argsort(removed_rows)
    if (np.diff(removed_rows[order]) == 0).any():
        raise FormatError(
            f"{printable(plan.work)}: tasks of verify remove a row of shard {shard} twice"
        )
    similarity = np.concatenate([np.empty(0), *columns["similarity"]])
    earlier = None
    estimated = None
    if plan.compares:
        none = np.empty(0, np.uint8)
        earlier = np.concatenate([none, *columns["earlier"]])[order] != 0
        if plan.earlier_shards:
            estimated = np.zeros(len(order), np.bool_)
    earlier_text = None
    if texts is not None:

        def earlier_text(place: int) -> str | None:
            return texts.of(int(order[place]))

    return Removals(
        removed_rows[order],
        lambda places: [kept_keys[place] for place in order[places].tolist()],
        similarity[order],
        earlier,
        kinds_of(kind, entries),
        estimated=estimated,
        earlier_text=earlier_text,
    )


def _kind_of_entries(plan: StagePlan, overall: Mapping[str, Any]) -> str | None:
    """Return Arrow's name for the type of the keys of earlier rows; None without these."""
    if plan.against is not None:
        return ARROW_KINDS[plan.content["index_keys"]]
    return kind_of_ids(overall["earlier_ids"]) if plan.earlier_shards else None


class _EarlierTexts:
    """The texts of the earlier rows of some removed rows, in a new file."""

    def __init__(self, path: str) -> None:
        self._file = StringFile(path)
        # The place in the file of each text, or -1.
        self._places: list[int] = []

    def add(self, file: TaskFile, part: Arrays) -> None:
        """Add the texts of a range of a file of verify."""
        lengths = part["text_lengths"].tolist()
        data = part["earlier_texts"].tobytes()
        sizes = [max(length, 0) for length in lengths]
        if len(lengths) != len(part["rows"]) or sum(sizes) != len(data):
            raise file.fault("its texts have other lengths")
        start = 0
        for length, size in zip(lengths, sizes, strict=True):
            self._places.append(len(self._file) if length >= 0 else -1)
            if length >= 0:
                text = data[start : start + size].decode("utf-8", "replace")
                self._file.append(text)
            start += size

    def of(self, number: int) -> str | None:
        """Return the text of a row, numbered in the order in which they were added, or None."""
        place = self._places[number]
        return str(self._file[place]) if place >= 0 else None

"""Sets that are spread over rows: a row has a group and an item, and the items of a group are a
set.

A column of weights makes them weighted sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

import numpy as np

from lshfast._common.arrow_columns import python_values
from lshfast._common.atomic_files import all_or_none
from lshfast._common.extras import optional
from lshfast._common.progress import Progress
from lshfast._common.rows import offsets_of
from lshfast._common.threads import quick_switches
from lshfast._common.types import Float64Array, Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.findings import ReadRows
from lshfast._engine.account.guard import check_result
from lshfast._engine.account.report import DedupResult
from lshfast._engine.clock import Clock, naming_stage
from lshfast._engine.columns import ArrowLists
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.inputs import Inputs, item_batches
from lshfast._engine.kinds import item_kind
from lshfast._engine.kinds.kind import Request
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.pairs.tables import Table, write_pairs
from lshfast._engine.plan import AnyPlan, Keep
from lshfast._engine.preference import check_keep
from lshfast._io import (
    Corpus,
    check_outputs,
    id_kind,
    write_rejects,
    write_rows,
    write_tables,
)
from lshfast._items.items import PointBatch
from lshfast._items.weighted import WeightedReader
from lshfast.kernels.text import Texts


class _RowGroups:
    """The groups of the rows of a corpus, in the order in which they occur.

    Attributes
    ----------
    keys : list
    of_row : ndarray of int64
        The number of the group of each row.
    """

    keys: list[Any]
    of_row: Int64Array

    def __init__(self, corpus: Corpus) -> None:
        numbers: dict[Any, int] = {}
        ids = cast(Sequence[Any], corpus.ids)
        self.of_row = np.fromiter(
            (numbers.setdefault(key, len(numbers)) for key in ids), np.int64, len(ids)
        )
        self.keys = list(numbers)

    def sets(self, items: Texts) -> ArrowLists:
        """Return the items of each group."""
        return ArrowLists(self._offsets, items.take(self._order))

    def weighted_sets(self, items: Texts, weights: Float64Array) -> PointBatch:
        """Return the items of each group with their weights, which add up."""
        return WeightedReader().sets(
            self._offsets, items.take(self._order), weights[self._order]
        )

    @property
    def _offsets(self) -> Int64Array:
        offsets = offsets_of(np.bincount(self.of_row, minlength=len(self.keys)))
        return offsets

    @property
    def _order(self) -> Int64Array:
        return np.argsort(self.of_row, kind="stable")

    def keys_of(self, groups: Int64Array) -> list[Any]:
        """Return the keys of some groups."""
        return [self.keys[group] for group in groups.tolist()]

    def key_bytes(self, groups: Int64Array) -> Int64Array:
        """Return zeros: the keys are in memory."""
        return np.zeros(len(groups), np.int64)


def read_items(column: Any) -> tuple[Texts, dict[int, str]]:
    """Return a column of strings or numbers as texts; a null, which is no item, is a bad row."""
    undecodable = dict[int, str]()
    if hasattr(column, "buffers"):
        column, undecodable = python_values(column.cast(optional("pyarrow").string()))
    values = (
        [column[row] for row in range(len(column))]
        if isinstance(column, Texts)
        else column
    )
    bad = {
        row: "the item is missing" for row, value in enumerate(values) if value is None
    }
    bad |= undecodable
    bad |= {
        row: "the item is not one value"
        for row, value in enumerate(values)
        if isinstance(value, (list, dict))
    }
    return Texts(
        [
            ""
            if row in bad
            else value
            if isinstance(value, (str, bytes))
            else str(value)
            for row, value in enumerate(values)
        ]
    ), bad


def run_groups(
    inputs: Inputs,
    outputs: Outputs,
    plan: AnyPlan,
    others: Mapping[str, object],
    *,
    keep: str = "first",
    progress: Progress | None = None,
) -> DedupResult:
    """Remove near-duplicate groups of rows.

    Parameters
    ----------
    inputs : Inputs
        With the columns of the groups, of the items and, for weighted sets, of their weights.
    outputs : Outputs
        All rows of a group are kept or removed. The tables of removed groups and of pairs have the
        groups as keys.
    plan : Plan or PointPlan
    others : mapping of str
        Options that a run over groups does not have: none may be given.
    keep : str, default "first"
        first or last, by the first row of a group; longest or shortest, by its number of rows.
    progress : callable, optional

    Returns
    -------
    DedupResult
        With a row for each group.
    """
    refused = {
        **others,
        "annotate": outputs.annotate,
        "html": outputs.page,
        "id_column": inputs.id_column,
    }
    for name, value in refused.items():
        if value:
            raise ValueError(
                f"{name} is not an option of a run with group_by (--group-by)"
            )
    if inputs.item is None:
        raise ValueError(
            "group_by needs item (--item), the column of the items of a group"
        )
    check_keep(cast(Keep, keep), 0, plan.measure)
    corpus = replace(inputs, column=inputs.item, id_column=inputs.group_by).open(
        convert=read_items,
        kind="set",
        unique_ids=False,
        order_column=inputs.weight,
        weights=inputs.weight is not None,
        output=None if outputs.rows is None else outputs.formats[0],
    )
    output_paths = [outputs.rows, outputs.pairs, outputs.removed, outputs.changes]
    output_paths.append(outputs.rejects if inputs.on_error == "skip" else None)
    files = [file.location for file in corpus.files]
    paths = check_outputs(output_paths, files, outputs.overwrite)
    if outputs.clusters is not None:
        outputs.clusters.check(files, paths)
    clock = Clock()
    with (
        nullcontext()
        if outputs.clusters is None
        else outputs.clusters.opened() as clusters,
        all_or_none(),
        quick_switches(),
    ):
        with clock.stage("read"):
            items = Texts.concatenate(
                list(item_batches(corpus, progress)) or [Texts([])]
            )
            groups = _RowGroups(corpus)

        def write_pairs_of(pairs: Iterable[PairArray]) -> None:
            _write_pairs(outputs, pairs, groups, plan, corpus)

        if inputs.weight is None:
            rows: Any = groups.sets(items)
        else:
            rows = groups.weighted_sets(items, np.asarray(corpus.order, np.float64))
        similar = None if outputs.pairs is None else write_pairs_of
        request = Request(keep=keep, similar=similar, progress=progress)
        part = item_kind(plan.kind).run([rows], plan, clock, request)
        read = ReadRows(groups.keys, len(groups.keys))
        result: DedupResult = part.found.result(part.plan, clock, read)
        result = replace(result, options=result.options | {"keep": keep})
        update = None
        if clusters is not None:
            update, result = clusters.updated_by(result)
        check_result(outputs.max_removed, result, None)
        with naming_stage("write"):
            _write(outputs, result, groups, corpus, plan, progress)
            if clusters is not None and update is not None:
                clusters.write(update, result.options, outputs.overwrite)
    return result


def _kinds(corpus: Corpus) -> dict[str, str]:
    keys = dict.fromkeys(("key", "kept_key", "key_i", "key_j"), id_kind(corpus))
    return keys | dict.fromkeys(SIMILARITY_NAMES.values(), "double")


def _write_pairs(
    outputs: Outputs,
    batches: Iterable[PairArray],
    groups: _RowGroups,
    plan: AnyPlan,
    corpus: Corpus,
) -> None:
    assert outputs.pairs is not None
    name = SIMILARITY_NAMES[plan.measure]
    write_pairs(outputs.pairs, batches, groups, name, outputs.overwrite, _kinds(corpus))


def _write(
    outputs: Outputs,
    result: DedupResult,
    groups: _RowGroups,
    corpus: Corpus,
    plan: AnyPlan,
    progress: Progress | None,
) -> None:
    removed_groups = np.flatnonzero(~result.keep)
    if outputs.removed:
        table: Table = {
            "key": groups.keys_of(removed_groups),
            "kept_key": groups.keys_of(result.keeper[removed_groups]),
            SIMILARITY_NAMES[plan.measure]: result.similarity[removed_groups],
        }
        write_tables(outputs.removed, [table], outputs.overwrite, _kinds(corpus))
    if outputs.rejects and corpus.layout.on_error == "skip":
        write_rejects(outputs.rejects, corpus.rejected, outputs.overwrite)
    if outputs.rows is not None:
        write_rows(
            corpus,
            outputs.rows,
            keep=result.keep[groups.of_row],
            overwrite=outputs.overwrite,
            threads=plan.threads,
        )

"""The stage verify: each part is deduplicated, and its removed rows are written by shard."""

from __future__ import annotations

import operator
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.atomic_files import all_or_none
from lshfast._common.errors import FormatError
from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import printable
from lshfast._engine.clock import Clock
from lshfast._engine.pairs.listed import lists_copies
from lshfast._engine.parts.components import Merged, PartRoom, compare_part
from lshfast._engine.parts.key_columns import key_columns, keys_of, kind_of_ids
from lshfast._engine.parts.spool import SpooledTexts
from lshfast._engine.parts.task_files import TaskWriter, figures_of, task_path, writing
from lshfast._engine.parts.task_reader import Arrays, TaskFile
from lshfast._engine.plan import Plan
from lshfast.join.groups import smallest
from lshfast.kernels.text import TextError, Texts
from lshfast.stages.collecting import NO_TEXT
from lshfast.stages.counting import engine_of
from lshfast.stages.earlier import rows_of_entries
from lshfast.stages.page_notes import add_removed_of_files, noted
from lshfast.stages.pairing import TaskPairs
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.value_counts import add_removed, largest_groups

# A task of several parts keeps the files of so many shards open; those of more shards are opened
# for each part.
MOST_OPEN = 128


class RemovedRows(NamedTuple):
    """Removed rows, ascending: numbers, keys of the rows kept instead, and similarities.

    Also the numbers of the rows kept instead, negative ones for entries of an index, and the codes
    of the removed rows if they are counted by values.
    """

    rows: Int64Array
    keys: list[str | int]
    similarity: Float64Array
    kept: Int64Array
    codes: Int64Array

    @classmethod
    def joined(cls, parts: Sequence[RemovedRows]) -> RemovedRows:
        """Return the rows of several parts, one after the other."""
        none = np.empty(0, np.int64)
        keys = list[str | int]()
        for part in parts:
            keys += part.keys
        return cls(
            np.concatenate([none, *(part.rows for part in parts)]),
            keys,
            np.concatenate([np.empty(0), *(part.similarity for part in parts)]),
            np.concatenate([none, *(part.kept for part in parts)]),
            np.concatenate([none, *(part.codes for part in parts)]),
        )


def verify(plan: StagePlan, task: int) -> None:
    """Run the parts of a task; write the removed rows, and if wanted all similar pairs."""
    overall = figures_of(plan, "group", 0)
    engine = engine_of(plan)
    low, high = overall["bounds"][task : task + 2]
    pairs = plan.output("pairs", task)
    figures = dict.fromkeys(
        ("removed", "copies", "candidates", "pairs", "groups", "largest"), 0
    )
    removed_of_parts: list[RemovedRows] = []
    with all_or_none(), writing(plan, "verify", task) as writer, ExitStack() as stack:
        files: list[TaskFile] = []
        place = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="lshfast-", ignore_cleanup_errors=True)
        )
        task_pairs = (
            None if pairs is None else TaskPairs(place, kind_of_ids(overall["ids"]))
        )
        if plan.shards <= MOST_OPEN:
            files = [
                stack.enter_context(TaskFile(plan, "collect", shard, low, high))
                for shard in range(plan.shards)
            ]
        for number in range(low, high):
            part = _gathered(plan, number, overall, files)
            signatures = os.path.join(place, f"part-{number}.signatures")
            room = PartRoom(overall["part_memory"], plan.budget.row_bytes, signatures)
            with _naming_texts(plan, part, overall["first_row"]):
                removed, part_figures = part.run(plan, engine, room, task_pairs)
            removed_of_parts.append(removed)
            for name, count in part_figures.items():
                combine = max if name == "largest" else operator.add
                figures[name] = combine(figures[name], count)
            del part
        earlier_removed = RemovedRows(
            *rows_of_entries(plan, task, overall["bounds"][-1], overall["first_row"])
        )
        figures["removed"] += len(earlier_removed.rows)
        figures["earlier"] = len(earlier_removed.rows)
        removed_of_parts.append(earlier_removed)
        if task_pairs is not None and pairs is not None:
            task_pairs.write(pairs, plan, overall["part_memory"])
        removed = RemovedRows.joined(removed_of_parts)
        _write_removed(writer, plan, removed, overall["first_row"])
        add_removed(writer, plan, removed.codes)
        groups = {}
        if plan.max_removed is not None:
            groups["largest_groups"] = largest_groups(
                removed.kept, removed.codes, removed.keys
            )
        first_of_files = overall["first_of_files"][:-1]
        add_removed_of_files(writer, plan, first_of_files, removed.rows)
        page = noted(removed.rows, removed.kept, removed.similarity, removed.keys)
        writer.figures = figures | groups | {"page": page}


@contextmanager
def _naming_texts(
    plan: StagePlan, part: PartRows, first_row: Sequence[int]
) -> Iterator[None]:
    """Raise the error of a text of a part as one that names the file of its shard."""
    try:
        yield
    except TextError as error:  # it was checked when it was sketched
        row = part.rows[part.compared[error.row]]
        shard = int(np.searchsorted(first_row, row, side="right")) - 1
        path = task_path(plan, "collect", shard, "data")
        raise FormatError(
            f"{printable(path)}: the text of row {row} is {error.reason}"
        ) from None


def _write_removed(
    writer: TaskWriter, plan: StagePlan, removed: RemovedRows, first_row: Sequence[int]
) -> None:
    """Write the removed rows of each shard, ascending, in a range of its number."""
    order = np.argsort(removed.rows)
    cuts = np.searchsorted(removed.rows[order], first_row).tolist()
    for shard in range(plan.shards):
        places = order[cuts[shard] : cuts[shard + 1]]
        if len(places):
            earlier = (removed.kept[places] < 0).view(np.uint8)
            writer.add(
                shard,
                rows=removed.rows[places],
                similarity=removed.similarity[places],
                **({} if plan.against is None else {"earlier": earlier}),
                **key_columns([removed.keys[place] for place in places.tolist()]),
            )


@dataclass(frozen=True)
class PartRows:
    """The rows of a part.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Ascending numbers in the run.
    chosen : ndarray of int64, shape (m,)
        The row of the part with the same bytes that is preferred.
    ranks : ndarray of int64
        Values by which rows are preferred, if it depends on a column; otherwise empty.
    keys : list of str or int
    compared : ndarray of int64
        The rows of the part whose texts are compared.
    texts : Texts
        Their texts.
    codes : ndarray of int64
        The values by which rows are counted, if they are.
    """

    rows: Int64Array
    chosen: Int64Array
    ranks: Int64Array
    keys: list[str | int]
    compared: Int64Array
    texts: Texts
    codes: Int64Array

    def run(
        self,
        plan: StagePlan,
        engine: Plan,
        room: PartRoom,
        task_pairs: TaskPairs | None = None,
    ) -> tuple[RemovedRows, dict[str, int]]:
        """Find the rows that are removed, and the figures of the part.

        `room` is as for `compare_part`, and `task_pairs` takes all similar pairs.
        """
        compared = self.compared
        merged = Merged(self.chosen, smallest(self.chosen))
        keep: Any = plan.keep if plan.order_column is None else self.ranks[compared]
        with (
            nullcontext()
            if task_pairs is None
            else task_pairs.part(self.rows, self.keys) as runs
        ):
            if len(compared):
                found_in_part = compare_part(
                    self.texts,
                    merged.first[compared],
                    engine,
                    Clock(),
                    room,
                    keep=keep,
                    pairs=runs,
                )
                merged.add(compared, found_in_part)
            findings, first = merged.findings()
            if runs is not None and lists_copies(engine):
                runs.add_copies(first)
        removed_rows = np.flatnonzero(~findings.kept)
        sizes = findings.group_sizes
        pairs = findings.pairs_found if runs is None else runs.added
        figures = {
            "candidates": findings.candidates,
            "pairs": pairs,
            "removed": len(removed_rows),
        }
        figures |= {
            "copies": findings.copies,
            "groups": int((sizes > 1).sum()),
            "largest": int(sizes.max()),
        }
        keepers = findings.groups.keeper[removed_rows]
        keys = [self.keys[place] for place in keepers.tolist()]
        codes = self.codes[removed_rows] if len(self.codes) else self.codes
        removed = RemovedRows(
            self.rows[removed_rows],
            keys,
            findings.groups.similarity[removed_rows],
            self.rows[keepers],
            codes,
        )
        return removed, figures


def _gathered(
    plan: StagePlan, number: int, overall: Mapping[str, Any], files: Sequence[TaskFile]
) -> PartRows:
    """Read the rows of a part from the files of all shards; `overall` has figures of `group`."""
    first_row = overall["first_row"]
    rows, compared_rows, lengths, ranks, codes = (
        [np.empty(0, np.int64)] for _ in range(5)
    )
    keys: list[str | int] = []
    with SpooledTexts(overall["part_memory"]) as spooled_texts:
        for shard in range(plan.shards):
            with (
                nullcontext(files[shard])
                if files
                else TaskFile(plan, "collect", shard, number, number + 1) as file
            ):
                for part in file.ranges(number):
                    rows_of_part = part["rows"]
                    columns = ["rows", "chosen", "lengths", *plan.ranks, *plan.codes]
                    file.check_lengths(part, *columns)
                    file.check_rows(rows_of_part, *first_row[shard : shard + 2])
                    _check_texts(file, part)
                    for column, name in (
                        (rows, "rows"),
                        (compared_rows, "chosen"),
                        (lengths, "lengths"),
                        (ranks, "ranks"),
                    ):
                        column.append(part[name])
                    codes += [part[name] for name in plan.codes]
                    keys += keys_of(file, part, len(rows_of_part), overall["ids"])
                    spooled_texts.add(part["texts"])
        numbers = np.concatenate(rows)
        all_lengths = np.concatenate(lengths)
        all_compared = np.concatenate(compared_rows)
        places = np.searchsorted(numbers, all_compared)
        if (
            not len(numbers)
            or (np.diff(numbers) <= 0).any()
            or (places == len(numbers)).any()
            or (numbers[places] != all_compared).any()
        ):
            raise file.fault("its rows do not fit those of other shards")
        compared = np.flatnonzero(all_lengths != NO_TEXT)
        texts = spooled_texts.texts(all_lengths[compared])
    return PartRows(
        numbers,
        places,
        np.concatenate(ranks),
        keys,
        compared,
        texts,
        np.concatenate(codes),
    )


def _check_texts(file: TaskFile, part: Arrays) -> None:
    """Raise FormatError if the texts of a range have other lengths than its rows say."""
    lengths = part["lengths"]
    if (lengths < NO_TEXT).any():
        raise file.fault("it has negative lengths")
    if sum(length for length in lengths.tolist() if length != NO_TEXT) != len(
        part["texts"]
    ):
        raise file.fault("its texts have other lengths")

"""The stage verify: each part is deduplicated, and its removed rows are written by shard."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.atomic_files import all_or_none
from lshfast._common.errors import FormatError
from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import run_begins
from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import printable
from lshfast._engine.against import Earlier
from lshfast._engine.clock import Clock
from lshfast._engine.pairs.listed import lists_copies
from lshfast._engine.parts.components import (
    EarlierOfPart,
    Merged,
    PartRoom,
    compare_part,
)
from lshfast._engine.parts.key_columns import key_columns, keys_of, kind_of_ids
from lshfast._engine.parts.spool import SpooledTexts
from lshfast._engine.parts.task_files import (
    RANGE_BYTES,
    TaskWriter,
    figures_of,
    task_path,
    writing,
)
from lshfast._engine.parts.task_reader import Arrays, TaskFile
from lshfast._engine.plan import Plan
from lshfast._io.string_file import StringFile
from lshfast.join.groups import smallest
from lshfast.kernels.text import TextError, Texts
from lshfast.stages.collecting import NO_TEXT
from lshfast.stages.counting import engine_of
from lshfast.stages.earlier import number_of_earlier, rows_of_entries
from lshfast.stages.page_notes import add_removed_of_files, noted
from lshfast.stages.pairing import TaskPairs
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.value_counts import add_removed, largest_groups

# A task of several parts keeps the files of so many shards open; those of more shards are opened
# for each part.
MOST_OPEN = 128


class RemovedRows(NamedTuple):
    """Removed rows, ascending: numbers, keys of the rows kept instead, and similarities.

    Also the numbers of the rows kept instead, negative ones for entries of an index and for earlier
    rows (see `number_of_earlier`); the codes of the removed rows if they are counted by values; and
    the places of the texts of earlier rows among those that the task has read, or -1.
    """

    rows: Int64Array
    keys: list[str | int]
    similarity: Float64Array
    kept: Int64Array
    codes: Int64Array
    texts: Int64Array

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
            np.concatenate([none, *(part.texts for part in parts)]),
        )


def verify(plan: StagePlan, task: int) -> None:
    """Run the parts of a task; write the removed rows, and if wanted all similar pairs."""
    overall = figures_of(plan, "group", 0)
    engine = engine_of(plan)
    low, high = overall["bounds"][task : task + 2]
    pairs = plan.output("pairs", task)
    figures = dict.fromkeys(
        ("removed", "earlier", "copies", "candidates", "pairs", "groups", "largest"), 0
    )
    removed_of_parts: list[RemovedRows] = []
    with (
        all_or_none(),
        writing(plan, "verify", task) as writer,
        TemporaryFolder() as place,
        ExitStack() as stack,
    ):
        files: list[TaskFile] = []
        task_pairs = (
            None if pairs is None else TaskPairs(place, kind_of_ids(overall["ids"]))
        )
        texts = None
        if plan.earlier_shards and plan.content["removed"] is not None:
            texts = StringFile(os.path.join(place, "earlier.strings"))
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
                removed, part_figures = part.run(plan, engine, room, task_pairs, texts)
            removed_of_parts.append(removed)
            for name, count in part_figures.items():
                combine = max if name == "largest" else operator.add
                figures[name] = combine(figures[name], count)
            del part
        of_entries = rows_of_entries(
            plan, task, overall["bounds"][-1], overall["first_row"]
        )
        no_texts = np.full(len(of_entries.rows), -1, np.int64)
        earlier_removed = RemovedRows(*of_entries, no_texts)
        figures["removed"] += len(earlier_removed.rows)
        figures["earlier"] += len(earlier_removed.rows)
        removed_of_parts.append(earlier_removed)
        if task_pairs is not None and pairs is not None:
            task_pairs.write(pairs, plan, overall["part_memory"])
        removed = RemovedRows.joined(removed_of_parts)
        _write_removed(writer, plan, removed, overall["first_row"], texts)
        add_removed(writer, plan, removed.codes)
        groups = {}
        if plan.max_removed is not None:
            groups["largest_groups"] = largest_groups(
                removed.kept, removed.codes, removed.keys
            )
        first_of_files = overall["first_of_files"][:-1]
        add_removed_of_files(writer, plan, first_of_files, removed.rows)
        are_rows = plan.earlier_shards > 0
        page = noted(
            removed.rows, removed.kept, removed.similarity, removed.keys, are_rows
        )
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
    writer: TaskWriter,
    plan: StagePlan,
    removed: RemovedRows,
    first_row: Sequence[int],
    texts: StringFile | None,
) -> None:
    """Write the removed rows of each shard, ascending, in ranges of its number.

    `texts` has the texts of earlier rows, if they are written too.
    """
    order = np.argsort(removed.rows)
    cuts = np.searchsorted(removed.rows[order], first_row).tolist()
    for shard in range(plan.new_shards):
        of_shard = order[cuts[shard] : cuts[shard + 1]]
        for places in _portions_by_texts(of_shard, removed.texts, texts):
            earlier = (removed.kept[places] < 0).view(np.uint8)
            writer.add(
                shard,
                rows=removed.rows[places],
                similarity=removed.similarity[places],
                **({"earlier": earlier} if plan.compares else {}),
                **_text_columns(removed.texts[places], texts),
                **key_columns([removed.keys[place] for place in places.tolist()]),
            )


def _portions_by_texts(
    places: Int64Array, text_places: Int64Array, texts: StringFile | None
) -> list[Int64Array]:
    """Return removed rows in portions whose texts have about RANGE_BYTES."""
    if texts is None:
        return [places] if len(places) else []
    nbytes = _lengths_of(text_places[places], texts)
    before = np.cumsum(nbytes, dtype=np.int64) - nbytes
    begins = np.flatnonzero(run_begins(before // RANGE_BYTES))
    return np.split(places, begins[1:])[: len(begins)]


def _lengths_of(places: Int64Array, texts: StringFile) -> Int64Array:
    """Return the bytes of texts, 0 for a place of -1."""
    lengths = np.zeros(len(places), np.int64)
    lengths[places >= 0] = texts.lengths(places[places >= 0])
    return lengths


def _text_columns(places: Int64Array, texts: StringFile | None) -> dict[str, Any]:
    """Return the columns with the texts at some places; without texts there are none."""
    if texts is None:
        return {}
    lengths = _lengths_of(places, texts)
    lengths[places < 0] = NO_TEXT
    data = "".join(texts.take(places[places >= 0])).encode()
    return {
        "text_lengths": lengths,
        "earlier_texts": np.frombuffer(data, np.uint8),
    }


@dataclass(frozen=True)
class PartRows:
    """The rows of a part.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Ascending numbers in the run.
    new : int
        The number of rows that are not earlier ones, which come first.
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
    new: int
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
        texts: StringFile | None = None,
    ) -> tuple[RemovedRows, dict[str, int]]:
        """Find the rows that are removed, and the figures of the part.

        `room` is as for `compare_part`; `task_pairs` takes all similar pairs, and `texts` those of
        the earlier rows that remove others.
        """
        new = self.new
        new_texts = int(np.searchsorted(self.compared, new))
        compared = self.compared[:new_texts]
        earlier_rows = None
        if new_texts < len(self.compared):
            earlier_rows = EarlierOfPart(
                self.texts.take(slice(new_texts, None)), self.compared[new_texts:]
            )
        merged = Merged(self.chosen[:new], smallest(self.chosen[:new]))
        keep: Any = plan.keep if plan.order_column is None else self.ranks[compared]
        with (
            nullcontext()
            if task_pairs is None
            else task_pairs.part(self.rows[:new], self.keys[:new]) as runs
        ):
            if len(compared):
                found_in_part = compare_part(
                    self.texts.take(slice(new_texts)),
                    merged.first[compared],
                    engine,
                    Clock(),
                    room,
                    keep=keep,
                    pairs=runs,
                    earlier=earlier_rows,
                )
                merged.add(compared, found_in_part)
            removed_for_earlier, places, similarity = merged.earlier()
            earlier = Earlier(removed_for_earlier, places.tolist(), similarity)
            findings, first = merged.findings(earlier=earlier)
            if runs is not None and lists_copies(engine):
                runs.add_copies(first)
        removed_rows = np.flatnonzero(~findings.kept)
        sizes = findings.group_sizes
        pairs = findings.pairs_found if runs is None else runs.added
        figures = {
            "candidates": findings.candidates,
            "pairs": pairs,
            "removed": len(removed_rows),
            "earlier": len(places),
        }
        figures |= {
            "copies": findings.copies,
            "groups": int((sizes > 1).sum()),
            "largest": int(sizes.max()),
        }
        keepers = findings.groups.keeper[removed_rows]
        is_earlier = keepers < 0
        keepers[is_earlier] = places
        keys = [self.keys[place] for place in keepers.tolist()]
        codes = self.codes[removed_rows] if len(self.codes) else self.codes
        kept_rows = self.rows[keepers]
        kept_rows[is_earlier] = number_of_earlier(kept_rows[is_earlier])
        text_places = np.full(len(removed_rows), -1, np.int64)
        if texts is not None and engine.of_texts is not None:
            text_places[is_earlier] = self._add_texts(places, texts)
        removed = RemovedRows(
            self.rows[removed_rows],
            keys,
            findings.groups.similarity[removed_rows],
            kept_rows,
            codes,
            text_places,
        )
        return removed, figures

    def _add_texts(self, places: Int64Array, texts: StringFile) -> Int64Array:
        """Add the texts of some rows to a file, and return the place of each there."""
        different_places, numbers = np.unique(places, return_inverse=True)
        first = len(texts)
        for place in np.searchsorted(self.compared, different_places).tolist():
            texts.append(self.texts[place].decode("utf-8", "replace"))
        return first + numbers.reshape(-1)


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
            ids = overall["ids" if shard < plan.new_shards else "earlier_ids"]
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
                    keys += keys_of(file, part, len(rows_of_part), ids)
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
        int(np.searchsorted(numbers, first_row[plan.new_shards])),
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

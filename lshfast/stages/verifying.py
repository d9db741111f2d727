"""The stage verify: each part is deduplicated by itself, and what is removed is written by
shard.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.atomic_files import all_or_none, printable
from lshfast._common.errors import FormatError
from lshfast._common.types import Float64Array, Int64Array
from lshfast._engine.clock import Clock
from lshfast._engine.listed_pairs import lists_copies
from lshfast._engine.parts import Merged, compare_part
from lshfast._engine.plan import Plan
from lshfast._engine.spool import SpooledTexts
from lshfast.join.groups import smallest
from lshfast.kernels.text import TextError, Texts
from lshfast.stages.collecting import NO_TEXT
from lshfast.stages.counting import engine_of
from lshfast.stages.page_notes import add_removed_of_files, noted
from lshfast.stages.pairing import TaskPairs
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.task_files import figures_of, task_path, writing
from lshfast.stages.task_reader import Arrays, TaskFile
from lshfast.stages.value_counts import add_removed, largest_groups

# A task of several parts keeps the files of so many shards open; those of more shards are opened
# for each part.
MOST_OPEN = 128


class RemovedRows(NamedTuple):
    """Rows that are removed, ascending: their numbers, the keys of the rows kept instead, and the
    similarities.

    Also the numbers of the rows kept instead, and the codes of the removed rows if they are counted
    by values.
    """

    rows: Int64Array
    keys: list[str | int]
    similarity: Float64Array
    kept: Int64Array
    codes: Int64Array


def verify(plan: StagePlan, task: int) -> None:
    """Run the parts of a task, and write the rows that are removed, and all similar pairs if they
    are wanted.
    """
    overall = figures_of(plan, "group", 0)
    engine = engine_of(plan)
    low, high = overall["bounds"][task : task + 2]
    pairs = plan.output("pairs", task)
    figures = dict.fromkeys(("removed", "copies", "candidates", "pairs", "groups", "largest"), 0)
    found: list[RemovedRows] = []
    with all_or_none(), writing(plan, "verify", task) as writer, ExitStack() as stack:
        files: list[TaskFile] = []
        place = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="lshfast-", ignore_cleanup_errors=True)
        )
        every = None if pairs is None else TaskPairs(place, kind_of_ids(overall["ids"]))
        if plan.shards <= MOST_OPEN:
            files = [
                stack.enter_context(TaskFile(plan, "collect", shard, low, high))
                for shard in range(plan.shards)
            ]
        for number in range(low, high):
            part = _gathered(plan, number, overall, files)
            large = (
                part.texts.nbytes + len(part.compared) * plan.budget.row_bytes
                > overall["part_memory"]
            )
            signatures = os.path.join(place, f"part-{number}.signatures") if large else None
            try:
                removed, more = part.run(plan, engine, signatures, every)
            except TextError as error:  # it was checked when it was sketched
                row = part.rows[part.compared[error.row]]
                shard = int(np.searchsorted(overall["first_row"], row, side="right")) - 1
                path = task_path(plan, "collect", shard, "data")
                raise FormatError(
                    f"{printable(path)}: the text of row {row} is {error.reason}"
                ) from None
            found.append(removed)
            figures |= {
                name: figures[name] + count for name, count in more.items() if name != "largest"
            }
            figures["largest"] = max(figures["largest"], more["largest"])
            del part
        if every is not None and pairs is not None:
            every.write(pairs, plan, overall["part_memory"])
        rows = np.concatenate([np.empty(0, np.int64), *(some.rows for some in found)])
        similarity = np.concatenate([np.empty(0), *(some.similarity for some in found)])
        keys = [key for some in found for key in some.keys]
        order = np.argsort(rows)
        cuts = np.searchsorted(rows[order], overall["first_row"]).tolist()
        for shard in range(plan.shards):
            own = order[cuts[shard] : cuts[shard + 1]]
            if len(own):
                of_shard = [str(keys[place]).encode() for place in own.tolist()]
                writer.add(
                    shard,
                    rows=rows[own],
                    similarity=similarity[own],
                    key_lengths=np.array([len(key) for key in of_shard], np.int64),
                    keys=np.frombuffer(b"".join(of_shard), np.uint8),
                )
        kept, codes = (
            np.concatenate([np.empty(0, np.int64), *columns])
            for columns in ((some.kept for some in found), (some.codes for some in found))
        )
        add_removed(writer, plan, codes)
        groups = (
            {}
            if plan.max_removed is None
            else {"largest_groups": largest_groups(kept, codes, keys)}
        )
        add_removed_of_files(writer, plan, overall["first_of_files"][:-1], rows)
        writer.figures = figures | groups | {"page": noted(rows, kept, similarity)}


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
        self, plan: StagePlan, engine: Plan, signatures: str | None, every: TaskPairs | None = None
    ) -> tuple[RemovedRows, dict[str, int]]:
        """Find the rows that are removed, and the figures of the part.

        `signatures` is as for `compare_part`, and `every` takes all similar pairs.
        """
        own = self.compared
        whole = Merged(self.chosen, smallest(self.chosen))
        keep: Any = plan.keep if plan.order_column is None else self.ranks[own]
        with nullcontext() if every is None else every.part(self.rows, self.keys) as runs:
            if len(own):
                found_in_part = compare_part(
                    self.texts,
                    whole.first[own],
                    engine,
                    Clock(),
                    keep=keep,
                    pairs=runs,
                    signatures=signatures,
                )
                whole.add(own, found_in_part)
            found, first = whole.findings()
            if runs is not None and lists_copies(engine):
                runs.add_copies(first)
        gone = np.flatnonzero(~found.kept)
        sizes = found.group_sizes
        pairs = found.pairs_found if runs is None else runs.added
        figures = {"candidates": found.candidates, "pairs": pairs, "removed": len(gone)}
        figures |= {
            "copies": found.copies,
            "groups": int((sizes > 1).sum()),
            "largest": int(sizes.max()),
        }
        kept = found.groups.keeper[gone]
        keys = [self.keys[place] for place in kept.tolist()]
        codes = self.codes[gone] if len(self.codes) else self.codes
        removed = RemovedRows(
            self.rows[gone], keys, found.groups.similarity[gone], self.rows[kept], codes
        )
        return removed, figures


def _gathered(
    plan: StagePlan, number: int, overall: Mapping[str, Any], files: Sequence[TaskFile]
) -> PartRows:
    """Read the rows of a part from the files of all shards, which may be open; `overall` has the
    figures of `group`.
    """
    first_row = overall["first_row"]
    rows, chosen, lengths, ranks, codes = ([np.empty(0, np.int64)] for _ in range(5))
    keys: list[str | int] = []
    with SpooledTexts(overall["part_memory"]) as held:
        for shard in range(plan.shards):
            with (
                nullcontext(files[shard])
                if files
                else TaskFile(plan, "collect", shard, number, number + 1) as file
            ):
                for part in file.ranges(number):
                    own = part["rows"]
                    _check(
                        file,
                        part,
                        [*plan.ranks, *plan.codes, "chosen", "lengths"],
                        *first_row[shard : shard + 2],
                    )
                    for column, name in (
                        (rows, "rows"),
                        (chosen, "chosen"),
                        (lengths, "lengths"),
                        (ranks, "ranks"),
                    ):
                        column.append(part[name])
                    codes += [part[name] for name in plan.codes]
                    keys += keys_of(file, part, len(own), overall["ids"])
                    held.add(part["texts"])
        numbers = np.concatenate(rows)
        every = np.concatenate(lengths)
        wanted = np.concatenate(chosen)
        places = np.searchsorted(numbers, wanted)
        if (
            not len(numbers)
            or (np.diff(numbers) <= 0).any()
            or (places == len(numbers)).any()
            or (numbers[places] != wanted).any()
        ):
            raise file.fault("its rows do not fit those of other shards")
        compared = np.flatnonzero(every != NO_TEXT)
        texts = held.texts(every[compared])
    return PartRows(
        numbers, places, np.concatenate(ranks), keys, compared, texts, np.concatenate(codes)
    )


def _check(file: TaskFile, part: Arrays, columns: list[str], low: int, high: int) -> None:
    """Raise FormatError if the columns of a range, of which these have a value for each row, do not
    fit each other.
    """
    rows = part["rows"]
    lengths = part["lengths"]
    if any(len(part[name]) != len(rows) for name in columns) or (lengths < NO_TEXT).any():
        raise file.fault("its columns have different lengths")
    if (rows < low).any() or (rows >= high).any():
        raise file.fault("it has rows of another shard")
    if sum(length for length in lengths.tolist() if length != NO_TEXT) != len(part["texts"]):
        raise file.fault("its texts have other lengths")


def keys_of(file: TaskFile, part: Arrays, rows: int, ids: str | None) -> list[str | int]:
    """Return the keys in a range; `ids` is the name of the type of the ids."""
    lengths = part["key_lengths"].tolist()
    data = part["keys"].tobytes()
    if len(lengths) != rows or any(length < 0 for length in lengths) or sum(lengths) != len(data):
        raise file.fault("its keys have other lengths")
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    convert: Callable[[bytes], str | int] = int if ids == "int" else bytes.decode
    try:
        return [
            convert(data[end - length : end]) for length, end in zip(lengths, ends, strict=True)
        ]
    except ValueError as error:
        raise file.fault(f"its keys are damaged: {error}") from None


def kind_of_ids(ids: str | None) -> str:
    """Return Arrow's name for the type of the keys, given the name of the type of the ids."""
    return "int64" if ids == "int" else "string"

"""The plan of a run in stages, which all tasks share: plan.json in the work folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lshfast._common.atomic_files import atomic_file
from lshfast._common.code_version import check_code_version, code_version
from lshfast._common.container import Manifest
from lshfast._common.private_files import check_folder, private
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.visible import printable
from lshfast._engine.budget import Budget
from lshfast._engine.inputs import policy_of, state_of
from lshfast._engine.parts.earlier_columns import COLUMNS_OF_EARLIER
from lshfast._engine.plan import Plan, described_plan
from lshfast._io import Corpus, DataError, Output
from lshfast._io.cells import CellType
from lshfast._io.file_parts import part_of
from lshfast._io.files import File, Layout, reason_of
from lshfast._io.sources import check_local, source_of
from lshfast._items.sets import SetReader
from lshfast.kernels.text import HashKey

PLAN_FILE = "plan.json"
_MANIFEST = Manifest(7, "plan")

MOST_SHARDS = 1 << 20

# The columns of the data files of each stage; see `TaskFolder`.
COLUMNS: dict[str, dict[str, str]] = {
    "count": {"places": "<u4"},
    "recount": {"tokens": "<u8", "counts": "<i8"},
    "sketch": {
        "prints": "<u8",
        "keys": "<u8",
        "lines": "<i8",
        "starts": "<i8",
        "id_marks": "<u8",
        "orders": "<u8",
        "values": "|u1",
    },
    "band": {"records": "<u8"},
    "join": {"links": "<u8"},
    "group": {
        "rows": "<i8",
        "parts": "<i8",
        "chosen": "<i8",
        "ranks": "<i8",
        "sampled": "<i8",
        "read": "|u1",
    },
    "collect": {
        "rows": "<i8",
        "chosen": "<i8",
        "ranks": "<i8",
        "lengths": "<i8",
        "key_lengths": "<i8",
        "keys": "|u1",
        "texts": "|u1",
    },
    "verify": {"rows": "<i8", "similarity": "<f8", "key_lengths": "<i8", "keys": "|u1"},
    "apply": {},
}

# Further columns, if rows are counted by the values of a column.
COLUMNS_OF_VALUES: dict[str, dict[str, str]] = {
    "sketch": {"codes": "<i8", "name_lengths": "<i8", "names": "|u1"},
    "group": {"counts": "<i8", "name_lengths": "<i8", "names": "|u1"},
    "collect": {"codes": "<i8"},
    "verify": {"codes": "<i8", "counts": "<i8"},
}

# Further columns, if rows are compared with earlier ones: with the entries of an index, or with
# texts.
COLUMNS_AGAINST: dict[str, dict[str, str]] = {
    "sketch": COLUMNS_OF_EARLIER,
    "collect": {"similarity": "<f8"},
    "verify": {"earlier": "|u1"},
}
COLUMNS_AGAINST_TEXTS: dict[str, dict[str, str]] = {
    "verify": {"text_lengths": "<i8", "earlier": "|u1", "earlier_texts": "|u1"},
}


@dataclass(frozen=True)
class StagePlan:
    """The plan of a run.

    Attributes
    ----------
    work : str
        The work folder.
    content : dict
        What plan.json holds.
    stamp : int
        The checksum of the content; all files of the run bear it.
    """

    work: str
    content: dict[str, Any]
    stamp: int

    @cached_property
    def indexes(self) -> dict[str, UInt64Array]:
        """The indexes of stages that were read: see `lshfast._engine.parts.stage_index`."""
        return {}

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """The columns of the data files of each stage, with their types."""
        further_columns = [
            *([] if self.by is None else [COLUMNS_OF_VALUES]),
            *([] if self.against is None else [COLUMNS_AGAINST]),
            *([COLUMNS_AGAINST_TEXTS] if self.earlier_shards else []),
        ]
        columns = {}
        for stage, of_stage in COLUMNS.items():
            for further in further_columns:
                of_stage = further.get(stage, {}) | of_stage
            # Wider types come first.
            order = sorted(of_stage, key=lambda name: of_stage[name] == "|u1")
            columns[stage] = {name: of_stage[name] for name in order}
        return columns

    @cached_property
    def engine(self) -> Plan:
        """The parameters of sketching, banding and verification."""
        return replace(
            described_plan(self.content["parameters"], self.content["threads"]),
            kind=self.content.get("kind", "text"),
            capped=True,
        )

    @cached_property
    def budget(self) -> Budget:
        """The memory of a task."""
        pairs = self.content["pairs"] is not None
        formats = {file[2] for file in self.content["files"]}
        formats.update(self.content["suffixes"].values())
        return Budget(
            self.content["memory"],
            self.engine,
            pairs,
            parquet="parquet" in formats,
            against=self.compares,
            by=self.by is not None,
        )

    @property
    def shards(self) -> int:
        """The number of tasks of the stages that read inputs."""
        return len(self.content["shards"])

    @property
    def earlier_shards(self) -> int:
        """The number of the last shards, whose rows are earlier ones and only removed for."""
        return int(self.content.get("earlier_shards", 0))

    @property
    def new_shards(self) -> int:
        """The number of the shards whose rows are removed or written."""
        return self.shards - self.earlier_shards

    @property
    def compares(self) -> bool:
        """Whether rows are compared with earlier ones."""
        return self.against is not None or self.earlier_shards > 0

    @property
    def tasks(self) -> int:
        """The number of tasks of the stages join and verify."""
        return int(self.content["tasks"])

    @property
    def keep(self) -> str:
        """The policy by which rows are kept."""
        return str(self.content["keep"])

    @property
    def order_column(self) -> str | None:
        """The column by whose values rows are kept, if `keep` names one."""
        return policy_of(self.keep)[1]

    @property
    def by(self) -> str | None:
        """The column by whose values rows are counted."""
        return None if self.content.get("by") is None else str(self.content["by"])

    @property
    def against(self) -> str | None:
        """The path of the index of earlier rows."""
        path = self.content.get("against")
        return None if path is None else str(path)

    @property
    def max_removed(self) -> float | None:
        """The largest share of rows that may be removed."""
        return (
            None
            if self.content.get("max_removed") is None
            else float(self.content["max_removed"])
        )

    @property
    def codes(self) -> list[str]:
        """The name of the column of values in the files of tasks, if they have one."""
        return [] if self.by is None else ["codes"]

    @property
    def ranks(self) -> list[str]:
        """The name of the column of ranks in the files of tasks, if they have one."""
        return [] if self.order_column is None else ["ranks"]

    @property
    def keys(self) -> tuple[HashKey, HashKey]:
        """The secret keys by which equal texts, and equal ids, are recognized."""
        one, other = self.content["keys"]
        return HashKey(*one), HashKey(*other)

    @property
    def common_numbers(self) -> tuple[int, int, int, int]:
        """The secret key for counting shingles; only if common shingles are ignored."""
        a, c, e, words = self.content["common"]
        return a, c, e, words

    def output(self, name: str, task: int) -> Output | None:
        """Return the path of a task's rows ("output") or table; None if it is not written."""
        folder = self.content[name]
        suffix = self.content["suffixes"].get(name)
        return folder and Output(
            os.path.join(folder, f"{task:05}.{suffix}"), defuse=self.content["defuse"]
        )

    def begins_inside(self, shard: int) -> bool:
        """Return whether earlier shards have the beginning of the first file of a shard."""
        _, *part = self.content["shards"][shard][0]
        return bool(part) and part[0] > 0

    def files_of_parts(self) -> Int64Array:
        """Return the number of the file of each file, or part of a file, of all shards."""
        parts = [part for of_shard in self.content["shards"] for part in of_shard]
        return np.array([part[0] for part in parts], np.int64)

    def corpus(
        self,
        shard: int,
        checked: bool = True,
        lines_before: int | None = None,
        reader: SetReader | None = None,
    ) -> Corpus:
        """Return the unread corpus of a shard; rows that are too long for memory are bad.

        Its files are compared with the plan if `checked`. `lines_before` are the lines of its first
        file that are in earlier shards, if they are known. `reader` reads sets; by default a new
        one.

        Raises
        ------
        DataError
            If one of its files is not as it was when the plan was made.
        """
        content = self.content
        reader = reader or self.engine.reader()
        of_sets: dict[str, Any] = {}
        if reader is not None:
            of_sets = {"kind": "set", "batch_bytes": reader.batch_bytes}
        layout = Layout(
            content["column"],
            content["id_column"],
            self.order_column,
            on_error="stop" if content["rejected"] is None else "skip",
            encoding=content["encoding"],
            max_row_bytes=content["max_row_bytes"],
            zstd_window=content.get("zstd_window"),
            output=content["suffixes"]["output"].partition(".")[0],
            delimiter=content["delimiter"],
            max_columns=content["max_columns"],
            added=tuple(content["added"]),
            by=self.by,
            **of_sets,
        )
        if shard >= self.new_shards:  # a row may be in the files of several months
            layout = replace(
                layout,
                **content["earlier_columns"],
                order_column=None,
                by=None,
                output=None,
                added=(),
                unique_ids=False,
            )
        files = []
        for number, *part in content["shards"][shard]:
            place, name, format, codec, state = content["files"][number]
            try:
                source = source_of(place)
                size, version = source.state() if checked else (state[0], state[1])
            except OSError as error:
                raise DataError(
                    name, None, f"cannot be read: {reason_of(error)}"
                ) from error
            file = File(
                source.path,
                name,
                format,
                codec,
                source,
                size,
                version,
                layout,
            )
            if checked and state_of(file) != state:
                raise file.fault(
                    None, "has changed since the plan of this run was made"
                )
            if part:
                begin, end = part
                file = part_of(file, begin, end, lines_before)
            files.append(file)
        is_earlier = shard >= self.new_shards
        types_name = "earlier_cell_types" if is_earlier else "cell_types"
        cell_types = {
            name: CellType(kind, source)
            for name, kind, source in content.get(types_name, [])
        }
        convert = None if reader is None else reader.read
        corpus = Corpus(layout, files, convert, cell_types=cell_types)
        corpus.limit_rows(
            self.budget.longest_row(0),
            "more memory (--memory of the plan) raises this limit",
        )
        return corpus


def write_stage_plan(work: str, content: dict[str, Any]) -> StagePlan:
    """Write the plan of a run to its work folder, with the version of this code, and return it."""
    content = {**content, "version": code_version()}
    path = os.path.join(work, PLAN_FILE)
    with atomic_file(path) as file:
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), 0o600)  # it holds the keys of the run
        file.write(_MANIFEST.pack(content, indent=None))
    return read_stage_plan(work)


def read_stage_plan(work: str) -> StagePlan:
    """Return the plan in a work folder.

    Raises
    ------
    ValueError
        If there is none, or the folder is at a URL.
    FormatError
        If it is damaged, or another version of lshfast made it.
    OSError
        If the folder belongs to another user, or other users can write to it.
    """
    check_local(work, "the work folder must be a local folder")
    path = os.path.join(work, PLAN_FILE)
    try:
        with open(path, "rb", opener=private) as file:
            check_folder(work)
            (content,) = _MANIFEST.unpack(file.read(), path)
    except FileNotFoundError:
        raise ValueError(
            f"{printable(work)}: there is no plan in this folder: `lshfast stage plan` makes it"
        ) from None
    check_code_version(
        content.get("version"), f"{printable(path)}: the maker of this plan"
    )
    return StagePlan(work, content, _MANIFEST.sum_of(content))

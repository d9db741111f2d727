"""The plan of a run in stages: checked parameters, divided inputs, and new folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from heapq import heapify, heapreplace
from itertools import pairwise
from typing import Any, NamedTuple, get_args

import numpy as np

from lshfast._common.private_files import make_folder
from lshfast._common.run_key import draw_hash_numbers
from lshfast._common.visible import printable
from lshfast._engine.account.guard import check_max_removed
from lshfast._engine.indexes.plan_of_index import check_earlier, check_indexed
from lshfast._engine.indexes.run_indexes import Against, Indexes
from lshfast._engine.inputs import Inputs, policy_of, state_of
from lshfast._engine.parts.removals import added_columns
from lshfast._engine.plan import Plan
from lshfast._engine.preference import check_keep_measure
from lshfast._io import Corpus, Output, OutputFormat, check_rows
from lshfast._io.file_parts import FilePart, can_be_divided, divided
from lshfast._io.files import File, file_format
from lshfast._io.notes import left_out_of
from lshfast._io.output import output_format
from lshfast._io.sources import LocalFile, RemoteFile, check_local, source_of
from lshfast.stages.stage_plan import (
    PLAN_FILE,
    StagePlan,
    write_stage_plan,
)

# The formats of outputs.
FORMATS: tuple[OutputFormat, ...] = get_args(OutputFormat)

# The options of reading that all tasks have to agree on.
OF_INPUTS = (
    "column",
    "id_column",
    "encoding",
    "max_row_bytes",
    "zstd_window",
    "delimiter",
    "max_columns",
)

# Without a number of shards, each has about SHARD_BYTES of input, and more where there would be too
# many: tasks open a file of each shard, which takes .22 ms in all stages. With 4,096 shards and
# tasks that is one hour; 50 TB in 50,000 of each would take 150, where all else takes 117.
SHARD_BYTES = 1 << 30
MOST_SHARDS_BY_DEFAULT = 1 << 12

# What a process leaves that was killed while it wrote a plan.
_OF_PLAN = re.compile(r"\.plan\.json\.[0-9a-f]{16}\.part")


def make_stage_plan(
    inputs: Inputs,
    work: str,
    output: str,
    engine: Plan,
    *,
    keep: str,
    annotate: bool,
    output_kind: OutputFormat | None,
    defuse: bool,
    shards: int | None,
    tasks: int | None,
    memory: int,
    pairs: str | None,
    removed: str | None,
    rejected: str | None,
    max_removed: float | None,
    against: Against,
) -> StagePlan:
    """Check parameters, list inputs, create folders, and write the plan (`lshfast.stages.plan`)."""
    policy, order_column = policy_of(keep)
    check_keep_measure(policy, engine.measure)
    check_max_removed(max_removed)
    _check_format(output_kind)
    compares = against.index is not None or against.texts is not None
    added = added_columns(engine, compares) if annotate else []
    outputs = {
        "output": output,
        "pairs": pairs,
        "removed": removed,
        "rejected": rejected,
    }
    places = _checked_places(work, outputs)
    files = inputs.open().files
    format = _format_of(files)
    kinds: dict[str, OutputFormat | None] = {"output": output_kind, "rejected": "jsonl"}
    suffixes = {
        name: _suffix(folder, kinds.get(name), format)
        for name, folder in places.items()
    }
    rows = f"rows.{suffixes['output']}"
    inputs.listed[:] = files
    corpus, _ = inputs.open_kind(
        engine,
        order_column=order_column,
        added=added,
        output=output_format(rows)[0],
    )
    check_rows(corpus, rows, added)
    divided_files = _shards_of(corpus.files, shards)
    cell_types = _cell_types(corpus)
    earlier_files, earlier_content = _against(against, engine, corpus, divided_files)
    options = {
        "cell_types": cell_types or None,
        "kind": None if engine.kind == "text" else engine.kind,
        "by": inputs.by,
        "left_out": left_out_of(corpus.files) or None,
        "max_removed": max_removed,
    }
    content = {
        "parameters": engine.described(),
        "threads": engine.threads,
        "keep": keep,
        "added": added,
        "defuse": defuse,
        "memory": memory,
        **{name: getattr(inputs, name) for name in OF_INPUTS},
        "files": [
            [_place(file), file.name, file.format, file.codec, state_of(file)]
            for file in [*corpus.files, *earlier_files]
        ],
        "shards": divided_files,
        "tasks": len(divided_files) if tasks is None else tasks,
        "keys": [draw_hash_numbers(), draw_hash_numbers()],
        "common": None if engine.ignore_common is None else draw_hash_numbers(),
        **{name: value for name, value in options.items() if value is not None},
        **earlier_content,
        **{name: places.get(name) for name in outputs},
        "suffixes": suffixes,
    }
    StagePlan(work, content, 0).budget.work(0)
    _create(work, places)
    return write_stage_plan(work, content)


def _against(
    against: Against, engine: Plan, corpus: Corpus, divided_files: list[Any]
) -> tuple[list[File], dict[str, Any]]:
    """Return the files of earlier rows, and what a plan says of these rows or of their index."""
    files: list[File] = []
    content: dict[str, Any] = {}
    if against.index is not None:
        content |= _index_of(against.index, engine)
    if against.texts is not None:
        check_earlier(engine)
        earlier = against.texts.open_kind(engine)[0]
        content |= _earlier_of(against.texts, earlier, corpus.files, divided_files)
        files = earlier.files
    return files, content


def check_local_places(
    work: str, outputs: Iterable[str | None], against: Iterable[str]
) -> None:
    """Raise ValueError if a folder of a run, its index or a file of earlier rows is at a URL.

    An index at a URL could be opened, but tasks have to find the same one at any time.
    """
    check_local(work, "the work folder must be a local folder")
    for path in outputs:
        if path is not None:
            check_local(path, "the outputs of stages are local folders")
    for path in against:
        check_local(path, "an index or earlier file of stages must be a local file")


def _check_format(format: str | None) -> None:
    """Raise ValueError unless outputs can have this format."""
    if format not in (None, *FORMATS):
        raise ValueError(
            f"output_format must be one of {', '.join(FORMATS)}, not {format!r}"
        )


def _checked_places(work: str, outputs: Mapping[str, str | None]) -> dict[str, str]:
    """Return the absolute paths of the folders of outputs.

    ValueError if two folders are the same one, or the work folder has a plan.
    """
    places = {
        name: os.path.abspath(path)
        for name, path in outputs.items()
        if path is not None
    }
    folders = [work, *places.values()]
    if len({os.path.realpath(path) for path in folders}) < len(folders):
        raise ValueError("the work folder and the folders of outputs must be different")
    if os.path.exists(os.path.join(work, PLAN_FILE)):
        raise ValueError(f"{printable(work)}: this work folder has a plan already")
    return places


def _index_of(path: str, engine: Plan) -> dict[str, Any]:
    """Return what a plan says of the index of earlier rows."""
    check_indexed(engine)
    indexes = Indexes(os.path.abspath(path))
    with indexes.opened(engine) as index:
        assert index is not None
        return {
            "against": indexes.against,
            "index_state": indexes.state(),
            "index_keys": index.key_kind,
        }


def _cell_types(corpus: Corpus) -> list[list[str]]:
    """Return the columns of cells of CSV that have types, with these, as values of JSON."""
    return [[name, *astuple(kind)] for name, kind in corpus.types.items()]


def _earlier_of(
    inputs: Inputs,
    earlier: Corpus,
    files: Sequence[File],
    shards: list[list[list[int]]],
) -> dict[str, Any]:
    """Return what a plan says of earlier files; their shards are added to those of the files.

    They have about as many bytes as those of the files.
    """
    total = sum(file.size for file in files)
    earlier_shards = _shards_of(earlier.files, None, -(-total // len(shards)))
    for parts in earlier_shards:
        shards.append([[len(files) + number, *part] for number, *part in parts])
    return {
        "earlier_shards": len(earlier_shards),
        "earlier_cell_types": _cell_types(earlier),
        "earlier_columns": {
            "column": inputs.column,
            "id_column": inputs.id_column,
        },
    }


def _place(file: File) -> str:
    """Return the path or URL of an input; ValueError if other processes cannot open it."""
    if isinstance(file.source, LocalFile):
        return os.path.abspath(file.path)
    if isinstance(file.source, RemoteFile):
        with suppress(OSError, ValueError):
            if source_of(file.source.url) == file.source:
                return file.source.url
    raise ValueError(
        f"{file.name}: the inputs of a run in stages are files that every task can open"
    )


def _suffix(folder: str, kind: OutputFormat | None, default: OutputFormat) -> str:
    """Return the suffix of files in an output folder, by the folder's name or the default."""
    format_of_name = file_format(folder)
    format, codec = output_format(
        Output(folder, kind or (default if format_of_name is None else None))
    )
    return format + (os.path.splitext(folder)[1].lower() if codec else "")


def _format_of(files: Sequence[File]) -> OutputFormat:
    """Return the format of the inputs; JSON Lines if they have several, or one for inputs only."""
    formats = {file.format for file in files}
    for format in FORMATS:
        if formats == {format}:
            return format
    return "jsonl"


def _shards_of(
    files: Sequence[File], shards: int | None, shard_bytes: int = SHARD_BYTES
) -> list[list[list[int]]]:
    """Divide files into shards of similar bytes; without a number, each has about `shard_bytes`.

    Returns what each shard reads: [file] for a whole file, [file, begin, end] for a part of one.
    """
    total = sum(file.size for file in files)
    most = MOST_SHARDS_BY_DEFAULT
    count = shards or min(most, max(1, -(-total // max(1, shard_bytes))))
    parts_of_files = _parts_of(files, count)
    parts = [
        _PlannedPart(number, *part)
        for number, parts_of_file in enumerate(parts_of_files)
        for part in parts_of_file
        if part.begin < part.end or len(parts_of_file) == 1 or shards is not None
    ]
    if shards is None:
        count = min(count, len(parts))
    if count > len(parts):
        raise ValueError(
            f"shards must be at most {len(parts)}, the number of input files, of which none can "
            f"be divided, not {count}"
        )
    ends = [parts_of_file[-1].end for parts_of_file in parts_of_files]
    return [
        _joined(parts[low:high], ends)
        for low, high in pairwise(_bounds([part.nbytes for part in parts], count))
    ]


class _PlannedPart(NamedTuple):
    """A part of a file with this number; see `FilePart`."""

    file: int
    begin: int
    end: int
    nbytes: int


def _parts_of(files: Sequence[File], count: int) -> list[list[FilePart]]:
    """Return the parts of each file, `count` or more in all if files can be divided.

    A file that has the bytes of two shards or more is divided; others only if there are too few.
    """
    return [
        divided(file, number) if number > 1 else [FilePart(0, 0, file.size)]
        for file, number in zip(files, _numbers_of_parts(files, count), strict=True)
    ]


def _numbers_of_parts(files: Sequence[File], count: int) -> list[int]:
    """Return the number of the parts of each file; see `_parts_of`."""
    total = max(1, sum(file.size for file in files))
    numbers = [max(1, file.size * count // total) for file in files]
    missing = count - sum(numbers)
    largest = [
        (-file.size / numbers[place], place)
        for place, file in enumerate(files)
        if missing > 0 or numbers[place] > 1
    ]
    divisible = {place for _, place in largest if can_be_divided(files[place])}
    numbers = [
        number if place in divisible else 1 for place, number in enumerate(numbers)
    ]
    missing = count - sum(numbers)
    largest = [part for part in largest if part[1] in divisible]
    heapify(largest)
    while missing > 0 and largest:
        _, place = largest[0]
        numbers[place] += 1
        missing -= 1
        heapreplace(largest, (-files[place].size / numbers[place], place))
    return numbers


def _joined(parts: Sequence[_PlannedPart], ends: Sequence[int]) -> list[list[int]]:
    """Return what a shard reads, given where files end; see `_shards_of`."""
    joined: list[list[int]] = []
    for part in parts:
        if joined and joined[-1][0] == part.file:
            joined[-1][2] = part.end
        else:
            joined.append([part.file, part.begin, part.end])
    return [
        [file] if begin == 0 and end == ends[file] else [file, begin, end]
        for file, begin, end in joined
    ]


def _bounds(sizes: Sequence[int], count: int) -> list[int]:
    """Return the first part of each shard, and the number of parts: shards of similar bytes."""
    ends = np.cumsum(sizes, dtype=np.int64)
    total = int(ends[-1])
    parts = len(sizes)
    half = np.asarray(sizes, np.int64).mean() / 2
    bounds = [0]
    for shard in range(1, count):
        place = int(np.searchsorted(ends, total * shard / count - half)) + 1
        bounds.append(min(max(place, bounds[-1] + 1), parts - (count - shard)))
    return [*bounds, parts]


def _create(work: str, places: Mapping[str, str]) -> None:
    """Create the work folder and those of outputs; those that exist must be empty."""
    folders = [os.path.abspath(work), *places.values()]
    for folder in folders:
        with suppress(FileNotFoundError):
            if any(not _OF_PLAN.fullmatch(name) for name in os.listdir(folder)):
                raise ValueError(f"{printable(folder)}: this folder is not empty")
    for folder in folders:
        if folder == os.path.abspath(work):
            make_folder(folder)
        else:
            os.makedirs(folder, exist_ok=True)

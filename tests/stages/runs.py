"""Corpora for runs in stages, and runs of them: in stages, and by `dedup_files` in memory."""

import json
import random

from lshfast import dedup_files, stages
from lshfast._engine.parts.task_files import figures_of, writing
from lshfast._engine.parts.task_reader import TaskFile
from tests.corpora import similar_texts


def corpus(seed, n):
    """Return rows with the texts of `similar_texts`, the empty ones as nulls."""
    texts = similar_texts(random.Random(seed), n)
    return [
        {"id": f"row{i}", "number": i * 7, "text": text or None}
        for i, text in enumerate(texts)
    ]


def write_files(folder, rows, files):
    """Write rows to files of JSON Lines in a new folder, about equally many to each."""
    folder.mkdir()
    for number in range(files):
        some = rows[number * len(rows) // files : (number + 1) * len(rows) // files]
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in some]
        # A lone surrogate is written as JSON's escape.
        (folder / f"{number:02}.jsonl").write_bytes(
            "".join(lines).encode(errors="backslashreplace")
        )
    return folder


def index_of(folder, rows, **options):
    """Return the path of an index of rows, which are entries under their ids with a mark."""
    earlier = [row | {"id": f"earlier {row['id']}"} for row in rows]
    source = write_files(folder / "earlier", earlier, 1)
    index = folder / "earlier.lsh"
    dedup_files(
        source, id_column="id", save_index=index, threads=1, exact=False, **options
    )
    return index


def run_all(work):
    for stage in stages.STAGES:
        stages.run(work, stage)


def tables(folder):
    """Return the files of a folder in order, without those of options."""
    return sorted(
        path for path in folder.iterdir() if not path.name.endswith(".options.json")
    )


def joined(folder):
    """Return the contents of the tables of a folder, one after another."""
    return b"".join(path.read_bytes() for path in tables(folder))


def in_stages(folder, source, *, shards=None, tasks=None, **options):
    """Run in stages; return the summary, and the outputs."""
    work, kept, removed = folder / "work", folder / "kept", folder / "removed"
    stages.plan(
        source, work, kept, removed=removed, shards=shards, tasks=tasks, **options
    )
    run_all(work)
    return stages.status(work).summary, joined(kept), joined(removed)


def in_memory(folder, source, **options):
    """Run by `dedup_files`; return the summary, and the outputs."""
    kept, removed = folder / "wanted.jsonl", folder / "wanted-removed.jsonl"
    result = dedup_files(source, kept, removed=removed, threads=1, **options)
    return result.summary, kept.read_bytes(), removed.read_bytes()


def rewritten(plan, stage, change):
    """Write the file of the first task of a stage again, with a change of its ranges and with right checksums."""
    figures = figures_of(plan, stage, 0)
    with TaskFile(plan, stage, 0) as file:
        numbers = sorted(set(file._index[:, 0].tolist()))
        ranges = [(number, part) for number in numbers for part in file.ranges(number)]
    change(ranges)
    with writing(plan, stage, 0) as writer:
        writer.figures = figures
        for number, part in ranges:
            writer.add(number, **part)

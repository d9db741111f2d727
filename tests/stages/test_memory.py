"""Tasks within their memory: their outputs are those of `dedup_files`, whatever exceeds it."""

import json
import random
import sys
import tracemalloc

import numpy as np
import pytest

from lshfast import DataError, dedup_files, stages
from lshfast._common.rows import parts_of_rows
from lshfast._engine import budget
from lshfast._engine.parts.spool import SpooledTexts
from lshfast._engine.parts.task_files import figures_of, writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._engine.plan import make_plan
from lshfast.join.external import components, record_spool
from lshfast.stages import grouping, row_parts, sketching, string_ranks, verifying
from lshfast.stages.stage_plan import read_stage_plan
from tests.corpora import WORDS
from tests.stages.runs import corpus, in_memory, in_stages, run_all, write_files

MEMORY = 7 << 19


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="other systems do not tell what is available",
)
def test_memory_above_that_of_the_machine(tmp_path):
    source = write_files(tmp_path / "in", corpus(5, 100), 2)
    assert in_stages(tmp_path, source, memory=1 << 50) == in_memory(tmp_path, source)


def sort_in_files(monkeypatch):
    """Contract all links in files, and sort rows in files, in pieces of a few rows."""
    monkeypatch.setattr(components, "UNION_BYTES", 1 << 40)
    for module in (grouping, row_parts, sketching, string_ranks):
        monkeypatch.setattr(module, "obtainable", lambda memory: 0)
    monkeypatch.setattr(row_parts, "PIECE_RECORDS", 50)
    monkeypatch.setattr(sketching, "BLOCK_RECORDS", 64)
    monkeypatch.setattr(record_spool, "PIECE_RECORDS", 40)


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options",
    [
        {"keep": "max:date"},
        {},
        {"keep": "last", "id_column": "number"},
        {"keep": "longest", "groups": "components"},
        {"keep": "min:number"},
        {"keep": "max:share"},
    ],
)
def test_links_and_rows_beyond_memory_are_sorted_in_files(
    tmp_path, monkeypatch, options
):
    sort_in_files(monkeypatch)
    rows = corpus(4, 300)
    rows += [row | {"number": row["number"] + 1} for row in rows[::3]]
    random.Random(1).shuffle(rows)
    for place, row in enumerate(rows):
        year = 2000 + place * 7 % 30
        row["date"] = f"{year}-01-01T00:00:00.{'000' * (place % 40)}{place % 3}"
        row["share"] = (place * 7 % 11 - 5) / 3
    source = write_files(tmp_path / "in", rows, 5)
    wanted = in_memory(tmp_path, source, **options)
    assert in_stages(tmp_path, source, shards=5, tasks=2, **options) == wanted


def plan_of_links(folder, rows, links, copies):
    """Plan a run of three shards of unwritten texts, with these links; shards may have equal texts."""
    source = write_files(folder / "in", [{"text": "a text"}] * 3, 3)
    options = {"bands": 1, "rows_per_band": 4, "num_perm": 64, "memory": "9M"}
    stages.plan(source, folder / "work", folder / "kept", shards=3, tasks=1, **options)
    plan = read_stage_plan(str(folder / "work"))
    of_shard = rows // 3
    for shard in range(3):
        marks = np.random.default_rng(0 if copies else shard).integers(
            2, 1 << 62, (of_shard, 3)
        )
        marks[:, 0] %= 5000
        with writing(plan, "sketch", shard) as writer:
            for part in parts_of_rows(of_shard, 1 << 12):
                keys = np.zeros(len(marks[part]), np.uint64)
                writer.add(0, prints=marks[part] * 2 + 1, keys=keys)
            writer.figures = {
                "rows": of_shard,
                "rows_of_files": [of_shard],
                "lines_of_last_file": 0,
                "orders": None,
                "elements": None,
                "ids": None,
            }
    with writing(plan, "join", 0) as writer:
        for part in parts_of_rows(len(links), 1 << 14):
            writer.add(0, links=links[part])
    return plan


def grouped(plan):
    """Run the stage group; return what it has written, and the most bytes that it held."""
    tracemalloc.start()
    try:
        grouping.group(plan, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with TaskFile(plan, "group", 0) as file:
        columns = [file.joined(shard) for shard in range(plan.shards)]
    return columns, figures_of(plan, "group", 0)["bounds"], peak


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pairs", "path", "star"])
def test_the_memory_of_group_does_not_depend_on_the_rows(
    tmp_path, small_parts, monkeypatch, kind
):
    rows = 300_000
    numbers = np.random.default_rng(2).permutation(rows)
    links = {
        "pairs": numbers.reshape(-1, 2),
        "path": np.stack([numbers[:-1], numbers[1:]], axis=1),
        "star": np.stack([np.full(rows - 1, numbers[0]), numbers[1:]], axis=1),
    }[kind]
    plan = plan_of_links(tmp_path, rows, links, copies=kind != "pairs")
    found = grouped(plan)
    monkeypatch.setattr(components, "UNION_BYTES", 0)
    monkeypatch.setattr(row_parts, "obtainable", lambda memory: 1 << 40)
    wanted = grouped(plan)
    for columns, wanted_columns in zip(found[0], wanted[0], strict=True):
        for name, values in columns.items():
            assert values.tolist() == wanted_columns[name].tolist(), name
    assert found[1] == wanted[1]
    assert found[2] < 16 << 20 < wanted[2] / 2


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("tasks", [1, 2])
def test_parts_and_records_that_exceed_the_memory(
    tmp_path, small_parts, monkeypatch, tasks
):
    """All texts share their first half, so they are one component; its texts and signatures go to files."""
    rng = random.Random(1)
    common = " ".join(rng.choices(WORDS, k=200))
    rows = [
        {"text": f"{common} {' '.join(rng.choices(WORDS, k=rng.randrange(10, 90)))}"}
        for _ in range(3000)
    ]
    source, spilled = write_files(tmp_path / "in", rows, 4), []
    wanted = in_memory(tmp_path, source)
    spill = SpooledTexts._spill
    monkeypatch.setattr(
        SpooledTexts, "_spill", lambda held: spilled.append(held._most) or spill(held)
    )
    found = in_stages(tmp_path, source, shards=4, tasks=tasks, memory=MEMORY)
    # The texts of a part: those of a shard are always in a file.
    assert max(spilled) > 0
    assert found[1:] == wanted[1:]


@pytest.mark.slow
@pytest.mark.parametrize(("most", "once"), [(128, True), (3, False)])
def test_the_files_of_a_task_of_many_parts_are_opened_once(
    tmp_path, small_parts, monkeypatch, most, once
):
    source = write_files(tmp_path / "in", corpus(6, 900), 4)
    opened = []

    class Counted(TaskFile):
        def __init__(self, plan, stage, *rest):
            opened.append(stage)
            super().__init__(plan, stage, *rest)

    monkeypatch.setattr(verifying, "TaskFile", Counted)
    monkeypatch.setattr(verifying, "MOST_OPEN", most)
    wanted = in_memory(tmp_path, source)
    assert in_stages(tmp_path, source, shards=4, tasks=1, memory=MEMORY) == wanted
    assert (opened.count("collect") == 4) == once


@pytest.mark.slow
@pytest.mark.parametrize(
    "suffix", ["jsonl", pytest.param("parquet", marks=pytest.mark.slow)]
)
def test_memory_limits_the_length_of_rows(tmp_path, suffix):
    """As in a run of one process with the same memory. A text that is near the limit is compared."""
    memory = budget.Budget(0, make_plan(threads=1), parquet=suffix == "parquet").least(
        1000, 4 << 20
    )
    fine, long = (
        " ".join(f"w{i}" for i in range(nbytes // 6))[: nbytes - 40]
        for nbytes in (4 << 20, 5 << 20)
    )
    texts = ["a b c d e f", fine, long, f"{fine} x"]
    source = write_files(
        tmp_path / "in",
        [{"text": text} for text in texts],
        2 if suffix == "jsonl" else 0,
    )
    place = "01.jsonl:1"
    if suffix == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": texts}), source / "00.parquet")
        place = "00.parquet: row 3"
    wanted = dedup_files(source, memory=memory, threads=1, on_error="skip").summary
    assert (wanted.kept, wanted.removed, wanted.rejected) == (2, 1, 1)
    stages.plan(
        source,
        tmp_path / "work",
        tmp_path / "kept",
        memory=memory,
        rejected=tmp_path / "rejected",
    )
    run_all(tmp_path / "work")
    assert stages.status(tmp_path / "work").summary == wanted
    limit = budget.Budget(memory, make_plan(threads=1), parquet=suffix == "parquet")
    of_group = json.loads((tmp_path / "work" / "group-00000.json").read_text())["task"][
        "figures"
    ]
    assert of_group["part_memory"] == limit.work(0, len(texts[3])) < limit.work(0)
    stages.plan(source, tmp_path / "again", tmp_path / "more", memory=memory)
    reason = rf"{place}: a row of more than 4,\d+,\d+ bytes; more memory \(--memory of the plan\) raises this limit"
    with pytest.raises(DataError, match=reason):
        run_all(tmp_path / "again")

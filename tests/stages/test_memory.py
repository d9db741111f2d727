"""Tasks within their memory: their outputs are those of `dedup_files`, whatever exceeds it."""

import json
import random
import sys

import pytest

from lshfast import DataError, dedup_files, stages
from lshfast._engine import budget
from lshfast._engine.parts.spool import SpooledTexts
from lshfast._engine.plan import make_plan
from lshfast.stages import verifying
from lshfast.stages.task_reader import TaskFile
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


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", [{}, {"keep": "longest", "groups": "components", "id_column": "number"}]
)
def test_links_beyond_memory_are_contracted_in_files(tmp_path, monkeypatch, options):
    from lshfast.join.external import components

    contracted, real = [], components.contract_links
    monkeypatch.setattr(components, "UNION_BYTES", 1 << 40)
    monkeypatch.setattr(
        components, "contract_links", lambda *args: contracted.append(1) or real(*args)
    )
    source = write_files(tmp_path / "in", corpus(4, 900), 5)
    wanted = in_memory(tmp_path, source, **options)
    assert in_stages(tmp_path, source, shards=5, tasks=2, **options) == wanted
    assert contracted


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
    assert (
        max(spilled) > 0
    )  # the texts of a part: those of a shard are always in a file
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

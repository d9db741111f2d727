"""Tables of all similar pairs, which the verify tasks write."""

import json
import random

import pytest

from lshfast import dedup_files, stages
from lshfast._engine import budget
from lshfast._engine.parts.task_files import figures_of
from lshfast._engine.plan import make_plan
from lshfast.stages import pairing
from lshfast.stages.stage_plan import read_stage_plan
from tests.stages.runs import corpus, in_memory, in_stages, run_all, write_files


def with_copies(seed, n):
    """Return rows of which every third one has the text, or the words, of one before it."""
    rows, rng = corpus(seed, n), random.Random(seed)
    for i in range(3, n, 3):
        before = rows[rng.randrange(i)]["text"]
        rows[i]["text"] = before and rng.choice([str, str.upper, "{}!".format])(before)
    return rows


@pytest.mark.one_case
@pytest.mark.parametrize("id_column", [None, "number"])
def test_tasks_of_several_parts(tmp_path, small_parts, monkeypatch, id_column):
    """The pairs of all parts of a task are in one order."""
    renumbered, real = [], pairing.renumber
    monkeypatch.setattr(
        pairing, "renumber", lambda *args: renumbered.append(1) or real(*args)
    )
    source = write_files(tmp_path / "in", with_copies(6, 900), 4)
    pairs, options = tmp_path / "pairs", {"id_column": id_column}
    wanted = in_memory(tmp_path, source, pairs=tmp_path / "pairs.jsonl", **options)
    assert (
        in_stages(
            tmp_path, source, pairs=pairs, shards=4, tasks=2, memory=7 << 18, **options
        )
        == wanted
    )
    place = {
        line: i
        for i, line in enumerate((tmp_path / "pairs.jsonl").read_bytes().splitlines())
    }
    parts = [path.read_bytes().splitlines() for path in sorted(pairs.iterdir())]
    assert all(lines == sorted(lines, key=place.__getitem__) for lines in parts)
    assert sorted(line for lines in parts for line in lines) == sorted(place)
    bounds = figures_of(read_stage_plan(str(tmp_path / "work")), "group", 0)["bounds"]
    assert bounds[-1] > 3
    assert len(renumbered) > 3


def test_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in").mkdir()
    for number, texts in enumerate([["a b c d e f", "x"], ["A b c d e f", "y z"]]):
        ids = pa.array([10 * number + 1, 10 * number], pa.int32())
        pq.write_table(
            pa.table({"text": texts, "id": ids}), tmp_path / "in" / f"{number}.parquet"
        )
    work, pairs = tmp_path / "work", tmp_path / "pairs"
    stages.plan(
        tmp_path / "in", work, tmp_path / "kept", pairs=pairs, id_column="id", tasks=3
    )
    run_all(work)
    tables = [pq.read_table(path) for path in sorted(pairs.iterdir())]
    assert [table.schema.names for table in tables] == [
        ["key_i", "key_j", "similarity"]
    ] * 3
    assert {str(table.schema.field("key_i").type) for table in tables} == {"int64"}
    assert pa.concat_tables(tables).to_pylist() == [
        {"key_i": 1, "key_j": 11, "similarity": 1.0}
    ]


def test_a_task_that_fails_leaves_no_table(tmp_path, monkeypatch):
    """The table appears with the manifest, and a task that is repeated writes it again."""
    source = write_files(tmp_path / "in", with_copies(2, 200), 2)
    work = tmp_path / "work"
    stages.plan(source, work, tmp_path / "kept", pairs=tmp_path / "pairs", tasks=1)
    for stage in stages.STAGES[:-2]:
        stages.run(work, stage)

    def fail(*_):
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr("lshfast._engine.parts.task_files.TaskWriter.finish", fail)
        with pytest.raises(OSError, match="no"):
            stages.run(work, "verify")
    assert not any((tmp_path / "pairs").iterdir())
    stages.run(work, "verify")
    (table,) = (tmp_path / "pairs").iterdir()
    before = table.read_bytes()
    assert {*json.loads(before.splitlines()[0])} == {"key_i", "key_j", "similarity"}
    (work / "verify-00000.json").unlink()
    assert stages.run(work, "verify")
    assert table.read_bytes() == before


@pytest.mark.slow
def test_memory_limits_the_length_of_rows(tmp_path):
    """As in a run of one process with the same memory, of which the pairs take a part."""
    memory = budget.Budget(0, make_plan(threads=1), pairs=True).least(1000, 4 << 20)
    fine, long = (
        " ".join(f"w{i}" for i in range(nbytes // 6))[: nbytes - 40]
        for nbytes in (4 << 20, 5 << 20)
    )
    source = write_files(
        tmp_path / "in",
        [{"text": text} for text in ("a b", fine, long, f"{fine} x", fine)],
        2,
    )
    wanted = dedup_files(
        source,
        pairs=tmp_path / "pairs.jsonl",
        memory=memory,
        threads=1,
        on_error="skip",
    ).summary
    assert (wanted.pairs, wanted.rejected) == (2, 1)
    options = {
        "pairs": tmp_path / "pairs",
        "rejected": tmp_path / "rejected",
        "tasks": 1,
    }
    stages.plan(source, tmp_path / "work", tmp_path / "kept", memory=memory, **options)
    run_all(tmp_path / "work")
    assert stages.status(tmp_path / "work").summary == wanted
    assert (tmp_path / "pairs" / "00000.jsonl").read_bytes() == (
        tmp_path / "pairs.jsonl"
    ).read_bytes()

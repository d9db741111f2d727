"""The outputs of a run in stages are those of `dedup_files`, byte for byte, for any division into tasks."""

import gzip
import json
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import DataError, dedup_files, stages
from lshfast.drivers import budget
from lshfast.drivers.tasks import verifying
from lshfast.drivers.tasks.task_reader import TaskFile
from lshfast.engine.plan import make_plan
from lshfast.engine.spool import SpooledTexts
from tests.corpora import WORDS
from tests.drivers.tasks.runs import corpus, in_memory, in_stages, joined, run_all, write_files

OPTIONS = [
    {},
    {"keep": "last", "id_column": "id"},
    {"keep": "longest", "groups": "components", "id_column": "number"},
    {"keep": "shortest", "verify": "signature"},
    {"verify": "none", "unit": "char", "threads": 2},
    {"verify": "signature", "groups": "components", "scheme": "classic", "num_perm": 64},
    {"measure": "containment", "threshold": 0.9, "keep": "last"},
    {"measure": "containment", "groups": "components", "unit": "stopword", "stop_words": WORDS[:99]},
]


@pytest.fixture
def little_memory(monkeypatch):
    """Let the memory of a task be that of its records and parts alone."""
    for name in ("PROCESS_BYTES", "PARQUET_BYTES", "WORK_BYTES", "STATE_BYTES", "LEAST_WORK"):
        monkeypatch.setattr(budget, name, 0)


MEMORY = 7 << 19


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("shards", "tasks"), [pytest.param(1, 1, marks=pytest.mark.slow), (5, 3)])
def test_equals_the_run_in_memory(tmp_path, options, shards, tasks):
    source = write_files(tmp_path / "in", corpus(3, 1200), 7)
    wanted = in_memory(tmp_path, source, exact=False, **{name: options[name] for name in options if name != "threads"})
    assert wanted[0].removed > 200
    assert in_stages(tmp_path, source, shards=shards, tasks=tasks, **options) == wanted


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12)), max_size=40)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    ROWS,
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 9),
    st.sampled_from(["star", "components"]),
    st.sampled_from(["first", "last", "longest", "shortest"]),
    st.sampled_from(["exact", "signature", "none"]),
    st.sampled_from([None, "id", "number"]),
)
def test_equals_the_run_in_memory_on_small_corpora(
    tmp_path_factory, rows, files, shards, tasks, groups, keep, verify, id_column
):
    """Copies, chains of texts that differ in some words, empty texts, nulls, and files without rows."""
    folder = tmp_path_factory.mktemp("runs")
    texts = [
        " ".join(f"w{kind}.{i if i < 30 - cut else i + kind * 100}" for i in range(30 * (kind > 0))) or None
        for kind, cut in rows
    ]
    records = [{"text": text, "id": f"é{i}", "number": -i} for i, text in enumerate(texts)]
    source = write_files(folder / "in", records, files)
    options = dict(groups=groups, keep=keep, verify=verify, threshold=0.6, id_column=id_column)
    wanted = in_memory(folder, source, **options)
    assert in_stages(folder, source, shards=min(shards, files), tasks=tasks, **options) == wanted


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell what is available")
def test_memory_above_that_of_the_machine(tmp_path):
    source = write_files(tmp_path / "in", corpus(5, 100), 2)
    assert in_stages(tmp_path, source, memory=1 << 50) == in_memory(tmp_path, source)


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[2]])
def test_links_beyond_memory_are_contracted_in_files(tmp_path, monkeypatch, options):
    from lshfast.drivers.tasks import joining

    contracted, real = [], joining.contract_links
    monkeypatch.setattr(joining, "UNION_BYTES", 1 << 40)
    monkeypatch.setattr(joining, "contract_links", lambda *args: contracted.append(1) or real(*args))
    source = write_files(tmp_path / "in", corpus(4, 900), 5)
    wanted = in_memory(tmp_path, source, **options)
    assert in_stages(tmp_path, source, shards=5, tasks=2, **options) == wanted
    assert contracted


@pytest.mark.parametrize("tasks", [1, 2])
def test_parts_and_records_that_exceed_the_memory(tmp_path, little_memory, monkeypatch, tasks):
    """All texts share their first half, so they are one component; its texts and signatures go to files."""
    rng = random.Random(1)
    common = " ".join(rng.choices(WORDS, k=200))
    rows = [{"text": f"{common} {' '.join(rng.choices(WORDS, k=rng.randrange(10, 90)))}"} for _ in range(3000)]
    source, spilled = write_files(tmp_path / "in", rows, 4), []
    wanted = in_memory(tmp_path, source)
    spill = SpooledTexts._spill
    monkeypatch.setattr(SpooledTexts, "_spill", lambda held: spilled.append(held._most) or spill(held))
    found = in_stages(tmp_path, source, shards=4, tasks=tasks, memory=MEMORY)
    assert max(spilled) > 0  # the texts of a part: those of a shard are always in a file
    assert found[1:] == wanted[1:]


@pytest.mark.parametrize(("most", "once"), [(128, True), (3, False)])
def test_the_files_of_a_task_of_many_parts_are_opened_once(tmp_path, little_memory, monkeypatch, most, once):
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


@pytest.mark.parametrize("id_column", [None, "id", "number"])
def test_parquet(tmp_path, id_column):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, source = corpus(7, 500), tmp_path / "in"
    source.mkdir()
    for number, (low, high) in enumerate([(0, 200), (200, 200), (200, 500)]):
        table = pa.table({name: [row[name] for row in rows[low:high]] for name in ("id", "number", "text")})
        table = table.cast(pa.schema([("id", pa.string()), ("number", pa.int64()), ("text", pa.string())]))
        pq.write_table(table, source / f"{number}.parquet")
    dedup_files(source, tmp_path / "kept.parquet", removed=tmp_path / "gone.parquet", id_column=id_column, threads=1)
    stages.plan(source, tmp_path / "work", tmp_path / "kept", removed=tmp_path / "gone", id_column=id_column, shards=3)
    run_all(tmp_path / "work")
    for name in ("kept", "gone"):
        files = sorted((tmp_path / name).iterdir())
        assert [file.name for file in files] == ["00000.parquet", "00001.parquet", "00002.parquet"]
        found = pa.concat_tables([pq.read_table(file) for file in files])
        assert found.equals(pq.read_table(tmp_path / f"{name}.parquet"))


def test_compressed_inputs_and_bad_rows(tmp_path):
    rows, source = corpus(9, 300), tmp_path / "in"
    source.mkdir()
    for number in range(3):
        lines = [json.dumps(row) + "\n" for row in rows[number * 100 : number * 100 + 100]]
        lines[number + 3] = '{"text": 1}\n'
        (source / f"{number}.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    wanted = in_memory(tmp_path, source, on_error="skip")
    rejected = tmp_path / "rejected"
    assert in_stages(tmp_path, source, shards=2, rejected=rejected) == wanted
    assert joined(rejected) == (tmp_path / "wanted.jsonl.rejects.jsonl").read_bytes()


@pytest.mark.parametrize("suffix", ["jsonl", pytest.param("parquet", marks=pytest.mark.slow)])
def test_memory_limits_the_length_of_rows(tmp_path, suffix):
    """As in a run of one process with the same memory. A text that is near the limit is compared."""
    memory = budget.Budget(0, make_plan(threads=1), parquet=suffix == "parquet").least(1000, 4 << 20)
    fine, long = (" ".join(f"w{i}" for i in range(nbytes // 6))[: nbytes - 40] for nbytes in (4 << 20, 5 << 20))
    texts = ["a b c d e f", fine, long, f"{fine} x"]
    source = write_files(tmp_path / "in", [{"text": text} for text in texts], 2 if suffix == "jsonl" else 0)
    place = "01.jsonl:1"
    if suffix == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": texts}), source / "00.parquet")
        place = "00.parquet: row 3"
    wanted = dedup_files(source, memory=memory, threads=1, on_error="skip").summary
    assert (wanted.kept, wanted.removed, wanted.rejected) == (2, 1, 1)
    stages.plan(source, tmp_path / "work", tmp_path / "kept", memory=memory, rejected=tmp_path / "rejected")
    run_all(tmp_path / "work")
    assert stages.status(tmp_path / "work").summary == wanted
    limit = budget.Budget(memory, make_plan(threads=1), parquet=suffix == "parquet")
    of_group = json.loads((tmp_path / "work" / "group-00000.json").read_text())["task"]["figures"]
    assert of_group["part_memory"] == limit.work(0, len(texts[3])) < limit.work(0)
    stages.plan(source, tmp_path / "again", tmp_path / "more", memory=memory)
    reason = rf"{place}: a row of more than 4,\d+,\d+ bytes; more memory \(--memory of the plan\) raises this limit"
    with pytest.raises(DataError, match=reason):
        run_all(tmp_path / "again")


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        (["a", "b", "c", "d", "b", "f"], "id 'b' is taken by {}:2"),
        ([1, 2, 3, 4, 5, 1], "id 1 is taken by {}:1"),
        (["a", "b", "c", 4, 5, 6], "id 4 is a number, the ids before it are not"),
    ],
)
def test_ids_are_checked_over_all_shards(tmp_path, ids, reason):
    source = write_files(tmp_path / "in", [{"id": own, "text": f"text {own}"} for own in ids], 2)
    with pytest.raises(DataError) as wanted:
        in_memory(tmp_path, source, id_column="id")
    with pytest.raises(DataError) as found:
        in_stages(tmp_path, source, id_column="id", shards=2)
    assert str(found.value) == str(wanted.value)
    assert str(found.value).endswith(reason.format(source / "00.jsonl"))

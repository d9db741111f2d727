"""Runs within a cap of memory: what they hold, and that their outputs are those of a run in memory."""

import gzip
import json
import os
import random
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshfast
from lshfast import dedup_files
from lshfast._engine import budget
from lshfast._engine.budget import Budget
from lshfast._engine.executors.local import cap, capped
from lshfast._engine.forecasts.texts import forecast
from lshfast._engine.inputs import Inputs
from lshfast._engine.parts import pair_runs, screening
from lshfast._engine.parts.components import NO_PART, divide
from lshfast._engine.parts.pair_runs import PairRuns, merged_pairs
from lshfast._engine.parts.spool import PartWriter, read_part
from lshfast._engine.plan import make_plan
from lshfast.join.external import slot_file, sorted_runs
from lshfast.join.external.bucket_runs import BucketRuns
from lshfast.kernels.text import Texts
from tests.cli.commands import run as run_command
from tests.corpora import WORDS
from tests.engine.executors.capped_runs import (
    MEMORY,
    Ended,
    corpus,
    outputs,
    write_jsonl,
)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("groups", ["star", "components"])
def test_a_component_that_takes_more_than_the_memory(tmp_path, small_parts, groups):
    """All texts share their first half, so they are one component."""
    rng = random.Random(1)
    common = " ".join(rng.choices(WORDS, k=200))
    rows = [
        {"text": f"{common} {' '.join(rng.choices(WORDS, k=rng.randrange(10, 90)))}"}
        for _ in range(3000)
    ]
    source = write_jsonl(tmp_path / "in.jsonl", rows)
    work = tmp_path / "work"
    files = set()
    wanted = outputs(tmp_path, "a", source, groups=groups)
    found = outputs(
        tmp_path, "b", source, groups=groups, memory=MEMORY, work=work,
        progress=lambda *_: files.update(path.suffix for path in work.iterdir()),
    )  # fmt: skip
    assert ".signatures" in files
    assert found[1:] == wanted[1:]
    # The number of comparisons depends on a random number.
    assert np.array_equal(found[0].pairs, wanted[0].pairs)


class MostBuckets:
    """Counters to which four of five rows are in crowded buckets."""

    def crowded(self, keys):
        return keys[:, 0] % np.uint64(5) > 0


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", [{}, {"keep": "last"}, {"groups": "components", "verify": "signature"}]
)
def test_rows_of_a_crowd_that_are_similar_to_none_are_not_read_again(
    tmp_path, small_parts, monkeypatch, options
):
    """All texts share a few phrases, and many a bucket; a few are near copies, and a few have the same bytes."""
    rng, rows = random.Random(1), []
    common = [" ".join(rng.choices(WORDS, k=12)) for _ in range(3)]
    for i in range(2500):
        own = [*rng.choices(WORDS, k=80), *common]
        rows.append({"text": " ".join(own)})
        if i % 100 == 0:
            rows += [{"text": " ".join(["other", *own[1:]])}, {"text": " ".join(own)}]
    source, read = write_jsonl(tmp_path / "in.jsonl", rows), {16: 0, 10**9: 0}
    given = {"num_perm": 64, "recall": 0.999, **options}
    wanted = outputs(tmp_path, "a", source, **given)
    add = capped.PartWriter.add
    for screened in read:

        def counted(writer, numbers, texts, screened=screened):
            read[screened] += len(texts)
            add(writer, numbers, texts)

        monkeypatch.setattr(screening, "SCREENED", screened)
        monkeypatch.setattr(screening, "MOST_HELD", 0.7)
        monkeypatch.setattr(screening, "MOST_UNLIKE", 0)
        monkeypatch.setattr(slot_file, "CrowdedBuckets", MostBuckets)
        monkeypatch.setattr(capped.PartWriter, "add", counted)
        found = outputs(tmp_path, f"b{screened}", source, memory=2 * MEMORY, **given)
        assert found[1:] == wanted[1:]
        assert np.array_equal(found[0].pairs, wanted[0].pairs)
        assert 50 <= found[0].summary.removed == wanted[0].summary.removed
    assert read[16] < 0.8 * read[10**9]


def test_short_texts_give_the_same_advice(tmp_path):
    source = write_jsonl(
        tmp_path / "in.jsonl",
        [{"text": f"bus {i} of our town is late again"} for i in range(300)],
    )
    with pytest.warns(lshfast.ShortTextsWarning) as wanted:
        dedup_files(source)
    with pytest.warns(lshfast.ShortTextsWarning) as found:
        dedup_files(source, memory="400M")
    assert str(found[0].message) == str(wanted[0].message)


def test_a_run_that_does_not_fit_gets_a_cap(tmp_path, small_parts, monkeypatch):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(29, 4000))
    wanted, stages = outputs(tmp_path, "a", source), []
    monkeypatch.setattr(cap, "available_memory", lambda: 6 << 20)
    assert (
        outputs(tmp_path, "b", source, progress=lambda stage, *_: stages.append(stage))
        == wanted
    )
    assert "texts" in stages
    monkeypatch.setattr(cap, "available_memory", lambda: 1 << 40)
    stages.clear()
    outputs(tmp_path, "c", source, progress=lambda stage, *_: stages.append(stage))
    assert "texts" not in stages
    assert (
        sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("."))
        == []
    )


@pytest.mark.parametrize(("suffix", "fits"), [("jsonl", True), ("csv", False)])
def test_texts_that_can_be_read_again_need_no_cap(
    tmp_path, small_parts, monkeypatch, suffix, fits
):
    """Texts of local JSONL are not held by a run in memory, so they do not count."""
    source = write_jsonl(
        tmp_path / "in.jsonl", [{"text": " ".join(WORDS)} for _ in range(300)]
    )
    if suffix == "csv":
        dedup_files(source, tmp_path / "in.csv", annotate=True)
        source = tmp_path / "in.csv"
    inputs, plan = Inputs([str(source)]), make_plan(threads=1)
    held = 300 * len(" ".join(WORDS))
    without = sum(plan.memory(300, held, in_memory=False).values())
    monkeypatch.setattr(cap, "available_memory", lambda: without + held // 2)
    # The inputs are not too small for this.
    monkeypatch.setattr(cap, "MOST_GROWTH", 1 << 20)
    assert (cap.cap_for(inputs, inputs.open(), plan) is None) == fits


@pytest.mark.weekly
def test_the_forecast_names_memory_that_is_enough(tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(31, 2000))
    plan = make_plan(threads=1)
    found = forecast(Inputs([str(source)]), plan, 1 << 29)
    texts = [
        json.loads(line)["text"]
        for line in source.read_text(encoding="utf-8").splitlines()
    ]
    assert found.rows == len(texts)
    assert found.nbytes == sum(len(text.encode()) for text in texts)
    assert found.seconds.least < found.seconds.value < found.seconds.most
    with pytest.raises(ValueError, match="memory must be at least"):
        dedup_files(source, memory=found.least_memory - 1, threads=1)
    dedup_files(source, memory=found.least_memory, threads=1)
    assert (
        forecast(Inputs([str(write_jsonl(tmp_path / "none.jsonl", []))]), plan, 1 << 29)
        is None
    )


@pytest.mark.slow
def test_too_many_rows_for_the_memory_are_known_before_all_are_read(
    tmp_path, monkeypatch
):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(31, 20_000))
    monkeypatch.setattr(budget, "COSTS", budget.MemoryCosts(row=1 << 20))
    monkeypatch.setattr(
        Inputs,
        "open",
        lambda inputs, real=Inputs.open, **others: real(
            inputs, **{"batch_bytes": 1 << 13, **others}
        ),
    )
    read = []

    def tell(stage, done, total):
        if stage == "read":
            read.append(done / total)

    with pytest.raises(
        ValueError, match=r"memory must be at least .* for .* rows and 1 thread"
    ) as error:
        dedup_files(source, memory="400M", threads=1, progress=tell)
    assert read[-1] < 0.5
    said = int(re.search(r"for ([\d,]+) rows", str(error.value))[1].replace(",", ""))
    assert 15_000 < said < 25_000


@pytest.fixture(autouse=True)
def few_rows_to_measure(monkeypatch):
    monkeypatch.setattr("lshfast._engine.forecasts.texts.BENCH_ROWS", 1 << 12)


@pytest.mark.parametrize(
    ("rows", "memory"), [(1, 0), (6, 1 << 30), (500, 0), (500, 1 << 40)]
)
def test_a_few_rows_have_a_forecast_for_any_memory(tmp_path, rows, memory):
    source = write_jsonl(tmp_path / "a.jsonl", corpus(2, rows))
    assert forecast(Inputs([str(source)]), make_plan(), memory).rows == rows


def test_tune_prints_the_forecast(tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(31, 500))
    said = run_command("tune", source, "--threads", "1", "--memory", "100M").stdout
    assert re.search(
        r"of which about \d+% are read again:\n +memory +\d+ MB at least, more than 105 MB\n"
        r" +work folder +\d+ MB \(\d+ if no texts shared buckets, \d+ if all did\)\n"
        r" +time +\d+ s with 1 thread \(\d+ if no texts",
        said,
    )


@pytest.mark.slow
def test_tune_counts_the_ids(tmp_path):
    source = write_jsonl(
        tmp_path / "in.jsonl", [{"id": i, "text": "a b"} for i in range(50_000)]
    )

    def least(*options):
        said = run_command(
            "tune", source, "--threads", "1", "--memory", "1G", *options
        ).stdout
        return int(re.search(r"memory +(\d+) MB at least", said)[1])

    assert least("--id-column", "id") - least() == pytest.approx(
        50_000 * budget.COSTS.id / 1e6, abs=1.1
    )


def test_available_memory():
    found = budget.available_memory()
    assert found is None or 1 << 20 < found < 1 << 60


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="other systems do not tell what is available",
)
def test_a_cap_above_the_memory_of_the_machine(tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(3, 200))
    assert (
        outputs(tmp_path, "b", source, memory=1 << 50)[1:]
        == outputs(tmp_path, "a", source)[1:]
    )


def test_no_rows(tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", [])
    assert outputs(tmp_path, "b", source, memory="400M") == outputs(
        tmp_path, "a", source
    )


@pytest.mark.slow
def test_a_run_that_is_compared_with_an_index_is_resumed(tmp_path, small_parts):
    """It was ended after its first reading. Another index is refused."""
    rows = corpus(41, 3000)
    earlier = write_jsonl(tmp_path / "old.jsonl", rows[::7])
    source = write_jsonl(tmp_path / "in.jsonl", rows[500:])
    dedup_files(earlier, save_index=tmp_path / "index", id_column="id", threads=1)
    given = {"against": tmp_path / "index", "id_column": "id"}
    wanted = outputs(tmp_path, "a", source, **given)
    assert wanted[0].summary.earlier > 100

    def tell(stage, *_):
        if stage == "texts":
            raise Ended

    given |= {"memory": MEMORY, "work": tmp_path / "work"}
    with pytest.raises(Ended):
        outputs(tmp_path, "b", source, progress=tell, **given)
    dedup_files(
        write_jsonl(tmp_path / "more.jsonl", rows[:40]),
        save_index=tmp_path / "third",
        id_column="id",
    )
    with pytest.raises(
        ValueError, match="this folder belongs to another run: against was"
    ):
        outputs(
            tmp_path,
            "b",
            source,
            resume=True,
            **{**given, "against": tmp_path / "third"},
        )
    assert outputs(tmp_path, "b", source, resume=True, **given) == wanted


@pytest.mark.slow
def test_a_resumed_run_against_earlier_files(tmp_path, small_parts):
    """It was ended in each of its stages. Other earlier files, and other columns, are refused."""
    rows = corpus(41, 3000)
    earlier = write_jsonl(tmp_path / "old.jsonl", rows[::7])
    source = write_jsonl(tmp_path / "in.jsonl", rows[500:])
    given = {"against": earlier, "id_column": "id"}
    wanted = outputs(tmp_path, "a", source, **given)
    assert wanted[0].summary.earlier > 100
    work = tmp_path / "work"
    given |= {"memory": MEMORY, "work": work, "resume": True}
    for stage in ("read", "texts", "verify", "write"):

        def tell(name, done, _, last=stage):
            if name == last and done:
                raise Ended

        with pytest.raises(Ended):
            outputs(tmp_path, "b", source, progress=tell, **given)
    other = write_jsonl(tmp_path / "other.jsonl", rows[:40])
    for change in ({"against": other}, {"against_id_column": "rank"}):
        with pytest.raises(ValueError, match=r"belongs to another run: .*earlier"):
            outputs(tmp_path, "b", source, **{**given, **change})
    assert outputs(tmp_path, "b", source, **given) == wanted
    assert not work.exists()


@given(
    st.lists(st.integers(0, 20), max_size=60).map(
        lambda found: [min(i, label) for i, label in enumerate(found)]
    ),
    st.integers(1, 100),
)
def test_division_into_parts(links, most):
    labels = np.array([0] * len(links), np.int64)
    for row, link in enumerate(links):
        labels[row] = labels[link] if link < row else row
    costs = np.arange(len(links), dtype=np.int64) % 7 + 1
    parts = divide(labels, costs, most)
    sizes = np.bincount(labels, minlength=1)
    assert ((parts == NO_PART) == (sizes[labels] == 1)).all()
    assert sorted(set(parts.tolist()) - {NO_PART}) == list(
        range(parts.max(initial=-1) + 1)
    )
    for label in set(labels.tolist()):
        assert len(set(parts[labels == label].tolist())) == 1
    for part in range(parts.max(initial=-1) + 1):
        own = parts == part
        assert costs[own].sum() <= most or len(set(labels[own].tolist())) == 1


@pytest.mark.slow
def test_many_parts_are_written_in_a_share_of_the_memory(tmp_path):
    parts, each, memory = 300, 100, 8 << 20
    texts = Texts(
        [bytes([65 + number % 26]) * (900 + number) for number in range(parts)]
    )
    writer = PartWriter(str(tmp_path), parts, memory)
    tracemalloc.start()
    try:
        for _ in range(each):
            writer.add(np.arange(parts, dtype=np.int32), texts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert texts.nbytes * each > 3 * memory > 3 * peak
    for number, file in enumerate(writer.finish()):
        part = read_part(file, np.full(each, 900 + number, np.int64))
        assert [*part] == [texts[number]] * each


def test_pairs_of_many_parts_are_merged_with_a_few_open_files(tmp_path, monkeypatch):
    rng, names, every = np.random.default_rng(1), [], []
    for number in range(11):
        i, j = rng.integers(0, 1000, (2, 50))
        with PairRuns(str(tmp_path), f"pairs-{number}") as runs:
            runs.add(i, j, rng.random(50))
            runs.finish()
        names.append(runs.name)
        every += zip(np.minimum(i, j).tolist(), np.maximum(i, j).tolist(), strict=True)
    merge, merges = sorted_runs.merge_runs, []

    def counted(paths, *arguments):
        merges.append(len(paths))
        return merge(paths, *arguments)

    monkeypatch.setattr(sorted_runs, "MOST_FILES", 3)
    monkeypatch.setattr(pair_runs, "merge_runs", counted)
    found = np.concatenate(list(merged_pairs(str(tmp_path), names, 1 << 20)))
    assert found[["i", "j"]].tolist() == sorted(every)
    assert max(merges) == 3
    # The files of the last merge.
    assert len(list(tmp_path.iterdir())) == len(names) + 3


def test_bad_arguments(tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(1, 30))
    for options, reason in (
        (
            {"memory": 10},
            r"memory must be at least .* MB \(\d+ bytes\) for 1 thread, not 10 bytes",
        ),
        (
            {"memory": "4 elephants"},
            "memory must be a number of bytes like 4G, 512M or 4294967296, not '4 elephants'",
        ),
        (
            {"memory": "1G", "exact": True},
            "^exact is not an option of lshfast dedup --memory: it takes memory for what it finds. Run",
        ),
        (
            {"memory": "1G", "save_index": tmp_path / "i"},
            "^save_index is not an option of lshfast dedup --memory",
        ),
        ({"memory": "1G", "resume": True}, "resume needs the work folder"),
        ({"work": tmp_path / "w"}, "memory is needed"),
    ):
        with pytest.raises(ValueError, match=reason):
            dedup_files(source, threads=1, **options)
    with pytest.raises(TypeError, match="memory must be an int"):
        dedup_files(source, memory=1e9)
    with pytest.raises(NotADirectoryError, match=re.escape(str(source))):
        dedup_files(source, memory="1G", work=source / "w")
    assert not (tmp_path / "w").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "suffix",
    [
        "jsonl",
        *(
            pytest.param(suffix, marks=pytest.mark.slow)
            for suffix in ("jsonl.gz", "csv", "parquet")
        ),
    ],
)
def test_memory_limits_the_length_of_rows(tmp_path, suffix):
    """A text that is near the limit is compared; a longer one is a bad row, also where the run is resumed."""
    memory = Budget(0, make_plan(threads=1)).least(1000, 4 << 20)
    most = Budget(memory, make_plan(threads=1)).longest_row(4)
    assert 4 << 20 < most < 4_300_000
    fine, long = (
        " ".join(f"w{i}" for i in range(nbytes // 6))[: nbytes - 40]
        for nbytes in (most - 50, most + 200)
    )
    rows = [{"text": text} for text in ("a b c d e f", fine, long, f"{fine} x")]
    path = tmp_path / f"in.{suffix}"
    content = "".join(json.dumps(row) + "\n" for row in rows)
    if suffix == "csv":
        content = "text\n" + "".join(row["text"] + "\n" for row in rows)
    path.write_bytes(
        gzip.compress(content.encode()) if "gz" in suffix else content.encode()
    )
    if suffix == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": [row["text"] for row in rows]}), path)
        memory += budget.COSTS.parquet
    place = {"csv": "4", "parquet": " row 3"}.get(suffix, "3")
    reason = rf":{place}: a row of more than 4,\d+,\d+ bytes; more memory \(--memory\) raises this limit"
    with pytest.raises(lshfast.DataError, match=reason):
        dedup_files(path, threads=1, memory=memory)
    assert dedup_files(path, threads=1).summary.kept == 2
    work = tmp_path / "work"
    given = {"threads": 1, "memory": memory, "work": work, "on_error": "skip"}
    result, kept, removed = outputs(tmp_path, "a", path, **given)
    assert (result.summary.kept, result.summary.removed, result.summary.rejected) == (
        2,
        1,
        1,
    )

    def stop(stage, *_):
        if stage == "texts":
            raise Ended

    with pytest.raises(Ended):
        outputs(tmp_path, "b", path, progress=stop, **given)
    with pytest.raises(
        ValueError,
        match=r"memory must be at least .* for 3 rows and a row of 4,\d+,\d+ bytes and 1",
    ):
        outputs(
            tmp_path, "b", path, resume=True, **given | {"memory": memory - 1_000_000}
        )
    again = outputs(tmp_path, "b", path, resume=True, **given | {"memory": 2 * memory})
    assert again[1:] == (kept, removed)
    assert again[0].summary.rejected == 1


@pytest.mark.slow
def test_long_rows_leave_less_memory_for_records(tmp_path, monkeypatch):
    shrunk, shrink = [], BucketRuns.shrink
    monkeypatch.setattr(
        BucketRuns,
        "shrink",
        lambda runs, memory: (shrunk.append(memory), shrink(runs, memory))[1],
    )
    rows = corpus(3, 3000)
    rows[1500]["text"] = " ".join(rows[1500]["text"].split() * 30_000)[: 4 << 20]
    source = write_jsonl(tmp_path / "in.jsonl", rows)
    limit = Budget(0, make_plan(threads=1))
    memory = limit.least(len(rows), 4 << 20) + (48 << 20)
    found = outputs(tmp_path, "b", source, memory=memory)
    assert found[1:] == outputs(tmp_path, "a", source)[1:]
    (share,) = shrunk
    records = Budget(memory, make_plan(threads=1)).records
    assert records(5 * ((4 << 20) + 9000) // 4) <= share <= records(4 << 20) < records()


def test_a_bad_row_leaves_no_work_folder(tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", [{"text": "a b c"}, {"no": 1}])
    with pytest.raises(lshfast.DataError, match=re.escape(f"{source}:2:")):
        dedup_files(source, memory="400M", work=tmp_path / "work")
    assert os.listdir(tmp_path) == ["in.jsonl"]


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform != "linux", reason="limits the data segment")
@pytest.mark.parametrize(
    "kind",
    [
        "crowded",
        *(
            pytest.param(kind, marks=pytest.mark.weekly)
            for kind in ("similar", "short")
        ),
    ],
)
def test_the_cap_is_held(tmp_path, kind):
    """The data of the process may take 5 % more than the cap: 440 MB of similar texts, or many short texts."""
    rng = random.Random(1)
    text = [rng.choice(WORDS) for _ in range(1200)]
    with (tmp_path / "in.jsonl").open("w") as file:
        for number in range(24_000 if kind != "short" else 700_000):
            words = (
                text
                if kind != "similar"
                else [f"{word[4:]}{number // 2}" for word in text]
            )
            changed = [
                f"own{number}.{i}" for i in range(300 if kind == "crowded" else 10)
            ]
            file.write(
                json.dumps(
                    {
                        "text": " ".join(
                            [*words, *changed] if kind != "short" else changed
                        )
                    }
                )
                + "\n"
            )
    memory, threads = ("300M", 1) if kind != "short" else ("364M", 2)
    limit = int(int(memory[:-1]) * 1.05) << 20
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, ({limit},) * 2); "
        "from lshfast.__main__ import main; main()"
    )
    run = [
        sys.executable,
        "-c",
        program,
        "dedup",
        tmp_path / "in.jsonl",
        "-o",
        tmp_path / "out.jsonl",
    ]
    run += ["--memory", memory, "--threads", str(threads), "--quiet"]
    subprocess.run(run, check=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    with (tmp_path / "out.jsonl").open("rb") as file:
        assert (
            sum(1 for _ in file)
            == {"similar": 12_000, "crowded": 24_000, "short": 700_000}[kind]
        )

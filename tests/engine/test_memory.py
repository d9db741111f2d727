"""What runs hold: no more than is promised, and what `tune` says."""

import json
import random
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import lshfast
import lshfast.join.all_pairs
from lshfast._common.growing import GrowingArray
from lshfast._engine.plan import make_plan
from tests.shares import share_of

WORDS = [f"word{number}" for number in range(50_000)]


def write_texts(path, n, own, common=()):
    rng, nbytes = random.Random(1), 0
    with path.open("w") as file:
        for number in range(n):
            text = " ".join([*common, *rng.choices(WORDS, k=own)])
            nbytes += len(text)
            file.write(json.dumps({"id": number, "text": text}) + "\n")
    return nbytes


def test_growing_arrays():
    rows = GrowingArray(np.uint64, 3)
    parts = [
        np.arange(3 * n, dtype=np.uint64).reshape(n, 3)
        for n in (0, 1, 5, 0, 40, 2, 300)
    ]
    for part in parts:
        rows.extend(part)
    assert len(rows) == 348
    assert rows.finished().tolist() == np.concatenate(parts).tolist()


@pytest.mark.weekly
def test_pairs_are_written_in_memory_that_does_not_grow_with_them(
    tmp_path, monkeypatch
):
    """All of it takes 9 MB, the interpreter's objects included; an array of the 320,000 pairs would take 7 MB more."""
    n = 800
    texts, output = tmp_path / "texts.jsonl", tmp_path / "pairs.csv"
    write_texts(texts, n, 2, WORDS[:100])
    monkeypatch.setattr(lshfast.join.all_pairs, "BATCH_PAIRS", 10_000)
    tracemalloc.start()
    result = lshfast.dedup_files(texts, pairs=output, id_column="id")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.summary.pairs == result.summary.candidates == n * (n - 1) // 2
    assert len(result.pairs) == result.summary.removed == n - 1
    assert peak < 12 << 20
    written = np.loadtxt(output, delimiter=",", skiprows=1)
    found = lshfast.pairs(
        [json.loads(line)["text"] for line in texts.read_text().splitlines()]
    )
    for column, name in enumerate(found.dtype.names):
        assert np.array_equal(written[:, column], found[name])


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from the system")
def test_the_estimate_of_memory_is_an_upper_bound_within_15_percent(tmp_path):
    rows = max(500_000, share_of(1_000_000))
    # Of rows with at most 32 shingles on average, not all are sketched.
    nbytes = write_texts(tmp_path / "texts.jsonl", rows, 40)
    code = """if True:
        import lshfast
        lshfast.dedup_files("texts.jsonl", "kept.jsonl", id_column="id", threads=2)
        with open("/proc/self/status") as file:  # ru_maxrss would be at least that of the process of the tests
            print(*(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    peak = int(done.stdout)
    assert (
        peak
        <= sum(make_plan(threads=2).memory(rows, nbytes, in_memory=False).values())
        <= 1.15 * peak
    )

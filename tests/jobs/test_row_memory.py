"""What a capped run holds for each row, whatever the row holds."""

import os
import subprocess
import sys

import pytest

from lshfast.jobs.cap import Budget
from lshfast.pipeline.plan import make_plan

ROWS = 1_200_000

# Pairs of near copies: each row shares a bucket, and half of the rows are removed.
ROW = '{"id":"document-%09d","text":"%x %x %x %x %x %x %x %x %x %x %x %x %d"}\n'


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the data segment")
def test_a_run_of_many_short_rows_with_ids_takes_no_more_than_its_least_memory(tmp_path):
    with open(tmp_path / "short.jsonl", "w") as file:
        for row in range(ROWS):
            file.write(ROW % (row, *(row // 2 * (k * 2654435761 + 3) & 0xFFFFFFFF for k in range(12)), row))
    least = Budget(0, make_plan(threads=1), ids=True).least(ROWS)
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({int(least * 1.05)},) * 2); "
        "from lshfast.__main__ import main; main()"
    )
    run = [sys.executable, "-c", program, "dedup", tmp_path / "short.jsonl", "-o", tmp_path / "kept.jsonl"]
    run += ["--removed", tmp_path / "removed.csv"]
    run += ["--id-column", "id", "--keep", "last", "--memory", str(least), "--threads", "1", "--quiet"]
    subprocess.run(run, check=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    with open(tmp_path / "removed.csv", "rb") as file:
        assert 0.4 * ROWS < sum(1 for _ in file) <= ROWS // 2 + 1

"""What a capped run takes: for each row, whatever the row holds, and for Parquet."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from lshfast import DataError, dedup_files
from lshfast._engine.budget import Budget
from lshfast._engine.plan import make_plan
from tests.shares import share_of

ROWS = max(500_000, share_of(1_200_000))

# Pairs of near copies: each row shares a bucket, and half of the rows are removed.
ROW = '{"id":"document-%09d","text":"%x %x %x %x %x %x %x %x %x %x %x %x %d"}\n'


WORDS = [f"word{number}" for number in range(20_000)]


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform != "linux", reason="limits the data segment")
def test_a_run_of_many_short_rows_with_ids_takes_no_more_than_its_least_memory(
    tmp_path,
):
    with open(tmp_path / "short.jsonl", "w") as file:
        for row in range(ROWS):
            file.write(
                ROW
                % (
                    row,
                    *(row // 2 * (k * 2654435761 + 3) & 0xFFFFFFFF for k in range(12)),
                    row,
                )
            )
    least = Budget(0, make_plan(threads=1), ids=True).least(ROWS)
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({int(least * 1.05)},) * 2); "
        "from lshfast.__main__ import main; main()"
    )
    run = [
        sys.executable,
        "-c",
        program,
        "dedup",
        tmp_path / "short.jsonl",
        "-o",
        tmp_path / "kept.jsonl",
    ]
    run += ["--removed", tmp_path / "removed.csv"]
    run += [
        "--id-column",
        "id",
        "--keep",
        "last",
        "--memory",
        str(least),
        "--threads",
        "1",
        "--quiet",
    ]
    subprocess.run(run, check=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    with open(tmp_path / "removed.csv", "rb") as file:
        assert 0.4 * ROWS < sum(1 for _ in file) <= ROWS // 2 + 1


PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
)


@pytest.mark.weekly
@pytest.mark.skipif(
    sys.platform != "linux", reason="the unit of the peak of memory differs"
)
@pytest.mark.parametrize(
    ("threads", "unit"),
    [
        (2, "word"),
        pytest.param(1, "word", marks=pytest.mark.weekly),
        pytest.param(1, "char", marks=pytest.mark.weekly),
        pytest.param(2, "char", marks=pytest.mark.weekly),
    ],
)
def test_the_longest_rows_that_memory_allows(tmp_path, threads, unit):
    """Near copies of a text of as many different shingles as there can be. Their file is mapped, which counts too."""
    rng, rows, memory = random.Random(1), 20_000, 400_000_000
    budget = Budget(memory, make_plan(threads=threads, unit=unit))
    # The number of rows is estimated from the first ones.
    nbytes = budget.longest_row(rows) - 2000
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = (
        rng.choices(letters, k=nbytes // 2)
        if unit == "word"
        else ["".join(rng.choices(letters, k=nbytes - 99))]
    )
    with open(tmp_path / "in.jsonl", "w") as file:
        for row in range(rows):
            if row % 4000 == 7:
                file.write(json.dumps({"text": f"{' '.join(words)} {row}"}) + "\n")
            file.write(json.dumps({"text": " ".join(rng.choices(WORDS, k=50))}) + "\n")
    run = [
        sys.executable,
        "-m",
        "lshfast",
        "dedup",
        tmp_path / "in.jsonl",
        "--removed",
        tmp_path / "removed.csv",
    ]
    run += [
        "--dry-run",
        "--unit",
        unit,
        "--memory",
        str(memory),
        "--threads",
        str(threads),
        "--quiet",
    ]
    said = subprocess.run(
        [sys.executable, "-c", PEAK, *run],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert int(said.stdout) <= 1.05 * memory + 5 * nbytes
    assert budget.memory < budget.least(rows, nbytes + 3000)


@pytest.mark.weekly
@pytest.mark.skipif(
    sys.platform != "linux", reason="the unit of the peak of memory differs"
)
def test_a_run_over_parquet_takes_no_more_than_its_least_memory(tmp_path):
    """The memory is measured as resident: pyarrow reserves more addresses than it uses.

    There are texts of 130 MB in a row group, of which the slow tests have two and the weekly ones four.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, rows, row_groups = random.Random(1), 10_000, max(2, share_of(4))
    long_words = [2 * word for word in WORDS]
    texts = [" ".join(rng.choices(long_words, k=700)) for _ in range(rows)]
    for row in range(0, rows, 3):
        texts[row] = texts[row // 2] + " more"
    table = pa.table(
        {
            "id": list(range(row_groups * rows)),
            "text": [
                f"{group} {text}" for group in range(row_groups) for text in texts
            ],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=rows)
    del table, texts
    least = Budget(0, make_plan(threads=1), parquet=True).least(row_groups * rows)
    run = [
        sys.executable,
        "-m",
        "lshfast",
        "dedup",
        tmp_path / "in.parquet",
        "-o",
        tmp_path / "kept.parquet",
    ]
    run += ["--memory", str(least), "--threads", "1", "--quiet"]
    said = subprocess.run(
        [sys.executable, "-c", PEAK, *run],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert int(said.stdout) <= 1.05 * least
    assert 0 < pq.read_metadata(tmp_path / "kept.parquet").num_rows < row_groups * rows


def dictionary_of_texts(folder):
    """Write 10,000 texts of 36 KB in 4 KB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = pa.array(["lorem ipsum dolor " * 2000 + str(i) for i in range(4)])
    texts = pa.DictionaryArray.from_arrays(
        pa.array([i % 4 for i in range(10_000)], pa.int32()), values
    )
    pq.write_table(
        pa.table({"text": texts}),
        folder / "in.parquet",
        row_group_size=10_000,
        store_schema=False,
    )
    return "in.parquet", "o.parquet", "400M"


def bad_lines(folder):
    (folder / "in.jsonl").write_text('{"text": "a b c d e f"}\n' + "{}\n" * 1_000_000)
    return "in.jsonl", "o.jsonl", "300M", "--on-error", "skip"


def cells_with_line_ends(folder):
    rows = (f'"{i} a ""b"" c\n d {i * 7}",{i}\n' for i in range(300_000))
    (folder / "in.csv").write_text("text,b\n" + "".join(rows))
    return "in.csv", "o.jsonl", "300M"


def long_strings(folder):
    """Write 200,000 rows, half of them copies, with ids and other values of 500 characters."""
    row = '{"id":"%0500d","day":"%0500d","text":"%d a b c d e f"}\n'
    (folder / "in.jsonl").write_text(
        "".join(row % (i, i * 7919 % 200_000, i // 2) for i in range(200_000))
    )
    return (
        "in.jsonl",
        "o.jsonl",
        "300M",
        "--id-column",
        "id",
        "--keep",
        "max:day",
        "--annotate",
    )


@pytest.mark.weekly
@pytest.mark.skipif(
    sys.platform != "linux", reason="the unit of the peak of memory differs"
)
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(dictionary_of_texts, marks=pytest.mark.weekly),
        pytest.param(bad_lines, marks=pytest.mark.weekly),
        cells_with_line_ends,
        pytest.param(long_strings, marks=pytest.mark.weekly),
    ],
)
def test_memory_counts_what_rows_become(tmp_path, write):
    source, output, memory, *options = write(tmp_path)
    run = [
        sys.executable,
        "-m",
        "lshfast",
        "dedup",
        source,
        "-o",
        output,
        "--memory",
        memory,
        "--threads",
        "1",
    ]
    run += ["--quiet", *options]
    said = subprocess.run(
        [sys.executable, "-c", PEAK, *run],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert int(said.stdout) <= 1.05 * (int(memory[:-1]) << 20)


def write_wide(path, rows, coordinates, arrays, dtype):
    """Write an .npz file with vectors, and arrays of zeros of which all rows of a column are in one row of the file."""
    columns = {
        f"m{number}": np.zeros((rows, coordinates), dtype) for number in range(arrays)
    }
    np.savez_compressed(
        path, text=np.random.default_rng(0).normal(size=(rows, 8)), **columns
    )


@pytest.mark.one_case
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_row_of_an_archive_counts_with_all_of_its_arrays(tmp_path, dtype, name):
    path, out = tmp_path / "wide.npz", tmp_path / name
    write_wide(path, 2, 1 << 16, 4, dtype)
    with pytest.raises(
        DataError,
        match=r"wide\.npz: a row of more than 1,966,080 bytes; more memory \(--memory\)",
    ):
        dedup_files(path, out, memory="60M")
    with pytest.raises(
        DataError, match=r"wide\.npz: a row of more than 2,000,000 bytes; max_row_bytes"
    ):
        dedup_files(path, out, max_row_bytes=2_000_000)
    assert not out.exists()
    assert dedup_files(path, out, memory="300M", threads=1).summary.read == 2


def test_rejected_rows_of_vectors_wait_in_a_file(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(500, 4))
    vectors[100:] = np.nan
    np.save(tmp_path / "rows.npy", vectors)
    options = {"on_error": "skip", "threads": 1, "overwrite": True}
    within = dedup_files(
        tmp_path / "rows.npy", tmp_path / "a.jsonl", memory="300M", **options
    ).summary
    rejects = (tmp_path / "a.jsonl.rejects.jsonl").read_bytes()
    free = dedup_files(tmp_path / "rows.npy", tmp_path / "b.jsonl", **options).summary
    assert within == free
    assert within.rejected == 400
    assert rejects == (tmp_path / "b.jsonl.rejects.jsonl").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "a.jsonl", "a.jsonl.rejects.jsonl", "b.jsonl", "b.jsonl.rejects.jsonl", "rows.npy",
    ]  # fmt: skip

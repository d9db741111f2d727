"""Files of sorted records: what is written is read, and what is damaged is refused by name."""

import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import FormatError
from lshfast.join.external.run_file import (
    BLOCK_RECORDS,
    HEADER_BYTES,
    RunReader,
    write_run,
)
from lshfast.join.external.sorted_runs import LEAST_MEMORY, SortedRuns
from lshfast.kernels.checksum import checksum


def sorted_records(n, seed=1):
    records = np.random.default_rng(seed).integers(0, 2**64 - 1, (n, 2), np.uint64)
    return records[np.lexsort((records[:, 1], records[:, 0]))]


def read_all(path, room=3 * BLOCK_RECORDS, stamp=0):
    with RunReader(path, stamp) as reader:
        parts = [np.empty((0, 2), np.uint64)]
        while True:
            out = np.empty((room, 2), np.uint64)
            count = reader.read(out)
            if not count:
                assert reader.left == 0
                return np.concatenate(parts)
            parts.append(out[:count])


@given(
    st.lists(
        st.sampled_from(
            [0, 1, 5, BLOCK_RECORDS - 1, BLOCK_RECORDS, BLOCK_RECORDS + 1, 9000]
        ),
        max_size=4,
    )
)
def test_a_run_is_read_as_it_was_written(tmp_path_factory, sizes):
    path = str(tmp_path_factory.mktemp("runs") / "a.run")
    records = sorted_records(sum(sizes))
    assert write_run(
        path, np.split(records, np.cumsum(sizes)[:-1]) if sizes else [], stamp=9
    ) == len(records)
    for room in (BLOCK_RECORDS, 3 * BLOCK_RECORDS + 1):
        assert np.array_equal(read_all(path, room, stamp=9), records)


def test_each_damaged_byte_is_found(tmp_path):
    path = str(tmp_path / "a.run")
    write_run(path, [sorted_records(BLOCK_RECORDS + 3)])
    whole = Path(path).read_bytes()
    places = [
        *range(HEADER_BYTES),
        HEADER_BYTES + 5,
        HEADER_BYTES + 16 * BLOCK_RECORDS + 1,
        len(whole) - 1,
    ]
    for place in places:
        with open(path, "wb") as file:
            file.write(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(FormatError, match=re.escape(path)):
            read_all(path)
    for length in (
        0,
        7,
        HEADER_BYTES - 1,
        HEADER_BYTES,
        HEADER_BYTES + 20,
        len(whole) - 1,
    ):
        with open(path, "wb") as file:
            file.write(whole[:length])
        with pytest.raises(FormatError, match=re.escape(path)):
            read_all(path)


def test_a_consistent_file_must_be_sorted_and_of_this_version(tmp_path):
    path = str(tmp_path / "a.run")
    records = sorted_records(2 * BLOCK_RECORDS)
    for wrong in (
        records[::-1],
        np.concatenate([records[BLOCK_RECORDS:], records[:BLOCK_RECORDS]]),
    ):
        write_run(path, [wrong])
        with pytest.raises(FormatError, match="not sorted"):
            read_all(path, BLOCK_RECORDS)
        os.unlink(path)
    write_run(path, [records])
    whole = bytearray(Path(path).read_bytes())
    whole[8] = 2
    whole[HEADER_BYTES - 8 : HEADER_BYTES] = struct.pack(
        "<Q", checksum(whole[: HEADER_BYTES - 8])
    )
    with open(path, "wb") as file:
        file.write(whole)
    with pytest.raises(FormatError, match="version 2; this library reads version 1"):
        read_all(path)


def test_another_stamp_is_refused(tmp_path):
    path = str(tmp_path / "a.run")
    write_run(path, [sorted_records(3)], stamp=1)
    with pytest.raises(FormatError, match="belongs to another run"):
        read_all(path, stamp=2)


def test_an_existing_file_stays(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=re.escape(str(path))):
        write_run(str(path), [sorted_records(3)])
    assert path.read_text() == "mine"


def test_nothing_is_left_of_a_run_that_failed(tmp_path):
    def batches():
        yield sorted_records(BLOCK_RECORDS)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(str(tmp_path / "a.run"), batches())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["random", "equal", "few keys", "sorted", "falling"])
@pytest.mark.parametrize(
    ("words", "n", "capacity"),
    [(2, 60_000, 700), (2, 60_000, 20_000), (4, 20_000, 700), (7, 20_000, 9_000)],
)
def test_records_are_merged_in_any_number_of_files(tmp_path, kind, words, n, capacity):
    random = np.random.default_rng(5)
    records = random.integers(0, 2**64 - 1, (n, words), np.uint64)
    records[:, 2:-1] %= np.uint64(3)
    if kind == "equal":
        records[:] = 3
    elif kind == "few keys":
        records[:, 0] %= np.uint64(5)
    elif kind != "random":
        records = np.sort(records, axis=0)
    if kind == "falling":
        records = records[::-1]
    with SortedRuns(
        str(tmp_path), "r", *np.empty((2, capacity, words), np.uint64), stamp=4
    ) as runs:
        for part in np.array_split(records, 9):
            runs.add(part)
        memory = 3 * LEAST_MEMORY
        merged = np.concatenate([part.copy() for part in runs.merged(memory)])
        assert runs.written >= 8 * words * (n - capacity)
        assert len(os.listdir(tmp_path)) <= 6
    assert np.array_equal(merged, records[np.lexsort(records.T[::-1])])
    assert os.listdir(tmp_path) == []


def test_a_few_records_need_no_file(tmp_path):
    with SortedRuns(str(tmp_path), "r", *np.empty((2, 100, 2), np.uint64)) as runs:
        runs.add(np.array([[3, 1], [2, 1]], np.uint64))
        assert [part.tolist() for part in runs.merged(LEAST_MEMORY)] == [
            [[2, 1], [3, 1]]
        ]
        assert os.listdir(tmp_path) == []

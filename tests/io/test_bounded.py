"""The memory of reading and writing does not grow with the objects that short rows or encoded values become."""

import json
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

from lshfast._io import jsonl, open_corpus, text_lines, write_rows
from tests.corpora import keep_all, pa, pq

LONG = "lorem ipsum dolor " * 2000

POOLS = []  # which must outlive their arrays


@contextmanager
def peak_of_arrow():
    """Yield a list that gets the most bytes that Arrow had allocated."""
    parent, found = pa.default_memory_pool(), []
    pool = pa.proxy_memory_pool(parent)
    POOLS.append(pool)
    pa.set_memory_pool(pool)
    try:
        yield found
    finally:
        pa.set_memory_pool(parent)
        found.append(pool.max_memory())


@contextmanager
def peak_of_python():
    """Yield a list that gets the most bytes that Python and numpy had allocated."""
    found = []
    tracemalloc.start()
    try:
        yield found
    finally:
        found.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()


@pytest.mark.few_cases
@pytest.mark.parametrize("first", [LONG, "short", None])
@pytest.mark.parametrize("encoding", ["dictionary", "prefixes", "dictionary type"])
def test_parquet_is_decoded_a_bounded_part_at_a_time(tmp_path, encoding, first):
    """1,500 texts of 36 KB in a file of a few kilobytes, behind rows that may be short."""
    texts = pa.array(
        [first] * 2000 + [LONG + str(i % 4) for i in range(1500)], "string"
    )
    options = {
        "store_schema": encoding == "dictionary type",
        "row_group_size": len(texts),
    }
    if encoding == "prefixes":
        options |= {
            "use_dictionary": False,
            "column_encoding": {"text": "DELTA_BYTE_ARRAY"},
        }
    else:
        texts = texts.dictionary_encode()
    pq.write_table(
        pa.table({"text": texts, "n": range(len(texts))}),
        tmp_path / "in.parquet",
        **options,
    )
    corpus, rows = open_corpus(tmp_path / "in.parquet"), len(texts)
    del texts
    with peak_of_arrow() as peak:
        found = sum(len(batch.texts) for batch in corpus.batches())
        copied = sum(
            len(batch) for batch, _ in corpus.again(0, np.arange(rows, dtype=np.int64))
        )
    assert found == copied == rows
    assert peak[0] < 64 << 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", ["w{0} a b", '"w{0}\n ""a"" b"'], ids=["plain", "quoted"]
)
def test_short_cells_of_csv_take_little_memory(tmp_path, cell):
    with open(tmp_path / "in.csv", "w", newline="") as file:
        file.write("text,n\n")
        file.writelines(cell.format(i) + f",{i}\n" for i in range(15_000))
    corpus = open_corpus(tmp_path / "in.csv")
    with peak_of_python() as peak:
        rows = sum(len(batch.texts) for batch in corpus.batches())
        write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    assert rows == 15_000
    assert peak[0] < 21 << 20


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("line", ["\n", "ab\n", "é\r\n"])
def test_short_lines_of_text_take_little_memory(tmp_path, line):
    (tmp_path / "in.txt").write_bytes(line.encode() * 300_000)
    corpus = open_corpus(tmp_path / "in.txt", format="lines")
    assert (
        max(len(block.texts) for block in text_lines.blocks(corpus.files[0])) <= 1 << 16
    )
    with peak_of_python() as peak:
        assert sum(len(batch.texts) for batch in corpus.batches()) == 300_000
    assert peak[0] < 16 << 20


@pytest.mark.slow
def test_bad_lines_take_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "BLOCK_ROWS", 1 << 10)
    (tmp_path / "in.jsonl").write_bytes(b'{"text":"a"}\n' + b"{}\n" * 10_000)
    corpus = open_corpus(tmp_path / "in.jsonl", on_error="skip")
    corpus.hold_in_files(str(tmp_path))
    with peak_of_python() as peak:
        assert sum(len(batch.texts) for batch in corpus.batches()) == 1
    assert peak[0] < 2 << 20
    assert len(corpus.rejected) == sum(1 for _ in corpus.rejected) == 10_000


@pytest.mark.parametrize("kind", [str, int])
def test_keys_in_files_are_those_in_memory(tmp_path, kind):
    """Ids that occur twice are found in any block; the state of a corpus is restored with its files."""
    ids = [kind(i) for i in [*range(40), 7, 41, 41, 39, *range(42, 60), 0]]
    rows = [
        {"text": "a", "id": one, "day": f"2024-{i % 7}-\ud800" * (i % 5)}
        for i, one in enumerate(ids)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {
        "id_column": "id",
        "order_column": "day",
        "on_error": "skip",
        "batch_bytes": 300,
    }
    wanted, found, again = (
        open_corpus(tmp_path / "in.jsonl", **options) for _ in range(3)
    )
    found.hold_in_files(str(tmp_path))
    for corpus in (wanted, found):
        assert sum(len(batch.texts) for batch in corpus.batches()) == corpus.accepted
    arrays, values = found.state()
    again.hold_in_files(str(tmp_path))
    again.restore(arrays, json.loads(json.dumps(values)), found.files_of_state)
    for corpus in (found, again):
        assert list(corpus.rejected) == wanted.rejected
        assert list(corpus.ids) == wanted.ids
        assert list(corpus.order) == wanted.order
        some = np.array([9, 3, 20], np.int64)
        assert corpus.keys_of(some) == [wanted.key(row) for row in some]
    assert len(wanted.rejected) > 4
    found.hold_in_memory()
    assert found.ids == wanted.ids

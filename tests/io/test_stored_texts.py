"""Texts that are read again: they are those of the first reading, whatever the lines are like."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import dedup_files
from lshfast._io import DataError, jsonl_again, open_corpus
from lshfast._io.stored_texts import StoredTexts
from lshfast.kernels.json import PADDING
from lshfast.kernels.text import Texts
from tests.cli.commands import write_jsonl
from tests.corpora import TEXTS, texts_of

TEXT = st.one_of(
    st.none(), st.text(max_size=20), st.sampled_from(["", "x" * 300, "é" * 70, '"\\\n'])
)
OTHER = st.sampled_from(
    [
        "",
        ', "o": "\\ud800"',
        ', "o": 1e999',
        ', "\\u006f": 1',
        ', "text": "last"',
        ', "o": [{}]',
    ]
)
LINE = st.builds(
    lambda text, other, plain, start: start + f'{{"text": {json.dumps(text, ensure_ascii=plain)}{other}}}'.encode(),
    TEXT, OTHER, st.booleans(), st.sampled_from([b"", b" ", b"\n", b"\r\n \n"]),
)  # fmt: skip
BAD = st.sampled_from(
    [b"{", b'{"text": 5}', b'{"text": "\x80"}', b"null", b'{"text": "\\ud800"}']
)


def both(inputs: Any, **options: Any) -> tuple[list[str], StoredTexts]:
    """Return all texts as they were read, and the same texts as they can be read again."""
    batches = list(open_corpus(inputs, **options).batches())
    texts = [text for batch in batches for text in texts_of(batch)]
    return texts, StoredTexts.concatenate(
        [batch.places or Texts(batch.texts) for batch in batches]
    )


@given(
    st.lists(st.one_of(LINE, BAD), min_size=1, max_size=12),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.sampled_from([1, 200, 8 << 20]),
    st.sampled_from([0, 10, 1 << 14]),
    st.randoms(use_true_random=False),
)
def test_the_same_texts_are_read_again(
    tmp_path_factory, lines, end, marked, batch_bytes, gap, chance
):  # type: ignore[no-untyped-def]
    path = tmp_path_factory.mktemp("a") / "a.jsonl"
    path.write_bytes(
        (b"\xef\xbb\xbf" if marked else b"")
        + end.join(lines)
        + chance.choice([b"", end])
    )
    options: dict[str, Any] = {"on_error": "skip", "batch_bytes": batch_bytes}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_again, "GAP_BYTES", gap)
        texts, stored = both(path, **options)
        assert len(stored) == len(texts)
        assert stored.lengths.tolist() == [len(text.encode()) for text in texts]
        assert stored.nbytes == stored.lengths.sum()
        rows = [chance.randrange(len(texts)) for _ in range(len(texts) and 15)]
        assert [text.decode() for text in stored.take(np.array(rows, np.int64))] == [
            texts[row] for row in rows
        ]
        assert [text.decode() for text in stored.take(slice(1, None, 2))] == texts[1::2]
        left, right = (
            np.array([chance.randrange(len(texts)) for _ in rows], np.int64)
            for _ in range(2)
        )
        equal = [
            texts[one] == texts[other] for one, other in zip(left, right, strict=True)
        ]
        assert stored.equal(left, right).tolist() == equal


@given(
    st.lists(st.one_of(LINE, BAD), min_size=1, max_size=12),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.sampled_from([1, 60, 8 << 20]),
    st.sampled_from([0, 10, 1 << 14]),
    st.randoms(use_true_random=False),
)
def test_the_same_lines_are_read_again(
    tmp_path_factory, lines, end, marked, most, gap, chance
):  # type: ignore[no-untyped-def]
    """Joined, at their places, they are the lines that are read again by their numbers."""
    path = tmp_path_factory.mktemp("a") / "a.jsonl"
    path.write_bytes(
        (b"\xef\xbb\xbf" if marked else b"")
        + end.join(lines)
        + chance.choice([b"", end])
    )
    corpus = open_corpus(path, on_error="skip")
    count = sum(len(batch.texts) for batch in corpus.batches())
    rows = np.flatnonzero([chance.random() < 0.6 for _ in range(count)])
    one_by_one = [line for part, _ in corpus.again(0, rows) for line in part]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_again, "GAP_BYTES", gap)
        patch.setattr(jsonl_again, "COPIED_BYTES", most)
        joined = b"".join(
            bytes(lines.data) for lines, _ in corpus.again(0, rows, join_lines=True)
        )
    assert joined == b"".join(line + b"\n" for line in one_by_one)


def test_the_last_line_of_a_packed_file_may_have_no_end(tmp_path: Path) -> None:
    """It is shorter than the buffer, which has bytes of the lines before behind it."""
    texts = [f"row {row} " + "x" * (row % 90) for row in range(20_000)]
    lines = [json.dumps({"text": text}).encode() for text in texts]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(lines), 1))
    corpus = open_corpus(path)
    rows = np.arange(sum(len(batch.texts) for batch in corpus.batches()))[::2] + 1
    again = corpus.again(0, rows, join_lines=True)
    joined = b"".join(bytes(part.data) for part, _ in again)
    assert joined == b"".join(line + b"\n" for line in lines[1::2])


def test_files_that_cannot_be_read_at_an_offset_are_held(tmp_path: Path) -> None:
    rows = [{"text": text} for text in TEXTS]
    plain = write_jsonl(tmp_path / "a.jsonl", rows)
    packed, wide, nested = (
        tmp_path / "b.jsonl.gz",
        tmp_path / "c.jsonl",
        tmp_path / "d.jsonl",
    )
    packed.write_bytes(gzip.compress(Path(plain).read_bytes()))
    wide.write_text(Path(plain).read_text("utf-8"), "utf-16")
    nested.write_bytes(packed.read_bytes())  # compressed, whatever its name says
    for path, kind in ((plain, True), (packed, False), (wide, False), (nested, False)):
        assert all(
            (batch.places is not None) == kind for batch in open_corpus(path).batches()
        )
    texts, stored = both([plain, packed, wide, nested])
    assert texts == TEXTS * 4
    rows_of_all = np.arange(len(texts))[::-1].copy()
    assert [text.decode() for text in stored.take(rows_of_all)] == texts[::-1]
    n = len(TEXTS)
    assert stored.equal(np.arange(n), np.arange(n) + 2 * n).all()
    assert list(stored.take(stored.lengths < 0)) == []


@pytest.mark.parametrize("change", ["longer", "cut", "rewritten", "gone"])
def test_a_file_that_changes_meanwhile_is_an_error(tmp_path: Path, change: str) -> None:
    path = write_jsonl(
        tmp_path / "a.jsonl", [{"text": f"text {row}"} for row in range(20)]
    )
    _, stored = both(path)
    before, data = os.stat(path), Path(path).read_bytes()
    if change == "gone":
        os.remove(path)
    else:
        Path(path).write_bytes(
            {
                "longer": data + data,
                "cut": data[:-5],
                "rewritten": data.replace(b"{", b"["),
            }[change]
        )
        os.utime(
            path, ns=(before.st_atime_ns, before.st_mtime_ns + (change == "rewritten"))
        )
    with pytest.raises(
        DataError,
        match=r"a\.jsonl: (changed while it was in use|cannot be read: No such file)",
    ):
        stored.take(np.array([19], np.int64))


def test_a_rewritten_file_of_the_same_time_is_an_error_too(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "a.jsonl", [{"text": f"text {row}"} for row in range(20)]
    )
    _, stored = both(path)
    before = os.stat(path)
    Path(path).write_bytes(Path(path).read_bytes().replace(b"{", b"["))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match=r"a\.jsonl: changed while it was in use"):
        stored.take(np.array([19], np.int64))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"exact": True},
        {"groups": "components"},
        {"keep": "longest"},
        {"threads": 2},
    ],
)
def test_dedup_gives_the_same_rows_where_texts_are_read_again(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """Compressed inputs are held in memory."""
    words = [f"w{i * i % 101}" for i in range(60)]
    rows = [
        {"text": " ".join([*words[row % 7 :], f"n{row % 5}"]), "id": row}
        for row in range(200)
    ]
    plain = write_jsonl(tmp_path / "a.jsonl", rows)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(Path(plain).read_bytes()))
    results = []
    for name in ("a.jsonl", "a.jsonl.gz"):
        pairs = tmp_path / f"{name}.pairs.csv"
        found = dedup_files(
            tmp_path / name,
            tmp_path / f"{name}.out.jsonl",
            pairs=pairs,
            id_column="id",
            **options,
        )
        assert 0 < found.summary.removed < 200
        results.append(
            (
                (tmp_path / f"{name}.out.jsonl").read_bytes(),
                pairs.read_bytes(),
                found.similarity.tolist(),
            )
        )
    assert results[0] == results[1]


def test_spans_are_read_again_in_bounded_pieces(tmp_path, monkeypatch):
    """No piece of a file is larger than a bound and a line, however many lines are read again."""
    path = tmp_path / "texts.jsonl"
    texts = [f"text {number} " + "x" * (number % 90) for number in range(400)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    sizes = []
    read = jsonl_again._read_spans

    def noted(*arguments):
        buffer, moved = read(*arguments)
        sizes.append(len(buffer) - PADDING)
        return buffer, moved

    monkeypatch.setattr(jsonl_again, "_read_spans", noted)
    monkeypatch.setattr(jsonl_again, "READ_BYTES", 1000)
    _, stored = both(path)
    rows = np.random.default_rng(1).permutation(400)
    again = stored.take(rows)
    assert [text.decode() for text in again] == [texts[row] for row in rows]
    assert len(sizes) > 10
    assert max(sizes) <= 1000
    assert len(stored.take(np.empty(0, np.int64))) == 0

"""The public function over files: the options of the command line as arguments, on the same machinery."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast import DataError, Removal, dedup, dedup_files
from tests.cli.commands import read_jsonl, write_jsonl

TEXTS = [
    "the cat sat on the mat today",
    "a dog",
    "The cat sat on the mat, today!",
    "",
    "A dog?",
    "a bird that sings",
]
ROWS = [
    {"id": f"r{row}", "text": text, "score": row % 4} for row, text in enumerate(TEXTS)
]


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", ROWS)


def test_without_outputs_nothing_is_written(source, tmp_path):
    before = sorted(tmp_path.iterdir())
    result = dedup_files(source, id_column="id")
    assert result == dedup(TEXTS, keys=[row["id"] for row in ROWS])
    assert result.removed == [Removal("r2", "r0", 1.0), Removal("r4", "r1", 1.0)]
    assert sorted(tmp_path.iterdir()) == before
    assert (
        dedup_files(
            source,
            tmp_path / "out.jsonl",
            save_index=tmp_path / "index.lsh",
            dry_run=True,
        ).keep.sum()
        == 4
    )
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "kind",
    [
        str,
        Path,
        lambda path: [path],
        lambda path: (str(path),),
        lambda path: iter([path]),
    ],
)
def test_inputs_and_outputs_are_paths_of_any_kind(source, tmp_path, kind):
    out = tmp_path / "out.jsonl"
    dedup_files(kind(source), out)
    assert read_jsonl(out) == [ROWS[row] for row in (0, 1, 3, 5)]
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".jsonl"] == []


def test_against_and_save_an_index(source, tmp_path):
    seen = tmp_path / "seen.lsh"
    more = write_jsonl(
        tmp_path / "more.jsonl", [{"id": "new", "text": TEXTS[0].upper()}]
    )
    assert (
        dedup_files(
            source, id_column="id", threshold=0.7, size=4, save_index=seen
        ).summary.indexed
        == 4
    )
    result = dedup_files(more, id_column="id", against=seen)
    assert result.removed == [Removal("new", "r0", 1.0)]
    with pytest.raises(
        ValueError, match=r"seen.lsh: threshold is 0.7 in this index, not 0.8"
    ):
        dedup_files(more, against=seen, threshold=0.8)
    with pytest.raises(ValueError, match=r"seen.lsh: size is 4 in this index, not 5"):
        dedup_files(more, against=str(seen), size=5)


def test_errors_are_those_of_the_data_and_of_the_arguments(source, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(ROWS[0]) + '\n{"text": 5}\n' + json.dumps(ROWS[1]) + "\n")
    with pytest.raises(DataError, match=r"bad.jsonl:2: "):
        dedup_files(bad)
    out = tmp_path / "out.jsonl"
    result = dedup_files(bad, out, on_error="skip")
    assert (result.summary.rejected, len(read_jsonl(out))) == (1, 2)
    assert "bad.jsonl" in (tmp_path / "out.jsonl.rejects.jsonl").read_text()
    with pytest.raises(FileExistsError):
        dedup_files(source, out)
    dedup_files(source, out, overwrite=True)
    for arguments, message in (
        (
            {"keep": "newest"},
            "keep must be first, last, longest, shortest, max:COLUMN or min:COLUMN, not 'newest'",
        ),
        ({"threshold": 0}, r"threshold must be in \(0, 1\], not 0"),
        ({"annotate": True}, "annotate needs an output"),
    ):
        with pytest.raises(ValueError, match=message):
            dedup_files(source, **arguments)


def test_progress_is_told(source, tmp_path):
    stages = []
    dedup_files(
        source,
        tmp_path / "out.jsonl",
        progress=lambda stage, done, total: stages.append(stage),
    )
    assert {"read", "sketch", "write"} <= set(stages)


def test_it_is_public():
    assert lshfast.dedup_files is dedup_files
    assert "dedup_files" in lshfast.__all__
    assert "DataError" in lshfast.__all__


def test_strings_of_any_length_rank_rows(tmp_path):
    """A long string takes no more memory in the ranks of the others; a NUL at the end counts."""
    rows = [
        {"text": f"text {number}", "date": f"2024-{number:05}"}
        for number in range(20_000)
    ]
    rows[11]["date"] = "9" * 2_000_000
    rows[12] = {"text": "the same", "date": "2024-00012\0"}
    rows[13] = {"text": "the same", "date": "2024-00012"}
    source = write_jsonl(tmp_path / "in.jsonl", rows)
    for keep, kept in (("max:date", 12), ("min:date", 13)):
        result = dedup_files(source, keep=keep, threshold=1.0, threads=1)
        assert result.keeper[12:14].tolist() == [kept, kept]


LONG = json.dumps(" ".join(f"w{i}" for i in range(30)))
HOSTILE = {
    "a lone surrogate in a name": b'{"\\ud800": 1}',
    "a lone surrogate inside": b'{"text": {"\\ud800": "a"}}',
    "a huge number": b'{"n": 1e999, "text": "a"}',
    "a string for a number": b'{"n": "s", "text": %b}' % LONG.encode(),
    "a list": b'{"n": [1], "text": %b}' % LONG.encode(),
    "an empty object": b'{"o": {}, "text": "a"}',
    "the name of an annotation": b'{"duplicate_of": 1, "text": %b}' % LONG.encode(),
    "many names": b'{"text": "a", %b}'
    % b", ".join(b'"k%d": 1' % i for i in range(3000)),
    "deep lists": b'{"text": "a", "n": ' + b"[" * 900 + b"]" * 900 + b"}",
    "not UTF-8": b'{"text": "\xff"}',
}


@pytest.mark.few_cases
@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("out", ["o.jsonl", "o.csv", "o.parquet"])
@pytest.mark.parametrize("options", [{}, {"annotate": True}, {"memory": "1G"}], ids=str)
def test_one_row_never_ends_a_run_that_skips_bad_rows(tmp_path, hostile, out, options):
    source = tmp_path / "in.jsonl"
    rows = [
        json.dumps(
            {"n": i, "text": json.loads(LONG) if i < 2 else f"text {i}"}
        ).encode()
        for i in range(6)
    ]
    source.write_bytes(b"\n".join([*rows[:3], HOSTILE[hostile], *rows[3:], b""]))
    result = dedup_files(
        source,
        tmp_path / out,
        removed=tmp_path / "r.csv",
        on_error="skip",
        threads=1,
        **options,
    )
    summary, rejects = result.summary, read_jsonl(tmp_path / f"{out}.rejects.jsonl")
    assert summary.kept + summary.removed + summary.rejected == summary.read == 7
    assert [row["line"] for row in rejects] == [4] * summary.rejected
    assert 1 <= summary.removed <= 2
    written = (
        pq.read_table(tmp_path / out).num_rows
        if out == "o.parquet"
        else len(read_lines(tmp_path / out))
    )
    assert (
        written == len(result.keep)
        if "annotate" in options
        else written == summary.kept
    )


def read_lines(path):
    """Return the lines of a table, without a header."""
    return path.read_bytes().splitlines()[path.suffix == ".csv" :]

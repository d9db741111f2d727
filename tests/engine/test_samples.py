"""Samples of the rows of inputs: the lines of places, and the beginnings of files."""

import gzip
import json
import random
from functools import cache

import numpy as np
import pytest

from lshfast._engine import samples
from lshfast._engine.budget import Budget
from lshfast._engine.forecasts import texts as forecasts
from lshfast._engine.forecasts.texts import forecast
from lshfast._engine.inputs import Inputs
from lshfast._engine.plan import make_plan

pytestmark = pytest.mark.usefixtures("little_work")


def corpus_of(paths, **others):
    return Inputs([str(path) for path in paths], on_error="skip", **others).open()


@pytest.mark.parametrize("max_row_bytes", [500, 1 << 20])
@pytest.mark.parametrize("place_bytes", [1, 7, 64, 1000, 1 << 20])
def test_each_line_begins_in_one_place(
    tmp_path, monkeypatch, place_bytes, max_row_bytes
):
    """Empty files, blank lines, a mark of UTF-8, lines longer than a place, last lines without an end."""
    monkeypatch.setattr(samples, "PLACE_BYTES", place_bytes)
    rng = random.Random(1)
    contents = [b"", b"\n\n", b"\xef\xbb\xbfa\nb", b"c" * 500 + b"\n", b"d"]
    contents += [
        b"\n".join(b"x" * rng.randrange(30) for _ in range(20)) for _ in range(5)
    ]
    paths = [tmp_path / f"{number}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    corpus = corpus_of(paths, max_row_bytes=max_row_bytes)
    places = np.arange(samples.place_count(corpus))
    assert samples.bytes_of(corpus, places) == corpus.total_bytes
    wanted = b"".join(
        line.removeprefix(samples.UTF8_MARK).rstrip(b"\n") + b"\n"
        for content in contents
        for line in content.splitlines(keepends=True)
    )
    found = list(samples.lines_of(corpus, places))
    assert len(found) == len(places)
    assert b"".join(found) == wanted
    some = places[1::3]
    assert list(samples.lines_of(corpus, some)) == found[1::3]


@cache
def rows(number, share=0.5):
    """Return lines with texts of which `share` have one near-duplicate, in random order."""
    rng = random.Random(number)
    texts = [
        " ".join(f"w{rng.randrange(10**6)}" for _ in range(40)) for _ in range(number)
    ]
    for at in range(int(share * number / 2)):
        texts[at] = texts[number // 2 + at] + " more"
    rng.shuffle(texts)
    return tuple(json.dumps({"text": text}) + "\n" for text in texts)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("in_file", [1, 5, 100, 10_000])
@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz"])
def test_a_forecast_over_many_files(tmp_path, monkeypatch, in_file, kind):
    """A sample has as many rows as it needs, however many files they are in."""
    monkeypatch.setattr(forecasts, "PLACES", 4)
    for module in (samples, forecasts):
        monkeypatch.setattr(module, "PLACE_BYTES", 1 << 13)
    lines = rows(2000)
    for at in range(0, len(lines), in_file):
        content = "".join(lines[at : at + in_file]).encode()
        path = tmp_path / f"{at:05}.{kind}"
        path.write_bytes(content if kind == "jsonl" else gzip.compress(content, 1))
    found = forecast(Inputs([str(tmp_path)]), make_plan(threads=1), 1 << 30)
    assert found.rows == pytest.approx(2000, rel=0.15)
    assert found.sharing == pytest.approx(0.5, rel=0.2)


@pytest.mark.one_case
@pytest.mark.weekly
@pytest.mark.parametrize("in_file", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_near_duplicates_inside_small_files(tmp_path, monkeypatch, in_file):
    """The first and the last row of one file in ten are alike; other files are not alike."""
    monkeypatch.setattr("lshfast._engine.forecasts.sharing.OF_ROOT", 25)
    for number in range(1000):
        lines = [line.replace("w", f"{number}w") for line in rows(in_file, 0)]
        if number % 10 == 0:
            lines[-1] = lines[0].replace('"}', ' more"}')
        (tmp_path / f"{number}.jsonl.gz").write_bytes(
            gzip.compress("".join(lines).encode(), 1)
        )
    found = forecast(Inputs([str(tmp_path)]), make_plan(threads=1), 1 << 30)
    assert found.rows == pytest.approx(1000 * in_file, rel=0.1)
    assert found.sharing == pytest.approx(0.2 / in_file, rel=0.5)


def test_rows_of_different_lengths_are_counted(tmp_path, monkeypatch):
    """The first places have short rows, and the others long ones."""
    monkeypatch.setattr(forecasts, "PLACES", 4)
    for module in (samples, forecasts):
        monkeypatch.setattr(module, "PLACE_BYTES", 1 << 13)
    short, long = (
        json.dumps({"text": "a b c d e " * many}) + "\n" for many in (1, 500)
    )
    path = tmp_path / "in.jsonl"
    path.write_text(short * 2000 + long * 100)
    assert forecast(
        Inputs([str(path)]), make_plan(threads=1), 1 << 30
    ).rows == pytest.approx(2100, rel=0.05)


@pytest.mark.slow
def test_files_without_rows_are_passed_over(tmp_path):
    for number in range(200):
        content = "".join(rows(5)).encode() if number == 7 else b""
        (tmp_path / f"{number:03}.jsonl.gz").write_bytes(gzip.compress(content))
    found = forecast(Inputs([str(tmp_path)]), make_plan(threads=1), 1 << 30)
    assert 5 <= found.rows < 40


@pytest.mark.slow
def test_ids_leave_less_memory_for_records(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": number, "text": f"a{number} b"}) + "\n"
            for number in range(30_000)
        )
    )
    memory = Budget(0, make_plan(threads=1), ids=True).least(30_000)
    disk = [
        forecast(
            Inputs([str(path)], id_column=name), make_plan(threads=1), memory
        ).disk.value
        for name in ("id", None)
    ]
    assert disk[0] == 16 * 18 * 30_000 > disk[1]


@pytest.mark.slow
def test_a_forecast_over_long_rows(tmp_path, monkeypatch):
    for module in (samples, forecasts):
        monkeypatch.setattr(module, "PLACE_BYTES", 1 << 12)
    path = tmp_path / "in.jsonl"
    path.write_text(
        "".join(
            json.dumps({"text": f"{number} " * 3000}) + "\n" for number in range(200)
        )
    )
    found = forecast(Inputs([str(path)]), make_plan(threads=1), 1 << 30)
    assert found.rows == pytest.approx(200, rel=0.5)
    assert found.sharing == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "gzip"])
def test_a_forecast_over_files_whose_bytes_are_not_what_their_name_says(
    tmp_path, encoding
):
    lines = rows(300)
    (tmp_path / "a.jsonl").write_text("".join(lines[:100]))
    content = "".join(lines[100:])
    (tmp_path / "b.jsonl").write_bytes(
        gzip.compress(content.encode())
        if encoding == "gzip"
        else content.encode(encoding)
    )
    corpus = corpus_of([tmp_path])
    assert samples.has_places(corpus) == (encoding == "utf-8-sig")
    found = forecast(Inputs([str(tmp_path)]), make_plan(threads=1), 1 << 30)
    assert found.rows == 300
    assert found.sharing == pytest.approx(0.5, abs=0.05)


def test_a_bad_line_of_the_sample_is_no_error(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("{\n" + "".join(rows(10)) + "\n\n")
    assert forecast(Inputs([str(path)]), make_plan(threads=1), 1 << 30).rows == 10

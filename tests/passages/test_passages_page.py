"""The page of shared passages: what it has, hostile texts, and outputs all or none."""

import pytest

from lshfast import passages
from lshfast.passages.page import _pieces
from lshfast.passages.spans import SPAN
from tests.cli.commands import failing, read_jsonl, run, write_jsonl
from tests.io.pages.pages import HOSTILE, read_page

SHARED = "the quick brown fox jumps over the lazy dog near the old river bank"
TEXTS = [
    f"first words here {SHARED} and then more",
    f"{SHARED} begins this one",
    "nothing in common at all with these others",
]
ASKED = [
    f"question: {SHARED}?",
    "an unrelated question about something else entirely, is it not",
]


def test_a_page_within_texts(tmp_path):
    found = passages.find(TEXTS, length=5)
    found.to_html(tmp_path / "out.html", command="lshfast passages in.jsonl")
    text = read_page(tmp_path / "out.html")
    for shown in (
        "passages 1",
        "texts with later copies 1",
        "0: 20 words",
        "1: 17 words",
        "lshfast passages in.jsonl",
    ):
        assert shown in text
    assert text.count(SHARED) == 3  # with the table of pairs


def test_a_page_of_contaminated_questions(tmp_path):
    found = passages.find(TEXTS, ASKED, length=5)
    found.to_html(tmp_path / "out.html", searched=TEXTS)
    text = read_page(tmp_path / "out.html")
    assert "of them contaminated 1 50.0%" in text
    assert "93.3%" in text  # 14 of 15 words of the question
    assert text.count(SHARED) == 3  # with the table of pairs
    found.to_html(tmp_path / "out.html", overwrite=True)
    assert (
        read_page(tmp_path / "out.html").count(SHARED) == 2
    )  # with the table of pairs
    with pytest.raises(ValueError, match="3 texts were searched, not 1"):
        found.to_html(tmp_path / "out.html", searched=TEXTS[:1], overwrite=True)


def test_a_page_without_texts(tmp_path):
    passages.find(TEXTS, length=5).to_html(tmp_path / "out.html", texts=False)
    text = read_page(tmp_path / "out.html")
    assert "Texts are left out" in text
    assert "quick" not in text


def test_a_page_without_passages(tmp_path):
    for texts in ([], ["a b c"]):
        passages.find(texts, length=2).to_html(tmp_path / "out.html", overwrite=True)
        assert "No passages were found." in read_page(tmp_path / "out.html")


def test_hostile_texts(tmp_path):
    safe = [text for text in HOSTILE if "\ud800" not in text]  # which no text may have
    texts = [f"{a} one two three four {b} five six" for a in safe for b in safe[:3]] + [
        "one one one one one one one one"
    ]
    found = passages.find(texts, length=3)
    found.to_html(tmp_path / "out.html", title="".join(HOSTILE))
    text = read_page(tmp_path / "out.html")
    assert "\\u202e" in text
    assert "<script>" in text


def test_characters_and_long_texts(tmp_path):
    texts = ["x" * 40_000 + "y", "z" + "x" * 40_000, "ab" * 30_000, "c" + "ab" * 30_000]
    passages.find(texts, length=100, unit="char", most_copies=1).to_html(
        tmp_path / "out.html"
    )
    assert "characters …" in read_page(tmp_path / "out.html")


def spans_of(*places):
    import numpy as np

    spans = np.zeros(len(places), SPAN)
    spans["i_start"], spans["i_end"] = zip(*places, strict=True)
    return spans


@pytest.mark.parametrize(
    "places",
    [[(0, 3), (2, 5)], [(2, 5), (0, 3)], [(0, 9), (3, 5)], [(4, 5), (4, 5)], [(0, 10)]],
)
def test_pieces_are_the_text(places):
    pieces = _pieces("abcdefghij", spans_of(*places), "i")
    assert "".join(piece.text for piece in pieces) == "abcdefghij"
    assert sorted(piece.number for piece in pieces if piece.kind == "passage") == list(
        range(1, len(places) + 1)
    )


@pytest.fixture
def files(tmp_path):
    texts = write_jsonl(
        tmp_path / "in.jsonl",
        [{"id": f"t{n}", "text": text} for n, text in enumerate(TEXTS)],
    )
    return texts, write_jsonl(
        tmp_path / "q.jsonl",
        [{"id": f"<q{n}>", "text": text} for n, text in enumerate(ASKED)],
    )


@pytest.mark.parametrize("streamed", [False, True])
def test_the_command(files, tmp_path, streamed):
    options = [
        "--min-words",
        "5",
        "--id-column",
        "id",
        "--against",
        files[1],
        "--against-id-column",
        "id",
        "-q",
    ]
    options += ["--stream-against"] if streamed else []
    assert (
        run("passages", files[0], "--html", tmp_path / "out.html", *options).exit_code
        == 0
    )
    text = read_page(tmp_path / "out.html")
    assert "<q0>" in text
    assert text.count(SHARED) == 3  # with the table of pairs
    assert "--min-words 5" in text or "lshfast" in text
    options += ["--html-no-texts", "-o", tmp_path / "out.jsonl", "--overwrite"]
    assert (
        run("passages", files[0], "--html", tmp_path / "out.html", *options).exit_code
        == 0
    )
    assert SHARED not in read_page(tmp_path / "out.html")
    assert {row["key_j"] for row in read_jsonl(tmp_path / "out.jsonl")} == {"<q0>"}


def test_outputs_are_written_all_or_none(files, tmp_path):
    (tmp_path / "out.html").write_text("mine")
    options = [
        "--min-words",
        "5",
        "--html",
        tmp_path / "out.html",
        "-o",
        tmp_path / "out.jsonl",
    ]
    assert "exists already" in failing(2, "passages", files[0], *options)
    assert not (tmp_path / "out.jsonl").exists()
    assert (tmp_path / "out.html").read_text() == "mine"
    assert "must be named .html" in failing(
        2, "passages", files[0], "--html", tmp_path / "out.txt"
    )


def test_bad_rows_are_written_beside_a_page_alone(files, tmp_path):
    files[0].write_text(files[0].read_text() + "{\n")
    options = ["--min-words", "5", "--on-error", "skip", "-q"]
    assert (
        run("passages", files[0], "--html", tmp_path / "out.html", *options).exit_code
        == 0
    )
    assert len(read_jsonl(tmp_path / "out.html.rejects.jsonl")) == 1

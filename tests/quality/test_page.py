"""The page of a check: its figures are those of the result, and texts are shown as text."""

import pytest

import lshfast
from tests.cli.commands import failing, run, write_jsonl
from tests.corpora import WORDS

BASE = " ".join(WORDS[:40])
TEXTS = [
    BASE,
    f"{BASE} <script>alert(1)</script> \u202e",
    f"but {BASE}",
    "nothing like it",
    BASE,
    "",
]


@pytest.fixture(scope="module")
def result():
    return lshfast.check(TEXTS, threshold=0.7, size=2, examples=3)


def test_figures_are_those_of_the_result(result, tmp_path):
    result.to_html(tmp_path / "check.html", title="a <b> title")
    page = (tmp_path / "check.html").read_text()
    assert "<h1>a &lt;b&gt; title</h1>" in page
    assert f"<dd>{result.recall.value:.4f} <small></small></dd>" in page
    assert f'<td class="number">{result.alternatives[0].promised:.4f}</td>' in page
    assert "All rows were compared" in page
    for example in result.examples:
        assert f"<strong>{example.similarity:.4f}</strong>" in page


def test_texts_are_shown_as_text_or_left_out(result, tmp_path):
    result.to_html(tmp_path / "check.html")
    page = (tmp_path / "check.html").read_text()
    assert "<script" not in page
    assert "\u202e" not in page
    assert "alert(1)" in page
    result.to_html(tmp_path / "check.html", texts=False, overwrite=True)
    assert "alert(1)" not in (tmp_path / "check.html").read_text()


def test_nothing_to_compare(tmp_path):
    lshfast.check(["a b c"]).to_html(tmp_path / "check.html")
    assert "unknown" in (tmp_path / "check.html").read_text()


def test_the_command(tmp_path):
    source = write_jsonl(
        tmp_path / "in.jsonl",
        [{"id": str(row), "text": text} for row, text in enumerate(TEXTS)],
    )
    page = tmp_path / "check.html"
    assert (
        run(
            "check", source, "--id-column", "id", "--html", page, "--examples", "-q"
        ).exit_code
        == 0
    )
    assert "Check of" in page.read_text()
    assert "exists already" in failing(2, "check", source, "--html", page)
    assert "must be named .html" in failing(
        2, "check", source, "--html", tmp_path / "check.txt"
    )
    assert (
        run(
            "check",
            source,
            "--html",
            page,
            "--html-no-texts",
            "--examples",
            "--overwrite",
            "-q",
        ).exit_code
        == 0
    )
    assert "alert(1)" not in page.read_text()

"""The page of a run over files: written with the other outputs or not at all, the same with and without a cap."""

import json
import re

import pytest

from lshfast import DataError, dedup_files
from lshfast._cli.terminal import command_line
from lshfast._engine.pages.run_pages import named
from tests.cli.commands import failing, process, run, write_jsonl

HOSTILE = [
    "<script>alert(1)</script>",
    "<a href='javascript:alert(1)'>here</a>",
    "<b><table><!-- unclosed",
    "turned \u202e around \u2066 and back",
    "\x00 NUL and \x1b]52;c;AAAA\x07",
    "{{ 7 * 7 }} {% raw %}",
    "</title></style></p>",
]


def write(path, texts):
    rows = [
        {"id": f"id {text[:40]} {number}", "text": text}
        for number, text in enumerate(texts)
    ]
    return write_jsonl(path, rows)


@pytest.fixture
def hostile(tmp_path):
    common = " these words are in all of them and make them similar to each other all the same"
    texts = [text + common + end for text in HOSTILE for end in ("", " one", " two")]
    return write(tmp_path / "in.jsonl", texts)


def plain(page):
    """Return a page without what differs from run to run."""
    return re.sub(
        r"<footer>.*|Seconds of each stage.*?</table>|<tr><th scope=\"row\">candidates.*?</tr>",
        "",
        page,
        flags=re.S,
    )


def test_hostile_texts_are_shown_as_text(tmp_path, hostile):
    result = dedup_files(
        hostile, html=tmp_path / "page.html", id_column="id", threshold=0.5
    )
    assert result.summary.removed > 10
    page = (tmp_path / "page.html").read_text()
    assert not re.search(
        r"<script|<a |javascript:alert\(1\)'>|<b>|<!--|[\x00-\x08\x0b-\x1f\u202e\u2066]",
        page,
        re.I,
    )
    assert page.count("<table") == page.count("</table>")
    for shown in ("&lt;script&gt;", r"\u202e", r"\x00", "{{ 7 * 7 }}"):
        assert shown in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "http" not in re.sub("http-equiv", "", page)


@pytest.mark.parametrize("kind", ["rows", "pairs"])
def test_a_cap_of_memory_gives_the_same_page(tmp_path, hostile, kind):
    outputs = (
        {"output": tmp_path / "out.jsonl"}
        if kind == "rows"
        else {"pairs": tmp_path / "pairs.csv"}
    )
    pages = []
    for options in ({}, {"memory": "500M"}):
        dedup_files(
            hostile,
            html=tmp_path / "p.html",
            id_column="id",
            threshold=0.5,
            overwrite=True,
            **outputs,
            **options,
        )
        pages.append(plain((tmp_path / "p.html").read_text()))
    assert pages[0] == pages[1]
    assert ("Similar pairs in" in pages[0]) == (kind == "pairs")


def test_without_texts_no_word_of_them_is_shown(tmp_path):
    source = write(
        tmp_path / "in.jsonl", ["", *(["secret words of a customer here"] * 3)]
    )
    rows = [
        json.loads(line) | {"id": number}
        for number, line in enumerate(source.read_text().splitlines())
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dedup_files(source, html=tmp_path / "p.html", html_texts=False, id_column="id")
    page = (tmp_path / "p.html").read_text()
    assert "customer" not in page
    assert "Texts are left out of this page." in page


def test_no_removed_rows(tmp_path):
    dedup_files(write(tmp_path / "in.jsonl", ["one", "two"]), html=tmp_path / "p.html")
    assert "No row was removed." in (tmp_path / "p.html").read_text()


def test_no_rows(tmp_path):
    dedup_files(write(tmp_path / "in.jsonl", []), html=tmp_path / "p.html")
    assert "No row was removed." in (tmp_path / "p.html").read_text()


def test_all_outputs_or_none(tmp_path):
    source = write(tmp_path / "in.jsonl", ["one two three"] * 3)
    with source.open("a") as file:
        file.write("no JSON\n")
    with pytest.raises(DataError):
        dedup_files(source, tmp_path / "out.jsonl", html=tmp_path / "p.html")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_what_cannot_be_written_is_said_before_the_work(tmp_path):
    source = write(tmp_path / "in.jsonl", ["one two three"] * 3)
    (tmp_path / "p.html").write_text("mine")
    for html, error, said in (
        ("p.html", FileExistsError, "p.html: the output exists already"),
        ("p.pdf", ValueError, "p.pdf: a page .html. must be named .html"),
        (
            "nowhere/p.html",
            FileNotFoundError,
            "the folder of the output does not exist",
        ),
    ):
        with pytest.raises(error, match=said):
            dedup_files(source, tmp_path / "out.jsonl", html=tmp_path / html)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "p.html"]
    assert (tmp_path / "p.html").read_text() == "mine"


def test_inputs_are_named_with_their_shares(tmp_path):
    first = write(tmp_path / "a.jsonl", ["one two three", "four five six"])
    second = write(tmp_path / "b.jsonl", ["one two three", "seven eight nine"])
    dedup_files([first, second], html=tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text()
    shares = dict(re.findall(r'<th scope="row">\S*(\w\.jsonl)</th>.*?([\d.]+%)', page))
    assert shares == {"a.jsonl": "0.0%", "b.jsonl": "50.0%"}


@pytest.mark.slow
def test_the_command_is_named(tmp_path):
    source = write(tmp_path / "in.jsonl", ["one two three"] * 2)
    page = tmp_path / "p.html"
    arguments = ["dedup", source, "-o", tmp_path / "out.jsonl", "--html", page]
    with process(*arguments) as running:
        running.communicate()
    assert running.returncode == 0
    assert (
        f"<pre>{' '.join(map(str, ['lshfast', *arguments]))}</pre>" in page.read_text()
    )


def test_a_dry_run_writes_no_page(tmp_path):
    source = write(tmp_path / "in.jsonl", ["one two three"] * 2)
    assert (
        run("dedup", source, "--dry-run", "--html", tmp_path / "p.html").exit_code == 0
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("https://me:secret@host/a.jsonl?key=secret", "https://…@host/a.jsonl?…"),
        ("s3://bucket/a.jsonl", "s3://bucket/a.jsonl"),
        ("https://host", "https://host"),
        ("a b", "'a b'"),
    ],
)
def test_the_command_has_no_secrets(argument, shown):
    assert command_line(["python", "dedup", argument]).replace(
        "'", ""
    ) == f"lshfast dedup {shown}".replace("'", "")


def test_the_inputs_have_no_secrets(tmp_path):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    rows = "".join(json.dumps({"text": text}) + "\n" for text in ["one two three"] * 2)
    memory.pipe("/me:secret@host/a.jsonl", rows.encode())
    assert (
        named(["https://me:secret@host/a.jsonl?key=secret", "b.jsonl"])
        == "https://…@host/a.jsonl?… and b.jsonl"
    )
    for options in ([], ["--memory", "500M"]):
        page = tmp_path / f"{len(options)}.html"
        source = "memory://me:secret@host/a.jsonl"
        kept = tmp_path / f"{len(options)}.jsonl"
        run("dedup", source, "-o", kept, "--html", page, "--html-no-texts", *options)
        text = page.read_text()
        head = text.partition("</title>")[0]
        inputs = text.partition("Where the rows come from")[2]
        assert "Near-duplicates in memory://…@host/a.jsonl" in head
        assert "secret" not in head + inputs.partition("<h2")[0]


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".tsv", ".parquet", ".arrow"])
@pytest.mark.parametrize("memory", [None, "500M"])
def test_another_column_is_shown(tmp_path, kind, memory):
    titles = [f"<title {number}> \u202e" for number in range(4)]
    texts = ["one two three four five six"] * 2 + ["seven eight nine ten eleven"] * 2
    source = table(tmp_path / f"in{kind}", {"text": texts, "title": titles})
    dedup_files(source, html=tmp_path / "p.html", html_column="title", memory=memory)
    page = (tmp_path / "p.html").read_text()
    for title in titles:
        assert f"&lt;title {title[7]}&gt; \\u202e" in re.sub("<[^>]*>", "", page)
    assert "seven" not in page


def table(path, columns):
    """Write columns of equal length."""
    pa = pytest.importorskip("pyarrow")
    made = pa.table(columns)
    if path.suffix == ".arrow":
        pytest.importorskip("pyarrow.feather").write_feather(
            made, path, compression="uncompressed"
        )
    else:
        from lshfast._io import write_table

        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(made, path)
        else:
            write_table(path, made.to_pydict())
    return path


def test_items_of_other_kinds_are_shown(tmp_path):
    vectors = [[1.0, 0.5 + number // 2] for number in range(4)]
    columns = {
        "tags": [["red", "green"]] * 2 + [["blue"]] * 2,
        "code": [b"\xab\x01" * 4] * 2 + [b"\x00" * 8] * 2,
        "vector": vectors,
        "about": [{"name": name} for name in ("rose", "tulip", "iris", "lily")],
    }
    pa = pytest.importorskip("pyarrow")
    made = pa.table(columns | {"code": pa.array(columns["code"], pa.binary(8))})
    source = tmp_path / "in.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(made, source)
    for options, shown in (
        (
            dict(column="tags"),
            ["red, green", "blue", "and words that are elsewhere in the other. Long"],
        ),
        (dict(column="code", radius=1), ["ab01ab01ab01ab01"]),
        (dict(column="vector"), ["The vectors are left out of this page."]),
        (
            dict(column="vector", html_column="about.name"),
            ["rose", "tulip", "iris", "lily"],
        ),
        (dict(column="vector", html_column="vector"), ["1, 0.5", "1, 1.5"]),
        (
            dict(column="tags", html_column="about", html_texts=False),
            ["The sets are left out of this page."],
        ),
    ):
        dedup_files(source, html=tmp_path / "p.html", overwrite=True, **options)
        page = re.sub("<[^>]*>", "", (tmp_path / "p.html").read_text())
        for text in shown:
            assert text in page


def test_a_column_that_is_not_there_is_named_before_the_work(tmp_path):
    for kind in (".csv", ".parquet"):
        source = table(
            tmp_path / f"in{kind}", {"text": ["a", "b"], "title": ["c", "d"]}
        )
        with pytest.raises(
            DataError, match=f"in{kind}: no column 'name'; columns are: text, title"
        ):
            dedup_files(
                source,
                tmp_path / "out.csv",
                html=tmp_path / "p.html",
                html_column="name",
            )
    source = write_jsonl(tmp_path / "in.jsonl", [{"text": "one two"}] * 2)
    dedup_files(
        source, html=tmp_path / "p.html", html_column="name"
    )  # it may be in any row
    assert "one two" not in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize("options", [[], ["--split", "line"]])
def test_a_column_without_a_page_is_refused(options, tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "a", "title": "b"}\n')
    said = "html_column (--html-column) needs html (--html)"
    assert said in failing(
        2, "dedup", source, "--dry-run", "--html-column", "title", *options
    )
    if not options:
        with pytest.raises(ValueError, match=re.escape(said)):
            dedup_files(source, html_column="title")

"""Mirrors and contraction from the command line: inputs, outputs, accounts, bad rows, and runs that fail."""

import csv
import gzip
import signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lshfast._cli.console import Watch
from lshfast._engine import name_columns as columns
from lshfast._engine.inputs import Inputs
from lshfast.web.host_sets import mirror_plan
from lshfast.web.job import contract_files, mirrors_of_files
from tests.cli.commands import ENDINGS, failing, read_jsonl, run, stopped, write_jsonl

PAGES = [
    "/docs/install/linux.html",
    "/docs/install/mac.html",
    "/docs/guide/start.html",
    "/news/2024/launch",
]
SITES = {
    "a.example": PAGES,
    "mirror.example": PAGES[:3],
    "c.example": ["/x/y", "/z/w", "/v/u"],
}
ROWS = [
    {
        "url": f"http://{host}{page}",
        "sum": f"{'v' if host == 'c.example' else 'm'}{page}",
    }
    for host, pages in SITES.items()
    for page in pages
]
FOUND = {
    "host": "mirror.example",
    "mirror_of": "a.example",
    "similarity": 0.75,
    "paths": 3,
    "common": 3,
    "agreement": 1.0,
}


@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv", "parquet", "txt.gz"])
def test_mirrors_of_every_input(tmp_path, kind):
    source, out = tmp_path / f"urls.{kind}", tmp_path / "out.jsonl"
    if kind.startswith("txt"):
        data = "# a crawl\n\n" + "".join(f"  {row['url']}\r\n" for row in ROWS)
        source.write_bytes(
            gzip.compress(data.encode()) if kind == "txt.gz" else data.encode()
        )
    elif kind == "jsonl":
        write_jsonl(source, ROWS)
    elif kind == "csv":
        source.write_text(
            "sum,url\n" + "".join(f"{row['sum']},{row['url']}\n" for row in ROWS)
        )
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), source)
    result = run("web", "mirrors", source, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert read_jsonl(out) == [FOUND]
    assert "10   10 URLs + 0 rejected" in result.stderr
    assert "3   2 kept + 1 mirrors of them" in result.stderr


def test_contents(tmp_path):
    rows = [
        dict(row, sum="changed")
        if row["url"].endswith("mirror.example/docs/install/mac.html")
        else row
        for row in ROWS
    ]
    source, text = write_jsonl(tmp_path / "urls.jsonl", rows), tmp_path / "urls.txt"
    text.write_text("".join(f"{row['url']} {row['sum']}\n" for row in rows))
    for name in (source, text):
        out = tmp_path / f"{name.name}.csv"
        result = run(
            "web",
            "mirrors",
            name,
            "-o",
            out,
            "--content-column",
            "sum",
            "--threshold",
            0.4,
            "-q",
        )
        assert (result.exit_code, result.stderr) == (0, "")
        with open(out) as stream:
            (row,) = csv.DictReader(stream)
        assert (row["host"], row["similarity"], row["agreement"]) == (
            "mirror.example",
            "0.4",
            str(2 / 3),
        )


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_nothing_is_found(tmp_path, kind):
    source = tmp_path / "in.txt"
    out = tmp_path / f"out.{kind}"
    labels = tmp_path / f"labels.{kind}"
    source.write_text("")
    assert run("web", "mirrors", source, "-o", out).exit_code == 0
    result = run(
        "web", "contract", source, "-o", out, "--labels", labels, "--overwrite"
    )
    assert result.exit_code == 0, result.stderr
    assert out.exists()
    if kind == "parquet":
        assert pq.read_table(labels).schema.names == ["node", "merged_into"]


def test_bad_urls(tmp_path):
    text = tmp_path / "urls.txt"
    text.write_bytes(
        "".join(f"{row['url']}\n" for row in ROWS[:3]).encode()
        + b"ftp://x/\n\xff\n"
        + b"a.example/last"
    )
    out = tmp_path / "out.csv"
    line = failing(1, "web", "mirrors", text, "-o", out)
    assert "urls.txt:5: not UTF-8: invalid start byte; try encoding cp1252" in line
    assert not out.exists()
    text.write_text("a.example/x\nftp://x/\n")
    assert "urls.txt:2: not a URL of http or https: 'ftp://x/'" in failing(
        1, "web", "mirrors", text, "-o", out
    )
    rows = write_jsonl(
        tmp_path / "rows.jsonl", [*ROWS, {"url": None}, {"url": "x y"}, {"other": 1}]
    )
    result = run("web", "mirrors", text, rows, "-o", out, "--on-error", "skip", "-q")
    assert (result.exit_code, result.stderr) == (0, "lshfast: 4 rows rejected\n")
    rejected = read_jsonl(tmp_path / "out.csv.rejects.jsonl")
    assert sorted((row["file"].rpartition("/")[2], row["line"]) for row in rejected) == [
        ("rows.jsonl", 11), ("rows.jsonl", 12), ("rows.jsonl", 13), ("urls.txt", 2),
    ]  # fmt: skip
    inputs = Inputs([str(text), str(rows)], "url", on_error="skip")
    _, summary = mirrors_of_files(inputs, str(out), mirror_plan(), overwrite=True)
    assert (summary.read, summary.urls, summary.rejected) == (15, 11, 4)
    assert summary.hosts == summary.kept + summary.removed == 3


LINKS = [("u1", "v1"), ("u2", "v2"), ("v1", "w"), ("v2", "w"), ("v2", "w"), ("w", "w")]


@pytest.mark.parametrize("kind", ["txt", "csv", "tsv", "jsonl", "parquet"])
def test_contraction_of_every_input(tmp_path, kind):
    source, out, labels = (
        tmp_path / name for name in (f"edges.{kind}", "out.csv", "labels.csv")
    )
    rows = [{"source": a, "target": b} for a, b in LINKS]
    if kind == "txt":
        source.write_text("# from\tto\n" + "".join(f"{a}\t{b}\n" for a, b in LINKS))
    elif kind == "jsonl":
        write_jsonl(source, rows)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), source)
    else:
        separator = "," if kind == "csv" else "\t"
        source.write_text(
            "".join(f"{a}{separator}{b}\n" for a, b in [("source", "target"), *LINKS])
        )
    result = run("web", "contract", source, "-o", out, "--labels", labels)
    assert result.exit_code == 0, result.stderr
    assert out.read_text() == "source,target\nu1,v1\nv1,w\n"
    assert labels.read_text() == "node,merged_into\nu2,u1\nv2,v1\n"
    assert (
        "6   2 links left + 4 repeated or within a class + 0 rejected" in result.stderr
    )
    assert "5   3 kept + 2 merged into them" in result.stderr


def test_blocks_that_are_left_out_are_counted(tmp_path):
    edges, out = tmp_path / "edges.txt", tmp_path / "out.csv"
    pages = [f"p{page} h{hub}" for page in range(8) for hub in range(9) if hub != page]
    edges.write_text("\n".join(pages))
    result = run(
        "web", "contract", edges, "-o", out, "--threshold", 0.7, "--max-block", 20
    )
    assert result.exit_code == 0, result.stderr
    assert "17   17 kept + 0 merged into them" in result.stderr
    assert (
        "linked nodes above --max-block; 8 nodes kept that may be similar to others"
        in result.stderr
    )
    summary = contract_files(
        Inputs([str(edges)], "source", "target"),
        str(out),
        threshold=0.7,
        max_block=28,
        overwrite=True,
    )
    assert (summary.removed, summary.left_out, summary.partly_compared) == (7, 0, 0)
    assert "max_block must be at least 1, not 0" in failing(
        2, "web", "contract", edges, "-o", out, "--max-block", 0, "--overwrite"
    )


def test_nodes_known_to_be_the_same(tmp_path):
    edges = tmp_path / "edges.txt"
    same = tmp_path / "same.txt"
    out = tmp_path / "out.csv"
    edges.write_text("u1 v1\nu2 v2\n")
    same.write_text("v1 v2\n")
    assert (
        contract_files(Inputs([str(edges)], "source", "target"), str(out)).removed == 0
    )
    result = run("web", "contract", edges, "-o", out, "--same", same, "--overwrite")
    assert result.exit_code == 0, result.stderr
    assert out.read_text() == "source,target\nu1,v1\n"
    assert (
        "3   1 links left + 1 repeated or within a class + 1 pairs of equal nodes + 0 rejected"
        in result.stderr
    )
    same.write_text("v1 v2\nv1\n")
    inputs = Inputs([str(edges)], "source", "target", on_error="skip")
    summary = contract_files(inputs, str(out), same=[str(same)], overwrite=True)
    assert (summary.read, summary.same, summary.rejected, summary.nodes) == (4, 1, 1, 4)


def test_bad_links(tmp_path):
    edges, out = tmp_path / "edges.txt", tmp_path / "out.csv"
    edges.write_text("a b\nc\n")
    message = (
        "edges.txt:2: a line must have two names with white space between them, not 1"
    )
    assert message in failing(1, "web", "contract", edges, "-o", out)
    table = tmp_path / "edges.csv"
    table.write_text("source,target\na,b\n,b\n")
    assert "edges.csv:3: a node has no name" in failing(
        1, "web", "contract", table, "-o", out
    )
    table.write_text("source,target\na,b\n,b\na,\n")
    assert "edges.csv:4: id column 'target' is missing" in failing(
        1, "web", "contract", table, "-o", out
    )
    inputs = Inputs([str(edges), str(table)], "source", "target", on_error="skip")
    summary = contract_files(inputs, str(out))
    assert (summary.read, summary.rejected, summary.nodes) == (5, 3, 2)
    assert summary.read == summary.links + summary.repeated + summary.rejected
    assert len(read_jsonl(tmp_path / "out.csv.rejects.jsonl")) == 3


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize(
    "odd", ["", "# note\n", "\n", " v w \n", "x\ty\u00a0z\n", "\v v\f w\r\n", "é 中\n"]
)
def test_lines_are_read_alike_one_by_one_and_together(tmp_path, odd, end, monkeypatch):
    source = tmp_path / "edges.txt"
    source.write_bytes(f"{odd}a b\nc  d\r\n{odd}e\tf{end}".encode())
    inputs = Inputs([str(source)], "source", "target")

    def links():
        reader = columns.ColumnReader(inputs)
        return [
            (a, b, i)
            for n in reader.batches()
            for a, b, i in zip(n.first, n.second, n.lines, strict=True)
        ]

    together = links()
    monkeypatch.setattr(columns.ColumnReader, "_plain_pairs", lambda *_: None)
    assert together == links()
    assert [pair[:2] for pair in together if pair[0] in "ace"] == [
        ("a", "b"),
        ("c", "d"),
        ("e", "f"),
    ]


@pytest.mark.parametrize(
    "bad", ["a\n", "a b c\n", "a b c\nd\n", "a\nb c d\n", "\u00a0a\n"]
)
def test_lines_of_another_number_of_names(tmp_path, bad):
    source = tmp_path / "edges.txt"
    source.write_text(f"x y\n{bad}")
    reader = columns.ColumnReader(
        Inputs([str(source)], "source", "target", on_error="skip")
    )
    assert [names.first for names in reader.batches()] == [["x"]]
    assert len(reader.rejected) == bad.count("\n")
    assert reader.rejected[0].line == 2


def test_wrong_options(tmp_path):
    edges = tmp_path / "edges.txt"
    edges.write_text("a b\n")
    out = tmp_path / "out.csv"
    assert "threshold must be in" in failing(
        2, "web", "contract", edges, "-o", out, "--threshold", 0
    )
    assert "min_links must be" in failing(
        2, "web", "contract", edges, "-o", out, "--min-links", 0
    )
    assert "two outputs of one name" in failing(
        2, "web", "contract", edges, "-o", out, "--labels", out
    )
    assert "unknown kind of output" in failing(
        2, "web", "contract", edges, "-o", tmp_path / "out.xyz"
    )
    assert "min_paths must be" in failing(
        2, "web", "mirrors", edges, "-o", out, "--min-paths", 0
    )
    out.write_text("old")
    assert "exists already" in failing(2, "web", "mirrors", edges, "-o", out)
    assert out.read_text() == "old"
    assert "no column 'url'" in failing(
        1, "web", "mirrors", write_csv(tmp_path), "-o", tmp_path / "new.csv"
    )


def write_csv(folder):
    path = folder / "table.csv"
    path.write_text("link\nhttp://a.example/\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "verb"), [(signal.SIGINT, "mirrors"), (signal.SIGTERM, "contract")]
)
def test_interrupted_runs_leave_nothing(tmp_path, number, verb):
    source, out = tmp_path / "in.txt", tmp_path / "out.csv"
    pair = " http://a.example/" if verb == "contract" else ""
    source.write_text(
        "".join(f"http://h{row}.example/a/b{pair}\n" for row in range(1000)) * 400
    )
    assert stopped(number, source, "web", verb, source, "-o", out) == ENDINGS[number]
    assert list(tmp_path.iterdir()) == [source]


def test_merges_are_shown_without_a_total(capsys):
    watch = Watch()
    watch._said = -1e9
    watch("merge", 54511, None)
    assert capsys.readouterr().err.startswith("lshfast: merged: 54,511")

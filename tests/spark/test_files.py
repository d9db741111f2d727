"""`lshfast dedup --engine spark` and `lshfast pairs --engine spark`."""

import gzip
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast.spark
from lshfast import dedup_files
from lshfast._engine.options.stored import read_options
from lshfast.spark.places import names_of_files
from tests.cli.commands import failing, read_jsonl, run, write_jsonl
from tests.io.pages.pages import read_page
from tests.spark.answers import corpus, native, native_pairs

MASTER = "--engine", "spark", "--id-column", "id"


@pytest.fixture(scope="module")
def rows():
    ids, texts = corpus(120)
    return [
        {"text": text, "id": key, "more": {"ü": [key, None]}, "year": 2000 + key % 7}
        for key, text in zip(ids, texts, strict=True)
    ]


def lines_of(folder):
    return [
        line
        for part in folder.glob("part-*")
        for line in part.read_text(encoding="utf-8").splitlines()
    ]


def test_lines_of_json_stay_as_they_are(spark, tmp_path, rows):
    write_jsonl(tmp_path / "a.jsonl", rows[:70])
    write_jsonl(tmp_path / "b.jsonl", rows[70:])
    out, removed = tmp_path / "kept.jsonl", tmp_path / "removed.parquet"
    answer = run(
        "dedup",
        tmp_path / "a.jsonl",
        tmp_path / "b.jsonl",
        "-o",
        out,
        "--removed",
        removed,
        *MASTER,
    )
    found, summary = native([row["id"] for row in rows], [row["text"] for row in rows])
    kept = {key for key, keep, *_ in found if keep}
    assert sorted(lines_of(out)) == sorted(
        json.dumps(row) for row in rows if row["id"] in kept
    )
    table = sorted(tuple(row.values()) for row in pq.read_table(removed).to_pylist())
    assert table == [
        (key, other, similarity)
        for key, keep, other, similarity, _ in found
        if not keep
    ]
    assert (
        f"{summary.kept:,} kept + {summary.removed:,} removed + 0 rejected = 120 read"
        in answer.stderr
    )


@pytest.mark.weekly
def test_lines_of_json_and_parquet_together(spark, tmp_path, rows):
    write_jsonl(tmp_path / "a.jsonl", rows[:50])
    table = [{**row, "more": None, "extra": row["id"] % 2 == 0} for row in rows[50:]]
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "b.parquet")
    inputs = [tmp_path / "b.parquet", tmp_path / "a.jsonl"]
    out = tmp_path / "kept.jsonl"
    run("dedup", *inputs, "-o", out, "--keep", "max:year", "--by", "year", *MASTER)
    found, _ = native(
        [row["id"] for row in rows],
        [row["text"] for row in rows],
        keep=[row["year"] for row in rows],
    )
    kept = {key for key, keep, *_ in found if keep}
    expected = [row for row in [*rows[:50], *table] if row["id"] in kept]
    lines = map(json.loads, lines_of(out))
    assert sorted(lines, key=lambda row: row["id"]) == sorted(
        expected, key=lambda row: row["id"]
    )
    said = failing(2, "dedup", *inputs, "-o", tmp_path / "kept.parquet", *MASTER)
    assert "rows of JSON Lines are written as JSON Lines" in said
    names = [{"id": str(row["id"]), "text": row["text"]} for row in rows[50:]]
    pq.write_table(pa.Table.from_pylist(names), tmp_path / "b.parquet")
    said = failing(2, "dedup", *inputs, "-o", tmp_path / "other.jsonl", *MASTER)
    assert "column 'id' is bigint in JSON Lines, and string in Parquet" in said


def test_parquet_and_the_greatest_value_of_a_column(spark, tmp_path, rows):
    frame = spark.createDataFrame(
        [(row["id"], row["text"], row["year"]) for row in rows],
        "id int, text string, year int",
    )
    frame.repartition(3).write.parquet(str(tmp_path / "pages"))
    out = tmp_path / "kept.parquet"
    run(
        "dedup",
        tmp_path / "pages",
        "-o",
        out,
        "--keep",
        "max:year",
        "--groups",
        "components",
        *MASTER,
    )
    ids, texts, years = zip(
        *((row["id"], row["text"], row["year"]) for row in rows), strict=True
    )
    found, _ = native(ids, texts, keep=years, groups="components")
    assert sorted(pq.read_table(out)["id"].to_pylist()) == [
        key for key, keep, *_ in found if keep
    ]
    said = failing(2, "dedup", tmp_path / "pages", "-o", out, *MASTER)
    assert "kept.parquet: the output exists already" in said


@pytest.mark.weekly
def test_a_column_of_parquet_that_is_named_line(spark, tmp_path, rows):
    frame = spark.createDataFrame(
        [(row["id"], row["text"], "1") for row in rows],
        "id int, text string, line string",
    )
    frame.write.parquet(str(tmp_path / "pages"))
    for suffix in ("parquet", "jsonl"):
        run("dedup", tmp_path / "pages", "-o", tmp_path / f"kept.{suffix}", *MASTER)
    assert pq.read_table(tmp_path / "kept.parquet").column_names == [
        "id",
        "text",
        "line",
    ]
    assert list(json.loads(lines_of(tmp_path / "kept.jsonl")[0])) == [
        "id",
        "text",
        "line",
    ]


def test_a_line_that_is_not_json(spark, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "a"}\n{"id": 2, "te\n')
    said = failing(1, "dedup", path, "-o", tmp_path / "kept.jsonl", *MASTER)
    assert said.endswith(
        "a.jsonl: a line is not JSON, or its columns have other types than those of the first line"
    )
    assert not (tmp_path / "kept.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--threads", "2"],
            "threads is not an option of lshfast dedup --engine spark",
        ),
        (
            ["--save-index", "x"],
            "save_index is not an option of lshfast dedup --engine spark",
        ),
        (
            ["--keep", "min:year"],
            "keep must be first, last, longest, shortest or max:COLUMN on Spark, not 'min:year'",
        ),
        (
            ["--removed", "x.csv"],
            "x.csv: an output of Spark is a folder NAME.parquet or NAME.jsonl",
        ),
        (["--column", "body"], "the first line of the inputs has no column 'body'"),
    ],
    ids=str,
)
def test_options_that_spark_does_not_have(spark, tmp_path, options, said):
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": 1, "text": "a"}])
    assert said in failing(
        2, "dedup", path, "-o", tmp_path / "kept.jsonl", *MASTER, *options
    )
    assert "--master is an option" in failing(
        2, "dedup", path, "-o", tmp_path / "kept.jsonl", "--master", "local"
    )
    assert read_jsonl(path) == [{"id": 1, "text": "a"}]


def test_an_output_never_replaces_an_input(spark, tmp_path, rows):
    folder, one = tmp_path / "päges 1%.jsonl", tmp_path / "one.jsonl"
    folder.mkdir()
    for path in (folder / "a.jsonl", folder / "b.jsonl", one):
        write_jsonl(path, rows[:9])
    (tmp_path / "link.jsonl").symlink_to(folder)
    for source, options in (
        (folder / "*.jsonl", ("-o", folder)),
        (folder / "a.jsonl", ("-o", tmp_path / "link.jsonl")),
        (one, ("-o", one)),
        (folder / "a.jsonl", ("-o", tmp_path / "kept.jsonl", "--removed", folder)),
    ):
        said = failing(2, "dedup", source, *options, "--overwrite", *MASTER)
        assert said.endswith("the output is one of the inputs, or holds one")
    for removed in ("kept.jsonl", "kept.jsonl/removed.jsonl"):
        options = ("-o", tmp_path / "kept.jsonl", "--removed", tmp_path / removed)
        assert "the outputs must be different folders" in failing(
            2, "dedup", one, *options, *MASTER
        )
    assert [
        len(read_jsonl(path)) for path in (folder / "a.jsonl", folder / "b.jsonl", one)
    ] == [9, 9, 9]
    assert not (tmp_path / "kept.jsonl").exists()


def test_inputs_that_cannot_be_read(spark, tmp_path):
    bad, out = tmp_path / "bad.jsonl", tmp_path / "kept.jsonl"
    bad.write_text("no JSON\n")
    (tmp_path / "empty").mkdir()
    said = failing(1, "dedup", bad, "-o", out, *MASTER)
    assert f"{bad}: the first line is not JSON: Expecting value" in said
    said = failing(1, "dedup", tmp_path / "no.jsonl", "-o", out, *MASTER)
    assert said.endswith("no.jsonl: no such file or folder")
    said = failing(
        1, "dedup", tmp_path / "empty", "-o", tmp_path / "kept.parquet", *MASTER
    )
    assert said.endswith("empty: no Parquet file is there")


@pytest.mark.weekly
def test_removed_rows_by_containment(spark, tmp_path, rows):
    source, removed = (
        write_jsonl(tmp_path / "a.jsonl", rows),
        tmp_path / "removed.parquet",
    )
    out = tmp_path / "kept.jsonl"
    run(
        "dedup",
        source,
        "-o",
        out,
        "--removed",
        removed,
        "--measure",
        "containment",
        "--no-exact",
        *MASTER,
    )
    assert pq.read_table(removed).column_names == ["key", "kept_key", "containment"]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("suffix", "options", "arguments"),
    [
        ("parquet", (), {}),
        (
            "jsonl",
            ("--measure", "containment", "--no-exact", "--size", "3"),
            {"measure": "containment", "size": 3},
        ),
    ],
    ids=str,
)
def test_pairs_of_files(spark, tmp_path, rows, suffix, options, arguments):
    source, out = write_jsonl(tmp_path / "a.jsonl", rows), tmp_path / f"pairs.{suffix}"
    answer = run("pairs", source, "-o", out, *options, *MASTER)
    expected = native_pairs(
        [row["id"] for row in rows], [row["text"] for row in rows], **arguments
    )
    found = (
        pq.read_table(out).to_pylist()
        if suffix == "parquet"
        else [json.loads(line) for line in lines_of(out)]
    )
    assert {tuple(row) for row in found} == {
        ("key_i", "key_j", arguments.get("measure", "similarity"))
    }
    assert sorted(tuple(row.values()) for row in found) == expected
    said = [line.split()[:2] for line in answer.stderr.splitlines()]
    assert ["pairs", f"{len(expected):,}"] in said
    assert {"kept", "groups"}.isdisjoint(word for word, *_ in filter(None, said))
    assert "the output exists already" in failing(
        2, "pairs", source, "-o", out, *MASTER
    )
    run(
        "pairs",
        source,
        "-o",
        out,
        *options,
        "--overwrite",
        "--threshold",
        "0.9",
        "--quiet",
        *MASTER,
    )


def test_options_that_pairs_on_spark_do_not_have(spark, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": 1, "text": "a"}])
    for options, said in (
        (
            ["--threads", "2"],
            "threads is not an option of lshfast pairs --engine spark",
        ),
        (["--exact"], "exact is not an option of lshfast pairs --engine spark"),
        (["-o", "-"], "--engine spark writes folders, not to standard output (-)"),
        (
            ["-o", "x.csv"],
            "x.csv: an output of Spark is a folder NAME.parquet or NAME.jsonl",
        ),
        (["-o", path, "--overwrite"], "the output is one of the inputs, or holds one"),
    ):
        output = [] if "-o" in options else ["-o", tmp_path / "pairs.jsonl"]
        assert said in failing(2, "pairs", path, *output, *MASTER, *options)
    said = failing(
        2, "pairs", path, "-o", tmp_path / "pairs.jsonl", "--engine", "spark"
    )
    assert "id_column is needed" in said
    assert "--master is an option" in failing(
        2, "pairs", path, "-o", tmp_path / "pairs.jsonl", "--master", "local"
    )
    assert read_jsonl(path) == [{"id": 1, "text": "a"}]


def shown(page):
    """Return the counts of the histogram, and the keys of the examples."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"<title>(0\.\d\d to [^<]*)</title>", text), re.findall(
        r"<h4>(?:removed: )?([^<:]*)</h4>", text
    )


@pytest.mark.one_case
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_the_page_is_that_of_one_machine(spark, tmp_path, rows, suffix):
    rows = sorted(
        ({**row, "text": row["text"] or ""} for row in rows), key=lambda row: row["id"]
    )
    (tmp_path / "pä ges").mkdir()
    parts = {"a 1%": rows[:70], "b": [], "c": rows[70:]}
    sources = [
        write_jsonl(tmp_path / "pä ges" / f"{name}.jsonl", some)
        for name, some in parts.items()
    ]
    options = "--threshold", "0.5", "--html"
    run(
        "dedup",
        *sources,
        "-o",
        tmp_path / "local.jsonl",
        "--id-column",
        "id",
        *options,
        tmp_path / "local.html",
    )
    if suffix == "parquet":
        for place, (name, some) in enumerate(parts.items()):
            sources[place] = tmp_path / "pä ges" / f"{name}.parquet"
            table = {
                "id": [row["id"] for row in some],
                "text": [row["text"].encode() for row in some],
            }
            pq.write_table(
                pa.table(table, pa.schema({"id": pa.int32(), "text": pa.binary()})),
                sources[place],
            )
    out, page = tmp_path / f"out.{suffix}", tmp_path / "spark.html"
    run("dedup", *sources, "-o", out, *options, page, *MASTER)
    text, local = (
        read_page(page),
        read_page(tmp_path / "local.html").replace(".jsonl", f".{suffix}"),
    )
    assert shown(page)[0] == shown(tmp_path / "local.html")[0]
    assert shown(page)[1][:8] == shown(tmp_path / "local.html")[1][:8]
    for begin, end in (
        ("Groups by number of rows", "Groups of near-duplicates"),
        ("Near-duplicates in", "Removed rows to look at"),
        ("The least similar rows that were removed", "Where the rows come from"),
        ("Where the rows come from", "What became of the rows"),
        ("What became of the rows", "Removed rows over the whole range"),
        ("Of the group of", "The account"),
    ):
        assert begin in local
        assert (
            text.partition(begin)[2].partition(end)[0]
            == local.partition(begin)[2].partition(end)[0]
        )
    assert text.count("Of the group of") == local.count("Of the group of") > 2
    assert "Removed rows over the whole range" in text
    assert "keep first" in text
    assert "already" in failing(
        2, "dedup", *sources, "-o", tmp_path / f"b.{suffix}", *options, page, *MASTER
    )
    assert not (tmp_path / f"b.{suffix}").exists()


def test_names_of_files_on_a_page(spark, tmp_path, rows, monkeypatch):
    for name in ("a", "b"):
        write_jsonl(
            tmp_path / f"{name}.jsonl",
            [row | {"id": f"{name}{row['id']}"} for row in rows[:9]],
        )
    page = tmp_path / "page.html"
    run(
        "pairs",
        tmp_path / "*.jsonl",
        "-o",
        tmp_path / "pairs.parquet",
        "--html",
        page,
        "--html-no-texts",
        *MASTER,
    )
    assert (
        f"input read {tmp_path}/a.jsonl 9 {tmp_path}/b.jsonl 9 The run in figures"
        in read_page(page)
    )
    frame = spark.read.text(str(tmp_path / "a.jsonl"))
    monkeypatch.chdir(tmp_path)
    assert list(names_of_files(frame, ["*.jsonl"]).values()) == ["a.jsonl"]
    monkeypatch.setattr(
        type(frame),
        "inputFiles",
        lambda _: ["s3a://key:secret@bucket/b%20c.jsonl", "hdfs://host/a"],
    )
    assert list(names_of_files(frame, ["s3a://bucket"]).values()) == [
        "hdfs://host/a",
        "s3a://bucket/b c.jsonl",
    ]


def test_earlier_files_and_exact_keys(spark, tmp_path, rows):
    """The tables and the account are those of one machine, as are the examples of the page."""
    links = [None, "https://u@A.example/1#b", "a.example/1", 5, 5.0, "5", {"b": [1]}]
    rows = [{**row, "link": links[row["id"] % 7]} for row in rows]
    del rows[0]["link"]
    earlier = [
        {"name": f"b{row['id']}", "body": (row["text"] or "x") + " and more"}
        for row in rows[::9]
    ]
    sources = [
        write_jsonl(tmp_path / "a.jsonl", sorted(rows, key=lambda row: row["id"])),
        "--against",
        write_jsonl(tmp_path / "earlier.jsonl", earlier[:5]),
        "--against",
        tmp_path / "earlier.parquet",
    ]
    pq.write_table(pa.Table.from_pylist(earlier[5:]), sources[-1])
    columns = "--against-column", "body", "--against-id-column", "name"
    options = *columns, "--exact-key", "url:link", "--keep", "longest", "--by", "year"

    def done(name, *further):
        paths = [
            tmp_path / f"{name}.{end}" for end in ("jsonl", "removed.jsonl", "html")
        ]
        outputs = "-o", paths[0], "--removed", paths[1], "--html", paths[2]
        answer = run("dedup", *sources, *outputs, *options, *further)
        assert answer.exit_code == 0, answer.stderr
        figures = answer.stderr.partition("\nstage ")[0].splitlines()
        return paths, [line for line in figures if "  " in line]

    local, account = done("local", "--id-column", "id")
    on_spark, account_of_spark = done("spark", *MASTER)
    assert sorted(lines_of(on_spark[0])) == sorted(local[0].read_text().splitlines())
    removed = sorted(map(json.loads, lines_of(on_spark[1])), key=lambda row: row["key"])
    assert removed == read_jsonl(local[1])
    assert {row["earlier_text"] is None for row in removed} == {True, False}
    assert {row["same_key"] for row in removed} == {True, False}
    assert account_of_spark == account
    assert any("texts of earlier rows" in line for line in account)
    page, page_of_local = map(read_page, (on_spark[2], local[2]))
    begin, end = "The least similar rows", "Removed rows over the whole range"
    for text in (page, page_of_local):
        assert "of earlier entries" in text
        assert "stores no texts" not in text
    assert (
        page.partition(begin)[2].partition(end)[0]
        == (page_of_local.partition(begin)[2].partition(end)[0])
    )
    outputs = "-o", tmp_path / "o.jsonl"
    said = failing(2, "dedup", sources[0], *outputs, "--exact-key", "no", *MASTER)
    assert "no line of the inputs has the column 'no'" in said
    said = failing(
        2, "dedup", *sources, "-o", sources[2], "--overwrite", *columns, *MASTER
    )
    assert said.endswith("the output is one of the inputs, or holds one")


@pytest.mark.parametrize(
    "type_of_keys", [str, pytest.param(int, marks=pytest.mark.weekly)]
)
def test_an_index_of_earlier_rows(spark, tmp_path, rows, type_of_keys):
    """The rows, their keys and estimates, and the account are those of one machine."""
    rows = sorted(rows, key=lambda row: row["id"])
    rows[7]["text"] = ""
    for number, row in enumerate(rows):
        row["link"] = f"link {number // 3}" if number % 5 == 0 else None
    source = write_jsonl(tmp_path / "a.jsonl", rows)
    earlier = [
        {"name": type_of_keys(row["id"]), "text": (row["text"] or "x") + " and more"}
        for row in rows[::4]
    ]
    index = tmp_path / "seen.lsh"
    texts = write_jsonl(tmp_path / "earlier.jsonl", earlier)
    build = "index", "build", texts, "-o", index, "--id-column", "name"
    assert run(*build, "--size", "3", "--threshold", "0.7").exit_code == 0

    def done(name, *further):
        paths = [
            tmp_path / f"{name}.{end}" for end in ("jsonl", "removed.jsonl", "html")
        ]
        outputs = "-o", paths[0], "--removed", paths[1], "--html", paths[2]
        options = "--exact-key", "link", "--against", index
        answer = run("dedup", source, *outputs, *options, *further)
        assert answer.exit_code == 0, answer.stderr
        figures = answer.stderr.partition("\nstage ")[0].splitlines()
        return paths, [line for line in figures if "  " in line]

    local, account = done("local", "--id-column", "id")
    on_spark, account_of_spark = done("spark", *MASTER)
    assert sorted(lines_of(on_spark[0])) == sorted(local[0].read_text().splitlines())
    removed = sorted(map(json.loads, lines_of(on_spark[1])), key=lambda row: row["key"])
    assert removed == read_jsonl(local[1])
    assert {row["estimated"] for row in removed} == {True, False}
    assert account_of_spark == account
    assert any("by estimates" in line for line in account)
    assert "of earlier entries" in read_page(on_spark[2])

    frame = spark.read.json(str(source)).select("id", "text")
    found = lshfast.spark.dedup(frame, against=index)
    alone = dedup_files(source, id_column="id", against=index)
    assert {row["id"] for row in found.where("keep").collect()} == {
        rows[row]["id"] for row in alone.keep.nonzero()[0]
    }
    said = failing(2, "dedup", source, "-o", tmp_path / "o.jsonl", "--against", index,
                   "--against", texts, *MASTER)  # fmt: skip
    assert "is for runs in memory, not for a run on Spark: name the texts alone" in said
    with pytest.raises(ValueError, match="threshold"):
        lshfast.spark.dedup(frame, against=index, threshold=0.9)
    with pytest.raises(ValueError, match="against_column names a column of earlier"):
        lshfast.spark.dedup(frame, against=index, against_column="body")


def test_keys_and_counted_values_in_one_column(spark, tmp_path):
    """Keys are compared as numbers, and values are counted as written, as on one machine."""
    values = [1, 1.0, "1", True, "true", 2, 2, 1e3, 1000, None, "", 0.5, "x"]
    rows = [
        {"id": number, "k": value, "text": f"text {number} of its own"}
        for number, value in enumerate(values)
    ]
    source = write_jsonl(tmp_path / "in.jsonl", rows)

    def done(name, *further):
        paths = [tmp_path / f"{name}.{end}" for end in ("jsonl", "removed.jsonl")]
        outputs = "-o", paths[0], "--removed", paths[1], "--exact-key", "k", "--by", "k"
        answer = run("dedup", source, *outputs, *further)
        assert answer.exit_code == 0, answer.stderr
        figures = answer.stderr.partition("\nstage ")[0].splitlines()
        return paths[1], [line for line in figures if "  " in line]

    local, account = done("local", "--id-column", "id")
    on_spark, account_of_spark = done("spark", *MASTER)
    removed = sorted(map(json.loads, lines_of(on_spark)), key=lambda row: row["key"])
    assert removed == read_jsonl(local)
    assert [row["key"] for row in removed] == [1, 2, 4, 6, 8]
    assert account_of_spark == account


def zstandard_window(bits):
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressionParameters.from_level(3, window_log=bits)


@pytest.mark.weekly
def test_what_spark_does_not_read(spark, tmp_path):
    """The reason is the one that holds, and not that a line is no JSON."""
    rows = [{"id": number, "text": f"text {number}"} for number in (1, 2**63)]
    large_ids = write_jsonl(tmp_path / "large.jsonl", rows)
    compressor = pytest.importorskip("zstandard").ZstdCompressor(
        compression_params=zstandard_window(28)
    )
    wide = tmp_path / "wide.jsonl.zst"
    with open(wide, "wb") as stream, compressor.stream_writer(stream) as writer:
        writer.write(b'{"id": 1, "text": "a"}\n')
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(b'{"id": 1, "text": "a"}\n' * 9)[:20])
    reasons = {
        large_ids: "which Spark has not: give ids as strings",
        wide: "the window of a .zst file is larger than Spark reads",
        cut: "a file cannot be read: it is damaged",
    }
    for source, reason in reasons.items():
        said = failing(1, "dedup", source, "-o", tmp_path / "o.jsonl", *MASTER)
        assert said.startswith(f"lshfast: error: {source}: ")
        assert reason in said


@pytest.mark.weekly
def test_a_page_without_texts_and_of_pairs(spark, tmp_path, rows):
    source, page = write_jsonl(tmp_path / "a.jsonl", rows), tmp_path / "page.html"
    run("pairs", source, "-o", tmp_path / "pairs.jsonl", "--html", page, *MASTER)
    text = read_page(page)
    assert "The least similar pairs" in text
    assert "w12" in text
    assert "largest group" not in text
    run(
        "dedup",
        source,
        "-o",
        tmp_path / "o.jsonl",
        "--html",
        page,
        "--html-no-texts",
        "--overwrite",
        *MASTER,
    )
    assert "w12" not in read_page(page)
    none = write_jsonl(tmp_path / "none.jsonl", [{"id": 1, "text": "a"}])
    run(
        "dedup",
        none,
        "-o",
        tmp_path / "none.parquet.jsonl",
        "--html",
        page,
        "--overwrite",
        *MASTER,
    )
    assert "No row was removed." in read_page(page)
    run(
        "dedup",
        none,
        "-o",
        tmp_path / "dry.jsonl",
        "--html",
        tmp_path / "dry.html",
        "--dry-run",
        *MASTER,
    )
    assert not (tmp_path / "dry.html").exists()


@pytest.mark.parametrize(
    "kind", ["lines", pytest.param("parquet", marks=pytest.mark.weekly)]
)
def test_too_many_rows_that_would_be_removed(spark, tmp_path, kind):
    texts = ["the same words stand on each page of this site"] * 30 + [
        f"article {i} of {i * i}" for i in range(30)
    ]
    some = [
        {"id": i, "text": text, "source": "web" if i < 30 else None}
        for i, text in enumerate(texts)
    ]
    if kind == "lines":
        source = write_jsonl(tmp_path / "in.jsonl", some[::-1])
    else:
        source = tmp_path / "pages"
        rows = [tuple(row.values()) for row in some]
        spark.createDataFrame(rows, "id int, text string, source string").write.parquet(
            str(source)
        )
    out, removed = tmp_path / "kept.jsonl", tmp_path / "removed.parquet"
    command = [
        "dedup",
        source,
        "-o",
        out,
        "--removed",
        removed,
        "--by",
        "source",
        *MASTER,
    ]
    said = failing(3, *command, "--max-removed", "0.4")
    assert (
        "48.3% of all rows are removed (29 of 60), and max_removed is 0.4; largest groups: 29 for 0;"
        in said
    )
    assert said.endswith(
        "96.7% of the rows with source web are removed (29 of 30); largest groups: 29 for 0"
    )
    page = tmp_path / "page.html"
    failing(3, *command, "--max-removed", "0.4", "--dry-run", "--html", page)
    assert not page.exists()
    failing(3, *command, "--max-removed", "0.4", "--html", page)
    text = read_page(page)
    assert "No rows were written: 48.3% of all rows are removed (29 of 60)" in text
    assert (
        "Rows of each source source read removed share removed web 30 29 96.7%" in text
    )
    assert "Of the group of 30 rows that begins with 0" in text
    assert not out.exists()
    assert not removed.exists()
    done = run(*command, "--max-removed", "0.97")
    assert "removed of 30 read, 96.7%: web" in done.stderr
    assert "removed of 30 read, 0.0%: (none)" in done.stderr
    assert len(lines_of(out)) == 31


@pytest.mark.one_case
@pytest.mark.parametrize("removed", ["removed.parquet", "removed.jsonl"])
def test_explain_finds_the_options_in_the_folder(spark, tmp_path, rows, removed):
    rows = [{"key": row["id"], "body": row["text"] or ""} for row in rows]
    source, folder = write_jsonl(tmp_path / "a.jsonl", rows), tmp_path / removed
    master = "--engine", "spark", "--id-column", "key", "--column", "body", "--quiet"
    run(
        "dedup",
        source,
        "-o",
        tmp_path / "kept.jsonl",
        "--removed",
        folder,
        "--size",
        3,
        "--threshold",
        0.6,
        *master,
    )
    stored = read_options(str(folder))
    assert [stored.options[name] for name in ("size", "threshold", "keep")] == [
        3,
        0.6,
        "first",
    ]
    assert (stored.reading["id_column"], stored.reading["column"]) == ("key", "body")
    table = (
        spark.read.parquet(str(folder))
        if removed.endswith("parquet")
        else spark.read.json(str(folder))
    )
    first = table.orderBy("similarity", "key").first()
    said = run("explain", "--removed", folder, "--", first["key"], source).stdout
    assert said.startswith(
        f"{first['key']}: removed; {first['kept_key']} is kept instead\n"
    )
    assert f"exact             {first['similarity']:.4f}" in said
    assert "the threshold is 0.6" in said


@pytest.mark.one_case
@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_texts_of_several_columns_and_paths(spark, tmp_path, format):
    rows = [
        {"id": key, "ask": "the same", "chat": chat}
        for key, chat in enumerate(
            [[{"say": "a b"}, {"say": None}], None, [], [{"say": "a b"}]]
        )
    ]
    path = tmp_path / f"rows.{format}"
    if format == "jsonl":
        write_jsonl(path, rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    out = tmp_path / f"kept.{format}"
    columns = "--column", "ask", "--column", "chat[].say"
    run("dedup", path, "-o", out, *columns, *MASTER)
    table = pq.read_table(out).to_pylist() if format == "parquet" else None
    kept_rows = table or [json.loads(line) for line in lines_of(out)]
    assert sorted(row["id"] for row in kept_rows) == [0, 1]
    assert all(row.keys() == rows[0].keys() for row in kept_rows)
    columns = "--column", "chat[].says", "--overwrite"
    message = failing(2, "dedup", path, "-o", out, *columns, *MASTER)
    assert "has no column" in message or "there is no column" in message

"""Worst files: nested and wide rows, long lines, repeated names, bad rows; through the commands."""

import csv
import io
import json
import tempfile
from pathlib import Path

import pytest

import lshfast
from tests.faults.scenarios import Failed, command
from tests.growth.cases import case


def command_on(name, content, *arguments):
    """Return the work of a command on one file; its first argument is the file."""

    def work():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(content)
            words = [word.replace("FOLDER", folder) for word in arguments]
            command(words[0], path, *words[1:])

    return work


def dedup_file(name, content, *options):
    output = f"FOLDER/out{Path(name).suffix}"
    return command_on(
        name, content, "dedup", "-o", output, "--threads", "1", "-q", *options
    )


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@case("dedup FILE", 300)
def nested_arrays(n):
    lines = ['{"text": "a b c", "x": ' + "[" * 50 + "]" * 50 + "}\n"] * n
    return dedup_file("in.jsonl", "".join(lines))


@case("dedup FILE", 150)
def a_row_of_many_columns(n):
    row = {"text": "a b c", **{f"c{at}": at for at in range(n)}}
    return dedup_file("in.jsonl", json_lines([row, row]))


@case("dedup FILE", 150)
def a_line_of_many_cells(n):
    names = ["text", *(f"c{at}" for at in range(n))]
    lines = io.StringIO()
    csv.writer(lines).writerows([names, ["a b c"] * len(names), ["d e f"] * len(names)])
    return dedup_file("in.csv", lines.getvalue())


@case("dedup FILE", 150)
def columns_that_each_row_adds(n):
    rows = [{"text": f"a b c {row}", f"c{row}": row} for row in range(n)]
    return dedup_file("in.jsonl", json_lines(rows))


@case("dedup FILE", 5000)
def a_long_line(n):
    return dedup_file("in.jsonl", json_lines([{"text": "ab " * n}, {"text": "cd"}]))


@case("dedup FILE", 5000)
def a_line_of_escapes(n):
    line = '{"text": "' + "\\u00e9\\ud83d\\ude00" * n + '"}\n'
    return dedup_file("in.jsonl", line * 2)


@case("dedup FILE", 5000)
def a_quote_that_does_not_end(n):
    refused = dedup_file("in.csv", 'text\n"' + "a\n" * n)

    def work():
        with pytest.raises(Failed, match="never closed"):
            refused()

    return work


@case("dedup FILE", 5000)
def quotes_and_delimiters(n):
    content = "text\n" + '"a"";,\t' * n + '"\n'
    return dedup_file("in.csv", content, "--on-error", "skip")


@case("dedup FILE --on-error skip", 60)
def rows_without_a_text(n):
    content = json_lines([{"text": "a b c"}] + [{"test": "x"}] * n)
    return dedup_file("in.jsonl", content, "--on-error", "skip")


@case("dedup FILE --on-error skip", 60)
def lines_that_are_no_json(n):
    content = json_lines([{"text": "a b c"}]) + "{[\n" * n
    return dedup_file("in.jsonl", content, "--on-error", "skip")


@case("dedup FILE --on-error skip", 60)
def equal_ids(n):
    content = json_lines([{"text": f"a b c {row}", "id": 1} for row in range(n)])
    return dedup_file("in.jsonl", content, "--id-column", "id", "--on-error", "skip")


@case("dedup FILE --memory", 150)
def a_component_of_all_rows(n):
    words = [f"w{at}" for at in range(100)]
    rows = [{"text": " ".join([*words, f"z{row}"])} for row in range(n)]
    return dedup_file("in.jsonl", json_lines(rows), "--memory", "400M")


@case("dedup FILE --by", 150)
def values_of_a_column_without_end(n):
    rows = [{"text": "a b c d e f", "by": f"v{row}"} for row in range(n)]
    return dedup_file("in.jsonl", json_lines(rows), "--by", "by")


@case("dedup FILE --html", 300)
def page_of_a_large_group(n):
    rows = [{"text": "a b c d e f"} for _ in range(n)]
    return dedup_file("in.jsonl", json_lines(rows), "--html", "FOLDER/page.html")


@case("dedup FILE --split", 1000)
def blank_lines(n):
    row = {"text": "a b\n" + "\n \t" * n + "c d"}
    return dedup_file("in.jsonl", json_lines([row, row]), "--split", "paragraph")


@case("explain", 1000)
def two_long_texts_that_differ_everywhere(n):
    first = " ".join(f"w{at} a b c" for at in range(n))
    second = " ".join(f"v{at} a b c" for at in range(n))
    result = lshfast.dedup(
        [first, second], size=1, threshold=0.0001, threads=1, measure="containment"
    )

    def work():
        str(result.explain(1, texts=[first, second]))

    return work


@case("tune", 150)
def tune_of_short_texts(n):
    content = json_lines([{"text": "a b c d e"}] * n)
    return command_on("in.jsonl", content, "tune")

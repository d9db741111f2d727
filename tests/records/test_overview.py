"""What a run prints: sentences, thresholds and doubtful pairs on one screen, and the rest with --verbose."""

import re

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from tests import corpora
from tests.cli.commands import run

FIRST = ("anna", "boris", "carla", "dmitri", "elena", "farid")
LAST = ("berg", "dietz", "ferro", "gold", "haas")


def people():
    rng = np.random.default_rng(3)
    return [
        {"id": f"p{number}", "name": f"{FIRST[number % 6]} {LAST[number // 6 % 5]}", "street": f"{number} Elm Road",
         "born": f"19{rng.integers(10, 99)}-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}"}
        for number in range(90)
    ]  # fmt: skip


def others():
    """Return some of the people, of whom some have other dates, so that their links are doubtful."""
    rows = people()[:60]
    changed = [
        row | {"id": f"q{place}", "name": row["name"].replace("a", "e", 1)}
        for place, row in enumerate(rows)
    ]
    for place in range(0, 60, 7):
        changed[place] |= {
            "born": rows[place - 1]["born"],
            "street": f"{place + 200} Low Road",
        }
    return changed


@pytest.fixture(scope="module")
def linked():
    return match_records(people(), others(), id_column="id")


def test_the_sentences_say_how_many_links_are_wrong(linked):
    text = " ".join(linked.overview().split())
    wrong = round((1 - linked.probabilities).sum())
    count = len(linked)
    expected = (
        f"about {wrong} of {count} links"
        if wrong
        else f"of {count} links, fewer than 1 is expected to be wrong"
    )
    assert expected in text
    assert f"{count} records of a are linked to {count} of b" in text
    assert f"{90 - count} records of a and {60 - count} of b have no link." in text
    assert text.index(expected) < text.index("threshold")
    assert "bits" not in text


def test_wrong_links_are_counted_by_their_probabilities(linked):
    doubtful = match_records(
        people(), others(), id_column="id", threshold=0.001, assign="many-to-many"
    )
    wrong = round((1 - doubtful.probabilities).sum())
    assert wrong >= 2
    assert (
        f"about {wrong:,} of {len(doubtful):,} links are wrong" in doubtful.overview()
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("threshold", "shown"),
    [
        (None, ["0.25", "0.5", "0.75"]),
        (0.6, ["0.5", "0.6", "0.75"]),
        (0.995, ["0.99", "0.995"]),
    ],
)
def test_the_thresholds_around_that_of_the_run(threshold, shown):
    result = match_records(people(), others(), id_column="id", threshold=threshold)
    rows = re.findall(
        r"^(\d[.\d]+)( \(now\))? +([\d,]+) +([\d,]+) +([\d,]+)$",
        result.overview(),
        re.MULTILINE,
    )
    assert [row[0] for row in rows] == shown
    (now,) = [row for row in rows if row[1]]
    assert int(now[2]) == len(result)
    assert int(now[3]) == round((1 - result.probabilities).sum())


def test_three_doubtful_pairs_are_the_nearest_to_the_threshold(linked):
    lines = linked.overview().split("doubtful pairs")[1].splitlines()[1:]
    assert len(lines) == 6
    review = linked.review(10)
    distance = np.abs(np.array(review["score"]) - linked.summary.threshold)
    nearest = {review["id_a"][place] for place in np.argsort(distance)[:3]}
    assert {line.split()[1] for line in lines[::2]} == nearest
    assert {line.split()[0] for line in lines[1::2]} <= {"link", "no"}


def test_lines_fit_the_width():
    rows = [
        row | {"name": f"漢字{row['name']}" * 5, "note": "a\nb\x1b[2J" + "x" * 60}
        for row in people()
    ]
    more = [
        row | {"name": f"漢字{row['name']}" * 5, "note": "c" * 60} for row in others()
    ]
    result = match_records(rows, more, id_column="id", scoring="points", threshold=200)
    for width in (40, 60, 80, 120):
        text = result.overview(width)
        assert "\x1b" not in text
        pairs = text.split("doubtful pairs")[1].splitlines()[1:]
        assert len(pairs) == 6
        for line in pairs:
            wide = sum(2 if "一" <= character <= "鿿" else 1 for character in line)
            assert wide <= width


def test_long_ids_keep_their_ends():
    folder = "a/long/path/of/folders/"
    rows = [
        row | {"id": f"{folder}people.csv:{place}"}
        for place, row in enumerate(people())
    ]
    more = [
        row | {"id": f"{folder}others.csv:{place}"}
        for place, row in enumerate(others())
    ]
    text = match_records(rows, more, id_column="id").overview()
    assert len(re.findall(r"a/long/path/…\w+\.csv:\d+ ", text)) == 6


def test_points_and_one_table_and_no_links():
    text = match_records(
        people(), others(), id_column="id", scoring="points"
    ).overview()
    assert "are wrong" not in text
    assert text.count("(now)") == 1
    found = dedup_records(people() + others(), id_column="id")
    groups = found.summary.clusters.groups
    assert (
        f"{found.summary.linked[0]} of 150 records of a are linked, in {groups} group"
        in found.overview()
    )
    assert (
        dedup_records([{"name": "ann lee"}, {"name": "bob ray"}], scoring="points")
        .overview()
        .startswith("No records of a")
    )
    assert dedup_records({"name": []}).overview() == "No records of a are linked."


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpora.make(tmp_path / "people.csv", people())
    corpora.make(tmp_path / "others.csv", others())
    return "people.csv", "others.csv"


def test_the_table_of_a_run_fits_one_screen(files):
    command = (
        "records",
        "match",
        *files,
        "-o",
        "links.csv",
        "--id-column",
        "id",
        "--overwrite",
    )
    said = run(*command).stderr
    account = [line for line in said.splitlines() if "linked +" in line]
    assert len(account) == 2  # a terminal wraps these lines, which name the files
    assert all(
        len(line) <= 80
        for line in said.splitlines()
        if line not in account and "warning:" not in line
    )
    assert len(said.splitlines()) <= 28
    assert "records of people.csv are linked to" in said
    assert "of others.csv" in said
    for hidden in ("similarity ≥", "alone", "present in"):
        assert hidden not in said
    verbose = run(*command, "--verbose").stderr
    for shown in ("similarity ≥", "alone", "present in", "doubtful pairs"):
        assert shown in verbose
    assert run(*command, "-q", "-v").stderr == "".join(
        line + "\n" for line in said.splitlines() if "warning:" in line
    )


def test_the_table_of_one_table_fits_one_screen(files):
    said = run(
        "records", "dedup", "people.csv", "-o", "links.csv", "--id-column", "id"
    ).stderr
    assert len(said.splitlines()) <= 28
    assert "people.csv" in said.splitlines()[0]


def german(names, *extra):
    """Return a table with these names for four columns, and further columns."""
    rows = [
        [row["name"], row["street"], row["born"], row["id"], *extra] for row in people()
    ]
    columns = [*names, *extra]
    return {name: [row[place] for row in rows] for place, name in enumerate(columns)}


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("names", "extra", "options", "note"),
    [
        (
            ("Kunde", "street", "born", "Nr"),
            (),
            {},
            "compared: street, born; not compared: id, name of a, Kunde, Nr of b "
            "(columns with other names in the other table: --field A=B)",
        ),
        (
            ("name", "street", "born", "id"),
            ("note",),
            {},
            "compared: id, name, street, born; not compared: note of b "
            "(the other table has no column of this name)",
        ),
        (
            ("Kunde", "street", "born", "Nr"),
            ("note", "\u202e", *map("extra {}".format, range(7))),
            {"ignore": ["note", "id"], "held_out": "name=Kunde"},
            "compared: street, born; not compared: Nr, \\u202e, extra 0, extra 1, extra 2, "
            "extra 3, and 3 more of b (the other table has no column of this name)",
        ),
        (("name", "street", "born", "id"), (), {}, None),
        (
            ("Kunde", "street", "born", "Nr"),
            (),
            {"fields": ["name=Kunde", "street"]},
            None,
        ),
    ],
)
def test_columns_that_only_one_table_has_are_named(names, extra, options, note):
    linked = match_records(people(), german(names, *extra), **options)
    text = linked.overview().replace(r"\\", "\\")
    assert (note or "") in text
    assert ("compared: " in text) == (note is not None)
    assert (note or "") in linked.describe()
    assert any(linked.unpaired) == (note is not None)


def test_the_page_names_columns_that_only_one_table_has(tmp_path):
    other = german(("Kunde", "street", "born", "Nr"))
    match_records(people(), other).to_html(tmp_path / "o.html")
    page = (tmp_path / "o.html").read_text("utf-8")
    assert "compared: street, born; not compared: id, name of a, Kunde, Nr of b" in page


def test_one_table_has_no_unpaired_columns():
    assert dedup_records(people(), id_column="id").unpaired == ([], [])

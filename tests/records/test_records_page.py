"""The page of linked records, and the table for review: what they have, hostile values, and outputs all or none."""

import csv
import re

import numpy as np
import pytest

from lshfast.records import Field, RecordTable, Synonyms, dedup_records, match_records
from tests import corpora
from tests.cli.commands import failing, run
from tests.io.pages.pages import HOSTILE, read_page

FIRST = ("anna", "boris", "carla", "dmitri", "elena", "farid")
LAST = ("berg", "dietz", "ferro", "gold", "haas")
TOWNS = ("oslo", "rome", "bonn")


def people():
    rng = np.random.default_rng(3)
    return [
        {"id": f"p{number}", "name": f"{FIRST[number % 6]} {LAST[number // 6 % 5]}", "town": TOWNS[number % 3],
         "born": f"19{rng.integers(10, 99)}-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}"}
        for number in range(90)
    ]  # fmt: skip


def others():
    return [
        row | {"id": f"q{place}", "name": row["name"].replace("a", "e", 1)}
        for place, row in enumerate(people()[:60])
    ]


def strange():
    """Return records with hostile names of columns, ids and values."""
    rows = [
        {"key": f"{text}{n}", "<b>na:me": f"{text} smith", "x": f"=1+{n}"}
        for n, text in enumerate(HOSTILE * 2)
    ]
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.fixture(scope="module")
def linked():
    return match_records(people(), others(), id_column="id")


@pytest.fixture(scope="module")
def grouped():
    return dedup_records(people() + others(), id_column="id", held_out="town")


@pytest.mark.slow
def test_the_options_with_what_was_chosen(linked, grouped, tmp_path):
    linked.to_html(tmp_path / "out.html", texts=False)
    options = read_page(tmp_path / "out.html").partition(
        "The options, with the defaults"
    )[2]
    rules = ", ".join(rule.rule for rule in linked.summary.rules)
    for shown in (
        "fields name:text, town:category, born:date rules", f"rules {rules} scoring weights threshold 0.5",
        "assign one-to-one synonyms English frequencies True seed 1",
    ):  # fmt: skip
        assert shown in options
    assert "held_out" not in options
    assert "ignore" not in options
    grouped.to_html(tmp_path / "grouped.html")
    assert (
        "assign many-to-many synonyms English frequencies True held_out town seed"
        in read_page(tmp_path / "grouped.html")
    )
    given = dict(
        fields=[Field("name", kind="name"), "born"],
        ignore=["town"],
        rules=["key:born"],
        scoring="points",
    )
    found = match_records(
        people(),
        others(),
        threshold=120,
        synonyms=Synonyms([("anna", "ann")]),
        frequencies=False,
        **given,
    )
    found.to_html(tmp_path / "given.html")
    assert found.options.threshold == 120
    assert (
        "fields name:name, born:date ignore town rules key:born scoring points threshold 120 assign one-to-one "
        "synonyms 2 words frequencies False seed 1"
        in read_page(tmp_path / "given.html")
    )


def test_a_page_of_two_tables(linked, tmp_path):
    linked.to_html(tmp_path / "out.html", command="lshfast records match a b")
    text = read_page(tmp_path / "out.html")
    for shown in (
        "Links between a and b", f"links {len(linked):,}", "What a step of the threshold would change", "now",
        "What the fields contributed", "similarity", "Links over the range of scores", "lshfast records match a b",
        "What the blocking rules contributed", *(rule.rule for rule in linked.summary.rules),
    ):  # fmt: skip
        assert shown in text
    assert "Groups of records" not in text
    best = int(np.argmax(linked.scores))
    assert (
        f"{linked.keys()[0][best]} & {linked.keys()[1][best]}: {linked.scores[best]:.2f} bits"
        in text
    )
    assert all(warning in text for warning in linked.summary.warnings)


def test_a_page_begins_with_sentences_and_the_doubtful_pairs(linked, tmp_path):
    linked.to_html(tmp_path / "out.html")
    text = read_page(tmp_path / "out.html")
    wrong = round((1 - linked.probabilities).sum())
    count = f"{len(linked)} links"
    expected = (
        f"about {wrong} of {count}"
        if wrong
        else f"of {count}, fewer than 1 is expected to be wrong"
    )
    places = [
        text.index(shown)
        for shown in (
            f"{len(linked)} records of a are linked to {len(linked)} of b", expected, "The most doubtful pairs",
            "Links just above the threshold", "bits", "Scores and the threshold", "Links over the range of scores",
            "What the fields contributed", "What the blocking rules contributed", "The account and the settings",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    nearest = linked.review(1)
    best = [
        (a, b)
        for a, b, is_link in zip(
            nearest["id_a"], nearest["id_b"], nearest["linked"], strict=True
        )
        if is_link
    ]
    assert f"threshold {best[0][0]} & {best[0][1]}: " in text


def test_weights_and_rules_are_folded_and_tables_scroll(linked, grouped, tmp_path):
    for result in (linked, grouped):
        result.to_html(tmp_path / "out.html", overwrite=True)
        page = (tmp_path / "out.html").read_text()
        folds = re.findall(
            r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", page, re.DOTALL
        )
        assert [name for name, _ in folds] == [
            "What the fields contributed",
            "What the blocking rules contributed",
            "The account and the settings",
        ]
        assert "Weights: m is how often" in folds[0][1]
        assert all(
            page.count(rule.rule) >= 1 and rule.rule in folds[1][1]
            for rule in result.summary.rules
        )
        for before in page.split("<table")[:-1]:
            assert re.search(r'<div class="[^"]*\bscroll\b[^"]*"[^>]*>\s*$', before)


@pytest.mark.slow
def test_a_page_names_files_and_marks(tmp_path):
    first = RecordTable(people(), "id", "x/ours.csv")
    second = RecordTable(others(), "id", "y/theirs.csv")
    marked = [("p5", "q9", "same")]
    result = match_records(first, second, labels=marked)
    result.to_html(tmp_path / "out.html")
    text = read_page(tmp_path / "out.html")
    assert "field ours.csv theirs.csv compared score sum" in text
    assert "present in ours.csv in theirs.csv" in text
    assert "record of A" not in text
    assert "p5 & q9" not in text.partition("The figures")[0]
    same = match_records(first, RecordTable(others(), "id", "y/ours.csv"))
    assert "x/ours.csv are linked to" in " ".join(same.overview().split())


def test_a_page_of_one_table(grouped, tmp_path):
    grouped.to_html(tmp_path / "out.html")
    text = read_page(tmp_path / "out.html")
    assert "Duplicates in a" in text
    assert "The largest groups" in text
    assert "estimated from town" in text
    assert f"groups {grouped.summary.clusters.groups:,}" in text


def test_groups_of_two_records_are_drawn_on_a_line():
    pages = [
        dedup_records(
            {"name": ["Ann Lee", "Eve Orr", *copies]}, scoring="points"
        ).page()
        for copies in (["Anne Lee"], ["Anne Lee", "Annie Lee"])
    ]
    lines = [page.count('viewBox="0 0 300 50"') for page in pages]
    assert lines == [1, 0]
    assert 'viewBox="0 0 300 240"' in pages[1]


def test_a_page_without_values(grouped, tmp_path):
    grouped.to_html(tmp_path / "out.html", texts=False)
    text = read_page(tmp_path / "out.html")
    assert "Values of records are left out" in text
    assert "name" in text
    assert not [
        row["name"] for row in people() if row["name"] in text or row["born"] in text
    ]
    assert re.search(r"\bp\d+\b", text)  # ids stay


def test_points_and_no_links(tmp_path):
    rows = [{"name": "ann lee"}, {"name": "bob ray"}]
    for number, threshold in enumerate((None, 1e6)):
        found = match_records(rows, rows, scoring="points", threshold=threshold)
        found.to_html(tmp_path / f"{number}.html")
        text = read_page(tmp_path / f"{number}.html")
        expected = 0 if threshold is None else 1
        assert text.count("No records of a and b are linked.") == expected
        assert "No records are linked." not in text
    empty = {"name": []}
    for result in (
        match_records(empty, empty),
        dedup_records(empty),
        dedup_records(rows),
    ):
        result.to_html(tmp_path / "empty.html", overwrite=True)
        page = read_page(tmp_path / "empty.html")
        assert " are linked." in page
        # The pairs of a review are those that a histogram would show.
        has_scores = bool(result.review()["score"])
        assert ("Scores and the threshold" in page) == has_scores
        assert not any(result.review()["linked"])


@pytest.mark.parametrize("texts", [True, False])
def test_hostile_values(tmp_path, texts):
    found = dedup_records(strange(), id_column="key", scoring="points", threshold=50)
    assert len(found)
    found.to_html(
        tmp_path / "out.html",
        texts=texts,
        title=HOSTILE[0] + HOSTILE[3],
        command="".join(HOSTILE),
    )
    text = read_page(tmp_path / "out.html")
    assert "<script>alert(1)</script>" in text
    assert "\\u202egpj.exe" in text
    assert "a\\ud800b" in text
    assert "x\\x00y" in text


@pytest.mark.weekly
def test_a_page_is_small(tmp_path):
    wide = {
        f"column {n} {'w' * 300}": ["v" * 5000 + str(row % 7 + n) for row in range(40)]
        for n in range(60)
    }
    dedup_records(wide, scoring="points", threshold=1, rules=["all"]).to_html(
        tmp_path / "out.html"
    )
    text = read_page(tmp_path / "out.html")
    assert "other fields" in text
    assert (tmp_path / "out.html").stat().st_size < 2_000_000


def test_steps_of_the_threshold_are_those_of_other_runs(grouped, tmp_path):
    """Many-to-many links of a lower threshold are the links and the pairs below the threshold."""
    review = grouped.review(10_000)
    lower = grouped.weights.probability(grouped.summary.threshold - 4)
    more = dedup_records(
        people() + others(), id_column="id", held_out="town", threshold=float(lower)
    )
    count = sum(score >= more.summary.threshold for score in review["score"])
    assert abs(count - len(more)) <= 1  # scores are rounded


def test_review_has_pairs_of_both_sides(linked):
    review = linked.review(5)
    assert list(review)[:6] == [
        "answer",
        "id_a",
        "id_b",
        "linked",
        "score",
        "probability",
    ]
    assert review["answer"] == [None] * len(review["score"])
    assert review["score"] == sorted(review["score"], reverse=True)
    assert review["linked"] == [
        score >= linked.summary.threshold for score in review["score"]
    ]
    known = {row["id"]: row for row in people() + others()}
    assert review["a.name"] == [known[key]["name"] for key in review["id_a"]]
    assert review["b.born"] == [known[key]["born"] for key in review["id_b"]]
    pairs = dict(
        zip(linked.pairs(), linked.probabilities.round(6).tolist(), strict=True)
    )
    for a, b, is_link, probability in zip(
        *(review[n] for n in ("id_a", "id_b", "linked", "probability")), strict=True
    ):
        assert ((a, b) in pairs) == is_link
        assert not is_link or pairs[a, b] == probability
    with pytest.raises(ValueError, match="most must be"):
        linked.review(0)


def test_the_name_and_an_existing_file(linked, tmp_path):
    with pytest.raises(ValueError, match="must be named"):
        linked.to_html(tmp_path / "out.txt")
    (tmp_path / "out.html").write_text("mine")
    with pytest.raises(FileExistsError):
        linked.to_html(tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text() == "mine"
    linked.to_html(tmp_path / "out.html", overwrite=True)
    assert read_page(tmp_path / "out.html")


@pytest.fixture
def files(tmp_path):
    rows = people()
    rows[0]["name"] = "=cmd() smith"
    return corpora.make(tmp_path / "a.csv", rows), corpora.make(
        tmp_path / "b.csv", [*others(), rows[0] | {"id": "q99"}]
    )


def test_commands(files, tmp_path):
    page, review = tmp_path / "out.html", tmp_path / "review.csv"
    options = [
        "--id-column",
        "id",
        "-q",
        "--html",
        page,
        "--review",
        review,
        "--overwrite",
    ]
    assert (
        run(
            "records", "match", *files, "-o", tmp_path / "links.csv", *options
        ).exit_code
        == 0
    )
    text = read_page(page)
    assert str(files[0]) in text
    rows = list(csv.DictReader(review.read_text().splitlines()))
    assert rows
    assert {row["answer"] for row in rows} == {""}
    assert {row["linked"] for row in rows} <= {"true", "false"}
    assert all(not value.startswith("=") for row in rows for value in row.values())
    assert (
        run(
            "records",
            "dedup",
            files[0],
            "-o",
            tmp_path / "links.csv",
            *options,
            "--html-no-texts",
        ).exit_code
        == 0
    )
    assert "Values of records are left out" in read_page(page)


@pytest.mark.parametrize("name", ["out.html", "review.csv"])
def test_outputs_are_written_all_or_none(files, tmp_path, name):
    (tmp_path / name).write_text("mine")
    options = [
        "--id-column",
        "id",
        "--html",
        tmp_path / "out.html",
        "--review",
        tmp_path / "review.csv",
    ]
    assert "exists already" in failing(
        2, "records", "match", *files, "-o", tmp_path / "links.csv", *options
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["a.csv", "b.csv", name]
    )
    assert (tmp_path / name).read_text() == "mine"


def test_a_page_may_not_replace_an_input_or_another_output(files, tmp_path):
    source = files[0].rename(tmp_path / "a.html")
    common = [
        "records",
        "match",
        source,
        files[1],
        "-o",
        tmp_path / "links.csv",
        "--overwrite",
        "--format",
        "csv",
    ]
    before = source.read_text()
    assert "one of the inputs" in failing(2, *common, "--html", source)
    assert source.read_text() == before
    (tmp_path / "x.html").symlink_to(tmp_path / "y.csv")
    assert "two outputs" in failing(
        2, *common, "--html", tmp_path / "x.html", "--review", tmp_path / "y.csv"
    )

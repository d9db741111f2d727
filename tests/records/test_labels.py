"""Pairs that people mark: what they bind, by Python and by the command, and marks that cannot be."""

import csv

import numpy as np
import pytest

from lshfast._io import DataError, write_table
from lshfast._io.whole_tables import read_whole
from lshfast.records import Field, dedup_records, match_records
from lshfast.records.results.field_pairs import columns_of_pairs
from tests import corpora
from tests.cli.commands import failing, run

A = {
    "id": ["a1", "a2", "a3", "a4"],
    "given": ["Ann", "Eve", "Ivan", "Ann"],
    "surname": ["Lee", "Stone", "Orlov", "Leigh"],
    "born": ["1980-05-01", "1971-11-30", "1950-01-01", "1980-05-01"],
}
B = {
    "id": ["b1", "b2", "b3"],
    "name": ["Ann Lee", "Eve Stone", "Vera Blum"],
    "born": ["1980-05-01", "1971-11-30", "1999-09-09"],
}
FIELDS = ["given=name", "surname=name", "born"]
POINTS = {"scoring": "points", "id_column": "id"}
COLUMNS = ["answer", "id_a", "id_b", "linked", "score"]
FIELD_COLUMNS = [
    "a.given",
    "b.given=name",
    "a.surname",
    "b.surname=name",
    "a.born",
    "b.born",
]


def rows_of(table):
    return [
        dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)
    ]


def linked(labels=(), **options):
    return match_records(
        A,
        B,
        **POINTS | {"fields": FIELDS, "threshold": 200, "labels": labels} | options,
    )


def test_a_review_has_two_columns_for_each_field_also_if_two_share_one():
    review = linked().review()
    assert list(review) == [*COLUMNS, *FIELD_COLUMNS]
    row = review["id_a"].index("a1")
    assert [review[name][row] for name in FIELD_COLUMNS] == [
        "Ann", "Ann Lee", "Lee", "Ann Lee", "1980-05-01", "1980-05-01",
    ]  # fmt: skip


@pytest.mark.parametrize("names", [["x=y", "x"], ["x", "x=y"], ["a.x", "b.x"]])
def test_columns_of_a_review_are_different_for_any_names(names):
    table = {name: ["Ann Lee", "Eve Stone"] for name in names}
    fields = [Field(name, "y" if name == "x" else None) for name in names]
    review = match_records(
        table,
        table | {"y": ["Ann", "Eve"]},
        fields=fields,
        scoring="points",
        threshold=1,
    ).review()
    assert len(review) == len(COLUMNS) + 2 * len(names)


def test_the_columns_of_a_field_are_found_again_in_any_order():
    expected = {
        ("given=name", "a.given", "b.given=name"),
        ("surname=name", "a.surname", "b.surname=name"),
    }
    names = [name for _, *both in expected for name in both]
    for order in (names, names[::-1], [names[0], names[2], names[1], names[3]]):
        assert set(columns_of_pairs(["id_a", *order, "note"])) == expected
    assert columns_of_pairs(["a.given", "b.surname"]) == []


@pytest.mark.one_case
@pytest.mark.parametrize(
    "assign", ["one-to-one", "many-to-one", "one-to-many", "many-to-many"]
)
@pytest.mark.parametrize("rules", [["key:born"], ["all"]])
def test_marks_bind_two_tables(assign, rules):
    labels = [("a3", "b3", "same"), ("a1", "b1", "different"), ("a2", "b2", "unsure")]
    result = linked(labels, assign=assign, rules=rules)
    assert ("a3", "b3") in result.pairs()
    assert ("a1", "b1") not in result.pairs()
    assert ("a4", "b1") in result.pairs()  # the next best link of b1
    assert ("a2", "b2") in result.pairs()
    assert list(zip(result.i, result.j, strict=True)) == sorted(
        zip(result.i, result.j, strict=True)
    )
    assert result.summary.marked == (1, 1)
    assert "linked: the pair is marked same" in result.explain_pair("a3", "b3")
    assert "not linked: the pair is marked different" in result.explain_pair("a1", "b1")
    review = result.review()
    shown = set(zip(review["id_a"], review["id_b"], strict=True))
    assert not shown & {("a3", "b3"), ("a1", "b1")}


def test_a_pair_marked_same_takes_the_place_of_other_links():
    assert ("a2", "b2") in linked().pairs()
    result = linked([("a2", "b3", "same")])
    assert ("a2", "b3") in result.pairs()
    assert ("a2", "b2") not in result.pairs()
    assert ("a2", "b2") in linked([("a2", "b3", "same")], assign="many-to-many").pairs()


def test_marks_bind_with_weights():
    rng = np.random.default_rng(4)
    names = [
        f"{first} {last}"
        for first in ("Ann", "Bob", "Carla", "Dina")
        for last in ("Lee", "Ray", "Gold", "Haas")
    ]
    rows = [
        {"name": name, "phone": f"555 {rng.integers(10**4):04}", "town": f"t{k % 5}"}
        for k, name in enumerate(names)
    ]
    result = match_records(rows, rows, labels=[(0, 5, "same"), (1, 1, "different")])
    assert (0, 5) in result.pairs()
    assert (1, 1) not in result.pairs()
    assert result.probabilities[result.pairs().index((0, 5))] == 1


@pytest.mark.parametrize("closure", [False, True])
def test_marks_bind_the_groups_of_one_table(closure):
    table = {
        "name": ["Ann Lee", "Anne Lee", "Ann Leee", "Bob Ray", "Eve Stone", "Eve Stine"]
    }
    before = dedup_records(table, scoring="points").groups(closure=closure)
    assert before.tolist() == [0, 0, 0, 3, 4, 4]
    labels = [(2, 0, "different"), (3, 1, "same"), (4, 5, "different")]
    result = dedup_records(table, scoring="points", labels=labels)
    groups = result.groups(closure=closure)
    assert groups[0] != groups[2]
    assert groups[3] == groups[1]
    assert groups[4] != groups[5]
    assert {(0, 2), (4, 5)}.isdisjoint(result.pairs())
    assert (1, 3) in result.pairs()
    assert all(groups[label] == label for label in groups)


@pytest.mark.parametrize("seed", range(5))
def test_random_marks_are_kept_within_groups(seed):
    """Groups of many alike records agree with all marks, whatever is marked."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 24)
    table = {"name": [f"Ann Lee{'e' * int(rng.integers(4))}" for _ in truth]}
    pairs = sorted(
        {tuple(sorted(rng.choice(24, 2, replace=False).tolist())) for _ in range(40)}
    )
    labels = [(i, j, "same" if truth[i] == truth[j] else "different") for i, j in pairs]
    groups = dedup_records(
        table, scoring="points", threshold=60, labels=labels
    ).groups()
    for i, j, answer in labels:
        assert (groups[i] == groups[j]) == (answer == "same")


def test_a_review_with_answers_is_the_labels_of_the_next_run():
    review = linked().review()
    review["answer"] = [
        " Different " if pair == ("a2", "b2") else None
        for pair in zip(review["id_a"], review["id_b"], strict=True)
    ]
    for labels in (review, rows_of(review)):
        assert ("a2", "b2") not in linked(labels).pairs()


WRONG = {
    "unknown id": ([("a9", "b1", "same")], "row 1: a: no record has the id 'a9'"),
    "other word": (
        [("a1", "b1", "same"), ("a1", "b1", "yes please")],
        "row 2: the answer must be same, different",
    ),
    "missing id": ([("a1", None, "same")], "row 1: id_b is missing"),
    "both ways": (
        [("a1", "b1", "same"), ("a2", "b2", "same"), ("a1", "b1", "different")],
        "row 3: 'a1' and 'b1' are marked different, but same in labels: row 1",
    ),
    "connected": (
        [
            ("a1", "b1", "same"),
            ("a2", "b1", "same"),
            ("a2", "b2", "same"),
            ("a1", "b2", "different"),
        ],
        "row 4: 'a1' and 'b2' are marked different, but pairs that are marked same connect them",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_marks_are_refused_with_their_row(case, tmp_path):
    labels, message = WRONG[case]
    with pytest.raises(DataError) as error:
        linked(labels)
    assert message in str(error.value)
    files = [
        corpora.make(tmp_path / f"{name}.csv", rows_of(table))
        for name, table in (("a", A), ("b", B))
    ]
    with open(tmp_path / "marks.csv", "w", newline="") as file:
        csv.writer(file).writerows([["id_a", "id_b", "answer"], *labels])
    out = tmp_path / "links.csv"
    command = (
        "records",
        "match",
        *files,
        "-o",
        out,
        "--id-column",
        "id",
        "--labels",
        tmp_path / "marks.csv",
    )
    said = failing(1, *command, *(f"--field={field}" for field in FIELDS))
    line = int(message.split(":")[0].removeprefix("row ")) + 1
    assert said.startswith(f"lshfast: error: {tmp_path}/marks.csv:{line}: ")
    assert not out.exists()


def test_one_record_and_other_kinds_of_labels_are_refused():
    with pytest.raises(
        DataError, match="labels: row 1: a: 1 and '1' are the same record"
    ):
        dedup_records({"name": ["Ann", "Eve"]}, labels=[(1, "1", "same")])
    with pytest.raises(DataError, match="no column 'answer'"):
        linked({"id_a": ["a1"], "id_b": ["b1"]})
    with pytest.raises(TypeError):
        linked([("a1", "b1")])
    with pytest.raises(TypeError):
        linked("review.csv")


@pytest.fixture
def files(tmp_path):
    return [
        corpora.make(tmp_path / f"{name}.csv", rows_of(table))
        for name, table in (("a", A), ("b", B))
    ]


def command_of(files, out, *options):
    fields = [f"--field={field}" for field in FIELDS]
    points = "--scoring", "points", "--threshold", "200", "--id-column", "id"
    return run("records", "match", *files, "-o", out, *points, *fields, *options)


def links_of(path):
    return {
        (row["id_a"], row["id_b"])
        for row in csv.DictReader(path.read_text().splitlines())
    }


@pytest.mark.one_case
@pytest.mark.parametrize("form", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_the_command_reads_a_review_with_answers(files, tmp_path, form):
    review = tmp_path / f"review{form}"
    assert (
        command_of(files, tmp_path / "links.csv", "--review", review, "-q").exit_code
        == 0
    )
    columns = read_whole(review).columns
    assert list(columns) == [*COLUMNS, *FIELD_COLUMNS]
    columns["answer"] = ["different" if key == "a2" else "" for key in columns["id_a"]]
    write_table(review, columns, True)
    more = tmp_path / "more.csv"
    more.write_text("id_b;answer;id_a\nb3;SAME;a3\n")
    out = tmp_path / "next.csv"
    said = command_of(files, out, "--labels", review, "--labels", more)
    assert said.exit_code == 0, said.stderr
    assert ("a3", "b3") in links_of(out)
    assert ("a2", "b2") not in links_of(out)
    assert "pairs: 1 same, " in said.stderr


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_a_review_that_a_spreadsheet_has_saved(tmp_path, encoding):
    rows = [{"id": key, "name": "Zoë Müller"} for key in ("ä1", "b2", "c3")]
    source = corpora.make(tmp_path / "a.csv", rows)
    marks = tmp_path / "marks.csv"
    marks.write_bytes(
        "answer;ID_A;id_a;id_b;a.name\nDIFFERENT;;ä1;b2;Zoë Müller\n;;ä1;c3;Zoë\n".encode(
            encoding
        )
    )
    out = tmp_path / "links.csv"
    options = "--id-column", "id", "--scoring", "points", "-q", "--labels", marks
    result = run("records", "dedup", source, "-o", out, *options)
    assert result.exit_code == 0, result.stderr
    assert links_of(out) == {("ä1", "c3"), ("b2", "c3")}


def test_labels_are_no_output(files, tmp_path):
    review = tmp_path / "review.csv"
    assert (
        command_of(files, tmp_path / "links.csv", "--review", review, "-q").exit_code
        == 0
    )
    before = review.read_bytes()
    said = command_of(
        files,
        tmp_path / "next.csv",
        "--labels",
        review,
        "--review",
        review,
        "--overwrite",
    )
    assert said.exit_code == 2
    assert "the output is one of the inputs" in said.stderr
    assert review.read_bytes() == before


def test_ids_that_a_spreadsheet_would_run_are_found_again(tmp_path):
    table = [{"id": key, "name": "Ann Lee"} for key in ("@ann", "=ann", "-ann")]
    source = corpora.make(tmp_path / "a.csv", table)
    options = "--id-column", "id", "--scoring", "points", "-q"
    review = tmp_path / "review.csv"
    assert (
        run(
            "records",
            "dedup",
            source,
            "-o",
            tmp_path / "1.csv",
            "--review",
            review,
            *options,
        ).exit_code
        == 0
    )
    rows = list(csv.DictReader(review.read_text().splitlines()))
    assert {row["id_a"][0] for row in rows} == {"'"}
    with open(review, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"answer": "different"} for row in rows)
    out = tmp_path / "2.csv"
    assert (
        run(
            "records", "dedup", source, "-o", out, "--labels", review, *options
        ).exit_code
        == 0
    )
    assert links_of(out) == set()


def test_marks_improve_the_weights_of_pairs_without_marks():
    rng = np.random.default_rng(7)

    def words(count):
        return ["".join(rng.choice(list("abcdefghij"), 7)) for _ in range(count)]

    given = words(30)
    names = [(str(rng.choice(given)), surname) for surname in words(300)]
    phones = [
        f"555-{number}" for number in rng.choice(90_000, 400, replace=False) + 10_000
    ]
    a = {
        "given": [n for n, _ in names[:200]],
        "surname": [n for _, n in names[:200]],
        "phone": phones[:200],
    }
    both = names[:40] + names[200:]  # of whom half have another telephone
    b = {
        "given": [n for n, _ in both],
        "surname": [n for _, n in both],
        "phone": phones[:20] + phones[200:320],
    }
    marks = [(row, row, "same") for row in range(20, 35)]
    plain = match_records(a, b, threads=1)
    marked = match_records(a, b, labels=marks, threads=1)
    other = [result.weights.fields[2].m[-1] for result in (plain, marked)]
    assert other[1] > other[0]
    right = {(row, row) for row in range(40)}
    assert len(right & set(marked.pairs())) >= len(right & set(plain.pairs()))
    assert set(marked.pairs()) <= right

"""Labels of the pairs of a review: what is shown and asked, how it is resumed, and the threshold that they support."""

import csv
import json
import random
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from lshfast._common.errors import FormatError
from lshfast._engine.inputs import Inputs
from lshfast._io import DataError
from lshfast._io.whole_tables import read_whole
from lshfast.records.labelling.job import label_records, review_of, short_between
from tests import corpora
from tests.cli.commands import failing, run
from tests.corpora import WORDS
from tests.quality import test_label
from tests.quality.test_label import on_terminal_with

pytestmark = pytest.mark.usefixtures("little_work")


def tables(tmp_path):
    """Write two tables of people: many in both, with errors."""
    draw = random.Random(2)

    def person(number):
        name = f"{draw.choice(WORDS)} {draw.choice(WORDS)}"
        street = f"{draw.randrange(1, 99)} {draw.choice(WORDS)} street"
        return {
            "id": f"p{number}",
            "name": name,
            "street": street,
            "phone": f"555-{draw.randrange(10**4):04}",
        }

    def changed(row, number):
        row = row | {"id": f"q{number}"}
        for name in draw.sample(["name", "street", "phone"], draw.randrange(3)):
            letters = list(row[name])
            for _ in range(draw.randrange(1, 4)):
                letters[draw.randrange(len(letters))] = draw.choice("abcdef123")
            row[name] = "" if draw.random() < 0.2 else "".join(letters)
        return row

    own = [person(number) for number in range(300)]
    others = [changed(row, number) for number, row in enumerate(own[:200])]
    others += [person(number) | {"id": f"q{number}"} for number in range(200, 300)]
    return corpora.make(tmp_path / "a.csv", own), corpora.make(
        tmp_path / "b.csv", others
    )


@cache
def files_of_run(name, *options):
    """Return the contents of the files of a run by their names."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        a, b = tables(path)
        command = (
            "records",
            "match",
            a,
            b,
            "-o",
            path / "links.csv",
            "--review",
            path / name,
            "--id-column",
            "id",
            "-q",
        )
        result = run(*command, *options)
        assert result.exit_code == 0, result.output
        return {file.name: file.read_bytes() for file in path.iterdir()}


def reviewed(tmp_path, name="review.csv", *options):
    for file, content in files_of_run(name, *options).items():
        (tmp_path / file).write_bytes(content)
    return str(tmp_path / name)


@pytest.fixture
def review(tmp_path):
    return reviewed(tmp_path)


class Person(test_label.Person):
    """Answers "same" if the numbers of the ids are equal; quits after some questions."""

    def are_same(self, question):
        one, other = question.keys
        return one[1:] == other[1:]


def labelled(review, path, person, **options):
    return label_records(Inputs([review]), str(path), person, **options)


def rows_of(path):
    table = read_whole([str(path)])
    return list(
        zip(
            *(table.columns[name] for name in ("id_a", "id_b", "score", "answer")),
            strict=True,
        )
    )


def pairs_of(review):
    return read_whole([review]).columns


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("name", ["labels.csv", "labels.tsv", "labels.jsonl"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_labels_are_written_and_resumed(tmp_path, name, kind):
    review = reviewed(tmp_path, f"review.{kind}")
    path, whole = tmp_path / name, tmp_path / f"whole.{name}"
    first, second, once = Person(12), Person(8), Person(20)
    labelled(review, path, first)
    assert len(rows_of(path)) == 12
    found = labelled(review, path, second)
    assert second.asked[0].labelled == 12
    assert found.estimate.labelled.sum() == 20
    labelled(review, whole, once)
    assert path.read_bytes() == whole.read_bytes()
    asked = [question.keys for question in first.asked + second.asked]
    assert asked == [question.keys for question in once.asked]
    assert len(set(asked)) == 20


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", [(), ("--scoring", "points"), ("--review-pairs", "300")]
)
def test_complete_labels_give_the_exact_rates(tmp_path, options):
    review = reviewed(tmp_path, "review.csv", *options)
    pairs, person = pairs_of(review), Person(10**6)
    found = labelled(review, tmp_path / "labels.csv", person).estimate
    assert sorted(question.keys for question in person.asked) == sorted(
        zip(pairs["id_a"], pairs["id_b"], strict=True)
    )
    scores = np.array(pairs["score"], float)
    same = np.array(
        [
            one[1:] == other[1:]
            for one, other in zip(pairs["id_a"], pairs["id_b"], strict=True)
        ]
    )
    for row, threshold in enumerate(found.thresholds.tolist()):
        above = scores >= threshold
        assert found.pairs[row] == above.sum()
        for intervals, exact in (
            (found.precision_intervals, same[above].mean()),
            (found.recall_intervals, same[above].sum() / same.sum()),
        ):
            assert intervals[row].low == pytest.approx(exact)
            assert intervals[row].high == pytest.approx(exact)
    assert (
        same[scores >= found.threshold].mean() > same.mean()
        or found.threshold == found.thresholds[0]
    )


def test_the_bands_are_on_both_sides_of_the_threshold_of_the_run(tmp_path, review):
    pairs = review_of(read_whole([review]), "review.csv")
    edges = pairs.edges
    inside = [
        edge
        for edge in edges
        if pairs.scores[~pairs.linked].max() < edge <= pairs.scores[pairs.linked].min()
    ]
    assert len(inside) == 1
    counts = np.histogram(pairs.scores, edges)[0]
    assert 5 <= len(counts) <= 10
    assert counts.min() >= 1
    assert counts.sum() == len(pairs.ids)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("scoring", ["weights", "points"])
def test_the_option_gives_the_links_at_or_above_the_threshold(tmp_path, scoring):
    options = "--scoring", scoring, "--review-pairs", "1000"
    review = reviewed(tmp_path, "review.csv", *options)
    found = labelled(review, tmp_path / "labels.csv", Person(60), precision=0.97)
    assert found.estimate.threshold > found.estimate.thresholds[0]
    scores = np.array(pairs_of(review)["score"], float)
    reviewed(tmp_path, "other.csv", *options, "--threshold", f"{found.option:.6g}")
    with open(tmp_path / "links.csv", newline="") as file:
        links = [float(row["score"]) for row in csv.DictReader(file)]
    assert len(links) == (scores >= found.estimate.threshold).sum()
    assert min(links) >= found.estimate.threshold


def test_undo_unsure_and_an_interrupt(tmp_path, review):
    path = tmp_path / "labels.csv"
    labelled(
        review, path, Person(6, ["undo", "same", "undo", "different", "unsure", "same"])
    )
    assert [row[3] for row in rows_of(path)] == ["different", "unsure", "same"]

    def interrupted(question):
        raise KeyboardInterrupt

    assert labelled(review, path, interrupted).estimate.labelled.sum() == 2


@pytest.mark.slow
def test_labels_of_another_review_or_other_options_are_refused(tmp_path, review):
    path = tmp_path / "labels.csv"
    labelled(review, path, Person(5))
    before = path.read_bytes()
    other = "labels of another review or other options: "
    for options, message in [
        (("--scoring", "points"), "scoring is 'weights' there, not 'points'"),
        (("--ignore", "phone"), "fields is .* there, not "),
        (("--review-pairs", "20"), r"pairs is \d+ there, not "),
    ]:
        with pytest.raises(DataError, match=other + message):
            labelled(reviewed(tmp_path, "other.csv", *options), path, Person(5))
    with pytest.raises(DataError, match=other + "seed is 1 there, not 2"):
        labelled(review, path, Person(5), seed=2)
    text = (tmp_path / "review.csv").read_text()
    (tmp_path / "changed.csv").write_text(text.replace(" street", " road", 1))
    with pytest.raises(DataError, match=other + "digest of the records is "):
        labelled(str(tmp_path / "changed.csv"), path, Person(5))
    lines = text.splitlines()
    (tmp_path / "marked.csv").write_text(
        "\n".join([lines[0], *(f"x{line}" for line in lines[1:])]) + "\n"
    )
    assert (
        labelled(str(tmp_path / "marked.csv"), path, Person(0)).estimate.labelled.sum()
        == 5
    )
    (tmp_path / "labels.csv.options.json").unlink()
    (tmp_path / "fewer.csv").write_text("\n".join(lines[:1] + lines[-3:]) + "\n")
    with pytest.raises(DataError, match=other + r"pair \d is not a pair of these"):
        labelled(str(tmp_path / "fewer.csv"), path, Person(5))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a,b\n1,2\n",
            "no column 'id_a': this is not a file of lshfast records --review",
        ),
        (
            "id_a,id_b,linked,score\n1,2,true,nan\n",
            "the score of pair 1 is not a number",
        ),
        (
            "id_a,id_b,linked,score\n1,2,true,1e300\n",
            "the score of pair 1 is not a number",
        ),
        ("id_a,id_b,linked,score\n1,2,true,3\n1,2,true,4\n", "pair 2 is there twice"),
        (
            "id_a,id_b,linked,score,probability\n1,2,true,3,1.5\n",
            "the probability of pair 1 is not a number in 0..1",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    (tmp_path / "review.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        labelled(str(tmp_path / "review.csv"), tmp_path / "labels.csv", Person(1))
    assert not (tmp_path / "labels.csv").exists()


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"review": 3}', '{"options": {}}', "[" * 100_000]
)
def test_a_damaged_file_beside_the_labels(tmp_path, review, content):
    path = tmp_path / "labels.csv"
    labelled(review, path, Person(2))
    (tmp_path / "labels.csv.options.json").write_text(content)
    with pytest.raises(
        FormatError,
        match=r"labels\.csv\.options\.json: what the labels belong to is damaged",
    ):
        labelled(review, path, Person(2))


@pytest.mark.parametrize("rows", ["", "1,2,true,3\n", "1,2,true,3\n1,3,false,3\n"])
def test_few_pairs(tmp_path, rows):
    (tmp_path / "review.csv").write_text("id_a,id_b,linked,score\n" + rows)
    found = labelled(
        str(tmp_path / "review.csv"), tmp_path / "labels.csv", Person(9, ["same"] * 9)
    )
    assert found.estimate.labelled.sum() == len(rows.splitlines())
    assert ("There are no pairs." in "\n".join(found.lines())) == (not rows)


def test_short_numbers():
    draw = random.Random(1)
    for _ in range(500):
        high = round(draw.uniform(-100, 400), 4)
        low = high - draw.choice([0.0001, 0.001, 0.1, 3.0])
        assert low < short_between(low, high) <= high


def asking(review, path, answers, *options):
    return run("label", review, "--records", "-o", path, *options, input=answers)


def test_the_command(tmp_path, review):
    path = tmp_path / "labels.csv"
    result = asking(review, path, "s\nd\n?\nx\n\nS\nq\n")
    assert result.exit_code == 0, result.output
    assert [row[3] for row in rows_of(path)] == ["same", "different", "unsure", "same"]
    assert ", from 3 labels\n" in result.stdout
    assert "review.csv, and do not count in the precision" in result.stdout
    assert "--threshold " not in result.stdout
    assert {"A  ", "B  "} <= {line[:3] for line in result.stderr.splitlines()}
    assert "[-" in result.stderr
    assert "{+" in result.stderr
    assert "score " not in result.stderr
    more = asking(review, path, "s\n", "--show-similarity", "--precision", "0.9")
    assert "score " in more.stderr
    assert len(rows_of(path)) == 5
    assert (
        json.loads((tmp_path / "labels.csv.options.json").read_text())["review"][
            "scoring"
        ]
        == "weights"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_single_keys_on_a_terminal(tmp_path, review):
    path = tmp_path / "labels.csv"
    shown = on_terminal_with(
        [b"s", b"d", b"u", b"?", b"\x03"], review, "--records", "-o", path
    )
    assert [row[3] for row in rows_of(path)] == ["same", "unsure"]
    words = " ".join(shown.split())  # lines are as wide as the terminal
    assert "no threshold is recommended yet, from 1 label threshold " in words
    assert (
        max(len(line) for line in shown.splitlines() if "review.csv" not in line) <= 80
    )


def test_wrong_uses(tmp_path, review):
    path = tmp_path / "labels.csv"
    command = "label", review, "--records", "-o"
    for option in (
        ("--threshold", "0.9"),
        ("--from", "0.5"),
        ("--size", "2"),
        ("--id-column", "id"),
        ("--exact",),
    ):
        message = failing(2, *command, path, *option)
        assert (
            f"{option[0].strip('-').replace('-', '_')} is not an option of lshfast label --records"
            in message
        )
    assert "from one review, not 2 inputs" in failing(
        2, "label", review, review, "--records", "-o", path
    )
    assert "which can be resumed" in failing(2, *command, tmp_path / "labels.parquet")
    assert "one of the inputs" in failing(2, *command, review)
    assert "review_pairs must be" in failing(
        2,
        "records",
        "dedup",
        tmp_path / "a.csv",
        "-o",
        tmp_path / "x.csv",
        "--review-pairs",
        "0",
    )
    assert not path.exists()


def test_labels_of_texts_are_refused(tmp_path, review):
    path = tmp_path / "labels.csv"
    path.write_text("key_i,key_j,similarity,label\na,b,0.5,same\n")
    with pytest.raises(
        DataError, match="no column 'id_a': this is not a file of labels"
    ):
        labelled(review, path, Person(1))


def test_many_and_hostile_fields_fit_the_screen(tmp_path):
    names = [f"{side}.field {number}\x1b[2J" for number in range(60) for side in "ab"]
    values = [f"{'v' * 5000}\x1b]52;c;AAAA\x07{number % 4}" for number in range(120)]
    with open(tmp_path / "review.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [
                ["id_a", "id_b", "linked", "score", *names],
                ["a\x1b", "b\u202e", "true", 3, *values],
            ]
        )
    result = asking(tmp_path / "review.csv", tmp_path / "labels.csv", "q\n")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
    assert "44 different fields not shown" in result.stderr
    shown = result.stderr.splitlines()
    assert len(shown) <= 45
    assert max(map(len, shown[:-1])) < 80


def test_equal_fields_are_left_out_first(tmp_path):
    names = [f"{side}.f{number}" for number in range(40) for side in "ab"]
    values = [f"v{place // 2 if place < 70 else place}" for place in range(80)]
    with open(tmp_path / "review.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["id_a", "id_b", "linked", "score", *names], [1, 2, "true", 3, *values]]
        )
    shown = asking(tmp_path / "review.csv", tmp_path / "labels.csv", "q\n").stderr
    assert "35 equal fields not shown" in shown
    assert "[-v79-]" not in shown
    assert "{+v79+}" in shown


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl"])
def test_labels_have_the_columns_of_the_review_and_bind_the_next_run(
    tmp_path, review, name
):
    path = tmp_path / name
    labelled(review, path, Person(30))
    columns = pairs_of(str(path))
    assert list(columns) == list(pairs_of(review))
    assert set(columns["answer"]) == {"same", "different"}
    others = [own for own in columns if own != "answer"]
    reviewed_pairs = {
        pair[:2]: pair
        for pair in zip(*(pairs_of(review)[own] for own in others), strict=True)
    }
    for pair in zip(*(columns[own] for own in others), strict=True):
        assert reviewed_pairs[pair[:2]] == pair
    out = tmp_path / "next.csv"
    command = (
        "records",
        "match",
        tmp_path / "a.csv",
        tmp_path / "b.csv",
        "-o",
        out,
        "--id-column",
        "id",
    )
    assert run(*command, "--labels", path, "-q").exit_code == 0
    links = set(
        zip(
            *(read_whole([str(out)]).columns[own] for own in ("id_a", "id_b")),
            strict=True,
        )
    )
    for one, other, answer in zip(
        columns["id_a"], columns["id_b"], columns["answer"], strict=True
    ):
        assert ((one, other) in links) == (answer == "same")


@pytest.mark.some_cases
@pytest.mark.parametrize(
    ("answers", "enough"),
    [
        (["same", "different"], False),
        (["same", "different"] * 9, False),
        (["same"] * 22, False),
        (["different"] * 20 + ["same"], False),
        (["same", "different"] * 10, True),
        (["unsure"] * 4 + ["same", "different"] * 9, False),
    ],
)
def test_a_threshold_takes_labels_of_both_answers(tmp_path, review, answers, enough):
    found = labelled(
        review, tmp_path / "labels.csv", Person(len(answers), list(answers))
    )
    report = "\n".join(found.lines())
    assert found.enough == enough
    assert (found.option is not None) == enough
    assert ("--threshold " in report) == enough
    assert ("no threshold is recommended yet" in report) == (not enough)
    assert " *\n" not in report or enough
    if enough:
        low, high = found.option_interval
        assert low <= found.option <= high
        assert re.search(
            r"--threshold [\d.e-]+ \([\d.e-]+ to [\d.e-]+ with probability 0.95\)",
            report,
        )
    else:
        assert "A threshold takes 20 labels, 5 of each answer" in report


def test_two_fields_with_one_column_are_shown_beside_their_own(tmp_path):
    rows = [
        {"id": "p1", "given": "Ann", "surname": "Lee"},
        {"id": "p2", "given": "Eve", "surname": "Stone"},
    ]
    others = [{"id": "q1", "surname": "Ann Lee"}]
    files = (
        corpora.make(tmp_path / "a.csv", rows),
        corpora.make(tmp_path / "b.csv", others),
    )
    fields = "--field=given=surname", "--field=surname"
    options = "--id-column", "id", "--scoring", "points", "--threshold", "10", "-q"
    review = tmp_path / "review.csv"
    run(
        "records",
        "match",
        *files,
        "-o",
        tmp_path / "links.csv",
        "--review",
        review,
        *fields,
        *options,
    )
    header = review.read_text().splitlines()[0].split(",")
    assert header[-4:] == ["a.given", "b.given=surname", "a.surname", "b.surname"]
    shown = asking(review, tmp_path / "labels.csv", "q\n").stderr
    assert "given=surname" in shown
    assert shown.count("Ann {+Lee+}") == shown.count("{+Ann+} Lee") == 1


def test_ids_that_a_spreadsheet_would_run_are_resumed(tmp_path):
    with open(tmp_path / "review.jsonl", "w") as file:
        for number in range(4):
            ids = {"id_a": f"@a{number}", "id_b": f"=b{number}"}
            file.write(
                json.dumps(
                    ids | {"linked": True, "score": 3 + number, "a.x": "=1", "b.x": "1"}
                )
                + "\n"
            )
    path = tmp_path / "labels.csv"
    labelled(str(tmp_path / "review.jsonl"), path, Person(2, ["same"] * 2))
    assert "'@a" in path.read_text()
    assert "'=1" in path.read_text()
    assert (
        labelled(
            str(tmp_path / "review.jsonl"), path, Person(1, ["different"])
        ).estimate.labelled.sum()
        == 3
    )

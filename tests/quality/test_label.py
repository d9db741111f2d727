"""Labelling of pairs: what is asked, what is written after each answer, and how it is resumed."""

import json
import random
import sys
import unicodedata

import pytest

from lshfast._engine.inputs import Inputs
from lshfast._engine.plan import make_plan
from lshfast._io import DataError
from lshfast._io.whole_tables import read_whole
from lshfast.quality.label_job import label_files
from tests.cli.commands import failing, run, write_jsonl
from tests.corpora import WORDS

pytestmark = pytest.mark.usefixtures("little_work")


def made_rows(groups=30):
    """Groups of texts with more and more other words."""
    draw = random.Random(1)
    rows = []
    for group in range(groups):
        base = [draw.choice(WORDS) + str(draw.randrange(99)) for _ in range(60)]
        for copy in range(4):
            changed = base.copy()
            for _ in range(copy * 2):
                changed[draw.randrange(60)] = f"other{draw.randrange(999)}"
            rows.append({"id": f"r{group}.{copy}", "text": " ".join(changed)})
    return [*rows, {"id": "an exact copy", "text": rows[0]["text"]}]


@pytest.fixture
def source(tmp_path):
    return str(write_jsonl(tmp_path / "in.jsonl", made_rows()))


class Person:
    """Answers "same" if at most so many words differ; quits after some questions."""

    def __init__(self, most, answers=None):
        self.asked, self._most, self._answers = [], most, answers

    def __call__(self, question):
        if len(self.asked) == self._most:
            return "quit"
        self.asked.append(question)
        if self._answers is not None:
            return self._answers[len(self.asked) - 1]
        return "same" if self.are_same(question) else "different"

    def are_same(self, question):
        left, right = (set(text.split()) for text in question.texts)
        return len(left - right) <= 4


def labelled(source, path, person, **options):
    inputs = Inputs([source], id_column="id")
    return label_files(
        inputs, make_plan(threshold=0.5, size=2), str(path), person, **options
    )


def rows_of(path):
    table = read_whole([str(path)])
    return list(
        zip(
            *(
                table.columns[name]
                for name in ("key_i", "key_j", "similarity", "label")
            ),
            strict=True,
        )
    )


@pytest.mark.parametrize(
    ("normalize", "groups"), [("none", 0), ("NFC", 3), ("NFKC", 6)]
)
def test_texts_in_several_forms(tmp_path, normalize, groups):
    """Pairs of texts in two forms are asked, and shown, in the form that the run compares."""
    forms = ["NFC", "NFD"] * 3 + ["NFC", "NFKD"] * 3
    texts = [" ".join(f"{n // 2}ế{word}ﬁ" for word in range(40)) for n in range(12)]
    rows = [
        {"id": n, "text": unicodedata.normalize(form, text) + " end" * (n % 2)}
        for n, (form, text) in enumerate(zip(forms, texts, strict=True))
    ]
    source = write_jsonl(tmp_path / "in.jsonl", rows)
    path = tmp_path / "labels.csv"
    options = "-o", path, "--id-column", "id", "--size", "2"
    answers = "s\n" * 12
    done = run("label", source, *options, "--normalize", normalize, input=answers)
    assert done.exit_code == 0, done.stderr
    if groups:
        keys = [(int(row[0]), int(row[1])) for row in rows_of(path)]
        assert sorted(keys) == [(n, n + 1) for n in range(0, 2 * groups, 2)]
        assert "[-" not in done.stderr
        assert done.stderr.count("{+") == done.stderr.count("{+end+}") == groups
        other = "NFC" if normalize == "NFKC" else "NFKC"
        said = failing(1, "label", source, *options, "--normalize", other)
        assert f"normalize is {normalize!r} there, not {other!r}" in said
    else:
        assert not path.exists() or not rows_of(path)


@pytest.mark.one_case
@pytest.mark.parametrize(
    "name", ["labels.csv", "labels.tsv", "labels.jsonl", "labels.csv.gz"]
)
def test_labels_are_written_and_resumed(tmp_path, source, name):
    path, whole = tmp_path / name, tmp_path / f"whole.{name}"
    first, second, once = Person(10), Person(10), Person(20)
    labelled(source, path, first)
    assert len(rows_of(path)) == 10
    found = labelled(source, path, second)
    assert second.asked[0].labelled == 10
    assert found.labelled.sum() == 20
    labelled(source, whole, once)
    assert path.read_bytes() == whole.read_bytes()
    asked = [question.keys for question in first.asked + second.asked]
    assert asked == [question.keys for question in once.asked]
    assert len(set(asked)) == 20


@pytest.mark.slow
def test_pairs_are_asked_once_and_copies_never(tmp_path, source):
    person = Person(10**6)
    found = labelled(source, tmp_path / "labels.csv", person)
    keys = [question.keys for question in person.asked]
    assert len(keys) == len(set(keys)) == found.pairs[0]
    assert not any("an exact copy" in pair for pair in keys)
    assert all(0.5 <= question.similarity <= 1 for question in person.asked)
    same = [
        question.similarity for question in person.asked if len(question.texts) == 2
    ]
    assert len(same) == found.labelled.sum()
    assert found.precision_intervals[0].low == pytest.approx(
        found.precision_intervals[0].high
    )
    again = Person(1)
    assert repr(labelled(source, tmp_path / "labels.csv", again)) == repr(found)
    assert again.asked == []


def test_undo_and_unsure(tmp_path, source):
    path = tmp_path / "labels.csv"
    person = Person(7, ["undo", "same", "undo", "different", "unsure", "same", "undo"])
    found = labelled(source, path, person)
    assert [row[3] for row in rows_of(path)] == ["different", "unsure"]
    assert found.labelled.sum() == 1
    keys = [question.keys for question in person.asked]
    assert keys[0] == keys[1] == keys[3]
    assert [question.unsure for question in person.asked] == [0, 0, 0, 0, 0, 1, 1]
    labelled(source, path, Person(1, ["undo"]))
    assert [row[3] for row in rows_of(path)] == ["different"]


@pytest.mark.parametrize("number", [0, 1, 5])
def test_an_interrupt_keeps_the_labels(tmp_path, source, number):
    path = tmp_path / "labels.csv"
    person = Person(100)

    def interrupted(question):
        if len(person.asked) == number:
            raise KeyboardInterrupt
        return person(question)

    assert labelled(source, path, interrupted).labelled.sum() == number
    assert (len(rows_of(path)) if path.exists() else 0) == number
    assert (
        sorted(each.name for each in tmp_path.iterdir() if each.name.startswith("."))
        == []
    )


def test_a_failure_between_answers_loses_no_label(tmp_path, source):
    path = tmp_path / "labels.csv"
    person = Person(100)

    def failing_later(question):
        if len(person.asked) == 4:
            raise RuntimeError("the power fails")
        return person(question)

    with pytest.raises(RuntimeError, match="the power fails"):
        labelled(source, path, failing_later)
    assert len(rows_of(path)) == 4


def test_labels_of_other_texts_or_options_are_refused(tmp_path, source):
    path = tmp_path / "labels.csv"
    labelled(source, path, Person(5))
    before = path.read_bytes()
    message = r"labels\.csv: labels of other texts or options: threshold is 0\.5 there, not 0\.6"
    with pytest.raises(DataError, match=message):
        label_files(
            Inputs([source], id_column="id"),
            make_plan(threshold=0.6, size=2),
            str(path),
            Person(5),
        )
    with pytest.raises(DataError, match="id_column is 'id' there, not None"):
        label_files(
            Inputs([source]), make_plan(threshold=0.5, size=2), str(path), Person(5)
        )
    rows = made_rows()
    for row in rows:
        row["text"] = row["text"].upper().replace("OTHER", "ANOTHER ")
    other = str(write_jsonl(tmp_path / "other.jsonl", rows))
    with pytest.raises(
        DataError,
        match=r"labels of other texts or options: pair \d is not a pair of these",
    ):
        labelled(other, path, Person(5))
    (tmp_path / "labels.csv.options.json").unlink()
    assert labelled(source, path, Person(0)).labelled.sum() == 5
    assert (tmp_path / "labels.csv.options.json").exists()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "this is not a file of labels"),
        (
            "key_i,key_j,similarity,label\nx,y,0.7,same\n",
            "pair 1 is not a pair of these",
        ),
        (
            "key_i,key_j,similarity,label\nr0.0,r0.1,much,same\n",
            "pair 1 is not a pair of these",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, source, content, message):
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        labelled(source, path, Person(1))
    assert path.read_text() == content


def test_a_label_that_is_none_and_a_pair_twice(tmp_path, source):
    path = tmp_path / "labels.csv"
    labelled(source, path, Person(2))
    good = path.read_text()
    path.write_text(good.replace("same", "perhaps"))
    with pytest.raises(DataError, match="is not same, different, unsure"):
        labelled(source, path, Person(1))
    path.write_text(good + good.splitlines()[1] + "\n")
    with pytest.raises(DataError, match="pair 3 is not a pair of these"):
        labelled(source, path, Person(1))


def test_no_pairs(tmp_path):
    source = str(
        write_jsonl(
            tmp_path / "in.jsonl",
            [{"id": "a", "text": "one text"}, {"id": "b", "text": "another"}],
        )
    )
    person = Person(1)
    assert "There are no pairs." in repr(
        labelled(source, tmp_path / "labels.csv", person)
    )
    assert person.asked == []


def asking(source, path, answers, *options):
    command = "label", source, "-o", path, "--id-column", "id", "--size", "2", *options
    return run(*command, input=answers)


def test_the_command(tmp_path, source):
    path = tmp_path / "labels.csv"
    result = asking(source, path, "s\nd\n?\nx\n\nS\nq\n", "--from", "0.5")
    assert result.exit_code == 0, result.output
    assert [row[3] for row in rows_of(path)] == ["same", "different", "unsure", "same"]
    assert result.stdout.startswith("threshold 0")
    assert ", from 3 labels\n" in result.stdout
    assert "Pairs below 0.5 are not known" in result.stdout
    assert "3 labelled, 1 unsure; precision at " in result.stderr
    assert "{+" in result.stderr
    assert f"{rows_of(path)[0][2]:.6}" not in result.stderr
    more = asking(
        source, path, "s\n", "--from", "0.5", "--show-similarity", "--precision", "0.9"
    )
    assert len(rows_of(path)) == 5
    assert "similarity 0." in more.stderr
    assert (
        json.loads((tmp_path / "labels.csv.options.json").read_text())["options"][
            "threshold"
        ]
        == 0.5
    )
    assert asking(source, path, "", "--threshold", "0.7").exit_code == 1


def test_the_least_similarity_follows_the_threshold(tmp_path, source):
    path = tmp_path / "labels.csv"
    assert asking(source, path, "s\n", "--threshold", "0.9").exit_code == 0
    assert (
        json.loads((tmp_path / "labels.csv.options.json").read_text())["options"][
            "threshold"
        ]
        == 0.6
    )


def test_wrong_uses(tmp_path, source):
    path = tmp_path / "labels.csv"
    assert "the texts cannot" in failing(2, "label", "-", "-o", path)
    assert "which can be resumed" in failing(
        2, "label", source, "-o", tmp_path / "labels.parquet"
    )
    assert "which can be resumed" in failing(2, "label", source, "-o", "-")
    assert "one of the inputs" in failing(2, "label", source, "-o", source)
    assert "precision must be in" in failing(
        2, "label", source, "-o", path, "--precision", "2"
    )


def test_control_characters_are_shown_as_escapes(tmp_path):
    text = " ".join(WORDS[:40])
    rows = [
        {"id": "a\x1b", "text": f"{text}\x1b]52;c;AAAA\x07"},
        {"id": "b\x1b", "text": f"{text} \x1b[2J end"},
    ]
    shown = asking(
        write_jsonl(tmp_path / "in.jsonl", rows), tmp_path / "labels.csv", "q\n"
    ).stderr
    assert "\x1b" not in shown
    assert r"a\x1b" in shown
    assert r"\x1b]" in shown
    assert r"\x1b[{+2J" in shown


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.one_case
@pytest.mark.parametrize("end", [b"q", b"\x03", b"\x04"])
def test_single_keys_on_a_terminal(tmp_path, source, end):
    path = tmp_path / "labels.csv"
    shown = on_terminal_with([b"s", b"d", end], source, "-o", path, "--id-column", "id")
    assert [row[3] for row in rows_of(path)] == ["same", "different"]
    assert "from 2 labels" in shown
    assert max(map(len, shown.splitlines())) <= 80


def on_terminal_with(keys, *arguments):
    """Run the command on a terminal of 80 columns, give each key when it is asked for, and return what is shown."""
    import fcntl
    import os
    import pty
    import re
    import struct
    import subprocess
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [
        sys.executable,
        "-m",
        "lshfast",
        "label",
        *map(str, arguments),
        "--quiet",
    ]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES")
    }
    shown, waiting = b"", list(keys)

    def own_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        preexec_fn=own_terminal,
    ) as child:
        os.close(theirs)
        try:
            while block := os.read(ours, 1 << 16):
                shown += block
                if waiting and shown.count(b"[q]uit: ") > len(keys) - len(waiting):
                    os.write(ours, waiting.pop(0))
        except OSError:  # Linux: the other side is closed
            pass
    os.close(ours)
    assert child.returncode == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")

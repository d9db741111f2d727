"""The help of the whole command, and what is suggested for names that are not there."""

import os
import re
import shlex

import pytest
from typer.main import get_command

from lshfast._cli.main import app
from lshfast._cli.overview import GROUPS
from tests.cli.commands import failing, on_terminal, run, write_jsonl

TEXT = "one two three four five six seven eight nine ten number"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder, with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(
        tmp_path / "crawl.jsonl",
        [{"id": i, "text": f"{TEXT} {i // 2}"} for i in range(20)],
    )
    rows = "".join(f"{i},Person Number{i},City{i % 5}\n" for i in range(40))
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"id,name,city\n{rows}")
    (tmp_path / "photos").mkdir()
    return tmp_path


def test_every_command_is_in_one_group():
    named = " ".join(names for _, _, names in GROUPS).split()
    assert len(set(named)) == len(named)
    assert set(named) == set(get_command(app).commands)


@pytest.mark.parametrize("example", [example for _, example, _ in GROUPS])
def test_the_examples_run(folder, example):
    if " images " in example:
        Image = pytest.importorskip("PIL.Image")
        pytest.importorskip("pdqhash")
        pytest.importorskip("imagehash")
        Image.new("RGB", (80, 80), (9, 90, 200)).save(folder / "photos" / "a.png")
    assert run(*shlex.split(example)[1:]).exit_code == 0


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_overview_fits_the_terminal(columns):
    shown = run("-h", terminal_width=columns).stdout
    assert (
        shown
        == run("--help", terminal_width=columns).stdout
        == run(terminal_width=columns).output
    )
    assert max(map(len, shown.splitlines())) <= columns
    for title, example, names in GROUPS:
        section = shown.partition(f"\n{title}:\n")[2].partition("\n\n")[0].splitlines()
        *lines, last = section
        assert last.strip() == f"$ {example}"
        assert [line.split()[0] for line in lines] == names.split()
        for line in lines:
            assert line.endswith(".")
            assert not line.endswith("...")
            assert line.split(maxsplit=1)[1] in run(line.split()[0], "-h").stdout


def test_help_uses_a_wide_terminal():
    assert (
        max(map(len, run("dedup", "-h", terminal_width=120).stdout.splitlines())) > 100
    )


@pytest.mark.one_case
@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
@pytest.mark.parametrize("setting", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_are_for_terminals_that_have_them(setting, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    shown = on_terminal(80, "-h", escapes=True)
    assert ("\x1b[1mSearch\x1b[0m:" in shown) == (not setting)
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown).count("\nSearch:\n") == 1
    assert "\x1b" not in run("-h").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("dedpu", "No such command 'dedpu'. Did you mean 'dedup'?"),
        ("index biuld", "No such command 'biuld'. Did you mean 'build'?"),
        ("records mtach", "No such command 'mtach'. Did you mean 'match'?"),
        ("query", "Did you mean lshfast index query?"),
        ("search", "Did you mean lshfast index query?"),
        ("help", "Did you mean lshfast --help?"),
        ("zzz", "There are dedup, pairs, "),
        ("index zzz", "There are build, add, "),
        ("crawl.jsonl", "A command comes first: lshfast dedup crawl.jsonl -o OUT"),
        ("--threshold 0.8 dedup", "Options of a command come after its name"),
        (
            "dedup crawl.jsonl --treshold 0.8",
            "No such option: --treshold. Did you mean --threshold?",
        ),
        ("dedup crawl.jsonl --colum t", "Did you mean --column or --id-column?"),
        ("records match a.csv b.csv --treshold 0.8", "Did you mean --threshold?"),
        ("index build crawl.jsonl --num-prem 8", "Did you mean --num-perm?"),
        ("dedup crawl.jsonl -t 0.8", "Did you mean --threshold or "),
    ],
)
def test_a_mistyped_name_suggests_the_near_one(folder, arguments, said):
    assert said in failing(2, *arguments.split())


def test_a_name_like_no_other_suggests_none(folder):
    assert "Did you mean" not in failing(2, "dedup", "crawl.jsonl", "--qqq")


def every_command(command, words=()):
    below = getattr(command, "commands", None)
    if below is None:
        return [words]
    return [
        found
        for name, one in below.items()
        for found in every_command(one, (*words, name))
    ]


@pytest.mark.one_case
@pytest.mark.parametrize("words", every_command(get_command(app)), ids=" ".join)
def test_the_short_help_fits_a_screen_and_the_long_one_has_all_options(words):
    short, long = (run(*words, option).stdout for option in ("-h", "--help-all"))
    command = get_command(app)
    for word in words:
        command = command.commands[word]
    options = [one for one in command.params if one.param_type_name == "option"]
    assert len(short.splitlines()) < 75
    if "--help-all" in short:
        assert all(one.opts[0] in long for one in options)
        assert len(short.splitlines()) < len(long.splitlines())
    else:
        assert all(one.opts[0] in short for one in options)


@pytest.mark.one_case
@pytest.mark.parametrize("words", every_command(get_command(app)), ids=" ".join)
def test_the_examples_of_a_help_can_be_parsed(words):
    command = get_command(app)
    for word in words:
        command = command.commands[word]
    for example in command.examples:
        arguments = shlex.split(example)
        path = ["lshfast", *words]
        assert arguments[: len(path)] == path
        context = command.make_context(words[-1], arguments[len(path) :])
        assert example in run(*words, "-h", terminal_width=100).stdout
        context.close()


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        ("dedup", "[OPTIONS] INPUT..."),
        ("index query", "[OPTIONS] FILE.lsh [INPUT...]"),
        ("index remove", "[OPTIONS] FILE.lsh [KEY...]"),
        ("records match", "[OPTIONS] A B"),
    ],
)
def test_the_usage_names_arguments_as_they_are_typed(words, usage):
    first_line = run(*words.split(), "-h").stdout.splitlines()[0]
    assert first_line.endswith(f" {words} {usage}")


@pytest.mark.one_case
@pytest.mark.parametrize("words", every_command(get_command(app)), ids=" ".join)
def test_a_help_fits_80_columns_and_has_three_examples(words):
    command = get_command(app)
    for word in words:
        command = command.commands[word]
    help_text = run(*words, "-h", terminal_width=80).stdout
    if "--help-all" in help_text:
        help_text += run(*words, "--help-all", terminal_width=80).stdout
    assert max(map(len, help_text.splitlines())) <= 80
    assert len(command.examples) in (0, 3)


def test_options_of_a_help_stand_under_headings():
    for option in ("-h", "--help-all"):
        lines = run("dedup", option).stdout.splitlines()
        headings = [line for line in lines if line.endswith(":") and line[0] != " "]
        assert headings[:6] == [
            "Arguments:",
            "Inputs:",
            "What is similar:",
            "Which row stays:",
            "Outputs:",
            "Large runs:",
        ]
    places = {line.split()[0]: place for place, line in enumerate(lines) if line}
    assert places["Inputs:"] < places["--id-column"] < places["What"]
    assert places["Advanced:"] < places["--num-perm"] < places["Help:"]

"""The options of a deduplication: signatures, the command line and the docs beside their declaration."""

import inspect
from pathlib import Path

import pytest
import typer.main

import lshfast
from lshfast import spark, stages
from lshfast._cli.main import app
from lshfast._engine.options import types as option_types
from lshfast._engine.options.declared import OPTIONS
from lshfast._engine.options.rules import NOT_OF_PARAGRAPHS, taken_by
from tests.cli.commands import failing, run
from tests.make_option_types import source

# Parameters that are no options of a deduplication: the rows, the outputs, and what only one
# function has.
OWN = {
    lshfast.dedup: {"texts", "keys", "add", "progress"},
    lshfast.dedup_files: {"inputs", "output", "progress"},
    lshfast.dedup_paragraphs: {"inputs", "output", "progress"},
    stages.plan: {"inputs", "output", "shards", "tasks", "rejected"},
    spark.dedup: {"df", "text", "id"},
    spark.pairs: {"df", "text", "id"},
}
DRIVERS = {
    lshfast.dedup: ("memory",),
    lshfast.dedup_files: ("files", "cap"),
    lshfast.dedup_paragraphs: ("files",),
    stages.plan: ("stages",),
    spark.dedup: ("spark",),
    spark.pairs: ("spark",),
}
# Options that a function has under another name, or that its caller has done before.
ABSENT = {
    lshfast.dedup_files: {"split"},
    lshfast.dedup_paragraphs: set(NOT_OF_PARAGRAPHS),
    spark.dedup: {
        "column",
        "id_column",
        "removed",
        "overwrite",
        "dry_run",
        "top",
        "most",
        "html",
        "html_texts",
    },
    spark.pairs: {
        "column",
        "id_column",
        "removed",
        "overwrite",
        "dry_run",
        "groups",
        "keep",
        "html",
        "html_texts",
        "by",
        "max_removed",
        "against",
        "against_column",
        "against_id_column",
        "exact_key",
    },
}
# Defaults that differ: of a task, and of a folder that must be named.
OTHERS = {
    lshfast.dedup_paragraphs: {"split": "paragraph"},
    stages.plan: {"memory": 2 << 30, "threads": 1, "work": inspect.Parameter.empty},
}
# With an index, the defaults are those of the index, so the function cannot name them.
OF_INDEX = {"threshold", "unit"}


@pytest.mark.parametrize(
    "function", OWN, ids=lambda function: f"{function.__module__}.{function.__name__}"
)
def test_signatures(function):
    parameters = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in OWN[function]
    }
    wanted = {name: OPTIONS[name].default for name in taken_by(*DRIVERS[function])}
    wanted = {
        name: default
        for name, default in wanted.items()
        if name not in ABSENT.get(function, ())
    }
    if function in (lshfast.dedup_files, lshfast.dedup_paragraphs):
        wanted |= dict.fromkeys(OF_INDEX)
    assert parameters == wanted | OTHERS.get(function, {})


def test_types_follow_from_the_declaration():
    assert Path(option_types.__file__).read_text("utf-8") == source()


@pytest.mark.parametrize("name", ["treshold", "colum", "id-column", "split", "nothing"])
def test_a_wrong_option_is_refused_with_the_nearest(name):
    with pytest.raises(TypeError, match=f"has no option '{name}'"):
        lshfast.dedup_files("in.jsonl", "out.jsonl", **{name: 1})


@pytest.mark.parametrize("name", ["num_perm", "column", "ignore_common", "seed"])
def test_signature_and_docstring_have_all_options(name):
    assert name in inspect.signature(lshfast.dedup_files).parameters
    assert f"\n    {name}" in lshfast.dedup_files.__doc__


def test_daily_options_are_few():
    """The short help fits a screen; the long one has all."""
    short, long = (run("dedup", option).stdout for option in ("-h", "--help-all"))
    assert len(short.splitlines()) < 65 < 120 < len(long.splitlines())
    assert "--num-perm" not in short
    assert "--num-perm" in long


@pytest.mark.parametrize(
    "command",
    [("dedup",), ("pairs",), ("check",), ("index", "build"), ("records", "dedup")],
)
def test_an_option_of_one_value_is_given_once(command):
    message = failing(2, *command, "in.jsonl", "-o", "a", "--output", "b")
    assert "--output takes one value, and is given 2 times" in message


@pytest.mark.parametrize(
    ("command", "own", "drivers"),
    [
        (
            ("dedup",),
            {"inputs", "output", "engine", "master", "quiet", "help_all"},
            ("files", "cap", "spark"),
        ),
        (
            ("stage", "plan"),
            {"inputs", "output", "shards", "tasks", "rejected", "quiet", "help_all"},
            ("stages",),
        ),
    ],
)
def test_commands(command, own, drivers):
    found = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    parameters = {
        parameter.name: parameter
        for parameter in found.params
        if parameter.name not in own
    }
    assert set(parameters) == set(taken_by(*drivers))
    # These are folders, or mean a task's.
    different = (
        {"memory", "work", "pairs", "removed", "threads"}
        if "stage" in command
        else set()
    )
    for name, parameter in parameters.items():
        assert parameter.opts == [OPTIONS[name].shown]
        if name not in different:
            assert (parameter.help, parameter.default) == (
                OPTIONS[name].help,
                [OPTIONS[name].default]
                if OPTIONS[name].several
                else OPTIONS[name].default,
            ), name

"""The options of a deduplication: signatures, the command line and the docs beside their declaration."""

import inspect
from pathlib import Path

import pytest
import typer.main

import lshfast
from lshfast import spark, stages
from lshfast._cli.main import app
from lshfast._engine.options import OPTIONS, table, taken_by
from lshfast._engine.plan import make_plan

DOCS = Path(__file__).parents[2] / "docs"

# Parameters that are no options of a deduplication: the rows, the outputs, and what only one function has.
OWN = {
    lshfast.dedup: {"texts", "keys", "add", "progress"},
    lshfast.dedup_files: {"inputs", "output", "progress"},
    stages.plan: {"inputs", "output", "shards", "tasks", "rejected"},
    spark.dedup: {"df", "text", "id"},
    spark.pairs: {"df", "text", "id"},
}
DRIVERS = {
    lshfast.dedup: ("memory",),
    lshfast.dedup_files: ("files", "cap"),
    stages.plan: ("stages",),
    spark.dedup: ("spark",),
    spark.pairs: ("spark",),
}
# Options that a function has under another name, or that its caller has done before.
ABSENT = {
    lshfast.dedup_files: {"split"},
    spark.dedup: {"column", "id_column", "removed", "overwrite", "dry_run", "top", "most", "html", "html_texts"},
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
    },
}
# Defaults that differ: of a task, and of a folder that must be named.
OTHERS = {stages.plan: {"memory": 2 << 30, "threads": 1, "work": inspect.Parameter.empty}}
# With an index, the defaults are those of the index, so the function cannot name them.
OF_INDEX = {"threshold", "unit", "num_perm", "scheme", "recall", "seed"}


@pytest.mark.parametrize("function", OWN, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_signatures(function):
    parameters = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in OWN[function]
    }
    wanted = {name: OPTIONS[name].default for name in taken_by(*DRIVERS[function])}
    wanted = {name: default for name, default in wanted.items() if name not in ABSENT.get(function, ())}
    if function is lshfast.dedup_files:
        wanted |= dict.fromkeys(OF_INDEX)
    assert parameters == wanted | OTHERS.get(function, {})


def test_the_plan_of_a_run():
    for name, parameter in inspect.signature(make_plan).parameters.items():
        assert parameter.default == (False if name == "exact" else OPTIONS[name].default), name


@pytest.mark.parametrize(
    ("command", "own", "drivers"),
    [
        (("dedup",), {"inputs", "output", "engine", "master", "quiet"}, ("files", "cap", "spark")),
        (("stage", "plan"), {"inputs", "output", "shards", "tasks", "rejected", "quiet"}, ("stages",)),
    ],
)
def test_commands(command, own, drivers):
    found = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    parameters = {parameter.name: parameter for parameter in found.params if parameter.name not in own}
    assert set(parameters) == set(taken_by(*drivers))
    # These are folders, or mean a task's.
    different = {"memory", "work", "pairs", "removed", "threads"} if "stage" in command else set()
    for name, parameter in parameters.items():
        assert parameter.opts == [OPTIONS[name].shown]
        if name not in different:
            assert (parameter.help, parameter.default) == (OPTIONS[name].help, OPTIONS[name].default), name


def test_the_table_in_the_docs():
    assert table() in (DOCS / "reference" / "command-line.md").read_text("utf-8")

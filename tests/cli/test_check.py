"""`lshfast check` on the command line."""

import inspect
import json

import pytest
import typer.main

import lshfast
from lshfast._cli.main import app
from lshfast._engine.options.declared import OPTIONS
from tests.cli.commands import failing, run


@pytest.fixture
def corpus(tmp_path):
    words = [f"w{number}" for number in range(80)]
    texts = [" ".join([*words[:-1], f"end{number}"]) for number in range(10)]
    path = tmp_path / "in.jsonl"
    path.write_text(
        "".join(
            json.dumps({"text": text}) + "\n"
            for text in [*texts, texts[0], "", "other"]
        )
    )
    return path


def test_the_table_and_the_figures(corpus, tmp_path):
    out = tmp_path / "out.json"
    result = run("check", corpus, "-o", out, "--examples")
    assert result.exit_code == 0
    assert "1 exact copy, always found; 1 without shingles" in result.stdout
    assert "all of them: the figures are exact" in result.stdout
    assert "+ …" in result.stdout
    figures = json.loads(out.read_text("utf-8"))
    assert figures["pairs"] == {"value": 45, "low": 45, "high": 45}
    assert figures["recall"]["value"] == 1
    assert {"recall 0.99", "threshold 0.7", "word 1", "char 9"} <= {
        one["name"] for one in figures["alternatives"]
    }


@pytest.mark.parametrize(
    ("options", "instead"),
    [
        (("--memory", "1G"), "check some of the files"),
        (("--exact",), "its recall is 1"),
        (("--against", "texts.idx"), "as further inputs"),
        (("--against=texts.idx",), "as further inputs"),
        (("--verify", "none"), "the table has the precision"),
        (("--engine", "spark"), "Spark finds the same pairs"),
    ],
)
def test_what_to_do_without_other_options_of_a_run(corpus, options, instead):
    name = options[0].split("=")[0]
    message = failing(2, "check", corpus, *options)
    assert message.startswith(
        f"lshfast: error: {name} is not an option of lshfast check: "
    )
    assert instead in message
    assert "--nothing" in failing(2, "check", corpus, "--nothing")


def test_quiet_and_overwrite(corpus, tmp_path):
    out = tmp_path / "out.json"
    assert run("check", corpus, "-o", out, "--quiet").stdout == ""
    again = run("check", corpus, "-o", out)
    assert (again.exit_code, "--overwrite" in again.stderr) == (2, True)
    assert run("check", corpus, "-o", out, "--overwrite", "-q").exit_code == 0


def test_bad_rows(tmp_path):
    path, out = tmp_path / "in.jsonl", tmp_path / "out.json"
    path.write_text('{"text": "a b c"}\n{"text"\n')
    stopped = run("check", path)
    assert (stopped.exit_code, "in.jsonl:2" in stopped.stderr) == (1, True)
    assert run("check", path, "-o", out, "--on-error", "skip", "-q").exit_code == 0
    assert json.loads(out.read_text("utf-8"))["rejected"] == 1
    assert (tmp_path / "out.json.rejects.jsonl").exists()


def test_empty_input(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("")
    result = run("check", path)
    assert result.exit_code == 0
    assert "no pair at or above the threshold was seen" in result.stdout


def test_options_are_those_of_dedup():
    own = {
        "inputs",
        "output",
        "sample",
        "examples",
        "quiet",
        "help_all",
        "threshold",
        "recall",
    }  # these have the defaults of texts
    for parameter in typer.main.get_command(app).commands["check"].params:
        if parameter.name not in own:
            option = OPTIONS[parameter.name]
            assert option.shown in parameter.opts
            if parameter.name != "on_error":
                assert (parameter.help, parameter.default) == (
                    option.help,
                    [option.default] if option.several else option.default,
                )
    for name, parameter in inspect.signature(lshfast.check).parameters.items():
        if name not in own | {"texts", "progress"}:
            assert parameter.default == OPTIONS[name].default

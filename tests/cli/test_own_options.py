"""No message of a command names an option that the command does not have."""

import re

import pytest
import typer

from lshfast._cli.main import app
from tests.cli.commands import run

FILES = {
    "columns.jsonl": b'{"txt": "a b", "id": 1}\n',
    "columns.csv": b"id;txt\n1;a\n",
    "bad.jsonl": b'{"text": 5}\n{\n',
    "twice.csv": b"id,text\n1,a\n1,b\n",
    "array.json": b'[{"text": "a"}]\n',
    "a.npy": b"\x93NUMPY",
    "a.parquet": b"PAR1",
    "a.xlsx": b"PK\3\4",
    "latin.txt": b"\xe9\xe8 caf\xe9\n",
}
INPUTS = [*FILES, "missing.jsonl", "empty", "-"]


def leaves(command, path=()):
    """Yield the commands without commands below them, with their names."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from leaves(below, (*path, name))
    else:
        yield path, command


def options_of(command):
    return {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


COMMANDS = dict(leaves(typer.main.get_command(app)))
ALL = set().union(*map(options_of, COMMANDS.values()))


def attempts(path, command, name):
    """Yield the arguments of runs of a command over an input."""
    arguments = list(path)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            arguments.append(name)
        elif "-o" in parameter.opts or parameter.required:
            arguments += [parameter.opts[0], "out.csv"]
    own = options_of(command)
    yield arguments
    if "--against" in own:
        yield [*arguments, "--against", name]
    if "--id-column" in own:
        yield [*arguments, "--id-column", "id"]


@pytest.mark.few_cases
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize(
    "path", [path for path in COMMANDS if path != ("demo",)], ids=" ".join
)
def test_messages_name_own_options_alone(tmp_path, monkeypatch, path, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for file, data in FILES.items():
        (tmp_path / file).write_bytes(data)
    command = COMMANDS[path]
    for arguments in attempts(path, command, name):
        said = run(*arguments, input="").output
        for clause in re.split(r"; |\n", said):
            named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", clause)) & ALL
            assert (
                named <= options_of(command)
                or "lshfast " in clause.partition("error: ")[2]
            ), clause


def test_a_table_of_hashes_without_its_column(tmp_path):
    (tmp_path / "hashes.csv").write_text("path,code\na.png,00\n")
    (tmp_path / "a.png").write_bytes(b"no image")
    said = run(
        "images",
        tmp_path,
        "--against",
        tmp_path / "hashes.csv",
        "-o",
        tmp_path / "out.csv",
    ).output
    assert "no column 'hash'" in said
    assert "--column" not in said


def test_advice_that_names_an_own_option_stays(tmp_path):
    (tmp_path / "rows.csv").write_text("id,txt\n1,a\n")
    said = run(
        "dedup", tmp_path / "rows.csv", "--column", "body", "-o", tmp_path / "out.csv"
    ).output
    assert "choose another with column (--column)" in said


@pytest.mark.parametrize(
    ("command", "given", "similar"),
    [
        ("genomes", "--threshold", "--ani"),
        ("genomes", "--radius", "--ani"),
        ("images", "--threshold", "--radius"),
        ("dedup", "--ani", "--threshold or --radius"),
        ("genomes", "--thread", "--threads"),
    ],
)
def test_the_bound_of_another_command_is_understood(command, given, similar):
    said = run(command, "x", given, "0.8").output
    assert f"No such option: {given}. Did you mean {similar}?" in said

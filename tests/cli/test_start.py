"""The start and the end of a command: one command of many, the exit status."""

import subprocess
import sys

import pytest

typer = pytest.importorskip("typer")
from typer.main import get_command  # noqa: E402

from lshfast._cli.main import app, app_for  # noqa: E402


@pytest.mark.one_case
@pytest.mark.parametrize(
    "arguments", [["dedup"], ["pairs"], ["passages"], ["tune"], ["index"], ["stage"]]
)
def test_a_command_that_is_prepared_alone_is_the_same(arguments):
    one, every = get_command(app_for(arguments)), get_command(app)
    assert [*one.commands] == arguments
    name = arguments[0]
    shown = [
        group.commands[name].get_help(group.make_context("lshfast", [name]))
        for group in (one, every)
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["nothing"]])
def test_all_commands_are_prepared_for_other_arguments(arguments):
    assert app_for(arguments) is app


@pytest.mark.parametrize("name", ["passages", "check", "index", "tune"])
def test_a_command_imports_only_the_packages_it_needs(name):
    code = "import sys\nfrom lshfast.__main__ import main\ntry: main()\nexcept SystemExit: pass\nprint(*sys.modules)"
    _, out, _ = run(code, name, "-h")
    packages = {
        word.split(".")[1] for word in out.split() if word.startswith("lshfast.")
    }
    applications = {
        "fingerprints",
        "genomes",
        "images",
        "passages",
        "quality",
        "records",
        "web",
    }
    assert packages & applications == {
        "passages": {"passages"},
        "check": {"quality"},
    }.get(name, set())


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


def test_dedup_imports_only_what_it_needs(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one two three four five six"}\n' * 3)
    code = "import sys\nfrom lshfast.__main__ import main\ntry: main()\nexcept SystemExit: pass\nprint(*sys.modules)"
    options = [
        "--dry-run",
        "--quiet",
        "--threads",
        "1",
        "--threshold",
        "0.7",
        "--seed",
        "3",
    ]
    status, out, _ = run(code, "dedup", str(path), *options)
    assert status == 0
    assert {
        "lshfast._engine.executors.local.capped",
        "lshfast.hashing.perfect",
    }.isdisjoint(out.split())


@pytest.mark.parametrize(
    ("error", "status"),
    [("", 0), ("SystemExit(3)", 3), ("SystemExit('x')", 1), ("OSError()", 1)],
)
def test_a_process_ends_with_the_status_of_its_command(error, status):
    lines = [
        "import atexit, sys",
        "import lshfast.__main__ as program",
        "def main():",
        "    print('said')",
    ]
    lines += [
        "    atexit.register(print, 'later')",
        f"    raise {error}" if error else "    return",
    ]
    lines += ["program.main = main", "program.process()"]
    assert run("\n".join(lines))[:2] == (status, "said\nlater\n")

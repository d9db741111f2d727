"""The commands of the overview, as they stand there, and a checkout without compiled modules."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from tests import corpora
from tests.cli.commands import read_jsonl

OVERVIEW = Path(__file__).parents[2] / "docs" / "start" / "overview.md"
TEXTS = [f"text {number} says {number * number} and then {number % 7} times more than that" for number in range(20)]


def shell_block():
    section = OVERVIEW.read_text().partition("## Use from the shell\n")[2]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are those of a shell")
def test_the_commands_of_the_overview_run_in_their_order(tmp_path):
    rows = [{"text": text} for text in [*TEXTS, TEXTS[3], TEXTS[5] + " indeed"]]
    for name in ("crawl.jsonl.zst", "january.jsonl", "february.jsonl"):
        corpora.make(tmp_path / name, rows)
    vectors = np.random.default_rng(1).standard_normal((100, 8)).tolist()
    for name, first in (("embeddings.parquet", 0), ("queries.parquet", 90)):
        pq.write_table(pa.table({"embedding": vectors[first:]}), tmp_path / name)
    script = f'set -eu\nlshfast() {{ {sys.executable!r} -m lshfast "$@"; }}\n{shell_block()}'
    environment = {**os.environ, "PYTHONPATH": str(Path(lshfast.__file__).parent.parent), "COLUMNS": "80"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    written = set(re.findall(r"(?:-o|--removed|--plot|--save-index) (\S+)", shell_block()))
    assert written == {"kept.jsonl.zst", "removed.csv", "pairs.parquet", "curve.svg", "seen.lsh", "new.jsonl",
                       "near.lsh", "nearest.csv"}  # fmt: skip
    assert all((tmp_path / name).stat().st_size for name in written - {"new.jsonl"})
    assert [row["text"] for row in corpora.load(tmp_path / "kept.jsonl.zst")][:20] == TEXTS
    assert read_jsonl(tmp_path / "new.jsonl") == []  # february is january again
    assert "queries.parquet:10,embeddings.parquet:100,1.0" in (tmp_path / "nearest.csv").read_text()


def test_the_readme_is_short_and_its_links_lead_to_files():
    root = OVERVIEW.parents[2]
    text = (root / "README.md").read_text("utf-8")
    assert text.count("\n") <= 110
    links = re.findall(r"\]\(([^)#]+)", text)
    assert len(links) > 10
    if not (root / "setup.py").exists():  # tests that were copied out of the tree have the pages of docs only
        links = [link for link in links if link.startswith("docs/")]
    assert [link for link in links if not (root / link).is_file()] == []


PACKAGE = Path(lshfast.__file__).parent
COMMANDS = [("-m", "lshfast", "demo"), ("-mlshfast", "demo"), ("bin/lshfast", "demo")]


@pytest.fixture
def python(tmp_path):
    """Return a function that runs Python with the modules in a folder, which has the command that pip makes."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "lshfast").write_text("from lshfast.__main__ import main\nmain()\n")

    def run_python(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run_python


@pytest.mark.parametrize("there", ["none", "all but gate", "all but _cython"])
def test_a_checkout_without_compiled_modules_says_how_to_build_them(tmp_path, python, there):
    shutil.copytree(PACKAGE, tmp_path / "lshfast", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    kernels, absent = tmp_path / "lshfast" / "kernels", there.split()[-1]
    for path in (PACKAGE / "kernels").iterdir():
        if there != "none" and path.suffix in (".so", ".pyd") and path.name.partition(".")[0] != absent:
            (kernels / path.name).symlink_to(path)
    advice = re.compile(
        rf"the compiled modules of lshfast for this Python are not in {re.escape(str(kernels))} "
        rf"\(missing: {'affine, [a-z]+, [a-z]+, [.]{3}' if there == 'none' else absent}\): "
        r"build them with `pip install -e \.` in the checkout, or leave the checkout to import an installed lshfast\n"
    )
    for module in ("lshfast", "lshfast.cli.main", "lshfast.kernels.text", "lshfast.datasketch"):
        said = python("-c", f"import {module}").stderr
        assert advice.fullmatch(said.rpartition("ImportError: ")[2])
        assert said.count('File "') == 4  # the import, and three files of the package
        assert "During handling" not in said
    for command in (*COMMANDS, ("-mlshfast",), ("bin/lshfast", "--help")):
        done = python(*command)
        assert done.returncode == 1
        assert advice.fullmatch(done.stderr.removeprefix("lshfast: error: "))


@pytest.mark.parametrize("module", ["numpy", "typer"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_during_the_imports_is_one_line(tmp_path, python, module, command):
    (tmp_path / f"{module}.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    (tmp_path / "lshfast").symlink_to(PACKAGE)
    done = python(*command)
    assert (done.returncode, done.stderr) == (130, "lshfast: error: interrupted; no output was left half-written\n")

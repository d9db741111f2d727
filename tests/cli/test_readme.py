"""The commands of README.md, as they stand there, and a checkout without compiled modules."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast
from tests import corpora
from tests.cli.commands import read_jsonl

README = Path(__file__).parents[2] / "README.md"
TEXTS = [f"text {number} says {number * number} and then {number % 7} times more than that" for number in range(20)]


def shell_block():
    section = README.read_text().partition("## Use from the shell\n")[2]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are those of a shell")
def test_the_commands_of_the_readme_run_in_their_order(tmp_path):
    rows = [{"text": text} for text in [*TEXTS, TEXTS[3], TEXTS[5] + " indeed"]]
    for name in ("crawl.jsonl.zst", "january.jsonl", "february.jsonl"):
        corpora.make(tmp_path / name, rows)
    script = f"set -eu\nlshfast() {{ {sys.executable!r} -m lshfast \"$@\"; }}\n{shell_block()}"
    environment = {**os.environ, "PYTHONPATH": str(Path(lshfast.__file__).parent.parent), "COLUMNS": "80"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    written = set(re.findall(r"(?:-o|--removed|--plot|--save-index) (\S+)", shell_block()))
    assert written == {"kept.jsonl.zst", "removed.csv", "pairs.parquet", "curve.png", "seen.lsh", "new.jsonl"}
    assert all((tmp_path / name).stat().st_size for name in written - {"new.jsonl"})
    assert [row["text"] for row in corpora.load(tmp_path / "kept.jsonl.zst")][:20] == TEXTS
    assert read_jsonl(tmp_path / "new.jsonl") == []  # february is january again


def test_a_checkout_without_compiled_modules_says_how_to_build_them(tmp_path):
    source = Path(lshfast.__file__).parent
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(source, tmp_path / "lshfast", ignore=ignored)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for module in ("lshfast", "lshfast.cli.main", "lshfast.kernels.text"):
        done = subprocess.run(
            [sys.executable, "-c", f"import {module}"], cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        said = done.stderr.splitlines()[-1]
        assert said.startswith(f"ImportError: the compiled modules of lshfast for this Python are not in {tmp_path}")
        assert "`pip install -e .`" in said
        assert "circular" not in done.stderr

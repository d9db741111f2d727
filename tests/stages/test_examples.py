"""The Makefile of docs/how-to/stages.md: its outputs are those of `lshfast dedup`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stages.runs import corpus, in_memory, joined, write_files

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def folder(tmp_path):
    write_files(tmp_path / "in", corpus(8, 600), 5)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("seq") is None,
    reason="there is no make",
)
@pytest.mark.one_case
@pytest.mark.parametrize("ignored", [None, 0.4])
def test_makefile(folder, ignored):
    """It is ended in the middle, and goes on."""
    options = "--threshold 0.8"
    if ignored is not None:
        options += f" --ignore-common {ignored}"
    variables = {
        "LSHFAST": f"{sys.executable} -m lshfast",
        "SHARDS": 2,
        "TASKS": 1,
        "INPUT": folder / "in",
        "OUTPUT": folder / "kept",
        "WORK": folder / "work",
        "OPTIONS": options,
    }
    make = ["make", "-j2", "-f", EXAMPLES / "Makefile"]
    make += [f"{name}={value}" for name, value in variables.items()]
    subprocess.run(
        [*make, f"{folder}/work/group-00000.json"], check=True, capture_output=True
    )
    before = (folder / "work" / "sketch-00000.json").stat().st_mtime_ns
    assert not any((folder / "kept").iterdir())
    done = subprocess.run(make, check=True, capture_output=True, text=True)
    assert "stage sketch" not in done.stdout
    assert "kept + " in done.stdout
    assert (folder / "work" / "sketch-00000.json").stat().st_mtime_ns == before
    kept = in_memory(folder, folder / "in", ignore_common=ignored)[1]
    assert joined(folder / "kept") == kept
    again = subprocess.run(make, check=True, capture_output=True, text=True)
    assert again.stdout.count("lshfast") == done.stdout.count("stage status")

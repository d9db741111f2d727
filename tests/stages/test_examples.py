"""The scripts of docs/how-to/stages.md: make, and Ray. Their outputs are those of `lshfast dedup`."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.stages.runs import corpus, in_memory, joined, write_files

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

# Ray starts two workers on this machine alone, and sends no statistics.
START_RAY = """
import runpy, sys
import ray
script, sys.argv = sys.argv[1], sys.argv[1:]
ray.init(num_cpus=2, object_store_memory=100 << 20, include_dashboard=False)
runpy.run_path(script, {}, "__main__")
"""
RAY = {
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on Linux too, this is what keeps Ray to the loopback interface
}


@pytest.fixture
def folder(tmp_path):
    write_files(tmp_path / "in", corpus(8, 600), 5)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("seq") is None,
    reason="there is no make",
)
def test_makefile(folder):
    """It is ended in the middle, and goes on."""
    make = [
        "make", "-j2", "-f", EXAMPLES / "Makefile", f"LSHFAST={sys.executable} -m lshfast", "SHARDS=2", "TASKS=1",
        f"INPUT={folder / 'in'}", f"OUTPUT={folder / 'kept'}", f"WORK={folder / 'work'}",
    ]  # fmt: skip
    subprocess.run(
        [*make, f"{folder}/work/group-00000.json"], check=True, capture_output=True
    )
    before = (folder / "work" / "sketch-00000.json").stat().st_mtime_ns
    assert not any((folder / "kept").iterdir())
    done = subprocess.run(make, check=True, capture_output=True, text=True)
    assert "stage sketch" not in done.stdout
    assert "kept + " in done.stdout
    assert (folder / "work" / "sketch-00000.json").stat().st_mtime_ns == before
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]
    again = subprocess.run(make, check=True, capture_output=True, text=True)
    assert again.stdout.count("lshfast") == done.stdout.count("stage status")


# Runs the jobs of an array one after another, and prints a number as that of the job.
SBATCH = """#!{python}
import os, re, subprocess, sys
options = dict(argument[2:].split("=", 1) for argument in sys.argv[2:])
log = {log!r}
with open(log, "a") as file:
    print(options["job-name"], options["array"], options.get("dependency"), file=file)
low, high = options["array"].split("-")
for number in range(int(low), int(high) + 1):
    subprocess.run(options["wrap"], shell=True, check=True, env=os.environ | {{"SLURM_ARRAY_TASK_ID": str(number)}})
print(len(open(log).readlines()))
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_slurm(folder):
    """The script submits the arrays in their order, to an sbatch that runs them at once."""
    (folder / "bin").mkdir()
    programs = {
        "sbatch": SBATCH.format(python=sys.executable, log=str(folder / "log")),
        "lshfast": f'#!/bin/sh\nexec "{sys.executable}" -m lshfast "$@"\n',
    }
    for name, text in programs.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    command = [
        "bash",
        EXAMPLES / "slurm_stages.sh",
        folder / "in",
        folder / "work",
        folder / "kept",
        "2",
        "1",
    ]
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stderr.count("done already") == 11
    lines = (folder / "log").read_text().splitlines()
    assert lines[:4] == [
        "sketch 0-1 None",
        "band 0-1 aftercorr:1",
        "join 0-0 afterok:2",
        "group 0-0 afterok:3",
    ]
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]


@pytest.mark.slow
def test_ray(folder):
    pytest.importorskip("ray.data", reason="Ray is missing: install lshfast[test]")
    script = [sys.executable, "-c", START_RAY, EXAMPLES / "ray_stages.py"]
    arguments = [folder / "in", folder / "work", folder / "kept", "2", "1"]
    with tempfile.TemporaryDirectory(
        prefix="ray"
    ) as place:  # a short name, because Ray makes sockets in it
        own = os.environ | RAY | {"HOME": place, "RAY_TMPDIR": place}
        done = subprocess.run(
            [*script, *arguments], env=own, capture_output=True, text=True, timeout=600
        )
    assert done.returncode == 0, done.stderr
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]
    assert "removed" in done.stdout

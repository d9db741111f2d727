"""The suites that `pytest benchmarks` runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_names_have_the_parameters():
    pytest.importorskip("pytest_benchmark")
    pytest.importorskip("pyarrow")
    command = [sys.executable, "-m", "pytest", "benchmarks", "--collect-only", "-q"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    chosen = re.findall(r"::\w+\[(.+)\]$", done.stdout, re.MULTILINE)
    assert "threads=1" in chosen
    assert [
        parameters
        for parameters in chosen
        if not re.fullmatch(r"(\w+=[\w. ]+-?)+", parameters)
    ] == []

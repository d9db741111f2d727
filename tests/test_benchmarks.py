"""The suites that `pytest benchmarks` runs."""

import os
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


# As docs/understand/records.md names them, and as the script does.
GENERATED_TABLES = {
    "films in two databases": "films",
    "products of two shops": "products",
    "payments": "payments",
    "people with up to six records": "fake people",
    "historical people": "historical people",
    "discs, 3 % have a duplicate": "discs",
}


@pytest.mark.weekly
def test_the_page_of_records_has_the_quality_of_this_version():
    page = (ROOT / "docs" / "understand" / "records.md").read_text("utf-8")
    command = [sys.executable, "benchmarks/linkage.py", "-", "--ids", "--only"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *GENERATED_TABLES.values()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for title, name in GENERATED_TABLES.items():
        written = re.search(
            rf"^\| (?:\*generated:\* )?{re.escape(title)} \|(?:[^|]*\|){{2}} ([\d.]+) \|",
            page,
            re.MULTILINE,
        )
        measured = re.search(
            rf"^{name} +[\d,]+(?: x [\d,]+)? +[\d,]+ +(?:yes)? +([\d.]+)",
            done.stdout,
            re.MULTILINE,
        )
        assert written, name
        assert measured, name
        assert abs(float(written[1]) - float(measured[1])) <= 0.002, name


@pytest.mark.weekly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize(
    "arguments",
    [
        ("kills.py", "--kills", "60", "--ways", "commit", "compact", "save", "records"),
        ("soak.py", "--entries", "5000", "--seconds", "6", "--between", "0.5"),
    ],
    ids=" ".join,
)
def test_kills(arguments, tmp_path):
    """Each ends with status 1 if a state or an answer is wrong."""
    script, *options = arguments
    command = [sys.executable, f"benchmarks/{script}", *options, "--folder", tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search(r"\b0 kills|kills: 0,", done.stdout)

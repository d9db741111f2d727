"""A small share of the fuzzing, the same inputs each time; `python -m tests.fuzz` does more."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.fuzz import files, readers
from tests.fuzz.__main__ import main
from tests.fuzz.programs import ROOT, kernel_names
from tests.fuzz.targets import TARGETS

# Inputs of each target in every run, where it is not FEW.
FEW = 12
INPUTS = {"index-file": 30, "own-files": 150, "parquet-file": 40, "arrow-producer": 300}

# One process for all targets, since to begin takes longer than to try the inputs; a damaged file may end it.
SHARE = """
import sys
from pathlib import Path
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import main
for name in TARGETS:
    folder = Path(sys.argv[1], name)
    folder.mkdir()
    print(name, flush=True)
    inputs = {INPUTS}.get(name, {FEW})
    main([name, "1", "1000", str(inputs), str(folder), "--blind"])
"""


@pytest.mark.slow
def test_a_share_of_inputs(tmp_path):
    code = SHARE.format(INPUTS=INPUTS, FEW=FEW)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    counts = re.findall(r"number_of_executed_units: (\d+)", done.stdout)
    assert [int(count) for count in counts] == [
        INPUTS.get(name, FEW) for name in TARGETS
    ]


@pytest.mark.weekly
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_kernels(tmp_path, capsys):
    arguments = [*kernel_names(), "--seconds", "3", "--keep", str(tmp_path)]
    assert main(arguments) == 0, capsys.readouterr().out


def test_targets_are_known_and_named_once():
    assert not {*TARGETS} & {*kernel_names()}
    with pytest.raises(SystemExit):
        main(["unknown"])


def test_a_finding_is_reported_and_its_input_kept(tmp_path, capsys, monkeypatch):
    """Of a worker that raises: its first input is the first seed."""
    failing = tmp_path / "failing.py"
    failing.write_text(
        "import sys, pathlib\n"
        "pathlib.Path(sys.argv[1], 'input').write_bytes(b'bad')\n"
        "raise SystemExit('a traceback')\n"
    )
    monkeypatch.setattr(
        "tests.fuzz.__main__.command_of",
        lambda name, options, folder: [sys.executable, str(failing), str(folder)],
    )
    assert main(["csv-file", "--keep", str(tmp_path)]) == 1
    assert "1 findings\na traceback" in capsys.readouterr().out
    assert (tmp_path / "csv-file-input").read_bytes() == b"bad"


def test_texts_that_a_reader_loses_are_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "read", lambda path, options: ["a"])
    attempt = readers.reading(".jsonl", readers.texts_of_json)
    attempt(b'\0{"id": "1", "text": "a"}\n', tmp_path)
    with pytest.raises(AssertionError, match="without some of"):
        attempt(b'\0{"id": "1", "text": "b"}\n', tmp_path)


def test_checksums_that_agree_let_damage_through(tmp_path):
    number = [kind.name for kind in files.OWN].index("sets.lsh")
    good = files.OWN[number].valid(tmp_path)[-1]
    path = tmp_path / "sets.lsh"
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    with pytest.raises(ValueError, match="checksum"):
        files.OWN[number].read(path)
    with files.agreeing_checksums():
        files.OWN[number].read(path)
    with pytest.raises(ValueError, match="checksum"):
        files.OWN[number].read(path)

"""Writers of an index that are killed, at each step and at any time, leave the old state or the new one."""

import os
import subprocess
import sys

import pytest

from lshfast import LSHIndex
from lshfast._common import atomic_files
from tests.index.index_files import ROOT, saved
from tests.shares import share_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked"),
]

WARNINGS = [
    "-W",
    "error",
    "-W",
    "ignore:This process:DeprecationWarning",
]  # of forks beside threads


def crash(*arguments):
    """Run crash_index.py; return how often it killed, and how many times the old and the new state were left."""
    done = subprocess.run(
        [sys.executable, *WARNINGS, "-m", "tests.index.crash_index", *map(str, arguments)],
        cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return map(int, done.stdout.split())


@pytest.mark.one_case
@pytest.mark.parametrize("act", ["save", "commit", "compact"])
def test_killed_at_each_step(tmp_path, act):
    killed, old, new, _ = crash("steps", act, tmp_path)
    assert killed == old + new
    assert old >= 20  # steps before the header, or the name, is changed
    assert new >= 2


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("act", "times"), [("save", 60), ("commit", 80), ("compact", 60)]
)
def test_killed_at_any_time(tmp_path, act, times):
    times = share_of(times)
    killed, old, _, _ = crash("kills", act, tmp_path, times)
    assert killed == times
    assert old > 0


@pytest.mark.parametrize("act", ["save", "compact"])
def test_new_files_are_synced_before_they_are_named(tmp_path, monkeypatch, act):
    saved(tmp_path / "index")
    index = LSHIndex.open(tmp_path / "index", "r+")
    index.remove(3)
    calls = []

    def recorded(owner, name):
        real = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *arguments: calls.append(name) or real(*arguments)
        )

    for owner, name in [
        (atomic_files._NamedFile, "write"),
        (os, "fsync"),
        (os, "replace"),
    ]:
        recorded(owner, name)
    index.compact() if act == "compact" else index.save(tmp_path / "other")
    index.store.abandon()
    assert calls == ["write"] * (len(calls) - 3) + ["fsync", "replace", "fsync"]
    assert len(calls) > 3


def test_power_failures(tmp_path):
    """What was not synced is lost in part: sections, directory, and either header."""
    tried, old, new, torn = crash("power", "commit", tmp_path, 150)
    assert tried == 150
    assert min(old, new, torn) > 10

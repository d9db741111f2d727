"""A small share of the campaign of faults; `python -m tests.faults` runs all of it."""

import shutil
import subprocess
import sys

import pytest

from tests.faults.disk import Change, Disk
from tests.faults.preload import run_with_library

needs_library = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="the library is for Linux, and is compiled",
)


def faults(*arguments):
    """Run the campaign; return its lines if nothing went wrong."""
    done = run_with_library(
        "tests.faults",
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.some_cases
@needs_library
@pytest.mark.parametrize(
    "arguments",
    [
        ("index commit", "--kinds", "calls", "--most", "4"),
        *(
            pytest.param(
                (name, "--kinds", "calls", "--most", "25"), marks=pytest.mark.slow
            )
            for name in ("first outputs", "resumed", "index compact")
        ),
        *(
            pytest.param(
                (name, "--kinds", "memory,objects", "--most", "25"),
                marks=pytest.mark.weekly,
            )
            for name in ("first outputs", "resumed")
        ),
    ],
    ids=" ".join,
)
def test_faults(arguments):
    for line in faults(*arguments):
        assert " 0 wrong" in line
        assert " 0 fired" not in line


@pytest.mark.slow
@pytest.mark.some_cases
@needs_library
@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("index save", 20),
        pytest.param("index commit", 300, marks=pytest.mark.slow),
        pytest.param("index compact", 300, marks=pytest.mark.slow),
        pytest.param("first outputs", 300, marks=pytest.mark.slow),
        pytest.param("clusters", 200, marks=pytest.mark.slow),
        pytest.param("resumed", 300, marks=pytest.mark.slow),
    ],
)
def test_states_after_crashes(name, most):
    (line,) = faults("--crashes", name, "--most", str(most))
    assert " 0 wrong" in line
    assert " old" in line
    assert " new" in line


def disk_of(folder, *changes):
    """Return a disk with one old file, and changes."""
    (folder / "a").write_bytes(b"old")
    disk = Disk(folder)
    disk.take(changes)
    return disk


def states_of(disk):
    """Return the contents of each state, in some order."""
    return [tuple(sorted(state.items())) for state in disk.states(1000)]


WRITING = (Change("c", 2, ("b", "")), Change("w", 2, ("b", ""), 0, b"new"))
RENAMING = Change("r", 0, ("b", "a"))


def test_what_is_not_synced_may_be_lost(tmp_path):
    """A file that is renamed before it is synced may be empty; one that is synced is not."""
    hasty = states_of(disk_of(tmp_path, *WRITING, RENAMING))
    assert (("a", b""),) in hasty
    careful = disk_of(tmp_path, *WRITING, Change("s", 2, ("b", "")), RENAMING)
    assert {dict(state)["a"] for state in states_of(careful)} == {b"old", b"new"}


def test_a_synced_folder_keeps_its_names(tmp_path):
    changes = (*WRITING, Change("s", 2, ("b", "")), RENAMING, Change("s", 0, (".", "")))
    disk = disk_of(tmp_path, *changes)
    durable, lost = disk.pending(len(changes))
    assert (durable, lost) == ([0, 1, 3], [])
    assert disk.state(durable) == {"a": b"new"}


def test_all_subsets_and_orders(tmp_path):
    """Of three blocks any may be lost; of two renames to a name either may be the last one."""
    blocks = Change("w", 2, ("b", ""), 0, b"x" * 4096 * 3)
    disk = disk_of(tmp_path, Change("c", 2, ("b", "")), blocks)
    contents = {state.get("b") for state in disk.states(4, unsynced=12)}
    assert len(contents) == 1 + 2**3
    disk = disk_of(
        tmp_path,
        *(Change("c", number, (name, "")) for number, name in ((2, "b"), (3, "c"))),
        *(Change("w", number, ("", ""), 0, b"%d" % number) for number in (2, 3)),
        *(Change("s", number, ("", "")) for number in (2, 3)),
        Change("s", 0, (".", "")),
        *(Change("r", 0, (name, "a")) for name in "bc"),
    )
    both_renamed = [
        state["a"] for state in disk.states(4, unsynced=12) if len(state) == 1
    ]
    assert {b"2", b"3"} <= {*both_renamed}


def test_blocks_of_a_write_are_lost_one_by_one(tmp_path):
    disk = disk_of(tmp_path)
    disk.take([Change("c", 2, ("b", "")), Change("w", 2, ("b", ""), 4000, b"x" * 200)])
    sizes = {len(dict(state).get("b", b"")) for state in states_of(disk)}
    assert sizes == {0, 4096, 4200}


def test_files_of_a_lost_folder_are_lost(tmp_path):
    changes = (Change("m", 0, ("f", "")), Change("c", 2, ("f/b", "")))
    states = states_of(disk_of(tmp_path, *changes))
    assert all("f" in dict(state) for state in states if "f/b" in dict(state))
    assert len(states) == 3

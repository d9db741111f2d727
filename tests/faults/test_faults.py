"""A small share of the campaign of faults; `python -m tests.faults` runs all of it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from tests.faults.campaign import (
    Log,
    faults_of,
    new_lines_first,
    outcome_of,
    reports_of,
)
from tests.faults.disk import Change, Disk
from tests.faults.injection import Bench as InjectionBench
from tests.faults.injection import Fault, Report
from tests.faults.preload import MEMORY, run_with_library

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
        assert " errors" in line


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


PLACE = Fault(MEMORY, "malloc", place=7, number=3, error=12)
CALL = Fault(MEMORY, "malloc", place=0, number=3, error=12)


def test_a_log_is_continued(tmp_path):
    """A place is known by itself, a call by its number; what went wrong is tried again."""
    with closing(Log(tmp_path / "log")) as log:
        log.add("first", PLACE, "errors")
        log.add("first", CALL, "wrong")
    with closing(Log(tmp_path / "log")) as log:
        pass
    assert log.outcome("first", PLACE._replace(number=4)) == "errors"
    assert log.outcome("first", CALL) == "wrong"
    assert log.outcome("second", PLACE) == "wrong"
    assert log.is_done_elsewhere("second", MEMORY, 7)
    assert not log.is_done_elsewhere("first", MEMORY, 7)
    assert not log.is_done_elsewhere("second", MEMORY, 8)


@pytest.mark.parametrize(("once", "count"), [(False, 2), (True, 3)])
def test_places_are_tried_first(once, count):
    """Of each place the first call; with `once`, each place that is not done elsewhere."""
    options = SimpleNamespace(most=2, seed=0, once=once)
    calls = [(place, place // 2, "malloc") for place in (7, 8, 7, 9, 6)]
    faults = faults_of(calls, MEMORY, options, lambda place: place == 6)
    assert len(faults) == count
    numbers = {fault.place: fault.number for fault in faults}
    assert numbers.items() <= {7: 1, 8: 2, 9: 4, 6: 5}.items()


def test_other_lines_are_tried_first():
    """Places 8 and 9 have the same innermost lines, and so have 6 and 7, which was tried."""
    calls = [(place, place // 2, "malloc") for place in (7, 8, 9, 6)]
    faults = [PLACE._replace(place=place) for place in (6, 8, 9)]
    ordered = new_lines_first(faults, calls, [PLACE._replace(place=7)])
    assert [fault.place for fault in ordered] == [8, 6, 9]


class Bench:
    """Instead of a process: faults are wrong if they are listed, or leave the process in a bad state."""

    def __init__(self, wrong=(), bad=(), ending=(), late=()):
        self.wrong = wrong
        self.bad = bad
        self.ending = ending
        self.late = [*late]  # how often the process takes too long
        self.sizes = []

    def tried(self, faults):
        self.sizes.append(len(faults))
        if self.late:
            ended = f"ended by signal {self.late.pop()} after 20 s:\n"
            return [Report([ended], True, False)], []
        reports = []
        for fault in faults:
            is_wrong = fault.place in (*self.wrong, *self.ending)
            reports.append(Report(["wrong"] * is_wrong, True, False))
            if fault.place in self.ending:
                return reports, []
        is_bad = any(fault.place in self.bad for fault in faults)
        return reports, ["afterwards"] * is_bad


@pytest.mark.parametrize("kind", ["wrong", "bad", "ending"])
def test_a_fault_of_several_in_a_process_is_found(kind):
    """All of its process are tried again alone; other processes are not."""
    faults = [PLACE._replace(place=place) for place in range(1, 9)]
    bench = Bench(**{kind: [6]})
    reports = [*reports_of(bench, faults, 4)]
    assert [fault for fault, _ in reports] == faults
    assert [fault.place for fault, report in reports if report.faults] == [6]
    assert bench.sizes[0] == 4
    assert bench.sizes.count(1) == (2 if kind == "ending" else 4)


@pytest.mark.parametrize(
    ("signals", "tries", "outcome"),
    [([14], 2, "errors"), ([14, 14], 2, "wrong"), ([11], 1, "wrong")],
)
def test_a_process_that_takes_too_long_is_tried_again(signals, tries, outcome):
    bench = Bench(late=signals)
    ((_, report),) = reports_of(bench, [PLACE], 1)
    assert bench.sizes == [1] * tries
    assert outcome_of(report) == outcome


def test_faults_of_a_process_that_takes_too_long_are_tried_alone():
    bench = Bench(late=[14])
    faults = [PLACE._replace(place=place) for place in range(1, 5)]
    reports = [*reports_of(bench, faults, 4)]
    assert bench.sizes == [4, 1, 3]
    assert [fault for fault, _ in reports] == faults
    assert {outcome_of(report) for _, report in reports} == {"errors"}


@needs_library
def test_a_process_that_is_ended_within_an_answer(tmp_path, monkeypatch):
    def half_written(file, line):
        real_write(file, line[: len(line) // 2])
        os.kill(os.getpid(), signal.SIGALRM)

    bench = InjectionBench.__new__(InjectionBench)
    bench.base = tmp_path
    assert bench.forked(iter([[1], [2]])) == ([[1], [2]], None)
    real_write = os.write
    monkeypatch.setattr("os.write", half_written)
    answers, ended = bench.forked(iter([[1]]))
    assert answers == []
    assert re.match("ended by signal 14 after [0-9]+ s:\n", ended)


@pytest.mark.parametrize(
    ("libraries", "outcome"),
    [
        ("/lib/libpython3.11.so /x/site-packages/numpy/a.so", "numpy ends the process"),
        (
            "/lib/libpython3.11.so /lshfast/kernels/a.so /site-packages/numpy/a.so",
            "wrong",
        ),
        ("/lshfast/kernels/a.so", "wrong"),
        ("/lib/libpython3.11.so", "Python ends the process"),
    ],
)
def test_which_package_ended_a_process(libraries, outcome):
    report = Report([f"ended by signal 11:\nin {libraries}\n"], True, False)
    assert outcome_of(report) == outcome


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

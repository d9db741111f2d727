"""Let calls of a scenario fail, one after another, and look at what is left.

A process that has run the scenario forks. The child has some faults, each in a folder as it was, and checks after each
that there was one clear error or success, that the outputs are the old or the new ones, and that no file, descriptor or
thread is left. After the last one it does the same work again, without a fault.
"""

import faulthandler
import gc
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import NamedTuple

from tests.faults.scenarios import Failed

SECONDS = 20  # after which a run hangs
HANGS = "ended by signal 14 "  # SIGALRM, which Windows does not have
TEMPORARY = "temporary"
MOST_LINES = 8  # of a traceback


class Fault(NamedTuple):
    """A call that fails: the first at a place, which is expected at a number, or that of a number; `lasting`: and all
    later ones.
    """

    kind: int
    name: str
    place: int
    number: int
    error: int
    lasting: bool = False


class Report(NamedTuple):
    """What came of a fault: what is wrong, if anything; whether it ended in success; if something is wrong, the
    function that failed and its traceback.
    """

    faults: list
    fired: bool
    success: bool
    where: str = ""


def snapshot(folder, reading=None):
    """Return the contents of all files below a folder, by their paths; None for a folder."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == TEMPORARY:
            continue
        if path.is_dir():
            contents[name] = None
        else:
            read = (reading or {}).get(name, Path.read_bytes)
            contents[name] = read(path)
    return contents


def descriptors():
    """Return the open files of this process, by number."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # that of the folder itself
            continue
    return found


def left_open(before):
    """Return what is wrong with the open files and the threads of this process."""
    gc.collect()
    faults = []
    left = {
        number: name for number, name in descriptors().items() if number not in before
    }
    if left:
        faults.append(f"files are open: {left}")
    if threading.active_count() > 1:
        faults.append(f"threads are left: {threading.enumerate()}")
    return faults


def ours(text):
    """Return the lines of the library of a traceback, and what was called."""
    lines = text.splitlines()
    kept = [
        line.strip()
        for line in lines[1:]
        if "/lshfast/" in line and "/tests/" not in line and "File" in line
    ]
    return "\n".join(
        lines[:1] + [line.partition("/lshfast/")[2] for line in kept[:MOST_LINES]]
    )


def remembered(read):
    """Return a function that reads files of equal bytes once."""
    contents = {}

    def read_once(path):
        data = path.read_bytes()
        if data not in contents:
            contents[data] = read(path)
        return contents[data]

    return read_once


def wait_for_signal():
    """End this process if it does not call this again in time; say first where it hangs."""
    faulthandler.dump_traceback_later(SECONDS - 5, file=2)
    signal.alarm(SECONDS)


class Bench:
    """A scenario with its folder as it is before and after, in a process that has run it."""

    def __init__(self, scenario, folder, library):
        self.scenario = scenario
        self.library = library
        self.base = folder
        self.first = folder / "first"
        self.work = folder / "work"
        self.where = folder / "where"
        self.reading = {
            name: remembered(read) for name, read in (scenario.reading or {}).items()
        }
        self.first.mkdir()
        scenario.prepare(self.first)
        # What is imported late or kept, and instructions that Python makes special ones of after some runs.
        for _ in range(8):
            self.reset()
            scenario.run(self.work)
        self.old = snapshot(self.first, self.reading)
        self.new = snapshot(self.work, self.reading)
        gc.collect()
        gc.freeze()  # the children do not look at it, which would copy all of it

    def reset(self):
        """Lay the folder as it was before the work."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.first, self.work)
        (self.work / TEMPORARY).mkdir()
        tempfile.tempdir = str(self.work / TEMPORARY)

    def forked(self, answers):
        """Run a generator in a child; return what it yielded, and how the child ended if it did not finish."""
        output = self.base / "output"
        reading, writing = os.pipe()
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._child(answers, writing, output)
        os.close(writing)
        with open(reading, "rb") as file:
            # The last answer may be cut where the child ended.
            yielded = [json.loads(line) for line in file if line.endswith(b"\n")]
        status = os.waitpid(pid, 0)[1]
        if status == 0:
            return yielded, None
        signal_number = os.WTERMSIG(status)
        cause = (
            f"signal {signal_number}"
            if signal_number
            else f"exit status {os.WEXITSTATUS(status)}"
        )
        seconds = time.monotonic() - began
        printed = output.read_text(errors="replace")
        return yielded, f"ended by {cause} after {seconds:.0f} s:\n{printed}"

    def _child(self, answers, writing, output):
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, 2)
        os.close(file)
        sys.stderr = io.TextIOWrapper(
            io.FileIO(2, "w", closefd=False), write_through=True
        )
        status = 1
        try:
            wait_for_signal()
            for answer in answers:
                line = json.dumps(answer).encode() + b"\n"
                while line:
                    line = line[os.write(writing, line) :]
                wait_for_signal()
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)

    def places(self, kind):
        """Return the place, the innermost lines and the name of each call of the scenario."""

        def noted():
            self.reset()
            notes = self.library.note(kind)
            try:
                self.scenario.run(self.work)
            finally:
                calls = self.library.noted(notes)
            yield calls

        calls, ended = self.forked(noted())
        if ended:
            raise RuntimeError(f"the scenario was {ended}")
        return calls[0]

    def tried(self, faults):
        """Try faults in a child; return reports, and what is wrong after the last of them.

        If a fault ends the child, its report is the last one.
        """
        self.where.write_text("")
        answers, ended = self.forked(self._with_faults(faults))
        reports = [Report(*answer) for answer in answers[: len(faults)]]
        if len(reports) < len(faults):
            reports.append(Report([ended], True, False, self._where()))
            return reports, []
        return reports, [ended] if ended else answers[len(faults)]

    def _where(self):
        return self.where.read_text(errors="replace")

    def _with_faults(self, faults):
        """Yield the fields of a report for each fault; then what is wrong when the work is done again."""
        where = os.open(self.where, os.O_WRONLY | os.O_APPEND)
        for fault in faults:
            self.reset()
            os.ftruncate(where, 0)
            yield self._with_fault(fault, where)
        before = descriptors()
        yield self._again() + left_open(before)

    def _with_fault(self, fault, where):
        before = descriptors()
        error = None
        self.library.arm(fault, where)
        try:
            self.scenario.run(self.work)
        except Exception as raised:
            error = raised
        finally:
            fired = self.library.stop()
        faults = []
        if error is not None:
            faults += self._faults_of(error)
            traceback.clear_frames(error.__traceback__)
        success = error is None
        del error
        faults += left_open(before)
        faults += self._states(success)
        return faults, fired, success, self._where() if faults else ""

    def _faults_of(self, error):
        """Return what a user does not understand in an error."""
        faults = []
        if isinstance(error, Failed):
            lines = error.text.splitlines()
            errors = [line for line in lines if line.startswith("lshfast: error: ")]
            if len(errors) != 1 or not all(
                line.startswith("lshfast: ") for line in lines
            ):
                faults.append(f"not one line of error: {error.text!r}")
            if error.status not in (1, 2):
                faults.append(f"exit status {error.status}: {error.text!r}")
        elif not isinstance(error, (OSError, MemoryError)) or (
            isinstance(error, OSError) and not str(error)
        ):
            faults.append("".join(traceback.format_exception(error)))
        return faults

    def _states(self, success):
        """Return what is wrong with the files: each is the old or the new one, all are new after a success."""
        faults = []
        found = snapshot(self.work, self.reading)
        for name in sorted({*found, *self.old, *self.new}):
            folder = name.split("/")[0]
            is_left = not success and folder in self.scenario.left
            if is_left or folder in self.scenario.ignored:
                continue
            content = found.get(name, "absent")
            allowed = [self.new.get(name, "absent")]
            if not success:
                allowed.append(self.old.get(name, "absent"))
            if content not in allowed:
                state = (
                    "left"
                    if len(allowed) == 2 and allowed == ["absent"] * 2
                    else "wrong"
                )
                faults.append(
                    f"{name} is {state} after {'success' if success else 'an error'}"
                )
        temporary = self.work / TEMPORARY
        if any(temporary.iterdir()):
            faults.append(f"temporary files are left: {os.listdir(temporary)}")
        return faults

    def _again(self):
        """Do the work once more in this process; return what is wrong."""
        try:
            (self.scenario.again or self.scenario.run)(self.work)
        except Exception as error:
            return ["not again: " + "".join(traceback.format_exception(error))]
        if not self.scenario.repeatable:
            return []
        found = snapshot(self.work, self.reading)
        wrong = [
            name
            for name in {*found, *self.new}
            if found.get(name, "absent") != self.new.get(name, "absent")
        ]
        wrong = [
            name for name in wrong if name.split("/")[0] not in self.scenario.ignored
        ]
        return [
            f"after another run: {name} differs: {difference(self.new.get(name), found.get(name))}"
            for name in sorted(wrong)
        ]


def difference(old, new):
    """Return where two contents begin to differ."""
    if not isinstance(old, bytes) or not isinstance(new, bytes):
        return f"{old!r:.80} {new!r:.80}"
    at = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0
    )
    return f"{old[max(at - 20, 0) : at + 60]} {new[max(at - 20, 0) : at + 60]}"

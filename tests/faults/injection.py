"""Let each place of a scenario fail once, in a process of its own, and look at what is left.

A process that has run the scenario forks for each fault. The child has the fault, and checks itself: that
there was one clear error or success, that the outputs are the old or the new ones, that no file,
descriptor or thread is left, and that it can do the same work again, without the fault.
"""

import faulthandler
import gc
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import traceback
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.faults.preload import CALLS, MEMORY, OBJECTS, errors_of
from tests.faults.scenarios import Failed

KINDS = {"calls": CALLS, "memory": MEMORY, "objects": OBJECTS}
SECONDS = 40  # after which a run hangs
TEMPORARY = "temporary"
MOST_LINES = 8  # of a traceback


# What others' code does if memory is refused, by what is printed then. The page names these.
FOREIGN = {
    "numpy fails without a reason": (
        "SystemError: ((error return|.*returned NULL) without .*exception"
        "|NULL object passed to Py_BuildValue)"
    ),
    "numpy returns a result with an error": (
        "SystemError: .*numpy.* returned a result with an exception set"
    ),
    "Python fails with another error": (
        "RuntimeError: can't allocate (read )?lock"
        r"|TypeError: expected str, bytes or os.PathLike object, not \w*Path"
    ),
    "Arrow ends the process": "after throwing an instance of 'std::bad_alloc'",
    "Python waits for a thread that could not begin": (
        r'ended by signal 14(.*\n){4,5}.*threading.py", line \d+ in start\n'
    ),
}


class Fault(NamedTuple):
    """A call that fails: the first at a place, or the one of a number; `lasting`: and all later ones."""

    kind: int
    name: str
    place: int
    number: int
    error: int
    lasting: bool = False


class Report(NamedTuple):
    """What came of a fault: what is wrong, if anything; whether it ended in success; and the message."""

    faults: list
    fired: bool
    success: bool
    message: str
    where: str


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


def ours(text):
    """Return the lines of the library of a traceback, and what was called."""
    lines = text.splitlines()
    kept = [
        line.strip()
        for line in lines[1:]
        if "/lshfast/" in line and "/tests/" not in line
    ]
    return "\n".join(
        lines[:1] + [line.partition("/lshfast/")[2] for line in kept[:MOST_LINES]]
    )


class Bench:
    """A scenario with its folder as it is before and after, in a process that has run it."""

    def __init__(self, scenario, folder, library):
        self.scenario = scenario
        self.library = library
        self.base = folder
        self.first = folder / "first"
        self.work = folder / "work"
        self.first.mkdir()
        scenario.prepare(self.first)
        for _ in range(2):  # what is imported late, and what is kept
            self.reset()
            scenario.run(self.work)
        self.old = snapshot(self.first, scenario.reading)
        self.new = snapshot(self.work, scenario.reading)
        gc.collect()
        gc.freeze()  # the children do not look at it, which would copy all of it

    def reset(self):
        """Lay the folder as it was before the work."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.first, self.work)
        (self.work / TEMPORARY).mkdir()
        tempfile.tempdir = str(self.work / TEMPORARY)

    def forked(self, act):
        """Return what a function returns in a child, or the signal that ended it, and what it printed."""
        self.reset()
        output = self.base / "output"
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._child(act, writing, output)
        os.close(writing)
        with open(reading, "rb") as file:
            answer = file.read()
        status = os.waitpid(pid, 0)[1]
        text = output.read_text(errors="replace")
        if answer:
            return json.loads(answer), text
        return os.WTERMSIG(status) or f"exit status {os.WEXITSTATUS(status)}", text

    def _child(self, act, writing, output):
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, 2)
        os.close(file)
        sys.stderr = io.TextIOWrapper(
            io.FileIO(2, "w", closefd=False), write_through=True
        )
        faulthandler.dump_traceback_later(SECONDS - 5, file=sys.__stderr__.fileno())
        signal.alarm(SECONDS)
        try:
            answer = json.dumps(act()).encode()
            while answer:
                answer = answer[os.write(writing, answer) :]
        except BaseException:
            traceback.print_exc()
        os._exit(0)

    def places(self, kind):
        """Return the place and the name of each call of the scenario."""

        def act():
            notes = self.library.note(kind)
            try:
                self.scenario.run(self.work)
            finally:
                calls = self.library.noted(notes)
            return calls

        calls, text = self.forked(act)
        if not isinstance(calls, list):
            raise RuntimeError(f"the scenario ended with {calls}:\n{text}")
        return calls

    def tried(self, fault):
        """Run the scenario with a fault in a child, and return a report."""
        where = self.base / "where"
        where.write_text("")
        answer, text = self.forked(lambda: self._with_fault(fault, where))
        place = ours(where.read_text(errors="replace"))
        if isinstance(answer, list):
            faults, fired, success, message = answer
            return Report(faults, fired, success, message, place)
        ended = f"ended by signal {answer}" if isinstance(answer, int) else answer
        return Report([f"{ended}:\n{text}"], True, False, "", place)

    def _with_fault(self, fault, where):
        place = os.open(where, os.O_WRONLY | os.O_APPEND)
        before = descriptors()
        error = None
        self.library.arm(fault, place)
        try:
            self.scenario.run(self.work)
        except Exception as raised:
            error = raised
        finally:
            fired = self.library.stop()
        faults = []
        message = ""
        if error is not None:
            message = self._message(error, faults)
            traceback.clear_frames(error.__traceback__)
        success = error is None
        del error
        gc.collect()
        left = {
            number: name
            for number, name in descriptors().items()
            if number not in before
        }
        if left:
            faults.append(f"files are open: {left}")
        if threading.active_count() > 1:
            faults.append(f"threads are left: {threading.enumerate()}")
        faults += self._states(success)
        faults += self._again()
        os.close(place)
        return faults, fired, success, message

    def _message(self, error, faults):
        """Return the message of an error; add to the faults if it is none that a user understands."""
        if isinstance(error, Failed):
            lines = error.text.splitlines()
            errors = [line for line in lines if line.startswith("lshfast: error: ")]
            if len(errors) != 1 or not all(
                line.startswith("lshfast: ") for line in lines
            ):
                faults.append(f"not one line of error: {error.text!r}")
            if error.status not in (1, 2):
                faults.append(f"exit status {error.status}: {error.text!r}")
            return error.text
        if not isinstance(error, (OSError, MemoryError)) or (
            isinstance(error, OSError) and not str(error)
        ):
            faults.append("".join(traceback.format_exception(error)))
        return f"{type(error).__name__}: {error}"

    def _states(self, success):
        """Return what is wrong with the files: each is the old or the new one, all are new after a success."""
        faults = []
        found = snapshot(self.work, self.scenario.reading)
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
        found = snapshot(self.work, self.scenario.reading)
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


def foreign_fault(report):
    """Return what the code of others did, if that alone is wrong."""
    if len(report.faults) != 1:
        return None
    for name, pattern in FOREIGN.items():
        if re.search(pattern, report.faults[0]):
            return name
    return None


def faults_of(calls, kind, most, seed=0):
    """Return the faults to try: each place with each of its errors, then calls by their numbers.

    If there are more than `most`, some of both are drawn.
    """
    chance = random.Random(seed)
    first_calls = dict(calls)
    by_place = []
    for place, name in first_calls.items():
        for error in errors_of(name):
            by_place.append(Fault(kind, name, place, 0, error))
    if kind == CALLS:  # a disk that stays full
        by_place += [
            Fault(kind, name, place, 0, errors_of(name)[0], lasting=True)
            for place, name in first_calls.items()
        ]
    chance.shuffle(by_place)
    by_place = by_place[:most]
    numbers = chance.sample(
        range(1, len(calls) + 1), min(len(calls), max(0, most - len(by_place)))
    )
    by_number = []
    for number in numbers:
        name = calls[number - 1][1]
        by_number.append(Fault(kind, name, 0, number, chance.choice(errors_of(name))))
    return by_place, by_number


def campaign(scenario, library, kind_name, folder, options):
    """Try the faults of a kind; return the counts, and the reports of those that went wrong."""
    kind = KINDS[kind_name]
    if kind == OBJECTS:
        library.hook_objects()
    bench = Bench(scenario, folder, library)
    calls = bench.places(kind)
    by_place, by_number = faults_of(calls, kind, options.most, options.seed)
    counts = Counter(calls=len(calls), places=len(dict(calls)))
    wrong = []
    for fault in [*by_place, *by_number]:
        report = bench.tried(fault)
        counts["tried"] += 1
        counts["fired"] += report.fired
        counts["success"] += report.fired and report.success
        counts["errors"] += report.fired and not report.success
        foreign = foreign_fault(report) if kind != CALLS else None
        if foreign:
            counts[foreign] += 1
        elif report.faults:
            wrong.append((fault, report))
    counts["wrong"] = len(wrong)
    return counts, wrong

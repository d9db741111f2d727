"""The faults of a scenario: which are tried, in which processes, and what came of them.

Faults of calls have a process each. Those of memory share one: each starts with the folder as it was, so that the next
one shows whether the process can go on. If something is wrong, all faults of the process are tried again alone.
"""

import json
import random
import re
from collections import Counter
from pathlib import Path

from tests.faults.injection import HANGS, Bench, Fault
from tests.faults.preload import CALLS, MEMORY, OBJECTS, errors_of

KINDS = {"calls": CALLS, "memory": MEMORY, "objects": OBJECTS}
NOT_REACHED = "not reached"
FAULTS_OF_PROCESS = {"calls": 1, "memory": 25, "objects": 25}

# What others' code does if memory is refused, by what is printed then. The page names these.
FOREIGN = {
    "numpy fails without a reason": (
        "SystemError: ((error return|.*returned NULL) without .*exception"
        "|NULL object passed to Py_BuildValue)"
    ),
    "a function of C returns a result with an error": (
        "SystemError: (?!.*lshfast).* returned a result with an exception set"
    ),
    "Python fails with another error": (
        "RuntimeError: can't allocate (read )?lock"
        r"|TypeError: .*os.PathLike.*, not \w*Path"
    ),
    "Python keeps the arguments of a function that cannot begin": (
        r"files are open: .*\n\w+\nStack .*\n.*, line \?\?\? in "
    ),
    "Cython lets go of a buffer that it views": (
        "SystemError: deallocated bytearray object has exported buffers"
    ),
    "the client of Redis fails with another error": (
        r"redis/_parsers/socket\.py(.*\n)+ValueError: I/O operation on closed file"
    ),
    "pyarrow ends the process": (
        "after throwing an instance of '(std::bad_alloc|arrow::stl::BadAlloc)'"
    ),
    "pyarrow waits for its threads": (
        HANGS + r".*\n.*\n.*\n.*/pyarrow/.* in write_table\n"
    ),
    "the C library ends the process": (
        "cannot allocate memory for thread-local data: ABORT"
        "|Fatal glibc error: .*out of memory"
    ),
    "Python waits for a thread that could not begin": (
        HANGS + r'(.*\n){4,5}.*threading.py", line \d+ in start\n'
    ),
}


def faults_of(calls, kind, options, is_done):
    """Return the faults to try: each place with each of its errors, then calls by their numbers.

    If there are more than `options.most`, some of both are drawn; with `options.once`, each place that is not done in
    another scenario.
    """
    chance = random.Random(options.seed)
    first_calls = {}
    for number, (place, _, name) in enumerate(calls, 1):
        if not (options.once and is_done(place)):
            first_calls.setdefault(place, (number, name))
    by_place = []
    for place, (number, name) in first_calls.items():
        for error in errors_of(name):
            by_place.append(Fault(kind, name, place, number, error))
    if kind == CALLS:  # a disk that stays full
        by_place += [
            Fault(kind, name, place, number, errors_of(name)[0], lasting=True)
            for place, (number, name) in first_calls.items()
        ]
    chance.shuffle(by_place)
    if not options.once:
        by_place = by_place[: options.most]
    sample_size = min(len(calls), max(0, options.most - len(by_place)))
    numbers = chance.sample(range(1, len(calls) + 1), sample_size)
    by_number = []
    for number in numbers:
        name = calls[number - 1][-1]
        by_number.append(Fault(kind, name, 0, number, chance.choice(errors_of(name))))
    return by_place + by_number


def new_lines_first(faults, calls, tried):
    """Return faults in another order: first those with innermost lines that no other fault has."""
    nearest = {place: lines for place, lines, _ in calls}
    seen = {nearest.get(fault.place) for fault in tried}
    first = []
    others = []
    for fault in faults:
        lines = nearest.get(fault.place)
        (others if lines in seen else first).append(fault)
        seen.add(lines)
    return first + others


def identity(fault):
    """Return a fault without the number at which its place is expected, which differs from run to run."""
    return fault._replace(number=0) if fault.place else fault


class Log:
    """What came of each fault, in a file if there is a path: what it holds is not tried again, unless it was wrong."""

    def __init__(self, path=None):
        self._outcomes = {}
        self._scenarios = {}  # by kinds and places
        self._file = None
        if path is not None:
            self._file = open(path, "a+")  # noqa: SIM115
            self._file.seek(0)
            for line in self._file:
                scenario, fault, outcome = json.loads(line)
                self._take(scenario, Fault(*fault), outcome)

    def outcome(self, scenario, fault):
        return self._outcomes.get((scenario, identity(fault)), "wrong")

    def is_done_elsewhere(self, scenario, kind, place):
        """Return whether another scenario has tried a place, and this one has not."""
        scenarios = self._scenarios.get((kind, place), {scenario})
        return scenario not in scenarios

    def _take(self, scenario, fault, outcome):
        self._outcomes[scenario, identity(fault)] = outcome
        if outcome not in ("wrong", NOT_REACHED):
            place = (fault.kind, fault.place)
            self._scenarios.setdefault(place, set()).add(scenario)

    def close(self):
        if self._file is not None:
            self._file.close()

    def add(self, scenario, fault, outcome):
        self._take(scenario, fault, outcome)
        if self._file is not None:
            self._file.write(json.dumps([scenario, fault, outcome]) + "\n")
            self._file.flush()


def outcome_of(report):
    """Return the word for a report by which it is counted."""
    if report.faults:
        return foreign_fault(report) or "wrong"
    if not report.fired:
        return NOT_REACHED
    return "success" if report.success else "errors"


def foreign_fault(report):
    """Return what the code of others did, if that alone is wrong."""
    if len(report.faults) != 1:
        return None
    text = f"{report.faults[0]}\n{report.where}"
    if report.faults[0].startswith("ended by signal"):
        package = package_of(text)
        if package is not None:
            return f"{package} ends the process"
    for name, pattern in FOREIGN.items():
        if re.search(pattern, text):
            return name
    return None


def package_of(text):
    """Return the package of others whose code is innermost where the process ended, or else where the call failed.

    It is Python if there are only its own functions.
    """
    libraries_of_calls = re.findall("^in (/.*)$", text, re.MULTILINE)
    for libraries in libraries_of_calls:
        for library in libraries.split():
            if "/lshfast/kernels/" in library:
                return None
            package = re.search(r"/site-packages/(\w+)", library)
            if package:
                return package[1]
    return "Python" if libraries_of_calls else None


def hangs(report, afterwards):
    """Return whether a process was ended since it took too long, as it may on a busy machine."""
    late = any(fault.startswith(HANGS) for fault in [*report.faults, *afterwards])
    return late and foreign_fault(report) is None


def reports_of(bench, faults, most):
    """Yield each fault with its report; up to `most` faults share a process.

    A process that takes too long and has one fault is tried twice.
    """
    while faults:
        batch = faults[:most]
        reports, afterwards = bench.tried(batch)
        if most == 1 and hangs(reports[0], afterwards):
            reports, afterwards = bench.tried(batch)
        batch = batch[: len(reports)]  # all, unless one ended the process
        faults = faults[len(batch) :]
        if most == 1:
            reports[0].faults.extend(afterwards)
            afterwards = []
        outcomes = {outcome_of(report) for report in reports}
        if most > 1 and (afterwards or "wrong" in outcomes):
            yield from reports_alone(bench, batch, reports, afterwards)
        else:
            for fault, report in zip(batch, reports, strict=True):
                if most > 1 and fault.place and not report.fired:
                    yield from reports_of(bench, [fault._replace(number=0)], 1)
                else:
                    yield fault, report


def reports_alone(bench, batch, reports, afterwards):
    """Try each fault of a process in one of its own; yield what was wrong before if nothing is then.

    A process that took too long is no finding, if none takes too long alone.
    """
    alone = [*reports_of(bench, batch, 1)]
    is_sound = not any(outcome_of(report) == "wrong" for _, report in alone)
    if is_sound and not hangs(reports[-1], afterwards):
        reports[-1].faults.extend(afterwards)
        alone = zip(batch, reports, strict=True)
    yield from alone


def campaign(name, scenario, library, kind_name, folder, options, log):
    """Try the faults of a kind; return the counts, and the reports of those that went wrong."""
    kind = KINDS[kind_name]
    if kind == OBJECTS:
        library.hook_objects()
    bench = Bench(scenario, Path(folder), library)
    calls = bench.places(kind)
    faults = faults_of(
        calls,
        kind,
        options,
        lambda place: log.is_done_elsewhere(name, kind, place),
    )
    untried = [fault for fault in faults if log.outcome(name, fault) == "wrong"]
    untried = new_lines_first(untried, calls, set(faults) - set(untried))
    wrong = []
    for fault, report in reports_of(bench, untried, FAULTS_OF_PROCESS[kind_name]):
        outcome = outcome_of(report)
        log.add(name, fault, outcome)
        if outcome == "wrong":
            wrong.append((fault, report))
    places = {place for place, _, _ in calls}
    counts = Counter(calls=len(calls), places=len(places), tried=len(faults))
    counts.update(log.outcome(name, fault) for fault in faults)
    counts["wrong"] += 0
    return counts, wrong

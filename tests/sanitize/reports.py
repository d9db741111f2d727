"""A plugin of pytest for modules.sh: a report of a sanitizer fails the test that was running.

Processes write reports to files. Those that a test starts have names of files of their own, so that a report belongs to
the test even if several run at a time. A line for each file of tests sums up at the end.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

OF_PROCESS = Path(
    os.environ.get("SANITIZER_REPORTS", os.devnull)
)  # collected without it, it does nothing
IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
OF_CHILDREN = OF_PROCESS.with_name(os.environ.get("PYTEST_XDIST_WORKER", "main"))
OUTCOMES = {
    "passed": "passed",
    "failed": "failed",
    "error": "with errors",
    "skipped": "skipped",
}


def pytest_configure():
    """Let processes that tests start write their reports to files with the name of this worker."""
    if IS_WORKER:
        os.environ["SANITIZER_REPORTS"] = str(OF_CHILDREN)
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            os.environ[name] += f":log_path={OF_CHILDREN}"


def new_reports(*patterns):
    """Return the reports in files with such names, and empty the files. That memory was refused is no report."""
    paths = [path for pattern in patterns for path in OF_PROCESS.parent.glob(pattern)]
    text = "".join(path.read_text(errors="replace") for path in paths)
    for path in paths:
        os.truncate(path, 0)  # later reports of a process follow after a hole
    lines = text.replace("\0", "").splitlines(keepends=True)
    return "".join(
        line
        for line in lines
        if "WARNING: AddressSanitizer failed to allocate" not in line
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown():
    result = yield
    process = f"{OF_PROCESS.name}*.{os.getpid()}"
    text = new_reports(process, f"{OF_CHILDREN.name}.*", f"{OF_CHILDREN.name}-*")
    if text:
        pytest.fail(f"a sanitizer reported:\n{text}", pytrace=False)
    return result


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """Print what processes reported that did not survive it, and a line for each file of tests."""
    if IS_WORKER:
        return
    lost = new_reports("*")
    if lost:
        terminalreporter.section("reports of processes that ended")
        terminalreporter.write_line(lost)
    counts = {}
    for outcome in OUTCOMES:
        for report in terminalreporter.stats.get(outcome, []):
            counts.setdefault(report.nodeid.partition("::")[0], Counter())[outcome] += 1
    terminalreporter.section("sanitizers, by file")
    for file, of_file in sorted(counts.items()):
        described = ", ".join(
            f"{of_file[outcome]} {name}"
            for outcome, name in OUTCOMES.items()
            if of_file[outcome]
        )
        sound = not of_file["failed"] and not of_file["error"]
        terminalreporter.write_line(
            f"{file}: {'silent' if sound else 'NOT SILENT'}, {described}"
        )

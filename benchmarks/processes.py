"""The processes that a process has started, and what they all take; where and of which code a run is."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

# Seconds between two looks at the processes.
INTERVAL = 0.1


class Process(NamedTuple):
    """A process: its command, processor seconds with those of children that have ended, and resident bytes."""

    command: str
    seconds: float
    nbytes: int


def processes_below(pid: int) -> dict[int, Process]:
    """Return the children of a process, and their children, by number."""
    children: dict[int, list[int]] = {}
    processes = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                fields = (
                    Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
                )
                command = (
                    Path("/proc", name, "cmdline")
                    .read_bytes()
                    .decode("utf-8", "replace")
                )
                children.setdefault(int(fields[1]), []).append(int(name))
                processes[int(name)] = Process(
                    command.replace("\0", " "),
                    sum(map(int, fields[11:15])) / TICKS,
                    int(fields[21]) * PAGE_BYTES,
                )
    below = {}
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            below[child] = processes[child]
            waiting.append(child)
    return below


def seconds_of_all() -> float:
    """Return the processor seconds of this process and of all below it."""
    below = processes_below(os.getpid()).values()
    return time.process_time() + sum(process.seconds for process in below)


class Taken(NamedTuple):
    """What a command took: its status, processor seconds, and the most resident bytes of its processes."""

    status: int
    seconds: float
    nbytes: int


def measured(command: Sequence[str]) -> Taken:
    """Run a command, and return what it and the processes that it starts took.

    Processes that their parent does not wait for, as Java, are seen until INTERVAL before their end.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    has_ended = threading.Event()
    seconds = 0.0
    nbytes = 0

    def watch() -> None:
        nonlocal seconds, nbytes
        while not has_ended.wait(INTERVAL):
            below = processes_below(os.getpid())
            ours = (
                [below[process.pid], *processes_below(process.pid).values()]
                if process.pid in below
                else []
            )
            seconds = max(seconds, sum(one.seconds for one in ours))
            nbytes = max(nbytes, sum(one.nbytes for one in ours))

    thread = threading.Thread(target=watch)
    thread.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    has_ended.set()
    thread.join()
    waited_seconds = usage.ru_utime + usage.ru_stime
    return Taken(process.returncode, max(seconds, waited_seconds), nbytes)


def described_run() -> str:
    """Return the date, the commit of this repository and the machine, for the head of a result."""
    command = [
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    commit = done.stdout.strip() or "unknown"
    machine = f"{platform.machine()}, {os.cpu_count()} CPUs"
    python = platform.python_version()
    return f"{datetime.date.today()}, commit {commit}, {machine}, Python {python}"

"""Python threads over kernels that hold no GIL: how many, the pieces of their work, and an ordered map over these."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast.kernels import guards

if TYPE_CHECKING:
    from concurrent.futures import Future

# Enough that the workers have something to do while the calling thread reads its next batch of several items.
AHEAD = 12

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(threads: int | None) -> int:
    """Return the number of threads to use: the CPUs this process may run on where `threads` is None."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(f"threads must be an int or None, not {threads!r}")
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    return int(threads)


def pieces(costs: npt.NDArray[np.int64], most: int) -> Iterator[slice]:
    """Yield slices of consecutive rows that cost about `most` together, at least one row a slice."""
    start, ends = 0, np.cumsum(costs, dtype=np.int64)
    while start < len(costs):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield slice(start, stop)
        start = stop


def for_each_piece(
    work: Callable[[slice], None], costs: npt.NDArray[np.int64], most: int, threads: int | None
) -> None:
    """Call work(rows) for pieces of rows, in several threads; `costs`, `most` as `pieces` takes them."""
    for _ in ordered_map(work, pieces(costs, most), thread_count(threads)):
        pass


def ordered_map(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield function(item) for each item, in order, with at most AHEAD items a thread under way.

    Items are drawn in the calling thread, so that reading the next overlaps with work on the last ones. A single one is
    worked on there, too: threads take longer to start than most such work does. When the iteration ends early, by an
    error or an interrupt, items under way are abandoned: their kernels stop within about 50 ms.
    """
    items = iter(items)
    first = list(islice(items, 2 if threads > 1 else 0))
    items = chain(first, items)
    if len(first) < 2:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    pending: deque[Future[Result]] = deque()
    over = threading.Event()
    with ThreadPoolExecutor(threads, initializer=guards.watch, initargs=(over,)) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                while pending and (len(pending) > AHEAD * threads or pending[0].done()):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            over.set()
            for future in pending:
                future.cancel()


_switching = threading.Lock()
_quick_runs = 0
_usual_interval = 0.005


@contextmanager
def quick_switches() -> Iterator[None]:
    """Hand the interpreter lock over after 0.1 ms instead of 5 for the length of a with statement.

    While one thread parses its input without a pause, each of the others waits that long whenever it comes out of a
    kernel; with the usual 5 ms, kernels of 2 ms hardly run beside the parser. The interval is the process's: the first
    of several runs at once changes it, the last one puts it back.
    """
    global _quick_runs, _usual_interval
    with _switching:
        if _quick_runs == 0:
            _usual_interval = sys.getswitchinterval()
            sys.setswitchinterval(min(_usual_interval, 1e-4))
        _quick_runs += 1
    try:
        yield
    finally:
        with _switching:
            _quick_runs -= 1
            if _quick_runs == 0:
                sys.setswitchinterval(_usual_interval)

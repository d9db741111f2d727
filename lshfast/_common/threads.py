"""Python threads for kernels that release the GIL: pieces of work, and an ordered map."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from lshfast._common.types import Int64Array
from lshfast.kernels import guards

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# Items under way for each thread. The workers have enough to do while the calling thread reads its
# next batch of items.
AHEAD = 6

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(threads: int | None) -> int:
    """Return the number of threads; None stands for the CPUs that this process may use."""
    if threads is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(f"threads must be an int or None, not {threads!r}")
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    return int(threads)


def pieces(costs: Int64Array, most: int) -> Iterator[slice]:
    """Yield slices of consecutive rows whose total cost is at most `most`, or one row."""
    start = 0
    ends = np.cumsum(costs, dtype=np.int64)
    while start < len(costs):
        before = int(ends[start - 1]) if start else 0
        # The method takes a fourth of the time of the function.
        stop = max(start + 1, int(ends.searchsorted(before + most, side="right")))
        yield slice(start, stop)
        start = stop


def for_each_piece(
    work: Callable[[slice], None], costs: Int64Array, most: int, threads: int | None
) -> None:
    """Call work(rows) for each of `pieces(costs, most)`, in several threads."""
    threads = thread_count(threads)
    # Of a single query, the rest takes longer than its work.
    is_one_piece = len(costs) == 1 or (threads == 1 and 0 < costs.sum() <= most)
    if is_one_piece:
        work(slice(0, len(costs)))
        return
    for _ in ordered_map(work, pieces(costs, most), threads):
        pass


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    runs_alone: Callable[[Item], bool] | None = None,
) -> Iterator[Result]:
    """Iterate over function(item), in the order of items, at most AHEAD of them per thread at once.

    While an item is processed for which alone(item) is true, no other one is: for items that take
    much memory.

    The calling thread is one of the threads. It takes the items from the iterator, so reading the
    next item overlaps with work on earlier ones, and processes items itself instead of waiting for
    the others. So no more threads run than there are CPUs for them: if a thread that holds the GIL
    loses its CPU to another one, all of them wait. If the iteration ends early, by an error or an
    interrupt, items under way are abandoned: their kernels stop within about 50 ms.
    """
    if threads == 1:
        return map(function, items)
    return _map_in_threads(function, items, threads, runs_alone)


def _map_in_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    runs_alone: Callable[[Item], bool] | None,
) -> Iterator[Result]:
    """Do what `ordered_map` says; no thread is started for fewer than two items."""
    items = iter(items)
    first = list(islice(items, 2))
    items = chain(first, items)
    if len(first) < 2:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    pending: deque[_Task[Item, Result]] = deque()
    over = threading.Event()
    pool = ThreadPoolExecutor(threads - 1, initializer=guards.watch, initargs=(over,))
    owner = threading.get_ident()
    try:
        for item in items:
            if runs_alone is not None and runs_alone(item):
                while pending:
                    yield _next_result(function, pending)
                yield function(item)
                continue
            pending.append(_Task(pool.submit(function, item), item))
            while pending and (len(pending) > AHEAD * threads or pending[0].done()):
                yield _next_result(function, pending)
        while pending:
            yield _next_result(function, pending)
    finally:
        try:
            over.set()
            for task in pending:
                task.future.cancel()
        finally:
            _end(pool, owner)


def _end(pool: ThreadPoolExecutor, owner: int) -> None:
    """End the threads of a pool, also where memory is refused.

    The garbage collector may run this in any thread, also in one that starts and holds locks of
    `threading` (before Python 3.13), which a thread needs to be waited for. So only the owner of
    the pool waits.
    """
    waits = guards.is_running(owner)
    try:
        pool.shutdown(wait=waits)
    except MemoryError:
        pool.shutdown(wait=waits)
        raise


class _Task(Generic[Item, Result]):
    """An item, and the result that a worker or the calling thread computes for it."""

    def __init__(self, future: Future[Result], item: Item) -> None:
        self.future = future
        self.item = item
        self._done: list[Result] = []
        self._error: Exception | None = None

    def done(self) -> bool:
        return self.future.done()

    def process(self, function: Callable[[Item], Result]) -> bool:
        """Process the item in the calling thread, and return True, unless a worker has begun."""
        if self.done() or not self.future.cancel():
            return False
        try:
            self._done.append(function(self.item))
        except Exception as error:  # raised in the order of the items
            self._error = error
        return True

    def result(self) -> Result:
        if self._error is not None:
            raise self._error
        return self._done.pop() if self._done else self.future.result()


def _next_result(
    function: Callable[[Item], Result], pending: deque[_Task[Item, Result]]
) -> Result:
    """Return the result of the first task; process tasks that no worker has begun meanwhile."""
    while not pending[0].done() and any(task.process(function) for task in pending):
        pass
    return pending.popleft().result()


_switching = threading.Lock()
_quick_runs = 0
_usual_interval = 0.005


@contextmanager
def quick_switches() -> Iterator[None]:
    """Set the interpreter's switch interval to 0.1 ms (default 5 ms) within a with statement.

    While one thread parses its input without a pause, each other thread waits one interval for the
    GIL whenever it leaves a kernel. With 5 ms, kernels that take 2 ms hardly overlap with the
    parser. The interval belongs to the process: the first of several concurrent runs changes it,
    and the last one restores it.
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

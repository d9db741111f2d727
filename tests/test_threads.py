"""Threads over kernels: order, errors, and the switch interval that several runs share."""

import sys
import threading

import pytest

from lshfast._common.threads import ordered_map, quick_switches


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_and_errors_come_through(threads):
    assert list(ordered_map(lambda n: n * n, range(200), threads)) == [
        n * n for n in range(200)
    ]
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(lambda n: 1 // (n - 50), range(200), threads))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_single_item_is_worked_on_where_it_is_drawn(threads):
    assert list(ordered_map(lambda _: threading.get_ident(), [0], threads)) == [
        threading.get_ident()
    ]
    assert list(ordered_map(abs, [], threads)) == []


@pytest.mark.parametrize("threads", [2, 5])
def test_the_calling_thread_is_one_of_the_threads(threads):
    together = threading.Barrier(threads, timeout=20)

    def work(_):
        together.wait()  # ends if so many threads are there
        return threading.get_ident()

    found = {*ordered_map(work, range(3 * threads), threads)}
    assert len(found) == threads
    assert threading.get_ident() in found


def test_an_error_of_the_calling_thread_is_raised_after_earlier_results():
    failed = threading.Event()

    def work(item):
        if item == 0:
            return failed.wait(20)
        failed.set()
        raise ValueError(item)

    results = ordered_map(work, range(10), 2)
    assert next(results) is True
    with pytest.raises(ValueError, match="1"):
        next(results)


def test_the_last_of_several_runs_puts_the_switch_interval_back():
    before = sys.getswitchinterval()
    first, second = quick_switches(), quick_switches()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() < before
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == before


def test_another_thread_that_ends_the_iteration_waits_for_none():
    """The garbage collector does so, in a thread that may hold locks which others need to be waited for."""
    drawn, begun, released = threading.Event(), threading.Event(), threading.Event()
    own = threading.get_ident()

    def items():
        yield from range(3)
        drawn.set()
        yield 3

    def work(item):
        if item == 0:  # its result is not taken before others are under way
            drawn.wait(20)
        elif threading.get_ident() == own:
            begun.wait(20)
        else:
            begun.set()
            released.wait(20)
        return item

    results = ordered_map(work, items(), 2)
    assert next(results) == 0
    assert begun.wait(20)
    other = threading.Thread(target=results.close)
    other.start()
    other.join(10)
    waited = other.is_alive()
    released.set()
    other.join()
    assert not waited

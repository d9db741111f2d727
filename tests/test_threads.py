"""Threads over kernels: order, errors, and the switch interval that several runs share."""

import sys
import threading

import pytest

from lshfast.common.threads import ordered_map, quick_switches


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_and_errors_come_through(threads):
    assert list(ordered_map(lambda n: n * n, range(200), threads)) == [n * n for n in range(200)]
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(lambda n: 1 // (n - 50), range(200), threads))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_single_item_is_worked_on_where_it_is_drawn(threads):
    assert list(ordered_map(lambda _: threading.get_ident(), [0], threads)) == [threading.get_ident()]
    assert list(ordered_map(abs, [], threads)) == []
    if threads > 1:
        assert threading.get_ident() not in ordered_map(lambda _: threading.get_ident(), [0, 0], threads)


def test_the_last_of_several_runs_puts_the_switch_interval_back():
    before = sys.getswitchinterval()
    first, second = quick_switches(), quick_switches()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() < before
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == before

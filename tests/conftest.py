"""What the tests share: the CPU level that a kernel runs on, hypothesis' profiles, and rows as arrays and back."""

import os
import signal
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from lshfast import kernels

# A shell lets its jobs in the background ignore Ctrl-C, and the processes that they start: the tests send it to some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure, and `level` holds for all examples of a test.
LENIENT = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("random", deadline=None, suppress_health_check=LENIENT)
settings.register_profile("fixed", settings.get_profile("random"), derandomize=True, max_examples=40)
settings.load_profile(os.environ.get("EXAMPLES", "fixed"))


LEVELS = kernels.available()


@pytest.fixture(params=LEVELS)
def level(request):
    """Run the test on each CPU level of this machine."""
    with kernels.use(request.param):
        yield request.param


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items):
    """Leave each case of a test of many cases on one CPU level, and on the other levels to the slow tests."""
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and "level" in item.callspec.indices:
            cases[item.parent, item.originalname].append(item)
    for found in cases.values():
        if len(found) < len(LEVELS) ** 2:
            continue
        for item in found:
            if sum(item.callspec.indices.values()) % len(LEVELS):
                item.add_marker(pytest.mark.slow)


def csr(rows):
    """Return (offsets, tokens) of rows of Python integers."""
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return offsets, np.array([token for row in rows for token in row], np.uint64)


def rows_of(offsets, tokens):
    """Return the rows of (offsets, tokens) as lists of Python integers."""
    tokens = tokens.tolist()
    return [tokens[low:high] for low, high in pairwise(offsets.tolist())]

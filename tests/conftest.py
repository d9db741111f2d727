"""What the tests share: the CPU level that a kernel runs on, hypothesis' profiles, and rows as arrays and back."""

import os
import signal
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
settings.register_profile("fixed", settings.get_profile("random"), derandomize=True, max_examples=60)
settings.load_profile(os.environ.get("EXAMPLES", "fixed"))


@pytest.fixture(params=kernels.available())
def level(request):
    """Run the test on each CPU level of this machine."""
    with kernels.use(request.param):
        yield request.param


def csr(rows):
    """Return (offsets, tokens) of rows of Python integers."""
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return offsets, np.array([token for row in rows for token in row], np.uint64)


def rows_of(offsets, tokens):
    """Return the rows of (offsets, tokens) as lists of Python integers."""
    tokens = tokens.tolist()
    return [tokens[low:high] for low, high in pairwise(offsets.tolist())]

"""What the tests share: the CPU level that a kernel runs on, hypothesis' profiles, and rows as arrays and back."""

import gc
import os
import re
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
LEVEL = ("level",)


@pytest.fixture(params=LEVELS)
def level(request):
    """Run the test on each CPU level of this machine."""
    with kernels.use(request.param):
        yield request.param


ALL_SLOW = re.compile(rb"^pytestmark = pytest\.mark\.slow$", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Do not import modules of slow tests where none of these run; a module that is named is not ignored."""
    left_out = config.option.markexpr == "not slow" and collection_path.match("test_*.py")
    return True if left_out and ALL_SLOW.search(collection_path.read_bytes()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
    """Collect no garbage while the tests are found, which takes a fifth of that time."""
    gc.disable()


def pytest_collection_finish():
    gc.enable()
    gc.set_threshold(20_000)  # the more often, the more of the million objects of all tests are looked at again


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items):
    """Leave some cases of tests to the slow tests: some CPU levels, combinations of values, and all but one case."""
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.parent, item.originalname].append(item)
    for found in cases.values():
        if found[0].get_closest_marker("one_case"):
            found = [item for item in found if not item.get_closest_marker("slow")]
            chosen = [place == 0 for place in range(len(found))]
        elif found[0].get_closest_marker("few_cases"):
            found = [item for item in found if not item.get_closest_marker("slow")]
            chosen = few_cases([values_of(item) for item in found]) if found else []
        elif "level" in found[0].callspec.indices and len(found) >= len(LEVELS) ** 2:
            chosen = [sum(item.callspec.indices.values()) % len(LEVELS) == 0 for item in found]
        else:
            continue
        for item, kept in zip(found, chosen, strict=True):
            if not kept:
                item.add_marker(pytest.mark.slow)


def values_of(item):
    """Return the identities of the values of a case, by the names that are parametrized together."""
    params = item.callspec.params
    names = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [tuple(own.replace(",", " ").split()) if isinstance(own, str) else tuple(own) for own in names]
    alone = params.keys() - {name for own in together for name in own}  # those of fixtures
    return {own: tuple(id(params[name]) for name in own) for own in [*together, *((name,) for name in alone)]}


def few_cases(cases):
    """Return whether each case is chosen: as many as the longest parameter has values, in which all values occur.

    The CPU levels alternate, beginning with the last.
    """
    values = {names: list(dict.fromkeys(case[names] for case in cases)) for names in cases[0]}
    levels = values.get(LEVEL, [])
    levels.reverse()
    turns = max((len(own) for names, own in values.items() if names != LEVEL), default=1)
    chosen = [{names: own[turn % len(own)] for names, own in values.items()} for turn in range(turns)]
    return [case in chosen for case in cases]


@pytest.fixture(scope="session", autouse=True)
def no_sync():
    """Do not wait for the disk: what is written is seen without that, and no test turns the power off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def only_new_garbage():
    """Let `gc.collect` look at what the test itself makes, and not at the million objects of all tests."""
    gc.freeze()
    yield
    gc.unfreeze()


def csr(rows):
    """Return (offsets, tokens) of rows of Python integers."""
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return offsets, np.array([token for row in rows for token in row], np.uint64)


def rows_of(offsets, tokens):
    """Return the rows of (offsets, tokens) as lists of Python integers."""
    tokens = tokens.tolist()
    return [tokens[low:high] for low, high in pairwise(offsets.tolist())]

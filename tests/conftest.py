"""What the tests share: the CPU level that a kernel runs on, hypothesis' profiles, and rows as arrays and back."""

import gc
import importlib
import os
import re
import shutil
import signal
import sys
import zlib
from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

# Where Python writes no compiled modules beside the sources, they are kept in build/. Compiling
# takes half of the time of a command, and the tests start hundreds of them; it also takes half of
# the time in which the tests are found. Pytest compiles hypothesis, too, which is imported below.
COMPILED = Path(__file__).parents[1] / "build" / "pycache"
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(COMPILED)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(COMPILED)

# One process of the tests runs on each CPU. More threads of BLAS only wait for each other, and take
# a seventh of the time of tests of vectors and images. BLAS reads this when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from lshfast import kernels
from tests.run_fixtures import little_work as little_work
from tests.run_fixtures import mark_spark_tests
from tests.run_fixtures import small_parts as small_parts
from tests.run_fixtures import spark as spark

# A shell lets its jobs in the background ignore Ctrl-C, and the processes that they start: the
# tests send it to some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure, and `level` holds for all examples of a test.
LENIENT = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("random", deadline=None, suppress_health_check=LENIENT)
settings.register_profile(
    "fixed", settings.get_profile("random"), derandomize=True, max_examples=40
)
settings.load_profile(os.environ.get("EXAMPLES", "fixed"))

# The most examples of a test, by the tests that are run. An example takes 2 ms, most of which
# hypothesis itself needs; a thousand tests have examples.
MOST_EXAMPLES = {"not slow": 8, "slow": 20, "not weekly": 20}

# Pages of the docs whose examples take seconds.
SLOW_PAGES = ("near-neighbors.md", "textbook.md")

LEVELS = kernels.available()
LEVEL = ("level",)

# From so many cases on, a test of several parameters leaves most combinations of their values to
# the slow tests, and a test of one parameter leaves most of its values.
MANY_CASES = 6

# Of the values of one parameter, one in so many is in a case that is not slow.
SOME_SHARE = 3

# Of the combinations that a test leaves to the slow tests, these run at least so many, and at least
# one in SLOW_SHARE. The others are weekly.
LEAST_SLOW_CASES = 1
SLOW_SHARE = 16


@pytest.fixture(params=LEVELS)
def level(request):
    """Run the test on each CPU level of this machine."""
    with kernels.use(request.param):
        yield request.param


ALL_SLOW = re.compile(rb"^pytestmark = pytest\.mark\.slow$", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Do not import modules of slow tests where none of these run; a module that is named is not ignored."""
    left_out = config.option.markexpr == "not slow" and collection_path.match(
        "test_*.py"
    )
    return True if left_out and ALL_SLOW.search(collection_path.read_bytes()) else None


@pytest.hookimpl(hookwrapper=True)
def pytest_collect_file(file_path):
    """Look for no doctests in the modules of tests, which have none: it takes a tenth of the time of collecting."""
    outcome = yield
    if Path(__file__).parent in file_path.parents and file_path.suffix == ".py":
        outcome.force_result(
            [found for found in outcome.get_result() if type(found) is pytest.Module]
        )


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Collect no garbage while the tests are found, which takes a fifth of that time."""
    gc.disable()
    worker = getattr(session.config, "workerinput", {}).get("workerid")
    if (
        worker == "gw1"
        and session.config.args_source is session.config.ArgsSource.TESTPATHS
    ):
        import_backwards(session.config)


def import_backwards(config):
    """Import the modules of all tests, the last one first.

    Pytest rewrites the assertions of a module that is imported first, and keeps the result: half
    of the time in which the tests are found. Another process begins with the first module, so each
    module is rewritten by one of the two.
    """
    for path in sorted(Path(__file__).parent.rglob("test_*.py"), reverse=True):
        if config.option.markexpr == "not slow" and ALL_SLOW.search(path.read_bytes()):
            continue
        name = ".".join(
            path.relative_to(Path(__file__).parents[1]).with_suffix("").parts
        )
        # The error of a module, or the reason why it is skipped, comes again when it is collected.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


def pytest_collection_finish():
    gc.enable()
    # A full one looks at the million objects of all tests, which takes a second.
    gc.set_threshold(20_000, 10, 100)


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(config, items):
    """Leave some cases of tests to the slow and the weekly tests: CPU levels, combinations, all but one case."""
    mark_spark_tests(items)
    for item in items:
        if item.name in SLOW_PAGES:
            item.add_marker(pytest.mark.slow)
    if "EXAMPLES" not in os.environ and config.option.markexpr in MOST_EXAMPLES:
        limit_examples(items, MOST_EXAMPLES[config.option.markexpr])
    plain_tests = defaultdict(list)
    slow_tests = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("weekly"):
            tests = slow_tests if item.get_closest_marker("slow") else plain_tests
            tests[item.parent, item.originalname].append(item)
    for cases in plain_tests.values():
        if has_some_cases(cases):  # each of which shows something of its own
            further = beyond_some_cases(cases)
            for item in further:
                item.add_marker(pytest.mark.slow)
            for item in further[-(-len(further) // 4) :]:
                item.add_marker(pytest.mark.weekly)
            continue
        slow_items = further_cases(cases)
        for item in slow_items:
            item.add_marker(pytest.mark.slow)
        slow_count = max(LEAST_SLOW_CASES, len(slow_items) // SLOW_SHARE)
        for item in sorted(slow_items, key=checksum_of_name)[slow_count:]:
            item.add_marker(pytest.mark.weekly)
    for cases in slow_tests.values():
        is_some = cases[0].get_closest_marker("some_cases")
        for item in beyond_some_cases(cases) if is_some else further_cases(cases):
            item.add_marker(pytest.mark.weekly)
    leave_weekly_tests(config, items)


def further_cases(cases):
    """Return the cases of a test that it leaves to slower runs."""
    if cases[0].get_closest_marker("one_case"):
        return cases[1:]
    if cases[0].get_closest_marker("few_cases") or len(cases) >= MANY_CASES:
        chosen = few_cases([values_of(item) for item in cases])
        return [item for item, kept in zip(cases, chosen, strict=True) if not kept]
    return []


def has_some_cases(cases):
    """Return whether a test leaves most of its values to the slow tests: it says so, or has many of one parameter."""
    if cases[0].get_closest_marker("some_cases"):
        return True
    marked = cases[0].get_closest_marker("one_case") or cases[0].get_closest_marker(
        "few_cases"
    )
    return not marked and len(cases) >= MANY_CASES and len(values_of(cases[0])) == 1


def beyond_some_cases(cases):
    """Return all but a share of the cases; which ones does not depend on their order."""
    return sorted(cases, key=checksum_of_name)[-(-len(cases) // SOME_SHARE) :]


def checksum_of_name(item):
    """Return a number by which cases are in an order that has nothing to do with their values."""
    return zlib.crc32(item.nodeid.encode())


def leave_weekly_tests(config, items):
    """Deselect the weekly tests in runs of plain and of slow tests."""
    if config.option.markexpr in ("not slow", "slow"):
        weekly_items = [item for item in items if item.get_closest_marker("weekly")]
        config.hook.pytest_deselected(items=weekly_items)
        items[:] = [item for item in items if not item.get_closest_marker("weekly")]


def pytest_sessionfinish(session):
    """Remove the compiled modules of sources that were written for single tests.

    Garbage of the last tests is collected here. Pytest would look twice at all objects of all
    tests afterwards, which takes 2 seconds in each process.
    """
    gc.collect(1)
    gc.freeze()
    folder = getattr(session.config, "_tmp_path_factory", None)
    if sys.pycache_prefix == str(COMPILED) and folder is not None:
        base = folder.getbasetemp()
        shutil.rmtree(COMPILED / base.relative_to(base.anchor), ignore_errors=True)


def limit_examples(items, most_examples):
    """Let each test draw at most so many examples, by the settings that the plugin of hypothesis reads."""
    for function in {
        getattr(item.obj, "__func__", item.obj)
        for item in items
        if hasattr(item, "obj")
    }:
        given = getattr(function, "_hypothesis_internal_use_settings", None)
        if given is not None and given.max_examples > most_examples:
            function._hypothesis_internal_use_settings = settings(
                given, max_examples=most_examples
            )


def values_of(item):
    """Return the identities of the values of a case, by the names that are parametrized together."""
    params = item.callspec.params
    names = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [
        tuple(own.replace(",", " ").split()) if isinstance(own, str) else tuple(own)
        for own in names
    ]
    alone = params.keys() - {
        name for own in together for name in own
    }  # those of fixtures
    return {
        own: tuple(id(params[name]) for name in own)
        for own in [*together, *((name,) for name in alone)]
    }


def few_cases(cases):
    """Return whether each case is chosen: about as many as the longest parameter has values, in which all values occur.

    The CPU levels alternate, beginning with the last.
    """
    values = {
        names: list(dict.fromkeys(case[names] for case in cases)) for names in cases[0]
    }
    values.get(LEVEL, []).reverse()
    turns = max(len(own) for own in values.values())
    turns_of_values = [
        {names: own[turn % len(own)] for names, own in values.items()}
        for turn in range(turns)
    ]
    chosen = [case for case in turns_of_values if case in cases]
    for names, own in values.items():
        for value in own:
            # A turn is no case where parameters exclude others.
            if not any(case[names] == value for case in chosen):
                chosen.append(next(case for case in cases if case[names] == value))
    return [case in chosen for case in cases]


@pytest.fixture(scope="session", autouse=True)
def no_sync():
    """Do not wait for the disk: what is written is seen without that, and no test turns the power off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def only_new_garbage():
    """Let `gc.collect` look at what the test itself makes, and not at what earlier tests left.

    Afterwards nothing stays frozen: hypothesis 6.100 asks the collector who refers to its generator of random numbers.
    """
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

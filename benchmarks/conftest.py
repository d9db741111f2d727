"""What the benchmarks share: texts, CPU levels, and a table of speeds at the end. Run by `pytest benchmarks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from stages import SCRIPTS, figure, library_texts, made_up, table

from lshfast import kernels

# Scripts and what they share.
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("*.py")
    if not path.name.startswith("test_")
]

Measure: TypeAlias = Callable[..., Any]

# Figures by their name and unit, and by CPU level.
FIGURES = pytest.StashKey[dict[tuple[str, str], dict[str, float]]]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Measure in one process, where nothing else of the suite runs at the same time."""
    return 0


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name the parameters in the names of benchmarks, such as ``test_verify[threads=1]``."""
    return f"{argname}={val}" if isinstance(val, (int, str)) else None


@pytest.fixture(params=kernels.available())
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a benchmark once on every CPU level of this machine."""
    with kernels.use(request.param):
        yield request.param


@pytest.fixture(scope="session")
def sources() -> list[str]:
    """Return the sources of the standard library."""
    return library_texts()


@pytest.fixture(scope="session")
def columns(sources: list[str]) -> dict[str, pa.Array]:
    """Return columns of texts: a quarter of the library's, and made-up ones."""
    return {"library": pa.array(sources[::4])} | {
        script: pa.array(made_up(script)) for script in SCRIPTS
    }


@pytest.fixture
def measure(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> Measure:
    """Return a function that times a call which goes over an amount of something, and notes the figure."""

    def run(name: str, unit: str, amount: int, call: Callable[[], object]) -> object:
        result = benchmark(call)
        if benchmark.stats:  # there are none under --benchmark-disable
            found = figure(unit, amount, benchmark.stats["median"])
            benchmark.extra_info[unit] = round(found, 3)
            request.config.stash.setdefault(FIGURES, {}).setdefault((name, unit), {})[
                kernels.level()
            ] = found
        return result

    return run


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the figures, a column for every CPU level."""
    figures = config.stash.get(FIGURES, {})
    if figures:
        rows = [
            [
                name,
                unit,
                *(
                    f"{found[level]:.3g}" if level in found else ""
                    for level in kernels.available()
                ),
            ]
            for (name, unit), found in figures.items()
        ]
        terminalreporter.write_sep("-", "medians")
        terminalreporter.write_line(table(["", "", *kernels.available()], rows))

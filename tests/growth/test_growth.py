"""The work of each case grows like its rows; `python -m tests.growth` shows more sizes, and times."""

import numpy as np
import pytest

from lshfast.web.urls import joined_tokens
from tests.growth.cases import Case, case
from tests.growth.counting import counted
from tests.growth.growing import counts_of, excesses
from tests.growth.table import CASES

DOUBLINGS = 4
ROWS = [
    pytest.param(name, marks=pytest.mark.weekly if case.is_weekly else pytest.mark.slow)
    for name, case in CASES.items()
]


@pytest.mark.some_cases
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore")
def test_work_grows_like_the_rows(name):
    counts = counts_of(CASES[name], DOUBLINGS)
    assert excesses(CASES[name], counts) == []


@pytest.mark.slow
def test_calls_that_grow_like_the_square_are_noticed():
    def squares(n):
        return lambda: [abs(second) for _ in range(n) for second in range(n)] and None

    (line,) = excesses(
        Case("", squares, 20), counts_of(Case("", squares, 20), DOUBLINGS)
    )
    assert line.startswith("calls grows from ")


def test_memory_and_bytes_of_kernels_are_counted():
    numbers = np.arange(10_000, dtype=np.uint64)
    counts = counted(lambda: joined_tokens(numbers, numbers, 0, 1) is None)
    assert counts["kernel bytes"] >= 2 * numbers.nbytes  # given and returned
    assert counts["peak bytes"] > 0


def test_work_is_measured_by_what_it_reports():
    """Pairs that a result has are no excess; candidates of a documented limit are not judged."""
    fast = {"compared": 100, "output": 100}, {"compared": 1600, "output": 1600}
    assert excesses(Case("", None, 10), fast) == []
    slow = {"compared": 100}, {"compared": 1600}
    assert excesses(Case("", None, 10), slow) == ["compared grows from 100 to 1,600"]
    assert excesses(Case("", None, 10, "page", ("compared",)), slow) == []


def test_cases_have_different_names():
    with pytest.raises(ValueError, match="two cases are named equal_texts"):

        @case("dedup", 1)
        def equal_texts(n):
            """Have the name of another case."""

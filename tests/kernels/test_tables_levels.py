"""Batches leave the same tables on each CPU level, byte by byte and after each step: their layout is canonical."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast import kernels
from lshfast.kernels.tables import BandTables
from tests.kernels.tables_kit import int64, tag_signatures
from tests.reference.hashing import EMPTY

pytestmark = pytest.mark.slow

TAGS = {  # of n rows
    "anywhere": lambda generator, n: generator.integers(0, 2**32, n),
    "at the front": lambda generator, n: generator.integers(0, n, n),
    "at the end": lambda generator, n: 2**32 - 1 - generator.integers(0, n, n),
    "at both ends": lambda generator, n: generator.integers(-n, n, n) % 2**32,
    "the least and the greatest": lambda generator, n: (
        generator.integers(0, 2, n) * (2**32 - 1)
    ),
    "few": lambda generator, n: generator.integers(0, 8, n) << 29,
}


def played(history, seed):
    """Write batches of tags and erase a part of what is there; give all bytes of the tables after each step."""
    generator, held, there = np.random.default_rng(seed), BandTables(2, 2, 1), int64()
    for tags, n, erased in history:
        signatures = tag_signatures(TAGS[tags](generator, n).tolist())
        signatures[generator.random(n) < 0.05] = EMPTY
        rows = generator.permutation(held.allot(n))
        held.write(rows, signatures)
        yield layout(held)
        there = generator.permutation(np.append(there, rows))
        gone, there = np.split(there, [int(erased * len(there))])
        held.erase(gone)
        yield layout(held)


def layout(held):
    assert held.unsound() is None
    return {
        name: [array.tobytes() for array in arrays]
        for name, arrays in held.sections().items()
    }


def check_levels(history, seed):
    """Each level leaves the same tables after each step."""
    steps = []
    for level in kernels.available():
        with kernels.use(level):
            steps.append(list(played(history, seed)))
    for other in steps[1:]:
        for step, (one, another) in enumerate(zip(steps[0], other, strict=True)):
            assert one == another, f"step {step}"


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(TAGS)),
            st.one_of(st.integers(1, 3), st.integers(1, 200)),
            st.sampled_from([0, 0.02, 0.3, 1]),
        ),
        max_size=14,
    ),
    st.integers(0, 2**32 - 1),
)
@example([("anywhere", 1, 0)] * 150, 1)
@example([("at the end", 1, 0)] * 150, 1)
@example([("at both ends", 200, 0), *[("at both ends", 1, 0.01)] * 60], 1)
def test_all_levels_leave_the_same_tables(history, seed):
    check_levels(history, seed)


@pytest.mark.one_case
@pytest.mark.parametrize("tags", TAGS)
def test_all_levels_leave_the_same_large_tables(tags):
    """Batches that are sorted first, and such as are not; tables that grow in between, are emptied and filled again."""
    history = [
        (tags, 2500, 0.4),
        ("anywhere", 2100, 0.1),
        (tags, 2047, 0.7),
        (tags, 2048, 1),
        (tags, 2500, 0.99),
    ]
    check_levels(history, 1)

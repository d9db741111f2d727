"""Pairs that agree in some fields and differ in others: relatives, people who moved, or strangers by chance."""

import numpy as np
import pytest

from lshfast.records.weights.dependence import DIFFERENT, EQUAL
from lshfast.records.weights.patterns import RowCandidates
from lshfast.records.weights.relatives import AgreementStates, match_others

SHARED, OTHERS = [0, 1], [2, 3]
ALL_EQUAL, SHARED_ONLY, ALL_DIFFERENT = range(3)


def states_of(rows, row, partner, state, all_pairs):
    """Count the states of candidates; all other pairs differ in all fields."""
    candidates = RowCandidates(rows, row, partner, state)
    counts = np.bincount(state, minlength=3).astype(np.float64)
    counts[ALL_DIFFERENT] = all_pairs - counts.sum()
    states = np.array(
        [[EQUAL] * 4, [EQUAL] * 2 + [DIFFERENT] * 2, [DIFFERENT] * 4], np.uint8
    )
    return AgreementStates(
        states, counts, np.zeros(3), np.arange(3, dtype=np.int64), candidates
    )


@pytest.mark.parametrize(
    ("strangers", "expected", "are_relatives"),
    [
        # Most pairs that agree in the shared fields only are strangers, the others have moved.
        (700, 700.0, False),
        # As many pairs of records that match others are not expected by chance.
        (700, 0.0, True),
        # People who moved, and no strangers.
        (0, 0.0, False),
    ],
)
def test_strangers_that_agree_by_chance_are_no_relatives(
    strangers, expected, are_relatives
):
    """Of 2,000 records, 1,400 match one that is equal in all fields, and 500 one that has moved.

    Strangers are pairs of any records, so seven in ten of these match other records.
    """
    rng = np.random.default_rng(7)
    matched, moved = (
        np.arange(1400, dtype=np.int64),
        np.arange(1400, 1900, dtype=np.int64),
    )
    by_chance = rng.choice(2000, strangers, replace=False)
    row = np.concatenate([matched, moved, by_chance])
    partner = np.concatenate([matched, moved, rng.choice(2000, strangers)])
    state = np.repeat([ALL_EQUAL, SHARED_ONLY], [1400, 500 + strangers])
    states = states_of(2000, row, partner, state, 4e6)
    expected_pairs = np.array([0.0, expected, 4e6])
    assert match_others(states, SHARED, OTHERS, expected_pairs) is are_relatives

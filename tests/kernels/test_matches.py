"""The order of matches, against Python's sort."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels.matches import order_matches


@given(st.lists(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 3)), max_size=60), max_size=6), st.booleans())
@example([[(i % 7 - 3, i % 5) for i in range(200)], [], [(2**63 - 1, 2**62), (-(2**63), 2**62)]], False)
@example([[(i, 0) for i in range(49)], [(i, 0) for i in range(48)][::-1]], False)
def test_order_of_matches(answers, as_doubles):
    matches = [match for answer in answers for match in answer]
    offsets = np.cumsum([0, *map(len, answers)])
    keys = np.array([key for key, _ in matches], np.int64)
    scores = np.array([score for _, score in matches], np.int64)
    order_matches(offsets, keys, (scores / 7).view(np.int64) if as_doubles else scores)
    if as_doubles:
        scores = np.concatenate([sorted((s for _, s in answer), reverse=True) for answer in answers] or [[]])
    expected = [sorted(answer, key=lambda match: (-match[1], match[0])) for answer in answers]
    assert list(zip(keys.tolist(), scores.tolist(), strict=True)) == [match for answer in expected for match in answer]


@pytest.mark.parametrize(
    ("offsets", "scores", "message"),
    [
        ([0, 2], 3, "as many scores as keys are needed, not 3 and 2"),
        ([], 2, r"offsets must rise from 0 to at most 2"),
        ([0, 3], 2, r"offsets must rise from 0 to at most 2"),
        ([0, 2, 1], 2, r"offsets must rise from 0 to at most 2"),
        ([-1, 2], 2, r"offsets must rise from 0 to at most 2"),
    ],
)
def test_bad_matches_are_refused(offsets, scores, message):
    with pytest.raises(ValueError, match=message):
        order_matches(np.array(offsets, np.int64), np.zeros(2, np.int64), np.zeros(scores, np.int64))


def test_keys_must_be_writable():
    keys = np.zeros(2, np.int64)
    keys.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        order_matches(np.array([0, 2]), keys, np.zeros(2, np.int64))

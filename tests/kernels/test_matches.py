"""The order of matches, against Python's sort."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels.matches import order_matches


@given(
    st.lists(
        st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 3)), max_size=60),
        max_size=6,
    ),
    st.booleans(),
)
@example(
    [
        [(i % 7 - 3, i % 5) for i in range(200)],
        [],
        [(2**63 - 1, 2**62), (-(2**63), 2**62)],
    ],
    False,
)
@example([[(i, 0) for i in range(49)], [(i, 0) for i in range(48)][::-1]], False)
def test_order_of_matches(answers, as_doubles):
    matches = [match for answer in answers for match in answer]
    offsets = np.cumsum([0, *map(len, answers)])
    keys = np.array([key for key, _ in matches], np.int64)
    scores = np.array([score for _, score in matches], np.int64)
    order_matches(offsets, keys, (scores / 7).view(np.int64) if as_doubles else scores)
    if as_doubles:
        scores = np.concatenate(
            [sorted((s for _, s in answer), reverse=True) for answer in answers] or [[]]
        )
    expected = [
        sorted(answer, key=lambda match: (-match[1], match[0])) for answer in answers
    ]
    assert list(zip(keys.tolist(), scores.tolist(), strict=True)) == [
        match for answer in expected for match in answer
    ]


@pytest.mark.parametrize("most", [1, 2, 47, 48, 49, 199, 200, 201, 10**6])
def test_only_the_first_matches_are_sorted(most):
    rng = np.random.default_rng(most)
    offsets = np.array([0, 0, 1, 48, 97, 297, 497])
    keys = rng.permutation(497).astype(np.int64) - 200
    scores = rng.integers(0, 3, 497)
    scores[297:] = 5  # equally good, in falling order of the keys
    keys[297:] = np.sort(keys[297:])[::-1]
    before = sorted(zip(keys.tolist(), scores.tolist(), strict=True))
    answers = [
        list(zip(keys[a:b].tolist(), scores[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(offsets)
    ]
    order_matches(offsets, keys, scores, most)
    for start, answer in zip(offsets.tolist(), answers, strict=False):
        first = sorted(answer, key=lambda match: (-match[1], match[0]))[:most]
        end = start + len(first)
        assert (
            list(zip(keys[start:end].tolist(), scores[start:end].tolist(), strict=True))
            == first
        )
    assert sorted(zip(keys.tolist(), scores.tolist(), strict=True)) == before


def test_at_least_one_match_is_sorted():
    with pytest.raises(ValueError, match="most must be at least 1, not 0"):
        order_matches(np.array([0, 2]), np.zeros(2, np.int64), np.zeros(2, np.int64), 0)


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
        order_matches(
            np.array(offsets, np.int64),
            np.zeros(2, np.int64),
            np.zeros(scores, np.int64),
        )


def test_keys_must_be_writable():
    keys = np.zeros(2, np.int64)
    keys.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        order_matches(np.array([0, 2]), keys, np.zeros(2, np.int64))

"""Bounds by letters beside rapidfuzz: no pair is ruled out that is near."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA, JaroWinkler

from lshfast.records.comparison.letters import Letters

WORDS = st.text(
    st.sampled_from("aab0bcé" + chr(ord("a") + 32) + "\U0001f600\ud800"),
    min_size=1,
    max_size=12,
)


@given(st.lists(WORDS, min_size=2, max_size=8))
def test_bounds_hold(words):
    letters = Letters(words)
    a, b = (part.reshape(-1) for part in np.indices((len(words), len(words))))
    edits = letters.least_edits(a, b).tolist()
    similar = letters.most_similar(a, b).tolist()
    for first, second, fewest, most in zip(
        a.tolist(), b.tolist(), edits, similar, strict=True
    ):
        assert fewest <= OSA.distance(words[first], words[second])
        assert (
            most
            >= JaroWinkler.normalized_similarity(words[first], words[second]) - 1e-6
        )


def test_most_pairs_of_different_names_and_numbers_are_ruled_out():
    rng = np.random.default_rng(1)
    numbers = [str(number) for number in rng.integers(10**6, 10**7, 2000)]
    names = [
        "".join(rng.choice(list("bcdfgklmnprst") + list("aeiou"), 7))
        for _ in range(2000)
    ]
    a, b = np.arange(1000), np.arange(1000, 2000)
    assert (Letters(numbers).least_edits(a, b) > 2).mean() > 0.8
    assert Letters(names).may_be_similar(a, b, 0.75).mean() < 0.2


def test_no_values():
    nothing = np.zeros(0, np.int64)
    assert Letters([]).least_edits(nothing, nothing).tolist() == []

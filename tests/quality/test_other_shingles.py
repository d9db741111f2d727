"""Pairs by other shingles, in a corpus where nearly all pairs are similar by these."""

import random

import pytest

import lshfast
from lshfast.quality import other_shingles

WORDS = [f"word{number}" for number in range(60)]


def crowd(n, seed=1):
    """Return texts of the same words in other orders: by single words, all are equal."""
    rng = random.Random(seed)
    return [" ".join(rng.sample(WORDS, len(WORDS))) for _ in range(n)]


@pytest.mark.parametrize("sample", [1000, 120])
def test_too_many_pairs_are_estimated_from_fewer_rows(monkeypatch, sample):
    monkeypatch.setattr(other_shingles, "MOST_PAIRS", 8_000)
    n = 250
    result = lshfast.check([*crowd(n), "a b c d e f"], sample=sample, threads=1)
    by_name = {other.name: other for other in result.alternatives}
    by_word = by_name["word 1"]
    assert 40 < by_word.compared_rows < n / 2
    assert by_word.pairs.low < n * (n - 1) / 2 < by_word.pairs.high
    assert by_word.pairs.high < 2 * by_word.pairs.low
    assert f"compared with {by_word.compared_rows:,} rows only" in str(result)
    assert by_name["char 9"].compared_rows is None


def test_all_drawn_rows_are_compared_in_other_corpora():
    result = lshfast.check(crowd(100), sample=1000, threads=1)
    assert {other.compared_rows for other in result.alternatives} == {None}
    (by_word,) = (other for other in result.alternatives if other.name == "word 1")
    assert by_word.pairs.low == by_word.pairs.high == 100 * 99 / 2

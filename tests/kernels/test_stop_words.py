"""Shingles that begin with a stop word: every CPU level against the reference."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast._common.run_key import RunKey
from lshfast.kernels import text
from lshfast.kernels.text import Texts
from tests.conftest import rows_of
from tests.kernels.test_text import LATIN, MIXED, any_text
from tests.reference import text as reference


def assert_equals_reference(lines, stop_words, size, seed=1):
    found = rows_of(
        *text.stop_word_shingles(Texts(lines), Texts(stop_words), size, seed)
    )
    assert found == [
        reference.stop_word_shingles(line, stop_words, size, seed) for line in lines
    ]


few_words = st.text(st.sampled_from("aAbé_中 .\n"), max_size=60)
stop_words = st.lists(
    st.sampled_from(
        ["a", "B", "é", "ab", "aa_b", "中", "b a", "a" * 400, "quick_brown"]
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.few_cases
@settings(max_examples=80)
@given(
    lines=st.lists(few_words | any_text, max_size=4),
    stops=stop_words,
    size=st.sampled_from([1, 2, 3, 9, 256]),
)
@example(lines=["", "a", "a b", "a b c"], stops=["a"], size=3)
def test_shingles(level, lines, stops, size):
    assert_equals_reference(lines, stops, size, 7)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("size", [1, 3, 17])
def test_long_texts_and_texts_that_begin_alike(level, size):
    stops = ["the", "x", "it's", "中", "2", "word"]
    words = "".join(f"word the{i % 7} {'x' * (i % 300)} " for i in range(300))
    lines = [
        LATIN * 300,
        MIXED * 90,
        "word " * 3000,
        words,
        words + "the end of it",
        words[:9000] + ".",
        words + "the",
    ]
    assert_equals_reference(lines, stops, size)


def test_large_lists(level):
    """Every word of the list is found, whatever place it has in the table, and no other."""
    stops = [f"w{i}" for i in range(0, 9000, 3)]
    line = " ".join(f"w{i}" for i in range(9000))
    assert (
        len(text.stop_word_shingles(Texts([line]), Texts([*stops, *stops]), 1, 1)[1])
        == 3000
    )
    assert_equals_reference([line], stops, 2)


def test_secret_keys():
    key = RunKey.draw().tokens
    offsets, tokens = text.stop_word_shingles(
        Texts(["of a the b"]), Texts(["The", "of"]), 2, key
    )
    assert offsets.tolist() == [0, 2]
    assert (
        tokens.tolist()
        == text.word_shingles(Texts(["of a the b"]), 2, key)[1][[0, 2]].tolist()
    )


def test_errors():
    texts = Texts(["a b c"])
    with pytest.raises(ValueError, match=r"stop words must be 1 to 65536 words, not 0"):
        text.stop_word_shingles(texts, Texts(["."]), 3, 1)
    with pytest.raises(
        ValueError, match=r"stop words must be 1 to 65536 words, not 65537"
    ):
        text.stop_word_shingles(texts, Texts(["a " * 65537]), 3, 1)
    with pytest.raises(text.TextError, match=r"texts\[1\]: not UTF-8 at byte 2"):
        text.stop_word_shingles(Texts([b"a b", b"a \xff"]), Texts(["a"]), 3, 1)
    with pytest.raises(ValueError, match=r"size must be in 1\.\.256, not 257"):
        text.stop_word_shingles(texts, Texts(["a"]), 257, 1)

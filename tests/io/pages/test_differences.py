"""Two texts beside each other: all that differs is marked, and neither work nor size grows with the texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast._io.pages import differences
from lshfast._io.pages.differences import Span, compare, excerpt


def text(spans, *kinds):
    return "".join(span.text for span in spans if span.kind in kinds)


def test_marks_what_only_one_text_has():
    left, right = compare("The cat sat on a mat.", "The old cat sat on the mat.")
    assert text(left, "other") == "a"
    assert text(right, "other") == "old the"
    assert text(left, "same", "other") == "The cat sat on a mat."


def test_marks_what_has_moved():
    moved = "all of these words have moved away"
    left, right = compare(f"{moved}. " + "x y z " * 30, "x y z " * 30 + f"{moved}.")
    assert text(left, "moved") == text(right, "moved") == moved
    assert text(left, "other").split() == text(right, "other").split()


def test_equal_texts_show_their_beginning():
    left, right = compare("one two three " * 200, "one two three " * 200)
    assert left == right
    assert left[0].kind == "same"
    assert left[-1] == Span("gap", "… 587 words …")


def test_leaves_out_long_equal_parts():
    middle = "same words here " * 50
    left, _ = compare(f"first {middle}last", f"FIRST {middle}LAST")
    assert [span.kind for span in left] == ["other", "same", "gap", "same", "other"]


WORDS = st.lists(
    st.sampled_from(["a", "b", "c d", "東京", ",", "\n", "\ud800", "x" * 90]),
    max_size=30,
).map(" ".join)


@given(WORDS, WORDS)
def test_nothing_is_lost_in_short_texts(left, right):
    for given_text, spans in zip((left, right), compare(left, right), strict=True):
        if "gap" not in {span.kind for span in spans}:
            assert text(spans, "same", "other", "moved") == given_text
    if left != right:
        assert any(
            span.kind != "same" for spans in compare(left, right) for span in spans
        )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a " * 10**6, "b " * 10**6),
        ("a" * 10**7, "a" * 10**7 + "b"),
        ("a " * 10**5 + "b", "a " * 10**5 + "c"),
        ("," * 10**6, ";" * 10**6),
        ("", "a " * 10**6),
    ],
)
def test_what_is_shown_is_limited(left, right):
    for spans in compare(left, right):
        assert (
            len(text(spans, "same", "other", "moved"))
            <= differences.MOST_CHARACTERS + 40
        )


def test_a_difference_far_inside_is_shown():
    start = "one two three four " * 10**5
    left, right = compare(start + "end", start + "END")
    assert text(left, "other") == "end"
    assert text(right, "other") == "END"
    assert left[0].kind == "gap"


def test_an_excerpt_tells_how_much_is_left_out():
    assert excerpt("short") == [Span("same", "short")]
    assert excerpt("x" * 5000)[1] == Span("gap", "… 2,000 characters …")

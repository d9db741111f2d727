"""Two texts beside each other: all that differs is marked, and neither work nor size grows with the texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast._io.pages import differences
from lshfast._io.pages.differences import Counting, Span, compare, excerpt


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


def test_empty_lines_that_do_not_count_are_shown_as_one():
    texts = ("one\n\n \n\ntwo red\n\nthree", "one\n\n\n\n\ntwo blue\nthree")
    left, right = compare(*texts, Counting(white_space=False))
    assert text(left, "same", "other") == "one\n\ntwo red\n\nthree"
    assert text(right, "same", "other") == "one\n\ntwo blue\nthree"
    for side, whole in zip(compare(*texts), texts, strict=True):
        assert text(side, "same", "other") == whole


def test_equal_texts_show_their_beginning():
    left, right = compare("one two three " * 200, "one two three " * 200)
    assert left == right
    assert left[0].kind == "same"
    assert left[-1] == Span("gap", "… 587 words …")


def test_leaves_out_long_equal_parts():
    middle = "same words here " * 50
    left, _ = compare(f"first {middle}last", f"FIRST {middle}LAST")
    assert [span.kind for span in left] == ["other", "same", "gap", "same", "other"]


WORDS_COUNT = Counting(case=False, punctuation=False, white_space=False)
SYMBOLS_COUNT = Counting(case=False, white_space=False)
CHARACTERS_COUNT = Counting(case=False)


@pytest.mark.parametrize(
    ("counting", "first", "second", "marked"),
    [
        (WORDS_COUNT, "Hello, World!", "hello world", ("", "")),
        (WORDS_COUNT, "a  b\nc", "A-b c.", ("", "")),
        (WORDS_COUNT, "Hello, World!", "hello word", ("World", "word")),
        (
            WORDS_COUNT,
            "one, TWO; three four",
            "One six five four",
            ("TWO; three", "six five"),
        ),
        (WORDS_COUNT, "ab", "a b", ("ab", "a b")),
        (WORDS_COUNT, "ΟΔΟΣ", "οδοσ", ("", "")),  # no final sigma, as in shingles
        (WORDS_COUNT, "İstanbul", "istanbul", ("", "")),
        (WORDS_COUNT, "कि", "का", ("\u093f", "\u093e")),  # marks are parts of words
        (WORDS_COUNT, "", "...", ("", "")),
        (SYMBOLS_COUNT, "F(x) ;", "f( x );", ("", "")),
        (SYMBOLS_COUNT, "f(x)", "f[x]", ("()", "[]")),
        (CHARACTERS_COUNT, "Hello  World", "hello world", ("  ", " ")),
        (Counting(), "Hello", "hello", ("Hello", "hello")),
        (Counting(case=False, accents=False), "Zoë", "ZOE", ("", "")),
        (Counting(case=False), "Zoë", "ZOE", ("Zoë", "ZOE")),
    ],
)
def test_only_what_counts_is_marked(counting, first, second, marked):
    sides = compare(first, second, counting)
    assert tuple(text(spans, "other", "moved") for spans in sides) == marked
    for given_text, spans in zip((first, second), sides, strict=True):
        assert text(spans, "same", "other", "moved") == given_text


def test_a_difference_behind_many_that_do_not_count_is_shown():
    start = "one Two three, four " * 2500
    left, right = compare(start + "end", start.lower() + "other", WORDS_COUNT)
    assert text(left, "other") == "end"
    assert text(right, "other") == "other"
    assert left[0].kind == right[0].kind == "gap"


def test_words_of_sets_have_no_order():
    sides = compare("red, blue, green", "blue, black, red", in_order=False)
    assert [text(spans, "other") for spans in sides] == ["green", "black"]
    assert text(sides[0], "same", "other") == "red, blue, green"


def test_both_texts_are_shown_where_one_has_more():
    start = "some words that both of them have " * 20
    left, right = compare(f"{start} end", f"{start} which is here only, end")
    assert text(left, "other") == ""
    assert text(left, "same").endswith("both of them have  end")
    assert text(right, "other").strip() == "which is here only,"
    assert left[0].kind == right[0].kind == "gap"


def test_few_words_between_differences_are_not_left_out():
    middle = "word " * 27
    left, _ = compare(f"a {middle}b", f"c {middle}d")
    assert [span.kind for span in left] == ["other", "same", "other"]


@pytest.mark.parametrize(
    ("counting", "words"),
    [
        (Counting(), ""),
        (CHARACTERS_COUNT, "case"),
        (SYMBOLS_COUNT, "case and white space"),
        (WORDS_COUNT, "case, punctuation and white space"),
    ],
)
def test_what_does_not_count_in_words(counting, words):
    assert counting.uncounted == words


WORDS = st.lists(
    st.sampled_from(["a", "b", "c d", "東京", ",", "\n", "\ud800", "x" * 90]),
    max_size=30,
).map(" ".join)


@pytest.mark.parametrize("counting", [Counting(), WORDS_COUNT])
@given(left=WORDS, right=WORDS)
def test_nothing_is_lost_in_short_texts(counting, left, right):
    sides = compare(left, right, counting)
    for given_text, spans in zip((left, right), sides, strict=True):
        if "gap" not in {span.kind for span in spans}:
            assert text(spans, "same", "other", "moved") == given_text
    if left != right and counting == Counting():
        assert any(
            span.kind != "same" for spans in compare(left, right) for span in spans
        )


@pytest.mark.parametrize("counting", [Counting(), WORDS_COUNT])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("A " * 10**6, "a " * 10**6),
        ("\u0301" * 10**6, "a" + "\u0301" * 10**6),
        ("a " * 10**6, "b " * 10**6),
        ("a" * 10**7, "a" * 10**7 + "b"),
        ("a " * 10**5 + "b", "a " * 10**5 + "c"),
        ("," * 10**6, ";" * 10**6),
        ("", "a " * 10**6),
    ],
)
def test_what_is_shown_is_limited(counting, left, right):
    for spans in compare(left, right, counting):
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

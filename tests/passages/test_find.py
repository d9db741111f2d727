"""Shared passages against the reference: what is listed, where it is, what is covered, and what remains."""

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast import passages
from lshfast._engine.clock import Clock
from lshfast.kernels.text import Texts
from lshfast.passages.plan import make_passage_plan
from lshfast.passages.result import SharedPassages
from lshfast.passages.run import find_against, find_within, hold_texts
from tests.reference import passages as reference

# Texts have letters with marks as one and as several characters.
pytestmark = pytest.mark.filterwarnings("ignore::lshfast.MixedFormsWarning")

# Words of few letters, so that texts share much: of one to four bytes, in both cases, with marks
# and without spaces.
PIECES = [
    "a",
    "b",
    "A",
    "ab",
    "ä",
    "Ä",
    "ȺB",
    "漢",
    "字",
    "ｶ",
    "e\u0301",
    "𐐀",
    "_1",
    "\u0301",
]
SEPARATORS = [" ", "", ", ", "\n\n", "—", "😀"]
TEXT = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(SEPARATORS)), max_size=25
).map(lambda pieces: "".join(piece + separator for piece, separator in pieces))
# Texts out of few different words, some of them pieces of others: with long, nested and periodic
# passages.
WORDS = st.lists(st.sampled_from(["one", "Two", "three"]), max_size=12).map(" ".join)
COPIED = st.lists(WORDS, max_size=3).flatmap(
    lambda parts: st.lists(
        st.lists(st.sampled_from([*parts, "end"]), max_size=5).map(" ".join), max_size=5
    )
)
CORPUS = st.one_of(st.lists(TEXT, max_size=5), COPIED)
LENGTH, UNIT = st.integers(1, 8), st.sampled_from(["word", "char"])
MOST = st.sampled_from([None, 1, 2, 3, 16])


def values(texts, unit):
    return [[found.value for found in reference.units_of(text, unit)] for text in texts]


def rows_of(spans, sides):
    return list(zip(*(spans[name].tolist() for name in (*sides, "units")), strict=True))


def check_places(spans, side, texts, unit):
    """The places in characters and bytes are those of the units."""
    for span in spans:
        text = texts[span[side]]
        found = reference.units_of(text, unit)
        first = found[span[f"{side}_unit"]]
        last = found[span[f"{side}_unit"] + span["units"] - 1]
        assert (span[f"{side}_start"], span[f"{side}_end"]) == (first.start, last.end)
        assert span[f"{side}_start_byte"] == len(text[: first.start].encode())
        assert span[f"{side}_end_byte"] == len(text[: last.end].encode())


@given(CORPUS, LENGTH, MOST, st.sampled_from([0, 1, 2]))
@example(["one two three"] * 6, 3, 2, 0)
@example(["one two three", "One, two; three four"], 3, 16, 31)
def test_words_of_equal_hashes_are_told_apart(texts, length, most, word_bits):
    plan = make_passage_plan(length, "word", most, 1)
    found = find_within([Texts(texts)], plan, Clock(), word_bits=word_bits)
    units = values(texts, "word")
    listed = rows_of(found.spans, ("i", "i_unit", "j", "j_unit"))
    assert listed == sorted(reference.listed_matches(units, units, length, most, True))
    assert found.covered.tolist() == [
        sum(row) for row in reference.later_copies(units, length)
    ]


@given(CORPUS, LENGTH, UNIT, MOST)
@example([], 1, "word", 1)
@example(["", "..."], 1, "char", None)
@example(["a " * 60], 3, "word", 2)
@example(["a b " * 30, "b a " * 9], 4, "word", 3)
@example(["a" * 40, "xa" * 3 + "a" * 9], 5, "char", 1)
@example(["one two three"] * 6, 3, "word", 2)
def test_within(texts, length, unit, most):
    found = passages.find(texts, length=length, unit=unit, most_copies=most, threads=1)
    units = values(texts, unit)
    listed = rows_of(found.spans, ("i", "i_unit", "j", "j_unit"))
    assert listed == sorted(reference.listed_matches(units, units, length, most, True))
    check_places(found.spans, "i", texts, unit)
    check_places(found.spans, "j", texts, unit)
    copies = reference.later_copies(units, length)
    assert found.covered.tolist() == [sum(row) for row in copies]
    assert found.units.tolist() == [
        len(row) if len(row) >= length else 0 for row in units
    ]
    left = [
        reference.without(text, reference.units_of(text, unit), out)
        for text, out in zip(texts, copies, strict=True)
    ]
    assert found.without_copies(texts) == left
    assert [p.text for p in found] == [texts[p.j][p.j_start : p.j_end] for p in found]


@given(CORPUS, CORPUS, LENGTH, UNIT, MOST)
@example(["a b c"], [], 1, "word", None)
@example(["x " + "a " * 30], ["a " * 60, "a a a a b"], 3, "word", 2)
@example(["one two three"] * 3, ["One, two, three"] * 5, 3, "word", 2)
def test_against(texts, others, length, unit, most):
    found = passages.find(
        texts, others, length=length, unit=unit, most_copies=most, threads=1
    )
    held, units = values(others, unit), values(texts, unit)
    matches = reference.listed_matches(held, units, length, most, False)
    wanted = sorted((y, y_unit, x, x_unit, n) for x, x_unit, y, y_unit, n in matches)
    assert rows_of(found.spans, ("i", "i_unit", "j", "j_unit")) == wanted
    check_places(found.spans, "i", texts, unit)
    check_places(found.spans, "j", others, unit)
    shared = reference.shared_units(units, held, length)
    assert found.covered.tolist() == [sum(row) for row in shared]
    assert found.against_covered.tolist() == [
        sum(row) for row in reference.shared_units(held, units, length)
    ]
    left = [
        reference.without(text, reference.units_of(text, unit), out)
        for text, out in zip(texts, shared, strict=True)
    ]
    assert found.without_copies(texts) == left
    assert [p.text for p in found] == [others[p.j][p.j_start : p.j_end] for p in found]


@given(CORPUS, CORPUS, LENGTH, UNIT, MOST)
@example(["x " + "a " * 30, "one two"], ["a " * 60, "a a a a b"], 3, "word", 2)
def test_against_a_stream(texts, others, length, unit, most):
    """The texts are held, and the others read in batches: the same is shared; copies are counted in the texts."""
    plan = make_passage_plan(length, unit, most, 1)
    batches = [Texts([other]) for other in others]
    found = find_against(
        batches, hold_texts([Texts(texts)], plan, Clock()), plan, Clock(), held_side="i"
    )
    held, units = values(others, unit), values(texts, unit)
    wanted = sorted(reference.listed_matches(units, held, length, most, False))
    assert rows_of(found.spans, ("i", "i_unit", "j", "j_unit")) == wanted
    check_places(found.spans, "i", texts, unit)
    check_places(found.spans, "j", others, unit)
    shared = reference.shared_units(units, held, length)
    assert found.covered.tolist() == [sum(row) for row in shared]
    assert found.other_covered.tolist() == [
        sum(row) for row in reference.shared_units(held, units, length)
    ]
    result = SharedPassages(found, plan)
    left = [
        reference.without(text, reference.units_of(text, unit), out)
        for text, out in zip(texts, shared, strict=True)
    ]
    assert result.without_copies(texts) == left
    assert [p.text for p in result] == [texts[p.i][p.i_start : p.i_end] for p in result]


def many_texts(n=60, words=300):
    """Return texts with planted passages, of which some occur often, and with runs of one word."""
    draw = random.Random(5)
    vocabulary = [f"w{i}" if i % 7 else f"Wörter{i}" for i in range(400)]
    texts = [draw.choices(vocabulary, k=words) for _ in range(n)]
    often = draw.choices(vocabulary, k=40)
    for number in range(2 * n):
        source, target = draw.choice(texts), draw.choice(texts)
        piece = (
            source[draw.randrange(len(source)) :][: draw.randrange(5, 80)]
            if number % 5
            else often
        )
        at = draw.randrange(len(target))
        target[at:at] = piece if number % 11 else ["0"] * 70
    return [", ".join(text) for text in texts]


@cache
def wanted_of_many():
    units = values(many_texts()[:6], "word")
    return sorted(reference.listed_matches(units, units, 20, 2, True))


@pytest.mark.slow
@pytest.mark.one_case
def test_levels_and_threads_and_batches(level):
    texts = many_texts()[:6]
    for threads, batch in ((1, 6), (3, 4), (2, 1)):
        plan = make_passage_plan(20, "word", 2, threads)
        batches = (Texts(texts[at : at + batch]) for at in range(0, 6, batch))
        found = find_within(batches, plan, Clock())
        assert rows_of(found.spans, ("i", "i_unit", "j", "j_unit")) == wanted_of_many()


@pytest.mark.weekly
def test_results_do_not_depend_on_threads_batches_or_keys(monkeypatch):
    texts = many_texts()

    def search(threads, batch, piece, pairs):
        monkeypatch.setattr("lshfast.passages.sampling.PIECE_BYTES", piece)
        monkeypatch.setattr("lshfast.passages.groups.MOST_PAIRS", pairs)
        monkeypatch.setattr("lshfast.passages.search.MOST_WINDOWS", pairs)
        plan = make_passage_plan(20, "word", 8, threads)
        batches = [Texts(texts[at : at + batch]) for at in range(0, len(texts), batch)]
        within = find_within(batches, plan, Clock())
        held = hold_texts([Texts(texts[:7]), Texts(texts[7:9])], plan, Clock())
        return within, find_against(batches, held, plan, Clock())

    first = search(1, 60, 1 << 21, 1 << 20)
    assert len(first[0].spans) > 100
    assert len(first[1].spans) > 20
    for other in (search(3, 7, 3000, 100), search(2, 1, 1, 1)):
        for a, b in zip(first, other, strict=True):
            assert np.array_equal(a.spans, b.spans)
            assert np.array_equal(a.cuts, b.cuts)
            assert np.array_equal(a.covered, b.covered)


def test_crowds_are_paired_with_their_first_occurrence():
    """A thousand copies of one passage are 999 pairs, not half a million, and one word a million times is one."""
    passage = " ".join(f"w{i}" for i in range(60))
    texts = [f"{number} {passage} {-number}x" for number in range(1000)]
    found = passages.find(texts, length=50)
    assert rows_of(found.spans, ("i", "j")) == [(0, j, 60) for j in range(1, 1000)]
    found = passages.find(["again " * 200_000], length=50)
    assert rows_of(found.spans, ("i_unit", "j_unit")) == [(0, 1, 199_999)]
    assert found.without_copies(["again " * 200_000]) == ["again "]


@pytest.mark.parametrize("period", [1, 7])
def test_long_windows_of_repeated_words_are_not_compared_one_by_one(period):
    """30,000 windows of 65,536 words overlap: one by one, their comparison would read eight gigabytes."""
    words = [f"w{number}" for number in range(period)] * (100_000 // period)
    text = " ".join(words)
    found = passages.find([text], length=65_536)
    assert rows_of(found.spans, ("i_unit", "j_unit")) == [
        (0, period, len(words) - period)
    ]
    found = passages.find([text], ["x " + text], length=65_536)
    assert rows_of(found.spans, ("i_unit", "j_unit"))[0] == (0, 1, len(words))
    assert found.covered.tolist() == [len(words)]


def test_windows_whose_hashes_collide_are_compared(monkeypatch):
    texts, others = ["a b c d", "x a b c", "b c d"], ["a b c d"] * 5
    plan = make_passage_plan(3, "word", 2, 1)
    held = hold_texts([Texts(others)], plan, Clock())
    wanted = find_against([Texts(texts)], held, plan, Clock())
    assert len(wanted.spans) == 3
    monkeypatch.setattr(
        "lshfast.passages.windows.are_equal_runs", lambda *ranges: False
    )
    found = find_against([Texts(texts)], held, plan, Clock())
    assert np.array_equal(found.spans, wanted.spans)


def test_columns_of_arrow_and_bytes_and_nulls():
    pa = pytest.importorskip("pyarrow")
    texts = ["one two three four", None, "ONE TWO THREE", ""]
    wanted = [(0, 2, 3)]
    for column in (
        pa.array(texts),
        [b"one two three four", None, b"ONE TWO THREE", ""],
    ):
        assert rows_of(passages.find(column, length=3).spans, ("i", "j")) == wanted
    assert passages.find(texts, length=3).without_copies(pa.array(texts)) == [
        "one two three four",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"length": 0}, ValueError, "length must be in 1..65536, not 0"),
        ({"length": 65537}, ValueError, "length must be in 1..65536, not 65537"),
        ({"length": 2.0}, TypeError, "length must be an int, not 2.0"),
        ({"unit": "line"}, ValueError, "unit must be 'word' or 'char', not 'line'"),
        ({"most_copies": 0}, ValueError, "most_copies must be in 1..2147483647, not 0"),
        (
            {"most_copies": 2**31},
            ValueError,
            "most_copies must be in 1..2147483647, not 2147483648",
        ),
        ({"threads": 0}, ValueError, "threads must be at least 1, not 0"),
    ],
)
def test_wrong_arguments(options, error, said):
    with pytest.raises(error, match=f"^{said}$"):
        passages.find(["a"], **options)


def test_texts_that_are_not_utf8():
    with pytest.raises(ValueError, match=r"^texts\[1\]: .*UTF-8"):
        passages.find(["a b", b"a \xff b"], length=1)
    with pytest.raises(ValueError, match=r"^texts\[0\]: .*UTF-8"):
        passages.find(["a b"], [b"\xff"], length=1)
    with pytest.raises(TypeError, match="column of texts"):
        passages.find("a b")


def test_other_texts_than_those_that_were_searched():
    found = passages.find(["one two three", "one two three"], length=2)
    with pytest.raises(ValueError, match="2 texts were searched, not 1"):
        found.without_copies(["one"])
    with pytest.raises(ValueError, match="not the one that was searched"):
        found.without_copies(["one", "one"])


@pytest.mark.parametrize("unit", ["word", "char"])
def test_long_passages(unit):
    draw = random.Random(3)
    passage = " ".join(draw.choices([f"w{i}" for i in range(1000)], k=70_000))
    texts = [f"zero {passage} a", f"b {passage}", f"{passage[:-9]}"]
    for length in (65_536, 60_000):
        found = passages.find(texts, length=length, unit=unit)
        assert {(p.i, p.j) for p in found} == {(0, 1), (0, 2), (1, 2)}


def units_in(spans, side, counts):
    """Return how many units of each text are in some spans, each once."""
    places = {
        (span[side], place)
        for span in spans
        for place in range(span[f"{side}_unit"], span[f"{side}_unit"] + span["units"])
    }
    return [sum(row == text for text, _ in places) for row in range(len(counts))]


@given(CORPUS, CORPUS, LENGTH, UNIT, MOST)
@example(["a b c d"], ["a b c"] * 4, 3, "word", 2)
def test_units_of_passages_that_are_not_listed(texts, others, length, unit, most):
    found = passages.find(
        texts, others, length=length, unit=unit, most_copies=most, threads=1
    )
    every = passages.find(
        texts, others, length=length, unit=unit, most_copies=None, threads=1
    )
    assert (
        every.unlisted.sum()
        == every.against_unlisted.sum()
        == found.unlisted.sum()
        == 0
    )
    assert found.against_covered.tolist() == every.against_covered.tolist()
    listed = units_in(found.spans, "j", others)
    assert (found.against_covered - found.against_unlisted).tolist() == listed
    within = passages.find(texts, length=length, unit=unit, most_copies=most, threads=1)
    assert within.against_unlisted is None
    assert not within.unlisted.any()
    texts_left_out = int((found.against_unlisted > 0).sum())
    assert ("not listed" in repr(found)) == (texts_left_out > 0)

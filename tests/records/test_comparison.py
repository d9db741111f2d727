"""Comparison of values beside its definitions, points, and synonyms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.distances import indel
from lshfast.records import Field, RecordTable, SortBlocks, Synonyms, match_records
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.nearness import LEVELS, labels_of
from lshfast.records.comparison.overlap import TextSimilarity
from lshfast.records.links.scoring import PointsScorer
from lshfast.records.tables.coded_fields import code_field
from tests.reference import records as reference

NONE = Synonyms([])


def comparer(kind, left, right, synonyms=NONE, threads=1, **points):
    field = code_field(
        Field("x", kind=kind, **points),
        [RecordTable({"x": left}), RecordTable({"x": right})],
    )
    return FieldComparer(field, synonyms, threads)


def levels(kind, left, right, synonyms=NONE):
    own = comparer(kind, left, right, synonyms)
    return own.levels(*own.coded.codes).tolist()


def test_a_level_for_each_limit():
    for kind, (labels, limits) in LEVELS.items():
        assert len(labels) == len(limits) + (2 if kind == "date" else 1)
        assert labels_of(kind)[:2] == ("missing", "equal")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.text("abc", max_size=6), st.text("abc", max_size=6)),
        min_size=1,
        max_size=10,
    )
)
def test_names_by_jaro_winkler(pairs):
    for (a, b), level in zip(
        pairs, levels("name", *map(list, zip(*pairs, strict=True))), strict=True
    ):
        if not a or not b:
            assert level == 0
        elif a == b:
            assert level == 1
        else:
            near = [
                abs(reference.jaro_winkler(a, b) - limit) < 1e-6
                for limit in LEVELS["name"][1]
            ]
            if not any(near):
                assert level == 2 + sum(
                    reference.jaro_winkler(a, b) < limit for limit in LEVELS["name"][1]
                )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.text("1ab", max_size=5), st.text("1ab", max_size=5)),
        min_size=1,
        max_size=10,
    )
)
def test_codes_by_edits(pairs):
    for (a, b), level in zip(
        pairs, levels("code", *map(list, zip(*pairs, strict=True))), strict=True
    ):
        assert level == (0 if not a or not b else 1 + min(3, reference.osa(a, b)))


@pytest.mark.slow
def test_values_of_a_megabyte_take_no_quadratic_time():
    """Names are compared by their first 1,000 characters, codes by up to 1,000 edits without exchanges."""
    size = 10**6
    long, other = "12345" * (size // 5), "67890" * (size // 5)
    assert levels("code", [long] * 3, [long[:-1], "13" + long[2:], other]) == [2, 2, 4]
    assert levels("code", [long], ["21" + long[2:]]) == [3]
    assert levels("name", [long] * 2, [long[:1000] + other, other]) == [2, 5]
    left, right = [long, long], [long[:-3], other]
    own = comparer("code", left, right)
    assert own.edits(*own.coded.codes, None).tolist() == [3, 1001]
    assert levels("text", ["a" * size + " 12"], ["12"]) == [7]
    words = "north " * (size // 50)
    own = comparer(
        "name", [words], [words.replace("north", "n")], Synonyms([("north", "n")])
    )
    assert own.edits(*own.coded.codes, None).tolist() == [1001]


def test_points_of_long_values_take_no_more_edits_than_leave_points():
    """Words of long values are not replaced, and edits are counted up to those that leave no points."""
    left = [f"{row} " + "bill will " * 2000 for row in range(30)]
    right = [f"{row + 50} " + "will bill " * 2000 for row in range(30)]
    field = code_field(
        Field("x", kind="name"), [RecordTable({"x": left}), RecordTable({"x": right})]
    )
    own = FieldComparer(field, Synonyms.english())
    calls = []
    own._synonyms.rewritten = lambda *values: calls.append(values)
    i, j = (part.reshape(-1).astype(np.int32) for part in np.meshgrid(*field.codes))
    scorer = PointsScorer(own)
    assert scorer.unequal(i, j).tolist() == [0.0] * 900
    other = np.array([field.values.index(right[1].strip())], np.int32)
    assert own.edits(i[:1], other, None, 5) < own.edits(i[:1], other, None)
    assert not calls


@given(
    st.lists(st.text("ab", max_size=20), min_size=1, max_size=6), st.floats(0, 200), st.floats(0.1, 100),
    st.sampled_from(["name", "code"]),
)  # fmt: skip
def test_points_are_those_of_all_edits(values, penalty, full, kind):
    own = comparer(
        kind,
        [f"a{value}" for value in values],
        [f"a{value}b" for value in values[::-1]],
        points=full,
        penalty=penalty,
    )
    scorer = PointsScorer(own)
    edits = own.edits(*own.coded.codes, None)
    scores = scorer.unequal(*own.coded.codes)
    assert scores.tolist() == scorer.of_edits(edits).tolist()


def test_numbers_by_their_relative_difference():
    left = [
        "100",
        "100",
        "100",
        "100",
        "100",
        "100",
        "100",
        "100",
        "0",
        "-5",
        "",
        "x",
        "1e308",
    ]
    right = [
        "100.0",
        "100.5",
        "104",
        "109",
        "120",
        "150",
        "200",
        "1000",
        "0.0",
        "5",
        "3",
        "3",
        "-1e308",
    ]
    assert levels("number", left, right) == [1, 2, 3, 4, 5, 6, 7, 8, 1, 8, 0, 0, 8]


def test_similarities_of_numbers_are_ratios():
    own = comparer(
        "number",
        ["19.99", "$1,299.00", "20", "0", "-5", "-4"],
        ["20", "649.5", "199.9", "3", "5", "-5"],
    )
    found = own.similarities(*own.coded.codes)
    assert found.tolist() == pytest.approx([0.9995, 0.5, 0.1, 0, 0, 0.8], abs=1e-3)


def test_prices_count_by_their_ratio(monkeypatch):
    """The nearer two prices are, the more they count; a tenth of a price is another price."""
    rng = np.random.default_rng(3)
    names = [
        " ".join("".join(rng.choice(list("abcdefghik"), 6)) for _ in range(5))
        for _ in range(300)
    ]
    prices = np.exp(rng.uniform(1, 8, 300)).round(2)
    other = (prices * np.exp(rng.normal(0, 0.15, 300))).round(2)
    a = {"name": names, "price": [f"{price:.2f}" for price in prices]}
    b = {"name": names, "price": [f"${price:,.2f}" for price in other]}
    monkeypatch.setattr("lshfast.records.link_task.suits_mixture", lambda *_: False)
    found = match_records(a, b)
    assert found.fields[1].kind == "number"
    apart = np.abs(np.log(other / prices))[found.i]
    scores = found.parts[:, 1]
    order = np.argsort(apart)
    assert len(found) == 300
    assert scores[order[:50]].min() > scores[order[-50:]].max()
    assert (np.diff(scores[order]) <= 1e-6).all()
    assert len(set(scores.round(3).tolist())) > 100  # also within a level


def test_lists_are_compared_without_order():
    """Names in another order, and written surname first, hardly differ; others do, and errors count in part."""
    left = ["Tom Hanks, Meg Ryan, Bill Pullman"] * 5
    right = [
        "Pullman, Bill; Ryan, Meg; Hanks, Tom",
        "Bill Pullman | Meg Ryan | Tom Hanks",
        "Tom Hancks, Meg Ryan, Bill Pulman",
        "Tom Hanks, Meg Ryan",
        "Tom Cruise, Kelly McGillis, Val Kilmer",
    ]
    own = comparer("text", [*left, "Robin Williams"], [*right, "Nathan Lane"])
    turned, listed, typed, shorter, other = own.similarities(*own.coded.codes)[
        :5
    ].tolist()
    assert min(turned, listed) > 0.75
    assert 0.3 < typed < 0.85
    assert 0.6 < shorter < 0.95
    assert other < 0.2


def test_dates_by_digits_and_days():
    left = ["2020-03-04"] * 8
    right = [
        "04.03.2020",
        "2020-03-05",
        "2020-04-03",
        "2021-03-04",
        "2020-03-29",
        "2020-12-28",
        "1990-01-01",
        "never",
    ]
    assert levels("date", left, right) == [1, 2, 2, 2, 3, 4, 5, 0]


def test_categories_are_equal_or_not():
    assert levels(
        "category", ["nsw", "NSW ", "vic", None], ["nsw", "nsw", "vid", "vic"]
    ) == [1, 1, 2, 0]


WORDS = st.lists(
    st.sampled_from(["red", "green", "house", "12", "14b", "reed"]),
    min_size=1,
    max_size=4,
).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=6, unique=True), st.data())
def test_texts_by_cosines(texts, data):
    counts = data.draw(
        st.lists(st.integers(1, 5), min_size=len(texts), max_size=len(texts))
    )
    i, j = (
        np.array(part)
        for part in zip(
            *[(i, j) for i in range(len(texts)) for j in range(len(texts))], strict=True
        )
    )
    found = TextSimilarity(texts, np.array(counts), 2).of(i, j)
    expected = [
        reference.text_similarity(texts[a], texts[b], texts, counts)
        for a, b in zip(i, j, strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_values_are_compared_once_for_any_number_of_threads():
    rng = np.random.default_rng(2)
    names = [
        ["".join(rng.choice(list("abcde"), 6)) for _ in range(300)] for _ in range(2)
    ]
    one, three = (comparer("name", *names, threads=threads) for threads in (1, 3))
    rows = rng.integers(0, 300, (2, 5000))
    a, b = one.coded.codes[0][rows[0]], one.coded.codes[1][rows[1]]
    assert (one.levels(a, b) == three.levels(a, b)).all()
    assert (one.levels(a, b) == one.levels(b, a)).all()


# Synonyms


def test_f29_bill_is_william_but_for_one_edit():
    """Section 3.8.2: a table of nicknames reduces the distance from 5 to 1."""
    with_table, without = (
        comparer("name", ["Bill"], ["William"], table)
        for table in (Synonyms.english(), NONE)
    )
    assert indel("bill", "william") == 5
    # With replacements, 4 edits suffice.
    assert reference.osa("bill", "william") == 4
    assert without.edits(*without.coded.codes, None).tolist() == [4]
    assert with_table.edits(*with_table.coded.codes, None).tolist() == [1]
    assert with_table.levels(*with_table.coded.codes).tolist() == [2]
    assert without.levels(*without.coded.codes)[0] > 2


def test_a_nickname_inside_a_longer_value():
    own = comparer(
        "name",
        ["bill smith", "bill smith"],
        ["william smyth", "smith william"],
        Synonyms.english(),
    )
    assert own.edits(*own.coded.codes, None).tolist()[0] == 2


@given(*[st.lists(st.sampled_from("abcde"), max_size=8).map(" ".join)] * 2)
def test_words_are_replaced_by_the_first_related_word_that_is_left(a, b):
    lines = [("a", "b", "c"), ("d", "b")]
    assert Synonyms(lines).rewritten(a, b) == reference.rewritten(a, b, lines)


def test_words_of_several_lines_are_not_related_through_them():
    table = Synonyms([("alexander", "alex"), ("alexandra", "alex")])
    assert table.related("ALEX", "Alexandra")
    assert not table.related("alexander", "alexandra")
    assert table.canonical("alex") == "alex"
    assert Synonyms({"saint": ["st", "ste"]}).canonical("st ives") == "saint ives"
    assert (
        len(Synonyms.english([("frobnicate", "frob")])) == len(Synonyms.english()) + 2
    )
    with pytest.raises(
        TypeError, match=r"a line of synonyms must be a sequence of words, not 'ab'"
    ):
        Synonyms(["ab"])


def test_abbreviations_in_texts():
    own = comparer(
        "text", ["8638 w. third st."], ["8638 West 3rd Street"], Synonyms.english()
    )
    assert own.levels(*own.coded.codes).tolist() == [2]


# Points


@given(
    st.lists(st.none() | st.integers(0, 12), min_size=1, max_size=6),
    st.floats(0, 5),
    st.floats(1, 500),
)
def test_points(edits, penalty, full):
    own = PointsScorer(comparer("name", ["a"], ["b"], points=full, penalty=penalty))
    present = np.array([d for d in edits if d is not None], float)
    found = own.of_edits(present).sum() + own.missing * edits.count(None)
    assert found == pytest.approx(reference.points(edits, full, penalty))


def test_f29_three_hundred_points_and_a_quadratic_penalty():
    """Section 3.8.2: three fields of 100 points each; Bill costs as much as one edit."""
    fields = [Field(name, kind="name") for name in ("name", "address", "phone")]
    a = {
        "name": ["Bill Jones"] * 4,
        "address": ["1 High St"] * 4,
        "phone": ["5550123"] * 4,
    }
    b = {
        "name": ["Bill Jones", "Bill Jonse", "William Jones", "Bill Jones"],
        "address": ["1 high st", "1 High Rd", "1 High St", None],
        "phone": ["5550123"] * 4,
    }
    found = match_records(
        a,
        b,
        fields=fields,
        scoring="points",
        assign="many-to-many",
        threshold=0,
        rules=[SortBlocks("phone", 8)],
    )
    scores = {
        j: score
        for i, j, score in zip(found.i, found.j, found.scores, strict=True)
        if i == 0
    }
    assert scores == {0: 300.0, 1: 300 - 1 - 4, 2: 299.0, 3: 250.0}
    assert found.parts[(found.i == 0) & (found.j == 1)].tolist() == [
        [99.0, 96.0, 100.0]
    ]


def test_points_of_numbers_that_are_far_apart():
    """No penalty, and differences whose squares are no floats."""
    rows = {"x": [1e200]}, {"x": [-1e-200]}
    for penalty, unit, score in (
        (0, 1e-200, 100),
        (0, 1, 100),
        (1, 1, 0),
        (1, 1e-200, 0),
    ):
        field = Field("x", kind="number", penalty=penalty, unit=unit)
        found = match_records(
            *rows, fields=[field], scoring="points", threshold=0, rules=["all"]
        )
        assert found.scores.tolist() == [score]


def test_points_of_numbers_and_dates_by_units():
    a = {"price": ["100"], "born": ["2000-01-10"]}
    b = {"price": ["103"], "born": ["2000-01-20"]}
    fields = [Field("price", kind="number", unit=1), Field("born", kind="date", unit=5)]
    found = match_records(a, b, fields=fields, scoring="points", threshold=0)
    assert found.parts.tolist() == [[91.0, 96.0]]
    found = match_records(a, b, fields=["price:number"], scoring="points", threshold=0)
    assert found.scores[0] == pytest.approx(100 - (100 * 3 / 103) ** 2)

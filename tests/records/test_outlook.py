"""Warnings on links that are doubtful, and what other thresholds would give."""

import itertools
import re

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from lshfast.records.results.outlook import (
    THRESHOLDS,
    expected_precision,
    pattern_warnings,
    steps_text,
    threshold_steps,
)
from tests.records.test_calibration import catalogues, linked_catalogues


@pytest.fixture(scope="module")
def found():
    return linked_catalogues()


def test_a_good_run_has_no_warning(found):
    assert found.summary.warnings == ()
    assert "warning" not in repr(found.summary)


def test_tables_without_errors_have_no_warning():
    table = {
        "name": [f"thing {row * 7919 % 1000}" for row in range(300)],
        "town": ["rome", "oslo", "bern"] * 100,
    }
    found = match_records(table, table)
    assert found.pairs() == [(row, row) for row in range(300)]
    assert found.summary.warnings == ()
    assert found.probabilities.min() > 0.9


@pytest.mark.slow
def test_steps_of_thresholds(found):
    steps = found.summary.steps
    assert [step.threshold for step in steps] == list(THRESHOLDS)
    assert steps[2].links == len(found)
    assert steps[2].precision == pytest.approx(found.probabilities.mean())
    for less, more in itertools.pairwise(steps):
        assert less.links >= more.links
        assert less.precision <= more.precision
        assert less.recall >= more.recall
    assert steps[0].recall == pytest.approx(1, abs=0.01)
    assert steps_text(steps) in found.describe()
    a, b, _ = catalogues(200, 200)
    assert len(match_records(a, b, threshold=0.9)) == steps[4].links
    assert threshold_steps(np.empty(0))[0] == (0.1, 0, 1.0, 1.0)


def test_the_interval_of_the_precision_reaches_down_to_other_evidence(found):
    probabilities, weights = found.probabilities, found.weights
    usual = expected_precision(probabilities, weights)
    assert usual == found.summary.precision
    assert expected_precision(probabilities, weights, 1.0) == usual
    assert expected_precision(probabilities, weights, 0.4) == (
        *usual[:1],
        0.4,
        usual[2],
    )


@pytest.mark.parametrize(
    ("precision", "by_patterns", "number"),
    [(0.97, 0.25, "25"), (0.97, 0.8, None), (0.7, 0.25, None)],
)
def test_links_that_agreement_patterns_deny_are_counted(precision, by_patterns, number):
    texts = list(pattern_warnings(100, precision, by_patterns))
    assert len(texts) == (number is not None)
    assert all(text.startswith(f"about {number} of 100 links") for text in texts)


def test_one_field_that_is_compared_is_named():
    a, b, _ = catalogues(200, 0, seed=2)
    warnings = match_records({"name": a["name"]}, {"name": b["name"]}).summary.warnings
    assert (
        len([text for text in warnings if text.startswith("only 'name' was compared")])
        == 1
    )


@pytest.mark.slow
def test_a_field_without_values_is_named():
    a, b, _ = catalogues(200, 0, seed=2)
    warnings = match_records(
        {**a, "note": ["x"] * 5 + [None] * 195}, {**b, "note": [None] * 200}
    ).summary.warnings
    assert "fields with hardly any values tell little: 'note'" in warnings
    several = {f"note{place}": [None] * 200 for place in range(5)}
    warnings = match_records({**a, **several}, {**b, **several}).summary.warnings
    assert (
        "fields with hardly any values tell little: 'note0', 'note1', 'note2' and 2 more"
        in warnings
    )


def test_tables_without_matches():
    (a, _, _), (_, b, _) = catalogues(0, 200, seed=3), catalogues(0, 200, seed=4)
    found = match_records(a, b)
    assert len(found) < 100
    assert not found.summary.warnings or "warning: " in repr(found.summary)
    empty = match_records({"name": ["Ann Lee", "Bo Ray"]}, {"name": ["Eve Stone"]})
    assert not len(empty)
    assert "warning: " in repr(empty.summary)
    assert re.search("summary has [1-9] warning", repr(empty))


def test_too_few_seeds():
    a, b, _ = catalogues(4, 0, seed=5)
    assert [
        text
        for text in match_records(a, b).summary.warnings
        if "each other's nearest by far" in text
    ]
    assert [step.threshold for step in match_records(a, b).summary.steps] == list(
        THRESHOLDS
    )


def test_tables_without_rows_and_points_have_no_warning_of_weights():
    a, b, _ = catalogues(30, 0, seed=6)
    assert match_records(a, b, scoring="points").summary.warnings == ()
    assert dedup_records({"x": [], "y": []}, fields=["x", "y"]).summary.records == (
        0,
        0,
    )


def test_links_near_the_threshold_and_wrong_links():
    """Half of the products of one table are in the other only as another model of the same kind."""
    rng = np.random.default_rng(8)
    kinds = [
        f"{a} {b}"
        for a in ("red", "blue", "green")
        for b in ("lamp", "table", "chair", "shelf")
    ]
    a = {
        "name": [f"{rng.choice(kinds)} {rng.integers(10, 40)}" for _ in range(400)],
        "size": ["m"] * 400,
    }
    b = {
        "name": [f"{rng.choice(kinds)} {rng.integers(10, 40)}" for _ in range(400)],
        "size": ["m"] * 400,
    }
    assert match_records(a, b).summary.warnings


@pytest.mark.slow
def test_the_expected_precision_has_an_interval_that_marks_narrow():
    rng = np.random.default_rng(6)
    names = ["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(400)]
    born = [
        f"19{year}-0{month}-1{day}"
        for year, month, day in rng.integers((40, 1, 0), (99, 9, 9), (400, 3)).tolist()
    ]
    a = {"name": names[:200], "born": born[:200]}
    b = {
        "name": [name[:-1] for name in names[:50]] + names[200:350],
        "born": born[:50] + born[200:350],
    }
    result = match_records(a, b, threads=1)
    expected, low, high = result.summary.precision
    assert low <= expected <= high
    assert expected == pytest.approx(result.probabilities.mean())
    right = sum(i == j and i < 50 for i, j in result.pairs()) / len(result)
    assert low <= right <= high
    wrong = [(1 - limit) * len(result) for limit in (low, high)]
    assert wrong == pytest.approx([round(count) for count in wrong])
    marks = [(i, j, "same") for i, j in result.pairs()]
    assert tuple(match_records(a, b, labels=marks, threads=1).summary.precision) == (
        1,
        1,
        1,
    )
    assert match_records(a, b, scoring="points", threads=1).summary.precision is None


@pytest.mark.slow
def test_one_column_that_links_nothing_says_how_to_link_what_is_similar():
    """Names that repeat within the tables show nothing."""
    rng = np.random.default_rng(2)
    words = ["north", "south", "first", "metal", "paper", "stone", "motor", "trade"]
    names = [" ".join(rng.choice(words, 3)).title() for _ in range(600)]
    result = match_records({"name": names[:400]}, {"name": names[200:]})
    assert not len(result)
    assert result.summary.warnings[0].endswith(
        "or link what is similar (--scoring points)"
    )
    similar = match_records(
        {"name": names[:400]}, {"name": names[200:]}, scoring="points"
    )
    assert len(similar) >= 200
    assert "agree in it by chance are linked" in similar.summary.warnings[0]


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("both", [0, 60, 350])
def test_one_column_of_different_names_is_linked_beyond_what_each_table_has(both):
    """Pairs within the tables show how often strangers have equal or close names."""
    rng = np.random.default_rng(4)
    syllables = ["ka", "lo", "mi", "ter", "bu", "den", "vil", "san", "ne", "gor"]
    words = sorted({"".join(rng.choice(syllables, 3)) for _ in range(400)})
    names = list(
        dict.fromkeys(" ".join(rng.choice(words, 3)).title() for _ in range(900))
    )
    others = [
        name if place % 3 else f"{name[:4]}{name[5:]}"
        for place, name in enumerate(names)
    ]
    result = match_records(
        {"name": names[:400]}, {"name": others[400 - both : 800 - both]}
    )
    right = sum(i - j == 400 - both for i, j in result.pairs())
    assert len(result) - right <= 2
    assert right >= 0.9 * both

"""Two tables whose scores are calibrated by seeds: texts, few matches, one field, and fields that say the same."""

from functools import cache

import numpy as np
import pytest

from lshfast.records import KeyBlocks, match_records
from lshfast.records.weights.calibration import FEWEST_SEEDS, logistic
from lshfast.records.weights.rivals import prior_odds

BRANDS = ["sonar", "philco", "canox", "linksy", "boseva", "garmo", "nikora"]
KINDS = [
    "television",
    "camera",
    "speaker",
    "router",
    "receiver",
    "monitor",
    "headphones",
    "keyboard",
]
WORDS = [
    "black",
    "silver",
    "wireless",
    "digital",
    "compact",
    "series",
    "widescreen",
    "portable",
    "hd",
    "with",
    "pro",
]


@cache
def catalogues(shared, own, seed=1):
    """Make two catalogues: `shared` products are in both, `own` in one; names and prices differ, descriptions more."""
    rng = np.random.default_rng(seed)

    def product():
        model = (
            f"{''.join(rng.choice(list('ABCDEFGHKLMN'), 3))}-{rng.integers(100, 9999)}"
        )
        return (
            rng.choice(BRANDS),
            rng.choice(KINDS),
            model,
            float(rng.integers(20, 2000)),
        )

    def words(least, most):
        return " ".join(rng.choice(WORDS, rng.integers(least, most)))

    def first(brand, kind, model, price):
        return (
            f"{brand} {words(1, 4)} {kind} - {model}",
            f"{words(4, 9)} {kind}",
            f"{price:.2f}",
        )

    def second(brand, kind, model, price):
        name = f"{brand} {model.replace('-', '')} {kind} {words(0, 3)}"
        price *= rng.uniform(0.9, 1.1)
        return (
            name,
            rng.choice(["", f"{brand} {words(2, 5)}"]),
            f"{price:.2f}" if rng.random() < 0.6 else "",
        )

    both = [product() for _ in range(shared)]
    rows = [first(*each) for each in [*both, *(product() for _ in range(own))]]
    others = [second(*each) for each in [*both, *(product() for _ in range(own))]]
    columns = "name", "description", "price"
    tables = [
        dict(zip(columns, map(list, zip(*table, strict=True)), strict=True))
        for table in (rows, others)
    ]
    return *tables, shared


def f1(found, shared):
    hits = sum(i == j and i < shared for i, j in found.pairs())
    return 2 * hits / (len(found) + shared)


@cache
def linked_catalogues():
    """Return the links of two catalogues, which several modules look at."""
    a, b, _ = catalogues(200, 200)
    return match_records(a, b, threads=1)


@pytest.fixture(scope="module")
def found():
    return linked_catalogues(), 200


@pytest.mark.slow
def test_products_are_found_without_options(found):
    result, shared = found
    assert f1(result, shared) >= 0.95
    assert result.weights.matches == pytest.approx(shared, rel=0.1)
    assert result.parts.sum(axis=1) == pytest.approx(result.scores)
    assert result.probabilities == pytest.approx(
        result.weights.probability(result.scores)
    )
    assert (result.scores >= result.summary.threshold - 1e-9).all()


def test_the_prior_beside_factors_is_not_shown(found):
    assert f"expected matches: {found[0].weights.matches:,.1f}\n" in found[0].describe()
    assert "is a match" not in found[0].describe()


@pytest.mark.slow
def test_threads_do_not_change_the_result(found):
    a, b, _ = catalogues(200, 200)
    other = match_records(a, b, threads=3)
    assert other.pairs() == found[0].pairs()
    assert (other.scores == found[0].scores).all()
    assert other.summary == found[0].summary


@pytest.mark.slow
def test_few_matches_are_found():
    a, b, shared = catalogues(40, 600, seed=2)
    result = match_records(a, b)
    hits = sum(i == j and i < shared for i, j in result.pairs())
    assert hits >= 0.9 * shared


def test_one_common_field():
    a, b, shared = catalogues(200, 100, seed=3)
    assert f1(match_records({"name": a["name"]}, {"name": b["name"]}), shared) >= 0.9


def test_writing_tells_apart_what_has_the_same_letters():
    """Each function is described twice, with marks around other words; b leaves words out and keeps the marks."""
    rng = np.random.default_rng(6)
    words = ["".join(rng.choice(list("aeiounrstlmdk"), 6)) for _ in range(600)]

    def sentence():
        return list(rng.choice(words, 9, replace=False))

    def marked(sentence, places):
        return [
            f"*{word}*" if at in places else word for at, word in enumerate(sentence)
        ]

    twins = [
        marked(own, places)
        for own in [sentence() for _ in range(50)]
        for places in ((0, 4), (2, 6))
    ]
    rows = [*twins, *(sentence() for _ in range(150))]
    a = [" ".join(row) for row in rows]
    b = [" ".join(word for at, word in enumerate(row) if at != 8) for row in rows]
    result = match_records({"text": a}, {"text": b}, rules=["nearest"])
    assert sum(i == j for i, j in result.pairs()) >= 0.95 * len(rows)
    assert "as written" in result.explain(0)


def test_lone_surrogates_in_what_is_written():
    a, b, shared = catalogues(100, 0, seed=8)
    spoilt = {**a, "name": [f"{name} \ud800" for name in a["name"]]}
    assert f1(match_records(spoilt, b), shared) >= 0.9


@pytest.mark.slow
def test_fields_that_say_the_same_share_their_weight(monkeypatch):
    """Members of a household differ in their given name and date of birth only; the address is there three times."""
    monkeypatch.setattr("lshfast.records.link_task.suits_mixture", lambda *_: False)
    rng = np.random.default_rng(4)

    def word(letters):
        return "".join(rng.choice(list("aeiounrstlmdk"), letters))

    def household(size):
        surname = word(7)
        street = f"{rng.integers(1, 200)} {word(8)} street"
        town = word(6)
        for _ in range(size):
            born = f"{rng.integers(1930, 2005)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
            yield word(5), surname, street, town, born

    def table(rows):
        given, surname, street, town, born = map(list, zip(*rows, strict=True))
        address = [f"{s} {t}" for s, t in zip(street, town, strict=True)]
        return {
            "given": given,
            "surname": surname,
            "street": street,
            "town": town,
            "address": address,
            "born": born,
        }

    def mistyped(value):
        place = rng.integers(len(value))
        return (
            value[:place] + "x" + value[place + 1 :] if rng.random() < 0.15 else value
        )

    couples = [tuple(household(2)) for _ in range(75)]
    alone = [next(household(1)) for _ in range(200)]
    both = [one for one, _ in couples] + alone[:100]
    first = both + alone[100:150]
    second = (
        [tuple(map(mistyped, row)) for row in both]
        + [other for _, other in couples]
        + alone[150:]
    )
    fields = [
        "given",
        "surname",
        "street",
        "town",
        "address",
        "born",
    ]  # by default, the address would not count
    result = match_records(table(first), table(second), fields=fields)
    assert f1(result, len(both)) >= 0.95
    bits = {own.field: own.bits[1] for own in result.weights.fields}
    assert (
        bits["street"] + bits["town"] + bits["address"] < bits["given"] + bits["born"]
    )


def test_duplicates_in_one_table_are_no_rivals():
    a, b, shared = catalogues(100, 50, seed=5)
    twice = {name: values + values[:50] for name, values in b.items()}
    result = match_records(a, twice, assign="one-to-many")
    hits = sum(j in (i, 150 + i) and i < shared for i, j in result.pairs())
    assert hits >= 0.95 * (shared + 50)
    assert hits >= 0.9 * len(result)


def test_too_few_seeds_leave_the_weights_to_em():
    a, b, _ = catalogues(FEWEST_SEEDS - 10, 0)
    result = match_records(a, b, rules=[KeyBlocks("price")])
    assert "all_fields" not in result.names
    assert "all_fields" in match_records(*catalogues(100, 0)[:2]).names


@pytest.mark.weekly
def test_many_links_of_a_record_leave_the_weights_to_em(found):
    a, b, _ = catalogues(200, 200)
    assert "all_fields" not in match_records(a, b, assign="many-to-many").names


def test_the_regression_is_at_its_optimum():
    """The slope of the penalised likelihood is 0 in each factor that is above 0, and at most 0 in the others."""
    rng = np.random.default_rng(6)
    features = rng.normal(size=(500, 4))
    matches = rng.random(500) < 1 / (
        1 + np.exp(-(features @ [1.5, 0.5, 0.0, -1.0] - 0.5))
    )
    factors, base = logistic(features, matches)
    wrong = matches - 1 / (1 + np.exp(-(features @ factors + base)))
    slopes = features.T @ wrong - factors
    assert factors[3] == 0
    assert slopes[3] < 0
    assert slopes[factors > 0] == pytest.approx(0, abs=1e-4)
    assert wrong.sum() == pytest.approx(0, abs=1e-3)
    assert factors[:2] == pytest.approx([1.5, 0.5], abs=0.4)


def test_seeds_that_are_told_apart_without_error_have_finite_factors():
    factors, base = logistic(
        np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([False, False, True, True])
    )
    assert np.isfinite(factors).all()
    assert 0 < -base / factors[0] < 10


def test_the_prior_is_found():
    """Scores are log odds beside an even prior; three of ten are matches."""
    rng = np.random.default_rng(7)
    is_match = rng.random(20_000) < 0.3
    # The log of the ratio of both densities is the score.
    scores = rng.normal(np.where(is_match, 2.0, -2.0), 2.0)
    assert prior_odds(scores) == pytest.approx(np.log(0.3 / 0.7), abs=0.1)


def test_texts_as_they_are_written_count_if_they_differ_from_their_normal_forms(
    monkeypatch,
):
    monkeypatch.setattr("lshfast.records.link_task.suits_mixture", lambda *_: False)
    a, b = two_plain()
    assert "as written" not in match_records(a, b).explain(0)
    capitals = {name: [value.title() for value in values] for name, values in a.items()}
    assert "trigrams as written" in match_records(capitals, b).explain(0)


def two_plain():
    """Make two tables of 200 records in normal form, of which a tenth have another second word."""
    rng = np.random.default_rng(5)
    words = ["".join(rng.choice(list("abcdefghiklmnoprstuw"), 7)) for _ in range(600)]
    a = {"name": words[:200], "town": words[200:400]}
    return a, {"name": words[:200], "town": words[400:420] + words[220:400]}

"""Weights that are estimated without labels, on tables whose errors are known."""

import numpy as np
import pytest

from lshfast.records import Field, KeyBlocks, match_records
from lshfast.records.weights.fellegi_sunter import EXACT_LEVEL

RATES = {"x": 0.95, "y": 0.85, "z": 0.7, "w": 0.9}  # of agreement, given a match
VALUES = {"x": 100, "y": 60, "z": 200, "w": 40}
SIZE, SHARED, BLOCKS = 4000, 2500, 200


@pytest.fixture(scope="module")
def tables():
    """Two tables: row i of both is one thing for i < SHARED. Blocks do not depend on the fields."""
    rng = np.random.default_rng(11)
    a, b = {}, {}
    for name, rate in RATES.items():
        first = rng.integers(0, VALUES[name], SIZE)
        second = rng.integers(0, VALUES[name], SIZE)
        agree = np.flatnonzero(rng.random(SIZE) < rate)
        agree = agree[agree < SHARED]
        other = (first + 1 + rng.integers(0, VALUES[name] - 1, SIZE)) % VALUES[name]
        second[:SHARED] = other[:SHARED]
        second[agree] = first[agree]
        a[name], b[name] = [f"v{v}" for v in first], [f"v{v}" for v in second]
    blocks = rng.integers(0, BLOCKS, (2, SIZE))
    blocks[1, :SHARED] = blocks[0, :SHARED]
    return {**a, "block": blocks[0].tolist()}, {**b, "block": blocks[1].tolist()}


def block(record):
    return record["block"]


@pytest.fixture(scope="module")
def result(tables):
    fields = [Field(name, kind="category") for name in RATES]
    return match_records(
        *tables,
        fields=fields,
        rules=[KeyBlocks(block, max_block=10**6)],
        assign="many-to-many",
        threads=1,
    )


@pytest.mark.slow
def test_rates_of_agreement_are_found(result):
    for own, (name, rate) in zip(result.weights.fields, RATES.items(), strict=True):
        error = np.sqrt(rate * (1 - rate) / SHARED)
        assert own.field == name
        # Matches that differ in more fields than they agree in are hardly told from strangers.
        assert abs(own.m[EXACT_LEVEL] - rate) < 4 * error + 0.05, name
        assert own.m.sum() == pytest.approx(1)
        # Of all pairs, 1 of 6,400 is a match, and does not count.
        assert own.u[EXACT_LEVEL] == pytest.approx(1 / VALUES[name], rel=0.03)


def test_the_number_of_matches_is_found(result):
    """Matches that agree in few fields look like other pairs: the estimate has a larger error than a count."""
    assert result.weights.matches == pytest.approx(SHARED, rel=0.15)
    assert result.weights.prior == pytest.approx(SHARED / SIZE**2, rel=0.15)


def test_weights_are_likelihood_ratios(result):
    for own in result.weights.fields:
        ratios = np.log2(own.m[EXACT_LEVEL:] / own.u[EXACT_LEVEL:])
        assert own.bits[EXACT_LEVEL:] == pytest.approx(ratios, abs=1e-9)
        assert own.bits[0] == 0


@pytest.mark.slow
def test_probabilities_are_calibrated(tables):
    """Probabilities are those of random pairs with such scores. In a block, the odds are `BLOCKS` times as high."""
    found = match_records(
        *tables, fields=[Field(name, kind="category") for name in RATES], rules=[KeyBlocks(block, max_block=10**6)],
        threshold=0.05, assign="many-to-many",
    )  # fmt: skip
    true = (found.i == found.j) & (found.i < SHARED)
    odds = BLOCKS * found.probabilities / (1 - found.probabilities)
    expected = odds / (1 + odds)
    for low, high in ((0.5, 0.95), (0.95, 1.0)):
        chosen = (found.probabilities >= low) & (found.probabilities < high)
        assert chosen.sum() > 500
        error = np.sqrt((expected * (1 - expected))[chosen].sum()) / chosen.sum()
        assert abs(true[chosen].mean() - expected[chosen].mean()) < 4 * error


def test_parts_add_up_to_scores(result):
    assert result.parts.sum(axis=1) == pytest.approx(result.scores)
    assert result.probabilities == pytest.approx(
        result.weights.probability(result.scores)
    )
    assert (result.scores >= result.summary.threshold).all()
    assert result.weights.bits_of(0.5) == pytest.approx(result.summary.threshold)


@pytest.mark.slow
def test_agreement_on_a_rare_value_weighs_more():
    rng = np.random.default_rng(3)
    names = np.array(["smith"] * 900 + [f"rare{i}" for i in range(600)])
    town = rng.integers(0, 300, 1500)
    a = {"name": names.tolist(), "town": town.tolist()}
    b = {"name": names.tolist(), "town": town.tolist()}
    fields = [Field("name", kind="name"), Field("town", kind="code")]
    found = match_records(
        a, b, fields=fields, rules=[KeyBlocks("town")], assign="many-to-many"
    )
    values = found.fields[0].values
    bits = found.weights.fields[0].value_bits
    assert bits[values.index("rare7")] > bits[values.index("smith")] + 5
    same = match_records(
        a, b, fields=fields, rules=[KeyBlocks("town")], frequencies=False
    )
    assert same.weights.fields[0].value_bits is None


@pytest.mark.slow
def test_dates_of_small_tables_weigh_as_if_all_dates_were_known():
    """The chance that two of 25,000 dates are equal is the same in tables of 100 as of 10,000 records."""
    random = np.random.default_rng(3)
    dates = np.arange(np.datetime64("1940-01-01"), np.datetime64("1940-01-01") + 25_000)
    for rows in (100, 2_000):
        born = random.choice(dates, (2, rows)).astype(str).tolist()
        born[1][: rows // 2] = born[0][: rows // 2]
        names = [f"{chr(97 + k % 26)}{k:05}" for k in range(2 * rows)]
        a = {"name": names[:rows], "born": born[0]}
        b = {
            "name": [*names[: rows // 2], *names[rows : rows + rows - rows // 2]],
            "born": born[1],
        }
        result = match_records(a, b, fields=["name:code", "born:date"])
        weights = result.weights.fields[1]
        common = min(set(born[0][: rows // 2]), key=born[0].count)
        value = result.fields[1].values.index(common.replace("-", ""))
        assert abs(weights.value_bits[value] - np.log2(25_000)) < 2.5

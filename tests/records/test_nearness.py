"""Links by dates and numbers that are near but hardly ever equal, where many are near by chance."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from tests.records.syllables import SYLLABLES

FIRST_DAY = np.datetime64("2023-01-01")


def words(rng):
    return f"{''.join(rng.choice(SYLLABLES, 2))} {rng.choice(('school', 'cafe', 'church', 'museum'))}"


def sites(rng, count):
    """Return names, and coordinates around thirty towns."""
    towns = rng.integers(0, 30, count)
    latitude = 50 + towns % 6 + rng.normal(0, 0.06, count)
    longitude = towns // 6 - 2.5 + rng.normal(0, 0.08, count)
    return [words(rng) for _ in range(count)], latitude, longitude


def measured_again(rng, values):
    return [f"{value + rng.normal(0, 0.0006):.4f}" for value in values]


def quality(pairs, true):
    pairs, true = set(pairs), set(true)
    return len(pairs & true) / max(1, len(pairs)), len(pairs & true) / len(true)


@pytest.mark.one_case
@pytest.mark.parametrize("single", [False, True])
def test_places_are_linked_by_coordinates_that_hardly_differ(single):
    rng = np.random.default_rng(3)
    names, latitude, longitude = sites(rng, 900)
    first = {
        "name": names,
        "latitude": measured_again(rng, latitude),
        "longitude": measured_again(rng, longitude),
    }
    again = {
        "name": [name if rng.random() < 0.6 else name.split()[0] for name in names],
        "latitude": measured_again(rng, latitude),
        "longitude": measured_again(rng, longitude),
    }
    if single:
        pairs = dedup_records(
            {name: first[name] + again[name][:200] for name in first}
        ).pairs()
        precision, recall = quality(pairs, [(row, 900 + row) for row in range(200)])
    else:
        a = {name: values[:600] for name, values in first.items()}
        b = {name: values[300:] for name, values in again.items()}
        precision, recall = quality(
            match_records(a, b).pairs(), [(300 + row, row) for row in range(300)]
        )
    assert precision > 0.95
    assert recall > 0.9


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y"])
def test_bookings_are_linked_by_days_and_sums_that_are_near(form):
    rng = np.random.default_rng(4)
    days, sums = rng.integers(0, 360, 900), rng.lognormal(5, 1.2, 900)
    parties = [words(rng) for _ in days]

    def table(rows, later, fee):
        return {
            "day": [
                (FIRST_DAY + days[row] + rng.integers(0, later + 1))
                .item()
                .strftime(form)
                for row in rows
            ],
            "sum": [f"{sums[row] * (1 - rng.uniform(0, fee)):.2f}" for row in rows],
            "party": [parties[row] if rng.random() > 0.05 else "" for row in rows],
        }

    result = match_records(table(range(600), 0, 0), table(range(300, 900), 6, 0.03))
    precision, recall = quality(
        result.pairs(), [(300 + row, row) for row in range(300)]
    )
    assert precision > 0.9
    assert recall > 0.7
    assert "within 3 days" in result.weights.fields[0].labels


def test_dates_of_birth_and_prices_keep_the_levels_of_their_kinds():
    rng = np.random.default_rng(5)
    born = [
        f"{rng.integers(1930, 2010)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
        for _ in range(400)
    ]
    table = {
        "born": born,
        "price": [f"{price:.2f}" for price in rng.lognormal(4, 1, 400)],
    }
    labels = [field.labels[2] for field in match_records(table, table).weights.fields]
    assert labels == ["1 edit or day and month exchanged", "within 1 %"]


def test_numbers_that_are_not_finite_apart_are_compared():
    table = {
        "value": [f"{number}e307" for number in np.linspace(-17, 17, 60)],
        "code": [f"c{row}x" for row in range(60)],
    }
    assert len(match_records(table, table, fields=["value:number", "code"])) == 60

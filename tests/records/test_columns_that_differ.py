"""Columns that say nothing of a match: written in other ways in the other table, or different by their nature."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from tests.records.test_chance_seeds import articles

MATCHES = 300


def persons(n, rng):
    """Return the columns of n persons."""
    words = [
        word for title in articles(n, rng)["title"] for word in title.title().split()
    ]
    surnames, given_names = words[:400], words[400:480]
    days = rng.integers(0, 20_000, n).astype("timedelta64[D]")
    return {
        "name": [f"{rng.choice(given_names)} {rng.choice(surnames)}" for _ in range(n)],
        "born": (np.datetime64("1940-01-01") + days).astype(str).tolist(),
        "town": rng.choice(words[500:580], n).tolist(),
    }


def overlapping(n, rng):
    """Return two tables of n persons, of whom the first MATCHES of the second are the last of the first."""
    every = persons(2 * n - MATCHES, rng)
    first = {name: values[:n] for name, values in every.items()}
    second = {name: values[n - MATCHES :] for name, values in every.items()}
    return first, second


@pytest.mark.parametrize("columns", [2, 4])
def test_columns_that_are_recoded_hide_no_matches(columns):
    """A class is A0 to A29 in one table, and two words in the other."""
    rng = np.random.default_rng(8)
    a, b = overlapping(1000, rng)
    words = [
        f"{first} {second}"
        for first in ["alpha", "beta", "gamma"]
        for second in [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
        ]
    ]
    for column in range(columns):
        classes = rng.integers(0, 30, 1700)
        a[f"class{column}"] = [f"A{number}" for number in classes[:1000].tolist()]
        b[f"class{column}"] = [words[number] for number in classes[700:].tolist()]
    found = match_records(a, b)
    assert len(found) >= 0.95 * MATCHES
    assert (found.i - 700 == found.j).mean() > 0.98


def test_columns_that_differ_in_all_matches_of_a_person_hide_none():
    """A runner's race and club are others in each row; the name and the date of birth are equal."""
    rng = np.random.default_rng(9)
    a, b = overlapping(1000, rng)
    together = {name: a[name] + b[name] for name in a}
    places = articles(150, rng)["title"]
    together["race"] = rng.choice(places, 2000).tolist()
    together["club"] = rng.choice(places, 2000).tolist()
    found = dedup_records(together)
    assert len(found) >= 0.95 * MATCHES
    assert (found.j - found.i == 300).mean() > 0.98

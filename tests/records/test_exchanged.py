"""Values that are exchanged between two fields of a record."""

import numpy as np
import pytest

from lshfast.records import match_records

SYLLABLES = (
    "bel",
    "dor",
    "fan",
    "gil",
    "hus",
    "jen",
    "kor",
    "lam",
    "mir",
    "nok",
    "pel",
    "ros",
)


def people(count, seed=1):
    """Return the columns of people."""
    random = np.random.default_rng(seed)
    words = np.array([first + second for first in SYLLABLES for second in SYLLABLES])
    days = np.arange(np.datetime64("1930-01-01"), np.datetime64("1930-01-01") + 25_000)
    return {
        "given": random.choice(words, count).tolist(),
        "surname": random.choice(
            [word + end for word in words for end in ("man", "sen", "ton")], count
        ).tolist(),
        "born": random.choice(days, count).astype(str).tolist(),
        "town": random.choice([f"{word}ford" for word in SYLLABLES], count).tolist(),
    }


def taken(columns, rows):
    """Return some rows of columns."""
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def exchange(columns, rows, misspelt=False):
    """Exchange the names of some rows."""
    for row in rows:
        columns["given"][row], columns["surname"][row] = (
            columns["surname"][row],
            columns["given"][row],
        )
        if misspelt:
            columns["given"][row] = columns["given"][row][:-1] + "x"


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("misspelt", [False, True])
def test_records_with_exchanged_names_are_linked(misspelt):
    everyone = people(1500)
    a = taken(everyone, range(1000))
    b = taken(everyone, range(500, 1500))
    exchanged = range(0, 500, 25)
    exchange(b, exchanged, misspelt)
    result = match_records(a, b)
    links = set(result.pairs())
    assert {(500 + row, row) for row in exchanged} <= links
    assert len(links - {(500 + row, row) for row in range(500)}) <= 5
    explained = str(result.explain_pair(500, 0))
    assert explained.count("exchanged with another field") == 2


@pytest.mark.slow
def test_exchanged_values_of_strangers_are_no_evidence():
    """A match is no other one of the same two teams, played elsewhere on another day."""
    random = np.random.default_rng(4)
    teams = np.array(
        [first + second for first in SYLLABLES for second in SYLLABLES[:4]]
    )
    days = np.arange(np.datetime64("2015-01-01"), np.datetime64("2015-01-01") + 2_000)
    first, second = np.divmod(random.permutation(48 * 48), 48)
    home, away = teams[first], teams[second]
    played = random.choice(days, len(home)).astype(str)
    score = random.integers(0, 2_000, len(home)).astype(str)
    games = {
        "home:name": home.tolist(),
        "away:name": away.tolist(),
        "played:date": played.tolist(),
        "spectators:code": score.tolist(),
    }
    fields = list(games)
    columns = {name.split(":")[0]: values for name, values in games.items()}
    a = taken(columns, range(1500))
    b = taken(columns, range(1200, 2304))
    links = set(match_records(a, b, fields=fields).pairs())
    right = {(1200 + row, row) for row in range(300)}
    assert len(links - right) <= 3
    assert len(right - links) <= 3


@pytest.mark.slow
def test_values_of_megabytes_take_no_time():
    """Only the beginnings of exchanged values are compared, so an adversary cannot stall a run."""
    everyone = people(60)
    a = taken(everyone, range(60))
    b = taken(everyone, range(60))
    exchange(b, range(0, 60, 4))
    for row in range(0, 60, 12):
        a["surname"][row] += "x" * 1_000_000
        b["given"][row] += "y" * 1_000_000
    links = match_records(a, b).pairs()
    assert {(row, row) for row in range(60) if row % 4} <= set(links)

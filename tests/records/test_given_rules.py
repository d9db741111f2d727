"""Rules that are the only evidence link what they bring, in one table and in two."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records

ROWS, COPIES = 300, 30


def word(rng, size=7):
    return "".join(rng.choice(list("abcdefghijklmnoprstuvw"), size))


def tables(rng, others=True):
    """Return two tables of which the first rows have the same account or e-mail, and nothing else in common."""
    numbers = rng.choice(900_000, 3 * ROWS, replace=False) + 100_000
    accounts = [f"AC{number}" for number in numbers.tolist()]
    emails = [f"{word(rng)}@example.com" for _ in range(3 * ROWS)]
    half = COPIES // 2
    sides = []
    for side in range(2):
        own = slice(side * ROWS, (side + 1) * ROWS)
        sides.append({"account": accounts[own], "email": emails[own]})
        if others:
            sides[-1]["name"] = [f"{word(rng)} {word(rng)}" for _ in range(ROWS)]
            sides[-1]["city"] = rng.choice(["oslo", "rome", "bonn"], ROWS).tolist()
    for row in range(COPIES):
        column = "account" if row < half else "email"
        sides[1][column][row] = sides[0][column][row]
    return sides


def links_of(sides, way, rules):
    if way == "two tables":
        return match_records(*sides, rules=rules, threads=1)
    both = {name: sides[0][name] + sides[1][name] for name in sides[0]}
    return dedup_records(
        both,
        rules=rules,
        threads=1,
        assign="one-to-one" if way == "one to one" else None,
    )


def expected(way, rows):
    shift = 0 if way == "two tables" else ROWS
    return {(row, row + shift) for row in rows}


WAYS = "two tables", "one table", "one to one"


@pytest.mark.one_case
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("others", [True, False])
def test_a_rule_links_what_only_it_shows(way, others):
    sides = tables(np.random.default_rng(1), others)
    links = set(links_of(sides, way, ["key:account"]).pairs())
    assert expected(way, range(COPIES // 2)) <= links
    assert len(links) <= COPIES


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("way", ["one table", "one to one"])
def test_several_rules_link_what_each_of_them_shows(way):
    sides = tables(np.random.default_rng(2))
    result = links_of(sides, way, ["key:account", "key:email"])
    assert set(result.pairs()) == expected(way, range(COPIES))
    assert any("rules alone" in warning for warning in result.summary.warnings)
    assert (result.probabilities > 0.5).all()
    assert len(result.merged()["id"]) == 2 * ROWS - COPIES


@pytest.mark.parametrize("rule", ["key:city", "key:born"])
def test_a_rule_whose_key_names_no_record_links_nothing(rule):
    rng = np.random.default_rng(3)
    days = rng.integers((40, 1, 1), (99, 13, 29), (ROWS, 3)).tolist()
    table = {
        "name": [f"{word(rng)} {word(rng)}" for _ in range(ROWS)],
        "city": rng.choice(["oslo", "rome", "bonn"], ROWS).tolist(),
        "born": [f"19{year:02d}-{month:02d}-{day:02d}" for year, month, day in days],
    }
    table["born"][7] = table["born"][5]
    assert len(dedup_records(table, rules=[rule], threads=1)) == 0


def test_a_household_with_one_telephone_is_no_match():
    rng = np.random.default_rng(4)
    families = 80
    first = [word(rng) for _ in range(2 * families)]
    surname = [word(rng) for _ in range(families)] * 2
    phone = [
        f"555-{number}"
        for number in rng.choice(900_000, families, replace=False) + 100_000
    ] * 2
    table = {"first": first, "surname": surname, "phone": phone}
    assert len(dedup_records(table, rules=["key:phone"], threads=1)) == 0

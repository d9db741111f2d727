"""Which part of the matches blocking rules are likely to bring, and the choice of rules by it."""

from itertools import product

import numpy as np
import pytest

from lshfast.records import (
    NearestBlocks,
    dedup_records,
    link_model,
    link_task,
    match_records,
)
from lshfast.records.candidates import defaults as rules_of_defaults
from lshfast.records.candidates.reach import (
    ChosenRules,
    Reach,
    seed_places,
    worthwhile,
)
from lshfast.records.candidates.rules import KeyBlocks, SortBlocks
from lshfast.records.candidates.union import candidate_pairs
from lshfast.records.linkage import RulePairs
from lshfast.records.results.display import rules_text
from lshfast.records.weights.calibration import find_seeds
from tests.records.test_blocking import linkage
from tests.records.test_calibration import catalogues


def people(n, seed=1):
    """Make two tables of the same people, half of whom have another town in the second one; a row of both is one."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcdefghiklmnoprstuw"), 7)) for _ in range(4 * n)]
    names = [
        f"{given} {surname}"
        for given, surname in zip(words[:n], words[n : 2 * n], strict=True)
    ]
    towns = words[2 * n : 3 * n]
    others = [town if row % 2 else words[3 * n + row] for row, town in enumerate(towns)]
    return {"name": names, "town": towns}, {"name": names, "town": others}


def test_the_reach_of_each_rule_is_its_part_of_the_seeds():
    a, b = people(100)
    found = match_records(a, b, rules=["key:town", "sort:name:window=2", "nearest"])
    towns, names, whole = found.summary.rules
    assert found.summary.reach == Reach(100, 1.0)
    assert (towns.reach, names.reach, whole.reach) == (0.5, 1.0, None)
    assert (
        "these rules reach 100.0% of 100 seed pairs without nearest, by which these are found"
        in found.describe()
    )
    assert (
        "reached           100.0%   of 100 seed pairs, by rules other than nearest"
        in repr(found.summary)
    )


@pytest.mark.slow
def test_rules_by_hand_that_bring_few_pairs():
    a, b = people(100)
    found = match_records(a, b, rules=["key:town"])
    assert found.summary.reach == Reach(100, 0.5)
    assert found.summary.warnings[0].startswith(
        "the blocking rules bring only 50% of 100 pairs of records"
    )
    assert "--block nearest" in found.summary.warnings[0]
    assert "without nearest" not in found.describe()
    assert match_records(
        a, b, rules=["key:town"], scoring="points"
    ).summary.warnings == (found.summary.warnings[0],)
    for rules in (["key:name"], ["key:town", "nearest"], ["all"], None):
        assert not [
            text
            for text in match_records(a, b, rules=rules).summary.warnings
            if "blocking rules" in text
        ]


@pytest.fixture
def by_ranks(monkeypatch):
    """Let the ranks of whole records tell matches, as for tables of texts."""
    monkeypatch.setattr(link_task, "suits_mixture", lambda *_: False)


def test_default_rules_that_bring_few_pairs(monkeypatch, by_ranks):
    a, b = people(100)
    monkeypatch.setattr(
        link_model,
        "default_rules",
        lambda own: ChosenRules.given(own, [KeyBlocks("town"), NearestBlocks()]),
    )
    warnings = match_records(a, b).summary.warnings
    assert warnings[0].startswith(
        "without the nearest records, the blocking rules bring only 50% of 100 pairs of records"
    )


@pytest.mark.one_case
@pytest.mark.parametrize("rules", [["all"], ["key:town", "all"], ["nearest"]])
def test_what_is_not_measured(rules):
    a, b = people(100)
    found = match_records(a, b, rules=rules)
    assert found.summary.reach is None
    assert "reach" not in repr(found.summary)
    assert "reach" not in rules_text(found.summary.rules)


def test_few_seeds_and_large_tables_are_not_measured():
    a, b = people(15)
    assert match_records(a, b, rules=["key:town"]).summary.reach is None
    a, b = people(100)
    assert seed_places(linkage(a, b)) is not None
    assert seed_places(linkage(a, b), most_rows=199) is None


def test_duplicates_within_one_table():
    a, b = people(100)
    table = {name: a[name] + b[name] for name in a}
    linked = linkage(table)
    i, j = linked.rows_of(seed_places(linked))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [
        (row, row + 100) for row in range(100)
    ]
    found = dedup_records(table, rules=["key:town"])
    assert found.summary.reach == Reach(100, 0.5)
    assert found.summary.warnings[0].startswith("the blocking rules bring only 50%")
    assert (
        seed_places(linked, NearestBlocks().pairs(linked)).tolist()
        == seed_places(linked).tolist()
    )


@pytest.mark.slow
def test_seeds_of_a_sample_are_among_all():
    """Texts that are not in the sample are rivals all the same."""
    a, b, _ = catalogues(300, 300)
    linked = linkage(a, b)
    every = seed_places(linked, NearestBlocks().pairs(linked))
    some = seed_places(linked, sample_texts=150)
    assert 20 <= len(some) < len(every) / 2
    assert np.isin(some, every).all()


def test_rules_are_chosen_until_the_reach_stops_growing():
    def pairs(*parts):
        return RulePairs(
            np.concatenate([np.arange(*part, dtype=np.uint64) for part in parts])
        )

    seeds = np.arange(1000, dtype=np.uint64)
    found = [
        pairs((0, 500)),
        pairs((0, 400)),  # less than the first
        pairs((2000, 3000)),  # no seed
        pairs((400, 900), (2000, 2100)),
        pairs((900, 901)),  # one seed of a thousand
        pairs((0, 1000), (2000, 900_000)),  # all, but too many pairs to be the first
    ]
    assert worthwhile(found[:5], seeds) == [0, 3]
    assert worthwhile(found, seeds) == [0, 3, 5]
    assert worthwhile([], seeds) == []


@pytest.mark.slow
def test_default_rules_without_further_seeds_are_left_out():
    a, b, _ = catalogues(200, 200)
    shops = {"shop": ["north shop of the town", "south shop of the town"] * 200}
    found = match_records({**a, **shops}, {**b, **shops})
    names = [rule.rule for rule in found.summary.rules]
    assert "nearest:name" in names
    assert "nearest" in names
    assert not [name for name in names if "shop" in name]
    assert found.summary.reach.share > 0.9


def test_the_names_of_rules_do_not_matter():
    """Two rules of the same name are measured each for itself."""
    a, b = people(100)
    rules = [
        KeyBlocks(lambda row: row["town"], label="x"),
        KeyBlocks(lambda row: row["name"], label="x"),
        SortBlocks("name"),
    ]
    assert [
        rule.reach for rule in match_records(a, b, rules=rules).summary.rules[:2]
    ] == [0.5, 1.0]


@pytest.fixture
def small_is_large(monkeypatch):
    """Take tables of 150 records for large enough that keys alone may do."""
    monkeypatch.setattr(rules_of_defaults, "MOST_ROWS_BY_FIELD", 200)


def names_of(found):
    return [report.rule for report in found.summary.rules]


def test_keys_alone_are_enough_if_they_bring_the_seeds(small_is_large, by_ranks):
    a, b = people(200)
    found = match_records(a, b)
    assert all(name.startswith("key:") for name in names_of(found))
    assert found.summary.reach == Reach(200, 1.0)
    assert found.i.tolist() == found.j.tolist() == list(range(200))
    assert not found.summary.warnings
    # Without an equal value in either column, only the nearest records are the matches.
    misspelt = {name: [f"{value}x" for value in values] for name, values in b.items()}
    found = match_records(a, misspelt)
    assert "nearest" in names_of(found)
    assert found.i.tolist() == found.j.tolist() == list(range(200))


def test_few_seeds_of_a_sample_do_not_show_that_keys_are_enough(
    small_is_large, by_ranks
):
    a, b = people(200)
    found = match_records(
        a,
        {
            name: [*values[:90], *(f"{row}" for row in range(110))]
            for name, values in b.items()
        },
    )
    assert "nearest" in names_of(found)


def test_candidates_of_keys_are_seeds_only_if_they_are_similar():
    """Half of the records are in both tables; each of the others shares its town with one record of the other table."""
    a, _ = people(200)
    strangers, _ = people(200, seed=2)
    towns = ["".join(letters) for letters in product("abcdefg", repeat=3)][:200]
    b = {"name": a["name"][:100] + strangers["name"][100:], "town": towns}
    linked = linkage({**a, "town": towns}, b)
    by_town = candidate_pairs(linked, [KeyBlocks("town")])
    assert len(find_seeds(linked, by_town, "one-to-one")) > 190
    found = find_seeds(linked, by_town, "one-to-one", alone=True)
    assert found.i[found.seeds].tolist() == list(range(100))

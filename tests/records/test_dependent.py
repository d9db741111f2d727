"""Columns that follow from others: found in derived columns, not by chance, and not scored."""

import numpy as np
import pyarrow as pa
import pytest

from lshfast.records import dedup_records, match_records
from lshfast.records.tables.dependent import dependent_fields
from lshfast.records.tables.record_table import RecordTable

SYLLABLES = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"]


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)

    def words(syllables):
        return ["".join(rng.choice(SYLLABLES, syllables)) for _ in range(n)]

    table = {"given": words(2), "surname": words(3), "suburb": words(3)}
    table["street"] = [
        f"{number} {name} street"
        for number, name in zip(rng.integers(1, 99, n), words(2), strict=True)
    ]
    table["postcode"] = [f"{code:04}" for code in rng.integers(0, 9999, n)]
    return table


def named(table, *others):
    tables = [RecordTable(one) for one in (table, *others)]
    return {
        found.name: found.sources for found in dependent_fields(tables, tables[0].names)
    }


def joined(table, *names, form=" ".join):
    return [form(parts) for parts in zip(*(table[name] for name in names), strict=True)]


def test_columns_made_of_others_follow_from_them():
    table = people()
    table = {
        "full": joined(
            table, "surname", "given", form=lambda parts: ", ".join(parts).upper()
        ),
        **table,
    }
    table["address"] = [
        f"{text} nsw" for text in joined(table, "street", "suburb", "postcode")
    ]
    assert named(table) == {
        "full": ("given", "surname"),
        "address": ("suburb", "street", "postcode"),
    }


def test_independent_columns_do_not():
    assert named(people()) == {}


def test_a_part_of_one_longer_column_does_not():
    table = people()
    assert (
        named({"given": table["given"], "full": joined(table, "given", "surname")})
        == {}
    )


def test_of_two_equal_columns_the_second_follows():
    table = people()
    assert named({**table, "zip": [str(int(code)) for code in table["postcode"]]}) == {
        "zip": ("postcode",)
    }


def test_equal_values_of_few_kinds_say_nothing():
    flags = ["yes", "no"] * 100
    assert named({"open": flags, "free": flags, "name": people()["given"]}) == {}
    zeros = ["0.0"] * 190 + [str(n) for n in range(10)]
    assert named({"lat": zeros, "lng": zeros[::-1]}) == {}


def test_words_that_all_records_have_are_no_evidence():
    table = {
        "name": [f"the big shop {word}" for word in people()["surname"]],
        "kind": ["the big shop"] * 200,
    }
    table["place"] = ["shop"] * 200
    assert named(table) == {}


def test_a_column_must_follow_in_both_tables():
    a, b = people(seed=1), people(seed=2)
    a["full"], b["full"] = joined(a, "given", "surname"), people(seed=3)["suburb"]
    assert named(a, b) == {}
    b["full"] = [""] * 200
    assert named(a, b) == {"full": ("given", "surname")}
    b["full"] = joined(b, "given", "surname")
    assert named(a, b) == {"full": ("given", "surname")}


def test_columns_of_arrow_and_missing_values():
    table = people()
    table["full"] = joined(table, "given", "surname")
    table["full"][::3] = [None] * len(table["full"][::3])
    assert named(pa.table(table)) == {"full": ("given", "surname")}
    assert named({name: [] for name in table}) == {}


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("single", [False, True])
def test_dependent_fields_are_shown_and_not_scored(single, monkeypatch):
    monkeypatch.setattr("lshfast.records.link_task.suits_mixture", lambda *_: False)
    a, b = people(seed=1), people(seed=1)
    b["surname"][:20] = [f"{name}x" for name in b["surname"][:20]]
    for table in (a, b):
        table["full"] = joined(table, "given", "surname")

    def run(**options):
        return dedup_records(a, **options) if single else match_records(a, b, **options)

    found = run(rules=["key:full", "key:postcode"])
    # Records as texts, which two tables are compared by as well.
    whole = [] if single else ["all_fields"]
    assert found.names == ["given", "surname", "suburb", "street", "postcode", *whole]
    assert [one.name for one in found.dependent] == ["full"]
    assert "full: follows from given, surname; not counted" in found.describe()
    assert found.parts.shape == (len(found), len(found.names))
    assert run(fields=["given", "surname", "full"]).names == [
        "given",
        "surname",
        "full",
        *whole,
    ]
    assert run(ignore=["given"]).dependent == ()

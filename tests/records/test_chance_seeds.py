"""Two tables of texts that share few records or none: what is alike by chance is not linked."""

import numpy as np
import pytest

from lshfast.records import match_records
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import code_field
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import RecordTable
from lshfast.records.weights.chance_seeds import ChanceSeeds


def articles(n, rng):
    """Return the columns of n articles, whose titles have frequent and rare words."""
    syllables = [
        "".join(pair) for pair in zip("bdfgklmnprst" * 5, "aeiou" * 12, strict=True)
    ]
    words = ["".join(rng.choice(syllables, 3)) for _ in range(3000)]
    chances = 1 / np.arange(10, 3010, dtype=np.int64)
    chances = chances / chances.sum()
    return {
        "title": [" ".join(rng.choice(words, 6, p=chances)) for _ in range(n)],
        "author": [
            f"{rng.choice(list('abcdefg'))}. {rng.choice(words[:400])}"
            for _ in range(n)
        ],
        "year": [str(year) for year in rng.integers(1970, 2024, n)],
    }


def two_tables(n, common, rng):
    """Return two tables of n articles, of which the last `common` of one are the first of the other,
    with one word less in the title.
    """
    every = articles(2 * n - common, rng)
    a = {name: values[:n] for name, values in every.items()}
    b = {name: values[n - common :] for name, values in every.items()}
    for row in range(common):
        b["title"][row] = b["title"][row].rsplit(" ", 1)[0]
    return a, b


def linkage(a, b):
    tables = [RecordTable(a), RecordTable(b)]
    kinds = {"title": "text", "author": "text", "year": "code"}
    fields = {
        name: code_field(Field(name, kind=kind), tables) for name, kind in kinds.items()
    }
    return Linkage(tables, fields)


@pytest.mark.parametrize(("common", "least", "most"), [(0, 0.6, 2.0), (600, 0.0, 0.44)])
def test_tables_without_matches_have_as_many_seeds_as_halves_of_one(
    common, least, most
):
    a, b = two_tables(1000, common, np.random.default_rng(5))
    assert least <= ChanceSeeds.of(linkage(a, b)).share <= most


@pytest.mark.parametrize("common", [0, 20, 300])
def test_only_matches_of_texts_are_linked(common):
    a, b = two_tables(1000, common, np.random.default_rng(5))
    found = match_records(a, b)
    right = int((found.i - (1000 - common) == found.j).sum())
    assert len(found) - right <= 2
    assert right >= 0.9 * common
    is_warned = any("halves of one table" in text for text in found.summary.warnings)
    assert is_warned == (common < 300)


def test_matches_that_no_key_brings_are_sought_if_texts_are_alike_beyond_chance():
    """Titles are written in other ways and contain the year, and no other column agrees."""
    rng = np.random.default_rng(6)
    a, b = two_tables(1000, 600, rng)
    for name in ("author", "year"):
        del a[name]
    del b["author"]
    a["year"] = [str(year) for year in rng.integers(1980, 2010, 1000)]
    b["year"] = a["year"][400:] + b["year"][600:]
    b["title"] = [
        " ".join([year, *title.split()[::-1]])
        for title, year in zip(b["title"], b["year"], strict=True)
    ]
    prices = rng.uniform(10, 60, (2, 1000)).round(2)
    a["price"] = [f"{price:.2f}" for price in prices[0]]
    b["price"] = [f"{price:.0f}" for price in prices[1]]
    a["stock"] = [str(number) for number in rng.integers(0, 60, 1000)]
    b["stock"] = rng.choice(["in stock", "sold out", "low"], 1000).tolist()
    found = match_records(a, b)
    right = int((found.i - 400 == found.j).sum())
    assert right >= 0.8 * 600
    assert right >= 0.9 * len(found)

"""What fields share, products of many fields, and which fields decide."""

import numpy as np
import pytest

from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import code_field
from lshfast.records.tables.content import SplitRecord, shared_content
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import RecordTable
from lshfast.records.weights.dependence import products
from lshfast.records.weights.relatives import tells_matches
from lshfast.records.weights.roles import is_decisive

ROWS = 60


def edges_of(columns):
    table = RecordTable(columns)
    fields = [code_field(Field(name, kind="text"), [table]) for name in columns]
    return shared_content(fields, 1)


def test_a_word_is_found_within_a_longer_one_and_never_across_two_values():
    record = SplitRecord.of(["ann lee", "", "lee", "annlee@one", "le"])
    assert list(record.fields_with("lee")) == [0, 2, 3]
    assert list(record.fields_with("ann")) == [0, 3]
    assert list(record.fields_with("leelee")) == []
    assert record.present == [True, False, True, True, True]


def test_fields_with_words_of_each_other_share_content():
    names = [f"first{row} last{row}" for row in range(ROWS)]
    columns = {
        "name": names,
        "user": [f"{name.split()[0]}x" for name in names],
        "other": [f"word{row * 7} thing{row}" for row in range(ROWS)],
    }
    assert edges_of(columns) == {(0, 1)}


def test_words_that_all_records_have_are_shared_by_chance():
    columns = {name: ["same words"] * ROWS for name in ("one", "two")}
    assert edges_of(columns) == set()


@pytest.mark.parametrize("number", [0, 4])
def test_few_values_of_both_fields_show_nothing(number):
    names = [f"name{row}" if row < number else "" for row in range(ROWS)]
    assert edges_of({"one": names, "two": names}) == set()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1, 1000])
@pytest.mark.parametrize("size", [2, 13, 400])
def test_products_are_those_of_whole_columns(rows, size):
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 4, (2, rows, size)).astype(np.float32)
    expected = np.einsum("ri,rj->ij", first.astype(float), second.astype(float))
    np.testing.assert_array_equal(products(first, second), expected)


def test_repeated_names_decide_only_if_they_are_the_only_evidence():
    names = [f"name {row % 50}" for row in range(ROWS)]
    tables = [RecordTable({"name": names}), RecordTable({"name": names})]
    for kind in ("name", "category"):
        field = code_field(Field("name", kind=kind), tables)
        linkage = Linkage(tables, {"name": field})
        assert is_decisive(linkage, field, alone=True) == (kind == "name")
        assert not is_decisive(linkage, field, alone=False)
        assert not is_decisive(Linkage(tables[:1], {"name": field}), field, alone=True)


def test_two_fields_at_least_stay_independent():
    assert tells_matches([0, 1, 2], {(0, 1), (1, 2)})
    assert not tells_matches([0, 1, 2], {(0, 1), (0, 2), (1, 2)})
    assert tells_matches([0], set())
    assert tells_matches([], set())

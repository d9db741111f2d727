"""Why two records were linked or not."""

import pytest

from lshfast.records import RecordTable, dedup_records, match_records
from lshfast.records.tables.record_table import RecordIds

A = {
    "id": ["a1", "a2", "a3"],
    "name": ["Ann Lee", "Anne Lee", "Eve Stone"],
    "born": ["1980-05-01", "1980-05-01", "1971-11-30"],
}
B = {"id": [1, 2], "name": ["Ann Lee", "Zoe Blum"], "born": ["1980-05-01", None]}


def verdict(result, *ids):
    """Return the lines that are not the score or a field."""
    lines = result.explain_pair(*ids).splitlines()
    assert lines[0].startswith(f"{ids[0]} - {ids[1]}: ")
    assert len(lines) > 1 + len(result.names)
    return [line.strip() for line in lines[1 : -len(result.names)]]


@pytest.fixture
def result():
    return match_records(
        A, B, id_column="id", scoring="points", rules=["key:born", "sort:name:window=2"]
    )


def test_a_link(result):
    assert (
        verdict(result, "a1", 1)[0]
        == "linked: the score is at least the threshold of 150.00"
    )
    assert (
        verdict(result, "a1", 1)[1]
        == "compared because of key:born, sort:name:window=2"
    )
    assert (
        result.explain_pair("a1", 1).splitlines()[-2:]
        == result.explain(0).splitlines()[-2:]
    )
    assert (
        result.explain_pair("a1", 1).splitlines()[0]
        == result.explain(0).splitlines()[0]
    )


def test_a_better_link(result):
    assert verdict(result, "a2", "1") == [
        "not linked, although the score is at least the threshold of 150.00: other links were better",
        "compared because of key:born, sort:name:window=2",
        "linked instead: a1 - 1, 200.00 points",
    ]


def test_a_low_score(result):
    assert (
        verdict(result, "a3", 2)[0]
        == "not linked: the score is below the threshold of 150.00"
    )
    assert "missing: '1971-11-30' | missing" in result.explain_pair("a3", 2)


def test_a_pair_that_is_not_compared(result):
    assert verdict(result, "a1", 2) == [
        "not linked: no blocking rule brought this pair, so it was not compared",
        "the score is below the threshold of 150.00",
    ]
    crowd = {"name": ["Ann Lee"] * 150, "town": ["Rome"] * 150}
    found = match_records(crowd, crowd, rules=["key:name"], scoring="points")
    assert verdict(found, 0, 0) == [
        "not linked: no blocking rule brought this pair, so it was not compared",
        "the score is at least the threshold of 150.00",
        "the rules left out 1 block above the cap",
    ]


def test_weights_have_probabilities():
    found = match_records(A, B, id_column="id")
    assert "bits, probability 0." in found.explain_pair("a3", 2)


def test_two_records_of_one_table():
    names = ["Ann Lee", "Anne Lee", "Anne Leen", "Bob Ray"]
    found = dedup_records(
        {"id": list("wxyz"), "name": names},
        id_column="id",
        scoring="points",
        threshold=97,
    )
    assert found.pairs() == [("w", "x"), ("x", "y")]
    assert found.explain_pair("x", "w") == found.explain_pair("w", "x")
    assert verdict(found, "w", "y") == [
        "not linked: the score is below the threshold of 97.00",
        "compared because of all",
        "links to other records put both in one group",
    ]
    assert verdict(found, "w", "z")[1:] == ["compared because of all"]
    with pytest.raises(ValueError, match="'w' and 'w' are the same record"):
        found.explain_pair("w", "w")
    alone = dedup_records(
        {"name": ["Ann", "Ann", "Ann"]}, scoring="points", assign="one-to-one"
    )
    assert verdict(alone, 0, 2)[-1] == "linked instead: 0 - 1, 100.00 points"


def test_ids_that_do_not_exist(result):
    for ids, name in (
        (("b", 1), "a: no record has the id 'b'"),
        (("a1", 3), "b: no record has the id 3"),
    ):
        with pytest.raises(ValueError, match=name):
            result.explain_pair(*ids)
    assert RecordIds(RecordTable({"id": [7, "7"]}, "id")).row_of("7") == 1
    with pytest.raises(ValueError, match=r"has the id '\\x1b'"):
        result.explain_pair("\x1b", 1)


def test_control_characters_are_shown_as_escapes():
    evil = "\x1b]0;title\x07\u202e"
    table = {"id": [evil, "2", "3"], "name": [evil, "Ann", "Ann"]}
    found = match_records(
        table, table, id_column="id", scoring="points", assign="one-to-one"
    )
    text = (
        found.explain_pair(evil, "2")
        + found.explain_pair("2", "3")
        + found.explain_pair(evil, evil)
    )
    assert "\\x1b]0;title\\x07\\u202e" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)

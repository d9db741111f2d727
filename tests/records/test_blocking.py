"""Blocking rules, beside their definitions; and the table of what each rule brought."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.records import (
    EveryPair,
    Field,
    KeyBlocks,
    LshBlocks,
    NearestBlocks,
    RecordTable,
    SortBlocks,
    parse_rule,
)
from lshfast.records.candidates.defaults import (
    ALONE,
    Key,
    RuleSample,
    chosen_keys,
    default_rules,
    without_narrower,
)
from lshfast.records.candidates.union import candidate_pairs, links_by_rule
from lshfast.records.linkage import Linkage
from lshfast.records.results.display import rules_text
from lshfast.records.tables.coded_fields import code_field
from tests.reference import records as reference

COLUMN = st.lists(st.sampled_from([None, "", "a", "b", "c", "d", "ee"]), max_size=12)


def linkage(a, b=None, kinds=None, threads=1):
    """Make tables of columns by name, all of kind name unless `kinds` says otherwise."""
    tables = [RecordTable(columns) for columns in (a, b) if columns is not None]
    fields = {
        name: code_field(Field(name, kind=(kinds or {}).get(name, "name")), tables)
        for name in a
    }
    return Linkage(tables, fields, threads=threads)


def pairs_of(rule, linked):
    found = rule.pairs(linked)
    i, j = linked.rows_of(found.places)
    assert (np.diff(found.places.astype(np.int64)) > 0).all()  # ascending, each once
    return set(zip(i.tolist(), j.tolist(), strict=True)), found


def none_if_missing(values):
    return [value or None for value in values]


@settings(max_examples=40, deadline=None)
@given(COLUMN, COLUMN, st.sampled_from([1, 3, 6, 1000]), st.booleans())
def test_equal_keys(left, right, most, single):
    linked = linkage({"x": left}, None if single else {"x": right})
    keys = [none_if_missing(left), None if single else none_if_missing(right)]
    pairs, skipped = reference.block_pairs(*keys, most)
    found, report = pairs_of(KeyBlocks("x", max_block=most), linked)
    assert found == pairs
    assert report.skipped == len(skipped)
    every, _ = reference.block_pairs(*keys, 10**9)
    assert report.skipped_pairs == len(every) - len(pairs)
    assert {block.key for block in report.largest_skipped} <= skipped
    assert [block.pairs for block in report.largest_skipped] == sorted(
        (block.pairs for block in report.largest_skipped), reverse=True
    )


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([None, "a", "b"])] * 3), min_size=1, max_size=10
    )
)
def test_keys_of_several_fields(rows):
    linked = linkage({name: [row[k] for row in rows] for k, name in enumerate("xyz")})
    keys = [None if None in row[:2] else row[:2] for row in rows]
    assert (
        pairs_of(KeyBlocks("x", "y"), linked)[0]
        == reference.block_pairs(keys, None, 10**9)[0]
    )


def test_keys_of_many_combinations():
    """The product of the numbers of values exceeds 2**64."""
    rng = np.random.default_rng(9)
    values = {name: [f"{v}" for v in range(2000)] for name in "abcdefg"}
    order = rng.permutation(2000)
    other = {name: [column[row] for row in order] for name, column in values.items()}
    other["g"] = [*other["g"][:1000], *other["g"][1001:], "x"]
    found, _ = pairs_of(
        KeyBlocks(*"abcdefg"), linkage(values, other, dict.fromkeys("abcdefg", "code"))
    )
    assert found == {(int(row), j) for j, row in enumerate(order[:1000])}


def test_keys_of_a_function():
    def year(record):
        return record["born"][:4] if record["born"] else None

    linked = linkage(
        {"born": ["1980-01-02", "", "1981-05-05"]},
        {"born": ["1981-12-01", "1980-01-02", None]},
    )
    rule = KeyBlocks(year)
    assert rule.name == "key:year"
    assert pairs_of(rule, linked)[0] == {(0, 1), (2, 0)}
    report = KeyBlocks(lambda record: "all", max_block=8, label="one").pairs(linked)
    assert report.skipped == 1
    assert report.largest_skipped[0].key == "all"
    assert report.skipped_pairs == 9


@pytest.mark.parametrize("other", ["k", 5])
def test_records_with_an_empty_key_are_in_no_block(other):
    """Keys of one type are coded by pyarrow, others by Python."""
    keys = {"u": "k", "v": "", "w": None, "x": " ", "y": other, "z": ""}
    linked = linkage({"x": list(keys)})
    found, _ = pairs_of(KeyBlocks(lambda record: keys[record["x"]]), linked)
    assert found == ({(0, 4)} if other == "k" else set())


@settings(max_examples=40, deadline=None)
@given(COLUMN, COLUMN, st.integers(2, 6), st.booleans())
def test_sorted_neighbourhood(left, right, window, single):
    linked = linkage({"x": left}, None if single else {"x": right})
    keys = [none_if_missing(left), None if single else none_if_missing(right)]
    assert pairs_of(SortBlocks("x", window), linked)[0] == reference.neighbour_pairs(
        *keys, window
    )


def test_a_window_may_be_longer_than_the_tables():
    linked = linkage({"x": ["a", "b", None, "c"]})
    assert pairs_of(SortBlocks("x", 10**15), linked)[0] == {(0, 1), (0, 3), (1, 3)}
    assert pairs_of(SortBlocks("x", 10**15), linkage({"x": [None]}))[0] == set()


@pytest.mark.slow
def test_three_sorts_avoid_nearly_all_pairs():
    """Section 3.8.2: equal names, addresses or telephones are brought together by three sorts."""
    rng = np.random.default_rng(5)
    a = {
        name: [f"{name}{v}" for v in rng.integers(0, 2000, 2000)]
        for name in ("name", "address", "phone")
    }
    b = {
        name: [*a[name][:500], *(f"{name}{v}" for v in rng.integers(0, 2000, 1500))]
        for name in a
    }
    linked = linkage(a, b)
    found = candidate_pairs(linked, [KeyBlocks(name) for name in a])
    i, j = linked.rows_of(found.places)
    pairs = set(zip(i.tolist(), j.tolist(), strict=True))
    assert {(row, row) for row in range(500)} <= pairs
    every = set.union(
        *(reference.block_pairs(a[name], b[name], 10**9)[0] for name in a)
    )
    assert pairs == every
    assert linked.all_pairs == 4_000_000
    assert len(pairs) < 10_000
    million = RecordTable({"row": range(10**6)})
    assert Linkage([million, million], {}).all_pairs == 10**12


TITLES = [
    "an overview of repairable hashing", "an overview of repairable hashing", "overview of repairable hashing an",
    "join processing in parallel systems", "join processing in paralel systems", "fish", "", None,
]  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
def test_lsh_finds_similar_values_and_no_others(threads):
    linked = linkage({"t": TITLES}, {"t": TITLES[::-1]}, {"t": "text"}, threads)
    found, _ = pairs_of(LshBlocks("t", threshold=0.5), linked)

    def similarity(x, y):
        x, y = reference.trigrams(x), reference.trigrams(y)
        return len(x & y) / len(x | y)

    present = [
        (i, j) for i in range(8) for j in range(8) if TITLES[i] and TITLES[7 - j]
    ]
    assert found == {
        (i, j) for i, j in present if similarity(TITLES[i], TITLES[7 - j]) >= 0.5
    }
    alone, _ = pairs_of(
        LshBlocks("t", threshold=0.5),
        linkage({"t": TITLES}, None, {"t": "text"}, threads),
    )
    assert alone == {(i, 7 - j) for i, j in found if i < 7 - j}


def test_lsh_of_several_fields_joins_their_values():
    a = {
        "first": ["maria magdalena", None, "x"],
        "last": ["goldsworthy", "featherstone", None],
    }
    b = {
        "first": ["maria magdalen", None, None],
        "last": ["goldsworthy", None, "featherston"],
    }
    assert pairs_of(LshBlocks("first", "last", threshold=0.6), linkage(a, b))[0] == {
        (0, 0),
        (1, 2),
    }


def test_lsh_finds_the_pairs_at_its_threshold_with_its_recall():
    rng = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    texts = ["".join(rng.choice(letters, 40)) for _ in range(400)]
    changed = [text[:32] + "".join(rng.choice(letters, 8)) for text in texts]

    def similarity(x, y):
        x, y = reference.trigrams(x), reference.trigrams(y)
        return len(x & y) / len(x | y)

    assert min(similarity(x, y) for x, y in zip(texts, changed, strict=True)) >= 0.6
    found, _ = pairs_of(
        LshBlocks("t", threshold=0.6, recall=0.9), linkage({"t": texts}, {"t": changed})
    )
    recall = sum((i, i) in found for i in range(400)) / 400
    assert recall >= 0.9 - 4 * np.sqrt(0.9 * 0.1 / 400)


def test_blocks_above_the_cap_are_reported():
    a = {"x": ["same"] * 200 + ["other"]}
    report = KeyBlocks("x").pairs(linkage(a, a))
    assert (report.skipped, report.skipped_pairs) == (1, 40_000)
    assert (report.largest_skipped[0].key, report.largest_skipped[0].pairs) == (
        "same",
        40_000,
    )
    assert len(report.places) == 1
    lsh = LshBlocks("x").pairs(linkage(a, a))
    assert (lsh.skipped, lsh.skipped_pairs) == (1, 40_000)
    assert len(lsh.places) == 1


def test_long_keys_are_shown_in_part():
    a = {"x": ["same" * 10**5] * 2}
    table = rules_text(
        candidate_pairs(linkage(a, a), [KeyBlocks("x", max_block=1)]).reports
    )
    assert (
        "left out 1 block with 4 pairs, above the cap; the largest: 'samesame" in table
    )
    assert len(table) < 1000


def test_the_table_of_the_rules():
    a = {
        "x": ["1", "2", "3", "4"],
        "y": ["1", "2", "5", "6"],
        "z": ["7", None, None, None],
    }
    linked = linkage(a, a, dict.fromkeys("xyz", "code"))
    rules = [KeyBlocks("x"), KeyBlocks("y"), KeyBlocks("z"), KeyBlocks("x", "z")]
    found = candidate_pairs(linked, rules)
    assert len(found) == 4
    assert [(r.rule, r.pairs, r.alone, r.shared) for r in found.reports] == [
        ("key:x", 4, 0, (4, 4, 1, 1)), ("key:y", 4, 0, (4, 4, 1, 1)), ("key:z", 1, 0, (1, 1, 1, 1)),
        ("key:x+z", 1, 0, (1, 1, 1, 1)),
    ]  # fmt: skip
    assert links_by_rule(found.masks[:1], 4).tolist() == [1, 1, 1, 1]
    assert links_by_rule(found.masks, 4).tolist() == [4, 4, 1, 1]
    only = candidate_pairs(linked, [KeyBlocks("x"), KeyBlocks("z")])
    assert [r.alone for r in only.reports] == [3, 0]


def test_default_rules_bring_few_pairs():
    rng = np.random.default_rng(1)
    a = {
        "code": [str(v) for v in rng.integers(0, 10**6, 3000)],
        "name": [f"n{v}" for v in rng.integers(0, 100, 3000)],
        "town": [f"t{v}" for v in rng.integers(0, 40, 3000)],
        "empty": [None] * 3000,
    }
    linked = linkage(a, a, {"code": "code"})
    rules = default_rules(linked).rules
    names = [rule.name for rule in rules]
    assert "key:code" in names
    assert not {"key:name", "key:town"} & set(names)  # 90,000 and 225,000 pairs
    assert len(candidate_pairs(linked, rules)) <= 11 * 6000


def people_of_two_addresses(n, rng):
    """Make two tables of the same people, who have moved house; of each the given name or the surname is misspelt."""
    personal = {"surname": n // 6, "given": n // 20, "born": n // 2}
    address = {"postcode": n // 30, "town": n // 300, "street": 100, "house": 300}
    values = {
        name: rng.integers(0, count, n) for name, count in (personal | address).items()
    }
    a = {name: [f"{name} {v}" for v in column] for name, column in values.items()}
    b = {
        name: [f"{name} {v}" for v in rng.integers(0, count, n)]
        for name, count in address.items()
    }
    wrong = np.arange(n) % 2 == 0
    b["surname"] = np.where(wrong, "misspelt", a["surname"]).tolist()
    b["given"] = np.where(wrong, a["given"], "misspelt").tolist()
    b["born"] = a["born"]
    kinds = {"born": "code", "postcode": "code", "street": "category", "house": "code"}
    return linkage(a, {name: b[name] for name in a}, kinds)


@pytest.mark.parametrize("n", [3_000, 6_000])
def test_keys_find_people_who_moved_house_and_have_a_misspelt_name(n):
    """Keys that all have an address or both names in them would find none of these matches."""
    linked = people_of_two_addresses(n, np.random.default_rng(3))
    sample = RuleSample.of(linked)
    found = np.zeros(n, bool)
    for key in chosen_keys(sample, ALONE):
        i, j = linked.rows_of(key.pairs(linked).places)
        found[i[i == j]] = True
    assert found.mean() > 0.99


def test_a_key_replaces_keys_of_its_field_and_others():
    wide, narrow, other = (
        Key(("a",), 100.0),
        Key(("b", "a"), 10.0),
        Key(("b", "c"), 10.0),
    )
    assert without_narrower([narrow, other], wide) == [other]


def test_equal_rows_are_still_compared():
    linked = linkage({"x": ["same"] * 300}, {"x": ["same"] * 300})
    rules = default_rules(linked).rules
    assert [rule.name for rule in rules] == ["sort:x:window=5", "nearest"]
    assert default_rules(linkage({"x": ["a", "b"]})).rules[0].name == "all"
    assert 0 < len(candidate_pairs(linked, rules)) < 10_000


def test_rules_of_strings():
    assert parse_rule("key:a+b", 7) == KeyBlocks("a", "b", max_block=7)
    assert parse_rule("all") == EveryPair()
    assert parse_rule("sort:a:window=9") == SortBlocks("a", 9)
    assert parse_rule("nearest", 7) == NearestBlocks(max_block=7)
    assert parse_rule("nearest:a+b:neighbors=3") == NearestBlocks("a", "b", neighbors=3)
    assert parse_rule("nearest:a+b:neighbors=3").name == "nearest:a+b:neighbors=3"
    assert parse_rule("lsh:a+b:threshold=0.4:size=2") == LshBlocks(
        "a", "b", threshold=0.4, size=2
    )
    for wrong in (
        "nearest:",
        "nearest:a:window=2",
        "",
        "a",
        "key:",
        "key:a+",
        "word:a",
        "sort:a+b",
        "lsh:a:b",
        "lsh:a:window=3",
        "sort:a:window=x",
    ):
        with pytest.raises(ValueError, match=r"rule"):
            parse_rule(wrong)


def test_bad_arguments():
    linked = linkage({"x": ["a"]})
    with pytest.raises(ValueError, match=r"no field 'y' to block by; fields are: x"):
        KeyBlocks("y").pairs(linked)
    with pytest.raises(
        TypeError, match=r"keys must be names of fields, or one function"
    ):
        KeyBlocks()
    with pytest.raises(ValueError, match=r"a function must be the only key"):
        KeyBlocks("x", lambda record: 1)
    with pytest.raises(ValueError, match=r"max_block must be at least 1, not 0"):
        KeyBlocks("x", max_block=0)
    with pytest.raises(ValueError, match=r"window must be at least 2, not 1"):
        SortBlocks("x", 1)
    with pytest.raises(ValueError, match=r"threshold must be in \(0, 1\], not 0"):
        LshBlocks("x", threshold=0)
    with pytest.raises(
        ValueError, match=r"num_perm must be in 1\.\.65536, not 10{12}$"
    ):
        LshBlocks("x", num_perm=10**12)
    with pytest.raises(
        TypeError,
        match=r"keys of the function of a rule: values must be strings, .* not list",
    ):
        KeyBlocks(lambda record: [record]).pairs(linked)
    with pytest.raises(
        TypeError, match=r"a blocking rule must be all, nearest, .*key:FIELD.* not None"
    ):
        parse_rule(None)
    with pytest.raises(ValueError, match=r"1 to 32 blocking rules, not 0"):
        candidate_pairs(linked, [])


def test_every_pair():
    linked = linkage({"x": ["a", None, "c"]}, {"x": ["a", "b"]})
    assert pairs_of(EveryPair(), linked)[0] == {
        (i, j) for i in range(3) for j in range(2)
    }
    assert pairs_of(EveryPair(), linkage({"x": ["a", None, "c"]}))[0] == {
        (0, 1),
        (0, 2),
        (1, 2),
    }
    assert pairs_of(EveryPair(), linkage({"x": []}))[0] == set()


def test_too_many_pairs_are_refused():
    a = {"x": ["same"] * 12_000}
    with pytest.raises(OverflowError, match=r"or the window"):
        SortBlocks("x", 10_000).pairs(linkage(a, a))
    with pytest.raises(
        OverflowError,
        match=r"more than 134,217,728 pairs: name more fields in its key, or lower max",
    ):
        KeyBlocks("x", max_block=10**9).pairs(linkage(a, a))

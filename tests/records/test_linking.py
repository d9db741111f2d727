"""Linking of whole tables: quality, bad input, and the same result for any number of threads."""

import re

import numpy as np
import pytest

from lshfast.records import (
    Field,
    KeyBlocks,
    LinkOptions,
    RecordTable,
    SortBlocks,
    Synonyms,
    dedup_records,
    match_records,
)

FIRST = [
    "anna",
    "boris",
    "carla",
    "dmitri",
    "elena",
    "farid",
    "greta",
    "hugo",
    "ines",
    "jonas",
    "katja",
    "liam",
]
SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe"]


def people(rows, rng):
    def word():
        return "".join(rng.choice(SYLLABLES, 3))

    streets = rng.choice([f"{word()} street" for _ in range(40)], rows)
    days = rng.integers((40, 1, 1), (99, 13, 29), (rows, 3)).tolist()
    return {
        "id": [f"p{row}" for row in range(rows)],
        "given": rng.choice(FIRST, rows).tolist(),
        "surname": [word() for _ in range(rows)],
        "address": [f"{rng.integers(1, 200)} {street}" for street in streets],
        "born": [f"19{year:02d}-{month:02d}-{day:02d}" for year, month, day in days],
    }


def mistyped(value, rng):
    at = int(rng.integers(0, len(value)))
    return value[:at] + rng.choice(list("abcdef")) + value[at + 1 :]


def with_errors(table, rng, rate=0.25):
    copy = {name: list(values) for name, values in table.items()}
    for name in ("given", "surname", "address", "born"):
        for row in range(len(copy[name])):
            place = rng.random()
            if place < rate / 2:
                copy[name][row] = mistyped(copy[name][row], rng)
            elif place < rate:
                copy[name][row] = None
    copy["id"] = [f"{key}-copy" for key in copy["id"]]
    return copy


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("phone", "rules", "found"),
    [
        ("555-9876", None, True),
        (None, None, True),  # no key is equal, but the records are among the nearest
        (None, ["key:phone", "key:name", "lsh:address:threshold=0.3"], True),
    ],
)
def test_g11_names_and_addresses_that_differ_in_form(phone, rules, found):
    """The default rules compare "Robert Jones Jr." and "Bob S. Jomes", also without a telephone."""
    rng, columns = np.random.default_rng(11), ("name", "address", "phone")
    everyone = people(300, rng)
    names = [
        " ".join(each)
        for each in zip(everyone["given"], everyone["surname"], strict=True)
    ]
    phones = [f"555-{number:04d}" for number in rng.permutation(9000)[:300]]
    rows = list(zip(names, everyone["address"], phones, strict=True))
    ours = [*rows[:250], ("Robert Jones Jr.", "10 W. Main St., Apt. 3", "555-9876")]
    theirs = [
        [mistyped(value, rng) if rng.random() < 0.1 else value for value in row]
        for row in rows[100:]
    ]
    theirs.append(["Bob S. Jomes", "10 West Main Street, Apartment 3", phone])
    tables = [
        dict(zip(columns, zip(*table, strict=True), strict=True))
        for table in (ours, theirs)
    ]
    links = match_records(*tables, rules=rules).pairs()
    assert ((250, 200) in links) == found
    assert len({*links} & {(100 + row, row) for row in range(150)}) >= 148


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(17)
    a = people(300, rng)
    shared = {name: values[:200] for name, values in a.items()}
    others = people(100, rng)
    others["id"] = [f"q{row}" for row in range(100)]
    copies = with_errors(shared, rng)
    return a, {name: copies[name] + others[name] for name in a}


@pytest.fixture(scope="module")
def result(tables):
    return match_records(*tables, id_column="id", threads=1)


def test_copies_with_errors_are_found(result):
    pairs = result.pairs()
    good = sum(b == f"{a}-copy" for a, b in pairs)
    assert good >= 0.95 * 200
    assert good >= 0.98 * len(pairs)
    assert result.names == ["given", "surname", "address", "born"]
    assert [coded.kind for coded in result.fields] == [
        "category",
        "name",
        "text",
        "date",
    ]


def test_the_figures_add_up(result):
    s = result.summary
    assert s.records == (300, 300)
    assert s.links == len(result) == s.linked[0] == s.linked[1]
    assert s.unlinked == (300 - len(result), 300 - len(result))
    assert s.all_pairs == 90_000
    assert s.links <= s.above <= s.compared == s.all_pairs
    assert all(rule.alone <= rule.pairs <= s.compared for rule in s.rules)
    assert (
        max(rule.pairs for rule in s.rules)
        <= s.compared
        <= sum(rule.pairs for rule in s.rules)
    )
    assert (
        max(rule.links for rule in s.rules)
        <= s.links
        <= sum(rule.links for rule in s.rules)
    )


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_change_the_result(tables, result, threads):
    other = match_records(*tables, id_column="id", threads=threads)
    assert other.pairs() == result.pairs()
    assert (other.scores == result.scores).all()
    assert (other.parts == result.parts).all()
    assert other.summary == result.summary


@pytest.mark.slow
def test_a_seed_gives_one_result(tables):
    one, two = (match_records(*tables, id_column="id", seed=5) for _ in range(2))
    assert one.pairs() == two.pairs()
    assert (one.scores == two.scores).all()


@pytest.mark.slow
def test_pruned_scores_are_those_of_all_pairs(tables):
    """Pairs that cannot reach the threshold are left out early; the others have the same scores."""
    rules = [SortBlocks("surname", 30)]
    low, high = (
        match_records(
            *tables,
            id_column="id",
            rules=rules,
            threshold=threshold,
            assign="many-to-many",
        )
        for threshold in (1e-12, 0.9)
    )
    scores = dict(zip(low.pairs(), low.scores, strict=True))
    assert set(high.pairs()) == {
        pair for pair, score in scores.items() if score >= high.summary.threshold
    }
    assert [scores[pair] for pair in high.pairs()] == pytest.approx(
        high.scores.tolist()
    )


def test_a_link_is_explained(result):
    place = int(np.argmin(result.scores))
    text = result.explain(place)
    assert text.splitlines()[0].startswith(result.pairs()[place][0])
    assert len(text.splitlines()) == 5
    assert "bits, probability" in text
    assert re.search(r"\n  born +[+-]\d+\.\d\d  \w+", text)
    assert result.explain(-1) == result.explain(len(result) - 1)
    with pytest.raises(IndexError, match="link must be in"):
        result.explain(len(result))
    columns = result.columns()
    assert list(columns) == [
        "id_a",
        "id_b",
        "score",
        "probability",
        *(f"score_{name}" for name in result.names),
    ]
    assert "all" in result.describe().split()


def test_duplicates_of_one_table(tables):
    a, b = tables
    one = {name: a[name] + b[name][:200] for name in a}
    found = dedup_records(one, id_column="id")
    good = sum(second == f"{first}-copy" for first, second in found.pairs())
    assert good >= 0.95 * 200
    assert good >= 0.95 * len(found)
    assert (found.i < found.j).all()
    groups = found.groups(closure=True)
    assert (groups[found.i] == groups[found.j]).all()
    assert (groups <= np.arange(500)).all()
    assert found.summary.linked == (len({*found.i.tolist(), *found.j.tolist()}), 0)
    alone = dedup_records(one, id_column="id", assign="one-to-one")
    rows = [*alone.i.tolist(), *alone.j.tolist()]
    assert len(set(rows)) == len(rows)


def test_a_field_that_is_held_out(tables):
    found = match_records(*tables, id_column="id", held_out="born:date")
    assert "born" not in found.names
    rates = found.rates
    assert rates.field == "born"
    high = rates.edges[:-1] > found.summary.threshold + 5
    low = rates.edges[1:] < found.summary.threshold - 5
    for chosen, rate in ((high, 1.0), (low, 0.0)):
        used = chosen & (rates.pairs > 10)
        assert used.any()
        mean = np.average(rates.rates[used], weights=rates.pairs[used])
        assert abs(mean - rate) < 0.15
    with pytest.raises(ValueError, match="no column 'height'"):
        match_records(*tables, id_column="id", held_out="height")


def test_a_category_has_no_window():
    names = {
        "name": ["Ann Lee", "Bob Ray", "Eve Stone"],
        "town": ["Rome", "Bath", "Rome"],
    }
    message = "the category 'town' are equal or not: leave out the window"
    with pytest.raises(ValueError, match=message):
        match_records(names, names, held_out="town:category", held_out_window=3)
    match_records(names, names, held_out="town:category")


@pytest.mark.slow
def test_a_window_of_the_field_that_is_held_out(tables):
    """Each match was made within 20 days, and random pairs within ten years."""
    generator = np.random.default_rng(3)
    first, second = (dict(table) for table in tables)
    days = generator.integers(0, 3650, len(first["id"]))
    made = dict(zip(first["id"], days.tolist(), strict=True))
    first["made"] = list(made.values())
    second["made"] = [
        made.get(key.removesuffix("-copy"), int(generator.integers(0, 3650)))
        + int(generator.integers(0, 20))
        for key in second["id"]
    ]
    arguments = {"id_column": "id", "held_out": "made:number"}
    wide, narrow = (
        match_records(first, second, **arguments, held_out_window=window).rates
        for window in (None, 90)
    )
    assert wide.h1 > 900
    assert 35 < narrow.h1 < 50
    assert narrow.h0 < 15
    assert narrow.pairs.sum() <= wide.pairs.sum()
    with pytest.raises(ValueError, match="held_out_window must be above 0, not -1"):
        match_records(first, second, **arguments, held_out_window=-1)
    with pytest.raises(ValueError, match="needs a field that is held out"):
        match_records(first, second, held_out_window=90)


@pytest.mark.slow
def test_assignments(tables):
    a, b = tables
    twice = {name: values + values[:50] for name, values in b.items()}
    twice["id"] = [f"{key}/{place}" for place, key in enumerate(twice["id"])]
    sizes = {}
    for assign in ("one-to-one", "many-to-one", "one-to-many", "many-to-many"):
        found = match_records(a, twice, id_column="id", assign=assign)
        sizes[assign] = len(found)
        assert assign.endswith("many") or len(set(found.i.tolist())) == len(found)
        assert assign.startswith("many") or len(set(found.j.tolist())) == len(found)
    assert sizes["one-to-one"] <= sizes["many-to-one"] < sizes["one-to-many"]
    assert sizes["many-to-one"] < sizes["many-to-many"]


# Bad and strange input


def test_tables_without_rows_or_values():
    empty = {"name": [], "town": []}
    full = {"name": ["Ann", "Bob"], "town": ["Rome", "Oslo"]}
    for a, b in ((empty, full), (full, empty), (empty, empty)):
        found = match_records(a, b)
        assert len(found) == 0
        assert found.summary.linked == (0, 0)
        assert found.pairs() == []
    missing = {"name": [None, ""], "town": [float("nan"), " "]}
    for scoring in ("weights", "points"):
        assert len(match_records(missing, full, scoring=scoring)) == 0
        assert len(dedup_records(missing, scoring=scoring)) == 0
    assert len(dedup_records(empty)) == len(dedup_records({"name": ["Ann"]})) == 0


def test_missing_values_are_neutral():
    a = {"name": ["Ann Lee"] * 2, "phone": ["5550123", None]}
    b = {"name": ["Ann Lee"], "phone": ["5550123"]}
    points = match_records(a, b, scoring="points", threshold=0, assign="many-to-many")
    assert points.scores.tolist() == [200.0, 150.0]
    weights = match_records(a, b, threshold=1e-9, assign="many-to-many")
    assert weights.parts[weights.i == 1].tolist()[0][1] == 0.0


def test_records_that_are_all_equal():
    a = {"name": ["Ann Lee"] * 500, "town": ["Rome"] * 500}
    found = match_records(a, a, rules=[KeyBlocks("name")])
    assert len(found) == 0
    assert found.summary.rules[0].skipped == 1
    assert (
        "left out 1 block with 250,000 pairs, above the cap; the largest: 'ann lee' (250,000 pairs)"
        in found.describe()
    )
    assert match_records(a, a).summary.compared > 0  # by neighbours


def test_names_in_many_scripts():
    names = [
        "Zoë Müller",
        "李 小龍",
        "Ольга Ёлкина",
        "محمد علي",
        "हिन्दी शर्मा",
        "Ǻsa Ødegård",
        "김 영희",
        "😀 Smiley",
    ]
    phones = [f"555010{i}" for i in range(8)]
    a = {"name": names, "phone": phones}
    same = [
        "ZOE MULLER",
        "李 小龍",
        "ольга елкина",
        "محمد علي",
        "हिन्दी शर्मा",
        "asa ødegard",
        "김 영희",
        "smiley",
    ]
    b = {"name": same, "phone": phones}
    for scoring in ("weights", "points"):
        found = match_records(a, b, scoring=scoring)
        assert found.pairs() == [(i, i) for i in range(8)]


def test_dates_that_are_none_are_missing():
    a = {"name": ["Ann Lee", "Bob Ray"], "born": ["1980-01-01", "in May"]}
    b = {"name": ["Ann Lee", "Bob Ray"], "born": ["31/02/1980", "1990-05-05"]}
    found = match_records(a, b, fields=["name", "born:date"], scoring="points")
    assert found.fields[1].refused == (1, 1)
    assert found.scores.tolist() == [150.0, 150.0]
    assert "1 and 1" in found.describe()


def test_a_column_that_one_side_lacks():
    a = {"name": ["Ann"], "phone": ["1"], "left": ["x"]}
    b = {"name": ["Ann"], "telephone": ["1"]}
    assert match_records(a, b, scoring="points").names == ["name"]
    assert match_records(
        a, b, fields=["name", "phone=telephone"], scoring="points"
    ).scores.tolist() == [200.0]
    with pytest.raises(
        ValueError,
        match=r"^b: no column 'phone'; columns are: name, telephone; did you mean .*$",
    ):
        match_records(a, b, fields=["name", "phone"])
    with pytest.raises(ValueError, match=r"^a: no column 'telephone'"):
        match_records(a, b, fields=["telephone"])
    with pytest.raises(
        ValueError,
        match=r"there is no field to compare; columns are: left and right; fields",
    ):
        match_records({"left": ["x"]}, {"right": ["x"]})
    with pytest.raises(ValueError, match=r"no column 'nothing'"):
        match_records(a, b, ignore=["nothing"])
    assert match_records(a, b, ignore=["telephone"], scoring="points").names == ["name"]


def test_duplicate_ids():
    a = {"id": [1, 2, 1], "name": ["x", "y", "z"]}
    with pytest.raises(ValueError, match=r"^a: the id 1 of row 2 is taken by row 0$"):
        match_records(a, {"id": [1], "name": ["x"]}, id_column="id")


def test_bad_options():
    a = {"name": ["Ann", "Bob"]}
    for options, message in [
        ({"scoring": "votes"}, "scoring must be one of weights, points, not 'votes'"),
        ({"assign": "best"}, "assign must be one of one-to-one"),
        ({"threshold": 1.5}, r"threshold must be a probability in \(0, 1\), not 1.5"),
        ({"threshold": float("nan"), "scoring": "points"}, "threshold must be finite"),
        ({"fields": ["name", "name"]}, "fields name the column 'name' twice"),
        ({"rules": []}, "there must be 1 to 32 blocking rules, not 0"),
        ({"rules": [KeyBlocks("town")]}, "no field 'town' to block by"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"seed": -1}, "seed must be in"),
        ({"id_column": ("a", "b", "c")}, "a name or two names, not 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            match_records(a, a, **options)
    for options in (
        {"fields": "name"}, {"ignore": "name"}, {"frequencies": 1}, {"id_column": 3}, {"fields": [3]},
        {"rules": "key:name"}, {"rules": KeyBlocks("name")}, {"rules": [3]}, {"synonyms": [("ann", "annie")]},
    ):  # fmt: skip
        with pytest.raises(TypeError):
            match_records(a, a, **options)
    with pytest.raises(
        ValueError, match="'one-to-one' or 'many-to-many' within one table"
    ):
        dedup_records(a, assign="many-to-one")
    with pytest.raises(ValueError, match="groups are those of one table"):
        match_records(a, a).groups()


def test_rules_may_be_strings():
    a = {"name": ["Ann", "Bob", "Eve"]}
    found = match_records(a, a, rules=["key:name", KeyBlocks("name")], scoring="points")
    assert [rule.rule for rule in found.summary.rules] == ["key:name", "key:name"]
    assert found.summary.compared == 3


def test_tables_can_be_made_before():
    a = RecordTable({"key": ["p", "q"], "name": ["Ann", "Bob"]}, "key")
    b = RecordTable([{"name": "Bob", "key": 7}], "key")
    assert match_records(a, b, scoring="points").pairs() == [("q", 7)]
    assert LinkOptions().seed == 1


def test_other_synonyms():
    a, b = {"name": ["frob"]}, {"name": ["frobnicate"]}
    known = Synonyms([("frobnicate", "frob")])
    fields = [Field("name", kind="name")]
    assert match_records(
        a, b, fields=fields, scoring="points", synonyms=known
    ).scores.tolist() == [99.0]
    assert (
        len(match_records(a, b, fields=fields, scoring="points", synonyms=Synonyms([])))
        == 0
    )


def test_progress_ends_with_the_last_stage(tables):
    told = []
    match_records(*tables, id_column="id", progress=lambda *step: told.append(step))
    assert told == [("link", done, 6) for done in range(1, 6)]


def table_of(kind, rows):
    """Return a table whose records say little about each other."""
    numbers = range(rows)
    return {
        "equal": {"name": ["bob smith"] * rows, "city": ["oslo"] * rows},
        "different": {
            "name": [f"n{row}q{row * 7919 % 1000003}" for row in numbers],
            "city": [f"c{row * 104729 % 1000003}" for row in numbers],
        },
        "invoices": {
            "number": [f"inv{row:06d}" for row in numbers],
            "date": [f"2024-01-{row % 28 + 1:02d}" for row in numbers],
        },
        "null": {"name": [None] * rows, "city": [None] * rows},
        "empty": {"name": [""] * rows, "city": [""] * rows},
        "one column": {"name": [f"bob {row}" for row in numbers]},
        "numbers": {"a": list(numbers), "b": [7] * rows},
    }[kind]


TABLES = "equal", "different", "invoices", "null", "empty", "one column", "numbers"


@pytest.mark.parametrize("rows", [0, 1, 2, 210])
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_without_similar_records_has_a_result(kind, rows):
    table = table_of(kind, rows)
    assert len(dedup_records(table, threads=1)) <= rows * rows
    for other in (0, 1, rows):
        found = match_records(table, table_of(kind, other), threads=1)
        assert len(found) <= rows * max(other, 1)

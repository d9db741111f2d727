"""Links of the mixture of matches and strangers: with many matches, few and none, and with fields that depend."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.synonyms import Synonyms
from lshfast.records.linkage import Linkage
from lshfast.records.links.assignment import likely_assignment
from lshfast.records.links.clusters import check_groups
from lshfast.records.tables.coded_fields import code_field
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import RecordTable
from lshfast.records.weights.patterns import PairPatterns, count_patterns
from tests.records.syllables import SYLLABLES

MORE_SYLLABLES = [*SYLLABLES, "pol"]


class Population:
    """People with names of unlike frequency, dates of birth, homes, telephones and e-mails made of their names."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.firsts = [self.word() for _ in range(120)]
        self.lasts = [self.word() for _ in range(900)]
        self.towns = [self.word() for _ in range(60)]

    def word(self):
        return "".join(self.rng.choice(MORE_SYLLABLES, self.rng.integers(2, 4)))

    def common(self, names):
        chances = 1 / (5 + np.arange(len(names)))
        return names[self.rng.choice(len(names), p=chances / chances.sum())]

    def home(self):
        town = int(self.rng.integers(60))
        street = f"{self.word()}{self.word()} street {self.rng.integers(1, 99)}"
        return [
            street,
            self.towns[town],
            str(10_000 + 7 * town),
            f"0{self.rng.integers(10**8, 10**9)}",
        ]

    def person(self, last=None, home=None):
        first = self.common(self.firsts)
        last = last or self.common(self.lasts)
        born = f"{self.rng.integers(1940, 2008)}-{self.rng.integers(1, 13):02}-{self.rng.integers(1, 29):02}"
        mail = f"{first}.{last}@mail.example"
        return [first, last, born, *(home or self.home()), mail]

    def people(self, count, families):
        rows = []
        while len(rows) < count:
            one = self.person()
            rows.append(one)
            rows += [self.person(one[1], one[3:7]) for _ in range(2 * families)]
        return [rows[place] for place in self.rng.permutation(len(rows))][:count]

    def again(self, person):
        """Return a person as another hand writes them; one in six has moved."""
        copy = list(person)
        if self.rng.random() < 1 / 6:
            copy[3:6] = self.home()[:3]
        if self.rng.random() < 0.3:
            place = self.rng.choice([0, 1, 3])
            at = self.rng.integers(len(copy[place]))
            copy[place] = copy[place][:at] + "q" + copy[place][at + 1 :]
        return copy


COLUMNS = ("first", "last", "born", "street", "town", "postcode", "phone", "email")


def columns_of(rows, number):
    return {
        name: [row[place] for row in rows]
        for place, name in enumerate(COLUMNS[:number])
    }


def two_tables(size, both, number, families, seed=1):
    population = Population(seed)
    people = population.people(2 * size - both, families)
    first = people[:size]
    second = [population.again(person) for person in people[:both]] + people[size:]
    return columns_of(first, number), columns_of(second, number)


def quality(result, both):
    good = int((result.i == result.j)[result.i < both].sum())
    return good / max(1, len(result)), good / both


@pytest.mark.one_case
@pytest.mark.parametrize("families", [0, 1])
@pytest.mark.parametrize("number", [3, 8])
@pytest.mark.parametrize("both", [1500, 150, 45])
def test_people_are_linked_at_any_overlap(both, number, families):
    result = match_records(*two_tables(1500, both, number, families))
    precision, recall = quality(result, both)
    # Relatives have one surname: in three fields, few bits tell a copy from a relative.
    assert precision >= (0.9 if number == 3 and families else 0.95)
    low, high = result.summary.precision[1:]
    assert low <= precision <= high
    assert recall >= (0.9 if number == 8 else 0.85)
    assert abs(result.probabilities.mean() - precision) <= 0.06


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("families", [0, 1])
@pytest.mark.parametrize("number", [3, 8])
def test_tables_with_nothing_in_common_have_no_links(number, families):
    result = match_records(*two_tables(1500, 0, number, families))
    assert len(result) <= 3  # a thousandth of the records
    assert result.summary.warnings
    assert (
        len(dedup_records(columns_of(Population(7).people(1500, families), number)))
        <= 1
    )  # of one table


@pytest.mark.slow
def test_a_column_that_repeats_others_is_no_further_evidence():
    population = Population(3)
    people = population.people(1200, 0)
    rows = people + [population.again(person) for person in people[:24]]
    table = columns_of(rows, 8)
    table["name"] = [f"{row[1].title()}, {row[0].title()}" for row in rows]
    result = dedup_records(table)
    good = sum(second == first + 1200 for first, second in result.pairs())
    assert good >= 0.95 * len(result)
    assert good >= 20


@pytest.mark.slow
def test_small_lists_are_linked():
    a, b = two_tables(20, 20, 8, 0, seed=5)
    assert quality(match_records(a, b), 20) == pytest.approx((1, 1), abs=0.11)
    words = Population(2)
    titles = [" ".join(words.word() for _ in range(6)) for _ in range(20)]
    shorter = [" ".join(title.split()[:5]) for title in titles]
    assert match_records({"title": titles}, {"title": shorter}).pairs() == [
        (row, row) for row in range(20)
    ]


@pytest.mark.slow
def test_counts_of_patterns_add_up_to_all_pairs():
    a, b = two_tables(250, 50, 8, 1)
    for tables in ([RecordTable(a), RecordTable(b)], [RecordTable(a)]):
        fields = {name: code_field(Field(name), tables) for name in a}
        linkage = Linkage(tables, fields)
        comparers = [
            FieldComparer(field, Synonyms.english()) for field in fields.values()
        ]
        patterns = count_patterns(linkage, comparers, np.zeros(0, np.uint64))
        assert patterns.counts.sum() == pytest.approx(linkage.all_pairs)
        for number, field in enumerate(fields.values()):
            codes = [
                np.bincount(side, minlength=len(field.values)) for side in field.codes
            ]
            equal = (
                codes[0] * (codes[0] - 1) / 2 if linkage.single else codes[0] * codes[1]
            ).sum()
            counted = patterns.counts[patterns.levels[:, number] == 1].sum()
            assert counted == pytest.approx(equal, rel=0.1, abs=30)


@pytest.mark.parametrize(
    ("draws", "weight", "matches"),
    [(1, 1000.0, 0.0), (4, 1000.0, 2000.0), (100, 10.0, 900.0), (100, 0.0, 0.0)],
)
def test_few_drawn_pairs_are_no_matches(draws, weight, matches):
    """Of pairs that were drawn, those beyond their standard error are matches; counted ones all."""
    counts = np.array([50.0, 30.0 + draws * weight])
    patterns = PairPatterns(
        np.zeros((2, 1), np.uint8),
        counts,
        np.array([50.0, 30.0]),
        np.array([0.0, draws * weight**2]),
        np.zeros(0, np.int64),
        np.array([5.0, 0.0]),
        np.array([0.0, 10.0]),
    )
    found = patterns.matches(np.array([0.5, 1.0]))
    np.testing.assert_allclose(found, [5 + 45 / 2, 20 + matches])


@pytest.mark.slow
def test_nothing_depends_on_the_threads():
    tables = two_tables(600, 60, 8, 1)
    one, two = (match_records(*tables, threads=threads) for threads in (1, 3))
    assert one.pairs() == two.pairs()
    assert (one.scores == two.scores).all()


@pytest.mark.slow
def test_records_that_match_several_others_are_seen():
    population = Population(9)
    people = population.people(300, 0)
    copies = [population.again(people[row // 3]) for row in range(600)]
    result = match_records(columns_of(people, 8), columns_of(copies, 8))
    assert len(result) >= 540
    assert result.options.assign == "one-to-many"
    assert [text for text in result.summary.warnings if "one-to-many" in text]
    assert (
        len(
            match_records(
                columns_of(people, 8), columns_of(copies, 8), assign="one-to-one"
            )
        )
        <= 200
    )
    assert (
        likely_assignment(np.arange(9), np.arange(9), np.ones(9), (9, 9))
        == "one-to-one"
    )


def test_a_group_that_explodes_ends_the_run():
    """A group of many different records is an error; copies of one record, and groups of falling sizes, are none."""

    def check(sizes, names):
        labels = np.repeat(np.cumsum([0, *sizes])[:-1], sizes)
        check_groups(
            labels, [code_field(Field("name"), [RecordTable({"name": names})])]
        )

    different = [f"name {number}" for number in range(400)]
    with pytest.raises(
        ValueError,
        match=r"300 different records of 400 in one group, so the fields compared \(name\)",
    ):
        check([300, *[2] * 20, *[1] * 60], different)
    check([300, *[2] * 20, *[1] * 60], ["one name"] * 400)
    check(
        [90, 60, 40, 30, 22, 17, 14, 11, 9, 7, *[5] * 6, *[3] * 10, *[2] * 20],
        different,
    )


# For each kind of record: the number of values of its columns, and which of them relatives share.
RELATED = {
    "employees": (
        {
            "first": 150,
            "last": 1200,
            "hired": 9000,
            "firm": 30,
            "town": 30,
            "street": 30,
            "number": 30,
        },
        ("firm", "town", "street", "number"),
    ),
    "articles": (
        {
            "title": 1500,
            "weight": 3000,
            "colour": 12,
            "maker": 40,
            "line": 30,
            "country": 30,
            "year": 30,
        },
        ("maker", "line", "country", "year"),
    ),
    "household": (
        {
            "given": 120,
            "born": 9000,
            "sex": 2,
            "surname": 200,
            "area": 30,
            "road": 30,
            "house": 30,
        },
        ("surname", "area", "road", "house"),
    ),
}


def related_tables(kind, size, both, seed=4, moved=0.0):
    """Two tables of records that share some columns with one other, or move; `both` of them are in both."""
    columns, shared = RELATED[kind]
    rng = np.random.default_rng(seed)
    count = 2 * size - both
    words = list(
        dict.fromkeys("".join(rng.choice(MORE_SYLLABLES, 4)) for _ in range(12_000))
    )
    start = np.arange(count) // 2 * 2 if not moved else np.arange(count)
    first = {}
    for place, (name, values) in enumerate(columns.items()):
        codes = (rng.random(count) ** 1.3 * values).astype(int)
        codes = codes[start] if name in shared else codes
        first[name] = np.array(words, object)[(codes + 1000 * place) % len(words)]
    order = rng.permutation(count)
    first = {name: values[order] for name, values in first.items()}
    second = {name: values.copy() for name, values in first.items()}
    leave = rng.random(both) < moved
    elsewhere = rng.integers(0, count, both)
    for name, values in second.items():
        change = leave if name in shared else rng.random(both) < 0.06
        values[:both][change] = first[name][elsewhere[change]]
    a = {name: values[:size].tolist() for name, values in first.items()}
    b = {
        name: np.append(values[:both], values[size:]).tolist()
        for name, values in second.items()
    }
    return a, b


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "employees",
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in ("articles", "household")
        ),
    ],
)
def test_related_records_are_no_matches(kind):
    """What they share is common column by column; all of it at once shows relatives, not matches."""
    assert len(match_records(*related_tables(kind, 3000, 0))) <= 6
    result = match_records(*related_tables(kind, 3000, 90))
    precision, recall = quality(result, 90)
    assert precision >= 0.9
    assert recall >= 0.85
    assert abs(result.probabilities.mean() - precision) <= 0.06


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("fields", ["first last street phone", "first last town phone"])
def test_households_whose_people_are_mostly_in_both_tables_are_no_matches(
    fields, single
):
    """They differ in the given name only, as many matches do, but their records match others."""
    size, both = 1200, 700
    a, b = two_tables(size, both, 8, families=1)
    a, b = ({name: table[name] for name in fields.split()} for table in (a, b))
    if single:
        result = dedup_records({name: a[name] + b[name] for name in a})
        good = int(((result.j - result.i == size) & (result.i < both)).sum())
        precision, recall = good / max(1, len(result)), good / both
    else:
        result = match_records(a, b)
        precision, recall = quality(result, both)
    assert precision >= (0.85 if single else 0.95)
    assert recall >= 0.9
    assert result.summary.precision.low <= precision <= result.summary.precision.high


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("both", [3000, pytest.param(300, marks=pytest.mark.slow)])
def test_matches_that_changed_several_columns_at_once_are_found(both):
    result = match_records(*related_tables("employees", 3000, both, moved=0.15))
    precision, recall = quality(result, both)
    assert precision >= 0.9
    assert recall >= 0.93


@pytest.mark.slow
def test_many_fields_are_compared_and_what_is_left_out_is_said():
    rng = np.random.default_rng(5)
    words = np.array(
        ["".join(rng.choice(MORE_SYLLABLES, 3)) for _ in range(300)], object
    )
    columns = {
        f"c{number}": words[rng.integers(0, 40 + 8 * number, 900)]
        for number in range(16)
    }
    a = {name: values[:500].tolist() for name, values in columns.items()}
    b = {
        name: np.append(values[:100], values[500:]).tolist()
        for name, values in columns.items()
    }
    result = match_records(a, b)
    assert quality(result, 100) == (1, 1)
    assert [
        text
        for text in result.summary.warnings
        if text.startswith("of 16 fields, 12 were checked")
    ]
    few = ["c3", "c8", "c12", "c15"]
    assert not match_records(
        {name: a[name] for name in few}, {name: b[name] for name in few}
    ).summary.warnings

"""The cases of benchmarks/linkage_contest.py by name: tables with their true matches, and what a run must reach.

people/A/3/20000/10     two tables of 20,000 people of generator A in 3 columns, of whom 10 % are in both
people/A/3f/20000/10/2  the same with families, second draw
twice/A/4/20000         one table of 20,000 rows, of which a tenth are second records of a person
twice/A/4/20000/2       the same with a fiftieth
messy/derived/3         1,400 customers, 3 % of whom are there twice; with columns that follow from others, or "plain"
none/products           a table without duplicates; none/real-cora is a public table without its duplicates
input/dummies-30        records as they come: dummies for missing values, a source column, tables of one to many, lists
calibration/songs       two tables or one of some kind, for the expected precision
public/cora             a public data set
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any

import linkage
import linkage_words as words
import numpy as np
import numpy.typing as npt
from linkage_contacts import CONTACT_CALIBRATION, CONTACT_KINDS
from linkage_draws import Draws, Record
from linkage_kinds import KINDS, Kind
from linkage_kinds_kept import KEPT_CALIBRATION, KEPT_KINDS
from linkage_populations import POPULATIONS, columns_of, copy_people, draw_people

Pairs = npt.NDArray[np.int64]
Columns = dict[str, Any]


@dataclass(frozen=True)
class Tables:
    """Two tables, or one, with the pairs of rows that match.

    Attributes
    ----------
    a, b : dict of str to sequence
        Columns; b is None if duplicates within a are sought.
    true_pairs : ndarray of int64, shape (n, 2)
    kinds : dict of str to str
        What each column holds, for splink; empty if splink does not take part.
    """

    a: Columns
    b: Columns | None
    true_pairs: Pairs
    kinds: Mapping[str, str]


@dataclass(frozen=True)
class Target:
    """What a run must reach; None: no such target.

    Attributes
    ----------
    f1, precision, recall : float
        The least.
    beside_splink, beside_tfidf, beside_main : bool
        Whether F1 must not be below that of the other, less .002 for splink.
    links : float
        The most links, as a share of the rows.
    expected : float
        The most that expected precision differs from precision.
    """

    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    beside_splink: bool = False
    beside_tfidf: bool = False
    beside_main: bool = False
    links: float | None = None
    expected: float | None = None


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], Tables]
    target: Target
    kept_back: bool = False


NO_PAIRS = np.zeros((0, 2), np.int64)
NO_LINKS = Target(links=0.001)
MOSTLY_RIGHT = Target(precision=0.95, recall=0.85, expected=0.03)

# ---- people ----


def people_columns(text: str) -> tuple[int, bool]:
    """Return number of columns and whether there are families, of "8f"."""
    return int(text.rstrip("f")), text.endswith("f")


def two_tables_of_people(
    letter: str, columns: str, size: int, percent: float, seed: int
) -> Tables:
    population = POPULATIONS[letter]
    count, families = people_columns(columns)
    names = columns_of(population, count)
    rng = np.random.default_rng(
        [ord(letter), count, families, size, round(percent * 100), seed]
    )
    shared = round(size * percent / 100)
    people = draw_people(population, 2 * size - shared, families, rng)
    order = rng.permutation(size)
    a = {name: people[name][:size][order] for name in names}
    both = {name: people[name][:shared] for name in people}
    copies = (
        copy_people(population, both, names, rng)
        if shared
        else {name: people[name][:0] for name in names}
    )
    other_order = rng.permutation(size)
    b = {
        name: np.concatenate([copies[name], people[name][size:]])[other_order]
        for name in names
    }
    row_in_a = np.argsort(order)[:shared]
    row_in_b = np.argsort(other_order)[:shared]
    true_pairs = np.column_stack([row_in_a, row_in_b])
    return Tables(
        a,
        b,
        true_pairs[np.argsort(row_in_a)],
        {name: population.kinds[name] for name in names},
    )


def people_twice(
    letter: str, columns: str, size: int, percent: float, seed: int
) -> Tables:
    population = POPULATIONS[letter]
    count, families = people_columns(columns)
    names = columns_of(population, count)
    rng = np.random.default_rng(
        [ord(letter), count, families, size, round(percent * 100), seed, 1]
    )
    copied = round(size * percent / 100)
    people = draw_people(population, size - copied, families, rng)
    both = {name: people[name][:copied] for name in people}
    copies = (
        copy_people(population, both, names, rng)
        if copied
        else {name: people[name][:0] for name in names}
    )
    order = rng.permutation(size)
    place = np.argsort(order)
    a = {name: np.concatenate([people[name], copies[name]])[order] for name in names}
    pairs = np.sort(np.column_stack([place[:copied], place[size - copied :]]), 1)
    kinds = {name: population.kinds[name] for name in names}
    return Tables(a, None, pairs[np.lexsort(pairs.T[::-1])], kinds)


def people_target(columns: str, size: int, percent: float) -> Target:
    if round(size * percent / 100) == 0:
        return NO_LINKS
    least = 0.96 if columns.endswith("f") and percent <= 2 else 0.99
    return Target(f1=least, beside_splink=True, expected=0.03)


# ---- kinds of tables ----


def as_columns(records: list[Record]) -> Columns:
    return {name: [record[name] for record in records] for name in records[0]}


def linked_kind(
    kind: Kind, size: int, share: float, strength: float, seed: int, one: bool
) -> Tables:
    """Return two tables of a kind, or one, in which a share of the entities has a second record."""
    draws = Draws(seed)
    shared = round(size * share)
    entities = kind.entities(size if one else 2 * size - shared, draws)
    draws.shuffle(entities)
    first = [(number, record) for number, record in enumerate(entities[:size])]
    again = [
        (number, kind.again(record, draws, strength))
        for number, record in enumerate(entities[:shared])
    ]
    if one:
        rows = first + again
        draws.shuffle(rows)
        return Tables(
            as_columns([record for _, record in rows]),
            None,
            linkage.same_entity(number for number, _ in rows),
            kind.kinds,
        )
    second = again + [
        (size + number, kind.again(record, draws, strength))
        for number, record in enumerate(entities[size:])
    ]
    draws.shuffle(first)
    draws.shuffle(second)
    place = {number: row for row, (number, _) in enumerate(first)}
    pairs = linkage.sorted_pairs(
        (place[number], row)
        for row, (number, _) in enumerate(second)
        if number in place
    )
    a, b = (as_columns([record for _, record in side]) for side in (first, second))
    return Tables(a, b, pairs, kind.kinds)


# ---- messy customers ----

MESSY_CITIES = words.CITIES[:10]
STATES = ["NSW", "VIC", "QLD", "WA", "SA", "TAS", "ACT", "NT", "NSW", "VIC"]


def messy_customers(derived: bool, percent: float, seed: int = 5) -> Tables:
    """Return 1,400 rows of a list out of a spreadsheet; a share of them are second entries."""
    draws = Draws(seed * 1000 + round(percent))
    size = 1400
    again = round(size * percent / 100)
    rows: list[tuple[int, Record]] = []
    for number in range(size - again):
        first = draws.skewed(
            words.MEN if draws.chance(0.5) else words.WOMEN, 0.5
        ).title()
        last = draws.skewed(words.SURNAMES, 0.4).title()
        place = min(9, int(draws.expovariate(0.4)))
        kind = draws.choice(words.STREETS).title()
        user = draws.choice(
            (
                f"{first}.{last}",
                f"{first[0]}{last}{draws.randint(1, 99)}",
                f"{last}{draws.randint(1, 999)}",
            )
        )
        number_of_house = draws.randint(1, 180)
        street = draws.choice(words.STARTS).title() + draws.choice(("", "wood", "ton"))
        record = {
            "First Name": first,
            "Last Name": last,
            "Street": f"{number_of_house} {street} {kind}",
            "City": MESSY_CITIES[place].title(),
            "Postcode": str(2000 + 211 * place + draws.choice((0, 0, 1, 2))),
            "State": STATES[place],
            "Phone": f"(0{2 + place % 7}) {draws.randint(1000, 9999)} {draws.randint(1000, 9999)}",
            "Email": f"{user.lower()}@{draws.choice(('example.com', 'mail.example', 'post.example'))}".replace(
                "'", ""
            ),
            "Customer since": f"{draws.randint(2008, 2024)}-{draws.randint(1, 12):02d}-{draws.randint(1, 28):02d}",
            "Segment": draws.skewed(("Retail", "Wholesale", "Online"), 0.8),
        }
        rows.append((number, record))
    rows += [(number, messy_again(rows[number][1], draws)) for number in range(again)]
    finished = []
    for number, record in rows:
        other = dict(record)
        for name, missing in (
            ("Phone", 0.15),
            ("Email", 0.12),
            ("Customer since", 0.1),
            ("Postcode", 0.04),
            ("Street", 0.03),
        ):
            if draws.chance(missing):
                other[name] = ""
        if derived:
            other = {"Name": f"{other['First Name']} {other['Last Name']}", **other}
        finished.append((number, other))
    draws.shuffle(finished)
    kinds = {
        "Name": "ignore",
        "First Name": "given",
        "Last Name": "surname",
        "Street": "street",
        "City": "town",
        "Postcode": "postcode",
        "State": "category",
        "Phone": "phone",
        "Email": "email",
        "Customer since": "ignore",
        "Segment": "category",
    }
    table = as_columns([record for _, record in finished])
    return Tables(
        table,
        None,
        linkage.same_entity(number for number, _ in finished),
        {name: kinds[name] for name in table},
    )


def messy_again(record: Record, draws: Draws) -> Record:
    """Return a customer as entered again, some time later."""
    other = dict(record)
    for name, rate in (
        ("First Name", 0.2),
        ("Last Name", 0.2),
        ("Street", 0.2),
        ("City", 0.08),
        ("Email", 0.1),
    ):
        other[name] = draws.typos(other[name], rate)
    if draws.chance(0.1):
        other["First Name"] = words.NICKNAMES.get(
            record["First Name"].lower(), record["First Name"][0]
        ).title()
    if draws.chance(0.3):
        street, _, kind = other["Street"].rpartition(" ")
        other["Street"] = f"{street} {words.SHORT.get(kind.lower(), kind)}".strip()
    if draws.chance(0.4):
        other["Phone"] = "+61 " + re.sub(r"\D", "", other["Phone"])[1:]
    if draws.chance(0.15):
        other["Last Name"] = other["Last Name"].upper()
    if draws.chance(0.3):
        other["Customer since"] = (
            f"{draws.randint(2008, 2024)}-{draws.randint(1, 12):02d}-{draws.randint(1, 28):02d}"
        )
    return other


# ---- records as they come ----

DUMMIES = {
    "born": ("1900-01-01", "1900-01-01", "unknown"),
    "phone": ("9999999999", "N/A"),
    "email": ("nan", "NULL", "unknown"),
    "street": ("unknown", "N/A"),
    "postcode": ("00000", "NULL"),
}


def with_dummies(percent: int) -> Tables:
    """Return people whose missing values are written as words, as a number of nines or as a day in 1900."""
    tables = two_tables_of_people("A", "8", 2000, 10, 7)
    draws = Draws(percent)
    assert tables.b is not None
    for table in (tables.a, tables.b):
        for name, marks in DUMMIES.items():
            column = table[name]
            for row in range(len(column)):
                if column[row] == "" or draws.chance(percent / 100):
                    column[row] = draws.choice(marks)
    return tables


def with_source_column() -> Tables:
    """Return one table of people with the system that each record is from: another for most matches."""
    tables = people_twice("A", "8", 4000, 20, 3)
    draws = Draws(3)
    first = set(tables.true_pairs[:, 0].tolist())
    second = set(tables.true_pairs[:, 1].tolist())
    source = []
    for row in range(len(tables.a["first"])):
        if row in first or row in second:
            source.append("crm" if (row in first) != draws.chance(0.1) else "shop")
        else:
            source.append(draws.choice(("crm", "shop")))
    return Tables(
        {**tables.a, "source": source},
        None,
        tables.true_pairs,
        {**tables.kinds, "source": "category"},
    )


def one_to_many() -> Tables:
    """Return publications of a curated list, of which the other list has several records each."""
    draws = Draws(8)
    kind = KINDS["publications"]
    entities = kind.entities(3500, draws)
    second = []
    for number in range(1000):
        second += [
            (number, kind.again(entities[number], draws, 1.0))
            for _ in range(draws.choice((0, 1, 1, 2, 3, 4, 6)))
        ]
    second += [
        (number, kind.again(entities[number], draws, 1.0))
        for number in range(1500, 3500)
    ]
    draws.shuffle(second)
    pairs = linkage.sorted_pairs(
        (number, row) for row, (number, _) in enumerate(second) if number < 1500
    )
    return Tables(
        as_columns(entities[:1500]),
        as_columns([record for _, record in second]),
        pairs,
        kind.kinds,
    )


def small_lists(folder: Path, draw: int) -> Tables:
    """Return 20 products of Abt, and the same of Buy."""
    data = linkage.abt_buy(folder)
    draws = Draws(draw)
    chosen = draws.sample(data.true_pairs.tolist(), 20)
    order = draws.sample(range(20), 20)
    a = {
        name: [values[i] for i, _ in chosen]
        for name, values in data.a.items()
        if name != "id"
    }
    assert data.b is not None
    b = {
        name: [data.b[name][chosen[place][1]] for place in order]
        for name in a
        if name in data.b
    }
    pairs = linkage.sorted_pairs((place, row) for row, place in enumerate(order))
    return Tables(a, b, pairs, {})


def few_birds() -> Tables:
    """Return 15 birds in two lists, as any person would link them."""
    return linked_kind(KINDS["birds"], 15, 1.0, 0.6, 4, False)


def phone_types() -> Tables:
    """Return people whose telephone is text in one table and a number in the other."""
    tables = two_tables_of_people("A", "4", 300, 50, 4)
    assert tables.b is not None
    rng = np.random.default_rng(4)
    numbers = rng.integers(2 * 10**9, 9 * 10**9, 300)
    phone_of = rng.integers(2 * 10**9, 9 * 10**9, 300)
    phone_of[tables.true_pairs[:, 1]] = numbers[tables.true_pairs[:, 0]]
    a = {name: tables.a[name] for name in ("first", "town")} | {
        "phone": [str(number) for number in numbers.tolist()]
    }
    b = {name: tables.b[name] for name in ("first", "town")} | {
        "phone": phone_of.tolist()
    }
    return Tables(a, b, tables.true_pairs, {})


# ---- public tables ----


def public(folder: Path, name: str) -> Tables:
    data = linkage.PUBLIC[name](folder)
    a = {
        column: values for column, values in data.a.items() if column != data.id_column
    }
    b = (
        None
        if data.b is None
        else {
            column: values
            for column, values in data.b.items()
            if column != data.id_column
        }
    )
    kinds = FEBRL_KINDS if name.startswith("FEBRL") else {}
    return Tables(a, b, data.true_pairs, kinds)


FEBRL_KINDS = {
    "given_name": "given",
    "surname": "surname",
    "street_number": "number",
    "address_1": "street",
    "address_2": "street",
    "suburb": "town",
    "postcode": "postcode",
    "state": "category",
    "date_of_birth": "code",
    "soc_sec_id": "code",
}


def without_duplicates(folder: Path, name: str) -> Tables:
    """Return a public table with one record of each entity."""
    tables = public(folder, name)
    first = list(range(len(next(iter(tables.a.values())))))
    for i, j in tables.true_pairs.tolist():
        first[j] = min(first[j], first[i])
    kept = [row for row, least in enumerate(first) if row == least]
    return Tables(
        {column: [values[row] for row in kept] for column, values in tables.a.items()},
        None,
        NO_PAIRS,
        tables.kinds,
    )


def one_side(folder: Path, name: str, side: str) -> Tables:
    """Return one of two public tables, in which hardly any entity is twice."""
    tables = public(folder, name)
    return Tables(
        tables.a if side == "a" else tables.b or {}, None, NO_PAIRS, tables.kinds
    )


# ---- all of them ----

ONE_TABLE = (
    "FEBRL 1",
    "FEBRL 2",
    "FEBRL 3",
    "cora",
    "restaurants",
    "Chicago",
    "patstat",
)
TWO_TABLES = ("FEBRL 4", "Abt-Buy", "Amazon-Google", "DBLP-ACM")
# The kind, rows, share with a second record, strength of errors, and whether there is one table.
CALIBRATION = {
    "people": (3000, 0.3, 1.6, False),
    "customers": (2000, 0.15, 1.4, True),
    "products": (1500, 0.4, 1.0, False),
    "publications": (2500, 0.25, 1.3, True),
    "companies": (1800, 0.5, 1.2, False),
    "addresses": (4000, 0.2, 1.0, False),
    "invoices": (2500, 0.6, 1.0, False),
    "places": (1600, 0.35, 1.5, True),
    "birds": (1200, 0.5, 1.5, False),
    "songs": (3000, 0.1, 1.5, True),
}


def hyphened(name: str) -> str:
    return name.replace(" ", "-")


def people_case(name: str) -> Case:
    """Return the case of a name such as people/A/3f/20000/10 or twice/A/3/20000."""
    what, letter, columns, size, *rest = name.split("/")
    percent = float(rest[0]) if rest else 10
    seed = int(rest[1]) if len(rest) > 1 else 1
    draw = two_tables_of_people if what == "people" else people_twice
    target = people_target(columns, int(size), percent)
    return Case(
        name,
        lambda: draw(letter, columns, int(size), percent, seed),
        target,
        letter == "C",
    )


def people_names() -> Iterator[str]:
    for letter, columns, families in product("ABC", "3468", ("", "f")):
        for percent in (100, 50, 10, 2, 0):
            yield f"people/{letter}/{columns}{families}/20000/{percent}"
        for size in (20_000, 40_000):
            yield f"twice/{letter}/{columns}{families}/{size}"
        yield f"twice/{letter}/{columns}{families}/20000/0"
    for letter, size, seed in product(
        "ABC",
        (20, 100, 500, 2000, 50_000, 100_000, 200_000, 400_000, 1_000_000),
        (1, 2),
    ):
        yield f"people/{letter}/8/{size}/80/{seed}"
    for letter, size, percent in product("ABC", (20, 100, 500, 2000, 8000), (10, 2, 0)):
        yield f"people/{letter}/8f/{size}/{percent}"
    for letter, size in product("ABC", (20, 100, 500, 2000)):
        yield f"people/{letter}/3/{size}/100"
        yield f"people/{letter}/4/{size}/10"


def all_cases(folder: Path | None) -> dict[str, Case]:
    """Return the cases by name; those of public data sets only with their folder."""
    cases = [people_case(name) for name in dict.fromkeys(people_names())]
    for form, percent in product(("derived", "plain"), (0, 1, 3, 5, 10, 20)):
        target = MOSTLY_RIGHT if percent else NO_LINKS
        cases.append(
            Case(
                f"messy/{form}/{percent}",
                lambda form=form, percent=percent: messy_customers(
                    form == "derived", percent
                ),
                target,
            )
        )
    for kinds, sizes, kept_back in (
        (KINDS, CALIBRATION, False),
        (KEPT_KINDS, KEPT_CALIBRATION, True),
        (CONTACT_KINDS, CONTACT_CALIBRATION, True),
    ):
        for name, kind in kinds.items():
            cases += kind_cases(hyphened(name), kind, sizes[name], kept_back)
    plain = Target(f1=0.98, expected=0.03)
    cases += [
        Case(
            "input/dummies-30",
            lambda: with_dummies(30),
            Target(precision=0.97, recall=0.85),
        ),
        Case(
            "input/dummies-70",
            lambda: with_dummies(70),
            Target(precision=0.95, recall=0.3),
        ),
        Case("input/source", with_source_column, plain),
        Case("input/one-to-many", one_to_many, Target(f1=0.9, beside_tfidf=True)),
        Case("input/birds-15", few_birds, Target(f1=0.9)),
        Case("input/phone-types", phone_types, plain),
    ]
    if folder is not None:
        cases += public_cases(folder)
    return {case.name: case for case in cases}


def kind_cases(
    name: str, kind: Kind, sizes: tuple[int, float, float, bool], kept_back: bool
) -> list[Case]:
    """Return the cases of a kind: a table without duplicates, and tables with some."""
    size, share, strength, one = sizes
    none = Case(
        f"none/{name}",
        lambda: linked_kind(kind, 2000, 0, 1, 11, True),
        NO_LINKS,
        kept_back,
    )
    target = Target(beside_tfidf=True, expected=0.03)
    some = Case(
        f"calibration/{name}",
        lambda: linked_kind(kind, size, share, strength, 12, one),
        target,
        kept_back,
    )
    return [none, some]


def public_cases(folder: Path) -> list[Case]:
    cases = []
    for name in (*ONE_TABLE, *TWO_TABLES):
        target = Target(beside_main=True, beside_tfidf=True)
        cases.append(
            Case(
                f"public/{hyphened(name)}",
                lambda name=name: public(folder, name),
                target,
            )
        )
    for name in ONE_TABLE:
        cases.append(
            Case(
                f"none/real-{hyphened(name)}",
                lambda name=name: without_duplicates(folder, name),
                NO_LINKS,
            )
        )
    for name, side in (*product(TWO_TABLES, "ab"),):
        cases.append(
            Case(
                f"none/real-{hyphened(name)}-{side}",
                lambda name=name, side=side: one_side(folder, name, side),
                NO_LINKS,
            )
        )
    for draw in range(1, 6):
        cases.append(
            Case(
                f"input/lists-{draw}",
                lambda draw=draw: small_lists(folder, draw),
                Target(f1=0.8),
            )
        )
    return cases


def chosen_cases(
    folder: Path | None, patterns: list[str], kept_back: bool
) -> list[Case]:
    """Return the cases whose names match one of some patterns, as `people/*/3/*` or just `people`."""
    cases = all_cases(folder)
    chosen: dict[str, Case] = {}
    for pattern in patterns:
        within = [
            name
            for name in cases
            if fnmatch(name, pattern) or name.startswith(pattern + "/")
        ]
        matching = [pattern] if pattern in cases else within
        if not matching and pattern.split("/")[0] in ("people", "twice"):
            chosen[pattern] = people_case(pattern)
        chosen |= {
            name: cases[name]
            for name in matching
            if kept_back or not cases[name].kept_back
        }
    return [*chosen.values()]

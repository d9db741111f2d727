"""E-mail addresses in records: made of names and given out once, or shared by colleagues and families."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from lshfast.records.tables.fields import are_mail_addresses

FIRSTS = [
    "anna",
    "bruno",
    "clara",
    "dmitri",
    "elena",
    "farid",
    "gudrun",
    "hector",
    "ingrid",
    "jamal",
    "katia",
    "lorenz",
    "miriam",
    "nikos",
    "olga",
    "pierre",
    "quentin",
    "rosa",
    "stefan",
    "tilda",
    "ulrich",
    "vera",
    "wanda",
    "xavier",
    "yusuf",
    "zoe",
]
LASTS = [
    first + last
    for first in ["wal", "kor", "ber", "hal", "mun", "ost", "pet", "rin", "sol", "tam"]
    for last in ["ser", "man", "ding", "by", "wick", "stad", "lund", "ovic"]
]
HOSTS = ["one.example", "two.example", "three.example"]


class People:
    """Draws people with full names of 26 x 80 words, and what else a list of contacts has."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one_of(self, values):
        return values[int(self.rng.integers(len(values)))]

    def name(self, surname=None):
        return f"{self.one_of(FIRSTS)} {surname or self.one_of(LASTS)}"

    def address(self, name, number=""):
        return f"{name.replace(' ', '.')}{number}@{self.one_of(HOSTS)}"

    def phone(self):
        return f"0{self.rng.integers(10**8, 10**9)}"

    def written_again(self, name):
        """Return a name as another hand writes it."""
        first, last = name.split()
        place = int(self.rng.integers(1, len(last) - 1))
        typo = last[:place] + last[place + 1] + last[place] + last[place + 2 :]
        return self.one_of(
            [name, f"{last}, {first}", f"{first[0]}. {last}", f"{first} {typo}"]
        )


def columns_of(rows):
    """Return rows of name, address and more as a table."""
    names = ("name", "mail", "phone", "town")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=False))


def quality(result, people):
    """Return the precision and recall of links of one table, from the person of each row."""
    links = set(zip(result.i.tolist(), result.j.tolist(), strict=True))
    rows = {}
    for row, person in enumerate(people):
        rows.setdefault(person, []).append(row)
    truth = {(row[0], row[1]) for row in rows.values() if len(row) > 1}
    right = len(links & truth)
    return right / max(1, len(links)), right / max(1, len(truth))


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("both", [100, 700])
def test_equal_addresses_link_lists_of_names_and_addresses(both):
    """The names are those of others too, and the addresses are made of them."""
    people = People(5)
    names = [people.name() for _ in range(1400 - both)]
    rows = [(name, people.address(name, number)) for number, name in enumerate(names)]
    again = [(people.written_again(name), mail) for name, mail in rows[:both]]
    result = match_records(columns_of(rows[:700]), columns_of([*again, *rows[700:]]))
    right = int(((result.i == result.j) & (result.i < both)).sum())
    assert right / len(result) >= 0.97
    assert right / both >= 0.9


def contacts(people, twice, surname, host):
    """Return rows of people of whom six in ten share the mailbox of their group, and each row's person.

    Some of the people stand twice. `surname` returns that of a group or None, and `host` its mailbox.
    """
    rows = []
    of_person = []
    person = 0
    while person < 900:
        group_surname = surname()
        mailbox = host(person)
        phone = people.phone()
        town = people.one_of(LASTS)
        for _ in range(int(people.rng.integers(1, 6))):
            name = people.name(group_surname)
            mail = (
                mailbox if people.rng.random() < 0.6 else people.address(name, person)
            )
            rows.append(
                (
                    name,
                    mail,
                    phone if people.rng.random() < 0.5 else people.phone(),
                    town,
                )
            )
            of_person.append(person)
            if people.rng.random() < twice:
                rows.append((people.written_again(name), *rows[-1][1:]))
                of_person.append(person)
            person += 1
    return rows, of_person


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("twice", [0.0, 0.1, 0.5])
def test_colleagues_with_one_mailbox_are_no_matches(twice):
    people = People(6)
    rows, of_person = contacts(
        people, twice, lambda: None, lambda person: f"info@firm{person}.example"
    )
    result = dedup_records(columns_of(rows))
    if not twice:
        assert len(result) <= 2
        return
    precision, recall = quality(result, of_person)
    assert precision >= 0.95
    assert recall >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("twice", [0.2, 0.5])
def test_families_with_one_mailbox_are_no_matches(twice):
    people = People(7)
    rows, of_person = contacts(
        people,
        twice,
        lambda: people.one_of(LASTS),
        lambda person: f"family{person}@one.example",
    )
    precision, recall = quality(dedup_records(columns_of(rows)), of_person)
    assert precision >= 0.8  # some have the same given name, too
    assert recall >= 0.9


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("both", [0, 150])
def test_addresses_that_namesakes_have_are_not_believed(both):
    """An address follows from the names, so namesakes with other dates of birth have equal ones."""
    people = People(8)
    rng = people.rng
    rows = []
    for _ in range(3000 - both):
        first, last = people.one_of(FIRSTS[:20]), people.one_of(LASTS[:60])
        born = f"{rng.integers(1940, 2008)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
        rows.append((first, last, people.address(f"{first} {last}"), born))
    names = ("first", "last", "mail", "born")
    a, b = (
        dict(zip(names, map(list, zip(*part, strict=True)), strict=True))
        for part in (rows[:1500], [*rows[:both], *rows[1500:]])
    )
    result = match_records(a, b)
    right = int(((result.i == result.j) & (result.i < both)).sum())
    assert len(result) - right <= 5
    assert right >= 0.95 * both


def test_columns_of_addresses():
    assert are_mail_addresses(["ann@one.example", "Ann <ann@b.example>", "-"])
    assert not are_mail_addresses([])
    assert not are_mail_addresses(["@home", "a@b", "one @ two.example", "ann.example"])
    assert not are_mail_addresses(["@" * 1_000_000, "a" * 1_000_000, "a@" * 500_000])

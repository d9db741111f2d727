"""Columns of full names: which are recognised, and how typing errors, initials and the order of words are compared."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from tests.records.syllables import SYLLABLES


class Names:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.firsts = ["".join(self.rng.choice(SYLLABLES, 2)) for _ in range(60)]
        self.lasts = ["".join(self.rng.choice(SYLLABLES, 3)) for _ in range(300)]

    def name(self):
        return f"{self.rng.choice(self.firsts)} {self.rng.choice(self.lasts)}".title()

    def born(self):
        return f"{self.rng.integers(1940, 2005)}-{self.rng.integers(1, 13):02}-{self.rng.integers(1, 29):02}"

    def mistyped(self, name):
        place = int(self.rng.integers(1, len(name) - 1))
        return name[:place] + name[place + 1] + name[place] + name[place + 2 :]


HANDS = {
    "typing errors": lambda names, name: names.mistyped(name),
    "initials": lambda names, name: f"{name[0]}. {name.split()[1]}",
    "exchanged": lambda names, name: " ".join(reversed(name.split())),
    "with a comma": lambda names, name: ", ".join(reversed(name.upper().split())),
    "a middle name": lambda names, name: name.replace(
        " ", f" {names.rng.choice(names.firsts).title()} "
    ),
}


def kind_of(values):
    # Labels of levels show as what a column is compared.
    rows = np.arange(len(values))
    table = {"column": list(values), "code": [f"{row:05}x" for row in rows]}
    result = match_records(table, table, fields=["column", "code"])
    return {"nickname": "name"}.get(
        result.weights.fields[0].labels[2].split()[0], "other"
    )


FORMS = {
    "given name first": (lambda names: names.name(), "name"),
    "surname first": (lambda names: ", ".join(reversed(names.name().split())), "name"),
    "with an initial": (
        lambda names: names.name().replace(
            " ", f" {names.rng.choice(list('ABCEHM'))}. "
        ),
        "name",
    ),
    "with signs": (lambda names: names.name().replace(" ", "-Ma O'"), "name"),
    "long codes": (
        lambda names: f"{'a' * 60}{names.rng.integers(10**6)} {'b' * 60}-",
        "other",
    ),
    "a school": (lambda names: f"{names.name().split()[1]} High School", "other"),
    "a street": (
        lambda names: f"{names.rng.integers(1, 90)} {names.name().split()[1]} Road",
        "other",
    ),
    "a title": (
        lambda names: f"The {names.name().split()[0]} of {names.name().split()[1]}",
        "other",
    ),
    "two people": (lambda names: f"{names.name()}, {names.name()}", "other"),
}


@pytest.mark.one_case
@pytest.mark.parametrize("form", FORMS)
def test_columns_of_full_names_are_recognised_by_their_content(form):
    names = Names(2)
    make, kind = FORMS[form]
    assert kind_of([make(names) for _ in range(250)]) == kind


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("hand", HANDS)
def test_people_whose_full_name_is_written_otherwise_are_linked(hand):
    names = Names(3)
    people = [(names.name(), names.born()) for _ in range(900)]
    again = [(HANDS[hand](names, name), born) for name, born in people[500:600]]
    a = {
        "name": [name for name, _ in people[:600]],
        "born": [born for _, born in people[:600]],
    }
    others = [*again, *people[600:]]
    b = {"name": [name for name, _ in others], "born": [born for _, born in others]}
    pairs = set(match_records(a, b).pairs())
    true = {(500 + k, k) for k in range(100)}
    assert len(pairs & true) >= (75 if hand == "initials" else 95)
    assert len(pairs - true) <= 3
    one = {
        name: a[name] + [row[place] for row in again]
        for place, name in enumerate(("name", "born"))
    }
    duplicates = {(500 + k, 600 + k) for k in range(100)}
    assert len(set(dedup_records(one).pairs()) & duplicates) >= (
        75 if hand == "initials" else 93
    )


@pytest.mark.slow
def test_members_of_a_family_do_not_agree_in_their_full_name():
    names = Names(4)
    surnames = [names.name().split()[1] for _ in range(300)]
    phones = [f"0{names.rng.integers(10**8, 10**9)}" for _ in surnames]
    table = {
        "name": [
            f"{first} {surname}"
            for surname in surnames
            for first in names.rng.choice(names.firsts, 2, False)
        ],
        "born": [names.born() for _ in surnames for _ in range(2)],
        "phone": [phone for phone in phones for _ in range(2)],
    }
    assert len(dedup_records(table)) <= 6  # a few given names are similar

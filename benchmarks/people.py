"""Synthetic people for benchmarks of record linkage: two tables in the manner of FEBRL's generator, with a fixed seed.

The first table holds people, with names and suburbs of skewed frequencies and household addresses. The second holds
copies of some of them with errors, and other people. Each field of a copy has an error with some probability: typing
errors (a letter is inserted, deleted or replaced, or two letters are exchanged), missing values, an abbreviated word,
another value after a move, and exchanged given name and surname.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FIELDS = (
    "given_name", "surname", "street_number", "address_1", "address_2", "suburb", "postcode", "state",
    "date_of_birth", "soc_sec_id",
)  # fmt: skip
STATES = ("nsw", "vic", "qld", "wa", "sa", "tas", "act", "nt")
CONSONANTS = (
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "br",
    "ch",
    "st",
)
VOWELS = ("a", "e", "i", "o", "u", "ai", "ee", "ia")
ENDINGS = ("", "", "n", "s", "ton", "son", "man", "ley", "ville", "ford")
STREETS = ("street", "road", "place", "crescent", "court", "close", "avenue", "drive")
SHORT = {
    "street": "st", "road": "rd", "place": "pl", "crescent": "cres", "court": "ct", "close": "cl", "avenue": "ave",
    "drive": "dr",
}  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"

# The probability that a field of a copy is missing, differs by a typing error, or has another
# value.
ERRORS = {
    "given_name": (0.05, 0.10, 0.02), "surname": (0.02, 0.10, 0.03), "street_number": (0.05, 0.06, 0.08),
    "address_1": (0.04, 0.15, 0.08), "address_2": (0.30, 0.10, 0.08), "suburb": (0.02, 0.12, 0.08),
    "postcode": (0.02, 0.06, 0.08), "state": (0.03, 0.03, 0.02), "date_of_birth": (0.08, 0.06, 0.01),
    "soc_sec_id": (0.15, 0.08, 0.01),
}  # fmt: skip
SWAPPED = 0.02  # given name and surname are exchanged

Columns = dict[str, "npt.NDArray[Any]"]


def words(count: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return so many different invented words of two or three syllables."""
    found: dict[str, None] = {}
    while len(found) < count:
        size = 2 * count
        parts = [
            np.array(kind, object)[rng.integers(0, len(kind), size)]
            for kind in (CONSONANTS, VOWELS, CONSONANTS, VOWELS, ENDINGS)
        ]
        third = np.where(
            rng.random(size) < 0.4,
            np.array(CONSONANTS, object)[rng.integers(0, 20, size)],
            "",
        )
        found |= dict.fromkeys(
            (parts[0] + parts[1] + parts[2] + parts[3] + third + parts[4]).tolist()
        )
    return np.array([*found][:count], object)


def skewed(
    count: int, size: int, rng: np.random.Generator, power: float = 0.8
) -> npt.NDArray[np.int64]:
    """Draw numbers below `count`, with frequencies of Zipf's law with this power."""
    weights = np.arange(1, count + 1, dtype=float) ** -power
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(size)).clip(
        0, count - 1
    )


class People:
    """Draws of people from the same names, streets and suburbs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.given, self.surnames = words(3000, rng), words(30000, rng)
        self.streets, self.suburbs, self.houses = (
            words(40000, rng),
            words(6000, rng),
            words(50000, rng),
        )
        self.postcodes = rng.integers(800, 8000, len(self.suburbs))
        self.states = skewed(len(STATES), len(self.suburbs), rng, 0.6)

    def draw(self, size: int, rng: np.random.Generator) -> Columns:
        suburb = skewed(len(self.suburbs), size, rng, 0.5)
        kinds = np.array(STREETS, object)
        start = np.datetime64("1925-01-01")
        born = start + rng.integers(0, 29000, size).astype("timedelta64[D]")
        house = self.houses[rng.integers(0, len(self.houses), size)]
        return {
            "given_name": self.given[skewed(len(self.given), size, rng)],
            "surname": self.surnames[skewed(len(self.surnames), size, rng)],
            "street_number": rng.integers(1, 300, size).astype(str).astype(object),
            "address_1": self.streets[rng.integers(0, len(self.streets), size)]
            + " "
            + kinds[rng.integers(0, 8, size)],
            "address_2": np.where(rng.random(size) < 0.4, house, ""),
            "suburb": self.suburbs[suburb],
            "postcode": np.array(
                [f"{code:04d}" for code in self.postcodes.tolist()], object
            )[suburb],
            "state": np.array(STATES, object)[self.states[suburb]],
            "date_of_birth": np.char.replace(born.astype(str), "-", "").astype(object),
            "soc_sec_id": rng.integers(10**6, 10**7, size).astype(str).astype(object),
        }


def mistyped(value: str, rng: np.random.Generator, letters: str) -> str:
    """Return a value with one typing error."""
    if not value:
        return value
    at, kind = int(rng.integers(0, len(value))), int(rng.integers(0, 4))
    letter = letters[int(rng.integers(0, len(letters)))]
    if kind == 0:
        return value[:at] + letter + value[at:]
    if kind == 1 and len(value) > 1:
        return value[:at] + value[at + 1 :]
    if kind == 2 and at + 1 < len(value):
        return value[:at] + value[at + 1] + value[at] + value[at + 2 :]
    return value[:at] + letter + value[at + 1 :]


def with_errors(people: Columns, others: Columns, rng: np.random.Generator) -> Columns:
    """Return copies with errors; values after a move are those of `others`."""
    size = len(people["surname"])
    copies = {name: values.copy() for name, values in people.items()}
    swap = rng.random(size) < SWAPPED
    copies["given_name"][swap], copies["surname"][swap] = (
        people["surname"][swap],
        people["given_name"][swap],
    )
    moved = rng.random(size) < 0.5  # other values of the address come together
    for name, (missing, typing, other) in ERRORS.items():
        place = rng.random(size)
        rows = np.flatnonzero(place < typing)
        digits = name in ("street_number", "postcode", "date_of_birth", "soc_sec_id")
        for row in rows.tolist():
            value = copies[name][row]
            if name == "address_1" and rng.random() < 0.3:
                street, _, kind = value.rpartition(" ")
                copies[name][row] = f"{street} {SHORT.get(kind, kind)}"
                continue
            value = mistyped(value, rng, "0123456789" if digits else LETTERS)
            copies[name][row] = (
                mistyped(value, rng, LETTERS)
                if not digits and rng.random() < 0.15
                else value
            )
        changed = (place >= typing) & (place < typing + other)
        if name in (
            "street_number",
            "address_1",
            "address_2",
            "suburb",
            "postcode",
            "state",
        ):
            changed &= moved
        copies[name][changed] = others[name][changed]
        copies[name][(place >= typing + other) & (place < typing + other + missing)] = (
            ""
        )
    return copies


def two_tables(
    size: int, overlap: float = 0.8, seed: int = 7
) -> tuple[Columns, Columns]:
    """Return two tables of `size` people with ids in `id`; `overlap` of the second are copies of people of the first.

    Rows with the same id are the same person.
    """
    rng = np.random.default_rng(seed)
    people = People(rng)
    first = people.draw(size, rng)
    shared = np.sort(rng.choice(size, round(size * overlap), replace=False))
    new = size - len(shared)
    copies = with_errors(
        {name: values[shared] for name, values in first.items()},
        people.draw(len(shared), rng),
        rng,
    )
    strangers = people.draw(new, rng)
    order = rng.permutation(size)
    second = {
        name: np.concatenate([copies[name], strangers[name]])[order] for name in FIELDS
    }
    first["id"] = np.arange(size)
    second["id"] = np.concatenate([shared, np.arange(size, size + new)])[order]
    return first, second

"""Three unlike generators of people for benchmarks of record linkage: names of syllables, a customer list, a register.

Each draws people, and copies of them with errors. The people of each have 3, 4, 6, 8 or more columns. A copy in few
columns has few errors, so that a person can still tell it. Families share surname, address and telephone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import product
from typing import Any

import linkage_words
import numpy as np
import numpy.typing as npt
from linkage_draws import Draws

Column = npt.NDArray[Any]
Columns = dict[str, Column]
Change = Callable[[str, Draws], str]

# The share of copies with no, one, two and three errors, by the number of columns.
ERROR_COUNTS = {3: (0.5, 0.5), 4: (0.5, 0.42, 0.08), 8: (0.4, 0.3, 0.2, 0.1)}
# The weight of errors after which a field says nothing, by the number of columns.
TOTAL_LOSS = {3: 0.03, 4: 0.1, 8: 1.0}
MOVED = 0.15
IN_FAMILIES = 0.6  # people who live with relatives


@dataclass(frozen=True)
class Error:
    """An error of one column, and how often it is chosen.

    Attributes
    ----------
    column : str
    weight : float
    change : callable
        Returns the changed value.
    total : bool
        Whether the value cannot be recognised any more.
    """

    column: str
    weight: float
    change: Change
    total: bool = False


@dataclass(frozen=True)
class Population:
    """A generator of people.

    Attributes
    ----------
    draw : callable
        Returns the columns of a number of people.
    columns : dict of int to tuple of str
        The columns of tables with 3, 4, 6 or 8 columns.
    kinds : dict of str to str
        What each column holds: given, surname, date, town, street, postcode, phone, email, code or category.
    errors : tuple of Error
    swapped : tuple of str
        Two columns that are exchanged at times.
    home, family : tuple of str
        The columns that change with a move, and those that relatives share.
    derive : callable
        Completes columns that follow from others, after relatives were made.
    """

    draw: Callable[[int, np.random.Generator], Columns]
    columns: Mapping[int, tuple[str, ...]]
    kinds: Mapping[str, str]
    errors: tuple[Error, ...]
    swapped: tuple[str, str]
    home: tuple[str, ...]
    family: tuple[str, ...]
    derive: Callable[[Columns, np.random.Generator], None] = field(
        default=lambda columns, rng: None
    )


def zipf_places(
    count: int, size: int, rng: np.random.Generator, power: float, offset: float = 0
) -> Column:
    """Draw numbers below `count` with frequencies (k + 1 + offset) ** -power."""
    weights = (np.arange(1, count + 1) + offset) ** -float(power)
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(size)).clip(
        0, count - 1
    )


def as_column(values: Sequence[str]) -> Column:
    column = np.empty(len(values), object)
    column[:] = values
    return column


def joined(*parts: Column | str) -> Column:
    """Return the strings of several columns end to end."""
    text = parts[0]
    for part in parts[1:]:
        text = text + part
    return text  # type: ignore[return-value]


def dates(size: int, rng: np.random.Generator, first: int, last: int) -> Column:
    """Draw days of the years from `first` to `last`, in ISO form."""
    start = np.datetime64(f"{first}-01-01")
    days = int((np.datetime64(f"{last + 1}-01-01") - start).astype(int))
    texts = (start + rng.integers(0, days, size).astype("timedelta64[D]")).astype(str)
    return as_column(texts.tolist())


def digits(size: int, rng: np.random.Generator, form: str) -> Column:
    """Return strings with a random digit at each # of `form`."""
    parts: list[Column | str] = [""]
    count = form.count("#")
    numbers = rng.integers(0, 10**count, size)
    texts = [f"{number:0{count}d}" for number in numbers.tolist()]
    if form == "#" * count:
        return as_column(texts)
    place = 0
    for run in split_runs(form):
        if run[0] == "#":
            parts.append(as_column([text[place : place + len(run)] for text in texts]))
            place += len(run)
        else:
            parts.append(run)
    return joined(*parts[1:])


def split_runs(form: str) -> list[str]:
    runs: list[str] = []
    for letter in form:
        if runs and (letter == "#") == (runs[-1][0] == "#"):
            runs[-1] += letter
        else:
            runs.append(letter)
    return runs


# ---- errors ----


def edit(letters: str) -> Change:
    """Return a change of one random letter: inserted, deleted, replaced, or exchanged with the next."""

    def change(value: str, draws: Draws) -> str:
        if not value:
            return value
        at = draws.randrange(len(value))
        kind = draws.randrange(4)
        if kind == 0:
            return value[:at] + draws.choice(letters) + value[at:]
        if kind == 1 and len(value) > 2:
            return value[:at] + value[at + 1 :]
        if kind == 2 and at + 1 < len(value):
            return value[:at] + value[at + 1] + value[at] + value[at + 2 :]
        return value[:at] + draws.choice(letters) + value[at + 1 :]

    return change


def change_digit(value: str, draws: Draws) -> str:
    """Replace one digit, or exchange two."""
    places = [place for place, letter in enumerate(value) if letter.isdigit()]
    if not places:
        return value
    at = draws.choice(places)
    if draws.chance(0.35) and at + 1 < len(value) and value[at + 1].isdigit():
        return value[:at] + value[at + 1] + value[at] + value[at + 2 :]
    return value[:at] + draws.choice("0123456789") + value[at + 1 :]


def change_date_digit(value: str, draws: Draws) -> str:
    """Change one digit of a date in ISO form so that it stays a date."""
    for _ in range(20):
        other = change_digit(value, draws)
        try:
            date.fromisoformat(other)
        except ValueError:
            continue
        if "1900" <= other[:4] < "2025":
            return other
    return value


def wrong_date(value: str, draws: Draws) -> str:
    """Change a date in ISO form: month and day exchanged, another digit, a year nearby, another day."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return value
    kind = draws.randrange(4)
    if kind == 0 and day.day <= 12 and day.day != day.month:
        return day.replace(month=day.day, day=day.month).isoformat()
    if kind == 1:
        return day.replace(
            year=day.year + draws.choice((-10, -1, 1, 10)), day=min(day.day, 28)
        ).isoformat()
    if kind == 2:
        return (day + timedelta(draws.choice((-2, -1, 1, 2, 10)))).isoformat()
    return day.replace(day=draws.randint(1, 28)).isoformat()


def misread(value: str, draws: Draws) -> str:
    """Change a text as optical character recognition does."""
    confusions = {
        "o": "0",
        "l": "1",
        "m": "rn",
        "e": "c",
        "h": "b",
        "i": "l",
        "s": "5",
        "n": "u",
        "a": "o",
        "t": "f",
    }
    places = [place for place, letter in enumerate(value) if letter in confusions]
    if not places:
        return draws.typo(value)
    at = draws.choice(places)
    return value[:at] + confusions[value[at]] + value[at + 1 :]


def empty(value: str, draws: Draws) -> str:
    return ""


def nickname(value: str, draws: Draws) -> str:
    return linkage_words.NICKNAMES.get(value, value[:3])


def initial(value: str, draws: Draws) -> str:
    return value[:1]


# ---- A: syllables ----

SYLLABLES = [
    "an",
    "ber",
    "ma",
    "lo",
    "ri",
    "sch",
    "ner",
    "tor",
    "vin",
    "el",
    "ka",
    "mi",
    "so",
    "hal",
    "den",
    "wex",
    "pol",
    "gar",
]
STREET_KINDS = ("street", "road", "lane", "way")


def syllable_words(
    count: int, rng: np.random.Generator, lengths: Sequence[int] = (2, 2, 3)
) -> Column:
    """Return different words of two or three syllables."""
    distinct: dict[str, None] = {}
    while len(distinct) < count:
        places = rng.integers(0, len(SYLLABLES), (count, 4))
        sizes = np.array(lengths)[rng.integers(0, len(lengths), count)]
        if len(distinct) > len(SYLLABLES) ** 2:
            sizes = sizes + 1
        for row, size in zip(places.tolist(), sizes.tolist(), strict=True):
            distinct["".join(SYLLABLES[place] for place in row[:size])] = None
    return as_column([*distinct][:count])


def draw_syllable_people(size: int, rng: np.random.Generator) -> Columns:
    growth = max(1.0, (size / 40_000) ** 0.5)
    firsts = syllable_words(int(500 * growth), rng)
    lasts = syllable_words(int(3000 * growth), rng)
    towns = syllable_words(int(200 * growth), rng)
    streets = syllable_words(int(2000 * growth), rng)
    town = zipf_places(len(towns), size, rng, 1, 4)
    postcodes = as_column(
        [f"{number:05d}" for number in (10_000 + 7 * np.arange(len(towns))).tolist()]
    )
    numbers = as_column([str(number) for number in rng.integers(1, 120, size).tolist()])
    kind = as_column(STREET_KINDS)[rng.integers(0, len(STREET_KINDS), size)]
    return {
        "first": firsts[zipf_places(len(firsts), size, rng, 1, 4)],
        "last": lasts[zipf_places(len(lasts), size, rng, 1, 4)],
        "born": dates(size, rng, 1940, 2009),
        "town": towns[town],
        "postcode": postcodes[town],
        "street": joined(
            streets[rng.integers(0, len(streets), size)], " ", kind, " ", numbers
        ),
        "phone": digits(size, rng, "0##-#######"),
        "email": joined(
            syllable_words(50, rng)[rng.integers(0, 50, size)],
            digits(size, rng, "#####"),
            "@mail.example",
        ),
    }


edit_letters = edit("abcdefghijklmnoprstuvw")
SYLLABLE_PEOPLE = Population(
    draw_syllable_people,
    {
        3: ("first", "last", "born"),
        4: ("first", "last", "born", "town"),
        6: ("first", "last", "born", "town", "postcode", "street"),
        8: ("first", "last", "born", "town", "postcode", "street", "phone", "email"),
    },
    {
        "first": "given",
        "last": "surname",
        "born": "date",
        "town": "town",
        "postcode": "postcode",
        "street": "street",
        "phone": "phone",
        "email": "email",
    },
    (
        Error("first", 4, edit_letters),
        Error("last", 4, edit_letters),
        Error("born", 1, change_date_digit),
        Error("town", 1, edit_letters),
        Error("postcode", 1, change_digit),
        Error("street", 2, edit_letters),
        Error("phone", 1, change_digit),
        Error("email", 1, edit_letters),
        Error("phone", 1, empty, total=True),
        Error("email", 1, empty, total=True),
    ),
    ("first", "last"),
    ("town", "postcode", "street"),
    ("last", "town", "postcode", "street", "phone"),
)

# ---- B: a customer list ----

LONG_SURNAMES = linkage_words.SURNAMES + [
    start + middle + end
    for end, (start, middle) in product(
        ("s", "er", "ton", "ley", "son"),
        product(linkage_words.STARTS[:40], linkage_words.STARTS[20:50]),
    )
    if start != middle
]
DOMAINS = (
    "gmail.example",
    "gmail.example",
    "hotmail.example",
    "yahoo.example",
    "bt.example",
    "work.example",
)


def draw_customers(size: int, rng: np.random.Generator) -> Columns:
    given = as_column(linkage_words.MEN + linkage_words.WOMEN)
    order = rng.permutation(len(given))
    surnames = as_column(LONG_SURNAMES)
    towns = as_column(linkage_words.CITIES + linkage_words.TOWNS)
    town = zipf_places(len(towns), size, rng, 0.8)
    streets = as_column(
        [
            f"{name} {kind}"
            for name in linkage_words.SURNAMES[:600]
            for kind in linkage_words.STREETS
        ]
    )
    numbers = as_column(
        [str(number) for number in (1 + rng.geometric(0.02, size)).tolist()]
    )
    area = as_column(
        [f"{letters[:2]}{1 + k % 20}" for k, letters in enumerate(towns.tolist())]
    )
    unit = as_column(
        [f" {a}{b}{c}" for a, b, c in product("123456789", "abdefgh", "jlnpqrs")]
    )
    return {
        "firstname": given[order][zipf_places(len(given), size, rng, 0.6)],
        "surname": surnames[zipf_places(len(surnames), size, rng, 0.7, 5)],
        "dob": dates(size, rng, 1930, 2004),
        "city": towns[town],
        "postcode": joined(area[town], unit[rng.integers(0, len(unit), size)]),
        "address": joined(numbers, " ", streets[rng.integers(0, len(streets), size)]),
        "mobile": digits(size, rng, "07### ######"),
        "email": np.full(size, "", object),
    }


def derive_customers(columns: Columns, rng: np.random.Generator) -> None:
    """Make e-mail addresses of names."""
    size = len(columns["surname"])
    ends = rng.integers(0, 100, size).tolist()
    domains = as_column(DOMAINS)[rng.integers(0, len(DOMAINS), size)]
    forms = rng.integers(0, 4, size).tolist()
    users = []
    for first, last, form, end in zip(
        columns["firstname"].tolist(),
        columns["surname"].tolist(),
        forms,
        ends,
        strict=True,
    ):
        last = last.replace("'", "")
        if form == 0:
            users.append(f"{first}.{last}")
        elif form == 1:
            users.append(f"{first[0]}{last}{end}")
        elif form == 2:
            users.append(f"{first}{end}")
        else:
            users.append(f"{last}.{first}{end}")
    columns["email"] = joined(as_column(users), "@", domains)


def shorten_street(value: str, draws: Draws) -> str:
    street, _, kind = value.rpartition(" ")
    return f"{street} {linkage_words.SHORT.get(kind, kind)}"


def type_wrong(value: str, draws: Draws) -> str:
    return draws.typo(value)


CUSTOMERS = Population(
    draw_customers,
    {
        3: ("firstname", "surname", "dob"),
        4: ("firstname", "surname", "dob", "city"),
        6: ("firstname", "surname", "dob", "city", "postcode", "address"),
        8: (
            "firstname",
            "surname",
            "dob",
            "city",
            "postcode",
            "address",
            "mobile",
            "email",
        ),
    },
    {
        "firstname": "given",
        "surname": "surname",
        "dob": "date",
        "city": "town",
        "postcode": "postcode",
        "address": "street",
        "mobile": "phone",
        "email": "email",
    },
    (
        Error("firstname", 3, misread),
        Error("firstname", 2, nickname, total=True),
        Error("firstname", 1, initial, total=True),
        Error("surname", 4, misread),
        Error("surname", 2, type_wrong),
        Error("dob", 2, wrong_date),
        Error("dob", 1, empty, total=True),
        Error("city", 1, type_wrong),
        Error("city", 1, empty),
        Error("postcode", 1, change_digit),
        Error("postcode", 1, empty),
        Error("address", 3, shorten_street),
        Error("address", 2, misread),
        Error("mobile", 2, change_digit),
        Error("mobile", 3, empty, total=True),
        Error("email", 2, misread),
        Error("email", 3, empty, total=True),
    ),
    ("firstname", "surname"),
    ("city", "postcode", "address"),
    ("surname", "city", "postcode", "address", "mobile"),
    derive_customers,
)

# ---- C: a register ----

REGISTER_STARTS = [
    "Nov",
    "Krás",
    "Svob",
    "Dvoř",
    "Čern",
    "Proch",
    "Kuč",
    "Vesel",
    "Hor",
    "Něm",
    "Pokor",
    "Mar",
    "Jel",
    "Růž",
    "Ben",
    "Fial",
    "Sedl",
    "Dol",
    "Zem",
    "Kol",
    "Urb",
    "Vaň",
]
REGISTER_MIDDLES = (
    "",
    "áč",
    "ot",
    "ek",
    "in",
    "ov",
    "ul",
    "íč",
    "ar",
    "os",
    "až",
    "ad",
)
REGISTER_ENDS = (
    "ák",
    "ka",
    "ek",
    "ík",
    "ný",
    "ský",
    "an",
    "a",
    "ec",
    "oš",
    "el",
    "íček",
)
GIVEN_STEMS = [
    "Jan",
    "Petr",
    "Mil",
    "Vlad",
    "Jar",
    "Stan",
    "Zden",
    "Rad",
    "Bohum",
    "Ljub",
    "Bor",
    "Dobr",
    "Svat",
    "Tom",
    "Luk",
    "Mart",
    "Ondř",
    "Kar",
    "Iv",
    "Rom",
    "Al",
    "Vít",
]
GIVEN_MALE = ("", "oslav", "imír", "ek", "an", "omil", "ivoj")
GIVEN_FEMALE = ("a", "oslava", "ena", "ka", "ana", "omila", "uše")
REGISTER_STREETS = [
    "Dlouhá",
    "Nová",
    "Školní",
    "Zahradní",
    "Polní",
    "Lipová",
    "Husova",
    "Krátká",
    "Lesní",
    "Jiráskova",
    "Nádražní",
    "Sokolská",
]


def draw_register(size: int, rng: np.random.Generator) -> Columns:
    surnames = [
        "".join(parts)
        for parts in product(REGISTER_STARTS, REGISTER_MIDDLES, REGISTER_ENDS)
    ]
    surnames += [
        f"{a}-{b}" for a, b in zip(surnames[::3], surnames[7::5], strict=False)
    ]
    surname_column = as_column(surnames)[rng.permutation(len(surnames))]
    male = as_column(["".join(parts) for parts in product(GIVEN_STEMS, GIVEN_MALE)])
    female = as_column(["".join(parts) for parts in product(GIVEN_STEMS, GIVEN_FEMALE)])
    woman = rng.random(size) < 0.5
    place = zipf_places(len(male), size, rng, 0.9, 3)
    towns = as_column(
        [
            "".join(parts)
            for parts in product(
                REGISTER_STARTS, ("ov", "ice", "ín", "any"), ("", " nad Labem")
            )
        ]
    )
    town = zipf_places(len(towns), size, rng, 0.9)
    district = (town * 3 + rng.integers(0, 3, size)) % 900
    streets = as_column(
        [
            *REGISTER_STREETS,
            *(f"{a}ova" for a in REGISTER_STARTS),
            *(f"{a}ská" for a in surnames[:200:3]),
        ]
    )
    born = dates(size, rng, 1925, 2015)
    codes = digits(size, rng, "####")
    identity = [
        f"{value[2:4]}{int(value[5:7]) + 50 * is_woman:02d}{value[8:]}/{code}"
        for value, is_woman, code in zip(
            born.tolist(), woman.tolist(), codes.tolist(), strict=True
        )
    ]
    return {
        "surname": surname_column[zipf_places(len(surnames), size, rng, 0.6, 10)],
        "given": np.where(woman, female[place], male[place]),
        "sex": np.where(woman, "F", "M").astype(object),
        "birth_date": born,
        "postcode": as_column(
            [f"{100 + number} {number % 97:02d}" for number in district.tolist()]
        ),
        "town": towns[town],
        "street": streets[zipf_places(len(streets), size, rng, 0.5)],
        "house": as_column(
            [str(number) for number in (1 + rng.geometric(0.03, size)).tolist()]
        ),
        "telephone": digits(size, rng, "+420 ### ### ###"),
        "national_id": as_column(identity),
    }


def strip_accents(value: str, draws: Draws) -> str:
    return value.translate(
        str.maketrans("áčďéěíňóřšťúůýžÁČŘŠŽÚÍ", "acdeeinorstuuyzACRSZUI")
    )


def hear_wrong(value: str, draws: Draws) -> str:
    """Change a name as a clerk does who hears it."""
    sounds = (
        ("v", "w"),
        ("k", "c"),
        ("č", "cz"),
        ("š", "sch"),
        ("i", "y"),
        ("j", "y"),
        ("z", "s"),
        ("ou", "u"),
        ("l", "ll"),
    )
    places = [pair for pair in sounds if pair[0] in value]
    if not places:
        return draws.typo(value)
    return value.replace(*draws.choice(places), 1)


def swap_day_and_month(value: str, draws: Draws) -> str:
    if value.count("-") != 2:
        return value
    year, month, day = value.split("-")
    return (
        f"{year}-{day}-{month}"
        if int(day) <= 12 and day != month
        else wrong_date(value, draws)
    )


def wrong_year(value: str, draws: Draws) -> str:
    return (
        f"{int(value[:4]) + draws.choice((-100, -10, -2, -1, 1, 2, 10))}{value[4:]}"
        if value
        else value
    )


REGISTER = Population(
    draw_register,
    {
        3: ("surname", "given", "birth_date"),
        4: ("surname", "given", "birth_date", "town"),
        8: (
            "surname",
            "given",
            "sex",
            "birth_date",
            "postcode",
            "town",
            "street",
            "house",
        ),
        10: (
            "surname",
            "given",
            "sex",
            "birth_date",
            "postcode",
            "town",
            "street",
            "house",
            "telephone",
            "national_id",
        ),
    },
    {
        "surname": "surname",
        "given": "given",
        "sex": "category",
        "birth_date": "date",
        "postcode": "postcode",
        "town": "town",
        "street": "street",
        "house": "code",
        "telephone": "phone",
        "national_id": "code",
    },
    (
        Error("surname", 3, hear_wrong),
        Error("surname", 2, strip_accents),
        Error("surname", 1, type_wrong),
        Error("given", 3, hear_wrong),
        Error("given", 2, strip_accents),
        Error("given", 1, initial, total=True),
        Error("sex", 0.3, lambda value, draws: "MF"[value == "M"]),
        Error("sex", 0.3, empty),
        Error("birth_date", 1.5, swap_day_and_month),
        Error("birth_date", 1, wrong_year),
        Error("birth_date", 0.5, empty, total=True),
        Error("postcode", 1, change_digit),
        Error("postcode", 0.5, empty),
        Error("town", 1, strip_accents),
        Error("street", 2, strip_accents),
        Error("street", 1, empty),
        Error("house", 1, change_digit),
        Error("telephone", 1, change_digit),
        Error("telephone", 3, empty),
        Error("national_id", 1, change_digit),
        Error("national_id", 4, empty),
    ),
    ("surname", "given"),
    ("postcode", "town", "street", "house"),
    ("surname", "postcode", "town", "street", "house", "telephone"),
)

POPULATIONS = {"A": SYLLABLE_PEOPLE, "B": CUSTOMERS, "C": REGISTER}

# ---- families and copies ----


def make_families(
    people: Columns, shared: Sequence[str], rng: np.random.Generator
) -> None:
    """Let people live with the person before them, and share columns."""
    size = len(next(iter(people.values())))
    head = np.arange(size)
    sizes = rng.choice([2, 3, 4, 5], size, p=[0.4, 0.25, 0.25, 0.1])
    alone = rng.random(size) > IN_FAMILIES / 2
    row = 0
    for members, single in zip(sizes.tolist(), alone.tolist(), strict=True):
        if row >= size:
            break
        members = 1 if single else members
        head[row : row + members] = row
        row += members
    for name in shared:
        people[name] = people[name][head]


def columns_of(population: Population, count: int) -> tuple[str, ...]:
    return population.columns.get(count, population.columns[8])


def draw_people(
    population: Population, size: int, families: bool, rng: np.random.Generator
) -> Columns:
    """Draw people in random order; with families, most live with relatives."""
    people = population.draw(size, rng)
    if families:
        make_families(people, population.family, rng)
    population.derive(people, rng)
    order = rng.permutation(size)
    return {name: values[order] for name, values in people.items()}


def copy_people(
    population: Population,
    people: Columns,
    names: Sequence[str],
    rng: np.random.Generator,
) -> Columns:
    """Return copies of people with errors in the named columns."""
    size = len(people[names[0]])
    draws = Draws(int(rng.integers(0, 2**62)))
    copies = {name: people[name].copy() for name in names}
    moved = np.flatnonzero(rng.random(size) < MOVED)
    homes = rng.permutation(size)[: len(moved)]
    for name in population.home:
        if name in copies:
            copies[name][moved] = people[name][homes]
    scale = len(names) if len(names) < 5 else 8
    errors = [error for error in population.errors if error.column in names]
    weights = np.array(
        [
            1.0 * error.weight * (TOTAL_LOSS[scale] if error.total else 1)
            for error in errors
        ]
    )
    weights /= weights.sum()
    counts = rng.choice(len(ERROR_COUNTS[scale]), size, p=ERROR_COUNTS[scale])
    for turn in range(1, len(ERROR_COUNTS[scale])):
        rows = np.flatnonzero(counts >= turn)
        chosen = rng.choice(len(errors), len(rows), p=weights)
        for place, error in enumerate(errors):
            values = copies[error.column]
            for row in rows[chosen == place].tolist():
                values[row] = error.change(values[row], draws)
    swapped = np.flatnonzero(rng.random(size) < 0.02 * TOTAL_LOSS[scale])
    first, second = population.swapped
    copies[first][swapped], copies[second][swapped] = (
        copies[second][swapped],
        copies[first][swapped],
    )
    return copies

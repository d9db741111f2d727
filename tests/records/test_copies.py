"""One table of texts: families of alike products are not linked, and copies among them are."""

from pathlib import Path

import numpy as np
import pytest

from lshfast.records import dedup_records
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import code_field
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import RecordTable
from lshfast.records.weights.calibration import FoundSeeds
from lshfast.records.weights.copies import RecordWords, seeds_alike
from lshfast.records.weights.rivals import PairsWithin

ROOT = Path(__file__).parents[2]

NOUNS = [
    "camera",
    "printer",
    "router",
    "speaker",
    "monitor",
    "keyboard",
    "scanner",
    "headset",
    "charger",
    "projector",
]
BRANDS = [
    "sony",
    "canon",
    "epson",
    "lexmark",
    "belkin",
    "netgear",
    "philips",
    "panasonic",
]
WORDS = [
    "black",
    "white",
    "compact",
    "wireless",
    "digital",
    "portable",
    "slim",
    "professional",
    "silver",
    "travel",
]

PARTS = [
    "ka",
    "lo",
    "mi",
    "ren",
    "sol",
    "tu",
    "ver",
    "wan",
    "xe",
    "yor",
    "bel",
    "dor",
]


def products(rng, families=150):
    """Return titles and descriptions of products in families: members differ in the number of the model and a word."""
    titles = []
    texts = []
    for _ in range(families):
        brand, noun = rng.choice(BRANDS), rng.choice(NOUNS)
        letters = "".join(rng.choice(list("abcdefghk"), 3))
        number = int(rng.integers(100, 9000))
        common = " ".join(rng.choice(WORDS, 3, replace=False))
        for member in range(int(rng.integers(2, 5))):
            model = f"{letters}{number + member}"
            titles.append(f"{brand} {rng.choice(WORDS)} {noun} {model}")
            texts.append(
                f"{common} {noun} of {brand} {letters} series {model} {rng.integers(10, 99)} watt"
            )
    return titles, texts


def table_of(percent, seed=5):
    """Return a table of which a part of the rows stand twice, with words left out, and the pairs."""
    rng = np.random.default_rng(seed)
    titles, texts = products(rng)
    rows = len(titles)
    copied = rng.choice(rows, rows * percent // 100, replace=False).tolist()
    pairs = {(row, rows + place) for place, row in enumerate(copied)}
    for row in copied:
        words = texts[row].split()
        del words[int(rng.integers(0, 3))]
        texts.append(" ".join(words))
        titles.append(titles[row].upper())
    return {"title": titles, "description": texts}, pairs


@pytest.mark.slow
def test_families_without_copies_are_not_linked_and_the_run_says_so():
    table, _ = table_of(0)
    result = dedup_records(table, threads=1)
    assert len(result) <= len(table["title"]) // 1000
    assert result.summary.warnings


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("percent", [10, 30])
def test_copies_among_families_are_linked(percent):
    table, pairs = table_of(percent)
    links = set(dedup_records(table, threads=1).pairs())
    assert len(links & pairs) >= 0.8 * len(pairs)
    assert len(links & pairs) >= 0.8 * len(links)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.weekly)])
def test_few_discs_that_were_entered_twice_are_found(seed, monkeypatch):
    """Most links by weights join albums of one artist, and patterns find many more pairs like them."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from linkage_works import one_disc_database

    table, _, numbers = one_disc_database(1200, 40, seed)
    first_rows: dict[int, int] = {}
    truth = set()
    for row, number in enumerate(numbers):
        first = first_rows.setdefault(number, row)
        if first != row:
            truth.add((first, row))
    links = set(dedup_records(table, threads=1).pairs())
    assert len(links & truth) >= 0.45 * len(truth)
    assert len(links & truth) >= 0.7 * len(links)


@pytest.mark.slow
def test_values_in_other_columns_are_read(monkeypatch):
    """Half of the authors, journals and years stand in the title, so that fields hardly agree."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from linkage_cases import all_cases

    tables = all_cases(None)["calibration/publications"].make()
    columns = {name: [*map(str, values)] for name, values in tables.a.items()}
    rng = np.random.default_rng(1)
    for name in ("authors", "venue", "year"):
        for row in np.flatnonzero(rng.random(len(columns[name])) < 0.5).tolist():
            columns["title"][row] += f" {columns[name][row]}"
            columns[name][row] = ""
    matches = set(map(tuple, tables.true_pairs.tolist()))
    links = set(dedup_records(columns, threads=1).pairs())
    assert len(links & matches) >= 0.93 * len(matches)
    assert len(links & matches) >= 0.95 * len(links)


@pytest.mark.slow
def test_numbers_that_records_share_by_chance_are_no_codes():
    """Of 2,000 residents, 400 or so have a house number that one other has."""
    rng = np.random.default_rng(1)
    streets = ["oak", "hill", "church", "mill", "park", "station", "queen", "bridge"]
    first_names = ["ann", "eve", "max", "leo", "ida", "tom", "zoe", "jan", "mia"]
    names = [
        f"{rng.choice(first_names)} {rng.choice(PARTS)}{rng.choice(PARTS)}{rng.choice(PARTS)}"
        for _ in range(2000)
    ]
    addresses = [
        f"{rng.integers(1000, 3500)} {rng.choice(streets)} street, {rng.choice(PARTS)}ton"
        for _ in names
    ]
    result = dedup_records({"name": names, "address": addresses}, threads=1)
    assert len(result) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(3, marks=pytest.mark.weekly)])
def test_a_version_that_differs_in_every_copy_does_not_make_copies_a_family(seed):
    rng = np.random.default_rng(seed)

    def word():
        return "".join(rng.choice(PARTS, 3))

    people = [f"{word()} {word()}" for _ in range(200)]
    table = {
        "package": [],
        "summary": [],
        "maintainer": [],
        "version": [],
        "homepage": [],
    }
    entries = [
        (
            f"{word()}-{word()}",
            [word() for _ in range(3)],
            rng.choice(people),
            rng.choice(NOUNS),
        )
        for _ in range(600)
    ]
    for copy, some in enumerate([entries, entries[:120]]):
        for name, words, person, noun in some:
            table["package"].append(name.upper() if copy else name)
            table["summary"].append(f"a {' '.join(words[copy:])} {noun}")
            table["maintainer"].append(person)
            table["version"].append(
                f"{rng.integers(1, 9)}.{rng.integers(0, 30)}.{rng.integers(0, 30)}"
            )
            table["homepage"].append(
                f"https://code.example/{person.replace(' ', '')}/{name}"
            )
    links = set(dedup_records(table, threads=1).pairs())
    pairs = {(row, 600 + row) for row in range(120)}
    assert len(links & pairs) >= 0.95 * len(pairs)
    assert len(links & pairs) >= 0.95 * len(links)


@pytest.mark.slow
def test_songs_of_an_album_are_no_duplicates_of_each_other():
    """They agree in all columns but the song; a tenth of the songs stand twice, with a typo."""
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list("aeioulnrstmdk"), 6)) for _ in range(500)]
    rows = []
    for _ in range(60):
        artist, album = (" ".join(rng.choice(words, 3)) for _ in range(2))
        year = str(rng.integers(1960, 2020))
        rows += [
            (" ".join(rng.choice(words, 3)), artist, album, year) for _ in range(8)
        ]
    pairs = {
        (int(row), 480 + copy) for copy, row in enumerate(rng.choice(480, 48, False))
    }
    for row, _ in sorted(pairs, key=lambda pair: pair[1]):
        song, *others = rows[row]
        rows.append((song[:4] + song[5:], *others))
    columns = zip(
        ("song", "artist", "album", "year"), zip(*rows, strict=True), strict=True
    )
    found = dedup_records({name: list(values) for name, values in columns}, threads=1)
    links = set(found.pairs())
    assert len(links & pairs) >= 0.95 * len(pairs)
    assert len(links & pairs) >= 0.95 * len(links)


@pytest.mark.parametrize("twins", [10, 80])
@pytest.mark.parametrize("has_years", [True, False])
def test_seeds_with_different_known_words_are_left_out_unless_nearly_all_have_them(
    twins, has_years
):
    """Songs of one title by two artists each have known words that the other lacks; copies do not.

    The words tell only if their years differ too.
    """
    copies = 90 - twins
    titles = [
        f"title{letter}{other}" for letter in "abcdefghi" for other in "klmnopqrst"
    ]
    artists = [f"singer{letter} of{letter}" for letter in "abcdefghij"]
    first = [f"{title} {artists[row % 10]}" for row, title in enumerate(titles)]
    second = [
        f"{title} {artists[(row + (row >= copies)) % 10]}"
        for row, title in enumerate(titles)
    ]
    if has_years:
        first = [f"{song} {1960 + row % 7}" for row, song in enumerate(first)]
        second = [
            f"{song} {1960 + (row + (row >= copies)) % 7}"
            for row, song in enumerate(second)
        ]
    tables = [RecordTable({"song": first + second})]
    coded = code_field(Field("song", kind="text"), tables)
    i = np.arange(90)
    pairs = PairsWithin(i, i + 90, 180)
    chosen = np.ones(90, bool)
    seeds = FoundSeeds(i, i + 90, np.ones((90, 3)), pairs, chosen, ~chosen, 1)
    alike = seeds_alike(RecordWords(Linkage(tables, {"song": coded})), seeds)
    if copies < 22.5 or not has_years:  # a quarter
        assert alike is None
    else:
        assert np.flatnonzero(alike.seeds).tolist() == list(range(copies))


def records_of_people(address_of, seed=2):
    """Return up to five records of each of 150 people, of whom some live together, and the pairs of records."""
    rng = np.random.default_rng(seed)

    def word():
        return "".join(rng.choice(PARTS, 3))

    given_names = [word() for _ in range(30)]
    surnames = [word() for _ in range(200)]
    rows = []
    for person in range(150):
        if not person % 3:
            home = address_of(rng)
        given, surname = rng.choice(given_names), rng.choice(surnames)
        day = np.datetime64("1940-01-01") + int(rng.integers(0, 20_000))
        for _ in range(int(rng.integers(1, 6))):
            born = "" if rng.random() < 0.5 else str(day)
            address = address_of(rng) if rng.random() < 0.4 else home
            rows.append((person, given, surname, born, address))
    people, *columns = zip(*rows, strict=True)
    people = np.array(people)
    i, j = np.nonzero(np.triu(people[:, None] == people, 1))
    names = ("given", "surname", "born", "address")
    table = dict(zip(names, map(list, columns), strict=True))
    return table, set(zip(i.tolist(), j.tolist(), strict=True))


def postcode(rng):
    letters = "".join(rng.choice(list("abdefghjln"), 2))
    return f"ex{rng.integers(1, 30)} {rng.integers(1, 9)}{letters}"


def street(rng):
    words = "".join(rng.choice(PARTS, 2))
    return f"{rng.integers(1, 200)} {words} {rng.choice(['road', 'lane', 'street'])}"


@pytest.mark.parametrize(
    "address_of", [postcode, pytest.param(street, marks=pytest.mark.slow)]
)
def test_people_whose_address_changed_are_no_family_of_products(address_of):
    table, pairs = records_of_people(address_of)
    result = dedup_records(table, threads=1)
    links = set(result.pairs())
    assert len(links & pairs) >= 0.95 * len(pairs)
    assert len(links & pairs) >= 0.95 * len(links)

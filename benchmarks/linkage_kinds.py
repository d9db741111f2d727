"""Tables of ten unlike kinds for benchmarks of record linkage: entities without duplicates, and other records of them.

Within each kind, entities resemble each other: products of a line, invoices of a customer, works of an author.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import linkage_words as words
from linkage_draws import Draws, Record
from linkage_works import title

Again = Callable[[Record, Draws, float], Record]


@dataclass(frozen=True)
class Kind:
    """Entities of one kind.

    Attributes
    ----------
    entities : callable
        Returns a number of records of different entities.
    again : callable
        Returns another record of an entity; the last argument is the strength of its errors, about 1.
    kinds : dict of str to str
        What each column holds, as in linkage_populations.
    """

    entities: Callable[[int, Draws], list[Record]]
    again: Again
    kinds: Mapping[str, str]


def distinct(count: int, draw: Callable[[], Record]) -> list[Record]:
    """Draw records until so many differ."""
    records: dict[tuple[str, ...], Record] = {}
    while len(records) < count:
        record = draw()
        records[tuple(record.values())] = record
    return [*records.values()]


def errors(missing: Mapping[str, float], typing: Mapping[str, float]) -> Again:
    """Return a function that leaves values out and mistypes others, with these rates."""

    def again(record: Record, draws: Draws, strength: float) -> Record:
        other = dict(record)
        for name, rate in typing.items():
            other[name] = draws.typos(other[name], rate * strength)
        for name, rate in missing.items():
            if draws.chance(rate * strength):
                other[name] = ""
        return other

    return again


def given_name(draws: Draws) -> str:
    return draws.skewed(words.MEN if draws.chance(0.5) else words.WOMEN, 0.6)


def full_name(draws: Draws) -> str:
    return f"{given_name(draws)} {draws.skewed(words.SURNAMES, 0.5)}".title()


def number_date(draws: Draws, first: int, last: int) -> str:
    return f"{draws.randint(first, last)}-{draws.randint(1, 12):02d}-{draws.randint(1, 28):02d}"


# ---- the kinds ----


def people(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        place = int(draws.random() ** 1.5 * 200)
        return {
            "name": full_name(draws),
            "birthday": number_date(draws, 1940, 2006),
            "town": words.TOWNS[place],
            "job": draws.skewed(words.OCCUPATIONS, 0.7),
            "joined": number_date(draws, 2015, 2024),
        }

    return distinct(count, draw)


def customers(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        first, last = (
            given_name(draws).title(),
            draws.skewed(words.SURNAMES, 0.4).title(),
        )
        street = f"{draws.randint(1, 200)} {draws.choice(words.STARTS).title()} {draws.choice(words.STREETS).title()}"
        return {
            "Customer": f"{last}, {first}",
            "Street": street,
            "City": draws.skewed(words.CITIES, 0.8).title(),
            "Phone": f"0{draws.randint(100, 999)} {draws.randint(100000, 999999)}",
            "Balance": f"{draws.lognormvariate(5, 1):.2f}",
            "Since": str(draws.randint(1995, 2024)),
        }

    return distinct(count, draw)


def products(count: int, draws: Draws) -> list[Record]:
    records: list[Record] = []
    seen: set[str] = set()
    while len(records) < count:
        noun = draws.choice([*words.GOODS])
        category, variants = words.GOODS[noun]
        brand = draws.skewed(words.BRANDS, 0.5)
        letters = "".join(draws.choice("ABCDEFGHKLMNPRSTVWXZ") for _ in range(3))
        number = draws.randint(100, 9899)
        price = draws.lognormvariate(4, 1)
        for place, variant in enumerate(variants[: draws.randint(1, 4)]):
            model = f"{letters}-{number + place}"
            if model in seen:
                continue
            seen.add(model)
            name = f"{brand} {draws.choice(words.SELLING)} {noun} {variant} {model}"
            record = {
                "title": name,
                "model": model,
                "maker": brand,
                "category": category,
                "price": f"{price + 5 * place:.2f}",
            }
            records.append(record)
    return records[:count]


def product_again(record: Record, draws: Draws, strength: float) -> Record:
    parts = record["title"].split()
    model = parts.pop()
    parts = draws.thinned(parts, 0.15 * strength)
    draws.shuffle(parts)
    if draws.chance(0.6):
        parts.append(model.replace("-", ""))
    return {
        "title": draws.typos(" ".join(parts).lower(), 0.2 * strength),
        "model": "" if draws.chance(0.3 * strength) else model.replace("-", ""),
        "maker": "" if draws.chance(0.1 * strength) else record["maker"].upper(),
        "category": record["category"] if draws.chance(0.7) else "electronics",
        "price": f"{float(record['price']) * draws.uniform(0.9, 1.1):.2f}",
    }


TOPICS = [
    "learning",
    "queries",
    "databases",
    "streams",
    "graphs",
    "indexing",
    "optimization",
    "mining",
    "clustering",
    "estimation",
    "views",
    "transactions",
    "caching",
    "recovery",
    "replication",
    "integration",
    "schema matching",
    "similarity search",
    "joins",
    "sampling",
    "compression",
    "privacy",
]
METHODS = [
    "efficient",
    "adaptive",
    "scalable",
    "incremental",
    "approximate",
    "parallel",
    "robust",
    "fast",
    "distributed",
    "online",
    "optimal",
]
VENUES = [
    "SIGMOD Conference",
    "VLDB",
    "ICDE",
    "TODS",
    "VLDB Journal",
    "SIGMOD Record",
    "EDBT",
    "KDD",
]


def publications(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        first, second = draws.sample(TOPICS, 2)
        form = draws.randrange(4)
        if form == 0:
            name = f"{draws.choice(METHODS).title()} {first} for {second} in {draws.choice(words.NOUNS)} systems"
        elif form == 1:
            name = f"On the {draws.choice(words.NOUNS)} of {draws.choice(METHODS)} {first} and {second}"
        elif form == 2:
            name = f"{draws.choice(words.NOUNS).title()}: {draws.choice(METHODS)} {first} over {second}"
        else:
            method = f"{draws.choice(METHODS).title()} and {draws.choice(METHODS)}"
            name = f"{method} {first} with {draws.choice(words.ADJECTIVES)} {second}"
        authors = ", ".join(
            full_name(draws) for _ in range(draws.choice((1, 2, 2, 3, 4)))
        )
        return {
            "title": name,
            "authors": authors,
            "venue": draws.skewed(VENUES, 0.6),
            "year": str(draws.randint(1990, 2012)),
        }

    return distinct(count, draw)


def publication_again(record: Record, draws: Draws, strength: float) -> Record:
    authors = record["authors"].split(", ")
    if draws.chance(0.5):
        authors = [f"{name[0]}. {name.split()[-1]}" for name in authors]
    if draws.chance(0.2 * strength):
        authors = [*authors[:1], "et al."] if len(authors) > 1 else authors
    name = record["title"]
    if draws.chance(0.1 * strength):
        name = " ".join(name.split()[: -draws.randint(1, 2)])
    year = record["year"]
    if draws.chance(0.1 * strength):
        year = str(int(year) + draws.choice((-1, 1)))
    return {
        "title": draws.typos(name, 0.2 * strength),
        "authors": "; ".join(authors),
        "venue": "" if draws.chance(0.2 * strength) else record["venue"].lower(),
        "year": year,
    }


FORMS_OF_COMPANIES = ("Ltd", "Limited", "GmbH", "Inc.", "plc", "& Sons", "LLP")


def companies(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        core = draws.choice(
            (
                draws.skewed(words.SURNAMES, 0.4),
                draws.choice(words.TOWNS),
                draws.choice(words.NOUNS),
            )
        )
        trade = draws.choice(
            [
                "engineering",
                "trading",
                "foods",
                "logistics",
                "consulting",
                "motors",
                "textiles",
                "energy",
                "media",
                "homes",
            ]
        )
        if draws.chance(0.3):
            core = f"{core} and {draws.skewed(words.SURNAMES, 0.4)}"
        name = f"{core} {trade} {draws.choice(FORMS_OF_COMPANIES)}".title()
        return {
            "company": name,
            "town": draws.skewed(words.CITIES, 0.6),
            "sector": trade,
            "vat": f"GB{draws.randint(10**8, 10**9 - 1)}",
            "founded": str(draws.randint(1900, 2023)),
        }

    return distinct(count, draw)


def company_again(record: Record, draws: Draws, strength: float) -> Record:
    parts = record["company"].split()
    if draws.chance(0.5 * strength):
        parts = [
            words.SHORT.get(part.lower(), part)
            for part in parts
            if part not in ("Ltd", "Limited", "Inc.")
        ]
    other = errors(
        {"vat": 0.35, "town": 0.1, "founded": 0.4},
        {"company": 0.2, "vat": 0.05, "town": 0.05},
    )
    return other({**record, "company": " ".join(parts).upper()}, draws, strength)


def addresses(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        place = int(draws.random() ** 1.5 * 60)
        area = f"{words.TOWNS[place][:2].upper()}{place % 20}"
        return {
            "number": str(draws.randint(1, 150)),
            "street": f"{draws.skewed(words.SURNAMES, 0.3)} {draws.choice(words.STREETS)}",
            "town": words.TOWNS[place],
            "postcode": f"{area} {draws.randint(1, 9)}{draws.choice('ABDEF')}{draws.choice('JLNPQ')}",
            "county": words.ADJECTIVES[place // 6] + "shire",
        }

    return distinct(count, draw)


def address_again(record: Record, draws: Draws, strength: float) -> Record:
    street, _, kind = record["street"].rpartition(" ")
    short = (
        {**record, "street": f"{street} {words.SHORT.get(kind, kind)}"}
        if draws.chance(0.4)
        else record
    )
    return errors(
        {"postcode": 0.1, "county": 0.2},
        {"street": 0.15, "town": 0.1, "postcode": 0.05},
    )(short, draws, strength)


def invoices(count: int, draws: Draws) -> list[Record]:
    clients = [company["company"] for company in companies(max(20, count // 15), draws)]
    records = []
    for number in range(count):
        records.append(
            {
                "invoice": f"INV-{100000 + number}",
                "client": draws.skewed(clients, 0.7),
                "issued": f"2023-{1 + number * 12 // count:02d}-{draws.randint(1, 28):02d}",
                "amount": f"{draws.choice((50, 100, 250, 99.9)) * draws.randint(1, 30):.2f}",
                "currency": draws.skewed(("EUR", "GBP", "USD"), 1.5),
                "status": draws.skewed(("paid", "open", "overdue"), 1.0),
            }
        )
    return records


def invoice_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors({"client": 0.1, "invoice": 0.1}, {"client": 0.2, "invoice": 0.05})(
        record, draws, strength
    )
    return {
        **other,
        "status": draws.choice(("paid", "booked")),
        "client": other["client"].lower(),
    }


def places(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        kind = draws.skewed(
            [
                "school",
                "church",
                "cafe",
                "hotel",
                "pharmacy",
                "museum",
                "library",
                "station",
                "park",
            ],
            0.4,
        )
        centre = draws.randrange(25)
        names = (
            draws.choice(words.NOUNS),
            draws.choice(words.TOWNS),
            f"st {given_name(draws)}",
        )
        return {
            "place": f"{draws.choice(names)} {kind}".title(),
            "kind": kind,
            "latitude": f"{50 + centre % 5 + draws.gauss(0, 0.05):.5f}",
            "longitude": f"{-3 + centre // 5 + draws.gauss(0, 0.08):.5f}",
            "town": words.TOWNS[centre],
        }

    return distinct(count, draw)


def place_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors({"town": 0.2, "kind": 0.2}, {"place": 0.25})(record, draws, strength)
    for name in ("latitude", "longitude"):
        other[name] = f"{float(record[name]) + draws.gauss(0, 0.0008 * strength):.4f}"
    return other


BIRDS = [
    "thrush",
    "warbler",
    "finch",
    "eagle",
    "owl",
    "heron",
    "gull",
    "tern",
    "duck",
    "goose",
    "woodpecker",
    "swift",
    "lark",
    "pipit",
    "wren",
    "tit",
    "crow",
    "dove",
]
COLOURS = [
    "red",
    "black",
    "white",
    "grey",
    "yellow",
    "great",
    "little",
    "northern",
    "southern",
    "common",
    "spotted",
    "crested",
    "golden",
    "blue",
    "long-tailed",
]
LATIN_STARTS = [
    "tur",
    "cor",
    "fal",
    "aqu",
    "str",
    "lar",
    "ster",
    "ana",
    "pic",
    "ap",
    "al",
    "anth",
    "tro",
    "par",
    "col",
    "emb",
    "syl",
    "phyl",
    "acro",
    "buteo",
]


def birds(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        genus = draws.choice(LATIN_STARTS) + draws.choice(
            ["dus", "vus", "co", "ila", "ix", "us", "na", "unda"]
        )
        species = draws.choice(
            ["alb", "nigr", "flav", "vulgar", "min", "maj", "austral", "bore", "rub"]
        ) + draws.choice(["us", "a", "is", "alis", "or", "icus", "ensis"])
        parts = (
            draws.choice(COLOURS),
            draws.choice(("winged ", "headed ", "", "", "throated ")),
            draws.choice(BIRDS),
        )
        return {
            "english": f"{parts[0]} {parts[1]}{parts[2]}",
            "latin": f"{genus} {species}".capitalize(),
            "family": draws.choice(
                ["Turdidae", "Corvidae", "Laridae", "Anatidae", "Strigidae", "Paridae"]
            ),
            "length": str(draws.randint(9, 110)),
            "status": draws.skewed(("LC", "NT", "VU", "EN"), 1.2),
        }

    return distinct(count, draw)


def songs(count: int, draws: Draws) -> list[Record]:
    albums = [
        (title(draws), full_name(draws), draws.randint(1965, 2020))
        for _ in range(count // 8 + 1)
    ]

    def draw() -> Record:
        album, artist, year = draws.choice(albums)
        seconds = int(draws.gauss(220, 40))
        return {
            "song": title(draws),
            "artist": artist,
            "album": album,
            "length": f"{seconds // 60}:{seconds % 60:02d}",
            "released": str(year),
            "genre": draws.skewed(words.DISC_GENRES, 0.8),
        }

    return distinct(count, draw)


def song_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors(
        {"album": 0.2, "released": 0.3, "genre": 0.5},
        {"song": 0.2, "artist": 0.15, "album": 0.1},
    )(record, draws, strength)
    minutes, _, seconds = record["length"].partition(":")
    length = int(minutes) * 60 + int(seconds) + draws.choice((-1, 0, 0, 1, 2))
    other["length"] = f"{length // 60}:{length % 60:02d}"
    if draws.chance(0.2 * strength):
        other["song"] += draws.choice((" (Live)", " - Remastered", " (Album Version)"))
    return other


KINDS: dict[str, Kind] = {
    "people": Kind(
        people,
        errors(
            {"birthday": 0.06, "town": 0.1, "job": 0.2, "joined": 0.3},
            {"name": 0.3, "birthday": 0.08, "town": 0.08},
        ),
        {
            "name": "name",
            "birthday": "date",
            "town": "town",
            "job": "category",
            "joined": "date",
        },
    ),
    "customers": Kind(
        customers,
        errors(
            {"Street": 0.1, "Phone": 0.2, "Since": 0.2},
            {"Customer": 0.25, "Street": 0.25, "City": 0.1, "Phone": 0.1},
        ),
        {
            "Customer": "name",
            "Street": "street",
            "City": "town",
            "Phone": "phone",
            "Balance": "number",
            "Since": "category",
        },
    ),
    "products": Kind(
        products,
        product_again,
        {
            "title": "text",
            "model": "code",
            "maker": "category",
            "category": "category",
            "price": "number",
        },
    ),
    "publications": Kind(
        publications,
        publication_again,
        {"title": "text", "authors": "text", "venue": "category", "year": "category"},
    ),
    "companies": Kind(
        companies,
        company_again,
        {
            "company": "text",
            "town": "town",
            "sector": "category",
            "vat": "code",
            "founded": "category",
        },
    ),
    "addresses": Kind(
        addresses,
        address_again,
        {
            "number": "number",
            "street": "street",
            "town": "town",
            "postcode": "postcode",
            "county": "category",
        },
    ),
    "invoices": Kind(
        invoices,
        invoice_again,
        {
            "invoice": "code",
            "client": "text",
            "issued": "number",
            "amount": "number",
            "currency": "category",
            "status": "category",
        },
    ),
    "places": Kind(
        places,
        place_again,
        {
            "place": "text",
            "kind": "category",
            "latitude": "number",
            "longitude": "number",
            "town": "town",
        },
    ),
    "birds": Kind(
        birds,
        errors(
            {"family": 0.3, "length": 0.2, "status": 0.3},
            {"english": 0.3, "latin": 0.2, "length": 0.1},
        ),
        {
            "english": "text",
            "latin": "text",
            "family": "category",
            "length": "number",
            "status": "category",
        },
    ),
    "songs": Kind(
        songs,
        song_again,
        {
            "song": "text",
            "artist": "name",
            "album": "text",
            "length": "category",
            "released": "category",
            "genre": "category",
        },
    ),
}

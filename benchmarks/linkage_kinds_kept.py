"""Ten more kinds of tables, as in linkage_kinds.py, that are looked at only after a change of the model is finished."""

from __future__ import annotations

import linkage_words as words
from linkage_draws import Draws, Record
from linkage_kinds import Kind, distinct, errors, full_name, given_name, number_date
from linkage_works import title


def books(count: int, draws: Draws) -> list[Record]:
    writers = [full_name(draws) for _ in range(count // 4 + 1)]

    def draw() -> Record:
        return {
            "title": title(draws),
            "author": draws.skewed(writers, 0.5),
            "isbn": f"978{draws.randint(10**9, 10**10 - 1)}",
            "publisher": f"{draws.choice(words.SURNAMES[:60])} {draws.choice(('Press', 'Books', 'Verlag'))}".title(),
            "pages": str(draws.randint(80, 900)),
            "published": str(draws.randint(1950, 2023)),
        }

    return distinct(count, draw)


def book_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors(
        {"isbn": 0.4, "publisher": 0.3, "pages": 0.3},
        {"title": 0.2, "author": 0.15, "isbn": 0.02},
    )
    again = other(record, draws, strength)
    if draws.chance(0.4):
        again["author"] = ", ".join(reversed(again["author"].rsplit(" ", 1)))
    if draws.chance(0.3 * strength):
        again["isbn"] = f"979{draws.randint(10**9, 10**10 - 1)}"  # another edition
    if draws.chance(0.2 * strength):
        again["title"] += draws.choice((" (Paperback)", ": A Novel", " - 2nd edition"))
    return again


def vehicles(count: int, draws: Draws) -> list[Record]:
    models = [
        (brand, f"{draws.choice('ABCGSX')}{draws.randint(1, 9)}00")
        for brand in words.SURNAMES[:20]
        for _ in range(6)
    ]

    def draw() -> Record:
        brand, model = draws.skewed(models, 0.5)
        serial = "".join(
            draws.choice("ABCDEFGHJKLMNPRSTUVWXYZ0123456789") for _ in range(8)
        )
        return {
            "vin": f"W{brand[:2].upper()}{model}{serial}",
            "plate": f"{draws.choice('ABKMS')}{draws.choice('ABEF')} {draws.randint(1000, 9999)}",
            "brand": brand.title(),
            "model": model,
            "year": str(draws.randint(1998, 2024)),
            "colour": draws.skewed(("black", "silver", "white", "blue", "red"), 0.7),
            "mileage": str(draws.randint(1000, 250_000)),
        }

    return distinct(count, draw)


def vehicle_again(record: Record, draws: Draws, strength: float) -> Record:
    again = errors(
        {"plate": 0.1, "vin": 0.1, "colour": 0.2}, {"vin": 0.12, "plate": 0.08}
    )(record, draws, strength)
    again["mileage"] = str(int(record["mileage"]) + draws.randint(0, 30_000))
    if draws.chance(0.25 * strength):
        again["plate"] = (
            f"{draws.choice('ABKMS')}{draws.choice('ABEF')} {draws.randint(1000, 9999)}"
        )
    return again


def patients(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        woman = draws.chance(0.5)
        given_names = words.WOMEN if woman else words.MEN
        return {
            "mrn": f"{draws.randint(100000, 999999)}",
            "patient": f"{draws.skewed(words.SURNAMES, 0.5)}, {draws.skewed(given_names, 0.6)}".upper(),
            "dob": number_date(draws, 1925, 2022),
            "sex": "F" if woman else "M",
            "zip": f"{draws.choice((60, 61, 62))}{draws.randint(100, 140)}",
            "insurance": draws.skewed(("public", "private", "none"), 1.0),
        }

    return distinct(count, draw)


def patient_again(record: Record, draws: Draws, strength: float) -> Record:
    again = errors(
        {"zip": 0.1, "insurance": 0.2}, {"patient": 0.25, "dob": 0.08, "zip": 0.1}
    )(record, draws, strength)
    again["mrn"] = (
        record["mrn"] if draws.chance(0.3) else str(draws.randint(100000, 999999))
    )
    return again


def hotels(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        city = draws.skewed(words.CITIES, 0.6)
        name = draws.choice(
            ("Hotel {}", "The {} Inn", "{} Palace", "{} Lodge", "Grand {}", "{} Suites")
        )
        return {
            "hotel": name.format(
                draws.choice(words.NOUNS if draws.chance(0.6) else words.TOWNS).title()
            ),
            "city": city,
            "street": f"{draws.choice(words.STARTS)} {draws.choice(words.STREETS)} {draws.randint(1, 220)}",
            "stars": str(draws.randint(2, 5)),
            "rooms": str(draws.randint(8, 400)),
            "telephone": f"+44 {draws.randint(1000, 9999)} {draws.randint(100000, 999999)}",
        }

    return distinct(count, draw)


def hotel_again(record: Record, draws: Draws, strength: float) -> Record:
    again = errors(
        {"street": 0.15, "telephone": 0.4, "rooms": 0.3},
        {"hotel": 0.2, "street": 0.2, "city": 0.05},
    )
    other = again(record, draws, strength)
    if draws.chance(0.3 * strength):
        other["hotel"] += f" {record['city'].title()}"
    return other


def stops(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        town = draws.choice(words.TOWNS[:30])
        where = draws.choice(
            (
                draws.choice(words.NOUNS),
                f"{draws.choice(words.SURNAMES)} {draws.choice(words.STREETS)}",
            )
        )
        return {
            "stop": f"{town}, {where}".title(),
            "lat": f"{51.2 + (hash_of(town) % 40) / 20 + draws.gauss(0, 0.02):.5f}",
            "lon": f"{-1.5 + (hash_of(town) % 37) / 18 + draws.gauss(0, 0.03):.5f}",
            "zone": str(1 + hash_of(town) % 6),
            "lines": " ".join(
                str(line)
                for line in sorted(draws.sample(range(1, 80), draws.randint(1, 4)))
            ),
        }

    return distinct(count, draw)


def hash_of(text: str) -> int:
    return sum(place * ord(letter) for place, letter in enumerate(text, 1))


def stop_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors({"lines": 0.2, "zone": 0.1}, {"stop": 0.25})(record, draws, strength)
    other["stop"] = (
        other["stop"]
        .replace(" Street", " St")
        .replace(", ", " " if draws.chance(0.5) else ", ")
    )
    for name in ("lat", "lon"):
        other[name] = f"{float(record[name]) + draws.gauss(0, 0.0004 * strength):.5f}"
    return other


def packages(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        first, second = (
            draws.choice(words.NOUNS),
            draws.choice([*words.NOUNS, *words.ADJECTIVES, "utils", "core", "tools"]),
        )
        name = f"{first}-{second}"
        what = f"{draws.choice(words.ADJECTIVES)} {draws.choice(('library', 'toolkit', 'client', 'parser'))}"
        about = f"A {what} for {first} {draws.choice(words.NOUNS)} and {draws.choice(words.NOUNS)}"
        return {
            "package": name,
            "summary": about,
            "maintainer": full_name(draws),
            "licence": draws.skewed(
                ("MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0"), 0.8
            ),
            "version": f"{draws.randint(0, 9)}.{draws.randint(0, 20)}.{draws.randint(0, 9)}",
            "homepage": f"https://{draws.choice(('code', 'git'))}.example/{draws.choice(words.SURNAMES)}/{name}",
        }

    return distinct(count, draw)


def package_again(record: Record, draws: Draws, strength: float) -> Record:
    again = errors(
        {"homepage": 0.3, "maintainer": 0.3, "licence": 0.2},
        {"summary": 0.2, "maintainer": 0.1},
    )
    other = again(record, draws, strength)
    if draws.chance(0.4 * strength):
        other["package"] = draws.choice(("py{}", "{}2", "lib{}", "python-{}")).format(
            record["package"].replace("-", "_")
        )
    other["version"] = (
        f"{draws.randint(0, 9)}.{draws.randint(0, 20)}.{draws.randint(0, 9)}"
    )
    return other


def events(count: int, draws: Draws) -> list[Record]:
    venues = [
        f"{draws.choice(words.TOWNS)} {draws.choice(('hall', 'arena', 'theatre'))}".title()
        for _ in range(40)
    ]

    def draw() -> Record:
        return {
            "event": draws.choice(
                (
                    title(draws),
                    f"{full_name(draws)} live",
                    f"{draws.choice(words.NOUNS)} festival".title(),
                )
            ),
            "venue": draws.skewed(venues, 0.5),
            "date": f"2024-{draws.randint(1, 12):02d}-{draws.randint(1, 28):02d}",
            "start": f"{draws.randint(17, 21)}:{draws.choice(('00', '30'))}",
            "price": str(draws.choice((10, 15, 20, 25, 35, 50, 80))),
        }

    return distinct(count, draw)


def event_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors(
        {"venue": 0.1, "price": 0.3, "start": 0.2}, {"event": 0.2, "venue": 0.15}
    )(record, draws, strength)
    if draws.chance(0.3 * strength):
        other["event"] = other["event"].upper() + draws.choice(
            (" - sold out", " (extra show)", " 2024")
        )
    return other


def schools(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        town = draws.choice(words.TOWNS[:120])
        kind = draws.choice(("primary school", "high school", "academy", "college"))
        saint = f"st {given_name(draws)}'s"
        return {
            "school": f"{draws.choice((town, saint, draws.choice(words.SURNAMES)))} {kind}".title(),
            "town": town,
            "head": f"{draws.choice(('Mr', 'Ms', 'Dr'))} {draws.skewed(words.SURNAMES, 0.3).title()}",
            "pupils": str(draws.randint(40, 1800)),
            "founded": str(draws.randint(1850, 2015)),
            "number": str(draws.randint(100000, 149999)),
        }

    return distinct(count, draw)


def school_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors(
        {"number": 0.4, "founded": 0.3, "head": 0.2}, {"school": 0.2, "town": 0.05}
    )(record, draws, strength)
    other["pupils"] = str(int(int(record["pupils"]) * draws.uniform(0.9, 1.1)))
    if draws.chance(0.3 * strength):
        other["head"] = (
            f"{draws.choice(('Mr', 'Ms', 'Dr'))} {draws.skewed(words.SURNAMES, 0.3).title()}"
        )
    if draws.chance(0.3):
        other["school"] = (
            other["school"].replace("Primary School", "PS").replace("High School", "HS")
        )
    return other


def medicines(count: int, draws: Draws) -> list[Record]:
    records: list[Record] = []
    while len(records) < count:
        stem = draws.choice(words.STARTS) + draws.choice(
            ["azol", "ipril", "olol", "amide", "ocin", "statin", "idone", "oxine"]
        )
        maker = f"{draws.choice(words.SURNAMES[:25])} pharma".title()
        for strength in draws.sample(
            (5, 10, 20, 25, 40, 50, 100, 200, 500), draws.randint(1, 4)
        ):
            for pack in draws.sample((10, 20, 28, 30, 50, 100), draws.randint(1, 2)):
                form = draws.skewed(("tablets", "capsules", "oral solution"), 1.0)
                record = {
                    "product": f"{stem.title()} {maker.split()[0]} {strength} mg {form}, {pack}",
                    "substance": stem,
                    "strength": f"{strength} mg",
                    "pack": str(pack),
                    "maker": maker,
                    "code": str(draws.randint(10**6, 10**7 - 1)),
                }
                records.append(record)
    return records[:count]


def medicine_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors(
        {"code": 0.4, "maker": 0.2, "substance": 0.1}, {"product": 0.2, "code": 0.03}
    )(record, draws, strength)
    if draws.chance(0.5):
        other["product"] = (
            other["product"]
            .replace(" mg", "mg")
            .replace("tablets", "tab")
            .replace(",", "")
            .lower()
        )
    return other


KEPT_KINDS: dict[str, Kind] = {
    "books": Kind(
        books,
        book_again,
        {
            "title": "text",
            "author": "name",
            "isbn": "code",
            "publisher": "category",
            "pages": "number",
            "published": "category",
        },
    ),
    "vehicles": Kind(
        vehicles,
        vehicle_again,
        {
            "vin": "code",
            "plate": "code",
            "brand": "category",
            "model": "category",
            "year": "category",
            "colour": "category",
            "mileage": "ignore",
        },
    ),
    "patients": Kind(
        patients,
        patient_again,
        {
            "mrn": "code",
            "patient": "name",
            "dob": "date",
            "sex": "category",
            "zip": "postcode",
            "insurance": "category",
        },
    ),
    "hotels": Kind(
        hotels,
        hotel_again,
        {
            "hotel": "text",
            "city": "town",
            "street": "street",
            "stars": "category",
            "rooms": "number",
            "telephone": "phone",
        },
    ),
    "stops": Kind(
        stops,
        stop_again,
        {
            "stop": "text",
            "lat": "number",
            "lon": "number",
            "zone": "category",
            "lines": "text",
        },
    ),
    "packages": Kind(
        packages,
        package_again,
        {
            "package": "text",
            "summary": "text",
            "maintainer": "name",
            "licence": "category",
            "version": "ignore",
            "homepage": "text",
        },
    ),
    "events": Kind(
        events,
        event_again,
        {
            "event": "text",
            "venue": "text",
            "date": "category",
            "start": "category",
            "price": "category",
        },
    ),
    "schools": Kind(
        schools,
        school_again,
        {
            "school": "text",
            "town": "town",
            "head": "name",
            "pupils": "ignore",
            "founded": "category",
            "number": "code",
        },
    ),
    "medicines": Kind(
        medicines,
        medicine_again,
        {
            "product": "text",
            "substance": "category",
            "strength": "category",
            "pack": "category",
            "maker": "category",
            "code": "code",
        },
    ),
    "people of two errors": Kind(
        patients,
        errors(
            {"mrn": 0.5, "dob": 0.15, "zip": 0.2},
            {"patient": 0.6, "dob": 0.2, "zip": 0.2, "mrn": 0.1},
        ),
        {
            "mrn": "code",
            "patient": "name",
            "dob": "date",
            "sex": "category",
            "zip": "postcode",
            "insurance": "category",
        },
    ),
}
# The kind, rows, share with a second record, strength of errors, and whether there is one table.
KEPT_CALIBRATION = {
    "books": (2500, 0.3, 1.2, False),
    "vehicles": (2000, 0.2, 1.3, True),
    "patients": (5000, 0.1, 1.3, False),
    "hotels": (1500, 0.4, 1.4, False),
    "stops": (1800, 0.5, 1.3, False),
    "packages": (1500, 0.2, 1.2, True),
    "events": (1200, 0.3, 1.2, False),
    "schools": (2200, 0.25, 1.2, True),
    "medicines": (2500, 0.5, 1.0, False),
    "people of two errors": (3000, 0.4, 1.0, False),
}

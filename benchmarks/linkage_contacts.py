"""Kinds of tables as in linkage_kinds.py that have few columns, or values that several records share: kept back."""

from __future__ import annotations

from collections.abc import Callable

import linkage_words as words
from linkage_draws import Draws, Record
from linkage_kinds import (
    Again,
    Kind,
    distinct,
    errors,
    full_name,
    given_name,
    number_date,
)

HOSTS = ("mail.example", "post.example", "web.example", "example.com")
LEGAL_FORMS = ("", " Inc", " LLC", " Ltd", " GmbH", " Corp.")
LONG_FORMS = {"Inc": "Incorporated", "Ltd": "Limited", "Corp.": "Corporation"}
SHARED = 0.6  # of the members of a group have its e-mail address


def phone_number(draws: Draws) -> str:
    return f"{draws.randint(200, 998)}-{draws.randint(200, 998)}-{draws.randint(0, 9999):04d}"


def name_again(name: str, draws: Draws) -> str:
    """Return a name as another list has it: turned round, with a nickname, an initial or a typing error."""
    given, surname = name.split(" ", 1)
    nickname = words.NICKNAMES.get(given.lower(), given).title()
    return draws.choice(
        (
            name,
            f"{surname}, {given}",
            f"{nickname} {surname}",
            f"{given[0]}. {surname}",
            draws.typo(name),
        )
    )


def again_with_name(missing: dict[str, float]) -> Again:
    """Return a function that writes the name otherwise, and leaves some other values out."""
    without_values = errors(missing, {})

    def again(record: Record, draws: Draws, strength: float) -> Record:
        other = without_values(record, draws, strength)
        other["name"] = name_again(record["name"], draws)
        return other

    return again


# ---- people ----


def contacts(count: int, draws: Draws) -> list[Record]:
    """People whose addresses are made of their names, so that namesakes may share one."""

    def draw() -> Record:
        name = full_name(draws)
        given, surname = name.lower().replace("'", "").split(" ", 1)
        forms = (
            f"{given}.{surname}",
            f"{given[0]}{surname}",
            f"{surname}{draws.randint(1, 99)}",
        )
        return {
            "name": name,
            "email": f"{draws.choice(forms)}@{draws.choice(HOSTS)}",
            "company": draws.choice(("", *words.BRANDS[:6])),
        }

    return distinct(count, draw)


def group_members(
    surname_of_group: bool,
) -> Callable[[int, Draws], list[Record]]:
    """Return a function that draws members of groups, who share an e-mail address, telephone and city."""

    def members(count: int, draws: Draws) -> list[Record]:
        records: dict[tuple[str, ...], Record] = {}
        while len(records) < count:
            group_surname = draws.skewed(words.SURNAMES, 0.5)
            group = f"{group_surname}{draws.randint(1, 9999)}".replace("'", "")
            phone = phone_number(draws)
            city = draws.choice(words.CITIES[:8])
            for _ in range(draws.randint(1, 5)):
                name = full_name(draws)
                if surname_of_group:
                    name = f"{given_name(draws)} {group_surname}".title()
                user = name.lower().replace(" ", ".").replace("'", "")
                own_address = f"{user}{draws.randint(1, 999)}@{draws.choice(HOSTS)}"
                is_shared = draws.chance(SHARED)
                record = {
                    "name": name,
                    "email": f"info@{group}.example" if is_shared else own_address,
                    "phone": phone if draws.chance(0.5) else phone_number(draws),
                    "city": city,
                }
                records[tuple(record.values())] = record
        return [*records.values()][:count]

    return members


def people_with(
    name: str, value_of: Callable[[Draws], str]
) -> Callable[[int, Draws], list[Record]]:
    """Return a function that draws people with one column besides their name."""

    def people(count: int, draws: Draws) -> list[Record]:
        return distinct(
            count, lambda: {"name": full_name(draws), name: value_of(draws)}
        )

    return people


def street_address(draws: Draws) -> str:
    street = f"{draws.choice(words.STARTS)} {draws.choice(words.STREETS)}".title()
    return (
        f"{draws.randint(1, 2500)} {street}, {draws.choice(words.CITIES[:8]).title()}"
    )


def resident_again(record: Record, draws: Draws, strength: float) -> Record:
    other = {**record, "name": name_again(record["name"], draws)}
    if draws.chance(0.15 * strength):
        other["address"] = street_address(draws)
    elif draws.chance(0.5):
        other["address"] = " ".join(
            words.SHORT.get(word.lower(), word) for word in record["address"].split()
        )
    return other


# ---- companies ----


def company_name(draws: Draws) -> str:
    first = draws.choice((*words.SURNAMES, *words.ADJECTIVES))
    others = f"{draws.choice(words.NOUNS)} {draws.choice(words.OCCUPATIONS)}"
    return f"{first} {others}".title() + draws.choice(LEGAL_FORMS)


def company_again(name: str, draws: Draws) -> str:
    """Return the name of a company as another list has it."""
    parts = name.split()
    form = parts[-1] if f" {parts[-1]}" in LEGAL_FORMS else ""
    short_name = name.removesuffix(f" {form}")
    return draws.choice(
        (
            name,
            name.upper(),
            short_name,
            f"{short_name} {LONG_FORMS.get(form, form)}".strip(),
            draws.typo(short_name),
        )
    )


def companies_alone(count: int, draws: Draws) -> list[Record]:
    return [{"company": company_name(draws)} for _ in range(count)]


def company_alone_again(record: Record, draws: Draws, strength: float) -> Record:
    return {"company": company_again(record["company"], draws)}


def people_alone(count: int, draws: Draws) -> list[Record]:
    """Names of which some stand for several people."""
    return [{"name": f"{full_name(draws)}"} for _ in range(count)]


def company_sites(count: int, draws: Draws) -> list[Record]:
    def draw() -> Record:
        name = company_name(draws)
        host = "".join(name.lower().replace("'", "").split()[:2])
        return {
            "company": name,
            "website": f"www.{host}.example",
            "city": draws.choice(words.CITIES[:14]),
        }

    return distinct(count, draw)


def site_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors({"website": 0.2, "city": 0.1}, {})(record, draws, strength)
    other["company"] = company_again(record["company"], draws)
    if draws.chance(0.5):
        other["website"] = other["website"].removeprefix("www.")
    return other


# ---- bills ----


def bills(count: int, draws: Draws) -> list[Record]:
    """Bills of few vendors, of which some are paid twice."""
    vendors = [company_name(draws) for _ in range(120)]

    def draw() -> Record:
        return {
            "vendor": draws.skewed(vendors, 0.6),
            "invoice": f"INV-{draws.randint(10**4, 10**6)}",
            "date": number_date(draws, 2025, 2025),
            "amount": f"{10 ** draws.uniform(1, 5):.2f}",
        }

    return distinct(count, draw)


def bill_again(record: Record, draws: Draws, strength: float) -> Record:
    other = errors({"invoice": 0.1}, {"invoice": 0.3})(record, draws, strength)
    if draws.chance(0.2):
        other["invoice"] = other["invoice"].removeprefix("INV-")
    if draws.chance(0.3 * strength):
        other["date"] = number_date(draws, 2025, 2025)
    if draws.chance(0.4 * strength):
        other["vendor"] = company_again(record["vendor"], draws)
    return other


CONTACT_KINDS = {
    "contacts": Kind(
        contacts,
        again_with_name({"email": 0.15, "company": 0.5}),
        {"name": "name", "email": "email", "company": "category"},
    ),
    "colleagues": Kind(
        group_members(False),
        again_with_name({"email": 0.2}),
        {"name": "name", "email": "email", "phone": "phone", "city": "town"},
    ),
    "families": Kind(
        group_members(True),
        again_with_name({"email": 0.2}),
        {"name": "name", "email": "email", "phone": "phone", "city": "town"},
    ),
    "callers": Kind(
        people_with("phone", phone_number),
        again_with_name({"phone": 0.15}),
        {"name": "name", "phone": "phone"},
    ),
    "residents": Kind(
        people_with("address", street_address),
        resident_again,
        {"name": "name", "address": "text"},
    ),
    "company names": Kind(companies_alone, company_alone_again, {"company": "text"}),
    "people by name": Kind(people_alone, again_with_name({}), {"name": "name"}),
    "company sites": Kind(
        company_sites,
        site_again,
        {"company": "text", "website": "text", "city": "town"},
    ),
    "bills": Kind(
        bills,
        bill_again,
        {"vendor": "text", "invoice": "code", "date": "date", "amount": "category"},
    ),
}
# As KEPT_CALIBRATION.
CONTACT_CALIBRATION = {
    "contacts": (2000, 0.3, 1.0, False),
    "colleagues": (1500, 0.1, 1.0, True),
    "families": (1500, 0.5, 1.0, True),
    "callers": (1700, 0.3, 1.0, False),
    "residents": (1500, 0.3, 1.0, True),
    "company names": (2700, 0.9, 1.0, False),
    "people by name": (1700, 0.3, 1.0, False),
    "company sites": (1500, 0.3, 1.0, True),
    "bills": (3000, 0.05, 1.0, True),
}

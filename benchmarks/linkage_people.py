"""Generated tables of people and of payments, with a fixed seed.

The errors differ from those of people.py: they come together in bad records, nicknames and initials stand for given
names, dates are reduced to the year, relatives live at the same address, and some columns follow from others.
"""

from __future__ import annotations

from datetime import date, timedelta

import linkage_words as words
import numpy as np
from linkage_draws import Draws, Labelled, Linked, Record, one_table, two_tables
from people import People

ORDINALS = ("1st", "2nd", "3rd", "4th", "5th")
CODE_LETTERS = "ABDEFGHJLNPQRSTUWXYZ"


def day(rng: Draws, first: int, last: int) -> date:
    """Return a day of the years from first to last."""
    return date(first, 1, 1) + timedelta(rng.randrange(365 * (last - first + 1)))


def wrong_date(rng: Draws, value: date) -> str:
    """Return a date with an error: another digit, month and day exchanged, or off by little."""
    kind = rng.randrange(4)
    if kind == 0 and value.day <= 12:
        return value.replace(month=value.day, day=value.month).isoformat()
    if kind == 1:
        return value.replace(
            year=value.year + rng.choice((-10, -1, 1, 10)), day=min(value.day, 28)
        ).isoformat()
    if kind == 2:
        return value.replace(day=rng.randint(1, 28)).isoformat()
    return value.replace(month=rng.randint(1, 12), day=min(value.day, 28)).isoformat()


def fake_people() -> Linked:
    """A small list of customers with up to six records a person: as splink's fake_1000."""
    rng = Draws(21)
    records: list[Labelled] = []
    entity = 0
    while len(records) < 1000:
        given = rng.skewed(words.MEN if rng.chance(0.5) else words.WOMEN, 0.4)
        surname = rng.skewed(words.COMMON_SURNAMES, 0.5)
        born, city = day(rng, 1970, 2015), rng.skewed(words.CITIES, 1.3)
        user = rng.choice(
            (
                f"{given}.{surname}",
                f"{given[0]}{surname}",
                f"{given}{rng.randint(1, 999)}",
                f"{given}{surname[0]}",
            )
        )
        place = f"{rng.choice(words.COMMON_SURNAMES)}.{rng.choice(('com', 'org', 'net', 'biz', 'info'))}"
        email = f"{user}{rng.choice(('', str(rng.randint(1, 99))))}@{place}".replace(
            "'", ""
        )
        for number in range(
            rng.choices((1, 2, 3, 4, 5, 6), (18, 10, 12, 20, 20, 20))[0]
        ):
            bad = 1.0 if number else 0.1
            record = {
                "first_name": words.NICKNAMES.get(given, given[:3]) if rng.chance(0.06 * bad) else given,
                "surname": surname, "dob": wrong_date(rng, born) if rng.chance(0.42 * bad) else born.isoformat(),
                "city": city, "email": email,
            }  # fmt: skip
            for name, error in (
                ("first_name", 0.3),
                ("surname", 0.3),
                ("city", 0.3),
                ("email", 0.25),
            ):
                record[name] = rng.typos(record[name], error * bad)
            if rng.chance(0.1 * bad):
                record["first_name"], record["surname"] = (
                    record["surname"],
                    record["first_name"],
                )
            for name, missing in (
                ("first_name", 0.2),
                ("surname", 0.2),
                ("city", 0.22),
                ("email", 0.24),
            ):
                if rng.chance(missing):
                    record[name] = ""
            for name in ("first_name", "surname", "city"):
                record[name] = record[name].title()
            records.append((entity, record))
        entity += 1
    return one_table(
        rng, records[:1000], ["first_name", "surname", "dob", "city", "email"]
    )


def fake_postcode(rng: Draws, area: int) -> str:
    """Return a postcode of an area, which has only few."""
    chooser = Draws(area)
    start = f"{chooser.choice(CODE_LETTERS)}{chooser.choice(CODE_LETTERS)}{chooser.randint(1, 29)}"
    return f"{start} {rng.randint(0, 9)}{rng.choice(CODE_LETTERS)}{rng.choice(CODE_LETTERS)}".lower()


def historical_people() -> Linked:
    """Historical people with several records each, many errors and a derived column: as splink's historical_50k."""
    rng = Draws(22)
    places = words.CITIES + words.TOWNS
    records: list[Labelled] = []
    entity = 0
    while len(records) < 20000:
        man = rng.chance(0.8)
        given = rng.skewed(words.MEN if man else words.WOMEN, 0.9)
        middle = (
            rng.skewed(words.MEN if man else words.WOMEN, 0.9)
            if rng.chance(0.4)
            else ""
        )
        surname = rng.skewed(words.SURNAMES, 0.5)
        honour = rng.choice(("sir ", "", "", "", "", "", "", "", "", "rev. "))
        born, area = day(rng, 1600, 1900), int(len(places) * rng.random() ** 1.5)
        postcode, occupation = (
            fake_postcode(rng, area),
            rng.skewed(words.OCCUPATIONS, 0.7),
        )
        noble = (
            rng.choice(("baron", "earl", "viscount", "baronet"))
            if rng.chance(0.25)
            else ""
        )
        sibling = rng.chance(0.12)  # relatives with the same surname and place follow
        for number in range(min(20, 1 + int(rng.expovariate(1 / 8)))):
            bad = rng.choice((0.5, 1.2, 2.0)) if number else 0.3
            first, last = given, surname
            if rng.chance(0.2 * bad):
                first = rng.choice(
                    (
                        words.NICKNAMES.get(given, given[0]),
                        given[0] + ".",
                        middle or given,
                    )
                )
            first, last = rng.typos(first, 0.07 * bad), rng.typos(last, 0.1 * bad)
            if noble and rng.chance(0.6):
                last = rng.choice(
                    (
                        places[area],
                        f"{rng.choice(ORDINALS)} {noble} of {places[area]}",
                        f"{last} of {places[area]}",
                    )
                )
            if not man and rng.chance(0.06):
                last = rng.skewed(words.SURNAMES, 0.5)
            second = "" if rng.chance(0.4 * bad) else middle
            full = " ".join(
                filter(
                    None,
                    (honour.strip() if rng.chance(0.6) else "", first, second, last),
                )
            )
            if rng.chance(0.04):
                full = f"{last}, {first}"
            born_here, code = (
                born.isoformat(),
                fake_postcode(rng, area) if rng.chance(0.3 * bad) else postcode,
            )
            if rng.chance(0.22 * bad):
                born_here = f"{born.year}-01-01"
            elif rng.chance(0.08 * bad):
                born_here = wrong_date(rng, born)
            record: Record = {
                "full_name": full, "first_name": first, "surname": last, "dob": born_here,
                "birth_place": places[area] if rng.chance(0.85) else rng.choice(places),
                "postcode_fake": rng.typos(code, 0.08 * bad),
                "gender": "male" if man else "female",
                "occupation": rng.skewed(words.OCCUPATIONS, 0.7) if rng.chance(0.1) else occupation,
            }  # fmt: skip
            for name, missing in (
                ("first_name", 0.02), ("surname", 0.03), ("dob", 0.2), ("birth_place", 0.25), ("postcode_fake", 0.25),
                ("gender", 0.1), ("occupation", 0.3),
            ):  # fmt: skip
                if rng.chance(missing * (1.4 if number else 0.5)):
                    record[name] = ""
            records.append((entity, record))
        entity += 1
        if sibling:
            for _ in range(rng.randint(1, 4)):
                brother = given if rng.chance(0.1) else rng.skewed(words.MEN, 0.9)
                record = {
                    "full_name": f"{brother} {surname}", "first_name": brother, "surname": surname,
                    "dob": day(rng, born.year - 5, born.year + 5).isoformat() if rng.chance(0.8) else "",
                    "birth_place": places[area], "postcode_fake": postcode, "gender": "male", "occupation": occupation,
                }  # fmt: skip
                records.append((entity, record))
            entity += 1
    columns = [
        "full_name",
        "first_name",
        "surname",
        "dob",
        "birth_place",
        "postcode_fake",
        "gender",
        "occupation",
    ]
    return one_table(rng, records[:20000], columns)


def people_with_derived_columns() -> Linked:
    """Two lists of people with full name and full address beside their parts; half of each list is in the other."""
    rng, size, shared = Draws(23), 20000, 10000
    draws = np.random.default_rng(23)
    people = People(draws)
    every = {
        name: values.tolist()
        for name, values in people.draw(2 * size - shared, draws).items()
    }
    moved = {name: values.tolist() for name, values in people.draw(size, draws).items()}
    home = ("street_number", "address_1", "suburb", "postcode", "state")
    count = len(every["surname"])
    every["given_name"] = [
        rng.skewed(words.MEN + words.WOMEN, 0.6) for _ in range(count)
    ]
    for row in range(1, count):
        if rng.chance(0.2):  # a relative of the person before, in the same household
            for name in (*home, "surname"):
                every[name][row] = every[name][row - 1]
    order = rng.sample(range(count), count)

    def view(number: int, second: bool) -> Record:
        values = {name: column[number] for name, column in every.items()}
        bad = rng.choice((0.3, 0.6, 2.5)) if second else 0.15
        if second and rng.chance(0.15):
            values |= {name: moved[name][number % size] for name in home}
        if rng.chance(0.12 * bad):
            given = values["given_name"]
            values["given_name"] = rng.choice(
                (given[0], words.NICKNAMES.get(given, given[:4]), given[0] + ".")
            )
        if second and rng.chance(0.04):
            values["surname"] = rng.choice(every["surname"])
        for name, error in (
            ("given_name", 0.12),
            ("surname", 0.15),
            ("address_1", 0.2),
            ("suburb", 0.15),
        ):
            values[name] = rng.typos(values[name], error * bad)
        if rng.chance(0.3 * bad):
            street, _, kind = values["address_1"].rpartition(" ")
            values["address_1"] = f"{street} {words.SHORT.get(kind, kind)}".strip()
        for name, missing in (
            ("given_name", 0.05),
            ("suburb", 0.08),
            ("postcode", 0.1),
            ("street_number", 0.05),
        ):
            if rng.chance(missing * bad):
                values[name] = ""
        born = values["date_of_birth"]
        born = f"{born[:4]}-{born[4:6]}-{born[6:]}"
        if rng.chance(0.08 * bad):
            born = wrong_date(rng, date.fromisoformat(born))
        elif rng.chance(0.05 * bad):
            born = born[:4] + "-01-01"
        phone = f"04{Draws(number).randrange(10**8):08d}"
        if rng.chance(0.25 * bad):
            phone = f"04{rng.randrange(10**8):08d}"
        whole = (
            values["street_number"],
            values["address_1"],
            values["suburb"],
            values["state"],
            values["postcode"],
        )
        return {
            "given_name": values["given_name"], "surname": values["surname"],
            "full_name": f"{values['given_name']} {values['surname']}".strip(),
            "street": f"{values['street_number']} {values['address_1']}".strip(), "suburb": values["suburb"],
            "postcode": values["postcode"], "full_address": " ".join(filter(None, whole)),
            "date_of_birth": "" if rng.chance(0.12 * bad) else born, "phone": "" if rng.chance(0.3) else phone,
        }  # fmt: skip

    a = [(number, view(number, False)) for number in order[:size]]
    b = [(number, view(number, True)) for number in order[count - size :]]
    columns = [
        "given_name", "surname", "full_name", "street", "suburb", "postcode", "full_address", "date_of_birth", "phone",
    ]  # fmt: skip
    return two_tables(rng, a, b, (columns, columns))


def payments() -> Linked:
    """Payments as sent and as received, some days later, with fees and other memos: as splink's transactions."""
    rng = Draws(24)
    a: list[Labelled] = []
    b: list[Labelled] = []
    for number in range(20000):
        sent = day(rng, 2022, 2022)
        amount = rng.lognormvariate(4.2, 1.3)
        if rng.chance(0.25):
            amount = float(rng.choice((10, 20, 25, 50, 100, 150, 200, 250, 500, 1000)))
        what = rng.skewed(words.PAYMENTS, 0.7)
        given, surname = (
            rng.skewed(words.MEN + words.WOMEN, 0.6),
            rng.skewed(words.COMMON_SURNAMES, 0.6),
        )
        name, code = f"{given} {surname}", f"{rng.randint(1000, 99999)}"
        kind = rng.random()
        if kind < 0.3:
            branch = rng.choice(("", "london", "online", "uk", rng.choice(words.TOWNS)))
            memo = f"{rng.skewed(words.SHOPS, 0.7)} {branch}".strip()
        elif kind < 0.6:
            memo = rng.choice(
                (f"{what} {name}", f"{name} {what}", f"{surname} {given[0]} {what}")
            )
        elif kind < 0.68:
            memo = f"{what} {rng.choice(('ref', 'no', 'inv'))} {code}"
        else:
            memo = rng.choice(
                (
                    what,
                    f"{rng.skewed(words.NOUNS, 0.9)} {what}",
                    f"{rng.choice(words.ADJECTIVES)} {rng.choice(words.NOUNS)}",
                )
            )
        received = amount
        if rng.chance(0.6):
            received = amount * (1 - rng.uniform(0.005, 0.04))
        elif rng.chance(0.3):
            received = float(round(amount)) or amount
        told = memo
        change = rng.random()
        if change < 0.3:
            told = memo[: rng.randint(4, 10)].strip()
        elif change < 0.6:
            parts = rng.thinned(
                [words.SHORT.get(part, part) for part in memo.split()], 0.3
            )
            rng.shuffle(parts)
            told = " ".join(parts)
        elif change < 0.75:
            told = f"{rng.choice(('bgc', 'fpi', 'so', 'trf', 'dd'))} {rng.choice(words.PAYMENTS)} {memo.split()[-1]}"
        elif change < 0.9:
            told = rng.choice((what, rng.choice(words.PAYMENTS), "bgc"))
        later = sent + timedelta(rng.choices(range(6), (12, 28, 24, 16, 12, 8))[0])
        first = {
            "transaction_date": sent.isoformat(),
            "amount": f"{amount:.2f}",
            "memo": memo.upper(),
        }
        second = {
            "transaction_date": later.isoformat(),
            "amount": f"{received:.2f}",
            "memo": rng.typos(told, 0.08).upper(),
        }
        a.append((number, first))
        b.append((number, second))
    columns = ["transaction_date", "amount", "memo"]
    return two_tables(rng, a, b, (columns, columns))

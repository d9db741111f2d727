"""Generated tables of films, discs, products and sentences, with a fixed seed.

Records of one entity are written independently: each source shortens, leaves out, reorders and misspells in its own
way. Other entities resemble them: sequels, remakes, compilations, and products that differ in one number.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import linkage_words as words
from linkage_draws import Draws, Labelled, Linked, Record, one_table, two_tables

ROMAN = ("II", "III", "IV", "V", "VI")


def person(rng: Draws) -> str:
    given = rng.skewed(words.MEN if rng.chance(0.6) else words.WOMEN, 0.6)
    surname = rng.skewed(words.SURNAMES, 0.4)
    return f"{given} {surname}".title().replace("'S", "'s")


def title(rng: Draws) -> str:
    """Return the title of a work."""
    adjective, noun, other = (
        rng.skewed(words.ADJECTIVES, 0.5),
        rng.skewed(words.NOUNS, 0.5),
        rng.choice(words.NOUNS),
    )
    name, town = person(rng), rng.choice(words.CITIES + words.TOWNS)
    found = rng.choice(
        [
            f"the {adjective} {noun}", f"the {adjective} {noun}", f"the {noun}", noun, f"{adjective} {noun}",
            f"{noun} of the {other}", f"the {noun} of {town}", f"{noun} and {other}", f"{name}", name.split()[0],
            f"{noun} in {town}", f"the {adjective} {noun} of {name}", f"a {noun} for {name.split()[0]}",
            f"{name.split()[1]}'s {noun}", f"the {noun} {rng.choice(words.VERBS)}", f"my {adjective} {noun}",
            f"{rng.choice(words.NUMBERS)} {noun}s", f"{adjective} {noun}, {rng.choice(words.ADJECTIVES)} {other}",
        ]
    )  # fmt: skip
    return found.title().replace("'S", "'s")


def family(rng: Draws, first: str) -> Iterator[tuple[str, int]]:
    """Yield titles of a film's sequels and remakes, each with the years since."""
    noun = rng.choice(words.NOUNS).title()
    for number in range(rng.choice((1, 1, 1, 2, 3))):
        forms = (
            f"{first} {number + 2}",
            f"{first} {ROMAN[number]}",
            f"{first}: The {noun}",
            f"Return of {first}",
        )
        yield (
            first if rng.chance(0.5) else rng.choice(forms),
            rng.randint(1, 4) if rng.chance(0.4) else rng.randint(5, 40),
        )


def films(count: int, rng: Draws, in_families: float) -> list[dict[str, Any]]:
    """Draw films; some belong to families with similar titles."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        film: dict[str, Any] = {
            "title": title(rng),
            "year": 2019 - int(rng.expovariate(1 / 18)) % 95,
            "names": [person(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))],
            "genres": [
                rng.skewed(words.FILM_GENRES) for _ in range(rng.choice((1, 2, 3)))
            ],
            "facts": [person(rng).split()[0], rng.choice(words.CITIES).title()]
            + [rng.choice(words.NOUNS) for _ in range(4)],
        }
        film["plot"] = description(rng, film["facts"])
        found.append(film)
        if rng.chance(in_families):
            for name, years in family(rng, film["title"]):
                same = film["names"] if rng.chance(0.3) else [person(rng)]
                facts = film["facts"][:2] + [rng.choice(words.NOUNS) for _ in range(4)]
                again = {
                    "title": name,
                    "year": film["year"] + years,
                    "names": same,
                    "facts": facts,
                }
                found.append(film | again | {"plot": description(rng, facts)})
    return found[:count]


def description(rng: Draws, facts: list[str]) -> str:
    """Return a sentence on a film; each source writes its own, with some of the facts."""
    told = rng.sample(facts, rng.randint(2, 4))
    adjective, noun = rng.choice(words.ADJECTIVES), rng.choice(words.NOUNS)
    forms = (
        f"A {adjective} {told[0]} {rng.choice(words.VERBS)} {told[1]} and the {noun}",
        f"When {told[0]} {rng.choice(words.VERBS)} a {adjective} {noun}, {told[1]} {rng.choice(words.VERBS)}",
        f"The story of {told[0]}, {told[1]} and a {noun} that {rng.choice(words.VERBS)} everything",
        f"After the {noun}, {told[0]} must face {told[1]} in this {adjective} tale",
    )
    more = "".join(
        f", with {fact} {rng.choice(words.VERBS)} a {rng.choice(words.NOUNS)}"
        for fact in told[2:]
    )
    return rng.choice(forms) + more + "."


def retitled(rng: Draws, text: str, errors: float) -> str:
    """Return a title as another source writes it."""
    if rng.chance(0.3 * errors):
        text = re.sub(r"^(The|A) (.*)$", r"\2, \1", text)
    elif rng.chance(0.2 * errors):
        text = re.sub(r"^(The|A) ", "", text)
    if rng.chance(0.2 * errors):
        text = text.replace(" And ", " & ")
    if rng.chance(0.2 * errors):
        text = text.replace(":", rng.choice((" -", "", ",")))
    if rng.chance(0.15 * errors):
        text = text.lower() if rng.chance(0.6) else text.upper()
    return rng.typos(text, 0.25 * errors)


def film_view(rng: Draws, film: dict[str, Any], second: bool) -> Record:
    """Return the record of a film in one of two databases."""
    if "born" in film:  # a person
        first, last = film["names"][0].split(" ", 1)
        name = (
            f"{first} {rng.choice('ABCDEJLMRST')}. {last}"
            if rng.chance(0.12)
            else film["names"][0]
        )
        year = "" if rng.chance(0.35) else str(film["born"])
        return {"name": rng.typos(name, 0.1 if second else 0.03), "year": year}
    names, genres, plot = rng.thinned(film["names"], 0.15), film["genres"], film["plot"]
    if rng.chance(0.3):
        plot = description(rng, film["facts"])
    elif second:
        plot = " ".join(rng.thinned(plot.split(), 0.15))
    if second:
        rng.shuffle(names)
        genres = [
            words.OTHER_GENRES.get(genre, genre) for genre in rng.thinned(genres, 0.3)
        ]
    year = film["year"] + (rng.choice((-1, 1, 1)) if second and rng.chance(0.12) else 0)
    return {
        "title": retitled(rng, film["title"], 0.8) if second else film["title"],
        "name": "" if rng.chance(0.5 if second else 0.35) else ", ".join(names),
        "year": "" if rng.chance(0.25 if second else 0.08) else str(year),
        "genre": ""
        if rng.chance(0.3)
        else ("|" if second else ", ").join(dict.fromkeys(genres)),
        "description": "" if rng.chance(0.25 if second else 0.4) else plot,
        "runtime": str(rng.randint(60, 180)),
        "language": rng.skewed(("en", "fr", "de", "es", "it", "ja"), 1.5),
    }


def two_film_databases() -> Linked:
    """Films and people in two databases, with many missing values: as between IMDB, TMDB and TVDB."""
    rng = Draws(11)
    every = films(6600, rng, 0.3)
    for _ in range(1400):  # episodes, whose titles are often the same
        other = films(1, rng, 0)[0]
        episode = {
            "title": rng.choice(words.EPISODES),
            "facts": other["facts"],
            "plot": other["plot"],
        }
        every.append(rng.choice(every[:6600]) | episode)
    every += [
        {"names": [person(rng)], "born": rng.randint(1900, 1995)} for _ in range(1000)
    ]
    order = rng.sample(range(len(every)), len(every))
    a = [(number, film_view(rng, every[number], False)) for number in order[:5000]]
    b = [(number, film_view(rng, every[number], True)) for number in order[3000:9000]]
    common = ["title", "name", "year", "genre", "description"]
    return two_tables(rng, a, b, ([*common, "runtime"], [*common, "language"]))


def film_titles() -> Linked:
    """Films in two databases that have only the title in common: as between IMDB and DBpedia."""
    rng = Draws(12)
    every = films(28000, rng, 0.12)
    order = rng.sample(range(len(every)), len(every))
    a = [
        (
            number,
            {
                "title": every[number]["title"],
                "director": ", ".join(every[number]["names"]),
            },
        )
        for number in order[:27000]
    ]
    b: list[Labelled] = []
    for number in order[5000:]:
        film = every[number]
        name = retitled(rng, film["title"], 0.7)
        if rng.chance(0.12):
            name += rng.choice(
                (" (film)", " (film)", f" ({film['year']} film)", f" ({film['year']})")
            )
        if rng.chance(0.05):
            name = name.split(":")[0].split(", ")[0]
        b.append(
            (number, {"title": name, "release": str(film["year"]), "abstract": ""})
        )
    return two_tables(rng, a, b, (["title", "director"], ["title", "release"]))


# ---- discs ----


def tracks_of(rng: Draws, count: int) -> list[str]:
    return [title(rng) for _ in range(count)]


def discs(count: int, rng: Draws) -> list[dict[str, Any]]:
    """Draw discs: albums, with live albums and compilations of the same artists, classical, series, and untitled."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        kind, year = rng.random(), str(rng.randint(1965, 2004))
        genre = rng.skewed(words.DISC_GENRES, 0.7)
        disc = {
            "category": rng.skewed(words.DISC_CATEGORIES, 1.0),
            "genre": genre,
            "year": year,
        }
        if kind < 0.009:
            name = rng.choice(("Unknown Title", "", "New Disc", "Untitled", "Audio CD"))
            artist = rng.choice(("Unknown Artist", "", "Unknown", "Various"))
            form = rng.choice(
                ("Track {}", "Track {:02d}", "Audio Track {:02d}", "Titel {}")
            )
            tracks = [form.format(number + 1) for number in range(rng.randint(3, 18))]
            found.append(
                {
                    "category": rng.choice(("misc", "data", "rock")),
                    "artist": artist,
                    "title": name,
                    "tracks": tracks,
                }
            )
        elif kind < 0.12:
            series, hits = rng.skewed(words.SERIES, 0.5), tracks_of(rng, 40)
            for number in range(1, rng.choice((1, 2, 2, 3))):
                name = f"{series} {rng.randint(1, 40)}" + (
                    f" (CD {number})" if rng.chance(0.6) else ""
                )
                mixed = [
                    f"{person(rng)} / {song}"
                    for song in rng.sample(hits, rng.randint(14, 20))
                ]
                found.append(
                    disc
                    | {
                        "artist": rng.choice(("Various", "Various Artists", "VA")),
                        "title": name,
                        "tracks": mixed,
                    }
                )
        elif kind < 0.2:
            composer, form = rng.skewed(words.COMPOSERS, 0.4), rng.choice(words.FORMS)
            key = f"in {rng.choice('ABCDEFG')} {rng.choice(('major', 'minor'))}, Op. {rng.randint(1, 130)}"
            name = f"{form} No. {rng.randint(1, 9)} {key}"
            for _ in range(rng.choice((1, 1, 2))):  # recordings by other performers
                parts = [
                    f"{name}: {part}"
                    for part in rng.sample(words.MOVEMENTS, rng.randint(3, 4))
                ]
                more = [
                    f"{form} No. {rng.randint(1, 9)}: {part}"
                    for part in rng.sample(words.MOVEMENTS, 4)
                ]
                artist = composer if rng.chance(0.5) else f"{composer} - {person(rng)}"
                found.append(
                    disc
                    | {
                        "category": "classical",
                        "genre": "Classical",
                        "artist": artist,
                        "title": name,
                        "tracks": parts + more,
                    }
                )
        else:
            artist = person(rng) if rng.chance(0.5) else title(rng)
            songs = tracks_of(rng, 50)
            name = artist if rng.chance(0.1) else title(rng)
            found.append(disc | {"artist": artist, "title": name, "tracks": songs[:12]})
            for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2))):
                name = rng.choice(
                    (
                        "Greatest Hits",
                        "The Best Of",
                        "Live",
                        f"{name} (Disc 2)",
                        f"{name} Live",
                        title(rng),
                    )
                )
                chosen = rng.sample(songs, rng.randint(9, 16))
                found.append(
                    disc
                    | {
                        "artist": artist,
                        "title": name,
                        "tracks": chosen,
                        "year": str(rng.randint(1965, 2004)),
                    }
                )
    return found[:count]


def entered_again(rng: Draws, disc: dict[str, Any]) -> dict[str, Any]:
    """Return a disc as another user entered it."""
    artist, name, tracks = disc["artist"], disc["title"], list(disc["tracks"])
    if rng.chance(0.25):
        artist = re.sub(r"^(\w+) (.*)$", r"\2, \1", artist)
    elif rng.chance(0.08):
        artist = rng.choice(("Various", "", disc["title"]))
    name = retitled(rng, name, 1.0)
    if rng.chance(0.2):
        name += rng.choice(
            (" (Remastered)", " [Import]", " CD1", f" ({disc.get('year', 1999)})")
        )
    tracks = [rng.typos(track, 0.15) for track in tracks]
    if rng.chance(0.2):
        tracks = [f"{number + 1:02d} {track}" for number, track in enumerate(tracks)]
    elif rng.chance(0.12):
        tracks = [f"Track {number + 1}" for number in range(len(tracks))]
    elif rng.chance(0.15):
        tracks = [track.split(" / ")[-1].lower() for track in tracks]
    if rng.chance(0.2):
        tracks += tracks_of(rng, rng.randint(1, 4))
    again = disc | {"artist": rng.typos(artist, 0.1), "title": name, "tracks": tracks}
    if rng.chance(0.35):
        again["category"] = rng.choice(words.DISC_CATEGORIES)
    if rng.chance(0.35):
        again["genre"] = rng.choice(("", words.DISC_GENRES[rng.randrange(20)]))
    return again


def one_disc_database(count: int = 9400, again: int = 300, seed: int = 13) -> Linked:
    """Discs entered by users, of which few occur twice: as CDDB."""
    rng = Draws(seed)
    every = discs(count, rng)
    entered = [*enumerate(every)]
    named = [number for number, disc in entered if not disc["tracks"][0].endswith("1")]
    entered += [
        (number, entered_again(rng, every[number]))
        for number in rng.sample(named, again)
    ]
    records: list[Labelled] = []
    for number, disc in entered:
        record = {name: str(value) for name, value in disc.items()} | {
            "tracks": " | ".join(disc["tracks"])
        }
        for name, missing in (("genre", 0.35), ("year", 0.4)):
            if rng.chance(missing):
                record[name] = ""
        records.append((number, record))
    return one_table(
        rng, records, ["artist", "title", "category", "genre", "year", "tracks"]
    )


# ---- products ----


def products(count: int, rng: Draws) -> list[dict[str, Any]]:
    """Draw products in lines: those of a line differ in one attribute and in the end of the model number."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        brand, noun = rng.skewed(words.BRANDS, 0.7), rng.choice([*words.GOODS])
        category, variants = words.GOODS[noun]
        letters = "".join(
            rng.choice("ABCDEFGHJKLMNPRSTUVWXZ") for _ in range(rng.randint(2, 4))
        )
        digits, series = rng.randint(10, 9999), rng.choice(words.NOUNS).title()
        price = rng.lognormvariate(3.6, 1.0)
        extras = rng.sample([*words.SELLING, *words.ADJECTIVES], 4)
        for place, variant in enumerate(
            rng.sample(variants, rng.choice((1, 1, 1, 2, 3)))
        ):
            ending = rng.choice(("", "BK", "W", "US", "A")) if rng.chance(0.4) else ""
            found.append(
                {
                    "brand": brand, "noun": noun, "category": category, "series": series, "variant": variant,
                    "modelno": f"{letters}{rng.choice(('', '-'))}{digits + place * rng.choice((1, 5, 10))}{ending}",
                    "price": price * (1 + 0.2 * place), "extras": extras, "pack": rng.choice((1, 1, 1, 1, 2, 10)),
                }
            )  # fmt: skip
    return found[:count]


def product_view(rng: Draws, product: dict[str, Any], second: bool) -> Record:
    """Return the record of a product in one of two shops."""
    model, brand = product["modelno"], product["brand"]
    bare = model.replace("-", "")
    shown = rng.choice((model, bare, bare.lower())) if second else model
    extras = [rng.choice(words.SELLING)] * rng.randint(0, 1) + product["extras"]
    parts = [product["variant"], product["noun"], *rng.thinned(extras, 0.25)]
    if rng.chance(0.85):
        parts.append(product["series"])
    if product["pack"] > 1 and rng.chance(0.7):
        parts.append(
            f"{product['pack']} pack" if second else f"pack of {product['pack']}"
        )
    rng.shuffle(parts)
    if second and rng.chance(0.12):
        parts = [part for part in parts if part != product["variant"]]
    if rng.chance(0.6 if second else 0.5):
        parts.insert(rng.randint(0, len(parts)), shown)
    name = " ".join([brand, *parts] if rng.chance(0.85) else parts)
    price = product["price"] * rng.lognormvariate(0, 0.25)
    category = product["category"]
    return {
        "title": rng.typos(name.lower() if second else name, 0.1),
        "brand": ""
        if rng.chance(0.2 if second else 0.05)
        else brand.lower()
        if second
        else brand,
        "modelno": "" if rng.chance(0.45 if second else 0.15) else shown,
        "category": f"{rng.choice(('electronics', 'accessories', 'computers'))} - {category}"
        if second
        else category,
        "price": "" if rng.chance(0.25 if second else 0.02) else f"{price:.2f}",
    }


def two_shops() -> Linked:
    """Products of two shops, of which one has many more: as Walmart and Amazon."""
    rng = Draws(14)
    every = products(11650, rng)
    order = rng.sample(range(len(every)), len(every))
    a = [(number, product_view(rng, every[number], False)) for number in order[:2500]]
    b = [(number, product_view(rng, every[number], True)) for number in order[1650:]]
    columns = ["title", "category", "brand", "modelno", "price"]
    return two_tables(rng, a, b, (columns, columns))


# ---- sentences ----


def sentences(count: int) -> list[str]:
    """Return different sentences from the docstrings of the standard library of this Python."""
    found: dict[str, None] = {}
    for path in sorted(Path(os.__file__).parent.glob("[a-z]*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = " ".join((ast.get_docstring(node) or "").split())
                found |= dict.fromkeys(
                    part
                    for part in re.split(r"(?<=\.) ", text)
                    if 6 <= len(part.split()) <= 30
                )
        if len(found) > 1.2 * count:
            break
    return [*found][:count]


def rewritten(rng: Draws, text: str) -> str:
    """Return a sentence with words left out, exchanged, added, shortened, and replaced by synonyms."""
    strength = rng.uniform(0.1, 1.0)
    found = [
        words.SYNONYMS.get(word, word) if rng.chance(strength) else word
        for word in text.split()
    ]
    found = rng.thinned(found, 0.4 * strength)
    for _ in range(int(len(found) * 0.3 * strength)):
        at = rng.randrange(len(found))
        other = min(at + rng.randint(1, 3), len(found) - 1)
        found[at], found[other] = found[other], found[at]
    for _ in range(int(len(found) * 0.25 * strength)):
        found.insert(
            rng.randrange(len(found)),
            rng.choice(words.NOUNS if rng.chance(0.5) else words.ADJECTIVES),
        )
    found = [
        words.SHORT.get(word, word) if rng.chance(strength) else word for word in found
    ]
    return " ".join(rng.typos(word, 0.12 * strength) for word in found)


def rewritten_sentences() -> Linked:
    """Sentences and their rewritten forms, in one column."""
    rng = Draws(15)
    every = sentences(6500)
    order = rng.sample(range(len(every)), len(every))
    part = len(every) * 10 // 13
    a = [(number, {"text": every[number]}) for number in order[:part]]
    b = [
        (number, {"text": rewritten(rng, every[number])})
        for number in order[len(every) - part :]
    ]
    return two_tables(rng, a, b, (["text"], ["text"]))

"""Small data sets that `lshfast demo DATA` makes from a fixed seed, to try the library.

They name no people, and their places are put together from parts of words. A set is the same on
every machine, but for the bytes of pictures, which depend on the version of Pillow.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from lshfast._common.choices import DemoData
from lshfast._common.extras import optional
from lshfast._common.private_files import TemporaryFolder

Value = TypeVar("Value")

SENTENCES = """
The council of {town} voted {number} to {number} for a new {thing} near {street} Street.
{speaker} of {town} said the {thing} would open in {month}, {number} weeks later than planned.
Work on the {thing} cost {number} million, {speaker} told reporters on {day}.
About {number} people came to {town} on {day} to see the {adjective} {thing}.
Residents of {street} Street complained of {adjective} nights since {month}.
A {adjective} storm damaged {number} roofs between {town} and {town} on {day}.
The bridge to {town} stays closed until {month}, said {speaker}.
{speaker} and {speaker} have run the {adjective} {thing} since they were {number}.
In {month} the price of a ticket to {town} rises by {number} per cent.
Nobody was hurt when a lorry hit the {thing} of {town} at {number} in the morning.
The {adjective} {thing} belongs to {speaker}, who bought it for {number} thousand in {month}.
Trains from {town} took {number} minutes longer on {day} because of a {adjective} signal.
{town} beat {town} by {number} points on {day}; {speaker} scored most of them.
The school on {street} Street gets {number} more places in {month}.
A {thing} from {town} won the prize of the region, worth {number} thousand.
{speaker}, who is {number}, walked from {town} to {town} in a {adjective} coat.
Farmers near {town} expect {number} tonnes of apples, said {speaker} in {month}.
The museum shows {number} photographs of a {adjective} {thing} until {month}.
Police in {town} look for a {adjective} van seen on {street} Street on {day}.
Water in {street} Street was turned off for {number} hours on {day}.
"""
WORDS = """
speaker: the mayor, a teacher, the owner, a farmer, the builder, a neighbour, the driver, a visitor, the judge, a nurse
shop: Bakery, Books, Cycles, Florist, Garage, Grocery, Hardware, Jewellers, Pharmacy, Printers, Shoes, Tea House
place: Ash, Birch, Clay, Dun, Elm, Fern, Glen, Hazel, Iron, Lark, Moss, Oak, Pine, Stone, Thorn, Wil
end: bridge, bury, combe, dale, ford, ham, mere, port, ton, wick
street: Mill, Station, Church, Harbour, Orchard, Market, Castle, River, School, Garden
thing: library, market hall, swimming pool, ferry, clock tower, bakery, sports ground, theatre, footpath, band
adjective: quiet, noisy, wooden, broken, famous, small, narrow, green, modern, costly, heavy, forgotten
month: January, March, April, May, June, July, September, October, November
day: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday
"""
PRODUCTS = {
    "garden": ["bench", "fountain", "lantern", "hammock", "parasol"],
    "kitchen": ["kettle", "pan", "grater", "toaster", "apron"],
    "bedroom": ["lamp", "pillow", "wardrobe", "blanket", "mirror"],
    "office": ["desk", "stapler", "chair", "notebook", "clock"],
    "bathroom": ["towel", "basket", "shelf", "curtain", "scale"],
}
PARTS = {
    name: words.split(", ")
    for name, words in (line.split(": ") for line in WORDS.strip().split("\n"))
}


class Maker:
    """Draws texts and tables; `Random.random` gives the same numbers in all versions of Python."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def below(self, end: int) -> int:
        return int(self.random() * end)

    def one(self, values: Sequence[Value]) -> Value:
        return values[self.below(len(values))]

    def some(self, values: Sequence[Value], count: int) -> list[Value]:
        return sorted(values, key=lambda _: self.random())[:count]

    def town(self) -> str:
        return self.word("place") + self.word("end")

    def address(self) -> str:
        return f"{self.word('street')} Street {1 + self.below(90)}"

    def date(self) -> str:
        return (
            f"{1940 + self.below(80)}-{1 + self.below(12):02}-{1 + self.below(28):02}"
        )

    def sentence(self, form: str) -> str:
        """Return a sentence with each gap filled on its own, and a capital at its beginning."""
        words = []
        for part in form.split("{"):
            gap, closed, text = part.partition("}")
            words.append(self.word(gap) + text if closed else part)
        sentence = "".join(words)
        return sentence[0].upper() + sentence[1:]

    def word(self, gap: str) -> str:
        if gap in PARTS:
            return self.one(PARTS[gap])
        return self.town() if gap == "town" else str(2 + self.below(97))

    def article(self, sentences: int) -> list[str]:
        return [
            self.sentence(form)
            for form in self.some(SENTENCES.strip().split("\n"), sentences)
        ]

    def edited(self, article: list[str]) -> list[str]:
        """Return an article as another paper prints it."""
        way = self.below(6)
        changed = list(article)
        place = self.below(len(changed))
        if way == 0:
            changed.insert(0, f"{self.town().upper()} -")
        elif way == 1:
            changed.pop(place)
        elif way == 2:
            changed[place] = self.article(1)[0]
        elif way == 3:
            changed = [*changed[place:], *changed[:place]]
        elif way == 4:
            words = changed[place].split()
            words[self.below(len(words))] = self.word("adjective")
            changed[place] = " ".join(words)
        else:
            changed = [*changed[:-2], "Read more on our page."]
        return self.edited(changed) if self.random() < 0.35 else changed


def news(make: Maker, folder: Path) -> None:
    """Write 400 texts of four papers that copy from each other, and 40 questions; 8 quote them."""
    papers: dict[str, list[list[str]]] = {
        "courier": [],
        "gazette": [],
        "herald": [],
        "mercury": [],
    }
    names = list(papers)
    originals: list[list[str]] = []
    while sum(map(len, papers.values())) < 400:
        if originals and make.random() < 0.35:
            article = make.one(originals[-60:])
            article = article if make.random() < 0.25 else make.edited(article)
            papers[names[1 + make.below(3)]].append(article)
        else:
            originals.append(make.article(7 + make.below(4)))
            papers[make.one(names)].append(originals[-1])
    for name, articles in papers.items():
        rows = [
            {"id": f"{name}-{number:03}", "text": " ".join(text)}
            for number, text in enumerate(articles, 1)
        ]
        lines(folder / f"{name}.jsonl", rows)
    questions = []
    for number in range(40):
        quoted = make.one(originals)[2:4] if number % 5 == 0 else make.article(2)
        questions.append(
            {
                "id": f"q{number:02}",
                "question": f"Which town is meant? {' '.join(quoted)}",
            }
        )
    (folder / "benchmark").mkdir()
    lines(folder / "benchmark" / "questions.jsonl", questions)


def customers(make: Maker, folder: Path) -> None:
    """Write two tables of shops, most of which are in both, and the numbers of those that are."""
    our_rows = []
    their_rows = []
    truth = []
    for number in range(180):
        shop = {
            "number": f"s{number:03}",
            "name": f"{make.town()} {make.word('shop')}",
            "opened": make.date(),
        }
        our_rows.append(shop | {"street": make.address(), "town": make.town()})
    for number, shop in enumerate(make.some(our_rows[:150], 120)):
        changed = {**shop, "number": f"d{number:03}"}
        for name in make.some(["name", "opened", "street", "town"], make.below(3)):
            changed[name] = misspelt(make, changed[name]) if make.random() < 0.6 else ""
        if make.random() < 0.15:
            changed |= {"street": make.address(), "town": make.town()}
        their_rows.append(changed)
        truth.append({"ours": shop["number"], "theirs": changed["number"]})
    table(folder / "ours.csv", our_rows)
    table(folder / "theirs.csv", their_rows)
    table(folder / "truth.csv", truth)


def misspelt(make: Maker, value: str) -> str:
    """Return a value with two neighbouring characters exchanged, or one of them left out."""
    place = 1 + make.below(len(value) - 2)
    return (
        value[:place]
        + (value[place + 1] + value[place] if make.random() < 0.5 else "")
        + value[place + 2 :]
    )


def essays(make: Maker, folder: Path) -> None:
    """Write an article, one that borrows from it, and others that quote both."""
    source = make.article(14)
    borrowed = [
        *make.article(3),
        *source[2:5],
        *make.article(3),
        *source[8:12],
        *make.article(2),
    ]
    quoting = [*make.article(6), borrowed[4], source[9], *make.article(4)]
    essay_texts = {"source": source, "borrowed": borrowed, "quoting": quoting}
    essay_texts |= {f"other-{number}": make.article(10) for number in range(1, 6)}
    essay_texts["other-3"][4:4] = source[5:7]
    lines(
        folder / "essays.jsonl",
        [{"id": name, "text": " ".join(text)} for name, text in essay_texts.items()],
    )


def photos(make: Maker, folder: Path) -> None:
    """Write twelve pictures of hills, suns and houses, and copies of most of them."""
    for number in range(12):
        image = picture(make)
        image.save(folder / f"{number:02}.png")
        half = image.resize((image.width // 2, image.height // 2))
        # By 90 degrees; left to right.
        copies = {
            "half": half,
            "turned": half.transpose(2),
            "mirrored": half.transpose(0),
        }
        for name in make.some(list(copies), make.below(3)):
            copies[name].save(folder / f"{number:02}-{name}.png")
        if make.random() < 0.5:
            half.save(folder / f"{number:02}-strong.jpg", quality=30)


def picture(make: Maker) -> Any:
    """Return a picture of 480 x 320 pixels."""
    image_module = optional("PIL.Image", "images")
    draw_module = optional("PIL.ImageDraw", "images")

    def colour(low: int, high: int) -> tuple[int, ...]:
        return tuple(low + make.below(high - low) for _ in range(3))

    image = image_module.new("RGB", (480, 320), colour(150, 255))
    draw = draw_module.Draw(image)
    x = make.below(400)
    y = make.below(80)
    size = 30 + make.below(50)
    draw.ellipse((x, y, x + size, y + size), (255, 220, 60 + make.below(120)))
    for base in range(140, 320, 45):
        ridge = [(x, base + make.below(70) - 35) for x in range(0, 481, 60)]
        draw.polygon([(0, 320), *ridge, (480, 320)], colour(20, 180))
    for _ in range(2 + make.below(5)):
        x = make.below(420)
        y = 200 + make.below(70)
        width = 25 + make.below(60)
        height = 20 + make.below(50)
        draw.rectangle((x, y, x + width, y + height), colour(60, 255))
        draw.polygon(
            [(x - 6, y), (x + width // 2, y - height // 2), (x + width + 6, y)],
            colour(90, 200),
        )
    return image


def products(make: Maker, folder: Path) -> None:
    """Write 2,000 products with vectors of 64 numbers, near for similar titles, and 5 new ones."""
    rows: list[dict[str, Any]] = []
    for number in range(2005):
        # Now and then, another seller has the same product.
        if rows and number < 2000 and make.random() < 0.1:
            title = make.one(rows)["title"]
        else:
            kind = make.one(list(PRODUCTS))
            title = f"{make.word('adjective')} {make.one(PRODUCTS[kind])} for the {kind}, {make.town()}"
            title = title[0].upper() + title[1:]
        vector = embedding(make, title)
        rows.append({"id": f"p{number:04}", "title": title, "embedding": vector})
    lines(folder / "products.jsonl", rows[:2000])
    lines(folder / "new.jsonl", rows[2000:])


def embedding(make: Maker, title: str) -> list[float]:
    """Return a unit vector: the sum of a vector for each word, from its hash, and some noise."""
    words = [
        blake2b(word.encode(), digest_size=8).digest()
        for word in title.replace(",", "").lower().split()
    ]
    signs = [int.from_bytes(word, "little") for word in words]
    weights = [1, 2, 0, 0, 2, 1]  # adjective, thing, "for", "the", room, town
    sums = [
        sum(
            weight * (1 - 2 * (word >> bit & 1))
            for weight, word in zip(weights, signs, strict=True)
        )
        + 0.2 * (make.random() - 0.5)
        for bit in range(64)
    ]
    length = sum(value * value for value in sums) ** 0.5
    return [round(value / length, 4) for value in sums]


def genomes(make: Maker, folder: Path) -> None:
    """Write four genomes of 100,000 letters of each of three species, and a piece with errors."""
    for name in ("alder", "birch", "cedar"):
        base = [make.one("ACGT") for _ in range(100_000)]
        for number in range(1, 5):
            genome = mutated(make, base, 0.004 * number)
            fasta(folder / f"{name}-{number}.fa", f"{name}-{number}", genome)
    (folder / "unknown").mkdir()
    fasta(
        folder / "unknown" / "piece.fa",
        "piece",
        mutated(make, genome[30_000:55_000], 0.01),
    )


def mutated(make: Maker, genome: list[str], rate: float) -> list[str]:
    """Return a genome with a share of its letters drawn again; a quarter of them do not change."""
    changed = list(genome)
    for _ in range(int(rate * len(genome))):
        changed[make.below(len(genome))] = make.one("ACGT")
    return changed


def fasta(path: Path, name: str, letters: list[str]) -> None:
    sequence = "".join(letters)
    rows = [sequence[at : at + 80] for at in range(0, len(sequence), 80)]
    path.write_text(
        f">{name}\n" + "".join(f"{row}\n" for row in rows),
        encoding="utf-8",
        newline="\n",
    )


def lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="\n"
    )


def table(path: Path, rows: Sequence[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


class DataSet(NamedTuple):
    """A data set: its function, its seed, its contents, and a command to begin with."""

    write: Callable[[Maker, Path], None]
    seed: int
    holds: str
    command: str


DATA_SETS: dict[DemoData, DataSet] = {
    "news": DataSet(
        news,
        0,
        "400 articles of four papers, which copy from each other, and the questions of a benchmark",
        "lshfast dedup news/*.jsonl --threshold 0.6 --id-column id -o kept.jsonl --html "
        "report.html",
    ),
    "customers": DataSet(
        customers,
        1,
        "two tables of customers, with the links to be found in truth.csv",
        "lshfast records match customers/ours.csv customers/theirs.csv -o links.csv --html "
        "links.html"
        " --id-column number",
    ),
    "products": DataSet(
        products,
        5,
        "2,000 products with vectors, and 5 new ones",
        "lshfast index build products/products.jsonl --column embedding --id-column id "
        "--threshold 0.8 -o products.lsh",
    ),
    "genomes": DataSet(
        genomes,
        6,
        "12 genomes of three species, and a piece of one",
        "lshfast genomes genomes/*.fa --scaled 100 -o pairs.csv --html genomes.html",
    ),
    "photos": DataSet(
        photos,
        4,
        "12 pictures, with smaller, turned and mirrored copies",
        "lshfast images photos --orientations -o copies.csv --html gallery.html",
    ),
    "essays": DataSet(
        essays,
        2,
        "8 essays, of which some have sentences of others",
        "lshfast passages essays/essays.jsonl --min-words 12 --id-column id -o passages.csv "
        "--html passages.html",
    ),
}


def write_data(name: DemoData, target: Path) -> str:
    """Write a data set into a new folder, complete or not at all, and describe it.

    Parameters
    ----------
    name : str
        One of `DATA_SETS`.
    target : path
        The folder.

    Returns
    -------
    str
        Lines: the files, what they hold, and a command to begin with.

    Raises
    ------
    ValueError
        If the folder exists.
    """
    if target.exists():
        raise ValueError(
            f"the folder {target} exists: remove it, or run this in another folder"
        )
    data = DATA_SETS[name]
    with TemporaryFolder(str(target.parent), f".{target.name}-") as hidden:
        folder = Path(hidden, target.name)
        folder.mkdir()
        data.write(Maker(data.seed), folder)
        os.rename(folder, target)
    files = sorted(path for path in target.rglob("*") if path.is_file())
    shown = [path.as_posix() for path in files[:5]]
    if len(files) > 5:
        shown.append(f"and {len(files) - 5} more")
    size = sum(path.stat().st_size for path in files)
    return "\n".join(
        [f"{data.holds}: {size / 1000:,.0f} kB", *shown, "", "Now try:", data.command]
    )

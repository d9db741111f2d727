"""Make the sample pages of the documentation: `python docs/samples/make.py [FOLDER]`, by default beside this file.

The data are generated from a fixed seed. They name no people, and their places are put together from parts of words.
Only the seconds of the stages and the version differ between two runs. The page of images needs the extra `images`, and
is left out without it; its pictures depend on the version of Pillow.
"""

import csv
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

EPOCH = "1767225600"  # the date on the pages: 1 January 2026

COMMANDS = {
    "dedup": "dedup news/*.jsonl --threshold 0.6 --id-column id -o kept.jsonl --removed removed.csv",
    "pairs": "pairs news/*.jsonl --threshold 0.5 --most 0.8 --id-column id -o pairs.csv",
    "check": "check news/*.jsonl --threshold 0.6 --recall 0.8 --sample 150 --examples --id-column id",
    "records": "records match shops.csv directory.csv --id-column number -o links.csv --review review.csv",
    "passages": "passages essays.jsonl --min-words 12 --id-column id -o passages.csv",
    "mirrors": "web mirrors urls.txt -o mirrors.csv",
    "images": "images photos --orientations -o copies.csv",
}

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
PARTS = {name: words.split(", ") for name, words in (line.split(": ") for line in WORDS.strip().split("\n"))}


class Maker:
    """Draws texts and tables; `Random.random` gives the same numbers in all versions of Python."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def below(self, end: int) -> int:
        return int(self.random() * end)

    def one(self, values):
        return values[self.below(len(values))]

    def some(self, values, count: int) -> list:
        return sorted(values, key=lambda _: self.random())[:count]

    def town(self) -> str:
        return self.word("place") + self.word("end")

    def address(self) -> str:
        return f"{self.word('street')} Street {1 + self.below(90)}"

    def date(self) -> str:
        return f"{1940 + self.below(80)}-{1 + self.below(12):02}-{1 + self.below(28):02}"

    def sentence(self, form: str) -> str:
        """Return a sentence with each gap filled on its own, and a capital at its beginning."""
        made = []
        for part in form.split("{"):
            gap, closed, rest = part.partition("}")
            made.append(self.word(gap) + rest if closed else part)
        sentence = "".join(made)
        return sentence[0].upper() + sentence[1:]

    def word(self, gap: str) -> str:
        if gap in PARTS:
            return self.one(PARTS[gap])
        return {"town": self.town, "number": lambda: str(2 + self.below(97))}[gap]()

    def article(self, sentences: int) -> list[str]:
        return [self.sentence(form) for form in self.some(SENTENCES.strip().split("\n"), sentences)]

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
    """Write 400 texts of four papers, which print what others wrote."""
    (folder / "news").mkdir()
    papers: dict[str, list[list[str]]] = {"courier": [], "gazette": [], "herald": [], "mercury": []}
    names = list(papers)
    written: list[list[str]] = []
    while sum(map(len, papers.values())) < 400:
        if written and make.random() < 0.35:
            article = make.one(written[-60:])
            article = article if make.random() < 0.25 else make.edited(article)
            papers[names[1 + make.below(3)]].append(article)
        else:
            written.append(make.article(7 + make.below(4)))
            papers[make.one(names)].append(written[-1])
    for name, articles in papers.items():
        rows = [{"id": f"{name}-{number:03}", "text": " ".join(text)} for number, text in enumerate(articles, 1)]
        lines(folder / "news" / f"{name}.jsonl", rows)


def shops(make: Maker, folder: Path) -> None:
    """Write two tables of shops, most of which are in both."""
    own = []
    for number in range(180):
        shop = {"number": f"s{number:03}", "name": f"{make.town()} {make.word('shop')}", "opened": make.date()}
        own.append(shop | {"street": make.address(), "town": make.town()})
    others = []
    for number, shop in enumerate(make.some(own[:150], 120)):
        changed = {**shop, "number": f"d{number:03}"}
        for name in make.some(["name", "opened", "street", "town"], make.below(3)):
            changed[name] = misspelt(make, changed[name]) if make.random() < 0.6 else ""
        if make.random() < 0.15:
            changed |= {"street": make.address(), "town": make.town()}
        others.append(changed)
    table(folder / "shops.csv", own)
    table(folder / "directory.csv", others)


def misspelt(make: Maker, value: str) -> str:
    """Return a value with two neighbouring characters exchanged, or one of them left out."""
    place = 1 + make.below(len(value) - 2)
    return value[:place] + (value[place + 1] + value[place] if make.random() < 0.5 else "") + value[place + 2 :]


def essays(make: Maker, folder: Path) -> None:
    """Write an article, one that borrows from it, and others that quote both."""
    source = make.article(14)
    borrowed = [*make.article(3), *source[2:5], *make.article(3), *source[8:12], *make.article(2)]
    quoting = [*make.article(6), borrowed[4], source[9], *make.article(4)]
    essays = {"source": source, "borrowed": borrowed, "quoting": quoting}
    essays |= {f"other-{number}": make.article(10) for number in range(1, 6)}
    essays["other-3"][4:4] = source[5:7]
    lines(folder / "essays.jsonl", [{"id": name, "text": " ".join(text)} for name, text in essays.items()])


def urls(make: Maker, folder: Path) -> None:
    """Write the URLs of some hosts, and of hosts that have the same paths."""
    found = []
    for host in range(12):
        name = f"{make.town().lower()}.example"
        count = 12 + make.below(30)
        paths = [f"/{make.word('street')}/{make.town()}-{number}.html".lower() for number in range(count)]
        found += [f"http://{name}{path}" for path in paths]
        for mirror in ("mirror", "old")[: make.below(3) if host else 2]:
            kept = [path for path in paths if make.random() < (0.95 if mirror == "mirror" else 0.75)]
            found += [f"http://{mirror}.{name}{path}" for path in kept]
    (folder / "urls.txt").write_text("".join(f"{url}\n" for url in found), encoding="utf-8")


def photos(make: Maker, folder: Path) -> None:
    """Write twelve pictures of hills, suns and houses, and copies of most of them."""
    (folder / "photos").mkdir()
    if not has_pillow():
        return
    for number in range(12):
        image = picture(make)
        image.save(folder / "photos" / f"{number:02}.png")
        half = image.resize((image.width // 2, image.height // 2))
        copies = {
            "half": half,
            "turned": half.transpose(2),
            "mirrored": half.transpose(0),
        }  # by 90 degrees; left to right
        for name in make.some(list(copies), make.below(3)):
            copies[name].save(folder / "photos" / f"{number:02}-{name}.png")
        if make.random() < 0.5:
            half.save(folder / "photos" / f"{number:02}-strong.jpg", quality=30)


def picture(make: Maker):
    """Return a picture of 480 x 320 pixels."""
    from PIL import Image, ImageDraw

    def colour(low: int, high: int) -> tuple[int, ...]:
        return tuple(low + make.below(high - low) for _ in range(3))

    image = Image.new("RGB", (480, 320), colour(150, 255))
    draw = ImageDraw.Draw(image)
    x, y, size = make.below(400), make.below(80), 30 + make.below(50)
    draw.ellipse((x, y, x + size, y + size), (255, 220, 60 + make.below(120)))
    for base in range(140, 320, 45):
        ridge = [(x, base + make.below(70) - 35) for x in range(0, 481, 60)]
        draw.polygon([(0, 320), *ridge, (480, 320)], colour(20, 180))
    for _ in range(2 + make.below(5)):
        x, y, width, height = make.below(420), 200 + make.below(70), 25 + make.below(60), 20 + make.below(50)
        draw.rectangle((x, y, x + width, y + height), colour(60, 255))
        draw.polygon([(x - 6, y), (x + width // 2, y - height // 2), (x + width + 6, y)], colour(90, 200))
    return image


def has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None


def lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def table(path: Path, rows: list[dict]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def pages(target: Path) -> None:
    """Write the pages into a folder. They are made in a folder of their own, so that all paths on them are relative."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, write in enumerate((news, shops, essays, urls, photos)):
            write(Maker(number), folder)
        for page, command in COMMANDS.items():
            if page == "images" and not has_pillow():
                continue
            done = [sys.executable, "-m", "lshfast", *command.split(), "--html", f"{page}.html", "--quiet"]
            subprocess.run(done, cwd=folder, env=environment, check=True)
            (target / f"{page}.html").write_bytes((folder / f"{page}.html").read_bytes())


if __name__ == "__main__":
    pages(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent))

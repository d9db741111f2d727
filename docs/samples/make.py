"""Make the sample pages of the documentation: `python docs/samples/make.py [FOLDER]`, by default beside this file.

The data are those of `lshfast demo DATA`, and URLs that are made here; they name no people.
Only the seconds of the stages and the version differ between two runs. The page of images needs the extra `images`, and
is left out without it; its pictures depend on the version of Pillow.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lshfast._cli.demo_data import Maker, write_data

EPOCH = "1767225600"  # the date on the pages: 1 January 2026

COMMANDS = {
    "dedup": "dedup news/*.jsonl --threshold 0.6 --id-column id -o kept.jsonl --removed removed.csv",
    "pairs": "pairs news/*.jsonl --threshold 0.5 --most 0.8 --id-column id -o pairs.csv",
    "check": "check news/*.jsonl --threshold 0.6 --recall 0.8 --sample 150 --examples --id-column id",
    "records": "records match customers/ours.csv customers/theirs.csv --id-column number"
    " -o links.csv --review review.csv",
    "passages": "passages essays/essays.jsonl --min-words 12 --id-column id -o passages.csv",
    "mirrors": "web mirrors urls.txt -o mirrors.csv",
    "genomes": "genomes genomes --glob *.fa --scaled 100 -o similar.csv",
    "images": "images photos --orientations -o copies.csv",
}

PILLOW = importlib.util.find_spec("PIL") is not None


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


def pages(target: Path) -> None:
    """Write the pages into a folder. They are made in a folder of their own, so that all paths on them are relative."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for data in ("news", "customers", "essays", "genomes", *["photos"] * PILLOW):
            write_data(data, folder / data)
        urls(Maker(3), folder)
        for page, command in COMMANDS.items():
            if page == "images" and not PILLOW:
                continue
            done = [sys.executable, "-m", "lshfast", *command.split(), "--html", f"{page}.html", "--quiet"]
            subprocess.run(done, cwd=folder, env=environment, check=True)
            (target / f"{page}.html").write_bytes((folder / f"{page}.html").read_bytes())


if __name__ == "__main__":
    pages(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent))

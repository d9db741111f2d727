"""The commands in the pages for users of other libraries run, and write what they name."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import write_jsonl

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming-from").glob("*.md"))
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
]

CUSTOMERS = "id,name,phone\n1,William Jones,555-0123\n2,Ann Lee,555-0199\n3,Eve Stone,555-0100\n"
CLIENTS = "id,name,phone\n7,Anne Lee,555 0199\n8,Bill Jones,555 0123\n"


def texts(count):
    rng = random.Random(1)
    rows = [" ".join(f"w{rng.randrange(500)}" for _ in range(60)) for _ in range(count)]
    return rows + [row + " more" for row in rows[:5]]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the inputs that the pages name."""
    rows = [{"text": text} for text in texts(60)]
    write_jsonl(tmp_path / "crawl.jsonl", rows)
    write_jsonl(tmp_path / "benchmark.jsonl", [{"text": rows[3]["text"]}])
    (tmp_path / "crawl").mkdir()
    for number in range(2):
        write_jsonl(tmp_path / "crawl" / f"{number}.jsonl", rows[number::2])
    (tmp_path / "customers.csv").write_text(CUSTOMERS)
    (tmp_path / "clients.csv").write_text(CLIENTS)
    (tmp_path / "genomes").mkdir()
    first = "".join(random.Random(1).choices("ACGT", k=20_000))
    changed = "".join(random.Random(at).choice("ACGT") if at % 90 == 0 else c for at, c in enumerate(first))
    for path, sequence in (("genomes/a.fa", first), ("genomes/b.fa", changed), ("new.fa", first)):
        (tmp_path / path).write_text(f">x\n{sequence}\n")
    return tmp_path


@pytest.mark.skipif(os.name != "posix", reason="the pages are for a shell of POSIX")
@pytest.mark.one_case
@pytest.mark.parametrize("block", BLOCKS)
def test_the_commands_run(folder, block):
    if "lshfast images" in block:
        image = pytest.importorskip("PIL.Image")
        pytest.importorskip("imagehash")
        (folder / "photos").mkdir()
        picture = image.effect_mandelbrot((300, 250), (-1.5, -0.3, -0.9, 0.2), 40)
        picture.save(folder / "photos" / "a.png")
        picture.resize((150, 125)).save(folder / "photos" / "b.png")
    script = f'lshfast() {{ "{sys.executable}" -m lshfast "$@"; }}\n{block}'
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["sh", "-ec", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in re.findall(
        r"(?:-o|--output|--removed|--plot|--html|--passages|--report|--groups|--review) (\S+)", block
    ):
        assert (folder / name).exists(), name


def test_each_library_has_a_page():
    index = next(page for page in PAGES if page.stem == "index").read_text("utf-8")
    for page in PAGES:
        assert page.stem == "index" or f"]({page.stem}.md)" in index
        assert page.stem in ("index", "datasketch") or "\n## Figures\n" in page.read_text("utf-8")

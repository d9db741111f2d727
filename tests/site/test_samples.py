"""The sample pages of the documentation are those that their script makes."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import lshfast
from tests.io.pages.pages import read_page
from tests.made_once import made_once

SAMPLES = Path(__file__).parents[2] / "docs" / "samples"
PAGES = {
    "dedup",
    "pairs",
    "check",
    "records",
    "passages",
    "mirrors",
    "genomes",
    "images",
}

SECONDS = re.compile(r'(?<=<td class="number">)[\d,]+\.\d\d(?=</td><td></td></tr>)')
VERSION = re.compile(r"(?<=lshfast )\d[\w.+]*")
PICTURE = re.compile(r"data:image/\w+;base64,[\w+/=]*")
DECIMAL = re.compile(r"\d+\.\d+")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_once(tmp_path_factory, "samples", make_samples)


def make_samples(folder):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(lshfast.__file__).parent.parent),
    }
    subprocess.run(
        [sys.executable, SAMPLES / "make.py", folder], env=environment, check=True
    )


@pytest.mark.slow
def test_the_samples_are_all_pages(made):
    assert {path.stem for path in SAMPLES.glob("*.html")} == PAGES
    assert {path.stem for path in made.iterdir()} == (
        PAGES if find_spec("PIL") else PAGES - {"images"}
    )


@pytest.mark.slow
def test_the_sample_of_images_is_made_again(made):
    """All but the pictures, and the numbers that depend on them."""
    pytest.importorskip("PIL")
    committed, again = (
        re.sub(
            r"\d+",
            "",
            PICTURE.sub("", (folder / "images.html").read_text(encoding="utf-8")),
        )
        for folder in (SAMPLES, made)
    )
    assert again == committed, "run docs/samples/make.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PAGES - {"images"}))
def test_a_sample_is_made_again(made, name):
    """Texts are equal, and decimals within the last digits, in which versions of numpy may differ."""
    committed, again = (
        SECONDS.sub(
            "", VERSION.sub("", (folder / f"{name}.html").read_text(encoding="utf-8"))
        )
        for folder in (SAMPLES, made)
    )
    assert DECIMAL.split(again) == DECIMAL.split(committed), "run docs/samples/make.py"
    numbers = [list(map(float, DECIMAL.findall(page))) for page in (again, committed)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.01, abs=0.02)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_sample_is_small_and_names_no_folder(name):
    path = SAMPLES / f"{name}.html"
    assert path.stat().st_size < 300_000
    text = read_page(path, pictures=name == "images")
    assert "2026-01-01 00:00 UTC" in text
    assert not re.search(r"(^|\s)(/(tmp|home|root|var)/|[A-Z]:\\)", text)

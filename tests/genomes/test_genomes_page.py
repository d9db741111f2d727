"""The page of genomes: pairs and groups, hostile names, each kind of threshold, and outputs all or none."""

import random
import re

import pytest

from tests.cli.commands import failing, run
from tests.io.pages.pages import HOSTILE, read_page


@pytest.fixture
def files(tmp_path):
    """Write a file of six records: four of one genome with different errors, and two of another."""
    rng = random.Random(1)
    names = [
        f"{kind}-{at}"
        for kind, count in (("alder", 4), ("birch", 2))
        for at in range(count)
    ]
    bases = {kind: rng.choices("ACGT", k=20_000) for kind in ("alder", "birch")}
    with open(tmp_path / "in.fa", "w") as file:
        for at, name in enumerate(names):
            letters = (
                rng.choice("ACGT") if rng.random() < at / 1000 else c
                for c in bases[name[:5]]
            )
            file.write(f">{name}\n{''.join(letters)}\n")
    return tmp_path


def page_of(files, *options):
    written = ["-o", files / "pairs.csv", "--html", files / "out.html", "--overwrite"]
    assert (
        run(
            "genomes", files / "in.fa", "--records", "--scaled", 50, *written, *options
        ).exit_code
        == 0
    )
    return read_page(files / "out.html")


def test_pairs_and_groups(files):
    text = page_of(files, "--ani", 0.9)
    for shown in (
        "genomes 6",
        "pairs 7",
        "groups 2",
        "in no pair 0",
        "alder-0, alder-1, alder-2, alder-3",
        "to 1",
        "ANI",
    ):
        assert shown in text
    pairs = (files / "pairs.csv").read_text().splitlines()[1:]
    values = sorted((float(row.split(",")[7]) for row in pairs), reverse=True)
    assert [text.find(f"{value:.4f}") > 0 for value in values] == [True] * 7
    page = (files / "out.html").read_text()
    # The picture: a genome, and a pair twice.
    assert page.count('class="kept" fill-opacity') == 6 + 2 * 7


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", [["--jaccard", 0.1], ["--containment", 0.1], ["--ani", 0], ["--ani", 1]]
)
def test_thresholds(files, options):
    assert options[0].strip("-").lower() in page_of(files, *options).lower()


def test_the_smallest_hashes_have_no_interval(files):
    written = ["-o", files / "pairs.csv", "--html", files / "out.html"]
    assert (
        run(
            "genomes", files / "in.fa", "--records", "--bottom", 200, *written
        ).exit_code
        == 0
    )
    text = read_page(files / "out.html")
    assert "ANI (Mash)" in text
    assert "95 %" not in text
    assert "nan" not in text


def test_labels_of_pictures_keep_what_distinguishes_names(tmp_path):
    letters = random.Random(1).choices("ACGT", k=20_000)
    for number in range(3):
        folder = tmp_path / "data" / f"GCF_00000000{number}.1"
        folder.mkdir(parents=True)
        path = folder / f"GCF_00000000{number}.1_ASM{number}v1_genomic.fna"
        path.write_text(f">NZ_{number}\n{''.join(letters)}\n")
    page = tmp_path / "out.html"
    inputs = [tmp_path / "data", "--glob", "**/*.fna", "--scaled", 50]
    assert (
        run("genomes", *inputs, "-o", tmp_path / "p.csv", "--html", page).exit_code == 0
    )
    labels = re.findall(r"<text [^>]*class=\"name\"[^>]*>([^<]*)", page.read_text())
    assert labels[-3:] == [f"00000000{number}.1_ASM{number}v1" for number in range(3)]


def test_against_others_there_are_no_groups(files):
    text = page_of(files, "--against", files / "in.fa")
    assert "compared with 6" in text
    assert "groups" not in text


def test_no_pairs(files):
    text = page_of(files, "--jaccard", 1)
    assert "No two genomes are similar" in text
    assert "in no pair 6" in text


@pytest.mark.slow
def test_more_than_is_shown_and_hostile_names(tmp_path):
    names = [
        text.replace("\n", "").replace("\r", "").replace("\ud800", "")
        for text in HOSTILE
    ]
    names += [f"g{number}" for number in range(30)]
    sequence = "".join(random.Random(1).choices("ACGT", k=2000))
    records = "".join(
        f">{name.replace(' ', '_') or 'x'}\n{sequence}\n" for name in names
    )
    (tmp_path / "in.fa").write_text(records, encoding="utf-8")
    written = ["-o", tmp_path / "pairs.csv", "--html", tmp_path / "out.html"]
    assert (
        run(
            "genomes", tmp_path / "in.fa", "--records", "--scaled", 10, *written
        ).exit_code
        == 0
    )
    text = read_page(tmp_path / "out.html")
    assert "more are not shown" in text
    assert f"and {len(names) - 12} more" in text


def test_a_page_is_written_with_the_table_or_not_at_all(files):
    (files / "out.html").write_text("other")
    written = ["-o", files / "pairs.csv", "--html", files / "out.html"]
    assert "exists already" in failing(2, "genomes", files / "in.fa", *written)
    assert not (files / "pairs.csv").exists()
    same = [
        "-o",
        files / "pairs.csv",
        "--html",
        files / "s.sig",
        "--save-sketches",
        files / "s.sig",
    ]
    assert "must be named .html" in failing(2, "genomes", files / "in.fa", *same)

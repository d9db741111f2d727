"""lshfast genomes: what it writes, says and refuses."""

import csv
import gzip
import json
import random

import pytest

from lshfast import genomes
from tests.cli.commands import failing, read_jsonl, run

COLUMNS = ["a", "b", "shared", "jaccard", "containment", "containment_a", "containment_b", "ani", "ani_low", "ani_high",
           "mash_ani"]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    """Write three genomes: the second is like the first, the third contains most of the second's first half."""
    rng = random.Random(2)
    base = "".join(rng.choices("ACGT", k=20_000))

    def mutated(text, rate):
        return "".join(rng.choice("ACGT") if rng.random() < rate else c for c in text)

    (tmp_path / "a.fa").write_text(f">a1 first\n{base[:9000]}\n>a2\n{base[9000:]}\n")
    (tmp_path / "b.fa.gz").write_bytes(
        gzip.compress(f">b\n{mutated(base, 0.02)}\n".encode())
    )
    half = mutated(base[:10_000], 0.005)
    (tmp_path / "c.fq").write_text(f"@c\n{half}\n+\n{'I' * len(half)}\n")
    return [tmp_path / name for name in ("a.fa", "b.fa.gz", "c.fq")]


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_pairs_of_files(files, tmp_path):
    out = tmp_path / "pairs.csv"
    result = run("genomes", *files, "-o", out, "--scaled", 50, "-k", 21)
    rows = rows_of(out)
    assert list(rows[0]) == COLUMNS
    assert [(row["a"], row["b"]) for row in rows] == [
        (str(files[i]), str(files[j])) for i, j in [(0, 1), (0, 2), (1, 2)]
    ]
    assert (
        float(rows[1]["containment_a"])
        < 0.6
        < float(rows[1]["containment_b"])
        == float(rows[1]["containment"])
    )
    assert 0.994 < float(rows[1]["ani"]) < 0.998
    assert "3 sketched + 0 rejected" in result.stderr
    assert "one in 50, of k-mers of 21 letters" in result.stderr
    found = genomes.pairs(genomes.sketch_files(files, k=21, scaled=50))
    assert [float(row["ani"]) for row in rows] == found["ani"].tolist()


def test_records_and_thresholds(files, tmp_path):
    out = tmp_path / "pairs.jsonl"
    run("genomes", *files, "-o", out, "--scaled", 20, "--records", "--containment", 0.5)
    assert [(row["a"], row["b"]) for row in read_jsonl(out)] == [
        ("a1", "b"),
        ("a1", "c"),
        ("a2", "b"),
        ("b", "c"),
    ]
    run("genomes", *files, "-o", out, "--scaled", 20, "--jaccard", 0.99, "--overwrite")
    assert out.read_text() == ""


def test_the_smallest_hashes(files, tmp_path):
    out = tmp_path / "pairs.csv"
    result = run("genomes", *files, "-o", out, "--bottom", 200, "-k", 21, "--ani", 0)
    assert list(rows_of(out)[0]) == ["a", "b", "shared", "jaccard", "mash_ani"]
    assert "the 200 smallest, of k-mers of 21 letters" in result.stderr
    assert "mash_ani at least 0" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".sig", ".sig.gz"])
def test_sketches_are_saved_and_compared_with(files, tmp_path, suffix):
    out = tmp_path / "pairs.csv"
    saved = tmp_path / f"all{suffix}"
    again = tmp_path / "again.csv"
    options = "-k", 21, "--scaled", 50
    run("genomes", *files, "-o", out, "--save-sketches", saved, *options)
    run("genomes", saved, "-o", again, *options)
    assert again.read_bytes() == out.read_bytes()
    result = run(
        "genomes", files[2], "--against", saved, "-o", again, *options, "--overwrite"
    )
    assert [(row["a"], row["b"]) for row in rows_of(again)] == [
        (str(files[2]), str(other)) for other in files
    ]
    assert float(rows_of(again)[2]["ani"]) == 1
    assert "against" in result.stderr
    run(
        "genomes",
        files[2],
        "--against",
        files[0],
        "--against",
        files[1],
        "-o",
        again,
        *options,
        "--overwrite",
    )
    assert [(row["a"], row["b"]) for row in rows_of(again)] == [
        (str(files[2]), str(other)) for other in files[:2]
    ]


def test_bad_files_are_skipped(files, tmp_path):
    bad, out = tmp_path / "bad.fa", tmp_path / "pairs.csv"
    bad.write_text("no header\n")
    said = failing(1, "genomes", bad, *files, "-o", out)
    assert (
        said
        == f"lshfast: error: {bad}:1: neither FASTA nor FASTQ: the first line must begin with > or @"
    )
    assert not out.exists()
    result = run(
        "genomes", bad, *files, "-o", out, "--scaled", 50, "--on-error", "skip"
    )
    assert "3 sketched + 1 rejected" in result.stderr
    [rejects] = tmp_path.glob("*rejects*")
    assert [json.loads(line)["file"] for line in rejects.read_text().splitlines()] == [
        str(bad)
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("empty.fa", "", "an empty file; FASTA and FASTQ have at least one record"),
        ("cut.fq", "@x\nACGT\n", "FASTQ: the file ends in the sequence of this record"),
        (
            "a.faa",
            ">p\nMKVLEFPQILLLEPQMKVLEFPQILLLEPQ\n",
            "proteins (amino acids): only DNA can be compared",
        ),
    ],
)
def test_what_can_be_left_out_is_said(files, tmp_path, name, text, reason):
    bad, out = tmp_path / name, tmp_path / "pairs.csv"
    bad.write_text(text)
    said = failing(1, "genomes", bad, *files, "-o", out)
    assert reason in said
    assert said.endswith("; --on-error skip leaves it out")
    assert (
        run(
            "genomes", bad, *files, "-o", out, "--on-error", "skip", "--scaled", 50
        ).exit_code
        == 0
    )


@pytest.mark.slow
def test_few_hashes_give_no_ani(tmp_path):
    """One shared hash of one is no ANI of 1: such pairs are left out, or have no number with another threshold."""
    text = "".join(random.Random(2).choices("ACGT", k=20_000))
    whole = genomes.sketch([text], k=31).sets[0]
    starts = [
        at
        for at in range(0, len(text) - 31)
        if len(genomes.sketch([text[at : at + 31]], k=31).sets[0])
    ]
    short = [text[max(at - 20, 0) : at + 40] for at in starts[:2]]
    assert len(whole) > 8
    paths = [tmp_path / name for name in ("long.fa", "one.fa", "other.fa")]
    for path, sequence in zip(paths, [text, *short], strict=True):
        path.write_text(f">x\n{sequence}\n")
    out = tmp_path / "out.csv"
    said = " ".join(run("genomes", *paths, "-o", out).stderr.split())
    assert (
        "pairs 0 ani at least 0.95; 2 left out: fewer than 8 hashes of a sketch give no ANI; a smaller --scaled"
        in said
    )
    assert (
        "a lower --ani finds less similar ones, and a smaller --scaled samples more"
        in said
    )
    assert "--threshold" not in said
    assert "--radius" not in said
    run(
        "genomes",
        *paths,
        "-o",
        out,
        "--containment",
        0.5,
        "--html",
        tmp_path / "page.html",
        "--overwrite",
    )
    rows = rows_of(out)
    assert [
        (row["shared"], row["containment"], row["ani"], row["mash_ani"]) for row in rows
    ] == [("1", "1.0", "nan", "nan")] * 2
    assert all(float(row["ani_low"]) < 0.9 < float(row["ani_high"]) for row in rows)
    assert (
        "nan"
        not in (tmp_path / "page.html").read_text().partition("</style>")[2].lower()
    )
    run("genomes", *paths, "-o", tmp_path / "out.jsonl", "--containment", 0.5)
    assert [row["ani"] for row in read_jsonl(tmp_path / "out.jsonl")] == [None, None]


def test_advice_names_options_of_the_command(tmp_path):
    paths = [tmp_path / "a.fa", tmp_path / "b.fa"]
    for seed, path in enumerate(paths):
        path.write_text(
            ">x\n" + "".join(random.Random(seed).choices("ACGT", k=20_000)) + "\n"
        )
    for options, advice in (
        (
            ["--jaccard", 0.5],
            "a lower --jaccard finds less similar ones, and a smaller --scaled samples more",
        ),
        (
            ["--bottom", 100],
            "a lower --ani finds less similar ones, and a larger --bottom samples more",
        ),
    ):
        said = run(
            "genomes", *paths, "-o", tmp_path / "out.csv", "--overwrite", *options
        ).stderr
        assert f"there is no such pair; {advice}" in said


def test_empty_sketches_are_counted(tmp_path):
    path = tmp_path / "short.fa"
    path.write_text(">x\nACGT\n")
    assert (
        "1 without a hash, in no pair"
        in run("genomes", path, "-o", tmp_path / "out.csv").stderr
    )


@pytest.mark.parametrize(
    ("status", "options", "reason"),
    [
        (2, ["-k", 65], "k must be in 1..64, not 65"),
        (2, ["--scaled", 0], "scaled must be in 1..4294967296, not 0"),
        (2, ["--bottom", 0], "--bottom must be in 1..536870912, not 0"),
        (
            2,
            ["--bottom", 5, "--scaled", 10],
            "only one of --scaled and --bottom may be given",
        ),
        (2, ["--ani", 2], "ani must be in 0..1, not 2"),
        (
            2,
            ["--ani", 0.9, "--jaccard", 0.5],
            "only one of ani, jaccard and containment may be given",
        ),
        (2, ["--bottom", 5, "--containment", 0.5], "do not estimate a containment"),
        (
            2,
            ["--save-sketches", "x.json"],
            "x.json: sketches are written as .sig or .sig.gz",
        ),
        (2, ["--max-unpacked", "much"], "max_unpacked must be a number of bytes"),
        (2, ["--threads", 0], "threads must be at least 1"),
    ],
)
def test_errors(files, tmp_path, status, options, reason):
    assert reason in failing(
        status, "genomes", files[0], "-o", tmp_path / "out.csv", *options
    )
    assert not (tmp_path / "out.csv").exists()


def test_sketches_of_another_kind_than_was_wanted(files, tmp_path):
    saved = tmp_path / "a.sig"
    run("genomes", *files, "-o", tmp_path / "out.csv", "--save-sketches", saved)
    said = failing(2, "genomes", saved, "-o", tmp_path / "new.csv", "--bottom", 100)
    assert "a.sig: sketches with scaled=1000, not bottom=100" in said


def test_outputs_are_no_inputs(files, tmp_path):
    saved = tmp_path / "a.sig"
    run("genomes", files[0], "-o", tmp_path / "out.csv", "--save-sketches", saved)
    said = failing(
        2,
        "genomes",
        saved,
        "-o",
        tmp_path / "new.csv",
        "--save-sketches",
        saved,
        "--overwrite",
    )
    assert "the output is one of the inputs" in said
    assert "two outputs of one name" in failing(
        2,
        "genomes",
        files[0],
        "-o",
        tmp_path / "b.sig",
        "--output-format",
        "csv",
        "--save-sketches",
        tmp_path / "b.sig",
    )


def test_one_genome_says_how_its_records_are_compared(files, tmp_path):
    advice = "--records compares the records of a file"
    alone = run("genomes", files[0], "-o", tmp_path / "alone.csv", "--scaled", 50)
    assert advice in " ".join(alone.stderr.split())
    for number, options in enumerate((["--records"], ["--against", files[1]])):
        out = tmp_path / f"{number}.csv"
        several = run("genomes", files[0], "-o", out, "--scaled", 50, *options)
        assert advice not in " ".join(several.stderr.split())

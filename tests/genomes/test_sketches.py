"""Sketches of sequences and of files, against the reference and against sourmash and Mash."""

import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import subprocess
import sys
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import DataError, genomes
from tests.genomes.make_golden import GOLDEN, KS, MASH_KS, MASH_SIZE, SCALED, sequences
from tests.reference import kmers

GOLD = json.loads(GOLDEN.read_text())


def rows_of(sketches):
    return [sketches.sets[row].tolist() for row in range(len(sketches))]


def letters_of(size, seed=1):
    return "".join(random.Random(seed).choices("ACGT", k=size))


@pytest.mark.parametrize("k", KS)
def test_sketches_of_sourmash(k):
    found = genomes.sketch(
        sequences().values(), names=list(sequences()), k=k, scaled=SCALED
    )
    assert (
        dict(zip(found.names, rows_of(found), strict=True))
        == GOLD["sourmash"]["sketches"][str(k)]
    )


@pytest.mark.one_case
@pytest.mark.parametrize("k", KS)
def test_similarities_of_sourmash(k):
    """An interval of sourmash is a point for a containment of 1, where this one has the identities that allow it."""
    names = list(sequences())
    found = genomes.pairs(
        genomes.sketch(sequences().values(), k=k, scaled=SCALED), ani=0
    )
    expected = {(a, b): values for a, b, *values in GOLD["sourmash"]["pairs"][str(k)]}
    assert [(names[i], names[j]) for i, j in found[["i", "j"]].tolist()] == [
        pair for pair, values in expected.items() if values[0]
    ]
    for pair in found:
        shared, jaccard, contained_i, contained_j, ani, low, high = expected[
            names[pair["i"]], names[pair["j"]]
        ]
        assert pair["shared"] == shared
        assert (pair["jaccard"], pair["containment_i"], pair["containment_j"]) == (
            jaccard,
            contained_i,
            contained_j,
        )
        assert pair["containment"] == max(contained_i, contained_j)
        assert pair["ani"] == pytest.approx(ani, abs=1e-12)
        if pair["containment"] < 1:
            assert (pair["ani_low"], pair["ani_high"]) == (
                pytest.approx(low, abs=1e-9),
                pytest.approx(high, abs=1e-9),
            )
        else:
            assert 0.9 < pair["ani_low"] < 1 == pair["ani_high"] == high


@pytest.mark.parametrize("k", MASH_KS)
def test_distances_of_mash(k):
    names = list(sequences())
    found = genomes.pairs(
        genomes.sketch(sequences().values(), k=k, bottom=MASH_SIZE), ani=0
    )
    own = {frozenset((names[pair["i"]], names[pair["j"]])): pair for pair in found}
    expected = {
        frozenset((a, b)): values for a, b, *values in GOLD["mash"]["pairs"][str(k)]
    }
    assert own.keys() == {pair for pair, (_, shared, _) in expected.items() if shared}
    for name, pair in own.items():
        distance, shared, together = expected[name]
        assert (pair["shared"], pair["jaccard"]) == (shared, shared / together)
        # Mash prints six digits.
        assert 1 - pair["mash_ani"] == pytest.approx(distance, rel=1e-5)
        assert np.isnan(
            [pair["containment"], pair["ani"], pair["ani_low"], pair["ani_high"]]
        ).all()


texts = st.text(st.sampled_from("ACGTacgtN"), max_size=60)


@given(
    st.lists(st.lists(texts, max_size=3), max_size=5),
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(0, 6),
)
def test_sketches_of_sequences(items, k, scaled, bottom):
    found = genomes.sketch(items, k=k, scaled=scaled, bottom=bottom, threads=2)
    assert rows_of(found) == [kmers.sketch(item, k, scaled, bottom) for item in items]
    assert found.names == [str(row) for row in range(len(items))]


@pytest.mark.slow
def test_long_sequences_are_sketched_in_parts():
    """Repeated and large hashes are dropped on the way."""
    text = letters_of(200_000) * 12
    one = genomes.sketch([text[: 200_000 + 20]], k=21, scaled=1)
    for options in ({"scaled": 1}, {"scaled": 50}, {"bottom": 500}):
        found = genomes.sketch(
            [text, [text[:700_000], text[690_000:]]], k=21, **options
        )
        row = one.sets[0].tolist()
        row = (
            row[:500]
            if "bottom" in options
            else [value for value in row if value <= found.sampling.most]
        )
        assert rows_of(found) == [row, row]


@given(st.integers(1, 40), st.integers(0, 40))
def test_another_scale(scaled, more):
    items = [letters_of(300), "", letters_of(200, 2)]
    found = genomes.sketch(items, k=9, scaled=scaled).at_scale(scaled + more)
    again = genomes.sketch(items, k=9, scaled=scaled + more)
    assert rows_of(found) == rows_of(again)
    assert found.sampling == again.sampling


def test_arguments_of_sketches():
    for options, error, reason in [
        ({"k": 0}, ValueError, r"k must be in 1\.\.64, not 0"),
        ({"k": 65}, ValueError, r"k must be in 1\.\.64, not 65"),
        ({"k": 2.5}, TypeError, "k must be an int"),
        ({"scaled": 0}, ValueError, r"scaled must be in 1\.\.4294967296, not 0"),
        ({"bottom": -1}, ValueError, r"bottom must be in 0\.\.536870912, not -1"),
        ({"names": ["a", "b"]}, ValueError, "one for each of 1 sketches, not 2"),
    ]:
        with pytest.raises(error, match=reason):
            genomes.sketch(["ACGT"], **options)
    with pytest.raises(TypeError, match="an iterable of sequences, not one str"):
        genomes.sketch("ACGT")
    with pytest.raises(TypeError, match="row 1 has 5"):
        genomes.sketch(["ACGT", [5]])
    found = genomes.sketch(["ACGT"], scaled=10)
    with pytest.raises(
        ValueError, match="scaled=10 cannot be made into sketches with scaled=9"
    ):
        found.at_scale(9)
    with pytest.raises(ValueError, match="bottom=3 cannot be made"):
        genomes.sketch(["ACGT"], bottom=3).at_scale(9)


FASTA = ">one x\nGATTACAGATTACA\nCCGT\n>two\r\nacgtnacgtacc\r\n>three\n"
FASTQ = "@one/1\nGATTACAGATTACACCGT\n+one/1\n@@@@@@@@@@@@@@@@@@\n@two\nACGTNACGTACC\n+\n++++++++++++\n@three\n\n+\n\n"
RECORDS = ["GATTACAGATTACACCGT", "ACGTNACGTACC", ""]


@pytest.mark.parametrize("text", [FASTA, FASTQ])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_files(tmp_path, text, suffix):
    pack = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }.get(suffix)
    if pack is None:
        pack = partial(
            pytest.importorskip("pyarrow").compress, codec="zstd", asbytes=True
        )
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack(text.encode()))
    whole = genomes.sketch_files([path], k=5, scaled=1)
    assert (whole.names, rows_of(whole), whole.letters) == (
        [str(path)],
        [kmers.sketch(RECORDS, 5, 1)],
        30,
    )
    each = genomes.sketch_files([path], k=5, scaled=1, records=True)
    assert each.names == ["one" if text is FASTA else "one/1", "two", "three"]
    assert rows_of(each) == [kmers.sketch([record], 5, 1) for record in RECORDS]
    assert each.letters == 30


def test_gzip_of_several_members_and_a_name_without_suffix(tmp_path):
    path = tmp_path / "plain"
    path.write_bytes(
        b"".join(gzip.compress(part.encode()) for part in (FASTA[:20], FASTA[20:]))
    )
    assert rows_of(genomes.sketch_files([path], k=5, scaled=1)) == [
        kmers.sketch(RECORDS, 5, 1)
    ]


@pytest.mark.slow
def test_many_files_on_several_threads(tmp_path):
    items = [letters_of(3000, seed) for seed in range(12)]
    for number, text in enumerate(items):
        (tmp_path / f"{number:02}.fa").write_text(f">x\n{text}")
    told = []
    found = genomes.sketch_files(
        [tmp_path],
        glob="*.fa",
        k=21,
        scaled=10,
        threads=3,
        progress=lambda *now: told.append(now),
    )
    assert rows_of(found) == [kmers.sketch([text], 21, 10) for text in items]
    assert [name[-5:] for name in found.names] == [
        f"{number:02}.fa" for number in range(12)
    ]
    assert told[-1] == ("read", told[-1][2], told[-1][2])
    assert len(told) == 12


@pytest.mark.slow
def test_a_line_is_never_held(tmp_path):
    """A sequence on one line of 40 MB, and a header of 5 MB."""
    pytest.importorskip("resource")
    path = tmp_path / "long.fa.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b">name " + b"h" * 5_000_000 + b"\n")
        for _ in range(40):
            file.write(b"ACGTTGCA" * 125_000)
    program = """
import resource, sys
from lshfast import genomes
genomes.sketch(["ACGT"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = genomes.sketch_files([sys.argv[1]], records=True, scaled=1)
assert found.letters == 40_000_000 and found.names == ["name"], found.letters
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) < 32 << 20


BAD = [
    ("", None, "an empty file"),
    ("ACGT\n", 1, "neither FASTA nor FASTQ: the first line must begin with > or @"),
    (
        "@x\nA\n+\nI\n@a\nACGT\n+\nII\n",
        5,
        r"ends in the quality of this record; .* \(4\), not 2",
    ),
    ("@a\nACGT\n", 1, "ends in the sequence of this record"),
    ("@a\nACGT\n+\nIIII\nx", 5, "must begin with @"),
    (">a\rACGTACGT\r", 1, "a line ends with CR alone; lines must end with LF or CR LF"),
    (">a\nACGTACGT\n>b\rACGTACGT", 3, "a line ends with CR alone"),
    ("@a\rACGT\r+\rIIII\r", 1, "a line ends with CR alone"),
]


@pytest.mark.parametrize(("text", "line", "reason"), BAD)
def test_bad_files(tmp_path, text, line, reason):
    good, bad = tmp_path / "good.fa", tmp_path / "bad.fa"
    good.write_text(">x\nGATTACA")
    bad.write_text(text)
    with pytest.raises(DataError, match=reason) as caught:
        genomes.sketch_files([bad, good], k=5, scaled=1)
    assert caught.value.path == str(bad)
    assert caught.value.line == line
    found = genomes.sketch_files([bad, good], k=5, scaled=1, on_error="skip")
    assert found.names == [str(good)]
    assert [(reject.path, reject.reason) for reject in found.rejected] == [
        (str(bad), caught.value.reason)
    ]


def test_bad_records(tmp_path):
    """A bad record is left out; after a fault of FASTQ, nothing says where the next record begins."""
    path, other = tmp_path / "a.fa", tmp_path / "b.fq"
    path.write_text(
        f">one\nGATTACA\n>\nGATTACA\n> two\nCCC\n>one again\nCCC\n>{'n' * 2000}\nCC\n>last\nACGTA\n"
    )
    other.write_text(
        "@last\nA\n+\nI\n@read\nGATTACA\n+\nIIIIIII\n@bad\nGAT\n+\nIIII\n@never\nA\n+\nI\n"
    )
    found = genomes.sketch_files(
        [path, other], k=5, scaled=1, records=True, on_error="skip"
    )
    assert found.names == ["one", "last", "read"]
    assert [(reject.line, reject.reason) for reject in found.rejected] == [
        (3, "a record without a name: it is the first word after > or @"),
        (5, "a record without a name: it is the first word after > or @"),
        (7, f"a record named 'one' is already in {path}:1; names must be different"),
        (9, "the name of a record is longer than 1024 bytes"),
        (1, f"a record named 'last' is already in {path}:11; names must be different"),
        (
            12,
            "FASTQ: the quality has more characters than the sequence; records after it are not read",
        ),
    ]
    with pytest.raises(DataError, match=r"a\.fa:3: a record without a name"):
        genomes.sketch_files([path], records=True)
    path.write_text(">one\nGATTACA\n>one\nCCC\n")
    with pytest.raises(DataError, match=r"a\.fa:3: a record named 'one' is already"):
        genomes.sketch_files([path], records=True)


def test_line_ends(tmp_path):
    path = tmp_path / "a.fa"
    path.write_bytes(
        b">a of some\r\nGATT\r\nACA\r\n>b \r \r\n\r\nGATT\n>c\rGATTACA\n>d\nGATTA\r\n"
    )
    found = genomes.sketch_files([path], k=4, scaled=1, records=True, on_error="skip")
    assert (found.names, found.sets.counts.tolist()) == (["a", "b", "d"], [4, 1, 2])
    assert [(reject.line, reject.reason[:26]) for reject in found.rejected] == [
        (7, "a line ends with CR alone;")
    ]


@pytest.mark.slow
def test_damaged_archives_and_bombs(tmp_path):
    packed = gzip.compress(f">x\n{letters_of(300_000)}".encode())
    cut, bomb = tmp_path / "cut.fa.gz", tmp_path / "bomb.fa.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    bomb.write_bytes(packed)
    with pytest.raises(DataError, match="damaged or cut off gzip data"):
        genomes.sketch_files([cut])
    with pytest.raises(
        DataError,
        match=r"more than 262,144 bytes; max_unpacked \(--max-unpacked\) raises this limit",
    ):
        genomes.sketch_files([bomb], max_unpacked="256K")
    assert len(genomes.sketch_files([bomb], max_unpacked="1M")) == 1
    plain = tmp_path / "plain.fa"
    plain.write_bytes(gzip.decompress(packed))
    assert (
        len(genomes.sketch_files([plain], max_unpacked="256K")) == 1
    )  # it is no archive


def test_inputs_of_files(tmp_path):
    for paths, error, reason in [
        ([], ValueError, "no inputs"),
        (["-"], ValueError, "standard input"),
        ([tmp_path], ValueError, r"a folder needs glob \(--glob\)"),
        ([tmp_path / "no.fa"], DataError, "No such file"),
    ]:
        with pytest.raises(error, match=reason):
            genomes.sketch_files(paths)
    with pytest.raises(ValueError, match="max_unpacked must be a number of bytes"):
        genomes.sketch_files([tmp_path / "no.fa"], max_unpacked="much")


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from(KS), st.integers(1, 50))
def test_sourmash_itself(seed, k, scaled):
    sourmash = pytest.importorskip("sourmash", reason="golden.json holds its values")
    rng = random.Random(seed)
    items = [
        "".join(rng.choices("ACGTNacgt", (9, 9, 9, 9, 0.1, 1, 1, 1, 1), k=2000))
        for _ in range(3)
    ]
    found = genomes.sketch(items, k=k, scaled=scaled)
    theirs = [sourmash.MinHash(0, k, scaled=scaled) for _ in items]
    for sketch, item in zip(theirs, items, strict=True):
        sketch.add_sequence(item, force=True)
    assert rows_of(found) == [sorted(sketch.hashes) for sketch in theirs]
    for a, b in combinations(range(3), 2):
        pairs = {
            (pair["i"], pair["j"]): pair["jaccard"]
            for pair in genomes.pairs(found, ani=0)
        }
        assert pairs.get((a, b), 0) == theirs[a].jaccard(theirs[b])


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("mash") is None,
    reason="Mash is no Python package; golden.json holds its values",
)
def test_mash_itself(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.fa").write_text(
            f">x\n{letters_of(5000, 1)[: 5000 - 900 * number]}\n"
        )
    names = sorted(map(str, tmp_path.iterdir()))
    subprocess.run(
        ["mash", "sketch", "-s", "200", "-o", tmp_path / "all.msh", *names],
        check=True,
        capture_output=True,
    )
    said = subprocess.run(
        ["mash", "dist", *[tmp_path / "all.msh"] * 2],
        check=True,
        capture_output=True,
        text=True,
    )
    found = genomes.pairs(genomes.sketch_files(names, k=21, bottom=200), ani=0)
    own = {
        (names[i], names[j]): (shared, mash)
        for i, j, shared, mash in found[["i", "j", "shared", "mash_ani"]].tolist()
    }
    rows = [line.split("\t") for line in said.stdout.splitlines()]
    theirs = {
        (a, b): (int(shared.split("/")[0]), pytest.approx(1 - float(d), rel=1e-5))
        for a, b, d, _, shared in rows
        if a < b
    }
    assert own == theirs


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("way", ["folder", "pattern", "names"])
def test_a_link_is_no_second_genome(tmp_path, link, way):
    """Of a file and a symbolic link, the file is read; of hard links, the first."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "b.fa").write_text(f">x\n{letters_of(500)}\n")
    (folder / "c.fa").write_text(f">x\n{letters_of(500)}\n")  # a copy is another genome
    link(folder / "b.fa", folder / "a.fa")
    inputs = {
        "folder": [folder],
        "pattern": [folder / "*.fa"],
        "names": [folder / "a.fa", folder / "c.fa"],
    }[way]
    if way == "pattern" and link is os.symlink:
        with pytest.raises(DataError, match="input named twice"):
            genomes.sketch_files(inputs, scaled=1)
        return
    found = genomes.sketch_files(
        inputs, scaled=1, glob="*.fa" if way == "folder" else None
    )
    first = "b.fa" if (way, link) == ("folder", os.symlink) else "a.fa"
    assert found.names == [str(folder / first), str(folder / "c.fa")]


def proteins(size, seed=1):
    return "".join(random.Random(seed).choices("ACDEFGHIKLMNPQRSTVWY", k=size))


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("case", [str.upper, str.lower])
@pytest.mark.parametrize("width", [7, 60, 5000])
def test_proteins_are_refused(tmp_path, records, case, width):
    text = case(proteins(3000))
    lines = "\n".join(text[at : at + width] for at in range(0, len(text), width))
    bad, good = tmp_path / "a.faa", tmp_path / "b.fa"
    bad.write_text(f">p1\n{lines}\n>p2\n{lines}\n")
    good.write_text(f">x\n{letters_of(2000)}\n")
    with pytest.raises(
        DataError, match=r"a\.faa.*proteins \(amino acids\): only DNA can be compared"
    ) as caught:
        genomes.sketch_files([bad, good], records=records)
    assert caught.value.line == (1 if records else None)
    found = genomes.sketch_files([bad, good], records=records, on_error="skip")
    assert len(found) == 1
    assert [reject.line for reject in found.rejected] == (
        [1, 3 + lines.count("\n")] if records else [None]
    )


def test_a_protein_among_sequences(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(
        f">dna\n{letters_of(3000)}\n>protein\n{proteins(300)}\n>more\n{letters_of(300, 2)}\n"
    )
    found = genomes.sketch_files([path], records=True, on_error="skip")
    assert found.names == ["dna", "more"]
    assert [(reject.line, reject.reason[:8]) for reject in found.rejected] == [
        (3, "proteins")
    ]


@pytest.mark.parametrize(
    "letters",
    ["ACGTN", "ACGTURYSWKMBDHVN", "ACGT" * 20 + "EFILPQ", "acgtNNNNNNNNNN-*."],
)
def test_nucleotides_of_all_kinds_are_no_proteins(tmp_path, letters):
    """Also groups of nucleotides, gaps, and a few other letters."""
    path = tmp_path / "a.fa"
    path.write_text(">x\n" + "".join(random.Random(1).choices(letters, k=5000)) + "\n")
    assert len(genomes.sketch_files([path])) == 1

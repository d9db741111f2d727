"""sourmash's signature files: what it wrote, what it reads, and what is refused."""

import gzip
import io
import json
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import FormatError, genomes
from lshfast.genomes.signatures import MOST_NAME
from tests.genomes.make_golden import GOLDEN, SCALED, sequences

SIGNATURE = json.loads(GOLDEN.read_text())["sourmash"]["signature"]
SKETCH = json.loads(SIGNATURE)[0]["signatures"][0]


def far(data):
    """Return a collection whose end says that the directory is far behind, so that places in it are negative."""
    return data[:-6] + (1 << 30).to_bytes(4, "little") + data[-2:]


def zipped(**files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), data)
    return target.getvalue()


def written(tmp_path, data, name="a.sig"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def changed(**fields):
    """Return a signature file whose sketch has other fields; None leaves one out."""
    [signature] = json.loads(SIGNATURE)
    sketch = {**signature["signatures"][0], **fields}
    signature["signatures"] = [
        {name: value for name, value in sketch.items() if value is not None}
    ]
    return json.dumps([signature])


def rows_of(sketches):
    return [sketches.sets[row].tolist() for row in range(len(sketches))]


@pytest.mark.parametrize(
    "data",
    [SIGNATURE, gzip.compress(SIGNATURE.encode()), zipped(signatures__x_sig_gz=gzip.compress(SIGNATURE.encode())),
     zipped(SOURMASH_MANIFEST_csv=b"x", signatures__x_sig=SIGNATURE)],
)  # fmt: skip
def test_files_of_sourmash(tmp_path, data):
    found = genomes.read_signatures(written(tmp_path, data, "anything"), k=21)
    own = genomes.sketch([sequences()["base"]], k=21, scaled=SCALED)
    assert (found.names, rows_of(found), found.sampling) == (
        ["base"],
        rows_of(own),
        own.sampling,
    )


def test_what_is_written_is_what_sourmash_writes(tmp_path):
    own = genomes.sketch([sequences()["base"]], names=["base"], k=21, scaled=SCALED)
    genomes.write_signatures(tmp_path / "a.sig", own)
    [wrote], [theirs] = (
        json.loads((tmp_path / "a.sig").read_text()),
        json.loads(SIGNATURE),
    )
    assert {**wrote, "filename": "base.fa"} == theirs


sets = st.lists(
    st.sets(st.integers(0, genomes.Sampling(31, 3).most), max_size=5),
    min_size=1,
    max_size=4,
)


@given(sets, st.sampled_from([".sig", ".sig.gz"]), st.booleans(), st.text(max_size=20))
def test_round_trips(tmp_path_factory, rows, suffix, bottom, name):
    sampling = genomes.Sampling(31, 3, 5 if bottom else 0)
    sets = genomes.sketches.sketches_of(
        np.array(sorted(row), np.uint64) for row in rows
    )
    names = [f"x{name}{row}" for row in range(len(rows))]
    names = [own.encode("utf-8", "backslashreplace").decode() for own in names]
    path = tmp_path_factory.mktemp("sig") / f"a{suffix}"
    genomes.write_signatures(path, genomes.KmerSketches(names, sets, sampling))
    found = genomes.read_signatures(path)
    assert (found.names, rows_of(found), found.sampling) == (
        names,
        [sorted(row) for row in rows],
        sampling,
    )


def test_files_are_the_same_each_time(tmp_path):
    own = genomes.sketch(["GATTACA" * 10], k=21, scaled=1)
    for name in ("a.sig.gz", "b.sig.gz"):
        genomes.write_signatures(tmp_path / name, own)
    assert (tmp_path / "a.sig.gz").read_bytes() == (tmp_path / "b.sig.gz").read_bytes()
    with pytest.raises(FileExistsError):
        genomes.write_signatures(tmp_path / "a.sig.gz", own)
    genomes.write_signatures(tmp_path / "a.sig.gz", own, overwrite=True)
    with pytest.raises(
        ValueError, match=r"a\.json: sketches are written as \.sig or \.sig\.gz"
    ):
        genomes.write_signatures(tmp_path / "a.json", own)


def test_several_sketches(tmp_path):
    """Those of other k and of proteins are left out, and the greatest `scaled` holds for all."""
    other = json.loads(changed(ksize=31, mins=[1]))[0]["signatures"]
    protein = json.loads(changed(molecule="protein", mins=[2]))[0]["signatures"]
    [coarse] = json.loads(
        changed(max_hash=2**64 // 200, mins=[3, 2**64 // 200, 3], abundances=[1, 2, 3])
    )
    [signature] = json.loads(SIGNATURE)
    signature["signatures"] += other + protein
    coarse["name"] = ""
    path = written(tmp_path, json.dumps([signature, coarse]))
    found = genomes.read_signatures(path, k=21)
    assert found.names == ["base", "base.fa"]
    assert found.sampling == genomes.Sampling(21, 200)
    assert rows_of(found) == [
        [x for x in SKETCH["mins"] if x <= 2**64 // 200],
        [3, 2**64 // 200],
    ]
    assert rows_of(genomes.read_signatures(path, k=31)) == [[1]]


OLD = {
    "num is -1, unsigned": changed(num=2**32 - 1),
    "num is -1 of 64 bits": changed(num=2**64 - 1),
    "num is -1": changed(num=-1),
    "num is -1 as a string": changed(num="-1"),
    "num is -1, unsigned, as a string": changed(num="4294967295"),
    "num is null": SIGNATURE.replace('"num":0', '"num":null'),
    "num is missing": changed(num=None),
    "num is a string": changed(num="0"),
    "ksize is a string": changed(ksize="21"),
    "ksize is a float": changed(ksize=21.0),
    "max_hash is a float": changed(max_hash=float(SKETCH["max_hash"])),
    "max_hash is rounded": changed(
        max_hash=round(SKETCH["max_hash"], -3), num=2**32 - 1
    ),
    "molecule is in lower case": changed(molecule="dna"),
    "molecule is missing": changed(molecule=None),
    "molecule is null": SIGNATURE.replace('"molecule":"DNA"', '"molecule":null'),
    "seed is missing": changed(seed=None),
    "seed is a string": changed(seed="42"),
    "md5sum is missing": changed(md5sum=None),
    "mins are not sorted": changed(
        mins=SKETCH["mins"][::-1], abundances=[2] * len(SKETCH["mins"])
    ),
    "mins are repeated": changed(mins=SKETCH["mins"] * 2),
    "cardinality": changed(cardinality=5000),
    "version 0.1": SIGNATURE.replace('"version":0.4', '"version":0.1'),
    "a version that is a string": SIGNATURE.replace('"version":0.4', '"version":"0.2"'),
    "a type": SIGNATURE.replace('"version"', '"type":"mrnaseq","version"'),
    "no class": SIGNATURE.replace('"class":"sourmash_signature",', ""),
    "no hash function": SIGNATURE.replace('"hash_function":"0.murmur64",', ""),
    "no license": SIGNATURE.replace('"license":"CC0",', ""),
    "one signature without a list": SIGNATURE[1:-1],
    "white space": json.dumps(json.loads(SIGNATURE), indent=4),
}


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize(
    "pack", [str.encode, lambda text: gzip.compress(text.encode())], ids=["plain", "gz"]
)
def test_files_of_early_versions(tmp_path, name, pack):
    assert OLD[name] != SIGNATURE
    found = genomes.read_signatures(written(tmp_path, pack(OLD[name])), k=21)
    own = genomes.sketch([sequences()["base"]], k=21, scaled=SCALED)
    assert (found.names, rows_of(found), found.sampling) == (
        ["base"],
        rows_of(own),
        own.sampling,
    )


def test_the_smallest_hashes_of_early_versions(tmp_path):
    for fields in ({"max_hash": 0}, {"max_hash": None}, {"max_hash": "0"}):
        path = written(
            tmp_path,
            changed(num="500", mins=SKETCH["mins"][::-1], molecule="dna", **fields),
        )
        found = genomes.read_signatures(path, k=21)
        assert (rows_of(found), found.sampling) == (
            [SKETCH["mins"]],
            genomes.Sampling(21, bottom=500),
        )


BAD = [
    (changed(num=2**32 - 1, max_hash=0), "either num"),
    (changed(num=2**32 - 2), "either num"),
    (changed(num="x"), "num must be a number in"),
    (changed(num="9" * 5000), "num must be a number in"),
    (changed(ksize=True), "ksize must be a number in"),
    (changed(ksize=21.5), "ksize must be a number in"),
    (changed(ksize=[21]), "ksize must be a number in"),
    (changed(max_hash=1e300), "max_hash must be a number in"),
    (changed(seed="43"), "with the seed 42"),
    ('{"signatures": 5}', "signatures must be a list"),
    ("", "not a signature file of sourmash"),
    ("[", "not a signature file of sourmash"),
    ("[" * 100_000, "not a signature file of sourmash"),
    ("{}", "a signature file must be a list"),
    ("[5]", "signature 1: not a signature of sourmash"),
    ('[{"class": "sourmash_signature"}]', "signatures must be a list"),
    (
        '[{"class": "sourmash_signature", "signatures": [5]}]',
        "a sketch must be an object",
    ),
    ("[]", "has no DNA sketches with k=21"),
    (changed(ksize=31), "has no DNA sketches with k=21"),
    (changed(seed=43), "with the seed 42"),
    (changed(mins=None), "mins must be a list"),
    (changed(mins=["1"]), "mins must be whole numbers"),
    (changed(mins=[1.0]), "mins must be whole numbers"),
    (changed(mins=[True]), "mins must be whole numbers"),
    (changed(mins=[-1]), r"mins must be in 0\.\."),
    (changed(mins=[2**64]), r"mins must be in 0\.\."),
    (
        changed(mins=[SKETCH["max_hash"] + 1]),
        "a hash must be at most 368934881474191040",
    ),
    (changed(max_hash=0), "either num"),
    (changed(num=5), "either num"),
    (changed(max_hash=1), "scaled must be in"),
    (changed(max_hash=-1), "max_hash must be a number in"),
    (changed(max_hash=0, num=2), r"at most 2 hashes \(num\)"),
    (SIGNATURE.replace("0.murmur64", "sha1"), "the hash function must be"),
    (
        SIGNATURE.replace('"base"', f'"{"n" * (MOST_NAME + 1)}"'),
        "a name must be a string of at most",
    ),
    (SIGNATURE.replace('"base"', "[1]"), "a name must be a string of at most"),
    (b"\x1f\x8b" + b"x" * 50, "damaged or cut off gzip data"),
    (gzip.compress(SIGNATURE.encode())[:-20], "damaged or cut off gzip data"),
    (b"PK\x03\x04" + b"x" * 50, "damaged zip file"),
    (far(zipped(a_sig=SIGNATURE)), "damaged zip file"),
    (zipped(a_sig=b"\xff"), "a.sig: not a signature file"),
    (zipped(other_txt=SIGNATURE), "has no DNA sketches"),
]


@pytest.mark.parametrize(("data", "reason"), BAD)
def test_bad_files(tmp_path, data, reason):
    path = written(tmp_path, data)
    with pytest.raises(FormatError, match=reason) as caught:
        genomes.read_signatures(path, k=21)
    assert str(caught.value).startswith(str(path))


def test_bombs(tmp_path):
    spaces = b" " * (1 << 20) + SIGNATURE.encode()
    one = written(tmp_path, gzip.compress(spaces), "one.sig.gz")
    many = written(tmp_path, zipped(a_sig=spaces, b_sig=spaces), "many.zip")
    for path in (one, many):
        with pytest.raises(
            FormatError,
            match=r"more than 1,048,576 bytes; max_signature \(--max-signature\) raises",
        ):
            genomes.read_signatures(path, k=21, max_signature="1M")
    with pytest.raises(
        FormatError,
        match=r"more than 2,097,152 bytes; max_unpacked \(--max-unpacked\) raises",
    ):
        genomes.read_signatures(many, k=21, max_unpacked="2M")
    assert len(genomes.read_signatures(many, k=21, max_unpacked="3M")) == 2


def test_other_methods_of_compression(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.sig", SIGNATURE)
    with pytest.raises(FormatError, match="compressed by another method than deflate"):
        genomes.read_signatures(path, k=21)


@given(st.binary(max_size=60), st.integers(0, 2000))
def test_damaged_collections(tmp_path_factory, noise, at):
    data = bytearray(zipped(signatures__x_sig=SIGNATURE, signatures__y_sig=SIGNATURE))
    start = at % len(data)
    data[start : start + len(noise)] = noise
    path = written(tmp_path_factory.mktemp("zip"), bytes(data), "a.zip")
    try:
        assert len(genomes.read_signatures(path, k=21)) >= 1
    except FormatError as error:
        assert str(path) in str(error)  # noqa: PT017


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("sourmash") is None,
    reason="golden.json holds what sourmash writes and reads",
)
def test_sourmash_reads_them(tmp_path):
    own = genomes.sketch(
        sequences().values(), names=list(sequences()), k=31, scaled=SCALED
    )
    genomes.write_signatures(tmp_path / "a.sig.gz", own)
    compare = [
        "sourmash",
        "compare",
        "-k",
        "31",
        "--max-containment",
        tmp_path / "a.sig.gz",
        "--csv",
        tmp_path / "m",
    ]
    subprocess.run(compare, check=True, capture_output=True)
    names, *rows = [
        line.split(",") for line in (tmp_path / "m").read_text().splitlines()
    ]
    theirs = {
        (a, b): float(value)
        for a, row in zip(names, rows, strict=True)
        for b, value in zip(names, row, strict=True)
    }
    found = genomes.pairs(own, ani=0)
    assert len(found) > 5
    for i, j, containment in found[["i", "j", "containment"]].tolist():
        assert containment == pytest.approx(
            theirs[own.names[i], own.names[j]], abs=1e-12
        )

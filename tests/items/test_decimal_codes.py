"""Codes that are texts of decimal digits only: numbers if they cannot be hexadecimal, else every way in remarks it."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

import lshfast
import lshfast.pandas
import lshfast.polars
from lshfast import (
    DecimalCodesWarning,
    HammingIndex,
    LSHIndex,
    NearNeighbors,
    TanimotoIndex,
)
from lshfast.families import BitSampling
from tests.cli.commands import run

CODES = ["1234567812345678", "1234567812345679", "9234567812345670"]
REMARK = "read as hexadecimal"

COLUMNS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy of objects": lambda codes: np.array(codes, object),
    "arrow": pa.array,
    "arrow of large strings": lambda codes: pa.array(codes, pa.large_string()),
    "arrow with a dictionary": lambda codes: pa.array(codes).dictionary_encode(),
    "arrow in chunks": lambda codes: pa.chunked_array([codes[:1], codes[1:]]),
    "pandas": pd.Series,
    "pandas with categories": lambda codes: pd.Series(codes, dtype="category"),
    "polars": pl.Series,
}


def sampled_index():
    return LSHIndex(family=BitSampling(64), bands=2, rows_per_band=3)


CALLS = {
    "dedup": lambda codes: lshfast.dedup(codes, kind="code", radius=3),
    "dedup with bands": lambda codes: lshfast.dedup(
        codes, kind="code", radius=3, recall=0.9
    ),
    "dedup by tanimoto": lambda codes: lshfast.dedup(
        codes, kind="code", measure="tanimoto"
    ),
    "pairs": lambda codes: lshfast.pairs(codes, kind="code", radius=3),
    "check": lambda codes: lshfast.check(codes, kind="code", radius=3),
    "dedup_codes": lambda codes: lshfast.dedup_codes(codes, 3),
    "hamming_pairs": lambda codes: lshfast.hamming_pairs(codes, 3),
    "tanimoto_pairs": lambda codes: lshfast.tanimoto_pairs(codes, 0.9),
    "HammingIndex.insert": lambda codes: HammingIndex(64).insert(
        range(len(codes)), codes
    ),
    "HammingIndex.query": lambda codes: HammingIndex(64).query(codes),
    "HammingIndex.within": lambda codes: HammingIndex(64).within(codes),
    "TanimotoIndex.insert": lambda codes: TanimotoIndex(64).insert(
        range(len(codes)), codes
    ),
    "NearNeighbors.insert": lambda codes: NearNeighbors(
        "hamming", radius=3, dim=64, n=9
    ).insert(range(3), codes),
    "LSHIndex.insert": lambda codes: sampled_index().insert(
        range(len(codes)), np.asarray(codes)
    ),
}


@pytest.mark.few_cases
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("column", COLUMNS)
def test_in_memory(call, column):
    with pytest.warns(DecimalCodesWarning, match=REMARK) as caught:
        CALLS[call](COLUMNS[column](CODES))
    assert len(caught) == 1
    if call != "LSHIndex.insert":
        assert caught[0].filename == __file__


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "codes", [[*CODES[:2], "923456781234567a"], np.array([*map(int, CODES)], np.uint64)]
)
def test_no_remark_in_memory(call, codes):
    """One digit from a to f is enough, and integers are decimal."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call](codes)


@pytest.mark.parametrize(
    "call", ["dedup", "pairs", "check", "dedup_codes", "hamming_pairs"]
)
def test_a_few_digits_say_nothing(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call](["00", "01", "10"])


@pytest.mark.filterwarnings("ignore::lshfast.DecimalCodesWarning")
def test_results_say_it():
    result = lshfast.dedup(CODES, kind="code", radius=3)
    checked = lshfast.check(CODES, kind="code", radius=3)
    assert REMARK in result.summary.advice
    assert REMARK in repr(result)
    assert REMARK in checked.advice
    assert REMARK in repr(checked)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pd.DataFrame({"c": CODES}).lsh.dedup("c", kind="code", radius=3),
        lambda: pl.DataFrame({"c": CODES}).lsh.pairs("c", kind="code", radius=3),
    ],
)
def test_in_frames(call):
    with pytest.warns(DecimalCodesWarning, match=REMARK):
        call()


# As lists of hashes are published, of different lengths, and as databases hold them, with a sign.
NUMBERS = [
    *(14829735431805717965, 14829735431805717964, 829735431805717965, 17),
    *(9223372036854775809, 5),
]
SIGNED = [number - (number >> 63 << 64) for number in NUMBERS]


@pytest.mark.parametrize("numbers", [NUMBERS, SIGNED], ids=["unsigned", "signed"])
@pytest.mark.parametrize("column", ["list", "arrow", "pandas"])
def test_texts_that_cannot_be_hexadecimal_are_numbers(column, numbers):
    texts = COLUMNS[column](list(map(str, numbers)))
    codes = np.array(NUMBERS, np.uint64)
    assert lshfast.dedup(texts, kind="code", radius=3).removed == (
        lshfast.dedup(codes, kind="code", radius=3).removed
    )
    of_texts, of_codes = (lshfast.hamming_pairs(given, 3) for given in (texts, codes))
    assert list(map(list, of_texts)) == list(map(list, of_codes))
    index = HammingIndex(64, radius=3)
    index.insert(range(len(texts)), texts)
    assert [match.key for match in index.within(codes[0])] == [0, 1]


def test_numbers_in_files(tmp_path):
    """The first texts say what the others are."""
    path = file_of(tmp_path, "csv", [*map(str, NUMBERS), "0", "-1", "x", str(2**64)])
    output = tmp_path / "kept.csv"
    result = lshfast.dedup_files(path, output, kind="code", radius=3, on_error="skip")
    codes = np.array([*NUMBERS, 0, 2**64 - 1], np.uint64)
    expected = lshfast.dedup(codes, kind="code", radius=3)
    assert [
        (removal.key, removal.kept_key, removal.distance) for removal in result.removed
    ] == [
        (f"{path}:{key + 2}", f"{path}:{kept_key + 2}", distance)
        for key, kept_key, distance in expected.removed
    ]
    rejects = (tmp_path / "kept.csv.rejects.jsonl").read_text()
    assert "hexadecimal digits, not 'x'" in rejects
    assert "128 bits, not 64" in rejects


def test_rows_against_an_index_have_its_bits(tmp_path):
    """Texts of one length are numbers if they have more digits than the codes of the index."""
    index = tmp_path / "a.lsh"
    known = file_of(tmp_path, "jsonl", NUMBERS)
    assert (
        run(
            "index", "build", known, "--as", "code", "--radius", "3", "-o", index
        ).exit_code
        == 0
    )
    queries = file_of(tmp_path, "csv", [str(number ^ 4) for number in NUMBERS[:2]])
    answer = run("index", "query", index, queries)
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout.count(f"{known}:1") == 2
    said = run("index", "query", index, file_of(tmp_path, "csv", [str(NUMBERS[0])]))
    assert "128 bits, not 64" in said.stderr
    assert "else give integers" in said.stderr


@pytest.mark.parametrize(
    "texts",
    [
        ["1234", "12345"],  # a few digits say nothing
        [*map(str, NUMBERS), "f0"],  # hexadecimal digits of different lengths
        ["9" * 2000, "9" * 1999],
    ],
)
def test_texts_that_may_be_hexadecimal_are_not_numbers(texts):
    with pytest.raises(ValueError, match=r"must be of one length|\b4096\b"):
        lshfast.hamming_pairs(texts, 3)


def file_of(folder, suffix, codes):
    path = folder / f"codes.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps({"text": code}) + "\n" for code in codes))
    elif suffix == "parquet":
        parquet.write_table(pa.table({"text": codes}), path)
    else:
        path.write_text("\n".join(["text", *codes]) + "\n")
    return path


COMMANDS = {
    "dedup": ["dedup", "-o", "out.jsonl"],
    "dedup with bands": ["dedup", "-o", "out.jsonl", "--recall", "0.9"],
    "dedup with memory": ["dedup", "-o", "out.jsonl", "--memory", "600M"],
    "dedup and an index": ["dedup", "-o", "out.jsonl", "--save-index", "saved.lsh"],
    "pairs": ["pairs", "-o", "pairs.csv"],
    "check": ["check"],
    "tune": ["tune"],
    "index build": ["index", "build", "-o", "x.lsh"],
}


@pytest.mark.few_cases
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("remarked", [True, False])
@pytest.mark.parametrize("name", COMMANDS)
def test_in_files(tmp_path, monkeypatch, name, suffix, remarked):
    monkeypatch.chdir(tmp_path)
    rows = file_of(
        tmp_path, suffix, CODES if remarked else [*CODES, "a234567812345670"]
    )
    result = run(*COMMANDS[name], rows, "--as", "code", "--radius", 3)
    assert result.exit_code == 0, result.output
    assert (REMARK in " ".join(result.output.split())) == remarked


def test_in_an_index_of_files(tmp_path):
    rows, index = file_of(tmp_path, "csv", CODES), tmp_path / "x.lsh"
    run("index", "build", rows, "--as", "code", "--radius", 3, "-o", index)
    for command in (
        ["query", index, rows],
        ["add", index, rows, "--on-duplicate", "skip"],
    ):
        result = run("index", *command)
        assert result.exit_code == 0
        assert REMARK in " ".join(result.stderr.split())
    wide, code = tmp_path / "wide.lsh", "1234567812345678" * 4
    run(
        "index",
        "build",
        file_of(tmp_path, "jsonl", [code]),
        "--as",
        "code",
        "--radius",
        3,
        "-o",
        wide,
    )
    assert REMARK in " ".join(
        run("index", "query", wide, "--text", code).stderr.split()
    )
    assert run("index", "query", wide, "--text", code, "-q").stderr == ""


def test_in_files_from_python(tmp_path):
    rows = file_of(tmp_path, "jsonl", CODES)
    with pytest.warns(DecimalCodesWarning, match=REMARK):
        result = lshfast.dedup_files(
            rows, tmp_path / "out.jsonl", kind="code", radius=3
        )
    assert REMARK in result.summary.advice


@pytest.mark.parametrize("remarked", [True, False])
def test_in_lists_of_hashes_of_images(tmp_path, remarked):
    Image.radial_gradient("L").save(tmp_path / "a.png")
    codes = CODES if remarked else [*CODES, "a234567812345670"]
    lines = [
        "path,hash,kind",
        *(f"{row}.png,{code},dhash" for row, code in enumerate(codes)),
    ]
    (tmp_path / "known.csv").write_text("\n".join(lines) + "\n")
    options = [
        "--hash",
        "dhash",
        "--against",
        tmp_path / "known.csv",
        "-o",
        tmp_path / "out.csv",
    ]
    result = run("images", tmp_path / "a.png", *options)
    assert result.exit_code == 0, result.output
    assert (REMARK in " ".join(result.stderr.split())) == remarked

"""`lshfast index` with all sets, vectors and codes: built, added to, queried, and the files of `dedup --save-index`."""

import json
import os
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast import HammingIndex, LSHIndex, NearNeighbors, TanimotoIndex
from tests.cli.commands import failing, read_jsonl, run, write_jsonl

N, DIM = 300, 16
RNG = np.random.default_rng(1)
VECTORS = RNG.standard_normal((N, DIM)).astype(np.float32)
VECTORS[200:250] = VECTORS[:50] + 0.05 * RNG.standard_normal((50, DIM))
VECTORS[250] = VECTORS[60]
CODES = RNG.integers(0, 2**63, (N, 2), np.uint64)
CODES[200:250] = CODES[:50] ^ np.uint64(0b101)
CODES[250] = CODES[60]
SETS = [[f"t{item}" for item in RNG.integers(0, 4000, 20)] for _ in range(N)]
SETS[200:250] = [[*items[:19], "other"] for items in SETS[:50]]
SETS[250] = SETS[60]
WEIGHTED = [{item: 1 + place % 3 for place, item in enumerate(items)} for items in SETS]
WEIGHTED[200:250] = [row | {next(iter(row)): 2.5} for row in WEIGHTED[:50]]

KINDS = {
    "cosine": ["--column", "v", "--threshold", 0.9, "--recall", 0.999],
    "angle": [
        "--column",
        "v",
        "--measure",
        "angle",
        "--radius",
        0.4,
        "--recall",
        0.999,
    ],
    "euclidean": [
        "--column",
        "v",
        "--measure",
        "euclidean",
        "--radius",
        1.0,
        "--recall",
        0.999,
    ],
    "manhattan": [
        "--column",
        "v",
        "--measure",
        "manhattan",
        "--radius",
        3.0,
        "--recall",
        0.999,
    ],
    "hamming": ["--column", "c", "--radius", 4],
    "tanimoto": ["--column", "c", "--measure", "tanimoto", "--threshold", 0.9],
    "jaccard": ["--column", "s", "--threshold", 0.7, "--recall", 0.999],
    "weighted": ["--column", "w", "--threshold", 0.7, "--recall", 0.999],
}
SIMILARITIES = ("cosine", "tanimoto", "jaccard", "weighted")
CLASSES = {
    **dict.fromkeys(("cosine", "angle", "euclidean", "manhattan"), NearNeighbors),
    "hamming": HammingIndex, "tanimoto": TanimotoIndex, "jaccard": LSHIndex, "weighted": LSHIndex,
}  # fmt: skip


# The first measure of each class of index; with the others, some tests are slow.
FIRST_MEASURES = {index: measure for measure, index in reversed(CLASSES.items())}
each_class = pytest.mark.parametrize(
    "measure",
    [
        pytest.param(
            measure,
            marks=[pytest.mark.slow] * (measure not in FIRST_MEASURES.values()),
        )
        for measure in KINDS
    ],
)


def write(path, rows):
    """Write some rows of all columns."""
    packed = CODES[rows].astype(">u8")[:, ::-1]
    table = {
        "id": [f"r{row}" for row in rows],
        "v": pa.FixedSizeListArray.from_arrays(
            pa.array(VECTORS[rows].reshape(-1)), DIM
        ),
        "c": pa.array([code.tobytes() for code in packed], pa.binary(16)),
        "s": [SETS[row] for row in rows],
        "w": pa.array(
            [list(WEIGHTED[row].items()) for row in rows],
            pa.map_(pa.string(), pa.float64()),
        ),
    }
    pq.write_table(pa.table(table), path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    write(folder / "old.parquet", range(200))
    write(folder / "new.parquet", range(200, N))
    write(folder / "all.parquet", range(N))
    return folder


def column_of(options):
    return options[: options.index("--column") + 2]


def lines(result):
    assert result.exit_code == 0, result.output
    return [tuple(line.split("\t")) for line in result.stdout.splitlines()]


def options_of_query(measure):
    """Return the options by which a query has the measure that an index was built with."""
    return ["--measure", "angle"] if measure == "angle" else []


# How similar or far two rows are, from the definitions.


def cosine(a, b):
    x, y = VECTORS[a].astype(float), VECTORS[b].astype(float)
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def ones(row):
    return {
        bit
        for word in (0, 1)
        for bit in range(64 * word, 64 * word + 64)
        if int(CODES[row, word]) >> bit % 64 & 1
    }


TRUTH = {
    "cosine": cosine,
    "angle": lambda a, b: float(np.arccos(min(cosine(a, b), 1.0))),
    "euclidean": lambda a, b: float(
        np.sqrt(((VECTORS[a].astype(float) - VECTORS[b]) ** 2).sum())
    ),
    "manhattan": lambda a, b: float(
        np.abs(VECTORS[a].astype(float) - VECTORS[b]).sum()
    ),
    "hamming": lambda a, b: len(ones(a) ^ ones(b)),
    "tanimoto": lambda a, b: len(ones(a) & ones(b)) / len(ones(a) | ones(b)),
}


@pytest.mark.some_cases
@pytest.mark.parametrize("measure", KINDS)
def test_build_add_query_remove(files, tmp_path, measure):
    index, options = tmp_path / "x.lsh", KINDS[measure]
    result = run(
        "index",
        "build",
        files / "old.parquet",
        *options,
        "--id-column",
        "id",
        "-o",
        index,
    )
    assert "200 added + 0 rejected" in result.stderr
    assert "keys: strings" in result.stderr
    with_ids = [
        *column_of(options),
        "--id-column",
        "id",
        "-q",
        *options_of_query(measure),
    ]
    found = lines(run("index", "query", index, files / "new.parquet", *with_ids))
    assert [pair[:2] for pair in found] == [
        (f"r{200 + row}", f"r{row}") for row in range(50)
    ] + [("r250", "r60")]
    if measure in TRUTH:
        wanted = [
            TRUTH[measure](int(key[1:]), int(match[1:])) for key, match, _ in found
        ]
        assert [float(value) for *_, value in found] == pytest.approx(
            wanted, rel=1e-12, abs=5e-8
        )
    added = run(
        "index",
        "add",
        index,
        files / "new.parquet",
        *column_of(options),
        "--id-column",
        "id",
    )
    assert "100 added + 0 rejected" in added.stderr
    assert "r200" in {
        match
        for _, match, _ in lines(
            run("index", "query", index, files / "old.parquet", *with_ids)
        )
    }
    assert run("index", "verify", index).stdout.endswith(
        f"sound, 300 entries, {index.stat().st_size:,} bytes\n"
    )
    removed = run("index", "remove", index, "r60", *(f"r{row}" for row in range(50)))
    assert removed.stderr == "51 removed, 249 left\n"
    left = lines(run("index", "query", index, files / "new.parquet", *with_ids))
    assert [pair[:2] for pair in left] == [
        (f"r{row}", f"r{row}") for row in range(200, N)
    ]
    assert "there is no key 'r60'; nothing was removed" in failing(
        1, "index", "remove", index, "r100", "r60"
    )
    assert (
        run("index", "remove", index, "r100", "r60", "--on-missing", "skip").stderr
        == "1 removed, 248 left\n"
    )
    assert run("index", "compact", index).exit_code == 0
    shown = run("index", "info", index).stdout
    assert f"{'entries':<14}{248:>14}   " in shown
    opened = CLASSES[measure].open(index)
    with opened if hasattr(opened, "store") else nullcontext():
        assert len(opened) == 248


@pytest.mark.one_case
@each_class
def test_entries_that_are_no_copies(files, tmp_path, measure):
    index, options = tmp_path / "x.lsh", KINDS[measure]
    run(
        "index",
        "build",
        files / "old.parquet",
        *options,
        "--id-column",
        "id",
        "-o",
        index,
    )
    command = [
        "index",
        "query",
        index,
        files / "new.parquet",
        *column_of(options),
        "--id-column",
        "id",
    ]
    command += options_of_query(measure)
    word, other, bound = "--least", "--most", 0.01
    if measure in SIMILARITIES:
        word, other, bound = "--most", "--least", 0.999
    every = lines(run(*command, "-q"))
    limited = lines(run(*command, word, bound, "-q"))
    assert limited == [
        match for match in every if (float(match[2]) <= bound) == (word == "--most")
    ]
    assert 0 < len(limited) < len(every)
    ranked = {}
    for key, match, value in lines(run(*command, "-k", 200, "-q")):
        if (float(value) <= bound) == (word == "--most"):
            ranked.setdefault(key, []).append((key, match, value))
    assert lines(run(*command, "-k", 3, word, bound, "-q")) == [
        match for found in ranked.values() for match in found[:3]
    ]
    said = run(*command, word, bound).stderr
    assert f"at {word[2:]} {bound}" in said
    assert "distance" in failing(2, *command, other, 0.5)
    out_of_range = "most must be in" if word == "--most" else "least must be in"
    assert out_of_range in failing(2, *command, word, 1.5 if word == "--most" else -1)
    within = ["--threshold", 0.95] if word == "--most" else ["--radius", 1]
    assert out_of_range in failing(
        2, *command, *within, word, 0.9 if word == "--most" else 2
    )


@pytest.mark.some_cases
@pytest.mark.parametrize("measure", KINDS)
def test_the_nearest_entries(files, tmp_path, measure):
    index, options = tmp_path / "x.lsh", KINDS[measure]
    run(
        "index",
        "build",
        files / "old.parquet",
        *options,
        "--id-column",
        "id",
        "-o",
        index,
    )
    with_ids = [
        files / "new.parquet",
        *column_of(options),
        "--id-column",
        "id",
        *options_of_query(measure),
    ]
    found = lines(run("index", "query", index, *with_ids, "-k", 3, "-q"))
    first = {}
    for key, match, value in found:
        first.setdefault(key, []).append((match, float(value)))
    assert first["r200"][0][0] == "r0"
    for matches in first.values():
        values = [value for _, value in matches]
        assert len(matches) <= 3
        assert values == sorted(values, reverse=measure in SIMILARITIES)
    bounded = (
        lines(run("index", "query", index, *with_ids, "-k", 3, *options[2:4], "-q"))
        if measure != "angle"
        else []
    )
    if measure in ("euclidean", "manhattan"):
        bounded = lines(
            run(
                "index",
                "query",
                index,
                *with_ids,
                "-k",
                3,
                "--radius",
                options[5],
                "-q",
            )
        )
    if measure == "tanimoto":
        bounded = lines(
            run("index", "query", index, *with_ids, "-k", 3, "--threshold", 0.9, "-q")
        )
    if bounded:
        assert len(bounded) == 51


def test_a_radius_too_small_for_k_is_said_in_a_line(tmp_path):
    """The index is by the name of a norm; with a bound or -q, fewer entries than k are as expected."""
    index = tmp_path / "x.lsh"
    np.save(
        tmp_path / "points.npy",
        np.random.default_rng(1).standard_normal((300, 16)).astype(np.float32),
    )
    run(
        "index",
        "build",
        tmp_path / "points.npy",
        "--measure",
        "l2",
        "--radius",
        0.001,
        "-o",
        index,
    )
    query = ["index", "query", index, tmp_path / "points.npy", "-k", 5]
    said = run(*query).stderr
    assert "of 300 queries found fewer than k=5 entries" in said
    assert "With radius=" in said
    assert "warning" not in run(*query, "-q").stderr
    assert "warning" not in run(*query, "--radius", 0.001).stderr
    assert "warning" not in run(*query, "--radius", 0.001, "--measure", "l2").stderr


@each_class
def test_tables_of_answers(files, tmp_path, measure):
    index, options = tmp_path / "x.lsh", KINDS[measure]
    run(
        "index",
        "build",
        files / "old.parquet",
        *options,
        "--id-column",
        "id",
        "-o",
        index,
    )
    query = [
        "index",
        "query",
        index,
        files / "new.parquet",
        *column_of(options),
        *options_of_query(measure),
    ]
    printed = lines(run(*query, "--id-column", "id", "-q"))
    for name in ("o.csv", "o.parquet", "o.jsonl"):
        assert run(*query, "--id-column", "id", "-o", tmp_path / name).stdout == ""
    value = "similarity" if measure in SIMILARITIES else "distance"
    assert [
        tuple(map(str, row.values())) for row in read_jsonl(tmp_path / "o.jsonl")
    ] == printed
    assert (tmp_path / "o.csv").read_text().splitlines() == [
        f"key,match,{value}",
        *map(",".join, printed),
    ]
    table = pq.read_table(tmp_path / "o.parquet")
    assert (table.column_names, table.num_rows) == (
        ["key", "match", value],
        len(printed),
    )


@pytest.mark.one_case
@each_class
def test_indexes_of_dedup_and_of_build_are_the_same(files, tmp_path, measure):
    options = KINDS[measure]
    with_ids = [*options, "--id-column", "id", "-q"]
    of_query = [
        files / "new.parquet",
        *column_of(options),
        "--id-column",
        "id",
        "-q",
        *options_of_query(measure),
    ]
    by_build, by_dedup = tmp_path / "build.lsh", tmp_path / "dedup.lsh"
    run("index", "build", files / "old.parquet", *with_ids, "-o", by_build)
    kept = ["-o", tmp_path / "kept.parquet", "--overwrite"]
    assert (
        run(
            "dedup", files / "old.parquet", *with_ids, "--save-index", by_dedup, *kept
        ).exit_code
        == 0
    )
    answers = [
        lines(run("index", "query", index, *of_query)) for index in (by_build, by_dedup)
    ]
    assert answers[0] == answers[1]
    removed = tmp_path / "removed.csv"
    result = run(
        "dedup",
        files / "new.parquet",
        *with_ids,
        "--against",
        by_build,
        "--removed",
        removed,
        *kept,
    )
    assert result.exit_code == 0, result.output
    pairs = [line.split(",")[:2] for line in removed.read_text().splitlines()[1:]]
    assert pairs == [list(pair[:2]) for pair in answers[0]]
    assert (
        run(
            "index",
            "add",
            by_dedup,
            files / "new.parquet",
            *column_of(options),
            "--id-column",
            "id",
        ).exit_code
        == 0
    )


def test_one_item_instead_of_input(files, tmp_path):
    for measure, text in (
        ("cosine", json.dumps(VECTORS[210].tolist())),
        (
            "hamming",
            (int(CODES[210, 1]) << 64 | int(CODES[210, 0])).to_bytes(16, "big").hex(),
        ),
        ("jaccard", json.dumps(SETS[210])),
        ("weighted", json.dumps(WEIGHTED[210])),
    ):
        index = tmp_path / f"{measure}.lsh"
        run(
            "index",
            "build",
            files / "old.parquet",
            *KINDS[measure],
            "--id-column",
            "id",
            "-o",
            index,
        )
        found = lines(run("index", "query", index, "--text", text))
        assert [match for match, _ in found] == ["r10"]
        assert (
            run(
                "index",
                "query",
                index,
                "--text",
                text,
                "-o",
                tmp_path / "o.csv",
                "--overwrite",
            ).stdout
            == ""
        )
        assert (tmp_path / "o.csv").read_text().splitlines()[1:] == [",".join(found[0])]
    said = failing(2, "index", "query", tmp_path / "cosine.lsh", "--text", "[1, 2]")
    assert said.endswith("text: the vector has 2 coordinates, not 16 as the index has")
    index = tmp_path / "jaccard.lsh"
    assert "not a list of strings or integers" in failing(
        2, "index", "query", index, "--text", "a b"
    )
    index = tmp_path / "weighted.lsh"
    assert "not an object of elements and their weights" in failing(
        2, "index", "query", index, "--text", "a b"
    )


BAD = {
    "cosine": (
        [
            [1.0] * DIM,
            [1.0, 2.0],
            [float("nan")] * DIM,
            "x",
            None,
            [1.0] * (DIM - 1) + [float("inf")],
        ],
        {
            2: "the vector has 2 coordinates, not 16 as the index has",
            3: "coordinate 0 is nan, not a finite number",
            4: "not a list of numbers: 'x'",
            6: "coordinate 15 is inf, not a finite number",
        },
    ),
    "hamming": (
        ["0" * 31 + "f", "zz" * 16, "0f", "0" * 64, None, 3],
        {
            2: f"a code must be hexadecimal digits, not '{'zz' * 16}'",
            3: "the code must be 32 hexadecimal digits as the rows before, not '0f'",
            4: "the code must be 32 hexadecimal digits as the rows before, not '00000000000000000000000000000000000000"
            "000000000000000000...; texts are read as decimal numbers if different lengths and at least 30 digits "
            "without letters show it; else give integers",
            6: "the code must be 32 hexadecimal digits as the rows before, not 3",
        },
    ),
    "jaccard": (
        [["a", "b"], [1, 2], "x", [0.5], None],
        {
            2: "not a list of strings, as sets are: [1, 2]",
            3: "not a list of strings, as sets are: 'x'",
            4: "not a list of strings, as sets are: [0.5]",
        },
    ),
    "weighted": (
        [{"a": 1}, {"a": 2, "b": 0}, "x", ["a"], None],
        {
            2: "the weight of 'b' must be above 0 and at most 1e+290, not 0: leave out an element that is absent",
            3: "not an object of elements and their weights, as weighted sets are: 'x'",
            4: "not an object of elements and their weights, as weighted sets are: ['a']",
        },
    ),
}


@pytest.mark.parametrize("measure", BAD)
def test_bad_rows(files, tmp_path, measure):
    index, (values, reasons) = tmp_path / "x.lsh", BAD[measure]
    run(
        "index",
        "build",
        files / "old.parquet",
        *KINDS[measure],
        "--id-column",
        "id",
        "-o",
        index,
    )
    before = index.read_bytes()
    bad = write_jsonl(tmp_path / "bad.jsonl", [{"x": value} for value in values])
    first = f"bad.jsonl:2: {reasons[2]}"
    for command in ("query", "add"):
        assert first in failing(1, "index", command, index, bad, "--column", "x")
    result = run(
        "index",
        "query",
        index,
        bad,
        "--column",
        "x",
        "--on-error",
        "skip",
        "-o",
        tmp_path / "o.csv",
    )
    assert f"{len(reasons)} rows rejected; 1 without" in result.stderr
    assert index.read_bytes() == before
    result = run("index", "add", index, bad, "--column", "x", "--on-error", "skip")
    counts = "2 added" if measure == "jaccard" else "1 added + 1 skipped"
    assert f"{counts} + {len(reasons)} rejected; 1 without" in result.stderr
    for name in ("o.csv", "x.lsh"):
        rejects = read_jsonl(tmp_path / f"{name}.rejects.jsonl")
        assert {row["line"]: row["reason"] for row in rejects} == reasons


def test_rows_of_another_length_than_the_entries(files, tmp_path):
    for measure, column, values, said in (
        (
            "hamming",
            "c",
            pa.array([bytes(8), bytes(8)], pa.binary(8)),
            "the code has 64 bits, not 128 as the index has",
        ),
        (
            "cosine",
            "v",
            pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float32(), 2)),
            "2 coordinates, not 16 as the index has",
        ),
        (
            "cosine",
            "v",
            pa.array([["a"]] * 2),
            "vectors must be lists of numbers, not list<",
        ),
    ):
        index = tmp_path / f"{measure}.lsh"
        run(
            "index",
            "build",
            files / "old.parquet",
            *KINDS[measure],
            "--id-column",
            "id",
            "-o",
            index,
            "--overwrite",
        )
        pq.write_table(pa.table({column: values}), tmp_path / "other.parquet")
        command = [
            "index",
            "query",
            index,
            tmp_path / "other.parquet",
            "--column",
            column,
        ]
        assert f"other.parquet: row 1: {'' if 'must' in said else 'the '}" in failing(
            1, *command
        )
        assert said in failing(1, *command)
        assert "2 rows rejected" in run(*command, "--on-error", "skip").stderr
    np.save(tmp_path / "other.npy", np.ones((2, 3), np.float32))
    said = failing(1, "index", "query", tmp_path / "cosine.lsh", tmp_path / "other.npy")
    assert "the vector has 3 coordinates, not 16 as the index has" in said
    codes = HammingIndex(60)
    codes.insert(["a"], np.array([[5]], np.uint64))
    codes.save(tmp_path / "60.lsh")
    write_jsonl(
        tmp_path / "60.jsonl",
        [{"text": "0000000000000005"}, {"text": "f000000000000005"}],
    )
    assert lines(
        run(
            "index",
            "query",
            tmp_path / "60.lsh",
            tmp_path / "60.jsonl",
            "--on-error",
            "skip",
            "-q",
        )
    ) == [(f"{tmp_path / '60.jsonl'}:1", "a", "0.0")]
    assert "60.jsonl:2: the code has more than 60 bits" in failing(
        1, "index", "query", tmp_path / "60.lsh", tmp_path / "60.jsonl"
    )


def test_inputs_of_other_formats(files, tmp_path):
    """The kind of a column of strings comes from the index."""
    index = tmp_path / "x.lsh"
    np.save(tmp_path / "old.npy", VECTORS[:200])
    assert (
        run(
            "index", "build", tmp_path / "old.npy", "--threshold", 0.9, "-o", index
        ).exit_code
        == 0
    )
    lists = [json.dumps(row.tolist()) for row in VECTORS[200:203]]
    (tmp_path / "new.csv").write_text(
        "id,v\n" + "".join(f'{row},"{text}"\n' for row, text in enumerate(lists))
    )
    wanted = [(str(row), f"{tmp_path / 'old.npy'}:{row + 1}") for row in range(3)]
    assert [pair[:2] for pair in lines(run("index", "query", index, tmp_path / "new.csv", "--column", "v",
                                           "--id-column", "id", "-q"))] == wanted  # fmt: skip
    table = write_jsonl(
        tmp_path / "new.jsonl", [{"v": row.tolist()} for row in VECTORS[200:203]]
    )
    found = lines(
        run(
            "index",
            "query",
            index,
            "-",
            "--format",
            "jsonl",
            "--column",
            "v",
            "-q",
            input=table.read_text(),
        )
    )
    assert [match for _, match, _ in found] == [match for _, match in wanted]
    sets = [json.dumps(items).replace('"', '""') for items in SETS[:3]]
    (tmp_path / "sets.csv").write_text("s\n" + "".join(f'"{text}"\n' for text in sets))
    run(
        "index",
        "build",
        tmp_path / "sets.csv",
        "--column",
        "s",
        "--as",
        "set",
        "-o",
        tmp_path / "sets.lsh",
    )
    found = lines(
        run(
            "index",
            "query",
            tmp_path / "sets.lsh",
            files / "old.parquet",
            "--column",
            "s",
            "-q",
        )
    )
    assert [match for _, match, _ in found] == [
        f"{tmp_path / 'sets.csv'}:{row}" for row in (2, 3, 4)
    ]


def test_sparse_vectors_of_python(tmp_path):
    index = NearNeighbors("euclidean", 1.0, dim=4, n=10, nonzeros=2, recall=0.999)
    index.insert(["a"], np.array([[1.0, 0, 0, 2]]))
    index.save(tmp_path / "x.lsh")
    rows = write_jsonl(
        tmp_path / "in.jsonl", [{"text": [1.0, 0, 0, 2.5]}, {"text": [1.0, 1, 1, 0]}]
    )
    assert "in.jsonl:2: 3 coordinates are not zero, more than 2" in failing(
        1, "index", "query", tmp_path / "x.lsh", rows
    )
    found = lines(
        run("index", "query", tmp_path / "x.lsh", rows, "--on-error", "skip", "-q")
    )
    assert [pair[1:] for pair in found] == [("a", "0.5")]


@pytest.mark.slow
def test_another_kind_or_measure_than_the_index(files, tmp_path):
    new = files / "new.parquet"
    for measure in (
        "cosine",
        "hamming",
        "tanimoto",
        "euclidean",
        "jaccard",
        "weighted",
    ):
        run(
            "index",
            "build",
            files / "old.parquet",
            *KINDS[measure],
            "-o",
            tmp_path / f"{measure}.lsh",
        )
    state = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for index, options, said in (
        (
            "cosine",
            ["--as", "code"],
            "cosine.lsh: this is an index of vectors, not of codes",
        ),
        (
            "hamming",
            ["--as", "vector"],
            "hamming.lsh: this is an index of codes, not of vectors",
        ),
        (
            "jaccard",
            ["--as", "text"],
            "jaccard.lsh: this is an index of sets, not of texts",
        ),
        (
            "jaccard",
            ["--as", "vector"],
            "jaccard.lsh: this is an index of sets, not of vectors",
        ),
        (
            "cosine",
            ["--measure", "euclidean"],
            "measure must be cosine or angle for this index, not 'euclidean'",
        ),
        (
            "hamming",
            ["--measure", "tanimoto"],
            "measure must be hamming for this index, not 'tanimoto'",
        ),
        (
            "jaccard",
            ["--measure", "cosine"],
            "measure must be jaccard for this index, not 'cosine'",
        ),
        (
            "cosine",
            ["--radius", 1],
            "radius is for distances, and cosine is a similarity",
        ),
        (
            "jaccard",
            ["--radius", 1],
            "radius is for distances: give a threshold, not 1.0",
        ),
        (
            "weighted",
            ["--as", "vector"],
            "weighted.lsh: this is an index of weighted sets, not of vectors",
        ),
        (
            "weighted",
            ["--measure", "cosine"],
            "measure must be one of jaccard for weighted sets, not 'cosine'",
        ),
        (
            "weighted",
            ["--radius", 1],
            "radius is for distances, and jaccard is a similarity",
        ),
        ("weighted", ["--threshold", 1.5], "threshold must be in (0, 1], not 1.5"),
        (
            "hamming",
            ["--threshold", 0.5],
            "threshold is for similarities, and hamming is a distance",
        ),
        ("hamming", ["--radius", 1.5], "radius must be"),
        ("tanimoto", ["--threshold", 0], "threshold must be in (0, 1], not 0.0"),
        ("cosine", ["-k", 0], "k must be in 1..4611686018427387904, not 0"),
    ):
        assert said in failing(
            2,
            "index",
            "query",
            tmp_path / f"{index}.lsh",
            new,
            "--column",
            "v",
            *options,
        )
    assert "this is an index of vectors, not of codes" in failing(
        2, "index", "add", tmp_path / "cosine.lsh", new, "--column", "c", "--as", "code"
    )
    for column, index, said in (
        ("c", "cosine", "index of vectors, not of codes"),
        ("v", "hamming", "index of codes, not of vectors"),
        ("v", "jaccard", "index of texts or sets, not of vectors"),
        ("s", "cosine", "index of vectors or codes, not of texts or sets"),
        ("w", "cosine", "index of vectors or codes, not of weighted sets"),
        ("w", "jaccard", "index of texts or sets, not of weighted sets"),
        ("s", "weighted", "and a run needs MinHash signatures"),
        ("id", "jaccard", "index of sets, not of texts"),
    ):
        radius = ["--radius", 3] if column == "c" else []
        assert said in failing(
            2,
            "dedup",
            new,
            "--column",
            column,
            *radius,
            "--against",
            tmp_path / f"{index}.lsh",
            "--dry-run",
        )
    said = failing(
        2,
        "dedup",
        new,
        "--column",
        "c",
        "--radius",
        3,
        "--against",
        tmp_path / "tanimoto.lsh",
        "--dry-run",
    )
    assert "the measure of this index is tanimoto, not hamming" in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == state


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--column", "v", "--unit", "char"], "unit is for texts, not for vectors"),
        (
            ["--column", "v", "--num-perm", 64],
            "num_perm is for texts and sets, not for vectors",
        ),
        (
            ["--column", "v", "--bands", 3, "--rows-per-band", 4],
            "bands is for texts and sets, not for vectors",
        ),
        (
            ["--column", "v", "--radius", 0.3],
            "radius is for distances, and cosine is a similarity",
        ),
        (
            ["--column", "v", "--measure", "hamming"],
            "measure must be one of cosine, angle, euclidean, manhattan",
        ),
        (["--column", "c"], "radius is needed for the measure hamming"),
        (
            ["--column", "c", "--radius", 3, "--recall", 0.9],
            "an index of codes finds all entries within the bound",
        ),
        (
            ["--column", "s", "--measure", "containment"],
            "measure must be 'jaccard' with an index",
        ),
        (
            ["--column", "s", "--radius", 1],
            "radius is for vectors and codes, not for sets",
        ),
        (
            ["--column", "w", "--num-perm", 64],
            "num_perm is for texts and sets, not for weighted sets",
        ),
        (
            ["--column", "w", "--measure", "containment"],
            "measure must be one of jaccard for weighted sets",
        ),
    ],
)
def test_bad_options_of_build(files, tmp_path, options, said):
    assert said in failing(
        2, "index", "build", files / "old.parquet", *options, "-o", tmp_path / "x.lsh"
    )
    assert not list(tmp_path.iterdir())


def test_an_index_needs_a_point(tmp_path):
    rows = write_jsonl(tmp_path / "in.jsonl", [{"v": None}])
    said = failing(
        2,
        "index",
        "build",
        rows,
        "--column",
        "v",
        "--as",
        "vector",
        "-o",
        tmp_path / "x.lsh",
    )
    assert "there is no vector in the inputs, of which an index could be made" in said
    assert not (tmp_path / "x.lsh").exists()


def test_only_an_index_of_the_same_class_is_replaced(files, tmp_path):
    (tmp_path / "other.lsh").write_text("my notes")
    for measure in ("cosine", "hamming"):
        command = [
            "index",
            "build",
            files / "old.parquet",
            *KINDS[measure],
            "-o",
            tmp_path / "other.lsh",
        ]
        assert "the output exists already" in failing(2, *command)
    assert (tmp_path / "other.lsh").read_text() == "my notes"
    assert run(*command, "--overwrite").exit_code == 0
    assert len(HammingIndex.open(tmp_path / "other.lsh")) == 200


def test_keys_that_are_there_already_or_of_another_type(files, tmp_path):
    for measure in ("cosine", "hamming"):
        index, options = tmp_path / f"{measure}.lsh", KINDS[measure]
        run(
            "index",
            "build",
            files / "old.parquet",
            *options,
            "--id-column",
            "id",
            "-o",
            index,
        )
        add = [
            "index",
            "add",
            index,
            files / "all.parquet",
            *column_of(options),
            "--id-column",
            "id",
        ]
        state = index.read_bytes()
        assert f"all.parquet: row 1: key 'r0' is in {index} already" in failing(1, *add)
        assert index.read_bytes() == state
        assert (
            "100 added + 200 skipped + 0 rejected"
            in run(*add, "--on-duplicate", "skip").stderr
        )
        assert "300 replaced + 0 rejected" in run(
            *add, "--on-duplicate", "replace"
        ).stderr.replace("0 added + ", "")
        numbers = write_jsonl(
            tmp_path / "numbers.jsonl",
            [{"id": 7, "v": VECTORS[0].tolist(), "c": "0" * 32}],
        )
        said = failing(
            1, "index", "add", index, numbers, *column_of(options), "--id-column", "id"
        )
        assert f"numbers.jsonl:1: key 7: the keys of {index} are strings" in said


def test_integer_keys(tmp_path):
    rows = write_jsonl(
        tmp_path / "in.jsonl", [{"id": i, "c": f"{i:016x}"} for i in range(5)]
    )
    options = ["--column", "c", "--as", "code", "--id-column", "id"]
    run("index", "build", rows, *options, "--radius", 0, "-o", tmp_path / "x.lsh")
    assert lines(
        run("index", "query", tmp_path / "x.lsh", rows, "--column", "c", "-q")
    )[2][1:] == ("2", "0.0")
    assert (
        run("index", "remove", tmp_path / "x.lsh", "3").stderr == "1 removed, 4 left\n"
    )
    assert "the keys of this index are integers" in failing(
        1, "index", "remove", tmp_path / "x.lsh", "x"
    )


def test_damage_is_named(files, tmp_path):
    for measure in ("cosine", "hamming", "tanimoto"):
        index = tmp_path / f"{measure}.lsh"
        run("index", "build", files / "old.parquet", *KINDS[measure], "-o", index)
        data = bytearray(index.read_bytes())
        data[data.index((VECTORS if measure == "cosine" else CODES)[9].tobytes())] ^= 1
        index.write_bytes(data)
        for command in (
            ["verify", index],
            ["info", index],
            ["query", index, files / "new.parquet"],
        ):
            assert "checksum is wrong" in failing(1, "index", *command)


@pytest.mark.skipif(os.name != "posix", reason="open files are not replaced there")
def test_one_writer_at_a_time(files, tmp_path):
    from lshfast.index.index_file import any_index

    index = tmp_path / "x.lsh"
    run(
        "index",
        "build",
        files / "old.parquet",
        *KINDS["hamming"],
        "--id-column",
        "id",
        "-o",
        index,
    )
    with any_index(index, "r+"):
        assert "is open for writing elsewhere" in failing(
            1, "index", "remove", index, "r1"
        )
        assert run("index", "query", index, "--text", "0" * 32).exit_code == 0
    assert run("index", "remove", index, "r1").exit_code == 0


def test_a_wider_bound_has_less_recall(files, tmp_path):
    index = tmp_path / "x.lsh"
    run(
        "index",
        "build",
        files / "old.parquet",
        "--column",
        "v",
        "--threshold",
        0.95,
        "-o",
        index,
    )
    said = run("index", "query", index, files / "new.parquet", "--column", "v").stderr
    assert "similarity: at least 0.95\n" in said
    recalls = []
    for threshold in (0.97, 0.95, 0.8, 0.5):
        wanted = ["--column", "v", "--threshold", threshold]
        said = run("index", "query", index, files / "new.parquet", *wanted).stderr
        recalls.append(float(said.split("recall")[1].split()[0]))
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[1] >= 0.95 > recalls[2]
    with NearNeighbors.open(index) as opened:
        assert recalls[3] == pytest.approx(
            float(opened.plan.recall_at(np.arccos(0.5))), abs=1e-4
        )


def test_in_memory_runs_against_an_index_of_sets(files, tmp_path):
    run(
        "index",
        "build",
        files / "old.parquet",
        *KINDS["jaccard"],
        "--id-column",
        "id",
        "-o",
        tmp_path / "x.lsh",
    )
    with LSHIndex.open(tmp_path / "x.lsh") as index:
        p = index.parameters
        options = {
            "threshold": p.threshold,
            "bands": p.bands,
            "rows_per_band": p.rows_per_band,
        }
        result = lshfast.dedup(
            [set(items) for items in SETS[200:]], against=index, **options
        )
    assert [removal.kept_key for removal in result.removed][:50] == [
        f"r{row}" for row in range(50)
    ]


# ---- weighted sets, whose index holds signatures ----


def weighted_similarity(a, b):
    parts = [
        (WEIGHTED[a].get(item, 0), WEIGHTED[b].get(item, 0))
        for item in WEIGHTED[a] | WEIGHTED[b]
    ]
    return sum(map(min, parts)) / sum(map(max, parts))


def test_similarities_to_weighted_sets_are_estimates(files, tmp_path):
    index = tmp_path / "x.lsh"
    run(
        "index",
        "build",
        files / "old.parquet",
        *KINDS["weighted"],
        "--id-column",
        "id",
        "-o",
        index,
    )
    result = run(
        "index",
        "query",
        index,
        files / "new.parquet",
        "--column",
        "w",
        "--id-column",
        "id",
    )
    found = lines(result)
    errors = [
        float(value) - weighted_similarity(int(key[1:]), int(match[1:]))
        for key, match, value in found
    ]
    assert max(map(abs, errors)) <= 4 * (0.9 * 0.1 / 128) ** 0.5
    assert abs(float(np.mean(errors))) <= 4 * (0.9 * 0.1 / 128 / len(found)) ** 0.5
    assert "estimated similarity: at least 0.7" in result.stderr
    with LSHIndex.open(index) as opened:
        recall = float(opened.bands.probability(0.7))
    assert (
        f"{recall:.4f}   of candidates exactly at that similarity, before estimates are compared"
        in result.stderr
    )
    removed = tmp_path / "removed.csv"
    run("dedup", files / "new.parquet", "--column", "w", "--id-column", "id", "--against", index, "--removed", removed,
        "-o", tmp_path / "kept.parquet")  # fmt: skip
    wanted = [[key, match, value, "true", "true"] for key, match, value in found]
    assert [line.split(",") for line in removed.read_text().splitlines()[1:]] == wanted
    assert "none: weighted sets" in run("index", "info", index).stdout


def test_all_candidates_among_weighted_sets(files, tmp_path):
    index = tmp_path / "x.lsh"
    query = ["--column", "w", "--id-column", "id", "--threshold"]
    run(
        "index",
        "build",
        files / "old.parquet",
        *KINDS["weighted"],
        "--id-column",
        "id",
        "-o",
        index,
    )
    every = run("index", "query", index, files / "new.parquet", *query, 0)
    least = run("index", "query", index, files / "new.parquet", *query, 1e-9)
    assert lines(every) == lines(least)
    assert len(lines(every)) > len(
        lines(run("index", "query", index, files / "new.parquet", *query, 0.99))
    )
    assert "at least" in least.stderr
    assert "at least" not in every.stderr
    assert "x.lsh: threshold must be in" in failing(
        2, "index", "query", index, files / "new.parquet", *query, -1
    )


@pytest.mark.one_case
@pytest.mark.parametrize("seed", [1, 7])
@pytest.mark.parametrize("named", ["strings", "integers"])
def test_an_index_of_weighted_sets_in_python(tmp_path, seed, named):
    """Python and the command line make the same signatures of the same sets, whichever of them made the index."""
    rows = WEIGHTED
    if named == "integers":
        rows = [
            {
                -len(item) if item == "other" else int(item[1:]): row[item]
                for item in row
            }
            for row in WEIGHTED
        ]
    entries = [list(row.items()) for row in rows]
    kind = pa.map_(pa.string() if named == "strings" else pa.int64(), pa.float64())
    table = pa.table({"id": range(N), "w": pa.array(entries, kind)})
    pq.write_table(table, tmp_path / "in.parquet")
    sets = lshfast.WeightedSets.from_sets(rows, seed=seed)
    family = lshfast.families.WeightedMinHashFamily(seed=seed)
    built, options = tmp_path / "built.lsh", ["--column", "w", "--id-column", "id"]
    run(
        "index", "build", tmp_path / "in.parquet", *options, "--seed", seed, "-o", built
    )
    mine = LSHIndex(family=family)
    mine.insert(range(N), sets)
    mine.save(tmp_path / "mine.lsh")
    with LSHIndex.open(built) as opened:
        assert opened.family == family
        found = opened.query(sets, threshold=0.8)
        assert [list(row) for row in found] == [
            list(row) for row in mine.query(sets, threshold=0.8)
        ]
    query = [
        "index",
        "query",
        tmp_path / "mine.lsh",
        tmp_path / "in.parquet",
        *options,
        "-q",
    ]
    assert "this index does not say what its items are: kind='weighted'" in failing(
        2, *query
    )
    answers = lines(run(*query, "--as", "weighted"))
    assert answers == lines(run("index", "query", built, *query[3:]))
    assert len(answers) == sum(map(len, found)) > N + 50


def test_runs_against_an_index_of_weighted_sets_have_its_seed_and_threshold(
    files, tmp_path
):
    index, kept = tmp_path / "x.lsh", tmp_path / "kept.parquet"
    options = ["--column", "w", "--id-column", "id", "-o", kept, "--overwrite"]
    saving = ["--seed", 5, "--threshold", 0.75, "--save-index", index]
    assert run("dedup", files / "old.parquet", *options, *saving).exit_code == 0
    against = ["dedup", files / "new.parquet", *options, "--against", index]
    assert "x.lsh: seed is 5 in this index, not 3" in failing(2, *against, "--seed", 3)
    said = failing(2, *against, "--threshold", 0.7)
    assert (
        "promises to find sets of similarity 0.75, and the threshold of this run is 0.7"
        in said
    )
    removals = []
    for more in ([], ["--memory", "2G"], ["--seed", 5, "--threads", 1]):
        result = run(*against, "--removed", tmp_path / "removed.csv", *more)
        assert result.exit_code == 0, result.output
        removals.append((tmp_path / "removed.csv").read_text())
    assert len(set(removals)) == 1
    assert removals[0].count("true,true") == 51
    assert removals[0].count("r60,1.0") == 1
    result = lshfast.dedup_files(
        files / "new.parquet",
        kept,
        column="w",
        id_column="id",
        against=index,
        save_index=index,
        seed=5,
        overwrite=True,
    )
    assert (result.summary.earlier, result.summary.indexed) == (51, 49)
    assert "sound, 249 entries" in run("index", "verify", index).stdout
    assert (
        run(*against, "--dry-run").stderr.count("100 of them for an earlier entry") == 1
    )


def test_rows_without_elements_are_not_indexed(tmp_path):
    rows = write_jsonl(tmp_path / "in.jsonl", [{"w": {"a": 1}}, {"w": {}}, {"w": None}])
    result = run("index", "build", rows, "--column", "w", "-o", tmp_path / "x.lsh")
    assert "1 added + 2 skipped + 0 rejected" in result.stderr
    none = write_jsonl(tmp_path / "none.jsonl", [{"w": None}])
    options = ["--column", "w", "--as", "weighted"]
    assert (
        run(
            "dedup",
            none,
            *options,
            "--save-index",
            tmp_path / "none.lsh",
            "-o",
            tmp_path / "o.jsonl",
        ).exit_code
        == 0
    )
    assert "sound, 0 entries" in run("index", "verify", tmp_path / "none.lsh").stdout
    assert (
        run("index", "add", tmp_path / "none.lsh", rows, "--column", "w").exit_code == 0
    )


def test_an_output_that_is_no_index_is_not_replaced_by_weighted_sets(files, tmp_path):
    (tmp_path / "x.lsh").write_text("my notes")
    options = [*KINDS["weighted"], "--id-column", "id"]
    said = failing(
        2, "index", "build", files / "old.parquet", *options, "-o", tmp_path / "x.lsh"
    )
    assert "exists" in said
    command = ["dedup", files / "old.parquet", *options, "-o", tmp_path / "o.parquet"]
    assert "exists" in failing(2, *command, "--save-index", tmp_path / "x.lsh")
    assert [path.name for path in tmp_path.iterdir()] == ["x.lsh"]


@pytest.mark.parametrize("name", ["codes.jsonl", "codes.csv", "codes.txt"])
@pytest.mark.parametrize(("digit", "remarked"), [("7", True), ("a", False)])
def test_texts_of_decimal_digits_are_remarked(tmp_path, name, digit, remarked):
    codes = ["1234567812345678", f"123456781234567{digit}", "9234567812345670"]
    lines = {
        "jsonl": [f'{{"text": "{code}"}}' for code in codes], "csv": ["text", *codes], "txt": codes,
    }[name.partition(".")[2]]  # fmt: skip
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    format = ["--format", "lines"] if name.endswith("txt") else []
    options = ["--as", "code", "--measure", "hamming", "--radius", "3"]
    said = run(
        "dedup", tmp_path / name, "-o", tmp_path / "out.jsonl", *options, *format
    ).output
    assert ("were read as hexadecimal" in " ".join(said.split())) == remarked


def test_integers_are_decimal_without_a_remark(tmp_path):
    (tmp_path / "codes.jsonl").write_text(
        '{"text": 1234567812345678}\n{"text": 9234567812345670}\n'
    )
    options = ["--as", "code", "--measure", "hamming", "--radius", "3"]
    result = run(
        "dedup", tmp_path / "codes.jsonl", "-o", tmp_path / "out.jsonl", *options
    )
    assert result.exit_code == 0
    assert "hexadecimal" not in result.output


# ---- a bound for k neighbors ----


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("measure", ["cosine", "angle", "euclidean", "l1"])
def test_a_bound_for_k_neighbors_is_chosen_by_the_rows(tmp_path, measure):
    """95 % of the rows have k others within it, so queries like them find their k nearest, without a warning."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((900, 8)).astype(np.float32)
    for name, part in zip(
        ("entries", "queries"), np.split(vectors, [700]), strict=True
    ):
        column = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), 8)
        pq.write_table(pa.table({"v": column}), tmp_path / f"{name}.parquet")
    index, out = tmp_path / "index.lsh", tmp_path / "out.jsonl"
    build = (
        "index",
        "build",
        tmp_path / "entries.parquet",
        "-o",
        index,
        "--column",
        "v",
        "--measure",
        measure,
        "-k",
        6,
    )
    result = run(*build)
    assert result.exit_code == 0
    with NearNeighbors.open(index) as opened:
        radius = opened.plan.radius
        others = opened.scan(vectors[:700], k=7)
        nearest = opened.scan(vectors[700:], k=6)
    bound = np.cos(radius) if measure == "cosine" else radius
    said = " ".join(result.stderr.split())
    assert f"bound {bound:.4g} " in said
    assert "95 % of the rows have 6 others within it" in said
    assert 0.9 < np.mean(others.distance.reshape(-1, 7)[:, -1] <= radius) < 0.99
    result = run(
        "index",
        "query",
        index,
        tmp_path / "queries.parquet",
        "--column",
        "v",
        "-k",
        6,
        "-o",
        out,
    )
    assert "found fewer than k" not in result.stderr
    found = {
        (row["key"].rsplit(":")[-1], row["match"].rsplit(":")[-1])
        for row in read_jsonl(out)
    }
    wanted = [
        (str(row + 1), near.key.rsplit(":")[-1])
        for row, answers in enumerate(nearest)
        for near in answers
    ]
    assert np.mean([pair in found for pair in wanted]) > 0.93


def test_k_and_a_bound_exclude_each_other(tmp_path):
    path = write(tmp_path / "rows.parquet", list(range(20)))
    build = "index", "build", path, "-o", tmp_path / "index.lsh"
    for options, said in (
        (
            ["--column", "v", "-k", 5, "--threshold", 0.9],
            "leave out k or threshold (0.9)",
        ),
        (
            ["--column", "v", "-k", 5, "--radius", 1, "--measure", "l2"],
            "leave out k or radius (1.0)",
        ),
        (["--column", "v", "-k", 0], "k must be at least 1"),
        (
            ["--column", "v", "-k", 20],
            "k must be less than the number of vectors, 20, not 20",
        ),
        (
            ["--column", "c", "--as", "code", "-k", 5],
            "k chooses a bound for vectors, not for codes",
        ),
        (["--column", "s", "-k", 5], "k chooses a bound for vectors, not for sets"),
        (["--column", "v", "--measure", "l2"], "or k (-k), the number of neighbors"),
    ):
        assert said in failing(2, *build, *options)
        assert not (tmp_path / "index.lsh").exists()

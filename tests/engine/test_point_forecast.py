"""`lshfast tune` for vectors, codes and weighted sets: plans beside those of runs, figures beside definitions."""

import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast import HammingIndex, NearNeighbors, TanimotoIndex
from lshfast._engine.forecasts.points import share_read, shares_of_ones
from tests.cli.commands import failing, on_terminal, run, write_jsonl

pytestmark = pytest.mark.usefixtures("little_work")

N, DIM = 3000, 32
RNG = np.random.default_rng(1)
VECTORS = RNG.standard_normal((N, DIM)).astype(np.float32)
VECTORS[2000:] = VECTORS[:1000] + 0.02 * RNG.standard_normal((1000, DIM))
CODES = RNG.integers(0, 2**63, (N, 4), np.uint64)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("points") / "in.parquet"
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.reshape(-1)), DIM)
    codes = pa.array(
        [code.tobytes() for code in CODES.astype(">u8")[:, ::-1]], pa.binary(32)
    )
    pq.write_table(
        pa.table(
            {"v": vectors, "c": codes, "s": [["a", f"{row}"] for row in range(N)]}
        ),
        path,
    )
    return path


def told(*options):
    result = run("tune", *options)
    assert result.exit_code == 0, result.output
    return result.stdout


def table_of(shown):
    """Return the columns of the table by similarity or distance."""
    lines = shown.split("\n\n")[-2 if "lshfast check" not in shown else -3].splitlines()
    assert lines[0].split()[0] in ("similarity", "distance")
    cells = [line.split("<-")[0].replace(",", "").split() for line in lines[1:]]
    return {float(first): list(map(float, rest)) for first, *rest in cells}


@pytest.mark.slow
def test_the_plan_of_vectors():
    shown = told(
        "--as",
        "vector",
        "--measure",
        "cosine",
        "--threshold",
        0.95,
        "--recall",
        0.5,
        "--rows",
        10**6,
    )
    assert shown.startswith(
        "about 1,000,000 vectors of 768 float32; cosine similarity at least 0.95\n"
    )
    index = NearNeighbors("angle", math.acos(0.95), dim=768, n=4 * 10**6, recall=0.5)
    assert index.describe() in shown
    table = table_of(shown)
    assert 0.5 <= table[0.95][1] < 0.6
    assert table[0.95][2] == pytest.approx(
        float(index.plan.recall_at(math.acos(0.95))), abs=1e-3
    )
    assert table[0.8][0] == pytest.approx(
        float(index.plan.base.collision_probability(math.acos(0.8))), abs=1e-4
    )
    assert table[1.0] == [1, 1, 1]
    assert f"an index{10**6 * index.plan.entry_bytes / 1e6:>12,.0f} MB" in shown
    assert f"recall at the threshold 0.95: {table[0.95][1]:.4f}" in shown


@pytest.mark.slow
def test_the_share_of_pairs_that_a_run_finds():
    """The column of dedup is the probability that a pair of this similarity is found, over many seeds and pairs."""
    shown = told(
        "--as",
        "vector",
        "--threshold",
        0.8,
        "--recall",
        0.5,
        "--dim",
        64,
        "--rows",
        2000,
    )
    wanted = {
        value: cells[1] for value, cells in table_of(shown).items() if 0.8 <= value < 1
    }
    rng, found = np.random.default_rng(3), dict.fromkeys(wanted, 0)
    for seed in range(6):
        for value in wanted:
            left, right = np.linalg.qr(rng.standard_normal((1000, 64, 2)))[0].transpose(
                2, 0, 1
            )
            other = value * left + math.sqrt(1 - value**2) * right
            items = np.concatenate([left, other]).astype(np.float32)
            result = lshfast.pairs(items, threshold=0.79, recall=0.5, seed=seed)
            found[value] += sum(pair["j"] - pair["i"] == 1000 for pair in result)
    for value, count in found.items():
        assert count / 6000 == pytest.approx(wanted[value], abs=0.05)


def test_the_plan_of_codes():
    shown = told("--as", "code", "--radius", 6, "--rows", 10**7)
    assert shown.startswith(
        "about 10,000,000 codes of 64 bits; Hamming distance at most 6\n"
    )
    assert "dedup, pairs: every similar pair is found" in shown
    compared = table_of(shown)
    assert set(compared) == {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}
    assert (compared[0], compared[64]) == ([0], [10**7])
    index = HammingIndex(64, radius=3)
    index.insert(range(100_000), RNG.integers(0, 2**64 - 1, (100_000, 1), np.uint64))
    blocks = index.describe().split(" of 100,000")[0]
    assert f"index: {blocks} of 100,000" in told(
        "--as", "code", "--radius", 3, "--rows", 100_000
    )


def test_codes_with_a_recall():
    shown = told(
        "--as", "code", "--radius", 20, "--dim", 256, "--recall", 0.9, "--rows", 100_000
    )
    assert "rows, bit-sampling" in shown
    table = table_of(shown)
    assert table[20.0][0] == pytest.approx(1 - 20 / 256, abs=1e-4)
    assert 0.9 <= table[20.0][1] < 0.95
    assert {cells[2] for cells in table.values()} == {1}


def test_codes_by_tanimoto_similarity(rows):
    shown = told(rows, "--column", "c", "--measure", "tanimoto", "--threshold", 0.9)
    assert shown.startswith(
        "about 3,000 codes of 256 bits; Tanimoto similarity at least 0.9\n"
    )
    index = TanimotoIndex(256, threshold=0.9)
    codes = RNG.integers(0, 2**64 - 1, (20_000, 4), np.uint64)
    index.insert(range(20_000), codes)
    expected = float(index.describe().split("about ")[1].split()[0].replace(",", ""))
    shown = told(
        "--as",
        "code",
        "--measure",
        "tanimoto",
        "--threshold",
        0.9,
        "--dim",
        256,
        "--rows",
        20_000,
    )
    said = float(shown.split("compared with about ")[1].split()[0].replace(",", ""))
    assert said == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("bits", [1, 7, 64])
@pytest.mark.parametrize("similarity", [0.3, 0.7, 0.9, 1.0])
def test_the_share_of_codes_that_are_compared(bits, similarity):
    shares = shares_of_ones(bits)
    assert shares == pytest.approx(
        [math.comb(bits, k) / 2**bits for k in range(bits + 1)]
    )
    wanted = sum(
        shares[a] * shares[b]
        for a in range(bits + 1)
        for b in range(bits + 1)
        if a == b or (max(a, b) and min(a, b) / max(a, b) >= similarity)
    )
    assert share_read(shares, similarity) == pytest.approx(wanted)


@pytest.mark.slow
def test_input_says_how_many_rows_there_are_and_how_far_apart(rows):
    shown = told(rows, "--column", "v", "--threshold", 0.95)
    assert shown.startswith(
        "about 3,000 vectors of 32 float32; cosine similarity at least 0.95\n"
    )
    middle, near = map(
        float,
        re.search(r"similarity (\S+) \(median\), (\S+) \(the nearest", shown).groups(),
    )
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    every = np.sort((unit @ unit.T)[np.triu_indices(N, 1)])
    assert middle == pytest.approx(np.median(every), abs=0.01)
    assert near == pytest.approx(every[int(0.999 * len(every))], abs=0.05)
    assert "lshfast check, with these options, counts the similar pairs" in shown
    euclidean = told(rows, "--column", "v", "--measure", "euclidean", "--radius", 0.5)
    assert " bands of " in euclidean.split("index")[0]
    told(rows, "--column", "c", "--radius", 9)


@pytest.mark.slow
def test_inputs_of_other_formats(tmp_path):
    np.save(tmp_path / "in.npy", VECTORS)
    wanted = f"about 3,000 vectors of {DIM} float32; euclidean distance at most 2\n"
    assert told(
        tmp_path / "in.npy", "--measure", "euclidean", "--radius", 2
    ).startswith(wanted)
    codes = write_jsonl(
        tmp_path / "in.jsonl", [{"c": f"{row:016x}"} for row in range(100)]
    )
    result = run(
        "tune",
        "-",
        "--format",
        "jsonl",
        "--column",
        "c",
        "--as",
        "code",
        "--radius",
        1,
        input=codes.read_text(),
    )
    assert result.stdout.startswith(
        "about 100 codes of 64 bits; Hamming distance at most 1\n"
    )
    one = write_jsonl(tmp_path / "one.jsonl", [{"v": [1.0, 2.0]}])
    assert "bit-sampling" in told(
        write_jsonl(tmp_path / "code.jsonl", [{"c": "0f"}]),
        "--column",
        "c",
        "--as",
        "code",
        "--radius",
        3,
        "--recall",
        0.9,
    )
    assert told(one, "--column", "v").startswith("about 1 vector of 2 float")


@pytest.mark.slow
def test_the_bands_are_those_of_the_run(rows):
    shown = told(rows, "--column", "v", "--threshold", 0.9)
    result = lshfast.dedup_files(rows, column="v", threshold=0.9)
    bands, width = map(int, re.search(r"(\d+) bands of (\d+) rows", shown).groups())
    assert abs(bands - result.summary.bands) <= 1
    assert abs(width - result.summary.rows_per_band) <= 1


@pytest.mark.slow
def test_distances_without_input_do_not_say_how_far_rows_are_apart():
    shown = told(
        "--as", "vector", "--measure", "euclidean", "--radius", 1.0, "--dim", 16
    )
    assert "the distances of rows decide, which INPUT shows" in shown
    assert shown.startswith(
        "for 1,000,000 vectors of 16 float32; euclidean distance at most 1\n"
    )
    assert len(table_of(shown)[1.0]) == 2
    assert f"{'dedup':>22}" not in shown


def test_sets(rows):
    shown = told(rows, "--column", "s")
    assert re.search(r"about 3,0\d\d sets of 0\.1 MB in all", shown)
    assert "recommended" not in shown
    assert told("--as", "set", "--rows", 1000).startswith("18 bands of 7 rows")


def baskets(count):
    """Return weighted sets of 10 of 200 elements, of which the last tenth are like the first."""
    rng = np.random.default_rng(2)
    drawn = [rng.choice(200, 10, replace=False).tolist() for _ in range(count)]
    rows = [{f"p{part}": 1 + int(rng.integers(3)) for part in parts} for parts in drawn]
    for row in range(count // 10):
        rows[count - 1 - row] = rows[row] | {next(iter(rows[row])): 4}
    return rows


@pytest.mark.slow
def test_weighted_sets(tmp_path):
    rows = baskets(2000)
    path = write_jsonl(
        tmp_path / "in.jsonl", [{"id": i, "amounts": row} for i, row in enumerate(rows)]
    )
    shown = told(path, "--column", "amounts", "--threshold", 0.7)
    assert shown.startswith(
        "about 2,000 weighted sets of about 10 elements; Jaccard similarity at least 0.7\n"
    )
    middle, near = map(
        float,
        re.search(r"similarity (\S+) \(median\), (\S+) \(the nearest", shown).groups(),
    )
    sets = lshfast.WeightedSets.from_sets(rows)
    family = lshfast.families.WeightedMinHashFamily()
    rng = np.random.default_rng(3)
    every = np.sort(1 - np.concatenate([
        family.distance(lshfast.WeightedSets.from_sets([rows[row]]), sets) for row in rng.integers(0, 2000, 40)
    ]))  # fmt: skip
    assert middle == pytest.approx(np.median(every), abs=0.01)
    assert near >= every[int(0.99 * len(every))]
    result = lshfast.dedup_files(path, column="amounts", threshold=0.7).summary
    assert (
        f"{result.bands} bands of {result.rows_per_band} rows, weighted-minhash"
        in shown
    )
    assert f"recall at the threshold 0.7: {result.recall:.4f}" in shown
    assert "lshfast check, with these options, counts the similar pairs" in shown


@pytest.mark.slow
def test_the_share_of_weighted_sets_that_a_run_finds(tmp_path):
    """The column of dedup is the probability that a pair of this similarity is found, over many pairs."""
    pairs = [
        {f"a{pair}": 6 + side, f"b{pair}": 4} for pair in range(4000) for side in (0, 4)
    ]  # 10 of 14
    path = write_jsonl(tmp_path / "in.jsonl", [{"w": row} for row in pairs])
    shown = told(path, "--column", "w", "--threshold", 0.7, "--recall", 0.6)
    cells = table_of(shown)
    assert cells[0.7][0] == pytest.approx(0.7)
    result = lshfast.pairs(pairs, threshold=0.7, recall=0.6)
    bands, width = map(int, re.search(r"(\d+) bands? of (\d+) rows?", shown).groups())
    assert len(result) / 4000 == pytest.approx(
        1 - (1 - (10 / 14) ** width) ** bands, abs=4 * 0.5 / 4000**0.5
    )
    assert 0.6 <= cells[0.7][1] <= len(result) / 4000 + 0.05


def test_weighted_sets_without_input():
    shown = told("--as", "weighted", "--rows", 10**6)
    assert shown.startswith(
        "about 1,000,000 weighted sets of about 100 elements; Jaccard similarity at least 0.8\n"
    )
    assert "random pairs: similarity 0.1 (assumed; INPUT shows it)" in shown
    bands, width = map(int, re.search(r"(\d+) bands of (\d+) rows", shown).groups())
    index = lshfast.LSHIndex(family=lshfast.families.WeightedMinHashFamily())
    assert (
        f"index: {index.bands.bands} bands of {index.bands.rows_per_band} rows, 126 of 128 slots"
        in shown
    )
    for value, (one, found, indexed) in table_of(shown).items():
        assert one == value
        assert found == pytest.approx(1 - (1 - value**width) ** bands, abs=1e-4)
        assert indexed == pytest.approx(float(index.bands.probability(value)), abs=1e-4)
    assert "dedup --memory" in shown


@pytest.mark.weekly
def test_the_memory_of_an_index_of_weighted_sets():
    shown = told("--as", "weighted", "--rows", 100_000)
    index = lshfast.LSHIndex(family=lshfast.families.WeightedMinHashFamily())
    rng = np.random.default_rng(4)
    index.insert(range(100_000), rng.integers(0, 2**63, (100_000, 128), np.uint64))
    said = float(re.search(r"an index +(\d+) MB", shown).group(1)) * 1e6
    assert said == pytest.approx(index.nbytes, rel=0.25)


def test_thresholds_for_which_there_is_no_index_of_weighted_sets(tmp_path):
    shown = told("--as", "weighted", "--threshold", 0.01, "--rows", 1000)
    assert "index: 128 slots do not reach the recall 0.95 at this threshold" in shown
    assert {len(cells) for cells in table_of(shown).values()} == {2}
    assert "an index" not in shown
    rows = write_jsonl(tmp_path / "in.jsonl", [{"w": {"a": 1}}])
    said = failing(
        2,
        "index",
        "build",
        rows,
        "--column",
        "w",
        "--threshold",
        0.01,
        "-o",
        tmp_path / "x.lsh",
    )
    assert "out of reach of num_perm 128" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--as", "vector", "--unit", "char"], "unit is for texts, not for vectors"),
        (
            ["--as", "vector", "--bands", 3, "--rows-per-band", 3],
            "bands is for texts and sets, not for vectors",
        ),
        (["--as", "vector", "--dim", 0], "dim must be in 1..131070, not 0"),
        (
            ["--as", "code", "--radius", 3, "--dim", 5000],
            "dim must be in 1..4096, not 5000",
        ),
        (
            ["--as", "vector", "--rows", -1],
            "rows and mean_bytes must not be negative, not -1",
        ),
        (
            ["--as", "vector", "--radius", 1],
            "radius is for distances, and cosine is a similarity",
        ),
        (["--as", "code"], "radius is needed for the measure hamming"),
        (
            ["--as", "code", "--measure", "cosine"],
            "measure must be one of hamming, tanimoto for codes, not 'cosine'",
        ),
        (
            ["--as", "vector", "--plot", "x.svg"],
            "plot is for texts and sets, not for vectors: index.plan.plot()",
        ),
        (
            ["--as", "code", "--radius", 3, "--plot", "x.svg"],
            "plot is for texts and sets, not for codes: the table",
        ),
        (
            ["--as", "weighted", "--plot", "x.svg"],
            "plot is for texts and sets, not for weighted sets: the table shows",
        ),
        (
            ["--as", "weighted", "--dim", 3],
            "dim is for vectors and codes, not for weighted sets",
        ),
        (
            ["--as", "weighted", "--num-perm", 64],
            "num_perm is for texts and sets, not for weighted sets",
        ),
        (["--as", "weighted", "--threshold", 2], "threshold must be in (0, 1], not 2"),
        (["--dim", 3], "dim is for vectors and codes, not for texts"),
        (["--radius", 3], "radius is for vectors and codes, not for texts"),
    ],
)
def test_bad_options(options, said):
    assert said in failing(2, "tune", *options)


def test_bad_options_with_input(rows, tmp_path):
    for option in ("--rows", "--dim"):
        assert f"{option[2:]} is for a plan without INPUT" in failing(
            2, "tune", rows, "--column", "v", option, 3
        )
    assert "memory is for texts and sets, not for vectors: the table shows" in failing(
        2, "tune", rows, "--column", "v", "--memory", "1G"
    )
    none = write_jsonl(tmp_path / "in.jsonl", [{"v": None}])
    said = failing(2, "tune", none, "--column", "v", "--as", "vector")
    assert "there is no vector at the beginning of the inputs" in said
    said = failing(2, "tune", none, "--column", "v", "--as", "weighted")
    assert "there is no weighted set at the beginning of the inputs" in said
    bad = write_jsonl(tmp_path / "bad.jsonl", [{"v": [1.0, 2.0]}, {"v": [1.0]}])
    assert "bad.jsonl:2: the vector has 1 coordinates, not 2" in failing(
        1, "tune", bad, "--column", "v"
    )


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80, 160])
def test_tables_fit_a_terminal(columns):
    vectors = ["--as", "vector", "--measure", "manhattan", "--radius", 3, "--dim", 8]
    every = {
        60: ["--as", "weighted"],
        80: vectors,
        160: ["--as", "code", "--radius", 6],
    }
    for options in every.values() if columns == 60 else [every[columns]]:
        shown = on_terminal(columns, "tune", *options)
        assert max(map(len, shown.splitlines())) <= columns

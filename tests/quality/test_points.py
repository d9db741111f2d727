"""The check of vectors and codes: exact where all rows are compared, and intervals that hold where they are not."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast.quality import PointCheck
from tests.cli.commands import failing, run

N, COPIES = 3000, 300
KINDS = {
    "cosine": {"threshold": 0.95, "recall": 0.8},
    "angle": {"measure": "angle", "radius": 0.3, "recall": 0.8},
    "euclidean": {"measure": "euclidean", "radius": 1.5, "recall": 0.8},
    "manhattan": {"measure": "manhattan", "radius": 7.0, "recall": 0.8},
    "hamming": {"kind": "code", "radius": 25, "recall": 0.8},
}


def vectors(seed=1):
    """Return vectors of which some have a neighbour, nearer or farther."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((N, 24)).astype(np.float32)
    noise = rng.uniform(0.05, 0.36, COPIES).astype(np.float32)[:, np.newaxis]
    rows[-COPIES:] = rows[:COPIES] + noise * rng.standard_normal((COPIES, 24)).astype(
        np.float32
    )
    return rows


def codes(seed=1):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**64, (N, 4), np.uint64)
    rows[-COPIES:] = rows[:COPIES]
    for row in range(N - COPIES, N):
        for bit in rng.integers(0, 256, rng.integers(1, 31)).tolist():
            rows[row, bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
    return rows


def items_of(name):
    return codes() if name == "hamming" else vectors()


@pytest.mark.one_case
@pytest.mark.parametrize(
    "name",
    [
        *("cosine", "euclidean", "hamming"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("angle", "manhattan")
        ),
    ],
)
def test_all_rows_are_compared(name):
    """The figures are those of all pairs, and of those that a run finds."""
    items, options = items_of(name), KINDS[name]
    result = lshfast.check(items, sample=N, **options)
    every = {key: value for key, value in options.items() if key != "recall"} | {
        "exact": True
    }
    truth = {(i, j) for i, j, _ in lshfast.pairs(items, **every).tolist()}
    found = {(i, j) for i, j, _ in lshfast.pairs(items, **options).tolist()}
    assert isinstance(result, PointCheck)
    assert result.complete
    assert result.pairs.value == result.pairs.low == len(truth) > 100
    assert result.recall.value == pytest.approx(len(found & truth) / len(truth))
    assert result.near_rows.value == len({row for pair in truth for row in pair})
    assert sum(one.pairs.value for one in result.by_nearness) == pytest.approx(
        len(truth)
    )
    assert 0.8 <= result.promised <= 1
    assert result.recall.value > 0.75


@pytest.mark.weekly
@pytest.mark.parametrize("name", ["cosine", "euclidean", "hamming"])
def test_the_interval_holds_what_a_run_finds(name):
    items, options, held = items_of(name), KINDS[name], 0
    for seed in range(30):
        whole = lshfast.check(items, sample=N, seed=seed, **options)
        part = lshfast.check(items, sample=300, seed=seed, **options)
        assert not part.complete
        held += part.recall.low <= whole.recall.value <= part.recall.high
        assert part.pairs.low / 2 <= whole.pairs.value <= part.pairs.high * 2
    assert held >= 27  # of 30; 28 or 29 are expected of intervals of 95 %


def test_the_plan_does_not_decide_what_is_counted():
    """A plan that finds hardly anything is told so, although few rows are compared."""
    items = vectors()
    exact = lshfast.check(items, sample=N, threshold=0.95, recall=0.05)
    part = lshfast.check(items, sample=300, threshold=0.95, recall=0.05)
    assert exact.recall.value < 0.7
    assert part.recall.low <= exact.recall.value <= part.recall.high
    complete = lshfast.check(items, sample=N, threshold=0.95)
    assert complete.recall.value > exact.recall.value


def test_copies_and_rows_without_a_point():
    items = [*vectors().tolist(), vectors()[0].tolist(), None]
    result = lshfast.check(items, sample=10**6)
    assert (result.read, result.copies, result.empty, result.sampled) == (
        N + 2,
        1,
        1,
        N,
    )
    nothing = lshfast.check([None, None], kind="vector")
    assert (nothing.sampled, nothing.empty) == (0, 2)
    assert np.isnan(nothing.recall.value)


def test_what_a_check_of_points_refuses():
    for options, said in (
        ({"unit": "char"}, "unit is for texts, not for vectors"),
        ({"examples": 3}, "examples is for texts and sets, not for vectors"),
        ({"measure": "jaccard"}, "measure must be one of cosine"),
        ({"sample": 0}, "sample must be"),
    ):
        with pytest.raises(ValueError, match=said):
            lshfast.check(vectors(), **options)
    with pytest.raises(
        ValueError,
        match="measure must be 'hamming' for a check of codes, not 'tanimoto'",
    ):
        lshfast.check(codes(), kind="code", measure="tanimoto")
    with pytest.raises(
        ValueError,
        match="measure must be 'jaccard' for a check of texts, not 'containment'",
    ):
        lshfast.check(["a b"], measure="containment")


def test_files(tmp_path):
    rows, path, out = vectors(), tmp_path / "in.parquet", tmp_path / "out.json"
    column = pa.FixedSizeListArray.from_arrays(
        pa.array(rows.reshape(-1)), rows.shape[1]
    )
    pq.write_table(
        pa.table({"v": column, "tags": [[f"t{row % 7}"] for row in range(N)]}), path
    )
    done = run("check", path, "--column", "v", "-o", out)
    assert done.exit_code == 0
    figures, wanted = json.loads(out.read_text("utf-8")), lshfast.check(rows)
    assert (figures["read"], figures["measure"], figures["bound"]) == (
        N,
        "cosine",
        0.95,
    )
    assert figures["recall"]["value"] == wanted.recall.value
    assert f"{wanted.recall.value:.4f}" in done.stdout
    sets = run("check", path, "--column", "tags")
    assert (sets.exit_code, "7 different rows" in sets.stdout) == (0, True)
    for options, said in (
        (
            ["--html", tmp_path / "page.html"],
            "html is for texts and sets, not for vectors",
        ),
        (["--examples"], "examples is for texts and sets, not for vectors"),
        (["--measure", "euclidean"], "radius is needed"),
    ):
        assert said in failing(2, "check", path, "--column", "v", *options)

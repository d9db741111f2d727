"""`lshfast.spark.dedup` and `pairs` of vectors give the rows and the pairs of one machine."""

import numpy as np
import pytest

import lshfast
import lshfast.spark
from tests.spark.answers import distributed, distributed_pairs, native, native_pairs

SCHEMA = "id long, vector array<float>"


def vectors(n, kind=np.float32):
    """Return ids in random order, and vectors near centres, copies, one missing and one without a direction."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(1 + n // 6, 24))
    noise = rng.normal(size=(n, 24)) * rng.choice([0, 0.05, 0.2, 0.3], (n, 1))
    rows = list((centres[rng.integers(0, len(centres), n)] + noise).astype(kind))
    rows[3] = None
    rows[5] = np.zeros(24, kind)
    return (rng.permutation(n) - n // 2).tolist(), rows


def frame_of(spark, ids, rows, schema=SCHEMA):
    lists = [None if row is None else row.tolist() for row in rows]
    return spark.createDataFrame(list(zip(ids, lists, strict=True)), schema)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (np.float32, {}),
        (
            np.float64,
            {"threshold": 0.8, "groups": "components", "keep": "last", "seed": 5},
        ),
    ],
    ids=str,
)
def test_rows_are_those_of_one_machine(spark, kind, options):
    ids, rows = vectors(150, kind)
    schema = SCHEMA if kind is np.float32 else "id long, vector array<double>"
    frame = frame_of(spark, ids, rows, schema).repartition(3)
    found, summary = distributed(frame, "vector", **options)
    expected, figures = native(ids, rows, **options)
    assert found == expected
    names = "read kept removed empty copies pairs groups largest_group"
    names += " bands rows_per_band recall measure"
    for name in names.split():
        assert getattr(summary, name) == getattr(figures, name), name
    assert summary.removed > 20
    assert summary.empty == 2


def test_exact_keys(spark):
    """Also of rows without a vector; the buckets are chosen for the rows that are compared."""
    ids, rows = vectors(150)
    keys = [None if key % 2 else key % 14 for key in ids]
    from pyspark.sql import functions as F

    frame = frame_of(spark, ids, rows).withColumn(
        "key", F.when(F.col("id") % 2 == 0, F.pmod(F.col("id"), F.lit(14)))
    )
    found, summary = distributed(frame, "vector", exact_key="key", keep="last")
    expected, figures = native(ids, rows, exact_key=keys, keep="last")
    assert found == expected
    assert (summary.same_key, summary.copies) == (figures.same_key, figures.copies)
    assert min(summary.same_key, summary.groups, figures.copies) > 3


def test_pairs_are_those_of_one_machine(spark):
    ids, rows = vectors(120)
    ids = [f"é{key}" if key % 3 else f"😀{key}" for key in ids]
    frame = frame_of(spark, ids, rows, "id string, vector array<float>")
    options = {"threshold": 0.8, "top": 2}
    found, summary = distributed_pairs(frame, "vector", **options)
    assert found == native_pairs(ids, rows, **options)
    assert summary.pairs == len(found) > 50


@pytest.mark.one_case
@pytest.mark.parametrize("rows", [[], [None, np.zeros(3)], [None, np.ones(3)]], ids=str)
def test_frames_with_less_than_two_vectors(spark, rows):
    ids = list(range(len(rows)))
    frame = frame_of(spark, ids, rows)
    assert distributed(frame, "vector")[0] == [
        (key, True, key, 1.0, key) for key in ids
    ]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [[1.0, 2.0], [1.0, float("nan")]],
            "the vector with id 1 cannot be used: coordinate 1 is nan, not a finite number",
        ),
        (
            [[1.0, 2.0], [1.0, 2.0, 3.0]],
            "the vector with id 1 .*has 3 coordinates, not 2 as the .*",
        ),
    ],
    ids=["nan", "width"],
)
def test_vectors_that_cannot_be_used_are_named_by_id(spark, rows, message):
    frame = spark.createDataFrame(list(enumerate(rows)), SCHEMA).repartition(2, "id")
    with pytest.raises(ValueError, match=f"^{message}$"):
        lshfast.spark.dedup(frame, "vector")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"measure": "angle"}, ValueError, "^measure must be cosine for vectors on Sp"),
        ({"exact": True}, ValueError, "^exact is not an option of lshfast dedup --eng"),
        ({"unit": "char"}, ValueError, "^unit is for texts, not for vectors$"),
        ({"keep": "longest"}, ValueError, "^keep must not be 'longest' for the measu"),
        ({"max_candidates": 300}, TypeError, r"^dedup\(\) has no option 'max_candid"),
    ],
    ids=str,
)
def test_options_that_vectors_do_not_have(spark, options, error, message):
    frame = spark.createDataFrame([(1, [1.0])], SCHEMA)
    with pytest.raises(error, match=message):
        lshfast.spark.dedup_with_summary(frame, "vector", **options)

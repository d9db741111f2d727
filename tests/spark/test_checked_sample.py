"""`lshfast.spark.check` gives the figures of `lshfast.check` or estimates them."""

from dataclasses import replace

import pytest

import lshfast
import lshfast.spark
from lshfast.spark import draw
from tests.spark.answers import corpus

ROWS = 150


@pytest.fixture(scope="module")
def rows():
    return corpus(ROWS)


@pytest.fixture(scope="module")
def frame(spark, rows):
    frame = (
        spark.createDataFrame(list(zip(*rows, strict=True)), "id long, text string")
        .repartition(3)
        .persist()
    )
    yield frame
    frame.unpersist()


def figures(result):
    """Return the figures of a check without its times."""
    return replace(result, stages={}, seconds=0.0)


@pytest.mark.weekly
def test_all_rows_have_the_figures_of_one_machine(rows, frame):
    ids, texts = rows
    order = sorted(range(ROWS), key=ids.__getitem__)
    options = {"threshold": 0.7, "size": 2, "recall": 0.8, "seed": 2}
    expected = lshfast.check([texts[row] for row in order], examples=2, **options)
    found = lshfast.spark.check(frame, examples=2, **options)
    assert figures(replace(found, examples=())) == figures(
        replace(expected, examples=())
    )
    keys = [
        (ids[order[example.key_i]], ids[order[example.key_j]])
        for example in expected.examples
    ]
    assert keys
    assert [(example.key_i, example.key_j) for example in found.examples] == keys


def test_a_sample_tells_about_all_rows(rows, frame):
    ids, texts = rows
    order = sorted(range(ROWS), key=ids.__getitem__)
    expected = lshfast.check([texts[row] for row in order], threshold=0.7)
    found = lshfast.spark.check(frame, threshold=0.7, sample=60)
    assert 0 < found.sampled < expected.sampled == expected.distinct
    assert (found.read, found.copies, found.empty) == (
        ROWS,
        expected.copies,
        expected.empty,
    )
    for name in ("pairs", "near_rows", "recall", "row_recall"):
        estimate = getattr(found, name)
        assert estimate.low <= getattr(expected, name).value <= estimate.high, name
    assert found.candidates == pytest.approx(expected.candidates, rel=0.5)


@pytest.mark.weekly
def test_partitions_do_not_matter(frame):
    options = {"threshold": 0.7, "sample": 60}
    found = lshfast.spark.check(frame, **options)
    assert figures(lshfast.spark.check(frame.coalesce(1), **options)) == figures(found)


@pytest.mark.weekly
def test_all_different_rows_are_a_complete_sample(rows, frame):
    """There are more rows than the sample has, but they are copies."""
    ids, texts = rows
    order = sorted(range(ROWS), key=ids.__getitem__)
    expected = lshfast.check([texts[row] for row in order], threshold=0.7)
    found = lshfast.spark.check(frame, threshold=0.7, sample=expected.distinct)
    assert found.complete
    for name in ("pairs", "near_rows", "recall", "histogram", "by_similarity"):
        assert getattr(found, name) == getattr(expected, name), name


@pytest.mark.weekly
@pytest.mark.parametrize("texts", [["one two", "ONE two", "three"], [None, "", "?"]])
def test_few_different_rows(spark, texts):
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string")
    found = lshfast.spark.check(frame, sample=1)
    expected = lshfast.check(texts, sample=1)
    assert (found.read, found.copies, found.empty) == (
        expected.read,
        expected.copies,
        expected.empty,
    )


@pytest.fixture(scope="module")
def crowd(spark):
    """Similar short texts: 199 different ones, and 101 copies."""
    texts = [
        f"order {row // 3} of {row % 3 // 2} parts is on its way" for row in range(300)
    ]
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string")
    frame = frame.repartition(2).persist()
    yield frame
    frame.unpersist()


def limit_pairs(monkeypatch, near, crowd, pairs):
    """Set the limits of the rows near to the sample, of those near to 4 rows, and of a task."""
    monkeypatch.setattr(draw, "MOST_NEAR", near)
    monkeypatch.setattr(draw, "LEAST_SAMPLE", 4)
    monkeypatch.setattr(draw, "MOST_CROWD", crowd)
    monkeypatch.setattr(draw, "MOST_PAIRS", pairs)


@pytest.mark.weekly
@pytest.mark.one_case
@pytest.mark.parametrize("pairs", [800, 1600])
def test_a_crowd_has_the_figures_of_a_smaller_sample(monkeypatch, crowd, pairs):
    """The first limit of a task is reached only because it counts copies."""
    options = {"threshold": 0.5, "size": 1, "sample": 40}
    limit_pairs(monkeypatch, 1200, 1000, 10**6)
    expected = lshfast.spark.check(crowd, **options)
    assert 4 < expected.sampled < 12
    total = 199 * 198 / 2
    assert expected.pairs.low <= total <= expected.pairs.high
    limit_pairs(monkeypatch, 1200, 1000, pairs)
    assert figures(lshfast.spark.check(crowd, **options)) == figures(expected)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("most", [50, 150])
def test_a_crowd_that_the_driver_would_collect_is_an_error(monkeypatch, crowd, most):
    """In the first case, each task stops."""
    limit_pairs(monkeypatch, 100, most, 200)
    message = f"of 4 rows, is near to more than {most} rows"
    with pytest.raises(OverflowError, match=message):
        lshfast.spark.check(crowd, threshold=0.5, size=1, sample=40)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"ignore_common": 0.5}, TypeError, "has no option 'ignore_common'"),
        ({"sample": 0}, ValueError, "^sample must be"),
        ({"measure": "containment"}, ValueError, "^measure must be 'jaccard'"),
        ({"kind": "set"}, TypeError, "has no option 'kind'"),
        ({"column": "day"}, TypeError, "has no option 'column'"),
        ({"id": "day"}, ValueError, "^id: there is no column 'day'"),
        ({"text": "day"}, ValueError, "^text: there is no column 'day'"),
        ({"text": "id"}, TypeError, "^text: column 'id' must be of type string, bina"),
    ],
    ids=str,
)
def test_options_that_cannot_be_used(frame, options, error, said):
    with pytest.raises(error, match=said):
        lshfast.spark.check(frame, **options)


def test_a_text_that_is_not_utf8_is_named_by_its_id(spark):
    frame = spark.createDataFrame([(4, b"a"), (7, b"\xff")], "id int, text binary")
    with pytest.raises(ValueError, match=r"^the text with id 7 .*UTF-8"):
        lshfast.spark.check(frame)

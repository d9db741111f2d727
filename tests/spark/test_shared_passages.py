"""`lshfast.spark.passages` finds the passages of `lshfast.passages.find`."""

import random

import pyarrow as pa
import pytest

import lshfast.passages
import lshfast.spark
from lshfast.spark import Limits

OPTIONS = {"length": 8, "most_copies": 3}
SHARED = [
    f"shared passage {number} of words that stand in several texts, {number * 7} times"
    for number in range(5)
]


def texts_with_passages(n, seed):
    """Return texts of random words with shared passages: some often, some twice in a text, some with other letters."""
    rng = random.Random(seed)
    texts = []
    for row in range(n):
        words = [f"w{rng.getrandbits(24):x}" for _ in range(40)]
        for passage in rng.choices(SHARED, k=rng.choice([0, 0, 1, 2])):
            words.insert(
                rng.randrange(len(words)), rng.choice([passage, passage.upper()])
            )
        texts.append(rng.choice([" ".join(words), " 東京 ".join(words)]))
        if row % 20 == 7:
            texts[-1] += " " + texts[-1]  # all of it twice in one text
    return texts


@pytest.fixture(scope="module")
def corpus():
    """Return ids in another order than the rows, and their texts, with nulls."""
    texts = [*texts_with_passages(80, 3), None, "", "two words"]
    ids = random.Random(4).sample(range(-500, 500), len(texts))
    return ids, texts


@pytest.fixture(scope="module")
def frame(spark, corpus):
    frame = (
        spark.createDataFrame(list(zip(*corpus, strict=True)), "id long, text string")
        .repartition(5)
        .persist()
    )
    frame.count()
    yield frame
    frame.unpersist()


def on_one_machine(ids, texts, against=None, ids_j=None, **options):
    """Return the passages that `lshfast.passages.find` finds in the order of the ids, with ids."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    found = lshfast.passages.find(
        [texts[row] for row in order], against, **OPTIONS | options
    )
    ids_i = [ids[row] for row in order]
    ids_j = ids_i if against is None else ids_j or range(len(against))
    return sorted(
        (ids_i[i], ids_j[j], *places) for i, j, *places in found.spans.tolist()
    )


def on_spark(frame, *arguments, **options):
    """Return the passages that Spark finds, sorted."""
    found = lshfast.spark.passages(frame, *arguments, **OPTIONS | options)
    rows = sorted(map(tuple, found.collect()))
    found.unpersist()
    return rows


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"unit": "char", "length": 40}, marks=pytest.mark.weekly),
        pytest.param({"most_copies": None}, marks=pytest.mark.weekly),
    ],
    ids=str,
)
def test_passages_of_a_benchmark(corpus, frame, options):
    questions = [*SHARED, SHARED[2], "nothing that occurs", *texts_with_passages(9, 3)]
    expected = on_one_machine(*corpus, questions, **options)
    assert len(expected) > 50
    assert on_spark(frame, against=pa.array(questions), **options) == expected


def test_a_benchmark_from_an_iterator(corpus, frame):
    expected = on_one_machine(*corpus, SHARED)
    assert on_spark(frame, against=(text for text in SHARED)) == expected


def test_a_benchmark_in_a_frame_is_in_the_order_of_its_ids(spark, corpus, frame):
    names = ["q😀", "q\uffff", "q1", "q0", "q2"]
    questions = dict(zip(names, [*SHARED[:3], SHARED[1], SHARED[1]], strict=True))
    against = spark.createDataFrame(list(questions.items()), "id string, text string")
    names = sorted(names)
    expected = on_one_machine(
        *corpus, [questions[name] for name in names], names, most_copies=1
    )
    assert on_spark(frame, against=against, most_copies=1) == expected


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({}, Limits(broadcast_rows=0)),
        pytest.param({"most_copies": None}, Limits(), marks=pytest.mark.weekly),
        pytest.param(
            {"unit": "char", "length": 40}, Limits(0), marks=pytest.mark.weekly
        ),
    ],
    ids=str,
)
def test_passages_of_a_corpus(corpus, frame, options, limits):
    expected = on_one_machine(*corpus, **options)
    assert any(i == j for i, j, *_ in expected)
    assert on_spark(frame, limits=limits, **options) == expected


def test_columns_of_passages(spark):
    rows = [("b", "one two three four"), ("a", "zero one two three four")]
    frame = spark.createDataFrame(rows, "doc string, body string")
    found = lshfast.spark.passages(frame, "body", "doc", length=4)
    names = found.columns
    assert names[:2] == ["id_i", "id_j"]
    assert names[2:] == [
        name for name in lshfast.passages.find(["a"]).spans.dtype.names if len(name) > 1
    ]
    (row,) = found.collect()
    assert (row.id_i, row.id_j, row.units, row.i_start, row.j_end) == (
        "a",
        "b",
        4,
        5,
        18,
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("rows", "options", "error", "said"),
    [
        (
            [(1, b"a"), (1, b"b")],
            {},
            ValueError,
            "id must be different, and 1 occurs 2",
        ),
        ([(None, b"a")], {}, ValueError, "^id must not be null"),
        pytest.param(
            [(7, b"one \xff")],
            {},
            ValueError,
            "^the text with id 7 .*not UTF-8",
            marks=pytest.mark.weekly,
        ),
        ([(7, b"\xff")], {"against": ["a"]}, ValueError, "^the text with id 7 .*UTF-8"),
        ([(None, b"a")], {"against": ["a"]}, ValueError, "^id must not be null"),
        (
            [(7, b"a")],
            {"text": "id"},
            TypeError,
            "^text: column 'id' must be of type string, binary, not int$",
        ),
        ([(7, b"a")], {"length": 0}, ValueError, "^length must be"),
        ([(7, b"a")], {"against": [5]}, TypeError, "^against: "),
        ([(7, b"a")], {"against": "a text"}, TypeError, "^against: "),
        (
            [(7, b"a")],
            {"against": ["a", b"\xff"]},
            ValueError,
            "^against: the text with id 1 .*UTF-8",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_searched(spark, rows, options, error, said):
    frame = spark.createDataFrame(rows, "id int, text binary")
    with pytest.raises(error, match=said):
        lshfast.spark.passages(frame, **options)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, "a"), (1, "b")], "^the values of id of against must be different, and 1"),
        ([(None, "a")], "^id of against must not be null, as it is in 1 of the rows$"),
    ],
    ids=["equal", "null"],
)
def test_ids_of_a_benchmark_that_cannot_be_used(spark, frame, rows, message):
    against = spark.createDataFrame(rows, "id int, text string")
    with pytest.raises(ValueError, match=message):
        lshfast.spark.passages(frame, against=against)

"""`lshfast.spark.pairs` gives the pairs of `lshfast.pairs`."""

import random

import pytest

import lshfast
import lshfast.spark
from lshfast.spark import Limits
from tests.spark.answers import WORDS, corpus, distributed_pairs, native_pairs

SCHEMA = "id long, text string"


def short_corpus(n, seed):
    """Return ids in random order, and texts that often have equal bytes, equal tokens, or most tokens in common."""
    rng = random.Random(seed)
    texts = []
    for _ in range(n):
        words = WORDS[:8] if rng.random() < 0.5 else WORDS[-8:]
        words = words[: rng.randrange(4, 9)]
        text = rng.choice([" ", "  ", ", "]).join(words)
        texts.append(
            rng.choice(
                [text, text, text.upper(), f"{text}.", "", None]
                if rng.random() < 0.2
                else [text]
            )
        )
    return rng.sample(range(-n, n), n), texts


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("seed", "kind"), [(0, "long"), (1, "string"), (2, "binary text")]
)
def test_copies_are_paired_with_the_first_row_of_their_tokens(spark, seed, kind):
    """Rows of equal bytes and rows of equal tokens, mixed in the order of ids."""
    ids, texts = short_corpus(60, seed)
    if kind == "string":
        ids = [
            f"é{key}" if key % 3 else f"😀{key}" for key in ids
        ]  # in another order as UTF-16
    frame = spark.createDataFrame(
        [
            (key, text.encode() if text is not None and kind == "binary text" else text)
            for key, text in zip(ids, texts, strict=True)
        ],
        f"id {'string' if kind == 'string' else 'long'}, text {'binary' if kind == 'binary text' else 'string'}",
    )
    options = {
        "size": 2,
        "threshold": 0.6,
        "measure": "jaccard" if seed else "containment",
    }
    options["exact"] = False
    found, summary = distributed_pairs(
        frame.repartition(1 + 3 * seed), limits=Limits(0, 1 << seed), **options
    )
    assert found == native_pairs(ids, texts, **options)
    order = sorted(range(len(ids)), key=lambda row: ids[row])
    assert (
        summary.copies
        == lshfast.dedup([texts[row] for row in order], size=2).summary.copies
    )
    assert summary.empty == sum(not text for text in texts)


def test_a_copy_of_a_copy(spark):
    """The row that represents equal texts has the tokens of an earlier row."""
    texts = [
        "One two three",
        "one, two, three!",
        "one two three",
        "ONE TWO THREE",
        "one, two, three!",
        "one two three",
    ]
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string")
    found, summary = distributed_pairs(frame)
    assert (
        found == [(0, row, 1.0) for row in range(1, 6)] == native_pairs(range(6), texts)
    )
    assert (summary.copies, summary.pairs) == (5, 5)


@pytest.mark.one_case
@pytest.mark.parametrize(
    "texts", [[], [None, "", "?", ""], ["one two three", "four five six"]], ids=str
)
def test_frames_without_pairs(spark, texts):
    frame = spark.createDataFrame(list(enumerate(texts)), "id short, text string")
    found = lshfast.spark.pairs(frame)
    assert found.collect() == []
    assert [field.dataType.simpleString() for field in found.schema] == [
        "smallint",
        "smallint",
        "double",
    ]


def test_names_and_types_of_the_columns(spark):
    frame = spark.createDataFrame(
        [("b", "one two"), ("a", "one two")], "doc string, body string"
    )
    found = lshfast.spark.pairs(frame, "body", "doc")
    assert found.columns == ["id_i", "id_j", "similarity"]
    assert list(map(tuple, found.collect())) == [("a", "b", 1.0)]
    found.unpersist()


def test_nothing_but_the_result_stays_persisted(spark):
    frame = spark.createDataFrame(list(zip(*corpus(60), strict=True)), SCHEMA)
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    found = lshfast.spark.pairs(frame)
    assert len(set(spark.sparkContext._jsc.getPersistentRDDs()) - before) == 1
    found.unpersist(blocking=True)
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= before


@pytest.mark.parametrize("name", ["groups", "keep", "against", "copies"])
def test_arguments_that_pairs_do_not_have(spark, name):
    frame = spark.createDataFrame([(1, "a")], SCHEMA)
    with pytest.raises(TypeError, match=rf"^pairs\(\) has no option '{name}'"):
        lshfast.spark.pairs_with_summary(frame, **{name: None})


def test_ids_that_cannot_be_used(spark):
    frame = spark.createDataFrame([(key, f"text {key}") for key in (3, 5, 5)], SCHEMA)
    with pytest.raises(
        ValueError, match=r"^the values of id must be different, and 5 occurs 2 times$"
    ):
        lshfast.spark.pairs(frame)

"""Above `Limits.broadcast_rows`, texts without a component are dropped by a filter before the shuffle."""

import random

import pytest

from lshfast.spark import Limits
from tests.spark.answers import distributed, distributed_pairs, native, native_pairs

ROWS = 600
WORDS_OF_TEXT = 300


@pytest.fixture
def no_own_broadcasts(spark):
    """Let Spark broadcast only what it is told to, as if all tables were large."""
    name = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.conf.get(name)
    spark.conf.set(name, "-1")
    yield spark
    spark.conf.set(name, before)


def shuffled_bytes(spark):
    """Return how many bytes all stages until now have written for shuffles."""
    context = spark.sparkContext
    none = context._gateway.new_array(context._jvm.double, 0)
    statuses = context._jvm.java.util.ArrayList()
    context._jsc.sc().listenerBus().waitUntilEmpty()
    stages = (
        context._jsc.sc().statusStore().stageList(None, False, False, none, statuses)
    )
    return sum(
        stages.apply(number).shuffleWriteBytes() for number in range(stages.size())
    )


@pytest.mark.parametrize(
    "kind", ["long", pytest.param("string", marks=pytest.mark.weekly)]
)
def test_only_texts_of_components_are_shuffled(no_own_broadcasts, kind):
    """Every tenth text has a copy with another word; the others share nothing."""
    spark = no_own_broadcasts
    rng = random.Random(5)
    texts = []
    while len(texts) < ROWS:
        words = [f"{rng.getrandbits(40):x}" for _ in range(WORDS_OF_TEXT)]
        texts.append(" ".join(words))
        if len(texts) % 10 == 0:
            texts.append(" ".join([*words[1:], "end"]))
    texts = texts[:ROWS]
    ids = [number if kind == "long" else f"p{number:04}" for number in range(ROWS)]
    frame = spark.createDataFrame(
        list(zip(ids, texts, strict=True)), f"id {kind}, text string"
    ).repartition(2)
    frame.persist().count()
    limits = Limits(broadcast_rows=0)
    before = shuffled_bytes(spark)
    assert distributed(frame, limits=limits)[0] == native(ids, texts)[0]
    assert shuffled_bytes(spark) - before < sum(map(len, texts)) / 2
    frame.unpersist()


@pytest.mark.weekly
@pytest.mark.parametrize("filter_bytes", [1, 1 << 28])
def test_a_filter_of_any_size_drops_no_row(spark, filter_bytes):
    """A filter that is too small passes rows that are in no component, which the join drops."""
    texts = [f"page {row // 3} of the site with number {row // 3}" for row in range(99)]
    ids = list(range(99))
    frame = spark.createDataFrame(
        list(zip(ids, texts, strict=True)), "id int, text string"
    )
    limits = Limits(broadcast_rows=0, filter_bytes=filter_bytes)
    options = {"size": 2, "threshold": 0.5}
    found, _ = distributed_pairs(frame, limits=limits, **options)
    assert found == native_pairs(ids, texts, **options)

"""Corpora for the tests, and the answers of the two engines as lists of rows in the order of ids."""

import random

import lshfast
import lshfast.spark

WORDS = [f"w{number}" for number in range(200)] + ["straße", "Ñandú", "東京", "😀x"]


def corpus(n, seed=1):
    """Return ids in random order, and texts with near-duplicates, chains, copies, other cases, and nothing."""
    rng = random.Random(seed)
    originals = [[rng.choice(WORDS) for _ in range(120)] for _ in range(1 + n // 6)]
    texts = []
    for _ in range(n):
        words = list(rng.choice(originals))
        for _ in range(rng.choice([0, 0, 1, 1, 3, 6])):
            words[rng.randrange(len(words))] = rng.choice(WORDS)
        text = " ".join(words)
        texts.append(rng.choice([text, text, text.upper(), text + "!"]))
    for row, text in zip(
        rng.sample(range(n), min(4, n)), [None, "", "...", None], strict=False
    ):
        texts[row] = text
    return rng.sample(range(-n, n), n), texts


def native(ids, texts, keep="first", **options):
    """Return the rows of the native engine for the rows in the order of their ids, and its summary."""
    order = sorted(range(len(ids)), key=lambda row: ids[row])
    if not isinstance(keep, str):
        keep = [keep[row] for row in order]
    if "exact_key" in options:
        options["exact_key"] = [options["exact_key"][row] for row in order]
    found = lshfast.dedup(
        [texts[row] for row in order],
        keys=[ids[row] for row in order],
        keep=keep,
        **options,
    )
    columns = [column.to_pylist() for column in found.to_arrow().columns]
    columns[4] = [ids[order[row]] for row in columns[4]]
    return list(zip(*columns, strict=True)), found.summary


def distributed(frame, *arguments, **options):
    """Return the rows of the Spark engine, and its summary."""
    found, summary = lshfast.spark.dedup_with_summary(frame, *arguments, **options)
    rows = sorted(map(tuple, found.collect()))
    found.unpersist()
    return rows, summary


def native_pairs(ids, texts, **options):
    """Return the pairs of the native engine for the rows in the order of their ids, by ids."""
    order = sorted(range(len(ids)), key=lambda row: ids[row])
    found = lshfast.pairs([texts[row] for row in order], **{"exact": False} | options)
    return [
        (ids[order[i]], ids[order[j]], similarity)
        for i, j, similarity in found.tolist()
    ]


def distributed_pairs(frame, *arguments, **options):
    """Return the pairs of the Spark engine in the order of the ids, and its summary."""
    found, summary = lshfast.spark.pairs_with_summary(frame, *arguments, **options)
    assert found.columns == ["id_i", "id_j", "similarity"]
    rows = sorted(map(tuple, found.collect()))
    found.unpersist()
    return rows, summary

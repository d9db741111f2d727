"""The nearest texts of records, beside all cosines."""

import math
from collections import Counter

import numpy as np
import pytest

from lshfast.records import Field, NearestBlocks, RecordTable
from lshfast.records.candidates import record_texts
from lshfast.records.comparison import overlap
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import code_field

WORDS = [
    "red",
    "blue",
    "green",
    "lamp",
    "table",
    "chair",
    "small",
    "large",
    "oak",
    "kx200",
    "kx210",
    "3",
    "40",
]


def linkage(a, b=None, threads=1):
    tables = [RecordTable(columns) for columns in (a, b) if columns is not None]
    fields = {
        name: code_field(Field(name, kind="text"), tables) for name in tables[0].names
    }
    return Linkage(tables, fields, threads=threads)


def products(n, seed):
    rng = np.random.default_rng(seed)
    return {
        "title": [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(n)],
        "shop": [rng.choice(["north", "south", None]) for _ in range(n)],
    }


def trigrams(text):
    return {text[start : start + 3] for start in range(max(1, len(text) - 2))}


def cosine(a, b, counts, size):
    def weight(term):
        return math.log1p(size / counts[term])

    shared = sum(weight(term) ** 2 for term in a & b)
    return shared / math.sqrt(
        sum(weight(t) ** 2 for t in a) * sum(weight(t) ** 2 for t in b)
    )


def expected(linked, neighbors):
    """Return the pairs of rows whose texts are equal, or one among the nearest of the other, by all cosines."""
    texts = [
        [" ".join(value for field in linked.fields.values() if (code := field.codes[side][row]) >= 0
                  for value in [field.values[code]]) for row in range(size)]
        for side, size in enumerate(linked.sizes)
    ]  # fmt: skip
    tables = texts[: 1 if linked.b is None else 2]
    rows = [text for table in tables for text in table if text]
    counts = Counter(term for text in rows for term in trigrams(text))
    found = set()
    for side in range(len(tables)):
        own = texts[side]
        other = texts[1 - side] if linked.b is not None else texts[side]
        for text in set(own) - {""}:
            cosines = {
                rival: cosine(trigrams(text), trigrams(rival), counts, len(rows))
                for rival in set(other) - {"", text}
            }
            nearest = sorted(-value for value in cosines.values() if value > 0)[
                :neighbors
            ]
            least = -nearest[-1] if nearest else 2
            # Of equally near texts, any may be left out.
            found |= {
                (side, text, rival, value > least + 1e-9)
                for rival, value in cosines.items()
                if value >= least - 1e-9
            }
    return texts, found


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("neighbors", [1, 3, 50])
def test_the_nearest_are_those_of_all_cosines(single, neighbors):
    linked = linkage(products(60, 1), None if single else products(80, 2))
    (left, right), near = expected(linked, neighbors)
    rows = zip(
        *linked.rows_of(
            NearestBlocks(neighbors=neighbors, max_block=10**6).pairs(linked).places
        ),
        strict=True,
    )
    pairs = {(left[i], right[j]) for i, j in rows}
    allowed = {(a, b) if side == 0 else (b, a) for side, a, b, _ in near} | {
        (a, a) for a in {*left} & {*right}
    }
    needed = {(a, b) if side == 0 else (b, a) for side, a, b, sure in near if sure}
    if single:
        pairs |= {(b, a) for a, b in pairs}
        allowed |= {(b, a) for a, b in allowed}
    else:
        needed |= {(a, a) for a in {*left} & {*right} if a}
    assert needed <= pairs <= allowed


def test_threads_and_pieces_do_not_change_the_pairs(monkeypatch):
    places = NearestBlocks().pairs(linkage(products(300, 3), products(200, 4))).places
    monkeypatch.setattr(overlap, "PIECE_TEXTS", 7)
    assert (
        NearestBlocks()
        .pairs(linkage(products(300, 3), products(200, 4), threads=3))
        .places
        == places
    ).all()


def test_the_most_frequent_terms_are_left_out(monkeypatch):
    """With few products, only the rarest terms are looked at; the pairs that share them are still found."""
    a = {
        "title": [
            f"the same words in all texts {row:05d}x" for row in range(0, 90_000, 300)
        ]
    }
    monkeypatch.setattr(record_texts, "PRODUCTS", 20_000)
    monkeypatch.setattr(record_texts, "PRODUCTS_A_TEXT", 1)
    linked = linkage(a, a)
    found = NearestBlocks(neighbors=1).pairs(linked)
    i, j = linked.rows_of(found.places)
    assert set(range(300)) <= set(i[i == j].tolist())


def test_one_field_and_none():
    linked = linkage(
        {"x": ["a b c d", None], "y": ["one", None]},
        {"x": ["a b c e", None], "y": [None, "one"]},
    )
    assert NearestBlocks("x").pairs(linked).places.tolist() == [0]
    assert NearestBlocks("y").pairs(linked).places.tolist() == [1]
    assert (
        NearestBlocks().pairs(linkage({"x": [None]}, {"x": [None]})).places.tolist()
        == []
    )


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((1,), {}, TypeError, "names of fields"),
        ((), {"neighbors": 0}, ValueError, "neighbors must be"),
        ((), {"neighbors": 1.5}, TypeError, "neighbors must be"),
        ((), {"max_block": 0}, ValueError, "max_block must be"),
    ],
)
def test_bad_arguments(arguments, options, error, message):
    with pytest.raises(error, match=message):
        NearestBlocks(*arguments, **options)
    with pytest.raises(ValueError, match="no field 'z'"):
        NearestBlocks("z").pairs(linkage({"x": ["a"]}))

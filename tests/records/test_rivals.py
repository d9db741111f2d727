"""Pairs that are each other's nearest by far, and tables of few duplicates among many records that are alike."""

import itertools

import numpy as np
import pytest

from lshfast.records import dedup_records
from lshfast.records.weights.rivals import PairsBetween, PairsWithin, records_by_rivals

SYLLABLES = [
    "mor",
    "bel",
    "tan",
    "sil",
    "gor",
    "fen",
    "lu",
    "ka",
    "ri",
    "dov",
    "na",
    "to",
    "rix",
    "del",
    "mia",
    "sun",
    "gar",
    "po",
    "let",
    "vin",
]
WORDS = np.array(["".join(parts) for parts in itertools.product(SYLLABLES, repeat=3)])


def albums(artists, each, copies, seed=1):
    """Return a table of albums, so many for each artist, and the pairs of those that are entered twice, with errors."""
    rng = np.random.default_rng(seed)

    def words(count):
        return " ".join(rng.choice(WORDS, count))

    rows = []
    for _ in range(artists):
        artist = words(2)
        genre = str(rng.choice(["rock", "jazz", "folk", "blues"]))
        label = words(1)
        rows += [
            (artist, words(2), genre, label, words(4))
            for _ in range(rng.integers(*each))
        ]

    def again(text):
        place = int(rng.integers(len(text) - 1))
        return text[:place] + text[place + 1 :]

    chosen = rng.choice(len(rows), copies, replace=False)
    pairs = {(int(row), len(rows) + place) for place, row in enumerate(chosen)}
    rows += [
        (again(a), again(b), genre, label, again(again(c)))
        for a, b, genre, label, c in map(rows.__getitem__, chosen)
    ]
    return dict(
        zip(
            ("artist", "title", "genre", "label", "tracks"),
            map(list, zip(*rows, strict=True)),
            strict=True,
        )
    ), pairs


def dense(similarities):
    """Return the pairs of a matrix of similarities, and their similarities."""
    i, j = np.triu_indices(len(similarities), 1)
    return (
        i,
        j,
        np.array([similarities[a][b] for a, b in zip(i, j, strict=True)], float),
    )


def test_seeds_are_before_the_gap_of_both_records():
    # 0, 1 and 2 are alike; 3 is near 2, which is nearer to others; the others are not alike enough.
    similarity = np.full((6, 6), 0.3)
    for a, b, value in [
        (0, 1, 0.9),
        (0, 2, 0.8),
        (1, 2, 0.85),
        (2, 3, 0.55),
        (3, 4, 0.48),
        (3, 5, 0.45),
        (4, 5, 0.35),
    ]:
        similarity[a, b] = value
    i, j, values = dense(similarity)
    seeds, rivals = PairsWithin(i, j, 6).seeds(values)
    pairs = list(zip(i.tolist(), j.tolist(), strict=True))
    assert {pairs[at] for at in np.flatnonzero(seeds)} == {(0, 1), (0, 2), (1, 2)}
    beyond = {pairs[at] for at in np.flatnonzero(rivals)}
    assert beyond <= {pair for pair in pairs if min(pair) < 3} - {
        (0, 1),
        (0, 2),
        (1, 2),
    }
    assert {(0, 4), (0, 5), (1, 4), (1, 5)} <= beyond


def test_a_record_without_a_gap_has_no_seed():
    i, j, values = dense(0.9 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
    assert not PairsWithin(i, j, 8).seeds(values)[0].any()
    # Nothing is known of what comes after.
    assert not PairsWithin(i[:1], j[:1], 8).seeds(values[:1])[0].any()


@pytest.mark.parametrize(
    "make",
    [
        lambda i, j: PairsWithin(i, j, 4),
        lambda i, j: PairsBetween(i, j, (4, 4), "one-to-one"),
    ],
)
def test_rivals_are_other_pairs_of_the_same_records(make):
    i, j = np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3])
    pairs = make(i, j)
    chosen = np.array([True, False, False, False])
    rivals = set(np.flatnonzero(pairs.rivals(chosen)).tolist())
    assert rivals == ({1, 2} if isinstance(pairs, PairsWithin) else {1})


def test_the_best_pairs_of_some_records():
    i, j, values = dense([[0, 9, 8, 1], [0, 0, 7, 2], [0, 0, 0, 3], [0] * 4])
    best = PairsWithin(i, j, 4).best(values, 3)
    assert values[best].tolist() == [
        9,
        8,
    ]  # of three records: the third one's best is 8
    assert len(PairsWithin(i, j, 4).best(values, 4)) == 4


def test_records_with_a_match_are_counted_by_the_scores_of_others():
    rng = np.random.default_rng(3)
    rivals = rng.normal(0, 1, 2000)
    best = np.append(rng.normal(0, 1, 700), rng.normal(6, 1, 300))
    assert records_by_rivals(best, rivals) == pytest.approx(300, abs=60)
    assert records_by_rivals(rng.normal(0, 1, 1000), rivals) < 60
    assert records_by_rivals(best, np.array([-np.inf])) == 0


# Rules that are given: without them, so few and unlike duplicates are not trusted.
RULES = ["nearest"]


@pytest.fixture(scope="module")
def found():
    table, pairs = albums(60, (10, 40), 30, seed=3)
    return dedup_records(table, rules=RULES), pairs


@pytest.mark.slow
def test_few_duplicates_among_many_alike_records(found):
    result, pairs = found
    hits = len(pairs & set(result.pairs()))
    # EM alone links all albums of an artist.
    assert hits >= 0.9 * max(len(pairs), len(result))
    assert [
        text
        for text in result.summary.warnings
        if text.startswith("weights from all candidates did not lead to")
    ]
    assert result.parts.sum(axis=1) == pytest.approx(result.scores)
    assert [step.links for step in result.summary.steps][2] == len(result)
    labels = result.groups()
    groups = {
        (a, b)
        for a, b in itertools.combinations(range(len(labels)), 2)
        if labels[a] == labels[b]
    }
    assert len(groups & pairs) >= 0.9 * max(len(groups), len(pairs))


@pytest.mark.slow
def test_the_threshold_does_not_change_the_weights(found):
    table, pairs = albums(60, (10, 40), 30, seed=3)
    result = dedup_records(table, rules=RULES, threshold=0.99)
    assert len(pairs & set(result.pairs())) == len(result) > 0
    assert result.summary.steps == found[0].summary.steps


@pytest.mark.slow
def test_as_many_duplicates_as_artists():
    table, pairs = albums(60, (5, 10), 60)
    result = dedup_records(table, rules=RULES)
    assert len(pairs & set(result.pairs())) >= 0.9 * max(len(pairs), len(result))


@pytest.mark.slow
def test_what_an_artist_determines_counts_once():
    """Albums of an artist agree in artist, genre and label, and are no duplicates."""
    table, pairs = albums(300, (2, 5), 60)
    del table["tracks"]
    result = dedup_records(table, threads=1)
    hits = len(pairs & set(result.pairs()))
    assert hits >= 0.8 * max(len(pairs), len(result))


@pytest.mark.slow
def test_too_few_seeds_for_many_links_are_named(monkeypatch):
    monkeypatch.setattr("lshfast.records.link_task.suits_mixture", lambda *_: False)
    words = WORDS[:600]
    table = {
        "name": [f"{a} {b}" for a in words[:30] for b in words[30:40]] * 2,
        "code": [*map(str, range(600))],
    }
    result = dedup_records(table, fields=["name:text", "code:number"], rules=["all"])
    assert [
        text
        for text in result.summary.warnings
        if text.startswith("there are too few pairs of records")
    ]

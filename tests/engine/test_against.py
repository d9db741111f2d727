"""dedup against an index of earlier texts, beside a dict of signatures that is gone through entry by entry."""

import re

import numpy as np
import pytest

from lshfast import LSHIndex, MinHasher, Removal, dedup, shingle
from lshfast._engine import against
from lshfast._engine.indexes.plan_of_index import plan_of_index
from lshfast._engine.plan import make_plan
from lshfast.index.stores.values import Parameters
from tests.reference import text as reference

SIZE, THRESHOLD = 3, 0.6
WORDS = np.array([f"w{i}" for i in range(3000)])
ALL = {
    "size": SIZE,
    "threshold": THRESHOLD,
    "bands": 128,
    "rows_per_band": 1,
}  # finds whatever shares a slot


def new_index(**options):
    return LSHIndex(
        THRESHOLD, bands=128, rows_per_band=1, shingles=f"word:{SIZE}", **options
    )


def held_against(texts, index, **options):
    return dedup(texts, against=index, **{**ALL, **options})


def days(seed, count=4):
    """Return days of (key, text): new texts, and texts like those of any day at all degrees, some of them copies."""
    rng = np.random.default_rng(seed)
    originals, made = [], []
    for day in range(count):
        rows = []
        for row in range(25):
            if originals and rng.random() < 0.6:
                words = originals[rng.integers(len(originals))].copy()
                changed = rng.random(len(words)) < rng.choice([0, 0.01, 0.03, 0.1])
                words[changed] = rng.choice(WORDS, changed.sum())
            else:
                words = rng.choice(WORDS, rng.integers(5, 80))
            originals.append(words)
            rows.append((f"{day}/{row:02}", " ".join(words)))
        rows += [(f"{day}/empty", "..."), (f"{day}/copy", rows[3][1].upper())]
        made.append(rows)
    return made


def exact(a, b):
    words = map(reference.words, (a, b))
    a, b = (
        {tuple(each[at : at + SIZE]) for at in range(len(each) - SIZE + 1)}
        for each in words
    )
    return len(a & b) / len(a | b) if a | b else 0.0


def model(day, held):
    """Return the removals of a day in the order of its rows, and add those that stay to the dict of signatures."""
    hasher = MinHasher()
    signatures = hasher.sketch(shingle([text for _, text in day], size=SIZE))
    removed, taken = {}, set()
    for row, (key, _) in enumerate(day):
        found = [
            (-hasher.similarity(signatures[row], one), other)
            for other, one in held.items()
        ]
        best = min(found, default=(0, None))
        if -best[0] >= THRESHOLD:
            removed[row] = Removal(key, best[1], -best[0])
    fresh = [row for row in range(len(day)) if row not in removed]
    for row in fresh:
        if row in taken:
            continue
        for other in fresh:
            if other > row and other not in taken:
                similarity = exact(day[row][1], day[other][1])
                if similarity >= THRESHOLD:
                    taken.add(other)
                    removed[other] = Removal(day[other][0], day[row][0], similarity)
    held.update(
        {key: signatures[row] for row, (key, _) in enumerate(day) if row not in removed}
    )
    return [removed[row] for row in sorted(removed)]


@pytest.mark.one_case
@pytest.mark.parametrize("seed", range(3))
def test_day_by_day_as_a_dict_of_signatures_says(seed):
    index, held = new_index(), {}
    earlier = 0
    for day in days(seed):
        keys, texts = zip(*day, strict=True)
        before = set(held)
        result = held_against(list(texts), index, keys=list(keys), add=True)
        assert result.removed == model(day, held)
        assert set(index) == set(held)
        for_earlier = [
            removal.key for removal in result.removed if removal.kept_key in before
        ]
        assert [
            key
            for key, kept in zip(keys, result.earlier, strict=True)
            if kept is not None
        ] == for_earlier
        assert result.summary.earlier == len(for_earlier)
        assert result.summary.indexed == result.summary.kept == len(held) - len(before)
        earlier += len(for_earlier)
    assert earlier > 10


def test_one_day_after_another_removes_what_all_at_once_does():
    """Where no similarity is near the threshold, estimates and exact values are on the same side of it."""
    rng = np.random.default_rng(1)
    texts = []
    for _ in range(120):
        words = rng.choice(WORDS, 200)
        texts.append(" ".join(words))
        if rng.random() < 0.5:
            words[:3] = rng.choice(WORDS, 3)  # about .95
            texts.append(" ".join(words))
        if rng.random() < 0.3:
            words[::12] = rng.choice(WORDS, len(words[::12]))  # about .25
            texts.append(" ".join(words))
    rng.shuffle(texts)
    options = {"size": 5, "threshold": 0.6}
    at_once = dedup(texts, **options)
    index = LSHIndex(0.6, shingles="word:5")
    kept, half = [], len(texts) // 2
    for start, part in ((0, texts[:half]), (half, texts[half:])):
        keys = list(range(start, start + len(part)))
        result = dedup(part, keys=keys, against=index, add=True, **options)
        kept += [key for key, keep in zip(keys, result.keep, strict=True) if keep]
    assert kept == np.flatnonzero(at_once.keep).tolist() == sorted(index)
    assert 20 < result.summary.earlier < result.summary.removed


CHAIN = [f"a{i}" for i in range(80)]
A, NEAR_A, NEAR_NEAR_A = (
    " ".join(CHAIN[start : start + 60]) for start in (0, 10, 20)
)  # .706 each, .487 the ends
OTHER = "something else that is of no concern to any of these texts"


@pytest.fixture
def index():
    made = new_index()
    made.insert("A", MinHasher().sketch(shingle([A], size=SIZE))[0])
    return made


@pytest.mark.parametrize(
    "keep", ["first", "last", "longest", "shortest", [0, 0, 0, 9, 0]]
)
def test_an_earlier_entry_wins_and_a_row_removed_for_it_keeps_nobody(index, keep):
    texts = [NEAR_NEAR_A, OTHER, OTHER.upper(), NEAR_A, A.upper()]
    assert exact(NEAR_A, NEAR_NEAR_A) >= THRESHOLD > exact(A, NEAR_NEAR_A)
    result = held_against(texts, index, keep=keep, keys=list("vwxyz"))
    assert result.keep[[0, 3, 4]].tolist() == [True, False, False]
    assert result.earlier == [None, None, None, "A", "A"]
    assert [removal[:2] for removal in result.removed if removal.kept_key == "A"] == [
        ("y", "A"),
        ("z", "A"),
    ]
    assert len(index) == 1


def test_what_is_known_of_rows_removed_for_an_earlier_entry(index):
    texts = ["", NEAR_A, OTHER, NEAR_A.upper(), OTHER, NEAR_NEAR_A]
    result = held_against(texts, index)
    assert result.keep.tolist() == [True, False, True, False, False, True]
    assert result.keeper.tolist() == [0, -1, 2, -1, 2, 5]
    assert result.labels.tolist() == [0, 1, 2, 1, 2, 5]
    assert result.earlier == [None, "A", None, "A", None, None]
    assert result.pairs.tolist() == [(2, 4, 1.0)]
    estimate = MinHasher().similarity(
        *MinHasher().sketch(shingle([A, NEAR_A], size=SIZE))
    )
    assert result.removed == [(1, "A", estimate), (3, "A", estimate), (4, 2, 1.0)]
    assert result.similarity.tolist() == [1, estimate, 1, estimate, 1, 1]
    said = result.summary
    assert (said.read, said.kept, said.removed, said.earlier, said.empty) == (
        6,
        3,
        3,
        2,
        1,
    )
    assert (said.copies, said.pairs, said.groups, said.largest_group, said.indexed) == (
        1,
        1,
        1,
        2,
        None,
    )
    assert list(said.stages).index("earlier") == list(said.stages).index("match") + 1


def test_all_rows_may_be_earlier_ones_and_the_index_or_the_texts_may_be_none(index):
    result = held_against([A, A], index)
    assert result.earlier == ["A", "A"]
    assert (
        result.summary.kept,
        result.summary.groups,
        result.summary.largest_group,
    ) == (0, 0, 0)
    assert held_against([A, A], new_index()).removed == [(1, 0, 1.0)]
    assert held_against([], index).earlier == []
    assert dedup([A]).earlier is None


def test_verification_says_what_is_like_an_earlier_entry(index):
    far = " ".join([*CHAIN[:30], *map(str, range(30))])  # a third of A
    assert held_against([far], index).keep.tolist() == [True]
    assert held_against([far], index, verify="signature").keep.tolist() == [True]
    result = held_against([far, OTHER], index, verify="none")
    assert result.earlier == ["A", None]
    assert 0 < result.similarity[0] < THRESHOLD


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_and_threads_change_nothing(monkeypatch, threads):
    (_, first), (_, second), *_ = (zip(*day, strict=True) for day in days(9))
    whole, cut = new_index(), new_index()
    for index, batch in ((whole, 1 << 16), (cut, 7)):
        monkeypatch.setattr(against, "BATCH_ROWS", batch)
        held_against(list(first), index, add=True, threads=threads)
    results = [
        held_against(list(second), index, threads=threads) for index in (whole, cut)
    ]
    assert results[0].removed == results[1].removed
    assert results[0].earlier == results[1].earlier
    assert results[0].summary.earlier > 2


def test_an_index_in_a_file_takes_the_rows_that_stay(index, tmp_path):
    index.save(tmp_path / "seen.lsh")
    with LSHIndex.open(tmp_path / "seen.lsh", "r+") as seen:
        held_against([NEAR_A, OTHER], seen, keys=["b", "c"], add=True)
    with LSHIndex.open(tmp_path / "seen.lsh") as seen:
        assert list(seen) == ["A", "c"]
        with pytest.raises(ValueError, match="is open for reading only"):
            held_against(["one two three"], seen, keys=["d"], add=True)


# Adding


def test_a_key_that_is_taken_adds_nothing(index):
    with pytest.raises(
        ValueError, match=re.escape("keys[2] = 'A' is in the index already")
    ):
        held_against([A, "one two three", OTHER], index, keys=["B", "C", "A"], add=True)
    assert list(index) == ["A"]
    assert held_against([A], index, keys=["A"], add=True).removed == [
        ("A", "A", 1.0)
    ]  # it is not to be added


@pytest.mark.parametrize("on_duplicate", ["skip", "replace"])
def test_a_key_that_is_taken_may_be_passed_over_or_replaced(index, on_duplicate):
    index.on_duplicate = on_duplicate
    result = held_against([OTHER, "one two three"], index, keys=["A", "B"], add=True)
    assert result.removed == []
    assert result.summary.indexed == (1 if on_duplicate == "skip" else 2)
    found = index.query(MinHasher().sketch(shingle([OTHER], size=SIZE))[0])
    assert found == ([] if on_duplicate == "skip" else ["A"])


def test_rows_are_keys_where_there_are_none():
    index = new_index()
    held_against([A, A, OTHER], index, add=True)
    assert sorted(index) == [0, 2]


# Contradictions


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 0.7}, "threshold is 0.6 in this index, not 0.7"),
        ({"size": 5}, "shingles is 'word:3' in this index, not 'word:5'"),
        ({"unit": "char"}, "shingles is 'word:3' in this index, not 'char:3'"),
        ({"num_perm": 256}, "num_perm is 128 in this index, not 256"),
        ({"scheme": "classic"}, "scheme is 'fast' in this index, not 'classic'"),
        ({"seed": 2}, "seed is 1 in this index, not 2"),
        ({"bands": 64}, "bands is 128 in this index, not 64"),
        ({"rows_per_band": 2, "bands": 64}, "bands is 128 in this index, not 64"),
        (
            {"groups": "components"},
            "groups must be star against earlier rows, not components",
        ),
    ],
)
def test_a_choice_that_is_not_that_of_the_index_names_both(index, options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        held_against([A], index, **options)


def test_shingles_that_are_not_named_are_taken_on_trust():
    index = LSHIndex()
    dedup([A], against=index, add=True, unit="char", size=9)
    assert dedup([A], against=index, unit="char", size=9).earlier == [0]


def test_arguments_that_are_no_index(index):
    with pytest.raises(ValueError, match="add needs an index to add to"):
        dedup([A], add=True)
    with pytest.raises(
        TypeError,
        match=r"against must be an LSHIndex, texts or sets, .* not 'seen\.lsh'",
    ):
        dedup([A], against="seen.lsh")


# The plan of an index

KNOWN = make_plan(
    threshold=0.7,
    unit="char",
    size=9,
    num_perm=64,
    scheme="classic",
    seed=7,
    recall=0.9,
).parameters


def test_an_index_says_how_a_run_is_planned():
    assert KNOWN.shingles == "char:9"
    plan = plan_of_index(KNOWN, threads=1, verify="none")
    assert plan.parameters == KNOWN
    assert (plan.shingles.name, plan.verify, plan.threads) == ("char:9", "none", 1)
    given = {
        "threshold": 0.7,
        "unit": "char",
        "size": 9,
        "num_perm": 64,
        "scheme": "classic",
        "seed": 7,
        "recall": 0.9,
    }
    assert plan_of_index(KNOWN, given).parameters == KNOWN
    assert (
        plan_of_index(
            KNOWN, {"bands": KNOWN.bands, "rows_per_band": KNOWN.rows_per_band}
        ).parameters
        == KNOWN
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("threshold", 0.8, "threshold is 0.7 in this index, not 0.8"),
        ("unit", "word", "unit is char in this index, not word"),
        ("size", 5, "size is 9 in this index, not 5"),
        ("num_perm", 128, "num_perm is 64 in this index, not 128"),
        ("scheme", "fast", "scheme is classic in this index, not fast"),
        ("seed", 1, "seed is 7 in this index, not 1"),
        ("bands", 3, f"bands is {KNOWN.bands} in this index, not 3"),
        (
            "rows_per_band",
            1,
            f"rows_per_band is {KNOWN.rows_per_band} in this index, not 1",
        ),
        (
            "recall",
            0.999,
            f"recall 0.999 needs 21 bands of 3 rows, but this index has {KNOWN.bands} of {KNOWN.rows_per_band}",
        ),
        ("recall", 2, "recall must be in (0, 1), not 2"),
        ("groups", "components", "groups must be star against earlier rows"),
    ],
)
def test_a_plan_that_contradicts_its_index(name, value, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        plan_of_index(KNOWN, {name: value})


@pytest.mark.parametrize(
    ("shingles", "said"),
    [
        ("", "does not name them"),
        ("lines", "them 'lines'"),
        ("word:x", "them 'word:x'"),
        ("word:", "them 'word:'"),
    ],
)
def test_an_index_that_is_not_known_to_be_of_texts(shingles, said):
    parameters = Parameters(128, 18, 7, "fast", 1, 0.8, shingles)
    with pytest.raises(
        ValueError, match=f"shingles of this index are not known.*{said}"
    ):
        plan_of_index(parameters)


@pytest.mark.parametrize("shingles", ["x" * 17, "wörd:5", "word\0", 5])
def test_names_of_shingles_that_cannot_be_kept(shingles):
    with pytest.raises((TypeError, ValueError), match="shingles must be"):
        LSHIndex(shingles=shingles)

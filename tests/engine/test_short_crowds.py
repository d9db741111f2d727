"""Crowds of short texts, which are joined before they are sketched: the results are those of the walk."""

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import dedup, dedup_files
from lshfast._engine import run, sketching
from lshfast._engine.account.findings import ReadRows
from lshfast._engine.plan import make_plan
from lshfast.join import short_rows
from lshfast.kernels.text import Texts

TINY = {"unit": "char", "size": 3, "threshold": 0.5}


@cache
def tiny_texts(n, seed=1, words=60):
    """Make n texts of 1 to 4 of some words; some are empty, and some are copies."""
    rng = np.random.default_rng(seed)
    letters = list("abcdefgh")
    known = np.array(
        ["".join(rng.choice(letters, rng.integers(2, 7))) for _ in range(words)]
    )
    return [" ".join(rng.choice(known, rng.integers(0, 5))) for _ in range(n)]


@pytest.fixture
def joined(monkeypatch):
    """The results of the joins of crowds, in order."""
    found, find = [], short_rows.pairs_of_short_crowd

    def noted(*arguments, **options):
        found.append(find(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(short_rows, "pairs_of_short_crowd", noted)
    return found


def walked(texts, **options):
    """Return the result of a run without a join of any crowd."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(short_rows, "SHORT_TOKENS", 0)
        return dedup(texts, **options)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize(
    ("keep", "threads"), [("first", 1), ("last", 2), ("longest", 1), ("shortest", 2)]
)
def test_a_crowd_is_grouped_as_by_the_walk(groups, keep, threads, joined):
    """Bands of 16 slots miss similar pairs, so the result differs from that of the exact join."""
    texts = tiny_texts(9000)
    options = {
        **TINY,
        "num_perm": 16,
        "recall": 0.6,
        "groups": groups,
        "keep": keep,
        "threads": threads,
    }
    result = dedup(texts, **options)
    assert len(joined) == 1
    assert len(joined[0][0]) > 1000
    wanted = walked(texts, **options)
    assert result == wanted
    assert result.summary == wanted.summary
    assert result != dedup(texts, **options, exact=True)


@pytest.mark.one_case
@pytest.mark.weekly
@pytest.mark.parametrize(
    ("later", "threads"),
    [
        ("short", 2),
        ("both", 2),
        *(
            pytest.param(later, 1, marks=pytest.mark.slow)
            for later in ("short", "long")
        ),
    ],
)
def test_batches_of_short_texts(later, threads, monkeypatch, joined):
    """The first batch is a crowd. If the texts after it are long, all are sketched."""
    long = [
        " ".join(texts) for texts in np.reshape(tiny_texts(90_000), (1500, 60)).tolist()
    ]
    more = {
        "short": [tiny_texts(3000, seed=9)],
        "long": [long],
        "both": [long, tiny_texts(3000, seed=9)],
    }
    batches = [tiny_texts(9000), *more[later], []]
    hashed, hash_rows = [], sketching._hashed_rows

    def noted(*arguments, **options):
        hashed.append(hash_rows(*arguments, **options))
        return hashed[-1]

    monkeypatch.setattr(sketching, "_hashed_rows", noted)
    plan = make_plan(**TINY, num_perm=16, recall=0.6, threads=threads)
    clock = sketching.Clock()
    rows = sketching.sketch_rows(
        map(Texts, batches), plan, clock, grouped=True, screened=True
    )
    assert [one is None for one in hashed] == [later != "short"]
    found = run.find_duplicates(rows, plan, clock)
    assert len(joined) == (later == "short")
    texts = [text for batch in batches for text in batch]
    result = found.result(plan, clock, ReadRows(None, len(texts)))
    assert result == walked(texts, **TINY, num_perm=16, recall=0.6)


@pytest.mark.slow
def test_a_file_of_short_texts(tmp_path, joined):
    texts, path = tiny_texts(9000), tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    result = dedup_files(path, tmp_path / "kept.jsonl", **TINY)
    assert len(joined) == 1
    assert result.keep.tolist() == walked(texts, **TINY).keep.tolist()
    kept = [
        json.loads(line)["text"]
        for line in (tmp_path / "kept.jsonl").read_text().splitlines()
    ]
    assert kept == [text for text, keep in zip(texts, result.keep, strict=True) if keep]


@given(
    texts=st.lists(
        st.lists(st.sampled_from("abcd"), max_size=9).map("".join),
        min_size=1,
        max_size=40,
    ),
    threshold=st.sampled_from([0.2, 0.5, 2 / 3, 1]),
    groups=st.sampled_from(["star", "components"]),
    scheme=st.sampled_from(["fast", "classic"]),
    recall=st.sampled_from([0.3, 0.95]),
    threads=st.sampled_from([1, 2]),
    most=st.sampled_from([1, 64]),
    data=st.data(),
)
def test_any_texts(texts, threshold, groups, scheme, recall, threads, most, data):
    keep = data.draw(
        st.sampled_from(["first", "longest", [len(text) % 3 for text in texts]])
    )
    options = {
        "unit": "char",
        "size": 2,
        "threshold": threshold,
        "num_perm": 16,
        "scheme": scheme,
        "recall": recall,
    }
    options |= {"groups": groups, "keep": keep, "threads": threads}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(short_rows, "MOST_PAIRS", most)
        patch.setattr(sketching, "LEAST_SHARE", 0)
        patch.setattr(sketching, "are_crowd", lambda *_: True)
        result = dedup(texts, **options)
    assert result == walked(texts, **options)


@pytest.mark.slow
def test_too_many_similar_pairs_are_walked(joined, monkeypatch):
    texts = tiny_texts(9000)
    monkeypatch.setattr(short_rows, "MOST_PAIRS", 1)
    result = dedup(texts, **TINY)
    assert joined == [None]
    assert result == walked(texts, **TINY)


@pytest.mark.slow
def test_other_rows_are_sketched_as_ever(joined):
    """Texts that meet few others, long texts, few texts, and runs that need the signatures."""
    rng = np.random.default_rng(1)
    dedup(
        [" ".join(map(str, rng.integers(0, 10**6, 12))) for _ in range(9000)],
        size=2,
        threshold=0.6,
    )
    dedup(
        [
            " ".join(texts)
            for texts in np.reshape(tiny_texts(90_000), (9000, 10)).tolist()
        ],
        **TINY,
    )
    dedup(tiny_texts(200), **TINY)
    dedup(tiny_texts(9000), **TINY, verify="signature")
    dedup(tiny_texts(9000), **TINY, measure="containment", exact=False)
    assert joined == []


@pytest.mark.slow
def test_sets_of_elements_may_be_a_crowd(joined):
    rng = np.random.default_rng(2)
    rows = [
        set((rng.zipf(1.3, rng.integers(1, 13)) % 60).tolist()) for _ in range(9000)
    ]
    assert dedup(rows, threshold=0.5) == walked(rows, threshold=0.5)
    assert len(joined) == 1

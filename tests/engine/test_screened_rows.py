"""Short rows, of which only those that may be in a similar pair are sketched."""

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import TokenSets, dedup, dedup_files, pairs
from lshfast._common.growing import GrowingArray
from lshfast._engine import sketching
from lshfast._engine.clock import Clock
from lshfast._engine.plan import make_plan
from lshfast.join.set_ranks import Collection, rows_in_pairs
from lshfast.join.thresholds import rule_of
from lshfast.kernels.text import Texts
from tests.engine.test_short_crowds import walked

CHARACTERS = {"unit": "char", "size": 2, "num_perm": 16}


def titles(n, seed=3):
    """Make n titles of 6 to 14 random words; one in ten changes a word of an earlier one."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        row = rng.integers(0, 10**6, rng.integers(6, 15)).tolist()
        if rows and rng.random() < 0.1:
            row = list(rows[rng.integers(len(rows))])
            row[-1] = int(rng.integers(10**6))
        rows.append(row)
    return [" ".join(map(str, row)) for row in rows]


def screened(texts, **options):
    return sketching.sketch_rows(
        [Texts(texts)], make_plan(**options), Clock(), screened=True
    )


@pytest.mark.one_case
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_rows_with_their_own_tokens_are_not_sketched(threshold):
    texts = titles(3000)
    options = {"size": 1, "threshold": threshold, "threads": 2}
    rows = screened(texts, **options)
    assert len(rows) == 3000
    assert 200 < len(rows.sketched) < 1000
    assert len(rows.signatures) == len(rows.keys) == len(rows.sketched)
    result = dedup(texts, **options)
    assert result == walked(texts, **options)
    assert result.summary.removed > 100
    in_pairs = set(result.pairs["i"].tolist()) | set(result.pairs["j"].tolist())
    assert in_pairs <= set(rows.sketched.tolist())


@given(
    texts=st.lists(
        st.lists(st.sampled_from("abcdefgh"), max_size=9).map("".join),
        min_size=1,
        max_size=30,
    ),
    threshold=st.sampled_from([0.2, 0.5, 2 / 3, 1]),
    groups=st.sampled_from(["star", "components"]),
    threads=st.sampled_from([1, 2]),
    rows=st.sampled_from([1, 5, 1 << 16]),
    data=st.data(),
)
def test_the_result_is_that_of_all_rows(texts, threshold, groups, threads, rows, data):
    keep = data.draw(
        st.sampled_from(["first", "longest", [len(text) % 3 for text in texts]])
    )
    options = {**CHARACTERS, "threshold": threshold, "threads": threads}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketching, "SCREENED_ROWS", rows)
        result = dedup(texts, **options, groups=groups, keep=keep)
        similar = pairs(texts, **options)
    assert result == walked(texts, **options, groups=groups, keep=keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketching, "are_short", lambda sizes: False)
        assert similar.tolist() == pairs(texts, **options).tolist()


@pytest.mark.parametrize("in_batches", [False, True])
def test_rows_that_share_their_tokens_are_sketched_at_once(in_batches, monkeypatch):
    """More than half of the first rows may be in a pair, so all rows are sketched as they come."""
    monkeypatch.setattr(sketching, "SCREENED_ROWS", 100)
    texts = [" ".join(sorted({f"w{i % 7}", f"w{i % 5}", "same"})) for i in range(2000)]
    parts = [Texts(texts[:1000]), Texts(texts[1000:])]
    batches = iter(parts) if in_batches else [Texts(texts)]
    plan = make_plan(size=1, threads=1)
    rows = sketching.sketch_rows(batches, plan, Clock(), screened=True)
    assert rows.sketched is None
    assert len(rows.signatures) == 2000


@pytest.mark.parametrize(
    "options",
    [{"verify": "signature"}, {"measure": "containment", "exact": False}],
)
def test_other_runs_sketch_all_rows(options):
    assert screened(titles(50), size=1, **options).sketched is None


def test_no_rows():
    assert len(screened([])) == 0
    assert len(screened(["", ""]).sketched) == 0


def test_a_file_with_pairs(tmp_path):
    texts = titles(500)
    path = tmp_path / "titles.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    options = {"size": 1, "threshold": 0.6}
    outputs = tmp_path / "kept.jsonl", tmp_path / "pairs.jsonl"
    found = dedup_files(path, outputs[0], pairs=outputs[1], **options)
    wanted = pairs(texts, **options)
    assert found.keep.tolist() == walked(texts, **options).keep.tolist()
    lines = outputs[1].read_text().splitlines()
    assert len(lines) == len(wanted) > 10


@given(
    rows=st.lists(st.lists(st.integers(0, 12), max_size=7), max_size=12),
    threshold=st.sampled_from([0.2, 0.5, 2 / 3, 0.8, 1]),
    threads=st.sampled_from([1, 2]),
)
def test_rows_in_pairs_has_all_rows_with_a_similar_one(rows, threshold, threads):
    collection = Collection.of(TokenSets.from_sets(rows))
    found = rows_in_pairs(collection, rule_of("jaccard", threshold), threads).tolist()
    assert found == sorted(set(found))
    different = collection.rows.tolist()
    for i in different:
        for j in different:
            one, other = set(rows[i]), set(rows[j])
            if i != j and len(one & other) / len(one | other) >= threshold:
                assert i in found


def test_stages_have_all_of_the_time(monkeypatch):
    """Arrays that grow between two results of a stage are part of it."""
    now = [0.0]

    class SlowArray(GrowingArray):
        def extend(self, part):
            now[0] += 1
            super().extend(part)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(sketching, "GrowingArray", SlowArray)
    for screening in False, True:
        now[0] = 0.0
        clock = Clock()
        sketching.sketch_rows(
            [Texts(titles(100))], make_plan(threads=1), clock, screened=screening
        )
        assert clock.stages["sketch"].seconds == now[0] == 3

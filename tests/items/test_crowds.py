"""Rows with too many candidates: comparisons are limited, others are found as before, and what is left out is said."""

import re

import numpy as np
import pytest

from lshfast import CrowdWarning, dedup, dedup_files, pairs
from lshfast._engine.options.rules import refuse
from tests.cli.commands import run

pytestmark = pytest.mark.filterwarnings("ignore::lshfast.CrowdWarning")

LIMIT = 256


def unit(points):
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def on_a_cap(n, rng):
    """Vectors at one angle of a centre, with cosines of .92 to each other."""
    noise = rng.standard_normal((n, 96))
    noise[:, 0] = 0
    return np.eye(1, 96) + 0.295 * unit(noise)


def simplices(n, rng):
    """Vectors of which any two have one of a few cosines: a common direction, and one of 127 others with a sign."""
    points = np.zeros((n, 128))
    points[:, 0] = 1
    points[np.arange(n), 1 + np.arange(n) % 127] = np.where(
        np.arange(n) // 127 % 2, 0.29, -0.29
    )
    return points + 0.06 * unit(rng.standard_normal((n, 128)))


def unlike_crowds(n, rng):
    """Crowds of 1/2, 1/4, 1/8... of the rows."""
    centres = np.floor(-np.log2(rng.random(n))).astype(int)
    return rng.standard_normal((64, 96))[np.minimum(centres, 63)] / 9.8 + 0.295 * unit(
        rng.standard_normal((n, 96))
    )


def with_ordinary_rows(n, rng):
    """A crowd, and as many rows that are like no others."""
    points = np.concatenate(
        [on_a_cap(n - n // 2, rng), unit(rng.standard_normal((n // 2, 96)))]
    )
    return points[rng.permutation(n)]


def around_a_hub(n, rng):
    """Points at many distances of a centre, which is nearest to all."""
    return np.eye(1, 96) + 0.295 * unit(rng.standard_normal((n, 96))) * (
        0.9 + 0.2 * rng.random((n, 1))
    )


GENERATORS = [on_a_cap, simplices, unlike_crowds, with_ordinary_rows, around_a_hub]

MEASURES = [
    {"threshold": 0.955},
    {"measure": "angle", "radius": 0.3},
    {"measure": "euclidean", "radius": 0.3},
    {"measure": "manhattan", "radius": 2.2},
]


def codes(n, rng):
    bits = np.argsort(rng.random((n, 128)), axis=1) < 12
    return np.packbits(bits, axis=1).view(np.uint64)


def weighted_sets(n, rng):
    """Weighted sets over 40 elements, so that none is rare."""
    weights = rng.random((n, 40)) + 0.5
    return [
        dict(zip(map(str, range(40)), row.tolist(), strict=True)) for row in weights
    ]


OTHERS = [
    (codes, {"kind": "code", "radius": 13, "recall": 0.95}),
    (weighted_sets, {"kind": "weighted", "threshold": 0.85}),
]


def made(generator, n, seed=1):
    return generator(n, np.random.default_rng(seed))


def candidates(rows, **options):
    return dedup(rows, threads=2, **options).summary


@pytest.mark.some_cases
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize(
    ("generator", "options"),
    [
        # each generator with one measure, and each measure, is not slow
        pytest.param(
            generator, options, marks=[pytest.mark.slow] * ((place + turn) % 4 != 0)
        )
        for place, generator in enumerate(GENERATORS)
        for turn, options in enumerate(MEASURES)
    ]
    + OTHERS,
    ids=lambda value: (
        value.__name__ if callable(value) else "-".join(map(str, value.values()))
    ),
)
def test_the_comparisons_of_a_row_are_limited(generator, options, groups):
    """A row has at most some times the limit, however many rows are like it."""
    n = 1000
    summary = candidates(
        made(generator, n), groups=groups, max_candidates=LIMIT, **options
    )
    assert summary.candidates <= 4 * LIMIT * n
    assert summary.limited <= n
    assert (summary.left_out > 0) == (summary.limited > 0)


@pytest.mark.slow
def test_twice_the_rows_have_twice_the_comparisons():
    counts = {
        limit: [
            candidates(
                made(on_a_cap, n), threshold=0.97, max_candidates=limit
            ).candidates
            for n in (1500, 3000)
        ]
        for limit in (None, LIMIT)
    }
    assert counts[None][1] > 3.5 * counts[None][0]
    assert counts[LIMIT][1] < 3 * counts[LIMIT][0]


def as_set(found):
    return set(zip(found["i"].tolist(), found["j"].tolist(), strict=True))


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", MEASURES, ids=lambda options: options.get("measure", "cosine")
)
def test_rows_outside_of_a_crowd_are_found_as_before(options):
    rng = np.random.default_rng(2)
    crowd, ordinary = on_a_cap(800, rng), unit(rng.standard_normal((600, 96)))
    copies = ordinary[:300] + 0.005 * rng.standard_normal((300, 96))
    rows = np.concatenate([crowd, ordinary, copies])
    every, found = pairs(rows, **options), pairs(rows, max_candidates=LIMIT, **options)
    assert set(found.tolist()) <= set(every.tolist())
    assert {pair for pair in as_set(every) if pair[1] >= 800} <= as_set(found)
    assert len(as_set(every)) >= 280


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", MEASURES, ids=lambda options: options.get("measure", "cosine")
)
@pytest.mark.parametrize("generator", [on_a_cap, simplices, unlike_crowds])
def test_near_rows_within_a_crowd_are_found(generator, options):
    """Of the pairs that are much nearer than the crowd, most are found, with a small share of the comparisons."""
    rng = np.random.default_rng(3)
    rows = generator(1500, rng)
    near = rows[:100] + 0.06 * unit(rng.standard_normal((100, rows.shape[1])))
    found = as_set(pairs(np.concatenate([rows, near]), max_candidates=LIMIT, **options))
    assert sum((row, 1500 + row) in found for row in range(100)) >= 80


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize(
    "shape", ["one crowd", "twelve, one after the other", "twelve, mixed"]
)
def test_similar_rows_in_crowds_have_the_same_groups(shape, groups):
    """Rows that are similar to each other have few candidates, since all but one are removed."""
    rng = np.random.default_rng(4)
    rows = np.repeat(
        rng.standard_normal((1 if shape == "one crowd" else 12, 64)), 2400, axis=0
    )[::12][:2400]
    if shape == "one crowd":
        rows = np.repeat(rows[:1], 2400, axis=0)
    rows = rows + 1e-3 * rng.standard_normal(rows.shape)
    if shape.endswith("mixed"):
        rows = rows[rng.permutation(len(rows))]
    wanted = dedup(rows, groups=groups)
    found = dedup(rows, groups=groups, max_candidates=LIMIT)
    assert found.keep.tolist() == wanted.keep.tolist()
    assert found.labels.tolist() == wanted.labels.tolist()


@pytest.mark.one_case
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("generator", [on_a_cap, codes])
def test_each_removed_row_is_similar_to_a_kept_one(generator, groups):
    options = dict(OTHERS).get(generator, {"threshold": 0.945})
    rows = made(generator, 1000)
    found = dedup(rows, groups=groups, max_candidates=LIMIT, **options)
    every = as_set(pairs(rows, max_candidates=None, **options))
    assert found.summary.limited
    if groups == "star":
        removed = np.flatnonzero(~found.keep)
        assert found.keep[found.keeper[removed]].all()
        assert len(removed)
        exact = {key: value for key, value in options.items() if key != "recall"} | {
            "exact": True
        }
        every |= as_set(pairs(rows, **exact))
        keepers = found.keeper[removed].tolist()
        assert {
            tuple(sorted(pair)) for pair in zip(keepers, removed.tolist(), strict=True)
        } <= every


@pytest.mark.one_case
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("generator", [unlike_crowds, codes, weighted_sets])
def test_a_limit_that_no_row_reaches_changes_nothing(generator, groups, recwarn):
    options = dict(OTHERS).get(generator, {"threshold": 0.95})
    rows = made(generator, 700)
    wanted, found = (
        dedup(rows, groups=groups, max_candidates=limit, **options)
        for limit in (None, 10**7)
    )
    for name in ("keep", "labels", "keeper", "similarity", "pairs"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist()
    assert (found.summary.limited, found.summary.left_out) == (0, 0)
    assert (wanted.summary.limited, wanted.summary.left_out) == (None, None)
    assert "rows with more than 10,000,000 candidates" in str(found.summary)
    assert found.summary.candidates == wanted.summary.candidates or groups == "star"
    assert not [warning for warning in recwarn if warning.category is CrowdWarning]


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("function", [dedup, pairs])
def test_nothing_depends_on_the_threads(function):
    rows = made(with_ordinary_rows, 1200)
    found = [
        function(rows, threshold=0.93, max_candidates=LIMIT, threads=threads)
        for threads in (1, 2, 5)
    ]
    if function is dedup:
        assert found[0] == found[1] == found[2]
        assert len({result.summary.candidates for result in found}) == 1
    else:
        assert found[0].tolist() == found[1].tolist() == found[2].tolist()


@pytest.mark.slow
def test_what_is_left_out_is_said(tmp_path):
    """A warning, the summary, its table, and the page have the same numbers, in memory, in files and with a cap."""
    rows = made(on_a_cap, 1000).astype(np.float32)
    np.save(tmp_path / "in.npy", rows)
    with pytest.warns(
        CrowdWarning,
        match=r"\d{3} rows with more than 256 candidates: about [\d,]+ comparisons",
    ):
        held = dedup(rows, threshold=0.96, max_candidates=LIMIT)
    with pytest.warns(CrowdWarning):
        pairs(rows, threshold=0.96, max_candidates=LIMIT)
    for memory in (None, "1G"):
        page, kept = tmp_path / f"{memory}.html", tmp_path / f"{memory}.jsonl"
        with pytest.warns(CrowdWarning):
            found = dedup_files(
                tmp_path / "in.npy",
                kept,
                threshold=0.96,
                max_candidates=LIMIT,
                memory=memory,
                html=page,
            )
        assert found.keep.tolist() == held.keep.tolist()
        figures = (
            found.summary.max_candidates,
            found.summary.limited,
            found.summary.left_out,
        )
        assert figures == (LIMIT, held.summary.limited, held.summary.left_out)
        for shown in (str(found.summary), str(found), page.read_text("utf-8")):
            assert re.search(
                rf"limited\W.*{held.summary.limited:,}", re.sub("<[^>]*>", " ", shown)
            )
            assert f"about {held.summary.left_out:,} comparisons" in shown
        assert found.options["max_candidates"] == LIMIT


@pytest.mark.one_case
@pytest.mark.parametrize("command", ["dedup", "pairs"])
def test_the_command_line(tmp_path, command):
    np.save(tmp_path / "in.npy", made(on_a_cap, 1000))
    arguments = [
        command,
        tmp_path / "in.npy",
        "-o",
        tmp_path / "out.jsonl",
        "--threshold",
        "0.96",
    ]
    done = run(*arguments, "--max-candidates", "300")
    assert done.exit_code == 0
    assert re.search(
        r"limited +[\d,]+ +rows with more than 300 candidates: about", done.stderr
    )


def test_where_there_is_no_limit():
    vectors, words = np.ones((3, 2)), np.ones(3, np.uint64)
    for number in (0, 255, 2**31):
        with pytest.raises(
            ValueError,
            match=rf"max_candidates must be in 256\.\.2147483647, not {number}",
        ):
            dedup(vectors, max_candidates=number)
    with pytest.raises(ValueError, match="this one finds all pairs: leave out exact"):
        dedup(vectors, exact=True, max_candidates=LIMIT)
    with pytest.raises(ValueError, match="this one finds all pairs: give a recall"):
        dedup(words, kind="code", radius=3, max_candidates=LIMIT)
    with pytest.raises(ValueError, match="the measure tanimoto has no other runs"):
        pairs(words, kind="code", measure="tanimoto", max_candidates=LIMIT)
    for rows in (["a text"], [{"a", "set"}]):
        with pytest.raises(
            ValueError,
            match="max_candidates is for weighted sets, vectors and codes, not for",
        ):
            dedup(rows, max_candidates=LIMIT)
    for driver in ("stages", "spark"):
        with pytest.raises(ValueError, match="max_candidates is not an option of"):
            refuse(driver, ["max_candidates"])

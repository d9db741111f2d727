"""Removal by containment: against brute force, and what it refuses."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lshfast
from lshfast import Bands, MinHasher, TokenSets, find_copies, verify
from lshfast.join.comparison import Comparison, WalkLimits
from lshfast.join.group_pairs import pairs_for_groups
from lshfast.join.groups import larger_first
from lshfast.kernels import sets
from tests.cli.commands import run
from tests.conftest import csr

ROWS = st.lists(st.sets(st.integers(0, 14), max_size=10), max_size=20)
THRESHOLDS = st.sampled_from([0.3, 0.5, 2 / 3, 8 / 9, 11 / 15, 0.8, 1.0])

# With one slot a band, sets of 1 in 10 common elements share a bucket but for a chance of 10**-23.
EVERY_PAIR = {"num_perm": 512, "bands": 512, "rows_per_band": 1, "exact": False}


def containment(a, b):
    return len(a & b) / min(len(a), len(b)) if a and b else -1.0


def keepers(rows, threshold, groups, preference):
    """Return the row kept for each row, from the definition: larger sets first, then greater preference, then order."""
    order = sorted(
        range(len(rows)), key=lambda row: (-len(rows[row]), -preference[row], row)
    )
    keeper = {}
    for at, row in enumerate(order):
        earlier = [r for r in order[:at] if keeper[r] == r or groups == "components"]
        first = next(
            (r for r in earlier if containment(rows[r], rows[row]) >= threshold), None
        )
        keeper[row] = row if first is None else keeper[first]
    return [keeper[row] for row in range(len(rows))]


@pytest.mark.parametrize("how", [EVERY_PAIR, {"exact": True}], ids=["bands", "exact"])
@settings(max_examples=40, deadline=None)
@given(
    rows=ROWS,
    threshold=THRESHOLDS,
    groups=st.sampled_from(["star", "components"]),
    data=st.data(),
)
def test_the_rows_removed_are_those_of_the_definition(
    how, rows, threshold, groups, data
):
    preference = data.draw(
        st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
    )
    found = lshfast.dedup(
        [*rows, set()],
        threshold=threshold,
        measure="containment",
        groups=groups,
        keep=[*preference, 0],
        threads=1,
        **how,
    )
    expected = keepers([*rows, set()], threshold, groups, [*preference, 0])
    assert found.keeper.tolist() == expected
    for row, keeper in enumerate(expected):
        if row == keeper:
            assert found.similarity[row] == 1
            continue
        assert len(rows[keeper]) >= len(rows[row])
        assert found.similarity[row] == containment(rows[row], rows[keeper])
        assert groups == "components" or found.similarity[row] >= threshold
    assert found.summary.measure == "containment"


@pytest.mark.parametrize("how", [EVERY_PAIR, {"exact": True}], ids=["bands", "exact"])
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, threshold=THRESHOLDS)
def test_pairs_are_those_of_brute_force(how, rows, threshold):
    found = lshfast.pairs(
        rows, threshold=threshold, measure="containment", copies="all", threads=1, **how
    )
    alike = [
        (i, j, containment(rows[i], rows[j]))
        for j in range(len(rows))
        for i in range(j)
    ]
    assert found.tolist() == sorted(pair for pair in alike if pair[2] >= threshold)


@pytest.mark.parametrize("crowd", [0, 1, 300])
@pytest.mark.parametrize("chains", [False, True])
def test_walks_in_pieces_and_crowds_compare_the_same_rows(crowd, chains):
    limits = WalkLimits(piece_tokens=60, run_tokens=60, crowd=crowd, few=crowd)
    rng = np.random.default_rng(3)
    for threshold in (0.4, 0.75):
        rows = [
            set(rng.integers(0, 60, rng.integers(1, 50)).tolist()) | {99}
            for _ in range(80)
        ]
        tokens = TokenSets.from_sets(rows)
        signatures = MinHasher(64).sketch(tokens)
        preference = larger_first(tokens.distinct().counts, None)
        comparison = Comparison(
            threshold, chains=chains, measure="containment", limits=limits
        )
        keys, copies = Bands(64, 1).keys(signatures), find_copies(tokens)
        found, _ = pairs_for_groups(
            tokens, signatures, keys, comparison, copies=copies, preference=preference
        )
        kept = keepers(
            rows, threshold, "components" if chains else "star", [0] * len(rows)
        )
        removed = [
            max((row, other), key=lambda r: -preference[r])
            for row, other, _ in found.tolist()
        ]
        assert sorted(removed) == [
            row for row in range(80) if kept[row] != row and copies[row] == row
        ]
        for row, other, similarity in found.tolist():
            assert similarity == containment(rows[row], rows[other])
            assert chains or kept[row] == other or kept[other] == row


def test_kernels_compare_containment():
    rng = np.random.default_rng(1)
    rows = [rng.permutation(40)[: rng.integers(0, 40)].tolist() for _ in range(30)]
    left, right = (part.reshape(-1).astype(np.int64) for part in np.indices((30, 30)))
    for threshold in (0.0, 1 / 3, 0.7, 1.0):
        found = sets.similarities(*csr(rows), left, right, threshold, True).tolist()
        for i, j, similarity in zip(left, right, found, strict=True):
            true = max(0.0, containment(set(rows[i]), set(rows[j])))
            assert similarity == (true if true >= threshold else -1)


def test_verify_takes_the_measure():
    tokens = TokenSets.from_sets([range(10), range(5, 12)])
    i, j = np.array([0]), np.array([1])
    assert verify(tokens, i, j, 0.5, measure="containment").tolist() == [(0, 1, 5 / 7)]
    assert verify(tokens, i, j, 0.5).tolist() == []
    with pytest.raises(
        ValueError, match="measure must be 'jaccard' or 'containment', not 'dice'"
    ):
        verify(tokens, i, j, 0.5, measure="dice")


def test_a_longer_text_is_never_removed_for_a_shorter_one():
    words = [f"w{number}" for number in range(60)]
    whole, part = " ".join(words), " ".join(words[10:30])
    for texts in ([part, whole], [whole, part]):
        for keep in ("first", "last", "longest"):
            found = lshfast.dedup(
                texts, measure="containment", keep=keep, size=3, exact=True
            )
            assert [texts[row] for row in np.flatnonzero(found.keep)] == [whole]
            assert [removal.similarity for removal in found.removed] == [1.0]


def test_among_texts_of_one_size_keep_decides():
    texts = ["a b c d e f g h x", "a b c d e f g h y"]
    kept = {
        keep: lshfast.dedup(
            texts, measure="containment", keep=keep, size=1, threshold=0.8, exact=True
        ).kept_key(0)
        for keep in ("first", "last")
    }
    assert kept == {"first": 0, "last": 1}
    assert lshfast.dedup(
        texts, measure="containment", keep=[1, 2], size=1, exact=True
    ).keeper.tolist() == [1, 1]


def test_components_follow_containment_upwards_only():
    """A short text does not join two long texts that contain it."""
    rows = [
        set(range(10)),
        set(range(10)) | set(range(100, 110)),
        set(range(10)) | set(range(200, 211)),
    ]
    assert lshfast.dedup(
        rows, measure="containment", groups="components", exact=True
    ).keeper.tolist() == [2, 1, 2]
    chain = [
        set(range(20)),
        set(range(4, 24)) | {50},
        set(range(8, 25)) | set(range(50, 55)),
    ]
    star = lshfast.dedup(chain, measure="containment", threshold=0.75, exact=True)
    assert star.keeper.tolist() == [0, 2, 2]
    linked = lshfast.dedup(
        chain, measure="containment", threshold=0.75, groups="components", exact=True
    )
    assert linked.keeper.tolist() == [2, 2, 2]
    assert linked.similarity.tolist() == [12 / 20, 17 / 21, 1.0]


def test_by_default_every_text_that_a_longer_one_contains_is_removed():
    """Bands find none of these pairs, whose Jaccard similarity is .05."""
    rows = [
        set(range(1000 * row, 1000 * row + 5 + 95 * (row % 2))) for row in range(40)
    ]
    rows = [
        whole if row % 2 else set(range(1000 * (row + 1), 1000 * (row + 1) + 5))
        for row, whole in enumerate(rows)
    ]
    found = lshfast.dedup(rows, measure="containment")
    assert (found.summary.removed, found.summary.bands, found.summary.recall) == (
        20,
        0,
        1.0,
    )
    assert len(lshfast.pairs(rows, measure="containment")) == 20
    banded = lshfast.dedup(rows, measure="containment", exact=False)
    assert (banded.summary.removed, banded.summary.bands) == (0, 25)
    assert lshfast.dedup(rows).summary.bands > 0


def test_recall_is_that_of_texts_of_one_size():
    """At least the promised share of pairs of one size at the threshold is found, within four standard errors."""
    n, pairs = 90, 400
    rows = []
    for pair in range(pairs):
        base = 1000 * pair
        # .8 of each is shared.
        rows += [
            set(range(base, base + n)),
            set(range(base + n // 5, base + n // 5 + n)),
        ]
    found = lshfast.dedup(rows, measure="containment", threshold=0.8, exact=False)
    assert 0.95 <= found.summary.recall < 1
    share = found.summary.removed / pairs
    assert share >= found.summary.recall - 4 * (0.05 * 0.95 / pairs) ** 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"measure": "dice"},
            "measure must be one of jaccard, containment for texts, not 'dice'",
        ),
        (
            {"measure": "containment", "verify": "signature"},
            "verify must be 'exact' for measure='containment'",
        ),
        (
            {"measure": "containment", "verify": "none"},
            "verify must be 'exact' for measure='containment', not 'none'",
        ),
        (
            {"measure": "containment", "keep": "shortest"},
            "keep must not be 'shortest' for measure='containment'",
        ),
        (
            {"measure": "containment", "against": lshfast.LSHIndex()},
            "measure must be 'jaccard' with an index",
        ),
        (
            {"measure": "containment", "against": lshfast.LSHIndex(), "add": True},
            "measure must be 'jaccard' with an ind",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        lshfast.dedup(["a b c"], **arguments)


def test_advice_is_about_containment():
    texts = [f"bus {number} of our town is late again" for number in range(200)]
    with pytest.warns(lshfast.ShortTextsWarning, match="leaves a containment of about"):
        lshfast.dedup(texts, measure="containment")


@pytest.fixture
def corpus(tmp_path):
    words = [f"w{number}" for number in range(80)]
    texts = [
        " ".join(words[:40]),
        " ".join(words),
        "something else entirely",
        " ".join(words[5:70]),
    ]
    path = tmp_path / "in.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": f"r{row}", "text": text}) + "\n"
            for row, text in enumerate(texts)
        )
    )
    return path


@pytest.mark.parametrize(
    "exact", [[], ["--exact"], ["--no-exact", "--bands", "128", "--rows-per-band", "1"]]
)
def test_columns_of_the_command_line_name_the_measure(corpus, tmp_path, exact):
    out = tmp_path / "out.csv"
    removed = tmp_path / "removed.csv"
    pairs = tmp_path / "pairs.csv"
    outputs = ["-o", out, "--removed", removed, "--pairs", pairs]
    done = run(
        "dedup",
        corpus,
        *outputs,
        "--id-column",
        "id",
        "--measure",
        "containment",
        "--size",
        2,
        *exact,
    )
    assert (done.exit_code, "containment: exact" in done.stderr) == (0, True), (
        done.stderr
    )
    with open(removed, newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"key": "r0", "kept_key": "r1", "containment": "1.0"},
            {"key": "r3", "kept_key": "r1", "containment": "1.0"},
        ]
    with open(pairs, newline="") as file:
        assert next(csv.reader(file)) == ["key_i", "key_j", "containment"]
    with open(out, newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["r1", "r2"]
    done = run(
        "dedup",
        corpus,
        "-o",
        out,
        "--annotate",
        "--overwrite",
        "--measure",
        "containment",
        "--size",
        2,
        *exact,
    )
    assert done.exit_code == 0
    with open(out, newline="") as file:
        assert [row["containment"] for row in csv.DictReader(file)] == [
            "1.0",
            "",
            "",
            "1.0",
        ]


def test_the_report_tells_what_was_used(corpus, tmp_path):
    """A run whose memory is limited has no exact join, so bands must be chosen for it."""
    outputs = [
        "-o",
        tmp_path / "out.jsonl",
        "--overwrite",
        "--measure",
        "containment",
        "--size",
        2,
    ]
    banded = ["--no-exact"], ["--memory", "1G", "--no-exact"]
    for options, told in (
        ([], "exact"),
        *((options, "bands x rows") for options in banded),
    ):
        done = run("dedup", corpus, *outputs, *options)
        assert (done.exit_code, told in done.stderr) == (0, True), done.stderr
    for options in [], ["--exact"]:
        done = run("dedup", corpus, *outputs, "--memory", "1G", *options)
        refused = "exact is not an option of lshfast dedup --memory: it takes memory"
        assert (done.exit_code, refused in done.stderr) == (2, True), done.stderr
    limited = lshfast.dedup_files(
        corpus, measure="containment", size=2, memory="1G", exact=False
    )
    assert (
        limited.summary.bands,
        lshfast.dedup_files(corpus, measure="containment", size=2).summary.bands,
    ) == (25, 0)


def test_tune_tells_which_pairs_bands_find(corpus):
    done = run("tune", corpus, "--threshold", 0.9, "--measure", "containment")
    assert done.exit_code == 0, done.stderr
    assert "16 bands of 8 rows" in done.stdout
    assert "recall at the threshold 0.9, for texts of one size: 0.97" in done.stdout
    table = [
        [float(x) for x in line.split()]
        for line in done.stdout.split("completely\n")[1].split("\n\n")[0].split("\n")
    ]
    assert len(table) == 7
    for ratio, *found in table:
        shares = [c / (1 + ratio - c) for c in (0.9, 1)]
        assert found == pytest.approx([1 - (1 - s**8) ** 16 for s in shares], abs=1e-6)
    assert "recommended for texts of this length: --unit" in done.stdout


def test_the_command_of_pairs_takes_the_measure(corpus, tmp_path):
    out = tmp_path / "pairs.csv"
    done = run(
        "pairs",
        corpus,
        "-o",
        out,
        "--id-column",
        "id",
        "--measure",
        "containment",
        "--size",
        2,
        "--exact",
    )
    assert done.exit_code == 0, done.stderr
    with open(out, newline="") as file:
        assert [tuple(row.values()) for row in csv.DictReader(file)] == [
            ("r0", "r1", "1.0"), ("r0", "r3", "0.8717948717948718"), ("r1", "r3", "1.0"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--save-index", "new.lsh"], "measure must be 'jaccard' with an index"),
        (["--keep", "shortest"], "keep must not be 'shortest'"),
        (["--verify", "signature"], "verify must be 'exact' for measure='containment'"),
    ],
)
def test_the_command_line_refuses_it_too(corpus, tmp_path, options, message):
    done = run(
        "dedup",
        corpus,
        "-o",
        tmp_path / "out.csv",
        "--measure",
        "containment",
        *options,
    )
    assert (done.exit_code, message in done.stderr) == (2, True), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]

"""Runs by the exact join: no band limits their thresholds or is reported, and no way of running replaces the join."""

import json

import pytest

import lshfast
from lshfast import dedup_files, stages
from tests.cli.commands import failing, run

# At this threshold, 128 slots cannot reach the default recall.
LOW = 0.02
SETS = [{1, 2, 3}, {1, 2, 4}, {5}, set()]
TEXTS = ["a b c d", "a b d e", "x y z", ""]
EXACT = [{"exact": True}, {"measure": "containment"}]


@pytest.fixture
def corpus(tmp_path):
    """A page, excerpts of it, and texts that are similar to one another."""
    page = [f"w{number}" for number in range(200)]
    texts = [
        " ".join(page[start : start + length])
        for length in (10, 20, 40)
        for start in range(0, 160, 15)
    ]
    texts += [
        " ".join(page),
        *(f"other {' '.join(page[50:80])} text {number}" for number in range(9)),
    ]
    path = tmp_path / "in.jsonl"
    lines = [
        json.dumps({"id": f"r{number}", "text": text})
        for number, text in enumerate(texts)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("options", EXACT, ids=str)
@pytest.mark.parametrize(
    ("items", "more", "pair"),
    [
        (SETS, {}, (0, 1)),
        (TEXTS, {"size": 1}, (0, 1)),
        (TEXTS, {"num_perm": 1, "size": 1}, (0, 1)),
    ],
)
def test_a_low_threshold_needs_no_bands(items, more, pair, options):
    found = lshfast.pairs(items, threshold=LOW, **options, **more)
    assert [tuple(row)[:2] for row in found.tolist()] == [pair]
    result = lshfast.dedup(items, threshold=LOW, **options, **more)
    assert result.keep.tolist() == [True, False, True, *[True] * (len(items) - 3)]
    assert (result.summary.bands, result.summary.recall) == (0, 1.0)
    assert not {"bands", "rows_per_band"} & result.options.keys()
    assert lshfast.dedup(items, **result.options).keep.tolist() == result.keep.tolist()


@pytest.mark.parametrize("options", EXACT, ids=str)
def test_files_at_a_low_threshold(tmp_path, corpus, options):
    removed, page = tmp_path / "removed.jsonl", tmp_path / "page.html"
    result = dedup_files(
        corpus,
        id_column="id",
        removed=removed,
        html=page,
        threshold=LOW,
        size=1,
        **options,
    )
    assert result.summary.removed > 30
    shown = page.read_text()
    assert "rows_per_band" not in shown
    assert "bands x rows" not in shown
    said = run(
        "explain",
        json.loads(removed.read_text().split("\n")[0])["key"],
        corpus,
        "--removed",
        removed,
    ).stdout
    assert "every similar pair is found" in said
    assert "bands" not in said


@pytest.mark.parametrize("given", [["--exact"], ["--measure", "containment"]], ids=str)
@pytest.mark.parametrize(
    "command",
    [
        ["dedup", "IN", "-o", "OUT"],
        ["dedup", "IN", "--dry-run"],
        ["pairs", "IN", "-o", "OUT"],
        ["tune", "IN"],
        ["tune", "--rows", "1000"],
        ["explain", "r1", "IN", "--with", "r2", "--id-column", "id"],
    ],
    ids=" ".join,
)
def test_commands_at_a_low_threshold(tmp_path, corpus, command, given):
    arguments = [
        {"IN": corpus, "OUT": tmp_path / "out.jsonl"}.get(part, part)
        for part in command
    ]
    done = run(*arguments, "--threshold", LOW, "--size", 1, *given)
    assert done.exit_code == 0, done.stderr
    assert "every similar pair is found" in done.stdout + done.stderr


def test_tune_tells_apart_what_the_join_finds_and_what_bands_find(corpus):
    said = run("tune", corpus, "--measure", "containment").stdout
    assert said.startswith(
        "exact join: every similar pair is found\n\nwith --no-exact:\n25 bands of 5 rows"
    )
    assert run(
        "tune", corpus, "--measure", "containment", "--no-exact"
    ).stdout.startswith("25 bands of 5 rows")
    assert "band" not in run("tune", corpus, "--exact").stdout.split("about")[0]
    assert "leave out --exact" in failing(
        2, "tune", corpus, "--exact", "--like", "datatrove"
    )


def test_an_index_has_bands_and_says_which_slots_they_need(tmp_path, corpus):
    index = tmp_path / "index.lsh"
    with pytest.raises(
        ValueError,
        match=r"recall 0.95 at threshold 0.02 is out of reach .* num_perm 149 reaches it",
    ):
        dedup_files(corpus, exact=True, threshold=LOW, save_index=index)
    dedup_files(
        corpus, exact=True, threshold=LOW, save_index=index, num_perm=149, size=1
    )
    with lshfast.LSHIndex.open(index) as saved:
        assert (saved.bands.bands, saved.bands.rows_per_band) == (149, 1)


@pytest.mark.parametrize(
    ("threshold", "recall"),
    [(0.02, 0.95), (0.3, 0.999999), (0.001, 0.5), (0.5, 0.9999999)],
)
def test_the_slots_that_an_error_names_are_enough(threshold, recall):
    with pytest.raises(ValueError, match="reaches it") as raised:
        lshfast.choose_bands(threshold, 4, recall=recall)
    slots = int(str(raised.value).split("num_perm ")[-1].split()[0])
    assert lshfast.choose_bands(threshold, slots, recall=recall).slots <= slots
    with pytest.raises(ValueError, match="reaches it"):
        lshfast.choose_bands(threshold, slots - 1, recall=recall)


@pytest.mark.parametrize("measure", ["jaccard", "containment"])
@pytest.mark.parametrize("exact", [None, True, False])
@pytest.mark.parametrize("pairs", [False, True])
def test_a_run_without_the_join_gives_the_same_rows_or_is_refused(
    tmp_path, corpus, measure, exact, pairs
):
    options = {
        "id_column": "id",
        "size": 2,
        "threshold": 0.5,
        "measure": measure,
        "exact": exact,
    }
    options |= {"pairs": tmp_path / "pairs.jsonl", "overwrite": True} if pairs else {}
    whole = dedup_files(corpus, **options)
    listed = (tmp_path / "pairs.jsonl").read_text() if pairs else ""
    flags = ["--size", 2, "--threshold", 0.5, "--measure", measure]
    flags += [] if exact is None else ["--exact" if exact else "--no-exact"]
    command = [
        "pairs" if pairs else "dedup",
        corpus,
        "-o",
        tmp_path / "out.jsonl",
        "--memory",
        "1G",
        *flags,
    ]
    work, kept = tmp_path / "work", tmp_path / "kept"
    of_stages = {
        name: value for name, value in options.items() if name != "overwrite"
    } | {"pairs": tmp_path / "parts" if pairs else None}
    if exact or (exact is None and measure == "containment"):
        refused = "exact is not an option of .*exact=False"
        with pytest.raises(ValueError, match=refused):
            dedup_files(corpus, memory="1G", **options)
        with pytest.raises(ValueError, match=refused):
            stages.plan(corpus, work, kept, **of_stages)
        assert "give exact=False (--no-exact)" in failing(2, *command)
        assert not work.exists()
        return
    capped = dedup_files(corpus, memory="1G", **options)
    assert capped.keep.tolist() == whole.keep.tolist()
    assert not pairs or (tmp_path / "pairs.jsonl").read_text() == listed
    done = run(*command)
    assert done.exit_code == 0, done.stderr
    stages.plan(corpus, work, kept, **of_stages)
    for stage in stages.STAGES:
        for task in range(stages.tasks(work, stage)):
            stages.run(work, stage, task)
    assert stages.status(work).summary.removed == whole.summary.removed

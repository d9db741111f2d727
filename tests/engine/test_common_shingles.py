"""Shingles in more than a given share of the texts do not count: judged by Python sets of word tuples."""

import json
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshfast._engine.common_shingles as counting
from lshfast import LSHIndex, TokenSets, dedup, dedup_files, pairs
from lshfast._common.run_key import draw_hash_key
from lshfast._engine.clock import Clock
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.inputs import Inputs
from lshfast._engine.paragraphs import run_paragraphs
from lshfast._engine.plan import make_plan
from lshfast.kernels.text import Texts

WORDS = ["a", "b", "c", "d", "e", "f", "g"]


def shingles(text, size):
    words = text.split()
    width = min(size, len(words))
    return (
        {tuple(words[at : at + width]) for at in range(len(words) - width + 1)}
        if words
        else set()
    )


def counted(texts, size, share):
    """Return the sets of the texts without common shingles, and how many shingles are common."""
    every = [shingles(text, size) for text in texts]
    number = Counter(shingle for one in every for shingle in one)
    common = {
        shingle for shingle, count in number.items() if count > share * len(texts)
    }
    return [one - common for one in every], len(common)


def similar(sets, threshold):
    found = []
    for i, j in combinations(range(len(sets)), 2):
        union = sets[i] | sets[j]
        if sets[i] and sets[j] and len(sets[i] & sets[j]) / len(union) >= threshold:
            found.append((i, j, len(sets[i] & sets[j]) / len(union)))
    return found


texts_of_few_words = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=12
)


@given(
    texts_of_few_words, st.sampled_from([1, 2]), st.sampled_from([0.1, 0.25, 0.5, 0.9])
)
def test_pairs(texts, size, share):
    sets, common = counted(texts, size, share)
    options = {"size": size, "threshold": 0.5, "ignore_common": share, "exact": True}
    assert pairs(texts, copies="all", **options).tolist() == similar(sets, 0.5)
    summary = dedup(texts, **options).summary
    assert (summary.empty, summary.ignored_shingles) == (sets.count(set()), common)


@pytest.mark.slow
@given(texts_of_few_words, st.sampled_from([0.1, 0.25, 0.5]))
def test_shingles_that_share_entries_of_the_table(texts, share):
    """The first reading only rules out; with a table of two entries it rules out little, and the result is the same."""
    with pytest.MonkeyPatch.context() as patch:
        wanted = pairs(texts, size=1, threshold=0.5, ignore_common=share)
        patch.setattr(counting, "TABLE_BITS", 1)
        assert (
            pairs(texts, size=1, threshold=0.5, ignore_common=share).tolist()
            == wanted.tolist()
        )


def test_the_share_is_exceeded_and_not_reached():
    texts = ["x a", "x b", "y c", "y d", "z e"]
    plan = make_plan(size=1, ignore_common=0.4)
    found = counting.find_common(lambda: [Texts(texts)], plan, Clock()).shingles.common
    assert len(found) == 0  # two of five are not more than 0.4
    found = counting.find_common(
        lambda: [Texts([*texts, "x"])], plan, Clock()
    ).shingles.common
    assert len(found) == 1


def test_signatures_and_verification_leave_the_same_shingles_out():
    texts = Texts([f"menu of the site {i} story {i} of its own" for i in range(10)])
    plan = make_plan(size=2, ignore_common=0.5)
    shingles = counting.find_common(lambda: [texts], plan, Clock()).shingles
    seeded = shingles.tokens_of(texts, 1)
    keyed = shingles.tokens_of(texts, draw_hash_key())
    assert (
        seeded.counts.tolist() == keyed.counts.tolist() == [4] * 10
    )  # "site 0", "0 story", "story 0", "0 of"


def test_templates_do_not_make_pages_similar():
    menu = " ".join(f"entry{i}" for i in range(80))
    pages = [
        f"{menu} {' '.join(f'w{page}x{i}' for i in range(20))}" for page in range(40)
    ]
    pages.append(pages[3] + " at the end")
    assert dedup(pages, threshold=0.6).summary.kept == 1
    result = dedup(pages, threshold=0.6, ignore_common=0.5)
    assert [(row.key, row.kept_key) for row in result.removed] == [(40, 3)]


def test_texts_with_nothing_else_are_empty_and_kept():
    texts = ["the same words on each page"] * 5 + [
        "another text with words of its own here"
    ]
    result = dedup(texts, ignore_common=0.5)
    assert result.summary.kept == 6
    assert result.summary.empty == 5


@pytest.mark.parametrize(
    "options",
    [{"unit": "char", "size": 3}, {"unit": "stopword"}, {"measure": "containment"}],
)
def test_other_shingles_and_measures(options):
    menu = "and this is the menu of the site " * 3
    texts = [f"{menu} but the {i % 7} of that is in a {i % 7} page" for i in range(40)]
    assert dedup(texts, threshold=0.5, ignore_common=0.9, **options).summary.kept == 7


@pytest.mark.one_case
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads):
    texts = [
        f"{'menu ' * 9} text {i % 91} has some words {i % 51} and others {i % 7}"
        for i in range(3000)
    ]
    wanted = dedup(texts, size=2, threshold=0.7, ignore_common=0.2, threads=1)
    found = dedup(texts, size=2, threshold=0.7, ignore_common=0.2, threads=threads)
    assert found == wanted


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, float("nan"), float("inf")])
def test_bad_shares(share):
    with pytest.raises(ValueError, match=r"ignore_common must be in \(0, 1\), not"):
        dedup(["a"], ignore_common=share)


def test_wrong_types():
    with pytest.raises(TypeError, match=r"ignore_common must be a number, not '0\.5'"):
        dedup(["a"], ignore_common="0.5")


@pytest.mark.parametrize("rows", [[{1, 2}, {3}], TokenSets([0, 1], [7])])
def test_sets_have_no_shingles(rows):
    with pytest.raises(ValueError, match="ignore_common is for texts"):
        dedup(rows, ignore_common=0.5)


def test_an_index_has_other_common_shingles():
    with pytest.raises(
        ValueError,
        match=r"ignore_common must be None with an index or earlier rows, not 0\.5",
    ):
        dedup(["a"], against=LSHIndex(shingles="word:5"), ignore_common=0.5)


def test_a_new_index_would_not_say_what_was_common(tmp_path):
    (tmp_path / "in.txt").write_text("a b c")
    with pytest.raises(
        ValueError,
        match=r"ignore_common must be None with an index or earlier rows, not 0\.5",
    ):
        dedup_files(
            tmp_path / "in.txt", save_index=tmp_path / "index", ignore_common=0.5
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_paragraphs(tmp_path):
    """The share is one of the paragraphs."""
    lines = [
        json.dumps(
            {"text": f"the menu of all pages\n\nwords of its own, number {i} x{i}y"}
        )
        for i in range(16)
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    source = Inputs([str(tmp_path / "in.jsonl")])
    plan = make_plan(size=2, ignore_common=0.3)
    found = run_paragraphs(source, Outputs(str(tmp_path / "out.jsonl")), plan)
    assert (found.read, found.kept) == (16, 16)
    assert (tmp_path / "out.jsonl").read_text().count(
        "the menu"
    ) == 16  # it has no other shingles

"""What the page of a run shows: its counts are those of the result, and its rows those that matter."""

import re
from collections import Counter

import numpy as np
import pytest

import lshfast
from lshfast._engine.pages.evidence import (
    COLUMNS,
    SampledPairs,
    counts_of,
    evidence_of,
    texts_of_column,
)
from lshfast.join.pair_arrays import PAIR
from tests.corpora import WORDS


def family(size, changed):
    """Return texts that differ in a few words from the first."""
    first = WORDS[:60]
    texts = [first] + [
        first[: 60 - more] + WORDS[100 : 100 + more]
        for more in range(1, changed * size, changed)
    ]
    return [" ".join(words) for words in texts[:size]]


TEXTS = [
    *family(9, 1),
    "one other text of six words",
    *family(4, 2)[:1],
    "one other text of six words",
    "alone",
    "",
]


@pytest.fixture(scope="module")
def result():
    return lshfast.dedup(TEXTS, threshold=0.7, size=2, groups="components")


def test_counts_are_those_of_the_result(result):
    evidence = evidence_of(result, None)
    removed = result.similarity[~result.keep]
    assert evidence.similarities.sum() == result.summary.removed
    assert evidence.similarities[-1] == (removed == 1).sum()
    sizes = np.bincount(result.labels)
    assert evidence.group_sizes == Counter(sizes[sizes > 1].tolist())


def test_the_least_similar_rows_come_first_one_of_each_group(result):
    least = evidence_of(result, texts_of_column(TEXTS)).examples[
        "The least similar rows that were removed"
    ]
    assert [example.similarity for example in least] == sorted(
        example.similarity for example in least
    )
    assert least[0].similarity == result.similarity[~result.keep].min()
    groups = [int(result.labels[int(example.key)]) for example in least]
    assert len(groups) == len(set(groups)) == result.summary.groups


def test_large_groups_are_shown(result):
    examples = evidence_of(result, None).examples
    assert any(
        reason.startswith("Of the group of 10 rows that begins with 0")
        for reason in examples
    )


def test_texts_are_those_of_the_rows(result):
    for some in evidence_of(result, texts_of_column(TEXTS)).examples.values():
        for example in some:
            for key, spans in (
                (example.key, example.left),
                (example.other_key, example.right),
            ):
                shown = next(span.text for span in spans if span.kind != "gap")
                assert shown in TEXTS[int(key)]


def test_a_row_removed_for_an_earlier_entry_has_no_other_text():
    index = lshfast.LSHIndex(shingles="word:5")
    lshfast.dedup(
        ["one two three four five six"], keys=["old"], against=index, add=True
    )
    texts = ["one two three four five six", "new words are here"]
    result = lshfast.dedup(texts, against=index)
    (example,) = evidence_of(result, texts_of_column(texts)).examples[
        "The least similar rows that were removed"
    ]
    assert example.other_key == "old"
    assert example.left[0].text == texts[0]
    assert example.right[0].kind == "gap"


def test_a_sample_of_pairs_counts_all_and_keeps_the_least_similar():
    rng = np.random.default_rng(1)
    pairs = np.zeros(5000, PAIR)
    pairs["i"], pairs["j"] = np.arange(5000), np.arange(5000) + 1
    pairs["similarity"] = rng.uniform(0.8, 1, 5000)
    sample = SampledPairs()
    assert np.array_equal(
        np.concatenate(list(sample.of(np.array_split(pairs, 7)))), pairs
    )
    assert np.array_equal(sample.counts, counts_of(pairs["similarity"]))
    least, over = sample.chosen().values()
    assert [pair.similarity for pair in least] == sorted(pairs["similarity"])[
        : len(least)
    ]
    assert {int(pair.similarity * COLUMNS) for pair in over} == set(range(32, 40))


def test_texts_that_are_sets_are_their_elements():
    assert texts_of_column([{2, 1}, None, b"\xff"])(np.arange(3)) == {
        0: "1 2",
        1: "",
        2: "\ufffd",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "page.txt"}, "page.txt: a page .html. must be named .html"),
        (
            {"path": "page.html", "texts": ["a"]},
            "texts must have one text per row: 14 texts, not 1",
        ),
    ],
)
def test_wrong_arguments(result, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        result.to_html(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_page_is_kept(result, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"page\.html"):
        result.to_html(path)
    assert path.read_text() == "mine"
    result.to_html(path, overwrite=True)
    assert path.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("options", "promise"),
    [
        ({}, "Each has a similarity of at least 0.7 to"),
        ({"verify": "signature"}, "By an estimate, each has a similarity of at least"),
        ({"verify": "none"}, "Similarities were not compared with the threshold."),
        ({"groups": "components"}, "A chain of rows that are similar by at least 0.7"),
        ({"measure": "containment"}, "Each is contained in the row that is kept"),
        (
            {"measure": "containment", "groups": "components"},
            "A chain of rows that are contained, one in the other, by a share of",
        ),
    ],
)
def test_a_page_and_a_notebook_begin_with_the_same_sentences(
    tmp_path, options, promise
):
    result = lshfast.dedup(TEXTS, threshold=0.7, size=2, **options)
    result.to_html(tmp_path / "page.html", TEXTS)
    page = (tmp_path / "page.html").read_text()
    lead = re.findall(r'<p class="lead">(.*?)</p>', page)
    count = "10 of 14 rows were removed: 2 exact copies and 8 near-duplicates. "
    assert lead[0].startswith(count + promise)
    assert result._repr_html_().startswith(f"<p>{lead[0]}</p>")


def test_a_page_says_how_many_rows_are_near_the_threshold(tmp_path):
    words = [f"w{number}" for number in range(40)]
    changed = [*words[:-1], "other"]
    texts = [" ".join(words), " ".join([*words, "more"]), " ".join(changed)]
    result = lshfast.dedup(texts, threshold=0.9, size=1)
    result.to_html(tmp_path / "page.html", texts)
    assert sorted(result.similarity.round(3)) == [0.951, 0.976, 1]
    result = lshfast.dedup(texts, threshold=0.925, size=1)
    result.to_html(tmp_path / "page.html", texts, overwrite=True)
    page = (tmp_path / "page.html").read_text()
    assert "1 of them has a similarity below 0.975: look at these first." in page


def test_the_page_of_many_sources_begins_with_those_that_lose_most(tmp_path):
    texts = [f"one text of number {number % 30}, and no other" for number in range(60)]
    values = [f"source {number % 12:02}" for number in range(60)]
    result = lshfast.dedup(texts, threshold=0.9, by=values, size=1)
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    losses = [float(share) for share in re.findall(r">([\d.]+)%</td>", page)]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 12
    assert "<summary>4 more</summary>" in page


def test_the_sentences_say_whether_earlier_rows_were_compared_exactly():
    earlier = {"old": TEXTS[0]}
    index = lshfast.LSHIndex(shingles="word:2", threshold=0.7)
    options = {"threshold": 0.7, "size": 2}
    lshfast.dedup(earlier.values(), keys=[*earlier], against=index, add=True, **options)
    of_index = lshfast.dedup(TEXTS, against=index, **options)._repr_html_()
    of_texts = lshfast.dedup(TEXTS, against=earlier, **options)._repr_html_()
    assert "rows that are similar to earlier ones" in of_index
    assert "the similarity to an earlier row is an estimate" in of_index
    assert "rows that are similar to earlier ones" in of_texts
    assert "estimate" not in of_texts.partition("</p>")[0]


def test_the_groups_of_a_page_are_those_of_the_account():
    result = lshfast.dedup(TEXTS, against=TEXTS[2:5], threshold=0.7, size=2)
    assert result.summary.earlier > 1
    evidence = evidence_of(result, None)
    assert sum(evidence.group_sizes.values()) == result.summary.groups
    assert max(evidence.group_sizes, default=1) == result.summary.largest_group


def test_the_page_of_a_refused_run_says_what_would_be_removed(tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("\n".join(["one and the same text"] * 30))
    page = tmp_path / "page.html"
    with pytest.raises(lshfast.TooManyRemovedError):
        lshfast.dedup_files(
            source,
            tmp_path / "out.jsonl",
            format="lines",
            max_removed=0.5,
            html=page,
        )
    text = page.read_text()
    assert "29 of 30 rows would be removed" in text
    assert text.index('role="alert"') < text.index('class="lead"')

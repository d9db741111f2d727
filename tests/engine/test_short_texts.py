"""Short texts: what is recommended for them, what that finds, and when a run warns."""

import warnings
from functools import cache

import numpy as np
import pytest

from lshfast import (
    CodeTextsWarning,
    Recommendation,
    ShortTextsWarning,
    dedup,
    dedup_files,
    pairs,
    recommend,
)
from lshfast.shingling import TextError
from tests.cli.commands import run, write_jsonl

LETTERS = list("etaoinshrdlcumwfgypbvk")


@cache
def vocabulary_of(seed):
    """Return 5,000 words, and the state of the generator behind them."""
    rng = np.random.default_rng(seed)
    weights = np.arange(len(LETTERS), 0, -1.0)
    vocabulary = [
        "".join(rng.choice(LETTERS, min(max(int(n), 2), 12), p=weights / weights.sum()))
        for n in rng.normal(5, 1.5, 5000)
    ]
    return vocabulary, rng.bit_generator.state


def tweets(count, words, planted, seed=1):
    """Return texts of about so many words, and the pairs of planted ones that differ in one or two words."""
    rng = np.random.default_rng()
    vocabulary, rng.bit_generator.state = vocabulary_of(seed)
    frequency = 1 / np.arange(1.0, 5001)
    frequency /= frequency.sum()

    def draw(n):
        return [vocabulary[at] for at in rng.choice(5000, n, p=frequency)]

    texts = [draw(max(int(n), 4)) for n in rng.normal(words, words * 0.3, count)]
    expected = set()
    for row in rng.permutation(count)[:planted].tolist():
        near = list(texts[row])
        for _ in range(rng.integers(1, 3)):
            near[rng.integers(len(near))] = draw(1)[0]
        expected.add((row, len(texts)))
        texts.append(near)
    return [" ".join(text) for text in texts], expected


def recall(texts, expected, **options):
    found = {(i, j) for i, j, _ in pairs(texts, **options).tolist()}
    return len(found & expected) / len(expected)


# What is recommended


@pytest.mark.parametrize(
    ("words", "unit", "size", "threshold"),
    [(3, "char", 4, 0.5), (10, "char", 5, 0.5), (15, "word", 2, 0.55), (20, "word", 2, 0.65), (30, "word", 3, 0.6),
     (60, "word", 5, 0.65), (100, "word", 5, 0.8), (5000, "word", 5, 0.8)],
)  # fmt: skip
def test_recommendations_by_length(words, unit, size, threshold):
    found = recommend([" ".join(["words"] * words)] * 3)
    assert found == (unit, size, threshold)
    assert isinstance(found, Recommendation)


def test_texts_without_words_do_not_count():
    assert recommend(["", None, "...", " ".join(["words"] * 20)]) == ("word", 2, 0.65)
    assert recommend([]) == recommend(["", None]) == ("word", 5, 0.8)


@pytest.mark.parametrize(
    ("line", "unit", "size", "threshold"),
    [
        ("for (i = 0; i < {}; i++)", "symbol", 2, 0.5),
        ("https://example.org/a/{0}?id={0}&page=2#x", "symbol", 2, 0.65),
        ("x = f({0}); " * 20, "symbol", 5, 0.8),
        ("a>{}", "char", 4, 0.5),
        ("one, two, three; or {}", "char", 4, 0.5),
    ],
)
@pytest.mark.parametrize("count", [2, 300])
def test_symbols_are_recommended_for_code(line, unit, size, threshold, count):
    texts = [line.format(number) for number in range(count)]
    assert recommend(texts) == (unit, size, threshold)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dedup(texts, **recommend(texts)._asdict())


def test_recommend_names_the_row_of_a_bad_text():
    with pytest.raises(TextError, match=r"texts\[255\]: not UTF-8 at byte 1"):
        recommend([*["a long text " * 1000] * 5, *["a text"] * 250, b"b\xff"])


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("words", [10, 14, 20, 30])
def test_recommended_values_find_planted_near_duplicates(words):
    texts, expected = tweets(3000, words, planted=300)
    with pytest.warns(ShortTextsWarning):
        assert recall(texts, expected) < 0.25
    assert recall(texts, expected, **recommend(texts)._asdict()) > 0.8


# When a run warns


@pytest.mark.parametrize("function", [dedup, pairs])
def test_a_run_warns_once_where_it_is_called_and_names_better_values(function):
    texts, _ = tweets(300, 14, planted=3)
    with pytest.warns(ShortTextsWarning) as caught:
        result = function(texts)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert "half of them have at most 13 words" in message
    assert "about 0.29, below the threshold 0.8" in message
    assert message.endswith("unit word, size 2, threshold 0.5")
    if function is dedup:
        assert result.summary.advice == message
        assert message in repr(result)
        assert message in result._repr_html_()


@pytest.mark.parametrize(
    ("count", "words", "options"),
    [
        (99, 14, {}),
        (300, 90, {}),
        (300, 14, {"size": 2, "threshold": 0.5}),
        (300, 14, {"unit": "char", "size": 5, "threshold": 0.5}),
        (300, 4, {"unit": "char", "size": 3, "threshold": 0.4}),
        (300, 14, {"threshold": 1}),
        (300, 90, {"threshold": 0.95}),
    ],
)
def test_nothing_is_said_where_the_shingles_suit_or_nothing_is_better(
    count, words, options
):
    texts, _ = tweets(count, words, planted=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dedup(texts, **options).summary.advice == ""
        pairs(texts, **options)


def punctuated(words, symbols):
    """Return texts of so many words and other symbols."""
    line = " ".join([*map("word{}".format, range(words)), *"+" * symbols])
    return [f"{line} {number}" for number in range(300)]


def long_lines(texts):
    return [" ".join([text] * 20) for text in texts]


@pytest.mark.one_case
@pytest.mark.parametrize("made", [list, long_lines])
@pytest.mark.parametrize("unit", ["word", "stopword"])
def test_symbols_are_recommended_from_a_share_of_punctuation_on(made, unit):
    """64 words and 36 other characters are above the share of CODE_SHARE, 66 and 34 below it."""
    code = made(punctuated(64, 36))
    for texts, threshold in ((code, 0.5), (code, 1)):
        with pytest.warns(CodeTextsWarning, match="unit symbol$") as caught:
            dedup(texts, unit=unit, threshold=threshold)
        assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dedup(made(punctuated(66, 34)), unit=unit, threshold=0.5)
        dedup(code, unit="symbol", threshold=0.5)
        dedup(code[:99], unit=unit, threshold=0.5)
        dedup(code, unit="char", threshold=0.5)


def test_code_is_recognised_in_files_and_within_a_cap(tmp_path):
    lines = [f"for (i = 0; i < {n}; i++) x[i] = {n};" for n in range(200)]
    path = write_jsonl(tmp_path / "code.jsonl", [{"text": line} for line in lines])
    for options in ((), ("--memory", "400M")):
        said = run("dedup", path, "--dry-run", *options).stderr
        assert said.count("Better for such texts: --unit symbol") == 1
        kept = run("dedup", path, "--dry-run", "--unit", "symbol", *options).stderr
        assert "Better for" not in kept


@pytest.mark.parametrize("words", [4, 7, 10, 14, 20, 30, 45, 60])
def test_recommended_values_do_not_warn(words):
    texts, _ = tweets(200, words, planted=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dedup(texts, **recommend(texts)._asdict())


def test_long_texts_among_short_ones_and_empty_ones_count_as_they_should():
    short, _ = tweets(150, 14, planted=0)
    long, _ = tweets(200, 900, planted=0)
    assert dedup([*short, *long]).summary.advice == ""
    assert dedup([*short[:90], *[""] * 1000]).summary.advice == ""
    with pytest.warns(ShortTextsWarning):
        dedup([*short, *long[:100], *[""] * 400])


# From files and the shell


@pytest.fixture
def file(tmp_path):
    texts, _ = tweets(300, 14, planted=3)
    return write_jsonl(tmp_path / "tweets.jsonl", [{"text": text} for text in texts])


def test_files_warn_too(file):
    with pytest.warns(ShortTextsWarning, match="size 2, threshold 0.5") as caught:
        dedup_files(file)
    assert [warning.filename for warning in caught] == [__file__]


def test_the_closing_table_has_one_line_about_it(file):
    said = run("dedup", file, "--dry-run").stderr
    assert said.count("most texts are short") == 1
    assert "Better for these texts: --unit word --size 2 --threshold 0.5\n" in said
    assert (
        "most texts"
        not in run(
            "dedup", file, "--dry-run", "--size", "2", "--threshold", "0.5"
        ).stderr
    )
    assert run("dedup", file, "--dry-run", "--quiet").stderr == ""


def test_tune_recommends(file, tmp_path):
    told = run("tune", file).stdout
    assert (
        "recommended for texts of this length: --unit word --size 2 --threshold 0.5\n"
        in told
    )
    lines = [f"for (i = 0; i < {n}; i++) x[i] = {n};" for n in range(200)]
    code = write_jsonl(tmp_path / "code.jsonl", [{"text": line} for line in lines])
    assert "--unit symbol --size 2 --threshold 0.65\n" in run("tune", code).stdout
    empty = write_jsonl(tmp_path / "empty.jsonl", [])
    assert "recommended" not in run("tune", empty).stdout
    assert "recommended" not in run("tune", "--rows", "5").stdout

"""Stop-word shingles: the numbers of the text, their effect on pages of news, runs, indexes and the command line."""

import hashlib
import pickle

import numpy as np
import pytest

from lshfast import LSHIndex, dedup, dedup_files, pairs, recommend, shingle
from lshfast._common.stop_words import LANGUAGES, StopWords, stop_words_of
from lshfast._engine.account.short_texts import FEWEST_TEXTS
from lshfast._engine.indexes.plan_of_index import plan_of_index
from lshfast._engine.plan import make_plan
from tests.cli.commands import failing, read_jsonl, run, write_jsonl
from tests.reference import text as reference

ARTICLE = (
    "A spokesperson for the Sudzo Corporation revealed today that studies have shown it is good for people to buy "
    "Sudzo products."
)


def shingles_in(text, stop_words="english"):
    """Return the stop-word shingles of a text as strings, by their tokens."""
    words = text.split()
    windows = [" ".join(words[start : start + 3]) for start in range(len(words) - 2)]
    by_token = dict(zip(shingle(windows, size=3).tokens.tolist(), windows, strict=True))
    return [
        by_token[token]
        for token in shingle([text], "stopword", stop_words=stop_words).tokens.tolist()
    ]


def test_f4_numbers_of_the_text():
    """MMDS 3.2.4: the advertisement "Buy Sudzo" has none, the article nine."""
    assert shingle([ARTICLE, "Buy Sudzo"], "stopword").counts.tolist() == [9, 0]
    assert shingles_in(ARTICLE)[:3] == [
        "A spokesperson for",
        "for the Sudzo",
        "the Sudzo Corporation",
    ]


def test_f4_exercise():
    """The last two words begin a shingle only if enough words follow, so the x is needed."""
    expected = [
        "I recommend that",
        "that you buy",
        "you buy Sudzo",
        "for your laundry",
        "your laundry x",
    ]
    assert shingles_in("I recommend that you buy Sudzo for your laundry x") == expected
    assert (
        shingles_in("I recommend that you buy Sudzo for your laundry") == expected[:4]
    )


def page(generator, words, density):
    """Return different words, of which every 1 / density is a stop word."""
    found = [f"w{number}" for number in generator.choice(10**9, words, replace=False)]
    for place in range(0, words, round(1 / density)):
        found[place] = ("the", "of", "and", "to")[place % 4]
    return " ".join(found)


def jaccard(a, b, unit):
    first, second = (
        set(tokens.tolist())
        for tokens in map(shingle([a, b], unit, 3).__getitem__, (0, 1))
    )
    return len(first & second) / len(first | second), len(first & second) / len(first)


def test_f4_pages_with_one_article_in_different_frames():
    """Half of a page is its article, where one word in 4 is a stop word; in the frame, it is one in 12."""
    generator = np.random.default_rng(4)
    articles = [page(generator, 6000, 1 / 4) for _ in range(2)]
    frames = [page(generator, 6000, 1 / 12) for _ in range(2)]
    first, other_frame, other_article = (
        f"{frame}\n{article}"
        for frame, article in (
            (frames[0], articles[0]),
            (frames[1], articles[0]),
            (frames[0], articles[1]),
        )
    )
    assert jaccard(first, other_frame, "stopword") == pytest.approx(
        (0.75 / 1.25, 0.75), abs=2e-3
    )
    assert jaccard(first, other_article, "stopword") == pytest.approx(
        (0.25 / 1.75, 0.25), abs=2e-3
    )
    for other in (other_frame, other_article):
        assert jaccard(first, other, "word") == pytest.approx((1 / 3, 1 / 2), abs=2e-3)


def test_f4_a_similarity_of_three_quarters():
    """The similarity itself is .75 where the article has six times as many stop words as the frame."""
    generator = np.random.default_rng(5)
    article, *frames = (
        page(generator, 6000, density) for density in (1 / 4, 1 / 24, 1 / 24)
    )
    first, second = (f"{frame}\n{article}" for frame in frames)
    assert jaccard(first, second, "stopword")[0] == pytest.approx(0.75, abs=3e-3)
    assert jaccard(first, second, "word")[0] == pytest.approx(1 / 3, abs=2e-3)


def news(generator, articles=20, frames=5):
    """Return pages of all pairs of articles and frames."""
    texts = [page(generator, 600, 1 / 4) for _ in range(articles)]
    menus = [page(generator, 600, 1 / 24) for _ in range(frames)]
    return [f"{menu} . {text}" for text in texts for menu in menus]


def test_dedup_groups_pages_by_article():
    pages = news(np.random.default_rng(6))
    result = dedup(pages, unit="stopword", threshold=0.6)
    assert np.flatnonzero(result.keep).tolist() == list(range(0, 100, 5))
    assert [removal.kept_key for removal in result.removed] == [
        row - row % 5 for row in range(100) if row % 5
    ]
    assert len(pairs(pages, unit="stopword", threshold=0.6)) == 20 * 10
    # Neither article nor frame is more than half of a page.
    assert dedup(pages, threshold=0.6).summary.kept == 100
    assert (
        dedup(pages, unit="stopword", threshold=0.6, exact=True).keep.tolist()
        == result.keep.tolist()
    )


def test_pages_without_stop_words_are_kept():
    result = dedup(
        ["Buy Sudzo", "Buy Sudzo", ARTICLE, ARTICLE],
        unit="stopword",
        stop_words="english",
    )
    assert result.keep.tolist() == [True, True, True, False]
    assert result.summary.empty == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_lists(language):
    """Each list has more than a hundred words, each once and each one word, and its code names it in an index."""
    stops = stop_words_of(language)
    assert len(stops.words) > 100
    assert len(set(stops.words)) == len(stops.words)
    assert [reference.words(word) for word in stops.words] == [
        [word] for word in stops.words
    ]
    assert stop_words_of(stops.code) == stops == pickle.loads(pickle.dumps(stops))
    index = LSHIndex(shingles=f"stopword:3:{stops.code}")
    sentence = " ".join([*stops.words, "lshfast", "lshfast"])
    assert shingle([sentence], "stopword", 3, language).counts.tolist() == [
        len(stops.words)
    ]
    index.insert(["a"], [sentence])
    assert index.query([sentence], k=1).similarity.tolist() == [1]


def test_the_lists_are_pinned():
    """Tokens depend on the lists, and indexes hold tokens: a change here is a change of format."""
    lists = [
        (language, stop_words_of(language).code, list(stop_words_of(language).words))
        for language in LANGUAGES
    ]
    assert hashlib.sha256(repr(lists).encode()).hexdigest()[:16] == "d223c2765c9966b4"


def test_lists_of_different_languages():
    """A sentence has most shingles in its own language."""
    sentences = {
        "english": "The minister said that it was not possible for them to go there before the end of the year",
        "german": "Der Minister sagte, dass es nicht möglich ist, dass sie vor dem Ende des Jahres in das Land reisen",
        "french": "Le ministre a dit que ce n'est pas possible pour eux de partir avant la fin de l'année et du mois",
        "spanish": "El ministro dijo que no era posible para ellos ir a la ciudad antes de que se acabe el año y ya",
        "dutch": "De minister zei dat het niet mogelijk is voor hen om daar te zijn voor het einde van het jaar",
    }
    for own, sentence in sentences.items():
        counts = {
            language: shingle([sentence], "stopword", 3, language).counts[0]
            for language in sentences
        }
        assert max(counts, key=counts.get) == own


def test_own_lists():
    own = ["The", "don't"]
    assert shingles_in("the cat and don t sit here", own) == [
        "the cat and",
        "don t sit",
        "t sit here",
    ]
    assert stop_words_of(own) == stop_words_of(iter(own)) != stop_words_of(["the"])
    assert stop_words_of(own).language is None
    assert stop_words_of(None).language == "english"
    assert isinstance(pickle.loads(pickle.dumps(stop_words_of(own))), StopWords)
    assert (
        dedup([ARTICLE, ARTICLE], unit="stopword", stop_words=own).summary.removed == 1
    )


def test_indexes():
    pages = news(np.random.default_rng(7), 4, 2)
    index = LSHIndex(threshold=0.6, shingles="stopword:3:en")
    assert (
        dedup(
            pages[::2], unit="stopword", threshold=0.6, against=index, add=True
        ).summary.kept
        == 4
    )
    assert (
        dedup(pages[1::2], unit="stopword", threshold=0.6, against=index).summary.kept
        == 0
    )
    plan = plan_of_index(index.parameters, {"stop_words": "english"})
    assert plan.shingles == make_plan(unit="stopword").shingles
    with pytest.raises(
        ValueError, match="stop_words is english in this index, not german"
    ):
        plan_of_index(index.parameters, {"stop_words": "german"})
    with pytest.raises(
        ValueError,
        match="shingles is 'stopword:3:en' in this index, not 'stopword:3:de'",
    ):
        dedup(pages, unit="stopword", stop_words="german", threshold=0.6, against=index)
    with pytest.raises(
        ValueError, match="stop_words must be those of a language for an index"
    ):
        dedup(pages, unit="stopword", stop_words=["the"], threshold=0.6, against=index)


def test_files(tmp_path):
    pages = news(np.random.default_rng(8), 10, 3)
    rows = [{"id": f"p{row}", "text": text} for row, text in enumerate(pages)]
    source = write_jsonl(tmp_path / "in.jsonl", rows)
    kept = tmp_path / "kept.jsonl"
    second = tmp_path / "2.jsonl"
    options = "--id-column", "id", "--unit", "stopword", "--threshold", 0.6
    made = run(
        "dedup",
        source,
        "-o",
        kept,
        *options,
        "--stop-words",
        "english",
        "--save-index",
        tmp_path / "a.lsh",
    )
    assert made.exit_code == 0, made.stderr
    assert [row["id"] for row in read_jsonl(kept)] == [
        f"p{row}" for row in range(0, 30, 3)
    ]
    again = run(
        "dedup",
        source,
        "-o",
        second,
        "--id-column",
        "id",
        "--against",
        tmp_path / "a.lsh",
    )
    assert again.exit_code == 0, again.stderr
    assert read_jsonl(second) == []
    found = dedup_files(
        source, unit="stopword", stop_words=["the", "of", "and", "to"], threshold=0.6
    )
    assert found.summary.kept == 10
    assert run("pairs", source, "-o", tmp_path / "pairs.csv", *options).exit_code == 0
    assert (
        run("index", "build", source, "-o", tmp_path / "b.lsh", *options).exit_code == 0
    )
    wrong = failing(
        2,
        "dedup",
        source,
        "-o",
        tmp_path / "x.jsonl",
        *options,
        "--stop-words",
        "klingon",
    )
    assert "stop_words must be one of danish, dutch, english" in wrong
    wrong = failing(
        2, "dedup", source, "-o", tmp_path / "x.jsonl", "--stop-words", "english"
    )
    assert "stop_words is for unit 'stopword', not 'word'" in wrong


def test_no_advice_for_stop_words():
    texts = [
        f"bus {number} of our town is late again" for number in range(2 * FEWEST_TEXTS)
    ]
    assert dedup(texts, unit="stopword").summary.advice == ""
    assert recommend(texts).unit == "char"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: shingle(["a"], "stopwords"),
            ValueError,
            "unit must be 'word', 'char', 'symbol' or 'stopword', not 'stopwords'",
        ),
        (
            lambda: shingle(["a"], "word", stop_words="english"),
            ValueError,
            "stop_words is for unit 'stopword'",
        ),
        (
            lambda: shingle(["a"], "stopword", 0),
            ValueError,
            r"size must be in 1\.\.256, not 0",
        ),
        (
            lambda: shingle(["a"], "stopword", stop_words="English"),
            ValueError,
            "one of danish, .* not 'English'",
        ),
        (
            lambda: shingle(["a"], "stopword", stop_words=[]),
            ValueError,
            "at least one word",
        ),
        (
            lambda: shingle(["a"], "stopword", stop_words=["a", "!"]),
            ValueError,
            "must be words, not '!'",
        ),
        (
            lambda: shingle(["a"], "stopword", stop_words=["\ud800"]),
            ValueError,
            "lone surrogate",
        ),
        (
            lambda: shingle(["a"], "stopword", stop_words=["a", 3]),
            TypeError,
            "stop_words must be str, not 3",
        ),
        (
            lambda: shingle(["a"], "stopword", stop_words=3),
            TypeError,
            "language or a list of words, not 3",
        ),
        (
            lambda: shingle(["a"], "stopword", stop_words=b"en"),
            TypeError,
            "language or a list of words, not b'en'",
        ),
        (
            lambda: dedup([{"a"}, {"b"}], unit="stopword"),
            ValueError,
            "unit is for texts, and these are sets",
        ),
        (
            lambda: dedup([{"a"}, {"b"}], size=4),
            ValueError,
            "size is for texts, and these are sets",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()

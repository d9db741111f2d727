"""Pairs of texts with both shares, and what is removed, beside a comparison of all runs of words."""

import csv
import itertools
import json
from collections import defaultdict

import numpy as np
import pytest

from lshfast import passages
from tests.cli.commands import failing, read_jsonl, run, write_jsonl

LENGTH = 3


def some_texts(seed, count=9, words=4):
    rng = np.random.default_rng(seed)
    return [
        [f"w{word}" for word in rng.integers(words, size=rng.integers(0, 14))]
        for _ in range(count)
    ]


def runs_of_text(words):
    """Yield the runs of LENGTH words of a text, and their places."""
    for place in range(len(words) - LENGTH + 1):
        yield tuple(words[place : place + LENGTH]), place


def covered(words, chosen):
    """Return the places of words in the runs that begin at chosen places."""
    return {place + shift for place in chosen for shift in range(LENGTH)}


def left_over(texts, remove, more_than):
    """Return the words of each text that are in no run to be removed."""
    places = defaultdict(list)
    for row, words in enumerate(texts):
        for words_of_run, place in runs_of_text(words):
            places[words_of_run].append((row, place))
    chosen = defaultdict(set)
    for of_run in places.values():
        if len(of_run) > more_than:
            for row, place in of_run[0 if remove == "all" else 1 :]:
                chosen[row].add(place)
    return [
        [word for at, word in enumerate(words) if at not in covered(words, chosen[row])]
        for row, words in enumerate(texts)
    ]


@pytest.mark.parametrize("remove", ["first", "all"])
@pytest.mark.parametrize("more_than", [None, 1, 2, 5])
def test_what_is_removed(remove, more_than):
    for seed in range(8):
        texts = some_texts(seed)
        joined = [" ".join(words) for words in texts]
        found = passages.find(joined, length=LENGTH, remove=remove, more_than=more_than)
        words = [text.split() for text in found.without_copies(joined)]
        assert words == left_over(texts, remove, more_than or 1)
        plain = passages.find(joined, length=LENGTH)
        assert found.covered.tolist() == plain.covered.tolist()


def longest_common(a, b):
    return max(
        (
            size
            for size in range(LENGTH, min(len(a), len(b)) + 1)
            for at in range(len(a) - size + 1)
            if any(
                a[at : at + size] == b[to : to + size]
                for to in range(len(b) - size + 1)
            )
        ),
        default=0,
    )


def shares(a, b):
    """Return how many words of each of two texts are in runs of both, and the longest run."""
    common = {one for one, _ in runs_of_text(a)} & {one for one, _ in runs_of_text(b)}
    counts = [
        len(
            covered(
                words, [place for one, place in runs_of_text(words) if one in common]
            )
        )
        for words in (a, b)
    ]
    return *counts, longest_common(a, b)


@pytest.mark.parametrize("against", [False, True])
def test_pairs_have_both_shares_and_the_longest_passage(against):
    for seed in range(6):
        texts = some_texts(seed)
        others = some_texts(seed + 50, 5) if against else texts
        joined, other_texts = (
            [" ".join(words) for words in each] for each in (texts, others)
        )
        found = passages.find(
            joined, other_texts if against else None, length=LENGTH, most_copies=None
        )
        wanted = {}
        every = (
            itertools.product(range(len(texts)), range(len(others)))
            if against
            else itertools.combinations(range(len(texts)), 2)
        )
        for i, j in every:
            counts = shares(texts[i], others[j])
            if counts[0]:
                wanted[i, j] = counts
        names = ["i", "j", "i_units", "j_units", "longest"]
        assert {
            (i, j): tuple(rest) for i, j, *rest in found.pairs[names].tolist()
        } == wanted
        for pair in found.pairs:
            assert pair["i_share"] == pair["i_units"] / len(texts[pair["i"]])
            assert pair["j_share"] == pair["j_units"] / len(others[pair["j"]])
            span = found.spans[pair["span"]]
            assert (span["i"], span["j"]) == (pair["i"], pair["j"])
            assert span["units"] == pair["longest"]
        greatest = np.maximum(found.pairs["i_share"], found.pairs["j_share"])
        assert (np.diff(greatest) <= 0).all()


def test_the_order_of_rows_decides_nothing():
    source = " ".join(f"s{i}" for i in range(40))
    copy = " ".join(f"s{i}" for i in range(10))
    first, second = (
        passages.find(texts, length=5).pairs[0]
        for texts in ([source, copy], [copy, source])
    )
    assert (first["i_share"], first["j_share"]) == (0.25, 1.0)
    assert (second["i_share"], second["j_share"]) == (1.0, 0.25)


CROWD = " ".join(f"q{i}" for i in range(12))


@pytest.mark.parametrize("copies", [5, 40])
def test_a_crowd_is_named_by_its_first_text(copies):
    texts = [
        "alone and long enough",
        *(f"{CROWD} a{i} b{i} c{i}" for i in range(copies)),
    ]
    found = passages.find(texts, length=6)
    assert (found.pairs["texts"] == copies).all()
    assert (found.pairs["first"] == 1).all()
    of_question = passages.find(texts, [CROWD], length=6)
    assert of_question.pairs["texts"].tolist() == [copies + 1] * copies
    assert (of_question.pairs["first"] == 0).all()


@pytest.mark.parametrize("most_copies", [1, 2, 16, None])
def test_all_places_of_each_passage(most_copies):
    for seed in range(8):
        texts = some_texts(seed)
        # Texts that differ in what is between words.
        joined = [
            (" " if row % 2 else ", ").join(words) for row, words in enumerate(texts)
        ]
        found = passages.find(joined, length=LENGTH, most_copies=most_copies)
        listed = {
            tuple(texts[j][at : at + units])
            for j, at, units in found.spans[["j", "j_unit", "units"]].tolist()
        }
        wanted = {
            words: [
                (row, at)
                for row, text in enumerate(texts)
                for at in range(len(text) - len(words) + 1)
                if tuple(text[at : at + len(words)]) == words
            ]
            for words in listed
        }
        all_places = found.all_places()
        told = defaultdict(list)
        numbers = {}
        for place in all_places:
            row, at, units = place["row"], place["unit"], place["units"]
            words = tuple(texts[row][at : at + units])
            told[words].append((row, at))
            assert numbers.setdefault(words, place["passage"]) == place["passage"]
            shown = joined[row][place["start"] : place["end"]]
            assert shown.replace(",", "").split() == list(words)
            [text] = found.texts(place["span"].reshape(1))
            assert text.replace(",", "").split() == list(words)
        assert told == wanted
        sizes = np.bincount(all_places["passage"])
        assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("unit", ["word", "char"])
def test_places_of_a_text_that_repeats_one_word(unit):
    repeated = ("la " if unit == "word" else "a") * 20_000
    found = passages.find([repeated, repeated[:9000], "other"], length=50, unit=unit)
    all_places = found.all_places()
    longest = all_places[all_places["passage"] == all_places["passage"].max()]
    assert longest["units"][0] == 19_999 if unit == "word" else 19_999
    assert longest[["row", "unit"]].tolist() == [(0, 0), (0, 1)]


def test_places_are_those_within_texts():
    assert len(passages.find(["a b c", "d e f"], length=3).all_places()) == 0
    with pytest.raises(ValueError, match="all_places is for a search within texts"):
        passages.find(["a b c"], ["a b c"], length=3).all_places()


def test_texts_without_passages_have_no_pairs():
    for texts in (
        [],
        ["one two three"],
        ["one two three four", "five six seven eight"],
    ):
        assert len(passages.find(texts, length=3).pairs) == 0
    within = passages.find(["a b c x a b c"], length=3)
    assert len(within) == 1
    assert len(within.pairs) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"remove": "rows"}, "remove must be 'first' or 'all', not 'rows'"),
        ({"more_than": 0}, "more_than must be"),
        ({"against": ["a"], "more_than": 2}, "not for a search against other texts"),
    ],
)
def test_bad_values(options, said):
    with pytest.raises(ValueError, match=said):
        passages.find(["a b c"], **options)


# The command line

ROWS = [
    {"id": "source", "text": " ".join(f"s{i}" for i in range(60))},
    {"id": "copy", "text": " ".join(f"s{i}" for i in range(10, 40)) + " own end"},
    *({"id": f"h{i}", "text": f"{CROWD} a{i} b{i}"} for i in range(5)),
    {"id": "alone", "text": "nothing in common with others"},
]


@pytest.fixture
def corpus(tmp_path):
    return write_jsonl(tmp_path / "corpus.jsonl", ROWS)


def test_the_table_and_the_page_of_pairs(corpus, tmp_path):
    pairs, page = tmp_path / "pairs.csv", tmp_path / "page.html"
    options = (
        "--id-column",
        "id",
        "--min-words",
        "6",
        "--pairs",
        pairs,
        "--html",
        page,
    )
    result = run("passages", corpus, *options)
    assert result.exit_code == 0
    with pairs.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["key_i"], row["key_j"]) for row in rows[:2]] == [
        ("source", "copy"),
        ("h0", "h1"),
    ]
    first = rows[0]
    assert (first["words_i"], first["longest"], first["share_i"]) == ("30", "30", "0.5")
    assert (first["texts"], first["as"]) == ("2", "")
    assert first["text"].split() == [f"s{i}" for i in range(10, 40)]
    assert {row["as"] for row in rows[1:]} == {"h0"}
    assert "50%   of source, 94% of copy; longest 30 words" in result.stderr
    assert "in 5 texts as h0" in result.stderr
    assert result.stderr.count("in 5 texts as h0") == 1
    html = page.read_text()
    assert html.index("Pairs of texts") < html.index("How much passages cover")
    assert "in 5 texts, as h0" in html
    assert html.count("in 5 texts, as h0") == 1
    hidden = tmp_path / "hidden.html"
    run("passages", corpus, *options[:4], "--html", hidden, "--html-no-texts")
    assert "s10 s11" not in hidden.read_text()


def test_the_table_of_all_places(corpus, tmp_path):
    out = tmp_path / "places.jsonl"
    options = ("--id-column", "id", "--min-words", "6", "--places", out)
    assert run("passages", corpus, *options).exit_code == 0
    rows = read_jsonl(out)
    assert [(row["passage"], row["places"], row["key"]) for row in rows] == [
        *((0, 5, f"h{i}") for i in range(5)),
        (1, 2, "source"),
        (1, 2, "copy"),
    ]
    assert rows[0]["text"] == CROWD
    assert (rows[0]["start"], rows[0]["end"], rows[0]["words"]) == (0, len(CROWD), 12)


def kept(corpus, out, *options):
    """Return the words of each row that `lshfast passages --remove` writes."""
    command = ("passages", corpus, "--id-column", "id", "--min-words", "6", "-o", out)
    result = run(*command, "--overwrite", *options)
    assert result.exit_code == 0
    return {
        row["id"]: len(row["text"].split()) for row in read_jsonl(out)
    }, result.stderr


def test_rows_and_all_copies_are_removed(corpus, tmp_path):
    out = tmp_path / "out.jsonl"
    rows, account = kept(corpus, out, "--remove", "rows")
    assert rows == {"source": 60, "h0": 14, "alone": 5}
    assert "5   with passages" in account
    every, _ = kept(corpus, out, "--remove", "all")
    assert every == {"source": 30, "copy": 2, "alone": 5} | {
        f"h{i}": 2 for i in range(5)
    }
    frequent, _ = kept(corpus, out, "--remove", "all", "--more-than", "2")
    assert frequent == every | {"source": 60, "copy": 32}
    none, account = kept(corpus, out, "--remove", "rows", "--more-than", "5")
    assert len(none) == len(ROWS)


@pytest.mark.parametrize("stream", [False, True])
def test_contaminated_rows_are_left_out(corpus, tmp_path, stream):
    questions = write_jsonl(tmp_path / "questions.jsonl", [{"text": CROWD}])
    options = ["--against", questions, "--remove", "rows"]
    options += ["--stream-against"] if stream else []
    rows, account = kept(corpus, tmp_path / "out.jsonl", *options)
    assert list(rows) == ["source", "copy", "alone"]
    assert rows["source"] == 60
    assert "5   with passages" in account


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--more-than", "3"), "--more-than needs --remove"),
        (
            ("--remove", "all", "--more-than", "3", "--against", "x"),
            "--more-than needs",
        ),
        (
            ("--remove", "all", "--more-than", "3", "--most-copies", "4"),
            "--more-than takes the place of --most-copies",
        ),
        (("--remove", "last"), "remove"),
        (
            ("--places", "p.csv", "--against", "x"),
            "--places is for passages within INPUT",
        ),
    ],
)
def test_options_that_contradict(corpus, tmp_path, options, said):
    line = failing(2, "passages", corpus, "-o", tmp_path / "o.jsonl", *options)
    assert said in line
    assert not (tmp_path / "o.jsonl").exists()


def test_pairs_alone_are_an_output(corpus, tmp_path):
    out = tmp_path / "pairs.jsonl"
    assert run("passages", corpus, "--pairs", out, "--min-words", "6").exit_code == 0
    rows = list(map(json.loads, out.read_text().splitlines()))
    assert len(rows) == 11

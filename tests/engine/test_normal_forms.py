"""Texts that are compared in a normal form: all verbs, exact copies, indexes, pages, and the warning."""

import unicodedata
import warnings

import pytest

import lshfast
from lshfast import passages
from lshfast._engine.account.normal_forms import ADVICE
from lshfast.shingling import check_shingles, shingles_of_texts
from tests.cli.commands import failing, run
from tests.corpora import load, make

pytestmark = pytest.mark.usefixtures("little_work")

VIETNAMESE = "Tiếng Việt là ngôn ngữ của người Việt và là ngôn ngữ chính thức"
KOREAN = "한국어는 대한민국과 조선의 공용어이다 그리고 많은 사람이 쓴다"
LIGATURES = "the \ufb01nal o\ufb03ce \uff32\uff25\uff33\uff35\uff2c\uff34 of \u338f and \u00bd cup"
PLAIN = "the final office RESULT of kg and 1\u20442 cup"


def form(name, text):
    return unicodedata.normalize(name, text)


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*args, **options)


@pytest.mark.parametrize("unit", ["word", "char"])
@pytest.mark.parametrize(
    ("normalize", "texts", "kept"),
    [
        ("NFC", [form("NFC", VIETNAMESE), form("NFD", VIETNAMESE)], 1),
        ("NFKC", [form("NFC", VIETNAMESE), form("NFD", VIETNAMESE)], 1),
        ("NFC", [form("NFC", KOREAN), form("NFD", KOREAN)], 1),
        ("NFC", [LIGATURES, PLAIN], 2),
        ("NFKC", [LIGATURES, PLAIN], 1),
        ("NFC", ["\u212b \u2126", "\u00c5 \u03a9"], 1),
        ("NFC", ["no accents here at all", "no accents here at all!"], 1),
    ],
)
def test_equal_forms_are_exact_copies(unit, normalize, texts, kept):
    """A copy is a text whose shingles in the form are those of another; text as given does not count."""
    if unit == "char":
        texts = [text.rstrip("!") for text in texts]
    found = quiet(lshfast.dedup, texts, unit=unit, normalize=normalize)
    assert (found.summary.kept, found.summary.copies) == (kept, 2 - kept)
    assert found.summary.normalize == normalize
    assert f"{normalize}   the normal form of all texts" in repr(found)
    assert found.options["normalize"] == normalize
    pairs = quiet(lshfast.pairs, texts, unit=unit, normalize=normalize)
    assert pairs["similarity"].tolist() == [1.0] * (2 - kept)
    exact = quiet(lshfast.dedup, texts, unit=unit, normalize=normalize, exact=True)
    assert exact.summary.kept == kept


def test_the_shingles_are_those_of_the_form():
    texts = [form("NFD", VIETNAMESE), LIGATURES, "plain", ""]
    for unit, words in (
        ("word", None),
        ("char", None),
        ("stopword", ["l\u00e0", "of"]),
    ):
        for normalize in ("NFC", "NFKC"):
            found = lshfast.shingle(texts, unit, 2, words, normalize=normalize)
            normal = [form(normalize, text) for text in texts]
            wanted = lshfast.shingle(normal, unit, 2, words)
            assert found.tokens.tolist() == wanted.tokens.tolist()
            assert found.offsets.tolist() == wanted.offsets.tolist()
    composed, decomposed = (
        lshfast.shingle(texts, "stopword", 2, [form(name, "l\u00e0")], normalize="NFC")
        for name in ("NFC", "NFD")
    )
    assert composed.tokens.tolist() == decomposed.tokens.tolist()
    assert len(composed.tokens) == 2


@pytest.mark.parametrize("value", ["nfc", "NFD", "", 1, True])
def test_bad_forms(value):
    message = "normalize must be one of none, NFC, NFKC, not "
    for function in (lshfast.dedup, lshfast.pairs, lshfast.check, lshfast.shingle):
        with pytest.raises(ValueError, match=message):
            function(["a"], normalize=value)
    with pytest.raises(ValueError, match=message):
        passages.find(["a"], normalize=value)


def test_a_form_is_for_texts():
    with pytest.raises(ValueError, match="normalize is for texts, not for vectors"):
        lshfast.dedup([[1.0, 2.0]], kind="vector", normalize="NFC")


def test_bad_bytes_are_named_where_they_stand():
    texts = [form("NFD", VIETNAMESE), b"e\xcc\x81 \xff"]
    with pytest.raises(ValueError, match=r"texts\[1\]: not UTF-8 at byte 4"):
        lshfast.dedup(texts, normalize="NFC")


@pytest.mark.parametrize(
    ("unit", "size", "language", "normalize", "name"),
    [
        ("word", 5, None, "none", "word:5"),
        ("word", 5, None, "NFC", "word:5:nfc"),
        ("char", 256, None, "NFKC", "char:256:nfkc"),
        ("stopword", 3, "english", "none", "stopword:3:en"),
        ("stopword", 256, "english", "NFKC", "stop:256:en:nfkc"),
    ],
)
def test_names_of_shingles(unit, size, language, normalize, name):
    shingles = check_shingles(unit, size, language, normalize=normalize)
    assert shingles.name == name
    assert len(name) <= 16
    again = shingles_of_texts(name)
    assert again is not None
    assert (again.unit, again.size, again.normalize) == (unit, size, normalize)


@pytest.mark.parametrize(
    "name",
    [
        "word:nfc",
        "word:5:NFC",
        "word:5:nfd",
        "stop:3:en",
        "word:5:en:nfc",
        "stop:3:nfc",
    ],
)
def test_other_names(name):
    assert shingles_of_texts(name) is None


def test_indexes_keep_the_form(tmp_path):
    """The form of an index is that of its texts; a run with another one is refused, an old index has none."""
    composed, decomposed = form("NFC", VIETNAMESE), form("NFD", VIETNAMESE)
    index = lshfast.LSHIndex(shingles="word:5:nfc")
    index.insert(["a"], [composed])
    assert index.query(decomposed) == ["a"]
    path = tmp_path / "i.lsh"
    index.save(path)
    with lshfast.LSHIndex.open(path) as opened:
        assert opened.parameters.shingles == "word:5:nfc"
        texts = [decomposed, "others " * 9]
        found = lshfast.dedup(texts, against=opened, normalize="NFC")
        assert found.summary.earlier == 1
        with pytest.raises(ValueError, match=r"'word:5:nfc'.*'word:5'"):
            lshfast.dedup([decomposed], against=opened)
    texts = make(tmp_path / "in.jsonl", [{"text": decomposed}])
    out = tmp_path / "out.jsonl"
    run("dedup", texts, "--against", path, "-o", out)
    assert load(out) == []  # without --normalize, the form of the index
    old = tmp_path / "old.lsh"
    run("index", "build", texts, "-o", old)
    said = failing(
        2,
        "dedup",
        texts,
        "--against",
        old,
        "--normalize",
        "NFC",
        "-o",
        tmp_path / "2.jsonl",
    )
    assert "normalize is none in this index, not NFC" in said
    said = failing(
        2,
        "dedup",
        texts,
        "--against",
        path,
        "--normalize",
        "NFKC",
        "-o",
        tmp_path / "2.jsonl",
    )
    assert "normalize is NFC in this index, not NFKC" in said
    run("index", "build", texts, "-o", tmp_path / "new.lsh", "--normalize", "NFKC")
    assert "word:5:nfkc" in run("index", "info", tmp_path / "new.lsh").stdout


def test_the_command_and_its_page(tmp_path):
    """The texts are written as they are; page, account and explanation name the form."""
    rows = [form("NFC", VIETNAMESE), form("NFD", VIETNAMESE) + " ngay", "x " * 30]
    path = make(tmp_path / "in.jsonl", [{"text": text} for text in rows])
    out, page, removed = (tmp_path / name for name in ("o.jsonl", "p.html", "r.csv"))
    options = (
        "--normalize",
        "NFC",
        "--html",
        page,
        "--removed",
        removed,
        "--keep",
        "last",
    )
    answer = run("dedup", path, "-o", out, *options)
    assert [row["text"] for row in load(out)] == rows[1:]
    assert "compared in              NFC" in answer.stderr
    shown = page.read_text(encoding="utf-8")
    assert "normalize" in shown
    assert form("NFC", "ch\u00ednh") in shown
    assert form("NFD", "ch\u00ednh") not in shown
    said = run("explain", f"{path}:1", path, "--removed", removed).stdout
    assert "Ti\u1ebfng-]" not in said
    assert "{+ngay+}" in said  # the last word alone


@pytest.mark.parametrize("unit", ["word", "char"])
@pytest.mark.parametrize("normalize", ["NFC", "NFKC"])
@pytest.mark.parametrize("against", [False, True])
def test_passages(unit, normalize, against):
    """A passage is found in either form; places and texts without it are those of the texts as they are."""
    texts = [
        f"one two {form('NFC', KOREAN)}. three",
        f"four, {form('NFD', KOREAN)}! five six",
    ]
    length = 6 if unit == "word" else 30
    options = {"length": length, "unit": unit}
    sides = ([texts[0]], [texts[1]]) if against else (texts,)
    with pytest.warns(lshfast.MixedFormsWarning):
        assert len(passages.find(*sides, **options)) == 0
    found = passages.find(*sides, **options, normalize=normalize)
    (span,) = found.spans
    for side, text, name in (("i", texts[0], "NFC"), ("j", texts[1], "NFD")):
        part = text[span[f"{side}_start"] : span[f"{side}_end"]]
        data = text.encode()[span[f"{side}_start_byte"] : span[f"{side}_end_byte"]]
        assert part == data.decode()
        assert part.strip() == form(name, KOREAN)
    if not against:
        cleaned = found.without_copies(texts)
        assert cleaned[0] == texts[0]
        assert cleaned[1].replace(" ", "") in ("four,!fivesix", "four,fivesix")
        assert len(found.all_places()) == 2


def test_passages_of_compatible_characters():
    found = passages.find([LIGATURES, f"so {PLAIN} too"], length=8, normalize="NFKC")
    (span,) = found.spans
    assert LIGATURES[span["i_start"] : span["i_end"]] == LIGATURES
    assert found.texts() == [PLAIN]


def test_the_command_passages(tmp_path):
    texts = [form("NFC", KOREAN), form("NFD", KOREAN)]
    path = make(tmp_path / "in.jsonl", [{"text": text} for text in texts])
    options = "--min-words", "6", "--normalize", "NFC", "-o", tmp_path / "o.csv"
    answer = run("passages", path, *options)
    assert "compared in              NFC" in answer.stderr
    assert len(load(tmp_path / "o.csv")) == 1


# The warning

MIXED = [form("NFC", VIETNAMESE), form("NFD", KOREAN)]


@pytest.mark.parametrize("count", [2, 150])
def test_mixed_forms_are_warned_about(count):
    texts = [f"{text} {number}" for number in range(count // 2) for text in MIXED]
    for function in (lshfast.dedup, lshfast.pairs, lshfast.check):
        with pytest.warns(lshfast.MixedFormsWarning, match="--normalize NFC"):
            function(texts)
        quiet(function, texts, normalize="NFKC", threshold=0.99, size=1)
    with pytest.warns(lshfast.MixedFormsWarning, match="--normalize NFC"):
        passages.find(texts)
    quiet(passages.find, texts, normalize="NFKC")
    with pytest.warns(lshfast.MixedFormsWarning):
        passages.find(texts[:1], texts[1:2])


@pytest.mark.parametrize(
    "texts",
    [
        [form("NFC", VIETNAMESE), form("NFC", KOREAN), "plain"],
        [form("NFD", VIETNAMESE), form("NFD", KOREAN)],
        [
            form("NFC", VIETNAMESE),
            "\u212b",
            "\u0939\u093f\u0928\u094d\u0926\u0940",
            "x\u0301",
        ],
        [f"{form('NFC', VIETNAMESE)} {number}" for number in range(150)]
        + [form("NFD", KOREAN)],
        [],
    ],
    ids=["composed", "decomposed", "no sequences", "less than one in 100", "none"],
)
def test_no_warning(texts):
    quiet(lshfast.dedup, texts, size=1)


def test_long_texts_are_looked_at_too():
    texts = [f"{text} {number} " * 20 for number in range(200) for text in MIXED]
    with pytest.warns(lshfast.MixedFormsWarning):
        lshfast.dedup(texts)


# Commands with --normalize: their arguments before and after the input.
NOTED = {
    "dedup": (["dedup"], ["-o", "o.jsonl"]),
    "dedup --memory": (["dedup"], ["-o", "o.jsonl", "--memory", "1G"]),
    "pairs": (["pairs"], ["-o", "o.csv"]),
    "check": (["check"], []),
    "tune": (["tune"], []),
    "label": (["label"], ["-o", "o.csv"]),
    "passages": (["passages"], ["--pairs", "o.csv"]),
    "passages --against": (["passages", "--against", "plain.jsonl"], ["-o", "o.csv"]),
    "index build": (["index", "build"], ["-o", "o.lsh"]),
}


@pytest.mark.parametrize("command", NOTED)
def test_the_note_of_the_command(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "in.jsonl", [{"text": text} for text in MIXED])
    make(tmp_path / "plain.jsonl", [{"text": "plain"}])
    before, after = NOTED[command]
    answer = run(*before, "in.jsonl", *after)
    assert f"note: {ADVICE}" in answer.stderr + answer.stdout
    for output in tmp_path.glob("o.*"):
        output.unlink()
    again = run(*before, "in.jsonl", *after, "--normalize", "NFC")
    assert ADVICE not in again.stderr + again.stdout


def test_an_index_of_other_items_has_no_note(tmp_path):
    path = make(tmp_path / "in.jsonl", [{"items": text.split()} for text in MIXED])
    answer = run("index", "build", path, "--column", "items", "-o", tmp_path / "o.lsh")
    assert ADVICE not in answer.stderr

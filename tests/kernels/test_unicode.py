"""Normal forms and sentences of the kernels, against the reference and the data of the interpreter."""

import unicodedata
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels import unicode
from lshfast.kernels.text import Texts, word_shingles
from lshfast.shingling import TextError
from tests.reference import normal_forms
from tests.reference import sentences as reference

FORMS = pytest.mark.parametrize("form", ["NFC", "NFKC"])
# The forms of all code points, a line each, by unicodedata of Python 3.13.
DIGESTS = {
    "NFC": "9cc65524a9d8082bf10840c616cd199bd2ac12ee49a3381bd6fb7957711f342b",
    "NFKC": "a9773a8b96f0a3693a609ec0f8efc94f49c35ea03330b1029e186a25183a0bfc",
}
CODES = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
ASSIGNED = [one for one in CODES if unicodedata.category(one) not in ("Cn", "Co")]
# What changes in some form, or changes others: marks, decompositions, and parts of syllables.
ACTIVE = [
    one
    for one in ASSIGNED
    if unicodedata.combining(one)
    or unicodedata.decomposition(one)
    or 0x1100 <= ord(one) < 0x1200
]
MARKS = [one for one in ACTIVE if unicodedata.combining(one)]
DENSE = st.one_of(
    st.text(
        st.sampled_from(
            "ae AO.o\u0301\u0323\u0302\u031b\u0327\u0345\u1100\u1161\u11a8\uac00\uac01\ufb01\uff21"
        )
    ),
    st.text(st.sampled_from(ACTIVE)),
    st.lists(st.sampled_from([*MARKS[:60], "a", "\u00e9", "\u09c7", "\u09be"])).map(
        "".join
    ),
)


def normalized(texts, form):
    column = unicode.normalized(Texts(texts), form)
    return [column[row].decode() for row in range(len(column))]


def of_interpreter(text, form):
    """Return the form by the interpreter, whose data have the code points of `text`."""
    return unicodedata.normalize(form, text)


@FORMS
def test_every_code_point_of_the_pinned_version(form):
    lines = "".join(f"{one}\n" for one in CODES)
    found = unicode.normalized(Texts([lines]), form)[0]
    assert sha256(found).hexdigest() == DIGESTS[form]


@FORMS
@given(DENSE)
@example("")
@example("\u0301")
@example("a\u0301\u0301")
@example("\u1100\u1161\u11a8\u11a8\u1161")
@example("\u0344\u0f73\u0f75\U0001d160")
@example("a" + "\u0323\u0301" * 40 + "\u0323b")
@example("\u0958\u09c7\u09be\u0b47\u0b56\u0cca")
def test_forms_are_those_of_the_reference(form, text):
    wanted = normal_forms.normal_form(text, form)
    assert wanted == of_interpreter(text, form)
    assert normalized([text, text + "\n", "x" + text], form) == [
        wanted,
        wanted + "\n",
        normal_forms.normal_form("x" + text, form),
    ]
    assert normalized([wanted], form) == [wanted]


@FORMS
def test_what_is_in_the_form_is_not_copied(form):
    texts = Texts(
        ["plain", "", "caf\u00e9 \uac01 \u0939\u093f", "cafe\u0301", "e\u0323\u0301!"]
    )
    found = unicode.normalized(texts, form)
    same = found.addresses == texts.addresses
    assert same.tolist() == [True, True, True, False, False]
    assert (
        unicode.normalized(texts.take(slice(0, 3)), form).addresses.tolist()
        == texts.addresses[:3].tolist()
    )


@FORMS
@pytest.mark.parametrize(
    "bad",
    [
        b"\xff",
        b"e\xcc",
        b"\xed\xa0\x80",
        b"e\xcc\x81\xf5x",
        b"\xc0\xaf",
        b"e\xcc\x81 \xe0\x80\x80",
    ],
)
def test_what_is_not_utf8_is_named_where_it_stands(form, bad):
    texts = unicode.normalized(Texts(["cafe\u0301", bad, "e\u0301"]), form)
    assert texts[1] == bad
    assert (texts[0], texts[2]) == ("caf\u00e9".encode(), "\u00e9".encode())
    with pytest.raises(TextError, match=r"texts\[1\]: not UTF-8 at byte"):
        word_shingles(texts, 1, 1)


def test_long_runs_of_marks_are_sorted_by_counting():
    """Every class of marks, in an order in which each pair would be exchanged; the form is the interpreter's."""
    by_class = sorted(MARKS, key=unicodedata.combining, reverse=True)
    text = "a" + "".join(by_class) * 3
    assert normalized([text], "NFC") == [of_interpreter(text, "NFC")]


def test_bad_forms():
    for form in ("NFD", "none", "", 1, None):
        with pytest.raises((ValueError, TypeError)):
            unicode.normalized(Texts(["a"]), form)


@FORMS
@given(st.lists(DENSE, max_size=4))
def test_origins_lead_back_to_the_text(form, parts):
    """The form of where a range comes from contains the range; ranges of whole words are exact."""
    text = "x ".join(parts)
    made = normal_forms.normal_form(text, form)
    characters = [one.encode() for one in made]
    ends = np.cumsum([len(one) for one in characters], dtype=np.int64)
    bounds = np.stack([ends - [len(one) for one in characters], ends], axis=1).reshape(
        -1, 2
    )
    rows = np.zeros(len(bounds), np.int64)
    found = unicode.origins(Texts([text]), form, rows, bounds.astype(np.int64))
    data = text.encode()
    for one, (begin, end, first, last) in zip(made, found.tolist(), strict=True):
        part = data[begin:end].decode()
        assert part == text[first:last]
        assert one in normal_forms.normal_form(part, form)
    assert len(found) == 0 or (found[0, 0], found[-1, 1]) == (0, len(data))


def test_bad_origins():
    texts = Texts(["cafe\u0301", b"\xff"])
    rows = np.zeros(1, np.int64)
    for row, bounds in (
        (0, [4, 6]),
        (0, [2, 2]),
        (0, [-1, 2]),
        (2, [0, 1]),
        (1, [0, 1]),
    ):
        with pytest.raises(ValueError, match=r"texts\["):
            unicode.origins(texts, "NFC", rows + row, np.array([bounds], np.int64))
    with pytest.raises(ValueError, match="must rise"):
        unicode.origins(
            texts, "NFC", np.zeros(2, np.int64), np.array([[2, 3], [0, 1]], np.int64)
        )
    with pytest.raises(ValueError, match="bounds must be"):
        unicode.origins(texts, "NFC", rows, np.zeros((2, 2), np.int64))


def test_forms_in_texts():
    texts = [
        "plain",
        "caf\u00e9",
        "cafe\u0301",
        "\uac01",
        "\u1100\u1161",
        "e\u0301\u00e9",
        "\u212b \u0939\u093f",
        b"\xc3",
    ]
    assert unicode.forms_in(Texts(texts)).tolist() == [0, 1, 2, 1, 2, 3, 0, 0]


# Sentences

KINDS = '\r\n\u2028\u0301\u00ad \u00a0\u3000aA\u4e00\u05d01\u0661.!?\u3002)"\u2019,-:;@\u200d\u10d0\u1c90'


@given(st.text(st.sampled_from(KINDS), max_size=40))
@example("")
@example("\u0301\u0301a")
@example("a.\u0301 \u0301b")
@example("etc.)\u2019 \u2018(the")
@example("A.) 1 2 3 (b")
@example("A.) 1 2 3 (B")
@example("c.d 3.4 U.S A. B. \u3002)!? x")
@example("a.\r\n\u0301b")
@example("a. " * 600)
@example("\n" * 1100)
def test_sentences_are_those_of_the_reference(text):
    assert unicode.sentences(text) == reference.sentences(text)


@given(st.text(st.sampled_from(ASSIGNED), max_size=30))
def test_sentences_of_any_text(text):
    assert unicode.sentences(text) == reference.sentences(text)


def test_the_class_of_every_code_point():
    """The sentences of some texts with a code point depend on its class; those of the reference are the same."""
    frames = (
        "A.{0}b",
        "A.{0}B",
        "a! {0}B",
        "a. {0} b",
        "a{0} B",
        "{0}.A",
        "a.\n{0}x",
    )
    wrong = [
        f"U+{ord(one):04X}"
        for one in ASSIGNED
        if ord(one) % 61 == 0 or unicodedata.category(one)[0] in "PZC"
        for frame in frames
        if unicode.sentences(frame.format(one))
        != reference.sentences(frame.format(one))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "sentences",
    [
        ['"Go?" ', "he asked."],
        ["Mr. ", "Smith has 3.4 apples, etc. and so on. ", "He (e.g. today) eats."],
        ["\u4ed6\u8d70\u4e86\u3002", "\u6211\u7559\u4e0b\u3002"],
        ["One.\n", "Two\r\n", "\n", "three"],
        ["the U.S.A. is big. ", "Yes!! ", "(No.)"],
        ["He said \u201cstop.\u201d ", "She did."],
    ],
)  # fmt: skip
def test_sentences_by_example(sentences):
    assert unicode.sentences("".join(sentences)) == sentences


def test_sentences_of_lone_surrogates():
    with pytest.raises(UnicodeEncodeError):
        unicode.sentences("a\ud800b")

"""Tokens, shingles and Texts: every CPU level against the reference, and every source of texts against a list."""

import pickle
import unicodedata
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import text
from lshfast.kernels.text import Texts
from lshfast.shingling import TextError
from tests.conftest import rows_of
from tests.reference import hashing
from tests.reference import text as reference

WORD64 = st.integers(0, 2**64 - 1)
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 32, 256]
KERNELS = {
    "word": text.word_shingles,
    "char": text.character_shingles,
    "symbol": text.symbol_shingles,
}
REFERENCES = {
    "word": reference.word_shingles,
    "char": reference.character_shingles,
    "symbol": reference.symbol_shingles,
}
UNITS = pytest.mark.parametrize("unit", KERNELS)

STRETCH = 4096  # bytes, or characters, that the kernels work on at a time
LATIN = "The quick_brown fox, 2 LAZY dogs; it's a-b\tC\n__init__ "
# One to four bytes, all classes, and lower cases that are shorter or longer in UTF-8.
CHARACTERS = (
    "aZ_9 -\0\né\u0301Щ\u0906\u093f中かำ\ufe0f😀𐐀𠀀\U0001e8d0"
    "\u0130\u023a\u212a\u2126\u1e9e\u027d\u2c64\u10a0\u13a0"
)
MIXED = (
    "Ünï中a\u0301b中\u0301\u0302 Щ9𐐀\0a\u0130\u023a\u212a x,\u0301y 𠀀"
    "\u212a \u1e9e\u0906\u093f ที่นี่ か\u3099! _\u200d世"
)

assigned = st.characters(exclude_categories=["Cs", "Cn"])
dense = st.text(st.sampled_from(CHARACTERS), max_size=100)
any_text = st.one_of(
    dense, st.text(assigned), st.text(st.characters(codec="ascii"), max_size=300)
)


@cache
def expected(unit, line, size, seed, lowercase=True):
    """Return the reference's shingles; the levels share one computation."""
    return REFERENCES[unit](line, size, seed, lowercase)


def assert_equals_reference(unit, lines, size, seed=1, lowercase=True):
    found = rows_of(*KERNELS[unit](Texts(lines), size, seed, lowercase))
    for line, tokens in zip(lines, found, strict=True):
        shown = f"{line[:200]!r}, {len(line)} characters, size {size}"
        assert tokens == expected(unit, line, size, seed, lowercase), shown


# Shingles


@UNITS
@settings(max_examples=60)
@given(
    lines=st.lists(any_text, max_size=4),
    size=st.sampled_from(SIZES),
    seed=WORD64,
    lowercase=st.booleans(),
)
@example(lines=[], size=1, seed=0, lowercase=True)
@example(lines=["", "\0", "a", "_", "-"], size=1, seed=0, lowercase=True)
@example(lines=["", "one", "ONE two"], size=3, seed=2**64 - 1, lowercase=True)
@example(lines=["ONE Two", "Aé中B \u212a", LATIN * 3], size=2, seed=1, lowercase=False)
def test_shingles(level, unit, lines, size, seed, lowercase):
    assert_equals_reference(unit, lines, size, seed, lowercase)


@pytest.mark.slow
@pytest.mark.few_cases
@UNITS
@settings(max_examples=30)
@given(
    base=st.sampled_from(
        [LATIN * 12, MIXED * 8, "x" * 700, "word " * 120, (LATIN + MIXED) * 60]
    ),
    ends=st.lists(st.tuples(st.floats(0, 1), any_text), min_size=2, max_size=6),
    size=st.sampled_from([1, 2, 5, 9, 256]),
)
@example(
    base=LATIN * 12,
    ends=[(0.9, ""), (0.9, "a"), (0.9, "."), (0.95, "\u0301"), (0.8, "x"), (1, "")],
    size=5,
)
@example(
    base=MIXED * 8,
    ends=[(1, ""), (1, ""), (1, "\u0301"), (0.99, "a"), (0.99, "b c")],
    size=2,
)
def test_texts_that_begin_alike(level, unit, base, ends, size):
    """The shingles of what two consecutive texts share are computed once."""
    assert_equals_reference(
        unit, [base[: int(share * len(base))] + end for share, end in ends], size
    )


@UNITS
def test_a_text_that_is_not_utf8_behind_one_that_begins_alike(level, unit):
    whole = (LATIN * 12).encode()
    for cut in (300, 400, 640):
        bad = whole[:cut] + b"\xff"
        with pytest.raises(TextError, match=rf"texts\[2\]: not UTF-8 at byte {cut}"):
            KERNELS[unit](Texts([whole, whole, bad, whole]), 3, 1)
    # One byte of the character that the text before has whole.
    cut_off = whole[:400] + "é".encode()[:1]
    with pytest.raises(TextError, match=r"texts\[1\]: not UTF-8 at byte 400"):
        KERNELS[unit](Texts([whole[:400] + "é".encode(), cut_off]), 3, 1)


@UNITS
@pytest.mark.parametrize("base", [LATIN, MIXED], ids=["latin", "mixed"])
@pytest.mark.parametrize("size", [1, 3, 16])
def test_every_length(level, unit, base, size):
    assert_equals_reference(unit, [(base * 8)[:n] for n in range(201)], size)


@UNITS
@pytest.mark.parametrize("size", SIZES)
def test_every_size(level, unit, size):
    """Texts of fewer words (characters) than the size, of as many, and of many more; 4500 cross a stretch."""
    words = [f"w{i % 97}" for i in range(size + 20)]
    lines = [" ".join(words[:n]) for n in (1, size - 1, size, size + 1, size + 20)]
    characters = MIXED * 9
    lines += [characters[:n] for n in (1, size - 1, size, size + 1, size + 20)]
    assert_equals_reference(unit, [*lines, (LATIN * 100)[:4500]], size)


@UNITS
@pytest.mark.parametrize("n", [4095, 4096, 4097, 8191, 8192, 8193])
def test_around_stretches(level, unit, n):
    for lowercase in (True, False):
        assert_equals_reference(
            unit, [(LATIN * 200)[:n], (MIXED * 300)[:n]], 5, lowercase=lowercase
        )


def ending_at(position, word, after=" end"):
    """Return a text whose word ends at this byte."""
    room = position - len(word.encode())
    return ("Go on " + " " * room)[:room] + word + after


@pytest.mark.few_cases
@pytest.mark.parametrize(
    "letter", ["w", "é", "中", "𐐀", "e\u0301", "中a", "\u023a", "\u212a"]
)
@pytest.mark.parametrize("boundary", [64, 128, STRETCH, 2 * STRETCH])
def test_words_across_a_boundary(level, letter, boundary):
    """Words that end before, at and behind the end of a block or stretch, of lengths around one and two limbs."""
    words = [letter * 30 + "z"] + [(letter * 30)[:n] for n in (1, 6, 7, 8, 14, 15, 30)]
    ends = [boundary + d for d in (-1, 0, 1, 2, 3, 7)]
    lines = [ending_at(end, word) for end in ends for word in words]
    assert_equals_reference("word", lines, 2)


@pytest.mark.few_cases
@pytest.mark.parametrize(
    "pattern",
    ["+", "a+", "+\u0301", "é—", "\u023a+", "𐐀+", "中+", "+ ", "\u3000+\u3000", "😀\ufe0f", "\0"],
)  # fmt: skip
def test_dense_symbols(level, pattern):
    """As many symbols as there are bytes fill the buffers of a stretch; texts end in all states."""
    long_text = pattern * (2 * STRETCH // len(pattern.encode()) + 70)
    lines = [long_text[:n] for n in (*range(1, 5), *range(62, 68), len(long_text))]
    assert_equals_reference("symbol", lines, 1)
    assert_equals_reference("symbol", ["x" * 63 + long_text, long_text + "x"], 3)


@pytest.mark.one_case
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_white_space_and_each_other_character_between_words(level, lowercase):
    """A symbol in 16-bit characters is one wherever it stands in a block."""
    others = [chr(code) for code in range(0x3100) if not 0xD800 <= code < 0xE000]
    known = [
        character for character in others if unicodedata.category(character) != "Cn"
    ]
    lines = [
        "".join(f"a{one}B{one}" for one in known[start : start + 50])
        for start in range(0, len(known), 50)
    ]
    assert_equals_reference("symbol", lines, 1, lowercase=lowercase)


def test_symbols_keep_what_words_leave_out():
    def tokens(unit, line):
        return rows_of(*KERNELS[unit](Texts([line]), 5, 1))[0]

    for one, other in [
        ("/p?id=1", "/p/id/1"),
        ("a > b", "a < b"),
        ("a = b", "a \u2260 b"),
        ("x, y", "x; y"),
    ]:
        assert tokens("word", one) == tokens("word", other)
        assert tokens("symbol", one) != tokens("symbol", other)
    assert tokens("symbol", "A  >\u3000b\n") == tokens("symbol", "a>b")


@pytest.mark.parametrize("n", range(1, 31))
def test_short_words(level, n):
    """One to five limbs, at the start of a text, in it, and at its end."""
    word = "abcdefghijklmnopqrstuvwxyz0123"[:n]
    assert_equals_reference(
        "word", [f"{word} {word.upper()},{word}", word * 2, f" {word}-"], 1
    )


@pytest.mark.parametrize(
    "before", [1, 6, 7, 8, 248, 249, 250, 251, 252, 255, 256, 257, 1000]
)
@pytest.mark.parametrize("behind", [0, 1, 7, 300, 5000])
def test_words_cut_by_a_stretch(level, before, behind):
    """The kernel carries a short beginning as bytes, and a long one as a sum."""
    word = "".join(chr(ord("a") + i % 23) for i in range(before + behind))
    assert_equals_reference(
        "word",
        [" " * (STRETCH - before) + word + tail for tail in ("", " end", "中")],
        1,
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    "word",
    [
        "x" * 10_000,
        "Yz" * 50_000,
        "é" * 5_000,
        "\u023a" * 5_000,
        "\u212a" * 6_000,
        "𐐀" * 2_500,
        "e" + "\u0301" * 5_000,
    ],
    ids=lambda word: f"{len(word)}x{ord(word[0]):04x}",
)
def test_words_longer_than_a_stretch(level, word):
    assert_equals_reference(
        "word", [word, f"on {word} off", f"中{word}中", f"a {word}", word[:-1] + "z"], 2
    )


@pytest.mark.parametrize("first", [1, 7, 251, 1000, 9000])
@pytest.mark.parametrize("second", [1, 7, 251, 1000, 9000])
def test_words_cut_one_after_another(level, first, second):
    """Two words that each lie across the end of a stretch, the second at the next end or later."""
    start = STRETCH - (first + 1) // 2
    words = " " * start + "a" * (first + 2)
    end = -(-len(words) // STRETCH) * STRETCH
    lines = [
        words + " " * (at - len(words) - (second + 1) // 2) + "b" * (second + 2)
        for at in (end, end + STRETCH)
    ]
    assert_equals_reference("word", [*lines, *(line + " end" for line in lines)], 1)


@pytest.mark.one_case
@pytest.mark.parametrize("around", [64, STRETCH])
@pytest.mark.parametrize("solo", ["中", "𠀀", "か\u3099", "ที่"])
def test_solo_characters_beside_ascii_blocks(level, around, solo):
    """A whole block of ASCII behind a solo character: its first letter begins a new word, a separator does not."""
    blocks = ["next" * 20, "_" * 64, "9 " * 32, " word" * 13, "-" * 64 + "a", ""]
    pads = range(around - 9, around + 4)
    assert_equals_reference(
        "word", [" " * pad + solo + block for pad in pads for block in blocks], 1
    )


@UNITS
def test_marks(level, unit):
    """A mark continues a word wherever a block or a stretch ends, and separates where there is none."""
    acute, pads = "\u0301", (0, 61, 62, 63, 64, STRETCH - 1)
    lines = [
        before + acute + after
        for before in ("", "a", " ", "中", "_")
        for after in ("", "b", " b", "中", acute)
    ]
    lines += [
        fill * pad + acute * n + "b"
        for fill in "a "
        for pad in pads
        for n in (1, 2, 40)
    ]
    assert_equals_reference(unit, lines, 1)


@UNITS
@pytest.mark.parametrize(
    ("upper", "lower"),
    [("\u0130", "i"), ("\u023a", "\u2c65"), ("\u023e", "\u2c66"), ("\u1e9e", "ß"), ("\u2126", "\u03c9"),
     ("\u212a", "k"), ("\u212b", "å"), ("\u2c64", "\u027d"), ("\u10a0", "\u2d00"), ("\u1c90", "\u10d0"),
     ("\u13a0", "\uab70"), ("\U00010400", "\U00010428"), ("\u03a3", "\u03c3"), ("\u03c2", "\u03c2"), ("ß", "ß")],
)  # fmt: skip
def test_case(level, unit, upper, lower):
    """Lower case of another length in UTF-8, and one code point of it."""
    pairs = [
        (pad + upper * n + "X", pad + lower * n + "x")
        for pad in ("", " " * 63, "a" * 4095)
        for n in (1, 2, 70)
    ]
    assert_equals_reference(unit, [line for line, _ in pairs], 1)
    left, right = zip(*pairs, strict=True)
    assert rows_of(*KERNELS[unit](Texts(left), 2, 3)) == rows_of(
        *KERNELS[unit](Texts(right), 2, 3)
    )


# Scripts of two and three bytes a character: letters with and without case, marks, solo characters
# and separators; at the end characters of four bytes, and those whose lower case has another
# length.
SCRIPTS = {
    "latin": "Ça ÉTÉ œuvré ŸÞĀā, ",
    "greek": "ΑΒΓ άῴ Σς· ",
    "cyrillic": "ЖЯ жя Ѐё҉ҊҋӀӏ. ",
    "hebrew": "שלום שִׁ־ ",
    "arabic": "سلام مُحَمَّدٰ، ٣ ",
    "devanagari": "नमस्ते क्षि। १ ",
    "thai": "ที่นี่ ๑ก ",
    "kana": "ひらがな カタカナがー、ｱ ",
    "hangul": "한국어 가각가. ",
    "chinese": "中文字，。一丁㐀 a中9中_ 〪䷀",
    "vietnamese": "ẠẤ việt NẴNG ",
    "edges": "߿ࠀ퟿￿ª҃中҃ ",
    "four": "😀 𐐀𐐨中𠀀a é ",
    "other lengths": "İжȺéK中ẞ Ω ",
}
UPPER_AND_LOWER = pytest.mark.parametrize(
    "lowercase", [True, False], ids=["lower", "as it is"]
)
script_text = st.lists(
    st.sampled_from([*SCRIPTS.values(), LATIN]), min_size=1, max_size=3
).flatmap(lambda scripts: st.text(st.sampled_from("".join(scripts)), max_size=300))


@UNITS
@UPPER_AND_LOWER
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_at_every_offset(level, unit, script, lowercase):
    """Each character stands at each place of a block, behind ASCII and behind its own script, and ends a text."""
    line = SCRIPTS[script]
    lines = ["x" * pad + line * (1 + 150 // len(line)) for pad in range(64)]
    lines += [(line * 12)[start:] for start in range(len(line))] + [
        (line * 9)[:n] for n in range(0, 140, 3)
    ]
    assert_equals_reference(unit, lines, 2, lowercase=lowercase)


@pytest.mark.few_cases
@UNITS
@settings(max_examples=60)
@given(line=script_text, size=st.sampled_from([1, 2, 9]), lowercase=st.booleans())
def test_mixed_scripts(level, unit, line, size, lowercase):
    assert_equals_reference(unit, [line, line * 20], size, lowercase=lowercase)


@pytest.mark.one_case
@pytest.mark.parametrize("script", ["cyrillic", "chinese", "thai", "four"])
def test_scripts_across_stretches(level, script):
    """Words, marks and solo characters lie at and across the end of a stretch."""
    line = SCRIPTS[script] * 3
    lines = [
        line[at:] + " " * (STRETCH - n) + line * 2
        for at in range(3)
        for n in range(1, 60, 7)
    ]
    assert_equals_reference("word", [*lines, SCRIPTS[script].replace(" ", "") * 900], 3)


@pytest.mark.parametrize("letter", ["w", "ж", "한", "é"])
def test_words_of_every_length(level, letter):
    """One to six limbs, at the start of a text, in it, and at its end."""
    words = [(letter * n) + tail for n in range(1, 42) for tail in ("", "x", "zz")]
    assert_equals_reference(
        "word", [*words, " ".join(words), "-".join(reversed(words))], 1
    )


@UNITS
def test_nul_bytes(level, unit):
    assert_equals_reference(
        unit, ["\0", "a\0b", "\0" * 65, "a" * 63 + "\0" + "b" * 70, "\0中\0"], 2
    )


@pytest.mark.parametrize("size", [0, 257, 2**40])
@UNITS
def test_size_out_of_range(unit, size):
    with pytest.raises(ValueError, match=rf"1\.\.256, not {size}"):
        KERNELS[unit](Texts(["a"]), size, 1)


@pytest.mark.slow
@pytest.mark.skipif(
    unicodedata.unidata_version > "15.1.0",
    reason="this interpreter assigns more than Unicode 15.1.0",
)
def test_classes_and_case_of_every_character():
    """For each code point c, what "a<c>b <c>d " falls into tells its class and lower case.

    Code points that are not assigned in an older version than the pinned one may be in that, and are left out.
    """
    pinned = unicodedata.unidata_version == "15.1.0"
    lines, counts, words = [], [], []
    for code in range(0x110000):
        char, category = chr(code), unicodedata.category(chr(code))
        if category == "Cs" or (category == "Cn" and not pinned):
            continue
        kind, low = reference.classify(code), chr(reference.lower(code))
        of_kind = {
            "letter": [f"a{low}b", f"{low}d"],
            "mark": [f"a{low}b", "d"],
            "solo": ["a", low, "b", low, "d"],
            "separator": ["a", "b", "d"],
        }[kind]
        lines.append(f"a{char}b {char}d")
        counts.append(len(of_kind))
        words += of_kind
    offsets, tokens = text.word_shingles(Texts(lines), 1, 1)
    wrong = np.flatnonzero(np.diff(offsets) != counts)
    assert [f"U+{ord(lines[i][1]):04X}" for i in wrong[:20]] == []
    different = np.flatnonzero(tokens != text.tokens_of_texts(Texts(words), 1))
    assert [
        f"U+{ord(lines[np.searchsorted(offsets, i, 'right') - 1][1]):04X}"
        for i in different[:20]
    ] == []


# Tokens


@given(strings=st.lists(st.binary(max_size=70), max_size=20), seed=WORD64)
@example(strings=[b"\xff" * n for n in range(201)], seed=1)
@example(strings=[bytes(n) for n in range(31)], seed=0)
@example(strings=[b"x" * 10_000], seed=2**64 - 1)
@example(strings=[b"\xff" * (n % 16) for n in range(600)], seed=2)
@example(
    strings=[bytes(range(n % 256)) + b"!" * (n // 256) for n in range(0, 9 * 340, 9)],
    seed=3,
)
@example(strings=[bytes(range(1, 1 + n * 37 % 65)) for n in range(400)], seed=4)
@example(
    strings=[b"a" * n for n in (255, 256, 257, 312, 313, 319, 320, 321, 512)], seed=5
)
@example(
    strings=[
        b"\xff" * (56 * n + more) for n in (1, 2, 9, 31, 32) for more in range(-2, 3)
    ],
    seed=6,
)
@example(
    strings=[bytes(range(256)) * (n % 11) + b"!" * n for n in range(0, 200, 3)], seed=7
)
def test_tokens_of_texts(strings, seed):
    """Bytes need not be UTF-8 here."""
    tokens = text.tokens_of_texts(Texts(strings), seed).tolist()
    assert tokens == [hashing.token_of_bytes(string, seed) for string in strings]
    two = text.two_tokens_of_texts(Texts(strings), seed, 5)
    assert two.tolist() == [
        [token, hashing.token_of_bytes(string, 5)]
        for token, string in zip(tokens, strings, strict=True)
    ]


KEYS = st.builds(
    hashing.Key,
    *[st.integers(1, hashing.P - 1) | st.sampled_from([1, hashing.P - 1])] * 3,
    st.integers(0, 2**64 - 1),
)


@given(lines=st.lists(any_text, max_size=4), size=st.sampled_from(SIZES), key=KEYS)
@example(
    lines=["a" * 5000, "word " * 2000, ""],
    size=3,
    key=hashing.Key(hashing.P - 1, 1, 2, 3),
)
def test_everything_under_a_key(level, lines, size, key):
    """A key takes the place of a seed."""
    held = text.HashKey(*key)
    for unit, kernel in KERNELS.items():
        assert rows_of(*kernel(Texts(lines), size, held)) == [
            expected(unit, line, size, key) for line in lines
        ]
    tokens = [hashing.token_of_bytes(line.encode(), key) for line in lines]
    assert text.tokens_of_texts(Texts(lines), held).tolist() == tokens
    assert text.two_tokens_of_texts(Texts(lines), 5, held)[:, 1].tolist() == tokens
    numbers = np.arange(5, dtype=np.uint64)
    assert text.tokens_of_integers(numbers, held).tolist() == [
        hashing.token_of_int(n, key) for n in range(5)
    ]


def test_the_key_of_a_seed():
    for seed in (0, 1, 2**64 - 1):
        held = text.HashKey(*hashing.key_of(seed))
        for kernel in KERNELS.values():
            assert rows_of(*kernel(Texts([MIXED]), 3, held)) == rows_of(
                *kernel(Texts([MIXED]), 3, seed)
            )


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", [0, hashing.P])
def test_multipliers_of_keys_have_a_range(place, value):
    with pytest.raises(ValueError, match=r"multipliers must be in 1\.\.2\*\*61 - 2"):
        text.HashKey(*[value if at == place else 5 for at in range(3)], 0)


def test_a_key_tells_nothing():
    held = text.HashKey(1234567, 1234567, 1234567, 1234567)
    assert "1234567" not in f"{held!r} {held}"
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(held)


def test_tokens_of_str_are_those_of_its_utf8():
    strings = [(MIXED * 2)[:n] for n in range(60)]
    tokens = text.tokens_of_texts(Texts(strings), 1).tolist()
    assert tokens == [hashing.token_of_bytes(string.encode(), 1) for string in strings]


@given(values=st.lists(WORD64, max_size=20), seed=WORD64)
@example(values=[0, 1, 2**64 - 1, 2**63], seed=2**64 - 1)
def test_tokens_of_integers(values, seed):
    unsigned = np.array(values, np.uint64)
    assert text.tokens_of_integers(unsigned, seed).tolist() == [
        hashing.token_of_int(value, seed) for value in values
    ]


# What is not UTF-8

BAD = {
    "overlong of two": (b"\xc0\x80", 0),
    "overlong slash": (b"\xc1\xaf", 0),
    "overlong of three": (b"\xe0\x9f\xbf", 0),
    "overlong of four": (b"\xf0\x8f\xbf\xbf", 0),
    "first surrogate": (b"\xed\xa0\x80", 0),
    "last surrogate": (b"\xed\xbf\xbf", 0),
    "beyond U+10FFFF": (b"\xf4\x90\x80\x80", 0),
    "far beyond": (b"\xf5\x80\x80\x80", 0),
    "five bytes": (b"\xf8\x88\x80\x80\x80", 0),
    "no UTF-8 byte": (b"\xff", 0),
    "stray continuation": (b"\x80", 0),
    "one continuation too many": ("é".encode() + b"\xbf", 2),
    "cut two": (b"\xc3", 0),
    "cut three": (b"\xe4\xb8", 0),
    "cut four": (b"\xf0\x9f\x98", 0),
    "cut before a letter": ("中".encode() + b"\xe4\xb8A", 3),
    "continuation missing in the middle": (b"\xf0\x9fA\x80", 0),
}  # fmt: skip


@UNITS
@pytest.mark.parametrize("kind", BAD)
def test_bad_utf8_is_placed(level, unit, kind):
    bad, offset = BAD[kind]
    for before in (
        0,
        1,
        60,
        61,
        62,
        63,
        64,
        65,
        STRETCH - 2,
        STRETCH - 1,
        STRETCH,
        STRETCH + 1,
        9000,
    ):
        for behind in (b"", b"x" * 100):
            with pytest.raises(
                TextError, match=rf"texts\[2\]: not UTF-8 at byte {before + offset}$"
            ) as caught:
                KERNELS[unit](
                    Texts([b"fine", b"", b"w" * before + bad + behind, b"\xff"]), 3, 1
                )
            assert caught.value.row == 2


@UNITS
@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("fill", ["ж", "中", "aж中"])
def test_bad_utf8_is_placed_behind_other_scripts(level, unit, kind, fill):
    """What is not UTF-8 stands at each place of a block that is not ASCII, with other text behind it or nothing."""
    bad, offset = BAD[kind]
    for pad in range(64):
        before = b"x" * (pad % 7) + fill.encode() * (pad // len(fill.encode()) + 1)
        for behind in (b"", "жи中文a".encode() * 20):
            with pytest.raises(
                TextError,
                match=rf"texts\[0\]: not UTF-8 at byte {len(before) + offset}$",
            ):
                KERNELS[unit](Texts([before + bad + behind]), 2, 1)


EDGE_BYTES = b"a\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xe0\xe1\xed\xf0\xf1\xf4\xf5"  # first and last of each kind


@UNITS
@settings(max_examples=60)
@given(
    data=st.one_of(
        st.binary(max_size=80),
        st.lists(st.sampled_from(EDGE_BYTES), max_size=8).map(bytes),
        st.builds(lambda line, at, byte: line[:at] + bytes([byte]) + line[at + 1 :], dense.map(str.encode),
                  st.integers(0, 100), st.integers(0, 255)),
    )
)  # fmt: skip
def test_utf8_is_what_python_says(unit, data):
    try:
        line = data.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(TextError, match=rf"at byte {error.start}$"):
            KERNELS[unit](Texts([data]), 1, 1)
    else:
        assert len(KERNELS["char"](Texts([data]), 1, 1)[1]) == len(line)


@UNITS
def test_every_cut_of_a_text(level, unit):
    """All prefixes in bytes: whole ones as the reference has them, cut ones placed."""
    whole = MIXED.encode() * 3
    for n in range(len(whole) + 1):
        try:
            line = whole[:n].decode()
        except UnicodeDecodeError as error:
            with pytest.raises(TextError, match=rf"at byte {error.start}$"):
                KERNELS[unit](Texts([whole[:n]]), 2, 1)
        else:
            assert rows_of(*KERNELS[unit](Texts([whole[:n]]), 2, 1)) == [
                expected(unit, line, 2, 1)
            ]


def test_lone_surrogates_are_placed():
    with pytest.raises(
        TextError, match=r"texts\[1\]: lone surrogate U\+DC80 at character 2"
    ) as caught:
        Texts(["fine", "é!\udc80"])
    assert caught.value.row == 1
    assert issubclass(TextError, ValueError)


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(TextError(7, "not UTF-8 at byte 3")))
    assert (error.row, error.reason, str(error)) == (
        7,
        "not UTF-8 at byte 3",
        "texts[7]: not UTF-8 at byte 3",
    )

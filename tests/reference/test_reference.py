"""Sanity of the reference itself: known values, worked examples, and the laws it must obey."""

import math
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import hashing, minhash, scurve, sets, text
from tests.reference.hashing import EMPTY, GOLDEN, Domain, P, draw, mix64, multiplier

WORD64 = st.integers(0, 2**64 - 1)
TOKEN_SETS = st.sets(WORD64, max_size=12)
SCHEMES = pytest.mark.parametrize("scheme", [minhash.classic, minhash.fast])


def unmix64(y: int) -> int:
    """Invert mix64 step by step."""
    y ^= y >> 31 ^ y >> 62
    y = y * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    y ^= y >> 27 ^ y >> 54
    y = y * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    return y ^ y >> 30 ^ y >> 60


# Mixing, drawing and tokens


def test_mix64_gives_the_splitmix64_sequence():
    outputs = [mix64(GOLDEN * i % 2**64) for i in (1, 2, 3)]
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(WORD64)
def test_mix64_is_a_bijection(x):
    assert unmix64(mix64(x)) == x


@given(WORD64, st.sampled_from(Domain), st.integers(0, 2**17))
def test_draw_is_a_splitmix64_stream(seed, domain, i):
    state = mix64((seed + domain * 0x9E3779B97F4A7C15) % 2**64)
    assert draw(seed, domain, i) == mix64(
        (state + (i + 1) * 0x9E3779B97F4A7C15) % 2**64
    )


def test_multiplier_is_never_zero():
    assert [multiplier(v) for v in (0, P - 2, P - 1, P)] == [1, P - 1, 1, 2]
    assert 1 <= multiplier(2**64 - 1) <= P - 1


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_polynomial_by_hand(seed):
    a = multiplier(draw(seed, 1, 0))
    assert hashing.polynomial(b"", seed) == 0
    assert hashing.polynomial(b"\0", seed) == 1
    assert hashing.polynomial(b"a", seed) == (1 + 0x61 * a) % P
    assert hashing.polynomial(b"a\0", seed) == (2 + 0x61 * a) % P
    assert hashing.polynomial(b"ab", seed) == (2 + 0x6261 * a) % P
    assert hashing.polynomial(b"abcdefg", seed) == (7 + 0x67666564636261 * a) % P
    eight = 8 + 0x67666564636261 * a**2 + 0x68 * a
    assert hashing.polynomial(b"abcdefgh", seed) == eight % P
    fifteen = 15 + 0xFFFFFFFFFFFFFF * (a**3 + a**2) + 0xFF * a
    assert hashing.polynomial(b"\xff" * 15, seed) == fifteen % P
    assert hashing.token_of_bytes(b"ab", seed) == mix64((2 + 0x6261 * a) % P)


@given(st.binary(max_size=40), WORD64)
def test_polynomial_is_the_printed_sum(data, seed):
    a = multiplier(draw(seed, Domain.TOKEN, 0))
    m = math.ceil(len(data) / 7)
    padded = data.ljust(7 * m, b"\0")
    limbs = [int.from_bytes(padded[7 * i : 7 * i + 7], "little") for i in range(m)]
    total = len(data) + sum(v * pow(a, m - i, P) for i, v in enumerate(limbs))
    assert hashing.polynomial(data, seed) == total % P


def test_integer_tokens():
    u = draw(5, 4, 0)
    assert hashing.token_of_int(0, 5) == mix64(u)
    assert hashing.token_of_int(2**64 - 1, 5) == mix64(u ^ 2**64 - 1)
    for negative in (-1, -(2**63)):
        word = mix64(negative + 2**64)
        assert hashing.token_of_int(negative, 5) == hashing.token_of_int(word, 5)
        assert hashing.token_of_int(negative, 5) != hashing.token_of_int(
            negative + 2**64, 5
        )
    for outside in (-(2**63) - 1, 2**64):
        with pytest.raises(ValueError, match="outside"):
            hashing.token_of_int(outside, 5)


# Characters and words


@pytest.mark.parametrize(
    ("kind", "characters"),
    [
        ("separator", " \t\n\0.,'-’·・＋+€゛⼀\u00ad\u200c\u200d\u2028\ue000😀"),
        ("letter", "aZß_09²½Ⅷ٣๑໑၁한ᄀﾡªʰـ〱〼〡"),
        ("mark", "\u0301\u0308\u064e\u0e31\u0e48\u3099\u0903\u20e3\ufe0f"),
        ("solo", "中々〆〇㐀𠀀\uf900あがゝアーｱﾞㄅꀀกำๆກកကᦀᥐᨠꪀꦄᬅ"),
        ("solo", "\U00017000\U00018800\U00018b00\U0001b002\U0001b170"),
    ],
)
def test_classes(kind, characters):
    assert {c: text.classify(ord(c)) for c in characters} == dict.fromkeys(
        characters, kind
    )


def test_every_letter_has_a_name():
    # `unicodedata` names no Tangut ideograph; another nameless letter would be misjudged silently.
    letters = (c for c in range(0x110000) if unicodedata.category(chr(c))[0] in "LN")
    assert all(map(text.name_of, letters))


def test_lower_case_is_one_code_point():
    longer = [c for c in range(0x110000) if len(chr(c).lower()) != 1]
    assert longer == [0x130]
    assert text.lower(0x130) == ord("i")
    pairs = [
        "aa",
        "Aa",
        "Éé",
        "ẞß",
        "ßß",
        "Σσ",
        "ςς",
        "Яя",
        "ǅǆ",
        "Ⅷⅷ",
        "Ⓐⓐ",
        "Ⴀⴀ",
        "Აა",
    ]
    pairs += ["Ꭰꭰ", "\u212ak", "\u2126ω", "Ⱥⱥ", "𐐀𐐨", "中中"]
    for upper, low in pairs:
        assert chr(text.lower(ord(upper))) == low


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        (" \n—!?", []),
        ("Don't panic: it’s O'Neill", ["don", "t", "panic", "it", "s", "o", "neill"]),
        ("state-of-the-art  e-mail", ["state", "of", "the", "art", "e", "mail"]),
        ("snake_case __init__ x86_64", ["snake_case", "__init__", "x86_64"]),
        ("3.14 1,000 2nd 5² ½", ["3", "14", "1", "000", "2nd", "5²", "½"]),
        ("ÜBER Straße GROẞ", ["über", "straße", "groß"]),
        ("Caf\u00e9 cafe\u0301", ["caf\u00e9", "cafe\u0301"]),
        ("İstanbul IŞIK", ["istanbul", "işik"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδός"]),
        ("Привет, МИР!", ["привет", "мир"]),
        ("مُحَمَّدٌ رَسُول، ٢٠٢٤", ["مُحَمَّدٌ", "رَسُول", "٢٠٢٤"]),
        ("می\u200cخواهم", ["می", "خواهم"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("ที่นี่ กำ ก๑๒", ["ที่", "นี่", "ก", "ำ", "ก", "๑๒"]),
        ("你好，世界", ["你", "好", "世", "界"]),
        ("Hello世界2024年x", ["hello", "世", "界", "2024", "年", "x"]),
        ("カメラー・か\u3099が", ["カ", "メ", "ラ", "ー", "か\u3099", "が"]),
        ("안녕하세요 세계", ["안녕하세요", "세계"]),
        ("\u0301abc", ["abc"]),
        ("中\u0301\u0302a\u0301", ["中\u0301\u0302", "a\u0301"]),
        ("\u0301中", ["中"]),
        ("a\u0301b\u0302_1", ["a\u0301b\u0302_1"]),
        ("❤\ufe0flove", ["love"]),
    ],
)
def test_words(line, expected):
    assert text.words(line) == expected


@given(
    anything=st.text(st.characters(exclude_categories=["Cs"])),
    dense=st.text(st.sampled_from("aÄ_1 \u0301中ก-")),
)
def test_words_are_pure_and_complete(anything, dense):
    line = anything + dense
    kinds = [text.classify(ord(c)) for c in line]
    kept = [
        chr(text.lower(ord(c)))
        for c, kind in zip(line, kinds, strict=False)
        if kind in ("letter", "solo")
    ]
    found = text.words(line)
    assert [c for word in found for c in word if text.classify(ord(c)) != "mark"] == [
        c for c in kept if text.classify(ord(c)) != "mark"
    ]
    assert text.words(" ".join(found)) == found
    assert text.words(line + " " + line) == found * 2


# Shingles


def test_word_shingles_by_hand():
    h = [hashing.polynomial(w, 9) for w in (b"the", b"quick", b"fox", b"the")]
    c = multiplier(draw(9, 2, 0))
    line = "The  QUICK fox; the"
    assert text.word_shingles(line, 1, 9) == [mix64(x) for x in h]
    assert text.word_shingles(line, 1, 9)[0] == hashing.token_of_bytes(b"the", 9)
    assert text.word_shingles(line, 2, 9) == [
        mix64((h[i] * c + h[i + 1]) % P) for i in range(3)
    ]
    assert text.word_shingles(line, 3, 9) == [
        mix64((h[i] * c**2 + h[i + 1] * c + h[i + 2]) % P) for i in range(2)
    ]


def test_character_shingles_by_hand():
    e = multiplier(draw(9, 3, 0))
    pairs = [(0x61, 0x20), (0x20, 0xE4), (0xE4, 0x4E2D)]
    expected = [mix64(((x + 1) * e + y + 1) % P) for x, y in pairs]
    assert text.character_shingles("A Ä中", 2, 9) == expected
    assert text.character_shingles("\0", 1, 9) == [mix64(1)]
    assert text.character_shingles("\0\0", 2, 9) == [mix64((e + 1) % P)]


def test_short_text_is_one_shingle_and_empty_text_none():
    assert text.word_shingles("", 3, 0) == text.word_shingles(" .!", 3, 0) == []
    assert text.word_shingles("one two", 5, 0) == text.word_shingles("one two", 2, 0)
    assert text.word_shingles("one", 5, 0) == [hashing.token_of_bytes(b"one", 0)]
    assert text.character_shingles("", 3, 0) == []
    assert text.character_shingles("ab", 5, 0) == text.character_shingles("ab", 2, 0)
    assert len(text.character_shingles(" ", 5, 0)) == 1
    assert (
        text.word_shingles("la la la la", 2, 0) == text.word_shingles("la la", 2, 0) * 3
    )


# Signatures


@SCHEMES
@settings(max_examples=40)
@given(a=TOKEN_SETS, b=TOKEN_SETS, k=st.integers(1, 40), seed=WORD64)
def test_union_is_the_slotwise_minimum(scheme, a, b, k, seed):
    minimum = list(map(min, scheme(a, k, seed), scheme(b, k, seed)))
    assert scheme(a | b, k, seed) == minimum
    assert scheme([*a, *b, *a], k, seed) == minimum


@SCHEMES
def test_empty_signature(scheme):
    empty, other = scheme([], 8, 1), scheme([7], 8, 1)
    assert empty == [EMPTY] * 8
    assert EMPTY not in other
    assert minhash.similarity(empty, empty) == minhash.similarity(empty, other) == 0
    assert minhash.similarity(other, other) == 1
    assert minhash.band_keys(empty, 4, 2) == [EMPTY] * 4
    keys = [minhash.band_keys(s, 4, 2) for s in (empty, other, empty, other)]
    assert minhash.candidate_pairs(keys) == [(1, 3)]


def test_classic_by_hand():
    x = mix64(12345) % P
    functions = [
        (multiplier(draw(3, 5, 2 * i)), draw(3, 5, 2 * i + 1) % P) for i in range(5)
    ]
    assert minhash.classic([12345], 5, 3) == [(a * x + b) % P for a, b in functions]


def test_fast_by_hand():
    x, k, seed = 12345, 10, 3
    first, second = (mix64(x ^ draw(seed, 6, r)) for r in range(2))
    slots = [(h // 2**32) * k // 2**32 for h in (first, second)]
    expected = [2 * 2**56 + mix64(x ^ draw(seed, 7, i)) % 2**56 for i in range(k)]
    expected[slots[1]] = 2**56 + second % 2**56
    expected[slots[0]] = first % 2**56
    assert minhash.fast([x], k, seed) == expected


def test_fast_rounds():
    numbers = {1: 1, 7: 1, 8: 2, 128: 32, 1015: 253, 1016: 254, 1024: 254, 65536: 254}
    assert {k: minhash.rounds_of(k) for k in numbers} == numbers
    signature = minhash.fast([mix64(i) for i in range(400)], 16, 0)
    assert max(signature) < 2**56  # every slot is filled in the first round


@SCHEMES
def test_similarity_is_unbiased(scheme):
    k, trials, common, own = 32, 60, 10, 5
    j = common / (common + 2 * own)
    total = 0.0
    for seed in range(trials):
        tokens = [hashing.token_of_int(i, seed) for i in range(common + 2 * own)]
        total += minhash.similarity(
            scheme(tokens[own:], k, seed), scheme(tokens[:-own], k, seed)
        )
    # The fast scheme's variance is below the classic's, so the classic's bounds both.
    assert abs(total / trials - j) < 4 * math.sqrt(j * (1 - j) / (k * trials))


# Bands, copies and groups


def test_band_keys_by_hand():
    signature = [10, 11, 12, 13, 14]
    g = [draw(0, 8, j) for j in range(2)]
    expected = [mix64(mix64(g[0] ^ 10) ^ 11), mix64(mix64(g[1] ^ 12) ^ 13)]
    assert minhash.band_keys(signature, 2, 2) == expected
    assert minhash.band_keys([10, 10], 2, 1)[0] != minhash.band_keys([10, 10], 2, 1)[1]
    with pytest.raises(ValueError, match="more than 5 slots"):
        minhash.band_keys(signature, 3, 2)


def test_band_key_is_never_the_empty_one():
    slot = draw(0, 8, 0) ^ unmix64(EMPTY)
    assert minhash.band_keys([slot], 1, 1) == [2**64 - 2]


def test_candidates_share_a_key_of_the_same_band():
    assert minhash.is_candidate([1, 2, 3], [4, 2, 5])
    assert not minhash.is_candidate([1, 2, 3], [2, 3, 1])
    assert not minhash.is_candidate([EMPTY, 2], [EMPTY, 3])
    keys = [[1, 2], [3, 4], [1, 4], [1, 2]]
    assert minhash.candidate_pairs(keys) == [(0, 2), (0, 3), (1, 2), (2, 3)]


def test_candidates_follow_the_s_curve():
    bands, rows, trials, common, own = 4, 3, 400, 8, 2
    found = 0
    for seed in range(trials):
        tokens = [hashing.token_of_int(i, seed) for i in range(common + 2 * own)]
        a, b = (
            minhash.classic(t, bands * rows, seed)
            for t in (tokens[own:], tokens[:-own])
        )
        found += minhash.is_candidate(
            *(minhash.band_keys(s, bands, rows) for s in (a, b))
        )
    p = scurve.probability(common / (common + 2 * own), bands, rows)
    assert abs(found / trials - p) < 4 * math.sqrt(p * (1 - p) / trials)


def test_fingerprint():
    key = 2**60, 2**40 + 9
    assert minhash.fingerprint([], key) == (0, 1, 0)
    assert minhash.fingerprint([3 + (5 << 32)], key) == (1, 2**60 - 3, 2**40 + 4)
    # (2^60 - 3 + (2^40 + 9) i) (2^60 - 4 + (2^40 + 9) i), and i^2 = -1
    x, y = (2**60 - 3) * (2**60 - 4) - (2**40 + 9) ** 2, (2**40 + 9) * (2**61 - 7)
    assert (
        minhash.fingerprint([3, 4], key)
        == minhash.fingerprint([4, 3], key)
        == (2, x % P, y % P)
    )
    assert minhash.fingerprint([3, 4], key) != minhash.fingerprint([3, 4, 4], key)
    # Equal numbers, sums and sums of squares.
    assert minhash.fingerprint([1, 5, 6], key) != minhash.fingerprint([2, 3, 7], key)


def test_steepest_point_of_degenerate_curves():
    assert scurve.steepest(1, 1) == (0, 1)
    assert scurve.steepest(7, 1) == (0, 7)
    assert scurve.steepest(1, 7) == (1, 7)


@given(st.integers(1, 60), st.integers(2, 30))
def test_curve_is_nowhere_steeper(bands, rows):
    slope = scurve.steepest(bands, rows)[1]
    assert all(
        scurve.slope(i / 200, bands, rows) <= slope * (1 + 1e-9) for i in range(201)
    )
    assert scurve.probability(
        scurve.half_point(bands, rows), bands, rows
    ) == pytest.approx(0.5)


def test_choose_refuses_the_impossible():
    assert scurve.choose(1.0, 16, 1.0) == (1, 16)
    with pytest.raises(ValueError, match="no banding"):
        scurve.choose(0.1, 4, 0.95)


def test_star_and_components():
    chain = [(0, 1, 0.9), (1, 2, 0.9), (2, 3, 0.9)]
    assert sets.components(5, chain) == [0, 0, 0, 0, 4]
    assert sets.star(5, chain, range(5)) == [0, 0, 2, 2, 4]
    assert sets.star(5, chain, [1, 0, 2, 3, 4]) == [1, 1, 1, 3, 4]
    assert sets.star(0, [], []) == sets.components(0, []) == []
    with pytest.raises(ValueError, match="not a permutation"):
        sets.star(2, [], [0, 0])


@given(st.data(), st.integers(1, 12))
def test_grouping_laws(data, n):
    rows = st.integers(0, n - 1)
    edges = data.draw(st.sets(st.tuples(rows, rows).filter(lambda e: e[0] < e[1])))
    order = data.draw(st.permutations(range(n)))
    pairs = [(i, j, 1.0) for i, j in edges]
    kept, label = sets.star(n, pairs, order), sets.components(n, pairs)
    near = sets.neighbours(n, pairs)
    for row in range(n):
        assert kept[kept[row]] == kept[row]
        assert kept[row] == row or kept[row] in near[row]
        assert order.index(kept[row]) <= order.index(row)
        assert label[label[row]] == label[row] <= row
    assert all(label[i] == label[j] for i, j in edges)
    assert all(kept[i] != i or kept[j] != j for i, j in edges)
    joined = len({*label})
    assert joined >= n - len(edges)
    assert (joined == n) == (not edges)

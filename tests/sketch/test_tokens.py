"""TokenSets, and the ways to make them: from sets of strings and integers, from tables, and from texts by shingling."""

import copy
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import MinHasher, TokenSets, exact, pairs, shingle, verify
from lshfast.datasketch import LeanMinHash, MinHash
from lshfast.shingling import TextError, expected_occurrences
from tests.reference import hashing, text

SEEDS = st.sampled_from([0, 1, 2**64 - 1])
MAX = 2**64 - 1


def rows_of(sets):
    """Return the rows as lists of int."""
    return [row.tolist() for row in sets]


@pytest.fixture
def sets():
    """Four rows, of which the arrays hold more than is used: a token before and one after."""
    return TokenSets([1, 3, 3, 6, 7], [9, 5, 6, 7, 5, 7, 8, 9])


# The class


def test_rows(sets):
    assert len(sets) == 4
    assert rows_of(sets) == [[5, 6], [], [7, 5, 7], [8]]
    assert sets.counts.tolist() == sets.sizes.tolist() == [2, 0, 3, 1]
    assert (sets.offsets.dtype, sets.tokens.dtype, sets.counts.dtype) == (
        np.int64,
        np.uint64,
        np.int64,
    )
    assert repr(sets) == "TokenSets(4 rows, 6 tokens)"
    assert sets.nbytes == 8 * (5 + 8)


def test_negative_index_counts_from_the_end(sets):
    assert [sets[-row].tolist() for row in (1, 2, 3, 4)] == [[8], [7, 5, 7], [], [5, 6]]


@pytest.mark.parametrize("row", [4, -5, 100])
def test_index_out_of_range(sets, row):
    with pytest.raises(
        IndexError, match=f"row {row} is out of range: there are 4 rows"
    ):
        sets[row]


def test_no_rows():
    for empty in (
        TokenSets([0], []),
        TokenSets.from_sets([]),
        TokenSets.concatenate([]),
        shingle([]),
    ):
        assert (len(empty), rows_of(empty), empty.counts.tolist()) == (0, [], [])
        assert len(empty.distinct()) == len(empty.take([])) == 0


@pytest.mark.parametrize("name", ["offsets", "tokens", "other"])
def test_attributes_cannot_be_set(sets, name):
    with pytest.raises(AttributeError):
        setattr(sets, name, np.zeros(3, np.int64))


def test_attributes_cannot_be_deleted(sets):
    with pytest.raises(AttributeError):
        del sets.tokens


def test_tokens_cannot_be_written(sets):
    with pytest.raises(ValueError, match="read-only"):
        sets.tokens[1] = 1


@pytest.mark.parametrize(
    ("offsets", "tokens", "error", "message"),
    [
        ([], [], ValueError, "offsets must hold at least one number: n + 1 for n rows"),
        ([0, 2, 1], [1, 2], ValueError, "offsets fall from 2 to 1 at row 1"),
        (
            [0, 3],
            [1, 2],
            ValueError,
            "offsets must be in 0..2, not 0..3: there are 2 tokens",
        ),
        (
            [-1, 2],
            [1, 2],
            ValueError,
            "offsets must be in 0..2, not -1..2: there are 2 tokens",
        ),
        ([[0, 1]], [1], ValueError, "offsets must have one dimension, not 2"),
        ([0, 1], [[1]], ValueError, "tokens must have one dimension, not 2"),
        ([0, 1], [-1], ValueError, "tokens must be at least 0, not -1"),
        ([0.0, 1.0], [1], TypeError, "offsets must be integers, not float64"),
        ([0, 1], [1.0], TypeError, "tokens must be integers, not float64"),
        ([0, 1], [True], TypeError, "tokens must be integers, not bool"),
        ([0, 1], ["a"], TypeError, "tokens must be integers, not <U1"),
    ],
)
def test_impossible_arrays(offsets, tokens, error, message):
    with pytest.raises(error, match=re.escape(message)):
        TokenSets(offsets, tokens)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, ">i8", "<u4"])
def test_integer_arrays_of_all_kinds(dtype):
    assert rows_of(
        TokenSets(np.array([0, 1, 3], dtype), np.array([7, 0, 9], dtype))
    ) == [[7], [0, 9]]


@given(st.lists(st.integers(-4, 3), max_size=6))
def test_take(rows):
    sets = TokenSets([1, 3, 3, 6, 7], [9, 5, 6, 7, 5, 7, 8, 9])
    assert rows_of(sets.take(rows)) == [sets[row].tolist() for row in rows]


def test_take_out_of_range(sets):
    with pytest.raises(IndexError, match="4 is out of bounds"):
        sets.take([0, 4])


def test_take_of_a_mask(sets):
    assert rows_of(sets.take(np.array([True, False, True, False]))) == [
        [5, 6],
        [7, 5, 7],
    ]


def test_take_refuses_floats(sets):
    with pytest.raises((TypeError, IndexError)):
        sets.take([0.7, 2.2])


def test_concatenate(sets):
    both = TokenSets.concatenate(
        [sets, TokenSets([0], []), TokenSets([0, 0, 1], [3]), sets]
    )
    assert rows_of(both) == [*rows_of(sets), [], [3], *rows_of(sets)]


def test_distinct(sets):
    assert rows_of(sets.distinct()) == [[5, 6], [], [7, 5], [8]]


@given(
    st.lists(
        st.lists(
            st.sampled_from([0, 1, 2, 2**63, MAX]) | st.integers(0, MAX), max_size=30
        ),
        max_size=5,
    )
)
def test_distinct_keeps_the_order_of_first_occurrence(rows):
    offsets = np.cumsum([0] + [len(row) for row in rows])
    sets = TokenSets(
        offsets, np.array([token for row in rows for token in row], np.uint64)
    )
    assert rows_of(sets.distinct()) == [list(dict.fromkeys(row)) for row in rows]


def test_pickle_and_copy(sets):
    for other in (
        pickle.loads(pickle.dumps(sets)),
        copy.copy(sets),
        copy.deepcopy(sets),
    ):
        assert rows_of(other) == rows_of(sets)
        with pytest.raises(AttributeError):
            other.tokens = sets.tokens


# Sets of strings and integers

ELEMENTS = st.text(max_size=12) | st.binary(max_size=12) | st.integers(-(2**63), MAX)


def reference_token(element, seed):
    if isinstance(element, int):
        return hashing.token_of_int(element, seed)
    return hashing.token_of_bytes(
        element if isinstance(element, bytes) else element.encode(), seed
    )


@given(st.lists(st.lists(ELEMENTS, max_size=6), max_size=5), SEEDS)
def test_from_sets_equals_the_reference(rows, seed):
    assert rows_of(TokenSets.from_sets(rows, seed=seed)) == [
        [reference_token(e, seed) for e in row] for row in rows
    ]


@given(
    st.sampled_from(
        [st.integers(-(2**63), 2**63 - 1), st.integers(-5, MAX), st.text(max_size=3)]
    ).flatmap(
        lambda one_type: st.lists(st.frozensets(one_type, max_size=4), max_size=5)
    ),
    st.sampled_from([list, tuple, set, frozenset]),
)
def test_rows_of_one_type_equal_the_reference(rows, kind):
    """Sets of integers or of strings alone are hashed as arrays."""
    rows = [kind(row) for row in rows]
    assert rows_of(TokenSets.from_sets(rows)) == [
        [reference_token(e, 1) for e in row] for row in rows
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([2**64], "rows[1] holds 18446744073709551616; integers must be in"),
        ([-(2**63) - 1, MAX], "rows[1] holds -9223372036854775809; integers must"),
        (["b\udc80"], "rows[1]: lone surrogate U+DC80 at character 1"),
    ],
)
def test_errors_of_rows_of_one_type(row, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        TokenSets.from_sets([[type(row[0])(7)], row])


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">i4", "u4", "i8", "u8"])
def test_numpy_rows_equal_lists(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    rows = [[low, 0, high, 7], [], [1]]
    expected = rows_of(TokenSets.from_sets(rows))
    arrays = [np.array(row, dtype) for row in rows]
    assert rows_of(TokenSets.from_sets(arrays)) == expected
    assert rows_of(TokenSets.from_sets([rows[0], *arrays[1:]])) == expected
    assert rows_of(TokenSets.from_sets([arrays[0][::-1]])) == [expected[0][::-1]]


def test_numpy_rows_of_different_types():
    """int64 and uint64 have float64 in common, which does not hold these."""
    rows = [
        np.array([2**60 + 1], np.int64),
        np.array([2**60], np.uint64),
        np.array([3], np.uint8),
    ]
    assert rows_of(TokenSets.from_sets(rows)) == rows_of(
        TokenSets.from_sets([[2**60 + 1], [2**60], [3]])
    )


def test_numpy_scalars_and_strings():
    rows = [[np.int32(-3), np.uint64(MAX), np.str_("é"), np.bytes_(b"x")]]
    assert rows_of(TokenSets.from_sets(rows)) == rows_of(
        TokenSets.from_sets([[-3, MAX, "é", b"x"]])
    )


@pytest.mark.parametrize("row", [list, np.array])
def test_negative_integers_are_no_large_ones(row):
    negative = rows_of(TokenSets.from_sets([row([-1]), row([-(2**63)])]))
    large = rows_of(TokenSets.from_sets([[MAX], [2**63]]))
    assert not {token for tokens in negative for token in tokens} & {
        token for tokens in large for token in tokens
    }
    assert negative == [[hashing.token_of_int(value, 1)] for value in (-1, -(2**63))]


def test_strings_are_their_utf8_and_integers_are_not_strings():
    tokens = rows_of(TokenSets.from_sets([["é"], ["é".encode()], [233], ["233"]]))
    assert tokens[0] == tokens[1]
    assert len({row[0] for row in tokens}) == 3


def test_rows_of_all_kinds():
    rows = [(1, 2), range(1, 3), iter([1, 2]), {1: "a", 2: "b"}, np.array([1, 2])]
    assert (
        len({tuple(row) for row in rows_of(TokenSets.from_sets(row for row in rows))})
        == 1
    )
    assert sorted(TokenSets.from_sets([{1, 2}])[0]) == sorted(
        TokenSets.from_sets([[1, 2]])[0]
    )


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        (
            [1, 2**64],
            ValueError,
            "rows[2] holds 18446744073709551616; integers must be in -2**63..2**64 - 1",
        ),
        (
            ["a", -(2**63) - 1],
            ValueError,
            "rows[2] holds -9223372036854775809; integers must be in",
        ),
        (
            [1, 2.0],
            TypeError,
            "rows[2] holds an element of type float; tokens are str, bytes or int",
        ),
        (
            np.array([1.5]),
            TypeError,
            "rows[2] holds an element of type float64; tokens are",
        ),
        (
            ["a", None],
            TypeError,
            "rows[2] holds an element of type NoneType; tokens are",
        ),
        ([[1]], TypeError, "rows[2] holds an element of type list; tokens are"),
        (
            "text",
            TypeError,
            "rows[2] is of type str, not an iterable of tokens; for texts use lshfast.shingle",
        ),
        (b"text", TypeError, "rows[2] is of type bytes, not an iterable of tokens"),
        (7, TypeError, "rows[2] is of type int, not an iterable of tokens"),
        (None, TypeError, "rows[2] is of type NoneType, not an iterable of tokens"),
        (
            ["a", 1, "b\udc80"],
            ValueError,
            "rows[2]: lone surrogate U+DC80 at character 1",
        ),
    ],
)
def test_errors_name_the_row(row, error, message):
    with pytest.raises(error, match=re.escape(message)):
        TokenSets.from_sets([[1, "a"], [], row, [2]])


@pytest.mark.parametrize(
    ("seed", "error"),
    [(-1, ValueError), (2**64, ValueError), (1.0, TypeError), (True, TypeError)],
)
def test_impossible_seeds(seed, error):
    for make in (
        lambda: TokenSets.from_sets([[1]], seed=seed),
        lambda: shingle(["a"], seed=seed),
    ):
        with pytest.raises(error, match=f"seed must be .*{re.escape(str(seed))}"):
            make()


# Tables of groups and items


@pytest.fixture(params=["list", "numpy", "pandas", "polars", "pyarrow"])
def column(request):
    """Return the function that makes a column of a list."""
    if request.param == "list":
        return list
    library = pytest.importorskip(request.param)
    return getattr(library, "Series", None) or library.array


@pytest.mark.parametrize(
    "items",
    [["milk", "tea", "milk", "rice", "tea"], [3, -1, 3, 2**40, -1]],
    ids=["str", "int"],
)
@pytest.mark.parametrize(
    "groups", [["b", "a", "b", "a", "c"], [7, -2, 7, -2, 2**50]], ids=["str", "int"]
)
def test_from_columns_of_any_library(column, groups, items):
    names, sets = TokenSets.from_columns(column(groups), column(items), seed=3)
    assert names == [groups[0], groups[1], groups[4]]
    wanted = TokenSets.from_sets(
        [[items[0], items[2]], [items[1], items[3]], [items[4]]], seed=3
    )
    assert rows_of(sets) == rows_of(wanted)


def test_g1_customers_with_a_tenth_of_their_purchases_in_common():
    """1 of 10 things that either bought is a similarity of .1; the other customers have none in common."""
    rng = np.random.default_rng(1)
    bought = [(f"customer {n}", f"thing {n}-{k}") for n in range(100) for k in range(8)]
    bought += [("ann", thing) for thing in ("map", *"abcd")] + [
        ("bob", thing) for thing in ("map", *"efghi")
    ]
    names, sets = TokenSets.from_columns(
        *zip(*rng.permutation(bought).tolist(), strict=True)
    )
    two = tuple(sorted((names.index("ann"), names.index("bob"))))
    assert exact.pairs(sets, threshold=0.1).tolist() == [(*two, 0.1)]
    assert len(exact.pairs(sets, threshold=0.11)) == 0
    found = sum(
        len(pairs(sets, threshold=0.1, recall=0.9, num_perm=64, seed=seed))
        for seed in range(20)
    )
    assert found > 20 * 0.9 - 4 * math.sqrt(20 * 0.9 * 0.1)


@pytest.mark.parametrize(
    ("groups", "items", "error", "message"),
    [
        (
            ["a"],
            [1, 2],
            ValueError,
            "groups and items must have the same length, not 1 and 2",
        ),
        (["a"], np.array([1, 2]), ValueError, "not 1 and 2"),
        (
            ["a", None],
            [1, 2],
            TypeError,
            "groups[1] is None; leave out rows with missing values",
        ),
        (["a", math.nan], [1, 2], TypeError, "groups[1] is nan"),
        (["a", "b"], ["x", None], TypeError, "items[1] is None"),
        (["a", "b"], ["x", 2.5], TypeError, "rows[1] holds an element of type float"),
        (
            ["a", []],
            [1, 2],
            TypeError,
            "groups must be hashable: unhashable type: 'list'",
        ),
        ("ab", [1, 2], TypeError, "groups must be a column of values, not 'ab'"),
        (
            ["a"],
            np.ones((1, 1), int),
            ValueError,
            "items must have one dimension, not 2",
        ),
        (["a"], ["\ud800"], ValueError, "rows[0]: lone surrogate"),
    ],
)
def test_from_columns_refuses(groups, items, error, message):
    with pytest.raises(error, match=re.escape(message)):
        TokenSets.from_columns(groups, items)


# Texts


def distinct(texts, unit, size, **kwargs):
    """Return the set of tokens of each text."""
    return [set(row) for row in rows_of(shingle(texts, unit, size, **kwargs))]


def test_d1_f1_character_shingles():
    assert len(distinct(["abcab"], "char", 2)[0]) == 3  # ab bc ca
    bag = shingle(["abcdabd"], "char", 2)
    assert (bag.counts.tolist(), bag.distinct().counts.tolist()) == (
        [6],
        [5],
    )  # ab bc cd da bd, ab twice


def test_d2_change_of_one_word():
    texts = ["The_dog_which_chased_the_cat", "The_dog_that_chased_the_cat"]
    # The text counts both "The" and "the".
    for lowercase, common in ((False, 18), (True, 17)):
        which, that = distinct(texts, "char", 3, lowercase=lowercase)
        assert (len(which - that), len(that - which), len(which & that)) == (
            7,
            5,
            common,
        )
    sets = shingle(texts, "char", 3, lowercase=False)
    assert verify(sets, np.array([0]), np.array([1]), 0.6).tolist() == [(0, 1, 18 / 30)]


def test_c10_web_page():
    tuples = ["This is an", "is an example", "an example web", "example web page"]
    assert rows_of(shingle(["This is an example web page"], size=3)) == [
        shingle(tuples, size=3).tokens.tolist()
    ]


def test_g4_tuples_of_one_and_of_ten_words():
    """Nearly all texts have a word in common, so the pairs with a common 1-tuple are nearly all pairs of texts."""
    rng = np.random.default_rng(4)
    chances = 1 / np.arange(1, 5001)
    words = rng.choice(5000, (400, 100), p=chances / chances.sum())
    words[-20:, 40:70] = words[
        :20, 40:70
    ]  # passages of 30 words, with 21 tuples of ten
    texts = [" ".join(f"w{word}" for word in row) for row in words]
    ones, tens = (shingle(texts, size=size) for size in (1, 10))
    assert (set(ones.counts.tolist()), set(tens.counts.tolist())) == ({100}, {91})
    common = [
        exact.pairs(sets, threshold=1, measure="overlap") for sets in (ones, tens)
    ]
    assert len(common[0]) > 0.99 * math.comb(400, 2)
    assert common[1][["i", "j"]].tolist() == [(i, 380 + i) for i in range(20)]
    assert common[1]["similarity"].min() == 21


@pytest.mark.parametrize("words", [4, 5, 50])
def test_a10_shingles_of_four_words(words):
    """A text of n words has n - 3 of them, all different if the words are."""
    found = shingle([" ".join(map(str, range(words)))], size=4)
    assert found.counts.tolist() == found.distinct().counts.tolist() == [words - 3]


def test_g6_reordered_paragraphs():
    """Exchanging two neighbours moves three borders, each inside k - 1 shingles; the text has "the 2 k shingles"."""
    rng, k = np.random.default_rng(6), 9
    for _ in range(20):
        a, b, c, d = (
            "".join(map(chr, rng.integers(0x4E00, 0x9FA5, rng.integers(20, 60))))
            for _ in range(4)
        )
        before, after = distinct([a + b + c + d, a + c + b + d], "char", k)
        assert len(before - after) == len(after - before) == 3 * (k - 1) == 24
        at_the_end = distinct([a + b + c + d, a + b + d + c], "char", k)
        assert len(at_the_end[0] - at_the_end[1]) == 2 * (k - 1)


def test_f2_sizes_of_character_shingles():
    """A message of 2,000 characters has few of the 27**5 shingles; of single characters it has nearly all."""
    assert 27**5 == 14_348_907
    assert expected_occurrences(27**5, 5, symbols=27) == pytest.approx(1)
    assert expected_occurrences(2000, 5) == pytest.approx(2000 / 20**5)
    assert (
        expected_occurrences(100_000, 5)
        > 0.03
        > 1e-6
        > expected_occurrences(100_000, 9)
    )
    assert expected_occurrences(2000, 1) == 100
    assert expected_occurrences(0, 1) == expected_occurrences(1, 256) == 0
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(list("etaoinshrdlucmfwypvb"), 2000)) for _ in range(2)]
    once, again = (
        TokenSets.concatenate([shingle([each], "char", size) for each in texts])
        for size in (1, 5)
    )
    assert verify(once, np.array([0]), np.array([1]), 0).tolist() == [(0, 1, 1.0)]
    assert verify(again, np.array([0]), np.array([1]), 0)["similarity"][0] < 0.01


def test_d3_f3_tokens_of_four_bytes():
    """Shingles of 9 characters as tokens of 4 bytes are rarer by chance than 4 characters, which take as many bytes."""
    assert (
        expected_occurrences(50_000, 32, symbols=2)
        == 50_000 / 2**32
        < expected_occurrences(50_000, 4)
        == 0.3125
    )
    assert 50_000 * expected_occurrences(50_000, 32, symbols=2) == pytest.approx(
        0.58, abs=0.005
    )
    rng = np.random.default_rng(3)
    ours, others = (
        "".join(rng.choice(list(letters), 20_008))
        for letters in ("abcdefghij", "klmnopqrst")
    )
    for bits in (16, 20, 32):
        one, two = (
            np.unique(shingle([text], "char", 9).tokens % 2**bits)
            for text in (ours, others)
        )
        expected = len(one) * expected_occurrences(len(two), bits, symbols=2)
        assert (
            abs(len(np.intersect1d(one, two)) - expected) < 4 * math.sqrt(expected) + 1
        )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1, 5), ValueError, r"length must be in 0\.\."),
        ((2**63, 5), ValueError, r"length must be in 0\.\."),
        ((1.5, 5), TypeError, "length must be an int"),
        ((5, 0), ValueError, r"size must be in 1\.\.256, not 0"),
        ((5, 257), ValueError, r"size must be in 1\.\.256, not 257"),
        ((5, 5, 0.5), ValueError, r"symbols must be at least 1, not 0\.5"),
        ((5, 5, float("nan")), ValueError, "symbols must be at least 1, not nan"),
        ((5, 5, "20"), TypeError, "symbols must be a number"),
    ],
)
def test_expected_occurrences_refuses(arguments, error, message):
    length, size, *symbols = arguments
    with pytest.raises(error, match=message):
        expected_occurrences(
            length, size, **({"symbols": symbols[0]} if symbols else {})
        )


def test_f5_sizes():
    """Of a text of 50,000 bytes, shingles as tokens of 4 bytes take 200,000, and 250 numbers of 4 bytes 1,000."""
    rng = np.random.default_rng(5)
    text = "".join(rng.choice(list("abcdefghijklmnopqrst"), 50_008))
    tokens = shingle([text], "char", 9).distinct().tokens.astype(np.uint32)
    assert tokens.nbytes == 200_000
    assert (
        len(np.unique(tokens)) > 50_000 - 5
    )  # .29 pairs of them are expected to be equal
    signature = MinHash(num_perm=250)
    signature.update_batch([token.tobytes() for token in tokens[:500]])
    assert (
        signature.hashvalues.nbytes
        == len(LeanMinHash(signature).hashvalues.tobytes())
        == 1000
    )
    base = rng.integers(
        0, 2**64, (60, 600), np.uint64
    )  # pairs of 400 tokens that share 400 * 2 / 3: J = 1 / 2
    pairs = [
        part
        for row in base
        for part in (row[:400], np.concatenate([row[:267], row[467:]]))
    ]
    sets = TokenSets(np.cumsum([0, *map(len, pairs)]), np.concatenate(pairs))
    signatures = MinHasher(250, "classic").sketch(sets)
    estimates = (signatures[::2] == signatures[1::2]).mean(axis=1)
    assert abs(estimates.mean() - 0.5) < 4 * 0.0316 / math.sqrt(60)
    assert 0.02 < estimates.std() < 0.045  # .0316, a few per cent


@given(
    st.lists(st.text("aB1_ -.é\u0301中\n", max_size=25), max_size=6),
    st.integers(1, 7),
    SEEDS,
    st.booleans(),
)
def test_shingles_equal_the_reference(texts, size, seed, lowercase):
    words, characters = (
        rows_of(shingle(texts, u, size, seed=seed, lowercase=lowercase))
        for u in ("word", "char")
    )
    assert words == [text.word_shingles(one, size, seed, lowercase) for one in texts]
    assert characters == [
        text.character_shingles(one, size, seed, lowercase) for one in texts
    ]


def test_case_of_stop_words_is_not_kept():
    with pytest.raises(ValueError, match="lowercase must be True for unit 'stopword'"):
        shingle(["The dog"], "stopword", lowercase=False)
    with pytest.raises(TypeError, match="lowercase must be True or False, not 1"):
        shingle(["The dog"], lowercase=1)


def test_short_texts_are_one_shingle():
    five, also_five, one, none, empty = rows_of(
        shingle(["a b", "A, b!", "a", "...", ""], size=5)
    )
    assert five == also_five == shingle(["a b"], size=2)[0].tolist()
    assert one == TokenSets.from_sets([["a"]])[0].tolist()
    assert none == empty == []


@pytest.fixture(scope="module")
def megabytes():
    """Texts of three megabytes: several pieces of work."""
    numbers = np.random.default_rng(1).integers(0, 10**6, (600, 800))
    return [" ".join(map(str, row)) for row in numbers.tolist()]


@pytest.mark.one_case
@pytest.mark.parametrize("unit", ["word", "char"])
def test_threads_do_not_matter(megabytes, unit):
    one, *others = (
        shingle(megabytes, unit, 5, threads=threads) for threads in (1, 2, 3, None)
    )
    assert len(one.tokens) > 400_000
    for other in others:
        assert np.array_equal(one.offsets, other.offsets)
        assert np.array_equal(one.tokens, other.tokens)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("row", [0, 300, 600])
def test_errors_name_the_row_in_later_pieces(megabytes, threads, row):
    texts = [*megabytes[:row], b"caf\xe9 ol\xe9", *megabytes[row:]]
    with pytest.raises(
        TextError, match=re.escape(f"texts[{row}]: not UTF-8 at byte 3")
    ) as error:
        shingle(texts, threads=threads)
    assert error.value.row == row
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("null", [None, float("nan"), np.float64("nan")])
def test_a_null_has_no_shingles(null):
    assert shingle(["a b", null, "a"], size=1).counts.tolist() == [2, 0, 1]
    assert shingle(["a b", null, "a"], unit="char", size=1).counts.tolist() == [3, 0, 1]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (["a", 7], TypeError, "texts[1] is of type int, not str or bytes"),
        (["a", ["b"]], TypeError, "texts[1] is of type list, not str or bytes"),
        (["a", "b\ud800"], TextError, "texts[1]: lone surrogate U+D800 at character 1"),
        ("a text", TypeError, "texts must be a column of texts, not one str or bytes"),
        (b"a text", TypeError, "texts must be a column of texts, not one str or bytes"),
    ],
)
def test_impossible_texts(texts, error, message):
    with pytest.raises(error, match=re.escape(message)):
        shingle(texts)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"unit": "line"},
            ValueError,
            "unit must be 'word', 'char', 'symbol' or 'stopword', not 'line'",
        ),
        ({"size": 0}, ValueError, "size must be in 1..256, not 0"),
        ({"size": 257}, ValueError, "size must be in 1..256, not 257"),
        ({"size": 5.0}, TypeError, "size must be an int, not 5.0"),
        ({"size": True}, TypeError, "size must be an int, not True"),
        ({"threads": 0}, ValueError, "threads must be at least 1, not 0"),
        ({"threads": 1.5}, TypeError, "threads must be an int or None, not 1.5"),
    ],
)
def test_impossible_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        shingle(["a b c"], **arguments)

"""Distances: the numbers of the textbooks, the axioms of metrics, brute force, and what is refused."""

import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import inf, isclose, pi
from numbers import Number

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import TokenSets, distances
from lshfast._common import extras

pytest.importorskip("rapidfuzz")

STRINGS = st.text("abc", max_size=7)
COORDINATES = st.floats(-1e6, 1e6)
POINTS = st.lists(COORDINATES, min_size=3, max_size=3)
EXTREME = st.lists(
    st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2
)
SETS = st.sets(st.integers(0, 9), max_size=6)


def one(number):
    """Return the distance of two single items as a number of Python."""
    assert np.ndim(number) == 0
    return number.item()


def test_f17_points():
    a, b = [2, 7], [6, 4]
    assert [one(distances.minkowski(a, b, r)) for r in (2, 1, inf)] == [5, 7, 4]
    assert one(distances.minkowski([5, 6, 7], [8, 2, 4], 1)) == 10
    assert one(distances.minkowski([5, 6, 7], [8, 2, 4])) == pytest.approx(
        5.83095, abs=5e-6
    )


def test_f17_cosines():
    assert one(distances.one_minus_cosines([1, 2, -1], [2, 1, 1])) == pytest.approx(0.5)
    assert np.degrees(one(distances.angles([1, 2, -1], [2, 1, 1]))) == pytest.approx(60)
    for a, b, cosine in (
        ([3, -1, 2], [-2, 3, 1], -0.5),
        ([1, 2, 3], [2, 4, 6], 1),
        ([5, 0, -4], [-1, -6, 2], -0.31707),
        ([0, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 0], 0.5),
    ):
        assert 1 - one(distances.one_minus_cosines(a, b)) == pytest.approx(
            cosine, abs=5e-6
        )
        assert np.cos(one(distances.angles(a, b))) == pytest.approx(cosine, abs=5e-6)


def test_f17_sets():
    assert one(distances.jaccard({1, 2, 3, 4}, {2, 3, 4, 5})) == pytest.approx(0.4)
    assert one(distances.jaccard({1, 2, 3}, {4, 5, 6})) == 1


def test_f17_edits():
    assert distances.indel(
        ["abcde", "aba", "Bill"], ["acfdeg", "bab", "William"]
    ).tolist() == [3, 2, 5]
    # The longest common subsequence of the first.
    assert len("acde") == (5 + 6 - 3) // 2
    a, b = ["abcdef", "abccdabc", "abcdef"], ["bdaefc", "acbdcab", "baedfc"]
    assert distances.indel(a, b).tolist() == [4, 5, 6]
    assert distances.damerau(a, b).tolist() == [4, 3, 4]
    assert distances.osa(a, b).tolist() == [4, 3, 4]


def test_f17_hamming():
    assert one(distances.hamming("10101", "11110")) == 3
    codes = ["000000", "110011", "010101", "011100"]
    a, b = zip(*combinations(codes, 2), strict=True)
    assert distances.hamming(a, b).tolist() == [4, 3, 3, 3, 5, 2]
    bits = [[list(map(int, code)) for code in side] for side in (a, b)]
    assert distances.hamming(*bits).tolist() == [4, 3, 3, 3, 5, 2]


@given(POINTS, POINTS, st.floats(1, 50), st.floats(1, 50))
def test_e14_norms_do_not_rise_with_r(a, b, r, s):
    low, high = sorted((r, s))
    assert one(distances.minkowski(a, b, low)) >= one(
        distances.minkowski(a, b, high)
    ) * (1 - 1e-12)
    assert one(distances.minkowski(a, b, high)) >= one(
        distances.minkowski(a, b, inf)
    ) * (1 - 1e-12)
    same = [
        one(distances.minkowski(a, [b[0], *a[1:]], each)) for each in (low, high, inf)
    ]
    assert same == [abs(a[0] - b[0])] * 3


@given(STRINGS, STRINGS)
def test_g8_all_longest_common_subsequences(a, b):
    def parts(text):
        return {
            "".join(part)
            for n in range(len(text) + 1)
            for part in combinations(text, n)
        }

    found = list(distances.longest_common_subsequences(a, b))
    longest = (len(a) + len(b) - one(distances.indel(a, b))) // 2
    assert found == sorted(part for part in parts(a) & parts(b) if len(part) == longest)


def test_g8_examples_of_the_text():
    assert list(distances.longest_common_subsequences("aba", "bab")) == ["ab", "ba"]
    assert list(distances.longest_common_subsequences("abcde", "acfdeg")) == ["acde"]
    many = distances.longest_common_subsequences("ab" * 200, "ba" * 200)
    assert [next(many), next(many)] == ["ab" * 199 + "a", "ba" * 199 + "b"]
    with pytest.raises(TypeError, match="b must be a str, not 5"):
        next(distances.longest_common_subsequences("a", 5))


def test_g8_strings_need_not_have_a_mean():
    """Points have one point halfway; two bit strings at an odd distance have none, and others have several strings."""
    strings = ["".join(each) for n in range(4) for each in product("ab", repeat=n)]

    def halfway(distance, a, b, among):
        half = one(distance(a, b)) / 2
        return [
            each
            for each in among
            if one(distance(a, each)) == one(distance(each, b)) == half
        ]

    assert halfway(
        distances.minkowski, [0, 0], [2, 4], product(range(5), repeat=2)
    ) == [(1, 2)]
    bits = [each for each in strings if len(each) == 3]
    assert halfway(distances.hamming, "aaa", "aab", bits) == []
    assert halfway(distances.hamming, "aaa", "abb", bits) == ["aab", "aba"]
    assert halfway(distances.indel, "aba", "bab", strings) == ["ab", "ba"]


def test_g7_which_functions_of_two_numbers_are_distances():
    """Exercise 3.5.1: |x - y| is; max(x, y) and x + y are above 0 for x = y, though they obey the other axioms."""
    numbers = range(7)
    difference = {
        (x, y): one(distances.minkowski([x], [y], 1))
        for x, y in product(numbers, repeat=2)
    }
    for d, metric in (
        (difference, True),
        ({p: max(p) for p in difference}, False),
        ({p: sum(p) for p in difference}, False),
    ):
        assert all(
            d[x, z] <= d[x, y] + d[y, z] for x, y, z in product(numbers, repeat=3)
        )
        assert all(d[x, y] == d[y, x] for x, y in difference)
        assert all((d[x, y] == 0) == (x == y) for x, y in difference) == metric
    assert difference == {(x, y): abs(x - y) for x, y in difference}


def test_g7_vectors_of_zeros_and_ones_are_at_most_90_degrees_apart():
    vectors = [each for each in product((0, 1), repeat=5) if any(each)]
    a, b = zip(*combinations(vectors, 2), strict=True)
    apart = np.degrees(distances.angles(a, b))
    assert apart.max() == pytest.approx(90)
    disjoint = (np.array(a) * np.array(b)).sum(axis=1) == 0
    assert np.array_equal(apart > 89.9, disjoint)


def is_metric(distance, a, b, c, slack=0.0):
    ab, bc, ac = (one(distance(x, y)) for x, y in ((a, b), (b, c), (a, c)))
    assert ab >= 0
    assert one(distance(a, a)) == 0
    assert one(distance(b, a)) == ab
    assert ac <= ab + bc + slack * (1 + ab + bc)


@given(POINTS, POINTS, POINTS, st.sampled_from([1, 1.5, 2, 3, 40, inf]))
def test_axioms_of_points(a, b, c, r):
    is_metric(lambda x, y: distances.minkowski(x, y, r), a, b, c, 1e-12)
    assert (one(distances.minkowski(a, b, r)) == 0) == (a == b)


@given(POINTS.filter(any), POINTS.filter(any), POINTS.filter(any))
def test_axioms_of_angles(a, b, c):
    is_metric(distances.angles, a, b, c, 1e-12)
    assert 0 <= one(distances.angles(a, b)) <= pi


@given(SETS, SETS, SETS)
def test_axioms_of_sets(a, b, c):
    is_metric(distances.jaccard, a, b, c, 1e-12)
    assert (one(distances.jaccard(a, b)) == 0) == (a == b)


@given(STRINGS, STRINGS, STRINGS)
@pytest.mark.parametrize(
    "distance", [distances.indel, distances.levenshtein, distances.damerau]
)
def test_axioms_of_edits(distance, a, b, c):
    is_metric(distance, a, b, c)
    assert (one(distance(a, b)) == 0) == (a == b)


@given(
    st.integers(0, 9).flatmap(
        lambda n: st.tuples(*[st.text("ab", min_size=n, max_size=n)] * 3)
    )
)
def test_axioms_of_hamming(strings):
    is_metric(distances.hamming, *strings)


def test_e1_one_minus_cosine_is_no_metric():
    east, between, north = [1, 0], [1, 1], [0, 1]
    far = one(distances.one_minus_cosines(east, north))
    near = (
        one(distances.one_minus_cosines(east, between)),
        one(distances.one_minus_cosines(between, north)),
    )
    assert far == pytest.approx(1)
    assert sum(near) == pytest.approx(0.586, abs=5e-4)
    assert far > sum(near)
    angles = distances.angles([east, between, east], [between, north, north])
    assert angles[2] <= (angles[0] + angles[1]) * (1 + 1e-12)


def test_osa_is_no_metric():
    first, second, both = distances.osa(
        ["ca", "ac", "ca"], ["ac", "abc", "abc"]
    ).tolist()
    assert both > first + second
    first, second, both = distances.damerau(
        ["ca", "ac", "ca"], ["ac", "abc", "abc"]
    ).tolist()
    assert both <= first + second


def brute_edits(a, b, substitutions, transpositions):
    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        found = [distance(i - 1, j) + 1, distance(i, j - 1) + 1]
        if a[i - 1] == b[j - 1]:
            found.append(distance(i - 1, j - 1))
        elif substitutions:
            found.append(distance(i - 1, j - 1) + 1)
        if transpositions and i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
            found.append(distance(i - 2, j - 2) + 1)
        return min(found)

    return distance(len(a), len(b))


@given(STRINGS, STRINGS)
def test_edits_beside_brute_force(a, b):
    assert one(distances.indel(a, b)) == brute_edits(a, b, False, False)
    assert one(distances.levenshtein(a, b)) == brute_edits(a, b, True, False)
    assert one(distances.osa(a, b)) == brute_edits(a, b, True, True)
    assert one(distances.damerau(a, b)) <= one(distances.osa(a, b))


@given(EXTREME, EXTREME, st.sampled_from([1, 2, 3, 700, inf]))
def test_extreme_points_beside_fractions(a, b, r):
    apart = [abs(Fraction(x) - Fraction(y)) for x, y in zip(a, b, strict=True)]
    found = one(distances.minkowski(a, b, r))
    greatest = max(apart)
    if greatest == 0:
        assert found == 0
        return
    root = 1.0 if r == inf else sum(float(x / greatest) ** r for x in apart) ** (1 / r)
    expected = greatest * Fraction(root)
    if expected > Fraction(np.finfo(float).max):
        assert found == inf or isclose(found, np.finfo(float).max, rel_tol=1e-12)
    else:
        assert isclose(found, float(expected), rel_tol=1e-12, abs_tol=1e-323)


def test_extreme_angles():
    tiny, huge = [5e-324, 0], [1.7e308, 1.7e308]
    assert one(distances.angles(tiny, huge)) == pytest.approx(pi / 4)
    assert one(distances.angles(huge, [-1.7e308, -1.7e308])) == pytest.approx(pi)
    assert one(distances.angles([1, 0], [1, 1e-12])) == pytest.approx(1e-12)
    assert one(distances.one_minus_cosines([1, 0], [1, 1e-12])) == pytest.approx(5e-25)


def test_batches_are_pairs():
    generator = np.random.default_rng(1)
    a = generator.standard_normal((70_000, 3))
    b = generator.standard_normal((70_000, 3))
    assert np.allclose(distances.minkowski(a, b), np.linalg.norm(a - b, axis=1))
    assert np.allclose(distances.minkowski(a[0], b, 1), abs(a[0] - b).sum(axis=1))
    assert np.allclose(
        distances.angles(a, b[:1])[:50],
        [one(distances.angles(x, b[0])) for x in a[:50]],
    )
    cosines = (
        (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    )
    assert np.allclose(distances.one_minus_cosines(a, b), 1 - cosines)
    assert np.allclose(distances.angles(a, b), np.arccos(cosines))
    rows = [set(row) for row in generator.integers(0, 9, (50, 4)).tolist()]
    others = [set(row) for row in generator.integers(0, 9, (50, 4)).tolist()]
    expected = distances.jaccard(rows, others)
    assert np.allclose(
        distances.jaccard(TokenSets.from_sets(rows), TokenSets.from_sets(others)),
        expected,
    )
    assert (
        distances.jaccard(rows[0], others)
        == [distances.jaccard(rows[0], x) for x in others]
    ).all()
    assert distances.levenshtein(["a", "abc", ""], "ab").tolist() == [1, 1, 2]
    assert distances.levenshtein(b"abc", [b"", b"ab"]).tolist() == [3, 1]
    assert distances.levenshtein(np.array(["a", "bb"]), ("b", "b")).tolist() == [1, 1]
    assert distances.hamming(["ab", "b"], ["aa", "b"]).tolist() == [1, 0]


def test_empty_items():
    assert distances.jaccard([set(), set()], [set(), {1}]).tolist() == [0, 1]
    empty = TokenSets.from_sets([[], []])
    assert distances.jaccard(empty, TokenSets.from_sets([[], [1]])).tolist() == [0, 1]
    assert distances.levenshtein("", "") == 0
    for function in (
        distances.indel,
        distances.levenshtein,
        distances.damerau,
        distances.osa,
        distances.jaccard,
    ):
        assert function([], []).shape == (0,)
    assert distances.hamming("", "") == 0
    assert distances.minkowski(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0,)
    assert distances.angles(np.zeros((0, 3)), [1, 0, 0]).shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: distances.minkowski([1], [2], 0.5),
            ValueError,
            r"r must be in 1..inf, not 0.5",
        ),
        (
            lambda: distances.minkowski([1], [2], float("nan")),
            ValueError,
            "r must be in 1..inf, not nan",
        ),
        (lambda: distances.minkowski([1], [2], "2"), TypeError, "r must be a number"),
        (
            lambda: distances.minkowski([1, 2], [2]),
            ValueError,
            "equally many coordinates, not 2 and 1",
        ),
        (
            lambda: distances.minkowski([[1], [2]], [[1]] * 3),
            ValueError,
            "the same number of items",
        ),
        (
            lambda: distances.minkowski([1], [float("nan")]),
            ValueError,
            "b must be finite, not nan",
        ),
        (
            lambda: distances.minkowski([inf], [1]),
            ValueError,
            "a must be finite, not inf",
        ),
        (lambda: distances.minkowski(["1"], [1]), TypeError, "a must be numbers"),
        (
            lambda: distances.minkowski([True], [1]),
            TypeError,
            "a must be numbers, not bool",
        ),
        (
            lambda: distances.minkowski(1, 2),
            ValueError,
            r"a must have shape \(n, dim\) or \(dim,\)",
        ),
        (lambda: distances.minkowski([], []), ValueError, "dim at least 1"),
        (
            lambda: distances.minkowski([[1], [1, 2]], [1]),
            ValueError,
            "rows of one length",
        ),
        (
            lambda: distances.angles([[1, 1], [0, 0]], [1, 1]),
            ValueError,
            "a must have no vector of zeros, and row 1",
        ),
        (
            lambda: distances.jaccard([1], [{1}]),
            TypeError,
            "a must be sets, or both TokenSets, not int",
        ),
        (
            lambda: distances.jaccard({1}, 5),
            TypeError,
            "b must be sets, or both TokenSets, not int",
        ),
        (
            lambda: distances.jaccard({1}, TokenSets.from_sets([[1]])),
            TypeError,
            "b must be sets, or both TokenSets",
        ),
        (
            lambda: distances.jaccard([{1}] * 2, [{1}] * 3),
            ValueError,
            "the same number of items",
        ),
        (
            lambda: distances.hamming("ab", ["ab", "abc"]),
            ValueError,
            "equal lengths, and pair 1 has 2 and 3",
        ),
        (
            lambda: distances.hamming([1, 2], [1]),
            ValueError,
            "equal lengths, not 2 and 1",
        ),
        (
            lambda: distances.hamming("ab", [1, 2]),
            TypeError,
            "b must be strings, not int",
        ),
        (
            lambda: distances.hamming([float("nan")], [1.0]),
            ValueError,
            "a must not have .* such as NaN",
        ),
        (
            lambda: distances.hamming(["a"] * 2, np.array([1, inf - inf], object)),
            TypeError,
            "b must be strings",
        ),
        (
            lambda: distances.hamming([1, 2], np.array([1, inf - inf], object)),
            ValueError,
            "b must not have",
        ),
        (
            lambda: distances.hamming(np.array(["NaT"], "M8[s]"), [1]),
            ValueError,
            "a must not have",
        ),
        (
            lambda: distances.hamming(TokenSets.from_sets([[1]]), [1]),
            TypeError,
            "not TokenSets",
        ),
        (
            lambda: distances.levenshtein("a", 5),
            TypeError,
            "b must be strings, not int",
        ),
        (
            lambda: distances.levenshtein("a", [b"a"]),
            TypeError,
            "must both be str or both be bytes",
        ),
        (
            lambda: distances.levenshtein(["a", b"a"], "a"),
            TypeError,
            "a must be all str or all bytes",
        ),
        (
            lambda: distances.levenshtein(["a", None], "a"),
            TypeError,
            "a must be strings, not NoneType",
        ),
        (
            lambda: distances.osa(["a"] * 2, ["b"] * 3),
            ValueError,
            "the same number of items",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.fixture
def imports_anew():
    extras.optional.cache_clear()
    yield
    extras.optional.cache_clear()


@pytest.mark.usefixtures("imports_anew")
def test_the_extra_is_named_where_rapidfuzz_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(
        ImportError, match=r"rapidfuzz is missing: pip install .lshfast\[records\]"
    ):
        distances.levenshtein("a", "b")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("raise MemoryError", MemoryError, "^$"),
        (
            "raise ImportError('libx.so: cannot allocate memory')",
            ImportError,
            "half cannot be imported: libx.so",
        ),
        (
            "import absent_package",
            ImportError,
            "half cannot be imported: No module named 'absent_package'",
        ),
    ],
)
@pytest.mark.usefixtures("imports_anew")
def test_a_package_that_cannot_be_imported_is_not_called_missing(
    tmp_path, monkeypatch, body, error, message
):
    (tmp_path / "half.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error, match=message) as found:
        extras.optional("half")
    assert found.type is error
    assert "install" not in str(found.value)


# Functions with two single items, a batch of each, and the kind of their numbers.
WORDS = "abcd", "abdd"
VECTORS = [1.0, 2.0], [2.0, 2.0]
PAIR_OF_SETS = {"a", "b"}, {"b", "c"}
SINGLE = [
    *(
        (getattr(distances, name), *WORDS, int)
        for name in ("indel", "levenshtein", "damerau", "osa", "hamming")
    ),
    *(
        (getattr(distances, name), b"abcd", b"abdd", int)
        for name in ("indel", "levenshtein", "damerau", "osa", "hamming")
    ),
    (distances.hamming, [1, 0, 1], (1, 1, 1), int),
    (distances.hamming, np.array([True, False]), np.array([True, True]), int),
    *(
        (getattr(distances, name), *VECTORS, float)
        for name in ("minkowski", "angles", "one_minus_cosines")
    ),
    *(
        (getattr(distances, name), *map(np.array, VECTORS), float)
        for name in ("minkowski", "cosine_similarity")
    ),
    *(
        (getattr(distances, name), *PAIR_OF_SETS, float)
        for name in ("jaccard", "jaccard_similarity", "containment")
    ),
    (distances.jaccard, frozenset([1]), {1: 2}.keys(), float),
    (distances.overlap, *PAIR_OF_SETS, int),
]


@pytest.mark.parametrize(("function", "a", "b", "kind"), SINGLE)
def test_two_single_items_give_a_number_and_batches_an_array(function, a, b, kind):
    number = function(a, b)
    assert kind(number) == number
    assert round(number, 2) == round(kind(number), 2)
    assert isinstance(number, Number)
    assert f"{number:.3f}" == f"{float(number):.3f}"
    assert f"{number:5}".strip() == f"{kind(number)}"
    if kind is int:
        assert range(9)[number] == number
    for batches in ([a], [b]), (a, [b]), ([a], b), ([a, a], [b, b]), (a, [b, b]):
        values = function(*batches)
        assert values.ndim == 1
        assert values.tolist() == [number] * len(values)


@given(SETS, SETS)
def test_similarities_of_sets_follow_from_their_elements(a, b):
    assert distances.overlap(a, b) == len(a & b)
    assert distances.containment(a, b) == (len(a & b) / len(a) if a else 1)
    assert distances.jaccard_similarity(a, b) == (
        len(a & b) / len(a | b) if a | b else 1
    )
    assert distances.jaccard_similarity(a, b) == pytest.approx(
        1 - distances.jaccard(a, b)
    )
    names = {str(element) for element in a}, {str(element) for element in b}
    # Elements count once.
    several = (
        TokenSets.from_sets([[*a, *a], [*b]]),
        TokenSets.from_sets([[*b], [*a, *a]]),
    )
    for function in (
        distances.overlap,
        distances.containment,
        distances.jaccard_similarity,
    ):
        number = function(a, b)
        assert type(number) is (int if function is distances.overlap else float)
        assert function(*names) == number
        assert (
            function(*several).tolist()
            == function([a, b], [b, a]).tolist()
            == [number, function(b, a)]
        )
        assert function([], []).shape == (0,)


@given(POINTS.filter(any), POINTS.filter(any))
def test_cosine_similarities_are_cosines_of_angles(a, b):
    found = distances.cosine_similarity(a, b)
    assert type(found) is float
    assert -1 <= found <= 1
    assert found == pytest.approx(np.cos(distances.angles(a, b)), abs=1e-15)
    assert distances.cosine_similarity(a, [a, b]).tolist() == [1, found]
    assert distances.cosine_similarity(a, [-x for x in a]) == -1


def test_cosine_similarities_near_zero_are_exact():
    assert distances.cosine_similarity([1, 0], [0, 7]) == 0
    assert distances.cosine_similarity([1, 0], [1e-30, 1]) == pytest.approx(1e-30)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: distances.cosine_similarity([1, 2], [0, 0]),
            "b must have no vector of zeros",
        ),
        (
            lambda: distances.cosine_similarity([1, float("nan")], [1, 1]),
            "a must be finite, not nan",
        ),
        (lambda: distances.cosine_similarity({1, 2}, {1}), "a must be numbers"),
        (lambda: distances.cosine_similarity([1, 2], [1]), "equally many coordinates"),
        (
            lambda: distances.overlap([1, 2], {1}),
            r"a must be sets, .* not int: set\(a\) makes one set",
        ),
        (
            lambda: distances.containment({1}, np.array([1, 2])),
            r"b must be sets, .* not int64: set\(b\) makes one set",
        ),
        (
            lambda: distances.jaccard_similarity(["a", "b"], ["a"]),
            r"not str: set\(a\) makes one set",
        ),
        (
            lambda: distances.jaccard_similarity("ab", {"a"}),
            "a must be sets, or both TokenSets, not str$",
        ),
        (
            lambda: distances.jaccard_similarity({"a": 2.0}, {"a": 1.0}),
            "not dict: .*compares weighted sets",
        ),
        (
            lambda: distances.jaccard(Counter("ab"), {"a"}),
            "not Counter: .*compares weighted sets",
        ),
        (lambda: distances.overlap([{1}] * 2, [{1}] * 3), "the same number of items"),
    ],
)
def test_what_similarities_refuse(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()

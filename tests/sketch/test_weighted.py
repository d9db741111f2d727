"""Weighted sets and their signatures: against the reference and the exact similarity, and their laws and errors."""

import math
import pickle
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast import MinHasher, TokenSets
from lshfast.kernels import weighted as kernels
from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets, sketch_multisets
from tests.reference import minhash
from tests.reference import weighted as reference
from tests.reference.hashing import EMPTY, MASK64, draw

SCHEMES = pytest.mark.parametrize("scheme", ["shells", "icws"])
REFERENCE = {"shells": reference.shells, "icws": reference.icws}
GREATEST, TINIEST = 1.7976931348623157e308, 5e-324

WORD64 = st.integers(0, MASK64)
WEIGHTS = st.one_of(
    st.floats(TINIEST, GREATEST),
    st.integers(-1074, 1023).map(lambda e: math.ldexp(1.0, e)),
    st.floats(0.5, 100),
    st.sampled_from(
        [
            TINIEST,
            2.0**-1022,
            GREATEST,
            1.0,
            math.nextafter(1.0, 0),
            math.nextafter(1.0, 2),
        ]
    ),
)
ROWS = st.lists(st.dictionaries(WORD64, WEIGHTS, max_size=8), max_size=3)
WEIGHTED = st.dictionaries(st.integers(0, 9), WEIGHTS)
COUNTED = st.dictionaries(st.integers(0, 5), st.integers(1, 6), max_size=5)


def sets_of(rows):
    """Return rows of {token: weight} as WeightedSets."""
    offsets = np.cumsum([0, *map(len, rows)])
    tokens = np.array([token for row in rows for token in row], np.uint64)
    return WeightedSets(
        offsets, tokens, [float(weight) for row in rows for weight in row.values()]
    )


def rows_of(sets):
    """Return WeightedSets as rows of {token: weight}."""
    return [
        dict(
            zip(
                sets.tokens[low:high].tolist(),
                sets.weights[low:high].tolist(),
                strict=True,
            )
        )
        for low, high in zip(
            sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True
        )
    ]


# Logarithms


@given(x=WEIGHTS)
@example(x=1.0)
@example(x=reference.ROOT)
@example(x=math.nextafter(reference.ROOT, 2))
def test_logarithm(x):
    found = kernels.exact_log(x)
    assert found == reference.exact_log(x)
    assert abs(found - math.log(x)) <= 2**-50 * abs(math.log(x))


@given(
    v=st.one_of(
        st.integers(0, 2**62 - 1), st.integers(0, 62).map(lambda e: 2**e - 1)
    ).map(lambda v: 2 * v + 1)
)
@example(v=2**63 - reference.ROOT_HALF - 1)
@example(v=2**63 - reference.ROOT_HALF + 1)
def test_exponential(v):
    found = kernels.exact_exponential(v)
    assert found == reference.exact_exponential(v)
    u = 2**63 - v
    nearly = -math.log1p(-v / 2**63) if v < 2**62 else 63 * math.log(2) - math.log(u)
    assert abs(found - nearly) <= 2**-46 * nearly


@pytest.mark.parametrize("x", [0.0, -1.0, math.inf, math.nan])
def test_logarithm_of_nothing(x):
    with pytest.raises(ValueError, match="x must be finite and above 0"):
        kernels.exact_log(x)


@pytest.mark.parametrize("v", [0, 2, 2**63 + 1])
def test_exponential_of_other_words(v):
    with pytest.raises(ValueError, match=r"v must be odd and below 2\*\*63"):
        kernels.exact_exponential(v)


# Signatures


@pytest.mark.few_cases
@SCHEMES
@settings(max_examples=40)
@given(rows=ROWS, k=st.integers(1, 40), seed=WORD64)
@example(rows=[{}, {0: TINIEST}, {MASK64: GREATEST, 1: TINIEST}, {}], k=33, seed=MASK64)
@example(rows=[{5: 2.0**-1074}, {5: 2.0**1023}, {5: 1.0, 6: 1.0}], k=1, seed=0)
def test_any_weights(level, scheme, rows, k, seed):
    found = WeightedMinHasher(k, scheme, seed).sketch(sets_of(rows))
    assert found.tolist() == [REFERENCE[scheme](row, k, seed) for row in rows]


@cache
def many():
    """Return a row of each of some sizes, with weights over sixty orders of magnitude."""
    generator = np.random.default_rng(5)
    return [
        {
            int(generator.integers(2**64, dtype=np.uint64)): float(
                10.0 ** generator.uniform(-30, 30)
            )
            for _ in range(n)
        }
        for n in (1, 2, 7, 50, 300)
    ]


@cache
def expected(scheme, k):
    """Return the reference's signatures of `many`; the levels share one computation."""
    return [REFERENCE[scheme](row, k, 3) for row in many()]


@pytest.mark.weekly
@pytest.mark.one_case
@SCHEMES
@pytest.mark.parametrize("k", [1, 16, 100])
def test_signatures(level, scheme, k):
    assert WeightedMinHasher(k, scheme, 3).sketch(sets_of(many())).tolist() == expected(
        scheme, k
    )


@pytest.mark.weekly
@pytest.mark.parametrize("points", [1.0, 50.0, 1e5])
def test_points_looked_at_at_first_change_nothing(points):
    sets, out = sets_of(many()), np.zeros((5, 100), np.uint64)
    kernels.shells(sets.offsets, sets.tokens, sets.weights, draw(3, 24, 0), points, out)
    assert out.tolist() == expected("shells", 100)


@pytest.mark.parametrize("scale", [2.0**-1000, 1e-30, 1.0, 1e300])
def test_estimates_at_any_scale(scale):
    weights = np.random.default_rng(6).uniform(0.5, 2, (2, 50))
    exact = reference.similarity(*(dict(enumerate(row.tolist())) for row in weights))
    hasher = WeightedMinHasher(4096)
    found = hasher.similarity(*hasher.sketch(WeightedSets.from_matrix(weights * scale)))
    assert abs(found - exact) <= 4 * math.sqrt(exact * (1 - exact) / 4096)


@SCHEMES
def test_order_and_threads_change_nothing(scheme):
    generator = np.random.default_rng(7)
    counts = generator.integers(0, 400, 200)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    tokens = generator.integers(0, 2**64, offsets[-1], np.uint64)
    weights = generator.exponential(size=offsets[-1])
    hasher = WeightedMinHasher(16, scheme)
    alone = hasher.sketch(WeightedSets(offsets, tokens, weights), threads=1)
    for threads in (2, 5, None):
        assert (
            hasher.sketch(WeightedSets(offsets, tokens, weights), threads=threads)
            == alone
        ).all()
    order = np.concatenate(
        [generator.permutation(np.arange(a, b)) for a, b in pairwise(offsets)]
    )
    assert (
        hasher.sketch(WeightedSets(offsets, tokens[order], weights[order])) == alone
    ).all()
    assert (
        hasher.sketch(WeightedSets(offsets[50:], tokens, weights)) == alone[50:]
    ).all()


@given(a=WEIGHTED, b=WEIGHTED, k=st.integers(1, 70))
def test_merge_has_the_greater_weights(a, b, k):
    hasher = WeightedMinHasher(k)
    greater = {x: max(a.get(x, 0), b.get(x, 0)) for x in a.keys() | b.keys()}
    left, right, both = hasher.sketch(sets_of([a, b, greater]))
    assert (
        hasher.merge(left, right).tolist()
        == both.tolist()
        == hasher.merge(right, left).tolist()
    )
    assert hasher.merge(both, right).tolist() == both.tolist()


def test_icws_does_not_merge():
    signatures = WeightedMinHasher(8, "icws").sketch(sets_of([{1: 1.0}]))
    with pytest.raises(
        ValueError, match="signatures of scheme 'icws' cannot be merged"
    ):
        WeightedMinHasher(8, "icws").merge(signatures, signatures)


# Statistics: fixed seeds, four standard errors.


def trials(name, count):
    """Return `count` pairs of rows (2i and 2i + 1) of fresh tokens with one pair of weights, and their similarity."""
    generator = np.random.default_rng(8)
    n = 40
    weights = {
        "near": 1 + generator.uniform(size=(2, n)),
        "thirty orders": 10.0
        ** (np.linspace(-15, 15, n) + generator.uniform(-0.5, 0.5, (2, n))),
        "huge and tiny": 10.0
        ** (np.resize([-300.0, 300, 299.7], n) + generator.uniform(-0.2, 0.2, (2, n))),
        "one token": np.array([[1e-9], [2.7e-9]]),
        "within a shell": np.array([[1.1], [1.9]]),
        "powers of two": 2.0 ** generator.integers(-3, 3, (2, n)),
        "other tokens": np.where(
            np.arange(n) % 3 == np.array([[0], [1]]),
            0,
            generator.exponential(size=(2, n)),
        ),
    }[name]
    exact = reference.similarity(*(dict(enumerate(row.tolist())) for row in weights))
    n = weights.shape[1]
    tokens = generator.integers(0, 2**64, (count, 1, n), np.uint64).repeat(2, axis=1)
    return WeightedSets(
        np.arange(2 * count + 1) * n,
        tokens.ravel(),
        np.resize(weights, (count, 2, n)).ravel(),
    ), exact


@SCHEMES
@pytest.mark.parametrize(
    "name",
    [
        "near",
        "thirty orders",
        "huge and tiny",
        "one token",
        "within a shell",
        "powers of two",
        "other tokens",
    ],
)
def test_estimate(scheme, name):
    """The mean is sum min / sum max and the variance s (1 - s) / k: slots are independent."""
    count, k = 600, 64
    sets, exact = trials(name, count)
    hasher = WeightedMinHasher(k, scheme, 11)
    signatures = hasher.sketch(sets)
    found = hasher.similarity(signatures[0::2], signatures[1::2])
    variance = exact * (1 - exact) / k
    assert 0.1 < exact < 0.9
    assert abs(found.mean() - exact) <= 4 * math.sqrt(variance / count)
    # A binomial's fourth moment, for the standard error of the variance.
    fourth = variance**2 * 3 + variance * (1 - 6 * exact * (1 - exact)) / k**2
    assert abs(np.mean((found - exact) ** 2) - variance) <= 4 * math.sqrt(
        (fourth - variance**2) / count
    )


def test_it_is_not_the_probability_jaccard():
    """Twice the weights are half as similar; scaled to sum 1, the two would be the same."""
    sets = WeightedSets.from_matrix(np.array([[1.0, 2, 3], [2, 4, 6]]))
    hasher = WeightedMinHasher(4096)
    assert abs(hasher.similarity(*hasher.sketch(sets)) - 0.5) <= 4 * math.sqrt(
        0.25 / 4096
    )


@SCHEMES
def test_slots_are_as_likely_as_weights(scheme):
    """A token of weight w stands in a slot with probability w / sum of the weights."""
    weights = np.array([1e-3, 1.0, 2.0, 4.5, 0.3])
    hasher, slots = WeightedMinHasher(20_000, scheme), []
    whole = hasher.sketch(WeightedSets.from_matrix(weights[None]))[0]
    for x in range(len(weights)):
        alone = hasher.sketch(WeightedSets([0, 1], [x], [weights[x]]))[0]
        slots.append(float((whole == alone).mean()))
    share = weights / weights.sum()
    assert sum(slots) == pytest.approx(1)
    assert (np.abs(slots - share) <= 4 * np.sqrt(share * (1 - share) / 20_000)).all()


# Whole numbers: pairs


@given(rows=st.lists(COUNTED, max_size=4))
def test_pairs(rows):
    pairs = sets_of(rows).pairs()
    assert [sorted(pairs[i].tolist()) for i in range(len(pairs))] == [
        sorted(reference.multiset(row)) for row in rows
    ]


@pytest.mark.parametrize("scheme", ["fast", "classic"])
@given(a=COUNTED, b=COUNTED, k=st.integers(1, 40))
def test_multisets(scheme, a, b, k):
    """Signatures of the pairs; their minimum is that of the greater multiplicities."""
    hasher = MinHasher(k, scheme, 5)
    greater = {x: max(a.get(x, 0), b.get(x, 0)) for x in a.keys() | b.keys()}
    left, right, both = sketch_multisets(hasher, sets_of([a, b, greater]))
    assert left.tolist() == {"fast": minhash.fast, "classic": minhash.classic}[scheme](
        reference.multiset(a), k, 5
    )
    assert hasher.merge(left, right).tolist() == both.tolist()


def test_c4_multisets_are_as_similar_as_their_multiplicities():
    generator = np.random.default_rng(9)
    weights = generator.integers(0, 9, (2, 60)).astype(float)
    exact = reference.similarity(*(dict(enumerate(row.tolist())) for row in weights))
    sets = WeightedSets.from_matrix(weights)
    hasher = MinHasher(4096)
    found = hasher.similarity(*sketch_multisets(hasher, sets))
    assert abs(found - exact) <= 4 * math.sqrt(exact * (1 - exact) / 4096)
    left, right = (set(sets.pairs()[i].tolist()) for i in range(2))
    assert len(left & right) / len(left | right) == exact


def test_multisets_of_ones_are_sets():
    sets = TokenSets.from_sets([["a", "b", "c"], [], ["d"]])
    hasher = MinHasher(32)
    assert (
        sketch_multisets(hasher, WeightedSets.counted(sets)) == hasher.sketch(sets)
    ).all()


def test_multisets_and_threads():
    generator = np.random.default_rng(10)
    sets = WeightedSets.from_matrix(generator.poisson(40, (300, 60)).astype(float))
    alone = sketch_multisets(MinHasher(16), sets, threads=1)
    assert (sketch_multisets(MinHasher(16), sets, threads=3) == alone).all()
    assert (MinHasher(16).sketch(sets.pairs()) == alone).all()


def test_counted():
    sets = WeightedSets.counted(TokenSets([0, 5, 5, 6], [4, 9, 4, 4, 1, 9]))
    assert rows_of(sets) == [{4: 3.0, 9: 1.0, 1: 1.0}, {}, {9: 1.0}]


@pytest.mark.parametrize(
    "spread", [WeightedSets.pairs, partial(sketch_multisets, MinHasher(4))]
)
def test_what_has_no_pairs(spread):
    with pytest.raises(
        ValueError,
        match=r"weights must be whole numbers, not 0\.5 in row 1, at place 1",
    ):
        spread(WeightedSets([0, 1, 3], [1, 2, 3], [2, 3, 0.5]))
    with pytest.raises(
        ValueError, match=r"add up to 11 pairs, more than most = 10: scale them down"
    ):
        spread(WeightedSets([0, 1, 2], [1, 2], [5, 6]), most=10)
    with pytest.raises(ValueError, match=r"more than most = 268435456"):
        spread(WeightedSets([0, 2], [1, 2], [1e300, 1e300]))


# WeightedSets


def test_repeats_add_up_and_zeros_go():
    sets = WeightedSets(
        [0, 4, 4, 6], [3, 1, 3, 2, 3, 3], [1.0, 0.0, 2.5, 4.0, 0.0, 0.0]
    )
    assert rows_of(sets) == [{2: 4.0, 3: 3.5}, {}, {}]
    assert sets.totals.tolist() == [7.5, 0, 0]
    assert WeightedMinHasher(4).sketch(sets)[1:].tolist() == [[EMPTY] * 4] * 2


@given(
    weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=20),
    seed=st.integers(0, 99),
)
def test_repeats_add_up_to_the_same_bits_in_any_order(weights, seed):
    shuffled = np.random.default_rng(seed).permutation(weights)
    one, other = (
        WeightedSets([0, len(w)], [7] * len(w), w) for w in (weights, shuffled)
    )
    assert one.weights.tolist() == other.weights.tolist()
    assert math.isclose(one.weights.sum(), math.fsum(weights), rel_tol=1e-12)


def test_from_sets_and_matrices():
    tokens = TokenSets.from_sets([["a", b"b", 3], []]).tokens.tolist()
    assert rows_of(WeightedSets.from_sets([{"a": 1, b"b": 2.5, 3: 0}, {}])) == [
        {tokens[0]: 1.0, tokens[1]: 2.5},
        {},
    ]
    dense = np.array([[0.5, 0, 2], [0, 0, 0], [0, 1, 0]])
    wanted = [{0: 0.5, 2: 2.0}, {}, {1: 1.0}]
    for matrix in (
        dense,
        dense.astype(np.float32),
        dense.tolist(),
        np.asfortranarray(dense),
    ):
        assert rows_of(WeightedSets.from_matrix(matrix)) == wanted
    assert len(WeightedSets.from_matrix(np.zeros((0, 4)))) == 0
    assert rows_of(WeightedSets.from_matrix(np.eye(2, dtype=np.int64))) == [
        {0: 1.0},
        {1: 1.0},
    ]


class Sparse:
    """What stands in for a sparse matrix: rows as they are, repeats and zeros included."""

    def __init__(self):
        self.indptr, self.indices = (
            np.array([0, 3, 4], np.int32),
            np.array([2, 0, 2, 1], np.int32),
        )
        self.data = np.array([1, 4, 2, 0], np.float32)

    def tocsr(self):
        return self


def test_from_sparse_matrices():
    assert rows_of(WeightedSets.from_matrix(Sparse())) == [{0: 4.0, 2: 3.0}, {}]
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.random.default_rng(1).poisson(0.4, (20, 30)).astype(float)
    wanted = rows_of(WeightedSets.from_matrix(dense))
    for kind in (
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_matrix,
        sparse.csr_array,
    ):
        assert rows_of(WeightedSets.from_matrix(kind(dense))) == wanted


@pytest.mark.parametrize(
    ("weight", "shown"),
    [(math.nan, "nan"), (-0.5, r"-0\.5"), (math.inf, "inf"), (-math.inf, "-inf")],
)
def test_bad_weights_are_named(weight, shown):
    message = f"weights must be finite and at least 0, not {shown} in row 2, at place 1"
    with pytest.raises(ValueError, match=message):
        WeightedSets([1, 2, 2, 5], [9, 1, 2, 3, 4, 9], [-1, 1, 2, weight, 4, math.nan])
    with pytest.raises(ValueError, match=r"in row 1, at place 0"):
        WeightedSets.from_matrix([[1.0, 0], [0, weight]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ([0, 2], [1, 2], [1.0]),
            ValueError,
            r"weights must have one number per token, shape \(2,\), not \(1,\)",
        ),
        (([0, 2], [1, 2], [[1.0, 2.0]]), ValueError, r"shape \(2,\), not \(1, 2\)"),
        (([0, 2], [1, 2], ["a", "b"]), TypeError, "weights must be numbers, not <U1"),
        (
            ([0, 2], [1, 2], [True, False]),
            TypeError,
            "weights must be numbers, not bool",
        ),
        (
            ([0, 2], [1, 2], [1j, 2]),
            TypeError,
            "weights must be numbers, not complex128",
        ),
        (([0, 3], [1, 2], [1.0, 2.0]), ValueError, r"offsets must be in 0\.\.2"),
        (([0, 2], [1.5, 2], [1.0, 2.0]), TypeError, "tokens must be integers"),
        (
            ([0, 2], [7, 7], [GREATEST, GREATEST]),
            ValueError,
            "weights of token 7 in row 0 add up to more",
        ),
    ],
)
def test_bad_sets_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        WeightedSets(*arguments)


def test_bad_rows_are_named():
    with pytest.raises(TypeError, match=r"rows\[1\] is of type list, not a mapping"):
        WeightedSets.from_sets([{"a": 1}, ["a"]])
    with pytest.raises(ValueError, match="matrix must have two dimensions, not 1"):
        WeightedSets.from_matrix([1.0, 2.0])


def test_sets_keep_no_arrays_of_others():
    offsets = np.array([0, 1, 3])
    tokens = np.arange(3, dtype=np.uint64)
    weights = np.ones(3)
    for arrays in (
        (offsets, tokens, weights),
        (memoryview(offsets), memoryview(tokens), memoryview(weights)),
    ):
        sets = WeightedSets(*arrays)
        for mine, theirs in zip(
            (sets.offsets, sets.tokens, sets.weights),
            (offsets, tokens, weights),
            strict=True,
        ):
            assert not np.shares_memory(mine, theirs)
    before = WeightedMinHasher(8).sketch(sets)
    offsets[:], tokens[:], weights[:] = 9, 9, np.nan
    assert (WeightedMinHasher(8).sketch(sets) == before).all()


def test_sets_are_immutable_and_pickle():
    sets = WeightedSets.from_matrix(np.eye(3))
    with pytest.raises(AttributeError, match="immutable"):
        sets.weights = sets.weights
    with pytest.raises(ValueError, match="read-only"):
        sets.weights[0] = 2
    assert rows_of(pickle.loads(pickle.dumps(sets))) == rows_of(sets)


# WeightedMinHasher


def test_hashers():
    hasher = WeightedMinHasher(8, seed=4)
    signatures = hasher.sketch(sets_of([{1: 1.0}, {}, {1: 1.0}]))
    assert signatures.dtype == np.uint64
    assert signatures.hasher == hasher == pickle.loads(pickle.dumps(hasher))
    assert pickle.loads(pickle.dumps(signatures)).hasher == hasher
    assert hasher.similarity(signatures, signatures).tolist() == [1, 0, 1]
    assert hasher.similarity(signatures[0], signatures).tolist() == [1, 0, 1]
    assert hasher.sketch(sets_of([])).shape == (0, 8)


@pytest.mark.parametrize(
    "other", [WeightedMinHasher(8, seed=2), WeightedMinHasher(8, "icws"), MinHasher(8)]
)
def test_other_signatures_are_refused(other):
    hasher, row = WeightedMinHasher(8), sets_of([{1: 1.0}])
    theirs = other.sketch(row.pairs() if isinstance(other, MinHasher) else row)
    with pytest.raises(ValueError, match=r"b are of (Weighted)?MinHasher"):
        hasher.similarity(hasher.sketch(row), theirs)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_perm": 0}, ValueError, r"num_perm must be in 1\.\.65536, not 0"),
        ({"num_perm": 65537}, ValueError, r"num_perm must be in 1\.\.65536, not 65537"),
        ({"num_perm": 16.0}, TypeError, r"num_perm must be an int, not 16\.0"),
        ({"num_perm": True}, TypeError, "num_perm must be an int, not True"),
        (
            {"scheme": "tree"},
            ValueError,
            "scheme must be 'shells' or 'icws', not 'tree'",
        ),
        ({"seed": -1}, ValueError, r"seed must be in 0\.\.2\*\*64 - 1, not -1"),
        ({"seed": 1.5}, TypeError, r"seed must be an int or 'random', not 1\.5"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        WeightedMinHasher(**arguments)


def test_wrong_kinds_are_named():
    with pytest.raises(
        TypeError,
        match=r"sets must be WeightedSets \(see WeightedSets\.from_matrix\), not TokenSets",
    ):
        WeightedMinHasher(8).sketch(TokenSets([0], []))
    with pytest.raises(
        TypeError,
        match=r"sets must be WeightedSets \(see WeightedSets\.counted\), not TokenSets",
    ):
        sketch_multisets(MinHasher(8), TokenSets([0], []))
    for wrong, error, message in (
        (np.zeros(8), TypeError, "a must be signatures of uint64, not float64"),
        (
            np.zeros(9, np.uint64),
            ValueError,
            r"a must have 8 slots a signature, not shape \(9,\)",
        ),
    ):
        with pytest.raises(error, match=message):
            WeightedMinHasher(8).similarity(wrong, np.zeros(8, np.uint64))


# Kernels: what they refuse


@SCHEMES
@pytest.mark.parametrize(
    ("offsets", "weights", "out", "message"),
    [
        ([0, 4], [1.0] * 3, (1, 4), "offsets must rise"),
        ([2, 1], [1.0] * 3, (1, 4), "offsets must rise"),
        ([], [1.0] * 3, (0, 4), "offsets must rise"),
        ([0, 3], [1.0] * 2, (1, 4), "as many weights as tokens"),
        ([0, 3], [1.0] * 3, (2, 4), "out must have 1 rows, not 2"),
        ([0, 3], [1.0] * 3, (1, 0), r"num_perm must be in 1\.\.65536, not 0"),
        ([0, 3], [1.0, 0.0, 1.0], (1, 4), r"finite and above 0, not 0\.0 at place 1"),
        (
            [1, 3],
            [1.0, 1.0, math.nan],
            (1, 4),
            "finite and above 0, not nan at place 2",
        ),
        (
            [0, 3],
            [1.0, 1.0, math.inf],
            (1, 4),
            "finite and above 0, not inf at place 2",
        ),
    ],
)
def test_kernels_refuse(scheme, offsets, weights, out, message):
    arguments = (
        np.array(offsets, np.int64),
        np.arange(3, dtype=np.uint64),
        np.array(weights),
    )
    constant, slots = kernels.constants(1, 4)
    kernel, last = {"shells": (kernels.shells, 9.0), "icws": (kernels.icws, slots)}[
        scheme
    ]
    with pytest.raises(ValueError, match=message):
        kernel(*arguments, constant, last, np.zeros(out, np.uint64))


def test_kernels_refuse_other_numbers():
    row = np.array([0, 1], np.int64), np.zeros(1, np.uint64), np.ones(1)
    for points in (0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"points must be in 1\.\.1e9"):
            kernels.shells(*row, 0, points, np.zeros((1, 4), np.uint64))
    with pytest.raises(
        ValueError, match=r"slots must be those of constants\(seed, 4\)"
    ):
        kernels.icws(*row, 0, np.zeros(3, np.uint64), np.zeros((1, 4), np.uint64))
    for counts in ([-1], [2**48]):
        with pytest.raises(ValueError, match=r"counts must be in 0\.\.2\*\*48 - 1"):
            kernels.multisets(np.zeros(1, np.uint64), np.array(counts, np.int64))
    with pytest.raises(ValueError, match="as many counts as tokens"):
        kernels.multisets(np.zeros(1, np.uint64), np.zeros(2, np.int64))

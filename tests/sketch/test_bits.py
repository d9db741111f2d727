"""OnePermutation and BBits: their laws, their statistics against the formulas, and their errors."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import Bands, LSHEnsemble, LSHForest, LSHIndex, MinHasher, TokenSets
from lshfast.sketch import BBits, OnePermutation
from lshfast.sketch.compare import best_rows, equal_slots
from tests.conftest import csr
from tests.reference import bits as reference
from tests.reference import minhash
from tests.reference.hashing import EMPTY, MASK64

WIDTHS = [1, 2, 4, 8, 16]
WIDTH = pytest.mark.parametrize("width", WIDTHS)
SCHEMES = pytest.mark.parametrize("scheme", ["classic", "fast"])
REFERENCE = {"classic": minhash.classic, "fast": minhash.fast}
TOKENS = st.lists(st.integers(0, MASK64), max_size=20)
ROWS = [
    [3, 1, 2],
    [],
    [MASK64],
    list(range(300)),
    list(range(100, 400)),
    [],
    [1, 2, 3],
    list(range(5, 25)),
]


def pairs_of_sets(n, union, common):
    """Return n pairs of sets of random tokens, with so many in both and in one, as two TokenSets."""
    tokens = np.random.default_rng(union).integers(0, 2**64, (n, union), np.uint64)
    half = common + (union - common) // 2
    second = np.concatenate([tokens[:, :common], tokens[:, half:]], axis=1)
    return [
        TokenSets(np.arange(n + 1) * rows.shape[1], np.ascontiguousarray(rows).ravel())
        for rows in (tokens[:, :half], second)
    ]


def assert_statistics(estimates, mean, variance, least=None):
    """Hold the mean and the variance of estimates against what is expected, at four standard errors.

    With `least`, the variance is to be between the two.
    """
    n = len(estimates)
    assert abs(estimates.mean() - mean) < 4 * np.sqrt(variance / n)
    fourth = ((estimates - mean) ** 4).mean()
    found = ((estimates - mean) ** 2).mean()
    error = np.sqrt((fourth - found**2) / n)
    assert (
        (variance if least is None else least) - 4 * error
        < found
        < variance + 4 * error
    )


# One permutation


@pytest.mark.parametrize("k", [1, 20, 129])
def test_one_permutation(level, k):
    sketcher = OnePermutation(k, seed=9)
    signatures = sketcher.sketch(TokenSets(*csr(ROWS)))
    expected = [reference.one_permutation(row, k, 9) for row in ROWS]
    assert signatures.tolist() == expected
    table = [
        [float(reference.one_permutation_similarity(a, b)) for a in expected]
        for b in expected
    ]
    assert [
        sketcher.similarity(one, signatures).tolist() for one in signatures
    ] == table
    assert sketcher.similarity(signatures[:, None], signatures).tolist() == table
    assert sketcher.similarity(signatures, signatures).tolist() == [
        float(len(row) > 0) for row in ROWS
    ]
    assert sketcher.similarity(signatures[0], signatures[6]) == 1


def test_slots_without_a_value_are_not_alike():
    """Two sets that share nothing: most slots lack a value in both, and none is equal."""
    sketcher = OnePermutation(1024)
    one, other = sketcher.sketch(TokenSets(*csr([[1, 2, 3], [4, 5]])))
    assert (one == other).mean() > 0.99
    assert sketcher.similarity(one, other) == 0


def variance_of_one_permutation(union, common, k):
    """Return s (1 - s) (E[1/m] f / (f - 1) - 1 / (f - 1)), m of k groups being reached by f tokens."""
    reached = np.zeros(k + 1)
    reached[0] = 1
    places = np.arange(k + 1)
    for _ in range(union):
        reached = reached * places / k + np.concatenate(
            [[0], (reached * (1 - places / k))[:-1]]
        )
    s = common / union
    return s * (1 - s) * ((reached[1:] / places[1:]).sum() * union - 1) / (union - 1)


def test_one_permutation_is_at_least_as_good_as_independent_functions():
    shares = {
        (union, k): variance_of_one_permutation(union, 1, k)
        * k
        * union**2
        / (union - 1)
        for union in (2, 3, 8, 50, 400)
        for k in (1, 2, 16, 128)
    }
    for (union, k), share in shares.items():
        assert share == pytest.approx(1) if union == 2 or k == 1 else share < 1


@pytest.mark.parametrize(
    ("union", "common", "share"), [(12, 4, 0.56), (192, 64, 0.61), (1500, 500, 0.92)]
)
def test_the_estimate_of_one_permutation(union, common, share):
    """Sets of 8, 128 and 1,000 tokens; `share` is the variance beside s (1 - s) / k."""
    sketcher, s = OnePermutation(128, seed=11), common / union
    a, b = map(sketcher.sketch, pairs_of_sets(6_000, union, common))
    variance = variance_of_one_permutation(union, common, 128)
    assert variance * 128 / (s * (1 - s)) == pytest.approx(share, abs=0.06)
    assert_statistics(sketcher.similarity(a, b), s, variance)


@given(a=TOKENS, b=TOKENS, c=TOKENS, k=st.integers(1, 70), seed=st.integers(0, MASK64))
def test_merge_is_the_union(a, b, c, k, seed):
    sketcher = OnePermutation(k, seed)
    x, y, z, xy, all_three = sketcher.sketch(
        TokenSets(*csr([a, b, c, a + b, c + b + a]))
    )
    merge = sketcher.merge
    assert merge(x, y).tolist() == merge(y, x).tolist() == xy.tolist()
    assert (
        merge(merge(x, y), z).tolist()
        == merge(x, merge(y, z)).tolist()
        == all_three.tolist()
    )
    assert merge(x, x).tolist() == x.tolist()
    assert merge(x, y).hasher == sketcher


def test_threads_change_nothing():
    rng = np.random.default_rng(2)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9_000, 90))])
    sets = TokenSets(offsets, rng.integers(0, 2**64, offsets[-1], np.uint64))
    for made in (OnePermutation(16).sketch, BBits(4, MinHasher(16)).sketch):
        alone = made(sets, threads=1)
        for threads in (2, 5, None):
            assert (made(sets, threads=threads) == alone).all()


@pytest.mark.parametrize(
    "maker", [OnePermutation(32, 5), BBits(4, MinHasher(32, "classic", 5))]
)
def test_signatures_know_who_made_them(maker):
    signatures = maker.sketch(TokenSets(*csr(ROWS)))
    for same in (
        signatures[2:],
        signatures[0],
        pickle.loads(pickle.dumps(signatures)),
        copy.deepcopy(signatures),
    ):
        assert same.hasher == maker
    assert (pickle.loads(pickle.dumps(signatures)) == signatures).all()
    assert type(signatures == signatures) is np.ndarray
    assert pickle.loads(pickle.dumps(maker)) == maker


# What must not be banded


@pytest.mark.parametrize(
    "maker",
    [OnePermutation(128), BBits(16, MinHasher(512))],
    ids=["one permutation", "16 bits"],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda signatures: LSHIndex(0.8).insert(range(2), signatures),
        lambda signatures: LSHIndex(0.8).query(signatures),
        lambda signatures: LSHForest().insert(range(2), signatures),
        lambda signatures: LSHForest().query(signatures, 1),
        lambda signatures: LSHEnsemble(0.8).insert(range(2), signatures, [1, 2]),
        lambda signatures: LSHEnsemble(0.8).query(signatures, [1, 2]),
        lambda signatures: Bands(2, 3).keys(signatures),
    ],
    ids=[
        "index",
        "index query",
        "forest",
        "forest query",
        "ensemble",
        "ensemble query",
        "keys",
    ],
)
def test_banding_is_refused_and_says_why(maker, use):
    signatures = maker.sketch(TokenSets(*csr([[1], [2]])))
    assert signatures.shape == (2, 128)
    why = (
        "slots without a value would match"
        if isinstance(maker, OnePermutation)
        else "agree by chance"
    )
    with pytest.raises(
        ValueError, match=rf"signatures are of {type(maker).__name__}\(.*\): .*{why}"
    ):
        use(signatures)


# b bits


@WIDTH
@SCHEMES
def test_bbits(level, width, scheme):
    packer = BBits(width, MinHasher(20, scheme, seed=9))
    sets = TokenSets(*csr(ROWS))
    packed = packer.pack(packer.hasher.sketch(sets))
    expected = [reference.pack(REFERENCE[scheme](row, 20, 9), width) for row in ROWS]
    assert packed.tolist() == packer.sketch(sets).tolist() == expected
    assert packed.shape == (len(ROWS), packer.words)
    table = [
        [float(reference.packed_similarity(a, b, 20, width)) for a in expected]
        for b in expected
    ]
    close = pytest.approx(np.array(table), abs=1e-15)
    assert np.array([packer.similarity(one, packed) for one in packed]) == close
    assert packer.similarity(packed[:, None], packed) == close
    assert packer.similarity(packed, packed).tolist() == [
        float(len(row) > 0) for row in ROWS
    ]
    assert packer.similarity(packed[0], packed[6]) == 1
    assert packer.similarity(packed[1], packed).tolist() == [0] * len(ROWS)
    assert packer.pack(packer.hasher.sketch(sets)[3]).tolist() == expected[3]


@WIDTH
def test_any_signatures_are_packed_with_any_threads(width):
    signatures = np.random.default_rng(1).integers(0, 2**64, (9_000, 130), np.uint64)
    packer = BBits(width, MinHasher(130))
    alone = packer.pack(signatures, threads=1)
    assert (packer.pack(signatures, threads=3) == alone).all()
    assert (packer.pack(signatures[:, ::-1][:, ::-1]) == alone).all()
    assert alone[-1].tolist() == reference.pack(signatures[-1].tolist(), width)


@pytest.mark.one_case
@WIDTH
@SCHEMES
def test_the_estimate_of_few_bits(width, scheme):
    """At 200 elements in 3,000 pairs; fast signatures have less variance in slots than the formula allows for."""
    packer = BBits(width, MinHasher(64, scheme, seed=3))
    for common in (0, 100, 180, 200):
        s = common / 200
        a, b = map(packer.sketch, pairs_of_sets(3_000, 200, common))
        estimates = packer.similarity(a, b)
        if common == 200:
            assert (estimates == 1).all()
            assert packer.variance(1) == 0
        elif scheme == "classic":
            assert_statistics(estimates, s, packer.variance(s))
        else:
            by_chance = (
                packer.chance * (1 - s) / (64 * (1 - packer.chance))
            )  # slots that differ and agree
            assert_statistics(estimates, s, packer.variance(s), by_chance)


def test_variance():
    """Figures of the formula: 1 bit a slot at similarity 1/2 needs three times as many slots, 21.3 times fewer bits."""
    full = 0.5 * 0.5 / 64
    for width, times in ((1, 21.33), (2, 19.2), (4, 14.1)):
        assert full / BBits(width, MinHasher(64)).variance(
            0.5
        ) * 64 / width == pytest.approx(times, abs=0.05)
    packer = BBits(2, MinHasher(64))
    assert packer.standard_error([0.1, 0.5]) == pytest.approx(
        np.sqrt(packer.variance(np.array([0.1, 0.5])))
    )
    for wrong in (-0.1, 1.1, np.nan, [0.5, 2]):
        with pytest.raises(ValueError, match=r"similarity must be in 0\.\.1, not "):
            packer.variance(wrong)


@pytest.mark.one_case
@WIDTH
def test_top(level, width):
    rng = np.random.default_rng(5)
    signatures = rng.integers(0, 2, (200, 48), np.uint64) * np.uint64(2**40)
    signatures[::7] = EMPTY
    packer = BBits(width, MinHasher(48))
    packed = packer.pack(signatures)
    for most in (1, 10, 150, 171, 200, 1000):
        rows, similarity = packer.top(packed[:9], packed, most, threads=2)
        assert rows.shape == similarity.shape == (9, min(most, 200))
        for query in range(9):
            scores = [
                reference.equal_slots(packed[query].tolist(), row, 48, width)
                for row in packed.tolist()
            ]
            expected = sorted(
                (row for row in range(200) if scores[row] >= 0),
                key=lambda row: (-scores[row], row),
            )
            expected = (expected[:most] + [-1] * 200)[: min(most, 200)]
            assert rows[query].tolist() == expected
            own = packer.similarity(packed[query], packed)
            assert similarity[query].tolist() == [
                0 if row < 0 else own[row] for row in expected
            ]
        alone, scores = packer.top(packed[3], packed, most)
        assert (alone == rows[3]).all()
        assert (scores == similarity[3]).all()
    assert packer.top(packed[0], packed[:0], 5)[0].shape == (0,)
    assert packer.top(packed[:0], packed, 5)[0].shape == (0, 5)


@given(st.lists(st.integers(-1, 5), max_size=30), st.integers(1, 40))
def test_best_rows(counts, most):
    expected = sorted(
        (row for row in range(len(counts)) if counts[row] >= 0),
        key=lambda row: (-counts[row], row),
    )
    assert best_rows(np.array(counts, np.int32), most).tolist() == expected[:most]


# Comparison with broadcasting


SHAPES = [
    (),
    (1,),
    (3,),
    (0,),
    (4, 1),
    (1, 3),
    (4, 3),
    (2, 1, 3),
    (2, 4, 1),
    (1, 1, 1),
    (4, 0),
]


@pytest.mark.parametrize("left", SHAPES, ids=str)
def test_shapes_are_broadcast(left):
    for right in SHAPES:
        rng = np.random.default_rng(6)
        a, b = (rng.integers(0, 3, (*shape, 5), np.uint64) for shape in (left, right))
        try:
            expected = (a == b).sum(axis=-1)
        except ValueError:
            with pytest.raises(
                ValueError, match="cannot be compared with those of shape"
            ):
                equal_slots(a, b)
        else:
            assert equal_slots(a, b).shape == expected.shape
            assert equal_slots(a, b).tolist() == expected.tolist()
            assert equal_slots(a[..., ::-1], b[..., ::-1]).tolist() == expected.tolist()


def test_unaligned_arrays():
    packer, sketcher = BBits(4, MinHasher(30)), OnePermutation(30)
    signatures = packer.hasher.sketch(TokenSets(*csr(ROWS)))
    packed, groups = packer.pack(signatures), sketcher.sketch(TokenSets(*csr(ROWS)))

    def unaligned(array):
        raw = (
            np.zeros(array.nbytes + 1, np.uint8)[1:]
            .view(np.uint64)
            .reshape(array.shape)
        )
        raw[:] = array
        assert not raw.flags.aligned
        return raw

    assert packer.pack(unaligned(signatures)).tolist() == packed.tolist()
    expected = packer.similarity(packed[0], packed).tolist()
    assert packer.similarity(packed[0], unaligned(packed)).tolist() == expected
    assert packer.similarity(unaligned(packed[0]), packed).tolist() == expected
    assert (
        packer.top(unaligned(packed), unaligned(packed), 3)[0].tolist()
        == packer.top(packed, packed, 3)[0].tolist()
    )
    expected = sketcher.similarity(groups[0], groups).tolist()
    assert (
        sketcher.similarity(unaligned(groups[0]), unaligned(groups)).tolist()
        == expected
    )


# Errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_perm": 0}, ValueError, r"num_perm must be in 1\.\.65536, not 0"),
        ({"num_perm": -1}, ValueError, r"num_perm must be in 1\.\.65536, not -1"),
        ({"num_perm": 65537}, ValueError, r"num_perm must be in 1\.\.65536, not 65537"),
        ({"num_perm": 16.0}, TypeError, r"num_perm must be an int, not 16\.0"),
        ({"num_perm": True}, TypeError, "num_perm must be an int, not True"),
        ({"seed": -1}, ValueError, r"seed must be in 0\.\.2\*\*64 - 1, not -1"),
        ({"seed": 1.5}, TypeError, r"seed must be an int or 'random', not 1\.5"),
    ],
)
def test_bad_arguments_of_one_permutation(arguments, error, message):
    with pytest.raises(error, match=message):
        OnePermutation(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ValueError, "bits must be one of 1, 2, 4, 8, 16, not 0"),
        ((3,), ValueError, "bits must be one of 1, 2, 4, 8, 16, not 3"),
        ((64,), ValueError, "bits must be one of 1, 2, 4, 8, 16, not 64"),
        ((2.0,), TypeError, r"bits must be an int, not 2\.0"),
        ((True,), TypeError, "bits must be an int, not True"),
        ((1, 128), TypeError, "hasher must be a MinHasher, not 128"),
        (
            (1, OnePermutation()),
            TypeError,
            "hasher must be a MinHasher, not OnePermutation",
        ),
    ],
)
def test_bad_arguments_of_bbits(arguments, error, message):
    with pytest.raises(error, match=message):
        BBits(*arguments)


SETS = TokenSets(*csr([[1], [2]]))
GROUPS, PACKED = OnePermutation(8), BBits(16, MinHasher(32))


@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize(
    ("maker", "wrong", "error", "message"),
    [
        (GROUPS, np.zeros(8, np.int64), TypeError, "must be signatures of uint64, not int64"),
        (GROUPS, np.zeros(8), TypeError, "must be signatures of uint64, not float64"),
        (GROUPS, np.zeros(9, np.uint64), ValueError, r"must have 8 slots a signature, not shape \(9,\)"),
        (GROUPS, np.uint64(1), ValueError, r"must have 8 slots a signature, not shape \(\)"),
        (GROUPS, OnePermutation(8, 2).sketch(SETS), ValueError, r"are of OnePermutation\(num_perm=8, seed=2\), not of"),
        (GROUPS, MinHasher(8).sketch(SETS), ValueError, r"are of MinHasher\(.*\), not of OnePermutation"),
        (GROUPS, PACKED.sketch(SETS), ValueError, r"are of BBits\(.*\), not of OnePermutation"),
        (MinHasher(8), GROUPS.sketch(SETS), ValueError, r"are of OnePermutation\(.*\), not of MinHasher"),
        (PACKED, np.zeros(8), TypeError, "must be packed signatures of uint64, not float64"),
        (PACKED, np.zeros((2, 32), np.uint64), ValueError, r"must have 8 words a signature, not shape \(2, 32\)"),
        (PACKED, BBits(8, MinHasher(64)).sketch(SETS), ValueError, r"are of BBits\(bits=8.*, not of BBits\(bits=16"),
        (PACKED, BBits(16, MinHasher(32, seed=3)).sketch(SETS), ValueError, r"are of .*seed=3.*, not of .*seed=1"),
        (PACKED, GROUPS.sketch(SETS), ValueError, r"are of OnePermutation\(.*\), not of BBits"),
    ],
)  # fmt: skip
def test_wrong_signatures_are_named(side, maker, wrong, error, message):
    right = maker.sketch(SETS)[0]
    sides = (wrong, right) if side == "a" else (right, wrong)
    with pytest.raises(error, match=f"{side} {message}"):
        maker.similarity(*sides)
    if maker is GROUPS:
        with pytest.raises(error, match=f"{side} {message}"):
            maker.merge(*sides)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (np.zeros(32), TypeError, "signatures must be uint64, not float64"),
        (
            np.zeros(8, np.uint64),
            ValueError,
            r"signatures must have num_perm = 32 slots each, not shape \(8,\)",
        ),
        (
            MinHasher(32, seed=2).sketch(SETS),
            ValueError,
            "signatures are of seed 2; 1 is needed here",
        ),
        (
            MinHasher(32, "classic").sketch(SETS),
            ValueError,
            "signatures are of scheme 'classic'; 'fast' is needed",
        ),
        (
            OnePermutation(32).sketch(SETS),
            ValueError,
            r"signatures are of OnePermutation\(.*slots without a value",
        ),
        (
            BBits(16, MinHasher(128)).sketch(SETS),
            ValueError,
            r"signatures are of BBits\(.*agree by chance",
        ),
    ],
)
def test_only_signatures_of_the_hasher_are_packed(wrong, error, message):
    with pytest.raises(error, match=message):
        PACKED.pack(wrong)


def test_packed_signatures_do_not_merge():
    packed = PACKED.sketch(SETS)
    with pytest.raises(
        TypeError,
        match=r"with 16 bits per slot cannot be merged, .*merge the signatures that they",
    ):
        PACKED.merge(packed, packed)


@pytest.mark.parametrize("maker", [GROUPS, PACKED])
def test_sketch_wants_token_sets(maker):
    with pytest.raises(
        TypeError, match=r"TokenSets \(see TokenSets\.from_sets\), not list"
    ):
        maker.sketch([[1, 2]])
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        maker.sketch(SETS, threads=0)


def test_top_wants_counts_and_rows():
    packed = PACKED.sketch(SETS)
    for most, error in (
        (0, ValueError),
        (-1, ValueError),
        (1.0, TypeError),
        (True, TypeError),
        (None, TypeError),
    ):
        with pytest.raises(error, match=f"most must be .*not {most}"):
            PACKED.top(packed, packed, most)
    with pytest.raises(
        ValueError, match="one or two dimensions and packed two, not 2 and 1"
    ):
        PACKED.top(packed, packed[0], 1)
    with pytest.raises(ValueError, match="queries are of"):
        PACKED.top(MinHasher(8).sketch(SETS), packed, 1)

"""datasketch's weighted MinHash: the kernel against single precision written out, and against datasketch itself."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.datasketch.weighted_minhash import (
    WeightedMinHash,
    WeightedMinHashGenerator,
)
from lshfast.kernels import weighted as kernels
from tests.reference import weighted as reference

# Around the lanes of each level (8 and 16), and the elements of a step (32).
SAMPLES = [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 128]
DIMENSIONS = [1, 2, 31, 32, 33, 64, 65, 200]

FLOATS = st.one_of(
    st.just(0.0), st.floats(2.0**-149, 2.0**127, width=32), st.floats(0.5, 4, width=32)
)


def matrices(dim, n=6):
    """Return a matrix of weights over the range of a float, some of them 0, and its last row all of them."""
    generator = np.random.default_rng(dim)
    matrix = 10.0 ** generator.uniform(-44, 38, (n, dim)) * (
        generator.random((n, dim)) < 0.6
    )
    matrix[-1] = 0
    return matrix.astype(np.float32)


def expected(generator, row, shifted):
    """Return the reference's samples of a row."""
    logs = {column: np.log(weight) for column, weight in enumerate(row) if weight}
    return reference.float_samples(
        logs, generator.rs, generator.ln_cs, generator.betas, shifted
    )


@pytest.mark.parametrize(
    ("k", "dim"),
    [*zip(SAMPLES, np.resize(DIMENSIONS, len(SAMPLES)).tolist(), strict=True)],
)
def test_samples(level, k, dim):
    generator, matrix = WeightedMinHashGenerator(dim, k, seed=k), matrices(dim)
    made = generator.minhash_many(matrix)
    for row, one in zip(matrix, made, strict=True):
        if row.any():
            assert one.hashvalues.tolist() == expected(generator, row, True)
            assert generator.minhash(row).hashvalues.tolist() == expected(
                generator, row, False
            )
        else:
            assert one is None
    assert made[-1] is None


@settings(max_examples=40)
@given(data=st.data(), k=st.integers(1, 20), dim=st.integers(1, 40))
def test_any_weights(level, data, k, dim):
    row = np.array(data.draw(st.lists(FLOATS, min_size=dim, max_size=dim)), np.float32)
    generator = WeightedMinHashGenerator(dim, k)
    if row.any():
        assert generator.minhash(row).hashvalues.tolist() == expected(
            generator, row, False
        )
        assert generator.sketch(row[None])[0].tolist() == expected(generator, row, True)
    else:
        assert generator.sketch(row[None]).tolist() == [[[-1, 0]] * k]


def test_of_several_that_are_least_the_first_counts(level):
    generator = WeightedMinHashGenerator(70, 20)
    for table in (generator.rs, generator.ln_cs, generator.betas):
        table[:, 5:] = table[:, 4:5]
    assert set(generator.minhash(np.ones(70)).hashvalues[:, 0].tolist()) <= {
        0,
        1,
        2,
        3,
        4,
    }


def test_ways_of_giving_weights():
    generator = WeightedMinHashGenerator(5, 32)
    weights = [1, 0, 2.5, 0, 3]
    one = generator.minhash(weights)
    for same in (
        tuple(weights),
        np.array(weights),
        np.array(weights, np.float32),
        np.array([1, 0, 2.5, 0, 3], object),
    ):
        assert generator.minhash(same) == one
    before = np.array(weights, np.float32)
    generator.minhash(before)
    assert before.tolist() == weights
    many = generator.minhash_many(np.array([weights, weights]))
    assert many[0] == many[1]


def test_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    generator = WeightedMinHashGenerator(40, 24)
    dense = np.random.default_rng(3).poisson(0.5, (30, 40)).astype(float)
    dense[4] = 0
    wanted = generator.sketch(dense)
    for kind in (
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_matrix,
        sparse.csr_array,
    ):
        assert (generator.sketch(kind(dense)) == wanted).all()
    # Out of order, a repeat and a zero that is kept: datasketch loses count of rows with such a
    # zero.
    odd = sparse.csr_matrix(
        (np.array([1.0, 2, 0, 3]), np.array([7, 3, 5, 7]), np.array([0, 4])),
        shape=(1, 40),
    )
    plain = np.zeros((1, 40))
    plain[0, [3, 7]] = [2, 4]
    assert (generator.sketch(odd) == generator.sketch(plain)).all()
    assert odd.nnz == 4


def test_threads_change_nothing():
    generator = WeightedMinHashGenerator(300, 20)
    matrix = np.random.default_rng(4).exponential(size=(500, 300))
    alone = generator.sketch(matrix, threads=1)
    for threads in (2, None):
        assert (generator.sketch(matrix, threads=threads) == alone).all()


def test_estimate():
    """Unbiased, with the variance of independent samples: fixed seed, four standard errors."""
    weights = np.random.default_rng(5).uniform(0.5, 2, (2, 50))
    exact = reference.similarity(*(dict(enumerate(row.tolist())) for row in weights))
    generator = WeightedMinHashGenerator(50, 4096)
    error = 4 * np.sqrt(exact * (1 - exact) / 4096)
    assert (
        abs(
            generator.minhash(weights[0]).jaccard(generator.minhash(weights[1])) - exact
        )
        <= error
    )
    assert (
        abs(
            WeightedMinHashGenerator.similarity(*generator.sketch(weights)[:, None])[
                0, 0
            ]
            - exact
        )
        <= error
    )


def test_similarity():
    generator = WeightedMinHashGenerator(30, 50)
    matrix = np.random.default_rng(6).poisson(1, (7, 30)).astype(float)
    matrix[2] = 0
    samples, made = generator.sketch(matrix), generator.minhash_many(matrix)
    table = WeightedMinHashGenerator.similarity(samples, samples[:4])
    for i, a in enumerate(made):
        for j, b in enumerate(made[:4]):
            assert table[i, j] == (0 if a is None or b is None else a.jaccard(b))
    with pytest.raises(
        ValueError, match=r"shapes \(n, k, 2\) and \(m, k, 2\), not \(50, 2\)"
    ):
        WeightedMinHashGenerator.similarity(samples[0], samples)


# The sketch itself


def test_sketches():
    a = WeightedMinHash(3, np.array([[1, 2], [3, 4], [5, 6]]))
    b = WeightedMinHash(3, np.array([[1, 2], [3, 5], [6, 6]]))
    assert (len(a), a.seed, a.jaccard(b), a.jaccard(a)) == (3, 3, 1 / 3, 1.0)
    assert isinstance(a.jaccard(b), float)
    assert (a == b, a == a.copy(), a == 3, a == WeightedMinHash(4, a.hashvalues)) == (
        False,
        True,
        False,
        False,
    )
    digest, other = a.digest(), copy.deepcopy(a)
    digest[0], other.hashvalues[1] = 9, 9
    assert a.hashvalues.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert pickle.loads(pickle.dumps(a)) == a
    assert (
        a.jaccard(WeightedMinHash(3, np.array([[1, 2], [0, 0], [5, 6]], np.int32)))
        == 2 / 3
    )
    assert a.jaccard(WeightedMinHash(3, [[1, 2], [0, 0], [5, 6]])) == 2 / 3
    assert a.jaccard(WeightedMinHash(3, np.asfortranarray(b.hashvalues))) == 1 / 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_what_cannot_be_compared():
    a = WeightedMinHash(3, np.zeros((4, 2), np.int64))
    with pytest.raises(ValueError, match="seeds 3 and 4"):
        a.jaccard(WeightedMinHash(4, a.hashvalues))
    with pytest.raises(ValueError, match="4 and 3 hash values"):
        a.jaccard(WeightedMinHash(3, a.hashvalues[1:]))
    with pytest.raises(ValueError, match=r"shapes \(4, 2\) and \(4,\)"):
        a.jaccard(WeightedMinHash(3, np.zeros(4, np.uint64)))
    with pytest.raises(ValueError, match="without hash values"):
        WeightedMinHash(3, a.hashvalues[:0]).jaccard(
            WeightedMinHash(3, a.hashvalues[:0])
        )


def test_generators_pickle_with_their_tables():
    generator = WeightedMinHashGenerator(9, 17, 5)
    again = pickle.loads(pickle.dumps(generator))
    assert (again.dim, again.sample_size, again.seed) == (9, 17, 5)
    assert again.minhash(range(9)) == generator.minhash(range(9))
    assert (again.rs == generator.rs).all()


@pytest.mark.parametrize(
    "names",
    [("dim", "sample_size", "seed", "rs", "ln_cs", "betas"), ("betas", "ln_cs", "rs")],
)
def test_a_generator_of_saved_arrays(names):
    """Made without its constructor, from attributes that were saved, in any order."""
    generator = WeightedMinHashGenerator(9, 17, 5)
    saved = {
        name: np.copy(getattr(generator, name)) for name in ("rs", "ln_cs", "betas")
    }
    saved |= {"dim": 9, "sample_size": 17, "seed": 5}
    again = WeightedMinHashGenerator.__new__(WeightedMinHashGenerator)
    for name in dict.fromkeys([*names, *saved]):
        setattr(again, name, saved[name])
    assert again.minhash(range(9)) == generator.minhash(range(9))
    assert again.minhash_many(np.eye(9)) == generator.minhash_many(np.eye(9))
    saved["rs"][:] = 1  # it was copied
    assert pickle.loads(pickle.dumps(again)).minhash(range(9)) == generator.minhash(
        range(9)
    )


def test_numbers_put_in_the_place_of_others():
    generator = WeightedMinHashGenerator(9, 17, 5)
    other = WeightedMinHashGenerator(9, 17, 6)
    generator.rs[:], generator.ln_cs[:], generator.betas[:] = (
        other.rs,
        other.ln_cs,
        other.betas,
    )
    generator.seed = 6
    assert generator.minhash(range(9)) == other.minhash(range(9))
    for table in (generator.rs, generator.ln_cs, generator.betas):  # used now
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1
    third = WeightedMinHashGenerator(9, 17, 7)
    generator.rs, generator.ln_cs, generator.betas, generator.seed = (
        third.rs,
        third.ln_cs,
        third.betas,
        7,
    )
    assert generator.minhash(range(9)) == third.minhash(range(9))
    generator.betas = third.betas[:3]
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"betas must have shape \(17, 9\), not \(3, 9\)"
        ):
            generator.minhash(range(9))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ValueError, r"dim must be in 1\.\.2147483647, not 0"),
        ((3, 0), ValueError, r"sample_size must be in 1\.\.65536, not 0"),
        ((3, 8, -1), ValueError, r"seed must be in 0\.\.4294967295, not -1"),
        ((2.0,), TypeError, r"dim must be an int, not 2\.0"),
        ((3, True), TypeError, "sample_size must be an int, not True"),
        ((3, 8, None), TypeError, "seed must be an int, not None"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        WeightedMinHashGenerator(*arguments)


@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (3, TypeError, "must be a sequence or an array, not int"),
        (
            iter([1, 2, 3]),
            TypeError,
            "must be a sequence or an array, not list_iterator",
        ),
        ([1, 2], ValueError, "must have dimension 3, not 2"),
        (np.ones((3, 3)), ValueError, r"must have one dimension, not shape \(3, 3\)"),
        ([0, 0.0, -0.0], ValueError, "the vector is all zeros"),
        ([0, 1e-60, 0], ValueError, "the vector is all zeros"),
        (
            [1, np.nan, 2],
            ValueError,
            "finite and at least 0 as float32, not nan in row 0, column 1",
        ),
        ([0, 1, -2], ValueError, r"not -2\.0 in row 0, column 2"),
        ([np.inf, 1, 2], ValueError, "not inf in row 0, column 0"),
        ([1, 1e39, 2], ValueError, "not inf in row 0, column 1"),
    ],
)
def test_bad_vectors_are_named(vector, error, message):
    with pytest.raises(error, match=message):
        WeightedMinHashGenerator(3, 4).minhash(vector)


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        ([[1, 2, 3]], TypeError, "X must be a sparse matrix or an ndarray, not list"),
        (np.ones(3), ValueError, "X must have two dimensions, not 1"),
        (np.ones((2, 4)), ValueError, "X must have 3 columns, not 4"),
        (
            np.array([[1, 0, 2], [0, 0, 0], [1, 0, np.nan]]),
            ValueError,
            "not nan in row 2, column 2",
        ),
        (
            np.array([[1, 0, 2], [0, -1, 0]]),
            ValueError,
            r"not -1\.0 in row 1, column 1",
        ),
    ],
)
def test_bad_matrices_are_named(matrix, error, message):
    with pytest.raises(error, match=message):
        WeightedMinHashGenerator(3, 4).minhash_many(matrix)


def test_no_rows():
    generator = WeightedMinHashGenerator(3, 4)
    assert generator.minhash_many(np.zeros((0, 3))) == []
    assert generator.minhash_many(np.zeros((2, 3))) == [None, None]


# The kernels: what they refuse


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [0, 3]}, "offsets must rise"),
        ({"offsets": [2, 0]}, "offsets must rise"),
        ({"columns": [0, 4]}, r"columns must be in 0\.\.3, not 4 at place 1"),
        ({"columns": [-1, 2]}, r"columns must be in 0\.\.3, not -1 at place 0"),
        ({"logs": [0.0]}, "as many logs as columns"),
        ({"out": (2, 20, 2)}, "out must be of shape"),
        ({"out": (1, 20, 3)}, "out must be of shape"),
        ({"out": (1, 0, 2)}, "out must be of shape"),
        ({"out": (1, 33, 2)}, "tables must be of shape"),
        ({"tables": (3, 2, 4, 16)}, "tables must be of shape"),
        ({"tables": (4, 2, 4, 8)}, "tables must be of shape"),
    ],
)
def test_kernels_refuse(change, message):
    given = {
        "offsets": [0, 2],
        "columns": [0, 3],
        "logs": [0.0, 1.0],
        "tables": (4, 2, 4, 16),
        "out": (1, 20, 2),
    }
    given |= change
    with pytest.raises(ValueError, match=message):
        kernels.samples_of(
            np.array(given["offsets"]),
            np.array(given["columns"], np.int32),
            np.array(given["logs"], np.float32),
            np.ones(given["tables"], np.float32),
            0.0,
            True,
            np.zeros(given["out"], np.int64),
        )


def test_agreement_refuses():
    with pytest.raises(ValueError, match=r"one shape \(k, 2\)"):
        kernels.agreement(np.zeros((3, 2), np.int64), np.zeros((4, 2), np.int64))
    with pytest.raises(ValueError, match=r"shapes \(n, k, 2\) and \(m, k, 2\)"):
        kernels.agreements(np.zeros((1, 3, 2), np.int64), np.zeros((1, 4, 2), np.int64))


def test_a_dimension_out_of_range_is_named():
    with pytest.raises(ValueError, match=r"dim must be in 1\.\.2147483647, not 0"):
        WeightedMinHashGenerator(0)


# datasketch itself


@pytest.mark.parametrize("spread", [0.3, 3, 30])
@pytest.mark.parametrize(
    ("dim", "k", "seed"), [(1, 16, 1), (37, 5, 7), (300, 100, 2**32 - 1)]
)
def test_datasketch_has_the_same_values(level, dim, k, seed, spread):
    theirs = pytest.importorskip("datasketch").WeightedMinHashGenerator(dim, k, seed)
    generator = np.random.default_rng(dim)
    matrix = 10.0 ** generator.uniform(-spread, spread, (40, dim)) * (
        generator.random((40, dim)) < 0.7
    )
    matrix[:, 0] += 1
    matrix[3] = 0
    ours = WeightedMinHashGenerator(dim, k, seed)
    for name in ("rs", "ln_cs", "betas"):
        assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
    for mine, other in zip(
        ours.minhash_many(matrix), theirs.minhash_many(matrix), strict=True
    ):
        assert (mine is None) == (other is None)
        if mine is not None:
            assert mine.hashvalues.tobytes() == other.hashvalues.tobytes()
            assert mine.hashvalues.dtype == other.hashvalues.dtype
    for row in matrix[[0, 1, 2, 4]]:
        mine, other = ours.minhash(row), theirs.minhash(row)
        assert mine.hashvalues.tobytes() == other.hashvalues.tobytes()
        assert mine.jaccard(ours.minhash(matrix[0])) == other.jaccard(
            theirs.minhash(matrix[0])
        )
        # One may be compared with what was stored of the other.
        assert mine.jaccard(other) == other.jaccard(mine) == 1

"""Rotations and probes: the kernels against the reference on every CPU level, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.kernels import probes, rotations
from tests.reference import families_vectors as reference


def rotated(vectors, count, seed=1):
    vectors = np.ascontiguousarray(vectors)
    dim, out = vectors.shape[1], np.full((len(vectors), count), np.nan, np.float32)
    size = np.prod(rotations.shape(dim))
    factors = rotations.factors(seed, -(-count // size), dim)
    assert rotations.rotate(vectors.reshape(-1), None, None, dim, factors, out) == -1
    return out


def test_padded_sizes():
    sizes = {
        1: (1, 256),
        256: (1, 256),
        257: (3, 128),
        384: (3, 128),
        385: (1, 512),
        600: (5, 128),
        768: (3, 256),
    }
    sizes |= {769: (7, 128), 1000: (1, 1024), 1536: (3, 512), 1 << 20: (1, 1 << 20)}
    assert {dim: rotations.shape(dim) for dim in sizes} == sizes
    assert {dim: reference.shape(dim) for dim in sizes} == sizes
    for dim in (0, (1 << 20) + 1):
        with pytest.raises(
            ValueError, match=rf"dim must be in 1\.\.1048576, not {dim}"
        ):
            rotations.shape(dim)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 255, 256, 300, 512, 640, 700, 896, 1000])
def test_rotations_are_the_reference(level, dim, dtype):
    vectors = np.random.default_rng(dim).standard_normal((2, dim)).astype(dtype)
    vectors[1] *= np.exp2(np.random.default_rng(1).integers(-30, 30, dim))
    count = np.prod(rotations.shape(dim)) + 70
    expected = [reference.coordinates(row, 5, count) for row in vectors.tolist()]
    assert rotated(vectors, count, 5).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "scale", [1, 2.0**40, 2.0**41, 2.0**-41, 2.0**127, 2.0**-126, 2.0**-149]
)
def test_great_and_small_numbers(level, scale, dtype):
    vectors = (np.random.default_rng(1).uniform(0.5, 1, (1, 20)) * scale).astype(dtype)
    assert rotated(vectors, 256)[0].tolist() == reference.coordinates(
        vectors[0].tolist(), 1, 256
    )
    vectors = np.array([[1, 2.0**-100, 2.0**-149, -(2.0**-140), 0.75]]).astype(
        dtype
    ) * dtype(min(scale, 2.0**100))
    if vectors[0, 0]:
        assert rotated(vectors, 256)[0].tolist() == reference.coordinates(
            vectors[0].tolist(), 1, 256
        )


@pytest.mark.parametrize(
    "scale", [2.0**1023, 2.0**200, 2.0**-200, 2.0**-1022, 2.0**-1074]
)
def test_doubles_beyond_floats(level, scale):
    vectors = np.random.default_rng(1).uniform(0.5, 1, (1, 20)) * scale
    vectors[vectors == 0] = scale
    found = rotated(vectors, 256)[0]
    assert found.tolist() == reference.coordinates(vectors[0].tolist(), 1, 256)
    assert np.isfinite(found).all()
    assert found.any()


def test_the_first_coordinates_do_not_depend_on_how_many_are_asked_for(level):
    for dim in (100, 384, 768, 1024, 1792):
        vectors = np.random.default_rng(1).standard_normal((9, dim)).astype(np.float32)
        every = rotated(vectors, 3 * int(np.prod(rotations.shape(dim))))
        for count in (
            1,
            63,
            64,
            65,
            128,
            200,
            256,
            257,
            300,
            513,
            700,
            every.shape[1] - 1,
        ):
            assert (rotated(vectors, count) == every[:, :count]).all()


def test_all_levels_rotate_alike(level):
    from lshfast import kernels

    for dim in (4096, 5000, 12345):
        vectors = np.random.default_rng(1).standard_normal((3, dim))
        found = rotated(vectors, 2 * dim)
        with kernels.use("scalar"):
            assert (rotated(vectors, 2 * dim) == found).all()


@given(
    st.integers(1, 40),
    st.integers(1, 300),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32),
)
@settings(max_examples=30)
def test_sparse_rows_are_rotated_as_dense_ones(level, n, dim, dtype, seed):
    rng = np.random.default_rng(seed)
    dense = (rng.standard_normal((n, dim)) * (rng.random((n, dim)) < 0.1)).astype(dtype)
    rows, columns = map(np.ascontiguousarray, np.nonzero(dense))
    offsets = np.searchsorted(rows, np.arange(n + 1))
    out, factors = np.empty((n, 100), np.float32), rotations.factors(1, 1, dim)
    assert (
        rotations.rotate(dense[rows, columns], offsets, columns, dim, factors, out)
        == -1
    )
    assert (out == rotated(dense, 100)).all()


@pytest.mark.parametrize("outputs", [2, 4, 8, 32, 256])
def test_signs_and_farthest_coordinates(level, outputs):
    vectors = np.random.default_rng(1).standard_normal((5, 60)).astype(np.float32)
    vectors[3] = 0
    count = 300 if outputs < 256 else 3
    factors = rotations.factors(1, -(-count * outputs // 256), 60)
    y = rotated(vectors, count * outputs)
    found = np.zeros((5, count), np.uint64)
    assert (
        rotations.farthest(vectors.reshape(-1), None, None, 60, factors, outputs, found)
        == -1
    )
    groups = y.reshape(5, count, outputs)
    places = np.abs(groups).argmax(axis=2)
    below = np.take_along_axis(groups, places[..., None], 2)[..., 0] < 0
    places = (places + outputs * below).astype(np.uint64)
    places[3] = 2**64 - 1
    assert (found == places).all()
    assert not y[3].any()
    bits = count * outputs - 5
    words, zero = np.full((5, -(-bits // 64)), 7, np.uint64), np.empty(5, np.uint8)
    assert (
        rotations.codes(vectors.reshape(-1), None, None, 60, factors, bits, words, zero)
        == -1
    )
    assert zero.tolist() == [0, 0, 0, 1, 0]
    unpacked = np.unpackbits(
        words.astype("<u8").view(np.uint8), axis=1, bitorder="little"
    )
    assert (unpacked[:, :bits] == (y[:, :bits] > 0)).all()
    assert not unpacked[:, bits:].any()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("column", [0, 15, 31, 38, 39])
def test_the_first_row_that_is_not_finite_is_named(level, wrong, dtype, column):
    vectors = np.ones((30, 40), dtype)
    vectors[[21, 25], column] = wrong
    out, factors = np.zeros((30, 8), np.float32), rotations.factors(1, 1, 40)
    assert rotations.rotate(vectors.reshape(-1), None, None, 40, factors, out) == 21


def test_other_inputs_are_refused():
    vectors = np.ones((2, 40))
    factors = rotations.factors(1, 1, 40)
    out = np.zeros((2, 8), np.float32)
    flat = vectors.reshape(-1)
    offsets = np.array([0, 40, 80])
    columns = np.tile(np.arange(40), 2)
    with pytest.raises(ValueError, match="factors must have 768 columns, not 767"):
        rotations.rotate(flat, None, None, 40, factors[:, 1:].copy(), out)
    with pytest.raises(ValueError, match="1 rotations have 256 coordinates, not 257"):
        rotations.rotate(flat, None, None, 40, factors, np.zeros((2, 257), np.float32))
    with pytest.raises(ValueError, match="values must be 2 rows of 40, not 79"):
        rotations.rotate(flat[1:], None, None, 40, factors, out)
    for wrong in ([0, 40], [0, 41, 40], [-1, 0, 80], [0, 40, 81]):
        with pytest.raises(
            ValueError, match="offsets must be 3 numbers that rise from 0 to at most 80"
        ):
            rotations.rotate(flat, np.array(wrong), columns, 40, factors, out)
    for wrong in (-1, 40, 2**62):
        columns[50] = wrong
        with pytest.raises(ValueError, match=r"columns must be in 0\.\.39"):
            rotations.rotate(flat, offsets, columns, 40, factors, out)
    with pytest.raises(
        ValueError, match="outputs must be a power of two that divides 256, not 3"
    ):
        rotations.farthest(
            flat, None, None, 40, factors, 3, np.zeros((2, 1), np.uint64)
        )
    with pytest.raises(ValueError, match=r"out must have shape \(2, 2\), not \(2, 1\)"):
        rotations.codes(
            flat,
            None,
            None,
            40,
            factors,
            65,
            np.zeros((2, 1), np.uint64),
            np.zeros(2, np.uint8),
        )


# Probes


def alternatives(draw_of, rows, ranks):
    steps = draw_of.random((rows, ranks)).cumsum(axis=1)
    return steps - steps[:, :1]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 90), st.integers(0, 2**32))
@settings(max_examples=40)
def test_the_cheapest_choices_come_first(rows, ranks, count, seed):
    costs = alternatives(np.random.default_rng(seed), rows, ranks)
    chosen = np.full((1, count, rows), 99, np.uint32)
    found = probes.cheapest(costs[None], count, chosen)[0]
    grid = np.stack(
        np.meshgrid(*[np.arange(ranks)] * rows, indexing="ij"), axis=-1
    ).reshape(-1, rows)
    sums = np.sort(costs[np.arange(rows), grid].sum(axis=1))[:count]
    assert found[: len(sums)] == pytest.approx(sums, rel=1e-12)
    assert (found[len(sums) :] == np.inf).all()
    choices = chosen[0, : len(sums)]
    assert costs[np.arange(rows), choices].sum(axis=1) == pytest.approx(sums, rel=1e-12)
    assert len({*map(tuple, choices.tolist())}) == len(sums)
    assert (chosen[0, len(sums) :] == 99).all()


def test_equal_costs_and_missing_alternatives():
    assert (
        probes.cheapest(np.zeros((1, 3, 2)), 20)[0].tolist() == [0] * 8 + [np.inf] * 12
    )
    costs = np.array([[[0, 1, np.inf], [0, np.inf, np.inf], [0, 5, 6]]])
    assert probes.cheapest(costs, 8)[0].tolist() == [0, 1, 5, 6, 6, 7, np.inf, np.inf]


def test_probes_that_are_refused():
    y, out = np.ones((2, 12), np.float32), np.zeros((2, 3, 5), np.uint64)
    with pytest.raises(
        ValueError, match=r"coordinates must have shape \(2, 15\), not \(2, 12\)"
    ):
        probes.signs(y, 5, out)
    with pytest.raises(
        ValueError, match=r"outputs must be a power of two in 2\.\.1048576, not 3"
    ):
        probes.polytopes(y, 3, 4, out)
    with pytest.raises(ValueError, match=r"rows must be in 1\.\.4096, not 0"):
        probes.signs(np.ones((2, 0), np.float32), 0, out)
    with pytest.raises(ValueError, match=r"probes must be in 1\.\.1048576, not 0"):
        probes.signs(y, 4, out[:, :, :0].copy())
    for wrong in ([[[1.0, 2.0]]], [[[0.0, -1.0]]], [[[0.0, np.nan]]]):
        with pytest.raises(
            ValueError, match="costs must ascend in each row, from 0 on"
        ):
            probes.cheapest(np.array(wrong), 3)

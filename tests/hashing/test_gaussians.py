"""Gaussian numbers, Gaussian vectors and points of spheres."""

from math import exp, log, pi, sqrt

import numpy as np
import pytest

from lshfast.hashing import box_muller, gaussian_vectors, sphere_points

COUNT = 100_000


def test_a15_the_transform():
    x, y = box_muller([0.5, 0.5, 0.5, 0.0], [0, 0.25, 0.5, 0.3])
    assert x == pytest.approx([1.17741, 0, -1.17741, 0], abs=1e-5)
    assert y == pytest.approx([0, 1.17741, 0, 0], abs=1e-5)
    assert sqrt(-2 * log(1 - 0.5)) == pytest.approx(1.17741, abs=1e-5)
    x, y = box_muller(np.linspace(0, 0.9, 4)[:, None], np.linspace(0, 0.9, 5))
    assert x.shape == y.shape == (4, 5)


def test_a15_lengths_and_angles():
    """The distribution function of the length is 1 - exp(-r**2 / 2); angles are uniform; the integral is sqrt(pi)."""
    x, y = gaussian_vectors(COUNT, [0, 0], seed=5).T
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    for r in (0.2, 0.5, 1, 1.17741, 2, 3):
        p = 1 - exp(-r * r / 2)
        assert abs((radius <= r).mean() - p) < 4 * sqrt(p * (1 - p) / COUNT)
    counts = np.histogram(angle, 16, (-pi, pi))[0]
    assert ((counts - COUNT / 16) ** 2 / (COUNT / 16)).sum() < 15 + 5 * sqrt(30)
    steps = np.linspace(-8, 8, 100_001)
    assert np.exp(-(steps**2)).sum() * (steps[1] - steps[0]) == pytest.approx(
        sqrt(pi), abs=1e-9
    )


def test_a15_moments_and_independence():
    numbers = gaussian_vectors(COUNT, np.zeros(3), seed=6)
    for moment, expected in ((1, 0), (2, 1), (3, 0), (4, 3)):
        spread = np.std(numbers**moment, axis=0)
        assert (
            abs((numbers**moment).mean(axis=0) - expected) < 4 * spread / sqrt(COUNT)
        ).all()
    covariance = np.cov((numbers**2).T) / 2
    assert np.allclose(covariance, np.eye(3), atol=4 * 4 / sqrt(COUNT))
    assert np.allclose(np.cov(numbers.T), np.eye(3), atol=4 * sqrt(2) / sqrt(COUNT))
    for other in (
        x * y
        for x, y in (
            (numbers[:-1, 0], numbers[1:, 0]),
            (numbers[:-1, 2], numbers[1:, 0]),
        )
    ):
        assert abs(other.mean()) < 4 / sqrt(COUNT)


def test_a15_mean_and_covariance():
    mean = np.array([1.0, -2.0, 0.5])
    covariance = np.array([[4, 1, 0], [1, 2, -1], [0, -1, 1.5]])
    drawn = gaussian_vectors(COUNT, mean, covariance, seed=7)
    assert (
        abs(drawn.mean(axis=0) - mean) < 4 * np.sqrt(np.diag(covariance) / COUNT)
    ).all()
    variances = np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2
    assert (abs(np.cov(drawn.T) - covariance) < 4 * np.sqrt(variances / COUNT)).all()


def test_a14_latitudes():
    """Beyond 60 degrees lie 1 - sin 60 = .1340 of the sphere, and a third of uniform latitudes."""
    latitude = np.degrees(np.arcsin(sphere_points(COUNT, 3, seed=8)[:, 2]))
    p = 1 - sin60()
    assert p == pytest.approx(0.1340, abs=5e-5)
    assert abs((abs(latitude) > 60).mean() - p) < 4 * sqrt(p * (1 - p) / COUNT)
    naive = np.random.default_rng(8).uniform(-90, 90, COUNT)
    assert abs((abs(naive) > 60).mean() - 1 / 3) < 4 * sqrt(2 / 9 / COUNT)
    assert abs((abs(naive) > 60).mean() - p) > 0.1


def sin60():
    return sqrt(3) / 2


@pytest.mark.one_case
@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_a14_points_are_isotropic(dim):
    points = sphere_points(20_000, dim, seed=9)
    assert np.linalg.norm(points, axis=1) == pytest.approx(1)
    turned = points @ np.linalg.qr(gaussian_vectors(dim, np.zeros(dim), seed=1))[0]
    # Each coordinate has the mean 0 and the variance 1 / dim.
    for each in (points, turned):
        assert (abs(each.mean(axis=0)) < 4 / sqrt(dim * 20_000)).all()
        assert np.allclose(
            each.T @ each / 20_000, np.eye(dim) / dim, atol=4 / sqrt(20_000) / dim
        )


def test_draws_follow_the_seed():
    assert (sphere_points(5, 3, seed=4) == sphere_points(5, 3, seed=4)).all()
    assert (sphere_points(5, 3, seed=4) != sphere_points(5, 3, seed=5)).any()
    assert (
        sphere_points(5, 3, seed="random") != sphere_points(5, 3, seed="random")
    ).any()
    assert sphere_points(0, 3).shape == (0, 3)
    assert gaussian_vectors(0, [1, 2]).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: box_muller(1, 0),
            ValueError,
            "u must be at least 0 and below 1, not 1.0",
        ),
        (
            lambda: box_muller(0, float("nan")),
            ValueError,
            "v must be at least 0 and below 1, not nan",
        ),
        (lambda: box_muller(-0.1, 0), ValueError, "u must be at least 0"),
        (lambda: box_muller("0", 0), TypeError, "u must be numbers"),
        (
            lambda: box_muller([0, 0], [0, 0, 0]),
            ValueError,
            "shapes that can be broadcast",
        ),
        (lambda: gaussian_vectors(-1, [0]), ValueError, "count must be at least 0"),
        (
            lambda: gaussian_vectors(1, []),
            ValueError,
            "mean must be|mean must have shape",
        ),
        (
            lambda: gaussian_vectors(1, [float("inf")]),
            ValueError,
            "mean must be finite, not inf",
        ),
        (
            lambda: gaussian_vectors(1, [0, 0], [[1, 0]]),
            ValueError,
            r"covariance must have shape \(2, 2\)",
        ),
        (
            lambda: gaussian_vectors(1, [0, 0], [[1, 0], [1, 1]]),
            ValueError,
            "covariance must be symmetric",
        ),
        (
            lambda: gaussian_vectors(1, [0, 0], [[1, 2], [2, 1]]),
            ValueError,
            "covariance must be positive definite",
        ),
        (
            lambda: gaussian_vectors(2**62, [0, 0]),
            MemoryError,
            f"{2**62} vectors of 2 numbers do not fit into memory",
        ),
        (lambda: sphere_points(1, 0), ValueError, "dim must be at least 1"),
        (lambda: sphere_points(1.0, 2), TypeError, "count must be an int"),
        (
            lambda: sphere_points(1, 2, seed="s"),
            TypeError,
            "seed must be an int or 'random'",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()

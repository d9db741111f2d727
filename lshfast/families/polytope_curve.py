"""The probability of one farthest coordinate of two vectors after a Gaussian projection."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import Float64Array

# Gauss-Legendre nodes of the three integrals, and Chebyshev nodes of the angle: doubling any of
# them changes no result by more than 2e-6.
FIRST_NODES = 48
SECOND_NODES = 40
CORRELATION_NODES = 24
ANGLE_NODES = 56
REACH = 7.5  # normal variates beyond it have a probability of 6e-14


def collision_curve(outputs: int, angles: Float64Array) -> Float64Array:
    """Return the probability that `outputs` Gaussian coordinates have equal farthest ones.

    The farthest coordinates must have the same sign, too.

    Parameters
    ----------
    outputs : int
        Coordinates of the projection, at least 2.
    angles : ndarray of float64
        Angles between the two vectors in radians, in 0..pi.

    Returns
    -------
    ndarray of float64, with the shape of `angles`
        In [0, 1]; accurate to 3e-6.
    """
    probabilities = np.polynomial.chebyshev.chebval(
        2 * angles / np.pi - 1, _coefficients(outputs)
    )
    return np.asarray(np.where(angles == 0, 1.0, np.clip(probabilities, 0, 1)))


@lru_cache(maxsize=64)
def _coefficients(outputs: int) -> Float64Array:
    """Return the Chebyshev series of the probability over the angle, scaled from 0..pi to -1..1."""
    nodes = np.pi * (int64_range(ANGLE_NODES) + 0.5) / ANGLE_NODES
    angles = (np.cos(nodes) + 1) * np.pi / 2
    curve = [collision_integral(outputs, angle) for angle in angles.tolist()]
    cosines = np.cos(int64_range(ANGLE_NODES)[:, None] * nodes)
    coefficients = 2 / ANGLE_NODES * cosines @ np.array(curve, np.float64)
    coefficients[0] /= 2
    return np.asarray(coefficients)


def collision_integral(outputs: int, angle: float) -> float:
    """Return the probability at one angle, in (0, pi), of at least 2 outputs.

    The coordinates of the two projections are independent pairs (x, y) of normal variates with
    correlation cos(angle). By symmetry, the probability is 2 * outputs times the probability that
    the first pair is above 0 and farther than the others. This is the integral of the density of
    (x, y) times P(|x'| < x, |y'| < y) ** (outputs - 1).
    """
    cosine = math.cos(angle)
    sine = math.sin(angle)
    nodes, weights = _legendre(FIRST_NODES)
    # Outside of least..most, the integrand is nearly 0.
    least = _beyond(min(1.0, 32 / (outputs - 1)))
    most = _beyond(1e-14 / outputs)
    x = least + (nodes + 1) * (most - least) / 2
    wx = weights * (most - least) / 2
    nodes, weights = _legendre(SECOND_NODES)
    # Y = cosine * x + sine * u is above `least` from there on.
    start = np.clip((least - cosine * x) / sine, -REACH, REACH)
    half = (REACH - start) / 2
    u = start[:, None] + (nodes + 1) * half[:, None]
    wu = weights * half[:, None]
    density = np.exp(-(u**2 + x[:, None] ** 2) / 2) / (2 * np.pi)
    y = cosine * x[:, None] + sine * u
    inside = _rectangles(x[:, None], y, math.atanh(cosine))
    return float(
        2 * outputs * (wx[:, None] * wu * density * inside ** (outputs - 1)).sum()
    )


@lru_cache(maxsize=4)
def _legendre(count: int) -> tuple[Float64Array, Float64Array]:
    """Return `count` Gauss-Legendre nodes in -1..1, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def _rectangles(x: Float64Array, y: Float64Array, end: float) -> Float64Array:
    """Return P(|a| < x, |b| < y) of normal variates with correlation tanh(end), for x (m, 1).

    The derivative of the probability by the correlation is the sum of the densities in the corners,
    with signs (R. L. Plackett, "A reduction formula for normal multivariate integrals", Biometrika
    41, 1954). In terms of t = atanh(correlation), it is smooth over a length of about 1 also where
    the correlation is near 1.
    """
    nodes, weights = _legendre(CORRELATION_NODES)
    total = _within(x) * _within(y)
    ts = (nodes + 1) * end / 2
    step_weights = weights * end / 2
    for t, weight in zip(ts.tolist(), step_weights.tolist(), strict=True):
        squares = (x**2 + y**2) / 2 * math.cosh(t) ** 2
        product = x * y * math.sinh(t) * math.cosh(t)
        densities = np.exp(product - squares) - np.exp(-product - squares)
        total += weight / math.cosh(t) / np.pi * densities
    return np.clip(total, 0, 1)


def _beyond(probability: float) -> float:
    """Return the x with P(|a| > x) = probability of a normal variate, by bisection."""
    low = 0.0
    high = 40.0
    for _ in range(60):
        middle = (low + high) / 2
        if math.erfc(middle * math.sqrt(0.5)) > probability:
            low = middle
        else:
            high = middle
    return low


def _within(x: Float64Array) -> Float64Array:
    """Return P(|a| < x) of a normal variate."""
    scaled = x * math.sqrt(0.5)
    values = [math.erf(number) for number in scaled.ravel().tolist()]
    return np.array(values, np.float64).reshape(x.shape)

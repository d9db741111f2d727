"""The probability that two vectors have the same farthest coordinate after a Gaussian projection,
by integration.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from lshfast._common.types import Float64Array

# Gauss-Legendre nodes of the three integrals, and Chebyshev nodes of the angle: doubling any of
# them changes no result by more than 2e-6.
FIRST_NODES = 48
SECOND_NODES = 40
CORRELATION_NODES = 24
ANGLE_NODES = 56
REACH = 7.5  # normal variates beyond it have a probability of 6e-14


def collision_curve(outputs: int, angles: Float64Array) -> Float64Array:
    """Return the probability of equal farthest coordinates, signs included, of `outputs` Gaussian
    coordinates.

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
    found = np.polynomial.chebyshev.chebval(2 * angles / np.pi - 1, _coefficients(outputs))
    return np.asarray(np.where(angles == 0, 1.0, np.clip(found, 0, 1)))


@lru_cache(maxsize=64)
def _coefficients(outputs: int) -> Float64Array:
    """Return the Chebyshev series of the probability over the angle, scaled from 0..pi to -1..1."""
    nodes = np.pi * (np.arange(ANGLE_NODES, dtype=np.int64) + 0.5) / ANGLE_NODES
    curve = np.array(
        [
            collision_integral(outputs, angle)
            for angle in ((np.cos(nodes) + 1) * np.pi / 2).tolist()
        ],
        np.float64,
    )
    coefficients = (
        2 / ANGLE_NODES * np.cos(np.arange(ANGLE_NODES, dtype=np.int64)[:, None] * nodes) @ curve
    )
    coefficients[0] /= 2
    return np.asarray(coefficients)


def collision_integral(outputs: int, angle: float) -> float:
    """Return the probability at one angle, in (0, pi), of at least 2 outputs.

    The coordinates of the two projections are independent pairs (x, y) of normal variates with
    correlation cos(angle). By symmetry, the probability is 2 * outputs times that of the first pair
    being above 0 and farther than the others: the integral of the density of (x, y) times P(|x'| <
    x, |y'| < y) ** (outputs - 1).
    """
    cosine = math.cos(angle)
    sine = math.sin(angle)
    nodes, weights = np.polynomial.legendre.leggauss(FIRST_NODES)
    # elsewhere, the integrand is nearly 0
    least = _beyond(min(1.0, 32 / (outputs - 1)))
    most = _beyond(1e-14 / outputs)
    x = least + (nodes + 1) * (most - least) / 2
    wx = weights * (most - least) / 2
    nodes, weights = np.polynomial.legendre.leggauss(SECOND_NODES)
    # Y = cosine * x + sine * u is above `least` from there on.
    start = np.clip((least - cosine * x) / sine, -REACH, REACH)
    half = (REACH - start) / 2
    u = start[:, None] + (nodes + 1) * half[:, None]
    wu = weights * half[:, None]
    density = np.exp(-(u**2 + x[:, None] ** 2) / 2) / (2 * np.pi)
    inside = _rectangles(
        np.broadcast_to(x[:, None], u.shape), cosine * x[:, None] + sine * u, math.atanh(cosine)
    )
    return float(2 * outputs * (wx[:, None] * wu * density * inside ** (outputs - 1)).sum())


def _rectangles(x: Float64Array, y: Float64Array, end: float) -> Float64Array:
    """Return P(|a| < x, |b| < y) of normal variates with correlation tanh(end).

    The derivative of the probability by the correlation is the sum of the densities in the corners,
    with signs (R. L. Plackett, "A reduction formula for normal multivariate integrals", Biometrika
    41, 1954). In terms of t = atanh(correlation), it is smooth over a length of about 1 also where
    the correlation is near 1.
    """
    nodes, weights = np.polynomial.legendre.leggauss(CORRELATION_NODES)
    total = _within(x) * _within(y)
    for t, weight in zip(
        ((nodes + 1) * end / 2).tolist(), (weights * end / 2).tolist(), strict=True
    ):
        squares = (x**2 + y**2) / 2 * math.cosh(t) ** 2
        product = x * y * math.sinh(t) * math.cosh(t)
        total += (
            weight / math.cosh(t) / np.pi * (np.exp(product - squares) - np.exp(-product - squares))
        )
    return np.clip(total, 0, 1)


def _beyond(probability: float) -> float:
    """Return the x with P(|a| > x) = probability of a normal variate, by bisection."""
    low = 0.0
    high = 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if math.erfc(middle * math.sqrt(0.5)) > probability else (low, middle)
        )
    return low


def _within(x: Float64Array) -> Float64Array:
    """Return P(|a| < x) of a normal variate."""
    return np.array(
        [math.erf(value) for value in (x * math.sqrt(0.5)).ravel().tolist()], np.float64
    ).reshape(x.shape)

"""What the tests of near-neighbour search share: exact distances, random points, and points planted at a distance."""

import math

import numpy as np
import scipy.sparse

# For each metric, the options of a small index, which need no simulation, and its points.
SMALL = {
    "angle": {"radius": 0.5, "dim": 5, "bands": 4, "rows_per_band": 3, "probes": 2},
    "euclidean": {"radius": 1.0, "dim": 3, "bands": 3, "rows_per_band": 2, "probes": 3},
    "manhattan": {"radius": 1.0, "dim": 4, "bands": 3, "rows_per_band": 2, "probes": 1},
    "hamming": {"radius": 10, "dim": 70, "bands": 5, "rows_per_band": 2, "probes": 1},
}


def exact(metric, a, b):
    """Return the distance of two points, from its definition."""
    if metric == "hamming":
        return float(
            sum((int(x) ^ int(y)).bit_count() for x, y in zip(a, b, strict=True))
        )
    a, b = [float(x) for x in a], [float(x) for x in b]
    if metric == "euclidean":
        return math.dist(a, b)
    if metric == "manhattan":
        return math.fsum(abs(x - y) for x, y in zip(a, b, strict=True))
    # The angle between the unit vectors u and v is 2 atan2(|u - v|, |u + v|), also near 0 (W.
    # Kahan).
    u, v = ([x / math.hypot(*p) for x in p] for p in (a, b))
    differences, sums = (
        [f(x, y) for x, y in zip(u, v, strict=True)]
        for f in (float.__sub__, float.__add__)
    )
    return 2 * math.atan2(math.hypot(*differences), math.hypot(*sums))


def assert_distance(metric, found, right):
    """The angle of nearly parallel vectors is accurate to 3e-8, everything else to the rounding of doubles."""
    assert abs(found - right) <= (3e-8 if metric == "angle" else 1e-12 * right), (
        found,
        right,
    )


def random_points(metric, n, dim, seed=0):
    """Return n points that are far from each other."""
    rng = np.random.default_rng(seed)
    if metric == "hamming":
        return packed(rng.integers(0, 2, (n, dim)))
    return rng.standard_normal((n, dim)).astype(np.float32)


def packed(bits):
    """Return codes of bits, (n, dim)."""
    n, dim = bits.shape
    whole = np.zeros((n, -(-dim // 64) * 64), np.uint8)
    whole[:, :dim] = bits
    return np.packbits(whole, axis=1, bitorder="little").view(np.uint64)


def planted(metric, points, distances, dim, seed=1):
    """Return for each point another one at a distance, in a random direction."""
    rng = np.random.default_rng(seed)
    if metric == "hamming":
        order = rng.permuted(np.tile(np.arange(dim), (len(points), 1)), axis=1)
        return points ^ packed((order < distances[:, np.newaxis]).astype(np.uint8))
    step = rng.standard_normal(points.shape)
    if metric == "angle":
        unit = points / np.linalg.norm(points, axis=1, keepdims=True)
        step -= unit * (unit * step).sum(axis=1, keepdims=True)
        step /= np.linalg.norm(step, axis=1, keepdims=True)
        return (
            unit * np.cos(distances)[:, np.newaxis]
            + step * np.sin(distances)[:, np.newaxis]
        )
    norms = np.linalg.norm(step, ord=1 if metric == "manhattan" else 2, axis=1)
    return points + step * (distances / norms)[:, np.newaxis]


def sparse_points(n, dim, nonzeros, seed=0):
    """Return n sparse vectors, none of them zero, as a CSR matrix."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), nonzeros)
    columns = np.concatenate(
        [rng.choice(dim, nonzeros, replace=False) for _ in range(n)]
    )
    values = rng.standard_normal(len(rows)).astype(np.float32)
    return scipy.sparse.csr_matrix((values, (rows, columns)), (n, dim))

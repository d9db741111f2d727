"""The recall of single NearNeighbors indexes: least, mean and greatest of many seeds, by kind of data.

    python benchmarks/recall_spread.py [--n 8000] [--seeds 20] [--recall 0.95] [--data patches clusters ...]

Each index is planned for one radius: the median distance of the tenth nearest entry of 200 queries, or the 20 %
quantile for patches. The recall is the share of the entries at .9 to 1 times the radius that `within` finds: it is
lowest there.
"sample" is a sample of 4,000 further points, with which an index checks its own functions. The data, of 64 coordinates:

    patches    8 x 8 pixels of the two photos of scikit-learn: the mean brightness is most of a patch
    clusters   64 normal clusters, whose deviation is a tenth of that of their centers
    low rank   three normal coordinates, multiplied by a random matrix
    heavy      independent coordinates, t-distributed with 1.5 degrees of freedom
    normal     independent normal coordinates
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lshfast.index.neighbors.near_neighbors import NearNeighbors

DIM, QUERIES, SAMPLE, NEIGHBORS = 64, 200, 4000, 10
METHODS: dict[str, dict[str, Any]] = {
    "angle, codes": {"metric": "angle", "method": "codes"},
    "angle, tables": {"metric": "angle", "method": "tables"},
    "euclidean": {"metric": "euclidean"},
    "manhattan": {"metric": "manhattan"},
}


def patches(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n patches of photos."""
    from sklearn.datasets import load_sample_images

    photos = [
        image.astype(np.float32).mean(axis=2) for image in load_sample_images().images
    ]
    windows = [
        np.lib.stride_tricks.sliding_window_view(photo, (8, 8)).reshape(-1, DIM)
        for photo in photos
    ]
    chosen = [
        each[rng.choice(len(each), -(-n // 2), replace=False)] for each in windows
    ]
    return rng.permutation(np.concatenate(chosen))[:n] + 1e-3


def clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n points of normal clusters."""
    centers = rng.standard_normal((64, DIM))
    return centers[rng.integers(64, size=n)] + 0.1 * rng.standard_normal((n, DIM))


def low_rank(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n points in three dimensions."""
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, DIM))


def heavy(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n points whose coordinates have heavy tails."""
    return rng.standard_t(1.5, (n, DIM))


def normal(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n normal points."""
    return rng.standard_normal((n, DIM))


DATA: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "patches": patches,
    "clusters": clusters,
    "low rank": low_rank,
    "heavy": heavy,
    "normal": normal,
}


def distances(metric: str, queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return all distances, (queries, points)."""
    a, b = queries.astype(np.float64), points.astype(np.float64)
    if metric == "manhattan":
        return np.stack([np.abs(b - query).sum(axis=1) for query in a])
    if metric == "angle":
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        b /= np.linalg.norm(b, axis=1, keepdims=True)
    lengths = np.stack([np.linalg.norm(b - query, axis=1) for query in a])
    return 2 * np.arcsin(np.minimum(lengths / 2, 1)) if metric == "angle" else lengths


def spread(data: str, name: str, options: argparse.Namespace, sampled: bool) -> str:
    """Return a row of the table."""
    rng = np.random.default_rng(1)
    points = DATA[data](QUERIES + options.n + SAMPLE, rng).astype(np.float32)
    queries, entries, sample = np.split(points, [QUERIES, QUERIES + options.n])
    method = METHODS[name]
    exact = distances(method["metric"], queries, entries)
    kth = np.partition(exact, NEIGHBORS - 1, axis=1)[:, NEIGHBORS - 1]
    radius = float(np.quantile(kth, 0.2 if data == "patches" else 0.5))
    near = (exact <= radius) & (exact > 0.9 * radius)
    recalls, making, querying = [], 0.0, 0.0
    for seed in range(options.seeds):
        start = time.process_time()
        index = NearNeighbors(
            radius=radius, dim=DIM, n=options.n, recall=options.recall, seed=seed, sample=sample if sampled else None,
            **method,
        )  # fmt: skip
        made = time.process_time()
        index.insert(range(options.n), entries)
        searched = time.process_time()
        answers = index.within(queries)
        querying += time.process_time() - searched
        making += made - start
        rows = np.repeat(np.arange(QUERIES), np.diff(answers.offsets))
        recalls.append(near[rows, np.asarray(answers.keys)].sum() / near.sum())
    figures = " | ".join(
        f"{value:.3f}" for value in (min(recalls), np.mean(recalls), max(recalls))
    )
    costs = f"{1e3 * making / options.seeds:.0f} | {1e6 * querying / options.seeds / QUERIES:.0f}"
    return f"| {data} | {name} | {'yes' if sampled else 'no'} | {radius:.4g} | {figures} | {costs} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="recall_spread.py", description="The recall of single indexes."
    )
    parser.add_argument("--n", type=int, default=8000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--data", nargs="+", choices=[*DATA], default=[*DATA])
    options = parser.parse_args(arguments)
    print(
        "| data | method | sample | radius | least | mean | greatest | planned in ms | query in us |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for data in options.data:
        for name in METHODS:
            for sampled in (False, True):
                print(spread(data, name, options, sampled), flush=True)


if __name__ == "__main__":
    main()

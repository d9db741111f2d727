"""Hyperplanes and minhash on the same pages, as in M. Henzinger, "Finding near-duplicate web pages", SIGIR 2006."""

import numpy as np
import pytest

from lshfast import Bands, MinHasher, SimHasher, candidates, hamming_pairs, shingle

WORDS = np.array([f"w{number}" for number in range(5000)])
BITS, LEAST_EQUAL = 384, 372
SUPER_SHINGLES, LEAST_SUPER = Bands(6, 14), 2


def pages_of(rng, sites=90, pages=20):
    """Return texts, sites and articles: articles in the frame of their site; each third site mirrors the one before."""
    frame, own, texts, numbers = [], [], [], []
    for site in range(sites):
        if site % 3 < 2:
            frame = words_of(rng, int(rng.integers(50, 601)))
            own = [
                (site * pages + page, words_of(rng, int(10 * 50 ** rng.random())))
                for page in range(pages)
            ]
            own = [
                own[int(rng.integers(page))] if page % 5 == 4 else each
                for page, each in enumerate(own)
            ]
        for article, body in own:
            marks = [f"n{number}" for number in rng.integers(10**6, size=3)]
            texts.append(" ".join([*frame, *body, *marks]))
            numbers.append((site, article))
    return texts, *np.array(numbers).T


def words_of(rng, n):
    return WORDS[(rng.random(n) ** 3 * len(WORDS)).astype(int)].tolist()


def precision(pairs, sites, articles):
    """Return the share of pairs with one article, on one site and on different sites."""
    i, j = map(np.asarray, pairs)
    right, same = articles[i] == articles[j], sites[i] == sites[j]
    return right[same].mean(), right[~same].mean()


@pytest.mark.slow
def test_g12_precision_on_one_site_and_on_different_sites():
    """Both methods are more precise on different sites, and on one site hyperplanes are more precise than minhash."""
    found = []
    for seed in range(4):
        texts, sites, articles = pages_of(np.random.default_rng(seed))
        keys = SUPER_SHINGLES.keys(
            MinHasher(84, "classic", seed).sketch(shingle(texts, size=8))
        )
        i, j = candidates(keys)
        enough = (keys[i] == keys[j]).sum(axis=1) >= LEAST_SUPER
        near = hamming_pairs(
            SimHasher(BITS, seed).sketch(shingle(texts, size=1)), BITS - LEAST_EQUAL
        )
        found.append(
            [
                precision(pairs, sites, articles)
                for pairs in ((i[enough], j[enough]), (near.left, near.right))
            ]
        )
    minhash, hyperplanes = np.mean(found, axis=0)
    assert minhash[0] + 0.2 < minhash[1]
    assert hyperplanes[0] + 0.2 < hyperplanes[1]
    assert minhash[0] + 0.1 < hyperplanes[0]

"""Codes by Tanimoto similarity: beside the sets of their ones."""

import numpy as np
import pytest

import lshfast

RNG = np.random.default_rng(1)
BITS = 256


def fingerprints(n=300):
    """Return codes of which some share most of their ones, some are equal, and two have none."""
    ones = [set(RNG.integers(0, BITS, 40).tolist()) for _ in range(n)]
    for row in range(n // 2, n // 2 + 60):
        ones[row] = ones[row - n // 2] ^ set(
            RNG.integers(0, BITS, RNG.integers(0, 9)).tolist()
        )
    ones[7], ones[8] = set(), set()
    codes = np.zeros((n, BITS // 64), np.uint64)
    for row, own in enumerate(ones):
        for bit in own:
            codes[row, bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    return codes, ones


@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_codes_are_sets_of_ones(groups, keep):
    codes, ones = fingerprints()
    options = {"threshold": 0.75, "groups": groups, "keep": keep}
    found = lshfast.dedup(codes, kind="code", measure="tanimoto", **options)
    wanted = lshfast.dedup(ones, exact=True, **options)
    assert found.removed == wanted.removed
    assert 40 < len(found.removed) < 70
    assert found.summary.empty == wanted.summary.empty == 2
    assert found.labels.tolist() == wanted.labels.tolist()
    assert found.summary.measure == "tanimoto"


@pytest.mark.parametrize("options", [{}, {"top": 1}, {"most": 0.9}])
def test_pairs(options):
    codes, ones = fingerprints()
    found = lshfast.pairs(
        codes, kind="code", measure="tanimoto", threshold=0.6, **options
    )
    assert (
        found.tolist()
        == lshfast.pairs(ones, threshold=0.6, exact=True, **options).tolist()
    )


def test_what_tanimoto_refuses():
    codes, _ = fingerprints()
    for options, said in (
        ({"radius": 3}, "radius is for distances"),
        ({"recall": 0.9}, "recall and exact=False are not for the measure tanimoto"),
        ({"exact": False}, "recall and exact=False are not for the measure tanimoto"),
        ({"threshold": 0}, "threshold must be in"),
    ):
        with pytest.raises(ValueError, match=said):
            lshfast.dedup(codes, kind="code", measure="tanimoto", **options)

"""Quantiles beside scipy, and intervals of weighted sums at their edges."""

import numpy as np
import pytest

from lshfast.quality.intervals import (
    NORMAL,
    TAIL,
    beta_quantile,
    gamma_quantile,
    share_of,
    total_of,
)


@pytest.mark.parametrize(
    ("a", "b"), [(1, 300), (0.5, 20), (300, 5), (1e4, 1e3), (1e6, 3e6)]
)
@pytest.mark.parametrize("q", [TAIL, 1 - TAIL])
def test_beta_quantile(a, b, q):
    stats = pytest.importorskip("scipy.stats")
    assert beta_quantile(q, a, b) == pytest.approx(stats.beta.ppf(q, a, b), rel=1e-5)


@pytest.mark.parametrize("shape", [1, 2.5, 100, 499, 501, 1e5])
@pytest.mark.parametrize("q", [TAIL, 1 - TAIL])
def test_gamma_quantile(shape, q):
    stats = pytest.importorskip("scipy.stats")
    assert gamma_quantile(q, shape) == pytest.approx(
        stats.gamma.ppf(q, shape), rel=1e-4
    )


def test_rows_of_equal_weight_give_the_interval_of_clopper_and_pearson():
    stats = pytest.importorskip("scipy.stats")
    assert stats.norm.ppf(1 - TAIL) == pytest.approx(NORMAL, rel=1e-6)
    whole, rates = np.ones(1000), np.full(1000, 1e-9)
    part = (np.arange(1000) < 30).astype(float)
    found = share_of(part, whole, rates, 1000, False)
    exact = stats.binomtest(30, 1000).proportion_ci(method="exact")
    assert found.low == pytest.approx(exact.low, rel=0.02)
    assert found.high == pytest.approx(exact.high, rel=0.02)


@pytest.mark.parametrize("part", [0.0, 1.0])
def test_an_interval_is_never_a_point_unless_all_rows_were_drawn(part):
    whole = np.full(50, 3.0)
    for rate in (0.01, 0.99, 1.0):
        some = share_of(part * whole, whole, np.full(50, rate), 150, False)
        assert some.low < some.high
        assert some.low <= part <= some.high
    every = share_of(part * whole, whole, np.ones(50), 150, True)
    assert every.low == every.value == every.high == part


def test_nothing_seen_leaves_a_total_open():
    assert total_of(0.0, 0.0, 10.0, False).high == pytest.approx(36.9, abs=0.1)
    assert total_of(0.0, 0.0, 10.0, True).high == 0
    assert total_of(5.0, 0.0, 10.0, False).high == 6

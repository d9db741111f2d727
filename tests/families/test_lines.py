"""Gaussian and Cauchy lines: their probabilities, values, probes, and what they refuse."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.families import NO_VALUE, CauchyLines, GaussianLines, family_of, stable
from lshfast.kernels import probes as searches
from lshfast.kernels import projections
from tests.reference import families_lines as reference

FAMILIES = [GaussianLines, CauchyLines]
DOMAINS = {GaussianLines: reference.GAUSSIAN, CauchyLines: reference.CAUCHY}


def density(family, x):
    """Return the density of the family's variates."""
    return (
        np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        if family is GaussianLines
        else 1 / (math.pi * (1 + x * x))
    )


def below(family, x):
    return (
        NormalDist().cdf(x) if family is GaussianLines else 0.5 + math.atan(x) / math.pi
    )


def spread_points(family, dim, distances, seed=1):
    """Return pairs of points at these distances, in directions that share the distance among the coordinates."""
    generator = np.random.default_rng(seed)
    a, step = generator.standard_normal((2, len(distances), dim))
    size = (
        np.abs(step).sum(axis=1)
        if family is CauchyLines
        else np.sqrt((step * step).sum(axis=1))
    )
    return a, a + step * (distances / size)[:, None]


@pytest.fixture
def small_pieces(monkeypatch):
    """Let threads work on 96 rows at a time."""
    monkeypatch.setattr(stable, "PIECE_PRODUCTS", 1)


@pytest.fixture
def sparse():
    return pytest.importorskip("scipy.sparse")


@pytest.fixture(params=["dense", "sparse"])
def form(request):
    """Return what makes dense or sparse points of an array."""
    return (
        np.asarray
        if request.param == "dense"
        else pytest.importorskip("scipy.sparse").csr_matrix
    )


# Probabilities


@pytest.mark.parametrize(
    ("family", "right"),
    [
        (GaussianLines, [0.60955, 0.36875, 0.19542]),
        (CauchyLines, [0.44868, 0.27936, 0.15311]),
    ],
)
@pytest.mark.parametrize("dim", [1, 2, 5, 100])
def test_the_probabilities_of_the_definition(family, right, dim):
    assert family(dim, 4).collision_probability([2, 4, 8]) == pytest.approx(
        right, abs=5e-6
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ratio", [0.05, 0.3, 1, 3, 20])
def test_probabilities_are_the_integral(family, ratio):
    """At distance 1, the points are in one cell with probability 1 - |z| / width, for a variate z below the width."""
    z = (np.arange(200_000) + 0.5) / 200_000 * ratio
    integral = (2 * density(family, z) * (1 - z / ratio)).mean() * ratio
    assert float(family(3, ratio).collision_probability(1)) == pytest.approx(
        integral, rel=1e-8
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_decrease_from_one_to_zero(family):
    distances = np.concatenate(
        [[0, 5e-324], np.logspace(-300, 300, 4001), [1.7e308, np.inf]]
    )
    p = family(2, 1.5).collision_probability(distances)
    assert p.shape == distances.shape
    assert p[0] == 1
    assert p[-1] == pytest.approx(0, abs=1e-290)
    assert (np.diff(p) <= 1e-15).all()
    assert (p >= 0).all()
    tail = {GaussianLines: math.sqrt(2 * math.pi), CauchyLines: math.pi}[family]
    assert p[(distances > 1e6) & (distances < 1e250)] == pytest.approx(
        1.5 / distances[(distances > 1e6) & (distances < 1e250)] / tail, rel=1e-5
    )
    assert family(2, 1.5).collision_probability([[1, 2], [3, 4]]).shape == (2, 2)
    assert family(2, 1.5).collision_probability(1).shape == ()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dim", [1, 2, 40])
def test_pairs_collide_as_often_as_the_formula_says(family, dim, level):
    count, distances = 4000, np.array([0.1, 0.5, 1, 2, 4, 8, 20])
    lines = family(dim, 2.0, seed=dim)
    a, b = spread_points(family, dim, distances)
    assert lines.distance(a, b) == pytest.approx(distances)
    found = lines.collide(a, b, count).mean(axis=1)
    p = lines.collision_probability(distances)
    assert (np.abs(found - p) <= 4 * np.sqrt(p * (1 - p) / count)).all()


def test_e3_f27_any_dimension_keeps_the_promise_that_unit_directions_break():
    """(a/2, 2a, 1/2, 1/3) holds in 100 dimensions; with directions of length 1, far points would collide with .84."""
    lines = GaussianLines(100, 1.0)
    d1, d2, p1, p2 = lines.sensitivity(0.5, 2)
    assert (d1, d2) == (0.5, 2)
    assert p1 >= 1 / 2
    assert p2 <= 1 / 3
    count = 5000
    near = lines.collide(
        *spread_points(GaussianLines, 100, np.array([0.5])), count
    ).mean()
    far = lines.collide(
        *spread_points(GaussianLines, 100, np.array([2.0])), count
    ).mean()
    assert abs(near - p1) <= 4 * math.sqrt(p1 * (1 - p1) / count)
    assert abs(far - p2) <= 4 * math.sqrt(p2 * (1 - p2) / count)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("d1", "d2"), [(1, 4), (1, 4.5), (1, 1.001), (0, 1)])
def test_sensitivity(family, d1, d2):
    """Any two distances will do; if 4 d1 <= d2, a width of d2/2 gives Gaussian lines 1/2 and 1/3."""
    found = family(2, d2 / 2).sensitivity(d1, d2)
    assert found[:2] == (d1, d2)
    assert found.p1 > found.p2
    if family is GaussianLines and 4 * d1 <= d2:
        assert found.p1 >= 1 / 2
        assert found.p2 <= 1 / 3


# Variates


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_variates_have_their_distribution(family):
    n = 250_000
    lines = np.empty((500, 500), np.float32)
    projections.draw_lines(7, family is CauchyLines, lines)
    drawn = np.sort(lines.ravel().astype(np.float64))
    expected = np.array([below(family, x) for x in drawn.tolist()])
    ranks = np.arange(n + 1) / n
    kolmogorov = max(
        (ranks[1:] - expected).max(), (expected - ranks[:-1]).max()
    ) * math.sqrt(n)
    assert kolmogorov < 1.95  # exceeded with probability .001
    for x in (2, 3, 4, 30, 300, 3000):  # both tails
        p = 2 * (1 - below(family, x))
        assert (
            abs((np.abs(drawn) > x).mean() - p)
            <= 4 * math.sqrt(p * (1 - p) / n) + 1 / n
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_variates_of_coordinates_and_functions_are_independent(family):
    """Signs, and which half of its distribution a variate is in, of neighbours in both directions."""
    lines = np.empty((300, 300), np.float32)
    projections.draw_lines(1, family is CauchyLines, lines)
    middle = 0.6744897501960817 if family is GaussianLines else 1.0
    for bits in (
        np.sign(lines),
        np.sign(np.abs(lines) - middle),
        np.sign(lines) * np.sign(np.abs(lines) - middle),
    ):
        assert abs(bits.mean()) <= 4 / 300
        for a, b in (
            (bits[1:], bits[:-1]),
            (bits[:, 1:], bits[:, :-1]),
            (bits[1:, 1:], bits[:-1, :-1]),
        ):
            assert abs((a * b).mean()) <= 4 / math.sqrt(a.size)


def test_offsets_are_uniform():
    u = np.sort(projections.offsets(3, 100_000))
    assert 0 <= u[0] <= u[-1] < 1
    ranks = np.arange(100_001) / 100_000
    assert (
        max((ranks[1:] - u).max(), (u - ranks[:-1]).max()) * math.sqrt(100_000) < 1.95
    )


# Values


@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_the_definition(family, level):
    points = np.random.default_rng(2).standard_normal((5, 7)) * [
        [1],
        [1e-3],
        [1e3],
        [0],
        [-1],
    ]
    for kind in (np.float32, np.float64):
        given = points.astype(kind)
        right = [
            reference.values(x, 11, DOMAINS[family], 6, 0.7) for x in given.tolist()
        ]
        assert family(7, 0.7, 11).hash(given, 6).tolist() == right


@pytest.mark.parametrize("family", FAMILIES)
def test_form_and_threads_do_not_matter(family, level, sparse, monkeypatch):
    generator = np.random.default_rng(4)
    points = generator.integers(-50, 50, (1200, 30)) * (
        generator.random((1200, 30)) < 0.3
    )
    lines = family(30, 3.0)
    values = lines.hash(points.astype(np.float32), 20, threads=1)
    matrix = sparse.csr_matrix(points.astype(np.float64))
    monkeypatch.setattr(
        stable, "PIECE_PRODUCTS", 1
    )  # from here on, threads work on 96 rows at a time
    assert values.shape == (1200, 20)
    assert len(np.unique(values)) > 50
    for same in (
        points,
        points.astype(np.int8),
        points.astype(np.float64),
        np.asfortranarray(points),
        points.tolist(),
    ):
        assert (lines.hash(same, 20, threads=3) == values).all()
    for same in (matrix, matrix.astype(np.float32), matrix.tocoo(), matrix.tocsc()):
        assert (lines.hash(same, 20, threads=2) == values).all()
    assert (lines.hash(points[7], 20) == values[7:8]).all()
    assert (lines.hash(matrix[600:], 20) == values[600:]).all()
    assert (lines.hash(points, 25)[:, :20] == values).all()
    assert (family(30, 3.0).hash(points, 5) == values[:, :5]).all()
    assert (
        lines.hash(points[:0], 20).shape == lines.hash(matrix[:0], 20).shape == (0, 20)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_sparse_rows_in_any_order(family, sparse):
    """Values of equal columns are added, and zeros that are stored change nothing."""
    lines = family(6, 1.0)
    shuffled = sparse.csr_matrix(
        (
            np.array([3.0, 1.0, 2.0, 0.5, 0.0, 7.0]),
            np.array([4, 1, 4, 0, 3, 5]),
            np.array([0, 3, 3, 6]),
        ),
        (3, 6),
    )
    dense = [[0, 1, 0, 0, 5, 0], [0] * 6, [0.5, 0, 0, 0, 0, 7]]
    assert (lines.hash(shuffled, 50) == lines.hash(dense, 50)).all()
    assert (lines.probe(shuffled, 2, 3, 4) == lines.probe(dense, 2, 3, 4)).all()
    with pytest.raises(
        ValueError, match=r"items must have shape \(n, 5\), not \(3, 6\)"
    ):
        family(5, 1.0).hash(shuffled, 1)


@pytest.mark.slow
def test_many_dimensions_without_a_dense_row(sparse):
    matrix = sparse.random(40, 100_000, density=1e-4, random_state=1, format="csr")
    lines = GaussianLines(100_000, 1.0)
    values = lines.hash(matrix, 4)
    assert (values[:3] == lines.hash(matrix[:3].toarray(), 4)).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_buckets(family, small_pieces):
    points = np.random.default_rng(4).standard_normal((300, 9))
    lines = family(9, 6.0)
    values = lines.hash(points, 12)
    assert (lines.buckets(points, 12, 1) == values).all()
    buckets = lines.buckets(points, 4, 3, threads=2)
    assert buckets.tolist() == [
        [reference.bucket(b, row[3 * b : 3 * b + 3]) for b in range(4)]
        for row in values.tolist()
    ]
    assert (lines.and_(3).hash(points, 4) == buckets).all()


# Distances


def test_euclidean_distance():
    lines = GaussianLines(2, 1.0)
    assert lines.distance([3, 4], [[0, 0], [3, 4], [6, 8]]).tolist() == [5, 0, 5]
    assert lines.distance(
        [[3e200, 4e200], [3e-200, 4e-200], [1e-310, 0]], [0, 0]
    ) == pytest.approx([5e200, 5e-200, 1e-310])
    assert lines.distance([1.7e308, 0], [1e308, 0]) == pytest.approx([0.7e308])
    assert lines.distance([5e307, 0], [-5e307, 1e307]) == pytest.approx(
        [math.sqrt(101) * 1e307]
    )
    with pytest.raises(
        ValueError, match="the distance of pair 1 is above the largest float64"
    ):
        lines.distance([[0, 0], [1.7e308, 0]], [-1.7e308 / 2, 0])


def test_manhattan_distance():
    lines = CauchyLines(2, 1.0)
    assert lines.distance([[3, 4], [-1, 1]], [1, 1]).tolist() == [5, 2]
    assert lines.distance([1.7e308, 0], [1e308, 0.5e308]) == pytest.approx([1.2e308])
    with pytest.raises(
        ValueError, match="the distance of pair 0 is above the largest float64"
    ):
        lines.distance([1e308, 1e308], [0, 0])


@pytest.mark.parametrize("family", FAMILIES)
def test_distances_of_sparse_and_dense_points(family, sparse):
    generator = np.random.default_rng(8)
    a, b = generator.random((2, 700, 200)) * (generator.random((2, 700, 200)) < 0.1)
    lines = family(200, 1.0)
    right = (
        np.abs(a - b).sum(axis=1)
        if family is CauchyLines
        else np.sqrt(((a - b) ** 2).sum(axis=1))
    )
    x, y = sparse.csr_matrix(a), sparse.csr_matrix(b)
    for first, second in ((a, b), (x, b), (a, y), (x, y)):
        assert lines.distance(first, second) == pytest.approx(right, rel=1e-14)
    assert lines.distance(x[:1], b) == pytest.approx(lines.distance(b, a[0]), rel=1e-14)
    assert (
        lines.distance(a[:0], b[:0]).shape == lines.distance(a[:0], b[0]).shape == (0,)
    )
    with pytest.raises(ValueError, match="not 3 and 2"):
        lines.distance(a[:3], b[:2])


# Probes


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("bands", "rows", "probes"),
    [(5, 1, 1), (5, 1, 4), (3, 4, 1), (3, 4, 30), (2, 40, 9)],
)
def test_probes_begin_with_the_bucket_and_differ(
    family, bands, rows, probes, small_pieces
):
    points = np.random.default_rng(4).standard_normal((150, 6))
    lines = family(6, 3.0)
    found = lines.probe(points, bands, rows, probes, threads=2)
    assert found.shape == (150, bands, probes)
    assert (found[..., 0] == lines.buckets(points, bands, rows)).all()
    kinds = min(probes, 3**rows)
    assert (found[..., kinds:] == NO_VALUE).all()
    assert (found[..., :kinds] != NO_VALUE).all()
    assert (np.diff(np.sort(found[..., :kinds], axis=2), axis=2) > 0).all()
    assert (
        lines.probe(points.astype(np.float32), bands, rows, probes).shape
    ) == found.shape
    assert lines.probe(points[:0], bands, rows, probes).shape == (0, bands, probes)


def check_probes(found, positions, band):
    """Check that values are the best buckets of a band around positions, and that nothing follows after all of them."""
    scored = reference.scored_buckets(positions, band)
    best = sorted(scored.values())[: len(found)]
    assert found[0] == reference.bucket(
        band, [reference.value(math.floor(y)) for y in positions]
    )
    assert [scored[bucket] for bucket in found[: len(best)]] == pytest.approx(
        best, abs=1e-12
    )
    assert len(set(found[: len(best)])) == len(best)
    assert found[len(best) :] == [int(NO_VALUE)] * (len(found) - len(best))


@pytest.mark.parametrize("family", FAMILIES)
def test_probes_are_those_of_the_definition(family, level):
    points = np.random.default_rng(4).standard_normal((4, 3))
    found = family(3, 2.5, 5).probe(points, 2, 3, 30).tolist()
    for x, bands in zip(points.tolist(), found, strict=True):
        y = [reference.position(x, 5, DOMAINS[family], f, 2.5) for f in range(6)]
        check_probes(bands[0], y[:3], 0)
        check_probes(bands[1], y[3:], 1)


POSITION = st.one_of(
    st.floats(-1e3, 1e3),
    st.integers(-9, 9).map(lambda i: i / 2),
    st.floats(-9e18, 9e18),
)


@settings(max_examples=40)
@given(
    data=st.data(),
    bands=st.integers(1, 3),
    rows=st.integers(1, 4),
    probes=st.integers(1, 90),
)
def test_probes_of_any_positions(data, bands, rows, probes):
    point = st.lists(POSITION, min_size=bands * rows, max_size=bands * rows)
    positions = data.draw(st.lists(point, min_size=1, max_size=3))
    out = np.zeros((len(positions), bands, probes), np.uint64)
    searches.lines(np.array(positions), rows, out)
    for y, found in zip(positions, out.tolist(), strict=True):
        for band in range(bands):
            check_probes(found[band], y[band * rows : (band + 1) * rows], band)


def test_positions_that_have_no_cells_are_not_probed():
    out = np.zeros((2, 2, 3), np.uint64)
    for wrong, message in (
        (np.nan, "row 1 has nan"),
        (2.0**63, "row 1 has 9.2"),
        (-1e300, "row 1 has -1e\\+300"),
    ):
        with pytest.raises(ValueError, match=message):
            searches.lines(np.array([[0.0, 0.0], [0.0, wrong]]), 1, out)
    with pytest.raises(
        ValueError, match=r"positions must have shape \(2, 4\), not \(2, 5\)"
    ):
        searches.lines(np.zeros((2, 5)), 2, out)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("rows", "probes"), [(1, 2), (1, 9), (4, 1), (4, 10), (10, 40)]
)
def test_probes_find_as_often_as_predicted(family, rows, probes):
    bands, distances = 3000, np.array([0.3, 1.0, 2.5])
    lines = family(5, 3.0, seed=3)
    a, b = spread_points(family, 5, distances)
    found = (
        (
            lines.probe(a, bands, rows, probes)
            == lines.buckets(b, bands, rows)[:, :, None]
        )
        .any(axis=2)
        .mean(axis=1)
    )
    p = lines.probe_probability(distances, rows, probes)
    assert (np.abs(found - p) <= 4 * np.sqrt(p * (1 - p) / bands) + 0.005).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_probe_probabilities(family):
    lines, distances = family(5, 4.0), np.array([[0, 0.5, 1], [2, 8, np.inf]])
    p = lines.collision_probability(distances)
    assert (lines.probe_probability(distances, 3, 1) == p**3).all()
    curve = np.array(
        [lines.probe_probability(distances, 3, probes) for probes in range(1, 30)]
    )
    assert curve.shape == (29, 2, 3)
    assert (
        np.diff(curve[1:], axis=0) >= 0
    ).all()  # the first is exact, the others are averages
    assert (np.abs(curve[1] - curve[0]) < 0.3).all()
    assert (curve[26] == curve[28]).all()  # there are 27 buckets
    assert (curve[:, 0, 0] == 1).all()
    assert (curve[:, 1, 2] == 0).all()
    # All three cells of a line: the probability that a point is not two or more cells away, by its
    # integral.
    z = np.linspace(0, 2 * 4.0, 400_001)
    shape = np.where(z < 4, 1, 2 - z / 4)
    crossed = (
        2
        * ((density(family, z[1:]) + density(family, z[:-1])) / 2 * shape[1:]).sum()
        * (z[1] - z[0])
    )
    assert float(lines.probe_probability(1, 1, 3)) == pytest.approx(crossed, abs=1e-4)
    assert float(lines.probe_probability(1, 2, 9)) == pytest.approx(
        crossed**2, abs=0.001
    )
    again = family(9, 4.0, 2).probe_probability(distances, 3, 7)
    assert (again == lines.probe_probability(distances, 3, 7)).all()


# Widths


@pytest.mark.parametrize(
    ("near", "far"), [(1, 1.01), (1, 1.5), (1, 2), (2, 10), (1e-9, 1e-7), (1e9, 3e9)]
)
def test_gaussian_lines_have_a_best_width(near, far):
    def rho(width):
        first, second = GaussianLines(1, width).collision_probability([near, far])
        return math.log(first) / math.log(second)

    width = GaussianLines.best_width(near, far)
    assert rho(width) < near / far
    assert all(
        rho(width) <= rho(width * factor) for factor in (0.2, 0.7, 0.95, 1.05, 1.4, 5)
    )


def test_the_best_width_is_limited():
    """With Cauchy lines, wider cells are always better for rho."""
    for family in FAMILIES:
        for most in (0.3, 0.5):
            width = family.best_width(1, 1.5, far_probability=most)
            assert float(family(1, width).collision_probability(1.5)) == pytest.approx(
                most, abs=1e-6
            )
    assert float(
        CauchyLines(1, CauchyLines.best_width(3, 6)).collision_probability(6)
    ) == pytest.approx(0.7, abs=1e-6)


# Descriptions, and what is refused


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_can_be_described_and_pickled(family):
    lines = family(4, 2.5, seed=9)
    values = lines.hash(np.eye(4), 3)
    for same in (family_of(lines.describe()), pickle.loads(pickle.dumps(lines))):
        assert same == lines
        assert hash(same) == hash(lines)
        assert (same.hash(np.eye(4), 3) == values).all()
    assert len(pickle.dumps(lines)) < 300
    assert family(4, 2.5, seed=8) != lines
    assert repr(lines) == f"{family.__name__}(dim=4, width=2.5, seed=9)"
    assert family(4, 2.5, seed="random") != family(4, 2.5, seed="random")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 1.0), ValueError, "dim must be in 1..2147483647, not 0"),
        ((2**31, 1.0), ValueError, "dim must be in 1..2147483647"),
        ((2.0, 1.0), TypeError, "dim must be an int, not 2.0"),
        ((2, 0), ValueError, "width must be finite and above 0, not 0.0"),
        ((2, -1.5), ValueError, "width must be finite and above 0, not -1.5"),
        ((2, math.nan), ValueError, "width must be finite and above 0, not nan"),
        ((2, math.inf), ValueError, "width must be finite and above 0, not inf"),
        ((2, "3"), TypeError, "width must be a number, not '3'"),
        ((2, 1.0, -1), ValueError, "seed must be in"),
    ],
)
def test_parameters_are_checked(family, arguments, error, message):
    with pytest.raises(error, match=message):
        family(*arguments)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_coordinates_that_are_not_finite_are_refused(
    family, number, form, small_pieces
):
    points = np.ones((1500, 3))
    points[1400, 2] = number
    lines = family(3, 1.0)
    for call in (
        lambda x: lines.hash(x, 2),
        lambda x: lines.buckets(x, 2, 2),
        lambda x: lines.probe(x, 2, 2, 2),
    ):
        with pytest.raises(
            ValueError,
            match=rf"items must be finite, and row 1400, column 2 is {number}",
        ):
            call(form(points))
    with pytest.raises(
        ValueError, match=rf"a must be finite, and row 1400, column 2 is {number}"
    ):
        lines.distance(form(points), [1, 1, 1])


@pytest.mark.parametrize("family", FAMILIES)
def test_points_that_are_too_far_out_are_refused(family, form):
    points = np.zeros((3, 2))
    points[1] = 1e25
    with pytest.raises(
        ValueError, match=r"row 1 of items is too far out for the width 0\.5"
    ):
        family(2, 0.5).hash(form(points), 40)
    with pytest.raises(
        ValueError, match=r"row 1 of items is too far out for the width 1e-300"
    ):
        family(2, 1e-300).probe(form(points / 1e20), 2, 2, 2)
    points[1] = 1.7e308
    with pytest.raises(ValueError, match=r"row 1 of items is too far out"):
        family(2, 1e308).hash(form(np.where(points > 0, points, 0)) * 1.0, 400)


@pytest.mark.parametrize("family", FAMILIES)
def test_other_bad_input_is_refused(family):
    lines = family(3, 1.0)
    for call, error, message in (
        (
            lambda: lines.hash(np.ones((2, 4)), 1),
            ValueError,
            r"items must have shape \(n, 3\) or \(3,\), not \(2, 4\)",
        ),
        (
            lambda: lines.hash(["a", "b", "c"], 1),
            TypeError,
            "items must be integers or floats",
        ),
        (
            lambda: lines.hash(np.ones(3) * 1j, 1),
            TypeError,
            "items must be integers or floats",
        ),
        (
            lambda: lines.hash(np.ones(3), 0),
            ValueError,
            r"count must be in 1..2147483647, not 0",
        ),
        (lambda: lines.hash(np.ones(3), 1.5), TypeError, "count must be an int"),
        (
            lambda: lines.hash(np.ones(3), 1, threads=0),
            ValueError,
            "threads must be at least 1",
        ),
        (
            lambda: lines.buckets(np.ones(3), 0, 1),
            ValueError,
            "bands must be at least 1, not 0",
        ),
        (
            lambda: lines.buckets(np.ones(3), 1, 0),
            ValueError,
            "rows_per_band must be at least 1, not 0",
        ),
        (
            lambda: lines.buckets(np.ones(3), 2**20, 2**20),
            ValueError,
            "count must be in 1..2147483647, not 1099511627776",
        ),
        (
            lambda: lines.probe(np.ones(3), 1, 1, 0),
            ValueError,
            "probes must be in 1..1048576, not 0",
        ),
        (
            lambda: lines.probe_probability(1, 0, 1),
            ValueError,
            "rows_per_band must be at least 1, not 0",
        ),
        (
            lambda: lines.probe_probability(1, 1, 0),
            ValueError,
            "probes must be in 1..1048576, not 0",
        ),
        (
            lambda: lines.probe_probability(-1, 1, 1),
            ValueError,
            "distance must be in 0..inf, not -1",
        ),
        (
            lambda: lines.collision_probability([1, np.nan]),
            ValueError,
            "distance must be in 0..inf, not nan",
        ),
        (
            lambda: lines.collision_probability("near"),
            TypeError,
            "distance must be numbers",
        ),
        (
            lambda: family.best_width(2, 2),
            ValueError,
            "near and far must be 0 < near < far",
        ),
        (
            lambda: family.best_width(1, math.inf),
            ValueError,
            "near and far must be 0 < near < far",
        ),
        (
            lambda: family.best_width(1, 2, far_probability=1),
            ValueError,
            r"far_probability must be in \(0, 1\), not 1",
        ),
        (lambda: family.best_width("1", 2), TypeError, "near must be a number"),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("family", FAMILIES)
def test_lines_are_kept_by_threads_that_need_different_numbers(family):
    points, shared = np.random.default_rng(1).standard_normal((50, 30)), family(30, 2.0)
    counts = [5, 200, 1, 120, 77] * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda count: shared.hash(points, count, threads=1), counts)
        )
    expected = family(30, 2.0).hash(points, 200)
    assert all(
        (values == expected[:, :count]).all()
        for values, count in zip(found, counts, strict=True)
    )
    assert shared._drawn["lines"].shape == (30, 200)


def test_few_probabilities_are_kept(monkeypatch):
    family, distances = GaussianLines(3, 4.0), [0.5, 1, 2]
    kept = family.probe_probability(distances, 6, 40)
    stable._found.cache_clear()
    monkeypatch.setattr(stable, "KEPT_PROBABILITIES", 0)
    assert (family.probe_probability(distances, 6, 40) == kept).all()
    assert stable._found.cache_info().currsize == 0

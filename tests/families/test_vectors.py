"""Hyperplanes, vectors of signs and cross-polytopes: their laws, values, probes, and what they refuse."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from lshfast import Bands, kernels
from lshfast.families import NO_VALUE, CrossPolytope, Hyperplanes, SignVectors, rotated
from lshfast.families.polytope_curve import collision_curve, collision_integral
from lshfast.sketch import SignSketcher
from tests.families.laws import check_description, check_law
from tests.reference import families_vectors as reference

ANGLES = np.radians([0, 1, 5, 20, 45, 60, 90, 120, 170, 180])
FAMILIES = [
    Hyperplanes(40),
    SignVectors(40),
    CrossPolytope(40),
    Hyperplanes(40, structured=False),
]


def pairs_at(angles, dim, seed=1):
    """Return pairs of vectors at these angles, in random directions."""
    a, b = np.random.default_rng(seed).standard_normal((2, len(angles), dim))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    b -= (a * b).sum(axis=1, keepdims=True) * a
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    return a, np.cos(angles)[:, None] * a + np.sin(angles)[:, None] * b


@pytest.fixture
def sparse():
    return pytest.importorskip("scipy.sparse")


# Laws


@pytest.mark.parametrize("dim", [2, 3, 40, 200, 700, 768, 1024])
def test_hyperplanes_separate_as_often_as_the_angle_says(dim):
    check_law(Hyperplanes(dim), *pairs_at(ANGLES, dim), 50_000)


@pytest.mark.parametrize(
    "family", [Hyperplanes(20, structured=False), SignVectors(500)], ids=str
)
def test_gaussian_products_and_signs_separate_as_often_as_the_angle_says(family):
    check_law(family, *pairs_at(ANGLES[1:-1], family.dim), 4_096)


@pytest.mark.parametrize("dim", [2, 100, 300, 1000])
def test_vectors_of_few_coordinates_are_separated_as_often_as_others(dim):
    """The sums of few equal numbers are zero at times, which is as good as a side."""
    angles = ANGLES[2:-2]
    a = np.zeros((len(angles), dim))
    a[:, 0] = 1
    b = np.cos(angles)[:, None] * a
    b[:, 1] = np.sin(angles)
    shares = Hyperplanes(dim).collide(a, b, 60_000).mean(axis=1)
    assert shares == pytest.approx(1 - angles / np.pi, abs=4 * math.sqrt(0.25 / 60_000))


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("dim", "part"), [(384, 128), (640, 128), (768, 256), (896, 128)]
)
def test_the_first_functions_are_fair_to_vectors_that_differ_in_one_part(dim, part):
    """A reflection of parts keeps a share of the differences where they are; numbers are dealt between rounds."""
    a, b = np.ones(dim), np.ones(dim)
    b[:part] = -1
    shares = [
        Hyperplanes(dim, seed=seed).collide(a, b, part).mean() for seed in range(300)
    ]
    expected = float(
        Hyperplanes(dim).collision_probability(Hyperplanes(dim).distance(a, b))[0]
    )
    assert abs(np.mean(shares) - expected) <= 4 * np.sqrt(
        expected * (1 - expected) / (300 * part)
    )


@pytest.mark.parametrize("rows", [1, 2, 4, 8, 16])
def test_a16_cones_of_k_hyperplanes(rows):
    """Two vectors are in one of the 2**K cones with the probability (1 - angle / pi)**K."""
    family, bands = Hyperplanes(20, structured=False), 8_000
    angles = np.radians([2, 10, 30, 60, 90])
    a, b = pairs_at(angles, 20)
    shares = (family.buckets(a, bands, rows) == family.buckets(b, bands, rows)).mean(
        axis=1
    )
    expected = (1 - angles / np.pi) ** rows
    assert (
        np.abs(shares - expected) <= 4 * np.sqrt(expected * (1 - expected) / bands)
    ).all()


def test_a16_neighbours_across_the_borders_of_cones():
    """In one table of 2**8 cones, .45 of the neighbours at .3 radians are in one; 8 tables or 12 probes find others."""
    family, rows, pairs = Hyperplanes(64, structured=False), 8, 3000
    a, b = pairs_at(np.full(pairs, 0.3), 64)
    own, searched = family.buckets(b, 8, rows), family.probe(a, 8, rows, 12)
    met = own[:, :, None] == searched
    p = (1 - 0.3 / math.pi) ** rows
    for tables, probes, expected in (
        (1, 1, p),
        (8, 1, 1 - (1 - p) ** 8),
        (1, 12, float(family.probe_probability(0.3, rows, 12))),
    ):
        share = met[:, :tables, :probes].any(axis=(1, 2)).mean()
        assert abs(share - expected) <= 4 * math.sqrt(
            expected * (1 - expected) / pairs
        ) + 0.01 * (probes > 1)
    assert p < 0.5 < 0.85 < met[:, :1].any(axis=(1, 2)).mean()
    assert met.any(axis=(1, 2)).mean() > 0.999


@pytest.mark.parametrize(("dim", "rows"), [(20, 4), (20, 16), (384, 16), (768, 24)])
def test_bands_of_hyperplanes_collide_nearly_as_often_as_independent_ones(dim, rows):
    """Functions of one rotation are negatively correlated, which shows far out."""
    family, bands = Hyperplanes(dim), 20_000
    angles = np.radians([5, 15, 30, 45])
    a, b = pairs_at(angles, dim)
    shares = (family.buckets(a, bands, rows) == family.buckets(b, bands, rows)).mean(
        axis=1
    )
    expected = family.collision_probability(angles) ** rows
    assert (
        np.abs(shares - expected)
        <= 4 * np.sqrt(expected * (1 - expected) / bands) + 0.08 * expected
    ).all()


@pytest.mark.slow
def test_the_collision_probability_of_cross_polytopes():
    """ALGORITHMS, simulated with 128 outputs: .433, .271, .077 and .0042 at cosines .9, .8, .5 and 0."""
    family = CrossPolytope(128)
    angles = np.arccos([0.9, 0.8, 0.5, 0])
    assert family.collision_probability(angles) == pytest.approx(
        [0.433, 0.271, 0.077, 0.0042], abs=0.003
    )
    assert family.collision_probability([0, math.pi]).tolist() == pytest.approx(
        [1, 0], abs=3e-6
    )
    for outputs in (2, 8, 256, 4096, 2**20):
        assert collision_integral(outputs, math.pi / 2) == pytest.approx(
            0.5 / outputs, rel=1e-6
        )
        some = np.array([0.001, 0.01, 0.1, 0.5, 1.3, 2.0, 3.0])
        exact = [collision_integral(outputs, angle) for angle in some.tolist()]
        assert collision_curve(outputs, some) == pytest.approx(exact, abs=3e-6)
        assert (np.diff(collision_curve(outputs, np.linspace(0, 3, 200))) <= 1e-6).all()


@pytest.mark.one_case
@pytest.mark.parametrize("outputs", [2, 16, 128])
def test_the_integral_is_what_simulated_projections_do(outputs):
    random, n = np.random.default_rng(outputs), 100_000
    for angle in (0.1, 0.5, 1.0, 1.4):
        x, y = random.standard_normal((2, n // 4, outputs))
        y = math.cos(angle) * x + math.sin(angle) * y
        places = np.abs(x).argmax(axis=1), np.abs(y).argmax(axis=1)
        rows = np.arange(len(x))
        share = (
            (places[0] == places[1]) & (x[rows, places[0]] * y[rows, places[1]] > 0)
        ).mean()
        p = collision_integral(outputs, angle)
        assert abs(share - p) <= 4 * math.sqrt(p * (1 - p) / len(x))


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(("dim", "outputs"), [(20, 8), (60, 64), (40, None)])
def test_gaussian_cross_polytopes_follow_the_integral(dim, outputs):
    check_law(
        CrossPolytope(dim, outputs, structured=False),
        *pairs_at(ANGLES[1:7], dim),
        3_000,
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("dim", "outputs"),
    [(2, 2), (20, 8), (128, 128), (256, 256), (768, 256), (1024, 16)],
)
def test_rotated_cross_polytopes_nearly_follow_the_integral(dim, outputs):
    family, count = CrossPolytope(dim, outputs), 10_000
    angles = ANGLES[1:7]
    shares = family.collide(*pairs_at(angles, dim), count).mean(axis=1)
    expected = family.collision_probability(angles)
    assert (
        np.abs(shares - expected)
        <= 4 * np.sqrt(expected * (1 - expected) / count) + 0.005
    ).all()


# Numbers of the textbooks


def test_sensitivity_of_hyperplanes():
    """F24, A13: in degrees, (d1, d2, (180 - d1) / 180, (180 - d2) / 180); E16: the book has d2 / 180."""
    found = Hyperplanes(3).sensitivity(math.radians(60), math.radians(120))
    assert found == pytest.approx((math.pi / 3, 2 * math.pi / 3, 2 / 3, 1 / 3))


def test_hyperplanes_and_the_cosine():
    """B9: 1 - angle / pi is (cos + 1) / 2 at 0, pi / 2 and pi, and differs from it by up to .10526 at .6901."""
    angles = np.linspace(0, math.pi, 100_001)
    difference = np.abs(
        Hyperplanes(3).collision_probability(angles) - (np.cos(angles) + 1) / 2
    )
    assert difference[[0, 50_000, 100_000]] == pytest.approx([0, 0, 0], abs=1e-12)
    assert difference.max() == pytest.approx(0.10526, abs=5e-6)
    assert angles[:50_000][difference[:50_000].argmax()] == pytest.approx(
        0.6901, abs=5e-5
    )


def test_the_angle_is_a_metric_and_the_cosine_is_not():
    """E1: at angles of 0, 45 and 90 degrees, 1 - cos would have 1 > .586."""
    family = Hyperplanes(2)
    points = np.array([[1, 0], [1, 1], [0, 1]])
    near, on, far = family.distance(points[[0, 1, 0]], points[[1, 2, 2]])
    assert [near, on, far] == pytest.approx([math.pi / 4, math.pi / 4, math.pi / 2])
    assert far <= near + on + 1e-12
    assert (
        1 - math.cos(far)
        > (1 - math.cos(near)) + (1 - math.cos(on))
        == pytest.approx(0.586, abs=5e-4)
    )


def test_sixteen_vectors_of_signs():
    """F25: x.y = 40 and 38.05 degrees; of all sixteen vectors four separate x and y; E22: that share estimates."""
    x, y = [3, 4, 5, 6], [4, 3, 2, 1]
    assert np.degrees(SignVectors(4).distance(x, y)) == pytest.approx([38.05], abs=5e-3)
    every = [[1 - 2 * (i >> j & 1) for j in range(4)] for i in range(16)]
    first, second = SignSketcher.of_vectors(every).dots([x, y])
    assert int((np.sign(first) * np.sign(second) < 0).sum()) == 4
    assert int(((first == 0) & (second == 0)).sum()) == 2
    shares = SignVectors(4).collide(x, y, 4_096).mean()
    zeros = 2 / 16  # functions under which both are zero; the rule says minus for both
    assert shares == pytest.approx(
        1 - 4 / 16, abs=4 * math.sqrt(3 / 16 / 4_096) + zeros / 2
    )


def test_sign_vectors_are_the_bits_of_a_sketcher():
    x = np.random.default_rng(1).integers(-3, 4, (50, 9))
    x[7] = 0
    for zero in ("minus", "plus", "random"):
        sketcher = SignSketcher(9, 100, seed=3, zero=zero)
        signs = sketcher.signs(sketcher.sketch(x))
        values = SignVectors(9, 3, zero).hash(x, 100)
        empty = (signs == 0).all(axis=1)
        assert empty[7]
        assert (values[empty] == NO_VALUE).all()
        assert (values[~empty] == (signs[~empty] > 0)).all()


# Values


@pytest.mark.one_case
@pytest.mark.parametrize("dim", [1, 5, 300, 700])
def test_values_are_those_of_the_reference(level, dim):
    x = np.random.default_rng(dim).standard_normal((2, dim))
    planes, polytopes = Hyperplanes(dim, seed=7), CrossPolytope(dim, 8, seed=7)
    assert planes.hash(x, 300).tolist() == [
        reference.sides(row, 7, 300) for row in x.tolist()
    ]
    assert polytopes.hash(x, 40).tolist() == [
        reference.farthest(row, 7, 8, 40) for row in x.tolist()
    ]


@pytest.mark.one_case
@pytest.mark.parametrize(
    "family", [*FAMILIES, CrossPolytope(40, structured=False)], ids=str
)
def test_all_levels_and_threads_give_equal_values(level, family):
    x = np.random.default_rng(1).standard_normal((400, 40))
    found = family.hash(x, 130, threads=1)
    assert (family.hash(x, 130, threads=3) == found).all()
    with kernels.use("scalar"):
        assert (family.hash(x, 130) == found).all()


@pytest.mark.parametrize(
    "family", [*FAMILIES, CrossPolytope(40, structured=False)], ids=str
)
def test_forms_of_vectors(family, sparse):
    x = np.random.default_rng(1).integers(-3, 4, (30, 40)).astype(np.float32)
    x[np.random.default_rng(2).random((30, 40)) < 0.7] = 0
    x[4] = 0
    expected = family.hash(x, 70)
    assert (expected[4] == NO_VALUE).all()
    assert (expected[[0, 1, 2, 3, *range(5, 30)]] != NO_VALUE).all()
    read_only = x.copy()
    read_only.flags.writeable = False
    shifted = (
        np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(30, 40)
    )
    forms = [
        x.astype(float),
        x.astype(np.int8),
        x.astype(np.int64),
        x.astype(np.float16),
        x.astype(">f4"),
        x.tolist(),
    ]
    forms += [np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], read_only, shifted]
    matrices = [
        sparse.csr_matrix(x),
        sparse.csr_array(x.astype(float)),
        sparse.coo_matrix(x),
        sparse.csc_array(x),
    ]
    matrices[0].indices = matrices[0].indices.astype(np.int64)
    for form in [*forms, *matrices]:
        assert (family.hash(form, 70) == expected).all()
        assert (family.buckets(form, 7, 10) == family.buckets(x, 7, 10)).all()
        assert family.distance(form, x[0]) == pytest.approx(family.distance(x, x[:1]))
    assert (family.hash(x[3], 70) == expected[3:4]).all()
    assert family.hash(x[:0], 70).shape == (0, 70)
    assert family.hash(sparse.csr_matrix(x)[5:9], 70).tolist() == expected[5:9].tolist()


def test_values_of_a_column_that_comes_twice_are_added(sparse):
    twice = sparse.csr_matrix(
        (np.array([1.0, 2, 3, -3]), np.array([0, 0, 1, 1]), np.array([0, 4])),
        shape=(1, 3),
    )
    for family in (
        Hyperplanes(3),
        CrossPolytope(3),
        SignVectors(3),
        Hyperplanes(3, structured=False),
    ):
        assert (family.hash(twice, 99) == family.hash([[3.0, 0, 0]], 99)).all()
    huge = sparse.csr_matrix(
        (np.array([1e308, 1e308]), np.array([1, 1]), np.array([0, 0, 2])), shape=(2, 3)
    )
    with pytest.raises(ValueError, match=r"row 1 of items add up to an infinity"):
        Hyperplanes(3).hash(huge, 9)


@pytest.mark.parametrize(
    "family",
    [Hyperplanes(40), CrossPolytope(40), Hyperplanes(40, structured=False)],
    ids=str,
)
def test_the_length_of_a_vector_does_not_count(level, family):
    x = np.random.default_rng(1).uniform(0.5, 1, (10, 40)).astype(np.float32)
    expected = family.hash(x, 100)
    for scale in (2.0**127, 2.0**60, 2.0**41, 2.0**-41, 2.0**-100, 2.0**-126):
        assert (family.hash(x * np.float32(scale), 100) == expected).all()
    for scale in (2.0**1023, 2.0**500, 2.0**-500, 2.0**-1000):
        assert (family.hash(x.astype(float) * scale, 100) == expected).all()
    ones = np.ones((1, 40))
    for scale in (2.0**-1074, np.finfo(float).max):
        assert (family.hash(ones * scale, 100) == family.hash(ones, 100)).all()
        assert family.distance(ones * scale, ones).tolist() == pytest.approx(
            [0], abs=1e-7
        )


@pytest.mark.parametrize(
    "family", [Hyperplanes(40), CrossPolytope(40, 16), SignVectors(40)], ids=str
)
def test_functions_do_not_depend_on_their_number(family):
    x = np.random.default_rng(1).standard_normal((5, 40))
    every = family.hash(x, 1000)
    for count in (1, 63, 64, 65, 256, 257, 999):
        assert (family.hash(x, count) == every[:, :count]).all()
    assert len({*map(tuple, np.unique(every, axis=1).T.tolist())}) > 20
    assert (replace(family, seed=2).hash(x, 1000) != every).mean() > 0.4


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 63, 64, 70])
@pytest.mark.parametrize("family", [Hyperplanes(20), CrossPolytope(20, 16)], ids=str)
def test_buckets_join_values(family, rows):
    x = np.random.default_rng(1).standard_normal((6, 20))
    x[2] = 0
    buckets, bits = family.buckets(x, 3, rows), family.value_bits
    values = family.hash(x, 3 * rows).reshape(6, 3, rows)
    for row in (0, 1, 3, 4, 5):
        for band in range(3):
            if rows == 1 or rows * bits < 64:
                expected = sum(
                    int(value) << bits * i for i, value in enumerate(values[row, band])
                )
            else:
                expected = Bands(3, rows).keys(
                    np.ascontiguousarray(values[row].reshape(1, -1))
                )[0, band]
            assert buckets[row, band] == expected
    assert (buckets[2] == NO_VALUE).all()


# Distances


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_distances_are_angles(family):
    angles = np.array([0, 1e-9, 1e-3, 0.5, math.pi / 2, 3, math.pi])
    a, b = pairs_at(angles, 40)
    assert family.distance(a, b) == pytest.approx(angles, abs=1e-12)
    assert family.distance(1e300 * a, 1e-300 * b) == pytest.approx(angles, abs=1e-12)
    assert family.distance(a, np.zeros(40)).tolist() == [math.pi / 2] * 7
    assert family.distance(np.zeros(40), np.zeros(40)).tolist() == [math.pi / 2]
    assert family.distance(a[:0], b[0]).tolist() == []
    with pytest.raises(ValueError, match="not 7 and 2"):
        family.distance(a, b[:2])


# Probes


@pytest.mark.parametrize(
    ("outputs", "rows", "probes"),
    [(1, 1, 4), (1, 5, 40), (1, 9, 60), (2, 3, 70), (8, 2, 300)],
)
def test_probes_are_the_cheapest_buckets(level, outputs, rows, probes):
    family = Hyperplanes(20) if outputs == 1 else CrossPolytope(20, outputs)
    x = np.random.default_rng(1).standard_normal((3, 20))
    found = family.probe(x, 2, rows, probes)
    assert (found[:, :, 0] == family.buckets(x, 2, rows)).all()
    for row, vector in enumerate(x.tolist()):
        y = reference.coordinates(vector, 1, 2 * rows * outputs)
        for band in range(2):
            expected = reference.probes(
                y[band * rows * outputs :], outputs, rows, probes
            )
            shift = family.value_bits
            keys = [
                sum(value << shift * i for i, value in enumerate(values))
                for _, values in expected
            ]
            assert found[row, band].tolist() == keys + [int(NO_VALUE)] * (
                probes - len(keys)
            )


@pytest.mark.parametrize(
    ("family", "rows"),
    [(Hyperplanes(20), 64), (Hyperplanes(20), 80), (CrossPolytope(20, 32), 11)],
)
def test_probes_of_hashed_buckets(level, family, rows):
    x = np.random.default_rng(1).standard_normal((4, 20))
    found, values = family.probe(x, 2, rows, 30), family.hash(x, 2 * rows)
    assert (found[:, :, 0] == family.buckets(x, 2, rows)).all()
    assert (np.diff(np.sort(found, axis=2)) > 0).all()
    y = np.array(
        [
            reference.coordinates(
                row, 1, 2 * rows * (1 if family.value_bits == 1 else 32)
            )
            for row in x.tolist()
        ]
    )
    # The second probe is on the other side of the nearest hyperplane.
    if family.value_bits == 1:
        nearest = np.abs(y).reshape(4, 2, rows).argmin(axis=2)
        for band in range(2):
            values[np.arange(4), band * rows + nearest[:, band]] ^= np.uint64(1)
        assert (found[:, :, 1] == Bands(2, rows).keys(values)).all()


@pytest.mark.parametrize(
    "family",
    [Hyperplanes(40), CrossPolytope(40), Hyperplanes(40, structured=False)],
    ids=str,
)
def test_probes_of_zero_vectors_and_of_sparse_ones(family, sparse):
    x = np.random.default_rng(1).standard_normal((20, 40)) * (
        np.random.default_rng(2).random((20, 40)) < 0.2
    )
    x[3] = 0
    found = family.probe(x, 3, 2, 3, threads=2)
    assert (found[3] == NO_VALUE).all()
    assert (np.delete(found, 3, axis=0) != NO_VALUE).all()
    assert (family.probe(sparse.csr_matrix(x), 3, 2, 3) == found).all()
    assert family.probe(x[:0], 3, 2, 3).shape == (0, 3, 3)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("family", "rows", "probes"),
    [
        (Hyperplanes(768), 12, 16),
        pytest.param(Hyperplanes(768), 20, 100, marks=pytest.mark.slow),
        (CrossPolytope(128), 2, 20),
        (CrossPolytope(768, 64), 3, 7),
    ],
    ids=str,
)
def test_probes_find_as_often_as_they_promise(family, rows, probes):
    bands, angles = 60, np.array([0.2, 0.4, 0.8])
    for angle in angles:
        a, b = pairs_at(np.full(100, angle), family.dim)
        hits = (
            family.probe(a, bands, rows, probes)
            == family.buckets(b, bands, rows)[..., None]
        ).any(axis=2)
        expected = float(family.probe_probability(angle, rows, probes))
        error = hits.mean(axis=1).std() / math.sqrt(len(hits)) + math.sqrt(
            expected * (1 - expected) / hits.size
        )
        assert abs(hits.mean() - expected) <= 4 * error + 0.005


@pytest.mark.one_case
@pytest.mark.parametrize("family", [Hyperplanes(40), CrossPolytope(40, 4)], ids=str)
def test_the_promise_of_probes(family):
    angles = np.linspace(0, np.pi, 40)
    assert (
        family.probe_probability(angles, 5, 1)
        == family.collision_probability(angles) ** 5
    ).all()
    curves = np.array(
        [family.probe_probability(angles, 3, probes) for probes in (1, 2, 4, 7, 512)]
    )
    assert (np.diff(curves[1:], axis=0) >= 0).all()
    assert (np.diff(curves[:2], axis=0) >= -0.01).all()
    assert (curves[-1] == 1).all()
    assert (curves <= 1).all()
    assert curves[:, 0].tolist() == pytest.approx([1] * 5)
    assert family.probe_probability(0.5, 3, 4).shape == ()


# Parameters and bad input


@pytest.mark.parametrize(
    "family",
    [
        Hyperplanes(3),
        Hyperplanes(300, seed=2**64 - 1, structured=False),
        SignVectors(3, 5, "random"),
        CrossPolytope(3),
        CrossPolytope(500, 128, 9, False),
    ],
    ids=str,
)
def test_descriptions_and_pickles(family):
    check_description(family)
    again = pickle.loads(pickle.dumps(family))
    assert again == family
    x = np.random.default_rng(1).standard_normal((3, family.dim))
    assert (again.buckets(x, 3, 5) == family.buckets(x, 3, 5)).all()


def test_parameters_are_checked():
    for kind in (Hyperplanes, CrossPolytope):
        for dim in (0, -1, 2**20 + 1):
            with pytest.raises(
                ValueError, match=rf"dim must be in 1\.\.1048576, not {dim}"
            ):
                kind(dim)
        for dim in (1.0, "3", None, True):
            with pytest.raises(TypeError, match="dim must be an int"):
                kind(dim)
        with pytest.raises(TypeError, match="structured must be True or False, not 1"):
            kind(3, structured=1)
        with pytest.raises(ValueError, match="seed must be in"):
            kind(3, seed=-1)
        assert kind(3, seed="random") != kind(3, seed="random")
    for outputs in (0, 1, 3, 512):
        with pytest.raises(
            ValueError, match=r"outputs must be (in|a power of two in) 2\.\.256"
        ):
            CrossPolytope(10, outputs)
    with pytest.raises(ValueError, match=r"outputs must be in 2\.\.128, not 256"):
        CrossPolytope(300, 256)
    assert [
        CrossPolytope(dim).outputs for dim in (1, 2, 3, 100, 256, 300, 768, 5000)
    ] == [
        2,
        2,
        4,
        128,
        256,
        128,
        256,
        256,
    ]
    with pytest.raises(ValueError, match="dim must be in"):
        SignVectors(2**24 + 1)
    with pytest.raises(ValueError, match="zero must be"):
        SignVectors(3, zero="none")
    with pytest.raises(ValueError, match=r"count must be in 1\.\.4096, not 4097"):
        SignVectors(3).collide(np.ones(3), np.ones(3), 4097)


@pytest.mark.parametrize(
    "family", [*FAMILIES, CrossPolytope(40, structured=False)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_that_are_refused(family, dtype, sparse):
    x = np.ones((9, 40), dtype)
    for wrong in (np.nan, np.inf, -np.inf):
        bad = x.copy()
        bad[5, 7] = bad[6, 3] = wrong
        for form in (bad, sparse.csr_matrix(bad)):
            said = f"items must be finite, and row 5, column 7 is {wrong}"
            with pytest.raises(ValueError, match=said):
                family.hash(form, 9)
            with pytest.raises(ValueError, match=said):
                family.buckets(form, 3, 3)
            with pytest.raises(
                ValueError, match=f"b must be finite, and row 5, column 7 is {wrong}"
            ):
                family.distance(x, form)
            if hasattr(family, "probe"):
                with pytest.raises(
                    ValueError,
                    match=f"items must be finite, and row 5, column 7 is {wrong}",
                ):
                    family.probe(form, 2, 2, 2)
    for wrong in (
        x[:, 1:],
        np.ones(41),
        np.ones((2, 2, 40)),
        sparse.csr_matrix(x[:, 1:]),
        3.0,
    ):
        with pytest.raises(ValueError, match=r"items must have shape \(n, 40\)"):
            family.hash(wrong, 9)
    for wrong in (x.astype(complex), x.astype(str), x.astype(bool), [[None] * 40]):
        with pytest.raises(TypeError, match="items must be integers or floats"):
            family.hash(wrong, 9)
    with pytest.raises(ValueError, match="count must be"):
        family.hash(x, 0)
    with pytest.raises(TypeError, match="count must be an int"):
        family.hash(x, 2.0)
    for wrong in (-0.1, 3.2, np.nan):
        with pytest.raises(ValueError, match=r"distance must be in 0\.\.3\.14"):
            family.collision_probability(wrong)


def test_damaged_csr_matrices_are_refused(sparse):
    good = sparse.csr_matrix(np.eye(5))
    for part, value, message in (
        ("indptr", [0, 1, 2, 3, 4, 6], "rise from 0 to at most 5"),
        ("indptr", [0, 2, 1, 3, 4, 5], "rise from 0 to at most 5"),
        ("indptr", [0, 1, 2, 3, 5], "right lengths"),
        ("indices", [0, 1, 5, 3, 4], r"indices must be in 0\.\.4"),
        ("indices", [0, -1, 2, 3, 4], r"indices must be in 0\.\.4"),
        ("data", [1.0, 2.0], "right lengths"),
    ):
        bad = good.copy()
        setattr(bad, part, np.array(value))
        with pytest.raises(ValueError, match=message):
            Hyperplanes(5).hash(bad, 4)


@pytest.mark.slow
@pytest.mark.parametrize("family", [Hyperplanes(40), CrossPolytope(40)], ids=str)
def test_probes_that_are_refused(family):
    x = np.ones((2, 40))
    for wrong in (
        {"bands": 0},
        {"rows_per_band": 0},
        {"rows_per_band": 4097},
        {"probes": 0},
        {"probes": 2**20 + 1},
    ):
        arguments = {"bands": 1, "rows_per_band": 2, "probes": 3, **wrong}
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            family.probe(x, **arguments)
    for wrong in ({"rows_per_band": 0}, {"probes": 0}, {"distance": 4}):
        arguments = {"distance": 0.5, "rows_per_band": 2, "probes": 3, **wrong}
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            family.probe_probability(**arguments)


def test_factors_of_many_coordinates_are_not_kept(monkeypatch):
    family = Hyperplanes(300)
    vectors = np.random.default_rng(1).standard_normal((20, 300))
    values = family.hash(vectors, 900)
    rotated._factors_of.cache_clear()
    monkeypatch.setattr(rotated, "KEPT_COORDINATES", 0)
    assert (family.hash(vectors, 900) == values).all()
    assert rotated._factors_of.cache_info().currsize == 0

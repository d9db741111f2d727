"""Fingerprints: squares of minutiae, matches against all pairs, and the rates of the text by formula and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import LSHIndex, TokenSets
from lshfast.families import GridSquares
from lshfast.fingerprints import (
    FingerprintGrid,
    FingerprintMatcher,
    best_functions,
    normalize_prints,
)
from tests.cli.commands import failing, run
from tests.conftest import csr


def sets_of(rows):
    return TokenSets(*csr(rows))


def decided(matcher, a, b):
    """Return whether two sets match, by the definition."""
    functions = matcher.family.functions(matcher.functions * matcher.groups).tolist()
    yes = [set(squares) <= a and set(squares) <= b for squares in functions]
    n = matcher.functions
    return all(any(yes[group * n : (group + 1) * n]) for group in range(matcher.groups))


prints = st.lists(st.sets(st.integers(0, 11)), max_size=6)


@settings(max_examples=100)
@given(prints, prints, st.integers(1, 3), st.integers(1, 12), st.integers(1, 3))
def test_matches_are_those_of_all_pairs(first, second, squares, functions, groups):
    matcher = FingerprintMatcher(GridSquares(12, squares, seed=5), functions, groups)
    within = [
        (i, j)
        for i in range(len(first))
        for j in range(i + 1, len(first))
        if decided(matcher, first[i], first[j])
    ]
    against = [
        (i, j)
        for i, a in enumerate(first)
        for j, b in enumerate(second)
        if decided(matcher, a, b)
    ]
    for found, expected, others in (
        (matcher.match(sets_of(first)), within, first),
        (matcher.match(sets_of(first), sets_of(second)), against, second),
    ):
        assert (
            list(zip(found["i"].tolist(), found["j"].tolist(), strict=True)) == expected
        )
        assert found["common"].tolist() == [
            len(first[i] & others[j]) for i, j in expected
        ]
        assert found["similarity"].tolist() == [
            len(first[i] & others[j]) / len(first[i] | others[j]) for i, j in expected
        ]


def test_pairs_are_those_of_the_family():
    """The matcher and `collide` of the amplified family decide alike."""
    generator = np.random.default_rng(2)
    rows = sets_of(
        [np.flatnonzero(generator.random(200) < 0.4).tolist() for _ in range(60)]
    )
    matcher = FingerprintMatcher(GridSquares(200, seed=3), 40, 2)
    found = {
        (int(i), int(j))
        for i, j in zip(*(matcher.match(rows)[name] for name in "ij"), strict=True)
    }
    i, j = np.triu_indices(60, 1)
    yes = matcher.amplified.collide(rows.take(i), rows.take(j), 1)[:, 0]
    assert found == set(zip(i[yes].tolist(), j[yes].tolist(), strict=True))
    assert 0 < len(found) < len(i)


def test_f31_rates_by_formula():
    """MMDS 3.8.5; its .970 and 1/250 are from rounded numbers: the last is .0040242, 1 in 248.5."""
    family = GridSquares(400)
    assert FingerprintMatcher(family, 1024, 1).rates() == pytest.approx(
        (0.98505, 0.06344), abs=5e-6
    )
    assert FingerprintMatcher(family, 1024, 2).rates() == pytest.approx(
        (0.97032, 0.0040242), abs=5e-6
    )
    assert 1 / FingerprintMatcher(family).rates().false == pytest.approx(
        248.5, abs=0.05
    )


def test_f32_rates_by_formula():
    """Exercises 3.8.2 to 3.8.5: more functions, two squares, and the best number of functions."""
    found, false = FingerprintMatcher(GridSquares(400), 2048, 1).rates()
    assert 1 - found == pytest.approx(2.2356e-4, abs=5e-9)
    assert false == pytest.approx(0.122849, abs=5e-7)
    for n in (1, 10, 300):
        two = FingerprintMatcher(GridSquares(400, squares=2), n, 1).rates()
        assert two == pytest.approx((1 - (1 - 0.0256) ** n, 1 - (1 - 0.0016) ** n))
    assert best_functions(GridSquares(400)) == 1030
    found, false = FingerprintMatcher(GridSquares(400), 1030, 1).rates()
    assert 1 - found + false == pytest.approx(0.0783844, abs=5e-8)
    for groups in (1, 2):
        family = GridSquares(400, 2)
        rates = [FingerprintMatcher(family, n, groups).rates() for n in range(1, 900)]
        sums = [1 - found + false for found, false in rates]
        assert best_functions(family, groups) == int(np.argmin(sums)) + 1


GROUPS, FINGERS = 12, 40


def simulated(matcher, seed):
    """Return the rates of matches among prints of one finger and of different fingers, of independent groups.

    The squares of all functions differ in a grid of 2**24, as the formula assumes, and only these squares matter.
    """
    family, generator = matcher.family, np.random.default_rng(seed)
    used = np.unique(family.functions(matcher.functions * matcher.groups))
    assert len(used) > 0.999 * matcher.functions * matcher.groups * family.squares
    rates = []
    for _ in range(GROUPS):
        first = generator.random((FINGERS, len(used))) < family.minutia
        other = np.where(
            first,
            generator.random(first.shape) < family.match,
            generator.random(first.shape) < 0.05,
        )
        a, b = (
            sets_of([used[row].tolist() for row in table]) for table in (first, other)
        )
        found = matcher.match(a, b)
        same = int((found["i"] == found["j"]).sum())
        rates.append((same / FINGERS, (len(found) - same) / (FINGERS * (FINGERS - 1))))
    return np.array(rates)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    ("squares", "functions", "groups"),
    [
        (3, 1024, 2),
        (2, 100, 1),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in [(3, 1024, 1), (3, 2048, 1), (2, 150, 2)]
        ),
    ],
)
def test_f31_f32_rates_by_simulation(squares, functions, groups):
    """Another print has a minutia in .05 of the squares where the first has none, so that it has .2 of them in all."""
    matcher = FingerprintMatcher(
        GridSquares(2**24, squares, seed=11), functions, groups
    )
    measured = simulated(matcher, 17)
    for rates, expected in zip(measured.T, matcher.rates(), strict=True):
        error = max(
            rates.std(ddof=1), math.sqrt(expected * (1 - expected) / FINGERS)
        ) / math.sqrt(GROUPS)
        assert abs(rates.mean() - expected) < 4 * error


def test_many_to_one_and_pieces(monkeypatch):
    from lshfast.fingerprints import matching as module

    generator = np.random.default_rng(3)
    fingers = generator.random((80, 400)) < 0.2
    again = np.where(
        fingers,
        generator.random(fingers.shape) < 0.9,
        generator.random(fingers.shape) < 0.025,
    )
    database, queries = (
        sets_of([np.flatnonzero(row).tolist() for row in table])
        for table in (fingers, again)
    )
    matcher = FingerprintMatcher(GridSquares(400))
    every = matcher.match(queries, database)
    assert (every["i"] == every["j"]).sum() >= 75
    one = matcher.match(queries.take([7]), database)
    assert one["j"].tolist() == every["j"][every["i"] == 7].tolist()
    monkeypatch.setattr(module, "PIECE_VALUES", 5000)
    monkeypatch.setattr(module, "PIECE_PAIRS", 100)
    told = []
    assert (
        matcher.match(queries, database, progress=lambda *now: told.append(now))
        == every
    ).all()
    assert len(told) > 5
    assert told[-1] == ("verify", 80, 80)
    told.clear()
    matcher.match(sets_of([[], []]), progress=lambda *now: told.append(now))
    assert told == [("verify", 2, 2)]


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("functions", [70, 128])
def test_prints_with_minutiae_in_most_squares(monkeypatch, functions):
    """They meet all others in many buckets, and are compared by bits; others are looked up."""
    from lshfast.fingerprints import matching as module

    generator = np.random.default_rng(5)
    shares = generator.permutation(np.repeat([0, 0.05, 0.3, 0.97, 1], 12))
    rows = [
        set(np.flatnonzero(generator.random(100) < share).tolist()) for share in shares
    ]
    matcher = FingerprintMatcher(GridSquares(100), functions, 2)
    wanted = [
        (i, j)
        for i in range(60)
        for j in range(60)
        if decided(matcher, rows[i], rows[j])
    ]
    sets, told = sets_of(rows), []
    for values, pairs in ((2**22, 2**22), (3000, 100)):
        monkeypatch.setattr(module, "PIECE_VALUES", values)
        monkeypatch.setattr(module, "PIECE_PAIRS", pairs)
        told.clear()
        found = matcher.match(sets, sets, progress=lambda *now: told.append(now))
        assert (
            list(zip(found["i"].tolist(), found["j"].tolist(), strict=True)) == wanted
        )
        assert told == sorted(told)
        assert told[-1] == ("verify", 60, 60)
        found = matcher.match(sets)
        assert list(zip(found["i"].tolist(), found["j"].tolist(), strict=True)) == [
            (i, j) for i, j in wanted if i < j
        ]


def test_an_index_of_the_family_finds_the_pairs_of_one_group():
    """Both verbs for every index: single queries and batches of an LSHIndex of the family."""
    generator = np.random.default_rng(4)
    rows = sets_of(
        [np.flatnonzero(generator.random(400) < 0.25).tolist() for _ in range(30)]
    )
    family = GridSquares(400, seed=9)
    index = LSHIndex(family=family, bands=64, rows_per_band=1)
    index.insert(range(30), rows)
    matcher = FingerprintMatcher(family, 64, 1)
    expected = matcher.match(rows, rows)
    for row in range(30):
        assert (
            sorted(index.query(rows.take([row]))[0])
            == expected["j"][expected["i"] == row].tolist()
        )


def test_squares_of_minutiae():
    grid = FingerprintGrid(10, 3, 2)
    assert grid.size == 6
    x, y = [0, 9.99, 10, 29.9, 0, 29, 5, 5], [0, 0, 0, 0, 10, 19.9, 3, 4]
    assert grid.squares_of(x, y).tolist() == [0, 0, 1, 2, 3, 5, 0, 0]
    found = grid.prints([2, 0, 0, 2, 2, 2, 2, 2], x, y, 3)
    assert [set(found[row].tolist()) for row in range(3)] == [
        {0, 1},
        set(),
        {0, 2, 3, 5},
    ]
    assert found.counts.tolist() == [2, 0, 4]
    third = FingerprintGrid(0.1, 3, 1)
    assert third.squares_of([math.nextafter(0.1 * 3, 0)], [0]).tolist() == [2]
    assert grid.prints([], [], [], 0).counts.tolist() == []


def test_g10_minutiae_near_a_border_count_for_the_adjacent_squares():
    grid = FingerprintGrid(10, 3, 2, border=1)
    around = {
        (5, 5): {0},
        (9.5, 5): {0, 1},
        (10.5, 5): {0, 1},
        (11.5, 5): {1},
        (20.5, 9.5): {1, 2, 4, 5},
    }
    around |= {(0.5, 0.5): {0}, (29.9, 19.9): {5}}  # no square beyond the edge
    for (x, y), squares in around.items():
        assert set(grid.prints([0], [x], [y], 1)[0].tolist()) == squares
    assert [
        set(row.tolist()) for row in grid.prints([1, 0, 1], [5, 15, 5], [5, 5, 9.5], 2)
    ] == [{1}, {0, 3}]


def test_g10_a_border_finds_prints_whose_minutiae_moved():
    """Each minutia moves by up to 3 units in both directions; squares have a side of 25."""
    generator = np.random.default_rng(10)
    x, y = 3 + 394 * generator.random((200, 80)), 3 + 494 * generator.random((200, 80))
    moved = [axis + generator.uniform(-3, 3, axis.shape) for axis in (x, y)]
    owners = np.arange(200).repeat(80)
    common = []
    for border in (0, 3):
        grid = FingerprintGrid(25, 16, 20, border)
        prints = grid.prints(owners, x.ravel(), y.ravel(), 200)
        others = grid.prints(owners, moved[0].ravel(), moved[1].ravel(), 200)
        common.append(1 - GridSquares(grid.size).distance(prints, others).mean())
        assert (prints.counts > 0).all()
        if border:
            own = FingerprintGrid(25, 16, 20).prints(owners, x.ravel(), y.ravel(), 200)
            assert all(
                set(a.tolist()) <= set(b.tolist())
                for a, b in zip(own, others, strict=True)
            )
    assert common[1] > 1.3 * common[0]


def turned(points, degrees, scale, core):
    """Return another image of a finger."""
    angle = np.radians(degrees)
    matrix = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return scale * points @ matrix + core


IMAGES = [(20, 1.1, (30, 40)), (180, 0.01, (-5, 0)), (-95, 700, (1e6, 2e6))]


@pytest.mark.parametrize(("degrees", "scale", "core"), IMAGES)
@pytest.mark.parametrize("known", [(), ("cores", "directions", "scales"), ("scales",)])
def test_g10_prints_are_normalised_before_the_grid(degrees, scale, core, known):
    """Images of a finger have the same squares, by what is known of an image and by the minutiae."""
    generator = np.random.default_rng(12)
    finger = generator.gamma(4, 30, (80, 2)) - 120
    image = turned(finger, degrees, scale, core)
    points = np.concatenate([finger, image])
    truth = {
        "cores": [(0, 0), core],
        "directions": [1.0, 1.0 + np.radians(degrees)],
        "scales": [90, 90 * scale],
    }
    grid = FingerprintGrid(25, 20, 20)
    x, y = normalize_prints(
        np.arange(2).repeat(80),
        *points.T,
        2,
        center=(250, 250),
        size=90,
        **{name: truth[name] for name in known},
    )
    assert np.allclose(x[:80], x[80:])
    assert np.allclose(y[:80], y[80:])
    inside = grid.contains(x, y)
    assert inside.mean() > 0.9
    prints = grid.prints(np.arange(2).repeat(80)[inside], x[inside], y[inside], 2)
    assert prints[0].tolist() == prints[1].tolist()
    if not known:
        assert np.allclose([x[:80].mean(), y[:80].mean()], 250)
        assert np.isclose(
            np.sqrt(((x[:80] - 250) ** 2 + (y[:80] - 250) ** 2).mean()), 90
        )


def test_g10_prints_with_few_minutiae():
    assert [part.tolist() for part in normalize_prints([], [], [], 2)] == [[], []]
    x, y = normalize_prints([1, 0, 0], [7, 3, 3], [8, 4, 4], 3, center=(1, 2))
    assert (x.tolist(), y.tolist()) == ([1, 1, 1], [2, 2, 2])
    x, y = normalize_prints([0, 0], [0, 3], [0, 4], 1, size=10)
    assert np.allclose(abs(y), 10)
    assert np.allclose(x, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"owners": [0, 2]}, r"owners must be in 0\.\.0, not 0\.\.2"),
        ({"x": [0]}, "owners must have one number for each of 1 points"),
        ({"y": [0]}, "x and y must have the same length, not 2 and 1"),
        ({"x": [math.inf, 0]}, "x must be in"),
        ({"x": [math.nan, 0]}, "x must be in"),
        ({"center": 3}, "center must have one dimension"),
        ({"center": (1, 2, 3)}, "center must be two numbers"),
        ({"size": 0}, "size must be in"),
        ({"scales": [0]}, "scales must be in"),
        ({"cores": [1, 2]}, r"cores must have the shape \(1, 2\), not \(2,\)"),
        ({"directions": [[1]]}, "directions must have the shape"),
        ({"directions": ["up"]}, "directions must be numbers"),
    ],
)
def test_bounds_of_normalisation(arguments, message):
    valid = {"owners": [0, 0], "x": [0, 1], "y": [0, 1], "count": 1}
    with pytest.raises((TypeError, ValueError), match=message):
        normalize_prints(**(valid | arguments))


def test_normalised_on_the_command_line(tmp_path):
    finger = np.random.default_rng(2).gamma(4, 30, (80, 2))
    prints = {"first": finger, "other": turned(finger, 20, 1.1, (-900, 40))}
    rows = [
        f"{name},{x},{y}" for name, points in prints.items() for x, y in points.tolist()
    ]
    source, output = tmp_path / "prints.csv", tmp_path / "out.csv"
    source.write_text("\n".join(["id,x,y", *rows]) + "\n")
    command = ["fingerprints", "match", str(source), "-o", str(output)]
    options = ["--square", "25", "--normalize"]
    assert "not on the grid" in failing(1, *command, "--square", "25")
    result = run(*command, *options)
    assert result.exit_code == 0, result.output
    matches = output.read_text().splitlines()
    assert len(matches) == 2
    assert matches[1].startswith("first,other,")
    assert matches[1].endswith(",1.0")
    source.write_text("id,x,y\na,nan,1\n")
    line = failing(1, *command, *options, "--overwrite")
    assert "x and y must be in" in line


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: FingerprintGrid(10, border=6),
            ValueError,
            r"border must be in 0\.\.5, half of a square, not 6\.0",
        ),
        (lambda: FingerprintGrid(10, border=-1), ValueError, "border must be in"),
        (
            lambda: FingerprintGrid(0),
            ValueError,
            "square must be above 0 and finite, not 0.0",
        ),
        (lambda: FingerprintGrid(math.nan), ValueError, "square must be above 0"),
        (
            lambda: FingerprintGrid(1, 2**13, 2**12),
            ValueError,
            r"rows must be in 1\.\.2048, not 4096",
        ),
        (
            lambda: FingerprintGrid(10).squares_of([200], [0]),
            ValueError,
            r"0 <= x < 200 .* not \(200, 0\)",
        ),
        (
            lambda: FingerprintGrid(10).squares_of([math.nan], [0]),
            ValueError,
            r"not \(nan, 0\)",
        ),
        (
            lambda: FingerprintGrid(10).squares_of([1, 2], [0]),
            ValueError,
            "same length, not 2 and 1",
        ),
        (
            lambda: FingerprintGrid(10).squares_of(["a"], [0]),
            TypeError,
            "x must be numbers",
        ),
        (
            lambda: FingerprintGrid(10).prints([3], [0], [0], 3),
            ValueError,
            r"owners must be in 0\.\.2, not 3\.\.3",
        ),
        (
            lambda: FingerprintGrid(10).prints([0.5], [0], [0], 3),
            TypeError,
            "owners must be integers",
        ),
        (
            lambda: FingerprintGrid(10).prints([0, 1], [0], [0], 3),
            ValueError,
            "one number for each of 1 points",
        ),
        (
            lambda: FingerprintMatcher(400),
            TypeError,
            "family must be GridSquares, not 400",
        ),
        (
            lambda: FingerprintMatcher(GridSquares(9), 0),
            ValueError,
            "functions must be in",
        ),
        (
            lambda: FingerprintMatcher(GridSquares(9), 2**20, 17),
            ValueError,
            r"groups must be in 1\.\.16, not 17",
        ),
        (
            lambda: FingerprintMatcher(GridSquares(9)).match([[1]]),
            TypeError,
            "must be TokenSets",
        ),
        (
            lambda: FingerprintMatcher(GridSquares(9)).match(sets_of([[9]])),
            ValueError,
            r"squares in 0\.\.8",
        ),
        (lambda: best_functions(GridSquares(9), 0), ValueError, "groups must be"),
        (
            lambda: best_functions(GridSquares(9), 10**400),
            ValueError,
            "groups must be in",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()

"""The family of random lines in the plane for the Euclidean distance, and its probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int, check_number, numbers_of
from lshfast._common.rows import int64_range
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Float64Array, Int64Array, Matrix, UInt64Array
from lshfast.families.draws import draw, following
from lshfast.families.family import Family, check_pairs
from lshfast.families.points import SparsePoints, dense_points

PLANE = 44  # domain
MAX_BUCKET = 2.0**52

# Values in one piece of work: their float64s stay in the cache.
PIECE_VALUES = 2**16


@dataclass(frozen=True)
class PlaneLines(Family[npt.NDArray[np.floating[Any]]]):
    """Lines in the plane: points are projected on a random line with buckets of equal width.

    The distance is the Euclidean distance d. The direction of the line and the start of its buckets
    are uniform. With x = d / width, the collision probability is

    - 1 - 2 x / pi for x <= 1;
    - (2 / pi) (arcsin(1 / x) - x + sqrt(x**2 - 1)) for x > 1.

    So the family is (a / 2, 2 a, 0.6817, 0.1628)-sensitive for the width a; texts state (a / 2, 2
    a, 1/2, 1/3). With a random unit vector in more dimensions, which the texts suggest too, their
    statement is false from five dimensions on: the collision probability at 2 a is 0.312 with four
    dimensions, 0.359 with five and 0.84 with a hundred, see `unit_line_probability`. Therefore this
    family is for the plane only. Distances d1 = a / 2 and d2 = 2 a satisfy 4 d1 <= d2; the
    condition d1 < 4 d2 of some texts is wrong.

    Parameters
    ----------
    width : float
        Width of a bucket, finite and above 0, in the unit of the coordinates.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.GaussianLines : Random lines for Euclidean distance.
    lshfast.textbook.axis_buckets : Buckets of points on the axes.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.7.4.

    Examples
    --------
    >>> from lshfast.families import PlaneLines
    >>> family = PlaneLines(width=1.0)
    >>> (
    ...     family.distance([[0, 0]], [[3, 4]]).tolist(),
    ...     family.collision_probability([0.5, 2]).round(4).tolist(),
    ... )
    ([5.0], [0.6817, 0.1628])
    >>> bool(abs(family.collide([[0, 0]], [[0.3, 0.4]], 4096).mean() - 0.6817) < 0.03)
    True
    """

    name: ClassVar[str] = "plane-lines"

    width: float
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", check_width(self.width))

    def lines(self, count: int) -> tuple[Matrix[np.float64], Float64Array]:
        """Return unit vectors, (count, 2), and the starts of buckets in widths, (count,)."""
        words = draw(self.seed, PLANE, check_int("count", count, 1))
        directions = np.zeros((count, 2))
        undrawn = int64_range(count)
        for attempt in range(1, 2**20):  # each succeeds with probability pi / 4
            x, y = (
                _centred(following(words[undrawn], 2 * attempt + side))
                for side in (0, 1)
            )
            squares = x * x + y * y
            inside = (squares > 0) & (squares <= 1)
            lengths = np.sqrt(squares[inside])
            directions[undrawn[inside]] = np.stack(
                [x[inside] / lengths, y[inside] / lengths], axis=1
            )
            undrawn = undrawn[~inside]
            if not len(undrawn):
                break
        start_words = following(words, 1) >> np.uint64(11)
        return directions, start_words.astype(np.float64) * 2.0**-53

    def hash(
        self, items: npt.ArrayLike, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the bucket numbers of points under the first `count` functions.

        Parameters
        ----------
        items : array_like of float, shape (n, 2), or CSR matrix
            Finite coordinates.
        count : int
            Number of functions, at least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            The number of the bucket plus 2**63.

        Raises
        ------
        TypeError
            If the coordinates are not numbers.
        ValueError
            If the points have a different shape, a coordinate is NaN or infinite, or a point is
            more than 2**52 widths away from the origin along a line, where float64 cannot tell
            buckets apart.
        """
        points = _in_plane(items)
        directions, starts = self.lines(count)
        values = np.empty((len(points), count), np.uint64)

        def work(rows: slice) -> None:
            numbers = bucket_numbers(points[rows], directions, starts, self.width)
            values[rows] = numbers.view(np.uint64)

        for_each_piece(
            work, np.full(len(points), count, np.int64), PIECE_VALUES, threads
        )
        return values ^ np.uint64(2**63)

    def distance(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array:
        """Compute the Euclidean distances of pairs of points.

        Parameters
        ----------
        a, b : array_like of float, shape (n, 2)
            n points each; one of them may be a single point.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape, a coordinate is not finite, or a distance
            overflows.
        """
        first = _in_plane(a, "a")
        second = _in_plane(b, "b")
        check_pairs(len(first), len(second))
        with np.errstate(over="ignore"):
            distances = np.hypot(*np.subtract(first, second, dtype=np.float64).T)
        is_finite = np.isfinite(distances)
        if not is_finite.all():
            raise ValueError(
                f"the distance of pair {int(np.argmin(is_finite))} overflows"
            )
        return np.asarray(distances, np.float64)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute the collision probability of points in the plane.

        Parameters
        ----------
        distance : array_like of float
            Euclidean distances, at least 0; infinity is allowed.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return unit_line_probability(distance, self.width, 2)


def unit_line_probability(
    distance: npt.ArrayLike, width: float, dim: int
) -> Float64Array:
    """Compute the probability that points share a bucket on a line of random direction.

    The direction is a uniform unit vector, not a Gaussian one, and the start of the buckets is
    uniform. With x the distance in widths and s the greatest angle of the pair to the normal of the
    line at which a collision is possible, sin(s) = min(1, 1 / x), it is the integral of (1 - x
    sin(t)) cos(t)**(dim - 2) for t from 0 to s, divided by the integral of cos(t)**(dim - 2) for t
    from 0 to pi / 2.

    Parameters
    ----------
    distance : array_like of float
        Euclidean distances, at least 0; infinity is allowed.
    width : float
        Width of a bucket, finite and above 0.
    dim : int
        At least 2.

    Returns
    -------
    ndarray of float64, with the shape of `distance`

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.PlaneLines : Random lines in the plane.
    lshfast.families.GaussianLines : Random lines for Euclidean distance, of any dimension.

    Examples
    --------
    The probability at twice the width is at most 1/3 up to four dimensions only:

    >>> from lshfast.families import unit_line_probability
    >>> [
    ...     float(unit_line_probability(2, 1, dim).round(3))
    ...     for dim in (2, 3, 4, 5, 8, 16, 100)
    ... ]
    [0.163, 0.25, 0.312, 0.359, 0.46, 0.601, 0.84]
    """
    check_int("dim", dim, 2)
    distances = numbers_of(distance, "distance", 0, np.inf) / check_width(width)
    x = np.minimum(distances, 1e100)  # so that squares neither overflow nor vanish
    with np.errstate(divide="ignore"):
        sine = np.minimum(1, 1 / x)
        log_cosine = np.log1p(-sine * sine) / 2
    cosine = np.sqrt((1 - sine) * (1 + sine))
    integral = _integral_of_cosines(np.ones(()), np.zeros(()), dim - 2)
    partial_integral = _integral_of_cosines(sine, cosine, dim - 2)
    slope = -x * np.expm1((dim - 1) * log_cosine) / (dim - 1)
    return np.asarray(
        np.where(
            np.isinf(distances),
            0.0,
            np.clip((partial_integral - slope) / integral, 0, 1),
        )
    )


def bucket_numbers(
    points: npt.NDArray[np.floating[Any]],
    directions: Matrix[np.float64],
    starts: Float64Array,
    width: float,
) -> Int64Array:
    """Compute the bucket numbers of points on lines, floor(point . direction / width + start).

    Products are added from the first coordinate to the last, each operation rounded as float64.

    Parameters
    ----------
    points : ndarray of float, shape (n, dim)
        Finite.
    directions : ndarray of float64, shape (count, dim)
    starts : ndarray of float64, shape (count,)
        In widths.
    width : float
        Finite and above 0.

    Returns
    -------
    ndarray of int64, shape (n, count)

    Raises
    ------
    ValueError
        If a number is not in -2**52..2**52.

    Examples
    --------
    The axes of the space are the lines here. Points are candidates if they share a bucket:

    >>> import numpy as np
    >>> from lshfast.families.plane import bucket_numbers
    >>> points = np.array([[1.0, 2, 3], [0, 2, 4], [4, 3, 2]])
    >>> bucket_numbers(points, np.eye(3), np.zeros(3), 2.0).tolist()
    [[0, 1, 1], [0, 1, 2], [2, 1, 1]]
    """
    sums = np.zeros((len(points), len(directions)))
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(directions.shape[1]):
            sums += points[:, i, np.newaxis].astype(np.float64) * directions[:, i]
        sums /= width
        sums += starts
        np.floor(sums, out=sums)
    wrong = ~(np.abs(sums) <= MAX_BUCKET)
    if wrong.any():
        point = points[np.argwhere(wrong)[0, 0]].tolist()
        raise ValueError(
            f"points must be within 2**52 widths of {width} of the origin along each line, not "
            f"{point}"
        )
    return sums.astype(np.int64)


def check_width(width: float) -> float:
    """Return the width of a bucket as a float, or raise an error that names the range."""
    width = check_number("width", width)
    if not 0 < width < np.inf:
        raise ValueError(f"width must be finite and above 0, not {width}")
    return width


def _centred(words: UInt64Array) -> Float64Array:
    """Return numbers in [-1, 1), multiples of 2**-52."""
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1)


def _in_plane(items: Any, name: str = "items") -> npt.NDArray[np.floating[Any]]:
    points = dense_points(items, 2, name)
    dense = points.dense() if isinstance(points, SparsePoints) else points
    return cast("npt.NDArray[np.floating[Any]]", dense)


def _integral_of_cosines(
    sine: Float64Array, cosine: Float64Array, power: int
) -> Float64Array:
    """Return the integral of cos**power from 0 to the angle with this sine and cosine.

    The angle is in [0, pi / 2].
    """
    integral = np.asarray(np.arctan2(sine, cosine) if power % 2 == 0 else sine)
    for m in range(2 + power % 2, power + 1, 2):
        integral = cosine ** (m - 1) * sine / m + (m - 1) / m * integral
    return np.asarray(integral)

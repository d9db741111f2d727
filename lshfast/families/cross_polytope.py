"""The cross-polytope family: the nearest of the vectors ± e_i after a random rotation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_bool, check_int, numbers_of
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import Float32Array, Float64Array, UInt64Array
from lshfast.families.angles import AngleFamily
from lshfast.families.points import dense_points
from lshfast.families.polytope_curve import collision_curve
from lshfast.families.probing import (
    ProbeCurves,
    Probing,
    check_probes,
    probability_of_probes,
)
from lshfast.families.rotated import MAX_DIM, Projection
from lshfast.kernels import probes as kernels
from lshfast.kernels.rotations import shape

# The default number of outputs is at most this: a rotation of a vector of more coordinates gives
# several functions.
USUAL_OUTPUTS = 256
# The coordinates of all simulated functions together, the least and the largest number of these
# functions, and the angles of the simulation.
SIMULATED_COORDINATES = 2**20
SIMULATED_FUNCTIONS = (2**12, 2**15)
SIMULATED_ANGLES = 33


@dataclass(frozen=True)
class CrossPolytope(AngleFamily, Probing[Any]):
    """The cross-polytope family: the farthest coordinate of a vector after a random rotation.

    The distance is the angle between two vectors, in radians. The value under a function is the
    number of the coordinate with the greatest absolute value among `outputs` coordinates, plus
    `outputs` if it is negative: the nearest corner of a cross-polytope. A function separates near
    from far vectors better than the log2(2 * outputs) hyperplanes whose values take as many bits.
    For angles with cosines 0.9 and 0.5, rho is 0.325 with 128 outputs, and 0.382 with hyperplanes.

    The rotations are the same as for `Hyperplanes`. The collision probability is computed for
    Gaussian projections, as an integral with an error below 3e-6. Rotations have nearly the same
    probability. The coordinates of two vectors at a right angle have no product, so these collide
    less often than Gaussian projections do when `outputs` is the padded dim, by up to a third. At
    angles below pi / 4 the difference is below 0.01.

    Zero vectors have no value.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, in 1..1,048,576.
    outputs : int, optional
        Coordinates of which the farthest is taken: a power of two from 2 on that divides the padded
        dim. The default is the least power of two that is at least `dim`, and at most 256. Fewer
        outputs make shorter values.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.
    structured : bool, default True
        False takes the products with vectors of independent Gaussian numbers instead, which is many
        times slower; it serves for comparison.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.Hyperplanes : Random hyperplanes, for angles.
    lshfast.families.SignVectors : Random vectors of ±1, for angles.
    lshfast.families.Probing : Base class of families that name promising buckets.

    References
    ----------
    A. Andoni, P. Indyk, T. Laarhoven, I. Razenshteyn, L. Schmidt, "Practical and Optimal LSH for
    Angular Distance", NIPS 2015.

    Examples
    --------
    >>> from lshfast.families import CrossPolytope
    >>> family = CrossPolytope(dim=128)
    >>> (
    ...     family.outputs,
    ...     family.value_bits,
    ...     family.collision_probability([0.0, 0.451, 1.5708]).round(3).tolist(),
    ... )
    (128, 8, [1.0, 0.431, 0.004])
    """

    name: ClassVar[str] = "cross-polytope"

    dim: int
    outputs: int | None = None
    seed: SeedField = SEED
    structured: bool = True
    value_bits: int = field(init=False, repr=False, compare=False, default=64)

    def __post_init__(self) -> None:
        dim = check_int("dim", self.dim, 1, MAX_DIM)
        parts, block = shape(dim)
        most = block if parts > 1 else parts * block
        outputs = self.outputs
        if outputs is None:
            outputs = min(max(2, 1 << (dim - 1).bit_length()), USUAL_OUTPUTS, most)
        outputs = check_int("outputs", outputs, 2, most)
        if outputs & (outputs - 1):
            raise ValueError(
                f"outputs must be a power of two in 2..{most}, not {outputs}"
            )
        check_bool("structured", self.structured)
        object.__setattr__(self, "dim", dim)
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "value_bits", outputs.bit_length())

    def hash(
        self, items: Any, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the values of vectors under the first `count` functions.

        Parameters
        ----------
        items : array_like or CSR matrix of numbers, shape (n, dim) or (dim,)
            Finite. C-contiguous float32 and float64 are not copied. The values of float64 are
            rounded to float32 after the row has been scaled by a power of two.
        count : int
            At least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            In 0..2 * outputs - 1; `NO_VALUE` for zero vectors.

        Raises
        ------
        TypeError
            If the coordinates are not integers or floats.
        ValueError
            If the vectors have a different dim, or a coordinate is NaN or infinite.
        """
        points = dense_points(items, self.dim, finite=False)
        count = check_int("count", count, 1)
        return self._projection().farthest(points, self._outputs(), count, threads)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute the probability that Gaussian projections have the same farthest coordinate.

        Parameters
        ----------
        distance : array_like of float
            Angles in radians, in [0, pi].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            Accurate to 3e-6.
        """
        return collision_curve(
            self._outputs(), numbers_of(distance, "distance", 0, np.pi)
        )

    def probe(
        self,
        items: Any,
        bands: int,
        rows_per_band: int,
        probes: int,
        *,
        threads: int | None = None,
    ) -> UInt64Array:
        """Compute the values of the `probes` most promising buckets of each band, best first.

        A corner other than the nearest costs the square of the difference between the farthest
        coordinate and its own. The buckets with the least sums come first.

        Parameters
        ----------
        items, threads
            As for `hash`.
        bands : int
            At least 1.
        rows_per_band : int
            In 1..4,096.
        probes : int
            In 1..1,048,576.

        Returns
        -------
        ndarray of uint64, shape (n, bands, probes)
            `NO_VALUE` for zero vectors, and where there are fewer buckets than `probes`.

        Raises
        ------
        TypeError, ValueError
            As for `hash`.
        """
        bands, rows_per_band, probes = check_probes(bands, rows_per_band, probes)
        outputs = self._outputs()
        count = bands * rows_per_band * outputs

        def work(coordinates: Float32Array, buckets: UInt64Array) -> None:
            kernels.polytopes(coordinates, outputs, rows_per_band, buckets)

        return self._projection().probe(work, items, count, bands, probes, threads)

    def probe_probability(
        self, distance: npt.ArrayLike, rows_per_band: int, probes: int
    ) -> Float64Array:
        """Compute the probability that the first `probes` buckets of a band hold a vector.

        Parameters
        ----------
        distance : array_like of float
            Angles in radians, in [0, pi].
        rows_per_band : int
            In 1..4,096.
        probes : int
            In 1..1,048,576.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            Exact for one probe, and where the probes are all buckets; otherwise interpolated
            between the results of a simulation with a fixed seed, whose standard error is below
            0.003.
        """
        p = self.collision_probability(distance)
        curves = partial(_probe_curves, self._outputs())
        return probability_of_probes(p, rows_per_band, probes, self.value_bits, curves)

    def _outputs(self) -> int:
        assert self.outputs is not None  # set by __post_init__
        return self.outputs

    def _projection(self) -> Projection:
        return Projection(self.dim, self.seed, self.structured)


@lru_cache(maxsize=64)
def _probe_curves(outputs: int, rows: int, probes: int) -> ProbeCurves:
    random = np.random.default_rng([outputs, rows])
    fewest, most = SIMULATED_FUNCTIONS
    functions = min(max(SIMULATED_COORDINATES // outputs, fewest), most)
    alternatives, other_costs = _simulated_functions(
        outputs, functions, min(probes, 2 * outputs)
    )
    return ProbeCurves.simulate(alternatives, other_costs, rows, probes, random)


@lru_cache(maxsize=4)
def _simulated_functions(
    outputs: int, functions: int, ranks: int
) -> tuple[Float64Array, Float64Array]:
    """Return the costs of the alternatives to a query's value, and of other vectors' values."""
    fine = np.linspace(0, np.pi, 2048)
    probabilities = np.linspace(0, 1, SIMULATED_ANGLES) ** 2
    angles = np.interp(probabilities, collision_curve(outputs, fine)[::-1], fine[::-1])
    alternatives = np.empty((functions, ranks))
    other_costs = np.empty((len(angles), functions))
    random = np.random.default_rng(outputs)
    step = max(1, 2**17 // outputs)
    for part in parts_of_rows(functions, step):
        query, independent = random.standard_normal(
            (2, part.stop - part.start, outputs)
        )
        greatest = np.abs(query).max(axis=1, keepdims=True)
        differences = np.sort(
            np.concatenate([greatest - query, greatest + query], axis=1), axis=1
        )[:, :ranks]
        alternatives[part] = differences**2
        for angle, costs in zip(angles.tolist(), other_costs, strict=True):
            other_vector = np.cos(angle) * query + np.sin(angle) * independent
            place = np.abs(other_vector).argmax(axis=1)[:, None]
            sign = np.sign(np.take_along_axis(other_vector, place, axis=1))
            value = np.take_along_axis(query, place, axis=1) * sign
            costs[part] = ((greatest - value) ** 2)[:, 0]
    return alternatives, other_costs

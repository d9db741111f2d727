"""Families of locality-sensitive hash functions, one for each distance, and plans with them.

A family knows the probability with which two items collide. So it knows which pairs bands of its
functions find:

>>> import numpy as np
>>> from lshfast.families import Hyperplanes
>>> family = Hyperplanes(dim=3, seed=1)
>>> float(family.collision_probability(np.pi / 4))
0.75
>>> family.sensitivity(np.pi / 6, np.pi / 2).p2
0.5

`MinHashFamily` is for sets, `Hyperplanes` and `CrossPolytope` for angles, `GaussianLines` and
`CauchyLines` for distances of vectors, `BitSampling` and `Covering` for codes;
``LSHIndex(family=...)`` indexes the items of any of them. `plan_bands`, `plan_recall` and
`plan_work` choose bands; `amplification_for`, `Amplified` and `Cascade` combine functions.

Files:

- family.py, probing.py: the interface of a family, and of families with multi-probe.
- sets.py, set_distances.py: families of sets; exact distances of sets.
- bits.py, codes.py, unary.py: families of packed codes; families whose values are bits; families of
  whole numbers.
- packed.py: codes in the forms that users have, checked.
- angles.py, vectors.py, rotated.py, cross_polytope.py, polytope_curve.py: families of angles, by
  rotations.
- stable.py, lines.py, coordinates.py, plane.py: families of L1 and L2 distances, by projections, by
  single coordinates, and in the plane.
- points.py: vectors from outside, checked.
- grid.py: fingerprints as sets of squares.
- draws.py: constants that a seed gives.
- cascade.py: steps of AND and OR: curve, inverse, fixed point, steepest point.
- plans.py, planning.py, guarantees.py: a plan and its costs; the choice of bands and rows; rho, k
  and L of the theory.
- curves.py, plots.py: values on the axis of a curve; plots.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.families.bits import BitSampling, Covering
    from lshfast.families.cascade import Cascade
    from lshfast.families.codes import BitCodes, BitFamily
    from lshfast.families.coordinates import CoordinateCells
    from lshfast.families.cross_polytope import CrossPolytope
    from lshfast.families.curves import distance_at
    from lshfast.families.family import (
        NO_VALUE,
        Amplified,
        Family,
        Sensitivity,
        family_of,
    )
    from lshfast.families.grid import GridSquares
    from lshfast.families.guarantees import amplification_for, probe_success, rho
    from lshfast.families.lines import CauchyLines, GaussianLines
    from lshfast.families.plane import PlaneLines, unit_line_probability
    from lshfast.families.planning import (
        plan_bands,
        plan_recall,
        plan_weights,
        plan_work,
    )
    from lshfast.families.plans import BandPlan, Costs
    from lshfast.families.plots import plot_curve
    from lshfast.families.probing import Probing
    from lshfast.families.sets import (
        MinHashFamily,
        SimHashFamily,
        WeightedMinHashFamily,
    )
    from lshfast.families.unary import UnaryBits
    from lshfast.families.vectors import Hyperplanes, SignVectors

__all__ = [
    "NO_VALUE",
    "Amplified",
    "BandPlan",
    "BitCodes",
    "BitFamily",
    "BitSampling",
    "Cascade",
    "CauchyLines",
    "CoordinateCells",
    "Costs",
    "Covering",
    "CrossPolytope",
    "Family",
    "GaussianLines",
    "GridSquares",
    "Hyperplanes",
    "MinHashFamily",
    "PlaneLines",
    "Probing",
    "Sensitivity",
    "SignVectors",
    "SimHashFamily",
    "UnaryBits",
    "WeightedMinHashFamily",
    "amplification_for",
    "distance_at",
    "family_of",
    "plan_bands",
    "plan_recall",
    "plan_weights",
    "plan_work",
    "plot_curve",
    "probe_success",
    "rho",
    "unit_line_probability",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "bits": "BitSampling Covering",
            "cascade": "Cascade",
            "codes": "BitCodes BitFamily",
            "coordinates": "CoordinateCells",
            "cross_polytope": "CrossPolytope",
            "curves": "distance_at",
            "family": "Amplified NO_VALUE Family Sensitivity family_of",
            "grid": "GridSquares",
            "guarantees": "amplification_for probe_success rho",
            "lines": "CauchyLines GaussianLines",
            "plane": "PlaneLines unit_line_probability",
            "planning": "plan_bands plan_recall plan_weights plan_work",
            "plans": "BandPlan Costs",
            "plots": "plot_curve",
            "probing": "Probing",
            "sets": "MinHashFamily SimHashFamily WeightedMinHashFamily",
            "unary": "UnaryBits",
            "vectors": "Hyperplanes SignVectors",
        },
    )

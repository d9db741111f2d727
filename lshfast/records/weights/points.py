"""Scores by points, whose weights the user gives: a penalty that grows with the square of the edit
distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Float64Array
from lshfast.records.tables.fields import Field

MISSING_SHARE = (
    0.5  # of its points, for a field that is missing: neither for nor against a match
)


@dataclass(frozen=True)
class PointsOfField:
    """The points of one field: all for equal values, and `penalty` times the square of the edits
    less for others.

    Attributes
    ----------
    full : float
        Points of equal values.
    penalty : float
        Points that the first edit costs; d edits cost d**2 times as many, but at most all points.
    unit : float or None
        The difference of numbers or dates that counts as one edit.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.2: three
    fields of 100 points, and penalties that grow quadratically with the edit distance.

    Examples
    --------
    >>> import numpy as np
    >>> PointsOfField(100.0, 1.0, None).of(np.array([0.0, 1.0, 5.0, 20.0])).tolist()
    [100.0, 99.0, 75.0, 0.0]
    """

    full: float
    penalty: float
    unit: float | None

    @classmethod
    def of_field(cls, field: Field) -> PointsOfField:
        """Return the points that a field has."""
        return cls(field.points, field.penalty, field.unit)

    @property
    def missing(self) -> float:
        """Points of a field that one record or both lack: half of all."""
        return MISSING_SHARE * self.full

    @property
    def most(self) -> int | None:
        """The greatest number of edits that may leave points; None if any number does."""
        most = (self.full / self.penalty) ** 0.5 if self.penalty else np.inf
        return int(most) + 1 if most < 2**31 else None

    def of(self, edits: npt.NDArray[np.float64]) -> Float64Array:
        """Return the points for numbers of edits."""
        with np.errstate(invalid="ignore", over="ignore"):
            lost = np.where(
                np.isinf(edits),
                np.inf,
                self.penalty * edits**2 if self.penalty else 0.0,
            )
        return np.maximum(self.full - lost, 0.0)

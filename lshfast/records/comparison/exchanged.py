"""Values of two fields that are exchanged in one of two records: a given name and a surname.

An exchange is one error, not two differences: the first field has a level of its own for it, and
the second one counts as missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lshfast._common.types import BoolArray, Int32Array, Int64Array
from lshfast.records.comparison.letters import jaro_winkler
from lshfast.records.comparison.nearness import LEVELS
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.distinct_values import MISSING
from lshfast.records.values.strings import LONG

LEAST_SIMILAR = LEVELS["name"][1][1]  # of two values, if the other two are equal


@dataclass(frozen=True)
class Exchange:
    """The exchange of a field with another one.

    Attributes
    ----------
    field, other : CodedField
    places : ndarray of int64, shape (values + 1,)
        The code in the other field of each value of this one, -1 if it does not occur there. The
        last one is that of missing values.
    counts : bool
        Whether this field counts the exchange; the other one then does not.
    """

    field: CodedField
    other: CodedField
    places: Int64Array
    counts: bool

    @classmethod
    def of(cls, field: CodedField, other: CodedField, counts: bool) -> Exchange | None:
        """Return the exchange of two fields, or None if they have no common value."""
        code_of = {value: code for code, value in enumerate(other.values)}
        places = [code_of.get(value, MISSING) for value in field.values]
        if max(places, default=MISSING) == MISSING:
            return None
        return cls(field, other, np.array([*places, MISSING], np.int64), counts)

    def holds(self, i: Int64Array, j: Int64Array) -> BoolArray:
        """Return in which pairs of rows the values are exchanged: one of them may be misspelt."""
        value_i, value_j = self.field.codes_of(i, j)
        other_i, other_j = self.other.codes_of(i, j)
        may_be = (value_i != value_j) & (other_i != other_j)
        may_be &= (np.minimum(value_i, value_j) >= 0) & (other_i >= 0) & (other_j >= 0)
        forth = may_be & (self.places[value_i] == other_j)
        back = may_be & (self.places[value_j] == other_i)
        exchanged = forth & back
        for equal, values, other_values in (
            (forth, value_j, other_i),
            (back, value_i, other_j),
        ):
            rows = np.flatnonzero(equal & ~(forth & back))
            exchanged[rows] = self._similar(values[rows], other_values[rows])
        return np.asarray(exchanged)

    def _similar(self, codes: Int32Array, other_codes: Int32Array) -> BoolArray:
        """Return which values of this field are similar to values of the other one."""
        if not len(codes):
            return np.zeros(0, bool)
        values = [self.field.values[code][:LONG] for code in codes.tolist()]
        other_values = [self.other.values[code][:LONG] for code in other_codes.tolist()]
        return jaro_winkler(values, other_values, 0.0) >= LEAST_SIMILAR

"""The `keep` policies: which row of a group is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.choices import ItemMeasure, PairMeasure
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.columns import Column
from lshfast._engine.plan import Keep, KeepValues
from lshfast.join.groups import preferred

if TYPE_CHECKING:
    from lshfast._engine.key_copies import PreferenceOf

# The seed of the hash that orders texts of equal length. It differs from the seed of the run, so
# the texts that are kept do not depend on that seed.
TIE_SEED = 1


def preference_of(keep: Keep | KeepValues, column: Column) -> npt.ArrayLike | None:
    """Return the preference of each row under a `keep` policy: the greater value is kept.

    Hashes decide between texts of one length, so the order of the input does not matter. An author
    can have a text kept, for example by making it longer.
    """
    if not isinstance(keep, str):
        return keep
    if keep == "first":
        return None
    rows = int64_range(len(column))
    if keep == "last":
        return rows
    lengths = column.lengths if keep == "longest" else -column.lengths
    return preference_by_length(
        lengths, lambda tied: column.take(tied).hashes(TIE_SEED)
    )


def preference_of_rows(keep: Keep | KeepValues | None, column: Column) -> PreferenceOf:
    """Return the preference of some of the rows of a column under a `keep` policy."""
    if keep is None:
        return lambda rows: None
    if isinstance(keep, str):
        return lambda rows: preference_of(keep, column.take(rows))
    from lshfast._engine.key_copies import preference_of_values

    return preference_of_values(len(column), keep)


def preference_by_length(
    lengths: Int64Array, hashes_of: Callable[[Int64Array], UInt64Array]
) -> Int64Array:
    """Return the preference of rows by length; equal ones by hashes, then by order."""
    rows = int64_range(len(lengths))
    _, group, members = np.unique(lengths, return_inverse=True, return_counts=True)
    tied = np.flatnonzero(members[group] > 1)
    hashes = np.zeros(len(lengths), np.uint64)
    hashes[tied] = hashes_of(tied)
    preference = np.empty(len(lengths), np.int64)
    preference[np.lexsort((-rows, hashes, lengths))] = rows
    return preference


def check_keep_measure(keep: Keep | KeepValues | str, measure: ItemMeasure) -> None:
    """Raise ValueError if the measure contradicts a `keep` policy."""
    if (
        isinstance(keep, str)
        and keep in ("longest", "shortest")
        and measure not in get_args(PairMeasure)
    ):
        raise ValueError(
            f"keep must not be {keep!r} for the measure {measure}: vectors and codes have one "
            "length"
        )
    if isinstance(keep, str) and keep == "shortest" and measure == "containment":
        raise ValueError(
            "keep must not be 'shortest' for measure='containment', which keeps the text with "
            "more shingles"
        )


def check_keep(
    keep: Keep | KeepValues, n: int, measure: ItemMeasure = "jaccard"
) -> None:
    """Raise an error that names `keep` if it is not valid; called before the run starts."""
    check_keep_measure(keep, measure)
    if isinstance(keep, str):
        if keep not in get_args(Keep):
            raise ValueError(
                f"keep must be one of {', '.join(get_args(Keep))}, or one value per row, not "
                f"{keep!r}"
            )
        return
    try:
        preferred(n, keep)
    except (TypeError, ValueError) as error:
        raise type(error)(f"keep: {error}") from None

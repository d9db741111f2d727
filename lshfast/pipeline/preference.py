"""Which row of a group is kept: the `keep` policies as preferences."""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt

from lshfast.join.groups import preferred
from lshfast.pipeline.columns import Column
from lshfast.pipeline.plan import Keep, KeepValues

# The seed of the hash that orders texts of equal length. It is not the seed of the run, so that the texts kept do not
# depend on that.
TIE_SEED = 1


def preference_of(keep: Keep | KeepValues, column: Column) -> npt.ArrayLike | None:
    """Return the preference that a `keep` policy stands for: a row of a greater value is kept before others.

    Among texts of one length that of the greater hash comes first, and of equal texts the first row, so that which
    texts are kept does not depend on the order of the input. The author of a text can make it win, as by making it
    longer (shorter).
    """
    if not isinstance(keep, str):
        return keep
    if keep == "first":
        return None
    rows = np.arange(len(column), dtype=np.int64)
    if keep == "last":
        return rows
    lengths = column.lengths if keep == "longest" else -column.lengths
    _, group, members = np.unique(lengths, return_inverse=True, return_counts=True)
    tied = np.flatnonzero(members[group] > 1)
    hashes = np.zeros(len(column), np.uint64)
    hashes[tied] = column.take(tied).hashes(TIE_SEED)
    preference = np.empty(len(column), np.int64)
    preference[np.lexsort((-rows, hashes, lengths))] = rows
    return preference


def check_keep(keep: Keep | KeepValues, n: int) -> None:
    """Raise an error that names `keep` where it cannot be used, before the run that it would end."""
    if isinstance(keep, str):
        if keep not in get_args(Keep):
            raise ValueError(f"keep must be one of {', '.join(get_args(Keep))}, or a value a row, not {keep!r}")
        return
    try:
        preferred(n, keep)
    except (TypeError, ValueError) as error:
        raise type(error)(f"keep: {error}") from None

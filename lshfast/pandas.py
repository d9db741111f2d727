"""The accessor ``lsh`` of pandas: near-duplicates of frames. Import this module to register it.

>>> import pandas as pd
>>> import lshfast.pandas
>>> df = pd.DataFrame(
...     {"id": [1, 2, 3], "text": ["a rose is a rose", "A rose is a rose!", "a dog"]}
... )
>>> df.lsh.dedup("text")["id"].tolist()
[1, 3]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lshfast._common.checks import ADDED_COLUMNS, check_annotation
from lshfast._common.extras import optional
from lshfast._engine.column_options import items_of_frame, with_columns
from lshfast._engine.executors.memory import dedup as dedup_items
from lshfast._engine.executors.memory import pairs as pairs_of_items

pd = optional("pandas", "pandas")

__all__ = ["FrameLsh"]


def _arrow_of(frame: Any) -> Any:
    """Return a frame as a table of Arrow."""
    return optional("pyarrow").Table.from_pandas(frame, preserve_index=False)


@pd.api.extensions.register_dataframe_accessor("lsh")
class FrameLsh:
    """Near-duplicates among the rows of a frame: ``df.lsh``.

    Parameters
    ----------
    frame : pandas.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def dedup(self, column: Any, *, annotate: bool = False, **options: Any) -> Any:
        """Return the rows without near-duplicates, in their order and with their index.

        Parameters
        ----------
        column : label or list of str
            A column of strings (texts), of lists or sets (sets), or of arrays of floats (vectors).
            Several in a list, or a path such as ``messages[].content``: their texts, joined with a
            line end; nulls are left out.
        annotate : bool, default False
            Return all rows, with the columns duplicate_of, the index label of the row that is kept
            instead, and similarity (of a run by distance, the distance); both are missing for rows
            that are kept.
        **options
            Further arguments of `lshfast.dedup`: threshold, measure, ... `keep` may also be
            "max:COLUMN" or "min:COLUMN", the row with the greatest or least value of a column, and
            `by` the name of a column, with `max_removed`.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        KeyError
            If there is no such column; the error names the columns.
        ValueError, TypeError
            As for `lshfast.dedup`; with `annotate`, if there are columns of these names, or with
            `against`.

        Examples
        --------
        >>> import pandas as pd, lshfast.pandas
        >>> df = pd.DataFrame(
        ...     {"text": ["one two three", "One, two, three!", "four"]},
        ...     index=["a", "b", "c"],
        ... )
        >>> df.lsh.dedup("text", annotate=True)["duplicate_of"].dropna().to_dict()
        {'b': 'a'}
        """
        if annotate:
            check_annotation(self._frame.columns, options)
        run_options = with_columns(self._frame, options)
        result = dedup_items(
            items_of_frame(self._frame, column, _arrow_of), **run_options
        )
        if not annotate:
            return self._frame[result.keep]
        labels = np.empty(len(result), object)
        is_removed = ~result.keep
        labels[is_removed] = self._frame.index.to_numpy(dtype=object)[
            result.keeper[is_removed]
        ]
        values = np.where(is_removed, result.similarity, np.nan)
        return self._frame.assign(
            **dict(zip(ADDED_COLUMNS, (labels, values), strict=True))
        )

    def pairs(self, column: Any, **options: Any) -> Any:
        """Return the pairs of similar rows.

        Parameters
        ----------
        column : label or list of str
            As for `dedup`.
        **options
            Further arguments of `lshfast.pairs`.

        Returns
        -------
        pandas.DataFrame
            Columns i, j (index labels; the row of i is before that of j) and similarity, or
            distance.

        Examples
        --------
        >>> import pandas as pd, lshfast.pandas
        >>> df = pd.DataFrame(
        ...     {"text": ["one two three", "One, two, three!", "four"]},
        ...     index=["a", "b", "c"],
        ... )
        >>> df.lsh.pairs("text").values.tolist()
        [['a', 'b', 1.0]]
        """
        similar_pairs = pairs_of_items(
            items_of_frame(self._frame, column, _arrow_of), **options
        )
        labels = self._frame.index
        (first, second, value) = similar_pairs.dtype.names or ("i", "j", "similarity")
        return pd.DataFrame(
            {
                "i": labels[similar_pairs[first]],
                "j": labels[similar_pairs[second]],
                value: similar_pairs[value],
            }
        )

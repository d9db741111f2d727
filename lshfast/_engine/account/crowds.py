"""The message of a run with a limit of candidates about rows that exceeded it."""

from __future__ import annotations

from dataclasses import dataclass


class CrowdWarning(UserWarning):
    """Rows had more candidates than `max_candidates`, so comparisons were left out.

    `dedup`, `pairs` and `dedup_files` warn with it, and `Summary` has the numbers.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates; has the parameter `max_candidates`.

    Examples
    --------
    >>> import warnings
    >>> import lshfast, numpy as np
    >>> vectors = 1 + 0.23 * np.random.default_rng(1).standard_normal((2000, 64))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     summary = lshfast.dedup(vectors, threshold=0.97, max_candidates=256).summary
    >>> caught[0].category.__name__, summary.limited > 1000, summary.left_out > 100_000
    ('CrowdWarning', True, True)
    """


@dataclass(frozen=True)
class Limited:
    """The rows of a run that were not compared with all of their candidates.

    Attributes
    ----------
    most : int
        The limit.
    rows : int
    left_out : int
        About the number of comparisons.
    """

    most: int
    rows: int
    left_out: int

    @property
    def note(self) -> str:
        """The rows, and the comparisons that were left out."""
        if not self.rows:
            return f"rows with more than {self.most:,} candidates"
        return (
            f"rows with more than {self.most:,} candidates: about {self.left_out:,} comparisons "
            "of them were left out, "
            "so some similar ones may be missing"
        )

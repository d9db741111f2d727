"""How the rows of a run are compared, and how the pass over them is divided."""

from __future__ import annotations

from dataclasses import dataclass

from lshfast._common.choices import PairMeasure
from lshfast.join.jaccard import PIECE
from lshfast.join.screening import least_agreement

# Default of `WalkLimits.crowd`, and the limit for crowds of short rows.
CROWD = 64

# Default of `WalkLimits.screened`: comparing all pairs of fewer rows takes little time.
SCREENED = 1024


@dataclass(frozen=True)
class WalkLimits:
    """How the pass over the rows is divided.

    Attributes
    ----------
    piece_tokens : int
        The number of tokens of earlier rows that are in memory at once.
    run_tokens : int
        The number of tokens that are computed at once for consecutive rows. More of them need
        memory that the allocator returns to the system each time, and a fifth more time.
    crowd : int
        If a row shares buckets with more kept rows than this, and none is similar, its component is
        a crowd.
    few : int
        A component of more rows than this is processed by itself, so that a crowd in it is
        detected.
    screened : int
        The rows of larger components are screened by the slots that they share.
    """

    piece_tokens: int = PIECE
    run_tokens: int = 1 << 18
    crowd: int = CROWD
    few: int = 256
    screened: int = SCREENED


@dataclass(frozen=True)
class Comparison:
    """How rows are compared, and for which kind of groups.

    Attributes
    ----------
    threshold : float
        In [0, 1].
    exact : bool
        If true, rows are screened by their signatures and then compared by their tokens; otherwise
        they are compared by their signatures only.
    chains : bool
        If true, the groups are connected components instead of stars.
    threads : int
    measure : {"jaccard", "containment"}
        With containment, `exact` must be true, and the preference of rows must follow the sizes of
        their sets, the largest first. Signatures tell little about the containment of sets of
        different sizes, so there is no screen. Chains climb: each row that is similar to a
        preferred one is paired with the most preferred of these.
    capped : bool
        Whether memory is limited, so that long rows are compared one at a time.
    join_short : bool
        Whether a large component of short rows is joined. It is not if a join of all rows has ended
        before.
    limits : WalkLimits
    """

    threshold: float
    exact: bool = True
    chains: bool = False
    threads: int = 1
    measure: PairMeasure = "jaccard"
    capped: bool = False
    join_short: bool = True
    limits: WalkLimits = WalkLimits()

    def least_slots(self, k: int) -> int:
        """Return the smallest number of equal slots of k for which two rows are compared."""
        if self.exact and self.measure == "jaccard":
            return least_agreement(k, self.threshold)
        return 0

    def least_shared(self, k: int) -> int:
        """Return the smallest number of its k slots that a row shares with each similar row."""
        if self.exact:
            return self.least_slots(k)
        return next(slots for slots in range(k + 1) if slots / k >= self.threshold)

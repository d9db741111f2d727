"""The choices of a linkage, which the command line shows without importing the run."""

from __future__ import annotations

from typing import Literal, TypeAlias

Assignment: TypeAlias = Literal[
    "one-to-one", "many-to-one", "one-to-many", "many-to-many"
]
DateOrder: TypeAlias = Literal["dmy", "mdy", "ymd"]
Scoring: TypeAlias = Literal["weights", "points"]

MAX_BLOCK = 10_000  # pairs that a block brings at most
NEIGHBORS = 10  # texts that a text is compared with by a rule of the nearest
REVIEWED = 100  # links, and pairs below the threshold, of a review at most
KEEP_RECORD = "most-complete"  # which of several records a merged list has

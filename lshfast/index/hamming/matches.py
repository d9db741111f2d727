"""Answers to queries by Hamming distance: keys and distances, the nearest first."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from lshfast._common.types import Int64Array
from lshfast.index.hamming.plan import Method
from lshfast.index.keys import Column
from lshfast.index.matches import AnswerLists


class HammingMatch(NamedTuple):
    """One entry in the answer to a query.

    Attributes
    ----------
    key : object
    distance : int
        Number of bits in which the code of the entry differs from the query.
    """

    key: Any
    distance: int


class HammingMatches(AnswerLists[HammingMatch]):
    """Answers as lists of `HammingMatch`, the nearest first; see `AnswerLists`.

    Attributes
    ----------
    offsets, keys
        As for `AnswerLists`.
    distance : ndarray of int64, shape (n,)
    method : {"scan", "blocks"}
        How the codes were searched: "scan" if all were compared with each query.
    """

    __slots__ = ("method",)

    method: Method
    _element = HammingMatch

    def __init__(
        self, offsets: Int64Array, keys: Column, distance: Int64Array, method: Method
    ) -> None:
        super().__init__(offsets, keys, distance)
        self.method = method

    @property
    def distance(self) -> Int64Array:
        """The distances of all answers, concatenated."""
        return cast(Int64Array, self.values)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, method={self.method!r})"

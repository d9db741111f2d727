"""Labels of records: a person says of the pairs of a review whether both are the same.

A review is the table that `lshfast records match --review` writes: links just above the threshold,
and pairs just below it, with the values of both records. Its pairs are the population, and bands of
their scores are the strata.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, isfinite, log2
from typing import Any

import numpy as np

from lshfast._common.atomic_files import atomic_file
from lshfast._common.checks import Seed, check_seed
from lshfast._common.display import counted
from lshfast._common.errors import FormatError
from lshfast._common.types import BoolArray, Float64Array
from lshfast._common.visible import printable
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs
from lshfast._engine.options.stored import MOST_BYTES, beside
from lshfast._engine.pages.pair_sample import PairSample
from lshfast._engine.pairs.listed import PairArray
from lshfast._io import DataError
from lshfast._io.output import Output
from lshfast._io.whole_tables import WholeTable
from lshfast.join.pair_arrays import PAIR
from lshfast.quality.label_sheet import (
    Answer,
    LabelSheet,
    Question,
    SheetKind,
    check_resumable,
    check_same,
    read_labels,
)
from lshfast.quality.labels import CONFIDENCE, ThresholdEstimate
from lshfast.records.results.field_pairs import (
    FieldPair,
    PairColumns,
    columns_of_pairs,
    field_pairs,
    text_of,
)

KIND = SheetKind(
    ("id_a", "id_b", "score", "answer"), "labels of another review or other options"
)

# Labels that a threshold needs, and how many of them must be "same", and how many "different".
LEAST_LABELS = 20
LEAST_OF_AN_ANSWER = 5

# Bands of scores on each side of the threshold of the review.
BANDS_OF_A_SIDE = 5

# Probabilities between these tell the prior: others are rounded too much.
TELLING = 0.01, 0.99

# Decimals of a short number.
MOST_DIGITS = 12

# What stands for false in the column of links.
FALSE = ("false", "0", "")


@dataclass(frozen=True, kw_only=True)
class RecordQuestion(Question):
    """A pair of records that a person is asked about.

    Attributes
    ----------
    fields : list of FieldPair
        The fields that are not missing in both records.
    """

    fields: list[FieldPair]


@dataclass(frozen=True)
class Review:
    """The pairs of a review.

    Attributes
    ----------
    name : str
        The file.
    ids : list of tuple
        The ids of both records of each pair.
    scores : ndarray of float64, shape (n,)
    linked : ndarray of bool, shape (n,)
    probabilities : ndarray of float64, shape (n,), or None
        None for points.
    columns : mapping of str to list
        All columns of the file.
    """

    name: str
    ids: list[tuple[Any, Any]]
    scores: Float64Array
    linked: BoolArray
    probabilities: Float64Array | None
    columns: Mapping[str, list[Any]]

    @cached_property
    def fields(self) -> list[PairColumns]:
        """The columns of the values of both records."""
        return columns_of_pairs(self.columns)

    @property
    def edges(self) -> Float64Array:
        """The ends of bands of scores: short numbers, one of them between links and other pairs."""
        firsts = [
            *_firsts_of_bands(self.scores[~self.linked]),
            *_firsts_of_bands(self.scores[self.linked]),
        ]
        ordered = np.unique(self.scores)
        if not len(ordered):
            return np.array([0.0, 1.0], np.float64)
        edges = [float(ordered[0])]
        for first in sorted(set(firsts)):
            place = int(np.searchsorted(ordered, first))
            if place:
                edges.append(short_between(float(ordered[place - 1]), first))
        return np.array([*edges, float(ordered[-1]) + 1], np.float64)

    @property
    def prior_bits(self) -> float | None:
        """The log odds of a pair with a score of 0; None if no probability shows it.

        A probability that several equal pairs share is less than that of the score, so the greatest
        one is right.
        """
        if self.probabilities is None:
            return None
        low, high = TELLING
        telling = np.flatnonzero(
            (self.probabilities >= low) & (self.probabilities <= high)
        )
        chances = self.probabilities[telling].tolist()
        scores = self.scores[telling].tolist()
        priors = [
            log2(chance) - log2(1 - chance) - score
            for chance, score in zip(chances, scores, strict=True)
        ]
        return max(priors, default=None)

    def option_of(self, threshold: float | None) -> float | None:
        """Return a score as the option --threshold of `lshfast records`; None if it is unknown."""
        if threshold is None or self.probabilities is None:
            return threshold
        prior = self.prior_bits
        if prior is None:
            return None
        lower = self.scores[self.scores < threshold]
        above = _chance(threshold + prior)
        below = _chance(float(lower.max()) + prior) if len(lower) else 0.0
        chance = short_between(below, above)
        return chance if 0 < chance < 1 else None

    @property
    def pairs(self) -> PairArray:
        """The pairs by their number in the review, with scores as similarities."""
        pairs = np.empty(len(self.ids), PAIR)
        pairs["i"] = pairs["j"] = np.arange(len(pairs), dtype=np.int64)
        pairs["similarity"] = self.scores
        return pairs

    def describe(self, seed: int) -> dict[str, Any]:
        """Return what labels of this review belong to."""
        values = [
            self.ids,
            self.scores.tolist(),
            *(self._texts(field) for field in self.fields),
        ]
        records = json.dumps(values, default=str).encode()
        return {
            "scoring": "points" if self.probabilities is None else "weights",
            "fields": [field.name for field in self.fields],
            "pairs": len(self.ids),
            "seed": seed,
            "digest of the records": hashlib.sha256(records).hexdigest(),
        }

    def _texts(self, field: PairColumns) -> list[list[str | None]]:
        return [
            list(map(text_of, self.columns[name])) for name in (field.left, field.right)
        ]

    def fields_of(self, row: int) -> list[FieldPair]:
        """Return the fields of a pair that are not missing in both records."""
        return field_pairs(self.fields, self.columns, row)

    def labelled(
        self, rows: Sequence[int], answers: Sequence[str]
    ) -> dict[str, list[Any]]:
        """Return some pairs with their answers, with the columns of the review."""
        columns = {
            name: [values[row] for row in rows]
            for name, values in self.columns.items()
            if name != "answer"
        }
        return {"answer": list(answers), **columns}


@dataclass(frozen=True)
class ReviewThreshold:
    """What the labels of a review say.

    Attributes
    ----------
    estimate : ThresholdEstimate
        Its similarities are the scores.
    review : Review
    """

    estimate: ThresholdEstimate
    review: Review

    @property
    def option(self) -> float | None:
        """The threshold as the option of `lshfast records`: a probability, or points.

        None without a threshold, with too few labels, or if the review does not tell it.
        """
        return self.review.option_of(self.estimate.threshold) if self.enough else None

    @property
    def option_interval(self) -> tuple[float, float] | None:
        """The ends of the interval of the option."""
        if not self.enough or self.estimate.interval is None:
            return None
        low, high = map(self.review.option_of, self.estimate.interval)
        return None if low is None or high is None else (low, high)

    @property
    def answers(self) -> tuple[int, int]:
        """How many labels are "same", and how many "different"."""
        same = int(self.estimate.same.sum())
        return same, int(self.estimate.labelled.sum()) - same

    @property
    def enough(self) -> bool:
        """Whether there are enough labels to recommend a threshold."""
        answers = self.answers
        return sum(answers) >= LEAST_LABELS and min(answers) >= LEAST_OF_AN_ANSWER

    def lines(self) -> Iterator[str]:
        """Yield the lines of a report, of at most 80 characters but for the name."""
        if self.enough or not self.estimate.labelled.any():
            yield repr(self.estimate)
        else:
            same, different = self.answers
            yield f"no threshold is recommended yet, from {counted(same + different, 'label')}"
            yield from replace(self.estimate, threshold=None).lines()
            yield self.estimate.note
            needed = f"A threshold takes {LEAST_LABELS} labels, {LEAST_OF_AN_ANSWER} of each answer"
            yield f"{needed}; there are {same} same, {different} different."
        if len(self.estimate.thresholds):
            highest = self.review.scores.max(initial=0.0)
            yield (
                f"Pairs above {highest:g} are not in {self.review.name}, and do not count in the "
                "precision"
            )
            yield "(lshfast records --review-pairs N writes more pairs)."
        option = self.option
        ends = self.option_interval
        if option is not None:
            interval = ""
            if ends is not None:
                low, high = ends
                interval = f" ({low:.6g} to {high:.6g} with probability {CONFIDENCE:g})"
            yield f"In lshfast records, this threshold is --threshold {option:.12g}{interval}"


def label_records(
    inputs: Inputs,
    path: str,
    ask: Callable[[RecordQuestion], Answer],
    *,
    precision: float | None = None,
    seed: Seed = 1,
) -> ReviewThreshold:
    """Ask about the pairs of a review until "quit" or the end, and return what labels say.

    Parameters
    ----------
    inputs : Inputs
        One review, of which all columns are read.
    path : str
        The file of labels, .csv, .tsv or .jsonl, with the columns of the review. If it exists, its
        labels are kept. A file beside it says which review they belong to.
    ask : callable
        Returns the answer to a RecordQuestion. KeyboardInterrupt counts as "quit".
    precision : float, optional
        The precision that is wanted, see `lshfast.quality.threshold_of`.
    seed : int, default 1
        It decides which pairs of a band are asked first.

    Returns
    -------
    ReviewThreshold

    Raises
    ------
    DataError
        If the input is no review, or the file has labels of another review.
    ValueError
        If there are several inputs, or the file of labels is not of a kind that can be resumed.
    """
    check_resumable(path)
    if len(inputs.paths) != 1:
        raise ValueError(
            f"records are labelled from one review, not {len(inputs.paths)} inputs"
        )
    job = Job([path], "stop", True)
    table = job.add(inputs.read_whole())
    job.check()
    review = review_of(table, printable(os.fspath(inputs.paths[0])))
    stored = review.describe(check_seed(seed))
    before = read_labels(path, KIND)
    if before is not None:
        _check_stored(path, stored)
    sample = PairSample(review.edges, stored["seed"], max(1, len(review.ids)))
    sample.add(review.pairs)
    strata = sample.pairs()
    keys = [[review.ids[row] for row in pairs["i"].tolist()] for pairs in strata]

    def table_of(pairs: Sequence[Any], answers: Sequence[str]) -> dict[str, list[Any]]:
        return review.labelled([int(pair["i"]) for pair in pairs], answers)

    output = Output(path, defuse=True)
    sheet = LabelSheet(
        output, KIND, review.edges, sample.counts, strata, keys, table_of
    )
    sheet.take(before or [])
    with atomic_file(_beside(path), True) as stream:
        stream.write(json.dumps({"review": stored}, indent=1).encode() + b"\n")

    def question_of(pair: Any, **attributes: Any) -> RecordQuestion:
        return RecordQuestion(fields=review.fields_of(int(pair["i"])), **attributes)

    sheet.ask_all(question_of, ask, precision)
    return ReviewThreshold(sheet.estimate(precision), review)


def review_of(table: WholeTable, name: str) -> Review:
    """Return the pairs of a table that `lshfast records` wrote with --review.

    Raises
    ------
    DataError
        If a column is missing, a score or probability is no number, or a pair is there twice.
    """
    columns = table.columns
    if not len(table):
        empty = np.empty(0, np.float64)
        return Review(name, [], empty, np.empty(0, np.bool_), None, columns)
    for column in ("id_a", "id_b", "linked", "score"):
        if column not in columns:
            raise DataError(
                name,
                None,
                f"no column {column!r}: this is not a file of lshfast records --review",
            )
    ids = list(zip(columns["id_a"], columns["id_b"], strict=True))
    distinct_ids = set[tuple[str, str]]()
    for row, (id_a, id_b) in enumerate(ids):
        pair = str(id_a), str(id_b)
        if pair in distinct_ids:
            raise DataError(name, None, f"pair {row + 1} is there twice")
        distinct_ids.add(pair)
    probabilities = None
    if "probability" in columns:
        probabilities = _numbers(name, columns, "probability", 0.0, 1.0)
    linked = np.array(
        [str(value).lower() not in FALSE for value in columns["linked"]], np.bool_
    )
    return Review(
        name, ids, _numbers(name, columns, "score"), linked, probabilities, columns
    )


def _chance(bits: float) -> float:
    return float(1 / (1 + 2.0 ** -min(max(bits, -1000), 1000)))


def short_between(low: float, high: float) -> float:
    """Return a number with few decimals that is above `low` and at most `high`.

    Examples
    --------
    >>> from lshfast.records.labelling.job import short_between
    >>> short_between(3.9871, 5.0213), short_between(-0.37, -0.31)
    (5.0, -0.31)
    """
    for digits in range(MOST_DIGITS):
        number: float = floor(round(high * 10**digits, 6)) / 10.0**digits
        if low < number <= high:
            return number
    return high


def _firsts_of_bands(scores: Float64Array) -> list[float]:
    """Return the least score of each of some bands of equal size; equal scores share a band."""
    ordered = np.sort(scores)
    bands = min(BANDS_OF_A_SIDE, len(ordered))
    return [float(ordered[band * len(ordered) // bands]) for band in range(bands)]


def _numbers(
    name: str,
    columns: Mapping[str, list[Any]],
    column: str,
    least: float = -1e9,
    most: float = 1e9,
) -> Float64Array:
    numbers = np.empty(len(columns[column]), np.float64)
    for row, value in enumerate(columns[column]):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not (isfinite(number) and least <= number <= most):
            raise DataError(
                name,
                None,
                f"the {column} of pair {row + 1} is not a number in {least:g}..{most:g}",
            )
        numbers[row] = number
    return numbers


def _beside(path: str) -> str:
    name = beside(path)
    assert name is not None  # a file that can be resumed
    return name


def _check_stored(path: str, stored: Mapping[str, Any]) -> None:
    """Raise DataError if labels belong to another review, or were given with another seed."""
    name = _beside(path)
    if not os.path.exists(name):
        return
    with open(name, "rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    try:
        if len(data) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        before = dict(json.loads(data)["review"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(
            f"{printable(name)}: what the labels belong to is damaged: {error}"
        ) from None
    check_same(path, KIND, before, stored)

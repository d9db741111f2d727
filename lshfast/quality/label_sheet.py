"""The file of labels that a person gives: which pair is next, and writing after each answer.

The labels are written as a whole file that replaces the one before. A file that exists is resumed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import printable, shortened
from lshfast._engine.pairs.listed import PairArray
from lshfast._io import DataError, write_table
from lshfast._io.output import output_format
from lshfast._io.selection import Columns
from lshfast._io.streams import is_stream
from lshfast._io.whole_tables import read_whole
from lshfast.quality.labels import Labels, ThresholdEstimate, next_band, threshold_of

Label: TypeAlias = Literal["same", "different", "unsure"]
Answer: TypeAlias = Literal["same", "different", "unsure", "undo", "quit"]
Key: TypeAlias = "str | int"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A pair of rows that a person is asked about.

    Attributes
    ----------
    keys : tuple of str or int
    similarity : float
        The similarity of texts, or the score of records.
    labelled, unsure : int
        Labels so far, and the answers among them that are not used.
    estimate : ThresholdEstimate
        What the labels say so far.
    """

    keys: tuple[Key, Key]
    similarity: float
    labelled: int
    unsure: int
    estimate: ThresholdEstimate


# Called with a pair and the attributes of Question; returns the question about it.
MakeQuestion: TypeAlias = Callable[..., Question]

# Called with pairs, rows of the sample, and their labels; returns the table of both.
MakeTable: TypeAlias = "Callable[[Sequence[Any], Sequence[Label]], Columns]"


class SheetKind(NamedTuple):
    """A kind of files of labels.

    Attributes
    ----------
    columns : tuple of str
        The columns of both keys, the similarity and the answer.
    others : str
        How labels that belong to something else are named.
    """

    columns: tuple[str, str, str, str]
    others: str


class Given(NamedTuple):
    """A label, its band, and the place of the pair in the sample of the band."""

    band: int
    place: int
    label: Label


class LabelSheet:
    """The sample of pairs, and the labels that were given so far.

    Parameters
    ----------
    path : str
        The file of labels.
    kind : SheetKind
    edges : ndarray of float64, shape (bands + 1,)
    counts : ndarray of int64, shape (bands,)
    sample : sequence of structured ndarray
        The pairs of each band that may be asked, in this order.
    keys : sequence of list of tuple
        Their keys.
    table : callable, optional
        Returns the table that is written from pairs of the sample and their labels; by default it
        has the columns of the kind.
    """

    def __init__(
        self,
        path: str,
        kind: SheetKind,
        edges: Float64Array,
        counts: Int64Array,
        sample: Sequence[PairArray],
        keys: Sequence[list[tuple[Key, Key]]],
        table: MakeTable | None = None,
    ) -> None:
        self._path = path
        self._kind = kind
        self._edges = edges
        self._counts = counts
        self._table = table or self._plain_table
        self.sample = sample
        self.keys = keys
        self.given: list[Given] = []

    @property
    def unsure(self) -> int:
        """The number of answers that are not used."""
        return sum(answer.label == "unsure" for answer in self.given)

    def next(self, precision: float | None) -> tuple[int, int] | None:
        """Return the band and the place of the pair to ask next; None if all were asked."""
        asked = self._number_of(*get_args(Label))
        remaining = np.array([len(pairs) for pairs in self.sample], np.int64) - asked
        labels = Labels(
            self._counts, self._number_of("same"), self._number_of("different")
        )
        band = next_band(labels, asked, remaining, precision)
        if band is None:
            return None
        labelled_places = {answer.place for answer in self.given if answer.band == band}
        places = range(len(self.sample[band]))
        return band, next(place for place in places if place not in labelled_places)

    def _number_of(self, *labels: str) -> Int64Array:
        bands = [answer.band for answer in self.given if answer.label in labels]
        return np.bincount(
            np.array(bands, np.int64), minlength=len(self._counts)
        ).astype(np.int64)

    def estimate(self, precision: float | None) -> ThresholdEstimate:
        """Return what the labels say."""
        sure_labels = [answer for answer in self.given if answer.label != "unsure"]
        pairs = [self.sample[answer.band][answer.place] for answer in sure_labels]
        similarity = [float(pair["similarity"]) for pair in pairs]
        same = [answer.label == "same" for answer in sure_labels]
        return threshold_of(
            similarity, same, self._edges, self._counts, precision=precision
        )

    def write(self) -> None:
        """Write the labels in the order in which they were given; the file is replaced."""
        pairs = [self.sample[answer.band][answer.place] for answer in self.given]
        write_table(
            self._path,
            self._table(pairs, [answer.label for answer in self.given]),
            True,
        )

    def _plain_table(self, pairs: Sequence[Any], labels: Sequence[Label]) -> Columns:
        keys = [self.keys[answer.band][answer.place] for answer in self.given]
        similarities = [float(pair["similarity"]) for pair in pairs]
        columns = (
            [one for one, _ in keys],
            [other for _, other in keys],
            similarities,
            labels,
        )
        return dict(zip(self._kind.columns, columns, strict=True))

    def take(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take the labels that `read_labels` has read.

        Raises
        ------
        DataError
            If there is another label, or a pair that is not in the sample with this similarity.
        """
        name = printable(self._path)
        places = {
            (str(one), str(other)): (band, place)
            for band, keys in enumerate(self.keys)
            for place, (one, other) in enumerate(keys)
        }
        for row, (one, other, similarity, label) in enumerate(rows):
            key = str(one), str(other)
            if key not in places:  # a spreadsheet would have run it as a formula
                key = key[0].removeprefix("'"), key[1].removeprefix("'")
            band, place = places.pop(key, (-1, -1))
            if band < 0 or not _equal(
                similarity, float(self.sample[band]["similarity"][place])
            ):
                raise DataError(
                    name,
                    None,
                    f"{self._kind.others}: pair {row + 1} is not a pair of these",
                )
            if label not in get_args(Label):
                raise DataError(
                    name,
                    None,
                    f"the label of pair {row + 1} is not {', '.join(get_args(Label))}",
                )
            self.given.append(Given(band, place, label))

    def ask_all(
        self,
        question_of: MakeQuestion,
        ask: Callable[[Any], Answer],
        precision: float | None,
    ) -> None:
        """Ask until the answer is "quit" or no pair remains; write the labels after each answer.

        Parameters
        ----------
        question_of : callable
            Returns a Question from a pair, a row of `sample`, and the attributes of Question as
            keywords.
        ask : callable
            Returns the answer to a question. KeyboardInterrupt counts as "quit".
        precision : float, optional
            The required precision.
        """
        try:
            while (next_place := self.next(precision)) is not None:
                band, place = next_place
                pair = self.sample[band][place]
                answer = ask(
                    question_of(
                        pair,
                        keys=self.keys[band][place],
                        similarity=float(pair["similarity"]),
                        labelled=len(self.given),
                        unsure=self.unsure,
                        estimate=self.estimate(precision),
                    )
                )
                if answer == "quit":
                    return
                if answer != "undo":
                    self.given.append(Given(band, place, answer))
                elif self.given:
                    self.given.pop()
                self.write()
        except KeyboardInterrupt as stopped:
            if stopped.args[:1] not in ((), (signal.SIGINT,)):  # by another signal
                raise


def check_resumable(path: str) -> None:
    """Raise ValueError if a file of labels is not of a kind that can be resumed."""
    if is_stream(path) or output_format(path)[0] == "parquet":
        raise ValueError(
            f"{printable(path)}: labels are in a file .csv, .tsv or .jsonl, which can be resumed"
        )


def check_same(
    path: str, kind: SheetKind, before: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Raise DataError if labels of a file were given under other options than now."""
    for name, value in now.items():
        if before.get(name) != value:
            shown = shortened(before.get(name))
            reason = f"{kind.others}: {name} is {shown} there, not {shortened(value)}"
            raise DataError(printable(path), None, reason)


def read_labels(path: str, kind: SheetKind) -> list[tuple[Any, ...]] | None:
    """Return the rows of a file of labels; None if there is no such file.

    Raises
    ------
    DataError
        If it has not the columns of the kind.
    """
    if not os.path.exists(path):
        return None
    table = read_whole([path])
    if not len(table):
        return []
    missing = [column for column in kind.columns if column not in table.columns]
    if missing:
        raise DataError(
            printable(path),
            None,
            f"no column {missing[0]!r}: this is not a file of labels",
        )
    return list(zip(*(table.columns[column] for column in kind.columns), strict=True))


def _equal(value: Any, similarity: float) -> bool:
    try:
        return abs(float(value) - similarity) < 1e-9
    except (TypeError, ValueError):
        return False

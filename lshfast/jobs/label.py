"""A threshold by eye: pairs of rows are shown to a person, who says whether they are the same.

The labels are written after each answer, as a whole file that replaces the one before. A file that exists is resumed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from lshfast.common.atomic_files import printable
from lshfast.common.progress import Progress
from lshfast.common.types import Float64Array, Int64Array
from lshfast.drivers.inputs import Inputs, text_batches
from lshfast.drivers.stored_options import StoredOptions, read_options, write_beside
from lshfast.engine.columns import ShingledTexts
from lshfast.engine.common_shingles import ignoring_common
from lshfast.engine.labels import Labels, ThresholdEstimate, next_band, threshold_of
from lshfast.engine.listed_pairs import PairArray
from lshfast.engine.pair_sample import PairSample, edges_from
from lshfast.engine.plan import Plan
from lshfast.engine.similar_pairs import SimilarPairs
from lshfast.engine.sketching import sketch_rows
from lshfast.jobs.frame import Job
from lshfast.readers import DataError, write_table
from lshfast.readers.output import output_format
from lshfast.readers.streams import is_stream
from lshfast.readers.whole_tables import read_whole
from lshfast.reports.differences import Differences, compare

Label: TypeAlias = Literal["same", "different", "unsure"]
Answer: TypeAlias = Literal["same", "different", "unsure", "undo", "quit"]

# The columns of a file of labels.
COLUMNS = "key_i", "key_j", "similarity", "label"

# Bytes of a text that are held: more than is shown.
TEXT_BYTES = 1 << 16


@dataclass(frozen=True)
class Question:
    """A pair of rows that a person is asked about.

    Attributes
    ----------
    keys : tuple of str or int
    texts : tuple of str
        Their beginnings, of at most TEXT_BYTES bytes.
    similarity : float
    labelled, unsure : int
        Labels so far, and the answers among them that are not used.
    estimate : ThresholdEstimate
        What the labels say so far.
    """

    keys: tuple[str | int, str | int]
    texts: tuple[str, str]
    similarity: float
    labelled: int
    unsure: int
    estimate: ThresholdEstimate

    @cached_property
    def differences(self) -> Differences:
        """The spans of both texts."""
        return compare(*self.texts)


class Given(NamedTuple):
    """A label, its band, and the place of the pair in the sample of the band."""

    band: int
    place: int
    label: Label


class LabelSheet:
    """The sample of pairs, and the labels that were given so far.

    Parameters
    ----------
    edges : ndarray of float64, shape (bands + 1,)
    counts : ndarray of int64, shape (bands,)
    sample : sequence of structured ndarray
        The pairs of each band that may be asked, in this order.
    keys : sequence of list of tuple
        Their keys.
    """

    def __init__(
        self,
        edges: Float64Array,
        counts: Int64Array,
        sample: Sequence[PairArray],
        keys: Sequence[list[tuple[str | int, str | int]]],
    ) -> None:
        self.edges, self._counts, self.sample, self.keys = edges, counts, sample, keys
        self.given: list[Given] = []

    @property
    def unsure(self) -> int:
        """The number of answers that are not used."""
        return sum(given.label == "unsure" for given in self.given)

    def next(self, wanted: float | None) -> tuple[int, int] | None:
        """Return the band and the place of the pair to ask next; None if all were asked."""
        asked = self._number_of(*get_args(Label))
        left = np.array([len(pairs) for pairs in self.sample], np.int64) - asked
        labels = Labels(self._counts, self._number_of("same"), self._number_of("different"))
        band = next_band(labels, asked, left, wanted)
        if band is None:
            return None
        done = {given.place for given in self.given if given.band == band}
        return band, next(place for place in range(len(self.sample[band])) if place not in done)

    def _number_of(self, *labels: str) -> Int64Array:
        bands = [given.band for given in self.given if given.label in labels]
        return np.bincount(np.array(bands, np.int64), minlength=len(self._counts)).astype(np.int64)

    def estimate(self, wanted: float | None) -> ThresholdEstimate:
        """Return what the labels say."""
        used = [given for given in self.given if given.label != "unsure"]
        similarity = [float(self.sample[given.band]["similarity"][given.place]) for given in used]
        same = [given.label == "same" for given in used]
        return threshold_of(similarity, same, self.edges, self._counts, precision=wanted)

    def write(self, path: str) -> None:
        """Write the labels in the order in which they were given; a file with the name is replaced."""
        keys = [self.keys[given.band][given.place] for given in self.given]
        columns: dict[str, Any] = {
            "key_i": [one for one, _ in keys],
            "key_j": [other for _, other in keys],
            "similarity": [float(self.sample[given.band]["similarity"][given.place]) for given in self.given],
            "label": [given.label for given in self.given],
        }
        write_table(path, columns, True)

    def read(self, path: str) -> None:
        """Take the labels of a file.

        Raises
        ------
        DataError
            If the file has other columns or labels, or a pair that is not in the sample with this similarity.
        """
        table, name = read_whole([path]), printable(path)
        if not len(table):
            return
        missing = [column for column in COLUMNS if column not in table.columns]
        if missing:
            raise DataError(name, None, f"no column {missing[0]!r}: this is not a file of labels")
        places = {
            (str(one), str(other)): (band, place)
            for band, keys in enumerate(self.keys)
            for place, (one, other) in enumerate(keys)
        }
        for row, (one, other, similarity, label) in enumerate(
            zip(*(table.columns[column] for column in COLUMNS), strict=True)
        ):
            band, place = places.pop((str(one), str(other)), (-1, -1))
            if band < 0 or not _equal(similarity, float(self.sample[band]["similarity"][place])):
                raise DataError(name, None, f"labels of other texts or options: pair {row + 1} is not a pair of these")
            if label not in get_args(Label):
                raise DataError(name, None, f"the label of pair {row + 1} is not {', '.join(get_args(Label))}")
            self.given.append(Given(band, place, label))


def _equal(given: Any, similarity: float) -> bool:
    try:
        return abs(float(given) - similarity) < 1e-9
    except (TypeError, ValueError):
        return False


def label_files(
    inputs: Inputs,
    plan: Plan,
    path: str,
    ask: Callable[[Question], Answer],
    *,
    precision: float | None = None,
    progress: Progress | None = None,
) -> ThresholdEstimate:
    """Ask about pairs of rows until the answer is "quit" or no pair is left, and return what the labels say.

    Parameters
    ----------
    inputs : Inputs
    plan : Plan
        Its threshold is the least similarity of the pairs.
    path : str
        The file of labels, .csv, .tsv or .jsonl. If it exists, its labels are kept. A file beside it has the options.
    ask : callable
        Returns the answer to a Question. KeyboardInterrupt counts as "quit".
    precision : float, optional
        The precision that is wanted, see `threshold_of`.
    progress : callable, optional

    Raises
    ------
    DataError
        If the inputs are bad, or the file has labels of other texts or options.
    ValueError
        If the file is not of a kind that can be resumed.
    """
    if is_stream(path) or output_format(path)[0] == "parquet":
        raise ValueError(f"{printable(path)}: labels are in a file .csv, .tsv or .jsonl, which can be resumed")
    job = Job([path], inputs.on_error, True)
    corpus = job.open(inputs)
    job.check()
    stored = StoredOptions.of(plan.arguments, inputs)
    resumed = os.path.exists(path)
    if resumed:
        _check_options(path, stored)
    with job.reading(corpus):
        batches, plan = ignoring_common(text_batches(corpus, progress), plan, job.clock, progress)
        sketches = sketch_rows(batches, plan, job.clock, progress)
        sample = PairSample(edges_from(plan.threshold), plan.hasher.seed)
        for pairs in SimilarPairs(sketches, plan, job.clock, progress).of_different_rows():
            sample.add(pairs)
        chosen = sample.pairs()
        texts = _texts_of(sketches.rows.column, chosen)
    keys = [list(zip(corpus.keys_of(pairs["i"]), corpus.keys_of(pairs["j"]), strict=True)) for pairs in chosen]
    sheet = LabelSheet(edges_from(plan.threshold), sample.counts, chosen, keys)
    if resumed:
        sheet.read(path)
    write_beside(path, stored, True)
    try:
        _ask_all(sheet, path, texts, ask, precision)
    except KeyboardInterrupt as stopped:
        if stopped.args[:1] not in ((), (signal.SIGINT,)):  # by another signal
            raise
    return sheet.estimate(precision)


def _check_options(path: str, stored: StoredOptions) -> None:
    """Raise DataError if labels were given under other options than these."""
    before = read_options(path)
    if before is None:
        return
    for old, new in ((before.options, stored.options), (before.reading, stored.reading)):
        for name in new:
            if old.get(name) != new[name]:
                reason = f"labels of other texts or options: {name} is {old.get(name)!r} there, not {new[name]!r}"
                raise DataError(printable(path), None, reason)


def _texts_of(column: Any, chosen: Sequence[PairArray]) -> dict[int, str]:
    """Return the beginnings of the texts of the rows of some pairs."""
    assert isinstance(column, ShingledTexts)
    rows = np.unique(np.concatenate([np.concatenate([pairs["i"], pairs["j"]]) for pairs in chosen]))
    texts = column.texts.take(rows)
    return {row: texts[place][:TEXT_BYTES].decode("utf-8", "replace") for place, row in enumerate(rows.tolist())}


def _ask_all(
    sheet: LabelSheet, path: str, texts: dict[int, str], ask: Callable[[Question], Answer], wanted: float | None
) -> None:
    """Ask until the answer is "quit", and write the labels after each answer."""
    while (found := sheet.next(wanted)) is not None:
        band, place = found
        pair = sheet.sample[band][place]
        question = Question(
            sheet.keys[band][place],
            (texts[int(pair["i"])], texts[int(pair["j"])]),
            float(pair["similarity"]),
            len(sheet.given),
            sheet.unsure,
            sheet.estimate(wanted),
        )
        answer = ask(question)
        if answer == "quit":
            return
        if answer != "undo":
            sheet.given.append(Given(band, place, answer))
        elif sheet.given:
            sheet.given.pop()
        sheet.write(path)

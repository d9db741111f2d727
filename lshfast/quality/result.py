"""What a check has measured, and how it is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

from lshfast._common.display import Figure, as_html, figure, paragraphs
from lshfast._common.visible import one_line, visible
from lshfast._engine.account.display import empty_note
from lshfast._io.pages.page import check_page, write_page
from lshfast.quality.checked_rows import (
    CheckedRows,
    count_of,
    figures_as_dict,
    range_of,
    share_range,
)
from lshfast.quality.intervals import Estimate
from lshfast.quality.page import drawing_of, page_of, sentences

# Characters of the longest bar of a histogram.
BAR = 20


@dataclass(frozen=True)
class SimilarityBin:
    """The pairs with a similarity from `low` to below `high`; the last bin includes equal sets.

    Attributes
    ----------
    low, high : float
    pairs : Estimate
        Their number among all rows.
    recall : Estimate
        Which share of them the run finds; nan without such pairs.
    promised : float
        The same share by the S-curve.

    See Also
    --------
    lshfast.quality.CheckResult : The result for texts and sets.
    lshfast.quality.NearBin : The pairs between two similarities or distances of points.
    """

    low: float
    high: float
    pairs: Estimate
    recall: Estimate
    promised: float


@dataclass(frozen=True)
class Alternative:
    """What other parameters would find and cost.

    Attributes
    ----------
    name : str
        The parameter that differs: "recall .99", "threshold 0.7" or "word 3".
    unit : str
    size : int
    threshold : float
    bands, rows_per_band : int
        What is chosen for them.
    pairs : Estimate
        Pairs at or above the threshold; with other shingles, of rows that differ with the shingles
        of the run.
    recall : Estimate or None
        Which share of them these bands find; None for other shingles, whose pairs are not compared
        by signatures.
    promised : float
        The same share by the S-curve.
    candidates : float
        Pairs that share a bucket, for each row.
    key_bytes : int
        The memory of the bucket keys of all rows.
    compared_rows : int or None
        If too many pairs are similar by other shingles, the rows that were compared with the
        sample, which are fewer than by the others of these. None in other cases.

    See Also
    --------
    lshfast.quality.CheckResult : The result for texts and sets.
    lshfast.choose_bands : Choose bands and rows for a threshold and a recall.
    """

    name: str
    unit: str
    size: int
    threshold: float
    bands: int
    rows_per_band: int
    pairs: Estimate
    recall: Estimate | None
    promised: float
    candidates: float
    key_bytes: int
    compared_rows: int | None = None


@dataclass(frozen=True)
class Example:
    """A pair of the sample.

    Attributes
    ----------
    key_i, key_j : object
        The keys of both rows; without an id column, their numbers, or FILE:LINE.
    similarity : float
    found : bool
        Whether the run finds the pair.
    left, right : str
        The texts where they begin to differ, with control characters as escapes.

    See Also
    --------
    lshfast.quality.CheckResult : The result for texts and sets.
    """

    key_i: Any
    key_j: Any
    similarity: float
    found: bool
    left: str
    right: str


@dataclass(frozen=True, repr=False, kw_only=True)
class CheckResult(CheckedRows):
    """What a run finds and misses, estimated from a sample.

    Attributes
    ----------
    accepted : int
        read = accepted + rejected.
    copies, empty : int
        Exact copies of earlier rows, which every run finds; rows without shingles, or sets without
        elements. All other
        figures are of the rest.
    sampled : int
        Rows that were compared with all others.
    complete : bool
        Whether these are all rows; then all figures of pairs are exact.
    threshold : float
    unit : str
    size : int
    bands, rows_per_band : int
        What the run was planned with.
    recall : Estimate
        The share of the pairs at or above the threshold that share a bucket; nan without such
        pairs.
    promised : float
        The same by the S-curve, integrated over the similarities of these pairs.
    pairs : Estimate
        Pairs at or above the threshold.
    near_rows : Estimate
        Rows that have at least one other row at or above the threshold.
    row_recall : Estimate
        The share of these rows that share a bucket with at least one such row.
    precision : float
        The share of reported pairs that are at or above the threshold: 1, since every pair is
        verified.
    unverified_precision : Estimate
        What it would be with ``verify="none"``: the share of candidates at or above the threshold.
    candidates : float
        Pairs that share a bucket, for each row.
    by_similarity : tuple of SimilarityBin
        From the threshold on, in steps of .05.
    histogram : tuple of SimilarityBin
        From about .3 below the threshold on, in steps of .025.
    suggested_threshold : float or None
        The bottom of a clear valley of the histogram, if there is one.
    alternatives : tuple of Alternative
        What other recalls, thresholds and shingles would find and cost.
    examples : tuple of Example
        Some pairs, if they were asked for, the most similar first.

    See Also
    --------
    lshfast.check : Estimate what a run finds and misses, from a sample.
    lshfast.quality.PointCheck : The result for weighted sets, vectors and codes.
    """

    threshold: float
    unit: str
    size: int
    bands: int
    rows_per_band: int
    recall: Estimate
    promised: float
    pairs: Estimate
    near_rows: Estimate
    row_recall: Estimate
    precision: float
    unverified_precision: Estimate
    candidates: float
    by_similarity: tuple[SimilarityBin, ...]
    histogram: tuple[SimilarityBin, ...]
    suggested_threshold: float | None
    alternatives: tuple[Alternative, ...]
    examples: tuple[Example, ...] = ()

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        yield from self._estimates()
        yield from self._bars()
        yield from self._pairs_to_see()

    def _estimates(self) -> Iterator[Figure]:
        """Yield the lines of what the run, and other parameters, find."""
        yield from self.rows_figures(
            empty_note(self.empty, kind=self.items), "all rows"
        )
        yield figure(
            "pairs",
            count_of(self.pairs),
            f"at {self.threshold:g} or above",
            range_of(self.pairs),
        )
        yield figure(
            "rows",
            count_of(self.near_rows),
            "with such a pair",
            range_of(self.near_rows),
        )
        if isnan(self.recall.value):
            yield figure(
                "recall", "unknown", "no pair at or above the threshold was seen"
            )
        else:
            plan = (
                f"{self.bands} x {self.rows_per_band} bands promise {self.promised:.4f}"
            )
            yield figure(
                "recall", f"{self.recall.value:.4f}", share_range(self.recall), plan
            )
            if self.recall.high < self.promised / 2:
                note = "far below the promise: among rows that a run kept, only its misses remain"
                yield figure("", "", note)
            note = "of the rows with such a pair share a bucket with one"
            yield figure(
                "", f"{self.row_recall.value:.4f}", note, share_range(self.row_recall)
            )
        for one in self.by_similarity:
            if one.pairs.value:
                yield figure(
                    "",
                    f"{one.recall.value:.4f}",
                    _between(one),
                    share_range(one.recall),
                    _pairs(one),
                )
        yield figure("precision", f"{self.precision:g}", self._unverified())
        for other in self.alternatives:
            yield figure(*self._line(other))

    def _pairs_to_see(self) -> Iterator[Figure]:
        """Yield the lines of a valley of the similarities, and of examples."""
        if self.suggested_threshold is not None:
            yield figure(
                "valley",
                f"{self.suggested_threshold:g}",
                "a threshold between different and similar rows",
            )
        for example in self.examples:
            if example.similarity < self.threshold:
                share = ""
            elif example.found:
                share = "found"
            else:
                share = "missed"
            names = visible(f"{one_line(example.key_i)}, {one_line(example.key_j)}")
            yield figure("example", f"{example.similarity:.4f}", share, names)
            yield figure("", "", f"- {example.left}")
            yield figure("", "", f"+ {example.right}")

    def _sentences(self) -> list[str]:
        return sentences(self)

    def _repr_html_(self) -> str:
        """Return the figures for a notebook, with a picture of the similarities."""
        try:
            picture = drawing_of(self)._repr_svg_()
        except ImportError:  # without the packages of pages
            return super()._repr_html_()
        title, _, advice = self._shown()
        figures = [*self._estimates(), *self._pairs_to_see(), *self.input_figures()]
        table = as_html(title, figures, advice)
        return paragraphs(self._sentences()) + picture + table

    def _unverified(self) -> str:
        candidates = f"{self.candidates:.2f} candidates a row"
        if isnan(self.unverified_precision.value):
            return candidates
        range_of = share_range(self.unverified_precision)
        return (
            f"{candidates}; unverified it would be "
            f"{self.unverified_precision.value:.4f}{range_of and f', {range_of}'}"
        )

    def _line(self, other: Alternative) -> tuple[str, str, str]:
        """Return the line of an alternative: its recall, or its pairs with other shingles."""
        name = other.name.replace("threshold", "above")
        pairs = f"{count_of(other.pairs)} pairs"
        memory = f"{other.key_bytes / 1e6:,.1f} MB of keys"
        cost = (
            f"{other.bands} x {other.rows_per_band}; {other.candidates:.2f} candidates a row; "
            f"{memory}"
        )
        if other.compared_rows is not None:
            cost += f"; the sample was compared with {other.compared_rows:,} rows only"
        if other.recall is None or isnan(other.recall.value):
            return name, "", f"{pairs}; {range_of(other.pairs) or 'exact'}; {cost}"
        return (
            name,
            f"{other.recall.value:.4f}",
            f"{share_range(other.recall) or 'exact'}; {pairs}; {cost}",
        )

    def _bars(self) -> Iterator[Figure]:
        most = max((one.pairs.value for one in self.histogram), default=0.0)
        if not most:
            return
        for one in self.histogram:
            bar = "#" * round(BAR * one.pairs.value / most)
            yield figure(f"{one.low:.3f}", count_of(one.pairs), bar)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        texts: bool = True,
        title: str = "Check",
        command: str = "",
        overwrite: bool = False,
    ) -> None:
        """Write a page that shows the figures: one file without scripts, which loads nothing.

        Parameters
        ----------
        path, title, overwrite
            As for `lshfast.DedupResult.to_html`.
        texts : bool, default True
            Whether examples show their texts.
        command : str
            A command that repeats the check, which the page shows.

        Raises
        ------
        ImportError, ValueError, OSError
            As for `lshfast.DedupResult.to_html`.

        Examples
        --------
        >>> import lshfast, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "check.html")
        >>> lshfast.check(["one two three", "four five six"]).to_html(path)
        >>> os.path.getsize(path) > 2000
        True
        """
        check_page(path)
        write_page(
            path, self.page(title=title, command=command, texts=texts), overwrite
        )

    def page(self, *, title: str, command: str = "", texts: bool = True) -> str:
        """Return the page of `to_html`."""
        return page_of(self, title=title, command=command, texts=texts)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as values of JSON; numbers that are not known are None."""
        return figures_as_dict(self)


def _between(one: SimilarityBin) -> str:
    return f"from {one.low:g} to {one.high:g}"


def _pairs(one: SimilarityBin) -> str:
    return f"promised {one.promised:.4f}; {count_of(one.pairs)} pairs"

"""The page of a run over files: the results of each input's rows, and example texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from lshfast._common.errors import TooManyRemovedError
from lshfast._common.types import Int64Array
from lshfast._common.visible import without_secrets
from lshfast._engine.account.report import DedupResult
from lshfast._engine.columns import Column, ShingledTexts
from lshfast._engine.pages.dedup import page_of, radius_of
from lshfast._engine.pages.evidence import (
    AS_THEY_ARE,
    TEXT_CHARACTERS,
    InputRows,
    SampledPairs,
    TextsOf,
    compared_form,
    evidence_of,
    evidence_of_pairs,
)
from lshfast._engine.pages.run_pages import PageOutput, named, refusal_of
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.plan import AnyPlan
from lshfast._io import Corpus
from lshfast._io.pages.page import write_page
from lshfast.kernels.text import Texts


class RowPage:
    """The page of a run over the rows of a corpus.

    Parameters
    ----------
    output : PageOutput
    corpus : Corpus
    listing : bool
        Whether pairs are what was wanted, and not the rows that stay.
    plan : Plan or PointPlan
        The plan of the run.

    Attributes
    ----------
    refused : DedupResult or None
        The result to be shown if the run ends because too many rows would be removed.
    texts_of : callable
        Returns the texts of some ascending rows, by row. By default they are read again.
    """

    refused: DedupResult | None = None
    texts_of: TextsOf

    def __init__(
        self, output: PageOutput, corpus: Corpus, listing: bool, plan: AnyPlan
    ) -> None:
        self._output = output
        self._corpus = corpus
        self._radius = radius_of(plan)
        self._sample = SampledPairs(self._radius) if listing else None
        self.texts_of = partial(texts_by_row, corpus)
        self._show(output, corpus, plan.of_texts is None)
        self._form = compared_form(plan) if output.column is None else AS_THEY_ARE

    def _show(self, output: PageOutput, corpus: Corpus, items: bool) -> None:
        """Choose what is shown of a row: its text, or the value of a column."""
        layout = corpus.layout
        self._texts_are_shown = not items and output.column is None
        if self._texts_are_shown or not output.texts:
            return
        column = output.column or (
            None if layout.kind == "vector" else layout.column_name
        )
        if column is None:
            self._output = replace(output, texts=False)
        else:
            corpus.check_column(column)
            self.texts_of = partial(values_by_row, corpus, column)

    @contextmanager
    def even_if_refused(self, overwrite: bool) -> Iterator[None]:
        """Write the page of `refused` alone if the block ends because of too many removed rows."""
        try:
            yield
        except TooManyRemovedError as error:
            if self.refused is not None:
                self.write(self.refused, overwrite, refusal_of(error))
            raise

    def seeing(self, batches: Iterable[PairArray]) -> Iterable[PairArray]:
        """Return the batches of similar pairs; some are shown."""
        return batches if self._sample is None else self._sample.of(batches)

    def take_texts_from(self, column: Column) -> None:
        """Take texts from here, where they are still held or are read at their places."""
        if isinstance(column, ShingledTexts) and self._texts_are_shown:
            texts = column.texts
            self.texts_of = lambda rows: _beginnings(rows, texts.take(rows))

    def write(self, result: DedupResult, overwrite: bool, refusal: str = "") -> None:
        """Write the page of a result, with the reason if the run writes nothing else."""
        texts = self.texts_of if self._output.texts else None
        inputs = inputs_of(self._corpus, result)
        if self._sample is None:
            what = "Near-duplicates"
            evidence = evidence_of(result, texts, inputs, self._radius, self._form)
        else:
            what = "Similar pairs"
            evidence = evidence_of_pairs(
                self._sample, result, texts, inputs, self._form
            )
        page = page_of(
            result.summary,
            result.options,
            evidence,
            self._output,
            title=f"{what} in {named([file.name for file in self._corpus.files])}",
            removing=self._sample is None,
            refusal=refusal,
        )
        write_page(self._output.path, page, overwrite)


def texts_by_row(corpus: Corpus, rows: Int64Array) -> dict[int, str]:
    """Read the beginnings of the texts of some ascending rows again."""
    texts: dict[int, str] = {}
    for batch_rows, batch, _ in corpus.texts_of(rows):
        texts |= _beginnings(batch_rows, Texts(batch))
    return texts


def values_by_row(corpus: Corpus, column: str, rows: Int64Array) -> dict[int, str]:
    """Read the values of a column of some ascending rows again, as they are shown."""
    values_of_rows: dict[int, str] = {}
    for batch_rows, values in corpus.values_of(rows, column):
        values_of_rows |= dict(
            zip(
                batch_rows.tolist(),
                (value[:TEXT_CHARACTERS] for value in values),
                strict=True,
            )
        )
    return values_of_rows


def _beginnings(rows: Int64Array, texts: Texts) -> dict[int, str]:
    """Return the beginnings of texts by their rows."""
    most = 4 * TEXT_CHARACTERS  # bytes
    return {
        row: texts[place][:most].decode("utf-8", "replace")
        for place, row in enumerate(rows.tolist())
    }


def inputs_of(corpus: Corpus, result: DedupResult) -> list[InputRows]:
    """Return the good rows of each input, and how many of them were removed."""
    rows = []
    for number, file in enumerate(corpus.files):
        low, high = corpus.span(number)
        rows.append(
            InputRows(
                without_secrets(file.name),
                high - low,
                int(np.count_nonzero(~result.keep[low:high])),
            )
        )
    return rows

"""A threshold by eye: pairs of rows are shown to a person, who says whether they are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lshfast._common.progress import Progress
from lshfast._engine.account.short_texts import advice_for
from lshfast._engine.columns import Column, ShingledTexts
from lshfast._engine.common_shingles import ignoring_common
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs, text_batches
from lshfast._engine.options.stored import StoredOptions, read_options, write_beside
from lshfast._engine.pages.evidence import ComparedForm, compared_form
from lshfast._engine.pages.pair_sample import PairSample, edges_from
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.pairs.similar import SimilarPairs
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import sketch_rows
from lshfast._io.pages.differences import Differences
from lshfast.kernels.text import Texts
from lshfast.quality.label_sheet import (
    Answer,
    LabelSheet,
    Question,
    SheetKind,
    check_resumable,
    check_same,
    read_labels,
)
from lshfast.quality.labels import ThresholdEstimate

KIND = SheetKind(
    ("key_i", "key_j", "similarity", "label"), "labels of other texts or options"
)

# Bytes of a text that are held: more than is shown.
TEXT_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class TextQuestion(Question):
    """A pair of texts that a person is asked about.

    Attributes
    ----------
    texts : tuple of str
        Their beginnings, of at most TEXT_BYTES bytes.
    form : ComparedForm
        In which the run compares them.
    """

    texts: tuple[str, str]
    form: ComparedForm

    @cached_property
    def differences(self) -> Differences:
        """The spans of both texts."""
        return self.form.differences(*self.texts)


def label_files(
    inputs: Inputs,
    plan: Plan,
    path: str,
    ask: Callable[[TextQuestion], Answer],
    *,
    precision: float | None = None,
    advise: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> ThresholdEstimate:
    """Ask about pairs of rows until "quit" or the last pair; return the threshold of the labels.

    Parameters
    ----------
    inputs : Inputs
    plan : Plan
        Its threshold is the least similarity of the pairs.
    path : str
        The file of labels, .csv, .tsv or .jsonl. If it exists, its labels are kept. A file beside
        it has the options.
    ask : callable
        Returns the answer to a TextQuestion. KeyboardInterrupt counts as "quit".
    precision : float, optional
        The precision that is wanted, see `threshold_of`.
    advise : callable, optional
        Called before the first question, with advice if the texts are in several normal forms, like
        code, or too short for their shingles.
    progress : callable, optional

    Raises
    ------
    DataError
        If the inputs are bad, or the file has labels of other texts or options.
    ValueError
        If the file is not of a kind that can be resumed.
    """
    check_resumable(path)
    job = Job([path], inputs.on_error, True)
    corpus = job.open(inputs)
    job.check()
    stored = StoredOptions.of(plan.arguments, inputs)
    before = read_labels(path, KIND)
    if before is not None:
        _check_options(path, stored)
    with job.reading(corpus):
        batches: Iterable[Texts | Column] = text_batches(corpus, progress)
        if plan.ignore_common is not None:
            batches, plan = ignoring_common(batches, plan, job.clock, progress)
        sketches = sketch_rows(batches, plan, job.clock, progress)
        sample = PairSample(edges_from(plan.threshold), plan.hasher.seed)
        for pairs in SimilarPairs(
            sketches, plan, job.clock, progress
        ).of_different_rows():
            sample.add(pairs)
        sample_pairs = sample.pairs()
        texts = _texts_of(sketches.rows.column, sample_pairs)
        advice = advice_for(sketches.rows.column, plan)
    keys = []
    for pairs in sample_pairs:
        i_keys = corpus.keys_of(pairs["i"])
        j_keys = corpus.keys_of(pairs["j"])
        keys.append(list(zip(i_keys, j_keys, strict=True)))
    sheet = LabelSheet(
        path, KIND, edges_from(plan.threshold), sample.counts, sample_pairs, keys
    )
    sheet.take(before or [])
    write_beside(path, stored, True)
    if advice and advise is not None:
        advise(advice)

    form = compared_form(plan)

    def question_of(pair: Any, **details: Any) -> TextQuestion:
        shown_texts = texts[int(pair["i"])], texts[int(pair["j"])]
        return TextQuestion(texts=shown_texts, form=form, **details)

    sheet.ask_all(question_of, ask, precision)
    return sheet.estimate(precision)


def _check_options(path: str, stored: StoredOptions) -> None:
    """Raise DataError if labels were given under other options than these."""
    before = read_options(path)
    if before is not None:
        check_same(path, KIND, before.options, stored.options)
        check_same(path, KIND, before.reading, stored.reading)


def _texts_of(column: Any, sample_pairs: Sequence[PairArray]) -> dict[int, str]:
    """Return the beginnings of the texts of the rows of some pairs."""
    assert isinstance(column, ShingledTexts)
    ends = [pairs[side] for pairs in sample_pairs for side in ("i", "j")]
    rows = np.unique(np.concatenate(ends))
    texts = column.texts.take(rows)
    return {
        row: texts[place][:TEXT_BYTES].decode("utf-8", "replace")
        for place, row in enumerate(rows.tolist())
    }

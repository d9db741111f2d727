"""The page of a run over files: what becomes of the rows of each input, and the texts of some rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lshfast.common.types import Int64Array
from lshfast.engine.dedup_page import (
    TEXT_CHARACTERS,
    InputRows,
    SampledPairs,
    evidence_of,
    evidence_of_pairs,
    page_of,
)
from lshfast.engine.report import DedupResult
from lshfast.kernels.text import Texts
from lshfast.readers import Corpus, check_place
from lshfast.reports.page import check_html, write_page


@dataclass(frozen=True)
class PageOutput:
    """A page to be written: its path, whether it shows texts, and the command that it names."""

    path: str
    texts: bool = True
    command: str = ""


def check_page(output: PageOutput, inputs: Iterable[str], overwrite: bool) -> None:
    """Check that a page can be written, before the work: its place, its name, and the packages that it needs."""
    check_html(output.path)
    check_place(output.path, inputs, overwrite)


def write_dedup_page(
    output: PageOutput, result: DedupResult, corpus: Corpus, sample: SampledPairs | None, overwrite: bool
) -> None:
    """Write the page of a result for the rows of a corpus; `sample` is of its pairs if they are what was wanted."""
    texts = partial(texts_by_row, corpus) if output.texts else None
    inputs = inputs_of(corpus, result)
    if sample is None:
        evidence = evidence_of(result, texts, inputs)
    else:
        evidence = evidence_of_pairs(sample, result, texts, inputs)
    what = "Near-duplicates" if sample is None else "Similar pairs"
    page = page_of(
        result.summary,
        result.options,
        evidence,
        title=f"{what} in {named([file.name for file in corpus.files])}",
        removing=sample is None,
        command=output.command,
        texts=output.texts,
    )
    write_page(output.path, page, overwrite)


def texts_by_row(corpus: Corpus, rows: Int64Array) -> dict[int, str]:
    """Read the beginnings of the texts of some ascending rows again."""
    found = {}
    for some, batch, _ in corpus.texts_of(rows):
        texts = Texts(batch)
        for place, row in enumerate(some.tolist()):
            found[row] = texts[place][: 4 * TEXT_CHARACTERS].decode("utf-8", "replace")
    return found


def inputs_of(corpus: Corpus, result: DedupResult) -> list[InputRows]:
    """Return the good rows of each input, and how many of them were removed."""
    rows = []
    for number, file in enumerate(corpus.files):
        low, high = corpus.span(number)
        rows.append(InputRows(file.name, high - low, int(np.count_nonzero(~result.keep[low:high]))))
    return rows


def named(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more

"""The check of texts in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lshfast.common.checks import Seed, check_int
from lshfast.common.progress import Progress
from lshfast.engine.columns import ShingledTexts, column_of
from lshfast.engine.plan import make_plan
from lshfast.engine.short_texts import warn_of
from lshfast.engine.sketching import Clock
from lshfast.quality.result import CheckResult
from lshfast.quality.run import CheckOptions, check_rows
from lshfast.shingling import Unit
from lshfast.sketch.minhash import Scheme

# The largest sample.
MOST_SAMPLE = 2**31 - 1


def check(
    texts: Any,
    *,
    threshold: float = 0.8,
    unit: Unit = "word",
    size: int | None = None,
    stop_words: str | Iterable[str] | None = None,
    num_perm: int = 128,
    scheme: Scheme = "fast",
    recall: float = 0.95,
    bands: int | None = None,
    rows_per_band: int | None = None,
    ignore_common: float | None = None,
    sample: int = 4000,
    examples: int = 0,
    threads: int | None = None,
    seed: Seed = 1,
    progress: Progress | None = None,
) -> CheckResult:
    """Measure on a sample what `dedup` and `pairs` with these parameters find, and what they miss.

    Rows are drawn with known probabilities, which are higher for rows that meet others, and compared exactly with all
    rows. The estimates are unbiased (docs/check.md has the proof), and each has a 95 % interval. If there are at most
    `sample` different rows, all are compared, and the figures are exact.

    Parameters
    ----------
    texts, threshold, unit, size, stop_words, num_perm, scheme, recall, bands, rows_per_band, ignore_common, threads,
    progress
        As for `dedup`.
    sample : int, default 4000
        About how many rows are compared with all others, at least 1.
    examples : int, default 0
        How many pairs are shown for each step of similarities of .05.
    seed : int or "random", default 1
        As for `dedup`; it also decides which rows are drawn.

    Returns
    -------
    CheckResult

    Raises
    ------
    TypeError, ValueError
        As for `dedup`.

    Warns
    -----
    ShortTextsWarning
        As for `dedup`.

    Examples
    --------
    >>> import lshfast
    >>> words = "the cat sat on the mat and looked at the dog that lay there in the warm sun all day".split()
    >>> texts = [" ".join(words), " ".join(words[:-1]), "a bird"]
    >>> result = lshfast.check(texts, threshold=0.8, size=2)
    >>> result.recall
    Estimate(value=1.0, low=1.0, high=1.0)
    >>> result.pairs.value, result.complete
    (1.0, True)
    """
    plan = make_plan(
        threshold=threshold, unit=unit, size=size, stop_words=stop_words, num_perm=num_perm, scheme=scheme,
        recall=recall, bands=bands, rows_per_band=rows_per_band, threads=threads, seed=seed,
        ignore_common=ignore_common,
    )  # fmt: skip
    options = CheckOptions(
        check_int("sample", sample, 1, MOST_SAMPLE), recall, check_int("examples", examples, 0, MOST_SAMPLE)
    )
    column = column_of(texts, plan.shingles)
    plan = replace(plan, sets=not isinstance(column, ShingledTexts))
    clock = Clock()
    figures = check_rows([column], plan, options, clock, progress)
    n = len(column)
    result = CheckResult(read=n, rejected=0, accepted=n, stages=clock.stages, seconds=clock.seconds, **figures)
    warn_of(result.advice)
    return result

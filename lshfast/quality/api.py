"""The check of texts in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lshfast._common.checks import check_int
from lshfast._common.choices import ItemMeasure, Kind, plural
from lshfast._common.progress import Progress
from lshfast._engine.account.short_texts import warn_of
from lshfast._engine.clock import Clock
from lshfast._engine.options.rules import options_of, taken_by_verb, takes_options
from lshfast._engine.plan import RECALL, AnyPlan, Plan, plan_for
from lshfast._items.kind import collected, kind_in_memory
from lshfast.kernels.text import Texts
from lshfast.quality.checks import CHECKS
from lshfast.quality.result import CheckResult
from lshfast.quality.run import CheckOptions, DrawnRows, check_rows
from lshfast.shingling import Unit

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lshfast._engine.options.types import SampleOptions
    from lshfast.quality.points import PointCheck

# The largest sample.
MOST_SAMPLE = 2**31 - 1

PLAN_OPTIONS = [
    option.name for option in taken_by_verb("check") if option.group == "plan"
]


@takes_options("check")
def check(
    texts: Any,
    *,
    kind: Kind | None = None,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    measure: ItemMeasure | None = None,
    sample: int = 4000,
    examples: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[SampleOptions],
) -> CheckResult | PointCheck:
    """Measure on a sample what `dedup` and `pairs` with these parameters find, and what they miss.

    Rows are drawn with known probabilities, which are higher for rows that meet others, and
    compared exactly with all rows. The estimates are unbiased (check.md has the proof), and each
    has a 95 % interval. If there are at most `sample` different rows, all are compared, and the
    figures are exact.

    Parameters
    ----------
    texts, kind, threshold, radius, unit, size, stop_words, num_perm, scheme, recall, bands,
    rows_per_band, ignore_common, threads, progress
        As for `dedup`.
    measure : str, optional
        As for `dedup`; for texts and sets "jaccard" only.
    sample : int, default 4000
        About how many rows are compared with all others, at least 1.
    examples : int, default 0
        How many pairs are shown for each step of similarities of .05.
    seed : int or "random", default 1
        As for `dedup`; it also decides which rows are drawn.

    Returns
    -------
    CheckResult
        For vectors and codes, a `PointCheck`: what is found and missed, without other parameters.

    Raises
    ------
    TypeError, ValueError
        As for `dedup`.

    Warns
    -----
    ShortTextsWarning, MixedFormsWarning, CodeTextsWarning, DecimalCodesWarning
        As for `dedup`.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.recommend : Recommend shingles and a threshold for texts of a length.
    lshfast.choose_bands : Choose bands and rows for a threshold and a recall.

    Examples
    --------
    >>> import lshfast
    >>> text = "the cat sat on the mat and saw the dog that lay there in the warm sun all day"
    >>> words = text.split()
    >>> texts = [" ".join(words), " ".join(words[:-1]), "a bird"]
    >>> result = lshfast.check(texts, threshold=0.8, size=2)
    >>> result.recall
    Estimate(value=1.0, low=1.0, high=1.0)
    >>> result.pairs.value, result.complete
    (1.0, True)
    """
    record = options_of("check", locals(), options)
    texts = collected(texts)
    plan = check_plan(kind_in_memory(texts, kind), record.picked(PLAN_OPTIONS))
    sample = check_int("sample", sample, 1, MOST_SAMPLE)
    examples = check_int("examples", examples, 0, MOST_SAMPLE)
    recall = RECALL if record.recall is None else record.recall
    result = checked_items(
        texts, plan, kind, CheckOptions(sample, recall, examples), progress
    )
    warn_of(result.advice)
    return result


def checked_draw(
    texts: Texts, plan: Plan, options: CheckOptions, drawn: DrawnRows
) -> CheckResult:
    """Return the figures of all rows, given texts that were drawn of them."""
    clock = Clock()
    figures = check_rows([texts], plan, options, clock, None, drawn)
    read_count = drawn.numbers.read
    return CheckResult(
        read=read_count,
        rejected=0,
        accepted=read_count,
        stages=clock.stages,
        seconds=clock.seconds,
        **figures,
    )


def checked_items(
    items: Any,
    plan: AnyPlan,
    kind: Kind | None,
    options: CheckOptions,
    progress: Progress | None = None,
) -> CheckResult | PointCheck:
    """Return the check of items in memory; `kind` is what the caller says of them."""
    check = CHECKS[plan.kind]
    if options.examples and "examples" in check.without:
        raise ValueError(f"examples is for texts and sets, not for {plural(plan.kind)}")
    clock = Clock()
    rows, figures = check.of_items(items, plan, kind, options, clock, progress)
    return check.result(
        read=rows,
        rejected=0,
        accepted=rows,
        stages=clock.stages,
        seconds=clock.seconds,
        **figures,
    )


def check_plan(kind: Kind, options: Mapping[str, Any]) -> AnyPlan:
    """Return the plan of a check, or raise an error that names the wrong option."""
    if kind in ("text", "set") and options["measure"] not in (None, "jaccard"):
        raise ValueError(
            f"measure must be 'jaccard' for a check of {kind}s, not {options['measure']!r}: a run "
            "by containment joins "
            "exactly by default"
        )
    if options["measure"] == "tanimoto":
        raise ValueError(
            "measure must be 'hamming' for a check of codes, not 'tanimoto', by which every pair "
            "is found"
        )
    return plan_for(kind, options)

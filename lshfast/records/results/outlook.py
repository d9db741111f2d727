"""How good the links of a run are likely to be: warnings, and the effect of other thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lshfast._common.display import counted
from lshfast._common.types import Float64Array
from lshfast._common.visible import visible
from lshfast.records.candidates.reach import Reach
from lshfast.records.comparison.nearness import EXACT_LEVEL
from lshfast.records.results.equal_records import EqualLinks
from lshfast.records.results.text_tables import aligned
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.weights.fellegi_sunter import LinkWeights

# Probabilities of which the outlook is shown.
THRESHOLDS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
FEW_MATCHES = 0.01  # of the records of the smaller table
CLOSE_BITS = 1.0  # between the threshold and a link that is near it
MANY_CLOSE = 0.3  # of the links are near the threshold
LEAST_PRECISION = 0.8
MANY_CUT = 0.2
LEAST_REACH = 0.9  # of the seeds, that blocking rules should bring
MOSTLY_MISSING = 0.05  # of the rows have a value
SHOWN_NAMES = 3
MANY_IN_DOUBT = 0.2  # of the links, as those between equal records show
# Matches of a fit, as times the records of the smaller table; 1.0x where all records match.
MOST_OF_RECORDS = 1.1
DEVIATIONS = 2.0  # standard errors of an interval
# The error of the weight of a field that depends on others, in bits: at .8, the intervals of 23 of
# 25 labelled tables have their precision in them.
FIELD_BITS = 0.8
TINY = 1e-12


class ThresholdStep(NamedTuple):
    """What a threshold gives, as the model expects it.

    Attributes
    ----------
    threshold : float
        The probability of a match.
    links : int
    precision, recall : float
        The expected part of the links that are matches, and of the matches among the candidates
        that are links.
    """

    threshold: float
    links: int
    precision: float
    recall: float


class ExpectedPrecision(NamedTuple):
    """The expected share of matches among the links, with an interval of probability 0.95.

    Attributes
    ----------
    expected, low, high : float
    """

    expected: float
    low: float
    high: float


def expected_precision(
    probabilities: Float64Array, weights: LinkWeights, by_others: float = 1.0
) -> ExpectedPrecision:
    """Return the expected precision of links with its interval.

    All scores may be too high or too low together: because m of each field and the share of matches
    are estimated from a number of matches, and because the fields depend on each other more than
    the model knows. Besides, the links that are wrong vary by chance.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (links,)
        At least one.
    weights : LinkWeights
    by_others : float
        The least precision by other evidence; the interval reaches down to it.
    """
    matches = max(weights.matches, 1.0)
    variance = 1 / matches
    for field in weights.fields:
        equal = max(float(field.m[EXACT_LEVEL]), 1 / matches)
        variance += (1 - equal) / (equal * matches) + (FIELD_BITS * np.log(2)) ** 2
    chances = np.clip(probabilities, TINY, 1 - TINY)
    odds = np.log(chances) - np.log1p(-chances)
    certain = probabilities >= 1
    shift = DEVIATIONS * float(variance**0.5)
    limits = []
    for sign, rounded in ((-1, np.ceil), (1, np.floor)):
        moved = np.where(certain, 1.0, 1 / (1 + np.exp(-(odds + sign * shift))))
        mean = float(moved.mean())
        # One more wrong link and one fewer: a hundred links without a wrong one do not show that
        # none is.
        chance = float((moved * (1 - moved)).sum() + (~certain).any()) ** 0.5 / len(
            moved
        )
        limit = min(max(mean + sign * DEVIATIONS * chance, 0.0), 1.0)
        # Wrong links are whole: if fewer than one is expected at the upper limit, none may be.
        wrong = rounded(round((1 - limit) * len(moved), 6))
        limits.append(1 - float(wrong) / len(moved))
    low, high = limits
    return ExpectedPrecision(float(probabilities.mean()), min(low, by_others), high)


def threshold_steps(probabilities: Float64Array) -> list[ThresholdStep]:
    """Return the outlook for some thresholds.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Those of all pairs that would be links without a threshold.

    Examples
    --------
    >>> import numpy as np
    >>> threshold_steps(np.array([0.95, 0.8, 0.25]))[2]
    ThresholdStep(threshold=0.5, links=2, precision=0.875, recall=0.875)
    """
    total = float(probabilities.sum())
    steps = []
    for threshold in THRESHOLDS:
        links = probabilities[probabilities >= threshold]
        precision = float(links.mean()) if len(links) else 1.0
        recall = float(links.sum()) / total if total else 1.0
        steps.append(ThresholdStep(threshold, len(links), precision, recall))
    return steps


def steps_text(steps: Sequence[ThresholdStep]) -> str:
    """Return the outlook as lines of text."""
    rows = [("threshold", "links", "expected precision", "expected recall")]
    for threshold, links, precision, recall in steps:
        row = f"{threshold:g}", f"{links:,}", f"{precision:.3f}", f"{recall:.3f}"
        rows.append(row)
    return aligned(rows)


NO_SEEDS = (
    "there are too few pairs of records that are each other's nearest by far to learn "
    "weights from, so the weights rest on all candidates; check some links"
)


def assignment_warning(assign: str) -> str:
    """Return a warning that links are not one to one because records match several others."""
    return (
        f"many records match several of the other table, so links are {assign} "
        "(--assign one-to-one)"
    )


def field_warnings(
    coded: Sequence[CodedField], by_twos: Sequence[str], are_linked: bool
) -> Iterator[str]:
    """Yield warnings of fields; `by_twos` are those whose dependence was sought by twos only."""
    if len(coded) == 1:
        yield one_field_warning(coded[0].field.name, are_linked)
    sparse = [
        field.field.name for field in coded if min(field.present) < MOSTLY_MISSING
    ]
    if sparse:
        yield f"fields with hardly any values tell little: {_listed(sparse)}"
    if by_twos:
        yield (
            f"of {len(coded)} fields, {len(coded) - len(by_twos)} were checked for what related "
            "records share, such as the address of a household; if related records are linked, "
            f"leave out others (--ignore): {_listed(by_twos)}"
        )


def one_field_warning(name: str, are_linked: bool) -> str:
    """Return a warning that one field does not show which records match."""
    more = "name more columns that mean the same with fields (--field NAME=OTHER)"
    if are_linked:
        return (
            f"only {name!r} was compared, so records that agree in it by chance are linked; "
            f"{more}"
        )
    return (
        f"only {name!r} was compared, which does not tell matches from records that agree by "
        f"chance, so none are linked; {more}, or link what is similar (--scoring points)"
    )


def reach_warnings(reach: Reach, rules_are_given: bool) -> Iterator[str]:
    """Yield a warning of blocking rules that bring too few of the seeds.

    The default rules also compare the nearest whole records.
    """
    if reach.share >= LEAST_REACH:
        return
    few = (
        f"only {reach.share:.0%} of {counted(reach.seeds, 'pair')} of records that are each "
        "other's nearest by far"
    )
    if rules_are_given:
        yield (
            f"the blocking rules bring {few}, and probably as few of the matches: add the "
            "nearest records (--block nearest)"
        )
    else:
        yield (
            f"without the nearest records, the blocking rules bring {few}, so matches that "
            "are less alike are probably missed: give rules for columns that you trust (--block)"
        )


def match_warnings(weights: LinkWeights, seeds: int, records: int) -> Iterator[str]:
    """Yield a warning of few expected matches.

    `seeds` are those of one table that weights were learnt from because links by other weights left
    them; `records` is the size of the smaller table.
    """
    if seeds:
        yield (
            "weights from all candidates did not lead to the pairs of records that are each "
            f"other's nearest by far, so weights were learnt from these {counted(seeds, 'pair')}: "
            "there seem to be few duplicates, or many alike records; check some links"
        )
    elif weights.matches < 1:
        yield (
            f"no matches are expected among {counted(records, 'record')}: the records that "
            "agree in some fields differ in others as strangers do; if you know matches, check "
            "that the columns mean the same"
        )
    elif weights.matches < FEW_MATCHES * records:
        yield (
            f"only {weights.matches:,.1f} matches are expected among "
            f"{counted(records, 'record')}; check some links"
        )


def equal_links_text(equal: EqualLinks, links: int, names: Sequence[str]) -> str:
    """Return a warning of links between equal records that may be different members of a group."""
    most = round(equal.in_doubt * links)
    fields = visible(", ".join(names))
    return (
        f"{equal.number:,} of {counted(links, 'link')} are between records that are equal in all "
        f"fields compared ({fields}); different members of a group, such as a household, may be "
        f"equal in these, or differ by an error only, so up to {most:,} links may be wrong: add a "
        "field that tells members apart, such as a date of birth"
    )


def bound_warnings(weights: LinkWeights, names: Sequence[str]) -> Iterator[str]:
    """Yield a warning of a fit that finds more matches than two tables can have one to one."""
    if weights.of_most > MOST_OF_RECORDS:
        yield (
            f"{weights.of_most:.1f} times as many pairs look like matches as the smaller table has "
            "records: records of the larger one stand in it several times (allow several links, "
            "--assign many-to-many, or remove copies first), or the fields "
            f"({_listed(names)}) hardly tell matches from others; check some links"
        )


def link_warnings(
    weights: LinkWeights, scores: Float64Array, least: float, cut: int
) -> Iterator[str]:
    """Yield warnings of unmarked links, from their scores, and of those between groups, `cut`."""
    precision = float(weights.probability(scores).mean())
    links = counted(len(scores), "link")
    close = int((scores < least + CLOSE_BITS).sum())
    if close > MANY_CLOSE * len(scores):
        yield (
            f"{close:,} of {links} are within {CLOSE_BITS:g} bit of the threshold: one that is "
            "slightly different changes many links"
        )
    wrong = round((1 - precision) * len(scores))
    if precision < LEAST_PRECISION and wrong:
        yield (
            f"about {wrong:,} of {links} are expected to be wrong: a higher threshold gives "
            "fewer and better links"
        )
    if cut > MANY_CUT * len(scores):
        yield (
            f"{cut:,} of {links} were cut from their groups, since other pairs contradict them: "
            "many links may be wrong, and a higher threshold gives fewer and better ones"
        )


def pattern_warnings(links: int, precision: float, by_patterns: float) -> Iterator[str]:
    """Yield a warning of links that rather weights than agreement patterns show to be matches."""
    if by_patterns < LEAST_PRECISION <= precision:
        yield (
            f"about {round(by_patterns * links):,} of {counted(links, 'link')} agree in as many "
            "fields as matches do, so the others rest on similar texts alone: check some links"
        )


def _listed(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    hidden = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(map(repr, names[:SHOWN_NAMES])) + hidden

"""The result of linking: links with their scores and parts, and the figures of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

import numpy.typing as npt

from lshfast.common.checks import check_bool
from lshfast.common.display import Figure, Shown, counted
from lshfast.common.types import Float64Array, Int64Array
from lshfast.common.visible import visible
from lshfast.kernels.sets import components
from lshfast.records.candidates import CandidatePairs, RuleReport
from lshfast.records.clusters import Clusters
from lshfast.records.dependent import DependentField
from lshfast.records.display import fields_text, rules_text, weights_text
from lshfast.records.explain import Explainer, PairScore, rows_of_pair
from lshfast.records.keys import LeftOut
from lshfast.records.linkage import Linkage
from lshfast.records.outlook import ThresholdStep, steps_text
from lshfast.records.rates import RateTable
from lshfast.records.reach import Reach
from lshfast.records.scoring import FieldScorer
from lshfast.records.tables import CodedField, RecordTable
from lshfast.records.weights import LinkWeights

SHOWN_CHARACTERS = 96  # of a line of a warning


@dataclass(frozen=True, repr=False)
class LinkSummary(Shown):
    """The figures of a run. A terminal and a notebook show a table of them.

    Attributes
    ----------
    records : (int, int)
        Records of each table; (n, 0) for one table.
    linked : (int, int)
        Records of each table with at least one link.
    all_pairs, compared, links : int
        Pairs without blocking; pairs of the blocking rules, each once; links.
    above : int
        Compared pairs that reach the threshold, before assignment.
    rules : list of RuleReport
        What each blocking rule brought.
    threshold : float
        The least score of a link, in bits or points.
    seconds : dict of str to float
        Time of each stage.
    warnings : tuple of str
        What makes the links doubtful, and what helps.
    steps : list of ThresholdStep
        What other thresholds would give, as the model expects it; empty for points.
    clusters : Clusters or None
        The groups of one table; None for two tables.
    ambiguous : int
        One-to-one links that were left out, because k pairs of one of their records are equally good, and 1 / k is
        below the threshold.
    reach : Reach or None
        The part of the matches that the blocking rules are likely to bring; see `Reach`. None if it was not measured:
        all pairs were compared, the tables have more than 200,000 records, there are fewer than 20 seeds, or the only
        rule is that of the nearest whole records.
    """

    records: tuple[int, int]
    linked: tuple[int, int]
    all_pairs: int
    compared: int
    above: int
    links: int
    rules: list[RuleReport]
    threshold: float
    seconds: dict[str, float] = field(compare=False)
    warnings: tuple[str, ...] = ()
    steps: list[ThresholdStep] = field(default_factory=list)
    clusters: Clusters | None = field(default=None, compare=False)
    reach: Reach | None = None
    ambiguous: int = 0

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        lines = [line for text in self.warnings for line in wrap(f"warning: {text}", SHOWN_CHARACTERS)]
        return "LinkSummary", self._figures(), "\n  ".join(lines)

    def _figures(self) -> Iterator[Figure]:
        (first, second), linked = self.records, self.linked
        yield Figure("records", f"{first + second:,}", f"{first:,} and {second:,}" if second else "")
        yield Figure("compared", f"{self.compared:,}", f"pairs, of {self.all_pairs:,}; rules: {len(self.rules)}")
        if self.reach is not None:
            note = f"of {counted(self.reach.seeds, 'seed pair')}, by rules other than nearest"
            yield Figure("reached", f"{self.reach.share:.1%}", note)
        yield Figure("above", f"{self.above:,}", f"pairs with a score of at least {self.threshold:.2f}")
        yield Figure("links", f"{self.links:,}")
        yield Figure("linked", f"{sum(linked):,}", f"records, {linked[0]:,} and {linked[1]:,}" if second else "records")
        if self.ambiguous:
            yield Figure("ambiguous", f"{self.ambiguous:,}", "links left out: several others are as good")
        if self.clusters is not None:
            cut = f"of two records or more; {counted(self.clusters.cut, 'link')} cut" if self.clusters.cut else ""
            yield Figure("groups", f"{self.clusters.groups:,}", cut or "of two records or more")
        yield Figure("seconds", f"{sum(self.seconds.values()):,.2f}")

    @property
    def unlinked(self) -> tuple[int, int]:
        """Records of each table without a link."""
        return self.records[0] - self.linked[0], self.records[1] - self.linked[1]

    @property
    def compared_share(self) -> float:
        """The part of all pairs that was compared."""
        return self.compared / self.all_pairs if self.all_pairs else 0.0


@dataclass(frozen=True, repr=False)
class LinkResult(Shown):
    """The links between two tables, or the links within one. A terminal and a notebook show the figures.

    Attributes
    ----------
    i, j : ndarray of int64, shape (n,)
        The rows of the links, sorted by (i, j). Within one table, i < j.
    scores : ndarray of float64, shape (n,)
        Sums of the scores of the fields: log2 of likelihood ratios (bits), or points.
    probabilities : ndarray of float64, shape (n,), or None
        The probability that a pair is a match, given its score, by the estimated weights, and at most 1 / k if k pairs
        of a record of a one-to-one link are equally good; None for points.
    parts : ndarray of float64, shape (n, fields)
        The score of each field.
    fields : list of CodedField
        The fields that are compared, with their kinds.
    weights : LinkWeights or None
        The estimated weights; None for points.
    rates : RateTable or None
        The rate of true matches at each score, if a field was held out.
    summary : LinkSummary
    left_out : list of LeftOut
        The columns that are not compared because they number the records, and why.
    dependent : tuple of DependentField
        The fields that are not compared because they follow from others.
    """

    i: Int64Array
    j: Int64Array
    scores: Float64Array
    probabilities: Float64Array | None
    parts: Float64Array
    fields: list[CodedField]
    weights: LinkWeights | None
    rates: RateTable | None
    summary: LinkSummary
    _linkage: Linkage
    _scorers: Sequence[FieldScorer]
    _candidates: CandidatePairs
    left_out: Sequence[LeftOut] = ()
    dependent: tuple[DependentField, ...] = ()

    def __len__(self) -> int:
        return len(self.i)

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        advice, warnings = "explain(link) shows one of them, explain_pair(id_a, id_b) any pair", self.summary.warnings
        if warnings:
            advice += f"; summary has {counted(len(warnings), 'warning')}"
        return f"LinkResult of {counted(len(self), 'link')}", self.summary._figures(), advice

    @property
    def single(self) -> bool:
        """Whether the links are within one table."""
        return self._linkage.b is None

    @property
    def names(self) -> list[str]:
        """Names of the fields that are compared."""
        return [coded.field.name for coded in self.fields]

    @property
    def tables(self) -> tuple[RecordTable, RecordTable]:
        """The two tables; for links within one table, both are this one."""
        return self._linkage.a, self._linkage.a if self._linkage.b is None else self._linkage.b

    def keys(self, links: slice = slice(None)) -> tuple[list[Any], list[Any]]:
        """Return the ids of both records of each link, or of some links."""
        first, second = (table.ids for table in self.tables)
        return [first[row] for row in self.i[links].tolist()], [second[row] for row in self.j[links].tolist()]

    def pairs(self) -> list[tuple[Any, Any]]:
        """Return the ids of the links as tuples."""
        return list(zip(*self.keys(), strict=True))

    def columns(self, links: slice = slice(None)) -> dict[str, npt.NDArray[Any] | list[Any]]:
        """Return the links, or some, as columns of a table: ids, score, probability, and the score of each field.

        Scores are rounded to four decimals.
        """
        first, second = self.keys(links)
        scores = self.scores[links].round(4)
        found: dict[str, npt.NDArray[Any] | list[Any]] = {"id_a": first, "id_b": second, "score": scores}
        if self.probabilities is not None:
            found["probability"] = self.probabilities[links].round(6)
        for place, name in enumerate(self.names):
            found[f"score_{name}"] = self.parts[links, place].round(4)
        return found

    def groups(self, *, closure: bool = False) -> Int64Array:
        """Return for each row of one table the smallest row of its group.

        Links connect rows. A chain of links that the scores of other pairs in it contradict is cut: groups are joined
        if the mean evidence of the pairs between them is above the threshold; see `lshfast.records.clusters`.

        Parameters
        ----------
        closure : bool, default False
            Whether chains are never cut: all rows that links and chains of links connect are one group.

        Raises
        ------
        ValueError
            If two tables were linked.
        """
        if self.summary.clusters is None:
            raise ValueError("groups are those of one table; these links are between two tables")
        if check_bool("closure", closure):
            return components(self.i, self.j, len(self._linkage.a))
        return self.summary.clusters.labels

    def explain(self, link: int) -> str:
        """Return one link as lines of text: the values of both records, how they compare, and their scores."""
        if not -len(self) <= link < len(self):
            raise IndexError(f"link must be in {-len(self)}..{len(self) - 1}, not {link}")
        rows = int(self.i[link]), int(self.j[link])
        return self._explainer().text(PairScore(rows, float(self.scores[link]), self.parts[link]))

    def explain_pair(self, id_a: Any, id_b: Any) -> str:
        """Return why two records were linked or not, as lines of text, with their values and scores.

        The pair was not a candidate of a blocking rule, its score is below the threshold, other links of its records
        were better, or it was linked. The score is computed in any case.

        Parameters
        ----------
        id_a, id_b : str or int
            The ids of a record of the first and of the second table; of one table, of any two records. A string is also
            the id that is written so, such as "7" for the integer 7. Without a column of ids, they are row numbers.

        Raises
        ------
        ValueError
            If no record has one of the ids, or both are the same record.

        Examples
        --------
        >>> from lshfast.records import match_records
        >>> a = {"name": ["Ann Lee", "Eve Stone"], "born": ["1980-05-01", "1971-11-30"]}
        >>> b = {"name": ["Anne Lee", "Eve Orr"], "born": ["1980-05-01", "1990-09-09"]}
        >>> print(match_records(a, b, scoring="points").explain_pair(1, 1))
        1 - 1: 84.00 points
          not linked: the score is below the threshold of 150.00
          compared because of all
          name                  +84.00  4 edits: 'Eve Stone' | 'Eve Orr'
          born                   +0.00  6858 edits: '1971-11-30' | '1990-09-09'
        """
        rows = rows_of_pair((self._linkage.a, self._linkage.b), id_a, id_b)
        explainer = self._explainer()
        pair = explainer.score(rows)
        return explainer.text(pair, explainer.verdict(pair))

    def _explainer(self) -> Explainer:
        least, candidates = self.summary.threshold, self._candidates
        return Explainer(
            self._linkage, self._scorers, self.weights, candidates, self.i, self.j, self.scores, least, self.groups
        )

    def describe(self) -> str:
        """Return the fields, weights and blocking rules, and what other thresholds would give, as lines of text."""
        parts = [
            fields_text(self.fields, self.dependent, self.left_out),
            rules_text(self.summary.rules, self.summary.reach),
        ]
        if self.weights is not None:
            parts.insert(1, weights_text(self.weights))
        if self.summary.steps:
            parts.append(steps_text(self.summary.steps))
        return visible("\n\n".join(parts), lines=True)

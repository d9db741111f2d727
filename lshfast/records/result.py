"""The result of linking: links with their scores and parts, and the figures of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from lshfast.common.checks import check_bool
from lshfast.common.display import Figure, Shown, counted
from lshfast.common.types import Float64Array, Int64Array
from lshfast.common.visible import visible
from lshfast.kernels.sets import components
from lshfast.records.candidates import RuleReport
from lshfast.records.clusters import Clusters
from lshfast.records.dependent import DependentField
from lshfast.records.display import fields_text, rules_text, weights_text
from lshfast.records.linkage import Linkage
from lshfast.records.rates import RateTable
from lshfast.records.scoring import FieldScorer
from lshfast.records.tables import CodedField, RecordTable, is_missing
from lshfast.records.weights import LinkWeights


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
    clusters : Clusters or None
        The groups of one table; None for two tables.
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
    clusters: Clusters | None = field(default=None, compare=False)

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        return "LinkSummary", self._figures(), ""

    def _figures(self) -> Iterator[Figure]:
        (first, second), linked = self.records, self.linked
        yield Figure("records", f"{first + second:,}", f"{first:,} and {second:,}" if second else "")
        yield Figure("compared", f"{self.compared:,}", f"pairs, of {self.all_pairs:,}; rules: {len(self.rules)}")
        yield Figure("above", f"{self.above:,}", f"pairs with a score of at least {self.threshold:.2f}")
        yield Figure("links", f"{self.links:,}")
        yield Figure("linked", f"{sum(linked):,}", f"records, {linked[0]:,} and {linked[1]:,}" if second else "records")
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
        The probability that a pair is a match, given its score, by the estimated weights; None for points.
    parts : ndarray of float64, shape (n, fields)
        The score of each field.
    fields : list of CodedField
        The fields that are compared, with their kinds.
    weights : LinkWeights or None
        The estimated weights; None for points.
    rates : RateTable or None
        The rate of true matches at each score, if a field was held out.
    summary : LinkSummary
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
    dependent: tuple[DependentField, ...] = ()

    def __len__(self) -> int:
        return len(self.i)

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        return f"LinkResult of {counted(len(self), 'link')}", self.summary._figures(), "explain(link) shows one of them"

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
        i, j = self.i[link : link + 1 or None], self.j[link : link + 1 or None]
        first, second = self.tables
        rows = int(i[0]), int(j[0])
        unit = "points" if self.weights is None else "bits"
        lines = [f"{first.ids[rows[0]]} - {second.ids[rows[1]]}: {self.scores[link]:.2f} {unit}"]
        if self.probabilities is not None:
            lines[0] += f", probability {self.probabilities[link]:.4f}"
        records = first.record(rows[0]), second.record(rows[1])
        for place, (coded, scorer) in enumerate(zip(self.fields, self._scorers, strict=True)):
            how = scorer.explained(coded.codes[0][i], coded.codes[1][j])[0]
            values = [record[coded.field.column_of(table)] for table, record in enumerate(records)]
            shown = " | ".join("missing" if is_missing(value) else repr(value) for value in values)
            lines.append(f"  {coded.field.name:<20}{self.parts[link, place]:>+8.2f}  {how}: {shown}")
        return visible("\n".join(lines), lines=True)

    def describe(self) -> str:
        """Return the fields, the weights and the table of the blocking rules as lines of text."""
        parts = [fields_text(self.fields, self.dependent), rules_text(self.summary.rules)]
        if self.weights is not None:
            parts.insert(1, weights_text(self.weights))
        return visible("\n\n".join(parts), lines=True)

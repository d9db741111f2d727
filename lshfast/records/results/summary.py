"""The figures of a run that links records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from textwrap import wrap

from lshfast._common.display import Figure, Shown, counted, figure
from lshfast.records.candidates.reach import Reach
from lshfast.records.candidates.union import RuleReport
from lshfast.records.links.clusters import Clusters
from lshfast.records.results.outlook import ExpectedPrecision, ThresholdStep

SHOWN_CHARACTERS = 96  # of a line of a warning
MOST_IN_DOUBT = 0.5  # of the links, for an expected precision


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
        One-to-one links that were left out, because other pairs of their records leave them a
        probability below the threshold: 1 / k if k pairs are equally good.
    greedy : int
        One-to-one links that were chosen greedily, the best first, since chains of pairs connect
        too many records for the greatest sum of scores.
    missing : dict of str to dict of str to tuple of int
        For each field the values that count as missing although they are not empty, and the rows of
        each table that have them.
    reach : Reach or None
        The part of the matches that the blocking rules are likely to bring; see `Reach`. None if it
        was not measured: all pairs were compared, the tables have more than 200,000 records, there
        are fewer than 20 seeds, or the only rule is that of the nearest whole records.
    marked : (int, int)
        The pairs that people marked the same, and different.
    precision : ExpectedPrecision or None
        The part of the links that are expected to be matches, with the limits of an interval that
        has the true part in it with a probability of about 0.95: a tuple (expected, low, high).
        None for points, and without links.
    in_doubt : float
        The part of the links that may join different members of a group, such as a household, as
        links between records that are equal in all fields show; 0 without a reason to doubt it. The
        interval of `precision` reaches down to the other links.

    See Also
    --------
    lshfast.records.LinkResult : The links that were found.
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
    greedy: int = 0
    marked: tuple[int, int] = (0, 0)
    missing: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    precision: ExpectedPrecision | None = None
    in_doubt: float = 0.0

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        lines = [
            line
            for text in self.warnings
            for line in wrap(f"warning: {text}", SHOWN_CHARACTERS)
        ]
        return "LinkSummary", self.figures(), "\n  ".join(lines)

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of the table."""
        first, second = self.records
        both = f"{first:,} and {second:,}" if second else ""
        yield figure("records", first + second, both)
        rules = f"pairs, of {self.all_pairs:,}; rules: {len(self.rules)}"
        yield figure("compared", self.compared, rules)
        if self.reach is not None:
            seeds = f"of {counted(self.reach.seeds, 'seed pair')}, by rules other than nearest"
            yield figure("reached", f"{self.reach.share:.1%}", seeds)
        score = f"pairs with a score of at least {self.threshold:.2f}"
        yield figure("above", self.above, score)
        yield figure("links", self.links)
        if self.precision is not None:
            expected, low, high = self.precision
            interval = f"{low:.3f} to {high:.3f} with probability 0.95"
            if self.is_open:
                yield figure("precision", "unknown", interval)
            else:
                yield figure("precision", f"{expected:.3f}", f"expected; {interval}")
        linked_a, linked_b = self.linked
        both = f"records, {linked_a:,} and {linked_b:,}" if second else "records"
        yield figure("linked", linked_a + linked_b, both)
        if any(self.marked):
            same, different = self.marked
            answers = f"pairs: {same:,} same, {different:,} different"
            yield figure("marked", same + different, answers)
        if self.ambiguous:
            rivals = "links left out: several others are as good"
            yield figure("ambiguous", self.ambiguous, rivals)
        if self.greedy:
            chains = "links chosen the best first: too many records hang together"
            yield figure("greedy", self.greedy, chains)
        if self.clusters is not None:
            cut = self.clusters.cut
            cut_links = f"{counted(cut, 'link')} cut" if cut else ""
            size = "of two records or more"
            yield figure("groups", self.clusters.groups, size, cut_links)
        yield figure("seconds", f"{sum(self.seconds.values()):,.2f}")

    @property
    def is_open(self) -> bool:
        """Whether so many links are in doubt that the expected precision says nothing."""
        return self.in_doubt > MOST_IN_DOUBT

    @property
    def telling_steps(self) -> list[ThresholdStep]:
        """`steps`, or none of them if the expected precision says nothing."""
        return [] if self.is_open else self.steps

    @property
    def unlinked(self) -> tuple[int, int]:
        """Records of each table without a link."""
        return self.records[0] - self.linked[0], self.records[1] - self.linked[1]

    @property
    def compared_share(self) -> float:
        """The part of all pairs that was compared."""
        return self.compared / self.all_pairs if self.all_pairs else 0.0

"""Why two records were linked or not, as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lshfast._common.display import counted
from lshfast._common.visible import visible
from lshfast.records.candidates.union import rules_of
from lshfast.records.results.run_view import RunView, ScoredPair
from lshfast.records.tables.distinct_values import is_missing

SHOWN_LINKS = 3  # of a record, to other records


def explanation(view: RunView, pair: ScoredPair, verdict: Sequence[str] = ()) -> str:
    """Return ids, score and verdict, and both values and the score of each field, as lines."""
    lines = [f"{_ids(view, pair.rows)}: {_score(view, pair.score)}"]
    lines += [f"  {line}" for line in verdict]
    for field in view.compared(pair):
        line = f"  {field.name:<20}{field.score:>+8.2f}  {field.how}"
        if field.values is not None:
            line += f": {' | '.join(map(_value, field.values))}"
        lines.append(line)
    return "\n".join(map(visible, lines))


def _value(value: Any) -> str:
    return "missing" if is_missing(value) else repr(value)


def verdict_of(view: RunView, pair: ScoredPair) -> list[str]:
    """Return why two records were linked or not, as lines."""
    reaches = pair.score >= view.least
    relation = "at least" if reaches else "below"
    compared = f"the score is {relation} the threshold of {view.least:.2f}"
    rules = _rules(view, pair.rows)
    brought = [] if rules is None else [f"compared because of {', '.join(rules)}"]
    mark = view.run.labels.answer(pair.rows)
    if mark is not None:
        linked = "linked" if mark == "same" else "not linked"
        return [f"{linked}: the pair is marked {mark}", compared, *brought]
    if rules is None:
        reason = "no blocking rule brought this pair, so it was not compared"
        if reaches and view.run.single:
            reason = (
                "no blocking rule brought this pair, or words of its records differ"
            )
        skipped = sum(report.skipped for report in view.scored.candidates.reports)
        blocks = f"the rules left out {counted(skipped, 'block')} above the cap"
        skipped_blocks = [blocks] if skipped else []
        group = _group(view, pair.rows)
        return [f"not linked: {reason}", compared, *skipped_blocks, *group]
    run = view.run
    if ((run.i == pair.rows[0]) & (run.j == pair.rows[1])).any():
        return [f"linked: {compared}", *brought]
    if not reaches:
        return [f"not linked: {compared}", *brought, *_group(view, pair.rows)]
    rivals = _rivals(view, pair.rows)
    reason = "several other pairs of these records are as good"
    if rivals:
        reason = "other links were better"
    return [f"not linked, although {compared}: {reason}", *brought, *rivals]


def _ids(view: RunView, rows: tuple[int, int]) -> str:
    first, second = view.run.tables
    return f"{first.ids[rows[0]]} - {second.ids[rows[1]]}"


def _score(view: RunView, score: float) -> str:
    """Return a score with its unit, and the probability of a match."""
    probability = view.probability(score)
    if probability is None:
        return f"{score:.2f} points"
    return f"{score:.2f} bits, probability {probability:.4f}"


def _rules(view: RunView, rows: tuple[int, int]) -> list[str] | None:
    """Return the rules that brought a pair; None if it was not compared."""
    candidates = view.scored.candidates
    place = np.uint64(rows[0] * view.linkage.sizes[1] + rows[1])
    at = int(np.searchsorted(candidates.places, place))
    if at == len(candidates) or candidates.places[at] != place:
        return None
    mask = candidates.masks[at : at + 1]
    reports = enumerate(candidates.reports)
    return [report.rule for rule, report in reports if rules_of(mask, rule)[0]]


def _group(view: RunView, rows: tuple[int, int]) -> list[str]:
    """Return a line if two records of one table are in one group."""
    clusters = view.run.summary.clusters
    if clusters is None or clusters.labels[rows[0]] != clusters.labels[rows[1]]:
        return []
    return ["links to other records put both in one group"]


def _rivals(view: RunView, rows: tuple[int, int]) -> list[str]:
    """Return the best links of two records to others as lines."""
    run = view.run
    shares_record = (run.i == rows[0]) | (run.j == rows[1])
    if run.single:
        shares_record |= (run.i == rows[1]) | (run.j == rows[0])
    rivals = np.flatnonzero(shares_record)
    best = rivals[np.argsort(-run.scores[rivals], kind="stable")][:SHOWN_LINKS]
    links = map(view.link, best.tolist())
    return [
        f"linked instead: {_ids(view, link.rows)}, {_score(view, link.score)}"
        for link in links
    ]

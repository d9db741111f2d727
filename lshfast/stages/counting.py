"""The stages count and recount: shingles that are too common to count.

They have tasks only if the plan ignores common shingles. `count` counts the texts of a shard in a
table, see `lshfast._engine.common_shingles`. What is in more than a share of all texts is in more
than this share of those of one shard at least, so `recount` counts the shingles whose entries are
large enough in the table of any shard.
"""

from __future__ import annotations

import numpy as np

from lshfast._common.threads import quick_switches
from lshfast._engine.clock import Clock
from lshfast._engine.common_shingles import (
    TABLE_BITS,
    Counts,
    above_share,
    count_likely,
    count_places,
    summed,
)
from lshfast._engine.inputs import faults_of, text_batches
from lshfast._engine.parts.task_files import figures_of, writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._engine.plan import Plan
from lshfast.shingling import CommonShingles
from lshfast.stages.stage_plan import StagePlan


def count(plan: StagePlan, shard: int) -> None:
    """Find the entries of the table that may have common shingles, by the texts of a shard."""
    corpus = plan.corpus(shard)
    with writing(plan, "count", shard) as writer:
        with faults_of(corpus), quick_switches():
            places = count_places(
                text_batches(corpus), plan.engine, plan.common_numbers, Clock()
            )
        writer.add(
            0,
            places=np.flatnonzero(
                above_share(places.table, _share_of(plan), places.texts)
            ).astype(np.uint32),
        )
        writer.figures = {"texts": places.texts}


def recount(plan: StagePlan, shard: int) -> None:
    """Count in how many texts of a shard each shingle occurs that may be common."""
    likely = np.zeros(1 << TABLE_BITS, np.bool_)
    for other in range(plan.shards):
        with TaskFile(plan, "count", other) as file:
            for part in file.ranges(0):
                if (part["places"] >= len(likely)).any():
                    raise file.fault(
                        f"it has numbers that are not in 0..{len(likely) - 1}"
                    )
                likely[part["places"]] = True
    corpus = plan.corpus(shard)
    with writing(plan, "recount", shard) as writer:
        with faults_of(corpus), quick_switches():
            tokens, counts = count_likely(
                text_batches(corpus), plan.engine, plan.common_numbers, likely, Clock()
            )
        writer.add(0, tokens=tokens, counts=counts)


def _share_of(plan: StagePlan) -> float:
    share = plan.engine.ignore_common
    assert share is not None
    return share


def texts_of(plan: StagePlan) -> int:
    """Return the number of texts of all shards."""
    return sum(
        int(figures_of(plan, "count", shard)["texts"]) for shard in range(plan.shards)
    )


def engine_of(plan: StagePlan) -> Plan:
    """Return the plan without common shingles, after all tasks of `recount`."""
    share = plan.engine.ignore_common
    if share is None:
        return plan.engine
    parts: list[Counts] = []
    for shard in range(plan.shards):
        with TaskFile(plan, "recount", shard) as file:
            arrays = file.only(0)
            file.check_lengths(arrays, "tokens", "counts")
            parts.append((arrays["tokens"], arrays["counts"]))
    tokens, counts = summed(parts)
    return plan.engine.ignoring(
        CommonShingles(
            plan.common_numbers, tokens[above_share(counts, share, texts_of(plan))]
        )
    )

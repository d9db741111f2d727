"""The first reading of the rows of a run in parts: their marks and bucket keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array
from lshfast._engine.against import NOTHING_EARLIER, Earlier, EarlierRows
from lshfast._engine.clock import Clock, naming_stage
from lshfast._engine.marks import MarkedRows, Secret
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import Sketched, sketched
from lshfast.join.external.slot_file import SlotFile
from lshfast.join.shared_slots import UInt32Array
from lshfast.kernels.text import Texts


class _PieceOfRows(NamedTuple):
    rows: MarkedRows
    earlier: Earlier
    crowded: Int64Array
    hashes: UInt32Array | None


def sketched_rows(
    texts: Iterable[Texts],
    plan: Plan,
    secret: Secret,
    clock: Clock,
    removed: EarlierRows | None = None,
    slots: SlotFile | None = None,
    progress: Progress | None = None,
) -> Iterator[MarkedRows]:
    """Sketch texts, and yield the marks and bucket keys of their rows.

    `removed` gets the rows that are similar to an entry of an index, whose keys are emptied, and
    `slots` the hashes of the slots of rows in crowded buckets.
    """
    no_rows = np.empty(0, np.int64)

    def finish(piece: Sketched) -> _PieceOfRows:
        rows = MarkedRows.of(piece, plan, secret)
        earlier = NOTHING_EARLIER
        if removed is not None:
            earlier = removed.take_from(rows.keys, piece.signatures)
        if slots is None:
            return _PieceOfRows(rows, earlier, no_rows, None)
        crowded = slots.crowded(rows.keys)
        hashes = slots.hashes(piece.signatures, crowded)
        return _PieceOfRows(rows, earlier, crowded, hashes)

    first_row = 0
    for piece in sketched(texts, plan, clock, finish, progress):
        with naming_stage("sketch"):
            if removed is not None:
                removed.add(piece.earlier, first_row)
            if slots is not None and piece.hashes is not None:
                slots.add(first_row + piece.crowded, piece.hashes)
        first_row += len(piece.rows.marks)
        yield piece.rows

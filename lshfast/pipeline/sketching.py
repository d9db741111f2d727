"""One pass over batches of rows: each piece is hashed, sketched and processed while its tokens are in the cache."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from lshfast.common.growing import GrowingArray
from lshfast.common.progress import Progress
from lshfast.common.run_key import RunKey
from lshfast.common.threads import ordered_map, pieces
from lshfast.common.types import BoolArray, Int64Array, UInt64Array
from lshfast.join.banded import copy_marks, equal_rows
from lshfast.kernels import text
from lshfast.pipeline.columns import Column, KeyedRows, ShingledTexts, joined
from lshfast.pipeline.plan import Plan
from lshfast.pipeline.report import Stage
from lshfast.shingling import PIECE_BYTES
from lshfast.sketch.minhash import EMPTY
from lshfast.tokens import TokenSets

Result = TypeVar("Result")


# The activity of each stage, for error messages.
DOING = {
    "read": "reading",
    "sketch": "making signatures",
    "match": "finding candidates",
    "earlier": "looking up earlier entries",
    "verify": "verifying pairs",
    "group": "grouping rows",
    "index": "adding rows to the index",
    "insert": "adding rows to the index",
    "write": "writing the outputs",
    "save": "writing the index",
}


class OutOfMemoryError(MemoryError):
    """A MemoryError whose message names the stage of the run."""


@contextmanager
def naming_stage(name: str) -> Iterator[None]:
    """Raise an OutOfMemoryError that names the stage for a MemoryError, or for an OSError with errno ENOMEM."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        detail = f" ({error})" if str(error) else ""
        raise OutOfMemoryError(f"out of memory while {DOING[name]}{detail}") from error


class Clock:
    """The seconds and bytes of each stage of a run."""

    began: float

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str, nbytes: int = 0) -> Iterator[None]:
        """Measure a with statement as a stage, or as a further portion of it."""
        start = time.perf_counter()
        with naming_stage(name):
            yield
        self.add(name, time.perf_counter() - start, nbytes)

    def add(self, name: str, seconds: float, nbytes: int) -> None:
        """Add seconds and bytes to a stage."""
        before = self.stages.get(name, Stage(0.0, 0))
        self.stages[name] = Stage(before.seconds + seconds, before.nbytes + nbytes)

    @property
    def seconds(self) -> float:
        """Seconds since this clock was created."""
        return time.perf_counter() - self.began


class Sketched(NamedTuple):
    """The tokens of some rows, and their signatures."""

    tokens: TokenSets
    signatures: UInt64Array


def sketched(
    batches: Iterable[text.Texts | Column],
    plan: Plan,
    clock: Clock,
    finish: Callable[[Sketched], Result],
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Yield finish(piece) for each sketched piece of the rows, in order; several threads process pieces at once.

    The stages "read" and "sketch" measure the time that the caller waits for results. The time that the caller itself
    takes between results is not included.
    """
    row, done, elsewhere, reading, start = 0, 0, 0.0, 0.0, time.perf_counter()
    for name in ("read", "sketch"):  # these come first, even if the caller measures a stage between results
        clock.add(name, 0.0, 0)

    def portions() -> Iterator[tuple[int, Column]]:
        """Split the batches into pieces of work, and yield each with the number of its first row."""
        nonlocal row, reading
        source = iter(batches)
        while True:
            before = time.perf_counter()
            with naming_stage("read"):
                batch = next(source, None)
            reading += time.perf_counter() - before
            if batch is None:
                return
            column = as_column(batch, plan)
            for rows in pieces(column.nbytes, PIECE_BYTES):
                yield row + rows.start, column.take(rows)
            row += len(column)

    def work(portion: tuple[int, Column]) -> tuple[int, Result]:
        first_row, column = portion
        with naming_stage("sketch"):
            try:
                tokens = column.tokens(plan.hasher.seed)
            except text.TextError as error:
                raise text.TextError(error.row + first_row, error.reason) from None
            return int(column.nbytes.sum()), finish(Sketched(tokens, plan.hasher.sketch(tokens, threads=1)))

    for nbytes, made in ordered_map(work, portions(), plan.threads):
        done += nbytes
        if progress:
            progress("sketch", done, None)
        before = time.perf_counter()
        yield made
        elsewhere += time.perf_counter() - before
    clock.add("read", reading, done)
    clock.add("sketch", time.perf_counter() - start - reading - elsewhere, done)


def as_column(batch: text.Texts | Column, plan: Plan) -> Column:
    """Return a batch as a column; texts are split into the shingles of the plan."""
    return ShingledTexts(batch, plan.unit, plan.size) if isinstance(batch, text.Texts) else batch


@dataclass
class SketchedRows:
    """The rows of a run, their signatures, bucket keys and copies, and which of them are empty."""

    rows: KeyedRows
    signatures: UInt64Array
    keys: UInt64Array
    copies: Int64Array
    empty: BoolArray

    def __len__(self) -> int:
        return len(self.signatures)

    def set_aside(self, rows: Int64Array) -> None:
        """Exclude rows from all later comparisons; `rows` must include all copies of each row."""
        self.keys[rows] = EMPTY
        self.copies[rows] = rows


class _Piece(NamedTuple):
    signatures: UInt64Array
    keys: UInt64Array
    marks: UInt64Array


def sketch_rows(
    batches: Iterable[text.Texts | Column], plan: Plan, clock: Clock, progress: Progress | None = None
) -> SketchedRows:
    """Hash, sketch and band each row, and find the copies."""
    held: list[Column] = [ShingledTexts(text.Texts([]), plan.unit, plan.size)]

    def columns() -> Iterator[Column]:
        for batch in batches:
            held.append(as_column(batch, plan))
            yield held[-1]

    def finish(piece: Sketched) -> _Piece:
        return _Piece(piece.signatures, plan.bands.keys(piece.signatures), copy_marks(piece.tokens))

    room = sum(map(len, batches)) if isinstance(batches, list) else 0
    widths = plan.hasher.num_perm, plan.bands.bands, 2
    signatures, keys, marks = (GrowingArray(np.uint64, width, room=room) for width in widths)
    for piece in sketched(columns(), plan, clock, finish, progress):
        with naming_stage("sketch"):
            for whole, part in zip((signatures, keys, marks), piece, strict=True):
                whole.extend(part)
    with clock.stage("match", clock.stages["sketch"].nbytes):
        rows = KeyedRows(joined(held[1:] or held), RunKey.draw())
        copies = rows.confirmed(equal_rows(marks.finished()), plan.threads)
        slots = signatures.finished()
        return SketchedRows(rows, slots, keys.finished(), copies, slots[:, 0] == EMPTY)

"""One pass over batches of texts: shingle and sketch each piece, and do the rest while its tokens are in the cache."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from lshfast.dedup.plan import Plan
from lshfast.dedup.report import Stage
from lshfast.join.candidates import find_copies
from lshfast.kernels import sets, text
from lshfast.shingling import KERNELS, pieces
from lshfast.sketch.minhash import EMPTY
from lshfast.threads import ordered_map
from lshfast.tokens import BoolArray, Int64Array, TokenSets, UInt64Array

Progress: TypeAlias = Callable[[str, int, "int | None"], None]
Result = TypeVar("Result")


# What a run does in each stage.
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
    """Name the stage in a MemoryError, and in an OSError of the system for want of memory."""
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
    """Seconds and bytes of each stage of a run."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str, nbytes: int = 0) -> Iterator[None]:
        start = time.perf_counter()
        with naming_stage(name):
            yield
        self.add(name, time.perf_counter() - start, nbytes)

    def add(self, name: str, seconds: float, nbytes: int) -> None:
        before = self.stages.get(name, Stage(0.0, 0))
        self.stages[name] = Stage(before.seconds + seconds, before.nbytes + nbytes)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began


class Sketched(NamedTuple):
    """A piece of work after its first steps: some texts, their tokens, their signatures."""

    texts: text.Texts
    tokens: TokenSets
    signatures: UInt64Array


def sketched(
    batches: Iterable[text.Texts],
    plan: Plan,
    clock: Clock,
    finish: Callable[[Sketched], Result],
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Yield what `finish` makes of each piece of the texts, in order; several pieces are at work at a time.

    What takes the results is not on the clock: the stages "read" and "sketch" are the time that it waits for them.
    """
    row, done, elsewhere, reading, start = 0, 0, 0.0, 0.0, time.perf_counter()
    for name in ("read", "sketch"):  # first in the list, also where results are taken on the clock meanwhile
        clock.add(name, 0.0, 0)

    def portions() -> Iterator[tuple[int, text.Texts]]:
        """Cut the batches into pieces of work, with the number of each one's first row."""
        nonlocal row, reading
        source = iter(batches)
        while True:
            before = time.perf_counter()
            with naming_stage("read"):
                batch = next(source, None)
            reading += time.perf_counter() - before
            if batch is None:
                return
            for rows in pieces(batch.lengths):
                yield row + rows.start, batch.take(rows)
            row += len(batch)

    def work(portion: tuple[int, text.Texts]) -> tuple[int, Result]:
        first_row, texts = portion
        with naming_stage("sketch"):
            try:
                tokens = TokenSets(*KERNELS[plan.unit](texts, plan.size, plan.hasher.seed))
            except text.TextError as error:
                raise text.TextError(error.row + first_row, error.reason) from None
            return texts.nbytes, finish(Sketched(texts, tokens, plan.hasher.sketch(tokens, threads=1)))

    for nbytes, made in ordered_map(work, portions(), plan.threads):
        done += nbytes
        if progress:
            progress("sketch", done, None)
        before = time.perf_counter()
        yield made
        elsewhere += time.perf_counter() - before
    clock.add("read", reading, done)
    clock.add("sketch", time.perf_counter() - start - reading - elsewhere, done)


@dataclass
class Sketches:
    """What is known of the texts after one pass over them."""

    texts: text.Texts
    signatures: UInt64Array
    keys: UInt64Array
    copies: Int64Array
    empty: BoolArray

    def __len__(self) -> int:
        return len(self.signatures)

    def set_aside(self, rows: Int64Array) -> None:
        """Let these rows, among them all copies of each, meet nobody from here on."""
        self.keys[rows] = EMPTY
        self.copies[rows] = rows


class _Piece(NamedTuple):
    texts: text.Texts
    signatures: UInt64Array
    keys: UInt64Array
    prints: UInt64Array


def sketch_texts(batches: Iterable[text.Texts], plan: Plan, clock: Clock, progress: Progress | None = None) -> Sketches:
    """Run the pass for a join: shingle, sketch, band and fingerprint each text, and find the copies."""

    def finish(piece: Sketched) -> _Piece:
        prints = sets.fingerprints(piece.tokens.offsets, piece.tokens.tokens)
        return _Piece(piece.texts, piece.signatures, plan.bands.keys(piece.signatures), prints)

    parts = list(sketched(batches, plan, clock, finish, progress))
    with clock.stage("match", clock.stages["sketch"].nbytes):
        texts = text.Texts.concatenate([part.texts for part in parts])
        prints = np.concatenate([np.empty((0, 3), np.uint64), *(part.prints for part in parts)])
        keys = np.concatenate([np.empty((0, plan.bands.bands), np.uint64), *(part.keys for part in parts)])
        signatures = np.concatenate([plan.hasher.sketch(TokenSets([0], [])), *(part.signatures for part in parts)])
        return Sketches(texts, signatures, keys, find_copies(prints), signatures[:, 0] == EMPTY)

"""The samples of texts: some shingles, in the same places of equal passages.

The shingles of a text are hashed under a secret key. Of each window of consecutive hashes, the
least one is a sample (winnowing: Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for
document fingerprinting", 2003). A window holds the shingles of a shortest passage, and its sample
depends on nothing else. So a passage that occurs twice has the same samples both times, whatever
the key is; the key only determines which places they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast._common.growing import GrowingArray
from lshfast._common.rows import int64_range
from lshfast._common.run_key import draw_hash_key
from lshfast._common.threads import ordered_map, pieces
from lshfast._common.types import AnyArray, BoolArray, Int64Array, UInt64Array
from lshfast.kernels import passages
from lshfast.kernels.text import (
    HashKey,
    TextError,
    Texts,
    character_shingles,
    word_shingles,
)
from lshfast.passages.plan import PassagePlan
from lshfast.shingling import PIECE_BYTES

Sampler = Callable[[Texts], "Samples"]
Result = TypeVar("Result")


class Samples(NamedTuple):
    """The samples of some texts, in the order of the texts and of their places.

    Attributes
    ----------
    counts : int64 (rows,)
        Units of each text; 0 for a text that is shorter than a shortest passage, which has no
        samples.
    per_row : int64 (rows,)
        Samples of each text.
    hashes : uint64 (m,)
        The hash of each sample's shingle.
    places : int64 (m,)
        The first unit of the shingle: a number in the units of all these texts with samples, one
        after the other.
    before, after : uint16 (m,)
        The sample belongs to the windows that begin at ``places - before`` to ``places - after``.
    """

    counts: Int64Array
    per_row: Int64Array
    hashes: UInt64Array
    places: Int64Array
    before: npt.NDArray[np.uint16]
    after: npt.NDArray[np.uint16]

    def select(self, selected: BoolArray) -> tuple[Int64Array, Samples]:
        """Return the texts with selected samples, and these samples, numbered by these texts."""
        n = len(self.counts)
        row = np.repeat(int64_range(n), self.per_row)[selected]
        per_row = np.bincount(row, minlength=n).astype(np.int64)
        rows = np.flatnonzero(per_row).astype(np.int64)
        left_out = np.cumsum(np.where(per_row > 0, 0, self.counts), dtype=np.int64)
        places = self.places[selected] - left_out[row]
        return rows, Samples(
            self.counts[rows],
            per_row[rows],
            self.hashes[selected],
            places,
            self.before[selected],
            self.after[selected],
        )

    def windows(self, places: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the first and the last window of samples at these places."""
        return places - self.before, places - self.after


def make_sampler(plan: PassagePlan, key: HashKey | None = None) -> Sampler:
    """Return a function that samples texts under a key, by default one that is drawn now."""
    key = key or draw_hash_key()
    kernel = word_shingles if plan.unit == "word" else character_shingles

    def sample(texts: Texts) -> Samples:
        offsets, tokens = kernel(plan.normalized(texts), plan.size, key)
        starts, places, lows = passages.winnow(offsets, tokens, plan.window)
        per_row = np.diff(starts)
        shingles = np.diff(offsets)
        hashes = tokens[np.repeat(offsets[:-1], per_row) + places]
        counts = np.where(shingles >= plan.window, shingles + plan.size - 1, 0)
        highs = np.empty_like(lows)
        highs[:-1] = lows[1:] - 1
        sampled = np.flatnonzero(per_row)
        highs[starts[sampled + 1] - 1] = counts[sampled] - plan.length
        base = np.repeat(np.cumsum(counts, dtype=np.int64) - counts, per_row)
        before = (places - lows).astype(np.uint16)
        after = (places - highs).astype(np.uint16)
        return Samples(counts, per_row, hashes, places + base, before, after)

    return sample


def sample_pieces(
    batches: Iterable[Texts],
    sampler: Sampler,
    finish: Callable[[Texts, Samples], Result],
    threads: int,
) -> Iterator[Result]:
    """Yield finish(texts, samples) for each piece of the texts, in order, by several threads."""
    row = 0

    def portions() -> Iterator[tuple[int, Texts]]:
        nonlocal row
        for batch in batches:
            for rows in pieces(batch.lengths, PIECE_BYTES):
                yield row + rows.start, batch.take(rows)
            row += len(batch)

    def work(portion: tuple[int, Texts]) -> Result:
        first, texts = portion
        try:
            samples = sampler(texts)
        except TextError as error:
            raise TextError(error.row + first, error.reason) from None
        return finish(texts, samples)

    return ordered_map(work, portions(), threads)


def sample_all(
    batches: Iterable[Texts], sampler: Sampler, threads: int
) -> tuple[Texts, Samples]:
    """Return all texts as one column, and their samples."""
    columns = [
        GrowingArray(kind)
        for kind in (np.int64, np.int64, np.uint64, np.int64, np.uint16, np.uint16)
    ]
    all_texts: list[Texts] = []
    total = 0
    for texts, samples in sample_pieces(
        batches, sampler, lambda *piece: piece, threads
    ):
        all_texts.append(texts)
        parts: tuple[AnyArray, ...] = samples._replace(places=samples.places + total)
        for column, part in zip(columns, parts, strict=True):
            column.extend(part)
        total += int(samples.counts.sum())
    return Texts.concatenate(all_texts), Samples(
        *(column.finished() for column in columns)
    )

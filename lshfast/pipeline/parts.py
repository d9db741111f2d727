"""A run in parts: rows of different components of buckets are never compared, so each part is a run of its own.

The labels of components are all that has to be known of all rows at once. The rows of a part are read again, and go
through the same stages as the rows of a run in memory; a row that shares no bucket is in no part.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast.common.atomic_files import printable
from lshfast.common.errors import FormatError
from lshfast.common.progress import Progress
from lshfast.common.types import Float64Array, Int64Array, UInt64Array
from lshfast.join.external.summed_file import SummedFile
from lshfast.kernels.text import Texts
from lshfast.pipeline.plan import Keep, Plan
from lshfast.pipeline.preference import preference_of
from lshfast.pipeline.run import find_duplicates
from lshfast.pipeline.similar_pairs import PairArray, SimilarPairs
from lshfast.pipeline.sketching import Clock, sketch_rows

# The part of a row that shares no bucket with another row.
NO_PART = -1

# Bytes of a part that are written at a time; each such piece has a checksum. Pieces are smaller if there are so many
# parts that the pieces in memory would take more than PENDING_SHARE of the memory of a part.
PIECE_BYTES = 1 << 18
LEAST_PIECE_BYTES = 1 << 14
PENDING_SHARE = 1 / 4

# Bytes of signatures that are written at a time.
SIGNATURE_BYTES = 1 << 20


def divide(labels: Int64Array, costs: Int64Array, most: int) -> npt.NDArray[np.int32]:
    """Divide rows into parts so that all rows of a component are in one part.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        The smallest row of each row's component, in any numbering.
    costs : ndarray of int64, shape (n,)
        The memory that each row takes in its part.
    most : int
        The memory of a part. A component that takes more is a part of its own.

    Returns
    -------
    ndarray of int32, shape (n,)
        The number of each row's part, from 0 in the order of components; NO_PART for a row that is alone.
    """
    size, total = np.bincount(labels), np.bincount(labels, weights=costs)
    first = np.flatnonzero(size > 1)  # the labels of components of several rows
    cost = total[first]
    del total
    alone = cost > most / 2
    shared = np.where(alone, 0.0, cost)
    # The costs of the others are divided at multiples of most / 2, so two neighbours never exceed `most`.
    number = ((np.cumsum(shared, dtype=np.float64) - shared) // max(most / 2, 1)).astype(np.int64)
    number[alone] = number.max(initial=0) + 1 + np.arange(int(alone.sum()), dtype=np.int64)
    part_of_label = np.full(len(size), NO_PART, np.int32)
    part_of_label[first] = np.unique(number, return_inverse=True)[1].reshape(-1)
    return part_of_label[labels]


class PartWriter:
    """Write texts to the files of their parts, in the order in which they come.

    Parameters
    ----------
    folder : str
    parts : int
        The number of parts.
    memory : int
        The memory of a part; while the parts are written, a share of it holds what is not written yet.

    Attributes
    ----------
    piece_bytes : int
        Bytes that are written at a time.
    """

    def __init__(self, folder: str, parts: int, memory: int) -> None:
        share = int(memory * PENDING_SHARE) // max(parts, 1)
        self.piece_bytes: int = max(LEAST_PIECE_BYTES, min(PIECE_BYTES, share))
        self._files = [SummedFile(part_path(folder, number), self.piece_bytes) for number in range(parts)]

    def add(self, numbers: npt.NDArray[np.int32], texts: Texts) -> None:
        """Add texts to the parts of these numbers."""
        order = np.argsort(numbers, kind="stable")
        bounds = np.flatnonzero(np.diff(numbers[order], prepend=NO_PART - 1, append=NO_PART - 1))
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._files[int(numbers[order[low]])].write(texts.take(order[low:high]).packed())

    def finish(self) -> list[SummedFile]:
        """Write what is left, and return the files."""
        for file in self._files:
            file.finish()
        return self._files


def part_path(folder: str, number: int) -> str:
    """Return the path of the texts of a part."""
    return os.path.join(folder, f"part-{number}.texts")


def read_part(file: SummedFile, lengths: Int64Array) -> Texts:
    """Return the texts of a part, which have these lengths; the file is mapped as long as they exist.

    Raises
    ------
    FormatError
        If the file is damaged; the message names it.
    """
    if int(lengths.sum()) != file.nbytes:
        raise FormatError(f"{printable(file.path)}: damaged: it has not the size that was written")
    return Texts.of_buffer(file.mapped(), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


@dataclass(frozen=True)
class PartResult:
    """What the run of a part has found; rows are numbers in the part.

    Attributes
    ----------
    keeper : ndarray of int64, shape (m,)
    similarity : ndarray of float64, shape (m,)
        As in `Groups`.
    copies : ndarray of int64, shape (m,)
        The first copy of each row.
    pairs : structured ndarray with fields i, j, similarity
        The pairs of first copies that determine the groups.
    candidates : int
        As in `Summary`.
    """

    keeper: Int64Array
    similarity: Float64Array
    copies: Int64Array
    pairs: npt.NDArray[np.void]
    candidates: int


class StoredSignatures:
    """Signatures in a new file; use it as a context manager, which removes the file at the end.

    Parameters
    ----------
    path : str
    num_perm : int
    """

    def __init__(self, path: str, num_perm: int) -> None:
        self._file, self._k = SummedFile(path, SIGNATURE_BYTES), num_perm

    def __enter__(self) -> StoredSignatures:
        return self

    def __exit__(self, *_: object) -> None:
        # Windows removes no mapped file; the folder is removed later.
        with suppress(FileNotFoundError, PermissionError):
            os.unlink(self._file.path)

    def extend(self, part: UInt64Array) -> None:
        """Add rows at the end."""
        self._file.write(part.data.cast("B"))

    def finished(self) -> UInt64Array:
        """Return the rows, uint64 (n, k), which are mapped; nothing may be added after this."""
        self._file.finish()
        return self._file.mapped().view(np.uint64).reshape(-1, self._k)


def run_part(
    texts: Texts,
    plan: Plan,
    keep: Keep | Int64Array,
    clock: Clock,
    progress: Progress | None = None,
    store: StoredSignatures | None = None,
    similar: Callable[[PairArray, Int64Array], object] | None = None,
) -> PartResult:
    """Find the groups of the rows of a part, and all similar pairs if they are wanted.

    Parameters
    ----------
    texts : Texts
    plan : Plan
    keep : str, or ndarray of int64, shape (m,)
        A policy, or a value for each row.
    clock : Clock
    progress : callable, optional
    store : StoredSignatures, optional
        Holds the signatures, which are in memory otherwise.
    similar : callable, optional
        Called with batches of all similar pairs of first copies, and the first copy of each row.
    """
    sketches = sketch_rows([texts], plan, clock, store=store)
    candidates = None
    if similar is not None:
        every = SimilarPairs(sketches, plan, clock)
        for batch in every.of_different_rows():
            similar(batch, sketches.copies)
        candidates = every.candidates
    preference = preference_of(keep, sketches.rows.column)
    found = find_duplicates(sketches, plan, clock, preference=preference, progress=progress)
    copies, pairs = sketches.copies, found.pairs
    different = pairs[copies[pairs["j"]] == pairs["j"]]
    compared = found.candidates if candidates is None else candidates
    return PartResult(found.groups.keeper, found.groups.similarity, copies, different, compared)

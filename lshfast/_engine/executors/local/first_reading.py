"""The first reading of a run within a given amount of memory: all texts are read, sketched and
banded.

It leaves of each row its length, its component, and by two keyed hashes the first row with the same
bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.against import NOTHING_EARLIER, Earlier, EarlierRows
from lshfast._engine.budget import Budget
from lshfast._engine.clock import Clock, naming_stage
from lshfast._engine.common_shingles import find_common
from lshfast._engine.executors.local.input_sums import InputSums
from lshfast._engine.executors.local.work_folder import WorkFolder
from lshfast._engine.inputs import text_batches, texts_again
from lshfast._engine.marks import WIDTH, MarkedRows, RowMarks, draw_secret
from lshfast._engine.parts.screening import alone_in_crowds
from lshfast._engine.plan import Plan
from lshfast._engine.run import comparison_of
from lshfast._engine.sketching import Sketched, sketched
from lshfast._io import Corpus
from lshfast.join.external.bucket_runs import BucketRuns
from lshfast.join.external.components import components_of_runs
from lshfast.join.external.slot_file import SlotFile
from lshfast.join.shared_slots import UInt32Array
from lshfast.kernels.text import Texts
from lshfast.shingling import CommonShingles

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex

# Bytes of the inputs that are checked between two calls of `progress`.
CHECKED_BYTES = 64 << 20


class RowsRead(NamedTuple):
    """What the first reading leaves of each row.

    Attributes
    ----------
    nbytes : ndarray of int64, shape (n,)
        The bytes of its text.
    labels : ndarray of int64, shape (n,)
        The smallest row of its component.
    first : ndarray of int64, shape (n,)
        The first row with the same bytes; the row itself if it has no shingles.
    alone : ndarray of bool, shape (n,)
        Whether its slots tell that it is similar to no other row, though it may share buckets.
    empty : int
        The number of rows without shingles.
    plan : Plan
        The plan of the run, with its common shingles.
    earlier : Earlier or None
        The rows that are removed for an entry of an index; None without an index.
    """

    nbytes: Int64Array
    labels: Int64Array
    first: Int64Array
    alone: BoolArray
    empty: int
    plan: Plan
    earlier: Earlier | None


class _SketchedPiece(NamedTuple):
    rows: MarkedRows
    crowded: Int64Array
    hashes: UInt32Array
    earlier: Earlier


@dataclass
class FirstReading:
    """The first reading of a run; `rows` is called once. The attributes are the arguments of
    `find_in_parts`.
    """

    corpus: Corpus
    budget: Budget
    longest: int
    folder: WorkFolder
    clock: Clock
    index: LSHIndex | None = None
    progress: Progress | None = None
    _source_bytes: int = field(default=0, init=False)

    def rows(self) -> RowsRead:
        """Return what is left of all rows, or what an earlier attempt has saved if the inputs are
        the same.
        """
        self._plan, done = self.budget.plan, self.folder.done("sketch")
        self._sums = InputSums([] if self.folder.temporary else self.corpus.files)
        if done is not None:
            self.longest = int(done["longest_row"])
        self.corpus.limit_rows(self.longest, "more memory (--memory) raises this limit")
        self.corpus.hold_in_files(self.folder.path)
        if done is not None:
            return self._restored(done)
        rows = self._read()
        self._save(rows)
        return rows

    def _restored(self, done: Mapping[str, Any]) -> RowsRead:
        """Return what an earlier attempt has saved."""
        self._check_inputs(done["inputs"])
        arrays = self.folder.load("sketch", "rows.npz")
        self.folder.check("sketch", done["files"])
        self.corpus.restore(
            arrays, json.loads(arrays["values"].tobytes()), done["files"]
        )
        if self._plan.ignore_common is not None:
            tokens = self.folder.load("sketch", "common.npz")["tokens"]
            self._plan = self._plan.ignoring(
                CommonShingles(tuple(done["common"]), tokens)
            )
        for name in ("read", "sketch", "match"):
            self.clock.add(name, 0.0, 0)
        earlier = (
            None
            if self.index is None
            else Earlier.of_arrays(self.folder.load("sketch", "earlier.npz"))
        )
        columns = {
            name: arrays[name] for name in ("nbytes", "labels", "first", "alone")
        }
        return RowsRead(
            **columns, empty=done["empty"], plan=self._plan, earlier=earlier
        )

    def _check_inputs(self, before: Mapping[str, int]) -> None:
        """Compare the checksums of the inputs with those of the attempt that read them first."""
        total = self.corpus.total_bytes
        for position in range(0, total, CHECKED_BYTES):
            self._sums.follow(position)
            if self.progress:
                self.progress("input", position, total)
        now = self._sums.finished()
        if self.progress:
            self.progress("input", total, total)
        self.folder.check_inputs(before, now)

    def _save(self, rows: RowsRead) -> None:
        """Record that this stage is over."""
        of_corpus, values = self.corpus.state()
        of_corpus["values"] = np.frombuffer(json.dumps(values).encode(), np.uint8)
        of_rows = {
            name: getattr(rows, name) for name in ("nbytes", "labels", "first", "alone")
        }
        files = self.corpus.files_of_state
        figures = {
            "empty": rows.empty,
            "longest_row": self.longest,
            "inputs": self._sums.finished(),
            "files": files,
        }
        saved = self.folder.save(
            "rows.npz", {**of_corpus, **of_rows}
        ) | self.folder.sums(files)
        if rows.earlier is not None:
            saved |= self.folder.save("earlier.npz", rows.earlier.arrays())
        common = rows.plan.shingles.common
        if common is not None:
            saved |= self.folder.save("common.npz", {"tokens": common.tokens})
            figures["common"] = common.numbers
        self.folder.finish("sketch", figures, saved)

    def _read(self) -> RowsRead:
        """Read all texts, and join the rows that share a bucket."""
        texts = text_batches(self.corpus, self._tell)
        if self._plan.ignore_common is not None:
            texts = self._without_common(texts)
        plan = self._plan
        folder = self.folder
        clock = self.clock
        removed = None if self.index is None else EarlierRows(self.index, plan)
        least = comparison_of(plan).least_shared(plan.hasher.num_perm)
        with (
            BucketRuns(folder.path, plan.bands.bands, self.budget.records()) as runs,
            SlotFile(
                os.path.join(folder.path, "slots.bin"), plan.hasher.num_perm, least
            ) as slots,
        ):
            words = self._sketch(texts, runs, slots, removed)
            with clock.stage("match", clock.stages["sketch"].nbytes):
                runs.settle()
                labels = components_of_runs(runs, self.budget.work(runs.n))
                marks = RowMarks(words.finished())
                nbytes = marks.nbytes
                first = marks.first()
                empty = int(marks.empty.sum())
                del words, marks
                earlier = None if removed is None else removed.finished()
                if earlier is not None:
                    first[earlier.rows] = earlier.rows  # they are nobody's copies

                def read_again(rows: Int64Array) -> Iterator[Texts]:
                    return (
                        some
                        for _, some in texts_again(
                            self.corpus, rows, nbytes, self.progress
                        )
                    )

                alone = alone_in_crowds(labels, first, slots, plan, read_again)
        return RowsRead(nbytes, labels, first, alone, empty, plan, earlier)

    def _tell(self, stage: str, done: int, total: int | None) -> None:
        self._source_bytes = done
        self._sums.follow(done)
        if self.progress:
            self.progress(stage, done, total)

    def _without_common(self, texts: Iterator[Texts]) -> Iterator[Texts]:
        """Find the common shingles, and return the texts again."""
        lengths = GrowingArray(np.int64)

        def first() -> Iterator[Texts]:
            for batch in texts:
                lengths.extend(batch.lengths)
                yield batch

        def again() -> Iterator[Texts]:
            every = np.arange(len(lengths), dtype=np.int64)
            return (
                batch
                for _, batch in texts_again(
                    self.corpus, every, lengths.rows(), self.progress
                )
            )

        readings = iter([first, again])
        found = find_common(
            lambda: next(readings)(), self._plan, self.clock, self.progress
        ).shingles.common
        assert found is not None
        self._plan = self._plan.ignoring(found)
        return again()

    def _sketch(
        self,
        texts: Iterator[Texts],
        runs: BucketRuns,
        slots: SlotFile,
        removed: EarlierRows | None,
    ) -> GrowingArray:
        """Add all rows to the records, the hashes of slots and the rows for index entries; return
        their marks.
        """
        plan = self._plan
        budget = self.budget
        secret = draw_secret()
        longest = 0
        words = GrowingArray(np.uint64, WIDTH)

        def finish(piece: Sketched) -> _SketchedPiece:
            rows = MarkedRows.of(piece, plan, secret)
            earlier = (
                NOTHING_EARLIER
                if removed is None
                else removed.take_from(rows.keys, piece.signatures)
            )
            crowded = slots.crowded(rows.keys)
            return _SketchedPiece(
                rows, crowded, slots.hashes(piece.signatures, crowded), earlier
            )

        def batches() -> Iterator[Texts]:
            nonlocal longest
            for batch in texts:
                longest = max(longest, int(batch.lengths.max(initial=0)))
                if budget.row_work(longest) and budget.records(longest) < runs.memory:
                    # Leave room for longer rows, so that rows that grow slowly do not end in many
                    # small files.
                    runs.shrink(
                        budget.records(
                            min(longest * 5 // 4, max(longest, self.longest))
                        )
                    )
                yield batch

        for piece in sketched(batches(), plan, self.clock, finish, self.progress):
            with naming_stage("sketch"):
                runs.add(piece.rows.keys)
                slots.add(len(words) + piece.crowded, piece.hashes)
                if removed is not None:
                    removed.add(piece.earlier, len(words))
                words.extend(piece.rows.marks.words)
                if self._source_bytes and budget.memory < budget.least(
                    len(words), longest
                ):
                    # The error names the number of rows that is to be expected in all.
                    expected = (
                        len(words) * self.corpus.total_bytes // self._source_bytes
                    )
                    budget.work(max(len(words), expected), longest)
        return words

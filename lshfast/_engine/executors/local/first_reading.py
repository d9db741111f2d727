"""The first reading of a run within a given amount of memory: all texts are read, sketched and
banded.

It leaves of each row its length, its component, and by two keyed hashes the first row with the same
bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.against import Earlier, EarlierRows
from lshfast._engine.budget import Budget
from lshfast._engine.clock import Clock, naming_stage
from lshfast._engine.common_shingles import find_common
from lshfast._engine.executors.local.all_rows import AllRows
from lshfast._engine.executors.local.input_sums import InputSums
from lshfast._engine.executors.local.work_folder import WorkFolder
from lshfast._engine.inputs import text_batches, texts_again
from lshfast._engine.marks import WIDTH, RowMarks, draw_secret
from lshfast._engine.parts.earlier_columns import add_earlier, earlier_of
from lshfast._engine.parts.screening import alone_in_crowds
from lshfast._engine.parts.sketched_rows import sketched_rows
from lshfast._engine.parts.task_files import writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._engine.plan import Plan
from lshfast._engine.run import comparison_of
from lshfast._io import Corpus
from lshfast.join.copies import without_rows
from lshfast.join.external.bucket_runs import BucketRuns
from lshfast.join.external.components import components_of_runs
from lshfast.join.external.slot_file import SlotFile
from lshfast.kernels.text import Texts
from lshfast.shingling import CommonShingles

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex

# The ranges of the file in which it is kept.
OF_ROWS = 0
OF_COMPONENTS = 1
OF_CORPUS = 2
OF_COMMON = 3
OF_EARLIER_CORPUS = 5  # after `OF_EARLIER`

# Bytes of the inputs that are checked between two calls of `progress`.
CHECKED_BYTES = 64 << 20


class RowsRead(NamedTuple):
    """What the first reading leaves of each row; earlier rows are numbered after the others.

    Attributes
    ----------
    nbytes : ndarray of int64, shape (n,)
        The bytes of its text.
    labels : ndarray of int64, shape (n,)
        The smallest row of its component.
    first : ndarray of int64, shape (n,)
        The first row with the same bytes; the row itself if it has no shingles, and of earlier
        rows always.
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

    def without(self, rows: Int64Array) -> RowsRead:
        """Return what is left if some rows are compared with none, and removed for no entry."""
        is_compared = np.ones(len(self.first), np.bool_)
        is_compared[rows] = False
        earlier = None if self.earlier is None else self.earlier.among(is_compared)
        return self._replace(first=without_rows(self.first, rows), earlier=earlier)


@dataclass
class FirstReading:
    """The first reading of a run; `rows` is called once. The attributes are the arguments of
    `find_in_parts`.
    """

    all_rows: AllRows
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
        self._plan = self.budget.plan
        self._sums = InputSums([] if self.folder.temporary else self.all_rows.files)
        figures = self.folder.done("sketch")
        if figures is not None:
            self.longest = int(figures["longest_row"])
        remedy = "more memory (--memory) raises this limit"
        self.all_rows.limit_rows(self.longest, remedy)
        self.all_rows.hold_in_files(self.folder.path)
        if figures is not None:
            return self._restored(figures)
        rows = self._read()
        if not self.folder.temporary:
            self._save(rows)
        return rows

    def _restored(self, figures: Mapping[str, Any]) -> RowsRead:
        """Return what an earlier attempt has saved."""
        self._check_inputs(figures["inputs"])
        self.folder.check(figures["files"])
        with TaskFile(self.folder, "sketch", 0) as file:
            of_corpus = file.only(OF_CORPUS)
            of_corpus["orders"] = of_corpus["orders"].view(figures["orders"])
            _restore(self.all_rows.corpus, of_corpus, figures["files_of_corpus"])
            if self.all_rows.earlier is not None:
                of_earlier = file.only(OF_EARLIER_CORPUS)
                names = figures["files_of_earlier"]
                _restore(self.all_rows.earlier, of_earlier, names)
            if figures["common"] is not None:
                tokens = file.only(OF_COMMON)["tokens"]
                common = CommonShingles(tuple(figures["common"]), tokens)
                self._plan = self._plan.ignoring(common)
            labels = file.only(OF_COMPONENTS)["labels"]
            of_rows = file.only(OF_ROWS)
            earlier = None
            if self.index is not None:
                earlier = earlier_of(file, len(labels), self.index.key_kind)
        for name in ("read", "sketch", "match"):
            self.clock.add(name, 0.0, 0)
        alone = of_rows["alone"].view(np.bool_)
        return RowsRead(
            of_rows["nbytes"],
            labels,
            of_rows["first"],
            alone,
            figures["empty"],
            self._plan,
            earlier,
        )

    def _check_inputs(self, before: Mapping[str, int]) -> None:
        """Compare the checksums of the inputs with those of the attempt that read them first."""
        total = self.all_rows.total_bytes
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
        with writing(self.folder, "sketch", 0) as writer:
            is_alone = rows.alone.view(np.uint8)
            writer.add(OF_ROWS, nbytes=rows.nbytes, first=rows.first, alone=is_alone)
            writer.add(OF_COMPONENTS, labels=rows.labels)
            corpus = self.all_rows.corpus
            of_corpus = _state(corpus)
            orders = of_corpus.get("orders", rows.labels[:0])
            of_corpus["orders"] = orders.view(np.uint64)
            writer.add(OF_CORPUS, **of_corpus)
            common = rows.plan.shingles.common
            if common is not None:
                writer.add(OF_COMMON, tokens=common.tokens)
            if rows.earlier is not None:
                add_earlier(writer, rows.earlier)
            files_of_earlier: list[str] = []
            earlier = self.all_rows.earlier
            if earlier is not None:
                writer.add(OF_EARLIER_CORPUS, **_state(earlier))
                files_of_earlier = earlier.files_of_state
            names = [*corpus.files_of_state, *files_of_earlier]
            writer.figures = {
                "files": self.folder.sums(names),
                "files_of_corpus": corpus.files_of_state,
                "files_of_earlier": files_of_earlier,
                "inputs": self._sums.finished(),
                "empty": rows.empty,
                "longest_row": self.longest,
                "orders": orders.dtype.str,
                "common": None if common is None else common.numbers,
            }

    def _read(self) -> RowsRead:
        """Read all texts, and join the rows that share a bucket."""
        texts = text_batches(self.all_rows, self._tell)
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
                new = self.all_rows.new
                first[new:] = int64_range(new, len(first))
                empty = int(marks.empty[:new].sum())
                del words, marks
                earlier = None if removed is None else removed.finished()
                if earlier is not None:
                    first[earlier.rows] = earlier.rows  # they are nobody's copies

                def read_again(rows: Int64Array) -> Iterator[Texts]:
                    return (
                        batch
                        for _, batch in texts_again(
                            self.all_rows, rows, nbytes, self.progress
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
            all_rows = int64_range(len(lengths))
            return (
                batch
                for _, batch in texts_again(
                    self.all_rows, all_rows, lengths.rows(), self.progress
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

        for rows in sketched_rows(
            batches(), plan, secret, self.clock, removed, slots, self.progress
        ):
            with naming_stage("sketch"):
                runs.add(rows.keys)
                words.extend(rows.marks.words)
                if self._source_bytes and budget.memory < budget.least(
                    len(words), longest
                ):
                    # The error names the number of rows that is to be expected in all.
                    expected = (
                        len(words) * self.all_rows.total_bytes // self._source_bytes
                    )
                    budget.work(max(len(words), expected), longest)
        return words


def _state(corpus: Corpus) -> dict[str, Any]:
    """Return the columns in which what a corpus has recorded is kept."""
    columns: dict[str, Any]
    columns, values = corpus.state()
    columns["values"] = np.frombuffer(json.dumps(values).encode(), np.uint8)
    return columns


def _restore(corpus: Corpus, columns: Mapping[str, Any], files: Sequence[str]) -> None:
    """Let a corpus take over what columns of `_state` have, and these files."""
    corpus.restore(columns, json.loads(columns["values"].tobytes()), files)

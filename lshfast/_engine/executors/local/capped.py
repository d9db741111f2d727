"""Deduplication of files within a given amount of memory.

The first reading (`FirstReading`) sketches and bands all rows, and finds their components. The
second reading takes the different texts that share buckets, and writes them to the files of their
parts. Each part is then deduplicated by itself. The result is that of a run in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array
from lshfast._engine.account.earlier import EarlierFigures
from lshfast._engine.account.findings import Findings, ReadRows
from lshfast._engine.account.report import DedupResult
from lshfast._engine.account.short_texts import advice_of, sample_for
from lshfast._engine.against import Earlier
from lshfast._engine.budget import Budget
from lshfast._engine.clock import Clock
from lshfast._engine.executors.local.all_rows import AllRows
from lshfast._engine.executors.local.first_reading import FirstReading, RowsRead
from lshfast._engine.executors.local.work_folder import WorkFolder
from lshfast._engine.inputs import order_ranks, texts_again
from lshfast._engine.key_copies import KeyCopies, find_key_copies
from lshfast._engine.pairs.listed import PairArray, lists_copies
from lshfast._engine.parts.components import (
    NO_PART,
    EarlierOfPart,
    Merged,
    PartResult,
    PartRoom,
    compare_part,
    compared_copies,
    divide,
)
from lshfast._engine.parts.pair_runs import (
    MOST_ROWS,
    PairRuns,
    merged_pairs,
    write_copies,
)
from lshfast._engine.parts.second_reading import SecondReading
from lshfast._engine.parts.spool import PartWriter, part_path, read_part
from lshfast._engine.parts.task_files import writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._engine.plan import Keep, Plan
from lshfast._engine.preference import TIE_SEED, preference_by_length
from lshfast._engine.sketching import column_of_batch
from lshfast._io import Corpus
from lshfast._io.string_file import StringFile
from lshfast.join.external.summed_file import SummedFile

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex


# The file of the texts of earlier rows that remove others.
EARLIER_TEXTS = "earlier.strings"


class CountedPairs:
    """All similar pairs, in batches; `count` is the number of those that were yielded."""

    def __init__(self, batches: Iterator[PairArray]) -> None:
        self._batches = batches
        self.count: int = 0

    def __iter__(self) -> Iterator[PairArray]:
        for pairs in self._batches:
            self.count += len(pairs)
            yield pairs


class FoundInParts(NamedTuple):
    """The findings of a run in parts, its similar pairs if they are wanted, the advice of
    `Summary`, and the plan.
    """

    findings: Findings
    similar: CountedPairs | None
    advice: str
    plan: Plan

    def result(
        self,
        clock: Clock,
        rows: ReadRows,
    ) -> DedupResult:
        """Return the result of the run, whose similar pairs have been taken; see
        `Findings.result`.
        """
        findings = self.findings
        if self.similar is not None:
            findings = replace(findings, pairs_found=self.similar.count)
        return findings.result(self.plan, clock, rows, advice=self.advice)


def find_in_parts(
    all_rows: AllRows,
    keep: str,
    budget: Budget,
    longest: int,
    folder: WorkFolder,
    clock: Clock,
    index: LSHIndex | None = None,
    shown: bool = False,
    progress: Progress | None = None,
) -> FoundInParts:
    """Find the groups of the rows of a corpus in bounded memory.

    Parameters
    ----------
    all_rows : AllRows
        The rows of the corpus, which need not have been read, and earlier rows. Rows that are
        similar to one of these are removed first.
    keep : str
        As for `run_files`.
    budget : Budget
        The memory, the plan, and whether all similar pairs are wanted.
    longest : int
        Longer rows, in bytes, are bad rows; a run that is resumed has the limit of its first
        attempt.
    folder : WorkFolder
        Stages that are over are not repeated.
    clock : Clock
    index : LSHIndex, optional
        Rows that are similar to one of its entries are removed first.
    shown : bool, default False
        Whether the texts of the earlier rows that remove others are wanted.
    progress : callable, optional
        As for `run_files`; "texts" is the second reading.
    """
    reading = FirstReading(all_rows, budget, longest, folder, clock, index, progress)
    run = _CappedRun(all_rows, keep, budget, folder, clock, shown, progress)
    return run.run(reading)


class _FileOfPart(NamedTuple):
    """The rows of a part, earlier rows last, the lengths of their texts, and the file of these."""

    number: int
    file: SummedFile
    rows: Int64Array
    nbytes: Int64Array


class EarlierTexts(Sequence["str | None"]):
    """For each row of a run the text of the earlier row for which it is removed, or None.

    Parameters
    ----------
    n : int
        The rows of the run.
    file : StringFile
        The different texts.
    rows : ndarray of int64, shape (m,)
        Ascending.
    places : ndarray of int64, shape (m,)
        The place in the file of the text for each row.
    """

    def __init__(
        self, n: int, file: StringFile, rows: Int64Array, places: Int64Array
    ) -> None:
        self._n = n
        self._file = file
        self._rows = rows
        self._places = places

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, row: Any) -> Any:
        number = range(self._n)[row]
        place = int(np.searchsorted(self._rows, number))
        if place == len(self._rows) or self._rows[place] != number:
            return None
        return self._file[int(self._places[place])]


@dataclass
class _CappedRun:
    """The stages of a run; the plan is known after the first reading."""

    all_rows: AllRows
    keep: str
    budget: Budget
    folder: WorkFolder
    clock: Clock
    shown: bool
    progress: Progress | None
    plan: Plan = field(init=False)

    def run(self, reading: FirstReading) -> FoundInParts:
        self.budget.work(0)
        rows = reading.rows()
        self.plan = rows.plan
        most = self.budget.work(len(rows.nbytes), int(rows.nbytes.max(initial=0)))
        if self.budget.pairs and len(rows.nbytes) > MOST_ROWS:
            raise ValueError(
                f"pairs within a cap of memory are for at most {MOST_ROWS} rows, not "
                f"{len(rows.nbytes)}"
            )
        corpus = self.all_rows.corpus
        new = self.all_rows.new
        ranks = order_ranks(corpus, self.keep) if ":" in self.keep else None
        key_copies = self._key_copies(rows, ranks)
        is_compared = ~rows.alone
        if key_copies is not None:
            rows = rows.without(key_copies.rows)
            is_compared[key_copies.rows] = False
        copy_of = compared_copies(rows.first[:new], self.keep, ranks)
        is_compared[:new] &= copy_of == int64_range(new)
        # Earlier rows are compared with new rows alone.
        has_new = np.zeros(len(is_compared), np.bool_)
        has_new[rows.labels[:new][is_compared[:new]]] = True
        is_compared[new:] &= has_new[rows.labels[new:]]
        compared_rows = np.flatnonzero(is_compared)
        part_of = np.full(len(is_compared), NO_PART, np.int32)
        part_of[compared_rows] = divide(
            rows.labels[compared_rows],
            rows.nbytes[compared_rows] + self.budget.row_bytes,
            self._part_memory(most),
        )
        # The labels are not needed any more.
        rows = rows._replace(labels=rows.labels[:0].copy())
        files, advice = self._read_again(rows, part_of, most)
        merged = Merged(copy_of, rows.first[:new])
        self._run_parts(rows, merged, part_of, ranks, most, files)
        earlier = rows.earlier
        if self.all_rows.earlier is not None:
            earlier = self._earlier(merged, self.all_rows.earlier, rows.nbytes)
        findings, first = merged.findings(rows.empty, earlier, key_copies)
        similar = self._similar(len(files), first, most) if self.budget.pairs else None
        return FoundInParts(findings, similar, advice, self.plan)

    def _key_copies(self, rows: RowsRead, ranks: Int64Array | None) -> KeyCopies | None:
        """Return the rows that are removed by their exact keys; None if rows have none."""
        prints = self.all_rows.corpus.exact_keys
        if prints is None:
            return None

        def preference_of(members: Int64Array) -> npt.ArrayLike | None:
            if ranks is not None:
                return ranks[members]
            if self.keep in ("first", "last"):
                return None if self.keep == "first" else members
            lengths = np.empty(len(members), np.int64)
            hashes = np.empty(len(members), np.uint64)
            for rows_read, texts in texts_again(
                self.all_rows, members, rows.nbytes, self.progress
            ):
                column = column_of_batch(texts, self.plan)
                places = np.searchsorted(members, rows_read)
                lengths[places] = column.lengths
                hashes[places] = column.hashes(TIE_SEED)
            signed = lengths if self.keep == "longest" else -lengths
            return preference_by_length(signed, lambda tied: hashes[tied])

        with self.clock.stage("match", 0):
            return find_key_copies(prints, preference_of)

    def _part_memory(self, most: int) -> int:
        """Return the memory by which rows are divided: that of the attempt that wrote the texts of
        the parts.
        """
        figures = self.folder.done("texts")
        return most if figures is None else int(figures["part_memory"])

    def _read_again(
        self, rows: RowsRead, part_of: npt.NDArray[np.int32], most: int
    ) -> tuple[list[SummedFile], str]:
        """Write the texts of all parts to files, and measure a sample of all texts; return the
        files and the advice.
        """
        folder = self.folder
        figures = self.folder.done("texts")
        parts = int(part_of.max(initial=NO_PART)) + 1
        if figures is not None:
            return self._files_of_parts(figures), figures["advice"]
        reading = SecondReading(
            self.all_rows,
            part_of != NO_PART,
            sample_for(self.all_rows.new, self.plan),
            rows.nbytes,
        )
        writer = PartWriter(folder.path, parts, most)
        with self.clock.stage("texts", int(reading.nbytes.sum())):
            for rows_read, texts in reading.texts(self.progress):
                part_numbers = part_of[rows_read]
                is_compared = part_numbers != NO_PART
                writer.add(part_numbers[is_compared], texts.take(is_compared))
            files = writer.finish()
            advice = advice_of(reading.lengths(), self.plan)
        if not folder.temporary:
            with writing(folder, "texts", 0) as task:
                for file in files:
                    task.add(0, sums=np.asarray(file.sums, np.uint64))
                task.figures = {
                    "files": [os.path.basename(file.path) for file in files],
                    "nbytes": [file.nbytes for file in files],
                    "advice": advice,
                    "part_memory": most,
                    "piece_bytes": writer.piece_bytes,
                }
        return files, advice

    def _files_of_parts(self, figures: dict[str, Any]) -> list[SummedFile]:
        """Return the files with the texts of parts that an earlier attempt wrote."""
        files = []
        with TaskFile(self.folder, "texts", 0) as task:
            sizes = zip(figures["nbytes"], task.ranges(0), strict=True)
            for number, (nbytes, columns) in enumerate(sizes):
                path = part_path(self.folder.path, number)
                piece_bytes = figures["piece_bytes"]
                files.append(SummedFile(path, piece_bytes, nbytes, columns["sums"]))
        return files

    def _run_parts(
        self,
        rows: RowsRead,
        merged: Merged,
        part_of: npt.NDArray[np.int32],
        ranks: Int64Array | None,
        most: int,
        files: list[SummedFile],
    ) -> None:
        """Run all parts, and add their results to those of the run."""
        new = self.all_rows.new
        total = int((part_of != NO_PART).sum())
        rows_done = 0
        order = np.argsort(part_of, kind="stable")
        starts = np.searchsorted(part_of[order], int64_range(len(files) + 1))
        for number, file in enumerate(files):
            part_rows = order[starts[number] : starts[number + 1]].astype(np.int64)

            def tell(
                stage: str, of_part: int, _: int | None, before: int = rows_done
            ) -> None:
                if self.progress and stage == "verify":
                    self.progress(stage, before + of_part, total)

            result = self._result_of(number)
            new_rows = part_rows[: np.searchsorted(part_rows, new)]
            if result is None:
                preferred_rows: Keep | Int64Array = cast(Keep, self.keep)
                if ranks is not None:
                    preferred_rows = ranks[new_rows]
                result = self._run_part(
                    _FileOfPart(number, file, part_rows, rows.nbytes[part_rows]),
                    merged.first[new_rows],
                    preferred_rows,
                    most,
                    tell,
                )
            merged.add(new_rows, result)
            rows_done += len(part_rows)
            if self.progress:
                self.progress("verify", rows_done, total)

    def _earlier(self, merged: Merged, corpus: Corpus, nbytes: Int64Array) -> Earlier:
        """Return the rows that are removed for earlier rows, with the texts of these if shown."""
        rows, numbers, similarity = merged.earlier()
        texts = None
        if self.shown:
            texts = self._texts_of_earlier(rows, numbers, nbytes)
        figures = EarlierFigures(
            self.plan.verify, corpus.accepted, len(corpus.rejected)
        )
        is_estimate = np.full(len(rows), self.plan.verify != "exact", np.bool_)
        keys = corpus.keys_of(numbers)
        return Earlier(rows, keys, similarity, is_estimate, texts, figures)

    def _texts_of_earlier(
        self, rows: Int64Array, numbers: Int64Array, nbytes: Int64Array
    ) -> EarlierTexts:
        """Read the texts of some earlier rows again, and keep them in a file."""
        new = self.all_rows.new
        different_numbers, places = np.unique(numbers, return_inverse=True)
        file = StringFile(os.path.join(self.folder.path, EARLIER_TEXTS))
        if self.plan.of_texts is None:
            return EarlierTexts(new, file, rows[:0], places[:0])
        again = texts_again(
            self.all_rows, different_numbers + new, nbytes, self.progress
        )
        for _, texts in again:
            for row in range(len(texts)):
                file.append(texts[row].decode("utf-8", "replace"))
        return EarlierTexts(new, file, rows, places)

    def _similar(self, parts: int, first: Int64Array, memory: int) -> CountedPairs:
        """Return all similar pairs of all parts."""
        path = self.folder.path
        names = [f"pairs-{number}.run" for number in range(parts)]
        names += (
            [write_copies(path, "pairs-copies", first)]
            if lists_copies(self.plan)
            else []
        )
        return CountedPairs(merged_pairs(path, names, memory))

    def _run_part(
        self,
        part: _FileOfPart,
        first: Int64Array,
        keep: Keep | Int64Array,
        most: int,
        progress: Progress,
    ) -> PartResult:
        """Run a part; `first` has the first rows with the same bytes as each of its new rows."""
        number = part.number
        texts = read_part(part.file, part.nbytes)
        new = len(first)
        earlier = None
        if new < len(part.rows):
            earlier_rows = part.rows[new:] - self.all_rows.new
            earlier = EarlierOfPart(texts.take(slice(new, None)), earlier_rows)
            texts = texts.take(slice(new))
        path = self.folder.path
        signatures = os.path.join(path, f"part-{number}.signatures")
        room = PartRoom(most, self.budget.row_bytes, signatures)
        with (
            PairRuns(path, f"pairs-{number}")
            if self.budget.pairs
            else nullcontext() as runs
        ):
            result = compare_part(
                texts,
                first,
                self.plan,
                self.clock,
                room,
                keep=keep,
                pairs=runs,
                earlier=earlier,
                progress=progress,
            )
            if runs is not None:
                runs.finish()
        del texts, earlier  # Windows removes no mapped file
        if not self.folder.temporary:
            with writing(self.folder, "part", number) as writer:
                writer.add(0, **result.columns())
                writer.figures = {
                    "files": [] if runs is None else [runs.name],
                    "candidates": result.candidates,
                }
        os.unlink(part.file.path)
        return result

    def _result_of(self, number: int) -> PartResult | None:
        """Return the result of a part that has been run."""
        figures = self.folder.done("part", number)
        if figures is None:
            return None
        with TaskFile(self.folder, "part", number) as file:
            return PartResult.of_columns(file.only(0), figures["candidates"])

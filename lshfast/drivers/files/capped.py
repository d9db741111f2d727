"""Deduplication of files within a given amount of memory.

Pass one reads, sketches and bands the rows. It keeps only the length of each row, two keyed hashes of its bytes and its
component. Pass two reads the different texts that share buckets again, and writes them to the files of their
parts. Each part is then deduplicated by itself. The result is that of a run in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from lshfast.common.growing import GrowingArray
from lshfast.common.progress import Progress
from lshfast.common.types import BoolArray, Int64Array, UInt64Array
from lshfast.drivers.budget import Budget
from lshfast.drivers.files.input_sums import InputSums
from lshfast.drivers.files.work_folder import WorkFolder
from lshfast.drivers.inputs import order_ranks, text_batches, texts_again
from lshfast.drivers.pair_runs import MOST_ROWS, PairRuns, merged_pairs, pairs_of_kinds, write_copies
from lshfast.engine.account import Findings
from lshfast.engine.against import NOTHING_EARLIER, Earlier, EarlierRows
from lshfast.engine.common_shingles import find_common
from lshfast.engine.listed_pairs import PairArray, lists_copies
from lshfast.engine.marks import WIDTH, RowMarks, draw_secret
from lshfast.engine.parts import (
    NO_PART,
    Merged,
    PartResult,
    divide,
    kinds_of,
)
from lshfast.engine.plan import Keep, Plan
from lshfast.engine.report import DedupResult
from lshfast.engine.run import comparison_of, run_part
from lshfast.engine.short_texts import FEWEST_TEXTS, LONG_BYTES, advice_of, lengths_of_sample, sample_of
from lshfast.engine.similar_pairs import SimilarPairs
from lshfast.engine.sketching import Clock, Sketched, SketchedRows, naming_stage, sketched
from lshfast.engine.spool import PartWriter, StoredSignatures, part_path, read_part
from lshfast.join.external.bucket_runs import BucketRuns
from lshfast.join.external.external_join import links
from lshfast.join.external.slot_file import SlotFile
from lshfast.join.external.summed_file import SummedFile
from lshfast.join.groups import best_copies, preferred
from lshfast.join.shared_slots import SCREENED, UInt32Array
from lshfast.kernels.sets import Components
from lshfast.kernels.text import Texts
from lshfast.readers import Corpus
from lshfast.shingling import CommonShingles

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex

# Bytes of the inputs that are checked between two calls of `progress`.
CHECKED_BYTES = 64 << 20

# Screen a crowd if at least MOST_HELD of its rows have hashes of slots, and at least MOST_UNLIKE of those share too few
# slots with each other.
MOST_HELD = 3 / 4
MOST_UNLIKE = 1 / 2


class CountedPairs:
    """All similar pairs, in batches; `found` is the number of those that were yielded."""

    def __init__(self, batches: Iterator[PairArray]) -> None:
        self._batches = batches
        self.found: int = 0

    def __iter__(self) -> Iterator[PairArray]:
        for pairs in self._batches:
            self.found += len(pairs)
            yield pairs


class FoundInParts(NamedTuple):
    """The findings of a run in parts, its similar pairs if they are wanted, the advice of `Summary`, and the plan."""

    found: Findings
    similar: CountedPairs | None
    advice: str
    plan: Plan

    def result(self, clock: Clock, keys: Sequence[Any], read: int, rejected: int) -> DedupResult:
        """Return the result of the run, whose similar pairs have been taken; see `Findings.result`."""
        found = self.found if self.similar is None else replace(self.found, pairs_found=self.similar.found)
        return found.result(self.plan, clock, keys=keys, read=read, rejected=rejected, advice=self.advice)


class _PassOne(NamedTuple):
    """What pass one leaves of each row.

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
    earlier : Earlier or None
        The rows that are removed for an entry of an index; None without an index.
    """

    nbytes: Int64Array
    labels: Int64Array
    first: Int64Array
    alone: BoolArray
    empty: int
    earlier: Earlier | None = None


class _BandedPiece(NamedTuple):
    keys: UInt64Array
    marks: RowMarks
    crowded: Int64Array
    hashes: UInt32Array
    earlier: Earlier


def find_in_parts(
    corpus: Corpus,
    keep: str,
    budget: Budget,
    longest: int,
    folder: WorkFolder,
    clock: Clock,
    index: LSHIndex | None = None,
    progress: Progress | None = None,
) -> FoundInParts:
    """Find the groups of the rows of a corpus in bounded memory.

    Parameters
    ----------
    corpus : Corpus
        It need not have been read.
    keep : str
        As for `run_files`.
    budget : Budget
        The memory, the plan, and whether all similar pairs are wanted.
    longest : int
        Longer rows, in bytes, are bad rows; a run that is resumed has the limit of its first attempt.
    folder : WorkFolder
        Stages that are over are not repeated.
    clock : Clock
    index : LSHIndex, optional
        Rows that are similar to one of its entries are removed first.
    progress : callable, optional
        As for `run_files`; "texts" is pass two.
    """
    return _CappedRun(corpus, budget.plan, keep, budget, longest, folder, clock, index, progress).run()


@dataclass
class _CappedRun:
    """The stages of a run."""

    corpus: Corpus
    plan: Plan
    keep: str
    budget: Budget
    longest: int
    folder: WorkFolder
    clock: Clock
    index: LSHIndex | None
    progress: Progress | None

    def run(self) -> FoundInParts:
        self.budget.work(0)
        rows = self._pass_one()
        most = self.budget.work(len(rows.nbytes), int(rows.nbytes.max(initial=0)))
        if self.budget.pairs and len(rows.nbytes) > MOST_ROWS:
            raise ValueError(f"pairs within a cap of memory are for at most {MOST_ROWS} rows, not {len(rows.nbytes)}")
        ranks = order_ranks(self.corpus, self.keep) if ":" in self.keep else None
        chosen = self._chosen(rows.first, ranks)
        own = np.flatnonzero((chosen == np.arange(len(chosen), dtype=np.int64)) & ~rows.alone)
        part_of = np.full(len(chosen), NO_PART, np.int32)
        part_memory = self._part_memory(most)
        part_of[own] = divide(rows.labels[own], rows.nbytes[own] + self.budget.row_bytes, part_memory)
        rows = rows._replace(labels=rows.labels[:0].copy())  # they are not needed any more
        files, advice = self._pass_two(rows, part_of, most)
        return self._run_parts(rows, chosen, part_of, ranks, most, files, advice)

    def _part_memory(self, most: int) -> int:
        """Return the memory by which rows are divided: that of the attempt that wrote the texts of the parts."""
        done = self.folder.done("texts")
        return most if done is None else int(done["part_memory"])

    def _chosen(self, first: Int64Array, ranks: Int64Array | None) -> Int64Array:
        """Return, for each row, the most preferred row with the same bytes: only these are read again."""
        if ranks is None and self.keep != "last":  # of equal texts, the first is preferred
            return first
        order = preferred(len(first), np.arange(len(first), dtype=np.int64) if ranks is None else ranks)
        return best_copies(order, first)[0][first]

    # Pass one

    def _pass_one(self) -> _PassOne:
        """Read all texts, and join the rows that share a bucket."""
        plan, clock, done = self.plan, self.clock, self.folder.done("sketch")
        sums = InputSums([] if self.folder.temporary else self.corpus.files)
        most = self.longest if done is None else int(done["longest_row"])
        self.corpus.limit_rows(most, "more memory (--memory) raises this limit")
        self.corpus.hold_in_files(self.folder.path)
        if done is not None:
            self._check_inputs(sums, done["inputs"])
            arrays = self.folder.load("sketch", "rows.npz")
            self.folder.check("sketch", done["files"])
            self.corpus.restore(arrays, json.loads(arrays["values"].tobytes()), done["files"])
            if plan.ignore_common is not None:
                tokens = self.folder.load("sketch", "common.npz")["tokens"]
                self.plan = plan.ignoring(CommonShingles(tuple(done["common"]), tokens))
            for name in ("read", "sketch", "match"):
                clock.add(name, 0.0, 0)
            earlier = None if self.index is None else Earlier.of_arrays(self.folder.load("sketch", "earlier.npz"))
            columns = {name: arrays[name] for name in ("nbytes", "labels", "first", "alone")}
            return _PassOne(**columns, empty=done["empty"], earlier=earlier)
        secret, removed = draw_secret(), None if self.index is None else EarlierRows(self.index, plan)

        def finish(piece: Sketched) -> _BandedPiece:
            keys = plan.bands.keys(piece.signatures)
            earlier = NOTHING_EARLIER if removed is None else removed.take_from(keys, piece.signatures)
            crowded = slots.crowded(keys)
            hashes = slots.hashes(piece.signatures, crowded)
            return _BandedPiece(keys, RowMarks.of(piece, secret), crowded, hashes, earlier)

        words, source_bytes, longest = GrowingArray(np.uint64, WIDTH), 0, 0
        least = comparison_of(plan).least_shared(plan.hasher.num_perm)

        def tell(stage: str, done: int, total: int | None) -> None:
            nonlocal source_bytes
            source_bytes = done
            sums.follow(done)
            if self.progress:
                self.progress(stage, done, total)

        texts = text_batches(self.corpus, tell)
        if plan.ignore_common is not None:
            texts = self._without_common(texts)

        def batches() -> Iterator[Texts]:
            nonlocal longest
            for batch in texts:
                longest = max(longest, int(batch.lengths.max(initial=0)))
                if self.budget.row_work(longest) and self.budget.records(longest) < runs.memory:
                    # Leave room for longer rows, so that rows that grow slowly do not end in many small files.
                    runs.shrink(self.budget.records(min(longest * 5 // 4, max(longest, most))))
                yield batch

        with (
            BucketRuns(self.folder.path, plan.bands.bands, self.budget.records()) as runs,
            SlotFile(os.path.join(self.folder.path, "slots.bin"), plan.hasher.num_perm, least) as slots,
        ):
            for piece in sketched(batches(), self.plan, clock, finish, self.progress):
                with naming_stage("sketch"):
                    runs.add(piece.keys)
                    slots.add(len(words) + piece.crowded, piece.hashes)
                    if removed is not None:
                        removed.add(piece.earlier, len(words))
                    words.extend(piece.marks.words)
                    if source_bytes and self.budget.memory < self.budget.least(len(words), longest):
                        # The error names the number of rows that is to be expected in all.
                        expected = len(words) * self.corpus.total_bytes // source_bytes
                        self.budget.work(max(len(words), expected), longest)
            with clock.stage("match", clock.stages["sketch"].nbytes):
                labels = self._components(runs)
                marks = RowMarks(words.finished())
                nbytes, first, empty = marks.nbytes, marks.first(), int(marks.empty.sum())
                del marks
                earlier = None if removed is None else removed.finished()
                if earlier is not None:
                    first[earlier.rows] = earlier.rows  # they are nobody's copies
                rows = _PassOne(nbytes, labels, first, np.zeros(len(first), np.bool_), empty, earlier)
                rows.alone[:] = self._alone_in_crowds(rows, slots)
        of_corpus, values = self.corpus.state()
        of_corpus["values"] = np.frombuffer(json.dumps(values).encode(), np.uint8)
        of_rows = {"nbytes": nbytes, "labels": labels, "first": rows.first, "alone": rows.alone}
        files = self.corpus.files_of_state
        figures = {"empty": rows.empty, "longest_row": most, "inputs": sums.finished(), "files": files}
        saved = self.folder.save("rows.npz", {**of_corpus, **of_rows}) | self.folder.sums(files)
        if earlier is not None:
            saved |= self.folder.save("earlier.npz", earlier.arrays())
        common = self.plan.shingles.common
        if common is not None:
            saved |= self.folder.save("common.npz", {"tokens": common.tokens})
            figures["common"] = common.numbers
        self.folder.finish("sketch", figures, saved)
        return rows

    def _without_common(self, texts: Iterator[Texts]) -> Iterator[Texts]:
        """Find the common shingles, and return the texts again."""
        lengths = GrowingArray(np.int64)

        def first() -> Iterator[Texts]:
            for batch in texts:
                lengths.extend(batch.lengths)
                yield batch

        def again() -> Iterator[Texts]:
            nbytes = lengths.rows()
            return (batch for _, batch in self._texts_again(nbytes, np.arange(len(nbytes), dtype=np.int64)))

        readings = iter([first, again])
        found = find_common(lambda: next(readings)(), self.plan, self.clock, self.progress).shingles.common
        assert found is not None
        self.plan = self.plan.ignoring(found)
        return again()

    def _check_inputs(self, sums: InputSums, before: Mapping[str, int]) -> None:
        """Compare the checksums of the inputs with those of the attempt that read them first."""
        total = self.corpus.total_bytes
        for position in range(0, total, CHECKED_BYTES):
            sums.follow(position)
            if self.progress:
                self.progress("input", position, total)
        now = sums.finished()
        if self.progress:
            self.progress("input", total, total)
        self.folder.check_inputs(before, now)

    def _components(self, runs: BucketRuns) -> Int64Array:
        """Return the smallest row that each row is joined to by a chain of buckets."""
        runs.settle()
        graph = Components(runs.n)
        for band in range(len(runs)):
            for left, right in links(runs.records(band, self.budget.work(runs.n))):
                graph.join(left, right)
            runs.forget(band)
        return np.asarray(graph.finished(), np.int64)

    def _alone_in_crowds(self, rows: _PassOne, slots: SlotFile) -> BoolArray:
        """Return which rows of large components share too few slots with all others to be similar to any of them.

        Rows with the same bytes count as one. A component is screened if most of its rows have hashes of slots, and
        many of those share too few slots with each other. Its other rows are read again for their slots.
        """
        own = rows.first == np.arange(len(rows.first), dtype=np.int64)
        size = np.bincount(rows.labels[own], minlength=1)
        if size.max() <= SCREENED:
            return np.zeros(len(own), np.bool_)
        held = slots.held(len(own)) & own & (size > SCREENED)[rows.labels]
        known = np.bincount(rows.labels[held], minlength=len(size))
        held &= (known >= MOST_HELD * size)[rows.labels]
        unlike = np.bincount(rows.labels[slots.unlike(held)], minlength=len(size))
        own &= ((unlike > 0) & (unlike >= MOST_UNLIKE * known))[rows.labels]
        missing = np.flatnonzero(own & ~held)
        if len(missing):
            batches = (texts for _, texts in self._texts_again(rows.nbytes, missing))

            def hashes(piece: Sketched) -> UInt32Array:
                return slots.hashes(piece.signatures, np.arange(len(piece.signatures), dtype=np.int64))

            done = 0
            for found in sketched(batches, self.plan, Clock(), hashes):
                slots.add(missing[done : done + found.shape[1]], found)
                done += found.shape[1]
        alone = np.zeros(len(own), np.bool_)
        alone[slots.unlike(own)] = True
        return alone[rows.first]

    # Pass two

    def _pass_two(self, rows: _PassOne, part_of: npt.NDArray[np.int32], most: int) -> tuple[list[SummedFile], str]:
        """Write the texts of all parts to files, and measure a sample of all texts; return the files and the advice."""
        folder, done = self.folder, self.folder.done("texts")
        parts = int(part_of.max(initial=NO_PART)) + 1
        if done is not None:
            arrays = folder.load("texts", "texts.npz")
            sums = np.split(arrays["sums"], np.cumsum(arrays["counts"], dtype=np.int64)[:-1]) if parts else []
            sizes, piece = arrays["nbytes"].tolist(), int(done["piece_bytes"])
            files = [
                SummedFile(part_path(folder.path, number), piece, size, part)
                for number, (size, part) in enumerate(zip(sizes, sums, strict=True))
            ]
            return files, done["advice"]
        n = len(rows.nbytes)
        sample = sample_of(n) if n >= FEWEST_TEXTS and self.plan.threshold < 1 else np.empty(0, np.int64)
        short = sample[rows.nbytes[sample] <= LONG_BYTES]
        wanted = part_of != NO_PART
        wanted[short] = True
        sampled: list[Texts] = []
        writer = PartWriter(folder.path, parts, most)
        with self.clock.stage("texts", int(rows.nbytes[wanted].sum())):
            for found, texts in self._texts_again(rows.nbytes, np.flatnonzero(wanted)):
                member = part_of[found] != NO_PART
                writer.add(part_of[found][member], texts.take(member))
                chosen = texts.take(np.isin(found, short))
                sampled.append(Texts([chosen[row] for row in range(len(chosen))]))
            files = writer.finish()
            advice = ""
            if len(sample):
                advice = _advice(sample, rows.nbytes[sample], short, Texts.concatenate(sampled), self.plan)
        saved = folder.save(
            "texts.npz",
            {
                "nbytes": np.array([file.nbytes for file in files], np.int64),
                "counts": np.array([len(file.sums) for file in files], np.int64),
                "sums": np.concatenate([np.empty(0, np.uint64), *(np.asarray(file.sums, np.uint64) for file in files)]),
            },
        )
        names = {f"part-{number}.texts": None for number in range(parts)}
        figures = {"advice": advice, "part_memory": most, "piece_bytes": writer.piece_bytes}
        folder.finish("texts", figures, saved | names)
        return files, advice

    def _texts_again(self, nbytes: Int64Array, wanted: Int64Array) -> Iterator[tuple[Int64Array, Texts]]:
        """Yield texts again, and tell how far they have been read."""
        done = 0
        for found, texts, source_bytes in texts_again(self.corpus, wanted, nbytes):
            yield found, texts
            done += source_bytes
            if self.progress:
                self.progress("texts", done, self.corpus.total_bytes)

    # Parts

    def _run_parts(
        self,
        rows: _PassOne,
        chosen: Int64Array,
        part_of: npt.NDArray[np.int32],
        ranks: Int64Array | None,
        most: int,
        files: list[SummedFile],
        advice: str,
    ) -> FoundInParts:
        """Run all parts, and put their results together."""
        whole = Merged(chosen, rows.first)
        total, done = int((part_of != NO_PART).sum()), 0
        order = np.argsort(part_of, kind="stable")
        starts = np.searchsorted(part_of[order], np.arange(len(files) + 1, dtype=np.int64))
        for number, file in enumerate(files):
            own = order[starts[number] : starts[number + 1]].astype(np.int64)

            def tell(stage: str, of_part: int, _: int | None, before: int = done) -> None:
                if self.progress and stage == "verify":
                    self.progress(stage, before + of_part, total)

            found = self._result_of(number)
            if found is None:
                preferred_rows = cast(Keep, self.keep) if ranks is None else ranks[own]
                found = self._run_part(number, file, rows.nbytes[own], whole.first[own], preferred_rows, most, tell)
            whole.add(own, found)
            done += len(own)
            if self.progress:
                self.progress("verify", done, total)
        del order
        findings, first = whole.findings(rows.empty, rows.earlier)
        similar = self._similar(len(files), first, most) if self.budget.pairs else None
        return FoundInParts(findings, similar, advice, self.plan)

    def _similar(self, parts: int, first: Int64Array, memory: int) -> CountedPairs:
        """Return all similar pairs of all parts."""
        path = self.folder.path
        names = [f"pairs-{number}.run" for number in range(parts)]
        names += [write_copies(path, "pairs-copies", first)] if lists_copies(self.plan) else []
        return CountedPairs(merged_pairs(path, names, memory))

    def _run_part(
        self,
        number: int,
        file: SummedFile,
        nbytes: Int64Array,
        first: Int64Array,
        keep: Keep | Int64Array,
        most: int,
        progress: Progress,
    ) -> PartResult:
        """Run a part of rows with these lengths and first rows with the same bytes."""
        # A component that takes more than the memory: the system may take the pages of its files back.
        large = file.nbytes + len(nbytes) * self.budget.row_bytes > most
        with ExitStack() as stack:
            texts = read_part(file, nbytes)
            store = None
            if large:
                path = os.path.join(self.folder.path, f"part-{number}.signatures")
                store = stack.enter_context(StoredSignatures(path, self.plan.hasher.num_perm))
            runs = stack.enter_context(PairRuns(self.folder.path, f"pairs-{number}")) if self.budget.pairs else None

            def similar(every: SimilarPairs, sketches: SketchedRows) -> None:
                assert runs is not None
                runs.add_all(pairs_of_kinds(every, kinds_of(sketches.copies, first), self.plan))

            part = run_part(
                [texts], self.plan, self.clock, keep=keep, similar=similar if runs else None, store=store,
                progress=progress,
            )  # fmt: skip
            found = PartResult.of(part)
            if runs is not None:
                runs.finish()
        del texts  # Windows removes no mapped file
        stage = f"part-{number}"
        arrays = {name: getattr(found, name) for name in ("keeper", "similarity", "copies", "pairs")}
        saved = self.folder.save(f"{stage}.npz", arrays) | ({} if runs is None else {runs.name: None})
        self.folder.finish(stage, {"candidates": found.candidates}, saved)
        os.unlink(file.path)
        return found

    def _result_of(self, number: int) -> PartResult | None:
        """Return the result of a part that has been run."""
        stage = f"part-{number}"
        done = self.folder.done(stage)
        if done is None:
            return None
        return PartResult(**dict[str, Any](self.folder.load(stage, f"{stage}.npz")), **done)


def _advice(sample: Int64Array, nbytes: Int64Array, short: Int64Array, texts: Texts, plan: Plan) -> str:
    """Return the advice for texts of which a sample was measured; `texts` are the short ones of it."""
    places = np.searchsorted(short, sample)
    places[places == len(short)] = 0
    every = texts if len(short) else Texts([b""])
    return advice_of(lengths_of_sample(sample, nbytes, every.take(places)), plan)

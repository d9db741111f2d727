"""What a run over files within a cap of memory will take: its steps are measured on a sample of the inputs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from lshfast.common.run_key import draw_hash_key
from lshfast.common.types import UInt64Array
from lshfast.jobs.cap import Budget
from lshfast.jobs.capped import prints_of
from lshfast.jobs.inputs import Inputs, text_batches
from lshfast.join.banded import equal_rows
from lshfast.join.external.bucket_runs import BucketRuns, least_memory
from lshfast.join.external.external_join import links
from lshfast.join.external.run_file import RECORD_BYTES
from lshfast.kernels.sets import Components
from lshfast.kernels.text import Texts
from lshfast.pipeline.parts import PartWriter, read_part, run_part
from lshfast.pipeline.plan import Plan
from lshfast.pipeline.short_texts import LONG_BYTES
from lshfast.pipeline.sketching import Clock, Sketched, sketched
from lshfast.readers import Corpus, write_rows
from lshfast.readers.files import File
from lshfast.readers.jsonl import can_be_read_at

# The sample is the whole lines of so many bytes at so many places.
PLACES = 32
PLACE_BYTES = 1 << 20

# Rows of random keys on which the work for each row is measured, whatever its text is.
BENCH_ROWS = 1 << 16

# The seconds of copying the kept rows, as a share of those of reading, where they cannot be measured.
COPYING = 0.4

# The seconds until a command begins to read.
START = 0.3

# How much longer a byte takes in a long run than in a sample, which stays in the caches: measured 1.1 to 1.4.
LONG_RUN = 1.25

# Bytes of a row in the file of the first reading.
ROW_BYTES = 40

Timer: TypeAlias = Callable[[], float]


@dataclass(frozen=True)
class Forecast:
    """Estimates for a run.

    Attributes
    ----------
    rows, nbytes : int
        The number of texts, and their bytes.
    least_memory : int
        The least value of `memory`.
    disk : tuple of int
        The largest size of the work folder in bytes if no text shares a bucket with another, and if all do. The files
        of records and the files of texts that are read again do not exist at the same time.
    seconds : tuple of float
        The time in these two cases.
    """

    rows: int
    nbytes: int
    least_memory: int
    disk: tuple[int, int]
    seconds: tuple[float, float]


@dataclass(frozen=True)
class _Steps:
    """The seconds that the steps of a run take for a sample."""

    rows: float  # of all inputs
    nbytes: int
    source_bytes: int
    first: float  # reading and sketching
    short: float  # reading the lines again, of which a few are measured
    again: float  # reading all texts again, and the run of a part
    copying: float


def forecast(inputs: Inputs, plan: Plan, memory: int, clock: Timer = time.perf_counter) -> Forecast | None:
    """Measure the steps of a run on a sample of the inputs, and estimate what a run within a cap takes; None if empty.

    Uncompressed local JSONL is sampled at several places, and other inputs at the beginnings of several files. With
    `time.process_time` as the clock, the seconds are those of all processors.
    """
    corpus = replace(inputs, id_column=None).open()
    with tempfile.TemporaryDirectory(prefix="lshfast-", ignore_cleanup_errors=True) as folder:
        places = all(file.format == "jsonl" and can_be_read_at(file) for file in corpus.files)
        steps = (_of_lines if places else _of_beginnings)(corpus, plan, folder, clock)
        if steps is None:
            return None
        scale = corpus.total_bytes / steps.source_bytes
        rows, nbytes = round(steps.rows), round(steps.nbytes * scale)
        budget = Budget(memory, plan, ids=inputs.id_column is not None)
        share = budget.work(0) * 3 // 4 if memory >= budget.least(0) else 0
        of_rows = rows * _seconds_of_a_row(plan, share * BENCH_ROWS // max(BENCH_ROWS, rows), folder, clock)
    records = RECORD_BYTES * plan.bands.bands * rows
    records = records if 2 * records > share else 0  # they stay in memory
    alone = START + LONG_RUN * scale * (steps.first + steps.short + steps.copying) + of_rows
    of_labels = ROW_BYTES * rows
    return Forecast(
        rows,
        nbytes,
        budget.least(rows),
        (max(records, of_labels), max(records, of_labels + nbytes)),
        (alone, alone + scale * steps.again),
    )


def _of_lines(corpus: Corpus, plan: Plan, folder: str, clock: Timer) -> _Steps | None:
    """Measure the steps on a file with lines from several places."""
    path, ends, seen = os.path.join(folder, "sample.jsonl"), 0, 0
    with open(path, "wb") as out:
        for data, begin in _places_of(corpus):
            ends, seen = ends + data.count(b"\n"), seen + len(data)
            out.write(data[data.find(b"\n") + 1 if begin else 0 : data.rfind(b"\n") + 1])
    sample = Corpus(corpus.layout, [replace(file, layout=corpus.layout) for file in Inputs([path]).open().files])
    first = _best(clock, lambda: _pass_one(text_batches(sample), plan))
    if not sample.accepted:
        return None
    rows = np.arange(sample.accepted, dtype=np.int64)
    texts = Texts.concatenate([batch for _, batch, _ in sample.texts_of(rows)])
    few = np.concatenate([rows[::64], rows[-1:]])

    def copy() -> None:
        write_rows(sample, os.path.join(folder, "copy.jsonl"), keep=np.ones(len(rows), np.bool_))

    short = _best(clock, lambda: _consume(sample.texts_of(few))) if texts.nbytes <= LONG_BYTES * len(rows) else 0.0
    again = (
        _seconds(clock, lambda: _consume(sample.texts_of(rows)))
        + _seconds(clock, lambda: _part(texts, plan, folder))
        - short
    )
    # Lines that a place cuts are counted, so that the lengths of the lines do not matter.
    lines = ends * corpus.total_bytes / seen * len(rows) / max(1, len(sample.rejected) + len(rows))
    return _Steps(lines, texts.nbytes, sample.total_bytes, first, short, again, _seconds(clock, copy))


def _places_of(corpus: Corpus) -> Iterator[tuple[bytes, int]]:
    """Yield PLACE_BYTES of the inputs and where they begin in their file, at PLACES places; or each file as a whole."""
    total, before = corpus.total_bytes, 0
    whole = total <= PLACES * PLACE_BYTES
    places = np.linspace(0, max(0, total - PLACE_BYTES), PLACES).astype(np.int64)
    for file in corpus.files:
        own = places[(places >= before) & (places < before + file.size)] - before
        before += file.size
        with closing(file.source.open()) as stream:
            for place in [0] if whole else own.tolist():
                stream.seek(place)
                data = stream.read(file.size if whole else PLACE_BYTES)
                last = place + len(data) == file.size and not data.endswith(b"\n")
                yield data + b"\n" * last, place


def _of_beginnings(corpus: Corpus, plan: Plan, folder: str, clock: Timer) -> _Steps | None:
    """Measure the steps on the first megabytes of several files."""
    places = np.unique(np.linspace(0, len(corpus.files) - 1, PLACES).astype(np.int64))
    files = [corpus.files[place] for place in places.tolist()]
    layout = replace(corpus.layout, batch_bytes=max(1, PLACES * PLACE_BYTES // len(files)))

    def read() -> list[tuple[Texts, int]]:
        return [found for file in files for found in _beginning(replace(file, layout=layout))]

    found = read()
    texts, source_bytes = Texts.concatenate([part for part, _ in found]), sum(nbytes for _, nbytes in found)
    if not len(texts) or not source_bytes:
        return None
    reading, sketching = _best(clock, read), _best(clock, lambda: _pass_one(iter([texts]), plan))
    # One thread reads; with several, the others sketch meanwhile.
    first = reading + sketching if plan.threads == 1 else max(reading, sketching)
    again = reading + _best(clock, lambda: _part(texts, plan, folder))
    rows = len(texts) * corpus.total_bytes / source_bytes
    return _Steps(rows, texts.nbytes, source_bytes, first, 0.0, again, COPYING * reading)


def _beginning(file: File) -> Iterator[tuple[Texts, int]]:
    batch = next(Corpus(file.layout, [file]).batches(), None)
    if batch is not None:
        yield Texts(batch.texts), batch.source_bytes


def _pass_one(batches: Iterator[Texts], plan: Plan) -> None:
    """Sketch texts as a run within a cap does."""
    secret = draw_hash_key(), draw_hash_key()

    def finish(piece: Sketched) -> tuple[UInt64Array, UInt64Array]:
        return plan.bands.keys(piece.signatures), prints_of(piece, secret)

    _consume(sketched(batches, plan, Clock(), finish))


def _part(texts: Texts, plan: Plan, folder: str) -> None:
    """Write texts to the file of a part, and run it."""
    writer = PartWriter(folder, 1, texts.nbytes)
    writer.add(np.zeros(len(texts), np.int32), texts)
    with _removed(os.path.join(folder, "part-0.texts")):
        run_part(read_part(folder, 0, writer.finish()[0], texts.lengths), plan, "first", Clock())


@contextmanager
def _removed(path: str) -> Iterator[None]:
    try:
        yield
    finally:
        os.unlink(path)


def _seconds_of_a_row(plan: Plan, memory: int, folder: str, clock: Timer) -> float:
    """Measure, with random keys, the seconds of the records and the prints of a row."""
    rng = np.random.default_rng(1)
    keys, marks = (rng.integers(1, 1 << 62, (BENCH_ROWS, width), np.uint64) for width in (plan.bands.bands, 3))
    enough = 4 * RECORD_BYTES * plan.bands.bands * BENCH_ROWS
    memory = max(min(memory, enough), least_memory(plan.bands.bands))

    def run() -> None:
        graph = Components(BENCH_ROWS)
        with BucketRuns(folder, plan.bands.bands, memory) as runs:
            runs.add(keys)
            runs.settle()
            for band in range(len(runs)):
                for left, right in links(runs.records(band, memory)):
                    graph.join(left, right)
        equal_rows(marks)

    return _best(clock, run) / BENCH_ROWS


def _best(clock: Timer, run: Callable[[], object]) -> float:
    """Return the seconds of a function that uses the caches: of three runs the shortest one."""
    return min(_seconds(clock, run) for _ in range(3))


def _seconds(clock: Timer, run: Callable[[], object]) -> float:
    start = clock()
    run()
    return clock() - start


def _consume(found: Iterable[object]) -> None:
    for _ in found:
        pass

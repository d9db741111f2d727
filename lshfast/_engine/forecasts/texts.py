"""What a run over files within a cap of memory will take: its steps are measured on a sample of the
inputs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import evenly_spaced, int64_range
from lshfast._common.types import UInt64Array
from lshfast._engine.account.short_texts import LONG_BYTES
from lshfast._engine.budget import Budget
from lshfast._engine.clock import Clock
from lshfast._engine.executors.local.cap import reads_parquet
from lshfast._engine.forecasts.sharing import Sample, Sharing, rows_wanted, sharing
from lshfast._engine.inputs import Inputs, text_batches
from lshfast._engine.kinds.kind import Request
from lshfast._engine.marks import WIDTH, RowMarks, Secret, draw_secret
from lshfast._engine.parts.spool import PartWriter, read_part
from lshfast._engine.plan import Plan
from lshfast._engine.run import run_part
from lshfast._engine.samples import (
    PLACE_BYTES,
    Beginning,
    bytes_of,
    corpora_of_places,
    corpus_of,
    files_in_random_order,
    has_places,
    lines_of,
    place_count,
)
from lshfast._engine.sketching import Sketched, sketched
from lshfast._io import Corpus, write_rows
from lshfast.join.external.bucket_runs import BucketRuns, least_memory
from lshfast.join.external.components import components_of_runs
from lshfast.join.external.run_file import RECORD_BYTES
from lshfast.kernels.text import Texts

# The steps are measured on PLACES places, or on as many bytes of at most MOST_MEASURED files.
PLACES = 32
MOST_MEASURED = 1000

# The largest sample of which the rows that share buckets are estimated, in bytes.
MOST_SAMPLED = 1 << 30

# Rows of random keys on which the work for each row is measured, whatever its text is.
BENCH_ROWS = 1 << 16

# The seconds of copying the kept rows, as a share of the seconds of reading, where they cannot
# be measured.
COPYING = 0.5

# The seconds until a command begins to read.
START = 0.2

# How much longer a byte takes in a long run than in a sample, which stays in the caches: measured
# 1.1 to 1.4. And how much longer it takes to write one, because the system has to find memory for
# what is not on the disk yet: measured .5 to 2.
LONG_RUN = 1.25
LONG_OUTPUT = 1.6

# Bytes of a row in the file of the first reading.
ROW_BYTES = 32

Timer: TypeAlias = Callable[[], float]


class Expected(NamedTuple):
    """An expected value, and its values if no text shared a bucket, and if all did.

    `value` is None if the sample is too small to tell how many do.
    """

    value: float | None
    least: float
    most: float


@dataclass(frozen=True)
class Forecast:
    """Estimates for a run.

    Attributes
    ----------
    rows, nbytes : int
        The number of texts, and their bytes.
    sharing : float, optional
        The share of the texts that share a bucket with another one and are read again, in [0, 1].
    least_memory : int
        The least value of `memory`, for rows that are no longer than the rows of the sample.
    disk : Expected
        The largest size of the work folder in bytes. The files of records and the files of texts
        that are read again do not exist at the same time.
    seconds : Expected
    """

    rows: int
    nbytes: int
    sharing: float | None
    least_memory: int
    disk: Expected
    seconds: Expected


@dataclass(frozen=True)
class _Steps:
    """The seconds that the steps of a run take for a sample."""

    rows: float  # of all inputs, and the bytes of their texts
    nbytes: float
    source_bytes: int  # of the sample
    first: float  # reading and sketching
    short: float  # reading the lines again, of which a few are measured
    again: float  # reading all texts again, and the run of a part
    copying: float


class _Sampled(NamedTuple):
    """Estimates for all rows: their number and bytes, and the share of those that share buckets.

    `longest` is the bytes of the longest row of the sample.
    """

    rows: int
    nbytes: int
    longest: int
    sharing: Sharing | None


def forecast(
    inputs: Inputs, plan: Plan, memory: int, clock: Timer = time.perf_counter
) -> Forecast | None:
    """Measure a run on a sample of the inputs, and estimate a run within a cap; None if empty.

    Uncompressed local JSONL is sampled at several places, and other inputs at the beginnings of
    files. With `time.process_time` as the clock, the seconds of all processors are summed.
    """
    corpus = replace(inputs, id_column=None, on_error="skip").open()
    with TemporaryFolder() as folder:
        places = has_places(corpus)
        steps = (_of_lines if places else _of_beginnings)(corpus, plan, folder, clock)
        if steps is None:
            return None
        scale = corpus.total_bytes / steps.source_bytes
        rows, nbytes, longest, shared = (
            _sampled_lines if places else _sampled_beginnings
        )(corpus, plan, folder, steps)
        ids = inputs.id_column is not None
        by = inputs.by is not None
        budget = Budget(memory, plan, ids=ids, parquet=reads_parquet(corpus), by=by)
        share = budget.records() if memory >= budget.least(0) else 0
        of_rows = rows * _seconds_of_a_row(
            plan, share * BENCH_ROWS // max(BENCH_ROWS, rows), folder, clock
        )
    records = RECORD_BYTES * plan.bands.bands * rows
    records = records if 2 * records > share else 0  # they stay in memory
    seconds = (
        START
        + scale * (LONG_RUN * (steps.first + steps.short) + LONG_OUTPUT * steps.copying)
        + of_rows
    )

    def expected(value: Callable[[float], float]) -> Expected:
        return Expected(
            None if shared is None else value(shared.nbytes), value(0), value(1)
        )

    return Forecast(
        rows,
        nbytes,
        None if shared is None else shared.rows,
        budget.least(rows, longest),
        expected(lambda share: max(records, ROW_BYTES * rows + nbytes * share)),
        expected(lambda share: seconds + scale * steps.again * share),
    )


def _of_lines(corpus: Corpus, plan: Plan, folder: str, clock: Timer) -> _Steps | None:
    """Measure the steps on a file with lines from several places."""
    path = os.path.join(folder, "sample.jsonl")
    places = evenly_spaced(place_count(corpus), PLACES)
    with open(path, "wb") as out:
        for lines in lines_of(corpus, places):
            out.write(lines)
    sample = corpus_of([path], corpus)
    first = _best(clock, lambda: _sketches(text_batches(sample), plan))
    if not sample.accepted:
        return None
    rows = int64_range(sample.accepted)
    texts = Texts.concatenate([batch for _, batch, _ in sample.texts_of(rows)])
    few = np.concatenate([rows[::64], rows[-1:]])

    def copy() -> None:
        write_rows(
            sample,
            os.path.join(folder, "copy.jsonl"),
            keep=np.ones(len(rows), np.bool_),
            overwrite=True,
        )

    short = (
        _best(clock, lambda: _consume(sample.texts_of(few)))
        if texts.nbytes <= LONG_BYTES * len(rows)
        else 0.0
    )
    again = (
        _usual(clock, lambda: _consume(sample.texts_of(rows)))
        + _usual(clock, lambda: _part(texts, plan, folder))
        - short
    )
    scale = corpus.total_bytes / bytes_of(corpus, places)
    return _Steps(
        len(rows) * scale,
        texts.nbytes * scale,
        sample.total_bytes,
        first,
        short,
        again,
        _usual(clock, copy),
    )


def _sampled_lines(corpus: Corpus, plan: Plan, folder: str, steps: _Steps) -> _Sampled:
    """Sketch the lines of places that are chosen at random."""
    count = place_count(corpus)
    rows = round(steps.rows)
    sample_size = min(
        count, count * rows_wanted(rows) // rows + 1, MOST_SAMPLED // PLACE_BYTES
    )
    places = np.sort(
        np.random.default_rng(1).choice(count, sample_size, replace=False)
    ).astype(np.int64)
    samples = list[Sample]()
    secret = draw_secret()
    for sampled_places, sample in corpora_of_places(corpus, places, folder):
        keys, marks = _sketches(text_batches(sample), plan, secret)
        lengths = [
            end - start for start, end in map(sample.span, range(len(sampled_places)))
        ]
        samples.append(
            Sample(
                keys,
                marks,
                np.repeat(sampled_places + 1, lengths),
                np.ones(len(keys), np.bool_),
            )
        )
    return _sampled(samples, corpus.total_bytes / bytes_of(corpus, places))


def _sampled(samples: list[Sample], scale: float) -> _Sampled:
    """Return estimates for all rows, which are `scale` times as many as in the samples."""
    keys, marks, places, inner = zip(*samples, strict=True)
    all_rows = Sample(
        np.concatenate(keys),
        RowMarks.concatenated(marks),
        np.concatenate(places),
        np.concatenate(inner),
    )
    rows = round(len(all_rows.keys) * scale)
    lengths = all_rows.marks.nbytes
    nbytes = round(int(lengths.sum()) * scale)
    longest = int(lengths.max(initial=0))
    return _Sampled(rows, nbytes, longest, sharing(all_rows, rows))


def _of_beginnings(
    corpus: Corpus, plan: Plan, folder: str, clock: Timer
) -> _Steps | None:
    """Measure the steps on the first megabytes of several files."""
    order = files_in_random_order(corpus)
    nbytes = PLACES * PLACE_BYTES
    share = max(1, nbytes // PLACES, nbytes // max(1, len(order)))

    def read() -> tuple[Texts, int]:
        batches = [Texts([])]
        source_bytes = 0
        bytes_to_read = nbytes
        for number, file in enumerate(order):
            beginning = Beginning(corpus, file, share)
            for texts in beginning:
                batches.append(texts)
                bytes_to_read -= texts.nbytes
            source_bytes += beginning.source_bytes
            if bytes_to_read <= 0 or (
                bytes_to_read < nbytes and number + 1 >= MOST_MEASURED
            ):
                break
        return Texts.concatenate(batches), source_bytes

    texts, source_bytes = read()
    if not len(texts) or not source_bytes:
        return None
    reading = _best(clock, read)
    sketching = _best(clock, lambda: _sketches(iter([texts]), plan))
    # One thread reads; with several, the others sketch meanwhile.
    first = reading + sketching if plan.threads == 1 else max(reading, sketching)
    again = reading + _best(clock, lambda: _part(texts, plan, folder))
    scale = corpus.total_bytes / source_bytes
    return _Steps(
        len(texts) * scale,
        texts.nbytes * scale,
        source_bytes,
        first,
        0.0,
        again,
        COPYING * reading,
    )


def _sampled_beginnings(
    corpus: Corpus, plan: Plan, folder: str, steps: _Steps
) -> _Sampled:
    """Sketch the beginnings of files in random order."""
    rows = round(steps.rows)
    order = files_in_random_order(corpus)
    bytes_to_sample = min(MOST_SAMPLED, steps.nbytes * rows_wanted(rows) / rows)
    source_bytes = 0
    share = max(PLACE_BYTES, round(bytes_to_sample / len(order)) + 1)
    samples = list[Sample]()
    secret = draw_secret()
    for number, file in enumerate(order):
        beginning = Beginning(corpus, file, share)
        keys, marks = _sketches(iter(beginning), plan, secret)
        n = len(keys)
        # Partners are often near each other, so places are long: files, or quarters of what was
        # read of a file, of which two have both neighbors.
        quarters = (
            np.zeros(n, np.int64)
            if beginning.complete
            else int64_range(n) * 4 // max(1, n)
        )
        inner = (
            np.ones(n, np.bool_)
            if beginning.complete
            else (quarters == 1) | (quarters == 2)
        )
        samples.append(Sample(keys, marks, quarters + (6 * number + 1), inner))
        source_bytes += beginning.source_bytes
        bytes_to_sample -= int(marks.nbytes.sum())
        if source_bytes and (
            source_bytes > MOST_SAMPLED
            or (bytes_to_sample <= 0 and number + 1 >= PLACES)
        ):
            break
    return _sampled(samples, corpus.total_bytes / source_bytes)


def _sketches(
    batches: Iterator[Texts], plan: Plan, secret: Secret | None = None
) -> tuple[UInt64Array, RowMarks]:
    """Return bucket keys and marks of texts; equal texts have equal marks under one secret."""
    keyed = secret or draw_secret()

    def finish(piece: Sketched) -> tuple[UInt64Array, RowMarks]:
        return plan.bands.keys(piece.signatures), RowMarks.of(piece, keyed)

    no_keys = np.empty((0, plan.bands.bands), np.uint64)
    key_parts = [no_keys]
    mark_parts = []
    for keys, marks in sketched(batches, plan, Clock(), finish):
        key_parts.append(keys)
        mark_parts.append(marks)
    return np.concatenate(key_parts), RowMarks.concatenated(mark_parts)


def _part(texts: Texts, plan: Plan, folder: str) -> None:
    """Write texts to the file of a part, and run it."""
    writer = PartWriter(folder, 1, texts.nbytes)
    writer.add(np.zeros(len(texts), np.int32), texts)
    with _removed(os.path.join(folder, "part-0.texts")):
        part = read_part(writer.finish()[0], texts.lengths)
        run_part([part], plan, Clock(), Request())


@contextmanager
def _removed(path: str) -> Iterator[None]:
    try:
        yield
    finally:
        os.unlink(path)


def _seconds_of_a_row(plan: Plan, memory: int, folder: str, clock: Timer) -> float:
    """Measure, with random keys, the seconds of the records and the marks of a row."""
    rng = np.random.default_rng(1)
    keys, words = (
        rng.integers(1, 1 << 62, (BENCH_ROWS, width), np.uint64)
        for width in (plan.bands.bands, WIDTH)
    )
    enough = 4 * RECORD_BYTES * plan.bands.bands * BENCH_ROWS
    memory = max(min(memory, enough), least_memory(plan.bands.bands))

    def run() -> None:
        with BucketRuns(folder, plan.bands.bands, memory) as runs:
            runs.add(keys)
            runs.settle()
            components_of_runs(runs, memory)
        RowMarks(words).first()

    return _best(clock, run) / BENCH_ROWS


def _best(clock: Timer, run: Callable[[], object]) -> float:
    """Return the seconds of a function that uses the caches: of three runs the shortest one."""
    return min(_seconds(clock, run) for _ in range(3))


def _usual(clock: Timer, run: Callable[[], object]) -> float:
    """Return the seconds of a function that uses the disk: the median of three runs."""
    return sorted(_seconds(clock, run) for _ in range(3))[1]


def _seconds(clock: Timer, run: Callable[[], object]) -> float:
    start = clock()
    run()
    return clock() - start


def _consume(results: Iterable[object]) -> None:
    for _ in results:
        pass

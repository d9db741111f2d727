"""What a run over files within a cap of memory will take: its steps are measured on a sample of the inputs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from lshfast.common.run_key import draw_hash_key
from lshfast.common.types import Int64Array, UInt64Array
from lshfast.jobs.cap import Budget, reads_parquet
from lshfast.jobs.capped import prints_of
from lshfast.jobs.inputs import Inputs, text_batches
from lshfast.jobs.sharing import Sharing, rows_wanted, sharing
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
from lshfast.readers.jsonl import can_be_read_at

# The sample is the whole lines of so many bytes at so many places.
PLACES = 32
PLACE_BYTES = 1 << 20

# The largest sample of which the rows that share buckets are estimated, and the places of it that are read at a time.
MOST_SAMPLED = 1 << 30
PLACES_AT_ONCE = 64

# Rows of random keys on which the work for each row is measured, whatever its text is.
BENCH_ROWS = 1 << 16

# The seconds of copying the kept rows, as a share of those of reading, where they cannot be measured.
COPYING = 0.4

# The seconds until a command begins to read.
START = 0.3

# How much longer a byte takes in a long run than in a sample, which stays in the caches: measured 1.1 to 1.4.
LONG_RUN = 1.25

# Bytes of a row in the file of the first reading.
ROW_BYTES = 32

Timer: TypeAlias = Callable[[], float]


class Expected(NamedTuple):
    """What is expected, and what it would be if no text shared a bucket with another one, and if all did."""

    value: float
    least: float
    most: float


@dataclass(frozen=True)
class Forecast:
    """Estimates for a run.

    Attributes
    ----------
    rows, nbytes : int
        The number of texts, and their bytes.
    sharing : float
        The share of the texts that share a bucket with another one, in [0, 1].
    least_memory : int
        The least value of `memory`.
    disk : Expected
        The largest size of the work folder in bytes. The files of records and the files of texts that are read again do
        not exist at the same time.
    seconds : Expected
    """

    rows: int
    nbytes: int
    sharing: float
    least_memory: int
    disk: Expected
    seconds: Expected


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
    corpus = replace(inputs, id_column=None, on_error="skip").open()
    with tempfile.TemporaryDirectory(prefix="lshfast-", ignore_cleanup_errors=True) as folder:
        places = all(file.format == "jsonl" and can_be_read_at(file) for file in corpus.files)
        steps = (_of_lines if places else _of_beginnings)(corpus, plan, folder, clock)
        if steps is None:
            return None
        scale = corpus.total_bytes / steps.source_bytes
        rows, nbytes = round(steps.rows), round(steps.nbytes * scale)
        shared = (_sharing_of_lines if places else _sharing_of_beginnings)(corpus, plan, folder, rows)
        budget = Budget(memory, plan, ids=inputs.id_column is not None, parquet=reads_parquet(corpus))
        share = budget.work(0) * 3 // 4 if memory >= budget.least(0) else 0
        of_rows = rows * _seconds_of_a_row(plan, share * BENCH_ROWS // max(BENCH_ROWS, rows), folder, clock)
    records = RECORD_BYTES * plan.bands.bands * rows
    records = records if 2 * records > share else 0  # they stay in memory
    alone = START + LONG_RUN * scale * (steps.first + steps.short + steps.copying) + of_rows
    disk = [max(records, ROW_BYTES * rows + nbytes * share) for share in (shared.nbytes, 0, 1)]
    seconds = [alone + scale * steps.again * share for share in (shared.nbytes, 0, 1)]
    return Forecast(rows, nbytes, shared.rows, budget.least(rows), Expected(*disk), Expected(*seconds))


def _of_lines(corpus: Corpus, plan: Plan, folder: str, clock: Timer) -> _Steps | None:
    """Measure the steps on a file with lines from several places."""
    path, ends, seen = os.path.join(folder, "sample.jsonl"), 0, 0
    with open(path, "wb") as out:
        for data, begin in _places_of(corpus, _spread(corpus.total_bytes)):
            ends, seen = ends + data.count(b"\n"), seen + len(data)
            out.write(_whole_lines(data, begin))
    sample = _opened([path], corpus)
    first = _best(clock, lambda: _sketches(text_batches(sample), plan))
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


def _spread(total: int) -> Int64Array | None:
    """Return PLACES places in so many bytes; None if they would overlap."""
    if total <= PLACES * PLACE_BYTES:
        return None
    return np.linspace(0, total - PLACE_BYTES, PLACES).astype(np.int64)


def _places_of(corpus: Corpus, places: Int64Array | None) -> Iterator[tuple[bytes, int]]:
    """Yield PLACE_BYTES of the inputs at each place, and where it begins in its file; or each file as a whole."""
    before = 0
    for file in corpus.files:
        own = [0]
        if places is not None:
            own = (places[(places >= before) & (places < before + file.size)] - before).tolist()
        before += file.size
        if not own:
            continue
        with closing(file.source.open()) as stream:
            for place in own:
                stream.seek(place)
                data = stream.read(file.size if places is None else PLACE_BYTES)
                last = place + len(data) == file.size and not data.endswith(b"\n")
                yield data + b"\n" * last, place


def _whole_lines(data: bytes, begin: int) -> bytes:
    """Return the lines that are complete in a piece of a file that begins there."""
    return data[data.find(b"\n") + 1 if begin else 0 : data.rfind(b"\n") + 1]


def _opened(paths: list[str], corpus: Corpus) -> Corpus:
    """Open files of lines of a corpus."""
    return Corpus(corpus.layout, [replace(file, layout=corpus.layout) for file in Inputs(paths).open().files])


def _sharing_of_lines(corpus: Corpus, plan: Plan, folder: str, rows: int) -> Sharing:
    """Estimate the share of rows that share buckets from the lines of places that are chosen at random."""
    count = corpus.total_bytes // PLACE_BYTES
    wanted = min(count * rows_wanted(rows) // rows + 1, MOST_SAMPLED // PLACE_BYTES)
    places = None
    if wanted < count:
        places = PLACE_BYTES * np.sort(np.random.default_rng(1).choice(count, wanted, replace=False)).astype(np.int64)
    pieces, found, before = _places_of(corpus, places), [], 0
    while some := list(islice(pieces, PLACES_AT_ONCE)):
        paths = [os.path.join(folder, f"place-{number}.jsonl") for number in range(len(some))]
        for path, piece in zip(paths, some, strict=True):
            with open(path, "wb") as out:
                out.write(_whole_lines(*piece))
        sample = _opened(paths, corpus)
        keys, prints = _sketches(text_batches(sample), plan)
        lengths = [end - start for start, end in map(sample.span, range(len(paths)))]
        found.append((keys, prints, np.repeat(np.arange(before, before + len(paths), dtype=np.int64) * 6 + 1, lengths)))
        before += len(paths)
    return _sharing(found, rows)


def _sharing(
    found: list[tuple[UInt64Array, UInt64Array, Int64Array]], rows: int, ends: tuple[int, ...] = ()
) -> Sharing:
    """Estimate the share of rows that share buckets from the keys, the prints and the places of some.

    Places are numbered in sixes; `ends` are those in each six that have a neighbor on one side only.
    """
    keys, prints, places = (np.concatenate(column) for column in zip(*found, strict=True))
    shingled = prints[:, 0] % np.uint64(2) == 1
    own = np.flatnonzero(shingled & (equal_rows(prints) == np.arange(len(prints), dtype=np.int64)))
    keys, nbytes, places = keys[own], (prints[own, 0] >> np.uint64(1)).astype(np.int64), places[own]
    return sharing(keys, nbytes, places, ~np.isin(places % 6, ends), rows)


def _of_beginnings(corpus: Corpus, plan: Plan, folder: str, clock: Timer) -> _Steps | None:
    """Measure the steps on the first megabytes of several files."""

    def read() -> list[tuple[Texts, int]]:
        return _beginnings(corpus, PLACES * PLACE_BYTES)

    found = read()
    texts, source_bytes = Texts.concatenate([part for part, _ in found]), sum(nbytes for _, nbytes in found)
    if not len(texts) or not source_bytes:
        return None
    reading, sketching = _best(clock, read), _best(clock, lambda: _sketches(iter([texts]), plan))
    # One thread reads; with several, the others sketch meanwhile.
    first = reading + sketching if plan.threads == 1 else max(reading, sketching)
    again = reading + _best(clock, lambda: _part(texts, plan, folder))
    rows = len(texts) * corpus.total_bytes / source_bytes
    return _Steps(rows, texts.nbytes, source_bytes, first, 0.0, again, COPYING * reading)


def _beginnings(corpus: Corpus, nbytes: int) -> list[tuple[Texts, int]]:
    """Return so many bytes of texts in all from the beginnings of several files, each with its bytes in the file."""
    chosen = np.unique(np.linspace(0, len(corpus.files) - 1, PLACES).astype(np.int64)).tolist()
    share = max(1, nbytes // max(1, len(chosen)))
    layout = replace(corpus.layout, batch_bytes=min(share, corpus.layout.batch_bytes))
    return [_beginning(Corpus(layout, [replace(corpus.files[at], layout=layout)]), share) for at in chosen]


def _beginning(corpus: Corpus, nbytes: int) -> tuple[Texts, int]:
    """Return about so many bytes of the first texts of a corpus, and the bytes of them in its files."""
    texts, source_bytes = [Texts([])], 0
    for batch in corpus.batches():
        texts.append(Texts(batch.texts))
        source_bytes += batch.source_bytes
        nbytes -= texts[-1].nbytes
        if nbytes <= 0:
            break
    return Texts.concatenate(texts), source_bytes


def _sharing_of_beginnings(corpus: Corpus, plan: Plan, folder: str, rows: int) -> Sharing:
    """Estimate the share of rows that share buckets from the beginnings of several files."""
    nbytes = PLACES * PLACE_BYTES
    held = sum(len(texts) for texts, _ in _beginnings(corpus, nbytes))
    found = _beginnings(corpus, min(MOST_SAMPLED, nbytes * rows_wanted(rows) // held + 1))
    texts = Texts.concatenate([part for part, _ in found])
    # Partners are often near each other, so the places are long: four to a file, of which two have both neighbors.
    places = [6 * i + 1 + np.arange(len(part), dtype=np.int64) * 4 // len(part) for i, (part, _) in enumerate(found)]
    return _sharing([(*_sketches(iter([texts]), plan), np.concatenate(places))], rows, ends=(1, 4))


def _sketches(batches: Iterator[Texts], plan: Plan) -> tuple[UInt64Array, UInt64Array]:
    """Return the bucket keys and the prints of texts."""
    secret = draw_hash_key(), draw_hash_key()

    def finish(piece: Sketched) -> tuple[UInt64Array, UInt64Array]:
        return plan.bands.keys(piece.signatures), prints_of(piece, secret)

    found = list(sketched(batches, plan, Clock(), finish))
    keys, prints = [np.empty((0, plan.bands.bands), np.uint64)], [np.empty((0, 3), np.uint64)]
    return np.concatenate(keys + [own for own, _ in found]), np.concatenate(prints + [own for _, own in found])


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

"""The main job over files: read, find near-duplicates, write the rows that stay and an account of those that do not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.dedup.pipeline import Progress, run
from lshfast.dedup.plan import Plan
from lshfast.dedup.report import DedupResult, Stage
from lshfast.kernels import text
from lshfast.readers import (
    Corpus,
    all_or_none,
    check_output,
    check_rows,
    open_corpus,
    write_rejects,
    write_rows,
    write_table,
)
from lshfast.threads import quick_switches
from lshfast.tokens import Int64Array


@dataclass(frozen=True)
class Inputs:
    """What to read; see `lshfast.readers.open_corpus`."""

    paths: Sequence[str]
    column: str = "text"
    id_column: str | None = None
    glob: str = "**/*.txt"
    on_error: str = "stop"


@dataclass(frozen=True)
class Outputs:
    """What to write: the rows that stay (or all, annotated), and tables of pairs and of removed rows; None for none."""

    rows: str | None = None
    pairs: str | None = None
    removed: str | None = None
    annotate: bool = False
    overwrite: bool = False

    @property
    def rejects(self) -> str | None:
        """Where rows that were skipped are named: beside the first output there is."""
        main = self.rows or self.pairs or self.removed
        return f"{main}.rejects.jsonl" if main else None


class _Keys(Sequence[Any]):
    """The keys of a corpus, made when asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return self._corpus.accepted

    def __getitem__(self, row: Any) -> Any:
        return self._corpus.key(int(row))


def dedup_files(
    inputs: Inputs, outputs: Outputs, plan: Plan, *, keep: str = "first", progress: Progress | None = None
) -> DedupResult:
    """Run the main job over files.

    Parameters
    ----------
    inputs, outputs : Inputs, Outputs
    plan : Plan
        See `make_plan`.
    keep : str, default "first"
        first, last, longest, shortest, max:COLUMN or min:COLUMN.
    progress : callable, optional
        Called with (stage, done, total): bytes of input in "read" and "write", pairs in "verify".

    Returns
    -------
    DedupResult
        Its keys are the ids, or PATH:LINE where there is no id column.

    Raises
    ------
    DataError
        If the data are at fault: one line with file, line and reason.
    ValueError, OSError
        If an option is wrong, or an output cannot be written; then nothing stands under its name.
    """
    policy, _, order_column = keep.partition(":")
    if bool(order_column) != (policy in ("max", "min")) or policy not in (*_BY_LENGTH, "max", "min"):
        raise ValueError(f"keep must be {', '.join(_BY_LENGTH)}, max:COLUMN or min:COLUMN, not {keep!r}")
    corpus = open_corpus(
        inputs.paths, column=inputs.column, id_column=inputs.id_column, order_column=order_column or None,
        glob=inputs.glob, on_error=inputs.on_error,
    )  # fmt: skip
    _check_outputs(corpus, inputs, outputs)
    try:
        with quick_switches():
            result = run(
                _batches(corpus, progress),
                plan,
                keep=policy if not order_column else lambda: _ranks(corpus, policy),
                keys=_Keys(corpus),
                read=lambda: corpus.read,
                rejected=lambda: len(corpus.rejected),
                progress=progress,
            )
    except text.TextError as error:
        raise corpus.fault(error.row, error.reason) from None
    start = time.perf_counter()
    with all_or_none():
        _write(corpus, result, outputs, plan.threads, progress)
    written = Stage(time.perf_counter() - start, result.summary.stages["read"].nbytes)
    stages = {**result.summary.stages, "write": written} if outputs.rows else result.summary.stages
    return replace(result, summary=replace(result.summary, stages=stages))


_BY_LENGTH = ("first", "last", "longest", "shortest")


def _check_outputs(corpus: Corpus, inputs: Inputs, outputs: Outputs) -> None:
    files = [file.path for file in corpus.files]
    named = [outputs.rows, outputs.pairs, outputs.removed]
    if inputs.on_error == "skip":
        named.append(outputs.rejects)
    paths = [path for path in named if path is not None]
    for number, path in enumerate(paths):
        check_output(path, files, outputs.overwrite)
        if any(os.path.realpath(path) == os.path.realpath(other) for other in paths[:number]):
            raise ValueError(f"{path}: two outputs of one name")
    if outputs.annotate and outputs.rows is None:
        raise ValueError("annotate needs an output for the rows")
    if outputs.rows is not None:
        check_rows(corpus, outputs.rows, ("duplicate_of", "similarity") if outputs.annotate else ())


def _batches(corpus: Corpus, progress: Progress | None) -> Iterator[text.Texts]:
    done = 0
    for batch in corpus.batches():
        yield text.Texts(batch.texts)
        done += batch.source_bytes
        if progress:
            progress("read", done, corpus.total_bytes)


def _ranks(corpus: Corpus, policy: str) -> Int64Array:
    _, ranks = np.unique(np.asarray(corpus.order), return_inverse=True)
    return (ranks if policy == "max" else -ranks).astype(np.int64)


def _write(
    corpus: Corpus, result: DedupResult, outputs: Outputs, threads: int, progress: Progress | None
) -> None:
    def key(rows: npt.NDArray[Any]) -> list[Any]:
        return [corpus.key(row) for row in rows.tolist()]

    gone = np.flatnonzero(~result.keep)
    if outputs.pairs:
        found = result.pairs
        table: dict[str, list[Any] | npt.NDArray[Any]] = {
            "key_i": key(found["i"]),
            "key_j": key(found["j"]),
            "similarity": found["similarity"],
        }
        write_table(outputs.pairs, table, outputs.overwrite)
    if outputs.removed:
        removed: dict[str, list[Any] | npt.NDArray[Any]] = {
            "key": key(gone),
            "kept_key": key(result.keeper[gone]),
            "similarity": result.similarity[gone],
        }
        write_table(outputs.removed, removed, outputs.overwrite)
    if outputs.rejects and corpus.layout.on_error == "skip":
        write_rejects(outputs.rejects, corpus.rejected, outputs.overwrite)
    if outputs.rows is not None:
        _write_rows(corpus, result, outputs, threads, gone, key, progress)


def _write_rows(
    corpus: Corpus,
    result: DedupResult,
    outputs: Outputs,
    threads: int,
    gone: Int64Array,
    key: Callable[[npt.NDArray[Any]], list[Any]],
    progress: Progress | None,
) -> None:
    assert outputs.rows is not None
    annotations = None
    if outputs.annotate:
        annotations = {
            "duplicate_of": np.full(len(result.keep), None, object),
            "similarity": np.full(len(result.keep), None, object),
        }
        annotations["duplicate_of"][gone] = key(result.keeper[gone])
        annotations["similarity"][gone] = result.similarity[gone].tolist()
    keep = np.ones_like(result.keep) if outputs.annotate else result.keep
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress:
            progress("write", done, corpus.total_bytes)

    write_rows(
        corpus, outputs.rows, keep=keep, annotations=annotations, overwrite=outputs.overwrite, progress=tell,
        threads=threads,
    )  # fmt: skip


# Bytes of text that `measure` looks at.
SAMPLE = 16 << 20


def measure(inputs: Inputs) -> tuple[int, int]:
    """Estimate (rows, bytes of text) of the inputs from their size on disk and their first few megabytes."""
    corpus = open_corpus(inputs.paths, column=inputs.column, glob=inputs.glob, batch_bytes=SAMPLE)
    first = next(corpus.batches(), None)
    if first is None or first.source_bytes == 0:
        return 0, 0
    column = text.Texts(first.texts)
    scale = corpus.total_bytes / first.source_bytes
    return round(len(column) * scale), round(column.nbytes * scale)


def peak_memory() -> int | None:
    """Return the peak resident memory of this process in bytes, or None where the system does not tell."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


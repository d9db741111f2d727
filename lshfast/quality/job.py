"""The check of files: what a run over them finds and misses, measured on a sample of their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lshfast._common.atomic_files import atomic_file
from lshfast._common.progress import Progress
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs, item_batches, text_batches
from lshfast._engine.pages import PageOutput, named
from lshfast._engine.plan import Plan
from lshfast._io import check_place
from lshfast._items.measures import PointPlan
from lshfast.kernels.text import Texts
from lshfast.quality.result import CheckResult
from lshfast.quality.run import CheckOptions, check_rows

if TYPE_CHECKING:
    from lshfast.quality.points import PointCheck

# Texts of inputs of at most this size are held in memory, and those of larger ones are read again
# if they can be.
HELD_BYTES = 1 << 29


def check_files(
    inputs: Inputs,
    output: str | None,
    plan: Plan,
    options: CheckOptions,
    *,
    page: PageOutput | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    held_bytes: int = HELD_BYTES,
) -> CheckResult:
    """Check a run over files of texts or sets.

    Parameters
    ----------
    inputs : Inputs
    output : path, optional
        Where the figures are written, as JSON.
    plan : Plan
    options : CheckOptions
        Its `key_of` is not used: keys are ids, or PATH:LINE without an id column.
    page : PageOutput, optional
        The page that is written besides.
    overwrite : bool, default False
        Whether the output is replaced.
    progress : callable, optional
        Called with (stage, done, total): bytes of input in "read", rows in "verify".
    held_bytes : int
        Bytes of the inputs up to which their texts are held in memory; of larger ones, texts are
        read again.

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError, OSError
        If an option is invalid, or the output cannot be written; then there is none.
    """
    rejects = None if output is None else f"{output}.rejects.jsonl"
    job = Job([], inputs.on_error, overwrite, rejects, page=page)
    corpus = job.add(inputs.open_kind(plan)[0])
    job.check()
    if output is not None:
        check_place(output, [file.location for file in corpus.files], overwrite)
    with job.reading(corpus):
        batches = text_batches(corpus, progress)
        if corpus.total_bytes <= held_bytes:
            batches = (Texts(batch) for batch in batches)
        figures = check_rows(
            batches, plan, replace(options, key_of=corpus.key), job.clock, progress
        )
    result = job.account(CheckResult, accepted=corpus.accepted, **figures)
    with job.writing():
        if output is not None:
            with atomic_file(output, overwrite) as file:
                file.write(result.to_json().encode("utf-8"))
        title = f"Check of {named([file.name for file in corpus.files])}"
        job.write_page(
            lambda page: result.page(title=title, command=page.command, texts=page.texts)
        )
    return result


def check_point_files(
    inputs: Inputs,
    output: str | None,
    plan: PointPlan,
    sample: int,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> PointCheck:
    """Check a run over files of vectors or codes.

    Parameters, outputs and errors are as for `check_files`.
    """
    from lshfast._engine.points import PointRows
    from lshfast.quality.points import PointCheck, check_points

    job = Job([], inputs.on_error, overwrite, None if output is None else f"{output}.rejects.jsonl")
    corpus, reader = inputs.open_kind(plan)
    job.add(corpus)
    job.check()
    if output is not None:
        check_place(output, [file.location for file in corpus.files], overwrite)
    with job.reading(corpus):
        with job.clock.stage("read"):
            rows = PointRows.of(
                item_batches(corpus, progress), lambda: None if reader is None else reader.format
            )
        figures: dict[str, Any] = check_points(rows, plan, sample, job.clock, progress)
    result = job.account(PointCheck, accepted=corpus.accepted, **figures)
    with job.writing():
        if output is not None:
            with atomic_file(output, overwrite) as file:
                file.write(result.to_json().encode("utf-8"))
    return result

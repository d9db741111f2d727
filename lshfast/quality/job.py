"""The check of files: what a run over them finds and misses, measured on a sample of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lshfast._common.atomic_files import atomic_file
from lshfast._common.progress import Progress
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs
from lshfast._engine.pages.run_pages import PageOutput, named
from lshfast._engine.plan import AnyPlan
from lshfast._io import check_place
from lshfast.quality.checks import CHECKS
from lshfast.quality.result import CheckResult
from lshfast.quality.run import CheckOptions

if TYPE_CHECKING:
    from lshfast.quality.points import PointCheck


def check_files(
    inputs: Inputs,
    output: str | None,
    plan: AnyPlan,
    options: CheckOptions,
    *,
    page: PageOutput | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> CheckResult | PointCheck:
    """Check a run over files.

    Parameters
    ----------
    inputs : Inputs
    output : path, optional
        Where the figures are written, as JSON.
    plan : Plan or PointPlan
    options : CheckOptions
        Its `key_of` is not used: keys are ids, or PATH:LINE without an id column.
    page : PageOutput, optional
        The page that is written besides, of texts and sets.
    overwrite : bool, default False
        Whether the output is replaced.
    progress : callable, optional
        Called with (stage, done, total): bytes of input in "read", rows in "verify".

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError, OSError
        If an option is invalid, or the output cannot be written; then there is none.
    """
    check = CHECKS[plan.kind]
    rejects = None if output is None else f"{output}.rejects.jsonl"
    job = Job([], inputs.on_error, overwrite, rejects, page=page)
    corpus, reader = inputs.open_kind(plan)
    job.add(corpus)
    job.check()
    if output is not None:
        check_place(output, [file.location for file in corpus.files], overwrite)
    with job.reading(corpus):
        figures = check.of_corpus(corpus, reader, plan, options, job.clock, progress)
    result = job.account(check.result, accepted=corpus.accepted, **figures)
    with job.writing():
        if output is not None:
            with atomic_file(output, overwrite) as file:
                file.write(result.to_json().encode("utf-8"))
        title = f"Check of {named([file.name for file in corpus.files])}"
        job.write_page(
            lambda page: cast(CheckResult, result).page(
                title=title, command=page.command, texts=page.texts
            )
        )
    return result

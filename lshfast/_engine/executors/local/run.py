"""The main job over files: read them, find near-duplicates, write the kept rows and a table of the
removed rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from lshfast._common.atomic_files import all_or_none
from lshfast._common.progress import Progress
from lshfast._common.threads import quick_switches
from lshfast._engine.account.guard import check_max_removed, check_result
from lshfast._engine.account.report import DedupResult
from lshfast._engine.account.short_texts import Recommendation, recommend
from lshfast._engine.budget import Budget
from lshfast._engine.clock import Clock, Stage, naming_stage
from lshfast._engine.executors.local.cap import (
    Cap,
    cap_for,
    cap_for_points,
    reads_parquet,
)
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.executors.local.writing import (
    annotations_of,
    check_places,
    kinds_of,
    write_all,
    write_similar,
)
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.inputs import (
    Inputs,
    faults_of,
    input_notes,
    order_ranks,
    policy_of,
)
from lshfast._engine.kinds import kind_of
from lshfast._engine.options.rules import refuse
from lshfast._engine.pages.run_pages import NoPage
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.plan import Plan, check_bands_only
from lshfast._engine.plans import AnyPlan
from lshfast._engine.preference import check_keep_measure
from lshfast._io import (
    Corpus,
)
from lshfast._io.output import output_format

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader


NO_INDEXES = Indexes()


class _Keys(Sequence[Any]):
    """The keys of a corpus, created on access."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return self._corpus.accepted

    def __getitem__(self, row: Any) -> Any:
        return self._corpus.key(int(row))


def run_files(
    inputs: Inputs,
    outputs: Outputs,
    plan: AnyPlan,
    *,
    keep: str = "first",
    indexes: Indexes = NO_INDEXES,
    cap: Cap | None = None,
    progress: Progress | None = None,
) -> DedupResult:
    """Run the main job over files.

    Parameters
    ----------
    inputs, outputs : Inputs, Outputs
    plan : Plan
        See `make_plan`.
    keep : str, default "first"
        first, last, longest, shortest, max:COLUMN or min:COLUMN.
    indexes : Indexes
        The index of earlier rows, and the index to save. The index is written after the outputs: a
        run that ends early leaves the old index unchanged, and has written all outputs or none.
    cap : Cap, optional
        The memory and the work folder of the run. Without it, a run that needs more memory than the
        machine has available gets the cap of `cap_for`, if it can have one.
    progress : callable, optional
        Called with (stage, done, total): bytes of input in "read", "texts" (further readings of a
        run within a cap), "input" (the inputs of a run that is resumed are compared) and "write",
        rows in "verify" (pairs if all pairs are written), bytes of the index in "save".

    Returns
    -------
    DedupResult
        Its keys are the ids, or PATH:LINE without an id column.

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    TooManyRemovedError
        If a larger share of the rows would be removed than `Outputs.max_removed`.
    """
    check_max_removed(outputs.max_removed)
    if cap is not None and outputs.clusters is not None:
        refuse("cap", ["clusters"])
    if inputs.group_by is not None:
        from lshfast._engine.executors.local.grouped import (
            run_groups,
        )  # with all that points need

        others = {
            "memory": cap,
            "by": inputs.by,
            "against": indexes.against,
            "save_index": indexes.save,
        }
        return run_groups(inputs, outputs, plan, others, keep=keep, progress=progress)
    indexed = indexes.against is not None or indexes.save is not None
    policy, order_column = policy_of(keep)
    check_keep_measure(policy, plan.measure)
    if indexed:
        kind_of(plan).check_indexed(plan)
    output = None if outputs.rows is None else output_format(outputs.rows)[0]
    added = annotations_of(outputs, plan, indexes)
    corpus, points = inputs.open_kind(
        plan, order_column=order_column, output=output, added=added, indexed=indexed
    )
    job = _Job(inputs, corpus, outputs, plan, keep, indexes, points, progress)
    if kind_of(plan).in_parts:
        return _run_sets(job, cast(Plan, plan), cap)
    return _run_points(job, cap)


def _run_points(job: _Job, cap: Cap | None) -> DedupResult:
    """Run the main job over points, which a cap of memory holds in a file."""
    inputs = job.inputs
    corpus = job.corpus
    outputs = job.outputs
    cap = cap or cap_for_points(corpus, inputs)
    if cap is None:
        return _run_held(job)
    corpus.limit_rows(cap.longest_row, "more memory (--memory) raises this limit")
    pairs = outputs.pairs is not None
    place = outputs.first_local
    with cap.folder(
        inputs, corpus, job.plan, job.keep, place, pairs, job.indexes
    ) as folder:
        corpus.hold_rejects_in_file(folder.path)
        result = _run_held(job, folder.path, cap.memory)
        if sys.platform == "win32":  # which removes no open files
            corpus.hold_in_memory()
        return result


def _run_sets(job: _Job, plan: Plan, cap: Cap | None) -> DedupResult:
    """Run the main job over texts or sets, in parts if the memory is limited."""
    inputs = job.inputs
    outputs = job.outputs
    indexes = job.indexes
    pairs = outputs.pairs is not None
    parquet = reads_parquet(job.corpus) or "parquet" in outputs.formats
    if cap is not None:
        held = {
            "save_index": indexes.save,
            "on_duplicate": indexes.on_duplicate != "error",
        }
        refuse("cap", [name for name, given in held.items() if given])
        check_bands_only(plan, "cap")
        cap.check(
            plan,
            pairs=pairs,
            parquet=parquet,
            against=indexes.against is not None,
            by=inputs.by is not None,
        )
    elif not plan.exact and indexes.save is None and outputs.clusters is None:
        cap = cap_for(inputs, job.corpus, plan, pairs=pairs, parquet=parquet)
    if cap is None:
        return _run_held(job)
    return _run_within(job, cap, replace(plan, capped=True), parquet)


@dataclass(frozen=True)
class _Job:
    """What all ways to run the main job are given; `points` reads the items if they are points."""

    inputs: Inputs
    corpus: Corpus
    outputs: Outputs
    plan: AnyPlan
    keep: str
    indexes: Indexes
    points: AnyReader | None
    progress: Progress | None

    def order(self) -> Any:
        """Return what `run_items` takes as `keep`."""
        ordered = self.corpus.layout.order_column is not None
        return partial(order_ranks, self.corpus, self.keep) if ordered else self.keep

    def opened_index(self) -> AbstractContextManager[Any]:
        """Open the index of earlier rows, or prepare a new one."""
        return kind_of(self.plan).opened_index(self.indexes, self.plan)

    def batches(self, index: Any) -> Iterator[Any]:
        """Read the items, whose ids must be keys that the index can have."""
        return kind_of(self.plan).batches(
            self.corpus, self.indexes, index, self.progress
        )

    def page(self, plan: AnyPlan) -> NoPage:
        """Return the page of the run."""
        if self.outputs.page is None:
            return NoPage()
        from lshfast._engine.pages.rows import RowPage

        return RowPage(self.outputs.page, self.corpus, self.outputs.listing, plan)

    def write(
        self, result: DedupResult, outputs: Outputs, index: Any, page: NoPage
    ) -> None:
        """Write everything but the pairs and the index."""
        kinds = kinds_of(self.corpus, index)
        write_all(
            self.corpus,
            self.inputs,
            result,
            outputs,
            self.plan,
            kinds,
            page,
            self.progress,
        )


def _run_held(
    job: _Job, folder: str | None = None, memory: int | None = None
) -> DedupResult:
    """Run the main job with all items in memory; or points in a file of a folder, and so many bytes
    of memory.
    """
    corpus = job.corpus
    outputs = job.outputs
    indexes = job.indexes
    check_places(corpus, job.inputs, outputs, indexes)
    saving = None if indexes.dry else indexes.save
    index_change = indexes.change()
    page = job.page(job.plan)
    opened = job.opened_index()
    with (
        nullcontext()
        if outputs.clusters is None
        else outputs.clusters.opened() as clusters,
        opened as index,
    ):
        with page.even_if_refused(outputs.overwrite), all_or_none():
            with faults_of(corpus), quick_switches():
                result = _with_notes(_find(job, index, page, folder, memory), corpus)
            update = None
            if clusters is not None:
                with naming_stage("group"):
                    update, result = clusters.updated_by(result)
            page.refused = result
            check_result(outputs.max_removed, result, corpus.by)
            start = time.perf_counter()
            with naming_stage("write"):
                job.write(result, outputs, index if indexes.against else None, page)
                if clusters is not None and update is not None:
                    clusters.write(update, result.options, outputs.overwrite)
                saved = time.perf_counter()
                if index is not None and saving and not indexes.in_place:
                    with naming_stage("save"):
                        index.save(
                            saving, overwrite=outputs.overwrite, progress=job.progress
                        )
        if index is not None and saving and indexes.in_place:
            with _after_outputs(), naming_stage("save"):
                kind_of(job.plan).commit(index, saving, job.progress)
    stages = dict(result.summary.stages)
    if outputs.rows:
        stages["write"] = Stage(saved - start, stages["read"].nbytes)
    if saving:
        stages["save"] = Stage(time.perf_counter() - saved, 0)
    return replace(
        result,
        summary=replace(result.summary, stages=stages, index_change=index_change),
    )


def _run_within(job: _Job, cap: Cap, plan: Plan, parquet: bool) -> DedupResult:
    """Run the main job within a cap of memory; `parquet` as for `Budget`."""
    from lshfast._engine.executors.local.capped import find_in_parts

    inputs = job.inputs
    corpus = job.corpus
    outputs = job.outputs
    indexes = job.indexes
    keep = job.keep
    clock = Clock()
    pairs = outputs.pairs is not None
    check_places(corpus, inputs, replace(outputs, overwrite=True), indexes)
    place = outputs.first_local
    with (
        indexes.opened(plan) as index,
        cap.folder(inputs, corpus, plan, keep, place, pairs, indexes) as folder,
    ):
        done = folder.done("outputs")
        # Some of them may have got their names.
        if done is not None and set(outputs.paths) <= set(done["paths"]):
            outputs = replace(outputs, overwrite=True)
        check_places(corpus, inputs, outputs, indexes)
        page = job.page(plan)
        with page.even_if_refused(outputs.overwrite), all_or_none():
            with faults_of(corpus), quick_switches():
                ids = corpus.layout.id_column is not None
                budget = Budget(
                    cap.memory,
                    plan,
                    pairs,
                    ids,
                    parquet,
                    index is not None,
                    inputs.by is not None,
                )
                longest = budget.longest_row(0)
                found = find_in_parts(
                    corpus, keep, budget, longest, folder, clock, index, job.progress
                )
                if found.similar is not None:
                    write_similar(corpus, outputs, page.seeing(found.similar), plan)
            result = found.result(
                clock, _Keys(corpus), corpus.read, len(corpus.rejected), corpus.by
            )
            result = _with_notes(
                replace(result, options=result.options | {"keep": keep}), corpus
            )
            page.refused = result
            check_result(outputs.max_removed, result, corpus.by)
            with clock.stage("write", clock.stages["sketch"].nbytes):
                job.write(result, outputs, index, page)
                folder.finish("outputs", {"paths": outputs.paths})
        if sys.platform == "win32":  # which removes no open files
            corpus.hold_in_memory()
    return replace(result, summary=replace(result.summary, stages=clock.stages))


def _with_notes(result: DedupResult, corpus: Corpus) -> DedupResult:
    """Return a result whose summary says how the inputs were read."""
    return replace(result, summary=replace(result.summary, **input_notes(corpus)))


def _find(
    job: _Job, index: Any, page: NoPage, folder: str | None, memory: int | None
) -> DedupResult:
    """Read the corpus, find its duplicates, write all similar pairs, and add rows to the index to
    be saved.
    """
    corpus = job.corpus
    outputs = job.outputs
    indexes = job.indexes
    clock = Clock()

    def listed(pairs: Iterable[PairArray]) -> None:
        write_similar(corpus, outputs, page.seeing(pairs), job.plan)

    item_kind = kind_of(job.plan)
    run = item_kind.run(
        job.batches(index),
        job.plan,
        clock,
        format_of=lambda: None if job.points is None else job.points.format,
        keep=job.order(),
        against=index if indexes.against else None,
        indexed=index is not None,
        similar=None if outputs.pairs is None else listed,
        folder=folder,
        memory=memory,
        progress=job.progress,
    )
    indexed = None
    if index is not None and indexes.save:
        with clock.stage("index"):
            indexed = item_kind.add_kept(run, index, indexes, corpus)
    result: DedupResult = run.result(
        clock,
        keys=_Keys(corpus),
        read=corpus.read,
        rejected=len(corpus.rejected),
        indexed=indexed,
        by=corpus.by,
    )
    if run.column is not None:
        page.take_texts_from(run.column)
    return replace(result, options=result.options | {"keep": job.keep})


@contextmanager
def _after_outputs() -> Iterator[None]:
    """Add to the error of writing the index that the outputs have been written."""
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror or error} (the outputs are complete, the index is as it was)"
        raise OSError(error.errno, reason, error.filename) from error


def recommend_for(corpus: Corpus) -> Recommendation | None:
    """Recommend shingles for `Inputs.sample`, based on their first few megabytes; None if there are
    no texts.
    """
    first = next(corpus.batches(), None)
    return None if first is None or not len(first.texts) else recommend(first.texts)


def peak_memory() -> int | None:
    """Return the peak resident memory of this process in bytes, or None if the system does not
    report it.
    """
    try:
        import resource
        import sys
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )

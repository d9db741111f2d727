"""The main job over files: read them, find near-duplicates, write the kept rows and a table of the
removed rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from lshfast._common.atomic_files import all_or_none
from lshfast._common.progress import Progress
from lshfast._common.threads import quick_switches
from lshfast._common.types import UInt64Array
from lshfast._engine.account.findings import ReadRows
from lshfast._engine.account.report import DedupResult
from lshfast._engine.clock import Clock, Stage, naming_stage
from lshfast._engine.executors.local.cap import (
    Cap,
    cap_for,
    cap_for_points,
    reads_parquet,
)
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.executors.local.writing import (
    OpenRun,
    annotations_of,
    check_places,
    write_result,
    write_similar,
)
from lshfast._engine.indexes.run_indexes import (
    Against,
    Indexes,
    refuse_index_with_texts,
)
from lshfast._engine.inputs import (
    Inputs,
    faults_of,
    input_notes,
    order_ranks,
    policy_of,
    text_batches,
)
from lshfast._engine.kinds import item_kind
from lshfast._engine.kinds.kind import Request
from lshfast._engine.options.rules import refuse
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.plan import AnyPlan, Plan, check_bands_only
from lshfast._engine.preference import check_keep_measure
from lshfast._io import (
    Corpus,
)
from lshfast._io.output import output_format

if TYPE_CHECKING:
    from lshfast._engine.account.short_texts import Lengths
    from lshfast._engine.clusters.file import OpenClusters
    from lshfast._engine.pages.rows import RowPage


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
    if outputs.max_removed is not None:
        from lshfast._engine.account.guard import check_max_removed

        check_max_removed(outputs.max_removed)
    if cap is not None and outputs.clusters is not None:
        refuse("cap", ["clusters"])
    if inputs.group_by is not None:
        from lshfast._engine.executors.local.grouped import (
            run_groups,
        )  # with all that points need

        refused_options = {
            "memory": cap,
            "by": inputs.by,
            "exact_key": inputs.exact_key,
            "against": indexes.compares or None,
            "save_index": indexes.save,
        }
        return run_groups(
            inputs, outputs, plan, refused_options, keep=keep, progress=progress
        )
    indexed = indexes.needed
    policy, order_column = policy_of(keep)
    if policy != "first":
        check_keep_measure(policy, plan.measure)
    kind = item_kind(plan.kind)
    if indexed:
        kind.check_indexed(plan)
    if indexes.texts is not None:
        kind.check_earlier_texts(plan)
    output = None if outputs.rows is None else output_format(outputs.rows)[0]
    added = annotations_of(inputs, outputs, plan, indexes)
    corpus, reader = inputs.open_kind(
        plan,
        order_column=order_column,
        output=output,
        added=added,
        indexed=indexes.needed,
    )
    earlier = None
    if indexes.texts is not None:
        # A row may be in the files of several months.
        earlier, _ = indexes.texts.open_kind(plan, unique_ids=False)
    run = OpenRun(
        inputs, corpus, outputs, kind, plan, keep, indexes, reader, progress, earlier
    )
    if kind.in_parts:
        return _run_sets(run, cast(Plan, plan), cap)
    return _run_points(run, cap)


def _run_points(run: OpenRun, cap: Cap | None) -> DedupResult:
    """Run the main job over points, which a cap of memory holds in a file."""
    inputs = run.inputs
    corpus = run.corpus
    outputs = run.outputs
    cap = cap or cap_for_points(corpus, inputs)
    if cap is None:
        return _run_held(run)
    corpus.limit_rows(cap.longest_row, "more memory (--memory) raises this limit")
    pairs = outputs.pairs is not None
    place = outputs.first_local
    with cap.folder(
        inputs, corpus, run.plan, run.keep, place, pairs, run.indexes
    ) as folder:
        corpus.hold_rejects_in_file(folder.path)
        result = _run_held(run, folder.path, cap.memory)
        if sys.platform == "win32":  # which removes no open files
            corpus.hold_in_memory()
        return result


def _run_sets(run: OpenRun, plan: Plan, cap: Cap | None) -> DedupResult:
    """Run the main job over texts or sets, in parts if the memory is limited."""
    inputs = run.inputs
    outputs = run.outputs
    indexes = run.indexes
    pairs = outputs.pairs is not None
    parquet = reads_parquet(run.corpus) or "parquet" in outputs.formats
    if cap is not None:
        earlier = Against(indexes.against, indexes.texts)
        refuse_index_with_texts(earlier, "a run with memory (--memory)")
        refused_options = {
            "save_index": indexes.save,
            "on_duplicate": indexes.on_duplicate != "error",
        }
        refuse("cap", [name for name, is_given in refused_options.items() if is_given])
        check_bands_only(plan, "cap")
        cap.check(
            plan,
            pairs=pairs,
            parquet=parquet,
            against=indexes.compares,
            by=inputs.by is not None,
            exact_key=inputs.exact_key is not None,
        )
    elif (
        not plan.exact
        and indexes.save is None
        and (indexes.texts is None or indexes.against is None)
        and outputs.clusters is None
    ):
        cap = cap_for(inputs, run.corpus, plan, pairs=pairs, parquet=parquet)
    if cap is None:
        return _run_held(run)
    return _run_within(run, cap, replace(plan, capped=True), parquet)


def _run_held(
    run: OpenRun, folder: str | None = None, memory: int | None = None
) -> DedupResult:
    """Run with all items in memory, or with points in a file of `folder` within `memory` bytes."""
    corpus = run.corpus
    outputs = run.outputs
    indexes = run.indexes
    check_places(run)
    saves = indexes.save is not None and not indexes.dry
    index_change = "" if indexes.save is None else indexes.change()
    page = run.page(run.plan)
    with _opened_clusters(outputs) as clusters, _opened_index(run) as index:
        with _showing_refusal(page, outputs), all_or_none():
            with faults_of(corpus), quick_switches():
                result = _find(run, index, page, folder, memory)
            update = None
            if clusters is not None:
                with naming_stage("group"):
                    update, result = clusters.updated_by(result)
            _check_removed(run, result, page)
            start = time.perf_counter()
            with naming_stage("write"):
                write_result(run, result, index if indexes.against else None, page)
                if clusters is not None and update is not None:
                    clusters.write(update, result.options, outputs.overwrite)
            saved = time.perf_counter()
            if saves and not indexes.in_place:
                with naming_stage("save"):
                    index.save(
                        indexes.save,
                        overwrite=outputs.overwrite,
                        progress=run.progress,
                    )
        if saves and indexes.in_place:
            with _after_outputs(), naming_stage("save"):
                run.kind.commit(index, str(indexes.save), run.progress)
    stages = dict(result.summary.stages)
    if outputs.rows:
        stages["write"] = Stage(saved - start, stages["read"].nbytes)
    if saves:
        stages["save"] = Stage(time.perf_counter() - saved, 0)
    summary = replace(result.summary, stages=stages, index_change=index_change)
    return replace(result, summary=summary)


def _run_within(run: OpenRun, cap: Cap, plan: Plan, parquet: bool) -> DedupResult:
    """Run the main job within a cap of memory; `parquet` as for `Budget`."""
    from lshfast._engine.budget import Budget
    from lshfast._engine.executors.local.all_rows import AllRows
    from lshfast._engine.executors.local.capped import find_in_parts

    inputs = run.inputs
    corpus = run.corpus
    outputs = run.outputs
    indexes = run.indexes
    keep = run.keep
    clock = Clock()
    pairs = outputs.pairs is not None
    check_places(replace(run, outputs=replace(outputs, overwrite=True)))
    place = outputs.first_local
    with (
        indexes.opened(plan) as index,
        cap.folder(
            inputs, corpus, plan, keep, place, pairs, indexes, run.earlier
        ) as folder,
    ):
        stage = folder.done("outputs")
        # Some of them may have got their names.
        if stage is not None and set(outputs.paths) <= set(stage["paths"]):
            outputs = replace(outputs, overwrite=True)
            run = replace(run, outputs=outputs)
        check_places(run)
        page = run.page(plan)
        with _showing_refusal(page, outputs), faults_of(corpus), quick_switches():
            ids = corpus.layout.id_column is not None
            budget = Budget(
                cap.memory,
                plan,
                pairs,
                ids,
                parquet,
                indexes.compares,
                inputs.by is not None,
                inputs.exact_key is not None,
            )
            longest = budget.longest_row(0)
            found_in_parts = find_in_parts(
                AllRows(corpus, run.earlier),
                keep,
                budget,
                longest,
                folder,
                clock,
                index,
                run.shows_earlier,
                run.progress,
            )
        with _showing_refusal(page, outputs), all_or_none():
            folder.finish("outputs", paths=outputs.paths)  # appears before they do
            if found_in_parts.similar is not None:
                with faults_of(corpus), quick_switches():
                    write_similar(run, found_in_parts.similar, page)
            result = found_in_parts.result(clock, _read_rows(corpus))
            result = replace(result, options=result.options | {"keep": keep})
            _check_removed(run, result, page)
            with clock.stage("write", clock.stages["sketch"].nbytes):
                write_result(run, result, index, page)
        if sys.platform == "win32":  # which removes no open files
            corpus.hold_in_memory()
            if run.earlier is not None:
                run.earlier.hold_in_memory()
            if result.earlier_texts is not None:
                result = replace(result, earlier_texts=list(result.earlier_texts))
    return replace(result, summary=replace(result.summary, stages=clock.stages))


def _opened_clusters(outputs: Outputs) -> AbstractContextManager[OpenClusters | None]:
    """Open the file of groups, if there is one."""
    return nullcontext() if outputs.clusters is None else outputs.clusters.opened()


def _opened_index(run: OpenRun) -> AbstractContextManager[Any]:
    """Open the index of earlier rows or prepare a new one, if the run needs one."""
    if not run.indexes.needed:
        return nullcontext()
    return run.kind.opened_index(run.indexes, run.plan)


def _showing_refusal(
    page: RowPage | None, outputs: Outputs
) -> AbstractContextManager[None]:
    """Write the page even if the block ends because too many rows would be removed."""
    return nullcontext() if page is None else page.even_if_refused(outputs.overwrite)


def _check_removed(run: OpenRun, result: DedupResult, page: RowPage | None) -> None:
    """Raise `TooManyRemovedError`, which the page shows, if a result removes too many rows."""
    if page is not None:
        page.refused = result
    if run.outputs.max_removed is not None:
        from lshfast._engine.account.guard import check_result

        check_result(run.outputs.max_removed, result, run.corpus.by)


def _read_rows(corpus: Corpus) -> ReadRows:
    """Return the rows of a corpus that has been read."""
    rejected = len(corpus.rejected)
    notes = input_notes(corpus)
    return ReadRows(_Keys(corpus), corpus.read, rejected, corpus.by, notes)


def _find(
    run: OpenRun,
    index: Any,
    page: RowPage | None,
    folder: str | None,
    memory: int | None,
) -> DedupResult:
    """Find the duplicates of a corpus; similar pairs are written, and an index gets new rows."""
    corpus = run.corpus
    outputs = run.outputs
    indexes = run.indexes
    clock = Clock()

    def listed(pairs: Iterable[PairArray]) -> None:
        write_similar(run, pairs, page)

    keep: Any = None if run.keep == "first" else run.keep
    if corpus.layout.order_column is not None:
        keep = partial(order_ranks, corpus, run.keep)
    reader = run.reader
    request = Request(
        keep=keep,
        against=_earlier_of(run, index),
        exact_keys=_exact_keys_of(corpus),
        indexed=index is not None,
        similar=None if outputs.pairs is None else listed,
        format_of=None if reader is None else lambda: reader.format,
        folder=folder,
        memory=memory,
        progress=run.progress,
    )
    batches = run.kind.batches(corpus, indexes, index, run.progress)
    part = run.kind.run(batches, run.plan, clock, request)
    indexed = None
    if index is not None and indexes.save:
        with clock.stage("index"):
            indexed = run.kind.add_kept(part, index, indexes, corpus)
    result: DedupResult = part.result(clock, _read_rows(corpus), indexed)
    if page is not None and part.column is not None:
        page.take_texts_from(part.column)
    return replace(result, options=result.options | {"keep": run.keep})


def _exact_keys_of(corpus: Corpus) -> Callable[[], UInt64Array] | None:
    """Return what returns the exact keys of a corpus that has been read; None without such keys."""
    if corpus.layout.exact_key is None:
        return None
    return lambda: cast(UInt64Array, corpus.exact_keys)


def _earlier_of(run: OpenRun, index: Any) -> Any:
    """Return what the rows of a run are compared with, as a `Request` has it."""
    if not run.indexes.against:
        index = None
    corpus = run.earlier
    if corpus is None:
        return index
    from lshfast._engine.earlier_texts import EarlierRowsOf, EarlierRowsRead

    texts = EarlierRowsRead(
        text_batches(corpus),
        corpus.keys_of,
        ", ".join(file.name for file in corpus.files[:3]),
        run.shows_earlier,
        lambda: len(corpus.rejected),
        partial(faults_of, corpus),
    )
    return EarlierRowsOf(texts, index)


@contextmanager
def _after_outputs() -> Iterator[None]:
    """Add to the error of writing the index that the outputs have been written."""
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror or error} (the outputs are complete, the index is as it was)"
        raise OSError(error.errno, reason, error.filename) from error


def lengths_of_inputs(corpus: Corpus) -> Lengths | None:
    """Measure the first megabytes of `Inputs.sample`; None without texts."""
    from lshfast._engine.account.short_texts import lengths_of
    from lshfast.kernels.text import Texts

    first = next(corpus.batches(), None)
    if first is None or not len(first.texts):
        return None
    return lengths_of(Texts(first.texts))


def peak_memory() -> int | None:
    """Return the peak resident memory of this process in bytes, or None if it is not known."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )

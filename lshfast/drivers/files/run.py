"""The main job over files: read them, find near-duplicates, write the kept rows and a table of the removed rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lshfast.common.atomic_files import all_or_none
from lshfast.common.progress import Progress
from lshfast.common.threads import quick_switches
from lshfast.common.types import Int64Array
from lshfast.drivers.budget import Budget
from lshfast.drivers.files.cap import Cap, cap_for, cap_for_points, reads_parquet
from lshfast.drivers.files.outputs import Outputs
from lshfast.drivers.indexes import ARROW_KINDS, Indexes
from lshfast.drivers.inputs import Inputs, faults_of, item_batches, order_ranks, policy_of, text_batches
from lshfast.drivers.item_indexes import ItemIndex, key_kind
from lshfast.drivers.pages import DedupPage, check_page_output
from lshfast.drivers.pair_tables import Table, portions, write_pairs
from lshfast.drivers.stored_options import KEY, StoredOptions, beside, write_beside
from lshfast.engine.any_plan import AnyPlan
from lshfast.engine.clock import Clock, Stage, naming_stage
from lshfast.engine.display import SIMILARITY_NAMES
from lshfast.engine.guard import check_max_removed, check_result
from lshfast.engine.listed_pairs import PairArray
from lshfast.engine.options import refuse
from lshfast.engine.plan import Keep, Plan, check_indexed
from lshfast.engine.preference import check_keep_measure
from lshfast.engine.report import DedupResult
from lshfast.engine.run import run_part
from lshfast.engine.short_texts import Recommendation, advice_for, recommend
from lshfast.engine.similar_pairs import SimilarPairs
from lshfast.kinds.measures import PointPlan
from lshfast.readers import (
    Corpus,
    check_different,
    check_file,
    check_outputs,
    check_place,
    check_rows,
    id_kind,
    write_rejects,
    write_rows,
    write_tables,
)
from lshfast.readers.output import output_format
from lshfast.readers.selection import SparseColumn

if TYPE_CHECKING:
    from lshfast.drivers.inputs import AnyReader
    from lshfast.index.lsh_index import LSHIndex


NO_INDEXES = Indexes()

# Columns of a table of removed rows that may name index entries: whether it does, and whether similarity is estimated.
OF_EARLIER = "earlier", "estimated"


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
        The index of earlier rows, and the index to save. The index is written after the outputs: a run that ends early
        leaves the old index unchanged, and has written all outputs or none.
    cap : Cap, optional
        The memory and the work folder of the run. Without it, a run that needs more memory than the machine has
        available gets the cap of `cap_for`, if it can have one.
    progress : callable, optional
        Called with (stage, done, total): bytes of input in "read", "texts" (further readings of a run within a cap),
        "input" (the inputs of a run that is resumed are compared) and "write", rows in "verify" (pairs if all pairs are
        written), bytes of the index in "save".

    Returns
    -------
    DedupResult
        Its keys are the ids, or PATH:LINE without an id column.

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is created.
    TooManyRemovedError
        If a larger share of the rows would be removed than `Outputs.max_removed`.
    """
    check_max_removed(outputs.max_removed)
    if cap is not None and outputs.clusters is not None:
        refuse("cap", ["clusters"])
    if inputs.group_by is not None:
        from lshfast.drivers.files.grouped import run_groups  # with all that points need

        others = {"memory": cap, "by": inputs.by, "against": indexes.against, "save_index": indexes.save}
        return run_groups(inputs, outputs, plan, others, keep=keep, progress=progress)
    indexed = indexes.against is not None or indexes.save is not None
    policy, order_column = policy_of(keep)
    check_keep_measure(policy, plan.measure)
    if indexed and isinstance(plan, Plan):
        check_indexed(plan)
    output = None if outputs.rows is None else output_format(outputs.rows)[0]
    added = _annotations(outputs, plan, indexes)
    corpus, points = inputs.open_kind(plan, order_column=order_column, output=output, added=added, indexed=indexed)
    pairs, parquet = outputs.pairs is not None, reads_parquet(corpus) or "parquet" in outputs.formats
    if isinstance(plan, PointPlan):
        cap = cap or cap_for_points(corpus, inputs)
        if cap is None:
            return _run_held(corpus, inputs, outputs, plan, keep, indexes, points, progress)
        place = outputs.first_local
        with cap.folder(inputs, corpus, plan, keep, place, pairs, indexes) as folder:
            return _run_held(corpus, inputs, outputs, plan, keep, indexes, points, progress, folder.path, cap.memory)
    banded = replace(plan, exact=False) if plan.exact_by_default else plan
    if cap is not None:
        held = {"exact": banded.exact, "save_index": indexes.save, "on_duplicate": indexes.on_duplicate != "error"}
        refuse("cap", [name for name, given in held.items() if given])
        cap.check(banded, pairs=pairs, parquet=parquet, against=indexes.against is not None, by=inputs.by is not None)
    elif not plan.exact and indexes.save is None and outputs.clusters is None:
        cap = cap_for(inputs, corpus, plan, pairs=pairs, parquet=parquet)
    if cap is not None:
        return _run_within(cap, inputs, corpus, outputs, banded, keep, indexes, parquet, progress)
    return _run_held(corpus, inputs, outputs, plan, keep, indexes, points, progress)


def _run_held(
    corpus: Corpus,
    inputs: Inputs,
    outputs: Outputs,
    plan: AnyPlan,
    keep: str,
    indexes: Indexes,
    points: AnyReader | None,
    progress: Progress | None,
    folder: str | None = None,
    memory: int | None = None,
) -> DedupResult:
    """Run the main job with all items in memory; or points in a file of a folder, and so many bytes of memory.

    `points` reads them if they are points.
    """
    _check_outputs(corpus, inputs, outputs, indexes)
    saving = None if indexes.dry else indexes.save
    page = DedupPage(outputs.page, corpus, outputs.listing, plan)
    opened: Any = _point_index(indexes, plan) if isinstance(plan, PointPlan) else indexes.opened(plan)
    with nullcontext() if outputs.clusters is None else outputs.clusters.opened() as clusters, opened as index:
        with page.even_if_refused(outputs.overwrite), all_or_none():
            with faults_of(corpus), quick_switches():
                if isinstance(plan, PointPlan):
                    assert points is not None
                    result = _find_points(
                        corpus, plan, keep, outputs, points, page, folder, memory, index, indexes, progress
                    )
                else:
                    result = _find(corpus, plan, keep, index, indexes, outputs, page, progress)
            update = None
            if clusters is not None:
                with naming_stage("group"):
                    update, result = clusters.updated_by(result)
            page.refused = result
            check_result(outputs.max_removed, result, corpus.by)
            start = time.perf_counter()
            with naming_stage("write"):
                kinds = _kinds(corpus, index if indexes.against else None)
                _write(corpus, inputs, result, outputs, plan, kinds, page, progress)
                if clusters is not None and update is not None:
                    clusters.write(update, result.options, outputs.overwrite)
                saved = time.perf_counter()
                if index is not None and saving and not indexes.in_place:
                    with naming_stage("save"):
                        index.save(saving, overwrite=outputs.overwrite, progress=progress)
        if index is not None and saving and indexes.in_place:
            with _after_outputs(), naming_stage("save"):
                if isinstance(plan, PointPlan):
                    index.save(saving, overwrite=True, progress=progress)
                else:
                    index.commit(progress=progress)
    stages = dict(result.summary.stages)
    if outputs.rows:
        stages["write"] = Stage(saved - start, stages["read"].nbytes)
    if saving:
        stages["save"] = Stage(time.perf_counter() - saved, 0)
    return replace(result, summary=replace(result.summary, stages=stages, delimiters=corpus.delimiters))


def _run_within(
    cap: Cap,
    inputs: Inputs,
    corpus: Corpus,
    outputs: Outputs,
    plan: Plan,
    keep: str,
    indexes: Indexes,
    parquet: bool,
    progress: Progress | None,
) -> DedupResult:
    """Run the main job within a cap of memory; `parquet` as for `Budget`."""
    from lshfast.drivers.files.capped import find_in_parts

    clock, pairs, plan = Clock(), outputs.pairs is not None, replace(plan, capped=True)
    place = outputs.first_local
    _check_outputs(corpus, inputs, replace(outputs, overwrite=True), indexes)
    with indexes.opened(plan) as index, cap.folder(inputs, corpus, plan, keep, place, pairs, indexes) as folder:
        done = folder.done("outputs")
        if done is not None and set(outputs.paths) <= set(done["paths"]):  # some of them may have got their names
            outputs = replace(outputs, overwrite=True)
        _check_outputs(corpus, inputs, outputs, indexes)
        page = DedupPage(outputs.page, corpus, outputs.listing, plan)
        with page.even_if_refused(outputs.overwrite), all_or_none():
            with faults_of(corpus), quick_switches():
                ids = corpus.layout.id_column is not None
                budget = Budget(cap.memory, plan, pairs, ids, parquet, index is not None, inputs.by is not None)
                found = find_in_parts(corpus, keep, budget, budget.longest_row(0), folder, clock, index, progress)
                if found.similar is not None:
                    _write_pairs(corpus, outputs, page.seeing(found.similar), plan)
            result = found.result(clock, _Keys(corpus), corpus.read, len(corpus.rejected), corpus.by)
            result = page.refused = replace(result, options=result.options | {"keep": keep})
            check_result(outputs.max_removed, result, corpus.by)
            with clock.stage("write", clock.stages["sketch"].nbytes):
                _write(corpus, inputs, result, outputs, plan, _kinds(corpus, index), page, progress)
                folder.finish("outputs", {"paths": outputs.paths})
        if sys.platform == "win32":  # which removes no open files
            corpus.hold_in_memory()
    return replace(result, summary=replace(result.summary, stages=clock.stages, delimiters=corpus.delimiters))


def _find(
    corpus: Corpus,
    plan: Plan,
    keep: str,
    index: LSHIndex | None,
    indexes: Indexes,
    outputs: Outputs,
    page: DedupPage,
    progress: Progress | None,
) -> DedupResult:
    """Read the corpus, find its duplicates, write all similar pairs, and add rows to the index to be saved."""
    clock = Clock()
    batches = indexes.checked(index, corpus, text_batches(corpus, progress))

    def write_similar(every: SimilarPairs, _: object) -> None:
        _write_pairs(corpus, outputs, page.seeing(every.batches()), plan)

    part = run_part(
        batches,
        plan,
        clock,
        keep=partial(order_ranks, corpus, keep) if corpus.layout.order_column is not None else cast(Keep, keep),
        against=index if indexes.against else None,
        indexed=index is not None,
        similar=None if outputs.pairs is None else write_similar,
        progress=progress,
    )
    indexed = None
    if index is not None and indexes.save:
        with clock.stage("index"):
            indexed = indexes.add(index, corpus, part.found.kept_rows, part.sketches.signatures)
    result = part.found.result(
        part.plan,
        clock,
        keys=_Keys(corpus),
        read=corpus.read,
        rejected=len(corpus.rejected),
        indexed=indexed,
        advice=advice_for(part.sketches.rows.column, plan),
        by=corpus.by,
    )
    page.take_texts_from(part.sketches.rows.column)
    return replace(result, options=result.options | {"keep": keep})


def _point_index(indexes: Indexes, plan: PointPlan) -> AbstractContextManager[ItemIndex[Any] | None]:
    """Open the index of earlier points, or prepare a new one."""
    if indexes.against is None and indexes.save is None:
        return nullcontext()
    if plan.kind == "weighted":
        from lshfast.drivers.weighted_indexes import weighted_index_of_run

        return weighted_index_of_run(indexes, plan)
    from lshfast.drivers.point_indexes import index_of_run

    return index_of_run(indexes, plan)


def _find_points(
    corpus: Corpus,
    plan: PointPlan,
    keep: str,
    outputs: Outputs,
    points: AnyReader,
    page: DedupPage,
    folder: str | None,
    memory: int | None,
    index: ItemIndex[Any] | None,
    indexes: Indexes,
    progress: Progress | None,
) -> DedupResult:
    """Read a corpus of points, find its duplicates, and write all similar pairs."""
    from lshfast.engine.points import run_points

    def write_similar(pairs: Iterable[PairArray]) -> None:
        _write_pairs(corpus, outputs, page.seeing(pairs), plan)

    clock = Clock()
    run = run_points(
        item_batches(corpus, progress),
        lambda: points.format,
        plan,
        clock,
        keep=partial(order_ranks, corpus, keep) if corpus.layout.order_column is not None else keep,
        similar=None if outputs.pairs is None else write_similar,
        folder=folder,
        memory=memory,
        earlier=None if index is None or not indexes.against else index.earlier,
        progress=progress,
    )
    indexed = None
    if index is not None and indexes.save and len(run.rows):
        with clock.stage("index"):
            kept = np.flatnonzero(run.found.kept[run.rows.numbers])
            indexed = index.add_rows(run.rows, kept, plan, corpus)
    result = run.found.result(
        run.plan,
        clock,
        keys=_Keys(corpus),
        read=corpus.read,
        rejected=len(corpus.rejected),
        indexed=indexed,
        by=corpus.by,
    )
    return replace(result, options=result.options | {"keep": keep})


def _annotations(outputs: Outputs, plan: AnyPlan, indexes: Indexes) -> list[str]:
    """Return the names of the columns that are added to the rows."""
    added = ["duplicate_of", SIMILARITY_NAMES[plan.measure], *(OF_EARLIER if indexes.against else ())]
    return added if outputs.annotate else []


def _check_outputs(corpus: Corpus, inputs: Inputs, outputs: Outputs, indexes: Indexes) -> None:
    files = [file.location for file in corpus.files]
    named = [outputs.rows, outputs.pairs, outputs.removed, outputs.changes]
    if inputs.on_error == "skip":
        named.append(outputs.rejects)
    earlier = [] if indexes.against is None else [indexes.against]
    paths = check_outputs(named, [*files, *earlier], outputs.overwrite)
    options = None if outputs.removed is None else beside(outputs.removed)
    if options is not None:
        check_file(options, [*files, *earlier], outputs.overwrite)
    if outputs.page is not None:
        check_page_output(outputs.page, [*files, *earlier], outputs.overwrite)
        check_different([*paths, outputs.page.path])
    if outputs.clusters is not None:
        others = [*paths, indexes.save, options, None if outputs.page is None else outputs.page.path]
        outputs.clusters.check([*files, *earlier], others)
    if indexes.save is not None:
        check_place(indexes.save, files, outputs.overwrite or indexes.in_place)
        if corpus.layout.kind not in ("vector", "code"):  # whose indexes are of other classes, and check it
            from lshfast.index.stores.file import check_target

            check_target(indexes.save, outputs.overwrite)
        check_different([*paths, indexes.save])
    if outputs.annotate and outputs.rows is None:
        raise ValueError("annotate needs an output for the rows")
    if outputs.rows is not None:
        check_rows(corpus, outputs.rows, corpus.layout.added)


@contextmanager
def _after_outputs() -> Iterator[None]:
    """Add to the error of writing the index that the outputs have been written."""
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror or error} (the outputs are complete, the index is as it was)"
        raise OSError(error.errno, reason, error.filename) from error


def _kinds(corpus: Corpus, index: Any) -> dict[str, str]:
    """Return Arrow's names for the types of all columns that a run adds or writes.

    Kept keys have the type of the ids, or are strings if the keys of the index have another type.
    """
    ids, earlier = id_kind(corpus), None if index is None else key_kind(index)
    kept = ids if earlier is None or ARROW_KINDS[earlier] == ids else "string"
    kinds = dict.fromkeys(("key", "key_i", "key_j"), ids) | dict.fromkeys(("kept_key", "duplicate_of"), kept)
    return kinds | dict.fromkeys(SIMILARITY_NAMES.values(), "double") | dict.fromkeys(OF_EARLIER, "bool")


def _write_pairs(corpus: Corpus, outputs: Outputs, batches: Iterable[PairArray], plan: AnyPlan) -> None:
    """Write batches of pairs to the output for them."""
    assert outputs.pairs is not None
    name = SIMILARITY_NAMES[plan.measure]
    write_pairs(outputs.pairs, batches, corpus, name, outputs.overwrite, _kinds(corpus, None))


def _write(
    corpus: Corpus,
    inputs: Inputs,
    result: DedupResult,
    outputs: Outputs,
    plan: AnyPlan,
    kinds: dict[str, str],
    page: DedupPage,
    progress: Progress | None,
) -> None:
    gone = np.flatnonzero(~result.keep)
    if outputs.removed:
        parts = (gone[part] for part in portions(corpus, gone, result.keeper[gone]))
        tables = ({"key": corpus.keys_of(part), **_account(corpus, result, part, plan, kinds)} for part in parts)
        stored = StoredOptions.of(result.options, inputs)
        write_tables(outputs.removed, tables, outputs.overwrite, kinds, {KEY: stored.as_json()})
        write_beside(outputs.removed, stored, outputs.overwrite)
    if outputs.rejects and corpus.layout.on_error == "skip":
        write_rejects(outputs.rejects, corpus.rejected, outputs.overwrite)
    if outputs.rows is not None:
        _write_rows(corpus, result, outputs, gone, plan, kinds, progress)
    page.write(result, outputs.overwrite)


def _account(corpus: Corpus, result: DedupResult, gone: Int64Array, plan: AnyPlan, kinds: dict[str, str]) -> Table:
    """Return what is said of removed rows; the last two columns only if a keeper may be an entry of an index."""
    if result.earlier is None:
        kept_keys = corpus.keys_of(result.keeper[gone])
    else:
        kept_keys = [result.kept_key(row) for row in gone.tolist()]
    if kinds["kept_key"] == "string":
        kept_keys = list(map(str, kept_keys))
    account: Table = {"kept_key": kept_keys, SIMILARITY_NAMES[plan.measure]: result.similarity[gone]}
    if result.earlier is not None:
        earlier = result.keeper[gone] < 0
        estimated = earlier & (plan.measure == "jaccard") | (plan.verify != "exact")
        account |= dict(zip(OF_EARLIER, (earlier, estimated), strict=True))
    return account


def _write_rows(
    corpus: Corpus,
    result: DedupResult,
    outputs: Outputs,
    gone: Int64Array,
    plan: AnyPlan,
    kinds: dict[str, str],
    progress: Progress | None,
) -> None:
    assert outputs.rows is not None
    annotations = {}
    if outputs.annotate:
        for name in _account(corpus, result, gone[:0], plan, kinds):

            def values(places: Int64Array, name: str = name) -> Any:
                return _account(corpus, result, gone[places], plan, kinds)[name]

            annotations["duplicate_of" if name == "kept_key" else name] = SparseColumn(gone, values, len(result.keep))
    keep = np.ones_like(result.keep) if outputs.annotate else result.keep
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress:
            progress("write", done, corpus.total_bytes)

    write_rows(
        corpus, outputs.rows, keep=keep, annotations=annotations, kinds=kinds, overwrite=outputs.overwrite,
        progress=tell, threads=plan.threads,
    )  # fmt: skip


def recommend_for(corpus: Corpus) -> Recommendation | None:
    """Recommend shingles for `Inputs.sample`, based on their first few megabytes; None if there are no texts."""
    first = next(corpus.batches(), None)
    return None if first is None or not len(first.texts) else recommend(first.texts)


def peak_memory() -> int | None:
    """Return the peak resident memory of this process in bytes, or None if the system does not report it."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

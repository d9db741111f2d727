"""What a run over files writes: the kept rows, and the tables of removed rows, similar pairs and
rejected rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.report import DedupResult
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.indexes.run_indexes import ARROW_KINDS, POINTS, Indexes
from lshfast._engine.inputs import Inputs
from lshfast._engine.kinds.kind import ItemKind
from lshfast._engine.options.stored import KEY, StoredOptions, beside, write_beside
from lshfast._engine.pages.run_pages import check_page_output
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.pairs.tables import Table, portions, write_pairs
from lshfast._engine.plan import AnyPlan
from lshfast._io import (
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
from lshfast._io.selection import SparseColumn

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader
    from lshfast._engine.pages.rows import RowPage

# Columns of a table of removed rows that may name index entries: whether it does, and whether
# similarity is estimated.
OF_EARLIER = "earlier", "estimated"


@dataclass(frozen=True)
class OpenRun:
    """A run over files whose inputs are open; `reader` reads the items if they are no texts."""

    inputs: Inputs
    corpus: Corpus
    outputs: Outputs
    kind: ItemKind
    plan: AnyPlan
    keep: str
    indexes: Indexes
    reader: AnyReader | None
    progress: Progress | None

    def page(self, plan: AnyPlan) -> RowPage | None:
        """Return the page of the run, None if it writes none."""
        if self.outputs.page is None:
            return None
        from lshfast._engine.pages.rows import RowPage

        return RowPage(self.outputs.page, self.corpus, self.outputs.listing, plan)


def annotations_of(outputs: Outputs, plan: AnyPlan, indexes: Indexes) -> list[str]:
    """Return the names of the columns that are added to the rows."""
    if not outputs.annotate:
        return []
    columns = ["duplicate_of", SIMILARITY_NAMES[plan.measure]]
    if indexes.against:
        columns += OF_EARLIER
    return columns


def check_places(run: OpenRun) -> None:
    """Check that all outputs of a run can be written, before the work."""
    corpus = run.corpus
    outputs = run.outputs
    indexes = run.indexes
    files = [file.location for file in corpus.files]
    files_read = files if indexes.against is None else [*files, indexes.against]
    tables = [outputs.rows, outputs.pairs, outputs.removed, outputs.changes]
    if run.inputs.on_error == "skip":
        tables.append(outputs.rejects)
    paths = check_outputs(tables, files_read, outputs.overwrite)
    options = None if outputs.removed is None else beside(outputs.removed)
    if options is not None:
        check_file(options, files_read, outputs.overwrite)
    page = None if outputs.page is None else outputs.page.path
    if outputs.page is not None:
        check_page_output(outputs.page, files_read, outputs.overwrite)
        check_different([*paths, outputs.page.path])
    if outputs.clusters is not None:
        other_outputs = [*paths, indexes.save, options, page]
        outputs.clusters.check(files_read, other_outputs)
    if indexes.save is not None and not indexes.changes_folder:
        check_place(indexes.save, files, outputs.overwrite or indexes.in_place)
        # The classes of indexes of vectors and codes check it themselves.
        if corpus.layout.kind not in POINTS:
            from lshfast.index.stores.file import check_target

            check_target(indexes.save, outputs.overwrite)
    if indexes.save is not None:
        check_different([*paths, indexes.save])
    if outputs.annotate and outputs.rows is None:
        raise ValueError("annotate needs an output for the rows")
    if outputs.rows is not None:
        check_rows(corpus, outputs.rows, corpus.layout.added)


def kinds_of(corpus: Corpus, index: Any) -> dict[str, str]:
    """Return Arrow's names for the types of all columns that a run adds or writes.

    Kept keys have the type of the ids, or are strings if the keys of the index have another type.
    """
    ids = id_kind(corpus)
    earlier = None
    if index is not None:
        earlier = index.key_kind
    kept_kind = ids if earlier is None or ARROW_KINDS[earlier] == ids else "string"
    kinds = dict.fromkeys(("key", "key_i", "key_j"), ids) | dict.fromkeys(
        ("kept_key", "duplicate_of"), kept_kind
    )
    return (
        kinds
        | dict.fromkeys(SIMILARITY_NAMES.values(), "double")
        | dict.fromkeys(OF_EARLIER, "bool")
    )


def write_similar(
    run: OpenRun, batches: Iterable[PairArray], page: RowPage | None
) -> None:
    """Write batches of pairs to the output for them; a page shows some of them."""
    outputs = run.outputs
    corpus = run.corpus
    assert outputs.pairs is not None
    if page is not None:
        batches = page.seeing(batches)
    name = SIMILARITY_NAMES[run.plan.measure]
    write_pairs(
        outputs.pairs, batches, corpus, name, outputs.overwrite, kinds_of(corpus, None)
    )


def write_result(
    run: OpenRun, result: DedupResult, index: Any, page: RowPage | None
) -> None:
    """Write the outputs of a result except pairs and indexes; keepers may be in the index."""
    outputs = run.outputs
    corpus = run.corpus
    plan = run.plan
    removed = np.flatnonzero(~result.keep)
    kinds = {}
    if outputs.removed or outputs.annotate:
        kinds = kinds_of(corpus, index)
    if outputs.removed:
        parts = (
            removed[part] for part in portions(corpus, removed, result.keeper[removed])
        )
        tables = (
            {"key": corpus.keys_of(part), **_account(corpus, result, part, plan, kinds)}
            for part in parts
        )
        stored = StoredOptions.of(result.options, run.inputs)
        write_tables(
            outputs.removed, tables, outputs.overwrite, kinds, {KEY: stored.as_json()}
        )
        write_beside(outputs.removed, stored, outputs.overwrite)
    if corpus.layout.on_error == "skip" and outputs.rejects:
        write_rejects(outputs.rejects, corpus.rejected, outputs.overwrite)
    if outputs.rows is not None:
        _write_rows(run, result, removed, kinds)
    if page is not None:
        page.write(result, outputs.overwrite)


def _account(
    corpus: Corpus,
    result: DedupResult,
    rows: Int64Array,
    plan: AnyPlan,
    kinds: dict[str, str],
) -> Table:
    """Return the columns that describe removed rows; OF_EARLIER only with an index."""
    if result.earlier is None:
        kept_keys = corpus.keys_of(result.keeper[rows])
    else:
        kept_keys = [result.kept_key(row) for row in rows.tolist()]
    if kinds["kept_key"] == "string":
        kept_keys = list(map(str, kept_keys))
    account: Table = {
        "kept_key": kept_keys,
        SIMILARITY_NAMES[plan.measure]: result.similarity[rows],
    }
    if result.earlier is not None:
        earlier = result.keeper[rows] < 0
        estimated = earlier & (plan.measure == "jaccard") | (plan.verify != "exact")
        account |= dict(zip(OF_EARLIER, (earlier, estimated), strict=True))
    return account


def _write_rows(
    run: OpenRun, result: DedupResult, removed: Int64Array, kinds: dict[str, str]
) -> None:
    """Write the rows that are kept; all rows if they are annotated."""
    outputs = run.outputs
    corpus = run.corpus
    plan = run.plan
    progress = run.progress
    assert outputs.rows is not None
    annotations = {}
    if outputs.annotate:
        for name in _account(corpus, result, removed[:0], plan, kinds):

            def values(places: Int64Array, name: str = name) -> Any:
                return _account(corpus, result, removed[places], plan, kinds)[name]

            annotations["duplicate_of" if name == "kept_key" else name] = SparseColumn(
                removed, values, len(result.keep)
            )
    keep = np.ones_like(result.keep) if outputs.annotate else result.keep
    bytes_done = 0

    def tell(nbytes: int) -> None:
        nonlocal bytes_done
        bytes_done += nbytes
        if progress:
            progress("write", bytes_done, corpus.total_bytes)

    write_rows(
        corpus,
        outputs.rows,
        keep=keep,
        annotations=annotations,
        kinds=kinds,
        overwrite=outputs.overwrite,
        progress=tell,
        threads=plan.threads,
    )

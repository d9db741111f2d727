"""What a run over files writes: the kept rows, and the tables of removed rows, similar pairs and
rejected rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array, PathLike
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.report import DedupResult
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.indexes.run_indexes import ARROW_KINDS, POINTS, Indexes
from lshfast._engine.inputs import Inputs
from lshfast._engine.kinds.kind import ItemKind
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.plan import AnyPlan
from lshfast._io import (
    Corpus,
    check_different,
    check_file,
    check_outputs,
    check_place,
    check_rows,
    write_rows,
)

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader
    from lshfast._engine.pages.rows import RowPage
    from lshfast._engine.parts.removals import Removals


@dataclass(frozen=True)
class OpenRun:
    """A run over files whose inputs are open.

    `reader` reads the items if they are no texts, and `earlier` is the corpus of earlier rows.
    """

    inputs: Inputs
    corpus: Corpus
    outputs: Outputs
    kind: ItemKind
    plan: AnyPlan
    keep: str
    indexes: Indexes
    reader: AnyReader | None
    progress: Progress | None
    earlier: Corpus | None = None

    @property
    def shows_earlier(self) -> bool:
        """Whether the run shows the texts of the earlier rows that remove others."""
        return self.outputs.removed is not None or self.outputs.page is not None

    def page(self, plan: AnyPlan) -> RowPage | None:
        """Return the page of the run, None if it writes none."""
        if self.outputs.page is None:
            return None
        from lshfast._engine.pages.rows import RowPage

        return RowPage(self.outputs.page, self.corpus, self.outputs.listing, plan)


def annotations_of(
    inputs: Inputs, outputs: Outputs, plan: AnyPlan, indexes: Indexes
) -> list[str]:
    """Return the names of the columns that are added to the rows."""
    if not outputs.annotate:
        return []
    from lshfast._engine.parts.removals import added_columns

    return added_columns(plan, indexes.compares, inputs.exact_key is not None)


def check_places(run: OpenRun) -> None:
    """Check that all outputs of a run can be written, before the work."""
    corpus = run.corpus
    outputs = run.outputs
    indexes = run.indexes
    files = [file.location for file in corpus.files]
    files_read = files if indexes.against is None else [*files, indexes.against]
    if run.earlier is not None:
        files_read = [*files_read, *(file.location for file in run.earlier.files)]
    tables = [outputs.rows, outputs.pairs, outputs.removed, outputs.changes]
    if run.inputs.on_error == "skip":
        tables.append(outputs.rejects)
    paths = check_outputs(tables, files_read, outputs.overwrite)
    options = outputs.options
    if options is not None:
        check_file(options, files_read, outputs.overwrite)
    page = None if outputs.page is None else outputs.page.path
    if outputs.page is not None:
        from lshfast._engine.pages.run_pages import check_page_output

        check_page_output(outputs.page, files_read, outputs.overwrite)
        check_different([*paths, outputs.page.path])
    if outputs.clusters is not None:
        other_outputs = [*paths, indexes.save, options, page]
        outputs.clusters.check(files_read, other_outputs)
    if indexes.save is not None:
        _check_saved_index(run, indexes.save, files)
        check_different([*paths, indexes.save])
    if outputs.annotate and outputs.rows is None:
        raise ValueError("annotate needs an output for the rows")
    if outputs.rows is not None:
        check_rows(corpus, outputs.rows, corpus.layout.added)


def _check_saved_index(run: OpenRun, path: PathLike, files: Sequence[str]) -> None:
    """Check that the index of a run can be saved, given the locations of its inputs."""
    indexes = run.indexes
    overwrite = run.outputs.overwrite
    if indexes.changes_folder:
        return
    check_place(path, files, overwrite or indexes.in_place)
    # The classes of indexes of vectors and codes check it themselves.
    if run.corpus.layout.kind not in POINTS:
        from lshfast.index.stores.file import check_target

        check_target(path, overwrite)


def write_similar(
    run: OpenRun, batches: Iterable[PairArray], page: RowPage | None
) -> None:
    """Write batches of pairs to the output for them; a page shows some of them."""
    from lshfast._engine.pairs.tables import write_pairs
    from lshfast._engine.parts.removals import kinds_of
    from lshfast._io.to_parquet import id_kind

    outputs = run.outputs
    corpus = run.corpus
    assert outputs.pairs is not None
    if page is not None:
        batches = page.seeing(batches)
    name = SIMILARITY_NAMES[run.plan.measure]
    kinds = kinds_of(id_kind(corpus))
    write_pairs(outputs.pairs, batches, corpus, name, outputs.overwrite, kinds)


def write_result(
    run: OpenRun, result: DedupResult, index: Any, page: RowPage | None
) -> None:
    """Write the outputs of a result except pairs and indexes; keepers may be in the index."""
    outputs = run.outputs
    corpus = run.corpus
    removals = None
    if outputs.removed or outputs.annotate:
        removals = _removals(run, result, index)
    if outputs.removed:
        from lshfast._engine.options.stored import StoredOptions

        assert removals is not None
        stored = StoredOptions.of(result.options, run.inputs)
        removals.write(outputs.removed, corpus, run.plan, stored, outputs.overwrite)
    if corpus.layout.on_error == "skip" and outputs.rejects:
        from lshfast._io.tables import write_rejects

        write_rejects(outputs.rejects, corpus.rejected, outputs.overwrite)
    if outputs.rows is not None:
        _write_rows(run, result, removals)
    if page is not None:
        page.write(result, outputs.overwrite)


def _removals(run: OpenRun, result: DedupResult, index: Any) -> Removals:
    """Return the removed rows of a result; those that are kept instead may be in the index."""
    from lshfast._engine.parts.removals import Removals, kinds_of
    from lshfast._io.to_parquet import id_kind

    corpus = run.corpus
    rows = np.flatnonzero(~result.keep)
    keepers = result.keeper[rows]
    earlier = None if result.earlier is None else keepers < 0
    entries = None
    if index is not None:
        entries = ARROW_KINDS[index.key_kind]
    elif run.earlier is not None:
        entries = id_kind(run.earlier)

    def kept_keys(places: Int64Array) -> Sequence[Any]:
        if earlier is None:
            return corpus.keys_of(keepers[places])
        return [result.kept_key(row) for row in rows[places].tolist()]

    kinds = kinds_of(id_kind(corpus), entries)
    similarity = result.similarity[rows]
    estimated = None if result.estimated is None else result.estimated[rows]
    same_key = None if result.same_key is None else result.same_key[rows]
    texts = result.earlier_texts
    earlier_text = None
    if texts is not None:

        def earlier_text(place: int) -> str | None:
            return texts[int(rows[place])]

    # The key of an earlier row is not read from the corpus.
    kept_rows = np.where(keepers < 0, rows, keepers)
    return Removals(
        rows,
        kept_keys,
        similarity,
        earlier,
        kinds,
        kept_rows,
        estimated,
        earlier_text,
        same_key,
    )


def _write_rows(run: OpenRun, result: DedupResult, removals: Removals | None) -> None:
    """Write the rows that are kept; all rows if they are annotated."""
    outputs = run.outputs
    corpus = run.corpus
    plan = run.plan
    progress = run.progress
    assert outputs.rows is not None
    annotations = {}
    kinds: Mapping[str, str] = {}
    if outputs.annotate and removals is not None:
        annotations = removals.annotations(len(result.keep), plan)
    if removals is not None:
        kinds = removals.kinds
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

"""What a run over files writes: the kept rows, and the tables of removed rows, similar pairs and
rejected rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.report import DedupResult
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.indexes.run_indexes import ARROW_KINDS, Indexes
from lshfast._engine.inputs import Inputs
from lshfast._engine.options.stored import KEY, StoredOptions, beside, write_beside
from lshfast._engine.pages.run_pages import NoPage, check_page_output
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.pairs.tables import Table, portions, write_pairs
from lshfast._engine.plans import AnyPlan
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

# Columns of a table of removed rows that may name index entries: whether it does, and whether
# similarity is estimated.
OF_EARLIER = "earlier", "estimated"


def annotations_of(outputs: Outputs, plan: AnyPlan, indexes: Indexes) -> list[str]:
    """Return the names of the columns that are added to the rows."""
    added = [
        "duplicate_of",
        SIMILARITY_NAMES[plan.measure],
        *(OF_EARLIER if indexes.against else ()),
    ]
    return added if outputs.annotate else []


def check_places(
    corpus: Corpus, inputs: Inputs, outputs: Outputs, indexes: Indexes
) -> None:
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
        others = [
            *paths,
            indexes.save,
            options,
            None if outputs.page is None else outputs.page.path,
        ]
        outputs.clusters.check([*files, *earlier], others)
    if indexes.save is not None:
        check_place(indexes.save, files, outputs.overwrite or indexes.in_place)
        # Whose indexes are of other classes, and check it.
        if corpus.layout.kind not in (
            "vector",
            "code",
        ):
            from lshfast.index.stores.file import check_target

            check_target(indexes.save, outputs.overwrite)
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
    kept = ids if earlier is None or ARROW_KINDS[earlier] == ids else "string"
    kinds = dict.fromkeys(("key", "key_i", "key_j"), ids) | dict.fromkeys(
        ("kept_key", "duplicate_of"), kept
    )
    return (
        kinds
        | dict.fromkeys(SIMILARITY_NAMES.values(), "double")
        | dict.fromkeys(OF_EARLIER, "bool")
    )


def write_similar(
    corpus: Corpus, outputs: Outputs, batches: Iterable[PairArray], plan: AnyPlan
) -> None:
    """Write batches of pairs to the output for them."""
    assert outputs.pairs is not None
    name = SIMILARITY_NAMES[plan.measure]
    write_pairs(
        outputs.pairs, batches, corpus, name, outputs.overwrite, kinds_of(corpus, None)
    )


def write_all(
    corpus: Corpus,
    inputs: Inputs,
    result: DedupResult,
    outputs: Outputs,
    plan: AnyPlan,
    kinds: dict[str, str],
    page: NoPage,
    progress: Progress | None,
) -> None:
    gone = np.flatnonzero(~result.keep)
    if outputs.removed:
        parts = (gone[part] for part in portions(corpus, gone, result.keeper[gone]))
        tables = (
            {"key": corpus.keys_of(part), **_account(corpus, result, part, plan, kinds)}
            for part in parts
        )
        stored = StoredOptions.of(result.options, inputs)
        write_tables(
            outputs.removed, tables, outputs.overwrite, kinds, {KEY: stored.as_json()}
        )
        write_beside(outputs.removed, stored, outputs.overwrite)
    if outputs.rejects and corpus.layout.on_error == "skip":
        write_rejects(outputs.rejects, corpus.rejected, outputs.overwrite)
    if outputs.rows is not None:
        _write_rows(corpus, result, outputs, gone, plan, kinds, progress)
    page.write(result, outputs.overwrite)


def _account(
    corpus: Corpus,
    result: DedupResult,
    gone: Int64Array,
    plan: AnyPlan,
    kinds: dict[str, str],
) -> Table:
    """Return what is said of removed rows; the last two columns only if a keeper may be an entry of
    an index.
    """
    if result.earlier is None:
        kept_keys = corpus.keys_of(result.keeper[gone])
    else:
        kept_keys = [result.kept_key(row) for row in gone.tolist()]
    if kinds["kept_key"] == "string":
        kept_keys = list(map(str, kept_keys))
    account: Table = {
        "kept_key": kept_keys,
        SIMILARITY_NAMES[plan.measure]: result.similarity[gone],
    }
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

            annotations["duplicate_of" if name == "kept_key" else name] = SparseColumn(
                gone, values, len(result.keep)
            )
    keep = np.ones_like(result.keep) if outputs.annotate else result.keep
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress:
            progress("write", done, corpus.total_bytes)

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

"""The main job over files as one function, with the arguments of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeAlias

from lshfast._common.checks import Seed
from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.progress import Progress
from lshfast._engine.cluster_file import cluster_output
from lshfast._engine.crowds import warn_of_crowd
from lshfast._engine.executors.local.cap import cap_of
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.executors.local.run import run_files
from lshfast._engine.indexes import Indexes, plan_of_items
from lshfast._engine.inputs import Inputs, output_of
from lshfast._engine.listed_pairs import check_listing
from lshfast._engine.pages import PageOutput
from lshfast._engine.plan import Grouping, Verify
from lshfast._engine.report import DedupResult
from lshfast._engine.short_texts import warn_of
from lshfast._io import OutputFormat
from lshfast._io.files import MAX_COLUMNS, MAX_ROW_BYTES, Format, OnError
from lshfast.index.stores.values import OnDuplicate
from lshfast.shingling import Unit
from lshfast.sketch.minhash import Scheme

FilePath: TypeAlias = str | os.PathLike[str]


def dedup_files(
    inputs: FilePath | Iterable[FilePath],
    output: FilePath | None = None,
    *,
    output_format: OutputFormat | None = None,
    defuse_formulas: bool = False,
    column: str = "text",
    id_column: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    format: Format | None = None,
    max_row_bytes: int = MAX_ROW_BYTES,
    delimiter: str | None = None,
    max_columns: int = MAX_COLUMNS,
    kind: Kind | None = None,
    group_by: str | None = None,
    item: str | None = None,
    weight: str | None = None,
    threshold: float | None = None,
    radius: float | None = None,
    unit: Unit | None = None,
    size: int | None = None,
    stop_words: str | Iterable[str] | None = None,
    num_perm: int | None = None,
    scheme: Scheme | None = None,
    recall: float | None = None,
    bands: int | None = None,
    rows_per_band: int | None = None,
    verify: Verify = "exact",
    groups: Grouping = "star",
    keep: str = "first",
    annotate: bool = False,
    pairs: FilePath | None = None,
    removed: FilePath | None = None,
    html: FilePath | None = None,
    html_texts: bool = True,
    html_column: str | None = None,
    against: FilePath | None = None,
    save_index: FilePath | None = None,
    on_duplicate: OnDuplicate = "error",
    clusters: FilePath | None = None,
    changes: FilePath | None = None,
    on_error: OnError = "stop",
    threads: int | None = None,
    seed: Seed | None = None,
    exact: bool | None = None,
    measure: ItemMeasure | None = None,
    ignore_common: float | None = None,
    max_candidates: int | None = None,
    by: str | None = None,
    max_removed: float | None = None,
    top: int | None = None,
    most: float | None = None,
    memory: int | str | None = None,
    work: FilePath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> DedupResult:
    """Find near-duplicate rows of files, and write the rows that are kept.

    The arguments are the options of ``lshfast dedup``, without ``--split`` (see
    `lshfast._engine.paragraphs`). Either all outputs are written completely or none. Texts are held
    in memory, unless `memory` is given; other columns are not. Parquet and Arrow require pyarrow
    (``pip install "lshfast[cli]"``).

    Parameters
    ----------
    inputs : path or iterable of paths
        Files (.jsonl, .csv, .tsv and .txt, each also .gz, .zst, .bz2 or .xz; .parquet, .arrow,
        .feather), folders, patterns and URLs, read in this order; "-" is standard input.
        command-line.md lists which files of a folder are read.
    output : path, optional
        The file for the rows that are kept, with all their columns and in their order: .jsonl,
        .csv, .tsv (each also .gz, .zst, .bz2, .xz) or .parquet; "-" is standard output. Without it
        no rows are written.
    output_format : {"jsonl", "csv", "tsv", "parquet"}, optional
        The format of `output`, regardless of its name. Standard output and named pipes have that of
        the first input by default; for a file of one text, it is JSONL.
    defuse_formulas : bool, default False
        Write an apostrophe before each string in CSV and TSV outputs that a spreadsheet would run
        as a formula: those that begin with =, +, -, @, a tab or a line end, unless they are
        numbers.
    column, id_column : str
        The columns of the texts and of the rows' keys. Without `id_column` a key is ``PATH:LINE``.
    glob : str, optional
        Pattern of the files of a folder to read. By default its data files, or its .txt files if it
        has no data files.
    encoding : str, default "utf-8"
        The encoding of JSONL, CSV, TSV and texts; any that Python supports.
    format : {"jsonl", "csv", "tsv", "parquet", "arrow", "text", "lines"}, optional
        The format of the inputs, regardless of their names; "lines" is one text a line.
    max_row_bytes : int, default 2**28
        The largest size of a row of JSONL, CSV or TSV, or of a text, in bytes. A longer one is an
        error.
    delimiter : str, optional
        The character between the cells of CSV and TSV inputs: one ASCII character, or "tab". By
        default that of each file is detected in its first rows; `summary.delimiters` has those that
        are not the comma, or the tab of TSV.
    max_columns : int, default 1000
        The largest number of columns of a CSV, TSV or Parquet output of JSONL inputs. A row with a
        name that would be a further column is an error. In Parquet, names inside objects count too.
    kind : {"text", "set", "weighted", "vector", "code"}, optional
        What the column holds: by default strings are texts, lists of strings or integers are sets,
        objects and maps of numbers are weighted sets, lists of floats are vectors, and binary
        values of one size are codes.
    group_by, item, weight : str, optional
        Columns of groups, of items and of their weights: the items of the rows of a group are a
        set, with weights a weighted set, to which the weights of equal items add up. A group is
        kept or removed as a whole, and the tables have the groups as keys.
    radius : float, optional
        As for `dedup`.
    threshold, unit, size, stop_words, num_perm, scheme, recall, bands, rows_per_band : optional
    seed : optional
        As for `dedup`, with the same defaults. With `against` the defaults are those of the index,
        and a value that differs from the index raises an error.
    verify, groups, threads, exact, measure : optional
        As for `dedup`. With measure="containment", the columns of similarities are named
        containment, and `against` and `save_index` are errors; a run with `memory` needs
        exact=False then.
    ignore_common : float, optional
        As for `dedup`.
    max_candidates : int, optional
        As for `dedup`.
    by : str, optional
        A column of the inputs, such as a source or a language: `summary.by` says how many rows with
        each of its values were read and removed.
    max_removed : float, optional
        If a larger share of all good rows, in (0, 1], would be removed, or of the rows with a value
        of `by` that at least 20 rows have, the run raises `TooManyRemovedError`. Of its outputs,
        only the page of `html` is written.
    top, most : optional
        Which pairs are written to `pairs`, as for `lshfast.pairs`.
    keep : str, default "first"
        "first", "last", "longest" or "shortest", as for `dedup`; or "max:COLUMN" or "min:COLUMN":
        the row with the greatest or least value of a column; among equal values, the first row.
    annotate : bool, default False
        Write all rows to `output`, with the columns duplicate_of and similarity.
    pairs, removed : path, optional
        The files for the similar pairs (key_i, key_j, similarity) and for the removed rows (key,
        kept_key, similarity): .csv, .tsv, .jsonl (each also .gz, .zst, .bz2, .xz) or .parquet.
    html : path, optional
        The file for a page that shows what was removed and why: .html, without scripts, and nothing
        from elsewhere.
    html_texts : bool, default True
        Whether the page shows texts.
    html_column : str, optional
        The column that the page shows of rows instead of `column`, such as titles of vectors.
    against : path, optional
        An index of earlier rows. Rows similar to one of its entries are removed first.
    save_index : path, optional
        The file to which this index, or a new index without `against`, is written after adding the
        kept rows. If it is the file of `against`, they are added to it. Any other file that exists
        is an error, or is replaced with `overwrite`.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        How to treat a kept row whose key is already in the index.
    clusters : path, optional
        A file of groups with lasting ids, .parquet: key, cluster (int64) and first_seen, the number
        of the run in which the row was first seen. It is read, if it exists, and replaced by the
        groups after this run, whatever `overwrite` says. Groups keep the ids that their rows had
        before; see clusters.md. With `against`, the rows are new ones, and earlier rows stay;
        otherwise, they are all rows that there are, and others are removed. The run takes memory
        for all keys.
    changes : path, optional
        The file for a table of what has changed in these groups: id, change ("new", "joined",
        "merged", "split" or "removed"), old_id and key, one row for each row with a change. Files
        are those of `removed`.
    on_error : {"stop", "skip"}, default "stop"
        Stop at a bad row; or skip it and record it with the reason in ``OUTPUT.rejects.jsonl``.
    memory : int or str, optional
        The memory that the process may take, in bytes, or like "4G". Texts are not held then; what
        does not fit is in files of the work folder. The result is the same, but rows that are too
        long for the memory are bad rows. Not with `exact`, `save_index`, `on_duplicate` and
        `clusters`, and with measure="containment" only if `exact` is False.
    work : path, optional
        The work folder of a run with `memory`: a new or empty folder, which is removed after a run
        that ended well. By default a temporary folder.
    resume : bool, default False
        Go on with the run to which the work folder belongs, from the last stage that was complete.
        Its inputs and arguments must be the same, except for `threads`, `progress` and the paths of
        outputs.
    overwrite : bool, default False
        Replace existing outputs.
    dry_run : bool, default False
        Write nothing, even if outputs are given.
    progress : callable, optional
        Called regularly with (stage, done, total): bytes of the inputs in "read", "texts" (with
        `memory`) and "write", bytes of text in "sketch" (total None), rows in "verify" (pairs if
        `pairs` is given), bytes of the index in "save".

    Returns
    -------
    DedupResult
        Its `pairs` are the pairs from which the groups were formed; or, without `memory`, all
        similar pairs, if they are written to a file and come from at most 2**21 candidates.
        `summary.pairs` is their number in the file.

    Raises
    ------
    DataError
        If a row is bad or a file is damaged. The error names file, line and reason.
    ValueError, TypeError, OSError
        If an argument is invalid, or a file cannot be read or written.
    FormatError
        If the file of `clusters` is damaged, or not such a file.
    TooManyRemovedError
        If more would be removed than `max_removed`.

    Warns
    -----
    CrowdWarning, ShortTextsWarning, DecimalCodesWarning
        As for `dedup`.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.check : Measure what a deduplication finds and misses.
    lshfast.DedupResult : What a deduplication returns.
    lshfast.DataError : An error in the data, with file and line.
    lshfast.spark.dedup : Remove near-duplicate rows of a DataFrame of Spark.

    Examples
    --------
    >>> import lshfast, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> source, kept = folder / "in.csv", folder / "kept.csv"
    >>> source.write_text("id,text\\n0,a rose is a rose\\n1,A rose is a rose!\\n2,is it?\\n")
    56
    >>> result = lshfast.dedup_files(source, kept, id_column="id", size=2)
    >>> result.removed
    [Removal(key='1', kept_key='0', similarity=1.0)]
    >>> print(kept.read_text(), end="")
    id,text
    0,a rose is a rose
    2,is it?
    """
    options: dict[str, Any] = dict(
        threshold=threshold,
        unit=unit,
        size=size,
        stop_words=stop_words,
        num_perm=num_perm,
        scheme=scheme,
        recall=recall,
        bands=bands,
        rows_per_band=rows_per_band,
        seed=seed,
    )
    given = {name: value for name, value in options.items() if value is not None}
    others: dict[str, Any] = dict(
        verify=verify, groups=groups, threads=threads, exact=exact, measure=measure
    )
    others |= dict(ignore_common=ignore_common, top=top, most=most)
    check_listing(pairs, top, most)
    earlier, index = map(_path, (against, save_index))
    source = [
        os.fspath(path) for path in ([inputs] if isinstance(inputs, (str, os.PathLike)) else inputs)
    ]
    files = Inputs(
        source,
        column,
        id_column,
        glob,
        on_error,
        encoding,
        format,
        max_row_bytes,
        delimiter,
        max_columns,
        by,
        kind,
        group_by,
        item,
        weight,
    )
    outside = dict(
        radius=radius,
        against=against,
        save_index=save_index,
        on_duplicate=on_duplicate,
        memory=memory,
        resume=resume,
        max_candidates=max_candidates,
    )
    plan = plan_of_items(files, given, others, outside)
    outputs = Outputs(
        output_of(output, files, output_format, defuse_formulas),
        output_of(pairs, files, None, defuse_formulas),
        output_of(removed, files, None, defuse_formulas),
        annotate,
        overwrite,
        None if html is None else PageOutput(os.fspath(html), html_texts, column=html_column),
        max_removed,
        cluster_output(clusters, output_of(changes, files, None, defuse_formulas)),
    )
    result = run_files(
        files,
        outputs.dry if dry_run else outputs,
        plan,
        keep=keep,
        indexes=Indexes(earlier, index, on_duplicate, dry_run),
        cap=cap_of(memory, work, resume),
        progress=progress,
    )
    warn_of(result.summary.advice)
    warn_of_crowd(result.summary.limits)
    return result


def _path(path: FilePath | None) -> str | None:
    return None if path is None else os.fspath(path)

"""The main job over files as functions, with the arguments of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lshfast._common.choices import ItemMeasure, Kind, Split
from lshfast._common.progress import Progress
from lshfast._engine.account.report import DedupResult
from lshfast._engine.account.short_texts import warn_of
from lshfast._engine.executors.local.job import FileJob
from lshfast._engine.options.rules import options_of, takes_options
from lshfast._engine.pages.run_pages import page_output
from lshfast._engine.plan import Grouping, Keep
from lshfast._io.files import OnError
from lshfast.shingling import Unit

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lshfast._engine.options.types import FileOptions, FilePath, ParagraphOptions
    from lshfast._engine.paragraphs import ParagraphsSummary


@takes_options("dedup_files")
def dedup_files(
    inputs: FilePath | Iterable[FilePath],
    output: FilePath | None = None,
    *,
    column: str | Sequence[str] = "text",
    id_column: str | None = None,
    kind: Kind | None = None,
    threshold: float | None = None,
    unit: Unit | None = None,
    size: int | None = None,
    groups: Grouping = "star",
    keep: str = "first",
    pairs: FilePath | None = None,
    removed: FilePath | None = None,
    html: FilePath | None = None,
    against: FilePath | Sequence[FilePath] | None = None,
    save_index: FilePath | None = None,
    on_error: OnError = "stop",
    threads: int | None = None,
    exact: bool | None = None,
    measure: ItemMeasure | None = None,
    memory: int | str | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    **options: Unpack[FileOptions],
) -> DedupResult:
    """Find near-duplicate rows of files, and write the rows that are kept.

    The arguments are the options of ``lshfast dedup``, without ``--split`` (see
    `dedup_paragraphs`). Either all outputs are written completely or none. Texts are held
    in memory, unless `memory` is given; other columns are not. Parquet and Arrow require pyarrow
    (``pip install "lshfast[cli]"``).

    Parameters
    ----------
    inputs : path or iterable of paths
        Files (.jsonl, .csv, .tsv and .txt, each also .gz, .zst, .bz2 or .xz; .parquet, .arrow,
        .feather), folders, patterns and URLs, read in this order; "-" is standard input.
        docs/how-to/inputs.md says which files of a folder are read.
    output : path, optional
        The file for the rows that are kept, with all their columns and in their order: .jsonl,
        .csv, .tsv (each also .gz, .zst, .bz2, .xz) or .parquet; "-" is standard output. Without it
        no rows are written.
    column : str or sequence of str, default "text"
        The column of the texts. ``a.b`` is b inside the object or struct a, and ``a[].b`` is b
        inside each element of the list a, such as ``messages[].content``. The texts of several
        columns, and of the elements of lists, are joined with a line end; nulls are left out.
    id_column : str, optional
        The column of the rows' keys. Without it a key is ``PATH:LINE``.
    kind : {"text", "set", "weighted", "vector", "code"}, optional
        What the column holds: by default strings are texts, lists of strings or integers are sets,
        objects and maps of numbers are weighted sets, lists of floats are vectors, and binary
        values of one size are codes.
    threshold, unit, size : optional
        As for `dedup`, with the same defaults. With `against` the defaults are those of the index,
        and a value that differs from the index raises an error.
    groups, threads, exact, measure : optional
        As for `dedup`. With measure="containment", the columns of similarities are named
        containment, and `against` and `save_index` are errors; a run with `memory` needs
        exact=False then.
    keep : str, default "first"
        "first", "last", "longest" or "shortest", as for `dedup`; or "max:COLUMN" or "min:COLUMN":
        the row with the greatest or least value of a column; among equal values, the first row.
    pairs, removed : path, optional
        The files for the similar pairs (key_i, key_j, similarity) and for the removed rows (key,
        kept_key, similarity): .csv, .tsv, .jsonl (each also .gz, .zst, .bz2, .xz) or .parquet.
    html : path, optional
        The file for a page that shows what was removed and why: .html, without scripts, and nothing
        from elsewhere.
    against : path or sequence of paths, optional
        Earlier rows: the file of an index, files of their texts, which are read like the inputs, or
        both. Rows similar to one of them are removed first. An index alone is compared by
        estimates, which miss about half of the rows exactly at the threshold. With texts, pairs are
        verified exactly. If there is an index too, texts are those of its entries, by their ids;
        entries without texts are compared by estimates; a run with `memory` takes one or the other.
    save_index : path, optional
        The file to which this index, or a new index without `against`, is written after adding the
        kept rows. If it is the file of `against`, they are added to it. Any other file that exists
        is an error, or is replaced with `overwrite`.
    on_error : {"stop", "skip"}, default "stop"
        Stop at a bad row; or skip it and record it with the reason in ``OUTPUT.rejects.jsonl``.
    memory : int or str, optional
        The memory that the process may take, in bytes, or like "4G". Texts are not held then; what
        does not fit is in files of the work folder. The result is the same, but rows that are too
        long for the memory are bad rows. Not with `exact`, `save_index`, `on_duplicate` and
        `clusters`, and with measure="containment" only if `exact` is False.
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
    CrowdWarning, ShortTextsWarning, MixedFormsWarning, CodeTextsWarning, DecimalCodesWarning
        As for `dedup`.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.dedup_paragraphs : Remove near-duplicate paragraphs, lines or sentences of the rows.
    lshfast.check : Measure what a deduplication finds and misses.
    lshfast.DedupResult : What a deduplication returns.
    lshfast.DataError : An error in the data, with file and line.
    lshfast.spark.dedup : Remove near-duplicate rows of a DataFrame of Spark.

    Examples
    --------
    >>> import lshfast, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> source, kept = folder / "in.csv", folder / "kept.csv"
    >>> source.write_text(
    ...     "id,text\\n0,a rose is a rose\\n1,A rose is a rose!\\n2,is it?\\n"
    ... )
    56
    >>> result = lshfast.dedup_files(source, kept, id_column="id", size=2)
    >>> result.removed
    [Removal(key='1', kept_key='0', similarity=1.0)]
    >>> print(kept.read_text(), end="")
    id,text
    0,a rose is a rose
    2,is it?
    """
    record = options_of("dedup_files", locals(), options)
    page = page_output(record)
    job = FileJob.of_rows(_paths_of(inputs), record.with_(output=output), page)
    result = job.run(progress)
    summary = result.summary
    if summary.advice or summary.limited:
        warn_of(summary.advice, summary.limits if summary.limited else None)
    return result


@takes_options("dedup_paragraphs")
def dedup_paragraphs(
    inputs: FilePath | Iterable[FilePath],
    output: FilePath | None = None,
    *,
    split: Split = "paragraph",
    column: str | Sequence[str] = "text",
    id_column: str | None = None,
    threshold: float | None = None,
    unit: Unit | None = None,
    size: int | None = None,
    keep: Keep = "first",
    removed: FilePath | None = None,
    on_error: OnError = "stop",
    threads: int | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ParagraphOptions],
) -> ParagraphsSummary:
    r"""Remove near-duplicate paragraphs, lines or sentences of the rows of files.

    The arguments are the options of ``lshfast dedup --split``. Similar paragraphs are found within
    a row and between rows, as `dedup` finds similar texts; all but one of a group are removed, and
    the rest of each row is written. Either all outputs are written completely or none. The texts
    of the rows are read twice; the paragraphs are held in memory.

    Parameters
    ----------
    inputs : path or iterable of paths
        As for `dedup_files`.
    output : path, optional
        The file for the rows without what is removed, as for `dedup_files`. A row of which only
        paragraphs without words are left is not written; white space at the end of a row is
        stripped if its last paragraph is removed.
    split : {"paragraph", "line", "sentence"}, default "paragraph"
        What the texts are split into. A paragraph ends with one or more blank lines, a line with a
        line feed, a sentence at a boundary of Unicode (UAX #29).
    column : str or sequence of str, default "text"
        The column of the texts.
    id_column : str, optional
        The column of the rows' keys. Without it a key is ``PATH:LINE``.
    threshold, unit, size, threads : optional
        As for `dedup`, with the same defaults, for paragraphs in the place of texts.
    keep : {"first", "last", "longest", "shortest"}, default "first"
        Which paragraph of a group is kept.
    removed : path, optional
        The file for the removed paragraphs: key of the row, number of the paragraph in it (from 0),
        and both of the paragraph that is kept in its place (key, paragraph, kept_key,
        kept_paragraph, similarity; the second and the fourth have the name of `split`).
    on_error : {"stop", "skip"}, default "stop"
        Stop at a bad row; or skip it and record it with the reason in ``OUTPUT.rejects.jsonl``.
    overwrite : bool, default False
        Replace existing outputs.
    dry_run : bool, default False
        Write nothing, even if outputs are given.
    progress : callable, optional
        As for `dedup_files`; "verify" counts paragraphs.

    Returns
    -------
    ParagraphsSummary
        The figures of the rows, and those of the paragraphs in `paragraphs`.

    Raises
    ------
    DataError
        If a row is bad or a file is damaged. The error names file, line and reason.
    ValueError, TypeError, OSError
        If an argument is invalid, or a file cannot be read or written.

    Warns
    -----
    CrowdWarning, ShortTextsWarning, MixedFormsWarning, CodeTextsWarning
        As for `dedup`.

    See Also
    --------
    lshfast.dedup_files : Remove near-duplicate rows of files.
    lshfast.passages.find : Find the passages that texts share, of any length and at any place.

    Examples
    --------
    >>> import lshfast, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> source, kept = folder / "in.csv", folder / "kept.csv"
    >>> source.write_text(
    ...     "id,text\n0,It rains. Subscribe to us!\n1,Subscribe to us! It snows.\n"
    ... )
    66
    >>> summary = lshfast.dedup_paragraphs(source, kept, split="sentence", size=2)
    >>> summary.kept, summary.shortened, summary.paragraphs.removed
    (2, 1, 1)
    >>> print(kept.read_text(), end="")
    id,text
    0,It rains. Subscribe to us!
    1,It snows.
    """
    record = options_of("dedup_paragraphs", locals(), options)
    job = FileJob.of_rows(_paths_of(inputs), record.with_(output=output))
    summary = job.run_paragraphs(split, progress)
    paragraphs = summary.paragraphs
    if summary.advice or paragraphs.limited:
        warn_of(summary.advice, paragraphs.limits if paragraphs.limited else None)
    return summary


def _paths_of(inputs: FilePath | Iterable[FilePath]) -> list[str]:
    """Return the inputs as a list of strings."""
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    return [os.fspath(path) for path in paths]

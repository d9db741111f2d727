"""The options that functions take as ``**options``, for type checkers and editors.

Written by tests/make_option_types.py from the declaration: do not edit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypedDict

from lshfast._common.checks import Seed
from lshfast._common.choices import (
    Format,
    Grouping,
    ItemMeasure,
    Kind,
    NormalForm,
    OnDuplicate,
    OutputFormat,
    Scheme,
    Unit,
    Verify,
)

FilePath: TypeAlias = str | os.PathLike[str]


class DedupOptions(TypedDict, total=False):
    """Options of `lshfast.dedup` that it does not write out."""

    radius: float | None
    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    ignore_common: float | None
    max_candidates: int | None
    by: Any
    exact_key: Any
    max_removed: float | None
    seed: Seed | None


class PairOptions(TypedDict, total=False):
    """Options of `lshfast.pairs` that it does not write out."""

    radius: float | None
    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    ignore_common: float | None
    max_candidates: int | None
    top: int | None
    most: float | None
    seed: Seed | None


class SampleOptions(TypedDict, total=False):
    """Options of `lshfast.check` that it does not write out."""

    radius: float | None
    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    ignore_common: float | None
    seed: Seed | None


class FileOptions(TypedDict, total=False):
    """Options of `lshfast.dedup_files` that it does not write out."""

    output_format: OutputFormat | None
    defuse_formulas: bool | None
    glob: str | None
    encoding: str | None
    format: Format | None
    max_row_bytes: int | None
    zstd_window: int | str | None
    delimiter: str | None
    max_columns: int | None
    group_by: str | None
    item: str | None
    weight: str | None
    radius: float | None
    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    ignore_common: float | None
    max_candidates: int | None
    by: str | None
    exact_key: str | None
    max_removed: float | None
    annotate: bool | None
    top: int | None
    most: float | None
    html_texts: bool | None
    html_column: str | None
    against_column: str | Sequence[str] | None
    against_id_column: str | None
    on_duplicate: OnDuplicate | None
    clusters: FilePath | None
    changes: FilePath | None
    work: FilePath | None
    resume: bool | None
    seed: Seed | None


class ParagraphOptions(TypedDict, total=False):
    """Options of `lshfast.dedup_paragraphs` that it does not write out."""

    output_format: OutputFormat | None
    defuse_formulas: bool | None
    glob: str | None
    encoding: str | None
    format: Format | None
    max_row_bytes: int | None
    zstd_window: int | str | None
    delimiter: str | None
    max_columns: int | None
    kind: Kind | None
    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    exact: bool | None
    measure: ItemMeasure | None
    ignore_common: float | None
    groups: Grouping | None
    seed: Seed | None


class StageOptions(TypedDict, total=False):
    """Options of `lshfast.stages.plan` that it does not write out."""

    output_format: OutputFormat | None
    defuse_formulas: bool | None
    glob: str | None
    encoding: str | None
    format: Format | None
    max_row_bytes: int | None
    zstd_window: int | str | None
    delimiter: str | None
    max_columns: int | None
    kind: Kind | None
    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    ignore_common: float | None
    by: str | None
    max_removed: float | None
    annotate: bool | None
    top: int | None
    most: float | None
    against: FilePath | Sequence[FilePath] | None
    against_column: str | Sequence[str] | None
    against_id_column: str | None
    seed: Seed | None


class SparkDedupOptions(TypedDict, total=False):
    """Options of `lshfast.spark.dedup` that it does not write out."""

    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    ignore_common: float | None
    by: str | None
    exact_key: str | None
    max_removed: float | None
    against_column: str | Sequence[str] | None
    against_id_column: str | None
    seed: Seed | None


class SparkPairOptions(TypedDict, total=False):
    """Options of `lshfast.spark.pairs` that it does not write out."""

    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    ignore_common: float | None
    top: int | None
    most: float | None
    seed: Seed | None


class SparkSampleOptions(TypedDict, total=False):
    """Options of `lshfast.spark.check` that it does not write out."""

    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    measure: ItemMeasure | None
    seed: Seed | None


class PlanOptions(TypedDict, total=False):
    """Options of `make_plan`."""

    threshold: float | None
    unit: Unit | None
    size: int | None
    stop_words: str | Iterable[str] | None
    normalize: NormalForm | None
    num_perm: int | None
    scheme: Scheme | None
    recall: float | None
    bands: int | None
    rows_per_band: int | None
    verify: Verify | None
    exact: bool | None
    measure: ItemMeasure | None
    ignore_common: float | None
    groups: Grouping | None
    top: int | None
    most: float | None
    threads: int | None
    seed: Seed | None

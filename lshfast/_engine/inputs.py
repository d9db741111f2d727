"""The rows of a run over files, as batches of texts; errors name files and lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, get_args, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.choices import Kind
from lshfast._common.column_paths import (
    EACH,
    ColumnNames,
    checked_columns,
    names_of,
    shown_columns,
)
from lshfast._common.lazy import LazyModule
from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array
from lshfast._engine.options.declaration import Options
from lshfast._engine.plan import AnyPlan, Keep, Plan
from lshfast._io import Corpus, DataError, Output, OutputFormat, open_corpus
from lshfast._io.advice import advising
from lshfast._io.batches import Batch
from lshfast._io.files import (
    MAX_COLUMNS,
    MAX_ROW_BYTES,
    File,
    Format,
    Layout,
    OnError,
    file_format,
)
from lshfast._io.jsonl import first_value
from lshfast._io.listing import list_files
from lshfast._io.notes import notes_of_files
from lshfast._io.sources import Source
from lshfast._io.stored_texts import ReadTexts
from lshfast._io.string_file import StringFile
from lshfast._items.kind import (
    ambiguous,
    check_kind,
    choice_of_kind,
    decoded_lists,
    kind_of_arrow,
    kind_of_value,
)
from lshfast._items.sets import SET_BYTES
from lshfast.kernels.checksum import checksum
from lshfast.kernels.text import TextError, Texts

if TYPE_CHECKING:
    from lshfast._io import parquet
    from lshfast._io.whole_tables import WholeTable
    from lshfast._items.items import PointReader
    from lshfast._items.sets import SetReader
    from lshfast._items.weighted import SignatureReader, WeightedReader
    from lshfast.index.neighbors.points import PointFormat
    from lshfast.sketch.weighted import WeightedMinHasher

    AnyReader: TypeAlias = PointReader | WeightedReader | SignatureReader | SetReader
else:
    parquet = LazyModule("lshfast._io.parquet")

SAMPLE_BYTES = 16 << 20  # of text that `Inputs.sample` reads

# Bytes at the beginning and at the end of an input whose checksum the manifest of a run holds.
END_BYTES = 1 << 20


# The options of reading that a `Layout` has; the kind follows from the content too.
OF_LAYOUT = {field.name for field in fields(Layout)} - {"kind"}


@dataclass(frozen=True)
class Inputs:
    """The inputs and the options of reading; see `lshfast._io.open_corpus`."""

    paths: Sequence[str]
    column: ColumnNames = "text"
    id_column: str | None = None
    glob: str | None = None
    on_error: OnError = "stop"
    encoding: str = "utf-8"
    format: Format | None = None
    max_row_bytes: int = MAX_ROW_BYTES
    delimiter: str | None = None
    max_columns: int = MAX_COLUMNS
    zstd_window: int | str | None = None
    by: str | None = None
    exact_key: str | None = None
    kind: Kind | None = None
    group_by: str | None = None
    item: str | None = None
    weight: str | None = None
    # For the next corpus.
    listed: list[File] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", checked_columns(self.column))

    @classmethod
    def of(cls, paths: Sequence[str], options: Options) -> Inputs:
        """Return the inputs with the options of reading that are among some options."""
        names = {field.name for field in fields(cls)} - {"paths", "listed"}
        return cls(paths, **options.picked(names))

    @property
    def _layout(self) -> dict[str, Any]:
        """The options of reading that are fields of a `Layout`."""
        names = (field.name for field in fields(self))
        return {name: getattr(self, name) for name in names if name in OF_LAYOUT}

    def open(self, **corpus_options: Any) -> Corpus:
        """List the inputs as a corpus; `corpus_options` are further arguments of `open_corpus`."""
        files = self.listed.copy()
        self.listed.clear()
        options = self._layout | corpus_options
        return open_corpus(self.paths, **options, files=files or None)

    def list_files(self) -> list[File]:
        """Return the files of the inputs; they are listed once, also for the next corpus."""
        if not self.listed:
            self.listed[:] = list_files(self.paths, Layout(**self._layout))
        return self.listed

    def read_whole(self, progress: Progress | None = None) -> WholeTable:
        """Read all columns of all rows; `progress` gets ("input", bytes read, total bytes)."""
        from lshfast._io.whole_tables import read_whole

        report = None if progress is None else partial(progress, "input")
        return read_whole(self.paths, progress=report, **self._layout)

    def table(self, options: Mapping[str, Any], name: str = "output") -> Any:
        """Return the table that an option names, None for none; the main one has a format."""
        kind = options["output_format"] if name == "output" else None
        return output_of(options[name], self, kind, options["defuse_formulas"])

    def open_kind(
        self,
        plan: AnyPlan,
        *,
        format: PointFormat | WeightedMinHasher | None = None,
        indexed: bool = False,
        **corpus_options: Any,
    ) -> tuple[Corpus, AnyReader | None]:
        """List the inputs as a corpus of the items of a plan.

        For points, also return the reader of their format; all of them must have the `format`, if
        one is given. If the run has an index, `indexed`, elements of weighted sets are hashed under
        the seed of the plan.
        """
        reader = plan.reader(format, indexed)
        if reader is None:
            return self.open(**corpus_options), None
        how: dict[str, Any] = {
            "kind": plan.kind,
            "convert": reader.read,
            "advice": lambda: reader.advice,
        }
        if reader.batch_bytes is not None:
            how["batch_bytes"] = reader.batch_bytes
        corpus = self.open(**how | corpus_options)
        if plan.kind == "code":
            from lshfast._io.hash_lists import hash_of_lists

            cast("PointReader", reader).image_hash = hash_of_lists(corpus.files)
        return corpus, reader

    def kind_of_items(self) -> Kind:
        """Return the kind of the items: the user's choice, or by the content of the column.

        Raises
        ------
        DataError
            If several kinds can have the type.
        """
        self._check_kind()
        if self.group_by is not None:
            return "set" if self.weight is None else "weighted"
        if self.kind == "set":
            return "weighted" if self._has_weights() else "set"
        if self.kind is not None:
            return self.kind
        if not isinstance(self.column, str):
            return "text"
        # The run raises it again, after its options were checked.
        with suppress(DataError, OSError, MemoryError):
            for file in self.list_files()[:1]:
                if file.format == "jsonl":
                    kind = kind_of_value(first_value(file)) or "text"
                    return self._kind_at_path(kind)
        for file in self.listed[:1]:
            if file.columnar:
                with advising(file):
                    (column,) = names_of(self.column)
                    type_of_column = parquet.type_of(
                        file, parquet.schema_of(file), column
                    )
                    return self._kind_at_path(_kind_of_type(file, type_of_column))
        return "text"

    def _kind_at_path(self, kind: Kind) -> Kind:
        """Return the kind of a column; the strings at a path into lists are joined to a text."""
        is_joined = EACH in self.column and kind == "set"
        return "text" if is_joined and self._holds_strings() else kind

    def _holds_strings(self) -> bool:
        """Return whether the values of a column of the first file are lists of strings."""
        for file in self.listed[:1]:
            if file.columnar:
                schema = parquet.schema_of(file)
                if self.column in schema.names:
                    return False
                value_type = parquet.type_of(
                    file, schema, names_of(self.column)[0]
                ).value_type
                return kind_of_arrow(value_type) == "text"
            value = first_value(file)
            return isinstance(value, list) and isinstance(value[0], str)
        return False

    def _check_kind(self) -> None:
        """Raise ValueError if the kind that the user names contradicts other options."""
        if not isinstance(self.column, str) and self.kind not in (None, "text"):
            raise ValueError(
                f"column must be one column for kind={self.kind!r} (--as {self.kind}), not "
                f"{shown_columns(self.column)}: several columns are joined to a text"
            )
        if self.group_by is not None:
            if self.kind not in (None, "set"):
                raise ValueError(f"kind must be 'set' with group_by, not {self.kind!r}")
            return
        for name in ("item", "weight"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} needs group_by (--group-by), the column of the groups"
                )
        if self.kind is not None:
            check_kind(self.kind)

    def _has_weights(self) -> bool:
        """Return whether the sets of the column are weighted, by its type or its first set."""
        with suppress(DataError, OSError, MemoryError):
            for file in self.list_files()[:1]:
                if file.columnar:
                    (column,) = names_of(self.column)
                    kind = kind_of_arrow(
                        parquet.type_of(file, parquet.schema_of(file), column)
                    )
                    if kind != "text":
                        return kind == "weighted"
                values = (
                    iter([first_value(file)])
                    if file.format == "jsonl"
                    else self._first_cells()
                )
                first = next((item for item in decoded_lists(values) if item), None)
                return isinstance(first, dict)
        return False

    def _first_cells(self) -> Iterator[str]:
        """Yield the values of a column of strings, from the first ones on."""
        corpus = self.open(kind="set", batch_bytes=SET_BYTES)
        self.listed[:] = corpus.files  # standard input cannot be listed again
        for batch in corpus.batches():
            yield from batch.strings()

    def sample(self, plan: Plan | None = None) -> Corpus:
        """List the inputs as a corpus for `measure_inputs` and `lengths_of_inputs`.

        The plan says what the items are, by default texts. The values of `by` of these rows are
        known after `measure_inputs`.
        """
        source = replace(self, id_column=None)
        if plan is None:
            return source.open(batch_bytes=SAMPLE_BYTES)
        reader = plan.reader()
        batch_bytes = SAMPLE_BYTES if reader is None else reader.batch_bytes
        return source.open_kind(plan, batch_bytes=batch_bytes)[0]


def _kind_of_type(file: File, arrow_type: Any) -> Kind:
    kind = kind_of_arrow(arrow_type)
    if kind is None and ambiguous(arrow_type):
        raise file.fault(
            None,
            choice_of_kind(
                f"column {file.layout.column_name!r} is {arrow_type}",
                ambiguous(arrow_type),
                "--as",
            ),
        )
    return kind or "text"


# The formats of outputs for inputs of each format; texts and lines are written as JSONL.
_WRITTEN_AS: dict[Format | None, OutputFormat] = {
    "jsonl": "jsonl",
    "csv": "csv",
    "tsv": "tsv",
    "parquet": "parquet",
    "arrow": "parquet",
    "npy": "parquet",
}


@overload
def output_of(
    path: str, inputs: Inputs, kind: OutputFormat | None = None, defuse: bool = False
) -> Output: ...
@overload
def output_of(
    path: str | os.PathLike[str] | None,
    inputs: Inputs,
    kind: OutputFormat | None = None,
    defuse: bool = False,
) -> Output | None: ...
def output_of(
    path: str | os.PathLike[str] | None,
    inputs: Inputs,
    kind: OutputFormat | None = None,
    defuse: bool = False,
) -> Output | None:
    """Return an output with its options; a pipe has the format of the first input by default."""
    if path is None:
        return None
    output = Output(os.fspath(path), kind, defuse)
    if kind is None and output.is_stream and file_format(output) is None:
        output.kind = _WRITTEN_AS.get(_first_format(inputs), "jsonl")
    return output


def _first_format(inputs: Inputs) -> Format | None:
    """Return the format of the first input, by its name or else by its content; None if unknown."""
    if inputs.format is not None or not inputs.paths:
        return inputs.format
    format_and_codec = file_format(inputs.paths[0])
    if format_and_codec is not None:
        return format_and_codec[0]
    first_input = replace(inputs, paths=inputs.paths[:1], listed=[])
    return first_input.list_files()[0].format


class ReadableRows(Protocol):
    """Rows of texts, or of items as texts, that are read twice: a `Corpus`, or several."""

    @property
    def total_bytes(self) -> int: ...
    def batches(self) -> Iterator[Batch]: ...
    def texts_of(self, rows: Int64Array) -> Iterator[tuple[Int64Array, Any, int]]: ...
    def fault(self, row: int, reason: str) -> DataError: ...


def text_batches(
    corpus: ReadableRows, progress: Progress | None = None
) -> Iterator[Texts]:
    """Read a corpus of texts once; `progress` gets ("read", bytes read, total bytes)."""
    for batch in _batches(corpus, progress):
        texts = Texts(batch.texts)
        yield texts if batch.places is None else ReadTexts(texts, batch.places)


def item_batches(corpus: Corpus, progress: Progress | None = None) -> Iterator[Any]:
    """Read a corpus once, as `text_batches` does, and yield what its values were converted to."""
    return (batch.texts for batch in _batches(corpus, progress) if len(batch.texts))


def _batches(corpus: ReadableRows, progress: Progress | None) -> Iterator[Batch]:
    bytes_done = 0
    for batch in corpus.batches():
        yield batch
        bytes_done += batch.source_bytes
        if progress:
            progress("read", bytes_done, corpus.total_bytes)


def measure_inputs(corpus: Corpus) -> tuple[int, int]:
    """Estimate the rows and bytes of `Inputs.sample` by its first megabytes."""
    first = next(corpus.batches(), None)
    if first is None or first.source_bytes == 0:
        return 0, 0
    column = Texts(first.texts) if corpus.layout.kind == "text" else first.texts
    scale = corpus.total_bytes / first.source_bytes
    return round(len(column) * scale), round(int(np.sum(column.nbytes)) * scale)


class ReadFiles(Protocol):
    """Inputs that were read."""

    @property
    def files(self) -> Sequence[object]:
        """All input files."""
        ...


def input_notes(*sources: ReadFiles) -> dict[str, Any]:
    """Return the attributes of an account about inputs: `delimiters`, `unread` and `lines`.

    It has also `advice`, if there is some about the values that were read.
    """
    files = [
        file for source in sources for file in source.files if isinstance(file, File)
    ]
    advice = dict.fromkeys(
        source.advice
        for source in sources
        if isinstance(source, Corpus) and source.advice
    )
    notes = notes_of_files(files)
    if advice:
        notes["advice"] = "; ".join(advice)
    return notes


@contextmanager
def faults_of(corpus: ReadableRows) -> Iterator[None]:
    """Convert the error of a text that cannot be shingled to an error with its file and line."""
    try:
        yield
    except TextError as error:
        raise corpus.fault(error.row, error.reason) from None


def texts_again(
    corpus: ReadableRows,
    rows: Int64Array,
    nbytes: Int64Array,
    progress: Progress | None = None,
) -> Iterator[tuple[Int64Array, Texts]]:
    """Read the texts of some rows again, and check that their lengths are still `nbytes`.

    Yields some of the rows and their texts. `progress` is called with ("texts", bytes of input
    read, total bytes).
    """
    bytes_done = 0
    for batch_rows, batch, source_bytes in corpus.texts_of(rows):
        texts = Texts(batch)
        changed = np.flatnonzero(texts.lengths != nbytes[batch_rows])
        if len(changed):
            raise corpus.fault(
                int(batch_rows[changed[0]]), "the text has changed while it was in use"
            )
        yield batch_rows, texts
        bytes_done += source_bytes
        if progress:
            progress("texts", bytes_done, corpus.total_bytes)


def policy_of(keep: str) -> tuple[str, str | None]:
    """Return the policy of a value of `keep`, and the column that max and min compare."""
    policy, _, column = keep.partition(":")
    if bool(column) != (policy in ("max", "min")) or policy not in (
        *get_args(Keep),
        "max",
        "min",
    ):
        raise ValueError(
            f"keep must be {', '.join(get_args(Keep))}, max:COLUMN or min:COLUMN, not {keep!r}"
        )
    return policy, column or None


def order_ranks(corpus: Corpus, keep: str) -> Int64Array:
    """Return a value for each row by which max:COLUMN or min:COLUMN prefers rows."""
    return ranks_of(corpus.order, keep)


def ranks_of(
    values: npt.NDArray[Any] | list[str] | StringFile | None, keep: str
) -> Int64Array:
    """Return ranks by which max:COLUMN or min:COLUMN prefers rows with these values."""
    if isinstance(values, StringFile):
        ranks = values.ranks()
    elif isinstance(
        values, list
    ):  # an array of strings would take the length of the longest one for each
        rank_of = {value: rank for rank, value in enumerate(sorted(set(values)))}
        ranks = np.fromiter(map(rank_of.__getitem__, values), np.int64, len(values))
    else:
        _, ranks = np.unique(np.asarray(values), return_inverse=True)
    return (ranks if keep.startswith("max") else -ranks).astype(np.int64)


def state_of(file: File) -> list[Any]:
    """Return the size, the version and the checksum of both ends of an input."""
    try:
        return [file.size, str(file.version), checksum_of_ends(file.source, file.size)]
    except OSError as error:
        raise file.fault(None, f"cannot be read: {error.strerror or error}") from error


def checksum_of_ends(source: Source, size: int) -> int:
    """Return the checksum of the first and the last END_BYTES of a file."""
    with closing(source.open()) as stream:
        head = stream.read(END_BYTES)
        stream.seek(max(0, size - END_BYTES))
        return checksum(head, stream.read(END_BYTES))

"""The indexes of a run over files: opened, compared with, and written at the end.

The file of an index keeps its old state until the end: a run that ends early changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from lshfast._common.checks import INT64_RANGE
from lshfast._common.choices import Kind
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.visible import printable
from lshfast._engine.indexes.plan_of_index import check_same_run, plan_of_index
from lshfast._engine.inputs import Inputs, checksum_of_ends
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.rules import NAMES_OF_PLAN, refuse, refuse_for_kind
from lshfast._engine.plan import ONLY_OF_POINTS, AnyPlan, Plan, plan_for
from lshfast._io import Corpus
from lshfast._io.cells import CellType
from lshfast._io.files import Format, file_format
from lshfast._io.keys import id_of
from lshfast._io.sources import LocalFile, RemoteFile, remote_errors, source_of
from lshfast.kernels.text import Texts

if TYPE_CHECKING:
    from lshfast.families.sets import WeightedMinHashFamily
    from lshfast.index.keys import Column
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.stores.values import OnDuplicate

KINDS: dict[str | None, str] = {"int": "integers", "uint": "integers", "str": "strings"}

# Arrow's names for the types of keys; the kind of an index without keys is None.
ARROW_KINDS = {"int": "int64", "uint": "uint64", "str": "string", None: "string"}

# The types of cells that are keys of an index of integers; whole doubles are integers.
TYPES_OF_INTEGERS = [
    CellType(kind, "an index") for kind in ("int64", "uint64", "double")
]

# What indexes of points hold; the others hold signatures.
POINTS = ("vector", "code")

# The number of rows inserted at a time.
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Indexes:
    """The indexes of a run over files.

    Attributes
    ----------
    against : path, optional
        The index of earlier rows with which the rows of the run are compared.
    save : path, optional
        The file to which this index, or a new index without `against`, is written after adding the
        kept rows: the same file, or another.
    on_duplicate : {"error", "skip", "replace"}
        How to treat a kept row whose key is in the index: raise DataError, do not add it, or
        replace the entry.
    dry : bool
        Perform all steps that can fail before an index is written, but do not write it.
    texts : Inputs, optional
        The files of earlier rows: of the entries of `against`, or without an index of all with
        which the rows of the run are compared.
    """

    against: str | None = None
    save: str | None = None
    on_duplicate: OnDuplicate = "error"
    dry: bool = False
    texts: Inputs | None = None

    @classmethod
    def of(cls, inputs: Inputs, options: Options) -> Indexes:
        """Return the indexes that options name, with the files of earlier rows among them.

        Raises
        ------
        ValueError
            If several indexes are named to be compared with, or an index is to be saved with
            files of earlier rows alone.
        """
        places = against_of(options, inputs)
        save = options.save_index
        indexes = cls(
            places.index,
            None if save is None else os.fspath(save),
            options.on_duplicate,
            options.dry_run,
            places.texts,
        )
        if indexes.save is not None and places.texts is not None and not places.index:
            raise ValueError(
                "save_index (--save-index) adds rows to an index, and against (--against) names "
                "only files of texts: name their index too (`lshfast index build` makes one)"
            )
        return indexes

    @property
    def compares(self) -> bool:
        """Whether rows are compared with earlier ones."""
        return self.against is not None or self.texts is not None

    @property
    def needed(self) -> bool:
        """Whether a run is compared with an index, or writes one."""
        return self.against is not None or self.save is not None

    @property
    def in_place(self) -> bool:
        """Whether the index of earlier rows is itself changed."""
        if self.against is None or self.save is None:
            return False
        return os.path.realpath(self.against) == os.path.realpath(self.save)

    @property
    def changes_folder(self) -> bool:
        """Whether the index of earlier rows is a folder of shards, and is itself changed."""
        return self.in_place and os.path.isdir(str(self.save))

    @property
    def mode_of_points(self) -> Literal["r+", "c"]:
        """The mode of indexes of points and weighted sets, whose files are written as a whole."""
        return "r+" if self.changes_folder and not self.dry else "c"

    def change(self) -> str:
        """Describe what saving does with the files; call this before the index is saved."""
        if self.save is None:
            return ""
        path = printable(self.save)
        if self.dry:
            return f"kept rows that are not saved: {path} is as it was"
        if self.in_place:
            return f"kept rows that are new in {path}, or replaced its entries"
        replaced = ", which replaced the file" if os.path.exists(self.save) else ""
        if self.against is None:
            return f"kept rows in the new index {path}{replaced}"
        return (
            f"kept rows added to the entries of {printable(self.against)} in the new index "
            f"{path}{replaced}"
        )

    def state(self) -> list[Any]:
        """Return size, version and checksum of both ends of the index of earlier rows."""
        assert self.against is not None
        states = list[Any]()
        for source in _sources_at(self.against):
            size, version = source.state()
            states += [size, str(version), checksum_of_ends(source, size)]
        return states

    @contextmanager
    def opened(self, plan: Plan) -> Iterator[LSHIndex | None]:
        """Open the index of earlier rows, or create a new index; nothing is written at the end."""
        if self.against is None:
            yield None if self.save is None else new_index(plan, self.on_duplicate)
            return
        mode: Literal["r+", "c"] = "r+" if self.in_place and not self.dry else "c"
        with opened_index(self.against, mode, self.on_duplicate) as index:
            with naming(self.against):
                check_same_run(index.parameters, plan)
            yield index

    @property
    def name(self) -> str:
        """The name of the index in messages."""
        return str(self.against or self.save)

    def checked(
        self, index: LSHIndex, corpus: Corpus, batches: Iterable[Texts]
    ) -> Iterator[Texts]:
        """Yield batches; check after the first that ids and keys of the index have one type."""
        unchecked = self.save is not None
        for batch in batches:
            if unchecked and corpus.accepted:
                entry_key(index.key_kind, self.name, corpus, 0)
                unchecked = False
            yield batch

    def add(
        self, index: LSHIndex, corpus: Corpus, rows: Int64Array, signatures: UInt64Array
    ) -> int:
        """Insert rows of a corpus, and return the number of entries that are new or replaced."""
        parts = (
            rows[start : start + BATCH_ROWS]
            for start in range(0, len(rows), BATCH_ROWS)
        )
        return sum(
            add_rows(index, self.name, corpus, part, signatures[part]) for part in parts
        )


@dataclass(frozen=True)
class Against:
    """What a run over files is compared with: an index, files of texts, both or neither."""

    index: str | None
    texts: Inputs | None


# The options that name columns of earlier files, by the fields of `Inputs`.
COLUMNS_OF_EARLIER_FILES = {
    "column": "against_column",
    "id_column": "against_id_column",
}


def against_of(options: Mapping[str, Any], inputs: Inputs) -> Against:
    """Return the index and the files of earlier rows that options name.

    Files are read with the options of the inputs, except those that name columns of earlier files.
    A path is one of texts if it is a pattern or a folder, or its name says so, and it is no index.

    Raises
    ------
    ValueError
        If there are several indexes, or columns of earlier files without such files.
    """
    against = options.get("against")
    if against is None:
        columns_of_earlier(options, False)
        return Against(None, None)
    if isinstance(against, (str, os.PathLike)):
        against = [against]
    paths = [os.fspath(path) for path in against]
    texts = [path for path in paths if _has_texts(path, inputs.format)]
    indexes = [path for path in paths if path not in texts]
    check_one_index(indexes)
    files = None
    columns = columns_of_earlier(options, bool(texts))
    if texts:
        files = replace(inputs, paths=texts, by=None, exact_key=None, listed=[])
        files = replace(files, **columns)
    return Against(indexes[0] if indexes else None, files)


def check_one_index(paths: Sequence[str]) -> None:
    """Raise ValueError if a run is to be compared with several indexes."""
    if len(paths) > 1:
        raise ValueError(
            f"against must name one index, not {', '.join(map(printable, paths))}: "
            "`lshfast index merge` makes one of several"
        )


def columns_of_earlier(options: Mapping[str, Any], are_rows: bool) -> dict[str, Any]:
    """Return the columns of earlier rows that options name, by the fields of `Inputs`.

    Raises
    ------
    ValueError
        If there are some, and no such rows.
    """
    columns = {
        field: options[name]
        for field, name in COLUMNS_OF_EARLIER_FILES.items()
        if options.get(name) is not None
    }
    if columns and not are_rows:
        name = COLUMNS_OF_EARLIER_FILES[next(iter(columns))]
        raise ValueError(
            f"{name} names a column of earlier files, and against (--against) names none"
        )
    return columns


def _has_texts(path: str, format: Format | None) -> bool:
    """Return whether a path names files of texts, and not an index."""
    from lshfast.index.index_file import is_index

    if path == "-":
        return True
    if is_index(path):
        return False
    if format is not None or file_format(path) is not None or os.path.isdir(path):
        return True
    return any(sign in path for sign in "*?[")


def refuse_index_with_texts(places: Against, way: str) -> None:
    """Raise ValueError for an index with the texts of its entries, if a run holds no rows."""
    if places.texts is not None and places.index is not None:
        raise ValueError(
            f"against: an index with the texts of its entries is for runs in memory, not for {way}:"
            f" name the texts alone ({printable(places.texts.paths[0])}), which are compared "
            "exactly too, or the index alone"
        )


def _is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith(".")


def _sources_at(place: str) -> Sequence[LocalFile | RemoteFile]:
    """Return the file of an index, or the files in a folder of shards, at a path or URL."""
    source = source_of(place)
    if isinstance(source, RemoteFile):
        with remote_errors():
            paths = sorted(source.system.find(source.path, maxdepth=1))
        visible_paths = [path for path in paths if not _is_hidden(path)]
        return [RemoteFile(source.system, path) for path in visible_paths] or [source]
    if not os.path.isdir(place):
        return [source]
    names = [name for name in sorted(os.listdir(place)) if not _is_hidden(name)]
    return [LocalFile(os.path.join(place, name)) for name in names]


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add the file name of an index to a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


# The options that an index stores.
OF_INDEX = (
    "threshold",
    "unit",
    "size",
    "stop_words",
    "normalize",
    "num_perm",
    "scheme",
    "recall",
    "bands",
    "rows_per_band",
    "seed",
)


def plan_of_items(
    inputs: Inputs, options: Mapping[str, Any], given_names: Collection[str] = ()
) -> AnyPlan:
    """Return the plan of a run over files; the kind of the items follows from the column.

    Parameters
    ----------
    inputs : Inputs
    options : mapping of str
        The options of the run.
    given_names : collection of str
        Those that the user has set; with an index, the others have its values.
    """
    if options.get("memory") is not None:
        groups = ("group_by", "item", "weight")
        refuse("cap", [name for name in groups if getattr(inputs, name) is not None])
    kind = inputs.kind_of_items()
    refuse_for_kind(kind, options)
    against = against_of(options, inputs).index
    plan_options = {
        name: value for name, value in options.items() if name in NAMES_OF_PLAN
    }
    of_index = {name: plan_options[name] for name in OF_INDEX if name in given_names}
    if against is not None and kind in ("text", "set"):
        run_options = {
            name: value
            for name, value in plan_options.items()
            if name not in (*OF_INDEX, *ONLY_OF_POINTS)
        }
        return plan_against(against, of_index, kind=kind, **run_options)
    if against is not None and kind == "weighted":
        plan_options |= options_against(against, of_index)
    return plan_for(kind, plan_options)


def plan_against(
    path: str, user_options: dict[str, Any], *, kind: Kind = "text", **run_options: Any
) -> Plan:
    """Return the plan of a run that is compared with the index in a file; see `plan_of_index`."""
    with opened_index(path) as index, naming(path):
        return plan_of_index(index.parameters, user_options, kind=kind, **run_options)


def options_against(path: str, user_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run over weighted sets against the index in a file.

    It has the seed of the index and, if the user gives none, its threshold.

    Raises
    ------
    ValueError
        If the user has set another seed, or it is an index of other items.
    """
    with opened_weighted(path) as index:
        seed_of_index = cast("WeightedMinHashFamily", index.family).seed
        seed = user_options.get("seed", seed_of_index)
        if seed != seed_of_index:
            raise ValueError(
                f"{path}: seed is {seed_of_index} in this index, not {seed}"
            )
        threshold = user_options.get("threshold")
        return {
            **user_options,
            "seed": seed_of_index,
            "threshold": index.parameters.threshold if threshold is None else threshold,
        }


@contextmanager
def opened_weighted(
    path: str, mode: Literal["r", "r+", "c"] = "r", on_duplicate: OnDuplicate = "error"
) -> Iterator[LSHIndex]:
    """Open the index of weighted sets in a file; the end of the block writes nothing."""
    with opened_index(path, mode, on_duplicate, "weighted sets") as index:
        if index.holds != "weighted":
            raise ValueError(
                f"{path}: this is an index of texts or sets, not of weighted sets"
            )
        yield index


@contextmanager
def opened_index(
    path: str,
    mode: Literal["r", "r+", "c"] = "r",
    on_duplicate: OnDuplicate = "error",
    items: str = "texts or sets",
) -> Iterator[LSHIndex]:
    """Open the index of texts or sets in a file; the end of the block writes nothing.

    `items` names what it should hold in messages.
    """
    from lshfast.index.index_file import any_index

    with any_index(path, mode, on_duplicate) as index:
        if index.holds in POINTS:
            raise ValueError(
                f"{path}: this is an index of vectors or codes, not of {items}"
            )
        yield cast("LSHIndex", index)


def new_index(plan: Plan, on_duplicate: OnDuplicate) -> LSHIndex:
    """Return an empty index in memory for signatures of this plan."""
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.stores.memory import MemoryStore

    store = MemoryStore()
    store.bind(plan.parameters)
    return LSHIndex.on(store, on_duplicate=on_duplicate)


def integer_of_cell(cell: str) -> int | str:
    """Return the integer of 64 bits that a cell of CSV is, or a whole double; other cells as texts.

    Examples
    --------
    >>> [integer_of_cell(cell) for cell in ("17", "-1", "17.0", "017", "1.5")]
    [17, -1, 17, '017', '1.5']
    """
    for cell_type in TYPES_OF_INTEGERS:
        with suppress(ValueError):
            value = id_of(cell_type.convert(cell))
            if isinstance(value, int):
                return value
    return cell


def entry_key(kind: str | None, name: str, corpus: Corpus, row: int) -> str | int:
    """Return the key under which a row is an entry of an index.

    `kind` is the type of the keys of the index with this name. Cells of CSV, which are text, become
    integers for an index of integers.

    Raises
    ------
    DataError
        If the key of the row has another type.
    """
    key = corpus.key(row)
    if kind is None:
        return key
    key_type = str if kind == "str" else int
    if key_type is int and isinstance(key, str) and corpus.has_cell_as_id(row):
        key = integer_of_cell(key)
    if type(key) is not key_type:
        raise corpus.fault(row, f"key {key!r}: the keys of {name} are {KINDS[kind]}")
    return key


def add_rows(
    index: LSHIndex,
    name: str,
    corpus: Corpus,
    rows: Int64Array,
    signatures: UInt64Array,
) -> int:
    """Insert rows of a corpus under their keys; see `add_entries`."""
    kind = index.key_kind
    return add_entries(index.insert, index, kind, name, corpus, rows, signatures)


def add_entries(
    insert: Callable[[Column, Any], int],
    present_keys: Iterable[Any],
    kind: str | None,
    name: str,
    corpus: Corpus,
    rows: Int64Array,
    items: Any,
) -> int:
    """Insert rows of a corpus under their keys; return the number of new or replaced entries.

    Parameters
    ----------
    insert : callable
        Inserts items under keys.
    present_keys : iterable
        The keys of the index.
    kind : {"int", "uint", "str"} or None
        The type of the keys of the index.
    name : str
        The name of the index.
    corpus : Corpus
    rows : ndarray of int64
    items : batch of items, one for each row

    Raises
    ------
    DataError
        If the index cannot accept a key. The error names the first such row, and the index.
    """
    from lshfast.index.keys import DuplicateKeyError, as_column

    if not len(rows):
        return 0
    keys = [entry_key(kind, name, corpus, row) for row in rows.tolist()]
    try:
        return insert(as_column(keys), items)
    except DuplicateKeyError as error:
        remedy = "on-duplicate skip or replace allows that"
        reason = f"key {error.key!r} is in {name} already ({remedy})"
        raise corpus.fault(int(rows[error.position]), reason) from None
    except TypeError as error:
        place = _clashing_place(keys, present_keys)
        if place is None:
            raise
        reason = f"key {keys[place]} for {name}: {error}"
        raise corpus.fault(int(rows[place]), reason) from None


def _clashing_place(keys: list[Any], present_keys: Iterable[Any]) -> int | None:
    """Return the place of the first key that cannot be in one file with the keys before it.

    Negative integers cannot be with others above 2**63 - 1.
    """
    places = [place for place, key in enumerate(keys) if _is_of_one_kind(key)]
    if not places:
        return None
    first_key = next(filter(_is_of_one_kind, present_keys), keys[places[0]])
    return next((at for at in places if (keys[at] < 0) != (first_key < 0)), None)


def _is_of_one_kind(key: Any) -> bool:
    """Return whether a key is an integer that is a key of one kind of integers only."""
    return isinstance(key, int) and not 0 <= key <= INT64_RANGE[1]

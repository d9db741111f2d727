"""Indexes of the items in files: create them, and add or remove entries.

Rows are processed in batches, so that memory holds only the new entries and the current batches,
not all texts. The file of an index keeps its old state until the end: a run that ends early changes
nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.choices import ItemMeasure, Kind, plural, usual_measure
from lshfast._common.display import Figure, figure
from lshfast._common.progress import Progress
from lshfast._engine.account.display import SIMILARITY_NAMES, Account, empty_note
from lshfast._engine.account.normal_forms import FormSample
from lshfast._engine.frame import Job
from lshfast._engine.indexes.items import ItemIndex
from lshfast._engine.indexes.plan_of_index import plan_of_index
from lshfast._engine.indexes.run_indexes import KINDS, POINTS, naming, plan_of_items
from lshfast._engine.indexes.targets import FileTarget, ShardTarget
from lshfast._engine.inputs import Inputs
from lshfast._engine.kinds import item_kind
from lshfast._engine.kinds.kind import Insertion
from lshfast._engine.plan import AnyPlan
from lshfast._io import Corpus, DataError
from lshfast._items.measures import MEASURES_OF, check_item_measure, is_distance
from lshfast.index.index_stats import candidates_figure
from lshfast.index.keys import INTEGERS, Column, as_column, listed, take
from lshfast.index.shards.places import bytes_at
from lshfast.index.stores.values import OnDuplicate

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.protocol import IndexOfPoints
    from lshfast.index.stores.file import Mode

    OpenedIndex: TypeAlias = LSHIndex | ItemIndex[Any]

# What is said of the keys of an index.
KEYS = {**KINDS, None: "none yet"}


@contextmanager
def opened_any(
    path: str,
    mode: Mode = "r",
    on_duplicate: OnDuplicate = "error",
    verify: bool | None = None,
) -> Iterator[OpenedIndex]:
    """Open the index in a file, of any kind; nothing is written at the end of the block."""
    from lshfast.index.index_file import any_index

    with any_index(path, mode, on_duplicate, verify) as index:
        if index.holds in POINTS:
            from lshfast._engine.indexes.points import point_index

            yield point_index(path, cast("IndexOfPoints", index), on_duplicate)
        elif index.holds == "weighted":
            from lshfast._engine.indexes.weighted import WeightedIndex

            yield WeightedIndex(path, cast("LSHIndex", index), on_duplicate)
        else:
            yield cast("LSHIndex", index)


# ---- adding ----


@dataclass(frozen=True, kw_only=True)
class IndexSummary(Account):
    """The figures of a run that inserted rows into an index.

    Attributes
    ----------
    path : path
        The file of the index.
    added : int
        Rows with new keys: read = added + replaced + skipped + rejected.
    replaced : int
        Rows that replaced an entry, or an earlier row, with the same key.
    skipped : int
        Rows that were not inserted because the index contained their key, and rows without a vector
        or code.
    empty : int
        Rows without shingles or items, which match nothing: they are also counted as added,
        replaced or skipped. Or rows without a vector, its direction or a code, which are counted as
        skipped.
    measure : str
        What the index compares entries by.
    items : str
        The kind of the entries: "text", "set", "weighted", "vector" or "code".
    entries : int
        Entries of the index after the run.
    kind : str or None
        Kind of the keys: "int", "uint" or "str"; None if there are no keys.
    file_bytes : int
        See `IndexStats`.
    expected_candidates : float or None
        See `IndexStats`; None for codes, which are searched completely.
    overwritten : bool
        Whether a new index replaced a file.
    k : int or None
        The neighbors that the bound of a new index was chosen for.
    bound : float or None
        This bound: a least similarity, or a greatest distance.
    """

    PARTS: ClassVar[tuple[str, ...]] = "added", "replaced", "skipped", "rejected"

    path: str
    added: int
    replaced: int
    skipped: int
    empty: int
    measure: ItemMeasure
    items: Kind
    entries: int
    kind: str | None
    file_bytes: int
    expected_candidates: float | None
    overwritten: bool = False
    k: int | None = None
    bound: float | None = None

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        counts = {name: getattr(self, name) for name in self.PARTS}
        parts = [
            f"{count:,} {name}"
            for name, count in counts.items()
            if count or name in ("added", "rejected")
        ]
        yield figure(
            "read",
            self.read,
            " + ".join(parts),
            empty_note(self.empty, self.measure, self.items),
        )
        yield figure("entries", self.entries, f"keys: {KEYS[self.kind]}")
        replaced = "replaced the file before" if self.overwritten else ""
        if self.bound is not None:
            name = SIMILARITY_NAMES[self.measure]
            end = "most" if is_distance(self.measure) else "least"
            yield figure(
                "bound",
                f"{self.bound:.4g}",
                f"{name} at {end}: 95 % of the rows have {self.k} others within it",
            )
        yield figure("file", f"{self.file_bytes / 1e6:,.1f} MB", self.path, replaced)
        if self.expected_candidates is not None:
            yield candidates_figure(self.expected_candidates)


def plan_of_build(
    inputs: Inputs, plan_options: Mapping[str, Any], k: int | None
) -> AnyPlan:
    """Return the plan of a new index; see `plan_of_items`.

    If `k` is given, for `build_index`, which then chooses the bound by the vectors, the plan has
    any bound.
    """
    if k is None:
        kind = inputs.kind_of_items()
        measure = usual_measure(plan_options.get("measure"))
        needs_radius = measure in MEASURES_OF["vector"] and is_distance(measure)
        if kind == "vector" and plan_options.get("radius") is None and needs_radius:
            raise ValueError(
                f"radius is needed for the measure {measure}: a distance; or k (-k), the number "
                "of neighbors of queries, by which one is chosen"
            )
        return plan_of_items(inputs, plan_options)
    check_int("k", k, 1)
    for name in ("threshold", "radius"):
        value = plan_options.get(name)
        if value is not None:
            raise ValueError(
                f"k chooses the bound by the vectors: leave out k or {name} ({value})"
            )
    kind = inputs.kind_of_items()
    if kind != "vector":
        raise ValueError(
            f"k chooses a bound for vectors, not for {plural(kind)}, whose bound queries may choose"
        )
    measure = check_item_measure(kind, plan_options.get("measure"))
    bound = 1.0 if is_distance(measure) else None
    return plan_of_items(inputs, {**plan_options, "radius": bound})


def build_index(
    inputs: Inputs,
    path: str,
    plan: AnyPlan,
    *,
    k: int | None = None,
    shards: int | None = None,
    on_duplicate: OnDuplicate = "error",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> IndexSummary:
    """Write a new index of all rows of the inputs.

    Parameters
    ----------
    inputs : Inputs
    path : path
        The file, or with `shards` the folder. It gets its name, or its record, when it is complete.
    plan : Plan or PointPlan
        Its settings for verification and groups are not used.
    k : int, optional
        For vectors: the bound is one within which 95 % of the rows have k others, and not that of
        the plan. The index also checks by the vectors that its functions have the promised recall.
    shards : int, optional
        Write a folder of this many shards. The rows go to the disk, and the shards are built in as
        many processes as the plan has threads.
    on_duplicate : {"error", "skip", "replace"}
        How to treat a row with an earlier row's id: it is a bad row, it is ignored, or it replaces
        the earlier row.
    overwrite : bool
        Whether an existing file is replaced.
    progress : callable, optional
        Called with ("read", bytes of input read, total bytes), ("sketch", bytes of text, None), and
        ("save", bytes of the index written, total bytes).

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError
        If there is no vector or code, of which an index could be made.
    OSError
        If the file cannot be written; an existing file is unchanged.
    """
    kind = item_kind(plan.kind)
    index, index_class, format = kind.new_index(path, plan, on_duplicate)
    job = _job(path, inputs, overwrite)
    target = (
        FileTarget(path, overwrite)
        if shards is None
        else ShardTarget(path, overwrite, shards, plan.threads)
    )
    corpus, reader = inputs.open_kind(
        plan, format=format, unique_ids=on_duplicate == "error"
    )
    job.add(corpus)
    target.check((file.location for file in corpus.files), index_class)
    job.check()
    with target.filling(index) as filled_index:
        forms = _forms_of(plan)
        insertion = Insertion(
            filled_index, path, corpus, plan, reader, job, progress, forms
        )
        with job.reading(corpus):
            empty = kind.fill_index(insertion, k)
        overwritten = target.exists()
        index = target.written(filled_index, job, progress)
        insertion = replace(insertion, index=index)
        summary = _summary(insertion, len(index), empty)
    summary = replace(summary, overwritten=overwritten)
    if k is not None and isinstance(index, ItemIndex):
        return replace(summary, k=k, bound=index.plan(measure=plan.measure).bound)
    return summary


def add_to_index(
    path: str,
    inputs: Inputs,
    *,
    on_duplicate: OnDuplicate = "error",
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> IndexSummary:
    """Add all rows of the inputs to the index in a file, which determines their kind.

    Parameters and errors are as for `build_index`; `overwrite` refers to the file of rejected
    rows. The file of the index keeps its old state until all rows are added.
    """
    job = _job(path, inputs, overwrite)
    with opened_any(path, "r+", on_duplicate) as index:
        plan = plan_of_any(index, path, inputs.kind, threads)
        corpus, reader = open_for(
            index, inputs, plan, unique_ids=on_duplicate == "error"
        )
        job.add(corpus)
        job.check()
        before = len(index)
        forms = _forms_of(plan)
        insertion = Insertion(index, path, corpus, plan, reader, job, progress, forms)
        with job.reading(corpus):
            empty = item_kind(plan.kind).fill_index(insertion, None)
        with job.clock.stage("save"):
            job.write_rejects()
            index.commit(progress=progress)
        return _summary(insertion, len(index) - before, empty)


def plan_of_any(
    index: OpenedIndex, path: str, kind: Kind | None, threads: int | None
) -> AnyPlan:
    """Return the plan of rows that are added or looked up; `kind` is the user's choice."""
    if index.holds == "set":
        with naming(path):
            parameters = cast("LSHIndex", index).parameters
            return plan_of_index(parameters, kind=kind, threads=threads)
    return cast("ItemIndex[Any]", index).plan(kind, threads=threads)


def open_for(
    index: OpenedIndex, inputs: Inputs, plan: AnyPlan, **options: Any
) -> tuple[Corpus, AnyReader | None]:
    """Open inputs whose items have the kind and the format of the entries of an index."""
    corpus, reader = inputs.open_kind(
        plan, format=getattr(index, "format", None), **options
    )
    if isinstance(index, ItemIndex) and reader is not None:
        index.check_reader(reader)
    return corpus, reader


def _job(path: str, inputs: Inputs, overwrite: bool) -> Job:
    # A folder may be named with a separator at its end.
    name = path.rstrip(f"{os.sep}/")
    return Job([], inputs.on_error, overwrite, rejects=f"{name}.rejects.jsonl")


def _forms_of(plan: AnyPlan) -> FormSample:
    """Return a sample of the forms of texts; of other items, it stays empty."""
    return FormSample(
        "none" if plan.of_texts is None else plan.of_texts.shingles.normalize
    )


def _summary(insertion: Insertion, added: int, empty: int) -> IndexSummary:
    """Return the figures of an insertion of `added` new entries."""
    index = insertion.index
    plan = insertion.plan
    left_out = 0 if item_kind(plan.kind).empty_are_entries else empty
    again = insertion.corpus.accepted - added - left_out
    stats = index.stats()
    advice = insertion.forms.advice
    return insertion.job.account(
        IndexSummary,
        path=insertion.path,
        added=added,
        replaced=again if index.on_duplicate == "replace" else 0,
        skipped=left_out + (again if index.on_duplicate == "skip" else 0),
        empty=empty,
        measure=plan.measure,
        items=plan.kind,
        entries=len(index),
        kind=index.key_kind,
        file_bytes=bytes_at(insertion.path),
        expected_candidates=getattr(stats, "expected_candidates", None),
        **({"advice": advice} if advice else {}),
    )


# ---- removing and checking ----


def remove_keys(
    path: str, keys: Iterable[str], missing: Literal["error", "skip"] = "error"
) -> tuple[int, int]:
    """Remove entries from the index in a file; return the numbers removed and remaining.

    Parameters
    ----------
    path : path
    keys : iterable of str
        If the keys of the index are integers, their decimal digits.
    missing : {"error", "skip"}
        How to treat a key that is not in the index.

    Raises
    ------
    DataError
        If a key is not in the index, or has the wrong type; nothing is removed.
    """
    with opened_any(path, "r+") as index:
        index_keys = _own_keys(path, index, keys)
        is_present = index.contains(index_keys)
        if missing == "error" and not is_present.all():
            key = listed(take(index_keys, np.flatnonzero(~is_present)[:1]))[0]
            raise DataError(path, None, f"there is no key {key!r}; nothing was removed")
        before = len(index)
        index.remove(take(index_keys, np.flatnonzero(is_present)))
        index.commit()
        return before - len(index), len(index)


def _own_keys(path: str, index: OpenedIndex, keys: Iterable[str]) -> Column:
    """Convert keys given as text to the type of the index's keys."""
    if index.key_kind not in INTEGERS:
        return as_column(keys)
    digits = list(keys)
    for key in digits:
        if not re.fullmatch("[+-]?[0-9]+", key):
            raise DataError(
                path,
                None,
                f"key {key!r}: the keys of this index are integers; nothing was removed",
            )
    return as_column(map(int, digits))


def key_lines(path: str) -> Iterator[str]:
    """Read keys from a file, one per line; "-" is standard input. Empty lines are skipped."""
    with open(path, "rb") if path != "-" else sys.stdin.buffer as file:
        for number, line in enumerate(file, 1):
            try:
                key = line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise DataError(path, number, "not UTF-8") from None
            if key:
                yield key


def verify_index(path: str) -> tuple[int, int]:
    """Check the complete index in a file, and return its entries and bytes.

    Raises
    ------
    FormatError
        If the file is damaged. The error names the damaged section.
    """
    with opened_any(path, verify=False) as index:
        index.verify()
        return len(index), bytes_at(path)


def compact_index(path: str, progress: Progress | None = None) -> tuple[int, int]:
    """Rewrite an index file without deleted entries; return its bytes before and after."""
    before = bytes_at(path)
    with opened_any(path, "r+") as index:
        index.compact(progress=progress)
    return before, bytes_at(path)

"""Explain what became of a row: from the table of removed rows, and the texts of the inputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lshfast._common.progress import Progress
from lshfast._engine.display import SIMILARITY_NAMES
from lshfast._engine.explanation import COMMON, MOST_ROWS, Explanation, shared_of
from lshfast._engine.inputs import Inputs, text_batches
from lshfast._engine.plan import Plan
from lshfast._engine.plans import AnyPlan
from lshfast._engine.stored_options import OF_FOLDER, StoredOptions
from lshfast._io import DataError
from lshfast._io.files import shortened
from lshfast._io.pages.differences import compare
from lshfast._io.whole_tables import read_whole


class Removed(NamedTuple):
    """What the table of removed rows says of a row.

    Attributes
    ----------
    kept_key : str or None
        The row that is kept instead; None if the row was not removed.
    similarity : float or None
    earlier : bool
        Whether the kept row is an entry of an index.
    members : list of str
        The other rows that were removed for the same kept row, the first ones.
    size : int
        Rows of the group, with the kept one.
    """

    kept_key: str | None
    similarity: float | None
    earlier: bool
    members: list[str]
    size: int


def look_up(path: str, key: str) -> Removed:
    """Look up a key in a table of removed rows.

    Raises
    ------
    DataError
        If the table is damaged, or lacks a column.
    """
    table = read_whole([path], **_parts(path))
    if not table.columns:  # JSONL of a run that removed no row
        return Removed(None, None, False, [], 1)
    missing = [name for name in ("key", "kept_key") if name not in table.columns]
    if missing:
        raise DataError(
            path, None, f"no column {missing[0]!r}: this is not a table of removed rows (--removed)"
        )
    keys, kept_keys = (list(map(str, table.columns[name])) for name in ("key", "kept_key"))
    place = keys.index(key) if key in keys else None
    kept = key if place is None else kept_keys[place]
    members = [
        other
        for other, keeper in zip(keys, kept_keys, strict=True)
        if keeper == kept and other != key
    ]
    found: float | None = None
    earlier = False
    if place is not None:
        values = next(
            (table.columns[name] for name in SIMILARITY_NAMES.values() if name in table.columns),
            None,
        )
        found = None if values is None else float(values[place])
        earlier = str(table.columns.get("earlier", ["false"] * len(keys))[place]).lower() == "true"
    size = len(members) + (1 if place is None else 2)
    return Removed(None if place is None else kept, found, earlier, members[:MOST_ROWS], size)


def _parts(path: str) -> dict[str, Any]:
    """Return how the parts of a folder are read that Spark wrote as lines of JSON: it names them
    part-*.json.
    """
    lines = path.rstrip(os.sep).endswith(".jsonl") and os.path.exists(os.path.join(path, OF_FOLDER))
    return {"glob": "part-*", "format": "jsonl"} if lines else {}


def explain(
    key: str,
    inputs: Inputs,
    plan: AnyPlan,
    *,
    removed: Removed | None = None,
    other: str | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Explain what became of a row.

    Parameters
    ----------
    key : str
        Its id, or PATH:LINE without an id column.
    inputs : Inputs
        The inputs of the run.
    plan : Plan
        The plan of the run.
    removed : Removed, optional
        What the table of removed rows says of it.
    other : str, optional
        The key of a row to compare it with, instead of the kept one.
    progress : callable, optional
        Called with ("read", done, total): bytes of the inputs.

    Raises
    ------
    ValueError
        If a row is not in the inputs.
    DataError
        If the inputs are bad.
    """
    kept_key = key if removed is None or removed.kept_key is None else removed.kept_key
    second = other if other is not None else kept_key
    wanted = (
        [key]
        if second == key or (removed is not None and removed.earlier and other is None)
        else [key, second]
    )
    texts = (
        _texts_of(inputs, wanted, progress)
        if isinstance(plan, Plan) and inputs.kind_of_items() == "text"
        else []
    )
    shared = differences = None
    if len(texts) == 2 and isinstance(plan, Plan):
        own, second_text = texts
        shared = shared_of(own, second_text, plan)
        differences = compare(own, second_text)
    compared = other is not None and other != kept_key
    return Explanation(
        key,
        second,
        kept=not compared and kept_key == key,
        similarity=None if removed is None or compared else removed.similarity,
        threshold=plan.threshold,
        group=[] if removed is None or compared else removed.members,
        group_size=1 if removed is None or compared else removed.size,
        shared=shared,
        differences=differences,
        measure=plan.measure,
        note="" if plan.ignore_common is None else COMMON,
    )


def _texts_of(inputs: Inputs, keys: Sequence[str], progress: Progress | None) -> list[str]:
    """Return the texts of the rows with these keys; of several rows with one key, that of the
    first.
    """
    corpus = inputs.open(unique_ids=False)
    found: dict[str, str] = {}
    seen = 0
    for texts in text_batches(corpus, progress):
        for place in range(len(texts)):
            name = str(corpus.key(seen + place))
            if name in keys:
                found.setdefault(name, texts[place].decode("utf-8", "replace"))
        seen += len(texts)
        if len(found) == len(set(keys)):
            return [found[key] for key in keys]
    missing = next(key for key in keys if key not in found)
    raise ValueError(f"no row of the inputs has the key {shortened(missing)}")


def with_stored(inputs: Inputs, stored: StoredOptions | None, given: Sequence[str]) -> Inputs:
    """Return inputs that are read as in the run, except for options that are given."""
    if stored is None:
        return inputs
    return replace(
        inputs, **{name: value for name, value in stored.reading.items() if name not in given}
    )

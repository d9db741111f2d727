"""Explain what became of a row: from the table of removed rows, and the texts of the inputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lshfast._common.display import counted
from lshfast._common.progress import Progress
from lshfast._common.visible import shortened
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.inputs import Inputs, text_batches
from lshfast._engine.options.stored import OF_FOLDER, StoredOptions
from lshfast._engine.pages.evidence import compared_form
from lshfast._engine.pages.explanation import COMMON, MOST_ROWS, Explanation, shared_of
from lshfast._engine.parts.removals import EARLIER_TEXT
from lshfast._engine.plan import AnyPlan
from lshfast._io import DataError
from lshfast._io.whole_tables import read_whole


class Removed(NamedTuple):
    """The data on a row in the table of removed rows.

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
    earlier_text : str, optional
        The text of the entry, if the run has read it.
    """

    kept_key: str | None
    similarity: float | None
    earlier: bool
    members: list[str]
    size: int
    earlier_text: str | None = None


NOT_REMOVED = Removed(None, None, False, [], 1)


def look_up(path: str, key: str) -> Removed:
    """Look up a key in a table of removed rows.

    Raises
    ------
    DataError
        If the table is damaged, or lacks a column.
    """
    table = read_whole([path], **_parts(path))
    if not table.columns:  # JSONL of a run that removed no row
        return NOT_REMOVED
    missing = [name for name in ("key", "kept_key") if name not in table.columns]
    if missing:
        raise DataError(
            path,
            None,
            f"no column {missing[0]!r}: this is not a table of removed rows (--removed)",
        )
    keys = list(map(str, table.columns["key"]))
    kept_keys = list(map(str, table.columns["kept_key"]))
    if key not in keys:
        members = _removed_for(key, keys, kept_keys)
        return Removed(None, None, False, members[:MOST_ROWS], len(members) + 1)
    place = keys.index(key)
    kept_key = kept_keys[place]
    group = _removed_for(kept_key, keys, kept_keys)
    members = [other for other in group if other != key]
    names = [name for name in SIMILARITY_NAMES.values() if name in table.columns]
    similarity = float(table.columns[names[0]][place]) if names else None
    earlier = False
    if "earlier" in table.columns:
        earlier = str(table.columns["earlier"][place]).lower() == "true"
    earlier_text = None
    if earlier and EARLIER_TEXT in table.columns:
        earlier_text = table.columns[EARLIER_TEXT][place]
    return Removed(
        kept_key,
        similarity,
        earlier,
        members[:MOST_ROWS],
        len(members) + 2,
        earlier_text or None,
    )


def _removed_for(key: str, keys: list[str], kept_keys: list[str]) -> list[str]:
    """Return the keys of the rows for which the row with this key is kept."""
    pairs = zip(keys, kept_keys, strict=True)
    return [other for other, kept_key in pairs if kept_key == key]


def _parts(path: str) -> dict[str, Any]:
    """Return the options to read a folder of JSONL files (part-*.json) that Spark wrote."""
    lines = path.rstrip(os.sep).endswith(".jsonl") and os.path.exists(
        os.path.join(path, OF_FOLDER)
    )
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
        The inputs of the run. Bad rows are skipped, whether or not the run skipped them.
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
        If an input cannot be read.
    """
    inputs = replace(inputs, on_error="skip")
    if removed is None:
        removed = NOT_REMOVED
    kept_key = key if removed.kept_key is None else removed.kept_key
    second = kept_key if other is None else other
    is_entry = removed.earlier and other is None
    row_keys = [key] if second == key or is_entry else [key, second]
    shared = None
    differences = None
    text_plan = plan.of_texts
    if text_plan is not None and inputs.kind_of_items() == "text":
        texts = _texts_of(inputs, row_keys, progress)
        if is_entry and removed.earlier_text is not None:
            texts.append(removed.earlier_text)
        if len(texts) == 2:
            row_text, second_text = texts
            shared = shared_of(row_text, second_text, text_plan)
            differences = compared_form(plan).differences(row_text, second_text)
    compared = second != kept_key
    if compared:
        removed = NOT_REMOVED
    return Explanation(
        key,
        second,
        kept=not compared and kept_key == key,
        similarity=removed.similarity,
        threshold=plan.threshold,
        group=removed.members,
        group_size=removed.size,
        shared=shared,
        differences=differences,
        measure=plan.measure,
        note="" if plan.ignore_common is None else COMMON,
    )


def _texts_of(
    inputs: Inputs, keys: Sequence[str], progress: Progress | None
) -> list[str]:
    """Return the texts of the rows with these keys; the first row of a repeated key."""
    corpus = inputs.open(unique_ids=False)
    texts_by_key: dict[str, str] = {}
    first_row = 0
    for texts in text_batches(corpus, progress):
        for place in range(len(texts)):
            name = str(corpus.key(first_row + place))
            if name in keys:
                texts_by_key.setdefault(name, texts[place].decode("utf-8", "replace"))
        first_row += len(texts)
        if len(texts_by_key) == len(set(keys)):
            return [texts_by_key[key] for key in keys]
    missing = next(key for key in keys if key not in texts_by_key)
    bad_rows = ""
    if corpus.rejected:
        path, line, reason = next(iter(corpus.rejected))
        skipped = f"{counted(len(corpus.rejected), 'bad row')} skipped"
        bad_rows = f"; {skipped}, the first is {DataError(path, line, reason)}"
    raise ValueError(f"no row of the inputs has the key {shortened(missing)}{bad_rows}")


def with_stored(
    inputs: Inputs, stored: StoredOptions | None, given_names: Sequence[str]
) -> Inputs:
    """Return inputs that are read as in the run, except for options that are given."""
    if stored is None:
        return inputs
    return replace(
        inputs,
        **{
            name: value
            for name, value in stored.reading.items()
            if name not in given_names
        },
    )

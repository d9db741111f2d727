"""The stage collect: the texts that have to be compared are read again, and written by part."""

from __future__ import annotations

import numpy as np

from lshfast._common.rows import run_begins
from lshfast._common.types import Int64Array
from lshfast._engine.inputs import faults_of
from lshfast._engine.parts.key_columns import key_columns
from lshfast._engine.parts.second_reading import SecondReading
from lshfast._engine.parts.spool import SpooledTexts
from lshfast._engine.parts.task_files import RANGE_BYTES, figures_of, writing
from lshfast._engine.parts.task_reader import Arrays, TaskFile
from lshfast.kernels.text import Texts
from lshfast.stages.earlier import divide_earlier
from lshfast.stages.sketching import restored_corpus, rows_of_sketch
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.value_counts import codes_of_rows

# The length of a text that is not read.
NO_TEXT = -1

# About what a row takes in a range beside its text.
ROW_BYTES = 64


def collect(plan: StagePlan, shard: int) -> None:
    """Write the texts of a shard that are compared, with the keys of their rows, part by part."""
    overall = figures_of(plan, "group", 0)
    corpus = restored_corpus(plan, shard, lines_before=overall["lines_before"][shard])
    first_row = overall["first_row"][shard]
    part_rows = _wanted(plan, shard, first_row, corpus.accepted, overall["bounds"][-1])
    rows = part_rows["rows"] - first_row
    sampled = part_rows["sampled"] - first_row
    nbytes = _lengths(plan, shard, corpus.accepted)
    codes = codes_of_rows(plan, shard, rows)
    lengths = np.where(part_rows["read"] != 0, nbytes[rows], NO_TEXT)
    is_compared = np.zeros(corpus.accepted, np.bool_)
    is_compared[rows[lengths != NO_TEXT]] = True
    reading = SecondReading(corpus, is_compared, sampled, nbytes)
    with faults_of(corpus), writing(plan, "collect", shard) as writer:
        texts = _spooled_texts(reading)
        for places in _portions(part_rows["parts"], lengths):
            keys = key_columns(corpus.keys_of(rows[places]))
            compared = np.searchsorted(
                reading.rows, rows[places][lengths[places] != NO_TEXT]
            )
            writer.add(
                int(part_rows["parts"][places[0]]),
                rows=part_rows["rows"][places],
                chosen=part_rows["chosen"][places],
                **({"codes": codes[places]} if plan.codes else {}),
                ranks=part_rows["ranks"][
                    places if len(part_rows["ranks"]) else places[:0]
                ],
                lengths=lengths[places],
                texts=np.frombuffer(texts.take(compared).packed(), np.uint8),
                **keys,
            )
        divide_earlier(writer, plan, shard, first_row, overall["bounds"][-1])
        measured = reading.lengths()
        writer.figures = {
            "words": measured.words.tolist(),
            "symbols": measured.symbols.tolist(),
            "characters": measured.characters.tolist(),
            "symbol_shares": measured.symbol_shares.tolist(),
            "forms": list(measured.forms),
        }


def _wanted(
    plan: StagePlan, shard: int, first_row: int, rows: int, parts: int
) -> Arrays:
    """Return what the group task has found for a shard."""
    with TaskFile(plan, "group", 0) as file:
        arrays = file.joined(shard)
        rows_of_shard = arrays["rows"] - first_row
        sampled = arrays["sampled"] - first_row
        file.check_lengths(arrays, "rows", "parts", "chosen", "read", *plan.ranks)
        for numbers, end in (
            (rows_of_shard, rows),
            (sampled, rows),
            (arrays["parts"], parts),
        ):
            if len(numbers) and (numbers.min() < 0 or numbers.max() >= end):
                raise file.fault(f"it has numbers that are not in 0..{end - 1}")
        if (np.diff(rows_of_shard) <= 0).any() or (np.diff(sampled) <= 0).any():
            raise file.fault("its rows do not ascend")
    return arrays


def _lengths(plan: StagePlan, shard: int, rows: int) -> Int64Array:
    """Return the bytes of the texts of a shard."""
    nbytes = np.zeros(rows, np.int64)
    for row, marks, _ in rows_of_sketch(plan, shard):
        nbytes[row : row + len(marks)] = marks.nbytes
    return nbytes


def _spooled_texts(reading: SecondReading) -> Texts:
    """Return the texts that are read from an unnamed file, whose memory the system can reclaim."""
    with SpooledTexts() as spooled:
        for _, texts in reading.texts():
            spooled.add(np.frombuffer(texts.packed(), np.uint8))
        return spooled.texts(reading.nbytes)


def _portions(parts: Int64Array, lengths: Int64Array) -> list[Int64Array]:
    """Return rows of one part at a time, in about RANGE_BYTES of text, in the order of parts."""
    order = np.argsort(parts, kind="stable")
    nbytes = np.maximum(lengths[order], 0) + ROW_BYTES
    before = np.cumsum(nbytes, dtype=np.int64) - nbytes
    begins = np.flatnonzero(run_begins(parts[order], before // RANGE_BYTES))
    return np.split(order, begins[1:])[: len(begins)]

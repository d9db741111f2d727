"""The command ``lshfast label``: pairs of texts, and with --records pairs of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lshfast._engine.options.command import (
    LEAST_SIMILARITY,
    QUIET,
    READING,
    Command,
    Console,
    options_named,
    output_option,
)
from lshfast._engine.options.declaration import Option, Options
from lshfast.quality.label_command import (
    COLUMNS,
    LEAST,
    OF_TEXTS,
    PLAN_OPTIONS,
    asking,
    label_texts,
)

if TYPE_CHECKING:
    from lshfast._engine.inputs import Inputs

LABEL_OPTIONS = (
    output_option("The labels: .csv, .tsv or .jsonl; resumed if it exists.", "FILE"),
    Option(
        "records",
        False,
        "INPUT is a file of lshfast records --review: label its pairs of records.",
        bool,
        daily=True,
    ),
    LEAST,
    Option(
        "precision",
        None,
        "Look for the least threshold with this precision, not for the largest F1.",
        float,
        metavar="P",
        daily=True,
    ),
    Option(
        "show_similarity",
        False,
        "Show the similarity or score, which may bias the answer.",
        bool,
        daily=True,
    ),
    *COLUMNS,
    *READING,
    LEAST_SIMILARITY,
    *PLAN_OPTIONS,
    *options_named("seed"),
    QUIET,
)


def label(options: Options, console: Console) -> None:
    """Choose a threshold by eye.

    Shows pairs of rows and asks whether they are the same. Each label is written at once; q, Ctrl-C
    or Ctrl-D ends, and the same command continues. At the end come the precision and the recall of
    thresholds, and the best one. With --records, the pairs are those of a file of lshfast records
    --review, and the thresholds are scores.
    """
    from lshfast._engine.inputs import Inputs

    if "-" in options.inputs:
        raise ValueError("answers come from standard input, so the texts cannot (-)")
    source = Inputs.of(options.inputs, options)
    label_pairs = label_pairs_of_records if options.records else label_texts
    answer = label_pairs(options, source, console)
    console.note("")
    console.show(answer)


def label_pairs_of_records(options: Options, source: Inputs, console: Console) -> str:
    """Label pairs of records, and return what the labels say."""
    from lshfast.records.labelling.job import label_records
    from lshfast.records.labelling.screen import record_lines

    for option in OF_TEXTS:
        if option.name in options.given:
            name = option.shown if option is LEAST else option.name
            raise ValueError(f"{name} is not an option of lshfast label --records")

    ask = asking(options, console, record_lines, "score")
    labelled = label_records(
        source, options.output, ask, precision=options.precision, seed=options.seed
    )
    return "\n".join(labelled.lines())


COMMANDS = (
    Command(
        "label",
        label,
        LABEL_OPTIONS,
        examples=(
            "lshfast label crawl.jsonl -o labels.csv",
            "lshfast label crawl.jsonl -o labels.csv --precision 0.95",
            "lshfast label review.csv --records -o labels.csv",
        ),
    ),
)

"""The command ``lshfast label``: it reads answers, and converts options to arguments."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from lshfast._cli.console import Watch, say, show
from lshfast._cli.errors import memory_advice, one_line_errors
from lshfast._cli.label_screen import screen
from lshfast._cli.options import (
    Column,
    DelimiterOption,
    Encoding,
    ExactOption,
    FormatOption,
    Glob,
    IdColumn,
    IgnoreCommon,
    MaxRowBytes,
    MeasureOption,
    NumPerm,
    Paths,
    Quiet,
    Recall,
    SeedOption,
    Size,
    StopWords,
    Threads,
    Threshold,
    UnitOption,
    given,
)
from lshfast._common.choices import MAX_ROW_BYTES

if TYPE_CHECKING:
    from lshfast.quality.label_sheet import Answer, Question

KEYS: dict[str, Answer] = {
    "s": "same",
    "d": "different",
    "?": "unsure",
    "u": "undo",
    "q": "quit",
    "\x04": "quit",
}
PROMPT = "same or different?  [s]ame  [d]ifferent  [?] unsure  [u]ndo  [q]uit: "

# The size of a screen without a terminal.
WIDTH = 80
HEIGHT = 40

# How far below the threshold pairs are asked, by default.
BELOW = 0.3

# Options that find the pairs of texts; the pairs of records are in the input.
OF_TEXTS = (
    "least",
    "column",
    "id_column",
    "threshold",
    "unit",
    "size",
    "stop_words",
    "num_perm",
    "recall",
    "exact",
    "measure",
    "ignore_common",
    "threads",
)


def label_command(
    context: typer.Context,
    inputs: Paths,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The labels: .csv, .tsv or .jsonl; resumed if it exists.",
        ),
    ],
    records: Annotated[
        bool,
        typer.Option(
            "--records",
            help="INPUT is a file of lshfast records --review: label its pairs of records.",
        ),
    ] = False,
    least: Annotated[
        float | None,
        typer.Option(
            "--from",
            metavar="SIMILARITY",
            help="The least similarity of the pairs; by default 0.3 below --threshold.",
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Look for the least threshold with this precision, not for the largest F1.",
        ),
    ] = None,
    show_similarity: Annotated[
        bool,
        typer.Option(
            "--show-similarity", help="Show the similarity or score, which may bias the answer."
        ),
    ] = False,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    threshold: Threshold = 0.8,
    unit: UnitOption = "word",
    size: Size = None,
    stop_words: StopWords = None,
    num_perm: NumPerm = 128,
    recall: Recall = 0.95,
    exact: ExactOption = None,
    measure: MeasureOption = "jaccard",
    ignore_common: IgnoreCommon = None,
    threads: Threads = None,
    seed: SeedOption = 1,
    quiet: Quiet = False,
) -> None:
    """Choose a threshold by eye.

    Shows pairs of rows and asks whether they are the same. Each label is written at once; q, Ctrl-C
    or Ctrl-D ends, and the same command continues. At the end come the precision and the recall of
    thresholds, and the best one. With --records, the pairs are those of a file of lshfast records
    --review, and the thresholds are scores.
    """
    with one_line_errors():
        from lshfast._engine.inputs import Inputs
        from lshfast._engine.plan import make_plan
        from lshfast.quality.label_job import label_files

        if "-" in inputs:
            raise ValueError("answers come from standard input, so the texts cannot (-)")
        source = Inputs(
            inputs, column, id_column, glob, "stop", encoding, format, max_row_bytes, delimiter
        )
        watch = Watch(quiet, None)

        def ask(question: Question) -> Answer:
            watch.__exit__()  # no bars while a person answers
            return answer_to(question, show_similarity)

        if records:
            from lshfast.records.label_job import label_records

            for name in given(context, dict.fromkeys(OF_TEXTS)):
                raise ValueError(
                    f"{'--from' if name == 'least' else name} is not an option of lshfast label "
                    "--records"
                )
            labelled = label_records(source, output, ask, precision=precision, seed=seed)
            print(file=sys.stderr)
            show("\n".join(labelled.lines()), sys.stdout)
            return
        if least is None:
            least = max(round(threshold - BELOW, 10), 0.05)
        plan = make_plan(
            threshold=least,
            unit=unit,
            size=size,
            stop_words=stop_words,
            num_perm=num_perm,
            recall=recall,
            exact=exact,
            measure=measure,
            ignore_common=ignore_common,
            threads=threads,
            seed=seed,
        )
        with memory_advice(source, plan), watch:
            found = label_files(source, plan, output, ask, precision=precision, progress=watch)
        print(file=sys.stderr)
        show(repr(found), sys.stdout)


def answer_to(question: Question, similarity: bool) -> Answer:
    """Show a question on standard error, and return the answer from standard input."""
    columns, lines = (
        shutil.get_terminal_size((WIDTH, HEIGHT)) if sys.stderr.isatty() else (WIDTH, HEIGHT)
    )
    say(screen(question, similarity, min(columns, 120), lines), sys.stderr)
    while True:
        key = read_key(sys.stdin)
        if key in KEYS:
            return KEYS[key]
        if not key:
            return "quit"


def read_key(stream: TextIO) -> str:
    """Ask for one key from a terminal, or for the first character of a line; "" at the end.

    What was typed before the question is shown is discarded.
    """
    if not stream.isatty() or sys.platform == "win32":
        print(PROMPT, end="", file=sys.stderr, flush=True)
        line = stream.readline()
        return line and (line.strip().lower()[:1] or "\n")
    import termios
    import tty

    number = stream.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number)
        print(PROMPT, end="", file=sys.stderr, flush=True)
        key = os.read(number, 1).decode("utf-8", "replace").lower()
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
    print(key if key in KEYS and key.isprintable() else "", file=sys.stderr)
    return key

"""What ``lshfast label`` takes and runs for texts.

`lshfast.records.labelling.command` has the command, which also labels records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lshfast._engine.options.command import (
    LEAST_SIMILARITY,
    MEASURE_OF_TEXTS,
    Console,
    daily_option,
    options_named,
)
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.declared import OPTIONS

if TYPE_CHECKING:
    from lshfast._engine.inputs import Inputs
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

# How far below the threshold pairs are asked, by default.
BELOW = 0.3

# Options of the plan that finds the pairs of texts, besides the least similarity.
PLAN_OPTIONS = (
    *options_named("unit", "size", "stop_words", "normalize", "num_perm"),
    replace(
        OPTIONS["recall"],
        default=0.95,
        help="Probability that a pair at the threshold is found, in (0, 1).",
    ),
    *options_named("exact"),
    MEASURE_OF_TEXTS,
    *options_named("ignore_common", "threads"),
)
LEAST = daily_option(
    "least",
    None,
    "The least similarity of the pairs; by default 0.3 below --threshold.",
    float,
    spelling="from",
    metavar="SIMILARITY",
)
COLUMNS = options_named("column", "id_column")
# Options that find the pairs of texts.
OF_TEXTS = (LEAST, *COLUMNS, LEAST_SIMILARITY, *PLAN_OPTIONS)


def asking(
    options: Options,
    console: Console,
    lines_of: Callable[[Any, int, int], Iterable[str]],
    similarity_name: str,
) -> Callable[[Question], Answer]:
    """Return a function that shows a question and returns the answer.

    `lines_of` gives the lines of a question for the columns and lines of a screen.
    """
    from lshfast.quality.label_screen import screen

    def ask(question: Question) -> Answer:
        similarity = ""
        if options.show_similarity:
            similarity = f"{similarity_name} {question.similarity:.4f}; "

        def shown(width: int, height: int) -> str:
            lines = lines_of(question, width, height)
            return screen(question, lines, similarity, width)

        key = console.ask(shown, PROMPT, KEYS)
        # The end of the input ends the questions.
        return KEYS[key] if key else "quit"

    return ask


def label_texts(options: Options, source: Inputs, console: Console) -> str:
    """Label pairs of texts, and return what the labels say."""
    from lshfast._engine.plan import make_plan
    from lshfast.quality.label_job import label_files
    from lshfast.quality.label_screen import text_lines

    least = options.least
    if least is None:
        least = max(round(options.threshold - BELOW, 10), 0.05)
    names = [option.name for option in PLAN_OPTIONS]
    plan = make_plan(threshold=least, **options.picked([*names, "seed"]))
    with console.watching(None, source, plan) as watch:
        labelled = label_files(
            source,
            plan,
            options.output,
            asking(options, console, text_lines, "similarity"),
            precision=options.precision,
            advise=console.advise,
            progress=watch,
        )
    return repr(labelled)

"""What ``lshfast label`` takes and runs for texts.

`lshfast.records.labelling.command` has the command, which also labels records.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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
    *options_named("unit", "size", "stop_words", "num_perm"),
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


def answer_of(key: str) -> Answer:
    """Return the answer that a key means; the end of the input ends the questions."""
    return KEYS[key] if key else "quit"


def label_texts(options: Options, source: Inputs, console: Console) -> str:
    """Label pairs of texts, and return what the labels say."""
    from lshfast._engine.plan import make_plan
    from lshfast.quality.label_job import TextQuestion, label_files
    from lshfast.quality.label_screen import screen, text_lines

    def ask(question: Question) -> Answer:
        assert isinstance(question, TextQuestion)
        shown_similarity = (
            f"similarity {question.similarity:.4f}; " if options.show_similarity else ""
        )

        def shown(width: int, height: int) -> str:
            return screen(
                question, text_lines(question, width, height), shown_similarity, width
            )

        return answer_of(console.ask(shown, PROMPT, KEYS))

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
            ask,
            precision=options.precision,
            progress=watch,
        )
    return repr(labelled)

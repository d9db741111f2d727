"""Write lshfast/_engine/options/types.py: the options that functions take as ``**options``, for type checkers.

Run it after an option was declared: python -m tests.make_option_types
"""

import operator
from pathlib import Path

import lshfast
from lshfast._common import choices
from lshfast._engine.options import types as option_types
from lshfast._engine.options.declared import OPTIONS
from lshfast._engine.options.rules import TAKES
from lshfast._engine.plan import OF_SETS

# The class for each function; it has the options that the function does not write out.
CLASSES = {
    "dedup": "DedupOptions",
    "pairs": "PairOptions",
    "check": "SampleOptions",
    "dedup_files": "FileOptions",
    "dedup_paragraphs": "ParagraphOptions",
    "stages.plan": "StageOptions",
    "spark.dedup": "SparkDedupOptions",
    "spark.pairs": "SparkPairOptions",
    "spark.check": "SparkSampleOptions",
}
# Types that are wider in Python than on the command line.
WIDER = {
    "stop_words": "str | Iterable[str] | None",
    "seed": "Seed | None",
    "zstd_window": "int | str | None",
    "clusters": "FilePath | None",
    "changes": "FilePath | None",
    "work": "FilePath | None",
    "against": "FilePath | Sequence[FilePath] | None",
    "against_column": "str | Sequence[str] | None",
}
WIDER_IN_MEMORY = {"by": "Any", "exact_key": "Any"}
HEADER = '''"""The options that functions take as ``**options``, for type checkers and editors.

Written by tests/make_option_types.py from the declaration: do not edit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypedDict

from lshfast._common.checks import Seed
from lshfast._common.choices import (
    {names},
)

FilePath: TypeAlias = str | os.PathLike[str]
'''


def type_of(option, in_memory):
    """Return the type of an option, as code; None is allowed for all, and stands for the default."""
    wider = WIDER | (WIDER_IN_MEMORY if in_memory else {})
    if option.name in wider:
        return wider[option.name]
    name = next(
        (name for name, value in vars(choices).items() if value is option.type), None
    )
    return f"{name or option.type.__name__} | None"


def written_out(name):
    """Return the parameters that a function writes out."""
    code = operator.attrgetter(name)(lshfast).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def source():
    body = ""
    for function, name in CLASSES.items():
        text = f"Options of `lshfast.{function}` that it does not write out."
        body += f'\n\nclass {name}(TypedDict, total=False):\n    """{text}"""\n\n'
        for option in map(OPTIONS.get, TAKES[function].names):
            if option.name not in written_out(function):
                body += f"    {option.name}: {type_of(option, function in ('dedup', 'pairs'))}\n"
    body += '\n\nclass PlanOptions(TypedDict, total=False):\n    """Options of `make_plan`."""\n\n'
    for option in OF_SETS.values():
        body += f"    {option.name}: {type_of(option, in_memory=False)}\n"
    names = [name for name in vars(choices) if f": {name} |" in body]
    return HEADER.format(names=",\n    ".join(sorted(names))) + body


if __name__ == "__main__":
    Path(option_types.__file__).write_text(source(), "utf-8")

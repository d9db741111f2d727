"""Write lshfast/_engine/option_types.py: the options that functions take as ``**options``, for type checkers.

Run it after an option was declared: python -m tests.make_option_types
"""

from pathlib import Path

from lshfast._common import choices
from lshfast._engine import option_types
from lshfast._engine.option_rules import taken_by
from lshfast._engine.options import OPTIONS

# Each class: the ways of running, and what its functions are.
CLASSES = {
    "FileOptions": (("files", "cap"), "Options of `lshfast.dedup_files` that it does not write out."),
}
# Types that are wider in Python than on the command line.
WIDER = {
    "stop_words": "str | Iterable[str] | None",
    "seed": "Seed | None",
    "clusters": "FilePath | None",
    "changes": "FilePath | None",
    "work": "FilePath | None",
}
LEFT_OUT = {"split"}
HEADER = '''"""The options that functions take as ``**options``, for type checkers and editors.

Written by tests/make_option_types.py from the declaration: do not edit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeAlias, TypedDict

from lshfast._common.checks import Seed
from lshfast._common.choices import {names}

FilePath: TypeAlias = str | os.PathLike[str]
'''


def type_of(option):
    """Return the type of an option, as code; None is allowed for all, and stands for the default."""
    if option.name in WIDER:
        return WIDER[option.name]
    name = next((name for name, value in vars(choices).items() if value is option.type), None)
    return f"{name or option.type.__name__} | None"


def source():
    body = ""
    for name, (drivers, text) in CLASSES.items():
        body += f'\n\nclass {name}(TypedDict, total=False):\n    """{text}"""\n\n'
        for option in map(OPTIONS.get, taken_by(*drivers)):
            if not option.daily and option.name not in LEFT_OUT:
                body += f"    {option.name}: {type_of(option)}\n"
    names = [name for name in vars(choices) if f": {name} |" in body]
    return HEADER.format(names=", ".join(sorted(names))) + body


if __name__ == "__main__":
    Path(option_types.__file__).write_text(source(), "utf-8")

"""Write sentence_tables.h: the property Sentence_Break of every code point.

Run with the package regex whose Unicode data are of the pinned version, which has this property:
    python -m pip install regex==2024.5.15
    python src/unicode/make_sentence_tables.py > src/unicode/sentence_tables.h
The classes are kept in two stages of blocks of 128 code points: equal blocks are stored once.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import regex

UNICODE = "15.1.0"
RELEASE = "2024.5.15"
BLOCK = 128
CLASSES = (
    "Other",
    "CR",
    "LF",
    "Sep",
    "Extend",
    "Format",
    "Sp",
    "Lower",
    "Upper",
    "OLetter",
    "Numeric",
    "ATerm",
    "STerm",
    "Close",
    "SContinue",
)


def classes() -> bytes:
    """Return the number of the class of every code point."""
    text = "".join(chr(code) for code in range(0x110000))
    found = bytearray(0x110000)
    for number, name in enumerate(CLASSES[1:], 1):
        for match in regex.finditer(rf"\p{{Sentence_Break={name}}}", text):
            found[match.start()] = number
    return bytes(found)


def rows(name: str, values: list[int]) -> str:
    """Return a C array, twenty values a line."""
    lines = [", ".join(map(str, values[i : i + 20])) for i in range(0, len(values), 20)]
    return (
        f"static const uint8_t {name}[{len(values)}] = {{\n    "
        + ",\n    ".join(lines)
        + "\n};\n"
    )


def main() -> None:
    """Write the header to standard output."""
    if version("regex") != RELEASE:
        sys.exit(
            f"this is regex {version('regex')}; the tables are of {RELEASE}, which has Unicode "
            f"{UNICODE}"
        )
    found = classes()
    blocks: dict[bytes, int] = {}
    stage1 = [
        blocks.setdefault(found[start : start + BLOCK], len(blocks))
        for start in range(0, 0x110000, BLOCK)
    ]
    assert len(blocks) <= 256
    print(
        f"/* Sentence_Break of Unicode {UNICODE}, written by make_sentence_tables.py: do not "
        "edit.\n"
        " * class of code point c: sentence_stage2[sentence_stage1[c >> 7] * 128 + (c & 127)]. */"
    )
    print(
        "#ifndef LSHFAST_SENTENCE_TABLES_H\n#define LSHFAST_SENTENCE_TABLES_H\n\n#include "
        "<stdint.h>\n"
    )
    names = ", ".join(f"SENTENCE_{name.upper()}" for name in CLASSES)
    print(f"enum sentence_class {{ {names} }};\n")
    print(rows("sentence_stage1", stage1))
    print(rows("sentence_stage2", [one for block in blocks for one in block]))
    print("#endif")


if __name__ == "__main__":
    main()

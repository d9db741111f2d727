"""Write lshfast/records/values/unicode_forms.py: the classes of code points that normal forms need.

Run with two interpreters, whose unicodedata are of the two versions:
    python3.10 src/text/make_unicode_forms.py > assigned.txt
    python3.13 src/text/make_unicode_forms.py assigned.txt > lshfast/records/values/unicode_forms.py
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from textwrap import wrap

OLDEST = "13.0.0"
PINNED = "15.1.0"


def ranges(contains: Callable[[int], bool]) -> str:
    """Return the ranges of code points that a function accepts, as hexadecimal numbers."""
    found: list[list[int]] = []
    for code in range(0x110000):
        if contains(code):
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return " ".join(
        f"{first:x}" if first == last else f"{first:x}-{last:x}"
        for first, last in found
    )


def category(code: int) -> str:
    """Return the general category of a code point."""
    return unicodedata.category(chr(code))


def literal(name: str, text: str) -> str:
    """Return a long string as a literal of several lines."""
    lines = wrap(text, 113, break_on_hyphens=False)
    return f"{name} = (\n" + "\n".join(f'    "{line} "' for line in lines) + "\n)\n"


def main() -> None:
    """Write the ranges of the older version, or the module."""
    if len(sys.argv) == 1:
        assert unicodedata.unidata_version == OLDEST
        print(ranges(lambda code: category(code) == "Cn"))
        return
    assert unicodedata.unidata_version == PINNED
    with open(sys.argv[1], encoding="ascii") as file:
        later = file.read().split()
    forms = []
    for part in later:
        first, _, last = part.partition("-")
        for code in range(int(first, 16), int(last or first, 16) + 1):
            form = unicodedata.normalize(
                "NFKD", unicodedata.normalize("NFKD", chr(code)).casefold()
            )
            if form != chr(code):
                forms.append(
                    f"{code:x}:{','.join(f'{ord(letter):x}' for letter in form)}"
                )
    print(
        f'"""Code points of Unicode {PINNED}, '
        "written by src/text/make_unicode_forms.py: do not edit.\n\n"
        "Normalization and case folding never change for code points that are assigned, so those "
        f"of Unicode {OLDEST}\n"
        "are the same in every interpreter. LATER has the others, and LATER_FORMS the forms of "
        f"those that {PINNED}\n"
        'assigns. WORDS are letters, numbers and marks, MARKS marks alone.\n"""\n'
    )
    print(literal("LATER", " ".join(later)))
    print(literal("LATER_FORMS", " ".join(forms)))
    print(literal("WORDS", ranges(lambda code: category(code)[0] in "LNM")))
    print(literal("MARKS", ranges(lambda code: category(code)[0] == "M")), end="")


if __name__ == "__main__":
    main()

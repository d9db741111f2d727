"""Write unicode_tables.h: the class and the lower case of every code point, as definitions.md
defines them.

Run with the interpreter whose unicodedata is of the pinned version (Python 3.13):
    python3.13 src/text/make_unicode_tables.py > src/text/unicode_tables.h
The rows are kept in two stages of blocks of 128 code points: equal blocks are stored once.
"""

from __future__ import annotations

import sys
import unicodedata

UNICODE = "15.1.0"
BLOCK = 128
SEPARATOR, LETTER, MARK, SOLO, MIXED = range(5)
ROW = 64  # code points that differ in the last byte of their UTF-8 alone

SOLO_NAMES = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "HENTAIGANA",
    "BOPOMOFO",
    "YI SYLLABLE",
    "TANGUT",
    "NUSHU",
    "KHITAN",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "NEW TAI LUE",
    "TAI LE",
    "TAI THAM",
    "TAI VIET",
    "JAVANESE",
    "BALINESE",
)


def name_of(code: int) -> str:
    """Return the Unicode name of a code point; unicodedata leaves out those of the Tangut
    ideographs.
    """
    if 0x17000 <= code <= 0x187FF or 0x18D00 <= code <= 0x18D7F:
        return f"TANGUT IDEOGRAPH-{code:X}"
    return unicodedata.name(chr(code), "")


def class_of(code: int) -> int:
    """Return the class of a code point."""
    char = chr(code)
    category = unicodedata.category(char)
    if (category[0] == "L" or category == "Nl") and name_of(code).startswith(
        SOLO_NAMES
    ):
        return SOLO
    if category[0] in "LN" or char == "_":
        return LETTER
    return MARK if category[0] == "M" else SEPARATOR


def lower_of(code: int) -> int:
    """Return the simple lower case of a code point; str.lower gives two characters for U+0130
    alone.
    """
    return ord(chr(code).lower()[0])


def rows(name: str, kind: str, values: list[int]) -> str:
    """Return a C array, twenty values a line."""
    lines = [", ".join(map(str, values[i : i + 20])) for i in range(0, len(values), 20)]
    return (
        f"static const {kind} {name}[{len(values)}] = {{\n    "
        + ",\n    ".join(lines)
        + "\n};\n"
    )


def bits(name: str, values: list[bool]) -> str:
    """Return a C array of bits, the lowest first."""
    packed = [
        sum(value << i for i, value in enumerate(values[at : at + 8]))
        for at in range(0, len(values), 8)
    ]
    return rows(name, "uint8_t", packed)


def main() -> None:
    if unicodedata.unidata_version != UNICODE:
        sys.exit(
            f"this interpreter has Unicode {unicodedata.unidata_version}; the tables are of "
            f"{UNICODE}"
        )
    properties: dict[tuple[int, int], int] = {}
    blocks: dict[tuple[int, ...], int] = {}
    stage1 = []
    for start in range(0, 0x110000, BLOCK):
        block = tuple(
            properties.setdefault(
                (class_of(code), lower_of(code) - code), len(properties)
            )
            for code in range(start, start + BLOCK)
        )
        stage1.append(blocks.setdefault(block, len(blocks)))
    changes = [lower_of(code) != code for code in range(0x10000)]
    classes = [
        MIXED if changed else class_of(code) for code, changed in enumerate(changes)
    ]
    uniform = [{*classes[start : start + ROW]} for start in range(0, 0x10000, ROW)]
    assert len(properties) <= 256
    assert len(blocks) <= 65536
    print(
        f"/* Classes and lower case of Unicode {UNICODE}, written by make_unicode_tables.py: do "
        "not edit."
    )
    print(
        " * property of code point c: unicode_stage2[unicode_stage1[c >> 7] * 128 + (c & 127)]. */"
    )
    print(
        "#ifndef LSHFAST_UNICODE_TABLES_H\n#define LSHFAST_UNICODE_TABLES_H\n\n#include "
        "<stdint.h>\n"
    )
    print(rows("unicode_class", "uint8_t", [c for c, _ in properties]))
    print(rows("unicode_delta", "int32_t", [d for _, d in properties]))
    print(rows("unicode_stage1", "uint16_t", stage1))
    print(rows("unicode_stage2", "uint8_t", [p for block in blocks for p in block]))
    print(
        "/* Of code points c of two bytes, bit c & 7 of byte c >> 3: letters, marks, those with a "
        "lower case. */"
    )
    print(
        bits("unicode_two_letters", [class_of(code) == LETTER for code in range(0x800)])
    )
    print(bits("unicode_two_marks", [class_of(code) == MARK for code in range(0x800)]))
    print(bits("unicode_two_changes", changes[:0x800]))
    print(
        "/* Row c >> 6: the class of its 64 code points, or UNICODE_MIXED where it or the case "
        "differs. */"
    )
    print(f"#define UNICODE_MIXED {MIXED}")
    print(
        rows(
            "unicode_rows",
            "uint8_t",
            [row.pop() if len(row) == 1 else MIXED for row in uniform],
        )
    )
    print("#endif")


if __name__ == "__main__":
    main()

"""Write normal_tables.h: what normal forms NFC and NFKC need of every code point.

Run with the interpreter whose unicodedata is of the pinned version (Python 3.13):
    python3.13 src/unicode/make_normal_tables.py > src/unicode/normal_tables.h
The records are kept in two stages of blocks of 128 code points: equal blocks are stored once. The
syllables of Hangul have no records of their own: their decomposition is computed.
"""

from __future__ import annotations

import sys
import unicodedata
from typing import NamedTuple

UNICODE = "15.1.0"
BLOCK = 128
ROW = 64  # code points that differ in the last byte of their UTF-8 alone
PAIR_BITS = 11
MULTIPLIERS = 0x9E3779B1, 0x85EBCA6B

# What a code point is for the scan of a form. Others are marks, with the number of their class.
STARTS, BEGINS, OPEN = 0, 254, 255

HANGUL = range(0xAC00, 0xD7A4)
VOWELS = range(0x1161, 0x1176)
TRAILING = range(0x11A8, 0x11C3)


class Record(NamedTuple):
    """What normal forms need of a code point; `steps` and `decompositions` are of NFC and NFKC."""

    order: int
    combines: bool
    steps: tuple[int, int]
    decompositions: tuple[int, int]


def composite_pairs() -> dict[tuple[int, int], int]:
    """Return the pairs of code points that compose, except those of Hangul."""
    pairs = {}
    for code in range(0x110000):
        parts = unicodedata.decomposition(chr(code)).split()
        is_canonical = len(parts) == 2 and not parts[0].startswith("<")
        if is_canonical and unicodedata.is_normalized("NFC", chr(code)):
            first, second = (int(part, 16) for part in parts)
            pairs[first, second] = code
    return pairs


PAIRS = composite_pairs()
SECONDS = {second for _, second in PAIRS} | {*VOWELS} | {*TRAILING}
ORDERS = sorted({unicodedata.combining(chr(code)) for code in range(0x110000)})


def step_of(code: int, form: str) -> int:
    """Return STARTS, BEGINS, OPEN or the class of a mark, for the scan of NFC or NFKC.

    A code point STARTS if it is its own form and never changes with what stands before it. It
    BEGINS if its form does so. A mark is its own form where the classes before it are not higher.
    """
    char = chr(code)
    order = ORDERS.index(unicodedata.combining(char))
    is_own_form = unicodedata.is_normalized(form, char) and code not in SECONDS
    if is_own_form and order:
        return order
    decomposed = unicodedata.normalize(form.replace("C", "D"), char)
    first = decomposed[0]
    if unicodedata.combining(first) or ord(first) in SECONDS:
        assert not is_own_form
        return OPEN
    return STARTS if is_own_form else BEGINS


def row_of(first: int) -> int:
    """Return for which forms the code points of a row all START, as bits; surrogates do not."""
    codes = range(first, first + ROW)
    if unicodedata.category(chr(first)) == "Cs":
        return 0
    return sum(
        bit
        for bit, form in ((1, "NFC"), (2, "NFKC"))
        if all(step_of(code, form) == STARTS for code in codes)
    )


def rows(name: str, kind: str, values: list[object]) -> str:
    """Return a C array, sixteen values a line."""
    lines = [", ".join(map(str, values[i : i + 16])) for i in range(0, len(values), 16)]
    return (
        f"static const {kind} {name}[{len(values)}] = {{\n    "
        + ",\n    ".join(lines)
        + "\n};\n"
    )


def table_of_pairs() -> list[object]:
    """Return the places of the hash table of pairs: first, second and composite, or zeros."""
    places: list[object] = ["{0, 0, 0}"] * (1 << PAIR_BITS)
    for (first, second), code in sorted(PAIRS.items()):
        mixed = (first * MULTIPLIERS[0] + second * MULTIPLIERS[1]) & 0xFFFFFFFF
        place = mixed >> (32 - PAIR_BITS)
        while places[place] != "{0, 0, 0}":
            place = (place + 1) % len(places)
        places[place] = f"{{{first}, {second}, {code}}}"
    return places


def main() -> None:
    """Write the header to standard output."""
    if unicodedata.unidata_version != UNICODE:
        sys.exit(
            f"this interpreter has Unicode {unicodedata.unidata_version}; the tables are of "
            f"{UNICODE}"
        )
    sequences: list[object] = [0]
    places: dict[str, int] = {}

    def place_of(code: int, form: str) -> int:
        """Return the place of a decomposition in `sequences`: its length, then code points."""
        decomposed = unicodedata.normalize(form, chr(code))
        if decomposed == chr(code) or code in HANGUL:
            return 0
        if decomposed not in places:
            places[decomposed] = len(sequences)
            sequences.extend([len(decomposed), *map(ord, decomposed)])
        return places[decomposed]

    records: dict[Record, int] = {}
    blocks: dict[tuple[int, ...], int] = {}
    stage1: list[object] = []
    for start in range(0, 0x110000, BLOCK):
        block = []
        for code in range(start, start + BLOCK):
            record = Record(
                ORDERS.index(unicodedata.combining(chr(code))),
                code in SECONDS,
                (step_of(code, "NFC"), step_of(code, "NFKC")),
                (place_of(code, "NFD"), place_of(code, "NFKD")),
            )
            block.append(records.setdefault(record, len(records)))
        stage1.append(blocks.setdefault(tuple(block), len(blocks)))
    assert len(records) <= 65536
    assert len(blocks) <= 256
    assert len(sequences) <= 65536
    assert len(ORDERS) <= 64
    print(
        f"/* Normal forms of Unicode {UNICODE}, written by make_normal_tables.py: do not edit.\n"
        " * record of code point c: normal_stage2[normal_stage1[c >> 7] * 128 + (c & 127)]. */"
    )
    print(
        "#ifndef LSHFAST_NORMAL_TABLES_H\n#define LSHFAST_NORMAL_TABLES_H\n\n#include <stdint.h>\n"
    )
    print(f"#define NORMAL_STARTS {STARTS}")
    print(f"#define NORMAL_BEGINS {BEGINS}")
    print(f"#define NORMAL_OPEN {OPEN}")
    print(f"#define NORMAL_ORDERS {len(ORDERS)}")
    print(f"#define NORMAL_PAIR_BITS {PAIR_BITS}")
    print(f"#define NORMAL_FIRST_MULTIPLIER UINT32_C({MULTIPLIERS[0]})")
    print(f"#define NORMAL_SECOND_MULTIPLIER UINT32_C({MULTIPLIERS[1]})\n")
    print(
        "/* order: the number of the class of a mark, 0 of others. combines: it may compose with "
        "what stands before it.\n"
        " * steps, decompositions: for NFC and NFKC; a decomposition is a place in "
        "normal_sequences, 0 for none. */"
    )
    print(
        "struct normal_record {\n    uint8_t order, combines, steps[2];\n"
        "    uint16_t decompositions[2];\n};\n"
    )
    print("struct normal_pair {\n    uint32_t first, second, composite;\n};\n")
    lines: list[object] = [
        f"{{{order}, {int(combines)}, {{{steps[0]}, {steps[1]}}}, {{{own[0]}, {own[1]}}}}}"
        for order, combines, steps, own in records
    ]
    print(rows("normal_records", "struct normal_record", lines))
    print(rows("normal_stage1", "uint8_t", stage1))
    print(rows("normal_stage2", "uint16_t", [one for block in blocks for one in block]))
    print("/* The length of each decomposition, then its code points. */")
    print(rows("normal_sequences", "uint32_t", sequences))
    print(
        "/* Row c >> 6, of c below 0x10000: bit 0 and 1 say that its 64 code points all START for "
        "NFC and NFKC. */"
    )
    print(rows("normal_rows", "uint8_t", [row_of(c) for c in range(0, 0x10000, ROW)]))
    print("/* A hash table with open addressing of the pairs that compose. */")
    print(rows("normal_pairs", "struct normal_pair", table_of_pairs()))
    print("#endif")


if __name__ == "__main__":
    main()

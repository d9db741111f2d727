"""Write golden.json: values of definitions.md as the reference computes them, pinned for every later version.

    python -m tests.make_golden

A value that changes is a change of format, and needs a new format version. 64-bit numbers are written in hexadecimal,
since many readers of JSON round them.
"""

import json
from pathlib import Path
from typing import Any

from tests.reference import (
    affine,
    bits,
    cardinality,
    families_lines,
    families_vectors,
    hashing,
    minhash,
    simhash,
    text,
    weighted,
)

PATH = Path(__file__).with_name("golden.json")
MOST = 2**64 - 1

STRINGS = [
    "",
    "a",
    "b\0",
    "seven b",
    "eight by",
    "fourteen bytes",
    "fifteen bytes !",
    "x" * 100,
]
STRINGS += ["Gr\u00fc\u00dfe, \u4e16\u754c \U0001f600"]
INTEGERS = [0, 1, -1, 42, 2**63, -(2**63), 2**64 - 2]

# Latin with case mappings that change the length in UTF-8; scripts without spaces; others, with
# marks and four bytes.
TEXTS = [
    "The na\u00efve \u0130stanbul caf\u00e9\u2019s 2nd x86_64 \u212a\u1e9e\u023a, cafe\u0301 "
    "\u2014 THE NA\u00cfVE \u0130stanbul!",
    "\u4e16\u754cHello2024\u5e74x \u30ab\u30e1\u30e9\u30fc\u30fb\u304b\u3099 "
    "\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48 \u0e01\u0e33 \U00020000",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u041c\u0418\u0420! \u039f\u0394\u039f\u03a3 \u0645\u064f\u062d "
    "\u0928\u092e\u0938\u094d\u0924\u0947 \U00010400\U00010428 \U0001f600\ufe0f \ud55c\uad6d\uc5b4 \u0301",
]
SETS = {
    "of one": [7],
    "of edges": [0, 1, 2**61 - 1, MOST],
    "of many": [hashing.token_of_int(i, 1) for i in range(50)],
}
SHINGLES = [
    ("word", 1),
    ("word", 3),
    ("word", 200),
    ("char", 1),
    ("char", 5),
    ("char", 20),
]
SLOTS, BANDS, ROWS = 16, 5, 3
FINGERPRINT_KEYS = [
    (2**32, 2**32),
    (2**61 - 2, 2**61 - 2),
    (0x123456789ABCDEF, 0x1EDCBA987654321),
]


def hexadecimal(values: list[int] | tuple[int, ...]) -> list[str]:
    """Return numbers as JSON keeps them."""
    return [f"{value:016x}" for value in values]


def cases() -> dict[str, Any]:
    """Compute all cases with the reference: each with its input and what must come out."""
    of_unit = {"word": text.word_shingles, "char": text.character_shingles}
    schemes = {"classic": minhash.classic, "fast": minhash.fast}
    signatures = [
        {
            "set": name,
            "tokens": hexadecimal(tokens),
            "scheme": scheme,
            "seed": f"{seed:016x}",
            "signature": hexadecimal(sketch(tokens, SLOTS, seed)),
            "bands": BANDS,
            "rows": ROWS,
            "keys": hexadecimal(
                minhash.band_keys(sketch(tokens, SLOTS, seed), BANDS, ROWS)
            ),
        }
        for name, tokens in {"empty": [], **SETS}.items()
        for scheme, sketch in schemes.items()
        for seed in (1, MOST)
    ]
    return {
        "strings": [
            {
                "string": string,
                "seed": f"{seed:016x}",
                "token": f"{hashing.token_of_bytes(string.encode(), seed):016x}",
            }
            for string in STRINGS
            for seed in (0, 1, MOST)
        ],
        "integers": [
            {
                "integer": str(value),
                "seed": f"{seed:016x}",
                "token": f"{hashing.token_of_int(value, seed):016x}",
            }
            for value in INTEGERS
            for seed in (0, 1, MOST)
        ],
        "shingles": [
            {
                "text": line,
                "unit": unit,
                "size": size,
                "seed": f"{1:016x}",
                "tokens": hexadecimal(of_unit[unit](line, size, 1)),
            }
            for line in TEXTS
            for unit, size in SHINGLES
        ],
        "signatures": signatures,
        "fingerprints": [
            {
                "tokens": hexadecimal(tokens),
                "key": hexadecimal(key),
                "fingerprint": hexadecimal(minhash.fingerprint(tokens, key)),
            }
            for tokens in ([], *SETS.values(), [5, 5, 6])
            for key in FINGERPRINT_KEYS
        ],
        **bits.golden(),
        **simhash.golden(),
        **cardinality.golden(),
        **weighted.golden(),
        **families_lines.golden(),
        **families_vectors.golden(),
        "affine": affine.golden(),
    }


def written(group: Any) -> str:
    """Return a group as JSON: of a list, one case a line."""
    return (
        "[\n" + ",\n".join(map(json.dumps, group)) + "\n]"
        if isinstance(group, list)
        else json.dumps(group)
    )


if __name__ == "__main__":
    groups = (f'"{name}": {written(group)}' for name, group in cases().items())
    PATH.write_text("{\n" + ",\n".join(groups) + "\n}\n", encoding="ascii")

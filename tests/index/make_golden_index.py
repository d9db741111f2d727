"""Write golden_index/: saved indexes that every later library must open and answer as file-format.md has it.

    python -m tests.index.make_golden_index

Files that are there are never written anew, as they stand for those that users have: a new version of the format, or
tables that are laid out otherwise, bring new cases.
"""

from pathlib import Path

import numpy as np

from lshfast import (
    HammingIndex,
    LSHEnsemble,
    LSHForest,
    LSHIndex,
    TanimotoIndex,
    TokenSets,
)
from lshfast.exact import PrefixIndex
from lshfast.families import SimHashFamily
from tests.index.index_model import EMPTY
from tests.reference.hashing import mix64

FOLDER = Path(__file__).with_name("golden_index")

SMALL = {"num_perm": 8, "bands": 3, "rows_per_band": 2}
INTEGERS = [0, -1, 1, 2**63 - 1, -(2**63), 42, 2**32, 7, 8]
UNSIGNED = [0, 2**64 - 1, 1, 2**63 - 1, 2**63, 42, 2**32, 7, 8]
STRINGS = [
    "",
    "a",
    "a\0",
    "\0",
    "eight by",
    "nine byte",
    "Gr\u00fc\u00dfe, \u4e16\u754c \U0001f600",
    "x" * 50,
    "b",
]


def signature(number):
    """Return a signature of eight slots of few values; each seventh is that of an empty set."""
    if number % 7 == 3:
        return (EMPTY,) * 8
    return tuple(mix64(8 * number + slot) % 2 + slot // 2 for slot in range(8))


def entries_of(keys, first=0):
    return {key: signature(first + i) for i, key in enumerate(keys)}


def insert(index, entries):
    index.insert(
        list(entries),
        np.array(list(entries.values()), np.uint64).reshape(len(entries), 8),
    )


def empty(path):
    LSHIndex(**SMALL, scheme="classic", seed=2**64 - 1, threshold=0.5).save(path)
    return {}


def saved(path, keys):
    index = LSHIndex(**SMALL, shingles="word:5")
    insert(index, entries_of(keys))
    index.save(path)
    return entries_of(keys)


def grown(path, keys):
    """Three commits: new entries, one replaced and one removed; more than one part stays."""
    saved(path, keys)
    with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
        insert(index, entries_of(keys[3:5], first=100))
        index.commit()
        index.remove(keys[0])
        index.commit()
        insert(index, entries_of(keys[:1], first=200))
    return {
        **entries_of(keys),
        **entries_of(keys[3:5], first=100),
        **entries_of(keys[:1], first=200),
    }


BITS = {"family": SimHashFamily(seed=7), "bands": 4, "rows_per_band": 4}


def code(number):
    """Return a code of 64 bits, of which the family uses 16; each seventh is that of an empty set."""
    return EMPTY if number % 7 == 3 else mix64(number) & 0xFFFF_FFFF_FFFF_0F0F


def row_of_code(code):
    """Return the words of a row: four buckets of four bits, and the 16 bits."""
    return (
        (EMPTY,) * 4 + (0,)
        if code == EMPTY
        else (*(code >> 4 * j & 15 for j in range(4)), code & 0xFFFF)
    )


def family(path, keys):
    """Write an index of version 2, in two commits, the second of which removes an entry."""
    index, new = LSHIndex(**BITS), "new" if isinstance(keys[0], str) else 99
    index.insert(keys, np.array([[code(i)] for i in range(len(keys))], np.uint64))
    index.save(path)
    with LSHIndex.open(path, "r+") as index:
        index.insert(new, np.array([code(50)], np.uint64))
        index.commit()
        index.remove(keys[1])
    found = {key: row_of_code(code(i)) for i, key in enumerate(keys) if i != 1}
    return {**found, new: row_of_code(code(50))}


def codes_of(path, keys, index):
    """Write the codes of an index of 100 bits, after a removal and a replacement; its bytes are golden, too."""
    words = {key: (mix64(i), mix64(~i) >> 28) for i, key in enumerate(keys)}
    index.insert(keys, np.array(list(words.values()), np.uint64).reshape(-1, 2))
    if keys:
        index.remove(keys[1])
        index.insert(keys[0], np.array([3, 4], np.uint64))
        words = {**{key: words[key] for key in keys[2:]}, keys[0]: (3, 4)}
    index.save(path)
    return words


def prefix(path, keys, threshold, seed):
    """Write the sets of a PrefixIndex, one of which was removed; its bytes are golden, too."""
    index = PrefixIndex(threshold=threshold, measure="dice", seed=seed)
    sets = dict(zip(keys, SETS, strict=False))
    index.insert([*sets], TokenSets.from_sets(sets.values(), seed=seed))
    if keys:
        index.remove(keys[1])
        del sets[keys[1]]
    index.save(path)
    return sets


def tree(path, keys, make):
    """Write the entries of a forest or an ensemble, one of which was removed and one replaced."""
    index = make(
        num_perm=8,
        trees=3,
        scheme="classic",
        seed=2**64 - 1,
        on_duplicate="replace",
        recall=0.7,
    )
    entries = {
        key: (signature(i), 0 if i % 7 == 3 else i + 1) for i, key in enumerate(keys)
    }
    for first in (0, 4):
        some = dict([*entries.items()][first:])
        arrays = [
            np.array([entry[i] for entry in some.values()], (np.uint64, np.int64)[i])
            for i in (0, 1)
        ]
        index.insert(
            [*some], arrays[0].reshape(-1, 8), *arrays[1 : 1 + (make is LSHEnsemble)]
        )
    if keys:
        index.remove(keys[1])
        del entries[keys[1]]
    index.save(path)
    return entries


SETS = [["a", "b", "c"], ["x"], [], ["b", "c", "d"], ["a", "b", "c", "d"]]

# What writes each file, and returns what it holds; those of families, too.
KEYS = (
    ("empty", []),
    ("integers", INTEGERS),
    ("unsigned", UNSIGNED),
    ("strings", STRINGS),
)
CASES = {
    "empty.lsh": empty,
    "integers.lsh": lambda path: saved(path, INTEGERS),
    "strings.lsh": lambda path: saved(path, STRINGS),
    "unsigned.lsh": lambda path: saved(path, UNSIGNED),
    "grown-unsigned.lsh": lambda path: grown(path, UNSIGNED),
    "grown-integers.lsh": lambda path: grown(path, INTEGERS),
    "grown-strings.lsh": lambda path: grown(path, STRINGS),
}
FAMILIES = {
    "family-integers.lsh": lambda path: family(path, INTEGERS),
    "family-strings.lsh": lambda path: family(path, STRINGS),
}
CODES = {
    f"{kind}-{name}.lsh": lambda path, keys=keys, make=make: codes_of(
        path, keys, make()
    )
    for kind, make in (
        ("hamming", lambda: HammingIndex(100, radius=5, on_duplicate="replace")),
        ("tanimoto", lambda: TanimotoIndex(100, threshold=0.6, on_duplicate="replace")),
    )
    for name, keys in KEYS
}
PREFIX = {
    "prefix-empty.lsh": lambda path: prefix(path, [], 0.5, 3),
    "prefix-integers.lsh": lambda path: prefix(path, INTEGERS, (4, 7), 3),
    "prefix-unsigned.lsh": lambda path: prefix(path, UNSIGNED, (4, 7), 3),
    "prefix-strings.lsh": lambda path: prefix(path, STRINGS, 0.5, 2**64 - 1),
}
# Of version 1, whose keys were numbers from 0.
NUMBERED = "prefix-fraction.lsh", "prefix-number.lsh"
TREES = {
    f"{kind}-{name}.lsh": lambda path, keys=keys, make=make: tree(path, keys, make)
    for kind, make in (("forest", LSHForest), ("ensemble", LSHEnsemble))
    for name, keys in KEYS
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, write in (CASES | FAMILIES | CODES | PREFIX | TREES).items():
        if not (FOLDER / name).exists():
            write(FOLDER / name)

"""Calls of all kernels with arguments that are out of range, in an order that no program needs.

    python -m tests.kernels.hostile_calls CALLS [MODULE...]

calls each function, class and method CALLS times. Errors are expected. If a kernel raises SystemError, the program
prints FAULT; if it reads or writes foreign memory, it ends by a signal. The last line that it prints is the call that
it made last. The arguments are the same in every run.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lshfast.kernels
from lshfast.kernels import (
    affine,
    gate,
    grouping,
    hamming,
    json,
    keys,
    kmers,
    meetings,
    pairs,
    passages,
    probes,
    ranks,
    setjoin,
    sets,
    tables,
    terms,
    text,
    trees,
)

INTEGERS = [
    0,
    1,
    2,
    3,
    8,
    64,
    -1,
    2**15,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
]
FLOATS = [0.0, 0.5, 1.0, -1.0, 1e-300, 1e308, float("inf"), float("nan")]
TYPES = {
    "double": np.float64,
    "float": np.float32,
    "int32_t": np.int32,
    "int64_t": np.int64,
    "real": np.float32,
    "uint16_t": np.uint16,
    "uint32_t": np.uint32,
    "uint64_t": np.uint64,
    "uint8_t": np.uint8,
}
# What waits for another thread, and what changes the process.
LEFT_OUT = {
    "Gate.enter_read",
    "Gate.enter_write",
    "_Side.__enter__",
    "gate._renew_gates",
    "guards.watch",
    "cpu.use_level",
}
# The parameters of functions of several types, whose docstrings do not name them.
SIGNATURES = {
    "rotations.rotate": "real[::1] values, int64_t[::1] offsets, int64_t[::1] columns, size_t dim, factors, "
    "real[:, ::1] out",
    "rotations.codes": "real[::1] values, int64_t[::1] offsets, int64_t[::1] columns, size_t dim, factors, "
    "uint64_t[:, ::1] out",
    "rotations.farthest": "real[::1] values, int64_t[::1] offsets, int64_t[::1] columns, size_t dim, factors, "
    "size_t count, uint64_t[:, ::1] out",
    "projections.dense": "real[:, ::1] vectors, float[:, ::1] matrix, double[::1] offsets, double width, out",
    "projections.sparse": "int64_t[::1] starts, int64_t[::1] columns, real[::1] data, float[:, ::1] matrix, "
    "double[::1] offsets, double width, out",
}


def numbers(count: int, kind: Any = np.int64) -> Any:
    return np.arange(count, dtype=kind)


def signatures(rows: int, slots: int) -> Any:
    return np.arange(rows * slots, dtype=np.uint64).reshape(rows, slots) % np.uint64(5)


def filled_blocks() -> hamming.Blocks:
    blocks = hamming.Blocks(signatures(8, 1), np.array([[3], [12]], np.uint64))
    blocks.fill(0)
    blocks.fill(1)
    return blocks


def set_records() -> setjoin.SetRecords:
    starts = np.array([0, 2], np.uint64)
    counts = np.array([2, 3], np.uint32)
    return setjoin.SetRecords(
        counts, counts, starts, np.array([0, 1, 0, 1, 2], np.uint32), 5
    )


RULE = (0, 1, 2, 0.5)


def bit_search() -> setjoin.BitSearch:
    records = set_records()
    classes = setjoin.SizeClasses(RULE, records)
    return setjoin.BitSearch(
        classes, records.bitmaps(True), records, records.bitmaps(False), True
    )


def band_tables(kind: str | None = "int") -> tables.BandTables:
    table = tables.BandTables(8, 4, 2, kind)
    if kind is None:
        rows = table.allot(5)
        table.write(rows, signatures(5, 8))
    else:
        names = numbers(5) if kind == "int" else list("abcde")
        table.insert(names, signatures(5, 8), "error")
    return table


def term_rows() -> terms.TermRows:
    return terms.TermRows(
        np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([0.5, 0.5, 1.0]), 3
    )


def snapshot() -> trees.Snapshot:
    rows = signatures(6, 8) + np.uint64(1)
    run = trees.Run.build(rows, numbers(5), 2)
    steps = np.array([[0, 1, 1], [1, 1, 1]], np.uint32)
    live = np.ones(6, np.uint8)
    return trees.Snapshot(
        rows, trees.slot_marks(rows), live, numbers(6) + 1, 2, [[run]], [5], steps, []
    )


def a_grouping() -> grouping.Grouping:
    made = grouping.Grouping(
        np.zeros((8, 1), np.int32),
        np.array([1]),
        signatures(8, 1),
        numbers(8),
        0,
        0.5,
        True,
        False,
    )
    made.hold(
        numbers(8, np.int32), np.arange(0, 25, 3), np.tile(numbers(3, np.uint64), 8)
    )
    return made


def crowded_grouping() -> grouping.Grouping:
    made = a_grouping()
    made.start(0, 2**62)
    made.step(3)
    counts = np.zeros(1 << grouping.COUNT_BITS, np.uint8)
    made.begin_crowd(counts, 255)
    return made


def a_meeting() -> meetings.Meetings:
    bucket = np.zeros(4, np.uint64)
    rows = numbers(4, np.int32)
    return meetings.Meetings(
        bucket, rows, bucket, rows, signatures(4, 1), 64, np.full(4, 4, np.int32)
    )


def scanned_lines() -> json.ScannedLines:
    data = b'{"text": "a", "id": 1}\n{"text": "b", "id": "x"}\n'
    padded = np.frombuffer(data + bytes(64), np.uint8)
    return json.scan(padded, 0, len(data), b"text", (b"id",))


def field_codes() -> pairs.FieldCodes:
    codes = np.array([[0, 1], [1, -1]], np.int32)
    return pairs.FieldCodes(
        codes, codes, np.ones(4), np.array([0, 2, 4]), np.zeros(2), np.zeros(2)
    )


# Objects of each class that are ready for use.
OBJECTS: dict[str, list[Callable[[], Any]]] = {
    "Functions": [
        lambda: affine.Functions(
            "classic", 4, numbers(16, np.uint64) + 1, numbers(16, np.uint64)
        )
    ],
    "NativeRows": [lambda: affine.NativeRows(1)],
    "Tokens": [lambda: affine.Tokens([[b"a", b"bc"], []])],
    "_ArrowColumn": [],
    "Gate": [gate.Gate],
    "CrowdedBuckets": [grouping.CrowdedBuckets],
    "Grouping": [a_grouping, crowded_grouping],
    "RowPairs": [
        lambda: grouping.RowPairs(
            np.zeros((4, 2), np.int32),
            np.array([1, 1]),
            signatures(4, 8),
            numbers(4),
            1,
        )
    ],
    "Best": [lambda: hamming.Best(3, 2)],
    "Blocks": [
        filled_blocks,
        lambda: hamming.Blocks(signatures(8, 1), np.array([[3], [12]], np.uint64)),
    ],
    "Counted": [
        lambda: hamming.Counted(signatures(8, 1), True),
        lambda: hamming.Counted(signatures(8, 1), False),
    ],
    "IntKeys": [hamming.IntKeys],
    "Keepers": [lambda: hamming.Keepers(filled_blocks(), 1, np.full(2, 2, np.uint8))],
    "ScannedLines": [scanned_lines],
    "KeyTable": [keys.KeyTable],
    "KmerReader": [lambda: kmers.KmerReader(3, 2**63)],
    "Meetings": [a_meeting],
    "FieldCodes": [field_codes],
    "Vocabulary": [lambda: passages.Vocabulary(3)],
    "_Space": [lambda: probes._Space(2, 2, 2, 2)],
    "TokenFilter": [lambda: ranks.TokenFilter(8)],
    "TokenParts": [
        lambda: ranks.TokenParts([(np.array([2, 1], np.uint32), numbers(3, np.uint64))])
    ],
    "BitSearch": [bit_search],
    "Prefixes": [lambda: setjoin.Prefixes(RULE, set_records(), False)],
    "Search": [
        lambda: setjoin.Search(
            setjoin.Prefixes(RULE, set_records(), False), set_records()
        )
    ],
    "SetRecords": [set_records],
    "SizeClasses": [lambda: setjoin.SizeClasses(RULE, set_records())],
    "TokenRanks": [setjoin.TokenRanks],
    "Components": [lambda: sets.Components(8)],
    "BandTables": [band_tables, lambda: band_tables("str"), lambda: band_tables(None)],
    "TermRows": [term_rows],
    "TermIndex": [
        lambda: terms.TermIndex(term_rows(), numbers(2), np.ones(3, np.uint8))
    ],
    "HashKey": [lambda: text.HashKey(1, 2, 3, 4)],
    "Texts": [lambda: text.Texts(["a b c", "", "d"])],
    "Run": [lambda: trees.Run.build(signatures(6, 8) + np.uint64(1), numbers(5), 2)],
    "Snapshot": [snapshot],
}
VALUES: dict[str, list[Any]] = {
    "texts": [["a b c", "", "é d"], [], [None], "text"],
    "source": [["a b c", "", "é d"], [], [None], "text"],
    "tokens": [[b"a", "b", 3], [], [None], numbers(3, np.uint64)],
    "names": [numbers(3), ["a", "b"], ["a", "a"], [], [2**70], np.array([-1, -1])],
    "keys": [numbers(3), ["a", "b"], ["a", "a"], [], None],
    "on_duplicate": ["error", "replace", "skip", "other"],
    "measure": [
        "hamming",
        "euclidean",
        "cosine",
        "manhattan",
        ("cosine", "float32", 1),
        ("hamming", "codes", 64),
    ],
    "layout": ["float32", "float64", "codes", "int"],
    "rule": [RULE, (1, 2, 3, 0.9), (9, 1, 0, 2.0), ()],
    "scheme": ["classic", "affine32", "affine64", "legacy"],
    "values": [numbers(4, np.uint64), numbers(4, np.uint32), np.zeros(0), [1]],
    "pieces": [
        [(np.array([2, 1], np.uint32), numbers(3, np.uint64))],
        [],
        [(np.array([9], np.uint32), numbers(3))],
    ],
    "parts": [[["a"], ["b"]], [], [None]],
    "registers": [
        np.zeros(16, np.uint8),
        np.full(16, 255, np.uint8),
        np.zeros(3, np.int8),
    ],
    "gone": [
        (),
        [(np.zeros(3, np.uint8), np.array([0, 2]))],
        [(np.zeros(3, np.uint8), np.array([7]))],
        [None],
    ],
    "row": [0, -1, 2**63, 2**64],
}
OTHERS = [
    None,
    0,
    1,
    -1,
    2**64,
    0.5,
    "a",
    b"a",
    [],
    ["a", "b"],
    (),
    (0, 1),
    {},
    numbers(3),
    numbers(3, np.uint64),
]


class Arguments:
    """Arguments of one call, of which the arrays often have the same length."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.n = self.random.choice([0, 1, 2, 3, 8])
        self.k = self.random.choice([1, 1, 2, 8])

    def of_signature(self, signature: str) -> list[Any]:
        """Return arguments for parameters as a docstring names them."""
        parameters = [
            part.strip()
            for part in re.split(r",(?![^\[(]*[\])])", signature)
            if part.strip()
        ]
        return [
            self.of_parameter(part.split("=")[0].strip())
            for part in parameters
            if part not in ("self", "*pieces")
        ]

    def of_parameter(self, parameter: str) -> Any:
        array = re.fullmatch(r"(?:const )?(\w+)(\[.*\]) (\w+)", parameter)
        if array:
            return self.array(
                TYPES[array[1]],
                array[2].count(":") - 1 if "::" in array[2] else 1,
                array[3],
            )
        kind, _, name = parameter.rpartition(" ")
        if kind in (
            "size_t",
            "uint64_t",
            "int64_t",
            "uint32_t",
            "int32_t",
            "Py_ssize_t",
            "int",
            "long",
            "unsigned",
        ):
            return self.random.choice(
                [0, 1, 2, self.n, self.k, self.n + 1, self.random.choice(INTEGERS)]
            )
        if kind in ("double", "float"):
            return self.random.choice(FLOATS)
        if kind in ("bool", "bint"):
            return self.random.choice([False, True])
        if OBJECTS.get(kind):
            return self.random.choice(OBJECTS[kind])()
        if kind in ("bytes", "tuple", "list", "dict"):
            return self.random.choice(
                {
                    "bytes": [b"a", b""],
                    "tuple": [(), (b"a",)],
                    "list": [[]],
                    "dict": [{}],
                }[kind]
            )
        return self.random.choice(
            VALUES.get(name, OTHERS) if self.random.random() < 0.8 else OTHERS
        )

    def array(self, kind: Any, dimensions: int, name: str) -> Any:
        rising = name in ("offsets", "starts", "other_offsets")
        length = self.n + 1 if rising else self.n
        shape = [length, *[self.k] * (dimensions - 1)]
        if self.random.random() < 0.15:
            shape[self.random.randrange(dimensions)] = self.random.choice(
                [0, 1, 4, 1 << 10 if dimensions == 1 else 64]
            )
        size = int(np.prod(shape))
        values = self.values(kind, size, rising)
        if self.random.random() < 0.2:  # an address that is not aligned
            raw = np.zeros(values.nbytes + 1, np.uint8)
            raw[1:] = values.view(np.uint8)
            values = raw[1:].view(kind)
        return values.reshape(shape)

    def values(self, kind: Any, size: int, rising: bool) -> Any:
        pattern = self.random.choice(
            ["rising", "small", "zeros", "equal", "falling", "any"]
        )
        if rising and pattern != "any":
            return np.minimum(np.arange(size), self.n).astype(kind)
        if pattern == "rising":
            return np.arange(size).astype(kind)
        if pattern == "falling":
            return np.arange(size)[::-1].astype(kind)
        if np.issubdtype(kind, np.floating):
            return np.array(
                [self.random.choice(FLOATS) for _ in range(size)], np.float64
            ).astype(kind)
        limits = np.iinfo(kind)
        pool = {
            "small": range(self.n + 1),
            "zeros": [0],
            "equal": [self.random.choice(INTEGERS)],
            "any": INTEGERS,
        }[pattern]
        values = [
            min(max(self.random.choice(pool), int(limits.min)), int(limits.max))
            for _ in range(min(size, 64))
        ]
        return (
            np.resize(np.array(values, kind), size) if values else np.zeros(size, kind)
        )


def signature_of(function: Any, name: str) -> str | None:
    """Return the parameters that the first line of a docstring names."""
    if name in SIGNATURES:
        return SIGNATURES[name]
    line = (getattr(function, "__doc__", None) or "").split("\n")[0]
    found = re.fullmatch(r"[\w.]+\((.*)\)", line)
    return found[1] if found and "_fused" not in line else None


def announce(call: str) -> None:
    """Print a call before it is made, so that it is the last line if the process ends."""
    os.write(1, f"{call}\n".encode())


def make_call(name: str, function: Callable[..., Any], arguments: list[Any]) -> None:
    try:
        result = function(*arguments)
        if isinstance(result, Iterator):
            list(result)
    except SystemError as error:
        announce(f"FAULT {name}: {error!r}")
    except Exception:
        pass


def raw_object(kind: type[Any]) -> Any:
    """Return an object of a class that was not initialised; None if the class makes none."""
    try:
        return kind.__new__(kind)
    except Exception:
        return None


def use_object(name: str, thing: Any, seed: str, most: int) -> None:
    """Call methods of an object, and read its attributes."""
    order = random.Random(seed)
    members = [
        member
        for member in dir(type(thing))
        if not member.startswith("__") or member == "__len__"
    ]
    members += ["__iter__"] * hasattr(thing, "__iter__") + ["__getitem__"] * hasattr(
        thing, "__getitem__"
    )
    for number in range(most if members else 0):
        member = order.choice(members)
        if f"{type(thing).__name__}.{member}" in LEFT_OUT:
            continue
        announce(f"{name}.{member} {seed} {number}")
        try:
            function = getattr(thing, member)
        except Exception:
            continue
        if not callable(function):
            continue
        signature = signature_of(function, f"{name}.{member}")
        arguments = (
            Arguments(f"{seed} {number} {member}").of_signature(signature)
            if signature
            else []
        )
        make_call(f"{name}.{member} {seed} {number}", function, arguments)


def call_class(name: str, kind: type[Any], calls: int) -> None:
    announce(f"{name}.__new__")
    thing = raw_object(kind)
    if thing is not None:
        use_object(f"{name} (raw)", thing, name, 3 * len(dir(kind)))
        for _ in range(2):
            make_call(f"{name}.__init__", thing.__init__, [])
            use_object(f"{name} (raw)", thing, f"{name} again", len(dir(kind)))
    for number in range(calls):
        arguments = Arguments(f"{name} {number}")
        for make in OBJECTS.get(kind.__name__, []):
            thing = make()
            use_object(name, thing, f"{name} {number}", 12)
            make_call(
                f"{name}.__init__", thing.__init__, arguments.of_signature("a, b")
            )
            use_object(name, thing, f"{name} {number} again", 3)


def call_module(module: Any, calls: int) -> None:
    short = module.__name__.rpartition(".")[2]
    for name, member in sorted(vars(module).items()):
        if (
            getattr(member, "__module__", None) != module.__name__
            or f"{short}.{name}" in LEFT_OUT
        ):
            continue
        if isinstance(member, type) and not issubclass(member, BaseException):
            call_class(f"{short}.{name}", member, calls)
            continue
        signature = signature_of(member, f"{short}.{name}")
        for number in range(calls if signature is not None and callable(member) else 0):
            announce(f"{short}.{name} {number}")
            arguments = Arguments(f"{short}.{name} {number}").of_signature(
                signature or ""
            )
            make_call(f"{short}.{name} {number}", member, arguments)


def main(calls: int, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    found = sorted(
        module.name for module in pkgutil.iter_modules(lshfast.kernels.__path__)
    )
    for name in names or found:
        call_module(importlib.import_module(f"lshfast.kernels.{name}"), calls)
    announce("END")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

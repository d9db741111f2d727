"""Arrow arrays and streams, and numpy arrays, of a hostile producer.

Valid arrays of pyarrow are exported, and what a reader can check is made wrong: lengths, numbers of buffers and
children, pointers that are NULL, indices and views. The interface does not tell how long buffers are, so offsets stay
within them. Whatever is read gives texts, or one of REFUSED. A numpy array gives what its plain copy gives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import as_strided

import lshfast
from lshfast.kernels.arrow import read_column
from lshfast.kernels.text import Texts, word_shingles
from tests.fuzz.damage import EDGES

REFUSED = (ValueError, TypeError, OverflowError, IndexError, MemoryError)

WORDS = ["", "plain", "naïve Ünïcode", "twelve bytes", "thirteen byte", "中文 字", None]


# ---- Arrow ----


class ArrowArray(ctypes.Structure):
    """The struct of the C data interface, as far as an input changes it."""


ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset")),
    *((name, ctypes.c_int64) for name in ("n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
]


class Exported:
    """What has the Arrow interface, and hands out the capsules of another array."""

    def __init__(self, capsules: tuple[Any, Any], *memory: Any) -> None:
        self._capsules = capsules
        self._memory = memory

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._capsules


def inside(capsule: Any, name: bytes, struct: type[Any]) -> Any:
    """Return the C struct that a capsule points to."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return struct.from_address(pointer_of(capsule, name))


def array_in(capsule: Any) -> ArrowArray:
    return inside(capsule, b"arrow_array", ArrowArray)


def valid_arrays(chance: Random) -> list[pa.Array]:
    texts = [chance.choice(WORDS) for _ in range(chance.randrange(1, 12))]
    strings = pa.array(texts, pa.string())
    integers = pa.array([chance.randrange(99) for _ in texts], pa.int32())
    views = [strings.cast(pa.string_view())] if hasattr(pa, "string_view") else []
    return [
        strings,
        strings.cast(pa.large_string()),
        strings.dictionary_encode(),
        *views,
        pa.StructArray.from_arrays([strings], ["text"]),
        pa.array([texts[:2], [], texts[2:]], pa.list_(pa.string())),
        pa.array([texts[:2], [], texts[2:]], pa.large_list(pa.string())),
        pa.array([texts[:1], texts[-1:]], pa.list_(pa.string(), 1)),
        pa.array([[1, 2], [], [3]], pa.list_(pa.int64())),
        integers,
        pa.nulls(3),
    ]


def wrong_length(array: ArrowArray, chance: Random) -> None:
    """Make it shorter or negative: how long the buffers are, no reader can know."""
    array.length = chance.choice([-1, -(2**63), 0, array.length // 2])


def wrong_offset(array: ArrowArray, chance: Random) -> None:
    array.offset = chance.choice([-1, -(2**63), array.offset])


def wrong_counts(array: ArrowArray, chance: Random) -> None:
    array.n_buffers = chance.choice([-1, 0, 1, 2, array.n_buffers])
    array.n_children = chance.choice([-1, 0, array.n_children])


def wrong_nulls(array: ArrowArray, chance: Random) -> None:
    array.null_count = chance.choice([-1, 0, 1, 2**63 - 1])


def no_buffer(array: ArrowArray, chance: Random) -> None:
    if array.n_buffers > 0 and array.buffers:
        array.buffers[chance.randrange(array.n_buffers)] = None


def no_buffers(array: ArrowArray, chance: Random) -> None:
    array.buffers = ctypes.POINTER(ctypes.c_void_p)()


def no_dictionary(array: ArrowArray, chance: Random) -> None:
    array.dictionary = ctypes.POINTER(ArrowArray)()


def short_child(array: ArrowArray, chance: Random) -> None:
    if array.n_children > 0:
        spoil(array.children[0].contents, chance)


def spoiled_dictionary(array: ArrowArray, chance: Random) -> None:
    if array.dictionary:
        spoil(array.dictionary.contents, chance)


FAULTS = [
    wrong_length,
    wrong_offset,
    wrong_counts,
    wrong_nulls,
    no_buffer,
    no_buffers,
    no_dictionary,
    short_child,
    spoiled_dictionary,
]


def spoil(array: ArrowArray, chance: Random) -> None:
    chance.choice(FAULTS)(array, chance)


def drawn_contents(chance: Random) -> Exported:
    """Return an array whose offsets, indices or views are drawn; the offsets of texts lie within their data."""
    kind = chance.choice(["string", "dictionary", "list", "view"])
    texts = pa.array(["a", "bb", "thirteen byte", "ccc", "dd"])
    edges = [0, 1, 2, 3, 4, 5, 6, -1, 2**31 - 1, -(2**31)]
    if kind == "dictionary":
        array = pa.DictionaryArray.from_arrays(pa.array([0] * 5, pa.int32()), texts)
    elif kind == "list":
        array = pa.array([["a"], ["b", "c"], []])
    elif kind == "view" and hasattr(pa, "string_view"):
        array = texts.cast(pa.string_view())
        edges += [12, 13, 14]
    else:
        array = texts
        edges = [*range(-1, 15)]
    capsules = array.__arrow_c_array__()
    struct = array_in(capsules[1])
    numbers = (ctypes.c_int32 * 4).from_address(struct.buffers[1])
    own = [*numbers]
    drawn = [chance.choice([chance.choice(edges), number]) for number in own]
    # The buffers of pyarrow are not ours to change: the numbers lie in memory of the input.
    copy = ctypes.create_string_buffer(ctypes.string_at(struct.buffers[1], 64), 64)
    ctypes.memmove(copy, (ctypes.c_int32 * 4)(*drawn), 16)
    struct.buffers[1] = ctypes.addressof(copy)
    return Exported(capsules, copy, array)


class Streamed:
    """What has the Arrow interface of streams, of batches of different sources."""

    def __init__(self, capsule: Any, *memory: Any) -> None:
        self._capsule = capsule
        self._memory = memory

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule


class ArrowStream(ctypes.Structure):
    """The struct of the C stream interface: its functions, and what belongs to the producer."""


STREAM_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ArrowStream), ctypes.POINTER(ArrowArray)
)
ArrowStream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.c_void_p),
    ("get_last_error", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
STREAM_ERRORS = [5, 12, 22, -1, 2**31 - 1]


def drawn_stream(chance: Random) -> Streamed:
    """Return a stream of which some batches are spoiled, some fail, and functions may be missing."""
    array = chance.choice(valid_arrays(chance))
    chunked = pa.chunked_array([array] * chance.randrange(0, 4), array.type)
    capsule = chunked.__arrow_c_stream__()
    stream = inside(capsule, b"arrow_array_stream", ArrowStream)
    own_next = STREAM_FUNCTION(stream.get_next)

    def get_next(stream_of_call: Any, batch: Any) -> int:
        if chance.random() < 0.1:
            return chance.choice(STREAM_ERRORS)
        status = own_next(stream_of_call, batch)
        if not status and batch.contents.n_buffers and chance.random() < 0.5:
            spoil(batch.contents, chance)
        return status

    changed = STREAM_FUNCTION(get_next)
    stream.get_next = ctypes.cast(changed, ctypes.c_void_p).value
    if chance.random() < 0.1:
        missing = chance.choice(["get_schema", "get_next", "get_last_error"])
        setattr(stream, missing, None)
    return Streamed(capsule, changed, own_next, chunked)


READERS: list[Callable[[Any], Any]] = [
    lambda source: word_shingles(Texts(source), 2, 1),
    lambda source: read_column(source),
    lambda source: lshfast.shingle(source),
]


def try_arrow(data: bytes, folder: Path) -> None:
    chance = Random(data)
    (kind,) = chance.choices(["contents", "stream", "array"], [2, 1, 1])
    source: Any
    if kind == "contents":
        source = drawn_contents(chance)
    elif kind == "stream" and hasattr(pa.ChunkedArray, "__arrow_c_stream__"):
        source = drawn_stream(chance)
    else:
        capsules = chance.choice(valid_arrays(chance)).__arrow_c_array__()
        for _ in range(chance.choice([0, 1, 1, 2])):
            spoil(array_in(capsules[1]), chance)
        source = Exported(capsules)
    with suppress(*REFUSED):
        chance.choice(READERS)(source)


# ---- numpy ----


def drawn_array(chance: Random) -> np.ndarray[Any, Any]:
    """Return a small array: any shape, type, order of bytes and strides, also overlapping."""
    shape = [chance.choice([0, 1, 2, 3, 5, 8]) for _ in range(chance.randrange(0, 4))]
    kinds = ["?", "i1", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "O"]
    dtype = np.dtype(chance.choice("<>") + chance.choice([*kinds, "U3", "S3", "M8[s]"]))
    count = int(np.prod(shape, dtype=int))
    values = [chance.choice([0, 1, 2, 3, chance.randrange(100)]) for _ in range(count)]
    array = np.array(values, "i8").astype(dtype).reshape(shape)
    if dtype.kind in "ui" and count and chance.random() < 0.3:
        edge = chance.choice(EDGES) % 2 ** (8 * dtype.itemsize - 1)
        array.flat[chance.randrange(count)] = edge
    if dtype.kind == "f" and count and chance.random() < 0.3:
        array.flat[chance.randrange(count)] = chance.choice([np.nan, np.inf, -0.0, 6e4])
    return chance.choice(LAYOUTS)(array)


def _reversed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array[..., ::-1] if array.ndim else array


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def _overlapping(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Let all rows be the first."""
    if array.ndim < 1 or not array.size or array.dtype.hasobject:
        return array
    return as_strided(array, strides=(0, *array.strides[1:]))


def _unaligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.hasobject:
        return array
    memory = np.zeros(array.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return memory[1:].view(array.dtype).reshape(array.shape)


LAYOUTS: list[Callable[[Any], Any]] = [
    lambda array: array,
    lambda array: array.T,
    lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
    _reversed,
    _read_only,
    _overlapping,
    _unaligned,
]

SETS = lshfast.TokenSets.from_sets([["a", "b", "c"], ["a", "b", "d"], ["e"]])


def _index_answers(rows: Any) -> Any:
    index = lshfast.LSHIndex(num_perm=8, bands=4, rows_per_band=2)
    index.insert(range(len(rows)), rows)
    return [sorted(answer) for answer in index.query(rows, threshold=0)]


def _code_answers(codes: Any) -> Any:
    index = lshfast.HammingIndex(bits=64)
    index.insert(range(len(codes)), codes)
    return index.query(codes, 2)


def _sketch(tokens: Any) -> Any:
    offsets = np.array([0, len(tokens)])
    return lshfast.MinHasher(num_perm=8).sketch(lshfast.TokenSets(offsets, tokens))


USES: list[Callable[[Any], Any]] = [
    _sketch,
    lambda array: lshfast.TokenSets(array, SETS.tokens).offsets,
    lambda array: lshfast.verify(SETS, array, array, 0.1, threads=1),
    lambda array: lshfast.component_groups(9, lshfast.verify(SETS, array, array, 0)),
    lambda array: lshfast.find_copies(array),
    lambda array: lshfast.hamming_pairs(array, 3, threads=1),
    lambda array: lshfast.dedup_codes(array, 3, threads=1),
    lambda array: lshfast.candidates(array, threads=1),
    _index_answers,
    _code_answers,
]


def result_of(use: Callable[[Any], Any], array: Any) -> Any:
    try:
        return use(array)
    except REFUSED as error:
        return type(error)


def try_numpy(data: bytes, folder: Path) -> None:
    chance = Random(data)
    array = drawn_array(chance)
    use = chance.choice(USES)
    plain = np.array(array.tolist(), array.dtype.newbyteorder("=")).reshape(array.shape)
    left = result_of(use, array)
    right = result_of(use, plain)
    if left is TypeError and not array.dtype.isnative:
        return  # arrays of words have the bytes of the machine
    assert repr(left) == repr(right), (use, array, left, right)


def seeds(_: Path) -> list[bytes]:
    """Return inputs that only choose; each byte leads elsewhere."""
    return [bytes([number]) for number in range(8)]

"""Give damaged columns of Arrow to all functions that take columns, and print what each says.

Run in a process of its own: what follows the offsets of such a column ends the process.
"""

import io
import json
import tempfile
import warnings
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import lshfast
from lshfast import dedup_files, hf, records
from lshfast.datasketch import HyperLogLog, MinHash
from lshfast.join import count_distinct, find_identical
from lshfast.passages import find

N = 20
BEYOND = 10**8
LATER = []  # memory, and what to write to it


def with_offsets(kind, offsets, data, children=None, valid=None, sizes=None):
    """Return an array with these offsets, which `damage` writes when pyarrow has looked at others."""
    memory = np.zeros(
        len(offsets), np.int64 if str(kind).startswith("large") else np.int32
    )
    rest = [] if children is not None else [pa.py_buffer(data)]
    rows = len(offsets) - 1
    if sizes is not None:
        rest = [pa.py_buffer(np.full(len(offsets), sizes, memory.dtype))]
        rows = len(offsets)
    array = pa.Array.from_buffers(
        kind, rows, [valid, pa.py_buffer(memory), *rest], children=children
    )
    LATER.append((memory, offsets))
    return array


def damage():
    """Write the offsets of all arrays that were made."""
    for memory, values in LATER:
        memory[:] = values
    LATER.clear()


def damaged_texts():
    """Yield columns of texts whose offsets, views or indices lie outside of their buffers."""
    data = b"hello world, a cat. " * N
    offsets = np.arange(N + 1) * 20
    far = offsets + BEYOND * (np.arange(N + 1) >= N // 2)
    fallen = offsets + BEYOND * (np.arange(N + 1) == N // 2)
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        yield f"{kind} beyond", with_offsets(kind, far, data)
        yield f"{kind} falling", with_offsets(kind, fallen, data)
        yield (
            f"{kind} negative",
            with_offsets(kind, np.where(offsets == 60, -5, offsets), data),
        )
    # A null row falls back to the data.
    jump = np.where(np.arange(N + 1) >= 5, BEYOND, offsets)
    jump[10:] = offsets[10:]
    nulls = np.ones(N, bool)
    nulls[9] = False
    yield (
        "string falling at a null",
        with_offsets(
            pa.string(),
            jump,
            data,
            valid=pa.py_buffer(np.packbits(nulls, bitorder="little")),
        ),
    )
    yield "string sliced", with_offsets(pa.string(), far, data).slice(3, 15)
    yield (
        "string in two chunks",
        pa.chunked_array([pa.array(["a b c"]), with_offsets(pa.string(), far, data)]),
    )
    views = pa.array(
        ["a text that is not kept inside of its view"] * N, pa.string_view()
    )
    words = np.frombuffer(views.buffers()[1], np.int32).copy()
    column = pa.Array.from_buffers(
        pa.string_view(), N, [None, pa.py_buffer(words), views.buffers()[2]]
    )
    far_words = words.copy()
    far_words[4 * 5 + 3] = 2**30
    LATER.append((words, far_words))
    yield "string_view beyond", column
    values = pa.array(["aa", "bb"])
    indices = pa.array([*[0] * (N - 1), 99], pa.int32())
    yield (
        "dictionary beyond",
        pa.DictionaryArray.from_arrays(indices, values, safe=False),
    )
    yield (
        "dictionary of damaged values",
        pa.DictionaryArray.from_arrays(
            pa.array([0] * N, pa.int32()),
            with_offsets(pa.string(), far, data),
            safe=False,
        ),
    )


def damaged_items():
    """Yield columns of sets, vectors, codes and weighted sets, and what says that they are."""
    offsets = np.arange(N + 1) * 3
    far = np.where(np.arange(N + 1) == N, BEYOND, offsets)
    shifted = offsets + BEYOND
    fallen = np.where(np.arange(N + 1) == N // 2, BEYOND, offsets)
    strings = pa.array([f"w{i}" for i in range(3 * N)])

    def bad_strings():
        return with_offsets(
            pa.string(), np.arange(3 * N + 1) * BEYOND // 10, b"x" * 100
        )

    bitmap = pa.py_buffer(np.packbits(np.arange(N) != 7, bitorder="little"))
    elements = {
        "set": [strings, pa.array(range(3 * N))],
        "vector": [pa.array(np.ones(3 * N, np.float32))],
    }
    elements["code"] = [pa.array(np.ones(3 * N, np.uint8))]
    for kind, several in elements.items():
        for values in several:
            for lists in (pa.list_, pa.large_list):
                of = lists(values.type)
                yield f"{of} beyond", kind, with_offsets(of, far, None, [values])
                yield f"{of} shifted", kind, with_offsets(of, shifted, None, [values])
                yield f"{of} falling", kind, with_offsets(of, fallen, None, [values])
                yield (
                    f"{of} falling, with a null",
                    kind,
                    with_offsets(of, fallen, None, [values], bitmap),
                )
            view = pa.list_view(values.type)
            for name, starts in (
                ("beyond", offsets[:-1] + BEYOND),
                ("negative", offsets[:-1] - 9),
            ):
                yield (
                    f"{view} {name}",
                    kind,
                    with_offsets(view, starts, None, [values], sizes=3),
                )
    yield (
        "list of damaged strings",
        "set",
        with_offsets(pa.list_(pa.string()), offsets, None, [bad_strings()]),
    )
    yield (
        "large_list of damaged strings, with a null", "set",
        with_offsets(pa.large_list(pa.string()), offsets, None, [bad_strings()], bitmap),
    )  # fmt: skip
    yield (
        "binary codes",
        "code",
        with_offsets(pa.binary(), np.arange(N + 1) * BEYOND // 10, b"x" * 100),
    )
    weights = pa.array(np.ones(3 * N))
    for name, keys, ends in (
        ("beyond", strings, far),
        ("damaged keys", None, offsets),
        ("falling", strings, fallen),
    ):
        for lists in ("map", "list"):
            children = [bad_strings() if keys is None else keys, weights]
            fields = [
                pa.field("key", pa.string(), False),
                pa.field("value", pa.float64()),
            ]
            pairs = pa.Array.from_buffers(
                pa.struct(fields), 3 * N, [None], children=children
            )
            of = (
                pa.map_(pa.string(), pa.float64())
                if lists == "map"
                else pa.list_(pairs.type)
            )
            yield (
                f"{lists} of weights {name}",
                "weighted",
                with_offsets(of, ends, None, [pairs]),
            )


def damaged_values():
    """Yield columns of keys and values that pyarrow converts to Python objects."""
    for name, column in damaged_texts():
        if name in ("string beyond", "large_string beyond", "dictionary beyond"):
            yield name, column


def texts_calls(column):
    """Yield calls of the functions that take texts."""
    table = pa.table({"text": column})
    arrays = isinstance(column, pa.Array) and not str(column.type).startswith(
        ("string_view", "dictionary")
    )
    series = pd.Series(pd.arrays.ArrowExtensionArray(column)) if arrays else None
    damage()
    for name in ("dedup", "pairs", "check"):
        yield name, lambda name=name: getattr(lshfast, name)(column)
    yield "shingle", lambda: lshfast.shingle(column)
    yield "find_identical", lambda: find_identical(column)
    yield "count_distinct", lambda: count_distinct(column)
    yield "passages.find", lambda: find(column, length=3)
    yield (
        "index",
        lambda: lshfast.LSHIndex(shingles="word:2").insert(list(range(N)), column),
    )
    yield "a row", lambda: lshfast.dedup([column], kind="set")
    yield (
        "stop words",
        lambda: lshfast.shingle(["a text"], "stopword", stop_words=column),
    )
    yield "MinHash", lambda: MinHash().update_batch(column)
    yield "HyperLogLog", lambda: HyperLogLog().update_batch(column)
    yield "exact.pairs", lambda: lshfast.exact.pairs(column, threshold=0.5)
    yield "WeightedSets", lambda: lshfast.WeightedSets.from_sets(column)
    yield "a table", lambda: lshfast.dedup(table)
    yield "a reader", lambda: lshfast.shingle(table.to_reader())
    if series is not None:
        yield "pandas", lambda: lshfast.dedup(series)


def value_calls(column):
    """Yield calls of the functions that take keys and values."""
    texts = [f"a text {row}" for row in range(N)]
    table = pa.table({"name": column})
    frame = pd.DataFrame({"name": pd.arrays.ArrowExtensionArray(column)})
    damage()
    yield "keys", lambda: lshfast.dedup(texts, keys=column)
    yield "by", lambda: lshfast.dedup(texts, by=column)
    yield "keep", lambda: lshfast.dedup(texts, keep=column)
    yield "insert", lambda: lshfast.LSHIndex(shingles="word:2").insert(column, texts)
    yield "from_columns", lambda: lshfast.TokenSets.from_columns(column, texts)
    yield "records", lambda: records.RecordTable(table)
    yield "records of columns", lambda: records.RecordTable({"name": column})
    yield (
        "records of pandas",
        lambda: records.RecordTable(frame),
    )


def file_calls(folder):
    """Yield calls that read a Parquet file with a damaged byte: the levels of its lists say that they are empty."""
    lists = pa.array(
        [[f"w{row}{place}" for place in range(4)] for row in range(6)],
        pa.list_view(pa.string()),
    )
    ids = [f"k{row}" for row in range(6)]
    for name, columns in (
        ("read", {"text": lists}),
        ("copied", {"text": [f"text {row}" for row in ids], "tags": lists}),
    ):
        file = io.BytesIO()
        parquet.write_table(
            pa.table({"id": ids, **columns}),
            file,
            compression="none",
            use_dictionary=False,
        )
        levels = bytes([2, 0, 0, 0, 48, 3])
        assert file.getvalue().count(levels) == 1
        path = folder / f"{name}.parquet"
        path.write_bytes(file.getvalue().replace(levels, levels[:-1] + b"\1"))
        for suffix in ("jsonl", "parquet"):
            out = folder / f"kept-{name}.{suffix}"
            options = {"kind": "set"} if name == "read" else {}
            yield (
                f"{name}, to {suffix}",
                lambda path=path, out=out, options=options: dedup_files(
                    path, out, **options
                ),
            )


def data_set_calls():
    """Yield calls for a data set of Hugging Face, whose rows are in another order than its columns."""
    for name, column in damaged_texts():
        if name == "string beyond":
            rows = datasets.Dataset(
                datasets.table.InMemoryTable(pa.table({"text": column}))
            )
            chosen = rows.select([5, 3])
            damage()
            yield name, lambda rows=rows: hf.dedup(rows, "text")
            yield (
                f"chosen rows of {name}",
                lambda chosen=chosen: hf.dedup(chosen, "text"),
            )


def say(case, call):
    """Print what a call raised."""
    try:
        call()
    except Exception as error:
        print(json.dumps([case, isinstance(error, ValueError), str(error)]), flush=True)
    else:
        print(json.dumps([case, False, "no error"]), flush=True)


def item_calls(column, kind):
    """Yield calls of the functions that take items of a kind."""
    damage()
    bound = {"radius": 1} if kind == "code" else {}
    for name in ("dedup", "pairs"):
        yield name, lambda name=name: getattr(lshfast, name)(column, kind=kind, **bound)


def main():
    warnings.simplefilter("ignore")
    for name, column in damaged_texts():
        for function, call in texts_calls(column):
            say(f"{function}: {name}", call)
    for name, kind, column in damaged_items():
        for function, call in item_calls(column, kind):
            say(f"{function}: {name}", call)
    for name, column in damaged_values():
        for function, call in value_calls(column):
            say(f"{function}: {name}", call)
    with tempfile.TemporaryDirectory() as folder:
        for name, call in file_calls(Path(folder)):
            say(f"dedup_files: {name}", call)
    for name, call in data_set_calls():
        say(f"hf.dedup: {name}", call)


if __name__ == "__main__":
    main()

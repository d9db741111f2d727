"""What a column of lists of numbers is, in all forms in which it comes: a set, a vector or a code, or an error."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import lshfast
import lshfast.duckdb
import lshfast.hf
import lshfast.pandas
import lshfast.polars
from lshfast import dedup, dedup_files, pairs
from lshfast._io import DataError
from tests.cli.commands import failing, read_jsonl, run

if not hasattr(pa, "list_view"):
    pytest.skip("pyarrow before 16 has no list views", allow_module_level=True)

RNG = np.random.default_rng(3)
N, DIM = 12, 16
BASE = RNG.integers(0, 100, (N // 2, DIM))
ROWS = np.concatenate([BASE, BASE + (RNG.random(BASE.shape) < 0.1)])

EVERY_KIND = r'kind="set".*kind="vector".*kind="code"'
BOUNDS = {
    "set": {"threshold": 0.5},
    "vector": {"threshold": 0.995},
    "code": {"radius": 6},
}


def polars_type(dtype):
    return {"int8": pl.Int8, "uint8": pl.UInt8, "int32": pl.Int32, "int64": pl.Int64}[
        np.dtype(dtype).name
    ]


def table_of(rows):
    return pa.table(
        {"e": pa.array(list(rows), pa.list_(pa.from_numpy_dtype(rows.dtype)))}
    )


# Forms whose type says that all rows have one length, and others.
FIXED = {
    "array": lambda rows: rows,
    "fixed_size_list": lambda rows: pa.array(
        list(rows), pa.list_(pa.from_numpy_dtype(rows.dtype), DIM)
    ),
    "Array of polars": lambda rows: pl.Series(
        rows.tolist(), dtype=pl.Array(polars_type(rows.dtype), DIM)
    ),
    "tensors": lambda rows: pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.from_numpy_dtype(rows.dtype), [DIM]),
        FIXED["fixed_size_list"](rows),
    ),
}
FORMS = FIXED | {
    "rows that are arrays": list,
    "rows that are lists of numbers of numpy": lambda rows: [list(row) for row in rows],
    "rows that are columns of polars": lambda rows: [pl.Series(row) for row in rows],
    "rows behind a missing one": lambda rows: [None, *rows],
    "an iterator": lambda rows: iter(list(rows)),
    "objects": lambda rows: np.array([None, *rows], object)[1:],
    "list": lambda rows: table_of(rows)["e"].chunk(0),
    "large_list": lambda rows: pa.array(
        list(rows), pa.large_list(pa.from_numpy_dtype(rows.dtype))
    ),
    "list_view": lambda rows: pa.array(
        rows.tolist(), pa.list_view(pa.from_numpy_dtype(rows.dtype))
    ),
    "two chunks": lambda rows: pa.chunked_array(
        [FORMS["list"](rows[:5]), FORMS["list"](rows[5:])]
    ),
    "a table": table_of,
    "a reader": lambda rows: table_of(rows).to_reader(),
    "List of polars": lambda rows: pl.Series(
        rows.tolist(), dtype=pl.List(polars_type(rows.dtype))
    ),
    "a frame of polars": lambda rows: pl.DataFrame(
        {"e": FORMS["List of polars"](rows)}
    ),
    "objects of pandas": lambda rows: pd.Series(list(rows)),
    "Arrow in pandas": lambda rows: pd.Series(
        pd.arrays.ArrowExtensionArray(FORMS["list"](rows))
    ),
    "a relation of DuckDB": lambda rows: duckdb.from_arrow(table_of(rows)),
}


def kept(column, kind):
    """Return the rows that are kept; rows without an item before the others do not count."""
    return dedup(column, kind=kind, **BOUNDS[kind]).keep.tolist()[-N:]


def without_copies(close):
    """Return which rows are kept, given which pairs of rows are close: the reference."""
    found = []
    for row in range(N):
        found.append(
            not any(found[other] and close[row, other] for other in range(row))
        )
    return found


def jaccard(rows):
    sets = [set(row) for row in rows.tolist()]
    return np.array([[len(a & b) / len(a | b) for a in sets] for b in sets])


def hamming(rows):
    octets = rows.view(np.uint8)
    return np.unpackbits(octets[:, None] ^ octets[None], axis=2).sum(axis=2)


@pytest.mark.few_cases
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("form", FORMS)
def test_integers_of_8_bits_have_the_kind_that_the_user_says(form, dtype):
    rows = ROWS.astype(dtype)
    with pytest.raises(ValueError, match=EVERY_KIND):
        dedup(FORMS[form](rows))
    unit = rows / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    assert kept(FORMS[form](rows), "set") == without_copies(jaccard(rows) >= 0.5)
    assert kept(FORMS[form](rows), "vector") == without_copies(unit @ unit.T >= 0.995)
    assert kept(FORMS[form](rows), "code") == without_copies(hamming(rows) <= 6)


@pytest.mark.parametrize("function", [dedup, pairs, lshfast.check])
def test_all_functions_refuse_what_can_be_several_kinds(function):
    for column in (
        ROWS.astype(np.int8),
        FORMS["list"](ROWS.astype(np.uint8)),
        np.zeros((0, 4), np.int8),
    ):
        with pytest.raises(ValueError, match=EVERY_KIND):
            function(column)


@pytest.mark.one_case
@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.uint32, np.uint64])
def test_integers_of_one_length_can_be_vectors(dtype):
    rows = ROWS.astype(dtype)
    for form in ("array", "fixed_size_list", "tensors"):
        with pytest.raises(ValueError, match=r'kind="set".*kind="vector"'):
            dedup(FORMS[form](rows))
        assert kept(FORMS[form](rows), "set") == kept(ROWS, "set")
        assert kept(FORMS[form](rows), "vector") == kept(ROWS, "vector")


@pytest.mark.parametrize(
    "column",
    [
        ROWS,
        ROWS.tolist(),
        [set(row) for row in ROWS.tolist()],
        [set(row) for row in ROWS.astype(np.int8)],
        [row[: DIM - place % 2] for place, row in enumerate(ROWS.tolist())],
        *(
            FORMS[form](ROWS)
            for form in (
                "rows that are arrays",
                "list",
                "list_view",
                "List of polars",
                "a table",
            )
        ),
        *(
            FORMS[form](ROWS.astype(np.int32))
            for form in ("rows that are arrays", "list", "List of polars")
        ),
    ],
    ids=lambda column: type(column).__name__,
)
def test_other_lists_of_integers_are_sets(column):
    assert dedup(column, threshold=0.5).keep.tolist() == kept(column, "set")


@pytest.mark.one_case
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_are_vectors(dtype):
    rows = ROWS.astype(dtype)
    expected = kept(ROWS, "vector")
    for form in (
        "array",
        "rows that are arrays",
        "rows behind a missing one",
        "list",
        "list_view",
        "fixed_size_list",
    ):
        # pyarrow does not make it from a list.
        if not (form == "list_view" and dtype == np.float16):
            assert (
                dedup(FORMS[form](rows), threshold=0.995).keep.tolist()[-N:] == expected
            ), form
    assert len(dedup(np.zeros((0, 4), dtype))) == 0
    assert dedup(rows[:, :1]).keep.sum() == 1


def test_an_empty_row_does_not_decide_the_kind():
    with pytest.raises(ValueError, match="row 0: the vector has no coordinates"):
        dedup([[], [0.5, 1.0]])
    with pytest.raises(ValueError, match=EVERY_KIND):
        dedup([[], *ROWS.astype(np.int8)])
    assert dedup([[], ["a"], ["a"]]).keep.tolist() == [True, True, False]


def test_objects_of_floats_are_vectors():
    rows = ROWS.astype(float).astype(object)
    assert dedup(rows, threshold=0.995).keep.tolist() == kept(ROWS, "vector")
    assert dedup(
        pd.Series([float("nan"), *ROWS.astype(float)]), threshold=0.995
    ).keep.tolist()[1:] == kept(ROWS, "vector")


def test_packed_signs_of_embeddings_are_codes():
    """sentence-transformers gives them as uint8 ("ubinary"), and as int8, from which 128 is subtracted ("binary")."""
    embeddings = np.concatenate(
        [BASE - 50.0, BASE - 50 + RNG.standard_normal(BASE.shape)]
    )
    ubinary = np.packbits(embeddings > 0, axis=1)
    binary = (ubinary.astype(np.int16) - 128).astype(np.int8)
    expected = pairs(embeddings > 0, kind="code", radius=4).tolist()
    assert expected
    for column in (
        ubinary,
        binary,
        list(binary),
        binary.tolist(),
        ubinary.tolist(),
        pa.array(list(binary)),
    ):
        assert pairs(column, kind="code", radius=4).tolist() == expected


def test_bytes_and_buffers_of_integers_are_refused():
    rows = ROWS.astype(np.uint8)
    for column in (
        [bytearray(row) for row in rows],
        [memoryview(row.tobytes()) for row in rows],
    ):
        with pytest.raises(ValueError, match=EVERY_KIND):
            dedup(column)


def test_booleans_are_codes():
    for column in (ROWS > 50, list(ROWS > 50), (ROWS > 50).reshape(N, 4, 4)):
        with pytest.raises(
            ValueError, match='is read only if its kind is given; say kind="code"'
        ):
            dedup(column)
        expected = pairs(np.packbits(ROWS > 50, axis=1), kind="code", radius=6).tolist()
        assert pairs(column, kind="code", radius=6).tolist() == expected


def test_masked_values_are_refused():
    for values, kind in (
        (ROWS, None),
        (ROWS.astype(float), None),
        (ROWS.astype(np.int8), "vector"),
    ):
        masked = np.ma.masked_array(values, np.zeros(values.shape, bool))
        assert (
            dedup(masked, kind=kind).keep.tolist()
            == dedup(values, kind=kind).keep.tolist()
        )
        masked[3, 1] = np.ma.masked
        with pytest.raises(ValueError, match=r"texts\[3\] has a masked value"):
            dedup(masked, kind=kind)


def test_frames_and_data_sets_follow_the_rule():
    datasets = pytest.importorskip("datasets")
    table = table_of(ROWS.astype(np.int8))
    frame = pl.DataFrame({"e": FORMS["List of polars"](ROWS.astype(np.int8))})
    functions = [
        lambda **options: frame.lsh.dedup("e", **options),
        lambda **options: pd.DataFrame({"e": list(ROWS.astype(np.int8))}).lsh.dedup(
            "e", **options
        ),
        lambda **options: lshfast.duckdb.dedup(
            duckdb.from_arrow(table), "e", **options
        ).to_arrow_table(),
        lambda **options: lshfast.hf.dedup(
            datasets.Dataset(datasets.table.InMemoryTable(table)), "e", **options
        ),
    ]
    for function in functions:
        with pytest.raises(ValueError, match=EVERY_KIND):
            function()
        assert len(function(kind="vector", threshold=0.995)) == sum(
            kept(ROWS, "vector")
        )


# ---- files ----


def written(folder, name, column):
    """Write a column to a file of a format, and return its path."""
    path = folder / f"rows.{name}"
    if name == "npy":
        np.save(path, column)
        return path
    table = pa.table({"text": column, "id": [f"r{row}" for row in range(len(column))]})
    if name == "parquet":
        pq.write_table(table, path)
    else:
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.one_case
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(
    ("suffix", "form"),
    [
        ("npy", "array"),
        ("arrow", "list_view"),
        ("arrow", "fixed_size_list"),
        ("parquet", "list"),
        ("parquet", "tensors"),
    ],
)
def test_files_follow_the_rule(tmp_path, suffix, form, dtype):
    rows = ROWS.astype(dtype)
    path = written(tmp_path, suffix, FORMS[form](rows))
    with pytest.raises(DataError, match=rf"rows.{suffix}.*{EVERY_KIND}"):
        dedup_files(path, tmp_path / "kept.jsonl")
    for kind, bound in BOUNDS.items():
        summary = dedup_files(
            path, tmp_path / "kept.parquet", kind=kind, overwrite=True, **bound
        ).summary
        assert summary.kept == sum(kept(rows, kind))


def test_the_command_line_says_how_to_say_it(tmp_path):
    path = written(tmp_path, "parquet", FORMS["list"](ROWS.astype(np.int8)))
    message = failing(1, "dedup", path, "-o", tmp_path / "kept.parquet")
    assert "--as set" in message
    assert "--as vector" in message
    assert "--as code" in message
    run(
        "dedup",
        path,
        "--as",
        "vector",
        "--threshold",
        0.995,
        "-o",
        tmp_path / "kept.jsonl",
    )
    assert len(read_jsonl(tmp_path / "kept.jsonl")) == sum(kept(ROWS, "vector"))


INVALID = b"w\xe8"


def sets_with_invalid_strings(form):
    """Return three rows; the second has a string that is not UTF-8."""
    lists = pa.array([[b"a", b"b"], [b"a", INVALID], [b"c"]], pa.list_(pa.binary()))
    strings = lists.values.view(pa.string())
    sizes = [2, 2, 1]
    if form == "list_view":
        return pa.ListViewArray.from_arrays(
            lists.offsets[:-1], pa.array(sizes, pa.int32()), strings
        )
    if form == "large_list_view":
        starts = lists.offsets[:-1].cast(pa.int64())
        return pa.LargeListViewArray.from_arrays(
            starts, pa.array(sizes, pa.int64()), strings
        )
    if form == "list with a null":
        with_null = pa.array(
            [[b"a", b"b"], [b"a", INVALID], [b"c", None]], pa.list_(pa.binary())
        )
        return pa.ListArray.from_arrays(
            with_null.offsets, with_null.values.view(pa.string())
        )
    if form == "map":
        return pa.MapArray.from_arrays(
            lists.offsets, strings, pa.array([1.0, 1.0, 1.0, -1.0, 1.0])
        )
    return pa.ListArray.from_arrays(lists.offsets, strings)


@pytest.mark.few_cases
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "form", ["list", "list_view", "large_list_view", "map", "list with a null"]
)
def test_sets_of_strings_that_are_not_utf8_are_bad_rows(tmp_path, form, suffix):
    path = written(tmp_path, suffix, sets_with_invalid_strings(form))
    kind = "weighted" if form == "map" else "set"
    with pytest.raises(
        DataError, match=rf"rows\.{suffix}: row 2: a string is not UTF-8 at byte 1"
    ):
        dedup_files(path, tmp_path / "kept.jsonl", kind=kind)
    for out in ("kept.jsonl", "kept.parquet"):
        summary = dedup_files(path, tmp_path / out, kind=kind, on_error="skip").summary
        assert (summary.rejected, summary.kept) == (
            (2, 1) if form == "list with a null" else (1, 2)
        )


@pytest.mark.parametrize("kind", ["vector", "code", "set", "weighted"])
def test_other_items_that_are_not_utf8_are_bad_rows(tmp_path, kind):
    path = written(tmp_path, "parquet", pa.array([b'["a"]', INVALID]).view(pa.string()))
    with pytest.raises(DataError, match=r"rows\.parquet: row [12]: "):
        dedup_files(path, tmp_path / "kept.jsonl", kind=kind, **BOUNDS.get(kind, {}))
    summary = dedup_files(
        path,
        tmp_path / "kept.jsonl",
        kind=kind,
        on_error="skip",
        **BOUNDS.get(kind, {}),
    ).summary
    assert summary.rejected >= 1


@pytest.mark.parametrize(
    ("options", "bad_rows"),
    [
        ({"by": "tags"}, 0),
        ({"id_column": "tags"}, 3),
        ({"keep": "max:tags"}, 3),
        ({"group_by": "id", "item": "name"}, 1),
    ],
    ids=str,
)
def test_further_columns_that_are_not_utf8_name_the_file(tmp_path, options, bad_rows):
    names = pa.array([b"a", INVALID, b"c"]).view(pa.string())
    table = {"text": ["x y", "y z", "z a"], "id": ["a", "b", "c"], "name": names}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({**table, "tags": sets_with_invalid_strings("list")}), path)
    kept = dedup_files(
        path, tmp_path / "kept.parquet", on_error="skip", **options
    ).summary.kept
    assert kept == 3 - bad_rows
    if bad_rows:
        with pytest.raises(DataError, match=r"rows\.parquet: row [12]: "):
            dedup_files(path, tmp_path / "kept.parquet", overwrite=True, **options)


@pytest.mark.parametrize("width", [0, 600])
def test_codes_of_no_bytes_or_too_many_are_bad_rows(tmp_path, width):
    path = written(
        tmp_path,
        "arrow",
        pa.array([[1] * width, None, [2] * width], pa.list_(pa.uint8(), width)),
    )
    with pytest.raises(
        DataError,
        match=rf"rows\.arrow: row 1: the code must be 1\.\.512 bytes, not {width}",
    ):
        dedup_files(path, tmp_path / "kept.jsonl", kind="code", radius=2)
    summary = dedup_files(
        path, tmp_path / "kept.jsonl", kind="code", radius=2, on_error="skip"
    ).summary
    assert (summary.rejected, summary.kept) == (2, 1)


def test_codes_of_another_length_are_bad_rows(tmp_path):
    """Although they have as many words."""
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    for path, width in zip(paths, (10, 12), strict=True):
        pq.write_table(
            pa.table({"text": pa.array([[1] * width], pa.list_(pa.uint8()))}), path
        )
    with pytest.raises(
        DataError,
        match=r"b\.parquet: row 1: the code must be 10 bytes as the rows before, not 12 bytes",
    ):
        dedup_files(paths, tmp_path / "kept.parquet", kind="code", radius=2)

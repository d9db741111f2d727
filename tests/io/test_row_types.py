"""Rows that the output cannot hold: each is rejected where it is read, and all others can be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lshfast._io import Corpus, DataError, check_rows, open_corpus, write_rows
from lshfast._io.whole_tables import read_whole
from tests.corpora import load, pa, pack, pq

SCALARS = st.sampled_from(
    [None, True, 1, 1 << 53, (1 << 53) + 1, 1 << 63, 0.5, float("inf"), "s"]
)
NAMES = st.sampled_from(["n", "m", "o"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2)
    ),
)


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(
        json.dumps({"text": f"t{i}", **row}) + "\n" for i, row in enumerate(rows)
    ).encode()


def opened(
    path: Path, output: Any, batch_bytes: int = 8 << 20, **options: Any
) -> Corpus:
    corpus = open_corpus(
        path, output=output, batch_bytes=batch_bytes, on_error="skip", **options
    )
    assert sum(len(batch.texts) for batch in corpus.batches()) == corpus.accepted
    return corpus


def has_type(values: list[Any]) -> bool:
    if any(
        mixes_booleans(value) for value in values
    ):  # pyarrow takes them for numbers, depending on the order
        return False
    try:
        pa.array(values)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def mixes_booleans(value: Any) -> bool:
    """Return whether a list within a value has booleans beside numbers."""
    if isinstance(value, dict):
        return any(map(mixes_booleans, value.values()))
    if not isinstance(value, list):
        return False
    booleans = {
        isinstance(item, bool) for item in value if isinstance(item, (bool, int, float))
    }
    return len(booleans) > 1 or any(map(mixes_booleans, value))


@given(values=st.lists(VALUES, max_size=6), data=st.data())
@example(values=[(1 << 53) + 1, 0.5, 1], data=None)
@example(values=[0.5, (1 << 53) + 1], data=None)
@example(values=[{}, {"n": {}}, {"n": {"m": []}}], data=None)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_accepted_rows_can_be_written_and_no_others(
    tmp_path: Path, values: list[Any], data: Any
) -> None:
    path = pack(lines(*({"v": value} for value in values)), tmp_path / "a.jsonl")
    corpus = opened(
        path, "parquet", data.draw(st.sampled_from([1, 60, 1 << 20])) if data else 1
    )
    accepted: list[Any] = []
    bad = [reject.line for reject in corpus.rejected]
    for line, value in enumerate(values, 1):
        assert has_type([*accepted, value]) == (line not in bad)
        accepted += [] if line in bad else [value]
    keep = np.array([data is None or data.draw(st.booleans()) for _ in accepted], bool)
    write_rows(corpus, tmp_path / "out.parquet", keep=keep, overwrite=True)
    assert len(load(tmp_path / "out.parquet")) == keep.sum()


@pytest.mark.parametrize(
    ("output", "row", "reason"),
    [
        ("csv", {"n": [1]}, "column 'n' holds an array: CSV output cannot hold it"),
        (
            "tsv",
            {"n": {"a": 1}},
            "column 'n' holds an object: CSV output cannot hold it",
        ),
        (
            "csv",
            {"n": 1 << 64},
            "column 'n' holds an integer beyond 64 bits: CSV output cannot hold it",
        ),
        ("parquet", {"n": 1 << 64}, "column 'n' holds an integer beyond 64 bits"),
        ("parquet", {"m": [1 << 63]}, "column 'm' holds an integer beyond 64 bits"),
        (
            "parquet",
            {"n": "s"},
            "column 'n' is string, but int64 in the rows before; a .jsonl output holds both",
        ),
        (
            "parquet",
            {"o": {"x": True}},
            "column 'o.x' is bool, but string in the rows before; a .jsonl output holds both",
        ),
        (
            "parquet",
            {"d": {}},
            "column 'd' is struct, but list in the rows before; a .jsonl output holds both",
        ),
    ],
)
def test_a_row_that_the_output_cannot_hold_is_bad(
    tmp_path: Path, output: Any, row: Any, reason: str
) -> None:
    first = {"n": 1, "o": {"x": "s"}, "d": []} if output == "parquet" else {"n": 1}
    path = pack(lines(first, row, {"n": 2}), tmp_path / "a.jsonl")
    corpus = opened(path, output)
    assert [tuple(reject) for reject in corpus.rejected] == [(str(path), 2, reason)]
    out = tmp_path / f"out.{output}"
    write_rows(corpus, out, keep=np.ones(2, bool))
    assert out.exists()
    with pytest.raises(DataError, match=r"a\.jsonl:2: column '"):
        list(open_corpus(path, output=output).batches())


@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_a_number_that_no_double_holds_is_bad(tmp_path: Path, output: Any) -> None:
    path = pack(b'{"text":"a","n":1e999}\n{"text":"b"}\n', tmp_path / "a.jsonl")
    assert (
        opened(path, output).rejected[0].reason
        == "the number 1e999 does not fit a double"
    )
    assert not opened(path, "jsonl").rejected


def test_rows_fit_the_columns_of_other_inputs(tmp_path: Path) -> None:
    columns = {
        "text": ["a"],
        "n": [1],
        "d": pa.array([1], pa.decimal128(5, 2)),
        "t": pa.array([0], pa.date32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "z.parquet")
    for name, kind in (("x", pa.float64()), ("y", pa.int32())):
        pq.write_table(
            pa.table({"text": ["b"], "f": pa.array([1], kind)}),
            tmp_path / f"{name}.parquet",
        )
    pack(b"text,c\nb,x\n", tmp_path / "w.csv")
    rows = [
        {"n": "s"},
        {"c": 1},
        {"t": 1},
        {"f": (1 << 53) + 1},
        {"d": "s"},
        {"d": 2, "n": 0.5, "c": "x"},
    ]
    pack(lines(*rows), tmp_path / "a.jsonl")
    corpus = opened(tmp_path, "parquet")
    assert [reject.line for reject in corpus.rejected] == [1, 2, 3, 4, 5]
    write_rows(corpus, tmp_path / "out.parquet", keep=np.ones(5, bool))
    assert [row["n"] for row in load(tmp_path / "out.parquet")] == [
        0.5,
        None,
        None,
        None,
        1.0,
    ]


@pytest.mark.parametrize("output", ["csv", "parquet"])
@pytest.mark.parametrize("batch_bytes", [1, 8 << 20])
@pytest.mark.parametrize(
    "wide", [[{f"k{i}": 1 for i in range(20)}], [{f"k{i}": 1} for i in range(20)]]
)
def test_columns_are_limited_however_they_are_spread(
    tmp_path: Path, output: Any, batch_bytes: int, wide: Any
) -> None:
    path = pack(lines({"n": 1}, *wide, {"n": 2}), tmp_path / "a.jsonl")
    corpus = opened(path, output, batch_bytes, max_columns=10)
    assert {reject.reason for reject in corpus.rejected} == {
        "more than 10 columns in all rows; max_columns (--max-columns) raises this limit"
    }
    assert [reject.line for reject in corpus.rejected] == (
        [2] if len(wide) == 1 else list(range(10, 22))
    )
    write_rows(corpus, tmp_path / f"out.{output}", keep=np.ones(corpus.accepted, bool))
    assert load(tmp_path / f"out.{output}")[-1]["text"] == f"t{len(wide) + 1}"
    assert not opened(path, output, batch_bytes, max_columns=22).rejected
    assert not opened(path, "jsonl", batch_bytes, max_columns=1).rejected


@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_files_with_many_columns_widen_no_other_input(
    tmp_path: Path, output: Any
) -> None:
    wide = "text," + ",".join(f"c{i}" for i in range(30)) + "\n"
    for name in ("a.csv", "b.csv"):
        pack(wide.encode(), tmp_path / name)
    check_rows(open_corpus(tmp_path, output=output, max_columns=10), f"out.{output}")
    pack(b'{"text": "a"}\n', tmp_path / "c.jsonl")
    with pytest.raises(DataError, match=r"a\.csv: more than 10 columns in all rows"):
        check_rows(
            open_corpus(tmp_path, output=output, max_columns=10), f"out.{output}"
        )
    check_rows(open_corpus(tmp_path, output=output, max_columns=31), f"out.{output}")


def test_tables_of_records_are_limited_too(tmp_path: Path) -> None:
    path = pack(
        lines({}, {f"k{i}": 1 for i in range(20)}, {"n": 1}), tmp_path / "a.jsonl"
    )
    table = read_whole(path, on_error="skip", max_columns=10)
    assert [reject.line for reject in table.rejected] == [2]
    assert table.columns == {"text": ["t0", "t2"], "n": [None, 1]}


def test_names_inside_objects_are_columns_of_parquet(tmp_path: Path) -> None:
    nested = {"o": [{"a": {f"k{i}": 1 for i in range(9)}}]}
    path = pack(lines({}, nested), tmp_path / "a.jsonl")
    assert [
        reject.line for reject in opened(path, "parquet", max_columns=11).rejected
    ] == [2]
    assert not opened(path, "parquet", max_columns=12).rejected


def test_a_rejected_row_leaves_no_columns_types_or_ids(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "x": [1]},
        {"id": "b", "y": 1, "x": ["s"]},  # another type
        {"id": "a", "z": 1},  # the id is taken
        {"id": "b", "y": "s", "z": "s"},
    ]
    path = pack(lines(*rows), tmp_path / "a.jsonl")
    corpus = opened(path, "parquet", id_column="id", max_columns=5)
    assert [reject.line for reject in corpus.rejected] == [2, 3]
    assert corpus.ids == ["a", "b"]


@pytest.mark.parametrize("output", ["jsonl", "csv", "parquet"])
def test_a_row_with_the_name_of_an_annotation_is_bad(
    tmp_path: Path, output: Any
) -> None:
    path = pack(
        lines({}, {"why": 1}, {"n": {"why": 1}} if output != "csv" else {}),
        tmp_path / "a.jsonl",
    )
    corpus = opened(path, output, added=["why"])
    reason = "there is a column 'why' already, so none can be added"
    assert [tuple(reject) for reject in corpus.rejected] == [(str(path), 2, reason)]
    write_rows(
        corpus,
        tmp_path / f"out.{output}",
        keep=np.ones(2, bool),
        annotations={"why": [1, 2]},
    )


@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_a_wide_row_costs_no_other_row(tmp_path: Path, output: Any) -> None:
    """Values that a row lacks are not looked at one by one: the calls do not grow with the product of the two."""
    import cProfile
    import pstats

    def calls(width: int) -> int:
        rows = [{} for _ in range(1000)]
        path = pack(
            lines(*rows, {f"k{i}": 1 for i in range(width)}),
            tmp_path / f"{width}.jsonl",
        )
        corpus, profile = opened(path, output), cProfile.Profile()
        profile.runcall(
            write_rows, corpus, tmp_path / f"{width}.{output}", keep=np.ones(1001, bool)
        )
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    assert calls(500) < calls(2) + 100 * 500

"""Cells of CSV and TSV beside inputs that have types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast._io import DataError, open_corpus, write_rows
from lshfast._io.cells import CellType, converter
from tests.cli.commands import failing, read_jsonl, run, write_jsonl
from tests.corpora import keep_all, load, pa, pack, pq, read

COLUMNS = {
    "id": [1, 2],
    "text": ["p", "q"],
    "x": [0.5, None],
    "ok": [True, None],
    "tag": ["a", "b"],
}
TYPES = {"id": "int32", "text": "string", "x": "double", "ok": "bool", "tag": "string"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of Parquet, JSONL, CSV and TSV, with the CSV first."""
    data = tmp_path / "data"
    data.mkdir()
    pack(b"id,text,x,ok,tag\n7,c,1.50,true,007\n-8,d,,False,\n", data / "a.csv")
    write_jsonl(data / "b.jsonl", [{"id": 9, "text": "j", "x": 3, "tag": None}])
    fields = [pa.field(name, pa.type_for_alias(kind)) for name, kind in TYPES.items()]
    pq.write_table(pa.table(COLUMNS, schema=pa.schema(fields)), data / "c.parquet")
    pack(b"text\tid\ttag\nt\t10\t1\n", data / "d.tsv")
    return data


ROWS = [
    {"id": 7, "text": "c", "x": 1.5, "ok": True, "tag": "007"},
    {"id": -8, "text": "d", "x": None, "ok": False, "tag": ""},
    {"id": 9, "text": "j", "x": 3.0, "ok": None, "tag": None},
    {"id": 1, "text": "p", "x": 0.5, "ok": True, "tag": "a"},
    {"id": 2, "text": "q", "x": None, "ok": None, "tag": "b"},
    {"id": 10, "text": "t", "x": None, "ok": None, "tag": "1"},
]


@pytest.mark.parametrize(
    "options", [(), ("--id-column", "id"), ("--id-column", "id", "--keep", "max:id")]
)
def test_a_folder_of_all_kinds_becomes_one_parquet_file(
    tmp_path: Path, folder: Path, options: tuple[str, ...]
) -> None:
    run("dedup", folder, "-o", tmp_path / "out.parquet", *options)
    assert load(tmp_path / "out.parquet") == ROWS
    types = {
        field.name: str(field.type)
        for field in pq.read_schema(tmp_path / "out.parquet")
    }
    assert types == {**TYPES, "id": "int64"}  # the JSONL input has integers of 64 bits


def test_jsonl_output_has_values_of_one_type(tmp_path: Path, folder: Path) -> None:
    run("dedup", folder, "-o", tmp_path / "out.jsonl", "--id-column", "id")
    found = read_jsonl(tmp_path / "out.jsonl")
    assert [{name: row.get(name) for name in TYPES} for row in found] == ROWS
    assert {type(row["id"]) for row in found} == {int}


def test_csv_output_keeps_cells_as_they_stand(tmp_path: Path, folder: Path) -> None:
    pack(b"id,text,x\n11,e,not a number\n12,f,0x10\n", folder / "e.csv")
    run("dedup", folder, "-o", tmp_path / "out.csv", "--id-column", "id")
    assert [row["x"] for row in load(tmp_path / "out.csv")] == [
        "1.50",
        "",
        "3",
        "0.5",
        "",
        "",
        "not a number",
        "0x10",
    ]


def test_the_narrow_type_of_the_only_typed_input_stays(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "b.jsonl").unlink()
    run("dedup", folder, "-o", tmp_path / "out.parquet")
    assert str(pq.read_schema(tmp_path / "out.parquet").field("id").type) == "int32"
    pack(b"id,text\n2147483648,e\n", folder / "e.csv")
    said = failing(1, "dedup", folder, "-o", tmp_path / "none.parquet")
    assert said.endswith(
        "e.csv:2: column 'id' holds '2147483648', which does not convert exactly to int32, the type of this column in "
        f"{folder / 'c.parquet'}"
    )


def test_csv_alone_stays_text(tmp_path: Path) -> None:
    paths = [
        pack(b"id,text\n1,a\n", tmp_path / "a.csv"),
        pack(b"id,text\n02,b\n", tmp_path / "b.csv"),
    ]
    run("dedup", *paths, "-o", tmp_path / "out.parquet", "--id-column", "id")
    assert load(tmp_path / "out.parquet") == [
        {"id": "1", "text": "a"},
        {"id": "02", "text": "b"},
    ]


def test_a_cell_that_does_not_convert_is_one_bad_row(
    tmp_path: Path, folder: Path
) -> None:
    pack(b'id,text,x\n11,e,1\n012,"f\ng",1\n13,h,"1,5"\n14,i,2\n', folder / "e.csv")
    for out in ("out.jsonl", "out.parquet"):
        said = failing(1, "dedup", folder, "-o", tmp_path / out)
        assert (
            f"{folder}/e.csv:3: column 'id' holds '012', which does not convert exactly to int64"
            in said
        )
        run(
            "dedup",
            folder,
            "-o",
            tmp_path / out,
            "--on-error",
            "skip",
            "--id-column",
            "id",
        )
        assert [row["id"] for row in load(tmp_path / out)] == [
            7,
            -8,
            9,
            1,
            2,
            10,
            11,
            14,
        ]
        rejected = read_jsonl(tmp_path / f"{out}.rejects.jsonl")
        assert [(row["file"], row["line"]) for row in rejected] == [
            (f"{folder}/e.csv", 3),
            (f"{folder}/e.csv", 5),
        ]
        assert (
            "column 'x' holds '1,5', which does not convert exactly to double, the type"
            in rejected[1]["reason"]
        )


def test_ids_are_converted_without_an_output_too(tmp_path: Path, folder: Path) -> None:
    corpus, _ = read(folder, id_column="id", order_column="id")
    assert corpus.ids == [7, -8, 9, 1, 2, 10]
    run("index", "build", folder, "-o", tmp_path / "all.lsh", "--id-column", "id")
    assert (
        run("index", "query", tmp_path / "all.lsh", "--text", "t").stdout == "10\t1.0\n"
    )


def test_nested_ids_are_those_of_a_column_of_that_name(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"text": "a", "meta": {"id": 1}}])
    pq.write_table(
        pa.table({"text": ["b"], "meta": [{"id": 2}]}), tmp_path / "b.parquet"
    )
    pack(b"text,meta.id\nc,3\n", tmp_path / "c.csv")
    inputs = [tmp_path / name for name in ("a.jsonl", "b.parquet", "c.csv")]
    assert read(inputs, id_column="meta.id")[0].ids == [1, 2, 3]


def test_columns_of_several_kinds_stay_text(tmp_path: Path, folder: Path) -> None:
    write_jsonl(folder / "b.jsonl", [{"text": "j", "id": "nine", "x": [1], "ok": 1}])
    corpus, _ = read(folder, output="jsonl")
    assert corpus.types == {}
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    assert load(tmp_path / "out.jsonl")[0] == {
        "id": "7",
        "text": "c",
        "x": "1.50",
        "ok": "true",
        "tag": "007",
    }
    with pytest.raises(
        DataError,
        match=r"column 'x' is list.*, but string in the rows before; a \.jsonl output holds",
    ):
        write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))


def test_the_text_column_is_text(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"text": 1}, {"text": None}])
    inputs = [tmp_path / "a.jsonl", pack(b"text\nb\n2\n", tmp_path / "b.csv")]
    corpus, texts = read(inputs, output="jsonl", on_error="skip")
    assert texts == ["", "b", "2"]
    assert len(corpus.rejected) == 1


def test_an_unknown_output_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"output must be one of jsonl, .*, lines, not 'xml'"
    ):
        open_corpus("a.jsonl", output="xml")  # type: ignore[arg-type]


GOOD: dict[str, dict[str, Any]] = {
    "int8": {"-128": -128, "127": 127},
    "uint8": {"255": 255},
    "int64": {"0": 0, "": None, "-9223372036854775808": -(2**63)},
    "uint64": {"18446744073709551615": 2**64 - 1},
    "double": {
        "1": 1.0, "-1.50": -1.5, "1e3": 1000.0, "0.1": 0.1, "": None, "9007199254740992": 2.0**53, "1E+2": 100.0,
        "inf": float("inf"),
    },
    "bool": {"true": True, "False": False, "": None},
}  # fmt: skip
BAD = {
    "int8": ["128", "-129"],
    "uint8": ["-1", "256"],
    "int64": ["9223372036854775808", "+1", "01", "-0", "1_0", " 1", "1.0", "1e3", "٣", "x", "9" * 5000],
    "double": [
        "9007199254740993", "0.1000000000000000000001", "1e999", "1e-999", "1e-99999999999999999999", "01", "+1", ".5",
        "1_0.0", " 1", "Infinity", "1,5",
    ],
    "bool": ["TRUE", "1"],
}  # fmt: skip


@pytest.mark.parametrize("kind", GOOD)
def test_cells_that_convert(kind: str) -> None:
    for cell, value in GOOD[kind].items():
        found = CellType(kind, "f").convert(cell)
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize("kind", BAD)
def test_cells_that_do_not(kind: str) -> None:
    convert = converter(["a", "b"], {"b": CellType(kind, "f")})
    assert convert is not None
    for cell in BAD[kind]:
        with pytest.raises(
            ValueError,
            match=f"column 'b' holds '.*, which does not convert exactly to {kind}",
        ):
            convert(["", cell])


@given(st.integers(-(2**63), 2**63 - 1), st.floats())
def test_all_values_survive(number: int, fraction: float) -> None:
    assert CellType("int64", "f").convert(str(number)) == number
    assert repr(CellType("double", "f").convert(repr(fraction))) == repr(fraction)

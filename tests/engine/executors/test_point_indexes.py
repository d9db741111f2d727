"""Vectors and codes that are compared with an index of earlier ones, and added to it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from tests.cli.commands import failing, run

N, EARLIER, DIM = 900, 600, 16
RNG = np.random.default_rng(1)
VECTORS = RNG.standard_normal((N, DIM)).astype(np.float32)
VECTORS[600:700] = VECTORS[:100] + 0.05 * RNG.standard_normal((100, DIM))
VECTORS[700:720] = VECTORS[600:620]  # copies of rows that are near to earlier ones
VECTORS[720:750] = VECTORS[750:780]
CODES = RNG.integers(0, 2**63, (N, 4), np.uint64)
CODES[600:700] = CODES[:100] ^ np.uint64(0b101)
CODES[720:750] = CODES[750:780]

KINDS = {
    "vector": {"column": "v", "threshold": 0.95},
    "euclidean": {
        "column": "v",
        "measure": "euclidean",
        "radius": 1.0,
        "recall": 0.9999,
    },
    "code": {"column": "c", "kind": "code", "radius": 9},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("points")
    for name, low, high in (("january", 0, EARLIER), ("february", EARLIER, N)):
        rows = slice(low, high)
        vectors = pa.FixedSizeListArray.from_arrays(
            pa.array(VECTORS[rows].reshape(-1)), DIM
        )
        codes = pa.array(
            [code.tobytes() for code in CODES[rows].astype(">u8")[:, ::-1]],
            pa.binary(32),
        )
        table = pa.table(
            {"id": [f"r{row}" for row in range(low, high)], "v": vectors, "c": codes}
        )
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS)
def test_rows_near_to_earlier_ones_are_removed(files, tmp_path, kind):
    options = {"id_column": "id"} | KINDS[kind]
    first = lshfast.dedup_files(
        files / "january.parquet", save_index=tmp_path / "seen.lsh", **options
    )
    assert (first.summary.indexed, first.summary.removed) == (EARLIER, 0)
    before = (tmp_path / "seen.lsh").read_bytes()
    kept = tmp_path / "kept.parquet"
    result = lshfast.dedup_files(
        files / "february.parquet", kept, against=tmp_path / "seen.lsh", save_index=tmp_path / "seen.lsh",
        removed=tmp_path / "removed.parquet", **options,
    )  # fmt: skip
    whole = lshfast.dedup_files(
        [files / "january.parquet", files / "february.parquet"], **options
    )
    assert result.keep.tolist() == whole.keep[EARLIER:].tolist()
    earlier = 100 if kind == "code" else 120
    assert result.summary.earlier == earlier
    assert result.summary.removed == earlier + 30
    known = {removal.key: removal for removal in whole.removed}
    for removal in result.removed[:100]:
        assert removal[:2] == known[removal.key][:2]
        assert removal[2] == pytest.approx(known[removal.key][2], abs=1e-6)
    assert (
        result.summary.indexed == len(pq.read_table(kept)) == N - EARLIER - earlier - 30
    )
    table = pq.read_table(tmp_path / "removed.parquet")
    assert sum(table["earlier"].to_pylist()) == earlier
    assert not any(table["estimated"].to_pylist())
    assert (tmp_path / "seen.lsh").read_bytes() != before
    again = lshfast.dedup_files(
        files / "february.parquet", against=tmp_path / "seen.lsh", **options
    )
    assert again.summary.kept == 0


def test_what_an_index_of_points_refuses(files, tmp_path):
    vectors, codes, texts = (
        tmp_path / f"{name}.lsh" for name in ("vectors", "codes", "texts")
    )
    january, february = files / "january.parquet", files / "february.parquet"
    of_vectors = KINDS["vector"] | {"id_column": "id"}
    of_codes = KINDS["code"] | {"id_column": "id"}
    lshfast.dedup_files(january, save_index=vectors, **of_vectors)
    lshfast.dedup_files(january, save_index=codes, **of_codes)
    (tmp_path / "in.jsonl").write_text('{"text": "a b c"}\n')
    lshfast.dedup_files(tmp_path / "in.jsonl", save_index=texts)
    for options, index, said in (
        (of_vectors, codes, r"codes\.lsh"),
        (of_codes, vectors, r"vectors\.lsh"),
        (of_vectors, texts, r"texts\.lsh"),
        (
            of_vectors | {"threshold": 0.5},
            vectors,
            "promises to find points within distance 0.31",
        ),
        (
            {"column": "v", "measure": "euclidean", "radius": 0.1},
            vectors,
            "measure of this index is cosine, not euclidean",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            lshfast.dedup_files(
                february, tmp_path / "kept.parquet", against=index, **options
            )
    state = vectors.read_bytes()
    for ids, vector, said in (
        (["r0"], [1.0] * DIM, r"key 'r0' is in .*vectors\.lsh already"),
        ([1], [1.0] * DIM, r"the keys of .*vectors\.lsh are strings"),
        (["x"], [1.0, 2.0, 3.0], "coordinates of this index are 16, not 3"),
    ):
        pq.write_table(pa.table({"id": ids, "v": [vector]}), tmp_path / "other.parquet")
        with pytest.raises(ValueError, match=said):
            lshfast.dedup_files(
                tmp_path / "other.parquet",
                against=vectors,
                save_index=vectors,
                **of_vectors,
            )
    assert vectors.read_bytes() == state
    assert not (tmp_path / "kept.parquet").exists()
    said = failing(
        1,
        "dedup",
        february,
        "--column",
        "v",
        "--against",
        tmp_path / "no.lsh",
        "--dry-run",
    )
    assert "no.lsh" in said
    assert run("index", "info", vectors).exit_code == 0


def test_a_run_without_points_makes_no_index(tmp_path):
    pq.write_table(
        pa.table({"v": pa.array([None, None], pa.list_(pa.float32()))}),
        tmp_path / "in.parquet",
    )
    result = lshfast.dedup_files(
        tmp_path / "in.parquet", column="v", save_index=tmp_path / "seen.lsh"
    )
    assert (result.summary.empty, result.summary.indexed) == (2, None)
    assert not (tmp_path / "seen.lsh").exists()

"""The file of groups with lasting ids: what is written is read, and all else is refused by name."""

import json
import os
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lshfast import FormatError, dedup_files
from lshfast._common import locks
from lshfast._engine.clusters.file import (
    METADATA,
    MOST,
    ClusterOutput,
    cluster_output,
    read_clusters,
    write_clusters,
)
from lshfast._engine.clusters.lasting import ClusterTable

TABLE = ClusterTable(["a", "bé", "c"], np.array([1, 2, 1]), np.array([1, 1, 2]), 2, 4)


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "groups.parquet")
    write_clusters(path, TABLE, {"threshold": 0.8})
    return path


def same(one, other):
    numbers = [(table.keys, table.ids.tolist(), table.first_seen.tolist(), table.runs, table.next_id)
               for table in (one, other)]  # fmt: skip
    return numbers[0] == numbers[1]


@pytest.mark.parametrize(
    "keys",
    [
        ["a", "bé", "c"],
        [-(2**63), 2**63 - 1, 0],
        [2**64 - 1, 0, 2**63],
        [2**63, 2**64 - 1, 2**63 + 5],
    ],
)
def test_what_is_written_is_read(tmp_path, keys):
    table = ClusterTable(keys, TABLE.ids, TABLE.first_seen, 2, 4)
    path = str(tmp_path / "g.parquet")
    write_clusters(path, table, {})
    assert same(read_clusters(path), table)
    before = (tmp_path / "g.parquet").read_bytes()
    write_clusters(path, table, {})
    assert (tmp_path / "g.parquet").read_bytes() == before


def test_no_rows(tmp_path):
    path = str(tmp_path / "g.parquet")
    write_clusters(path, ClusterTable(runs=3, next_id=9), {})
    assert same(read_clusters(path), ClusterTable(runs=3, next_id=9))


def test_the_columns_are_plain_parquet_and_the_options_are_in_the_metadata(path):
    table = pq.read_table(path)
    assert table.to_pylist()[2] == {"key": "c", "cluster": 1, "first_seen": 2}
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "int64"]
    assert json.loads(table.schema.metadata[METADATA.encode()])["options"] == {
        "threshold": 0.8
    }


def changed(path, **columns):
    """Write other columns under the metadata of a file."""
    table = pq.read_table(path)
    arrays = {name: columns.get(name, table[name]) for name in table.column_names}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    pq.write_table(pa.table(arrays, metadata=table.schema.metadata), path)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"key": ["a", "b", "c"]}, "the checksum of its columns differs"),
        ({"cluster": [1, 2, 2]}, "the checksum of its columns differs"),
        ({"first_seen": [1, 2, 2]}, "the checksum of its columns differs"),
        ({"cluster": [1, 4, 1]}, r"clusters must be in 1\.\.3"),
        ({"cluster": [0, 2, 1]}, r"clusters must be in 1\.\.3"),
        ({"cluster": [-(2**63), 2, 1]}, r"clusters must be in 1\.\.3"),
        ({"first_seen": [2, 1, 2]}, "first_seen must ascend"),
        ({"first_seen": [0, 1, 2]}, r"first_seen must be in 1\.\.2"),
        ({"first_seen": [1, 1, 3]}, r"first_seen must be in 1\.\.2"),
        ({"key": ["a", "a", "c"]}, "id 'a' is taken by .*"),
        ({"key": ["a", None, "c"]}, "id column 'key' is missing, null or empty"),
        ({"key": ["a", "", "c"]}, "id column 'key' is missing, null or empty"),
        ({"cluster": pa.array([1, None, 1], "int64")}, "a null is no number"),
        ({"first_seen": pa.array([1, None, 1], "int64")}, "a null is no number"),
        ({"cluster": [1.0, 2.0, 1.0]}, "its columns must be key, cluster, first_seen"),
        ({"key": [b"a", b"b", b"c"]}, "its columns must be key, cluster, first_seen"),
        ({"cluster": None}, "its columns must be key, cluster, first_seen"),
        ({"key": ["a"], "cluster": [1], "first_seen": [1]}, "it has 1 rows, not 3"),
        ({"key": pa.array([], "string"), "cluster": pa.array([], "int64"), "first_seen": pa.array([], "int64")},
         "it has 0 rows, not 3"),
    ],
)  # fmt: skip
def test_other_columns_are_refused_by_name(path, columns, reason):
    changed(path, **columns)
    with pytest.raises(FormatError, match=rf"^.*groups\.parquet: damaged: {reason}$"):
        read_clusters(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: b"[" * 100_000, "damaged"),
        (lambda data: b"{}", "damaged"),
        (
            lambda data: data.replace(b'"next_id": 4', b'"next_id": 5'),
            "damaged: its checksum differs",
        ),
        (lambda data: data.replace(b"0.8", b"0.9"), "damaged: its checksum differs"),
        (
            lambda data: data.replace(b'"version": 1', b'"version": 2'),
            "version 2; this library reads version 1",
        ),
        (lambda data: data[:-1], "damaged"),
    ],
)
def test_other_metadata_is_refused_by_name(path, change, reason):
    table = pq.read_table(path)
    metadata = {METADATA: change(table.schema.metadata[METADATA.encode()])}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(FormatError, match=rf"^.*groups\.parquet: {reason}$"):
        read_clusters(path)


@pytest.mark.parametrize(
    "own", [{}, {"runs": 2, "next_id": 4, "rows": 3}, {"runs": "2"}, {"runs": True}]
)
def test_metadata_without_its_numbers(path, own):
    from lshfast._engine.clusters.file import _MANIFEST

    table = pq.read_table(path)
    pq.write_table(
        table.replace_schema_metadata({METADATA: _MANIFEST.pack(own, {})}), path
    )
    with pytest.raises(FormatError, match=r"groups\.parquet: damaged: "):
        read_clusters(path)


def test_foreign_files(path, tmp_path):
    pq.write_table(pa.table({"key": ["a"], "cluster": [1], "first_seen": [1]}), path)
    with pytest.raises(
        FormatError, match=r"groups\.parquet: not a file of clusters of lshfast$"
    ):
        read_clusters(path)
    for data in (b"", b"key,cluster\n", b"PAR1" * 100):
        (tmp_path / "groups.parquet").write_bytes(data)
        with pytest.raises(
            FormatError, match=r"groups\.parquet: cannot be read as Parquet: "
        ):
            read_clusters(path)


def test_each_byte_of_a_file(path, tmp_path):
    """A file with another byte is refused, or means the same: not all bytes of Parquet have a meaning."""
    data = (tmp_path / "groups.parquet").read_bytes()
    for place in range(0, len(data), 7):
        other = bytearray(data)
        other[place] ^= 0x55
        (tmp_path / "groups.parquet").write_bytes(other)
        with suppress(FormatError):
            assert same(read_clusters(path), TABLE)


def test_two_runs_at_once_are_refused(path, tmp_path):
    output = ClusterOutput(path)
    with output.opened() as clusters:
        assert same(clusters.earlier, TABLE)
        assert os.path.exists(f"{path}.lock")
        with (
            pytest.raises(
                ValueError, match=r"groups\.parquet: another run uses this file"
            ),
            output.opened(),
        ):
            pass
        link = tmp_path / "link.parquet"
        link.symlink_to(path)
        with pytest.raises(
            ValueError, match=r"link\.parquet: another run uses this file"
        ):
            ClusterOutput(str(link)).opened().__enter__()
        with output.undone.opened() as dry:  # which writes nothing
            assert same(dry.earlier, TABLE)
    assert not os.path.exists(f"{path}.lock")
    with output.opened():
        pass


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_the_lock_ends_with_its_process(path):
    code = (
        "import os, sys\nfrom lshfast._engine.clusters.file import ClusterOutput\n"
        f"held = ClusterOutput({path!r}).opened()\nheld.__enter__()\nos._exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7
    assert os.path.exists(f"{path}.lock")
    with ClusterOutput(path).opened() as clusters:
        assert same(clusters.earlier, TABLE)


def test_a_lock_file_that_its_holder_removes_before_it_is_locked(tmp_path, monkeypatch):
    path, opened, lock = str(tmp_path / "lock"), [], locks._lock

    def lock_removed(file):
        if not opened:
            os.unlink(path)
        opened.append(file)
        return lock(file)

    monkeypatch.setattr(locks, "_lock", lock_removed)
    with locks.locked(path, "in use", remove=True):
        assert os.path.samestat(os.fstat(opened[-1]), os.stat(path))
    assert len(opened) == 2
    assert not os.path.exists(path)


def test_outputs():
    assert cluster_output(None, None) is None
    with pytest.raises(
        ValueError, match=r"changes \(--changes\) needs clusters \(--clusters\)"
    ):
        cluster_output(None, "changes.csv")
    assert cluster_output("a.parquet", "c.csv") == ClusterOutput("a.parquet", "c.csv")
    assert ClusterOutput("a.parquet", "c.csv").undone == ClusterOutput(
        "a.parquet", None, True
    )
    for path in ("a.csv", "a.txt", "a"):
        with pytest.raises(ValueError, match=rf"^{path}: "):
            ClusterOutput(path).check([], [])


def test_keys_of_another_type_are_refused(path):
    with (
        ClusterOutput(path).opened() as clusters,
        pytest.raises(
            ValueError,
            match=r"groups\.parquet: the keys of earlier rows are strings, those of this run integers$",
        ),
    ):
        clusters.update([1], np.array([0]))


@pytest.mark.parametrize(("earlier", "later"), [(-5, 2**63), (2**64 - 1, -1)])
def test_changes_of_keys_that_no_column_can_have(tmp_path, earlier, later):
    """The keys that are gone are in the table of changes, and not in the file of groups."""
    groups, rows, output = (
        tmp_path / name for name in ("groups.parquet", "rows.jsonl", "out.jsonl")
    )
    write_clusters(
        str(groups), ClusterTable([earlier], np.array([1]), np.array([1]), 1, 2), {}
    )
    rows.write_text(json.dumps({"id": later, "text": "one two three"}))
    before = groups.read_bytes()
    options = {"id_column": "id", "clusters": groups, "output": output}
    with pytest.raises(ValueError, match=r"^.*changes\.parquet: some keys .* Parquet"):
        dedup_files(rows, **options, changes=tmp_path / "changes.parquet")
    assert {path.name for path in tmp_path.iterdir()} == {groups.name, rows.name}
    assert groups.read_bytes() == before
    dedup_files(rows, **options, changes=tmp_path / "changes.csv")
    lines = (tmp_path / "changes.csv").read_text().splitlines()[1:]
    assert [line.split(",")[-1] for line in lines] == [str(earlier), str(later)]
    assert read_clusters(str(groups)).keys == [later]


@pytest.mark.parametrize(
    ("runs", "next_id", "number"),
    [(MOST, 2, "run"), (1, MOST, "cluster"), (1, MOST - 1, "")],
)
def test_a_run_writes_no_file_that_the_next_run_refuses(
    tmp_path, runs, next_id, number
):
    path = tmp_path / "groups.parquet"
    rows = tmp_path / "rows.jsonl"
    output = tmp_path / "out.jsonl"
    write_clusters(
        str(path), ClusterTable(["a"], np.array([1]), np.array([1]), runs, next_id), {}
    )
    rows.write_text('{"id": "b", "text": "one two three"}\n')
    before = path.read_bytes()
    if not number:
        dedup_files(rows, output, id_column="id", clusters=path)
        assert read_clusters(str(path)).next_id == MOST
        return
    with pytest.raises(
        ValueError, match=rf"groups\.parquet: the .*{number} would be .* at most {MOST}"
    ):
        dedup_files(rows, output, id_column="id", clusters=path)
    assert path.read_bytes() == before
    assert not output.exists()

"""The tasks of the workers, on Arrow batches of any size."""

import itertools
import tempfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast import MinHasher, shingle
from lshfast._engine.plan import make_plan, plan_for
from lshfast._items.buckets import plan_buckets
from lshfast.index.neighbors.points import PointFormat
from lshfast.join import all_pairs
from lshfast.quality import near_pairs as quality_near_pairs
from lshfast.spark.check_tasks import NearLimits, NearTask
from lshfast.spark.point_tasks import (
    NearCodesTask,
    PointGroupTask,
    PointPairTask,
    near_nodes,
)
from lshfast.spark.set_tasks import EngineTask, PairTask
from lshfast.spark.tasks import (
    EARLIER,
    EARLIER_ID,
    ChainTask,
    RecordTask,
    ScreenTask,
    SketchTask,
    draw_content_key,
)
from tests.spark.answers import corpus, native, native_pairs


def batches(table, size):
    return iter(table.to_batches(max_chunksize=size))


def collected(task, table, size):
    return pa.Table.from_batches(list(task(batches(table, size))))


def parts(pairs, nodes):
    """Return the connected components of pairs, as a set of frozen sets, found by repeated relabelling."""
    label = {node: node for node in nodes}
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            least = min(label[a], label[b])
            changed |= label[a] != least or label[b] != least
            label[a] = label[b] = least
    return {
        frozenset(node for node in nodes if label[node] == least)
        for least in set(label.values())
    }


def edges_of(task, table, size):
    found = [batch.to_pydict() for batch in task(batches(table, size))]
    edges = [edge for part in found for edge in zip(part["u"], part["v"], strict=True)]
    assert all(u > v for u, v in edges)
    return edges


records = st.lists(
    st.tuples(st.integers(-3, 6), st.integers(0, 15)), unique=True, max_size=60
)


def columns_of(rows):
    key, node = np.array(rows, np.int64).reshape(-1, 2).T
    return {"key": key, "node": node}


@given(records, st.integers(1, 70))
def test_chains_connect_the_rows_of_each_bucket(rows, size):
    rows.sort(key=lambda row: row[0])
    nodes = {row[1] for row in rows}
    pairs = [(a[1], b[1]) for a, b in itertools.combinations(rows, 2) if a[0] == b[0]]
    assert parts(
        edges_of(ChainTask(), pa.table(columns_of(rows)), size), nodes
    ) == parts(pairs, nodes)


@given(
    records,
    st.integers(1, 70),
    st.integers(1, 6),
    st.sampled_from([2, 5, 100]),
    st.integers(0, 2**32),
)
@example(
    [(key, node) for key in range(4) for node in range(3 * key)], 4, 4, 5, 1
)  # crowds within and across batches
def test_screens_connect_the_rows_with_enough_equal_codes(
    rows, size, least, most, seed
):
    rows.sort(key=lambda row: row[0])
    codes = np.random.default_rng(seed).integers(0, 2, (16, 6), np.uint8)
    nodes = {row[1] for row in rows}
    crowds = {
        key
        for key, group in itertools.groupby(rows, lambda row: row[0])
        if len(list(group)) > most
    }
    pairs = [
        (a[1], b[1])
        for a, b in itertools.combinations(rows, 2)
        if a[0] == b[0]
        and (a[0] in crowds or (codes[a[1]] == codes[b[1]]).sum() >= least)
    ]
    table = pa.table(
        columns_of(rows)
        | {"codes": pa.array([codes[node].tobytes() for _, node in rows], pa.binary())}
    )
    assert parts(edges_of(ScreenTask(least, most), table, size), nodes) == parts(
        pairs, nodes
    )


@given(records, st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32))
@example([(key, node) for key in range(4) for node in range(3 * key)], 4, 5, 1)
def test_near_codes_of_each_bucket_are_connected(rows, size, room, seed):
    """A bucket of as many records as are held is connected, whatever its codes are."""
    rows.sort(key=lambda row: row[0])
    codes = np.zeros((16, 4), np.uint64)
    codes[:, 0] = np.random.default_rng(seed).integers(0, 2**8, 16)
    nodes = {row[1] for row in rows}
    near = [
        (a[1], b[1])
        for a, b in itertools.combinations(rows, 2)
        if a[0] == b[0] and int(codes[a[1], 0] ^ codes[b[1], 0]).bit_count() <= 3
    ]
    equal = [(a[1], b[1]) for a, b in itertools.combinations(rows, 2) if a[0] == b[0]]
    table = pa.table(
        columns_of(rows)
        | {"codes": pa.array([codes[node].tobytes() for _, node in rows], pa.binary())}
    )
    connected = parts(edges_of(NearCodesTask(3, room), table, size), nodes)
    if all(sum(row[0] == key for row in rows) < room for key in range(-3, 7)):
        assert connected == parts(near, nodes)
    for component in parts(near, nodes):
        assert any(component <= other for other in connected)
    for component in connected:
        assert any(component <= other for other in parts(equal, nodes))


@pytest.mark.parametrize("n", [0, 1, 60])
def test_near_codes_on_the_driver_are_those_of_the_tasks(n):
    """The keys of all bands are differently numbered, so records of several bands share no bucket."""
    rng = np.random.default_rng(n)
    nodes = rng.permutation(10 * n)[:n].astype(np.int64)
    keys = rng.integers(0, 8, (n, 3)).astype(np.uint64) + np.arange(
        0, 30, 10, np.uint64
    )
    codes = np.zeros((n, 4), np.uint64)
    codes[:, 0] = rng.integers(0, 2**8, n)
    columns = {"node": pa.array(nodes)}
    for name, words in (("keys", keys), ("codes", codes)):
        columns[name] = pa.array([row.tobytes() for row in words], pa.binary())
    table = pa.table(columns)
    records = collected(RecordTask(), table, 7).sort_by("key") if n else table
    near = edges_of(NearCodesTask(3), records, 50) if n else []
    halves = pa.concat_tables([table.slice(0, n // 2), table.slice(n // 2)])
    left, right = near_nodes(halves, 3)
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    assert parts(pairs, nodes.tolist()) == parts(near, nodes.tolist())


@pytest.mark.parametrize("size", [1, 3, 100])
def test_records_are_the_keys_of_all_bands(size):
    keys = np.array(
        [[1, 2**63], [2**64 - 1, 4], [2**64 - 1, 2**64 - 1], [1, 0]], np.uint64
    )
    codes = [b"abc", b"\0\0\0", b"xyz", b"123"]
    packed = pa.array([row.tobytes() for row in keys], pa.binary())
    table = pa.table(
        {"node": [5, -6, 7, 8], "keys": packed, "codes": pa.array(codes, pa.binary())}
    )
    found = collected(RecordTask(), table, size).to_pydict()
    assert list(zip(*found.values(), strict=True)) == [
        (1, 5, b"abc"), (-(2**63), 5, b"abc"), (4, -6, b"\0\0\0"), (1, 8, b"123"), (0, 8, b"123"),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_sketches_have_the_bucket_keys_of_the_hasher(size):
    ids, texts = corpus(60)
    plan = make_plan(threads=1)
    table = pa.table({"id": ids, "text": pa.array(texts), "value": texts})
    found = collected(SketchTask(plan, draw_content_key(), codes=True), table, size)
    assert found.column_names == [
        "id",
        "value",
        "low",
        "high",
        "length",
        "keys",
        "codes",
    ]
    assert found["id"].to_pylist() == ids
    assert found["value"].to_pylist() == texts
    assert found["length"].to_pylist() == [len((text or "").encode()) for text in texts]
    signatures = MinHasher().sketch(shingle(texts))
    empty = signatures[:, 0] == 2**64 - 1
    keys = [row.tobytes() for row in plan.bands.keys(signatures)]
    assert found["keys"].to_pylist() == [
        None if none else own for none, own in zip(empty, keys, strict=True)
    ]
    assert found["codes"].to_pylist() == [
        row.tobytes() for row in (signatures % 256).astype(np.uint8)
    ]


def test_equal_texts_have_equal_hashes_and_others_have_not():
    key = draw_content_key()
    texts = ["a b", "a b", "a  b", "A b", "ab", "b a"]
    table = pa.table({"id": range(len(texts)), "text": texts})
    found = collected(SketchTask(make_plan(threads=1), key), table, 3)
    for name in ("low", "high"):
        hashes = found[name].to_pylist()
        assert [a == b for a, b in itertools.combinations(hashes, 2)] == [
            a == b for a, b in itertools.combinations(texts, 2)
        ]
    assert found["low"].to_pylist() != found["high"].to_pylist()
    other = collected(SketchTask(make_plan(threads=1), draw_content_key()), table, 3)
    assert other["keys"] == found["keys"]
    assert set(other["low"].to_pylist()).isdisjoint(found["low"].to_pylist())


def two_sets(answer):
    """Return two corpora as two sets, with some texts in both, and the answers for them."""
    table, expected = [], []
    for label, seed in ((-5, 1), (3, 2)):
        ids, texts = corpus(100, seed)
        rows = sorted(
            (f"{label}/{key:+05}", text) for key, text in zip(ids, texts, strict=True)
        )
        table += [(label, *row) for row in rows]
        expected += answer(*zip(*rows, strict=True))
    labels, ids, texts = zip(*table, strict=True)
    return pa.table({"label": labels, "id": ids, "text": texts}), expected


@pytest.mark.parametrize(
    ("size", "held", "spooled"),
    [(1, 1, 1 << 30), (7, 2000, 1 << 30), (1000, 1 << 30, 500)],
)
def test_engines_answer_for_each_set(monkeypatch, tmp_path, size, held, spooled):
    """Two corpora are two sets: between them there are no pairs, although some texts are in both."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table, expected = two_sets(lambda ids, texts: native(ids, texts)[0])
    task = EngineTask(
        make_plan(threads=1), "first", batch_bytes=held, spool_bytes=spooled
    )
    answers = []
    for batch in task(batches(table, size)):
        # A worker that is killed while it has rows in a file leaves nothing.
        assert list(tmp_path.iterdir()) == []
        answers.append(batch)
    found = pa.Table.from_batches(answers)
    removed = [
        (key, kept, similarity)
        for key, kept, similarity, *_ in zip(*found.to_pydict().values(), strict=True)
    ]
    assert [row for row in removed if row[0] is not None] == [
        (key, kept, similarity)
        for key, keep, kept, similarity, _ in expected
        if not keep
    ]


class WholeSets(EngineTask):
    """Answers with the rows that the engine would get."""

    def _found(self, table):
        yield from table.to_batches()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 300, 10_000])
def test_an_earlier_row_that_comes_often_is_compared_with_its_first_copies(size):
    """Rows with one key and text have one number, which may be 0; labels and numbers change."""
    earlier = [(1, 0, 300), (1, 5, 3), (1, 6, 257), (2, 6, 256), (2, 7, 600)]
    rows = [(label, None, number) for label, number, n in earlier for _ in range(n)]
    rows += [(label, key, None) for label in (1, 2) for key in range(300)]
    rows.sort(key=lambda row: (row[0], row[1] is None, row[1] or 0, row[2] or 0))
    labels, keys, numbers = zip(*rows, strict=True)
    table = pa.table(
        {
            "label": pa.array(labels, pa.int64()),
            "id": pa.array(keys, pa.int64()),
            EARLIER: pa.array(numbers, pa.int64()),
            EARLIER_ID: pa.array(numbers, pa.int64()),
        }
    )
    found = collected(WholeSets(make_plan(threads=1), "first"), table, size)
    expected = [
        row
        for row, before in zip(rows, places_among_equal(rows), strict=True)
        if row[2] is None or before < 256
    ]
    assert (
        list(zip(*found.drop([EARLIER]).to_pydict().values(), strict=True)) == expected
    )


def places_among_equal(rows):
    """Return for each row how many equal ones are before it."""
    seen = Counter()
    places = []
    for row in rows:
        places.append(seen[row])
        seen[row] += 1
    return places


@pytest.mark.parametrize(
    ("size", "held", "most"), [(1, 1, 1), (7, 2000, 5), (1000, 1 << 30, 1 << 16)]
)
def test_pairs_of_each_set_come_in_batches(monkeypatch, size, held, most):
    monkeypatch.setattr(all_pairs, "BATCH_PAIRS", 2 * most)
    table, expected = two_sets(native_pairs)
    found = list(
        PairTask(make_plan(threads=1), batch_bytes=held, batch_pairs=most)(
            batches(table, size)
        )
    )
    assert all(0 < batch.num_rows <= most for batch in found)
    rows = [row for batch in found for row in batch.to_pylist()]
    pairs = [
        (row["id_i"], row["id_j"], row["similarity"])
        for row in rows
        if row["id_j"] is not None
    ]
    assert sorted(pairs) == sorted(expected)
    assert all(row["candidates"] == 0 for row in rows if row["id_j"] is not None)
    assert sum(row["candidates"] for row in rows) >= sum(
        not row["copy"] for row in rows if row["id_j"] is not None
    )
    text_of = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
    tokens = {key: (text or "").lower().rstrip("!") for key, text in text_of.items()}
    for row in rows:
        if row["id_j"] is not None:
            assert row["copy"] == (tokens[row["id_i"]] == tokens[row["id_j"]])


CROWD = [
    f"order {row} of {row % 7} parts is on its way to you now" for row in range(300)
]
SAMPLE = pa.table({"text": CROWD[::10]})


def near_pairs(limits, texts, size, check):
    """Return the pairs of a task and the place from which on they are incomplete."""
    table = pa.table({"id": range(len(texts)), "text": texts})
    plan = make_plan(threshold=0.5, size=1)
    task = NearTask(plan, SAMPLE, 0.5, limits, check)
    rows = collected(task, table, size)
    pairs = list(
        zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True)
    )
    found = sorted(pair for pair in pairs if pair[1] is not None)
    limit, *_ = [place for place, id in pairs if id is None] or [len(SAMPLE)]
    return found, limit


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 40, 300])
@pytest.mark.parametrize("pairs_of_part", [1, 1 << 21])
def test_a_task_with_a_crowd_returns_the_pairs_of_the_first_rows_of_the_sample(
    monkeypatch, size, pairs_of_part
):
    monkeypatch.setattr(quality_near_pairs, "PAIRS_OF_PART", pairs_of_part)
    every_pair, limit = near_pairs(NearLimits(10**6, 4, 10**6), CROWD, 300, size)
    assert len(every_pair) == len(SAMPLE) * len(CROWD)
    assert limit == len(SAMPLE)
    some_pairs, limit = near_pairs(NearLimits(2000, 4, 10**6), CROWD, size, size + 1000)
    assert limit == 6
    first_pairs = [pair for pair in every_pair if pair[0] < limit]
    assert [pair for pair in some_pairs if pair[0] < limit] == first_pairs
    some_pairs, limit = near_pairs(NearLimits(2000, 4, 100), CROWD, size, size + 2000)
    assert limit == 0
    if size < 300:
        assert len(some_pairs) < 180 * len(SAMPLE)


def plan_of_vectors(n):
    """Return the plan of a run over n vectors of 8 coordinates, and the options of its tasks."""
    plan = plan_for("vector", {"threshold": 0.9, "exact": None, "threads": 1})
    format = PointFormat("angle", 8, "float32", None)
    buckets = plan_buckets(format, plan, n, np.linspace(0.5, 1.5, 100))
    return replace(plan, bands=buckets.bands), {"format": format, "buckets": buckets}


def test_a_set_of_vectors_on_the_disk_has_the_pairs_of_one_in_memory():
    vectors = np.random.default_rng(1).normal(size=(200, 8)).astype(np.float32)
    vectors[100:] = vectors[:100] + np.float32(0.01)
    table = pa.table(
        {
            "label": np.zeros(200, np.int64),
            "id": range(200),
            "text": pa.array(vectors.tolist(), pa.list_(pa.float32())),
        }
    )
    plan, options = plan_of_vectors(200)
    results = []
    for spool_bytes in (1 << 20, 0):
        pairs_task = PointPairTask(plan, **options, spool_bytes=spool_bytes)
        group_task = PointGroupTask(plan, "first", **options, spool_bytes=spool_bytes)
        results.append(
            [collected(task, table, 30) for task in (pairs_task, group_task)]
        )
    assert results[0] == results[1]
    assert results[0][0].num_rows > 100


def test_the_vectors_of_a_set_may_have_more_coordinates_than_offsets_of_32_bits():
    """Most coordinates are those of a null, which nothing reads."""
    coordinates = np.zeros(1 << 28, np.float32)
    coordinates[-8:] = 1
    offsets = np.array([0, (1 << 28) - 8, 1 << 28], np.int32)
    vectors = pa.Array.from_buffers(
        pa.list_(pa.float32()),
        2,
        [pa.py_buffer(b"\x02"), pa.py_buffer(offsets)],
        children=[pa.array(coordinates)],
    )
    batches_of_set = [
        pa.RecordBatch.from_pydict(
            {
                "label": pa.array([0, 0]),
                "id": pa.array([first, first + 1]),
                "text": vectors,
            }
        )
        for first in range(0, 18, 2)
    ]
    plan, options = plan_of_vectors(18)
    task = PointGroupTask(plan, "first", **options, spool_bytes=1 << 40)
    rows = pa.Table.from_batches(list(task(iter(batches_of_set))))
    assert rows.column("id").to_pylist() == [None, *range(3, 18, 2)]
    task = PointPairTask(plan, **options, spool_bytes=1 << 40)
    assert sum(batch.num_rows for batch in task(iter(batches_of_set))) == 9

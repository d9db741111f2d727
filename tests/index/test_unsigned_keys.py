"""Keys above 2**63 - 1: over each store and in each index, beside a dict of what is stored."""

import re

import numpy as np
import pytest

from lshfast import (
    FormatError,
    HammingIndex,
    LSHEnsemble,
    LSHForest,
    LSHIndex,
    NearNeighbors,
    TanimotoIndex,
)
from lshfast.exact import PrefixIndex
from lshfast.index import ShardBuild
from lshfast.index.keys import as_column, concatenate, converted, kind_of
from lshfast.index.shards.range_store import RangeStore
from lshfast.index.stores.file_format import Directory
from lshfast.index.stores.memory import MemoryStore
from tests.index.index_files import content, held, shared, small

SMALL_KEYS = [5, 0, 2**63 - 1]
LARGE_KEYS = [2**63, 2**64 - 1, 0xC6A4A7935BD1E995]
KEYS = [*SMALL_KEYS, *LARGE_KEYS]
RANGES = re.escape("ints must be all in -2**63..2**63 - 1 or all in 0..2**64 - 1")


def expected(keys=KEYS):
    """What an index of these keys holds, whose rows are those of KEYS."""
    rows = [tuple(row) for row in shared(len(KEYS)).tolist()]
    return {key: rows[KEYS.index(key)] for key in keys}


def rows_of(keys):
    return np.array(list(expected(keys).values()), np.uint64).reshape(-1, 8)


# Columns


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ([], "int"),
        ([5], "int"),
        ([-1, 2**63 - 1], "int"),
        ([0, 2**63], "uint"),
        ([2**64 - 1], "uint"),
        ([-1, 2**63], "object"),
        ([2**64], "object"),
        ([-(2**63) - 1], "object"),
    ],
)
def test_columns_of_integers(keys, kind):
    column = as_column(keys or np.array([], np.int64))
    assert kind_of(column) == kind
    assert list(map(int, column)) == keys


def test_arrays_of_any_dtype():
    for dtype in (np.uint64, ">u8", np.uint32, np.int8, np.uint8):
        small_keys = as_column(np.array([3, 1], dtype))
        assert (small_keys.dtype, small_keys.tolist()) == (np.int64, [3, 1])
    for dtype in (np.uint64, ">u8"):
        large_keys = as_column(np.array([3, 2**64 - 1], dtype))
        assert (large_keys.dtype, large_keys.tolist()) == (np.uint64, [3, 2**64 - 1])
    assert as_column([np.uint64(2**63), 1]).tolist() == [2**63, 1]


def test_columns_together():
    signed, unsigned = as_column([-1, 2]), as_column([2**63, 2])
    either = as_column([7])
    assert converted(either, "uint").dtype == np.uint64
    assert (converted(signed, "uint"), converted(unsigned, "int")) == (None, None)
    assert concatenate([either, unsigned]).dtype == np.uint64
    assert concatenate([either, unsigned[1:], signed]).dtype == np.int64
    assert concatenate([signed, unsigned]) == [-1, 2, 2**63, 2]


# Stores of an LSHIndex


def in_memory(folder):
    return small()


def in_file(folder):
    small().save(folder / "index")
    return LSHIndex.open(folder / "index", "r+")


def in_shards(folder):
    small().save(folder / "index", shards=3)
    return LSHIndex.open(folder / "index", "r+")


def in_lmdb(folder):
    pytest.importorskip("lmdb", reason="install lshfast[lmdb]")
    from lshfast.index.stores.lmdb import LmdbStore

    return small(store=LmdbStore(folder / "index", map_size=1 << 26, sync=False))


def again(index, folder):
    """Return the index that another process opens."""
    if isinstance(index.store, MemoryStore):
        return index
    if (folder / "index" / "data.mdb").exists():
        from lshfast.index.stores.lmdb import LmdbStore

        index.close()
        store = LmdbStore(folder / "index", map_size=1 << 26, sync=False)
        return small(store=store)
    index.close()
    return LSHIndex.open(folder / "index", "r+", verify=True)


STORES = [in_memory, in_file, in_shards, in_lmdb]


@pytest.fixture
def opened():
    """Return a function that notes an index, which is closed at the end."""
    indexes = []

    def note(index):
        indexes.append(index)
        return index

    yield note
    for index in indexes:
        index.store.close()


@pytest.mark.parametrize("make", STORES)
def test_what_a_store_does(make, tmp_path, opened):
    index = opened(make(tmp_path))
    assert index.insert(SMALL_KEYS, rows_of(SMALL_KEYS)) == 3
    assert index.key_kind == "int"
    index = opened(again(index, tmp_path))
    assert index.insert(np.array(LARGE_KEYS, np.uint64), rows_of(LARGE_KEYS)) == 3
    assert (index.key_kind, content(index)) == ("uint", expected())
    index = opened(again(index, tmp_path))
    assert (index.key_kind, content(index)) == ("uint", expected())
    index.store.verify()
    for key in KEYS:
        assert key in index
        assert float(key) not in index or int(float(key)) in KEYS
        for column in ([key], np.array([key], np.uint64), [key, "text"]):
            assert index.contains(column)[0]
    # Floats of numpy are compared with limits that are rounded to their dtype.
    too_large = [np.float64(2.0**64), np.longdouble(2.0**64), np.float32(-(2.0**70))]
    assert not index.contains([*too_large, np.float32(2.0**64)]).any()
    assert index.contains([np.float32(2.0**63), np.float16(5)]).all()
    # Keys of which one has the 8 bytes of another are different keys.
    assert index.contains([-1, -(2**63), 2**64, "5", -5]).tolist() == [False] * 5
    assert index.contains([5.0, 2.0**63, np.uint64(2**63), True, -1.0]).tolist() == [
        True,
        True,
        True,
        False,
        False,
    ]
    found = index.query(rows_of(KEYS), k=6)
    assert found.keys.dtype == np.uint64
    assert all(
        key in [match.key for match in matches]
        for key, matches in zip(KEYS, found, strict=True)
    )
    for matches in found:
        ordered = [(-match.similarity, match.key) for match in matches]
        assert ordered == sorted(ordered)
    for matches in index.query(rows_of(KEYS)):
        assert matches == sorted(matches)
    pairs = [(left, right) for left, right, _ in index.pairs(0)]
    assert all(left < right for left, right in pairs)
    assert pairs == sorted(pairs)
    with pytest.raises(ValueError, match=str(2**64 - 1)):
        index.insert([3, 2**64 - 1], rows_of(KEYS[:2]))
    with pytest.raises(KeyError, match="-1"):
        index.remove([5, -1])
    index.remove([2**63, 5])
    index.remove(2**64 - 1)
    index.insert(2**63, rows_of([2**63])[0])
    left = [0, 2**63 - 1, LARGE_KEYS[2], 2**63]
    assert content(index) == expected(left)
    index.compact()
    assert content(opened(again(index, tmp_path))) == expected(left)


@pytest.mark.parametrize("make", STORES)
@pytest.mark.parametrize(("first", "second"), [([-1, 5], 2**63), ([2**63, 5], -1)])
def test_both_signs(make, first, second, tmp_path, opened):
    """In memory, they are keys like others; where keys are stored, the second one is refused."""
    index = opened(make(tmp_path))
    index.insert(first, shared(2))
    before = content(index)
    if make is in_memory:
        index.insert(second, shared(1)[0])
        assert set(index) == {*first, second}
        with pytest.raises(TypeError, match=RANGES):
            index.save(tmp_path / "saved")
        index.remove(second)
        index.save(tmp_path / "saved")
        assert held(tmp_path / "saved") == before
        return
    for keys in ([second], [7, second], second):
        rows = shared(2)[: len(keys)] if isinstance(keys, list) else shared(1)[0]
        with pytest.raises(TypeError, match=RANGES):
            index.insert(keys, rows)
    other = small()
    other.insert([8, second], shared(2))
    with pytest.raises(TypeError, match=RANGES):
        index.merge(other)
    with pytest.raises(TypeError, match=RANGES):
        index.insert([first[0], second], shared(2))
    assert content(index) == before
    # Once the keys of the other sign are removed, the kind changes.
    index.remove(first[0])
    index.insert(second, shared(1)[0])
    assert set(opened(again(index, tmp_path))) == {5, second}


@pytest.mark.parametrize("make", STORES[1:])
def test_merges(make, tmp_path, opened):
    """An index whose batches are of both kinds of integers is merged whole."""
    index, other = opened(make(tmp_path)), small()
    index.insert(SMALL_KEYS, rows_of(SMALL_KEYS))
    other.insert(LARGE_KEYS, rows_of(LARGE_KEYS))
    assert index.merge(other) == 3
    assert content(opened(again(index, tmp_path))) == expected()


def test_the_kind_in_a_file(tmp_path):
    """It is that of signed integers unless a key is large, so that earlier files keep their bytes."""
    for name, keys in (("signed", SMALL_KEYS), ("once unsigned", SMALL_KEYS)):
        index = small()
        index.insert(keys, rows_of(keys))
        if name == "once unsigned":
            index.insert(LARGE_KEYS, rows_of(LARGE_KEYS))
            index.remove(LARGE_KEYS)
            assert index.key_kind == "uint"
        index.save(tmp_path / name)
    signed = (tmp_path / "signed").read_bytes()
    assert Directory.unpack(directory_bytes(signed)).kind == "int"
    assert (tmp_path / "once unsigned").stat().st_size == len(signed)
    with LSHIndex.open(tmp_path / "once unsigned") as index:
        assert index.key_kind == "int"
    index = small()
    index.insert(KEYS, rows_of(KEYS))
    index.save(tmp_path / "unsigned")
    directory = Directory.unpack(directory_bytes((tmp_path / "unsigned").read_bytes()))
    assert (directory.version, directory.kind) == (1, "uint")


def directory_bytes(data):
    start = int.from_bytes(data[24:32], "little")
    return data[start : start + int.from_bytes(data[32:40], "little")]


def test_a_failed_insertion_changes_no_kind_that_matters(tmp_path, opened):
    index = opened(in_file(tmp_path))
    index.insert([5, 7], shared(2))
    with pytest.raises(ValueError, match="keys"):
        index.insert([2**63, 5], shared(2))
    index.insert([-1], shared(1))  # no key is large
    assert set(opened(again(index, tmp_path))) == {5, 7, -1}


def test_shards_of_both_kinds(tmp_path, opened):
    """Shards are files, of which some have no large key; a negative key is refused in all of them."""
    keys = [*range(40), 2**64 - 1]
    index = small()
    index.insert(keys, shared(len(keys)))
    index.save(tmp_path / "index", shards=4)
    shards = opened(LSHIndex.open(tmp_path / "index", "r+"))
    kinds = {segment.kind for segment in shards.store.segments.all}
    assert (kinds, shards.key_kind) == ({"int", "uint"}, "uint")
    assert shards.query(shared(1)).keys.dtype == np.uint64
    assert content(shards) == content(index)
    assert list(shards.pairs(0)) == list(index.pairs(0))
    with pytest.raises(TypeError, match=RANGES):
        shards.insert([-1, -2, -3, -4], shared(4))
    shards.insert([41, 2**63 + 1], shared(2))
    shards.remove([2**64 - 1, 3])
    shards.close()
    present = {*keys, 41, 2**63 + 1} - {2**64 - 1, 3}
    with LSHIndex.open(tmp_path / "index", verify=True) as shards:
        assert set(shards) == present
        shards.save(tmp_path / "one")
    assert set(held(tmp_path / "one")) == present


def key_of(store, number, keys):
    """Return the first of some keys that is in a shard."""
    return next(key for key in keys if store.shards_of([key])[0] == number)


@pytest.mark.parametrize("other", [range(2**64 - 99, 2**64), [*map(str, range(99))]])
def test_writers_of_different_shards(other, tmp_path, opened):
    """They do not know of each other's keys: `verify` names what cannot be together."""
    path = tmp_path / "index"
    small().save(path, shards=4)
    one, two = (opened(LSHIndex.open(path, "r+")) for _ in range(2))
    negative = key_of(one.store, 0, range(-1, -99, -1))
    other_key = key_of(one.store, 2, other)
    one.insert([negative], shared(1))
    two.insert([other_key], shared(1))
    one.close()
    two.close()
    both = opened(LSHIndex.open(path, "r+"))
    message = f"-00002[.]lsh: keys of this shard .* cannot be in one index: .*{RANGES}"
    with pytest.raises(FormatError, match=message):
        both.store.verify()
    with pytest.raises(FormatError, match=message):
        LSHIndex.open(path, verify=True)
    with (
        LSHIndex.on(RangeStore(f"file://{path}")) as remote,
        pytest.raises(FormatError, match="cannot be in one index"),
    ):
        remote.store.verify()
    with pytest.raises(TypeError, match=RANGES):
        both.insert([-5], shared(1))
    both.remove([negative, other_key])
    both = opened(again(both, tmp_path))  # `verify` accepts it
    assert len(both) == 0


def test_a_removal_from_shards_of_two_writers_is_written(tmp_path, opened):
    path = tmp_path / "index"
    small().save(path, shards=4)
    one, two = (opened(LSHIndex.open(path, "r+")) for _ in range(2))
    negative = key_of(one.store, 0, range(-1, -99, -1))
    large = key_of(one.store, 2, range(2**64 - 99, 2**64))
    one.insert([negative], shared(1))
    two.insert([large], shared(1))
    one.close()
    two.close()
    both = opened(LSHIndex.open(path, "r+"))
    both.remove(negative)
    both = opened(again(both, tmp_path))
    assert list(both) == [large]


def test_shards_are_locked_before_keys_are_checked(tmp_path, opened):
    """A batch that a newer state of its shards refuses is not inserted in part."""
    path = tmp_path / "index"
    small().save(path, shards=4)
    one, two = (opened(LSHIndex.open(path, "r+")) for _ in range(2))
    negative = key_of(one.store, 2, range(-1, -99, -1))
    large = [key_of(one.store, number, range(2**64 - 99, 2**64)) for number in (0, 2)]
    one.insert([negative], shared(1))
    one.close()
    with pytest.raises(TypeError, match=RANGES):
        two.insert(large, shared(2))
    assert list(two) == [negative]
    two.insert([-7], shared(1))
    assert set(opened(again(two, tmp_path))) == {negative, -7}


@pytest.mark.parametrize("negative", [False, True])
def test_builds_of_shards(tmp_path, negative):
    """Tasks may have integers of both kinds if none is negative."""
    build = ShardBuild.start(tmp_path / "index", small(), 3)
    for task, keys in enumerate([SMALL_KEYS, LARGE_KEYS, [-7] if negative else [9]]):
        with build.task(task) as index:
            index.insert(keys, shared(len(keys)))
    if negative:
        with pytest.raises(TypeError, match=RANGES):
            build.build_all()
        return
    build.build_all()
    with LSHIndex.open(tmp_path / "index", verify=True) as index:
        assert set(index) == {*KEYS, 9}


def test_a_task_of_a_build(tmp_path):
    build = ShardBuild.start(tmp_path / "index", small(), 2)
    with build.task(0) as index:
        index.insert(SMALL_KEYS, shared(3))
        index.insert(LARGE_KEYS, shared(3))
        with pytest.raises(TypeError, match=RANGES):
            index.insert([-1], shared(1))
    build.build_all()
    with LSHIndex.open(tmp_path / "index", verify=True) as index:
        assert set(index) == set(KEYS)


def test_ranges_of_a_remote_file(tmp_path):
    pytest.importorskip("fsspec")
    index = small()
    index.insert(KEYS, rows_of(KEYS))
    index.save(tmp_path / "index", shards=2)
    with LSHIndex.on(RangeStore(f"file://{tmp_path / 'index'}")) as remote:
        assert content(remote) == expected()
        assert remote.contains([2**64 - 1, -1, 5, 6]).tolist() == [
            True,
            False,
            True,
            False,
        ]
        for row in rows_of(KEYS):
            assert remote.query(row, k=9) == index.query(row, k=9)


# Other indexes

VECTORS = np.random.default_rng(5).normal(size=(len(KEYS), 8))
CODES = np.random.default_rng(5).integers(0, 2**64, (len(KEYS), 1), np.uint64)
SETS = [{number, number + 1, 7} for number in range(len(KEYS))]


def sized(index):
    insert = index.insert
    index.insert = lambda keys, rows: insert(keys, rows, [9] * len(rows))
    return index


INDEXES = {
    "hamming": (lambda: HammingIndex(64, radius=3), HammingIndex, CODES),
    "tanimoto": (lambda: TanimotoIndex(64, threshold=0.6), TanimotoIndex, CODES),
    "forest": (lambda: LSHForest(8), LSHForest, shared(len(KEYS))),
    "ensemble": (lambda: sized(LSHEnsemble(0.6, 8)), LSHEnsemble, shared(len(KEYS))),
    "prefix": (PrefixIndex, PrefixIndex, SETS),
    "neighbors": (
        lambda: NearNeighbors("euclidean", radius=9, dim=8, n=9),
        NearNeighbors,
        VECTORS,
    ),
}


@pytest.mark.parametrize("name", INDEXES)
def test_other_indexes(name, tmp_path):
    make, index_class, items = INDEXES[name]
    mode = {"mode": "c"} if index_class is NearNeighbors else {}
    index = make()
    index.insert(SMALL_KEYS, items[:3])
    index.insert(LARGE_KEYS, items[3:])
    assert (set(index), index.key_kind) == (set(KEYS), "uint")
    index.save(tmp_path / "index")
    read = index_class.open(tmp_path / "index", **mode)
    assert (list(read), read.key_kind) == (list(index), "uint")
    assert read.contains([*KEYS, -1, 2**63 + 1]).tolist() == [True] * 6 + [False] * 2
    read.remove([2**64 - 1, 5])
    assert set(read) == {*KEYS} - {2**64 - 1, 5}
    with pytest.raises(KeyError, match=str(2**64 - 1)):
        read.remove(2**64 - 1)
    if index_class is NearNeighbors:
        with pytest.raises(TypeError, match=RANGES):
            read.insert([-1], items[:1])
        read.close()
    index.insert([-1], items[:1])
    assert set(index) == {*KEYS, -1}
    with pytest.raises(TypeError, match=RANGES):
        index.save(tmp_path / "both")
    index.remove(-1)
    index.save(tmp_path / "again")
    read = index_class.open(tmp_path / "again", **mode)
    assert list(read) == list(index)
    if index_class is NearNeighbors:
        read.close()


@pytest.mark.parametrize("name", ["hamming", "tanimoto", "neighbors", "prefix"])
def test_answers_of_other_indexes(name):
    make, _, items = INDEXES[name]
    index = make()
    index.insert(KEYS, items)
    for key, matches in zip(KEYS, index.query(items, k=1), strict=True):
        assert [match.key for match in matches] == [key]
    for key, item in zip(KEYS, items, strict=True):
        if name != "prefix":
            assert index.query(item, k=1)[0].key == key

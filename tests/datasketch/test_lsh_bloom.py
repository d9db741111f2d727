"""MinHashLSHBloom: what was inserted is found, false positives are as few as promised, folders keep all."""

from __future__ import annotations

import pickle
import re
import threading
import warnings

import numpy as np
import pytest

import lshfast.kernels
from lshfast._common.errors import FormatError
from lshfast.banding.bands import Bands
from lshfast.datasketch import LeanMinHash, MinHash, bBitMinHash
from lshfast.datasketch.lsh_bloom import HEADER, NAME, BloomTable, MinHashLSHBloom
from lshfast.kernels.bands import filters_add, filters_hold
from tests.datasketch.test_lsh import Weighted, near

pytestmark = pytest.mark.filterwarnings("ignore:without save_dir:RuntimeWarning")
EMPTY_32 = 2**32 - 1


def lean(values, scheme="affine32", seed=1):
    return LeanMinHash(seed=seed, hashvalues=values, scheme=scheme)


def some(n, num_perm=16, seed=0):
    """Return sketches of which no two share a band."""
    rows = (
        np.random.default_rng(seed)
        .integers(0, EMPTY_32, (n, num_perm))
        .astype(np.uint32)
    )
    return [lean(row) for row in rows]


@pytest.fixture(params=["memory", "folder"])
def place(request, tmp_path):
    """Return the arguments of a filter in memory and in a folder that is not there yet."""
    return (
        {} if request.param == "memory" else {"save_dir": tmp_path / "new" / "filters"}
    )


def test_what_shares_a_band_is_found(place):
    seen = MinHashLSHBloom(num_perm=6, params=(3, 2), n=10, fp=1e-9, **place)
    assert not seen.query(lean([1, 2, 3, 4, 5, 6]))
    seen.insert(lean([1, 2, 3, 4, 5, 6]))
    for values, expected in {
        (1, 2, 9, 9, 9, 9): True,
        (9, 9, 3, 4, 9, 9): True,
        (9, 9, 9, 9, 5, 6): True,
        (2, 1, 4, 3, 6, 5): False,
        (3, 4, 1, 2, 9, 9): False,
        (0, 3, 2, 5, 4, 7): False,
        (1, 9, 3, 9, 5, 9): False,
    }.items():
        assert seen.query(lean(values)) is expected
    assert (seen.h, seen.b, seen.r) == (6, 3, 2)
    assert seen.hashranges == [(0, 2), (2, 4), (4, 6)]
    assert len(seen.hashtables) == 3


@pytest.mark.parametrize(("n", "fp"), [(500, 0.01), (2000, 0.001), (300, 0.2)])
def test_false_positives_are_as_promised(n, fp):
    seen = MinHashLSHBloom(num_perm=16, params=(2, 8), n=n, fp=fp)
    for sketch in some(n):
        seen.insert(sketch)
    assert all(map(seen.query, some(n)))
    tried = 4000
    wrong = sum(map(seen.query, some(tried, seed=1)))
    share = 1 - (1 - fp) ** 2
    assert wrong / tried < 1.1 * share + 4 * (share / tried) ** 0.5


def test_bands_are_those_of_the_index():
    seen = MinHashLSHBloom(threshold=0.8, n=10, fp=0.1)
    assert (seen.b, seen.r) == (9, 13)
    one = MinHashLSHBloom(threshold=1.0, num_perm=16, n=10, fp=1e-6)
    one.insert(near(40, 16))
    assert one.query(near(40, 16))
    assert not one.query(near(20, 16))


@pytest.mark.parametrize(
    "scheme", ["affine32", "affine64", "legacy", "classic", "fast"]
)
def test_schemes_and_empty_sets(scheme, place):
    seen = MinHashLSHBloom(0.5, 64, 100, 1e-6, **place)
    seen.insert(near(40, scheme=scheme))
    assert seen.query(near(38, scheme=scheme))
    assert not seen.query(near(0, scheme=scheme))
    assert not seen.query(MinHash(64, scheme=scheme))
    seen.insert(MinHash(64, scheme=scheme))
    assert seen.query(MinHash(64, scheme=scheme))


def test_weighted_sketches():
    seen = MinHashLSHBloom(num_perm=8, params=(4, 2), n=10, fp=1e-9)
    seen.insert(Weighted([[n, -n] for n in range(8)]))
    assert seen.query(Weighted([[n, -n if n < 2 else 5] for n in range(8)]))
    assert not seen.query(Weighted([[n, n + 1] for n in range(8)]))


def test_what_cannot_be_compared_is_refused(place):
    seen = MinHashLSHBloom(0.5, 64, 100, 1e-6, **place)
    seen.insert(near(40))
    for call in (seen.insert, seen.query):
        for given, error, message in (
            (near(40, scheme="affine64"), ValueError, "scheme"),
            (near(40, seed=2), ValueError, "seed"),
            (near(40, 65), ValueError, "must have 64 slots, not 65"),
            (Weighted([[1, 2]] * 64), ValueError, "weighted"),
            (bBitMinHash(near(40), 8), TypeError, "is needed, not bBitMinHash"),
            ("a" * 64, TypeError, "is needed, not str"),
        ):
            with pytest.raises(error, match=message):
                call(given)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"n": None},
            ValueError,
            "n, the number of sets, must be at least 1, not None",
        ),
        ({"n": 0}, ValueError, "not 0"),
        ({"n": 2.0}, TypeError, "n must be an int"),
        ({"fp": None}, ValueError, r"fp must be in \(0, 1\), not None"),
        ({"fp": 1.0}, ValueError, "fp"),
        ({"fp": 0.0}, ValueError, "fp"),
        ({"fp": float("nan")}, ValueError, "fp"),
        ({"fp": "a"}, TypeError, "fp must be a number"),
        ({"threshold": 2}, ValueError, "threshold"),
        ({"num_perm": 1}, ValueError, "num_perm"),
        ({"weights": (1, 1)}, ValueError, "weights"),
        (
            {"params": (8, 17)},
            ValueError,
            "need b x r = 136 slots, but num_perm is 128",
        ),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        MinHashLSHBloom(**{"n": 10, "fp": 0.1} | arguments)


@pytest.mark.filterwarnings("default")
def test_warnings(tmp_path):
    with pytest.warns(RuntimeWarning, match="in memory only") as caught:
        seen = MinHashLSHBloom(n=10, fp=0.1)
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="save_dir"):
        seen.sync()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = MinHashLSHBloom(n=10, fp=0.1, save_dir=tmp_path)
        seen.sync()
        seen.close()


def folder_of(tmp_path, **changes):
    return MinHashLSHBloom(
        **{"threshold": 0.5, "num_perm": 64, "n": 100, "fp": 1e-6, "save_dir": tmp_path}
        | changes
    )


def test_folders_keep_all(tmp_path):
    seen = folder_of(tmp_path)
    seen.insert(near(40))
    other = folder_of(tmp_path)
    assert other.query(near(39))
    seen.insert(near(0))
    assert other.query(near(0))
    other.close()
    seen.close()
    again = folder_of(tmp_path)
    assert again.query(near(40))
    assert not again.query(near(20))
    for wrong in (near(40, scheme="legacy"), near(40, seed=2)):
        with pytest.raises(ValueError, match="compared"):
            again.insert(wrong)
    unpickled = pickle.loads(pickle.dumps(again))
    unpickled.insert(near(20))
    assert again.query(near(20))
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_perm": 65}, "num_perm = 64, not 65"),
        ({"params": (16, 4)}, "b = 14, not 16"),
        ({"n": 101}, "bits of a filter, by n and fp"),
        ({"fp": 1e-5}, "bits of a filter, by n and fp|hashes"),
    ],
)
def test_folders_of_other_parameters_are_refused(tmp_path, changes, message):
    folder_of(tmp_path).close()
    with pytest.raises(ValueError, match=message):
        folder_of(tmp_path, **changes)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"x" + data[1:], "is no file of a MinHashLSHBloom"),
        (lambda data: data[:20], "is no file of a MinHashLSHBloom"),
        (lambda data: data[:-1], "must be of"),
        (lambda data: data + b"\0", "must be of"),
        (lambda data: data[:8] + b"\2" + data[9:], "is of format 2, not 1"),
        (lambda data: data[:28] + b"\3" + data[29:], "damaged"),
        (
            lambda data: data[: HEADER.size - 16] + b"\xff" + data[HEADER.size - 15 :],
            "damaged",
        ),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, message):
    seen = folder_of(tmp_path)
    seen.insert(near(40))
    seen.close()
    path = tmp_path / NAME
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=message):
        folder_of(tmp_path)


def test_folders_of_datasketch_are_refused(tmp_path):
    (tmp_path / "band-0.bf").write_bytes(b"what pybloomfilter wrote")
    with pytest.raises(FormatError, match="filters of datasketch"):
        folder_of(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["band-0.bf"]


def test_pickles_in_memory():
    seen = MinHashLSHBloom(0.5, 64, 100, 1e-6)
    seen.insert(near(40))
    again = pickle.loads(pickle.dumps(seen, 5))
    assert again.query(near(40))
    again.insert(near(0))
    assert again.query(near(0))
    assert not seen.query(near(0))
    with pytest.raises(ValueError, match="scheme"):
        again.insert(near(4, scheme="fast"))
    with pytest.raises(ValueError, match="format 1"):
        MinHashLSHBloom.__new__(MinHashLSHBloom).__setstate__({})


def test_threads(place):
    seen = MinHashLSHBloom(num_perm=16, params=(2, 8), n=400, fp=1e-9, **place)
    sketches = some(400)
    errors = []

    def work(mine):
        try:
            for sketch in mine:
                seen.insert(sketch)
                assert seen.query(sketch)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(sketches[k::4],)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert all(map(seen.query, sketches))


@pytest.mark.parametrize("ask", ["insert", "query"])
@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 2},
        {"scheme": "legacy"},
        {"permutations": (range(1, 129, 2), range(64)), "scheme": "affine32"},
    ],
)
def test_the_first_to_insert_into_a_folder_says_what_it_is_of(tmp_path, ask, changed):
    first, second = folder_of(tmp_path), folder_of(tmp_path)
    first.insert(near(40, **changed))
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(ValueError, match="compared"):
        getattr(second, ask)(near(40))
    assert second.query(near(40, **changed))
    assert (tmp_path / NAME).read_bytes() == before
    again = folder_of(tmp_path)
    assert again.query(LeanMinHash(near(40, **changed)))
    with pytest.raises(ValueError, match="compared"):
        again.insert(near(40))


def test_closed_filters(place):
    seen = MinHashLSHBloom(0.5, 64, 100, 1e-6, **place)
    seen.insert(near(40))
    assert re.fullmatch(
        r"MinHashLSHBloom\((in memory|save_dir='.*'), num_perm=64, params=\(\d+, \d+\)\)",
        repr(seen),
    )
    seen.close()
    seen.close()
    assert repr(seen).endswith(", closed)")
    for call in (
        lambda: seen.insert(near(40)),
        lambda: seen.query(near(40)),
        lambda: seen.query(near(0)),
        seen.sync,
    ):
        with pytest.raises(ValueError, match="the filter is closed"):
            call()


# The filters of bands, beside their definition in pure Python


def mixed(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def bits_of(key, bits, hashes):
    x = mixed(key)
    step = mixed(x) | 1
    return {(x + i * step) % 2**64 % bits for i in range(hashes)}


@pytest.mark.parametrize("level", lshfast.kernels.available())
@pytest.mark.parametrize(
    ("bands", "rows", "bits", "hashes"),
    [(1, 1, 8, 1), (3, 5, 1001, 7), (9, 2, 64, 3), (4, 7, 1, 2)],
)
def test_filters_of_bands_are_as_defined(level, bands, rows, bits, hashes):
    rng = np.random.default_rng(1)
    with lshfast.kernels.use(level):
        filters = np.zeros((bands, -(-bits // 8) + 1), np.uint8)
        model = [set() for _ in range(bands)]
        for slots in rng.integers(0, 2**64, (20, bands * rows), np.uint64):
            keys = Bands(bands, rows).keys(slots[np.newaxis])[0].tolist()
            for first, own in ((0, slots), (bands - 1, slots[(bands - 1) * rows :])):
                held = [
                    bits_of(key, bits, hashes) <= own_bits
                    for key, own_bits in zip(keys, model, strict=True)
                ]
                assert filters_hold(
                    filters[first:], own, rows, bits, hashes, first
                ) == any(held[first:])
            filters_add(filters, slots, rows, bits, hashes)
            for own, key in zip(model, keys, strict=True):
                own |= bits_of(key, bits, hashes)
            assert filters_hold(filters, slots, rows, bits, hashes)
        for row, own in zip(
            np.unpackbits(filters, axis=1, bitorder="little"), model, strict=True
        ):
            assert set(np.flatnonzero(row).tolist()) == own


@pytest.mark.parametrize("call", [filters_hold, filters_add])
@pytest.mark.parametrize(
    ("shape", "slots", "rows", "bits"),
    [
        ((0, 4), 8, 2, 8),
        ((2, 4), 3, 2, 8),
        ((2, 4), 4, 0, 8),
        ((2, 4), 4, 2, 33),
        ((2, 4), 4, 2, 0),
        ((2, 0), 4, 2, 1),
    ],
)
def test_filters_of_wrong_shapes_are_refused(call, shape, slots, rows, bits):
    with pytest.raises(ValueError, match=r"slots|bits must be"):
        call(np.zeros(shape, np.uint8), np.zeros(slots, np.uint64), rows, bits, 1)


def test_a_table_of_an_index_is_its_filter():
    seen = MinHashLSHBloom(0.5, 64, 100, 1e-6)
    sketch = near(40)
    seen.insert(sketch)
    for table, (low, high) in zip(seen.hashtables, seen.hashranges, strict=True):
        assert table.query(sketch.hashvalues[low:high])
        assert not table.query(near(0).hashvalues[low:high])
    low, high = seen.hashranges[2]
    seen.hashtables[2].insert(near(0).hashvalues[low:high])
    assert seen.query(near(0))


def test_a_table_in_a_file(tmp_path):
    path = tmp_path / "table"
    table = BloomTable(10, 0.01, 3, path)
    table.insert([2, 3, 31])
    table.sync()
    again = BloomTable(10, 0.01, 3, path)
    assert again.query(np.array([2, 3, 31], np.uint32))
    assert not again.query([3, 2, 31])
    with pytest.raises(ValueError, match="has band_size = 3, not 4"):
        BloomTable(10, 0.01, 4, path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match="must be of"):
        BloomTable(10, 0.01, 3, path)
    path.write_bytes(b"something else")
    with pytest.raises(FormatError, match="no file of a BloomTable"):
        BloomTable(10, 0.01, 3, path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (0, 0.1, 3),
            ValueError,
            "item_count, the number of sets, must be at least 1, not 0",
        ),
        ((10, 2, 3), ValueError, r"fp must be in \(0, 1\), not 2"),
        ((10, 0.1, 0), ValueError, "band_size must be at least 1, not 0"),
        ((10, 0.1, "3"), TypeError, "band_size"),
    ],
)
def test_bad_arguments_of_a_table(arguments, error, message):
    with pytest.raises(error, match=message):
        BloomTable(*arguments)
    with pytest.raises(RuntimeError, match="a band has 3 hash values, not 2"):
        BloomTable(10, 0.1, 3).insert([1, 2])

"""Names that share their public hash, chosen by whoever knows it: found, added and removed as quickly as any others."""

import numpy as np
import pytest

from lshfast import LSHIndex
from lshfast.kernels.tables import BandTables
from tests.kernels.tables_kit import int64, listed, packed, tables_over
from tests.reference import tables as reference
from tests.reference.hashing import mix64
from tests.shares import share_of

TAG = 77
CROWD = 14  # rows of a bucket that are searched one by one
# Compared one by one, so many names would take minutes.
MANY = 200_000


def integers(n, tag=TAG):
    """Return n integers of one tag."""
    return np.array(
        [reference.unmix64(tag << 32 | i) for i in range(n)], np.uint64
    ).view(np.int64)


def strings(n, tag=TAG):
    """Return n strings of eight ASCII characters and of one tag."""
    found, block = [], 1 << 16
    for first in range(0, n << 10, block):
        numbers = np.arange(first, first + block, dtype=np.uint64) | np.uint64(
            tag << 32
        )
        limbs = unmixed(numbers) ^ np.uint64(mix64(9))
        found += (
            limbs[limbs & np.uint64(0x8080808080808080) == 0].astype("<u8").tolist()
        )
        if len(found) >= n:
            break
    return [limb.to_bytes(8, "little").decode() for limb in found[:n]]


def unmixed(y):
    """Return the numbers that mix64 makes these of."""
    y = y ^ y >> np.uint64(31) ^ y >> np.uint64(62)
    y = y * np.uint64(0x319642B2D24D8EC3)
    y = y ^ y >> np.uint64(27) ^ y >> np.uint64(54)
    y = y * np.uint64(0x96DE1B173F119089)
    return y ^ y >> np.uint64(30) ^ y >> np.uint64(60)


NAMES = {"int": integers, "str": strings}


@pytest.fixture(params=NAMES)
def kind(request):
    return request.param


def test_the_names_share_a_tag(kind):
    held = BandTables(1, 1, 1, kind)
    rows, fresh = held.admit(NAMES[kind](50))
    assert fresh.all()
    assert set(held.tags_of(rows).tolist()) == {TAG}


@pytest.mark.slow
def test_many_keys_of_one_tag_in_an_index(kind, tmp_path):
    """Each step of an index takes them in time that is linear in their number."""
    n = share_of(MANY) if kind == "int" else share_of(MANY) // 10
    keys, absent = NAMES[kind](n), NAMES[kind](n + 3)[n:]
    signatures = np.arange(n, dtype=np.uint64)[:, None]
    index = LSHIndex(num_perm=1, bands=1, rows_per_band=1)
    assert index.insert(keys, signatures) == n
    assert index.store.contains(keys).all()
    assert not index.store.contains(absent).any()
    index.save(tmp_path / "index")
    index.remove(keys[: n // 2])
    assert index.store.contains(keys).tolist() == [False] * (n // 2) + [True] * (
        n - n // 2
    )
    with LSHIndex.open(tmp_path / "index", "r+") as opened:
        opened.verify()
        assert opened.store.contains(keys).all()
        assert not opened.store.contains(absent).any()
        assert all(key in opened for key in listed(keys[:3000]))
        assert not any(key in opened for key in listed(absent))
        opened.remove(keys[::2])
        opened.on_duplicate = "replace"
        assert opened.insert(keys, signatures) == n
        assert opened.query(signatures[n // 3]) == listed(keys[n // 3 : n // 3 + 1])


def test_keys_of_one_tag_that_come_one_by_one(kind):
    n = 20_000
    keys, one = listed(NAMES[kind](n)), np.ones(1, np.uint64)
    held = BandTables(1, 1, 1, kind)
    for key in keys:
        held.insert_one(key, one)
    assert [held.find_one(key) for key in keys[::1000]] == list(range(0, n, 1000))
    assert not held.insert_one(keys[n // 2], one)
    for key in keys:
        assert held.discard_one(key)
    assert (len(held), held.unsound()) == (0, None)


@pytest.mark.parametrize("step", [1, 2, 5, 40])
def test_a_bucket_that_becomes_crowded_and_ceases_to_be(kind, step):
    """Beside a dict; the two tags of the table become crowded at different times."""
    first, second = listed(NAMES[kind](60)), listed(NAMES[kind](60, tag=TAG + 1))
    names = [name for pair in zip(first, second[::-1], strict=True) for name in pair]
    held, model = BandTables(1, 1, 1, kind), {}

    def column(some):
        return int64(*some) if kind == "int" else list(some)

    generator = np.random.default_rng(step)
    for _ in range(60):
        some = [names[i] for i in generator.permutation(len(names))[:step]]
        rows, fresh = held.admit(column(some))
        for name, row, new in zip(some, rows.tolist(), fresh.tolist(), strict=True):
            assert new is (name not in model)
            assert model.setdefault(name, row) == row
        assert held.find(column(names)).tolist() == [
            model.get(name, -1) for name in names
        ]
        gone = [name for name in list(model) if generator.random() < 0.5]
        if len(model) > 2 * CROWD:
            held.release(int64(*(model.pop(name) for name in gone)))
        assert held.unsound() is None
        assert held.find(column(names)).tolist() == [
            model.get(name, -1) for name in names
        ]


def test_names_of_a_crowd_go_to_other_rows(kind):
    n = 40
    names, signatures = NAMES[kind](n), np.arange(2 * n, dtype=np.uint64)[:, None]
    held = BandTables(1, 1, 1, kind)
    held.write(held.admit(names)[0], signatures[:n])
    new = held.allot(n)
    held.write(new, signatures[n:])
    held.hand_over(np.arange(n), new)
    assert held.find(names).tolist() == new.tolist()
    held.discard(new[CROWD:])
    assert held.find(names).tolist() == new[:CROWD].tolist() + [-1] * (n - CROWD)


def test_a_crowd_over_the_memory_of_others(kind):
    """Names of rows that are gone are not found, whether the crowd was gathered before or after."""
    n = 3000
    names = NAMES[kind](n)
    held = BandTables(1, 1, 1, kind)
    held.write(held.admit(names)[0], np.arange(n, dtype=np.uint64)[:, None])
    gone = np.zeros(n, np.uint8)
    gone[:10] = 1
    fixed = tables_over(held, 1, 1, 1, kind, gone)
    assert fixed.find(names).tolist() == [-1] * 10 + list(range(10, n))
    gone[10:20] = 1
    assert fixed.find(names).tolist() == [-1] * 20 + list(range(20, n))
    assert [fixed.find_one(name) for name in listed(names[15:25])] == [-1] * 5 + list(
        range(20, 25)
    )
    assert {name: arrays[0].tobytes() for name, arrays in fixed.sections().items()} == {
        name: array.tobytes() for name, array in packed(held).items()
    }

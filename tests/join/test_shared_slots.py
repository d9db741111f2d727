"""Rows of crowds that share too few slots with all others: no row is left out that shares enough."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import FormatError
from lshfast.join.external.slot_file import SlotFile, slots_held
from lshfast.join.shared_slots import share_slots, shared_slots, sharing_rows
from lshfast.kernels import grouping as kernels
from tests.reference.grouping import shared_slots as expected_slots


@given(
    st.integers(0, 40),
    st.integers(1, 40),
    st.integers(1, 30),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_shared_slots(n, k, values, step, rng):
    signatures = np.array(
        [rng.randrange(values) for _ in range(n * k)], np.uint64
    ).reshape(n, k)
    rows = np.array(rng.sample(range(n), rng.randrange(n + 1)), np.int64)
    first = rng.randrange(k)
    chosen = range(first, k, step)
    hashes = kernels.slot_hashes(signatures, rows, first, step, len(chosen))
    assert (hashes.shape, hashes.dtype) == ((len(chosen), len(rows)), np.uint32)
    for column, slot in zip(hashes, chosen, strict=True):
        assert len(set(column.tolist())) == len(set(signatures[rows, slot].tolist()))
    found = shared_slots(hashes, len(rows))
    assert np.all(
        (found >= expected_slots(signatures[rows][:, chosen].tolist()))
        & (found <= len(chosen))
    )


def test_slots_that_nobody_shares_rarely_count():
    signatures = np.random.default_rng(1).integers(0, 2**63, (5000, 16), np.uint64)
    found = shared_slots(
        kernels.slot_hashes(signatures, np.arange(5000), 0, 1, 16), 5000
    )
    # 5000 values, 2**17 counts: 3.7 % meet another one.
    assert 0.02 < found.mean() / 16 < 0.06


def test_what_cannot_be_hashed_and_counted():
    signatures, rows = np.zeros((3, 4), np.uint64), np.arange(3)
    assert kernels.slot_hashes(signatures, rows[:0], 0, 1, 4).shape == (4, 0)
    assert kernels.slot_hashes(signatures, rows, 3, 9, 1).shape == (1, 3)
    with pytest.raises(ValueError, match="rows must be below 3"):
        kernels.slot_hashes(signatures, rows + 1, 0, 1, 4)
    for first, step, slots in (
        (4, 1, 1),
        (0, 0, 1),
        (0, 1, 0),
        (0, 1, 5),
        (1, 2, 3),
        (0, 2**63, 2**63),
    ):
        with pytest.raises(ValueError, match="slots must be below 4"):
            kernels.slot_hashes(signatures, rows, first, step, slots)
    hashes, seen = np.arange(3, dtype=np.uint32), np.zeros(4, np.uint8)
    for wrong in (seen[:0], seen[:3]):
        with pytest.raises(ValueError, match=r"seen must have 2\*\*m bytes"):
            kernels.count_hashes(hashes, wrong)
        with pytest.raises(ValueError, match=r"seen must have 2\*\*m bytes"):
            kernels.add_shared(hashes, wrong, np.zeros(3, np.uint32))
    with pytest.raises(
        ValueError, match="shared must have 3 values, one a hash, not 2"
    ):
        kernels.add_shared(hashes, seen, np.zeros(2, np.uint32))
    shifted = np.zeros(13, np.uint8)[1:].view(np.uint32)
    with pytest.raises(ValueError, match="out must be aligned"):
        kernels.add_shared(hashes, seen, shifted)
    kernels.count_hashes(shifted, seen)
    assert seen.tolist() == [2, 0, 0, 0]


def crowd(n, k, shared, seed=1):
    """Return signatures that share their first slots with all others; every eighth shares more with the next row."""
    signatures = np.random.default_rng(seed).integers(0, 2**63, (n, k), np.uint64)
    signatures[:, :shared] = 7
    signatures[1::8, : k * 7 // 8] = signatures[0 : n - 1 : 8, : k * 7 // 8][
        : len(signatures[1::8])
    ]
    return signatures


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_share_enough_stay(threads):
    signatures = crowd(2000, 64, 8)
    stay = share_slots(signatures, np.arange(2000), 40, threads)
    assert np.array_equal(np.flatnonzero(stay) % 8 < 2, np.ones(500, bool))
    assert stay.sum() == 500


def test_the_first_slots_may_show_that_none_is_left_out():
    taken = []

    def counts(each):
        for _ in range(4):
            taken.append(each)
            yield np.full(100, each, np.uint32), 16

    assert sharing_rows(counts(16), 100, 64, 40).all()
    assert len(taken) == 1
    assert not sharing_rows(counts(2), 100, 64, 40).any()
    assert len(taken) == 5
    assert sharing_rows(
        ((part, 16) for part, _ in counts(2)), 100, 120, 64
    ).all()  # 56 slots are not counted


def add_all(file, signatures):
    rows = np.arange(len(signatures))
    file.add(rows, file.hashes(signatures, rows))


@pytest.mark.few_cases
@pytest.mark.parametrize("n", [0, 1, 99, 100, 101, 400])
@pytest.mark.parametrize("least", [30, 56])
def test_a_file_tells_the_rows_that_share_too_few(tmp_path, n, least):
    slots = slots_held(64, least)
    assert slots == 64 - least + 16
    rng, signatures = np.random.default_rng(n), crowd(n, 64, 8)
    held, chosen = rng.permutation(n)[: n * 9 // 10], np.zeros(n, bool)
    chosen[held[: n * 8 // 10]] = True
    path = tmp_path / "slots.bin"
    with SlotFile(str(path), 64, least, 4 * slots * 100) as file:
        at = 0
        while at < len(held):
            some = held[at : at + int(rng.integers(1, 300))]
            file.add(some, file.hashes(signatures, some))
            at += len(some)
        assert path.exists() == (len(held) >= 100)
        assert np.array_equal(np.flatnonzero(file.held(n)), np.sort(held))
        unlike = np.zeros(n, bool)
        unlike[file.unlike(chosen)] = True
        enough = np.array(expected_slots(signatures[chosen].tolist())) >= least
        assert not unlike[~chosen].any()
        assert not unlike[chosen][enough].any()
        assert n < 400 or unlike[chosen].mean() > 0.6
    assert not path.exists()


def test_rows_of_crowded_buckets_are_added(tmp_path):
    rng = np.random.default_rng(1)
    keys, signatures = rng.integers(0, 2**63, (3000, 4), np.uint64), crowd(3000, 64, 8)
    keys[::2, 1] = 5
    keys[:, 3] = 2**64 - 1  # the key of no bucket
    with SlotFile(str(tmp_path / "slots.bin"), 64, 40) as file:
        for at in range(0, 3000, 7):
            rows = at + file.crowded(keys[at : at + 7])
            file.add(rows, file.hashes(signatures, rows))
        held = np.flatnonzero(file.held(3000))
        crowded = range(2 * 254, 3000, 2)
        assert set(crowded) <= set(held.tolist())
        # A bucket of few rows may have the counter of a crowded one, under a drawn key.
        assert len(held) <= len(crowded) + 5
        chosen = file.held(3000)
        unlike = file.unlike(
            chosen
        )  # pairs of similar rows have an even and an odd row
        assert set(unlike.tolist()) <= set(held.tolist())
        assert (
            len(unlike) >= len(held) - 10
        )  # slots that nobody shares rarely count, under a key that is drawn


def test_counters_are_halved():
    buckets, one = kernels.CrowdedBuckets(), np.full((1, 1), 3, np.uint64)
    crowded = buckets.crowded(np.repeat(one, 300, axis=0))
    assert crowded.tolist() == [False] * 254 + [True] * 46
    many = np.full((1 << 18, 64), 2**64 - 1, np.uint64)  # the key of no bucket
    assert not buckets.crowded(many).any()
    assert (
        buckets.crowded(np.repeat(one, 200, axis=0)).tolist()
        == [False] * 127 + [True] * 73
    )
    assert buckets.crowded(many[:0]).tolist() == []
    assert buckets.crowded(many[:3, :0]).tolist() == [False] * 3


def test_a_file_of_few_slots_holds_none(tmp_path):
    signatures = crowd(1000, 64, 8)
    for least in (0, 16):
        assert slots_held(64, least) == 0
        with SlotFile(str(tmp_path / "slots.bin"), 64, least) as file:
            assert len(file.crowded(np.zeros((1000, 4), np.uint64))) == 0
            add_all(file, signatures)
            assert len(file.unlike(np.ones(1000, bool))) == 0
    assert slots_held(64, 17) == 63
    assert slots_held(64, 64) == 16


@pytest.mark.parametrize("at", [0, 77, -1])
def test_a_damaged_file_of_slots_is_refused_by_name(tmp_path, at):
    path = tmp_path / "slots.bin"
    with SlotFile(str(path), 64, 40, 1 << 12) as file:
        add_all(file, crowd(1000, 64, 8))
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"slots\.bin: damaged at byte"):
            file.unlike(np.ones(1000, bool))
        path.write_bytes(data[:-1])
        with pytest.raises(FormatError, match=r"slots\.bin: damaged at byte"):
            file.unlike(np.ones(1000, bool))

"""The external join against the join in memory, and what it leaves when it fails."""

import os
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import FormatError, MinHasher, TokenSets, candidates
from lshfast.join.external import ExternalJoin, external_candidates
from lshfast.join.external.bucket_runs import least_memory
from lshfast.join.external.components import links
from lshfast.join.external.external_join import whole_buckets
from lshfast.kernels import sets
from tests.reference.hashing import EMPTY


def random_keys(n, b, different, seed=1):
    """Return keys of few buckets, some of them of none; a whole row is now and then that of an empty row."""
    random = np.random.default_rng(seed)
    keys = random.integers(0, different, (n, b)).astype(np.uint64)
    keys[random.random((n, b)) < 0.1] = EMPTY
    keys[random.random(n) < 0.05] = EMPTY
    return keys


def as_set(i, j):
    return list(zip(i.tolist(), j.tolist(), strict=True))


KEY = st.one_of(st.integers(0, 3), st.just(EMPTY), st.just(EMPTY - 1))


@st.composite
def tables(draw):
    b = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(KEY, min_size=b, max_size=b), max_size=20))
    return np.array(rows, np.uint64).reshape(-1, b)


@given(tables(), st.integers(0, 20))
def test_equals_the_join_in_memory(tmp_path_factory, keys, cut):
    folder = tmp_path_factory.mktemp("work")
    wanted = as_set(*candidates(keys))
    assert as_set(*external_candidates([keys[:cut], keys[cut:]], folder)) == wanted
    assert as_set(*external_candidates(keys, folder)) == wanted
    with ExternalJoin(keys.shape[1], folder) as join:
        join.add(keys)
        i, j = (
            (np.array(column, np.int64) for column in zip(*wanted, strict=True))
            if wanted
            else [np.zeros(0, int)] * 2
        )
        assert join.components().tolist() == sets.components(i, j, len(keys)).tolist()
    assert os.listdir(folder) == []


@pytest.mark.one_case
@pytest.mark.parametrize("different", [30, 3000, 10**9])
def test_equals_the_join_in_memory_with_files(tmp_path, different):
    n, b = 20_000, 3
    keys = random_keys(n, b, max(different, 3000))
    keys[: min(different, 3000) // 10] = keys[0]  # a crowded bucket
    copies = np.arange(n)
    copies[n // 2 :: 7] = 3
    i, j = candidates(keys, copies=copies)
    found = external_candidates(
        np.array_split(keys, 7), tmp_path, memory=least_memory(b), copies=copies
    )
    assert np.array_equal(found[0], i)
    assert np.array_equal(found[1], j)

    def screen(left, right):
        return (left + right) % 3 == 0

    kept = screen(i, j)
    found = external_candidates(
        keys, tmp_path, memory=least_memory(b), copies=copies, screen=screen
    )
    assert np.array_equal(found[0], i[kept])
    assert np.array_equal(found[1], j[kept])
    with ExternalJoin(b, tmp_path, memory=least_memory(b)) as join:
        join.add(keys, chosen=copies == np.arange(n))
        assert len(os.listdir(tmp_path)) == 1
        assert np.array_equal(join.components(), sets.components(i, j, n))
        assert join.written >= 16 * n
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", ["fast", pytest.param("classic", marks=pytest.mark.slow)]
)
def test_a7_counts_are_the_agreement_of_signatures(tmp_path, scheme):
    """Each pair once, with the number of equal slots, from more records and more pairs than the memory holds."""
    random, n, k = np.random.default_rng(3), 2500, 64
    base = random.integers(0, 2**63, (n // 5, 40))
    rows = np.where(
        random.random((n, 40)) < 0.5,
        base.repeat(5, axis=0),
        random.integers(0, 50_000, (n, 40)),
    )
    rows = [*rows[:-1].tolist(), []]
    signatures = MinHasher(k, scheme).sketch(TokenSets.from_sets(rows))
    with ExternalJoin(k, tmp_path, memory=least_memory(k)) as join:
        join.add(signatures)
        parts = list(join.pairs())
        found = np.concatenate([np.column_stack(part) for part in parts])
        spilled = join.written
    assert spilled > 16 * (n - 1) * k - least_memory(k) / 2 > 0
    agree = np.zeros((n, n), np.uint8)
    for slots in signatures[:-1].T:
        agree[:-1, :-1] += slots[:, None] == slots
    i, j = np.nonzero(np.triu(agree, 1))
    assert np.array_equal(found, np.column_stack([i, j, agree[i, j]]))
    assert len(found) > 5000


def test_a_crowded_bucket_takes_linear_time_to_chain(tmp_path):
    n = 300_000
    with ExternalJoin(2, tmp_path, memory=least_memory(2)) as join:
        for _ in range(3):
            join.add(np.full((n // 3, 2), 5, np.uint64))
        assert not join.components().any()
    with ExternalJoin(2, tmp_path, memory=least_memory(2)) as join:
        join.add(np.full((n, 2), 5, np.uint64))
        with pytest.raises(
            OverflowError, match="band 0 alone holds more than 1000000 candidate pairs"
        ):
            list(join.pairs(most=10**6))
    assert os.listdir(tmp_path) == []


def test_too_many_pairs_of_several_bands(tmp_path):
    keys = np.array([[1, 0], [1, 1], [2, 1]], np.uint64)
    assert as_set(*external_candidates(keys, tmp_path, most=2)) == [(0, 1), (1, 2)]
    with pytest.raises(OverflowError, match="more than 1 candidate pairs"):
        external_candidates(keys, tmp_path, most=1)


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 9))
def test_buckets_across_batches(firsts, size):
    records = np.array(
        [[first, row] for row, first in enumerate(sorted(firsts))], np.uint64
    ).reshape(-1, 2)
    batches = [records[at : at + size] for at in range(0, len(records), size)]
    buckets = [
        part for part in whole_buckets(batches, 100, AssertionError()) if len(part)
    ]
    assert np.concatenate([*buckets, records[:0]]).tolist() == records.tolist()
    borders = [(a[-1, 0], b[0, 0]) for a, b in pairwise(buckets)]
    assert all(a < b for a, b in borders)
    chain = [pair for left, right in links(batches) for pair in as_set(left, right)]
    firsts = sorted(firsts)
    assert chain == [
        (row, row + 1)
        for row in range(len(firsts) - 1)
        if firsts[row] == firsts[row + 1]
    ]


def test_bad_arguments(tmp_path):
    for bands, memory in ((0, 1 << 20), (-1, 1 << 20)):
        with pytest.raises(ValueError, match="bands must be at least 1"):
            ExternalJoin(bands, tmp_path, memory=memory)
    with pytest.raises(ValueError, match="memory must be at least"):
        ExternalJoin(2, tmp_path, memory=100)
    with pytest.raises(TypeError, match="memory must be an int"):
        ExternalJoin(2, tmp_path, memory=1e9)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ExternalJoin(2, tmp_path / "nowhere")
    with ExternalJoin(2, tmp_path) as join:
        join.add(np.array([[1, 2], [1, 3], [4, 3]], np.uint64))
        assert [len(i) for i, _, _ in join.pairs()] in ([2], [1, 1])
    with ExternalJoin(2, tmp_path) as join:
        with pytest.raises(TypeError, match="keys must be uint64"):
            join.add([[1, 2]])
        with pytest.raises(TypeError, match="int64"):
            join.add(np.zeros((3, 2), np.int64))
        with pytest.raises(ValueError, match="2 columns"):
            join.add(np.zeros((3, 3), np.uint64))
        with pytest.raises(ValueError, match="chosen must be an array of 3 bools"):
            join.add(np.zeros((3, 2), np.uint64), chosen=np.zeros(2, bool))
        assert len(join) == 0
        assert list(join.pairs()) == []
        with pytest.raises(ValueError, match="used once"):
            join.components()
        with pytest.raises(ValueError, match="after the join"):
            join.add(np.zeros((3, 2), np.uint64))
    keys = np.zeros((3, 2), np.uint64)
    for copies in ([0, 1], [0, 1, 2, 3], [0, 0, 1], [0, 1, 9]):
        with pytest.raises(ValueError, match="copies"):
            external_candidates(keys, tmp_path, copies=np.array(copies))
    with pytest.raises(ValueError, match="at least one array"):
        external_candidates([], tmp_path)
    assert os.listdir(tmp_path) == []


def test_bad_results_of_callbacks_and_numbers(tmp_path):
    keys = np.zeros((3, 2), np.uint64)
    for result, found in (
        ([True] * 3, "list"),
        (np.ones(3, int), r"int64 \(3,\)"),
        (np.ones(2, bool), r"bool \(2,\)"),
    ):
        with pytest.raises(
            TypeError, match=f"screen must return an array of 3 bools, not {found}"
        ):
            external_candidates(
                keys, tmp_path, screen=lambda i, j, result=result: result
            )
    for most, error in ((-1, ValueError), (1.5, TypeError), ("1", TypeError)):
        with pytest.raises(error, match="most must be"):
            external_candidates(keys, tmp_path, most=most)
    with pytest.raises(OverflowError, match="more than 0 candidate pairs"):
        external_candidates(keys, tmp_path, most=0)
    for other, found in (([[1, 2]], "list"), (5, "int"), ([keys.astype(">u8")], ">u8")):
        with pytest.raises(TypeError, match=f"keys must be .*not {found}"):
            external_candidates(other, tmp_path)
    for bands, least in ((2, 786_432), (20, 65_536 * 21)):
        with pytest.raises(
            ValueError, match=f"memory must be at least {least}, not {least - 1}"
        ):
            ExternalJoin(bands, tmp_path, memory=least - 1)
        ExternalJoin(bands, tmp_path, memory=least).close()
    with pytest.raises(MemoryError):
        ExternalJoin(2, tmp_path, memory=2**70)
    with (
        ExternalJoin(2, tmp_path) as join,
        pytest.raises(ValueError, match="chosen must be an array of 3 bools"),
    ):
        join.add(keys, chosen=[True] * 3)
    assert os.listdir(tmp_path) == []


def test_a_closed_join_is_not_used(tmp_path):
    join = ExternalJoin(2, os.fsencode(tmp_path))
    join.add(np.zeros((3, 2), np.uint64))
    join.close()
    join.close()
    with pytest.raises(ValueError, match="cannot be added after"):
        join.add(np.zeros((3, 2), np.uint64))
    for use in (lambda: list(join.pairs()), join.components):
        with pytest.raises(ValueError, match="used once, before it is closed"):
            use()


@pytest.fixture
def full_disk():
    """Let files have at most 100,000 bytes."""
    resource = pytest.importorskip(
        "resource", reason="this system has no limits of processes"
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.slow
def test_a_full_disk_is_one_error_and_leaves_nothing(tmp_path, full_disk):
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        external_candidates(
            random_keys(50_000, 2, 10**6), tmp_path, memory=least_memory(2)
        )
    assert os.listdir(tmp_path) == []


def test_an_interrupt_leaves_nothing(tmp_path):
    def screen(i, j):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        external_candidates(
            random_keys(50_000, 2, 10**6),
            tmp_path,
            memory=least_memory(2),
            screen=screen,
        )
    assert os.listdir(tmp_path) == []


def test_pairs_that_nobody_takes_leave_nothing(tmp_path):
    join = ExternalJoin(2, tmp_path, memory=least_memory(2))
    join.add(random_keys(50_000, 2, 10**5))
    next(join.pairs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del join
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_damaged_meanwhile_is_named(tmp_path):
    with ExternalJoin(1, tmp_path, memory=least_memory(1)) as join:
        join.add(random_keys(100_000, 1, 10**6))
        (folder,) = tmp_path.iterdir()
        path = sorted(folder.iterdir())[0]
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(FormatError, match=re.escape(str(path))):
            list(join.pairs())
    assert os.listdir(tmp_path) == []

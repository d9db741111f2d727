"""LmdbStore: the answers of the memory index, for several processes, and whole after whatever happens."""

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from lshfast import FormatError, LSHIndex
from lshfast.index.stores.file_format import Directory
from lshfast.index.stores.segments import FAN
from tests.index.index_files import python
from tests.index.index_machine import SMALL, IndexMachine, Stage
from tests.shares import share_of

pytestmark = pytest.mark.slow

lmdb = pytest.importorskip(
    "lmdb", reason="lmdb cannot be imported: install lshfast[lmdb]"
)
from lshfast.index.stores import lmdb as lmdb_store  # noqa: E402
from lshfast.index.stores.lmdb import LmdbStore  # noqa: E402

MAP = 1 << 30


def signatures(n, seed=0, num_perm=8):
    return np.random.default_rng(seed).integers(
        0, 1 << 60, (n, num_perm), dtype=np.uint64
    )


def opened(path, **choices):
    return LSHIndex(**SMALL, store=LmdbStore(path, map_size=MAP, sync=False), **choices)


def test_beside_the_model(tmp_path_factory):
    class InLmdb(Stage):
        kinds = ("int", "uint", "str")
        exact_stats = False

        def make(self):
            return opened(tmp_path_factory.mktemp("lmdb"))

        def renew(self, index):
            path = index.store.path
            index.verify()
            index.compact()
            index.close()
            return LSHIndex.on(LmdbStore(path, map_size=MAP, sync=False))

    class Machine(IndexMachine):
        stage = InLmdb()

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=15, stateful_step_count=20)
    )


@pytest.mark.parametrize("kind", [int, str])
def test_the_answers_of_the_memory_index(tmp_path, kind):
    rows = signatures(3000, 1, 32)
    rows[1000:2000, :20] = rows[:1000, :20]
    rows[5] = 2**64 - 1
    keys = [kind(3 * i) for i in range(3000)]
    memory = LSHIndex(0.5, 32, bands=8, rows_per_band=4)
    stored = LSHIndex(
        0.5,
        32,
        bands=8,
        rows_per_band=4,
        store=LmdbStore(tmp_path, map_size=MAP, sync=False),
    )
    for index in (memory, stored):
        for start in range(0, 3000, 100):
            index.insert(keys[start : start + 100], rows[start : start + 100])
        index.remove(keys[::7])
    for choice in ({}, {"k": 2}, {"threshold": 0.6}, {"threads": 3}):
        expected, found = memory.query(rows, **choice), stored.query(rows, **choice)
        assert list(expected) == list(found)
    assert sorted(memory) == sorted(stored)
    assert list(memory.pairs()) == list(stored.pairs())
    assert len(list(memory.pairs())) > 500


def test_parts_are_folded(tmp_path):
    rows = signatures(600)
    with opened(tmp_path) as index:
        for i in range(600):
            index.insert(i, rows[i])
            if i % 7 == 0:
                assert index.stats().store["segments"] <= 3 * (FAN - 1) + 1
        index.verify()
        index.remove(range(599))
        assert index.stats().store["segments"] <= 1
        assert index.query(rows[599]) == [599]
        index.remove(599)
        assert (len(index), index.stats().store["segments"]) == (0, 0)
        index.insert("a", rows[0])  # nothing is held, so the kind of keys is free
        assert index.query(rows[0]) == ["a"]


def test_compaction(tmp_path, monkeypatch):
    """Parts of a bounded size without what was removed; where they are so already, nothing is written."""
    monkeypatch.setattr(lmdb_store, "MOST_BYTES", 64 * 100)
    rows, told = signatures(1000), []
    with opened(tmp_path, on_duplicate="replace") as index:
        for start in range(0, 1000, 50):
            index.insert(range(start, start + 50), rows[start : start + 50])
        index.remove(range(0, 1000, 4))
        index.insert(range(100), rows[:100])
        index.compact(progress=lambda *seen: told.append(seen))
        assert told[-1][1] == told[-1][2] > 0
        parts = index.stats().store["segments"]
        assert 8 <= parts <= 16
        assert sorted(index) == sorted(
            {*range(100), *range(1000)} - set(range(100, 1000, 4))
        )
        index.verify()
        before, size = index.query(rows, k=1), index.stats().store["section bytes"]
        told.clear()
        index.compact(progress=lambda *seen: told.append(seen))
        assert (
            told,
            index.stats().store["section bytes"],
            index.stats().store["segments"],
        ) == ([], size, parts)
        assert list(index.query(rows, k=1)) == list(before)


def test_parameters_are_kept_and_compared(tmp_path):
    opened(tmp_path).close()
    index = LSHIndex.on(LmdbStore(tmp_path))
    assert (
        index.parameters.num_perm,
        index.parameters.bands,
        index.parameters.rows_per_band,
    ) == (8, 3, 2)
    index.close()
    with pytest.raises(ValueError, match="seed is 1 in this index, not 2"):
        opened(tmp_path, seed=2)
    with pytest.raises(ValueError, match="the store has no parameters"):
        LSHIndex.on(LmdbStore(tmp_path / "new"))


def test_keys_that_cannot_be_kept(tmp_path):
    with opened(tmp_path) as index:
        for keys in ([1, "a"], [(1, 2)], [2**64]):
            with pytest.raises(TypeError, match="all ints of 64 bits, or all strs"):
                index.insert(keys, signatures(len(keys)))
        assert len(index) == 0
        index.insert([1, 2], signatures(2))
        with pytest.raises(TypeError, match="the keys of this index are ints"):
            index.insert(["a"], signatures(1))
        with pytest.raises(ValueError, match=r"keys\[1\] = 2 is in the index already"):
            index.insert([3, 2], signatures(2))
        with pytest.raises(KeyError, match="7"):
            index.remove([1, 7])
        assert sorted(index) == [1, 2]


def test_a_map_that_is_full(tmp_path):
    index = LSHIndex(**SMALL, store=LmdbStore(tmp_path, map_size=1 << 20))
    index.insert(range(100), signatures(100))
    with pytest.raises(OSError, match="map_size is too small") as caught:
        index.insert(range(100, 20_000), signatures(19_900))
    assert caught.value.filename == str(tmp_path)
    assert sorted(index) == list(range(100))
    index.verify()
    index.close()


def test_the_same_key_from_two_processes(tmp_path):
    """Each of two writers inserts all keys in turn: every key is taken once, and nobody sees half a batch."""
    opened(tmp_path).close()
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    writers = [
        context.Process(target=insert_all, args=(str(tmp_path), name, results))
        for name in (1, 2)
    ]
    for writer in writers:
        writer.start()
    index = LSHIndex.on(LmdbStore(tmp_path, map_size=MAP))
    queries = np.repeat(np.array([[8], [9]], np.uint64), 8, axis=1)
    while any(writer.is_alive() for writer in writers):
        counts = [len(found) for found in index.query(queries)]
        assert all(count % 10 == 0 for count in counts), counts
    taken = [results.get(timeout=60) for _ in writers]
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert sorted(taken[0] + taken[1]) == list(range(0, 200, 10))
    assert sorted(index) == list(range(200))
    index.verify()
    index.close()


def insert_all(path, name, results):
    index = LSHIndex.on(LmdbStore(path, map_size=MAP))
    taken = []
    for start in range(0, 200, 10):
        try:
            index.insert(
                range(start, start + 10), np.full((10, 8), 7 + name, np.uint64)
            )
            taken.append(start)
        except ValueError:
            time.sleep(0.001)
    index.close()
    results.put(taken)


KILLED = """
import sys, numpy as np
from lshfast import LSHIndex
from lshfast.index.stores.lmdb import LmdbStore
index = LSHIndex.on(LmdbStore(sys.argv[1], map_size=1 << 30))
start = len(index)
print("ready", flush=True)
while True:
    keys = np.arange(start, start + 50)
    index.insert(keys, (keys[:, None] * np.ones(8)).astype(np.uint64))
    start += 50
    if start % 400 == 0:
        index.remove(keys)
        index.insert(keys, (keys[:, None] * np.ones(8)).astype(np.uint64))
"""


def test_killed_at_any_time(tmp_path):
    """Batches are whole, or whole but for the one that was being replaced, whenever the writer is killed."""
    opened(tmp_path).close()
    rng = np.random.default_rng(3)
    for _ in range(share_of(24)):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert child.stdout.readline() == b"ready\n"
        time.sleep(float(rng.uniform(0, 0.15)))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        with LSHIndex.on(LmdbStore(tmp_path, map_size=MAP)) as index:
            index.verify()
            assert sorted(index) == list(range(len(index)))
            assert len(index) % 50 == 0
            if len(index):
                assert index.query(np.full(8, len(index) - 1, np.uint64)) == [
                    len(index) - 1
                ]


def test_damage_is_named(tmp_path):
    index = opened(tmp_path)
    index.insert(range(50), signatures(50))
    index.close()

    def change(name, alter):
        with (
            lmdb.open(str(tmp_path), map_size=MAP) as env,
            env.begin(write=True) as txn,
        ):
            data = txn.get(name)
            txn.put(name, alter(data))
            return data

    keep = change(b"directory", lambda data: data[:-1] + b"\0")
    with pytest.raises(FormatError, match="directory: its checksum is wrong"):
        LmdbStore(tmp_path)
    change(b"directory", lambda data: keep)
    with lmdb.open(str(tmp_path), map_size=MAP) as env, env.begin() as txn:
        sections = [name for name, _ in txn.cursor() if name.startswith(b"s")]
    assert sections
    for name in sections:
        number = struct.unpack(">Q", name[1:])[0]
        keep = change(name, lambda data: data[:-8])
        with pytest.raises(
            FormatError, match=f"section {number} is missing or truncated"
        ):
            LmdbStore(tmp_path)
        change(name, lambda data: bytes([data[0] ^ 1]) + data[1:])
        with pytest.raises(FormatError, match=str(tmp_path)):
            LSHIndex.on(LmdbStore(tmp_path)).verify()
        change(name, lambda data: keep)  # noqa: B023
    with LSHIndex.on(LmdbStore(tmp_path)) as index:
        index.verify()


CUT = """
import sys
from lshfast import LSHIndex
from lshfast._common.errors import FormatError
from lshfast.index.stores.lmdb import LmdbStore
try:
    with LSHIndex.on(LmdbStore(sys.argv[1])) as index:
        index.verify()
except FormatError as error:
    print(error)
"""


def test_a_file_that_was_copied_in_part(tmp_path):
    """Its last pages are not there, and reading them would end the process: that is said instead."""
    index = opened(tmp_path)
    for start in range(0, 2000, 500):
        index.insert(range(start, start + 500), signatures(500))
    index.close()
    whole = (tmp_path / "data.mdb").read_bytes()
    pages = len(whole) // 4096
    for kept in (2, 5, pages // 2, pages - 20, pages - 10, pages - 1):
        (tmp_path / "data.mdb").write_bytes(whole[: kept * 4096])
        done = python(CUT, tmp_path)
        assert done.returncode == 0, done.stderr
        # The last pages may be free.
        assert not done.stdout or done.stdout.startswith(str(tmp_path))
        if pages - kept > 16:
            assert (
                f"data.mdb is truncated: its last {(pages - kept) * 4096} bytes are missing"
                in done.stdout
            )
    (tmp_path / "data.mdb").write_bytes(whole)
    assert python(CUT, tmp_path).stdout == ""


def test_directories_that_lead_astray(tmp_path):
    """A part that is listed twice, and a section's number that is to be given again."""
    index = opened(tmp_path)
    index.insert(range(50), signatures(50))
    index.close()
    with lmdb.open(str(tmp_path), map_size=MAP) as env, env.begin(write=True) as txn:
        directory, last = Directory.unpack(txn.get(b"directory")), txn.get(b"next")
        txn.put(
            b"directory", replace(directory, segments=directory.segments * 2).pack()
        )
    with pytest.raises(FormatError, match="directory: a section is listed twice"):
        LmdbStore(tmp_path)
    with lmdb.open(str(tmp_path), map_size=MAP) as env, env.begin(write=True) as txn:
        txn.put(b"directory", directory.pack())
        txn.put(b"next", struct.pack("<Q", struct.unpack("<Q", last)[0] - 1))
    with (
        LSHIndex.on(LmdbStore(tmp_path)) as index,
        pytest.raises(FormatError, match="next: a section has a number"),
    ):
        index.verify()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_child_may_not_use_it(tmp_path):
    from tests.kernels.test_gate import child

    with opened(tmp_path) as index:
        index.insert(range(50), signatures(50))
        assert child(lambda: len(index)).endswith(
            "was opened before this process was forked: open it after the fork"
        )
        assert child(index.close) == "None"
        assert len(index) == 50
    assert child(lambda: len(opened(tmp_path))) == "50"


def test_no_environment(tmp_path):
    (tmp_path / "data.mdb").write_bytes(os.urandom(1 << 14))
    with pytest.raises(FormatError, match=str(tmp_path)):
        LmdbStore(tmp_path)


def test_without_lmdb_the_extra_is_named(monkeypatch):
    from lshfast._common.extras import optional

    monkeypatch.setitem(sys.modules, "lmdb", None)
    optional.cache_clear()
    with pytest.raises(
        ImportError, match=r"lmdb is missing: pip install .lshfast\[lmdb\]"
    ):
        LmdbStore("nowhere")

"""What threads_sanitizer.sh runs: eight threads ask tables, or an index, while one inserts and removes.

    python tests/index/threads_index.py WHAT [OPERATIONS]

WHAT is "gate" or "without" for tables, a store, or "sessions". A key that is asked for is an operation; the writer goes
on until all readers together have done as many as are asked for, and each at least once.
"""

import os
import sys
import tempfile
import threading
from contextlib import ExitStack, nullcontext
from pathlib import Path

import numpy as np

from lshfast import LmdbStore, LSHIndex, RedisStore
from lshfast.datasketch import MinHash, MinHashLSH
from lshfast.kernels.gate import Gate
from lshfast.kernels.tables import BandTables
from tests.index.redis_server import RedisServer

READERS, BATCHES, BATCH, K = 8, 20, 200, 8
SIGNATURES = (
    np.random.default_rng(1).integers(0, 6, (BATCHES * BATCH, K)).astype(np.uint64)
)


def beside(read, write, operations=0):
    """Read on eight threads until the writer has ended a turn, and enough was read; return how much it was."""
    stop = threading.Event()
    counts = [0] * READERS
    errors = []

    def run(reader):
        try:
            while not stop.is_set():
                counts[reader] += read()
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=run, args=(at,)) for at in range(READERS)]
    for thread in readers:
        thread.start()
    try:
        write()
        while not errors and (sum(counts) < operations or not all(counts)):
            write()
    finally:
        stop.set()
        for thread in readers:
            thread.join()
    if errors:
        raise errors[0]
    return sum(counts)


def stir_tables(reading, writing, operations):
    tables = BandTables(K, 4, 2, "int")

    def read():
        with reading():
            tables.query(SIGNATURES[:BATCH], 1)
            tables.find(np.arange(BATCH))
            tables.query_one(SIGNATURES[0])
        return 2 * BATCH + 1

    def discard(names):
        rows = tables.find(names)
        rows = rows[rows >= 0]
        tables.erase(rows)
        tables.release(rows)

    def write():
        for i in range(BATCHES):
            names = np.arange(i * BATCH, (i + 1) * BATCH)
            with writing():
                tables.write(tables.admit(names)[0], SIGNATURES[names])
                tables.insert_one(-1 - i, SIGNATURES[i])
            if i % 3 == 2:
                with writing():
                    discard(names - BATCH // 2)
        with writing():
            discard(np.arange(-BATCHES, BATCHES * BATCH))

    return beside(read, write, operations)


def stir_index(index, operations, commits=False):
    """Ask an index while entries come and go; return how many keys were asked for."""
    steps = []  # what progress has told

    def note(stage, done, total):
        steps.append((stage, done, total))

    def read():
        index.query(SIGNATURES[:BATCH], k=3, threads=2)
        index.query(SIGNATURES[:BATCH], threads=1)
        index.query(SIGNATURES[0])
        index.contains(np.arange(BATCH))
        list(index)
        index.stats()
        return 3 * BATCH + 1

    def write():
        for i in range(BATCHES):
            keys = np.arange(i * BATCH, (i + 1) * BATCH)
            index.insert(keys, SIGNATURES[keys])
            index.insert(-1 - i, SIGNATURES[i])
            if i % 3 == 2:
                index.remove(keys - BATCH // 2)
            if commits and i % 5 == 4:
                index.commit(progress=note)
        index.verify()
        if commits:
            index.compact(progress=note)
        index.remove(list(index))

    total = beside(read, write, operations)
    assert bool(steps) == commits
    return total


def stir_sessions(operations):
    """Ask a drop-in index while a session inserts sketches, and another one removes them."""
    sketches = []
    for row in SIGNATURES[: 2 * BATCH]:
        sketch = MinHash(num_perm=K)
        sketch.update_batch([value.tobytes() for value in row])
        sketches.append(sketch)
    lsh = MinHashLSH(threshold=0.5, num_perm=K)

    def read():
        for sketch in sketches[:50]:
            lsh.query(sketch)
        return 50 + ("k0" in lsh)

    def write():
        with lsh.insertion_session() as session:
            for at, sketch in enumerate(sketches):
                session.insert(f"k{at}", sketch)
        with lsh.deletion_session() as session:
            for at in range(len(sketches)):
                session.remove(f"k{at}")

    return beside(read, write, operations)


OPTIONS = {"num_perm": K, "bands": 4, "rows_per_band": 2}


def stir_store(kind, operations, stack):
    """Stir an index on a store of a kind, that ends with a stack."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    if kind == "memory":
        return stir_index(LSHIndex(**OPTIONS), operations)
    if kind in ("file", "shards"):
        LSHIndex(**OPTIONS).save(
            folder / "index", shards=3 if kind == "shards" else None
        )
        index = stack.enter_context(LSHIndex.open(folder / "index", "r+"))
        return stir_index(index, operations, commits=True)
    if kind == "lmdb":
        store = LmdbStore(folder / "index", map_size=1 << 30, sync=False)
    else:
        os.environ.pop("LD_PRELOAD", None)  # the server is built without the sanitizer
        store = RedisStore(stack.enter_context(RedisServer()).url, "threads")
    index = stack.enter_context(LSHIndex(**OPTIONS, store=store))
    return stir_index(index, operations)


def main():
    what = sys.argv[1]
    operations = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with ExitStack() as stack:
        if what == "gate":
            gate = Gate()
            total = stir_tables(gate.reading, gate.writing, operations)
        elif what == "without":
            total = stir_tables(nullcontext, nullcontext, operations)
        elif what == "sessions":
            total = stir_sessions(operations)
        else:
            total = stir_store(what, operations, stack)
    print(f"{total} operations")


if __name__ == "__main__":
    main()

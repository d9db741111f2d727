"""What threads_sanitizer.sh runs: eight threads ask tables, or an index, while one inserts and removes."""

import sys
import tempfile
import threading
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from lshfast import LSHIndex
from lshfast.kernels.gate import Gate
from lshfast.kernels.tables import BandTables

READERS, BATCHES, BATCH, K = 8, 20, 200, 8
SIGNATURES = (
    np.random.default_rng(1).integers(0, 6, (BATCHES * BATCH, K)).astype(np.uint64)
)


def beside(read, write):
    """Read on eight threads until the writer is done."""
    stop = threading.Event()

    def run():
        while not stop.is_set():
            read()

    readers = [threading.Thread(target=run) for _ in range(READERS)]
    for thread in readers:
        thread.start()
    try:
        write()
    finally:
        stop.set()
        for thread in readers:
            thread.join()


def stir_tables(reading, writing):
    tables = BandTables(K, 4, 2, "int")

    def read():
        with reading():
            tables.query(SIGNATURES[:BATCH], 1)
            tables.find(np.arange(BATCH))
            tables.query_one(SIGNATURES[0])

    def write():
        for i in range(BATCHES):
            names = np.arange(i * BATCH, (i + 1) * BATCH)
            with writing():
                tables.write(tables.admit(names)[0], SIGNATURES[names])
                tables.insert_one(-1 - i, SIGNATURES[i])
            if i % 3 == 2:
                with writing():
                    rows = tables.find(names - BATCH // 2)
                    tables.erase(rows)
                    tables.release(rows)

    beside(read, write)


def stir_index(index, first):
    def read():
        index.query(SIGNATURES[:BATCH], k=3, threads=1)
        index.query(SIGNATURES[0])
        list(index)
        index.stats()

    def write():
        for i in range(first, BATCHES):
            keys = np.arange(i * BATCH, (i + 1) * BATCH)
            index.insert(keys, SIGNATURES[keys])
            index.insert(-1 - i, SIGNATURES[i])
            if i % 3 == 2:
                index.remove(keys - BATCH // 2)

    beside(read, write)


def main():
    what = sys.argv[1]
    if what == "gate":
        gate = Gate()
        stir_tables(gate.reading, gate.writing)
    elif what == "without":
        stir_tables(nullcontext, nullcontext)
    else:
        index = LSHIndex(num_perm=K, bands=4, rows_per_band=2)
        index.insert(np.arange(BATCH), SIGNATURES[:BATCH])
        with tempfile.TemporaryDirectory() as folder:
            index.save(Path(folder, "index"))
            stir_index(index, 1)
            with LSHIndex.open(Path(folder, "index"), "r+") as opened:
                stir_index(opened, 1)


if __name__ == "__main__":
    main()

"""Each allocation of some functions is refused once: they raise MemoryError, and do their work afterwards.

It is for functions that numpy, Cython or Python would let go wrong. The campaign tries all that commands call.
"""

import gc
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lshfast._common.atomic_files import all_or_none, atomic_file
from lshfast._common.locks import locked
from lshfast._common.private_files import TemporaryFolder
from lshfast._common.threads import ordered_map
from lshfast._io.remote_output import open_remote
from lshfast._io.to_parquet import parquet_writer
from lshfast.kernels import bands, passages, setjoin, sketch
from lshfast.kernels.text import Texts

TREE = Path(__file__).parents[2]
K = 1024

# What numpy says without a reason, and Python where it opens a file.
FOREIGN = re.compile("without exception|can't allocate read lock")

# After so many allocations that are refused in vain, there are no more.
ENOUGH = 30


def rows_of(*sizes):
    """Return offsets and tokens of rows of these sizes."""
    offsets = np.cumsum([0, *sizes])
    return offsets, np.arange(offsets[-1], dtype=np.uint64) % 997


def counted_tokens():
    table = setjoin.TokenRanks()
    table.count(*rows_of(3, 4), np.arange(2))
    return [sorted(column.tolist()) for column in table.entries()]


def long_row():
    """Return a signature of a row that is sketched in pieces."""
    out = np.zeros((1, K), np.uint64)
    constants = sketch.classic_constants(1, K)
    sketch.classic(*rows_of(20000), *constants, out)
    return int(out.sum())


def ordered():
    return bands.order(np.arange(2000, dtype=np.uint64)[::-1].copy()).tolist()


def sorted_numbers():
    numbers = np.arange(2000, dtype=np.uint64)[::-1].copy()
    return bands.sorted_numbers(numbers).tolist()


def records():
    ones = np.ones(4, np.uint32)
    starts = np.arange(4, dtype=np.uint64)
    return setjoin.SetRecords(ones, ones, starts, ones, 2).sizes.tolist()


def texts():
    return list(Texts.concatenate([["a", "b"], [b"c"]]))


def words():
    texts = ["one two", "one  two"]
    columns = np.array([[0], [0], [7], [1], [0], [8]])
    return passages.have_same_words(texts, *columns)


def folders():
    """Return what is left of temporary folders."""
    with tempfile.TemporaryDirectory() as parent:
        for _ in range(2):
            with suppress(MemoryError), TemporaryFolder(parent):
                pass
        return os.listdir(parent)


def uploads():
    """Return what is left of the temporary file of an upload, and how many files are open."""
    tempfile.tempdir = None
    with tempfile.TemporaryDirectory() as parent:
        tempfile.tempdir = parent
        message = None
        try:
            with open_remote("memory://a/b", True):
                pass
        except (MemoryError, OSError) as error:
            message = str(error)
        gc.collect()
        left = os.listdir(parent)
        if message is not None and all(name in message for name in left):
            raise MemoryError
        return left, len(os.listdir("/proc/self/fd"))


def outputs():
    """Return which of two files is there: after an error in a set, the next output appears at once."""
    with tempfile.TemporaryDirectory() as parent:
        with suppress(MemoryError), all_or_none(), atomic_file(f"{parent}/a"):
            pass
        with atomic_file(f"{parent}/b"):
            pass
        return sorted({*os.listdir(parent), "a"})


def lock_files():
    """Return what is left of a lock file, and how many files are open."""
    with tempfile.TemporaryDirectory() as parent:
        for _ in range(2):
            with suppress(MemoryError), locked(f"{parent}/lock", "in use", remove=True):
                pass
        return os.listdir(parent), len(os.listdir("/proc/self/fd"))


CALLS = [
    counted_tokens,
    pytest.param(long_row, marks=pytest.mark.weekly),
    ordered,
    sorted_numbers,
    records,
    texts,
    words,
    folders,
    pytest.param(uploads, marks=pytest.mark.weekly),
    outputs,
    lock_files,
]


def try_each(call):
    """Refuse each allocation of a call once; print what differs from the answer."""
    import _testcapi

    expected = call()
    for _ in range(10):  # until Python's own instructions are those of later calls
        call()
    gc.freeze()  # `call` may collect what it left
    number = 0
    last_refused = 0
    while number - last_refused < ENOUGH:
        try:
            _testcapi.set_nomemory(number, number + 1)
            try:
                found = call()
            finally:
                _testcapi.remove_mem_hooks()
        except MemoryError:
            found = expected
            last_refused = number
        except (SystemError, RuntimeError) as error:
            found = expected if FOREIGN.search(str(error)) else error
        except Exception as error:
            found = error
        if found != expected:
            print(number, repr(found)[:200])
        if call() != expected:
            print(number, "afterwards", call())
        number += 1


def end_threads():
    """Refuse each allocation once while a map with a thread ends early; print whether the thread is left."""
    import _testcapi

    for number in range(ENOUGH):
        results = ordered_map(abs, range(9), 2)
        next(results)
        time.sleep(0.01)  # the thread has nothing to do any more
        _testcapi.set_nomemory(number, number + 1)
        try:
            results.close()
        except MemoryError:
            pass
        finally:
            _testcapi.remove_mem_hooks()
        # Python may keep a thread that has ended in its list.
        alive = [thread for thread in threading.enumerate() if thread.is_alive()]
        if len(alive) > 1:
            print(number, alive)
            time.sleep(0.1)


def test_threads_end_where_memory_is_refused():
    check("end_threads()")


@pytest.mark.slow
@pytest.mark.some_cases
@pytest.mark.skipif(sys.platform != "linux", reason="files that are open are counted")
@pytest.mark.parametrize("call", CALLS)
def test_memory_is_refused_once(call):
    check(f"try_each({call.__name__})")


def check(statement):
    """Run a statement in a process of its own: it prints what is wrong."""
    pytest.importorskip("_testcapi")
    program = f"from {__name__} import *; {statement}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=TREE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def test_the_end_of_a_file_that_is_not_kept(monkeypatch):
    """pyarrow would write it to a closed file, and Python would print the error."""
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    stream = pa.BufferOutputStream()
    table = pa.table({"a": [1]})
    opened = parquet_writer(stream, table.schema, "a.parquet")
    opened.__enter__().write_table(table)
    stream.close()
    del opened  # as where memory is refused before the block
    gc.collect()
    assert not printed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_child_does_not_remove_the_folder_of_its_parent(tmp_path):
    folder = TemporaryFolder(str(tmp_path))
    child = os.fork()
    if child == 0:
        folder.cleanup()
        os._exit(0)
    os.waitpid(child, 0)
    assert os.path.isdir(folder.name)
    folder.cleanup()
    assert os.listdir(tmp_path) == []

"""Kernels raise MemoryError where memory is refused, and never give another answer or end the process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lshfast.kernels import bands, passages, setjoin, sketch
from lshfast.kernels.text import Texts

TREE = Path(__file__).parents[2]
K = 1024
MOST_ALLOCATIONS = 1000


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


CALLS = [counted_tokens, long_row, ordered, sorted_numbers, records, texts, words]


def try_each(call):
    """Refuse each allocation of a call once; print what differs from the answer."""
    import _testcapi

    expected = call()
    for _ in range(10):  # until Python's own instructions are those of later calls
        call()
    for number in range(MOST_ALLOCATIONS):
        try:
            _testcapi.set_nomemory(number, number + 1)
            try:
                found = call()
            finally:
                _testcapi.remove_mem_hooks()
        except MemoryError:
            found = expected
        except SystemError as error:  # numpy's: an error without a reason
            found = expected if "without exception" in str(error) else error
        except Exception as error:
            found = error
        if found != expected:
            print(number, repr(found)[:200])
        if call() != expected:
            print(number, "afterwards", call())


@pytest.mark.parametrize("call", CALLS)
def test_memory_is_refused_once(call):
    pytest.importorskip("_testcapi")
    program = f"from {__name__} import *; try_each({call.__name__})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=TREE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]

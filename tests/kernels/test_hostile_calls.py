"""Kernels raise errors for arguments that are out of range: they do not end the process, and do not run for ever.

This covers objects that `__new__` made without arguments, objects after an `__init__` that failed, and methods in any
order.
"""

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lshfast.kernels
from lshfast.kernels import (
    grouping,
    hamming,
    keys,
    kmers,
    pairs,
    passages,
    setjoin,
    tables,
)
from tests.kernels import hostile_calls

TREE = Path(__file__).parents[2]
CPU_SECONDS = 100
MEMORY_BYTES = 6 << 30
MODULES = sorted(
    module.name for module in pkgutil.iter_modules(lshfast.kernels.__path__)
)


def run_calls(calls, *modules):
    """Make the calls in a process of its own; return what it printed, the last lines if it failed."""
    resource = pytest.importorskip("resource")

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # The address sanitizer reserves more, and has a limit of its own.
        if "ASAN_OPTIONS" not in os.environ:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    command = [
        sys.executable,
        "-m",
        "tests.kernels.hostile_calls",
        str(calls),
        *modules,
    ]
    done = subprocess.run(
        command,
        cwd=TREE,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (done.returncode, lines[-1:], done.stderr[-2000:])
    assert lines[-1] == "END"
    return lines


def test_arguments_out_of_range_are_errors():
    lines = run_calls(2)
    assert [line for line in lines if line.startswith("FAULT")] == []


@pytest.mark.some_cases
@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_arguments_out_of_range_are_errors_in_each_module(module):
    lines = run_calls(200, module)
    assert [line for line in lines if line.startswith("FAULT")] == []


# ---- what a caller has to keep to, and the error where it does not ----

NO_KEEPERS = np.full(4, hamming.NO_ROW, np.uint32)


def keepers_of_eight():
    codes = np.zeros((8, 1), np.uint64)
    codes[4:] = 1
    blocks = hamming.Blocks(codes, np.array([[0xFF]], np.uint64))
    blocks.fill(0)
    return hamming.Keepers(blocks, 1, np.array([2], np.uint8)), blocks


def test_rows_are_settled_only_after_they_are_matched():
    keepers, _ = keepers_of_eight()
    with pytest.raises(
        ValueError, match="rows 0 to 4 must be matched before they are settled"
    ):
        keepers.settle(0, 4, NO_KEEPERS.copy())


def test_rows_that_were_matched_with_some_values_are_found_out():
    keepers, _ = keepers_of_eight()
    keepers.match(
        0, 1, 256, 0, 4, NO_KEEPERS.copy()
    )  # not with value 0, which all of them have
    keepers.settle(0, 4, NO_KEEPERS.copy())
    with pytest.raises(
        ValueError,
        match="rows before 4 were settled, and not matched with all values of block 0",
    ):
        keepers.match(0, 0, 256, 4, 8, NO_KEEPERS.copy())


@pytest.mark.parametrize("high", [3, 6])
def test_a_batch_has_one_end(high):
    keepers, _ = keepers_of_eight()
    keepers.match(0, 0, 256, 0, 4, NO_KEEPERS.copy())
    with pytest.raises(
        ValueError, match=f"rows must be to 4, to which others were matched, not {high}"
    ):
        keepers.settle(0, high, np.full(high, hamming.NO_ROW, np.uint32))


def test_codes_that_keepers_read_do_not_move():
    _, blocks = keepers_of_eight()
    with pytest.raises(RuntimeError, match="keepers have taken the blocks"):
        blocks.move(np.zeros((8, 1), np.uint64))


@pytest.mark.parametrize("end", [1, 3])
def test_a_row_is_in_a_crowd_once(end):
    state = hostile_calls.crowded_grouping()
    state.add_to_crowd(0, 3)
    with pytest.raises(
        ValueError, match="rows of a crowd must ascend: row 0 is not after 0"
    ):
        state.add_to_crowd(0, end)


@pytest.mark.parametrize("step", [1, 2**31, 2**63, 2**64 - 1])
def test_one_slot_takes_any_step(step):
    signatures = np.arange(12, dtype=np.uint64).reshape(3, 4)
    rows = np.array([0, 2, 2, 1, 0, 1], np.int64)
    expected = grouping.slot_hashes(signatures, rows, 3, 1, 1)
    assert (
        grouping.slot_hashes(signatures, rows, 3, step, 1).tolist() == expected.tolist()
    )


@pytest.mark.parametrize("count", [2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_more_codes_than_memory_holds(count):
    with pytest.raises(MemoryError):
        pairs.rows_by_code(np.array([5000]), count)


@pytest.mark.parametrize("row", [2**32, 2**62, 2**63 - 1, -1])
def test_rows_of_keys_are_in_range(row):
    table = keys.KeyTable()
    with pytest.raises(ValueError, match=r"rows must be in 0\.\.4294967295, not"):
        table.add(["a"], np.array([row]))
    assert len(table) == 0


def test_rows_without_keys_have_none():
    table, live = hamming.IntKeys(), np.zeros(8, np.uint8)
    table.put(np.array([7, 9]), np.array([0, 2]), np.array([-1, -1]), live)
    table.drop(np.array([2]), live)
    assert table.take(np.array([0])).tolist() == [7]
    for row in (1, 2, 3, 7, 8, 2**40, -1):
        with pytest.raises(IndexError, match=f"row {row} has no key"):
            table.take(np.array([row]))


@pytest.mark.parametrize(
    ("rows", "known", "message"),
    [
        ([0], [-1], "row 0 must be free"),
        ([3], [2], "row 2 must have a key"),
        ([3, 4], [0, 0], "a known row is there twice"),
    ],
)
def test_rows_of_int_keys_are_free_or_known(rows, known, message):
    table, live = hamming.IntKeys(), np.zeros(8, np.uint8)
    table.put(np.array([7]), np.array([0]), np.array([-1]), live)
    with pytest.raises(ValueError, match=message):
        table.put(np.arange(len(rows)) + 20, np.array(rows), np.array(known), live)
    assert table.find(np.array([7, 20])).tolist() == [0, -1]


@pytest.mark.parametrize("first_row", [2**32 - 4, 2**63, 2**64 - 1])
def test_numbers_of_rows_do_not_wrap(first_row):
    codes = np.zeros((8, 1), np.uint64)
    counted = hamming.Counted(codes, False)
    calls = [
        lambda: hamming.scan_within(codes, codes, 1, first_row=first_row),
        lambda: hamming.Best(8, 1).scan(codes, codes, first_row=first_row),
        lambda: hamming.Best(8, 1).similar(counted, codes, first_row=first_row),
        lambda: counted.within(codes, 0.5, first_row=first_row),
    ]
    for call in calls:
        with pytest.raises(OverflowError, match="rows must be below"):
            call()


def test_a_reader_of_kmers_needs_its_arguments():
    with pytest.raises(TypeError):
        kmers.KmerReader.__new__(kmers.KmerReader)


def unaligned(array):
    """Return the array at an address that is not a multiple of the size of its numbers."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    raw[1:] = array.view(np.uint8)
    return raw[1:].view(array.dtype)


def test_arrays_that_are_not_aligned_give_the_same_results():
    sizes = np.array([1, 2, 3], np.uint32)
    rule = (0, 1, 2, 0.5)
    zeros = np.zeros(2, np.int64)
    ones = np.ones(2, np.int64)
    for function in (setjoin.indexed_prefixes, setjoin.longest_prefixes):
        assert (
            function(rule, unaligned(sizes), True).tolist()
            == function(rule, sizes, True).tolist()
        )
    texts = ["a b", "a c"]
    assert passages.have_same_words(
        texts, unaligned(zeros), zeros, ones, unaligned(zeros), zeros, ones
    )


@pytest.mark.parametrize("least", [6, 2**31, 2**63 - 1, 2**63, 2**64 - 1])
def test_no_match_is_longer_than_the_units(least):
    units = np.arange(5, dtype=np.uint32)
    place, low, high = np.array([1]), np.array([0]), np.array([5])
    assert len(passages.extend(units, units, place, place, low, high, 1, least)) == 0


def tables_of_four():
    """Return tables in which rows 0 and 1 have signatures, 2 has none, and 3 is free."""
    table = tables.BandTables(4, 2, 2)
    rows = table.allot(4)
    table.write(rows[:2], np.ones((2, 4), np.uint64))
    table.release(rows[3:])
    return table


SIGNATURE = np.ones((1, 4), np.uint64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda table: table.release(np.array([0])),
            "row 0 has a signature in the tables: erase it before",
        ),
        (lambda table: table.release(np.array([2, 2])), "row 2 comes twice"),
        (lambda table: table.release(np.array([3])), "row 3 is not in use"),
        (
            lambda table: table.write(np.array([0]), SIGNATURE),
            "row 0 has a signature in the tables: erase it before",
        ),
        (
            lambda table: table.write(
                np.array([2, 2]), np.repeat(SIGNATURE, 2, axis=0)
            ),
            "row 2 comes twice",
        ),
        (lambda table: table.write(np.array([3]), SIGNATURE), "row 3 is not in use"),
        (lambda table: table.erase(np.array([2])), "row 2 has no signature"),
        (lambda table: table.erase(np.array([1, 1])), "row 1 comes twice"),
        (lambda table: table.erase(np.array([3])), "row 3 is not in use"),
        (lambda table: table.discard(np.array([0, 2])), "row 2 has no signature"),
        (
            lambda table: table.hand_over(np.array([2]), np.array([0])),
            "row 2 has no signature",
        ),
        (
            lambda table: table.hand_over(np.array([0]), np.array([2])),
            "row 2 has no signature",
        ),
        (
            lambda table: table.hand_over(np.array([0]), np.array([0])),
            "row 0 is not in use",
        ),
        (
            lambda table: table.hand_over(np.array([0, 0]), np.array([1, 1])),
            "row 0 comes twice",
        ),
    ],
)
def test_rows_of_tables_are_written_erased_and_freed_in_this_order(call, message):
    table = tables_of_four()
    with pytest.raises(ValueError, match=message):
        call(table)
    rows = table.query(SIGNATURE)[1]  # nothing was changed
    assert rows.tolist() == [0, 1]
    assert table.rows_in_use().tolist() == [0, 1, 2]
    table.erase(np.array([0, 1]))
    table.release(np.array([0, 1, 2]))
    assert len(table.query(SIGNATURE)[1]) == 0

"""Threads that share what kernels read: with an interpreter lock, and without one where Python is built so."""

import os
import pkgutil
import re
import subprocess
import sys
import sysconfig
import threading
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from lshfast import LSHIndex, MinHasher, TokenSets, kernels, shingle
from lshfast.datasketch import MinHash, MinHashLSH
from lshfast.datasketch.hashfunc import sha1_hash32, token_hash
from lshfast.kernels import affine, text
from lshfast.kernels.gate import Gate
from lshfast.kernels.grouping import Grouping
from tests.kernels.test_gate import threads

THREADS = 6
ROUNDS = 150
WORDS = [f"word{i} of a text, {'ä' if i % 3 else ''} or {i * i}" for i in range(400)]


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"),
    reason="Python has an interpreter lock",
)
def test_no_kernel_brings_the_interpreter_lock_back():
    code = """if True:
        import importlib, pkgutil, sys
        import lshfast.kernels
        for module in pkgutil.iter_modules(lshfast.kernels.__path__):
            importlib.import_module(f"lshfast.kernels.{module.name}")
        assert not sys._is_gil_enabled()
    """
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHON_GIL"
    }
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, env=environment
    )


def test_the_page_says_of_each_kernel_why_it_needs_no_lock():
    page = Path(__file__).parents[2] / "docs" / "reference" / "platforms.md"
    section = page.read_text(encoding="utf-8").partition("why they are safe")[2]
    cells = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    named = {name for cell in cells for name in re.findall("`(\\w+)`", cell)}
    modules = {module.name for module in pkgutil.iter_modules(kernels.__path__)}
    assert named == {name for name in modules if not name.startswith("_")}


def beside(change, *work):
    """Run functions again and again on threads, while another one calls `change` with 0, 1, 2, ... until they end."""
    left = [object() for _ in work]
    over = threading.Event()

    def worker(function):
        def run():
            try:
                for turn in range(ROUNDS):
                    function(turn)
            finally:
                left.pop()
                if not left:
                    over.set()

        return run

    def changer():
        for turn in count():
            if over.is_set():
                return
            change(turn)

    with threads(changer, *map(worker, work)):
        pass


def growing_and_shrinking(shared, values):
    """Return a function that empties and fills a list again, with objects that nothing else holds."""

    def change(turn):
        shared.clear()
        shared.extend(value + value[:1] * (turn % 7) for value in values)

    return change


@pytest.mark.slow
def test_a_list_of_texts_that_changes_while_others_shingle_it():
    shared = list(WORDS)
    allowed = {
        tuple(row.tolist())
        for turn in range(7)
        for row in shingle([word + word[:1] * turn for word in WORDS])
    }

    def work(_):
        for row in shingle(shared, threads=1):
            assert tuple(row.tolist()) in allowed

    beside(growing_and_shrinking(shared, WORDS), *[work] * THREADS)


def test_a_list_of_tokens_that_changes_while_others_hash_it():
    values = [word.encode() if i % 2 else word for i, word in enumerate(WORDS)]
    shared = list(values)
    allowed = {
        affine.native_hash(value + value[:1] * turn, 1)
        for turn in range(7)
        for value in values
    }

    def work(_):
        rows = affine.NativeRows(1)
        assert rows.fill(iter([shared, shared]), 10**6) is None
        assert set(rows.rows()[1].tolist()) <= allowed
        assert set(affine.native(shared, 1).tolist()) <= allowed

    beside(growing_and_shrinking(shared, values), *[work] * THREADS)


@pytest.mark.parametrize("hashfunc", [sha1_hash32, token_hash])
def test_the_minhash_of_a_list_that_changes(hashfunc):
    values = [word.encode() for word in WORDS]
    shared = list(values)
    lowest = MinHash(num_perm=16, hashfunc=hashfunc)
    for turn in range(7):
        lowest.update_batch([value + value[:1] * turn for value in values])

    def work(_):
        sketch = MinHash(num_perm=16, hashfunc=hashfunc)
        sketch.update_batch(shared)
        assert (sketch.hashvalues >= lowest.hashvalues).all()

    beside(growing_and_shrinking(shared, values), *[work] * THREADS)


def rows_of(numbers):
    """Return signatures of 8 slots that tell their numbers; those of numbers equal mod 10 share a band."""
    numbers = np.asarray(numbers, np.uint64)
    rows = np.repeat(numbers[:, np.newaxis], 8, axis=1)
    rows[:, :4] = numbers[:, np.newaxis] % 10
    return rows


@pytest.mark.one_case
@pytest.mark.parametrize(
    "key_of", [int, str, lambda i: (i, "key")], ids=["int", "str", "object"]
)
def test_an_index_that_many_threads_change_and_ask_one_by_one(key_of):
    index = LSHIndex(num_perm=8, bands=2, rows_per_band=4)
    each = 400
    number_of = {key_of(i): i for i in range(THREADS * each)}

    def work(start):
        def run():
            for number in range(start, THREADS * each, THREADS):
                row = rows_of([number])[0]
                index.insert(key_of(number), row)
                found = index.query(row)
                assert key_of(number) in found
                assert {number_of[key] % 10 for key in found} == {number % 10}
                if number % 4 == 0:
                    index.remove(key_of(number))
                    assert key_of(number) not in index

        return run

    with threads(*map(work, range(THREADS))):
        pass
    left = {i for i in range(THREADS * each) if i % 4}
    assert len(index) == len(left)
    for digit in range(10):
        assert {number_of[key] for key in index.query(rows_of([digit])[0])} == {
            i for i in left if i % 10 == digit
        }


def test_the_drop_in_index_that_many_threads_change_and_ask():
    lsh = MinHashLSH(num_perm=8, params=(2, 4))
    sketches = [
        MinHash(num_perm=8, hashvalues=row, scheme="affine32")
        for row in rows_of(range(240)).astype(np.uint32)
    ]

    def work(start):
        def run():
            for number in range(start, 240, THREADS):
                lsh.insert(number, sketches[number])
                found = lsh.query(sketches[number])
                assert number in found
                assert {key % 10 for key in found} == {number % 10}
                if number % 2 == 0:
                    lsh.remove(number)

        return run

    with threads(*map(work, range(THREADS))):
        pass
    assert lsh.query(sketches[0]) == []
    assert sorted(lsh.query(sketches[3])) == list(range(3, 240, 10))


@pytest.mark.weekly
def test_the_cpu_level_changes_while_others_compute():
    sets = TokenSets.from_sets([WORDS[i:] for i in range(50)])
    hasher = MinHasher(64)
    tokens = shingle(WORDS, threads=1).tokens
    signatures = hasher.sketch(sets, threads=1)
    levels = kernels.available()
    before = kernels.level()

    def work(_):
        assert np.array_equal(shingle(WORDS, threads=1).tokens, tokens)
        assert np.array_equal(hasher.sketch(sets, threads=1), signatures)

    def change(turn):
        kernels.use(levels[turn % len(levels)])

    try:
        beside(change, *[work] * 3)
    finally:
        kernels.use(before)


def test_a_lock_whose_list_of_readers_grows_while_others_look_themselves_up():
    gate = Gate()
    inside = []

    def depth(turn):
        if turn == 0:
            return
        with gate.reading():
            depth(turn - 1)

    def work(turn):
        depth(1 + turn % 40)

    def change(_):
        with gate.writing():
            inside.append(1)
            assert len(inside) == 1
            inside.pop()

    beside(change, *[work] * THREADS)


@pytest.mark.slow
def test_locks_come_and_go_on_many_threads():
    def work(_):
        gates = [Gate() for _ in range(20)]
        for gate in gates:
            with gate.reading():
                pass

    beside(work, *[work] * THREADS)


def test_a_grouping_that_many_threads_hand_tokens():
    n = THREADS * ROUNDS
    grouping = Grouping(
        buckets=np.zeros((n, 1), np.int32),
        counts=np.ones(1, np.int64),
        signatures=np.ones((n, 4), np.uint64),
        of=np.arange(n, dtype=np.int64),
        least=1,
        threshold=0.5,
        exact=True,
        chains=False,
    )
    numbers = []

    def work(start):
        def run(turn):
            row = start * ROUNDS + turn
            numbers.append(
                grouping.hold(
                    np.array([row], np.int32),
                    np.array([0, 3], np.int64),
                    np.array([1, 2, 3], np.uint64),
                )
            )

        return run

    beside(lambda _: grouping.longest, *map(work, range(THREADS)))
    assert len(set(numbers)) == n
    for number in numbers:
        grouping.release(number)
    assert grouping.longest == 0


def test_texts_keep_what_they_were_made_of():
    """Bytes that only a list held stay as long as the Texts over them."""
    source = [f"text number {i} ä".encode() for i in range(1000)] + [
        f"zahl {i} ä" for i in range(1000)
    ]
    expected = [
        value if isinstance(value, bytes) else value.encode() for value in source
    ]
    texts = text.Texts(source)
    source.clear()
    assert [texts[row] for row in range(len(texts))] == expected

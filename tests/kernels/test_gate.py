"""The lock for many readers or one writer; and an index that is asked by many threads while others change it."""

import os
import signal
import threading
import time
import warnings
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

from lshfast import LSHIndex
from lshfast.kernels.gate import Gate

READERS = 8
PATIENCE = 60  # seconds until a thread that does not end is taken for a deadlock


@contextmanager
def threads(*targets):
    """Run functions on a thread each, beside the block; all must end, and an error of any of them is raised."""
    errors = []

    def run(target):
        try:
            target()
        except BaseException as error:
            errors.append(error)

    running = [
        threading.Thread(target=run, args=(target,), daemon=True) for target in targets
    ]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        for thread in running:
            thread.join(PATIENCE)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in running), "a deadlock"


# The lock


def test_readers_and_writers():
    """No reader is inside while a writer is, and no two writers; with statements and calls do the same."""
    gate, turns = Gate(), 400
    shared, inside, seen = [0, 0], {"readers": 0, "writers": 0}, []
    counting = threading.Lock()

    def enter(side, by):
        with counting:
            inside[side] += by
            seen.append((inside["readers"], inside["writers"]))

    def read():
        for _ in range(turns):
            with gate.reading():
                enter("readers", 1)
                first = shared[0]
                assert first == shared[1]
                enter("readers", -1)

    def write():
        for turn in range(turns):
            gate.enter_write() if turn % 2 else gate.writing().__enter__()
            try:
                enter("writers", 1)
                shared[0] += 1
                shared[1] += 1
                enter("writers", -1)
            finally:
                gate.leave_write()

    with threads(*[read] * READERS, write, write):
        pass
    assert shared == [2 * turns] * 2
    assert all(not writers or (writers, readers) == (1, 0) for readers, writers in seen)


def test_readers_are_inside_together():
    """All of them meet inside; a lock for one at a time would never let them."""
    gate, meeting = Gate(), threading.Barrier(READERS)

    def read():
        with gate.reading():
            meeting.wait(PATIENCE)

    with threads(*[read] * READERS):
        pass


def test_a_writer_that_waits_goes_before_later_readers():
    """Readers that hand over to each other without a gap do not keep a writer out."""
    gate, stop = Gate(), threading.Event()
    written = []

    def read():
        while not stop.is_set():
            with gate.reading():
                pass

    def write():
        for turn in range(50):
            with gate.writing():
                written.append(turn)
        stop.set()

    with threads(*[read] * READERS, write):
        pass
    assert written == list(range(50))


def until_waiting(gate, readers, writers):
    """Return when so many threads wait for the lock."""
    end = time.monotonic() + PATIENCE
    while gate.waiting != (readers, writers):
        assert time.monotonic() < end, f"{gate.waiting} wait, not {(readers, writers)}"
        os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)


def test_writers_and_readers_take_turns():
    """Readers that come while a writer waits are let in after it, all of them, and before the second writer."""
    gate, order, meeting = Gate(), [], threading.Barrier(READERS)

    def write():
        with gate.writing():
            order.append("writer")

    def read():
        with gate.reading():
            meeting.wait(PATIENCE)
            order.append("reader")

    gate.enter_read()
    with threads(write):
        until_waiting(gate, 0, 1)
        with threads(write):
            until_waiting(gate, 0, 2)
            with threads(*[read] * READERS):
                until_waiting(gate, READERS, 2)
                assert not order
                gate.leave_read()
    assert order == ["writer", *["reader"] * READERS, "writer"]


def test_a_single_query_waits_behind_a_writer():
    """A thread that asks one query after the other does not overtake a batch that waits to be inserted."""
    index, found = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2), []
    index.insert(*batch_of(0))
    gate = index.store.gate
    gate.enter_read()
    with threads(lambda: index.insert(*batch_of(1))):
        until_waiting(gate, 0, 1)
        with threads(lambda: found.append(len(index.query(queries()[0])))):
            until_waiting(gate, 1, 1)
            gate.leave_read()
    assert found == [2 * BATCH]


def test_errors_inside_let_go():
    gate = Gate()
    for side in (gate.reading, gate.writing, gate.writing, gate.reading, gate.writing):
        with pytest.raises(ZeroDivisionError), side():
            raise ZeroDivisionError
    with threads(lambda: gate.enter_write() or gate.leave_write()):
        pass


def test_a_side_belongs_to_a_gate():
    side = type(Gate().reading())
    for arguments in ((), (None, True), (1, False)):
        with pytest.raises(TypeError):
            side(*arguments)
    reading = Gate().reading()  # keeps its gate
    with reading, reading:
        pass


# A thread that would wait for itself


def test_a_thread_does_not_wait_for_itself():
    """It gets an error instead, and the lock is as before; it may read while it reads."""
    gate = Gate()
    with gate.writing():
        for enter in (gate.enter_read, gate.enter_write):
            with pytest.raises(RuntimeError, match="this thread is changing the index"):
                enter()
    with gate.reading():
        with pytest.raises(RuntimeError, match="this thread is reading the index"):
            gate.enter_write()
        waiting = threading.Event()

        def write():
            waiting.set()
            with gate.writing():
                pass

        with threads(write):
            assert waiting.wait(PATIENCE)
            with gate.reading():  # goes before the writer, which waits for this thread
                pass
            gate.leave_read()
        gate.enter_read()
    with gate.writing():
        pass


def test_a_callback_that_uses_its_index(tmp_path):
    """Progress is told while the index is locked: what the callback may not do is an error, and nothing hangs."""
    index, seen = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2), []
    index.insert(*batch_of(0))

    def tell(*_):
        seen.append(len(opened))

    def change(*_):
        opened.insert(10**6, np.full(K, 5, np.uint64))

    index.save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index", "r+") as opened:
        opened.insert(*batch_of(1))
        opened.save(tmp_path / "copy", progress=tell)
        assert set(seen) == {2 * BATCH}
        for act in (opened.commit, opened.compact):
            with pytest.raises(RuntimeError, match="this thread is changing the index"):
                act(progress=tell)
        with pytest.raises(RuntimeError, match="this thread is reading the index"):
            opened.save(tmp_path / "copy", progress=change)
        assert len(opened) == 2 * BATCH
    with LSHIndex.open(tmp_path / "index", verify=True) as opened:
        assert len(opened) == 2 * BATCH


# Forks

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")


def child(run):
    """Run a function in a child process that is forked from this thread, and return what it returns, a str."""
    receiver, sender = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        try:
            os.write(sender, str(run()).encode())
        except BaseException as error:
            os.write(sender, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as file:
        answer = file.read().decode()
    assert os.waitpid(pid, 0)[1] == 0, "the child hung"
    return answer


@contextmanager
def elsewhere(enter, leave):
    """Let another thread hold a side of a gate in the block."""
    inside, stop = threading.Event(), threading.Event()

    def hold():
        enter()
        inside.set()
        stop.wait(PATIENCE)
        leave()

    with threads(hold):
        assert inside.wait(PATIENCE)
        try:
            yield
        finally:
            stop.set()


@forks
def test_a_child_of_a_process_with_readers():
    """Readers are not there any more in the child, so that it may write at once."""
    index = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2)
    index.insert(*batch_of(0))
    gate = index.store.gate

    def use():
        index.insert(*batch_of(1))
        return len(index.query(queries()[0]))

    with elsewhere(gate.enter_read, gate.leave_read):
        assert child(use) == str(2 * BATCH)
    assert len(index) == BATCH


@forks
def test_a_child_of_a_process_with_a_writer_that_waits():
    """It has not changed anything yet; in the child it is no more."""
    index = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2)
    index.insert(*batch_of(0))
    gate = index.store.gate

    def use():
        gate.leave_read()
        return index.insert(*batch_of(1))

    gate.enter_read()
    with threads(lambda: index.insert(*batch_of(2))):
        until_waiting(gate, 0, 1)
        assert child(use) == str(BATCH)
        gate.leave_read()
    assert len(index) == 2 * BATCH


@pytest.mark.slow
@forks
def test_a_child_of_a_process_with_a_writer():
    """The index may be half written there: whoever uses it is told so, and nobody waits for ever."""
    index = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2)
    index.insert(*batch_of(0))
    uses = (
        lambda: index.query(queries()[0]), lambda: index.query(queries()), lambda: 1 in index,
        lambda: len(index), lambda: index.insert(*batch_of(1)), lambda: index.remove(1),
    )  # fmt: skip
    with elsewhere(index.store.gate.enter_write, index.store.gate.leave_write):
        for use in uses:
            assert child(use).startswith(
                "RuntimeError: the process was forked while another thread was changing"
            )
    assert child(lambda: len(index.query(queries()[0]))) == str(BATCH)


@forks
def test_a_child_of_the_thread_that_holds_the_lock():
    """It holds the lock in the child, too, and lets go of it there."""
    gate = Gate()

    def use():
        gate.leave_read() if reads else gate.leave_write()
        with gate.writing():
            return "free"

    for reads in (True, False):
        gate.enter_read() if reads else gate.enter_write()
        assert child(use) == "free"
        gate.leave_read() if reads else gate.leave_write()


@forks
def test_a_child_does_not_write_to_the_file(tmp_path):
    """It reads what was there at the fork; the parent's lock and file are as they were."""
    path = tmp_path / "index"
    index = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2)
    index.insert(*batch_of(0))
    index.save(path)
    with LSHIndex.open(path, "r+") as opened:
        opened.insert(*batch_of(1))
        assert child(lambda: len(opened.query(queries()[0]))) == str(2 * BATCH)
        for use in (lambda: opened.insert(*batch_of(2)), opened.commit, opened.compact):
            assert child(use).endswith(
                "opened before this process was forked: only the parent may write to it"
            )
        assert child(opened.close) == "None"
        with pytest.raises(BlockingIOError):
            LSHIndex.open(path, "r+")
        with LSHIndex.open(path) as reader:
            assert len(reader) == BATCH
    with LSHIndex.open(path, verify=True) as reader:
        assert len(reader) == 2 * BATCH


# An index under many threads

K, BATCH, BATCHES, TURNS = 8, 300, 4, 15


def batch_of(number):
    """Return the keys and signatures of a batch: in each band it meets the one query of all, and one of its own."""
    signatures = np.full((BATCH, K), 7, np.uint64)
    signatures[:, K // 2 :] = 1000 + number
    return np.arange(BATCH) + number * BATCH, signatures


def queries():
    """Return queries that meet all batches, and one batch each."""
    signatures = np.full((1 + BATCHES, K), 3, np.uint64)
    signatures[0] = 7
    for number in range(BATCHES):
        signatures[1 + number, K // 2 :] = 1000 + number
    return signatures


def check_answer(found):
    """Each batch is in an answer as a whole or not at all, and in all answers of one call or in none."""
    offsets, keys = found.offsets.tolist(), np.asarray(found.keys)
    whole = keys[: offsets[1]]
    there = np.unique(whole // BATCH)
    assert whole.tolist() == [
        key for number in there for key in range(number * BATCH, (number + 1) * BATCH)
    ]
    for number in range(BATCHES):
        own = keys[offsets[1 + number] : offsets[2 + number]]
        assert own.tolist() == (
            list(range(number * BATCH, (number + 1) * BATCH)) if number in there else []
        )
    return len(there)


def stir(index, writers):
    """Ask an index on eight threads while batches come and go; return how many batches were seen in the answers."""
    stop, seen, asked = threading.Event(), set(), queries()
    ended = []

    def read():
        while not stop.is_set():
            found = index.query(asked, threads=1)
            seen.add(check_answer(found))
            one = index.query(asked[0])
            assert len(one) % BATCH == 0
            assert one == sorted(one)
            assert len(index) % BATCH == 0

    def write(first):
        def run():
            try:
                for turn in range(TURNS):
                    for number in range(first, BATCHES, writers):
                        keys, signatures = batch_of(number)
                        there = keys[0] in index
                        if there:
                            index.remove(keys[::-1])
                        if not there or (turn + number) % 3 == 2:
                            assert index.insert(keys, signatures) == BATCH
            finally:
                ended.append(first)
                if len(ended) == writers:
                    stop.set()

        return run

    with threads(*[read] * READERS, *[write(first) for first in range(writers)]):
        pass
    return seen


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("writers", [1, 2])
def test_batches_appear_at_once_in_memory(writers):
    index = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2)
    for number in range(BATCHES):
        index.insert(*batch_of(number))
    stir_safely(index, writers)


def stir_safely(index, writers):
    """Stir, and see that the index is in one of the states that the writers leave."""
    seen = stir(index, writers)
    assert seen <= set(range(BATCHES + 1))
    found = index.query(queries())
    check_answer(found)
    assert len(index) == found.offsets[1]


@pytest.mark.slow
def test_batches_appear_at_once_in_a_file(tmp_path):
    path = tmp_path / "index"
    index = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2)
    for number in range(BATCHES):
        index.insert(*batch_of(number))
    index.save(path)
    with LSHIndex.open(path, "r+") as opened:
        stir_safely(opened, 1)
        opened.commit()
        held = sorted(opened)
    with LSHIndex.open(path) as again:
        again.verify()
        assert sorted(again) == held


def test_a_query_while_a_file_is_let_go_of(tmp_path, monkeypatch):
    """One that comes before the file that was written anew is open finds what is in it all the same."""
    path, signature = tmp_path / "index", np.full(K, 7, np.uint64)
    index = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2)
    index.insert(1, signature)
    index.save(path)
    closed, asked, found = threading.Event(), threading.Event(), []
    with LSHIndex.open(path, "r+") as opened:
        opened.insert(2, signature)
        again = opened.store._open

        def reopen(verify):
            closed.set()
            assert asked.wait(PATIENCE)
            again(verify)

        def ask():
            assert closed.wait(PATIENCE)
            asked.set()
            found.append(opened.query(signature))

        monkeypatch.setattr(opened.store, "_open", reopen)
        with threads(ask):
            opened.compact()
    assert found == [[1, 2]]


def needs_timers(test):
    """Mark a test of interrupts. Python loses those that come while it throws an object away, and warns."""
    ignored = pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning"
    )(test)
    no_timers = not hasattr(signal, "setitimer")
    return pytest.mark.skipif(
        no_timers, reason="there are no timers here that interrupt"
    )(ignored)


class interrupts:
    """Raise KeyboardInterrupt in the block after so many seconds, and should that be lost, every half second.

    The handler stays: were it taken back, an interrupt of this very class could leave a timer without a handler, which
    ends the process. No generator, whose end may come in a later block.
    """

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGALRM, self.interrupt)
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 0.5)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def interrupt(*_):
        raise KeyboardInterrupt


@needs_timers
@pytest.mark.parametrize("side", ["reading", "writing"])
def test_an_interrupt_ends_a_wait(side):
    """The lock is as if the thread had not come: a reader that waits behind its writer is let in."""
    gate, held, free, order = Gate(), threading.Event(), threading.Event(), []
    # A test before may have replaced it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def hold():
        with gate.writing() if side == "reading" else gate.reading():
            held.set()
            assert free.wait(PATIENCE)
            order.append("holder")

    def read():
        until_waiting(gate, 0, 1)
        with gate.reading():
            order.append("reader")

    def interrupt():
        until_waiting(gate, 1, 1 if side == "writing" else 0)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    with threads(hold), threads(interrupt, *([read] if side == "writing" else [])):
        assert held.wait(PATIENCE)
        with pytest.raises(KeyboardInterrupt), getattr(gate, side)():
            pass
        until_waiting(gate, 0, 0)
        while side == "writing" and not order:
            os.sched_yield()
        free.set()
    assert order == (["reader", "holder"] if side == "writing" else ["holder"])
    with gate.writing():
        pass


@needs_timers
def test_an_interrupt_leaves_nothing_locked():
    def insert(turn):
        with interrupts(0.001 + turn * 1e-6):
            for key in keys:
                index.insert(key, np.full(K, 7 + turn, np.uint64))

    index, keys = LSHIndex(num_perm=K, bands=2, rows_per_band=K // 2), count()
    for turn in range(100):
        with pytest.raises(KeyboardInterrupt):
            insert(turn)
        with threads(lambda: len(index)):
            pass

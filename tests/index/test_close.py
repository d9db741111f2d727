"""Closing, and writing a file anew, beside other threads: what was answered or taken stands, all else is refused."""

import gc
import threading
from contextlib import contextmanager
from types import FunctionType

import numpy as np
import pytest

from lshfast import LSHIndex
from lshfast._common import atomic_files
from lshfast.index.stores import file as file_store
from lshfast.index.stores import file_sections
from lshfast.index.stores import lmdb as lmdb_store
from lshfast.index.stores.segment import Segment
from lshfast.index.stores.segments import Segments
from lshfast.kernels.gate import Gate
from tests.index.index_files import held, posix, saved, shared, small
from tests.index.index_machine import SMALL
from tests.kernels.test_gate import PATIENCE, interrupts, needs_timers, threads

CLOSED = "the index (of .* )?is closed"

# All that may be asked or told; each has an answer while the index is open.
USES = {
    "len": len,
    "iter": list,
    "contains": lambda index: 1 in index,
    "insert one": lambda index: index.insert(1000, shared(1)[0]),
    "insert": lambda index: index.insert([1001], shared(1)),
    "insert nothing": lambda index: index.insert([], shared(0)),
    "remove": lambda index: index.remove([1]),
    "remove nothing": lambda index: index.remove([]),
    "merge": lambda index: index.merge(filled(small(), range(2000, 2003))),
    "merge into another": lambda index: small().merge(index),
    "query one": lambda index: index.query(shared(1)[0]),
    "query the best": lambda index: index.query(shared(1)[0], k=1),
    "query": lambda index: index.query(shared(2)),
    "pairs": lambda index: index.pairs(),
    "stats": lambda index: index.stats(),
    "items": lambda index: list(index.store.items()),
}


def filled(index, keys):
    index.insert(list(keys), shared(len(keys)))
    return index


class InMemory:
    """Nothing is left of it when it is closed."""

    def make(self, folder, keys):
        return filled(small(), keys)

    def kept(self, folder):
        return None


class InFile:
    """Half of the entries in the file, half of them not written yet."""

    def make(self, folder, keys):
        half = len(keys) // 2
        filled(small(), keys[:half]).save(folder / "index")
        return self.rest(LSHIndex.open(folder / "index", "r+"), keys, half)

    def rest(self, index, keys, half):
        index.insert(list(keys[half:]), shared(len(keys))[half:])
        return index

    def kept(self, folder):
        return sorted(held(folder / "index"))


class InLmdb(InFile):
    def make(self, folder, keys):
        pytest.importorskip(
            "lmdb", reason="lmdb cannot be imported: install lshfast[lmdb]"
        )
        index = LSHIndex(**SMALL, store=self.store(folder))
        half = len(keys) // 2
        return self.rest(filled(index, keys[:half]), keys, half)

    def store(self, folder):
        return lmdb_store.LmdbStore(folder / "lmdb", map_size=1 << 30, sync=False)

    def kept(self, folder):
        with LSHIndex.on(self.store(folder)) as index:
            index.verify()
            return sorted(index)


@pytest.fixture(params=[InMemory, InFile, InLmdb], ids=["memory", "file", "lmdb"])
def make(request, tmp_path):
    """Return what makes an index of some keys over one of the stores; `kept` tells the keys of one that was closed."""
    made, stage = [], request.param()

    def made_of(keys=range(20)):
        made.append(stage.make(tmp_path, keys))
        return made[-1]

    made_of.kept = lambda: stage.kept(tmp_path)
    yield made_of
    for index in made:
        index.store.abandon()


class HookedGate(Gate):
    """A gate that calls `left`, once, when a writer has let go of it."""

    left = None

    @contextmanager
    def _hooked(self):
        with super().writing():
            yield
        left, self.left = self.left, None
        if left is not None:
            left()

    def writing(self):
        return self._hooked()


def refused(call):
    """Tell whether a call is refused because the index is closed; any other error is raised."""
    try:
        call()
    except ValueError as error:
        if "closed" not in str(error):
            raise
        return True
    return False


# After a close


@pytest.mark.few_cases
@pytest.mark.parametrize("use", USES)
def test_a_closed_index_refuses_all(make, use):
    index = make()
    USES[use](index)
    index.close()
    index.close()
    with pytest.raises(ValueError, match=CLOSED):
        USES[use](index)
    assert repr(index).startswith("LSHIndex(closed, 3 bands")
    index.close()
    index.store.abandon()


def test_what_began_before_a_close(make):
    """What goes through the entries goes on as before, or is refused; it does not end early."""
    n = 20_000  # several batches
    index = make(range(n))
    keys, items = iter(index), index.store.items()
    first = next(keys), *next(items)[0].tolist()
    assert len(first) < n
    index.close()
    rest = []
    assert refused(lambda: rest.extend(keys)) or sorted([first[0], *rest]) == list(
        range(n)
    )
    rest = list(first[1:])
    assert refused(
        lambda: rest.extend(key for batch, _ in items for key in batch)
    ) or sorted(rest) == list(range(n))


# Insertions beside a close


@pytest.mark.parametrize("insert", ["insert one", "insert", "remove", "merge"])
def test_a_change_between_the_last_commit_and_the_end_of_a_close(tmp_path, insert):
    """Whenever a writer lets go, another may come: what it is told was done is in the file."""
    path = tmp_path / "index"
    saved(path)
    index = LSHIndex.open(path, "r+")
    index.insert(100, shared(1)[0])
    index.store.gate, late = HookedGate(), []
    index.store.gate.left = lambda: late.append(refused(lambda: USES[insert](index)))
    index.close()
    assert late == [True]
    assert sorted(held(path)) == [*range(20), 100]


@pytest.mark.one_case
def test_insertions_beside_a_close_are_kept_or_refused(make):
    rows, expected = shared(200), set()
    for turn in range(10):
        start = 1000 * turn
        index, under_way = make(range(start, start + 20)), threading.Barrier(3)
        expected = set(index)

        def insert(
            first, index=index, expected=expected, under_way=under_way, turn=turn
        ):
            def run():
                for place in range(200):
                    if place == turn:
                        under_way.wait(PATIENCE)
                    if refused(lambda: index.insert(first + place, rows[place])):  # noqa: B023 (called at once)
                        return
                    expected.add(first + place)

            return run

        with threads(insert(start + 100), insert(start + 500)):
            under_way.wait(PATIENCE)
            index.close()
        assert make.kept() in (None, sorted(expected))


def test_a_close_whose_commit_fails(tmp_path, monkeypatch):
    """Nothing is lost: the index is open, and may be closed again."""
    path = tmp_path / "index"
    saved(path)
    index = LSHIndex.open(path, "r+")
    index.insert(100, shared(1)[0])
    with monkeypatch.context() as patched:
        patched.setattr(
            file_sections, "sync", failing(OSError(28, "No space left on device"))
        )
        with pytest.raises(OSError, match="No space left"):
            index.close()
    assert sorted(index) == [*range(20), 100]
    index.insert(101, shared(1)[0])
    index.close()
    assert sorted(held(path)) == [*range(20), 100, 101]


def test_an_insertion_that_a_close_meets(make, monkeypatch):
    """The close waits for it; what it put in its place is not touched meanwhile."""
    index, inside, closing, done = make(), threading.Event(), threading.Event(), []
    room_for = Segments._growing_for  # of LMDB, too

    def slow(*arguments):
        inside.set()
        closing.wait(PATIENCE)
        return room_for(*arguments)

    monkeypatch.setattr(Segments, "_growing_for", slow)

    def close():
        assert inside.wait(PATIENCE)
        closing.set()
        index.close()
        done.append("closed")

    with threads(close):
        if not refused(lambda: index.insert([100], shared(1))):
            done.append("inserted")
    assert "closed" in done
    assert refused(lambda: len(index))
    assert make.kept() in (None, [*range(20), *[100] * ("inserted" in done)])


def test_two_threads_close(make):
    index, meeting = make(), threading.Barrier(4)

    def close():
        meeting.wait(PATIENCE)
        index.close()

    with threads(*[close] * 4):
        pass
    assert refused(lambda: len(index))


@needs_timers
def test_a_close_after_interrupts(make):
    """Whatever was interrupted, and however long its error is kept, nothing that a close waits for is left locked."""

    def use():
        index.query(shared(1)[0])
        index.query(shared(2), k=1)
        items = index.store.items()
        next(items)
        items.close()

    def ask(turn):
        with interrupts(0.001 + turn * 1e-6):
            while True:
                use()

    index, caught = make(), []
    use()  # an interrupted import leaves files open
    for turn in range(100):
        with pytest.raises(KeyboardInterrupt) as error:
            ask(turn)
        caught.append(error)
    with threads(index.close):
        pass
    assert len(caught) == 100


# Queries beside a close

ASKED = {
    "query one": lambda index: index.query(shared(1)[0]),
    "query the best": lambda index: index.query(shared(1)[0], k=3),
    "query": lambda index: [list(found) for found in index.query(shared(5), threads=1)],
    "len": len,
    "iter": list,
    "contains one": lambda index: 15 in index,
    "contains": lambda index: index.store.contains(np.array([15, -1])).tolist(),
    "items": lambda index: [
        batch.tolist() for keys_rows in index.store.items() for batch in keys_rows
    ],
    "pairs": lambda index: sorted(index.pairs()),
    "stats": lambda index: index.stats(),
}


@pytest.mark.few_cases
@pytest.mark.parametrize("asked", ASKED)
def test_answers_beside_a_close(make, asked):
    """Each is that of before, or refused: none is of a part of the entries."""
    ask = ASKED[asked]
    for turn in range(6):
        index = make(range(100 * turn, 100 * turn + 20))
        if asked.startswith("contains"):
            index.insert(15, shared(1)[0]) if 15 not in index else None
        if hasattr(index.store, "commit"):
            index.commit()
        expected, under_way = ask(index), threading.Barrier(5)

        def read(index=index, expected=expected, under_way=under_way):
            answers = []
            under_way.wait(PATIENCE)
            while not refused(lambda: answers.append(ask(index))):
                assert answers.pop() == expected
            with pytest.raises(ValueError, match=CLOSED):
                ask(index)

        with threads(*[read] * 4):
            under_way.wait(PATIENCE)
            index.close()


@pytest.mark.few_cases
@pytest.mark.parametrize("asked", ["query", "contains", "items"])
def test_a_close_in_the_middle_of_an_answer(make, monkeypatch, asked):
    """What an answer is read from stays until it is given."""
    index = make(range(20_000) if asked == "items" else range(20))
    expected = ASKED[asked](index)
    inside = threading.Event()
    closed = threading.Event()
    found = []
    name = "contains" if asked == "contains" else "query"
    monkeypatch.setattr(Segments, name, paused(getattr(Segments, name), inside, closed))
    monkeypatch.setattr(Segment, "names_of", paused(Segment.names_of, inside, closed))

    def ask():
        if refused(lambda: found.append(ASKED[asked](index))):
            found.append("refused")

    def close():
        assert inside.wait(PATIENCE)
        index.close()
        closed.set()

    with threads(ask, close):
        pass
    assert found in ([expected], ["refused"])
    assert found == [expected] or asked == "items"


def paused(function, inside, closed):
    """Return a function that gives a close time to come to its end, if it does not wait for this to end."""

    def run(*arguments):
        if not inside.is_set():
            inside.set()
            closed.wait(0.3)
        return function(*arguments)

    return run


# Files that cannot be opened again


def failing(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    "error",
    [OSError(24, "Too many open files"), KeyboardInterrupt()],
    ids=["error", "interrupt"],
)
@pytest.mark.parametrize("where", ["open", "lock", "newest"])
def test_a_file_that_cannot_be_opened_again(tmp_path, monkeypatch, where, error):
    """It was written: nothing is lost, and nothing is answered from what is left of it in memory."""
    path = tmp_path / "index"
    saved(path)
    index = LSHIndex.open(path, "r+")
    index.insert(100, shared(1)[0])
    index.remove(3)
    with monkeypatch.context() as patched:
        patched.setattr(
            file_sections if where == "lock" else file_store,
            where,
            failing(error),
            raising=False,
        )
        with pytest.raises(type(error)):
            index.compact()
    for use in USES.values():
        with pytest.raises(ValueError, match=CLOSED):
            use(index)
    for use in (
        index.commit,
        index.compact,
        index.verify,
        lambda: index.save(tmp_path / "copy"),
    ):
        with pytest.raises(ValueError, match=CLOSED):
            use()
    index.close()
    assert sorted(held(path)) == sorted({*range(20), 100} - {3})
    LSHIndex.open(path, "r+").close()  # nobody has its lock


@posix
def test_a_query_beside_a_file_that_cannot_be_opened_again(tmp_path, monkeypatch):
    path = tmp_path / "index"
    opening = threading.Event()
    asked = threading.Event()
    found = []
    saved(path)
    index = LSHIndex.open(path, "r+")
    index.insert(100, shared(1)[0])

    def reopen(verify):
        opening.set()
        assert asked.wait(PATIENCE)
        raise OSError(24, "Too many open files")

    def ask():
        assert opening.wait(PATIENCE)
        asked.set()
        found.extend(refused(lambda ask=ask: ask(index)) for ask in ASKED.values())

    monkeypatch.setattr(index.store, "_open", reopen)
    with threads(ask), pytest.raises(OSError, match="Too many open files"):
        index.compact()
    assert found == [True] * len(ASKED)


@posix
def test_a_compaction_that_fails_when_the_new_file_has_its_name(tmp_path, monkeypatch):
    """What is inserted afterwards goes to the file of that name, not to the one that it took the place of."""
    path, rename = tmp_path / "index", atomic_files._rename
    saved(path)
    index = LSHIndex.open(path, "r+")
    index.insert(100, shared(1)[0])

    def late(*arguments):
        rename(*arguments)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(atomic_files, "_rename", late)
        with pytest.raises(OSError, match="Input/output error"):
            index.compact()
    assert sorted(index) == [*range(20), 100]
    index.insert(101, shared(1)[0])
    index.commit()
    assert sorted(held(path)) == [*range(20), 100, 101]
    index.close()


def test_a_compaction_that_fails_before_leaves_the_index_as_it_was(
    tmp_path, monkeypatch
):
    path = tmp_path / "index"
    expected = saved(path)
    index = LSHIndex.open(path, "r+")
    index.insert(100, shared(1)[0])
    with monkeypatch.context() as patched:
        patched.setattr(
            atomic_files, "_rename", failing(OSError(28, "No space left on device"))
        )
        with pytest.raises(OSError, match="No space left"):
            index.compact()
    assert held(path).keys() - {100} == expected.keys()
    assert sorted(index) == [*range(20), 100]
    index.close()
    assert sorted(held(path)) == [*range(20), 100]


@pytest.mark.slow
@posix
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_rows_of_a_closed_file_do_not_keep_it_locked(tmp_path):
    """Python may lose a reference to them where memory is refused."""
    path = tmp_path / "index"
    expected = saved(path)
    index = LSHIndex.open(path, "r+")
    rows = index.store.segments.fixed[0]
    del index  # without `close`, as after one that failed
    gc.collect()
    with LSHIndex.open(path, "r+") as index:
        assert sorted(index) == sorted(expected)
    assert len(rows) == len(expected)


def test_no_method_of_a_file_shares_its_variables_with_a_function():
    """If memory is refused for these, Python loses the reference to the file."""
    codes = [
        method.__code__
        for method in vars(file_store.FileStore).values()
        if isinstance(method, FunctionType)
    ]
    assert len(codes) > 20
    assert [code.co_name for code in codes if code.co_cellvars] == []

"""Batches that are interrupted at any place: the index is as before, or as after, and goes on from there."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from lshfast import LSHForest, LSHIndex
from tests.index.index_files import content, held, shared, small
from tests.index.index_machine import SMALL
from tests.interrupts import interrupted, places
from tests.shares import share_of

pytestmark = pytest.mark.slow

MOST = 60  # places of a call that are tried
# In the weekly tests, some lie in the few lines that release the lock of a hidden file.
MOST_OF_FILES = share_of(300)

OLD, OLD_ROWS = list(range(12)), shared(12)
NEW, NEW_ROWS = [3, 20, 7, 21, 20, 22, 3, 23], shared(8, seed=1)


@dataclass(frozen=True, eq=False)
class Name:
    """A key whose methods are Python functions, which may be interrupted, too."""

    number: int

    def __hash__(self):
        return hash(self.number % 5)

    def __eq__(self, other):
        return isinstance(other, Name) and self.number == other.number

    def __lt__(self, other):
        return self.number < other.number


KEYS = {"int": int, "str": str, "name": Name}


def change(act, key_of):
    """Return what changes an index by one batch."""
    if act == "error":
        batch = [key_of(key + 100) for key in range(8)]
        return lambda index: index.insert(batch, NEW_ROWS)
    if act == "remove":
        batch = [key_of(key) for key in (11, 2, 5, 2)]
        return lambda index: index.remove(batch)
    batch = [key_of(key) for key in NEW]
    return lambda index: index.insert(batch, NEW_ROWS)


def filled(key_of, act):
    index = small(on_duplicate=act if act in ("skip", "replace") else "error")
    index.insert([key_of(key) for key in OLD], OLD_ROWS)
    return index


def check(index, states):
    """Check that an index holds one of these states and answers like it; return it."""
    found = content(index)
    assert found in states
    other = small()
    other.insert(list(found), np.array(list(found.values()), np.uint64))
    queries = np.concatenate([OLD_ROWS, NEW_ROWS])
    assert list(index.query(queries, threshold=0)) == list(
        other.query(queries, threshold=0)
    )
    assert all(key in index for key in found)
    assert len(index) == len(found)
    return found


def check_use(index, key):
    """Check that an index can be changed and read, by this thread and by another."""
    before = content(index)
    index.insert(key, OLD_ROWS[0])
    index.remove(key)
    thread = threading.Thread(target=lambda: len(index))
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert content(index) == before


@pytest.mark.parametrize("act", ["error", "skip", "replace", "remove"])
@pytest.mark.parametrize("kind", KEYS)
def test_in_memory(tmp_path, kind, act):
    key_of, run = KEYS[kind], change(act, KEYS[kind])
    index = filled(key_of, act)
    before = content(index)
    count, _ = interrupted(lambda: run(index), 0)
    after = content(index)
    assert before != after
    met = []
    for turn, place in enumerate(places(count, MOST)):
        index = filled(key_of, act)
        _, raised = interrupted(lambda index=index: run(index), place)
        # The number of places varies a little.
        found = check(index, [before, after] if raised else [after])
        met += [found == before] * raised
        check_use(index, key_of(1000))
        if kind != "name" and turn % 8 == 0:
            index.save(tmp_path / "index")
            assert held(tmp_path / "index") == found
    assert met == sorted(met, reverse=True)  # from some place on the batch is there
    assert met[0]


@pytest.mark.parametrize("act", ["error", "skip", "replace", "remove"])
@pytest.mark.parametrize("kind", ["int", "str"])
def test_in_a_file(tmp_path, kind, act):
    """Some of the keys are in the file, others are new in memory."""
    path, key_of, run = tmp_path / "index", KEYS[kind], change(act, KEYS[kind])
    index = filled(key_of, act)
    index.remove([key_of(key) for key in range(6)])
    index.save(path)

    def opened():
        index = LSHIndex.open(
            path, "r+", on_duplicate=act if act in ("skip", "replace") else "error"
        )
        index.insert([key_of(key) for key in range(6)], OLD_ROWS[:6])
        return index

    whole, index = path.read_bytes(), opened()
    before = content(index)
    count, _ = interrupted(lambda: run(index), 0)
    after = content(index)
    index.store.abandon()
    for place in places(count, MOST // 2):
        path.write_bytes(whole)
        with opened() as index:
            interrupted(lambda index=index: run(index), place)
            found = check(index, [before, after])
            check_use(index, key_of(1000))
        assert held(path) == found


@pytest.mark.one_case
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a file that had just been opened
@pytest.mark.parametrize("act", ["commit", "compact", "close", "save"])
def test_files_written(tmp_path, act):
    path = tmp_path / "index"
    index = filled(int, "replace")
    index.save(path)
    whole, old = path.read_bytes(), content(index)

    def opened():
        index = LSHIndex.open(path, "r+", on_duplicate="replace")
        index.insert(NEW, NEW_ROWS)
        index.remove([2, 5])
        return index

    def run(index):
        return (
            index.save(path.with_name("other"))
            if act == "save"
            else getattr(index, act)()
        )

    index = opened()
    new = content(index)
    count, _ = interrupted(lambda: run(index), 0)
    index.store.abandon()
    for place in places(count, MOST_OF_FILES):
        path.write_bytes(whole)
        index = opened()
        interrupted(lambda index=index: run(index), place)
        assert held_by_reader(path) in (old, new)
        if (
            index.store.closed
        ):  # it ended in the middle of opening the new file, or of closing
            index.store.abandon()
            continue
        assert check(index, [new]) == new
        check_use(index, 1000)
        index.close()
        assert held(path) == new


def held_by_reader(path):
    """Return what a file holds, one header of which may be that of the state before."""
    with LSHIndex.open(path, verify=True) as index:
        return content(index)


def test_an_array_that_is_kept_is_read_only(tmp_path):
    """Wherever the insertion was interrupted: nobody can write to what the index holds."""
    signatures = np.zeros((9000, 8), np.uint64)
    count, _ = interrupted(
        lambda: small().insert(np.arange(9000), signatures.copy(), copy=False), 0
    )
    for place in places(count, MOST):
        index, own = small(), signatures.copy()
        interrupted(
            lambda index=index, own=own: index.insert(np.arange(9000), own, copy=False),
            place,
        )
        assert len(index) in (0, 9000)
        assert len(index) == 0 or not own.flags.writeable


@pytest.mark.parametrize("act", ["error", "skip", "replace", "remove"])
def test_in_lmdb(tmp_path, act):
    pytest.importorskip("lmdb")
    from lshfast.index.stores.lmdb import LmdbStore

    mode, run = act if act in ("skip", "replace") else "error", change(act, int)
    with LSHIndex(
        **SMALL, on_duplicate=mode, store=LmdbStore(tmp_path, sync=False)
    ) as index:
        index.insert(OLD, OLD_ROWS)
        before = content(index)
        count, _ = interrupted(lambda: run(index), 0)
        after = content(index)
        for place in places(count, MOST // 3):
            index.remove(list(index))
            index.insert(OLD, OLD_ROWS)
            interrupted(lambda: run(index), place)
            check(index, [before, after])
            check_use(index, 1000)
        index.verify()


@pytest.mark.parametrize("act", ["error", "skip", "replace", "remove"])
@pytest.mark.parametrize("n", [12, 400])
def test_in_a_forest(n, act):
    """The entries of LSHForest and LSHEnsemble, loose or in sorted runs."""
    mode, run = act if act in ("skip", "replace") else "error", change(act, int)
    rows = shared(n, values=9)
    rows[:12] = OLD_ROWS

    def grown():
        forest = LSHForest(8, trees=4, on_duplicate=mode)
        forest.insert([*OLD, *range(1000, 988 + n)], rows)
        return forest

    def answers(forest):
        if (
            n > 100
        ):  # of many, a query finds the nearest only with some probability, but what equals it always
            return [
                match.similarity == 1
                for matches in forest.query(rows[:12], 1)
                for match in matches
            ]
        return list(forest.query(np.concatenate([rows, NEW_ROWS]), n))

    forest = grown()
    before = sorted(forest), answers(forest)
    count, _ = interrupted(lambda: run(forest), 0)
    after = sorted(forest), answers(forest)
    assert before != after
    for place in places(count, MOST // 2):
        forest = grown()
        interrupted(lambda forest=forest: run(forest), place)
        assert (sorted(forest), answers(forest)) in (before, after)
        whole = (
            after
            if len(forest) == len(after[0]) and answers(forest) == after[1]
            else before
        )
        forest.insert(10**6, OLD_ROWS[0])
        forest.remove(10**6)
        assert (sorted(forest), answers(forest)) == whole

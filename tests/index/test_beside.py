"""What goes over all entries, while others come and go between one batch and the next."""

import threading

import numpy as np
import pytest

from lshfast import LSHIndex
from tests.index.index_files import content, held, posix, saved, shared, small
from tests.kernels.test_gate import PATIENCE, threads

N = 20_000  # three batches
NAMES = {"int": int, "str": "key {}".format, "object": lambda i: (i, "key")}


def numbered(numbers, turn=0):
    """Return signatures that tell their numbers, and how often they were replaced."""
    rows = np.repeat(np.asarray(numbers, np.uint64)[:, np.newaxis], 8, axis=1)
    rows[:, 0] = turn
    return rows


def keys_of(kind, numbers):
    return [NAMES[kind](int(i)) for i in numbers]


@pytest.fixture(
    params=["memory int", "memory str", "memory object", "file int", "file str"]
)
def large(request, tmp_path):
    """Return an index of N entries, of a file some in it and some not yet, and the kind of its keys."""
    where, kind = request.param.split()
    index = small(on_duplicate="replace")
    if where == "file":
        index.insert(keys_of(kind, range(N // 2)), numbered(range(N // 2)))
        index.save(tmp_path / "index")
        index = LSHIndex.open(tmp_path / "index", "r+", on_duplicate="replace")
        index.insert(
            keys_of(kind, range(N // 2, 3 * N // 4)),
            numbered(range(N // 2, 3 * N // 4)),
        )
        index.commit()
        index.insert(
            keys_of(kind, range(3 * N // 4, N)), numbered(range(3 * N // 4, N))
        )
    else:
        index.insert(keys_of(kind, range(N)), numbered(range(N)))
    yield index, kind
    index.store.abandon()


def change(index, kind):
    """Remove some of all entries, replace others, and insert some; return the numbers of each."""
    numbers = np.random.default_rng(1).permutation(N)
    removed = numbers[: N // 3]
    replaced = numbers[N // 3 : 2 * N // 3]
    new = range(N, N + N // 2)
    index.remove(keys_of(kind, removed))
    index.insert(keys_of(kind, replaced), numbered(replaced, 1))
    index.insert(keys_of(kind, new), numbered(new))
    return set(removed.tolist()), set(replaced.tolist()), set(new)


@pytest.mark.few_cases
@pytest.mark.parametrize("then", ["nothing", "commit", "compact"])
def test_items_beside_changes(large, then):
    """Each entry that stays comes once, with a signature that it had; none comes that was gone before its batch."""
    index, kind = large
    number_of = {key: i for i, key in enumerate(keys_of(kind, range(2 * N)))}
    given, first = [], 0
    for keys, rows in index.store.items():
        assert len(keys) == len(rows) > 0
        listed = keys.tolist() if isinstance(keys, np.ndarray) else keys
        given += [
            (number_of[key], *row)
            for key, row in zip(listed, rows[:, :2].tolist(), strict=True)
        ]
        if not first:
            first = len(given)
            removed, replaced, new = change(index, kind)
            if then != "nothing":
                getattr(index, then)()
    numbers = [number for number, _, _ in given]
    assert 0 < first < len(given)
    assert len(set(numbers)) == len(numbers)
    assert set(range(N)) - removed <= set(numbers) <= set(range(N)) | new
    assert not removed & set(numbers[first:])
    for place, (number, turn, slot) in enumerate(given):
        assert slot == number
        assert turn == (place >= first and number in replaced)


@pytest.mark.one_case
@pytest.mark.parametrize("then", ["nothing", "commit", "compact"])
def test_keys_beside_changes(large, then):
    index, kind = large
    keys = iter(index)
    given = [next(keys)]
    removed, _, new = change(index, kind)
    if then != "nothing":
        getattr(index, then)()
    given += keys
    assert len(set(given)) == len(given)
    assert (
        set(keys_of(kind, set(range(N)) - removed))
        <= set(given)
        <= set(keys_of(kind, set(range(N)) | new))
    )


@pytest.mark.one_case
def test_merge_beside_changes(large):
    """An entry that is replaced in one index meanwhile is in the other all the same."""
    index, kind = large
    other, insert, turns = small(on_duplicate="skip"), [], []

    def beside(*arguments, **options):
        if not turns:
            turns.append(change(index, kind))
        return insert[0](*arguments, **options)

    insert.append(other.store.insert)
    other.store.insert = beside
    other.merge(index)
    removed, _, _ = turns[0]
    assert set(keys_of(kind, set(range(N)) - removed)) <= set(other)


def test_pairs_beside_changes():
    """Keys that do not compare stand in the order in which they are met; those that came or went have a place too."""
    index, rows = small(), np.full((12, 8), 7, np.uint64)
    keys = [(i, str) if i % 2 else i for i in range(10)]
    index.insert(keys, rows[:10])
    query = index.store.query

    def beside(*arguments, **options):
        index.store.query = query
        index.insert([(10, str), "eleven"], rows[10:])
        index.remove([2])
        found = query(*arguments, **options)
        index.insert(2, rows[0])
        index.remove([(10, str)])
        return found

    index.store.query = beside
    pairs = {frozenset(pair[:2]) for pair in index.pairs(0.5)}
    stayed = [key for key in keys if key != 2]
    assert all(frozenset([a, b]) in pairs for a in stayed for b in stayed if a != b)


@posix
def test_answers_while_a_file_is_written_anew(tmp_path, monkeypatch):
    """None is of what is left in memory while the file is let go of."""
    path = tmp_path / "index"
    opening = threading.Event()
    asked = threading.Event()
    found = []
    saved(path)
    with LSHIndex.open(path, "r+") as index:
        index.insert(100, shared(1)[0])
        again, expected = index.store._open, content(index)

        def reopen(verify):
            opening.set()
            assert asked.wait(PATIENCE)
            again(verify)

        def ask(question):
            def run():
                assert opening.wait(PATIENCE)
                waiting.wait(PATIENCE)
                found.append(question())

            return run

        questions = [
            lambda: len(index), lambda: len(list(index)), lambda: len(content(index)), lambda: index.stats().entries,
            lambda: len([key for key in [*range(20), 100] if key in index]),
        ]  # fmt: skip
        waiting = threading.Barrier(len(questions) + 1, action=lambda: None)

        def release():
            assert opening.wait(PATIENCE)
            waiting.wait(PATIENCE)
            asked.wait(0.2)  # those that do not wait for the file are through by then
            asked.set()

        monkeypatch.setattr(index.store, "_open", reopen)
        with threads(*map(ask, questions), release):
            index.compact()
        assert found == [21] * len(questions)
        sizes = index.stats().store
    assert held(path) == expected
    assert sizes["file size"] == path.stat().st_size

"""Saved indexes: round trips, many states of one file, readers beside a writer, locks, paths."""

import math
import os
import re
import stat
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from lshfast import LSHIndex, MinHasher, TokenSets
from lshfast._common.errors import FormatError
from lshfast.index.stores import file as file_store
from lshfast.index.stores import file_sections
from lshfast.index.stores.file import FileStore
from tests.index.index_files import content, held, posix, python, saved, shared, small
from tests.index.index_machine import SMALL, IndexMachine, Stage, array_of, run
from tests.index.index_model import IndexModel, check_answer
from tests.kernels.test_gate import child
from tests.reference import index_file

# Beside the model


class InFile(Stage):
    """In a file that is open for writing."""

    kinds = ("int", "uint", "str")
    exact_stats = False

    def __init__(self, folder):
        self.folder = folder

    def make(self):
        path = Path(tempfile.mkdtemp(dir=self.folder)) / "index"
        small().save(path)
        return LSHIndex.open(path, "r+")

    def renew(self, index):
        index.close()
        return LSHIndex.open(index.store.path, "r+")

    def close(self, index):
        index.store.abandon()


class FileMachine(IndexMachine):
    """What a file can do beyond all stores; a reader that was opened keeps its state, whatever the writer does."""

    def begin_file(self):
        if not hasattr(self, "committed"):
            self.committed, self.reader, self.seen = IndexModel(**SMALL), None, None

    def teardown(self):
        if getattr(self, "reader", None) is not None:
            self.reader.close()
        super().teardown()

    @rule()
    def renew(self):
        self.begin_file()
        super().renew()
        self.committed = self.model.copy()

    @rule()
    def commit(self):
        self.begin_file()
        self.index.commit()
        self.committed = self.model.copy()
        self.index.verify()

    @rule()
    def compact(self):
        self.begin_file()
        self.index.compact()
        self.committed = self.model.copy()
        assert self.index.store.stats()["segments"] <= 1
        self.index.verify()

    @rule()
    def abandon(self):
        self.begin_file()
        self.index.store.abandon()
        self.index, self.model = (
            LSHIndex.open(self.index.store.path, "r+", verify=True),
            self.committed.copy(),
        )

    @rule()
    def look(self):
        self.begin_file()
        if self.reader is not None:
            self.reader.close()
        self.reader, self.seen = (
            LSHIndex.open(self.index.store.path),
            self.committed.copy(),
        )

    @precondition(lambda self: getattr(self, "reader", None) is not None)
    @invariant()
    def the_reader_sees_its_state(self):
        assert content(self.reader) == self.seen.entries

    @precondition(lambda self: getattr(self, "reader", None) is not None)
    @rule(
        rows=st.lists(st.lists(st.integers(0, 2), min_size=8, max_size=8), max_size=3)
    )
    def ask_the_reader(self, rows):
        for row, answer in zip(
            rows, self.reader.query(array_of(rows), k=3), strict=True
        ):
            check_answer(answer, self.seen, row, 3)

    @invariant()
    def is_what_the_page_says(self):
        self.begin_file()
        file = index_file.read(Path(self.index.store.path).read_bytes())
        assert file.entries() == self.committed.entries
        assert all(file.has(key) for key in self.committed.entries)
        for row in list(self.committed.entries.values())[:2]:
            assert file.candidates(row) == self.committed.query(row)


@pytest.mark.slow
@posix
def test_beside_the_model(tmp_path):
    run(InFile(tmp_path), FileMachine, examples=50)


# Round trips


@pytest.mark.parametrize(
    "key_of", [int, str, lambda i: -i, lambda i: f"clé {i}\0", lambda i: 2**63 - 1 - i]
)
@pytest.mark.parametrize("n", [0, 1, 2, 300])
def test_what_was_saved_is_opened(tmp_path, key_of, n):
    path = tmp_path / "index"
    expected = saved(path, n, key_of)
    assert held(path) == expected
    with LSHIndex.open(path) as index:
        model = IndexModel(**SMALL, entries=expected)
        for query in shared(10, seed=5):
            assert index.query(query) == model.query(query)
            assert index.query(query, k=3) == model.query(query, 3)
        assert sorted(index) == sorted(expected)
        assert all(key in index for key in expected)
        figures = index.stats()
        assert figures.store["file size"] == path.stat().st_size
        assert (figures.entries, figures.nbytes > 0) == (n, n > 0)


@pytest.mark.parametrize(
    "options",
    [
        {
            "scheme": "classic",
            "seed": 2**64 - 1,
            "threshold": 0.1 + 0.2,
            "shingles": "sixteen letters!",
        },
        {"seed": 0, "threshold": 1.0, "shingles": "char:9"},
    ],
)
def test_parameters_are_saved(tmp_path, options):
    index = small(**options)
    index.save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index", on_duplicate="skip") as again:
        assert again.parameters == index.parameters
        assert (again.hasher, again.bands, again.on_duplicate) == (
            index.hasher,
            index.bands,
            "skip",
        )
    expected = {
        **SMALL,
        "scheme": "fast",
        "family": "",
        "payload": 0,
        "measure": "",
        **options,
    }
    assert index_file.read((tmp_path / "index").read_bytes()).parameters == expected


def test_an_index_on_a_file(tmp_path):
    """A file may be given as a store; what it holds decides, and another index does not lie on it."""
    path = tmp_path / "index"
    expected = saved(path, shingles="word:5")
    with LSHIndex(
        **SMALL, shingles="word:5", threshold=0.5, store=FileStore(path, "r+")
    ) as index:
        assert content(index) == expected
        assert index.parameters.threshold == 0.8  # that of the file
        index.insert(100, shared(1)[0])
    store = FileStore(path)
    with pytest.raises(ValueError, match="shingles is 'word:5' in this index, not ''"):
        LSHIndex(**SMALL, store=store)
    store.close()
    with LSHIndex.on(FileStore(path), on_duplicate="skip") as index:
        assert set(index) == {*expected, 100}


def test_signatures_of_texts(tmp_path):
    hasher = MinHasher()
    signatures = hasher.sketch(
        TokenSets.from_sets([range(0, 100), range(5, 100), range(1000, 1100), []])
    )
    index = LSHIndex(threshold=0.7)
    index.insert(["a", "b", "c", "none"], signatures)
    index.save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index") as again:
        assert list(again.query(signatures)) == [["a", "b"], ["a", "b"], ["c"], []]
        assert list(again.pairs()) == list(index.pairs())
        with pytest.raises(ValueError, match="signatures are of seed 2"):
            again.query(MinHasher(seed=2).sketch(TokenSets.from_sets([["a"]])))


def test_a_large_file(tmp_path):
    """More rows than a block of memory and than a piece of work, in several parts."""
    path, n = tmp_path / "index", 20_000
    entries = shared(n, values=30)
    index = small()
    index.insert(np.arange(n), entries)
    index.save(path)
    queries = shared(100, values=30, seed=1)
    expected = list(index.query(queries, k=10))
    with LSHIndex.open(path, "r+", on_duplicate="replace") as again:
        assert list(again.query(queries, k=10)) == expected
        again.compact()  # of what is one part already
        assert list(again.query(queries, k=10)) == expected
        again.insert(np.arange(0, n, 3), entries[::3])
        again.commit()
        assert list(again.query(queries, k=10)) == expected
        again.save(tmp_path / "copy")
        again.remove(range(n // 2, n))
        again.compact()
        assert sorted(again) == list(range(n // 2))
    for place in (path, tmp_path / "copy"):
        with LSHIndex.open(place, verify=True) as again:
            again.verify()
            assert sorted(again)[:5] == [0, 1, 2, 3, 4]
    with LSHIndex.open(tmp_path / "copy") as again:
        assert list(again.query(queries, k=10)) == expected


def test_a_file_that_was_opened_is_saved_elsewhere(tmp_path):
    for key_of in (int, str):
        expected = saved(tmp_path / "one", 30, key_of)
        with LSHIndex.open(tmp_path / "one", "r+") as index:
            index.save(tmp_path / "two")
            assert held(tmp_path / "two") == expected
            index.insert(key_of(100), shared(1)[0])
            index.remove(key_of(3))
            index.save(tmp_path / "two")
            assert held(tmp_path / "one") == expected
            assert held(tmp_path / "two") == content(index) != expected


@pytest.mark.skipif(
    not os.path.exists("/proc/self/maps"), reason="tells by /proc what is open"
)
@pytest.mark.parametrize("act", ["save", "compact"])
def test_a_file_is_let_go_of_before_it_is_replaced_where_that_is_needed(
    tmp_path, monkeypatch, act
):
    """As on Windows; when it cannot be replaced, nothing is lost."""
    path, replace = tmp_path / "index", os.replace
    expected = saved(path, 30)
    monkeypatch.setattr(file_store, "OPEN_FILES_STAY", True)
    for fails in (True, False):

        def careful(hidden, real, fails=fails):
            assert str(path) not in Path("/proc/self/maps").read_text()
            assert str(path) not in [
                os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()
            ]
            if fails:
                raise PermissionError(13, "it is open elsewhere")
            replace(hidden, real)

        monkeypatch.setattr(os, "replace", careful)
        index = LSHIndex.open(path, "r+") if act == "compact" else small()
        index.insert([100 + fails], shared(1))
        if act == "compact":
            index.remove(3 + fails)
        if fails:
            with pytest.raises(PermissionError, match=re.escape(str(path))):
                getattr(index, act)(*[path] * (act == "save"))
        else:
            getattr(index, act)(*[path] * (act == "save"))
        seen = content(index)
        index.close()
        assert list(tmp_path.iterdir()) == [path]
        assert held(path) == (expected if fails and act == "save" else seen)
    assert set(seen) == ({*range(30), 100, 101} - {3, 4} if act == "compact" else {100})


@posix
def test_a_reader_may_save_over_what_it_reads(tmp_path):
    expected = saved(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index") as index:
        index.save(tmp_path / "index")
        assert content(index) == held(tmp_path / "index") == expected


@pytest.mark.parametrize(
    "keys", [[(1, 2)], [1, "a"], [-1, 2**63], [2**64], [b"a"], [0.5], ["a", 1]]
)
def test_keys_that_no_file_holds(tmp_path, keys):
    index = small()
    index.insert(keys, shared(len(keys)))
    with pytest.raises(
        TypeError,
        match="only an index whose keys are all ints of 64 bits, or all strs, can be saved",
    ):
        index.save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []
    assert set(index) == set(keys)


@pytest.mark.parametrize("first", [[], [1, 2], ["a", "b"]])
@pytest.mark.parametrize("keys", [[(1, 2)], [5, "c"], [2**64], [b"a"], "other"])
def test_keys_that_a_file_does_not_take(tmp_path, first, keys):
    index = small()
    index.insert(first, shared(len(first)))
    index.save(tmp_path / "index")
    if keys == "other":
        keys = {"[]": [1.5], "[1, 2]": ["x"], "['a', 'b']": [7]}[str(first)]
    with LSHIndex.open(tmp_path / "index", "r+") as index:
        for _ in range(2):
            with pytest.raises(
                TypeError, match=r"(are|must be all) (ints of 64 bits|str)"
            ):
                index.insert(keys, shared(len(keys)))
            assert list(index) == first
            assert not any(key in index for key in keys)
            with pytest.raises(KeyError):
                index.remove(keys)
        index.commit()
    assert list(held(tmp_path / "index")) == first


def test_kinds_do_not_mix_before_a_commit_either(tmp_path):
    small().save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index", "r+") as index:
        index.insert(1, shared(1)[0])
        with pytest.raises(
            TypeError, match="the keys of this index are ints of 64 bits"
        ):
            index.insert("a", shared(1)[0])
        index.remove(1)
        index.insert("a", shared(1)[0])  # of an empty index, keys may be of either kind
    assert list(held(tmp_path / "index")) == ["a"]
    with LSHIndex.open(tmp_path / "index", "r+") as index:
        index.remove("a")
        index.commit()
        index.insert([3], shared(1))
    assert list(held(tmp_path / "index")) == [3]


# States of a file


def test_the_context_commits_unless_it_fails(tmp_path):
    path = tmp_path / "index"
    expected = saved(path)

    def fail(index):
        index.insert(100, shared(1)[0])
        index.remove(3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), LSHIndex.open(path, "r+") as index:
        fail(index)
    assert held(path) == expected
    with LSHIndex.open(path, "r+") as index:
        index.insert(100, shared(1)[0])
    assert set(held(path)) == {*expected, 100}


def test_nothing_is_written_where_nothing_changed(tmp_path):
    path = tmp_path / "index"
    saved(path)
    for change in (
        lambda index: None,
        lambda index: index.insert([50, 51], shared(2)),
        lambda index: index.remove(3),
    ):
        with LSHIndex.open(path, "r+") as index:
            change(index)
        before = path.read_bytes()
        with LSHIndex.open(path, "r+") as index:
            index.commit()
            index.insert([], shared(0))
            index.insert(99, shared(1)[0])
            index.remove(99)
        assert path.read_bytes() == before


@pytest.mark.slow
def test_many_small_commits_make_few_parts(tmp_path):
    path = tmp_path / "index"
    small().save(path)
    entries = shared(200, values=5)
    written = 0
    with LSHIndex.open(path, "r+") as index:
        for i, entry in enumerate(entries):
            before = path.stat().st_size
            index.insert(i, entry)
            index.commit()
            written += path.stat().st_size - before
            assert index.stats().store["segments"] <= 4 * math.log2(i + 2) + 1
        assert sorted(index) == list(range(200))
        model = IndexModel(**SMALL, entries=content(index))
        for query in entries[:20]:
            assert index.query(query, k=7) == model.query(query, 7)
        assert index_file.read(path.read_bytes()).state == 201
        waste = index.stats().store["file waste"]
        assert written / 2 < waste <= path.stat().st_size
        index.compact()
        assert index.stats().store["file waste"] < 2 * 8192
        assert index.stats().store["segments"] == 1
    assert held(path) == model.entries
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("key_of", [int, str])
def test_removal_alone(tmp_path, key_of):
    path = tmp_path / "index"
    expected = saved(path, 100, key_of)
    keys = [key_of(i) for i in range(100)]
    for number, gone in enumerate([keys[:3], keys[90:], keys[3:60], keys[60:90]]):
        with LSHIndex.open(path, "r+") as index:
            index.remove(gone)
            for key in gone:
                del expected[key]
                assert key not in index
            with pytest.raises(KeyError):
                index.remove(gone[0])
            model = IndexModel(**SMALL, entries=expected)
            for query in shared(10):
                assert index.query(query) == model.query(query)
        assert held(path) == expected
        if number == 2:  # two thirds are gone: the rest was written anew
            assert len(index_file.read(path.read_bytes()).parts[0].gone) == 30
    with LSHIndex.open(path, "r+") as index:
        assert (
            len(index),
            index.query(shared(1)[0]),
            len(index.query(shared(4))),
            list(index),
        ) == (0, [], 4, [])
        index.insert(keys[:5], shared(5))
        index.compact()
    assert list(held(path)) == keys[:5]


def test_replacement_across_parts(tmp_path):
    path = tmp_path / "index"
    expected = saved(path, 40)
    for number in range(6):
        rows = shared(10, values=9, seed=number + 1)
        with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
            keys = [(7 * number + i) % 45 for i in range(9)] + [7 * number % 45]
            new = dict(zip(keys, map(tuple, rows.tolist()), strict=True))
            assert index.insert(keys, rows) == len(new)
            expected |= new
            assert content(index) == expected
            index.on_duplicate = "skip"
            assert index.insert(keys, rows[::-1]) == 0
            index.on_duplicate = "error"
            for key in (
                keys[3],
                next(key for key in expected if key not in keys),
            ):  # of this part, and of another
                with pytest.raises(
                    ValueError, match=re.escape("keys[1] = 77 is in the index already")
                ):
                    index.insert([77, 77, key], rows[:3])
                with pytest.raises(
                    ValueError,
                    match=re.escape(f"keys[1] = {key} is in the index already"),
                ):
                    index.insert([77, key, 77], rows[:3])
        assert held(path) == expected


@pytest.mark.parametrize("values", [2, 3, 10**6])
@pytest.mark.parametrize("n", [1, 30, 700])
@pytest.mark.parametrize("at_once", [True, False])
def test_compaction_never_makes_a_file_larger(tmp_path, values, n, at_once):
    """Unless entries were added since that are still there; what is as it would be written is left alone."""
    path, rows = tmp_path / "index", shared(n, values=values)
    index = small()
    for i in range(n):
        index.insert(i, rows[i])
    if at_once:
        index = small()
        index.insert(range(n), rows)
    index.save(path)
    for gone in [[], [0], [*range(1, n, 2)], []]:
        before, content_before = path.stat(), path.read_bytes()
        with LSHIndex.open(path, "r+") as index:
            index.remove(gone)
            index.insert(n, rows[0])
            index.remove(n)
            index.compact()
            assert index.stats().store["segments"] <= 1
        after = path.stat()
        assert after.st_size <= before.st_size
        if not gone:
            assert (after.st_ino, path.read_bytes()) == (before.st_ino, content_before)
    assert set(held(path)) == set(range(2, n, 2))


def test_compaction_gives_back_what_an_ended_commit_left(tmp_path):
    path = tmp_path / "index"
    expected = saved(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"left behind" * 1000)
    with LSHIndex.open(path, "r+") as index:
        index.compact()
    assert path.read_bytes() == whole
    assert held(path) == expected


def test_compaction_makes_the_figures_exact(tmp_path):
    """Those of a file that was changed count each part by itself, and what was removed with it."""
    path, rows = tmp_path / "index", shared(400)
    index = small()
    index.insert(range(200), rows[:200])
    index.save(path)
    fresh = index.stats()
    with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
        assert index.stats().bucket_sizes == fresh.bucket_sizes
        index.remove(range(50))
        changed = index.stats()
        assert (changed.bucket_sizes, changed.largest_bucket) == (
            fresh.bucket_sizes,
            fresh.largest_bucket,
        )
        assert changed.expected_candidates == pytest.approx(
            (fresh.expected_candidates + 3) * 200 / 150 - 3
        )
        index.insert(range(100, 400), rows[100:])
        index.compact()
        exact = small()
        exact.insert(range(50, 400), rows[50:])
        for name in (
            "entries",
            "bucket_sizes",
            "largest_bucket",
            "expected_candidates",
        ):
            assert getattr(index.stats(), name) == getattr(exact.stats(), name)


def test_progress_is_told_in_bytes(tmp_path):
    path, rows, told = tmp_path / "index", shared(20_000, values=30), []

    def note(stage, done, total):
        assert stage == "save"
        assert (told or [0])[-1] <= done <= total
        told.append(done)
        note.left = total - done

    index = small(on_duplicate="replace")
    index.insert(range(20_000), rows)
    index.remove([5])
    for act in ("save", "commit", "compact"):
        index.save(path, progress=note) if act == "save" else getattr(index, act)(
            progress=note
        )
        assert len(told) > 5
        assert told[-1] >= 20_000 * 8 * 8
        assert note.left == 0
        told.clear()
        index.close()
        index = LSHIndex.open(path, "r+", on_duplicate="replace")
        index.insert(range(20_000), rows)
    index.store.abandon()


def test_compaction_leaves_nothing_of_what_was_removed(tmp_path):
    path = tmp_path / "index"
    index = small()
    index.insert([f"secret {i}" for i in range(50)], shared(50))
    index.insert(["public"], shared(1))
    index.save(path)
    with LSHIndex.open(path, "r+") as index:
        index.remove([f"secret {i}" for i in range(50)])
        index.compact()
    assert b"secret" not in path.read_bytes()
    fresh = small()
    fresh.insert(["public"], shared(1))
    fresh.save(tmp_path / "fresh")
    assert path.read_bytes() == (tmp_path / "fresh").read_bytes()


# Who may do what


def test_a_reader_does_not_write(tmp_path):
    path = tmp_path / "index"
    expected = saved(path)
    before = path.read_bytes()
    said = re.escape(f"{path} is open for reading only: open it with mode='r+'")
    with (
        LSHIndex.open(path, on_duplicate="skip") as index,
        LSHIndex.open(path) as other,
    ):
        for write in (
            lambda: index.insert([100], shared(1)),
            lambda: index.insert(100, shared(1)[0]),
            lambda: index.insert([], shared(0)),
            lambda: index.remove([3]),
            lambda: index.remove(3),
            lambda: index.commit(),
            lambda: index.compact(),
            lambda: index.merge(other),
        ):
            with pytest.raises(ValueError, match=said):
                write()
        assert content(index) == expected
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.parametrize("n", [0, 20])
def test_a_child_does_not_write(tmp_path, n):
    """Neither one entry nor a batch, also where the file is empty and all entries are in memory."""
    path = tmp_path / "index"
    expected = saved(path, n)
    with LSHIndex.open(path, "r+") as index:
        index.insert(100, shared(1)[0])
        for write in (
            lambda: index.insert(101, shared(1)[0]),
            lambda: index.insert([101], shared(1)),
            lambda: index.remove(100),
            lambda: index.remove([100]),
            lambda: index.commit(),
        ):
            assert child(write).endswith(
                "was opened before this process was forked: only the parent may write to it"
            )
        assert child(lambda: (100 in index, len(index))) == str((True, n + 1))
    assert set(held(path)) == {*expected, 100}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_child_changes_its_copy_of_what_stays_in_memory(tmp_path):
    path, copy = tmp_path / "index", tmp_path / "copy"
    expected = saved(path)
    with LSHIndex.open(path, "c") as index:

        def change():
            index.insert(100, shared(1)[0])
            index.remove(3)
            index.save(copy)
            index.close()

        assert child(change) == "None"
        assert content(index) == held(path) == expected
    assert set(held(copy)) == {*expected, 100} - {3}


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "index"
    saved(path)
    said = re.escape(f"{path} is open for writing elsewhere")
    with LSHIndex.open(path, "r+") as writer:
        for attempt in range(2):
            with pytest.raises(BlockingIOError, match=said):
                LSHIndex.open(path, "r+")
            with pytest.raises(BlockingIOError, match=said):
                small().save(path)
            code = "import sys, lshfast; lshfast.LSHIndex.open(sys.argv[1], 'r+')"
            other = python(code, path)
            assert other.returncode == 1
            assert (
                f"BlockingIOError: {path} is open for writing elsewhere" in other.stderr
            )
            with LSHIndex.open(path) as reader:
                assert len(reader) == 20 + attempt
            writer.insert(100, shared(1)[0])
            if not attempt:
                writer.compact()  # another file, and its lock
                with LSHIndex.open(path) as reader:
                    assert len(reader) == 21
                writer.on_duplicate = "skip"
    with LSHIndex.open(path, "r+") as writer:
        writer.remove(100)
    with pytest.raises(ZeroDivisionError), LSHIndex.open(path, "r+"):
        1 / 0  # noqa: B018
    small().save(path)
    assert held(path) == {}


def test_a_lock_is_given_back_by_what_fails(tmp_path):
    path = tmp_path / "index"
    saved(path)
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    with pytest.raises(FormatError) as caught:
        LSHIndex.open(path, "r+")
    with open(path, "r+b") as file:  # the same file
        file.write(good)
    with pytest.raises(ValueError, match="on_duplicate must be one of"):
        LSHIndex.open(path, "r+", on_duplicate="never")
    with LSHIndex.open(path, "r+") as index:
        assert len(index) == 20
    assert caught.value


@posix
def test_a_lock_is_not_taken_on_a_file_that_was_replaced(tmp_path, monkeypatch):
    """Between the opening of a file and its lock, its writer may write it anew and close: what is locked is gone."""
    path = tmp_path / "index"
    expected = saved(path)
    lock = file_sections.lock
    for attempt in (lambda: LSHIndex.open(path, "r+"), lambda: small().save(path)):
        writer = LSHIndex.open(path, "r+", on_duplicate="replace")

        def late(file, writer=writer):
            monkeypatch.setattr(file_sections, "lock", lock)
            writer.insert(0, array_of([expected[0]])[0])
            writer.compact()
            writer.close()
            lock(file)

        monkeypatch.setattr(file_sections, "lock", late)
        with pytest.raises(
            BlockingIOError, match=re.escape(f"{path} has just been replaced elsewhere")
        ):
            attempt()
    assert held(path) == expected


def test_readers_open_while_a_writer_commits(tmp_path, monkeypatch):
    """The file grows, and its headers change, between the two looks of a reader at it."""
    path = tmp_path / "index"
    expected = saved(path)
    writer = LSHIndex.open(path, "r+")
    mapped = file_sections.mapped
    for turn in range(6):
        looks = 0

        def slow(file, turn=turn):
            nonlocal looks
            looks += 1
            found = mapped(file)
            if looks == 1 + turn % 2:
                monkeypatch.setattr(file_sections, "mapped", mapped)
                writer.insert(100 + turn, shared(1)[0])
                writer.commit()
            return found

        monkeypatch.setattr(file_sections, "mapped", slow)
        with LSHIndex.open(path) as reader:
            assert set(expected) <= set(reader) <= {*expected, 100 + turn}
            expected = content(writer)
    writer.close()
    assert held(path) == expected


@posix
def test_readers_keep_what_they_opened(tmp_path):
    path = tmp_path / "index"
    states, readers = [saved(path, 50)], [LSHIndex.open(path)]
    with LSHIndex.open(path, "r+", on_duplicate="replace") as writer:
        for turn in range(8):
            writer.remove(turn)
            writer.insert(range(40 + turn, 60 + turn), shared(20, seed=turn))
            writer.compact() if turn % 3 == 2 else writer.commit()
            states.append(content(writer))
            readers.append(LSHIndex.open(path))
    path.unlink()
    for state, reader in zip(states, readers, strict=True):
        assert content(reader) == state
        model = IndexModel(**SMALL, entries=state)
        for query in shared(5):
            assert reader.query(query, threshold=0.5) == model.query(
                query, threshold=0.5
            )
        reader.verify()
        reader.close()


def test_a_closed_file(tmp_path):
    path = tmp_path / "index"
    for mode in ("r", "r+"):
        expected = saved(path)
        index = LSHIndex.open(path, mode)
        batches, keys = index.store.items(), iter(index)
        next(batches), next(keys)
        index.close()
        for use in (
            len,
            list,
            lambda index: 1 in index,
            lambda index: index.insert(2, shared(1)[0]),
            lambda index: index.insert([2], shared(1)),
            lambda index: index.remove(1),
            lambda index: index.query(shared(1)[0]),
            lambda index: index.query(shared(2), k=1),
            lambda index: index.pairs(),
            lambda index: index.stats(),
            lambda index: index.commit(),
            lambda index: index.compact(),
            lambda index: index.verify(),
            lambda index: index.save(path),
        ):
            with pytest.raises(ValueError, match="closed"):
                use(index)
        assert repr(index).startswith("LSHIndex(closed, 3 bands")
        index.close()
        assert held(path) == expected


def test_files_are_let_go(tmp_path):
    """Nothing warns of a file that was not closed."""
    path = tmp_path / "index"
    saved(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LSHIndex.open(path).close()
        LSHIndex.open(path, "r+").store.abandon()
        for damage in (b"", b"LSHFAST\0", path.read_bytes()[:9000]):
            (tmp_path / "damaged").write_bytes(damage)
            for mode in ("r", "r+"):
                with pytest.raises(FormatError):
                    LSHIndex.open(tmp_path / "damaged", mode)
        with pytest.raises(ValueError, match="on_duplicate"):
            LSHIndex.open(path, on_duplicate="never")


# Paths


def test_changes_that_stay_in_memory(tmp_path):
    """Mode "c": the file stays as it is, and may be open for writing elsewhere; another file takes the changes."""
    path, copy = tmp_path / "index", tmp_path / "copy"
    expected = saved(path)
    before = path.read_bytes()
    with LSHIndex.open(path, "r+"), LSHIndex.open(path, "c") as index:
        index.insert(100, shared(1)[0])
        index.remove(3)
        assert sorted(index) == sorted({*expected, 100} - {3})
        index.save(copy)
        for change in (index.commit, index.compact):
            with pytest.raises(
                ValueError,
                match="is open for reading only: save the index to another file",
            ):
                change()
    assert path.read_bytes() == before
    assert sorted(held(copy)) == sorted({*expected, 100} - {3})


def test_paths_that_cannot_be_opened(tmp_path):
    saved(tmp_path / "index")
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("key,text\n" * 1000)
    (tmp_path / "zeros").write_bytes(bytes(20_000))
    (tmp_path / "numpy.npy").write_bytes(b"\x93NUMPY" + bytes(9000))
    for mode in ("r", "r+"):
        for name, error, message in [
            ("missing", FileNotFoundError, "missing"),
            ("missing/index", FileNotFoundError, "missing/index"),
            ("index/index", NotADirectoryError, "index/index"),
            (".", IsADirectoryError, str(tmp_path)),
            ("empty", FormatError, "empty: header: not an index of lshfast"),
            ("text", FormatError, "text: header: not an index of lshfast"),
            ("zeros", FormatError, "zeros: header: not an index of lshfast"),
            ("numpy.npy", FormatError, "numpy.npy: header: not an index of lshfast"),
        ]:
            with pytest.raises(error, match=re.escape(message)) as caught:
                LSHIndex.open(tmp_path / name, mode)
            assert str(tmp_path) in str(caught.value)
    with pytest.raises(ValueError, match="mode must be 'r', 'r\\+' or 'c', not 'w'"):
        LSHIndex.open(tmp_path / "index", "w")
    with pytest.raises(TypeError):
        LSHIndex.open(None)


def test_paths_that_cannot_be_saved_to(tmp_path):
    saved(tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    (tmp_path / "folder").mkdir()
    for name, error in [
        ("missing/index", FileNotFoundError),
        ("index/index", NotADirectoryError),
        ("folder", IsADirectoryError),
    ]:
        with pytest.raises(error, match=re.escape(str(tmp_path / name))):
            small().save(tmp_path / name)
    assert (tmp_path / "index").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "index"]


def test_only_an_index_is_replaced(tmp_path):
    """Or an empty file, which holds nothing; another one if that is asked for."""
    path = tmp_path / "file"
    for other in (b"key,text\n" * 100, b"x", b"LSHFAST", bytes(8192)):
        path.write_bytes(other)
        with pytest.raises(
            FileExistsError,
            match="this file is not an index; overwrite=True replaces it",
        ) as caught:
            small().save(path)
        assert caught.value.filename == str(path)
        assert path.read_bytes() == other
        saved(path, overwrite=True)
        assert len(held(path)) == 20
    saved(path, 5)
    path.write_bytes(b"")
    expected = saved(path, 3)
    assert held(path) == expected
    path.write_bytes(path.read_bytes()[:5000])  # what was an index
    expected = saved(path, 4)
    assert held(path) == expected
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_file_is_never_replaced(tmp_path, overwrite):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "to folder").symlink_to(tmp_path / "folder")
    (tmp_path / "to pipe").symlink_to(tmp_path / "pipe")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    before = sorted(tmp_path.iterdir())
    for name, error in [
        ("folder", IsADirectoryError), ("to folder", IsADirectoryError), ("pipe", OSError), ("to pipe", OSError),
        ("round", OSError), (os.devnull, OSError),
    ]:  # fmt: skip
        with pytest.raises(error) as caught:
            small().save(tmp_path / name, overwrite=overwrite)
        assert caught.value.filename == str(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_permissions_are_handed_on(tmp_path, mode):
    path = tmp_path / "index"
    saved(path)
    path.chmod(mode)
    saved(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    with LSHIndex.open(path, "r+") as index:
        index.remove(3)
        index.compact()
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_folder_that_may_not_be_written_to(tmp_path):
    path = tmp_path / "index"
    expected = saved(path)
    tmp_path.chmod(0o555)
    try:
        for name in ("index", "other"):
            with pytest.raises(PermissionError) as caught:
                small().save(tmp_path / name)
            assert caught.value.filename == str(tmp_path / name)
        with LSHIndex.open(path, "r+") as index:
            index.remove(3)
            with pytest.raises(PermissionError) as caught:
                index.compact()
            assert caught.value.filename == str(path)
    finally:
        tmp_path.chmod(0o755)
    assert set(held(path)) == set(expected) - {3}


@posix
@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)
def test_permissions(tmp_path):
    path = tmp_path / "index"
    expected = saved(path)
    path.chmod(0o444)
    for use in (lambda: LSHIndex.open(path, "r+"), lambda: small().save(path)):
        with pytest.raises(PermissionError, match=re.escape(str(path))):
            use()
    assert held(path) == expected
    path.chmod(0o000)
    with pytest.raises(PermissionError, match=re.escape(str(path))):
        LSHIndex.open(path)


@posix
def test_symbolic_links_are_followed(tmp_path):
    real = tmp_path / "real" / "index"
    link = tmp_path / "link"
    loose = tmp_path / "loose"
    real.parent.mkdir()
    link.symlink_to(real)
    expected = saved(link)  # leads nowhere yet
    assert real.exists()
    with LSHIndex.open(link, "r+") as index:
        with pytest.raises(BlockingIOError):
            LSHIndex.open(real, "r+")
        index.remove(3)
        index.commit()
        index.remove(4)
        index.compact()
        index.remove(5)
    assert link.is_symlink()
    assert set(held(real)) == set(expected) - {3, 4, 5}
    small().save(link)
    assert link.is_symlink()
    assert held(real) == {}
    loose.symlink_to(tmp_path / "none" / "index")
    with pytest.raises(FileNotFoundError):
        LSHIndex.open(loose)
    with pytest.raises(FileNotFoundError):
        small().save(loose)


def test_relative_paths_stay_where_they_were(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("index", 5)
    index = LSHIndex.open("index", "r+")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    index.remove(0)
    index.commit()
    index.remove(1)
    index.compact()
    index.remove(2)
    index.close()
    assert set(held(tmp_path / "index")) == {3, 4}
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["ünïcode 索引", "with\nnewline", "-dash", "x" * 250])
def test_names_of_all_kinds(tmp_path, name):
    if os.name != "posix" and "\n" in name:
        pytest.skip("no such names")
    expected = saved(tmp_path / name)
    with LSHIndex.open(tmp_path / name, "r+") as index:
        index.remove(1)
        index.compact()
    assert set(held(tmp_path / name)) == set(expected) - {1}
    assert len(list(tmp_path.iterdir())) == 1

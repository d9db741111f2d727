"""Indexes in folders of shards: the answers of one file, changes, builds by tasks, and damage."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from lshfast import LSHIndex, NearNeighbors, TokenSets
from lshfast._common.errors import FormatError
from lshfast.families import SimHashFamily
from lshfast.index import DuplicateKeyError, RangeStore, ShardBuild, ShardStore
from lshfast.index.shards.folder import RECORD_NAME, read_record, shards_of
from tests.index.index_files import content, posix
from tests.stages.test_s3 import server  # noqa: F401 (a fixture)

N = 200


def signatures(n=N, seed=0):
    """Return signatures of 16 slots: pairs that are similar, a crowd, and empty sets."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**63, (n, 16)).astype(np.uint64)
    rows[1::2] = np.where(rng.random((n // 2, 16)) < 0.1, np.uint64(1), rows[::2])
    rows[: n // 4, :4] = 5
    rows[-2:] = 2**64 - 1
    return rows


def empty_index(**options):
    return LSHIndex(0.5, 16, bands=4, rows_per_band=4, **options)


# Keys of 10,000 bytes are longer than a window of a block, and others are empty.
KEYS = {
    "int": list(range(-5, N - 5)),
    "str": ["", "ä" * 5000, *(f"k{i}" * (i % 60 + 1) for i in range(N - 2))],
}


def one_index(kind="int", rows=None, **options):
    index = empty_index(**options)
    index.insert(KEYS[kind], signatures() if rows is None else rows)
    return index


def in_folder(path, index, shards=3):
    index.save(path, shards=shards)
    return path


@pytest.fixture
def memory_folder():
    """A folder of fsspec's file system in memory."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    yield lambda path: system.put(str(path), "/shard-tests", recursive=True)
    with suppress(FileNotFoundError):
        system.rm("/shard-tests", recursive=True)


def assert_same_answers(index, other, rows):
    assert len(index) == len(other)
    assert content(index) == content(other)
    for options in ({}, {"k": 3}, {"threshold": 0.4}, {"k": 2, "most": 0.9}):
        assert list(index.query(rows, **options)) == list(other.query(rows, **options))
        assert index.query(rows[0], **options) == other.query(rows[0], **options)
    assert list(index.pairs(0.8)) == list(other.pairs(0.8))


@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("place", ["folder", "folder of one", "URL", "URL of a file"])
def test_answers_are_those_of_one_file(tmp_path, memory_folder, kind, place):
    one = one_index(kind)
    rows = signatures()
    path = in_folder(tmp_path / "index", one, 1 if place == "folder of one" else 3)
    with LSHIndex.open(path, "r+") as index:  # a second segment, and deleted rows
        index.remove(KEYS[kind][10:20])
        index.insert(KEYS[kind][12:14], rows[12:14])
    one.remove(KEYS[kind][10:20])
    one.insert(KEYS[kind][12:14], rows[12:14])
    if place == "URL":
        memory_folder(f"{path}/")
        path = "memory://shard-tests"
    elif place == "URL of a file":
        one.save(tmp_path / "one.lsh")
        memory_folder(tmp_path / "one.lsh")
        path = "memory://shard-tests"
    with LSHIndex.open(path) as index:
        assert_same_answers(index, one, rows)
        index.verify()
        some_keys = [*KEYS[kind][:30], 1.0, True, "absent", 2**70, 7.5]
        assert index.contains(some_keys).tolist() == one.contains(some_keys).tolist()
        assert index.key_kind == kind
        assert index.parameters == one.parameters
        assert index.stats().entries == len(one)
        index.save(tmp_path / "again.lsh")
    with LSHIndex.open(tmp_path / "again.lsh", verify=True) as index:
        assert_same_answers(index, one, rows)


def test_other_families(tmp_path, memory_folder):
    vectors = [[f"t{i % 40 + j}" for j in range(8)] for i in range(80)]
    one = LSHIndex(family=SimHashFamily(), bands=4, rows_per_band=8)
    sets = TokenSets.from_sets(vectors)
    one.insert(np.arange(80), sets)
    path = in_folder(tmp_path / "index", one)
    memory_folder(f"{path}/")
    for place in (path, "memory://shard-tests"):
        with LSHIndex.open(place) as index:
            assert list(index.query(sets, k=5)) == list(one.query(sets, k=5))
            assert list(index.query(sets)) == list(one.query(sets))


def test_points_are_searched_in_a_folder_and_not_by_ranges(tmp_path, memory_folder):
    points = np.random.default_rng(1).random((100, 4))
    one = NearNeighbors("euclidean", radius=0.3, dim=4, n=100)
    one.insert(np.arange(100), points)
    path = in_folder(tmp_path / "index", one)
    with NearNeighbors.open(path) as index:
        assert list(index.query(points, k=3)) == list(one.query(points, k=3))
    memory_folder(f"{path}/")
    with (
        NearNeighbors.open("memory://shard-tests") as index,
        pytest.raises(ValueError, match="not searched by ranges: copy it to a disk"),
    ):
        index.query(points, k=3)


@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("on_duplicate", ["error", "replace", "skip"])
def test_changes_are_those_of_one_index(tmp_path, kind, on_duplicate):
    one = one_index(kind, on_duplicate=on_duplicate)
    other_rows = signatures(seed=1)
    new_keys = [*range(1000, 1040)] if kind == "int" else [f"n{i}" for i in range(40)]
    repeated = [*KEYS[kind][5:15], *new_keys, new_keys[0]]
    path = in_folder(tmp_path / "index", one)
    for _ in range(2):
        with LSHIndex.open(path, "r+", on_duplicate=on_duplicate) as index:
            for each in (index, one):
                each.remove([*KEYS[kind][20:30], KEYS[kind][20]])
                if on_duplicate == "error":
                    with pytest.raises(DuplicateKeyError) as error:
                        each.insert(repeated, other_rows[: len(repeated)])
                    assert error.value.key == KEYS[kind][5]
                    assert not each.contains(new_keys).any()
                else:
                    count = each.insert(repeated, other_rows[: len(repeated)])
                    assert count == (40 if on_duplicate == "skip" else 50)
                    each.remove(new_keys)
                with pytest.raises(KeyError):
                    each.remove([KEYS[kind][40], "absent"])
                each.insert(KEYS[kind][20:30], other_rows[20:30])
            assert content(index) == content(one)
            with pytest.raises(TypeError, match="the keys of this index are"):
                index.insert(["x", 1], other_rows[:2])
        with LSHIndex.open(path, verify=True) as index:
            assert_same_answers(index, one, other_rows)
    with LSHIndex.open(path, "r+") as index:
        index.compact()
        assert index.stats().store["segments"] == 3
    with LSHIndex.open(path, verify=True) as index:
        assert_same_answers(index, one, other_rows)


def test_a_folder_is_only_changed_in_place(tmp_path):
    path = in_folder(tmp_path / "index", one_index())
    with LSHIndex.open(path) as index, pytest.raises(ValueError, match="reading only"):
        index.remove(0)
    with LSHIndex.open(path, "c") as index:
        index.remove(0)
        with pytest.raises(ValueError, match="save the index to another place"):
            index.commit()
        index.save(tmp_path / "copy", shards=2)
    with LSHIndex.open(path) as index, LSHIndex.open(tmp_path / "copy") as copy:
        assert (0 in index, 0 in copy) == (True, False)
    with pytest.raises(ValueError, match="is closed"):
        len(copy)


def test_a_remote_index_is_changed_in_memory_only(tmp_path, memory_folder):
    one = one_index()
    rows = signatures(seed=1)
    memory_folder(f"{in_folder(tmp_path / 'index', one)}/")
    with LSHIndex.open("memory://shard-tests") as index:
        for change in (
            lambda: index.insert(1000, rows[0]),
            lambda: index.remove(0),
            index.commit,
            index.compact,
        ):
            with pytest.raises(ValueError, match="is only read: change the index"):
                change()
    with LSHIndex.open("memory://shard-tests", "c") as index:
        for each in (index, one):
            each.insert(np.arange(1000, 1100), rows[:100])
            each.remove([*range(50), 1000])
            with pytest.raises(DuplicateKeyError):
                each.insert([2000, 60], rows[:2])
        assert_same_answers(index, one, rows)
        index.save(tmp_path / "copy", shards=2)
    with LSHIndex.open(tmp_path / "copy", verify=True) as index:
        assert_same_answers(index, one, rows)


# ---- writers ----


@posix
def test_processes_change_different_shards(tmp_path):
    path = in_folder(tmp_path / "index", one_index())
    keys = np.arange(1000, 1100)
    numbers = shards_of(keys, 3)
    rows = signatures(100, seed=2)
    with LSHIndex.open(path, "r+") as first, LSHIndex.open(path, "r+") as second:
        first.insert(keys[numbers == 0], rows[numbers == 0])
        second.insert(keys[numbers == 1], rows[numbers == 1])
        with pytest.raises(BlockingIOError, match=r"-00000\.lsh is open for"):
            second.insert(keys[numbers == 0], rows[numbers == 0])
    with LSHIndex.open(path, verify=True) as index:
        assert index.contains(keys).tolist() == (numbers < 2).tolist()


@posix
def test_a_writer_sees_what_others_wrote_before_it_locks_a_shard(tmp_path):
    path = in_folder(tmp_path / "index", one_index())
    with LSHIndex.open(path, "r+") as first:
        with LSHIndex.open(path, "r+") as second:
            second.insert(1000, signatures()[0])
            second.remove(0)
        with pytest.raises(KeyError):
            first.remove(0)
        first.remove([1000, 1.0])  # 1.0 equals the key 1
    with LSHIndex.open(path, verify=True) as index:
        assert len(index) == N - 2


@posix
def test_a_writer_refuses_a_folder_that_was_replaced(tmp_path):
    path = in_folder(tmp_path / "index", one_index())
    with LSHIndex.open(path, "r+") as index:
        in_folder(path, one_index(), 2)
        with pytest.raises(BlockingIOError, match="replaced elsewhere: open it again"):
            index.remove(0)
        assert 0 in index


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_writes_nothing(tmp_path):
    path = in_folder(tmp_path / "index", one_index())
    index = LSHIndex.open(path, "r+")
    index.insert(np.arange(1000, 1100), signatures(100, seed=2))
    child = os.fork()
    if not child:
        for change in (index.commit, index.compact, lambda: index.remove(0)):
            with suppress(ValueError):
                change()
                os._exit(1)
        index.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(os.listdir(path)) == 4
    index.close()
    with LSHIndex.open(path, verify=True) as index:
        assert len(index) == N + 100


class StoppedError(Exception):
    """Ends a commit as a full disk would, or a killed process."""


@posix
@pytest.mark.parametrize("calls", range(1, 7))
def test_a_commit_that_ends_early_changes_nothing(tmp_path, memory_folder, calls):
    one = one_index()
    path = in_folder(tmp_path / "index", one)
    reports = []

    def stop(*report):
        reports.append(report)
        if len(reports) == calls:
            raise StoppedError

    with suppress(StoppedError), LSHIndex.open(path, "r+") as index:
        index.remove(KEYS["int"][:50])
        index.insert(np.arange(1000, 1100), signatures(100, seed=2))
        index.commit(progress=stop)
        calls = None  # it has ended
    memory_folder(f"{path}/")
    for place in (path, "memory://shard-tests"):
        with LSHIndex.open(place, verify=True) as index:  # before another writer
            assert (content(index) == content(one)) == (calls is not None)
    if calls is None:
        return
    with LSHIndex.open(path, "r+") as index:
        index.remove(KEYS["int"][0])
        one.remove(KEYS["int"][0])
    with LSHIndex.open(path, verify=True) as index:
        assert_same_answers(index, one, signatures())
    assert not list(path.glob("undo-*"))


@posix
def test_a_commit_that_failed_can_be_repeated(tmp_path):
    one = one_index()
    path = in_folder(tmp_path / "index", one)
    reports = []

    def stop(*report):
        reports.append(report)
        if len(reports) == 3:
            raise StoppedError

    new_rows = signatures(100, seed=2)
    with LSHIndex.open(path, "r+") as index:
        index.insert(np.arange(1000, 1100), new_rows)
        with pytest.raises(StoppedError):
            index.commit(progress=stop)
        with LSHIndex.open(path) as reader:
            assert content(reader) == content(one)
        index.insert(2000, new_rows[0])
    one.insert(np.arange(1000, 1100), new_rows)
    one.insert(2000, new_rows[0])
    with LSHIndex.open(path, verify=True) as index:
        assert_same_answers(index, one, new_rows)


# ---- builds ----


def put(build, task, keys, rows):
    with build.task(task) as index:
        index.insert(keys, rows)


@pytest.mark.parametrize("kind", ["int", "str"])
def test_tasks_build_what_one_index_has(tmp_path, kind):
    rows = signatures()
    build = ShardBuild.start(tmp_path / "index", empty_index(), 4)
    for task, start in [(2, 150), (0, 0), (1, 100), (2, 150)]:  # in any order, repeated
        part = slice(start, [100, 150, N][task])
        put(ShardBuild(tmp_path / "index"), task, KEYS[kind][part], rows[part])
    with pytest.raises(FormatError, match="shard 0 is not built yet"):
        build.finish()
    assert sum(build.build_shard(shard) for shard in (3, 0, 2, 1)) == N
    build.finish()
    assert len(os.listdir(tmp_path / "index")) == 5
    with LSHIndex.open(tmp_path / "index", verify=True) as index:
        assert_same_answers(index, one_index(kind), rows)


@pytest.mark.parametrize("task", [0, 7])
def test_a_task_that_ends_after_shards_were_built_is_named(tmp_path, task):
    """Task 0 replaces all rows that it had; task 7 has rows of two shards."""
    path = tmp_path / "index"
    rows = signatures(seed=5)
    build = ShardBuild.start(path, empty_index(), 4)
    keys = np.arange(100)
    put(build, 0, keys, signatures()[:100])
    put(build, 2, [], rows[:0])
    for shard in range(4):
        build.build_shard(shard)
    late_keys = keys
    if task == 7:
        new_keys = np.arange(1000, 1100)
        late_keys = new_keys[np.isin(shards_of(new_keys, 4), [1, 3])]
    put(build, task, late_keys, rows[: len(late_keys)])
    put(build, 9, [], rows[:0])  # it has no rows, so nothing is missing
    old_shards = np.unique(shards_of(late_keys, 4)).tolist()
    while old_shards:
        shards = ", ".join(map(str, old_shards))
        message = f"task {task} ended after .* again: {shards}$"
        with pytest.raises(FormatError, match=message):
            build.finish()
        ShardBuild(path).build_shard(old_shards.pop(0))
    build.finish()
    with LSHIndex.open(path, verify=True) as index:
        entries = content(index)
    assert len(entries) == len(np.union1d(keys, late_keys))
    assert entries[int(late_keys[9])] == tuple(rows[9].tolist())


def test_a_task_that_is_repeated_with_the_same_rows_leaves_the_shards(tmp_path):
    build = ShardBuild.start(tmp_path / "index", empty_index(), 2)
    for _ in range(2):
        put(build, 0, KEYS["str"], signatures())
        for shard in range(2):
            build.build_shard(shard)
        put(build, 0, KEYS["str"], signatures())
    build.finish()
    with LSHIndex.open(tmp_path / "index", verify=True) as index:
        assert_same_answers(index, one_index("str"), signatures())


@pytest.mark.parametrize("on_duplicate", ["error", "replace", "skip"])
def test_equal_keys_of_tasks(tmp_path, on_duplicate):
    rows = signatures()
    template = empty_index(on_duplicate=on_duplicate)
    build = ShardBuild.start(tmp_path / "index", template, 2)
    put(build, 1, [7], rows[1:2])
    put(build, 0, [7, 8], rows[2:4])
    if on_duplicate == "error":
        with pytest.raises(ValueError, match="key 7 occurs twice, in shard"):
            build.build_all()
        return
    build.build_all()
    with LSHIndex.open(tmp_path / "index") as index:
        last = on_duplicate == "replace"
        assert content(index)[7] == tuple(rows[1 if last else 2].tolist())


def test_a_build_that_has_not_ended_leaves_the_former_index(tmp_path):
    path = tmp_path / "index"
    one = one_index()
    in_folder(path, one)
    build = ShardBuild.start(path, empty_index(), 2)
    with suppress(StoppedError), build.task(0) as index:
        index.insert(1, signatures()[0])
        raise StoppedError
    put(build, 1, [2], signatures()[:1])
    build.build_shard(0)
    with LSHIndex.open(path) as index:
        assert content(index) == content(one)
    with pytest.raises(FileExistsError, match="a build of this folder has not ended"):
        ShardBuild.start(path, empty_index(), 2)
    in_folder(path, one, 5)  # it replaces the build
    with LSHIndex.open(path, verify=True) as index:
        assert content(index) == content(one)
    assert len(os.listdir(path)) == 6


def test_entries_of_a_build_are_only_inserted(tmp_path):
    build = ShardBuild.start(tmp_path / "index", empty_index(), 2)
    rows = signatures()
    with build.task(0) as index:
        index.insert(1, rows[0])
        for refused in (
            lambda: index.query(rows[0]),
            lambda: index.remove(1),
            lambda: 1 in index,
            lambda: list(index),
        ):
            with pytest.raises(ValueError, match="before its end: open the folder"):
                refused()
        with pytest.raises(TypeError, match="the keys of this index are ints"):
            index.insert("x", rows[1])
    with pytest.raises(IsADirectoryError, match=r"has no shards\.json"):
        LSHIndex.open(tmp_path / "index")


def test_a_task_copies_its_keys(tmp_path):
    build = ShardBuild.start(tmp_path / "index", empty_index(), 2)
    keys = np.arange(10)
    with build.task(0) as index:
        index.insert(keys, signatures()[:10])
        keys += 10
        index.insert(keys, signatures()[10:20])
    build.build_all()
    with LSHIndex.open(tmp_path / "index") as index:
        assert sorted(index) == list(range(20))


def test_a_task_refuses_keys_that_are_no_text_when_they_are_inserted(tmp_path):
    build = ShardBuild.start(tmp_path / "index", empty_index(), 2)
    with build.task(0) as index:
        index.insert("a", signatures()[0])
        with pytest.raises(ValueError, match="lone surrogate"):
            index.insert(["b", "\ud800"], signatures()[1:3])
    build.build_all()
    with LSHIndex.open(tmp_path / "index") as index:
        assert list(index) == ["a"]


@pytest.mark.parametrize("is_new", [True, False])
def test_an_interrupt_at_the_end_of_a_build_keeps_the_index(
    tmp_path, monkeypatch, is_new
):
    path = tmp_path / "index"
    if not is_new:
        in_folder(path, empty_index())
    remove_tree = shutil.rmtree

    def interrupted(path, *options, **named_options):
        monkeypatch.setattr(shutil, "rmtree", remove_tree)
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        in_folder(path, one_index(), 2)
    with LSHIndex.open(path, verify=True) as index:
        assert content(index) == content(one_index())
    assert len(os.listdir(path)) == 3


@posix
def test_a_new_index_has_the_permissions_of_the_former_one(tmp_path):
    path = in_folder(tmp_path / "index", one_index())
    for file in path.iterdir():
        file.chmod(0o600)
    in_folder(path, one_index(), 2)
    assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o600}


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_files_of_a_build_have_the_permissions_of_the_former_index(tmp_path, mode):
    path = in_folder(tmp_path / "index", one_index())
    for file in path.iterdir():
        file.chmod(mode)
    build = ShardBuild.start(path, empty_index(), 2)
    with build.task(0) as index:
        index.insert([1, 2], signatures()[:2])
        (rows_file,) = (path / ".build").glob(".rows*")
        assert rows_file.stat().st_mode & 0o777 == 0o600  # until it is complete
    put(build, 1, [3], signatures()[:1])
    put(build, 1, [4], signatures()[:1])  # it replaces rows
    build.build_shard(0)
    files = [file for file in path.rglob("*") if file.is_file()]
    assert len(files) == 9
    assert {file.stat().st_mode & 0o777 for file in files} == {mode}


@posix
def test_a_link_to_a_folder_that_does_not_exist_is_followed(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "new" / "index")
    one = one_index()
    in_folder(link, one)
    with LSHIndex.open(tmp_path / "new" / "index", verify=True) as index:
        assert content(index) == content(one)
    assert link.is_symlink()
    other_link = tmp_path / "other link"
    other_link.symlink_to("relative")
    build = ShardBuild.start(other_link, empty_index(), 1)
    put(build, 0, [1], signatures()[:1])
    build.build_all()
    with LSHIndex.open(tmp_path / "relative") as index:
        assert list(index) == [1]


def test_steps_of_a_build_that_has_ended_change_nothing(tmp_path):
    """A build may have been killed when it removed its files."""
    path = tmp_path / "index"
    build = ShardBuild.start(path, empty_index(), 2)
    put(build, 0, [1, 2], signatures()[:2])
    shutil.copytree(path / ".build", tmp_path / "copy")
    build.build_all()
    shutil.copytree(tmp_path / "copy", path / ".build")
    with LSHIndex.open(path, "r+") as index:
        index.insert(range(3, 10), signatures()[3:10])
    assert sum(ShardBuild(path).build_shard(shard) for shard in range(2)) == 9
    ShardBuild(path).build_all()
    with LSHIndex.open(path, verify=True) as index:
        assert len(index) == 9
    assert len(os.listdir(path)) == 3


def test_places_that_are_refused(tmp_path):
    with pytest.raises(OSError, match="not standard output: '-'"):
        empty_index().save("-", shards=2)
    (tmp_path / "file").write_text("text")
    with pytest.raises(NotADirectoryError, match="this is a file"):
        empty_index().save(tmp_path / "file", shards=2)
    with pytest.raises(FileExistsError, match="such as 'file'"):
        empty_index().save(tmp_path, shards=2)
    with pytest.raises(ValueError, match="built in a local folder"):
        empty_index().save("memory://x", shards=2)
    with pytest.raises(ValueError, match=r"shards must be in 1..512, not 0"):
        empty_index().save(tmp_path / "new", shards=0)
    with pytest.raises(FileNotFoundError, match="no build of this folder"):
        ShardBuild(tmp_path)
    with pytest.raises(ValueError, match="mode must be 'r'"):
        LSHIndex.open("memory://x", "r+")


@pytest.mark.slow
def test_processes_build_what_tasks_have_put(tmp_path):
    rows = signatures(1 << 17)
    build = ShardBuild.start(tmp_path / "index", empty_index(), 4)
    for task in range(10):
        put(build, task, np.arange(len(rows)) + task * len(rows), rows)
    build.build_all(2)
    with LSHIndex.open(tmp_path / "index") as index:
        assert len(index) == 10 * len(rows)


@posix
def test_too_few_open_files_are_named(tmp_path):
    import resource

    path = in_folder(tmp_path / "index", one_index(), 40)
    _, most = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = os.dup(0)
    os.close(open_files)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + 20, most))
    try:
        with pytest.raises(OSError, match=r"40 shards need .* raise the limit"):
            LSHIndex.open(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with LSHIndex.open(path) as index:
        assert len(index) == N


# ---- damage ----


def damaged(path, kind):
    """Damage a folder of shards in one way; return what the error says."""
    shards = sorted(path.glob("*.lsh"))
    record = path / "shards.json"
    if kind == "missing":
        shards[1].unlink()
        return f"the shard {shards[1].name} is missing"
    if kind == "cut":
        os.truncate(shards[1], 9000)
        return shards[1].name
    if kind == "swapped":
        other = shards[0].read_bytes()
        shards[0].write_bytes(shards[1].read_bytes())
        shards[1].write_bytes(other)
        return "belongs to another shard"
    if kind == "other parameters":
        LSHIndex(0.5, 16, bands=2, rows_per_band=4).save(shards[2])
        return f"{shards[2].name}: bands is"
    if kind == "flipped":
        data = bytearray(shards[2].read_bytes())
        data[len(data) // 2] ^= 1
        shards[2].write_bytes(data)
        return shards[2].name
    if kind == "record":
        record.write_bytes(record.read_bytes().replace(b'"shards": 3', b'"shards": 2'))
        return "damaged"
    (path / f"undo-{'0' * 16}.json").write_bytes(b"{}")
    return "undo-0000000000000000.json: damaged"


@pytest.mark.parametrize("place", ["folder", "URL"])
@pytest.mark.parametrize(
    "kind",
    ["missing", "cut", "swapped", "other parameters", "flipped", "record", "undo"],
)
def test_damage_is_named(tmp_path, memory_folder, place, kind):
    path = in_folder(tmp_path / "index", one_index())
    message = damaged(path, kind)
    if place == "URL":
        memory_folder(f"{path}/")
        path = "memory://shard-tests"
    with pytest.raises(FormatError, match=message):
        LSHIndex.open(path, verify=True)


def test_damaged_rows_of_a_task_are_named(tmp_path):
    build = ShardBuild.start(tmp_path / "index", empty_index(), 1)
    put(build, 0, KEYS["int"], signatures())
    rows_path = tmp_path / "index" / ".build" / "rows-000000"
    data = rows_path.read_bytes()
    for place in (5000, len(data) - 100, len(data) - 1):
        rows_path.write_bytes(
            data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        )
        with pytest.raises(FormatError, match=r"rows-000000: .*checksum is wrong"):
            build.build_shard(0)


def test_hostile_files_are_searched_by_ranges_without_harm(tmp_path, memory_folder):
    """Sections have no checksums that a search could check: all that they refer to is checked."""
    one_index("str").save(tmp_path / "one.lsh")
    data = np.fromfile(tmp_path / "one.lsh", np.uint8)
    rng = np.random.default_rng(3)
    rows = signatures()[::10]
    errors = 0
    for _ in range(20):
        other = data.copy()
        places = rng.integers(8192, len(data) - 600, 200)
        other[places] = rng.integers(0, 256, 200)
        Path(tmp_path / "other.lsh").write_bytes(other.tobytes())
        memory_folder(tmp_path / "other.lsh")
        with suppress(FormatError):
            index = LSHIndex.open("memory://shard-tests")
            index.query(rows, k=2)
            index.contains(KEYS["str"][:20])
            continue
        errors += 1
    assert errors


# ---- ranges ----


def test_a_search_reads_little_of_a_large_file(tmp_path, memory_folder):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2**63, (6_000, 16)).astype(np.uint64)
    one = empty_index()
    one.insert(np.arange(6_000), rows)
    memory_folder(f"{in_folder(tmp_path / 'index', one, 2)}/")
    index = LSHIndex.on(RangeStore("memory://shard-tests", cache_bytes=1 << 18))
    assert list(index.query(rows[::600])) == list(one.query(rows[::600]))
    assert 0 < index.stats().store["cache size"] <= 1 << 18
    assert list(index.query(rows)) == list(one.query(rows))


def test_a_store_that_does_not_tell_what_is_absent(tmp_path, memory_folder):
    """S3 does not, to users who may not list a bucket."""
    fsspec = pytest.importorskip("fsspec")

    class SecretiveFileSystem(fsspec.get_filesystem_class("memory")):
        protocol = "secretive"

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.replace(cls.protocol, "memory"))

        def cat_file(self, path, *args, **options):
            try:
                return super().cat_file(path, *args, **options)
            except FileNotFoundError:
                raise PermissionError(path) from None

    fsspec.register_implementation("secretive", SecretiveFileSystem, clobber=True)
    one = one_index()
    one.save(tmp_path / "one.lsh")
    memory_folder(tmp_path / "one.lsh")
    with LSHIndex.open("secretive://shard-tests") as index:
        assert list(index.query(signatures())) == list(one.query(signatures()))


@pytest.mark.slow
def test_an_index_on_s3(tmp_path, server):  # noqa: F811 (a fixture)
    import fsspec

    fsspec.config.set_conf_env(fsspec.config.conf)
    system = fsspec.filesystem("s3")
    system.mkdir("indexes")
    one = one_index("str")
    path = in_folder(tmp_path / "index", one)
    system.put(f"{path}/", "indexes/a/", recursive=True)
    with LSHIndex.open("s3://indexes/a", verify=True) as index:
        assert_same_answers(index, one, signatures())
    system.rm(f"indexes/a/{sorted(path.glob('*.lsh'))[1].name}")
    with pytest.raises(FormatError, match=r"-00001\.lsh is missing"):
        LSHIndex.open("s3://indexes/a")
    with pytest.raises(FileNotFoundError):
        LSHIndex.open("s3://indexes/absent")
    system.rm("indexes", recursive=True)


def test_the_store_says_what_it_is(tmp_path):
    path = in_folder(tmp_path / "index", one_index())
    with LSHIndex.open(path) as index:
        assert isinstance(index.store, ShardStore)
        assert index.stats().store["shards"] == index.store.shards == 3
        assert repr(index.store).endswith("mode='r', 200 entries)")
    shutil.rmtree(path)


# ---- commands ----


@pytest.mark.slow
def test_commands_take_a_folder(tmp_path, monkeypatch):
    pytest.importorskip("typer", reason="the commands need typer")
    pytest.importorskip("pyarrow", reason="the commands need pyarrow")
    from tests.cli.commands import run, write_jsonl

    def output_of(*words):
        done = run(*words)
        assert done.exit_code == 0, done.output
        return done.output

    monkeypatch.chdir(tmp_path)
    texts = [" ".join(f"w{i // 2 * 7 + j}" for j in range(30)) for i in range(60)]
    rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
    write_jsonl(tmp_path / "rows.jsonl", rows[:40])
    write_jsonl(tmp_path / "all.jsonl", rows)
    ids = ("--id-column", "id", "-q")
    for place, options in (("one.lsh", ()), ("folder", ("--shards", 3))):
        output_of("index", "build", "rows.jsonl", "-o", place, *options, *ids)
        output_of("index", "remove", place, "d0", "d5", "-q")
        output_of("index", "add", place, "all.jsonl", "--on-duplicate", "skip", *ids)
        output_of("index", "compact", place, "-q")
    answers = output_of("index", "query", "one.lsh", "all.jsonl", *ids)
    assert answers.count("\n") == 120
    url = (tmp_path / "folder").as_uri()
    for place in ("folder", url):
        assert output_of("index", "query", place, "all.jsonl", *ids) == answers
        assert "sound, 60 entries" in output_of("index", "verify", place)
        assert "shards                     3" in output_of("index", "info", place)
        output_of(
            "dedup",
            "all.jsonl",
            "--against",
            place,
            "-o",
            "kept.jsonl",
            "--overwrite",
            *ids,
        )
        assert (tmp_path / "kept.jsonl").read_text() == ""
    output_of("index", "remove", "folder", *(f"d{i}" for i in range(20)), "-q")
    output_of(
        "dedup",
        "all.jsonl",
        "--against",
        "folder",
        "--save-index",
        "folder",
        "-o",
        "new.jsonl",
        *ids,
    )
    assert "sound, 50 entries" in output_of("index", "verify", "folder")
    assert len((tmp_path / "new.jsonl").read_text().splitlines()) == 10
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\n')
    output_of("index", "add", "folder/", "bad.jsonl", "--on-error", "skip", *ids)
    assert (tmp_path / "folder.rejects.jsonl").exists()
    refused = run("index", "build", "rows.jsonl", "-o", "folder", "--shards", 2, *ids)
    assert "folder: the output exists already" in refused.output
    output_of(
        "index",
        "build",
        "rows.jsonl",
        "-o",
        "folder",
        "--shards",
        2,
        "--overwrite",
        *ids,
    )
    assert len(os.listdir("folder")) == 3


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["weighted", "vector"])
def test_runs_over_points_change_a_folder_in_place(tmp_path, kind):
    pytest.importorskip("pyarrow", reason="rows of files need pyarrow")
    import lshfast
    from tests.cli.commands import write_jsonl

    def rows_of(start):
        numbers = range(start, start + 20)
        if kind == "weighted":
            return [{"id": i, "items": {f"t{i}": 1.5, f"u{i}": 2.0}} for i in numbers]
        return [{"id": i, "items": [float(i), 1.0, i % 7.0]} for i in numbers]

    for name, start in (("old", 0), ("new", 10)):
        write_jsonl(tmp_path / f"{name}.jsonl", rows_of(start))
    one = tmp_path / "one.lsh"
    options = {"column": "items", "id_column": "id"}
    if kind == "vector":
        options |= {"measure": "euclidean", "radius": 0.1}
    lshfast.dedup_files(
        tmp_path / "old.jsonl", tmp_path / "a.jsonl", save_index=one, **options
    )
    index_class = LSHIndex if kind == "weighted" else NearNeighbors
    with index_class.open(one) as index:
        index.save(tmp_path / "folder", shards=2)
    for place in (one, tmp_path / "folder"):
        lshfast.dedup_files(
            tmp_path / "new.jsonl",
            tmp_path / "b.jsonl",
            against=place,
            save_index=place,
            overwrite=True,
            **options,
        )
        assert len((tmp_path / "b.jsonl").read_text().splitlines()) == 10
        with index_class.open(place, verify=True) as index:
            assert sorted(index) == list(range(30))


@pytest.mark.parametrize("place", ["folder", "one.lsh"])
def test_a_run_within_memory_takes_the_url_of_an_index(tmp_path, memory_folder, place):
    pytest.importorskip("pyarrow", reason="rows of files need pyarrow")
    import lshfast
    from tests.cli.commands import write_jsonl

    texts = [" ".join(f"w{i * 7 + j}" for j in range(30)) for i in range(10)]
    rows = [{"id": i, "text": text} for i, text in enumerate(texts)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    write_jsonl(tmp_path / "old.jsonl", rows[:4])
    lshfast.dedup_files(
        tmp_path / "old.jsonl",
        tmp_path / "a.jsonl",
        id_column="id",
        save_index=tmp_path / "one.lsh",
    )
    if place == "folder":
        with LSHIndex.open(tmp_path / "one.lsh") as index:
            index.save(tmp_path / "folder", shards=2)
    memory_folder(f"{tmp_path / place}{'/' * (place == 'folder')}")
    lshfast.dedup_files(
        tmp_path / "rows.jsonl",
        tmp_path / "b.jsonl",
        id_column="id",
        against="memory://shard-tests",
        memory="500M",
    )
    assert len((tmp_path / "b.jsonl").read_text().splitlines()) == 6


def test_a_record_of_deep_lists_is_damaged(tmp_path):
    (tmp_path / RECORD_NAME).write_text("[" * 100_000)
    with pytest.raises(FormatError, match=r"shards\.json: damaged"):
        read_record(tmp_path)

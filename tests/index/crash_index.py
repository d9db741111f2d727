"""Kill what writes an index, and look at what is left: what test_crash.py runs, in a process that may fork.

    python -m tests.index.crash_index steps|kills|power save|commit|compact FOLDER [COUNT]

steps: an act is killed before, within and after each of its writes, and before and after each other call that changes
something on disk. kills: acts in a row are killed after a random time, COUNT times. power: of what was written since
the last sync any part may be lost. What is left must open, pass verify, and hold a state that was or was to be; of
some it is tried that one more commit goes through. Printed are the number of killings, how many left the old
state, how many the new one, and how many a torn header.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

from lshfast import LSHIndex
from lshfast._common import container
from lshfast._common.errors import FormatError
from tests.reference import index_file

SMALL = {"num_perm": 8, "bands": 3, "rows_per_band": 2}
FIRST = dict.fromkeys(range(30), 0)
SECONDS = 0.012  # an act takes some three milliseconds


# ---- states, and the acts that lead from one to the next: the value of a key stands for its
# signature ----


def signatures(values):
    return np.array(
        [np.random.default_rng(value).integers(0, 3, 8) for value in values], np.uint64
    )


def fill(index, entries):
    index.insert(list(entries), signatures(entries.values()))


def following(entries, turn):
    """Return the next state: one key is removed, some are replaced, some are new."""
    after = {key: value for key, value in entries.items() if key % 31 != turn}
    return {**after, **dict.fromkeys(range(turn % 31 + 1, turn % 31 + 6), turn + 1)}


def change(index, before, after):
    """Bring an open index from one state to the next, up to the act that writes it."""
    index.remove([key for key in before if key not in after])
    fill(
        index, {key: value for key, value in after.items() if before.get(key) != value}
    )


def save(path, before, after):
    index = LSHIndex(**SMALL)
    fill(index, after)
    yield lambda: index.save(path)


def commit(path, before, after):
    with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
        change(index, before, after)
        yield index.commit


def compact(path, before, after):
    with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
        change(index, before, after)
        yield index.compact


ACTS = {"save": save, "commit": commit, "compact": compact}


# ---- what is left ----


def look(path, states, by_page=True):
    """Return which of the states a file holds, and whether one of its headers is torn; all else must be right.

    By the page as well: that takes as long as all else.
    """
    torn = False
    with LSHIndex.open(path, verify=True) as index:
        try:
            index.verify()
        except FormatError as error:
            if "header: the one at byte" not in str(error):
                raise
            torn = True
        items = [
            item
            for keys, rows in index.store.items()
            for item in zip(keys, rows.tolist(), strict=True)
        ]
        found = {key: tuple(row) for key, row in items}
    assert not by_page or index_file.read(Path(path).read_bytes()).entries() == found
    expected = [
        dict(zip(state, map(tuple, signatures(state.values()).tolist()), strict=True))
        for state in states
    ]
    assert found in expected, (
        f"{len(found)} entries, which are none of {len(expected)} states"
    )
    return expected.index(found), torn


def go_on(path):
    """Open what is left for writing, and commit once more."""
    with LSHIndex.open(path, "r+") as index:
        size = len(index)
        index.insert([1000], signatures([7]))
    with LSHIndex.open(path, verify=True) as index:
        index.verify()
        assert len(index) == size + 1


def restore(path, before):
    """Write the first state, and remove what the killed left behind."""
    for left in path.parent.iterdir():
        left.unlink()
    path.write_bytes(before)


def ended(pid):
    """Return the signal that ended a process, 0 if it ended well."""
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the act failed"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def forked(act):
    """Do something in a process of its own; return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        act()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


# ---- killed at each step ----


def die_at(last):
    """Make this process kill itself at the so-many-th step."""
    count = 0

    def step():
        nonlocal count
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(file, data):
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        for piece in (view[: len(view) // 2], view[len(view) // 2 :]):
            step()
            real_write(file, piece)
            file.flush()
        step()

    def around(name):
        real = getattr(os, name)

        def call(*arguments, **options):
            step()
            result = real(*arguments, **options)
            step()
            return result

        setattr(os, name, call)

    real_write = container.write_all
    container.write_all = write
    for name in ("fsync", "replace", "unlink"):
        around(name)


def steps(name, folder):
    path = folder / "index"
    index = LSHIndex(**SMALL)
    fill(index, FIRST)
    index.save(path)
    before, after = path.read_bytes(), following(FIRST, 3)
    seen = []

    def act(last):
        for write in ACTS[name](path, FIRST, after):
            die_at(last)
            write()
            os._exit(0)

    for last in range(1, 1000):
        restore(path, before)
        killed = ended(forked(lambda last=last: act(last)))
        state, _ = look(path, [FIRST, after])
        seen.append(state)
        if last % 2:
            go_on(path)
        if not killed:
            break
    assert seen == sorted(seen), "a later step left an older state"
    assert seen[0] == 0
    assert seen[-1] == 1
    return Counter(seen[:-1])


# ---- killed at any time ----


def kills(name, folder, count):
    path, chance, seen = folder / "index", random.Random(name), Counter()
    index = LSHIndex(**SMALL)
    fill(index, FIRST)
    index.save(path)
    before = path.read_bytes()
    states = [FIRST]
    while len(states) < 200:
        states.append(following(states[-1], len(states)))

    def act(progress):
        for turn in range(len(states) - 1):
            for write in ACTS[name](path, states[turn], states[turn + 1]):
                write()
                os.write(progress, b".")

    while seen["killed"] < count:
        restore(path, before)
        reading, progress = os.pipe()
        pid = forked(lambda progress=progress: act(progress))
        os.close(progress)
        os.read(reading, 1)  # it is under way
        time.sleep(chance.random() * SECONDS)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        killed = ended(pid)
        done = 1
        while more := os.read(reading, 4096):
            done += len(more)
        os.close(reading)
        if not killed:
            continue  # it was through with all of them
        state, _ = look(path, states[done : done + 2], by_page=False)
        if seen["killed"] % 4 == 0:
            go_on(path)
        seen["killed"] += 1
        seen[state] += 1
    return seen


# ---- the power fails ----


def power(name, folder, count):
    """Lose any part of what was written since the last sync, down to single bytes."""
    assert name == "commit", (
        "the others write a file of its own, and rename it when it is synced"
    )
    path, chance, seen = folder / "index", random.Random(0), Counter()
    index = LSHIndex(**SMALL)
    fill(index, FIRST)
    index.save(path)
    before, after = path.read_bytes(), following(FIRST, 3)
    epochs = [[]]
    real_write, real_sync = container.write_all, os.fsync

    def write(file, data):
        epochs[-1].append((file.tell(), bytes(data)))
        real_write(file, data)

    def sync(file):
        epochs.append([])
        real_sync(file)

    for act in commit(path, FIRST, after):
        container.write_all, os.fsync = write, sync
        act()
        container.write_all, os.fsync = real_write, real_sync
    assert [len(epoch) for epoch in epochs[1:]] == [1, 1, 0], (
        "data, sync, header, sync, header, sync"
    )
    for _ in range(count):
        synced = chance.randrange(len(epochs))
        data = bytearray(before)
        for epoch in epochs[:synced]:
            for at, written in epoch:
                data = put(data, at, written)
        for at, written in epochs[synced]:
            if chance.random() < 0.7:
                grain = chance.choice([1, 8, 64, 512, 4096])
                for start in range(0, len(written), grain):
                    if chance.random() < 0.7:
                        data = put(data, at + start, written[start : start + grain])
        restore(path, bytes(data))
        state, torn = look(path, [FIRST, after])
        if torn or chance.random() < 0.2:
            go_on(path)
        assert state == 0 if synced == 0 else state == 1 or synced == 1
        seen[state] += 1
        seen["torn"] += torn
    return seen


def put(data, at, written):
    if len(data) < at:
        data += bytes(at - len(data))
    data[at : at + len(written)] = written
    return data


if __name__ == "__main__":
    way, name, folder, *rest = sys.argv[1:]
    found = {"steps": steps, "kills": kills, "power": power}[way](
        name, Path(folder), *map(int, rest)
    )
    print(sum(found[state] for state in (0, 1)), found[0], found[1], found["torn"])

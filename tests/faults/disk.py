"""A model of a disk: from the calls that a run made, the states that a crash may leave.

What is synced is there. Of the rest, any part may be: each block of a write, each change of a file's size, and
each change of a folder's names, in any combination. (A rename is one change: the new name is there and
the old one is not.) See Pillai et al., "All file systems are not created equal", OSDI 2014.
"""

import hashlib
import os
import random
import struct
from itertools import product
from pathlib import Path
from typing import NamedTuple

HEAD = struct.Struct("<IIIIQQQ")
BLOCK_BYTES = 4096
MOST_EXHAUSTIVE = 12
NAMES = "cmdurl"  # the changes of names: create, mkdir, rmdir, unlink, rename, link


class Change(NamedTuple):
    """A change: what it is, the file (a number) or the names, the place, and the bytes."""

    operation: str
    file: int
    names: tuple
    offset: int = 0
    data: bytes = b""


def read_log(path):
    """Yield (operation, first path, second path, inode, offset, bytes) of each call."""
    data = Path(path).read_bytes()
    at = 0
    while at < len(data):
        code, first_length, second_length, _, inode, offset, length = HEAD.unpack_from(
            data, at
        )
        at += HEAD.size
        first = os.fsdecode(data[at : at + first_length])
        at += first_length
        second = os.fsdecode(data[at : at + second_length])
        at += second_length
        operation = chr(code)
        content = data[at : at + length] if operation == "w" else b""
        at += len(content)
        yield operation, first, second, inode, offset, content


class Disk:
    """The files below a folder before a run, and what the run changed.

    Parameters
    ----------
    folder : Path
        As it is before the run.
    """

    def __init__(self, folder):
        self.folder = folder
        self.files = {}  # by paths; None for folders
        self.contents = {}  # by numbers of files
        self._numbers = {}  # by inodes
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_dir():
                self.files[name] = None
                continue
            number = self._new_number(path.stat().st_ino)
            self.files[name] = number
            self.contents[number] = path.read_bytes()
        self.changes = []
        self._moved = {}

    def _new_number(self, inode):
        number = len(self._numbers) + len(self.contents) + 1
        self._numbers[inode] = number
        self.contents.setdefault(number, b"")
        return number

    def _name(self, path):
        return os.path.relpath(path, self.folder) if path else ""

    def read(self, log):
        """Take the changes of a log."""
        self.take(self._changes_of(log))

    def _changes_of(self, log):
        for operation, first, second, inode, offset, data in read_log(log):
            names = (self._name(first), self._name(second))
            if operation == "c":
                yield Change("c", self._new_number(inode), names)
            elif operation in NAMES:
                yield Change(operation, 0, names)
            elif operation == "S":  # a folder
                yield Change("s", 0, names)
            elif inode in self._numbers:  # not of a file without a name
                yield Change(operation, self._numbers[inode], names, offset, data)

    def take(self, changes):
        """Take changes, of which writes are divided into blocks."""
        for change in changes:
            self.contents.setdefault(change.file, b"")
            self.changes += blocks(change)
        self._moved = self._moved_files()

    def pending(self, end):
        """Return which of the first changes are durable, and which may be lost, as two lists of places."""
        durable = []
        lost = []
        synced_files = set()
        synced_folders = set()
        for place in range(end - 1, -1, -1):
            change = self.changes[place]
            if change.operation == "s":
                if change.file:
                    synced_files.add(change.file)
                else:
                    synced_folders.add(change.names[0])
                continue
            if change.operation in NAMES:
                folders = {
                    os.path.dirname(name) or "." for name in change.names if name
                }
                is_durable = folders <= synced_folders
            else:
                is_durable = change.file in synced_files
            (durable if is_durable else lost).append(place)
        return durable[::-1], lost[::-1]

    def state(self, places):
        """Return the contents of files, by paths, after some of the changes; None for folders."""
        names = dict(self.files)
        contents = {number: bytearray(data) for number, data in self.contents.items()}
        for place in sorted(places):
            change = self.changes[place]
            if change.operation == "w":
                content = contents[change.file]
                if len(content) < change.offset:
                    content += bytes(change.offset - len(content))
                content[change.offset : change.offset + len(change.data)] = change.data
            elif change.operation == "t":
                content = contents[change.file]
                del content[change.offset :]
                content += bytes(change.offset - len(content))
            elif change.operation in NAMES:
                change_names(names, change, self._moved.get(place))
        return {
            name: number if number is None else bytes(contents[number])
            for name, number in names.items()
            if is_reached(name, names)
        }

    def states(self, most, seed=0):
        """Yield the different states after a crash: all subsets of up to 12 changes, else some.

        Yields
        ------
        dict
            As of `state`. At most `most` different ones; if there are more, each end of the calls has its share.
        """
        chance = random.Random(seed)
        ends = range(len(self.changes) + 1)
        share = max(most // len(ends), 4)
        seen = set()
        for end in ends:
            durable, lost = self.pending(end)
            for choice in subsets(len(lost), share, chance):
                kept = [
                    place
                    for place, is_kept in zip(lost, choice, strict=True)
                    if is_kept
                ]
                state = self.state(durable + kept)
                digest = digest_of(state)
                if digest not in seen:
                    seen.add(digest)
                    yield state

    def _moved_files(self):
        """Return the files that each rename and link is about, by its place: the ends of their paths, and numbers.

        A new name is that of the file which the old name had when the call was made, in every state.
        """
        names = dict(self.files)
        moved = {}
        for place, change in enumerate(self.changes):
            if change.operation in "rl":
                first = change.names[0]
                moved[place] = {
                    name[len(first) :]: number
                    for name, number in names.items()
                    if name == first or name.startswith(first + "/")
                }
            if change.operation in NAMES:
                change_names(names, change, moved.get(place))
        return moved


def is_reached(name, names):
    """Return whether all folders of a name are there; a lost folder loses its files."""
    folders = [str(parent) for parent in Path(name).parents][:-1]
    return all(names.get(folder, "absent") is None for folder in folders)


def change_names(names, change, moved):
    """Change the names of files and folders."""
    first, second = change.names
    if change.operation == "c":
        names[first] = change.file
    elif change.operation == "m":
        names[first] = None
    elif change.operation in "du":
        names.pop(first, None)
    else:
        for rest, number in moved.items():
            names[second + rest] = number
            if change.operation == "r":
                names.pop(first + rest, None)


def blocks(change):
    """Return the blocks of a write, which may be lost one by one."""
    if change.operation != "w":
        return [change]
    parts = []
    at = 0
    while at < len(change.data):
        size = BLOCK_BYTES - (change.offset + at) % BLOCK_BYTES
        part = change.data[at : at + size]
        parts.append(change._replace(offset=change.offset + at, data=part))
        at += size
    return parts


def subsets(count, most, chance):
    """Yield choices among changes: all if they are few, else none, all, all but one, and random ones."""
    if count <= MOST_EXHAUSTIVE and 2**count <= most:
        yield from product((False, True), repeat=count)
        return
    yield (False,) * count
    yield (True,) * count
    singles = chance.sample(range(count), min(count, most // 4))
    for one in singles:
        yield tuple(at != one for at in range(count))
        yield tuple(at == one for at in range(count))
    for _ in range(max(0, most - 2 - 2 * len(singles))):
        share = chance.random()
        yield tuple(chance.random() < share for _ in range(count))


def digest_of(state):
    digest = hashlib.sha256()
    for name in sorted(state):
        content = state[name]
        digest.update(
            f"{name}\0{'folder' if content is None else len(content)}\0".encode()
        )
        digest.update(content or b"")
    return digest.digest()


def lay(state, folder):
    """Bring a folder to a state. Files that have their contents already stay: a run knows its inputs by their times."""
    for path in sorted(folder.rglob("*"), reverse=True):
        content = state.get(str(path.relative_to(folder)), "absent")
        if path.is_dir():
            if content == "absent":
                path.rmdir()
        elif content is None or content == "absent" or path.read_bytes() != content:
            path.unlink()
    for name, content in sorted(state.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if content is None:
            path.mkdir(exist_ok=True, mode=0o700)
        elif not path.exists():
            path.write_bytes(content)
            path.chmod(0o600)

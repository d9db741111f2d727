"""A model of a disk: from the calls that a run made, the states that a crash may leave.

What is synced is there. Of the rest, any part may be, in any order: each block of a write, each change of a file's
size, and each change of a folder's names. (A rename is one change: the new name is there and the old one is
not.) See Pillai et al., "All file systems are not created equal", OSDI 2014.
"""

import hashlib
import math
import os
import random
import struct
import sys
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, islice, product
from pathlib import Path
from typing import NamedTuple

HEAD = struct.Struct("<IIIIQQQ")
BLOCK_BYTES = 4096
NAMES = "cmdurl"  # the changes of names: create, mkdir, rmdir, unlink, rename, link


class Change(NamedTuple):
    """A change: what it is, the file (a number) or the names, the place, and the bytes."""

    operation: str
    file: int
    names: tuple
    offset: int = 0
    data: bytes = b""

    @property
    def end(self):
        """The first byte behind those that it changes."""
        return self.offset + len(self.data) if self.operation == "w" else sys.maxsize


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
        """Return the contents of files, by paths, after changes in an order; None for folders."""
        names = dict(self.files)
        contents = {number: bytearray(data) for number, data in self.contents.items()}
        for place in places:
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

    def states(self, most, seed=0, unsynced=0):
        """Yield the different states after a crash.

        Parameters
        ----------
        most : int
            The number of states to draw; each end of the calls has an equal share.
        seed : int
            Of what is drawn.
        unsynced : int
            Where at most so many changes are pending, all of their subsets in all orders are built.

        Yields
        ------
        dict
            As of `state`; those with equal contents once.
        """
        chance = random.Random(seed)
        ends = range(len(self.changes) + 1)
        share = max(most // len(ends), 4)
        seen = set()
        for end in ends:
            durable, lost = self.pending(end)
            is_all = len(lost) <= unsynced
            for kept in subsets(lost, math.inf if is_all else share, chance):
                for order in self._orders(kept, is_all, chance):
                    state = self.state(durable + order)
                    digest = digest_of(state)
                    if digest not in seen:
                        seen.add(digest)
                        yield state

    def _orders(self, places, is_all, chance):
        """Yield orders of changes: that of the calls, and all others that may lead to other states, or one.

        Only changes that meet, in a name or in bytes of a file, are exchanged.
        """
        met = [pair for pair in combinations(places, 2) if self._meet(*pair)]
        fixed = [pair for pair in met if self._needs(*pair)]
        pairs = [pair for pair in met if pair not in fixed]
        yield list(places)
        if is_all:
            choices = islice(product((False, True), repeat=len(pairs)), 1, None)
        else:
            choices = [[chance.random() < 0.5 for _ in pairs]]
        for choice in choices:
            earlier = {place: set() for place in places}
            for first, second in fixed:
                earlier[second].add(first)
            for (first, second), is_exchanged in zip(pairs, choice, strict=True):
                if is_exchanged:
                    earlier[first].add(second)
                else:
                    earlier[second].add(first)
            with suppress(CycleError):
                yield list(TopologicalSorter(earlier).static_order())

    def _needs(self, first, second):
        """Return whether the second change is about a name that the first one makes."""
        one = self.changes[first]
        other = self.changes[second]
        if one.operation not in NAMES:
            return False
        made = one.names[1] if one.operation in "rl" else one.names[0]
        return one.operation in "cmrl" and made == other.names[0]

    def _meet(self, first, second):
        """Return whether the order of two changes matters."""
        one = self.changes[first]
        other = self.changes[second]
        if one.operation in NAMES and other.operation in NAMES:
            return bool({*one.names} & {*other.names} - {""})
        if one.operation in NAMES or other.operation in NAMES or one.file != other.file:
            return False
        return one.offset < other.end and other.offset < one.end

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


def subsets(places, most, chance):
    """Yield subsets of changes: all, unless they are too many; else none, all, all but one, one, random ones."""
    if 2 ** len(places) <= most:
        for size in range(len(places) + 1):
            yield from combinations(places, size)
        return
    yield []
    yield places
    singles = chance.sample(places, min(len(places), most // 4))
    for single in singles:
        yield [place for place in places if place != single]
        yield [single]
    for _ in range(max(0, most - 2 - 2 * len(singles))):
        share = chance.random()
        yield [place for place in places if chance.random() < share]


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

"""Every state after a crash of a scenario: each is built in a folder, and read and worked on as after a restart."""

import os
import random
import re
import shutil
import tempfile
import traceback
from collections import Counter

from tests.faults.disk import Disk, digest_of, lay
from tests.faults.injection import TEMPORARY, snapshot
from tests.faults.scenarios import CRASHES

# What was being written when the machine stopped: files, which the next writer of the same output removes, and
# folders of runs within a cap.
HIDDEN = re.compile(r"\..*\.[0-9a-f]{16}\.part")
HIDDEN_FOLDER = re.compile(r"\.lshfast-.*")

# The share of states after which the work is done again although it was done after one that differs in nothing but the
# contents of hidden files of outputs.
SHARE_AGAIN = 0.02


class Crashes:
    """A scenario whose changes of the disk are recorded."""

    def __init__(self, name, folder, library):
        self.scenario = CRASHES[name]
        self.base = folder
        self.first = folder / "first"
        self.work = folder / "work"
        self.first.mkdir()
        self.scenario.prepare(self.first)
        shutil.copytree(self.first, self.work)
        self.temporary = folder / TEMPORARY
        self.temporary.mkdir()
        tempfile.tempdir = str(self.temporary)
        self.disk = Disk(self.work)
        self.old = self._read(self.work)
        log = folder / "log"
        file = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
        library.record(file, str(self.work))
        try:
            self.scenario.run(self.work)
        finally:
            library.stop()
            os.close(file)
        self.disk.read(log)
        self.new = self._read(self.work)
        assert self._read_state(len(self.disk.changes)) == snapshot(self.work)

    def _read_state(self, end):
        return self.disk.state(range(end))

    def _read(self, folder):
        """Return what a user reads: the outputs; a fault of one of them is raised."""
        contents = snapshot(folder, self.scenario.reading)
        return {
            name: content for name, content in contents.items() if self._is_read(name)
        }

    def _is_read(self, name):
        """Return whether a user reads a file: outputs, but no hidden files, locks and work folders."""
        first = name.split("/")[0]
        is_hidden = is_hidden_output(name) or HIDDEN_FOLDER.fullmatch(first)
        is_lock = name.endswith(".lock")
        is_work = first in (*self.scenario.ignored, *self.scenario.left)
        return not (is_hidden or is_lock or is_work)

    def _is_in_hidden_folder(self, path):
        return bool(HIDDEN_FOLDER.fullmatch(path.relative_to(self.work).parts[0]))

    def contents_met(self, state):
        """Return a digest of what the next run meets: of hidden files of outputs the names, since it removes them."""
        return digest_of(
            {
                name: b"" if is_hidden_output(name) else content
                for name, content in state.items()
            }
        )

    def tried(self, state, is_again):
        """Build a state and look at it; return whether all is old, new, or some of both, and faults."""
        lay(state, self.work)
        faults = []
        try:
            found = self._read(self.work)
        except Exception as error:
            faults.append("unreadable: " + "".join(traceback.format_exception(error)))
            return "unreadable", faults
        states = set()
        for name in {*found, *self.old, *self.new}:
            content = found.get(name, "absent")
            old = self.old.get(name, "absent")
            new = self.new.get(name, "absent")
            if content not in (old, new):
                faults.append(f"{name} is between: {content!r:.80}")
            elif old != new:
                states.add("old" if content == old else "new")
        if is_again:
            faults += self._again()
        kind = states.pop() if len(states) == 1 else "some of both" if states else "old"
        return kind, faults

    def _again(self):
        """Do the work after the restart; return what is wrong."""
        try:
            (self.scenario.again or self.scenario.run)(self.work)
        except Exception as error:
            return ["not again: " + "".join(traceback.format_exception(error))]
        if not self.scenario.repeatable:
            return []
        found = self._read(self.work)
        faults = [
            f"after another run: {name} differs"
            for name in {*found, *self.new}
            if found.get(name, "absent") != self.new.get(name, "absent")
        ]
        # The folder of a killed run within a cap stays, with what is in it.
        left = [
            path.name
            for path in self.work.rglob(".*")
            if is_hidden_output(path.name) and not self._is_in_hidden_folder(path)
        ]
        if left:
            faults.append(f"left after another run: {left}")
        return faults


def is_hidden_output(name):
    """Return whether a file is one that gets the name of an output when it is complete."""
    return bool(HIDDEN.fullmatch(os.path.basename(name)))


def crash_campaign(name, library, folder, options):
    """Try the states of a scenario; return the counts, and the faults of those that went wrong."""
    crashes = Crashes(name, folder, library)
    chance = random.Random(options.seed)
    counts = Counter(changes=len(crashes.disk.changes))
    wrong = []
    met = set()
    for state in crashes.disk.states(options.most, options.seed, options.unsynced):
        digest = crashes.contents_met(state)
        is_again = digest not in met or chance.random() < SHARE_AGAIN
        met.add(digest)
        kind, faults = crashes.tried(state, is_again)
        counts["states"] += 1
        counts[kind] += 1
        counts["worked on"] += is_again
        if faults:
            wrong.append((sorted(name for name in state), faults))
    counts["wrong"] = len(wrong)
    return counts, wrong

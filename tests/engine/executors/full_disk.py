"""A disk that is full from some write on: creating, writing, reserving, syncing and renaming files fail."""

import builtins
import errno
import io
import os

from lshfast._common import atomic_files


class FullDisk:
    """Let everything that needs space fail from the n-th call on.

    Attributes
    ----------
    room : float
        The number of calls that succeed.
    calls : list of tuple
        What was called, and the path that was opened, or got a name by a link.
    """

    def __init__(self, monkeypatch, room=float("inf")):
        self.room, self.calls = room, []
        disk, real_open = self, builtins.open

        class File(io.FileIO):
            def write(self, data, /):
                disk.take("write")
                return super().write(data)

        def opened(file, mode="r", buffering=-1, *arguments, **options):
            if not isinstance(file, str) or not set(mode) & set("wxa+"):
                return real_open(file, mode, buffering, *arguments, **options)
            disk.take("open", file)
            assert "b" in mode
            raw = File(file, mode.replace("b", ""))
            return io.BufferedWriter(raw) if buffering else raw

        real_os_open = os.open

        def os_opened(path, flags, *arguments, **options):
            if flags & os.O_CREAT:
                disk.take("open", path)
            return real_os_open(path, flags, *arguments, **options)

        monkeypatch.setattr(builtins, "open", opened)
        monkeypatch.setattr(os, "open", os_opened)
        limited = type(
            "_NamedFile", (atomic_files._NamedFile, File), {}
        )  # its `super().write` is File.write
        monkeypatch.setattr(atomic_files, "_NamedFile", limited)
        for name in ("write", "fsync", "replace", "link", "posix_fallocate"):
            if hasattr(os, name):
                monkeypatch.setattr(os, name, self._limited(name, getattr(os, name)))

    def take(self, name, path=None):
        """Count a call, or fail if the disk is full."""
        self.calls.append((name, path))
        if len(self.calls) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def _limited(self, name, function):
        def limited(*arguments, **options):
            self.take(name, arguments[1] if name == "link" else None)
            return function(*arguments, **options)

        return limited

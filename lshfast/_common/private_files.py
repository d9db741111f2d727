"""Folders and files that only their owner can write to, so nobody else decides their bytes."""

from __future__ import annotations

import errno
import os
import stat
import sys

from lshfast._common.visible import printable


def check_folder(path: str) -> None:
    """Raise an error unless a folder is private.

    Raises
    ------
    NotADirectoryError
        If it is no folder, or a symbolic link.
    PermissionError
        If it belongs to another user, or its group or others can write to it. Windows has other
        permissions; there, they are not checked.
    """
    shown = printable(path)
    state = os.lstat(path.rstrip(os.sep) or os.sep)
    if stat.S_ISLNK(state.st_mode):
        raise NotADirectoryError(
            errno.ENOTDIR,
            "the work folder is a symbolic link; name the folder itself",
            shown,
        )
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "the work folder is a file", shown)
    if sys.platform == "win32":
        return
    if state.st_uid != os.geteuid():
        owner = f"user {state.st_uid}, not to user {os.geteuid()}, who runs this"
        raise PermissionError(
            errno.EACCES, f"the work folder belongs to {owner}", shown
        )
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = f"{stat.S_IMODE(state.st_mode):o}"
        reason = (
            f"other users can write to the work folder (its mode is {mode}): `chmod go-w` "
            "forbids it"
        )
        raise PermissionError(errno.EACCES, reason, shown)


def make_folder(path: str) -> None:
    """Create a private folder, or check one that exists: see `check_folder`."""
    try:
        os.makedirs(path, mode=0o700)
    except FileExistsError:
        check_folder(path)


def private(path: str, flags: int) -> int:
    """Open a file as an opener of `open`: a new one is private; no symbolic link is followed."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


class TemporaryFolder:
    """A new private folder that is removed, with all in it, at the end of a `with` block.

    It is also removed if memory is refused at any moment, such as between its creation and the
    block; `tempfile.TemporaryDirectory` leaves it then. Only the process that made it removes it.

    Parameters
    ----------
    parent : str, optional
        Where it is created; by default in the system's temporary folder.
    prefix : str
        The beginning of its name.
    """

    name: str
    _is_made = False

    def __init__(self, parent: str | None = None, prefix: str = "lshfast-") -> None:
        # Late, as they are rarely needed, and before the folder is there.
        import shutil
        import tempfile

        self._remove = shutil.rmtree
        self._process = os.getpid()
        place = os.path.abspath(tempfile.gettempdir() if parent is None else parent)
        self.name = os.path.join(place, prefix + os.urandom(8).hex())
        self._is_made = True
        try:
            os.mkdir(self.name, 0o700)
        except OSError:
            self._is_made = False
            raise

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def keep(self) -> None:
        """Leave the folder where it is, for good."""
        self._is_made = False

    def cleanup(self) -> None:
        """Remove the folder, as far as possible."""
        if not self._is_made or self._process != os.getpid():
            return
        self._remove(self.name, ignore_errors=True)
        if os.path.lexists(self.name):  # memory was refused, which is ignored as well
            self._remove(self.name, ignore_errors=True)
        self._is_made = False

    def __del__(self) -> None:
        self.cleanup()  # where no block was entered, or its end was interrupted

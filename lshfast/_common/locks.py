"""Lock files: one process at a time works on a folder or a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lshfast._common.atomic_files import naming
from lshfast._common.private_files import private


@contextmanager
def locked(path: str, refusal: str, remove: bool = False) -> Iterator[None]:
    """Hold a lock file, which is created if it does not exist; the lock ends with the process.

    Windows, and file systems without locks, have none: there, the file is only created.

    Parameters
    ----------
    path : str
        The lock file.
    refusal : str
        The message of the error if another process holds it.
    remove : bool, default False
        Whether the lock file is removed at the end.

    Raises
    ------
    ValueError
        If another process holds the lock.
    OSError
        If the file cannot be created.
    """
    name = os.fsencode(path)  # what releases the lock needs no memory
    file = _lock_file(path, name, refusal, remove)
    try:
        yield
    finally:
        _release(file, name, remove)


def _lock_file(path: str, name: bytes, refusal: str, remove: bool) -> int:
    while True:
        file = None
        try:
            with naming(path):
                file = private(path, os.O_RDWR | os.O_CREAT)
            if not _lock(file):
                raise ValueError(refusal)
            if _is_at(file, path):
                return file
        except BaseException:
            if file is not None:
                is_removed = remove and _lock(file) and _is_at(file, path)
                _release(file, name, is_removed)
            raise
        os.close(file)  # its holder has removed it meanwhile


def _release(file: int, name: bytes, remove: bool) -> None:
    """Close a lock file, and remove it while it is locked, so that no other process does."""
    try:
        if remove and sys.platform != "win32":
            os.unlink(name)
    except OSError:
        pass
    finally:
        os.close(file)
        if remove and sys.platform == "win32":  # which removes no open files
            with suppress(OSError):
                os.unlink(name)


def _lock(file: int) -> bool:
    """Lock an open file; return whether no other process holds the lock."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # a file system without locks
    return True


def _is_at(file: int, path: str) -> bool:
    """Return whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False

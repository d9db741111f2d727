"""Files that appear whole: written under a hidden name in their folder, synced and renamed.

Under its own name a file is complete or absent.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, BinaryIO, Protocol

from lshfast._common.private_files import private
from lshfast._common.visible import printable


@contextmanager
def atomic_file(
    path: str | os.PathLike[str],
    overwrite: bool = False,
    private: bool = False,
    permissions_of: str | os.PathLike[str] | None = None,
) -> Iterator[BinaryIO]:
    """Open a file that gets its name, complete, when the block ends.

    The file is written under a hidden name in the same folder. Hidden files that killed writers of
    the same output left behind are removed first.

    Parameters
    ----------
    path : path
        The final name. A symbolic link is followed, unless the file is private.
    overwrite : bool
        Whether a file of that name is replaced. The new file gets its permissions, and its owner
        and group where the process may set them.
    private : bool
        Whether only the owner may read the file, and a symbolic link of that name is replaced.
    permissions_of : path, optional
        A file whose permissions, owner and group the new file gets instead of those of the
        replaced one.

    Yields
    ------
    BinaryIO
        A binary stream. If the block raises (KeyboardInterrupt included), what it wrote is removed.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is false, also if it was created meanwhile.
    OSError
        If the path is a folder, device, pipe or socket, which are never replaced, or the file
        cannot be written (disk full, for example); the message names the final path. The file that
        was there before is unchanged then, with one exception: if only the folder cannot be synced,
        the new file is in place, and a power failure may bring back the old one.
    """
    name = printable(os.fspath(path))
    real = os.path.abspath(path) if private else os.path.realpath(path)
    if overwrite and not private:
        _check_replaceable(real, name)
    _remove_abandoned(real)
    model = None
    if permissions_of is not None:
        model = os.fspath(permissions_of)
    elif overwrite and not private:
        model = real
    hidden = _HiddenFile(real, overwrite, name, private, model)
    waiting = _waiting_outputs()
    queued = False
    try:
        with naming(name):
            hidden.create()
        stream = io.BufferedWriter(hidden.raw, 1 << 20)
        try:
            yield stream
            stream.flush()
            with naming(name):
                if model is not None:
                    _copy_permissions(model, hidden.raw.fileno())
                os.fsync(hidden.raw.fileno())
        finally:
            with suppress(OSError):
                stream.close()
        if waiting is None:
            hidden.publish()
        else:
            waiting.append(hidden)
            queued = True
    finally:
        if not queued:
            hidden.discard()


class Publishable(Protocol):
    """Something that appears as a whole."""

    def publish(self) -> None:
        """Let it appear."""
        ...

    def discard(self) -> None:
        """Close the file, and remove it unless it has been published."""
        ...


class _Block:
    """A block of code whose outputs wait for its end in a list, or appear at once (None).

    It says itself whether it is over: memory may be refused when a context variable is reset, and
    after it is set.
    """

    __slots__ = ("is_over", "outer", "waiting")

    def __init__(self, waiting: list[Publishable] | None) -> None:
        self.waiting = waiting
        self.is_over = False
        self.outer = _block.get()


_block: ContextVar[_Block | None] = ContextVar("_block", default=None)


@contextmanager
def _entered(waiting: list[Publishable] | None) -> Iterator[None]:
    block = _Block(waiting)
    token = None
    try:
        token = _block.set(block)
        yield
    finally:
        block.is_over = True
        if token is not None:
            _block.reset(token)


def _waiting_outputs() -> list[Publishable] | None:
    """Return the outputs of the innermost block, if they wait for its end."""
    block = _block.get()
    while block is not None and block.is_over:
        block = block.outer
    return None if block is None else block.waiting


def publish_at_end(output: Publishable) -> None:
    """Publish something with the files of the surrounding `all_or_none`, or else at once."""
    waiting = _waiting_outputs()
    if waiting is not None:
        waiting.append(output)
        return
    try:
        output.publish()
    finally:
        output.discard()


@contextmanager
def all_or_none() -> Iterator[None]:
    """Rename the files that `atomic_file` writes in the block at its end, or remove them.

    If renaming one of them fails, those renamed before it keep their new names, and the others are
    removed.
    """
    waiting: list[Publishable] = []
    try:
        with _entered(waiting):
            yield
            for hidden in waiting:
                hidden.publish()
    finally:
        _discard_all(waiting)


def _discard_all(waiting: list[Publishable]) -> None:
    """Discard each file, also after one where this fails; raise the last error."""
    last_error = None
    for hidden in waiting:
        try:
            hidden.discard()
        except BaseException as error:
            last_error = error
    if last_error is not None:
        raise last_error


@contextmanager
def at_once() -> Iterator[None]:
    """Rename the files that `atomic_file` writes in the block at once, also in `all_or_none`.

    It is for files that are not outputs, and on which the next step depends.
    """
    with _entered(None):
        yield


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the user's file in the error of a system call."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, printable(path)) from error


class _HiddenFile:
    """A new file under a hidden name, locked until it is published or discarded.

    It exists from `create` on, which is called where `discard` follows whatever interrupts it. The
    lock tells other writers that the file is in use. It belongs to the open file, so it ends with
    the process. On Windows there is no lock: an open file cannot be removed there.
    """

    raw: _NamedFile
    _lock: int | None = None

    def __init__(
        self,
        real: str,
        overwrite: bool,
        name: str,
        private: bool,
        model: str | None,
    ) -> None:
        self._real = real
        self._private = private
        self._model = model
        self._overwrite = overwrite
        self._name = name
        self._hidden: str | None = None

    def create(self) -> None:
        """Create the file."""
        # The file whose permissions it gets may be less readable than the umask says.
        private = self._private or (
            self._model is not None and os.path.exists(self._model)
        )
        while True:
            self._hidden = f"{_hidden_prefix(self._real)}{os.urandom(8).hex()}.part"
            self.raw = _NamedFile(self._hidden, self._name, 0o600 if private else 0o666)
            self._lock = None if sys.platform == "win32" else os.dup(self.raw.fileno())
            if self._lock is None or (
                _lock(self._lock) and os.path.exists(self._hidden)
            ):
                return
            self.raw.close()  # another writer took it for abandoned before it was locked
            self.discard()

    def publish(self) -> None:
        """Rename the file to its final name."""
        assert self._hidden is not None
        with naming(self._name):
            _rename(self._hidden, self._real, self._overwrite)

    def discard(self) -> None:
        """Remove the file unless it is published, and release the lock."""
        if self._hidden is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._hidden)
        self._release()

    def _release(self) -> None:
        """Release the lock first: wherever this is interrupted, no locked file is left open.

        An error of `close` says nothing about the file, which is synced or removed by then.
        """
        if self._lock is None:
            return
        number = self._lock
        try:
            _unlock(number)
        finally:
            self._lock = None
            try:  # noqa: SIM105 (`suppress` needs memory before the file is closed)
                os.close(number)
            except OSError:
                pass

    def __del__(self) -> None:
        self._release()  # where `discard` was interrupted


class _NamedFile(io.FileIO):
    """A new file whose write errors name its final path."""

    def __init__(self, hidden: str, name: str, mode: int) -> None:
        super().__init__(
            hidden, "xb", opener=lambda path, flags: os.open(path, flags, mode)
        )
        self.final = name

    def write(self, data: Any, /) -> int:
        with naming(self.final):
            return super().write(data)


if sys.platform == "win32":

    def _lock(number: int) -> bool:
        return True

    def _unlock(number: int) -> None:
        pass
else:
    import fcntl

    def _lock(number: int) -> bool:
        """Lock an open file; return False if another writer holds the lock."""
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def _unlock(number: int) -> None:
        """Release the lock, also where a forked child has the file open."""
        with suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_UN)


def _check_replaceable(real: str, name: str) -> None:
    """Raise OSError for a name that is not of a file, such as a device."""
    if os.path.isdir(real):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if os.path.exists(real) and not os.path.isfile(real):
        raise OSError(
            errno.EINVAL, "this is a device, pipe or socket, not a file", name
        )


def _hidden_prefix(real: str) -> str:
    folder, base = os.path.split(real)
    return os.path.join(folder, f".{base[:40]}.")


def _remove_abandoned(real: str) -> None:
    """Remove hidden files of killed writers of this output, as far as possible."""
    folder, prefix = os.path.split(_hidden_prefix(real))
    hidden = re.compile(re.escape(prefix) + r"[0-9a-f]{16}\.part")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if hidden.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    """Remove a hidden file unless it is locked, belongs to another user, or is no regular file."""
    if sys.platform == "win32":
        os.unlink(path)  # fails while it is open
        return
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        state = os.fstat(number)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
            return
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(state, os.lstat(path)):
            os.unlink(path)
    finally:
        os.close(number)


def _copy_permissions(model: str, number: int) -> None:
    """Give an open file the owner, group and permissions of a file, as far as allowed."""
    if sys.platform == "win32" or not os.path.exists(model):
        return
    old = os.stat(model)
    new = os.fstat(number)
    for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
        if owner not in (-1, new.st_uid) or group not in (-1, new.st_gid):
            with suppress(PermissionError):
                os.fchown(number, owner, group)
    mode = old.st_mode & 0o777
    # Another group than the old one gets what everyone has.
    if os.fstat(number).st_gid != old.st_gid:
        mode = mode & 0o707 | (mode & 0o007) << 3
    with suppress(PermissionError):
        os.fchmod(number, mode)


def _rename(hidden: str, real: str, overwrite: bool) -> None:
    """Rename a file to its final name, and sync the folder."""
    if overwrite:
        os.replace(hidden, real)
    else:
        _rename_new(hidden, real)
    try:
        sync_folder(os.path.dirname(real))
    except OSError as error:
        reason = (
            f"{error.strerror} while its folder was synced; the new file is in place"
        )
        raise OSError(error.errno, reason) from error


# Errors of file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def _rename_new(hidden: str, real: str) -> None:
    """Rename a file to a name that no file has, or raise FileExistsError.

    A link appears with its bytes. Without links, the name is reserved by an empty file first, which
    a process that is killed may leave.
    """
    if sys.platform == "win32":
        os.rename(hidden, real)  # which replaces nothing there
        return
    try:
        os.link(hidden, real)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(real, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(hidden, real)
        except BaseException:
            os.unlink(real)
            raise
    else:
        os.unlink(hidden)


def sync_file(path: str) -> None:
    """Wait until the bytes of a file, which the process may write, are on the disk."""
    with naming(path), open(path, "rb+", buffering=0, opener=private) as file:
        os.fsync(file.fileno())


def sync_folder(path: str) -> None:
    """Wait until the names in a folder are on the disk, where the file system can."""
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(folder)

"""Sessions of a MinHashLSH: contexts that insert or remove many entries, on a server in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lshfast.datasketch.lsh import MinHashLSH


class LSHSession:
    """What both sessions of a MinHashLSH share."""

    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()

    def close(self) -> None:
        """Send all pending entries."""
        self.lsh._entries.flush()


class MinHashLSHInsertionSession(LSHSession):
    """The context manager of `MinHashLSH.insertion_session`."""

    def __enter__(self) -> MinHashLSHInsertionSession:
        return self

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Insert a key and the sketch of its set, as ``MinHashLSH.insert`` does, and raise what that raises."""
        self.lsh._insert(key, minhash, check_duplication, True)


class MinHashLSHDeletionSession(LSHSession):
    """The context manager of `MinHashLSH.deletion_session`."""

    def __enter__(self) -> MinHashLSHDeletionSession:
        return self

    def remove(self, key: Any) -> None:
        """Remove a key, as ``MinHashLSH.remove`` does, and raise what that raises."""
        self.lsh._remove(key, True)

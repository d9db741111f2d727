"""Sessions of a MinHashLSH, which insert or remove many entries in batches on a server."""

from __future__ import annotations

from typing import Any


class LSHSession:
    """The common base of both sessions of a MinHashLSH."""

    def __init__(self, lsh: Any, buffer_size: int) -> None:
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
        """Insert a key and the sketch of its set; errors are those of ``MinHashLSH.insert``."""
        self.lsh._insert(key, minhash, check_duplication, True)


class MinHashLSHDeletionSession(LSHSession):
    """The context manager of `MinHashLSH.deletion_session`."""

    def __enter__(self) -> MinHashLSHDeletionSession:
        return self

    def remove(self, key: Any) -> None:
        """Remove a key; errors are those of ``MinHashLSH.remove``."""
        self.lsh._remove(key, True)

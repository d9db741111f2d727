"""MinHashLSH for asyncio, with its entries on a Redis server: the names of ``datasketch.aio``.

Files: lsh.py has the index, and storage.py its storages.
"""

from lshfast.datasketch.aio.lsh import (
    AsyncMinHashLSH,
    AsyncMinHashLSHDeleteSession,
    AsyncMinHashLSHInsertionSession,
)

__all__ = [
    "AsyncMinHashLSH",
    "AsyncMinHashLSHDeleteSession",
    "AsyncMinHashLSHInsertionSession",
]

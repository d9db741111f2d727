"""The connection of a store to the keys of its index on a Redis server, with errors of Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from lshfast._common.errors import FormatError
from lshfast._common.extras import optional
from lshfast.index.stores.redis_client import (
    address_of,
    check_client,
    connect_url,
    disconnect,
)


class ServerKeys(NamedTuple):
    """The keys on the server that all scripts take, in their order; redis.py describes them."""

    parameters: bytes
    entries: bytes
    refused: bytes


class RedisConnection:
    """A client of a server, and the keys of one index on it.

    Parameters
    ----------
    server : str, redis.Redis or redis.RedisCluster
        A URL or a client; `close` closes a client that was made for a URL.
    prefix : str
        The beginning of all keys of the index.
    """

    address: str
    keys: ServerKeys
    client: Any

    def __init__(self, server: Any, prefix: str) -> None:
        self._errors = optional("redis", "redis").exceptions
        self._closes_client = isinstance(server, str)
        client = connect_url(server) if self._closes_client else check_client(server)
        self.client = client
        self.address = address_of(client)
        self._prefix = prefix
        self.keys = ServerKeys(
            *(f"{prefix}:{section}".encode() for section in ServerKeys._fields)
        )

    def close(self) -> None:
        """Close the client if it was made for a URL; further calls raise ValueError."""
        if self._closes_client and self.client is not None:
            self.client.close()
        self.client = None

    @contextmanager
    def calling(self, operation: str) -> Iterator[None]:
        """Convert the errors of redis to errors that name the server and the operation."""
        if self.client is None:
            raise ValueError(f"{operation}: the store is closed")
        try:
            yield
        except (self._errors.RedisError, self._errors.RedisClusterException) as error:
            raise self._translated(error, operation) from error
        except BaseException:
            # After an interrupt, the next call would read the answer of this one.
            disconnect(self.client)
            raise

    def _translated(self, error: Exception, operation: str) -> Exception:
        """Return the error of Python for an error of redis."""
        text = f"Redis at {self.address}, {operation}: "
        # If the connection is lost in a transaction, redis-py raises a WatchError, with the reason
        # as its context.
        broken: BaseException = error
        while broken.__context__ and not isinstance(broken, self._errors.WatchError):
            broken = broken.__context__
        if isinstance(broken, self._errors.WatchError) and isinstance(
            broken.__context__, self._errors.RedisError
        ):
            error = broken.__context__
            text = f"{text}the batch was executed whole or not at all: "
        reason = str(error).rpartition("caused error: ")[2]
        if isinstance(error, self._errors.TimeoutError):
            return TimeoutError(text + reason)
        if isinstance(
            error, (self._errors.ConnectionError, self._errors.RedisClusterException)
        ):
            return ConnectionError(text + reason)
        if isinstance(error, self._errors.WatchError) or reason.startswith("LSHFAST"):
            return FormatError(
                f"{self.place('parameters')}: deleted, or not those that this store was opened "
                "with"
            )
        if "WRONGTYPE" in reason:
            return FormatError(f"{self.place('parameters')} or entries: not a hash")
        return OSError(text + reason)

    def eval(self, script: str, *arguments: Any) -> Any:
        """Run a script on the keys of the index, and return its answer."""
        return self.client.eval(script, len(self.keys), *self.keys, *arguments)

    def pipeline(self) -> Any:
        """Return a pipeline for a transaction, which is released at the end of a `with` block."""
        return self._node().pipeline(transaction=True)

    def begin(self, pipe: Any) -> None:
        """Begin a transaction: the commands from here to `execute` are executed together."""
        # Without it, the client would resend the batch after losing the connection.
        pipe.watch(self.keys.parameters)
        pipe.multi()

    def execute(self, pipe: Any) -> list[Any]:
        """Execute a transaction and return its replies; raise the first that is an error."""
        try:
            replies: list[Any] = pipe.execute(raise_on_error=False)
        except self._errors.RedisError:
            # Otherwise it would wait for the server again, and could keep the connection.
            pipe.watching = False
            raise
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def _node(self) -> Any:
        """Return the client of the server itself; a cluster client would resend failed batches."""
        if not isinstance(self.client, optional("redis", "redis").RedisCluster):
            return self.client
        self.client.exists(self.keys.parameters)  # follows a slot that has moved
        return self.client.get_redis_connection(
            self.client.get_node_from_key(self.keys.parameters)
        )

    def place(self, section: str) -> str:
        """Return a key of the index as errors name it."""
        return f"Redis at {self.address}, {self._prefix}:{section}"

"""Commands of storages on a Redis server; they return the client's results or coroutines."""

from __future__ import annotations

from typing import Any

from lshfast._common.extras import optional

# A script of the server: 1 if a hash has one of several fields, else 0. Clients read one integer
# faster than the list that HMGET returns.
HAS_ANY = """
for _, field in ipairs(ARGV) do
  if redis.call('HEXISTS', KEYS[1], field) == 1 then return 1 end
end
return 0
"""


def script_refusals() -> tuple[type[Exception], ...]:
    """Return the errors of servers, and replacements in tests, that do not support scripts."""
    refused: type[Exception] = optional("redis.exceptions", "redis").ResponseError
    return refused, AttributeError, NotImplementedError, RuntimeError


class ListCommands:
    """Commands of a storage that keeps the values of a key in a list."""

    _name: bytes

    def redis_key(self, key: bytes) -> bytes:
        """Return the name under which the values of a key are stored."""
        return self._name + key

    def _values(self, client: Any, key: bytes) -> Any:
        return client.lrange(self.redis_key(key), 0, -1)

    def _count(self, client: Any, key: bytes) -> Any:
        return client.llen(self.redis_key(key))

    def _add(self, client: Any, key: bytes, *vals: Any) -> Any:
        return client.rpush(self.redis_key(key), *vals)

    def _discard(self, client: Any, key: bytes, val: Any) -> Any:
        return client.lrem(self.redis_key(key), 1, val)


class SetCommands(ListCommands):
    """Commands of a storage that keeps the values of a key in a set."""

    def _values(self, client: Any, key: bytes) -> Any:
        return client.smembers(self.redis_key(key))

    def _count(self, client: Any, key: bytes) -> Any:
        return client.scard(self.redis_key(key))

    def _add(self, client: Any, key: bytes, *vals: Any) -> Any:
        return client.sadd(self.redis_key(key), *vals)

    def _discard(self, client: Any, key: bytes, val: Any) -> Any:
        return client.srem(self.redis_key(key), val)

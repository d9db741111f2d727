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

    config: dict[str, Any]
    _name: bytes
    _redis: Any

    def redis_key(self, key: bytes) -> bytes:
        """Return the name under which the values of a key are stored."""
        return self._name + key

    def keys(self) -> Any:
        """Return all keys."""
        return self._redis.hkeys(self._name)

    def redis_keys(self) -> Any:
        """Return the names under which the values of all keys are stored."""
        return self._redis.hvals(self._name)

    def size(self) -> Any:
        """Return the number of keys."""
        return self._redis.hlen(self._name)

    def has_key(self, key: bytes) -> Any:
        """Return whether the key exists."""
        return self._redis.hexists(self._name, key)

    def get(self, key: bytes) -> Any:
        """Return the values of a key: an empty list or set if there is no such key."""
        return self._values(self._redis, key)

    def put(self, client: Any, key: bytes, *vals: Any) -> None:
        """Add values to a key by the commands of a client or pipeline."""
        client.hset(self._name, key, self.redis_key(key))
        if vals:
            self._add(client, key, *vals)

    def drop(self, client: Any, *keys: bytes) -> None:
        """Remove keys and their values by the commands of a client or pipeline."""
        client.hdel(self._name, *keys)
        client.delete(*map(self.redis_key, keys))

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

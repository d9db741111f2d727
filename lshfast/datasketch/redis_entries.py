"""Entries of a MinHashLSH on a Redis server, in datasketch's own layout.

For the basename NAME, where i is the number of a band, two bytes, big-endian:

    NAME_keys           hash: the name of the list of each key
    NAME_keysKEY        list of a key: its buckets, in the order of the bands
    NAME_bucket_i       hash: the name of the set of each bucket
    NAME_bucket_iBUCKET set of a bucket: its keys

The name of a bucket is the hash values of its band, big-endian, or the result of `hashfunc` for
these bytes. KEY is the pickled key, or the key itself if keys are not pickled.
"""

from __future__ import annotations

import struct
import threading
from functools import cached_property
from typing import Any, NamedTuple

from lshfast._common.types import UInt64Array
from lshfast.datasketch.entries import HashFunction, LSHEntries, Spellings
from lshfast.datasketch.redis_commands import HAS_ANY, script_refusals
from lshfast.datasketch.redis_storage import RedisListStorage, RedisSetStorage, redis
from lshfast.datasketch.slots import Form
from lshfast.datasketch.storage import resolved

# Scripts of the server: an entry is stored with all of its buckets, or not at all.
_INSERT = """
local names, key, list, check, other_forms = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if check == '1' then
  if redis.call('HEXISTS', names, key) == 1 then return 0 end
  for i = 5, 4 + other_forms do
    if redis.call('HEXISTS', names, ARGV[i]) == 1 then return 0 end
  end
end
redis.call('HSET', names, key, list)
for i = 5 + other_forms, #ARGV do
  redis.call('RPUSH', list, ARGV[i])
  local table = KEYS[i - other_forms - 3]
  local bucket = table .. ARGV[i]
  redis.call('HSET', table, ARGV[i], bucket)
  redis.call('SADD', bucket, key)
end
return 1
"""
_REMOVE = """
local names, removed = KEYS[1], 0
for _, key in ipairs(ARGV) do
  local list = names .. key
  for j, bucket in ipairs(redis.call('LRANGE', list, 0, -1)) do
    local table = KEYS[(j - 1) % (#KEYS - 1) + 2]
    redis.call('SREM', table .. bucket, key)
    if redis.call('EXISTS', table .. bucket) == 0 then redis.call('HDEL', table, bucket) end
  end
  redis.call('DEL', list)
  removed = removed + redis.call('HDEL', names, key)
end
return removed
"""
_FIND = """
local found, met = {}, {}
for i = 1, #ARGV do
  for _, key in ipairs(redis.call('SMEMBERS', KEYS[i] .. ARGV[i])) do
    if not met[key] then
      met[key] = true
      found[#found + 1] = key
    end
  end
end
return found
"""


class Scripts(NamedTuple):
    """The registered scripts."""

    insert: Any
    remove: Any
    find: Any
    has_any: Any


class RedisEntries(LSHEntries):
    """Entries on a Redis server, compatible with entries that datasketch writes there.

    Each insertion, removal and query is one script of the server. If a server, or its replacement
    in tests, does not support scripts, the commands of datasketch's storages are used.
    """

    sends_batches = True

    def __init__(
        self,
        config: dict[str, Any],
        basename: bytes,
        bands: int,
        depth: int,
        hashfunc: HashFunction | None,
    ) -> None:
        keys = RedisListStorage(config, basename + b"_keys")
        self._client = keys._redis
        names = [
            basename + b"_bucket_" + struct.pack(">H", band) for band in range(bands)
        ]
        tables = [RedisSetStorage(config, name, client=self._client) for name in names]
        super().__init__(keys, tables, depth, hashfunc)
        self._lock = threading.RLock()
        self._transaction = bool(
            resolved(config.get("redis_buffer", {})).get("transaction", True)
        )
        self._pipe: Any = None

    @property
    def _all_names(self) -> list[bytes]:
        """The names of the storages on the server; programs may have changed them."""
        return [self.keys._name, *(table._name for table in self.tables)]

    @cached_property
    def _scripts(self) -> Scripts | None:
        """The scripts; None if the server does not support scripts."""
        try:
            self._client.register_script("return 1")()
        except script_refusals():
            return None
        return Scripts(
            *map(self._client.register_script, (_INSERT, _REMOVE, _FIND, HAS_ANY))
        )

    def insert(
        self,
        spellings: Spellings,
        row: UInt64Array,
        form: Form,
        *,
        check: bool,
        buffer: bool = False,
    ) -> bool:
        scripts = self._scripts
        if scripts is None:
            with self._lock:
                return super().insert(spellings, row, form, check=check, buffer=buffer)
        key, *other_spellings = spellings
        checked = b"1" if check and not buffer else b"0"
        arguments = [
            key,
            self.keys.redis_key(key),
            checked,
            len(other_spellings),
            *other_spellings,
        ]
        arguments += self.names_of(row, form)
        if not buffer:
            return bool(scripts.insert(keys=self._all_names, args=arguments))
        with self._lock:
            if check and any(map(self._is_there, spellings)):
                return False
            self._wait(scripts.insert, key, True, arguments)
        return True

    def remove(self, spellings: Spellings, *, buffer: bool = False) -> bool:
        scripts = self._scripts
        if scripts is None:
            with self._lock:
                return super().remove(spellings, buffer=buffer)
        if not buffer:
            return bool(scripts.remove(keys=self._all_names, args=spellings))
        with self._lock:
            stored_keys = [key for key in spellings if self._is_there(key)]
            for key in stored_keys:
                self._wait(scripts.remove, key, False, [key])
        return bool(stored_keys)

    def holds(self, spellings: Spellings) -> bool:
        scripts = self._scripts
        if scripts is None or len(spellings) < 2:
            return super().holds(spellings)
        name = self.keys._name
        try:  # calling the script, which does this too, takes 2 µs more
            return bool(self._client.evalsha(scripts.has_any.sha, 1, name, *spellings))
        except redis.exceptions.NoScriptError:
            return bool(scripts.has_any(keys=(name,), args=spellings))

    def _wait(self, script: Any, key: bytes, stays: bool, arguments: list[Any]) -> None:
        if self._pipe is None:
            self._pipe = self._client.pipeline(transaction=self._transaction)
        script(keys=self._all_names, args=arguments, client=self._pipe)
        self._waiting[key] = stays
        if len(self._pipe) >= self.buffer_size:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            if self._scripts is None:
                super().flush()
                return
            pipe = self._pipe
            self._pipe = None
            self._waiting.clear()
            if pipe is not None:
                pipe.execute()

    def find(self, row: UInt64Array, form: Form, bands: int | None = None) -> list[Any]:
        scripts = self._scripts
        if scripts is None:
            return sorted(super().find(row, form, bands))
        names = self.names_of(row, form)[:bands]
        tables = self._all_names[1 : len(names) + 1]
        return sorted(scripts.find(keys=tables, args=names))

    def width(self) -> int | None:
        """Return the bytes of a stored slot; None if there is no entry, or a hashfunc."""
        if self.hashfunc:
            return None
        buckets = self._client.hscan_iter(self.tables[0]._name, count=10)
        bucket = next(iter(buckets), None)
        return None if bucket is None else len(bucket[0]) // self.depth

"""A store on a Redis server, which several processes and machines can use.

Layout. {NAME} is a hash tag, so all keys are in one slot of a cluster. Binary numbers are
little-endian:

    {NAME}:parameters     hash: format, num_perm, bands, rows, scheme, seed, threshold ("" for
    none), shingles, as text;
                          format 1 has no others, and format 2, of families, has family, payload and
                          measure
    {NAME}:entries        hash: for each key the num_perm slots, then the payload, then the band
    keys, uint64 {NAME}/jjkkkkkkkk     set, a bucket: the keys of the entries that have band key k
    (uint64) in band j (uint16) {NAME}:refused        exists only within a transaction, so clients
    never see it

A key is the decimal text of an int, or "s" and the UTF-8 of a str: Redis stores sets of decimal
members compactly. An entry contains its band keys, so that the server can remove it from its
buckets. A band key of all ones has no bucket: those of an empty set, and those of the bands in
which an item has no value.

A batch is one MULTI/EXEC of scripts. The first scripts check all keys; the others write, unless a
key was refused. With scripts, the server makes this decision, so writers need not try again as with
WATCH, and there is no round trip for each bucket. Each script takes about ten milliseconds, because
Redis reports long scripts as busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, get_args

import numpy as np

from lshfast._common.errors import FormatError
from lshfast._common.extras import optional
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.index.keys import Column, duplicate, listed
from lshfast.index.measure import measure_of
from lshfast.index.stores import redis_scripts as scripts
from lshfast.index.stores.base import Store
from lshfast.index.stores.redis_client import (
    address_of,
    check_client,
    connect_url,
    disconnect,
)
from lshfast.index.stores.redis_forms import (
    PIECE_BYTES,
    PIECE_KEYS,
    decode_key,
    encode_keys,
    fields_of,
    key_pieces,
    keys_as_column,
    present_keys,
    stored_parameters,
)
from lshfast.index.stores.values import Found, OnDuplicate, Parameters
from lshfast.kernels.bands import band_keys
from lshfast.kernels.distances import distances
from lshfast.sketch.minhash import EMPTY

# The most bytes of one transaction, which the server keeps in memory until it is complete.
MOST_BYTES = 1 << 29

# The most candidates in one answer to queries, and the most bytes of their entries. A single query
# may have more candidates.
MOST_CANDIDATES = 1 << 16
MOST_ANSWER = 1 << 24


class RedisStore(Store):
    """Store the entries of an index on a Redis server, for any number of processes and machines.

    A batch is stored or removed completely or not at all, and queries see it completely or not at
    all. Keys are strs and ints in -2**63..2**64 - 1. Threads can share the store. It needs
    ``pip install lshfast[redis]``, and a server that does not evict keys (``maxmemory-policy
    noeviction``, the default).

    Pass the store to `LSHIndex` or `LSHIndex.on`; the index calls the methods of the store.

    Parameters
    ----------
    server : str, redis.Redis or redis.RedisCluster
        A URL, ``redis://[[user]:password@]host[:port][/database]``, ``rediss://`` or ``unix://``;
        or a client with ``decode_responses=False``, whose time limits are used. `close` does not
        close this client.
    name : str, default "lshfast"
        Name of the index on the server; not empty, and without braces. A server can store several
        indexes.

    Attributes
    ----------
    parameters : Parameters or None
        Parameters of the stored index; None if nothing is stored.

    Raises
    ------
    ImportError
        If the package redis is not installed.
    TypeError
        If `server` is neither a str nor a client, or `name` is not a str.
    ValueError
        If the URL or the name is not valid, or the client decodes responses.
    FormatError
        If the server stores other data under this name.
    ConnectionError, TimeoutError
        If the server cannot be reached, or does not answer in time; also from all methods. Other
        errors of the server are OSErrors.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures, in memory or in a file.
    lshfast.LmdbStore : Keep the entries of an index in LMDB.

    Examples
    --------
    >>> from lshfast import LSHIndex, RedisStore
    >>> index = LSHIndex(
    ...     store=RedisStore("redis://localhost", name="articles")
    ... )  # doctest: +SKIP
    """

    def __init__(self, server: Any, name: str = "lshfast") -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {name!r}")
        if not name or "{" in name or "}" in name:
            raise ValueError(
                f"name must be a str that is not empty and has no braces, not {name!r}"
            )
        self.parameters: Parameters | None = None
        self._errors = optional("redis", "redis").exceptions
        self._owned = isinstance(server, str)
        self._client: Any = connect_url(server) if self._owned else check_client(server)
        self._address = address_of(self._client)
        self._prefix = f"{{{name}}}"
        self._keys = [
            f"{self._prefix}:{section}".encode()
            for section in ("parameters", "entries", "refused")
        ]
        try:
            with self._calling("open"):
                self.parameters = self._stored_parameters()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        closed = ", closed" if self._client is None else ""
        return f"RedisStore({self._address!r}, name={self._prefix[1:-1]!r}{closed})"

    @property
    def kind(self) -> str | None:
        """Type of the keys: "object", since ints and strs may be mixed."""
        return "object"

    def bind(self, parameters: Parameters) -> None:
        with self._calling("bind"):
            fields = chain.from_iterable(fields_of(parameters).items())
            stored = self._stored_parameters(*fields)
        if stored is None:  # another client has just removed all keys
            raise FormatError(f"{self._place('parameters')}: not stored")
        stored.check_same(parameters)
        self.parameters = stored

    def __len__(self) -> int:
        with self._calling("len"):
            return int(self._client.hlen(self._keys[1]))

    def contains(self, keys: Column) -> BoolArray:
        encoded = encode_keys(keys)
        return present_keys(
            self._check("contains", encoded) if self.parameters else b"0" * len(encoded)
        )

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        *,
        copy: bool = True,
    ) -> int:
        if on_duplicate not in get_args(OnDuplicate):
            raise ValueError(
                f"on_duplicate must be 'error', 'replace' or 'skip', not {on_duplicate!r}"
            )
        encoded = encode_keys(keys)
        entries = self._with_band_keys(signatures)
        if len(encoded) != len(entries):
            raise ValueError(
                f"there are {len(encoded)} keys for {len(entries)} signatures"
            )
        rows = dict(zip(encoded, range(len(encoded)), strict=True))
        if len(rows) < len(encoded):
            if on_duplicate == "error":
                raise self._repeated(encoded)
            if on_duplicate == "skip":
                rows = dict(
                    zip(reversed(encoded), reversed(range(len(encoded))), strict=True)
                )
            encoded = list(rows)
            entries = entries[list(rows.values())]
        refuse = "1?" if on_duplicate == "error" else "?"
        letters, count = self._write("insert", on_duplicate, refuse, encoded, entries)
        if on_duplicate == "error" and b"1" in letters:
            raise duplicate(
                [decode_key(member) for member in encoded], letters.index(b"1")
            )
        return count

    def remove(self, keys: Column) -> None:
        encoded = list(dict.fromkeys(encode_keys(keys)))
        if encoded and self.parameters is None:
            raise KeyError(decode_key(encoded[0]))
        letters, _ = self._write("remove", "remove", "0?", encoded, None)
        if b"0" in letters:
            raise KeyError(decode_key(encoded[letters.index(b"0")]))

    def query(
        self,
        signatures: UInt64Array,
        *,
        least: int | None,
        threads: int,
        most: int | None = None,
    ) -> Found:
        """Find the candidates of each query; a later query may see later batches."""
        queries = self._with_band_keys(signatures)
        counts = np.zeros(len(queries), np.int64)
        keys = []
        agreements = [np.empty(0, np.int64)]
        row = 0
        while row < len(queries):
            numbers, members, entries, query_rows, entry_rows = self._candidates(
                queries, row
            )
            good, equal = self._compare(queries, entries, query_rows, entry_rows)
            if least is not None:
                good &= equal >= least
            query_rows = query_rows[good]
            entry_rows = entry_rows[good]
            names = {
                place: self._key(members[place])
                for place in np.unique(entry_rows).tolist()
            }
            keys += [names[place] for place in entry_rows.tolist()]
            counts[row : row + numbers] = np.bincount(
                query_rows - row, minlength=numbers
            )
            agreements.append(equal[good])
            row += numbers
        offsets = offsets_of(counts)
        return Found(
            offsets,
            keys_as_column(keys),
            None if least is None else np.concatenate(agreements),
        )

    def entries_of(self, keys: Column) -> tuple[Column, UInt64Array]:
        encoded = list(dict.fromkeys(encode_keys(keys)))
        answers = []
        with self._calling("entries_of"):
            for low in range(0, len(encoded), self._step()):
                answers += self._client.hmget(
                    self._keys[1], encoded[low : low + self._step()]
                )
        letters = self._letters(answers)
        self._refuse_damage(encoded, letters)
        entries = self._array(
            b"".join(entry for entry in answers if entry is not None)
        )[:, : self._bound().words]
        there = [
            self._key(member)
            for member, entry in zip(encoded, answers, strict=True)
            if entry is not None
        ]
        return keys_as_column(there), entries.astype(np.uint64)

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        """Yield all entries, in batches of keys and signatures.

        Entries present throughout are yielded once; concurrent changes may or may not be seen.
        """
        for keys, entries in self._scan("items", "entries"):
            yield keys, entries[:, : self._bound().words].astype(np.uint64)

    def all_keys(self) -> Iterator[Column]:
        """Yield all keys, in batches, as `items` does; the signatures are not transferred."""
        for keys, _ in self._scan("all_keys", "keys"):
            yield keys

    def verify(self) -> None:
        """Check keys, sizes, band keys and buckets of all entries.

        Raises
        ------
        FormatError
            If an entry is damaged; the error names its key.
        """
        for keys, entries in self._scan("verify", "buckets"):
            signatures = entries[:, : self._bound().words].astype(np.uint64)
            wrong = np.flatnonzero(
                (self._with_band_keys(signatures) != entries).any(axis=1)
            )
            if len(wrong):
                key = listed(keys)[wrong[0]]
                raise FormatError(
                    f"{self._place('entries')}: the band keys of {key!r} are not those of its "
                    "signature"
                )

    def stats(self) -> dict[str, int]:
        """Return the bytes of slots and band keys, without the memory of keys and buckets."""
        return {"entry bytes": len(self) * self._width() if self.parameters else 0}

    def clear(self) -> None:
        """Remove everything that is stored under the name; no other client may use it now."""
        pattern = (
            "".join(
                f"\\{letter}" if letter in "*?[]^\\" else letter
                for letter in self._prefix
            )
            + "/*"
        )
        with self._calling("clear"):
            self._client.unlink(*self._keys)
            buckets = self._client.scan_iter(match=pattern, count=PIECE_KEYS)
            while batch := list(islice(buckets, PIECE_KEYS)):
                self._client.unlink(*batch)
        self.parameters = None

    def close(self) -> None:
        if self._owned and self._client is not None:
            self._client.close()
        self._client = None

    # Calls

    @contextmanager
    def _calling(self, operation: str) -> Iterator[None]:
        """Convert the errors of redis to errors that name the server and the operation."""
        if self._client is None:
            raise ValueError(f"{operation}: the store is closed")
        try:
            yield
        except (self._errors.RedisError, self._errors.RedisClusterException) as error:
            raise self._translated(error, operation) from error
        except (
            BaseException
        ):  # after an interrupt, the next call would read the answer of this one
            disconnect(self._client)
            raise

    def _translated(self, error: Exception, operation: str) -> Exception:
        text = f"Redis at {self._address}, {operation}: "
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
                f"{self._place('parameters')}: deleted, or not those that this store was opened "
                "with"
            )
        if "WRONGTYPE" in reason:
            return FormatError(f"{self._place('parameters')} or entries: not a hash")
        return OSError(text + reason)

    def _eval(self, script: str, *arguments: Any) -> Any:
        return self._client.eval(script, len(self._keys), *self._keys, *arguments)

    def _node(self) -> Any:
        """Return the client of the server itself; a cluster client would resend failed batches."""
        if not isinstance(self._client, optional("redis", "redis").RedisCluster):
            return self._client
        self._client.exists(self._keys[0])  # follows a slot that has moved
        return self._client.get_redis_connection(
            self._client.get_node_from_key(self._keys[0])
        )

    def _settings(self) -> tuple[Any, ...]:
        """Return the first arguments of all scripts but OPEN."""
        fields = fields_of(self._bound())
        known_settings = "".join(
            f" {fields.get(name, '')}"
            for name in (*scripts.FIELDS, *scripts.FAMILY_FIELDS)
        )
        return known_settings, self._width(), self._bound().bands, f"{self._prefix}/"

    def _scan(self, operation: str, part: str) -> Iterator[tuple[Column, UInt64Array]]:
        """Yield batches of keys and, unless `part` is "keys", their entries."""
        yielded: set[bytes] = set()  # a scan may repeat entries of a hash that shrinks
        cursor = b"" if self.parameters is None else b"0"
        while cursor:
            with self._calling(operation):
                answer = self._eval(
                    scripts.SCAN, *self._settings(), cursor, self._step(), part
                )
            cursor, members, letters, data = answer
            self._refuse_damage(members, letters.replace(b"0", b"?"))
            entries = self._array(data)
            fresh = [
                place for place, member in enumerate(members) if member not in yielded
            ]
            if fresh:
                yielded.update(members)
                yield (
                    keys_as_column([self._key(members[place]) for place in fresh]),
                    entries[fresh] if data else entries,
                )
            cursor = b"" if cursor == b"0" else cursor

    def _check(self, operation: str, encoded: list[bytes]) -> bytes:
        settings = self._settings()
        pieces = key_pieces(encoded, 0)
        with self._calling(operation):
            letters = b"".join(
                self._eval(scripts.CHECK, *settings, "", *encoded[piece])
                for piece in pieces
            )
        self._refuse_damage(encoded, letters)
        return letters

    def _write(
        self,
        operation: str,
        mode: str,
        refuse: str,
        encoded: list[bytes],
        entries: UInt64Array | None,
    ) -> tuple[bytes, int]:
        """Run a transaction; return the letters of the keys before it, and the entries written."""
        if not encoded:
            return b"", 0
        settings = self._settings()
        width = 0 if entries is None else self._width()
        size = 2 * sum(map(len, encoded)) + width * len(encoded)
        if size > MOST_BYTES:
            raise ValueError(
                f"{operation}: the batch has {size} bytes, more than {MOST_BYTES}; divide it"
            )
        pieces = list(key_pieces(encoded, width))
        with self._calling(operation), self._node().pipeline(transaction=True) as pipe:
            # Without it, the client would resend the batch after losing the connection.
            pipe.watch(self._keys[0])
            pipe.multi()
            pipe.delete(self._keys[2])
            for piece in pieces:
                pipe.eval(
                    scripts.CHECK,
                    len(self._keys),
                    *self._keys,
                    *settings,
                    refuse,
                    *encoded[piece],
                )
            for piece in pieces:
                data = b"" if entries is None else entries[piece].tobytes()
                pipe.eval(
                    scripts.WRITE,
                    len(self._keys),
                    *self._keys,
                    *settings,
                    mode,
                    data,
                    *encoded[piece],
                )
            pipe.delete(self._keys[2])
            try:
                _, *replies, _ = pipe.execute(raise_on_error=False)
            except self._errors.RedisError:
                # Otherwise it would wait for the server again, and could keep the connection.
                pipe.watching = False
                raise
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        letters = b"".join(replies[: len(pieces)])
        self._refuse_damage(encoded, letters)
        for _, bucket, reason in replies[len(pieces) :]:
            if bucket:
                text = (
                    f"Redis at {self._address}: the batch is stored, except in bucket "
                    f"{bucket!r}: {reason.decode()}"
                )
                raise FormatError(text) if b"WRONGTYPE" in reason else OSError(text)
        return letters, sum(reply[0] for reply in replies[len(pieces) :])

    def _repeated(self, encoded: list[bytes]) -> ValueError:
        """Return the error for a batch that repeats a key, which names the first such key."""
        keys_before: set[bytes] = set()
        place = 0
        while encoded[place] not in keys_before:
            keys_before.add(encoded[place])
            place += 1
        letters = self._check("insert", encoded[:place])
        return duplicate(
            [decode_key(member) for member in encoded],
            letters.index(b"1") if b"1" in letters else place,
        )

    def _candidates(
        self, queries: UInt64Array, row: int
    ) -> tuple[int, list[bytes], UInt64Array, Int64Array, Int64Array]:
        """Request the candidates of the queries from `row` on.

        Return the number of queries that were answered, the keys and the entries of their distinct
        candidates, and pairs of a row of `queries` and a row of these entries.
        """
        bands = self._bound().bands
        band_keys = queries[
            row : row + max(1, min(PIECE_KEYS, PIECE_BYTES // (8 * bands))), -bands:
        ].tobytes()
        with self._calling("query"):
            limits = max(1, MOST_ANSWER // self._width()), MOST_CANDIDATES
            answer = self._eval(scripts.QUERY, *self._settings(), *limits, band_keys)
            if len(answer) == 1:
                raise FormatError(
                    f"Redis at {self._address}: {answer[0]!r} is not a set"
                )
            counts, member_places, members, letters, data = answer
            # For a query with very many candidates.
            for low in range(len(letters), len(members), self._step()):
                entries = self._client.hmget(
                    self._keys[1], members[low : low + self._step()]
                )
                letters_of_batch = self._letters(entries)
                letters += letters_of_batch
                data += b"".join(
                    entry
                    for entry, letter in zip(entries, letters_of_batch, strict=True)
                    if letter == ord("1")
                )
        self._refuse_damage(members, letters)
        there = present_keys(letters)
        numbers = np.frombuffer(counts, "<u4").astype(np.int64)
        query_rows = np.repeat(int64_range(row, row + len(numbers)), numbers)
        entry_rows = np.frombuffer(member_places, "<u4")
        query_rows = query_rows[there[entry_rows]]
        entry_rows = (np.cumsum(there, dtype=np.int64) - 1)[
            entry_rows[there[entry_rows]]
        ]
        members = [
            member
            for member, present in zip(members, there.tolist(), strict=True)
            if present
        ]
        return len(numbers), members, self._array(data), query_rows, entry_rows

    def _compare(
        self,
        queries: UInt64Array,
        entries: UInt64Array,
        query_rows: Int64Array,
        entry_rows: Int64Array,
    ) -> tuple[BoolArray, Int64Array]:
        """Return whether pairs share a band, and the number of equal slots of each pair."""
        p = self._bound()
        good = np.empty(len(query_rows), np.bool_)
        equal = np.empty(len(query_rows), np.int64)
        for low in range(0, len(query_rows), self._step()):
            piece = slice(low, low + self._step())
            a = queries[query_rows[piece], : p.words]
            b = entries[entry_rows[piece], : p.words]
            same = a[:, : p.num_perm] == b[:, : p.num_perm]
            if p.apart:
                same &= a[:, : p.num_perm] != EMPTY
            equal[piece] = (
                _equal_bits(a, b, p) if p.bits else np.count_nonzero(same, axis=1)
            )
            good[piece] = (
                same[:, : p.bands * p.rows_per_band]
                .reshape(-1, p.bands, p.rows_per_band)
                .all(2)
                .any(1)
            )
        return good, equal

    # Values

    def _bound(self) -> Parameters:
        if self.parameters is None:
            raise ValueError("the store has no parameters yet: call bind first")
        return self.parameters

    def _width(self) -> int:
        """Return the size of an entry in bytes."""
        return 8 * (self._bound().words + self._bound().bands)

    def _step(self) -> int:
        """Return the number of entries of a piece."""
        return max(1, min(PIECE_KEYS, PIECE_BYTES // self._width()))

    def _with_band_keys(self, signatures: UInt64Array) -> UInt64Array:
        """Return entries as they are stored: rows of slots, then band keys."""
        parameters = self._bound()
        signatures = np.asarray(signatures)
        if signatures.ndim != 2 or signatures.shape[1] != parameters.words:
            raise ValueError(
                f"signatures must be uint64 (n, {parameters.words}), not {signatures.shape}"
            )
        if signatures.dtype != np.uint64:
            raise TypeError(f"signatures must be uint64, not {signatures.dtype}")
        keys = np.empty((len(signatures), parameters.bands), np.uint64)
        band_keys(
            np.ascontiguousarray(signatures),
            parameters.bands,
            parameters.rows_per_band,
            keys,
            parameters.apart,
        )
        return np.concatenate((signatures, keys), axis=1).astype("<u8", copy=False)

    def _array(self, data: bytes) -> UInt64Array:
        return np.frombuffer(data, "<u8").reshape(-1, self._width() // 8)

    def _letters(self, entries: Iterable[bytes | None]) -> bytes:
        """Return a letter for each entry, as the scripts do."""
        width = self._width()
        return b"".join(
            b"0" if entry is None else b"1" if len(entry) == width else b"?"
            for entry in entries
        )

    def _refuse_damage(self, members: Sequence[bytes], letters: bytes) -> None:
        if b"?" in letters:
            key = members[letters.index(b"?")]
            raise FormatError(
                f"{self._place('entries')}: the entry of {key!r} does not have {self._width()} "
                "bytes"
            )
        if b"!" in letters:
            key = members[letters.index(b"!")]
            raise FormatError(
                f"{self._place('entries')}: the entry of {key!r} is missing in a bucket"
            )

    def _key(self, member: bytes) -> int | str:
        try:
            return decode_key(member)
        except ValueError:
            raise FormatError(
                f"{self._place('entries')}: {member!r} is not a key of this format"
            ) from None

    def _stored_parameters(self, *fields: str) -> Parameters | None:
        """Return the parameters on the server; these fields are stored if it has none."""
        answer = self._eval(scripts.OPEN, *fields)
        return stored_parameters(answer, self._place("parameters"))

    def _place(self, section: str) -> str:
        return f"Redis at {self._address}, {self._prefix}:{section}"


def _equal_bits(a: UInt64Array, b: UInt64Array, parameters: Parameters) -> Int64Array:
    """Return the number of equal bits of the payloads of rows."""
    different = np.empty(len(a))
    first = parameters.num_perm
    query_payloads = np.ascontiguousarray(a[:, first:])
    entry_payloads = np.ascontiguousarray(b[:, first:])
    distances(
        query_payloads,
        entry_payloads,
        *measure_of(parameters.measure).kernel,
        different,
    )
    return parameters.bits - different.astype(np.int64)

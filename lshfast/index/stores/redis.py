"""A store on a Redis server, which several processes and machines can use.

Layout. {NAME} is a hash tag, so all keys are in one slot of a cluster. Binary numbers are
little-endian:

    {NAME}:parameters    hash of texts: format, num_perm, bands, rows, scheme, seed, threshold (""
                         for none), shingles; format 1 has no others, and format 2, of families,
                         has family, payload and measure
    {NAME}:entries       hash: for each key the num_perm slots, then the payload, then the band
                         keys, uint64
    {NAME}/jjkkkkkkkk    set, a bucket: the keys of the entries that have band key k (uint64) in
                         band j (uint16)
    {NAME}:refused       exists only within a transaction, so clients never see it

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
from itertools import chain, compress, islice
from typing import Any, NamedTuple, get_args

import numpy as np

from lshfast._common.errors import FormatError
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.index.keys import Column, duplicate, listed
from lshfast.index.measure import measure_of
from lshfast.index.stores import redis_scripts as scripts
from lshfast.index.stores.base import Store
from lshfast.index.stores.redis_connection import RedisConnection
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


class Candidates(NamedTuple):
    """The answer of the server to the first of some queries.

    Attributes
    ----------
    queries : int
        Number of queries that are answered.
    members : list of bytes
        Encoded keys of their distinct candidates.
    entries : ndarray of uint64, shape (len(members), words + bands)
        Entries of these candidates.
    query_rows, entry_rows : ndarray of int64, shape (m,)
        Pairs of a row of all queries and a row of `entries`.
    """

    queries: int
    members: list[bytes]
    entries: UInt64Array
    query_rows: Int64Array
    entry_rows: Int64Array


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
        self._name = name
        self._prefix = f"{{{name}}}"
        self._connection = RedisConnection(server, self._prefix)
        self._keys = self._connection.keys
        try:
            with self._connection.calling("open"):
                self.parameters = self._stored_parameters()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        closed = ", closed" if self._connection.client is None else ""
        return f"RedisStore({self._connection.address!r}, name={self._name!r}{closed})"

    @property
    def kind(self) -> str | None:
        """Type of the keys: "object", since ints and strs may be mixed."""
        return "object"

    def bind(self, parameters: Parameters) -> None:
        with self._connection.calling("bind"):
            fields = chain.from_iterable(fields_of(parameters).items())
            stored = self._stored_parameters(*fields)
        if stored is None:  # another client has just removed all keys
            raise FormatError(f"{self._connection.place('parameters')}: not stored")
        stored.check_same(parameters)
        self.parameters = stored

    def __len__(self) -> int:
        with self._connection.calling("len"):
            return int(self._connection.client.hlen(self._keys.entries))

    def contains(self, keys: Column) -> BoolArray:
        encoded = encode_keys(keys)
        if self.parameters is None:
            return np.zeros(len(encoded), np.bool_)
        return present_keys(self._letters_of_keys("contains", encoded))

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
            candidates = self._candidates(queries, row)
            good, equal = self._compare(queries, candidates)
            if least is not None:
                good &= equal >= least
            query_rows = candidates.query_rows[good]
            entry_rows = candidates.entry_rows[good]
            names = {
                place: self._key(candidates.members[place])
                for place in np.unique(entry_rows).tolist()
            }
            keys += [names[place] for place in entry_rows.tolist()]
            end = row + candidates.queries
            counts[row:end] = np.bincount(
                query_rows - row, minlength=candidates.queries
            )
            agreements.append(equal[good])
            row = end
        offsets = offsets_of(counts)
        return Found(
            offsets,
            keys_as_column(keys),
            None if least is None else np.concatenate(agreements),
        )

    def entries_of(self, keys: Column) -> tuple[Column, UInt64Array]:
        encoded = list(dict.fromkeys(encode_keys(keys)))
        answers = []
        with self._connection.calling("entries_of"):
            for low in range(0, len(encoded), self._step()):
                answers += self._connection.client.hmget(
                    self._keys.entries, encoded[low : low + self._step()]
                )
        letters = self._letters_of_entries(answers)
        self._refuse_damage(encoded, letters)
        entries = self._array(
            b"".join(entry for entry in answers if entry is not None)
        )[:, : self._bound().words]
        stored_keys = [
            self._key(member)
            for member, entry in zip(encoded, answers, strict=True)
            if entry is not None
        ]
        return keys_as_column(stored_keys), entries.astype(np.uint64)

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
                    f"{self._connection.place('entries')}: the band keys of {key!r} are not "
                    "those of its signature"
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
        with self._connection.calling("clear"):
            self._connection.client.unlink(*self._keys)
            buckets = self._connection.client.scan_iter(match=pattern, count=PIECE_KEYS)
            while batch := list(islice(buckets, PIECE_KEYS)):
                self._connection.client.unlink(*batch)
        self.parameters = None

    def close(self) -> None:
        self._connection.close()

    # Calls

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
            with self._connection.calling(operation):
                answer = self._connection.eval(
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

    def _letters_of_keys(self, operation: str, encoded: list[bytes]) -> bytes:
        """Return a letter for each key: whether it is present or absent."""
        settings = self._settings()
        pieces = key_pieces(encoded, 0)
        with self._connection.calling(operation):
            letters = b"".join(
                self._connection.eval(scripts.CHECK, *settings, "", *encoded[piece])
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
        """Run a transaction; return the letters of the keys before it, and the entries written.

        Nothing is written if a key has one of the letters of `refuse`.
        """
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
        with (
            self._connection.calling(operation),
            self._connection.pipeline() as pipe,
        ):
            self._connection.begin(pipe)
            pipe.delete(self._keys.refused)
            script = (len(self._keys), *self._keys, *settings)
            for piece in pieces:
                pipe.eval(scripts.CHECK, *script, refuse, *encoded[piece])
            for piece in pieces:
                data = b"" if entries is None else entries[piece].tobytes()
                pipe.eval(scripts.WRITE, *script, mode, data, *encoded[piece])
            pipe.delete(self._keys.refused)
            _, *replies, _ = self._connection.execute(pipe)
        letters = b"".join(replies[: len(pieces)])
        self._refuse_damage(encoded, letters)
        count = 0
        for written, bucket, reason in replies[len(pieces) :]:
            if bucket:
                text = (
                    f"Redis at {self._connection.address}: the batch is stored, except in bucket "
                    f"{bucket!r}: {reason.decode()}"
                )
                raise FormatError(text) if b"WRONGTYPE" in reason else OSError(text)
            count += written
        return letters, count

    def _repeated(self, encoded: list[bytes]) -> ValueError:
        """Return the error for a batch that repeats a key, which names the first such key."""
        keys_before: set[bytes] = set()
        place = 0
        while encoded[place] not in keys_before:
            keys_before.add(encoded[place])
            place += 1
        letters = self._letters_of_keys("insert", encoded[:place])
        return duplicate(
            [decode_key(member) for member in encoded],
            letters.index(b"1") if b"1" in letters else place,
        )

    def _candidates(self, queries: UInt64Array, row: int) -> Candidates:
        """Request the candidates of some queries, from a row on."""
        bands = self._bound().bands
        count = max(1, min(PIECE_KEYS, PIECE_BYTES // (8 * bands)))
        band_keys = queries[row : row + count, -bands:].tobytes()
        with self._connection.calling("query"):
            limits = max(1, MOST_ANSWER // self._width()), MOST_CANDIDATES
            answer = self._connection.eval(
                scripts.QUERY, *self._settings(), *limits, band_keys
            )
            if len(answer) == 1:
                raise FormatError(
                    f"Redis at {self._connection.address}: {answer[0]!r} is not a set"
                )
            counts, member_places, members, letters, data = answer
            # For a query with very many candidates.
            for low in range(len(letters), len(members), self._step()):
                entries = self._connection.client.hmget(
                    self._keys.entries, members[low : low + self._step()]
                )
                letters_of_batch = self._letters_of_entries(entries)
                letters += letters_of_batch
                data += b"".join(
                    entry
                    for entry, letter in zip(entries, letters_of_batch, strict=True)
                    if letter == ord("1")
                )
        self._refuse_damage(members, letters)
        # Members whose entries were removed since are left out.
        is_present = present_keys(letters)
        counts = np.frombuffer(counts, "<u4").astype(np.int64)
        query_rows = np.repeat(int64_range(row, row + len(counts)), counts)
        places = np.frombuffer(member_places, "<u4")
        has_entry = is_present[places]
        rows_of_members = np.cumsum(is_present, dtype=np.int64) - 1
        return Candidates(
            len(counts),
            list(compress(members, is_present.tolist())),
            self._array(data),
            query_rows[has_entry],
            rows_of_members[places[has_entry]],
        )

    def _compare(
        self, queries: UInt64Array, candidates: Candidates
    ) -> tuple[BoolArray, Int64Array]:
        """Return whether pairs share a band, and the number of equal slots of each pair."""
        parameters = self._bound()
        pairs = len(candidates.query_rows)
        shares_band = np.empty(pairs, np.bool_)
        equal = np.empty(pairs, np.int64)
        slots = parameters.num_perm
        banded_slots = parameters.bands * parameters.rows_per_band
        by_band = (-1, parameters.bands, parameters.rows_per_band)
        for low in range(0, pairs, self._step()):
            piece = slice(low, low + self._step())
            a = queries[candidates.query_rows[piece], : parameters.words]
            b = candidates.entries[candidates.entry_rows[piece], : parameters.words]
            same = a[:, :slots] == b[:, :slots]
            if parameters.apart:
                same &= a[:, :slots] != EMPTY
            if parameters.bits:
                equal[piece] = _equal_bits(a, b, parameters)
            else:
                equal[piece] = np.count_nonzero(same, axis=1)
            same_by_band = same[:, :banded_slots].reshape(by_band)
            shares_band[piece] = same_by_band.all(2).any(1)
        return shares_band, equal

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

    def _letters_of_entries(self, entries: Iterable[bytes | None]) -> bytes:
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
                f"{self._connection.place('entries')}: the entry of {key!r} does not have "
                f"{self._width()} bytes"
            )
        if b"!" in letters:
            key = members[letters.index(b"!")]
            raise FormatError(
                f"{self._connection.place('entries')}: the entry of {key!r} is missing in a bucket"
            )

    def _key(self, member: bytes) -> int | str:
        try:
            return decode_key(member)
        except ValueError:
            raise FormatError(
                f"{self._connection.place('entries')}: {member!r} is not a key of this format"
            ) from None

    def _stored_parameters(self, *fields: str) -> Parameters | None:
        """Return the parameters on the server; these fields are stored if it has none."""
        answer = self._connection.eval(scripts.OPEN, *fields)
        return stored_parameters(answer, self._connection.place("parameters"))


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

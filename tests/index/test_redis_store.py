"""The Redis store beside a plain dict: answers, batches that are whole, writers at once, crashes, and damage."""

from __future__ import annotations

import multiprocessing
import re
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, count, pairwise

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lshfast import LSHIndex
from lshfast._common.errors import FormatError
from lshfast._common.extras import optional
from lshfast.index.stores import redis as redis_store
from lshfast.index.stores.redis import RedisStore
from lshfast.index.stores.values import Parameters
from tests.index.redis_server import RedisServer, needs_redis, redis, redis_server
from tests.interrupts import interrupted, places
from tests.reference import minhash

__all__ = ["redis_server"]  # a fixture
pytestmark = needs_redis

EMPTY = 2**64 - 1
SMALL = Parameters(
    num_perm=7, bands=3, rows_per_band=2, scheme="fast", seed=1, threshold=None
)
USUAL = Parameters(
    num_perm=128,
    bands=18,
    rows_per_band=7,
    scheme="classic",
    seed=2**64 - 1,
    threshold=0.8,
)
NAMES = (f"test {number}" for number in count())


@pytest.fixture
def place(redis_server):
    """Give a client, and a name that nobody else uses."""
    with closing(redis_server.client()) as client:
        yield client, next(NAMES)


@pytest.fixture
def store(place):
    with closing(RedisStore(*place)) as store:
        store.bind(SMALL)
        yield store


def signatures(*rows):
    return np.array(rows, np.uint64).reshape(len(rows), -1)


def some(n, parameters=SMALL, seed=0):
    """Return random signatures, of which no two share a band."""
    return (
        np.random.default_rng(seed)
        .integers(0, 2**63, (n, parameters.num_perm))
        .astype(np.uint64)
    )


def content(store):
    """Return all that a store holds as a dict of tuples."""
    entries = [
        (k, tuple(row))
        for keys, rows in store.items()
        for k, row in zip(keys, rows.tolist(), strict=True)
    ]
    assert len(dict(entries)) == len(entries) == len(store)
    return {key if isinstance(key, str) else int(key): row for key, row in entries}


def answers(found):
    """Return the answer of each query as a sorted list of (key, agreements)."""
    equal = (
        [None] * len(found.keys)
        if found.agreements is None
        else found.agreements.tolist()
    )
    pairs = [
        (key if isinstance(key, str) else int(key), e)
        for key, e in zip(found.keys, equal, strict=True)
    ]
    return [
        sorted(pairs[low:high], key=repr)
        for low, high in pairwise(found.offsets.tolist())
    ]


def expected(model, query, least, parameters=SMALL):
    """Return the answer to a query from a dict of signatures."""
    b, r = parameters.bands, parameters.rows_per_band
    if minhash.is_empty(query):
        return []
    equal = {
        key: [x == y for x, y in zip(query, row, strict=True)]
        for key, row in model.items()
    }
    candidates = {
        key: same
        for key, same in equal.items()
        if any(all(same[j * r : j * r + r]) for j in range(b))
    }
    kept = [
        (key, None if least is None else sum(s))
        for key, s in candidates.items()
        if sum(s) >= (least or 0)
    ]
    return sorted(kept, key=repr)


# Beside a dict

KEYS = st.sampled_from([0, 1, -1, 17, "17", "s", "", "ä", 2**63 - 1, 2**63, 2**64 - 1])
ROWS = st.one_of(
    st.lists(st.integers(0, 2), min_size=7, max_size=7), st.just([EMPTY] * 7)
).map(tuple)
BATCHES = st.lists(st.tuples(KEYS, ROWS), max_size=6)


class Machine(RuleBasedStateMachine):
    """Two stores on one index, one of which writes while the other looks."""

    server: RedisServer

    @initialize()
    def open(self):
        self.client, self.name, self.model = self.server.client(), next(NAMES), {}
        self.store = RedisStore(self.client, self.name)
        assert self.store.parameters is None
        self.store.bind(SMALL)
        self.other = RedisStore(self.client, self.name)

    def teardown(self):
        if hasattr(self, "client"):
            self.store.clear()
            self.client.close()

    @rule()
    def reopen(self):
        self.store.close()
        self.store = RedisStore(self.client, self.name)
        assert self.store.parameters == SMALL
        self.store, self.other = self.other, self.store

    @rule(batch=BATCHES, mode=st.sampled_from(["error", "replace", "skip"]))
    def insert(self, batch, mode):
        keys = [key for key, _ in batch]
        rows = np.array([row for _, row in batch], np.uint64).reshape(-1, 7)
        if mode == "error":
            repeated = next(
                (k for i, k in enumerate(keys) if k in self.model or k in keys[:i]),
                None,
            )
            if repeated is not None:
                with pytest.raises(
                    ValueError,
                    match=re.escape(f"] = {repeated!r} is in the index already"),
                ):
                    self.store.insert(keys, rows, mode)
                return
        new = dict(batch if mode == "replace" else reversed(batch))
        new = {
            key: row
            for key, row in new.items()
            if mode == "replace" or key not in self.model
        }
        assert self.store.insert(keys, rows, mode) == len(new)
        self.model |= new

    @rule(keys=st.lists(KEYS, max_size=4))
    def remove(self, keys):
        absent = [key for key in keys if key not in self.model]
        if absent:
            with pytest.raises(KeyError) as caught:
                self.store.remove(keys)
            assert caught.value.args == (absent[0],)
        else:
            self.store.remove(keys)
            for key in set(keys):
                del self.model[key]

    @rule(rows=st.lists(ROWS, max_size=5), least=st.sampled_from([None, 0, 3, 7]))
    def query(self, rows, least):
        found = self.other.query(
            np.array(rows, np.uint64).reshape(-1, 7), least=least, threads=1
        )
        assert answers(found) == [expected(self.model, row, least) for row in rows]
        assert (found.agreements is None) == (least is None)

    @invariant()
    def holds_the_same(self):
        assert content(self.other) == self.model
        keys = [5, *self.model]
        assert self.other.contains(keys).tolist() == [False] + [True] * len(self.model)

        self.store.verify()
        names = list(chain.from_iterable(self.store.all_keys()))
        assert len(names) == len(self.model)
        assert set(names) == set(self.model)

    @invariant()
    def nothing_else_is_kept(self):
        names = self.client.keys(b"{%s}*" % self.name.encode())
        rows = [row for row in self.model.values() if not minhash.is_empty(row)]
        buckets = {
            (j, key)
            for row in rows
            for j, key in enumerate(minhash.band_keys(row, 3, 2))
        }
        prefix = f"{{{self.name}}}".encode()
        assert set(names) == {
            prefix + b":parameters",
            *([prefix + b":entries"] if self.model else []),
            *(prefix + b"/" + struct.pack("<HQ", *bucket) for bucket in buckets),
        }


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("small", [False, True])
def test_beside_a_dict(redis_server, monkeypatch, small):
    if small:
        for name, value in [
            ("PIECE_KEYS", 2),
            ("PIECE_BYTES", 200),
            ("MOST_CANDIDATES", 2),
            ("MOST_ANSWER", 100),
        ]:
            monkeypatch.setattr(redis_store, name, value)
    Machine.server = redis_server
    Machine.TestCase.settings = settings(
        settings(), max_examples=30, stateful_step_count=15
    )
    Machine.TestCase("runTest").runTest()


@pytest.mark.slow
def test_many_entries_at_the_usual_size(place):
    store = RedisStore(*place)
    store.bind(USUAL)
    rows = some(3000, USUAL)
    rows[1000:2000, :64] = rows[:1000, :64]
    rows[2000:2500] = rows[0]
    rows[2500] = EMPTY
    keys = np.arange(3000) - 1500
    assert store.insert(keys, rows, "error") == 3000
    model = dict(zip(keys.tolist(), map(tuple, rows.tolist()), strict=True))
    asked = [0, 1, 1001, 2001, 2500, 2999]
    found = store.query(rows[asked], least=60, threads=2)
    assert found.keys.dtype == np.int64
    assert answers(found) == [
        expected(model, tuple(rows[i].tolist()), 60, USUAL) for i in asked
    ]
    assert content(store) == model
    every = store.query(rows, least=None, threads=1)
    assert every.offsets[-1] == len(every.keys) == 502**2 + 999 * 2**2 + 499
    store.remove(keys)
    assert len(store) == 0


@pytest.mark.parametrize("bands", [1, 1000, 1001, 2500])
def test_numbers_of_bands(place, bands):
    parameters = Parameters(2500, bands, 1, "fast", 1, None)
    store = RedisStore(*place)
    store.bind(parameters)
    rows = some(4, parameters)
    rows[1, bands - 1] = rows[0, bands - 1]
    rows[2, :] = rows[3, :]
    store.insert([0, 1, 2, 3], rows, "error")
    equal = [
        [(0, 2500), (1, 1)],
        [(0, 1), (1, 2500)],
        [(2, 2500), (3, 2500)],
        [(2, 2500), (3, 2500)],
    ]
    assert answers(store.query(rows, least=0, threads=1)) == equal


# Beside the index in memory


def near_duplicates(n, num_perm, seed=3):
    """Return signatures of which many share some slots with an earlier one, and some are those of empty sets."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**63, (n, num_perm)).astype(np.uint64)
    for row in range(1, n):
        same = rng.random(num_perm) < rng.choice([0, 0.7, 0.9, 1])
        rows[row, same] = rows[rng.integers(row), same]
    rows[rng.random(n) < 0.02] = EMPTY
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "name_of",
    [
        int,
        pytest.param(str, marks=pytest.mark.slow),
        lambda row: row if row % 2 else f"row {row}",
    ],
)
def test_an_index_answers_as_in_memory(place, tmp_path, name_of):
    rows = near_duplicates(600, 64)
    keys = [name_of(row) for row in range(600)]
    here, there = LSHIndex(0.7, 64), LSHIndex(0.7, 64, store=RedisStore(*place))

    # Such keys stand in no order, and no file holds them.
    mixed = not isinstance(keys[0], type(keys[1]))

    def answer(found):
        return sorted(found, key=repr) if mixed else found

    def same():
        for options in (
            {},
            {"threshold": 0.8},
            *([] if mixed else [{"k": 3}, {"k": 2, "threshold": 0.6}]),
        ):
            for row in (0, 1, 7, 599):
                assert answer(here.query(rows[row], **options)) == answer(
                    there.query(rows[row], **options)
                )
            mine, theirs = here.query(rows, **options), there.query(rows, **options)
            assert [answer(mine[row]) for row in range(600)] == [
                answer(theirs[row]) for row in range(600)
            ]
        assert set(here) == set(there)
        assert len(here) == len(there)
        if not mixed:
            assert list(here.pairs(0.75)) == list(there.pairs(0.75))

    for index in (here, there):
        assert index.insert(keys[:400], rows[:400]) == 400
    same()
    for index in (here, there):
        index.remove(keys[100:200])
        with pytest.raises(KeyError, match=re.escape(repr(keys[150]))):
            index.remove([keys[0], keys[150]])
        with pytest.raises(
            ValueError,
            match=re.escape(f"keys[1] = {keys[0]!r} is in the index already"),
        ):
            index.insert([keys[500], keys[0]], rows[:2])
        index.on_duplicate = "replace"
        assert index.insert(keys[300:], rows[::-1][300:]) == 300
        index.on_duplicate = "skip"
        assert index.insert(keys, rows) == 100
        assert keys[150] in index
        assert "nobody" not in index
    same()
    there.verify()
    there = LSHIndex.on(RedisStore(*place))
    same()
    if not mixed:
        there.save(tmp_path / "index.lshx")
        with LSHIndex.open(tmp_path / "index.lshx") as there:
            same()


# The layout


def test_what_a_store_shows(place):
    store = RedisStore(*place)
    shown = repr(store)
    assert re.fullmatch(r"RedisStore\('.*/0', name='.*'\)", shown)
    store.close()
    assert repr(store) == f"{shown[:-1]}, closed)"


def test_layout_is_format_1(place):
    client, name = place
    store = RedisStore(client, name)
    store.bind(Parameters(4, 2, 2, "fast", 7, 0.5))
    row = [1, 2, 3, 2**63]
    store.insert([-5, "é:{}", 9], signatures(row, row, [EMPTY] * 4), "error")
    prefix = b"{%s}" % name.encode()
    assert client.hgetall(prefix + b":parameters") == {
        b"format": b"1",
        b"num_perm": b"4",
        b"bands": b"2",
        b"rows": b"2",
        b"scheme": b"fast",
        b"seed": b"7",
        b"threshold": b"0.5",
        b"shingles": b"",
    }
    keys = [0x25137CD841F16E0D, 0xA17B74EEDFD566E5]
    assert keys == minhash.band_keys(row, 2, 2)
    entry = b"".join(number.to_bytes(8, "little") for number in [*row, *keys])
    members = [b"-5", b"s\xc3\xa9:{}"]
    assert client.hgetall(prefix + b":entries") == {
        members[0]: entry,
        members[1]: entry,
        b"9": b"\xff" * 48,
    }
    buckets = [
        prefix + b"/" + bytes([j, 0]) + keys[j].to_bytes(8, "little") for j in range(2)
    ]
    for bucket in buckets:
        assert client.smembers(bucket) == set(members)
    assert set(client.keys(prefix + b"*")) == {
        prefix + b":parameters",
        prefix + b":entries",
        *buckets,
    }


def test_buckets_of_ints_are_packed(place):
    client, name = place
    store = RedisStore(client, name)
    store.bind(SMALL)
    store.insert([2**63 - 1, -1], some(2), "error")
    assert {
        client.object("ENCODING", bucket) for bucket in client.keys(f"{{{name}}}/*")
    } == {b"intset"}


def test_parameters_come_back_as_they_were(place):
    for number, parameters in enumerate(
        [SMALL, USUAL, Parameters(65536, 4, 16384, "classic", 0, 0.1 + 0.2)]
    ):
        name = f"{place[1]} {number}"
        RedisStore(place[0], name).bind(parameters)
        assert RedisStore(place[0], name).parameters == parameters


def test_other_parameters_are_refused(place):
    RedisStore(*place).bind(SMALL)
    store = RedisStore(*place)
    for name, value in [
        ("num_perm", 8),
        ("bands", 2),
        ("rows_per_band", 1),
        ("scheme", "classic"),
        ("seed", 2),
    ]:
        with pytest.raises(
            ValueError,
            match=f"{name} is {getattr(SMALL, name)!r} in this index, not {value!r}",
        ):
            store.bind(replace(SMALL, **{name: value}))
    store.bind(replace(SMALL, threshold=0.5))
    assert store.parameters == SMALL
    store.bind(SMALL)


def test_of_two_that_bind_at_once_the_later_is_refused(place):
    first, second = RedisStore(*place), RedisStore(*place)
    assert first.parameters is second.parameters is None
    first.bind(SMALL)
    with pytest.raises(ValueError, match="seed is 1 in this index, not 2"):
        second.bind(replace(SMALL, seed=2))


def test_names_keep_indexes_apart(place):
    client, name = place
    names = [name, name + "?", name + "[a-z]*", name + ":entries", name + "ü \\"]
    stores = [RedisStore(client, each) for each in names]
    for number, store in enumerate(stores):
        store.bind(SMALL)
        store.insert([number], some(1), "error")
    stores[2].clear()
    assert stores[2].parameters is None
    assert RedisStore(client, names[2]).parameters is None
    for number in (0, 1, 3, 4):
        assert answers(stores[number].query(some(1), least=None, threads=1)) == [
            [(number, None)]
        ]
    for number in (0, 1, 3, 4):
        stores[number].clear()
    assert client.keys(f"{{{name}*") == []


def test_stats(store):
    assert store.stats() == {"entry bytes": 0}
    store.insert(["a", "b"], some(2), "error")
    assert store.stats() == {"entry bytes": 2 * 8 * (7 + 3)}


def test_a_store_without_parameters_is_empty(place):
    store = RedisStore(*place)
    assert len(store) == 0
    assert list(store.items()) == []
    assert store.contains([1, "a"]).tolist() == [False, False]
    assert store.contains([]).tolist() == []
    with pytest.raises(KeyError, match="1"):
        store.remove([1])
    with pytest.raises(ValueError, match="bind"):
        store.insert([1], some(1), "error")
    with pytest.raises(ValueError, match="bind"):
        store.query(some(1), least=None, threads=1)


# Keys

STRANGE = [
    "",
    " ",
    "s",
    "17",
    "-5",
    "a:b",
    "{lshfast}",
    "}{",
    "\0",
    "\r\n",
    "日本語 🎉",
    "\ud800",
    "x" * 1_000_000,
]


def test_strange_keys_come_back(store):
    keys = [*STRANGE, 17, -5, 0, -(2**63), 2**63 - 1]
    rows = some(len(keys))
    assert store.insert(keys, rows, "error") == len(keys)
    assert answers(store.query(rows, least=None, threads=1)) == [
        [(key, None)] for key in keys
    ]
    assert content(store) == dict(zip(keys, map(tuple, rows.tolist()), strict=True))
    assert store.contains(keys).all()
    store.remove(keys)
    assert len(store) == 0


def test_numpy_ints_are_ints(store):
    store.insert([np.int64(3), np.uint8(4)], some(2), "error")
    assert sorted(content(store)) == [3, 4]


@pytest.mark.parametrize(
    "key", [b"bytes", None, 1.0, True, (1, 2), 2**64, -(2**63) - 1, np.float64(1)]
)
def test_other_keys_are_refused(store, key):
    for call in (
        lambda: store.insert(["a", key], some(2), "error"),
        lambda: store.remove(["a", key]),
        lambda: store.contains(["a", key]),
    ):
        with pytest.raises(
            TypeError,
            match=re.escape(f"ints in -2**63..2**64 - 1 and str, not {key!r}"),
        ):
            call()
    assert len(store) == 0


def test_the_first_duplicate_is_named(store):
    store.insert([1, 2], some(2), "error")
    for keys, place in [
        ([5, 2, 5, 1], 1),
        ([5, 6, 5, 1], 2),
        ([5, 1, 2], 1),
        ([2], 0),
        ([3, 4, 5, 5], 3),
    ]:
        text = f"keys[{place}] = {keys[place]} is in the index already, or twice in the batch"
        with pytest.raises(ValueError, match=re.escape(text)):
            store.insert(keys, some(len(keys)), "error")
        assert sorted(content(store)) == [1, 2]


def test_wrong_calls(store):
    with pytest.raises(ValueError, match="2 keys for 3 signatures"):
        store.insert([1, 2], some(3), "error")
    with pytest.raises(ValueError, match=r"uint64 \(n, 7\), not \(1, 8\)"):
        store.insert([1], np.zeros((1, 8), np.uint64), "error")
    with pytest.raises(TypeError, match="int64"):
        store.query(np.zeros((1, 7), np.int64), least=None, threads=1)
    with pytest.raises(
        ValueError,
        match="on_duplicate must be 'error', 'replace' or 'skip', not 'ignore'",
    ):
        store.insert([1], some(1), "ignore")


def test_too_large_a_batch_is_refused_before_it_is_sent(store, monkeypatch):
    monkeypatch.setattr(redis_store, "MOST_BYTES", 1000)
    store.insert(range(9), some(9), "error")
    with pytest.raises(
        ValueError, match=r"insert: the batch has 1680 bytes, more than 1000; divide it"
    ):
        store.insert(range(10, 30), some(20), "error")
    assert len(store) == 9


def test_shingles_are_kept_and_compared(place):
    RedisStore(*place).bind(replace(SMALL, shingles="word:5"))
    again = RedisStore(*place)
    assert again.parameters.shingles == "word:5"
    with pytest.raises(ValueError, match="shingles is 'word:5' in this index, not ''"):
        again.bind(SMALL)


# Several at once


def write_batches(url, name, writer, batches, mode, results):
    """Insert batches, in a process of its own; all slots of a signature name the batch that it came with."""
    with closing(RedisStore(url, name)) as store:
        for number, keys in enumerate(batches):
            rows = np.full((len(keys), 7), writer * 1000 + number, np.uint64)
            try:
                results.put((writer, number, store.insert(keys, rows, mode)))
            except ValueError:
                results.put((writer, number, None))


def at_once(redis_server, store, name, batches, mode):
    """Insert batches from two processes, looking on meanwhile; return what was inserted by (writer, number)."""
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    common = redis_server.url, name
    writers = [
        context.Process(
            target=write_batches, args=(*common, writer, batches[writer], mode, results)
        )
        for writer in range(2)
    ]
    for writer in writers:
        writer.start()
    inserted = {}
    seen = set()
    while len(inserted) < sum(map(len, batches)):
        if any(writer.exitcode for writer in writers):
            pytest.fail("a writer failed")
        while not results.empty():
            writer, number, written = results.get()
            inserted[writer, number] = written
        first = np.repeat(np.array([0, 1000], np.uint64)[:, None], 7, axis=1)
        found = store.query(first, least=None, threads=1)
        seen.update(enumerate(np.diff(found.offsets).tolist()))
    for writer in writers:
        writer.join()
    return inserted, seen


@pytest.mark.slow
def test_of_two_writers_one_gets_each_key(redis_server, place, store):
    batches = [
        [range(low, low + 20) for low in range(0, 400, 10)],
        [range(low, low + 20) for low in range(390, -1, -10)],
    ]
    inserted, _ = at_once(redis_server, store, place[1], batches, "error")
    owners = {key: row[0] for key, row in content(store).items()}
    for (writer, number), written in inserted.items():
        owned = [
            key
            for key in batches[writer][number]
            if owners.get(key) == writer * 1000 + number
        ]
        assert len(owned) == (written or 0)
        assert written in (None, 20)


@pytest.mark.weekly
def test_skipping_writers_share_the_keys(redis_server, place, store):
    batches = [[range(low, low + 50) for low in range(0, 500, 10)]] * 2
    inserted, _ = at_once(redis_server, store, place[1], batches, "skip")
    owners = [row[0] for row in content(store).values()]
    assert len(owners) == 540 == sum(inserted.values())
    for (writer, number), written in inserted.items():
        assert owners.count(writer * 1000 + number) == written


@pytest.mark.slow
def test_a_reader_sees_whole_batches(redis_server, place, store):
    batches = [[range(0, 3000)], [range(3000, 6000)]]
    inserted, seen = at_once(redis_server, store, place[1], batches, "error")
    assert inserted == {(0, 0): 3000, (1, 0): 3000}
    assert seen <= {(writer, n) for writer in range(2) for n in (0, 3000)}


@pytest.mark.slow
def test_threads_share_a_store(store):
    rows = some(400)

    def work(low):
        for row in range(low, 400, 4):
            store.insert([row], rows[row : row + 1], "error")
            assert answers(store.query(rows[row : row + 1], least=7, threads=1)) == [
                [(row, 7)]
            ]

    threads = [threading.Thread(target=work, args=(low,)) for low in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store) == 400


# Servers that go away


@contextmanager
def durable() -> Iterator[RedisServer]:
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        yield server


def client_that(act, server):
    """Return a client that acts when it has sent the first half of a transaction, or None, and all of it."""

    class Connection(redis.Connection):
        def send_packed_command(self, command, check_health=True):
            parts = command if isinstance(command, list) else [command]
            if sum(map(len, parts)) < 10_000:
                return super().send_packed_command(command, check_health)
            half = len(parts) // 2
            super().send_packed_command(parts[:half], check_health)
            act(None)
            super().send_packed_command(parts[half:], check_health)
            act(self)

    retry = redis.retry.Retry(
        redis.backoff.NoBackoff(), 3
    )  # which must not send a batch again
    pool = redis.ConnectionPool(
        max_connections=1,
        connection_class=Connection,
        host="127.0.0.1",
        port=server.port,
        retry=retry,
    )
    return redis.Redis(connection_pool=pool)


def reopened(server, name="crash"):
    with closing(server.client()) as client, closing(RedisStore(client, name)) as store:
        kept = content(store)
        rows = np.array(list(kept.values()), np.uint64)
        assert [
            dict(pairs)[key]
            for key, pairs in zip(
                kept, answers(store.query(rows, least=7, threads=1)), strict=True
            )
        ]
        return kept


@pytest.mark.one_case
@pytest.mark.parametrize("when", ["half sent", "all sent", "executed"])
@pytest.mark.parametrize("operation", ["insert", "remove"])
def test_a_server_killed_in_a_batch_has_all_of_it_or_nothing(when, operation):
    before, after = set(range(2000)), set(range(2000, 6000))
    rows = some(6000)
    with durable() as server:
        with closing(RedisStore(server.url, "crash")) as store:
            store.bind(SMALL)
            store.insert(range(2000), rows[:2000], "error")
            if operation == "remove":
                store.insert(range(2000, 6000), rows[2000:], "error")

        def act(connection):
            if when == "executed" and connection is not None:
                with closing(server.client()) as other:
                    while other.hlen("{crash}:entries") != (
                        6000 if operation == "insert" else 2000
                    ):
                        pass
            if (when == "half sent") == (connection is None):
                server.kill()
            # The answer has arrived, and gets lost here.
            if when == "executed" and connection is not None:
                raise redis.ConnectionError("Connection closed by server.")

        with closing(client_that(act, server)) as client:
            store = RedisStore(client, "crash")
            address = re.escape(f"Redis at 127.0.0.1:{server.port}/0, {operation}: ")
            keys = range(2000, 6000)
            call = (
                partial(store.insert, keys, rows[2000:], "error")
                if operation == "insert"
                else partial(store.remove, keys)
            )
            with pytest.raises(
                ConnectionError,
                match=address + "the batch was executed whole or not at all",
            ):
                call()
        server.start()
        kept = set(reopened(server))
    done, undone = (
        (before | after, before) if operation == "insert" else (before, before | after)
    )
    assert (
        kept
        in {"half sent": [undone], "all sent": [undone, done], "executed": [done]}[when]
    )


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("act", ["insert", "remove"])
def test_an_interrupted_batch_is_there_or_not(store, act):
    """Wherever it was interrupted: each batch is one transaction, and the store goes on answering."""
    old, rows = [1, 2, 3], some(6)

    def run():
        store.remove([1, 3]) if act == "remove" else store.insert(
            [2, 4, 5], rows[3:], "replace"
        )

    store.insert(old, rows[:3], "error")
    before = content(store)
    number, _ = interrupted(run, 0)
    after = content(store)
    assert before != after
    for place in places(number, 60):
        store.remove(list(content(store)))
        store.insert(old, rows[:3], "error")
        interrupted(run, place)
        assert content(store) in (before, after)
        store.verify()


def test_a_batch_is_not_sent_again(redis_server, place, store):
    def act(connection):
        if connection is not None:
            while not len(store):
                pass
            raise redis.ConnectionError("Connection closed by server.")

    with (
        closing(client_that(act, redis_server)) as client,
        pytest.raises(
            ConnectionError,
            match=r"insert: the batch was executed whole or not at all: Connection closed",
        ),
    ):
        RedisStore(client, place[1]).insert(range(2000), some(2000), "error")
    assert len(store) == 2000


def test_a_torn_log_loses_a_whole_batch():
    rows = some(2000)
    with durable() as server:
        with closing(RedisStore(server.url, "crash")) as store:
            store.bind(SMALL)
            store.insert(range(500), rows[:500], "error")
            store.insert(range(500, 2000), rows[500:], "error")
        server.kill()
        (log,) = server.folder.glob("appendonlydir/*.incr.aof")
        log.write_bytes(log.read_bytes()[:-1000])
        server.start()
        assert sorted(reopened(server)) == list(range(500))


def test_a_batch_that_times_out_is_whole_later(redis_server, place, store):
    def act(connection):
        nonlocal stopped
        if connection is None:
            stopped = redis_server.paused()
            stopped.__enter__()

    stopped = None
    with closing(client_that(act, redis_server)) as client:
        client.connection_pool.connection_kwargs["socket_timeout"] = 0.2
        late = RedisStore(client, place[1])
        try:
            with pytest.raises(
                TimeoutError,
                match=r"127\.0\.0\.1:\d+/0, insert: the batch was executed whole or not",
            ):
                late.insert(range(2000), some(2000), "error")
        finally:
            stopped.__exit__(None, None, None)
        assert len(late) in (0, 2000)
    assert len(store) in (0, 2000)


def test_a_server_that_does_not_answer(redis_server, place, store):
    store.insert([1], some(1), "error")
    with closing(redis_server.client(socket_timeout=0.1)) as client:
        slow = RedisStore(client, place[1])
        with redis_server.paused():
            for operation, call in operations(slow):
                with pytest.raises(
                    TimeoutError, match=rf"Redis at 127\.0\.0\.1:\d+/0, {operation}: "
                ):
                    call()
        assert len(slow) == 1


def operations(store):
    return [
        ("len", lambda: len(store)),
        ("contains", lambda: store.contains([1])),
        ("insert", lambda: store.insert([2], some(1), "error")),
        ("remove", lambda: store.remove([1])),
        ("query", lambda: store.query(some(1), least=None, threads=1)),
        ("items", lambda: list(store.items())),
        ("all_keys", lambda: list(store.all_keys())),
        ("verify", lambda: store.verify()),
        ("bind", lambda: store.bind(SMALL)),
        ("clear", lambda: store.clear()),
    ]


def test_a_server_that_is_gone():
    with RedisServer(requirepass="secret") as server:
        store = RedisStore(server.url.replace("//", "//:secret@"))
        store.bind(SMALL)
        server.kill()
        for operation, call in operations(store):
            with pytest.raises(
                ConnectionError,
                match=rf"Redis at 127\.0\.0\.1:{server.port}/0, {operation}: ",
            ) as caught:
                call()
            assert "secret" not in str(caught.value)
        store.close()
        with pytest.raises(
            ConnectionError, match=rf"Redis at 127\.0\.0\.1:{server.port}/3, open: "
        ):
            RedisStore(f"redis://user:secret@127.0.0.1:{server.port}/3")


def test_a_connection_that_broke_while_idle_is_made_anew():
    with RedisServer() as server, closing(RedisStore(server.url)) as store:
        store.bind(SMALL)
        for key in range(3):
            with closing(server.client()) as client:
                client.client_kill_filter(_type="normal", skipme=True)
            store.insert([key], some(1), "error")
        assert sorted(content(store)) == [0, 1, 2]


def test_passwords():
    with RedisServer(requirepass="right") as server:
        with closing(RedisStore(server.url.replace("//", "//:right@"))) as store:
            assert len(store) == 0
        for wrong in (":wrong@", "user:wrong@", ""):
            with pytest.raises(
                ConnectionError, match=rf"Redis at 127\.0\.0\.1:{server.port}/0, open: "
            ) as caught:
                RedisStore(server.url.replace("//", f"//{wrong}"))
            assert "wrong" not in str(caught.value).replace("WRONGPASS", "")


def test_a_full_server_stores_nothing_of_a_batch(place, store):
    client, _ = place
    store.insert([1], some(1), "error")
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(OSError, match=r"Redis at .*, insert: .*maxmemory"):
            store.insert(range(2, 4000), some(3998), "error")
    finally:
        client.config_set("maxmemory", 0)
    assert sorted(content(store)) == [1]


def test_closed(redis_server, place):
    client, name = place
    mine, owned = RedisStore(client, name), RedisStore(redis_server.url, name)
    for store in (mine, owned):
        store.bind(SMALL)
        store.close()
        store.close()
        for operation, call in operations(store):
            with pytest.raises(ValueError, match=f"{operation}: the store is closed"):
                call()
    assert client.ping()


# What is not ours


def damaged(place, section, act):
    """Return a store and its client after something happened to its section."""
    client, name = place
    store = RedisStore(client, name)
    store.bind(SMALL)
    store.insert([1, "b"], some(2), "error")
    act(client, f"{{{name}}}{section}")
    return store


def test_unknown_formats(place):
    store = damaged(
        place, ":parameters", lambda client, key: client.hset(key, "format", 3)
    )
    text = r"{test \d+}:parameters: format '3' is unknown, this version reads 1 and 2"
    for call in (lambda: RedisStore(*place), lambda: store.bind(SMALL)):
        with pytest.raises(FormatError, match=text):
            call()
    for operation, call in operations(store):
        if operation not in ("len", "bind", "clear"):
            with pytest.raises(
                FormatError, match=r"{test \d+}:parameters: deleted, or not those"
            ):
                call()
    assert len(store) == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_perm", "x"),
        ("num_perm", "0"),
        ("num_perm", "65537"),
        ("num_perm", " 7"),
        ("bands", "0"),
        ("bands", "-3"),
        ("rows", "3"),
        ("scheme", "slow"),
        ("scheme", b"\xff"),
        ("seed", "-1"),
        ("seed", str(2**64)),
        ("threshold", "nan"),
        ("threshold", "0"),
        ("threshold", "none"),
        ("more", "1"),
        ("seed", None),
        ("format", None),
    ],
)
def test_damaged_parameters(place, field, value):
    def act(client, key):
        if value is None:
            client.hdel(key, field)
        else:
            client.hset(key, field, value)

    damaged(place, ":parameters", act)
    with pytest.raises(FormatError, match=r"{test \d+}:parameters: "):
        RedisStore(*place)


@pytest.mark.parametrize("section", [":parameters", ":entries"])
def test_sections_of_another_type(place, section):
    def act(client, key):
        client.delete(key)
        client.rpush(key, "x")

    store = damaged(place, section, act)
    for operation, call in operations(store):
        if operation not in ("bind", "clear") and (
            section == ":entries" or operation != "len"
        ):
            with pytest.raises(
                FormatError, match=r"{test \d+}:parameters or entries: not a hash"
            ):
                call()
    if section == ":parameters":
        with pytest.raises(FormatError, match="not a hash"):
            RedisStore(*place)


def test_entries_without_parameters(place):
    store = damaged(place, ":parameters", lambda client, key: client.delete(key))
    for call in (
        lambda: RedisStore(*place),
        lambda: store.bind(SMALL),
        lambda: store.remove([1]),
    ):
        with pytest.raises(
            FormatError, match=r"{test \d+}:parameters: deleted, or not those"
        ):
            call()


@pytest.mark.parametrize(
    "change", [lambda e: e[:-1], lambda e: e + b"\0", lambda e: e[:56], lambda e: b"x"]
)
def test_entries_of_another_length(place, change):
    store = damaged(
        place,
        ":entries",
        lambda client, key: client.hset(key, "sb", change(client.hget(key, "sb"))),
    )
    calls = [
        lambda: store.contains([1, "b"]),
        lambda: store.insert([3, "b"], some(2), "skip"),
        lambda: store.insert([3, "b"], some(2), "replace"),
        lambda: store.insert([3, "b"], some(2), "error"),
        lambda: store.remove([1, "b"]),
        lambda: store.query(some(2), least=None, threads=1),
        lambda: list(store.items()),
        lambda: list(store.all_keys()),
        store.verify,
    ]
    for call in calls:
        with pytest.raises(
            FormatError,
            match=r"{test \d+}:entries: the entry of b'sb' does not have 80 bytes",
        ):
            call()
    assert set(place[0].hkeys(f"{{{place[1]}}}:entries")) == {b"1", b"sb"}


def test_a_damaged_entry_in_the_second_answer(place, monkeypatch):
    store = damaged(
        place, ":entries", lambda client, key: client.hset(key, "sb", b"short")
    )
    monkeypatch.setattr(redis_store, "MOST_ANSWER", 1)
    with pytest.raises(FormatError, match="the entry of b'sb' does not have 80 bytes"):
        store.query(some(2), least=None, threads=1)


@pytest.mark.parametrize(
    "member",
    [b"", b"x", b"007", b"-0", b"+1", b" 1", b"1_0", b"18446744073709551616", b"s\xff"],
)
def test_keys_that_cannot_be_read(place, member):
    def act(client, key):
        client.hset(key, member, client.hget(key, "1"))
        for bucket in client.keys(key.replace(":entries", "/*")):
            client.sadd(bucket, member)

    store = damaged(place, ":entries", act)
    calls = (lambda: list(store.items()), lambda: list(store.all_keys()), store.verify)
    for call in (*calls, lambda: store.query(some(1), least=None, threads=1)):
        with pytest.raises(
            FormatError,
            match=re.escape(f"entries: {member!r} is not a key of this format"),
        ):
            call()


def test_members_of_buckets_without_an_entry_are_left_out(place):
    def act(client, key):
        for bucket in client.keys(key + "*"):
            client.sadd(bucket, "5", "sgone", b"\xff")

    store = damaged(place, "/", act)
    assert answers(store.query(some(2), least=0, threads=1)) == [[(1, 7)], [("b", 7)]]


def test_members_of_buckets_that_share_no_band_are_left_out(place, store):
    client, name = place
    rows = signatures([1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 0, 0, 6, 7])
    store.insert([1, "b"], rows, "error")
    for bucket in client.keys(f"{{{name}}}/*"):
        client.sadd(bucket, "1", "sb")
    assert answers(store.query(rows, least=0, threads=1)) == [[(1, 7)], [("b", 7)]]


def test_buckets_of_another_type(place):
    def act(client, key):
        nonlocal bucket
        bucket = sorted(client.keys(key + "*"))[0]
        client.delete(bucket)
        client.set(bucket, "x")

    bucket = None
    store = damaged(place, "/", act)
    with pytest.raises(FormatError, match=re.escape(f"{bucket!r} is not a set")):
        store.query(some(2), least=None, threads=1)
    with pytest.raises(
        FormatError,
        match=re.escape(f"the batch is stored, except in bucket {bucket!r}: WRONGTYPE"),
    ):
        store.insert([1, "b"], some(2), "replace")
    assert sorted(map(str, content(store))) == ["1", "b"]


def test_verify_tells_what_queries_cannot(place):
    client, name = place
    entries = f"{{{name}}}:entries"
    store = damaged(
        place, "/", lambda client, key: client.delete(client.keys(key + "*")[0])
    )
    with pytest.raises(
        FormatError, match=r"entries: the entry of b'(1|sb)' is missing in a bucket"
    ):
        store.verify()
    entry = client.hget(entries, "1")
    client.hset(entries, "1", entry[:-1] + bytes([entry[-1] ^ 1]))
    client.hdel(entries, "sb")
    with pytest.raises(
        FormatError, match="entries: the entry of b'1' is missing in a bucket"
    ):
        store.verify()
    store.remove([1])
    store.insert([1], some(1), "error")
    store.verify()
    client.hset(entries, "1", bytes([1]) + client.hget(entries, "1")[1:])
    with pytest.raises(
        FormatError, match="entries: the band keys of 1 are not those of its signature"
    ):
        store.verify()


def test_a_word_left_by_somebody_refuses_nothing(place, store):
    place[0].set(f"{{{place[1]}}}:refused", "")
    assert store.insert([1], some(1), "error") == 1


# Clients


def test_clients_of_ones_own(redis_server, place):
    with pytest.raises(
        TypeError, match=r"redis\.Redis or redis\.RedisCluster, not 6379"
    ):
        RedisStore(6379)
    with (
        closing(redis_server.client(decode_responses=True)) as client,
        pytest.raises(ValueError, match="decode_responses=False"),
    ):
        RedisStore(client)
    for options in ({"protocol": 2}, {"protocol": 3}, {"db": 1}):
        with closing(redis_server.client(**options)) as client:
            store = RedisStore(client, place[1])
            store.bind(SMALL)
            store.clear()
            store.bind(SMALL)
            store.insert([1, "x"], some(2), "error")
            assert answers(store.query(some(2), least=7, threads=1)) == [
                [(1, 7)],
                [("x", 7)],
            ]
            assert len(content(store)) == 2


@pytest.mark.parametrize(
    "url", ["http://x", "redis://user:se:cret@x:y/0", "redis://:se/cret@x", "x"]
)
def test_addresses_that_cannot_be_read(url):
    with pytest.raises(
        ValueError, match=r"URL of a Redis server must have the form redis://"
    ) as caught:
        RedisStore(url)
    assert "cret" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # redis-py 5.0 forgets the socket
def test_unix_sockets(redis_server):
    with RedisServer(unixsocket="socket") as server:
        path = server.folder / "socket"
        with closing(RedisStore(f"unix://{path}?db=2")) as store:
            store.bind(SMALL)
            server.kill()
            with pytest.raises(
                ConnectionError, match=re.escape(f"Redis at {path}/2, len: ")
            ):
                len(store)


@pytest.mark.parametrize("name", ["", "a{b", "}"])
def test_names_that_cannot_be(name):
    with pytest.raises(ValueError, match="name must be a str that is not empty"):
        RedisStore("redis://localhost", name)
    with pytest.raises(TypeError, match="name must be a str, not b'x'"):
        RedisStore("redis://localhost", b"x")


def test_without_redis_py_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    optional.cache_clear()
    with pytest.raises(
        ImportError, match=r"redis is missing: pip install .lshfast\[redis\]"
    ):
        RedisStore("redis://localhost")


@pytest.mark.slow
def test_clusters():
    with RedisServer(cluster_enabled="yes") as server:
        with closing(server.client()) as node:
            node.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            while node.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
                pass
        with closing(redis.RedisCluster(host="127.0.0.1", port=server.port)) as client:
            store = RedisStore(client, "name")
            store.bind(SMALL)
            assert store.insert([1, 2, "x"], some(3), "error") == 3
            store.remove([2])
            with pytest.raises(
                ValueError, match=r"keys\[0\] = 1 is in the index already"
            ):
                store.insert([1], some(1), "error")
            assert answers(
                RedisStore(client, "name").query(some(3), least=7, threads=1)
            ) == [[(1, 7)], [], [("x", 7)]]
            assert len(content(store)) == 2
            store.clear()
            assert client.dbsize() == 0
            server.kill()
            with pytest.raises(
                ConnectionError,
                match=rf"Redis at 127\.0\.0\.1:{server.port} \(cluster\), len: ",
            ):
                len(store)

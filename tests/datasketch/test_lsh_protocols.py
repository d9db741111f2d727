"""Keys on a Redis server that were pickled by several protocols, servers that run no scripts, and stand-ins for one."""

from __future__ import annotations

import itertools
import pickle
from unittest.mock import patch

import fakeredis
import pytest

from lshfast.datasketch import MinHashLSH
from lshfast.datasketch.storage import (
    RedisListStorage,
    RedisSetStorage,
    ordered_storage,
    unordered_storage,
)
from tests.datasketch.test_lsh import near
from tests.index.redis_server import needs_redis, redis_server

__all__ = ["redis_server"]  # a fixture

OTHERS = [protocol for protocol in (3, 4, 5) if protocol != pickle.DEFAULT_PROTOCOL]
fresh = itertools.count()


@pytest.fixture
def fake():
    """Return a storage_config, and replace the client of Redis by one that keeps all in this process."""
    server = fakeredis.FakeServer()
    with patch(
        "redis.Redis", lambda **options: fakeredis.FakeStrictRedis(server=server)
    ):
        yield {
            "type": "redis",
            "basename": b"fake",
            "redis": {"host": "localhost", "port": 6379},
        }


@pytest.fixture
def real(redis_server):
    name = b"protocols-%d" % next(fresh)
    return {
        "type": "redis",
        "basename": name,
        "redis": {"host": "127.0.0.1", "port": redis_server.port},
    }


@pytest.fixture(params=["fake", pytest.param("real", marks=needs_redis)])
def config(request):
    return request.getfixturevalue(request.param)


def index_on(config, **options):
    return MinHashLSH(0.5, 64, storage_config=config, **options)


def write_by_protocol(config, key, sketch, protocol):
    """Insert a key as a version of Python would that pickles by another protocol."""
    raw = index_on(config, prepickle=False)
    raw.insert(pickle.dumps(key, protocol), sketch)


@pytest.mark.parametrize("key", ["a", 7, ("a", 1), None, b"bytes"])
@pytest.mark.parametrize("protocol", OTHERS)
def test_a_key_of_another_protocol_is_the_same_key(config, protocol, key):
    write_by_protocol(config, key, near(40), protocol)
    index = index_on(config)
    assert key in index
    assert index.query(near(40)) == [key]
    assert dict(index.query(near(40), with_scores=True)) == {key: 1.0}
    assert [sum(counts.values()) for counts in index.get_subset_counts(key)] == [
        1
    ] * index.b
    with pytest.raises(ValueError, match="already exists"):
        index.insert(key, near(0))
    with (
        index.insertion_session() as session,
        pytest.raises(ValueError, match="already exists"),
    ):
        session.insert(key, near(0))
    index.remove(key)
    assert key not in index
    assert index.is_empty()
    assert [len(table) for table in index.hashtables] == [0] * index.b
    with pytest.raises(ValueError, match="does not exist"):
        index.remove(key)


def test_entries_of_one_key_by_several_protocols_are_found_and_removed_as_one(config):
    for protocol in (3, 4, 5):
        write_by_protocol(config, "a", near(40), protocol)
    index = index_on(config)
    index.insert("b", near(40))
    assert sorted(index.query(near(40))) == ["a", "b"]
    assert dict(index.query(near(40), with_scores=True)) == {"a": 1.0, "b": 1.0}
    index.add_to_query_buffer(near(40))
    assert sorted(index.collect_query_buffer()) == ["a", "b"]
    with index.deletion_session() as session:
        session.remove("a")
        with pytest.raises(ValueError, match="does not exist"):
            session.remove("a")
    assert index.query(near(40)) == ["b"]
    assert index.keys.keys() == [pickle.dumps("b")]


def test_keys_are_pickled_as_datasketch_does(config):
    index = index_on(config)
    index.insert("a", near(40))
    assert index.keys.keys() == [pickle.dumps("a")]


class NewKey:
    """A key that protocols before 4 cannot pickle."""

    def __reduce_ex__(self, protocol):
        if protocol < 4:
            raise TypeError("needs protocol 4")
        return NewKey, ()


def test_a_key_that_one_protocol_cannot_pickle(config):
    index = index_on(config)
    index.insert(NewKey(), near(40))
    assert NewKey() in index
    index.remove(NewKey())
    assert index.is_empty()


def test_a_key_that_cannot_be_pickled(config):
    index = index_on(config)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        index.insert(lambda: None, near(40))
    assert index.is_empty()


def test_an_index_in_memory_reads_keys_of_another_protocol():
    index = MinHashLSH(0.5, 64, prepickle=True)
    index.insert("a", near(40))
    state = index.__getstate__()
    state["entries"]["keys"] = [pickle.dumps("a", OTHERS[0])]
    again = MinHashLSH.__new__(MinHashLSH)
    again.__setstate__(state)
    assert "a" in again
    assert again.query(near(40)) == ["a"]
    again.remove("a")


# Servers without scripts


def test_an_index_on_a_stand_in(fake):
    index = index_on(fake)
    with index.insertion_session(buffer_size=3) as session:
        for n in (40, 38, 20):
            session.insert(n, near(n))
        with pytest.raises(ValueError, match="The given key already exists: 20"):
            session.insert(20, near(20))
    again = index_on(fake)
    assert sorted(again.query(near(40))) == [38, 40]
    assert again.get_counts() == index.get_counts()
    with again.deletion_session() as session:
        session.remove(40)
        session.remove(38)
    assert index.query(near(40)) == []
    assert [len(table) for table in index.hashtables] == [1] * index.b
    unpickled = pickle.loads(pickle.dumps(index))
    unpickled.remove(20)
    assert index.is_empty()
    assert [len(table) for table in index.hashtables] == [0] * index.b


def test_merges_between_memory_and_a_stand_in(fake):
    index, memory = index_on(fake), MinHashLSH(0.5, 64)
    memory.insert("m", near(40))
    index.merge(memory)
    index.insert("r", near(39))
    with pytest.raises(ValueError, match="'m' is in both"):
        memory.merge(index, check_overlap=True)
    memory.remove("m")
    memory.merge(index)
    assert sorted(memory.query(near(40))) == ["m", "r"]


@needs_redis
def test_a_server_that_forbids_scripts(real, redis_server):
    with redis_server.client() as client:
        client.execute_command(
            "ACL", "SETUSER", "plain", "on", ">word", "~*", "+@all", "-@scripting"
        )
    config = real | {"redis": real["redis"] | {"username": "plain", "password": "word"}}
    index = index_on(config)
    index.insert("a", near(40))
    assert index.query(near(40)) == ["a"]
    assert "a" in index
    assert "b" not in index
    index.remove("a")
    assert index.is_empty()


@needs_redis
def test_a_server_that_forgot_the_scripts(real, redis_server):
    index = index_on(real)
    index.insert("a", near(40))
    assert "a" in index
    with redis_server.client() as client:
        client.script_flush()
    assert "a" in index
    assert "b" not in index


# Storages


@pytest.mark.parametrize("make", [ordered_storage, unordered_storage])
def test_storages_on_a_server(config, make):
    storage = make(config, name=b"storage-%d" % next(fresh))
    kind = list if make is ordered_storage else set
    storage.insert(b"a", b"1", b"2")
    storage.insert(b"b")
    storage.insert(b"c", b"3", buffer=True)
    assert (len(storage), b"c" in storage) == (2, False)
    storage.empty_buffer()
    assert sorted(storage) == [b"a", b"b", b"c"]
    assert storage[b"a"] == kind([b"1", b"2"])
    assert storage.getmany(b"c", b"none") == [kind([b"3"]), kind()]
    assert storage.itemcounts() == {b"a": 2, b"b": 0, b"c": 1}
    storage.remove_val(b"a", b"1")
    assert storage.get(b"a") == kind([b"2"])
    assert storage.status()["keyspace_size"] == 3
    again = pickle.loads(pickle.dumps(storage))
    again.remove(b"a", b"b", b"c")
    assert len(storage) == 0


def test_a_buffer_is_sent_when_it_is_full(config):
    storage = RedisSetStorage(config, b"full-%d" % next(fresh))
    storage.buffer_size = 4
    for n in range(5):
        storage.insert(b"%d" % n, b"x", buffer=True)
    assert len(storage) >= 2
    storage.empty_buffer()
    assert len(storage) == 5
    assert isinstance(storage, RedisListStorage)


def test_storages_without_a_server_say_what_is_missing():
    with pytest.raises(KeyError, match="storage_config needs"):
        ordered_storage({"type": "redis"})
    with pytest.raises(KeyError, match="type"):
        unordered_storage({"redis": {}})
    with pytest.raises(ValueError, match=r"Unknown storage type: cassandra.*LSHIndex"):
        ordered_storage({"type": "cassandra"})
    with pytest.raises(ValueError, match=r"aio\.AsyncMinHashLSH"):
        MinHashLSH(storage_config={"type": "aioredis"})


# Messages


def test_errors_name_the_key_that_was_given(config):
    index = index_on(config)
    index.insert(("a", 1), near(40))
    with pytest.raises(ValueError, match=r"The given key already exists: \('a', 1\)$"):
        index.insert(("a", 1), near(40))
    with pytest.raises(ValueError, match=r"The given key does not exist: 'b'$"):
        index.remove("b")
    raw = index_on(config | {"basename": config["basename"] + b"-raw"}, prepickle=False)
    with pytest.raises(
        TypeError,
        match=r"keys on Redis must be bytes, not str \('text'\); encode .* prepickle=True",
    ):
        raw.insert("text", near(40))

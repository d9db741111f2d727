"""MinHashLSH on a Redis server: beside a model, beside datasketch on the same entries, and what a server may hold."""

from __future__ import annotations

import datetime
import pickle
import uuid
from collections import OrderedDict
from itertools import count

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from lshfast import FormatError
from lshfast.datasketch import LeanMinHash, MinHash, MinHashLSH, MinHashLSHEnsemble
from lshfast.datasketch.key_pickles import plain_loads
from tests.datasketch import test_lsh as machine
from tests.datasketch.test_lsh import Weighted, lean, near
from tests.index.redis_server import needs_redis, redis_server

__all__ = ["redis_server"]  # a fixture
pytestmark = needs_redis

NAMES = (b"drop-in-%d" % number for number in count())


@pytest.fixture
def config(redis_server):
    """Return the storage_config of a place that nobody else uses."""
    return config_of(redis_server)


def config_of(server):
    return {
        "type": "redis",
        "basename": next(NAMES),
        "redis": {"host": "127.0.0.1", "port": server.port},
    }


def held(config, keys=(40, 38, 35, 20, 0), **options):
    index = MinHashLSH(0.5, 64, storage_config=config, **options)
    for n in keys:
        index.insert(n, near(n))
    return index


def content(server, config):
    """Return all keys on the server under the basename."""
    with server.client() as client:
        return sorted(client.scan_iter(config["basename"] + b"*", count=1000))


class Machine(machine.Machine):
    """The machine on Redis, whose scores are of the slots in bands."""

    server = None

    def make(self, **options):
        return MinHashLSH(
            num_perm=machine.SLOTS, params=(3, 2), storage_config=config_of(self.server)
        )

    @initialize()
    def start(self):
        self.options = {"prepickle": True}
        self.index, self.model = self.make(), machine.Model()

    @rule(values=machine.VALUES)
    def score(self, values):
        found = self.index.query(lean(values), with_scores=True)
        assert {key for key, _ in found} == self.model.found(values).keys()
        for key, share in found:
            counts = [
                sum(map(int.__eq__, one[:6], values[:6]))
                for one in self.model.entries[key]
            ]
            assert share == max(counts) / 6

    @invariant()
    def nothing_is_left_over(self):
        with self.server.client() as client:
            names = list(
                client.scan_iter(
                    self.index._config["basename"] + b"_keys?*", count=1000
                )
            )
        assert len(names) == len(self.model.entries)


@pytest.mark.slow
def test_beside_the_model(redis_server):
    class Here(Machine):
        server = redis_server

    run_state_machine_as_test(
        Here, settings=settings(max_examples=15, stateful_step_count=20)
    )


def test_an_index_is_there_again(redis_server, config):
    index = held(config)
    again = MinHashLSH(0.5, 64, storage_config=config)
    assert sorted(again.query(near(40))) == sorted(index.query(near(40)))
    assert {
        key: round(share, 9) for key, share in again.query(near(40), with_scores=True)
    }[40] == 1
    assert again.get_counts() == index.get_counts()
    for key in (40, 38, 35, 20, 0):
        again.remove(key)
    assert index.is_empty()
    assert content(redis_server, config) == []


def test_an_unpickled_index_connects_again(config):
    again = pickle.loads(pickle.dumps(held(config)))
    assert 40 in again
    assert 40 in again.query(near(40))
    with pytest.raises(ValueError, match="seed"):
        again.insert("new", near(4, seed=2))


@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy", "fast"])
def test_sketches_of_another_width_are_refused(config, scheme):
    index = MinHashLSH(0.5, 64, storage_config=config)
    index.insert("a", near(40, scheme=scheme))
    wrong = near(40, scheme="affine64" if scheme == "affine32" else "affine32")
    again = MinHashLSH(0.5, 64, storage_config=config)
    for call in (
        again.query,
        lambda sketch: again.insert("b", sketch),
        again.add_to_query_buffer,
    ):
        with pytest.raises(ValueError, match="bytes a slot"):
            call(wrong)
    assert again.query(near(40, scheme=scheme)) == ["a"]
    with pytest.raises(ValueError, match="scheme"):
        again.query(wrong)


def test_a_query_that_finds_nothing_says_nothing_of_the_scheme(config):
    index = MinHashLSH(0.5, 64, storage_config=config)
    index.insert("a", near(40, scheme="affine64"))
    again = MinHashLSH(0.5, 64, storage_config=config)
    assert again.query(near(40, scheme="fast")) == []
    again.insert("b", near(39, scheme="affine64"))
    assert sorted(again.query(near(40, scheme="affine64"))) == ["a", "b"]
    with pytest.raises(ValueError, match="scheme affine64, not fast"):
        again.query(near(40, scheme="fast"))


def test_empty_sets_find_each_other(config):
    index = held(config)
    index.insert("empty", MinHash(64))
    assert index.query(MinHash(64)) == ["empty"]
    assert "empty" in index
    index.remove("empty")
    assert "empty" not in index


def test_weighted_sketches(config):
    values = np.stack([np.arange(16), -np.arange(16)], axis=1)
    index = MinHashLSH(num_perm=16, params=(4, 4), storage_config=config)
    index.insert("a", Weighted(values))
    values[12:] = 7
    assert MinHashLSH(num_perm=16, params=(4, 4), storage_config=config).query(
        Weighted(values), True
    ) == [("a", 0.75)]


def test_a_session_is_seen_when_it_is_sent(config):
    index, other = held(config, []), MinHashLSH(0.5, 64, storage_config=config)
    with index.insertion_session(buffer_size=3) as session:
        for n in range(5):
            session.insert(n, near(n))
            assert len(other.keys) == (3 if n >= 2 else 0)
        with pytest.raises(ValueError, match="already exists: "):
            session.insert(0, near(0))
        with pytest.raises(ValueError, match="already exists: "):
            session.insert(4, near(0))
    assert len(other.keys) == 5
    with index.deletion_session() as session:
        session.remove(1)
        with pytest.raises(ValueError, match="does not exist: "):
            session.remove(1)
        with pytest.raises(ValueError, match="does not exist: "):
            session.remove("q")
        assert 1 in other
    assert 1 not in other


@pytest.mark.parametrize(
    "key",
    [
        1,
        "a",
        b"a",
        None,
        1.5,
        ("a", (1, 2)),
        frozenset([1]),
        2**70,
        True,
        uuid.UUID(int=5),
        np.int64(4),
    ],
)
def test_keys_are_given_back(config, key):
    index = held(config, [])
    index.insert(key, near(40))
    assert index.query(near(40)) == [key]
    assert key in index


def test_keys_of_dates(config):
    index = held(config, [])
    keys = [
        datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
        datetime.date(2020, 1, 2),
    ]
    for key in keys:
        index.insert(key, near(40))
    assert set(index.query(near(40))) == set(keys)


def test_keys_that_would_run_code_are_refused(config):
    index = held(config, [])
    index.insert(OrderedDict(), near(40))
    with pytest.raises(ValueError, match=r"collections.OrderedDict.*loads"):
        index.query(near(40))
    trusting = MinHashLSH(0.5, 64, storage_config=config | {"loads": pickle.loads})
    assert trusting.query(near(40)) == [OrderedDict()]
    with pytest.raises(ValueError, match=r"os.*system|posix.system|nt.system"):
        plain_loads(b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.")


def plant(server, config, data):
    """Put a key into all buckets."""
    with server.client() as client:
        for name in client.scan_iter(config["basename"] + b"*", count=1000):
            if client.type(name) == b"set":
                client.sadd(name, data)


def collected(index, sketch):
    index.add_to_query_buffer(sketch)
    return index.collect_query_buffer()


QUERIES = {
    "query": MinHashLSH.query,
    "scores": lambda index, sketch: index.query(sketch, with_scores=True),
    "buffer": collected,
}


@pytest.mark.parametrize("way", QUERIES)
@pytest.mark.parametrize(
    "name",
    [
        "a frozenset of a deep tuple",
        "a tuple of pairs of pairs",
        "a memo index",
        "a list",
    ],
)
def test_queries_refuse_keys_that_take_time_or_memory(redis_server, config, name, way):
    index = held(config, [40])
    plant(redis_server, config, machine.HOSTILE_KEYS[name])
    with pytest.raises(FormatError, match="the stored key b'"):
        QUERIES[way](index, near(40))


def test_an_ensemble_refuses_keys_that_take_time_or_memory(redis_server, config):
    made = indexed(config)
    plant(redis_server, config, machine.HOSTILE_KEYS["a tuple of pairs of pairs"])
    with pytest.raises(FormatError, match="the stored key b'"):
        list(made.query(near(10), 60))


def test_keys_that_are_not_pickled(config):
    index = MinHashLSH(0.5, 64, storage_config=config, prepickle=False)
    index.insert(b"a", near(40))
    assert index.query(near(40)) == [b"a"]
    assert list(index.keys) == [b"a"]
    assert "a" not in index
    with pytest.raises(TypeError, match="keys on Redis must be bytes, not str"):
        index.insert("b", near(40))
    with pytest.raises(ValueError, match="does not exist: 'a'"):
        index.remove("a")


def test_merges(config, redis_server):
    index = held(config, [40, 38])
    memory = MinHashLSH(0.5, 64)
    memory.insert("m", near(39))
    index.merge(memory)
    assert "m" in index.query(near(40))
    memory.merge(index)  # the server holds the slots of the bands only
    assert set(memory.query(near(40))) == {"m", 40, 38}
    memory.insert("more", near(40))
    assert set(memory.query(near(40))) == {"m", 40, 38, "more"}
    other = held(config_of(redis_server), [])
    with pytest.raises(ValueError, match="not known"):
        other.merge(MinHashLSH(0.5, 64, storage_config=config))
    other.merge(index, check_overlap=True)
    assert sorted(map(str, other.query(near(40)))) == sorted(
        map(str, index.query(near(40)))
    )
    with pytest.raises(ValueError, match="overlapping"):
        other.merge(index, check_overlap=True)


def test_merge_into_memory_where_all_slots_are_there(config):
    index = MinHashLSH(num_perm=6, params=(3, 2), storage_config=config)
    for key, values in {
        "a": [1, 2, 3, 4, 5, 6],
        "b": [1, 2, 0, 0, 0, 0],
        "c": [2**32 - 1] * 6,
    }.items():
        index.insert(key, lean(values))
    memory = MinHashLSH(num_perm=6, params=(3, 2))
    memory.merge(index)
    assert memory.query(lean([1, 2, 3, 9, 9, 9]), with_scores=True) == [
        ("a", 0.5),
        ("b", 1 / 3),
    ]
    assert "c" in memory


def test_a_hashfunc(config):
    index = held(config, hashfunc=lambda data: data[-5:])
    assert 40 in index.query(near(40))
    assert all(len(name) == 5 for name in index.hashtables[0])
    with pytest.raises(ValueError, match="with_scores needs the slots"):
        index.query(near(40), with_scores=True)


def test_options_from_the_environment(redis_server, monkeypatch):
    monkeypatch.setenv("DROP_IN_PORT", str(redis_server.port))
    server = {
        "host": {"env": "DROP_IN_HOST", "default": "127.0.0.1"},
        "port": {"env": "DROP_IN_PORT"},
    }
    config = {"type": "redis", "redis": server, "redis_buffer": {"transaction": False}}
    index = MinHashLSH(0.5, 64, storage_config=config)
    with index.insertion_session() as session:
        session.insert("a", near(40))
    assert index.query(near(40)) == ["a"]
    assert len(index._config["basename"]) == 11


def test_bad_places(redis_server):
    with pytest.raises(KeyError, match="redis"):
        MinHashLSH(storage_config={"type": "redis"})
    with pytest.raises(TypeError, match="basename must be bytes"):
        MinHashLSH(storage_config=config_of(redis_server) | {"basename": "text"})


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("prepickle", [True, False])
def test_entries_are_shared_with_datasketch(config, redis_server, prepickle):
    peer = pytest.importorskip("datasketch")
    ours = MinHashLSH(0.5, 64, storage_config=config, prepickle=prepickle)
    again = MinHashLSH(0.5, 64, storage_config=config, prepickle=prepickle)
    theirs = peer.MinHashLSH(0.5, 64, storage_config=config, prepickle=prepickle)

    def sketch(n):
        return peer.LeanMinHash(
            seed=1, hashvalues=near(n).hashvalues, scheme="affine32"
        )

    for n in range(0, 60, 2):
        theirs.insert(b"%d" % n, sketch(n))
        ours.insert(b"%d" % (n + 1), near(n + 1))
    for n in (3, 20, 41):
        found = sorted(ours.query(near(n)))
        assert len(found) > 3
        assert found == sorted(theirs.query(sketch(n)))
        assert found == sorted(again.query(LeanMinHash(near(n))))
    assert ours.get_counts() == theirs.get_counts()
    for n in range(60):
        (theirs if n % 4 < 2 else ours).remove(b"%d" % n)
    assert content(redis_server, config) == []
    for storage in (theirs.keys, *theirs.hashtables):
        storage._redis.close()


# The ensemble


def ensemble_on(config, **options):
    return MinHashLSHEnsemble(
        **({"threshold": 0.5, "num_perm": 64, "num_part": 3, "m": 4} | options),
        storage_config=config,
    )


def indexed(config, **options):
    made = ensemble_on(config, **options)
    made.index(
        [
            (("n", n), near(n), size)
            for n, size in {0: 40, 10: 60, 20: 400, 40: 41}.items()
        ]
    )
    return made


@pytest.mark.one_case
@pytest.mark.parametrize("transaction", [True, False])
def test_an_ensemble_is_there_in_another_process(redis_server, config, transaction):
    made = indexed(config | {"redis_buffer": {"transaction": transaction}})
    for again in (ensemble_on(config), pickle.loads(pickle.dumps(made))):
        assert (again.lowers, again.uppers) == (made.lowers, made.uppers)
        assert ("n", 10) in again
        assert "n" not in again
        assert ("n", 10) in set(again.query(near(10), 60))
        with pytest.raises(ValueError, match="non-empty"):
            again.index([("a", near(1), 5)])
        with pytest.raises(ValueError, match="with_scores needs the sizes"):
            next(again.query(near(10), 60, with_scores=True))


@pytest.mark.parametrize("options", [{"num_part": 2}, {"m": 2, "threshold": 0.9}])
def test_an_ensemble_of_other_parameters_is_refused(config, options):
    indexed(config)
    again = ensemble_on(config, **options)
    with pytest.raises(ValueError, match="of other parameters"):
        list(again.query(near(0), 40))


@pytest.mark.slow
def test_an_ensemble_of_datasketch_is_refused(config):
    peer = pytest.importorskip("datasketch")
    theirs = peer.MinHashLSHEnsemble(0.5, 64, 3, 4, storage_config=config)
    theirs.index([("a", peer.MinHash(64), 5)])
    with pytest.raises(ValueError, match="of datasketch"):
        list(ensemble_on(config).query(near(0), 40))
    for part in theirs.indexes:
        for index in part.values():
            for storage in (index.keys, *index.hashtables):
                storage._redis.close()


def test_a_failed_index_of_an_ensemble_stores_nothing(redis_server, config):
    made = ensemble_on(config)
    with pytest.raises(ValueError, match="must be positive"):
        made.index([("a", near(0), 40), ("b", near(1), 0)])
    assert made.is_empty()
    assert content(redis_server, config) == []

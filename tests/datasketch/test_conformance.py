"""lshfast.datasketch beside the installed datasketch 2.0: the same calls, good and bad, give the same.

The calls are in tests/datasketch/conformance; what differs on purpose is data, in differences.py. An entry there that
no longer differs fails, and so does a public method that no case calls.
"""

import functools
import gc
import importlib
import inspect
import itertools
import re
import warnings
from pathlib import Path

import pytest

import lshfast.datasketch as ours
from tests.datasketch.conformance import (
    counts,
    hnsw,
    kit,
    lsh,
    minhash,
    parts,
    redis,
    shared,
    storage,
    weighted,
)
from tests.datasketch.conformance.peer import datasketch
from tests.datasketch.differences import DIFFERENCES, matches, table
from tests.index.redis_server import needs_redis, redis_server

pytestmark = pytest.mark.slow

__all__ = ["redis_server"]  # a fixture


MODULES = (minhash, weighted, counts, lsh, hnsw, parts, storage, shared, redis)
CASES = kit.cases(*MODULES[:-1])
ON_REDIS = kit.cases(redis)
CLASSES = [
    name for name in datasketch.__all__ if inspect.isclass(getattr(datasketch, name))
]
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "datasketch.md"
fresh = itertools.count()


@functools.cache
def of_peer(case):
    return kit.run(datasketch, CASES[case])


def judge(case, peer, mine):
    """Fail if the outcomes differ and nobody meant it, or if they are the same although somebody did."""
    differs = kit.difference(peer, mine)
    meant = [entry for entry in DIFFERENCES if entry.covers(case)]
    assert len(meant) < 2, [entry.call for entry in meant]
    if not meant:
        assert not differs, differs
        return
    assert differs, f"no difference: {peer}"
    for said, outcome in ((meant[0].peer, peer), (meant[0].ours, mine)):
        if raised := re.match(r"raises ([\w.]+)", said):
            assert raised[1] in outcome.errors, f"not {raised[1]}: {outcome}"


@pytest.mark.some_cases
@pytest.mark.parametrize("case", CASES)
def test_the_same_call_gives_the_same(case):
    judge(case, of_peer(case), kit.run(ours, CASES[case]))


@pytest.mark.weekly
def test_the_peer_is_the_same_as_itself():
    differ = {
        case: kit.difference(of_peer(case), kit.run(datasketch, run))
        for case, run in CASES.items()
    }
    assert {case: difference for case, difference in differ.items() if difference} == {}


def config(server, name):
    return {
        "type": "redis",
        "basename": name,
        "redis": {"host": "127.0.0.1", "port": server.port},
    }


def run_on(library, case, server):
    with warnings.catch_warnings():
        # The peer leaves connections open.
        warnings.simplefilter("ignore", ResourceWarning)
        outcome = kit.run(
            library,
            ON_REDIS[case],
            config(server, f"conformance-{next(fresh)}".encode()),
        )
        gc.collect()
    return outcome


@pytest.mark.some_cases
@needs_redis
@pytest.mark.parametrize("case", ON_REDIS)
def test_the_same_call_gives_the_same_on_redis(case, redis_server, only_new_garbage):
    judge(
        case, run_on(datasketch, case, redis_server), run_on(ours, case, redis_server)
    )


def kept(client, name):
    """Return all that is kept under a name: each key without the name, and what it holds."""
    held = {}
    for key in client.scan_iter(name + b"*"):
        kind = client.type(key)
        if kind == b"hash":
            content = {
                field: value.removeprefix(name)
                for field, value in client.hgetall(key).items()
            }
        else:
            content = (
                client.lrange(key, 0, -1)
                if kind == b"list"
                else sorted(client.smembers(key))
            )
        held[key.removeprefix(name)] = (kind, content)
    return held


def filled(library, storage, **options):
    index = library.MinHashLSH(0.5, 64, storage_config=storage, **options)
    for n in range(30):
        minhash = library.MinHash(64)
        minhash.update_batch([str(word).encode() for word in range(n, n + 40)])
        index.insert(b"key %d" % n if options else ("key", n), minhash)
    return index, minhash


@needs_redis
@pytest.mark.parametrize("options", [{}, {"prepickle": False}])
def test_what_lies_on_the_server_is_the_same(redis_server, options):
    names = [f"layout-{next(fresh)}-".encode() for _ in range(2)]
    for library, name in zip((datasketch, ours), names, strict=True):
        index, _ = filled(library, config(redis_server, name), **options)
        index.remove(b"key 3" if options else ("key", 3))
    with redis_server.client() as client:
        there, here = (kept(client, name) for name in names)
    assert len(there) > 100
    assert here == there


@needs_redis
@pytest.mark.parametrize(
    ("writer", "reader"),
    [(datasketch, ours), (ours, datasketch)],
    ids=["read", "written"],
)
def test_what_one_wrote_the_other_reads(redis_server, writer, reader):
    storage = config(redis_server, f"shared-{next(fresh)}".encode())
    written, minhash = filled(writer, storage)
    index = reader.MinHashLSH(0.5, 64, storage_config=storage)
    same = reader.MinHash(hashvalues=minhash.hashvalues, scheme=minhash.scheme)
    expected = sorted(written.query(minhash))
    assert len(expected) > 3
    assert sorted(index.query(same)) == expected
    index.remove(("key", 29))
    index.insert("new", same)
    assert sorted(map(str, written.query(minhash))) == sorted(
        map(str, [*expected[:-1], "new"])
    )


def both(words, **options):
    """Return a sketch of each library."""
    sketches = [
        library.MinHash(num_perm=32, **options) for library in (datasketch, ours)
    ]
    for sketch in sketches:
        sketch.update_batch(words)
    return sketches


@pytest.mark.parametrize("scheme", minhash.SCHEMES)
def test_sketches_of_the_peer_are_taken(scheme):
    theirs, mine = both([b"a", b"b", b"c"], scheme=scheme)
    other, _ = both([b"b", b"c", b"d"], scheme=scheme)
    assert ours.LeanMinHash(theirs) == ours.LeanMinHash(mine)
    assert ours.bBitMinHash(theirs, 4) == ours.bBitMinHash(mine, 4)
    assert mine.jaccard(other) == theirs.jaccard(other)
    index = ours.MinHashLSH(0.5, 32)
    index.insert("theirs", theirs)
    assert index.query(mine) == ["theirs"]
    mine.merge(other)
    theirs.merge(other)
    assert mine.hashvalues.tolist() == theirs.hashvalues.tolist()


@pytest.mark.parametrize("scheme", minhash.SCHEMES)
def test_states_of_the_peer_are_read(scheme):
    theirs, mine = both([b"a", b"b", b"c"], scheme=scheme)
    assert ours.LeanMinHash.deserialize(
        datasketch.LeanMinHash(theirs).__getstate__()
    ) == ours.LeanMinHash(mine)
    small = ours.bBitMinHash.__new__(ours.bBitMinHash)
    small.__setstate__(datasketch.bBitMinHash(theirs, 5).__getstate__())
    assert small == ours.bBitMinHash(mine, 5)
    whole = ours.MinHash.__new__(ours.MinHash)
    whole.__setstate__(theirs.__getstate__())
    assert whole == mine
    for sketch in (whole, theirs):
        sketch.update(b"more")
    assert ours.LeanMinHash(whole) == ours.LeanMinHash(theirs)
    counter = datasketch.HyperLogLog(4)
    counter.update(b"a")
    assert (
        ours.HyperLogLog.deserialize(counter.__getstate__()).digest().tolist()
        == counter.digest().tolist()
    )


def test_states_of_before_schemes_are_read():
    theirs, _ = both([b"a", b"b"], scheme="legacy")
    state = {
        name: value
        for name, value in vars(theirs).items()
        if name not in ("scheme", "_gpu_mode")
    }
    sketch = ours.MinHash.__new__(ours.MinHash)
    sketch.__setstate__(state)
    assert ours.LeanMinHash(sketch) == ours.LeanMinHash(theirs)
    assert sketch.jaccard(theirs) == 1.0


# What a class offers to everyone who sees it.
def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_name_is_there(name):
    assert public(getattr(datasketch, name)) - public(getattr(ours, name)) == set()


def test_all_names_are_there():
    assert set(datasketch.__all__) <= set(ours.__all__)
    assert ours.__version__ == datasketch.__version__


@pytest.mark.parametrize("name", [*CLASSES, "sha1_hash32", "sha1_hash64"])
def test_names_are_in_the_modules_of_the_same_name(name):
    theirs = getattr(datasketch, name)
    module = importlib.import_module(
        theirs.__module__.replace("datasketch", ours.__name__)
    )
    assert getattr(module, theirs.__name__) is getattr(ours, name)


METHODS = [
    (name, method)
    for name in CLASSES
    for method in ["__init__", *sorted(public(getattr(datasketch, name)))]
    if callable(getattr(getattr(datasketch, name), method))
]


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_parameters_are_the_same(name, method):
    theirs = inspect.signature(
        getattr(getattr(datasketch, name), method)
    ).parameters.values()
    mine = list(
        inspect.signature(getattr(getattr(ours, name), method)).parameters.values()
    )
    rest = {parameter.kind for parameter in mine}
    for place, parameter in enumerate(theirs):
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            assert parameter.kind in rest
            continue
        assert (mine[place].name, mine[place].kind) == (parameter.name, parameter.kind)
        assert of(mine[place].default) == of(parameter.default)


def of(default):
    """Return a default value, or the name of a function."""
    return getattr(default, "__name__", default)


def test_every_public_method_is_called():
    text = "\n".join([*map(inspect.getsource, MODULES), *CASES])
    missing = {
        f"{name}.{method}"
        for name, method in METHODS
        if method != "__init__" and f".{method}(" not in text
    }
    assert missing == set()


def test_every_entry_has_its_cases():
    cases = [*CASES, *ON_REDIS]
    patterns = [pattern for entry in DIFFERENCES for pattern in entry.cases]
    assert [
        pattern
        for pattern in patterns
        if not any(matches(pattern, case) for case in cases)
    ] == []


def test_the_page_shows_every_difference():
    assert table() in PAGE.read_text(encoding="utf-8")

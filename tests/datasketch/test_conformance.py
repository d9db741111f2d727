"""lshfast.datasketch beside the installed datasketch 2.0: the same calls, good and bad, give the same.

The calls are data, in tests/datasketch/conformance; what differs on purpose is data too, in differences.py. An entry
there that no longer differs fails, and so does a public method that no call asks for.
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
from tests.datasketch.conformance import counts, hnsw, kit, lsh, minhash, parts, redis, storage, weighted
from tests.datasketch.conformance.peer import datasketch
from tests.datasketch.differences import DIFFERENCES, matches, table
from tests.index.redis_server import needs_redis, redis_server

pytestmark = pytest.mark.slow

__all__ = ["redis_server"]  # a fixture


def flat(*modules):
    return {
        f"{group} | {name}": source
        for module in modules
        for group, cases in module.CASES.items()
        for name, source in cases.items()
    }


# Calls that several classes share.
GIVEN = (
    "n = 16; p = ([2 * i + 1 for i in range(n)], list(range(n))); "
    "a = MinHash(n, permutations=p, scheme='affine32'); b = MinHash(n); a.update(b'x'); b.update(b'x')\n"
)
OWN = "class Mine(MinHash): pass\nclass Lean(LeanMinHash): pass\nm = Mine(8); m.update(b'a'); lean = Lean(m)\n"
KEPT = "made = {}; made.label = 'x'; pickle.loads(pickle.dumps(made)).label; copy.deepcopy(made).label"
SET = (
    "m = MinHash(4); m.hashvalues = np.array([1, 2, 3, 4], {}); "
    "n = MinHash(hashvalues=[1, 2, 3, 5], scheme='affine32')\n"
)
ONE = "i = MinHashLSH(0.5, 16); i.insert('a', sketch('a', num_perm=16))\n"
SHARED = {
    "own classes | copy": OWN + "type(m.copy()).__name__",
    "own classes | bulk": OWN + "[type(found).__name__ for found in Mine.bulk([[b'a'], [b'b']], num_perm=8)]",
    "own classes | generator": OWN + "[type(found).__name__ for found in Mine.generator([[b'a']], num_perm=8)]",
    "own classes | lean copy": OWN + "type(lean.copy()).__name__",
    "own classes | lean union": OWN + "type(Lean.union(lean, lean)).__name__",
    "own classes | lean deserialize": (
        OWN + "data = bytearray(lean.bytesize()); lean.serialize(data); type(Lean.deserialize(data)).__name__"
    ),
    "own classes | attributes": "m = MinHash(4); m.label = 'x'; m.copy().label",
    "own classes, alike | union": OWN + "type(Mine.union(m, m)).__name__",
    "own classes, alike | with a constructor of its own": (
        "class Named(MinHashLSH):\n    def __init__(self, name, **o): super().__init__(**o); self.name = name\n"
        "i = Named('x', threshold=0.5, num_perm=16); i.b; i.name; copy.deepcopy(i).name"
    ),
    "own classes, alike | in an index": (
        "class Banded(MinHash):\n    b = 3\n"
        "m = Banded(16); m.update(b'a'); i = MinHashLSH(0.5, 16); i.insert('a', m); i.query(m)"
    ),
    **{
        f"attributes of one's own | {kind}": KEPT.format(f"{kind}({arguments})")
        for kind, arguments in {
            "MinHash": "4",
            "LeanMinHash": "MinHash(4)",
            "WeightedMinHash": "1, np.array([[1, 2]])",
            "WeightedMinHashGenerator": "2, 2",
            "MinHashLSH": "0.5, 16",
            "MinHashLSHForest": "16",
            "MinHashLSHEnsemble": "0.8, 16, 2, 2",
            "MinHashLSHBloom": "0.5, 16, 10, 0.1",
            "HyperLogLog": "4",
        }.items()
    },
    "attributes of one's own | HyperLogLogPlusPlus": "h = HyperLogLogPlusPlus(4); h.label = 'x'; h.label",
    "copy.copy | index": ONE + "c = copy.copy(i); c.remove('a'); 'a' in i",
    "copy.copy | forest": "f = MinHashLSHForest(16); c = copy.copy(f); c.add('a', sketch('a', num_perm=16)); 'a' in f",
    "copy.copy | ensemble": (
        "e = MinHashLSHEnsemble(0.8, 16, 2, 2); c = copy.copy(e); "
        "c.index([('a', sketch('a', num_perm=16), 1)]); 'a' in e"
    ),
    "parts | forest": "f = MinHashLSHForest(16); len(f.hashtables); len(f.sorted_hashtables)",
    "parts | forest's keys": "f = MinHashLSHForest(16); f.add('a', sketch('a', num_perm=16)); f.keys",
    "parts | ensemble": "e = MinHashLSHEnsemble(0.8, 16, 2, 2); len(e.indexes); len(e.lowers); len(e.uppers)",
    "parts | ensemble's bands": "e = MinHashLSHEnsemble(0.8, 16, 2, 2); len(e.params); len(e.xqs)",
    "parts, alike | filter's tables": "b = MinHashLSHBloom(0.5, 16, 10, 0.1); b.hashtables[0].query(np.arange(b.r))",
    "parts, alike | forest's keys": (
        "f = MinHashLSHForest(16); f.add('a', sketch('a', num_perm=16)); list(f.keys); len(f.keys); 'a' in f.keys"
    ),
    "parts, alike | index's tables": ONE
    + (
        "[[sorted(t.get(name)) for name in t.keys()] for t in i.hashtables]; [[sorted(t[n]) for n in t] for t in "
        "i.hashtables]; [name in t for name, t in zip(i.keys['a'], i.hashtables)]; i.hashtables[0].get(b'z')"
    ),
    **{
        f"views | {part}.{call}": f"{ONE}i.{part}.{call}"
        for part, key in (("keys", "'b'"), ("hashtables[0]", "b'x'"))
        for call in (f"insert({key}, b'y')", "status()", "empty_buffer()", "collect_select_buffer()")
    },
    "views | a key removed": ONE + "i.keys.remove('a'); 'a' in i",
    "views | a key deleted": ONE + "del i.keys['a']; 'a' in i",
    "views | buffer size": ONE + "i.keys.buffer_size = 5; i.keys.buffer_size",
    "values set | index": (
        SET.format("np.uint64")
        + "m.hashvalues[3] = 5; i = MinHashLSH(0.5, 4); i.insert('m', m); i.query(n); i.query(m)"
    ),
    **{
        f"values set, alike | {how}, {dtype}": SET.format(dtype) + call
        for dtype in ("np.int64", "np.uint64", "np.int32")
        for how, call in {
            "compared": "m.jaccard(n); n.jaccard(m); m.count(); m.is_empty(); LeanMinHash(m).jaccard(n)",
            "updated": "m.update(b'a'); m.update_batch([b'b']); m.hashvalues.tolist()",
            "merged": "m.merge(n); n.merge(m); m.hashvalues.tolist(); n.hashvalues.tolist()",
            "pickled": "pickle.loads(pickle.dumps(m)).hashvalues.tolist()",
        }.items()
    },
    "values set, floats | updated": SET.format("np.float64") + "m.update(b'a')",
    "values set, floats | pickled": SET.format("np.float64") + "pickle.loads(pickle.dumps(m)).hashvalues.tolist()",
    "attributes set | hashfunc": (
        "m = MinHash(4); m.hashfunc = half; m.update(b'a'); m.update_batch([b'b']); m; m.copy().hashfunc(b'c')"
    ),
    "attributes set | permutations": (
        "m = MinHash(4); m.permutations = MinHash(4, 2).permutations; m.update(b'a'); m; m.permutations"
    ),
    "attributes set | tables of a generator": (
        "g, h = WeightedMinHashGenerator(4, 8), WeightedMinHashGenerator(4, 8, 5)\n"
        "g.rs, g.ln_cs, g.betas = h.rs, h.ln_cs, h.betas; g.minhash([1, 2, 3, 4])"
    ),
    "buffers | size 'a'": "MinHashLSH(0.5, 16).insertion_session(buffer_size='a').lsh.b",
    "buffers | size None": "MinHashLSH(0.5, 16).deletion_session(None).lsh.b",
    "merges | of an index that pickles": (
        "i, j = MinHashLSH(0.5, 16), MinHashLSH(0.5, 16, prepickle=True); j.insert('a', sketch('a', num_perm=16))\n"
        "i.merge(j); 'a' in i"
    ),
    "merges | into an index with a hashfunc": (
        "i, j = MinHashLSH(0.5, 16, hashfunc=lambda name: name[:1]), MinHashLSH(0.5, 16)\n"
        "m = sketch('a', num_perm=16); j.insert('a', m); i.merge(j); i.query(m)"
    ),
    "twice in an ensemble | in other partitions": (
        "e = MinHashLSHEnsemble(0.8, 16, 4, 2); m = sketch('a', num_perm=16)\n"
        "e.index([('a', m, 1), ('b', m, 10), ('c', m, 100), ('a', m, 1000)]); 'a' in e"
    ),
    "weights | a sum of nearly 1": "MinHashLSH(0.5, 16, weights=(0.3, 0.7 + 1e-12)).b",
    "lean ones | bulk": "LeanMinHash.bulk([[b'a']], minhash=MinHash(4))",
    "lean ones | generator": "list(LeanMinHash.generator([[b'a']], seed=1, hashvalues=[1], scheme='affine32'))",
    "union | of a lean one first": "MinHash.union(lean('a', num_perm=8), sketch('b', num_perm=8))",
    "vectors | of two dimensions": "WeightedMinHashGenerator(4, 8).minhash(np.ones((4, 1)))",
    "vectors | of lists": "WeightedMinHashGenerator(4, 8).minhash([[1], [2], [3], [4]])",
    "weighted | values of one dimension": (
        "a, b = WeightedMinHash(1, np.array([1, 2, 3])), WeightedMinHash(1, np.array([1, 2, 4])); "
        "a.jaccard(b); a.jaccard(a)"
    ),
    "looks like a sketch | in an index": (
        "class Like:\n    seed, hashvalues = 1, np.arange(16, dtype=np.uint32)\n    def __len__(self): return 16\n"
        "MinHashLSH(0.5, 16).insert('a', Like())"
    ),
    "empty sketches, alike | in buckets": "i = MinHashLSH(0.5, 16); i.insert('a', MinHash(16)); i.get_counts()[0]",
    "dimensions | an array": "MinHash(hashvalues=np.ones((2, 2), np.uint32), scheme='affine32')",
    "registers | set to a list": "h = HyperLogLog(4); h.reg = [0] * 16; h.is_empty()",
    "bands | all against misses": "i = MinHashLSH(0.917493, 20, (0, 1)); i.b; i.r",
    "failed calls | set no scheme": (
        "i = MinHashLSH(0.5, 16); attempt(i.insert, [], sketch('a', num_perm=16, scheme='legacy')); "
        "i.insert('a', sketch('a', num_perm=16))"
    ),
    "failed calls | leave no entries": (
        "e = MinHashLSHEnsemble(0.8, 16, 2, 2); m = sketch('a', num_perm=16); "
        "attempt(e.index, [('a', m, 1), ('a', m, 1)]); 'a' in e"
    ),
    "removals | of a key inserted twice": ONE
    + (
        "i.insert('a', sketch('b', num_perm=16), check_duplication=False); i.remove('a'); "
        "i.query(sketch('b', num_perm=16))"
    ),
    "hashfunc in memory | that maps all to one": (
        "i = MinHashLSH(0.5, 16, hashfunc=lambda name: b''); i.insert('a', sketch('a', num_perm=16)); "
        "i.query(sketch('b', num_perm=16))"
    ),
    "forests | added after index": (
        "f = MinHashLSHForest(16); f.add('a', sketch('a', num_perm=16)); f.index(); "
        "f.add('b', sketch('b', num_perm=16)); f.query(sketch('b', num_perm=16), 1)"
    ),
    **{
        f"folders | of {what}": (
            "import tempfile\nfolder = tempfile.mkdtemp()\n"
            "b = MinHashLSHBloom(0.5, 16, 100, 1e-6, folder); b.insert(sketch('a', num_perm=16)); b.sync()\n"
            f"b = MinHashLSHBloom({arguments}, folder); b.query(sketch('a', num_perm=16, scheme={scheme!r}))"
        )
        for what, arguments, scheme in (
            ("other bands", "0.3, 16, 100, 1e-6", "affine32"),
            ("another number of sets", "0.5, 16, 99, 1e-6", "affine32"),
            ("another scheme", "0.5, 16, 100, 1e-6", "legacy"),
        )
    },
    "tables written to | rs": (
        "g = WeightedMinHashGenerator(4, 8); g.minhash([1, 2, 3, 4]); g.rs[0, 0] = 1.0; g.rs[0, 0]"
    ),
    "tables written to, alike | before they are used": (
        "g = WeightedMinHashGenerator(4, 8); g.rs[:, 2] = 1.0; g.minhash([1, 2, 3, 4])"
    ),
    "given permutations | LeanMinHash": GIVEN + "LeanMinHash(b).jaccard(LeanMinHash(a))",
    "given permutations | LeanMinHash, merged": GIVEN + "c = LeanMinHash(b); c.merge(LeanMinHash(a))",
    "given permutations | bBitMinHash": GIVEN + "bBitMinHash(b, 8).jaccard(bBitMinHash(a, 8))",
    "given permutations | in an index": GIVEN + "i = MinHashLSH(0.5, n); i.insert('a', a); i.insert('b', b)",
    "given permutations | in a forest": GIVEN + "f = MinHashLSHForest(n); f.add('a', a); f.add('b', b)",
    "given permutations, alike | LeanMinHash": GIVEN + "LeanMinHash(a).jaccard(LeanMinHash(a)); LeanMinHash(a)",
    "given permutations, alike | in an index": GIVEN + "i = MinHashLSH(0.5, n); i.insert('a', a); i.query(a)",
    "given permutations, alike | those of the seed": GIVEN
    + "c = MinHash(n, permutations=b.permutations, scheme='affine32'); c.update(b'x'); b.jaccard(c); "
    "LeanMinHash(b).jaccard(LeanMinHash(c))",
    "values of objects | floats": "MinHash(hashvalues=np.array([1.5, 2.7], object), scheme='affine32')",
    "values of objects | integers": "MinHash(hashvalues=np.array([1, 2], object), scheme='affine32')",
    "weighted | no samples": "a = WeightedMinHash(1, np.empty((0, 2), np.int64)); len(a); a.jaccard(a)",
    "registers | written over": "h = HyperLogLog(4); h.reg[:] = -1; h.count()",
    "registers | written over, ++": "h = HyperLogLogPlusPlus(4); h.reg[:] = -1; h.count()",
}
CASES = flat(minhash, weighted, counts, lsh, hnsw, parts, storage) | SHARED
ON_REDIS = flat(redis)
CLASSES = [name for name in datasketch.__all__ if inspect.isclass(getattr(datasketch, name))]
PAGE = Path(__file__).parents[2] / "docs" / "migration.md"
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


@pytest.mark.parametrize("case", CASES)
def test_the_same_call_gives_the_same(case):
    judge(case, of_peer(case), kit.run(ours, CASES[case]))


def test_the_peer_is_the_same_as_itself():
    differ = {case: kit.difference(of_peer(case), kit.run(datasketch, source)) for case, source in CASES.items()}
    assert {case: difference for case, difference in differ.items() if difference} == {}


def config(server, name):
    return {"type": "redis", "basename": name, "redis": {"host": "127.0.0.1", "port": server.port}}


def run_on(library, case, server):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the peer leaves connections open
        outcome = kit.run(library, ON_REDIS[case], config=config(server, f"conformance-{next(fresh)}".encode()))
        gc.collect()
    return outcome


@needs_redis
@pytest.mark.parametrize("case", ON_REDIS)
def test_the_same_call_gives_the_same_on_redis(case, redis_server):
    judge(case, run_on(datasketch, case, redis_server), run_on(ours, case, redis_server))


def kept(client, name):
    """Return all that is kept under a name: each key without the name, and what it holds."""
    held = {}
    for key in client.scan_iter(name + b"*"):
        kind = client.type(key)
        if kind == b"hash":
            content = {field: value.removeprefix(name) for field, value in client.hgetall(key).items()}
        else:
            content = client.lrange(key, 0, -1) if kind == b"list" else sorted(client.smembers(key))
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
@pytest.mark.parametrize(("writer", "reader"), [(datasketch, ours), (ours, datasketch)], ids=["read", "written"])
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
    assert sorted(map(str, written.query(minhash))) == sorted(map(str, [*expected[:-1], "new"]))


def both(words, **options):
    """Return a sketch of each library."""
    sketches = [library.MinHash(num_perm=32, **options) for library in (datasketch, ours)]
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
    assert ours.LeanMinHash.deserialize(datasketch.LeanMinHash(theirs).__getstate__()) == ours.LeanMinHash(mine)
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
    assert ours.HyperLogLog.deserialize(counter.__getstate__()).digest().tolist() == counter.digest().tolist()


def test_states_of_before_schemes_are_read():
    theirs, _ = both([b"a", b"b"], scheme="legacy")
    state = {name: value for name, value in vars(theirs).items() if name not in ("scheme", "_gpu_mode")}
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
    module = importlib.import_module(theirs.__module__.replace("datasketch", ours.__name__))
    assert getattr(module, theirs.__name__) is getattr(ours, name)


METHODS = [
    (name, method)
    for name in CLASSES
    for method in ["__init__", *sorted(public(getattr(datasketch, name)))]
    if callable(getattr(getattr(datasketch, name), method))
]


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_parameters_are_the_same(name, method):
    theirs = inspect.signature(getattr(getattr(datasketch, name), method)).parameters.values()
    mine = list(inspect.signature(getattr(getattr(ours, name), method)).parameters.values())
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
    text = "\n".join([*CASES.values(), *CASES, *ON_REDIS.values()])
    missing = {f"{name}.{method}" for name, method in METHODS if method != "__init__" and f".{method}(" not in text}
    assert missing == set()


def test_every_entry_has_its_cases():
    cases = [*CASES, *ON_REDIS]
    patterns = [pattern for entry in DIFFERENCES for pattern in entry.cases]
    assert [pattern for pattern in patterns if not any(matches(pattern, case) for case in cases)] == []


def test_the_page_shows_every_difference():
    assert table() in PAGE.read_text(encoding="utf-8")

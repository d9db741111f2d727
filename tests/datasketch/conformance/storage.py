"""Calls of datasketch.storage, of an index's keys and hashtables, of BloomTable, and of an index on fakeredis."""

from __future__ import annotations

LISTS, SETS = "s = storage.ordered_storage({'type': 'dict'})\n", "s = storage.unordered_storage({'type': 'dict'})\n"
CALLS = {
    "insert and get": "s.insert('a', 1, 2, 2); s['a']; s.get('a'); s.get('none'); s['none']; s.getmany('a', 'none')",
    "keys": "s.insert('a', 1); s.insert('b', 2); list(s); list(s.keys()); len(s); s.size(); 'a' in s; s.has_key('c')",
    "insert twice": "s.insert('a', 1); s.insert('a', 1, 3); s['a']; s.itemcounts()",
    "insert nothing": "s.insert('a'); s['a']; len(s)",
    "remove": "s.insert('a', 1); s.insert('b', 1); s.insert('c', 1); s.remove('a', 'b'); del s['c']; len(s)",
    "remove what is not there": "s.remove('a')",
    "remove_val": "s.insert('a', 1, 2); s.remove_val('a', 1); s['a']; s.remove_val('a', 2); s['a']; s.itemcounts()",
    "remove_val of a stranger": "s.insert('a', 1); s.remove_val('a', 5)",
    "remove_val of a strange key": "s.remove_val('a', 5)",
    "reports": "s.insert('a', 1); s.status(); s.buffer_size; s.empty_buffer(); s.buffer_size = 3; s.buffer_size",
    "select buffer": "s.insert('a', 1); s.add_to_select_buffer(['a', 'b']); s.collect_select_buffer()",
    "values are the storage's own": "s.insert('a', 1); s['a'] is s.get('a')",
    "kinds": "isinstance(s, storage.Storage); isinstance(s, storage.OrderedStorage); "
    "isinstance(s, storage.UnorderedStorage); isinstance(s, storage.DictListStorage)",
    "pickle": "s.insert('a', 1); pickle.loads(pickle.dumps(s))['a']; copy.deepcopy(s)['a']",
}
MAKING = {
    "by class": "storage.DictListStorage({'type': 'dict'}).size(); storage.DictSetStorage(None).get('a')",
    "with a name": "len(storage.ordered_storage({'type': 'dict'}, name=b'x'))",
    "another type": "storage.ordered_storage({'type': 'paper'})",
    "no type": "storage.unordered_storage({})",
    "abstract": "storage.Storage()",
    "names": "[hasattr(storage, f'Redis{name}') for name in ('ListStorage', 'SetStorage', 'Buffer', 'Nothing')]; "
    "lsh.MinHash is MinHash; lsh.MinHashLSH is MinHashLSH; hasattr(lsh, 'WeightedMinHash'); "
    "lsh.ordered_storage is storage.ordered_storage; [lsh._optimal_param(t, 64, 0.5, 0.5) for t in (0.2, 0.5, 0.9)]",
}

ONE = "i = MinHashLSH(num_perm=16, params=(4, 4)); a, b = (sketch(word, num_perm=16) for word in 'ab')\n"
INDEX = ONE + "i.insert('a', a); i.insert('b', b)\n"
TAKE_OUT = (
    "for table, name in zip(i.hashtables, i.keys['a']):\n"
    "    table.remove_val(name, 'a')\n"
    "    if not table.get(name): table.remove(name)\n"
    "i.keys.remove('a')\n"
)
CHANGED = {
    "keys removed": INDEX + TAKE_OUT + "i.query(a); i.query(b); 'a' in i; i.get_counts(); len(i.keys)",
    "keys inserted": INDEX
    + "names = i.keys['a']; i.keys.insert('c', *names)\nfor t, n in zip(i.hashtables, names): t.insert(n, 'c')\n"
    "sorted(i.query(a)); 'c' in i; i.remove('c'); i.query(a); i.get_subset_counts('a')",
    "one bucket": INDEX + "i.hashtables[0].insert(i.keys['a'][0], 'd'); sorted(i.query(a)); 'd' in i",
    "buckets removed": INDEX + "for t in i.hashtables: t.remove(*list(t))\ni.query(a); 'a' in i; i.is_empty()",
    "insertions after": INDEX + TAKE_OUT + "i.insert('a', b); sorted(i.query(b)); i.insert('a', b)",
    "pickle": INDEX + TAKE_OUT + "i = pickle.loads(pickle.dumps(i)); i.query(a); i.query(b); i.remove('b'); "
    "i.is_empty()",
    "deepcopy": INDEX + TAKE_OUT + "c = copy.deepcopy(i); c.remove('b'); i.query(b); c.query(b)",
    "merge": INDEX + TAKE_OUT + "o = MinHashLSH(num_perm=16, params=(4, 4)); o.insert('o', a); i.merge(o); i.query(a); "
    "o.merge(i); sorted(o.query(b))",
    "sessions": INDEX + TAKE_OUT + "with i.insertion_session() as s: s.insert('a', a); s.insert('c', a)\n"
    "sorted(i.query(a))\nwith i.deletion_session() as s: s.remove('a'); s.remove('b')\ni.query(a); i.query(b)",
    "query buffer": INDEX + TAKE_OUT + "i.add_to_query_buffer(b); i.collect_query_buffer()",
    "read, changed, read": INDEX + "i.get_counts(); i.remove('a'); i.get_counts(); i.insert('a', b); i.get_counts(); "
    "i.keys['a']; sorted(i.hashtables[1].get(i.keys['a'][1])); i.keys.itemcounts(); [t.size() for t in i.hashtables]",
}

TABLE = "t = lsh_bloom.BloomTable(100, 1e-6, 3); t.insert([2, 3, 31])\n"
TABLES = {
    "insert and query": TABLE + "t.query([2, 3, 31]); t.query(np.array([2, 3, 30], np.uint32)); t.r; t.fname; t.sync()",
    "another length": TABLE + "t.insert([2, 3])",
    "another length, queried": TABLE + "t.query([2, 3])",
    "by name": "t = lsh_bloom.BloomTable(item_count=9, fp=0.1, band_size=2, fname=None); t.insert(hashvalues=[1, 2]); "
    "t.query(hashvalues=[1, 2])",
    "in a file": "import os, tempfile\nname = os.path.join(tempfile.mkdtemp(), 'band')\n"
    "t = lsh_bloom.BloomTable(100, 1e-6, 3, fname=name); t.insert([2, 3, 31]); t.sync()\n"
    "t = lsh_bloom.BloomTable(100, 1e-6, 3, fname=name); t.query([2, 3, 31]); t.query([1, 2, 3])",
    "of an index": "b = MinHashLSHBloom(0.5, 16, 10, 1e-6); m = sketch('a', num_perm=16); b.insert(m)\n"
    "[t.query(m.hashvalues[low:high]) for t, (low, high) in zip(b.hashtables, b.hashranges)]; "
    "b.hashtables[0].query(m.hashvalues[:b.r] + np.uint32(1)); b.hashtables[0].r == b.r",
    "of an index, changed": "b = MinHashLSHBloom(0.5, 16, 10, 1e-6); m = sketch('a', num_perm=16)\n"
    "b.hashtables[1].insert(m.hashvalues[b.r : 2 * b.r]); b.query(m)",
}

FAKE = (
    "import fakeredis, uuid\nfrom unittest.mock import patch\n"
    "config = {'type': 'redis', 'redis': {'host': uuid.uuid4().hex, 'port': 6379}, 'basename': b'fake'}\n"
    "with patch('redis.Redis', fakeredis.FakeStrictRedis):\n"
    "    i = MinHashLSH(num_perm=16, params=(4, 4), storage_config=config)\n"
    "a, b = (sketch(word, num_perm=16) for word in 'ab')\ni.insert('a', a); i.insert('b', b)\n"
)
PATCHED = "with patch('redis.Redis', fakeredis.FakeStrictRedis):\n    "
ON_FAKE = {
    "query": FAKE + "i.query(a); i.query(b); 'a' in i; 'c' in i; i.is_empty(); i.get_counts(); "
    "i.get_subset_counts('a')",
    "a key twice": FAKE + "i.insert('a', a)",
    "remove": FAKE + "i.remove('a'); i.query(a); i.get_counts(); i.remove('b'); i.is_empty(); "
    "[len(t) for t in i.hashtables]",
    "remove what is not there": FAKE + "i.remove('c')",
    "sessions": FAKE + PATCHED + "with i.insertion_session(buffer_size=3) as s: s.insert('c', a); s.insert('d', b)\n"
    "sorted(i.query(a))\n" + PATCHED + "with i.deletion_session() as s: s.remove('a'); s.remove('d')\n"
    "sorted(i.query(a)); i.query(b)",
    "keys and tables": FAKE + "i.keys.keys(); i.keys.status()['keyspace_size']; i.keys.redis_keys(); "
    "i.keys[pickle.dumps('a')]; i.hashtables[0].itemcounts(); "
    "[sorted(i.hashtables[1][name]) for name in i.hashtables[1]]; i.keys.redis_key(b'x')",
    "changed": FAKE + "i.keys.insert(b'x', b'y', b'z'); i.keys[b'x']; i.keys.remove(b'x'); i.keys[b'x']; "
    "i.hashtables[0].insert(b'x', b'y'); i.hashtables[0].remove_val(b'x', b'y'); i.hashtables[0].get(b'x')",
    "buffered": FAKE
    + "i.keys.insert(b'x', b'y', buffer=True); i.keys[b'x']\n"
    + PATCHED
    + "i.keys.empty_buffer()\ni.keys[b'x']",
    "query buffer": FAKE + "i.add_to_query_buffer(a); i.collect_query_buffer()",
    "merge": FAKE + "o = MinHashLSH(num_perm=16, params=(4, 4), prepickle=True); o.insert('o', a); i.merge(o); "
    "sorted(i.query(a))",
}

CASES = {
    "ordered_storage": {name: LISTS + calls for name, calls in CALLS.items()},
    "unordered_storage": {name: SETS + calls for name, calls in CALLS.items()},
    "storages": MAKING,
    "an index changed through its storages": CHANGED,
    "BloomTable": TABLES,
    "MinHashLSH on fakeredis": ON_FAKE,
}

"""Calls of MinHashLSH, MinHashLSHForest, MinHashLSHEnsemble and MinHashLSHBloom.

`near(n)` is a sketch that shares about n of 40 words with `near(40)`; `index` and `forest` hold some of them.
"""

from __future__ import annotations

NEAR = "def near(n, **o):\n    return sketch(count(40 - n, 80 - n), **{'num_perm': 64, **o})\n"
INDEX = NEAR + (
    "index = MinHashLSH(threshold=0.5, num_perm=64)\nfor n in (40, 38, 35, 20, 0): index.insert(f'n{n}', near(n))\n"
)
FOREST = NEAR + ("forest = MinHashLSHForest(num_perm=64)\nfor n in (40, 38, 35, 20, 0): forest.add(f'n{n}', near(n))\n")
ENSEMBLE = (
    "sets = {size: count(0, size) for size in (5, 10, 20, 40, 80, 160, 320)}\n"
    "entries = [(f's{size}', sketch(words, num_perm=64), size) for size, words in sets.items()]\n"
    "e = MinHashLSHEnsemble(threshold=0.8, num_perm=64, num_part=4, m=4)\n"
)
BLOOM = NEAR + "bloom = MinHashLSHBloom(threshold=0.5, num_perm=64, n=100, fp=1e-6)\n"

THRESHOLDS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
WRONG_NEW = {
    **{
        f"threshold {t}": f"{{}}(threshold={t}, num_perm=16{{}})"
        for t in ("1.1", "-0.1", "'0.5'", "None", "float('nan')", "True")
    },
    **{f"num_perm {n}": f"{{}}(num_perm={n}{{}})" for n in ("1", "0", "-1", "'16'", "None", "16.0", "2.5")},
    **{
        f"weights {w}": f"{{}}(0.5, 16, weights={w}{{}})"
        for w in (
            "(0.5, 0.6)",
            "(-0.5, 1.5)",
            "(1.0,)",
            "(0.2, 0.3, 0.5)",
            "None",
            "0.5",
            "('a', 'b')",
            "(float('nan'), 0.5)",
        )
    },
}
WRONG_PARAMS = {
    **{
        f"params {p}": f"{{}}(num_perm=16, params={p}{{}})"
        for p in (
            "(8, 3)",
            "(1, 16)",
            "(0, 0)",
            "(-2, 3)",
            "(2, 0)",
            "(2, -1)",
            "(2,)",
            "(2, 3, 4)",
            "5",
            "'ab'",
            "(2.0, 3.0)",
            "(2, 2.5)",
        )
    },
}

NEW = {
    "the usual": "i = MinHashLSH(); i.b; i.r; i.h; i.hashranges; i.buffer_size; i.prepickle; i.is_empty(); i.hashfunc",
    "by place": "i = MinHashLSH(0.8, 32, (0.4, 0.6)); i.b; i.r; i.h; i.hashranges",
    **{
        f"bands for {t}": f"i = MinHashLSH({t}, {k}, {weights}); i.b; i.r"
        for k, weights in ((16, "(0.5, 0.5)"), (64, "(0.5, 0.5)"), (64, "(0.1, 0.9)"))
        for t in THRESHOLDS
    },
    **{f"bands for {t}, all against misses": f"i = MinHashLSH({t}, 32, (0, 1)); i.b; i.r" for t in (0.3, 0.8)},
    **{f"bands for {t}, all against extras": f"i = MinHashLSH({t}, 32, (1, 0)); i.b; i.r" for t in (0.3, 0.8)},
    "threshold 1.0": "i = MinHashLSH(threshold=1.0, num_perm=16); i.b * i.r",
    "threshold 1": "i = MinHashLSH(threshold=1, num_perm=128); i.b * i.r",
    **{what: call.format("MinHashLSH", "") for what, call in {**WRONG_NEW, **WRONG_PARAMS}.items()},
    "params": "i = MinHashLSH(num_perm=16, params=(4, 3)); i.b; i.r; i.hashranges",
    "params of a list": "i = MinHashLSH(num_perm=16, params=[4, 4]); i.b; i.r",
    "params of numpy": "i = MinHashLSH(num_perm=16, params=(np.int64(4), np.int64(3))); i.b; i.r",
    "storage, empty": "MinHashLSH(0.5, 16, storage_config={}).is_empty()",
    "storage, dict": "i = MinHashLSH(0.5, 16, storage_config={'type': 'dict'}); i.prepickle; i.is_empty()",
    "storage, dict with a name": "MinHashLSH(0.5, 16, storage_config={'type': 'dict', 'basename': b'x'}).is_empty()",
    "storage, a name of text": "MinHashLSH(0.5, 16, storage_config={'type': 'dict', 'basename': 'x'})",
    "storage without a type": "MinHashLSH(0.5, 16, storage_config={'basename': b'x'})",
    "storage unknown": "MinHashLSH(0.5, 16, storage_config={'type': 'paper'})",
    "storage of text": "MinHashLSH(0.5, 16, storage_config='dict')",
    "prepickle": "i = MinHashLSH(0.5, 16, prepickle=True); i.prepickle; "
    "i.insert(('a', 1), sketch('a', num_perm=16)); ('a', 1) in i; "
    "i.query(sketch('a', num_perm=16))",
    "not prepickled": "i = MinHashLSH(0.5, 16, prepickle=False); i.insert(('a', 1), sketch('a', num_perm=16)); "
    "i.query(sketch('a', num_perm=16))",
    "hashfunc": (
        NEAR + "i = MinHashLSH(0.5, 64, hashfunc=lambda data: data[:2])\n"
        "i.insert('a', near(40)); i.insert('b', near(38)); sorted(i.query(near(40))); "
        "i.query(sketch('q', num_perm=64)); i.remove('a'); i.query(near(40))"
    ),
    "hashfunc no function": "MinHashLSH(0.5, 16, hashfunc=5).insert('a', MinHash(16))",
    "unknown argument": "MinHashLSH(colour=1)",
    "aliases": "WeightedMinHashLSH is MinHashLSH; WeightedMinHashLSHForest is MinHashLSHForest",
}

USE = {
    "query": INDEX + "[sorted(index.query(near(n))) for n in (40, 39, 30, 20, 0)]; "
    "type(index.query(near(40))).__name__",
    "query finds nothing": INDEX + "index.query(sketch('q', num_perm=64))",
    "query of an empty index": "MinHashLSH(0.5, 16).query(sketch('a', num_perm=16))",
    "insert returns nothing": "MinHashLSH(0.5, 16).insert('a', sketch('a', num_perm=16))",
    "insert by name": "i = MinHashLSH(0.5, 16); "
    "i.insert(key='a', minhash=sketch('a', num_perm=16), check_duplication=True); 'a' in i",
    "in": INDEX + "'n40' in index; 'n41' in index; 40 in index; None in index",
    "in, of what has no hash": INDEX + "[] in index",
    "is_empty": INDEX + "index.is_empty(); [index.remove(f'n{n}') for n in (40, 38, 35, 20, 0)]; index.is_empty()",
    **{
        f"key {key}": f"i = MinHashLSH(0.5, 16); i.insert({key}, sketch('a', num_perm=16)); {key} in i; "
        f"i.query(sketch('a', num_perm=16)); i.remove({key}); i.query(sketch('a', num_perm=16))"
        for key in (
            "1",
            "'a'",
            "b'a'",
            "('a', 2)",
            "None",
            "1.5",
            "2**70",
            "-1",
            "frozenset('a')",
            "True",
            "''",
            "'\\ud800'",
            "float('nan')",
        )
    },
    "keys that are equal": "i = MinHashLSH(0.5, 16); i.insert(1, sketch('a', num_perm=16)); 1.0 in i; True in i; "
    "i.insert(1.0, sketch('b', num_perm=16))",
    "keys as they were given": "i = MinHashLSH(0.5, 16); i.insert(True, sketch('a', num_perm=16)); "
    "i.insert('1', sketch('a', num_perm=16)); "
    "sorted(map(repr, i.query(sketch('a', num_perm=16))))",
    "a key without a hash": "MinHashLSH(0.5, 16).insert(['a'], sketch('a', num_perm=16))",
    "a key twice": INDEX + "index.insert('n40', near(0))",
    "a key twice changes nothing": INDEX + "attempt(index.insert, 'n40', near(0)); sorted(index.query(near(40))); "
    "sorted(index.query(near(0)))",
    "a key twice, unchecked": INDEX
    + "index.insert('n40', near(40), check_duplication=False); sorted(index.query(near(40)))",
    "a key twice, unchecked, another set": INDEX
    + "index.insert('n40', near(0), check_duplication=False); sorted(index.query(near(0))); "
    "sorted(index.query(near(40)))",
    "a key twice, unchecked, then removed": INDEX + "index.insert('n40', near(0), False); index.remove('n40'); "
    "sorted(index.query(near(40))); 'n40' in index",
    "after a removal, again": INDEX
    + "index.remove('n40'); sorted(index.query(near(40))); index.insert('n40', near(0)); "
    "sorted(index.query(near(0)))",
    "remove returns nothing": INDEX + "index.remove('n40')",
    "remove what is not there": INDEX + "index.remove('q')",
    "remove twice": INDEX + "index.remove('n40'); index.remove('n40')",
    "remove what has no hash": INDEX + "index.remove([])",
    **{
        f"{method} of {what}": INDEX + f"found = index.{method}({key}{other}); found and sorted(found)"
        for method, key in (("insert", "'new', "), ("query", ""), ("add_to_query_buffer", ""))
        for what, other in {
            "another length": "MinHash(65)",
            "fewer slots": "MinHash(16)",
            "another scheme": "near(40, scheme='affine64')",
            "another seed": "near(40, seed=2)",
            "text": "'abc'",
            "text of the length": "'x' * 64",
            "None": "None",
            "an array": "near(40).hashvalues",
            "a list": "[1] * 64",
            "a lean one": "LeanMinHash(near(40))",
            "a b-bit one": "bBitMinHash(near(40), 8)",
        }.items()
    },
    "insert without a sketch": "MinHashLSH(0.5, 16).insert('a')",
    "the first sets the scheme": NEAR
    + "i = MinHashLSH(num_perm=64); i.query(near(4, scheme='legacy')); i.insert('a', near(4)); "
    "i.insert('b', near(4, scheme='legacy'))",
    "a refused one sets no scheme": NEAR
    + "i = MinHashLSH(num_perm=64); attempt(i.insert, [], near(4, scheme='legacy')); "
    "i.insert('b', near(4, scheme='legacy')); 'b' in i",
    **{
        f"scheme {scheme}": INDEX.replace("near(n))", f"near(n, scheme={scheme!r}))")
        + f"[sorted(index.query(near(n, scheme={scheme!r}))) for n in (40, 36, 20, 0)]"
        for scheme in ("affine64", "legacy")
    },
    "lean ones": NEAR + "i = MinHashLSH(0.5, 64); i.insert('a', LeanMinHash(near(40))); i.query(near(40)); "
    "i.query(LeanMinHash(near(39)))",
    "empty sketches": "i = MinHashLSH(0.5, 16); i.insert('a', MinHash(16)); i.insert('b', MinHash(16)); "
    "sorted(i.query(MinHash(16)))",
    "empty sketches, queried": INDEX + "index.query(MinHash(64))",
    "empty sketches are there": (
        "i = MinHashLSH(0.5, 16); i.insert('a', MinHash(16)); 'a' in i; i.remove('a'); 'a' in i"
    ),
    "the sketch may change after": INDEX
    + "m = near(40); index.insert('m', m); m.clear(); 'm' in index.query(near(40))",
    "equal sets": "i = MinHashLSH(0.5, 16)\nfor n in range(50): i.insert(n, sketch('a b', num_perm=16))\n"
    "sorted(i.query(sketch('a b', num_perm=16)))",
    "weighted": (
        "g = WeightedMinHashGenerator(8, 32); i = WeightedMinHashLSH(0.5, 32)\n"
        "i.insert('a', g.minhash([1, 2, 3, 4, 5, 6, 7, 8])); i.insert('b', g.minhash([8, 0, 0, 0, 0, 0, 0, 0]))\n"
        "i.query(g.minhash([1, 2, 3, 4, 5, 6, 7, 8])); "
        "i.query(g.minhash([9, 0, 0, 0, 0, 0, 0, 0])); i.remove('a'); 'a' in i"
    ),
    "weighted beside others": (
        "g = WeightedMinHashGenerator(8, 32); i = MinHashLSH(0.5, 32); "
        "i.insert('a', g.minhash([1] * 8)); i.insert('b', sketch('b', num_perm=32)); 'b' in i"
    ),
    "weighted of another seed": (
        "g, h = WeightedMinHashGenerator(8, 32), WeightedMinHashGenerator(8, 32, 2); i = MinHashLSH(0.5, 32)\n"
        "i.insert('a', g.minhash([1] * 8)); i.insert('b', h.minhash([1] * 8))"
    ),
    "weighted of another length": (
        "g = WeightedMinHashGenerator(8, 16); MinHashLSH(0.5, 32).insert('a', g.minhash([1] * 8))"
    ),
    "scores": INDEX + "index.query(near(40), with_scores=True)[0]",
}

BUFFERS = {
    "insertion session": NEAR
    + (
        "index = MinHashLSH(0.5, 64)\nwith index.insertion_session() as session:\n"
        "    for n in (40, 38, 0): session.insert(f'n{n}', near(n))\n"
        "sorted(index.query(near(40))); index.buffer_size; type(session).__name__; session.lsh is index"
    ),
    "insertion session of 2": NEAR
    + (
        "index = MinHashLSH(0.5, 64)\nwith index.insertion_session(buffer_size=2) as session:\n"
        "    for n in range(9): session.insert(n, near(n))\n"
        "index.buffer_size; sorted(index.query(near(4)))"
    ),
    "insertion session closed by hand": NEAR
    + "index = MinHashLSH(0.5, 64); s = index.insertion_session(); s.insert('a', near(4)); "
    "s.close(); index.query(near(4)); s.close()",
    "insertion session, key twice": INDEX + "with index.insertion_session() as session: session.insert('n40', near(3))",
    "insertion session, key twice within": NEAR
    + "index = MinHashLSH(0.5, 64)\nwith index.insertion_session() as session:\n"
    "    session.insert('a', near(3))\n    session.insert('a', near(3))",
    "insertion session, key twice, unchecked": INDEX + "with index.insertion_session() as s: s.insert('n40', near(40), "
    "check_duplication=False)\nsorted(index.query(near(40)))",
    "insertion session, wrong length": INDEX
    + "with index.insertion_session() as session: session.insert('a', MinHash(3))",
    "insertion session that fails": (
        INDEX + "def fill():\n    with index.insertion_session() as s:\n        s.insert('a', near(40))\n"
        "        s.insert('b', MinHash(3))\n"
        "attempt(fill); 'a' in index; 'a' in index.query(near(40))"
    ),
    **{
        f"buffer size {n}": INDEX + f"s = index.insertion_session(buffer_size={n}); s.insert('a', near(1)); s.close(); "
        "'a' in index"
        for n in ("0", "-1", "1")
    },
    "buffer size set": "i = MinHashLSH(0.5, 16); i.buffer_size = 7; i.buffer_size; i.keys.buffer_size; "
    "[t.buffer_size for t in i.hashtables][:2]",
    "deletion session": INDEX + "with index.deletion_session() as s: s.remove('n40'); s.remove('n38')\n"
    "sorted(index.query(near(40))); 'n40' in index; s.lsh is index",
    "deletion session of 1": INDEX
    + "with index.deletion_session(buffer_size=1) as s: s.remove('n40')\nindex.buffer_size; "
    "sorted(index.query(near(40)))",
    "deletion session, not there": INDEX + "with index.deletion_session() as s: s.remove('q')",
    "deletion session, twice": INDEX + "with index.deletion_session() as s: s.remove('n40'); s.remove('n40')",
    "query buffer": INDEX + "index.add_to_query_buffer(near(40)); sorted(index.collect_query_buffer())",
    "query buffer of two": INDEX + "index.add_to_query_buffer(near(40)); index.add_to_query_buffer(near(38)); "
    "sorted(index.collect_query_buffer())",
    "query buffer of two that share nothing": INDEX
    + "index.add_to_query_buffer(near(40)); index.add_to_query_buffer(near(0)); "
    "index.collect_query_buffer()",
    "query buffer of one without answers": INDEX
    + "index.add_to_query_buffer(sketch('q', num_perm=64)); index.collect_query_buffer()",
    "query buffer of nothing": INDEX + "index.collect_query_buffer()",
    "query buffer collected twice": INDEX + "index.add_to_query_buffer(near(40)); len(index.collect_query_buffer()); "
    "index.collect_query_buffer()",
    "query buffer returns nothing": INDEX + "index.add_to_query_buffer(near(40))",
    "query buffer, prepickled": NEAR + "i = MinHashLSH(0.5, 64, prepickle=True); i.insert(('a', 1), near(40)); "
    "i.add_to_query_buffer(near(40)); i.collect_query_buffer()",
}

WHOLE = {
    "merge": (
        INDEX + "other = MinHashLSH(threshold=0.5, num_perm=64); other.insert('o', near(39)); "
        "other.insert('p', sketch('p', num_perm=64))\n"
        "index.merge(other); sorted(index.query(near(40))); 'p' in index; 'o' in other; "
        "'n40' in other; index.remove('o'); other.query(near(39))"
    ),
    "merge of an empty one": INDEX + "index.merge(MinHashLSH(threshold=0.5, num_perm=64)); len(index.query(near(40)))",
    "merge into an empty one": INDEX + "o = MinHashLSH(threshold=0.5, num_perm=64); o.merge(index); "
    "sorted(o.query(near(40))) == sorted(index.query(near(40))); "
    "o.insert('x', near(3, scheme='legacy'))",
    "merge with keys of both, checked": INDEX + "o = MinHashLSH(threshold=0.5, num_perm=64); o.insert('n40', near(3)); "
    "index.merge(o, check_overlap=True)",
    "merge with keys of both": INDEX
    + "o = MinHashLSH(threshold=0.5, num_perm=64); o.insert('n40', near(40)); index.merge(o); "
    "sorted(index.query(near(40)))",
    "merge with keys of both, other sets": INDEX
    + "o = MinHashLSH(threshold=0.5, num_perm=64); o.insert('n40', near(0)); index.merge(o); "
    "sorted(index.query(near(0)))",
    "merge with itself": INDEX + "attempt(index.merge, index, check_overlap=True); sorted(index.query(near(40)))",
    **{
        f"merge of {what}": INDEX + f"index.merge({other})"
        for what, other in {
            "other bands": "MinHashLSH(num_perm=64, params=(4, 4))",
            "another length": "MinHashLSH(threshold=0.5, num_perm=32)",
            "text": "'a'",
            "None": "None",
            "a forest": "MinHashLSHForest(64)",
        }.items()
    },
    "merge of another scheme": INDEX
    + "o = MinHashLSH(threshold=0.5, num_perm=64); o.insert('o', near(3, scheme='legacy')); "
    "index.merge(o)",
    "merge of another seed": INDEX + "o = MinHashLSH(threshold=0.5, num_perm=64); o.insert('o', near(3, seed=2)); "
    "index.merge(o)",
    "counts": INDEX + "[sorted(c.values()) for c in index.get_counts()]; len(index.get_counts()) == index.b",
    "counts by bucket": INDEX + "index.get_counts()",
    "counts of an empty index": "[len(c) for c in MinHashLSH(0.5, 16).get_counts()]",
    "subset counts": INDEX + "[sorted(c.values()) for c in index.get_subset_counts('n40', 'n0', 'n40')]",
    "subset counts by bucket": INDEX + "index.get_subset_counts('n40', 'n38')",
    "subset counts of none": INDEX + "index.get_subset_counts() == [{}] * index.b",
    "subset counts of a stranger": INDEX + "index.get_subset_counts('q')",
    "keys": INDEX + "sorted(index.keys); len(list(index.keys)); index.keys.size(); 'n40' in index.keys; "
    "len(index.keys)",
    "tables": INDEX + "len(index.hashtables) == index.b; index.hashtables[0].size() > 0",
    "bytes of a band of a key": INDEX + "index.keys.get('n40')",
    "pickle": INDEX + "i = pickle.loads(pickle.dumps(index)); sorted(i.query(near(40))); "
    "i.insert('new', near(40)); 'new' in i; 'new' in index; i.b; i.r; "
    "i.insert('n40', near(40))",
    "pickle remembers the scheme": INDEX
    + "i = pickle.loads(pickle.dumps(index)); i.insert('z', near(3, scheme='legacy'))",
    "deepcopy": INDEX + "i = copy.deepcopy(index); i.remove('n40'); sorted(index.query(near(40))); "
    "sorted(i.query(near(40)))",
    "no length": INDEX + "len(index)",
}

FOREST_CASES = {
    "the usual": "f = MinHashLSHForest(); f.l; f.k; f.is_empty()",
    "by place": "f = MinHashLSHForest(64, 4); f.l; f.k",
    **{
        f"num_perm {n}, l {trees}": f"f = MinHashLSHForest({n}, {trees}); f.l; f.k; f.hashranges"
        for n, trees in (
            (16, 3),
            (16, 16),
            (16, 17),
            (0, 1),
            (16, 0),
            (-1, 1),
            (16, -1),
            ("'a'", 1),
            (16, "'a'"),
            ("None", 1),
            (16, 2.0),
            (1, 1),
        )
    },
    "query": FOREST + "forest.index(); sorted(forest.query(near(40), 5)); sorted(forest.query(near(40), 100)); "
    "len(forest.query(near(40), 2)); forest.query(near(40), 1); "
    "type(forest.query(near(40), 1)).__name__",
    "query by name": FOREST + "forest.index(); forest.query(minhash=near(40), k=1)",
    "query before index": FOREST + "forest.query(near(40), 5); forest.is_empty()",
    "added after index": FOREST + "forest.index(); forest.is_empty(); forest.add('new', near(40)); 'new' in forest; "
    "'new' in forest.query(near(40), 9); forest.index(); 'new' in forest.query(near(40), 9)",
    "index returns nothing": FOREST + "forest.index()",
    "index of nothing": "f = MinHashLSHForest(16); f.index(); f.is_empty(); f.query(sketch('a', num_perm=16), 3)",
    "index twice": FOREST + "forest.index(); forest.index(); forest.query(near(40), 1)",
    "in": FOREST + "'n40' in forest; 'q' in forest",
    "in, of what has no hash": FOREST + "[] in forest",
    "a key twice": FOREST + "forest.add('n40', near(3))",
    "a key without a hash": FOREST + "forest.add([], near(3))",
    **{f"k {k}": FOREST + f"forest.index(); forest.query(near(40), {k})" for k in ("0", "-1", "'a'", "None")},
    "k nan": FOREST + "forest.index(); len(forest.query(near(40), float('nan')))",
    "k 1.5": FOREST + "forest.index(); len(forest.query(near(40), 1.5))",
    **{
        f"{method} of {what}": FOREST + f"forest.index(); forest.{method}({arguments})"
        for method, before, after in (("add", "'new', ", ""), ("query", "", ", 1"))
        for what, other in {
            "fewer slots": "MinHash(63)",
            "another scheme": "near(40, scheme='legacy')",
            "another seed": "near(40, seed=2)",
            "text": "'abc'",
            "None": "None",
            "an array": "near(40).hashvalues",
            "an index": "MinHashLSH(num_perm=64)",
        }.items()
        for arguments in (before + other + after,)
    },
    "more slots": "f = MinHashLSHForest(16, 4); f.add('a', sketch('a', num_perm=40)); f.index(); "
    "f.query(sketch('a', num_perm=40), 1); f.query(sketch('a', num_perm=16), 1)",
    "slots that no tree looks at": "f = MinHashLSHForest(16, 3); f.add('a', sketch('a', num_perm=15)); f.index(); "
    "f.query(sketch('a', num_perm=16), 1)",
    "lean ones": "f = MinHashLSHForest(16, 4); f.add('a', lean('a', num_perm=16)); f.index(); "
    "f.query(lean('a', num_perm=16), 1)",
    **{
        f"scheme {s}": f"f = MinHashLSHForest(16, 4); f.add('a', sketch('a b', num_perm=16, scheme={s!r})); "
        f"f.index(); f.query(sketch('a b', num_perm=16, scheme={s!r}), 1); "
        "f.get_minhash_hashvalues('a')"
        for s in ("affine32", "affine64", "legacy")
    },
    "hash values": FOREST + "v = forest.get_minhash_hashvalues('n40'); v; (v == near(40).hashvalues).all(); "
    "forest.index(); forest.get_minhash_hashvalues('n20')",
    "hash values, slots left over": "f = MinHashLSHForest(16, 3); f.add('a', sketch('a', num_perm=16)); "
    "f.get_minhash_hashvalues('a')",
    "hash values of a stranger": FOREST + "forest.get_minhash_hashvalues('q')",
    "hash values are a copy": FOREST
    + "forest.get_minhash_hashvalues('n40')[:] = 0; forest.get_minhash_hashvalues('n40')",
    "empty sketches": "f = MinHashLSHForest(16, 4); f.add('a', MinHash(16)); f.index(); f.query(MinHash(16), 3)",
    "empty sketches are there": "f = MinHashLSHForest(16, 4); f.add('a', MinHash(16)); f.index(); 'a' in f; "
    "f.get_minhash_hashvalues('a')",
    "weighted": (
        "g = WeightedMinHashGenerator(8, 32); f = WeightedMinHashLSHForest(32, 4)\n"
        "f.add('a', g.minhash([1, 2, 3, 4, 5, 6, 7, 8])); f.add('b', g.minhash([8] + [0] * 7)); f.index()\n"
        "f.query(g.minhash([1, 2, 3, 4, 5, 6, 7, 8]), 1); f.query(g.minhash([9] + [0] * 7), 1)"
    ),
    "weighted hash values": "g = WeightedMinHashGenerator(8, 8); f = MinHashLSHForest(8, 4); "
    "f.add('a', g.minhash([1] * 8)); f.get_minhash_hashvalues('a')",
    "pickle": FOREST + "forest.index(); f = pickle.loads(pickle.dumps(forest)); sorted(f.query(near(40), 9)); "
    "f.add('new', near(1)); f.index(); 'new' in f; 'new' in forest",
    "deepcopy": FOREST + "forest.index(); f = copy.deepcopy(forest); f.add('new', near(40)); 'new' in forest; "
    "f.query(near(0), 1)",
    "scores": FOREST + "forest.index(); forest.query(near(40), 2, with_scores=True)[0]",
    "removal": FOREST + "forest.index(); forest.remove('n40'); 'n40' in forest; 'n40' in forest.query(near(40), 9)",
}

ENSEMBLE_CASES = {
    "attributes": ENSEMBLE + "e.threshold; e.h; e.m; e.is_empty()",
    **{what: call.format("MinHashLSHEnsemble", ", m=2, num_part=2") for what, call in WRONG_NEW.items()},
    **{
        f"num_part {n}": f"MinHashLSHEnsemble(0.8, 16, {n}, 2).is_empty()"
        for n in ("0", "-1", "'a'", "None", "2.0", "1")
    },
    **{f"m {m}": f"MinHashLSHEnsemble(0.8, 16, 2, {m}).is_empty()" for m in ("1", "0", "17", "'a'", "None", "2.5")},
    "index": ENSEMBLE + "e.index(entries); e.is_empty(); 's5' in e; 's320' in e; 'q' in e",
    "index returns nothing": ENSEMBLE + "e.index(entries)",
    **{
        f"query of {size}": ENSEMBLE + f"e.index(entries); sorted(e.query(sketch(sets[{size}], num_perm=64), {size}))"
        for size in (5, 10, 20, 40, 80, 160, 320)
    },
    "query is a generator": ENSEMBLE + "e.index(entries); type(e.query(entries[0][1], 5)).__name__; "
    "len(set(e.query(entries[0][1], 5))) > 0",
    "query by name": ENSEMBLE + "e.index(entries); 's320' in set(e.query(minhash=entries[-1][1], size=320))",
    "query of a stranger": ENSEMBLE + "e.index(entries); list(e.query(sketch('q r s t u', num_perm=64), 5))",
    "query of an empty one": ENSEMBLE + "list(e.query(entries[0][1], 5))",
    "index of an iterator": ENSEMBLE + "e.index(iter(entries)); 's5' in e; 's320' in set(e.query(entries[-1][1], 320))",
    "index twice": ENSEMBLE + "e.index(entries); e.index(entries)",
    "index of nothing": ENSEMBLE + "e.index([])",
    "index of nothing, lazily": ENSEMBLE + "e.index(iter([]))",
    "index of None": ENSEMBLE + "e.index(None)",
    "the list stays as it is": ENSEMBLE + "entries.reverse(); e.index(entries); [key for key, _, _ in entries]",
    "a key twice": ENSEMBLE + "e.index(entries + entries[:1])",
    "sizes that are equal": ENSEMBLE
    + "e.index([(n, sketch(count(n, n + 20), num_perm=64), 20) for n in range(0, 200, 40)]); "
    "sorted(e.query(sketch(count(0, 20), num_perm=64), 20))",
    "fewer sizes than partitions": ENSEMBLE + "e.index(entries[:2]); sorted(e.query(entries[0][1], 5))",
    "one entry": ENSEMBLE + "e.index(entries[:1]); sorted(e.query(entries[0][1], 5))",
    **{
        f"size {size} of an iterator": ENSEMBLE + f"e.index(iter([('a', MinHash(64), {size})]))"
        for size in ("0", "-1", "'a'", "None")
    },
    **{
        f"size {size} of a list": ENSEMBLE + f"e.index([('a', MinHash(64), {size})])"
        for size in ("0", "-1", "'a'", "None")
    },
    "size 2.5": ENSEMBLE + "e.index([('a', sketch('a b', num_perm=64), 2.5)]); 'a' in e",
    **{
        f"query size {size}": ENSEMBLE + f"e.index(entries); list(e.query(entries[0][1], {size}))"
        for size in ("0", "-1", "'a'", "None")
    },
    "entries of two": ENSEMBLE + "e.index([('a', MinHash(64))])",
    "entries of another length": ENSEMBLE + "e.index([('a', MinHash(63), 5)])",
    "entries of texts": ENSEMBLE + "e.index([('a', 'b', 5)])",
    "entries of several schemes": ENSEMBLE
    + "e.index([('a', sketch('a', num_perm=64), 5), ('b', sketch('b', num_perm=64, "
    "scheme='legacy'), 5)])",
    "entries of several seeds": ENSEMBLE
    + "e.index([('a', sketch('a', num_perm=64), 5), ('b', sketch('b', num_perm=64, seed=2), "
    "5)])",
    "query of another length": ENSEMBLE + "e.index(entries); list(e.query(MinHash(63), 5))",
    "query of another scheme": ENSEMBLE
    + "e.index(entries); list(e.query(sketch('a', num_perm=64, scheme='legacy'), 5))",
    "query of another seed": ENSEMBLE + "e.index(entries); list(e.query(sketch(sets[5], num_perm=64, seed=2), 5))",
    "query of text": ENSEMBLE + "e.index(entries); list(e.query('a', 5))",
    "query fails when it is asked": ENSEMBLE + "e.index(entries); g = e.query('a', 5); list(g)",
    "empty sketches": ENSEMBLE + "e.index([('a', MinHash(64), 1)]); list(e.query(MinHash(64), 1))",
    "lean ones": ENSEMBLE + "e.index([(key, LeanMinHash(m), size) for key, m, size in entries]); "
    "'s320' in set(e.query(lean(sets[320], num_perm=64), 320))",
    "a key without a hash": ENSEMBLE + "e.index([([], MinHash(64), 5)])",
    "storage": "MinHashLSHEnsemble(0.8, 16, 2, 2, storage_config={'type': 'dict', 'basename': b'x'}).is_empty()",
    "storage unknown": "MinHashLSHEnsemble(0.8, 16, 2, 2, storage_config={'type': 'paper'})",
    "prepickle": ENSEMBLE + "e = MinHashLSHEnsemble(0.8, 64, 2, 2, prepickle=True); "
    "e.index([(('k', size), m, size) for _, m, size in entries]); ('k', 5) in e; "
    "('k', 320) in set(e.query(entries[-1][1], 320))",
    "pickle": ENSEMBLE + "e.index(entries); f = pickle.loads(pickle.dumps(e)); "
    "sorted(f.query(entries[3][1], 40)) == sorted(e.query(entries[3][1], 40)); 's5' in f",
    "many": (
        ENSEMBLE + "r = np.random.RandomState(3); many = []\n"
        "for n in range(60):\n"
        "    low, size = int(r.randint(0, 200)), int(r.geometric(0.02)) + 1\n"
        "    many.append((n, sketch(count(low, low + size), num_perm=64), size))\n"
        "e.index(list(many)); [sorted(e.query(m, size)) for _, m, size in many[:20]]"
    ),
    "scores": ENSEMBLE + "e.index(entries); next(iter(e.query(entries[-1][1], 320, with_scores=True)))",
}

FILTER = ", n=100, fp=0.01"
BLOOM_CASES = {
    "attributes": BLOOM + "bloom.b; bloom.r; bloom.h; bloom.hashranges; len(bloom.hashtables) == bloom.b",
    **{what: call.format("MinHashLSHBloom", FILTER) for what, call in {**WRONG_NEW, **WRONG_PARAMS}.items()},
    **{f"n {n}": f"MinHashLSHBloom(0.5, 16, n={n}, fp=0.01)" for n in ("None", "0", "-1", "'a'")},
    **{
        f"fp {fp}": f"MinHashLSHBloom(0.5, 16, n=10, fp={fp})"
        for fp in ("None", "0.0", "1.0", "-0.1", "'a'", "float('nan')")
    },
    "without n and fp": "MinHashLSHBloom()",
    **{f"bands for {t}": f"i = MinHashLSHBloom({t}, 32{FILTER}); i.b; i.r" for t in (0.3, 0.5, 0.8, 0.9)},
    "threshold 1.0": "i = MinHashLSHBloom(threshold=1.0, num_perm=16, n=10, fp=0.01); i.b * i.r",
    "params": "i = MinHashLSHBloom(0.5, 16, n=10, fp=0.01, params=(4, 3)); i.b; i.r",
    "insert and query": BLOOM + "bloom.query(near(40)); bloom.insert(near(40)); "
    "[bloom.query(near(n)) for n in (40, 39, 36, 10, 0)]; "
    "bloom.query(sketch('q', num_perm=64))",
    "insert twice": BLOOM + "bloom.insert(near(40)); bloom.insert(near(40)); bloom.query(near(40))",
    "by name": BLOOM + "bloom.insert(minhash=near(40)); bloom.query(minhash=near(40))",
    "lean ones": BLOOM + "bloom.insert(LeanMinHash(near(40))); bloom.query(LeanMinHash(near(40))); "
    "bloom.query(near(40))",
    "slots in another order": (
        "b = MinHashLSHBloom(num_perm=4, n=100, fp=1e-6, params=(2, 2)); "
        "m = lambda *v: LeanMinHash(seed=1, hashvalues=v, scheme='affine32')\n"
        "b.insert(m(1, 2, 3, 4)); b.query(m(1, 2, 9, 9)); b.query(m(2, 1, 9, 9))"
    ),
    "slots of an equal sum": (
        "b = MinHashLSHBloom(num_perm=4, n=100, fp=1e-6, params=(2, 2)); "
        "m = lambda *v: LeanMinHash(seed=1, hashvalues=v, scheme='affine32')\n"
        "b.insert(m(1, 4, 30, 40)); b.query(m(2, 3, 9, 9))"
    ),
    **{
        f"{method} of {what}": BLOOM + f"bloom.insert(near(40)); bloom.{method}({other})"
        for method in ("insert", "query")
        for what, other in {
            "another length": "MinHash(65)",
            "another scheme": "near(40, scheme='legacy')",
            "another seed": "near(40, seed=2)",
            "text": "'abc'",
            "None": "None",
        }.items()
    },
    "empty sketches": BLOOM + "bloom.insert(MinHash(64)); bloom.query(MinHash(64))",
    "empty sketches, queried": BLOOM + "bloom.insert(near(40)); bloom.query(MinHash(64))",
    "sync in memory": BLOOM + "bloom.sync()",
    "in a folder": (
        NEAR + "import os, tempfile\nfolder = os.path.join(tempfile.mkdtemp(), 'new')\n"
        "b = MinHashLSHBloom(0.5, 64, 100, 1e-6, folder); b.insert(near(40)); b.sync()\n"
        "c = MinHashLSHBloom(0.5, 64, 100, 1e-6, folder); c.query(near(40)); c.query(near(0)); "
        "len(os.listdir(folder)) > 0"
    ),
}

CASES = {
    "MinHashLSH()": NEW,
    "MinHashLSH": USE,
    "MinHashLSH sessions": BUFFERS,
    "MinHashLSH as a whole": WHOLE,
    "MinHashLSHForest": FOREST_CASES,
    "MinHashLSHEnsemble": ENSEMBLE_CASES,
    "MinHashLSHBloom": BLOOM_CASES,
}

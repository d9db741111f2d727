"""Calls of HNSW. The points are numbers, and so few that both libraries find the nearest ones."""

from __future__ import annotations

NEW = "far = lambda x, y: abs(x - y)\ni = HNSW(far, m=4, ef_construction=20, seed=1)\n"
FILLED = NEW + "i.update({f'k{n}': n * n / 4 for n in range(12)})\n"
REMOVED = FILLED + "i.remove('k3'); i.remove('k7')\n"
STATE = "list(i); len(i); list(i.items()); 'k3' in i; i.query(5.1, 4)\n"

CASES = {
    "HNSW": {
        "the usual": FILLED + STATE,
        "defaults": "i = HNSW(lambda x, y: abs(x - y)); i.insert('a', 1.0); i['c'] = 9.0; i.query(2.5)",
        "by place": "i = HNSW(lambda x, y: abs(x - y), 4, 20, 8, 3, True); i['a'] = 1.0; i.query(0.5, 1, 5)",
        "by name": NEW + "i.insert(key='a', new_point=1.0, ef=5, level=2); i.query(query_point=1.5, k=1, ef=3)",
        "vectors": "i = HNSW(lambda x, y: np.linalg.norm(x - y), seed=1); p = np.arange(30.0).reshape(10, 3)\n"
        "for n in range(10): i[n] = p[n]\n[key for key, _ in i.query(p[4], 3)]; i[4]; list(i.values())[9]",
        "sketches": "i = HNSW(lambda x, y: 1 - x.jaccard(y), seed=1)\n"
        "for n in range(0, 50, 10): i[n] = sketch(count(n, 40 + n))\ni.query(sketch(count(5, 45)), 2); i[10]",
        "keys that cannot be ordered": NEW + "for n in ('a', 1, None, (2,)): i[n] = 1.0\nlen(i.query(1.0)); None in i",
        "empty": NEW
        + "len(i); bool(i); list(i); 'a' in i; i.get('a'); i.get('a', 1); i.pop('a', 2); i.clean(); i.query(1.0)",
        **{
            f"empty, {call}": f"{NEW}i.{call}"
            for call in ("popitem()", "pop('a')", "remove('a')", "remove('a', True)", "__getitem__('a')", "query(1, 0)")
        },
        "without a key": FILLED + "[attempt(call, 'q') for call in (i.remove, i.pop, i.__getitem__, i.__delitem__)]",
        "order": FILLED + "i['k3'] = 4.4; list(i); list(i.keys()); list(i.reversed()); i.query(4.4, 1)",
        "iterators": FILLED + "next(i.keys()); next(i.values()); next(i.items()); next(iter(i)); next(i.reversed())",
        "reversed": FILLED + "reversed(i)",
        "replaced": FILLED + "for n in range(12): i[f'k{n}'] = 50.0 - n\n" + STATE,
        "removed": REMOVED + STATE + "attempt(i.pop, 'k3'); i.remove('k3'); del i['k3']; i.get('k3'); len(i)",
        "removed, added again": REMOVED + "i['k3'] = 77.0\n" + STATE,
        "removed, hard": FILLED + "i.remove('k3', hard=True); i.remove('k7', hard=True, ef=5)\n" + STATE,
        "removed, then hard": REMOVED + "i.remove('k3', hard=True); attempt(i.remove, 'k3')\n" + STATE,
        "cleaned": REMOVED + "i.clean(); attempt(i.remove, 'k3')\n" + STATE,
        "cleaned, ef": REMOVED + "i.clean(ef=3)\n" + STATE,
        "all removed": FILLED
        + "for n in range(12): i.remove(f'k{n}')\nlen(i); attempt(i.query, 1.0); attempt(i.remove, 'k1'); "
        "i['a'] = 5.0; list(i); i.query(1.0)",
        "all removed, hard": FILLED + "for n in range(12): i.remove(f'k{n}', hard=True)\nlen(i); attempt(i.query, 1.0)",
        "pop": FILLED + "i.pop('k3'); i.pop('k4', hard=True); i.pop('k3', 5); attempt(i.pop, 'k3', None)\n" + STATE,
        "popitem": FILLED
        + "i.popitem(); i.popitem(last=False); i.popitem(hard=True); i.popitem(False, True)\n"
        + STATE,
        "setdefault": FILLED + "i.setdefault('k3', 9.0); attempt(i.setdefault, 'q', None)\n" + STATE,
        "setdefault of a new key": FILLED + "i.setdefault('new', 9.0)",
        "clear": FILLED + "i.clear(); len(i); attempt(i.query, 1.0); i['a'] = 2.0; i.query(1.0)",
        "update": FILLED
        + "i.update({'k1': 9.5, 'q': 3.0}); list(i); j = HNSW(far, seed=2); j.update(i); dict(j) == dict(i)",
        "merge": REMOVED + "j = HNSW(far, seed=2); j.update({'k1': 70.0, 'q': 80.0}); m = i.merge(j); list(m.items()); "
        "len(i); len(j)",
        "copy": FILLED
        + "j = i.copy(); i == j; i.remove('k3'); 'k3' in j; i == j; j.remove('k3'); i == j; j['q'] = 1.0; len(i)",
        "equal": FILLED + "i == copy.deepcopy(i); i == 5; i != i.copy(); i == dict(i); i == HNSW(far, seed=2)",
        "not equal": FILLED
        + "j = i.copy(); j['k3'] = 8.0; i == j; k = HNSW(far, m=5, seed=1); l = HNSW(far, m=4, seed=1); k == l",
        "pickle": "i = HNSW(np.subtract, seed=1); i['a'] = 1.0; j = pickle.loads(pickle.dumps(i)); i == j; "
        "list(j); j['a']",
        "pickle of arrays": "i = HNSW(np.dot); i['a'] = np.ones(3); j = pickle.loads(pickle.dumps(i)); i == j; j['a']",
        "hash": NEW + "hash(i)",
        "a key without a hash": NEW + "i.insert([], 1.0)",
        "a distance that fails": FILLED + "i.insert('q', None)",
        "k": FILLED
        + "i.query(5, 0); i.query(5, 1); len(i.query(5, 100)); len(i.query(5, k=None, ef=1)); len(i.query(5))",
        "k of a float": FILLED + "i.query(5.1, 2.0)",
        "k above ef": FILLED + "len(i.query(5.1, k=10, ef=5))",
        "k of -1": FILLED + "i.query(5.1, -1)",
        "ef 0": FILLED + "i.query(5.1, 1, 0)",
        "ef 0, inserted": FILLED + "i.insert('q', 1.0, ef=0)",
        "ef 2.5, inserted": FILLED + "i.insert('q', 1.0, ef=2.5)",
        "level": FILLED + "for level in (0, 1, 9): i.insert(f'q{level}', 20.0 + level, level=level)\ni.query(24.0, 3)",
        "level -1": FILLED + "i.insert('q', 1.0, level=-1)",
        "level 2.5": FILLED + "i.insert('q', 1.0, level=2.5)",
        **{
            f"{name} {value}": f"i = HNSW(lambda x, y: abs(x - y), **{{'seed': 1, '{name}': {value}}})\n"
            "i[1] = 1.0; i[2] = 2.0; i.query(0)"
            for name, value in (
                ("m", 0),
                ("m", 1),
                ("m", 2.5),
                ("m", "'a'"),
                ("ef_construction", 0),
                ("ef_construction", 2.5),
                ("m0", 0),
                ("m0", 2.5),
                ("seed", -1),
                ("seed", "'a'"),
                ("seed", 2.0),
                ("reversed_edges", 5),
                ("seed", None),
            )
        },
        "a distance that cannot be called": "HNSW(5)",
        "a distance of NaN": FILLED + "i.insert('q', float('nan')); 'q' in i",
        "a distance of an int": NEW + "i[1] = 1; i[5] = 5; i.query(2)",
        "attributes of one's own": NEW + "i.label = 'x'; i.copy().label",
        "copy of a subclass": "class Mine(HNSW): pass\ntype(Mine(lambda x, y: abs(x - y)).copy()).__name__",
        "copy.copy": FILLED + "j = copy.copy(i); j['q'] = 1.0; 'q' in i",
        "pairs": NEW + "i.update([('a', 1.0)]); i['a']",
    },
}

"""Calls of MinHash, LeanMinHash, bBitMinHash and the two hash functions."""

from __future__ import annotations

SCHEMES = ("affine32", "affine64", "legacy")

HASHES = {
    f"{name} of {data}": f"{name}({data})"
    for name in ("sha1_hash32", "sha1_hash64")
    for data in ("b''", "b'a'", "bytearray(b'abc')", "memoryview(b'abc')", "bytes(1000)", "'text'", "1", "None")
}

NEW = {
    "no arguments": "MinHash()",
    "all by place": "MinHash(16, 2, 'disable', half, None, None, None, 'affine64')",
    "its attributes": "m = MinHash(8); m.num_perm; m.seed; m.scheme; m.hashfunc(b'a'); len(m); m.permutations; "
    "m.hashvalues",
    **{
        f"num_perm {n}": f"MinHash({n})"
        for n in ("1", "0", "-1", "'8'", "8.0", "2.5", "None", "2**32 + 1", "np.int64(8)")
    },
    "num_perm True": "len(MinHash(True))",
    **{
        f"permutations of seed {seed}, {scheme}": f"MinHash(9, {seed}, scheme={scheme!r}).permutations"
        for scheme in SCHEMES
        for seed in ("0", "1", "42", "2**32 - 1", "np.int64(7)")
    },
    **{f"seed {seed}": f"MinHash(4, {seed})" for seed in ("-1", "2**32", "1.5", "'a'", "True")},
    "seed None": "MinHash(4, None).seed",
    "seed a list": "MinHash(4, [1, 2]).permutations",
    **{
        f"scheme {scheme}": f"MinHash(4, scheme={scheme})"
        for scheme in ("'affine32'", "'nope'", "''", "1", "b'legacy'")
    },
    **{f"scheme {scheme}": f"MinHash(4, scheme={scheme!r}).scheme" for scheme in ("classic", "fast")},
    **{f"hashfunc {f}": f"MinHash(4, hashfunc={f})" for f in ("1", "'sha1'", "half", "hash")},
    "hashobj warns": "MinHash(4, hashobj=object())",
    "gpu, disable and detect": "a, b = MinHash(4), MinHash(4, gpu_mode='detect'); b.update_batch([b'x']); b",
    "gpu, always, without one": "m = MinHash(4, gpu_mode='always'); m.update(b'x'); m; m.update_batch([b'x'])",
    "gpu, always, nothing to do": "m = MinHash(4, gpu_mode='always'); m.update_batch([]); m",
    "gpu, another word": "MinHash(4, gpu_mode='sometimes')",
    "unknown argument": "MinHash(4, colour=1)",
}

FROM_VALUES = {
    "without a scheme": "MinHash(hashvalues=[1, 2, 3])",
    "permutations without a scheme": "MinHash(4, permutations=MinHash(4).permutations)",
    **{
        f"{what}, {scheme}": f"MinHash(hashvalues={values}, scheme={scheme!r})"
        for scheme in SCHEMES
        for what, values in {
            "a list": "[1, 2, 3]",
            "a tuple": "(1, 2**32 - 1)",
            "an array of int64": "np.array([5, 6, 7])",
            "an array of uint32": "np.array([5, 6, 7], np.uint32)",
            "nothing": "[]",
            "above 32 bits": "[2**32]",
            "above 32 bits, in an array": "np.array([2**32, 1], np.uint64)",
            "above 64 bits": "[2**64]",
            "a negative": "[-1]",
            "a negative in an array": "np.array([-1, 2])",
            "text": "'ab'",
            "a number": "7",
            "floats": "[1.0, 2.0]",
            "an array of floats": "np.array([1.0, 2.0])",
            "nan": "[float('nan')]",
        }.items()
    },
    "two dimensions": "MinHash(hashvalues=[[1, 2], [3, 4]], scheme='affine32')",
    "num_perm is ignored": "MinHash(128, hashvalues=[1, 2], scheme='affine32')",
    "values are copied": (
        "a = np.array([1, 2], np.uint32); m = MinHash(hashvalues=a, scheme='affine32'); a[:] = 0; m; m.digest()"
    ),
    "values and permutations": (
        "a = sketch('x y', num_perm=8); "
        "b = MinHash(hashvalues=a.hashvalues, permutations=a.permutations, scheme=a.scheme)\n"
        "b == a; a.update(b'z'); b.update(b'z'); a == b; b"
    ),
    "permutations as lists": "m = MinHash(3, permutations=([1, 3, 5], [7, 8, 9]), scheme='affine32'); m.update(b'a'); "
    "m",
    "permutations with an even a": "MinHash(2, permutations=([2, 3], [0, 0]), scheme='affine64')",
    "permutations of another number": "MinHash(3, permutations=MinHash(4).permutations, scheme='affine32')",
    "permutations out of range": "MinHash(1, permutations=([2**32 + 1], [0]), scheme='affine32')",
    "permutations of 64 bits": "MinHash(1, permutations=([2**40 + 1], [2**63]), scheme='affine64').permutations",
    "permutations, legacy": (
        "a = MinHash(4, scheme='legacy'); b = MinHash(4, permutations=a.permutations, scheme='legacy')\n"
        "a.update(b'q'); b.update(b'q'); a == b"
    ),
    "permutations of one row": "MinHash(2, permutations=([1, 3],), scheme='affine32')",
    "permutations a number": "MinHash(2, permutations=3, scheme='affine32')",
}

UPDATE = {
    **{
        f"values, {scheme}, {k} slots, seed {seed}": (
            f"sketch(count(0, {n}), num_perm={k}, seed={seed}, scheme={scheme!r})"
        )
        for scheme in SCHEMES
        for k, seed, n in ((1, 1, 3), (7, 5, 1), (16, 1, 40), (128, 1, 200), (130, 42, 33), (256, 0, 500))
    },
    **{
        f"one at a time, {scheme}": (
            f"m = MinHash(16, scheme={scheme!r}); m.update(b'a'); m.update(b''); m.update(b'\\xff' * 100); m\n"
            f"n = MinHash(16, scheme={scheme!r}); n.update_batch([b'\\xff' * 100, b'', b'a', b'']); n == m"
        )
        for scheme in SCHEMES
    },
    **{
        f"long tokens, {scheme}": (
            f"m = MinHash(8, scheme={scheme!r}); m.update_batch([bytes([n % 256]) * n for n in range(200)]); m"
        )
        for scheme in SCHEMES
    },
    **{
        f"update({what})": f"m = MinHash(4); m.update({what}); m"
        for what in (
            "'text'",
            "1",
            "None",
            "bytearray(b'a')",
            "memoryview(b'ab')",
            "np.arange(3, dtype=np.uint8)",
            "[b'a']",
        )
    },
    "update(a view with gaps)": "m = MinHash(4); m.update(memoryview(b'abcdef')[::2]); m",
    "update of an array of 2 dimensions": "m = MinHash(4); m.update(np.zeros((2, 3), np.uint8)); m",
    **{
        f"update_batch({what})": f"m = MinHash(4); m.update_batch({what}); m"
        for what in (
            "[]",
            "iter([])",
            "(b'a', b'b')",
            "{b'a', b'b'}",
            "{b'a': 1, b'b': 2}",
            "(bytes([n]) for n in range(9))",
            "np.array([b'ab', b'c'])",
            "[bytearray(b'a'), memoryview(b'b'), b'c']",
            "['a', 'b']",
            "'ab'",
            "b'ab'",
            "[1]",
            "[None]",
            "None",
            "5",
        )
    },
    "update without anything": "MinHash(4).update()",
    "a batch that fails changes nothing": "m = sketch('x', num_perm=8); attempt(m.update_batch, [b'a', 'b']); m",
    "a batch from an iterator that fails": (
        "m = sketch('x', num_perm=8); attempt(m.update_batch, (b'ab'[:1 // n] for n in (1, 0))); m"
    ),
    "values handed out do not change": "m = MinHash(8); a = m.hashvalues; m.update(b'x'); m.update_batch([b'y']); a",
    "values set": "m = MinHash(4); m.hashvalues = np.array([1, 2, 3, 4], np.uint32); m; m.is_empty(); "
    "m.update(b'a'); m",
    "values written to": "m = MinHash(4); m.hashvalues[0] = 0; m; m.is_empty(); m.update(b'a'); m",
}

HASHFUNC = {
    **{
        f"{what}, {scheme}": f"m = MinHash(4, hashfunc=number, scheme={scheme!r}); m.update({value}); m"
        for scheme in SCHEMES
        for what, value in {
            "0": "0",
            "32 bits": "2**32 - 1",
            "33 bits": "2**32",
            "64 bits": "2**64 - 1",
            "65 bits": "2**64",
            "-1": "-1",
            "a numpy integer": "np.uint32(7)",
            "a numpy integer of 64 bits": "np.uint64(7)",
            "True": "True",
            "text": "'7'",
            "None": "None",
            "bytes": "b'7'",
        }.items()
    },
    **{
        f"a batch with {what}, {scheme}": (
            f"m = MinHash(4, hashfunc=number, scheme={scheme!r}); m.update_batch([1, {value}]); m"
        )
        for scheme in SCHEMES
        for what, value in {"33 bits": "2**32", "65 bits": "2**64", "-1": "-1", "text": "'7'", "None": "None"}.items()
    },
    **{
        f"a batch of numbers, {scheme}": (
            f"m = MinHash(8, hashfunc=number, scheme={scheme!r}); m.update_batch(range(1000)); m\n"
            f"n = MinHash(8, hashfunc=number, scheme={scheme!r}); [n.update(x) for x in range(1000)]; m == n"
        )
        for scheme in SCHEMES
    },
    "a float": "m = MinHash(4, hashfunc=number); m.update(1.5); m",
    "half": "m = MinHash(8, hashfunc=half); m.update_batch([b'a', b'bc', b'def']); m; m.copy().hashfunc(b'q')",
    "it raises": "m = MinHash(4, hashfunc=lambda data: 1 // 0); m.update(b'a')",
    "in bulk": "MinHash.bulk([[1, 2], [3]], num_perm=4, hashfunc=number)",
    "it is asked once a token, in order": (
        "seen = []; m = MinHash(4, hashfunc=lambda data: seen.append(data) or 1)\n"
        "m.update_batch([b'b', b'a', b'b']); m.update(b'c'); seen"
    ),
}

COMPARE = {
    **{
        f"jaccard, {scheme}": (
            f"a, b = sketch(count(0, 90), scheme={scheme!r}), sketch(count(30, 120), scheme={scheme!r})\n"
            "a.jaccard(b); b.jaccard(a); a.jaccard(a); a.jaccard(MinHash(scheme=a.scheme))"
        )
        for scheme in SCHEMES
    },
    "jaccard of two empty": "MinHash(4).jaccard(MinHash(4))",
    "jaccard with itself, empty": "m = MinHash(4); m.jaccard(m)",
    **{
        f"{method} of {what}": f"MinHash(8).{method}({other})"
        for method in ("jaccard", "merge")
        for what, other in {
            "another seed": "MinHash(8, 2)",
            "another length": "MinHash(9)",
            "another scheme": "MinHash(8, scheme='legacy')",
            "64 bits": "MinHash(8, scheme='affine64')",
            "a LeanMinHash": "lean('a', num_perm=8)",
            "a WeightedMinHash": "WeightedMinHash(1, np.zeros((8, 2)))",
            "text": "'abc'",
            "None": "None",
            "an array": "np.zeros(8, np.uint32)",
        }.items()
    },
    "jaccard of a b-bit sketch": "m = sketch('a', num_perm=8); m.jaccard(bBitMinHash(m, 32))",
    "merge of a b-bit sketch": "m = sketch('a', num_perm=8); m.merge(bBitMinHash(m, 8))",
    "jaccard of nothing": "MinHash(8).jaccard()",
    **{
        f"count, {scheme}": (
            f"sketch(count(0, 900), scheme={scheme!r}).count(); sketch('a', num_perm=3, scheme={scheme!r}).count()"
        )
        for scheme in SCHEMES
    },
    "count, empty": "MinHash(8).count()",
    "count is a float": "isinstance(sketch('a b', num_perm=8).count(), float)",
    "merge": "a, b = sketch('a b', num_perm=16), sketch('b c', num_perm=16); a.merge(b); a; b; "
    "a == sketch('a b c', num_perm=16)",
    "merge with itself": "a = sketch('a b', num_perm=16); a.merge(a); a",
    "merge of an empty one": "a = sketch('a b', num_perm=16); a.merge(MinHash(16)); a; b = MinHash(16); b.merge(a); "
    "b == a",
    "merge of another hashfunc": "a = sketch('a', num_perm=4); a.merge(sketch('b', num_perm=4, hashfunc=half)); a",
    "union": "MinHash.union(sketch('a', num_perm=8), sketch('b', num_perm=8), sketch('c', "
    "num_perm=8)); sketch('a b c', num_perm=8)",
    "union keeps the hashfunc": "m = MinHash.union(*[sketch('a', num_perm=8, hashfunc=half)] * 2); m.update(b'z'); m",
    **{
        f"union of {what}": f"MinHash.union({others})"
        for what, others in {
            "nothing": "",
            "one": "MinHash(8)",
            "seeds": "MinHash(8), MinHash(8, 2)",
            "lengths": "MinHash(8), MinHash(9)",
            "schemes": "MinHash(8), MinHash(8, scheme='affine64')",
            "texts": "'a', 'b'",
            "None": "MinHash(8), None",
        }.items()
    },
    "union of lean ones": "MinHash.union(sketch('a', num_perm=8), lean('b', num_perm=8))",
    "equality": (
        "a = sketch('a b', num_perm=8); a == sketch('b a', num_perm=8); a != sketch('a b', num_perm=8)\n"
        "a == sketch('a', num_perm=8); a == MinHash(9); MinHash(8) == MinHash(8, 2); MinHash(8) == MinHash(8)\n"
        "a == lean('a b', num_perm=8); a == 'a'; a == None; a != 1; MinHash(4, scheme='affine64') == MinHash(4)"
    ),
    "no hash": "hash(MinHash(4))",
}

COPIES = {
    "copy": "a = sketch('a', num_perm=8); b = a.copy(); b == a; b.update(b'x'); a; b; b.copy().copy() == b",
    "copy keeps all": "b = MinHash(8, 5, hashfunc=half, scheme='legacy').copy(); b.seed; b.scheme; "
    "b.hashfunc(b'a'); b.permutations",
    "copy.copy": "a = sketch('a', num_perm=8); b = copy.copy(a); b.update(b'x'); a; b",
    "copy.deepcopy": "a = sketch('a', num_perm=8); b = copy.deepcopy(a); b.update(b'x'); a; b",
    "digest": "a = sketch('a', num_perm=8); d = a.digest(); d; d[:] = 0; a; a.digest()",
    "is_empty and clear": "a = sketch('a', num_perm=8); a.is_empty(); a.clear(); a.is_empty(); a == MinHash(8); a; "
    "MinHash(3).is_empty()",
    "clear, then update": "a = sketch('a', num_perm=8); d = a.hashvalues; a.clear(); a.update(b'b'); a; d",
    **{
        f"pickle, {scheme}": (
            f"a = sketch('a b c', num_perm=16, seed=3, scheme={scheme!r}); "
            "b = pickle.loads(pickle.dumps(a)); b; b == a\n"
            "a.update(b'd'); b.update(b'd'); b == a; b.hashfunc(b'e'); b.permutations"
        )
        for scheme in SCHEMES
    },
    **{
        f"pickle, protocol {protocol}": f"pickle.loads(pickle.dumps(sketch('a', num_perm=4), {protocol}))"
        for protocol in range(2, 6)
    },
    "pickle with a hashfunc": "a = MinHash(4, hashfunc=half); b = pickle.loads(pickle.dumps(a)); b.update(b'x'); b",
    "pickle with a function that has no name": "pickle.dumps(MinHash(4, hashfunc=lambda data: 1))",
    "a class of the user's own": (
        "class Mine(MinHash): pass\n"
        "m = Mine(num_perm=4); m.update(b'a'); type(m).__name__; isinstance(m, MinHash); "
        "m.jaccard(sketch('a', num_perm=4))\n"
        "m == sketch('a', num_perm=4); type(Mine.union(m, m)).__name__"
    ),
}

BULK = {
    **{
        f"{how}, {scheme}": (
            f"found = list(MinHash.{how}([[b'a', b'b'], [b'c'], []], num_perm=8, seed=2, scheme={scheme!r})); found\n"
            "found[0].update(b'x'); found"
        )
        for how in ("bulk", "generator")
        for scheme in SCHEMES
    },
    "bulk is a list": "type(MinHash.bulk([])).__name__; MinHash.bulk([])",
    "bulk of 300": "MinHash.bulk([[str(n * m).encode() for m in range(n % 40)] for n in range(300)], num_perm=16)",
    "bulk of sets and generators": "MinHash.bulk([{b'a'}, (x for x in (b'b', b'c')), (b'd',)], num_perm=4)",
    "bulk of a generator": "MinHash.bulk(([b'a', bytes([n])] for n in range(5)), num_perm=4)",
    "bulk of what it cannot hash": "MinHash.bulk([[b'a'], ['b']], num_perm=4)",
    "bulk of numbers": "MinHash.bulk([1, 2], num_perm=4)",
    "bulk of nothing": "MinHash.bulk()",
    "bulk of None": "MinHash.bulk(None)",
    "bulk with a wrong argument": "MinHash.bulk([[b'a']], colour=3)",
    "bulk with num_perm 0": "MinHash.bulk([[b'a']], num_perm=0)",
    "bulk of nothing with num_perm 0": "MinHash.bulk([], num_perm=0)",
    "bulk keeps the hashfunc": "m = MinHash.bulk([[b'a']], num_perm=4, hashfunc=half)[0]; m.update(b'b'); m",
    "generator is lazy": (
        "seen = []; g = MinHash.generator((seen.append(n) or [b'a'] for n in range(3)), num_perm=4)\n"
        "len(seen); next(g); len(seen) >= 1; len(list(g)); next(g, 'end')"
    ),
    "generator with num_perm 0": "g = MinHash.generator([[b'a']], num_perm=0); next(g)",
}

LEAN = {
    **{
        f"from a sketch, {scheme}": (
            f"a = sketch('a b', num_perm=8, seed=3, scheme={scheme!r}); b = LeanMinHash(a); b; "
            "a.update(b'c'); b; b.scheme; len(b)"
        )
        for scheme in SCHEMES
    },
    "from a lean one": "LeanMinHash(lean('a', num_perm=4))",
    "from values": "LeanMinHash(seed=3, hashvalues=[1, 2, 3], scheme='affine32')",
    "by place": "LeanMinHash(None, 3, [1, 2, 3], 'legacy')",
    "scheme repeated": "LeanMinHash(sketch('a', num_perm=4), scheme='affine32')",
    "scheme contradicted": "LeanMinHash(sketch('a', num_perm=4), scheme='legacy')",
    **{
        f"without {what}": f"LeanMinHash({arguments})"
        for what, arguments in {
            "anything": "",
            "a seed": "hashvalues=[1], scheme='affine32'",
            "values": "seed=1, scheme='affine32'",
            "a scheme": "seed=1, hashvalues=[1]",
            "a known scheme": "seed=1, hashvalues=[1], scheme='nope'",
            "any values": "seed=1, hashvalues=[], scheme='affine32'",
            "any values, legacy": "seed=1, hashvalues=[], scheme='legacy'",
            "a sketch": "'abc'",
        }.items()
    },
    "values out of range": "LeanMinHash(seed=1, hashvalues=[2**32], scheme='affine32')",
    "values negative": "LeanMinHash(seed=1, hashvalues=[-1], scheme='affine64')",
    "no update": "lean('a', num_perm=4).update(b'a')",
    "no update_batch": "lean('a', num_perm=4).update_batch([b'a'])",
    "no update_batch of nothing": "m = lean('a', num_perm=4); m.update_batch([]); m",
    "no bulk": "LeanMinHash.bulk([[b'a']])",
    "no generator": "list(LeanMinHash.generator([[b'a']]))",
    "inherited": (
        "a, b = lean('a b', num_perm=16), lean('b c', num_perm=16)\n"
        "a.jaccard(b); a.count(); a.is_empty(); a.digest(); len(a); isinstance(a, MinHash)\n"
        "a.merge(b); a; a.clear(); a.is_empty()"
    ),
    "jaccard with a full one": "lean('a b', num_perm=16).jaccard(sketch('b c', num_perm=16))",
    "merge of a full one": "a = lean('a b', num_perm=16); a.merge(sketch('b c', num_perm=16)); a",
    "merge of another seed": "lean('a', num_perm=4).merge(lean('a', num_perm=4, seed=2))",
    "copy": "a = lean('a', num_perm=4); b = a.copy(); b; b.merge(lean('b', num_perm=4)); a; "
    "copy.copy(a); copy.deepcopy(a)",
    "equality and hash": (
        "a, b = lean('a', num_perm=4), lean('a', num_perm=4); a == b; hash(a) == hash(b); len({a, b}); a != b\n"
        "a == lean('a', num_perm=4, seed=2); a == sketch('a', num_perm=4); a == 'a'; len({a, lean('b', num_perm=4)})"
    ),
    "union": (
        "LeanMinHash.union(lean('a', num_perm=8), lean('b', num_perm=8)); "
        "LeanMinHash.union(*[lean('a', num_perm=8)] * 3)"
    ),
    "union of one": "LeanMinHash.union(lean('a'))",
    "union of seeds": "LeanMinHash.union(lean('a', num_perm=4), lean('a', num_perm=4, seed=2))",
    "union of lengths": "LeanMinHash.union(lean('a', num_perm=4), lean('a', num_perm=5))",
    "union of schemes": "LeanMinHash.union(lean('a', num_perm=4), lean('a', num_perm=4, scheme='legacy'))",
    "union of full ones": "LeanMinHash.union(sketch('a', num_perm=8), lean('b', num_perm=8))",
    "an attribute of its own": "a = lean('a', num_perm=4); a.note = 1; a.note",
    "no permutations": "lean('a', num_perm=4).permutations",
    "no hashfunc": "lean('a', num_perm=4).hashfunc",
    "no num_perm": "lean('a', num_perm=4).num_perm",
}

BYTES = {
    **{
        f"{scheme}, byte order {order}, {k} slots": (
            f"a = lean('a b c', num_perm={k}, seed={seed}, scheme={scheme!r}); a.bytesize({order!r})\n"
            f"data = bytearray(a.bytesize({order!r}) + 3); a.serialize(data, {order!r}); data\n"
            f"b = LeanMinHash.deserialize(data, {order!r}); b; b == a; "
            f"LeanMinHash.deserialize(bytes(data), {order!r})\n"
            f"LeanMinHash.deserialize(memoryview(data), {order!r})"
        )
        for scheme in SCHEMES
        for order in ("@", "=", "<", ">", "!")
        for k, seed in ((1, 1), (7, 2**32 - 1), (8, 0))
    },
    "the usual byte order": "a = lean('a', num_perm=4); d = bytearray(a.bytesize()); a.serialize(d); d; "
    "LeanMinHash.deserialize(d)",
    "written to a view": (
        "a = lean('a', num_perm=4); d = bytearray(100); a.serialize(memoryview(d)[10:90]); d; "
        "LeanMinHash.deserialize(memoryview(d)[10:])"
    ),
    "written to an array": "a = lean('a', num_perm=4); d = np.zeros(64, np.uint8); a.serialize(d); d; "
    "LeanMinHash.deserialize(d)",
    "returns nothing": "lean('a', num_perm=1).serialize(bytearray(50))",
    "no room": "lean('a', num_perm=4).serialize(bytearray(10))",
    "no room at all": "lean('a', num_perm=4).serialize(bytearray())",
    "read-only": "lean('a', num_perm=4).serialize(bytes(100))",
    "not a buffer": "lean('a', num_perm=4).serialize(5)",
    "text for a buffer": "lean('a', num_perm=4).serialize('x' * 100)",
    "unknown byte order": "lean('a', num_perm=4).bytesize('?')",
    "unknown byte order, written": "lean('a', num_perm=4).serialize(bytearray(100), '?')",
    "unknown byte order, read": "LeanMinHash.deserialize(bytes(100), '?')",
    "seed of 63 bits": (
        "a = LeanMinHash(seed=2**63 - 1, hashvalues=[1], scheme='affine32'); d = bytearray(99); a.serialize(d); d"
    ),
    "seed of 64 bits": "LeanMinHash(seed=2**64 - 1, hashvalues=[1], scheme='affine32').serialize(bytearray(99))",
    "seed negative": "a = LeanMinHash(seed=-5, hashvalues=[1], scheme='affine32'); d = bytearray(99); "
    "a.serialize(d); LeanMinHash.deserialize(d)",
    **{
        f"read {what}": f"LeanMinHash.deserialize({data})"
        for what, data in {
            "nothing": "b''",
            "too little": "bytes(11)",
            "an unknown scheme": "struct.pack('@qiBI', 1, -1, 9, 5)",
            "fewer slots than told": "struct.pack('@qiB2I', 1, -3, 1, 5, 6)",
            "fewer slots than told, legacy": "struct.pack('@qi2I', 1, 3, 5, 6)",
            "no slots, legacy": "struct.pack('@qi', 1, 0)",
            "legacy": "struct.pack('@qi3I', 1, 3, 5, 6, 7)",
            "more than told": "struct.pack('@qi3I', 1, 2, 5, 6, 7)",
            "the least number": "struct.pack('@qiBI', 1, -2**31, 1, 5)",
            "text": "'abc'",
            "a number": "5",
            "None": "None",
        }.items()
    },
    **{
        f"pickle, {scheme}": (
            f"a = lean('a b', num_perm=5, scheme={scheme!r}); pickle.loads(pickle.dumps(a)) == a\n"
            "pickle.loads(pickle.dumps(a)); copy.copy(a) == a"
        )
        for scheme in SCHEMES
    },
    **{
        f"state, {scheme}": (
            f"a = lean('a b', num_perm=5, scheme={scheme!r}); a.__getstate__()\n"
            "b = LeanMinHash.__new__(LeanMinHash); b.__setstate__(a.__getstate__()); b == a; b"
        )
        for scheme in SCHEMES
    },
    "state of an unknown scheme": "LeanMinHash.__new__(LeanMinHash).__setstate__(struct.pack('@qiBI', 1, -1, 9, 5))",
    "state cut short": "LeanMinHash.__new__(LeanMinHash).__setstate__(b'123')",
}

B_BIT = {
    **{
        f"{b} bits, {scheme}": (
            f"a = bBitMinHash(sketch(count(0, 60), num_perm=70, scheme={scheme!r}), {b}); a; "
            "a.bytesize(); a.__getstate__()\n"
            f"c = bBitMinHash(sketch(count(30, 90), num_perm=70, scheme={scheme!r}), {b}); "
            "a.jaccard(c); a.jaccard(a); a == c\n"
            "d = pickle.loads(pickle.dumps(a)); d == a; d"
        )
        for b in (1, 2, 3, 4, 7, 8, 15, 16, 31, 32)
        for scheme in SCHEMES
    },
    **{
        f"r {r} and {other}": (
            f"a = bBitMinHash(sketch(count(0, 60)), 2, {r}); "
            f"b = bBitMinHash(sketch(count(30, 90)), 2, {other}); a.jaccard(b); a == b"
        )
        for r, other in ((0.0, 0.0), (0.1, 0.0), (0.1, 0.2), (0.5, 0.5), (1.0, 1.0), (1, 0))
    },
    "the usual": "a = bBitMinHash(sketch('a b')); a.b; a.r; a.seed; a.scheme",
    "by name": "bBitMinHash(minhash=sketch('a', num_perm=4), b=2, r=0.1)",
    "of a lean one": "bBitMinHash(lean('a b', num_perm=8), 4)",
    "of itself": "bBitMinHash(bBitMinHash(sketch('a', num_perm=8), 8), 4)",
    **{
        f"b {b}": f"bBitMinHash(sketch('a', num_perm=4), {b})"
        for b in ("-1", "33", "'x'", "None", "2.0", "2.7", "'4'", "True", "float('nan')")
    },
    "b 0": "bBitMinHash(sketch('a', num_perm=4), 0)",
    "b 0, compared": "a = bBitMinHash(sketch('a', num_perm=4), 0); a.jaccard(a)",
    "b 0, size": "bBitMinHash(sketch('a', num_perm=4), 0).bytesize()",
    **{
        f"r {r}": f"bBitMinHash(sketch('a', num_perm=4), 2, {r}).r"
        for r in ("1.1", "'x'", "None", "1", "'0.5'", "-0.1", "float('nan')")
    },
    "of text": "bBitMinHash('abc')",
    "of None": "bBitMinHash(None)",
    "of a weighted one": "bBitMinHash(WeightedMinHash(1, np.zeros((4, 2), int)))",
    **{
        f"jaccard of {what}": f"bBitMinHash(sketch('a', num_perm=8), 2).jaccard({other})"
        for what, other in {
            "other bits": "bBitMinHash(sketch('a', num_perm=8), 3)",
            "another scheme": "bBitMinHash(sketch('a', num_perm=8, scheme='legacy'), 2)",
            "another seed": "bBitMinHash(sketch('a', num_perm=8, seed=2), 2)",
            "another length": "bBitMinHash(sketch('a', num_perm=9), 2)",
            "a full sketch": "sketch('a', num_perm=8)",
            "text": "'a'",
            "None": "None",
        }.items()
    },
    "jaccard of two empty": "a = bBitMinHash(MinHash(8), 2); a.jaccard(bBitMinHash(MinHash(8), 2))",
    "jaccard of nothing alike": (
        "a, b = sketch('a', num_perm=64), sketch('b', num_perm=64); bBitMinHash(a, 1).jaccard(bBitMinHash(b, 1))"
    ),
    "equality": (
        "a = bBitMinHash(sketch('a', num_perm=8), 2); a == bBitMinHash(sketch('a', num_perm=8), 2); a != 'a'\n"
        "a == bBitMinHash(sketch('a', num_perm=8), 2, 0.1); a == bBitMinHash(sketch('a', num_perm=9), 2); a == None"
    ),
    "no hash": "hash(bBitMinHash(sketch('a', num_perm=8)))",
    "copy": "a = bBitMinHash(sketch('a', num_perm=8)); copy.copy(a) == a; copy.deepcopy(a)",
    "a state of an unknown scheme": (
        "bBitMinHash.__new__(bBitMinHash).__setstate__(struct.pack('<qBdiBQ', 1, 1, 0.0, -1, 9, 0))"
    ),
    "a state cut short": "bBitMinHash.__new__(bBitMinHash).__setstate__(b'123')",
    "a legacy state": "a = bBitMinHash.__new__(bBitMinHash); "
    "a.__setstate__(struct.pack('<qBdiQ', 1, 4, 0.25, 3, 0x123 << 52)); a",
}

CASES = {
    "hash functions": HASHES,
    "MinHash()": NEW,
    "MinHash(hashvalues)": FROM_VALUES,
    "MinHash.update": UPDATE,
    "MinHash(hashfunc)": HASHFUNC,
    "MinHash compared": COMPARE,
    "MinHash copied": COPIES,
    "MinHash.bulk": BULK,
    "LeanMinHash": LEAN,
    "LeanMinHash bytes": BYTES,
    "bBitMinHash": B_BIT,
}

"""Calls of HyperLogLog and HyperLogLogPlusPlus."""

from __future__ import annotations

KINDS = ("HyperLogLog", "HyperLogLogPlusPlus")

CASES = {
    kind: {
        "no arguments": f"h = {kind}(); h; h.p; h.m; len(h); h.alpha; h.max_rank; h.hashfunc(b'a')",
        **{
            f"p {p}": f"h = {kind}({p}); len(h); float(h.alpha); h.max_rank; h.count(); h.is_empty()"
            for p in ("4", "5", "6", "7", "12", "16", "3", "17", "0", "-1", "'8'", "8.0", "None", "True", "np.int64(8)")
        },
        **{
            f"reg {what}": f"h = {kind}(reg={reg}); h; len(h); h.p"
            for what, reg in {
                "zeros": "np.zeros(16, np.int8)",
                "of 64 bits": "np.arange(16)",
                "a list": "[0] * 16",
                "no power of two": "np.zeros(17, np.int8)",
                "too few": "np.zeros(8, np.int8)",
                "none": "np.zeros(0, np.int8)",
                "too many": "np.zeros(1 << 17, np.int8)",
                "two dimensions": "np.zeros((4, 4), np.int8)",
            }.items()
        },
        "reg negative": f"{kind}(reg=np.full(16, -1, np.int8))",
        "reg of impossible ranks": f"{kind}(reg=np.full(16, 100, np.int8))",
        "p is ignored with reg": f"{kind}(12, reg=np.zeros(16, np.int8)).p",
        "hashobj warns": f"{kind}(hashobj=1)",
        **{f"hashfunc {f}": f"{kind}(4, hashfunc={f})" for f in ("1", "None", "'a'")},
        "all by place": f"h = {kind}(4, None, half); h.update(b'abc'); h",
        **{
            f"update, p {p}, {n} words": f"h = counter(count(0, {n}), {kind!r}, p={p}); h; h.count()"
            for p, n in (
                (4, 1),
                (4, 9),
                (4, 30),
                (4, 500),
                (5, 60),
                (6, 200),
                (8, 100),
                (8, 700),
                (8, 2000),
                (12, 3000),
            )
        },
        "count of nothing": f"{kind}().count()",
        **{
            f"update({what})": f"h = {kind}(4); h.update({what}); h"
            for what in ("''", "'text'", "1", "None", "bytearray(b'a')", "memoryview(b'ab')", "b''")
        },
        **{
            f"hash value {value}": f"h = {kind}(4, hashfunc=number); h.update({value}); h"
            for value in ("0", "1", "15", "16", "2**32 - 1", "2**32", "2**63", "2**64 - 1", "2**64", "-1", "True")
        },
        **{
            f"hash value {value} ({what})": f"h = {kind}(4, hashfunc=number); h.update({value})"
            for what, value in {"text": "'7'", "float": "1.5", "nothing": "None", "bytes": "b'7'"}.items()
        },
        "hash value of numpy": f"h = {kind}(4, hashfunc=number); h.update(np.uint32(77)); h",
        "a refused value changes nothing": f"h = {kind}(4, hashfunc=number); attempt(h.update, 2**70 + 3); h",
        "a hashfunc that raises": f"{kind}(4, hashfunc=lambda data: 1 // 0).update(b'a')",
        "count, all registers full": f"{kind}(reg=np.full(16, 20, np.int8)).count()",
        "count, some registers full": f"{kind}(reg=np.array([27, 0] * 8, np.int8)).count()",
        "count, nearly all values seen": f"{kind}(reg=np.full(16, 28, np.int8)).count()",
        **{
            f"count, registers of {rank} and less": (
                f"{kind}(reg=(np.arange({m}) % {rank} + 1).astype(np.int8)).count()\n"
                f"{kind}(reg=(np.arange({m}) % {rank}).astype(np.int8)).count()"
            )
            for rank in (1, 2, 3, 4, 9, 20)
            for m in (16, 1024)
        },
        **{
            f"count, p {p}, {shift} further": (
                f"reg = np.random.RandomState({p}).geometric(.5, {1 << p}) + {shift}\n"
                f"{kind}(reg=reg.clip(0, {33 - p}).astype(np.int8)).count()"
            )
            for p in (4, 7, 10, 14, 16)
            for shift in (-2, -1, 0, 1, 4)
        },
        "merge": f"a, b = counter(count(0, 90), {kind!r}), counter(count(50, 150), {kind!r}); a.merge(b); "
        "a; b; a.count(); a == b",
        "merge with itself": f"a = counter('a b', {kind!r}); a.merge(a); a",
        **{
            f"merge of {what}": f"{kind}(4).merge({other})"
            for what, other in {
                "another p": f"{kind}(5)",
                "text": "'a'",
                "None": "None",
                "a MinHash": "MinHash(16)",
            }.items()
        },
        "merge of another hashfunc": f"a = {kind}(4); b = counter('a', {kind!r}, p=4, hashfunc=half); a.merge(b); a",
        "union": f"{kind}.union(counter('a b', {kind!r}), counter('c', {kind!r}), counter('d', {kind!r})); "
        f"counter('a b c d', {kind!r})",
        "union keeps the hashfunc": f"h = {kind}.union(*[{kind}(4, hashfunc=half)] * 2); h.hashfunc(b'abc')",
        "union of one": f"{kind}.union({kind}(4))",
        "union of nothing": f"{kind}.union()",
        "union of other p": f"{kind}.union({kind}(4), {kind}(5))",
        "union of texts": f"{kind}.union('a', 'b')",
        "digest": f"h = counter('a', {kind!r}, p=4); d = h.digest(); d; d[:] = 9; h",
        "copy": f"h = counter('a', {kind!r}, p=4); c = h.copy(); c == h; c.update(b'b'); h; c; type(c).__name__",
        "copy keeps the hashfunc": f"h = {kind}(4, hashfunc=half).copy(); h.hashfunc(b'abc')",
        "copy.copy and deepcopy": f"h = counter('a', {kind!r}, p=4); copy.copy(h) == h; d = copy.deepcopy(h); "
        "d.update(b'b'); h; d",
        "deepcopy keeps the hashfunc": f"copy.deepcopy({kind}(4, hashfunc=half)).hashfunc(b'abc')",
        "is_empty and clear": f"h = counter('a', {kind!r}, p=4); h.is_empty(); h.clear(); h.is_empty(); h; "
        f"h == {kind}(4)",
        "equality": (
            f"h = counter('a b', {kind!r}); h == counter('b a', {kind!r}); h == {kind}(); "
            f"h == {kind}(5); h != 'a'; h == None\n"
            "HyperLogLog(4) == HyperLogLogPlusPlus(4)"
        ),
        "equality of other hashfuncs": f"{kind}(4) == {kind}(4, hashfunc=half)",
        "no hash": f"hash({kind}(4))",
        "registers set": f"h = {kind}(4); h.reg = np.arange(16, dtype=np.int8); h; h.count(); h.update(b'a'); h",
        "registers written to": f"h = {kind}(4); h.reg[3] = 5; h; h.is_empty()",
        "serialize": (
            f"h = counter(count(0, 99), {kind!r}, p=5); h.bytesize(); "
            "d = bytearray(h.bytesize() + 3); h.serialize(d); d\n"
            f"{kind}.deserialize(d) == h; {kind}.deserialize(bytes(d)); "
            f"{kind}.deserialize(memoryview(d)); type({kind}.deserialize(d)).__name__"
        ),
        "serialize to a view": f"h = counter('a', {kind!r}, p=4); d = bytearray(40); h.serialize(memoryview(d)[9:]); d",
        "serialize, no room": f"{kind}(4).serialize(bytearray(16))",
        "serialize, read-only": f"{kind}(4).serialize(bytes(17))",
        "serialize, no buffer": f"{kind}(4).serialize(5)",
        **{
            f"deserialize {what}": f"{kind}.deserialize({data})"
            for what, data in {
                "nothing": "b''",
                "too little": "bytes([4, 1, 2])",
                "p 3": "bytes([3] + [0] * 8)",
                "p 17": "bytes([17] + [0] * 8)",
                "more than told": "bytes([4] + [1] * 99)",
                "text": "'abc'",
                "a number": "5",
                "None": "None",
            }.items()
        },
        "deserialize impossible ranks": f"{kind}.deserialize(bytes([4] + [127] * 16))",
        "deserialize ranks above 127": f"{kind}.deserialize(bytes([4] + [200] * 16))",
        "pickle": (
            f"h = counter('a b c', {kind!r}, p=6); c = pickle.loads(pickle.dumps(h)); c == h; c; "
            "type(c).__name__\n"
            "h.update(b'd'); c.update(b'd'); c == h"
        ),
        "pickle with a hashfunc": f"h = pickle.loads(pickle.dumps({kind}(4, hashfunc=half))); h.hashfunc(b'abc')",
        "an old state": f"h = {kind}.__new__({kind}); h.__setstate__(bytearray([4] + list(range(16)))); h; "
        "h.hashfunc(b'a')",
        "a state cut short": f"{kind}.__new__({kind}).__setstate__(b'')",
        "an attribute of its own": f"h = {kind}(4); h.p; len(h.reg)",
    }
    for kind in KINDS
} | {
    "both HyperLogLog": {
        "merge of the plain one": "a = HyperLogLogPlusPlus(4); a.merge(HyperLogLog(4)); a",
        "merge of the other": "a = HyperLogLog(4); a.merge(HyperLogLogPlusPlus(4)); a",
        "union of both": "HyperLogLog.union(HyperLogLog(4), HyperLogLogPlusPlus(4))",
        "one is the other": "isinstance(HyperLogLogPlusPlus(), HyperLogLog)",
    }
}

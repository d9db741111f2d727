"""Calls of HyperLogLog and HyperLogLogPlusPlus. `kind` is one of them."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np

from tests.datasketch.conformance.kit import attempt, each, given, half, number

P = (4, 5, 6, 7, 12, 16, 3, 17, 0, -1, "8", 8.0, None, True, np.int64(8))
REGISTERS = {
    "zeros": np.zeros(16, np.int8),
    "of 64 bits": np.arange(16),
    "a list": [0] * 16,
    "no power of two": np.zeros(17, np.int8),
    "too few": np.zeros(8, np.int8),
    "none": np.zeros(0, np.int8),
    "too many": np.zeros(1 << 17, np.int8),
    "two dimensions": np.zeros((4, 4), np.int8),
    "negative": np.full(16, -1, np.int8),
    "of impossible ranks": np.full(16, 100, np.int8),
}
FULL = {
    "all registers full": np.full(16, 20, np.int8),
    "some registers full": np.array([27, 0] * 8, np.int8),
    "nearly all values seen": np.full(16, 28, np.int8),
}
WORDS = (
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
TOKENS = ("", "text", 1, None, bytearray(b"a"), b"")
HASHES = (0, 1, 15, 16, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, -1, True)
WRONG_HASHES = {"text": "7", "float": 1.5, "nothing": None, "bytes": b"7"}
SERIALIZED = {
    "nothing": b"",
    "too little": bytes([4, 1, 2]),
    "p 3": bytes([3] + [0] * 8),
    "p 17": bytes([17] + [0] * 8),
    "more than told": bytes([4] + [1] * 99),
    "text": "abc",
    "a number": 5,
    "None": None,
    "impossible ranks": bytes([4] + [127] * 16),
    "ranks above 127": bytes([4] + [200] * 16),
}


def counter(kind, words, p=8, **options):
    """Return a counter of words, or of numbers as words."""
    made = kind(p, **options)
    for word in words.split() if isinstance(words, str) else map(str, words):
        made.update(word.encode())
    return made


def ranks(p, shift):
    """Return random registers of a large set, or of a small one."""
    return (
        (np.random.RandomState(p).geometric(0.5, 1 << p) + shift)
        .clip(0, 33 - p)
        .astype(np.int8)
    )


CALLS = {
    **each("p {!r}", P)(
        lambda kind, p: (
            h := kind(p),
            len(h),
            float(h.alpha),
            h.max_rank,
            h.count(),
            h.is_empty(),
        )
    ),
    **each("reg {}", REGISTERS)(
        lambda kind, reg: (h := kind(reg=reg.copy()), len(h), h.p)
    ),
    "p is ignored with reg": lambda kind: kind(12, reg=np.zeros(16, np.int8)).p,
    "hashobj warns": lambda kind: kind(hashobj=1),
    **each("hashfunc {!r}", (1, None, "a"))(
        lambda kind, function: kind(4, hashfunc=function)
    ),
    **each("update, p {0[0]}, {0[1]} words", WORDS)(
        lambda kind, words: (h := counter(kind, range(words[1]), words[0]), h.count())
    ),
    "count of nothing": lambda kind: kind().count(),
    **each("update({!r})", TOKENS)(lambda kind, token: (h := kind(4), h.update(token))),
    "update(a view)": lambda kind: (h := kind(4), h.update(memoryview(b"ab"))),
    **each("hash value {!r}", HASHES)(
        lambda kind, value: (h := kind(4, hashfunc=number), h.update(value))
    ),
    **each("hash value, {}", WRONG_HASHES)(
        lambda kind, value: kind(4, hashfunc=number).update(value)
    ),
    "hash value of numpy": lambda kind: (
        h := kind(4, hashfunc=number),
        h.update(np.uint32(77)),
    ),
    "a refused value changes nothing": lambda kind: (
        h := kind(4, hashfunc=number),
        attempt(h.update, 2**70 + 3),
    ),
    "a hashfunc that raises": lambda kind: kind(4, hashfunc=lambda data: 1 // 0).update(
        b"a"
    ),
    **each("count, {}", FULL)(lambda kind, reg: kind(reg=reg).count()),
    **each("count, registers of {} and less, {}", (1, 2, 3, 4, 9, 20), (16, 1024))(
        lambda kind, rank, m: [
            kind(reg=(np.arange(m) % rank + least).astype(np.int8)).count()
            for least in (1, 0)
        ]
    ),
    **each("count, p {}, {} further", (4, 7, 10, 14, 16), (-2, -1, 0, 1, 4))(
        lambda kind, p, shift: kind(reg=ranks(p, shift)).count()
    ),
    "merge with itself": lambda kind: (a := counter(kind, "a b"), a.merge(a)),
    "merge of another hashfunc": lambda kind: (
        a := kind(4),
        a.merge(counter(kind, "a", 4, hashfunc=half)),
    ),
    "merge of another p": lambda kind: kind(4).merge(kind(5)),
    **each("merge of {}", {"text": "a", "None": None})(
        lambda kind, other: kind(4).merge(other)
    ),
    "union": lambda kind: (
        kind.union(*(counter(kind, word) for word in ("a b", "c", "d"))),
        counter(kind, "a b c d"),
    ),
    "union keeps the hashfunc": lambda kind: kind.union(
        *[kind(4, hashfunc=half)] * 2
    ).hashfunc(b"abc"),
    "union of one": lambda kind: kind.union(kind(4)),
    "union of nothing": lambda kind: kind.union(),
    "union of other p": lambda kind: kind.union(kind(4), kind(5)),
    "union of texts": lambda kind: kind.union("a", "b"),
    "copy keeps the hashfunc": lambda kind: (
        kind(4, hashfunc=half).copy().hashfunc(b"abc")
    ),
    "deepcopy keeps the hashfunc": lambda kind: copy.deepcopy(
        kind(4, hashfunc=half)
    ).hashfunc(b"abc"),
    "equality of other hashfuncs": lambda kind: kind(4) == kind(4, hashfunc=half),
    "no hash": lambda kind: hash(kind(4)),
    "serialize, no room": lambda kind: kind(4).serialize(bytearray(16)),
    "serialize, read-only": lambda kind: kind(4).serialize(bytes(17)),
    "serialize, no buffer": lambda kind: kind(4).serialize(5),
    **each("deserialize {}", SERIALIZED)(lambda kind, data: kind.deserialize(data)),
    "pickle with a hashfunc": lambda kind: pickle.loads(
        pickle.dumps(kind(4, hashfunc=half))
    ).hashfunc(b"abc"),
    "a state cut short": lambda kind: kind.__new__(kind).__setstate__(b""),
}


class Counters:
    def no_arguments(kind):
        h = kind()
        return h, h.p, h.m, len(h), h.alpha, h.max_rank, h.hashfunc(b"a"), len(h.reg)

    def all_by_place(kind):
        h = kind(4, None, half)
        return h.update(b"abc"), h

    def merge(kind):
        a, b = counter(kind, range(90)), counter(kind, range(50, 150))
        return a.merge(b), a, b, a.count(), a == b

    def digest(kind):
        h = counter(kind, "a", 4)
        d = h.digest()
        yield d
        d[:] = 9
        yield h

    def copies(kind):
        h = counter(kind, "a", 4)
        c, d = h.copy(), copy.deepcopy(h)
        return (
            c == h,
            copy.copy(h) == h,
            c.update(b"b"),
            d.update(b"b"),
            h,
            c,
            d,
            type(c).__name__,
        )

    def is_empty_and_clear(kind):
        h = counter(kind, "a", 4)
        return h.is_empty(), h.clear(), h.is_empty(), h, h == kind(4)

    def equality(kind):
        h = counter(kind, "a b")
        return h == counter(kind, "b a"), h == kind(), h == kind(5), h != "a", h == None  # noqa: E711

    def registers_set(kind):
        h = kind(4)
        h.reg = np.arange(16, dtype=np.int8)
        yield h, h.count()
        yield h.update(b"a"), h

    def registers_written_to(kind):
        h = kind(4)
        h.reg[3] = 5
        return h, h.is_empty()

    def serialize(kind):
        h = counter(kind, range(99), 5)
        d = bytearray(h.bytesize() + 3)
        yield (
            h.bytesize(),
            h.serialize(d),
            d,
            kind.deserialize(d) == h,
            kind.deserialize(bytes(d)),
        )
        yield kind.deserialize(memoryview(d)), type(kind.deserialize(d)).__name__

    def serialize_to_a_view(kind):
        h, d = counter(kind, "a", 4), bytearray(40)
        return h.serialize(memoryview(d)[9:]), d

    def pickle(kind):
        h = counter(kind, "a b c", 6)
        c = pickle.loads(pickle.dumps(h))
        yield c == h, c, type(c).__name__
        yield h.update(b"d"), c.update(b"d"), c == h

    def an_old_state(kind):
        h = kind.__new__(kind)
        return h.__setstate__(bytearray([4, *range(16)])), h, h.hashfunc(b"a")


def merge_of_a_minhash(name):
    return lambda ds: getattr(ds, name)(4).merge(ds.MinHash(16))


BOTH = {
    "merge of the plain one": lambda ds: (
        a := ds.HyperLogLogPlusPlus(4),
        a.merge(ds.HyperLogLog(4)),
    ),
    "merge of the other": lambda ds: (
        a := ds.HyperLogLog(4),
        a.merge(ds.HyperLogLogPlusPlus(4)),
    ),
    "union of both": lambda ds: ds.HyperLogLog.union(
        ds.HyperLogLog(4), ds.HyperLogLogPlusPlus(4)
    ),
    "one is the other": lambda ds: isinstance(ds.HyperLogLogPlusPlus(), ds.HyperLogLog),
    "equality": lambda ds: ds.HyperLogLog(4) == ds.HyperLogLogPlusPlus(4),
}
GROUPS = {
    **{
        name: (
            given(named)(CALLS),
            given(named)(Counters),
            {"merge of a MinHash": merge_of_a_minhash(name)},
        )
        for name in ("HyperLogLog", "HyperLogLogPlusPlus")
        for named in (operator.attrgetter(name),)
    },
    "both HyperLogLog": (BOTH,),
}

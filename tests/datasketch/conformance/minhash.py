"""Calls of MinHash, LeanMinHash, bBitMinHash and the two hash functions."""

from __future__ import annotations

import copy
import pickle
import struct

import numpy as np

from tests.datasketch.conformance.kit import attempt, each, half, number

SCHEMES = ("affine32", "affine64", "legacy")
NAN = float("nan")
NAMELESS = [lambda data: 1]
DATA = {
    "b''": b"",
    "b'a'": b"a",
    "a bytearray": bytearray(b"abc"),
    "a view": memoryview(b"abc"),
    "1000 bytes": bytes(1000),
    "text": "text",
    "1": 1,
    "None": None,
}
VALUES = {
    "a list": [1, 2, 3],
    "a tuple": (1, 2**32 - 1),
    "an array of int64": np.array([5, 6, 7]),
    "an array of uint32": np.array([5, 6, 7], np.uint32),
    "nothing": [],
    "above 32 bits": [2**32],
    "above 32 bits, in an array": np.array([2**32, 1], np.uint64),
    "above 64 bits": [2**64],
    "a negative": [-1],
    "a negative in an array": np.array([-1, 2]),
    "text": "ab",
    "a number": 7,
    "floats": [1.0, 2.0],
    "an array of floats": np.array([1.0, 2.0]),
    "nan": [NAN],
}
BATCHES = {
    "[]": lambda: [],
    "iter([])": lambda: iter([]),
    "a tuple": lambda: (b"a", b"b"),
    "a set": lambda: {b"a", b"b"},
    "a dict": lambda: {b"a": 1, b"b": 2},
    "a generator": lambda: (bytes([n]) for n in range(9)),
    "an array": lambda: np.array([b"ab", b"c"]),
    "buffers": lambda: [bytearray(b"a"), memoryview(b"b"), b"c"],
    "texts": lambda: ["a", "b"],
    "'ab'": lambda: "ab",
    "b'ab'": lambda: b"ab",
    "[1]": lambda: [1],
    "[None]": lambda: [None],
    "None": lambda: None,
    "5": lambda: 5,
}
WRONG_HASHES = {"33 bits": 2**32, "65 bits": 2**64, "-1": -1, "text": "7", "None": None}
HASHES = {
    "0": 0,
    "32 bits": 2**32 - 1,
    "64 bits": 2**64 - 1,
    "a numpy integer": np.uint32(7),
    "a numpy integer of 64 bits": np.uint64(7),
    "True": True,
    "bytes": b"7",
    **WRONG_HASHES,
}
OTHERS = {
    "another seed": lambda ds: ds.MinHash(8, 2),
    "another length": lambda ds: ds.MinHash(9),
    "another scheme": lambda ds: ds.MinHash(8, scheme="legacy"),
    "64 bits": lambda ds: ds.MinHash(8, scheme="affine64"),
    "a LeanMinHash": lambda ds: ds.lean("a", 8),
    "a WeightedMinHash": lambda ds: ds.WeightedMinHash(1, np.zeros((8, 2))),
    "text": lambda ds: "abc",
    "None": lambda ds: None,
    "an array": lambda ds: np.zeros(8, np.uint32),
}
UNIONS = {
    "nothing": lambda ds: [],
    "one": lambda ds: [ds.MinHash(8)],
    "seeds": lambda ds: [ds.MinHash(8), ds.MinHash(8, 2)],
    "lengths": lambda ds: [ds.MinHash(8), ds.MinHash(9)],
    "schemes": lambda ds: [ds.MinHash(8), ds.MinHash(8, scheme="affine64")],
    "texts": lambda ds: ["a", "b"],
    "None": lambda ds: [ds.MinHash(8), None],
}
LEAN_WITHOUT = {
    "anything": {},
    "a seed": {"hashvalues": [1], "scheme": "affine32"},
    "values": {"seed": 1, "scheme": "affine32"},
    "a scheme": {"seed": 1, "hashvalues": [1]},
    "a known scheme": {"seed": 1, "hashvalues": [1], "scheme": "nope"},
    "any values": {"seed": 1, "hashvalues": [], "scheme": "affine32"},
    "any values, legacy": {"seed": 1, "hashvalues": [], "scheme": "legacy"},
    "a sketch": {"minhash": "abc"},
}
SERIALIZED = {
    "nothing": b"",
    "too little": bytes(11),
    "an unknown scheme": struct.pack("@qiBI", 1, -1, 9, 5),
    "fewer slots than told": struct.pack("@qiB2I", 1, -3, 1, 5, 6),
    "fewer slots than told, legacy": struct.pack("@qi2I", 1, 3, 5, 6),
    "no slots, legacy": struct.pack("@qi", 1, 0),
    "legacy": struct.pack("@qi3I", 1, 3, 5, 6, 7),
    "more than told": struct.pack("@qi3I", 1, 2, 5, 6, 7),
    "the least number": struct.pack("@qiBI", 1, -(2**31), 1, 5),
    "text": "abc",
    "a number": 5,
    "None": None,
}
OTHER_B_BITS = {
    "other bits": lambda ds: ds.bBitMinHash(ds.sketch("a", 8), 3),
    "another scheme": lambda ds: ds.bBitMinHash(ds.sketch("a", 8, scheme="legacy"), 2),
    "another seed": lambda ds: ds.bBitMinHash(ds.sketch("a", 8, seed=2), 2),
    "another length": lambda ds: ds.bBitMinHash(ds.sketch("a", 9), 2),
    "a full sketch": lambda ds: ds.sketch("a", 8),
    "text": lambda ds: "a",
    "None": lambda ds: None,
}


HASH_FUNCTIONS = each("{} of {}", ("sha1_hash32", "sha1_hash64"), DATA)(
    lambda ds, function, data: getattr(ds, function)(data)
)
NEW = {
    "no arguments": lambda ds: ds.MinHash(),
    "all by place": lambda ds: ds.MinHash(
        16, 2, "disable", half, None, None, None, "affine64"
    ),
    **each("num_perm {!r}", (1, 0, -1, "8", 8.0, 2.5, None, 2**32 + 1, np.int64(8)))(
        lambda ds, n: ds.MinHash(n)
    ),
    "num_perm True": lambda ds: len(ds.MinHash(True)),
    **each(
        "permutations of seed {!r}, {}", (0, 1, 42, 2**32 - 1, np.int64(7)), SCHEMES
    )(lambda ds, seed, scheme: ds.MinHash(9, seed, scheme=scheme).permutations),
    **each("seed {!r}", (-1, 2**32, 1.5, "a", True))(
        lambda ds, seed: ds.MinHash(4, seed)
    ),
    "seed None": lambda ds: ds.MinHash(4, None).seed,
    "seed a list": lambda ds: ds.MinHash(4, [1, 2]).permutations,
    **each("scheme {!r}", ("affine32", "nope", "", 1, b"legacy"))(
        lambda ds, name: ds.MinHash(4, scheme=name)
    ),
    **each("scheme {}", ("classic", "fast"))(
        lambda ds, name: ds.MinHash(4, scheme=name).scheme
    ),
    **each("hashfunc {}", {"1": 1, "sha1": "sha1", "half": half, "hash": hash})(
        lambda ds, function: ds.MinHash(4, hashfunc=function)
    ),
    "hashobj warns": lambda ds: ds.MinHash(4, hashobj=object()),
    "gpu, another word": lambda ds: ds.MinHash(4, gpu_mode="sometimes"),
    "unknown argument": lambda ds: ds.MinHash(4, colour=1),
    "gpu disable and detect": lambda ds: (
        m := ds.MinHash(4, gpu_mode="detect"),
        m.update_batch([b"x"]),
    ),
    "gpu always nothing to do": lambda ds: (
        m := ds.MinHash(4, gpu_mode="always"),
        m.update_batch([]),
    ),
}


class New:
    def its_attributes(ds):
        m = ds.MinHash(8)
        return (
            m.num_perm,
            m.seed,
            m.scheme,
            m.hashfunc(b"a"),
            len(m),
            m.permutations,
            m.hashvalues,
        )

    def gpu_always_without_one(ds):
        m = ds.MinHash(4, gpu_mode="always")
        yield m.update(b"x"), m
        yield m.update_batch([b"x"])


FROM_VALUES = {
    "without a scheme": lambda ds: ds.MinHash(hashvalues=[1, 2, 3]),
    "permutations without a scheme": lambda ds: ds.MinHash(
        4, permutations=ds.MinHash(4).permutations
    ),
    **each("{1}, {0}", SCHEMES, VALUES)(
        lambda ds, scheme, values: ds.MinHash(hashvalues=values, scheme=scheme)
    ),
    "two dimensions": lambda ds: ds.MinHash(
        hashvalues=[[1, 2], [3, 4]], scheme="affine32"
    ),
    "num_perm is ignored": lambda ds: ds.MinHash(
        128, hashvalues=[1, 2], scheme="affine32"
    ),
    "permutations with an even a": lambda ds: ds.MinHash(
        2, permutations=([2, 3], [0, 0]), scheme="affine64"
    ),
    "permutations out of range": lambda ds: ds.MinHash(
        1, permutations=([2**32 + 1], [0]), scheme="affine32"
    ),
    "permutations of one row": lambda ds: ds.MinHash(
        2, permutations=([1, 3],), scheme="affine32"
    ),
    "permutations a number": lambda ds: ds.MinHash(
        2, permutations=3, scheme="affine32"
    ),
}


class FromValues:
    def permutations_of_another_number(ds):
        return ds.MinHash(3, permutations=ds.MinHash(4).permutations, scheme="affine32")

    def permutations_of_64_bits(ds):
        return ds.MinHash(
            1, permutations=([2**40 + 1], [2**63]), scheme="affine64"
        ).permutations

    def values_are_copied(ds):
        a = np.array([1, 2], np.uint32)
        m = ds.MinHash(hashvalues=a, scheme="affine32")
        a[:] = 0
        return m, m.digest()

    def values_and_permutations(ds):
        a = ds.sketch("x y", 8)
        b = ds.MinHash(
            hashvalues=a.hashvalues, permutations=a.permutations, scheme=a.scheme
        )
        return b == a, a.update(b"z"), b.update(b"z"), a == b, b

    def permutations_as_lists(ds):
        m = ds.MinHash(3, permutations=([1, 3, 5], [7, 8, 9]), scheme="affine32")
        return m.update(b"a"), m

    def permutations_legacy(ds):
        a = ds.MinHash(4, scheme="legacy")
        b = ds.MinHash(4, permutations=a.permutations, scheme="legacy")
        return a.update(b"q"), b.update(b"q"), a == b


UPDATE = {
    **each("update_batch({})", BATCHES)(
        lambda ds, tokens: (m := ds.MinHash(4), m.update_batch(tokens()))
    ),
    "update without anything": lambda ds: ds.MinHash(4).update(),
    "a batch that fails changes nothing": lambda ds: (
        m := ds.sketch("x", 8),
        attempt(m.update_batch, [b"a", "b"]),
    ),
}


class Update:
    @each(
        "values, {1}, {0[0]} slots, seed {0[1]}",
        (
            (1, 1, 3),
            (7, 5, 1),
            (16, 1, 40),
            (128, 1, 200),
            (130, 42, 33),
            (256, 0, 500),
        ),
        SCHEMES,
    )
    def values(ds, sizes, scheme):
        k, seed, n = sizes
        return ds.sketch(range(n), k, seed=seed, scheme=scheme)

    @each("one at a time, {}", SCHEMES)
    def one_at_a_time(ds, scheme):
        m, n = ds.MinHash(16, scheme=scheme), ds.MinHash(16, scheme=scheme)
        yield m.update(b"a"), m.update(b""), m.update(b"\xff" * 100), m
        yield n.update_batch([b"\xff" * 100, b"", b"a", b""]), n == m

    @each("long tokens, {}", SCHEMES)
    def long_tokens(ds, scheme):
        m = ds.MinHash(8, scheme=scheme)
        return m.update_batch([bytes([n % 256]) * n for n in range(200)]), m

    @each(
        "update({})",
        {
            "'text'": "text",
            "1": 1,
            "None": None,
            "a bytearray": bytearray(b"a"),
            "a view": memoryview(b"ab"),
            "an array": np.arange(3, dtype=np.uint8),
            "a list": [b"a"],
            "a view with gaps": memoryview(b"abcdef")[::2],
            "an array of 2 dimensions": np.zeros((2, 3), np.uint8),
        },
    )
    def update(ds, token):
        m = ds.MinHash(4)
        return m.update(token), m

    def a_batch_from_an_iterator_that_fails(ds):
        m = ds.sketch("x", 8)
        return attempt(m.update_batch, (b"ab"[: 1 // n] for n in (1, 0))), m

    def values_handed_out_do_not_change(ds):
        m = ds.MinHash(8)
        a = m.hashvalues
        return m.update(b"x"), m.update_batch([b"y"]), a

    def values_set(ds):
        m = ds.MinHash(4)
        m.hashvalues = np.array([1, 2, 3, 4], np.uint32)
        yield m, m.is_empty()
        yield m.update(b"a"), m

    def values_written_to(ds):
        m = ds.MinHash(4)
        m.hashvalues[0] = 0
        yield m, m.is_empty()
        yield m.update(b"a"), m


HASHFUNC = {
    **each("{1}, {0}", SCHEMES, HASHES)(
        lambda ds, scheme, value: (
            m := ds.MinHash(4, hashfunc=number, scheme=scheme),
            m.update(value),
        )
    ),
    **each("a batch with {1}, {0}", SCHEMES, WRONG_HASHES)(
        lambda ds, scheme, value: (
            m := ds.MinHash(4, hashfunc=number, scheme=scheme),
            m.update_batch([1, value]),
        )
    ),
    "a float": lambda ds: (m := ds.MinHash(4, hashfunc=number), m.update(1.5)),
    "it raises": lambda ds: ds.MinHash(4, hashfunc=lambda data: 1 // 0).update(b"a"),
    "in bulk": lambda ds: ds.MinHash.bulk([[1, 2], [3]], num_perm=4, hashfunc=number),
}


class Hashfunc:
    @each("a batch of numbers, {}", SCHEMES)
    def numbers(ds, scheme):
        m, n = (ds.MinHash(8, hashfunc=number, scheme=scheme) for _ in range(2))
        return (
            m.update_batch(range(1000)),
            m,
            [n.update(x) for x in range(1000)],
            m == n,
        )

    def of_16_bits(ds):
        m = ds.MinHash(8, hashfunc=half)
        return m.update_batch([b"a", b"bc", b"def"]), m, m.copy().hashfunc(b"q")

    def it_is_asked_once_a_token_in_order(ds):
        seen = []
        m = ds.MinHash(4, hashfunc=lambda data: seen.append(data) or 1)
        return m.update_batch([b"b", b"a", b"b"]), m.update(b"c"), seen


COMPARED = {
    "jaccard of two empty": lambda ds: ds.MinHash(4).jaccard(ds.MinHash(4)),
    **each("jaccard of {}", OTHERS)(lambda ds, other: ds.MinHash(8).jaccard(other(ds))),
    **each("merge of {}", OTHERS)(lambda ds, other: ds.MinHash(8).merge(other(ds))),
    "jaccard of a b-bit sketch": lambda ds: ds.sketch("a", 8).jaccard(
        ds.bBitMinHash(ds.sketch("a", 8), 32)
    ),
    "merge of a b-bit sketch": lambda ds: ds.sketch("a", 8).merge(
        ds.bBitMinHash(ds.sketch("a", 8), 8)
    ),
    "jaccard of nothing": lambda ds: ds.MinHash(8).jaccard(),
    **each("count, {}", SCHEMES)(
        lambda ds, scheme: (
            ds.sketch(range(900), scheme=scheme).count(),
            ds.sketch("a", 3, scheme=scheme).count(),
        )
    ),
    "count, empty": lambda ds: ds.MinHash(8).count(),
    "count is a float": lambda ds: isinstance(ds.sketch("a b", 8).count(), float),
    **each("union of {}", UNIONS)(lambda ds, others: ds.MinHash.union(*others(ds))),
    "union of lean ones": lambda ds: ds.MinHash.union(
        ds.sketch("a", 8), ds.lean("b", 8)
    ),
    "no hash": lambda ds: hash(ds.MinHash(4)),
    "jaccard with itself empty": lambda ds: (m := ds.MinHash(4), m.jaccard(m)),
    "merge with itself": lambda ds: (a := ds.sketch("a b", 16), a.merge(a)),
    "merge of another hashfunc": lambda ds: (
        a := ds.sketch("a", 4),
        a.merge(ds.sketch("b", 4, hashfunc=half)),
    ),
}


class Compared:
    @each("jaccard, {}", SCHEMES)
    def jaccard(ds, scheme):
        a = ds.sketch(range(90), scheme=scheme)
        b = ds.sketch(range(30, 120), scheme=scheme)
        return (
            a.jaccard(b),
            b.jaccard(a),
            a.jaccard(a),
            a.jaccard(ds.MinHash(scheme=scheme)),
        )

    def merge(ds):
        a, b = ds.sketch("a b", 16), ds.sketch("b c", 16)
        return a.merge(b), a, b, a == ds.sketch("a b c", 16)

    def merge_of_an_empty_one(ds):
        a, b = ds.sketch("a b", 16), ds.MinHash(16)
        return a.merge(ds.MinHash(16)), a, b.merge(a), b == a

    def union(ds):
        return ds.MinHash.union(
            ds.sketch("a", 8), ds.sketch("b", 8), ds.sketch("c", 8)
        ), ds.sketch("a b c", 8)

    def union_keeps_the_hashfunc(ds):
        m = ds.MinHash.union(*[ds.sketch("a", 8, hashfunc=half)] * 2)
        return m.update(b"z"), m

    def equality(ds):
        a = ds.sketch("a b", 8)
        yield (
            a == ds.sketch("b a", 8),
            a != ds.sketch("a b", 8),
            a == ds.sketch("a", 8),
            a == ds.MinHash(9),
        )
        yield (
            ds.MinHash(8) == ds.MinHash(8, 2),
            ds.MinHash(8) == ds.MinHash(8),
            a == ds.lean("a b", 8),
            a == "a",
        )
        yield a == None, a != 1, ds.MinHash(4, scheme="affine64") == ds.MinHash(4)  # noqa: E711


COPIES = {
    "copy": lambda ds: (
        a := ds.sketch("a", 8),
        b := a.copy(),
        b == a,
        b.update(b"x"),
        b.copy().copy() == b,
    ),
    **each("copy.{}", ("copy", "deepcopy"))(
        lambda ds, function: (
            a := ds.sketch("a", 8),
            b := getattr(copy, function)(a),
            b.update(b"x"),
        )
    ),
    **each("pickle, protocol {}", range(2, 6))(
        lambda ds, protocol: pickle.loads(pickle.dumps(ds.sketch("a", 4), protocol))
    ),
    "pickle with a function that has no name": lambda ds: pickle.dumps(
        ds.MinHash(4, hashfunc=NAMELESS[0])
    ),
}


class Copies:
    def clear_then_update(ds):
        a = ds.sketch("a", 8)
        d = a.hashvalues
        return a.clear(), a.update(b"b"), a, d

    def copy_keeps_all(ds):
        b = ds.MinHash(8, 5, hashfunc=half, scheme="legacy").copy()
        return b.seed, b.scheme, b.hashfunc(b"a"), b.permutations

    def digest(ds):
        a = ds.sketch("a", 8)
        d = a.digest()
        yield d
        d[:] = 0
        yield a, a.digest()

    def is_empty_and_clear(ds):
        a = ds.sketch("a", 8)
        return (
            a.is_empty(),
            a.clear(),
            a.is_empty(),
            a == ds.MinHash(8),
            a,
            ds.MinHash(3).is_empty(),
        )

    @each("pickle, {}", SCHEMES)
    def pickle(ds, scheme):
        a = ds.sketch("a b c", 16, seed=3, scheme=scheme)
        b = pickle.loads(pickle.dumps(a))
        yield b, b == a
        yield a.update(b"d"), b.update(b"d"), b == a, b.hashfunc(b"e"), b.permutations

    def pickle_with_a_hashfunc(ds):
        b = pickle.loads(pickle.dumps(ds.MinHash(4, hashfunc=half)))
        return b.update(b"x"), b

    def a_class_of_the_users_own(ds):
        class Mine(ds.MinHash):
            pass

        m = Mine(num_perm=4)
        yield (
            m.update(b"a"),
            type(m).__name__,
            isinstance(m, ds.MinHash),
            m.jaccard(ds.sketch("a", 4)),
        )
        yield m == ds.sketch("a", 4), type(Mine.union(m, m)).__name__


BULK = {
    "bulk is a list": lambda ds: (
        type(ds.MinHash.bulk([])).__name__,
        ds.MinHash.bulk([]),
    ),
    "bulk of 300": lambda ds: ds.MinHash.bulk(
        [[str(n * m).encode() for m in range(n % 40)] for n in range(300)], num_perm=16
    ),
    "bulk of sets and generators": lambda ds: ds.MinHash.bulk(
        [{b"a"}, iter((b"b", b"c")), (b"d",)], num_perm=4
    ),
    "bulk of a generator": lambda ds: ds.MinHash.bulk(
        ([b"a", bytes([n])] for n in range(5)), num_perm=4
    ),
    "bulk of what it cannot hash": lambda ds: ds.MinHash.bulk(
        [[b"a"], ["b"]], num_perm=4
    ),
    "bulk of numbers": lambda ds: ds.MinHash.bulk([1, 2], num_perm=4),
    "bulk of nothing": lambda ds: ds.MinHash.bulk(),
    "bulk of None": lambda ds: ds.MinHash.bulk(None),
    "bulk with a wrong argument": lambda ds: ds.MinHash.bulk([[b"a"]], colour=3),
    "bulk with num_perm 0": lambda ds: ds.MinHash.bulk([[b"a"]], num_perm=0),
    "bulk of nothing with num_perm 0": lambda ds: ds.MinHash.bulk([], num_perm=0),
    "generator with num_perm 0": lambda ds: next(
        ds.MinHash.generator([[b"a"]], num_perm=0)
    ),
}


class Bulk:
    @each("{}, {}", ("bulk", "generator"), SCHEMES)
    def sketches(ds, how, scheme):
        found = list(
            getattr(ds.MinHash, how)(
                [[b"a", b"b"], [b"c"], []], num_perm=8, seed=2, scheme=scheme
            )
        )
        yield found
        yield found[0].update(b"x"), found

    def bulk_keeps_the_hashfunc(ds):
        m = ds.MinHash.bulk([[b"a"]], num_perm=4, hashfunc=half)[0]
        return m.update(b"b"), m

    def generator_is_lazy(ds):
        seen = []
        g = ds.MinHash.generator(
            (seen.append(n) or [b"a"] for n in range(3)), num_perm=4
        )
        return len(seen), next(g), len(seen) >= 1, len(list(g)), next(g, "end")


LEAN = {
    "from a lean one": lambda ds: ds.LeanMinHash(ds.lean("a", 4)),
    "from values": lambda ds: ds.LeanMinHash(
        seed=3, hashvalues=[1, 2, 3], scheme="affine32"
    ),
    "by place": lambda ds: ds.LeanMinHash(None, 3, [1, 2, 3], "legacy"),
    "scheme repeated": lambda ds: ds.LeanMinHash(ds.sketch("a", 4), scheme="affine32"),
    "scheme contradicted": lambda ds: ds.LeanMinHash(
        ds.sketch("a", 4), scheme="legacy"
    ),
    **each("without {}", LEAN_WITHOUT)(
        lambda ds, arguments: ds.LeanMinHash(**arguments)
    ),
    "values out of range": lambda ds: ds.LeanMinHash(
        seed=1, hashvalues=[2**32], scheme="affine32"
    ),
    "values negative": lambda ds: ds.LeanMinHash(
        seed=1, hashvalues=[-1], scheme="affine64"
    ),
    "no update": lambda ds: ds.lean("a", 4).update(b"a"),
    "no update_batch": lambda ds: ds.lean("a", 4).update_batch([b"a"]),
    "no bulk": lambda ds: ds.LeanMinHash.bulk([[b"a"]]),
    "no generator": lambda ds: list(ds.LeanMinHash.generator([[b"a"]])),
    "jaccard with a full one": lambda ds: ds.lean("a b", 16).jaccard(
        ds.sketch("b c", 16)
    ),
    "merge of another seed": lambda ds: ds.lean("a", 4).merge(ds.lean("a", 4, seed=2)),
    "union": lambda ds: ds.LeanMinHash.union(ds.lean("a", 8), ds.lean("b", 8)),
    "union of three": lambda ds: ds.LeanMinHash.union(*[ds.lean("a", 8)] * 3),
    "union of one": lambda ds: ds.LeanMinHash.union(ds.lean("a")),
    "union of seeds": lambda ds: ds.LeanMinHash.union(
        ds.lean("a", 4), ds.lean("a", 4, seed=2)
    ),
    "union of lengths": lambda ds: ds.LeanMinHash.union(
        ds.lean("a", 4), ds.lean("a", 5)
    ),
    "union of schemes": lambda ds: ds.LeanMinHash.union(
        ds.lean("a", 4), ds.lean("a", 4, scheme="legacy")
    ),
    "union of full ones": lambda ds: ds.LeanMinHash.union(
        ds.sketch("a", 8), ds.lean("b", 8)
    ),
    "no permutations": lambda ds: ds.lean("a", 4).permutations,
    "no hashfunc": lambda ds: ds.lean("a", 4).hashfunc,
    "no num_perm": lambda ds: ds.lean("a", 4).num_perm,
    "no update batch of nothing": lambda ds: (m := ds.lean("a", 4), m.update_batch([])),
    "merge of a full one": lambda ds: (
        a := ds.lean("a b", 16),
        a.merge(ds.sketch("b c", 16)),
    ),
}


class Lean:
    @each("from a sketch, {}", SCHEMES)
    def from_a_sketch(ds, scheme):
        a = ds.sketch("a b", 8, seed=3, scheme=scheme)
        b = ds.LeanMinHash(a)
        yield b
        yield a.update(b"c"), b, b.scheme, len(b)

    def inherited(ds):
        a, b = ds.lean("a b", 16), ds.lean("b c", 16)
        yield (
            a.jaccard(b),
            a.count(),
            a.is_empty(),
            a.digest(),
            len(a),
            isinstance(a, ds.MinHash),
        )
        yield a.merge(b), a
        yield a.clear(), a.is_empty()

    def copy(ds):
        a = ds.lean("a", 4)
        b = a.copy()
        yield b
        yield b.merge(ds.lean("b", 4)), a, copy.copy(a), copy.deepcopy(a)

    def equality_and_hash(ds):
        a, b = ds.lean("a", 4), ds.lean("a", 4)
        yield (
            a == b,
            hash(a) == hash(b),
            len({a, b}),
            a != b,
            a == ds.lean("a", 4, seed=2),
            a == ds.sketch("a", 4),
        )
        yield a == "a", len({a, ds.lean("b", 4)})

    def an_attribute_of_its_own(ds):
        a = ds.lean("a", 4)
        a.note = 1
        return a.note


def unread(kind):
    """Return an object that has no state yet."""
    return kind.__new__(kind)


LEAN_BYTES = {
    "returns nothing": lambda ds: ds.lean("a", 1).serialize(bytearray(50)),
    "no room": lambda ds: ds.lean("a", 4).serialize(bytearray(10)),
    "no room at all": lambda ds: ds.lean("a", 4).serialize(bytearray()),
    "read-only": lambda ds: ds.lean("a", 4).serialize(bytes(100)),
    "not a buffer": lambda ds: ds.lean("a", 4).serialize(5),
    "text for a buffer": lambda ds: ds.lean("a", 4).serialize("x" * 100),
    "unknown byte order": lambda ds: ds.lean("a", 4).bytesize("?"),
    "unknown byte order, written": lambda ds: ds.lean("a", 4).serialize(
        bytearray(100), "?"
    ),
    "unknown byte order, read": lambda ds: ds.LeanMinHash.deserialize(bytes(100), "?"),
    **each("read {}", SERIALIZED)(lambda ds, data: ds.LeanMinHash.deserialize(data)),
    "state of an unknown scheme": lambda ds: unread(ds.LeanMinHash).__setstate__(
        SERIALIZED["an unknown scheme"]
    ),
    "state cut short": lambda ds: unread(ds.LeanMinHash).__setstate__(b"123"),
}


class LeanBytes:
    @each(
        "{}, byte order {}, {} slots",
        SCHEMES,
        ("@", "=", "<", ">", "!"),
        {"1": (1, 1), "7": (7, 2**32 - 1), "8": (8, 0)},
    )
    def serialized(ds, scheme, order, slots):
        k, seed = slots
        a = ds.lean("a b c", k, seed=seed, scheme=scheme)
        data = bytearray(a.bytesize(order) + 3)
        yield a.bytesize(order), a.serialize(data, order), data
        b = ds.LeanMinHash.deserialize(data, order)
        yield b, b == a
        yield (
            ds.LeanMinHash.deserialize(bytes(data), order),
            ds.LeanMinHash.deserialize(memoryview(data), order),
        )

    @each(
        "written to {}",
        {
            "a bytearray": lambda n: bytearray(n),
            "an array": lambda n: np.zeros(64, np.uint8),
        },
    )
    def in_the_usual_byte_order(ds, buffer):
        a = ds.lean("a", 4)
        d = buffer(a.bytesize())
        return a.serialize(d), d, ds.LeanMinHash.deserialize(d)

    def written_to_a_view(ds):
        a, d = ds.lean("a", 4), bytearray(100)
        return (
            a.serialize(memoryview(d)[10:90]),
            d,
            ds.LeanMinHash.deserialize(memoryview(d)[10:]),
        )

    @each("seed {}", {"of 63 bits": 2**63 - 1, "negative": -5})
    def seed(ds, seed):
        a = ds.LeanMinHash(seed=seed, hashvalues=[1], scheme="affine32")
        d = bytearray(99)
        return a.serialize(d), d, ds.LeanMinHash.deserialize(d)

    def seed_of_64_bits(ds):
        return ds.LeanMinHash(
            seed=2**64 - 1, hashvalues=[1], scheme="affine32"
        ).serialize(bytearray(99))

    @each("pickle, {}", SCHEMES)
    def pickle(ds, scheme):
        a = ds.lean("a b", 5, scheme=scheme)
        return (
            pickle.loads(pickle.dumps(a)) == a,
            pickle.loads(pickle.dumps(a)),
            copy.copy(a) == a,
        )

    @each("state, {}", SCHEMES)
    def state(ds, scheme):
        a, b = ds.lean("a b", 5, scheme=scheme), unread(ds.LeanMinHash)
        return a.__getstate__(), b.__setstate__(a.__getstate__()), b == a, b


BBIT = {
    "by name": lambda ds: ds.bBitMinHash(minhash=ds.sketch("a", 4), b=2, r=0.1),
    "of a lean one": lambda ds: ds.bBitMinHash(ds.lean("a b", 8), 4),
    "of itself": lambda ds: ds.bBitMinHash(ds.bBitMinHash(ds.sketch("a", 8), 8), 4),
    **each("b {!r}", (0, -1, 33, "x", None, 2.0, 2.7, "4", True, NAN))(
        lambda ds, b: ds.bBitMinHash(ds.sketch("a", 4), b)
    ),
    "b 0, size": lambda ds: ds.bBitMinHash(ds.sketch("a", 4), 0).bytesize(),
    **each("r {!r}", (1.1, "x", None, 1, "0.5", -0.1, NAN))(
        lambda ds, r: ds.bBitMinHash(ds.sketch("a", 4), 2, r).r
    ),
    "of text": lambda ds: ds.bBitMinHash("abc"),
    "of None": lambda ds: ds.bBitMinHash(None),
    "of a weighted one": lambda ds: ds.bBitMinHash(
        ds.WeightedMinHash(1, np.zeros((4, 2), int))
    ),
    **each("jaccard of {}", OTHER_B_BITS)(
        lambda ds, other: ds.bBitMinHash(ds.sketch("a", 8), 2).jaccard(other(ds))
    ),
    "jaccard of two empty": lambda ds: ds.bBitMinHash(ds.MinHash(8), 2).jaccard(
        ds.bBitMinHash(ds.MinHash(8), 2)
    ),
    "no hash": lambda ds: hash(ds.bBitMinHash(ds.sketch("a", 8))),
    "a state cut short": lambda ds: unread(ds.bBitMinHash).__setstate__(b"123"),
    "the usual": lambda ds: (
        a := ds.bBitMinHash(ds.sketch("a b")),
        a.b,
        a.r,
        a.seed,
        a.scheme,
    ),
    "b 0 compared": lambda ds: (
        a := ds.bBitMinHash(ds.sketch("a", 4), 0),
        a.jaccard(a),
    ),
    "copy": lambda ds: (
        a := ds.bBitMinHash(ds.sketch("a", 8)),
        copy.copy(a) == a,
        copy.deepcopy(a),
    ),
}


class BBit:
    @each("{} bits, {}", (1, 2, 3, 4, 7, 8, 15, 16, 31, 32), SCHEMES)
    def bits(ds, b, scheme):
        a = ds.bBitMinHash(ds.sketch(range(60), 70, scheme=scheme), b)
        c = ds.bBitMinHash(ds.sketch(range(30, 90), 70, scheme=scheme), b)
        d = pickle.loads(pickle.dumps(a))
        return (
            a,
            a.bytesize(),
            a.__getstate__(),
            a.jaccard(c),
            a.jaccard(a),
            a == c,
            d == a,
            d,
        )

    @each(
        "r {0[0]!r} and {0[1]!r}",
        ((0.0, 0.0), (0.1, 0.0), (0.1, 0.2), (0.5, 0.5), (1.0, 1.0), (1, 0)),
    )
    def r(ds, r):
        a = ds.bBitMinHash(ds.sketch(range(60)), 2, r[0])
        b = ds.bBitMinHash(ds.sketch(range(30, 90)), 2, r[1])
        return a.jaccard(b), a == b

    def jaccard_of_nothing_alike(ds):
        return ds.bBitMinHash(ds.sketch("a", 64), 1).jaccard(
            ds.bBitMinHash(ds.sketch("b", 64), 1)
        )

    def equality(ds):
        a = ds.bBitMinHash(ds.sketch("a", 8), 2)
        yield (
            a == ds.bBitMinHash(ds.sketch("a", 8), 2),
            a != "a",
            a == ds.bBitMinHash(ds.sketch("a", 8), 2, 0.1),
        )
        yield a == ds.bBitMinHash(ds.sketch("a", 9), 2), a == None  # noqa: E711

    def a_state_of_an_unknown_scheme(ds):
        return unread(ds.bBitMinHash).__setstate__(
            struct.pack("<qBdiBQ", 1, 1, 0.0, -1, 9, 0)
        )

    def a_legacy_state(ds):
        a = unread(ds.bBitMinHash)
        return a.__setstate__(struct.pack("<qBdiQ", 1, 4, 0.25, 3, 0x123 << 52)), a


GROUPS = {
    "hash functions": (HASH_FUNCTIONS,),
    "MinHash()": (NEW, New),
    "MinHash(hashvalues)": (FROM_VALUES, FromValues),
    "MinHash.update": (UPDATE, Update),
    "MinHash(hashfunc)": (HASHFUNC, Hashfunc),
    "MinHash compared": (COMPARED, Compared),
    "MinHash copied": (COPIES, Copies),
    "MinHash.bulk": (BULK, Bulk),
    "LeanMinHash": (LEAN, Lean),
    "LeanMinHash bytes": (LEAN_BYTES, LeanBytes),
    "bBitMinHash": (BBIT, BBit),
}

"""MinHash, LeanMinHash and bBitMinHash: their values, laws, bytes and errors, and beside an installed datasketch."""

import base64
import copy
import importlib
import pickle
import struct
import subprocess
import sys
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lshfast.datasketch
from lshfast import MinHasher, TokenSets
from lshfast.datasketch import (
    HyperLogLog,
    HyperLogLogPlusPlus,
    LeanMinHash,
    MinHash,
    bBitMinHash,
    minhash,
    sha1_hash32,
    sha1_hash64,
)
from lshfast.datasketch.hashfunc import token_hash
from lshfast.kernels import affine
from tests.reference import affine as reference

SCHEMES = ("affine32", "affine64", "legacy", "classic", "fast")
THEIRS = ("affine32", "affine64", "legacy")
OWN = ("classic", "fast")
EACH = pytest.mark.parametrize("scheme", SCHEMES)
TOKENS = st.lists(st.binary(max_size=8), max_size=12)
ORDERS = ["@", "=", "<", ">", "!"]


def sketched(tokens, **choices):
    sketch = MinHash(**choices)
    sketch.update_batch(tokens)
    return sketch


def words(low, high):
    return [b"%d" % i for i in range(low, high)]


def doubled(token):
    """A hash function that can be pickled."""
    return 2 * token


# Values


@cache
def reference_sketch(scheme, k, seed):
    return reference.sketch(scheme, words(0, 30), k, seed)


@pytest.mark.parametrize("scheme", THEIRS)
@pytest.mark.parametrize(("k", "seed"), [(1, 1), (64, 1), (7, 0), (5, 2**32 - 1)])
def test_values_are_datasketch_s(level, scheme, k, seed):
    sketch = sketched(words(0, 30), num_perm=k, seed=seed, scheme=scheme)
    assert sketch.permutations.tolist() == [*reference.permutations(scheme, seed, k)]
    assert sketch.hashvalues.tolist() == reference_sketch(scheme, k, seed)
    one_by_one = MinHash(k, seed, scheme=scheme)
    for token in reversed(words(0, 30)):
        one_by_one.update(token)
    assert one_by_one == sketch
    assert (
        MinHash.bulk([words(0, 30), []], num_perm=k, seed=seed, scheme=scheme)[0]
        == sketch
    )


@pytest.mark.parametrize("scheme", OWN)
@pytest.mark.parametrize(
    "tokens", [[], ["a", b"a", 5, "é", -1, 2**64 - 1], words(0, 300), np.arange(40)]
)
def test_own_schemes_are_minhasher_s(scheme, tokens):
    wanted = MinHasher(100, scheme, 2**64 - 1).sketch(TokenSets.from_sets([tokens]))[0]
    sketch = sketched(tokens, num_perm=100, scheme=scheme, seed=2**64 - 1)
    assert np.array_equal(sketch.hashvalues, wanted)
    assert sketch.permutations is None
    for made in (
        *MinHash.bulk([tokens], num_perm=100, scheme=scheme, seed=2**64 - 1),
        MinHash.union(sketch, sketch),
    ):
        assert made == sketch


def test_the_default_is_affine32():
    sketch = MinHash()
    assert (sketch.scheme, sketch.seed, sketch.num_perm, len(sketch)) == (
        "affine32",
        1,
        128,
        128,
    )
    assert sketch.hashvalues.dtype == np.uint32
    assert sketch.hashfunc is sha1_hash32
    assert MinHash(scheme="affine64").hashfunc is sha1_hash64
    assert MinHash(scheme="fast").hashfunc is token_hash


@EACH
def test_count_and_jaccard_estimate(scheme):
    """Four standard errors of k = 1024 slots: 1 / 32 of the count, sqrt(s (1 - s) / k) of the similarity."""
    for n in (1, 2, 10, 100, 1000, 20000):
        error = abs(sketched(words(0, n), num_perm=1024, scheme=scheme).count() - n)
        assert error <= 4 * (n / 32 + (1 if n < 20 else 0))
    a, b = MinHash.bulk(
        [words(0, 1500), words(500, 2000)], num_perm=1024, scheme=scheme
    )
    assert abs(a.jaccard(b) - 0.5) < 4 * 0.5 / 32
    assert a.jaccard(a) == 1.0
    assert MinHash(scheme=scheme).count() == 0


# Laws


@EACH
@given(a=TOKENS, b=TOKENS, c=TOKENS)
def test_merge(scheme, a, b, c):
    a, b, c = (sketched(tokens, num_perm=16, scheme=scheme) for tokens in (a, b, c))
    assert MinHash.union(a, b) == MinHash.union(b, a)
    assert (
        MinHash.union(MinHash.union(a, b), c)
        == MinHash.union(a, MinHash.union(b, c))
        == MinHash.union(a, b, c)
    )
    assert MinHash.union(a, a) == a
    lean = LeanMinHash.union(LeanMinHash(a), LeanMinHash(b))
    merged = a.copy()
    merged.merge(b)
    assert merged == MinHash.union(a, b)
    assert lean == LeanMinHash(merged)
    assert (
        a.jaccard(b)
        == b.jaccard(a)
        == LeanMinHash(a).jaccard(b)
        == a.jaccard(LeanMinHash(b))
    )


@EACH
@settings(max_examples=50)
@given(tokens=TOKENS, cut=st.integers(0, 12), data=st.data())
def test_order_and_chunks_do_not_matter(scheme, tokens, cut, data):
    whole = sketched(tokens, num_perm=20, scheme=scheme)
    parts = MinHash(20, scheme=scheme)
    shuffled = data.draw(st.permutations(tokens))
    parts.update_batch(iter(shuffled[:cut]))
    for token in shuffled[cut:]:
        parts.update(token)
    assert parts == whole
    assert (
        MinHash.union(
            *(
                sketched(part, num_perm=20, scheme=scheme)
                for part in (tokens[:cut], tokens[cut:])
            )
        )
        == whole
    )
    assert next(MinHash.generator([tokens], num_perm=20, scheme=scheme)) == whole
    assert whole.is_empty() == (not tokens)


@EACH
def test_copies_are_independent(scheme):
    sketch = sketched(words(0, 5), scheme=scheme)
    before = sketch.digest()
    held, lean = sketch.hashvalues, LeanMinHash(sketch)
    copies = [
        sketch.copy(),
        copy.copy(sketch),
        copy.deepcopy(sketch),
        MinHash(hashvalues=sketch.hashvalues, scheme=scheme),
        MinHash.union(sketch, sketch),
    ]
    for other in copies:
        assert other == sketch
        other.update(b"more")
        assert np.array_equal(sketch.hashvalues, before)
    sketch.update(b"more")
    assert all(other == sketch for other in copies)
    sketch.digest()[:] = 0
    assert np.array_equal(held, before)
    assert np.array_equal(lean.hashvalues, before)
    sketch.clear()
    assert sketch == MinHash(scheme=scheme)
    assert all(not other.is_empty() for other in copies)


@EACH
def test_two_empty_sets_are_alike(scheme):
    empty, full = MinHash(scheme=scheme), sketched([b"a"], scheme=scheme)
    for other in (
        empty,
        MinHash(scheme=scheme),
        LeanMinHash(empty),
        pickle.loads(pickle.dumps(empty)),
    ):
        assert (
            empty.jaccard(other)
            == other.jaccard(empty)
            == LeanMinHash(other).jaccard(empty)
            == 1.0
        )
        assert other.jaccard(full) == full.jaccard(other) == 0.0
    small = bBitMinHash(empty, 2)
    assert (
        small.jaccard(small) == pickle.loads(pickle.dumps(small)).jaccard(small) == 1.0
    )
    assert abs(small.jaccard(bBitMinHash(full, 2))) < 0.3
    merged = empty.copy()
    merged.merge(full)
    assert merged.jaccard(full) == MinHash.union(empty, full).jaccard(full) == 1.0


@EACH
@pytest.mark.parametrize("threads", [1, 3])
def test_bulk_of_many_batches(scheme, threads, monkeypatch):
    monkeypatch.setattr("lshfast.datasketch.minhash.BATCH", 50)
    rows = [words(i, i + i % 40) for i in range(120)]
    found = MinHash.bulk(
        (iter(row) for row in rows), threads=threads, num_perm=12, scheme=scheme
    )
    assert found == [sketched(row, num_perm=12, scheme=scheme) for row in rows]
    assert MinHash.bulk([], scheme=scheme) == []
    assert (
        MinHash.bulk([[], []], num_perm=12, scheme=scheme)
        == [MinHash(12, scheme=scheme)] * 2
    )
    begun = sketched([b"x"], num_perm=12, scheme=scheme)
    more = MinHash.bulk([[b"y"]], hashvalues=begun.hashvalues, scheme=scheme)
    assert more == [sketched([b"x", b"y"], num_perm=12, scheme=scheme)]


def test_generator_reads_nothing_ahead():
    read = []
    made = MinHash.generator(read.append(i) or [b"a"] for i in range(3))
    assert read == []
    next(made)
    assert read == [0]


def test_rows_are_read_when_they_come():
    """The same list, filled anew for each row, and a token that changes."""
    row, token = [], bytearray(b"0")

    def rows():
        for i in range(5):
            row[:] = [token, b"%d" % i]
            token[:] = b"%d" % i
            yield row

    assert MinHash.bulk(rows(), num_perm=8) == [*MinHash.generator(rows(), num_perm=8)]


# Hash functions


@EACH
def test_any_hash_function(scheme):
    calls = []

    def hashfunc(token):
        calls.append(token)
        return int(token) % 100

    sketch = sketched(["0", "1", "102", "3"], scheme=scheme, hashfunc=hashfunc)
    assert calls == ["0", "1", "102", "3"]
    again = MinHash(scheme=scheme, hashfunc=lambda number: np.int64(number))
    again.update_batch([3, 2])
    again.update(1)
    again.update(0)
    assert (
        sketch
        == again
        == MinHash.bulk([[0, 1, 2, 3]], scheme=scheme, hashfunc=lambda x: x)[0]
    )
    assert sketch.copy().hashfunc is hashfunc
    assert MinHash.union(sketch, sketch).hashfunc is hashfunc


@EACH
def test_hash_functions_of_datasketch_run_in_c(scheme):
    if scheme == "affine32":
        with pytest.raises(ValueError, match=r"hashfunc returned .* 0\.\.2\*\*32 - 1"):
            sketched([b"a"], scheme=scheme, hashfunc=sha1_hash64)
        return
    for hashfunc in (sha1_hash32, sha1_hash64):
        sketch = sketched(words(0, 9), scheme=scheme, hashfunc=hashfunc)
        assert sketch == sketched(
            words(0, 9),
            scheme=scheme,
            hashfunc=lambda token, call=hashfunc: call(token),
        )
        assert (
            sketch == MinHash.bulk([words(0, 9)], scheme=scheme, hashfunc=hashfunc)[0]
        )


@EACH
@pytest.mark.parametrize("result", [-1, 2**64, 1.0, "1", None])
def test_wrong_results_of_a_hash_function(scheme, result):
    choices = {"scheme": scheme, "hashfunc": lambda token: result}
    sketch = MinHash(**choices)
    error = ValueError if isinstance(result, int) else TypeError
    for call in (
        lambda: sketch.update(1),
        lambda: sketch.update_batch([1]),
        lambda: MinHash.bulk([[1]], **choices),
    ):
        with pytest.raises(error, match="hashfunc"):
            call()
    assert sketch.is_empty()


@EACH
def test_a_batch_with_a_wrong_token_changes_nothing(scheme):
    sketch = sketched([b"a"], scheme=scheme)
    before = sketch.digest()
    for tokens in ([b"b", 1.5], [b"b", None], 5, None, [[b"b"]]):
        with pytest.raises(TypeError):
            sketch.update_batch(tokens)
        with pytest.raises(TypeError):
            MinHash.bulk([tokens], scheme=scheme)
    assert np.array_equal(sketch.hashvalues, before)


@pytest.mark.parametrize("scheme", THEIRS)
@pytest.mark.parametrize("token", ["text", 5, None])
def test_tokens_are_bytes(scheme, token):
    for call in (
        lambda: MinHash(scheme=scheme).update(token),
        lambda: sketched([token], scheme=scheme),
    ):
        with pytest.raises(TypeError):
            call()


def test_bytes_like_tokens():
    tokens = [bytearray(b"a"), memoryview(b"b"), np.frombuffer(b"c", np.uint8)]
    assert sketched(tokens) == sketched([b"a", b"b", b"c"]) == MinHash.bulk([tokens])[0]
    sketch = MinHash()
    for token in tokens:
        sketch.update(token)
    assert sketch == sketched(tokens)


# Arguments


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"num_perm": 0}, ValueError),
        ({"num_perm": -1}, ValueError),
        ({"num_perm": 2**32 + 1}, ValueError),
        ({"num_perm": 1.5}, TypeError),
        ({"num_perm": True}, TypeError),
        ({"num_perm": 65537, "scheme": "fast"}, ValueError),
        ({"seed": -1}, ValueError),
        ({"seed": 2**32}, ValueError),
        ({"seed": 2**64, "scheme": "classic"}, ValueError),
        ({"seed": None}, TypeError),
        ({"seed": 1.0}, TypeError),
        ({"scheme": "affine16"}, ValueError),
        ({"scheme": 32}, ValueError),
        ({"hashfunc": 5}, ValueError),
        ({"gpu_mode": "perhaps"}, ValueError),
        ({"hashvalues": [1, 2]}, ValueError),
        ({"permutations": ([1], [1])}, ValueError),
        ({"hashvalues": [], "scheme": "legacy"}, ValueError),
        ({"hashvalues": [-1], "scheme": "affine64"}, ValueError),
        ({"hashvalues": [2**32], "scheme": "affine32"}, ValueError),
        ({"hashvalues": np.array([2**32]), "scheme": "legacy"}, ValueError),
        ({"hashvalues": [1.5], "scheme": "affine32"}, TypeError),
        ({"hashvalues": np.ones(3), "scheme": "affine32"}, TypeError),
        ({"hashvalues": np.ones((2, 2), int), "scheme": "affine32"}, ValueError),
        ({"hashvalues": 5, "scheme": "affine32"}, TypeError),
        (
            {
                "num_perm": 2,
                "permutations": ([1, 3, 5], [1, 2, 3]),
                "scheme": "affine32",
            },
            ValueError,
        ),
        (
            {"num_perm": 2, "permutations": ([1, 3], [1]), "scheme": "affine32"},
            ValueError,
        ),
        (
            {"num_perm": 2, "permutations": ([1, 4], [1, 2]), "scheme": "affine64"},
            ValueError,
        ),
        ({"num_perm": 2, "permutations": ([1, 3],), "scheme": "legacy"}, ValueError),
        (
            {
                "num_perm": 2,
                "permutations": ([1, 2**32 + 1], [1, 2]),
                "scheme": "affine32",
            },
            ValueError,
        ),
        (
            {"num_perm": 2, "permutations": ([1, 3], [1, 2]), "scheme": "fast"},
            ValueError,
        ),
    ],
)
def test_bad_arguments(arguments, error):
    with pytest.raises(error):
        MinHash(**arguments)


def test_hashobj_is_deprecated():
    with pytest.warns(DeprecationWarning, match="hashfunc"):
        MinHash(hashobj=object())


def test_no_gpu():
    sketch = MinHash(gpu_mode="always")
    sketch.update(b"a")
    sketch.update_batch([])
    before = sketch.digest()
    with pytest.raises(RuntimeError, match="GPU"):
        sketch.update_batch([b"b"])
    with pytest.raises(RuntimeError, match="GPU"):
        MinHash.bulk([[b"b"]], gpu_mode="always")
    assert np.array_equal(sketch.hashvalues, before)
    assert sketched([b"a"], gpu_mode="detect").jaccard(sketch) == 1.0


@pytest.mark.parametrize("scheme", THEIRS)
def test_permutations_that_are_given(scheme):
    drawn = MinHash(6, 5, scheme=scheme)
    taken = MinHash(6, 5, permutations=drawn.permutations, scheme=scheme)
    own = MinHash(6, 5, permutations=([1, 3, 5, 7, 9, 11], range(6)), scheme=scheme)
    for sketch in (drawn, taken, own):
        sketch.update_batch(words(0, 9))
    assert drawn == taken == MinHash.union(drawn, taken)
    assert drawn.jaccard(taken) == 1.0
    for call in (own.jaccard, own.merge, lambda other: MinHash.union(own, other)):
        with pytest.raises(ValueError, match="permutations"):
            call(drawn)
    restored = pickle.loads(pickle.dumps(own))
    assert (
        restored.permutations.tolist()
        == own.permutations.tolist()
        == [[1, 3, 5, 7, 9, 11], [*range(6)]]
    )
    for sketch in (restored, own.copy(), MinHash.union(own, restored)):
        assert sketch.jaccard(own) == 1.0


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"scheme": "affine64"}, "schemes"),
        ({"seed": 2}, "seeds"),
        ({"num_perm": 127}, "hash values"),
    ],
)
def test_sketches_that_are_not_alike(changed, what):
    a, b = sketched([b"a"]), sketched([b"a"], **changed)
    for x, y in [(a, b), (b, a), (LeanMinHash(a), b), (a, LeanMinHash(b))]:
        for call in (
            x.jaccard,
            x.merge,
            lambda other, x=x: MinHash.union(x, x, other),
            LeanMinHash(x).merge,
        ):
            with pytest.raises(ValueError, match=what):
                call(y)
        assert x != y
    for call in (a.jaccard, a.merge):
        with pytest.raises(TypeError, match="bBitMinHash"):
            call(bBitMinHash(a, 32))
    with pytest.raises(ValueError, match="two sketches"):
        MinHash.union(a)


def test_equal_and_unhashable():
    a = sketched([b"a"])
    assert a == a.copy()
    assert a != LeanMinHash(a)
    assert a != 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
    assert hash(LeanMinHash(a)) == hash(LeanMinHash(a.copy()))
    assert len({LeanMinHash(a), LeanMinHash(a.copy()), LeanMinHash(MinHash())}) == 2


# LeanMinHash


@EACH
@pytest.mark.parametrize("byteorder", ORDERS)
@pytest.mark.parametrize("k", [1, 7, 128])
def test_lean_bytes(scheme, byteorder, k):
    sketch = LeanMinHash(sketched(words(0, 50), num_perm=k, scheme=scheme))
    buffer = bytearray(sketch.bytesize(byteorder)) + b"rest"
    sketch.serialize(buffer, byteorder)
    assert buffer.endswith(b"rest")
    if scheme in THEIRS:
        assert buffer[:-4] == reference.lean_bytes(
            scheme, 1, sketch.hashvalues.tolist(), byteorder
        )
    for data in (
        buffer,
        bytes(buffer),
        memoryview(buffer),
        np.frombuffer(buffer, np.uint8),
    ):
        again = LeanMinHash.deserialize(data, byteorder)
        assert again == sketch
        assert again.hashvalues.dtype == sketch.hashvalues.dtype
        assert again.hashvalues.flags.writeable
    for size in range(len(buffer) - 4):
        with pytest.raises((struct.error, ValueError)):
            LeanMinHash.deserialize(buffer[:size], byteorder)
    with pytest.raises(ValueError, match="buf must be a writable buffer of at least"):
        sketch.serialize(bytearray(sketch.bytesize(byteorder) - 1), byteorder)
    with pytest.raises(TypeError):
        sketch.serialize(bytes(len(buffer)), byteorder)


@pytest.mark.parametrize(
    "sketch",
    [LeanMinHash(MinHash(8)), HyperLogLog(4)],
    ids=lambda sketch: type(sketch).__name__,
)
def test_buffers_to_write_to_are_checked(sketch):
    needed = f"buf must be a writable buffer of at least {sketch.bytesize()} bytes, such as a bytearray, not "
    for buffer, error, said in (
        (b"", ValueError, "bytes of 0 bytes"),
        (bytes(100), TypeError, "bytes, which is read-only"),
        (None, TypeError, "NoneType"),
    ):
        with pytest.raises(error, match=needed + said):
            sketch.serialize(buffer)


@pytest.mark.parametrize("other", [{1}, None, "text"])
def test_what_is_not_a_sketch_is_named(other):
    kind = type(other).__name__
    for call in (
        MinHash(8).jaccard,
        MinHash(8).merge,
        partial(MinHash.union, MinHash(8)),
        LeanMinHash(MinHash(8)).merge,
    ):
        with pytest.raises(
            ValueError, match=f"a MinHash or LeanMinHash is needed, not {kind}"
        ):
            call(other)


@EACH
def test_counts_are_numpy_floats(scheme):
    for sketch in (sketched([], scheme=scheme), sketched(words(0, 30), scheme=scheme)):
        assert type(sketch.count()) is type(LeanMinHash(sketch).count()) is np.float64
    assert [type(kind().count()) for kind in (HyperLogLog, HyperLogLogPlusPlus)] == [
        np.float64,
        np.float64,
    ]
    assert 20 < sketch.count().round(2) < 40


def test_copies_leave_the_attributes_where_they_are_read_fast():
    sketch = sketched([b"a"])
    copies = [
        sketch.copy(),
        copy.copy(sketch),
        copy.deepcopy(sketch),
        pickle.loads(pickle.dumps(sketch)),
    ]
    # A dict of the attributes would be read more slowly.
    assert [vars(one) for one in (sketch, *copies)] == 5 * [{}]
    sketch.label = ["own"]
    assert [sketch.copy().label, copy.deepcopy(sketch).label] == [["own"], ["own"]]
    assert copy.deepcopy(sketch).label is not sketch.label


def test_lean_byte_orders():
    lean = LeanMinHash(MinHash(2))
    for order in ("?", "x", "", "<<", None):
        for call in (
            lambda order=order: lean.bytesize(order),
            lambda order=order: lean.serialize(bytearray(99), order),
            lambda order=order: LeanMinHash.deserialize(bytes(99), order),
        ):
            with pytest.raises(
                struct.error, match="byteorder must be one of @, =, <, >, !"
            ):
                call()


@EACH
def test_lean_state(scheme):
    lean = LeanMinHash(sketched(words(0, 9), num_perm=5, scheme=scheme))
    again = object.__new__(LeanMinHash)
    again.__setstate__(lean.__getstate__())
    assert again == lean
    if scheme in THEIRS:
        assert lean.__getstate__() == reference.lean_bytes(
            scheme, 1, lean.hashvalues.tolist(), "@"
        )


def test_lean_with_any_seed():
    for seed in (-(2**63), -1, 2**63 - 1):
        sketch = LeanMinHash(seed=seed, hashvalues=[1, 2], scheme="affine32")
        assert pickle.loads(pickle.dumps(sketch)) == sketch
    with pytest.raises(struct.error):
        LeanMinHash(seed=2**63, hashvalues=[1], scheme="legacy").serialize(
            bytearray(99)
        )
    own = LeanMinHash(MinHash(4, 2**64 - 1, scheme="fast"))
    assert pickle.loads(pickle.dumps(own)) == own
    assert pickle.loads(pickle.dumps(own)).seed == 2**64 - 1


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<qi", 1, 0),
        struct.pack("<qiB", 1, -1, 0),
        struct.pack("<qiBI", 1, -1, 3, 5),
    ],
)
def test_lean_bytes_that_mean_nothing(data):
    with pytest.raises(ValueError, match=r"scheme|no hash values"):
        LeanMinHash.deserialize(data, "<")


def test_lean_is_made_of_a_sketch_or_its_parts():
    sketch = sketched([b"a"], num_perm=4)
    lean = LeanMinHash(sketch)
    assert (
        lean
        == LeanMinHash(sketch, scheme="affine32")
        == LeanMinHash(lean)
        == lean.copy()
    )
    assert lean == LeanMinHash(
        seed=1, hashvalues=sketch.hashvalues.tolist(), scheme="affine32"
    )
    assert (lean.num_perm, len(lean), lean.is_empty(), lean.count()) == (
        4,
        4,
        False,
        sketch.count(),
    )
    assert MinHash(seed=1, hashvalues=lean.hashvalues, scheme=lean.scheme) == sketch
    for arguments in (
        {},
        {"seed": 1},
        {"hashvalues": [1]},
        {"seed": 1, "hashvalues": [1]},
        {"seed": 1, "hashvalues": [], "scheme": "legacy"},
        {"minhash": sketch, "scheme": "legacy"},
        {"seed": 1, "hashvalues": [2**32], "scheme": "affine32"},
    ):
        with pytest.raises(ValueError, match=r"scheme|made of|hashvalues"):
            LeanMinHash(**arguments)
    lean.merge(sketched([b"b"], num_perm=4))
    assert lean == LeanMinHash(sketched([b"a", b"b"], num_perm=4))
    lean.clear()
    assert lean.is_empty()


def test_lean_is_not_updated():
    lean = LeanMinHash(MinHash())
    for call in (
        lambda: lean.update(b"a"),
        lambda: lean.update_batch([b"a"]),
        lambda: LeanMinHash.bulk([[b"a"]], minhash=lean),
        lambda: next(LeanMinHash.generator([[b"a"]], minhash=lean)),
    ):
        with pytest.raises(TypeError, match="cannot be updated"):
            call()
    with pytest.raises(ValueError, match="made of"):
        LeanMinHash.bulk([[b"a"]])


# bBitMinHash


@EACH
@pytest.mark.parametrize("b", [1, 2, 3, 4, 7, 8, 12, 16, 17, 32])
def test_b_bit_bytes(scheme, b):
    for k in (1, 63, 64, 100):
        check_b_bit_bytes(scheme, b, k)


def check_b_bit_bytes(scheme, b, k):
    sketch = sketched(words(0, 50), num_perm=k, scheme=scheme)
    small = bBitMinHash(sketch, b, 0.25)
    assert small.hashvalues.tolist() == [
        value & (1 << b) - 1 for value in sketch.hashvalues.tolist()
    ]
    data = small.__getstate__()
    assert len(data) == small.bytesize()
    if scheme in THEIRS:
        assert data == reference.b_bit_bytes(
            scheme, 1, b, 0.25, sketch.hashvalues.tolist()
        )
    for again in (
        pickle.loads(pickle.dumps(small)),
        copy.copy(small),
        object.__new__(bBitMinHash),
    ):
        if not hasattr(again, "b"):
            again.__setstate__(data)
        assert again == small
        assert again.jaccard(small) == pytest.approx(1.0)
    for size in range(len(data)):
        with pytest.raises((struct.error, ValueError)):
            object.__new__(bBitMinHash).__setstate__(data[:size])


@pytest.mark.parametrize(
    ("b", "r"),
    [(1, 0.0), (2, 0.0), (3, 0.0), (8, 0.0), (1, 0.001), (1, 0.5), (2, 0.1), (2, 0.5)],
)
def test_b_bit_estimates_are_those_of_datasketch_as_the_migration_page_says(b, r):
    """Without r the same for each b; with r, for b of 1 or 2, up to rounding."""
    datasketch = pytest.importorskip("datasketch")
    found = []
    for library in datasketch, lshfast.datasketch:
        sketches = [library.MinHash(64), library.MinHash(64)]
        for sketch, tokens in zip(sketches, (words(0, 60), words(20, 80)), strict=True):
            sketch.update_batch(tokens)
        one, other = (library.bBitMinHash(sketch, b, r) for sketch in sketches)
        found.append(one.jaccard(other))
    assert found[0] == (pytest.approx(found[1], rel=1e-9) if r else found[1])


@EACH
@pytest.mark.parametrize("b", [1, 2, 3, 8])
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.2, 0.2), (0.2, 0.1)])
def test_b_bit_estimate(scheme, b, rates):
    """The estimate is the corrected share of agreeing slots; four standard errors of k = 2048 for small sets."""
    whole = MinHash.bulk([words(0, 300), words(100, 400)], num_perm=2048, scheme=scheme)
    x, y = (bBitMinHash(sketch, b, r) for sketch, r in zip(whole, rates, strict=True))
    a1, a2 = (reference.b_bit_chance(r, b) for r in rates)
    share = rates[0] / sum(rates) if sum(rates) else 0.0
    c1, c2 = a1 * (1 - share) + a2 * share, a1 * share + a2 * (1 - share)
    agreeing = np.mean(x.hashvalues == y.hashvalues)
    assert x.jaccard(y) == pytest.approx((agreeing - c1) / (1 - c2))
    if not any(rates):
        chance = 0.5 + 0.5 * 2.0**-b
        assert abs(x.jaccard(y) - 0.5) < 4 * (chance * (1 - chance) / 2048) ** 0.5 / (
            1 - 2.0**-b
        )


def test_b_bit_arguments():
    sketch = sketched([b"a"])
    for arguments in (
        {"b": 0},
        {"b": 33},
        {"b": -1},
        {"r": -0.1},
        {"r": 1.1},
        {"r": float("nan")},
    ):
        with pytest.raises(ValueError, match=r"[br] must be in"):
            bBitMinHash(sketch, **arguments)
    small = bBitMinHash(sketch)
    for other in (
        bBitMinHash(sketch, 2),
        bBitMinHash(sketched([b"a"], seed=2)),
        bBitMinHash(sketched([b"a"], scheme="legacy")),
        bBitMinHash(sketched([b"a"], num_perm=64)),
    ):
        with pytest.raises(ValueError, match="cannot be compared"):
            small.jaccard(other)
        assert small != other
    assert bBitMinHash(sketch, 1, 1.0).jaccard(bBitMinHash(sketch, 1, 1.0)) == 1.0


# Pickles


@EACH
def test_pickles(scheme):
    sketch = sketched(words(0, 9), num_perm=32, scheme=scheme, seed=4)
    sketch.name = "kept"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(sketch, protocol))
        assert again == sketch
        assert (again.name, again.num_perm, again.hashfunc) == (
            "kept",
            32,
            sketch.hashfunc,
        )
        again.update(b"more")
        assert again == sketched(
            [*words(0, 9), b"more"], num_perm=32, scheme=scheme, seed=4
        )
        lean = LeanMinHash(sketch)
        assert pickle.loads(pickle.dumps(lean, protocol)) == lean
    if scheme in THEIRS:
        assert len(pickle.dumps(sketch)) < 32 * sketch.hashvalues.itemsize + 700
    with_function = MinHash(hashfunc=doubled, scheme=scheme)
    again = pickle.loads(pickle.dumps(with_function))
    assert again.hashfunc is doubled
    again.update(4)
    with_function.update(4)
    assert again == with_function


# Of [*one_of_each_kind()], made by Python 3.10 with numpy 1.25; 3 hash values each.
PICKLED = """
gAJdcQAoY2xzaGZhc3QuZGF0YXNrZXRjaC5taW5oYXNoCk1pbkhhc2gKcQEpgXECfXEDKFgGAAAAc2NoZW1lcQRYCAAAAGFmZmluZTMycQVYCAAA
AG51bV9wZXJtcQZLA1gEAAAAc2VlZHEHSwJYCQAAAF9ncHVfbW9kZXEIWAcAAABkaXNhYmxlcQlYCAAAAGhhc2hmdW5jcQpOWAwAAABwZXJtdXRh
dGlvbnNxC05YCgAAAGhhc2h2YWx1ZXNxDGNfY29kZWNzCmVuY29kZQpxDVgRAAAAe8Oaw5M0NsKwTsKtfFfCoiZxDlgGAAAAbGF0aW4xcQ+GcRBS
cRF1YmgBKYFxEn1xEyhoBFgIAAAAYWZmaW5lNjRxFGgGSwNoB0sCaAhoCWgKTmgLTmgMaA1YIgAAAMOpw65Iw7ssYsOODMOJYRjDo0HDjsODYTAa
IsOww5stPCpxFWgPhnEWUnEXdWJoASmBcRh9cRkoaARYBgAAAGxlZ2FjeXEaaAZLA2gHSwJoCGgJaApOaAtOaAxoDVgcAAAAwq0qw709AAAAAFvD
gWw6AAAAAADCti0OAAAAAHEbaA+GcRxScR11YmgBKYFxHn1xHyhoBFgHAAAAY2xhc3NpY3EgaAZLA2gHSwJoCGgJaApOaAtOaAxoDVgmAAAAwqzC
pMO3w6zCvcKhXQvCg0fCtsO6w4PDnsKxCTTDnRZNfSTDlwBxIWgPhnEiUnEjdWJoASmBcSR9cSUoaARYBAAAAGZhc3RxJmgGSwNoB0sCaAhoCWgK
TmgLTmgMaA1YIwAAACo5w7HDnsO7wqRPAcKQVUjCjMOoCMOCAAzDrsKZw5NaawcAcSdoD4ZxKFJxKXViaAEpgXEqfXErKGgEaAVoBksCaAdLAWgI
aAloCk5oC11xLChoDVgIAAAAAQAAAAMAAABxLWgPhnEuUnEvaA1YCAAAAAUAAAAHAAAAcTBoD4ZxMVJxMmVoDGgNWAsAAABIwqQEdsOQw6wNYnEz
aA+GcTRScTV1YmNsc2hmYXN0LmRhdGFza2V0Y2gubGVhbl9taW5oYXNoCl9yZWFkCnE2Y2xzaGZhc3QuZGF0YXNrZXRjaC5sZWFuX21pbmhhc2gK
TGVhbk1pbkhhc2gKcTdoDVgiAAAAAgAAAAAAAADDvcO/w7/DvwF7w5rDkzQ2wrBOwq18V8KiJnE4aA+GcTlScTqGcTtScTxoNmg3aA1YNQAAAAIA
AAAAAAAAw73Dv8O/w7/DgCo5w7HDnsO7wqRPAcKQVUjCjMOoCMOCAAzDrsKZw5NaawcAcT1oD4ZxPlJxP4ZxQFJxQWNsc2hmYXN0LmRhdGFza2V0
Y2guYl9iaXRfbWluaGFzaApfcmVzdG9yZWQKcUJjbHNoZmFzdC5kYXRhc2tldGNoLmJfYml0X21pbmhhc2gKYkJpdE1pbkhhc2gKcUNoDVgjAAAA
AgAAAAAAAAADAAAAAAAAw6A/w73Dv8O/w78CAAAAAAAAABFxRGgPhnFFUnFGhnFHUnFIaEJoQ2gNWCQAAAABAAAAAAAAAAEAAAAAAAAAAMO9w7/D
v8O/w4AAAAAAAAAAw6BxSWgPhnFKUnFLhnFMUnFNZS4=
"""


def one_of_each_kind():
    """Return sketches of each scheme and kind, and with own permutations."""
    made = [
        sketched([b"a", b"b"], num_perm=3, seed=2, scheme=scheme) for scheme in SCHEMES
    ]
    own = MinHash(2, permutations=([1, 3], [5, 7]), scheme="affine32")
    own.update(b"a")
    empty = MinHash(3, scheme="fast")
    return [
        *made,
        own,
        LeanMinHash(made[0]),
        LeanMinHash(made[4]),
        bBitMinHash(made[1], 3, 0.5),
        bBitMinHash(empty),
    ]


def test_pickles_of_another_version():
    found = pickle.loads(base64.b64decode(PICKLED))
    assert found == one_of_each_kind()
    assert [type(sketch) for sketch in found] == [
        type(sketch) for sketch in one_of_each_kind()
    ]
    assert found[-1].jaccard(one_of_each_kind()[-1]) == 1.0


@pytest.mark.weekly
def test_another_process_makes_the_same():
    script = (
        "import pickle, sys; from lshfast.datasketch import *; "
        "sys.stdout.buffer.write(pickle.dumps([MinHash.bulk([[b'a', b'b']], scheme=s)[0] for s in "
        f"{SCHEMES!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True
    )
    assert pickle.loads(done.stdout) == [
        sketched([b"a", b"b"], scheme=scheme) for scheme in SCHEMES
    ]


# Sketches that cannot be compared, and what was written over


@pytest.mark.parametrize("scheme", THEIRS)
def test_small_sketches_of_other_permutations(scheme):
    own = MinHash(6, 5, permutations=([1, 3, 5, 7, 9, 11], range(6)), scheme=scheme)
    drawn = MinHash(6, 5, scheme=scheme)
    for sketch in (own, drawn):
        sketch.update_batch(words(0, 9))
    lean, other = LeanMinHash(own), LeanMinHash(drawn)
    for mine in (
        lean,
        lean.copy(),
        pickle.loads(pickle.dumps(lean)),
        LeanMinHash.union(lean, own),
    ):
        assert mine.jaccard(own) == mine.jaccard(lean) == own.jaccard(mine) == 1.0
        for call in (
            mine.jaccard,
            mine.merge,
            lambda theirs, mine=mine: LeanMinHash.union(mine, theirs),
        ):
            for theirs in (other, drawn):
                with pytest.raises(ValueError, match="permutations"):
                    call(theirs)
    small, others = bBitMinHash(own, 8), bBitMinHash(drawn, 8)
    for mine in (small, pickle.loads(pickle.dumps(small)), bBitMinHash(lean, 8)):
        assert mine.jaccard(small) == 1.0
        with pytest.raises(ValueError, match="permutations"):
            mine.jaccard(others)
    far = MinHash(6, 2**40, permutations=own.permutations, scheme=scheme)
    assert far.jaccard(far.copy()) == 1.0


def test_objects_that_are_no_integers():
    for values, place in (([1.5, 2.7], 0), ([1, 2.0], 1), ([1, True], 1), (["a"], 0)):
        for kind in (MinHash, partial(LeanMinHash, seed=1)):
            with pytest.raises(
                TypeError, match=rf"hashvalues\[{place}\] must be an integer"
            ):
                kind(hashvalues=np.array(values, object), scheme="affine32")
    assert MinHash(
        hashvalues=np.array([1, 2], object), scheme="affine32"
    ).digest().tolist() == [1, 2]


def test_hash_values_of_other_arrays_are_compared():
    a = sketched(words(0, 30), num_perm=8)
    b = a.copy()
    data = b"x" + a.hashvalues.tobytes()
    # The machine's own, but another object.
    little = np.dtype(np.uint32).newbyteorder("<")
    for values in (
        np.frombuffer(data, np.uint32, 8, 1),
        np.frombuffer(data[1:], little),
        a.hashvalues.astype(">u4"),
        a.hashvalues.astype(np.int64),
        np.repeat(a.hashvalues, 2)[::2],
    ):
        b.hashvalues = values
        assert a.jaccard(b) == b.jaccard(a) == 1.0
        for other in (
            b,
            MinHash(hashvalues=values, scheme="affine32"),
            pickle.loads(pickle.dumps(b)),
        ):
            other.update(b"more")
            assert np.array_equal(
                other.hashvalues,
                sketched([*words(0, 30), b"more"], num_perm=8).hashvalues,
            )
    for sketches in ((a, b), (b, a)):
        b.hashvalues = a.hashvalues.astype(np.float32)
        with pytest.raises(TypeError, match="cannot be compared"):
            sketches[0].jaccard(sketches[1])


@pytest.mark.parametrize("scheme", [*THEIRS, "fast"])
def test_a_hash_function_and_permutations_that_are_set(scheme):
    sketch, other = MinHash(8, scheme=scheme), MinHash(8, scheme=scheme, hashfunc=len)
    sketch.hashfunc = len
    sketch.update(b"a")
    sketch.update_batch([b"bc"])
    other.update_batch([b"a", b"bc"])
    assert sketch == other
    if scheme == "fast":
        sketch.permutations = ([1], [2])
        for call in (
            lambda: sketch.update(b"a"),
            lambda: sketch.jaccard(other),
            lambda: pickle.dumps(sketch),
        ):
            with pytest.raises(ValueError, match="come from the seed"):
                call()
        return
    sketch.permutations = MinHash(8, 2, scheme=scheme).permutations
    with pytest.raises(ValueError, match="different permutations"):
        sketch.jaccard(other)
    sketch.permutations = other.permutations
    assert sketch.jaccard(other) == 1.0
    sketch.permutations = [[2] * 8, [1] * 8] if scheme != "legacy" else [[1] * 8] * 3
    for call in (
        lambda: sketch.update_batch([b"a"]),
        lambda: sketch.jaccard(other),
        lambda: sketch.merge(other),
    ):
        with pytest.raises(ValueError, match=r"odd|two arrays"):
            call()


@pytest.mark.parametrize("scheme", THEIRS)
def test_permutations_cannot_be_written_to(scheme):
    """Sketches of one seed share them; and what was read before is what is used."""
    given = MinHash(
        8,
        permutations=np.ones((2, 8), MinHash(8, scheme=scheme).hashvalues.dtype),
        scheme=scheme,
    )
    for sketch in (MinHash(8, scheme=scheme), given, pickle.loads(pickle.dumps(given))):
        before = sketch.permutations.tolist()
        for change in (
            lambda row, s=sketch: s.permutations[row].fill(1),
            lambda row, s=sketch: s.permutations.sort(),
        ):
            with pytest.raises(ValueError, match="read-only"):
                change(0)
        assert sketch.permutations.tolist() == before
        assert MinHash(8, scheme=scheme, permutations=sketch.permutations) == MinHash(
            8, scheme=scheme
        )


def test_permutations_of_an_array_that_changes():
    """Each sketch has those that the array held when it was made."""
    array = np.ones((2, 8), np.uint32)
    first = MinHash(8, permutations=array, scheme="affine32")
    array[:] = 3
    second = MinHash(8, permutations=array, scheme="affine32")
    assert (first.permutations == 1).all()
    assert (second.permutations == 3).all()
    with pytest.raises(ValueError, match="different permutations"):
        first.jaccard(second)


@EACH
def test_copies(scheme):
    """copy.copy and copy.deepcopy give sketches that change on their own, with the attributes that were set."""
    sketch = sketched([b"a"], num_perm=8, scheme=scheme)
    sketch.label = ["x"]
    before = sketch.hashvalues.copy()
    shallow, deep = copy.copy(sketch), copy.deepcopy(sketch)
    assert shallow.label is sketch.label
    assert deep.label == ["x"]
    assert deep.label is not sketch.label
    for made in (
        shallow,
        deep,
        copy.copy(LeanMinHash(sketch)),
        copy.deepcopy(LeanMinHash(sketch)),
    ):
        assert made.hashvalues.tolist() == before.tolist()
        made.merge(sketched([b"b"], num_perm=8, scheme=scheme))
    assert sketch.hashvalues.tolist() == before.tolist()
    deep.hashvalues[:] = 0
    assert sketch.hashvalues.tolist() == before.tolist()
    pair = copy.deepcopy([sketch, sketch])
    assert pair[0] is pair[1]


def test_names_that_programs_import():
    peer = pytest.importorskip("datasketch.minhash")
    assert minhash.hashvalue_byte_size == peer.hashvalue_byte_size
    for name in ("sha1_hash32", "sha1_hash64"):
        assert getattr(minhash, name)(b"abc") == getattr(peer, name)(b"abc")
    for name in ("lshensemble_partition", "hyperloglog_const"):
        importlib.import_module(f"lshfast.datasketch.{name}")
    with pytest.raises(ImportError, match="an estimator without tables"):
        importlib.import_module("lshfast.datasketch.hyperloglog_const")._thresholds  # noqa: B018


def test_a_hash_of_64_bits_says_which_scheme_takes_it():
    for hashfunc, advice in (
        (lambda token: 2**40, "scheme='affine64' takes"),
        (lambda token: -1, r"2\*\*32 - 1$"),
    ):
        sketch = MinHash(8, hashfunc=hashfunc)
        for call in (sketch.update, lambda token, s=sketch: s.update_batch([token])):
            with pytest.raises(ValueError, match=advice):
                call(b"a")
    with pytest.raises(TypeError, match="b must be an iterable of tokens, not None"):
        MinHash(8).update_batch(None)


def test_the_kernel_takes_aligned_unsigned_integers_only():
    values = np.arange(4, dtype=np.uint32)
    shifted = np.frombuffer(bytes(17), np.uint32, 4, 1)
    for other in (
        values.view(np.float32),
        values.view(np.int32),
        values.astype(">u4"),
        shifted,
        values.tobytes(),
    ):
        for pair in ((values, other), (other, values), (other, other)):
            with pytest.raises(TypeError, match="uint32"):
                affine.equal(*pair)
    with pytest.raises((TypeError, BufferError)):
        affine.equal(*2 * [memoryview(bytes(17))[1:].cast("I")])
    with pytest.raises(ValueError, match="values must be 4 unsigned integers"):
        MinHash(4)._used.functions.lower(
            1, np.frombuffer(bytearray(17), np.uint32, 4, 1)
        )


def test_buffers_of_any_format():
    lean = LeanMinHash(sketched(words(0, 30), num_perm=7))
    size = lean.bytesize("<")
    buffer = np.zeros(-(-size // 4), np.uint32)
    lean.serialize(memoryview(buffer), "<")
    assert (
        LeanMinHash.deserialize(memoryview(buffer), "<")
        == LeanMinHash.deserialize(buffer.tobytes(), "<")
        == lean
    )
    with pytest.raises(ValueError, match="buf must be a writable buffer of at least"):
        lean.serialize(memoryview(np.zeros(size // 4 - 1, np.uint32)), "<")
    counter = HyperLogLog(4)
    counter.update(b"a")
    buffer = np.zeros(5, np.uint32)
    counter.serialize(buffer)
    assert HyperLogLog.deserialize(buffer) == counter


def test_bits_of_whole_universes():
    a, b = bBitMinHash(sketched([b"a"]), 4, 1.0), bBitMinHash(sketched([b"b"]), 4, 1.0)
    assert a.jaccard(a) == 1.0
    assert a.jaccard(b) == np.mean(a.hashvalues == b.hashvalues)


@pytest.mark.parametrize("kind", [HyperLogLog, HyperLogLogPlusPlus])
@pytest.mark.parametrize("register", [-1, 100])
def test_registers_that_were_written_over(kind, register):
    counter = kind(4)
    counter.reg[:] = register
    with pytest.raises(ValueError, match="register"):
        counter.count()

"""datasketch's HyperLogLog: registers and bytes against the reference and the peer, laws, pickles and errors."""

import copy
import functools
import hashlib
import math
import pickle
import struct
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.datasketch.hashfunc import sha1_hash32, sha1_hash64, token_hash
from lshfast.datasketch.hyperloglog import STRETCH, HyperLogLog, HyperLogLogPlusPlus
from tests.reference import cardinality as reference

KINDS = pytest.mark.parametrize("kind", [HyperLogLog, HyperLogLogPlusPlus])
ITEMS = st.lists(st.binary(max_size=5), max_size=30)


def width_of(kind):
    return 32 if kind is HyperLogLog else 64


def sha1(data, width):
    return int.from_bytes(hashlib.sha1(data).digest()[: width // 8], "little")


def plus_one(data):
    return sha1_hash32(data) + 1 & 0xFFFFFFFF


def seeded(data, seed):
    return sha1_hash32(data + bytes([seed]))


def identity(value):
    return value


def sketch_of(kind, items, p=4, **choices):
    made = kind(p, **choices)
    made.update_batch(items)
    return made


@pytest.fixture(scope="module")
def peer():
    return pytest.importorskip("datasketch")


def words(n, start=0):
    return [b"%d" % i for i in range(start, start + n)]


# Values


def test_hashes():
    assert sha1_hash32(b"abc") == 0x363E99A9 == sha1(b"abc", 32)
    assert sha1_hash64(b"abc") == 0x6A810647363E99A9 == sha1(b"abc", 64)


@KINDS
@settings(max_examples=100)
@given(items=ITEMS, p=st.integers(4, 8))
@example(items=[], p=4)
@example(items=[b""] * 3, p=5)
def test_registers(kind, items, p):
    expected = reference.registers_of_hashes(
        [sha1(item, width_of(kind)) for item in items], width_of(kind), p
    )
    one = kind(p)
    for item in items:
        one.update(item)
    assert one.reg.dtype == np.int8
    assert one.reg.tolist() == sketch_of(kind, iter(items), p).reg.tolist() == expected


@KINDS
@pytest.mark.parametrize("p", [4, 9, 16])
def test_every_rank(kind, p):
    """Hashes whose highest one stands at each place in turn."""
    width = width_of(kind)
    for place in [None, *range(width - p)]:
        value = 3 | (0 if place is None else 1 << p + place)
        one, batch = kind(p, hashfunc=identity), kind(p, hashfunc=identity)
        one.update(value)
        batch.update_batch([value])
        rank = width - p + 1 if place is None else width - p - place
        assert one.reg[3] == batch.reg[3] == rank
        assert one.reg.sum() == batch.reg.sum() == rank
        assert one.reg.tolist() == reference.registers_of_hashes([value], width, p)


@KINDS
def test_the_layout_of_the_bytes(kind):
    made = sketch_of(kind, words(50))
    buf = bytearray(b"\xff" * 20)
    made.serialize(buf)
    assert made.bytesize() == 17
    assert bytes(buf) == bytes([4, *made.reg.tolist()]) + b"\xff" * 3
    for given_ in (buf, bytes(buf), memoryview(buf)):
        assert kind.deserialize(given_) == made


@KINDS
def test_stretches(kind):
    items = words(2 * STRETCH + 5)
    expected = reference.registers_of_hashes(
        [sha1(item, width_of(kind)) for item in items], width_of(kind), 4
    )
    assert sketch_of(kind, iter(items)).reg.tolist() == expected


def test_hash_functions_of_numpy():
    one = HyperLogLog(4, hashfunc=lambda value: np.uint64(value))
    one.update(2**31)
    one.update_batch([2**31 + 1])
    assert one.reg.tolist() == [1, 1] + [0] * 14


# Counts


@pytest.mark.parametrize("n", [0, 1, 10, 1000, 100_000])
def test_plus_plus_counts(n):
    made = HyperLogLogPlusPlus(10)
    made.update_batch(words(n))
    assert made.count() == pytest.approx(
        reference.estimate_of_registers(made.reg.tolist(), 64), rel=1e-12
    )
    assert abs(made.count() - n) <= 4 * 1.04 / 32 * n


def counted(made):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return made.count(), len(caught)


def test_counts_of_the_paper():
    """Linear counting while there are zeros and the raw estimate is small; the raw estimate; the 32-bit correction."""
    registers = np.zeros(256, np.int8)
    assert counted(HyperLogLog(8, registers.copy())) == (0, 0)
    registers[:56] = 3
    assert counted(HyperLogLog(reg=registers.copy())) == (256 * math.log(256 / 200), 0)
    alpha = 0.7213 / (1 + 1.079 / 256)
    assert counted(HyperLogLog(reg=np.full(256, 6, np.int8))) == (
        pytest.approx(alpha * 256 * 64),
        0,
    )
    raw = alpha * 256 * 2**22
    assert counted(HyperLogLog(reg=np.full(256, 22, np.int8)))[0] == pytest.approx(
        -(2**32) * math.log(1 - raw / 2**32)
    )
    assert counted(HyperLogLog(reg=np.full(256, 2, np.int8))) == (
        pytest.approx(alpha * 256 * 4),
        1,
    )
    assert HyperLogLog(reg=np.full(2**16, 17, np.int8)).count() == math.inf


def test_counts_near_the_change_of_formula_warn():
    with pytest.warns(
        UserWarning, match="736 is near 640, where the formula changes"
    ) as caught:
        HyperLogLog(reg=np.full(256, 2, np.int8)).count()
    assert [warning.filename for warning in caught] == [__file__]


def test_no_zeros_and_a_small_estimate_is_no_error():
    """All registers 1 give a raw estimate of 1.4 registers, below the change of formula."""
    alpha = 0.7213 / (1 + 1.079 / 256)
    assert counted(HyperLogLog(reg=np.ones(256, np.int8)))[0] == pytest.approx(
        alpha * 512
    )


# Laws


@KINDS
@settings(max_examples=40)
@given(a=ITEMS, b=ITEMS, c=ITEMS)
def test_merges(kind, a, b, c):
    x, y, z = (sketch_of(kind, items) for items in (a, b, c))
    union = kind.union
    assert union(x, y) == union(y, x) == sketch_of(kind, a + b)
    assert union(union(x, y), z) == union(x, union(y, z)) == union(x, y, z)
    assert union(x, x) == x
    before = x.digest().tolist()
    merged = x.copy()
    merged.merge(y)
    assert merged == union(x, y)
    assert x.digest().tolist() == before


@KINDS
@settings(max_examples=40)
@given(items=ITEMS, data=st.data())
def test_order_repeats_and_chunks_change_nothing(kind, items, data):
    cut = data.draw(st.integers(0, len(items)))
    made = kind(4)
    made.update_batch(items[cut:][::-1])
    for item in items[:cut] * 2:
        made.update(item)
    assert made == sketch_of(kind, items)


@KINDS
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda made: made.copy()])
def test_copies_are_independent(kind, copied):
    made = sketch_of(kind, words(9))
    before = made.digest()
    other = copied(made)
    assert other == made
    other.update_batch(words(100))
    assert np.array_equal(made.reg, before)
    digest = made.digest()
    digest[:] = 0
    assert np.array_equal(made.reg, before)


@KINDS
def test_emptiness_length_and_equality(kind):
    made = kind()
    assert (made.p, made.m, len(made), made.max_rank) == (
        8,
        256,
        256,
        width_of(kind) - 8,
    )
    assert made.is_empty()
    assert made.count() == 0
    made.update(b"a")
    assert not made.is_empty()
    assert made != kind()
    made.clear()
    assert made.is_empty()
    assert made == kind()
    assert made != kind(9)
    assert made != "text"
    assert HyperLogLog() != HyperLogLogPlusPlus()
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_registers_are_used_where_they_lie():
    registers = np.zeros(16, np.int8)
    made = HyperLogLog(reg=registers)
    made.update(b"a")
    assert np.array_equal(made.reg, registers)
    assert registers.any()
    fixed = np.zeros(16, np.int64)
    made = HyperLogLog(reg=fixed)
    made.update(b"a")
    made.update_batch([b"b"])
    assert not fixed.any()
    assert made.reg.dtype == np.int8
    registers.flags.writeable = False
    made = HyperLogLog(reg=registers)
    made.clear()
    made.update(b"b")
    assert not made.is_empty()


# Hash functions


@pytest.mark.parametrize(
    "carried",
    [
        lambda m: pickle.loads(pickle.dumps(m)),
        copy.copy,
        copy.deepcopy,
        lambda m: m.copy(),
    ],
)
@pytest.mark.parametrize("function", [plus_one, functools.partial(seeded, seed=3)])
def test_pickles_and_copies_keep_their_hash_function(carried, function):
    made = HyperLogLog(4, hashfunc=function)
    made.update_batch(words(9))
    other = carried(made)
    for one in (made, other):
        one.update_batch(words(40, 100))
    assert other == made
    other.merge(made)
    with pytest.raises(ValueError, match="hash functions"):
        other.merge(HyperLogLog(4))


@KINDS
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(kind, protocol):
    made = sketch_of(kind, words(50))
    other = pickle.loads(pickle.dumps(made, protocol))
    assert type(other) is kind
    assert other == made
    assert other.hashfunc is made.hashfunc


def test_a_state_that_is_bytes_alone():
    """As those of datasketch's pickles are."""
    made = sketch_of(HyperLogLog, words(50))
    buf = bytearray(made.bytesize())
    made.serialize(buf)
    other = HyperLogLog.__new__(HyperLogLog)
    other.__setstate__(buf)
    assert other == made


def test_functions_made_alike_are_alike():
    def offset(by):
        return lambda data: sha1_hash32(data) + by & 0xFFFFFFFF

    first = HyperLogLog(4, hashfunc=offset(1))
    first.merge(HyperLogLog(4, hashfunc=offset(1)))
    with pytest.raises(ValueError, match="hash functions"):
        first.merge(HyperLogLog(4, hashfunc=offset(2)))
    with pytest.raises(ValueError, match="hash functions"):
        HyperLogLog.union(first, first, HyperLogLog(4))


def test_functions_that_are_in_c(peer):
    """The peer's own SHA1 is the default, and this library's hash of tokens is taken in batches too."""
    made = HyperLogLog(4, hashfunc=peer.hashfunc.sha1_hash32)
    made.update_batch(words(9))
    made.merge(sketch_of(HyperLogLog, words(9)))
    assert made == sketch_of(HyperLogLog, words(9))
    one, batch = (HyperLogLogPlusPlus(4, hashfunc=token_hash) for _ in range(2))
    for item in ["a", b"b", 3]:
        one.update(item)
    batch.update_batch(["a", b"b", 3])
    assert one == batch
    assert not one.is_empty()
    with pytest.raises(ValueError, match="hash functions"):
        one.merge(HyperLogLogPlusPlus(4))
    with pytest.raises(ValueError, match="does not fit in 32 bits"):
        HyperLogLog(4, hashfunc=token_hash).update_batch(words(9))


def test_bytes_do_not_say_their_hash_function():
    made = HyperLogLog(4, hashfunc=plus_one)
    made.update_batch(words(9))
    buf = bytearray(17)
    made.serialize(buf)
    unknown = HyperLogLog.deserialize(buf)
    for other in (made, HyperLogLog(4)):
        unknown.copy().merge(other)
        other.merge(unknown)
    assert HyperLogLog.union(unknown, made) == made
    told = HyperLogLog.deserialize(buf, hashfunc=plus_one)
    assert told.hashfunc is plus_one
    with pytest.raises(ValueError, match="hash functions"):
        told.merge(HyperLogLog(4))


# Errors


@KINDS
@pytest.mark.parametrize("p", [-1, 0, 3, 17, 100])
def test_p_out_of_range(kind, p):
    with pytest.raises(ValueError, match=f"4..16, not {p}"):
        kind(p)


@KINDS
@pytest.mark.parametrize("p", ["8", 8.0, None, True])
def test_p_of_a_wrong_kind(kind, p):
    with pytest.raises(TypeError, match="p must be an int"):
        kind(p)


@pytest.mark.parametrize(
    ("registers", "message"),
    [
        ([0] * 16, "must be a numpy array, not list"),
        (np.zeros(15, np.int8), "power of 2"),
        (np.zeros(0, np.int8), "power of 2"),
        (np.zeros((4, 4), np.int8), r"one dimension, not int8 of shape \(4, 4\)"),
        (np.zeros(16), "integers"),
        (np.zeros(8, np.int8), "4..16, not 3"),
        (np.zeros(2**17, np.int8), "4..16, not 17"),
        (np.full(16, -1, np.int8), "0..29, as p is 4, not -1"),
        (np.full(16, 30, np.int8), "0..29, as p is 4, not 30"),
        (np.full(16, 300), "0..29, as p is 4, not 300"),
    ],
)
def test_registers_that_are_none(registers, message):
    with pytest.raises(ValueError, match=message):
        HyperLogLog(reg=registers)
    made, other = HyperLogLog(4), HyperLogLog(4)
    made.reg = registers
    calls = [
        lambda: made.update(b"a"),
        lambda: made.update_batch([b"a"]),
        made.count,
        made.is_empty,
        made.digest,
    ]
    calls += [
        lambda: made.merge(other),
        lambda: other.merge(made),
        lambda: HyperLogLog.union(other, made),
        made.copy,
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"reg|p must be"):
            call()
    assert other.is_empty()


@KINDS
def test_registers_put_in_the_place_of_others(kind):
    made = sketch_of(kind, words(50))
    for registers in (
        np.arange(16) % 5,
        np.arange(16, dtype=np.int8)[::-1] % 7,
        made.reg.copy(),
    ):
        made.reg = registers
        made.update(b"new")
        assert made.reg.dtype == np.int8
        assert made == kind.union(made, kind(reg=registers))
        assert made.digest().tolist() == made.copy().reg.tolist()
    read_only = made.reg.copy()
    read_only.flags.writeable = False
    made.reg = read_only
    made.update_batch(words(500, 100))
    assert made.reg.sum() > read_only.sum()


@KINDS
def test_copies_of_classes_of_ones_own(kind):
    class Named(kind):
        pass

    made = Named(4)
    made.label = "x"
    made.update(b"a")
    found = made.copy()
    assert (type(found), found.label, found) == (Named, "x", made)
    assert type(Named.union(made, made)) is Named
    assert found.bytesize() == 17
    assert Named._hash_range_bit == width_of(kind)


@KINDS
@pytest.mark.parametrize("width", [np.uint64, np.int64, int])
def test_hash_values_of_numpy(kind, width):
    """Values of numpy are integers, also for versions of numpy that give floats for some of their sums and shifts."""
    values = [3, 17, 2**31 - 1, 2**20]
    expected = reference.registers_of_hashes(values, width_of(kind), 4)
    one, batch = kind(4, hashfunc=width), kind(4, hashfunc=width)
    for value in values:
        one.update(value)
    batch.update_batch(values)
    assert one.reg.tolist() == batch.reg.tolist() == expected


@KINDS
def test_hash_functions_that_are_none(kind):
    for function in (None, "sha1"):
        with pytest.raises(ValueError, match="callable"):
            kind(hashfunc=function)
    with pytest.warns(DeprecationWarning, match="hashobj") as caught:
        kind(4, hashobj=hashlib.sha1)
    assert [warning.filename for warning in caught] == [__file__]


@KINDS
def test_hash_values_that_do_not_fit(kind):
    made = kind(4, hashfunc=identity)
    for value in (2 ** width_of(kind), 2**64, 2**100, -1):
        with pytest.raises(ValueError, match="hash value"):
            made.update(value)
        with pytest.raises(ValueError, match="item 1"):
            made.update_batch([5, value])
    for value in (0.5, "1", None):
        with pytest.raises(TypeError):
            made.update(value)
        with pytest.raises(TypeError):
            made.update_batch([value])
    assert made.is_empty()
    for value in ("text", 5):
        with pytest.raises(TypeError):
            kind().update(value)
        with pytest.raises(TypeError):
            kind().update_batch([value])
    with pytest.raises(TypeError):
        kind().update_batch(5)


def test_sketches_that_do_not_merge():
    first = HyperLogLog(4)
    with pytest.raises(ValueError, match="p = 4 and p = 5"):
        first.merge(HyperLogLog(5))
    with pytest.raises(ValueError, match="32 and 64 bits"):
        first.merge(HyperLogLogPlusPlus(4))
    with pytest.raises(TypeError, match="not int"):
        first.merge(5)
    with pytest.raises(ValueError, match="p = 4 and p = 5"):
        HyperLogLog.union(first, first, HyperLogLog(5))
    with pytest.raises(ValueError, match="32 and 64 bits"):
        HyperLogLog.union(HyperLogLogPlusPlus(4), HyperLogLogPlusPlus(4))
    for few in ((), (first,)):
        with pytest.raises(ValueError, match="at least 2"):
            HyperLogLog.union(*few)


def test_buffers_that_do_not_do():
    made = HyperLogLog(4)
    with pytest.raises(
        ValueError, match=r"at least 17 bytes, .*, not bytearray of 16 bytes"
    ):
        made.serialize(bytearray(16))
    for wrong in (bytes(17), 5, [0] * 17):
        with pytest.raises(TypeError):
            made.serialize(wrong)
    for short in (b"", b"\4", b"\4" + bytes(15)):
        with pytest.raises(struct.error, match="buf"):
            HyperLogLog.deserialize(short)
    for first in (b"\3", b"\x11", b"\xff"):
        with pytest.raises(ValueError, match=r"4..16"):
            HyperLogLog.deserialize(first + bytes(2**17))
    for high in (30, 127, 128, 255):
        with pytest.raises(ValueError, match=f"not {high}"):
            HyperLogLog.deserialize(b"\4" + bytes([high] * 16))
    with pytest.raises(TypeError):
        HyperLogLog.deserialize("text")


# Beside the peer


def both(peer, kind):
    return kind, getattr(peer, kind.__name__)


@pytest.mark.few_cases
@KINDS
@pytest.mark.parametrize("p", [4, 5, 6, 7, 8, 12, 16])
@pytest.mark.parametrize("n", [0, 1, 100, 3000, 20_000])
def test_the_peer_has_the_same_registers_bytes_and_counts(peer, kind, p, n):
    ours, theirs = (one(p) for one in both(peer, kind))
    for item in words(n):
        theirs.update(item)
    ours.update_batch(words(n))
    assert ours.reg.dtype == theirs.reg.dtype
    assert np.array_equal(ours.reg, theirs.reg)
    written = [bytearray(one.bytesize()) for one in (ours, theirs)]
    ours.serialize(written[0])
    theirs.serialize(written[1])
    assert written[0] == written[1]
    assert kind.deserialize(written[1]) == ours
    assert np.array_equal(type(theirs).deserialize(written[0]).reg, ours.reg)
    assert (ours.alpha, ours.m, ours.p, ours.max_rank) == (
        theirs.alpha,
        theirs.m,
        theirs.p,
        theirs.max_rank,
    )
    if kind is HyperLogLog:
        assert counted(ours) == counted(theirs)
    else:
        assert counted(ours)[0] == pytest.approx(
            counted(theirs)[0], rel=1.04 / math.sqrt(2**p)
        )


@settings(max_examples=60)
@given(data=st.data(), p=st.integers(4, 6))
def test_the_peer_has_the_same_counts_of_any_registers(peer, data, p):
    top = 32 - p + 1
    values = data.draw(st.lists(st.integers(0, top), min_size=2**p, max_size=2**p))
    registers = np.array(values, np.int8)
    ours = counted(HyperLogLog(reg=registers))
    try:
        theirs = counted(peer.HyperLogLog(reg=registers))
    except ZeroDivisionError:  # no zeros below the change of formula
        assert 0 < ours[0] <= 2.5 * 2**p
        return
    assert ours == theirs


CALLS = {
    "p too small": lambda kind: kind(3),
    "p too large": lambda kind: kind(17),
    "p negative": lambda kind: kind(-1),
    "p a str": lambda kind: kind("8"),
    "p a float": lambda kind: kind(8.0),
    "reg a list": lambda kind: kind(reg=[0] * 16),
    "reg of 15": lambda kind: kind(reg=np.zeros(15, np.int8)),
    "reg of 0": lambda kind: kind(reg=np.zeros(0, np.int8)),
    "no function": lambda kind: kind(hashfunc=None),
    "a str": lambda kind: kind().update("text"),
    "an int": lambda kind: kind().update(5),
    "large hash": lambda kind: kind(hashfunc=lambda value: 2**64).update(b""),
    "float hash": lambda kind: kind(hashfunc=lambda value: 0.5).update(b""),
    "other p": lambda kind: kind(4).merge(kind(5)),
    "union of one": lambda kind: kind.union(kind()),
    "union of none": lambda kind: kind.union(),
    "union of other p": lambda kind: kind.union(kind(4), kind(5)),
    "short buffer": lambda kind: kind().serialize(bytearray(256)),
    "read-only buffer": lambda kind: kind().serialize(bytes(257)),
    "short bytes": lambda kind: kind.deserialize(b"\4" * 16),
    "no bytes": lambda kind: kind.deserialize(b""),
    "bytes of a wrong p": lambda kind: kind.deserialize(b"\3" * 100),
    "unhashable": lambda kind: hash(kind()),
}


@KINDS
@pytest.mark.parametrize("call", CALLS)
def test_the_peer_raises_the_same(peer, kind, call):
    raised = []
    for one in both(peer, kind):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            CALLS[call](one)
        raised.append(caught.type)
    assert raised[0] is raised[1]

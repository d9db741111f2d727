"""Cardinality: registers on every CPU level and all estimates against the reference, their laws, bytes and errors."""

import math
import pickle
import struct
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast import MinHasher, TokenSets
from lshfast.kernels import cardinality as kernels
from lshfast.kernels.checksum import checksum
from lshfast.sketch import (
    DistinctCounter,
    cardinality,
    estimate_overlap,
    estimate_sizes,
    registers_from_bytes,
    size_error,
)
from lshfast.sketch.cardinality import Registers
from tests.conftest import csr
from tests.kernels.test_sketch import unmix64
from tests.reference import cardinality as reference
from tests.reference import minhash
from tests.reference.hashing import EMPTY, MASK64, P, draw, token_of_int

# Around the eight lanes.
COUNTS = [0, 1, 2, 7, 8, 9, 15, 16, 17, 100, 1000]
SCHEMES = pytest.mark.parametrize("scheme", ["classic", "fast"])
ESTIMATES = {
    "classic": reference.estimate_of_classic,
    "fast": reference.estimate_of_fast,
}

WORD64 = st.integers(0, MASK64)
TOKENS = st.lists(st.one_of(WORD64, st.sampled_from([0, 1, MASK64])), max_size=30)


def sets_of(*rows):
    return TokenSets(*csr(rows))


def token_with_hash(h, seed=1):
    return unmix64(h) ^ draw(seed, reference.REGISTER, 0)


@cache
def random_rows():
    generator = np.random.default_rng(7)
    return [generator.integers(0, 2**64, n, np.uint64).tolist() for n in COUNTS]


# Registers against the reference


@pytest.mark.parametrize("p", [4, 5, 8, 13, 18])
def test_registers(level, p):
    found = DistinctCounter(p, seed=3).sketch(sets_of(*random_rows()))
    assert found.dtype == np.uint8
    assert found.shape == (len(COUNTS), 2**p)
    for row, tokens in zip(found.tolist(), random_rows(), strict=True):
        assert row == reference.registers(tokens, p, 3)


@settings(max_examples=40)
@given(rows=st.lists(TOKENS, max_size=3), p=st.integers(4, 7), seed=WORD64)
@example(rows=[], p=4, seed=0)
@example(rows=[[], [0] * 9, [MASK64]], p=4, seed=MASK64)
def test_any_tokens(level, rows, p, seed):
    found = DistinctCounter(p, seed).sketch(sets_of(*rows))
    assert found.tolist() == [reference.registers(row, p, seed) for row in rows]


@pytest.mark.parametrize("p", [4, 11, 18])
def test_every_rank(level, p):
    """Hashes whose lowest one stands at each place in turn, and those that have none."""
    q = 64 - p
    for place in range(q + 1):
        rest = 1 << place if place < q else 0
        tokens = [
            token_with_hash((2**p - 1) << q | rest),
            token_with_hash(5 << q | rest),
        ]
        counter = DistinctCounter(p)
        registers = counter.empty()
        counter.update(registers, np.array(tokens, np.uint64))
        expected = np.zeros(2**p, np.uint8)
        expected[[5, -1]] = place + 1
        assert np.array_equal(registers, expected)


# Estimates against the reference


@pytest.mark.parametrize("p", [4, 6, 10])
@pytest.mark.parametrize("n", [0, 1, 2, 10, 100, 5000, 200_000])
def test_estimates_of_registers(p, n):
    counter = DistinctCounter(p)
    registers = counter.empty()
    counter.update(registers, np.arange(n))
    found = counter.count(registers)
    assert found == pytest.approx(
        reference.estimate_of_registers(registers.tolist(), 64), rel=1e-12
    )
    assert (found == 0) == (n == 0)


@settings(max_examples=80)
@given(data=st.data(), p=st.integers(4, 6), width=st.integers(7, 64))
def test_estimates_of_any_registers(data, p, width):
    """Any registers at all: many of them as high as they go, few of them zeros."""
    top = width - p + 1
    values = st.one_of(st.just(top), st.integers(0, top))
    registers = data.draw(st.lists(values, min_size=2**p, max_size=2**p))
    out = np.empty(1)
    kernels.register_estimates(np.array([registers], np.uint8), width, out)
    assert out[0] == pytest.approx(
        reference.estimate_of_registers(registers, width), rel=1e-9
    )


def test_full_registers_count_without_end():
    assert DistinctCounter(4).count(np.full(16, 61, np.uint8)) == math.inf
    assert DistinctCounter(4).count(np.array([60] + [61] * 15, np.uint8)) > 2**60


@SCHEMES
@pytest.mark.parametrize("k", [3, 4, 16, 100, 128, 257, 1000])
def test_b3_estimates_of_signatures(scheme, k):
    signatures = MinHasher(k, scheme, 5).sketch(sets_of(*random_rows()))
    found = estimate_sizes(signatures)
    assert found[0] == 0
    assert found.tolist() == pytest.approx(
        [ESTIMATES[scheme](row) for row in signatures.tolist()], rel=1e-11
    )
    assert (
        estimate_sizes(np.asarray(signatures), MinHasher(k, scheme, 5)).tolist()
        == found.tolist()
    )
    assert estimate_sizes(signatures[4]) == found[4]


@settings(max_examples=100)
@given(
    data=st.data(), scheme=st.sampled_from(["classic", "fast"]), k=st.integers(3, 300)
)
def test_estimates_of_any_slots(data, scheme, k):
    """Slots at the ends of what a round, or the field, holds."""
    rounds = minhash.rounds_of(k)
    edges = [0, 1, 2**24, 2**56 - 2**30, rounds << 56, (rounds << 56) + 2**55]
    if scheme == "fast":
        edges += [(rounds - 1 << 56) + 2**55 - 1]
    slot = st.one_of(
        st.sampled_from(edges),
        st.integers(0, P - 2**30 if scheme == "classic" else rounds << 56),
    )
    signature = data.draw(st.lists(slot, min_size=k, max_size=k))
    if scheme == "classic":
        signature = [min(value, P - 2**30) for value in signature]
    found = estimate_sizes(np.array(signature, np.uint64), MinHasher(k, scheme))
    assert found == pytest.approx(ESTIMATES[scheme](signature), rel=1e-9)


@SCHEMES
def test_slots_that_nobody_makes_still_give_numbers(scheme):
    for slot in (0, P - 1, P, MASK64 - 1):
        found = estimate_sizes(np.full(5, slot, np.uint64), MinHasher(5, scheme))
        assert 0 < found < math.inf


@pytest.mark.parametrize(
    "case",
    reference.golden()["registers"],
    ids=lambda case: f"{case['tokens']} {case['p']}",
)
def test_golden_registers(level, case):
    counter = DistinctCounter(case["p"], int(case["seed"], 16))
    registers = counter.sketch(
        sets_of([token_of_int(i, 1) for i in range(case["tokens"])])
    )
    assert registers.tobytes().hex() == case["registers"]
    assert round(float(counter.count(registers)[0]), 9) == case["estimate"]


@pytest.mark.parametrize("case", reference.golden()["sizes"], ids=str)
def test_golden_sizes(case):
    hasher = MinHasher(case["num_perm"], case["scheme"])
    signatures = hasher.sketch(
        sets_of([token_of_int(i, 1) for i in range(case["tokens"])])
    )
    assert round(float(estimate_sizes(signatures)[0]), 9) == case["estimate"]


# Laws


@settings(max_examples=50)
@given(a=TOKENS, b=TOKENS, c=TOKENS)
def test_merges(a, b, c):
    counter = DistinctCounter(5)
    x, y, z = counter.sketch(sets_of(a, b, c))
    merge = counter.merge
    assert np.array_equal(merge(x, y), merge(y, x))
    assert np.array_equal(merge(merge(x, y), z), merge(x, merge(y, z)))
    assert np.array_equal(merge(x, x), x)
    assert np.array_equal(merge(x, y), counter.sketch(sets_of(a + b))[0])
    assert merge(x, y).counter == counter


@settings(max_examples=50)
@given(tokens=TOKENS, data=st.data())
def test_order_repeats_and_chunks_change_nothing(tokens, data):
    counter = DistinctCounter(4)
    whole = counter.sketch(sets_of(tokens))[0]
    cut = data.draw(st.integers(0, len(tokens)))
    registers = counter.empty()
    for part in (tokens[cut:][::-1], tokens[:cut], tokens):
        counter.update(registers, np.array(part, np.uint64))
    assert np.array_equal(registers, whole)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(cardinality, "UPDATE_TOKENS", 100)
    monkeypatch.setattr(cardinality, "PIECE_TOKENS", 100)
    counter = DistinctCounter(6)
    tokens = np.random.default_rng(1).integers(0, 2**64, 1050, np.uint64)
    rows = TokenSets(np.arange(0, 1051, 50), tokens)
    expected = np.array(
        [reference.registers(rows[i].tolist(), 6, 1) for i in range(len(rows))]
    )
    for threads in (1, 2, 5, None):
        registers = counter.empty()
        counter.update(registers, tokens, threads=threads)
        assert np.array_equal(registers, expected.max(axis=0))
        assert np.array_equal(counter.sketch(rows, threads=threads), expected)


def test_copies_are_independent():
    counter = DistinctCounter(4)
    first = counter.sketch(sets_of([1, 2, 3]))[0]
    before = first.tolist()
    second, merged = first.copy(), counter.merge(first, first)
    counter.update(second, np.arange(1000))
    counter.update(merged, np.arange(1000))
    assert first.tolist() == before
    assert second.tolist() == merged.tolist() != before


def test_registers_know_their_counter():
    counter = DistinctCounter(4, seed=9)
    registers = counter.sketch(sets_of([1], [2]))
    assert isinstance(registers, Registers)
    assert (
        registers[0].counter
        == registers.copy().counter
        == pickle.loads(pickle.dumps(registers)).counter
        == counter
    )
    assert type(registers == registers) is np.ndarray
    assert counter.empty(3).shape == (3, 16)
    assert counter.empty(0).counter == counter


# Two sets


def test_known_sizes_give_the_formula():
    hasher = MinHasher(64, "classic")
    signatures = hasher.sketch(sets_of(range(100), range(50, 250), []))
    equal = int(np.count_nonzero(signatures[0] == signatures[1]))
    found = estimate_overlap(
        signatures[0], signatures[1:], sizes_a=100, sizes_b=[200, 0]
    )
    both = equal / 64 * 300 / (1 + equal / 64)
    assert 30 < both < 70
    assert found.intersection.tolist() == pytest.approx([both, 0])
    assert found.union.tolist() == pytest.approx([300 - both, 100])
    assert found.similarity.tolist() == pytest.approx([both / (300 - both), 0])
    assert found.containment.tolist() == pytest.approx([both / 100, 0])


@SCHEMES
def test_a_set_and_itself(scheme):
    signatures = MinHasher(64, scheme).sketch(sets_of(range(300), []))
    found = estimate_overlap(signatures, signatures)
    size = float(estimate_sizes(signatures)[0])
    assert (
        found.intersection.tolist() == found.union.tolist() == pytest.approx([size, 0])
    )
    assert found.similarity.tolist() == found.containment.tolist() == [1, 0]


def test_no_more_in_common_than_the_smaller_set_has():
    hasher = MinHasher(16, "classic")
    signature = hasher.sketch(sets_of([1, 2]))[0]
    found = estimate_overlap(signature, signature, sizes_a=2, sizes_b=10)
    assert (found.intersection, found.union, found.containment, found.similarity) == (
        2,
        10,
        1,
        0.2,
    )


@pytest.mark.filterwarnings("error")
def test_overlap_of_full_registers():
    """All of 2**64 tokens are in them, so what another set has is in both."""
    counter = DistinctCounter(4)
    full, some = np.full(16, 61, np.uint8), counter.sketch(sets_of(range(9), []))
    assert counter.overlap(full, full) == (math.inf, math.inf, 1, 1)
    found = counter.overlap(full, some)
    assert found.intersection.tolist() == counter.count(some).tolist()
    assert found.union.tolist() == [math.inf] * 2
    assert found.similarity.tolist() == found.containment.tolist() == [0, 0]
    assert counter.overlap(some, full).containment.tolist() == [1, 0]


def test_overlap_of_registers():
    counter = DistinctCounter(14)
    registers = counter.sketch(
        sets_of(range(30_000), range(20_000, 80_000), [], range(100_000, 130_000))
    )
    found = counter.overlap(registers[0], registers)
    assert found.union.tolist() == pytest.approx(
        [30_000, 80_000, 30_000, 60_000], rel=0.04
    )
    assert found.intersection == pytest.approx(
        [30_000, 10_000, 0, 0], abs=0.04 * 80_000
    )
    assert found.containment == pytest.approx([1, 1 / 3, 0, 0], abs=0.1)
    assert found.similarity == pytest.approx([1, 1 / 8, 0, 0], abs=0.04)
    assert found.intersection[2] == 0
    assert found.containment[0] == found.similarity[0] == 1
    nothing = counter.overlap(registers[2], registers[2])
    assert nothing == (0, 0, 0, 0)


# Bytes


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_bytes_there_and_back(rows):
    counter = DistinctCounter(5, seed=MASK64)
    registers = counter.sketch(sets_of(*([list(range(i * 50)) for i in range(rows)])))
    data = counter.to_bytes(registers)
    assert len(data) == 32 + rows * 32 + 8
    for given_ in (data, bytearray(data), memoryview(data)):
        back = registers_from_bytes(given_)
        assert np.array_equal(back, registers)
        assert back.counter == counter
        assert back.flags.writeable
    assert counter.to_bytes(back) == data


def test_the_layout_of_the_bytes():
    counter = DistinctCounter(4, seed=7)
    registers = counter.sketch(sets_of([1, 2, 3]))
    head = (
        b"LSHFHLL\0"
        + struct.pack("<IIQQ", 1, 4, 7, 1)
        + bytes(reference.registers([1, 2, 3], 4, 7))
    )
    assert counter.to_bytes(registers) == head + struct.pack("<Q", checksum(head))


def test_damaged_bytes_are_refused():
    counter = DistinctCounter(4)
    data = counter.to_bytes(counter.sketch(sets_of(range(40), [])))
    for length in range(len(data)):
        with pytest.raises(match="registers"):
            registers_from_bytes(data[:length])
    with pytest.raises(match="damaged"):
        registers_from_bytes(data + b"\0")
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(match="registers"):
            registers_from_bytes(damaged)


def signed(head):
    return head + struct.pack("<Q", checksum(head))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (
            struct.pack("<8sIIQQ", b"LSHFHLL\0", 2, 4, 1, 0),
            "version 2, where this library reads 1",
        ),
        (struct.pack("<8sIIQQ", b"LSHFHLL\0", 1, 3, 1, 1) + bytes(8), "damaged"),
        (struct.pack("<8sIIQQ", b"LSHFHLL\0", 1, 4, 1, 2**62) + bytes(16), "damaged"),
        (
            struct.pack("<8sIIQQ", b"LSHFHLL\0", 1, 4, 1, 1) + bytes([62] * 16),
            "hold 62; .* at most 61",
        ),
    ],
)
def test_well_signed_nonsense_is_refused(head, message):
    with pytest.raises(match=message):
        registers_from_bytes(signed(head))


def test_what_is_no_buffer_is_refused():
    with pytest.raises(TypeError):
        registers_from_bytes("text")
    with pytest.raises(TypeError):
        registers_from_bytes([1, 2])


# Errors


@pytest.mark.parametrize("p", [True, 8.0, "8", None])
def test_p_of_a_wrong_kind(p):
    with pytest.raises(TypeError, match="p must be an int"):
        DistinctCounter(p)


@pytest.mark.parametrize("p", [-1, 0, 3, 19, 64])
def test_p_out_of_range(p):
    with pytest.raises(ValueError, match=f"4..18, not {p}"):
        DistinctCounter(p)


def test_seeds_out_of_range():
    with pytest.raises(ValueError, match="seed"):
        DistinctCounter(8, seed=-1)
    with pytest.raises(TypeError, match="seed"):
        DistinctCounter(8, seed=1.0)


def test_registers_of_others_are_refused():
    counter = DistinctCounter(8)
    own, seeded, longer = (
        c.empty() for c in (counter, DistinctCounter(8, seed=2), DistinctCounter(9))
    )
    for bad in (
        lambda: counter.merge(own, seeded),
        lambda: counter.count(seeded),
        lambda: counter.to_bytes(seeded),
    ):
        with pytest.raises(ValueError, match=r"seed=2.* not of .*seed=1"):
            bad()
    with pytest.raises(ValueError, match=r"256 = 2\*\*8"):
        counter.merge(own, longer)
    with pytest.raises(ValueError, match="shape"):
        counter.overlap(own, np.zeros((1, 1, 256), np.uint8))
    with pytest.raises(TypeError, match="uint8, not int64"):
        counter.count(np.zeros(256, np.int64))
    with pytest.raises(ValueError, match=r"hold 58; .* at most 57"):
        counter.count(np.full(256, 58, np.uint8))


def test_updates_that_cannot_be():
    counter = DistinctCounter(4)
    with pytest.raises(ValueError, match="one set"):
        counter.update(counter.empty(2), np.arange(3))
    with pytest.raises(ValueError, match="writable"):
        counter.update(np.broadcast_to(np.uint8(0), (16,)), np.arange(3))
    with pytest.raises(ValueError, match="contiguous"):
        counter.update(np.zeros(32, np.uint8)[::2], np.arange(3))
    with pytest.raises(TypeError, match="tokens must be integers"):
        counter.update(counter.empty(), [0.5])
    with pytest.raises(ValueError, match="tokens"):
        counter.update(counter.empty(), [-1])
    with pytest.raises(TypeError, match="TokenSets"):
        counter.sketch([[1]])
    with pytest.raises(ValueError, match="threads"):
        counter.sketch(sets_of([1]), threads=0)


def test_signatures_that_do_not_count():
    hasher = MinHasher(8)
    signatures = hasher.sketch(sets_of([1, 2]))
    with pytest.raises(TypeError, match="hasher="):
        estimate_sizes(np.asarray(signatures))
    with pytest.raises(TypeError, match="MinHasher"):
        estimate_sizes(signatures, "fast")
    with pytest.raises(ValueError, match="scheme"):
        estimate_sizes(signatures, MinHasher(8, "classic"))
    with pytest.raises(ValueError, match="seed"):
        estimate_overlap(signatures, MinHasher(8, seed=2).sketch(sets_of([1])))
    with pytest.raises(TypeError, match="uint64"):
        estimate_sizes(np.zeros(8), hasher)
    for k in (1, 2):
        with pytest.raises(ValueError, match=r"3..65536 to count"):
            estimate_sizes(MinHasher(k).sketch(sets_of([1])))
        with pytest.raises(ValueError, match="at least 3"):
            size_error(10, MinHasher(k))


@pytest.mark.parametrize("size", [-1, math.nan, math.inf])
def test_sizes_out_of_range(size):
    signature = MinHasher(8).sketch(sets_of([1, 2]))[0]
    with pytest.raises(
        ValueError, match=r"sizes_a must be in 0\.\.18446744073709551616, not "
    ):
        estimate_overlap(signature, signature, sizes_a=size)
    with pytest.raises(ValueError, match="n must be finite and at least 0, not "):
        size_error(size, MinHasher(8))
    with pytest.raises(TypeError, match="numbers"):
        estimate_overlap(signature, signature, sizes_b="1")
    with pytest.raises(TypeError, match="number"):
        size_error("1", MinHasher(8))


def test_kernels_check_what_they_are_given():
    tokens, registers = np.zeros(3, np.uint64), np.zeros((1, 16), np.uint8)
    with pytest.raises(ValueError, match=r"2\*\*p registers"):
        kernels.update(tokens, 0, np.zeros(17, np.uint8))
    with pytest.raises(ValueError, match="offsets"):
        kernels.update_rows(np.array([0, 4]), tokens, 0, registers)
    with pytest.raises(ValueError, match="rows"):
        kernels.update_rows(np.array([0, 1, 2]), tokens, 0, registers)
    for width in (4, 65, -1):
        with pytest.raises(ValueError, match="width"):
            kernels.register_estimates(registers, width, np.empty(1))
        with pytest.raises(ValueError, match="width"):
            kernels.update_hashes(tokens, width, registers[0])
    with pytest.raises(ValueError, match="holds 30"):
        kernels.register_estimates(np.full((1, 16), 30, np.uint8), 32, np.empty(1))
    with pytest.raises(ValueError, match="entries"):
        kernels.register_estimates(registers, 32, np.empty(2))
    with pytest.raises(ValueError, match="entries"):
        kernels.fast_estimates(np.zeros((1, 5), np.uint64), np.empty(0))
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="above 0"):
            kernels.fast_variance(bad, 16)
    kernels.register_estimates(np.zeros((0, 16), np.uint8), 64, np.empty(0))
    kernels.classic_estimates(np.zeros((0, 5), np.uint64), np.empty(0))
    assert EMPTY == MASK64

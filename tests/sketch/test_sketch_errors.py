"""What sketches refuse: arrays of other rows, widths, kinds and shapes, each in one line that names the argument."""

import re

import numpy as np
import pytest

from lshfast import (
    DistinctCounter,
    LSHForest,
    LSHIndex,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    WeightedSets,
)
from lshfast.datasketch import WeightedMinHashGenerator
from lshfast.sketch import (
    BBits,
    OnePermutation,
    SignSketcher,
    estimate_overlap,
    estimate_sizes,
    registers_from_bytes,
    size_error,
    sketch_multisets,
)

SETS = TokenSets([0, 2, 3, 3], [1, 2, 3])
WEIGHED = WeightedSets([0, 2, 3, 3], [1, 2, 3], [1, 2, 3])
MIN = MinHasher(8)
HASHER = SimHasher()
COUNTER = DistinctCounter(4)
SIGNS = SignSketcher(3, 8)
PACKER, GROUPS, SHELLS = BBits(8, MIN), OnePermutation(8), WeightedMinHasher(8)
CODES = HASHER.sketch(SETS)
COUNTS = HASHER.counters(SETS)
REGISTERS = COUNTER.sketch(SETS)
SIGNATURES, PACKED = MIN.sketch(SETS), PACKER.sketch(SETS)
RAGGED = [[1], [2, 3]]

# Methods of two arrays, with three rows of each.
PAIRS = {
    "MinHasher.merge": (MIN.merge, SIGNATURES),
    "MinHasher.similarity": (MIN.similarity, SIGNATURES),
    "OnePermutation.merge": (GROUPS.merge, GROUPS.sketch(SETS)),
    "OnePermutation.similarity": (GROUPS.similarity, GROUPS.sketch(SETS)),
    "BBits.similarity": (PACKER.similarity, PACKED),
    "WeightedMinHasher.merge": (SHELLS.merge, SHELLS.sketch(WEIGHED)),
    "WeightedMinHasher.similarity": (SHELLS.similarity, SHELLS.sketch(WEIGHED)),
    "SimHasher.distance": (HASHER.distance, CODES),
    "SimHasher.similarity": (HASHER.similarity, CODES),
    "SimHasher.angle": (HASHER.angle, CODES),
    "SimHasher.cosine": (HASHER.cosine, CODES),
    "SimHasher.merge": (HASHER.merge, COUNTS),
    "SimHasher.subtract": (HASHER.subtract, COUNTS),
    "SignSketcher.distance": (SIGNS.distance, SIGNS.sketch(np.eye(3))),
    "DistinctCounter.merge": (COUNTER.merge, REGISTERS),
    "DistinctCounter.overlap": (COUNTER.overlap, REGISTERS),
    "estimate_overlap": (estimate_overlap, SIGNATURES),
}
BOTH = pytest.mark.parametrize("name", PAIRS)


def refused(error, message, call, *arguments, **named):
    """Check that the error has one line that the message matches."""
    with pytest.raises(error, match=message) as caught:
        call(*arguments, **named)
    assert "\n" not in str(caught.value)


@BOTH
@pytest.mark.parametrize("rows", [0, 2, 4])
def test_other_numbers_of_rows(name, rows):
    call, rows_of_three = PAIRS[name]
    other = rows_of_three[np.arange(rows) % 3]
    message = r"^a and b must have the same number of rows, .*shape \({}, \d+\) cannot be .* shape \({}, \d+\)"
    refused(ValueError, message.format(3, rows), call, rows_of_three, other)
    refused(ValueError, message.format(rows, 3), call, other, rows_of_three)


@BOTH
def test_one_row_goes_with_many(name):
    call, rows = PAIRS[name]
    alone = call(rows[0], rows[0])
    for left, right in ((rows[0], rows), (rows, rows[0]), (rows[:1], rows)):
        many = call(left, right)
        if isinstance(alone, tuple):
            many, one = many[0], alone[0]
        else:
            one = alone
        assert np.shape(many)[0] == 3
        assert np.array_equal(many[0], one)


@BOTH
@pytest.mark.parametrize("side", ["a", "b"])
def test_other_kinds_and_widths(name, side):
    call, rows = PAIRS[name]
    dtype, width = rows.dtype, rows.shape[1]
    wrong = [
        (rows.astype(np.float64), TypeError, f"must be .*{dtype}, not float64"),
        (np.full(rows.shape, np.nan), TypeError, f"must be .*{dtype}, not float64"),
        (rows.astype(np.int16), TypeError, f"must be .*{dtype}, not int16"),
        (rows.astype(bool), TypeError, f"must be .*{dtype}, not bool"),
        ("text", TypeError, f"must be .*{dtype}, not (<U4|texts)"),
        (None, TypeError, f"must be .*{dtype}, not (object|None)"),
        (b"bytes", TypeError, f"must be .*{dtype}, not "),
        (
            RAGGED,
            ValueError,
            "must be an array with rows of one length, not a list of other lengths",
        ),
        (SETS, TypeError, f"must be .*{dtype}, not TokenSets: sketch them first"),
        (
            np.zeros((3, width + 1), dtype),
            ValueError,
            rf"must have .* shape \(3, {width + 1}\)",
        ),
        (np.zeros((3, 0), dtype), ValueError, r"must have .* shape \(3, 0\)"),
        (dtype.type(1), ValueError, r"must have .* shape \(\)"),
    ]
    for value, error, message in wrong:
        refused(
            error,
            f"^{side} {message}",
            call,
            *((value, rows) if side == "a" else (rows, value)),
        )


# What takes one argument, or several that do not have to fit each other: the call, the error and
# its text.
CALLS = [
    (lambda: PACKER.pack(RAGGED), ValueError, "^signatures must be an array with rows of one length"),
    (lambda: PACKER.top(RAGGED, PACKED, 1), ValueError, "^queries must be an array"),
    (lambda: PACKER.top(PACKED, RAGGED, 1), ValueError, "^packed must be an array"),
    (lambda: PACKER.top(PACKED, PACKED, 0), ValueError, "^most must be at least 1, not 0"),
    (lambda: PACKER.variance("a"), TypeError, "^similarity must be numbers, not <U1"),
    (lambda: PACKER.standard_error([0.5, np.nan]), ValueError, r"^similarity must be in 0\.\.1, not nan$"),
    (lambda: PACKER.variance(np.linspace(0, 2, 3000)), ValueError, r"^similarity must be in 0\.\.1, not 1\.000"),
    (lambda: PACKER.variance(-0.5), ValueError, r"^similarity must be in 0\.\.1, not -0\.5"),
    (lambda: HASHER.similarity_error(np.inf), ValueError, r"^similarity must be in 0\.\.1, not inf"),
    (lambda: HASHER.cosine_error(RAGGED), ValueError, "^cosine must be an array"),
    (lambda: HASHER.is_empty(RAGGED), ValueError, "^codes must be an array"),
    (lambda: HASHER.codes_of(RAGGED), ValueError, "^counters must be an array"),
    (lambda: HASHER.sketch(SETS, RAGGED), ValueError, "^weights must be an array"),
    (lambda: SIGNS.signs(RAGGED), ValueError, "^codes must be an array"),
    (lambda: SIGNS.dots(RAGGED), ValueError, "^vectors must be an array"),
    (lambda: SIGNS.sketch([0, np.nan, 0]), ValueError, r"^vectors must be in .* and \(1,\) is nan"),
    (lambda: SignSketcher.of_vectors(RAGGED), ValueError, "^vectors must be an array"),
    (lambda: SignSketcher.of_vectors(np.ones((0, 3))), ValueError, r"^bits must be in 1\.\.4096, not 0"),
    (lambda: SignSketcher.of_vectors(np.ones((3, 0))), ValueError, r"^dim must be in 1\.\.16777216, not 0"),
    (lambda: COUNTER.count(RAGGED), ValueError, "^registers must be an array"),
    (lambda: COUNTER.to_bytes(RAGGED), ValueError, "^registers must be an array"),
    (lambda: COUNTER.update([0] * 16, [1]), TypeError, "^registers must be registers of uint8, not int64"),
    (lambda: COUNTER.update(COUNTER.empty(), RAGGED), ValueError, "^tokens must be an array"),
    (lambda: COUNTER.update(COUNTER.empty(), [np.nan]), TypeError, "^tokens must be integers, not float64"),
    (lambda: COUNTER.update(COUNTER.empty(), [1, 2**64]), ValueError,
     r"^tokens must be in 0\.\.2\*\*64 - 1, not 18446744073709551616"),
    (lambda: COUNTER.update(COUNTER.empty(), [-1, 2**63]), ValueError, r"^tokens must be in .*, not -1"),
    (lambda: COUNTER.update(COUNTER.empty(), [1.5, 2**63]), TypeError, "^tokens must be integers, not float64"),
    (lambda: COUNTER.update(COUNTER.empty(), [-1]), ValueError, "^tokens must be at least 0, not -1"),
    (lambda: COUNTER.empty(-1), ValueError, r"^n must be in 0\.\.4294967296, not -1"),
    (lambda: COUNTER.empty(2**70), ValueError, "^n must be in"),
    (lambda: COUNTER.empty(1.5), TypeError, r"^n must be an int, not 1\.5"),
    (lambda: COUNTER.empty(True), TypeError, "^n must be an int, not True"),
    (lambda: registers_from_bytes("text"), TypeError, "^data must be bytes or .*, not str"),
    (lambda: registers_from_bytes(np.zeros(3, "M8[s]")), TypeError, "^data must be bytes or .*, not ndarray"),
    (lambda: registers_from_bytes(memoryview(b"abcd")[::2]), TypeError, "^data must be .* contiguous .* memoryview"),
    (lambda: estimate_sizes(RAGGED, MIN), ValueError, "^signatures must be an array"),
    (lambda: estimate_overlap(SIGNATURES, SIGNATURES, sizes_a=[1, 2]), ValueError,
     r"^sizes_a must be one number, or one per row, shape \(3,\), not shape \(2,\)"),
    (lambda: estimate_overlap(SIGNATURES[0], SIGNATURES[1], sizes_b=np.ones((3, 3))), ValueError, "^sizes_b must be"),
    (lambda: estimate_overlap(SIGNATURES, SIGNATURES, sizes_b=RAGGED), ValueError, "^sizes_b must be an array"),
    (lambda: estimate_overlap(*SIGNATURES[:2], sizes_a=1e308), ValueError,
     r"^sizes_a must be in 0\.\.18446744073709551616, not 1e\+308"),
    (lambda: size_error(10**400, MIN), ValueError, "^n must be a number that a float64 can hold"),
    (lambda: sketch_multisets(GROUPS, WEIGHED), TypeError, "^hasher must be a MinHasher, not OnePermutation"),
    (lambda: sketch_multisets(MIN, WEIGHED, most="1"), TypeError, "^most must be an int, not '1'"),
    (lambda: WEIGHED.pairs(most=-1), ValueError, r"^most must be in 0\.\.281474976710655, not -1"),
    (lambda: WEIGHED.pairs(most=2**48), ValueError, r"^most must be in 0\.\.281474976710655, not 281474976710656"),
    (lambda: WeightedSets([0, 1], [1], [2.0**48]).pairs(most=2**48 - 1), ValueError, "^weights add up to .* pairs"),
    (lambda: WEIGHED.pairs(most=0), ValueError, "^weights add up to 6 pairs, more than most = 0"),
    (lambda: WeightedSets.counted([[1]]), TypeError, r"^sets must be TokenSets \(see TokenSets\.from_sets\), not list"),
    (lambda: WeightedSets.from_matrix(RAGGED), ValueError, "^matrix must be an array"),
    (lambda: WeightedSets.from_sets(None), TypeError, "^rows must be an iterable of mappings, not None"),
    (lambda: WeightedSets([0, 2], [1, 2], RAGGED), ValueError, "^weights must be an array"),
    (lambda: WeightedMinHashGenerator.similarity("a", [[[1, 2]]]), TypeError, "^a must be integers, not <U1"),
    (lambda: WeightedMinHashGenerator.similarity([[[1, 2]]], [[[0.5, 2]]]), TypeError, "^b must be integers"),
    (lambda: WeightedMinHashGenerator.similarity([[[1, 2]]], RAGGED), ValueError, "^b must be an array"),
    (lambda: TokenSets(RAGGED, [1]), ValueError, "^offsets must be an array"),
    (lambda: TokenSets([0], RAGGED), ValueError, "^tokens must be an array"),
    (lambda: TokenSets.from_sets(7), TypeError, "^rows must be an iterable of rows, not 7"),
    (lambda: TokenSets.concatenate([SETS, [[1]]]), TypeError, r"^parts\[1\] must be TokenSets, not list"),
    (lambda: TokenSets.concatenate([np.arange(9999)]), TypeError, r"^parts\[0\] must be TokenSets, not ndarray"),
    (lambda: TokenSets.concatenate(5), TypeError, "^parts must be an iterable of TokenSets, not int"),
    (lambda: SETS["a"], TypeError, "^row must be an int, not 'a'"),
    (lambda: SETS.take(1), ValueError, "^rows must have one dimension, not 0"),
    (lambda: SETS.take([0.5]), TypeError, "^rows must be integers or bools, not float64"),
    (lambda: SETS.take([True]), IndexError, "^rows must have a bool for each of 3 rows, not 1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), CALLS)
def test_wrong_arguments_are_named(call, error, message):
    refused(error, message, call)


@pytest.mark.skipif(
    np.finfo(np.longdouble).max == np.finfo(np.float64).max,
    reason="no wider floats here",
)
def test_weights_beyond_float64_are_infinite():
    weights = np.array([np.finfo(np.longdouble).max])
    refused(
        ValueError,
        "^weights must be finite and at least 0, not inf",
        WeightedSets,
        [0, 1],
        [1],
        weights,
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda part: PACKER.pack(part),
        lambda part: estimate_sizes(part, MIN),
        lambda part: estimate_overlap(SIGNATURES, part),
        lambda part: MIN.similarity(SIGNATURES, part),
        lambda part: LSHIndex(num_perm=8, threshold=0.5).insert(["a", "b", "c"], part),
        lambda part: LSHForest(num_perm=8).insert(["a", "b", "c"], part),
    ],
)
@pytest.mark.parametrize("slots", [16, 128])
def test_a_part_of_longer_signatures_is_none(call, slots):
    """The slots of `fast` depend on how many there are, so that the first eight of more are of no use."""
    part = MinHasher(slots).sketch(SETS)[:, :8]
    message = (
        rf"are of MinHasher\(num_perm={slots}, .*\), not of MinHasher\(num_perm=8, "
    )
    refused(ValueError, message, call, part)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint16, np.int64, np.uint64])
def test_parameters_are_plain_ints(kind):
    made = {
        MinHasher: dict(num_perm=64, seed=2),
        OnePermutation: dict(num_perm=64, seed=2),
        WeightedMinHasher: dict(num_perm=64, seed=2),
        SimHasher: dict(bits=64, seed=2),
        SignSketcher: dict(dim=100, bits=64, seed=2),
        DistinctCounter: dict(p=5, seed=2),
    }
    for maker, numbers in made.items():
        found = maker(**{name: kind(number) for name, number in numbers.items()})
        assert found == maker(**numbers)
        assert repr(found) == repr(maker(**numbers))
    assert repr(BBits(kind(4))) == repr(BBits(4))
    assert (
        SimHasher(kind(64)).sketch(SETS).tolist() == SimHasher(64).sketch(SETS).tolist()
    )
    assert SignSketcher(kind(100), kind(64)).sketch(np.ones(100)).shape == (1,)


def test_sketchers_of_other_vectors_are_told_apart():
    one = SignSketcher.of_vectors([[1, 1], [1, -1]])
    other = SignSketcher.of_vectors([[1, 1], [-1, -1]])
    assert len({repr(one), repr(other), repr(SignSketcher(2, 2))}) == 3
    message = f"^codes are of {re.escape(repr(other))}, not of {re.escape(repr(one))}$"
    refused(ValueError, message, one.signs, other.sketch([1, 2]))


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_of_words(kind):
    """Numpy makes floats of ints below and above 2**63."""
    tokens = [1, 2**63, 2**64 - 1]
    words = np.array(tokens, np.uint64)
    assert TokenSets([0, 3], kind(tokens)).tokens.tolist() == tokens
    assert WeightedSets([0, 3], kind(tokens), [1, 2, 3]).tokens.tolist() == tokens
    found, expected = COUNTER.empty(), COUNTER.empty()
    COUNTER.update(found, kind(tokens))
    COUNTER.update(expected, words)
    assert found.tolist() == expected.tolist()


@pytest.mark.filterwarnings("error")
def test_what_is_too_much_for_a_float64():
    sets = WeightedSets([0, 2, 3], [1, 2, 1], [1e308, 1e308, 5e-324])
    assert sets.totals.tolist() == [np.inf, 5e-324]
    refused(ValueError, "^weights must be whole numbers", sets.pairs)
    refused(
        ValueError,
        "^weights add up to inf pairs",
        WeightedSets([0, 2], [1, 2], [1e308, 1e308]).pairs,
    )
    found = estimate_overlap(
        SIGNATURES[0], SIGNATURES[0], sizes_a=2.0**64, sizes_b=2.0**64
    )
    assert (found.union, found.intersection, found.similarity) == (2**64, 2**64, 1)
    assert size_error(5e-324, MIN) == 0
    assert [size_error(n, MIN) / n for n in (1e-300, 1e300)] == pytest.approx(
        [6**-0.5] * 2
    )


def test_weights_of_zero_are_no_tokens():
    empty = SHELLS.sketch(WeightedSets([0, 2], [1, 2], [0.0, 0.0]))
    assert (empty == 2**64 - 1).all()
    assert SHELLS.similarity(empty, empty).tolist() == [0.0]
    assert HASHER.is_empty(
        HASHER.sketch(TokenSets([0, 2], [1, 2]), [0, 0])
    ).tolist() == [True]

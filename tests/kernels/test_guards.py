"""What kernels promise for any input: tokens that are chosen to collide, sizes that overflow, arrays that are not
aligned, rows that are worked on in pieces, and an interrupt in the middle."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from lshfast import LSHIndex, MinHasher, TokenSets, shingle
from lshfast.kernels import (
    affine,
    bands,
    bits,
    cardinality,
    gate,
    grouping,
    hamming,
    hashing,
    keys,
    probes,
    sets,
    simhash,
    sketch,
    tables,
    text,
    trees,
    weighted,
)

CPU_SECONDS = 40


def run(code, *given):
    """Run code in a process of its own, which is killed after CPU_SECONDS of work; return what it printed."""
    limits = f"import resource\nresource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))\n"
    program = limits + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", program, *given],
        capture_output=True,
        text=True,
        check=False,
    )


# ---- chosen tokens ----


@pytest.mark.slow
def test_tokens_chosen_for_one_place_take_no_longer_than_others():
    pytest.importorskip("resource")
    done = run("""
        import numpy as np
        from lshfast import TokenSets, verify
        inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)  # of a multiplier that everyone knows
        tokens = np.arange(1, 600_001, dtype=np.uint64) * np.uint64(inverse)
        row = TokenSets([0, len(tokens)], tokens).distinct()
        both = TokenSets([0, len(tokens), 2 * len(tokens)], np.concatenate([tokens, tokens[::-1]]))
        print(len(row.tokens), verify(both, np.array([0]), np.array([1]), 0.5)["similarity"])
    """)
    assert done.stdout.split() == ["600000", "[1.]"], done


@pytest.mark.slow
def test_results_are_the_same_in_processes_that_drew_different_keys():
    code = """
        import hashlib
        import numpy as np
        from lshfast.kernels import sets
        tokens = np.random.default_rng(0).integers(0, 300, 20_000, dtype=np.uint64)
        made = sets.distinct(np.arange(0, 20_001, 100), tokens)
        left = np.random.default_rng(1).integers(0, 200, 5_000)
        alike = sets.similarities(*made, left, left[::-1].copy(), 0.1)
        print(hashlib.sha256(b"".join(array.tobytes() for array in (*made, alike))).hexdigest())
    """
    assert run(code).stdout == run(code).stdout != ""


# ---- sizes ----


def test_counts_whose_sum_wraps_are_refused():
    tokens = np.arange(65_537, dtype=np.uint64)
    counts = np.full(65_537, 2**48 - 1, np.int64)
    counts[-1] = 65_546  # all together 10 mod 2^64
    with pytest.raises(ValueError, match="counts must add up to at most"):
        weighted.multisets(tokens, counts)


# ---- arrays that are not aligned ----


def astray(array):
    """Return an equal array whose memory begins one byte behind a multiple of the width of its numbers."""
    raw = np.zeros(array.nbytes + 17, np.uint8)
    start = -raw.ctypes.data % 16 + 1
    moved = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    assert moved.flags.aligned == (array.nbytes == 0 or array.dtype.itemsize == 1)
    return moved


RNG = np.random.default_rng(0)
OFFSETS = np.array([0, 3, 3, 40], np.int64)
TOKENS = RNG.integers(0, 2**63, 40, dtype=np.uint64)
WEIGHTS = RNG.random(40) + 0.1
LEFT, RIGHT = np.array([0, 1, 2, 2], np.int64), np.array([2, 0, 1, 2], np.int64)
SIGNATURES = RNG.integers(0, 3, (3, 16), dtype=np.uint64)
CODES = RNG.integers(0, 2**63, (3, 2), dtype=np.uint64)
VECTORS = RNG.integers(-9, 9, (3, 5))
MASKS = RNG.integers(0, 2**63, (5, 1), dtype=np.uint64)
SAMPLES = RNG.integers(0, 3, (2, 16, 2))


def outs(*shapes):
    return [np.zeros(shape, dtype) for shape, dtype in shapes]


CALLS = {
    "distinct": (sets.distinct, [OFFSETS, TOKENS], []),
    "similarities": (sets.similarities, [OFFSETS, TOKENS, LEFT, RIGHT, 0.0], []),
    "agreements": (sets.agreements, [SIGNATURES, LEFT, RIGHT], []),
    "components": (sets.components, [LEFT, RIGHT, 3], []),
    "stars": (sets.stars, [np.arange(3), np.array([0, 1, 2, 2]), np.array([1, 0])], []),
    "classic": (
        sketch.classic,
        [OFFSETS, TOKENS, *sketch.classic_constants(1, 8)],
        outs(((3, 8), np.uint64)),
    ),
    "fast": (
        sketch.fast,
        [OFFSETS, TOKENS, *sketch.fast_constants(1, 8)],
        outs(((3, 8), np.uint64)),
    ),
    "band_keys": (bands.band_keys, [SIGNATURES, 4, 4], outs(((3, 4), np.uint64))),
    "pairs_of_band": (bands.pairs_of_band, [SIGNATURES, 0, np.arange(3), 99], []),
    "number_buckets": (
        bands.number_buckets,
        [SIGNATURES, 0, np.array([2, 0, 1])],
        outs(((3, 16), np.int32)),
    ),
    "filters_hold": (
        bands.filters_hold,
        [np.full((4, 9), 255, np.uint8), TOKENS, 4, 70, 3],
        [],
    ),
    "filters_add": (
        lambda slots, filters: bands.filters_add(filters, slots, 4, 70, 3),
        [TOKENS],
        outs(((4, 9), np.uint8)),
    ),
    "fingerprints": (sets.fingerprints, [OFFSETS, TOKENS, (2**40, 2**50)], []),
    "join_buckets": (
        grouping.join_buckets,
        [np.array([[0, 1], [-1, 1], [0, 0]], np.int32), np.array([1, 2])],
        [],
    ),
    "order": (bands.order, [TOKENS], []),
    "groups": (bits.groups, [OFFSETS, TOKENS, 7], outs(((3, 8), np.uint64))),
    "compare": (
        bits.compare,
        [SIGNATURES, SIGNATURES[::-1].copy()],
        outs((3, np.int32), (3, np.int32)),
    ),
    "pack": (bits.pack, [SIGNATURES, 4], outs(((3, 1), np.uint64))),
    "compare_packed": (
        bits.compare_packed,
        [CODES, CODES[::-1].copy(), 32, 4],
        outs((3, np.int32)),
    ),
    "update": (cardinality.update, [TOKENS, 5], outs((16, np.uint8))),
    "update_rows": (
        cardinality.update_rows,
        [OFFSETS, TOKENS, 5],
        outs(((3, 16), np.uint8)),
    ),
    "update_hashes": (cardinality.update_hashes, [TOKENS, 64], outs((16, np.uint8))),
    "register_estimates": (
        cardinality.register_estimates,
        [np.ones((3, 16), np.uint8), 64],
        outs((3, float)),
    ),
    "classic_estimates": (
        cardinality.classic_estimates,
        [SIGNATURES],
        outs((3, float)),
    ),
    "fast_estimates": (cardinality.fast_estimates, [SIGNATURES], outs((3, float))),
    "hashes": (simhash.hashes, [TOKENS, 3], []),
    "overflowing": (simhash.overflowing, [OFFSETS, TOKENS.view(np.int64)], []),
    "codes": (
        simhash.codes,
        [OFFSETS, TOKENS, simhash.constants(1, 2)],
        outs(((3, 2), np.uint64)),
    ),
    "counters": (
        simhash.counters,
        [OFFSETS, TOKENS, np.arange(40), simhash.constants(1, 2)],
        outs(((3, 128), np.int64)),
    ),
    "dots": (simhash.dots, [VECTORS, MASKS], outs(((3, 64), np.int64))),
    "dots_of_doubles": (
        simhash.dots_of_doubles,
        [VECTORS.astype(float), MASKS],
        outs(((3, 64), float)),
    ),
    "distances": (
        simhash.distances,
        [CODES, CODES[::-1].copy(), 128],
        outs((3, np.int32)),
    ),
    "shells": (
        weighted.shells,
        [OFFSETS, TOKENS, WEIGHTS, 5, 20.0],
        outs(((3, 8), np.uint64)),
    ),
    "icws": (
        weighted.icws,
        [OFFSETS, TOKENS, WEIGHTS, *weighted.constants(1, 8)],
        outs(((3, 8), np.uint64)),
    ),
    "multisets": (weighted.multisets, [TOKENS, np.arange(40)], []),
    "samples": (
        weighted.samples_of,
        [
            OFFSETS,
            np.arange(40, dtype=np.int32),
            WEIGHTS.astype(np.float32),
            RNG.random((4, 1, 40, weighted.LANES), np.float32),
            0.5,
            False,
        ],
        outs(((3, 16, 2), np.int64)),
    ),
    "agreement of samples": (weighted.agreement, [SAMPLES[0], SAMPLES[1]], []),
    "agreements of samples": (weighted.agreements, [SAMPLES, SAMPLES[::-1].copy()], []),
    "slot_marks": (trees.slot_marks, [SIGNATURES], []),
    "tokens_of_integers": (text.tokens_of_integers, [TOKENS, 1], []),
    "equal texts": (text.Texts(["a", "b", "a"]).equal, [LEFT, RIGHT], []),
    "lines": (hashing.lines, [TOKENS, TOKENS[:4].copy(), 7], outs((40, np.uint64))),
    "cheapest": (
        probes.cheapest,
        [np.sort(RNG.random((4, 3, 2))) * [0, 1], 3],
        outs(((4, 3, 3), np.uint32)),
    ),
    "keys of rows": (lambda rows: keys_of_three().take(rows), [np.array([2, 0])], []),
}


def keys_of_three():
    made, live = hamming.IntKeys(), np.zeros(3, np.uint8)
    made.put(np.array([7, 8, 9]), np.arange(3), np.full(3, -1), live)
    return made


def answer(function, inputs, written):
    returned = function(*inputs, *written)
    returned = returned if isinstance(returned, tuple) else (returned,)
    return [
        np.asarray(value).tolist()
        for value in (*returned, *written)
        if value is not None
    ]


@pytest.mark.parametrize("name", CALLS)
def test_inputs_that_are_not_aligned_give_equal_results(name):
    function, inputs, written = CALLS[name]
    expected = answer(function, inputs, [np.zeros_like(array) for array in written])
    for place, value in enumerate(inputs):
        if isinstance(value, np.ndarray):
            moved = [*inputs[:place], astray(value), *inputs[place + 1 :]]
            assert (
                answer(function, moved, [np.zeros_like(array) for array in written])
                == expected
            )


@pytest.mark.parametrize(
    "name", [name for name, (_, _, written) in CALLS.items() if written]
)
def test_outputs_that_are_not_aligned_are_refused(name):
    function, inputs, written = CALLS[name]
    for place, array in enumerate(written):
        if array.dtype.itemsize > 1:
            moved = [np.zeros_like(other) for other in written]
            moved[place] = astray(array)
            with pytest.raises(ValueError, match="out must be aligned"):
                function(*inputs, *moved)


def test_token_sets_copy_arrays_that_are_not_aligned():
    made = TokenSets(astray(OFFSETS), astray(TOKENS))
    assert made.tokens.flags.aligned
    assert made.offsets.flags.aligned
    assert np.array_equal(
        MinHasher(16).sketch(made), MinHasher(16).sketch(TokenSets(OFFSETS, TOKENS))
    )


@pytest.mark.parametrize("copy", [False, True])
def test_an_index_takes_signatures_and_keys_that_are_not_aligned(copy):
    hasher = MinHasher(16)
    signatures = np.asarray(
        hasher.sketch(TokenSets.from_sets([range(i, i + 30) for i in range(5)]))
    )
    keys = np.arange(5)
    index = LSHIndex(0.5, 16, bands=8, rows_per_band=2)
    index.insert(astray(keys), astray(signatures), copy=copy)
    assert list(index.query(astray(signatures))) == list(index.query(signatures))
    assert index.query(astray(signatures[2])) == index.query(signatures[2])
    made = tables.BandTables(16, 8, 2, "int")
    made.insert_one(7, astray(signatures[0]))
    assert made.query_one(astray(signatures[0])) == ([7], None)
    index.remove(astray(keys[:2]))
    assert len(index) == 3


def test_tables_over_sections_that_are_not_aligned_answer():
    made = tables.BandTables(16, 8, 2, "int")
    rows, _ = made.admit(np.arange(3))
    made.write(rows, SIGNATURES)
    sections = {
        name: np.concatenate(arrays) for name, arrays in made.sections().items()
    }
    moved = tables.BandTables.over(
        16, 8, 2, "int", {name: astray(array) for name, array in sections.items()}
    )
    assert [a.tolist() for a in moved.query(SIGNATURES)[:2]] == [
        a.tolist() for a in made.query(SIGNATURES)[:2]
    ]
    assert moved.find(astray(np.arange(4))).tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_arrow_buffers_that_are_not_aligned_are_read(kind):
    pyarrow = pytest.importorskip("pyarrow")
    texts = ["one two", "", "three four five six seven", "é"]
    column = pyarrow.array(texts).cast(getattr(pyarrow, kind)())
    buffers = [
        b if b is None else pyarrow.py_buffer(b"!" + b.to_pybytes()).slice(1)
        for b in column.buffers()
    ]
    moved = pyarrow.Array.from_buffers(column.type, len(column), buffers)
    assert [bytes(each).decode() for each in text.Texts(moved)] == texts


# ---- rows in pieces ----


def lowest(kernel, tokens, *constants, k, step):
    """Return the signature of tokens from those of pieces."""
    offsets = np.append(np.arange(0, len(tokens), step), len(tokens))
    out = np.empty((len(offsets) - 1, k), np.uint64)
    kernel(offsets, tokens, *constants, out)
    return out.min(axis=0)


@pytest.mark.parametrize(
    ("kernel", "constants"), [(sketch.classic, "classic"), (sketch.fast, "fast")]
)
def test_a_long_row_has_the_least_of_its_pieces(kernel, constants):
    k, tokens = 65_536, RNG.integers(0, 2**63, 3_000, dtype=np.uint64)
    drawn = getattr(sketch, f"{constants}_constants")(3, k)
    out = np.zeros((3, k), np.uint64)
    kernel(np.array([0, 5, 2_990, 3_000]), tokens, *drawn, out)
    assert np.array_equal(
        out[1], lowest(kernel, tokens[5:2_990], *drawn, k=k, step=400)
    )
    assert np.array_equal(out[2], lowest(kernel, tokens[2_990:], *drawn, k=k, step=400))


def test_long_rows_of_groups_and_of_weights_are_those_of_their_pieces():
    tokens = RNG.integers(0, 2**63, (1 << 22) + 1000, dtype=np.uint64)
    out = np.zeros((1, 16), np.uint64)
    bits.groups(np.array([0, len(tokens)]), tokens, 9, out)
    assert np.array_equal(out[0], lowest(bits.groups, tokens, 9, k=16, step=500_000))
    some = tokens[: (1 << 20) + 1000]
    weights = RNG.random(len(some)) + 0.01
    weighted.shells(np.array([0, len(some)]), some, weights, 9, 64.0, out)
    parts = np.zeros((2, 16), np.uint64)
    weighted.shells(np.array([0, 300_000, len(some)]), some, weights, 9, 64.0, parts)
    assert np.array_equal(out[0], parts.min(axis=0))


def test_a_long_row_has_the_code_of_the_sum_of_its_counters():
    tokens = RNG.integers(0, 2**63, (1 << 20) + 999, dtype=np.uint64)
    constants = simhash.constants(1, 64)
    whole, counters = np.zeros((1, 64), np.uint64), np.zeros((1, 4096), np.int64)
    simhash.codes(np.array([0, len(tokens)]), tokens, constants, whole)
    simhash.counters(np.array([0, len(tokens)]), tokens, None, constants, counters)
    parts = np.zeros((2, 4096), np.int64)
    simhash.counters(
        np.array([0, 500_000, len(tokens)]), tokens, None, constants, parts
    )
    assert np.array_equal(counters[0], parts.sum(axis=0))
    assert np.array_equal(
        whole[0], np.packbits(parts.sum(axis=0) > 0, bitorder="little").view("<u8")
    )


def test_many_tokens_are_counted_and_made_distinct_as_few_are():
    tokens = RNG.integers(0, 400_000, (1 << 20) + 5000, dtype=np.uint64)
    registers, rows = np.zeros(64, np.uint8), np.zeros((10, 64), np.uint8)
    cardinality.update(tokens, 3, registers)
    cardinality.update_rows(
        np.linspace(0, len(tokens), 11).astype(np.int64), tokens, 3, rows
    )
    assert np.array_equal(registers, rows.max(axis=0))
    _, first = np.unique(tokens, return_index=True)
    assert np.array_equal(
        sets.distinct(np.array([0, len(tokens)]), tokens)[1], tokens[np.sort(first)]
    )


@pytest.mark.parametrize("scheme", ["affine32", "affine64"])
def test_many_hashes_lower_values_as_few_do(scheme):
    width = np.uint32 if scheme == "affine32" else np.uint64
    a, b = RNG.integers(1, 2**31, (2, 4096)).astype(width)
    functions = affine.Functions(scheme, 4096, a, b)
    hashes = RNG.integers(0, 2**32, 5_000, dtype=np.uint64)
    many = np.full(4096, np.iinfo(width).max, width)
    few = np.full(4096, np.iinfo(width).max, width)
    functions.lower(hashes, many)
    for start in range(0, 5_000, 50):
        functions.lower(hashes[start : start + 50], few)
    assert np.array_equal(many, few)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("unit", ["word", "char"])
def test_a_long_text_has_the_shingles_of_its_parts(unit):
    words = [f"word{number % 977}é" for number in range(700_000)]
    if unit == "word":
        parts = [
            " ".join(words[max(0, start - 2) : start + 100_000])
            for start in range(0, len(words), 100_000)
        ]
    else:
        whole = " ".join(words)
        parts = [
            whole[max(0, start - 2) : start + 1_000_000]
            for start in range(0, len(whole), 1_000_000)
        ]
    (long,) = shingle([" ".join(words)], unit=unit, size=3)
    assert np.array_equal(long, shingle(parts, unit=unit, size=3).tokens)
    with pytest.raises(ValueError, match="not UTF-8 at byte 6000000"):
        shingle([b"some words " * 545454 + b"words \xff"], unit=unit, size=3)


@pytest.mark.parametrize("n", [0, 1, 2, 1000, (1 << 22) + 3])
@pytest.mark.parametrize("kind", ["random", "few", "high"])
def test_numbers_are_sorted(n, kind):
    numbers = np.random.default_rng(n).integers(0, 2**64, n, dtype=np.uint64)
    if kind == "few":
        numbers %= np.uint64(5)
    if kind == "high":
        numbers |= np.uint64(2**64 - 2**20)
    if n < 5000:
        assert np.array_equal(bands.order(numbers), np.argsort(numbers, kind="stable"))
    assert np.array_equal(bands.sorted_numbers(numbers.copy()), np.sort(numbers))


# ---- interrupts ----

INTERRUPTED = """
    import signal, tempfile
    import numpy as np
    from lshfast import *
    from lshfast import exact, join
    from lshfast.kernels import affine, bands, bits, cardinality, grouping, sets, simhash, sketch, tables, weighted
    class Interrupt(BaseException): pass
    def stop(*_): raise Interrupt
    signal.signal(signal.SIGPROF, stop)
    def begin(): signal.setitimer(signal.ITIMER_PROF, 0.2)  # processor time: others may be busy
    try:
        {}
    except Interrupt:
        print("interrupted")
"""

# Each would take minutes at least.
LONG = {
    "one bucket": "k = np.ones((400_000, 2), np.uint64); begin(); bands.pairs_of_band(k, 1, np.arange(400_000), 10)",
    "similarities": "t = np.arange(2_000_000, dtype=np.uint64); i = np.zeros(10**6, np.int64); begin();"
    " sets.similarities(np.array([0, 10**6, 2 * 10**6]), t, i, i, 0.0)",
    "agreements": "s = np.ones((2, 65536), np.uint64); i = np.zeros(10**7, np.int64); begin();"
    " sets.agreements(s, i, i)",
    "classic": "s = TokenSets([0, 10**7], np.arange(10**7, dtype=np.uint64)); begin();"
    " MinHasher(65536, 'classic').sketch(s)",
    "icws": "s = WeightedSets([0, 10**6], np.arange(10**6, dtype=np.uint64), np.ones(10**6)); begin();"
    " WeightedMinHasher(65536, 'icws').sketch(s)",
    "query": "x = LSHIndex(0.5, 16); o = np.ones((20_000, 16), np.uint64); x.insert(np.arange(20_000), o);"
    " q = np.ones((200_000, 16), np.uint64); begin(); x.query(q, k=1, threads=1)",
    "query of two threads": "x = LSHIndex(0.5, 16); o = np.ones((20_000, 16), np.uint64);"
    " x.insert(np.arange(20_000), o); q = np.ones((200_000, 16), np.uint64); begin(); x.query(q, k=1, threads=2)",
    "search": "x = tables.BandTables(1, 1, 1, None, 2000, True); o = np.zeros((30_000, 2001), np.uint64);"
    " x.write(x.allot(30_000), o); begin(); x.search(np.zeros((9_999, 1, 1), np.uint64),"
    " np.zeros((9_999, 2000), np.uint64), ('euclidean', 'float64', 2000))",
    "exact join": "s = np.random.default_rng(1).integers(0, 2, (60_000, 60)) > 0;"
    " s = TokenSets(np.append(0, np.cumsum(s.sum(1))), np.nonzero(s)[1].astype(np.uint64)); begin();"
    " exact.pairs(s, threshold=0.5, method='prefix', threads=1)",
    "exact join of bits, two threads": "s = np.random.default_rng(1).integers(0, 2, (600_000, 52), np.int8) > 0;"
    " s = TokenSets(np.append(0, np.cumsum(s.sum(1))), np.nonzero(s)[1].astype(np.uint64)); begin();"
    " exact.pairs(s, threshold=0.7, threads=2)",
    "pairs of copies": "s = TokenSets(np.arange(100_001), np.ones(100_000, np.uint64)); begin(); exact.pairs(s)",
    "external pairs": "k = np.zeros((200_000, 1), np.uint64); begin();"
    " join.external_candidates(k, tempfile.gettempdir(), screen=lambda i, j: i < 0)",
    "sketch of two threads": "s = TokenSets(np.arange(5) * 2_000_000, np.arange(8_000_000, dtype=np.uint64)); begin();"
    " MinHasher(65536, 'classic').sketch(s, threads=2)",
}


@pytest.mark.some_cases
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", LONG)
def test_a_signal_ends_a_long_kernel(name):
    done = run(INTERRUPTED.format(LONG[name]))
    assert done.stdout == "interrupted\n", done


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupted_update_leaves_values_as_they_were():
    done = run(
        INTERRUPTED.format(
            "a = np.ones(60_000, np.uint64); f = affine.Functions('affine64', 60_000, a, a);"
            " v = np.full(60_000, 2**64 - 1, np.uint64); h = np.arange(10**7, dtype=np.uint64); begin(); f.lower(h, v)"
        )
        + "    print((v == 2**64 - 1).all())\n"
    )
    assert done.stdout == "interrupted\nTrue\n", done


WALK = """
    def walk(n, rows):
        t = np.arange(rows * n, dtype=np.uint64)
        g = grouping.Grouping(np.zeros((rows, 1), np.int32), np.ones(1, np.int64), np.ones((rows, 8), np.uint64),
                              np.arange(rows), 0, 0.1, True, False)
        g.hold(np.arange(rows, dtype=np.int32), np.arange(rows + 1) * n, t)
        g.start(0, 10**9)
        return g
"""


def interrupted_walk(call, after):
    head, tail = INTERRUPTED.split("    try:")
    code = (
        textwrap.dedent(head)
        + textwrap.dedent(WALK)
        + textwrap.dedent("    try:" + tail).format(call)
    )
    done = run(code + after + "\n")
    assert done.stdout == "interrupted\nTrue\n", done


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_ends_a_walk_between_comparisons():
    interrupted_walk(
        "g = walk(200_000, 100); begin(); g.step(100)", "print(0 < g.compared < 4950)"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_ends_a_comparison_of_long_rows():
    interrupted_walk(
        "g = walk(2 * 10**7, 2); begin(); g.step(2)", "print(g.compared == 0)"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_ends_the_sort_of_a_long_prefix():
    """There is no crowd afterwards, since a row of it is missing."""
    call = (
        "g = walk(2 * 10**7, 1); g.step(1); g.begin_crowd(np.zeros(1 << grouping.COUNT_BITS, np.uint8), 2); begin();"
        " g.add_to_crowd(0, 1)"
    )
    after = "try: g.add_to_crowd(0, 0)\nexcept ValueError as error: print('must be a crowd' in str(error))"
    interrupted_walk(call, after)


# ---- rows and locks that a program does not have ----


def test_filters_of_countless_hashes_are_refused():
    filters, slots = np.zeros((1, 8), np.uint8), np.zeros(2, np.uint64)
    for function in bands.filters_hold, bands.filters_add:
        with pytest.raises(ValueError, match="hashes must be at most"):
            function(filters, slots, 2, 64, 2**63)


def test_rows_without_keys_are_refused():
    table = keys.KeyTable()
    table.add(["a", "b"], np.array([0, 2]))
    with pytest.raises(ValueError, match="rows must be in 0"):
        table.add(["c"], np.array([-1]))
    with pytest.raises(ValueError, match="row 1 has no key"):
        table.drop(np.array([0, 1]))
    for rows in [3], [-1]:
        with pytest.raises(IndexError, match="rows must be in"):
            table.drop(np.array(rows))
    with pytest.raises(ValueError, match="length of live"):
        table.drop(np.array([2]), np.ones(2, np.uint8))
    with pytest.raises(ValueError, match="rows must be below"):
        table.put(["a"], np.array([1]), np.array([2]), np.ones(2, np.uint8))
    assert len(table) == 2
    table.drop(np.array([2]))
    with pytest.raises(ValueError, match="row 2 has no key"):
        table.drop(np.array([2]))
    assert table.find(["a", "b"]).tolist() == [0, -1]


def test_a_gate_is_left_by_those_inside():
    lock = gate.Gate()
    for leave in lock.leave_read, lock.leave_write:
        with pytest.raises(RuntimeError):
            leave()
    with lock.reading(), pytest.raises(RuntimeError):
        lock.leave_write()
    with lock.writing(), pytest.raises(RuntimeError):
        lock.leave_read()
    with lock.reading():
        pass

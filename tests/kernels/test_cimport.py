"""Other projects' Cython may cimport the kernels: such projects are built outside the tree and give the same answers.

One is the project that kernels.md shows, to the letter. The other calls every kernel; its buffers end in a guard,
so that a kernel which needs more room than its .pxd says is caught. Everything of lshfast is imported by the processes
started here, from wherever it is installed.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lshfast import kernels

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kernels.md"
KERNELS = Path(kernels.__file__).parent

SETUP = """
from Cython.Build import cythonize
from setuptools import Extension, setup

setup(name="probe", ext_modules=cythonize([Extension("probe", ["probe.pyx"])], language_level=3))
"""

HELPERS = """
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

GUARD = b"guarded!"


cdef uint64_t* words_of(bytearray out):
    return <uint64_t*>PyByteArray_AS_STRING(out)


cdef const uint64_t* read(bytes data):
    return <const uint64_t*>PyBytes_AS_STRING(data)


def room(size_t count):
    return bytearray(8 * count) + GUARD


def written(bytearray out, size_t count):
    assert out.endswith(GUARD), "the kernel wrote past its buffer"
    return bytes(out[:8 * count])
"""

PROBE = (
    HELPERS
    + """
from lshfast.kernels.bands cimport keys_of_bands
from lshfast.kernels.sets cimport distinct_tokens, equal_slots, jaccard_of_sets, table_of_set
from lshfast.kernels.sketch cimport (classic_padding, draw_classic, draw_fast, rounds_of_fast, sketch_classic,
                                     sketch_fast)
from lshfast.kernels.text cimport (character_tokens, scratch_of_shingles, token_of_bytes, tokens_of_numbers,
                                   word_tokens)


def of_numbers(bytes values, uint64_t seed):
    cdef size_t n = len(values) // 8
    out = room(n)
    tokens_of_numbers(read(values), n, seed, words_of(out))
    return written(out, n)


def set_of(bytes tokens):
    cdef size_t n = len(tokens) // 8
    table, out = room(table_of_set(n)), room(n)
    n = distinct_tokens(read(tokens), n, words_of(table), words_of(out))
    written(table, 0)
    return written(out, n)


def exact(bytes a, bytes b):
    cdef size_t n = len(a) // 8, m = len(b) // 8
    table = room(table_of_set(n))
    return jaccard_of_sets(read(a), n, read(b), m, words_of(table))


def token(bytes data, uint64_t seed):
    return token_of_bytes(<const uint8_t*>PyBytes_AS_STRING(data), len(data), seed)


def shingles(bytes text, bint words, size_t size, uint64_t seed):
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(text)
    cdef size_t length = len(text), most = length // 2 + 1 if words else length, made
    out = room(most)
    scratch = room(scratch_of_shingles())
    cdef uint64_t* tokens = words_of(out)
    cdef uint64_t* space = words_of(scratch)
    with nogil:
        if words:
            made = word_tokens(start, length, size, seed, space, tokens)
        else:
            made = character_tokens(start, length, size, seed, space, tokens)
    written(scratch, 0)
    return None if made == <size_t>-1 else written(out, made)


def classic(bytes tokens, size_t k, uint64_t seed):
    cdef const uint64_t* first = read(tokens)
    cdef size_t n = len(tokens) // 8, padded = classic_padding(k)
    a, b, out = room(padded), room(padded), room(k)
    cdef uint64_t *multipliers = words_of(a), *summands = words_of(b), *slots = words_of(out)
    with nogil:
        draw_classic(seed, k, multipliers, summands)
        sketch_classic(first, n, multipliers, summands, k, slots)
    written(a, padded), written(b, padded)
    return written(out, k)


def fast(bytes tokens, size_t k, uint64_t seed):
    cdef const uint64_t* first = read(tokens)
    cdef size_t n = len(tokens) // 8, count = rounds_of_fast(k)
    a, b, out = room(count), room(k), room(k)
    cdef uint64_t *rounds = words_of(a), *spare = words_of(b), *slots = words_of(out)
    with nogil:
        draw_fast(seed, k, rounds, spare)
        sketch_fast(first, n, rounds, spare, k, slots)
    written(a, count), written(b, k)
    return written(out, k)


def keys(bytes signatures, size_t n, size_t k, size_t bands, size_t rows):
    cdef const uint64_t* first = read(signatures)
    out = room(n * bands)
    cdef uint64_t* buckets = words_of(out)
    with nogil:
        keys_of_bands(first, n, k, bands, rows, buckets)
    return written(out, n * bands)


def agreement(bytes a, bytes b):
    cdef const uint64_t *left = read(a), *right = read(b)
    cdef size_t k = len(a) // 8, count
    with nogil:
        count = equal_slots(left, right, k)
    return count
"""
)

# Prints, as JSON, what the project and what the Python API give for the same input: {name: [ours,
# theirs]}.
COMPARE = """
import json
import os

import numpy as np
import probe

from lshfast import Bands, MinHasher, TokenSets, shingle
from lshfast.kernels import sets

TEXTS = ["the quick brown Fox jumps over the lazy dog " * 9, "Привет, МИР!", "你好世界 hello", "a b c d e f g", "one",
         "x y", "", "...", "ab" * 40]
found = {}


def numbers(data):
    return None if data is None else np.frombuffer(data, np.uint64).tolist()


for seed in (1, 2**64 - 1):
    strings = [text.encode() for text in TEXTS]
    theirs = TokenSets.from_sets([strings], seed=seed).tokens.tolist()
    found[f"token of bytes, seed {seed}"] = [probe.token(text, seed) for text in strings], theirs

for unit, words, size in (("word", True, 1), ("word", True, 5), ("word", True, 256), ("char", False, 9)):
    ours = [numbers(probe.shingles(text.encode(), words, size, 7)) for text in TEXTS]
    theirs = [row.tolist() for row in map(shingle(TEXTS, unit, size, seed=7).__getitem__, range(len(TEXTS)))]
    found[f"{unit} tokens, size {size}"] = ours, theirs

for words in (True, False):
    wrong = [(b"caf\\xe9 au lait", 2), (b"fine", 0), (b"fine", 257)]
    found[f"tokens refused, words {words}"] = [probe.shingles(text, words, size, 1) for text, size in wrong], [None] * 3

rng = np.random.default_rng(1)
rows = [rng.integers(0, 2**64, n, dtype=np.uint64) for n in (0, 1, 3, 40, 1000)]
several = TokenSets(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))
for scheme, ours in (("classic", probe.classic), ("fast", probe.fast)):
    for k in (1, 3, 100, 128, 1025):
        theirs = MinHasher(k, scheme, seed=5).sketch(several)
        found[f"{scheme} signatures, k {k}"] = [numbers(ours(row.tobytes(), k, 5)) for row in rows], theirs.tolist()

signatures = MinHasher(128).sketch(several)
for bands, rows_a_band in ((18, 7), (1, 128), (128, 1)):
    ours = numbers(probe.keys(signatures.tobytes(), len(signatures), 128, bands, rows_a_band))
    theirs = Bands(bands, rows_a_band).keys(signatures).reshape(-1).tolist()
    found[f"keys of {bands} bands of {rows_a_band} rows"] = ours, theirs

near = signatures.copy()
near[1:, ::3] += np.uint64(1)
both = np.concatenate([signatures, near])
left = np.arange(len(near))
ours = [probe.agreement(a.tobytes(), b.tobytes()) for a, b in zip(signatures, near, strict=True)]
found["equal slots"] = ours, sets.agreements(both, left, left + len(near)).tolist()

values = np.array([0, 1, 42, 2**63, 2**64 - 2], np.uint64)
ours = numbers(probe.of_numbers(values.tobytes(), 7))
found["tokens of integers"] = ours, TokenSets.from_sets([values.tolist()], seed=7).tokens.tolist()
repeated = np.array([5, 0, 7, 5, 0, 9, 7, 7], np.uint64)
found["different tokens"] = numbers(probe.set_of(repeated.tobytes())), [5, 0, 7, 9]
some, others = np.arange(100, dtype=np.uint64), np.arange(60, 140, dtype=np.uint64)
found["exact similarities"] = [probe.exact(some.tobytes(), others.tobytes()), probe.exact(b"", b"")], [40 / 140, 0]
print(json.dumps(found))
"""

# The kernels of the other sketches, in a module of their own.
SKETCHES = (
    HELPERS
    + """

from lshfast.kernels.affine cimport lower_affine32, lower_affine64, lower_legacy, sha1_of_bytes
from lshfast.kernels.bits cimport (compare_packed_slots, compare_slots, constant_of_groups, pack_slots, sketch_groups,
                                   words_of_packed)
from lshfast.kernels.cardinality cimport (draw_registers, estimate_classic, estimate_fast, estimate_registers,
                                          update_registers)
from lshfast.kernels.projections cimport (cells_of_doubles, cells_of_floats, draw_cauchy_lines, draw_gaussian_lines,
                                          offsets_of_lines, scratch_of_cells)
from lshfast.kernels.sampling cimport bands_of_bits, hash_masked_bits, sample_bits
from lshfast.kernels.simhash cimport count_simhash, distance_of_codes, draw_simhash, sketch_simhash
from lshfast.kernels.trees cimport codes_of_trees
from lshfast.kernels.weighted cimport draw_shells, log_of, number_tokens, sketch_shells


def sha1(bytes data):
    return sha1_of_bytes(<const uint8_t*>PyBytes_AS_STRING(data), len(data))


def lower(str scheme, bytes hashes, bytes a, bytes b, bytes values):
    cdef size_t n = len(hashes) // 8, k = len(values) // (4 if scheme == "affine32" else 8)
    out = bytearray(values) + GUARD
    cdef const uint64_t *first = read(hashes), *by = read(a), *plus = read(b)
    cdef uint64_t* slots = words_of(out)
    with nogil:
        if scheme == "affine32":
            lower_affine32(first, n, <const uint32_t*>by, <const uint32_t*>plus, k, <uint32_t*>slots)
        elif scheme == "affine64":
            lower_affine64(first, n, by, plus, k, slots)
        else:
            lower_legacy(first, n, by, plus, k, slots)
    assert out.endswith(GUARD)
    return bytes(out[:len(values)])


def groups(bytes tokens, size_t k, uint64_t seed):
    out = room(k)
    sketch_groups(read(tokens), len(tokens) // 8, constant_of_groups(seed), k, words_of(out))
    return written(out, k)


def compared(bytes one, bytes many, size_t n):
    equal, skipped = bytearray(4 * n) + GUARD, bytearray(4 * n) + GUARD
    compare_slots(read(one), read(many), n, len(one) // 8, <int32_t*>words_of(equal), <int32_t*>words_of(skipped))
    assert equal.endswith(GUARD) and skipped.endswith(GUARD)
    return bytes(equal[:4 * n]), bytes(skipped[:4 * n])


def packed(bytes signatures, size_t n, unsigned bits):
    cdef size_t k = len(signatures) // 8 // n, words = words_of_packed(k, bits)
    out = room(n * words)
    pack_slots(read(signatures), n, k, bits, words_of(out))
    return written(out, n * words)


def compared_packed(bytes one, bytes many, size_t n, size_t k, unsigned bits):
    equal = bytearray(4 * n) + GUARD
    compare_packed_slots(read(one), read(many), n, k, bits, <int32_t*>words_of(equal))
    assert equal.endswith(GUARD)
    return bytes(equal[:4 * n])


def code(bytes tokens, size_t words, uint64_t seed):
    constants, out = room(words), room(words)
    draw_simhash(seed, words, words_of(constants))
    sketch_simhash(read(tokens), len(tokens) // 8, read(written(constants, words)), words, words_of(out))
    return written(out, words)


def counters(bytes tokens, bytes weights, size_t words, uint64_t seed):
    constants, out = room(words), room(64 * words)
    draw_simhash(seed, words, words_of(constants))
    count_simhash(read(tokens), NULL if weights is None else <const int64_t*>read(weights), len(tokens) // 8,
                  read(written(constants, words)), words, <int64_t*>words_of(out))
    return written(out, 64 * words)


def distance(bytes a, bytes b, size_t bits):
    return distance_of_codes(read(a), read(b), bits)


def cells(bytes vectors, bint single, bint cauchy, size_t dim, size_t count, double width, uint64_t seed):
    cdef size_t n = len(vectors) // dim // (4 if single else 8), words = dim * count // 2, found
    drawn, starts, values, scratch = room(words), room(count), room(n * count), room(scratch_of_cells(n, count))
    cdef float* lines = <float*>words_of(drawn)
    cdef double* offsets = <double*>words_of(starts)
    cdef double* space = <double*>words_of(scratch)
    (draw_cauchy_lines if cauchy else draw_gaussian_lines)(seed, dim, count, lines)
    offsets_of_lines(seed, count, offsets)
    if single:
        found = cells_of_floats(<const float*>read(vectors), n, dim, lines, offsets, count, width, space,
                                words_of(values))
    else:
        found = cells_of_doubles(<const double*>read(vectors), n, dim, lines, offsets, count, width, space,
                                 words_of(values))
    written(drawn, words)
    written(starts, count)
    written(scratch, scratch_of_cells(n, count))
    return found, written(values, n * count)


def sampled(bytes codes, size_t words, bytes positions):
    cdef size_t n = len(codes) // 8 // words, count = len(positions) // 8, width = (count + 63) // 64
    scratch, out = room(64 * words), room(n * width)
    sample_bits(read(codes), n, words, read(positions), count, words_of(scratch), words_of(out))
    written(scratch, 64 * words)
    return written(out, n * width)


def banded(bytes codes, size_t words, size_t bands, size_t rows):
    cdef size_t n = len(codes) // 8 // words
    out = room(n * bands)
    bands_of_bits(read(codes), n, words, bands, rows, words_of(out))
    return written(out, n * bands)


def masked(bytes codes, size_t words, bytes masks):
    cdef size_t n = len(codes) // 8 // words, count = len(masks) // 8 // words
    out = room(n * count)
    hash_masked_bits(read(codes), n, words, read(masks), count, words_of(out))
    return written(out, n * count)


def shells(bytes tokens, bytes weights, size_t k, uint64_t seed):
    out = room(k)
    sketch_shells(read(tokens), <const double*>read(weights), len(tokens) // 8, draw_shells(seed), k, words_of(out))
    return written(out, k)


def logarithm(double x):
    return log_of(x)


def numbered(uint64_t token, size_t count):
    out = room(count)
    number_tokens(token, count, words_of(out))
    return written(out, count)


def registers(bytes tokens, unsigned p, uint64_t seed):
    out = bytearray(1 << p) + GUARD
    cdef uint8_t* kept = <uint8_t*>words_of(out)
    update_registers(read(tokens), len(tokens) // 8, draw_registers(seed), p, kept)
    assert out.endswith(GUARD)
    return bytes(out[:1 << p]), estimate_registers(kept, p)


def size(bytes signature, str scheme):
    estimate = estimate_classic if scheme == "classic" else estimate_fast
    return estimate(read(signature), len(signature) // 8)


def codes(bytes signature, size_t trees):
    out = room(trees)
    codes_of_trees(read(signature), len(signature) // 8, trees, words_of(out))
    return written(out, trees)
"""
)

COMPARE_SKETCHES = """
import hashlib
import json
import os
import math

import numpy as np
import sketches

from lshfast import MinHasher, TokenSets
from lshfast.datasketch import MinHash
from lshfast.families import BitSampling
from lshfast.kernels.trees import Run
from lshfast.sketch.bits import BBits
from lshfast.families import CauchyLines, GaussianLines
from lshfast.sketch import DistinctCounter, estimate_sizes
from lshfast.sketch.one_permutation import OnePermutation
from lshfast.sketch.simhash import SimHasher
from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets

found = {}
rng = np.random.default_rng(1)
rows = [rng.integers(0, 2**64, n, dtype=np.uint64) for n in (0, 1, 3, 40, 1000)]
several = TokenSets(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))


def numbers(data, kind=np.uint64):
    return np.frombuffer(data, kind).tolist()


def row(signatures, i):
    return np.ascontiguousarray(signatures[i]).tobytes()


texts = [b"", b"lsh", bytes(200)]
found["sha1"] = [sketches.sha1(text) for text in texts], [
    int.from_bytes(hashlib.sha1(text).digest()[:8], "little") for text in texts
]
for scheme in ("affine32", "affine64", "legacy"):
    for k in (1, 33, 128):
        minhash = MinHash(k, 7, hashfunc=int, scheme=scheme)
        hashes = rng.integers(0, 2**32, 50, dtype=np.uint64)
        a, b = (row(minhash.permutations, i) for i in range(2))
        ours = sketches.lower(scheme, hashes.tobytes(), a, b, minhash.hashvalues.tobytes())
        minhash.update_batch(hashes.tolist())
        found[f"lower {scheme}, k {k}"] = numbers(ours, minhash.hashvalues.dtype), minhash.hashvalues.tolist()

for k in (1, 100, 128):
    theirs = OnePermutation(k, 5).sketch(several)
    found[f"one permutation, k {k}"] = [numbers(sketches.groups(one.tobytes(), k, 5)) for one in rows], theirs.tolist()
    empty = np.uint64(2**64 - 1)
    equal = [((theirs[2] == other) & (other != empty)).sum() for other in theirs]
    skipped = [((theirs[2] == empty) & (other == empty)).sum() for other in theirs]
    ours = sketches.compared(row(theirs, 2), theirs.tobytes(), len(theirs))
    found[f"one permutation compared, k {k}"] = (
        [numbers(one, np.int32) for one in ours], [np.array(equal).tolist(), np.array(skipped).tolist()]
    )

hasher = MinHasher(100, seed=5)
signatures = hasher.sketch(several)
near = signatures.copy()
near[1:, ::3] += np.uint64(1)
for bits in (1, 2, 4, 8, 16):
    b_bits = BBits(bits, hasher)
    theirs, other = b_bits.pack(signatures), b_bits.pack(near)
    ours = sketches.packed(np.ascontiguousarray(signatures).tobytes(), len(rows), bits)
    found[f"packed, {bits} bits"] = numbers(ours), theirs.reshape(-1).tolist()
    ours = numbers(sketches.compared_packed(row(theirs, 3), other.tobytes(), len(rows), 100, bits), np.int32)
    estimates = b_bits.similarity(theirs[3:4], other)
    shares = [(count / 100 - b_bits.chance) / (1 - b_bits.chance) if count >= 0 else 0.0 for count in ours]
    found[f"packed compared, {bits} bits"] = np.round(shares, 9).tolist(), estimates.round(9).tolist()

for bits in (64, 128):
    simhasher = SimHasher(bits, 5)
    theirs = simhasher.sketch(several)
    ours = [numbers(sketches.code(one.tobytes(), bits // 64, 5)) for one in rows]
    found[f"simhash, {bits} bits"] = ours, theirs.tolist()
    ours = [numbers(sketches.counters(one.tobytes(), None, bits // 64, 5), np.int64) for one in rows]
    found[f"simhash counters, {bits} bits"] = ours, simhasher.counters(several).tolist()
    ours = [sketches.distance(row(theirs, 1), row(theirs, i), bits) for i in range(1, len(rows))]
    found[f"simhash distance, {bits} bits"] = ours, simhasher.distance(theirs[1:2], theirs[1:]).tolist()
bits = rng.integers(0, 2**64, (70, 3), np.uint64)
sampling = BitSampling(192, 5)
positions = sampling.positions(100).astype(np.uint64)
theirs = np.ascontiguousarray(sampling.codes(bits, 100).words)
found["sampled bits"] = numbers(sketches.sampled(bits.tobytes(), 3, positions.tobytes())), theirs.reshape(-1).tolist()
ours = numbers(sketches.banded(theirs.tobytes(), 2, 7, 14))
found["sampled buckets"] = ours, sampling.buckets(bits, 7, 14).reshape(-1).tolist()
ours = numbers(sketches.masked(bits.tobytes(), 3, np.full((1, 3), 2**64 - 1, np.uint64).tobytes()))
found["sampled hashes"] = [ours.index(one) for one in ours], list(range(70))

weights = [rng.integers(-9, 9, len(one)) for one in rows]
both = [(a.tobytes(), b.tobytes()) for a, b in zip(rows, weights, strict=True)]
ours = [numbers(sketches.counters(tokens, weight, 1, 5), np.int64) for tokens, weight in both]
found["simhash weights"] = ours, SimHasher(64, 5).counters(several, np.concatenate(weights)).tolist()

for kind, family in ((np.float32, GaussianLines), (np.float64, CauchyLines)):
    points = rng.standard_normal((100, 30)).astype(kind)
    is_float, is_cauchy = kind == np.float32, family is CauchyLines
    for n in (1, 5, 100):
        done, ours = sketches.cells(points[:n].tobytes(), is_float, is_cauchy, 30, 20, 1.5, 5)
        found[f"lines, {n} of {kind.__name__}"] = [done, *numbers(ours)], [
            n, *family(30, 1.5, 5).hash(points[:n], 20).ravel().tolist()
        ]
points[70] = np.inf
found["lines of infinity"] = sketches.cells(points.tobytes(), False, False, 30, 20, 1.5, 5)[0], 70

weights = [rng.gamma(1, 3, len(one)) for one in rows]
weighted = WeightedSets(several.offsets, several.tokens, np.concatenate(weights))
for k in (1, 64):
    ours = [numbers(sketches.shells(a.tobytes(), b.tobytes(), k, 5)) for a, b in zip(rows, weights, strict=True)]
    found[f"weighted, k {k}"] = ours, WeightedMinHasher(k, seed=5).sketch(weighted).tolist()
found["weighted numbers"] = (
    numbers(sketches.numbered(77, 5)), WeightedSets([0, 1], [77], [5.0]).pairs().tokens.tolist()
)
points = (1e-300, 0.5, 1.0, 2.0, 10.0, 1e300)
found["weighted log"] = [round(sketches.logarithm(x), 9) for x in points], [round(math.log(x), 9) for x in points]

for p in (4, 12):
    counter = DistinctCounter(p, 5)
    theirs = counter.sketch(several)
    ours = [sketches.registers(one.tobytes(), p, 5) for one in rows]
    found[f"registers, p {p}"] = [numbers(kept, np.uint8) for kept, _ in ours], theirs.tolist()
    found[f"registers counted, p {p}"] = [estimate for _, estimate in ours], counter.count(theirs).tolist()
for scheme in ("classic", "fast"):
    signatures = MinHasher(64, scheme).sketch(several)
    found[f"sizes, {scheme}"] = [sketches.size(row(signatures, i), scheme) for i in range(len(rows))], [
        *estimate_sizes(signatures).tolist()
    ]

signatures = np.ascontiguousarray(MinHasher(96).sketch(several))
for trees in (1, 12, 96):
    theirs = [Run.build(signatures, np.array([i]), trees).codes[:, 0].tolist() for i in range(1, len(rows))]
    ours = [numbers(sketches.codes(row(signatures, i), trees)) for i in range(1, len(rows))]
    found[f"codes of {trees} trees"] = ours, theirs
print(json.dumps(found))
"""

QUESTIONS = [
    "token of bytes",
    "word tokens",
    "char tokens",
    "tokens refused",
    "classic signatures",
    "fast signatures",
    "keys",
    "equal slots",
]
SKETCH_QUESTIONS = [
    "sha1",
    "lower",
    "one permutation",
    "packed",
    "simhash",
    "lines",
    "sampled",
    "weighted",
    "registers",
    "sizes",
    "codes",
]

NO_COMPILER = 3
COMPILE = f"""
import sys
import setuptools
from distutils.ccompiler import new_compiler
from distutils.errors import CCompilerError, DistutilsError
from distutils.sysconfig import customize_compiler

try:
    compiler = new_compiler()
    customize_compiler(compiler)
    compiler.compile(["empty.c"])
except (CCompilerError, DistutilsError):
    sys.exit({NO_COMPILER})
"""


def run(folder, *command):
    """Run Python in the folder; return how that ended, and what it wrote. It compiles without optimisation."""
    quick = os.environ | {"CFLAGS": "-O0"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=quick,
        capture_output=True,
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    """Skip the test where nothing can be compiled."""
    if importlib.util.find_spec("Cython") is None:
        pytest.skip("Cython is not installed")
    folder = tmp_path_factory.mktemp("compiler")
    (folder / "empty.c").write_text("int x;\n", encoding="utf-8")
    tried = run(folder, "-c", COMPILE)
    if tried.returncode == NO_COMPILER:
        pytest.skip("no C compiler is installed")
    assert tried.returncode == 0, tried.stderr


def asked(folder, name, source, compare):
    """Build a module in a folder, and return what it and the Python API answered, by the name of the question."""
    for file, content in (("setup.py", SETUP), ("compare.py", compare)):
        (folder / file).write_text(content.replace("probe", name), encoding="utf-8")
    (folder / f"{name}.pyx").write_text(source, encoding="utf-8")
    built = run(folder, "setup.py", "build_ext", "--inplace")
    assert built.returncode == 0, built.stdout + built.stderr
    compared = run(folder, "compare.py")
    assert compared.returncode == 0, compared.stderr
    return json.loads(compared.stdout)


def judge(answers, question):
    of_question = {
        name: pair for name, pair in answers.items() if name.startswith(question)
    }
    assert of_question
    for name, (ours, theirs) in of_question.items():
        assert ours == theirs, name


@pytest.fixture(scope="module")
def answers(compiler, tmp_path_factory):
    """What the project and the Python API answered, by the name of the question."""
    return asked(tmp_path_factory.mktemp("probe"), "probe", PROBE, COMPARE)


@pytest.fixture(scope="module")
def answers_of_sketches(compiler, tmp_path_factory):
    """The same of the other sketches."""
    return asked(
        tmp_path_factory.mktemp("sketches"), "sketches", SKETCHES, COMPARE_SKETCHES
    )


@pytest.mark.some_cases
@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answers_are_those_of_the_python_api(answers, question):
    judge(answers, question)


@pytest.mark.some_cases
@pytest.mark.slow
@pytest.mark.parametrize("question", SKETCH_QUESTIONS)
def test_the_answers_of_the_sketches_are_those_of_the_python_api(
    answers_of_sketches, question
):
    judge(answers_of_sketches, question)


# Prints, as JSON, what the page's project and the Python API give for the same texts: {name: [ours,
# theirs]}.
BESIDE = """
import json
import os

import near
import numpy as np

from lshfast import LSHIndex, MinHasher, TokenSets, shingle
from check import texts

rng = np.random.default_rng(3)
words = rng.integers(0, 50, (200, 30)).astype(str)
words[100:, :-2] = words[:100, :-2]
several = [*texts, *map(" ".join, words)]
ours = near.sketch(several, 2, seed=9)
theirs = MinHasher(128, "fast", seed=9).sketch(shingle(several, size=2, seed=9))
index = LSHIndex(0.5, 128, bands=18, rows_per_band=7, seed=9)
index.insert(range(len(several)), theirs)
pairs = index.pairs(threshold=0.5)
print(json.dumps({
    "token": [near.token(b"lsh", 5), TokenSets.from_sets([[b"lsh"]], seed=5).tokens.item()],
    "signatures": [ours.tolist(), theirs.tolist()],
    "pairs": [near.pairs(ours, 0.5), sorted([min(a, b), max(a, b), s] for a, b, s in pairs)],
}))
"""


def shown(page):
    """Return the files that the page shows, by name, and what the last of them prints."""
    files = dict(
        re.findall(
            r"^(?:[^\n]* )?`([\w.]+)`:\n\n```\w+\n(.*?)^```$",
            page,
            re.MULTILINE | re.DOTALL,
        )
    )
    return files, re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]


@pytest.fixture(scope="module")
def project(compiler, tmp_path_factory):
    """The folder of the page's project, built by the page's command, and what it has to print."""
    page = PAGE.read_text(encoding="utf-8")
    files, printed = shown(page)
    assert list(files) == ["pyproject.toml", "setup.py", "near.pyx", "check.py"]
    folder = tmp_path_factory.mktemp("near")
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    command = "pip install --no-build-isolation ."
    assert f"\n{command}\n" in page
    built = run(folder, "-m", *command.split(), "--no-deps", "--target", ".", "--quiet")
    assert built.returncode == 0, built.stdout + built.stderr
    return folder, printed


@pytest.mark.slow
def test_the_page_prints_what_it_says(project):
    folder, printed = project
    checked = run(folder, "check.py")
    assert (checked.stdout, checked.stderr) == (printed, "")


@pytest.mark.slow
def test_the_page_answers_as_the_python_api(project):
    folder, _ = project
    (folder / "beside.py").write_text(BESIDE, encoding="utf-8")
    compared = run(folder, "beside.py")
    assert compared.returncode == 0, compared.stderr
    answers = json.loads(compared.stdout.splitlines()[-1])
    assert len(answers["pairs"][0]) > 80
    for name, (ours, theirs) in answers.items():
        assert ours == theirs, name


# The modules whose functions are for this package alone.
OWN = {"arrays", "cpu", "gate", "guards", "keys", "names"}
OWN |= {"tables_codes", "tables_files", "tables_queries", "tables_search"}


def declared(path):
    """Return the functions that a .pxd file declares: their types and names, arguments, and the comment above them."""
    paragraphs = path.read_text(encoding="utf-8").split("\n\n")
    head = "\n".join(
        line for line in paragraphs[0].splitlines() if line.startswith("#")
    )
    comment = ""
    for paragraph in paragraphs:
        found = re.findall(
            r"^cdef (?:inline )?([^(\n]+)\(([^)]*)\)", paragraph, re.MULTILINE
        )
        above = "\n".join(
            line for line in paragraph.splitlines() if line.startswith("#")
        )
        comment = above or comment
        for name, arguments in found:
            yield name, arguments, head + "\n" + comment


def test_the_page_names_every_function():
    offered = [path for path in KERNELS.glob("*.pxd") if path.stem not in OWN]
    functions = {
        name.split()[-1].lstrip("*")
        for path in offered
        for name, _, _ in declared(path)
    }
    assert len(functions) > 40
    assert (
        functions - set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
        == set()
    )


@pytest.mark.parametrize(
    "path", sorted(KERNELS.glob("*.pxd")), ids=lambda path: path.stem
)
def test_comments_name_every_argument(path):
    for name, arguments, comment in declared(path):
        names = set(
            re.findall(
                r"(\w+)(?:\[[^]]*\])?\s*(?:,|$)", re.sub(r"\[[^]]*\]", "", arguments)
            )
        )
        assert names - set(re.findall(r"`(\w+)`", comment)) == set(), name

"""Other projects' Cython may cimport the kernels: such a project is built outside the tree and gives the same answers.

Everything of lshfast is imported by the processes started here, from wherever it is installed. The project's buffers
end in a guard, so that a kernel which needs more room than its .pxd says is caught.
"""

import importlib.util
import json
import subprocess
import sys

import pytest

SETUP = """
from Cython.Build import cythonize
from setuptools import Extension, setup

setup(name="probe", ext_modules=cythonize([Extension("probe", ["probe.pyx"])], language_level=3))
"""

PROBE = """
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t, uint64_t

from lshfast.kernels.bands cimport keys_of_bands
from lshfast.kernels.sets cimport equal_slots
from lshfast.kernels.sketch cimport (classic_padding, draw_classic, draw_fast, rounds_of_fast, sketch_classic,
                                     sketch_fast)
from lshfast.kernels.text cimport character_tokens, token_of_bytes, word_tokens

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


def token(bytes data, uint64_t seed):
    return token_of_bytes(<const uint8_t*>PyBytes_AS_STRING(data), len(data), seed)


def shingles(bytes text, bint words, size_t size, uint64_t seed):
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(text)
    cdef size_t length = len(text), most = length // 2 + 1 if words else length, made
    out = room(most)
    cdef uint64_t* tokens = words_of(out)
    with nogil:
        if words:
            made = word_tokens(start, length, size, seed, tokens)
        else:
            made = character_tokens(start, length, size, seed, tokens)
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

# Prints, as JSON, what the project and what the Python API give for the same input: {name: [ours, theirs]}.
COMPARE = """
import json

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
    """Run Python in the folder; return how that ended, and what it wrote."""
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the project and the Python API answered, by the name of the question."""
    if importlib.util.find_spec("Cython") is None:
        pytest.skip("Cython is not installed")
    folder = tmp_path_factory.mktemp("probe")
    for name, source in (("setup.py", SETUP), ("probe.pyx", PROBE), ("compare.py", COMPARE), ("empty.c", "int x;\n")):
        (folder / name).write_text(source, encoding="utf-8")
    tried = run(folder, "-c", COMPILE)
    if tried.returncode == NO_COMPILER:
        pytest.skip("no C compiler is installed")
    assert tried.returncode == 0, tried.stderr
    built = run(folder, "setup.py", "build_ext", "--inplace")
    assert built.returncode == 0, built.stdout + built.stderr
    compared = run(folder, "compare.py")
    assert compared.returncode == 0, compared.stderr
    return json.loads(compared.stdout)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answers_are_those_of_the_python_api(answers, question):
    asked = {name: pair for name, pair in answers.items() if name.startswith(question)}
    assert asked
    for name, (ours, theirs) in asked.items():
        assert ours == theirs, name

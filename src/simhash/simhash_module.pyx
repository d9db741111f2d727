"""SimHash codes of token sets and of vectors: the kernels of another second stage."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil

cdef extern from "simhash/simhash.h":
    const size_t SIMHASH_MAX_WORDS
    cdef enum simhash_zero_rule:
        SIMHASH_ZERO_IS_MINUS
        SIMHASH_ZERO_IS_DRAWN
    struct simhash_kernels:
        void (*hash)(const uint64_t*, size_t, uint64_t, uint64_t*) noexcept nogil
    const simhash_kernels** simhash_levels
    void simhash_constants(uint64_t, size_t, uint64_t*) nogil
    void simhash_code(const simhash_kernels*, const uint64_t*, size_t, const uint64_t*, size_t, uint64_t*) nogil
    void simhash_counters(const simhash_kernels*, const uint64_t*, const int64_t*, size_t, const uint64_t*, size_t,
                          int64_t*) nogil
    void simhash_dots(const simhash_kernels*, const uint64_t*, size_t, const int64_t*, size_t, int64_t*) nogil
    void simhash_dots_of_doubles(const simhash_kernels*, const uint64_t*, size_t, const double*, size_t, double*) nogil
    bint simhash_weights_fit(const int64_t*, size_t) nogil
    void simhash_settle(uint64_t*, const uint64_t*, size_t, simhash_zero_rule, uint64_t) nogil
    size_t simhash_distance(const uint64_t*, const uint64_t*, size_t) nogil

cdef const int* in_use = level_in_use()


cdef inline const simhash_kernels* kernels() noexcept nogil:
    return simhash_levels[in_use[0]]


MAX_BITS = 64 * SIMHASH_MAX_WORDS


cdef _check_words(size_t words):
    if not 1 <= words <= SIMHASH_MAX_WORDS:
        raise ValueError(f"a code must have 1..{SIMHASH_MAX_WORDS} words, not {words}")


cdef enum:
    LONG_STEPS = 64 * WORK  # steps, tokens times words, of a row that is counted in pieces


cdef _check_shape(str name, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t n, Py_ssize_t k):
    if rows != n or columns != k:
        raise ValueError(f"{name} must have shape ({n}, {k}), not ({rows}, {columns})")


cdef _check_offsets(const int64_t[::1] offsets, size_t m):
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, m):
        raise ValueError(f"offsets must rise from 0 to at most {m}, the number of tokens")


def constants(uint64_t seed, size_t words):
    """Return the constants of a seed: uint64 (words,)."""
    _check_words(words)
    array = np.empty(words, np.uint64)
    cdef uint64_t[::1] out = array
    simhash_constants(seed, words, &out[0])
    return array


def hashes(const uint64_t[::1] tokens not None, uint64_t constant):
    """Return the words of hash of tokens that a constant gives: uint64 (m,)."""
    tokens = aligned(tokens)
    array = np.empty(len(tokens), np.uint64)
    cdef uint64_t[::1] out = array
    cdef const simhash_kernels* level = kernels()
    if len(tokens):
        with nogil:
            level.hash(&tokens[0], tokens.shape[0], constant, &out[0])
    return array


def overflowing(const int64_t[::1] offsets not None, const int64_t[::1] weights not None):
    """Return the first row of (offsets, weights) whose numbers, without signs, add up to 2**63 or more; -1 for none."""
    offsets, weights = aligned(offsets), aligned(weights)
    cdef Py_ssize_t i, n = len(offsets) - 1
    cdef const int64_t* first = &weights[0] if len(weights) else NULL
    _check_offsets(offsets, len(weights))
    with nogil:
        for i in range(n):
            if not simhash_weights_fit(first + offsets[i], offsets[i + 1] - offsets[i]):
                break
        else:
            i = -1
    return i


def codes(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
          const uint64_t[::1] constants not None, uint64_t[:, ::1] out not None):
    """Write the codes of the rows of (offsets, tokens) to out, (n, words), each token of weight 1."""
    offsets, tokens, constants = aligned(offsets), aligned(tokens), aligned(constants)
    cdef Py_ssize_t i, n = out.shape[0]
    cdef size_t words = len(constants), count, done = 0
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    cdef const simhash_kernels* level = kernels()
    _check_words(words)
    _check_offsets(offsets, len(tokens))
    _check_shape("out", out.shape[0], out.shape[1], len(offsets) - 1, words)
    if n:
        check_out(&out[0, 0], sizeof(uint64_t))
    with nogil:
        for i in range(n):
            count = offsets[i + 1] - offsets[i]
            if count <= LONG_STEPS // words:
                simhash_code(level, first + offsets[i], count, &constants[0], words, &out[i, 0])
            else:
                with gil:
                    _long_code(level, first + offsets[i], count, constants, &out[i, 0])
            done += (count + 1) * words
            if done >= WORK:
                done = 0
                pause(&last_pause)


cdef _long_code(const simhash_kernels* level, const uint64_t* tokens, size_t n, const uint64_t[::1] constants,
                uint64_t* code):
    """Write the code of a long row."""
    cdef size_t words = len(constants), bit
    cdef int64_t[::1] sums = np.zeros(64 * words, np.int64)
    cdef uint64_t[::1] zero = np.zeros(words, np.uint64)
    _count_in_pieces(level, tokens, NULL, n, constants, &sums[0])
    memset(code, 0, words * sizeof(uint64_t))
    for bit in range(64 * words):
        code[bit // 64] |= <uint64_t>(sums[bit] > 0) << bit % 64
        zero[bit // 64] |= <uint64_t>(sums[bit] == 0) << bit % 64
    simhash_settle(code, &zero[0], 64 * words, SIMHASH_ZERO_IS_MINUS, 0)


cdef _count_in_pieces(const simhash_kernels* level, const uint64_t* tokens, const int64_t* weights, size_t n,
                      const uint64_t[::1] constants, int64_t* counters):
    """Write the counters of a long row."""
    cdef size_t words = len(constants), at = 0, some, i
    cdef uint64_t last_pause = 0
    cdef int64_t[::1] part = np.empty(64 * words, np.int64)
    memset(counters, 0, 64 * words * sizeof(int64_t))
    with nogil:
        while at < n:
            some = min(n - at, LONG_STEPS // words)
            simhash_counters(level, tokens + at, weights + at if weights != NULL else NULL, some, &constants[0], words,
                             &part[0])
            for i in range(64 * words):
                counters[i] = <int64_t>(<uint64_t>counters[i] + <uint64_t>part[i])
            at += some
            pause(&last_pause)


def counters(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None, const int64_t[::1] weights,
             const uint64_t[::1] constants not None, int64_t[:, ::1] out not None):
    """Write the counters of the rows of (offsets, tokens, weights) to out, (n, 64 words); no weights are ones.

    Rows that are `overflowing` have theirs mod 2**64.
    """
    offsets, tokens, constants = aligned(offsets), aligned(tokens), aligned(constants)
    if weights is not None:
        weights = aligned(weights)
    cdef Py_ssize_t i, n = out.shape[0]
    cdef size_t words = len(constants), count, done = 0
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    cdef const int64_t* weight = NULL
    cdef const simhash_kernels* level = kernels()
    cdef bint weighted = weights is not None and len(weights) > 0
    _check_words(words)
    _check_offsets(offsets, len(tokens))
    _check_shape("out", out.shape[0], out.shape[1], len(offsets) - 1, 64 * words)
    if weights is not None and len(weights) != len(tokens):
        raise ValueError(f"weights must be as many as the tokens, {len(tokens)}, not {len(weights)}")
    if weighted:
        weight = &weights[0]
    if n:
        check_out(&out[0, 0], sizeof(int64_t))
    with nogil:
        for i in range(n):
            count = offsets[i + 1] - offsets[i]
            if count <= LONG_STEPS // words:
                simhash_counters(level, first + offsets[i], weight + offsets[i] if weighted else NULL, count,
                                 &constants[0], words, &out[i, 0])
            else:
                with gil:
                    _count_in_pieces(level, first + offsets[i], weight + offsets[i] if weighted else NULL, count,
                                     constants, &out[i, 0])
            done += (count + 1) * words
            if done >= WORK:
                done = 0
                pause(&last_pause)


def dots(const int64_t[:, ::1] vectors not None, const uint64_t[:, ::1] masks not None, int64_t[:, ::1] out not None):
    """Write the dot products of integer vectors, (n, dim), with those of masks, (dim, words), to out, (n, 64 words).

    Rows that are `overflowing` have theirs mod 2**64.
    """
    vectors, masks = aligned_rows(vectors), aligned_rows(masks)
    cdef Py_ssize_t i, n = vectors.shape[0]
    cdef size_t dim = vectors.shape[1], words = masks.shape[1], done = 0
    cdef uint64_t last_pause = 0
    cdef const simhash_kernels* level = kernels()
    _check_words(words)
    _check_shape("masks", masks.shape[0], masks.shape[1], dim, words)
    _check_shape("out", out.shape[0], out.shape[1], n, 64 * words)
    if n == 0 or dim == 0:
        out[...] = 0
        return
    check_out(&out[0, 0], sizeof(int64_t))
    with nogil:
        for i in range(n):
            simhash_dots(level, &masks[0, 0], words, &vectors[i, 0], dim, &out[i, 0])
            done += 64 * words * dim
            if done >= WORK:
                done = 0
                pause(&last_pause)


def dots_of_doubles(const double[:, ::1] vectors not None, const uint64_t[:, ::1] masks not None,
                    double[:, ::1] out not None):
    """Write the dot products of vectors, (n, dim), with those of masks, (dim, words), to out, (n, 64 words)."""
    vectors, masks = aligned_rows(vectors), aligned_rows(masks)
    cdef Py_ssize_t i, n = vectors.shape[0]
    cdef size_t dim = vectors.shape[1], words = masks.shape[1], done = 0
    cdef uint64_t last_pause = 0
    cdef const simhash_kernels* level = kernels()
    _check_words(words)
    _check_shape("masks", masks.shape[0], masks.shape[1], dim, words)
    _check_shape("out", out.shape[0], out.shape[1], n, 64 * words)
    if n == 0 or dim == 0:
        out[...] = 0
        return
    check_out(&out[0, 0], sizeof(double))
    with nogil:
        for i in range(n):
            simhash_dots_of_doubles(level, &masks[0, 0], words, &vectors[i, 0], dim, &out[i, 0])
            done += 64 * words * dim
            if done >= WORK:
                done = 0
                pause(&last_pause)


def settle(uint64_t[:, ::1] codes not None, const uint64_t[:, ::1] zeros not None, size_t bits, int rule,
           uint64_t seed):
    """Give the bits of codes, (n, words), whose dot products are zero their values, by the rule of that number."""
    zeros = aligned_rows(zeros)
    cdef Py_ssize_t i, n = codes.shape[0]
    cdef size_t words = codes.shape[1]
    _check_words(words)
    _check_shape("zeros", zeros.shape[0], zeros.shape[1], n, words)
    if not 64 * (words - 1) < bits <= 64 * words:
        raise ValueError(f"bits must be in {64 * (words - 1) + 1}..{64 * words}, not {bits}")
    if not SIMHASH_ZERO_IS_MINUS <= rule <= SIMHASH_ZERO_IS_DRAWN:
        raise ValueError(f"rule must be in 0..2, not {rule}")
    if n:
        check_out(&codes[0, 0], sizeof(uint64_t))
    with nogil:
        for i in range(n):
            simhash_settle(&codes[i, 0], &zeros[i, 0], bits, <simhash_zero_rule>rule, seed)


def distances(const uint64_t[:, ::1] a not None, const uint64_t[:, ::1] b not None, size_t bits,
              int32_t[::1] out not None):
    """Write of each code of b, (n, words), the distance from that of a, (n, words), or from a's one, (1, words)."""
    a, b = aligned_rows(a), aligned_rows(b)
    cdef Py_ssize_t i, n = b.shape[0], step = 1 if a.shape[0] == n else 0
    cdef size_t words = b.shape[1]
    _check_words(words)
    _check_shape("a", a.shape[0], a.shape[1], n if step else 1, words)
    if len(out) != n:
        raise ValueError(f"out must have {n} elements, one for each row of b, not {len(out)}")
    if n:
        check_out(&out[0], sizeof(int32_t))
    if not 64 * (words - 1) < bits <= 64 * words:
        raise ValueError(f"bits must be in {64 * (words - 1) + 1}..{64 * words}, not {bits}")
    with nogil:
        for i in range(n):
            out[i] = <int32_t>simhash_distance(&a[step * i, 0], &b[i, 0], bits)


cdef void draw_simhash(uint64_t seed, size_t words, uint64_t* constants) noexcept nogil:
    simhash_constants(seed, words, constants)


cdef void sketch_simhash(const uint64_t* tokens, size_t n, const uint64_t* constants, size_t words,
                         uint64_t* code) noexcept nogil:
    simhash_code(kernels(), tokens, n, constants, words, code)


cdef void count_simhash(const uint64_t* tokens, const int64_t* weights, size_t n, const uint64_t* constants,
                        size_t words, int64_t* counters) noexcept nogil:
    simhash_counters(kernels(), tokens, weights, n, constants, words, counters)


cdef size_t distance_of_codes(const uint64_t* a, const uint64_t* b, size_t bits) noexcept nogil:
    return simhash_distance(a, b, bits)

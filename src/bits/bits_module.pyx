"""Signatures of one permutation, signatures of few bits a slot, and comparisons of one signature with many."""

from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from lshfast.kernels.guards import sketch_in_pieces

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, array_of, check_out, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    size_t longest_row(const int64_t*, size_t) nogil

cdef extern from "field.h":
    cdef enum domain:
        DOMAIN_GROUP
    uint64_t draw(uint64_t, domain, uint64_t) nogil

cdef extern from "bits/bits.h":
    const size_t SKETCH_MAX_SLOTS
    struct sketch_kernels:
        pass
    const sketch_kernels** sketch_levels
    struct bits_kernels:
        pass
    const bits_kernels** bits_levels
    size_t bits_words(size_t, unsigned) nogil
    bint bits_is_width(unsigned) nogil
    void bits_group_signature(const sketch_kernels*, const uint64_t*, size_t, uint64_t, size_t, uint64_t*) nogil
    void bits_pack(const bits_kernels*, const uint64_t*, size_t, size_t, unsigned, uint64_t*) nogil
    void bits_compare(const bits_kernels*, const uint64_t*, size_t, const uint64_t*, size_t,
                      size_t, unsigned, int32_t*) nogil

cdef extern from "slots/slots.h":
    struct slots_kernels:
        void (*compare)(const uint64_t*, size_t, const uint64_t*, size_t, size_t, int32_t*, int32_t*) noexcept nogil
    const slots_kernels** slots_levels

cdef const int* in_use = level_in_use()

cdef enum:
    LONG_TOKENS = 4 * WORK  # tokens of a row that is sketched in pieces


cdef inline const bits_kernels* kernels() noexcept nogil:
    return bits_levels[in_use[0]]


cdef _check_slots(size_t k):
    if not 1 <= k <= SKETCH_MAX_SLOTS:
        raise ValueError(f"a signature must have 1..{SKETCH_MAX_SLOTS} slots, not {k}")


cdef unsigned _width(int bits) except 0:
    if bits < 1 or not bits_is_width(bits):
        raise ValueError(f"bits must be one of 1, 2, 4, 8, 16, not {bits}")
    return bits


def group_constant(uint64_t seed):
    """Return the constant of a seed that `groups` takes."""
    return draw(seed, DOMAIN_GROUP, 0)


def groups(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None, uint64_t constant,
           uint64_t[:, ::1] out not None):
    """Write the least values of k groups of each row of (offsets, tokens) to out, (n, k), with group_constant(seed)."""
    offsets, tokens = aligned(offsets), aligned(tokens)
    cdef Py_ssize_t i, n = out.shape[0]
    cdef size_t k = out.shape[1], count, done = 0
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    cdef const sketch_kernels* level = sketch_levels[in_use[0]]
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, len(tokens)):
        raise ValueError(f"offsets must rise from 0 to at most {len(tokens)}, the number of tokens")
    if n != len(offsets) - 1:
        raise ValueError(f"out must have {len(offsets) - 1} rows, not {n}")
    _check_slots(k)
    if n:
        check_out(&out[0, 0], sizeof(uint64_t))
    with nogil:
        for i in range(n):
            count = offsets[i + 1] - offsets[i]
            if count > LONG_TOKENS:
                continue
            bits_group_signature(level, first + offsets[i], count, constant, k, &out[i, 0])
            done += count + k
            if done >= WORK:
                done = 0
                pause(&last_pause)
    if longest_row(&offsets[0], n) > LONG_TOKENS:
        sketch_in_pieces(groups, array_of(offsets), (tokens, constant), array_of(out), LONG_TOKENS)


cdef size_t _step(const uint64_t[:, ::1] a, const uint64_t[:, ::1] b, size_t width) except? 1:
    """Return how far a's rows are apart, 0 where its one row is compared with all of b's."""
    if <size_t>a.shape[1] != width or <size_t>b.shape[1] != width:
        raise ValueError(f"a and b must have rows of {width}, not of {a.shape[1]} and {b.shape[1]}")
    if a.shape[0] != 1 and a.shape[0] != b.shape[0]:
        raise ValueError(f"a must have 1 row or {b.shape[0]}, as b has, not {a.shape[0]}")
    return 0 if a.shape[0] == 1 else width


cdef _check_counts(const int32_t[::1] counts, Py_ssize_t n, str name):
    if len(counts) != n:
        raise ValueError(f"{name} must have {n} elements, one for each row of b, not {len(counts)}")
    if n:
        check_out(&counts[0], sizeof(int32_t))


def compare(const uint64_t[:, ::1] a not None, const uint64_t[:, ::1] b not None, int32_t[::1] equal not None,
            int32_t[::1] skipped not None):
    """Write of each row of b, (n, k), how many slots have the value of a's, and how many have no value in either.

    a is (n, k), or (1, k) for one signature against all.
    """
    a, b = aligned_rows(a), aligned_rows(b)
    cdef size_t n = b.shape[0], k = b.shape[1], step = _step(a, b, k), at = 0, some
    cdef const slots_kernels* level = slots_levels[in_use[0]]
    cdef uint64_t last_pause = 0
    _check_slots(k)
    _check_counts(equal, n, "equal")
    _check_counts(skipped, n, "skipped")
    with nogil:
        while at < n:
            some = min(n - at, WORK // k)
            level.compare(&a[0, 0] + at * step, step, &b[at, 0], some, k, &equal[at], &skipped[at])
            at += some
            if at < n:
                pause(&last_pause)


def words_of(size_t k, int bits):
    """Return the number of words of a packed signature of k slots."""
    _check_slots(k)
    return bits_words(k, _width(bits))


def pack(const uint64_t[:, ::1] signatures not None, int bits, uint64_t[:, ::1] out not None):
    """Write the packed signatures, (n, words_of(k, bits)), of signatures, (n, k)."""
    signatures = aligned_rows(signatures)
    cdef size_t n = signatures.shape[0], k = signatures.shape[1], at = 0, some
    cdef unsigned width = _width(bits)
    cdef const bits_kernels* level = kernels()
    cdef uint64_t last_pause = 0
    _check_slots(k)
    if <size_t>out.shape[0] != n or <size_t>out.shape[1] != bits_words(k, width):
        raise ValueError(f"out must be ({n}, {bits_words(k, width)}), not ({out.shape[0]}, {out.shape[1]})")
    if n:
        check_out(&out[0, 0], sizeof(uint64_t))
    with nogil:
        while at < n:
            some = min(n - at, WORK // k)
            bits_pack(level, &signatures[at, 0], some, k, width, &out[at, 0])
            at += some
            if at < n:
                pause(&last_pause)


def compare_packed(const uint64_t[:, ::1] a not None, const uint64_t[:, ::1] b not None, size_t k, int bits,
                   int32_t[::1] equal not None):
    """Write of each row of b, (n, words_of(k, bits)), how many slots equal those of a; -1 where either is empty.

    a is (n, words_of(k, bits)), or of one row for one signature against all.
    """
    a, b = aligned_rows(a), aligned_rows(b)
    cdef unsigned width = _width(bits)
    cdef size_t n = b.shape[0], step, at = 0, some
    cdef const bits_kernels* level = kernels()
    cdef uint64_t last_pause = 0
    _check_slots(k)
    step = _step(a, b, bits_words(k, width))
    _check_counts(equal, n, "equal")
    with nogil:
        while at < n:
            some = min(n - at, WORK // k)
            bits_compare(level, &a[0, 0] + at * step, step, &b[at, 0], some, k, width, &equal[at])
            at += some
            if at < n:
                pause(&last_pause)


cdef uint64_t constant_of_groups(uint64_t seed) noexcept nogil:
    return draw(seed, DOMAIN_GROUP, 0)


cdef void sketch_groups(const uint64_t* tokens, size_t n, uint64_t constant, size_t k, uint64_t* out) noexcept nogil:
    bits_group_signature(sketch_levels[in_use[0]], tokens, n, constant, k, out)


cdef void compare_slots(const uint64_t* one, const uint64_t* signatures, size_t n, size_t k, int32_t* equal,
                        int32_t* skipped) noexcept nogil:
    slots_levels[in_use[0]].compare(one, 0, signatures, n, k, equal, skipped)


cdef size_t words_of_packed(size_t k, unsigned bits) noexcept nogil:
    return bits_words(k, bits)


cdef void pack_slots(const uint64_t* signatures, size_t n, size_t k, unsigned bits, uint64_t* out) noexcept nogil:
    bits_pack(kernels(), signatures, n, k, bits, out)


cdef void compare_packed_slots(const uint64_t* one, const uint64_t* packed, size_t n, size_t k, unsigned bits,
                               int32_t* equal) noexcept nogil:
    bits_compare(kernels(), one, 0, packed, n, k, bits, equal)

"""MinHash signatures of token sets: the kernels of the second stage."""

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from lshfast.kernels.guards import sketch_in_pieces

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, array_of, check_out, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    size_t longest_row(const int64_t*, size_t) nogil

cdef extern from "sketch/sketch.h":
    const size_t SKETCH_CLASSIC_LANES
    const size_t SKETCH_MAX_SLOTS
    struct sketch_kernels:
        void (*classic)(const uint64_t*, size_t, const uint64_t*, const uint64_t*, size_t, uint64_t*) noexcept nogil
    const sketch_kernels** sketch_levels
    size_t sketch_fast_rounds(size_t k) nogil
    void sketch_classic_constants(uint64_t, size_t, uint64_t*, uint64_t*) nogil
    void sketch_fast_constants(uint64_t, size_t, uint64_t*, uint64_t*) nogil
    void sketch_fast_signature(const sketch_kernels*, const uint64_t*, size_t, const uint64_t*, const uint64_t*, size_t,
                               uint64_t*) nogil

cdef const int* in_use = level_in_use()


cdef inline const sketch_kernels* kernels() noexcept nogil:
    return sketch_levels[in_use[0]]


MAX_NUM_PERM = SKETCH_MAX_SLOTS

cdef enum:
    LONG_STEPS = 64 * WORK  # steps, tokens times slots, of a row that is sketched in pieces


def is_signature(array not None, size_t k):
    """Tell whether a numpy array is uint64, (k,), contiguous and aligned, in a fifth of the time its attributes take."""
    cdef Py_buffer slots
    try:
        PyObject_GetBuffer(array, &slots, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except (ValueError, BufferError):
        return False
    fits = (
        slots.ndim == 1 and <size_t>slots.shape[0] == k and slots.itemsize == sizeof(uint64_t)
        and (slots.format[0] == b"L" or slots.format[0] == b"Q") and slots.format[1] == 0
    )
    PyBuffer_Release(&slots)
    return fits


cdef _check_slots(size_t k):
    if not 1 <= k <= SKETCH_MAX_SLOTS:
        raise ValueError(f"num_perm must be in 1..{SKETCH_MAX_SLOTS}, not {k}")


def classic_constants(uint64_t seed, size_t k):
    """Return (a, b), the multipliers and summands of `classic`, padded for the kernels."""
    _check_slots(k)
    padded = -(-k // SKETCH_CLASSIC_LANES) * SKETCH_CLASSIC_LANES
    a_array, b_array = np.empty(padded, np.uint64), np.empty(padded, np.uint64)
    cdef uint64_t[::1] a = a_array, b = b_array
    sketch_classic_constants(seed, k, &a[0], &b[0])
    return a_array, b_array


def fast_constants(uint64_t seed, size_t k):
    """Return (rounds, slots), the constants of `fast`."""
    _check_slots(k)
    rounds_array, slots_array = np.empty(sketch_fast_rounds(k), np.uint64), np.empty(k, np.uint64)
    cdef uint64_t[::1] rounds = rounds_array, slots = slots_array
    sketch_fast_constants(seed, k, &rounds[0], &slots[0])
    return rounds_array, slots_array


cdef _check_rows(const int64_t[::1] offsets, const uint64_t[::1] tokens, uint64_t[:, ::1] out):
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, len(tokens)):
        raise ValueError(f"offsets must rise from 0 to at most {len(tokens)}, the number of tokens")
    if out.shape[0] != len(offsets) - 1:
        raise ValueError(f"out must have {len(offsets) - 1} rows, not {out.shape[0]}")
    _check_slots(out.shape[1])
    if out.shape[0]:
        check_out(&out[0, 0], sizeof(uint64_t))


def classic(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None, const uint64_t[::1] a not None,
            const uint64_t[::1] b not None, uint64_t[:, ::1] out not None):
    """Write the classic signatures of the rows of (offsets, tokens) to out, (n, k), with classic_constants(seed, k)."""
    offsets, tokens, a, b = aligned(offsets), aligned(tokens), aligned(a), aligned(b)
    cdef Py_ssize_t i, n = out.shape[0]
    cdef size_t k = out.shape[1], step = LONG_STEPS // max(k, <size_t>1), count, done = 0
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    cdef const sketch_kernels* level = kernels()
    _check_rows(offsets, tokens, out)
    if <size_t>len(a) < k or len(a) % SKETCH_CLASSIC_LANES or len(a) != len(b):
        raise ValueError(f"a and b must be those of classic_constants(seed, {k})")
    with nogil:
        for i in range(n):
            count = offsets[i + 1] - offsets[i]
            if count > step:
                continue
            level.classic(first + offsets[i], count, &a[0], &b[0], k, &out[i, 0])
            done += (count + 1) * k
            if done >= WORK:
                done = 0
                pause(&last_pause)
    if longest_row(&offsets[0], n) > step:
        sketch_in_pieces(classic, array_of(offsets), (tokens, a, b), array_of(out), step)


def fast(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
         const uint64_t[::1] rounds not None, const uint64_t[::1] slots not None, uint64_t[:, ::1] out not None):
    """Write the fast signatures of the rows of (offsets, tokens) to out, (n, k), with fast_constants(seed, k)."""
    offsets, tokens, rounds, slots = aligned(offsets), aligned(tokens), aligned(rounds), aligned(slots)
    cdef Py_ssize_t i, n = out.shape[0]
    cdef size_t k = out.shape[1], step = LONG_STEPS // max(k, <size_t>1), count, done = 0
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    cdef const sketch_kernels* level = kernels()
    _check_rows(offsets, tokens, out)
    if <size_t>len(rounds) != sketch_fast_rounds(k) or <size_t>len(slots) != k:
        raise ValueError(f"rounds and slots must be those of fast_constants(seed, {k})")
    with nogil:
        for i in range(n):
            count = offsets[i + 1] - offsets[i]
            if count > step:
                continue
            sketch_fast_signature(level, first + offsets[i], count, &rounds[0], &slots[0], k, &out[i, 0])
            done += (count + 1) * k
            if done >= WORK:
                done = 0
                pause(&last_pause)
    if longest_row(&offsets[0], n) > step:
        sketch_in_pieces(fast, array_of(offsets), (tokens, rounds, slots), array_of(out), step)


cdef size_t classic_padding(size_t k) noexcept nogil:
    return (k + SKETCH_CLASSIC_LANES - 1) // SKETCH_CLASSIC_LANES * SKETCH_CLASSIC_LANES


cdef void draw_classic(uint64_t seed, size_t k, uint64_t* a, uint64_t* b) noexcept nogil:
    sketch_classic_constants(seed, k, a, b)


cdef void sketch_classic(const uint64_t* tokens, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                         uint64_t* out) noexcept nogil:
    kernels().classic(tokens, n, a, b, k, out)


cdef size_t rounds_of_fast(size_t k) noexcept nogil:
    return sketch_fast_rounds(k)


cdef void draw_fast(uint64_t seed, size_t k, uint64_t* rounds, uint64_t* slots) noexcept nogil:
    sketch_fast_constants(seed, k, rounds, slots)


cdef void sketch_fast(const uint64_t* tokens, size_t n, const uint64_t* rounds, const uint64_t* slots, size_t k,
                      uint64_t* out) noexcept nogil:
    sketch_fast_signature(kernels(), tokens, n, rounds, slots, k, out)

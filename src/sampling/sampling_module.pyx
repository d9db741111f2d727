"""Functions of the families of packed codes: bits at positions, groups of bits, masked hashes, Hamming distances."""

from libc.stdint cimport int64_t, uint64_t

import numpy as np

from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause

cdef extern from "sampling/sampling.h":
    void sampling_bits(const uint64_t*, size_t, size_t, const uint64_t*, size_t, uint64_t*, uint64_t*) nogil
    void sampling_buckets(const uint64_t*, size_t, size_t, size_t, size_t, uint64_t*) nogil
    void sampling_masked(const uint64_t*, size_t, size_t, const uint64_t*, size_t, uint64_t*) nogil
    void sampling_distances(const uint64_t*, size_t, const uint64_t*, size_t, size_t, int64_t*) nogil


cdef _check_shape(str name, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t n, Py_ssize_t k):
    if rows != n or columns != k:
        raise ValueError(f"{name} must have shape ({n}, {k}), not ({rows}, {columns})")


cdef size_t _rows_at_once(size_t steps) noexcept nogil:
    """Return a number of rows, a multiple of 64, that take about WORK steps."""
    cdef size_t blocks = <size_t>WORK // 64 // (steps + 1)
    return 64 * blocks if blocks else 64


def bits(const uint64_t[:, ::1] codes not None, const uint64_t[::1] positions not None,
         uint64_t[:, ::1] out not None):
    """Write the bits of codes, (n, words), at the positions, (count,), to out, (n, ceil(count / 64))."""
    codes, positions = aligned_rows(codes), aligned(positions)
    cdef size_t n = codes.shape[0], words = codes.shape[1], count = len(positions), at = 0, some, j
    cdef size_t width = (count + 63) // 64
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first
    cdef uint64_t* to
    cdef uint64_t[::1] scratch
    _check_shape("out", out.shape[0], out.shape[1], n, width)
    for j in range(count):
        if positions[j] >= 64 * words:
            raise ValueError(f"positions must be in 0..{64 * words - 1}, not {positions[j]}")
    if n == 0 or count == 0:
        return
    check_out(&out[0, 0], sizeof(uint64_t))
    first, to = &codes[0, 0], &out[0, 0]
    scratch = np.empty(64 * words, np.uint64)
    cdef const uint64_t* chosen = &positions[0]
    cdef uint64_t* columns = &scratch[0]
    with nogil:
        while at < n:
            some = min(n - at, _rows_at_once(count + words))
            sampling_bits(first + at * words, some, words, chosen, count, columns, to + at * width)
            at += some
            pause(&last_pause)


def buckets(const uint64_t[:, ::1] codes not None, size_t rows, uint64_t[:, ::1] out not None):
    """Write each `rows` bits of codes, (n, words), as one number to out, (n, bands); rows is in 1..63."""
    codes = aligned_rows(codes)
    cdef size_t n = codes.shape[0], words = codes.shape[1], bands = out.shape[1], at = 0, some
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first
    cdef uint64_t* to
    _check_shape("out", out.shape[0], out.shape[1], n, bands)
    if not 1 <= rows <= 63:
        raise ValueError(f"rows must be in 1..63, not {rows}")
    if bands > 64 * words // rows:
        raise ValueError(f"{bands} x {rows} bits do not fit in codes of {words} words")
    if n == 0 or bands == 0:
        return
    check_out(&out[0, 0], sizeof(uint64_t))
    first, to = &codes[0, 0], &out[0, 0]
    with nogil:
        while at < n:
            some = min(n - at, _rows_at_once(bands))
            sampling_buckets(first + at * words, some, words, bands, rows, to + at * bands)
            at += some
            pause(&last_pause)


def masked(const uint64_t[:, ::1] codes not None, const uint64_t[:, ::1] masks not None,
           uint64_t[:, ::1] out not None):
    """Write the hashes of codes, (n, words), under masks, (count, words), to out, (n, count); none is 2**64 - 1."""
    codes, masks = aligned_rows(codes), aligned_rows(masks)
    cdef size_t n = codes.shape[0], words = codes.shape[1], count = masks.shape[0], at = 0, some
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first
    cdef uint64_t* to
    _check_shape("masks", masks.shape[0], masks.shape[1], count, words)
    _check_shape("out", out.shape[0], out.shape[1], n, count)
    if words == 0:
        raise ValueError("codes must have at least one word")
    if n == 0 or count == 0:
        return
    check_out(&out[0, 0], sizeof(uint64_t))
    first, to = &codes[0, 0], &out[0, 0]
    cdef const uint64_t* mask = &masks[0, 0]
    with nogil:
        while at < n:
            some = min(n - at, _rows_at_once(count * words))
            sampling_masked(first + at * words, some, words, mask, count, to + at * count)
            at += some
            pause(&last_pause)


def distances(const uint64_t[:, ::1] a not None, const uint64_t[:, ::1] b not None, int64_t[::1] out not None):
    """Write the Hamming distances of one code, (1, words), or n codes, (n, words), to n codes, to out, (n,)."""
    a, b = aligned_rows(a), aligned_rows(b)
    cdef size_t n = b.shape[0], words = b.shape[1], step = words if a.shape[0] != 1 else 0, at = 0, some
    cdef uint64_t last_pause = 0
    _check_shape("a", a.shape[0], a.shape[1], n if step else 1, words)
    if <size_t>len(out) != n:
        raise ValueError(f"out must have {n} numbers, not {len(out)}")
    if words == 0:
        raise ValueError("codes must have at least one word")
    if n == 0:
        return
    check_out(&out[0], sizeof(int64_t))
    cdef const uint64_t* left = &a[0, 0]
    cdef const uint64_t* right = &b[0, 0]
    cdef int64_t* to = &out[0]
    with nogil:
        while at < n:
            some = min(n - at, _rows_at_once(words))
            sampling_distances(left + at * step, step, right + at * words, some, words, to + at)
            at += some
            pause(&last_pause)


cdef void sample_bits(const uint64_t* codes, size_t n, size_t words, const uint64_t* positions, size_t count,
                      uint64_t* scratch, uint64_t* out) noexcept nogil:
    sampling_bits(codes, n, words, positions, count, scratch, out)


cdef void bands_of_bits(const uint64_t* codes, size_t n, size_t words, size_t bands, size_t rows,
                        uint64_t* out) noexcept nogil:
    sampling_buckets(codes, n, words, bands, rows, out)


cdef void hash_masked_bits(const uint64_t* codes, size_t n, size_t words, const uint64_t* masks, size_t count,
                           uint64_t* out) noexcept nogil:
    sampling_masked(codes, n, words, masks, count, out)

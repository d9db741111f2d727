"""Band keys, and candidate pairs by sorting them: the kernels of the third stage."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

cdef extern from "rows.h":
    bint rise_below(const int64_t*, size_t, size_t) nogil

cdef extern from "cpu.h":
    cdef enum cpu_level:
        pass
    cpu_level cpu_detect() nogil

cdef extern from "bands.h":
    const uint64_t MOST_MEMBERS
    ctypedef void band_key_kernel(const uint64_t*, const uint64_t*, size_t, size_t, uint64_t*) nogil
    band_key_kernel* band_key_kernel_of(cpu_level level) nogil
    struct bucket_walk:
        size_t last, i, j
    void c_band_keys "band_keys"(band_key_kernel*, const uint64_t*, size_t, size_t, size_t, size_t, uint64_t*) nogil
    size_t band_records(const uint64_t*, size_t, size_t, const int64_t*, size_t, uint64_t*) nogil
    void sort_records(uint64_t*, size_t, uint64_t*) nogil
    size_t bucket_pairs(const uint64_t*, size_t, const int64_t*, const uint64_t*, size_t, size_t, bucket_walk*,
                        int64_t*, int64_t*, size_t) nogil

cdef extern from "filters.h":
    struct band_filters:
        size_t bands, first, rows, stride, hashes
        uint64_t bits
    bint c_filters_hold "filters_hold"(band_key_kernel*, const band_filters*, const uint8_t*, const uint64_t*) nogil
    void c_filters_add "filters_add"(band_key_kernel*, const band_filters*, uint8_t*, const uint64_t*) nogil

# Pairs are written in pieces of this size first, each further piece twice as long.
FIRST_PIECE = 1 << 12
LONGEST_PIECE = 1 << 22

cdef band_key_kernel* kernel = band_key_kernel_of(cpu_detect())


def use_level(int level):
    """Use the kernel of a CPU level, which must be one this machine has."""
    global kernel
    kernel = band_key_kernel_of(<cpu_level>level)


def band_keys(const uint64_t[:, ::1] signatures not None, size_t bands, size_t rows, uint64_t[:, ::1] out not None):
    """Write the keys of `bands` bands of `rows` slots of the signatures, (n, k), to out, (n, bands)."""
    cdef size_t n = signatures.shape[0], k = signatures.shape[1]
    if bands < 1 or rows < 1 or bands > k // rows:
        raise ValueError(f"bands x rows must be in 1..{k}, the length of the signatures, not {bands} x {rows}")
    if <size_t>out.shape[0] != n or <size_t>out.shape[1] != bands:
        raise ValueError(f"out must be ({n}, {bands}), not ({out.shape[0]}, {out.shape[1]})")
    if n:
        with nogil:
            c_band_keys(kernel, &signatures[0, 0], n, k, bands, rows, &out[0, 0])


def pairs_of_band(const uint64_t[:, ::1] keys not None, size_t band, const int64_t[::1] members not None, limit):
    """Return (i, j), int64, of the members (ascending rows) that share this band's key and none of an earlier band.

    Raises OverflowError as soon as there are more than `limit` pairs.
    """
    cdef size_t n = len(members), bands = keys.shape[1], count = 0, made = 0, capacity = FIRST_PIECE
    cdef bucket_walk walk = [0, 0, 0]
    cdef int64_t[::1] left, right
    if band >= bands:
        raise ValueError(f"band must be below {bands}, the number of bands, not {band}")
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    found = 0
    if n == 0:
        return parts[0]
    if not rise_below(&members[0], n, keys.shape[0]):
        raise ValueError(f"members must rise within 0..{keys.shape[0] - 1}")
    if n > MOST_MEMBERS:
        raise ValueError(f"members must be at most {MOST_MEMBERS}, not {n}")
    records_array, scratch_array = np.empty(n, np.uint64), np.empty(n, np.uint64)
    cdef uint64_t[::1] records = records_array, scratch = scratch_array
    with nogil:
        count = band_records(&keys[0, 0], bands, band, &members[0], n, &records[0])
        sort_records(&records[0], count, &scratch[0])
    while True:
        parts.append((np.empty(capacity, np.int64), np.empty(capacity, np.int64)))
        left, right = parts[-1]
        with nogil:
            made = bucket_pairs(&records[0], count, &members[0], &keys[0, 0], bands, band, &walk, &left[0], &right[0],
                                capacity)
        parts[-1] = parts[-1][0][:made], parts[-1][1][:made]
        found += made
        if found > limit:
            raise OverflowError(f"band {band} alone holds more than {limit} candidate pairs")
        if made < capacity:
            return np.concatenate([i for i, _ in parts]), np.concatenate([j for _, j in parts])
        capacity = min(2 * capacity, LONGEST_PIECE)


cdef void keys_of_bands(const uint64_t* signatures, size_t n, size_t k, size_t bands, size_t rows,
                        uint64_t* out) noexcept nogil:
    c_band_keys(kernel, signatures, n, k, bands, rows, out)


cdef band_filters shape_of(const uint8_t[:, ::1] filters, size_t slots, size_t first, size_t rows, uint64_t bits,
                           size_t hashes) except *:
    """Return the shape of Bloom filters of bands, after checking it against the arrays."""
    cdef band_filters shape
    shape.bands, shape.stride = filters.shape[0], filters.shape[1]
    shape.first, shape.rows, shape.bits, shape.hashes = first, rows, bits, hashes
    if shape.bands < 1 or rows < 1 or rows > slots or shape.bands > slots // rows:
        raise ValueError(f"{shape.bands} filters of bands of {rows} rows need as many slots, not {slots}")
    if bits < 1 or (bits - 1) // 8 >= shape.stride:
        raise ValueError(f"bits must be in 1..{8 * shape.stride}, the length of the filters, not {bits}")
    return shape


def filters_hold(const uint8_t[:, ::1] filters not None, const uint64_t[::1] slots not None, size_t rows, uint64_t bits,
                 size_t hashes, size_t first=0):
    """Tell whether any of the Bloom filters (n, bytes), of the bands from `first` on, holds the key of its band.

    slots are those of these bands, (at least n * rows,): the first belongs to band `first`.
    """
    cdef band_filters shape = shape_of(filters, slots.shape[0], first, rows, bits, hashes)
    return c_filters_hold(kernel, &shape, &filters[0, 0], &slots[0])


def filters_add(uint8_t[:, ::1] filters not None, const uint64_t[::1] slots not None, size_t rows, uint64_t bits,
                size_t hashes, size_t first=0):
    """Set the bits of the keys of the bands in their Bloom filters: the arguments are those of `filters_hold`."""
    cdef band_filters shape = shape_of(filters, slots.shape[0], first, rows, bits, hashes)
    c_filters_add(kernel, &shape, &filters[0, 0], &slots[0])

# Band keys for other projects' Cython.
from libc.stdint cimport uint64_t

# Write the keys of `n` `signatures` of `k` slots, (n, k), to `out`, (n, bands): a key for each of the `bands` bands of
# `rows` slots. k, bands and rows are at least 1, and bands * rows is at most k. All keys of an empty row are all ones.
cdef void keys_of_bands(const uint64_t* signatures, size_t n, size_t k, size_t bands, size_t rows,
                        uint64_t* out) noexcept nogil

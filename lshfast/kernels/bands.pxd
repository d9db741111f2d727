# Band keys for other projects' Cython.
from libc.stdint cimport uint64_t

# Write n rows of `bands` keys of n signatures of k slots, bands * rows <= k. An empty row's keys are all ones.
cdef void keys_of_bands(const uint64_t* signatures, size_t n, size_t k, size_t bands, size_t rows,
                        uint64_t* out) noexcept nogil

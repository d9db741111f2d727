# datasketch's hash values for other projects' Cython.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

# Return the first 8 bytes of the SHA-1 of `data`, `length` bytes, little-endian; the low 32 bits are the first 4 bytes.
cdef uint64_t sha1_of_bytes(const uint8_t* data, size_t length) noexcept nogil

# Lower the `k` hash values of a sketch, in place, by the `n` `hashes` of tokens: each of `values` becomes the least of
# itself and of what its function makes of the hashes. `a` and `b` are the functions' `k` multipliers and `k` summands.
# `values` overlaps no input; n = 0 changes nothing. The values of an empty sketch are 2^32 - 1 for affine32 and legacy,
# and 2^64 - 1 for affine64. affine32 reads the low 32 bits of each hash. The multipliers of affine32 and affine64 are odd.
cdef void lower_affine32(const uint64_t* hashes, size_t n, const uint32_t* a, const uint32_t* b, size_t k,
                         uint32_t* values) noexcept nogil
cdef void lower_affine64(const uint64_t* hashes, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                         uint64_t* values) noexcept nogil
cdef void lower_legacy(const uint64_t* hashes, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                       uint64_t* values) noexcept nogil

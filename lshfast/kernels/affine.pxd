# datasketch's hash values for other projects' Cython: values hold k numbers and are lowered, a and b hold k constants.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

# The first 8 bytes of the SHA-1 of some bytes, little-endian; the low 32 bits are the first 4.
cdef uint64_t sha1_of_bytes(const uint8_t* data, size_t length) noexcept nogil

cdef void lower_affine32(const uint64_t* hashes, size_t n, const uint32_t* a, const uint32_t* b, size_t k,
                         uint32_t* values) noexcept nogil
cdef void lower_affine64(const uint64_t* hashes, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                         uint64_t* values) noexcept nogil
cdef void lower_legacy(const uint64_t* hashes, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                       uint64_t* values) noexcept nogil

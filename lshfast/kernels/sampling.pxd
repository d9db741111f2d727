# Functions of packed codes for other projects' Cython: n codes of `words` words each, the lowest bit first.
from libc.stdint cimport uint64_t

# The bits at `count` positions below 64 words, packed: n rows of (count + 63) / 64 words. scratch holds 64 times
# `words` numbers.
cdef void sample_bits(const uint64_t* codes, size_t n, size_t words, const uint64_t* positions, size_t count,
                      uint64_t* scratch, uint64_t* out) noexcept nogil

# Each `rows` bits, 1 to 63, as one number: n rows of `bands` numbers; a code has bands rows bits or more.
cdef void bands_of_bits(const uint64_t* codes, size_t n, size_t words, size_t bands, size_t rows,
                        uint64_t* out) noexcept nogil

# The hashes of the codes under `count` masks of `words` words: n rows of `count` numbers, none of them all ones.
cdef void hash_masked_bits(const uint64_t* codes, size_t n, size_t words, const uint64_t* masks, size_t count,
                           uint64_t* out) noexcept nogil

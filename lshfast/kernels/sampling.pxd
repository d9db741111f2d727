# Functions of packed codes for other projects' Cython. `codes` is (n, words): `n` codes of `words` words each, at least 1,
# the lowest bit first. `out` overlaps no input.
from libc.stdint cimport uint64_t

# Write the bits at `count` `positions`, each below 64 * words, packed: `out` is (n, (count + 63) / 64). `scratch` holds
# 64 * words numbers, which need not be prepared.
cdef void sample_bits(const uint64_t* codes, size_t n, size_t words, const uint64_t* positions, size_t count,
                      uint64_t* scratch, uint64_t* out) noexcept nogil

# Write each group of `rows` bits, 1 to 63, as one number: `out` is (n, bands). A code has at least bands * rows bits, for
# `bands` groups.
cdef void bands_of_bits(const uint64_t* codes, size_t n, size_t words, size_t bands, size_t rows,
                        uint64_t* out) noexcept nogil

# Write the hashes of the codes under `count` `masks`, (count, words): `out` is (n, count). None of them is all ones.
cdef void hash_masked_bits(const uint64_t* codes, size_t n, size_t words, const uint64_t* masks, size_t count,
                           uint64_t* out) noexcept nogil

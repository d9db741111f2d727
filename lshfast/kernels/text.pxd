# Tokens and shingles for other projects' Cython. docs/definitions.md gives the values to the bit.
from libc.stdint cimport uint8_t, uint64_t

# The token of some bytes.
cdef uint64_t token_of_bytes(const uint8_t* data, size_t length, uint64_t seed) noexcept nogil

# Write the shingles of `size` words (1 to 256) of a UTF-8 text and return their number, or SIZE_MAX where it is not
# UTF-8 or size is out of range. out must hold length / 2 + 1 tokens.
cdef size_t word_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed, uint64_t* out) noexcept nogil

# The same for characters. out must hold length tokens.
cdef size_t character_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed,
                             uint64_t* out) noexcept nogil

# The tokens of n integers, as those of token sets made from Python's ints.
cdef void tokens_of_numbers(const uint64_t* values, size_t n, uint64_t seed, uint64_t* out) noexcept nogil

# Tokens and shingles for other projects' Cython. docs/definitions.md gives the values to the bit.
from libc.stdint cimport uint8_t, uint64_t

# The token of some bytes.
cdef uint64_t token_of_bytes(const uint8_t* data, size_t length, uint64_t seed) noexcept nogil

# The number of words of memory that the next two functions work in. It is some 80 KB, which is much for a stack. It need
# not be prepared; threads need one each.
cdef size_t scratch_of_shingles() noexcept nogil

# Write the shingles of `size` words (1 to 256) of a UTF-8 text and return their number, or SIZE_MAX where it is not
# UTF-8 or size is out of range. scratch is scratch_of_shingles() words; out must hold length / 2 + 1 tokens.
cdef size_t word_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed, uint64_t* scratch,
                        uint64_t* out) noexcept nogil

# The same for characters. out must hold length tokens.
cdef size_t character_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed, uint64_t* scratch,
                             uint64_t* out) noexcept nogil

# The tokens of n integers, as those of token sets made from Python's ints.
cdef void tokens_of_numbers(const uint64_t* values, size_t n, uint64_t seed, uint64_t* out) noexcept nogil

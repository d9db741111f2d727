# Tokens and shingles for other projects' Cython. docs/reference/definitions.md gives the values to the bit. `out` overlaps no input.
from libc.stdint cimport uint8_t, uint64_t

# Return the token of `data`, `length` bytes, under a `seed`. data may be NULL if length is 0.
cdef uint64_t token_of_bytes(const uint8_t* data, size_t length, uint64_t seed) noexcept nogil

# Return the number of 64-bit words of memory that the next two functions work in: some 80 KB, which is much for a stack.
cdef size_t scratch_of_shingles() noexcept nogil

# Write the tokens of the shingles of `size` words, 1 to 256, of a UTF-8 `text` of `length` bytes under a `seed`, and return
# their number, or SIZE_MAX where the text is not UTF-8 or size is out of range. text may be NULL if length is 0. `scratch`
# has scratch_of_shingles() words, which need not be prepared; threads need separate ones. `out` has room for
# length / 2 + 1 tokens.
cdef size_t word_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed, uint64_t* scratch,
                        uint64_t* out) noexcept nogil

# Write the tokens of the shingles of `size` characters, 1 to 256, of a UTF-8 `text` of `length` bytes under a `seed`; return
# value and `scratch` as above. `out` has room for length tokens.
cdef size_t character_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed, uint64_t* scratch,
                             uint64_t* out) noexcept nogil

# Write the tokens of `n` integers, `values`, under a `seed` to `out`, n tokens. Token sets made from Python's ints have the
# same tokens.
cdef void tokens_of_numbers(const uint64_t* values, size_t n, uint64_t seed, uint64_t* out) noexcept nogil

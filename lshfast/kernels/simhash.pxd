# SimHash codes for other projects' Cython. A code has `words` words of 64 bits, 1 to 64; it is all ones where the set is
# empty.
from libc.stdint cimport int64_t, uint64_t

# Draw the `constants` of a `seed`, one a word, with which any number of sets can be sketched.
cdef void draw_simhash(uint64_t seed, size_t words, uint64_t* constants) noexcept nogil

# Write the code of the `n` `tokens` of a set, each of which counts 1, to `code`, `words` words. `constants` holds `words`
# numbers of `draw_simhash`. n may be 0.
cdef void sketch_simhash(const uint64_t* tokens, size_t n, const uint64_t* constants, size_t words,
                         uint64_t* code) noexcept nogil

# Write the sums from whose signs a code is made to `counters`, 64 for each of the `words` words. `n` `tokens` have `n`
# `weights`, whose absolute values add up to less than 2^63; NULL stands for ones. `constants` as above.
cdef void count_simhash(const uint64_t* tokens, const int64_t* weights, size_t n, const uint64_t* constants,
                        size_t words, int64_t* counters) noexcept nogil

# Return the number of bits in which the codes `a` and `b` differ, of (bits + 63) / 64 words each; `bits` is 1 to 4,096,
# and bits of the last word beyond them are equal in both. bits + 1 where either is empty.
cdef size_t distance_of_codes(const uint64_t* a, const uint64_t* b, size_t bits) noexcept nogil

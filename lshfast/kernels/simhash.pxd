# SimHash codes for other projects' Cython; a code has 1 to 64 words of 64 bits, all ones where the set is empty.
from libc.stdint cimport int64_t, uint64_t

# Draw the constants of a seed once, one a word, then sketch as many sets as you like: each token counts 1.
cdef void draw_simhash(uint64_t seed, size_t words, uint64_t* constants) noexcept nogil
cdef void sketch_simhash(const uint64_t* tokens, size_t n, const uint64_t* constants, size_t words,
                         uint64_t* code) noexcept nogil

# 64 counters a word; weights may be NULL, for ones, and must add up to less than 2^63 without their signs.
cdef void count_simhash(const uint64_t* tokens, const int64_t* weights, size_t n, const uint64_t* constants,
                        size_t words, int64_t* counters) noexcept nogil

# The bits in which two codes differ; bits + 1 where one is empty.
cdef size_t distance_of_codes(const uint64_t* a, const uint64_t* b, size_t bits) noexcept nogil

# Comparisons for other projects' Cython.
from libc.stdint cimport uint64_t

# Return the number of equal slots of two signatures `a` and `b` of `k` slots, at least 1; 0 if either is empty.
cdef size_t equal_slots(const uint64_t* a, const uint64_t* b, size_t k) noexcept nogil

# Return the number of 64-bit words that a table for a set of `n` tokens needs, n at most 2^60: a power of two of at least
# 16. The caller owns the table. Its content need not be prepared, and means nothing afterwards; threads need separate ones.
cdef size_t table_of_set(size_t n) noexcept nogil

# Write each different one of `n` `tokens` once to `out`, in order of first occurrence, and return their number. `table`
# has table_of_set(n) words. `out` holds n tokens, and may be `tokens`. n may be 0.
cdef size_t distinct_tokens(const uint64_t* tokens, size_t n, uint64_t* table, uint64_t* out) noexcept nogil

# Return the exact Jaccard similarity of two sets: `a` has `n` and `b` has `m` tokens, each set without repeats, in any
# order. 0 if both are empty. `table` has table_of_set(n) words.
cdef double jaccard_of_sets(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t* table) noexcept nogil

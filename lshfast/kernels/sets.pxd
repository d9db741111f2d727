# Comparisons for other projects' Cython.
from libc.stdint cimport uint64_t

# The number of equal slots of two signatures of k > 0 slots, 0 if either is empty.
cdef size_t equal_slots(const uint64_t* a, const uint64_t* b, size_t k) noexcept nogil

# The tokens that a table for a set of n tokens has room for: whoever asks for a table below owns it.
cdef size_t table_of_set(size_t n) noexcept nogil

# Write each different token once, in order of first occurrence, and return their number. The table is for n tokens; out
# holds n, and may be tokens.
cdef size_t distinct_tokens(const uint64_t* tokens, size_t n, uint64_t* table, uint64_t* out) noexcept nogil

# The exact Jaccard similarity of two sets, each of different tokens; 0 if both are empty. The table is for n tokens.
cdef double jaccard_of_sets(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t* table) noexcept nogil

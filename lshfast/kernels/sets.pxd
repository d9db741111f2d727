# Comparisons for other projects' Cython.
from libc.stdint cimport uint64_t

# The number of equal slots of two signatures of k > 0 slots, 0 if either is empty.
cdef size_t equal_slots(const uint64_t* a, const uint64_t* b, size_t k) noexcept nogil

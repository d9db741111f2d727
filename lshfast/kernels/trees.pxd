# Codes of sorted trees for other projects' Cython.
from libc.stdint cimport uint64_t

# Write the codes of `trees` trees, at most k, of a signature of k slots.
cdef void codes_of_trees(const uint64_t* signature, size_t k, size_t trees, uint64_t* out) noexcept nogil

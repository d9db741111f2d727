# Codes of sorted trees for other projects' Cython.
from libc.stdint cimport uint64_t

# Write the codes of a `signature` of `k` slots, 1 to 65,536, in each of `trees` trees, 1 to k, to `out`, `trees` words,
# which overlaps no input. Tree t is over the first slots, at most 8, of the k / trees slots from t * (k / trees) on.
cdef void codes_of_trees(const uint64_t* signature, size_t k, size_t trees, uint64_t* out) noexcept nogil

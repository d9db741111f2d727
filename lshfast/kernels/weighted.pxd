# Signatures of weighted sets for other projects' Cython; k is 1 to 65,536 and out holds k slots.
from libc.stdint cimport uint64_t

# The natural logarithm of a finite x above 0, the same bits on every machine.
cdef double log_of(double x) noexcept nogil

# shells: draw the constant of a seed once, then sketch sets of n different tokens with finite weights above 0.
cdef uint64_t draw_shells(uint64_t seed) noexcept nogil
cdef void sketch_shells(const uint64_t* tokens, const double* weights, size_t n, uint64_t constant, size_t k,
                        uint64_t* out) noexcept nogil

# The pairs (token, 1) ... (token, count) as tokens; out holds count.
cdef void number_tokens(uint64_t token, size_t count, uint64_t* out) noexcept nogil

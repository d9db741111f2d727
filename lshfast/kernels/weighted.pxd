# Signatures of weighted sets for other projects' Cython. `k` is 1 to 65,536.
from libc.stdint cimport uint64_t

# Return the natural logarithm of a finite `x` above 0, the same bits on every machine.
cdef double log_of(double x) noexcept nogil

# Return the constant of a `seed`, for `sketch_shells`.
cdef uint64_t draw_shells(uint64_t seed) noexcept nogil

# Write the signature of a set of `n` different `tokens` and their `n` `weights`, finite and above 0, to `out`, `k` slots,
# by the `constant` of a seed. `out` overlaps no input. n may be 0: then all slots are all ones.
cdef void sketch_shells(const uint64_t* tokens, const double* weights, size_t n, uint64_t constant, size_t k,
                        uint64_t* out) noexcept nogil

# Write the pairs (token, 1) ... (token, count) of a `token` and its `count` as tokens to `out`, count tokens.
cdef void number_tokens(uint64_t token, size_t count, uint64_t* out) noexcept nogil

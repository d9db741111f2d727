# MinHash signatures for other projects' Cython. `k` is 1 to 65,536. A signature of n = 0 tokens is all ones.
from libc.stdint cimport uint64_t

# Return the length of the arrays of constants for `k` slots of `classic`: k or a little more.
cdef size_t classic_padding(size_t k) noexcept nogil

# Draw the constants of a `seed` for `k` slots to `a` and `b`, classic_padding(k) numbers each, with which any number of
# sets can be sketched.
cdef void draw_classic(uint64_t seed, size_t k, uint64_t* a, uint64_t* b) noexcept nogil

# Write the signature of the `n` `tokens` of a set to `out`, `k` slots, which overlaps no input. `a` and `b` hold the
# classic_padding(k) numbers each of `draw_classic`.
cdef void sketch_classic(const uint64_t* tokens, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                         uint64_t* out) noexcept nogil

# Return the number of constants of rounds for `k` slots of `fast`.
cdef size_t rounds_of_fast(size_t k) noexcept nogil

# Draw the constants of a `seed` for `k` slots: `rounds` holds rounds_of_fast(k) numbers, `slots` holds k.
cdef void draw_fast(uint64_t seed, size_t k, uint64_t* rounds, uint64_t* slots) noexcept nogil

# Write the signature of the `n` `tokens` of a set to `out`, `k` slots, which overlaps no input. `rounds` and `slots` are
# those of `draw_fast`.
cdef void sketch_fast(const uint64_t* tokens, size_t n, const uint64_t* rounds, const uint64_t* slots, size_t k,
                      uint64_t* out) noexcept nogil

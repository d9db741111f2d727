# Counting distinct tokens for other projects' Cython.
from libc.stdint cimport uint8_t, uint64_t

# Return the constant of a `seed`, for `update_registers`.
cdef uint64_t draw_registers(uint64_t seed) noexcept nogil

# Raise `registers`, 2^p bytes, zeros at first, by `n` `tokens`, with the `constant` of a seed; `p` is in 4..18, and n may
# be 0.
cdef void update_registers(const uint64_t* tokens, size_t n, uint64_t constant, unsigned p,
                           uint8_t* registers) noexcept nogil

# Return the estimated number of the distinct tokens by which `registers`, 2^p bytes, were raised; `p` is in 4..18. None of
# them is above 65 - p.
cdef double estimate_registers(const uint8_t* registers, unsigned p) noexcept nogil

# Return the estimated number of distinct tokens in the set of a `signature` of `k` slots, 3 to 65,536, which was made by
# `sketch_classic` or `sketch_fast`.
cdef double estimate_classic(const uint64_t* signature, size_t k) noexcept nogil
cdef double estimate_fast(const uint64_t* signature, size_t k) noexcept nogil

# Counting distinct tokens for other projects' Cython.
from libc.stdint cimport uint8_t, uint64_t

# HyperLogLog: draw the constant once; registers are 2^p bytes, zeros at first, p in 4..18.
cdef uint64_t draw_registers(uint64_t seed) noexcept nogil
cdef void update_registers(const uint64_t* tokens, size_t n, uint64_t constant, unsigned p,
                           uint8_t* registers) noexcept nogil
cdef double estimate_registers(const uint8_t* registers, unsigned p) noexcept nogil

# MinHash signatures of k slots, 3 to 65,536.
cdef double estimate_classic(const uint64_t* signature, size_t k) noexcept nogil
cdef double estimate_fast(const uint64_t* signature, size_t k) noexcept nogil

# MinHash signatures for other projects' Cython; k is 1 to 65,536 and out holds k slots.
from libc.stdint cimport uint64_t

# classic: draw a and b once, arrays of classic_padding(k), then sketch as many sets as you like.
cdef size_t classic_padding(size_t k) noexcept nogil
cdef void draw_classic(uint64_t seed, size_t k, uint64_t* a, uint64_t* b) noexcept nogil
cdef void sketch_classic(const uint64_t* tokens, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                         uint64_t* out) noexcept nogil

# fast: draw rounds, an array of rounds_of_fast(k), and slots, one of k.
cdef size_t rounds_of_fast(size_t k) noexcept nogil
cdef void draw_fast(uint64_t seed, size_t k, uint64_t* rounds, uint64_t* slots) noexcept nogil
cdef void sketch_fast(const uint64_t* tokens, size_t n, const uint64_t* rounds, const uint64_t* slots, size_t k,
                      uint64_t* out) noexcept nogil

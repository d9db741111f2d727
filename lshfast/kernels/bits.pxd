# Signatures of one permutation or of few bits a slot, and comparisons of one signature with n others, for other
# projects' Cython; k is 1 to 65,536, bits one of 1, 2, 4, 8, 16.
from libc.stdint cimport int32_t, uint64_t

# One permutation: k slots to out, all ones where no token fell.
cdef uint64_t constant_of_groups(uint64_t seed) noexcept nogil
cdef void sketch_groups(const uint64_t* tokens, size_t n, uint64_t constant, size_t k, uint64_t* out) noexcept nogil

# Slots of one value in both, and slots that are all ones in both: n of each.
cdef void compare_slots(const uint64_t* one, const uint64_t* signatures, size_t n, size_t k, int32_t* equal,
                        int32_t* skipped) noexcept nogil

# Few bits: n rows of words_of_packed(k, bits). Equal slots, or -1 where either set is empty: n numbers.
cdef size_t words_of_packed(size_t k, unsigned bits) noexcept nogil
cdef void pack_slots(const uint64_t* signatures, size_t n, size_t k, unsigned bits, uint64_t* out) noexcept nogil
cdef void compare_packed_slots(const uint64_t* one, const uint64_t* packed, size_t n, size_t k, unsigned bits,
                               int32_t* equal) noexcept nogil

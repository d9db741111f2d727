# Signatures of one permutation or of few bits a slot, and comparisons of one signature with n others, for other
# projects' Cython. `k` is 1 to 65,536, `bits` one of 1, 2, 4, 8, 16.
from libc.stdint cimport int32_t, uint64_t

# Return the constant of a `seed`, for `sketch_groups`.
cdef uint64_t constant_of_groups(uint64_t seed) noexcept nogil

# Write the signature of the `n` `tokens` of a set to `out`, `k` slots, by the `constant` of a seed. Slots where no token
# fell are all ones. n may be 0.
cdef void sketch_groups(const uint64_t* tokens, size_t n, uint64_t constant, size_t k, uint64_t* out) noexcept nogil

# Compare signature `one`, `k` slots, with each of the `n` `signatures`, (n, k). Write the numbers of slots of one value
# in both to `equal`, and those of slots that are all ones in both to `skipped`, n numbers each.
cdef void compare_slots(const uint64_t* one, const uint64_t* signatures, size_t n, size_t k, int32_t* equal,
                        int32_t* skipped) noexcept nogil

# Return the words of a packed signature of `k` slots of `bits` bits.
cdef size_t words_of_packed(size_t k, unsigned bits) noexcept nogil

# Pack `n` `signatures`, (n, k), into `bits` bits a slot: `out` is (n, words_of_packed(k, bits)).
cdef void pack_slots(const uint64_t* signatures, size_t n, size_t k, unsigned bits, uint64_t* out) noexcept nogil

# Compare the packed signature `one`, words_of_packed(k, bits) words, with each of the `n` rows of `packed`, (n,
# words_of_packed(k, bits)), of `k` slots of `bits` bits. Write the numbers of equal slots to `equal`, n numbers; -1 where
# either set is empty.
cdef void compare_packed_slots(const uint64_t* one, const uint64_t* packed, size_t n, size_t k, unsigned bits,
                               int32_t* equal) noexcept nogil

/* Signatures of one permutation, signatures of few bits a slot, and the comparison of both kinds and of full ones, one
 * against many. docs/reference/definitions.md gives all of it to the bit.
 *
 * Contract: slots and words are row-major, k in 1..MAX_SLOTS slots a signature. A comparison takes n rows of b, and of
 * a one row for all of them (step 0) or one for each (step is the length of a row). Outputs overlap nothing; nothing is
 * allocated or kept. */
#ifndef LSHFAST_BITS_H
#define LSHFAST_BITS_H

#include "cpu/cpu.h"
#include "field.h"
#include "sketch/sketch.h"

/* Words of k slots of `bits` bits, one of 1, 2, 4, 8, 16. */
static inline size_t bits_words(size_t k, unsigned bits) { return (k * bits + 63) / 64; }

static inline int bits_is_width(unsigned bits) { return bits >= 1 && bits <= 16 && (bits & (bits - 1)) == 0; }

/* What a CPU level does in its own way. */
struct bits_kernels {
    /* The lowest bits of the mixed slots of one signature; slots of the last word that are not there are zeros. */
    void (*pack)(const uint64_t *slots, size_t k, unsigned bits, uint64_t *out);
    /* Of each pair of packed rows the slots that differ. */
    void (*differ)(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words, unsigned bits,
                   int32_t *unequal);
};
extern const struct bits_kernels bits_scalar, bits_avx2, bits_avx512, bits_neon;
extern const struct bits_kernels *const bits_levels[CPU_LEVELS];

/* The portable `pack`: AVX2 has no product of 64 bits, and mixes no faster. */
void bits_pack_slots(const uint64_t *slots, size_t k, unsigned bits, uint64_t *out);

/* For a CPU level: how many slots of 1, 2 or 4 bits differ, by the half byte of what differs in them. */
static inline const uint8_t *bits_differing(unsigned bits) {
    static const uint8_t counts[3][16] = {{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4},
                                          {0, 1, 1, 1, 1, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2},
                                          {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    return counts[bits >= 4 ? 2 : bits - 1];
}

/* Write each slot's least value, or EMPTY_SLOT; constant is draw(seed, DOMAIN_GROUP, 0). */
void bits_group_signature(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n, uint64_t constant,
                          size_t k, uint64_t *out);

/* Pack n signatures. An empty one becomes words of all ones, and of no other is the first word that. */
void bits_pack(const struct bits_kernels *kernels, const uint64_t *signatures, size_t n, size_t k, unsigned bits,
               uint64_t *out);

/* Write the number of equal slots of each pair of packed rows; -1 where either is empty. */
void bits_compare(const struct bits_kernels *kernels, const uint64_t *a, size_t step, const uint64_t *b, size_t n,
                  size_t k, unsigned bits, int32_t *equal);

#endif

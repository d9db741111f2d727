/* What the files of this family share. */
#ifndef LSHFAST_HAMMING_PARTS_H
#define LSHFAST_HAMMING_PARTS_H

#include "hamming/hamming.h"

/* Items whose memory is requested before the first of them is used. */
#define HAMMING_TILE 16

static inline size_t hamming_near(const struct hamming_kernels *kernels, const uint64_t *codes, size_t n, size_t words,
                                  const uint64_t *query, unsigned radius, uint32_t *places) {
    if (words == 1) return kernels->near_words(codes, n, *query, radius, places);
    return kernels->near_codes(codes, n, words, query, radius, places);
}

/* The greatest distance that is still of interest. */
static inline unsigned hamming_reach(const struct hamming_best *best, size_t words) {
    if (best->count < best->k) return (unsigned)(64 * words);
    return (unsigned)(best->at[0] >> HAMMING_ROW_BITS);
}

void hamming_offer(struct hamming_best *best, uint64_t hit);

/* The portable `select`. */
void hamming_select(const uint64_t *codes, size_t n, size_t words, const uint64_t *mask, uint32_t *values);

/* How many bits at the positions of a mask differ. */
static inline unsigned hamming_differing(const uint64_t *a, const uint64_t *b, size_t words, const uint64_t *mask) {
    uint64_t sum = 0;
    for (size_t w = 0; w < words; w++) sum += ones_of((a[w] ^ b[w]) & mask[w]);
    return (unsigned)sum;
}

/* The next greater number with as many ones; x is not 0. */
static inline uint64_t hamming_next_flip(uint64_t x) {
    uint64_t low = x & (0 - x), sum = x + low;
    return sum | (x ^ sum) >> (2 + lowest_bit(low));
}

static inline size_t hamming_buckets(const struct hamming_block *block) { return (size_t)1 << block->bits; }

#endif

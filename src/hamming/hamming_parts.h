/* What the files of this family share. */
#ifndef LSHFAST_HAMMING_PARTS_H
#define LSHFAST_HAMMING_PARTS_H

#include "hamming/hamming.h"

/* Prefetch distance of the codes that `differences` reads. */
#define HAMMING_AHEAD 8

/* Items whose memory is requested before the first of them is used. */
#define HAMMING_TILE 16

/* Codes of a piece: as many whole groups as there are columns for. */
static inline size_t hamming_piece(size_t words) {
    size_t most = words == 1 ? HAMMING_PIECE : HAMMING_COLUMNS / words / HAMMING_GROUP * HAMMING_GROUP;
    return most < HAMMING_PIECE ? most : HAMMING_PIECE;
}

/* Words after which the sums of a group are compared with the radius: none of it may be near any more. Sums of bytes of
 * so many words do not overflow. */
static inline size_t hamming_step(size_t words) { return words <= 16 ? 2 : (words + 7) / 8; }

/* Write (sum << 32 | position) of some rows of a group that begins at position `start`: those marked, below n. */
static inline uint64_t *hamming_write(uint64_t *out, const uint64_t *sums, unsigned marked, size_t start, size_t n) {
    if (n - start < HAMMING_GROUP) marked &= ((unsigned)1 << (n - start)) - 1;
    for (; marked; marked &= marked - 1) {
        const unsigned t = lowest_bit(marked);
        *out++ = sums[t] << 32 | (start + t);
    }
    return out;
}

/* Row t of a group. */
static inline const uint64_t *hamming_row(const uint64_t *codes, const uint32_t *order, size_t words, size_t t) {
    return codes + (order ? order[t] : t) * words;
}

/* The code at a place. */
static inline size_t hamming_code_at(const struct hamming_scan *scan, size_t place) {
    return scan->order ? scan->order[place] : place;
}

/* Prepare the places [start, start + size) for `hamming_near`; at most hamming_piece(words). */
void hamming_load(const struct hamming_scan *scan, size_t start, size_t size);

/* Write (distance << 32 | place - start) of the codes within the radius, in the order of their places; live or not. */
size_t hamming_near(const struct hamming_scan *scan, size_t start, size_t size, const uint64_t *query, unsigned radius,
                    uint64_t *found);

/* The greatest distance, or rank, of a hit that is not too great; at most `most`. */
static inline unsigned hamming_reach(const struct hamming_best *best, uint64_t most) {
    const uint64_t greatest = (best->bound - 1) >> HAMMING_ROW_BITS;
    return (unsigned)(greatest < most ? greatest : most);
}

/* Take a hit unless it is too great. After some offers `tighten` lowers the bound, if there are at least twice k. */
void hamming_offer(struct hamming_best *best, uint64_t hit);
void hamming_tighten(struct hamming_best *best);

/* The portable `transpose`, `ones` and `select`. */
void hamming_transpose(const uint64_t *codes, const uint32_t *order, size_t words, uint64_t *columns);
void hamming_ones(const uint64_t *codes, size_t n, size_t words, uint16_t *counts);
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

/* The tokens of many sets as ranks, the rarest token first, for a join. Tokens of one set only are of no use to a join, so
 * a filter of two bits a token tells most of them, and they are left out. The others are divided by their hashes into parts
 * that fit into the cache; within a part, a small table counts them. Ranks are then written to all sets in ascending order:
 * nothing is sorted, and no table of all tokens is needed.
 *
 * Contract: memory belongs to the caller and is as large as is said here; nothing is allocated, nothing fails. There are
 * fewer than 2^31 sets. */
#ifndef LSHFAST_RANKS_H
#define LSHFAST_RANKS_H

#include "compiler.h"

#include <stddef.h>
#include <stdint.h>

/* ---- The filter. */

struct ranks_filter {
    uint8_t *counters; /* 2^(bits - 2) bytes, zeros at first */
    unsigned bits;     /* 2^bits counters of two bits, bits in 10..40 */
    uint64_t key;      /* odd and secret, so that nobody can choose tokens by their places */
};

/* Note those of n tokens that belong to one slice of the filter: slices can be noted at the same time. slice < slices,
 * slices in 1..2^16. */
void ranks_note(const struct ranks_filter *filter, const uint64_t *tokens, size_t n, uint64_t slice, uint64_t slices);

/* Write the hashes, which are as different as the tokens, of those of n tokens that were noted twice or share a counter with
 * others; return their number. `hashes` has room for n. */
size_t ranks_pick(const struct ranks_filter *filter, const uint64_t *tokens, size_t n, uint64_t *hashes);

/* Prefetch the counters of n tokens that are picked soon. */
void ranks_prefetch(const struct ranks_filter *filter, const uint64_t *tokens, size_t n);

/* ---- Parts: the first `bits` bits of a hash, bits in 0..16, are its part. */

static inline uint64_t ranks_part(uint64_t hash, unsigned bits) { return bits ? hash >> (64 - bits) : 0; }

/* Add the number of hashes of each part to counts. */
void ranks_count_parts(const uint64_t *hashes, size_t n, unsigned bits, uint64_t *counts);

/* Write the hashes of a set at ends[part], which rises, and the number of the set beside them. */
void ranks_divide(const uint64_t *hashes, size_t n, uint32_t set, unsigned bits, uint64_t *ends, uint64_t *to_hashes,
                  uint32_t *to_sets);

/* Tokens by their number of sets: one class for each number below 16, then eight for each power of two. */
#define RANKS_CLASSES 240
#define RANKS_FIRST ((uint32_t)1 << 31) /* this bit is set in the first posting of each token */

/* The memory for a part of n hashes. */
struct ranks_scratch {
    uint32_t *table; /* 2^bits, at least 2 n, bits in 1..47; it is cleared, so a larger one takes longer */
    unsigned bits;
    uint64_t *hashes;                                  /* n */
    uint32_t *ids, *counts, *lasts, *starts, *postings; /* n each */
};

/* Replace the sets of a part's n < 2^31 hashes, those of one set beside each other, by the postings of its tokens, by
 * ascending class: the sets of each token, each once. Writes their number in each class, and returns the sum. `bits` are
 * those of parts. */
size_t ranks_group(const uint64_t *hashes, uint32_t *sets, size_t n, unsigned bits, const struct ranks_scratch *scratch,
                   uint64_t class_postings[RANKS_CLASSES]);

/* Add the number of postings of each set to counts. */
void ranks_count(const uint32_t *postings, size_t n, uint32_t *counts);

/* Give the tokens of n postings the ranks from `next` on, and write them at ends[set], which rises. Returns the next rank. */
uint32_t ranks_place(const uint32_t *postings, size_t n, uint32_t next, uint64_t *ends, uint32_t *ranks);

#endif

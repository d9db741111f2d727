/* Which rows of a stream are in buckets that hold many rows, as far as few counters can tell.
 *
 * All arrays are owned by the caller. */
#ifndef LSHFAST_CROWDED_BUCKETS_H
#define LSHFAST_CROWDED_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

/* Count the keys of n rows, keys[i * bands + band], in 2^bits counters (1 <= bits <= 32), which end at 255 and are 0 at
 * first. crowded[i] is 1 if a counter of row i is at its end, else 0. The key of no bucket is not counted. The multiplier is
 * odd. */
void crowded_buckets_count(const uint64_t *keys, size_t bands, size_t n, uint64_t multiplier, unsigned bits, uint8_t *counts,
                           uint8_t *crowded);

/* Halve 2^bits counters. */
void crowded_buckets_halve(uint8_t *counts, unsigned bits);

#endif

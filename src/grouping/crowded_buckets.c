/* One table of small counters for the keys of all bands. */
#include "grouping/crowded_buckets.h"

#include "compiler.h"
#include "field.h"

#define FULL 255

/* Rows whose counters are fetched ahead. */
#define ROWS_AHEAD 4

/* The counter of a key: different bands have different ones for the same key. */
static inline size_t counter_of(uint64_t key, size_t band, uint64_t multiplier, unsigned bits) {
    return (size_t)((key + band) * multiplier >> (64 - bits));
}

void crowded_buckets_count(const uint64_t *keys, size_t bands, size_t n, uint64_t multiplier, unsigned bits, uint8_t *counts,
                           uint8_t *crowded) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = keys + i * bands;
        if (n - i > ROWS_AHEAD) {
            for (size_t band = 0; band < bands; band++) {
                prefetch(counts + counter_of(row[ROWS_AHEAD * bands + band], band, multiplier, bits));
            }
        }
        uint8_t full = 0;
        for (size_t band = 0; band < bands; band++) {
            if (row[band] == EMPTY_SLOT) continue;
            uint8_t *count = counts + counter_of(row[band], band, multiplier, bits);
            *count = (uint8_t)(*count + (*count < FULL));
            full |= *count == FULL;
        }
        crowded[i] = full;
    }
}

void crowded_buckets_halve(uint8_t *counts, unsigned bits) {
    for (size_t i = 0; i < (size_t)1 << bits; i++) counts[i] /= 2;
}

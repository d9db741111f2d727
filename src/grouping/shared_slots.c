/* Columns of hashes, so that the counts of one slot at a time are in the cache. */
#include "grouping/shared_slots.h"

#include "compiler.h"

/* Rows whose signatures are fetched ahead, and hashes whose counts are. */
#define ROWS_AHEAD 4
#define HASHES_AHEAD 16

void shared_slots_hash(const uint64_t *signatures, const int64_t *of, size_t k, size_t first, size_t step, size_t slots,
                       uint64_t multiplier, size_t n, size_t begin, size_t end, uint32_t *hashes) {
    for (size_t i = begin; i < end; i++) {
        const uint64_t *row = signatures + (size_t)of[i] * k + first;
        if (i + ROWS_AHEAD < end) {
            const uint64_t *ahead = signatures + (size_t)of[i + ROWS_AHEAD] * k + first;
            for (size_t at = 0; at <= (slots - 1) * step; at += 8) prefetch(ahead + at);
        }
        for (size_t slot = 0; slot < slots; slot++) {
            hashes[slot * n + i] = (uint32_t)(row[slot * step] * multiplier >> 32);
        }
    }
}

void shared_slots_count(const uint32_t *hashes, size_t n, unsigned bits, uint8_t *seen) {
    unsigned unused = 32 - bits;
    for (size_t i = 0; i < n; i++) {
        if (n - i > HASHES_AHEAD) prefetch(seen + (hashes[i + HASHES_AHEAD] >> unused) / 4);
        uint32_t hash = hashes[i] >> unused;
        unsigned shift = hash % 4 * 2;
        unsigned counted = seen[hash / 4] >> shift & 3;
        seen[hash / 4] = (uint8_t)(seen[hash / 4] + ((unsigned)(counted < 2) << shift));
    }
}

void shared_slots_add(const uint32_t *hashes, size_t n, unsigned bits, const uint8_t *seen, uint32_t *shared) {
    unsigned unused = 32 - bits;
    for (size_t i = 0; i < n; i++) {
        if (n - i > HASHES_AHEAD) prefetch(seen + (hashes[i + HASHES_AHEAD] >> unused) / 4);
        uint32_t hash = hashes[i] >> unused;
        shared[i] += seen[hash / 4] >> hash % 4 * 2 >> 1 & 1;
    }
}

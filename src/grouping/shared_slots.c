/* Columns of hashes, so that the counts of one slot at a time are in the cache. */
#include "grouping/shared_slots.h"

#include "compiler.h"

/* Rows whose signatures are fetched ahead, and hashes whose counts are. */
#define ROWS_AHEAD 4
#define HASHES_AHEAD 16

void shared_slots_hash(const uint64_t *signatures, const int64_t *of, size_t k, size_t first, size_t slots,
                       uint64_t multiplier, unsigned bits, size_t n, size_t begin, size_t end, uint32_t *hashes) {
    for (size_t i = begin; i < end; i++) {
        const uint64_t *row = signatures + (size_t)of[i] * k + first;
        if (i + ROWS_AHEAD < end) {
            const uint64_t *ahead = signatures + (size_t)of[i + ROWS_AHEAD] * k + first;
            for (size_t slot = 0; slot < slots; slot += 8) prefetch(ahead + slot);
        }
        for (size_t slot = 0; slot < slots; slot++) {
            hashes[slot * n + i] = (uint32_t)(row[slot] * multiplier >> (64 - bits));
        }
    }
}

void shared_slots_count(const uint32_t *hashes, size_t n, uint8_t *seen) {
    for (size_t i = 0; i < n; i++) {
        if (n - i > HASHES_AHEAD) prefetch(seen + hashes[i + HASHES_AHEAD] / 4);
        unsigned shift = hashes[i] % 4 * 2;
        unsigned counted = seen[hashes[i] / 4] >> shift & 3;
        seen[hashes[i] / 4] = (uint8_t)(seen[hashes[i] / 4] + ((unsigned)(counted < 2) << shift));
    }
}

void shared_slots_add(const uint32_t *hashes, size_t n, const uint8_t *seen, uint32_t *shared) {
    for (size_t i = 0; i < n; i++) {
        if (n - i > HASHES_AHEAD) prefetch(seen + hashes[i + HASHES_AHEAD] / 4);
        shared[i] += seen[hashes[i] / 4] >> hashes[i] % 4 * 2 >> 1 & 1;
    }
}

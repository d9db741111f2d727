/* The schemes of update.h: those of affine.h as they are, classic through a part of a signature at a time, fast anew. */
#include "affine/update.h"

/* Functions of classic at a time: a multiple of SKETCH_CLASSIC_LANES. */
#define PART_SLOTS 256

static void lower_classic(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n, const uint64_t *a,
                          const uint64_t *b, size_t k, uint64_t *values) {
    uint64_t made[PART_SLOTS];
    for (size_t start = 0; start < k; start += PART_SLOTS) {
        size_t count = k - start < PART_SLOTS ? k - start : PART_SLOTS;
        kernels->classic(tokens, n, a + start, b + start, count, made);
        for (size_t i = 0; i < count; i++) {
            if (made[i] < values[start + i]) values[start + i] = made[i];
        }
    }
}

static inline void land_one(uint64_t *values, size_t slot, uint64_t value) {
    uint64_t held = values[slot];
    values[slot] = value < held ? value : held;
}

/* A round can lower a slot only if no token of an earlier one met it, and so the rounds end where that is true of no
 * slot: after a few, once there are many tokens, which makes single ones cheap. */
static void lower_fast(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n, const uint64_t *rounds,
                       const uint64_t *slots, size_t k, uint64_t *values) {
    uint64_t landed[SKETCH_BLOCK_TOKENS];
    uint32_t places[SKETCH_BLOCK_TOKENS];
    size_t count = sketch_fast_rounds(k), filled = 0; /* slots before `filled` are met in rounds up to this one */
    for (size_t r = 0; r < count; r++) {
        for (size_t start = 0; start < n; start += SKETCH_BLOCK_TOKENS) {
            size_t block = n - start < SKETCH_BLOCK_TOKENS ? n - start : SKETCH_BLOCK_TOKENS;
            if (block == 1) {
                uint64_t hash = mix64(tokens[start] ^ rounds[r]);
                land_one(values, (size_t)((hash >> 32) * k >> 32),
                         (uint64_t)r << SKETCH_VALUE_BITS | (hash & SKETCH_VALUE_MASK));
                continue;
            }
            kernels->land(tokens + start, block, r, rounds[r], k, landed, places);
            for (size_t t = 0; t < block; t++) land_one(values, places[t], landed[t]);
        }
        while (filled < k && values[filled] >> SKETCH_VALUE_BITS <= r) filled++;
        if (filled == k) return;
    }
    for (size_t i = filled; i < k; i++) {
        if (values[i] >> SKETCH_VALUE_BITS >= count) {
            land_one(values, i, (uint64_t)count << SKETCH_VALUE_BITS | kernels->least(tokens, n, slots[i]));
        }
    }
}

void update_signature(const struct update_kernels *kernels, const struct update_functions *functions,
                      const uint64_t *hashes, size_t n, void *values) {
    const void *first = functions->first, *second = functions->second;
    size_t k = functions->k;
    if (n == 0) return;
    switch (functions->scheme) {
    case UPDATE_AFFINE32:
        kernels->affine->affine32(hashes, n, first, second, k, values);
        return;
    case UPDATE_AFFINE64:
        kernels->affine->affine64(hashes, n, first, second, k, values);
        return;
    case UPDATE_LEGACY:
        kernels->affine->legacy(hashes, n, first, second, k, values);
        return;
    case UPDATE_CLASSIC:
        lower_classic(kernels->sketch, hashes, n, first, second, k, values);
        return;
    case UPDATE_FAST:
        lower_fast(kernels->sketch, hashes, n, first, second, k, values);
        return;
    }
}

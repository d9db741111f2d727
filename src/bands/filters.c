/* A band's key needs hashing once; its bits are an arithmetic progression (Kirsch and Mitzenmacher 2006), so that each
 * further bit is an addition and a remainder. */
#include "bands/filters.h"

/* As many keys as the scalar kernel has under way; after a hit, the other bands need no keys. */
#define FILTERS_BANDS_AT_ONCE 4

static bool holds(const uint8_t *filter, uint64_t key, uint64_t bits, size_t hashes) {
    uint64_t x = mix64(key), step = mix64(x) | 1;
    for (size_t i = 0; i < hashes; i++, x += step) {
        uint64_t bit = x % bits;
        if (!(filter[bit >> 3] >> (bit & 7) & 1)) return false;
    }
    return true;
}

static void add(uint8_t *filter, uint64_t key, uint64_t bits, size_t hashes) {
    uint64_t x = mix64(key), step = mix64(x) | 1;
    for (size_t i = 0; i < hashes; i++, x += step) {
        uint64_t bit = x % bits;
        filter[bit >> 3] |= (uint8_t)(1u << (bit & 7));
    }
}

static size_t next_keys(band_key_kernel *kernel, const struct band_filters *shape, const uint64_t *slots, size_t at,
                        uint64_t *keys) {
    uint64_t starts[FILTERS_BANDS_AT_ONCE];
    size_t count = shape->bands - at < FILTERS_BANDS_AT_ONCE ? shape->bands - at : FILTERS_BANDS_AT_ONCE;
    bands_starts(shape->first + at, count, starts);
    kernel(slots + at * shape->rows, starts, count, shape->rows, keys);
    return count;
}

bool filters_hold(band_key_kernel *kernel, const struct band_filters *shape, const uint8_t *bytes,
                  const uint64_t *slots) {
    uint64_t keys[FILTERS_BANDS_AT_ONCE];
    for (size_t at = 0; at < shape->bands; at += FILTERS_BANDS_AT_ONCE) {
        size_t count = next_keys(kernel, shape, slots, at, keys);
        for (size_t i = 0; i < count; i++)
            if (holds(bytes + (at + i) * shape->stride, keys[i], shape->bits, shape->hashes)) return true;
    }
    return false;
}

void filters_add(band_key_kernel *kernel, const struct band_filters *shape, uint8_t *bytes, const uint64_t *slots) {
    uint64_t keys[FILTERS_BANDS_AT_ONCE];
    for (size_t at = 0; at < shape->bands; at += FILTERS_BANDS_AT_ONCE) {
        size_t count = next_keys(kernel, shape, slots, at, keys);
        for (size_t i = 0; i < count; i++) add(bytes + (at + i) * shape->stride, keys[i], shape->bits, shape->hashes);
    }
}

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

/* ---- single keys ---- */

/* Keys whose bytes are prefetched before the first of them is looked up: a large filter is in no cache. */
#define FILTERS_KEYS_AT_ONCE 8

static inline uint64_t next_bit(uint64_t *x, uint64_t step, uint64_t bits) {
    uint64_t bit = wide_high(wide_product(*x, bits));
    *x += step;
    return bit;
}

/* Write the bits of some keys, and ask for their bytes. */
static void find_bits(const uint8_t *filter, uint64_t bits, size_t hashes, const uint64_t *keys, size_t some,
                      uint64_t *found) {
    for (size_t k = 0; k < some; k++) {
        uint64_t x = mix64(keys[k]), step = mix64(x) | 1;
        for (size_t i = 0; i < hashes; i++) {
            uint64_t bit = next_bit(&x, step, bits);
            prefetch(filter + (bit >> 3));
            found[k * hashes + i] = bit;
        }
    }
}

/* Tell which keys the filter holds, and then add each of them if `add`. */
static inline void look_up(uint8_t *filter, uint64_t bits, size_t hashes, const uint64_t *keys, size_t n, uint8_t *held,
                           int add) {
    uint64_t found[FILTERS_KEYS_AT_ONCE * FILTERS_MOST_HASHES];
    for (size_t at = 0; at < n; at += FILTERS_KEYS_AT_ONCE) {
        size_t some = n - at < FILTERS_KEYS_AT_ONCE ? n - at : FILTERS_KEYS_AT_ONCE;
        find_bits(filter, bits, hashes, keys + at, some, found);
        for (size_t k = 0; k < some; k++) {
            uint8_t all = 1;
            for (size_t i = 0; i < hashes; i++) {
                uint64_t bit = found[k * hashes + i];
                uint8_t *byte = filter + (bit >> 3);
                all &= (uint8_t)(*byte >> (bit & 7) & 1);
                if (add) *byte |= (uint8_t)(1u << (bit & 7));
            }
            held[at + k] = all;
        }
    }
}

void filters_hold_keys(const uint8_t *filter, uint64_t bits, size_t hashes, const uint64_t *keys, size_t n,
                       uint8_t *held) {
    look_up((uint8_t *)filter, bits, hashes, keys, n, held, 0);
}

void filters_add_keys(uint8_t *filter, uint64_t bits, size_t hashes, const uint64_t *keys, size_t n, uint8_t *held) {
    look_up(filter, bits, hashes, keys, n, held, 1);
}

/* Bloom filters of bands: one for each band, of the keys of its buckets.
 *
 * Contract: `bytes` is (bands, stride), row-major, the filters of the bands [first, first + bands); a filter has
 * `bits` >= 1 bits in its first (bits + 7) / 8 <= stride bytes. slots holds bands * rows values, those of band `first`
 * first. A key's bits are (x + i y) mod bits for i in 0..hashes - 1, where x is its mix and y the mix of x, made odd;
 * byte i / 8 holds bit i, the low bits first. A filter of single keys differs in that its bits are those of the upper half of
 * (x + i y) * bits, which takes no division, and hashes is in 1..FILTERS_MOST_HASHES. Nothing is allocated or kept. */
#ifndef LSHFAST_FILTERS_H
#define LSHFAST_FILTERS_H

#include <stdbool.h>

#include "bands/bands.h"

/* The most bits that a key has in a filter of single keys. */
#define FILTERS_MOST_HASHES 64

struct band_filters {
    size_t bands, first, rows, stride, hashes;
    uint64_t bits;
};

/* Tell whether any filter holds all bits of its band's key. */
bool filters_hold(band_key_kernel *kernel, const struct band_filters *shape, const uint8_t *bytes,
                  const uint64_t *slots);

/* Set the bits of the band's key in each filter. */
void filters_add(band_key_kernel *kernel, const struct band_filters *shape, uint8_t *bytes, const uint64_t *slots);

/* Tell for each of n keys, mixed well, whether the filter holds all its bits. */
void filters_hold_keys(const uint8_t *filter, uint64_t bits, size_t hashes, const uint64_t *keys, size_t n,
                       uint8_t *held);

/* Add n keys, one after the other, and tell for each whether the filter held all its bits before. */
void filters_add_keys(uint8_t *filter, uint64_t bits, size_t hashes, const uint64_t *keys, size_t n, uint8_t *held);

#endif

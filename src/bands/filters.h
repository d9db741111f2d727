/* Bloom filters of bands: one for each band, of the keys of its buckets.
 *
 * Contract: `bytes` is (bands, stride), row-major, the filters of the bands [first, first + bands); a filter has
 * `bits` >= 1 bits in its first (bits + 7) / 8 <= stride bytes. slots holds bands * rows values, those of band `first`
 * first. A key's bits are (x + i y) mod bits for i in 0..hashes - 1, where x is its mix and y the mix of x, made odd;
 * byte i / 8 holds bit i, the low bits first. Nothing is allocated or kept. */
#ifndef LSHFAST_FILTERS_H
#define LSHFAST_FILTERS_H

#include <stdbool.h>

#include "bands/bands.h"

struct band_filters {
    size_t bands, first, rows, stride, hashes;
    uint64_t bits;
};

/* Tell whether any filter holds all bits of its band's key. */
bool filters_hold(band_key_kernel *kernel, const struct band_filters *shape, const uint8_t *bytes,
                  const uint64_t *slots);

/* Set the bits of the band's key in each filter. */
void filters_add(band_key_kernel *kernel, const struct band_filters *shape, uint8_t *bytes, const uint64_t *slots);

#endif

/* MinHash signatures in place: more tokens lower the values that there are, whatever their scheme.
 *
 * Contract: values holds k numbers (uint32_t for affine32, uint64_t for the others) and overlaps nothing; each becomes
 * the least of itself and of what its function makes of the n hashes. Values are those that other tokens left, or the
 * scheme's greatest. Nothing is allocated or kept. */
#ifndef LSHFAST_UPDATE_H
#define LSHFAST_UPDATE_H

#include "affine/affine.h"
#include "sketch/sketch.h"

enum update_scheme { UPDATE_AFFINE32, UPDATE_AFFINE64, UPDATE_LEGACY, UPDATE_CLASSIC, UPDATE_FAST };

/* k functions: first and second are a and b of the affine schemes (k each; uint32_t for affine32) and of classic
 * (padded as in sketch.h), and the rounds and slots of fast. */
struct update_functions {
    enum update_scheme scheme;
    size_t k;
    const void *first, *second;
};

/* The kernels of one CPU level. */
struct update_kernels {
    const struct affine_kernels *affine;
    const struct sketch_kernels *sketch;
};

void update_signature(const struct update_kernels *kernels, const struct update_functions *functions,
                      const uint64_t *hashes, size_t n, void *values);

#endif

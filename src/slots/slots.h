/* How many slots of signatures are equal: what estimates of similarity are made of.
 *
 * Contract: signatures are rows of k > 0 slots. Outputs overlap nothing. Nothing is allocated or kept. */
#ifndef LSHFAST_SLOTS_H
#define LSHFAST_SLOTS_H

#include "cpu/cpu.h"
#include "field.h"

/* What a CPU level does in its own way. */
struct slots_kernels {
    /* How many of n >= 0 numbers are equal to those in the same places. */
    size_t (*equal32)(const uint32_t *a, const uint32_t *b, size_t n);
    size_t (*equal64)(const uint64_t *a, const uint64_t *b, size_t n);
    /* Of n pairs of rows the slots of one value, and the slots that are EMPTY_SLOT in both. a has a row for each one of b
     * (step = k), or one for all of them (step = 0). */
    void (*compare)(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t k, int32_t *equal,
                    int32_t *skipped);
};
extern const struct slots_kernels slots_scalar, slots_avx2, slots_avx512, slots_neon;
extern const struct slots_kernels *const slots_levels[CPU_LEVELS];

/* The number of equal slots of two signatures, 0 if the first is empty. */
static inline size_t slots_agreement(const struct slots_kernels *kernels, const uint64_t *a, const uint64_t *b,
                                     size_t k) {
    return a[0] == EMPTY_SLOT ? 0 : kernels->equal64(a, b, k);
}

#endif

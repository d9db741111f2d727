/* Exact distances between two points: what nearest-neighbour search ranks its candidates by.
 *
 * A point is a block of 64-bit words, so that it can follow the bucket words of an entry in any store:
 *
 *   dense    [norm] values, zeros up to a full word     dim values, float or double
 *   sparse   [norm] count, indices, values              dim is the most values; each array fills whole words
 *   bits     dim words
 *
 * The norm, the sum of the squares as a double, is there for the cosine only. The indices of a sparse point are uint32
 * and ascend; its first `count` entries are used.
 *
 * Floats are widened to doubles: the product of two is exact, and the result has a relative error near 2^-52. Sums in
 * floats are 1.4 times as fast on rows that come from memory, but an angle near 0 would be off by 5e-4.
 * Dense sums have DISTANCES_LANES lanes: value i is added to lane i mod DISTANCES_LANES, in the order of i; then the
 * upper half of the lanes is added to the lower half until one is left. Sparse sums go in the order of the indices. So all
 * CPU levels give the same bits.
 *
 * Contract: both points have the layout, the measure and the dim of the function. Words need the alignment of uint64_t
 * only. Any bits may be read: a count above dim counts as dim, and no index is followed. Nothing is allocated or kept. */
#ifndef LSHFAST_DISTANCES_H
#define LSHFAST_DISTANCES_H

#include <math.h>
#include <stddef.h>

#include "cpu/cpu.h"

NO_CONTRACTION

#define DISTANCES_LANES 32

enum distances_measure {
    DISTANCES_COSINE,    /* 1 - cosine of the angle, in [0, 2] */
    DISTANCES_EUCLIDEAN, /* the square of the distance */
    DISTANCES_MANHATTAN,
    DISTANCES_HAMMING, /* the number of different bits; for DISTANCES_BITS only, which has no other */
    DISTANCES_MEASURES
};

enum distances_layout {
    DISTANCES_FLOAT32,
    DISTANCES_FLOAT64,
    DISTANCES_SPARSE32,
    DISTANCES_SPARSE64,
    DISTANCES_BITS,
    DISTANCES_LAYOUTS
};

typedef double distances_function(const uint64_t *a, const uint64_t *b, size_t dim);

/* The functions of a CPU level, by layout and measure; NULL where a layout does not have the measure. */
struct distances_kernels {
    distances_function *of[DISTANCES_LAYOUTS][DISTANCES_MEASURES];
};
extern const struct distances_kernels distances_scalar, distances_avx2, distances_avx512, distances_neon;
extern const struct distances_kernels *const distances_levels[CPU_LEVELS];

/* The words of a point. */
static inline size_t distances_words(enum distances_layout layout, enum distances_measure measure, size_t dim) {
    size_t norm = measure == DISTANCES_COSINE, half = dim / 2 + dim % 2;
    switch (layout) {
    case DISTANCES_FLOAT32: return norm + half;
    case DISTANCES_SPARSE32: return norm + 1 + half + half;
    case DISTANCES_SPARSE64: return norm + 1 + half + dim;
    default: return norm + dim;
    }
}

/* Sparse points, on every CPU level: the merge of two lists has no use for wide registers. */
distances_function distances_sparse32_cosine, distances_sparse32_euclidean, distances_sparse32_manhattan,
    distances_sparse64_cosine, distances_sparse64_euclidean, distances_sparse64_manhattan;
#define DISTANCES_SPARSE_ROWS                                                                                          \
    {distances_sparse32_cosine, distances_sparse32_euclidean, distances_sparse32_manhattan, NULL},                     \
        {distances_sparse64_cosine, distances_sparse64_euclidean, distances_sparse64_manhattan, NULL}

/* ---- for the CPU levels ---- */

static inline double distances_norm(const uint64_t *point) {
    union {
        uint64_t word;
        double number;
    } norm = {*point};
    return norm.number;
}

/* 1 - dot / (|a| |b|), with the norms of both points; 0 for equal points. */
static inline double distances_of_dot(double dot, const uint64_t *a, const uint64_t *b) {
    double distance = 1 - dot / sqrt(distances_norm(a) * distances_norm(b));
    return distance < 0 ? 0 : distance > 2 ? 2 : distance;
}

/* The sum of the lanes. */
static inline double distances_fold(double *lanes) {
    for (size_t half = DISTANCES_LANES / 2; half; half /= 2) {
        for (size_t i = 0; i < half; i++) lanes[i] += lanes[half + i];
    }
    return lanes[0];
}

#endif

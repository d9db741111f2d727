/* Products of vectors of floats with the centres of cells, and which cells may have points within an angle.
 *
 * Centres lie in panels of PRODUCTS_LANES: coordinate j of centre c is panels[(c / PRODUCTS_LANES * dim + j) * PRODUCTS_LANES
 * + c % PRODUCTS_LANES]. A panel passes over all vectors while it is in a cache, and a few vectors have all their sums with
 * it in registers.
 *
 * A product is a sum of floats in the order of the coordinates, and each product of two and each sum is rounded, so all CPU
 * levels give the same bits. Of two vectors of length 1, whose coordinates were rounded to floats, it differs from the
 * cosine of the angle between what they were rounded from by less than products_error(dim): dim roundings of 2^-24 at most.
 *
 * Contract: counts of centres are multiples of PRODUCTS_LANES. Outputs overlap nothing. Nothing is allocated or kept. */
#ifndef LSHFAST_PRODUCTS_H
#define LSHFAST_PRODUCTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cpu/cpu.h"

NO_CONTRACTION

#define PRODUCTS_LANES 32
#define PRODUCTS_MOST_DIM ((size_t)1 << 18)

/* More than the errors of what products_within computes with floats, and of a cosine that was computed in doubles. */
#define PRODUCTS_ERROR 3e-6f

/* More than the error of a norm that was computed in doubles. */
#define PRODUCTS_NORM_ERROR 1e-7

static inline float products_error(size_t dim) { return (float)(dim + 16) * 0x1.1p-24f; }

/* Coordinate 0 of a centre in its panel; the others follow in steps of PRODUCTS_LANES. */
static inline float *products_column(float *panels, size_t dim, size_t centre) {
    return panels + centre / PRODUCTS_LANES * dim * PRODUCTS_LANES + centre % PRODUCTS_LANES;
}

static inline double products_coordinate(const uint64_t *point, int wide, size_t i) {
    return wide ? ((const double *)(point + 1))[i] : (double)((const float *)(point + 1))[i];
}

/* Write a dense point of distances.h, which has a norm, as a vector of length 1; wide: 1 if its coordinates are doubles.
 * 0, and zeros: its norm is not that of its coordinates, so its distances are no angles; a damaged file may have such points. */
static inline int products_unit(const uint64_t *point, size_t dim, int wide, float *unit) {
    double norm, sums[8] = {0};
    memcpy(&norm, point, sizeof norm);
    for (size_t first = 0; first < dim; first += 8) {
        const size_t end = dim - first < 8 ? dim - first : 8;
        for (size_t l = 0; l < end; l++) {
            const double x = products_coordinate(point, wide, first + l);
            sums[l] += x * x;
        }
    }
    const double sum = (sums[0] + sums[1] + sums[2] + sums[3]) + (sums[4] + sums[5] + sums[6] + sums[7]);
    const double scale = fabs(sum - norm) < PRODUCTS_NORM_ERROR * norm ? 1 / sqrt(norm) : 0;
    if (!(scale > 0 && scale < INFINITY)) {
        memset(unit, 0, dim * sizeof *unit);
        return 0;
    }
    for (size_t i = 0; i < dim; i++) unit[i] = (float)(products_coordinate(point, wide, i) * scale);
    return 1;
}

/* An angle, and the error of products. */
struct products_angle {
    float cosine, sine, error;
};

struct products_kernels {
    /* out[i * count + c] = the product of vector i, (n, dim), and centre c. */
    void (*multiply)(const float *vectors, size_t n, const float *panels, size_t count, size_t dim, float *out);
    /* The first of the greatest of n numbers; n is a multiple of PRODUCTS_LANES, and no number is NaN. */
    size_t (*greatest)(const float *numbers, size_t n);
    /* A vector has these products with the centres of n cells, whose points have products of lowest[c] to highest[c] with
     * their centre. Write the cells that may have points within an angle of the vector, and between which products with the
     * centre these are; return how many. The arrays have room for n + PRODUCTS_LANES. */
    size_t (*within)(const float *products, const float *lowest, const float *highest, size_t n,
                     const struct products_angle *angle, uint32_t *cells, float *low, float *high);
};
extern const struct products_kernels products_scalar, products_avx2, products_avx512, products_neon;
extern const struct products_kernels *const products_levels[CPU_LEVELS];

#endif

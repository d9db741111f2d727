/* Distances for NEON: two doubles a register, sixteen registers of lanes. */
#include "distances/distances.h"

#if LSHFAST_NEON
#include <arm_neon.h>
#include <string.h>

enum { LANES = 2, REGISTERS = DISTANCES_LANES / LANES };

static inline float64x2_t term(enum distances_measure measure, float64x2_t x, float64x2_t y) {
    if (measure == DISTANCES_COSINE) return vmulq_f64(x, y);
    float64x2_t difference = vsubq_f64(x, y);
    return measure == DISTANCES_EUCLIDEAN ? vmulq_f64(difference, difference) : vabsq_f64(difference);
}

/* The sum of doubles that were floats: the product of two is exact, so a fused sum has the bits of a separate one. */
static inline float64x2_t added(enum distances_measure measure, float64x2_t sum, float64x2_t x, float64x2_t y) {
    return measure == DISTANCES_COSINE ? vfmaq_f64(sum, x, y) : vaddq_f64(sum, term(measure, x, y));
}

static inline double fold(float64x2_t sums[REGISTERS]) {
    for (size_t half = REGISTERS / 2; half; half /= 2) {
        for (size_t r = 0; r < half; r++) sums[r] = vaddq_f64(sums[r], sums[half + r]);
    }
    return vgetq_lane_f64(sums[0], 0) + vgetq_lane_f64(sums[0], 1);
}

static inline double sum32(const float *x, const float *y, size_t dim, enum distances_measure measure) {
    float left[DISTANCES_LANES] = {0}, right[DISTANCES_LANES] = {0};
    float64x2_t sums[REGISTERS];
    for (size_t r = 0; r < REGISTERS; r++) sums[r] = vdupq_n_f64(0);
    for (; dim; x += DISTANCES_LANES, y += DISTANCES_LANES, dim -= DISTANCES_LANES) {
        if (dim < DISTANCES_LANES) {
            memcpy(left, x, dim * sizeof *x);
            memcpy(right, y, dim * sizeof *y);
            x = left;
            y = right;
            dim = DISTANCES_LANES;
        }
        for (size_t r = 0; r < REGISTERS; r += 2) {
            float32x4_t first = vld1q_f32(x + LANES * r), second = vld1q_f32(y + LANES * r);
            float64x2_t low = vcvt_f64_f32(vget_low_f32(first)), other = vcvt_f64_f32(vget_low_f32(second));
            sums[r] = added(measure, sums[r], low, other);
            sums[r + 1] = added(measure, sums[r + 1], vcvt_high_f64_f32(first), vcvt_high_f64_f32(second));
        }
    }
    return fold(sums);
}

static inline double sum64(const double *x, const double *y, size_t dim, enum distances_measure measure) {
    double left[DISTANCES_LANES] = {0}, right[DISTANCES_LANES] = {0};
    float64x2_t sums[REGISTERS];
    for (size_t r = 0; r < REGISTERS; r++) sums[r] = vdupq_n_f64(0);
    for (; dim; x += DISTANCES_LANES, y += DISTANCES_LANES, dim -= DISTANCES_LANES) {
        if (dim < DISTANCES_LANES) {
            memcpy(left, x, dim * sizeof *x);
            memcpy(right, y, dim * sizeof *y);
            x = left;
            y = right;
            dim = DISTANCES_LANES;
        }
        for (size_t r = 0; r < REGISTERS; r++) {
            float64x2_t first = vld1q_f64(x + LANES * r), second = vld1q_f64(y + LANES * r);
            sums[r] = vaddq_f64(sums[r], term(measure, first, second));
        }
    }
    return fold(sums);
}

static double cosine32(const uint64_t *a, const uint64_t *b, size_t dim) {
    const float *x = (const float *)(a + 1), *y = (const float *)(b + 1);
    return distances_of_dot(sum32(x, y, dim, DISTANCES_COSINE), a, b);
}

static double euclidean32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_EUCLIDEAN);
}

static double manhattan32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_MANHATTAN);
}

static double cosine64(const uint64_t *a, const uint64_t *b, size_t dim) {
    const double *x = (const double *)(a + 1), *y = (const double *)(b + 1);
    return distances_of_dot(sum64(x, y, dim, DISTANCES_COSINE), a, b);
}

static double euclidean64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_EUCLIDEAN);
}

static double manhattan64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_MANHATTAN);
}

static double hamming(const uint64_t *a, const uint64_t *b, size_t words) {
    uint64_t different = 0;
    size_t i = 0;
    for (; i + 2 <= words; i += 2) {
        uint64x2_t bits = veorq_u64(vld1q_u64(a + i), vld1q_u64(b + i));
        different += vaddlvq_u8(vcntq_u8(vreinterpretq_u8_u64(bits)));
    }
    for (; i < words; i++) different += ones_of(a[i] ^ b[i]);
    return (double)different;
}

const struct distances_kernels distances_neon = {{{cosine32, euclidean32, manhattan32, NULL},
                                                  {cosine64, euclidean64, manhattan64, NULL},
                                                  DISTANCES_SPARSE_ROWS,
                                                  {NULL, NULL, NULL, hamming}}};
#endif

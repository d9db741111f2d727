/* Distances for AVX2: four doubles a register, eight registers of lanes. */
#include "distances/distances.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

#include <string.h>

enum { REGISTERS = DISTANCES_LANES / LANES };

TARGET_AVX2 static inline __m256d term(enum distances_measure measure, __m256d x, __m256d y) {
    if (measure == DISTANCES_COSINE) return _mm256_mul_pd(x, y);
    __m256d difference = _mm256_sub_pd(x, y);
    return measure == DISTANCES_EUCLIDEAN ? _mm256_mul_pd(difference, difference)
                                          : _mm256_andnot_pd(_mm256_set1_pd(-0.0), difference);
}

TARGET_AVX2 static inline double fold(const __m256d sums[REGISTERS]) {
    __m256d sixteen[4];
    for (size_t r = 0; r < 4; r++) sixteen[r] = _mm256_add_pd(sums[r], sums[r + 4]);
    __m256d four = _mm256_add_pd(_mm256_add_pd(sixteen[0], sixteen[2]), _mm256_add_pd(sixteen[1], sixteen[3]));
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

TARGET_AVX2 static inline __m256d widened(const float *x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }

TARGET_AVX2 static inline double sum32(const float *x, const float *y, size_t dim, enum distances_measure measure) {
    float left[DISTANCES_LANES] = {0}, right[DISTANCES_LANES] = {0};
    __m256d sums[REGISTERS];
    for (size_t r = 0; r < REGISTERS; r++) sums[r] = _mm256_setzero_pd();
    for (; dim; x += DISTANCES_LANES, y += DISTANCES_LANES, dim -= DISTANCES_LANES) {
        if (dim < DISTANCES_LANES) {
            memcpy(left, x, dim * sizeof *x);
            memcpy(right, y, dim * sizeof *y);
            x = left;
            y = right;
            dim = DISTANCES_LANES;
        }
        for (size_t r = 0; r < REGISTERS; r++) {
            sums[r] = _mm256_add_pd(sums[r], term(measure, widened(x + LANES * r), widened(y + LANES * r)));
        }
    }
    return fold(sums);
}

TARGET_AVX2 static inline double sum64(const double *x, const double *y, size_t dim, enum distances_measure measure) {
    double left[DISTANCES_LANES] = {0}, right[DISTANCES_LANES] = {0};
    __m256d sums[REGISTERS];
    for (size_t r = 0; r < REGISTERS; r++) sums[r] = _mm256_setzero_pd();
    for (; dim; x += DISTANCES_LANES, y += DISTANCES_LANES, dim -= DISTANCES_LANES) {
        if (dim < DISTANCES_LANES) {
            memcpy(left, x, dim * sizeof *x);
            memcpy(right, y, dim * sizeof *y);
            x = left;
            y = right;
            dim = DISTANCES_LANES;
        }
        for (size_t r = 0; r < REGISTERS; r++) {
            __m256d first = _mm256_loadu_pd(x + LANES * r), second = _mm256_loadu_pd(y + LANES * r);
            sums[r] = _mm256_add_pd(sums[r], term(measure, first, second));
        }
    }
    return fold(sums);
}

TARGET_AVX2 static double cosine32(const uint64_t *a, const uint64_t *b, size_t dim) {
    const float *x = (const float *)(a + 1), *y = (const float *)(b + 1);
    return distances_of_dot(sum32(x, y, dim, DISTANCES_COSINE), a, b);
}

TARGET_AVX2 static double euclidean32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_EUCLIDEAN);
}

TARGET_AVX2 static double manhattan32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_MANHATTAN);
}

TARGET_AVX2 static double cosine64(const uint64_t *a, const uint64_t *b, size_t dim) {
    const double *x = (const double *)(a + 1), *y = (const double *)(b + 1);
    return distances_of_dot(sum64(x, y, dim, DISTANCES_COSINE), a, b);
}

TARGET_AVX2 static double euclidean64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_EUCLIDEAN);
}

TARGET_AVX2 static double manhattan64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_MANHATTAN);
}

TARGET_AVX2 static double hamming(const uint64_t *a, const uint64_t *b, size_t words) {
    uint64_t different = 0;
    for (size_t i = 0; i < words; i++) different += (uint64_t)_mm_popcnt_u64(a[i] ^ b[i]);
    return (double)different;
}

const struct distances_kernels distances_avx2 = {{{cosine32, euclidean32, manhattan32, NULL},
                                                  {cosine64, euclidean64, manhattan64, NULL},
                                                  DISTANCES_SPARSE_ROWS,
                                                  {NULL, NULL, NULL, hamming}}};
#endif

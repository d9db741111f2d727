/* Distances for AVX-512: eight doubles a register, four registers of lanes. */
#include "distances/distances.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

enum { REGISTERS = DISTANCES_LANES / LANES };

TARGET_AVX512 static inline __m512d term(enum distances_measure measure, __m512d x, __m512d y) {
    if (measure == DISTANCES_COSINE) return _mm512_mul_pd(x, y);
    __m512d difference = _mm512_sub_pd(x, y);
    return measure == DISTANCES_EUCLIDEAN ? _mm512_mul_pd(difference, difference) : _mm512_abs_pd(difference);
}

/* The sum of doubles that were floats: the product of two is exact, so a fused sum has the bits of a separate one. */
TARGET_AVX512 static inline __m512d added(enum distances_measure measure, __m512d sum, __m512d x, __m512d y) {
    return measure == DISTANCES_COSINE ? _mm512_fmadd_pd(x, y, sum) : _mm512_add_pd(sum, term(measure, x, y));
}

TARGET_AVX512 static inline double fold(const __m512d sums[REGISTERS]) {
    __m512d eight = _mm512_add_pd(_mm512_add_pd(sums[0], sums[2]), _mm512_add_pd(sums[1], sums[3]));
    __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

TARGET_AVX512 static inline __m512d widened(const float *x) { return _mm512_cvtps_pd(_mm256_loadu_ps(x)); }

TARGET_AVX512 static inline __m512d widened_some(const float *x, __mmask8 mask) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, x));
}

TARGET_AVX512 static inline double sum32(const float *x, const float *y, size_t dim, enum distances_measure measure) {
    __m512d sums[REGISTERS] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd()};
    size_t i = 0;
    for (; i + DISTANCES_LANES <= dim; i += DISTANCES_LANES) {
        for (size_t r = 0; r < REGISTERS; r++) {
            size_t at = i + LANES * r;
            sums[r] = added(measure, sums[r], widened(x + at), widened(y + at));
        }
    }
    for (size_t r = 0; i < dim; r++, i += LANES) {
        __mmask8 mask = first_lanes(dim - i);
        sums[r] = added(measure, sums[r], widened_some(x + i, mask), widened_some(y + i, mask));
    }
    return fold(sums);
}

TARGET_AVX512 static inline double sum64(const double *x, const double *y, size_t dim,
                                         enum distances_measure measure) {
    __m512d sums[REGISTERS] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd()};
    size_t i = 0;
    for (; i + DISTANCES_LANES <= dim; i += DISTANCES_LANES) {
        for (size_t r = 0; r < REGISTERS; r++) {
            size_t at = i + LANES * r;
            sums[r] = _mm512_add_pd(sums[r], term(measure, _mm512_loadu_pd(x + at), _mm512_loadu_pd(y + at)));
        }
    }
    for (size_t r = 0; i < dim; r++, i += LANES) {
        __mmask8 mask = first_lanes(dim - i);
        __m512d left = _mm512_maskz_loadu_pd(mask, x + i), right = _mm512_maskz_loadu_pd(mask, y + i);
        sums[r] = _mm512_add_pd(sums[r], term(measure, left, right));
    }
    return fold(sums);
}

TARGET_AVX512 static double cosine32(const uint64_t *a, const uint64_t *b, size_t dim) {
    const float *x = (const float *)(a + 1), *y = (const float *)(b + 1);
    return distances_of_dot(sum32(x, y, dim, DISTANCES_COSINE), a, b);
}

TARGET_AVX512 static double euclidean32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_EUCLIDEAN);
}

TARGET_AVX512 static double manhattan32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_MANHATTAN);
}

TARGET_AVX512 static double cosine64(const uint64_t *a, const uint64_t *b, size_t dim) {
    const double *x = (const double *)(a + 1), *y = (const double *)(b + 1);
    return distances_of_dot(sum64(x, y, dim, DISTANCES_COSINE), a, b);
}

TARGET_AVX512 static double euclidean64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_EUCLIDEAN);
}

TARGET_AVX512 static double manhattan64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_MANHATTAN);
}

TARGET_AVX512 static double hamming(const uint64_t *a, const uint64_t *b, size_t words) {
    uint64_t different = 0;
    for (size_t i = 0; i < words; i++) different += (uint64_t)_mm_popcnt_u64(a[i] ^ b[i]);
    return (double)different;
}

const struct distances_kernels distances_avx512 = {{{cosine32, euclidean32, manhattan32, NULL},
                                                  {cosine64, euclidean64, manhattan64, NULL},
                                                  DISTANCES_SPARSE_ROWS,
                                                  {NULL, NULL, NULL, hamming}}};
#endif

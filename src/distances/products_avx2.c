/* Products with centres for AVX2: eight floats a register, four registers of centres. */
#include "distances/products.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

#define VECTORS 2 /* whose sums are in registers, 8 of them */
#define REGISTERS (PRODUCTS_LANES / LANES32)

TARGET_AVX2 static ALWAYS_INLINED void sum(const float *vectors, size_t n, const float *panel, size_t count, size_t dim,
                                           float *out) {
    __m256 sums[VECTORS][REGISTERS];
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < REGISTERS; r++) sums[i][r] = _mm256_setzero_ps();
    }
    for (size_t j = 0; j < dim; j++) {
        for (size_t r = 0; r < REGISTERS; r++) {
            const __m256 y = _mm256_loadu_ps(panel + j * PRODUCTS_LANES + r * LANES32);
            for (size_t i = 0; i < n; i++) {
                sums[i][r] = _mm256_add_ps(sums[i][r], _mm256_mul_ps(_mm256_set1_ps(vectors[i * dim + j]), y));
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < REGISTERS; r++) _mm256_storeu_ps(out + i * count + r * LANES32, sums[i][r]);
    }
}

TARGET_AVX2 static void multiply(const float *vectors, size_t n, const float *panels, size_t count, size_t dim, float *out) {
    for (size_t c = 0; c < count; c += PRODUCTS_LANES, panels += dim * PRODUCTS_LANES) {
        size_t i = 0;
        for (; i + VECTORS <= n; i += VECTORS) sum(vectors + i * dim, VECTORS, panels, count, dim, out + i * count + c);
        for (; i < n; i++) sum(vectors + i * dim, 1, panels, count, dim, out + i * count + c);
    }
}

TARGET_AVX2 static size_t greatest(const float *numbers, size_t n) {
    __m256 best = _mm256_loadu_ps(numbers);
    __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), where = at;
    for (size_t i = LANES32; i < n; i += LANES32) {
        const __m256 x = _mm256_loadu_ps(numbers + i);
        at = _mm256_add_epi32(at, _mm256_set1_epi32(LANES32));
        const __m256 more = _mm256_cmp_ps(x, best, _CMP_GT_OQ);
        best = _mm256_blendv_ps(best, x, more);
        where = _mm256_blendv_epi8(where, at, _mm256_castps_si256(more));
    }
    float values[LANES32];
    uint32_t places[LANES32];
    _mm256_storeu_ps(values, best);
    _mm256_storeu_si256((__m256i *)places, where);
    size_t found = 0;
    for (size_t l = 1; l < LANES32; l++) {
        if (values[l] > values[found] || (values[l] == values[found] && places[l] < places[found])) found = l;
    }
    return places[found];
}

TARGET_AVX2 static inline __m256 sine_of(__m256 cosine) {
    const __m256 one = _mm256_set1_ps(1);
    return _mm256_sqrt_ps(_mm256_mul_ps(_mm256_sub_ps(one, cosine), _mm256_add_ps(one, cosine)));
}

TARGET_AVX2 static inline __m256 limited(__m256 cosine) {
    return _mm256_min_ps(_mm256_max_ps(cosine, _mm256_set1_ps(-1)), _mm256_set1_ps(1));
}

TARGET_AVX2 static size_t within(const float *products, const float *lowest, const float *highest, size_t n,
                                 const struct products_angle *angle, uint32_t *cells, float *low, float *high) {
    const __m256 cosine = _mm256_set1_ps(angle->cosine), sine = _mm256_set1_ps(angle->sine);
    const __m256 error = _mm256_set1_ps(angle->error), more = _mm256_set1_ps(PRODUCTS_ERROR), two = _mm256_set1_ps(2);
    size_t count = 0;
    for (size_t c = 0; c < n; c += LANES32) {
        const __m256 product = _mm256_loadu_ps(products + c);
        const __m256 near = limited(_mm256_add_ps(product, error)), far = limited(_mm256_sub_ps(product, error));
        __m256 most = _mm256_add_ps(_mm256_mul_ps(near, cosine), _mm256_mul_ps(sine_of(near), sine));
        __m256 least = _mm256_sub_ps(_mm256_mul_ps(far, cosine), _mm256_mul_ps(sine_of(far), sine));
        most = _mm256_blendv_ps(two, _mm256_add_ps(most, more), _mm256_cmp_ps(near, cosine, _CMP_LT_OQ));
        const __m256 bounded = _mm256_cmp_ps(far, _mm256_sub_ps(_mm256_setzero_ps(), cosine), _CMP_GT_OQ);
        least = _mm256_blendv_ps(_mm256_set1_ps(-2), _mm256_sub_ps(least, more), bounded);
        unsigned found = (unsigned)_mm256_movemask_ps(
            _mm256_and_ps(_mm256_cmp_ps(_mm256_loadu_ps(lowest + c), most, _CMP_LE_OQ),
                          _mm256_cmp_ps(_mm256_loadu_ps(highest + c), least, _CMP_GE_OQ)));
        float lows[LANES32], highs[LANES32];
        _mm256_storeu_ps(lows, least);
        _mm256_storeu_ps(highs, most);
        for (; found; found &= found - 1, count++) {
            const unsigned l = lowest_bit(found);
            cells[count] = (uint32_t)c + l;
            low[count] = lows[l];
            high[count] = highs[l];
        }
    }
    return count;
}

const struct products_kernels products_avx2 = {multiply, greatest, within};
#endif

/* Products with centres for AVX-512: sixteen floats a register, two registers of centres. */
#include "distances/products.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

#define VECTORS 8 /* whose sums are in registers, 16 of them */

TARGET_AVX512 static ALWAYS_INLINED void sum(const float *vectors, size_t n, const float *panel, size_t count, size_t dim,
                                             float *out) {
    __m512 sums[VECTORS][2];
    for (size_t i = 0; i < n; i++) sums[i][0] = sums[i][1] = _mm512_setzero_ps();
    for (size_t j = 0; j < dim; j++) {
        const __m512 y = _mm512_loadu_ps(panel + j * PRODUCTS_LANES), z = _mm512_loadu_ps(panel + j * PRODUCTS_LANES + LANES32);
        for (size_t i = 0; i < n; i++) {
            const __m512 x = _mm512_set1_ps(vectors[i * dim + j]);
            sums[i][0] = _mm512_add_ps(sums[i][0], _mm512_mul_ps(x, y));
            sums[i][1] = _mm512_add_ps(sums[i][1], _mm512_mul_ps(x, z));
        }
    }
    for (size_t i = 0; i < n; i++) {
        _mm512_storeu_ps(out + i * count, sums[i][0]);
        _mm512_storeu_ps(out + i * count + LANES32, sums[i][1]);
    }
}

TARGET_AVX512 static void multiply(const float *vectors, size_t n, const float *panels, size_t count, size_t dim, float *out) {
    for (size_t c = 0; c < count; c += PRODUCTS_LANES, panels += dim * PRODUCTS_LANES) {
        size_t i = 0;
        for (; i + VECTORS <= n; i += VECTORS) sum(vectors + i * dim, VECTORS, panels, count, dim, out + i * count + c);
        for (; i < n; i++) sum(vectors + i * dim, 1, panels, count, dim, out + i * count + c);
    }
}

TARGET_AVX512 static size_t greatest(const float *numbers, size_t n) {
    __m512 best = _mm512_loadu_ps(numbers);
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), where = at;
    for (size_t i = LANES32; i < n; i += LANES32) {
        const __m512 x = _mm512_loadu_ps(numbers + i);
        at = _mm512_add_epi32(at, _mm512_set1_epi32(LANES32));
        const __mmask16 more = _mm512_cmp_ps_mask(x, best, _CMP_GT_OQ);
        best = _mm512_mask_mov_ps(best, more, x);
        where = _mm512_mask_mov_epi32(where, more, at);
    }
    const __mmask16 equal = _mm512_cmp_ps_mask(best, _mm512_set1_ps(_mm512_reduce_max_ps(best)), _CMP_EQ_OQ);
    return _mm512_mask_reduce_min_epu32(equal, where);
}

TARGET_AVX512 static inline __m512 sine_of(__m512 cosine) {
    const __m512 one = _mm512_set1_ps(1);
    return _mm512_sqrt_ps(_mm512_mul_ps(_mm512_sub_ps(one, cosine), _mm512_add_ps(one, cosine)));
}

TARGET_AVX512 static inline __m512 limited(__m512 cosine) {
    return _mm512_min_ps(_mm512_max_ps(cosine, _mm512_set1_ps(-1)), _mm512_set1_ps(1));
}

TARGET_AVX512 static size_t within(const float *products, const float *lowest, const float *highest, size_t n,
                                   const struct products_angle *angle, uint32_t *cells, float *low, float *high) {
    const __m512 cosine = _mm512_set1_ps(angle->cosine), sine = _mm512_set1_ps(angle->sine);
    const __m512 error = _mm512_set1_ps(angle->error), more = _mm512_set1_ps(PRODUCTS_ERROR), two = _mm512_set1_ps(2);
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    size_t count = 0;
    for (size_t c = 0; c < n; c += LANES32, at = _mm512_add_epi32(at, _mm512_set1_epi32(LANES32))) {
        const __m512 product = _mm512_loadu_ps(products + c);
        const __m512 near = limited(_mm512_add_ps(product, error)), far = limited(_mm512_sub_ps(product, error));
        __m512 most = _mm512_add_ps(_mm512_mul_ps(near, cosine), _mm512_mul_ps(sine_of(near), sine));
        __m512 least = _mm512_sub_ps(_mm512_mul_ps(far, cosine), _mm512_mul_ps(sine_of(far), sine));
        most = _mm512_mask_add_ps(two, _mm512_cmp_ps_mask(near, cosine, _CMP_LT_OQ), most, more);
        const __mmask16 bounded = _mm512_cmp_ps_mask(far, _mm512_sub_ps(_mm512_setzero_ps(), cosine), _CMP_GT_OQ);
        least = _mm512_mask_sub_ps(_mm512_sub_ps(_mm512_setzero_ps(), two), bounded, least, more);
        const __mmask16 found = _mm512_cmp_ps_mask(_mm512_loadu_ps(lowest + c), most, _CMP_LE_OQ) &
                                _mm512_cmp_ps_mask(_mm512_loadu_ps(highest + c), least, _CMP_GE_OQ);
        _mm512_storeu_ps(high + count, _mm512_maskz_compress_ps(found, most));
        _mm512_storeu_ps(low + count, _mm512_maskz_compress_ps(found, least));
        _mm512_storeu_si512(cells + count, _mm512_maskz_compress_epi32(found, at));
        count += (size_t)_mm_popcnt_u32(found);
    }
    return count;
}

const struct products_kernels products_avx512 = {multiply, greatest, within};
#endif

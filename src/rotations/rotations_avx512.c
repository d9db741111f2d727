/* Rotations for AVX-512: sixteen numbers a register, a transform of 256 numbers at a time in registers.
 *
 * A butterfly between lanes is one shuffle and one instruction: t + x in the lower lanes and t - x in the upper ones,
 * where t is x with the lanes exchanged, is a fused x * (+1 or -1) + t. The product is exact, so it is rounded once, as
 * the sum or difference is. */
#include "rotations/rotations.h"

#if LSHFAST_X86
#include <immintrin.h>

enum { LANES = 16, CHUNK = 256 };

TARGET_AVX512 static inline __m512 multiplied(const float *x, const float *factors, size_t i) {
    __m512 v = _mm512_loadu_ps(x + i);
    return factors ? _mm512_mul_ps(v, _mm512_loadu_ps(factors + i)) : v;
}

TARGET_AVX512 static inline __mmask16 first_of(size_t n) { return n >= LANES ? 0xFFFF : (__mmask16)((1u << n) - 1); }

TARGET_AVX512 static uint32_t greatest_float(const float *x, size_t n) {
    const __m512i sign = _mm512_set1_epi32(INT32_MAX);
    __m512i a = _mm512_setzero_si512(), b = a;
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        a = _mm512_max_epu32(a, _mm512_and_si512(_mm512_loadu_si512(x + i), sign));
        b = _mm512_max_epu32(b, _mm512_and_si512(_mm512_loadu_si512(x + i + LANES), sign));
    }
    for (; i < n; i += LANES) {
        a = _mm512_max_epu32(a, _mm512_and_si512(_mm512_maskz_loadu_epi32(first_of(n - i), x + i), sign));
    }
    return _mm512_reduce_max_epu32(_mm512_max_epu32(a, b));
}

TARGET_AVX512 static uint64_t greatest_double(const double *x, size_t n) {
    const __m512i sign = _mm512_set1_epi64(INT64_MAX);
    __m512i a = _mm512_setzero_si512(), b = a;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        a = _mm512_max_epu64(a, _mm512_and_si512(_mm512_loadu_si512(x + i), sign));
        b = _mm512_max_epu64(b, _mm512_and_si512(_mm512_loadu_si512(x + i + 8), sign));
    }
    for (; i < n; i += 8) {
        __m512i v = _mm512_maskz_loadu_epi64((__mmask8)first_of(n - i < 8 ? n - i : 8), x + i);
        a = _mm512_max_epu64(a, _mm512_and_si512(v, sign));
    }
    return _mm512_reduce_max_epu64(_mm512_max_epu64(a, b));
}

TARGET_AVX512 static void narrow(const double *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm512_cvtpd_ps(_mm512_loadu_pd(x + i)));
    for (; i < n; i++) y[i] = (float)x[i];
}

TARGET_AVX512 static void fold(const float *x, const float *factors, size_t half, float *y) {
    for (size_t i = 0; i < half; i += LANES) {
        _mm512_storeu_ps(y + i, _mm512_add_ps(multiplied(x, factors, i), multiplied(x, factors, i + half)));
    }
}

TARGET_AVX512 static ALWAYS_INLINED void reflect_parts(const float *x, const float *factors, size_t parts, size_t block,
                                               size_t kept, float *y) {
    const __m512 share = _mm512_set1_ps(2.0f / (float)parts);
    for (size_t i = 0; i < block; i += LANES) {
        __m512 part[ROTATIONS_MAX_PARTS], sum = multiplied(x, factors, i);
        part[0] = sum;
        for (size_t p = 1; p < parts; p++) {
            part[p] = multiplied(x, factors, p * block + i);
            sum = _mm512_add_ps(sum, part[p]);
        }
        sum = _mm512_mul_ps(sum, share);
        for (size_t p = 0; p < parts; p++) {
            if (p < kept) _mm512_storeu_ps(y + p * block + i, _mm512_sub_ps(part[p], sum));
        }
    }
}

TARGET_AVX512 static void reflect(const float *x, const float *factors, size_t parts, size_t block, size_t kept,
                                  float *y) {
    if (parts == 3) reflect_parts(x, factors, 3, block, kept, y);
    else if (parts == 5) reflect_parts(x, factors, 5, block, kept, y);
    else reflect_parts(x, factors, 7, block, kept, y);
}

/* Butterflies between lanes that are 8, 4, 2 and 1 apart. */
TARGET_AVX512 static inline __m512 within(__m512 x) {
    const __m512 one = _mm512_set1_ps(1), minus = _mm512_set1_ps(-1);
    x = _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xFF00, one, minus), _mm512_shuffle_f32x4(x, x, 0x4E));
    x = _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xF0F0, one, minus), _mm512_shuffle_f32x4(x, x, 0xB1));
    x = _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xCCCC, one, minus), _mm512_permute_ps(x, 0x4E));
    return _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xAAAA, one, minus), _mm512_permute_ps(x, 0xB1));
}

/* The transform of 16 * count numbers. */
TARGET_AVX512 static ALWAYS_INLINED void chunk(const float *x, const float *factors, size_t count, float *y) {
    __m512 v[CHUNK / LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < count; i++) v[i] = multiplied(x, factors, i * LANES);
#pragma GCC unroll 4
    for (size_t stride = count / 2; stride; stride /= 2) {
#pragma GCC unroll 16
        for (size_t i = 0; i < count; i++) {
            if (i & stride) continue;
            __m512 a = v[i], b = v[i + stride];
            v[i] = _mm512_add_ps(a, b);
            v[i + stride] = _mm512_sub_ps(a, b);
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < count; i++) _mm512_storeu_ps(y + i * LANES, within(v[i]));
}

/* Butterflies between numbers that are `stride` and then `stride` / 2 apart. */
TARGET_AVX512 static void two_strides(const float *x, const float *factors, size_t n, size_t stride, float *y) {
    const size_t half = stride / 2;
    for (size_t start = 0; start < n; start += 2 * stride) {
        for (size_t i = start; i < start + half; i += LANES) {
            __m512 a = multiplied(x, factors, i), b = multiplied(x, factors, i + half);
            __m512 c = multiplied(x, factors, i + stride), d = multiplied(x, factors, i + stride + half);
            __m512 ac = _mm512_add_ps(a, c), bd = _mm512_add_ps(b, d);
            a = _mm512_sub_ps(a, c), b = _mm512_sub_ps(b, d);
            _mm512_storeu_ps(y + i, _mm512_add_ps(ac, bd));
            _mm512_storeu_ps(y + i + half, _mm512_sub_ps(ac, bd));
            _mm512_storeu_ps(y + i + stride, _mm512_add_ps(a, b));
            _mm512_storeu_ps(y + i + stride + half, _mm512_sub_ps(a, b));
        }
    }
}

TARGET_AVX512 static void one_stride(const float *x, const float *factors, size_t half, float *y) {
    for (size_t i = 0; i < half; i += LANES) {
        __m512 a = multiplied(x, factors, i), b = multiplied(x, factors, i + half);
        _mm512_storeu_ps(y + i, _mm512_add_ps(a, b));
        _mm512_storeu_ps(y + i + half, _mm512_sub_ps(a, b));
    }
}

TARGET_AVX512 static void hadamard(const float *x, const float *factors, size_t n, float *y) {
    size_t stride = n / 2;
    if (n == ROTATIONS_MIN_BLOCK) {
        chunk(x, factors, ROTATIONS_MIN_BLOCK / LANES, y);
        return;
    }
    if (highest_bit(n / CHUNK) % 2) {
        one_stride(x, factors, stride, y);
        x = y, factors = NULL, stride /= 2;
    }
    for (; stride >= 2 * CHUNK; stride /= 4) {
        two_strides(x, factors, n, stride, y);
        x = y, factors = NULL;
    }
    for (size_t start = 0; start < n; start += CHUNK) {
        if (factors) chunk(x + start, factors + start, CHUNK / LANES, y + start);
        else chunk(x + start, NULL, CHUNK / LANES, y + start);
    }
}

TARGET_AVX512 static void signs(const float *y, size_t n, uint64_t *words) {
    const __m512 zero = _mm512_setzero_ps();
    for (size_t start = 0; start < n; start += 64) {
        uint64_t word = 0;
        for (size_t i = 0; i < 64; i += LANES) {
            word |= (uint64_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(y + start + i), zero, _CMP_GT_OQ) << i;
        }
        words[start / 64] = word;
    }
}

TARGET_AVX512 static size_t farthest(const float *y, size_t n) {
    const __m512i sign = _mm512_set1_epi32(INT32_MAX), step = _mm512_set1_epi32(LANES);
    __m512i at = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i most = _mm512_setzero_si512(), place = at;
    for (size_t i = 0; i < n; i += LANES) {
        __m512i v = _mm512_and_si512(_mm512_maskz_loadu_epi32(first_of(n - i), y + i), sign);
        __mmask16 more = _mm512_cmpgt_epi32_mask(v, most);
        most = _mm512_mask_mov_epi32(most, more, v);
        place = _mm512_mask_mov_epi32(place, more, at);
        at = _mm512_add_epi32(at, step);
    }
    __mmask16 best = _mm512_cmpeq_epi32_mask(most, _mm512_set1_epi32(_mm512_reduce_max_epi32(most)));
    return _mm512_mask_reduce_min_epu32(best, place);
}

const struct rotations_kernels rotations_avx512 = {greatest_float, greatest_double, narrow, fold,
                                                   reflect,        hadamard,        signs,  farthest};
#endif

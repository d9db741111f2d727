/* Rotations for AVX2: eight numbers a register, a transform of 64 numbers at a time in registers. */
#include "rotations/rotations.h"

#if LSHFAST_X86
#include <immintrin.h>

enum { LANES = 8, CHUNK = 64 };

TARGET_AVX2 static inline __m256 multiplied(const float *x, const float *factors, size_t i) {
    __m256 v = _mm256_loadu_ps(x + i);
    return factors ? _mm256_mul_ps(v, _mm256_loadu_ps(factors + i)) : v;
}

TARGET_AVX2 static inline __m256i size_of(const float *x) {
    return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)x), _mm256_set1_epi32(INT32_MAX));
}

TARGET_AVX2 static uint32_t greatest_float(const float *x, size_t n) {
    __m256i a = _mm256_setzero_si256(), b = a;
    uint32_t lanes[LANES], most = 0;
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        a = _mm256_max_epu32(a, size_of(x + i));
        b = _mm256_max_epu32(b, size_of(x + i + LANES));
    }
    _mm256_storeu_si256((__m256i *)lanes, _mm256_max_epu32(a, b));
    for (size_t lane = 0; lane < LANES; lane++) most = lanes[lane] > most ? lanes[lane] : most;
    uint32_t rest = rotations_scalar.greatest_float(x + i, n - i);
    return rest > most ? rest : most;
}

/* AVX2 compares signed 64-bit numbers, which these are without their sign bits. */
TARGET_AVX2 static uint64_t greatest_double(const double *x, size_t n) {
    const __m256i sign = _mm256_set1_epi64x(INT64_MAX);
    __m256i most = _mm256_setzero_si256();
    uint64_t lanes[4], all;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256i v = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(x + i)), sign);
        most = _mm256_blendv_epi8(most, v, _mm256_cmpgt_epi64(v, most));
    }
    _mm256_storeu_si256((__m256i *)lanes, most);
    all = rotations_scalar.greatest_double(x + i, n - i);
    for (size_t lane = 0; lane < 4; lane++) all = lanes[lane] > all ? lanes[lane] : all;
    return all;
}

TARGET_AVX2 static void narrow(const double *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) _mm_storeu_ps(y + i, _mm256_cvtpd_ps(_mm256_loadu_pd(x + i)));
    for (; i < n; i++) y[i] = (float)x[i];
}

TARGET_AVX2 static void fold(const float *x, const float *factors, size_t half, float *y) {
    for (size_t i = 0; i < half; i += LANES) {
        _mm256_storeu_ps(y + i, _mm256_add_ps(multiplied(x, factors, i), multiplied(x, factors, i + half)));
    }
}

TARGET_AVX2 static ALWAYS_INLINED void reflect_parts(const float *x, const float *factors, size_t parts, size_t block,
                                             size_t kept, float *y) {
    const __m256 share = _mm256_set1_ps(2.0f / (float)parts);
    for (size_t i = 0; i < block; i += LANES) {
        __m256 part[ROTATIONS_MAX_PARTS], sum = multiplied(x, factors, i);
        part[0] = sum;
        for (size_t p = 1; p < parts; p++) {
            part[p] = multiplied(x, factors, p * block + i);
            sum = _mm256_add_ps(sum, part[p]);
        }
        sum = _mm256_mul_ps(sum, share);
        for (size_t p = 0; p < parts; p++) {
            if (p < kept) _mm256_storeu_ps(y + p * block + i, _mm256_sub_ps(part[p], sum));
        }
    }
}

TARGET_AVX2 static void reflect(const float *x, const float *factors, size_t parts, size_t block, size_t kept,
                                float *y) {
    if (parts == 3) reflect_parts(x, factors, 3, block, kept, y);
    else if (parts == 5) reflect_parts(x, factors, 5, block, kept, y);
    else reflect_parts(x, factors, 7, block, kept, y);
}

/* Butterflies between lanes that are 4, 2 and 1 apart: x with the lanes exchanged, plus x whose upper lanes are
 * negated. */
TARGET_AVX2 static inline __m256 within(__m256 x) {
    const __m256 upper4 = _mm256_setr_ps(0.0f, 0.0f, 0.0f, 0.0f, -0.0f, -0.0f, -0.0f, -0.0f);
    const __m256 upper2 = _mm256_setr_ps(0.0f, 0.0f, -0.0f, -0.0f, 0.0f, 0.0f, -0.0f, -0.0f);
    const __m256 upper1 = _mm256_setr_ps(0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f);
    x = _mm256_add_ps(_mm256_permute2f128_ps(x, x, 1), _mm256_xor_ps(x, upper4));
    x = _mm256_add_ps(_mm256_permute_ps(x, 0x4E), _mm256_xor_ps(x, upper2));
    return _mm256_add_ps(_mm256_permute_ps(x, 0xB1), _mm256_xor_ps(x, upper1));
}

TARGET_AVX2 static ALWAYS_INLINED void chunk(const float *x, float *y) {
    __m256 v[CHUNK / LANES];
#pragma GCC unroll 8
    for (size_t i = 0; i < CHUNK / LANES; i++) v[i] = _mm256_loadu_ps(x + i * LANES);
#pragma GCC unroll 3
    for (size_t stride = CHUNK / LANES / 2; stride; stride /= 2) {
#pragma GCC unroll 8
        for (size_t i = 0; i < CHUNK / LANES; i++) {
            if (i & stride) continue;
            __m256 a = v[i], b = v[i + stride];
            v[i] = _mm256_add_ps(a, b);
            v[i + stride] = _mm256_sub_ps(a, b);
        }
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < CHUNK / LANES; i++) _mm256_storeu_ps(y + i * LANES, within(v[i]));
}

/* Butterflies between numbers that are `stride` and then `stride` / 2 apart. */
TARGET_AVX2 static void two_strides(const float *x, const float *factors, size_t n, size_t stride, float *y) {
    const size_t half = stride / 2;
    for (size_t start = 0; start < n; start += 2 * stride) {
        for (size_t i = start; i < start + half; i += LANES) {
            __m256 a = multiplied(x, factors, i), b = multiplied(x, factors, i + half);
            __m256 c = multiplied(x, factors, i + stride), d = multiplied(x, factors, i + stride + half);
            __m256 ac = _mm256_add_ps(a, c), bd = _mm256_add_ps(b, d);
            a = _mm256_sub_ps(a, c), b = _mm256_sub_ps(b, d);
            _mm256_storeu_ps(y + i, _mm256_add_ps(ac, bd));
            _mm256_storeu_ps(y + i + half, _mm256_sub_ps(ac, bd));
            _mm256_storeu_ps(y + i + stride, _mm256_add_ps(a, b));
            _mm256_storeu_ps(y + i + stride + half, _mm256_sub_ps(a, b));
        }
    }
}

TARGET_AVX2 static void one_stride(const float *x, const float *factors, size_t half, float *y) {
    for (size_t i = 0; i < half; i += LANES) {
        __m256 a = multiplied(x, factors, i), b = multiplied(x, factors, i + half);
        _mm256_storeu_ps(y + i, _mm256_add_ps(a, b));
        _mm256_storeu_ps(y + i + half, _mm256_sub_ps(a, b));
    }
}

TARGET_AVX2 static void hadamard(const float *x, const float *factors, size_t n, float *y) {
    size_t stride = n / 2;
    if (highest_bit(n / CHUNK) % 2) {
        one_stride(x, factors, stride, y);
        x = y, factors = NULL, stride /= 2;
    }
    for (; stride >= 2 * CHUNK; stride /= 4) {
        two_strides(x, factors, n, stride, y);
        x = y, factors = NULL;
    }
    for (size_t start = 0; start < n; start += CHUNK) chunk(x + start, y + start);
}

TARGET_AVX2 static void signs(const float *y, size_t n, uint64_t *words) {
    const __m256 zero = _mm256_setzero_ps();
    for (size_t start = 0; start < n; start += 64) {
        uint64_t word = 0;
        for (size_t i = 0; i < 64; i += LANES) {
            __m256 more = _mm256_cmp_ps(_mm256_loadu_ps(y + start + i), zero, _CMP_GT_OQ);
            word |= (uint64_t)(unsigned)_mm256_movemask_ps(more) << i;
        }
        words[start / 64] = word;
    }
}

TARGET_AVX2 static size_t farthest(const float *y, size_t n) {
    const __m256i step = _mm256_set1_epi32(LANES);
    __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), most = _mm256_setzero_si256(), place = at;
    int32_t sizes[LANES], places[LANES];
    size_t whole = n / LANES * LANES, best = 0;
    if (!whole) return rotations_scalar.farthest(y, n);
    for (size_t i = 0; i < whole; i += LANES) {
        __m256i v = size_of(y + i), more = _mm256_cmpgt_epi32(v, most);
        most = _mm256_blendv_epi8(most, v, more);
        place = _mm256_blendv_epi8(place, at, more);
        at = _mm256_add_epi32(at, step);
    }
    _mm256_storeu_si256((__m256i *)sizes, most);
    _mm256_storeu_si256((__m256i *)places, place);
    for (size_t lane = 1; lane < LANES; lane++) {
        int more = sizes[lane] > sizes[best] || (sizes[lane] == sizes[best] && places[lane] < places[best]);
        best = more ? lane : best;
    }
    if (whole == n) return (size_t)places[best];
    size_t rest = whole + rotations_scalar.farthest(y + whole, n - whole);
    int32_t size = (int32_t)rotations_scalar.greatest_float(y + rest, 1);
    return size > sizes[best] ? rest : (size_t)places[best];
}

const struct rotations_kernels rotations_avx2 = {greatest_float, greatest_double, narrow, fold,
                                                 reflect,        hadamard,        signs,  farthest};
#endif

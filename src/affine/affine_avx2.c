/* datasketch's hash values for AVX2: as for AVX-512, with 64-bit products of 32-bit ones and signed compares. */
#include "affine/affine.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

#include <string.h>

#define HELD 2
/* Sixteen functions, all of them there. */
TARGET_AVX2 static inline void lower32(const uint32_t *mixed, size_t n, const uint32_t *a, const uint32_t *b,
                                       uint32_t *values) {
    __m256i factor[HELD], summand[HELD], least[HELD];
    for (size_t j = 0; j < HELD; j++) {
        factor[j] = load_lanes32(a + j * LANES32);
        summand[j] = load_lanes32(b + j * LANES32);
        least[j] = load_lanes32(values + j * LANES32);
    }
    for (size_t t = 0; t < n; t++) {
        __m256i x = _mm256_set1_epi32((int)mixed[t]);
        for (size_t j = 0; j < HELD; j++) {
            __m256i value = _mm256_add_epi32(_mm256_mullo_epi32(factor[j], x), summand[j]);
            least[j] = _mm256_min_epu32(least[j], value);
        }
    }
    for (size_t j = 0; j < HELD; j++) _mm256_storeu_si256((__m256i *)(values + j * LANES32), least[j]);
}

TARGET_AVX2 static void affine32(const uint64_t *hashes, size_t n, const uint32_t *a, const uint32_t *b, size_t k,
                                 uint32_t *values) {
    enum { WIDTH = HELD * LANES32 };
    uint32_t mixed[AFFINE_BLOCK_HASHES], last_a[WIDTH] = {0}, last_b[WIDTH] = {0}, last[WIDTH] = {0};
    size_t whole = k - k % WIDTH, rest = (k - whole) * sizeof *a;
    if (rest) {
        memcpy(last_a, a + whole, rest);
        memcpy(last_b, b + whole, rest);
        memcpy(last, values + whole, rest);
    }
    for (size_t start = 0; start < n; start += AFFINE_BLOCK_HASHES) {
        size_t count = n - start < AFFINE_BLOCK_HASHES ? n - start : AFFINE_BLOCK_HASHES;
        for (size_t t = 0; t < count; t++) mixed[t] = affine_mix32((uint32_t)hashes[start + t]);
        for (size_t i = 0; i < whole; i += WIDTH) lower32(mixed, count, a + i, b + i, values + i);
        if (rest) lower32(mixed, count, last_a, last_b, last);
    }
    if (rest) memcpy(values + whole, last, rest);
}

/* Eight functions, all of them there; `reduce`, which is known where this is inlined, makes those of legacy of them.
 * Compares are signed: with the highest bit turned they are right for all 64 bits. */
TARGET_AVX2 static inline void lower64(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b,
                                       uint64_t *values, int reduce) {
    const __m256i p = spread(P61), low = spread(UINT32_MAX), turn = spread((uint64_t)1 << 63);
    __m256i factor[HELD], high[HELD], summand[HELD], least[HELD];
    for (size_t j = 0; j < HELD; j++) {
        factor[j] = load_lanes(a + j * LANES);
        high[j] = _mm256_srli_epi64(factor[j], 32);
        summand[j] = load_lanes(b + j * LANES);
        least[j] = _mm256_xor_si256(load_lanes(values + j * LANES), turn);
    }
    for (size_t t = 0; t < n; t++) {
        __m256i x = spread(hashes[t]), x_high = _mm256_srli_epi64(x, 32);
        for (size_t j = 0; j < HELD; j++) {
            __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(high[j], x), _mm256_mul_epu32(factor[j], x_high));
            __m256i value = _mm256_add_epi64(_mm256_mul_epu32(factor[j], x), _mm256_slli_epi64(cross, 32));
            value = _mm256_add_epi64(value, summand[j]);
            if (reduce) { /* the sign of x - p chooses, as doubles, which of x and x - p is the remainder */
                value = _mm256_add_epi64(_mm256_and_si256(value, p), _mm256_srli_epi64(value, 61));
                __m256d less = _mm256_castsi256_pd(_mm256_sub_epi64(value, p));
                value = _mm256_castpd_si256(_mm256_blendv_pd(less, _mm256_castsi256_pd(value), less));
                value = _mm256_and_si256(value, low);
            }
            value = _mm256_xor_si256(value, turn);
            least[j] = _mm256_blendv_epi8(least[j], value, _mm256_cmpgt_epi64(least[j], value));
        }
    }
    for (size_t j = 0; j < HELD; j++) store_lanes(values + j * LANES, _mm256_xor_si256(least[j], turn));
}

TARGET_AVX2 static inline void lower_all64(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b,
                                           size_t k, uint64_t *values, int reduce) {
    enum { WIDTH = HELD * LANES };
    uint64_t last_a[WIDTH] = {0}, last_b[WIDTH] = {0}, last[WIDTH] = {0};
    size_t whole = k - k % WIDTH, rest = (k - whole) * sizeof *a;
    for (size_t i = 0; i < whole; i += WIDTH) lower64(hashes, n, a + i, b + i, values + i, reduce);
    if (rest == 0) return;
    memcpy(last_a, a + whole, rest);
    memcpy(last_b, b + whole, rest);
    memcpy(last, values + whole, rest);
    lower64(hashes, n, last_a, last_b, last, reduce);
    memcpy(values + whole, last, rest);
}

TARGET_AVX2 static void affine64(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                                 uint64_t *values) {
    uint64_t mixed[AFFINE_BLOCK_HASHES];
    for (size_t start = 0; start < n; start += AFFINE_BLOCK_HASHES) {
        size_t count = n - start < AFFINE_BLOCK_HASHES ? n - start : AFFINE_BLOCK_HASHES;
        for (size_t t = 0; t < count; t++) mixed[t] = affine_mix64(hashes[start + t]);
        lower_all64(mixed, count, a, b, k, values, 0);
    }
}

TARGET_AVX2 static void legacy(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                               uint64_t *values) {
    lower_all64(hashes, n, a, b, k, values, 1);
}

const struct affine_kernels affine_avx2 = {affine32, affine64, legacy};
#endif

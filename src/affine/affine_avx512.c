/* datasketch's hash values for AVX-512: constants and least values of four registers of functions stay where they are
 * while the hashes stream by. */
#include "affine/affine.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

#define HELD 4
/* The lanes of register j of those that hold `left` functions. */
static inline size_t lanes_left(size_t left, size_t j, size_t lanes) { return left > j * lanes ? left - j * lanes : 0; }

TARGET_AVX512 static void affine32(const uint64_t *hashes, size_t n, const uint32_t *a, const uint32_t *b, size_t k,
                                   uint32_t *values) {
    uint32_t mixed[AFFINE_BLOCK_HASHES];
    for (size_t start = 0; start < n; start += AFFINE_BLOCK_HASHES) {
        size_t count = n - start < AFFINE_BLOCK_HASHES ? n - start : AFFINE_BLOCK_HASHES;
        for (size_t t = 0; t < count; t++) mixed[t] = affine_mix32((uint32_t)hashes[start + t]);
        for (size_t i = 0; i < k; i += HELD * LANES32) {
            __m512i factor[HELD], summand[HELD], least[HELD];
            for (size_t j = 0; j < HELD; j++) {
                size_t left = lanes_left(k - i, j, LANES32), at = left ? i + j * LANES32 : 0;
                factor[j] = _mm512_maskz_loadu_epi32(first_lanes32(left), a + at);
                summand[j] = _mm512_maskz_loadu_epi32(first_lanes32(left), b + at);
                least[j] = _mm512_maskz_loadu_epi32(first_lanes32(left), values + at);
            }
            for (size_t t = 0; t < count; t++) {
                __m512i x = _mm512_set1_epi32((int)mixed[t]);
                for (size_t j = 0; j < HELD; j++) {
                    __m512i value = _mm512_add_epi32(_mm512_mullo_epi32(factor[j], x), summand[j]);
                    least[j] = _mm512_min_epu32(least[j], value);
                }
            }
            for (size_t j = 0; j < HELD; j++) {
                size_t left = lanes_left(k - i, j, LANES32);
                if (left) _mm512_mask_storeu_epi32(values + i + j * LANES32, first_lanes32(left), least[j]);
            }
        }
    }
}

/* The functions of 64 bits; `reduce`, which is known where this is inlined, makes those of legacy of them. The lesser of
 * x and x - p mod 2^64 is x mod p, for x below 2p. */
TARGET_AVX512 static inline void lower64(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b,
                                         size_t k, uint64_t *values, int reduce) {
    const __m512i p = spread(P61), low = spread(UINT32_MAX);
    for (size_t i = 0; i < k; i += HELD * LANES) {
        __m512i factor[HELD], summand[HELD], least[HELD];
        for (size_t j = 0; j < HELD; j++) {
            size_t left = lanes_left(k - i, j, LANES), at = left ? i + j * LANES : 0;
            factor[j] = _mm512_maskz_loadu_epi64(first_lanes(left), a + at);
            summand[j] = _mm512_maskz_loadu_epi64(first_lanes(left), b + at);
            least[j] = _mm512_maskz_loadu_epi64(first_lanes(left), values + at);
        }
        for (size_t t = 0; t < n; t++) {
            __m512i x = spread(hashes[t]);
            for (size_t j = 0; j < HELD; j++) {
                __m512i value = _mm512_add_epi64(_mm512_mullo_epi64(factor[j], x), summand[j]);
                if (reduce) {
                    value = _mm512_add_epi64(_mm512_and_si512(value, p), _mm512_srli_epi64(value, 61));
                    value = _mm512_and_si512(_mm512_min_epu64(value, _mm512_sub_epi64(value, p)), low);
                }
                least[j] = _mm512_min_epu64(least[j], value);
            }
        }
        for (size_t j = 0; j < HELD; j++) {
            size_t left = lanes_left(k - i, j, LANES);
            if (left) _mm512_mask_storeu_epi64(values + i + j * LANES, first_lanes(left), least[j]);
        }
    }
}

TARGET_AVX512 static void affine64(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                                   uint64_t *values) {
    uint64_t mixed[AFFINE_BLOCK_HASHES];
    for (size_t start = 0; start < n; start += AFFINE_BLOCK_HASHES) {
        size_t count = n - start < AFFINE_BLOCK_HASHES ? n - start : AFFINE_BLOCK_HASHES;
        for (size_t t = 0; t < count; t++) mixed[t] = affine_mix64(hashes[start + t]);
        lower64(mixed, count, a, b, k, values, 0);
    }
}

TARGET_AVX512 static void legacy(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                                 uint64_t *values) {
    lower64(hashes, n, a, b, k, values, 1);
}

const struct affine_kernels affine_avx512 = {affine32, affine64, legacy};
#endif

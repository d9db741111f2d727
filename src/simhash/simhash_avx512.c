/* SimHash kernels for AVX-512: eight tokens a register, and an adder of two instructions. */
#include "simhash/simhash.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

#include <string.h>

TARGET_AVX512 static void hash(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *hashes) {
    const __m512i c = spread(constant);
    for (size_t t = 0; t < n; t += LANES) {
        __mmask8 mask = first_lanes(n - t);
        __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(mask, tokens + t), c);
        _mm512_mask_storeu_epi64(hashes + t, mask, mix64_lanes(x));
    }
}

enum { ODD_OF_THREE = 0x96, MOST_OF_THREE = 0xE8 };

TARGET_AVX512 static inline __m512i carry_save(__m512i *a, __m512i b, __m512i c) {
    __m512i twos = _mm512_ternarylogic_epi64(*a, b, c, MOST_OF_THREE);
    *a = _mm512_ternarylogic_epi64(*a, b, c, ODD_OF_THREE);
    return twos;
}

enum { GROUP = 8, LANE_PLANES = 6 };

/* Add eight registers of hashes to the planes of each lane. */
TARGET_AVX512 static inline void add_group(const __m512i h[GROUP], __m512i planes[LANE_PLANES]) {
    __m512i two[4], four[2];
    for (size_t i = 0; i < 4; i++) two[i] = carry_save(&planes[0], h[2 * i], h[2 * i + 1]);
    for (size_t i = 0; i < 2; i++) four[i] = carry_save(&planes[1], two[2 * i], two[2 * i + 1]);
    __m512i carry = carry_save(&planes[2], four[0], four[1]);
    for (size_t p = 3; p < LANE_PLANES; p++) {
        __m512i both = _mm512_and_si512(planes[p], carry);
        planes[p] = _mm512_xor_si512(planes[p], carry);
        carry = both;
    }
}

TARGET_AVX512 static void count(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *planes) {
    const __m512i c = spread(constant), none = _mm512_setzero_si512();
    __m512i held[SIMHASH_COUNT_PLANES] = {none, none, none, none, none, none, none, none, none}, h[GROUP];
    for (; n >= GROUP * LANES; n -= GROUP * LANES, tokens += GROUP * LANES) {
        for (size_t i = 0; i < GROUP; i++) {
            h[i] = mix64_lanes(_mm512_xor_si512(_mm512_loadu_si512(tokens + LANES * i), c));
        }
        add_group(h, held);
    }
    if (n) {
        for (size_t i = 0; i < GROUP; i++) h[i] = none;
        for (size_t i = 0; LANES * i < n; i++) {
            __mmask8 mask = first_lanes(n - LANES * i);
            __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(mask, tokens + LANES * i), c);
            h[i] = _mm512_maskz_mov_epi64(mask, mix64_lanes(x));
        }
        add_group(h, held);
    }
    /* Lanes are added to those four, two and one beside them: a plane more each time. */
    __m512i carry = none;
    for (size_t p = 0; p < LANE_PLANES; p++) {
        carry = carry_save(&held[p], _mm512_shuffle_i64x2(held[p], held[p], _MM_SHUFFLE(1, 0, 3, 2)), carry);
    }
    held[LANE_PLANES] = carry;
    carry = none;
    for (size_t p = 0; p <= LANE_PLANES; p++) {
        carry = carry_save(&held[p], _mm512_shuffle_i64x2(held[p], held[p], _MM_SHUFFLE(2, 3, 0, 1)), carry);
    }
    held[LANE_PLANES + 1] = carry;
    carry = none;
    for (size_t p = 0; p <= LANE_PLANES + 1; p++) {
        carry = carry_save(&held[p], _mm512_permutex_epi64(held[p], _MM_SHUFFLE(2, 3, 0, 1)), carry);
    }
    held[LANE_PLANES + 2] = carry;
    for (size_t p = 0; p < SIMHASH_COUNT_PLANES; p++) {
        planes[p] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(held[p]));
    }
}

TARGET_AVX512 static void add(const uint64_t *masks, size_t stride, const int64_t *weights, size_t n, uint64_t *sums) {
    __m512i held[8];
    for (size_t i = 0; i < 8; i++) held[i] = _mm512_loadu_si512(sums + LANES * i);
    for (size_t t = 0; t < n; t++) {
        uint64_t mask = masks[t * stride];
        __m512i weight = _mm512_set1_epi64(weights[t]);
        for (size_t i = 0; i < 8; i++) {
            held[i] = _mm512_mask_add_epi64(held[i], (__mmask8)(mask >> LANES * i), held[i], weight);
        }
    }
    for (size_t i = 0; i < 8; i++) _mm512_storeu_si512(sums + LANES * i, held[i]);
}

TARGET_AVX512 static void add_doubles(const uint64_t *masks, size_t stride, const double *weights, size_t n,
                                      double *sums) {
    __m512d held[8];
    for (size_t i = 0; i < 8; i++) held[i] = _mm512_loadu_pd(sums + LANES * i);
    for (size_t t = 0; t < n; t++) {
        uint64_t mask = masks[t * stride];
        __m512d plus = _mm512_set1_pd(weights[t]), minus = _mm512_set1_pd(-weights[t]);
        for (size_t i = 0; i < 8; i++) {
            __m512d term = _mm512_mask_blend_pd((__mmask8)(mask >> LANES * i), minus, plus);
            held[i] = _mm512_add_pd(held[i], term);
        }
    }
    for (size_t i = 0; i < 8; i++) _mm512_storeu_pd(sums + LANES * i, held[i]);
}

const struct simhash_kernels simhash_avx512 = {hash, count, add, add_doubles};
#endif

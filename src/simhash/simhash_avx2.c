/* SimHash kernels for AVX2: four tokens a register. */
#include "simhash/simhash.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

#include <string.h>

TARGET_AVX2 static void hash(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *hashes) {
    const __m256i c = spread(constant);
    size_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        store_lanes(hashes + t, mix64_lanes(_mm256_xor_si256(load_lanes(tokens + t), c)));
    }
    for (; t < n; t++) hashes[t] = mix64(tokens[t] ^ constant);
}

TARGET_AVX2 static inline __m256i carry_save(__m256i *a, __m256i b, __m256i c) {
    __m256i either = _mm256_xor_si256(*a, b);
    __m256i twos = _mm256_or_si256(_mm256_and_si256(*a, b), _mm256_and_si256(either, c));
    *a = _mm256_xor_si256(either, c);
    return twos;
}

enum { GROUP = 8, LANE_PLANES = 7 };

/* Add eight registers of hashes to the planes of each lane. */
TARGET_AVX2 static inline void add_group(const __m256i h[GROUP], __m256i planes[LANE_PLANES]) {
    __m256i two[4], four[2];
    for (size_t i = 0; i < 4; i++) two[i] = carry_save(&planes[0], h[2 * i], h[2 * i + 1]);
    for (size_t i = 0; i < 2; i++) four[i] = carry_save(&planes[1], two[2 * i], two[2 * i + 1]);
    __m256i carry = carry_save(&planes[2], four[0], four[1]);
    for (size_t p = 3; p < LANE_PLANES; p++) {
        __m256i both = _mm256_and_si256(planes[p], carry);
        planes[p] = _mm256_xor_si256(planes[p], carry);
        carry = both;
    }
}

TARGET_AVX2 static void count(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *planes) {
    const __m256i c = spread(constant), none = _mm256_setzero_si256();
    __m256i held[SIMHASH_COUNT_PLANES] = {none, none, none, none, none, none, none, none, none}, h[GROUP];
    for (; n >= GROUP * LANES; n -= GROUP * LANES, tokens += GROUP * LANES) {
        for (size_t i = 0; i < GROUP; i++) h[i] = mix64_lanes(_mm256_xor_si256(load_lanes(tokens + LANES * i), c));
        add_group(h, held);
    }
    if (n) {
        uint64_t rest[GROUP * LANES] = {0};
        hash(tokens, n, constant, rest);
        for (size_t i = 0; i < GROUP; i++) h[i] = load_lanes(rest + LANES * i);
        add_group(h, held);
    }
    /* Lanes are added to those two and one beside them: a plane more each time. */
    __m256i carry = none;
    for (size_t p = 0; p < LANE_PLANES; p++) {
        carry = carry_save(&held[p], _mm256_permute4x64_epi64(held[p], _MM_SHUFFLE(1, 0, 3, 2)), carry);
    }
    held[LANE_PLANES] = carry;
    carry = none;
    for (size_t p = 0; p <= LANE_PLANES; p++) {
        carry = carry_save(&held[p], _mm256_permute4x64_epi64(held[p], _MM_SHUFFLE(2, 3, 0, 1)), carry);
    }
    held[LANE_PLANES + 1] = carry;
    for (size_t p = 0; p < SIMHASH_COUNT_PLANES; p++) {
        planes[p] = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(held[p]));
    }
}

/* All ones in the lanes whose bit, the lowest four of a mask shifted, is one. */
TARGET_AVX2 static inline __m256i lanes_of(uint64_t mask) {
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(spread(mask), bits), bits);
}

/* Eight sums at a time stay in registers while the tokens stream by. */
enum { HELD = 8 };

TARGET_AVX2 static void add(const uint64_t *masks, size_t stride, const int64_t *weights, size_t n, uint64_t *sums) {
    for (size_t first = 0; first < 64; first += HELD * LANES) {
        __m256i held[HELD];
        for (size_t i = 0; i < HELD; i++) held[i] = load_lanes(sums + first + LANES * i);
        for (size_t t = 0; t < n; t++) {
            uint64_t mask = masks[t * stride] >> first;
            __m256i weight = _mm256_set1_epi64x(weights[t]);
            for (size_t i = 0; i < HELD; i++) {
                __m256i term = _mm256_and_si256(lanes_of(mask >> LANES * i), weight);
                held[i] = _mm256_add_epi64(held[i], term);
            }
        }
        for (size_t i = 0; i < HELD; i++) store_lanes(sums + first + LANES * i, held[i]);
    }
}

TARGET_AVX2 static void add_doubles(const uint64_t *masks, size_t stride, const double *weights, size_t n,
                                    double *sums) {
    for (size_t first = 0; first < 64; first += HELD * LANES) {
        __m256d held[HELD];
        for (size_t i = 0; i < HELD; i++) held[i] = _mm256_loadu_pd(sums + first + LANES * i);
        for (size_t t = 0; t < n; t++) {
            uint64_t mask = masks[t * stride] >> first;
            __m256d plus = _mm256_set1_pd(weights[t]), minus = _mm256_set1_pd(-weights[t]);
            for (size_t i = 0; i < HELD; i++) {
                __m256d lanes = _mm256_castsi256_pd(lanes_of(mask >> LANES * i));
                held[i] = _mm256_add_pd(held[i], _mm256_blendv_pd(minus, plus, lanes));
            }
        }
        for (size_t i = 0; i < HELD; i++) _mm256_storeu_pd(sums + first + LANES * i, held[i]);
    }
}

const struct simhash_kernels simhash_avx2 = {hash, count, add, add_doubles};
#endif

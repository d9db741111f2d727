/* What the AVX2 kernels share: loads and sums, the mixer, and the last reduction mod p, four 64-bit lanes at a time. */
#ifndef LSHFAST_LANES_AVX2_H
#define LSHFAST_LANES_AVX2_H

#include "cpu/cpu.h"
#include "field.h"

#include <immintrin.h>

#define LANES 4
#define LANES32 8

TARGET_AVX2 static inline __m256i spread(uint64_t x) { return _mm256_set1_epi64x((long long)x); }

TARGET_AVX2 static inline __m256i load_lanes(const uint64_t *x) { return _mm256_loadu_si256((const __m256i *)x); }

TARGET_AVX2 static inline __m256i load_lanes32(const uint32_t *x) { return _mm256_loadu_si256((const __m256i *)x); }

TARGET_AVX2 static inline void store_lanes(uint64_t *out, __m256i x) { _mm256_storeu_si256((__m256i *)out, x); }

TARGET_AVX2 static inline int64_t sum_of_lanes(__m256i x) {
    __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return _mm_cvtsi128_si64(pair) + _mm_extract_epi64(pair, 1);
}

/* The low 64 bits of x times a constant: AVX2 has only 32-bit products. */
TARGET_AVX2 static inline __m256i times(__m256i x, uint64_t factor) {
    const __m256i f = spread(factor), f_high = spread(factor >> 32);
    __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), f), _mm256_mul_epu32(x, f_high));
    return _mm256_add_epi64(_mm256_mul_epu32(x, f), _mm256_slli_epi64(cross, 32));
}

TARGET_AVX2 static inline __m256i mix64_lanes(__m256i x) {
    x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), UINT64_C(0xBF58476D1CE4E5B9));
    x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), UINT64_C(0x94D049BB133111EB));
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

/* rest + middle 2^32 mod p, where middle 2^32 is (middle >> 29) + (middle mod 2^29) 2^32; for rest below 2^63 and
 * middle below 2^64. The sign of sum - p chooses, as doubles, which of sum and sum - p is the remainder. */
TARGET_AVX2 static inline __m256i p61_of_limbs(__m256i rest, __m256i middle) {
    const __m256i p = spread(P61);
    __m256i low = _mm256_slli_epi64(_mm256_and_si256(middle, spread((1 << 29) - 1)), 32);
    __m256i sum = _mm256_add_epi64(_mm256_add_epi64(rest, _mm256_srli_epi64(middle, 29)), low);
    sum = _mm256_add_epi64(_mm256_and_si256(sum, p), _mm256_srli_epi64(sum, 61));
    __m256d less = _mm256_castsi256_pd(_mm256_sub_epi64(sum, p));
    return _mm256_castpd_si256(_mm256_blendv_pd(less, _mm256_castsi256_pd(sum), less));
}

#endif

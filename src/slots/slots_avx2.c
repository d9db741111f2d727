/* Comparison of slots for AVX2, four of 64 bits at a time. */
#include "slots/slots.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

TARGET_AVX2 static size_t equal32(const uint32_t *a, const uint32_t *b, size_t n) {
    __m256i found = _mm256_setzero_si256();
    uint32_t lanes[LANES32];
    size_t equal = 0, i = 0;
    for (; i + LANES32 <= n; i += LANES32) {
        found = _mm256_sub_epi32(found, _mm256_cmpeq_epi32(load_lanes32(a + i), load_lanes32(b + i)));
    }
    _mm256_storeu_si256((__m256i *)lanes, found);
    for (size_t l = 0; l < LANES32; l++) equal += lanes[l];
    for (; i < n; i++) equal += a[i] == b[i];
    return equal;
}

TARGET_AVX2 static size_t equal64(const uint64_t *a, const uint64_t *b, size_t n) {
    __m256i found = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        found = _mm256_sub_epi64(found, _mm256_cmpeq_epi64(load_lanes(a + i), load_lanes(b + i)));
    }
    size_t equal = (size_t)sum_of_lanes(found);
    for (; i < n; i++) equal += a[i] == b[i];
    return equal;
}

TARGET_AVX2 static void compare(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t k, int32_t *equal,
                                int32_t *skipped) {
    const __m256i empty = spread(EMPTY_SLOT);
    for (size_t row = 0; row < n; row++, a += step, b += k) {
        __m256i same = _mm256_setzero_si256(), none = same;
        size_t i = 0;
        for (; i + LANES <= k; i += LANES) {
            __m256i x = load_lanes(a + i), y = load_lanes(b + i);
            same = _mm256_sub_epi64(same, _mm256_cmpeq_epi64(x, y));
            none = _mm256_sub_epi64(none, _mm256_cmpeq_epi64(_mm256_and_si256(x, y), empty));
        }
        int32_t alike = (int32_t)sum_of_lanes(same), both = (int32_t)sum_of_lanes(none);
        for (; i < k; i++) {
            alike += a[i] == b[i];
            both += (a[i] & b[i]) == EMPTY_SLOT;
        }
        equal[row] = alike - both;
        skipped[row] = both;
    }
}

const struct slots_kernels slots_avx2 = {equal32, equal64, compare};
#endif

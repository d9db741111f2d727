/* Comparison of slots for AVX-512, eight of 64 bits at a time. */
#include "slots/slots.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

TARGET_AVX512 static size_t equal32(const uint32_t *a, const uint32_t *b, size_t n) {
    const __m512i one = _mm512_set1_epi32(1);
    __m512i equal = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += LANES32) {
        __mmask16 mask = first_lanes32(n - i);
        __m512i x = _mm512_maskz_loadu_epi32(mask, a + i), y = _mm512_maskz_loadu_epi32(mask, b + i);
        equal = _mm512_mask_add_epi32(equal, _mm512_mask_cmpeq_epi32_mask(mask, x, y), equal, one);
    }
    return (size_t)(uint32_t)_mm512_reduce_add_epi32(equal);
}

TARGET_AVX512 static size_t equal64(const uint64_t *a, const uint64_t *b, size_t n) {
    __m512i equal = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 mask = first_lanes(n - i);
        __m512i x = _mm512_maskz_loadu_epi64(mask, a + i), y = _mm512_maskz_loadu_epi64(mask, b + i);
        equal = _mm512_mask_add_epi64(equal, _mm512_mask_cmpeq_epi64_mask(mask, x, y), equal, spread(1));
    }
    return (size_t)_mm512_reduce_add_epi64(equal);
}

/* Count eight slots more. */
TARGET_AVX512 static inline void count(__m512i x, __m512i y, __mmask8 mask, __m512i *same, __m512i *none) {
    __mmask8 alike = _mm512_mask_cmpeq_epi64_mask(mask, x, y);
    __mmask8 both = _mm512_mask_cmpeq_epi64_mask(alike, x, spread(EMPTY_SLOT));
    *same = _mm512_mask_add_epi64(*same, alike, *same, spread(1));
    *none = _mm512_mask_add_epi64(*none, both, *none, spread(1));
}

TARGET_AVX512 static void compare(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t k, int32_t *equal,
                                  int32_t *skipped) {
    const size_t whole = k / LANES * LANES;
    const __mmask8 rest = first_lanes(k - whole);
    for (size_t row = 0; row < n; row++, a += step, b += k) {
        __m512i same = _mm512_setzero_si512(), none = same;
        for (size_t i = 0; i < whole; i += LANES) {
            count(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i), 0xFF, &same, &none);
        }
        if (rest) {
            count(_mm512_maskz_loadu_epi64(rest, a + whole), _mm512_maskz_loadu_epi64(rest, b + whole), rest, &same,
                  &none);
        }
        skipped[row] = (int32_t)_mm512_reduce_add_epi64(none);
        equal[row] = (int32_t)_mm512_reduce_add_epi64(same) - skipped[row];
    }
}

const struct slots_kernels slots_avx512 = {equal32, equal64, compare};
#endif

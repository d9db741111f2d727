/* Packing and comparison of packed signatures for AVX-512, eight slots or eight words at a time. */
#include "bits/bits.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

/* Eight slots of up to 8 bits are as many bytes as a slot has bits: shifted to their places, they are put together. */
TARGET_AVX512 static inline uint64_t pack_eight(const uint64_t *slots, size_t left, __m512i mask, __m512i places) {
    __mmask8 there = first_lanes(left);
    __m512i mixed = _mm512_maskz_and_epi64(there, mix64_lanes(_mm512_maskz_loadu_epi64(there, slots)), mask);
    return (uint64_t)_mm512_reduce_or_epi64(_mm512_sllv_epi64(mixed, places));
}

TARGET_AVX512 static void pack(const uint64_t *slots, size_t k, unsigned bits, uint64_t *out) {
    const __m512i mask = spread(((uint64_t)1 << bits) - 1), steps = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i places = _mm512_mullo_epi64(steps, spread(bits));
    const size_t a_word = 64 / bits;
    for (size_t i = 0; i < k; i += a_word) {
        size_t end = k - i < a_word ? k : i + a_word;
        uint64_t word = 0;
        for (size_t j = i; j < end; j += LANES) word |= pack_eight(slots + j, end - j, mask, places) << bits * (j - i);
        *out++ = word;
    }
}

/* Bytes whose sum is the number of slots that differ: of the narrow ones a table knows it for each half byte. */
TARGET_AVX512 static inline __m512i differing_bytes(__m512i x, unsigned bits, __m512i table) {
    const __m512i half = _mm512_set1_epi8(15);
    if (bits == 16) return _mm512_min_epu16(x, _mm512_set1_epi16(1));
    if (bits == 8) return _mm512_min_epu8(x, _mm512_set1_epi8(1));
    __m512i low = _mm512_shuffle_epi8(table, _mm512_and_si512(x, half));
    return _mm512_add_epi8(low, _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(x, 4), half)));
}

TARGET_AVX512 static void differ(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words,
                                 unsigned bits, int32_t *unequal) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)bits_differing(bits)));
    const size_t whole = words / LANES * LANES;
    const __mmask8 rest = first_lanes(words - whole);
    for (size_t row = 0; row < n; row++, a += step, b += words) {
        __m512i sum = zero;
        for (size_t i = 0; i < whole; i += LANES) {
            __m512i x = _mm512_xor_si512(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
            sum = _mm512_add_epi64(sum, _mm512_sad_epu8(differing_bytes(x, bits, table), zero));
        }
        if (rest) {
            __m512i x = _mm512_maskz_loadu_epi64(rest, a + whole);
            x = _mm512_xor_si512(x, _mm512_maskz_loadu_epi64(rest, b + whole));
            sum = _mm512_add_epi64(sum, _mm512_sad_epu8(differing_bytes(x, bits, table), zero));
        }
        unequal[row] = (int32_t)_mm512_reduce_add_epi64(sum);
    }
}

const struct bits_kernels bits_avx512 = {pack, differ};
#endif

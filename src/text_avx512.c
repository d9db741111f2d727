/* Text kernels for AVX-512: one compare for a block of 64 bytes, straight into a mask register, and eight windows
 * at a time with 52-bit multiply-adds. */
#include "text.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

TARGET_AVX512 static inline __mmask64 in_range(__m512i x, char low, char width) {
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(low)), _mm512_set1_epi8(width));
}

TARGET_AVX512 static uint64_t classify(const uint8_t *text, uint8_t *lower, uint64_t *other) {
    __m512i x = _mm512_loadu_si512(text);
    __m512i small = _mm512_mask_add_epi8(x, in_range(x, 'A', 25), x, _mm512_set1_epi8(0x20));
    _mm512_storeu_si512(lower, small);
    *other = _mm512_movepi8_mask(x);
    return in_range(small, 'a', 25) | in_range(x, '0', 9) | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('_'));
}

/* Each product has seven multiply-adds; the sums of up to seven products are reduced once. */
TARGET_AVX512 static inline void sum_windows(const uint64_t *hashes, size_t windows, size_t size,
                                             const uint64_t *powers, uint64_t *out) {
    for (size_t i = 0; i < windows; i += LANES) {
        struct limbs sum = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
        for (size_t j = 1; j < size; j++) {
            __m512i x = _mm512_loadu_si512(hashes + i + size - 1 - j);
            add_product(&sum, _mm512_and_si512(x, spread(LOW52)), _mm512_srli_epi64(x, 52),
                        spread(powers[j] & LOW52), spread(powers[j] >> 52));
        }
        __m512i rest = _mm512_add_epi64(sum.low, _mm512_loadu_si512(hashes + i + size - 1));
        __m512i token = mix64_lanes(p61_of_limbs(rest, sum.middle, sum.high));
        _mm512_mask_storeu_epi64(out + i, first_lanes(windows - i), token);
    }
}

TARGET_AVX512 static void word_windows(const uint64_t *hashes, size_t windows, const struct shingler *shingler,
                                       uint64_t *out) {
    const uint64_t *powers = shingler->powers;
    switch (shingler->size) { /* constants, so that the inner loop is unrolled */
    case 2: sum_windows(hashes, windows, 2, powers, out); return;
    case 3: sum_windows(hashes, windows, 3, powers, out); return;
    case 4: sum_windows(hashes, windows, 4, powers, out); return;
    case 5: sum_windows(hashes, windows, 5, powers, out); return;
    case 6: sum_windows(hashes, windows, 6, powers, out); return;
    case 7: sum_windows(hashes, windows, 7, powers, out); return;
    case 8: sum_windows(hashes, windows, 8, powers, out); return;
    default: word_windows_scalar(hashes, windows, shingler, out);
    }
}

/* A code point is one limb, so three multiply-adds a product do, and up to this size they beat the rolling sum. */
#define DIRECT_CHARACTERS 16

TARGET_AVX512 static void character_windows(const uint64_t *codes, size_t windows, const struct shingler *shingler,
                                            uint64_t *out) {
    const size_t size = shingler->size;
    if (size > DIRECT_CHARACTERS) {
        character_windows_scalar(codes, windows, shingler, out);
        return;
    }
    for (size_t i = 0; i < windows; i += LANES) {
        __m512i low = _mm512_setzero_si512(), middle = low, carried = low;
        for (size_t j = 0; j < size; j++) {
            __m512i x = _mm512_loadu_si512(codes + i + size - 1 - j);
            __m512i power = spread(shingler->powers[j]), power_high = spread(shingler->powers[j] >> 52);
            low = _mm512_madd52lo_epu64(low, x, power); /* reads the low 52 bits of both */
            carried = _mm512_madd52hi_epu64(carried, x, power);
            middle = _mm512_madd52lo_epu64(middle, x, power_high);
        }
        middle = _mm512_add_epi64(middle, carried);
        __m512i token = mix64_lanes(p61_of_limbs(low, middle, _mm512_setzero_si512()));
        _mm512_mask_storeu_epi64(out + i, first_lanes(windows - i), token);
    }
}

const struct text_kernels text_avx512 = {classify, word_windows, character_windows};
#endif

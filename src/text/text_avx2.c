/* Text kernels for AVX2: 32 bytes a compare (range tests are min-compares on unsigned bytes, x - low <= width), and
 * four character windows at a time. Word windows stay scalar: a 64-bit multiplier beats four of 32 bits. */
#include "text/text.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

#include <string.h>

TARGET_AVX2 static inline __m256i in_range(__m256i x, char low, char width) {
    __m256i offset = _mm256_sub_epi8(x, _mm256_set1_epi8(low));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(offset, _mm256_set1_epi8(width)), offset);
}

TARGET_AVX2 static inline uint64_t classify_half(const uint8_t *text, uint8_t *lower, uint64_t *other) {
    __m256i x = _mm256_loadu_si256((const __m256i *)text);
    __m256i small = _mm256_or_si256(x, _mm256_and_si256(in_range(x, 'A', 25), _mm256_set1_epi8(0x20)));
    __m256i part = _mm256_or_si256(in_range(small, 'a', 25), in_range(x, '0', 9));
    part = _mm256_or_si256(part, _mm256_cmpeq_epi8(x, _mm256_set1_epi8('_')));
    _mm256_storeu_si256((__m256i *)lower, small);
    *other = (uint32_t)_mm256_movemask_epi8(x);
    return (uint32_t)_mm256_movemask_epi8(part);
}

TARGET_AVX2 static uint64_t classify(const uint8_t *text, uint8_t *lower, uint64_t *other) {
    uint64_t other_low, other_high;
    uint64_t low = classify_half(text, lower, &other_low);
    uint64_t high = classify_half(text + 32, lower + 32, &other_high);
    *other = other_low | other_high << 32;
    return low | high << 32;
}

TARGET_AVX2 static inline uint64_t white_space_of_half(const uint8_t *text) {
    __m256i x = _mm256_loadu_si256((const __m256i *)text);
    __m256i white = _mm256_or_si256(in_range(x, '\t', '\r' - '\t'), _mm256_cmpeq_epi8(x, _mm256_set1_epi8(' ')));
    return (uint32_t)_mm256_movemask_epi8(white);
}

TARGET_AVX2 static uint64_t white_space(const uint8_t *text) {
    return white_space_of_half(text) | white_space_of_half(text + 32) << 32;
}

/* A code point has at most 21 bits, so that two 32-bit products do and sixteen of their sums fit in 64 bits; up to
 * this size they beat the rolling sum. */
#define MOST_DIRECT_CHARACTERS 16

TARGET_AVX2 static void character_windows(const uint64_t *codes, size_t windows, const struct shingler *shingler,
                                          uint64_t *out) {
    const size_t size = shingler->size;
    if (size > MOST_DIRECT_CHARACTERS) {
        text_character_windows_scalar(codes, windows, shingler, out);
        return;
    }
    for (size_t i = 0; i < windows; i += LANES) {
        __m256i low = _mm256_setzero_si256(), middle = low;
        for (size_t j = 0; j < size; j++) {
            __m256i x = load_lanes(codes + i + size - 1 - j);
            low = _mm256_add_epi64(low, _mm256_mul_epu32(x, spread(shingler->powers[j])));
            middle = _mm256_add_epi64(middle, _mm256_mul_epu32(x, spread(shingler->powers[j] >> 32)));
        }
        __m256i tokens = mix64_lanes(p61_of_limbs(low, middle));
        if (windows - i >= LANES) {
            store_lanes(out + i, tokens);
        } else {
            uint64_t last[LANES];
            store_lanes(last, tokens);
            memcpy(out + i, last, (windows - i) * sizeof *out);
        }
    }
}

const struct text_kernels text_avx2 = {
    text_tokens_scalar, classify,               white_space,              NULL, text_decode_block_scalar,
    text_edges_scalar,  text_hash_words_scalar, text_word_windows_scalar, character_windows};
#endif

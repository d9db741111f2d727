/* Kernels of lines of JSON for AVX2: 32 bytes a compare, and UTF-8 by tables of half bytes: J. Keiser and D. Lemire,
 * "Validating UTF-8 in less than one instruction per byte", Software: Practice and Experience 51 (2021). */
#include "json/json.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

#include <string.h>

#define BLOCK 32

TARGET_AVX2 static inline uint64_t special_half(const uint8_t *text, uint64_t *high) {
    const __m256i x = _mm256_loadu_si256((const __m256i *)text), controls = _mm256_set1_epi8(0x1F);
    __m256i found = _mm256_cmpeq_epi8(_mm256_min_epu8(x, controls), x);
    found = _mm256_or_si256(found, _mm256_cmpeq_epi8(x, _mm256_set1_epi8('"')));
    found = _mm256_or_si256(found, _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\')));
    *high = (uint32_t)_mm256_movemask_epi8(x);
    return (uint32_t)_mm256_movemask_epi8(found);
}

TARGET_AVX2 static uint64_t special(const uint8_t *text, uint64_t *high) {
    uint64_t high_low, high_high;
    uint64_t low = special_half(text, &high_low);
    uint64_t upper = special_half(text + BLOCK, &high_high);
    *high = high_low | high_high << 32;
    return low | upper << 32;
}

/* What may be wrong with two bytes that follow each other; each bit is set by three tables if it is. */
enum {
    TOO_SHORT = 1,       /* a lead, and then no continuation */
    TOO_LONG = 2,        /* ASCII, and then a continuation */
    OVERLONG_3 = 4,      /* E0 80..9F */
    TOO_LARGE = 8,       /* F4 90..BF, or F5..FF and 90..BF */
    SURROGATE = 16,      /* ED A0..BF */
    OVERLONG_2 = 32,     /* C0, C1 */
    OVERLONG_4 = 64,     /* F0 80..8F */
    TOO_LARGE_1000 = 64, /* F5..FF and 80..8F */
    TWO_CONTINUATIONS = 128,
    ANY_SECOND_HALF = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS,
    BEYOND = ANY_SECOND_HALF | TOO_LARGE | TOO_LARGE_1000,
    AFTER_LEAD = TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS
};
#define EIGHT(x) x, x, x, x, x, x, x, x
#define FOUR(x) x, x, x, x
static const uint8_t FIRST_UPPER[16] = {EIGHT(TOO_LONG), FOUR(TWO_CONTINUATIONS), TOO_SHORT | OVERLONG_2, TOO_SHORT,
                                        TOO_SHORT | OVERLONG_3 | SURROGATE,
                                        TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4};
static const uint8_t FIRST_LOWER[16] = {ANY_SECOND_HALF | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
                                        ANY_SECOND_HALF | OVERLONG_2,
                                        ANY_SECOND_HALF,
                                        ANY_SECOND_HALF,
                                        ANY_SECOND_HALF | TOO_LARGE,
                                        EIGHT(BEYOND),
                                        BEYOND | SURROGATE,
                                        BEYOND,
                                        BEYOND};
static const uint8_t SECOND_UPPER[16] = {EIGHT(TOO_SHORT),
                                         AFTER_LEAD | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,
                                         AFTER_LEAD | OVERLONG_3 | TOO_LARGE,
                                         AFTER_LEAD | SURROGATE | TOO_LARGE,
                                         AFTER_LEAD | SURROGATE | TOO_LARGE,
                                         FOUR(TOO_SHORT)};

TARGET_AVX2 static inline __m256i table(const uint8_t *values) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)values));
}

/* The bytes that are `count` before those of a block. */
#define BEFORE(x, across, count) _mm256_alignr_epi8(x, across, 16 - (count))

/* Non-zero bytes where the block is no UTF-8 behind the block before. */
TARGET_AVX2 static inline __m256i faults_of(__m256i x, __m256i before) {
    const __m256i half = _mm256_set1_epi8(15), across = _mm256_permute2x128_si256(before, x, 0x21);
    __m256i one = BEFORE(x, across, 1), two = BEFORE(x, across, 2), three = BEFORE(x, across, 3);
    __m256i wrong = _mm256_shuffle_epi8(table(FIRST_UPPER), _mm256_and_si256(_mm256_srli_epi16(one, 4), half));
    wrong = _mm256_and_si256(wrong, _mm256_shuffle_epi8(table(FIRST_LOWER), _mm256_and_si256(one, half)));
    __m256i upper = _mm256_and_si256(_mm256_srli_epi16(x, 4), half);
    wrong = _mm256_and_si256(wrong, _mm256_shuffle_epi8(table(SECOND_UPPER), upper));
    /* The third and the fourth byte of a character, and they alone, are a second continuation. */
    __m256i third = _mm256_subs_epu8(two, _mm256_set1_epi8(0xE0 - 0x80));
    __m256i fourth = _mm256_subs_epu8(three, _mm256_set1_epi8(0xF0 - 0x80));
    __m256i due = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(due, wrong);
}

TARGET_AVX2 int json_is_utf8_avx2(const uint8_t *text, size_t n) {
    __m256i before = _mm256_setzero_si256(), wrong = before;
    size_t at = 0;
    for (; n - at >= BLOCK; at += BLOCK) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(text + at));
        wrong = _mm256_or_si256(wrong, faults_of(x, before));
        before = x;
    }
    uint8_t last[BLOCK] = {0}; /* zeros behind the text show where a character is cut off */
    if (n > at) memcpy(last, text + at, n - at);
    wrong = _mm256_or_si256(wrong, faults_of(_mm256_loadu_si256((const __m256i *)last), before));
    return _mm256_testz_si256(wrong, wrong);
}

const struct json_kernels json_avx2 = {special, json_is_utf8_avx2};
#endif

/* Text kernels for AVX2: 32 bytes a compare (range tests are min-compares on unsigned bytes, x - low <= width), the edges of
 * words from a table of bytes, and four windows at a time. */
#include "text/text.h"

#if LSHFAST_X86
#include "lanes_avx2.h"
#include "text/blocks.h"

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

/* ---- words ---- */

/* The places of the bits of a byte, lowest first, a byte each. */
#define BIT(byte, i) ((uint64_t)((byte) >> (i) & 1))
#define BELOW_2(byte) (BIT(byte, 0) + BIT(byte, 1))
#define BELOW_4(byte) (BELOW_2(byte) + BIT(byte, 2) + BIT(byte, 3))
#define BELOW_6(byte) (BELOW_4(byte) + BIT(byte, 4) + BIT(byte, 5))
#define PLACE(byte, i, below) (BIT(byte, i) * (i) << 8 * ((below) & 7))
#define PLACES(byte)                                                                                    \
    (PLACE(byte, 1, BIT(byte, 0)) | PLACE(byte, 2, BELOW_2(byte)) |                                     \
     PLACE(byte, 3, BELOW_2(byte) + BIT(byte, 2)) | PLACE(byte, 4, BELOW_4(byte)) |                     \
     PLACE(byte, 5, BELOW_4(byte) + BIT(byte, 4)) | PLACE(byte, 6, BELOW_6(byte)) |                     \
     PLACE(byte, 7, BELOW_6(byte) + BIT(byte, 6)))
#define PLACES_4(byte) PLACES(byte), PLACES(byte + 1), PLACES(byte + 2), PLACES(byte + 3)
#define PLACES_16(byte) PLACES_4(byte), PLACES_4(byte + 4), PLACES_4(byte + 8), PLACES_4(byte + 12)
#define PLACES_64(byte) PLACES_16(byte), PLACES_16(byte + 16), PLACES_16(byte + 32), PLACES_16(byte + 48)
static const uint64_t places_of_bits[256] = {PLACES_64(0), PLACES_64(64), PLACES_64(128), PLACES_64(192)};

/* The edges of eight bytes at a time, without a branch on their number. */
TARGET_AVX2 static size_t edges_of_words(const uint64_t *mask, const uint64_t *breaks, size_t bits, int open,
                                         int32_t *edges) {
    if (breaks) return text_edges_scalar(mask, breaks, bits, open, edges);
    size_t count = 0;
    uint64_t before = (uint64_t)open;
    for (size_t word = 0; word * 64 < bits; word++) {
        uint64_t changes = mask[word] ^ (mask[word] << 1 | before);
        before = mask[word] >> 63;
        changes &= lowest_bits(bits - word * 64);
        for (int32_t i = 0; i < 64; i += 8) {
            unsigned byte = (unsigned)(changes >> i) & 255;
            __m128i places = _mm_loadl_epi64((const __m128i *)(places_of_bits + byte));
            __m256i base = _mm256_set1_epi32((int32_t)(word * 64) + i);
            __m256i found = _mm256_add_epi32(_mm256_cvtepu8_epi32(places), base);
            _mm256_storeu_si256((__m256i *)(edges + count), found);
            count += (size_t)_mm_popcnt_u32(byte);
        }
    }
    return count;
}

/* The sums of words are made by scalar code, and reduced by four. */
#define HELD 64
struct sums {
    uint64_t low[HELD], high[HELD];
};

static inline void hold_sum(struct sums *sums, size_t i, wide sum) {
    sums->low[i] = wide_low(sum);
    sums->high[i] = wide_high(sum);
}

/* low + high 2^64, of less than 2^124, mod p and below 2^61 + 8. */
TARGET_AVX2 static inline __m256i fold_sums(__m256i low, __m256i high) {
    __m256i upper = _mm256_or_si256(_mm256_slli_epi64(high, 3), _mm256_srli_epi64(low, 61));
    __m256i sum = _mm256_add_epi64(_mm256_and_si256(low, spread(P61)), upper);
    return _mm256_add_epi64(_mm256_and_si256(sum, spread(P61)), _mm256_srli_epi64(sum, 61));
}

TARGET_AVX2 static void store_some(uint64_t *out, __m256i x, size_t n) {
    uint64_t lanes[LANES];
    if (n >= LANES) {
        store_lanes(out, x);
        return;
    }
    store_lanes(lanes, x);
    memcpy(out, lanes, n * sizeof *out);
}

TARGET_AVX2 static void hash_words(const struct token_hasher *hasher, const uint8_t *base, const int32_t *edges,
                                   size_t words, uint64_t *hashes) {
    enum { LIMB = 7 };
    const uint64_t a = hasher->a, whole = ((uint64_t)1 << 56) - 1;
    uint64_t first_mask[2 * LIMB + 1], second_mask[2 * LIMB + 1], first_multiplier[2 * LIMB + 1];
    struct sums sums;
    for (unsigned n = 0; n <= 2 * LIMB; n++) {
        first_mask[n] = n < LIMB ? ((uint64_t)1 << 8 * n) - 1 : whole;
        second_mask[n] = n < LIMB ? 0 : ((uint64_t)1 << 8 * (n - LIMB)) - 1;
        first_multiplier[n] = n <= LIMB ? a : hasher->a2;
    }
    for (size_t start = 0; start < words; start += HELD, edges += 2 * HELD) {
        const size_t count = words - start < HELD ? words - start : HELD;
        for (size_t i = 0; i < count; i++) {
            const uint8_t *word = base + edges[2 * i];
            const size_t n = (size_t)(edges[2 * i + 1] - edges[2 * i]);
            uint64_t limbs[2];
            if (n > 2 * LIMB) {
                hold_sum(&sums, i, wide_of(text_long_word(hasher, word, n)));
                continue;
            }
            memcpy(limbs, word, 8);
            memcpy(limbs + 1, word + LIMB, 8);
            wide first = wide_product(limbs[0] & first_mask[n], first_multiplier[n]);
            wide second = wide_product(limbs[1] & second_mask[n], a);
            hold_sum(&sums, i, wide_add(wide_add(first, second), wide_of(n)));
        }
        for (size_t i = 0; i < count; i += LANES) {
            __m256i found = fold_sums(load_lanes(sums.low + i), load_lanes(sums.high + i));
            store_some(hashes + start + i, found, count - i);
        }
    }
}

/* Numbers in limbs of 31 bits, a product of which has at most 62, so that four fit into 64: two beside each other, of which
 * a product reads the lower. */
#define LIMB_31 (((uint64_t)1 << 31) - 1)
#define MOST_DIRECT_WORDS 5

/* Word hashes are below 2^61 + 2^31, so that an upper limb has at most 30 bits or is 2^30. */
TARGET_AVX2 static inline __m256i limbs_31(__m256i x) {
    __m256i upper = _mm256_slli_epi64(_mm256_srli_epi64(x, 31), 32);
    return _mm256_or_si256(_mm256_and_si256(x, spread(LIMB_31)), upper);
}

/* Windows of `size` hashes, at most MOST_DIRECT_WORDS. */
TARGET_AVX2 static ALWAYS_INLINED void windows_of(const uint64_t *hashes, size_t windows, size_t size,
                                                  const uint64_t *powers, uint64_t *out) {
    uint64_t limbs[HELD + MOST_DIRECT_WORDS + 2 * LANES];
    for (size_t start = 0; start < windows; start += HELD, hashes += HELD) {
        const size_t count = windows - start < HELD ? windows - start : HELD;
        for (size_t i = 0; i <= count + size; i += LANES) store_lanes(limbs + i, limbs_31(load_lanes(hashes + i)));
        for (size_t i = 0; i < count; i += LANES) {
            __m256i low = _mm256_setzero_si256(), middle = low, high = low;
            for (size_t j = 1; j < size; j++) {
                const uint64_t *at = limbs + i + size - 1 - j;
                __m256i x = load_lanes(at), x_high = _mm256_srli_epi64(x, 32);
                __m256i power = spread(powers[j] & LIMB_31), power_high = spread(powers[j] >> 31);
                low = _mm256_add_epi64(low, _mm256_mul_epu32(x, power));
                middle = _mm256_add_epi64(middle, _mm256_mul_epu32(x, power_high));
                middle = _mm256_add_epi64(middle, _mm256_mul_epu32(x_high, power));
                high = _mm256_add_epi64(high, _mm256_mul_epu32(x_high, power_high));
            }
            /* 2^62 is 2, and middle 2^31 is (middle >> 30) + (middle mod 2^30) 2^31 */
            __m256i rest = _mm256_add_epi64(load_lanes(hashes + i + size - 1), _mm256_add_epi64(high, high));
            rest = _mm256_add_epi64(rest, _mm256_and_si256(low, spread(P61)));
            rest = _mm256_add_epi64(rest, _mm256_srli_epi64(low, 61));
            rest = _mm256_add_epi64(rest, _mm256_srli_epi64(middle, 30));
            middle = _mm256_slli_epi64(_mm256_and_si256(middle, spread(LIMB_31 >> 1)), 31);
            __m256i found = p61_of_limbs(_mm256_add_epi64(rest, middle), _mm256_setzero_si256());
            store_some(out + start + i, mix64_lanes(found), count - i);
        }
    }
}

TARGET_AVX2 static void word_windows(const uint64_t *hashes, size_t windows, const struct shingler *shingler,
                                     uint64_t *out) {
    const uint64_t *powers = shingler->powers;
    switch (shingler->size) { /* constants, so that the inner loop is unrolled */
    case 1: windows_of(hashes, windows, 1, powers, out); return;
    case 2: windows_of(hashes, windows, 2, powers, out); return;
    case 3: windows_of(hashes, windows, 3, powers, out); return;
    case 4: windows_of(hashes, windows, 4, powers, out); return;
    case 5: windows_of(hashes, windows, 5, powers, out); return;
    default: text_word_windows_scalar(hashes, windows, shingler, out);
    }
}

const struct text_kernels text_avx2 = {
    text_tokens_scalar, classify,   white_space,  NULL, text_decode_block_scalar,
    edges_of_words,     hash_words, word_windows, character_windows};
#endif

/* Text classification for NEON, four registers of 16 bytes at a time. Tokens and windows use the portable kernels, since
 * NEON has no 64-bit products (see sketch.c). */
#include "text/text.h"

#if LSHFAST_NEON
#include <arm_neon.h>

/* Bit i of the result is that of byte i, which is 0 or 0xFF, of four registers. */
static inline uint64_t bits_of(const uint8x16_t bytes[4]) {
    static const uint8_t BITS[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bit = vld1q_u8(BITS);
    uint8x16_t low = vpaddq_u8(vandq_u8(bytes[0], bit), vandq_u8(bytes[1], bit));
    uint8x16_t high = vpaddq_u8(vandq_u8(bytes[2], bit), vandq_u8(bytes[3], bit));
    uint8x16_t all = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

static inline uint8x16_t in_range(uint8x16_t x, uint8_t low, uint8_t width) {
    return vcleq_u8(vsubq_u8(x, vdupq_n_u8(low)), vdupq_n_u8(width));
}

static uint64_t classify(const uint8_t *text, uint8_t *lower, uint64_t *other) {
    uint8x16_t part[4], high[4];
    for (size_t i = 0; i < 4; i++) {
        uint8x16_t x = vld1q_u8(text + 16 * i);
        uint8x16_t small = vorrq_u8(x, vandq_u8(in_range(x, 'A', 25), vdupq_n_u8(0x20)));
        part[i] = vorrq_u8(in_range(small, 'a', 25), in_range(x, '0', 9));
        part[i] = vorrq_u8(part[i], vceqq_u8(x, vdupq_n_u8('_')));
        high[i] = vcltzq_s8(vreinterpretq_s8_u8(x));
        vst1q_u8(lower + 16 * i, small);
    }
    *other = bits_of(high);
    return bits_of(part);
}

static uint64_t white_space(const uint8_t *text) {
    uint8x16_t white[4];
    for (size_t i = 0; i < 4; i++) {
        uint8x16_t x = vld1q_u8(text + 16 * i);
        white[i] = vorrq_u8(in_range(x, '\t', '\r' - '\t'), vceqq_u8(x, vdupq_n_u8(' ')));
    }
    return bits_of(white);
}

const struct text_kernels text_neon = {
    text_tokens_scalar, classify,               white_space,              NULL, text_decode_block_scalar,
    text_edges_scalar,  text_hash_words_scalar, text_word_windows_scalar, text_character_windows_scalar};
#endif

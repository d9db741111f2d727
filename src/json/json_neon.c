/* Kernels of lines of JSON for NEON, four registers of 16 bytes at a time. */
#include "json/json.h"

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

static uint64_t special(const uint8_t *text, uint64_t *high) {
    uint8x16_t found[4], above[4];
    for (size_t i = 0; i < 4; i++) {
        uint8x16_t x = vld1q_u8(text + 16 * i);
        found[i] = vorrq_u8(vceqq_u8(x, vdupq_n_u8('"')), vceqq_u8(x, vdupq_n_u8('\\')));
        found[i] = vorrq_u8(found[i], vcltq_u8(x, vdupq_n_u8(0x20)));
        above[i] = vcltzq_s8(vreinterpretq_s8_u8(x));
    }
    *high = bits_of(above);
    return bits_of(found);
}

const struct json_kernels json_neon = {special, json_is_utf8_scalar};
#endif

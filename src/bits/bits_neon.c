/* Comparison of packed signatures for NEON, two words at a time. Packing stays scalar: it mixes 64-bit numbers. */
#include "bits/bits.h"

#if LSHFAST_NEON
#include <arm_neon.h>

/* Bytes whose sum is the number of slots that differ: single bits are counted, and a table has the numbers of slots of 2
 * and 4 bits for each half byte. */
static inline uint8x16_t differing_bytes(uint8x16_t x, unsigned bits, uint8x16_t table) {
    if (bits == 16) return vreinterpretq_u8_u16(vminq_u16(vreinterpretq_u16_u8(x), vdupq_n_u16(1)));
    if (bits == 8) return vminq_u8(x, vdupq_n_u8(1));
    if (bits == 1) return vcntq_u8(x);
    return vaddq_u8(vqtbl1q_u8(table, vandq_u8(x, vdupq_n_u8(15))), vqtbl1q_u8(table, vshrq_n_u8(x, 4)));
}

static void differ(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words, unsigned bits,
                   int32_t *unequal) {
    const uint8x16_t table = vld1q_u8(bits_differing(bits));
    for (size_t row = 0; row < n; row++, a += step, b += words) {
        uint32x4_t sum = vdupq_n_u32(0);
        for (size_t i = 0; i < words; i += 2) {
            uint64x2_t x;
            if (i + 2 <= words) x = veorq_u64(vld1q_u64(a + i), vld1q_u64(b + i));
            else x = vcombine_u64(veor_u64(vld1_u64(a + i), vld1_u64(b + i)), vdup_n_u64(0));
            sum = vpadalq_u16(sum, vpaddlq_u8(differing_bytes(vreinterpretq_u8_u64(x), bits, table)));
        }
        unequal[row] = (int32_t)vaddvq_u32(sum);
    }
}

const struct bits_kernels bits_neon = {bits_pack_slots, differ};
#endif

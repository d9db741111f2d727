/* Bits for NEON, two words at a time; AArch64 counts the ones of one word so well that candidates need no vectors. */
#include "setjoin/setjoin_parts.h"

#if LSHFAST_NEON
#include <arm_neon.h>

#define LANES 2

static size_t screen(const struct setjoin_set *sets, const struct setjoin_set *probe, struct setjoin_candidate *batch,
                     size_t n) {
    return setjoin_screen(sets, probe, batch, n);
}

/* At most 8 words a row, so that the sum of a byte's ones is at most 64. */
static size_t within(const uint64_t *words, size_t stride, size_t width, const uint64_t *row, size_t from, size_t to,
                   uint32_t most, uint32_t *out) {
    const uint64x2_t limit = vdupq_n_u64(most);
    size_t count = 0, i = from;
    for (; i + LANES <= to; i += LANES) {
        uint8x16_t sum = vdupq_n_u8(0);
        for (size_t w = 0; w < width; w++) {
            uint64x2_t x = veorq_u64(vld1q_u64(words + w * stride + i), vdupq_n_u64(row[w]));
            sum = vaddq_u8(sum, vcntq_u8(vreinterpretq_u8_u64(x)));
        }
        uint64x2_t close = vcleq_u64(vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(sum))), limit);
        if (vgetq_lane_u64(close, 0)) out[count++] = (uint32_t)i;
        if (vgetq_lane_u64(close, 1)) out[count++] = (uint32_t)(i + 1);
    }
    return count + setjoin_within(words, stride, width, row, i, to, most, out + count);
}

const struct setjoin_kernels setjoin_neon = {screen, within};
#endif

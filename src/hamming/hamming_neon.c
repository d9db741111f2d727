/* Hamming search for NEON, two words at a time. The bits of a block are taken out by the portable code. */
#include "hamming/hamming.h"

#if LSHFAST_NEON
#include "hamming/hamming_parts.h"

#include <arm_neon.h>

static inline uint64x2_t distances(uint64x2_t x, uint64x2_t query) {
    uint8x16_t ones = vcntq_u8(vreinterpretq_u8_u64(veorq_u64(x, query)));
    return vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(ones)));
}

static size_t near_words(const uint64_t *codes, size_t n, uint64_t query, unsigned radius, uint32_t *places) {
    const uint64x2_t q = vdupq_n_u64(query), most = vdupq_n_u64(radius);
    size_t i = 0, count = 0;
    for (; i + 4 <= n; i += 4) {
        uint64x2_t a = vcleq_u64(distances(vld1q_u64(codes + i), q), most);
        uint64x2_t b = vcleq_u64(distances(vld1q_u64(codes + i + 2), q), most);
        uint64x2_t any = vorrq_u64(a, b);
        if (!(vgetq_lane_u64(any, 0) | vgetq_lane_u64(any, 1))) continue;
        for (size_t j = i; j < i + 4; j++) {
            places[count] = (uint32_t)j;
            count += ones_of(codes[j] ^ query) <= radius;
        }
    }
    for (; i < n; i++) {
        places[count] = (uint32_t)i;
        count += ones_of(codes[i] ^ query) <= radius;
    }
    return count;
}

static size_t near_codes(const uint64_t *codes, size_t n, size_t words, const uint64_t *query, unsigned radius,
                         uint32_t *places) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++, codes += words) {
        uint8x16_t bytes = vdupq_n_u8(0); /* at most 8 * 8 in each */
        uint64_t sum = words % 2 ? ones_of(codes[words - 1] ^ query[words - 1]) : 0;
        for (size_t w = 0; w + 2 <= words; w += 2) {
            uint64x2_t x = veorq_u64(vld1q_u64(codes + w), vld1q_u64(query + w));
            bytes = vaddq_u8(bytes, vcntq_u8(vreinterpretq_u8_u64(x)));
        }
        places[count] = (uint32_t)i;
        count += sum + vaddlvq_u8(bytes) <= radius;
    }
    return count;
}

const struct hamming_kernels hamming_neon = {near_words, near_codes, hamming_select};
#endif

/* Hamming search for NEON, two words at a time. The bits of a block are taken out by the portable code. */
#include "hamming/hamming.h"

#if LSHFAST_NEON
#include "hamming/hamming_parts.h"

#include <arm_neon.h>

static inline uint64x2_t different(uint64x2_t x, uint64x2_t query) {
    uint8x16_t ones = vcntq_u8(vreinterpretq_u8_u64(veorq_u64(x, query)));
    return vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(ones)));
}

static size_t near_words(const uint64_t *codes, size_t n, uint64_t query, unsigned radius, uint32_t *places) {
    const uint64x2_t q = vdupq_n_u64(query), most = vdupq_n_u64(radius);
    size_t i = 0, count = 0;
    for (; i + 4 <= n; i += 4) {
        uint64x2_t a = vcleq_u64(different(vld1q_u64(codes + i), q), most);
        uint64x2_t b = vcleq_u64(different(vld1q_u64(codes + i + 2), q), most);
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

static inline uint8x16_t ones(const uint64_t *codes, uint64x2_t query) {
    return vcntq_u8(vreinterpretq_u8_u64(veorq_u64(vld1q_u64(codes), query)));
}

/* Eight rows at a time. */
static size_t near_columns(const uint64_t *columns, size_t n, size_t words, const uint64_t *query, unsigned radius,
                           uint64_t *found) {
    const uint64x2_t most = vdupq_n_u64(radius);
    const size_t step = hamming_step(words);
    uint64_t *out = found;
    for (size_t start = 0; start < n; start += 8) {
        const uint64_t *at = columns + start / HAMMING_GROUP * HAMMING_GROUP * words + start % HAMMING_GROUP;
        uint64_t sums[8] = {0};
        unsigned near = 0;
        uint64x2_t total[4] = {vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0)};
        for (size_t w = 0; w < words;) {
            uint8x16_t bytes[4] = {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)}; /* at most 8 a word */
            for (const size_t end = words - w < step ? words : w + step; w < end; w++, at += HAMMING_GROUP) {
                const uint64x2_t q = vdupq_n_u64(query[w]);
                for (size_t v = 0; v < 4; v++) bytes[v] = vaddq_u8(bytes[v], ones(at + 2 * v, q));
            }
            uint64x2_t any = vdupq_n_u64(0);
            for (size_t v = 0; v < 4; v++) {
                total[v] = vaddq_u64(total[v], vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(bytes[v]))));
                any = vorrq_u64(any, vcleq_u64(total[v], most));
            }
            near = (vgetq_lane_u64(any, 0) | vgetq_lane_u64(any, 1)) != 0;
            if (!near) break;
        }
        if (!near) continue;
        for (size_t v = 0; v < 4; v++) vst1q_u64(sums + 2 * v, total[v]);
        near = 0;
        for (unsigned t = 0; t < 8; t++) near |= (unsigned)(sums[t] <= radius) << t;
        out = hamming_write(out, sums, near, start, n);
    }
    return (size_t)(out - found);
}

static void differences(const uint64_t *codes, const uint64_t *found, size_t n, size_t words, const uint64_t *query,
                        uint32_t *distances) {
    for (size_t p = 0; p < n; p++) {
        const uint64_t *code = codes + (uint32_t)found[p] * words;
        uint64x2_t sum = vdupq_n_u64(0);
        size_t w = 0;
        if (p + HAMMING_AHEAD < n) prefetch(codes + (uint32_t)found[p + HAMMING_AHEAD] * words);
        for (; w + 2 <= words; w += 2) sum = vaddq_u64(sum, different(vld1q_u64(code + w), vld1q_u64(query + w)));
        distances[p] = (uint32_t)(vgetq_lane_u64(sum, 0) + vgetq_lane_u64(sum, 1));
        if (w < words) distances[p] += (uint32_t)ones_of(code[w] ^ query[w]);
    }
}

const struct hamming_kernels hamming_neon = {near_words,  hamming_transpose, near_columns,
                                             differences, hamming_ones,      hamming_select};
#endif

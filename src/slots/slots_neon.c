/* Comparison of slots for NEON, two of 64 bits at a time. */
#include "slots/slots.h"

#if LSHFAST_NEON
#include <arm_neon.h>

static size_t equal32(const uint32_t *a, const uint32_t *b, size_t n) {
    uint32x4_t found = vdupq_n_u32(0);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) found = vsubq_u32(found, vceqq_u32(vld1q_u32(a + i), vld1q_u32(b + i)));
    size_t equal = vaddvq_u32(found);
    for (; i < n; i++) equal += a[i] == b[i];
    return equal;
}

static size_t equal64(const uint64_t *a, const uint64_t *b, size_t n) {
    uint64x2_t found = vdupq_n_u64(0);
    size_t i = 0;
    for (; i + 2 <= n; i += 2) found = vsubq_u64(found, vceqq_u64(vld1q_u64(a + i), vld1q_u64(b + i)));
    size_t equal = vaddvq_u64(found);
    for (; i < n; i++) equal += a[i] == b[i];
    return equal;
}

static void compare(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t k, int32_t *equal,
                    int32_t *skipped) {
    const uint64x2_t empty = vdupq_n_u64(EMPTY_SLOT);
    for (size_t row = 0; row < n; row++, a += step, b += k) {
        uint64x2_t same = vdupq_n_u64(0), none = same;
        size_t i = 0;
        for (; i + 2 <= k; i += 2) {
            uint64x2_t x = vld1q_u64(a + i), y = vld1q_u64(b + i);
            same = vsubq_u64(same, vceqq_u64(x, y));
            none = vsubq_u64(none, vceqq_u64(vandq_u64(x, y), empty));
        }
        int32_t alike = (int32_t)vaddvq_u64(same), both = (int32_t)vaddvq_u64(none);
        for (; i < k; i++) {
            alike += a[i] == b[i];
            both += (a[i] & b[i]) == EMPTY_SLOT;
        }
        equal[row] = alike - both;
        skipped[row] = both;
    }
}

const struct slots_kernels slots_neon = {equal32, equal64, compare};
#endif

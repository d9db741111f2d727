/* The portable comparison of slots. */
#include "slots/slots.h"

static size_t equal32(const uint32_t *a, const uint32_t *b, size_t n) {
    size_t equal = 0;
    for (size_t i = 0; i < n; i++) equal += a[i] == b[i];
    return equal;
}

static size_t equal64(const uint64_t *a, const uint64_t *b, size_t n) {
    size_t equal = 0;
    for (size_t i = 0; i < n; i++) equal += a[i] == b[i];
    return equal;
}

static void compare(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t k, int32_t *equal,
                    int32_t *skipped) {
    for (size_t row = 0; row < n; row++, a += step, b += k) {
        int32_t same = 0, none = 0;
        for (size_t i = 0; i < k; i++) {
            same += a[i] == b[i];
            none += (a[i] & b[i]) == EMPTY_SLOT;
        }
        equal[row] = same - none;
        skipped[row] = none;
    }
}

const struct slots_kernels slots_scalar = {equal32, equal64, compare};

const struct slots_kernels *const slots_levels[CPU_LEVELS] =
    CPU_TABLE(&slots_scalar, &slots_avx2, &slots_avx512, &slots_neon);

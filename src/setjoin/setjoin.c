/* The portable kernels, and the table of levels. */
#include "setjoin/setjoin_parts.h"

static size_t screen(const struct setjoin_set *sets, const struct setjoin_set *probe, struct setjoin_candidate *batch,
                     size_t n) {
    return setjoin_screen(sets, probe, batch, n);
}

static size_t within(const uint64_t *words, size_t stride, size_t width, const uint64_t *row, size_t from, size_t to,
                   uint32_t most, uint32_t *out) {
    return setjoin_within(words, stride, width, row, from, to, most, out);
}

const struct setjoin_kernels setjoin_scalar = {screen, within};

const struct setjoin_kernels *const setjoin_levels[CPU_LEVELS] =
    CPU_TABLE(&setjoin_scalar, &setjoin_avx2, &setjoin_avx512, &setjoin_neon);

/* Weighted sets. */
#include "sanitize_weighted.c"

static void check_input(void) {
    size_t kind = below(3), n = below(40), m = below(20), k = 1 + below(200);
    if (kind == 0) similarities(n % 20, m);
    if (kind == 1) sketches(n, k);
    if (kind == 2) samples(1 + below(140), m % 9, 1 + below(WEIGHTED_SAMPLE_LANES), (int)below(2));
}

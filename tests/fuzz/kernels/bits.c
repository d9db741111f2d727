/* Packed slots and their comparison. */
#include "sanitize_bits.c"

static void check_input(void) {
    size_t k = 1 + below(130), n = below(below(2) ? 8 : 300);
    if (below(2)) check_group(k, n);
    else check_rows(k, n % 8);
}

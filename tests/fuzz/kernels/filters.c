/* Bloom filters. */
#include "sanitize_filters.c"

static void check_input(void) {
    if (below(2)) {
        check_keys();
        return;
    }
    uint64_t bits = 1 + below(1001);
    size_t bands = 1 + below(9), first = below(9), rows = 1 + below(13), hashes = 1 + below(9);
    struct band_filters shape = {bands, first, rows, (size_t)(bits + 7) / 8, hashes, bits};
    check_levels(shape);
}

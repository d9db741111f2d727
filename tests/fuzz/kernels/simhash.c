/* Codes, counters and products of SimHash. */
#include "sanitize_simhash.c"

static void check_input(void) {
    uint64_t constants[MOST];
    simhash_constants(5, MOST, constants);
    size_t n = below(below(4) ? 70 : 1100), words = 1 + below(MOST);
    check(n, words, constants);
    check_drawn_zeros(1 + below(300));
}

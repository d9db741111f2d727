/* Tables of an index that grow, with requests for memory that fail. */
#include "sanitize_band_tables.c"

static void check_input(void) {
    size_t round = below(12), steps = 1 + below(5);
    check_steps(round, steps);
}

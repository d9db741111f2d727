/* Leaders among rows. */
#include "sanitize_leaders.c"

static void check_input(void) {
    uint64_t p = 1 + below(9), q = 2 * p + below(9);
    size_t rows = 1 + below(60), universe = 1 + below(24);
    check_leaders(rows, universe, p, q, (int)below((uint64_t)top_level() + 1));
}

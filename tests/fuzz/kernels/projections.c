/* Lines, positions, cells and probes. */
#include "sanitize_projections.c"

static void check_input(void) {
    if (below(2)) {
        size_t n = below(20), dim = 1 + below(100), count = 1 + below(70);
        check_points(n, dim, count, (int)below(2));
    } else {
        size_t rows = 1 + below(70), probes = 1 + below(100);
        check_probes(rows, probes);
    }
}

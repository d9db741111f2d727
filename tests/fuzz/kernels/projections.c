/* Lines, positions, cells and probes. */
#include "sanitize_projections.c"

static void check_input(void) {
    if (below(2)) {
        size_t n = case_size(below(20), 4), dim = 1 + case_size(below(100), 20), count = 1 + case_size(below(70), 34);
        check_points(n, dim, count, (int)below(2));
    } else {
        size_t rows = 1 + case_size(below(70), 20), probes = 1 + case_size(below(100), 30);
        check_probes(rows, probes);
    }
}

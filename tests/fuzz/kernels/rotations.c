/* Rotations and their probes. */
#include "sanitize_rotations.c"

static void check_input(void) {
    size_t kind = below(4);
    if (kind == 0) {
        size_t dim = 1 + case_size(below(300), 70), kept = 1 + below(2 * dim + 64);
        check_rotation(dim, kept, (int)below(2));
    }
    if (kind == 1) check_rows(1 + below(9));
    if (kind == 2) check_farthest(1 + below(300));
    if (kind == 3) {
        size_t outputs = (size_t)1 << below(5), rows = 1 + below(11), probes = 1 + below(90);
        check_probes(outputs, rows, probes, (int)below(2));
    }
}

/* Points that are read one at a time. */
#include "sanitize_points.c"

static void check_input(void) {
    size_t dim = 1 + case_size(below(below(4) ? 40 : 300), 40), words = 1 + case_size(below(6), 2);
    int wide = (int)below(2);
    check_point(dim, 64 * words, wide, (int)below(2));
}

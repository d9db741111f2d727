/* Sorted trees. */
#include "sanitize_trees.c"

static void check_input(void) {
    CHECK_ONE_OF(check_marks, check_sorting, check_searches);
}

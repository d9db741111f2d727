/* Searches of neighbors, also in damaged tables. */
#include "sanitize_search.c"

static void check_input(void) {
    check_world();
}

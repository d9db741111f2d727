/* Searches of codes in cells. */
#include "sanitize_codes.c"

static void check_input(void) {
    check_world(below(2));
}

/* The order of matches. */
#include "sanitize_matches.c"

static void check_input(void) {
    check_matches();
}

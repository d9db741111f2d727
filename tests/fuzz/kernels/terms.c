/* Products of sparse vectors. */
#include "sanitize_terms.c"

static void check_input(void) {
    check_terms();
}

/* Ranks of tokens. */
#include "sanitize_ranks.c"

static void check_input(void) {
    check_rows();
}

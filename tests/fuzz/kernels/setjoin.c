/* Joins of sets. */
#include "sanitize_setjoin.c"

static void check_one_join(void) { check_join(); }

static void check_one_rank(void) { check_ranks(below(300)); }

static void check_input(void) {
    CHECK_ONE_OF(check_one_join, check_one_rank, check_needs);
}

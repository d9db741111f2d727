/* Walks over pairs of rows that share buckets. */
#include "sanitize_grouping.c"

static void check_one_walk(void) { check_walk(below(1200)); }

static void check_input(void) {
    CHECK_ONE_OF(check_joined, check_one_walk);
}

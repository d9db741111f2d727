/* Tables, queries of damaged ones, names and checksums. */
#include "sanitize_tables.c"

static void check_input(void) {
    CHECK_ONE_OF(check_tables, check_batches, check_every_place,
                 check_queries, check_integers, check_strings, check_checksums);
}

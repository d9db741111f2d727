/* Sets, sketches, bands and groups. */
#include "sanitize.c"

static void check_one_sketch(void) {
    size_t k = 1 + below(300), n = below(600);
    check_sketch(k, n);
}

static void check_some_keys(void) {
    size_t bands = 1 + below(40), rows = 1 + below(17);
    check_keys_of(bands, rows);
}

static void check_input(void) {
    CHECK_ONE_OF(check_field, check_one_sketch, check_band_keys, check_some_keys, check_pairs, check_digits,
                 check_distinct, check_rows_that_begin_alike, check_samples, check_similarities, check_agreement, check_groups);
}

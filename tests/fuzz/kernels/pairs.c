/* Lists of pairs, scores and letters. */
#include "sanitize_pairs.c"

static void check_input(void) {
    CHECK_ONE_OF(check_merge, check_codes, check_scores, check_letters);
}

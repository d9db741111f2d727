/* Hash values of datasketch, and SHA-1. */
#include "sanitize_affine.c"

static void check_input(void) {
    if (below(4)) {
        enum update_scheme scheme = (enum update_scheme)(UPDATE_AFFINE32 + (int)below(UPDATE_FAST - UPDATE_AFFINE32 + 1));
        size_t n = case_size(below(300), 20), k = 1 + case_size(below(300), 70);
        check_scheme(scheme, n, k);
    } else {
        size_t n = case_size(below(MOST_MESSAGES + 1), 18), longest = case_size(below(300), 130);
        check_sha1(n, longest);
    }
}

/* Hash values of datasketch, and SHA-1. */
#include "sanitize_affine.c"

static void check_input(void) {
    if (below(4)) {
        enum update_scheme scheme = (enum update_scheme)(UPDATE_AFFINE32 + (int)below(UPDATE_FAST - UPDATE_AFFINE32 + 1));
        size_t n = below(300), k = 1 + below(300);
        check_scheme(scheme, n, k);
    } else {
        size_t n = below(MOST_MESSAGES + 1), longest = below(300);
        check_sha1(n, longest);
    }
}

/* Rows of two lists that meet. */
#include "sanitize_meetings.c"

static void check_input(void) {
    size_t n = below(below(4) ? 20 : 200), words = below(6);
    uint64_t buckets = 1 + below(5);
    check(n, words, buckets, (int)below(3));
}

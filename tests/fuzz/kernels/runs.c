/* Records of buckets: sorting, pairs and bands. */
#include "sanitize_runs.c"

static void check_input(void) {
    size_t kind = below(3), n = below(300), capacity = 1 + below(1000), work = 1 + below(1000);
    uint64_t firsts = below(50), seconds = below(6);
    if (kind == 0) check_sort(n, firsts, seconds);
    if (kind == 1) check_pairs(n, 1 + firsts, capacity, work);
    if (kind == 2) check_band(n, 1 + below(4));
}

/* Bits, buckets and hashes of codes that are sampled. */
#include "sanitize_sampling.c"

static void check_input(void) {
    size_t kind = below(4), n = below(130), words = 1 + below(3), count = 1 + below(200), rows = 1 + below(63);
    uint64_t *codes = codes_of(n, words), *others = codes_of(n, words);
    if (kind == 0) check_bits(codes, n, words, count);
    if (kind == 1) check_buckets(codes, n, words, rows);
    if (kind == 2) check_hashes(codes, n, words, count);
    if (kind == 3) check_distances(codes, words, others, n, words);
    free(codes);
    free(others);
}

/* Distances, searches and pairs of codes. */
#include "sanitize_hamming.c"

static void check_input(void) {
    size_t kind = below(7), n = case_size(below(below(4) ? 20 : 130), 20), words = 1 + case_size(below(HAMMING_MAX_WORDS), 4);
    size_t m = 1 + below(4), most_bits = below(64 * words / m < 12 ? 64 * words / m : 12);
    unsigned bits = (unsigned)most_bits, radius = (unsigned)below(14);
    if (kind == 0) check_near(n, words);
    if (kind == 1) check_select(n, words);
    if (kind == 2) check_search(n, words, m, bits, radius);
    if (kind == 3) check_similar(n, words, 0);
    if (kind == 4) check_similar(n, words, 1);
    if (kind == 5) check_pairs(n, words, m, bits, radius);
    if (kind == 6) check_keys(n % 16, 16);
}

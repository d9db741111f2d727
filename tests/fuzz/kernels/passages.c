/* Samples, units, places and comparisons of texts. */
#include "sanitize_passages.c"

static void check_one_text(void) {
    struct hash_key key = text_hash_key_of(3);
    struct passages_dictionary dictionary = {text_hasher_under(&key), NULL, 0, NULL, NULL, 0, 0, 0, 0};
    grow(&dictionary);
    for (size_t texts = 1 + below(3); texts; texts--) check_text(&dictionary, below(below(4) ? 40 : 400));
    free(dictionary.slots), free(dictionary.ends), free(dictionary.bytes);
}

static void check_input(void) {
    size_t kind = below(3);
    if (kind == 0) {
        size_t n = 1 + below(60), window = 1 + below(n);
        check_samples(n, window);
    } else if (kind == 1) {
        check_one_text();
    } else {
        size_t k = 1 + below(3), n = 1 + below(40), m = 1 + below(40), least = k + below(9);
        check_comparison(n, m, k, least);
    }
}

/* Shingles, words and windows of texts of all kinds. */
#include "sanitize.c"

static void check_drawn_text(void) {
    size_t round = below(2) ? below(5000) : below(150 * TEXTURES), length = some_length(round);
    uint8_t *drawn_text = buffer(length + 4);
    length = fill((enum texture)(round % TEXTURES), drawn_text, length);
    uint8_t *text = copy_of(drawn_text, length);
    size_t size = some_size();
    check_text(text, length, (int)below(2), size, round);
    free(drawn_text);
    free(text);
}

/* The input itself is the text. */
static void check_any_text(void) {
    size_t seed = below(6), size = some_size(), length;
    int words = (int)below(2);
    uint8_t *text = rest_of_input(&length);
    check_text(text, length, words, size, seed);
    free(text);
}

static void check_input(void) {
    CHECK_ONE_OF(check_classify, check_tokens, check_batches_of_tokens, check_blocks,
                 check_words_between_edges, check_windows, check_drawn_text, check_any_text, check_words_at);
}

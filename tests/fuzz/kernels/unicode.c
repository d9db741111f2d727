/* Normal forms and sentences of texts. */
#include "sanitize_unicode.c"

static void check_input(void) {
    size_t most = below(below(4) ? 40 : 400), length;
    uint8_t *text;
    if (below(2)) {
        uint8_t *made = buffer(most);
        length = random_text(made, most);
        text = copy_of(made, length);
        free(made);
    } else {
        text = rest_of_input(&length);
    }
    unsigned found = 0;
    check_forms(text, length, NORMAL_NFC);
    check_forms(text, length, NORMAL_NFKC);
    normal_forms_in(text, length, &found);
    check_sentences(text, length);
    free(text);
}

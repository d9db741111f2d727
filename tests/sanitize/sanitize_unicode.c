/* Normal forms and sentences (unicode/normal_forms.h, unicode/sentences.h) of random texts, good and bad, in heap buffers of
 * exactly the size that the contracts state, so that the address sanitizer sees each byte read or written beside them. Prints
 * a digest of all results, which no compiler may change. */
#include "sanitize_kit.h"
#include "text/utf8.h"
#include "unicode/normal_forms.h"
#include "unicode/sentences.h"

/* Marks of several classes, letters that compose, parts of syllables, ligatures, and what ends sentences. */
static const uint32_t CODES[] = {
    'a', 'e', 'Z', '.', '!', ' ', '\n', '\r', '3', ')', ',', 0xA0, 0xE9, 0x301, 0x323, 0x345, 0x302, 0x344, 0x9C7, 0x9BE,
    0x1100, 0x1161, 0x11A8, 0xAC00, 0xAC01, 0xFB01, 0xFDFA, 0x2028, 0x3002, 0x1D160, 0x1D165, 0x10FFFF, 0x4E00, 0x212B,
};

static size_t random_text(uint8_t *text, size_t most) {
    size_t n = 0;
    while (n + 4 <= most) {
        if (below(40) == 0) text[n++] = (uint8_t)anything();
        else n += utf8_encode(CODES[below(COUNT(CODES))], text + n);
    }
    return n;
}

/* Read a text as spans and segments, with as little room as they need. */
static void check_forms(const uint8_t *text, size_t length, enum normal_form form) {
    size_t at = 0;
    while (at < length) {
        size_t end = normal_span(form, text, length, at), count = 0;
        CHECK(end >= at && end <= length);
        note_all(&(uint64_t){end}, 1);
        at = end;
        if (at == length) return;
        for (size_t room = 1;; room++) {
            struct normal_items items = {buffer(2 * room * sizeof(uint32_t)), room};
            end = normal_segment(form, text, length, at, &items, &count);
            if (end != NORMAL_NO_ROOM && end != NORMAL_BAD) {
                CHECK(end > at && end <= length && count <= room);
                uint8_t *out = buffer(4 * count);
                size_t made = normal_encode(items.items, count, out);
                int same = made == end - at && memcmp(out, text + at, made) == 0;
                CHECK(same == normal_is_same(items.items, count, text + at, end - at));
                for (size_t i = 0; i < made; i++) note_all(&(uint64_t){out[i]}, 1);
                free(out);
            }
            free(items.items);
            if (end != NORMAL_NO_ROOM) break;
        }
        if (end == NORMAL_BAD) return;
        at = end;
    }
}

static void check_sentences(const uint8_t *text, size_t length) {
    const size_t room = 2 + below(5);
    struct sentence_walk walk = {0};
    size_t before = 0, count;
    do {
        size_t *ends = buffer(room * sizeof *ends);
        count = sentence_ends(text, length, &walk, ends, room);
        CHECK(count <= room);
        for (size_t i = 0; i < count; i++) {
            CHECK(ends[i] > before && ends[i] <= walk.characters);
            before = ends[i];
            note_all(&(uint64_t){before}, 1);
        }
        free(ends);
    } while (walk.at < length || count >= room - 1);
}

int main(void) {
    for EACH_ROUND(round, 2000) {
        size_t most = below(below(4) ? 40 : 400);
        uint8_t *drawn = buffer(most), *text;
        size_t length = random_text(drawn, most);
        unsigned found = 0;
        text = buffer(length);
        if (length) memcpy(text, drawn, length);
        check_forms(text, length, NORMAL_NFC);
        check_forms(text, length, NORMAL_NFKC);
        normal_forms_in(text, length, &found);
        note_all(&(uint64_t){found}, 1);
        check_sentences(text, length);
        free(text);
        free(drawn);
    }
    return print_digest();
}

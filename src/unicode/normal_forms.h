/* Texts in the normal forms NFC and NFKC of UAX #15, by pinned tables (make_normal_tables.py).
 *
 * A text is read as segments: a segment begins where no form depends on what stands before. Nearly all texts are in NFC:
 * normal_span finds the end of what is normal without decomposing it, and normal_segment makes the form of one segment
 * that may not be. All work is linear: marks of a long run are sorted by counting.
 *
 * Contract: a text may be NULL when its length is 0; nothing is read outside it; nothing is allocated or kept. */
#ifndef LSHFAST_NORMAL_FORMS_H
#define LSHFAST_NORMAL_FORMS_H

#include <stddef.h>
#include <stdint.h>

enum normal_form { NORMAL_NFC, NORMAL_NFKC };

/* Code points, each with the class of its mark in the upper bits, and as much room behind them to sort them. */
struct normal_items {
    uint32_t *items; /* 2 * room of them */
    size_t room;
};

/* The end of segments from text[at] on that are in the form, by a scan. `at` is 0, or where a segment begins; it is
 * returned where the first segment may not be in the form, or is not UTF-8. */
size_t normal_span(enum normal_form form, const uint8_t *text, size_t length, size_t at);

#define NORMAL_BAD SIZE_MAX
#define NORMAL_NO_ROOM (SIZE_MAX - 1)

/* Write the form of the segment at `at` < length, `*count` items, and return where it ends; NORMAL_BAD where it is not
 * UTF-8; NORMAL_NO_ROOM where it has more than `room` code points when it is decomposed. */
size_t normal_segment(enum normal_form form, const uint8_t *text, size_t length, size_t at,
                      const struct normal_items *room, size_t *count);

/* Whether items are the bytes of a segment. */
int normal_is_same(const uint32_t *items, size_t count, const uint8_t *segment, size_t length);

/* Write items as UTF-8, and return the bytes; out holds 4 * count. */
size_t normal_encode(const uint32_t *items, size_t count, uint8_t *out);

/* What a text has, as bits: composed characters, which NFD would take apart; and sequences that NFC would compose. */
enum { NORMAL_HAS_COMPOSED = 1, NORMAL_HAS_SEQUENCES = 2 };

/* Add to *found what the characters of text[0..length) have; a text that is not UTF-8 is read up to there. */
void normal_forms_in(const uint8_t *text, size_t length, unsigned *found);

#endif

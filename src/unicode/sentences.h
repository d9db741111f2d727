/* Sentences by UAX #29, rules SB1 to SB11 and SB998, by pinned tables (make_sentence_tables.py). */
#ifndef LSHFAST_SENTENCES_H
#define LSHFAST_SENTENCES_H

#include <stddef.h>
#include <stdint.h>

/* Where the search for the ends of sentences stands. Begin with zeros. */
struct sentence_walk {
    size_t at, characters; /* bytes and characters that were read */
    size_t pending;        /* characters before a border that the next letter decides, 0 for none */
    uint8_t before;        /* the class of the character before, SENTENCE_OTHER at the beginning */
    uint8_t phase;         /* what a terminator was followed by */
    uint8_t is_full_stop;  /* the terminator may end an abbreviation */
    uint8_t is_cased;      /* an upper or lower case letter stands before it */
    uint8_t is_begun;      /* the sentence has a character */
};

/* Go on, and write the ends of sentences as numbers of characters, at most `room` > 1 of them; return how many. The text
 * must be UTF-8. It is done when walk->at is `length` and fewer than `room` - 1 were written; the end of the text is no
 * such end, but a border before it whose letter does not come is. Linear: each character is read once. */
size_t sentence_ends(const uint8_t *text, size_t length, struct sentence_walk *walk, size_t *ends, size_t room);

#endif

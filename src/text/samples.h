/* Words at fixed places of texts, by which texts that differ are told apart without reading all of them. */
#ifndef LSHFAST_TEXT_SAMPLES_H
#define LSHFAST_TEXT_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* Write m words of 8 bytes of a text, in the byte order of the machine. All texts of one length are read at the same
 * places: at place point * (length - 7) / 2^64, rounded down, for each of the m points. A text of at most 8 m bytes is read
 * as a whole: in words that follow each other, the last one moved back to end with the text, and zeros after that; a text
 * of fewer than 8 bytes as one word filled up with zeros. The text may be NULL when its length is 0. */
void text_words_at(const uint8_t *text, size_t length, const uint64_t *points, size_t m, uint64_t *out);

#endif

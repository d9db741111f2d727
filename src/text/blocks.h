/* Blocks of up to 64 bytes of UTF-8 as sets of bits: bit i stands for byte i, and a character for its first byte. A CPU
 * level finds the classes that depend on few bytes; the rest is here: single characters that need the tables, lower case,
 * and which bytes are parts of words, by the rules of docs/reference/definitions.md. */
#ifndef LSHFAST_TEXT_BLOCKS_H
#define LSHFAST_TEXT_BLOCKS_H

#include "compiler.h"
#include "text/utf8.h"

#include <string.h>

struct text_block {
    size_t bytes;                   /* whole characters of at most three bytes from the start, valid ones */
    uint64_t two, three;            /* which characters have two and three bytes */
    uint64_t letters, marks, solos; /* their classes; of separators no bit is set */
    uint64_t mixed;                 /* characters whose class and case the tables have */
    uint64_t changes;               /* other characters than ASCII that have another lower case */
};

/* Where the bytes of words are: `breaks` says where a word begins directly behind another. */
struct text_word_bits {
    uint64_t inside, breaks;
    enum character_class open; /* behind the block: SEPARATOR, LETTER, SOLO or SYMBOL */
};

static inline uint64_t lowest_bits(size_t n) { return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX; }

static inline uint32_t code_of_three(const uint8_t *text) {
    return (uint32_t)(text[0] & 0x0F) << 12 | (uint32_t)(text[1] & 0x3F) << 6 | (text[2] & 0x3F);
}

static inline void look_up_mixed(struct text_block *block, const uint8_t *text) {
    for (uint64_t left = block->mixed & lowest_bits(block->bytes); left; left &= left - 1) {
        unsigned at = lowest_bit(left);
        size_t property = unicode_property(code_of_three(text + at));
        unsigned class = unicode_class[property];
        block->letters |= (uint64_t)(class == LETTER) << at;
        block->marks |= (uint64_t)(class == MARK) << at;
        block->solos |= (uint64_t)(class == SOLO) << at;
        block->changes |= (uint64_t)(unicode_delta[property] != 0) << at;
    }
}

/* Replace characters by their lower case. The block ends before one whose lower case has another length. */
static inline void lower_block(struct text_block *block, const uint8_t *text, uint8_t *lower) {
    for (uint64_t left = block->changes & lowest_bits(block->bytes); left; left &= left - 1) {
        unsigned at = lowest_bit(left), length = 2 + (unsigned)(block->three >> at & 1);
        uint32_t code = length == 3 ? code_of_three(text + at) : (uint32_t)(text[at] & 0x1F) << 6 | (text[at + 1] & 0x3F);
        uint8_t bytes[4];
        if (utf8_encode(unicode_lower(code), bytes) != length) {
            block->bytes = at;
            return;
        }
        memcpy(lower + at, bytes, length);
    }
}

/* All bytes of the characters whose first bytes are given. */
static inline uint64_t whole_characters(const struct text_block *block, uint64_t first) {
    return first | (first & (block->two | block->three)) << 1 | (first & block->three) << 2;
}

/* The runs of marks that begin directly behind one of `before`: adding to the start of a run carries through it. */
static inline uint64_t runs_behind(uint64_t marks, uint64_t before) { return marks & ~(marks + (marks & before)); }

static inline struct text_word_bits words_of_block(const struct text_block *block, enum character_class open) {
    const uint64_t in_block = lowest_bits(block->bytes);
    uint64_t solos = whole_characters(block, block->solos & in_block);
    uint64_t inside = solos | whole_characters(block, block->letters & in_block);
    const uint64_t was_open = open == LETTER || open == SOLO, was_solo = open == SOLO;
    if (block->marks & in_block) {
        uint64_t marks = whole_characters(block, block->marks & in_block);
        inside |= runs_behind(marks, inside << 1 | was_open);
        solos |= runs_behind(marks, solos << 1 | was_solo);
    }
    struct text_word_bits bits;
    uint64_t new_word = block->solos | (block->letters & (solos << 1 | was_solo));
    bits.inside = inside;
    bits.breaks = new_word & (inside << 1 | was_open) & in_block;
    const uint64_t last = (uint64_t)1 << (block->bytes - 1);
    bits.open = !(inside & last) ? SEPARATOR : solos & last ? SOLO : LETTER;
    return bits;
}

/* Make words of the characters of a block that are neither white space nor parts of words. `open` is what was open before
 * the block, and white_space has the bits of that of ASCII. */
static inline void add_symbols(struct text_word_bits *bits, const struct text_block *block, const uint8_t *text,
                               enum character_class open, uint64_t white_space) {
    const uint64_t in_block = lowest_bits(block->bytes);
    uint64_t first = in_block & ~((block->two | block->three) << 1 | block->three << 2);
    uint64_t symbols = first & ~bits->inside & ~white_space;
    for (uint64_t left = symbols & (block->two | block->three); left; left &= left - 1) {
        unsigned at = lowest_bit(left);
        uint32_t code = block->three >> at & 1 ? code_of_three(text + at)
                                               : (uint32_t)(text[at] & 0x1F) << 6 | (text[at + 1] & 0x3F);
        symbols &= ~((uint64_t)is_white_space(code) << at);
    }
    const uint64_t whole = whole_characters(block, symbols), last = (uint64_t)1 << (block->bytes - 1);
    uint64_t behind_symbol = whole << 1 | (open == SYMBOL), behind_word = bits->inside << 1 | (open != SEPARATOR);
    bits->breaks |= ((symbols & (behind_word | behind_symbol)) | (bits->inside & first & behind_symbol)) & in_block;
    bits->inside |= whole;
    if (whole & last) bits->open = SYMBOL;
}

#endif

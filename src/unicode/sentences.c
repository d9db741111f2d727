#include "unicode/sentences.h"

#include "text/utf8.h"
#include "unicode/sentence_tables.h"

/* Behind a terminator: nothing, closing marks (SB9), or spaces (SB10). */
enum phase { NO_TERMINATOR, TERMINATOR, CLOSED, SPACED };

#define CLASS_BIT(name) (1u << SENTENCE_##name)
#define SEPARATORS (CLASS_BIT(CR) | CLASS_BIT(LF) | CLASS_BIT(SEP))
#define TERMINATORS (CLASS_BIT(ATERM) | CLASS_BIT(STERM))
#define CASED (CLASS_BIT(UPPER) | CLASS_BIT(LOWER))
#define IGNORED (CLASS_BIT(EXTEND) | CLASS_BIT(FORMAT))
#define LETTERS_THAT_BEGIN (CLASS_BIT(UPPER) | CLASS_BIT(OLETTER))

static inline int is_in(unsigned class, unsigned set) { return set >> class & 1; }

/* What is beyond Unicode, in bytes that are not UTF-8, is U+FFFD. */
static inline unsigned class_of(uint32_t code) {
    if (code > 0x10FFFF) code = 0xFFFD;
    return sentence_stage2[(size_t)sentence_stage1[code >> 7] * 128 + (code & 127)];
}

/* The phase behind a character of a class, where there is a terminator before it; SB6 to SB10. NO_TERMINATOR if it does
 * not continue the end of a sentence, and *is_border says whether a sentence ends before it, or 2 if a later letter
 * decides. */
static enum phase phase_behind(const struct sentence_walk *walk, unsigned class, int *is_border) {
    *is_border = 0;
    if (walk->phase != SPACED && class == SENTENCE_CLOSE) return CLOSED;
    if (class == SENTENCE_SP) return SPACED;
    if (is_in(class, SEPARATORS | TERMINATORS | CLASS_BIT(SCONTINUE))) return NO_TERMINATOR; /* SB8a to SB10 */
    if (!walk->is_full_stop) {
        *is_border = 1;
        return NO_TERMINATOR;
    }
    int follows = walk->phase == TERMINATOR;
    if (follows && class == SENTENCE_NUMERIC) return NO_TERMINATOR;                  /* SB6 */
    if (follows && walk->is_cased && class == SENTENCE_UPPER) return NO_TERMINATOR; /* SB7 */
    if (class == SENTENCE_LOWER) return NO_TERMINATOR;                               /* SB8 */
    *is_border = is_in(class, LETTERS_THAT_BEGIN) ? 1 : 2;
    return NO_TERMINATOR;
}

/* Read a character of a class. Returns the end of a sentence, in characters, or 0. */
static size_t read_class(struct sentence_walk *walk, unsigned class) {
    size_t end = 0;
    if (is_in(walk->before, SEPARATORS)) {
        if (walk->before != SENTENCE_CR || class != SENTENCE_LF) { /* SB3, SB4 */
            end = walk->characters;
            walk->is_begun = 0;
        }
        walk->phase = NO_TERMINATOR;
    }
    if (is_in(class, IGNORED)) {
        if (walk->is_begun) return end; /* SB5 */
        class = SENTENCE_OTHER;
    }
    walk->is_begun = 1;
    if (walk->pending && is_in(class, CASED | TERMINATORS | SEPARATORS | CLASS_BIT(OLETTER))) {
        if (class != SENTENCE_LOWER) end = walk->pending;
        walk->pending = 0;
    }
    if (walk->phase != NO_TERMINATOR) {
        int is_border;
        walk->phase = (uint8_t)phase_behind(walk, class, &is_border);
        if (is_border == 1) end = walk->characters;
        if (is_border == 2) walk->pending = walk->characters;
    }
    if (is_in(class, TERMINATORS)) {
        walk->phase = TERMINATOR;
        walk->is_full_stop = class == SENTENCE_ATERM;
        walk->is_cased = (uint8_t)is_in(walk->before, CASED);
    }
    walk->before = (uint8_t)class;
    return end;
}

size_t sentence_ends(const uint8_t *text, size_t length, struct sentence_walk *walk, size_t *ends, size_t room) {
    size_t count = 0;
    while (walk->at < length && count < room - 1) {
        uint32_t code = 0;
        size_t taken = utf8_decode(text + walk->at, length - walk->at, &code);
        if (!taken) taken = 1; /* no text */
        size_t end = read_class(walk, class_of(code));
        if (end) ends[count++] = end;
        walk->at += taken;
        walk->characters++;
    }
    if (walk->at == length && walk->pending) {
        ends[count++] = walk->pending;
        walk->pending = 0;
    }
    return count;
}

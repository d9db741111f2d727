#include "unicode/normal_forms.h"

#include "compiler.h"
#include "text/utf8.h"
#include "unicode/normal_tables.h"

#include <string.h>

/* ---- code points ---- */

#define CODE_BITS 21
#define CODE_MASK ((UINT32_C(1) << CODE_BITS) - 1)

/* Hangul: syllables are a leading consonant, a vowel and perhaps a trailing consonant, numbered in this order. */
#define SYLLABLE_FIRST 0xAC00
#define LEADING_FIRST 0x1100
#define VOWEL_FIRST 0x1161
#define TRAILING_BEFORE 0x11A7
#define LEADINGS 19
#define VOWELS 21
#define TRAILINGS 28 /* none is one of them */
#define SYLLABLES (LEADINGS * VOWELS * TRAILINGS)

static inline const struct normal_record *record_of(uint32_t code) {
    return normal_records + normal_stage2[(size_t)normal_stage1[code >> 7] * 128 + (code & 127)];
}

static inline uint32_t item_of(uint32_t code, unsigned order) { return (uint32_t)order << CODE_BITS | code; }
static inline uint32_t code_of(uint32_t item) { return item & CODE_MASK; }
static inline unsigned order_of(uint32_t item) { return item >> CODE_BITS; }

/* The code point that two code points compose, or 0. */
static uint32_t composite_of(uint32_t first, uint32_t second) {
    uint32_t leading = first - LEADING_FIRST, vowel = second - VOWEL_FIRST;
    if (leading < LEADINGS && vowel < VOWELS) return SYLLABLE_FIRST + (leading * VOWELS + vowel) * TRAILINGS;
    uint32_t syllable = first - SYLLABLE_FIRST, trailing = second - TRAILING_BEFORE;
    if (syllable < SYLLABLES && syllable % TRAILINGS == 0 && trailing - 1 < TRAILINGS - 1) return first + trailing;
    uint32_t mixed = first * NORMAL_FIRST_MULTIPLIER + second * NORMAL_SECOND_MULTIPLIER;
    const size_t last = ((size_t)1 << NORMAL_PAIR_BITS) - 1;
    for (size_t place = mixed >> (32 - NORMAL_PAIR_BITS); normal_pairs[place].first; place = (place + 1) & last) {
        const struct normal_pair *pair = normal_pairs + place;
        if (pair->first == first && pair->second == second) return pair->composite;
    }
    return 0;
}

/* ---- the scan ---- */

/* The first byte from `at` on that is not ASCII, or the end. */
static inline size_t end_of_ascii(const uint8_t *text, size_t length, size_t at) {
    for (; length - at >= 16; at += 16) {
        uint64_t words[2];
        memcpy(words, text + at, sizeof words);
        if ((words[0] | words[1]) & UINT64_C(0x8080808080808080)) break;
    }
    while (at < length && text[at] < 0x80) at++;
    return at;
}

static inline int is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/* The bytes of a character that is known to start a segment by its first bytes alone, or 0. */
static inline size_t starting_bytes(enum normal_form form, const uint8_t *text, size_t left) {
    uint32_t first = text[0];
    if (left < 3 || !is_continuation(text[1])) return 0;
    if (first >= 0xC2 && first < 0xE0) return normal_rows[first & 0x1F] >> form & 1 ? 2 : 0;
    uint32_t row = (first & 0x0F) << 6 | (text[1] & 0x3F);
    if (first < 0xE0 || first > 0xEF || row < 0x20 || !is_continuation(text[2])) return 0;
    return normal_rows[row] >> form & 1 ? 3 : 0;
}

size_t normal_span(enum normal_form form, const uint8_t *text, size_t length, size_t at) {
    size_t begin = at; /* of the last segment */
    unsigned order = 0;
    while (at < length) {
        if (text[at] < 0x80) {
            at = end_of_ascii(text, length, at);
            begin = at - 1;
            order = 0;
            continue;
        }
        size_t taken = starting_bytes(form, text + at, length - at);
        if (taken) {
            begin = at;
            order = 0;
            at += taken;
            continue;
        }
        uint32_t code;
        taken = utf8_decode(text + at, length - at, &code);
        if (!taken) return begin;
        unsigned step = record_of(code)->steps[form];
        if (step == NORMAL_STARTS) {
            begin = at;
        } else if (step == NORMAL_BEGINS) {
            return at;
        } else if (step == NORMAL_OPEN || step < order) {
            return begin;
        }
        order = step;
        at += taken;
    }
    return length;
}

/* ---- the form of a segment ---- */

/* Write the decomposition of a code point, at most `room` items, and return how many there are. */
static size_t decompose(enum normal_form form, uint32_t code, const struct normal_record *record, uint32_t *items,
                        size_t room) {
    uint32_t syllable = code - SYLLABLE_FIRST;
    if (syllable < SYLLABLES) {
        uint32_t trailing = syllable % TRAILINGS, parts = trailing ? 3 : 2;
        if (parts > room) return parts;
        items[0] = LEADING_FIRST + syllable / (VOWELS * TRAILINGS);
        items[1] = VOWEL_FIRST + syllable / TRAILINGS % VOWELS;
        if (trailing) items[2] = TRAILING_BEFORE + trailing;
        return parts;
    }
    size_t place = record->decompositions[form];
    if (!place) {
        if (room) items[0] = item_of(code, record->order);
        return 1;
    }
    size_t parts = normal_sequences[place];
    for (size_t i = 0; i < parts && i < room; i++) {
        uint32_t part = normal_sequences[place + 1 + i];
        items[i] = item_of(part, record_of(part)->order);
    }
    return parts;
}

/* Runs of more marks are sorted by counting. */
#define LONG_RUN 32

/* Sort marks by their classes, those of one class in their order; `room` holds as many items. */
static void sort_marks(uint32_t *items, size_t n, uint32_t *room) {
    if (n <= LONG_RUN) {
        for (size_t i = 1; i < n; i++) {
            uint32_t item = items[i];
            size_t place = i;
            for (; place && order_of(items[place - 1]) > order_of(item); place--) items[place] = items[place - 1];
            items[place] = item;
        }
        return;
    }
    size_t places[NORMAL_ORDERS] = {0}, before = 0;
    for (size_t i = 0; i < n; i++) places[order_of(items[i])]++;
    for (size_t order = 0; order < NORMAL_ORDERS; order++) {
        size_t count = places[order];
        places[order] = before;
        before += count;
    }
    for (size_t i = 0; i < n; i++) room[places[order_of(items[i])]++] = items[i];
    memcpy(items, room, n * sizeof *items);
}

/* Sort the marks of each run, and compose what can be composed; return the number of items that are left. */
static size_t compose(uint32_t *items, size_t n, uint32_t *room) {
    for (size_t i = 0; i < n; i++) {
        size_t first = i;
        while (i < n && order_of(items[i])) i++;
        if (i - first > 1) sort_marks(items + first, i - first, room);
    }
    size_t kept = 0, starter = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned order = order_of(items[i]);
        if (starter != SIZE_MAX && record_of(code_of(items[i]))->combines) {
            unsigned before = order_of(items[kept - 1]); /* of the starter it is 0 */
            uint32_t composite = 0;
            if (kept - 1 == starter || (before && before < order)) {
                composite = composite_of(code_of(items[starter]), code_of(items[i]));
            }
            if (composite) {
                items[starter] = composite;
                continue;
            }
        }
        if (!order) starter = kept;
        items[kept++] = items[i];
    }
    return kept;
}

size_t normal_segment(enum normal_form form, const uint8_t *text, size_t length, size_t at,
                      const struct normal_items *room, size_t *count) {
    size_t filled = 0, begin = at;
    while (at < length) {
        uint32_t code;
        size_t taken = utf8_decode(text + at, length - at, &code);
        if (!taken) return NORMAL_BAD;
        const struct normal_record *record = record_of(code);
        unsigned step = record->steps[form];
        if (at > begin && (step == NORMAL_STARTS || step == NORMAL_BEGINS)) break;
        size_t parts = decompose(form, code, record, room->items + filled, room->room - filled);
        if (parts > room->room - filled) return NORMAL_NO_ROOM;
        filled += parts;
        at += taken;
    }
    *count = compose(room->items, filled, room->items + room->room);
    return at;
}

int normal_is_same(const uint32_t *items, size_t count, const uint8_t *segment, size_t length) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[4];
        size_t taken = utf8_encode(code_of(items[i]), bytes);
        if (taken > length - at || memcmp(bytes, segment + at, taken) != 0) return 0;
        at += taken;
    }
    return at == length;
}

size_t normal_encode(const uint32_t *items, size_t count, uint8_t *out) {
    size_t made = 0;
    for (size_t i = 0; i < count; i++) made += utf8_encode(code_of(items[i]), out + made);
    return made;
}

/* ---- which forms a text has ---- */

void normal_forms_in(const uint8_t *text, size_t length, unsigned *found) {
    uint32_t before = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = utf8_decode(text + at, length - at, &code);
        if (!taken) return;
        const struct normal_record *record = record_of(code);
        int is_composed = record->steps[NORMAL_NFC] == NORMAL_STARTS && record->decompositions[NORMAL_NFC];
        if (is_composed || code - SYLLABLE_FIRST < SYLLABLES) *found |= NORMAL_HAS_COMPOSED;
        if (record->combines && composite_of(before, code)) *found |= NORMAL_HAS_SEQUENCES;
        before = code;
        at += taken;
    }
}

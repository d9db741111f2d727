/* Samples of hashes, texts as sequences of units, and the comparison of such sequences. */
#include "passages/passages.h"

#include "text/utf8.h"

#include <string.h>

/* ---- samples ---- */

static size_t last_least(const uint64_t *hashes, size_t first, size_t end) {
    size_t best = end - 1;
    for (size_t i = end - 1; i-- > first;) best = hashes[i] < hashes[best] ? i : best;
    return best;
}

/* A window is searched only when its sample has left it: twice in window + 1 steps, on average. */
size_t passages_winnow(const uint64_t *hashes, size_t first, size_t stop, size_t window, size_t *last, int64_t *places,
                       int64_t *lows) {
    size_t count = 0;
    if (first >= stop) return 0;
    size_t best = last_least(hashes, first, first + window);
    for (size_t q = first; q < stop; q++) {
        size_t newest = q + window - 1;
        if (hashes[newest] <= hashes[best]) {
            best = newest;
        } else if (best < q) {
            best = last_least(hashes, q, newest + 1);
        }
        if (best == *last) continue;
        places[count] = (int64_t)best;
        lows[count++] = (int64_t)q;
        *last = best;
    }
    return count;
}

/* ---- words ---- */

/* Bit b % 64 of word b / 64: digits, letters and the underscore. */
static const uint64_t ascii_letters[2] = {UINT64_C(0x03FF000000000000), UINT64_C(0x07FFFFFE87FFFFFE)};

static inline int is_ascii_letter(uint8_t byte) { return byte < 0x80 && ascii_letters[byte >> 6] >> (byte & 63) & 1; }

/* The class of the character at text[at], and its bytes; 0 bytes where it is not UTF-8. */
static inline enum character_class class_at(const uint8_t *text, size_t length, size_t at, size_t *bytes) {
    uint32_t code;
    *bytes = utf8_decode(text + at, length - at, &code);
    return *bytes ? (enum character_class)unicode_class[unicode_property(code)] : SEPARATOR;
}

/* Move to the end of the next word, and tell where it begins and ends. 1 for a word, 0 at the end of the text, -1 where
 * it is not UTF-8. */
static int next_word(const uint8_t *text, size_t length, struct passages_place *place, struct passages_bounds *word) {
    size_t at = place->at, characters = place->characters, bytes;
    enum character_class open = LETTER, class;
    for (;; at += bytes, characters++) { /* to the word's first character */
        while (at < length && text[at] < 0x80 && !is_ascii_letter(text[at])) at++, characters++;
        if (at == length) {
            place->at = at;
            place->characters = characters;
            return 0;
        }
        if (text[at] < 0x80) break;
        open = class_at(text, length, at, &bytes);
        if (bytes == 0) return -1;
        if (open == LETTER || open == SOLO) break;
        open = LETTER;
    }
    word->start = (int64_t)at;
    word->first_character = (int64_t)characters;
    if (open == SOLO) {
        (void)class_at(text, length, at, &bytes);
        at += bytes;
        characters++;
    }
    while (at < length) {
        if (text[at] < 0x80) {
            if (open == SOLO || !is_ascii_letter(text[at])) break;
            at++;
        } else {
            class = class_at(text, length, at, &bytes);
            if (bytes == 0) return -1;
            if (class != MARK && (class != LETTER || open == SOLO)) break;
            at += bytes;
        }
        characters++;
    }
    word->end = (int64_t)at;
    word->end_character = (int64_t)characters;
    place->at = at;
    place->characters = characters;
    return 1;
}

#define LOOK 64 /* bytes in which words are counted at a time */

/* Move over blocks of ASCII in which neither the unit `wanted` nor a later one begins, from the end of a word to the end of
 * another one or its like. */
static void skip_words(const uint8_t *text, size_t length, struct passages_place *place, size_t wanted) {
    while (length - place->at >= LOOK) {
        const uint8_t *block = text + place->at;
        uint8_t letter[LOOK + 1], high = 0, starts = 0;
        letter[0] = 0;
        for (size_t i = 0; i < LOOK; i++) {
            uint8_t byte = block[i], low = byte | 0x20;
            letter[i + 1] = (uint8_t)((uint8_t)(byte - '0') < 10) | ((uint8_t)(low - 'a') < 26) | (byte == '_');
            high |= byte;
        }
        for (size_t i = 0; i < LOOK; i++) starts = (uint8_t)(starts + (letter[i + 1] & ~letter[i]));
        if (high >= 0x80 || place->units + starts > wanted) return;
        size_t end = LOOK; /* before a word that may go on behind the block */
        while (end && letter[end]) end--;
        if (!end) return;
        starts = (uint8_t)(starts - (end < LOOK));
        place->at += end;
        place->characters += end;
        place->units += starts;
    }
}

static inline uint8_t ascii_lower(uint8_t byte) { return byte | (uint8_t)(((uint8_t)(byte - 'A') < 26) << 5); }

/* Write text[0..length) in lower case, and return its length. */
static size_t lower_of(const uint8_t *text, size_t length, uint8_t *out) {
    size_t made = 0;
    for (size_t at = 0; at < length;) {
        if (text[at] < 0x80) {
            out[made++] = ascii_lower(text[at++]);
            continue;
        }
        uint32_t code = 0;
        size_t bytes = utf8_decode(text + at, length - at, &code);
        if (bytes == 0) break;
        at += bytes;
        made += utf8_encode(unicode_lower(code), out + made);
    }
    return made;
}

static inline uint64_t start_of(const struct passages_dictionary *dictionary, size_t word) {
    return word ? dictionary->ends[word - 1] : 0;
}

#define HIGH_HALF (~(uint64_t)0 << 32)

/* The number of a word, or its slot's index in *free and PASSAGES_NO_UNIT. */
static uint32_t find_word(const struct passages_dictionary *dictionary, uint64_t hash, const uint8_t *word, size_t length,
                          size_t *free) {
    size_t slot = (size_t)hash & dictionary->mask;
    for (uint64_t held; (held = dictionary->slots[slot]) != 0; slot = (slot + 1) & dictionary->mask) {
        if ((held ^ hash) & HIGH_HALF) continue;
        size_t number = (uint32_t)held - 1;
        uint64_t start = start_of(dictionary, number);
        if (dictionary->ends[number] - start == length && memcmp(dictionary->bytes + start, word, length) == 0) {
            return (uint32_t)number;
        }
    }
    *free = slot;
    return PASSAGES_NO_UNIT;
}

enum passages_outcome passages_number_words(struct passages_dictionary *dictionary, int adding, const uint8_t *text,
                                            size_t length, struct passages_place *place, size_t work, uint8_t *scratch,
                                            uint32_t *out, size_t most) {
    size_t stop = length - place->at < work ? length : place->at + work;
    struct passages_place next = *place;
    struct passages_bounds word;
    while (place->at < stop) {
        int found = next_word(text, length, &next, &word);
        if (found < 0) return PASSAGES_BAD;
        if (found) {
            if (place->units == most) return PASSAGES_BAD;
            size_t free = 0, n = lower_of(text + word.start, (size_t)(word.end - word.start), scratch);
            uint64_t hash = text_token_of_bytes(&dictionary->hasher, scratch, n);
            uint32_t number = find_word(dictionary, hash, scratch, n, &free);
            if (number == PASSAGES_NO_UNIT && adding) {
                if (dictionary->words == dictionary->most_words || dictionary->room - dictionary->filled < n) {
                    return PASSAGES_FULL;
                }
                memcpy(dictionary->bytes + dictionary->filled, scratch, n);
                dictionary->filled += n;
                number = (uint32_t)dictionary->words++;
                dictionary->ends[number] = dictionary->filled;
                dictionary->slots[free] = (hash & HIGH_HALF) | (number + 1);
            }
            out[next.units++] = number;
        }
        *place = next;
    }
    return place->at == length ? PASSAGES_DONE : PASSAGES_UNFINISHED;
}

void passages_fill_slots(struct passages_dictionary *dictionary) {
    for (size_t number = 0; number < dictionary->words; number++) {
        uint64_t start = start_of(dictionary, number);
        uint64_t hash = text_token_of_bytes(&dictionary->hasher, dictionary->bytes + start,
                                            (size_t)(dictionary->ends[number] - start));
        size_t slot = (size_t)hash & dictionary->mask;
        while (dictionary->slots[slot]) slot = (slot + 1) & dictionary->mask;
        dictionary->slots[slot] = (hash & HIGH_HALF) | (number + 1);
    }
}

/* ---- characters ---- */

enum passages_outcome passages_number_characters(const uint8_t *text, size_t length, struct passages_place *place,
                                                 size_t work, uint32_t *out, size_t most) {
    size_t stop = length - place->at < work ? length : place->at + work, at = place->at, units = place->units;
    while (at < stop) {
        uint32_t code;
        size_t bytes = utf8_decode(text + at, length - at, &code);
        if (bytes == 0 || units == most) return PASSAGES_BAD;
        out[units++] = code < 0x80 ? ascii_lower((uint8_t)code) : unicode_lower(code);
        at += bytes;
    }
    place->at = at;
    place->units = place->characters = units;
    return at == length ? PASSAGES_DONE : PASSAGES_UNFINISHED;
}

/* ---- places of units ---- */

enum passages_outcome passages_locate_words(const uint8_t *text, size_t length, struct passages_place *place,
                                            size_t work, const int64_t *wanted, size_t count, size_t *found,
                                            struct passages_bounds *out) {
    size_t stop = length - place->at < work ? length : place->at + work;
    while (*found < count) {
        if (place->at >= stop && stop < length) return PASSAGES_UNFINISHED;
        struct passages_bounds word;
        skip_words(text, stop, place, (size_t)wanted[*found]);
        if (next_word(text, length, place, &word) <= 0) return PASSAGES_BAD;
        if (place->units++ == (size_t)wanted[*found]) out[(*found)++] = word;
    }
    return PASSAGES_DONE;
}

enum passages_outcome passages_locate_characters(const uint8_t *text, size_t length, struct passages_place *place,
                                                 size_t work, const int64_t *wanted, size_t count, size_t *found,
                                                 struct passages_bounds *out) {
    size_t stop = length - place->at < work ? length : place->at + work;
    for (; *found < count; place->characters = ++place->units) {
        if (place->at >= stop) return stop < length ? PASSAGES_UNFINISHED : PASSAGES_BAD;
        uint32_t code;
        size_t bytes = utf8_decode(text + place->at, length - place->at, &code);
        if (bytes == 0) return PASSAGES_BAD;
        if (place->units == (size_t)wanted[*found]) {
            struct passages_bounds bounds = {(int64_t)place->at, (int64_t)(place->at + bytes), (int64_t)place->units,
                                             (int64_t)place->units + 1};
            out[(*found)++] = bounds;
        }
        place->at += bytes;
    }
    return PASSAGES_DONE;
}

/* ---- words of two texts ---- */

enum passages_outcome passages_same_words(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length,
                                          struct passages_two_places *places, size_t work, uint8_t *scratch) {
    uint8_t *other = scratch + passages_most_lower(a_length);
    size_t stop = a_length - places->a.at < work ? a_length : places->a.at + work;
    do {
        struct passages_bounds x, y;
        int found = next_word(a, a_length, &places->a, &x);
        if (found < 0 || next_word(b, b_length, &places->b, &y) != found) return PASSAGES_BAD;
        if (!found) return PASSAGES_DONE;
        size_t n = lower_of(a + x.start, (size_t)(x.end - x.start), scratch);
        size_t m = lower_of(b + y.start, (size_t)(y.end - y.start), other);
        if (n != m || memcmp(scratch, other, n) != 0) return PASSAGES_BAD;
    } while (places->a.at < stop);
    return PASSAGES_UNFINISHED;
}

/* ---- comparison ---- */

#define BLOCK 8 /* units that are compared at a time: one register of 32 bytes */

/* How many units are equal from a and b on, of at most `most`. */
static size_t equal_after(const uint32_t *a, const uint32_t *b, size_t most) {
    size_t i = 0;
    while (most - i >= BLOCK && memcmp(a + i, b + i, BLOCK * sizeof *a) == 0) i += BLOCK;
    while (i < most && a[i] == b[i]) i++;
    return i;
}

/* How many units are equal before a and b. */
static size_t equal_before(const uint32_t *a, const uint32_t *b, size_t most) {
    size_t i = 0;
    while (most - i >= BLOCK && memcmp(a - i - BLOCK, b - i - BLOCK, BLOCK * sizeof *a) == 0) i += BLOCK;
    while (i < most && *(a - i - 1) == *(b - i - 1)) i++;
    return i;
}

static inline size_t lesser(size_t a, size_t b) { return a < b ? a : b; }

size_t passages_extend(const uint32_t *a, size_t n, const uint32_t *b, size_t m, const struct passages_seeds *seeds,
                       size_t k, size_t least, struct passages_extension *extension, size_t work,
                       struct passages_match *out) {
    struct passages_match *last = &extension->last;
    size_t compared = 0, count = 0, i = extension->done;
    for (; i < seeds->count && compared < work; i++) {
        int64_t x = seeds->x[i], y = seeds->y[i];
        if (!last->length || x - y != last->x - last->y || y + (int64_t)k > last->y + last->length) {
            size_t after = equal_after(a + x, b + y, lesser(n - (size_t)x, m - (size_t)y));
            compared += after + 16;
            if (after < k) continue;
            size_t before = equal_before(a + x, b + y, lesser((size_t)x, (size_t)y));
            compared += before;
            last->x = x - (int64_t)before;
            last->y = y - (int64_t)before;
            last->length = (int64_t)(before + after);
            extension->written = 0;
        }
        if (extension->written || last->length < (int64_t)least) continue;
        int64_t last_window = last->y + last->length - (int64_t)least;
        if (seeds->low[i] <= last_window && seeds->high[i] >= last->y) {
            out[count++] = *last;
            extension->written = 1;
        }
    }
    extension->done = i;
    return count;
}

size_t passages_cover(const uint32_t *a, size_t n, const uint32_t *b, size_t m, const struct passages_runs *runs,
                      const int64_t *starts, const int64_t *ends, size_t covers, size_t least,
                      struct passages_covering *covering, struct passages_match *out, size_t room) {
    size_t count = 0;
    for (; covering->run < runs->runs; covering->run++) {
        size_t i = covering->run;
        int64_t y = runs->y[i], stop = y + runs->count[i];
        while (y < stop) {
            for (; covering->cover < covers && starts[covering->cover] <= y; covering->cover++) {
                int64_t end = ends[covering->cover];
                if (end > covering->reach) covering->reach = end;
            }
            int64_t uncovered = covering->reach - (int64_t)least + 1; /* the first window that is not inside */
            if (uncovered > y) {
                y = uncovered;
                continue;
            }
            if (count == room) return count;
            int64_t x = runs->x[i] + (y - runs->y[i]);
            size_t length = equal_after(a + x, b + y, lesser(n - (size_t)x, m - (size_t)y));
            if (length < least) length = least; /* as the caller has compared them */
            out[count++] = (struct passages_match){x, y, (int64_t)length};
            covering->reach = y + (int64_t)length;
        }
    }
    return count;
}

void passages_hash_windows(const uint32_t *units, size_t count, size_t length, uint64_t c, uint64_t power,
                           uint64_t *out) {
    uint64_t sum = 0, negative = P61 - power;
    for (size_t i = 0; i < length; i++) {
        sum = p61_of_wide(wide_add(wide_product(sum, c), wide_of((uint64_t)units[i] + 1)));
    }
    for (size_t i = 0;; i++) {
        out[i] = sum;
        if (i + 1 == count) return;
        wide next = wide_add(wide_product(sum, c), wide_product((uint64_t)units[i] + 1, negative));
        sum = p61_of_wide(wide_add(next, wide_of((uint64_t)units[i + length] + 1)));
    }
}

int passages_equal(const uint32_t *a, const uint32_t *b, size_t length) {
    return memcmp(a, b, length * sizeof *a) == 0;
}

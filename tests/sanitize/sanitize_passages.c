/* Samples, units of texts, their places and their comparison (passages.h): random texts of few different words, also cut
 * anywhere and not UTF-8, in small steps of work and with a dictionary that is full again and again, in heap buffers of
 * exactly the size that the contract states. Prints a digest of all results, which no compiler may change. */
#include "passages/passages.h"
#include "sanitize_kit.h"

/* ---- samples ---- */

static void check_samples(size_t n, size_t window) {
    uint64_t *hashes = numbers(n);
    for (size_t i = 0; i < n; i++) hashes[i] = below(2) ? below(4) : anything();
    size_t windows = n - window + 1, made = 0, last = SIZE_MAX;
    for (size_t first = 0; first < windows;) {
        size_t stop = first + 1 + below(windows - first);
        int64_t *places = buffer((stop - first) * sizeof *places), *lows = buffer((stop - first) * sizeof *lows);
        size_t before = last, count = passages_winnow(hashes, first, stop, window, &last, places, lows);
        CHECK(count <= stop - first && (first || count));
        for (size_t i = 0; i < count; i++) {
            size_t place = (size_t)places[i], low = (size_t)lows[i];
            CHECK(low >= first && low < stop && place >= low && place < low + window && place != before);
            for (size_t j = low; j < low + window; j++) {
                CHECK(hashes[j] > hashes[place] || (hashes[j] == hashes[place] && j <= place));
            }
            before = place;
            note(place);
            note(low);
        }
        made += count;
        first = stop;
        free(places), free(lows);
    }
    CHECK(made);
    free(hashes);
}

/* ---- texts ---- */

static const char *const PIECES[] = {"a", "B", "ab", "Zz9_", " ", ", ", "\n", "\xC3\x84", "\xC3\xA4", "\xC8\xBA",
                                     "\xE6\xBC\xA2", "e\xCC\x81", "\xCC\x81", "\xF0\x90\x90\x80", "\xF0\x9F\x98\x80"};

/* Bytes of the lower case of a text of at most 400 pieces. */
#define MOST_LOWER 2400

/* A text; now and then one that ends inside of a character, or has a byte that is none. */
static uint8_t *text_of(size_t pieces, size_t *length) {
    uint8_t *made = buffer(4 * pieces);
    size_t filled = 0, ascii = below(3) > 0;
    for (size_t i = 0; i < pieces; i++) {
        const char *piece = PIECES[below(COUNT(PIECES))];
        if (ascii && *piece & 0x80) piece = " ";
        memcpy(made + filled, piece, strlen(piece));
        filled += strlen(piece);
    }
    if (filled && below(8) == 0) filled -= below(filled);
    if (filled && below(12) == 0) made[below(filled)] = 0xFF;
    uint8_t *exact = copy_of(made, filled);
    free(made);
    *length = filled;
    return exact;
}

static void grow(struct passages_dictionary *dictionary) {
    size_t most = dictionary->most_words + 1 + below(3), slots = 2;
    while (slots < 2 * most) slots *= 2;
    uint64_t *ends = numbers(most);
    uint8_t *bytes = buffer(dictionary->filled + MOST_LOWER);
    if (dictionary->words) memcpy(ends, dictionary->ends, dictionary->words * sizeof *ends);
    if (dictionary->filled) memcpy(bytes, dictionary->bytes, dictionary->filled);
    free(dictionary->slots), free(dictionary->ends), free(dictionary->bytes);
    dictionary->slots = calloc(slots, sizeof *dictionary->slots);
    dictionary->mask = slots - 1;
    dictionary->ends = ends;
    dictionary->bytes = bytes;
    dictionary->most_words = most;
    dictionary->room = dictionary->filled + MOST_LOWER;
    passages_fill_slots(dictionary);
}

/* The words of a text into a buffer with room for exactly `most`; SIZE_MAX where that is too few, or it is not UTF-8. */
static size_t words_of(struct passages_dictionary *dictionary, int adding, const uint8_t *text, size_t length,
                       size_t most, size_t work, uint32_t *out) {
    uint8_t *scratch = buffer(passages_most_lower(length));
    struct passages_place place = {0, 0, 0};
    enum passages_outcome outcome;
    do {
        outcome = passages_number_words(dictionary, adding, text, length, &place, work, scratch, out, most);
        if (outcome == PASSAGES_FULL) grow(dictionary);
    } while (outcome == PASSAGES_UNFINISHED || outcome == PASSAGES_FULL);
    free(scratch);
    return outcome == PASSAGES_BAD ? SIZE_MAX : place.units;
}

/* A text has its own words, and neither those before a word of it nor those behind, unless there are no others. */
static void check_same_words(const uint8_t *text, size_t length, size_t split, size_t count) {
    uint8_t *scratch = buffer(2 * passages_most_lower(length));
    for (size_t part = 0; part < 3; part++) {
        struct passages_two_places places = {{0, 0, 0}, {0, 0, 0}};
        uint8_t *other = copy_of(text + (part == 2 ? split : 0), part == 0 ? length : part == 1 ? split : length - split);
        size_t other_length = part == 0 ? length : part == 1 ? split : length - split;
        enum passages_outcome outcome = PASSAGES_UNFINISHED;
        while (outcome == PASSAGES_UNFINISHED) {
            outcome = passages_same_words(text, length, other, other_length, &places, 1 + below(20), scratch);
        }
        if (part == 0) CHECK(outcome == PASSAGES_DONE);
        if (part == 1 && count) CHECK(outcome == PASSAGES_BAD);
        if (part == 2 && split) CHECK(outcome == PASSAGES_BAD || count == 0);
        note(outcome);
        free(other);
    }
    free(scratch);
}

static void check_text(struct passages_dictionary *dictionary, size_t pieces) {
    size_t length, count;
    uint8_t *text = text_of(pieces, &length);
    uint32_t *units = buffer((length + 1) * sizeof *units);
    count = words_of(dictionary, 1, text, length, length + 1, 1 + below(40), units);
    note(count);
    if (count != SIZE_MAX) {
        uint32_t *again = buffer(count * sizeof *again);
        CHECK(words_of(dictionary, 0, text, length, count, SIZE_MAX, again) == count);
        CHECK(same_bytes(units, again, count * sizeof *again));
        CHECK(!count || words_of(dictionary, 0, text, length, count - 1, 7, again) == SIZE_MAX);
        note_bytes(again, count * sizeof *again);
        free(again);
        int64_t *wanted = buffer(count * sizeof *wanted);
        size_t asked = 0, found = 0, apart = below(2) ? 2 : 50;
        for (size_t i = 0; i < count; i++) {
            if (below(apart) == 0) wanted[asked++] = (int64_t)i;
        }
        struct passages_bounds *bounds = buffer(asked * sizeof *bounds);
        struct passages_place place = {0, 0, 0};
        size_t most = below(2) ? 9 : 300;
        while (passages_locate_words(text, length, &place, 1 + below(most), wanted, asked, &found, bounds) ==
               PASSAGES_UNFINISHED) {
        }
        CHECK(found == asked);
        for (size_t i = 0; i < asked; i++) {
            CHECK(bounds[i].start < bounds[i].end && (size_t)bounds[i].end <= length);
            uint32_t word;
            CHECK(words_of(dictionary, 0, text + bounds[i].start, (size_t)(bounds[i].end - bounds[i].start), 1, 3, &word) ==
                  1);
            CHECK(word == units[wanted[i]]);
        }
        note_bytes(bounds, asked * sizeof *bounds);
        check_same_words(text, length, asked > 1 ? (size_t)bounds[asked / 2].start : 0, count);
        wanted = realloc(wanted, sizeof *wanted);
        wanted[0] = (int64_t)count;
        found = 0;
        place = (struct passages_place){0, 0, 0};
        bounds = realloc(bounds, sizeof *bounds);
        CHECK(passages_locate_words(text, length, &place, SIZE_MAX, wanted, 1, &found, bounds) == PASSAGES_BAD);
        free(wanted), free(bounds);
    }
    struct passages_place place = {0, 0, 0};
    size_t work = 1 + below(9);
    enum passages_outcome outcome = PASSAGES_UNFINISHED;
    while (outcome == PASSAGES_UNFINISHED) {
        outcome = passages_number_characters(text, length, &place, work, units, length);
    }
    CHECK((outcome == PASSAGES_DONE) == (place.at == length));
    if (outcome == PASSAGES_DONE && place.units) {
        int64_t last = (int64_t)place.units - 1;
        struct passages_bounds bounds;
        struct passages_place again = {0, 0, 0};
        size_t found = 0;
        while (passages_locate_characters(text, length, &again, work, &last, 1, &found, &bounds) == PASSAGES_UNFINISHED) {
        }
        CHECK(found == 1 && (size_t)bounds.end == length && bounds.end_character == last + 1);
        note_bytes(units, place.units * sizeof *units);
    }
    free(text), free(units);
}

/* ---- comparison ---- */

static size_t equal_units(const uint32_t *a, size_t n, const uint32_t *b, size_t m) {
    size_t i = 0;
    while (i < n && i < m && a[i] == b[i]) i++;
    return i;
}

/* All pairs of places with `least` equal units, as seeds that were sorted by diagonal, and as windows to be covered. */
static void check_comparison(size_t n, size_t m, size_t k, size_t least) {
    uint32_t *a = buffer(n * sizeof *a), *b = buffer(m * sizeof *b);
    for (size_t i = 0; i < n; i++) a[i] = (uint32_t)below(2);
    for (size_t i = 0; i < m; i++) b[i] = (uint32_t)below(2);
    size_t count = 0, matches = 0, got = 0, most = (n + m) * (n < m ? n : m);
    int64_t *x = buffer(most * sizeof *x), *y = buffer(most * sizeof *y);
    for (size_t diagonal = 0; diagonal < n + m; diagonal++) {
        for (size_t j = 0; j < m; j++) {
            if (diagonal + j < m || diagonal + j - m + k > n || j + k > m) continue;
            size_t i = diagonal + j - m, equal = equal_units(a + i, n - i, b + j, m - j);
            if ((i == 0 || j == 0 || a[i - 1] != b[j - 1]) && equal >= least) matches++;
            x[count] = (int64_t)i;
            y[count++] = (int64_t)j;
        }
    }
    struct passages_seeds seeds = {copy_of(x, count * sizeof *x), copy_of(y, count * sizeof *y),
                                   copy_of(y, count * sizeof *y), copy_of(y, count * sizeof *y), count};
    struct passages_match *out = buffer(count * sizeof *out);
    struct passages_extension extension = {0, {0, 0, 0}, 0};
    while (extension.done < count) {
        got += passages_extend(a, n, b, m, &seeds, k, least, &extension, 1 + below(30), out + got);
    }
    CHECK(got == matches);
    for (size_t i = 0; i < got; i++) {
        CHECK(passages_equal(a + out[i].x, b + out[i].y, (size_t)out[i].length));
        note((uint64_t)out[i].x), note((uint64_t)out[i].y), note((uint64_t)out[i].length);
    }
    free((void *)seeds.x), free((void *)seeds.y), free((void *)seeds.low), free((void *)seeds.high), free(out);

    int64_t *first = buffer(m * sizeof *first), *place = buffer(m * sizeof *place), *ones = buffer(m * sizeof *ones);
    size_t runs = 0, made = 0;
    for (size_t j = 0; j + least <= m; j++) {
        for (size_t i = 0; i + least <= n; i++) {
            if (!passages_equal(a + i, b + j, least)) continue;
            first[runs] = (int64_t)i;
            place[runs] = (int64_t)j;
            ones[runs++] = 1;
            break;
        }
    }
    struct passages_runs given = {first, place, ones, runs};
    int64_t start = 1, end = (int64_t)(m / 2), reach = 0;
    struct passages_covering covering = {0, 0, 0};
    struct passages_match one;
    while (covering.run < runs) {
        size_t written = passages_cover(a, n, b, m, &given, &start, &end, 1, least, &covering, &one, 1);
        if (!written) continue;
        made++;
        CHECK(passages_equal(a + one.x, b + one.y, (size_t)one.length) && (size_t)one.length >= least);
        CHECK(one.y + (int64_t)least > reach);
        reach = one.y + one.length;
        note((uint64_t)one.x), note((uint64_t)one.y), note((uint64_t)one.length);
    }
    note(made);
    if (n >= least) {
        uint64_t c = 1 + anything() % (P61 - 1), power = 1, sum;
        uint64_t *hashes = numbers(n - least + 1);
        for (size_t i = 0; i < least; i++) power = p61_product(power, c);
        passages_hash_windows(a, n - least + 1, least, c, power, hashes);
        for (size_t i = 0; i + least <= n; i++) {
            passages_hash_windows(a + i, 1, least, c, power, &sum);
            CHECK(sum == hashes[i]);
        }
        note_all(hashes, n - least + 1);
        free(hashes);
    }
    free(a), free(b), free(x), free(y), free(first), free(place), free(ones);
}

int main(void) {
    for (size_t n = 1; n < 60; n++) {
        for (size_t window = 1; window <= n; window += 1 + window / 3) check_samples(n, window);
    }
    struct hash_key key = text_hash_key_of(3);
    struct passages_dictionary dictionary = {text_hasher_under(&key), NULL, 0, NULL, NULL, 0, 0, 0, 0};
    grow(&dictionary);
    for (size_t i = 0; i < 1200; i++) check_text(&dictionary, below(i % 4 ? 40 : 400));
    note(dictionary.words);
    free(dictionary.slots), free(dictionary.ends), free(dictionary.bytes);
    for (size_t i = 0; i < 400; i++) {
        size_t k = 1 + below(3), n = 1 + below(40), m = 1 + below(40), least = k + below(9);
        check_comparison(n, m, k, least);
    }
    return print_digest();
}

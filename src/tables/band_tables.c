/* An index at work. Every step of it waits for memory, so queries are some steps apart, and each asks early for what its
 * next one will need. */
#include "tables/band_tables.h"

#include <string.h>

#include "slots/slots.h"

void band_tags(const struct band_tables *index, const uint64_t *signature, uint64_t *keys, uint32_t *tags, size_t step) {
    index->keys(signature, index->starts, index->bands, index->rows, keys);
    for (size_t band = 0; band < index->bands; band++) tags[band * step] = (uint32_t)(keys[band] >> 32);
}

/* ---- queries ---- */

static inline int is_empty(const uint64_t *signature) { return signature[0] == EMPTY_SLOT; }

/* Find what the lines of the homes did not tell. */
static void find_farther(const struct band_tables *index, const uint32_t *tags, uint64_t *entries) {
    for (size_t band = 0; band < index->bands; band++) {
        if (entries[band] != FARTHER) continue;
        size_t at = table_find(index->tables + band, tags[band]);
        entries[band] = at == NO_PLACE ? NO_ENTRY : index->tables[band].entries[at];
    }
}

/* Ask for what the entries of a query lead to. A row that meets in many bands is compared in the first. */
static void prefetch_rows(const struct band_tables *index, const uint64_t *entries, const struct answers *answers) {
    uint32_t last = NO_ROW;
    for (size_t band = 0; band < index->bands; band++) {
        uint32_t to = (uint32_t)entries[band];
        if (entries[band] == NO_ENTRY || to == last) continue;
        last = to;
        if (to & SHARED) {
            uint64_t unit = to & ~SHARED;
            if (unit < index->pool->used) prefetch(index->pool->words + unit * UNIT_WORDS);
        } else if (to < index->limit) {
            prefetch(signature_of(index, to) + band * index->rows);
            if (answers->names) prefetch(answers->names + to);
        }
    }
}

static inline int agree_in_band(const struct band_tables *index, const uint64_t *a, const uint64_t *b, size_t band) {
    return memcmp(a + band * index->rows, b + band * index->rows, index->rows * sizeof *a) == 0;
}

#define AGREE 0 /* in place of the band, counted from 1, of a meeting that need not be looked at again */

/* Write the meetings of one query, row above band, and return their number, which may be more than there is room for;
 * NO_PLACE if an entry leads nowhere. */
static size_t meetings(const struct band_tables *index, const uint64_t *query, const uint64_t *entries, uint64_t *records,
                       size_t room) {
    size_t made = 0;
    uint64_t met = NO_ENTRY; /* a row that need not be looked at again: no entry's lower half yet */
    uint32_t one;
    const uint32_t *rows;
    for (size_t band = 0; band < index->bands; band++) {
        uint64_t entry = entries[band], how = band + 1;
        if (entry == NO_ENTRY || (uint32_t)entry == met) continue;
        size_t slots = bucket_slots(index->pool, entry, &one, &rows);
        if (slots == NO_PLACE) return NO_PLACE;
        for (size_t s = 0; s < slots; s++) {
            uint32_t row = rows[s];
            if (row == NO_ROW) continue;
            if (row >= index->limit) return NO_PLACE;
            if (index->gone && index->gone[row]) continue;
            if (rows == &one) {
                if (!agree_in_band(index, query, signature_of(index, row), band)) continue;
                met = row; /* it is likely to be the only one in other bands, too */
                how = AGREE;
            }
            if (made < room) records[made] = (uint64_t)row << 32 | how;
            made++;
        }
    }
    return made;
}

/* Turn sorted meetings into rows that truly agree in a band; return their number. */
static size_t settle(const struct band_tables *index, const uint64_t *query, const uint64_t *records, size_t count,
                     const struct answers *answers, uint32_t *rows, uint32_t *agreements) {
    size_t made = 0;
    for (size_t i = 0; i < count;) {
        uint32_t row = (uint32_t)(records[i] >> 32);
        const uint64_t *signature = signature_of(index, row);
        int meet = 0;
        for (; i < count && records[i] >> 32 == row; i++) {
            size_t how = (uint32_t)records[i];
            meet = meet || how == AGREE || agree_in_band(index, query, signature, how - 1);
        }
        if (!meet) continue;
        rows[made] = row;
        if (answers->count) {
            agreements[made] = (uint32_t)slots_agreement(&slots_scalar, query, signature, index->k);
            if (agreements[made] < answers->least) continue;
        }
        made++;
    }
    return made;
}

/* Answer query q, whose entries are known. */
static enum answer answer_one(const struct band_tables *index, const uint64_t *query, const uint64_t *entries, size_t q,
                              struct answers *answers) {
    size_t count = is_empty(query) ? 0 : meetings(index, query, entries, answers->records, answers->room);
    if (count == NO_PLACE) return UNSOUND;
    if (count > answers->room || count > answers->capacity - answers->used) {
        answers->needed = count;
        return NO_ROOM;
    }
    bands_sort_records(answers->records, count, answers->records + answers->room);
    answers->met += count;
    answers->used += settle(index, query, answers->records, count, answers, answers->rows + answers->used,
                            answers->count ? answers->agreements + answers->used : NULL);
    answers->offsets[q + 1] = (int64_t)answers->used;
    return ANSWERED;
}

#define APART 2 /* queries from one step to the next */
_Static_assert(UNDER_WAY > 3 * APART, "a query would be overwritten before its last step");

enum answer answer_queries(const struct band_tables *index, const uint64_t *signatures, size_t n, size_t *next,
                           struct answers *answers) {
    size_t k = index->k, bands = index->bands, first = *next;
    answers->met = 0;
    for (size_t tagged = first, looked = first, found = first; *next < n; ++*next) {
        for (; tagged < n && tagged <= *next + 3 * APART; tagged++) {
            uint32_t *tags = answers->tags + tagged % UNDER_WAY * bands;
            if (tagged + SOON < n) prefetch_signature(index, signatures + (tagged + SOON) * k);
            band_tags(index, signatures + tagged * k, answers->keys, tags, 1);
            for (size_t band = 0; band < bands && tagged < first + APART; band++) {
                prefetch_home(index->tables + band, tags[band]);
            }
        }
        for (; looked < n && looked < *next + 2 * APART; looked++) {
            size_t at = looked % UNDER_WAY * bands, later = looked + APART < n ? (looked + APART) % UNDER_WAY * bands : at;
            index->kernels->find(index->tables, answers->tags + at, answers->tags + later, bands, answers->entries + at);
        }
        for (; found < n && found < *next + APART; found++) {
            uint64_t *entries = answers->entries + found % UNDER_WAY * bands;
            find_farther(index, answers->tags + found % UNDER_WAY * bands, entries);
            prefetch_rows(index, entries, answers);
        }
        enum answer answer =
            answer_one(index, signatures + *next * k, answers->entries + *next % UNDER_WAY * bands, *next, answers);
        if (answer != ANSWERED) return answer;
        answers->met += bands;
        if (answers->met >= answers->work && *next + 1 < n) {
            ++*next;
            return UNFINISHED;
        }
    }
    return ANSWERED;
}

/* ---- names ---- */

uint32_t tag_of_integer(int64_t name) { return (uint32_t)(mix64((uint64_t)name) >> 32); }

uint32_t tag_of_bytes(const uint8_t *name, size_t length) {
    uint64_t hash = mix64(length + 1);
    for (size_t at = 0; at < length; at += 8) {
        uint64_t limb = 0;
        size_t left = length - at < 8 ? length - at : 8;
        for (size_t i = 0; i < left; i++) limb |= (uint64_t)name[at + i] << 8 * i;
        hash = mix64(hash ^ limb);
    }
    return (uint32_t)(hash >> 32);
}

static inline int counts(const struct names *names, uint32_t row) {
    return row < names->limit && !(names->gone && names->gone[row]);
}

uint32_t row_of_integer(const struct table *table, const struct pool *pool, const struct names *names, uint32_t tag,
                        int64_t name) {
    size_t at = table_find(table, tag);
    if (at == NO_PLACE) return NO_ROW;
    uint32_t one;
    const uint32_t *rows;
    size_t slots = bucket_slots(pool, table->entries[at], &one, &rows);
    if (slots == NO_PLACE) return NO_ROW;
    for (size_t s = 0; s < slots; s++) {
        if (counts(names, rows[s]) && names->integers[rows[s]] == name) return rows[s];
    }
    return NO_ROW;
}

uint32_t row_of_bytes(const struct table *table, const struct pool *pool, const struct names *names, uint32_t tag,
                      const uint8_t *name, size_t length) {
    size_t at = table_find(table, tag);
    if (at == NO_PLACE) return NO_ROW;
    uint32_t one;
    const uint32_t *rows;
    size_t slots = bucket_slots(pool, table->entries[at], &one, &rows);
    if (slots == NO_PLACE) return NO_ROW;
    for (size_t s = 0; s < slots; s++) {
        uint32_t row = rows[s];
        if (!counts(names, row) || names->lengths[row] != length) continue;
        int64_t start = names->starts[row];
        if (start < 0 || (uint64_t)start > names->size || names->size - (uint64_t)start < length) continue;
        if (length == 0 || memcmp(names->bytes + start, name, length) == 0) return row;
    }
    return NO_ROW;
}

/* An index at work. Every step of it waits for memory, so queries are some steps apart, and each asks early for what its
 * next one will need. */
#include "tables/band_tables.h"

#include <stdlib.h>
#include <string.h>

#include "slots/slots.h"

void band_tables_tags(const struct band_tables *index, const uint64_t *signature, uint64_t *keys, uint32_t *tags,
                      size_t step) {
    index->keys(signature, index->starts, index->bands, index->rows, keys);
    for (size_t band = 0; band < index->bands; band++) tags[band * step] = (uint32_t)(keys[band] >> 32);
}

/* ---- room for answers ---- */

/* Memory for two times n numbers, or NULL. */
static void *pairs_of(size_t n, size_t width) { return n > PTRDIFF_MAX / 2 / width ? NULL : malloc(2 * n * width); }

enum tables_outcome band_tables_answers_begin(struct band_tables_answers *answers, size_t bands, size_t queries) {
    size_t slots = BAND_TABLES_UNDER_WAY * bands;
    memset(answers, 0, sizeof *answers);
    answers->room = 4 * bands + 64;
    answers->capacity = queries > SIZE_MAX / 4 ? queries : 2 * queries + 64; /* too many: there is no such memory */
    answers->keys = malloc((bands + slots) * sizeof *answers->keys + slots * sizeof *answers->tags);
    answers->records = pairs_of(answers->room, sizeof *answers->records);
    answers->rows = pairs_of(answers->capacity, sizeof *answers->rows);
    if (!answers->keys || !answers->records || !answers->rows) {
        band_tables_answers_end(answers);
        return TABLES_NO_MEMORY;
    }
    answers->entries = answers->keys + bands;
    answers->tags = (uint32_t *)(answers->entries + slots);
    answers->agreements = answers->rows + answers->capacity;
    return TABLES_DONE;
}

void band_tables_answers_end(struct band_tables_answers *answers) {
    free(answers->keys);
    free(answers->records);
    free(answers->rows);
    memset(answers, 0, sizeof *answers);
}

enum tables_outcome band_tables_answers_grow(struct band_tables_answers *answers) {
    size_t needed = answers->needed, used = answers->used;
    if (needed > SIZE_MAX / 8 || used > SIZE_MAX / 8) return TABLES_NO_MEMORY;
    if (needed > answers->room) { /* what the records hold is made anew */
        free(answers->records);
        answers->room = needed + needed / 2;
        answers->records = pairs_of(answers->room, sizeof *answers->records);
        if (!answers->records) answers->room = 0; /* the next query may ask again */
        if (!answers->records) return TABLES_NO_MEMORY;
    }
    if (needed <= answers->capacity - used) return TABLES_DONE;
    size_t capacity = used + needed + answers->capacity / 2;
    uint32_t *rows = pairs_of(capacity, sizeof *rows);
    if (!rows) return TABLES_NO_MEMORY;
    memcpy(rows, answers->rows, used * sizeof *rows);
    memcpy(rows + capacity, answers->agreements, used * sizeof *rows);
    free(answers->rows);
    answers->rows = rows;
    answers->agreements = rows + capacity;
    answers->capacity = capacity;
    return TABLES_DONE;
}

/* ---- queries ---- */

/* 1 if a query is in no bucket at all. */
static inline int is_empty(const struct band_tables *index, const uint64_t *signature) {
    return !index->apart && signature[0] == EMPTY_SLOT;
}

/* Forget the entries of the bands in which a query has no bucket. */
static void leave_out(const struct band_tables *index, const uint64_t *query, uint64_t *entries) {
    for (size_t band = 0; band < index->bands; band++) {
        if (query[band] == EMPTY_SLOT) entries[band] = TABLES_NO_ENTRY;
    }
}

/* How many slots of two rows, or bits of their codes, are equal. Slots without a value are equal to none. */
static inline size_t agreement(const struct band_tables *index, const uint64_t *a, const uint64_t *b) {
    if (!index->apart) return slots_agreement(&slots_scalar, a, b, index->slots);
    if (index->bits) {
        int32_t unequal;
        index->bits_kernels->differ(a + index->slots, 0, b + index->slots, 1, bits_words(index->bits, 1), 1, &unequal);
        return index->bits - ((size_t)unequal < index->bits ? (size_t)unequal : index->bits);
    }
    size_t equal = 0;
    for (size_t slot = 0; slot < index->slots; slot++) equal += a[slot] == b[slot] && a[slot] != EMPTY_SLOT;
    return equal;
}

/* Find what the lines of the homes did not tell. */
static void find_farther(const struct band_tables *index, const uint32_t *tags, uint64_t *entries) {
    for (size_t band = 0; band < index->bands; band++) {
        if (entries[band] != TABLES_FARTHER) continue;
        size_t at = tables_find(index->tables + band, tags[band]);
        entries[band] = at == TABLES_NO_PLACE ? TABLES_NO_ENTRY : index->tables[band].entries[at];
    }
}

/* Ask for what the entries of a query lead to. A row that meets in many bands is compared in the first. */
static void prefetch_rows(const struct band_tables *index, const uint64_t *entries,
                          const struct band_tables_answers *answers) {
    uint32_t last = TABLES_NO_ROW;
    for (size_t band = 0; band < index->bands; band++) {
        uint32_t to = (uint32_t)entries[band];
        if (entries[band] == TABLES_NO_ENTRY || to == last) continue;
        last = to;
        if (to & TABLES_SHARED) {
            uint64_t unit = to & ~TABLES_SHARED;
            if (unit < index->pool.used) prefetch(index->pool.words + unit * TABLES_UNIT_WORDS);
        } else if (to < index->limit) {
            prefetch(band_tables_signature(index, to) + band * index->rows);
            if (answers->names) prefetch(answers->names + to);
        }
    }
}

static inline int agree_in_band(const struct band_tables *index, const uint64_t *a, const uint64_t *b, size_t band) {
    return memcmp(a + band * index->rows, b + band * index->rows, index->rows * sizeof *a) == 0;
}

#define BAND_TABLES_AGREE 0 /* in place of the band, counted from 1, of a meeting that need not be looked at again */

/* Write the meetings of one query, row above band, and return their number, which may be more than there is room for;
 * TABLES_NO_PLACE if an entry leads nowhere. */
static size_t meetings(const struct band_tables *index, const uint64_t *query, const uint64_t *entries,
                       uint64_t *records, size_t room) {
    size_t made = 0;
    uint64_t met = TABLES_NO_ENTRY; /* a row that need not be looked at again: no entry's lower half yet */
    uint32_t one;
    const uint32_t *rows;
    for (size_t band = 0; band < index->bands; band++) {
        uint64_t entry = entries[band], how = band + 1;
        if (entry == TABLES_NO_ENTRY || (uint32_t)entry == met) continue;
        size_t slots = tables_bucket_slots(&index->pool, entry, &one, &rows);
        if (slots == TABLES_NO_PLACE) return TABLES_NO_PLACE;
        for (size_t s = 0; s < slots; s++) {
            uint32_t row = rows[s];
            if (row == TABLES_NO_ROW) continue;
            if (row >= index->limit) return TABLES_NO_PLACE;
            if (index->gone && index->gone[row]) continue;
            if (rows == &one) {
                if (!agree_in_band(index, query, band_tables_signature(index, row), band)) continue;
                met = row; /* it is likely to be the only one in other bands, too */
                how = BAND_TABLES_AGREE;
            }
            if (made < room) records[made] = (uint64_t)row << 32 | how;
            made++;
        }
    }
    return made;
}

/* Turn sorted meetings into rows that truly agree in a band; return their number. */
static size_t settle(const struct band_tables *index, const uint64_t *query, const uint64_t *records, size_t count,
                     const struct band_tables_answers *answers, uint32_t *rows, uint32_t *agreements) {
    size_t made = 0;
    for (size_t i = 0; i < count;) {
        uint32_t row = (uint32_t)(records[i] >> 32);
        const uint64_t *signature = band_tables_signature(index, row);
        int meet = 0;
        for (; i < count && records[i] >> 32 == row; i++) {
            size_t how = (uint32_t)records[i];
            meet = meet || how == BAND_TABLES_AGREE || agree_in_band(index, query, signature, how - 1);
        }
        if (!meet) continue;
        rows[made] = row;
        if (answers->count) {
            agreements[made] = (uint32_t)agreement(index, query, signature);
            if (agreements[made] < answers->least) continue;
        }
        made++;
    }
    return made;
}

/* Answer query q, whose entries are known. */
static enum band_tables_outcome answer_one(const struct band_tables *index, const uint64_t *query,
                                           const uint64_t *entries, size_t q, struct band_tables_answers *answers) {
    size_t count = is_empty(index, query) ? 0 : meetings(index, query, entries, answers->records, answers->room);
    if (count == TABLES_NO_PLACE) return BAND_TABLES_UNSOUND;
    if (count > answers->room || count > answers->capacity - answers->used) {
        answers->needed = count;
        return BAND_TABLES_NO_ROOM;
    }
    bands_sort_records(answers->records, count, answers->records + answers->room);
    answers->met += count;
    answers->used += settle(index, query, answers->records, count, answers, answers->rows + answers->used,
                            answers->count ? answers->agreements + answers->used : NULL);
    answers->offsets[q + 1] = (int64_t)answers->used;
    return BAND_TABLES_ANSWERED;
}

#define BAND_TABLES_APART 2 /* queries from one step to the next */
_Static_assert(BAND_TABLES_UNDER_WAY > 3 * BAND_TABLES_APART, "a query would be overwritten before its last step");

enum band_tables_outcome band_tables_answer(const struct band_tables *index, const uint64_t *signatures, size_t n,
                                            size_t *next, struct band_tables_answers *answers) {
    size_t k = index->k, bands = index->bands, first = *next;
    answers->met = 0;
    for (size_t tagged = first, looked = first, found = first; *next < n; ++*next) {
        for (; tagged < n && tagged <= *next + 3 * BAND_TABLES_APART; tagged++) {
            uint32_t *tags = answers->tags + tagged % BAND_TABLES_UNDER_WAY * bands;
            size_t soon = tagged + BAND_TABLES_SOON;
            if (soon < n) band_tables_prefetch(index, signatures + soon * k);
            band_tables_tags(index, signatures + tagged * k, answers->keys, tags, 1);
            for (size_t band = 0; band < bands && tagged < first + BAND_TABLES_APART; band++) {
                tables_prefetch_home(index->tables + band, tags[band]);
            }
            if (n == 1) band_tables_prefetch_behind(index, signatures);
        }
        for (; looked < n && looked < *next + 2 * BAND_TABLES_APART; looked++) {
            size_t at = looked % BAND_TABLES_UNDER_WAY * bands, later = at;
            if (looked + BAND_TABLES_APART < n) later = (looked + BAND_TABLES_APART) % BAND_TABLES_UNDER_WAY * bands;
            index->kernels->find(index->tables, answers->tags + at, answers->tags + later, bands,
                                 answers->entries + at);
        }
        for (; found < n && found < *next + BAND_TABLES_APART; found++) {
            uint64_t *entries = answers->entries + found % BAND_TABLES_UNDER_WAY * bands;
            find_farther(index, answers->tags + found % BAND_TABLES_UNDER_WAY * bands, entries);
            if (index->apart) leave_out(index, signatures + found * k, entries);
            prefetch_rows(index, entries, answers);
        }
        enum band_tables_outcome answer =
            answer_one(index, signatures + *next * k, answers->entries + *next % BAND_TABLES_UNDER_WAY * bands, *next,
                       answers);
        if (answer != BAND_TABLES_ANSWERED) return answer;
        answers->met += bands;
        if (answers->met >= answers->work && *next + 1 < n) {
            ++*next;
            return BAND_TABLES_UNFINISHED;
        }
    }
    return BAND_TABLES_ANSWERED;
}

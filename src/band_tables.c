/* An index at work. Every step of it waits for memory, so queries go through their steps (entries band by band, in the
 * order of their tags as batches do; buckets and signatures; comparison) many at a time, each asking early for what it
 * will need. */
#include "band_tables.h"

#include <string.h>

#include "sets.h"

#define TOGETHER 16 /* queries whose rows are asked for early */

void band_tags(const struct band_tables *index, const uint64_t *signature, uint64_t *keys, uint32_t *tags, size_t step) {
    index->keys(signature, index->starts, index->bands, index->rows, keys);
    for (size_t band = 0; band < index->bands; band++) tags[band * step] = (uint32_t)(keys[band] >> 32);
}

void prefetch_tags(const struct table *table, const uint32_t *tags, size_t n) {
    for (size_t i = 0; i < n; i++) prefetch_home(table, tags[i]);
}

/* ---- queries ---- */

static inline int is_empty(const uint64_t *signature) { return signature[0] == EMPTY_SLOT; }

/* Ask for what an entry of a band leads to. */
static inline void prefetch_rows(const struct band_tables *index, uint64_t entry, size_t band, const int64_t *names) {
    uint32_t to = (uint32_t)entry;
    if (!(to & SHARED)) {
        if (to >= index->limit) return;
        prefetch(signature_of(index, to) + band * index->rows);
        if (names) prefetch(names + to);
    } else if ((to & ~SHARED) < index->pool->used) {
        prefetch(index->pool->words + (size_t)(to & ~SHARED) * UNIT_WORDS);
    }
}

/* Find the entries of n queries: that of query q and band j goes to entries[j * n + q]. */
static void find_entries(const struct band_tables *index, const uint64_t *signatures, size_t n,
                         struct answers *answers) {
    size_t first = n < AHEAD ? n : AHEAD;
    for (size_t q = 0; q < n; q++) {
        if (q + SOON < n) prefetch_signature(index, signatures + (q + SOON) * index->k);
        band_tags(index, signatures + q * index->k, answers->keys, answers->tags + q, n);
    }
    for (size_t band = 0; band < index->bands; band++) prefetch_tags(index->tables + band, answers->tags + band * n, first);
    for (size_t band = 0; band < index->bands; band++) {
        if (n == 1) answers->order[0] = (uint64_t)answers->tags[band] << 32;
        else tag_order(answers->tags + band * n, NULL, NULL, n, answers->order);
        index->kernels->find(index->tables + band, answers->order, n, answers->entries + band * n);
    }
}

/* Ask for what the entries of query q of n lead to. A row that meets in many bands is compared in the first. */
static inline void prefetch_query(const struct band_tables *index, const uint64_t *entries, size_t n, size_t q,
                                  const int64_t *names) {
    uint64_t last = NO_ENTRY;
    for (size_t band = 0; band < index->bands; band++) {
        uint64_t entry = entries[band * n + q];
        if (entry == NO_ENTRY || (uint32_t)entry == (uint32_t)last) continue;
        prefetch_rows(index, entry, band, names);
        last = entry;
    }
}

/* Write the meetings of one query, row above band, and return their number, which may be more than there is room for;
 * NO_PLACE if an entry leads nowhere. */
static size_t meetings(const struct band_tables *index, const uint64_t *entries, size_t step, uint64_t *records,
                       size_t room) {
    size_t made = 0;
    uint32_t one;
    const uint32_t *rows;
    for (size_t band = 0; band < index->bands; band++) {
        uint64_t entry = entries[band * step];
        if (entry == NO_ENTRY) continue;
        size_t slots = bucket_slots(index->pool, entry, &one, &rows);
        if (slots == NO_PLACE) return NO_PLACE;
        for (size_t s = 0; s < slots; s++) {
            if (rows[s] == NO_ROW) continue;
            if (rows[s] >= index->limit) return NO_PLACE;
            if (index->gone && index->gone[rows[s]]) continue;
            if (made < room) records[made] = (uint64_t)rows[s] << 32 | band;
            made++;
        }
    }
    return made;
}

static inline int agree_in_band(const struct band_tables *index, const uint64_t *a, const uint64_t *b, size_t band) {
    return memcmp(a + band * index->rows, b + band * index->rows, index->rows * sizeof *a) == 0;
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
            meet = meet || agree_in_band(index, query, signature, (uint32_t)records[i]);
        }
        if (!meet) continue;
        rows[made] = row;
        if (answers->count) {
            agreements[made] = (uint32_t)agreement(query, signature, index->k);
            if (agreements[made] < answers->least) continue;
        }
        made++;
    }
    return made;
}

/* Answer query q, whose entries are known and stand `step` apart. */
static enum answer answer_one(const struct band_tables *index, const uint64_t *query, const uint64_t *entries,
                              size_t step, size_t q, struct answers *answers) {
    size_t count = is_empty(query) ? 0 : meetings(index, entries, step, answers->records, answers->room);
    if (count == NO_PLACE) return UNSOUND;
    if (count > answers->room || count > answers->capacity - answers->used) {
        answers->needed = count;
        return NO_ROOM;
    }
    sort_records(answers->records, count, answers->records + answers->room);
    answers->used += settle(index, query, answers->records, count, answers, answers->rows + answers->used,
                            answers->count ? answers->agreements + answers->used : NULL);
    answers->offsets[q + 1] = (int64_t)answers->used;
    return ANSWERED;
}

enum answer answer_queries(const struct band_tables *index, const uint64_t *signatures, size_t n, size_t *next,
                           struct answers *answers) {
    const uint64_t *entries = answers->entries;
    while (*next < n) {
        size_t first = *next, count = n - first < QUERIES ? n - first : QUERIES;
        find_entries(index, signatures + first * index->k, count, answers);
        for (size_t i = 0; i < count && i < TOGETHER; i++) prefetch_query(index, entries, count, i, answers->names);
        for (size_t i = 0; i < count; i++, ++*next) {
            if (i + TOGETHER < count) prefetch_query(index, entries, count, i + TOGETHER, answers->names);
            enum answer answer =
                answer_one(index, signatures + (first + i) * index->k, entries + i, count, first + i, answers);
            if (answer != ANSWERED) return answer;
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

/* Records of a batch into a table and out of it for AVX-512: eight entries are looked at and moved at once. What does not
 * fit into them goes the plain way. */
#include "tables/tables.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

/* The lowest lane of a mask, LANES if it has none. */
TARGET_AVX512 static inline unsigned lowest(__mmask8 mask) { return _tzcnt_u32(mask | 1u << LANES); }

/* Lanes [first, last). */
static inline __mmask8 between(unsigned first, unsigned last) { return (__mmask8)((1u << last) - (1u << first)); }

/* Put a row into the gap that follows its place within eight entries; 0 if it cannot be done so. */
TARGET_AVX512 static inline int put_near(struct tables_table *table, uint32_t tag, uint32_t row) {
    const __m512i before = _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 0);
    size_t home = tables_home(table, tag);
    uint64_t *entries = table->entries + home;
    if (home + LANES > table->length || table->count >= tables_most_entries(table)) return 0;
    __m512i here = _mm512_loadu_si512(entries), tags = _mm512_srli_epi64(here, 32);
    unsigned at = lowest(_mm512_cmpge_epu64_mask(tags, spread(tag)));
    unsigned gap = lowest(_mm512_cmpeq_epi64_mask(here, spread(TABLES_NO_ENTRY)));
    if (gap == LANES || (_mm512_cmpeq_epi64_mask(tags, spread(tag)) & between(0, gap))) return 0;
    __m512i pushed = _mm512_mask_permutexvar_epi64(here, between(at + 1, gap + 1), before, here);
    pushed = _mm512_mask_mov_epi64(pushed, between(at, at + 1), spread((uint64_t)tag << 32 | row));
    _mm512_storeu_si512(entries, pushed);
    table->count++;
    return 1;
}

/* 1 if there is a gap in the whole lines from this one on. */
TARGET_AVX512 static inline int has_gap(const uint64_t *line, const uint64_t *end) {
    for (; end - line >= LANES; line += LANES) {
        if (_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(line), spread(TABLES_NO_ENTRY))) return 1;
    }
    return 0;
}

/* Put a row in, line by line: the first one that has a greater tag takes the entry, and each pushes its last one on to the
 * next, up to a gap. 0 if it goes into a bucket or the end of the table is near. */
TARGET_AVX512 static int put_by_lines(struct tables_table *table, uint32_t tag, uint32_t row) {
    const __m512i before = _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 0);
    uint64_t *line = table->entries + tables_home(table, tag), *end = table->entries + table->length;
    uint64_t pushed = (uint64_t)tag << 32 | row;
    __m512i here;
    unsigned at = LANES;
    if (table->count >= tables_most_entries(table)) return 0;
    for (;; line += LANES) {
        if (end - line < LANES) return 0;
        here = _mm512_loadu_si512(line);
        at = lowest(_mm512_cmpge_epu64_mask(_mm512_srli_epi64(here, 32), spread(tag)));
        if (at < LANES) break;
    }
    if ((line[at] != TABLES_NO_ENTRY && tables_entry_tag(line[at]) == tag) || !has_gap(line, end)) return 0;
    for (;; line += LANES, at = 0, here = _mm512_loadu_si512(line)) {
        unsigned gap = lowest(_mm512_cmpeq_epi64_mask(here, spread(TABLES_NO_ENTRY)));
        uint64_t last = line[LANES - 1];
        __m512i moved = _mm512_mask_permutexvar_epi64(here, between(at + 1, gap < LANES ? gap + 1 : LANES), before, here);
        _mm512_storeu_si512(line, _mm512_mask_mov_epi64(moved, between(at, at + 1), spread(pushed)));
        if (gap < LANES) break;
        pushed = last;
    }
    table->count++;
    return 1;
}

/* Take out a row that is alone in its bucket, line by line: each gets an entry back from the next as long as that is not
 * at home there. 0 if there is no such row or the end of the table is near. */
TARGET_AVX512 static inline int take_by_lines(struct tables_table *table, uint32_t tag, uint32_t row) {
    const __m512i after = _mm512_set_epi64(7, 7, 6, 5, 4, 3, 2, 1);
    uint64_t *line = table->entries + tables_home(table, tag), *end = table->entries + table->length;
    __m512i here;
    unsigned at = LANES;
    for (;; line += LANES) {
        if (end - line < LANES) return 0;
        here = _mm512_loadu_si512(line);
        at = lowest(_mm512_cmpeq_epi64_mask(here, spread((uint64_t)tag << 32 | row)));
        if (at < LANES) break;
        if (_mm512_cmpge_epu64_mask(_mm512_srli_epi64(here, 32), spread(tag))) return 0;
    }
    if (!has_gap(line, end)) return 0;
    for (;; line += LANES, at = 0, here = _mm512_loadu_si512(line)) {
        unsigned gap = lowest(_mm512_cmpeq_epi64_mask(here, spread(TABLES_NO_ENTRY)));
        uint64_t next = gap < LANES ? TABLES_NO_ENTRY : line[LANES];
        size_t behind = (size_t)(line + LANES - table->entries);
        if (next != TABLES_NO_ENTRY && tables_home(table, tables_entry_tag(next)) == behind) next = TABLES_NO_ENTRY;
        __m512i closed = _mm512_mask_permutexvar_epi64(here, between(at, gap - 1), after, here);
        _mm512_storeu_si512(line, _mm512_mask_mov_epi64(closed, between(gap - 1, gap), spread(next)));
        if (next == TABLES_NO_ENTRY) break;
    }
    table->count--;
    return 1;
}

TARGET_AVX512 enum tables_outcome tables_put_avx512(struct tables_table *table, struct tables_pool *pool,
                                                    const uint64_t *records, size_t n, size_t *next) {
    for (size_t i = *next; i < n; i++) {
        uint32_t tag = tables_record_tag(records[i]), row = (uint32_t)records[i];
        if (i + TABLES_AHEAD < n) tables_prefetch_home(table, tables_record_tag(records[i + TABLES_AHEAD]));
        if (put_near(table, tag, row) || put_by_lines(table, tag, row)) continue;
        enum tables_outcome outcome = tables_put(table, pool, tag, row);
        *next = i;
        if (outcome != TABLES_DONE) return outcome;
    }
    *next = n;
    return TABLES_DONE;
}

TARGET_AVX512 void tables_take_avx512(struct tables_table *table, struct tables_pool *pool, const uint64_t *records,
                                      size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t tag = tables_record_tag(records[i]), row = (uint32_t)records[i];
        if (i + TABLES_AHEAD < n) tables_prefetch_home(table, tables_record_tag(records[i + TABLES_AHEAD]));
        if (!take_by_lines(table, tag, row)) tables_take(table, pool, tag, row);
    }
}

TARGET_AVX512 void tables_find_avx512(const struct tables_table *tables, const uint32_t *tags, const uint32_t *later,
                                      size_t n, uint64_t *entries) {
    for (size_t i = 0; i < n; i++) {
        const struct tables_table *table = tables + i;
        size_t home = tables_home(table, tags[i]);
        const uint64_t *line = table->entries + home;
        entries[i] = TABLES_FARTHER;
        if (home + LANES <= table->length) {
            __m512i these = _mm512_srli_epi64(_mm512_loadu_si512(line), 32);
            unsigned lane = lowest(_mm512_cmpge_epu64_mask(these, spread(tags[i])));
            if (lane == LANES) prefetch(line + LANES);
            else entries[i] = tables_entry_tag(line[lane]) == tags[i] ? line[lane] : TABLES_NO_ENTRY;
        }
        tables_prefetch_home(table, later[i]);
    }
}
#endif

/* Ordered open addressing by lines. Entries of one home stand side by side in the order of their tags, so that a search
 * looks at 1.2 cache lines in a table that is about to grow, whether it finds something or not. */
#include "tables/tables.h"

#include <string.h>

/* ---- the pool: blocks of 4, 8, 16, ... words ---- */

static inline uint32_t slots_of(unsigned class) { return ((uint32_t)TABLES_UNIT_WORDS << class) - 2; }

static inline unsigned class_of(uint32_t slots) {
    unsigned class = 0;
    while (slots_of(class) < slots) class++;
    return class;
}

/* Small blocks may be full, as they are searched within a line or two anyway; larger ones are hash tables. */
static inline uint32_t most_rows(uint32_t slots) { return slots <= 14 ? slots : slots / 4 * 3; }

static inline uint32_t *block_at(const struct tables_pool *pool, uint32_t unit) {
    return pool->words + (size_t)unit * TABLES_UNIT_WORDS;
}

void tables_pool_clear(struct tables_pool *pool) {
    pool->used = 0;
    for (unsigned class = 0; class < TABLES_POOL_CLASSES; class++) pool->free[class] = TABLES_NO_ROW;
}

static uint32_t pool_take(struct tables_pool *pool, unsigned class) {
    if (class >= TABLES_POOL_CLASSES) return TABLES_NO_ROW;
    uint32_t unit = pool->free[class];
    if (unit != TABLES_NO_ROW) {
        pool->free[class] = *block_at(pool, unit);
    } else {
        uint64_t units = (uint64_t)1 << class;
        pool->wanted = units;
        if (pool->length - pool->used < units || pool->used + units >= TABLES_SHARED) return TABLES_NO_ROW;
        unit = (uint32_t)pool->used;
        pool->used += units;
    }
    uint32_t *block = block_at(pool, unit);
    block[0] = 0;
    block[1] = slots_of(class);
    memset(block + 2, 0xFF, block[1] * sizeof *block);
    return unit;
}

static void pool_give(struct tables_pool *pool, uint32_t unit) {
    uint32_t *block = block_at(pool, unit);
    unsigned class = class_of(block[1]);
    block[0] = pool->free[class];
    block[1] = 0;
    pool->free[class] = unit;
}

/* ---- a bucket of several rows ---- */

static inline uint32_t row_home(uint32_t row, uint32_t slots) {
    return (uint32_t)((uint64_t)(row * UINT32_C(0x9E3779B1)) * slots >> 32);
}

static inline uint32_t after(uint32_t at, uint32_t slots) { return at + 1 == slots ? 0 : at + 1; }

/* How far `to` is behind `from`, going round. */
static inline uint32_t distance(uint32_t from, uint32_t to, uint32_t slots) {
    return to >= from ? to - from : to + slots - from;
}

static void block_put(uint32_t *block, uint32_t row) {
    uint32_t slots = block[1], at = row_home(row, slots);
    while (block[2 + at] != TABLES_NO_ROW) at = after(at, slots);
    block[2 + at] = row;
    block[0]++;
}

static int block_take(uint32_t *block, uint32_t row) {
    uint32_t slots = block[1], at = row_home(row, slots), seen = 0;
    while (block[2 + at] != row) {
        if (block[2 + at] == TABLES_NO_ROW || ++seen == slots) return 0;
        at = after(at, slots);
    }
    uint32_t hole = at;
    for (uint32_t next = after(at, slots); next != at && block[2 + next] != TABLES_NO_ROW; next = after(next, slots)) {
        if (distance(row_home(block[2 + next], slots), next, slots) < distance(hole, next, slots)) continue;
        block[2 + hole] = block[2 + next];
        hole = next;
    }
    block[2 + hole] = TABLES_NO_ROW;
    block[0]--;
    return 1;
}

/* Move the rows to a block of another class; the old unit and 0 if the pool is full. */
static int block_resize(struct tables_pool *pool, uint32_t *unit, unsigned class) {
    uint32_t fresh = pool_take(pool, class);
    if (fresh == TABLES_NO_ROW) return 0;
    const uint32_t *block = block_at(pool, *unit);
    for (uint32_t i = 0; i < block[1]; i++) {
        if (block[2 + i] != TABLES_NO_ROW) block_put(block_at(pool, fresh), block[2 + i]);
    }
    pool_give(pool, *unit);
    *unit = fresh;
    return 1;
}

static inline uint64_t entry_of(uint32_t tag, uint32_t to) { return (uint64_t)tag << 32 | to; }

static enum tables_outcome bucket_put(uint64_t *entry, struct tables_pool *pool, uint32_t row) {
    uint32_t to = (uint32_t)*entry, unit = to & ~TABLES_SHARED;
    if (!(to & TABLES_SHARED)) {
        unit = pool_take(pool, 0);
        if (unit == TABLES_NO_ROW) return TABLES_POOL_FULL;
        block_put(block_at(pool, unit), to);
    } else {
        const uint32_t *block = block_at(pool, unit);
        int full = block[0] == most_rows(block[1]);
        if (full && !block_resize(pool, &unit, class_of(block[1]) + 1)) return TABLES_POOL_FULL;
    }
    block_put(block_at(pool, unit), row);
    *entry = entry_of(tables_entry_tag(*entry), unit | TABLES_SHARED);
    return TABLES_DONE;
}

/* ---- the table ---- */

void tables_clear(struct tables_table *table) {
    table->count = 0;
    memset(table->entries, 0xFF, (size_t)(table->length + 1) * sizeof *table->entries);
}

enum tables_outcome tables_put(struct tables_table *table, struct tables_pool *pool, uint32_t tag, uint32_t row) {
    uint64_t *entries = table->entries;
    size_t at = tables_home(table, tag);
    while (tables_entry_tag(entries[at]) < tag) at++;
    if (tables_entry_tag(entries[at]) == tag && entries[at] != TABLES_NO_ENTRY) {
        return bucket_put(entries + at, pool, row);
    }
    if (table->count >= tables_most_entries(table)) return TABLES_FULL;
    size_t first = at;
    uint64_t pushed = entry_of(tag, row);
    for (;; at++) {
        uint64_t here = entries[at];
        entries[at] = pushed;
        pushed = here;
        if (here == TABLES_NO_ENTRY) break;
    }
    if (at == table->length) { /* beyond the end: all goes back */
        memmove(entries + first, entries + first + 1, (at - first) * sizeof *entries);
        entries[at] = TABLES_NO_ENTRY;
        return TABLES_FULL;
    }
    table->count++;
    return TABLES_DONE;
}

static void close_gap(struct tables_table *table, size_t at) {
    uint64_t *entries = table->entries;
    for (;; at++) {
        uint64_t next = entries[at + 1];
        if (next == TABLES_NO_ENTRY || tables_home(table, tables_entry_tag(next)) == at + 1) break;
        entries[at] = next;
    }
    entries[at] = TABLES_NO_ENTRY;
    table->count--;
}

int tables_take(struct tables_table *table, struct tables_pool *pool, uint32_t tag, uint32_t row) {
    size_t at = tables_find(table, tag);
    if (at == TABLES_NO_PLACE) return 0;
    uint64_t *entry = table->entries + at;
    uint32_t to = (uint32_t)*entry, unit = to & ~TABLES_SHARED;
    if (!(to & TABLES_SHARED)) {
        if (to != row) return 0;
        close_gap(table, at);
        return 1;
    }
    uint32_t *block = block_at(pool, unit);
    if (!block_take(block, row)) return 0;
    if (block[0] == 1) {
        uint32_t left = TABLES_NO_ROW;
        for (uint32_t i = 0; i < block[1]; i++) left &= block[2 + i]; /* TABLES_NO_ROW is all ones */
        pool_give(pool, unit);
        *entry = entry_of(tag, left);
    } else if (block[0] <= block[1] / 4 && block_resize(pool, &unit, class_of(block[1]) - 1)) {
        *entry = entry_of(tag, unit | TABLES_SHARED);
    }
    return 1;
}

int tables_rename(struct tables_table *table, struct tables_pool *pool, uint32_t tag, uint32_t from, uint32_t to) {
    size_t at = tables_find(table, tag);
    if (at == TABLES_NO_PLACE) return 0;
    uint32_t leads = (uint32_t)table->entries[at];
    if (leads & TABLES_SHARED) {
        uint32_t *block = block_at(pool, leads & ~TABLES_SHARED);
        if (!block_take(block, from)) return 0;
        block_put(block, to);
        return 1;
    }
    if (leads != from) return 0;
    table->entries[at] = entry_of(tag, to);
    return 1;
}

/* Entries that are moved at a time. */
#define TABLES_MOVED 64

int tables_move(const struct tables_table *from, struct tables_table *to) {
    uint64_t some[TABLES_MOVED];
    size_t next = 0;
    memset(to->entries, 0xFF, (size_t)(to->length + 1) * sizeof *to->entries);
    for (size_t first = 0; first < from->length; first += TABLES_MOVED) {
        size_t end = first + TABLES_MOVED < from->length ? first + TABLES_MOVED : from->length, count = 0;
        for (size_t i = first; i < end; i++) { /* gaps come too irregularly for a branch */
            some[count] = from->entries[i];
            count += from->entries[i] != TABLES_NO_ENTRY;
        }
        for (size_t i = 0; i < count; i++) {
            size_t home = tables_home(to, tables_entry_tag(some[i]));
            next = home > next ? home : next;
            if (next >= to->length) return 0;
            to->entries[next++] = some[i];
        }
    }
    to->count = from->count;
    return 1;
}

void tables_move_blocks(struct tables_table *table, const struct tables_pool *from, struct tables_pool *to) {
    for (size_t i = 0; i < table->length; i++) {
        uint64_t entry = table->entries[i];
        if (entry == TABLES_NO_ENTRY || !((uint32_t)entry & TABLES_SHARED)) continue;
        const uint32_t *block = block_at(from, (uint32_t)entry & ~TABLES_SHARED);
        uint32_t unit = pool_take(to, class_of(block[1]));
        memcpy(block_at(to, unit), block, (2 + (size_t)block[1]) * sizeof *block);
        table->entries[i] = entry_of(tables_entry_tag(entry), unit | TABLES_SHARED);
    }
}

/* ---- batches ---- */

#define TABLES_UPPER_BITS 11
#define TABLES_PLACES (1 << TABLES_UPPER_BITS) /* fewer rows than that are left in their order */

static inline size_t place_of(uint32_t tag) { return tag >> (32 - TABLES_UPPER_BITS); }

static inline size_t counts(const uint8_t *skip, size_t i) { return !(skip && skip[i]); }

static inline uint64_t record_at(const uint32_t *tags, const int64_t *rows, size_t i) {
    return (uint64_t)tags[i] << 32 | (rows ? (uint32_t)rows[i] : (uint32_t)i);
}

static size_t many_in_order(const uint32_t *tags, const int64_t *rows, const uint8_t *skip, size_t n,
                            uint64_t *records) {
    uint32_t starts[TABLES_PLACES] = {0}, made = 0;
    for (size_t i = 0; i < n; i++) starts[place_of(tags[i])] += (uint32_t)counts(skip, i);
    for (size_t place = 0; place < TABLES_PLACES; place++) {
        uint32_t count = starts[place];
        starts[place] = made;
        made += count;
    }
    for (size_t i = 0; i < n; i++) {
        if (counts(skip, i)) records[starts[place_of(tags[i])]++] = record_at(tags, rows, i);
    }
    return made;
}

size_t tables_tag_order(const uint32_t *tags, const int64_t *rows, const uint8_t *skip, size_t n, uint64_t *records) {
    size_t made = 0;
    if (n >= TABLES_PLACES) return many_in_order(tags, rows, skip, n, records);
    for (size_t i = 0; i < n; i++) {
        records[made] = record_at(tags, rows, i);
        made += counts(skip, i);
    }
    return made;
}

static enum tables_outcome put_records(struct tables_table *table, struct tables_pool *pool, const uint64_t *records,
                                       size_t n, size_t *next) {
    for (size_t i = *next; i < n; i++) {
        if (i + TABLES_AHEAD < n) tables_prefetch_home(table, tables_record_tag(records[i + TABLES_AHEAD]));
        enum tables_outcome outcome = tables_put(table, pool, tables_record_tag(records[i]), (uint32_t)records[i]);
        *next = i;
        if (outcome != TABLES_DONE) return outcome;
    }
    *next = n;
    return TABLES_DONE;
}

static void take_records(struct tables_table *table, struct tables_pool *pool, const uint64_t *records, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i + TABLES_AHEAD < n) tables_prefetch_home(table, tables_record_tag(records[i + TABLES_AHEAD]));
        tables_take(table, pool, tables_record_tag(records[i]), (uint32_t)records[i]);
    }
}

static void find_entries(const struct tables_table *tables, const uint32_t *tags, const uint32_t *later, size_t n,
                         uint64_t *entries) {
    for (size_t i = 0; i < n; i++) {
        const struct tables_table *table = tables + i;
        const uint64_t *line = table->entries + tables_home(table, tags[i]);
        size_t left = (size_t)(table->length + 1) - (size_t)(line - table->entries), at = 0;
        size_t most = left < TABLES_LINE ? left : TABLES_LINE;
        while (at < most && tables_entry_tag(line[at]) < tags[i]) at++;
        if (at == TABLES_LINE) prefetch(line + TABLES_LINE);
        if (at == most) entries[i] = TABLES_FARTHER;
        else entries[i] = tables_entry_tag(line[at]) == tags[i] ? line[at] : TABLES_NO_ENTRY;
        tables_prefetch_home(table, later[i]);
    }
}

static const struct tables_kernels scalar = {put_records, take_records, find_entries};

#if LSHFAST_X86
enum tables_outcome tables_put_avx512(struct tables_table *, struct tables_pool *, const uint64_t *, size_t, size_t *);
void tables_take_avx512(struct tables_table *, struct tables_pool *, const uint64_t *, size_t);
void tables_find_avx512(const struct tables_table *, const uint32_t *, const uint32_t *, size_t, uint64_t *);
static const struct tables_kernels avx512 = {tables_put_avx512, tables_take_avx512, tables_find_avx512};
#endif

const struct tables_kernels *const tables_levels[CPU_LEVELS] = CPU_TABLE(&scalar, &scalar, &avx512, &scalar);

/* ---- soundness ---- */

int tables_is_sound(const struct tables_table *table, const struct tables_pool *pool, size_t limit) {
    size_t count = 0;
    uint32_t one, last = 0;
    const uint32_t *rows;
    if (table->entries[table->length] != TABLES_NO_ENTRY) return 0;
    for (size_t i = 0; i < table->length; i++) {
        uint64_t entry = table->entries[i];
        if (entry == TABLES_NO_ENTRY) continue;
        uint32_t tag = tables_entry_tag(entry);
        if ((count && tag <= last) || tables_find(table, tag) != i) return 0;
        last = tag;
        count++;
        size_t slots = tables_bucket_slots(pool, entry, &one, &rows), held = 0;
        if (slots == TABLES_NO_PLACE) return 0;
        for (size_t s = 0; s < slots; s++) {
            if (rows[s] == TABLES_NO_ROW) continue;
            if (rows[s] >= limit) return 0;
            held++;
        }
        if (held != tables_bucket_count(pool, entry)) return 0;
    }
    return count == table->count;
}

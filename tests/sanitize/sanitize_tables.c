/* The tables of an index (tables.h, band_tables.h) beside plain arrays, in heap buffers of exactly the size that the
 * contracts state, at every CPU level of this machine, and over memory that is damaged in all ways: whatever a file holds,
 * reading stays within it. Prints a digest of all results, which no compiler and no CPU level may change. */
#include "tables/band_tables.h"
#include "bands/bands.h"
#include "checksum/checksum.h"
#include "sanitize_kit.h"

/* ---- tables and pools that grow ---- */

static struct tables_table new_table(uint64_t capacity, uint64_t slack) {
    struct tables_table table = {buffer((capacity + slack + 1) * sizeof(uint64_t)), capacity, capacity + slack, 0};
    tables_clear(&table);
    CHECK(table.count == 0 && table.entries[table.length] == TABLES_NO_ENTRY);
    return table;
}

static struct tables_table some_table(void) {
    uint64_t capacity = 1 + below(20), slack = below(3);
    return new_table(capacity, slack);
}

static struct tables_pool new_pool(uint64_t units) {
    struct tables_pool pool;
    pool.words = buffer(units * TABLES_UNIT_WORDS * sizeof *pool.words);
    pool.length = units;
    tables_pool_clear(&pool);
    return pool;
}

static void grow_pool(struct tables_pool *pool) {
    uint64_t units = pool->length + 1 + below(pool->length + 4);
    uint32_t *words = buffer(units * TABLES_UNIT_WORDS * sizeof *words);
    if (pool->used) memcpy(words, pool->words, pool->used * TABLES_UNIT_WORDS * sizeof *words);
    free(pool->words);
    pool->words = words;
    pool->length = units;
}

/* Move a table to other memory, which may be too little at first: a larger capacity if it is used up, else a longer end. */
static void grow_table(struct tables_table *table) {
    uint64_t capacity = table->capacity, slack = table->length - capacity + 1;
    if (table->count >= tables_most_entries(table)) {
        capacity += 1 + below(capacity + 1);
        slack = below(3);
    }
    for (;;) {
        struct tables_table larger = {buffer((capacity + slack + 1) * sizeof(uint64_t)), capacity, capacity + slack, 0};
        int moved = tables_move(table, &larger);
        note((uint64_t)moved);
        if (moved) {
            CHECK(larger.count == table->count);
            free(table->entries);
            *table = larger;
            return;
        }
        free(larger.entries);
        slack = 2 * slack + 1;
    }
}

/* Put a row, and see that nothing changes where there is no room. */
static void put(struct tables_table *table, struct tables_pool *pool, uint32_t tag, uint32_t row) {
    for (;;) {
        size_t bytes = (table->length + 1) * sizeof *table->entries;
        uint64_t *entries = copy_of(table->entries, bytes);
        uint64_t used = pool->used;
        enum tables_outcome outcome = tables_put(table, pool, tag, row);
        note((uint64_t)outcome);
        if (outcome != TABLES_DONE) CHECK(memcmp(entries, table->entries, bytes) == 0 && used == pool->used);
        free(entries);
        CHECK(table->count <= tables_most_entries(table));
        if (outcome == TABLES_DONE) return;
        if (outcome == TABLES_FULL) grow_table(table);
        else grow_pool(pool);
    }
}

/* ---- beside an array: present[t * rows + row] says that the bucket of tag t has a row ---- */

static void check_bucket(const struct tables_table *table, const struct tables_pool *pool, uint32_t tag,
                         const uint8_t *present, size_t rows) {
    size_t at = tables_find(table, tag), expected = 0, found = 0;
    for (size_t row = 0; row < rows; row++) expected += present[row];
    CHECK((at == TABLES_NO_PLACE) == (expected == 0));
    if (at == TABLES_NO_PLACE) return;
    uint32_t one;
    const uint32_t *slots;
    size_t n = tables_bucket_slots(pool, table->entries[at], &one, &slots);
    CHECK(n != TABLES_NO_PLACE && tables_bucket_count(pool, table->entries[at]) == expected);
    for (size_t i = 0; i < n; i++) {
        if (slots[i] == TABLES_NO_ROW) continue;
        CHECK(slots[i] < rows && present[slots[i]]);
        found++;
        note(slots[i]);
    }
    CHECK(found == expected);
}

static const uint32_t EDGES[] = {0, 1, 2, UINT32_MAX / 2, UINT32_MAX / 2 + 1, UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX};

/* Tags of several kinds: anywhere, crowded at either end or in the middle, few that all differ little. */
static uint32_t some_tag(size_t kind, size_t i) {
    switch (kind % 6) {
    case 0: return (uint32_t)anything();
    case 1: return (uint32_t)i;
    case 2: return UINT32_MAX - (uint32_t)i;
    case 3: return ((uint32_t)1 << 31) - 20 + (uint32_t)i;
    case 4: return EDGES[i % COUNT(EDGES)];
    default: return i & 1 ? (uint32_t)i : UINT32_MAX - (uint32_t)i;
    }
}

static void check_tables(void) {
    for EACH_ROUND(round, 600) {
        size_t tags = 1 + below(round % 3 == 0 ? 3 : 60), rows = 1 + below(round % 3 == 0 ? 300 : 40);
        size_t slack = below(4), steps = case_size(500, 60);
        struct tables_table table = new_table(1 + below(20), slack);
        struct tables_pool pool = new_pool(below(6));
        uint32_t *tag = buffer(tags * sizeof *tag);
        uint8_t *present = buffer(tags * rows);
        memset(present, 0, tags * rows);
        size_t kinds = 0;
        for (size_t i = 0; i < tags; i++) {
            tag[kinds] = some_tag(round, i);
            size_t same = 0;
            while (tag[same] != tag[kinds]) same++;
            kinds += same == kinds;
        }
        for (size_t step = 0; step < steps; step++) {
            /* mostly growing, then mostly shrinking */
            size_t t = below(kinds), row = below(rows), wanted = below(10) < (step / 100 % 2 ? 2 : 8);
            uint8_t *there = present + t * rows + row;
            if (wanted && !*there) {
                put(&table, &pool, tag[t], (uint32_t)row);
                *there = 1;
            } else if (!wanted) {
                CHECK(tables_take(&table, &pool, tag[t], (uint32_t)row) == *there);
                *there = 0;
            }
            check_bucket(&table, &pool, tag[t], present + t * rows, rows);
            if (step % 20 == 0) {
                CHECK(tables_is_sound(&table, &pool, rows));
                for (size_t i = 0; i < kinds; i++) check_bucket(&table, &pool, tag[i], present + i * rows, rows);
            }
        }
        for (size_t i = 0; i < kinds * rows; i++) {
            CHECK(tables_take(&table, &pool, tag[i / rows], (uint32_t)(i % rows)) == present[i]);
        }
        CHECK(table.count == 0);
        for (size_t i = 0; i <= table.length; i++) CHECK(table.entries[i] == TABLES_NO_ENTRY);
        free(table.entries);
        free(pool.words);
        free(tag);
        free(present);
    }
}

/* One bucket of each size up and down, at every step with as little memory as it can do with. */
static void check_one_bucket(void) {
    enum { MOST = 3000 };
    static uint8_t present[MOST];
    for (size_t stride = 1; stride < 8; stride += 2) {
        struct tables_table table = new_table(8, 0);
        struct tables_pool pool = new_pool(0);
        memset(present, 0, sizeof present);
        for (size_t i = 0; i < MOST; i++) {
            uint32_t row = (uint32_t)(i * stride % MOST);
            if (stride == 3) row = (uint32_t)i * 3 % MOST + (uint32_t)i * 3 / MOST;
            if (stride == 5) row = MOST - 1 - (uint32_t)i;
            if (stride == 7) row = (uint32_t)i;
            if (present[row]) continue;
            put(&table, &pool, 7, row);
            present[row] = 1;
            if (i % 97 == 0 || i < 70) check_bucket(&table, &pool, 7, present, MOST);
        }
        uint64_t most = pool.used;
        for (size_t turn = 0; turn < 2; turn++) {
            for (size_t i = 0; i < MOST; i++) {
                uint32_t row = (uint32_t)(i * 7 % MOST);
                CHECK(tables_take(&table, &pool, 7, row) == present[row]);
                present[row] = 0;
                if (i % 97 == 0 || i > MOST - 70) check_bucket(&table, &pool, 7, present, MOST);
            }
            for (size_t i = 0; i < MOST; i++) {
                uint32_t row = (uint32_t)(i * (turn ? 1 : 11) % MOST);
                if (!present[row]) put(&table, &pool, 7, row);
                present[row] = 1;
            }
            CHECK(pool.used == most); /* the blocks that were given back are enough */
            check_bucket(&table, &pool, 7, present, MOST);
        }
        free(table.entries);
        free(pool.words);
    }
}

/* ---- batches ---- */

static int holds(const struct tables_table *table, const struct tables_pool *pool, uint32_t tag, uint32_t row) {
    size_t at = tables_find(table, tag);
    if (at == TABLES_NO_PLACE) return 0;
    uint32_t one;
    const uint32_t *rows;
    size_t n = tables_bucket_slots(pool, table->entries[at], &one, &rows), found = 0;
    CHECK(n != TABLES_NO_PLACE);
    for (size_t i = 0; i < n; i++) found += rows[i] == row;
    CHECK(found <= 1);
    return (int)found;
}

/* Order a batch of rows from `first` on, some of which are left out; records holds n, and *count are made. */
static uint64_t *some_records(size_t n, size_t kind, size_t first, size_t *count) {
    enum { FROM = 2048, UPPER = 64 - 11 }; /* so many are ordered, by these bits */
    uint32_t *tags = buffer(n * sizeof *tags);
    uint8_t *skip = buffer(n);
    int64_t *rows = buffer(n * sizeof *rows);
    uint64_t *records = buffer(n * sizeof *records), *sorted = buffer(n * sizeof *sorted);
    size_t spread = 1 + below(n + 1), kept = 0;
    for (size_t i = 0; i < n; i++) {
        tags[i] = kind & 1 ? some_tag(kind / 2, below(spread)) : (uint32_t)below(9) << 29;
        skip[i] = below(5) == 0;
        rows[i] = (int64_t)(first + (i * 5 + 3) % n);
        if (n % 5 == 0) rows[i] = (int64_t)(first + i);
        if (!skip[i]) sorted[kept++] = (uint64_t)tags[i] << 32 | (uint32_t)rows[i];
    }
    *count = tables_tag_order(tags, rows, skip, n, records);
    CHECK(*count == kept);
    for (size_t i = 0; i < kept && n < FROM; i++) CHECK(records[i] == sorted[i]);
    if (n >= FROM) { /* as a sort that keeps equals in their order */
        size_t at = 0;
        for (uint64_t place = 0; place < 2048; place++) {
            for (size_t i = 0; i < kept; i++) {
                if (sorted[i] >> UPPER == place) CHECK(records[at++] == sorted[i]);
            }
        }
        CHECK(at == kept);
    }
    free(tags);
    free(skip);
    free(rows);
    free(sorted);
    uint64_t *exact = copy_of(records, kept * sizeof *records);
    free(records);
    return exact;
}

struct side {
    struct tables_table table;
    struct tables_pool pool;
};

static void put_batch(struct side *side, const struct tables_kernels *kernels, const uint64_t *records, size_t n) {
    for (size_t next = 0;;) {
        size_t before = next;
        enum tables_outcome outcome = kernels->put(&side->table, &side->pool, records, n, &next);
        CHECK(next >= before && next <= n && (outcome == TABLES_DONE) == (next == n));
        CHECK(side->table.count <= tables_most_entries(&side->table));
        note(next);
        note((uint64_t)outcome);
        if (outcome == TABLES_DONE) return;
        CHECK(!holds(&side->table, &side->pool, tables_record_tag(records[next]), (uint32_t)records[next]));
        if (outcome == TABLES_FULL) grow_table(&side->table);
        else grow_pool(&side->pool);
    }
}

/* Look for tags that are there and for others: their entries, or TABLES_FARTHER if a line of smaller tags or the end says so. */
static void find_some(const struct side *side, const struct tables_kernels *kernels, const uint64_t *records,
                      size_t count) {
    size_t n = below(count + 30), kind = below(6);
    const struct tables_table *table = &side->table;
    struct tables_table *tables = buffer(n * sizeof *tables);
    uint32_t *tags = buffer(n * sizeof *tags), *later = buffer(n * sizeof *later);
    uint64_t *entries = buffer(n * sizeof *entries);
    for (size_t i = 0; i < n; i++) {
        tags[i] = count && below(2) ? tables_record_tag(records[below(count)]) : some_tag(kind, i);
        tags[i] += below(5) == 0;
        later[i] = (uint32_t)anything();
        tables[i] = *table;
    }
    kernels->find(tables, tags, later, n, entries);
    for (size_t i = 0; i < n; i++) {
        size_t home = tables_home(table, tags[i]), at = tables_find(table, tags[i]), in_line = 0;
        while (in_line < TABLES_LINE && home + in_line < table->length &&
               tables_entry_tag(table->entries[home + in_line]) < tags[i]) {
            in_line++;
        }
        if (entries[i] == TABLES_FARTHER) CHECK(in_line == TABLES_LINE || home + TABLES_LINE > table->length);
        else CHECK(in_line < TABLES_LINE &&
                   entries[i] == (at == TABLES_NO_PLACE ? TABLES_NO_ENTRY : table->entries[at]));
    }
    free(tables);
    free(tags);
    free(later);
    free(entries);
}

/* Have other rows stand for some of a batch's. */
static void rename_some(struct side *side, uint64_t *records, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (below(6)) continue;
        uint32_t tag = tables_record_tag(records[i]), row = (uint32_t)records[i], other = row + (UINT32_C(1) << 24);
        uint64_t count = side->table.count;
        size_t rows = tables_bucket_count(&side->pool, side->table.entries[tables_find(&side->table, tag)]);
        CHECK(tables_rename(&side->table, &side->pool, tag, row, other));
        CHECK(!tables_rename(&side->table, &side->pool, tag, row, other));
        if (tables_find(&side->table, tag ^ 1) == TABLES_NO_PLACE) {
            CHECK(!tables_rename(&side->table, &side->pool, tag ^ 1, other, row));
        }
        CHECK(holds(&side->table, &side->pool, tag, other) && !holds(&side->table, &side->pool, tag, row));
        CHECK(side->table.count == count);
        CHECK(tables_bucket_count(&side->pool, side->table.entries[tables_find(&side->table, tag)]) == rows);
        records[i] = (uint64_t)tag << 32 | other;
    }
}

/* Move the buckets of several rows to memory that holds nothing else. */
static void move_blocks(struct side *side) {
    struct tables_pool fresh = new_pool(side->pool.used);
    tables_move_blocks(&side->table, &side->pool, &fresh);
    CHECK(fresh.used <= side->pool.used);
    free(side->pool.words);
    side->pool = fresh;
}

/* Put batches in, rename some of their rows and take parts of them out, with what a CPU level does it with. */
static struct side play(const struct tables_kernels *kernels, size_t round) {
    enum { MOST = 6 };
    uint64_t capacity = 1 + below(round % 3 ? 30 : 300), slack = below(3), units = below(4);
    struct side side = {new_table(capacity, slack), new_pool(units)};
    uint64_t *records[MOST];
    size_t counts[MOST], left[MOST], batches = 1 + below(MOST), limit = UINT32_C(1) << 25;
    for (size_t b = 0; b < batches; b++) {
        size_t n = below(b % 2 ? 12 : 200);
        if (round % 25 == 0) n = round % 50 ? 2047 + b % 3 : 2040 + below(2000);
        n = case_size(n, 40);
        records[b] = some_records(n, below(16), b << 16, &counts[b]);
        put_batch(&side, kernels, records[b], counts[b]);
        CHECK(tables_is_sound(&side.table, &side.pool, limit));
        find_some(&side, kernels, records[b], counts[b]);
        rename_some(&side, records[b], counts[b]);
        if (below(3) == 0) move_blocks(&side);
        CHECK(tables_is_sound(&side.table, &side.pool, limit));
        for (size_t i = 0; i < counts[b]; i++) {
            CHECK(holds(&side.table, &side.pool, tables_record_tag(records[b][i]), (uint32_t)records[b][i]));
        }
        size_t from = below(b + 1), gone = below(3) ? below(counts[from] + 1) : counts[from];
        left[b] = 0;
        if (gone < left[from]) gone = left[from];
        /* those that are gone already are taken once more, which changes nothing */
        uint64_t *exact = copy_of(records[from], gone * sizeof *exact);
        kernels->take(&side.table, &side.pool, exact, gone);
        free(exact);
        left[from] = gone;
        CHECK(tables_is_sound(&side.table, &side.pool, limit));
        for (size_t i = 0; i < counts[from]; i++) {
            CHECK(holds(&side.table, &side.pool, tables_record_tag(records[from][i]), (uint32_t)records[from][i]) == (i >= gone));
        }
    }
    if (round % 4 == 0) {
        for (size_t b = 0; b < batches; b++) kernels->take(&side.table, &side.pool, records[b], counts[b]);
        CHECK(side.table.count == 0);
        for (size_t i = 0; i <= side.table.length; i++) CHECK(side.table.entries[i] == TABLES_NO_ENTRY);
    }
    for (size_t b = 0; b < batches; b++) free(records[b]);
    for (size_t i = 0; i < side.table.length; i++) note(side.table.entries[i]);
    return side;
}

static void check_same(const struct side *a, const struct side *b) {
    CHECK(a->table.capacity == b->table.capacity && a->table.length == b->table.length);
    CHECK(a->table.count == b->table.count && a->pool.length == b->pool.length && a->pool.used == b->pool.used);
    CHECK(memcmp(a->table.entries, b->table.entries, (a->table.length + 1) * sizeof *a->table.entries) == 0);
    CHECK(memcmp(a->pool.free, b->pool.free, sizeof a->pool.free) == 0);
    size_t bytes = a->pool.used * TABLES_UNIT_WORDS * sizeof(uint32_t);
    CHECK(bytes == 0 || memcmp(a->pool.words, b->pool.words, bytes) == 0);
}

/* The same batches at every CPU level, which must say the same on the way and leave the same memory. */
static void check_batches(void) {
    for EACH_ROUND(round, 500) {
        uint64_t state_before = random_state, digest_before = digest;
        struct side first = play(tables_levels[CPU_SCALAR], round);
        uint64_t state_after = random_state, digest_after = digest;
        for EACH_LEVEL(level) {
            random_state = state_before;
            digest = digest_before;
            struct side other = play(tables_levels[level], round);
            CHECK(random_state == state_after && digest == digest_after);
            check_same(&first, &other);
            free(other.table.entries);
            free(other.pool.words);
        }
        free(first.table.entries);
        free(first.pool.words);
    }
}

/* One row after the other in all places of small tables: where each goes in and comes out, and where a table is full. */
static void check_every_place(void) {
    for EACH_ROUND(round, 3000) {
        uint64_t capacity = 1 + below(24), slack = below(10);
        const struct tables_kernels *scalar = tables_levels[CPU_SCALAR], *other = tables_levels[top_level()];
        struct side a = {new_table(capacity, slack), new_pool(8)}, b = {new_table(capacity, slack), new_pool(8)};
        uint64_t seen[64];
        size_t count = 0;
        for (size_t step = 0; step < 60; step++) {
            if (count < COUNT(seen) && below(5) < (step / 20 == 1 ? 2u : 4u)) {
                size_t from = 0, next = 0;
                uint64_t record = (uint64_t)some_tag(round, below(40)) << 32 | step, *exact = copy_of(&record, sizeof record);
                enum tables_outcome outcome = scalar->put(&a.table, &a.pool, exact, 1, &from);
                CHECK(other->put(&b.table, &b.pool, exact, 1, &next) == outcome && from == next);
                note((uint64_t)outcome);
                if (outcome == TABLES_DONE) seen[count++] = record;
                free(exact);
            } else if (count) {
                size_t at = below(count);
                scalar->take(&a.table, &a.pool, seen + at, 1);
                other->take(&b.table, &b.pool, seen + at, 1);
                if (below(4)) seen[at] = seen[--count]; /* else it is taken again, which changes nothing */
            }
            check_same(&a, &b);
            CHECK(tables_is_sound(&a.table, &a.pool, 64));
            find_some(&b, other, seen, count);
        }
        free(a.table.entries);
        free(b.table.entries);
        free(a.pool.words);
        free(b.pool.words);
    }
}

/* ---- queries ---- */

#define MOST_BANDS 6

struct built {
    struct band_tables index;
    uint64_t *starts;
    struct tables_table tables[MOST_BANDS];
    uint64_t *all; /* all signatures once more */
    uint8_t *gone;
};

static uint64_t few_slots(size_t round) { return round % 4 == 3 ? anything() : below(2 + round % 3); }

static void fill(uint64_t *signature, size_t k, size_t round) {
    int empty = below(9) == 0;
    for (size_t i = 0; i < k; i++) signature[i] = empty ? EMPTY_SLOT : few_slots(round);
}

static void build(struct built *b, size_t round) {
    static const unsigned SHIFTS[] = {0, 1, 3, 12};
    struct band_tables *index = &b->index;
    memset(b, 0, sizeof *b);
    index->rows = 1 + below(3);
    index->bands = 1 + below(MOST_BANDS);
    index->k = index->rows * index->bands + below(3);
    index->slots = index->k;
    index->limit = round % 7 == 0 ? 0 : below(round % 5 == 0 ? 150 : 40);
    index->shift = SHIFTS[round % COUNT(SHIFTS)];
    index->tables = b->tables;
    index->starts = b->starts = buffer(index->bands * sizeof *b->starts);
    index->keys = bands_levels[round & 1 ? CPU_SCALAR : top_level()];
    index->kernels = tables_levels[round / 2 & 1 ? CPU_SCALAR : top_level()];
    bands_starts(0, index->bands, b->starts);
    b->index.pool = new_pool(below(4));
    size_t n = index->limit, k = index->k, block = (size_t)1 << index->shift, blocks = (n + block - 1) / block;
    b->all = buffer(n * k * sizeof *b->all);
    for (size_t i = 0; i < n; i++) fill(b->all + i * k, k, round);
    index->blocks = buffer(blocks * sizeof *index->blocks);
    for (size_t i = 0; i < blocks; i++) {
        size_t rows = n - i * block < block ? n - i * block : block;
        index->blocks[i] = copy_of(b->all + i * block * k, rows * k * sizeof(uint64_t));
    }
    b->gone = buffer(n);
    for (size_t i = 0; i < n; i++) b->gone[i] = below(6) == 0;
    index->gone = round & 1 ? b->gone : NULL;
    uint64_t *keys = buffer(index->bands * sizeof *keys);
    uint32_t *tags = buffer(n * index->bands * sizeof *tags);
    for (size_t i = 0; i < n; i++) {
        band_tables_prefetch(index, b->all + i * k);
        band_tables_tags(index, b->all + i * k, keys, tags + i, n);
        CHECK(b->all[i * k] == EMPTY_SLOT || tags[i] == keys[0] >> 32);
    }
    for (size_t band = 0; band < index->bands; band++) {
        b->tables[band] = some_table();
        for (size_t i = 0; i < n; i++) {
            if (b->all[i * k] == EMPTY_SLOT) continue;
            put(b->tables + band, &b->index.pool, tags[band * n + i], (uint32_t)i);
        }
        CHECK(tables_is_sound(b->tables + band, &b->index.pool, n));
    }
    /* the pool as a file has it: no longer than what is used */
    uint32_t *words = copy_of(b->index.pool.words, b->index.pool.used * TABLES_UNIT_WORDS * sizeof *words);
    free(b->index.pool.words);
    b->index.pool.words = words;
    b->index.pool.length = b->index.pool.used;
    free(keys);
    free(tags);
}

static void unbuild(struct built *b) {
    size_t block = (size_t)1 << b->index.shift;
    for (size_t i = 0; i * block < b->index.limit; i++) free(b->index.blocks[i]);
    for (size_t band = 0; band < b->index.bands; band++) free(b->tables[band].entries);
    free(b->index.blocks);
    free(b->starts);
    free(b->index.pool.words);
    free(b->all);
    free(b->gone);
}

static int are_candidates(const struct built *b, const uint64_t *query, size_t row, size_t *equal) {
    const uint64_t *other = b->all + row * b->index.k;
    int meet = 0;
    *equal = 0;
    if (query[0] == EMPTY_SLOT || other[0] == EMPTY_SLOT || (b->index.gone && b->gone[row])) return 0;
    for (size_t i = 0; i < b->index.k; i++) *equal += query[i] == other[i];
    for (size_t band = 0; band < b->index.bands; band++) {
        size_t same = 0;
        for (size_t i = 0; i < b->index.rows; i++) {
            same += query[band * b->index.rows + i] == other[band * b->index.rows + i];
        }
        meet |= same == b->index.rows;
    }
    return meet;
}

/* Ask m queries with as little room as there may be; whatever the tables hold, all answers are rows. */
static void ask(const struct built *b, const uint64_t *queries, size_t m, int count, size_t least, int sound) {
    const struct band_tables *index = &b->index;
    size_t slots = index->bands * BAND_TABLES_UNDER_WAY, next = 0;
    struct band_tables_answers a = {0};
    a.room = below(4);
    a.capacity = below(4);
    a.count = count;
    a.least = least;
    a.keys = buffer(index->bands * sizeof *a.keys);
    a.tags = buffer(slots * sizeof *a.tags);
    a.entries = buffer(slots * sizeof *a.entries);
    a.records = buffer(2 * a.room * sizeof *a.records);
    a.rows = buffer(a.capacity * sizeof *a.rows);
    a.agreements = count ? buffer(a.capacity * sizeof *a.agreements) : NULL;
    a.offsets = buffer((m + 1) * sizeof *a.offsets);
    a.offsets[0] = 0;
    enum band_tables_outcome answer;
    a.work = 1 + m % 5 * index->bands;
    while ((answer = band_tables_answer(index, queries, m, &next, &a)) == BAND_TABLES_NO_ROOM ||
           answer == BAND_TABLES_UNFINISHED) {
        if (answer == BAND_TABLES_UNFINISHED) continue;
        CHECK(a.needed > a.room || a.needed > a.capacity - a.used);
        if (a.needed > a.room) {
            free(a.records);
            a.room = a.needed;
            a.records = buffer(2 * a.room * sizeof *a.records);
        }
        if (a.needed > a.capacity - a.used) {
            size_t capacity = a.used + a.needed;
            uint32_t *rows = buffer(capacity * sizeof *rows), *equal = buffer(capacity * sizeof *equal);
            memcpy(rows, a.rows, a.used * sizeof *rows);
            if (count) memcpy(equal, a.agreements, a.used * sizeof *equal);
            free(a.rows);
            free(a.agreements);
            a.rows = rows;
            a.agreements = equal;
            a.capacity = capacity;
        }
    }
    note((uint64_t)answer);
    CHECK(next <= m && (answer == BAND_TABLES_ANSWERED) == (next == m) && !(sound && answer != BAND_TABLES_ANSWERED));
    CHECK(a.used <= a.capacity && a.offsets[next] == (int64_t)a.used);
    for (size_t i = 0; i < a.used; i++) {
        CHECK(a.rows[i] < index->limit);
        note(a.rows[i]);
    }
    for (size_t q = 0, at = 0; q < m && sound; q++) {
        for (size_t row = 0; row < index->limit; row++) {
            size_t equal;
            if (!are_candidates(b, queries + q * index->k, row, &equal) || (count && equal < least)) continue;
            CHECK(at < a.used && a.rows[at] == row && (!count || a.agreements[at] == equal));
            at++;
        }
        CHECK(a.offsets[q + 1] == (int64_t)at);
    }
    free(a.keys);
    free(a.tags);
    free(a.entries);
    free(a.records);
    free(a.rows);
    free(a.agreements);
    free(a.offsets);
}

static uint64_t odd_word(void) {
    static const uint64_t ODD[] = {0, 1, 2, 6, 14, UINT64_C(0x7FFFFFFF), UINT64_C(0x80000000), UINT64_C(0x80000001),
                                   UINT64_C(0xFFFFFFFE), UINT64_C(0xFFFFFFFF), UINT64_C(1) << 63, UINT64_MAX};
    size_t kind = below(3);
    uint64_t drawn = anything();
    return kind == 0 ? drawn : kind == 1 ? drawn % 200 : ODD[drawn % COUNT(ODD)];
}

static void damage(struct built *b) {
    for (size_t times = 1 + below(6); times; times--) {
        struct tables_table *table = b->tables + below(b->index.bands);
        size_t kind = below(4), at = below(table->length);
        uint64_t word = odd_word();
        if (kind == 0) table->entries[at] = word;
        if (kind == 1) table->entries[at] = (table->entries[at] & UINT64_C(0xFFFFFFFF00000000)) | (uint32_t)word;
        if (kind > 1 && b->index.pool.used) {
            size_t place = below(b->index.pool.used * TABLES_UNIT_WORDS);
            if (kind == 3) place -= place % TABLES_UNIT_WORDS - 1; /* where a block may say how many slots it has */
            b->index.pool.words[place] = (uint32_t)word;
        }
    }
}

static void check_queries(void) {
    for EACH_ROUND(round, 1500) {
        struct built b;
        build(&b, round);
        size_t k = b.index.k, n = b.index.limit, m = below(40);
        uint64_t *queries = buffer(m * k * sizeof *queries);
        for (size_t i = 0; i < m; i++) {
            fill(queries + i * k, k, round);
            size_t row = below(n + 1);
            if (row < n && i % 2) memcpy(queries + i * k, b.all + row * k, k * sizeof *queries);
        }
        size_t least = below(k + 2);
        ask(&b, queries, m, 0, 0, 1);
        ask(&b, queries, m, 1, least, 1);
        for (size_t turn = 0; turn < 6; turn++) {
            damage(&b);
            ask(&b, queries, m, (int)(turn & 1), least, 0);
            for (size_t band = 0; band < b.index.bands; band++) {
                const struct tables_table *table = b.tables + band;
                note((uint64_t)tables_is_sound(table, &b.index.pool, n));
                for (size_t i = 0; i < table->length; i++) {
                    uint32_t one = 0;
                    const uint32_t *rows = NULL;
                    if (table->entries[i] == TABLES_NO_ENTRY) continue;
                    size_t slots = tables_bucket_slots(&b.index.pool, table->entries[i], &one, &rows);
                    note(tables_bucket_count(&b.index.pool, table->entries[i]));
                    for (size_t s = 0; s < slots && slots != TABLES_NO_PLACE; s++) note(rows[s]);
                }
            }
        }
        free(queries);
        unbuild(&b);
    }
}

/* ---- names ---- */

static uint32_t row_of(const struct names *names, struct names_one one) {
    size_t met, compared = 0;
    return names_find(names, &one, &met, &compared);
}

static uint32_t row_of_integer(const struct names *names, int64_t name) { return row_of(names, names_integer(name)); }

static uint32_t row_of_bytes(const struct names *names, const uint8_t *name, size_t length) {
    return row_of(names, names_string(name, length));
}

static void check_integers(void) {
    static const int64_t ODD[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT64_C(1) << 32};
    for EACH_ROUND(round, 200) {
        size_t n = below(60);
        struct tables_table table = some_table();
        struct tables_pool pool = new_pool(0);
        int64_t *integers = buffer(n * sizeof *integers);
        uint8_t *gone = buffer(n);
        struct names names = {.kind = NAMES_INTEGERS, .table = &table, .pool = &pool, .integers = integers, .limit = n,
                              .gone = round & 1 ? gone : NULL};
        for (size_t i = 0; i < n; i++) {
            /* All differ, and in more than the bit of 16. Every third round has one tag for all of them. */
            uint64_t different = (anything() & ~UINT64_C(255)) | i / 16 * 32 | i % 16;
            integers[i] = i < COUNT(ODD) ? ODD[i] : (int64_t)(round % 3 ? different : unmix64(UINT64_C(9) << 32 | i));
            gone[i] = below(4) == 0;
            uint32_t tag = names_tag_of_integer(integers[i]);
            CHECK(tag == (uint32_t)(mix64((uint64_t)integers[i]) >> 32));
            put(&table, &pool, tag, (uint32_t)i);
        }
        for (size_t i = 0; i < n; i++) {
            uint32_t found = row_of_integer(&names, integers[i]);
            CHECK(found == (names.gone && gone[i] ? TABLES_NO_ROW : i));
            CHECK(row_of_integer(&names, integers[i] ^ 16) == TABLES_NO_ROW);
        }
        for (size_t turn = 0; turn < 20 && n; turn++) {
            size_t at = below(table.length), place = pool.used ? below(pool.used * TABLES_UNIT_WORDS) : 0;
            uint64_t word = odd_word();
            if (pool.used) pool.words[place] = (uint32_t)word;
            if (turn & 1) table.entries[at] = (table.entries[at] & UINT64_C(0xFFFFFFFF00000000)) | (uint32_t)word;
            for (size_t i = 0; i < n; i++) {
                uint32_t found = row_of_integer(&names, integers[i]);
                CHECK(found == TABLES_NO_ROW || (found < n && integers[found] == integers[i]));
                note(found);
            }
        }
        free(table.entries);
        free(pool.words);
        free(integers);
        free(gone);
    }
}

static uint32_t slow_tag(const uint8_t *name, size_t length) {
    uint64_t hash = mix64(length + 1), limb = 0;
    for (size_t i = 0; i < length; i++) {
        limb += (uint64_t)name[i] << i % 8 * 8;
        if (i % 8 < 7 && i + 1 < length) continue;
        hash = mix64(hash ^ limb);
        limb = 0;
    }
    return (uint32_t)(hash >> 32);
}

static void check_strings(void) {
    for EACH_ROUND(round, 200) {
        size_t n = below(40), size = 0;
        struct tables_table table = some_table();
        struct tables_pool pool = new_pool(0);
        int64_t *starts = buffer(n * sizeof *starts);
        uint32_t *lengths = buffer(n * sizeof *lengths);
        uint8_t *gone = buffer(n);
        for (size_t i = 0; i < n; i++) {
            starts[i] = (int64_t)size;
            lengths[i] = (uint32_t)(i % 30);
            gone[i] = below(4) == 0;
            size += lengths[i];
        }
        uint8_t *bytes = buffer(size);
        for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)anything();
        for (size_t i = 0; i < n; i++) {
            if (lengths[i]) bytes[starts[i]] = (uint8_t)i; /* so that no two are equal but the empty ones */
        }
        struct names names = {.kind = NAMES_STRINGS, .table = &table, .pool = &pool, .bytes = bytes, .starts = starts,
                              .lengths = lengths, .size = size, .limit = n, .gone = round & 1 ? gone : NULL};
        for (size_t i = 0; i < n; i++) {
            uint8_t *name = copy_of(bytes + starts[i], lengths[i]);
            CHECK(names_tag_of_bytes(name, lengths[i]) == slow_tag(name, lengths[i]));
            if (i < 30) put(&table, &pool, names_tag_of_bytes(name, lengths[i]), (uint32_t)i);
            free(name);
        }
        for (size_t turn = 0; turn < 20 && n; turn++) {
            for (size_t i = 0; i < n; i++) {
                uint8_t *name = copy_of(bytes + (turn ? below(size + 1 - i % 30) : (size_t)starts[i]), i % 30);
                uint32_t found = row_of_bytes(&names, name, i % 30);
                if (turn == 0) CHECK(found == (i >= 30 && i % 30 ? TABLES_NO_ROW : names.gone && gone[i % 30] ? TABLES_NO_ROW : i % 30));
                CHECK(found == TABLES_NO_ROW || (found < n && lengths[found] == i % 30));
                note(found);
                free(name);
            }
            size_t row = below(n), at = below(table.length);
            uint64_t word = odd_word(), other = odd_word();
            if (turn % 4 == 0) starts[row] = (int64_t)word;
            if (turn % 4 == 1) lengths[row] = (uint32_t)word;
            if (turn % 4 == 2) table.entries[at] = (table.entries[at] & UINT64_C(0xFFFFFFFF00000000)) | (uint32_t)word;
            if (turn % 4 == 3 && pool.used) pool.words[word % (pool.used * TABLES_UNIT_WORDS)] = (uint32_t)other;
        }
        free(table.entries);
        free(pool.words);
        free(starts);
        free(lengths);
        free(gone);
        free(bytes);
    }
}

/* ---- checksums ---- */

static uint64_t slow_checksum(const uint8_t *bytes, size_t n) {
    uint64_t sums[4] = {1, 2, 3, 4}, whole = n;
    for (size_t word = 0; word * 8 < n; word++) {
        uint64_t value = 0;
        for (size_t i = word * 8; i < word * 8 + 8 && i < n; i++) value += (uint64_t)bytes[i] << i % 8 * 8;
        uint64_t *sum = sums + word % 4;
        *sum = (*sum ^ value) * UINT64_C(0x9E3779B97F4A7C15);
        *sum ^= *sum >> 32;
    }
    for (size_t lane = 0; lane < 4; lane++) whole = mix64(whole ^ sums[lane]);
    return whole;
}

static void check_checksums(void) {
    for EACH_ROUND(round, 1500) {
        size_t n = case_size(round < 200 ? round : below(round % 20 ? 700 : 20000), 200), most = 1 + below(round % 20 ? 80 : 15000);
        uint8_t *bytes = buffer(n);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)anything();
        uint64_t wanted = slow_checksum(bytes, n);
        struct checksum *sum = buffer(sizeof *sum);
        checksum_begin(sum);
        for (size_t at = 0; at < n;) {
            size_t piece = below(most + 1);
            if (piece > n - at) piece = n - at;
            uint8_t *copy = copy_of(bytes + at, piece);
            checksum_feed(sum, copy, piece);
            at += piece;
            free(copy);
            if (below(4) == 0) CHECK(checksum_end(sum) == slow_checksum(bytes, at)); /* and it goes on */
        }
        CHECK(checksum_end(sum) == wanted);
        note(wanted);
        free(sum);
        free(bytes);
    }
}

int main(void) {
    static void (*const checks[])(void) = {
        check_tables,  check_one_bucket, check_batches, check_every_place,
        check_queries, check_integers,   check_strings, check_checksums,
    };
    for (size_t i = 0; i < 1000; i++) {
        uint64_t word = anything();
        CHECK(mix64(unmix64(word)) == word);
    }
    for (size_t c = 0; c < COUNT(checks); c++) checks[c]();
    return print_digest();
}

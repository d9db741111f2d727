/* The memory of an index's tables (band_tables.h) as it grows, runs out and is given back: beside plain arrays, with every
 * request for memory failing in its turn. Memory ends where it was asked to end, so that the sanitizers see each step
 * beyond it. Prints a digest of all results, which no compiler may change. */
#define _POSIX_C_SOURCE 200112L /* posix_memalign */
#include "tables/band_tables.h"
#include "sanitize_kit.h"

/* ---- memory that runs out ---- */

static size_t requests = 0, fails_at = 0; /* the request that fails, 0 for none */
static int onwards = 0;

static void *source(size_t bytes) {
    void *made = NULL;
    requests++;
    if (fails_at && (requests == fails_at || (onwards && requests > fails_at))) return NULL;
#ifdef _WIN32 /* free takes nothing else there, and no sanitizer looks at the end */
    CHECK((made = malloc(bytes)) != NULL);
#else
    CHECK(posix_memalign(&made, 64, bytes) == 0);
#endif
    memset(made, 0xA5, bytes);
    return made;
}

static void fail(size_t at, int and_later) {
    requests = 0;
    fails_at = at;
    onwards = and_later;
}

/* ---- tables beside arrays ---- */

enum { K = 5, BANDS = 2, ROWS = 2, NAMES = 180, MOST = 400 };

struct side {
    struct band_tables index;
    struct band_tables_batch one, many;
    enum names_kind kind;
    char texts[NAMES][12];
    struct names_one names[NAMES];
    int64_t row[NAMES]; /* of each name, -1 for none */
    uint64_t signatures[MOST][K]; /* of each row */
    uint64_t *given[MOST];        /* arrays that blocks are kept in, which live to the end */
    size_t arrays;
};

/* A name of one of few tags, so that buckets become crowded. */
static void make_name(struct side *side, size_t i) {
    uint64_t hash = (uint64_t)(i % 5 ? 77 + i % 5 : 5 + i) << 32 | i, limb = unmix64(hash) ^ mix64(9);
    if (side->kind == NAMES_INTEGERS) {
        side->names[i] = names_integer((int64_t)unmix64(hash));
        return;
    }
    for (size_t at = 0; at < 8; at++) side->texts[i][at] = (char)(limb >> 8 * at);
    side->names[i] = names_string((const uint8_t *)side->texts[i], i ? 8 : 0);
}

static struct side *begin(enum names_kind kind, size_t block_rows) {
    struct side *side = calloc(1, sizeof *side);
    struct band_tables *index = &side->index;
    enum tables_outcome outcome;
    side->kind = kind;
    for (size_t i = 0; i < NAMES; i++) {
        make_name(side, i);
        side->row[i] = -1;
    }
    for (size_t at = 1;; at++) { /* the beginning may fail, too, and is ended all the same */
        fail(at, (int)(at & 1));
        outcome = band_tables_begin(index, source, K, BANDS, ROWS, kind, block_rows * K * sizeof(uint64_t));
        note((uint64_t)outcome);
        fail(0, 0);
        if (outcome == TABLES_DONE) break;
        band_tables_end(index);
    }
    names_set_key(&index->names, 3, 4);
    index->keys = bands_levels[CPU_SCALAR];
    index->kernels = tables_levels[cpu_detect()];
    CHECK(band_tables_batch_begin(&side->one, &side->index, 1) == TABLES_DONE);
    CHECK(band_tables_batch_begin(&side->many, &side->index, MOST) == TABLES_DONE);
    return side;
}

static void end(struct side *side) {
    band_tables_end(&side->index);
    band_tables_batch_end(&side->one);
    band_tables_batch_end(&side->many);
    for (size_t i = 0; i < side->arrays; i++) free(side->given[i]);
    free(side);
}

static int in_table(const struct band_tables *index, size_t band, uint32_t tag, uint32_t row) {
    uint32_t alone;
    const uint32_t *rows;
    size_t at = tables_find(index->tables + band, tag), found = 0;
    if (at == TABLES_NO_PLACE) return 0;
    size_t slots = tables_bucket_slots(&index->pool, index->tables[band].entries[at], &alone, &rows);
    CHECK(slots != TABLES_NO_PLACE);
    for (size_t s = 0; s < slots; s++) found += rows[s] == row;
    CHECK(found <= 1);
    return (int)found;
}

/* How many rows there are in the buckets of more than `few` rows. */
static size_t rows_in(const struct tables_table *table, const struct tables_pool *pool, size_t few) {
    size_t rows = 0;
    for (size_t i = 0; i < table->length; i++) {
        size_t count = table->entries[i] == TABLES_NO_ENTRY ? 0 : tables_bucket_count(pool, table->entries[i]);
        if (count > few) rows += count;
    }
    return rows;
}

/* The tables hold the names and signatures that the arrays say, and nothing else. */
static void check(const struct side *side) {
    const struct band_tables *index = &side->index;
    uint64_t keys[BANDS], held = 0;
    uint32_t tags[BANDS];
    for (size_t i = 0; i < NAMES; i++) {
        size_t met, compared = 0;
        uint32_t row = names_find(&index->names, side->names + i, &met, &compared);
        CHECK((row == TABLES_NO_ROW ? -1 : (int64_t)row) == side->row[i]);
        note(row);
        if (side->row[i] < 0) continue;
        held++;
        CHECK(row < index->limit && index->alive[row]);
        CHECK(memcmp(band_tables_signature(index, row), side->signatures[row], sizeof side->signatures[row]) == 0);
        band_tables_tags(index, side->signatures[row], keys, tags, 1);
        for (size_t band = 0; band < BANDS; band++) CHECK(in_table(index, band, tags[band], row));
    }
    size_t alive = 0;
    for (size_t row = 0; row < index->limit; row++) alive += index->alive[row];
    CHECK(alive == held && index->limit == alive + index->free_count + index->idle);
    for (size_t table = 0; table < BANDS + 1; table++) {
        CHECK(tables_is_sound(index->tables + table, &index->pool, index->limit));
        CHECK(rows_in(index->tables + table, &index->pool, 0) == held);
    }
    const struct names_crowd *crowd = &index->names.crowd;
    size_t crowded = rows_in(index->names.table, &index->pool, NAMES_CROWD);
    CHECK(!crowd->table.entries || tables_is_sound(&crowd->table, &crowd->pool, index->limit));
    CHECK(crowded == (crowd->table.entries ? rows_in(&crowd->table, &crowd->pool, 0) : 0));
}

static void draw_signature(uint64_t *signature) {
    for (size_t i = 0; i < K; i++) signature[i] = below(4);
}

/* Insert a name; where memory runs out, all is as before. */
static void insert_one(struct side *side, size_t name) {
    uint64_t signature[K];
    draw_signature(signature);
    for (size_t at = 1;; at++) {
        int64_t row = -2;
        fail(at, (int)(at & 1));
        enum tables_outcome outcome =
            band_tables_insert_one(&side->index, &side->one, side->names + name, signature, &row);
        fail(0, 0);
        note((uint64_t)outcome);
        if (outcome == TABLES_DONE) {
            CHECK((row < 0) == (side->row[name] >= 0));
            if (row < 0) return;
            side->row[name] = row;
            memcpy(side->signatures[row], signature, sizeof signature);
            return;
        }
        CHECK(outcome == TABLES_NO_MEMORY);
        check(side);
    }
}

/* Keep the signatures of the first rows where they are, if these are the whole of a block. */
static size_t keep_some(struct side *side, const int64_t *rows, size_t n, const uint64_t *signatures) {
    struct band_tables *index = &side->index;
    size_t whole = band_tables_rest_of_block(index, (size_t)rows[0]), block = (size_t)rows[0] >> index->shift;
    if (n < whole || (size_t)rows[0] % ((size_t)1 << index->shift)) return 0;
    for (size_t i = 0; i < whole; i++) {
        if (rows[i] != rows[0] + (int64_t)i) return 0;
    }
    uint64_t *copy = malloc(whole * K * sizeof *copy);
    memcpy(copy, signatures, whole * K * sizeof *copy);
    side->given[side->arrays++ % MOST] = copy;
    band_tables_keep(index, block, copy, whole, whole);
    return whole;
}

static enum tables_outcome write_rows(struct side *side, const int64_t *rows, size_t n, const uint64_t *signatures) {
    struct band_tables *index = &side->index;
    size_t kept = side->arrays < MOST && n && below(3) == 0 ? keep_some(side, rows, n, signatures) : 0, done = 0;
    enum tables_outcome outcome = band_tables_prepare(index, rows + kept, n - kept);
    if (outcome != TABLES_DONE) return outcome;
    struct band_tables_batch *batch = below(2) ? &side->many : &side->one;
    while (done < n && outcome == TABLES_DONE) outcome = band_tables_write(index, batch, rows, signatures, n, &done);
    if (outcome != TABLES_DONE) band_tables_erase(index, batch, rows, done);
    return outcome;
}

/* Admit a batch of names, some of which have rows or come twice, and write the signatures of those that are new. */
static void insert_batch(struct side *side) {
    struct names_one ones[40];
    int64_t rows[40], fresh_rows[40], integers[40];
    size_t names[40], n = case_size(below(40), 6), from = below(NAMES);
    for (size_t i = 0; i < n; i++) {
        names[i] = (from + i * (1 + i % 2)) % NAMES;
        ones[i] = side->names[names[i]];
        integers[i] = ones[i].integer;
    }
    for (size_t at = 1;; at++) {
        uint8_t fresh[40] = {0};
        uint64_t signatures[40 * K];
        size_t done = 0, count = 0;
        enum tables_outcome outcome;
        fail(at, (int)(at & 1));
        if (side->kind == NAMES_INTEGERS && below(2)) {
            outcome = band_tables_admit_integers(&side->index, integers, n, rows, fresh, &done);
        } else {
            outcome = band_tables_admit(&side->index, ones, n, rows, fresh, &done);
        }
        CHECK((outcome == TABLES_DONE) == (done == n));
        for (size_t i = 0; i < done; i++) {
            if (fresh[i]) fresh_rows[count++] = rows[i];
        }
        for (size_t i = 0; i < count; i++) draw_signature(signatures + i * K);
        if (outcome == TABLES_DONE) outcome = write_rows(side, fresh_rows, count, signatures);
        note((uint64_t)outcome);
        fail(at, 1); /* giving back needs no memory */
        if (outcome != TABLES_DONE) band_tables_release(&side->index, fresh_rows, count);
        fail(0, 0);
        if (outcome == TABLES_DONE) {
            for (size_t i = 0; i < n; i++) side->row[names[i]] = rows[i];
            for (size_t i = 0; i < count; i++) {
                memcpy(side->signatures[fresh_rows[i]], signatures + i * K, K * sizeof(uint64_t));
            }
            return;
        }
        check(side);
    }
}

static size_t some_rows(struct side *side, int64_t *rows, size_t *names) {
    size_t n = 0, share = 2 + below(5);
    for (size_t i = 0; i < NAMES; i++) {
        if (side->row[i] < 0 || below(share)) continue;
        names[n] = i;
        rows[n++] = side->row[i];
    }
    return n;
}

static void discard(struct side *side) {
    int64_t rows[2 * NAMES];
    size_t names[NAMES], n = some_rows(side, rows, names);
    for (size_t i = 0; i < n; i++) rows[n + i] = rows[i]; /* each comes twice */
    fail(1, 1);
    CHECK(band_tables_claim_once(&side->index, rows, 2 * n) == n);
    band_tables_erase(&side->index, below(2) ? &side->many : &side->one, rows, n);
    band_tables_release(&side->index, rows, n);
    fail(0, 0);
    for (size_t i = 0; i < n; i++) side->row[names[i]] = -1;
}

/* Other rows, with signatures of their own, take over the names. */
static void hand_over(struct side *side) {
    int64_t old[NAMES], new[NAMES];
    uint64_t signatures[NAMES * K];
    size_t names[NAMES], n = some_rows(side, old, names);
    if (band_tables_reserve(&side->index, n) != TABLES_DONE) CHECK(0);
    band_tables_allot(&side->index, n, new);
    for (size_t i = 0; i < n; i++) draw_signature(signatures + i * K);
    CHECK(write_rows(side, new, n, signatures) == TABLES_DONE);
    CHECK(band_tables_turn(&side->index, old, n, BAND_TABLES_IN_USE, BAND_TABLES_FREE) == n);
    fail(1, 1);
    band_tables_hand_over(&side->index, &side->many, old, new, n);
    fail(0, 0);
    for (size_t i = 0; i < n; i++) {
        side->row[names[i]] = new[i];
        memcpy(side->signatures[new[i]], signatures + i * K, K * sizeof(uint64_t));
    }
}

static void check_steps(size_t round, size_t steps) {
    struct side *side = begin(round & 1 ? NAMES_INTEGERS : NAMES_STRINGS, round % 3 ? 4 : 64);
    const uint64_t *entries = side->index.tables[0].entries;
    uint64_t first = entries[0];
    side->index.heap.watched = round % 4 == 0;
    for (size_t step = 0; step < steps; step++) {
        size_t kind = below(8), name = below(NAMES);
        if (kind < 3) insert_one(side, name);
        else if (kind < 6) insert_batch(side);
        else if (kind == 6) discard(side);
        else if (below(2)) hand_over(side);
        else CHECK(band_tables_tidy(&side->index) == TABLES_DONE);
        while (band_tables_let_go(&side->index) != TABLES_NO_PLACE) note(1);
        check(side);
    }
    if (side->index.heap.watched) {
        note(side->index.heap.retired != NULL);
        if (side->index.tables[0].entries != entries) CHECK(entries[0] == first || first == TABLES_NO_ENTRY);
        tables_heap_sweep(&side->index.heap);
        CHECK(side->index.heap.retired == NULL);
    }
    end(side);
}

static void check_growth(void) {
    for (size_t round = 0; round < 100; round++) check_steps(round, 100);
}

/* Many names of one tag: no step looks at the others, nor does a search in tables that are only read, once the crowd is
 * gathered. */
static void check_crowd(void) {
    enum { MANY = 20000 };
    struct band_tables index;
    CHECK(band_tables_begin(&index, source, 1, 1, 1, NAMES_INTEGERS, 1 << 12) == TABLES_DONE);
    names_set_key(&index.names, 5, 6);
    int64_t *names = malloc(MANY * sizeof *names), *rows = malloc(MANY * sizeof *rows);
    uint8_t *fresh = calloc(MANY, 1);
    size_t done = 0, compared = 0;
    for (size_t i = 0; i < MANY; i++) names[i] = (int64_t)unmix64(UINT64_C(77) << 32 | i);
    CHECK(band_tables_admit_integers(&index, names, MANY, rows, fresh, &done) == TABLES_DONE);
    CHECK(names_find_integers(&index.names, names, MANY, rows, SIZE_MAX, &compared) == MANY && compared == 0);
    for (size_t i = 0; i < MANY; i++) CHECK(rows[i] == (int64_t)i && fresh[i]);
    struct names read = index.names;
    struct names_crowd gathered;
    memset(&read.crowd, 0, sizeof read.crowd);
    done = names_find_integers(&read, names, MANY, rows, 10 * MANY, &compared);
    CHECK(done < 20 && compared >= 10 * MANY); /* one by one, until it is enough */
    for (size_t at = 1;; at++) {
        fail(at, (int)(at & 1));
        enum tables_outcome outcome = names_gather(&read, &index.heap, &gathered);
        fail(0, 0);
        note((uint64_t)outcome);
        if (outcome == TABLES_DONE) break;
    }
    read.crowd = gathered;
    compared = 0;
    CHECK(names_find_integers(&read, names, MANY, rows, SIZE_MAX, &compared) == MANY && compared == 0);
    for (size_t i = 0; i < MANY; i++) CHECK(rows[i] == (int64_t)i);
    names_end_crowd(&gathered);
    band_tables_turn(&index, rows, MANY, BAND_TABLES_IN_USE, BAND_TABLES_FREE);
    band_tables_release(&index, rows, MANY);
    CHECK(index.limit == 0 && index.names.table->count == 0 && !index.names.crowd.table.entries);
    free(names);
    free(rows);
    free(fresh);
    band_tables_end(&index);
}

/* Signatures of somebody else, as those of a file, and the codes of their rows. */
static void check_fixed(void) {
    enum { FIXED = 2 * BAND_TABLES_GROUP + 3, SLOTS = 4, HEAD = 1, TAIL = SLOTS - HEAD };
    struct band_tables index;
    uint64_t *signatures = numbers(FIXED * K);
    for (size_t i = 0; i < FIXED * K; i++) signatures[i] = anything();
    CHECK(band_tables_begin(&index, source, K, BANDS, ROWS, NAMES_INTEGERS, 16 * K * sizeof(uint64_t)) == TABLES_DONE);
    enum tables_outcome outcome = TABLES_NO_MEMORY;
    for (size_t at = 1; outcome != TABLES_DONE; at++) {
        fail(at, 0);
        outcome = band_tables_fix(&index, signatures, FIXED);
        fail(0, 0);
        note((uint64_t)outcome);
    }
    index.slots = SLOTS;
    index.head = HEAD;
    outcome = TABLES_NO_MEMORY;
    for (size_t at = 1; outcome != TABLES_DONE; at++) {
        fail(at, 0);
        outcome = band_tables_code(&index);
        fail(0, 0);
        note((uint64_t)outcome);
    }
    CHECK(index.limit == FIXED);
    for (size_t row = 0; row < FIXED; row++) {
        CHECK(band_tables_has(&index, row) && band_tables_signature(&index, row) == signatures + row * K);
        CHECK(index.heads[row] == signatures[row * K]); /* one word: a group has its rows one after the other */
        CHECK(memcmp(index.tails + row * TAIL, signatures + row * K + HEAD, TAIL * sizeof *signatures) == 0);
    }
    band_tables_end(&index);
    free(signatures);
}

/* Names whose bytes are gathered once most of them belong to rows that are gone, and a table that grows for names to come. */
static void check_long_names(void) {
    enum { MANY = 5000, LENGTH = 300 };
    struct band_tables index;
    CHECK(band_tables_begin(&index, source, 1, 1, 1, NAMES_STRINGS, 1 << 12) == TABLES_DONE);
    names_set_key(&index.names, 5, 6);
    uint8_t *texts = buffer(MANY * LENGTH), *fresh = calloc(MANY, 1);
    struct names_one *names = buffer(MANY * sizeof *names);
    int64_t *rows = buffer(MANY * sizeof *rows), *found = buffer(MANY * sizeof *found);
    size_t done = 0, compared = 0, gone = MANY * 3 / 4;
    for (size_t i = 0; i < MANY; i++) {
        memcpy(texts + i * LENGTH, &i, sizeof i);
        names[i] = names_string(texts + i * LENGTH, LENGTH);
    }
    CHECK(band_tables_admit(&index, names, 10, rows, fresh, &done) == TABLES_DONE);
    CHECK(band_tables_expect(&index, 0, 10, MANY - 10) == TABLES_DONE);
    CHECK(!tables_is_crowded(index.names.table, MANY - 10));
    done = 0;
    CHECK(band_tables_admit(&index, names + 10, MANY - 10, rows + 10, fresh + 10, &done) == TABLES_DONE);
    CHECK(band_tables_unwritten(&index, rows, MANY) == 0); /* none has a signature yet */
    CHECK(band_tables_turn(&index, rows, gone, BAND_TABLES_IN_USE, BAND_TABLES_FREE) == gone);
    CHECK(band_tables_unused(&index, rows + gone, MANY - gone) == MANY - gone && band_tables_unused(&index, rows, MANY) == 0);
    band_tables_release(&index, rows, gone);
    CHECK(index.names.used < (MANY - gone) * LENGTH * 2);
    CHECK(names_find_strings(&index.names, names, MANY, found, SIZE_MAX, &compared) == MANY);
    for (size_t i = 0; i < MANY; i++) CHECK(found[i] == (i < gone ? -1 : rows[i]));
    note(index.names.used);
    free(texts), free(fresh), free(names), free(rows), free(found);
    band_tables_end(&index);
}

/* Answers that need more room than there is, and sizes that no memory has. */
static void check_limits(void) {
    struct tables_heap heap = {source, 0, NULL};
    struct band_tables_answers answers;
    struct band_tables index;
    CHECK(!tables_memory_get(&heap, SIZE_MAX / 8 + 2, 8) && !tables_memory_get(&heap, SIZE_MAX, 1));
    tables_heap_give(&heap, NULL);
    CHECK(band_tables_answers_begin(&answers, 3, SIZE_MAX / 2) == TABLES_NO_MEMORY && !answers.rows);
    CHECK(band_tables_answers_begin(&answers, 3, 2) == TABLES_DONE);
    answers.needed = SIZE_MAX / 4;
    CHECK(band_tables_answers_grow(&answers) == TABLES_NO_MEMORY);
    answers.needed = 1000;
    CHECK(band_tables_answers_grow(&answers) == TABLES_DONE && answers.room >= 1000 && answers.capacity >= 1000);
    band_tables_answers_end(&answers);
    CHECK(band_tables_begin(&index, source, 2, 1, 2, NAMES_NONE, 64) == TABLES_DONE);
    CHECK(band_tables_reserve(&index, TABLES_MOST_ROWS + 1) == TABLES_TOO_MANY_ROWS);
    index.pool.length = TABLES_MOST_ROWS;
    CHECK(tables_make_room(&index.heap, index.tables, &index.pool, TABLES_POOL_FULL) == TABLES_POOL_TOO_LONG);
    struct tables_table full = {NULL, TABLES_MOST_CAPACITY, TABLES_MOST_CAPACITY, TABLES_MOST_CAPACITY};
    CHECK(tables_grow(&index.heap, &full, 1, 1) == TABLES_TOO_LONG);
    band_tables_end(&index);
}

int main(void) {
    check_growth();
    check_crowd();
    check_fixed();
    check_long_names();
    check_limits();
    return print_digest();
}

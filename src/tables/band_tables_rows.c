/* The rows of tables: their memory, which of them are in use, and their names. All that may fail for want of memory comes
 * before the first change. */
#include <string.h>

#include "tables/band_tables.h"

#define BAND_TABLES_SLACK 64        /* entries beyond a table's capacity, at first */
#define BAND_TABLES_LEAST 48        /* capacity of the first table, at first */
#define BAND_TABLES_LEAST_UNITS 16  /* of the pool, at first */
#define BAND_TABLES_MOST_SHIFT 12

static inline size_t block_rows(const struct band_tables *index) { return (size_t)1 << index->shift; }

static inline size_t place_in_block(const struct band_tables *index, size_t row) {
    return row & (block_rows(index) - 1);
}

/* ---- beginning and end ---- */

enum tables_outcome band_tables_begin(struct band_tables *index, void *(*source)(size_t bytes), size_t k, size_t bands,
                                      size_t rows, enum names_kind kind, size_t block_bytes) {
    memset(index, 0, sizeof *index);
    index->heap.source = source;
    index->k = index->slots = k;
    index->bands = bands;
    index->rows = rows;
    index->let_go = TABLES_NO_PLACE;
    index->shift = BAND_TABLES_MOST_SHIFT;
    while (index->shift && k * sizeof(uint64_t) << index->shift > block_bytes) index->shift--;
    index->tables = tables_memory_get(&index->heap, bands + 1, sizeof *index->tables);
    if (!index->tables) return TABLES_NO_MEMORY;
    memset(index->tables, 0, (bands + 1) * sizeof *index->tables);
    index->names.kind = kind;
    index->names.table = index->tables + bands;
    index->names.pool = &index->pool;
    index->starts = tables_memory_get(&index->heap, bands, sizeof *index->starts);
    if (!index->starts) return TABLES_NO_MEMORY;
    bands_starts(0, bands, index->starts);
    enum tables_outcome outcome = tables_pool_begin(&index->heap, &index->pool, BAND_TABLES_LEAST_UNITS);
    for (size_t i = 0; i < bands + (kind != NAMES_NONE) && outcome == TABLES_DONE; i++) {
        /* each table is a little larger than the last, so that not all of them grow at the same insertion */
        outcome = tables_begin(&index->heap, index->tables + i, BAND_TABLES_LEAST + 16 * i / bands, BAND_TABLES_SLACK);
    }
    return outcome;
}

/* Free what grows. */
static void end_memory(struct band_tables *index) {
    struct names *names = &index->names;
    for (size_t i = 0; index->tables && i <= index->bands; i++) tables_memory_free(index->tables[i].entries);
    for (size_t i = 0; i < index->capacity >> index->shift; i++) {
        if (!index->kept[i].rows) tables_memory_free(index->blocks[i]);
    }
    void *all[] = {index->pool.words, index->alive,  index->free,  index->kept,    index->heads, index->tails,
                   names->integers,   names->bytes,  names->starts, names->lengths};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tables_memory_free(all[i]);
}

void band_tables_end(struct band_tables *index) {
    code_cells_free(&index->cells);
    if (index->fixed) {
        tables_memory_free(index->heads);
        tables_memory_free(index->tails);
    } else {
        end_memory(index);
    }
    names_end_crowd(&index->names.crowd);
    tables_heap_sweep(&index->heap);
    tables_memory_free(index->blocks);
    tables_memory_free(index->tables);
    tables_memory_free(index->starts);
}

enum tables_outcome band_tables_fix(struct band_tables *index, const uint64_t *signatures, size_t n) {
    size_t blocks = (n + block_rows(index) - 1) >> index->shift;
    uint64_t **pointers = tables_memory_get(&index->heap, blocks, sizeof *pointers);
    if (!pointers) return TABLES_NO_MEMORY;
    for (size_t i = 0; i < blocks; i++) pointers[i] = (uint64_t *)signatures + (i << index->shift) * index->k;
    end_memory(index);
    index->heads = index->tails = NULL;
    memset(index->tables, 0, (index->bands + 1) * sizeof *index->tables);
    memset(&index->pool, 0, sizeof index->pool);
    tables_memory_free(index->blocks);
    index->blocks = pointers;
    index->fixed = 1;
    index->limit = index->names.limit = n;
    return TABLES_DONE;
}

/* Rows of as many whole groups as it takes. */
static inline size_t whole_groups(size_t rows) {
    return (rows + BAND_TABLES_GROUP - 1) / BAND_TABLES_GROUP * BAND_TABLES_GROUP;
}

enum tables_outcome band_tables_code(struct band_tables *index) {
    const size_t limit = index->limit, rows = whole_groups(limit);
    uint64_t *heads = tables_memory_get(&index->heap, rows * index->head, sizeof *heads);
    uint64_t *tails = tables_memory_get(&index->heap, limit * (index->slots - index->head), sizeof *tails);
    if (!heads || !tails) {
        tables_memory_free(heads);
        tables_memory_free(tails);
        return TABLES_NO_MEMORY;
    }
    index->heads = heads;
    index->tails = tails;
    for (size_t row = 0; row < limit; row++) band_tables_lay_code(index, row, band_tables_signature(index, row));
    return TABLES_DONE;
}

/* ---- room for rows ---- */

/* An array that is to become longer: how much of it is in use, the size of an item, and its copy. */
struct longer {
    const void *array;
    size_t used, width;
    void *copy;
};

/* Copy all arrays to memory for `count` items each, or none. */
static enum tables_outcome copy_all(struct tables_heap *heap, struct longer *arrays, size_t n, size_t count) {
    for (size_t i = 0; i < n; i++) {
        arrays[i].copy = tables_memory_copy(heap, arrays[i].array, arrays[i].used, count, arrays[i].width);
        if (arrays[i].copy) continue;
        while (i-- > 0) tables_memory_free(arrays[i].copy);
        return TABLES_NO_MEMORY;
    }
    return TABLES_DONE;
}

/* Give an array back and return its copy. */
static void *replaced(struct tables_heap *heap, void *array, const struct longer *longer) {
    tables_heap_give(heap, array);
    return longer->copy;
}

static size_t longer_than(size_t length, size_t wanted) {
    return wanted > length + length / 2 ? wanted : length + length / 2;
}

static enum tables_outcome reserve_rows(struct band_tables *index, size_t wanted) {
    struct names *names = &index->names;
    struct tables_heap *heap = &index->heap;
    const size_t room = whole_groups(longer_than(index->room, wanted)), limit = index->limit;
    const size_t head = index->head, tail = index->slots - head;
    if (wanted <= index->room) return TABLES_DONE;
    struct longer arrays[] = {{index->alive, limit, sizeof *index->alive, NULL},
                              {index->free, index->free_count, sizeof *index->free, NULL},
                              {index->heads, whole_groups(limit), sizeof *index->heads * head, NULL},
                              {index->tails, limit, sizeof *index->tails * tail, NULL},
                              {names->integers, limit, sizeof *names->integers, NULL},
                              {names->starts, limit, sizeof *names->starts, NULL},
                              {names->lengths, limit, sizeof *names->lengths, NULL}};
    void **const places[] = {(void **)&index->alive,    (void **)&index->free,   (void **)&index->heads,
                             (void **)&index->tails,    (void **)&names->integers,
                             (void **)&names->starts,   (void **)&names->lengths};
    const int strings = names->kind == NAMES_STRINGS, coded = head != 0;
    const int needed[] = {1, 1, coded, coded, names->kind == NAMES_INTEGERS, strings, strings};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    struct longer some[ARRAYS];
    size_t n = 0;
    for (size_t i = 0; i < ARRAYS; i++) {
        if (needed[i]) some[n++] = arrays[i];
    }
    if (copy_all(heap, some, n, room) != TABLES_DONE) return TABLES_NO_MEMORY;
    for (size_t i = 0, at = 0; i < ARRAYS; i++) {
        if (needed[i]) *places[i] = replaced(heap, *places[i], some + at++);
    }
    memset(index->alive + limit, 0, room - limit);
    index->room = room;
    return TABLES_DONE;
}

static enum tables_outcome reserve_blocks(struct band_tables *index, size_t wanted) {
    struct tables_heap *heap = &index->heap;
    size_t had = index->capacity >> index->shift, room = longer_than(index->blocks_room, wanted);
    if (wanted > index->blocks_room) {
        struct longer arrays[2] = {{index->blocks, had, sizeof *index->blocks, NULL},
                                   {index->kept, had, sizeof *index->kept, NULL}};
        if (copy_all(heap, arrays, 2, room) != TABLES_DONE) return TABLES_NO_MEMORY;
        index->blocks = replaced(heap, index->blocks, arrays);
        index->kept = replaced(heap, index->kept, arrays + 1);
        index->blocks_room = room;
    }
    for (size_t i = had; i < wanted; i++) {
        index->blocks[i] = NULL;
        index->kept[i] = (struct band_tables_kept){0, 0, TABLES_NO_PLACE};
    }
    index->capacity = wanted << index->shift;
    return TABLES_DONE;
}

enum tables_outcome band_tables_reserve(struct band_tables *index, size_t more) {
    size_t again = more < index->free_count ? more : index->free_count, left = TABLES_MOST_ROWS - index->limit;
    if (more - again > left) return TABLES_TOO_MANY_ROWS;
    size_t wanted = index->limit + more - again;
    if (wanted <= index->capacity) return TABLES_DONE;
    size_t blocks = (wanted + block_rows(index) - 1) >> index->shift;
    enum tables_outcome outcome = reserve_rows(index, blocks << index->shift);
    return outcome == TABLES_DONE ? reserve_blocks(index, blocks) : outcome;
}

/* ---- blocks of signatures ---- */

static void free_row(struct band_tables *index, size_t row) { index->free[index->free_count++] = (uint32_t)row; }

/* Forget a block that is kept; its rows that are not in use are free. */
static void let_go(struct band_tables *index, size_t block) {
    struct band_tables_kept *kept = index->kept + block;
    size_t first = block << index->shift;
    for (size_t row = first; row < first + kept->rows; row++) {
        if (!index->alive[row]) free_row(index, row);
    }
    index->idle -= kept->rows - kept->used;
    kept->rows = kept->used = 0;
    index->blocks[block] = NULL;
    if (kept->next != TABLES_NO_PLACE) return; /* it is in the list */
    kept->next = index->let_go == TABLES_NO_PLACE ? block : index->let_go;
    index->let_go = block;
}

size_t band_tables_let_go(struct band_tables *index) {
    while (index->let_go != TABLES_NO_PLACE) {
        size_t block = index->let_go, next = index->kept[block].next;
        index->let_go = next == block ? TABLES_NO_PLACE : next; /* the last of the list leads to itself */
        index->kept[block].next = TABLES_NO_PLACE;
        if (!index->kept[block].rows) return block;
    }
    return TABLES_NO_PLACE;
}

void band_tables_keep(struct band_tables *index, size_t block, const uint64_t *signatures, size_t rows, size_t used) {
    struct band_tables_kept *kept = index->kept + block;
    if (used == rows && kept->rows) let_go(index, block);
    if (!kept->rows) tables_heap_give(&index->heap, index->blocks[block]);
    kept->rows = (uint32_t)rows;
    kept->used += (uint32_t)used;
    index->blocks[block] = (uint64_t *)signatures;
}

/* Have memory of our own for a block, with the signatures of the one that is kept. */
static enum tables_outcome own_block(struct band_tables *index, size_t block) {
    size_t kept = index->kept[block].rows;
    uint64_t *made = tables_memory_copy(&index->heap, index->blocks[block], kept * index->k, index->k << index->shift,
                                        sizeof *made);
    if (!made) return TABLES_NO_MEMORY;
    if (kept) let_go(index, block);
    index->blocks[block] = made;
    return TABLES_DONE;
}

size_t band_tables_same_block(const struct band_tables *index, const int64_t *rows, size_t n) {
    size_t i = 0;
    while (i < n && rows[i] >> index->shift == rows[0] >> index->shift) i++;
    return i;
}

size_t band_tables_rest_of_block(const struct band_tables *index, size_t row) {
    size_t left = block_rows(index) - place_in_block(index, row);
    return left < index->limit - row ? left : index->limit - row;
}

enum tables_outcome band_tables_prepare(struct band_tables *index, const int64_t *rows, size_t n) {
    for (size_t i = 0; i < n; i += band_tables_same_block(index, rows + i, n - i)) {
        size_t block = (size_t)rows[i] >> index->shift;
        if (index->blocks[block] && !index->kept[block].rows) continue;
        if (own_block(index, block) != TABLES_DONE) return TABLES_NO_MEMORY;
    }
    return TABLES_DONE;
}

size_t band_tables_unwritten(const struct band_tables *index, const int64_t *rows, size_t n) {
    size_t i = 0;
    for (; i < n; i++) {
        size_t block = (size_t)rows[i] >> index->shift, kept = index->kept[block].rows;
        if (!index->blocks[block] || (kept && place_in_block(index, (size_t)rows[i]) >= kept)) break;
    }
    return i;
}

/* ---- rows in use ---- */

size_t band_tables_unused(const struct band_tables *index, const int64_t *rows, size_t n) {
    size_t i = 0;
    while (i < n && index->alive[rows[i]]) i++;
    return i;
}

size_t band_tables_turn(struct band_tables *index, const int64_t *rows, size_t n, uint8_t from, uint8_t to) {
    for (size_t i = 0; i < n; i++) {
        if (index->alive[rows[i]] != from) {
            for (size_t j = 0; j < i; j++) index->alive[rows[j]] = from;
            return i;
        }
        index->alive[rows[i]] = to;
    }
    return n;
}

/* Take a row, which there is memory for. */
static size_t take_row(struct band_tables *index) {
    size_t row = index->limit;
    if (index->free_count) row = index->free[--index->free_count];
    else index->limit = index->names.limit = row + 1;
    index->alive[row] = BAND_TABLES_IN_USE;
    return row;
}

void band_tables_allot(struct band_tables *index, size_t n, int64_t *rows) {
    struct names *names = &index->names;
    for (size_t i = 0; i < n; i++) {
        size_t row = take_row(index);
        if (names->kind == NAMES_INTEGERS) names->integers[row] = 0;
        if (names->kind == NAMES_STRINGS) names->starts[row] = names->lengths[row] = 0;
        rows[i] = (int64_t)row;
    }
}

size_t band_tables_claim_once(struct band_tables *index, int64_t *rows, size_t n) {
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        if (!index->alive[rows[i]]) continue;
        index->alive[rows[i]] = 0;
        rows[made++] = rows[i];
    }
    return made;
}

/* The first of the rows is taken first again. One of a kept block is used again when the whole block is free, so as
 * not to copy it. */
void band_tables_give_back(struct band_tables *index, const int64_t *rows, size_t n) {
    for (size_t i = n; i-- > 0;) {
        size_t row = (size_t)rows[i], block = row >> index->shift;
        struct band_tables_kept *kept = index->kept + block;
        index->alive[row] = 0;
        if (kept->rows <= place_in_block(index, row)) {
            free_row(index, row);
            continue;
        }
        kept->used--;
        index->idle++;
        if (kept->used == 0) let_go(index, block);
    }
    if (index->free_count == index->limit) index->free_count = index->limit = index->names.limit = 0;
}

void band_tables_release(struct band_tables *index, const int64_t *rows, size_t n) {
    struct names *names = &index->names;
    struct names_one one;
    for (size_t i = 0; i < n && names->kind != NAMES_NONE; i++) {
        if (i + NAMES_AHEAD < n && names_of_row(names, (size_t)rows[i + NAMES_AHEAD], &one)) {
            tables_prefetch_home(names->table, one.tag);
        }
        names_take(names, (uint32_t)rows[i]);
    }
    band_tables_give_back(index, rows, n);
    if (names->kind == NAMES_STRINGS) names_tidy(names, &index->heap, index->alive);
}

/* ---- names ---- */

/* Give a name a row unless it has one. */
static enum tables_outcome admit_one(struct band_tables *index, const struct names_one *one, int64_t *row,
                                     uint8_t *fresh) {
    size_t met, compared = 0;
    uint32_t found = names_find(&index->names, one, &met, &compared);
    if (found != TABLES_NO_ROW) {
        *row = found;
        return TABLES_DONE;
    }
    enum tables_outcome outcome = names_reserve(&index->names, &index->heap, one->length);
    if (outcome == TABLES_DONE) outcome = band_tables_reserve(index, 1);
    if (outcome != TABLES_DONE) return outcome;
    *row = (int64_t)take_row(index);
    names_write(&index->names, one, (size_t)*row);
    outcome = names_put(&index->names, &index->heap, one, (uint32_t)*row, met);
    *fresh = outcome == TABLES_DONE;
    if (outcome != TABLES_DONE) {
        index->names.wasted += one->length;
        band_tables_give_back(index, row, 1);
    }
    return outcome;
}

enum tables_outcome band_tables_admit(struct band_tables *index, const struct names_one *ones, size_t n, int64_t *rows,
                                      uint8_t *fresh, size_t *done) {
    for (; *done < n; ++*done) {
        size_t i = *done;
        if (i + NAMES_AHEAD < n) tables_prefetch_home(index->names.table, ones[i + NAMES_AHEAD].tag);
        enum tables_outcome outcome = admit_one(index, ones + i, rows + i, fresh + i);
        if (outcome != TABLES_DONE) return outcome;
    }
    return TABLES_DONE;
}

enum tables_outcome band_tables_admit_integers(struct band_tables *index, const int64_t *names, size_t n, int64_t *rows,
                                               uint8_t *fresh, size_t *done) {
    uint32_t tags[NAMES_AHEAD];
    for (size_t asked = *done; *done < n; ++*done) {
        size_t i = *done;
        for (; asked < n && asked < i + NAMES_AHEAD; asked++) {
            tags[asked % NAMES_AHEAD] = names_tag_of_integer(names[asked]);
            tables_prefetch_home(index->names.table, tags[asked % NAMES_AHEAD]);
        }
        struct names_one one = {NULL, 0, names[i], tags[i % NAMES_AHEAD]};
        enum tables_outcome outcome = admit_one(index, &one, rows + i, fresh + i);
        if (outcome != TABLES_DONE) return outcome;
    }
    return TABLES_DONE;
}

enum tables_outcome band_tables_expect(struct band_tables *index, uint64_t before, size_t done, size_t left) {
    struct tables_table *table = index->names.table;
    if (!done || table->count < before) return TABLES_DONE;
    size_t more = (size_t)((double)left * ((double)(table->count - before) / (double)done));
    return tables_is_crowded(table, more) ? tables_grow(&index->heap, table, more, 1) : TABLES_DONE;
}

enum tables_outcome band_tables_tidy(struct band_tables *index) {
    struct tables_pool tidy;
    uint64_t used = index->pool.used < BAND_TABLES_LEAST_UNITS ? BAND_TABLES_LEAST_UNITS : index->pool.used;
    if (tables_pool_begin(&index->heap, &tidy, used) != TABLES_DONE) return TABLES_NO_MEMORY;
    for (size_t i = 0; i < index->bands + (index->names.kind != NAMES_NONE); i++) {
        tables_move_blocks(index->tables + i, &index->pool, &tidy);
    }
    tables_heap_give(&index->heap, index->pool.words);
    index->pool = tidy;
    return TABLES_DONE;
}

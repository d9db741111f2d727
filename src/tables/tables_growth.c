/* Tables and pools that grow. Growing is a copy into new memory, so a table whose growth fails is as it was. */
#include "tables/tables.h"

#define TABLES_MOST_UNITS TABLES_MOST_ROWS
#define TABLES_LEAST_UNITS 1024 /* that a pool grows by */

/* A length whose lines, with the entry at the end, are whole, so that the next table may follow it in a file. */
static inline uint64_t whole_lines(uint64_t length) { return length | (TABLES_LINE - 1); }

enum tables_outcome tables_begin(struct tables_heap *heap, struct tables_table *table, uint64_t capacity,
                                 uint64_t slack) {
    table->capacity = capacity;
    table->length = whole_lines(capacity + slack);
    table->entries = tables_memory_get(heap, table->length + 1, sizeof *table->entries);
    if (!table->entries) return TABLES_NO_MEMORY;
    tables_clear(table);
    return TABLES_DONE;
}

enum tables_outcome tables_pool_begin(struct tables_heap *heap, struct tables_pool *pool, uint64_t units) {
    pool->words = tables_memory_get(heap, units * TABLES_UNIT_WORDS, sizeof *pool->words);
    pool->length = pool->words ? units : 0;
    tables_pool_clear(pool);
    return pool->words ? TABLES_DONE : TABLES_NO_MEMORY;
}

enum tables_outcome tables_grow(struct tables_heap *heap, struct tables_table *table, size_t more, uint64_t longer) {
    struct tables_table larger = *table;
    uint64_t slack = (table->length - table->capacity) / TABLES_LINE * TABLES_LINE * longer;
    while (tables_is_crowded(&larger, more)) {
        if (larger.capacity == TABLES_MOST_CAPACITY) return TABLES_TOO_LONG;
        uint64_t step = larger.capacity < 3 ? 1 : larger.capacity / 3, left = TABLES_MOST_CAPACITY - larger.capacity;
        larger.capacity += step < left ? step : left;
    }
    for (int moved = 0; !moved; slack = slack ? 2 * slack : TABLES_LINE) {
        larger.length = whole_lines(larger.capacity + slack);
        larger.entries = tables_memory_get(heap, larger.length + 1, sizeof *larger.entries);
        if (!larger.entries) return TABLES_NO_MEMORY;
        moved = tables_move(table, &larger);
        if (!moved) tables_memory_free(larger.entries);
    }
    tables_heap_give(heap, table->entries);
    *table = larger;
    return TABLES_DONE;
}

static enum tables_outcome pool_grow(struct tables_heap *heap, struct tables_pool *pool) {
    uint64_t more = pool->length / 2 > pool->wanted ? pool->length / 2 : pool->wanted;
    if (pool->length >= TABLES_MOST_UNITS) return TABLES_POOL_TOO_LONG;
    uint64_t units = pool->length + (more > TABLES_LEAST_UNITS ? more : TABLES_LEAST_UNITS);
    uint32_t *words = tables_memory_copy(heap, pool->words, pool->used * TABLES_UNIT_WORDS, units * TABLES_UNIT_WORDS,
                                         sizeof *words);
    if (!words) return TABLES_NO_MEMORY;
    tables_heap_give(heap, pool->words);
    pool->words = words;
    pool->length = units;
    return TABLES_DONE;
}

enum tables_outcome tables_make_room(struct tables_heap *heap, struct tables_table *table, struct tables_pool *pool,
                                     enum tables_outcome full) {
    if (full != TABLES_FULL) return pool_grow(heap, pool);
    return tables_is_crowded(table, 1) ? tables_grow(heap, table, 1, 1) : tables_grow(heap, table, 0, 2);
}

enum tables_outcome tables_add(struct tables_heap *heap, struct tables_table *table, struct tables_pool *pool,
                               uint32_t tag, uint32_t row) {
    for (;;) {
        enum tables_outcome outcome = tables_put(table, pool, tag, row);
        if (outcome == TABLES_DONE) return TABLES_DONE;
        outcome = tables_make_room(heap, table, pool, outcome);
        if (outcome != TABLES_DONE) return outcome;
    }
}

/* Tables from 32-bit tags to sets of rows: the ground of the index.
 *
 * A table is an array of entries in the order of their tags, with gaps: open addressing by tag * capacity / 2^32, rounded
 * down to whole lines of eight entries. It rises with the tag, so that a search ends at the first greater tag, a removal
 * closes its gap (nothing is ever left behind), and growing is one copy from front to back. Where the memory begins with
 * a cache line, most searches touch one only. An entry is eight bytes, the tag above what it leads to:
 *
 *     63 ......... 32 | 31 | 30 ............ 0
 *           tag       |  0 | row                   a bucket of one row
 *           tag       |  1 | unit of the pool      a bucket of several rows, kept as a small hash set of its own
 *
 * so that a bucket of a million rows takes its next row, and gives one back, as quickly as one of two.
 *
 *     a block of the pool:   count | slots | row or TABLES_NO_ROW, slots times          4 << class words in all
 *
 * Contract: memory is as long as the struct says. Reading checks every reference, so that the memory may be a file's;
 * writing trusts what reading has checked or this code has written. Only what is said to grow asks for memory: it
 * returns TABLES_NO_MEMORY, or what else keeps it from growing, and the tables are as before. */
#ifndef LSHFAST_TABLES_H
#define LSHFAST_TABLES_H

#include "cpu/cpu.h"
#include "field.h"
#include "tables/tables_memory.h"

#define TABLES_LINE 8 /* entries */
#define TABLES_NO_ENTRY UINT64_MAX
#define TABLES_FARTHER (UINT64_MAX - 1) /* not looked for yet; leads out of the pool */
#define TABLES_NO_ROW UINT32_MAX
#define TABLES_NO_PLACE SIZE_MAX
#define TABLES_SHARED ((uint32_t)1 << 31)
#define TABLES_MOST_ROWS ((size_t)1 << 31)
#define TABLES_MOST_CAPACITY ((uint64_t)1 << 32)
#define TABLES_UNIT_WORDS 4 /* blocks start at multiples of so many words */
#define TABLES_POOL_CLASSES 30

struct tables_table {
    uint64_t *entries; /* length of them and one more, always TABLES_NO_ENTRY, where every search ends */
    uint64_t capacity; /* what tags are spread over, 1 to TABLES_MOST_CAPACITY */
    uint64_t length;   /* capacity and some more, for what is pushed beyond */
    uint64_t count;
};

struct tables_pool {
    uint32_t *words;
    uint64_t length, used;       /* in units; blocks are taken from the front */
    uint64_t wanted;             /* the units that were too many when the pool was full */
    uint32_t free[TABLES_POOL_CLASSES]; /* each class's first free block, or TABLES_NO_ROW; its first word: the next */
};

enum tables_outcome {
    TABLES_DONE,
    TABLES_FULL,
    TABLES_POOL_FULL,
    TABLES_NO_MEMORY,
    TABLES_TOO_LONG,      /* a table would need more than TABLES_MOST_CAPACITY */
    TABLES_POOL_TOO_LONG, /* a pool would need more units than an entry can lead to */
    TABLES_TOO_MANY_ROWS
};

static inline uint32_t tables_entry_tag(uint64_t entry) { return (uint32_t)(entry >> 32); }

static inline size_t tables_home(const struct tables_table *table, uint32_t tag) {
    return (size_t)(tag * table->capacity >> 32) / TABLES_LINE * TABLES_LINE;
}

/* Thirteen sixteenths may be in use: beyond that an entry that is put in pushes others through several lines. */
static inline uint64_t tables_most_entries(const struct tables_table *table) {
    return table->capacity - table->capacity * 3 / 16;
}

/* 1 if a table is too small for so many more entries. */
static inline int tables_is_crowded(const struct tables_table *table, size_t more) {
    return table->count + more > tables_most_entries(table);
}

/* An empty table over the memory of length + 1 entries; capacity <= length. */
void tables_clear(struct tables_table *table);

/* Where the entry of the tag is, or TABLES_NO_PLACE. */
static inline size_t tables_find(const struct tables_table *table, uint32_t tag) {
    size_t at = tables_home(table, tag);
    while (tables_entry_tag(table->entries[at]) < tag) at++;
    return tables_entry_tag(table->entries[at]) == tag && table->entries[at] != TABLES_NO_ENTRY ? at : TABLES_NO_PLACE;
}

/* Add a row, which must not be there yet, to the bucket of the tag. Where the table or the pool is full, nothing has
 * changed: give it more memory and call again. */
enum tables_outcome tables_put(struct tables_table *table, struct tables_pool *pool, uint32_t tag, uint32_t row);

/* Take a row out of the bucket of the tag; 0 if it was not there. */
int tables_take(struct tables_table *table, struct tables_pool *pool, uint32_t tag, uint32_t row);

/* Have a row stand for another in the bucket of the tag; 0 if that was not there. */
int tables_rename(struct tables_table *table, struct tables_pool *pool, uint32_t tag, uint32_t from, uint32_t to);

/* ---- growth ----
 * The memory of what grows is of tables_memory_get. */

/* Make an empty table, with `slack` entries beyond its capacity; an empty pool. */
enum tables_outcome tables_begin(struct tables_heap *heap, struct tables_table *table, uint64_t capacity,
                                 uint64_t slack);
enum tables_outcome tables_pool_begin(struct tables_heap *heap, struct tables_pool *pool, uint64_t units);

/* Move a table to where it holds `more` entries, by steps of a third; its end is `longer` times as long. */
enum tables_outcome tables_grow(struct tables_heap *heap, struct tables_table *table, size_t more, uint64_t longer);

/* Give a table or a pool more memory after it was found full. */
enum tables_outcome tables_make_room(struct tables_heap *heap, struct tables_table *table, struct tables_pool *pool,
                                     enum tables_outcome full);

/* Do what tables_put does, with more memory where it is needed. */
enum tables_outcome tables_add(struct tables_heap *heap, struct tables_table *table, struct tables_pool *pool,
                               uint32_t tag, uint32_t row);

/* ---- batches ----
 * The rows of a batch go into a table, or out of it, in the order of the upper bits of their tags: so the walk over the
 * table is one from front to back, which memory is quick at, and sorting costs less than it saves. A record is a tag
 * above a row. */

/* Prefetch distance of entries, in steps: about as many lines as a core can wait for at once. */
#define TABLES_AHEAD 24

static inline uint32_t tables_record_tag(uint64_t record) { return (uint32_t)(record >> 32); }

static inline void tables_prefetch_home(const struct tables_table *table, uint32_t tag) {
    const uint64_t *line = table->entries + tables_home(table, tag);
    prefetch(line);
    /* a store's memory may begin anywhere */
    if ((uintptr_t)line % (TABLES_LINE * sizeof *line)) prefetch(line + TABLES_LINE - 1);
}

/* Ask for the line behind a home that is full: a search goes on there, and so does what an entry pushes on. */
static inline void tables_prefetch_next(const struct tables_table *table, uint32_t tag) {
    size_t next = tables_home(table, tag) + TABLES_LINE;
    if (next <= table->length && table->entries[next - 1] != TABLES_NO_ENTRY) prefetch(table->entries + next);
}

/* Write the records of the n rows of a batch, in the order of the upper bits of the tags if they are many and those that
 * skip says left out, and return their number. Without rows, they are 0, 1, 2, ...; without skip, all count. records
 * holds n. */
size_t tables_tag_order(const uint32_t *tags, const int64_t *rows, const uint8_t *skip, size_t n, uint64_t *records);

/* What a CPU level does in its own way. */
struct tables_kernels {
    /* Put the rows of records [*next, n) into a table. Where it or the pool is full, *next says at which record. */
    enum tables_outcome (*put)(struct tables_table *table, struct tables_pool *pool, const uint64_t *records, size_t n,
                               size_t *next);
    /* Take the rows of records [0, n) out of a table. */
    void (*take)(struct tables_table *table, struct tables_pool *pool, const uint64_t *records, size_t n);
    /* Look for n tags in as many tables, each in the line of its home only: write their entries, TABLES_NO_ENTRY for
     * none, and TABLES_FARTHER where later lines must tell, whose first is prefetched. After each one, prefetch the home of
     * one of the tags that come later: memory has always something to do, and never so much that all must wait. */
    void (*find)(const struct tables_table *tables, const uint32_t *tags, const uint32_t *later, size_t n,
                 uint64_t *entries);
};
extern const struct tables_kernels *const tables_levels[CPU_LEVELS];

/* Move all entries to another table, whose memory need not be prepared; 0 if they do not fit into its length. */
int tables_move(const struct tables_table *from, struct tables_table *to);

void tables_pool_clear(struct tables_pool *pool);

/* Move the blocks that a table leads to from one pool to another, which has room for them. */
void tables_move_blocks(struct tables_table *table, const struct tables_pool *from, struct tables_pool *to);

/* The rows of an entry's bucket: how many slots there are at *rows, TABLES_NO_ROW among them, or TABLES_NO_PLACE if the
 * entry leads out of the pool. `one` holds the row of a bucket of one. */
static inline size_t tables_bucket_slots(const struct tables_pool *pool, uint64_t entry, uint32_t *one,
                                         const uint32_t **rows) {
    uint32_t to = (uint32_t)entry;
    if (!(to & TABLES_SHARED)) {
        *one = to;
        *rows = one;
        return 1;
    }
    uint64_t unit = to & ~TABLES_SHARED;
    if (unit >= pool->used) return TABLES_NO_PLACE;
    const uint32_t *block = pool->words + unit * TABLES_UNIT_WORDS;
    if (block[1] > (pool->used - unit) * TABLES_UNIT_WORDS - 2) return TABLES_NO_PLACE;
    *rows = block + 2;
    return block[1];
}

/* How many rows an entry's bucket says that it has; 0 if the entry leads out of the pool. */
static inline size_t tables_bucket_count(const struct tables_pool *pool, uint64_t entry) {
    uint32_t to = (uint32_t)entry;
    if (!(to & TABLES_SHARED)) return 1;
    return (to & ~TABLES_SHARED) < pool->used ? pool->words[(size_t)(to & ~TABLES_SHARED) * TABLES_UNIT_WORDS] : 0;
}

/* 1 if the entries rise in their order, stand where a search finds them, are as many as count says, lead to rows below
 * `limit` and to blocks within the pool whose counts are true, and the last of all is TABLES_NO_ENTRY. */
int tables_is_sound(const struct tables_table *table, const struct tables_pool *pool, size_t limit);

#endif

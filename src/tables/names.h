/* The names of rows, integers or strings, and the table that finds the row of a name.
 *
 * The table maps a tag, half of a public hash of the name, to the rows that have it. Since the hash is public, somebody
 * can choose many names with one tag. So a bucket of more than NAMES_CROWD rows is not searched: its rows are in a second
 * table too, the crowd, whose tags are made with a secret key of the process. The crowd is never written to a file.
 *
 * Contract: as in tables.h. A row is below `limit`. Names in foreign memory are checked whenever they are read. */
#ifndef LSHFAST_NAMES_H
#define LSHFAST_NAMES_H

#include "tables/tables.h"

#define NAMES_CROWD 14 /* as many rows as one or two cache lines hold */
#define NAMES_AHEAD 16 /* prefetch distance of names, in steps */
#define NAMES_LONGEST ((size_t)1 << 30)

enum names_kind { NAMES_NONE, NAMES_INTEGERS, NAMES_STRINGS };

struct names_one {
    const uint8_t *text;
    size_t length;
    int64_t integer;
    uint32_t tag;
};

struct names_crowd {
    struct tables_table table; /* no entries: there is no crowd */
    struct tables_pool pool;
};

struct names {
    enum names_kind kind;
    int is_unsigned; /* whether integers are unsigned: for readers of names, as bits are compared here */
    struct tables_table *table;
    struct tables_pool *pool; /* that of the bands, too */
    struct names_crowd crowd;
    uint64_t point, mask; /* the secret key of the crowd */
    size_t compared;      /* rows of crowded buckets that were searched, for whoever gathers the crowd */
    int64_t *integers;
    uint8_t *bytes;
    int64_t *starts; /* strings: row's bytes begin at starts[row] and are lengths[row] long */
    uint32_t *lengths;
    size_t size, used, wasted; /* of bytes: all, those of rows in use or removed, those of removed rows */
    size_t limit;
    const uint8_t *gone; /* a byte a row that is 1 where the row does not count, or NULL */
};

/* Hash the names of the crowd with these numbers, which are random ones of the process; no result depends on them. They
 * are set once, before the first crowd. */
void names_set_key(struct names *names, uint64_t first, uint64_t second);

static inline uint32_t names_tag_of_integer(int64_t name) { return (uint32_t)(mix64((uint64_t)name) >> 32); }
uint32_t names_tag_of_bytes(const uint8_t *name, size_t length);

static inline struct names_one names_integer(int64_t name) {
    struct names_one one = {NULL, 0, name, names_tag_of_integer(name)};
    return one;
}
static inline struct names_one names_string(const uint8_t *text, size_t length) {
    struct names_one one = {text, length, 0, names_tag_of_bytes(text, length)};
    return one;
}

/* Where the string of a row begins, or the name of a row; 0 if it is a string that lies outside of the bytes. */
int names_text(const struct names *names, size_t row, const uint8_t **text);
int names_of_row(const struct names *names, size_t row, struct names_one *one);

/* The row of a name, or TABLES_NO_ROW. *met becomes the number of rows in the bucket of its tag. *compared is raised by
 * the rows of a crowded bucket that had to be searched because the crowd was not gathered. */
uint32_t names_find(const struct names *names, const struct names_one *one, size_t *met, size_t *compared);

/* Write the rows of names, -1 for none, until all are found or *compared reaches `most`; return how many are done. */
size_t names_find_strings(const struct names *names, const struct names_one *ones, size_t n, int64_t *rows, size_t most,
                          size_t *compared);
size_t names_find_integers(const struct names *names, const int64_t *integers, size_t n, int64_t *rows, size_t most,
                           size_t *compared);

/* Gather the crowd of names in a file, which cannot be kept there. A failure leaves no crowd. */
enum tables_outcome names_gather(const struct names *names, struct tables_heap *heap, struct names_crowd *crowd);
void names_end_crowd(struct names_crowd *crowd);

/* ---- for writers ---- */

/* Have memory for the bytes of another name. */
enum tables_outcome names_reserve(struct names *names, struct tables_heap *heap, size_t length);

/* Write the name of a row, which there is memory for. */
void names_write(struct names *names, const struct names_one *one, size_t row);

/* Bring the name of a row into the table; `met` is as names_find says. Where memory runs out, the table is as before. */
enum tables_outcome names_put(struct names *names, struct tables_heap *heap, const struct names_one *one, uint32_t row,
                              size_t met);

/* Take the name of a row out of the table, if it is there; its bytes count as wasted. */
void names_take(struct names *names, uint32_t row);

/* Give the name of a row to another one. */
void names_rename(struct names *names, uint32_t from, uint32_t to);

/* Bring the bytes of all rows that are alive together, if much of them is wasted and there is memory for it. */
void names_tidy(struct names *names, struct tables_heap *heap, const uint8_t *alive);

#endif

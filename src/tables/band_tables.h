/* Signatures in numbered rows, a table a band over them, and a table of their names: one part of an index.
 *
 * A band's table maps the upper half of the band key to the rows that have it. Rows that share it become candidates
 * only if they agree in all slots of the band, so that a hash collision never shows. A name is an integer or bytes; its
 * table maps half of a hash of it to the rows.
 *
 * Contract: as in tables.h. A row is below `limit`; a free row is in no table. */
#ifndef LSHFAST_BAND_TABLES_H
#define LSHFAST_BAND_TABLES_H

#include "bands/bands.h"
#include "tables/tables.h"

struct band_tables {
    size_t k, bands, rows;     /* slots of a signature; the banding */
    const uint64_t *starts;    /* of bands_starts */
    band_key_kernel *keys;     /* of a CPU level, and so is the next */
    const struct table_kernels *kernels;
    size_t limit;              /* rows below it may be in use */
    uint64_t **blocks;         /* signatures, 1 << shift rows a block, so that growing moves none of them */
    unsigned shift;
    struct table *tables;      /* one a band */
    struct pool *pool;         /* shared by all tables */
    const uint8_t *gone;       /* a byte a row that is 1 where the row does not count, or NULL */
};

static inline uint64_t *signature_of(const struct band_tables *index, size_t row) {
    return index->blocks[row >> index->shift] + (row & (((size_t)1 << index->shift) - 1)) * index->k;
}

#define SOON 2 /* signatures are asked for so many rows early */

/* Ask for a signature that will be banded. */
static inline void prefetch_signature(const struct band_tables *index, const uint64_t *signature) {
    for (size_t slot = 0; slot < index->bands * index->rows; slot += 8) prefetch(signature + slot);
}

/* The tags of a signature: that of band j goes to tags[j * step]. keys holds one for each band. An empty signature's are
 * not to be used. */
void band_tags(const struct band_tables *index, const uint64_t *signature, uint64_t *keys, uint32_t *tags, size_t step);

/* ---- queries ---- */

#define UNDER_WAY 8 /* queries at once */

enum answer { ANSWERED, NO_ROOM, UNSOUND, UNFINISHED };

/* What a call of answer_queries works with and gives; all memory is the caller's. */
struct answers {
    uint64_t *keys;      /* one for each band */
    uint32_t *tags;      /* bands times UNDER_WAY */
    uint64_t *entries;   /* as many */
    uint64_t *records;   /* two times room: the meetings of one query */
    size_t room;         /* of records, each half, and of what is free in rows for one query */
    size_t needed;       /* after NO_ROOM: the room that the next query needs */
    size_t work;         /* bands and candidates that one call looks at, about; at least one query is answered */
    size_t met;          /* how many that were so far */
    size_t least;        /* candidates with fewer equal slots are left out */
    int count;           /* 1: count equal slots */
    const int64_t *names; /* of rows, asked for early because they will be looked up; or NULL */
    uint32_t *rows;      /* the candidates of the queries, one query after the other */
    uint32_t *agreements; /* their equal slots, if counted */
    size_t capacity, used; /* of both */
    int64_t *offsets;    /* where query q's candidates end: offsets[q + 1]; offsets[0] is the caller's */
};

/* Answer queries [*next, n): each one's rows that agree in all slots of some band, ascending. NO_ROOM: *next is the
 * first without an answer; give more room, or more capacity, and call again. UNFINISHED: call again. UNSOUND: an entry
 * leads nowhere. */
enum answer answer_queries(const struct band_tables *index, const uint64_t *signatures, size_t n, size_t *next,
                           struct answers *answers);

/* ---- names ---- */

uint32_t tag_of_integer(int64_t name);
uint32_t tag_of_bytes(const uint8_t *name, size_t length);

/* Names of rows: integers, or bytes at starts[row], lengths[row] long, within `size` bytes. */
struct names {
    const int64_t *integers;
    const uint8_t *bytes;
    const int64_t *starts;
    const uint32_t *lengths;
    size_t size, limit;
    const uint8_t *gone; /* as in band_tables */
};

/* The row of a name, or NO_ROW. */
uint32_t row_of_integer(const struct table *table, const struct pool *pool, const struct names *names, uint32_t tag,
                        int64_t name);
uint32_t row_of_bytes(const struct table *table, const struct pool *pool, const struct names *names, uint32_t tag,
                      const uint8_t *name, size_t length);

#endif

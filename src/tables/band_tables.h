/* Signatures in numbered rows, a table a band over them, and a table of their names: one segment of an index.
 *
 * A band's table maps the upper half of the band key to the rows that have it. Rows that share it become candidates
 * only if they agree in all slots of the band, so that a hash collision never shows.
 *
 * The k words of a row are its slots and then its payload, which the tables only keep: a code, or the coordinates of a
 * point. With `apart`, a band has one slot, and one that is EMPTY_SLOT has no bucket; otherwise a signature whose first
 * slot is EMPTY_SLOT is in no bucket at all.
 *
 * Contract: as in tables.h. Rows below `limit` are in use or free; a free row is in no table. band_tables owns its memory
 * (band_tables_begin, band_tables_end), but not blocks of signatures that are kept where they are, nor anything that
 * fixed tables read. A function that returns an outcome other than TABLES_DONE has changed nothing that can be seen.
 * Nothing is locked: many threads may read, or one may write. */
#ifndef LSHFAST_BAND_TABLES_H
#define LSHFAST_BAND_TABLES_H

#include "bands/bands.h"
#include "bits/bits.h"
#include "tables/code_cells.h"
#include "tables/names.h"

#include <string.h>

/* A block of signatures in memory that is not ours. */
struct band_tables_kept {
    uint32_t rows, used; /* the rows that the memory has, 0 for a block that is not kept; those in use */
    size_t next;         /* the list of blocks that were let go */
};

struct band_tables {
    size_t k, bands, rows; /* words of a row; the banding */
    size_t slots;          /* of the k words; the others are the payload */
    int apart;             /* 1: each band is judged alone, and rows is 1 */
    size_t bits;           /* with `apart`: of the code in the payload whose equal bits are counted; 0: count equal slots */
    const struct bits_kernels *bits_kernels; /* of a CPU level */
    size_t head;           /* with `apart`: the slots are the words of a code, and so many are its head; 0: no code */
    uint64_t *starts;      /* of bands_starts */
    band_key_kernel *keys; /* of a CPU level, and so is the next */
    const struct tables_kernels *kernels;
    size_t limit;     /* rows below it may be in use */
    uint64_t **blocks; /* signatures, 1 << shift rows a block, so that growing moves none; NULL: not yet written */
    unsigned shift;
    /* The heads of the codes of each BAND_TABLES_GROUP rows: their first words, their second words, ..; and the other words
     * of each code. NULL of fixed tables at first. */
    uint64_t *heads, *tails;
    struct code_cells cells;
    struct tables_table *tables;     /* one a band, and that of the names */
    struct tables_pool pool;  /* shared by all tables */
    struct names names;
    const uint8_t *gone; /* a byte a row that is 1 where the row does not count, or NULL */

    int fixed; /* 1: over memory that is not ours, and never written */
    struct tables_heap heap;
    size_t capacity, room, blocks_room; /* rows that there are blocks for; lengths of the arrays of rows, of blocks */
    uint8_t *alive;                     /* by row: a state of rows, see below; 0 where it is not in use */
    uint32_t *free;                     /* the free rows, taken from the end */
    size_t free_count, idle;            /* idle rows: not in use, of kept blocks */
    struct band_tables_kept *kept;      /* of each block */
    size_t let_go;                      /* the first block that was let go, TABLES_NO_PLACE for none */
};

static inline uint64_t *band_tables_signature(const struct band_tables *index, size_t row) {
    return index->blocks[row >> index->shift] + (row & (((size_t)1 << index->shift) - 1)) * index->k;
}

#define BAND_TABLES_GROUP 32 /* rows whose heads are transposed */

/* Copy the code of a row to where a search reads it, if there are codes. */
static inline void band_tables_lay_code(struct band_tables *index, size_t row, const uint64_t *signature) {
    const size_t head = index->head, tail = index->slots - head, t = row % BAND_TABLES_GROUP;
    if (!head) return;
    code_cells_move(&index->cells, row);
    for (size_t word = 0; word < head; word++) index->heads[(row - t) * head + word * BAND_TABLES_GROUP + t] = signature[word];
    memcpy(index->tails + row * tail, signature + head, tail * sizeof *signature);
}

#define BAND_TABLES_SOON 6 /* prefetch distance of signatures, in rows */

/* Ask for a signature that will be banded. */
static inline void band_tables_prefetch(const struct band_tables *index, const uint64_t *signature) {
    for (size_t slot = 0; slot < index->bands * index->rows; slot += 8) prefetch(signature + slot);
}

/* The same for the memory behind a single signature: whoever goes through the rows of a matrix comes to it next. */
static inline void band_tables_prefetch_behind(const struct band_tables *index, const uint64_t *signature) {
    for (size_t slot = 0; slot < index->bands * index->rows; slot += 8) {
        prefetch_behind(signature, (index->k + slot) * sizeof *signature);
    }
}

/* The tags of a signature: that of band j goes to tags[j * step]. keys holds one for each band. An empty signature's are
 * not to be used. */
void band_tables_tags(const struct band_tables *index, const uint64_t *signature, uint64_t *keys, uint32_t *tags,
                      size_t step);

/* ---- memory: band_tables_rows.c ---- */

/* Make empty tables of signatures without payload; bands * rows <= k. A block of signatures takes about block_bytes. The
 * kernels are the caller's to set, and so are `slots`, `apart` and `bits`. After a failure, too, band_tables_end must be
 * called. */
enum tables_outcome band_tables_begin(struct band_tables *index, void *(*source)(size_t bytes), size_t k, size_t bands,
                                      size_t rows, enum names_kind kind, size_t block_bytes);
void band_tables_end(struct band_tables *index);

/* Make the tables fixed: over n signatures, which are not ours, without any tables yet. */
enum tables_outcome band_tables_fix(struct band_tables *index, const uint64_t *signatures, size_t n);

/* Copy the codes of fixed tables to memory. */
enum tables_outcome band_tables_code(struct band_tables *index);

/* Have memory for so many more rows. */
enum tables_outcome band_tables_reserve(struct band_tables *index, size_t more);

/* Have memory of our own for the signatures of rows. */
enum tables_outcome band_tables_prepare(struct band_tables *index, const int64_t *rows, size_t n);

/* How many of the first of these rows are in one block, and how many rows the block of the first one has from that on. */
size_t band_tables_same_block(const struct band_tables *index, const int64_t *rows, size_t n);
size_t band_tables_rest_of_block(const struct band_tables *index, size_t row);

/* Keep the signatures of a block where they are: its first `rows` rows, of which the last `used` are written now. */
void band_tables_keep(struct band_tables *index, size_t block, const uint64_t *signatures, size_t rows, size_t used);

/* A block whose memory is not needed any more, though it was kept; TABLES_NO_PLACE if there is none. */
size_t band_tables_let_go(struct band_tables *index);

/* The first of some rows that has no signature, that is not in use; n if there is none. */
size_t band_tables_unwritten(const struct band_tables *index, const int64_t *rows, size_t n);
size_t band_tables_unused(const struct band_tables *index, const int64_t *rows, size_t n);

/* The states of rows: in use; and with a signature that is in the tables, or is being written to them. The third is for
 * checks. */
enum { BAND_TABLES_FREE, BAND_TABLES_IN_USE = 1, BAND_TABLES_WRITTEN = 3, BAND_TABLES_CHECKED = 7 };

/* Change the state of rows from one to another; the place of the first that has another state or comes twice, and nothing is
 * changed, or n. The caller keeps the states of rows that are in use: it changes them when it writes and erases. */
size_t band_tables_turn(struct band_tables *index, const int64_t *rows, size_t n, uint8_t from, uint8_t to);

/* Take n rows, which there is memory for, without names. */
void band_tables_allot(struct band_tables *index, size_t n, int64_t *rows);

/* 1 if a row has an entry. */
static inline int band_tables_has(const struct band_tables *index, size_t row) {
    const int64_t one = (int64_t)row;
    if (index->fixed) return !(index->gone && index->gone[row]);
    return index->alive[row] && band_tables_unwritten(index, &one, 1);
}

/* Mark rows as not in use, so that they can be freed. Leaves out those that come twice; returns how many are left. */
size_t band_tables_claim_once(struct band_tables *index, int64_t *rows, size_t n);

/* Free rows that are in no table; with their names. Nothing fails. */
void band_tables_give_back(struct band_tables *index, const int64_t *rows, size_t n);
void band_tables_release(struct band_tables *index, const int64_t *rows, size_t n);

/* Give names rows [*done, n) unless they have some; fresh[i] becomes 1 where a row was taken. Where memory runs out, *done
 * tells how many have their rows. */
enum tables_outcome band_tables_admit(struct band_tables *index, const struct names_one *ones, size_t n, int64_t *rows,
                                      uint8_t *fresh, size_t *done);
enum tables_outcome band_tables_admit_integers(struct band_tables *index, const int64_t *names, size_t n, int64_t *rows,
                                               uint8_t *fresh, size_t *done);

/* Make the table of names as large as `left` more names will need if they are like the last `done`, before which the
 * table had `before` entries. */
enum tables_outcome band_tables_expect(struct band_tables *index, uint64_t before, size_t done, size_t left);

/* Bring the buckets of several rows together, so that none of their memory is free. */
enum tables_outcome band_tables_tidy(struct band_tables *index);

/* ---- writing: band_tables_write.c ---- */

#define BAND_TABLES_BATCH ((size_t)1 << 17)

/* What a batch of rows is put into the tables with: as many of them at once as `most`. Where there is no memory for
 * many, one row at a time will do. */
struct band_tables_batch {
    size_t most, n, count;
    uint64_t *keys;
    uint64_t *before; /* entries that each table had */
    uint64_t *records;
    uint32_t *tags;
    uint8_t *skip;    /* 1 for a row that is in no bucket; with `apart`, as many for each band */
    size_t skip_step; /* from one band's to the next one's: 0 or `most` */
};
enum tables_outcome band_tables_batch_begin(struct band_tables_batch *batch, const struct band_tables *index, size_t n);
void band_tables_batch_end(struct band_tables_batch *batch);

/* Put the signatures of the next rows from *done on into their rows, which there is memory for, and into the tables. */
enum tables_outcome band_tables_write(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows,
                                      const uint64_t *signatures, size_t n, size_t *done);

/* Take the signatures of rows out of the tables. Nothing fails. */
void band_tables_erase(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows, size_t n);

/* Give the names of rows to as many others, which have none, and free them with their signatures. Nothing fails. */
void band_tables_hand_over(struct band_tables *index, struct band_tables_batch *batch, const int64_t *old,
                           const int64_t *new, size_t n);

/* Give a name a row with this signature; *row becomes -1 if the name has one already. The batch is of one row. */
enum tables_outcome band_tables_insert_one(struct band_tables *index, struct band_tables_batch *batch,
                                           const struct names_one *one, const uint64_t *signature, int64_t *row);

/* ---- queries: band_tables.c ---- */

#define BAND_TABLES_UNDER_WAY 8 /* queries at once */

enum band_tables_outcome { BAND_TABLES_ANSWERED, BAND_TABLES_NO_ROOM, BAND_TABLES_UNSOUND, BAND_TABLES_UNFINISHED };

/* What a call of band_tables_answer works with and gives. */
struct band_tables_answers {
    uint64_t *keys;        /* one for each band */
    uint32_t *tags;        /* bands times BAND_TABLES_UNDER_WAY */
    uint64_t *entries;     /* as many */
    uint64_t *records;     /* two times room: the meetings of one query */
    size_t room;           /* of records, each half, and of what is free in rows for one query */
    size_t needed;         /* after BAND_TABLES_NO_ROOM: the room that the next query needs */
    size_t work;           /* bands and candidates that one call looks at, about; at least one query is answered */
    size_t met;            /* how many that were so far */
    size_t least;          /* candidates with fewer equal slots, or bits, are left out */
    int count;             /* 1: count them */
    const int64_t *names;  /* of rows, prefetched because they will be looked up; or NULL */
    uint32_t *rows;        /* the candidates of the queries, one query after the other */
    uint32_t *agreements;  /* their equal slots, or bits, if counted */
    size_t capacity, used; /* of both */
    int64_t *offsets;      /* where query q's candidates end: offsets[q + 1]; offsets[0] is the caller's */
};

/* Have memory for the answers to some queries; more of it after BAND_TABLES_NO_ROOM, with the answers so far. */
enum tables_outcome band_tables_answers_begin(struct band_tables_answers *answers, size_t bands, size_t queries);
enum tables_outcome band_tables_answers_grow(struct band_tables_answers *answers);
void band_tables_answers_end(struct band_tables_answers *answers);

/* Answer queries [*next, n): each one's rows that agree in all slots of some band, ascending. NO_ROOM: *next is the
 * first without an answer; have more room and call again. UNFINISHED: call again. UNSOUND: an entry leads nowhere. */
enum band_tables_outcome band_tables_answer(const struct band_tables *index, const uint64_t *signatures, size_t n,
                                            size_t *next, struct band_tables_answers *answers);

#endif

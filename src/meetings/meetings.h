/* Pairs of rows that share a bucket of one band and whose codes are near: the candidates of points.
 *
 * Rows are given in lists that are sorted by the key of their bucket, and by number within a bucket. Each row of the right
 * list is paired with the rows of the left list that share its bucket, are numbered below the row's limit, have another
 * label where there are labels, and whose code differs in at most `most` bits. A list is paired with itself by limits that
 * are the numbers of the rows.
 *
 * Contract: all arrays are owned by the caller, and nothing is allocated. Rows are below the number of codes, limits and
 * labels. Limits and labels may change between two calls. */
#ifndef LSHFAST_MEETINGS_H
#define LSHFAST_MEETINGS_H

#include "bits/bits.h"

/* Rows of a bucket that are compared with one row at a time. */
#define MEETINGS_CHUNK 512

/* The key of no bucket. */
#define MEETINGS_NO_KEY UINT64_MAX

struct meetings_list {
    const uint64_t *keys;
    const int32_t *rows;
    size_t n;
    size_t first, end; /* the places in the current bucket */
};

struct meetings {
    struct meetings_list left, right;
    const uint64_t *codes; /* (number of rows, words); words may be 0: then codes are not compared */
    size_t words;
    int32_t most;
    const int32_t *limits;
    const int32_t *labels; /* or NULL */
    const struct bits_kernels *kernels;
    uint64_t *chunk;   /* room for MEETINGS_CHUNK codes */
    int32_t *unequal;  /* room for MEETINGS_CHUNK counts */
    size_t begun, row; /* the first place of the left list whose chunk is in use; the next place of the right list */
    int uniform;       /* whether the rows of that chunk have one label */
    size_t compared;   /* pairs of rows whose codes were compared, or that were written without codes */
    int done;
};

/* Write the next pairs, right << 32 | left, and return their number: at most `room`, at least MEETINGS_CHUNK, and until about
 * `work` pairs were looked at. All is done when `done` is not 0. */
size_t meetings_find(struct meetings *state, uint64_t *pairs, size_t room, size_t work);

#endif

/* All pairs of rows that share a bucket, in ascending order, a batch at a time: what is held grows with the rows only.
 *
 * Contract: rows are numbered 0..n, n < 2^31. All arrays are owned by the caller. */
#ifndef LSHFAST_ROW_PAIRS_H
#define LSHFAST_ROW_PAIRS_H

#include "slots/slots.h"

struct row_pairs {
    size_t n, bands;
    const int32_t *next; /* (n, bands): the next row of the row's bucket, -1 where there is none */
    const uint64_t *signatures; /* row i's is signatures[of[i] * k..] */
    const int64_t *of;
    size_t k, least; /* slots, and how many of them must agree */
    const struct slots_kernels *slots;

    size_t row, met;  /* the next row, and how many pairs were met so far */
    int begun;        /* whether the cursors are those of this row */
    int32_t *cursors; /* one a band */
};

/* Make `next` of one band out of numbers of buckets: buckets is its column of (n, bands), -1 for none, and last holds -1 for
 * each bucket. */
void row_pairs_link_buckets(int32_t *buckets, size_t bands, size_t n, int32_t *last);

/* Write the next pairs (of[i], of[j]), i < j, whose signatures agree in `least` slots, up to `capacity`, and return their
 * number. Looks at about `work` pairs and rows at most; all is done when row is n. */
size_t row_pairs_next(struct row_pairs *pairs, int64_t *left, int64_t *right, size_t capacity, size_t work);

#endif

/* Records that are sorted in pieces and merged from files: the join of bands that do not fit into memory.
 *
 * A record is two words, ordered by the first and then by the second: the mixed key of a bucket and a row, or the two rows
 * of a pair. Contract: nothing is allocated or kept, and outputs overlap no input. */
#ifndef LSHFAST_RUNS_H
#define LSHFAST_RUNS_H

#include "field.h"

struct runs_record {
    uint64_t first, second;
};

/* Sort n records. scratch holds n records too. */
void runs_sort(struct runs_record *records, size_t n, struct runs_record *scratch);

/* 1 if no record comes before the one in front of it. */
int runs_are_sorted(const struct runs_record *records, size_t n);

/* How many of n sorted records do not come after `last`. */
size_t runs_count_until(const struct runs_record *records, size_t n, struct runs_record last);

/* The records of one band for the rows first_row, first_row + 1, ... whose keys, (n, bands), these are: (mixed key, row),
 * without the rows whose key is EMPTY_SLOT and, unless `chosen` is NULL, those whose byte in it is 0. out holds n records.
 * Returns how many were written. */
size_t runs_of_band(const uint64_t *keys, size_t n, size_t bands, size_t band, uint64_t first_row, const uint8_t *chosen,
                    struct runs_record *out);

/* Where a walk over sorted records stands: the next pair is of the records i and j. Begins with 0 and 1, and is over when
 * i is n. */
struct runs_walk {
    size_t i, j;
};

/* Write up to `capacity` pairs of different second words whose first words are equal, and return their number. Looks at
 * `work` pairs at most; call it again until the walk is over. */
size_t runs_pairs(const struct runs_record *records, size_t n, struct runs_walk *walk, struct runs_record *out,
                  size_t capacity, size_t work);

#endif

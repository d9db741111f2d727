/* Pairs of records: the merge of lists of pairs, what pairs score before strings are compared, and the letters that only one
 * of two strings has.
 *
 * Contract: all arrays are owned by the caller, and nothing is allocated. A pair (i, j) has the place i * columns + j.
 * Outputs overlap no input. Sums are in the order of the fields: the same bits come out everywhere. */
#ifndef LSHFAST_PAIRS_H
#define LSHFAST_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* Ascending places, each once, with bits. */
struct pairs_list {
    const uint64_t *places;
    const uint32_t *bits;
    size_t n, at;
};

/* Merge what is left of two lists, from their `at` on, in at most `work` steps, and return how many places were written.
 * A place of both has the bits of both. Room for `work` places is needed, or for what is left of both lists. */
size_t pairs_merge(struct pairs_list *a, struct pairs_list *b, size_t work, uint64_t *places, uint32_t *bits);

/* The codes of the values of two tables, (rows, fields); negative codes are missing values. Equal values of field f score
 * equal[starts[f] + code], different ones at most unequal[f], and missing ones missing[f]. */
struct pairs_fields {
    const int32_t *a, *b;
    size_t fields;
    const double *equal;
    const int64_t *starts;
    const double *unequal, *missing;
};

enum { PAIRS_MISSING, PAIRS_EQUAL, PAIRS_DIFFERENT };

/* For n pairs: how field f of pair p compares, in levels[f * stride + p]; the sum of the scores of missing and equal
 * values; and the sum of what different ones score at most. */
void pairs_score(const struct pairs_fields *own, const uint64_t *places, size_t n, uint64_t columns, uint8_t *levels,
                 size_t stride, double *known, double *open);

/* For n pairs of strings: the bits of the mask of each that are not set in the mask of the other. */
void pairs_unshared(const uint64_t *masks, const int64_t *left, const int64_t *right, size_t n, uint8_t *own,
                    uint8_t *other);

#endif

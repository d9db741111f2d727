/* Pairs of records: the merge of lists of pairs, what pairs score before strings are compared, and bounds by
 * the letters of strings.
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

/* A table of different keys, numbered 1, 2, 3... in the order in which they come first. Slots are zeros at first; there are
 * mask + 1 of them, a power of 2 that is at least twice the number of keys. The secret makes it hard to choose keys whose
 * slots are near each other. */
struct pairs_slot {
    uint64_t key;
    int64_t number; /* 0 if the slot is free */
};

struct pairs_codes {
    struct pairs_slot *slots;
    uint64_t mask, secret;
    int64_t count;
};

/* Write the codes of n keys, which are their numbers less 1; -1 for `none`. A key that is not in the table has the code -1; or,
 * unless firsts is NULL, it is added, and firsts[code] is its row, where the first key is row `row`. */
void pairs_code(struct pairs_codes *table, const uint64_t *keys, size_t n, uint64_t none, int64_t row, int64_t *firsts,
                int64_t *codes);

/* Write the rows with a code of at least 0 in the order of their codes; next[code] is the place of its first row, and
 * becomes its end. */
void pairs_group(const int64_t *codes, size_t n, int64_t first, int64_t *next, int64_t *rows);

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

/* Of n pairs, find those that may score at least `least`, and return how many there are. Write their numbers, from `first` on;
 * how field f of the k-th of them compares, in levels[f * stride + k]; the sum of the scores of missing and equal values; and
 * the sum of what different ones score at most. */
size_t pairs_score(const struct pairs_fields *own, const uint64_t *places, size_t n, uint64_t columns, double least,
                   int64_t first, int64_t *numbers, uint8_t *levels, size_t stride, double *known, double *open);

/* The letters of n strings, whose code points are points[starts[i]..starts[i + 1]): a bit for each class of which a string has
 * one letter, and another one for two or more. The last five bits of a code point are its class. */
void pairs_letters(const uint32_t *points, const int64_t *starts, size_t n, uint64_t *masks);

/* Strings: the masks of their letters, their numbers of letters, at least 0, and the first letter of each. */
struct pairs_strings {
    const uint64_t *masks;
    const int64_t *lengths;
    const uint32_t *firsts;
};

/* For n pairs of strings: a number of edits that they are apart at least. Firsts are not needed. */
void pairs_least_edits(struct pairs_strings own, const int64_t *left, const int64_t *right, size_t n, int64_t *edits);

/* For n pairs of strings: a bound of their Jaro-Winkler similarity. */
void pairs_most_similar(struct pairs_strings own, const int64_t *left, const int64_t *right, size_t n, double *similar);

#endif

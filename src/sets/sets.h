/* Comparing token sets and signatures, and grouping what is alike: the last stages.
 *
 * Contract: a table is a power of two of slots, at least sets_table_size(n) of them for n tokens, owned by the caller;
 * its content need not be prepared. A set is a row of different tokens in any order. */
#ifndef LSHFAST_SETS_H
#define LSHFAST_SETS_H

#include "field.h"

/* A set of more tokens is too large for the caches anyway; then a table that is smaller and fuller takes less memory. */
#define SETS_LARGE (1 << 20)

/* Slots for a set of n tokens, at most 2^60: a power of two, at most half full, or four fifths for a large set. */
static inline size_t sets_table_size(size_t n) {
    size_t size = 16, least = n > SETS_LARGE ? n + n / 4 : 2 * n;
    while (size < least && size <= SIZE_MAX / 2) size *= 2;
    return size;
}

/* Draw places of tokens by this key, a random number of the process; results do not depend on it. Only the first call
 * counts, which comes before any table is in use: threads and forked processes read what never changes. */
void sets_use_key(uint64_t key);

/* A set of tokens in a table. */
struct token_set {
    uint64_t *slots;
    unsigned shift;
    size_t mask;
    int has_zero;
    uint64_t multiplier;
};

/* An empty set for n tokens in a table. */
struct token_set sets_empty_in(uint64_t *table, size_t n);

/* Add n tokens: write each that was not there, in order, and return their number. out may be tokens. */
size_t sets_add_all(struct token_set *set, const uint64_t *tokens, size_t n, uint64_t *out);

/* Write each different token once, in order of first occurrence, and return their number. out may be tokens. */
size_t sets_distinct(const uint64_t *tokens, size_t n, uint64_t *table, uint64_t *out);

/* With how many equal tokens two rows of at least n begin. */
size_t sets_equal_from_start(const uint64_t *a, const uint64_t *b, size_t n);

/* Rows one after the other. Where some begin with the same tokens, these stay in the set. */
struct sets_rows {
    struct token_set set;
    size_t first, made; /* the tokens that stay, 0 for none, and how many different ones they are */
};

/* As sets_distinct, of a row behind one of m tokens, `before`, whose different ones are in out_before; m is 0, and *rows
 * zero, for the first row. All rows share one table. */
size_t sets_distinct_next(struct sets_rows *rows, const uint64_t *before, size_t m, const uint64_t *out_before,
                          const uint64_t *tokens, size_t n, uint64_t *table, uint64_t *out);

/* Numbers that divide into others without a division: a multiple of odd << shift is one whose product with the inverse of
 * odd mod 2^64, turned right by shift bits, is at most `most` (Lemire, Kaser, Kurz 2019). */
struct sets_divisor {
    uint64_t inverse, most;
    unsigned shift;
};

/* one_in is at least 1. */
struct sets_divisor sets_divisor_of(uint64_t one_in);

/* Write the tokens that are multiples of the divisor, in order, and return their number. out has room for n; it may be
 * tokens. */
size_t sets_sample(const uint64_t *tokens, size_t n, const struct sets_divisor *divisor, uint64_t *out);

/* What both parts of a fingerprint's key are at least, so that half a token can be taken from them. */
#define SETS_KEY_LEAST ((uint64_t)1 << 32)

/* (n, x, y), x + y·i the product of key[0] + key[1]·i - t over the tokens t in the field of p^2 elements: equal for equal
 * multisets, whatever their order. Both parts of the key are in [SETS_KEY_LEAST, p). Different multisets of n tokens
 * agree for at most n - 1 of all keys. */
void sets_fingerprint(const uint64_t *tokens, size_t n, const uint64_t key[2], uint64_t out[3]);

/* How similar sets of a and b tokens are that share o: o / (a + b - o), or o / min(a, b); 0 where one has no tokens. */
enum sets_measure { SETS_JACCARD, SETS_CONTAINMENT };

static inline double sets_similarity(enum sets_measure measure, size_t overlap, size_t a, size_t b) {
    if (a == 0 || b == 0) return 0;
    if (measure == SETS_CONTAINMENT) return (double)overlap / (double)(a < b ? a : b);
    return (double)overlap / ((double)a + (double)b - (double)overlap);
}

/* Which sets are similar: those whose similarity, as doubles divide, is at least the threshold, in [0, 1]. */
struct sets_rule {
    enum sets_measure measure;
    double threshold;
};

/* The least overlap of similar sets of a and b tokens; more than both have where there is none. */
size_t sets_overlap_needed(size_t a, size_t b, struct sets_rule rule);

/* Where a walk over pairs stands; all zero at the start. */
struct pair_walk {
    size_t pair;            /* the next one */
    int begun;
    int64_t held;           /* the row whose tokens are in the set */
    size_t count, filled;   /* its tokens, and how many of them are in already */
    size_t probed, overlap; /* of the pair's right row */
    struct token_set set;
};

/* Similarity of the pairs (left[i], right[i]) of rows of (offsets, tokens), each row a set; -1 where it is below the
 * threshold, which is found out early. Two empty rows have similarity 0. The table serves the longest left row; it is
 * filled once for each run of equal lefts, so sort the pairs by them. Looks at about `work` (at least 1) tokens and pairs
 * and returns 1 if all is done, 0 if it has to be called again. */
int sets_compare_pairs(const int64_t *offsets, const uint64_t *tokens, const int64_t *left, const int64_t *right,
                       size_t pairs, struct sets_rule rule, uint64_t *table, struct pair_walk *walk, size_t work,
                       double *out);

/* Put the next tokens of a row of walk->count different ones into walk->set, at most `work`; the rest of the walk is zero
 * at first. Returns 1 if all are in. */
int sets_fill(struct pair_walk *walk, const uint64_t *tokens, uint64_t *table, size_t work);

/* Write the similarity of walk's set and a row of m different tokens, or -1 where it is below the threshold. Looks at about
 * `work` tokens (at least 1) and returns 1 if all is done, 0 if it has to be called again; walk->probed and walk->overlap
 * are 0 before a new row. */
int sets_compare_with_row(struct pair_walk *walk, const uint64_t *row, size_t m, struct sets_rule rule, size_t work,
                          double *out);

/* How many tokens two sets of n and m have in common, and their Jaccard similarity, with no threshold; the table serves n. */
size_t sets_overlap(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *table);
double sets_jaccard(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *table);

/* Components of a graph over n rows: labels begin as 0, 1, 2, ...; join the two ends of each pair, in one or more calls;
 * then labels[i] becomes the smallest row of i's component. */
void sets_join_components(const int64_t *left, const int64_t *right, size_t pairs, int64_t *labels);
void sets_label_components(size_t n, int64_t *labels);

/* Go through the next n rows in the given order: a row that nobody keeps yet is kept, and keeps all its neighbours that
 * nobody keeps yet. Row i's neighbours are neighbours[offsets[i]..offsets[i + 1]). keeper[i] becomes the row kept in
 * i's place (i itself where it is kept) and by[i] the place in neighbours that says so. Both begin as -1 everywhere, and
 * by stays so where a row is kept. */
void sets_stars(const int64_t *order, size_t n, const int64_t *offsets, const int64_t *neighbours, int64_t *keeper,
                int64_t *by);

#endif

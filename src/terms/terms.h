/* Sparse vectors: the weights of the terms of texts. Products of pairs of rows, and the rows with the greatest products.
 *
 * Contract: all arrays are owned by the caller, and nothing is allocated. Row i has the terms offsets[i]..offsets[i + 1),
 * ascending, each once and below the number of terms. Weights are in TERMS_LEAST..TERMS_MOST, so that no product is 0. A
 * product is the sum over the terms of the right row, or of the probing row, in their order, in doubles: one order of
 * additions, so the same bits come out everywhere. */
#ifndef LSHFAST_TERMS_H
#define LSHFAST_TERMS_H

#include <stddef.h>
#include <stdint.h>

#define TERMS_LEAST 1e-100
#define TERMS_MOST 1e100

struct terms_rows {
    const int64_t *offsets;
    const int32_t *terms;
    const double *weights;
};

/* For each term, the places of the indexed rows that have it, ascending, with their weights:
 * starts[term]..starts[term + 1). */
struct terms_index {
    const int64_t *starts;
    const int32_t *places;
    const double *weights;
};

/* Write the products of the pairs (left[i], right[i]) of rows, about `work` terms of them (at least one pair), and return
 * the number of pairs. `dense` has a weight for each term, 0 except those of row *held, which is -1 at first. Sort the
 * pairs by their left rows: each is held once. */
size_t terms_products(struct terms_rows rows, const int64_t *left, const int64_t *right, size_t pairs, double *dense,
                      int64_t *held, size_t work, double *out);

/* Count the postings of n chosen rows for the terms that are kept: starts[term + 1], 0 at first, grows by one for each. */
void terms_count(struct terms_rows rows, const int64_t *chosen, size_t n, const uint8_t *kept, int64_t *starts);

/* Write these postings; next[term], its start at first, becomes its end. The place of row chosen[i] is first + i. */
void terms_post(struct terms_rows rows, const int64_t *chosen, size_t n, size_t first, const uint8_t *kept, int64_t *next,
                int32_t *places, double *weights);

/* The state of a search among m indexed rows for the k > 0 nearest ones. */
struct terms_search {
    size_t k;
    double *sums;     /* room for m, all 0 before and after */
    int32_t *touched; /* room for m + 1 */
    double *best;     /* room for k */
};

/* Find for each of n probing rows the places of the k indexed rows with the greatest products; of equal products, the
 * smaller places. The place own[i], or none if it is -1, is left out, and so are rows without a common term. Write them in
 * any order to out[i * k..] and their number to counts[i]. Looks at about `work` postings (at least one row) and returns
 * the number of rows. */
size_t terms_nearest(struct terms_rows rows, struct terms_index index, const int64_t *probing, const int32_t *own, size_t n,
                     struct terms_search search, size_t work, int32_t *out, int64_t *counts);

#endif

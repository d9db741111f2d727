/* Multi-probe: the buckets of a band that most likely hold the neighbours of a query, best first.
 *
 * The idea: each function of a band has alternatives to the value of the query, each with a cost, that of the value of the
 * query being 0. A bucket is a choice of one alternative for each function, and costs their sum. The cheapest choices
 * come from a heap. It starts with the choice of all zeros, and a choice is followed by up to three others that cost no
 * less: its last change taken one step further, a change of the next function as well, or, if the last change is the
 * first step, a change of the next function instead. In functions sorted by the cost of their first step, each choice is
 * reached in one way only (Q. Lv et al., "Multi-Probe LSH", VLDB 2007, for one or two alternatives a function).
 *
 * Contract: nothing is allocated or kept; costs are finite or infinite (there is no such alternative), not NaN. */
#ifndef LSHFAST_PROBES_H
#define LSHFAST_PROBES_H

#include "bands/bands.h"

#include <stddef.h>

/* A choice: that of `prefix`, with alternative `rank` of function number `place` in the order of first steps. */
struct probes_choice {
    double cost;
    uint32_t prefix, place, rank;
};

/* The memory that a search works in. */
struct probes_space {
    struct probes_choice *choices; /* 3 * probes + 2 */
    uint32_t *heap;                /* 3 * probes + 2 */
    uint32_t *order;               /* rows */
    double *costs;                 /* rows * ranks */
    uint64_t *values;              /* rows * ranks, the values of the alternatives */
    uint64_t *slots;               /* rows */
    uint64_t *sorted;              /* the coordinates of one function of a cross-polytope */
};

/* The cheapest choices of the alternatives in space->costs, (rows, ranks) and ascending in each row from 0 on: `ranks` of
 * the k-th one to chosen[k * rows]. Returns how many there are, at most `probes`. */
size_t probes_cheapest(const struct probes_space *space, size_t rows, size_t ranks, size_t probes, uint32_t *chosen);

/* How the values of a band become a bucket: joined, `bits` each, or, with starts, hashed. */
struct probes_bucket {
    unsigned bits;
    uint64_t start;
    band_key_kernel *hash; /* NULL if they are joined */
};

/* The buckets of a band whose functions are the signs of y[0..rows): the cost of another sign is y^2. `probes` values to
 * out, EMPTY_SLOT where there are no more; chosen has room for probes * rows numbers. */
void probes_of_signs(const struct probes_space *space, const float *y, size_t rows, size_t probes,
                     const struct probes_bucket *bucket, uint32_t *chosen, uint64_t *out);

/* The buckets of a band whose functions are the farthest of `outputs` coordinates each, in y: the cost of a coordinate of
 * value v, v or -v, is (|farthest| - v)^2. `ranks` is at most 2 * outputs. */
void probes_of_polytopes(const struct probes_space *space, const float *y, size_t outputs, size_t rows, size_t ranks,
                         size_t probes, const struct probes_bucket *bucket, uint32_t *chosen, uint64_t *out);

/* The buckets of a band whose functions are cells of lines, of the positions y[0..rows), which have cells: the cost of a
 * cell beside that of a position is the square of its distance. There are three ranks. */
void probes_of_lines(const struct probes_space *space, const double *y, size_t rows, size_t probes,
                     const struct probes_bucket *bucket, uint32_t *chosen, uint64_t *out);

#endif

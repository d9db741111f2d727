/* The words and the code of one point, for searches by codes (code_search.h) of one point at a time.
 *
 * Such a search takes less time than the making of arrays for it. So the point is read from where it is. Its words are those
 * of distances.h, and its code has the signs of rotations.h: both are the same as those of a point of a batch.
 *
 * Contract: only begin allocates. A reader is used by one thread at a time. */
#ifndef LSHFAST_POINTS_H
#define LSHFAST_POINTS_H

#include "distances/distances.h"
#include "rotations/rotations.h"

struct points_reader {
    /* the caller's */
    const struct rotations_kernels *kernels;
    distances_function *squared; /* the Euclidean measure of the layout of the words */
    const float *factors;        /* of all rotations that the bits need */
    size_t bits, dim;            /* bits: a multiple of 64 */
    int wide;                    /* 1: the words have doubles as coordinates; 0: floats */
    double most;                 /* the greatest magnitude of a double */
    double least;                /* the least sum of the squares */

    /* the results */
    uint64_t *code;  /* bits / 64 words */
    uint64_t *words; /* the norm, the coordinates, and zeros up to a full word */

    /* memory */
    struct rotations_shape shape;
    uint64_t *origin; /* the coordinates of the zero vector */
    float *padded, *rotated;
};

/* Have memory; 0 if there is none, and then nothing is held. */
int points_begin(struct points_reader *reader);
void points_end(struct points_reader *reader);

/* Write the words and the code of the point with these dim coordinates, floats or doubles. 0: a coordinate is not finite or too
 * large, or the vector is zero or shorter than it may be; then they are of no use. */
int points_read_floats(struct points_reader *reader, const float *coordinates);
int points_read_doubles(struct points_reader *reader, const double *coordinates);

#endif

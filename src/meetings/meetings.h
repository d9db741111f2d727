/* Pairs of rows that share a bucket of one band and whose codes are near: the candidates of points.
 *
 * Rows are given in lists that are sorted by the key of their bucket, and by number within a bucket. Each row of the right
 * list is paired with the rows of the left list that share its bucket, are numbered below the row's limit, have another
 * label where there are labels, and whose code differs in at most `most` bits. A list is paired with itself by limits that
 * are the numbers of the rows.
 *
 * Where the points of rows are given, near codes whose points are certainly beyond an angle are left out too: if many codes of a
 * bucket are near, as in a crowd of points just beyond the angle, products of vectors of floats (products.h) exclude a pair in 1 to
 * 5 ns, and its exact distance takes 60. Which pairs are left out depends on the other rows of the bucket, and `screened` counts them.
 *
 * Contract: all arrays are owned by the caller, and nothing is allocated. Rows are below the number of codes, limits and
 * labels. Limits and labels may change between two calls. */
#ifndef LSHFAST_MEETINGS_H
#define LSHFAST_MEETINGS_H

#include "bits/bits.h"
#include "distances/products.h"

/* Rows of a bucket that are compared with one row at a time. */
#define MEETINGS_CHUNK 512

/* Right rows whose products with a chunk are computed at once, and the most coordinates of their points: the chunk of points
 * with more is larger than a cache. */
#define MEETINGS_BLOCK 8
#define MEETINGS_MOST_DIM 4096

/* The key of no bucket. */
#define MEETINGS_NO_KEY UINT64_MAX

struct meetings_list {
    const uint64_t *keys;
    const int32_t *rows;
    size_t n;
    size_t first, end; /* the places in the current bucket */
};

/* Points by whose products pairs are left out, and the products in use. */
struct meetings_points {
    const uint64_t *words; /* dense points of distances.h with a norm, of `width` words; NULL: no pair is left out */
    const int64_t *order;  /* the point of each row */
    size_t width, dim;     /* dim is at most MEETINGS_MOST_DIM */
    int wide;              /* 1: the coordinates are doubles */
    float least;           /* vectors of length 1 with a smaller product are beyond the angle */
    const struct products_kernels *kernels;
    float *panels;   /* room for MEETINGS_CHUNK points */
    float *units;    /* room for MEETINGS_BLOCK points */
    float *products; /* room for MEETINGS_BLOCK * MEETINGS_CHUNK */
    size_t count;    /* points of the panels, with those of length 0 that fill the last one; 0: the panels are not made */
    int usable;      /* 0: a point of the chunk has no vector of length 1 */
    size_t places[MEETINGS_BLOCK]; /* of the right rows with products, in their list */
    int units_usable[MEETINGS_BLOCK];
    size_t places_count;
    size_t tried, screened; /* pairs that had products, and those that these left out */
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
    struct meetings_points points;
};

/* Write the next pairs, right << 32 | left, and return their number: at most `room`, at least MEETINGS_CHUNK, and until about
 * `work` pairs were looked at. Pairs that points leave out take room, so that a call reads the points of at most `room` pairs.
 * All is done when `done` is not 0. */
size_t meetings_find(struct meetings *state, uint64_t *pairs, size_t room, size_t work);

#endif

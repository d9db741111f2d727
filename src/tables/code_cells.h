/* Rows in cells, by the angle between their point and the centre of their cell, so that a search skips codes.
 *
 * A row is in the cell of the nearest centre, and centres are the mean directions of their cells. For a query at the angle a of a centre, and a row at the angle b of it, the angle between the two is at least |a - b|. So
 * rows beyond an angle are left out without a loss, whatever the points are: a search has the same answers with cells and
 * without. Points in clusters leave out most rows. Where cells would leave out few, searches do not use them.
 *
 * The codes of a cell are copied in the order of the angles, in groups of BAND_TABLES_GROUP rows, the last of
 * which may have places without a row. An angle is kept as its cosine,
 * the product of two unit vectors of floats (products.h). A row that is written later has `moved`.
 *
 * Contract: as in band_tables.h. Only cosines of dense vectors have cells. */
#ifndef LSHFAST_CODE_CELLS_H
#define LSHFAST_CODE_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "distances/products.h"

struct band_tables;

#define CODE_CELLS_LEAST ((size_t)1 << 15) /* rows, below which a scan takes no longer than cells do */
#define CODE_CELLS_MOST 2048
#define CODE_CELLS_BLOCK 64 /* vectors whose products with all centres are computed at once */

/* 1 - the cosine of the angle between two points. */
typedef double code_cells_distance(const uint64_t *a, const uint64_t *b, size_t dim);

struct code_cells {
    size_t limit;       /* rows below it are in a cell, unless they have moved */
    size_t count;       /* a multiple of PRODUCTS_LANES; 0: there are no cells */
    size_t changed;     /* rows that were written since, once for each time, and rows without an angle; 0: none */
    size_t groups;
    size_t dim;
    int wide;           /* 1: the coordinates are doubles */
    /* Searches use cells if they are by this distance, and for rows within `useful`, where many groups are left out. */
    code_cells_distance *distance;
    double useful;
    float *panels;      /* the centres, as in products.h */
    size_t *starts;     /* count + 1: the first group of each cell */
    uint64_t *heads;    /* as those of band_tables, and so are the tails */
    uint64_t *tails;
    uint32_t *rows;     /* of each place, or TABLES_NO_ROW */
    float *lowest;      /* of each group: bounds of the cosine of the angle to the centre, which fall in a cell */
    float *highest;
    float *bounds;      /* the lowest of each cell, then the highest of each; 2 and -2 where it has no rows */
    uint8_t *moved;     /* limit */
};

static inline int code_cells_have(const struct code_cells *cells, size_t row) {
    return row < cells->limit && !cells->moved[row];
}

static inline void code_cells_move(struct code_cells *cells, size_t row) {
    if (row >= cells->limit) return;
    cells->moved[row] = 1;
    cells->changed++;
}

void code_cells_free(struct code_cells *cells);

/* Cells that are being made: begin, divide until it returns 1, end. */
struct code_cells_making {
    const struct band_tables *index;
    const struct products_kernels *kernels;
    size_t row;      /* the next one */
    float *units;    /* CODE_CELLS_BLOCK vectors */
    float *products; /* of them with the centres */
    struct code_cells_place *places; /* of rows */
    struct code_cells cells;         /* count, dim, wide and distance are the caller's */
};

/* How many cells `rows` rows should have; 0: none. `least` is CODE_CELLS_LEAST, or less in tests. */
size_t code_cells_for(size_t rows, size_t least);

/* 1 if so many rows have no place that the cells should be made anew. */
int code_cells_wanted(const struct band_tables *index, size_t least);

/* Choose centres; what is not the caller's is zeros. 0: there is no memory; end all the same. */
int code_cells_begin(struct code_cells_making *making);

/* Find the cells of some rows. 1: all rows have one. */
int code_cells_divide(struct code_cells_making *making);

/* Sort the rows, give the cells to *cells, and free everything else. 0: there was no memory, and *cells is as it was. */
int code_cells_end(struct code_cells_making *making, struct code_cells *cells, int made);

/* What products_within needs for rows within a distance, 1 - the cosine of an angle; above 2: for all rows. */
struct products_angle code_cells_angle(const struct code_cells *cells, double within);

/* The groups [*first, *end) of a cell that have cosines from low to high. */
void code_cells_groups(const struct code_cells *cells, size_t cell, float low, float high, size_t *first, size_t *end);

#endif

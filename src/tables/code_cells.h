/* Rows in cells, by the angle between their point and the centre of their cell, so that a search skips codes.
 *
 * For a query at the angle a of a centre, and a row at the angle b of it, the angle between the two is at least |a - b|. So
 * rows beyond an angle are left out without a loss, whatever the points are: a search has the same answers with cells and
 * without. Points in clusters leave out most rows. Where cells would leave out few, searches do not use them.
 *
 * The codes of a cell are copied in the order of the angles, in groups of BAND_TABLES_GROUP rows, the last of
 * which may have places without a row. An angle is kept as 1 - its cosine. A row that is written later has `moved`.
 *
 * Contract: as in band_tables.h. Only cosines of dense vectors have cells. */
#ifndef LSHFAST_CODE_CELLS_H
#define LSHFAST_CODE_CELLS_H

#include <stddef.h>
#include <stdint.h>

struct band_tables;
struct hamming_kernels;

#define CODE_CELLS_LEAST ((size_t)1 << 15) /* rows, below which a scan takes no longer than cells do */
#define CODE_CELLS_MOST 256
#define CODE_CELLS_ERROR 1e-6 /* more than the error of 1 - cosine of a sum of two angles that are computed in doubles */

/* 1 - the cosine of the angle between two points. */
typedef double code_cells_distance(const uint64_t *a, const uint64_t *b, size_t dim);

struct code_cells {
    size_t limit;       /* rows below it are in a cell, unless they have moved */
    size_t count;       /* 0: there are no cells */
    size_t changed;     /* rows that were written since, once for each time, and rows without an angle; 0: none */
    size_t groups;
    /* Searches use cells if they are by this distance, and for rows within `useful`, where many groups are left out. */
    code_cells_distance *distance;
    double useful;
    size_t *starts;     /* count + 1: the first group of each cell */
    uint64_t *heads;    /* as those of band_tables, and so are the tails */
    uint64_t *tails;
    uint32_t *rows;     /* of each place, or TABLES_NO_ROW */
    double *least;      /* of each group: the bounds of 1 - the cosine of the angle to the centre */
    double *most;
    uint64_t *centres;  /* points, as the payload of a row */
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
    const struct hamming_kernels *kernels;
    code_cells_distance *distance;
    size_t dim;
    int wide;            /* 1: the coordinates are doubles */
    size_t count, row;   /* cells; the next row */
    uint64_t *codes;     /* of the centres */
    uint64_t *numbers;   /* 0, 1, .., as kernels->differences takes them */
    uint32_t *differences;
    struct code_cells_place *places; /* of rows */
    struct code_cells cells;
};

/* How many cells `rows` rows should have; 0: none. `least` is CODE_CELLS_LEAST, or less in tests. */
size_t code_cells_for(size_t rows, size_t least);

/* 1 if so many rows have no place that the cells should be made anew. */
int code_cells_wanted(const struct band_tables *index, size_t least);

/* Choose centres; the fields up to `count` are the caller's, and the rest is zeros. 0: there is no memory; end all the same. */
int code_cells_begin(struct code_cells_making *making);

/* Find the cells of some rows. 1: all rows have one. */
int code_cells_divide(struct code_cells_making *making);

/* Sort the rows, give the cells to *cells, and free everything else. 0: there was no memory, and *cells is as it was. */
int code_cells_end(struct code_cells_making *making, struct code_cells *cells, int made);

/* The groups [*first, *end) of a cell that may have rows within an angle of a query. For the query's angle to the centre,
 * and for that angle: `far` and `within` are 1 - the cosine. */
void code_cells_within(const struct code_cells *cells, size_t cell, double far, double within, size_t *first, size_t *end);

#endif

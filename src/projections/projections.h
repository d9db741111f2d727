/* Vectors to cells of random lines: p-stable projections (Datar, Immorlica, Indyk, Mirrokni, SoCG 2004).
 *
 * Function f has a line, a random number a[j][f] for each coordinate j, and an offset u[f] in [0, 1). A vector x has the
 * position y = (sum of x[j] a[j][f]) / width + u[f] on it, and lies in cell floor(y). The a are Gaussian or Cauchy, drawn
 * in doubles without libm and rounded to floats. docs/reference/definitions.md has all of it to the bit.
 *
 * Sums are sums of doubles from 0, in the order of j, one accumulator a function: functions lie in the lanes. A product
 * of two floats is exact in a double, so that rows of floats may be summed by fused products and sums: their one rounding
 * is that of the sum. Rows of doubles are summed in two roundings. A coordinate of 0 adds nothing, so that sparse rows
 * have the sums of dense ones.
 *
 * The product is blocked: PROJECTIONS_DEPTH coordinates of PROJECTIONS_LANES functions, as doubles, stay in the first
 * cache while PROJECTIONS_CHUNK rows pass over them, PROJECTIONS_ROWS at a time with all their sums in registers.
 *
 * Contract: nothing is allocated or kept, and nothing fails. Outputs overlap no input. Sums may become infinite or NaN. */
#ifndef LSHFAST_PROJECTIONS_H
#define LSHFAST_PROJECTIONS_H

#include "cpu/cpu.h"
#include "field.h"

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "projections need doubles and floats that are rounded to their own width (SSE2, not x87)"
#endif

#define PROJECTIONS_DEPTH 96
#define PROJECTIONS_LANES 32
#define PROJECTIONS_ROWS 6
#define PROJECTIONS_CHUNK 96

/* Fewer rows are summed one after the other, from the matrix as it is: to copy it to panels would take longer. */
#define PROJECTIONS_FEW_ROWS 4

/* Cells are numbered in (-2^63, 2^63); a position beyond has none. */
#define PROJECTIONS_END 0x1p63

/* ---- variates.c ---- */

/* The variate of a word of random bits: 53 of them decide. */
double projections_gaussian(uint64_t word);
double projections_cauchy(uint64_t word);

/* a[j][f] for `rows` coordinates from j on and functions f < count, as floats: out is (rows, count). */
void projections_draw(uint64_t seed, enum domain domain, uint64_t j, size_t rows, size_t count, float *out);

/* u[f] for f < count. */
void projections_offsets(uint64_t seed, size_t count, double *out);

/* ---- projections.c ---- */

/* What a CPU level does in its own way. */
struct projections_kernels {
    void (*widen)(const float *x, size_t n, double *out);
    /* Add to sums[r * stride + f] the products of rows[r * PROJECTIONS_DEPTH + j] and lines[j * PROJECTIONS_LANES + f] for
     * j = 0 .. depth - 1 <= PROJECTIONS_DEPTH, r < n and f < lanes, a multiple of 8 up to PROJECTIONS_LANES. `floats`:
     * all of these are floats in value. */
    void (*multiply)(const double *rows, size_t n, const double *lines, size_t depth, size_t lanes, int floats,
                     double *sums, size_t stride);
    /* Add to sums[f], f < count, values[i] matrix[columns[i] * step + f] for i = 0 .. n - 1; columns may be NULL, for 0, 1,
     * and so on. `floats`: the values are floats in value. */
    void (*gather)(const float *matrix, size_t step, const int64_t *columns, const double *values, size_t n, int floats,
                   size_t count, double *sums);
    /* positions[f] = sums[f] / width + offsets[f], which may be in place; returns 1 if all of them have cells. */
    int (*place)(const double *sums, const double *offsets, double width, size_t count, double *positions);
    /* values[f] = the number of the cell of positions[f], which has one, in zigzag: 0, -1, 1, -2, .. are 0, 1, 2, 3, .. */
    void (*cells)(const double *positions, size_t count, uint64_t *values);
};
extern const struct projections_kernels projections_scalar, projections_avx2, projections_avx512, projections_neon;
extern const struct projections_kernels *const projections_levels[CPU_LEVELS];

/* floor(y) of a position that has a cell, and its value. */
static inline int64_t projections_cell(double y) {
    int64_t cell = (int64_t)y;
    return cell - ((double)cell > y);
}
static inline uint64_t projections_value(int64_t cell) {
    return (uint64_t)cell << 1 ^ (0 - ((uint64_t)cell >> 63));
}

/* The lines in use: the first `count` columns of a matrix (dim, step), with their offsets. */
struct lines {
    const float *matrix;
    const double *offsets;
    size_t dim, step, count;
    double width;
};

/* Doubles of scratch that the next two need for `count` functions and up to n vectors in a call; 1 for sparse ones. */
size_t projections_scratch(size_t count, size_t n);

/* The positions of n <= PROJECTIONS_CHUNK vectors of floats or of doubles, (n, dim), and the values of their cells: both
 * are (n, count), and one of them may be NULL. Returns n, or the first row with a position that has no cell, whose
 * values and those of later rows are not written. */
size_t projections_dense(const struct projections_kernels *kernels, const struct lines *lines, const float *floats,
                         const double *doubles, size_t n, double *scratch, double *positions, uint64_t *values);

/* The same of one sparse vector, whose `columns` rise, each below dim, or are NULL, for 0 to n - 1: returns 1, or 0 if a
 * position has no cell. */
int projections_sparse(const struct projections_kernels *kernels, const struct lines *lines, const int64_t *columns,
                       const float *floats, const double *doubles, size_t n, double *scratch, double *positions,
                       uint64_t *values);

#endif

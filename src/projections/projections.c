/* The portable projections, and the blocking that is the same for all CPU levels. */
#include "projections/projections.h"

#include <string.h>

NO_CONTRACTION

static void widen(const float *x, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = x[i];
}

static void multiply(const double *rows, size_t n, const double *lines, size_t depth, size_t lanes, int floats,
                     double *sums, size_t stride) {
    (void)floats;
    for (size_t r = 0; r < n; r++, rows += PROJECTIONS_DEPTH, sums += stride) {
        for (size_t first = 0; first < lanes; first += 8) {
            double held[8];
            memcpy(held, sums + first, sizeof held);
            for (size_t j = 0; j < depth; j++) {
                const double *line = lines + j * PROJECTIONS_LANES + first;
                for (size_t f = 0; f < 8; f++) held[f] += rows[j] * line[f];
            }
            memcpy(sums + first, held, sizeof held);
        }
    }
}

static void gather(const float *matrix, size_t step, const int64_t *columns, const double *values, size_t n, int floats,
                   size_t count, double *sums) {
    (void)floats;
    for (size_t i = 0; i < n; i++) {
        const float *line = matrix + (columns ? (size_t)columns[i] : i) * step;
        for (size_t f = 0; f < count; f++) sums[f] += values[i] * line[f];
    }
}

/* False for NaN. */
static inline int has_cell(double y) { return y > -PROJECTIONS_END && y < PROJECTIONS_END; }

static int place(const double *sums, const double *offsets, double width, size_t count, double *positions) {
    int all = 1;
    for (size_t f = 0; f < count; f++) {
        positions[f] = sums[f] / width + offsets[f];
        all &= has_cell(positions[f]);
    }
    return all;
}

static void cells(const double *positions, size_t count, uint64_t *values) {
    for (size_t f = 0; f < count; f++) values[f] = projections_value(projections_cell(positions[f]));
}

const struct projections_kernels projections_scalar = {widen, multiply, gather, place, cells};

const struct projections_kernels *const projections_levels[CPU_LEVELS] =
    CPU_TABLE(&projections_scalar, &projections_avx2, &projections_avx512, &projections_neon);

static inline size_t at_most(size_t a, size_t b) { return a < b ? a : b; }

/* Sums have space for whole lanes. */
static inline size_t stride_of(size_t count) { return (count + 7) & ~(size_t)7; }

enum { BLOCK = PROJECTIONS_CHUNK * PROJECTIONS_DEPTH, PANEL = PROJECTIONS_DEPTH * PROJECTIONS_LANES, PIECE = 1024 };

size_t projections_scratch(size_t count, size_t n) {
    if (n < PROJECTIONS_FEW_ROWS) return PIECE + stride_of(count);
    return BLOCK + PANEL + at_most(n, PROJECTIONS_CHUNK) * stride_of(count);
}

/* Copy coordinates [first, first + depth) of n rows to a block of doubles. */
static void fill_block(const struct projections_kernels *kernels, const float *floats, const double *doubles,
                       size_t dim, size_t n, size_t first, size_t depth, double *block) {
    for (size_t r = 0; r < n; r++, block += PROJECTIONS_DEPTH) {
        if (floats) kernels->widen(floats + r * dim + first, depth, block);
        else memcpy(block, doubles + r * dim + first, depth * sizeof *block);
    }
}

/* Copy coordinates [first, first + depth) of functions [f, f + lanes) to a panel; lanes beyond `count` are zeros. */
static void fill_panel(const struct projections_kernels *kernels, const struct lines *lines, size_t first, size_t depth,
                       size_t f, size_t lanes, double *panel) {
    size_t given = at_most(lanes, lines->count - f);
    for (size_t j = 0; j < depth; j++, panel += PROJECTIONS_LANES) {
        kernels->widen(lines->matrix + (first + j) * lines->step + f, given, panel);
        for (size_t i = given; i < lanes; i++) panel[i] = 0;
    }
}

/* Write what is asked for of the sums of one row; returns 0 if a position has no cell. */
static int finish(const struct projections_kernels *kernels, const struct lines *lines, double *sums, double *positions,
                  uint64_t *values) {
    double *to = positions ? positions : sums;
    int all = kernels->place(sums, lines->offsets, lines->width, lines->count, to);
    if (all && values) kernels->cells(to, lines->count, values);
    return all;
}

int projections_sparse(const struct projections_kernels *kernels, const struct lines *lines, const int64_t *columns,
                       const float *floats, const double *doubles, size_t n, double *scratch, double *positions,
                       uint64_t *values) {
    double *sums = scratch + PIECE;
    memset(sums, 0, lines->count * sizeof *sums);
    for (size_t first = 0; first < n; first += PIECE) {
        size_t some = at_most(PIECE, n - first);
        const float *matrix = columns ? lines->matrix : lines->matrix + first * lines->step;
        if (floats) kernels->widen(floats + first, some, scratch);
        kernels->gather(matrix, lines->step, columns ? columns + first : NULL, floats ? scratch : doubles + first, some,
                        floats != NULL, lines->count, sums);
    }
    return finish(kernels, lines, sums, positions, values);
}

size_t projections_dense(const struct projections_kernels *kernels, const struct lines *lines, const float *floats,
                         const double *doubles, size_t n, double *scratch, double *positions, uint64_t *values) {
    size_t stride = stride_of(lines->count), count = lines->count;
    double *block = scratch, *panel = block + BLOCK, *sums = panel + PANEL;
    if (n < PROJECTIONS_FEW_ROWS) {
        for (size_t r = 0; r < n; r++) {
            if (!projections_sparse(kernels, lines, NULL, floats ? floats + r * lines->dim : NULL,
                                    floats ? NULL : doubles + r * lines->dim, lines->dim, scratch,
                                    positions ? positions + r * count : NULL, values ? values + r * count : NULL)) {
                return r;
            }
        }
        return n;
    }
    memset(sums, 0, n * stride * sizeof *sums);
    for (size_t first = 0; first < lines->dim; first += PROJECTIONS_DEPTH) {
        size_t depth = at_most(PROJECTIONS_DEPTH, lines->dim - first);
        fill_block(kernels, floats, doubles, lines->dim, n, first, depth, block);
        for (size_t f = 0; f < count; f += PROJECTIONS_LANES) {
            size_t lanes = at_most(PROJECTIONS_LANES, stride - f);
            fill_panel(kernels, lines, first, depth, f, lanes, panel);
            kernels->multiply(block, n, panel, depth, lanes, floats != NULL, sums + f, stride);
        }
    }
    for (size_t r = 0; r < n; r++) {
        if (!finish(kernels, lines, sums + r * stride, positions ? positions + r * count : NULL,
                    values ? values + r * count : NULL)) {
            return r;
        }
    }
    return n;
}

/* Projections for NEON: two functions a register, 6 x 8 sums in 24 of the 32 registers. */
#include "projections/projections.h"

#if LSHFAST_NEON
#include <arm_neon.h>

NO_CONTRACTION

enum { LANES = 2, TOGETHER = 4 };

static void widen(const float *x, size_t n, double *out) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) vst1q_f64(out + i, vcvt_f64_f32(vld1_f32(x + i)));
    for (; i < n; i++) out[i] = x[i];
}

/* n rows, a constant in each call, times eight functions. */
static ALWAYS_INLINED void tile(const double *rows, size_t n, const double *lines, size_t depth, int floats,
                                double *sums, size_t stride) {
    float64x2_t held[PROJECTIONS_ROWS][TOGETHER];
    for (size_t r = 0; r < n; r++) {
        for (size_t v = 0; v < TOGETHER; v++) held[r][v] = vld1q_f64(sums + r * stride + v * LANES);
    }
    for (size_t j = 0; j < depth; j++, lines += PROJECTIONS_LANES) {
        float64x2_t line[TOGETHER];
        for (size_t v = 0; v < TOGETHER; v++) line[v] = vld1q_f64(lines + v * LANES);
        for (size_t r = 0; r < n; r++) {
            float64x2_t x = vdupq_n_f64(rows[r * PROJECTIONS_DEPTH + j]);
            for (size_t v = 0; v < TOGETHER; v++) {
                held[r][v] = floats ? vfmaq_f64(held[r][v], x, line[v]) : vaddq_f64(held[r][v], vmulq_f64(x, line[v]));
            }
        }
    }
    for (size_t r = 0; r < n; r++) {
        for (size_t v = 0; v < TOGETHER; v++) vst1q_f64(sums + r * stride + v * LANES, held[r][v]);
    }
}

static ALWAYS_INLINED void tiles(const double *rows, size_t n, const double *lines, size_t depth, int floats,
                                 double *sums, size_t stride) {
    size_t r = 0;
    for (; r + PROJECTIONS_ROWS <= n; r += PROJECTIONS_ROWS) {
        tile(rows + r * PROJECTIONS_DEPTH, PROJECTIONS_ROWS, lines, depth, floats, sums + r * stride, stride);
    }
    for (; r < n; r++) tile(rows + r * PROJECTIONS_DEPTH, 1, lines, depth, floats, sums + r * stride, stride);
}

static void multiply(const double *rows, size_t n, const double *lines, size_t depth, size_t lanes, int floats,
                     double *sums, size_t stride) {
    for (size_t f = 0; f < lanes; f += LANES * TOGETHER) {
        if (floats) tiles(rows, n, lines + f, depth, 1, sums + f, stride);
        else tiles(rows, n, lines + f, depth, 0, sums + f, stride);
    }
}

enum { GATHERED = 8 }; /* registers */

static ALWAYS_INLINED void gather_some(const float *matrix, size_t step, const int64_t *columns, const double *values,
                                       size_t n, int floats, size_t registers, double *sums) {
    float64x2_t held[GATHERED];
    for (size_t v = 0; v < registers; v++) held[v] = vld1q_f64(sums + v * LANES);
    for (size_t i = 0; i < n; i++) {
        const float *line = matrix + (columns ? (size_t)columns[i] : i) * step;
        float64x2_t x = vdupq_n_f64(values[i]);
        for (size_t v = 0; v < registers; v++) {
            float64x2_t term = vcvt_f64_f32(vld1_f32(line + v * LANES));
            held[v] = floats ? vfmaq_f64(held[v], x, term) : vaddq_f64(held[v], vmulq_f64(x, term));
        }
    }
    for (size_t v = 0; v < registers; v++) vst1q_f64(sums + v * LANES, held[v]);
}

static ALWAYS_INLINED void gather_all(const float *matrix, size_t step, const int64_t *columns, const double *values,
                                      size_t n, int floats, size_t count, double *sums) {
    size_t f = 0;
    for (; f + GATHERED * LANES <= count; f += GATHERED * LANES) {
        gather_some(matrix + f, step, columns, values, n, floats, GATHERED, sums + f);
    }
    for (; f + LANES <= count; f += LANES) gather_some(matrix + f, step, columns, values, n, floats, 1, sums + f);
    if (f < count) projections_scalar.gather(matrix + f, step, columns, values, n, floats, count - f, sums + f);
}

static void gather(const float *matrix, size_t step, const int64_t *columns, const double *values, size_t n, int floats,
                   size_t count, double *sums) {
    if (floats) gather_all(matrix, step, columns, values, n, 1, count, sums);
    else gather_all(matrix, step, columns, values, n, 0, count, sums);
}

static int place(const double *sums, const double *offsets, double width, size_t count, double *positions) {
    const float64x2_t w = vdupq_n_f64(width), end = vdupq_n_f64(PROJECTIONS_END);
    uint64x2_t with = vdupq_n_u64(~(uint64_t)0);
    size_t f = 0;
    for (; f + LANES <= count; f += LANES) {
        float64x2_t y = vaddq_f64(vdivq_f64(vld1q_f64(sums + f), w), vld1q_f64(offsets + f));
        vst1q_f64(positions + f, y);
        with = vandq_u64(with, vcaltq_f64(y, end));
    }
    int rest = projections_scalar.place(sums + f, offsets + f, width, count - f, positions + f);
    return rest && (vgetq_lane_u64(with, 0) & vgetq_lane_u64(with, 1)) != 0;
}

static void cells(const double *positions, size_t count, uint64_t *values) {
    size_t f = 0;
    for (; f + LANES <= count; f += LANES) {
        int64x2_t cell = vcvtmq_s64_f64(vld1q_f64(positions + f));
        vst1q_u64(values + f, vreinterpretq_u64_s64(veorq_s64(vshlq_n_s64(cell, 1), vshrq_n_s64(cell, 63))));
    }
    projections_scalar.cells(positions + f, count - f, values + f);
}

const struct projections_kernels projections_neon = {widen, multiply, gather, place, cells};
#endif

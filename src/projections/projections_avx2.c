/* Projections for AVX2: four functions a register, 6 x 8 sums in 12 of the 16 registers. */
#include "projections/projections.h"

#if LSHFAST_X86
#include <immintrin.h>

NO_CONTRACTION

enum { LANES = 4, TOGETHER = 2 };

#define TARGET_AVX2_FMA TARGET("avx2,bmi,bmi2,fma")

TARGET_AVX2 static void widen(const float *x, size_t n, double *out) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) _mm256_storeu_pd(out + i, _mm256_cvtps_pd(_mm_loadu_ps(x + i)));
    for (; i < n; i++) out[i] = x[i];
}

/* n rows, a constant in each call, times eight functions. */
TARGET_AVX2_FMA static ALWAYS_INLINED void tile(const double *rows, size_t n, const double *lines, size_t depth,
                                                int floats, double *sums, size_t stride) {
    __m256d held[PROJECTIONS_ROWS][TOGETHER];
    for (size_t r = 0; r < n; r++) {
        for (size_t v = 0; v < TOGETHER; v++) held[r][v] = _mm256_loadu_pd(sums + r * stride + v * LANES);
    }
    for (size_t j = 0; j < depth; j++, lines += PROJECTIONS_LANES) {
        __m256d line[TOGETHER];
        for (size_t v = 0; v < TOGETHER; v++) line[v] = _mm256_loadu_pd(lines + v * LANES);
        for (size_t r = 0; r < n; r++) {
            __m256d x = _mm256_set1_pd(rows[r * PROJECTIONS_DEPTH + j]);
            for (size_t v = 0; v < TOGETHER; v++) {
                held[r][v] = floats ? _mm256_fmadd_pd(x, line[v], held[r][v])
                                    : _mm256_add_pd(held[r][v], _mm256_mul_pd(x, line[v]));
            }
        }
    }
    for (size_t r = 0; r < n; r++) {
        for (size_t v = 0; v < TOGETHER; v++) _mm256_storeu_pd(sums + r * stride + v * LANES, held[r][v]);
    }
}

TARGET_AVX2_FMA static ALWAYS_INLINED void tiles(const double *rows, size_t n, const double *lines, size_t depth,
                                                 int floats, double *sums, size_t stride) {
    size_t r = 0;
    for (; r + PROJECTIONS_ROWS <= n; r += PROJECTIONS_ROWS) {
        tile(rows + r * PROJECTIONS_DEPTH, PROJECTIONS_ROWS, lines, depth, floats, sums + r * stride, stride);
    }
    for (; r < n; r++) tile(rows + r * PROJECTIONS_DEPTH, 1, lines, depth, floats, sums + r * stride, stride);
}

TARGET_AVX2_FMA static void multiply(const double *rows, size_t n, const double *lines, size_t depth, size_t lanes,
                                     int floats, double *sums, size_t stride) {
    for (size_t f = 0; f < lanes; f += LANES * TOGETHER) {
        if (floats) tiles(rows, n, lines + f, depth, 1, sums + f, stride);
        else tiles(rows, n, lines + f, depth, 0, sums + f, stride);
    }
}

enum { GATHERED = 8 }; /* registers */

TARGET_AVX2_FMA static ALWAYS_INLINED void gather_some(const float *matrix, size_t step, const int64_t *columns,
                                                       const double *values, size_t n, int floats, size_t registers,
                                                       double *sums) {
    __m256d held[GATHERED];
    for (size_t v = 0; v < registers; v++) held[v] = _mm256_loadu_pd(sums + v * LANES);
    for (size_t i = 0; i < n; i++) {
        const float *line = matrix + (columns ? (size_t)columns[i] : i) * step;
        __m256d x = _mm256_set1_pd(values[i]);
        for (size_t v = 0; v < registers; v++) {
            __m256d term = _mm256_cvtps_pd(_mm_loadu_ps(line + v * LANES));
            held[v] = floats ? _mm256_fmadd_pd(x, term, held[v]) : _mm256_add_pd(held[v], _mm256_mul_pd(x, term));
        }
    }
    for (size_t v = 0; v < registers; v++) _mm256_storeu_pd(sums + v * LANES, held[v]);
}

TARGET_AVX2_FMA static ALWAYS_INLINED void gather_all(const float *matrix, size_t step, const int64_t *columns,
                                                      const double *values, size_t n, int floats, size_t count,
                                                      double *sums) {
    size_t f = 0;
    for (; f + GATHERED * LANES <= count; f += GATHERED * LANES) {
        gather_some(matrix + f, step, columns, values, n, floats, GATHERED, sums + f);
    }
    for (; f + LANES <= count; f += LANES) gather_some(matrix + f, step, columns, values, n, floats, 1, sums + f);
    if (f < count) projections_scalar.gather(matrix + f, step, columns, values, n, floats, count - f, sums + f);
}

TARGET_AVX2_FMA static void gather(const float *matrix, size_t step, const int64_t *columns, const double *values,
                                   size_t n, int floats, size_t count, double *sums) {
    if (floats) gather_all(matrix, step, columns, values, n, 1, count, sums);
    else gather_all(matrix, step, columns, values, n, 0, count, sums);
}

TARGET_AVX2 static int place(const double *sums, const double *offsets, double width, size_t count, double *positions) {
    const __m256d w = _mm256_set1_pd(width), end = _mm256_set1_pd(PROJECTIONS_END), sign = _mm256_set1_pd(-0.0);
    __m256d without = _mm256_setzero_pd();
    size_t f = 0;
    for (; f + LANES <= count; f += LANES) {
        __m256d y = _mm256_add_pd(_mm256_div_pd(_mm256_loadu_pd(sums + f), w), _mm256_loadu_pd(offsets + f));
        _mm256_storeu_pd(positions + f, y);
        without = _mm256_or_pd(without, _mm256_cmp_pd(_mm256_andnot_pd(sign, y), end, _CMP_NLT_UQ));
    }
    int rest = projections_scalar.place(sums + f, offsets + f, width, count - f, positions + f);
    return rest && _mm256_movemask_pd(without) == 0;
}

/* AVX2 rounds downwards, but has no conversion to integers of 64 bits. */
TARGET_AVX2 static void cells(const double *positions, size_t count, uint64_t *values) {
    size_t f = 0;
    for (; f + LANES <= count; f += LANES) {
        double floors[LANES];
        _mm256_storeu_pd(floors, _mm256_floor_pd(_mm256_loadu_pd(positions + f)));
        for (size_t i = 0; i < LANES; i++) values[f + i] = projections_value((int64_t)floors[i]);
    }
    projections_scalar.cells(positions + f, count - f, values + f);
}

const struct projections_kernels projections_avx2 = {widen, multiply, gather, place, cells};
#endif

/* Projections for AVX-512: eight functions a register, 6 x 32 sums in 24 of the 32 registers. */
#include "projections/projections.h"

#if LSHFAST_X86
#include <immintrin.h>

NO_CONTRACTION

enum { LANES = 8, MOST = PROJECTIONS_LANES / LANES };

TARGET_AVX512 static inline __mmask8 first_doubles(size_t n) { return n >= LANES ? 0xFF : (__mmask8)((1u << n) - 1); }

TARGET_AVX512 static inline __m512d load_floats(const float *x, __mmask8 mask) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, x));
}

TARGET_AVX512 static void widen(const float *x, size_t n, double *out) {
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 mask = first_doubles(n - i);
        _mm512_mask_storeu_pd(out + i, mask, load_floats(x + i, mask));
    }
}

/* n rows times `registers` of functions, both constant in each call. */
TARGET_AVX512 static ALWAYS_INLINED void tile(const double *rows, size_t n, const double *lines, size_t depth,
                                              size_t registers, int floats, double *sums, size_t stride) {
    __m512d held[PROJECTIONS_ROWS][MOST];
    for (size_t r = 0; r < n; r++) {
        for (size_t v = 0; v < registers; v++) held[r][v] = _mm512_loadu_pd(sums + r * stride + v * LANES);
    }
    for (size_t j = 0; j < depth; j++, lines += PROJECTIONS_LANES) {
        __m512d line[MOST];
        for (size_t v = 0; v < registers; v++) line[v] = _mm512_loadu_pd(lines + v * LANES);
        for (size_t r = 0; r < n; r++) {
            __m512d x = _mm512_set1_pd(rows[r * PROJECTIONS_DEPTH + j]);
            for (size_t v = 0; v < registers; v++) {
                held[r][v] = floats ? _mm512_fmadd_pd(x, line[v], held[r][v])
                                    : _mm512_add_pd(held[r][v], _mm512_mul_pd(x, line[v]));
            }
        }
    }
    for (size_t r = 0; r < n; r++) {
        for (size_t v = 0; v < registers; v++) _mm512_storeu_pd(sums + r * stride + v * LANES, held[r][v]);
    }
}

TARGET_AVX512 static ALWAYS_INLINED void tiles(const double *rows, size_t n, const double *lines, size_t depth,
                                               size_t registers, int floats, double *sums, size_t stride) {
    size_t r = 0;
    for (; r + PROJECTIONS_ROWS <= n; r += PROJECTIONS_ROWS) {
        tile(rows + r * PROJECTIONS_DEPTH, PROJECTIONS_ROWS, lines, depth, registers, floats, sums + r * stride,
             stride);
    }
    for (; r < n; r++) {
        tile(rows + r * PROJECTIONS_DEPTH, 1, lines, depth, registers, floats, sums + r * stride, stride);
    }
}

TARGET_AVX512 static void multiply(const double *rows, size_t n, const double *lines, size_t depth, size_t lanes,
                                   int floats, double *sums, size_t stride) {
    if (lanes == PROJECTIONS_LANES) {
        if (floats) tiles(rows, n, lines, depth, MOST, 1, sums, stride);
        else tiles(rows, n, lines, depth, MOST, 0, sums, stride);
        return;
    }
    for (size_t f = 0; f < lanes; f += LANES) {
        if (floats) tiles(rows, n, lines + f, depth, 1, 1, sums + f, stride);
        else tiles(rows, n, lines + f, depth, 1, 0, sums + f, stride);
    }
}

enum { GATHERED = 8 }; /* registers: an addition takes four cycles, and two begin in each */

TARGET_AVX512 static ALWAYS_INLINED void gather_some(const float *matrix, size_t step, const int64_t *columns,
                                                     const double *values, size_t n, int floats, size_t registers,
                                                     __mmask8 last, double *sums) {
    __m512d held[GATHERED];
    for (size_t v = 0; v < registers; v++) {
        held[v] = _mm512_maskz_loadu_pd(v + 1 < registers ? 0xFF : last, sums + v * LANES);
    }
    for (size_t i = 0; i < n; i++) {
        const float *line = matrix + (columns ? (size_t)columns[i] : i) * step;
        __m512d x = _mm512_set1_pd(values[i]);
        for (size_t v = 0; v < registers; v++) {
            __m512d term = load_floats(line + v * LANES, v + 1 < registers ? 0xFF : last);
            held[v] = floats ? _mm512_fmadd_pd(x, term, held[v]) : _mm512_add_pd(held[v], _mm512_mul_pd(x, term));
        }
    }
    for (size_t v = 0; v < registers; v++) {
        _mm512_mask_storeu_pd(sums + v * LANES, v + 1 < registers ? 0xFF : last, held[v]);
    }
}

TARGET_AVX512 static ALWAYS_INLINED void gather_all(const float *matrix, size_t step, const int64_t *columns,
                                                    const double *values, size_t n, int floats, size_t count,
                                                    double *sums) {
    size_t f = 0;
    for (; f + GATHERED * LANES <= count; f += GATHERED * LANES) {
        gather_some(matrix + f, step, columns, values, n, floats, GATHERED, 0xFF, sums + f);
    }
    for (; f < count; f += LANES) {
        gather_some(matrix + f, step, columns, values, n, floats, 1, first_doubles(count - f), sums + f);
    }
}

TARGET_AVX512 static void gather(const float *matrix, size_t step, const int64_t *columns, const double *values,
                                 size_t n, int floats, size_t count, double *sums) {
    if (floats) gather_all(matrix, step, columns, values, n, 1, count, sums);
    else gather_all(matrix, step, columns, values, n, 0, count, sums);
}

TARGET_AVX512 static int place(const double *sums, const double *offsets, double width, size_t count,
                               double *positions) {
    const __m512d w = _mm512_set1_pd(width), end = _mm512_set1_pd(PROJECTIONS_END);
    unsigned without = 0;
    for (size_t f = 0; f < count; f += LANES) {
        __mmask8 mask = first_doubles(count - f);
        __m512d y = _mm512_div_pd(_mm512_maskz_loadu_pd(mask, sums + f), w);
        y = _mm512_add_pd(y, _mm512_maskz_loadu_pd(mask, offsets + f));
        _mm512_mask_storeu_pd(positions + f, mask, y);
        without |= _mm512_mask_cmp_pd_mask(mask, _mm512_abs_pd(y), end, _CMP_NLT_UQ);
    }
    return without == 0;
}

TARGET_AVX512 static void cells(const double *positions, size_t count, uint64_t *values) {
    for (size_t f = 0; f < count; f += LANES) {
        __mmask8 mask = first_doubles(count - f);
        __m512d y = _mm512_maskz_loadu_pd(mask, positions + f);
        __m512i cell = _mm512_cvt_roundpd_epi64(y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        __m512i value = _mm512_xor_si512(_mm512_slli_epi64(cell, 1), _mm512_srai_epi64(cell, 63));
        _mm512_mask_storeu_epi64(values + f, mask, value);
    }
}

const struct projections_kernels projections_avx512 = {widen, multiply, gather, place, cells};
#endif

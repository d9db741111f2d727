/* Weighted samples for AVX-512: a block of sixteen samples a register. No product and sum may be joined here: see
 * weighted.h. */
#include "weighted/weighted.h"

#if LSHFAST_X86
#include <immintrin.h>

NO_CONTRACTION

struct leaders {
    __m512 best, reach, t;
    __m512i column;
};

TARGET_AVX512 static inline __mmask16 within(const struct samples *block, int32_t column, __m512 log, __m512 reach) {
    __m512 least = _mm512_loadu_ps(block->least + (size_t)column * WEIGHTED_SAMPLE_LANES);
    return _mm512_cmp_ps_mask(_mm512_sub_ps(least, log), reach, _CMP_LT_OQ);
}

TARGET_AVX512 static inline void try_column(struct leaders *leaders, const struct samples *block, int32_t column,
                                            __m512 log) {
    size_t at = (size_t)column * WEIGHTED_SAMPLE_LANES;
    __m512 r = _mm512_loadu_ps(block->r + at), beta = _mm512_loadu_ps(block->beta + at);
    __m512 t = _mm512_add_ps(_mm512_div_ps(log, r), beta);
    t = _mm512_roundscale_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512 above = _mm512_sub_ps(t, beta), ln_a = _mm512_loadu_ps(block->ln_c + at);
    if (block->shifted) {
        ln_a = _mm512_sub_ps(ln_a, _mm512_mul_ps(_mm512_add_ps(above, _mm512_set1_ps(1.0f)), r));
    } else {
        ln_a = _mm512_sub_ps(_mm512_sub_ps(ln_a, _mm512_mul_ps(above, r)), r);
    }
    __mmask16 leads = _mm512_cmp_ps_mask(ln_a, leaders->best, _CMP_LT_OQ);
    __m512 reach = _mm512_add_ps(ln_a, _mm512_set1_ps(block->margin));
    leaders->best = _mm512_mask_mov_ps(leaders->best, leads, ln_a);
    leaders->reach = _mm512_mask_mov_ps(leaders->reach, leads, reach);
    leaders->t = _mm512_mask_mov_ps(leaders->t, leads, t);
    leaders->column = _mm512_mask_set1_epi32(leaders->column, leads, column);
}

TARGET_AVX512 static void sample(const struct samples *block, const int64_t *offsets, const int32_t *columns,
                                 const float *logs, size_t n, size_t lanes, size_t k, int64_t *out) {
    for (size_t i = 0; i < n; i++, out += 2 * k) {
        struct leaders leaders = {_mm512_set1_ps(FLT_MAX), _mm512_set1_ps(FLT_MAX), _mm512_setzero_ps(),
                                  _mm512_setzero_si512()};
        for (int64_t start = offsets[i], end = offsets[i + 1]; start < end; start += WEIGHTED_STEP_ELEMENTS) {
            int64_t stop = end - start < WEIGHTED_STEP_ELEMENTS ? end : start + WEIGHTED_STEP_ELEMENTS,
                    tried[WEIGHTED_STEP_ELEMENTS];
            size_t count = 0;
            for (int64_t e = start; e < stop; e++) {
                tried[count] = e;
                count += within(block, columns[e], _mm512_set1_ps(logs[e]), leaders.reach) != 0;
            }
            for (size_t c = 0; c < count; c++) {
                int64_t e = tried[c];
                try_column(&leaders, block, columns[e], _mm512_set1_ps(logs[e]));
            }
        }
        int32_t column[WEIGHTED_SAMPLE_LANES];
        float t[WEIGHTED_SAMPLE_LANES];
        _mm512_storeu_si512(column, leaders.column);
        _mm512_storeu_ps(t, leaders.t);
        for (size_t l = 0; l < lanes; l++) {
            out[2 * l] = column[l];
            out[2 * l + 1] = (int64_t)t[l];
        }
    }
}

const struct weighted_kernels weighted_avx512 = {sample};
#endif

/* Weighted samples for AVX2: a block of sixteen samples in two halves. */
#include "weighted/weighted.h"

#if LSHFAST_X86
#include <immintrin.h>

NO_CONTRACTION

#define HALF 8

struct leaders {
    __m256 best, reach, t, column; /* the columns are integers, blended as floats are */
};

TARGET_AVX2 static inline int within(const float *least, __m256 log, __m256 reach) {
    return _mm256_movemask_ps(_mm256_cmp_ps(_mm256_sub_ps(_mm256_loadu_ps(least), log), reach, _CMP_LT_OQ));
}

TARGET_AVX2 static inline void try_column(struct leaders *leaders, const struct samples *block, size_t at,
                                          int32_t column, __m256 log) {
    __m256 r = _mm256_loadu_ps(block->r + at), beta = _mm256_loadu_ps(block->beta + at);
    __m256 t = _mm256_floor_ps(_mm256_add_ps(_mm256_div_ps(log, r), beta));
    __m256 above = _mm256_sub_ps(t, beta), ln_a = _mm256_loadu_ps(block->ln_c + at);
    if (block->shifted) {
        ln_a = _mm256_sub_ps(ln_a, _mm256_mul_ps(_mm256_add_ps(above, _mm256_set1_ps(1.0f)), r));
    } else {
        ln_a = _mm256_sub_ps(_mm256_sub_ps(ln_a, _mm256_mul_ps(above, r)), r);
    }
    __m256 leads = _mm256_cmp_ps(ln_a, leaders->best, _CMP_LT_OQ);
    __m256 reach = _mm256_add_ps(ln_a, _mm256_set1_ps(block->margin));
    leaders->best = _mm256_blendv_ps(leaders->best, ln_a, leads);
    leaders->reach = _mm256_blendv_ps(leaders->reach, reach, leads);
    leaders->t = _mm256_blendv_ps(leaders->t, t, leads);
    leaders->column = _mm256_blendv_ps(leaders->column, _mm256_castsi256_ps(_mm256_set1_epi32(column)), leads);
}

TARGET_AVX2 static void write_leaders(const struct leaders *leaders, size_t lanes, int64_t *out) {
    int32_t column[HALF];
    float t[HALF];
    _mm256_storeu_si256((__m256i *)column, _mm256_castps_si256(leaders->column));
    _mm256_storeu_ps(t, leaders->t);
    for (size_t l = 0; l < lanes && l < HALF; l++) {
        out[2 * l] = column[l];
        out[2 * l + 1] = (int64_t)t[l];
    }
}

/* Half a block: eight samples. */
TARGET_AVX2 static void sample_half(const struct samples *block, size_t half, const int64_t *offsets,
                                    const int32_t *columns, const float *logs, size_t n, size_t lanes, size_t k,
                                    int64_t *out) {
    for (size_t i = 0; i < n; i++, out += 2 * k) {
        __m256 most = _mm256_set1_ps(FLT_MAX), zero = _mm256_setzero_ps();
        struct leaders leaders = {most, most, zero, zero};
        for (int64_t start = offsets[i], end = offsets[i + 1]; start < end; start += WEIGHTED_STEP_ELEMENTS) {
            int64_t stop = end - start < WEIGHTED_STEP_ELEMENTS ? end : start + WEIGHTED_STEP_ELEMENTS,
                    tried[WEIGHTED_STEP_ELEMENTS];
            size_t count = 0;
            for (int64_t e = start; e < stop; e++) {
                const float *least = block->least + (size_t)columns[e] * WEIGHTED_SAMPLE_LANES + half;
                tried[count] = e;
                count += within(least, _mm256_set1_ps(logs[e]), leaders.reach) != 0;
            }
            for (size_t c = 0; c < count; c++) {
                int64_t e = tried[c];
                size_t at = (size_t)columns[e] * WEIGHTED_SAMPLE_LANES + half;
                try_column(&leaders, block, at, columns[e], _mm256_set1_ps(logs[e]));
            }
        }
        write_leaders(&leaders, lanes, out);
    }
}

TARGET_AVX2 static void sample(const struct samples *block, const int64_t *offsets, const int32_t *columns,
                               const float *logs, size_t n, size_t lanes, size_t k, int64_t *out) {
    sample_half(block, 0, offsets, columns, logs, n, lanes, k, out);
    if (lanes > HALF) sample_half(block, HALF, offsets, columns, logs, n, lanes - HALF, k, out + 2 * HALF);
}

const struct weighted_kernels weighted_avx2 = {sample};
#endif
